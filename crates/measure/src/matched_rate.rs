//! Chooses the matched rate. Latencies of two stacks compare only when both get the same I/Os at
//! the same times. The rate is a part of what the slowest stack did in a closed loop, so that all
//! can keep up with it.

use super::progress::VisitLimit;
use iotax_load::Job;
use iotax_model::scenario::{MeasureSpec, Workload};
use iotax_stats::rounds::{Round, RoundKind, SliceValue};
use iotax_stats::stop::StopSpec;

/// Part of the budget that goes into latencies at the matched rate.
const PART: f64 = 0.25;
/// Half-width that intervals of latencies should reach, as a multiple of that of throughput.
const COARSER: f64 = 2.0;

/// Returns the matched rate in I/Os per second, summed over all threads, and the index of the
/// slowest stack, which sets it. `members` has the number of members of each stack. The `ruler` is
/// offered the rate, but never sets it. Returns `None` if no matched rate is asked for, if the load
/// has a rate of its own or is a probe, if there is one stack only, or while a stack has no rounds.
pub fn choose_matched_rate(
    workload: &Workload,
    measure: &MeasureSpec,
    rounds: &[Round],
    members: &[u64],
    ruler: Option<usize>,
) -> Option<(f64, usize)> {
    let stacks = members.len();
    let paced =
        workload.jobs.iter().any(|job| job.rate_iops.is_some() || !job.fio_options.is_empty());
    if measure.matched_rate <= 0.0 || paced || stacks < 2 || workload.probe.is_some() {
        return None;
    }
    let compared = (0..stacks).filter(|stack| Some(*stack) != ruler);
    let rates = compared
        .map(|stack| Some((stack, iops(rounds, stack, workload)?)))
        .collect::<Option<Vec<_>>>()?;
    let (slowest, least) = rates.into_iter().min_by(|one, two| one.1.total_cmp(&two.1))?;
    // Every thread of every member gets a whole number of I/Os a second, and all stacks get the
    // same sum.
    let shared_by = members.iter().copied().fold(1, least_common_multiple) as f64;
    let offered = jobs_with_share(&workload.jobs)
        .map(|(job, share)| per_thread(job, share, measure.matched_rate * least / shared_by));
    let whole: f64 =
        offered.zip(&workload.jobs).map(|(rate, job)| rate as f64 * f64::from(job.numjobs)).sum();
    Some((whole * shared_by, slowest))
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor.max(1) * b.max(1)
}

/// Returns a stack's I/Os per second over all plain rounds; `None` if it has none. Where rounds
/// count bytes, they are divided by the mean block size.
fn iops(rounds: &[Round], stack: usize, workload: &Workload) -> Option<f64> {
    let plain = rounds.iter().filter(|round| round.kind == RoundKind::Plain);
    let parts = plain.flat_map(|round| &round.parts).filter(|part| part.stack == stack);
    let (amount, seconds) =
        parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.amount, sum.1 + part.seconds));
    let unit = if workload.writes() { mean_block(&workload.jobs) } else { 1.0 };
    (seconds > 0.0)
        .then(|| SliceValue::Rate.of_totals(amount / unit, seconds))
        .filter(|rate| *rate > 0.0)
}

/// Returns the mean block size, weighted by the I/Os in flight with each size.
fn mean_block(jobs: &[Job]) -> f64 {
    jobs_with_share(jobs).map(|(job, share)| job.bs as f64 * share).sum()
}

/// Iterates over each job with its share of all I/Os in flight.
fn jobs_with_share(jobs: &[Job]) -> impl Iterator<Item = (&Job, f64)> {
    let depth = |job: &Job| f64::from(job.numjobs) * f64::from(job.iodepth);
    let all: f64 = jobs.iter().map(depth).sum();
    jobs.iter().map(move |job| (job, depth(job) / all))
}

fn per_thread(job: &Job, share: f64, rate_iops: f64) -> u64 {
    ((rate_iops * share / f64::from(job.numjobs)).round() as u64).max(1)
}

/// Returns the jobs as an open loop with this sum of I/Os per second.
pub fn jobs(workload: &Workload, rate_iops: f64) -> Vec<Job> {
    let paced = |(job, share): (&Job, f64)| Job {
        rate_iops: Some(per_thread(job, share, rate_iops)),
        ..job.clone()
    };
    jobs_with_share(&workload.jobs).map(paced).collect()
}

/// Returns the limit for latencies at the matched rate, given the limit for the workload's own
/// load: twice its half-width, half its least time, and a quarter of the budget of both.
pub fn matched_limit(depth: VisitLimit, elapsed_s: f64) -> VisitLimit {
    match depth {
        VisitLimit::Precise(spec) => VisitLimit::Precise(StopSpec {
            precision: COARSER * spec.precision,
            min_time_s: spec.min_time_s / 2.0,
            // This is the rest of the whole budget, of which the depth had its part.
            budget_s: (PART / (1.0 - PART) * spec.budget_s).min(elapsed_s.max(spec.min_time_s)),
        }),
        VisitLimit::Time(seconds) => VisitLimit::Time(PART / (1.0 - PART) * seconds),
        as_before @ VisitLimit::AsBefore { .. } => as_before,
    }
}

/// Returns the seconds for the workload's own load and the latencies at the matched rate together,
/// where the load itself takes `depth_s`.
pub fn with_matched(depth_s: f64, measure: &MeasureSpec) -> f64 {
    if measure.matched_rate > 0.0 { depth_s / (1.0 - PART) } else { depth_s }
}

pub fn left_for_depth(budget_s: f64, measure: &MeasureSpec) -> f64 {
    if measure.matched_rate > 0.0 { (1.0 - PART) * budget_s } else { budget_s }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Rw;
    use iotax_stats::rounds::RoundPart;

    fn workload(jobs: Vec<Job>) -> Workload {
        Workload { name: "w".into(), jobs, probe: None, engine: None, sweep: None }
    }

    fn rounds(rates: &[f64]) -> Vec<Round> {
        let part =
            |(stack, rate): (usize, &f64)| RoundPart { stack, amount: rate * 0.1, seconds: 0.1 };
        vec![Round { parts: rates.iter().enumerate().map(part).collect(), ..Round::default() }; 3]
    }

    #[test]
    fn seventy_percent_of_the_slowest_by_threads() {
        let four = workload(vec![Job { numjobs: 4, iodepth: 8, ..Job::default() }]);
        let measure = MeasureSpec::default();
        let (rate_iops, slowest) = choose_matched_rate(
            &four,
            &measure,
            &rounds(&[10_000.0, 8_000.0, 9_000.0]),
            &[1; 3],
            None,
        )
        .unwrap();
        assert_eq!((rate_iops, slowest), (5600.0, 1));
        assert_eq!(jobs(&four, rate_iops)[0].rate_iops, Some(1400));
        let two = workload(vec![
            Job { iodepth: 3, ..Job::default() },
            Job { iodepth: 1, ..Job::default() },
        ]);
        let shares: Vec<_> = jobs(&two, 4000.0).iter().map(|job| job.rate_iops).collect();
        assert_eq!(shares, [Some(3000), Some(1000)]);
    }

    #[test]
    fn a_ruler_is_not_the_slowest_and_holds_nothing_up() {
        let (plain, measure) = (workload(vec![Job::default()]), MeasureSpec::default());
        let with = |rates: &[f64], ruler| {
            choose_matched_rate(&plain, &measure, &rounds(rates), &[1; 3], ruler)
        };
        assert_eq!(with(&[10_000.0, 9_000.0, 4_000.0], Some(2)), Some((6300.0, 1)));
        assert_eq!(with(&[10_000.0, 9_000.0, 4_000.0], None), Some((2800.0, 2)));
        assert_eq!(with(&[10_000.0, 9_000.0], Some(2)), Some((6300.0, 1)), "it has no rounds yet");
    }

    #[test]
    fn one_and_sixteen_guests_get_the_same() {
        let four = workload(vec![Job { numjobs: 4, ..Job::default() }]);
        let measure = MeasureSpec::default();
        let (rate_iops, _) =
            choose_matched_rate(&four, &measure, &rounds(&[1000.0, 245.0]), &[1, 16], None)
                .unwrap();
        // 70 % of 245 over 64 threads are 2.7 each.
        assert_eq!(rate_iops, 192.0);
        for members in [1.0, 16.0] {
            let each = jobs(&four, rate_iops / members)[0].rate_iops.unwrap();
            assert_eq!(each as f64 * 4.0 * members, rate_iops);
        }
        assert_eq!(
            [(4, 6), (1, 16), (5, 7)].map(|(a, b)| least_common_multiple(a, b)),
            [12, 16, 35]
        );
    }

    #[test]
    fn bytes_of_writes_are_blocks() {
        let writes = workload(vec![Job { rw: Rw::RandWrite, bs: 8192, ..Job::default() }]);
        let bytes = rounds(&[8192.0 * 1000.0, 8192.0 * 2000.0]);
        assert_eq!(
            choose_matched_rate(&writes, &MeasureSpec::default(), &bytes, &[1; 2], None),
            Some((700.0, 0))
        );
    }

    #[test]
    fn none_before_all_are_known_or_where_there_is_a_rate() {
        let plain = workload(vec![Job::default()]);
        let measure = MeasureSpec::default();
        assert_eq!(choose_matched_rate(&plain, &measure, &rounds(&[100.0]), &[1; 2], None), None);
        assert_eq!(
            choose_matched_rate(&plain, &measure, &rounds(&[100.0]), &[1], None),
            None,
            "nothing to compare"
        );
        let off = MeasureSpec { matched_rate: 0.0, ..MeasureSpec::default() };
        assert_eq!(
            choose_matched_rate(&plain, &off, &rounds(&[100.0, 100.0]), &[1; 2], None),
            None
        );
        let paced = workload(vec![Job { rate_iops: Some(5), ..Job::default() }]);
        assert_eq!(
            choose_matched_rate(&paced, &measure, &rounds(&[100.0, 100.0]), &[1; 2], None),
            None
        );
    }

    #[test]
    fn depth_and_latency_together_stay_within_the_budget() {
        let measure = MeasureSpec::default();
        let depth = StopSpec {
            precision: 0.01,
            min_time_s: 10.0,
            budget_s: left_for_depth(300.0, &measure),
        };
        let VisitLimit::Precise(matched) =
            matched_limit(VisitLimit::Precise(depth), depth.budget_s)
        else {
            panic!()
        };
        assert!((depth.budget_s + matched.budget_s - 300.0).abs() < 1e-9);
        let VisitLimit::Precise(short) = matched_limit(VisitLimit::Precise(depth), 20.0) else {
            panic!()
        };
        assert_eq!((short.budget_s, short.min_time_s), (20.0, 5.0));
    }
}
