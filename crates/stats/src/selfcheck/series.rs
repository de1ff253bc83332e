//! Recorded noise: changes in the rate of a real target while nothing was changed. The series that
//! come with iotax were recorded on a 2-core cloud VM; `selfcheck stats --series` adds another.

use super::signal::Series;
use std::sync::Arc;

/// Beginning of the first line of a series.
const MARK: &str = "# iotax noise series, format 1: ";
const HEADER: &str = "stack,start_us,length_us,ios";

/// A series with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Name shown in the table.
    pub name: String,
    /// Description of the recorded target.
    pub what: String,
    /// Recorded level over time. If two stacks took turns, each is relative to its own mean.
    pub series: Arc<Series>,
}

/// Names and texts of the series that come with iotax.
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
pub struct SeriesRow {
    /// 0, or 1 for the second of two stacks that took turns.
    pub stack: usize,
    /// Start in microseconds from the first slice.
    pub start_us: u64,
    /// Length of the window in microseconds.
    pub length_us: u64,
    /// Number of completions in the window.
    pub ios: u64,
}

/// Reads a series from the text of a file, and names it.
///
/// # Errors
/// Describes the fault, with its line if it has one, for a message that names the file.
pub fn parse(name: &str, text: &str) -> Result<Recorded, String> {
    let mut lines = text.lines().enumerate();
    let what = match lines.next().and_then(|(_, line)| line.strip_prefix(MARK)) {
        Some(what) => what.to_owned(),
        None => {
            return Err(format!(
                "line 1: not a noise series of format 1 (it begins with {MARK:?})"
            ));
        }
    };
    if lines.next().is_none_or(|(_, line)| line != HEADER) {
        return Err(format!("line 2: the columns are not {HEADER}"));
    }
    let rows = lines.map(|(at, line)| row(line).map_err(|why| format!("line {}: {why}", at + 1)));
    let rows = rows.collect::<Result<Vec<SeriesRow>, String>>()?;
    Ok(Recorded { name: name.to_owned(), what, series: Arc::new(levels(&rows)?) })
}

fn row(line: &str) -> Result<SeriesRow, String> {
    let fields = line.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>();
    match fields.as_deref() {
        Ok([stack @ (0 | 1), start_us, length_us, ios]) if *length_us > 0 => Ok(SeriesRow {
            stack: *stack as usize,
            start_us: *start_us,
            length_us: *length_us,
            ios: *ios,
        }),
        _ => Err(format!(
            "{line:?} is not {HEADER} in whole numbers, the stack 0 or 1, the length not 0"
        )),
    }
}

/// Number of slices below which a series gives too little evidence about a machine.
pub const LEAST_ROWS: usize = 200;

/// Converts slices to levels with a mean of 1 over time; a level holds until the next slice begins.
/// Each of two stacks that took turns is divided by its own mean, since their difference is not the
/// machine's noise. Refuses too few slices, slices out of order, and a stack that completed
/// nothing.
fn levels(rows: &[SeriesRow]) -> Result<Series, String> {
    if !rows.windows(2).all(|pair| pair[0].start_us + pair[0].length_us <= pair[1].start_us) {
        return Err("slices overlap or are not in order of time".into());
    }
    if rows.len() < LEAST_ROWS {
        return Err(format!("{} slices, needed are {LEAST_ROWS}", rows.len()));
    }
    let mut levels: Vec<f64> =
        rows.iter().map(|row| row.ios as f64 / row.length_us as f64).collect();
    for stack in [0, 1] {
        let ours =
            || rows.iter().enumerate().filter(|(_, row)| row.stack == stack).map(|(at, _)| at);
        let own = ours().map(|at| levels[at]).sum::<f64>() / ours().count().max(1) as f64;
        ours().for_each(|at| levels[at] /= own);
    }
    let next = rows.iter().skip(1).map(|row| row.start_us);
    let end_us = rows.last().map_or(0, |row| row.start_us + row.length_us);
    let ends: Vec<f64> = next.chain([end_us]).map(|us| us as f64 / 1e6).collect();
    let begins = [0.0].into_iter().chain(ends.iter().copied());
    let area: f64 =
        begins.zip(&ends).zip(&levels).map(|((begin, end), level)| level * (end - begin)).sum();
    let mean = area / end_us as f64 * 1e6;
    match mean > 0.0 && mean.is_finite() {
        true => Ok(Series { ends, levels: levels.iter().map(|level| level / mean).collect() }),
        false => Err("a stack completed nothing".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn text(what: &str, rows: &[SeriesRow]) -> String {
        let mut text = format!("{MARK}{}\n{HEADER}\n", what.replace('\n', " "));
        for row in rows {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{},{},{},{}", row.stack, row.start_us, row.length_us, row.ios);
        }
        text
    }

    #[test]
    fn shipped_series_are_sound() {
        for (name, text) in SHIPPED {
            let found = parse(name, text).unwrap();
            let series = &found.series;
            let mut from = 0.0;
            let of =
                |(end, level): (&f64, &f64)| level * (end - std::mem::replace(&mut from, *end));
            let mean =
                series.ends.iter().zip(&series.levels).map(of).sum::<f64>() / series.length_s();
            assert!((mean - 1.0).abs() < 1e-9 && series.length_s() > 15.0, "{name}: {mean}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let rows: Vec<SeriesRow> = (0..300)
            .map(|i| SeriesRow {
                stack: i % 2,
                start_us: i as u64 * 60_000,
                length_us: 50_000,
                ios: 100 + i as u64,
            })
            .collect();
        let found = parse("x", &text("a\nb", &rows)).unwrap();
        assert_eq!((found.what.as_str(), found.series.levels.len()), ("a b", 300));
        let few = parse("x", &text("here", &rows[..199])).unwrap_err();
        assert!(few.contains("199 slices"), "{few}");
        let idle: Vec<SeriesRow> = rows.iter().map(|row| SeriesRow { ios: 0, ..*row }).collect();
        assert!(parse("x", &text("here", &idle)).is_err());
    }

    #[test]
    fn bad_series_are_refused_with_their_line() {
        let bad = [
            ("nothing", "", "line 1"),
            ("columns", "# iotax noise series, format 1: x\na,b\n", "line 2"),
            (
                "number",
                "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n0,1,x,3\n",
                "line 3",
            ),
            (
                "stack",
                "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n2,1,1,3\n",
                "line 3",
            ),
            (
                "order",
                "# iotax noise series, format 1: x\nstack,start_us,length_us,ios\n0,9,1,3\n0,1,1,3\n",
                "overlap",
            ),
        ];
        for (name, text, expected) in bad {
            let said = parse(name, text).unwrap_err();
            assert!(said.contains(expected), "{name}: {said}");
        }
    }
}
