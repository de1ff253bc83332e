//! What fio's sampler saw every 500 ms.

use super::{Run, runs};
use crate::finding::{Finding, Severity};
use crate::number::Figure;
use crate::rule::{Evidence, Rule, Sink};

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

/// Whether samples of several jobs are summed; `None` where no version tells.
fn sums(run: &Run) -> Option<bool> {
    Some(run.fio.version?.is_from(3, 13))
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
    let finding = Finding::new("F18", Severity::Ambiguous, first.spot, message);
    sink.finds(finding.against(more.iter().map(|one| one.spot)));
}

fn steady(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(samples) = run.direction.bandwidth_samples.or(run.direction.iops_samples) else { continue };
        let jobs = run.job.jobs.unwrap_or(1) as f64;
        let enough = samples.count.is_some_and(|count| count.value >= 20.0 * jobs);
        let observed = jobs == 1.0 || sums(&run) == Some(false);
        let (Some(deviation), true) = (samples.deviation, enough && observed) else { continue };
        let variation = deviation.value / samples.mean.value;
        if !(variation > 0.1 && variation.is_finite()) {
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
