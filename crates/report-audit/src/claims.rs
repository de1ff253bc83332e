//! Lists the figures of pages for a spreadsheet or for programs: each figure, whether it holds, and
//! why. Written page by page, since the list may be longer than all that is kept in memory.

use super::quote::Quotes;
use iotax_audit::audit::Audited;
use iotax_audit::{claim, number};
use iotax_report::csv::safe_cell;
use iotax_units::harmless;
use serde::Serialize;
use std::io::{Result, Write};

pub const FORMAT: &str = "iotax-claims";
/// Version of the format, incremented when a field changes its meaning or is removed.
pub const VERSION: u32 = 2;
/// File-name extensions of a list: CSV for a spreadsheet, JSON for programs.
pub const ENDINGS: [&str; 2] = ["csv", "json"];

#[derive(Serialize)]
struct ClaimRow<'a> {
    document: &'a str,
    line: u32,
    column: Option<usize>,
    end_column: Option<usize>,
    metric: claim::Metric,
    value: f64,
    low: f64,
    high: f64,
    unit: number::NumberUnit,
    printed: &'a str,
    kind: claim::ClaimKind,
    status: &'static str,
    why: &'static str,
}

const HEAD: &str =
    "document,line,column,end_column,metric,value,low,high,unit,printed,kind,status,why";

/// Rounds off the noise that a unit's factor leaves in the last digits: `22.35`, not
/// `22.349999999999998`.
fn round_off_noise(value: f64) -> f64 {
    format!("{value:.14e}").parse().unwrap_or(value)
}

pub struct List<'a> {
    out: &'a mut dyn Write,
    json: bool,
    any: bool,
}

impl<'a> List<'a> {
    /// Begins the list, as JSON or as CSV.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub fn begin(out: &'a mut dyn Write, json: bool) -> Result<List<'a>> {
        match json {
            true => {
                write!(out, "{{\"format\": \"{FORMAT}\", \"version\": {VERSION}, \"claims\": [")?
            }
            false => writeln!(out, "{HEAD}")?,
        }
        Ok(List { out, json, any: false })
    }

    /// Adds the figures of a page.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub fn page(&mut self, audited: &Audited) -> Result<()> {
        let page = &audited.page;
        let mut quotes = Quotes::new(page);
        let rows = audited.claims.iter().map(|one| {
            let columns = quotes.columns(one.spot);
            ClaimRow {
                document: &page.name,
                line: page.line_number(one.spot.index()),
                column: columns.map(|columns| columns.column),
                end_column: columns.map(|columns| columns.end_column),
                metric: one.metric,
                value: round_off_noise(one.value),
                low: round_off_noise(one.interval.low),
                high: round_off_noise(one.interval.high),
                unit: one.unit,
                printed: page.quote(one.spot),
                kind: one.kind,
                status: one.status.status_words(),
                why: one.why,
            }
        });
        if self.json {
            for row in rows {
                self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
                self.out.write_all(harmless::json(&serde_json::to_string(&row)?).as_bytes())?;
                self.any = true;
            }
            return Ok(());
        }
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(&mut *self.out);
        for row in rows {
            // Text from others must not be a formula in a spreadsheet.
            let (document, printed) = (safe_cell(row.document), safe_cell(row.printed));
            writer.serialize(ClaimRow { document: &document, printed: &printed, ..row })?;
        }
        writer.flush()
    }

    /// Ends the list.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub fn end_list(self) -> Result<()> {
        if self.json { self.out.write_all(b"\n]}\n") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_audit::audit::audit;
    use iotax_audit::page::AuditedPage;

    fn made(json: bool, pages: usize) -> String {
        let page = "| load | host | guest | guest / host |\n|---|---|---|---|\n| 4k read | 80000 | 73600 | 92% |\n";
        let mut out = Vec::new();
        let mut list = List::begin(&mut out, json).unwrap();
        (0..pages).for_each(|_| list.page(&audit(AuditedPage::new("=a, b.md", page))).unwrap());
        list.end_list().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_figure_is_a_line_of_a_sheet_and_no_formula_and_an_object_for_programs() {
        let text = made(false, 2);
        assert_eq!(text.lines().count(), 1 + 2 * 3, "{text}");
        let share = "\"'=a, b.md\",3,29,32,ratio,92.0,91.5,92.5,percent,92%,derived,holds,";
        assert!(text.lines().nth(3).unwrap().starts_with(share), "{text}");
        assert_eq!(
            (made(false, 0), round_off_noise(22.349999999999998)),
            (format!("{HEAD}\n"), 22.35)
        );
        let counts = [2, 0].map(|pages| {
            let found: serde_json::Value = serde_json::from_str(&made(true, pages)).unwrap();
            found["claims"].as_array().unwrap().len()
        });
        assert_eq!(counts, [6, 0]);
    }
}
