//! UnixBench 4 and 5: the list of results (`... 24052320.3 lps (10.0 s, 7 samples)`) and the tables of index values of a run. A
//! sheet a line: of the list, of a table, of a final score, which ends its table.

use super::cut::{Line, other, walk};
use super::sheet::{Sheet, named};
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::number::Figure;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "UnixBench",
    help: "results and index values of UnixBench 4 and 5",
    example: include_str!("../../fixtures/unixbench/partial.txt"),
    begins: |line| {
        let line = line.trim_end();
        (line.ends_with("samples)") && line.contains(" s, "))
            || (line.ends_with("INDEX") && head(line).is_some())
            || line.starts_with("Benchmark Run: ")
    },
    read,
};

/// Names of its figures: a result of the list, of a table, what that is taken against, ten times the one over the other, and the
/// geometric mean of a table's.
pub(crate) const LISTED: &str = "the result in the list";
pub(crate) const RESULT: &str = "the result";
pub(crate) const BASELINE: &str = "the baseline";
pub(crate) const INDEX: &str = "the index";
pub(crate) const SCORE: &str = "the final score";

/// The category of the head of a table of index values, of 5 and of 4.
fn head(line: &str) -> Option<&str> {
    let (title, columns) = line.trim().split_once("BASELINE")?;
    columns.split_whitespace().eq(["RESULT", "INDEX"]).then_some(())?;
    let title = title.trim();
    // Version 4 has no more than that there.
    ["Index Values", "Partial Index", "TEST"].iter().find_map(|end| title.strip_suffix(end)).map(str::trim)
}

const BLANKS: usize = 3;

fn read(page: &Page, line: usize) -> Option<Found> {
    let (mut sheets, mut copies, mut table) = (Vec::<Sheet>::new(), None, None);
    let end = walk(page, line, BLANKS, |here, at| {
        let text = here.text.trim();
        if text.is_empty() {
            return Some(false);
        }
        if let Some(category) = head(text) {
            // Heads without rows are no tables.
            if table.is_some() && sheets.last().is_none_or(|last| last.get(RESULT).is_none()) {
                return None;
            }
            table = Some(category.to_owned());
        } else if let Some((_, running)) = text.split_once("in system; running ") {
            copies = running.split(' ').next().and_then(|copies| copies.parse().ok());
        } else {
            let told = match &table {
                Some(category) => final_score(here, at, category).or_else(|| row(here, at)),
                None => score(here, at),
            };
            let drawn = text.bytes().all(|sign| sign == b'=');
            if told.is_none() && !drawn && !(text.starts_with("Benchmark Run: ") && at == line) {
                return None;
            }
            sheets.extend(told);
        }
        Some(true)
    });
    // What is listed is not told again of the table.
    let listed = sheets.iter().any(|sheet| sheet.get(LISTED).is_some());
    for sheet in &mut sheets {
        let again = listed && sheet.get(RESULT).is_some();
        sheet.way = (!again).then_some(Way::Both);
        sheet.workload.numjobs = copies;
    }
    Found::sheets(sheets, end)
}

/// A sheet of a line: what it is called, what its result counts, its figures.
fn sheet(at: usize, name: &str, unit: &str, figures: &[(&'static str, Figure)]) -> Option<Sheet> {
    let name = name.trim();
    let mut sheet = Sheet::new(at, None);
    let counts = match unit {
        "lps" => "/s",
        "MWIPS" => "MWIPS",
        _ => "",
    };
    figures.iter().for_each(|(key, figure)| sheet.add(Metric::Score, named(key, counts, *figure)));
    sheet.others = vec![other(name, unit, true, figures.first()?.1)];
    sheet.workload = Workload { name: Some(name.to_owned()), ..Workload::default() };
    (!name.is_empty()).then_some(sheet)
}

/// `Pipe Throughput   1827124.4 lps   (10.0 s, 7 samples)`.
fn score(line: &Line, at: usize) -> Option<Sheet> {
    let (head, samples) = line.text.trim_end().strip_suffix(" samples)")?.rsplit_once(" s, ")?;
    let (head, seconds) = head.rsplit_once('(')?;
    let (head, unit) = head.trim_end().rsplit_once(' ')?;
    let (name, result) = head.trim_end().rsplit_once(' ')?;
    line.figure(seconds, 1.0).and(line.count(samples))?;
    sheet(at, name, unit, &[(LISTED, line.figure(result, 1.0)?)])
}

/// `Pipe Throughput   12440.0   1827124.4   1468.7`; `---` where there is no baseline.
fn row(line: &Line, at: usize) -> Option<Sheet> {
    let (head, index) = line.text.trim_end().rsplit_once(' ')?;
    let (head, result) = head.trim_end().rsplit_once(' ')?;
    let (name, baseline) = head.trim_end().rsplit_once(' ')?;
    let mut figures = vec![(RESULT, line.figure(result, 1.0)?)];
    for (key, word) in [(BASELINE, baseline), (INDEX, index)] {
        if !word.bytes().all(|byte| byte == b'-') {
            figures.push((key, line.figure(word, 1.0)?));
        }
    }
    sheet(at, name, "", &figures)
}

/// `System Benchmarks Index Score (Partial Only)   1526.4`, or `FINAL SCORE` of version 4.
fn final_score(line: &Line, at: usize, category: &str) -> Option<Sheet> {
    let (title, score) = line.text.trim_end().rsplit_once(' ')?;
    let title = title.trim().trim_end_matches("(Partial Only)").trim_end();
    (title.ends_with("Index Score") || title == "FINAL SCORE").then_some(())?;
    sheet(at, &format!("{category} Index Score"), "", &[(SCORE, line.figure(score, 1.0)?)])
}
