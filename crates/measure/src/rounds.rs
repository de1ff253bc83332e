//! Measures one workload on the stacks of one set, from the first slice to the last. A slice of
//! each stack warms up, the pilot chooses the design, and the baseline runs alone. Random rounds
//! follow until the statistics say stop, and then latencies at a matched rate. `stats` decides what
//! is enough and what comes next.

use super::interference::Interference;
use super::observer::{LiveComparison, LiveState, Observer, RunEvent};
use super::progress::{VisitEnd, VisitLimit, WorkloadProgress};
use super::series::{SeriesPlan, SettledSlices};
use super::slice_outcome::{SliceOutcome, SlicePosition};
use super::under_load::StackUnderLoad;
use super::visit_workers::{Bench, OfferedLoad};
use super::{matched_rate, series};
use anyhow::Result;
use iotax_host::caches::WriteCache;
use iotax_load::SliceBound;
use iotax_model::record::{DesignUp, Matched, Purpose, RunRecord};
use iotax_model::scenario::{Engine, MeasureSpec, Precondition, Workload};
use iotax_stats::pilot::{Design, DesignBounds, Pattern, PilotSlice};
use iotax_stats::rounds::{Round, RoundKind, RoundPart, SliceValue};
use iotax_stats::steady::SteadySpec;
use iotax_stats::stop::{Decision, StopReason, StopSpec};
use iotax_stats::trial::{Planned, RoundTrial, TrialSpec};
use iotax_stats::{checks, pilot, ratio, sequence, stop};
use iotax_units::show_ns;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most bytes of the first slice of writes, where writes are limited.
const FIRST_BYTES: u64 = 64 << 20;
/// Least number of completions in a warm-up. Fewer say too little of how slow a stack is, and the
/// warm-up is made longer once.
const FEW: f64 = 20.0;
/// Length in nanoseconds of a warm-up slice that is repeated because it had too few completions.
const LONGER_NS: u64 = 1_000_000_000;
/// Least budget in seconds for a pilot. Below it a pilot, or rounds of the baseline alone, would
/// take more than a tenth of the budget.
pub const LEAST_BUDGET_FOR_A_PILOT_S: f64 = 10.0 * pilot::LEAST_S;
/// Longest slices, in nanoseconds, of a load that also has rounds with slices four times as long.
const LONGEST_FOR_LONG_ROUNDS_NS: u64 = 500_000_000;

pub struct Visit<'a> {
    pub bench: Bench<'a>,
    /// Index of the baseline in the scenario.
    pub baseline: usize,
    /// Names of all stacks of the scenario, those of other sets too.
    pub names: &'a [&'a str],
    /// Number of targets that get the load at once, for each stack of the scenario.
    pub members: &'a [u64],
    /// Index of the stack that only checks the measuring, such as fio on the baseline, if there is
    /// one.
    pub ruler: Option<usize>,
    pub workload: &'a Workload,
    pub measure: &'a MeasureSpec,
    pub write_caches: &'a [WriteCache],
    pub steady: Option<SteadySpec>,
    pub precondition: Option<Precondition>,
    /// Number of the stream of random orders, a different one for each workload and visit.
    pub stream: u64,
    pub observer: &'a mut dyn Observer,
    pub stop: &'a AtomicBool,
}

/// Returns true if a stack with this many I/Os per second needs slices so long that a pilot in
/// short slices says nothing about them.
fn is_coarse(rate: f64) -> bool {
    pilot::length_for(rate) > 2.0 * pilot::SLICE_S
}

#[derive(Clone, Copy, Debug, Default)]
struct WarmUpResult {
    /// I/Os per second of the slowest stack.
    slowest: f64,
    /// Bytes per second of the first stack, which is the baseline if it is up.
    bytes_per_s: f64,
}

impl Visit<'_> {
    /// Measures until the limit `until` is reached.
    ///
    /// # Errors
    /// When a worker cannot be prepared, a peer is lost, or an I/O fails.
    pub fn measure(
        &mut self,
        progress: &mut WorkloadProgress,
        until: VisitLimit,
    ) -> Result<VisitEnd> {
        let workload = self.workload;
        self.bench.prepare(OfferedLoad::Jobs(workload.jobs.clone()))?;
        let ended = match self.measure.trace_ns {
            Some(length_ns) => self.trace(progress, length_ns),
            None => self.at_depth(progress, until),
        };
        let ended = self.read_back(ended)?;
        if progress.series.is_some() && ended != VisitEnd::Interrupted {
            self.each_by_itself(progress)?;
        }
        self.bench.end()?;
        if matches!(
            ended,
            VisitEnd::Interrupted | VisitEnd::MaxWritten | VisitEnd::Disturbed { .. }
        ) || self.measure.trace_ns.is_some()
            || !self.match_rate(progress)?
        {
            return Ok(ended);
        }
        match self.at_matched_rate(progress, until)? {
            VisitEnd::Interrupted => Ok(VisitEnd::Interrupted),
            _ => Ok(ended),
        }
    }

    fn at_depth(&mut self, progress: &mut WorkloadProgress, until: VisitLimit) -> Result<VisitEnd> {
        if let Some(ended) = self.until_steady(progress)? {
            return Ok(ended);
        }
        let began_s = self.bench.spent_s;
        let warm = match self.warm_up(progress)? {
            ControlFlow::Continue(warm) => warm,
            ControlFlow::Break(ended) => return Ok(ended),
        };
        if let Some(ended) = self.choose(progress, warm)? {
            return Ok(ended);
        }
        if self.asks_whether_alone(progress) {
            match self.measure_baseline_alone(progress)? {
                Interference::Fine => {}
                Interference::Disturbed(share) => return Ok(VisitEnd::Disturbed { share }),
                Interference::Ended(ended) => return Ok(ended),
            }
        }
        self.bench.compare_clocks()?;
        self.rounds(progress, until.reduced_by(self.bench.spent_s - began_s))
    }

    /// Returns true if the baseline is to be measured alone: before the first round of a workload,
    /// if there is time for it and written bytes are not limited.
    fn asks_whether_alone(&self, progress: &WorkloadProgress) -> bool {
        progress.rounds.is_empty()
            && self.bench.allowance.is_none()
            && self.measure.budget_ns as f64 / 1e9 >= LEAST_BUDGET_FOR_A_PILOT_S
    }

    /// Runs one slice of each stack, or a second one if the first showed too little. These slices
    /// are part of no figure: they fill caches of addresses, cause the first drain, and show how
    /// fast each stack is.
    fn warm_up(
        &mut self,
        progress: &mut WorkloadProgress,
    ) -> Result<ControlFlow<VisitEnd, WarmUpResult>> {
        let mut warm = WarmUpResult { slowest: f64::INFINITY, bytes_per_s: 0.0 };
        for (position, worker) in self.warm_up_order().into_iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(VisitEnd::Interrupted));
            }
            let bound = self.warm_up_bound(progress);
            if self.bench.would_exceed(bound, 1) {
                return Ok(ControlFlow::Break(VisitEnd::MaxWritten));
            }
            // Warm-ups are recorded, since their writes count against what may be written.
            let spot =
                SlicePosition { round: progress.next_round, position, purpose: Purpose::WarmUp };
            let mut done = self.bench.record(worker, bound, spot, self.observer)?;
            if self.says_too_little(progress, &done)
                && matches!(bound, SliceBound::Time { ns } if ns < LONGER_NS)
            {
                done = self.bench.record(
                    worker,
                    SliceBound::Time { ns: LONGER_NS },
                    spot,
                    self.observer,
                )?;
            }
            if warm.bytes_per_s == 0.0 {
                let moved = done.part(0, true);
                warm.bytes_per_s = moved.amount / moved.seconds.max(f64::MIN_POSITIVE);
            }
            warm.slowest = warm.slowest.min(done.rate());
        }
        progress.next_round += 1;
        Ok(ControlFlow::Continue(warm))
    }

    /// Returns true if a warm-up slice has too few completions to show how slow a stack is. A
    /// single short slice, which another process may have held up, must not rule out the pilot.
    fn says_too_little(&self, progress: &WorkloadProgress, done: &SliceOutcome) -> bool {
        done.part(0, false).amount < FEW
            || (progress.design.is_none() && self.has_time_for_a_pilot() && is_coarse(done.rate()))
    }

    /// Returns true if a pilot may choose the design: nobody chose the length of slices, the budget
    /// is long enough, and there is something to compare.
    fn has_time_for_a_pilot(&self) -> bool {
        self.measure.slice_ns.is_none()
            && self.measure.budget_ns as f64 / 1e9 >= LEAST_BUDGET_FOR_A_PILOT_S
            && self.bench.ready.len() >= 2
    }

    /// Returns the order of workers in the warm-up. The baseline comes first, since it fixes the
    /// bytes of a write slice; if it is not up, another stack does.
    fn warm_up_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.bench.ready.len()).collect();
        order.sort_by_key(|worker| self.bench.ready[*worker].index != self.baseline);
        order
    }

    /// Returns the bound of a warm-up slice. How many bytes are written in a slice's time is not
    /// known before the first one; if written bytes are limited, that one gets a small part of the
    /// limit.
    fn warm_up_bound(&self, progress: &WorkloadProgress) -> SliceBound {
        match (progress.slice_bytes, *self.bench.allowance) {
            (Some(bytes), _) => SliceBound::Bytes { bytes },
            (None, Some(left)) if self.workload.writes() => self.first_bytes(left),
            (None, _) => SliceBound::Time { ns: self.first_slice_ns() },
        }
    }

    pub(super) fn first_bytes(&self, left: u64) -> SliceBound {
        let unit = self.bench.unit();
        SliceBound::Bytes { bytes: (left / 64).clamp(unit, FIRST_BYTES.max(unit)) / unit * unit }
    }

    /// Returns the length of slices that was asked for, or the shortest that iotax chooses; never
    /// shorter than the engines need.
    fn first_slice_ns(&self) -> u64 {
        let wished = self.measure.slice_ns.unwrap_or((pilot::SLICE_S * 1e9) as u64);
        wished.max(self.bench.shortest_slice_ns())
    }

    /// Chooses the design, once for a workload; it is kept over visits and resumes. Returns how the
    /// visit ended, if it ended meanwhile.
    fn choose(
        &mut self,
        progress: &mut WorkloadProgress,
        warm: WarmUpResult,
    ) -> Result<Option<VisitEnd>> {
        if progress.design.is_none() {
            let in_turn = match self.series_design(progress, warm.slowest)? {
                ControlFlow::Continue(settled) => settled,
                ControlFlow::Break(ended) => return Ok(Some(ended)),
            };
            progress.series = in_turn.as_ref().map(|settled| settled.plan.design);
            let (design, piloted, why) = match (in_turn, self.measure.slice_ns) {
                (Some(SettledSlices { plan, why }), _) => (mirrored(plan.window_ns), 0, why),
                (None, Some(asked_ns)) => {
                    (mirrored(self.first_slice_ns()), 0, self.why_fixed(asked_ns))
                }
                (None, None) => match self.pilot(progress, warm)? {
                    ControlFlow::Continue(chosen) => chosen,
                    ControlFlow::Break(ended) => return Ok(Some(ended)),
                },
            };
            self.bench.store.append(&RunRecord::Design(DesignUp {
                workload: self.workload.name.clone(),
                slice_ns: (design.slice_s * 1e9) as u64,
                pattern: design.pattern,
                period_ns: design.period_s.map(|seconds| (seconds * 1e9) as u64),
                pilot_slices: piloted,
                series: progress.series,
                why,
            }))?;
            progress.design = Some(design);
        }
        if self.workload.writes() && progress.series.is_none() && progress.slice_bytes.is_none() {
            let wanted = warm.bytes_per_s * self.slice_ns(progress) as f64 / 1e9;
            progress.slice_bytes = Some(in_units(wanted, self.bench.unit()));
        }
        Ok(None)
    }

    pub(super) fn why_fixed(&self, asked_ns: u64) -> String {
        match self.raised(asked_ns) {
            Some(least) => format!("{least}, where {} were asked for", show_ns(asked_ns as f64)),
            None => "as asked for".to_owned(),
        }
    }

    /// Returns why slices are longer than `wished_ns`: an engine needs them to be. `None`: no
    /// engine does.
    fn raised(&self, wished_ns: u64) -> Option<String> {
        let by_fio =
            |ready: &StackUnderLoad| ready.engine.or(self.workload.engine) == Some(Engine::Fio);
        let whose = if self.bench.ready.iter().any(by_fio) {
            "fio's clock and start-up"
        } else {
            "the engines"
        };
        (self.bench.shortest_slice_ns() > wished_ns)
            .then(|| format!("the least that {whose} allow"))
    }

    /// Chooses the design from slices of the baseline that take some seconds, if there is time for
    /// them. Returns the design, the number of these slices, and the reason for the length of
    /// slices in words.
    fn pilot(
        &mut self,
        progress: &mut WorkloadProgress,
        warm: WarmUpResult,
    ) -> Result<ControlFlow<VisitEnd, (Design, u32, String)>> {
        let budget_s = self.measure.budget_ns as f64 / 1e9;
        let bounds =
            DesignBounds { stacks: self.bench.ready.len(), slowest: warm.slowest, budget_s };
        let baseline = self.bench.ready.iter().position(|ready| ready.index == self.baseline);
        // A pilot in slices longer than its own would say nothing of shorter ones, and bytes may be
        // scarce.
        let too_short = !self.has_time_for_a_pilot();
        let coarse =
            is_coarse(warm.slowest) || self.bench.shortest_slice_ns() as f64 / 1e9 > pilot::SLICE_S;
        let (mut slices, mut why) =
            (Vec::new(), "for some hundred completions of the slowest stack");
        match baseline {
            Some(worker) if !too_short && !coarse && self.bench.allowance.is_none() => {
                match self.pilot_slices(progress, worker, warm)? {
                    ControlFlow::Continue(measured) => slices = measured,
                    ControlFlow::Break(ended) => return Ok(ControlFlow::Break(ended)),
                }
                why = "the least variance for the time, by a pilot on the baseline";
            }
            _ if too_short => why = "the shortest: there is no time for a pilot",
            _ => {}
        }
        let mut design = pilot::design(&slices, &bounds);
        let why = self.raised((design.slice_s * 1e9) as u64).unwrap_or_else(|| why.to_owned());
        design.slice_s = design.slice_s.max(self.bench.shortest_slice_ns() as f64 / 1e9);
        Ok(ControlFlow::Continue((design, slices.len() as u32, why)))
    }

    fn pilot_slices(
        &mut self,
        progress: &mut WorkloadProgress,
        worker: usize,
        warm: WarmUpResult,
    ) -> Result<ControlFlow<VisitEnd, Vec<PilotSlice>>> {
        self.announce_phase(format!("pilot on the baseline, at most {:.0} s", pilot::MOST_S));
        let bound = match self.workload.writes() {
            true => SliceBound::Bytes {
                bytes: in_units(warm.bytes_per_s * pilot::SLICE_S, self.bench.unit()),
            },
            false => SliceBound::Time { ns: (pilot::SLICE_S * 1e9) as u64 },
        };
        let mut slices: Vec<PilotSlice> = Vec::new();
        while pilot::goes_on(&slices) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(VisitEnd::Interrupted));
            }
            let before_s = self.bench.spent_s;
            let spot = SlicePosition {
                round: progress.next_round,
                position: slices.len(),
                purpose: Purpose::Pilot,
            };
            let rate = self.bench.record(worker, bound, spot, self.observer)?.rate();
            slices.push(PilotSlice { rate, took_s: self.bench.spent_s - before_s });
        }
        progress.next_round += 1;
        Ok(ControlFlow::Continue(slices))
    }

    pub(super) fn slice_ns(&self, progress: &WorkloadProgress) -> u64 {
        progress.design.map_or(self.first_slice_ns(), |design| (design.slice_s * 1e9) as u64)
    }

    pub(super) fn bound(&self, progress: &WorkloadProgress, times: u64) -> SliceBound {
        match progress.slice_bytes {
            Some(bytes) => SliceBound::Bytes { bytes: bytes * times },
            // Rounds that cannot run in turns consist of slices that are asked for one by one.
            None if progress.series.is_some() => {
                SliceBound::Time { ns: (pilot::SLICE_S * 1e9) as u64 * times }
            }
            None => SliceBound::Time { ns: self.slice_ns(progress) * times },
        }
    }

    fn trial(&self, progress: &WorkloadProgress, phase: RoundPhase) -> RoundTrial {
        let writes = self.workload.writes();
        let (value, earlier, stream) = match phase {
            RoundPhase::Depth if writes => (SliceValue::Time, &progress.rounds, self.stream),
            RoundPhase::Depth => (SliceValue::Rate, &progress.rounds, self.stream),
            // Latencies are times. The stream is another, since these orders must not repeat the
            // earlier ones.
            RoundPhase::Matched => {
                (SliceValue::Time, &progress.matched_rounds, self.stream ^ u64::MAX >> 1)
            }
        };
        let spec = TrialSpec {
            stacks: self.bench.ready.iter().map(|ready| ready.index).collect(),
            baseline: self.baseline,
            value,
            pattern: progress.design.map_or(Pattern::Mirror, |design| design.pattern),
            long_rounds: phase == RoundPhase::Depth
                && progress.series.is_none()
                && self.slice_ns(progress) <= LONGEST_FOR_LONG_ROUNDS_NS,
            seed: self.measure.seed,
            stream,
            steady: self.steady.clone().filter(|_| phase == RoundPhase::Depth),
            preconditioned: progress.preconditioned.clone(),
        };
        RoundTrial::new(spec, earlier)
    }

    fn rounds(&mut self, progress: &mut WorkloadProgress, until: VisitLimit) -> Result<VisitEnd> {
        let writes = self.workload.writes();
        let until = self.soon_enough(progress, until);
        self.drop_rounds_with_lost(progress);
        let mut trial = self.trial(progress, RoundPhase::Depth);
        let (mut here, before_s) = (0, progress.elapsed_s);
        loop {
            let began_s = self.bench.spent_s;
            let mut flushes_s = vec![0.0; self.members.len()];
            let mut by_direction = Vec::new();
            let mut part = |done: &SliceOutcome, stack: usize| {
                flushes_s[stack] += done.flush_s();
                by_direction.push((stack, done.by_direction()));
                done.part(stack, writes)
            };
            let round = match progress.series {
                Some(design) => {
                    let plan = SeriesPlan { window_ns: self.slice_ns(progress), design };
                    let round = self.series_round(progress, plan, Purpose::Plain, &mut trial)?;
                    round.map_continue(|(round, done)| {
                        for (stack, done) in &done {
                            part(done, *stack);
                        }
                        round
                    })
                }
                None => {
                    let planned = trial.plan_round();
                    let (purpose, times) = match planned.kind {
                        RoundKind::Plain => (Purpose::Plain, 1),
                        RoundKind::Long => (Purpose::Long, checks::TIMES),
                    };
                    let bound = self.bound(progress, times);
                    self.round(progress, &planned, purpose, bound, &mut part)?
                }
            };
            let round = match round {
                ControlFlow::Continue(round) => round,
                ControlFlow::Break(ended) => return Ok(ended),
            };
            progress.elapsed_s += self.bench.spent_s - began_s;
            if self.drop_rounds_with_lost(progress) {
                (trial, here) = (self.trial(progress, RoundPhase::Depth), 0);
                let spent_s = progress.elapsed_s - before_s;
                if let Some(ended) = out_of_time(until, spent_s, progress.elapsed_s) {
                    return Ok(ended);
                }
                continue;
            }
            here += usize::from(round.kind == RoundKind::Plain);
            if round.kind == RoundKind::Plain {
                progress.add_by_direction(by_direction);
            }
            trial.push(&round);
            flushes_s
                .iter()
                .enumerate()
                .for_each(|(stack, seconds)| trial.flushed(stack, *seconds));
            progress.rounds.push(round);
            self.report_round(progress, &trial, until);
            let spent_s = progress.elapsed_s - before_s;
            if let Some(ended) =
                visit_end_after(&trial, until, here, spent_s, progress.elapsed_s, RoundPhase::Depth)
            {
                return Ok(ended);
            }
        }
    }

    /// Lowers the least time of the limit to the one for stacks that take turns, if they do.
    pub(super) fn soon_enough(&self, progress: &WorkloadProgress, until: VisitLimit) -> VisitLimit {
        match until {
            VisitLimit::Precise(spec) => {
                let least_s = series::least_s(
                    self.measure,
                    progress.series.is_some(),
                    self.bench.ready.len(),
                );
                VisitLimit::Precise(StopSpec { min_time_s: spec.min_time_s.min(least_s), ..spec })
            }
            other => other,
        }
    }

    fn round(
        &mut self,
        progress: &mut WorkloadProgress,
        planned: &Planned,
        purpose: Purpose,
        bound: SliceBound,
        part: &mut dyn FnMut(&SliceOutcome, usize) -> RoundPart,
    ) -> Result<ControlFlow<VisitEnd, Round>> {
        if self.bench.would_exceed(bound, planned.order.len() as u64) {
            return Ok(ControlFlow::Break(VisitEnd::MaxWritten));
        }
        let mut round = Round { kind: planned.kind, visit: self.bench.visit, ..Round::default() };
        for (position, stack) in planned.order.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(VisitEnd::Interrupted));
            }
            let worker = self.worker_of(*stack);
            let spot = SlicePosition { round: progress.next_round, position, purpose };
            round.parts.push(part(&self.bench.record(worker, bound, spot, self.observer)?, *stack));
        }
        progress.next_round += 1;
        Ok(ControlFlow::Continue(round))
    }

    pub(super) fn worker_of(&self, stack: usize) -> usize {
        // Orders consist of stacks that are ready.
        self.bench.ready.iter().position(|ready| ready.index == stack).unwrap_or(0)
    }

    /// Fixes the rate at which latencies are compared, or that they are compared one I/O at a time,
    /// and records it. Returns `false` if the stacks' own rates are not known yet.
    fn match_rate(&mut self, progress: &mut WorkloadProgress) -> Result<bool> {
        if progress.matched.is_none() && self.compares_one_at_a_time(progress) {
            // At a stated depth of 1 the rounds themselves show the latencies.
            if self.measure.matched_rate > 0.0 && self.bench.in_flight() > 1.0 {
                let workload = self.workload.name.clone();
                let matched = Matched { workload, rate_iops: None, slowest: String::new() };
                self.bench.store.append(&RunRecord::Matched(matched.clone()))?;
                progress.matched = Some(matched);
            }
        } else if progress.matched.is_none() {
            let found = matched_rate::choose_matched_rate(
                self.workload,
                self.measure,
                &progress.rounds,
                self.members,
                self.ruler,
            );
            if let Some((rate_iops, slowest)) = found {
                // The slowest stack may be in another set and not up now.
                let slowest = self.names.get(slowest).copied().unwrap_or_default().to_owned();
                let workload = self.workload.name.clone();
                let matched = Matched { workload, rate_iops: Some(rate_iops), slowest };
                self.bench.store.append(&RunRecord::Matched(matched.clone()))?;
                progress.matched = Some(matched);
            }
        }
        Ok(progress.matched.is_some())
    }

    /// Runs the workload again as an open loop, in which I/Os start on schedule on every stack, or
    /// one I/O at a time, so that latencies compare.
    fn at_matched_rate(
        &mut self,
        progress: &mut WorkloadProgress,
        until: VisitLimit,
    ) -> Result<VisitEnd> {
        let Some(matched) = &progress.matched else { return Ok(VisitEnd::Visit) };
        let Some(rate_iops) = matched.rate_iops else { return self.one_at_a_time(progress, until) };
        let on = match self.bench.ready {
            [one] => one.stack.clone(),
            _ => "every stack".to_owned(),
        };
        let until = matched_rate::matched_limit(until, progress.elapsed_s);
        let most = until
            .most_s(progress.matched_s)
            .map(|most_s| format!(" (at most {most_s:.0} s)"))
            .unwrap_or_default();
        let what = format!("latencies at {rate_iops:.0} I/Os a second on {on}{most}");
        self.observer.notify(RunEvent::LongPhase { what });
        self.bench.prepare(OfferedLoad::Rate(rate_iops))?;
        let ended = self.matched_rounds(progress, until, None);
        let ended = self.read_back(ended)?;
        self.bench.end()?;
        Ok(ended)
    }

    /// Verifies what was written, after the last slice of a workload that verifies. If the load
    /// failed, returns that error rather than one of reading back.
    fn read_back(&mut self, ended: Result<VisitEnd>) -> Result<VisitEnd> {
        if !self.workload.verifies() {
            return ended;
        }
        let whole = ended.as_ref().is_ok_and(|ended| *ended != VisitEnd::Interrupted);
        let checked = self.bench.read_back(whole, self.stop, self.observer);
        ended.and_then(|ended| checked.map(|()| ended))
    }

    /// Runs rounds of latencies until they are known well enough: in series, or slice by slice.
    pub(super) fn matched_rounds(
        &mut self,
        progress: &mut WorkloadProgress,
        until: VisitLimit,
        series: Option<SeriesPlan>,
    ) -> Result<VisitEnd> {
        self.drop_rounds_with_lost(progress);
        let mut trial = self.trial(progress, RoundPhase::Matched);
        let bound = self.bound(progress, 1);
        let (mut here, before_s) = (0, progress.matched_s);
        loop {
            let began_s = self.bench.spent_s;
            let round = match series {
                Some(series) => self
                    .series_round(progress, series, Purpose::Matched, &mut trial)?
                    .map_continue(|(round, _)| round),
                None => {
                    let planned = Planned { kind: RoundKind::Plain, ..trial.plan_round() };
                    let mut part = |done: &SliceOutcome, stack: usize| done.latency_part(stack);
                    self.round(progress, &planned, Purpose::Matched, bound, &mut part)?
                }
            };
            let round = match round {
                ControlFlow::Continue(round) => round,
                ControlFlow::Break(ended) => return Ok(ended),
            };
            progress.matched_s += self.bench.spent_s - began_s;
            if self.drop_rounds_with_lost(progress) {
                (trial, here) = (self.trial(progress, RoundPhase::Matched), 0);
                let spent_s = progress.matched_s - before_s;
                if let Some(ended) = out_of_time(until, spent_s, progress.matched_s) {
                    return Ok(ended);
                }
                continue;
            }
            here += 1;
            trial.push(&round);
            progress.matched_rounds.push(round);
            let spent_s = progress.matched_s - before_s;
            if let Some(ended) = visit_end_after(
                &trial,
                until,
                here,
                spent_s,
                progress.matched_s,
                RoundPhase::Matched,
            ) {
                return Ok(ended);
            }
        }
    }

    /// Drops rounds with a place that is lost by now, or without a place that is back, since they
    /// have another load. They stay in the record. Returns true if the lost places have changed.
    fn drop_rounds_with_lost(&mut self, progress: &mut WorkloadProgress) -> bool {
        let lost = self.bench.lost_places();
        let others = lost != progress.lost;
        if others {
            progress.rounds.clear();
            progress.matched_rounds.clear();
            progress.by_direction.clear();
            progress.lost = lost;
        }
        others
    }

    pub(super) fn announce_phase(&mut self, what: String) {
        self.observer.notify(RunEvent::Phase { what });
    }

    fn report_round(&mut self, progress: &WorkloadProgress, trial: &RoundTrial, until: VisitLimit) {
        let mut left_s: Option<f64> = None;
        let mut comparisons = Vec::new();
        // Until writes are steady there is nothing to show but the time.
        for (stack, rounds) in trial.judge_comparisons().unwrap_or_default() {
            let found = ratio::estimate(&rounds).ok();
            if let (Some(found), VisitLimit::Precise(spec)) = (&found, until) {
                let per_round = progress.elapsed_s / rounds.len() as f64;
                let more = stop::rounds_needed(found, &spec).saturating_sub(rounds.len()) as f64
                    * per_round;
                left_s =
                    Some(left_s.unwrap_or(0.0).max(more).max(spec.min_time_s - progress.elapsed_s));
            }
            let ratio = ratio::ratio_of_totals(&rounds).unwrap_or(1.0);
            let ratio = if self.workload.writes() { 1.0 / ratio } else { ratio };
            comparisons.push(LiveComparison {
                stack: self.bench.ready[self.worker_of(stack)].stack.clone(),
                cost: 1.0 - ratio,
                half_width: found.as_ref().and_then(sequence::half_width),
                directions: progress.cost_by_direction([self.baseline, stack]),
            });
        }
        let live = LiveState {
            round: progress.rounds.len(),
            elapsed_s: progress.elapsed_s,
            left_s,
            comparisons,
        };
        self.observer.notify(RunEvent::Round(live));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundPhase {
    Depth,
    Matched,
}

/// Returns how a visit ends after `here` plain rounds and `spent_s` seconds; `None` if it goes on.
/// `all_s` are the seconds of all visits together.
fn visit_end_after(
    trial: &RoundTrial,
    until: VisitLimit,
    here: usize,
    spent_s: f64,
    all_s: f64,
    phase: RoundPhase,
) -> Option<VisitEnd> {
    match until {
        VisitLimit::AsBefore { rounds, matched } => {
            let wanted = if phase == RoundPhase::Depth { rounds } else { matched };
            (here >= wanted).then_some(VisitEnd::Visit)
        }
        VisitLimit::Time(seconds) => (spent_s >= seconds).then_some(VisitEnd::Visit),
        VisitLimit::Precise(spec) => match trial.decide(all_s, &spec) {
            Decision::Continue { .. } => None,
            Decision::Stop(StopReason::Precision) => Some(VisitEnd::Precision),
            Decision::Stop(StopReason::RateLimited) => Some(VisitEnd::RateLimited),
            Decision::Stop(StopReason::Budget) => Some(VisitEnd::Budget),
        },
    }
}

/// Returns a design with slices of that length in a random order and its mirror image.
fn mirrored(slice_ns: u64) -> Design {
    Design { slice_s: slice_ns as f64 / 1e9, pattern: Pattern::Mirror, period_s: None }
}

fn out_of_time(until: VisitLimit, spent_s: f64, all_s: f64) -> Option<VisitEnd> {
    match until {
        VisitLimit::AsBefore { .. } => None,
        VisitLimit::Time(seconds) => (spent_s >= seconds).then_some(VisitEnd::Visit),
        VisitLimit::Precise(spec) => (all_s >= spec.budget_s).then_some(VisitEnd::Budget),
    }
}

/// Rounds a number of bytes up to a multiple of `unit`, one at least.
pub(super) fn in_units(bytes: f64, unit: u64) -> u64 {
    ((bytes / unit as f64).ceil().max(1.0) as u64) * unit
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
