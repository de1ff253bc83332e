//! How a run went: whether its end is like its mean, whether it had one regime or two, what fio's sampler saw every 500 ms.

use super::{Run, each, runs};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Samples, index_of};
use crate::knowledge::{rate_text, size_text};
use crate::number::{Figure, show_ns};
use crate::rule::{Evidence, Rule, Sink};

pub const SUMMED: Rule = Rule {
    id: "F18",
    name: "extremes of a group's samples are sums over jobs",
    severity: Severity::Ambiguous,
    holds: "from fio 3.13 on min, max and stdev of a group of several jobs are sums, not observations",
    silent: "before 3.13, of single jobs; told once a page",
    check: summed,
};

pub const STEADY: Rule = Rule {
    id: "F27",
    name: "the rate is steady",
    severity: Severity::Ambiguous,
    holds: "stdev / avg of the samples <= 10 %",
    silent: "with fewer than 20 samples a job, and of groups of several jobs from 3.13 on, whose stdev is a sum",
    check: |evidence, sink| each(evidence, sink, steady),
};

pub const END: Rule = Rule {
    id: "F28",
    name: "the end of the run is like its mean",
    severity: Severity::Ambiguous,
    holds: "the last line of progress is within 10 % of the run's bandwidth",
    silent: "of runs under 30 s, and where progress ends before 95 % of the run",
    check: |evidence, sink| each(evidence, sink, end),
};

pub const REGIMES: Rule = Rule {
    id: "F29",
    name: "latencies are of one regime",
    severity: Severity::Ambiguous,
    holds: "neighbouring percentiles from the 5th to the 95th differ by less than 1.6 times",
    silent: "below 10 us, where a bucket's width counts, and with fewer than five percentiles",
    check: |evidence, sink| each(evidence, sink, regimes),
};

pub const DURATION: Rule = Rule {
    id: "F30",
    name: "the mean does not depend on the runtime",
    severity: Severity::Ambiguous,
    holds: "a write whose end is slower than its mean and whose median is faster had a cache for a while; how much it took in is told",
    silent: "unless F28 finds the end slower and the depth is known",
    check: |evidence, sink| each(evidence, sink, duration),
};

fn samples(run: &Run) -> Option<Samples> {
    run.direction.bandwidth_samples.or(run.direction.iops_samples)
}

/// Whether samples of several jobs are summed; `None` where no version tells.
fn sums(run: &Run) -> Option<bool> {
    Some(run.fio.version?.is_from(3, 13))
}

fn summed(evidence: &Evidence, sink: &mut Sink) {
    let groups =
        runs(evidence).filter(|run| sums(run) == Some(true) && run.job.jobs.is_some_and(|jobs| jobs > 1));
    let found: Vec<Figure> = groups.filter_map(|run| Some(samples(&run)?.min)).collect();
    let Some((first, more)) = found.split_first() else { return };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" ({count} more such lines follow)"),
    };
    let message = format!(
        "least, most and deviation of these samples are sums over jobs, nothing that was observed{others}"
    );
    let finding = Finding::new("F18", Severity::Ambiguous, first.spot, message);
    sink.finds(finding.against(more.iter().map(|one| one.spot)));
}

fn steady(run: &Run, sink: &mut Sink) -> Option<()> {
    let Samples { deviation, mean, count, .. } = samples(run)?;
    let jobs = run.job.jobs.unwrap_or(1) as f64;
    let (deviation, enough) = (deviation?, count?.value >= 20.0 * jobs);
    let variation = deviation.value / mean.value;
    let observed = jobs == 1.0 || sums(run) == Some(false);
    if !enough || !observed || variation <= 0.1 || !variation.is_finite() {
        return None;
    }
    let share = 100.0 * variation;
    let message = format!("the rate varies by {share:.0} % of its mean between samples: it is not steady");
    let by = format!("stdev {} / avg {}", deviation.value, mean.value);
    sink.finds(Finding::new("F27", Severity::Ambiguous, deviation.spot, message).by(by).against([mean.spot]));
    Some(())
}

/// The bandwidth of the last line of progress, where that is of the end of a run that is long enough.
fn last(run: &Run) -> Option<Figure> {
    let eta = run.fio.eta.as_ref()?;
    let long = run.runtime_ms()? >= 30e3 && eta.done.is_some_and(|done| done >= 95.0);
    // Progress is of all jobs together.
    let only = run.fio.jobs.len() == 1 && run.direction.way != Way::Both;
    eta.bytes_per_second[index_of(run.direction.way)].filter(|figure| long && only && figure.value > 0.0)
}

fn end(run: &Run, sink: &mut Sink) -> Option<()> {
    let (last, mean) = (last(run)?, run.direction.bandwidth?);
    let off = last.value / mean.value - 1.0;
    if off.abs() <= 0.1 {
        sink.plausible("F28", &last);
        return None;
    }
    let message = format!(
        "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
        run.page.quote(last.spot),
        100.0 * off,
        run.page.quote(mean.spot)
    );
    sink.finds(Finding::new("F28", Severity::Ambiguous, mean.spot, message).against([last.spot]));
    Some(())
}

fn regimes(run: &Run, sink: &mut Sink) -> Option<()> {
    let points = run.direction.percentiles.as_ref()?.points.iter();
    let points: Vec<&(f64, Figure)> = points.filter(|(percent, _)| (5.0..=95.0).contains(percent)).collect();
    let pairs = points.windows(2).filter(|pair| points.len() >= 5 && pair[0].1.value >= 10e3);
    let jump = pairs.map(|pair| (pair[1].1.low / pair[0].1.high.max(1.0), pair[0], pair[1]));
    let (times, before, after) =
        jump.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(times, ..)| *times >= 1.6)?;
    let message = format!(
        "between the {}th and the {}th percentile latency goes from {} to {}: two regimes, and the mean describes neither",
        before.0,
        after.0,
        show_ns(before.1.value),
        show_ns(after.1.value)
    );
    let finding =
        Finding::new("F29", Severity::Ambiguous, after.1.spot, message).by(format!("{times:.1} times"));
    sink.finds(finding.against([before.1.spot]));
    Some(())
}

fn duration(run: &Run, sink: &mut Sink) -> Option<()> {
    let (cached, rate) = cached(run).filter(|_| run.direction.way == Way::Write)?;
    let message = format!(
        "about {} were taken in at {} before the rate fell: the mean says how long it ran, not what the drive does",
        size_text(cached),
        rate_text(rate)
    );
    sink.finds(Finding::new("F30", Severity::Ambiguous, run.direction.bandwidth?.spot, message));
    Some(())
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
