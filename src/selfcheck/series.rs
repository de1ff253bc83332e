//! Recorded noise: how the rate of a real target moved while nothing was changed. The ones that come with iotax were
//! recorded on a 2-core cloud VM; `selfcheck stats --record` adds those of other machines.

use super::signal::Series;
use std::fmt::Write as _;
use std::sync::Arc;

/// First line of a series begins so.
const MARK: &str = "# iotax noise series, format 1: ";
const HEADER: &str = "stack,start_us,length_us,ios";

/// A series with its name; a level for each of the stacks that were recorded in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// For the table.
    pub name: String,
    /// What was recorded.
    pub what: String,
    /// One, or two that took turns.
    pub stacks: Vec<Arc<Series>>,
}

/// The series that come with iotax.
pub const SHIPPED: &[(&str, &str)] = &[
    ("file", include_str!("series/file.csv")),
    ("loop", include_str!("series/loop.csv")),
    ("zram-1", include_str!("series/zram-1.csv")),
    ("zram-2", include_str!("series/zram-2.csv")),
    ("file-twice", include_str!("series/file-twice.csv")),
    ("file-and-loop", include_str!("series/file-and-loop.csv")),
    ("zram-twice", include_str!("series/zram-twice.csv")),
];

/// One slice of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// 0, or 1 where two took turns.
    pub stack: usize,
    /// Start in microseconds from the first.
    pub start_us: u64,
    /// Microseconds of the window.
    pub length_us: u64,
    /// Completions in it.
    pub ios: u64,
}

/// As it is kept in a file.
pub fn text(what: &str, rows: &[Row]) -> String {
    let mut text = format!("{MARK}{}\n{HEADER}\n", what.replace('\n', " "));
    for row in rows {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{},{},{},{}", row.stack, row.start_us, row.length_us, row.ios);
    }
    text
}

/// Reads a series.
///
/// # Errors
/// What is wrong, with the line, for a message that names the file.
pub fn parse(name: &str, text: &str) -> Result<Recorded, String> {
    let mut lines = text.lines().enumerate();
    let what = match lines.next().and_then(|(_, line)| line.strip_prefix(MARK)) {
        Some(what) => what.to_owned(),
        None => return Err(format!("line 1: not a noise series of format 1 (it begins with {MARK:?})")),
    };
    if lines.next().is_none_or(|(_, line)| line != HEADER) {
        return Err(format!("line 2: the columns are not {HEADER}"));
    }
    let rows = lines.map(|(at, line)| row(line).map_err(|why| format!("line {}: {why}", at + 1)));
    let rows = rows.collect::<Result<Vec<Row>, String>>()?;
    Ok(Recorded { name: name.to_owned(), what, stacks: levels(&rows)? })
}

fn row(line: &str) -> Result<Row, String> {
    let fields = line.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>();
    match fields.as_deref() {
        Ok([stack @ (0 | 1), start_us, length_us, ios]) if *length_us > 0 => {
            Ok(Row { stack: *stack as usize, start_us: *start_us, length_us: *length_us, ios: *ios })
        }
        _ => Err(format!("{line:?} is not {HEADER} in whole numbers, the stack 0 or 1, the length not 0")),
    }
}

/// Slices below which a series says too little of a machine.
pub const LEAST_ROWS: usize = 200;

fn levels(rows: &[Row]) -> Result<Vec<Arc<Series>>, String> {
    if !rows.windows(2).all(|pair| pair[0].start_us + pair[0].length_us <= pair[1].start_us) {
        return Err("slices overlap or are not in order of time".into());
    }
    let stacks = if rows.iter().any(|row| row.stack == 1) { 2 } else { 1 };
    let end_us = rows.last().map_or(0, |row| row.start_us + row.length_us);
    (0..stacks).map(|stack| series(rows, stack, end_us).map(Arc::new)).collect()
}

/// A level holds until the stack's next slice begins; the first one from the start of the recording.
fn series(rows: &[Row], stack: usize, end_us: u64) -> Result<Series, String> {
    let ours: Vec<&Row> = rows.iter().filter(|row| row.stack == stack).collect();
    let done: u64 = ours.iter().map(|row| row.ios).sum();
    if ours.len() < LEAST_ROWS || done == 0 {
        return Err(format!("{} slices with {done} completions of stack {stack}, needed are {LEAST_ROWS}", ours.len()));
    }
    let next = ours.iter().skip(1).map(|row| row.start_us).chain([end_us]);
    let ends: Vec<f64> = next.map(|us| us as f64 / 1e6).collect();
    let rates: Vec<f64> = ours.iter().map(|row| row.ios as f64 / row.length_us as f64).collect();
    let mut from = 0.0;
    let mut area = 0.0;
    for (end, rate) in ends.iter().zip(&rates) {
        area += rate * (end - from);
        from = *end;
    }
    let mean = area / from;
    Ok(Series { ends, levels: rates.iter().map(|rate| rate / mean).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_series_are_sound() {
        for (name, text) in SHIPPED {
            let found = parse(name, text).unwrap();
            for series in &found.stacks {
                let mut from = 0.0;
                let mean: f64 = series
                    .ends
                    .iter()
                    .zip(&series.levels)
                    .map(|(end, level)| level * (end - std::mem::replace(&mut from, *end)))
                    .sum::<f64>()
                    / series.length_s();
                assert!((mean - 1.0).abs() < 1e-9 && series.length_s() > 15.0, "{name}: {mean}");
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let rows: Vec<Row> =
            (0..300).map(|i| Row { stack: i % 2, start_us: i as u64 * 60_000, length_us: 50_000, ios: 100 + i as u64 }).collect();
        let few = parse("x", &text("here", &rows)).unwrap_err();
        assert!(few.contains("150 slices"), "{few}");
        let rows: Vec<Row> = rows.iter().map(|row| Row { stack: 0, ..*row }).collect();
        let found = parse("x", &text("a\nb", &rows)).unwrap();
        assert_eq!((found.what.as_str(), found.stacks.len(), found.stacks[0].levels.len()), ("a b", 1, 300));
    }

    #[test]
    fn bad_series_are_refused_with_their_line() {
        let bad = [
            ("nothing", "", "line 1"),
            ("columns", "# iotax noise series, format 1: x\na,b\n", "line 2"),
            ("number", "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n0,1,x,3\n", "line 3"),
            ("stack", "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n2,1,1,3\n", "line 3"),
            ("order", "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n0,9,1,3\n0,1,1,3\n", "overlap"),
        ];
        for (name, text, expected) in bad {
            let said = parse(name, text).unwrap_err();
            assert!(said.contains(expected), "{name}: {said}");
        }
    }
}
