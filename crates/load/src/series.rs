//! Series of short slices: workers take turns within one call, in a given order. Slices are so
//! short (from half a millisecond) that neighbours see the same machine. I/Os and windows are
//! reported for each slice, all other counts as one sum for each worker. Workers that share their
//! threads ([`Worker::prepare_beside`]) change places without a thread being woken. Jobs with a
//! rate are refused.

use crate::crew;
use crate::gate::{BeginTime, StartGate};
use crate::lane::{LaneShort, ShortOrder};
use crate::spec::{LoadError, ReadMachine, SeriesResult, SeriesSpec, ShortLength, ShortSlice};
use crate::worker::Worker;
use std::sync::Arc;

/// Runs a series and leaves all queues empty. The first thread of each slice calls `read_machine`
/// before and after the slice.
///
/// # Errors
/// The errors of [`Worker::measure_slice`]; [`LoadError::Unfit`] for a job with a rate, an order
/// that names no worker, or slices of no length.
pub fn run_series(
    workers: &[&Worker],
    spec: &SeriesSpec,
    read_machine: Option<&ReadMachine>,
) -> Result<SeriesResult, LoadError> {
    check_series(workers, spec)?;
    workers.iter().try_for_each(|worker| worker.begin_series(spec.bin_ns))?;
    let mut result = SeriesResult { machine: vec![None; workers.len()], ..SeriesResult::default() };
    let mut begins_ns = spec.begins_ns.iter().copied();
    for turn in spec.order.chunk_by(|a, b| Arc::ptr_eq(workers[*a].crew(), workers[*b].crew())) {
        let turn: Vec<_> = turn.iter().map(|worker| (*worker, begins_ns.next())).collect();
        take_turns(workers, &turn, &spec.lengths, read_machine, &mut result)?;
    }
    for (number, worker) in workers.iter().enumerate() {
        let (mut sum, transient) = worker.end_series()?;
        let ours = || result.slices.iter().filter(|slice| slice.worker == number);
        let discard_ns = spec.lengths[number].discard_ns;
        sum.window_start_ns = ours().next().map_or(0, |first| first.start_ns);
        sum.window_ns = ours().map(|slice| slice.window_ns).sum();
        sum.discarded_ns = discard_ns * ours().count() as u64;
        sum.drain_ns =
            ours().map(|slice| slice.took_ns.saturating_sub(discard_ns + slice.window_ns)).sum();
        result.sums.push(sum);
        result.transients.push(transient);
    }
    let mut order = spec.order.clone();
    while let Some(first) = order.first().copied() {
        order.retain(|other| *other != first);
        if spec.flush || workers[first].flushes_at_end() {
            // What was written outside of windows is flushed too.
            let sum = &mut result.sums[first];
            workers[first].flush_all(sum)?;
            sum.flush_ns = sum.flush_ns.map(|ns| sum.share_of_windows(ns));
        }
    }
    Ok(result)
}

fn check_series(workers: &[&Worker], spec: &SeriesSpec) -> Result<(), LoadError> {
    let unfit = |why: &str| Err(LoadError::Unfit(why.to_owned()));
    if workers.iter().any(|worker| worker.is_paced()) {
        return unfit("a series has no slices at a rate");
    }
    if spec.lengths.len() != workers.len()
        || spec.order.iter().any(|worker| *worker >= workers.len())
    {
        return unfit("a series names a worker that is not there");
    }
    if spec.lengths.iter().any(|length| length.window_ns == 0) || spec.bin_ns == 0 {
        return unfit("a slice of no length measures nothing");
    }
    let begins_ns = &spec.begins_ns;
    if !begins_ns.is_empty() && (begins_ns.len() != spec.order.len() || !begins_ns.is_sorted()) {
        return unfit("a series begins its slices at other times than its order needs");
    }
    Ok(())
}

/// Runs the slices of `turn` (index of the worker, and the start time if there is one), whose
/// workers share their threads, and adds them to `result`.
fn take_turns(
    workers: &[&Worker],
    turn: &[(usize, Option<u64>)],
    lengths: &[ShortLength],
    read_machine: Option<&ReadMachine>,
    result: &mut SeriesResult,
) -> Result<(), LoadError> {
    let threads = turn.iter().map(|(worker, _)| workers[*worker].threads()).max().unwrap_or(0);
    let mut orders: Vec<Vec<(u32, ShortOrder)>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, begin_ns) in turn {
        let worker = workers[*number];
        let begin = begin_ns.map(|at_ns| BeginTime { at_ns, latest_ns: at_ns });
        let gate = Arc::new(StartGate::new(worker.threads(), begin));
        for (thread, orders) in orders.iter_mut().take(worker.threads()).enumerate() {
            let read_machine = read_machine.filter(|_| thread == 0).cloned();
            let order =
                ShortOrder { length: lengths[*number], gate: Arc::clone(&gate), read_machine };
            orders.push((worker.lane(), order));
        }
    }
    let lanes = crew::lock(workers[turn[0].0].crew()).series(orders)?;
    let mut lanes: Vec<_> = lanes.into_iter().map(Vec::into_iter).collect();
    for (number, _) in turn {
        let worker = workers[*number];
        let of_slice: Vec<LaneShort> =
            lanes.iter_mut().take(worker.threads()).filter_map(Iterator::next).collect();
        if of_slice.iter().any(|lane| lane.aborted) {
            let (sum, _) = worker.end_series()?;
            let first = sum.first_error.unwrap_or_default();
            return Err(LoadError::Failing { errors: sum.errors, first });
        }
        if let Some(grew) = of_slice.first().and_then(|lane| lane.machine) {
            let sums = result.machine[*number].get_or_insert_default();
            sums.iter_mut().zip(grew).for_each(|(sum, more)| *sum += more);
        }
        result.slices.push(combine_lanes(*number, &of_slice));
    }
    Ok(())
}

fn combine_lanes(worker: usize, lanes: &[LaneShort]) -> ShortSlice {
    let start_ns = lanes.first().map_or(0, |lane| lane.start_ns);
    let windows: u64 =
        lanes.iter().map(|lane| lane.window_ns.end.saturating_sub(lane.window_ns.start)).sum();
    ShortSlice {
        worker,
        start_ns,
        window_ns: windows / lanes.len().max(1) as u64,
        ios: lanes.iter().map(|lane| lane.ios).sum(),
        took_ns: lanes
            .iter()
            .map(|lane| lane.drained_ns)
            .max()
            .unwrap_or(0)
            .saturating_sub(start_ns),
    }
}
