//! Runs one slice of a stack in all its places, again if it was disturbed, with the CPU times of
//! that slice. Each slice is on disk before the next one begins.

use super::observer::{Observer, RunEvent};
use super::places::Places;
use super::serving::{ServedBy, served_ns};
use super::states::TRIES;
use super::together::{CommonSlice, PlaceSlices, cpu_times};
use super::traffic::PlaceReadings;
use super::under_load::LoadedMember;
use super::{suspend, together};
use anyhow::{Result, ensure};
use iotax_facts::place::Place;
use iotax_load::{SliceBound, SliceResult, SliceSpec};
use iotax_model::record::{CpuTimes, IO_ERRORS, Purpose, QuiesceGate, RunRecord, STOPPED, Warning};
use iotax_probe::ProbeUnit;
use iotax_units::exit::Failed;
use iotax_units::show_ns;
use iotax_wire::message::{Ran, Response, SLICE_GRACE, WireRequest, slice_limit};
use iotax_wire::stops::ProcessStop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::slice_outcome::{SliceOutcome, SlicePosition};
use super::visit_workers::Bench;

/// Least discarded time at the start of a slice, in nanoseconds. The worker discards twice the time
/// that its queue takes to drain, if that is more.
const LEAST_DISCARD_NS: u64 = 5_000_000;
/// Least discarded time of a slice at a rate that ends on time (one that ends on bytes discards
/// nothing). The schedule does not wait for a place that wakes late, and what was due meanwhile
/// lengthens latencies until the queue is short again (docs/decisions/three-figures.md).
const LEAST_DISCARD_AT_A_RATE_NS: u64 = 25_000_000;
/// Limit after which the quiesce gate gives up. Every write slice ends with a flush, so data that
/// is dirty for longer is somebody else's, and waiting for it would eat the budget.
const GATE_LIMIT: Duration = Duration::from_secs(1);
/// Most stops of iotax during one slice. If so many tries were stopped, the next one will be, too.
pub(super) const MOST_STOPS: u32 = 20;
/// Longest discarded start that is learned from late places: a guest never waits half of this for a
/// processor.
const MOST_LEARNED_NS: u64 = 1_000_000_000;
/// A learned start shrinks by this fraction (1/32) with each slice that was on time at the first
/// try. If a start is just too short, 4 in 100 slices are then repeated.
const UNLEARNED_PART: u64 = 32;
/// A slice that exceeds its length by more than this is reported.
const OVERDUE: Duration = Duration::from_secs(20);

/// What earlier slices of a worker have shown about how long a start its places must discard.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommonStart {
    /// Nanoseconds that the slowest place last took to empty its queue.
    drain_ns: u64,
    /// Discarded start, in nanoseconds, with which all places were in time, if the least start was
    /// too short.
    learned_ns: u64,
}

impl CommonStart {
    /// Returns the nanoseconds to discard at the start of a try, which doubles with each `attempt`,
    /// counted from 0. A place that is late by a part of the start still counts as in time, so the
    /// start is longer where places wait for processors.
    fn tried_ns(&self, least_ns: u64, attempt: u32) -> u64 {
        let longer_ns = self.learned_ns.max(least_ns).saturating_mul(1 << attempt);
        longer_ns.min(MOST_LEARNED_NS.max(least_ns))
    }

    /// Remembers the start with which the slice was on time at this `attempt`, slightly shortened
    /// if it was the first.
    fn learn(&mut self, least_ns: u64, attempt: u32) {
        let sufficed_ns = self.tried_ns(least_ns, attempt);
        self.learned_ns =
            if attempt == 0 { sufficed_ns - sufficed_ns / UNLEARNED_PART } else { sufficed_ns };
    }
}

impl Bench<'_> {
    /// Runs a slice, records it, and reports it if it is overdue. Failed I/Os are an error, unless
    /// the load goes on without them.
    ///
    /// # Errors
    /// When a peer is lost, an I/O failed or the record cannot be written.
    pub fn record(
        &mut self,
        worker: usize,
        bound: SliceBound,
        spot: SlicePosition,
        observer: &mut dyn Observer,
    ) -> Result<SliceOutcome> {
        let stack = self.ready[worker].index;
        self.store.check_present()?;
        for _ in 0..TRIES {
            let rebuilt =
                self.keeper.as_mut().map_or(Ok(0), |keeper| keeper.before_slice(stack))?;
            if rebuilt > 0 {
                self.traffic.interrupt();
            }
            *self.allowance = self.allowance.map(|left| left.saturating_sub(rebuilt));
            self.read_clusters(worker, observer)?;
            let done = self.slice(worker, bound, spot, observer)?;
            let after =
                self.keeper.as_mut().map_or(Ok(None), |keeper| keeper.after_slice(stack))?;
            let kept = after.as_ref().is_none_or(|after| after.is_kept);
            let spot =
                if kept { spot } else { SlicePosition { purpose: Purpose::OutOfState, ..spot } };
            self.store_slice(worker, &done, spot, after.as_ref().map(|after| &after.state))?;
            self.traffic.add(worker, &done.result, &done.devices);
            if let Some((conf, status)) = after.and_then(|after| after.cluster) {
                self.note_status(&conf, status)?;
            }
            self.check(worker, &done.result)?;
            if kept {
                return Ok(done);
            }
        }
        Err(Failed::measurement(format!(
            "{}: it left its state during each of {TRIES} slices; hint: shorter slices (--slice), or larger drives, whose rebuild lasts longer",
            self.ready[worker].stack
        ))
        .into())
    }

    /// Runs a slice, and runs it again if several places did not run it together. The bytes and the
    /// time of every try count against the limits, and the number of tries is recorded. The start
    /// that sufficed is kept for later slices.
    fn slice(
        &mut self,
        worker: usize,
        bound: SliceBound,
        spot: SlicePosition,
        observer: &mut dyn Observer,
    ) -> Result<SliceOutcome> {
        let (mut attempt, mut stopped) = (0, 0);
        loop {
            let (began, spent_s) = (Instant::now(), self.spent_s);
            let tried = self.despite_losses(|bench| {
                bench.prepare_worker(worker)?;
                bench.attempt(worker, bound, attempt, observer)
            })?;
            if attempt > 0 || stopped > 0 {
                self.traffic.interrupt();
            }
            let done = SliceOutcome { run_again: attempt, ..tried };
            if let Some(stop) = (self.stops)(began).filter(|_| done.result.errors == 0) {
                // No budget counts the stop itself.
                self.spent_s = spent_s + began.elapsed().saturating_sub(stop.counted).as_secs_f64();
                self.leave_out(worker, spot, stop)?;
                stopped += 1;
                ensure!(stopped < MOST_STOPS, self.never_left_alone(worker));
                continue;
            }
            let Some(together) = done.together.as_ref().filter(|_| done.result.errors == 0) else {
                return Ok(done);
            };
            attempt += 1;
            let last = attempt == together::tries(bound);
            if together.is_enough() || (last && together.is_explained()) {
                let least_ns = self.least_discard_ns();
                self.starts.entry(worker).or_default().learn(least_ns, done.run_again);
                return Ok(done);
            }
            if last {
                return Err(together.gave_up().into());
            }
            if attempt > 1 {
                let what = format!("{}: {}", self.ready[worker].stack, together.why_again(attempt));
                observer.notify(RunEvent::Phase { what });
            }
        }
    }

    /// Records a warning in place of a slice during which iotax itself was stopped.
    pub(super) fn leave_out(
        &mut self,
        worker: usize,
        spot: SlicePosition,
        stop: ProcessStop,
    ) -> Result<()> {
        let (stack, visit) = (self.ready[worker].stack.clone(), self.visit);
        let text = format!(
            "iotax itself was stopped for {} (a signal, a suspend, a paused machine) while it measured {stack}: slice {} of round {} \
             of visit {visit} under {} is left out, and was measured again",
            show_ns(stop.whole.as_nanos() as f64),
            spot.position,
            spot.round,
            self.workload.name
        );
        let warning = Warning { kind: STOPPED.into(), subject: stack, text };
        Ok(self.store.append(&RunRecord::Warning(warning))?)
    }

    pub(super) fn never_left_alone(&self, worker: usize) -> Failed {
        Failed::measurement(format!(
            "{}: iotax itself was stopped during each of {MOST_STOPS} tries of one slice; hint: shorter slices (--slice), or a machine \
             that is not paused that often",
            self.ready[worker].stack
        ))
    }

    fn attempt(
        &mut self,
        worker: usize,
        bound: SliceBound,
        attempt: u32,
        observer: &mut dyn Observer,
    ) -> Result<SliceOutcome> {
        let began = Instant::now();
        let writes = self.workload.writes() && !self.is_uninterrupted;
        let gate = if writes { self.gate(worker)? } else { None };
        let below_before = self.read_below(worker)?;
        let others_before = self.others(worker)?;
        let serving_before = self.serving_times(worker)?;
        let ran = self.run(worker, bound, writes, attempt, observer);
        let PlaceSlices { ran, host_cpu, together, devices } = ran.map_err(|error| {
            let loaded: Vec<Place> =
                self.members(worker).map(|member| member.place.clone()).collect();
            suspend::add_qemu_reason(self.places, &loaded.iter().collect::<Vec<_>>(), error)
        })?;
        let below = self.read_below(worker)?.into_iter().filter_map(|(place, to)| {
            // A place may have been lost during the slice.
            let from = below_before.iter().find(|(known, _)| *known == place)?.1.clone();
            Some((place, [from, to]))
        });
        let devices: PlaceReadings = self.readings_of_load(worker, devices).chain(below).collect();
        let serving = self.serving_times(worker)?;
        let other_cpu =
            others_before.zip(self.others(worker)?).map(|(from, to)| to.elapsed_since(from));
        let Ran { result, cpu, exchange, .. } = ran;
        let lasted_ns = result.window_ns + result.discarded_ns + result.drain_ns;
        let engine_ns = served_ns(&serving_before, &serving, lasted_ns, ServedBy::Engine);
        *self.allowance = self.allowance.map(|left| left.saturating_sub(result.write.bytes));
        // The windows of a simulated worker take no real time.
        let window_s = (result.window_ns + result.discarded_ns) as f64 / 1e9;
        self.spent_s += began.elapsed().as_secs_f64().max(window_s);
        Ok(SliceOutcome {
            result,
            exchange,
            together,
            cpu,
            host_cpu,
            other_cpu,
            engine_ns,
            threads_ns: None,
            devices,
            gate,
            run_again: 0,
            short_slices: 0,
        })
    }

    /// Returns the CPU times of the places that work for a stack and have no load. `None`: there is
    /// no such place, or one does not report them.
    fn others(&mut self, worker: usize) -> Result<Option<CpuTimes>> {
        let mut all: Option<CpuTimes> = None;
        for place in &self.ready[worker].others {
            let Some(times) = cpu_times(self.places.get(place)?)? else { return Ok(None) };
            all = Some(all.map_or(times, |sum| sum.sum_times(times)));
        }
        Ok(all)
    }

    fn least_discard_ns(&self) -> u64 {
        let paced = self.jobs(1).iter().any(|job| job.rate_iops.is_some());
        if paced { LEAST_DISCARD_AT_A_RATE_NS } else { LEAST_DISCARD_NS }
    }

    /// Asks one place for the slice, or has several begin it at the same time.
    fn run(
        &mut self,
        worker: usize,
        bound: SliceBound,
        flush: bool,
        attempt: u32,
        observer: &mut dyn Observer,
    ) -> Result<PlaceSlices> {
        let ready = &self.ready[worker];
        // A guest's CPU time is part of its host's, and QEMU's work for the guest is counted
        // nowhere else.
        let on_host = ready.members.iter().any(|member| member.place.is_guest())
            && !ready.is_in(&Place::Host)
            && self.places.is_reached(&Place::Host);
        let start = self.starts.get(&worker).copied().unwrap_or_default();
        let discard_ns = start.tried_ns(self.least_discard_ns(), attempt).max(2 * start.drain_ns);
        let spec = SliceSpec::starting_now(bound, discard_ns, flush);
        let mut overdue = overdue(&ready.stack, &spec, observer);
        if let [member] = ready.members.as_slice() {
            let host = |places: &mut Places| {
                if on_host { cpu_times(places.get(&Place::Host)?) } else { Ok(None) }
            };
            let before = host(self.places)?;
            let peer = &mut self.places.get(&member.place)?.peer;
            let ran = peer.slice_watched(worker as u32, &spec, slice_limit(&spec), &mut overdue);
            let ran = ran.map_err(Failed::from)?;
            let host_cpu = before.zip(host(self.places)?).map(|(from, to)| to.elapsed_since(from));
            let devices = vec![ran.devices.clone()];
            return Ok(PlaceSlices { ran, host_cpu, together: None, devices });
        }
        let members: Vec<LoadedMember> = self.members(worker).cloned().collect();
        let mut in_vain = 0;
        let of_times = self
            .workload
            .probe
            .as_ref()
            .is_some_and(|probe| matches!(probe.unit(), Ok(ProbeUnit::Time(_))));
        let asked = CommonSlice { worker: worker as u32, spec, attempt, on_host, of_times };
        let slices =
            together::run_common_slice(self.places, &members, &asked, &mut in_vain, &mut overdue);
        *self.allowance = self.allowance.map(|left| left.saturating_sub(in_vain));
        let slices = slices?;
        // Each place takes twice its own drain for a start; all must take the same.
        self.starts.entry(worker).or_default().drain_ns = slices.ran.result.drain_ns;
        Ok(slices)
    }

    /// Waits until everything that the last write slice left is on the disk: in the place of the
    /// load, and on this host below it. Returns the worst of these waits; `None` if no place
    /// reports what it has yet to write.
    fn gate(&mut self, worker: usize) -> Result<Option<QuiesceGate>> {
        let ready = &self.ready[worker];
        let mut worst: Option<QuiesceGate> = None;
        let of = |member: &LoadedMember| {
            (
                member.place.clone(),
                member.targets.iter().map(|target| target.path.clone()).collect(),
            )
        };
        let mut asked: Vec<(Place, Vec<PathBuf>)> = self.members(worker).map(of).collect();
        if !ready.is_in(&Place::Host) && self.places.is_reached(&Place::Host) {
            asked.push((Place::Host, ready.owed.clone()));
        }
        for (place, paths) in asked {
            let request = WireRequest::Gate { paths, limit_ns: GATE_LIMIT.as_nanos() as u64 };
            let place = self.places.get(&place)?;
            if !place.reports_dirty_data {
                continue;
            }
            match place.send_request(request, GATE_LIMIT + SLICE_GRACE)? {
                Response::Gate(gate) => {
                    worst = Some(worst.unwrap_or(QuiesceGate::NOTHING_OWED).combine_gates(gate))
                }
                other => return Err(Failed::from(place.peer.unexpected("gate", &other)).into()),
            }
        }
        Ok(worst)
    }

    /// Refuses a result with failed I/Os, unless the load says that it goes on without them.
    pub(super) fn check(&mut self, worker: usize, result: &SliceResult) -> Result<()> {
        if result.errors == 0 {
            return Ok(());
        }
        let stack = self.ready[worker].stack.clone();
        let first = result.first_error.clone().unwrap_or_else(|| "no words".into());
        let goes_on = self.workload.jobs.iter().all(|job| job.continue_on_error);
        if goes_on && !self.failing.insert(worker) {
            return Ok(());
        }
        let words = if goes_on { "; the run goes on (continue_on_error)" } else { "" };
        let text = format!(
            "{} I/Os failed or came back short on {stack}; the first: {first}{words}",
            result.errors
        );
        self.store.append(&RunRecord::Warning(Warning {
            kind: IO_ERRORS.into(),
            subject: stack,
            text: text.clone(),
        }))?;
        ensure!(goes_on, Failed::measurement(text));
        Ok(())
    }
}

/// Returns a callback that reports, once, that a slice is overdue.
fn overdue<'a>(
    stack: &'a str,
    spec: &SliceSpec,
    observer: &'a mut dyn Observer,
) -> impl FnMut(Duration) + 'a {
    let length = match spec.bound {
        SliceBound::Time { ns } => Duration::from_nanos(spec.min_discard_ns.saturating_add(ns)),
        SliceBound::Bytes { .. } => Duration::ZERO,
    };
    overdue_after(stack, length, slice_limit(spec), observer)
}

/// Returns a callback that reports, once, a slice or a series that takes longer than `length` by
/// more than [`OVERDUE`].
pub(super) fn overdue_after<'a>(
    what: &'a str,
    length: Duration,
    limit: Duration,
    observer: &'a mut dyn Observer,
) -> impl FnMut(Duration) + 'a {
    let (limit, mut is_reported) = (limit.as_secs(), false);
    move |under_way| {
        if !is_reported && under_way > length + OVERDUE {
            is_reported = true;
            let so_far = under_way.as_secs();
            let text = format!(
                "{what}: a slice has not ended after {so_far} s: it hangs or is very slow; iotax ends the run after \
                 {limit} s"
            );
            observer.notify(RunEvent::Warning { text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_is_overdue_is_reported_once() {
        struct Told(Vec<RunEvent>);
        impl Observer for Told {
            fn notify(&mut self, event: RunEvent) {
                self.0.push(event);
            }
        }
        let mut told = Told(Vec::new());
        let spec =
            SliceSpec::starting_now(SliceBound::Time { ns: 1_000_000_000 }, 4_000_000_000, false);
        let mut second = overdue("ceph | rados", &spec, &mut told);
        (1..=30).for_each(|seconds| second(Duration::from_secs(seconds)));
        drop(second);
        let [RunEvent::Warning { text }] = told.0.as_slice() else { panic!("{:?}", told.0) };
        assert!(text.starts_with("ceph | rados: a slice has not ended after 26 s"), "{text}");
        assert!(text.ends_with("after 125 s"), "{text}");
    }

    #[test]
    fn a_start_doubles_with_every_try_and_is_kept() {
        let mut start = CommonStart::default();
        assert_eq!((start.tried_ns(5, 0), start.tried_ns(5, 3)), (5, 40));
        start.learn(5, 3);
        assert_eq!((start.tried_ns(5, 0), start.tried_ns(5, 1)), (40, 80));
        assert_eq!(
            (start.tried_ns(25, 0), start.tried_ns(50, 1)),
            (40, 100),
            "at a rate the least is another"
        );
    }

    #[test]
    fn a_learned_start_is_bounded_and_becomes_shorter_while_slices_are_in_time() {
        let mut start = CommonStart::default();
        for _ in 0..100 {
            start.learn(LEAST_DISCARD_NS, 8);
        }
        assert_eq!(
            (start.learned_ns, start.tried_ns(LEAST_DISCARD_NS, 8)),
            (MOST_LEARNED_NS, MOST_LEARNED_NS)
        );
        for _ in 0..200 {
            start.learn(LEAST_DISCARD_NS, 0);
        }
        assert_eq!(start.tried_ns(LEAST_DISCARD_NS, 0), LEAST_DISCARD_NS);
        let longer =
            SliceSpec::starting_now(SliceBound::Time { ns: 1_000_000_000 }, MOST_LEARNED_NS, false);
        assert_eq!(slice_limit(&longer), Duration::from_secs(2) + SLICE_GRACE);
    }
}
