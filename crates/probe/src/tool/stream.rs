//! STREAM's four loops, by stress-ng's stressor of that name: no Debian package has STREAM itself.

use super::stress_ng::{StressorFigures, arguments};
use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, amount, ask, bytes, ns, version_behind,
};
use crate::{Argument, Definition, ProbeUnit};
use std::time::Duration;

/// Ratio of its arrays to the cache size that it is given.
const ARRAY_OF_CACHE: u64 = 4;
const MIB: f64 = 1_048_576.0;
/// Shortest run: it measures for 4.5 s at least, and prints no rate otherwise.
const SHORTEST_NS: u64 = 6_000_000_000;

pub(super) const DEFINITION: Definition = Definition {
    name: "stream",
    argument: Argument::Bytes { default: 128 << 20, least: 4 << 20 },
    unit: ProbeUnit::Bytes,
    subject: "memory bandwidth",
    about: "Copies, scales, adds and combines three arrays of the given size (STREAM's loops) and counts bytes read and bytes written. Not \
            STREAM's official figure; choose arrays of at least four times the last cache, the same size on both sides.",
    relative: "copy(128MiB), in slices; STREAM itself, which no Debian package has",
    program: Some(("stress-ng", "stress-ng")),
    shortest_slice_ns: SHORTEST_NS,
    needs_peer: false,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "stress-ng",
    programs: &["stress-ng"],
    version: |program| Ok(version_behind("stress-ng, version", &ask(program, &["--version"])?)),
    copies: false,
    arguments: |asked| {
        let cache = asked.spec.amount().unwrap_or(128 << 20) / ARRAY_OF_CACHE;
        arguments("stream", &["--stream-l3-size".to_owned(), cache.to_string()], asked)
    },
    // It first fills its arrays, and ends after a whole pass.
    expected: |asked| Duration::from_secs(asked.seconds() + 20),
    read,
};

fn read(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let too_short = "run duration too short";
    if printed.stderr.contains(too_short) || printed.stdout.contains(too_short) {
        return Err(format!("\"{too_short}\": choose smaller arrays, or longer slices"));
    }
    let figures = StressorFigures::read("stream", printed)?;
    let ns = ns(figures.number("wall-clock-time")?);
    // The figures are means over its workers.
    let workers = f64::from(asked.spec.numjobs.max(1));
    let moved = |old: &str, new: &str| {
        // Newer versions put the unit first.
        let rate = figures.number(old).or_else(|why| figures.number(new).map_err(|_| why))?;
        Ok::<_, String>(bytes(amount(rate * workers * MIB, ns)))
    };
    Ok(ToolReading {
        ns,
        read: moved("memory-read-rate-mb-per-sec", "mb-per-sec-memory-read-rate")?,
        write: moved("memory-write-rate-mb-per-sec", "mb-per-sec-memory-write-rate")?,
        ..ToolReading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const SAMPLE: &str = include_str!("samples/stress-ng-0.15.06-stream.yaml");

    #[test]
    fn both_rates_are_read() {
        let reading = read_sample("stream(64MiB)", &TOOL, SAMPLE, "").unwrap();
        let rate = |bytes: u64| bytes as f64 / (reading.ns as f64 / 1e9) / MIB;
        assert!((rate(reading.read.bytes) - 5567.498057).abs() < 0.001);
        assert!((rate(reading.write.bytes) - 3711.665372).abs() < 0.001);
        assert_eq!(reading.ns, 6_060_448_000);
        let newer = SAMPLE.replace("memory-read-rate-mb-per-sec", "mb-per-sec-memory-read-rate");
        let newer = read_sample("stream(64MiB)", &TOOL, &newer, "").unwrap();
        assert_eq!(newer.read.bytes, reading.read.bytes);
    }

    #[test]
    fn a_run_without_rates_is_an_error() {
        let log = "stress-ng: info:  [7] stream: run duration too short to determine memory rate\n";
        let without: String =
            SAMPLE.split_inclusive('\n').filter(|line| !line.contains("memory-")).collect();
        assert!(reads("stream", &TOOL, &without, log).unwrap_err().contains("longer slices"));
        assert!(
            reads("stream", &TOOL, &without, "").unwrap_err().contains("no figure \"memory-read")
        );
    }
}
