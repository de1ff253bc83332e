//! How a run went: whether its end is like its mean, whether it had one regime or two.

use super::{Run, runs};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::index_of;
use crate::knowledge::{rate_text, size_text};
use crate::number::{Figure, show_ns};
use crate::rule::{Evidence, Rule, Sink};

/// F28: the end is like the mean.
pub const END: Rule = Rule {
    id: "F28",
    name: "the end of the run is like its mean",
    severity: Severity::Ambiguous,
    holds: "the last line of progress is within 10 % of the run's bandwidth",
    silent: "of runs under 30 s, and where progress ends before 95 % of the run",
    check: end,
};

/// F29: one regime.
pub const REGIMES: Rule = Rule {
    id: "F29",
    name: "latencies are of one regime",
    severity: Severity::Ambiguous,
    holds: "neighbouring percentiles from the 5th to the 95th differ by less than 1.6 times",
    silent: "below 10 us, where a bucket's width counts, and with fewer than five percentiles",
    check: regimes,
};

/// F30: the mean depends on how long it ran.
pub const DURATION: Rule = Rule {
    id: "F30",
    name: "the mean does not depend on the runtime",
    severity: Severity::Ambiguous,
    holds: "a write whose end is slower than its mean and whose median is faster had a cache for a while; how much it took in is told",
    silent: "unless F28 finds the end slower and the depth is known",
    check: duration,
};

/// The bandwidth of the last line of progress, where that is of the end of a run that is long enough.
fn last(run: &Run) -> Option<Figure> {
    let eta = run.fio.eta.as_ref()?;
    let long = run.runtime_ms()? >= 30e3 && eta.done.is_some_and(|done| done >= 95.0);
    // Progress is of all jobs together.
    let only = run.fio.jobs.len() == 1 && run.direction.way != Way::Both;
    eta.bytes_per_second[index_of(run.direction.way)].filter(|figure| long && only && figure.value > 0.0)
}

fn end(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let (Some(last), Some(mean)) = (last(&run), run.direction.bandwidth) else { continue };
        let off = last.value / mean.value - 1.0;
        if off.abs() <= 0.1 {
            sink.plausible("F28", &last);
            continue;
        }
        let message = format!(
            "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
            run.page.quote(last.spot),
            100.0 * off,
            run.page.quote(mean.spot)
        );
        sink.finds(Finding::new("F28", Severity::Ambiguous, mean.spot, message).against([last.spot]));
    }
}

fn regimes(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(percentiles) = &run.direction.percentiles else { continue };
        let points: Vec<&(f64, Figure)> =
            percentiles.points.iter().filter(|(percent, _)| (5.0..=95.0).contains(percent)).collect();
        if points.len() < 5 {
            continue;
        }
        let jump = points
            .windows(2)
            .filter(|pair| pair[0].1.value >= 10e3)
            .map(|pair| (pair[1].1.low / pair[0].1.high.max(1.0), pair[0], pair[1]))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((times, before, behind)) = jump.filter(|(times, ..)| *times >= 1.6) else { continue };
        let message = format!(
            "between the {}th and the {}th percentile latency goes from {} to {}: two regimes, and the mean describes neither",
            before.0,
            behind.0,
            show_ns(before.1.value),
            show_ns(behind.1.value)
        );
        sink.finds(
            Finding::new("F29", Severity::Ambiguous, behind.1.spot, message)
                .by(format!("{times:.1} times"))
                .against([before.1.spot]),
        );
    }
}

fn duration(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence).filter(|run| run.direction.way == Way::Write) {
        let (Some((cached, rate)), Some(mean)) = (cached(&run), run.direction.bandwidth) else { continue };
        let message = format!(
            "about {} were taken in at {} before the rate fell: the mean says how long it ran, not what the drive does",
            size_text(cached),
            rate_text(rate)
        );
        sink.finds(Finding::new("F30", Severity::Ambiguous, mean.spot, message));
    }
}

/// How much a cache took in before the rate fell, and how fast: bytes, bytes a second.
fn cached(run: &Run) -> Option<(f64, f64)> {
    let (mean, end) = (run.direction.bandwidth?.value, last(run)?.value);
    let points = &run.direction.percentiles.as_ref()?.points;
    let median = points.iter().find(|(percent, _)| *percent == 50.0)?.1.value;
    let depth = run.fio.asked_of(run.job).and_then(|asked| asked.iodepth);
    let depth = depth.map(|depth| depth as f64).or(run.job.target_depth.map(|depth| depth.value))?;
    let size = run.block_size().or_else(|| moved_each(run))?;
    let fast = depth * run.job.jobs? as f64 * size / (median / 1e9);
    if end > 0.9 * mean || fast < 1.1 * mean {
        return None;
    }
    let at_full_rate = run.runtime_ms()? / 1e3 * (mean - end) / (fast - end);
    Some((at_full_rate * fast, fast))
}

/// Bytes of an I/O as its own figures have it, where the output does not say what was asked for.
fn moved_each(run: &Run) -> Option<f64> {
    let each = run.direction.bandwidth?.value / run.direction.iops?.value;
    let power = each.log2().round();
    ((each.log2() - power).abs() < 0.05).then(|| 2f64.powf(power))
}
