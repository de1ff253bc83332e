//! The figures of pages as a list, for a spreadsheet or for programs: what each is of, whether it holds and why. Written page by
//! page, since it may be longer than all that is kept of them.

use super::super::csv::cell;
use iotax_audit::audit::Audited;
use iotax_audit::claim::list::{Listed, listed};
use iotax_audit::harmless;
use serde::Serialize;
use std::io::{Result, Write};

/// Name of the format.
pub const FORMAT: &str = "iotax-claims";
/// Raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// A form of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a spreadsheet.
    Csv,
    /// For programs.
    Json,
}

impl Form {
    /// All with the ending of their files.
    pub const ALL: [(Form, &'static str); 2] = [(Form::Csv, "csv"), (Form::Json, "json")];
}

#[derive(Serialize)]
struct Row<'a> {
    document: &'a str,
    line: u32,
    column: Option<usize>,
    end_column: Option<usize>,
    system: Option<&'a str>,
    workload: Option<&'a str>,
    metric: iotax_audit::claim::Metric,
    value: f64,
    low: f64,
    high: f64,
    printed: &'a str,
    unit: iotax_audit::number::Unit,
    kind: iotax_audit::claim::Kind,
    status: &'static str,
    why: &'static str,
}

impl<'a> Row<'a> {
    fn of(document: &'a str, one: &'a Listed) -> Row<'a> {
        let claim = one.claim;
        Row {
            document,
            line: one.line,
            column: one.columns.map(|columns| columns.0),
            end_column: one.columns.map(|columns| columns.1),
            system: one.system.as_deref(),
            workload: one.workload.as_deref(),
            metric: claim.metric,
            value: plain(claim.value),
            low: plain(claim.interval.low),
            high: plain(claim.interval.high),
            printed: one.printed,
            unit: claim.unit,
            kind: claim.kind,
            status: claim.status.words(),
            why: one.why,
        }
    }
}

/// Without what a factor of a unit leaves in the last digits: `22.35`, not `22.349999999999998`.
fn plain(value: f64) -> f64 {
    format!("{value:.14e}").parse().unwrap_or(value)
}

/// Writes the list.
pub struct List<'a> {
    out: &'a mut dyn Write,
    form: Form,
    any: bool,
}

impl<'a> List<'a> {
    /// Begins it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(out: &'a mut dyn Write, form: Form) -> Result<List<'a>> {
        if form == Form::Json {
            write!(out, "{{\"format\": \"{FORMAT}\", \"version\": {VERSION}, \"claims\": [")?;
        }
        Ok(List { out, form, any: false })
    }

    /// Adds the figures of a page.
    ///
    /// # Errors
    /// The same.
    pub fn page(&mut self, audited: &Audited) -> Result<()> {
        let (document, listed) = (audited.page.name.as_str(), listed(audited));
        let rows = listed.iter().map(|one| Row::of(document, one));
        match self.form {
            Form::Csv => {
                let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(&mut *self.out);
                if !self.any {
                    writer.write_record(HEAD)?;
                    self.any = true;
                }
                for row in rows {
                    writer.serialize(in_cells(row, &mut Default::default()))?;
                }
                writer.flush()
            }
            Form::Json => {
                for row in rows {
                    self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
                    self.out.write_all(harmless::json(&serde_json::to_string(&row)?).as_bytes())?;
                    self.any = true;
                }
                Ok(())
            }
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// The same.
    pub fn end(self) -> Result<()> {
        match self.form {
            Form::Csv if !self.any => writeln!(self.out, "{}", HEAD.join(",")),
            Form::Csv => Ok(()),
            Form::Json => self.out.write_all(b"\n]}\n"),
        }
    }
}

const HEAD: [&str; 15] = [
    "document",
    "line",
    "column",
    "end_column",
    "system",
    "workload",
    "metric",
    "value",
    "low",
    "high",
    "printed",
    "unit",
    "kind",
    "status",
    "why",
];

/// What others wrote, harmless in a spreadsheet.
fn in_cells<'a>(row: Row<'a>, kept: &'a mut [String; 4]) -> Row<'a> {
    let Row { document, system, workload, printed, .. } = row;
    *kept = [document, system.unwrap_or(""), workload.unwrap_or(""), printed].map(cell);
    let [document, of_system, of_workload, printed] = &*kept;
    Row {
        document,
        system: system.map(|_| of_system.as_str()),
        workload: workload.map(|_| of_workload.as_str()),
        printed,
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_audit::audit::audit;
    use iotax_audit::page::Page;

    #[test]
    fn figures_have_no_digits_that_nobody_printed() {
        assert_eq!(plain(22.349999999999998), 22.35);
        assert_eq!((plain(0.0), plain(184_200.0), plain(1.0 / 3.0)), (0.0, 184_200.0, 0.333333333333333));
        assert!(plain(f64::INFINITY).is_infinite());
    }

    const PAGE: &str = "| load | host | =guest() | guest / host |\n|---|---|---|---|\n| 4k read | 80000 | 73600 | 92% |\n| 4k write | 60000 | 56400 | 94% |\n| 64k read | 7000 | 6510 | 93% |\n";

    fn made(form: Form, pages: &[&str]) -> String {
        let mut out = Vec::new();
        let mut list = List::begin(&mut out, form).unwrap();
        for page in pages {
            list.page(&audit(Page::new("a, b.md", *page))).unwrap();
        }
        list.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_figure_is_a_line_of_a_sheet() {
        let text = made(Form::Csv, &[PAGE, PAGE]);
        assert_eq!(text.lines().count(), 1 + 2 * 9);
        assert_eq!(text.lines().next().unwrap(), HEAD.join(","));
        let guest = "\"a, b.md\",3,21,26,'=guest(),4k read,other,73600.0,73599.5,73600.5,73600,bare,cell,cannot be checked,others are computed from it; nothing on the page gives it";
        assert_eq!(text.lines().nth(2).unwrap(), guest);
        assert_eq!(made(Form::Csv, &[]), HEAD.join(",") + "\n");
    }

    #[test]
    fn no_sheet_computes_what_a_page_says() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
            ("-1-HYPERLINK(\"x\")", "'-1-HYPERLINK(\"x\")"),
            ("@SUM(1)", "'@SUM(1)"),
            ("＝1", "'＝1"),
            ("-x", "'-x"),
            ("-5.2 %", "-5.2 %"),
            ("+1,234 MB/s", "+1,234 MB/s"),
            ("4k read", "4k read"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn programs_get_json() {
        let all: serde_json::Value = serde_json::from_str(&made(Form::Json, &[PAGE, PAGE])).unwrap();
        assert_eq!((all["format"].as_str(), all["claims"].as_array().unwrap().len()), (Some(FORMAT), 18));
        assert_eq!(all["claims"][1]["system"], "=guest()", "no spreadsheet reads it");
        let keys: Vec<&str> = all["claims"][0].as_object().unwrap().keys().map(String::as_str).collect();
        assert!(HEAD.iter().all(|head| keys.contains(head)) && keys.len() == HEAD.len());
        let none: serde_json::Value = serde_json::from_str(&made(Form::Json, &[])).unwrap();
        assert_eq!(none["claims"].as_array().unwrap().len(), 0);
    }
}
