//! Measures stacks in short slices: stacks that are each loaded in one place take turns in series
//! of some hundred slices. The noise of a machine has a memory of some 20 ms. Slices of a
//! millisecond are within it, so that neighbours see the same machine. A series is one round of the
//! statistics, whose units are then as far apart as they were with long slices.

use super::matched_rate;
use super::observer::{Observer, RunEvent};
use super::progress::{VisitEnd, VisitLimit, WorkloadProgress};
use super::rounds::Visit;
use super::serving::{ServedApart, ServedBy, ServedTime, served_apart};
use super::slice_outcome::{SliceOutcome, SlicePosition};
use super::slice_runs::{MOST_STOPS, overdue_after};
use super::states::StateKeeper;
use super::turns::OVERLAPS_ONE_IN;
use super::visit_workers::{Bench, OfferedLoad};
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_host::caches::WriteCache;
use iotax_load::{Job, SeriesResult, SeriesSpec, ShortLength, ShortSlice, SliceBound, Transient};
use iotax_model::record::{
    CpuTimes, OVERLAPS, Purpose, RunRecord, SeriesDesign, SeriesUp, TransientUp, Warning,
};
use iotax_model::scenario::{Engine, MeasureSpec, Regime, Workload};
use iotax_stats::length::is_chosen;
use iotax_stats::rounds::{Round, RoundKind, RoundPart};
use iotax_stats::trial::RoundTrial;
use iotax_units::show_ns;
use iotax_wire::message::SLICE_GRACE;
use iotax_wire::peer::series_length;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

const LEAST_WINDOW_NS: f64 = 1e6;
/// Longest window of a series, in nanoseconds. Longer windows gain little by a series: their slices
/// are asked for one by one.
const LONGEST_WINDOW_NS: f64 = 20e6;
/// Longest slice that is asked for in a series, in nanoseconds. A user who asks for longer slices
/// wants them one by one.
const LONGEST_ASKED_NS: u64 = 5_000_000;
/// Discarded start of a slice, as a multiple of what a stack loses at the start. Of a rate that
/// approaches the steady one exponentially, a twentieth of the loss is left then, 0.4 % of a
/// window. A refilled queue loses about one turn of it, and works in waves for two more
/// (docs/decisions/short-slices.md).
const DISCARDED_STARTS: f64 = 3.0;
/// Most pilots that look for the loss at the start of a slice.
const PILOTS: usize = 4;
/// I/Os of each stack after which such a pilot has seen enough.
const IOS_OF_PILOT: u64 = 500;
/// Most seconds of such a pilot, for all stacks together.
const MOST_OF_PILOT_S: f64 = 2.0;
/// Least budget, in nanoseconds, that has time for such pilots.
const LEAST_BUDGET_FOR_PILOTS_NS: u64 = 5_000_000_000;
/// Least discarded start, in nanoseconds: two I/Os of a fast drive.
const LEAST_DISCARD_NS: f64 = 100e3;
/// Length of a window, as a multiple of what is discarded before it.
const WINDOW_OF_DISCARD: f64 = 4.0;
const MOST_DISCARD_NS: f64 = LONGEST_WINDOW_NS / WINDOW_OF_DISCARD;
/// Approximate length of a series, in nanoseconds: several times the memory of the noise, and short
/// enough for Ctrl-C.
const SERIES_NS: f64 = 125e6;
/// Length of the slices of a long series, as a multiple of the usual length.
const LONG_TIMES: u64 = 8;
/// One series in this many, at random, has long slices.
const LONG_ONE_OF: u32 = 8;
/// Number of series that have the same workers. A cost depends on the placement of threads and
/// memory: new workers let the spread between series show it.
const PLACED_SERIES: u32 = 2;
const LEAST_LOAD_S: f64 = 3.0;
/// Length of a slice of one stack alone, in nanoseconds.
const ALONE_NS: u64 = 100_000_000;
/// Number of bins of a transient in a slice of the usual length.
const BINS_OF_SLICE: u64 = 48;

/// A series as a round of the statistics, with the outcome of each stack (by its number in the
/// scenario).
pub type SeriesRound = (Round, Vec<(usize, SliceOutcome)>);

/// Design of a series, with the length of its slices.
#[derive(Clone, Copy)]
pub(super) struct SeriesPlan {
    pub window_ns: u64,
    pub design: SeriesDesign,
}

impl SeriesPlan {
    fn length(self) -> ShortLength {
        ShortLength { discard_ns: self.design.discard_ns, window_ns: self.window_ns }
    }
}

/// Slices that are long enough for every stack to settle after a change of stack.
pub(super) struct SettledSlices {
    pub plan: SeriesPlan,
    /// Reason why the slices are not shorter, in words.
    pub why: String,
}

fn bin_ns(length: ShortLength) -> u64 {
    ((length.window_ns + length.discard_ns) / BINS_OF_SLICE).max(1)
}

/// Returns true if the load and the slices asked for allow short ones: closed loops by our own
/// generator, without trims and verification. Writes must also meet two conditions. No write cache
/// is known on the path, since what one stack left there would be written back in the slices of
/// another. Each write counts, including the first ones.
pub fn suits(workload: &Workload, measure: &MeasureSpec, write_caches: &[WriteCache]) -> bool {
    let is_closed_loop = |job: &Job| !job.rw.trims() && job.rate_iops.is_none() && !job.verify;
    let writes_through = write_caches.is_empty() && measure.regime == Regime::Burst;
    (!workload.writes() || writes_through)
        && workload.probe.is_none()
        && workload.engine != Some(Engine::Fio)
        && workload.jobs.iter().all(is_closed_loop)
        && measure.slice_ns.is_none_or(|asked_ns| asked_ns <= LONGEST_ASKED_NS)
}

/// Returns the least seconds for which a load is measured, all stacks of a set together. Stacks
/// that take turns are as sure after some seconds of each as others after the usual least time. A
/// time that the user names takes precedence.
pub fn least_s(measure: &MeasureSpec, in_turn: bool, stacks: usize) -> f64 {
    let usual_s = measure.min_time_ns as f64 / 1e9;
    if in_turn && !measure.min_time_given {
        usual_s.min(LEAST_LOAD_S * stacks as f64)
    } else {
        usual_s
    }
}

impl Bench<'_> {
    /// Returns true if all stacks can take turns in series: there are two at least, our own
    /// generator loads each in one place, written bytes are not limited, and no array's state or
    /// cluster is watched between slices.
    pub fn can_take_turns(&self) -> bool {
        let in_one_place = self.ready.iter().all(|ready| {
            matches!(ready.members.as_slice(), [member] if self.places.has_agent(&member.place))
                && ready.others.is_empty()
                && ready.far_end.is_none()
                && self.engine_of(ready) != Some(Engine::Fio)
        });
        self.ready.len() >= 2
            && in_one_place
            // The bytes that a series writes are known only after it.
            && self.allowance.is_none()
            && self.keeper.as_ref().is_none_or(StateKeeper::watches_none)
            && self.clusters.is_empty()
    }

    pub(super) fn in_flight(&self) -> f64 {
        let of_jobs: u64 =
            self.jobs(1).iter().map(|job| u64::from(job.iodepth) * u64::from(job.numjobs)).sum();
        let targets =
            self.ready.iter().map(|ready| ready.targets().count() as u64).max().unwrap_or(1);
        (of_jobs * targets) as f64
    }

    /// Runs a series and records it. `order` has the worker of each slice; `bin_ns` is the width of
    /// the bins in which the start of slices is recorded.
    ///
    /// # Errors
    /// When a peer is lost, an I/O failed or the record cannot be written.
    pub fn series(
        &mut self,
        order: Vec<usize>,
        length: ShortLength,
        bin_ns: u64,
        spot: SlicePosition,
        observer: &mut dyn Observer,
    ) -> Result<SeriesRound> {
        self.store.check_present()?;
        // Devices below count the I/O of all stacks together.
        self.traffic.interrupt();
        let lengths = vec![length; self.ready.len()];
        let spec =
            SeriesSpec { order, lengths, begins_ns: vec![], bin_ns, flush: self.workload.writes() };
        for _ in 0..MOST_STOPS {
            let began = Instant::now();
            let (result, computed) =
                self.despite_losses(|bench| bench.ask_for_series(&spec, observer))?;
            if let Some(stop) = (self.stops)(began) {
                self.leave_out(spec.order[0], spot, stop)?;
                continue;
            }
            self.spent_s += began
                .elapsed()
                .as_secs_f64()
                .max(result.slices.iter().map(|slice| slice.took_ns as f64 / 1e9).sum());
            return self.store_series(result, &computed, spot);
        }
        Err(self.never_left_alone(spec.order[0]).into())
    }

    /// Runs the series. Returns it with its slices in this host's time, and the CPU time of each
    /// worker's engine, programs and guest.
    fn ask_for_series(
        &mut self,
        spec: &SeriesSpec,
        observer: &mut dyn Observer,
    ) -> Result<(SeriesResult, Vec<ServedApart>)> {
        for worker in 0..self.ready.len() {
            self.prepare_worker(worker)?;
        }
        let before = self.serving_of_all()?;
        let length = series_length(spec);
        let mut overdue = overdue_after("stacks in turn", length, length + SLICE_GRACE, observer);
        let places: Vec<Place> =
            self.ready.iter().map(|ready| ready.members[0].place.clone()).collect();
        let result = self.turns.run_in_turn(self.places, &places, spec, &mut overdue)?;
        let after = self.serving_of_all()?;
        let lasted = result.sums.iter().map(|sum| sum.window_ns + sum.discarded_ns + sum.drain_ns);
        let lasted: Vec<u64> = lasted.collect();
        let [engines, programs, guests] = [ServedBy::Engine, ServedBy::Program, ServedBy::Guest]
            .map(|which| served_apart(&before, &after, &lasted, which));
        let apart = |worker: usize| ServedApart {
            engine_ns: engines[worker],
            programs_ns: match before[worker].values().any(ServedTime::is_of_program) {
                true => programs[worker],
                false => Some(0.0),
            },
            guest_ns: guests[worker].filter(|_| places[worker].is_guest()),
        };
        Ok((result, (0..places.len()).map(apart).collect()))
    }

    /// Returns true if series have shown the starts of `workers` workers, each in at least 500
    /// I/Os.
    fn has_seen_starts(&self, workers: usize) -> bool {
        let is_seen = |shown: &Transient| shown.ios.iter().sum::<u64>() >= IOS_OF_PILOT;
        self.transients.values().filter(|shown| is_seen(shown)).count() == workers
    }

    /// Stores each worker's slices as one record, and the slices themselves.
    fn store_series(
        &mut self,
        result: SeriesResult,
        computed: &[ServedApart],
        spot: SlicePosition,
    ) -> Result<SeriesRound> {
        let at = self.store.short_slices(&result.slices)?;
        let stacks = self.ready.iter().map(|ready| ready.stack.clone()).collect();
        let workload = self.workload.name.clone();
        let (visit, set, round, purpose) = (self.visit, self.set, spot.round, spot.purpose);
        self.store.append(&RunRecord::Series(SeriesUp {
            visit,
            set,
            round,
            purpose,
            workload,
            stacks,
            at,
        }))?;
        let part = |slice: &ShortSlice| RoundPart {
            stack: self.ready[slice.worker].index,
            amount: slice.ios as f64,
            seconds: slice.window_ns as f64 / 1e9,
        };
        let parts = result.slices.iter().map(part).collect();
        let mut all = Vec::new();
        for (worker, (sum, machine)) in result.sums.into_iter().zip(result.machine).enumerate() {
            let short_slices =
                result.slices.iter().filter(|slice| slice.worker == worker).count() as u32;
            if short_slices == 0 {
                continue;
            }
            let computed = computed.get(worker).copied().unwrap_or_default();
            let done =
                SliceOutcome::of_series(sum, machine.map(CpuTimes::from), computed, short_slices);
            self.store_slice(worker, &done, SlicePosition { position: worker, ..spot }, None)?;
            self.check(worker, &done.result)?;
            let transient = &result.transients[worker];
            self.transients.entry(worker).or_default().merge(transient);
            all.push((self.ready[worker].index, done));
        }
        let kind = if purpose == Purpose::Long { RoundKind::Long } else { RoundKind::Plain };
        Ok((Round { kind, visit, in_series: true, parts, ..Round::default() }, all))
    }

    /// Records how rates begin, as the series of a visit have shown, and warns if too many slices
    /// overlapped.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(super) fn record_transients(&mut self) -> Result<()> {
        while let Some((worker, transient)) = self.transients.pop_first() {
            let (visit, set, workload) = (self.visit, self.set, self.workload.name.clone());
            let stack = self.ready[worker].stack.clone();
            let one_at_a_time = matches!(self.offered, OfferedLoad::OneAtATime);
            let up = TransientUp { visit, set, workload, stack, one_at_a_time, transient };
            self.store.append(&RunRecord::Transient(up))?;
        }
        match self.turns.take_overlaps() {
            (slices, overlaps) if overlaps * OVERLAPS_ONE_IN > slices => {
                let text = format!(
                    "{overlaps} of {slices} short slices under {} began while another place still did the I/O of the one before: the \
                     places get their processors late; hint: an idle machine, or --slice 50ms",
                    self.workload.name
                );
                let subject = self.workload.name.clone();
                Ok(self.store.append(&RunRecord::Warning(Warning {
                    kind: OVERLAPS.into(),
                    subject,
                    text,
                }))?)
            }
            _ => Ok(()),
        }
    }
}

impl Visit<'_> {
    /// Returns the slices in which stacks take turns under the workload's own load; `None` if they
    /// do not take turns. `slowest` is the rate of the slowest stack, in I/Os per second.
    pub(super) fn series_design(
        &mut self,
        progress: &mut WorkloadProgress,
        slowest: f64,
    ) -> Result<ControlFlow<VisitEnd, Option<SettledSlices>>> {
        if !suits(self.workload, self.measure, self.write_caches) || !self.bench.can_take_turns() {
            return Ok(ControlFlow::Continue(None));
        }
        self.find_settled_slices(progress, slowest, self.measure.slice_ns)
    }

    /// Returns the shortest slices in which every stack settles again after a change of stack, or
    /// those asked for; `slowest` is the rate of the slowest stack, in I/Os per second. `None`:
    /// they would be too long. A pilot shows how much a stack loses at the start of a slice.
    fn find_settled_slices(
        &mut self,
        progress: &mut WorkloadProgress,
        slowest: f64,
        asked_ns: Option<u64>,
    ) -> Result<ControlFlow<VisitEnd, Option<SettledSlices>>> {
        // By Little's law, this is the time in which a queue is turned over once.
        let turn_ns = self.bench.in_flight() / slowest.max(f64::MIN_POSITIVE) * 1e9;
        let mut discard_ns = (DISCARDED_STARTS * turn_ns).max(LEAST_DISCARD_NS);
        if turn_ns <= MOST_DISCARD_NS {
            discard_ns = discard_ns.min(MOST_DISCARD_NS);
        }
        let mut why = match asked_ns {
            Some(asked_ns) => self.why_fixed(asked_ns),
            None => "the shortest in which a refilled queue settles".to_owned(),
        };
        let tries = if self.measure.budget_ns >= LEAST_BUDGET_FOR_PILOTS_NS { PILOTS } else { 0 };
        for _ in 0..tries {
            let Some(plan) = self.in_turn(discard_ns, asked_ns) else { break };
            let (stack, lost_ns) = match self.lost_at_start(progress, plan)? {
                ControlFlow::Continue(lost) => lost,
                ControlFlow::Break(ended) => return Ok(ControlFlow::Break(ended)),
            };
            let needed_ns = DISCARDED_STARTS * lost_ns;
            if needed_ns <= discard_ns {
                break;
            }
            // The slice shows too little of a start that is long against it.
            let seen = needed_ns < 2.0 * discard_ns;
            // Slices eight times as long show any loss beyond that.
            discard_ns = needed_ns.min(MOST_DISCARD_NS);
            if asked_ns.is_none() {
                let name = &self.bench.ready[stack].stack;
                why = format!("{name} loses {} at the start of each", show_ns(lost_ns));
            }
            if seen {
                break;
            }
        }
        let plan = self.in_turn(discard_ns, asked_ns);
        Ok(ControlFlow::Continue(plan.map(|plan| SettledSlices { plan, why })))
    }

    /// Plans a series with `discard_ns` of each slice discarded; `None`: the slices would be too
    /// long.
    fn in_turn(&self, discard_ns: f64, asked_ns: Option<u64>) -> Option<SeriesPlan> {
        let settled_ns = LEAST_WINDOW_NS.max(WINDOW_OF_DISCARD * discard_ns);
        let shortest_ns = self.bench.shortest_slice_ns();
        let window_ns = asked_ns.map_or(settled_ns, |asked_ns| asked_ns.max(shortest_ns) as f64);
        if window_ns > LONGEST_WINDOW_NS {
            return None;
        }
        let round_ns = 2.0 * self.bench.ready.len() as f64 * (window_ns + discard_ns);
        let rounds = (SERIES_NS / round_ns).ceil().max(1.0) as u32;
        let design = SeriesDesign { discard_ns: discard_ns as u64, rounds };
        Some(SeriesPlan { window_ns: window_ns as u64, design })
    }

    /// Returns the worker that loses most at the start of a slice, and the loss in nanoseconds.
    fn lost_at_start(
        &mut self,
        progress: &mut WorkloadProgress,
        plan: SeriesPlan,
    ) -> Result<ControlFlow<VisitEnd, (usize, f64)>> {
        let workers = self.bench.ready.len();
        let order: Vec<usize> =
            (0..plan.design.rounds).flat_map(|_| (0..workers).chain((0..workers).rev())).collect();
        let length = plan.length();
        let before_s = self.bench.spent_s;
        while self.bench.spent_s - before_s < MOST_OF_PILOT_S
            && !self.bench.has_seen_starts(workers)
        {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(VisitEnd::Interrupted));
            }
            let spot =
                SlicePosition { round: progress.next_round, position: 0, purpose: Purpose::Pilot };
            self.bench.series(order.clone(), length, bin_ns(length), spot, self.observer)?;
            progress.next_round += 1;
        }
        let shown = std::mem::take(&mut self.bench.transients).into_iter();
        let lost = shown
            .filter_map(|(worker, shown)| Some((worker, shown.lost_ns(BINS_OF_SLICE as usize)?)));
        Ok(ControlFlow::Continue(
            lost.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0)),
        ))
    }

    /// Runs a slice of each stack alone, and returns the rate of the slowest. Block devices below
    /// count all stacks of a series together. Each stack's reads are therefore compared with them
    /// here, and in the slices that warm up.
    pub(super) fn each_by_itself(&mut self, progress: &mut WorkloadProgress) -> Result<f64> {
        let mut slowest = f64::INFINITY;
        for worker in 0..self.bench.ready.len() {
            let spot = SlicePosition {
                round: progress.next_round,
                position: worker,
                purpose: Purpose::WarmUp,
            };
            let done = self.bench.record(
                worker,
                SliceBound::Time { ns: ALONE_NS },
                spot,
                self.observer,
            )?;
            slowest = slowest.min(done.rate());
        }
        progress.next_round += 1;
        Ok(slowest)
    }

    /// Runs the next series as one round. One in eight of those of `Purpose::Plain`, at random, has
    /// long slices.
    pub(super) fn series_round(
        &mut self,
        progress: &mut WorkloadProgress,
        plan: SeriesPlan,
        purpose: Purpose,
        trial: &mut RoundTrial,
    ) -> Result<ControlFlow<VisitEnd, SeriesRound>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(VisitEnd::Interrupted));
        }
        let number = progress.next_round;
        if number % PLACED_SERIES == 0 {
            self.bench.place_anew()?;
        }
        let long = purpose == Purpose::Plain
            && is_chosen(self.measure.seed ^ self.stream, number, LONG_ONE_OF);
        let (purpose, times) = if long { (Purpose::Long, LONG_TIMES) } else { (purpose, 1) };
        let rounds = (u64::from(plan.design.rounds) / times).max(1);
        let order: Vec<usize> = (0..rounds).flat_map(|_| trial.plan_round().order).collect();
        let order = order.into_iter().map(|stack| self.worker_of(stack)).collect();
        let usual = plan.length();
        let length = ShortLength { window_ns: usual.window_ns * times, ..usual };
        let spot = SlicePosition { round: number, position: 0, purpose };
        let round = self.bench.series(order, length, bin_ns(usual), spot, self.observer)?;
        progress.next_round += 1;
        Ok(ControlFlow::Continue(round))
    }

    /// Returns true if latencies are compared one I/O at a time: stacks take turns, the workload
    /// has one job, and nobody asked for a rate.
    pub(super) fn compares_one_at_a_time(&self, progress: &WorkloadProgress) -> bool {
        progress.series.is_some()
            && !self.measure.matched_rate_given
            && self.workload.jobs.len() == 1
    }

    /// Measures one I/O at a time on every stack, in turn, to show what each adds to its latency.
    pub(super) fn one_at_a_time(
        &mut self,
        progress: &mut WorkloadProgress,
        until: VisitLimit,
    ) -> Result<VisitEnd> {
        let until =
            matched_rate::matched_limit(self.soon_enough(progress, until), progress.elapsed_s);
        let most =
            until.most_s(progress.matched_s).map(|most_s| format!(" (at most {most_s:.0} s)"));
        let what = format!("latency of one I/O at a time{}", most.unwrap_or_default());
        self.observer.notify(RunEvent::LongPhase { what });
        self.bench.prepare(OfferedLoad::OneAtATime)?;
        let slowest = self.each_by_itself(progress)?;
        let settled = match self.find_settled_slices(progress, slowest, None)? {
            ControlFlow::Continue(settled) => settled,
            ControlFlow::Break(ended) => return Ok(ended),
        };
        let ended = match settled {
            Some(settled) => self.matched_rounds(progress, until, Some(settled.plan)),
            // The stacks are slower than a series is made for. At the stated depth they would have
            // been measured in other slices, too.
            None => Ok(VisitEnd::Visit),
        };
        self.bench.end()?;
        ended
    }
}
