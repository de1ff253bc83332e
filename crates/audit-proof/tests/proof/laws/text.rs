//! Laws of what is read from pages of text: tables, sentences.

use super::outputs::{encloses, within};
use iotax_audit::number::quantities_in;
use iotax_audit::page::AuditedPage;
use iotax_audit::prose;
use iotax_audit::table::{self, PageTable, SPACES};

pub(super) fn tables(bytes: &[u8]) {
    let page = AuditedPage::new("p", String::from_utf8_lossy(bytes));
    let scanned = table::scan(&page, &[]);
    tables_hold(&page, &scanned.tables);
    super::outputs::listed(&page, &scanned.unread);
}

pub(super) fn prose(bytes: &[u8]) {
    let page = AuditedPage::new("p", String::from_utf8_lossy(bytes));
    for sentence in prose::sentences(&page, &[]) {
        let line = page.line_text(sentence.line);
        assert!(
            sentence.line < page.len() && line.get(sentence.bytes.clone()).is_some(),
            "{sentence:?}"
        );
        for quantity in &sentence.figures {
            within(&page, quantity.figure.spot);
            encloses(&quantity.figure);
            assert!(
                sentence.bytes.contains(&(quantity.figure.spot.start as usize)),
                "{sentence:?}"
            );
        }
    }
}

/// Tables and lines of a page that a container made.
pub(super) fn holds(page: &AuditedPage) {
    (0..page.len()).for_each(|at| assert!(!page.line_text(at).contains('\n')));
    tables_hold(page, &table::scan(page, &[]).tables);
}

/// Holds the laws of tables.
///
/// # Panics
/// Where a table is uneven, or a figure of it is not what is at its spot.
pub fn tables_hold(page: &AuditedPage, tables: &[PageTable]) {
    for table in tables {
        assert!(
            table.lines.start < table.lines.end && table.lines.end <= page.len(),
            "{:?}",
            table.lines
        );
        assert!(!table.heads.is_empty());
        for row in &table.rows {
            assert_eq!(row.cells.len(), table.heads.len());
            assert!(table.lines.contains(&row.line), "{} of {:?}", row.line, table.lines);
            for cell in row.cells.iter().flatten() {
                within(page, cell.spot);
                for quantity in cell.figure.iter().chain(cell.share.as_deref()).chain(&cell.more) {
                    encloses(&quantity.figure);
                    let stands = page.quote(quantity.figure.spot);
                    let again = quantities_in(0, stands, SPACES);
                    // A letter after a figure may be of a unit that is none of ours: only its
                    // column makes it one.
                    let [again] = again.as_slice() else {
                        assert!(
                            again.is_empty() && stands.ends_with(char::is_alphabetic),
                            "{stands}"
                        );
                        continue;
                    };
                    let value = again.figure.value;
                    let is =
                        |value: f64| (quantity.figure.value - value).abs() <= 1e-9 * value.abs();
                    // A column shows whether its points and commas group thousands, which one
                    // figure alone does not.
                    let moved =
                        || [1e3, 1e6, 1e9].iter().any(|by| is(value * by) || is(value / by));
                    let same = is(value) || (stands.contains(['.', ',']) && moved());
                    // The unit may stand in the head.
                    assert!(
                        same || quantity.scale != again.scale,
                        "{stands} is not {}",
                        quantity.figure.value
                    );
                }
            }
        }
    }
}
