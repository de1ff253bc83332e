//! Go's benchmark format, for `benchstat -col /stack`: a line for each stack in each round.
//! <https://go.dev/design/14313-benchmark-format>

use crate::exporter::{ExportedRun, Exporter};
use iotax_analysis::findings::WorkloadFindings;
use iotax_model::record::{Purpose, Slice};
use iotax_units::harmless::escape_line;
use std::collections::BTreeMap;
use std::io::{Result, Write};

pub const EXPORTER: Exporter =
    Exporter { name: "benchstat", endings: &["bench", "bench.txt"], write };

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "note: benchstat treats rounds as unpaired; iotax pairs the stacks of a round")?;
    writeln!(out, "Unit IOPS better=higher\nUnit B/s better=higher")?;
    for run in runs {
        writeln!(out, "run: {}", escape_line(&run.findings.run.id))?;
        for load in run.findings.workloads.iter().filter(|load| load.probe.is_none()) {
            write_load(run, load, out)?;
        }
    }
    Ok(())
}

/// I/Os, bytes and seconds of the slices of a stack in a round.
#[derive(Default)]
struct RoundSums {
    ios: f64,
    bytes: f64,
    seconds: f64,
}

fn write_load(run: &ExportedRun, load: &WorkloadFindings, out: &mut dyn Write) -> Result<()> {
    // benchstat compares with the first stack that it meets.
    let base = load.rows.iter().find(|row| row.baseline).map(|row| row.stack.as_str());
    let mut rounds: BTreeMap<(u32, u32, u32, bool, &str), RoundSums> = BTreeMap::new();
    let is_ours = |slice: &&Slice| {
        slice.workload == load.name && slice.purpose == Purpose::Plain && slice.window_ns > 0
    };
    for slice in run.data.slices.iter().filter(is_ours) {
        let stack = slice.stack.as_str();
        let place = (slice.visit, slice.set, slice.round, base != Some(stack), stack);
        let sums = rounds.entry(place).or_default();
        sums.ios += slice.total(".ios");
        sums.bytes += slice.total(".bytes");
        sums.seconds += slice.window_ns as f64 / 1e9;
    }
    for ((.., stack), sums) in &rounds {
        let (iops, bytes) = (sums.ios / sums.seconds, sums.bytes / sums.seconds);
        let (load, stack) = (name_part(&load.subject), name_part(stack));
        writeln!(
            out,
            "BenchmarkLoad/load={load}/stack={stack} {:.0} {iops:.3} IOPS {bytes:.0} B/s",
            sums.ios.max(1.0)
        )?;
    }
    Ok(())
}

/// Returns a text as a part of a benchmark's name, where white space and slashes end a part.
fn name_part(text: &str) -> String {
    let sign = |letter: char| match letter {
        ' ' | '/' | '=' => '_',
        other => other,
    };
    escape_line(text).chars().map(sign).collect()
}
