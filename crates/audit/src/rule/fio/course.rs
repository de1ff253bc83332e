//! How a run went: whether its end is like its mean, whether it had one regime or two.

use super::{Run, runs};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Direction, index_of};
use crate::knowledge::{rate_text, size_text};
use crate::number::{Figure, show_ns};
use crate::rule::{Evidence, Rule, Sink};

/// F28: the end is like the mean.
pub const END: Rule = Rule {
    id: "F28",
    name: "the end of the run is like its mean",
    severity: Severity::WrongConclusion,
    holds: "the last line of progress is within 10 % of the run's bandwidth; a conclusion where the page compares",
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
    severity: Severity::WrongConclusion,
    holds: "a write whose end is slower than its mean and whose median is faster had a cache for a while; how much it took in is told",
    silent: "unless F28 finds the end slower and the depth is known",
    check: duration,
};

/// F32: progress agrees with itself.
pub const PROGRESS: Rule = Rule {
    id: "F32",
    name: "progress: IOPS times block size is the bandwidth",
    severity: Severity::Cosmetic,
    holds: "the intervals meet, but for 0.5 %",
    silent: "where block sizes vary or are not told, of several jobs",
    check: progress,
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
        let severity =
            if evidence.compares(run.fio) { Severity::WrongConclusion } else { Severity::Ambiguous };
        let message = format!(
            "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
            run.page.quote(last.spot),
            100.0 * off,
            run.page.quote(mean.spot)
        );
        sink.finds(Finding::new("F28", severity, mean.spot, message).against([last.spot]));
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
            .map(|pair| (pair[1].1.low / pair[0].1.high.max(1.0), pair[0], pair[1]))
            .filter(|(.., before, _)| before.1.value >= 10e3)
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
        let Some((cached, rate)) = cached(&run) else { continue };
        let Some(mean) = run.direction.bandwidth else { continue };
        let severity =
            if evidence.compares(run.fio) { Severity::WrongConclusion } else { Severity::Ambiguous };
        let message = format!(
            "about {} were taken in at {} before the rate fell: the mean says how long it ran, not what the drive does",
            size_text(cached),
            rate_text(rate)
        );
        sink.finds(Finding::new("F30", severity, mean.spot, message));
    }
}

/// How much a cache took in before the rate fell, and how fast: bytes, bytes a second.
fn cached(run: &Run) -> Option<(f64, f64)> {
    let Direction { bandwidth, percentiles, .. } = run.direction;
    let (mean, end) = (bandwidth.as_ref()?.value, last(run)?.value);
    let median = percentiles.as_ref()?.points.iter().find(|(percent, _)| *percent == 50.0)?.1.value;
    let depth = run.fio.asked_of(run.job).and_then(|asked| asked.iodepth);
    let depth = depth.map(|depth| depth as f64).or(run.job.target_depth.map(|depth| depth.value))?;
    let size = run.block_size().or_else(|| run.moved_each())?;
    let fast = depth * run.job.jobs? as f64 * size / (median / 1e9);
    let seconds = run.runtime_ms()? / 1e3;
    if end > 0.9 * mean || fast < 1.1 * mean {
        return None;
    }
    let at_full_rate = seconds * (mean - end) / (fast - end);
    Some((at_full_rate * fast, fast))
}

fn progress(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence).filter(|run| run.fio.jobs.len() == 1 && run.direction.way != Way::Both) {
        let Some(eta) = &run.fio.eta else { continue };
        let at = index_of(run.direction.way);
        let (Some(rate), Some(bandwidth), Some(size)) =
            (eta.iops[at], eta.bytes_per_second[at], run.block_size())
        else {
            continue;
        };
        // fio rounds the bandwidth to KiB before it prints it, and its rates to whole numbers.
        let slack = size + 1024.0;
        let range = rate.interval().scaled(size).wider(0.005);
        let meant = crate::import::fio::num2str::carried(run.page.quote(rate.spot), &rate, run.era());
        let either = [Some(range), meant.map(|meant| meant.scaled(size).wider(0.005))];
        let holds = either.into_iter().flatten().any(|range| {
            let other =
                crate::import::fio::num2str::carried(run.page.quote(bandwidth.spot), &bandwidth, run.era());
            let wide = crate::number::Interval { low: range.low - slack, high: range.high + slack };
            [Some(bandwidth.interval()), other].into_iter().flatten().any(|one| wide.meets(one))
        });
        if holds {
            sink.holds("F32", &rate);
            sink.holds("F32", &bandwidth);
            continue;
        }
        let message = format!(
            "progress says {} and {}: {size} B each are not that",
            run.page.quote(rate.spot),
            run.page.quote(bandwidth.spot)
        );
        sink.finds(Finding::new("F32", Severity::Cosmetic, rate.spot, message).against([bandwidth.spot]));
    }
}

#[cfg(test)]
mod tests;
