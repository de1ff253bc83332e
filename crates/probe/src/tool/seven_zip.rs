//! Benchmark of 7-Zip: the rating of compressing and decompressing with LZMA.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, after_text, amount, ask, number, units,
    version_behind,
};
use crate::{Argument, Definition, ProbeUnit};
use std::time::Duration;

/// First version of 7-Zip that has a test by time (`-mtime`); p7zip 16 has none.
const HAS_TIME: u32 = 22;

pub(super) const DEFINITION: Definition = Definition {
    name: "7z",
    argument: Argument::Test(&[(
        "b",
        ProbeUnit::Count("LZMA instructions"),
        "compressing, and decompressing as the other direction, with a dictionary of 4 MiB",
    )]),
    unit: ProbeUnit::Count("LZMA instructions"),
    subject: "7-Zip's rating",
    about: "Compresses data of its own with LZMA, then decompresses it: 7-Zip's rating, which is instructions of a processor of its \
            author's, not of this one. Only the dictionary of 2^22 bytes; its usual total is over four dictionaries and all processors.",
    relative: "integer, in slices",
    program: Some(("7zz", "7zip")),
    shortest_slice_ns: 3_000_000_000,
    needs_peer: false,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "7-Zip",
    programs: &["7zz", "7z"],
    version: |program| Ok(version_behind("7-Zip", &ask(program, &["i"])?)),
    copies: false,
    arguments: |asked| {
        let mut words =
            vec!["b".to_owned(), format!("-mmt{}", asked.spec.numjobs.max(1)), "-md22".to_owned()];
        if has_time(asked) {
            // Each of the two tests takes this long, after a look at the clock rate.
            words.push(format!("-mtime={}", (asked.seconds() / 2).max(1)));
        }
        words
    },
    expected: |asked| Duration::from_secs(if has_time(asked) { asked.seconds() + 2 } else { 20 }),
    read,
};

fn has_time(asked: &ToolRequest) -> bool {
    let major = asked.version.split('.').next().and_then(|major| major.parse().ok());
    major.is_some_and(|major: u32| major >= HAS_TIME)
}

fn read(_: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let line = after_text(&printed.stdout, "Avr:")?;
    after_text(&printed.stdout, "Tot:")?;
    // KiB/s, use of processors in percent, rating for a whole one, rating.
    let rating = |half: &str| match half.split_whitespace().collect::<Vec<_>>()[..] {
        [_, _, _, rating] => Ok(number(rating, line)? * 1e6),
        _ => Err(format!("\"Avr: {line}\" does not have four figures on each side")),
    };
    let (compressing, decompressing) =
        line.split_once('|').ok_or_else(|| format!("\"Avr: {line}\" does not have two sides"))?;
    let made = |half| Ok::<_, String>(units(amount(rating(half)?, printed.wall_ns)));
    Ok(ToolReading {
        ns: printed.wall_ns,
        read: made(compressing)?,
        write: made(decompressing)?,
        ..ToolReading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{WALL_NS, read_sample, reads};
    use super::*;
    use crate::ProbeSpec;
    use std::path::Path;

    const SAMPLE: &str = include_str!("samples/7zz-26.02.txt");

    #[test]
    fn both_ratings_are_read() {
        let reading = read_sample("7z(b)", &TOOL, SAMPLE, "").unwrap();
        assert_eq!(reading.ns, WALL_NS);
        assert_eq!(reading.read.ios, 2619 * (WALL_NS / 1000));
        assert_eq!(reading.write.ios, 2237 * (WALL_NS / 1000));
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let cut = SAMPLE.split("Tot:").next().unwrap();
        assert!(reads("7z", &TOOL, cut, "").unwrap_err().contains("no line \"Tot:\""));
        let half = SAMPLE.replace('|', " ");
        assert!(reads("7z", &TOOL, &half, "").unwrap_err().contains("does not have two sides"));
        let fewer = SAMPLE.replace("4447   2619", "2619");
        assert!(reads("7z", &TOOL, &fewer, "").unwrap_err().contains("does not have four figures"));
    }

    #[test]
    fn old_ones_are_not_asked_for_a_time() {
        let spec = ProbeSpec::parse("7z").unwrap();
        let arguments = |version| {
            let asked =
                ToolRequest { spec: &spec, program: Path::new("7z"), version, ns: 4_000_000_000 };
            (TOOL.arguments)(&asked).join(" ")
        };
        assert_eq!(arguments("26.02"), "b -mmt1 -md22 -mtime=2");
        assert_eq!(arguments("16.02"), "b -mmt1 -md22");
    }
}
