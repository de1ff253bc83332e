//! A series of short slices: workers take turns within one call, in a given order. Slices are so short (from half a millisecond)
//! that neighbours see the same machine; what they count beyond I/Os and windows is kept together for each worker. Workers that
//! share their threads ([`Worker::prepare_beside`]) change places without a thread being woken. It refuses jobs with a rate.

use crate::crew;
use crate::gate::Gate;
use crate::lane::{LaneShort, ShortOrder};
use crate::spec::{LoadError, SliceResult};
use crate::worker::Worker;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bins of time in a [`Transient`].
pub const BINS: usize = 64;
/// I/Os since the switch of which it has the cycle times.
pub const FIRST_IOS: usize = 32;

/// How long a slice is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortLength {
    /// The window begins with the first completions so many nanoseconds after the start,
    pub discard_ns: u64,
    /// and ends with the first ones so many nanoseconds later.
    pub window_ns: u64,
}

/// Times of the machine since it booted that only grow, such as those of its processors by kind, nanoseconds.
pub type MachineTimes = [u64; 5];

/// Reads them.
pub type ReadMachine = Arc<dyn Fn() -> Option<MachineTimes> + Send + Sync>;

/// What a series is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Whose slices follow each other: places in the list of workers.
    pub order: Vec<usize>,
    /// Lengths of the slices of each worker.
    pub lengths: Vec<ShortLength>,
    /// Width of the bins of [`Transient`], nanoseconds.
    pub bin_ns: u64,
}

/// What one slice counted; five numbers in this order where it is stored or sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, u64, u64, u64, u64)", into = "(usize, u64, u64, u64, u64)")]
pub struct ShortSlice {
    /// Place of its worker in the list.
    pub worker: usize,
    /// CLOCK_MONOTONIC of the place when it began.
    pub start_ns: u64,
    /// Length of the window, nanoseconds: of several threads their mean, as each has its own.
    pub window_ns: u64,
    /// I/Os that completed in the windows of all threads.
    pub ios: u64,
    /// From the start until all queues were empty, nanoseconds.
    pub took_ns: u64,
}

impl From<(usize, u64, u64, u64, u64)> for ShortSlice {
    fn from((worker, start_ns, window_ns, ios, took_ns): (usize, u64, u64, u64, u64)) -> ShortSlice {
        ShortSlice { worker, start_ns, window_ns, ios, took_ns }
    }
}

impl From<ShortSlice> for (usize, u64, u64, u64, u64) {
    fn from(slice: ShortSlice) -> (usize, u64, u64, u64, u64) {
        (slice.worker, slice.start_ns, slice.window_ns, slice.ios, slice.took_ns)
    }
}

/// What a series counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesResult {
    /// In the order in which they ran.
    pub slices: Vec<ShortSlice>,
    /// Of each worker, all its slices together: the windows and what was discarded are sums, the start is that of the first.
    pub sums: Vec<SliceResult>,
    /// How the rate of each worker began after a switch.
    pub transients: Vec<Transient>,
    /// By how much the machine's times grew during the slices of each worker; `None`: they were not read.
    pub machine: Vec<Option<MachineTimes>>,
}

/// The beginning of slices, all of a worker together: shows what has to be discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transient {
    /// Width of the bins, nanoseconds.
    pub bin_ns: u64,
    /// Slices, of each thread.
    pub slices: u64,
    /// I/Os that completed in each bin of time since the start.
    pub ios: Vec<u64>,
    /// Of the first I/Os since the start, by their number: time since the I/O before completed (of the first: since the start), where
    /// they completed one by one. Sums over slices, nanoseconds, with how many there are.
    pub cycles: Vec<(u64, u64)>,
    #[serde(skip)]
    number: u64,
    #[serde(skip)]
    last_ns: u64,
}

impl Transient {
    pub(crate) fn new(bin_ns: u64) -> Transient {
        Transient { bin_ns, ios: vec![0; BINS], cycles: vec![(0, 0); FIRST_IOS], ..Transient::default() }
    }

    /// A slice begins.
    pub(crate) fn begin(&mut self) {
        self.slices += 1;
        (self.number, self.last_ns) = (0, 0);
    }

    /// So many I/Os completed so long after the start.
    #[inline]
    pub(crate) fn add(&mut self, since_start_ns: u64, ios: u64) {
        let bin = since_start_ns.checked_div(self.bin_ns).and_then(|bin| self.ios.get_mut(bin as usize));
        bin.into_iter().for_each(|bin| *bin += ios);
        if let Some((sum_ns, number)) = self.cycles.get_mut(self.number as usize) {
            if ios == 1 {
                (*sum_ns, *number) = (*sum_ns + since_start_ns.saturating_sub(self.last_ns), *number + 1);
            }
        }
        (self.number, self.last_ns) = (self.number + ios, since_start_ns);
    }

    /// With those of another thread, or of another series with the same bins.
    pub fn merge(&mut self, other: &Transient) {
        if self.ios.is_empty() {
            *self = other.clone();
            return;
        }
        self.slices += other.slices;
        self.ios.iter_mut().zip(&other.ios).for_each(|(sum, more)| *sum += more);
        for ((sum_ns, number), (more_ns, more)) in self.cycles.iter_mut().zip(&other.cycles) {
            (*sum_ns, *number) = (*sum_ns + more_ns, *number + more);
        }
    }
}

/// Runs a series and leaves all queues empty. `read_machine` is called by the first thread of each slice, before and after it.
///
/// # Errors
/// As [`Worker::slice`]; [`LoadError::Unfit`] for a job with a rate, an order that names no worker, or slices of no length.
pub fn run_series(
    workers: &[&Worker],
    spec: &SeriesSpec,
    read_machine: Option<&ReadMachine>,
) -> Result<SeriesResult, LoadError> {
    check(workers, spec)?;
    workers.iter().try_for_each(|worker| worker.begin_series(spec.bin_ns))?;
    let mut result = SeriesResult { machine: vec![None; workers.len()], ..SeriesResult::default() };
    for turn in spec.order.chunk_by(|a, b| Arc::ptr_eq(workers[*a].crew(), workers[*b].crew())) {
        take_turns(workers, turn, &spec.lengths, read_machine, &mut result)?;
    }
    for (number, worker) in workers.iter().enumerate() {
        let (mut sum, transient) = worker.end_series()?;
        let ours = || result.slices.iter().filter(|slice| slice.worker == number);
        let discard_ns = spec.lengths[number].discard_ns;
        sum.window_start_ns = ours().next().map_or(0, |first| first.start_ns);
        sum.window_ns = ours().map(|slice| slice.window_ns).sum();
        sum.discarded_ns = discard_ns * ours().count() as u64;
        sum.drain_ns = ours().map(|slice| slice.took_ns.saturating_sub(discard_ns + slice.window_ns)).sum();
        result.sums.push(sum);
        result.transients.push(transient);
    }
    Ok(result)
}

fn check(workers: &[&Worker], spec: &SeriesSpec) -> Result<(), LoadError> {
    let unfit = |why: &str| Err(LoadError::Unfit(why.to_owned()));
    if workers.iter().any(|worker| worker.is_paced()) {
        return unfit("a series has no slices at a rate");
    }
    if spec.lengths.len() != workers.len() || spec.order.iter().any(|worker| *worker >= workers.len()) {
        return unfit("a series names a worker that is not there");
    }
    if spec.lengths.iter().any(|length| length.window_ns == 0) || spec.bin_ns == 0 {
        return unfit("a slice of no length measures nothing");
    }
    Ok(())
}

/// Slices of workers that share their threads.
fn take_turns(
    workers: &[&Worker],
    turn: &[usize],
    lengths: &[ShortLength],
    read_machine: Option<&ReadMachine>,
    result: &mut SeriesResult,
) -> Result<(), LoadError> {
    let threads = turn.iter().map(|worker| workers[*worker].threads()).max().unwrap_or(0);
    let mut orders: Vec<Vec<(u32, ShortOrder)>> = (0..threads).map(|_| Vec::new()).collect();
    for number in turn {
        let worker = workers[*number];
        let gate = Arc::new(Gate::new(worker.threads(), None));
        for (thread, orders) in orders.iter_mut().take(worker.threads()).enumerate() {
            let read_machine = read_machine.filter(|_| thread == 0).cloned();
            let order = ShortOrder { length: lengths[*number], gate: Arc::clone(&gate), read_machine };
            orders.push((worker.lane(), order));
        }
    }
    let lanes = crew::lock(workers[turn[0]].crew()).series(orders)?;
    let mut lanes: Vec<_> = lanes.into_iter().map(Vec::into_iter).collect();
    for number in turn {
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
        result.slices.push(together(*number, &of_slice));
    }
    Ok(())
}

fn together(worker: usize, lanes: &[LaneShort]) -> ShortSlice {
    let start_ns = lanes.first().map_or(0, |lane| lane.start_ns);
    let windows: u64 = lanes.iter().map(|lane| lane.window_ns.end.saturating_sub(lane.window_ns.start)).sum();
    ShortSlice {
        worker,
        start_ns,
        window_ns: windows / lanes.len().max(1) as u64,
        ios: lanes.iter().map(|lane| lane.ios).sum(),
        took_ns: lanes.iter().map(|lane| lane.drained_ns).max().unwrap_or(0).saturating_sub(start_ns),
    }
}
