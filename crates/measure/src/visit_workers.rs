//! Runs the stacks of a set under one workload, a slice at a time. Workers are prepared in their
//! places. Each slice runs with the CPU times of that slice, and is on disk before the next one
//! begins. `rounds` decides the order of slices.

use super::clusters::WatchedCluster;
use super::observer::{Observer, RunEvent};
use super::places::{Places, runs_apart};
use super::serving::{ServedApart, ServedBy, served_ns};
use super::states::{StateKeeper, TRIES};
use super::together::{CommonSlice, CommonSliceParts, PlaceSlices, cpu_times};
use super::traffic::{PlaceReadings, Traffic};
use super::turns::ClockTurns;
use super::under_load::{FarEnd, LoadedMember, PREPARE_LIMIT, StackUnderLoad};
use super::{matched_rate, network_peer, suspend, together};
use anyhow::{Result, ensure};
use iotax_engines::kinds as engine;
use iotax_facts::array::ArrayState;
use iotax_facts::place::Place;
use iotax_load::{Histogram, Job, SliceBound, SliceResult, SliceSpec, Transient};
use iotax_model::record::{
    Better, ClockReading, Clocks, CpuTimes, IO_ERRORS, Purpose, QuiesceGate, RunRecord, STOPPED,
    SampleValue, Slice, SliceSample, Warning, WorkerUp,
};
use iotax_model::scenario::{Engine, Workload};
use iotax_probe::{Exchange, ProbeSpec, ProbeUnit};
use iotax_stats::rounds::RoundPart;
use iotax_store::Writer;
use iotax_units::exit::Failed;
use iotax_units::show_ns;
use iotax_wire::message::{Ran, Response, SLICE_GRACE, WireRequest, slice_limit};
use iotax_wire::stops::ProcessStop;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Least discarded time at the start of a slice. The worker takes twice its time to drain if that
/// is more.
const LEAST_DISCARD_NS: u64 = 5_000_000;
/// Least discarded time of a slice by time at a rate (a slice by bytes discards nothing). Its
/// schedule does not wait for a place that wakes late. What was due meanwhile is in its latencies
/// until the queue is as short as it stays (docs/decisions/three-figures.md).
const LEAST_DISCARD_AT_A_RATE_NS: u64 = 25_000_000;
/// Limit after which the quiesce gate gives up. Every write slice ends with a flush, so data that
/// is dirty for longer is somebody else's, and waiting for it would eat the budget.
const GATE_LIMIT: Duration = Duration::from_secs(1);
/// Most stops of iotax during one slice. If so many tries were stopped, the next one will be, too.
pub(super) const MOST_STOPS: u32 = 20;
/// Upper limit of a learned start: a guest never waits half of this for a processor.
const MOST_LEARNED_NS: u64 = 1_000_000_000;
/// A learned start shrinks by one part in this many with each slice that was on time at the first
/// try. If a start is just too short, 4 in 100 slices are then repeated.
const UNLEARNED_PART: u64 = 32;
/// A slice that exceeds its length by more than this is reported.
const OVERDUE: Duration = Duration::from_secs(20);

pub struct Bench<'a> {
    pub visit: u32,
    pub set: u32,
    /// The stacks that are up; workers are numbered like them.
    pub ready: &'a [StackUnderLoad],
    pub workload: &'a Workload,
    /// Bytes that all stacks together may still write, so that no drive is written more. `None`: no
    /// limit.
    pub allowance: &'a mut Option<u64>,
    pub places: &'a mut Places,
    pub store: &'a mut Writer,
    /// Seconds of all slices so far, including the discarded start, the drain and the wait before
    /// each.
    pub spent_s: f64,
    pub starts: BTreeMap<usize, CommonStart>,
    pub clocks: BTreeMap<Place, ClockReading>,
    pub prepared: BTreeSet<usize>,
    pub offered: OfferedLoad,
    pub keeper: Option<StateKeeper<'a>>,
    pub clusters: Vec<WatchedCluster>,
    /// Workers whose I/Os have failed in this visit and have been reported: the run goes on with
    /// them.
    pub failing: BTreeSet<usize>,
    /// Bytes counted by the devices below the load, next to the I/O issued.
    pub traffic: Traffic,
    /// Course of each worker's rate at the beginning of short slices.
    pub transients: BTreeMap<usize, Transient>,
    pub turns: ClockTurns,
    /// Number of times that workers were placed again.
    pub placed: u64,
    /// Workers of this offer, as recorded.
    pub recorded: Vec<WorkerUp>,
    /// Returns the time that iotax itself was stopped since an instant.
    pub stops: &'a dyn Fn(Instant) -> Option<ProcessStop>,
}

#[derive(Clone, Debug)]
pub enum OfferedLoad {
    Jobs(Vec<Job>),
    /// The workload's jobs at this number of I/Os per second, all members together.
    Rate(f64),
    OneAtATime,
}

/// Common start of the places of one worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommonStart {
    /// Time that the slowest place last took to empty its queue.
    drain_ns: u64,
    /// The discarded start with which all places were in time, if the least start was too short.
    learned_ns: u64,
}

impl CommonStart {
    /// Returns the least start of a try. A place that is late by a part of it still counts as in
    /// time, so the start is longer where places wait for processors.
    fn tried_ns(&self, least_ns: u64, attempt: u32) -> u64 {
        let longer_ns = self.learned_ns.max(least_ns).saturating_mul(1 << attempt);
        longer_ns.min(MOST_LEARNED_NS.max(least_ns))
    }

    /// Keeps the start of the try that was on time, slightly shortened if that was the first try.
    fn learn(&mut self, least_ns: u64, attempt: u32) {
        let sufficed_ns = self.tried_ns(least_ns, attempt);
        self.learned_ns =
            if attempt == 0 { sufficed_ns - sufficed_ns / UNLEARNED_PART } else { sufficed_ns };
    }
}

pub struct SliceOutcome {
    pub result: SliceResult,
    /// Exchange that a network probe saw at the same time.
    exchange: Option<Exchange>,
    together: Option<CommonSliceParts>,
    cpu: Option<CpuTimes>,
    host_cpu: Option<CpuTimes>,
    other_cpu: Option<CpuTimes>,
    /// CPU time of the threads that serve the stack's I/O.
    engine_ns: Option<f64>,
    /// CPU time of all threads that work for the stack, by their own clocks: the generator's, the
    /// kernel's and those of programs.
    threads_ns: Option<f64>,
    /// Readings of the devices below the load, before and after the slice.
    pub(super) devices: PlaceReadings,
    gate: Option<QuiesceGate>,
    run_again: u32,
    short_slices: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct SlicePosition {
    pub round: u32,
    pub position: usize,
    pub purpose: Purpose,
}

impl SliceOutcome {
    /// Merges all slices of a stack in a series into one, with the CPU time of its engine and its
    /// guest.
    pub(super) fn of_series(
        result: SliceResult,
        cpu: Option<CpuTimes>,
        computed: ServedApart,
        short_slices: u32,
    ) -> SliceOutcome {
        let kernel_ns = cpu.and_then(|cpu| cpu.kernel_threads_ns);
        let threads_ns = kernel_ns.zip(computed.programs_ns).map(|(kernel_ns, programs_ns)| {
            (kernel_ns + result.cpu_user_ns + result.cpu_system_ns) as f64 + programs_ns
        });
        SliceOutcome {
            result,
            exchange: None,
            together: None,
            cpu,
            // The kernel reports no kinds of a thread's time that are as exact as their sum.
            host_cpu: computed
                .guest_ns
                .map(|ns| CpuTimes { user_ns: ns as u64, ..CpuTimes::default() }),
            other_cpu: None,
            engine_ns: computed.engine_ns,
            threads_ns,
            devices: PlaceReadings::default(),
            gate: None,
            run_again: 0,
            short_slices,
        }
    }

    /// Returns the slice's part in a comparison of throughput: I/Os, or bytes where slices end on
    /// equal bytes.
    pub fn part(&self, stack: usize, by_bytes: bool) -> RoundPart {
        let all = self.result.directions();
        let amount: u64 = all.iter().map(|one| if by_bytes { one.bytes } else { one.ios }).sum();
        RoundPart { stack, amount: amount as f64, seconds: self.result.window_ns as f64 / 1e9 }
    }

    /// Returns the bytes read, the bytes written, and the seconds of the window.
    pub fn by_direction(&self) -> [f64; 3] {
        let SliceResult { read, write, window_ns, .. } = &self.result;
        [read.bytes as f64, write.bytes as f64, *window_ns as f64 / 1e9]
    }

    /// Returns the slice's part in a comparison of mean latencies: I/Os, and the sum of their
    /// latencies in seconds.
    pub fn latency_part(&self, stack: usize) -> RoundPart {
        let sum =
            |latency: &Histogram| latency.mean().map_or(0.0, |mean| mean * latency.count() as f64);
        let latencies = self.result.directions().map(|one| &one.latency);
        let (count, ns): (u64, f64) = (
            latencies.iter().map(|latency| latency.count()).sum(),
            latencies.iter().map(|latency| sum(latency)).sum(),
        );
        RoundPart { stack, amount: count as f64, seconds: ns / 1e9 }
    }

    /// Returns the seconds of the flush after the slice; 0 if there was none.
    pub fn flush_s(&self) -> f64 {
        self.result.flush_ns.unwrap_or(0) as f64 / 1e9
    }

    pub fn rate(&self) -> f64 {
        let part = self.part(0, false);
        part.amount / part.seconds.max(f64::MIN_POSITIVE)
    }
}

impl Bench<'_> {
    /// Makes a worker for every stack and records it.
    ///
    /// # Errors
    /// When one cannot be made, a peer is lost, or a clock ran too far apart since the last
    /// comparison.
    pub fn prepare(&mut self, offered: OfferedLoad) -> Result<()> {
        self.offered = offered;
        self.recorded.clear();
        self.despite_losses(|bench| {
            bench.compare_clocks()?;
            (0..bench.ready.len()).try_for_each(|worker| bench.prepare_worker(worker))
        })
    }

    /// Returns the jobs of each member of a stack that has `members` members.
    pub(super) fn jobs(&self, members: usize) -> Vec<Job> {
        match &self.offered {
            OfferedLoad::Jobs(jobs) => jobs.clone(),
            OfferedLoad::Rate(rate) => {
                matched_rate::jobs(self.workload, rate / members.max(1) as f64)
            }
            OfferedLoad::OneAtATime => {
                let one = |job: &Job| Job { iodepth: 1, numjobs: 1, ..job.clone() };
                self.workload.jobs.iter().map(one).collect()
            }
        }
    }

    /// Gives the jobs offsets of their own. A worker that came after another to the same blocks
    /// would find them in the caches below.
    fn own_jobs(&self, worker: usize, jobs: Vec<Job>) -> Vec<Job> {
        let number = (u64::from(self.visit) << 40) + ((worker as u64) << 32) + self.placed;
        let own = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        jobs.into_iter()
            .map(|job| Job { randseed: job.randseed.wrapping_add(own), ..job })
            .collect()
    }

    /// Prepares a worker, unless it is prepared already.
    pub(super) fn prepare_worker(&mut self, worker: usize) -> Result<()> {
        if self.prepared.contains(&worker) {
            return Ok(());
        }
        let ready = &self.ready[worker];
        let (number, engine) = (worker as u32, self.engine_of(ready));
        let probes = self.probes(worker)?;
        let members: Vec<LoadedMember> = self.members(worker).cloned().collect();
        let all: Vec<&Place> = members.iter().map(|member| &member.place).collect();
        let jobs = |member: &LoadedMember| {
            self.own_jobs(worker, self.jobs(member.targets.len() * all.len()))
        };
        let share = members.iter().map(jobs);
        let share: Vec<Vec<Job>> = share.collect();
        // Places are asked in parallel: opening files and allocating takes time.
        let prepared: Vec<_> = std::thread::scope(|scope| {
            let reached = self.places.several(&all)?.into_iter().zip(&members).zip(share);
            let asked: Vec<_> = reached
                .map(|((place, member), jobs)| {
                    let probes = &probes;
                    scope.spawn(move || match probes.as_slice() {
                        [] => place.peer.prepare(
                            number,
                            &member.targets,
                            &jobs,
                            engine,
                            PREPARE_LIMIT,
                        ),
                        [others @ .., last] => {
                            network_peer::prepare(&mut place.peer, number, (others, last))
                        }
                    })
                })
                .collect();
            anyhow::Ok(asked.into_iter().map(together::joined).collect())
        })?;
        let prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>().map_err(Failed::from)?;
        for (member, prepared) in members.iter().zip(prepared) {
            let targets = &member.targets;
            let up = WorkerUp {
                visit: self.visit,
                stack: ready.stack.clone(),
                workload: self.workload.name.clone(),
                place: member.place.clone(),
                target: match self.workload.needs_peer() {
                    true => FarEnd::of_ready(ready).place.to_string(),
                    false => member.path(0),
                },
                others: (1..targets.len()).map(|at| member.path(at)).collect(),
                bytes: targets.first().and_then(|target| target.bytes).unwrap_or(0),
                engine: prepared.engine.into(),
                why: prepared.why,
                command: prepared.command,
            };
            // A worker that is placed again is like the one before.
            if !self.recorded.contains(&up) {
                self.store.append(&RunRecord::Worker(up.clone()))?;
                self.recorded.push(up);
            }
        }
        self.prepared.insert(worker);
        Ok(())
    }

    /// Returns the probe of a worker, once for each address at which the other end may be reached.
    /// The result is empty if the worker is a load.
    fn probes(&mut self, worker: usize) -> Result<Vec<ProbeSpec>> {
        let Some(probe) = &self.workload.probe else { return Ok(Vec::new()) };
        match self.workload.needs_peer() {
            true => network_peer::listening(self.places, &self.ready[worker], worker as u32, probe),
            false => Ok(vec![probe.clone()]),
        }
    }

    /// Iterates over the places of a worker, without those that are lost.
    pub(super) fn members(&self, worker: usize) -> impl Iterator<Item = &LoadedMember> {
        self.ready[worker].members.iter().filter(|member| !self.places.is_lost(&member.place))
    }

    /// Ends all workers, after their clocks and traffic are recorded.
    ///
    /// # Errors
    /// When a peer is lost, or a clock ran too far apart meanwhile.
    pub fn end(&mut self) -> Result<()> {
        let mut wrong = None;
        self.despite_losses(|bench| bench.record_clocks(&mut wrong))?;
        // All clocks are recorded first: the record then shows that the visit's slices do not
        // count.
        if let Some(failed) = wrong {
            return Err(failed.into());
        }
        self.record_traffic()?;
        self.record_transients()?;
        self.despite_losses(Bench::end_workers)
    }

    /// Returns true if new workers can go on where others ended, because they draw each block
    /// independently from the whole region.
    fn can_place_anew(&self) -> bool {
        let by_itself =
            |job: &Job| job.rw.random() && !job.random_map && job.random_distribution.is_random();
        self.workload.jobs.iter().all(by_itself)
    }

    /// Replaces the workers, so that the placement of threads and memory is drawn again for the
    /// next slices.
    ///
    /// # Errors
    /// When a peer is lost.
    pub(super) fn place_anew(&mut self) -> Result<()> {
        if self.can_place_anew() {
            self.placed += 1;
            self.despite_losses(Bench::end_workers)?;
        }
        Ok(())
    }

    fn end_workers(&mut self) -> Result<()> {
        while let Some(worker) = self.prepared.first().copied() {
            let places: Vec<Place> =
                self.members(worker).map(|member| member.place.clone()).collect();
            for place in places {
                self.places.get(&place)?.peer.end(worker as u32).map_err(Failed::from)?;
            }
            if self.workload.needs_peer() {
                let end = FarEnd::of_ready(&self.ready[worker]).place;
                self.places.get(&end)?.peer.unlisten(worker as u32).map_err(Failed::from)?;
            }
            self.prepared.remove(&worker);
        }
        Ok(())
    }

    /// Compares the clocks of all loaded places. Clocks run apart; two comparisons with no stop of
    /// a guest in between show how fast.
    ///
    /// # Errors
    /// When a peer is lost, or a clock ran too far apart.
    pub fn compare_clocks(&mut self) -> Result<()> {
        for place in self.loaded() {
            let reading = self.places.get(&place)?.compare_clock(&place)?;
            self.clocks.insert(place, reading);
        }
        Ok(())
    }

    /// Compares the clocks again, and records both readings.
    fn record_clocks(&mut self, wrong: &mut Option<Failed>) -> Result<()> {
        let (visit, set) = (self.visit, self.set);
        while let Some((place, from)) = self.clocks.pop_first() {
            if self.places.is_lost(&place) {
                continue;
            }
            let (to, apart) = self.places.get(&place)?.read_clock()?;
            *wrong = wrong.take().or(apart.map(|apart| runs_apart(&place, apart)));
            if !place.is_host() {
                let workload = Some(self.workload.name.clone());
                self.store.append(&RunRecord::Clocks(Clocks {
                    visit,
                    set,
                    workload,
                    place,
                    from,
                    to,
                }))?;
            }
        }
        Ok(())
    }

    /// Returns all places of the stacks that are up, without those that are lost.
    pub(super) fn loaded(&self) -> BTreeSet<Place> {
        let members = (0..self.ready.len()).flat_map(|worker| self.members(worker));
        members.map(|member| member.place.clone()).collect()
    }

    pub(super) fn engine_of(&self, ready: &StackUnderLoad) -> Option<Engine> {
        ready.engine.or(self.workload.engine)
    }

    /// Returns the shortest slice that all engines and the probe can run.
    pub fn shortest_slice_ns(&self) -> u64 {
        let shortest =
            |ready: &StackUnderLoad| engine::kind_of(self.engine_of(ready)).shortest_slice_ns;
        let of_probe = self.workload.probe.as_ref().and_then(|probe| probe.definition().ok());
        let of_probe = of_probe.map_or(0, |found| found.shortest_slice_ns);
        self.ready.iter().map(shortest).max().unwrap_or(0).max(of_probe)
    }

    /// Returns the sum of one block of every thread, on every target of the stack that has most of
    /// them.
    pub fn unit(&self) -> u64 {
        let members =
            self.ready.iter().map(|ready| ready.targets().count() as u64).max().unwrap_or(1);
        members * self.workload.jobs.iter().map(|job| job.bs * u64::from(job.numjobs)).sum::<u64>()
    }

    /// Returns true if `slices` slices would write more than the user allows. Slices that write are
    /// bounded in bytes.
    pub fn would_exceed(&self, bound: SliceBound, slices: u64) -> bool {
        let bytes = match bound {
            SliceBound::Bytes { bytes } if self.workload.writes() => bytes.saturating_mul(slices),
            _ => 0,
        };
        self.allowance.is_some_and(|left| bytes > left)
    }

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
        self.store.present()?;
        for _ in 0..TRIES {
            let rebuilt = self.keeper.as_mut().map_or(Ok(0), |keeper| keeper.before(stack))?;
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

    /// Runs a slice, and runs it again if several places did not run it together. Every try is a
    /// slice in full: its bytes and its time count, its CPU time is not part of the next, and the
    /// number of tries is recorded. The start that sufficed is kept for later slices.
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

    /// Leaves a slice out of the record because a stop of iotax overlaps it, and reports it.
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
        let writes = self.workload.writes();
        let gate = if writes { self.gate(worker)? } else { None };
        let below_before = self.read_below(worker)?;
        let others_before = self.others(worker)?;
        let serving_before = self.serving(worker)?;
        let ran = self.run(worker, bound, writes, attempt, observer);
        let PlaceSlices { ran, host_cpu, together, devices } = ran.map_err(|error| {
            let loaded: Vec<Place> =
                self.members(worker).map(|member| member.place.clone()).collect();
            suspend::blame(self.places, &loaded.iter().collect::<Vec<_>>(), error)
        })?;
        let below = self.read_below(worker)?.into_iter().filter_map(|(place, to)| {
            // A place may have been lost during the slice.
            let from = below_before.iter().find(|(known, _)| *known == place)?.1.clone();
            Some((place, [from, to]))
        });
        let devices: PlaceReadings = self.readings_of_load(worker, devices).chain(below).collect();
        let serving = self.serving(worker)?;
        let other_cpu = others_before.zip(self.others(worker)?).map(|(from, to)| to.since(from));
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
            all = Some(all.map_or(times, |sum| sum.plus(times)));
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
            && self.places.has(&Place::Host);
        let start = self.starts.get(&worker).copied().unwrap_or_default();
        let discard_ns = start.tried_ns(self.least_discard_ns(), attempt).max(2 * start.drain_ns);
        let spec = SliceSpec::now(bound, discard_ns, flush);
        let mut overdue = overdue(&ready.stack, &spec, observer);
        if let [member] = ready.members.as_slice() {
            let host = |places: &mut Places| {
                if on_host { cpu_times(places.get(&Place::Host)?) } else { Ok(None) }
            };
            let before = host(self.places)?;
            let peer = &mut self.places.get(&member.place)?.peer;
            let ran = peer.slice_watched(worker as u32, &spec, slice_limit(&spec), &mut overdue);
            let ran = ran.map_err(Failed::from)?;
            let host_cpu = before.zip(host(self.places)?).map(|(from, to)| to.since(from));
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
        let slices = together::slice(self.places, &members, &asked, &mut in_vain, &mut overdue);
        *self.allowance = self.allowance.map(|left| left.saturating_sub(in_vain));
        let slices = slices?;
        // Each place takes twice its own drain for a start; all must take the same.
        self.starts.entry(worker).or_default().drain_ns = slices.ran.result.drain_ns;
        Ok(slices)
    }

    /// Waits until everything that the last write slice left is on the disk: in the place of the
    /// load, and on this host below it. `None`: no place reports what it has yet to write.
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
        if !ready.is_in(&Place::Host) && self.places.has(&Place::Host) {
            asked.push((Place::Host, ready.owed.clone()));
        }
        for (place, paths) in asked {
            let request = WireRequest::Gate { paths, limit_ns: GATE_LIMIT.as_nanos() as u64 };
            let place = self.places.get(&place)?;
            if !place.reports_dirty_data {
                continue;
            }
            match place.ask(request, GATE_LIMIT + SLICE_GRACE)? {
                Response::Gate(gate) => {
                    worst = Some(worst.unwrap_or(QuiesceGate::NOTHING_OWED).and(gate))
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

    pub(super) fn store_slice(
        &mut self,
        worker: usize,
        done: &SliceOutcome,
        spot: SlicePosition,
        state: Option<&ArrayState>,
    ) -> Result<()> {
        let ready = self.ready[worker].clone();
        // Windows of several places are in the host's time already.
        let clock_offset_ns = match ready.members.as_slice() {
            [member] => self.places.get(&member.place)?.clock_offset_ns,
            _ => 0,
        };
        let mut samples = self.samples(&done.result)?;
        let engine = done
            .engine_ns
            .map(|ns| SliceSample::new("engine.cpu", "ns", Better::Lower, SampleValue::Value(ns)));
        samples.extend(engine);
        let threads = done
            .threads_ns
            .map(|ns| SliceSample::new("threads.cpu", "ns", Better::Lower, SampleValue::Value(ns)));
        samples.extend(threads);
        samples.extend(done.exchange.iter().flat_map(network_peer::samples));
        let mut parts =
            done.together.as_ref().map(|together| together.parts.clone()).unwrap_or_default();
        let latencies = done.together.iter().flat_map(|together| &together.latencies);
        for (part, latency) in parts.iter_mut().zip(latencies) {
            part.latency = Some(self.store.histogram(latency)?);
        }
        let result = &done.result;
        let slice = Slice {
            visit: self.visit,
            set: self.set,
            round: spot.round,
            slice: spot.position as u32,
            purpose: spot.purpose,
            stack: ready.stack,
            workload: self.workload.name.clone(),
            short_slices: done.short_slices,
            start_ns: result.window_start_ns.saturating_add_signed(-clock_offset_ns),
            clock_offset_ns,
            window_ns: result.window_ns,
            discarded_ns: result.discarded_ns,
            discarded_ios: result.discarded_ios,
            drain_ns: result.drain_ns,
            errors: result.errors,
            samples,
            cpu: done.cpu,
            host_cpu: done.host_cpu,
            other_cpu: done.other_cpu,
            state: state.map(ToString::to_string),
            rebuilt: state.and_then(ArrayState::rebuilt),
            device_read_bytes: None,
            gate: done.gate,
            targets: together::on_targets(&done.result),
            together: done.together.as_ref().map(|together| together.share),
            late: done.together.as_ref().and_then(CommonSliceParts::late),
            run_again: done.run_again,
            parts,
        };
        Ok(self.store.append(&RunRecord::Slice(slice))?)
    }

    fn samples(&mut self, result: &SliceResult) -> Result<Vec<SliceSample>> {
        let mut samples = Vec::new();
        for (name, direction) in
            [("read", &result.read), ("write", &result.write), ("trim", &result.trim)]
        {
            if direction.ios == 0 {
                continue;
            }
            samples.push(SliceSample::new(
                &format!("{name}.ios"),
                "1",
                Better::Higher,
                SampleValue::Value(direction.ios as f64),
            ));
            samples.push(SliceSample::new(
                &format!("{name}.bytes"),
                "B",
                Better::Higher,
                SampleValue::Value(direction.bytes as f64),
            ));
            let at = self.store.histogram(&direction.latency)?;
            samples.push(SliceSample::new(
                &format!("{name}.latency"),
                "ns",
                Better::Lower,
                SampleValue::Histogram(at),
            ));
        }
        if result.sync_latency.count() > 0 {
            let at = self.store.histogram(&result.sync_latency)?;
            samples.push(SliceSample::new(
                "sync.latency",
                "ns",
                Better::Lower,
                SampleValue::Histogram(at),
            ));
        }
        for (name, histogram) in
            [("reap_gap", &result.reap_gap), ("service.latency", &result.service)]
        {
            if histogram.count() > 0 {
                let at = self.store.histogram(histogram)?;
                samples.push(SliceSample::new(
                    name,
                    "ns",
                    Better::Lower,
                    SampleValue::Histogram(at),
                ));
            }
        }
        if result.in_flight_ns > 0 {
            // Both are sums over I/Os: one by the queue's own count, one by each I/O's time.
            let (in_flight, served) = (result.in_flight_ns as f64, result.served_ns as f64);
            samples.push(SliceSample::new(
                "in_flight",
                "ns",
                Better::Higher,
                SampleValue::Value(in_flight),
            ));
            samples.push(SliceSample::new(
                "served",
                "ns",
                Better::Lower,
                SampleValue::Value(served),
            ));
        }
        if let Some(flush_ns) = result.flush_ns {
            samples.push(SliceSample::new(
                "flush",
                "ns",
                Better::Lower,
                SampleValue::Value(flush_ns as f64),
            ));
        }
        samples.push(SliceSample::new(
            "cpu.user",
            "ns",
            Better::Lower,
            SampleValue::Value(result.cpu_user_ns as f64),
        ));
        samples.push(SliceSample::new(
            "cpu.system",
            "ns",
            Better::Lower,
            SampleValue::Value(result.cpu_system_ns as f64),
        ));
        Ok(samples)
    }
}

/// Returns a callback that reports an overdue slice, once.
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
        let spec = SliceSpec::now(SliceBound::Time { ns: 1_000_000_000 }, 4_000_000_000, false);
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
        let longer = SliceSpec::now(SliceBound::Time { ns: 1_000_000_000 }, MOST_LEARNED_NS, false);
        assert_eq!(slice_limit(&longer), Duration::from_secs(2) + SLICE_GRACE);
    }
}
