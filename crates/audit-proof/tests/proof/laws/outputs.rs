//! Laws of what importers find.

use iotax_audit::import::format::JsonFormat;
use iotax_audit::import::format::{Format, PageOutputs, ToolOutput, ToolReport};
use iotax_audit::import::workload::ToolResult;
use iotax_audit::number::PrintedNumber;
use iotax_audit::page::{AuditedPage, TextSpan, UnreadRange};
use iotax_audit::{import, json};

/// One importer at every line at which it says that an output begins.
pub(super) fn importer(format: &'static Format, bytes: &[u8]) {
    let page = AuditedPage::new("p", String::from_utf8_lossy(bytes));
    let mut imported = PageOutputs::default();
    let mut at = 0;
    while at < page.len() {
        let begins = (format.begins)(page.bare_line(at).0);
        let Some(found) = begins.then(|| (format.read)(&page, at)).flatten() else {
            at += 1;
            continue;
        };
        let lines = at..found.end.max(at + 1);
        at = lines.end;
        imported.outputs.push(ToolOutput { format: format.name, lines, said: found.said });
        imported.unread.extend(found.unread);
    }
    figures_stand_where_they_say(&page, &imported);
}

/// A format of JSON, on the first object of a text; text before and after, and what is broken: as
/// the whole family reads it.
pub(super) fn json(format: &'static JsonFormat, bytes: &[u8]) {
    let page = AuditedPage::new("p", String::from_utf8_lossy(bytes));
    let Some(parsed) = page.text().find(['{', '[']).and_then(|at| json::parse(page.text(), at))
    else {
        return;
    };
    let mut imported = PageOutputs::default();
    if let Some(said) = (format.knows)(&parsed.node).then(|| (format.read)(&page, &parsed.node)) {
        imported.outputs.push(ToolOutput { format: format.name, lines: 0..page.len(), said });
    }
    figures_stand_where_they_say(&page, &imported);
    figures_stand_where_they_say(&page, &import::find_outputs(&page));
}

/// How much a printed 1 may be of a figure's unit: powers of 1024 and 1000, of bits too; minutes
/// and hours.
fn scales() -> impl Iterator<Item = f64> {
    let binary = (0..=5).map(|power| 1024f64.powi(power));
    let bytes = binary.chain((-9..=21).map(|power| 10f64.powi(power)));
    bytes.flat_map(|scale| [scale, scale * 8.0, scale / 8.0]).chain([60e9, 3600e9])
}

/// Holds the laws of all outputs of a page; the count of their figures.
///
/// # Panics
/// Where a figure is not what is at its spot, or lines are out of range.
pub fn figures_stand_where_they_say(page: &AuditedPage, imported: &PageOutputs) -> usize {
    let mut count = 0;
    for output in &imported.outputs {
        let lines = &output.lines;
        assert!(lines.start < lines.end && lines.end <= page.len(), "{lines:?}");
        output.said.visit_figures(&mut |(metric, _, figure)| {
            count += 1;
            let quoted = page.quote(figure.spot);
            assert!(stands(quoted, figure.value), "{metric:?}: {quoted:?} is no {figure:?}");
            encloses(&figure);
        });
        for reading in output.said.readings() {
            assert!(reading.line < page.len(), "{reading:?}");
            figures_of(&reading).for_each(|figure| {
                encloses(figure);
                within(page, figure.spot);
            });
        }
        if let ToolReport::Asked(jobs) = &output.said {
            assert!(jobs.iter().all(|job| job.line < page.len()), "{jobs:?}");
        }
    }
    listed(page, &imported.unread);
    count
}

/// Whether a value is what digits say, in a unit that tools print.
fn stands(quoted: &str, value: f64) -> bool {
    // `1m3.241s` is a time of two parts.
    let parts = quoted.split(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ','));
    if parts.filter(|part| !part.is_empty() && *part != "-").count() > 1 {
        return !quoted.is_empty();
    }
    // `,4` is a figure of dd's where digits before it were lost.
    let quoted = format!("{}{quoted}", if quoted.starts_with(['.', ',']) { "0" } else { "" })
        .replace(',', ".");
    let Some((printed, ..)) = iotax_audit::number::leading(&quoted) else { return false };
    scales().any(|scale| (printed * scale - value).abs() <= 1e-9 * value.abs())
}

/// Asserts that a figure is of the numbers, and within what its digits stand for.
pub(super) fn encloses(figure: &PrintedNumber) {
    assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
    assert!(figure.low.is_finite() && figure.high.is_finite(), "{figure:?}");
}

/// Asserts that a spot is of letters of a line of the page.
pub(super) fn within(page: &AuditedPage, spot: TextSpan) {
    let line = page.line_text(spot.index());
    let there =
        spot.index() < page.len() && line.get(spot.start as usize..spot.end as usize).is_some();
    assert!(there, "{spot:?} of {} lines, this one of {} bytes", page.len(), line.len());
}

/// Asserts that lines which could not be read are there.
pub(super) fn listed(page: &AuditedPage, unread: &[UnreadRange]) {
    let last = if page.is_rendered() { usize::MAX } else { page.len().max(1) };
    for one in unread {
        let there = 1 <= one.line && one.line <= one.last && one.last as usize <= last;
        assert!(there && !one.why.is_empty(), "{one:?} of {last} lines");
    }
}

fn figures_of(reading: &ToolResult) -> impl Iterator<Item = &PrintedNumber> {
    let plain =
        [&reading.iops, &reading.bytes_per_second, &reading.ios, &reading.bytes, &reading.mean_ns];
    let percentiles = reading.percentiles_ns.iter().map(|(_, figure)| figure);
    let others = reading.others.iter().map(|other| &other.figure);
    plain.into_iter().flatten().chain(percentiles).chain(others)
}
