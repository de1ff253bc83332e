//! UnixBench 4 and 5: the list of results (`... 24052320.3 lps (10.0 s, 7 samples)`) and the tables of index values of a run.

use super::cut::{Line, other};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::Page;

/// One run, as far as it is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bench {
    /// `running 4 parallel copies`.
    pub copies: Option<Figure>,
    /// The list of results.
    pub results: Vec<Score>,
    /// Tables of index values, one a category.
    pub indexes: Vec<Index>,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// `Dhrystone 2 using register variables`.
    pub name: String,
    /// Index of its line.
    pub line: usize,
    /// The result, in its own unit.
    pub result: Figure,
    /// `lps`.
    pub unit: String,
    /// Seconds of a sample.
    pub seconds: Figure,
    /// Samples.
    pub samples: Figure,
}

/// A table of index values.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// `System Benchmarks`.
    pub category: String,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The final score.
    pub score: Option<Figure>,
    /// Whether it says that not all tests ran.
    pub partial: bool,
}

/// A row of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the test.
    pub name: String,
    /// Index of its line.
    pub line: usize,
    /// What the index is taken against; none where `---` stands.
    pub baseline: Option<Figure>,
    /// The result.
    pub result: Figure,
    /// Ten times the result over the baseline.
    pub index: Option<Figure>,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
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

/// The category of the head of a table of index values, of 5 and of 4.
fn head(line: &str) -> Option<&str> {
    let (title, columns) = line.trim().split_once("BASELINE")?;
    let mut columns = columns.split_whitespace();
    if (columns.next(), columns.next(), columns.next()) != (Some("RESULT"), Some("INDEX"), None) {
        return None;
    }
    let title = title.trim();
    // Version 4 has no more than that there.
    let ends = ["Index Values", "Partial Index", "TEST"];
    ends.iter().find_map(|end| title.strip_suffix(end)).map(str::trim)
}

/// Blank lines within a run.
const BLANKS: usize = 3;

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut bench = Bench::default();
    let (mut at, mut end, mut blanks) = (line, line, 0);
    while at < page.len() {
        let here = Line::of(page, at);
        let text = here.text.trim();
        if text.is_empty() {
            blanks += 1;
            if blanks > BLANKS {
                break;
            }
        } else if step(&mut bench, &here, at, at == line)? {
            (end, blanks) = (at + 1, 0);
        } else {
            break;
        }
        at += 1;
    }
    bench.indexes.retain(|index| !index.rows.is_empty());
    let told = !bench.results.is_empty() || !bench.indexes.is_empty();
    told.then(|| Found { said: Said::UnixBench(Box::new(bench)), end, unread: Vec::new() })
}

/// Takes a line in; false where it is none of a run, or of the next. None where the first line is not what it looked like.
fn step(bench: &mut Bench, line: &Line, at: usize, first: bool) -> Option<bool> {
    let text = line.text.trim();
    if text.starts_with("Benchmark Run: ") {
        return Some(first);
    }
    if let Some(category) = head(text) {
        let rows = Vec::new();
        bench.indexes.push(Index { category: category.to_owned(), rows, score: None, partial: false });
        // Heads without rows are no tables.
        return Some(bench.indexes.iter().filter(|index| index.rows.is_empty()).count() <= 1);
    }
    if text.ends_with("samples)") {
        return match score(line, at) {
            Some(_) if !bench.indexes.is_empty() => Some(false),
            Some(score) => {
                bench.results.push(score);
                Some(true)
            }
            None if first => None,
            None => Some(false),
        };
    }
    if let Some(copies) = copies(line).filter(|_| bench.results.is_empty()) {
        bench.copies = Some(copies);
        return Some(true);
    }
    let Some(index) = bench.indexes.last_mut() else { return Some(false) };
    if text.bytes().all(|byte| byte == b'=') {
        return Some(index.score.is_none());
    }
    if index.score.is_some() {
        return Some(false);
    }
    Some(final_score(index, line) || row(line, at).map(|row| index.rows.push(row)).is_some())
}

/// `2 CPUs in system; running 1 parallel copy of tests`.
fn copies(line: &Line) -> Option<Figure> {
    let (_, rest) = line.text.split_once("in system; running ")?;
    let (number, rest) = rest.split_once(' ')?;
    rest.starts_with("parallel cop").then(|| line.count(number))?
}

/// `Pipe Throughput   1827124.4 lps   (10.0 s, 7 samples)`.
fn score(line: &Line, at: usize) -> Option<Score> {
    let (head, samples) = line.text.trim_end().strip_suffix(" samples)")?.rsplit_once(" s, ")?;
    let (head, seconds) = head.rsplit_once('(')?;
    let (head, unit) = head.trim_end().rsplit_once(' ')?;
    let (name, result) = head.trim_end().rsplit_once(' ')?;
    Some(Score {
        name: name.trim().to_owned(),
        line: at,
        result: line.figure(result, 1.0)?,
        unit: unit.to_owned(),
        seconds: line.figure(seconds, 1.0)?,
        samples: line.count(samples)?,
    })
    .filter(|score| !score.name.is_empty())
}

/// `Pipe Throughput   12440.0   1827124.4   1468.7`.
fn row(line: &Line, at: usize) -> Option<Row> {
    let (head, index) = line.text.trim_end().rsplit_once(' ')?;
    let (head, result) = head.trim_end().rsplit_once(' ')?;
    let (name, baseline) = head.trim_end().rsplit_once(' ')?;
    let told = |word: &str| !word.bytes().all(|byte| byte == b'-');
    let row = Row {
        name: name.trim().to_owned(),
        line: at,
        baseline: if told(baseline) { Some(line.figure(baseline, 1.0)?) } else { None },
        result: line.figure(result, 1.0)?,
        index: if told(index) { Some(line.figure(index, 1.0)?) } else { None },
    };
    (!row.name.is_empty()).then_some(row)
}

/// `System Benchmarks Index Score (Partial Only)   1526.4`, or `FINAL SCORE` of version 4.
fn final_score(index: &mut Index, line: &Line) -> bool {
    let Some((title, score)) = line.text.trim_end().rsplit_once(' ') else { return false };
    let title = title.trim();
    let (title, partial) = match title.strip_suffix("(Partial Only)") {
        Some(title) => (title.trim_end(), true),
        None => (title, false),
    };
    if !title.ends_with("Index Score") && title != "FINAL SCORE" {
        return false;
    }
    index.partial = partial;
    index.score = line.figure(score, 1.0);
    index.score.is_some()
}

/// What a result counts.
fn unit_of(name: &str) -> Unit {
    match name {
        "lps" => Unit::PerSecond,
        "MWIPS" => Unit::Mwips,
        _ => Unit::Bare,
    }
}

impl Bench {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for score in &self.results {
            tell((Metric::Score, unit_of(&score.unit), score.result));
            tell((Metric::Runtime, Unit::Nanoseconds, score.seconds.scaled(1e9)));
            tell((Metric::Other, Unit::Things, score.samples));
        }
        for index in &self.indexes {
            for row in &index.rows {
                row.baseline.iter().for_each(|figure| tell((Metric::Score, Unit::Bare, *figure)));
                tell((Metric::Score, Unit::Bare, row.result));
                row.index.iter().for_each(|figure| tell((Metric::Score, Unit::Bare, *figure)));
            }
            index.score.iter().for_each(|figure| tell((Metric::Score, Unit::Bare, *figure)));
        }
    }

    /// A reading a test and one a final score.
    pub fn readings(&self) -> Vec<Reading> {
        let made = |line: usize, name: &str, unit: &str, figure: Figure| {
            let workload = Workload {
                numjobs: self.copies.map(|copies| copies.value as u64),
                name: Some(name.to_owned()),
                ..Workload::default()
            };
            let others = vec![other(name, unit, true, figure)];
            Reading { others, ..Reading::new(line, workload, Way::Both) }
        };
        let mut readings: Vec<Reading> =
            self.results.iter().map(|one| made(one.line, &one.name, &one.unit, one.result)).collect();
        for index in &self.indexes {
            if self.results.is_empty() {
                readings.extend(index.rows.iter().map(|row| made(row.line, &row.name, "", row.result)));
            }
            let title = format!("{} Index Score", index.category);
            readings.extend(index.score.map(|score| made(score.spot.index(), title.trim(), "", score)));
        }
        readings
    }
}
