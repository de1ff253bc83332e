//! Service levels: whether each stack keeps them, judged by the share of its I/Os that take too
//! long.

use crate::compare::tails::percent_name;
use crate::findings::slo::ServiceLevelFinding;
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::StackSide;
use crate::gather::subject::mark_emulated;
use crate::validity::conservation;
use iotax_model::scenario::{LatencyMetric, ServiceLevel};
use iotax_stats::exceedance::{RoundHistograms, ServiceVerdict, TailShare, Threshold};
use iotax_stats::{Digits, Refusal};
use iotax_store::RunData;
use iotax_units::grouped;

struct AskedLevel<'a> {
    at: usize,
    level: &'a ServiceLevel,
    metric: LatencyMetric,
}

/// Returns true if any stack surely breaks a service level of its scenario.
pub fn is_broken(run: &RunData) -> bool {
    if run.start.scenario.measure.slo.is_empty() {
        return false;
    }
    let readings = WorkloadView::all_of_run(run);
    let many = count_levels(&readings, &run.start.scenario.measure.slo);
    readings
        .iter()
        .flat_map(|reading| level_findings(reading, many))
        .any(|found| found.verdict == ServiceVerdict::Broken)
}

pub(crate) fn count_levels(readings: &[WorkloadView], levels: &[ServiceLevel]) -> usize {
    let of = |reading: &WorkloadView| {
        measured_stacks(reading)
            .map(|at| requested_levels(reading, at, levels).len())
            .sum::<usize>()
    };
    readings.iter().map(of).sum()
}

pub(crate) fn level_findings(reading: &WorkloadView, many: usize) -> Vec<ServiceLevelFinding> {
    measured_stacks(reading).flat_map(|at| of_stack(reading, at, levels(reading), many)).collect()
}

pub(crate) fn of_stack(
    reading: &WorkloadView,
    at: usize,
    levels: &[ServiceLevel],
    many: usize,
) -> Vec<ServiceLevelFinding> {
    requested_levels(reading, at, levels).iter().map(|one| finding(reading, one, many)).collect()
}

pub(crate) fn levels<'a>(reading: &WorkloadView<'a>) -> &'a [ServiceLevel] {
    &reading.run.start.scenario.measure.slo
}

fn measured_stacks(reading: &WorkloadView) -> impl Iterator<Item = usize> {
    (0..reading.sides.len()).filter(|at| !reading.sides[*at].rounds.is_empty())
}

fn requested_levels<'a>(
    reading: &WorkloadView,
    at: usize,
    levels: &'a [ServiceLevel],
) -> Vec<AskedLevel<'a>> {
    let of_level = |level: &'a ServiceLevel| {
        level.metrics(reading.workload).into_iter().map(move |metric| AskedLevel {
            at,
            level,
            metric,
        })
    };
    levels.iter().flat_map(of_level).collect()
}

fn latencies(side: &StackSide, metric: LatencyMetric) -> &RoundHistograms {
    match metric {
        LatencyMetric::Read => &side.read,
        LatencyMetric::Write => &side.write,
        LatencyMetric::Trim => &side.trim,
        LatencyMetric::Fsync | LatencyMetric::Fdatasync => &side.flush,
    }
}

fn finding(reading: &WorkloadView, asked: &AskedLevel, many: usize) -> ServiceLevelFinding {
    let AskedLevel { at, level, metric } = asked;
    let rounds = latencies(&reading.sides[*at], *metric);
    let refused = conservation::refusal_of_one(reading, *at)
        .or_else(|| reading.writes.regime_refusal().cloned());
    let not_recorded =
        || Refusal::NotMeasured { reason: format!("no {} was recorded", metric.metric_word()) };
    let found = match refused {
        Some(reason) => Err(reason),
        None if rounds.count() == 0 => Err(not_recorded()),
        None => TailShare::estimate(
            rounds,
            Threshold::at_latency(level.below_ns),
            level.allowed(),
            many,
        ),
    };
    let verdict =
        found.as_ref().map_or(ServiceVerdict::Unresolved, |found| found.verdict(level.allowed()));
    let stack = mark_emulated(reading.name(*at), reading.emulated(*at).is_some());
    let words = format!("{} {}", metric.metric_word(), level.level_words());
    let said = match verdict {
        ServiceVerdict::Kept => format!("{stack} keeps {words}"),
        ServiceVerdict::Broken => format!("{stack} breaks {words}"),
        ServiceVerdict::Unresolved => format!("{stack}: {words} is unresolved"),
    };
    ServiceLevelFinding {
        stack: reading.name(*at).to_owned(),
        level: words,
        allowed: level.allowed(),
        beyond: found.as_ref().map_or(0, |found| found.beyond.round() as u64),
        verdict,
        sentence: format!("{said}: {}", reason(&found, level, *metric)),
        share: match found {
            Ok(found) => {
                let interval = Interval::from_bounds(found.low, found.high);
                MeasuredFigure::known_value(
                    found.share,
                    "1",
                    (found.ios, SampleUnit::Samples),
                    interval,
                )
            }
            Err(reason) => MeasuredFigure::missing(reason),
        },
    }
}

fn reason(
    found: &Result<TailShare, Refusal>,
    level: &ServiceLevel,
    metric: LatencyMetric,
) -> String {
    let allowed = percent_name(level.allowed());
    match found {
        Ok(found) => {
            let share = Digits::format_share(found.share, Some((found.low, found.high))).to_words();
            let ios = grouped(found.ios as f64);
            format!("{share} of {ios} {}s take longer, allowed {allowed} %", metric.metric_word())
        }
        Err(reason) => reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::WorkloadFindings;
    use crate::twin;
    use iotax_model::record::SampleValue;

    fn level(below_ns: f64) -> ServiceLevel {
        ServiceLevel { metric: None, percent: 99.0, below_ns: below_ns as u64 }
    }

    fn workload(run: &RunData) -> WorkloadFindings {
        crate::findings(run).workloads.remove(0)
    }

    #[test]
    fn a_level_far_from_the_percentile_is_called_and_one_at_it_is_not() {
        let mut run = twin::bill_of_seed(7);
        let p99 = workload(&run).rows[0].latency[0].p99.value().unwrap();
        run.start.scenario.measure.slo = vec![level(2.0 * p99), level(p99), level(0.5 * p99)];
        let found = workload(&run).slo;
        let of_file: Vec<_> = found.iter().filter(|one| one.stack == "file").collect();
        let verdicts: Vec<ServiceVerdict> = of_file.iter().map(|one| one.verdict).collect();
        assert_eq!(
            verdicts,
            [ServiceVerdict::Kept, ServiceVerdict::Unresolved, ServiceVerdict::Broken]
        );
        assert!(
            of_file[0].sentence.starts_with("file keeps read p99 < "),
            "{}",
            of_file[0].sentence
        );
        assert!(
            of_file[0].sentence.ends_with(" reads take longer, allowed 1 %"),
            "{}",
            of_file[0].sentence
        );
        assert!((of_file[1].share.value().unwrap() - 0.01).abs() < 0.004);
        assert!(is_broken(&run), "half of it is broken");
        run.start.scenario.measure.slo = vec![level(1e12)];
        assert!(!is_broken(&run));
        run.start.scenario.measure.slo.clear();
        assert!(!is_broken(&run) && workload(&run).slo.is_empty());
    }

    #[test]
    fn flushes_have_latencies_of_their_own() {
        let mut run = twin::writes();
        for job in &mut run.start.scenario.workloads[0].jobs {
            job.fdatasync = 1;
        }
        // Use the record of the writes for the flushes.
        for sample in run.slices.iter_mut().flat_map(|slice| &mut slice.samples) {
            if matches!(sample.value, SampleValue::Histogram(_)) && sample.metric == "write.latency"
            {
                sample.metric = "sync.latency".into();
            }
        }
        let flush = |percent| ServiceLevel {
            metric: Some(LatencyMetric::Fdatasync),
            percent,
            below_ns: 1_000_000_000_000,
        };
        run.start.scenario.measure.slo = vec![flush(90.0), level(1e12)];
        let found = workload(&run);
        assert!(found.rows[0].flush.as_ref().unwrap().p50.value().is_some());
        assert_eq!(found.slo[0].level, "fdatasync p90 < 1000s");
        assert_eq!(found.slo[0].verdict, ServiceVerdict::Kept, "{}", found.slo[0].sentence);
        assert!(
            found.slo[1].sentence.ends_with("no write was recorded"),
            "{}",
            found.slo[1].sentence
        );
    }
}
