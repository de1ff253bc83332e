//! Rates of the slices of one load in the order of time.

use crate::RunData;
use crate::findings::over_time::{SliceRate, StackRates};
use iotax_model::record::{Purpose, Slice};

/// Returns the rates of the slices under this load, for each of the stacks that have some. A probe
/// of times has no rates.
pub(crate) fn stack_rates(
    run: &RunData,
    workload: &str,
    rate_unit: &str,
    stacks: &[&str],
) -> Vec<StackRates> {
    let ending = match rate_unit {
        "B/s" => ".bytes",
        "1/s" => ".ios",
        _ => return Vec::new(),
    };
    let counts = |slice: &&Slice| {
        slice.workload == workload && slice.purpose == Purpose::Plain && slice.window_ns > 0
    };
    let slices: Vec<&Slice> = run.slices.iter().filter(counts).collect();
    let begin = slices.iter().map(|slice| slice.start_ns).min().unwrap_or_default();
    let rate_of = |slice: &Slice| {
        let window_s = slice.window_ns as f64 / 1e9;
        SliceRate {
            start_s: (slice.start_ns - begin) as f64 / 1e9,
            window_s,
            rate: slice.total(ending) / window_s,
            round: (slice.visit, slice.set, slice.round),
        }
    };
    let of_stack = |(row, stack): (usize, &&str)| {
        let ours = slices.iter().filter(|slice| slice.stack == **stack);
        let mut rates: Vec<SliceRate> = ours.map(|slice| rate_of(slice)).collect();
        rates.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        (!rates.is_empty()).then_some(StackRates { row, slices: rates })
    };
    stacks.iter().enumerate().filter_map(of_stack).collect()
}
