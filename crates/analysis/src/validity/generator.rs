//! The load generator's own share in a stack's figures: its CPU time, how often it checked its
//! queue, and whether its latencies and its counts agree. A figure describes the stack as long as
//! these are small.

use crate::findings::{Comparison, GeneratorReport};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{RoundTotal, StackSide};
use iotax_stats::Digits;

/// Largest error by Little's law, as a fraction, that a report accepts.
pub const LITTLES_LAW: f64 = 0.02;

/// Returns the fractions of each thread's time in user mode and in the kernel; `None` if they were
/// not recorded.
pub fn shares(side: &StackSide, threads: f64) -> Option<[f64; 2]> {
    let usage = &side.usage;
    let all_ns = usage.thread_ns * threads;
    (all_ns > 0.0).then(|| [usage.user_ns / all_ns, (usage.generator_ns - usage.user_ns) / all_ns])
}

pub fn in_flight(side: &StackSide) -> Option<f64> {
    let usage = &side.usage;
    (usage.in_flight_windows_ns > 0.0).then(|| usage.in_flight_ns / usage.in_flight_windows_ns)
}

pub fn littles_law_error(side: &StackSide) -> Option<f64> {
    let usage = &side.usage;
    (usage.in_flight_ns > 0.0).then(|| usage.served_ns / usage.in_flight_ns - 1.0)
}

/// Returns the largest error by Little's law, as a fraction, that the ends of the windows may
/// explain. An I/O that began before the window counts with all of its time where it ends, and one
/// that ends after the window not at all. That is at most a mean service time of those in flight at
/// each end.
pub fn ends(side: &StackSide) -> Option<f64> {
    let usage = &side.usage;
    let sum = |of: fn(&RoundTotal) -> f64| side.rounds.values().map(of).sum::<f64>();
    let (ios, windows_s) = (sum(|round| round.ios), sum(|round| round.window_s));
    // By Little's law, this is how long an I/O was in flight, by the queue's count.
    let mean_s = in_flight(side)? * windows_s / ios;
    let window_s = usage.in_flight_windows_ns / 1e9 / usage.slices();
    (ios > 0.0 && window_s > 0.0).then(|| mean_s / window_s)
}

/// Returns sentences on how much the rate of another generator differs, if it loaded the baseline
/// as well.
pub fn on_baseline(reading: &WorkloadView, comparisons: &[Comparison]) -> Vec<String> {
    let scenario = &reading.run.start.scenario;
    let generator = |name: &str| {
        let at = scenario.stacks.iter().position(|stack| stack.name == name)?;
        scenario.generator_on_baseline(at)
    };
    let said = |one: &Comparison| {
        let (name, ratio) = (generator(&one.stack)?, one.rate.ratio.value()?);
        let bounds = one.rate.ratio.bounds().map(|(low, high)| (low - 1.0, high - 1.0));
        let change = Digits::format_change(ratio - 1.0, bounds).cell();
        Some(format!("{name} on the baseline: {change} in {}", one.rate.quantity))
    };
    comparisons.iter().filter_map(said).collect()
}

/// Returns the error by Little's law if it is more than the ends of the windows can explain:
/// latencies and counts contradict each other. Otherwise `None`.
pub fn contradicts_itself(found: &GeneratorReport) -> Option<f64> {
    let error = found.littles_law_error?;
    (error.abs() > LITTLES_LAW + found.littles_law_ends.unwrap_or(0.0)).then_some(error)
}

#[cfg(test)]
mod tests {
    use crate::{findings, twin};
    use iotax_model::record::SampleValue;
    use iotax_store::RunData;

    /// Has the stack at `at` be fio on the baseline, by its own name.
    fn as_ruler(mut run: RunData, at: usize) -> RunData {
        let scenario = &mut run.start.scenario;
        scenario.measure.fio_on_baseline = true;
        let base = scenario.stacks[0].clone();
        let layers =
            base.layers.into_iter().chain([twin::layer("engine", &[("name", "fio")])]).collect();
        (scenario.stacks[at].medium, scenario.stacks[at].layers) = (base.medium, layers);
        run
    }

    #[test]
    fn fio_on_the_baseline_has_a_line() {
        let run = twin::a_against_a();
        assert!(findings(&run).workloads[0].on_baseline.is_empty());
        let found = findings(&as_ruler(run, 1));
        let said = &found.workloads[0].on_baseline;
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("fio on the baseline: ") && said[0].contains(" +- "),
            "{said:?}"
        );
        assert!(said[0].ends_with("IOPS at iodepth 32"), "{said:?}");
    }

    #[test]
    fn a_ruler_has_rows_and_no_part_in_headline_and_family() {
        let before = findings(&twin::published());
        assert!(
            before.headline.as_ref().unwrap().contains("fs(xfs)"),
            "it costs most: {:?}",
            before.headline
        );
        let found = findings(&as_ruler(twin::published(), 2));
        let headline = found.headline.as_ref().unwrap();
        assert!(
            headline.starts_with("loop ") && !headline.contains("the largest difference"),
            "{headline}"
        );
        let workload = &found.workloads[0];
        assert_eq!(
            (workload.rows.len(), workload.comparisons.len(), workload.on_baseline.len()),
            (3, 2, 1)
        );
        let known: Vec<bool> =
            workload.comparisons.iter().map(|one| one.rate.simultaneous.is_some()).collect();
        assert_eq!(known, [true, false]);
    }

    #[test]
    fn where_nothing_else_is_compared_the_ruler_is_the_comparison() {
        let plain = findings(&twin::faster()).headline;
        assert!(plain.is_some());
        assert_eq!(findings(&as_ruler(twin::faster(), 1)).headline, plain);
    }

    #[test]
    fn helpers_of_posixaio_are_threads_of_the_generator() {
        let report = |engine: &str| {
            let mut run = twin::a_against_a();
            run.workers.iter_mut().for_each(|worker| worker.engine = engine.to_owned().into());
            let found = findings(&run).workloads.remove(0).rows.remove(0).generator;
            (found.threads, found.user_share.unwrap() + found.kernel_share.unwrap())
        };
        let (one, all_of_it) = report("uring");
        let (two, of_both) = report("posixaio");
        assert_eq!((one, two), (1.0, 2.0));
        assert!((of_both - all_of_it / 2.0).abs() < 1e-12, "{of_both} {all_of_it}");
    }

    #[test]
    fn latencies_that_contradict_the_counts_are_told() {
        let mut run = twin::guest();
        let told =
            |run: &_| findings(run).warnings.into_iter().find(|one| one.kind == "littles_law");
        assert_eq!(told(&run), None);
        for slice in run.slices.iter_mut().filter(|slice| slice.stack != "file") {
            for sample in slice.samples.iter_mut().filter(|sample| sample.metric == "served") {
                if let SampleValue::Value(served) = &mut sample.value {
                    *served *= 0.8;
                }
            }
        }
        let told = told(&run).unwrap();
        assert!(
            told.text.contains("-19.9 % off the mean number of I/Os in flight"),
            "{}",
            told.text
        );
    }
}
