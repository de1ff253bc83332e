//! What fio's sampler saw every 500 ms, against the totals of the run.

use super::{Run, runs};
use crate::finding::{Finding, Severity};
use crate::import::fio::Samples;
use crate::number::{Figure, Interval};
use crate::rule::{Evidence, Rule, Sink};

/// F14: the samples' mean is the run's.
pub const MEAN: Rule = Rule {
    id: "F14",
    name: "the mean of the samples is that of the run",
    severity: Severity::WrongFigure,
    holds: "avg (before fio 3.13 times the jobs of the group) is within 2 % of the bandwidth, else ambiguous: fio's own averages are off by tens of \
            percent where its sampler lags or a run rests; a wrong figure where fio's own per= (avg over the group's bandwidth) and the samples \
            of IOPS contradict avg",
    silent: "of runs under 20 s, with fewer than 10 samples a job, without a version; wrong figures only where per= is printed, and below 2 GiB/s, \
             from where on per= overflows",
    check: mean,
};

/// F15: `per=` is what it should be.
pub const PER: Rule = Rule {
    id: "F15",
    name: "per= is the share of all jobs, or of one",
    severity: Severity::Ambiguous,
    holds: "per is 100 % (before fio 3.13 over the jobs of the group), to 1 point",
    silent: "as F14",
    check: per,
};

/// F16: no samples are missing.
pub const COUNT: Rule = Rule {
    id: "F16",
    name: "no samples are missing",
    severity: Severity::Ambiguous,
    holds: "samples = jobs * (runtime / 500 ms), to 2 a job and 2 %",
    silent: "of runs under 20 s, and where the interval is set otherwise (bwavgtime)",
    check: count,
};

/// F17: both kinds of samples are the same.
pub const BOTH_KINDS: Rule = Rule {
    id: "F17",
    name: "samples of IOPS times the block size are those of bandwidth",
    severity: Severity::Cosmetic,
    holds: "avg and stdev agree to 0.2 % and a unit",
    silent: "where block sizes vary or are not told",
    check: both_kinds,
};

/// F18: extremes of a group are sums.
pub const SUMMED: Rule = Rule {
    id: "F18",
    name: "extremes of a group's samples are sums over jobs",
    severity: Severity::Ambiguous,
    holds: "from fio 3.13 on min, max and stdev of a group of several jobs are sums, not observations",
    silent: "before 3.13, of single jobs; told once a page",
    check: summed,
};

/// F27: the rate is steady.
pub const STEADY: Rule = Rule {
    id: "F27",
    name: "the rate is steady",
    severity: Severity::Ambiguous,
    holds: "stdev / avg of the samples <= 10 %",
    silent: "with fewer than 20 samples a job, and of groups of several jobs from 3.13 on, whose stdev is a sum",
    check: steady,
};

/// From which version on samples of a group are summed.
fn sums(run: &Run) -> Option<bool> {
    Some(run.fio.version?.is_from(3, 13))
}

/// Jobs whose samples are told apart.
fn separate(run: &Run) -> Option<f64> {
    let jobs = run.job.jobs? as f64;
    Some(if sums(run)? { 1.0 } else { jobs })
}

fn long_enough(run: &Run, samples: &Samples) -> bool {
    let per_job = samples.count.map(|count| count.value / run.job.jobs.unwrap_or(1) as f64);
    run.runtime_ms().is_some_and(|runtime| runtime >= 20e3) && per_job.is_none_or(|count| count >= 10.0)
}

fn mean(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let (Some(samples), Some(bandwidth), Some(jobs)) =
            (run.direction.bandwidth_samples, run.direction.bandwidth, separate(&run))
        else {
            continue;
        };
        if !long_enough(&run, &samples) {
            continue;
        }
        let sum = samples.mean.interval().scaled(jobs);
        if sum.wider(0.02).meets(bandwidth.interval()) {
            sink.holds("F14", &samples.mean);
            continue;
        }
        let off = 100.0 * (sum.middle() / bandwidth.value - 1.0);
        let by = format!(
            "{} * {jobs} jobs against {}",
            run.page.quote(samples.mean.spot),
            run.page.quote(bandwidth.spot)
        );
        let finding = match contradicted(&run, &samples) {
            Some(meant) => {
                let message = format!(
                    "the samples average {off:+.1} % from the run's bandwidth, and fio's own per= and samples of IOPS give another average"
                );
                Finding::new("F14", Severity::WrongFigure, samples.mean.spot, message)
                    .recomputed(as_average(&run, &samples.mean, meant))
                    .against(samples.per.map(|per| per.spot))
            }
            None => {
                // Samples are taken where I/Os complete: what stood still, and jobs that ended before others, are in none.
                let why = match off > 0.0 {
                    true => "time in which nothing completed, or some jobs had ended, is in no sample",
                    false => "fio's sampler lagged or missed a part of the run",
                };
                let message = format!(
                    "the samples average {off:+.1} % from the run's bandwidth: {why}, or they are of another run; avg is no mean of the run"
                );
                Finding::new("F14", Severity::Ambiguous, samples.mean.spot, message)
            }
        };
        sink.finds(finding.by(by).against([bandwidth.spot]));
    }
}

/// From here on the sum over which fio computes `per=` overflows in some versions.
const OVERFLOWS: f64 = 2.0 * 1_073_741_824.0;

/// The average that `per=` says, where it contradicts the printed one and so do the samples of IOPS: fio computes per as avg over the
/// bandwidth of the group, so what fio printed itself agrees with it, however far it is from the run.
fn contradicted(run: &Run, samples: &Samples) -> Option<Interval> {
    let group = run.fio.statuses.iter().find(|status| {
        status.way == run.direction.way && (status.group.is_none() || status.group == run.job.group)
    });
    let alone = || run.direction.bandwidth.filter(|_| run.fio.jobs.len() == 1);
    let whole = group.and_then(|status| status.bandwidth[0]).or_else(alone)?;
    let per = samples.per.filter(|per| per.value > 0.0 && per.value < 99.99 && whole.value < OVERFLOWS)?;
    let meant = per.interval().times(whole.interval()).scaled(0.01);
    if meant.wider(0.02).meets(samples.mean.interval()) {
        return None;
    }
    let agree = |rate: Interval, bandwidth: Interval| rate.wider(0.02).meets(bandwidth);
    let by_rates = run.direction.iops_samples.zip(run.block_size().or(run.moved_each()));
    let also = by_rates.is_none_or(|(rates, size)| {
        let rate = rates.mean.interval().scaled(size);
        agree(rate, meant) && !agree(rate, samples.mean.interval())
    });
    also.then_some(meant)
}

/// A mean of samples in the unit of the printed one.
fn as_average(run: &Run, printed: &Figure, meant: Interval) -> String {
    let digits: f64 = run.page.quote(printed.spot).parse().unwrap_or(0.0);
    if digits > 0.0 { format!("{:.0}", meant.middle() / (printed.value / digits)) } else { String::new() }
}

fn per(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let (Some(samples), Some(jobs)) = (run.direction.bandwidth_samples, separate(&run)) else { continue };
        let Some(per) = samples.per.filter(|_| long_enough(&run, &samples)) else { continue };
        let expected = 100.0 / jobs;
        if (per.value - expected).abs() <= 1.0 {
            sink.holds("F15", &per);
            continue;
        }
        let why = match per.value > expected {
            true => "time in which nothing completed, or some jobs had ended, is in no sample",
            false => "the sampler lagged",
        };
        let message = format!("per={} % where a job of {jobs} has {expected:.2} %: {why}", per.value);
        sink.finds(
            Finding::new("F15", Severity::Ambiguous, per.spot, message).recomputed(format!("{expected:.2}%")),
        );
    }
}

fn count(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(samples) = run.direction.bandwidth_samples.filter(|samples| long_enough(&run, samples))
        else {
            continue;
        };
        let (Some(count), Some(jobs), Some(runtime)) = (samples.count, run.job.jobs, run.runtime_ms()) else {
            continue;
        };
        let expected = jobs as f64 * (runtime / 500.0).floor();
        let slack = 2.0 * jobs as f64 + 0.02 * expected;
        if Interval::around(expected, slack).has(count.value) {
            sink.holds("F16", &count);
            continue;
        }
        let message = format!("{} samples where {expected} are due in {} s", count.value, runtime / 1e3);
        sink.finds(
            Finding::new("F16", Severity::Ambiguous, count.spot, message).recomputed(format!("{expected}")),
        );
    }
}

fn both_kinds(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let (Some(rates), Some(bandwidths), Some(size)) =
            (run.direction.iops_samples, run.direction.bandwidth_samples, run.block_size())
        else {
            continue;
        };
        let pairs = [(Some(rates.mean), Some(bandwidths.mean)), (rates.deviation, bandwidths.deviation)];
        for (rate, bandwidth) in pairs.into_iter().filter_map(|(rate, bandwidth)| rate.zip(bandwidth)) {
            // Each sample of both is cut to a whole number: of I/Os, of KiB.
            let slack = (size + 1024.0) * run.job.jobs.unwrap_or(1) as f64;
            let range =
                Interval { low: rate.low * size - slack, high: rate.high * size + slack }.wider(0.002);
            if range.meets(bandwidth.interval()) {
                sink.holds("F17", &rate);
                sink.holds("F17", &bandwidth);
                continue;
            }
            let message = format!(
                "samples of IOPS give {:.0} KiB/s, those of bandwidth another figure",
                rate.value * size / 1024.0
            );
            sink.finds(Finding::new("F17", Severity::Cosmetic, rate.spot, message).against([bandwidth.spot]));
        }
    }
}

fn summed(evidence: &Evidence, sink: &mut Sink) {
    let found: Vec<Figure> = runs(evidence)
        .filter(|run| sums(run) == Some(true) && run.job.jobs.is_some_and(|jobs| jobs > 1))
        .filter_map(|run| Some(run.direction.bandwidth_samples.or(run.direction.iops_samples)?.min))
        .collect();
    let Some((first, more)) = found.split_first() else { return };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" ({count} more such lines follow)"),
    };
    let message = format!(
        "least, most and deviation of these samples are sums over jobs, nothing that was observed{others}"
    );
    sink.finds(
        Finding::new("F18", Severity::Ambiguous, first.spot, message)
            .against(more.iter().map(|one| one.spot)),
    );
}

fn steady(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(samples) = run.direction.bandwidth_samples.or(run.direction.iops_samples) else { continue };
        let jobs = run.job.jobs.unwrap_or(1) as f64;
        let enough = samples.count.is_some_and(|count| count.value >= 20.0 * jobs);
        let observed = jobs == 1.0 || sums(&run) == Some(false);
        let Some(deviation) = samples.deviation.filter(|_| enough && observed && samples.mean.value > 0.0)
        else {
            continue;
        };
        let variation = deviation.value / samples.mean.value;
        if variation <= 0.1 {
            continue;
        }
        let message = format!(
            "the rate varies by {:.0} % of its mean between samples: it is not steady",
            100.0 * variation
        );
        sink.finds(
            Finding::new("F27", Severity::Ambiguous, deviation.spot, message)
                .by(format!("stdev {} / avg {}", deviation.value, samples.mean.value))
                .against([samples.mean.spot]),
        );
    }
}

#[cfg(test)]
mod tests;
