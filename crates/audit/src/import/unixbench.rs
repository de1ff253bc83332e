//! UnixBench 4 and 5: the list of results (`... 24052320.3 lps (10.0 s, 7 samples)`) and the tables
//! of index values of a run. Each line gives a sheet: a result of the list, a row of a table, or a
//! table's final score.

use super::cut::{UnnumberedLine, other, walk};
use super::format::{Format, ImportedOutputs};
use super::sheet::{Sheet, make_named_figure};
use super::workload::{ResultDirection, Workload};
use crate::claim::Metric;
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "UnixBench",
    example: include_str!("../../fixtures/unixbench/partial.txt"),
    begins: |line| {
        let line = line.trim_end();
        (line.ends_with("samples)") && line.contains(" s, "))
            || (line.ends_with("INDEX") && head(line).is_some())
            || line.starts_with("Benchmark Run: ")
    },
    read,
};

/// Names of figures: a result of the list, a result of a table, that result's baseline, ten times
/// their quotient, and the geometric mean of a table's indices.
pub(crate) const LISTED: &str = "the result in the list";
pub(crate) const RESULT: &str = "the result";
pub(crate) const BASELINE: &str = "the baseline";
pub(crate) const INDEX: &str = "the index";
pub(crate) const SCORE: &str = "the final score";

/// Returns the category from the head of a table of index values, in version 5 and 4.
fn head(line: &str) -> Option<&str> {
    let (title, columns) = line.trim().split_once("BASELINE")?;
    columns.split_whitespace().eq(["RESULT", "INDEX"]).then_some(())?;
    let title = title.trim();
    // Version 4 prints no more than that there.
    ["Index Values", "Partial Index", "TEST"]
        .iter()
        .find_map(|end| title.strip_suffix(end))
        .map(str::trim)
}

const BLANKS: usize = 3;

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let (mut sheets, mut copies, mut table) = (Vec::<Sheet>::new(), None, None);
    let end = walk(page, line, BLANKS, |here, at| {
        let text = here.text.trim();
        if text.is_empty() {
            return Some(false);
        }
        if let Some(category) = head(text) {
            // Heads without rows are not tables.
            if table.is_some() && sheets.last().is_none_or(|last| last.get(RESULT).is_none()) {
                return None;
            }
            table = Some(category.to_owned());
        } else if let Some((_, running)) = text.split_once("in system; running ") {
            copies = running.split(' ').next().and_then(|copies| copies.parse().ok());
        } else {
            let found = sheet(here, at, table.as_deref());
            let drawn = text.bytes().all(|sign| sign == b'=');
            if found.is_none() && !drawn && !(text.starts_with("Benchmark Run: ") && at == line) {
                return None;
            }
            sheets.extend(found);
        }
        Some(true)
    });
    // Results in the list are not repeated from the table.
    let listed = sheets.iter().any(|sheet| sheet.get(LISTED).is_some());
    for sheet in &mut sheets {
        let again = listed && sheet.get(RESULT).is_some();
        sheet.way = (!again).then_some(ResultDirection::Both);
        sheet.workload.numjobs = copies;
    }
    ImportedOutputs::sheets(sheets, end)
}

/// Reads `Pipe Throughput   1827124.4 lps   (10.0 s, 7 samples)`, and below the head of a table
/// `Pipe Throughput   12440.0   1827124.4 1468.7` (`---` if there is no baseline), and its score:
/// `System Benchmarks Index Score (Partial Only)   1526.4`, in version 4 `FINAL SCORE`.
fn sheet(line: &UnnumberedLine, at: usize, table: Option<&str>) -> Option<Sheet> {
    let (name, unit, figures) = if let Some(category) = table {
        let (title, [score]) = tail(line.text)?;
        let title = title.trim_end_matches("(Partial Only)").trim_end();
        if title.ends_with("Index Score") || title == "FINAL SCORE" {
            (format!("{category} Index Score").trim().to_owned(), "", vec![(SCORE, score)])
        } else {
            let (name, [baseline, result, index]) = tail(line.text)?;
            (name.to_owned(), "", vec![(RESULT, result), (BASELINE, baseline), (INDEX, index)])
        }
    } else {
        let (name, [result, unit, seconds, "s,", samples, "samples)"]) = tail(line.text)? else {
            return None;
        };
        line.whole_figure(seconds.strip_prefix('(')?, 1.0).and(line.whole_count(samples))?;
        (name.to_owned(), unit, vec![(LISTED, result)])
    };
    let counts = match unit {
        "lps" => "/s",
        "MWIPS" => "MWIPS",
        _ => "",
    };
    let mut sheet = Sheet::new(at, None);
    for (key, word) in
        figures.into_iter().filter(|(_, word)| !word.bytes().all(|byte| byte == b'-'))
    {
        sheet.add_sheet_figure(
            Metric::Score,
            make_named_figure(key, counts, line.whole_figure(word, 1.0)?),
        );
    }
    sheet.others = vec![other(&name, unit, true, sheet.figures.first()?.1.figure)];
    sheet.workload = Workload { name: Some(name.clone()), ..Workload::default() };
    (!name.is_empty()).then_some(sheet)
}

/// Returns the last `N` words of a text, and the text before them.
fn tail<const N: usize>(text: &str) -> Option<(&str, [&str; N])> {
    let (mut rest, mut words) = (text, [""; N]);
    for word in words.iter_mut().rev() {
        (rest, *word) = rest.trim_end().rsplit_once(' ')?;
    }
    Some((rest.trim(), words))
}
