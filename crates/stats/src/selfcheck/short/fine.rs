//! Recorded noise at the scale of short slices: completions in each millisecond of a load, or in
//! each part of one.

use super::super::series::Recorded;
use super::super::signal::Series;
use std::sync::Arc;

/// Beginning of the first line of a fine series.
const MARK: &str = "# iotax fine noise series, format 1: ";
/// Character for no completions. Each further completion moves one character on; all of them are
/// printable.
const ZERO: u8 = b'!';

/// A series with the depth of the load that it was recorded from.
#[derive(Clone, Debug, PartialEq)]
pub struct FineSeries {
    /// Levels with a mean of 1, one per bin. They come from counts of I/Os, whose own noise they
    /// contain.
    pub recorded: Recorded,
    /// Number of I/Os in flight when it was recorded.
    pub depth: u32,
}

/// Names and texts of the fine series that come with iotax.
pub const SHIPPED: &[(&str, &str)] = &[
    ("fine-file-1", include_str!("../series/file-1.fine")),
    ("fine-file-1-busy", include_str!("../series/file-1-busy.fine")),
    ("fine-loop-1", include_str!("../series/loop-1.fine")),
    ("fine-file-32", include_str!("../series/file-32.fine")),
];

/// Returns true if a text is a fine series, and not one of slices.
pub fn is_fine(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Reads a fine series from the text of a file, and names it.
///
/// # Errors
/// Describes the fault, with its line if it has one, for a message that names the file.
pub fn parse(name: &str, text: &str) -> Result<FineSeries, String> {
    let mut lines = text.lines().zip(1..);
    let what = lines
        .next()
        .and_then(|(line, _)| line.strip_prefix(MARK))
        .ok_or("line 1: no fine series")?;
    let (depth, bin_us) = lines
        .next()
        .and_then(|(line, _)| head(line))
        .ok_or("line 2: it is not depth=N bin_us=N")?;
    let mut counts: Vec<f64> = Vec::new();
    for (line, number) in lines {
        let count = |byte: u8| (ZERO..=b'~').contains(&byte).then(|| f64::from(byte - ZERO));
        let line: Option<Vec<f64>> = line.bytes().map(count).collect();
        counts.extend(line.ok_or(format!("line {number}: a character that is no count"))?);
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    if counts.len() < super::super::series::LEAST_ROWS || mean <= 0.0 {
        return Err(format!("{} bins with {mean:.1} I/Os each are too few", counts.len()));
    }
    let series = Series {
        ends: (1..=counts.len()).map(|bin| bin as f64 * bin_us / 1e6).collect(),
        levels: counts.iter().map(|count| count / mean).collect(),
    };
    let recorded =
        Recorded { name: name.to_owned(), what: what.to_owned(), series: Arc::new(series) };
    Ok(FineSeries { recorded, depth })
}

fn head(line: &str) -> Option<(u32, f64)> {
    let (depth, bin_us) = line.strip_prefix("depth=")?.split_once(" bin_us=")?;
    let (depth, bin_us): (u32, u32) = (depth.parse().ok()?, bin_us.parse().ok()?);
    (depth > 0 && bin_us > 0).then_some((depth, f64::from(bin_us)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns counts as a file has them: a hundred per line, each at most what a character holds.
    fn text(what: &str, depth: u32, bin_us: u64, counts: &[u64]) -> String {
        let sign = |count: &u64| char::from(ZERO + (*count).min(u64::from(b'~' - ZERO)) as u8);
        let lines = counts.chunks(100).map(|line| line.iter().map(sign).chain(['\n']));
        let lines: String = lines.flatten().collect();
        format!("{MARK}{what}\ndepth={depth} bin_us={bin_us}\n{lines}")
    }

    #[test]
    fn shipped_series_are_sound() {
        for (name, text) in SHIPPED {
            let found = parse(name, text).unwrap();
            assert!(is_fine(text) && found.recorded.series.length_s() > 15.0, "{name}");
            assert!(text.lines().all(|line| line.len() <= 160), "{name}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let counts: Vec<u64> = (0..300).map(|i| i % 200).collect();
        let found = parse("x", &text("a b", 32, 500, &counts)).unwrap();
        assert_eq!((found.recorded.what.as_str(), found.depth), ("a b", 32));
        let Series { ends, levels } = &*found.recorded.series;
        assert!(
            (ends[299] - 0.15).abs() < 1e-12
                && (levels.iter().sum::<f64>() / 300.0 - 1.0).abs() < 1e-12
        );
        // A count beyond the largest that a character can encode counts as that largest.
        assert_eq!((levels[0], levels[93], levels[94]), (0.0, levels[199], levels[150]));
    }

    #[test]
    fn bad_series_are_refused_with_their_line() {
        let good = text("x", 1, 1000, &[12; 300]);
        for (bad, expected) in [
            (good.replace("fine", "coarse"), "line 1"),
            (good.replace("bin_us=1000", "bin_us=0"), "line 2"),
            (good.replacen("--", "-\t", 1), "line 3"),
            (text("x", 1, 1000, &[12; 100]), "too few"),
            (text("x", 1, 1000, &[0; 300]), "too few"),
        ] {
            let said = parse("x", &bad).unwrap_err();
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }
}
