//! One workload on the stacks of one set: workers prepared, a slice of each to warm up, then random
//! rounds until the statistics say stop. Every slice is on disk before the next one begins.

use super::engine;
use super::observer::{Event, Live, LiveComparison, Observer};
use super::places::Places;
use super::wire::message::{Request, Response};
use super::wire::peer::{SLICE_GRACE, slice_limit};
use crate::exit::Failed;
use crate::scenario::{Engine, MeasureSpec, Workload};
use crate::stats::schedule::Schedule;
use crate::stats::stop::{self, Decision, StopSpec};
use crate::stats::{ratio, sequence};
use crate::store::Writer;
use crate::store::record::{
    Better, CpuTimes, Gate, IO_ERRORS, Purpose, Record, Sample, Slice, Value, Warning, WorkerUp,
};
use anyhow::{Result, ensure};
use iotax_load::{Bound, SliceResult, SliceSpec, TargetSpec};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Discarded at the start of a slice at least; the worker takes twice its time to drain if that is more.
const LEAST_DISCARD_NS: u64 = 5_000_000;
/// The quiesce gate gives up after so long. Every write slice ends with a flush, so what is dirty for
/// longer is somebody else's, and waiting for it would eat the budget.
const GATE_LIMIT: Duration = Duration::from_secs(1);
/// The first slice of writes, where they are limited, has no more bytes than this.
const FIRST_BYTES: u64 = 64 << 20;
/// Preparing opens files and allocates; fio lays out nothing since the files are full.
const PREPARE_LIMIT: Duration = Duration::from_secs(60);

/// A stack that is up, as the load sees it.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Index in the scenario.
    pub index: usize,
    /// Name of the stack.
    pub stack: String,
    /// Where the load runs.
    pub place: String,
    /// What it works on there; all members of an `each([..])` at once.
    pub targets: Vec<TargetSpec>,
    /// The load generator, where the stack names another than the workload's.
    pub engine: Option<Engine>,
    /// The paths that the quiesce gate watches on the host.
    pub owed: Vec<PathBuf>,
}

impl Ready {
    fn path(&self, member: usize) -> String {
        self.targets.get(member).map(|target| target.path.display().to_string()).unwrap_or_default()
    }
}

/// What has been measured of a workload so far; goes on over visits and resumes.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// For each round of paired slices, each stack's I/Os a second, by the scenario's index; `None`
    /// for a stack that was not in the round's set.
    pub rounds: Vec<Vec<Option<f64>>>,
    /// Number of the next round in the record; after a resume a half round may lie before it.
    pub next_round: u32,
    /// Time since rounds began, all visits together, set-up and warm-up apart.
    pub elapsed_s: f64,
    /// Bytes of a write slice, fixed by the first warm-up.
    pub slice_bytes: Option<u64>,
}

/// When a visit ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// When the comparisons are precise, or at the end of the budget.
    Precise(StopSpec),
    /// After so many rounds.
    Rounds(usize),
    /// After so much time.
    Time(f64),
}

/// Why a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As asked.
    Precision,
    /// A rate limit set in and hides the cost.
    RateLimited,
    /// The time is used up.
    Budget,
    /// The rounds or the time of this visit are over; the workload goes on in another.
    Visit,
    /// Another round would write more than `max_written`.
    MaxWritten,
    /// Ctrl-C.
    Interrupted,
}

/// Everything that a visit's measuring needs.
pub struct Visit<'a> {
    /// Number of the visit.
    pub number: u32,
    /// Number of the set.
    pub set: u32,
    /// The stacks that are up.
    pub ready: &'a [Ready],
    /// Index of the baseline in the scenario.
    pub baseline: usize,
    /// Number of stacks of the scenario.
    pub stacks: usize,
    /// The load.
    pub workload: &'a Workload,
    /// How finely.
    pub measure: &'a MeasureSpec,
    /// Bytes that may still be written, by all stacks together, so that no drive is written more; `None`: any.
    pub allowance: &'a mut Option<u64>,
    /// Where.
    pub places: &'a mut Places,
    /// The record.
    pub store: &'a mut Writer,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl Visit<'_> {
    /// Measures until `until` says so.
    ///
    /// # Errors
    /// When a worker cannot be prepared, a peer is lost, or an I/O fails.
    pub fn measure(
        &mut self,
        progress: &mut Progress,
        schedule: &mut Schedule,
        until: Until,
    ) -> Result<Ended> {
        self.prepare()?;
        let ended = match self.warm_up(progress)? {
            Some(ended) => ended,
            None => self.rounds(progress, schedule, until)?,
        };
        for worker in 0..self.ready.len() {
            let (place, number) = (self.ready[worker].place.clone(), worker as u32);
            self.places.get(&place)?.peer.end(number).map_err(Failed::from)?;
        }
        Ok(ended)
    }

    fn engine_of(&self, ready: &Ready) -> Option<Engine> {
        ready.engine.or(self.workload.engine)
    }

    /// The longest that one of the engines needs, or as was asked.
    fn slice_ns(&self) -> u64 {
        let shortest = |ready: &Ready| engine::kind_of(self.engine_of(ready)).shortest_slice_ns;
        self.ready.iter().map(shortest).fold(self.measure.slice_ns, u64::max)
    }

    fn prepare(&mut self) -> Result<()> {
        for worker in 0..self.ready.len() {
            let ready = self.ready[worker].clone();
            let (number, engine) = (worker as u32, self.engine_of(&ready));
            let place = self.places.get(&ready.place)?;
            let prepared = place
                .peer
                .prepare(number, &ready.targets, &self.workload.jobs, engine, PREPARE_LIMIT)
                .map_err(Failed::from)?;
            self.store.append(&Record::Worker(WorkerUp {
                visit: self.number,
                stack: ready.stack.clone(),
                workload: self.workload.name.clone(),
                place: ready.place.clone(),
                target: ready.path(0),
                others: (1..ready.targets.len()).map(|at| ready.path(at)).collect(),
                bytes: ready.targets.first().and_then(|target| target.bytes).unwrap_or(0),
                engine: prepared.engine,
                why: prepared.why,
                command: prepared.command,
            }))?;
        }
        Ok(())
    }

    /// One slice of each stack that is not recorded: caches of addresses, the first drain, and for
    /// writes the bytes that every slice will have.
    fn warm_up(&mut self, progress: &mut Progress) -> Result<Option<Ended>> {
        for worker in self.warm_up_order() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Some(Ended::Interrupted));
            }
            let bound = self.warm_up_bound(progress);
            if self.would_exceed(bound, 1) {
                return Ok(Some(Ended::MaxWritten));
            }
            let (result, _, _) = self.slice(worker, bound)?;
            self.check(worker, &result)?;
            if self.workload.writes() && progress.slice_bytes.is_none() {
                progress.slice_bytes = Some(slice_bytes(&result, self.unit(), self.slice_ns()));
            }
        }
        Ok(None)
    }

    /// The baseline first, which fixes the bytes of a write slice; where it is not up, another does.
    fn warm_up_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ready.len()).collect();
        order.sort_by_key(|worker| self.ready[*worker].index != self.baseline);
        order
    }

    /// A block of every thread, on every member of the stack that has most of them.
    fn unit(&self) -> u64 {
        let members = self.ready.iter().map(|ready| ready.targets.len() as u64).max().unwrap_or(1);
        members * self.workload.jobs.iter().map(|job| job.bs * u64::from(job.numjobs)).sum::<u64>()
    }

    /// How much is written in a slice's time is not known yet: where it is limited, the first slice is a small part
    /// of what may be.
    fn warm_up_bound(&self, progress: &Progress) -> Bound {
        match (progress.slice_bytes, *self.allowance) {
            (Some(bytes), _) => Bound::Bytes { bytes },
            (None, Some(left)) if self.workload.writes() => {
                let unit = self.unit();
                Bound::Bytes { bytes: (left / 64).clamp(unit, FIRST_BYTES.max(unit)) / unit * unit }
            }
            (None, _) => Bound::Time { ns: self.slice_ns() },
        }
    }

    fn rounds(&mut self, progress: &mut Progress, schedule: &mut Schedule, until: Until) -> Result<Ended> {
        let (first, before_s) = (progress.rounds.len(), progress.elapsed_s);
        loop {
            let began = Instant::now();
            let mut totals = vec![(0.0, 0.0); self.ready.len()];
            let bound = self.bound(progress);
            if self.would_exceed(bound, 2 * self.ready.len() as u64) {
                return Ok(Ended::MaxWritten);
            }
            for (position, worker) in schedule.round(self.ready.len()).into_iter().enumerate() {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(Ended::Interrupted);
                }
                let (ios, seconds) = self.recorded_slice(progress, worker, position)?;
                totals[worker].0 += ios;
                totals[worker].1 += seconds;
            }
            progress.elapsed_s += began.elapsed().as_secs_f64();
            let mut round = vec![None; self.stacks];
            for (ready, (ios, seconds)) in self.ready.iter().zip(&totals) {
                round[ready.index] = Some(ios / seconds);
            }
            progress.rounds.push(round);
            progress.next_round += 1;
            self.tell(progress, until);
            if let Some(ended) = self.is_over(progress, until, first, before_s) {
                return Ok(ended);
            }
        }
    }

    /// Whether so many slices would write more than the user allows. Those that write have a bound in bytes.
    fn would_exceed(&self, bound: Bound, slices: u64) -> bool {
        let bytes = match bound {
            Bound::Bytes { bytes } if self.workload.writes() => bytes.saturating_mul(slices),
            _ => 0,
        };
        self.allowance.is_some_and(|left| bytes > left)
    }

    fn bound(&self, progress: &Progress) -> Bound {
        match progress.slice_bytes {
            Some(bytes) => Bound::Bytes { bytes },
            None => Bound::Time { ns: self.slice_ns() },
        }
    }

    fn is_over(&self, progress: &Progress, until: Until, first: usize, before_s: f64) -> Option<Ended> {
        match until {
            Until::Rounds(rounds) => (progress.rounds.len() - first >= rounds).then_some(Ended::Visit),
            Until::Time(seconds) => (progress.elapsed_s - before_s >= seconds).then_some(Ended::Visit),
            Until::Precise(spec) => {
                let comparisons = self.comparisons(progress);
                let slices: Vec<&[(f64, f64)]> =
                    comparisons.iter().map(|(_, rounds)| rounds.as_slice()).collect();
                match stop::decide(&slices, progress.elapsed_s, &spec) {
                    Decision::Continue { .. } => None,
                    Decision::Stop(stop::StopReason::Precision) => Some(Ended::Precision),
                    Decision::Stop(stop::StopReason::RateLimited) => Some(Ended::RateLimited),
                    Decision::Stop(stop::StopReason::Budget) => Some(Ended::Budget),
                }
            }
        }
    }

    /// For each stack but the baseline its rounds paired with the baseline's.
    fn comparisons(&self, progress: &Progress) -> Vec<(String, Vec<(f64, f64)>)> {
        let pair = |index: usize| {
            let paired = |round: &Vec<Option<f64>>| Some((round[self.baseline]?, round[index]?));
            progress.rounds.iter().filter_map(paired).collect()
        };
        self.ready
            .iter()
            .filter(|ready| ready.index != self.baseline)
            .map(|ready| (ready.stack.clone(), pair(ready.index)))
            .collect()
    }

    fn tell(&mut self, progress: &Progress, until: Until) {
        let mut left_s: Option<f64> = None;
        let mut comparisons = Vec::new();
        for (stack, rounds) in self.comparisons(progress) {
            let found = ratio::estimate(&rounds).ok();
            if let (Some(found), Until::Precise(spec)) = (&found, until) {
                let per_round = progress.elapsed_s / rounds.len() as f64;
                let more = stop::rounds_needed(found, &spec).saturating_sub(rounds.len()) as f64 * per_round;
                left_s = Some(left_s.unwrap_or(0.0).max(more).max(spec.min_time_s - progress.elapsed_s));
            }
            comparisons.push(LiveComparison {
                stack,
                cost: 1.0 - ratio::ratio_of_totals(&rounds).unwrap_or(1.0),
                half_width: found.as_ref().and_then(sequence::half_width),
            });
        }
        let live = Live { round: progress.rounds.len(), elapsed_s: progress.elapsed_s, left_s, comparisons };
        self.observer.tell(Event::Round(live));
    }

    /// One slice into the record; gives its I/Os and its seconds.
    fn recorded_slice(
        &mut self,
        progress: &mut Progress,
        worker: usize,
        position: usize,
    ) -> Result<(f64, f64)> {
        let (result, cpu, gate) = self.slice(worker, self.bound(progress))?;
        let seconds = result.window_ns as f64 / 1e9;
        let ios = (result.read.ios + result.write.ios) as f64;
        self.store_slice(progress, worker, position, &result, cpu, gate)?;
        self.check(worker, &result)?;
        Ok((ios, seconds))
    }

    fn slice(
        &mut self,
        worker: usize,
        bound: Bound,
    ) -> Result<(SliceResult, Option<CpuTimes>, Option<Gate>)> {
        let ready = &self.ready[worker];
        let gate = if self.workload.writes() { Some(self.gate(worker)?) } else { None };
        let spec = SliceSpec { bound, min_discard_ns: LEAST_DISCARD_NS, flush: self.workload.writes() };
        let number = worker as u32;
        let place = self.places.get(&ready.place)?;
        let before = cpu_times(place)?;
        let result = place.peer.slice(number, &spec, slice_limit(bound)).map_err(Failed::from)?;
        let cpu = cpu_between(before, cpu_times(place)?);
        *self.allowance = self.allowance.map(|left| left.saturating_sub(result.write.bytes));
        Ok((result, cpu, gate))
    }

    /// Waits until what the last write slice left is on the disk: in the place of the load, and on
    /// this host below it.
    fn gate(&mut self, worker: usize) -> Result<Gate> {
        let ready = &self.ready[worker];
        let mut worst = Gate::NOTHING_OWED;
        let mut asked =
            vec![(ready.place.clone(), ready.targets.iter().map(|target| target.path.clone()).collect())];
        if ready.place != crate::step::HOST && self.places.has(crate::step::HOST) {
            asked.push((crate::step::HOST.to_owned(), ready.owed.clone()));
        }
        for (name, paths) in asked {
            let request = Request::Gate { paths, limit_ns: GATE_LIMIT.as_nanos() as u64 };
            let place = self.places.get(&name)?;
            match place.ask(request, GATE_LIMIT + SLICE_GRACE)? {
                Response::Gate(gate) => worst = worst.and(gate),
                other => return Err(Failed::from(place.peer.unexpected("gate", &other)).into()),
            }
        }
        Ok(worst)
    }

    /// A figure with failed I/Os in it is none.
    fn check(&mut self, worker: usize, result: &SliceResult) -> Result<()> {
        if result.errors == 0 {
            return Ok(());
        }
        let stack = self.ready[worker].stack.clone();
        let first = result.first_error.clone().unwrap_or_else(|| "no words".into());
        let text = format!("{} I/Os failed or came back short on {stack}; the first: {first}", result.errors);
        self.store.append(&Record::Warning(Warning {
            kind: IO_ERRORS.into(),
            subject: stack,
            text: text.clone(),
        }))?;
        ensure!(result.errors == 0, Failed::measurement(text));
        Ok(())
    }

    fn store_slice(
        &mut self,
        progress: &Progress,
        worker: usize,
        position: usize,
        result: &SliceResult,
        cpu: Option<CpuTimes>,
        gate: Option<Gate>,
    ) -> Result<()> {
        let ready = self.ready[worker].clone();
        let clock_offset_ns = self.places.get(&ready.place)?.clock_offset_ns;
        let samples = self.samples(result)?;
        let slice = Slice {
            visit: self.number,
            set: self.set,
            round: progress.next_round,
            slice: position as u32,
            purpose: Purpose::Plain,
            host_cpu: None,
            stack: ready.stack,
            workload: self.workload.name.clone(),
            start_ns: result.window_start_ns.saturating_add_signed(-clock_offset_ns),
            clock_offset_ns,
            window_ns: result.window_ns,
            discarded_ns: result.discarded_ns,
            discarded_ios: result.discarded_ios,
            drain_ns: result.drain_ns,
            errors: result.errors,
            samples,
            cpu,
            gate,
        };
        Ok(self.store.append(&Record::Slice(slice))?)
    }

    fn samples(&mut self, result: &SliceResult) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for (name, direction) in [("read", &result.read), ("write", &result.write)] {
            if direction.ios == 0 {
                continue;
            }
            samples.push(sample(
                &format!("{name}.ios"),
                "1",
                Better::Higher,
                Value::Value(direction.ios as f64),
            ));
            samples.push(sample(
                &format!("{name}.bytes"),
                "B",
                Better::Higher,
                Value::Value(direction.bytes as f64),
            ));
            let at = self.store.histogram(&direction.latency)?;
            samples.push(sample(&format!("{name}.latency"), "ns", Better::Lower, Value::Histogram(at)));
        }
        if result.sync_latency.count() > 0 {
            let at = self.store.histogram(&result.sync_latency)?;
            samples.push(sample("sync.latency", "ns", Better::Lower, Value::Histogram(at)));
        }
        if let Some(flush_ns) = result.flush_ns {
            samples.push(sample("flush", "ns", Better::Lower, Value::Value(flush_ns as f64)));
        }
        samples.push(sample("cpu.user", "ns", Better::Lower, Value::Value(result.cpu_user_ns as f64)));
        samples.push(sample("cpu.system", "ns", Better::Lower, Value::Value(result.cpu_system_ns as f64)));
        Ok(samples)
    }
}

fn sample(metric: &str, unit: &str, better: Better, value: Value) -> Sample {
    Sample { metric: metric.to_owned(), unit: unit.to_owned(), better, value }
}

/// What the baseline moves in one slice's time, in whole blocks for every thread.
fn slice_bytes(result: &SliceResult, unit: u64, slice_ns: u64) -> u64 {
    let bytes = (result.read.bytes + result.write.bytes) as f64;
    let wanted = bytes * slice_ns as f64 / result.window_ns.max(1) as f64;
    ((wanted / unit as f64).ceil().max(1.0) as u64) * unit
}

/// CPU times since boot of a place; a place without /proc/stat has none, and the record says so.
fn cpu_times(place: &mut super::places::Place) -> Result<Option<CpuTimes>> {
    match place.peer.call(Request::CpuTimes, super::wire::peer::QUICK_LIMIT) {
        Ok(Response::CpuTimes(times)) => Ok(Some(times)),
        Ok(other) => Err(Failed::from(place.peer.unexpected("cpu_times", &other)).into()),
        Err(_) if place.peer.is_usable() => Ok(None),
        Err(error) => Err(Failed::from(error).into()),
    }
}

fn cpu_between(before: Option<CpuTimes>, after: Option<CpuTimes>) -> Option<CpuTimes> {
    let (before, after) = (before?, after?);
    Some(CpuTimes {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
        idle_ns: after.idle_ns.saturating_sub(before.idle_ns),
    })
}
