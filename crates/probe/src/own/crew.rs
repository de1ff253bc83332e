//! Resident threads of a probe. Each is pinned to one processor and does batches of units that take
//! about a millisecond. In every place a window begins and ends as planned: a batch that crosses an
//! end of the window counts by the share of its time inside.

use super::work::{MakeWork, Work, unit_refused_error};
use crate::{Probe, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::cpu::ThreadCpu;
use iotax_load::{Direction, Histogram, SliceBound, SliceResult, SliceSpec, clock};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Intended time of a batch: long enough that reading the clock between batches costs nothing, and
/// short enough that a slice ends in time.
const BATCH_NS: u64 = 1_000_000;
/// Time after which a silent thread is given up; no unit takes that long.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time from the order to the common start of the threads, so that each can wake.
const LEAD_NS: u64 = 300_000;

pub(super) fn prepare(spec: &ProbeSpec, make: MakeWork) -> Result<Box<dyn Probe>, ProbeError> {
    Ok(Box::new(ProbeCrew::start(spec, make)?))
}

#[derive(Clone, Copy)]
struct CrewRun {
    begin_ns: u64,
    discard_ns: u64,
    window_ns: u64,
}

impl CrewRun {
    /// Returns the window of a thread that woke at `woke_ns`. A thread that is late by at most half
    /// of the discarded start catches up.
    fn window(&self, woke_ns: u64) -> Range<u64> {
        let is_late = woke_ns > self.begin_ns + self.discard_ns / 2;
        let from_ns = if is_late { woke_ns } else { self.begin_ns } + self.discard_ns;
        from_ns..from_ns + self.window_ns
    }
}

struct CrewShare {
    start_ns: u64,
    units: f64,
    discarded: f64,
    times: Histogram,
    cpu: ThreadCpu,
}

struct ProbeThread {
    orders: Sender<CrewRun>,
    shares: Receiver<Result<CrewShare, ProbeError>>,
    thread: Option<JoinHandle<()>>,
}

struct ProbeCrew {
    spec: ProbeSpec,
    bytes: u64,
    members: Vec<ProbeThread>,
}

impl ProbeCrew {
    /// Starts the threads, and waits until all are ready.
    ///
    /// # Errors
    /// When a thread cannot be started or pinned to its processor, or its work cannot be made or
    /// done.
    pub(super) fn start(spec: &ProbeSpec, make: MakeWork) -> Result<ProbeCrew, ProbeError> {
        let cpus = seats(spec)?;
        let mut crew = ProbeCrew { spec: spec.clone(), bytes: 0, members: Vec::new() };
        for thread in 0..spec.numjobs.max(1) as usize {
            let (member, ready) = ProbeThread::start(spec, cpus[thread % cpus.len()], make)?;
            crew.members.push(member);
            crew.bytes = ready.recv_timeout(PATIENCE).map_err(|_| thread_gone_error())??;
        }
        Ok(crew)
    }

    /// Runs a slice in all threads at once, and returns the share of each. Fails if a thread does
    /// not answer within `limit`, or its work fails.
    fn run_threads(&self, order: CrewRun, limit: Duration) -> Result<Vec<CrewShare>, ProbeError> {
        for member in &self.members {
            member.orders.send(order).map_err(|_| thread_gone_error())?;
        }
        self.members
            .iter()
            .map(|member| member.shares.recv_timeout(limit).map_err(|_| thread_gone_error())?)
            .collect()
    }
}

/// Returns the processors to which threads are pinned in turn: the requested ones, or else all that
/// this process may use, the last first, because the first serve interrupts.
///
/// # Errors
/// When a processor does not exist, or this process may not use it.
fn seats(spec: &ProbeSpec) -> Result<Vec<u32>, ProbeError> {
    let allowed = sched_getaffinity(None)
        .map_err(|error| unit_refused_error("read the allowed processors", error))?;
    let is_allowed = |cpu: u32| (cpu as usize) < CpuSet::MAX_CPU && allowed.is_set(cpu as usize);
    if let Some(cpu) = spec.cpus_allowed.iter().find(|cpu| !is_allowed(**cpu)) {
        return Err(ProbeError::Unfit(format!(
            "probe {spec}: processor {cpu} does not exist, or this process may not use it; hint: remove cpus_allowed, or name others"
        )));
    }
    match spec.cpus_allowed.is_empty() {
        true => Ok((0..CpuSet::MAX_CPU as u32).rev().filter(|cpu| is_allowed(*cpu)).collect()),
        false => Ok(spec.cpus_allowed.clone()),
    }
}

impl ProbeThread {
    /// Starts a thread. When its work is made, the receiver gets the bytes that a unit moves, or
    /// the error.
    fn start(
        spec: &ProbeSpec,
        cpu: u32,
        make: MakeWork,
    ) -> Result<(ProbeThread, Receiver<Result<u64, ProbeError>>), ProbeError> {
        let (orders, asked) = channel::<CrewRun>();
        let (answer, shares) = channel();
        let (made_result, ready) = channel();
        let spec = spec.clone();
        let body = move || {
            let made = sit(cpu).and_then(|()| make(&spec)).and_then(|mut work| {
                let batch = calibrated(&mut *work)?;
                Ok((work, batch))
            });
            let (mut work, batch) = match made {
                Ok(made) => made,
                Err(error) => return drop(made_result.send(Err(error))),
            };
            if made_result.send(Ok(work.bytes_per_unit())).is_err() {
                return;
            }
            while let Ok(run) = asked.recv() {
                let done = run_thread_slice(&mut *work, batch, run).and_then(|share| {
                    // The work is set up after a slice and not before the next: places begin
                    // together only some milliseconds after the request.
                    if !work.serves_all_slices() {
                        work = make(&spec)?;
                    }
                    Ok(share)
                });
                if answer.send(done).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("probe".into()).spawn(body);
        let thread = thread.map_err(|error| unit_refused_error("start a thread", error))?;
        Ok((ProbeThread { orders, shares, thread: Some(thread) }, ready))
    }
}

impl Drop for ProbeCrew {
    fn drop(&mut self) {
        for ProbeThread { orders, shares, thread } in self.members.drain(..) {
            drop((orders, shares));
            // A thread that panicked has reported that.
            let _ = thread.map(JoinHandle::join);
        }
    }
}

fn sit(cpu: u32) -> Result<(), ProbeError> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set)
        .map_err(|error| unit_refused_error(&format!("run on processor {cpu}"), error))
}

/// Returns the number of units of a batch: the first power of two that takes about [`BATCH_NS`], so
/// that the two places of a comparison mostly use the same number. A batch must be long enough
/// twice, so that a stall does not count.
fn calibrated(work: &mut dyn Work) -> Result<u64, ProbeError> {
    let mut is_long = |units| -> Result<bool, ProbeError> {
        let began = clock::monotonic_ns();
        work.run_batch(units, &mut Histogram::new())?;
        Ok(clock::monotonic_ns() - began >= BATCH_NS * 7 / 10)
    };
    let mut units = 1;
    while units < 1 << 28 && !(is_long(units)? && is_long(units)?) {
        units *= 2;
    }
    Ok(units)
}

fn run_thread_slice(
    work: &mut dyn Work,
    batch: u64,
    run: CrewRun,
) -> Result<CrewShare, ProbeError> {
    let (mut times, mut unused) = (Histogram::new(), Histogram::new());
    clock::wait_until(run.begin_ns);
    let (cpu, mut before) = (ThreadCpu::of_thread(), clock::monotonic_ns());
    let window = run.window(before);
    let (mut units, mut discarded) = (0.0, 0.0);
    while before < window.end {
        let times = if before < window.start { &mut unused } else { &mut times };
        work.run_batch(batch, times)?;
        let now = clock::monotonic_ns();
        let counted = work.counted_units(batch) as f64;
        let inside = counted * share_inside(before..now, &window);
        (units, discarded) = (units + inside, discarded + counted - inside);
        before = now;
    }
    Ok(CrewShare {
        start_ns: window.start,
        units,
        discarded,
        times,
        cpu: ThreadCpu::of_thread().since(cpu),
    })
}

/// Returns the share of a batch's time that lies in the window.
fn share_inside(batch: Range<u64>, window: &Range<u64>) -> f64 {
    let inside_ns = batch.end.min(window.end).saturating_sub(batch.start.max(window.start));
    inside_ns as f64 / (batch.end - batch.start).max(1) as f64
}

/// Rounds `units` to whole units, and returns them with the time that they take at the rate of
/// `units` in `window_ns`: rounding changes no rate.
fn whole_units(units: f64, window_ns: u64) -> (u64, u64) {
    if units <= 0.0 {
        return (0, window_ns);
    }
    let whole = units.round().max(1.0);
    (whole as u64, (window_ns as f64 * whole / units).round() as u64)
}

impl Probe for ProbeCrew {
    fn name(&self) -> String {
        self.spec.to_string()
    }

    /// Runs a slice. Its window begins with that of the last thread to begin, and is as long as its
    /// units, rounded to whole ones, take.
    fn run_probe_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, ProbeError> {
        let SliceBound::Time { ns: window_ns } = spec.bound else {
            return Err(ProbeError::Unfit(format!(
                "probe {} supports slices by time only",
                self.spec
            )));
        };
        let begin_ns = spec.begin_ns.unwrap_or(clock::monotonic_ns() + LEAD_NS);
        let run = CrewRun { begin_ns, discard_ns: spec.min_discard_ns, window_ns };
        let limit = Duration::from_nanos(spec.min_discard_ns + window_ns) + PATIENCE;
        let shares = self.run_threads(run, limit)?;
        let sum = |of: fn(&CrewShare) -> f64| shares.iter().map(of).sum::<f64>();
        let (ios, window_ns) = whole_units(sum(|share| share.units), window_ns);
        let mut result = SliceResult {
            window_start_ns: shares.iter().map(|share| share.start_ns).max().unwrap_or(begin_ns),
            window_ns,
            discarded_ns: spec.min_discard_ns,
            discarded_ios: sum(|share| share.discarded).round() as u64,
            read: Direction { ios, bytes: ios * self.bytes, ..Direction::default() },
            ..SliceResult::default()
        };
        for share in &shares {
            result.read.latency.merge(&share.times);
            result.cpu_user_ns += share.cpu.user_ns;
            result.cpu_system_ns += share.cpu.system_ns;
        }
        // Each recorded time is a unit, even if it crosses an end of the window.
        if matches!(self.spec.unit(), Ok(ProbeUnit::Time(_))) {
            result.read.ios = result.read.latency.count();
        }
        Ok(result)
    }
}

fn thread_gone_error() -> ProbeError {
    ProbeError::Failed("a thread of the probe stopped, or did not answer for two minutes".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static MADE: AtomicU32 = AtomicU32::new(0);

    /// Work that sleeps for a millisecond per unit.
    struct Idle {
        lasts: bool,
    }

    impl Work for Idle {
        fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
            std::thread::sleep(Duration::from_millis(units));
            Ok(())
        }

        fn serves_all_slices(&self) -> bool {
            self.lasts
        }
    }

    fn crew(make: MakeWork) -> ProbeCrew {
        ProbeCrew::start(&ProbeSpec::parse("integer").unwrap(), make).unwrap()
    }

    /// Returns how often work is set up for three slices.
    fn made(make: MakeWork) -> u32 {
        let before = MADE.load(Ordering::Relaxed);
        let mut crew = crew(make);
        for _ in 0..3 {
            crew.run_probe_slice(&SliceSpec::starting_now(
                SliceBound::Time { ns: 2_000_000 },
                0,
                false,
            ))
            .unwrap();
        }
        MADE.load(Ordering::Relaxed) - before
    }

    #[test]
    fn work_is_made_anew_for_each_slice_unless_it_lasts() {
        fn idle(lasts: bool) -> Result<Box<dyn Work>, ProbeError> {
            MADE.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(Idle { lasts }))
        }
        assert_eq!(made(|_| idle(false)), 4);
        assert_eq!(made(|_| idle(true)), 1);
    }

    /// The start is long enough that other work on the machine makes no thread late, and shorter
    /// than the time to set up the work.
    #[test]
    fn a_slice_begins_as_planned_however_long_its_work_is_made() {
        let mut crew = crew(|_| {
            std::thread::sleep(Duration::from_millis(900));
            Ok(Box::new(Idle { lasts: false }))
        });
        let (discard_ns, window_ns) = (600_000_000, 50_300_000);
        for _ in 0..2 {
            let begin_ns = clock::monotonic_ns() + 3_000_000;
            let spec =
                SliceSpec::starting_now(SliceBound::Time { ns: window_ns }, discard_ns, false);
            let result =
                crew.run_probe_slice(&SliceSpec { begin_ns: Some(begin_ns), ..spec }).unwrap();
            assert_eq!(result.window_start_ns, begin_ns + discard_ns);
            let unit_ns = result.window_ns / result.read.ios;
            assert!(result.window_ns.abs_diff(window_ns) <= unit_ns, "{result:?}");
        }
    }

    #[test]
    fn who_is_late_by_half_of_the_start_catches_up_and_others_begin_when_they_wake() {
        let run = CrewRun { begin_ns: 1000, discard_ns: 100, window_ns: 500 };
        assert_eq!(run.window(900), 1100..1600);
        assert_eq!(run.window(1050), 1100..1600);
        assert_eq!(run.window(1051), 1151..1651);
    }

    #[test]
    fn a_batch_across_an_end_of_the_window_counts_by_its_share() {
        let window = 1000..2000;
        let shares = [0..1000, 900..1100, 1500..1600, 1900..2300, 0..4000, 5..5];
        assert_eq!(
            shares.map(|batch| share_inside(batch, &window)),
            [0.0, 0.5, 1.0, 0.25, 0.25, 0.0]
        );
    }

    #[test]
    fn whole_units_keep_the_rate() {
        assert_eq!(whole_units(2.5, 1000), (3, 1200));
        assert_eq!(whole_units(0.1, 1000), (1, 10_000));
        assert_eq!(whole_units(1e6 + 0.25, 1_000_000_000), (1_000_000, 999_999_750));
        assert_eq!(whole_units(0.0, 1000), (0, 1000));
    }
}
