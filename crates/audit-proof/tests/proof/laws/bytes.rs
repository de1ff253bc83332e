//! Laws of what is read from bytes and texts of any kind: containers, JSON, numbers, ratings, whole
//! pages.

use super::outputs::{encloses, figures_stand_where_they_say, listed, within};
use super::text;
use iotax_audit::audit::{self, Audited};
use iotax_audit::container::{self, ReadPage};
use iotax_audit::import::format::PageOutputs;
use iotax_audit::json;
use iotax_audit::number::{Style, hedges, quantities_in, shows};
use iotax_audit::page::AuditedPage;
use iotax_audit::ratings::Ratings;

/// One container, whether or not it would know the bytes as its own.
pub(super) fn container(read: ReadPage, bytes: &[u8]) {
    // Some systems end lines with a carriage return alone.
    let ends = bytes.iter().filter(|byte| matches!(**byte, b'\n' | b'\r')).count();
    let page = read("p", bytes.to_vec());
    listed(&page, &page.unread);
    let numbers = (0..page.len()).map(|at| page.line_number(at));
    // Encodings of two bytes have ends of lines of their own.
    let last = bytes.len().min(2 * ends + 2);
    numbers.for_each(|number| {
        assert!(1 <= number && number as usize <= last.max(1), "line {number} of {last}")
    });
    text::holds(&page);
}

/// JSON at every bracket that an object may begin at, as long as one does not hold the next.
pub(super) fn json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '[']) {
        let from = at + found;
        let parsed = json::parse(&text, from).expect("one begins there");
        assert!(from < parsed.end && parsed.end <= text.len());
        assert!(
            parsed.broken.is_none_or(|(at, why)| from <= at && at <= text.len() && !why.is_empty())
        );
        assert_eq!(parsed.node.bytes, from..parsed.end);
        at = parsed.end;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
}

/// Figures of each line, in every style.
pub(super) fn numbers(bytes: &[u8]) {
    let page = AuditedPage::new("p", String::from_utf8_lossy(bytes));
    for at in 0..page.len() {
        let line = page.line_text(at);
        for (decimal_comma, spaces) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut behind = 0;
            for found in quantities_in(at, line, Style { decimal_comma, spaces }) {
                within(&page, found.figure.spot);
                encloses(&found.figure);
                assert!(
                    found.figure.spot.line as usize == at && behind <= found.figure.spot.start,
                    "{found:?}"
                );
                assert!(found.figure.spot.start < found.figure.spot.end);
                behind = found.figure.spot.end;
            }
        }
        shows(line);
        let _ = hedges(line);
    }
}

/// Ratings of a user's own.
pub(super) fn ratings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Ratings::read(&text) {
        Ok(ratings) => {
            for drive in ratings.drives() {
                for found in ratings.find_drives(&drive.name) {
                    assert!(
                        drive.name.get(found.bytes.clone()).is_some()
                            && found.drive < ratings.drives().len()
                    );
                }
            }
        }
        Err(fault) => {
            assert!(!fault.why.is_empty() && fault.line <= text.split('\n').count(), "{fault:?}")
        }
    }
}

/// All that is made of a file.
pub(super) fn audit(bytes: &[u8]) {
    let page = container::page("p", bytes.to_vec());
    let again = audit::audit(page.clone());
    let audited = audit::audit(page);
    assert_eq!(audited.findings, again.findings, "what is found depends on nothing but the page");
    holds(&audited);
}

pub(super) fn holds(audited: &Audited) {
    let page = &audited.page;
    for claim in &audited.claims {
        within(page, claim.spot);
        assert!(
            claim.interval.low <= claim.value && claim.value <= claim.interval.high,
            "{claim:?}"
        );
    }
    for finding in &audited.findings {
        within(page, finding.spot);
        finding.operands.iter().for_each(|spot| within(page, *spot));
        assert!(!finding.message.is_empty(), "{finding:?}");
    }
    listed(page, &audited.unread);
    let imported = PageOutputs { outputs: audited.outputs.clone(), unread: Vec::new() };
    figures_stand_where_they_say(page, &imported);
}
