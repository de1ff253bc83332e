//! stress-ng: some of its stressors, read from the YAML that it writes.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, ask, last_words, ns, number, shown, units,
    version_behind, whole_number,
};
use crate::spec::Probe;
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

const BOGO: ProbeUnit = ProbeUnit::Count("bogo operations");

pub(super) const DEFINITION: Definition = Definition {
    name: "stress-ng",
    argument: Argument::Test(&[
        ("cpu", BOGO, "all of its methods of computing in turn"),
        ("matrix", BOGO, "operations on matrices of floating-point numbers"),
        ("memcpy", BOGO, "copies of 2 MiB by several functions"),
        ("vm", BOGO, "writes and checks patterns in 256 MiB that it maps again and again"),
        ("fork", BOGO, "processes created"),
        ("switch", BOGO, "messages to another process, which switch to it"),
        ("pipe", BOGO, "writes of 512 bytes into a pipe that another process reads"),
        (
            CYCLIC,
            ProbeUnit::Time("wake-up after 100 us under SCHED_DEADLINE"),
            "lateness of a timer of 100 us; needs root",
        ),
    ]),
    unit: BOGO,
    subject: "stress-ng's operations",
    about: "Runs one stressor for the slice; its bogo operations are never comparable between stressors or versions of stress-ng.",
    relative: "integer, float, copy, fork, switch, pipe, wakeup: in slices, with units that are defined",
    program: Some(("stress-ng", "stress-ng")),
    shortest_slice_ns: 1_000_000_000,
    needs_peer: false,
    prepare,
};

const CYCLIC: &str = "cyclic";

fn prepare(spec: &ProbeSpec) -> Result<Box<dyn Probe>, ProbeError> {
    if spec.argument.as_deref() == Some(CYCLIC) && !rustix::process::geteuid().is_root() {
        let why = "needs root, for SCHED_DEADLINE; hint: run iotax as root there, or name the probe wakeup";
        return Err(ProbeError::Unfit(format!("{spec} {why}")));
    }
    visit::prepare(spec, &DEFINITION, &TOOL)
}

const TOOL: Tool = Tool {
    label: "stress-ng",
    programs: &["stress-ng"],
    version: |program| Ok(version_behind("stress-ng, version", &ask(program, &["--version"])?)),
    copies: false,
    arguments: |asked| arguments(asked.test(), &[], asked),
    expected: |asked| Duration::from_secs(asked.seconds() + 2),
    read,
};

/// Returns the arguments of a stressor with its own options.
pub(super) fn arguments(stressor: &str, own: &[String], asked: &ToolRequest) -> Vec<String> {
    let (stressor, workers) = (format!("--{stressor}"), asked.spec.numjobs.max(1).to_string());
    let timeout = format!("{}s", asked.seconds());
    let mut words = vec![stressor, workers];
    words.extend_from_slice(own);
    words.extend(["--timeout", &timeout, "--metrics", "--yaml", "/dev/stdout"].map(str::to_owned));
    words
}

/// Figures of a stressor, from the YAML among what was printed.
pub(super) struct StressorFigures<'t> {
    found: BTreeMap<&'t str, &'t str>,
}

impl<'t> StressorFigures<'t> {
    /// Reads the figures of the only stressor that ran.
    ///
    /// # Errors
    /// When the YAML is incomplete, or is that of another stressor.
    pub(super) fn read(
        stressor: &str,
        printed: &'t ToolText,
    ) -> Result<StressorFigures<'t>, String> {
        let lines = printed.stdout.lines().map(str::trim);
        // Newer versions log to the same output.
        let mut lines = lines
            .filter(|line| !line.starts_with("stress-ng: "))
            .skip_while(|line| *line != "metrics:");
        let cut = || format!("its YAML is incomplete; its last line: {}", last_words(printed));
        lines.next().ok_or_else(cut)?;
        let name =
            lines.next().and_then(|line| line.strip_prefix("- stressor:")).ok_or_else(cut)?.trim();
        if name != stressor {
            return Err(format!("figures of {} instead of \"{stressor}\"", shown(name)));
        }
        let mut found = BTreeMap::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let (key, value) =
                line.split_once(": ").ok_or_else(|| format!("{} is not a figure", shown(line)))?;
            found.insert(key, value);
        }
        match lines.any(|line| line == "...") {
            true => Ok(StressorFigures { found }),
            false => Err(cut()),
        }
    }

    /// Returns a figure in its printed form.
    ///
    /// # Errors
    /// When the figure does not exist.
    pub(super) fn text(&self, key: &str) -> Result<&'t str, String> {
        self.found.get(key).copied().ok_or_else(|| format!("no figure \"{key}\""))
    }

    /// Returns a figure above zero.
    ///
    /// # Errors
    /// When the figure does not exist, or is not above zero.
    pub(super) fn number(&self, key: &str) -> Result<f64, String> {
        let text = self.text(key)?;
        number(text, &format!("{key}: {text}"))
    }
}

fn read(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let figures = StressorFigures::read(asked.test(), printed)?;
    let operations = figures.text("bogo-ops")?;
    let mut read = units(whole_number(operations, operations)?);
    if asked.test() == CYCLIC {
        read.latency = lateness(printed)?;
        read.ios = read.latency.count();
    }
    Ok(ToolReading { ns: ns(figures.number("wall-clock-time")?), read, ..ToolReading::default() })
}

/// Reads the log of cyclic: the number of samples and percentiles. A time between two of these
/// counts as the longer.
fn lateness(printed: &ToolText) -> Result<Histogram, String> {
    let log = [printed.stderr.as_str(), printed.stdout.as_str()].join("\n");
    let lines =
        log.lines().filter_map(|line| line.split_once("] cyclic:").map(|(_, rest)| rest.trim()));
    let (mut samples, mut longest, mut ranks) = (None, None, Vec::new());
    for line in lines {
        if let Some(rest) = line.strip_suffix(" samples") {
            let number = rest.rsplit(' ').next().unwrap_or_default();
            samples = Some(whole_number(number, line)?);
        } else if let Some((_, rest)) = line.split_once(" max: ") {
            longest = Some(whole_number(rest.split(' ').next().unwrap_or_default(), line)?);
        } else if let Some((percent, rest)) = line.split_once("%:") {
            let ns = rest.trim().strip_suffix(" ns").unwrap_or_default();
            ranks.push((number(percent, line)? / 100.0, whole_number(ns, line)?));
        }
    }
    let (Some(samples), Some(longest), false) = (samples, longest, ranks.is_empty()) else {
        return Err(format!("no percentiles of cyclic; its last line: {}", last_words(printed)));
    };
    ranks.push((1.0, longest));
    let (mut histogram, mut before) = (Histogram::new(), 0);
    for (share, ns) in ranks {
        let rank = (share * samples as f64).ceil() as u64;
        histogram.record_many(ns, rank.saturating_sub(before));
        before = rank.max(before);
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const CPU: &str = include_str!("samples/stress-ng-0.15.06-cpu.yaml");
    const CYCLIC_YAML: &str = include_str!("samples/stress-ng-0.15.06-cyclic.yaml");
    const CYCLIC_LOG: &str = include_str!("samples/stress-ng-0.15.06-cyclic.log");

    #[test]
    fn bogo_operations_over_wall_time_are_the_rate() {
        let reading = read_sample("stress-ng(cpu)", &TOOL, CPU, "").unwrap();
        assert_eq!((reading.read.ios, reading.ns), (1722, 1_000_289_000));
        // Some versions log to the same output.
        let logged = CPU.replace("metrics:", "stress-ng: info:  [7] a word\nmetrics:");
        assert_eq!(read_sample("stress-ng(cpu)", &TOOL, &logged, "").unwrap().read.ios, 1722);
    }

    #[test]
    fn cyclic_keeps_the_percentiles_that_are_printed() {
        let reading = read_sample("stress-ng(cyclic)", &TOOL, CYCLIC_YAML, CYCLIC_LOG).unwrap();
        let times = &reading.read.latency;
        assert_eq!((reading.read.ios, times.count()), (7824, 7824));
        for (share, ns) in [
            (0.25, 13_396.0),
            (0.5, 14_392.0),
            (0.99, 34_720.0),
            (0.999, 70_184.0),
            (1.0, 626_468.0),
        ] {
            let kept = times.percentile(share).unwrap() as f64;
            assert!((kept / ns - 1.0).abs() < 1.0 / 128.0, "{share}: {kept}");
        }
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let cut = CPU.split("wall-clock").next().unwrap();
        assert!(reads("stress-ng(cpu)", &TOOL, cut, "").unwrap_err().contains("is incomplete"));
        let skipped = "stress-ng: warn:  [7] cyclic: stressor will be skipped, need CAP_SYS_NICE\n";
        let why = reads("stress-ng(cyclic)", &TOOL, "---\n...\n", skipped).unwrap_err();
        assert!(why.contains("will be skipped"), "{why}");
        assert!(
            reads("stress-ng(cyclic)", &TOOL, CYCLIC_YAML, "")
                .unwrap_err()
                .contains("no percentiles")
        );
        assert!(reads("stress-ng(vm)", &TOOL, CPU, "").unwrap_err().contains("instead of \"vm\""));
        let other = CPU.replace("wall-clock-time", "real-time");
        assert!(
            reads("stress-ng(cpu)", &TOOL, &other, "")
                .unwrap_err()
                .contains("no figure \"wall-clock-time\"")
        );
    }
}
