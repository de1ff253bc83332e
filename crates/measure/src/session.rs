//! Carries out a run from its first step to its last. The files under test are made first. Then,
//! visit by visit, the sets of stacks are brought up, measured and removed. However the run ends
//! (done, Ctrl-C, a failure), everything is removed and the measurements are kept.

use super::announced_once::AnnouncedOnce;
use super::course::Courses;
use super::matched_rate::left_for_depth;
use super::network_peer::FarEnd;
use super::observer::{Observer, RunEvent};
use super::places::{self, Places};
use super::plan::{PlanBounds, PlanGround, SetPlan};
use super::resume_state::ResumeState;
use super::rounds::{Visit, VisitEnd, VisitLimit};
use super::sets::{SetLayout, StackSet, layout};
use super::survey::{self, Survey};
use super::visit_workers::{Bench, LoadedMember, OfferedLoad, StackUnderLoad};
use super::{clusters, operator, states};
use anyhow::{Context, Result, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::threads::ServingThread;
use iotax_engines::serving::Allowed;
use iotax_facts::place::Place;
use iotax_host::busy::CpuReading;
use iotax_host::guard::admit::Admitted;
use iotax_host::guard::judge::Intent;
use iotax_host::guard::{fill, marker};
use iotax_host::probe::Probe;
use iotax_layers::{ExposedDevice, guest};
use iotax_load::TargetSpec;
use iotax_model::record::{BUSY, RunRecord, WARNING_KINDS, Warning};
use iotax_model::scenario::{Medium, Regime, Scenario, Stack, Workload};
use iotax_stats::rounds::{Round, RoundKind};
use iotax_stats::schedule::Schedule;
use iotax_stats::steady::SteadySpec;
use iotax_stats::stop::StopSpec;
use iotax_steps::executor::Executor;
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use iotax_store::Writer;
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use iotax_wire::stops;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Most time for which a run watches which processes are busy. With a short budget it is one part
/// in [`LOOK_PART`] of the budget.
const MOST_LOOK: Duration = Duration::from_millis(500);
const LOOK_PART: u64 = 40;

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every workload was measured to its end.
    Complete,
    Interrupted,
}

impl RunOutcome {
    /// Returns the word for the outcome in the record.
    pub fn word(self) -> &'static str {
        match self {
            RunOutcome::Complete => "complete",
            RunOutcome::Interrupted => "interrupted",
        }
    }
}

/// State of a run.
pub struct Session<'a> {
    /// The scenario that was asked for.
    pub scenario: &'a Scenario,
    pub survey: Survey,
    /// Programs and images that this machine has for guests.
    pub guest_parts: Option<guest::GuestParts>,
    /// Performs steps under the journal.
    pub executor: Executor,
    pub store: Writer,
    pub observer: &'a mut dyn Observer,
    pub stop: &'a AtomicBool,
    /// Measurements of earlier parts of a resumed run; grows as this part goes on.
    pub past: ResumeState,
    /// Warnings that were given already.
    pub told: AnnouncedOnce,
    /// Devices that the guard has let this run write.
    pub admitted: Admitted,
    /// Bytes that the load may still write; `None`: `max_written` was not given.
    pub allowance: Option<u64>,
    /// Courses of load to run instead of a comparison.
    pub courses: Option<Courses>,
}

/// Outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum VisitOutcome {
    Done,
    Interrupted,
    /// The baseline runs at this share of its rate while the other stacks are up.
    Disturbed(f64),
}

/// A visit as planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedVisit {
    pub(super) number: u32,
    pub(super) set: usize,
}

impl Session<'_> {
    /// Carries the run out.
    ///
    /// # Errors
    /// The first failure, together with whatever could not be removed afterwards.
    pub fn run(&mut self) -> Result<RunOutcome> {
        let layout = layout(self.scenario);
        let layout = if self.past.apart { layout.apart(&self.scenario.stacks) } else { layout };
        let mut places = Places::default();
        stops::watch();
        let result = self.carry_out(&layout, &mut places);
        self.observer.tell(RunEvent::TakingDown);
        places.put_down();
        let taken_down = self.take_down(0);
        drop(places);
        let result = self.not_a_failure(result);
        let outcome = match (&result, &taken_down) {
            (Ok(outcome), Ok(())) => outcome.word().to_owned(),
            (Err(error), _) | (_, Err(error)) => format!("{error:#}"),
        };
        let stored = self
            .store
            .append(&RunRecord::End { at: now(), outcome })
            .and_then(|()| self.store.sync());
        // A full disk must not hide how the run failed, or that something is still there.
        let result = result.and_then(|outcome| {
            stored.map(|()| outcome).map_err(|error| Failed::from(error).into())
        });
        let result = self.unless_removed(result, taken_down.is_ok());
        match (result, taken_down) {
            (Ok(outcome), Ok(())) => Ok(outcome),
            (Err(error), Ok(())) | (Ok(_), Err(error)) => Err(error),
            (Err(first), Err(second)) => Err(second.context(format!("{first:#}"))),
        }
    }

    /// Turns any outcome into an error if somebody removed the run's folder: such a run has nothing
    /// to show.
    fn unless_removed(&self, result: Result<RunOutcome>, taken_down: bool) -> Result<RunOutcome> {
        let Err(gone) = self.store.present() else { return result };
        let done = if taken_down { "; all that it had set up was taken down" } else { "" };
        let hint = "run it again, and leave its folder until it has ended";
        Err(Failed::measurement(format!("{gone}{done}; hint: {hint}")).into())
    }

    /// Turns a failure into an interruption if Ctrl-C caused it.
    fn not_a_failure(&mut self, result: Result<RunOutcome>) -> Result<RunOutcome> {
        match result {
            Err(error) if self.stop.load(Ordering::Relaxed) => {
                self.observer.tell(RunEvent::Warning { text: format!("interrupted: {error:#}") });
                Ok(RunOutcome::Interrupted)
            }
            other => other,
        }
    }

    fn carry_out(&mut self, layout: &SetLayout, places: &mut Places) -> Result<RunOutcome> {
        let at_first = if self.needs_host() { CpuReading::now(&host_probe()) } else { None };
        for note in &self.scenario.notes {
            self.observer.tell(RunEvent::Note { text: note.clone() });
        }
        for text in self.survey.warnings.clone() {
            self.warn("target", "", text)?;
        }
        self.reach_remotes(places)?;
        if self.needs_host() {
            let run_id = self.run_id();
            places.reach_host(&run_id)?;
            self.record_place(places, &Place::Host)?;
        }
        // Everything that can be refused is refused before the first file is made and filled.
        let PlanBounds { region, left_to_write } = self.ground(layout).bounds()?;
        let lacking = self.ground(layout).consents_lacking()?;
        ensure!(lacking.is_empty(), Failed::input(lacking.join("\n")));
        for text in self.ground(layout).guest_warnings()? {
            self.warn("guests", "", text)?;
        }
        self.allowance = left_to_write.map(|left| self.left_after_past(left)).transpose()?;
        self.reach_hands(layout)?;
        self.bring_up_labs(layout, places)?;
        self.needs_are_met_elsewhere()?;
        let media = self.ground(layout).media()?;
        self.perform_all(&media)?;
        self.precondition(layout, places)?;
        at_first.map_or(Ok(()), |at_first| self.tell_who_is_busy(&at_first))?;
        let outcome = match (&self.scenario.durability, self.courses.take()) {
            (Some(spec), _) => self.trials(spec, layout, places, region),
            (None, Some(mut courses)) => {
                let outcome = self.courses(&mut courses, layout, places, region);
                self.courses = Some(courses);
                outcome
            }
            (None, None) => self.visits(layout, places, region),
        };
        for place in places.all() {
            places.leave(&place);
        }
        outcome
    }

    /// Warns of processes that kept the CPUs of this host busy while the run was prepared.
    fn tell_who_is_busy(&mut self, at_first: &CpuReading) -> Result<()> {
        let wanted =
            MOST_LOOK.min(Duration::from_nanos(self.scenario.measure.budget_ns / LOOK_PART));
        std::thread::sleep(wanted.saturating_sub(at_first.read_at.elapsed()));
        let now = CpuReading::now(&host_probe()).map(|now| now.since(at_first, std::process::id()));
        let sentence = now.and_then(|found| found.sentence());
        sentence.map_or(Ok(()), |sentence| self.warn(BUSY, "host", sentence))
    }

    /// Returns what is left of `max_written` for the load. Passes over data that an earlier part of
    /// the run lost may not fit any more.
    fn left_after_past(&self, left: u64) -> Result<u64> {
        let fits = left >= self.past.written || self.scenario.measure.precondition.passes == 0;
        ensure!(
            fits,
            Failed::input(format!(
                "earlier parts of this run wrote {} already, and max_written leaves {} beside what is to be \
                 written again; hint: keep=true for files, or a new run",
                show_bytes(self.past.written),
                show_bytes(left)
            ))
        );
        Ok(left.saturating_sub(self.past.written))
    }

    fn visits(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
    ) -> Result<RunOutcome> {
        let mut manual_steps = 0;
        for chain in self.planned_visits(layout) {
            let before = manual_steps;
            manual_steps += operator::steps_of(self.scenario, &layout.sets[chain[0].set]);
            match self.visit(layout, places, (&chain, before), region)? {
                VisitOutcome::Done => {}
                VisitOutcome::Interrupted => return self.interrupted(),
                VisitOutcome::Disturbed(share) => {
                    return self.visits_apart(layout, places, region, share);
                }
            }
        }
        for workload in self.scenario.workloads.clone() {
            let ends = self.past.workloads_done.insert(workload.name.clone());
            if ends && !self.past.ended.is_empty() {
                self.end_workload(&workload.name, "visits")?;
            }
        }
        Ok(RunOutcome::Complete)
    }

    /// Visits the stacks one at a time from here on, because stacks that are merely up slow the
    /// baseline down.
    fn visits_apart(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
        share: f64,
    ) -> Result<RunOutcome> {
        let reason = format!(
            "the baseline runs at {:.1} % of its rate while the other stacks are up, though they do nothing",
            100.0 * share
        );
        self.observer.tell(RunEvent::Warning {
            text: format!("{reason}: each is measured by itself, in visits"),
        });
        self.store.append(&RunRecord::Apart { reason })?;
        self.past.apart = true;
        self.visits(&layout.apart(&self.scenario.stacks), places, region)
    }

    fn interrupted(&mut self) -> Result<RunOutcome> {
        for workload in self.scenario.workloads.clone() {
            if self.past.progress.contains_key(&workload.name)
                && !self.past.workloads_done.contains(&workload.name)
            {
                self.end_workload(&workload.name, "interrupted")?;
            }
        }
        Ok(RunOutcome::Interrupted)
    }

    /// Returns the number of visits of the only set: one on each of the equal siblings, times the
    /// attaches that were asked for.
    fn ways(&self, layout: &SetLayout) -> usize {
        layout.visits_of_a_set(&self.scenario.measure) as usize
    }

    /// Plans the visits. Stacks that can be up together have one visit, or as many as there are
    /// equal siblings if these are swapped (two: at half time), and that for every attach. Sets
    /// that take turns have several visits in random order. Sets of one chain are in one visit.
    fn planned_visits(&self, layout: &SetLayout) -> Vec<Vec<PlannedVisit>> {
        if layout.sets.len() == 1 {
            // This is a Latin square: every stack once on every one of the equal files.
            let last = self.past.first_visit + self.ways(layout) as u32 - 1;
            return (self.past.first_visit..=last)
                .map(|number| vec![PlannedVisit { number, set: 0 }])
                .collect();
        }
        let chains = layout.chains();
        let mut made = vec![0; chains.len()];
        let mut schedule = Schedule::new(self.scenario.measure.seed, u64::MAX);
        schedule
            .visits(chains.len(), self.scenario.measure.visits as usize)
            .into_iter()
            .map(|chain| {
                made[chain] += 1;
                let number = made[chain] - 1;
                chains[chain].iter().map(|set| PlannedVisit { number, set: *set }).collect()
            })
            .collect()
    }

    /// Returns the workloads that a visit is still to measure on a set.
    fn todo(&self, planned: PlannedVisit) -> Vec<usize> {
        let is_left = |index: &usize| {
            let name = &self.scenario.workloads[*index].name;
            !self.past.workloads_done.contains(name)
                && !self.past.ended.contains(&(planned.number, planned.set as u32, name.clone()))
        };
        (0..self.scenario.workloads.len()).filter(is_left).collect()
    }

    /// Brings a set up, measures every workload on it, in one state after the other if it has
    /// states, and removes it.
    fn visit(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        (chain, manual_steps): (&[PlannedVisit], usize),
        region: u64,
    ) -> Result<VisitOutcome> {
        let Some(last) = chain.iter().rposition(|planned| !self.todo(*planned).is_empty()) else {
            return Ok(VisitOutcome::Done);
        };
        let (planned, further) = (chain[0], &chain[1..=last]);
        let before = self.executor.mark();
        let set = &layout.sets[planned.set];
        let most = operator::most_steps(self.scenario, layout);
        if !self.await_operator(places, set, (manual_steps, most))? {
            return Ok(VisitOutcome::Interrupted);
        }
        let mark = self.executor.mark();
        let up = self.bring_up(layout, places, planned)?;
        self.record_drives(places, &up)?;
        let mut ready = self.ready(places, &up, region)?;
        for one in &mut ready {
            one.serving = self.serving(places, &up, one.index)?;
        }
        self.record_guests(places, &up, &ready)?;
        self.record_layers(places, planned.set, &up)?;
        self.record_serving(&ready)?;
        self.write_first(places, planned, &up, &ready, region)?;
        self.warn_of_unwritten(places, &ready, region)?;
        let mut outcome = self.measure_all(layout, places, planned, &up, &ready)?;
        for planned in further {
            if outcome != VisitOutcome::Done {
                break;
            }
            let ready = self.in_next_state(layout, places, *planned, &up, &ready)?;
            self.record_serving(&ready)?;
            outcome = self.measure_all(layout, places, *planned, &up, &ready)?;
        }
        self.leave_restarted(places, &up.steps);
        // Things that are set up in a guest may be on a disk that outlives it.
        self.executor.undo_to(mark + up.in_guests)?;
        for guest in &up.guests {
            places.leave(&guest.place);
        }
        // Nothing is written between visits, and the next set's layers must be able to open the
        // devices.
        for place in places.all() {
            places.get(&place)?.allow(&Allowed::default())?;
        }
        self.take_down(mark)?;
        self.leave_operators_places(places, set);
        self.take_down(before)?;
        Ok(outcome)
    }

    /// Measures every workload that is left on a set that is up.
    fn measure_all(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        planned: PlannedVisit,
        up: &SetPlan,
        ready: &[StackUnderLoad],
    ) -> Result<VisitOutcome> {
        for index in self.todo(planned) {
            match self.measure(layout, places, planned, up, ready, index)? {
                VisitEnd::Interrupted => return Ok(VisitOutcome::Interrupted),
                VisitEnd::Disturbed { share } => return Ok(VisitOutcome::Disturbed(share)),
                _ => {}
            }
        }
        Ok(VisitOutcome::Done)
    }

    /// Undoes what is up above a mark, and reports the notes of the steps.
    pub(super) fn take_down(&mut self, mark: usize) -> Result<()> {
        let taken_down = self.executor.undo_to(mark);
        self.tell_notes()?;
        taken_down
    }

    /// Reports the notes of steps that a reader must know.
    fn tell_notes(&mut self) -> Result<()> {
        let notes = self.executor.notes();
        notes.into_iter().try_for_each(|note| self.warn("target", "", note))
    }

    fn measure(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        planned: PlannedVisit,
        up: &SetPlan,
        ready: &[StackUnderLoad],
        index: usize,
    ) -> Result<VisitEnd> {
        let workload = &self.scenario.workloads[index];
        let is_for = |one: &&StackUnderLoad| {
            workload.is_for(&self.scenario.stacks[one.index], &self.scenario.stacks)
        };
        let ready: &[StackUnderLoad] = &ready.iter().filter(is_for).cloned().collect::<Vec<_>>();
        if ready.is_empty() {
            return self.after_visit(layout, planned, &workload.name.clone(), VisitEnd::Visit);
        }
        let until = match self.until(layout, planned, workload.name.as_str()) {
            // There is nothing to compare.
            VisitLimit::Precise(spec) if ready.len() == 1 => VisitLimit::Time(spec.min_time_s),
            until => until,
        };
        let spent_s =
            self.past.progress.get(&workload.name).map_or(0.0, |progress| progress.elapsed_s);
        let budget_s = match until {
            VisitLimit::Precise(spec) => (spec.budget_s - spent_s).max(0.0),
            VisitLimit::Time(seconds) => seconds,
            VisitLimit::AsBefore { .. } => {
                self.seconds(&workload.name).budget_s / self.ways(layout) as f64
            }
        };
        let subject = workload.subject() + &self.part_of(layout, planned, workload);
        self.observer.tell(RunEvent::Workload { subject, spent_s, budget_s });
        let mut progress = self.past.progress.remove(&workload.name).unwrap_or_default();
        // Every visit has a stream of its own: a resumed run must not draw the same orders again.
        let stream = (index as u64) << 32 | u64::from(planned.number) << 8 | planned.set as u64;
        let largest = self.survey.write_caches.first();
        let steady =
            (self.scenario.measure.regime == Regime::Steady && workload.writes()).then(|| {
                SteadySpec {
                    known_cache: largest.map(|cache| cache.bytes as f64),
                    reaches: self.scenario.reaches(),
                }
            });
        let members: Vec<u64> = self.scenario.stacks.iter().map(Stack::targets).collect();
        let names: Vec<&str> =
            self.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
        let watched = self.watched(up, ready)?;
        let indices: Vec<usize> = ready.iter().map(|ready| ready.index).collect();
        // Further states of an array come right after the first, and some do not last.
        let first = layout.sets[planned.set].after.is_none();
        let precondition = self.scenario.measure.precondition;
        let precondition =
            Some(precondition).filter(|spec| spec.steady && first && workload.writes());
        let mut visit = Visit {
            write_caches: &self.survey.write_caches,
            steady,
            precondition,
            bench: Bench {
                visit: planned.number,
                set: planned.set as u32,
                ready,
                workload,
                allowance: &mut self.allowance,
                places,
                store: &mut self.store,
                spent_s: 0.0,
                starts: BTreeMap::new(),
                clocks: BTreeMap::new(),
                prepared: BTreeSet::new(),
                offered: OfferedLoad::Jobs(Vec::new()),
                keeper: Some(states::keeper(&mut self.executor, watched)),
                clusters: clusters::below(self.scenario, up, &indices),
                failing: Default::default(),
                traffic: Default::default(),
                transients: Default::default(),
                turns: Default::default(),
                placed: 0,
                recorded: Vec::new(),
                stops: &stops::since,
            },
            baseline: self.scenario.baseline,
            names: &names,
            members: &members,
            ruler: self.scenario.ruler(),
            workload,
            measure: &self.scenario.measure,
            stream,
            observer: self.observer,
            stop: self.stop,
        };
        let mut ended = visit.measure(&mut progress, until);
        if ended.is_ok() {
            ended = visit.bench.read_all_clusters().and(ended);
        }
        self.past.progress.insert(workload.name.clone(), progress);
        match ended {
            Ok(ended) => self.after_visit(layout, planned, &workload.name.clone(), ended),
            Err(error) => {
                // A slice that Ctrl-C made fail says nothing about the stack.
                let stopped = self.stop.load(Ordering::Relaxed);
                let reason = if stopped { "interrupted".to_owned() } else { format!("{error:#}") };
                self.end_workload(&workload.name.clone(), &reason)?;
                Err(error)
            }
        }
    }

    /// Formats the part of a workload that this visit measures, if one set is visited several
    /// times: `, half 1 of 2 (the stacks swap their equal files in between)`. Probes have no files.
    fn part_of(&self, layout: &SetLayout, planned: PlannedVisit, workload: &Workload) -> String {
        let ways = self.ways(layout);
        if layout.sets.len() > 1 || ways == 1 {
            return String::new();
        }
        let part = if ways == 2 { "half" } else { "part" };
        let between = match layout.siblings() {
            _ if workload.probe.is_some() => "",
            1 => " (the stacks are set up again in between)",
            _ => " (the stacks swap their equal files in between)",
        };
        format!(", {part} {} of {ways}{between}", planned.number + 1)
    }

    fn after_visit(
        &mut self,
        layout: &SetLayout,
        planned: PlannedVisit,
        workload: &str,
        ended: VisitEnd,
    ) -> Result<VisitEnd> {
        if matches!(ended, VisitEnd::Interrupted | VisitEnd::Disturbed { .. }) {
            return Ok(ended);
        }
        let set = planned.set as u32;
        self.store.append(&RunRecord::VisitEnd {
            visit: planned.number,
            set,
            workload: workload.to_owned(),
        })?;
        if layout.sets.len() > 1 {
            self.past.ended.insert((planned.number, set, workload.to_owned()));
            return Ok(ended);
        }
        let goes_on = planned.number + 1 < self.ways(layout) as u32;
        if !goes_on {
            let reason = match ended {
                VisitEnd::Precision => "precision",
                VisitEnd::RateLimited => "rate_limited",
                VisitEnd::Budget => "budget",
                VisitEnd::MaxWritten => "max_written",
                _ => "time",
            };
            self.past.workloads_done.insert(workload.to_owned());
            self.end_workload(workload, reason)?;
        }
        Ok(ended)
    }

    fn until(&self, layout: &SetLayout, planned: PlannedVisit, workload: &str) -> VisitLimit {
        let spec = self.seconds(workload);
        let k = f64::from(self.scenario.measure.visits.max(1)) * layout.sets.len() as f64;
        match (layout.sets.len(), self.ways(layout)) {
            (1, 1) if self.scenario.stacks.len() == 1 => VisitLimit::Time(spec.min_time_s),
            (1, 1) => VisitLimit::Precise(spec),
            // Each way round gets an equal part of the time; the later ones last as long as the
            // first.
            (1, ways) if planned.number == 0 => VisitLimit::Precise(StopSpec {
                precision: spec.precision * (ways as f64).sqrt(),
                min_time_s: spec.min_time_s / ways as f64,
                budget_s: spec.budget_s / ways as f64,
            }),
            (1, _) => {
                let progress = self.past.progress.get(workload);
                let plain = |round: &&Round| round.kind == RoundKind::Plain;
                let of = |rounds: &[Round]| {
                    (rounds.iter().filter(plain).count() / planned.number as usize).max(1)
                };
                let (rounds, matched) =
                    progress.map_or((1, 1), |past| (of(&past.rounds), of(&past.matched_rounds)));
                VisitLimit::AsBefore { rounds, matched }
            }
            _ => VisitLimit::Time(spec.min_time_s.min(spec.budget_s / k)),
        }
    }

    fn seconds(&self, workload: &str) -> StopSpec {
        let measure = &self.scenario.measure;
        let named = self.scenario.workloads.iter().find(|one| one.name == workload);
        let is_probe = named.is_some_and(|one| one.probe.is_some());
        StopSpec {
            precision: measure.precision,
            min_time_s: measure.min_time_ns as f64 / 1e9,
            budget_s: match is_probe {
                true => measure.budget_ns as f64 / 1e9,
                false => left_for_depth(measure.budget_ns as f64 / 1e9, measure),
            },
        }
    }

    /// Performs the steps of a set and reaches its guests. If KVM turns out to be emulated, TCG
    /// replaces it.
    pub(super) fn bring_up(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        planned: PlannedVisit,
    ) -> Result<SetPlan> {
        loop {
            let mark = self.executor.mark();
            let plan = self.ground(layout).set(&layout.sets[planned.set], planned.number)?;
            let set = &layout.sets[planned.set];
            self.reach_again(places, set)?;
            self.look_again(places, set)?;
            self.leave_restarted(places, &plan.steps);
            for step in self.ground(layout).restored_media(set, planned.number)? {
                if !is_whole(&step) {
                    self.perform(&step)?;
                    // This step needs no undo, and the resources that are up are counted from here.
                    self.executor.forget_last()?;
                }
            }
            self.perform_all(&plan.steps[..plan.in_guests])?;
            self.tell_notes()?;
            self.reach_again(places, set)?;
            match self.reach_guests(places, &plan) {
                Ok(()) => {
                    self.needs_are_met_in_guests(&plan)?;
                    self.perform_all(&plan.steps[plan.in_guests..])?;
                    self.tell_notes()?;
                    return Ok(plan);
                }
                Err(error) if self.fall_back_to_tcg(&error) => {
                    self.warn(
                        "accelerator",
                        "",
                        format!("KVM shows no sign of life, TCG is used instead: {error:#}"),
                    )?;
                    plan.guests.iter().for_each(|guest| places.leave(&guest.place));
                    self.executor.undo_to(mark)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Looks again at devices that the run will write, just before it first does, because downloads
    /// and fills lie between this and the first look. Later visits find what the run itself left
    /// there. Devices that are only read must also be the ones that were looked at: a drive that
    /// was with a guest may have come back under another's name.
    pub(super) fn look_again(&mut self, places: &mut Places, set: &StackSet) -> Result<()> {
        for index in &set.stacks {
            let stack = &self.scenario.stacks[*index];
            let intent = survey::intent(self.scenario, stack);
            for member in stack.medium.members() {
                self.look_again_afar(places, stack, member)?;
                let Medium::Device { path } = member else { continue };
                self.survey.recognise(path)?;
                if intent == Intent::Write && !self.admitted.knows(path)? {
                    let (inspection, _) = survey::admitted(path, intent, self.scenario, stack)?;
                    self.admitted.add(path, inspection.identity);
                }
            }
        }
        Ok(())
    }

    pub(super) fn fall_back_to_tcg(&mut self, error: &anyhow::Error) -> bool {
        match &mut self.guest_parts {
            Some(parts) if guest::is_dead_kvm(error) => parts.fall_back_to_tcg(),
            _ => false,
        }
    }

    pub(super) fn reach_guests(&mut self, places: &mut Places, plan: &SetPlan) -> Result<()> {
        let run_id = self.run_id();
        for guest in &plan.guests {
            self.observer.tell(RunEvent::Reaching { place: format!("guest {}", guest.place) });
            places.reach_guest(guest, &run_id, self.stop)?;
            if guest.files.steps.is_some() {
                self.executor.add_place(&guest.place, places::executor_in_guest(guest, &run_id)?);
            }
        }
        Ok(())
    }

    pub(super) fn devices_in(&self, place: &Place) -> Vec<PathBuf> {
        let of = |medium: &Medium| match medium {
            // A file that is not there yet is known by its folder's file system.
            Medium::File { path, .. } if place.is_host() && path.exists() => Some(path.clone()),
            Medium::File { path, .. } if place.is_host() => path.parent().map(PathBuf::from),
            Medium::Device { path } if place.is_host() => Some(path.clone()),
            Medium::Remote { host, path, size, agent, .. } if place.ssh_host() == Some(host) => {
                let made = size.is_some() && *agent == iotax_model::scenario::LoadIssuer::Iotax;
                path.parent().filter(|_| made).map(PathBuf::from).or_else(|| Some(path.clone()))
            }
            Medium::Drive { place: lab, name } if place == lab => Some(guest::lab::link_of(name)),
            _ => None,
        };
        let media = self.scenario.stacks.iter().flat_map(|stack| stack.medium.members());
        let mut devices: Vec<PathBuf> = media.filter_map(of).collect();
        devices.dedup();
        devices
    }

    /// Returns the location of each stack of the set for the load, after giving the guard there the
    /// list of what may be written.
    pub(super) fn ready(
        &mut self,
        places: &mut Places,
        up: &SetPlan,
        region: u64,
    ) -> Result<Vec<StackUnderLoad>> {
        let mut ready = Vec::new();
        let mut made: BTreeMap<Place, Vec<PathBuf>> = BTreeMap::new();
        for (index, exposed) in &up.targets {
            let executor = &self.executor;
            let resolve = |path: &PathRef| executor.path_of(path);
            let mut members = Vec::new();
            for (place, paths) in exposed.loaded() {
                if places.is_lost(place) {
                    continue;
                }
                let mut targets = Vec::new();
                // A place alone has no target.
                for target in paths.into_iter().filter(|path| **path != PathRef::Nothing) {
                    let path = places.get(place)?.locate(target, &resolve)?;
                    // The run made it: a step did, or it is a drive of a lab.
                    if !matches!(target, PathRef::Path(_)) || self.scenario.labs.contains_key(place)
                    {
                        made.entry(place.clone()).or_default().push(path.clone());
                    }
                    targets.push(TargetSpec {
                        path,
                        bytes: Some(region / exposed.parts()),
                        writable: exposed.writable && self.scenario.writes(),
                        hold: exposed.hold,
                    });
                }
                members.push(LoadedMember { place: place.clone(), targets });
            }
            ensure!(
                !members.is_empty(),
                Failed::measurement(format!(
                    "{}: every place that it was loaded in is lost; hint: iotax resume, when they are back",
                    self.scenario.stacks[*index].name
                ))
            );
            ready.push(StackUnderLoad {
                index: *index,
                stack: self.scenario.stacks[*index].name.clone(),
                members,
                engine: exposed.engine,
                owed: self.devices_in(&Place::Host),
                others: self.places_below(*index, exposed),
                media: up.media_of(*index),
                far_end: FarEnd::network_medium(&self.scenario.stacks[*index].medium),
                serving: BTreeMap::new(),
            });
        }
        let loaded: BTreeSet<Place> = ready
            .iter()
            .flat_map(|ready| &ready.members)
            .map(|member| member.place.clone())
            .collect();
        for place in loaded {
            let made = made.get(&place).cloned().unwrap_or_default();
            let admitted =
                if place.is_host() { self.admitted.clone() } else { Admitted::default() };
            let consent = self.scenario.consent.clone();
            places.get(&place)?.allow(&Allowed { consent, made, admitted })?;
        }
        Ok(ready)
    }

    /// Returns the threads that serve a stack's I/O, other than its load, each once, in places that
    /// can be asked.
    pub(super) fn serving(
        &mut self,
        places: &Places,
        up: &SetPlan,
        index: usize,
    ) -> Result<BTreeMap<Place, Vec<ServingThread>>> {
        let mut all: BTreeMap<Place, Vec<ServingThread>> = BTreeMap::new();
        for step in up.steps_serving(index) {
            let (place, threads) = self.executor.threads_of(step)?;
            if places.has(&place) && !threads.is_empty() {
                all.entry(place).or_default().extend(threads);
            }
        }
        for threads in all.values_mut() {
            threads.sort_by_key(|thread| thread.id);
            threads.dedup_by_key(|thread| thread.id);
        }
        Ok(all)
    }

    /// Returns the places that work for a stack and have no load of it. Guests on this host count
    /// as this host, unless the load is in one.
    fn places_below(&self, index: usize, exposed: &ExposedDevice) -> Vec<Place> {
        let counted = exposed.loaded().iter().any(|(place, _)| place.is_guest());
        let of = |place: Place| if place.is_guest() { Place::Host } else { place };
        let below: BTreeSet<Place> =
            self.scenario.stacks[index].places().into_iter().map(of).collect();
        below
            .into_iter()
            .filter(|place| !(exposed.is_in(place) || counted && place.is_host()))
            .collect()
    }

    fn needs_host(&self) -> bool {
        // The CPU time that a lab takes of this host counts, too.
        !self.scenario.labs.is_empty()
            || !self.scenario.guests.is_empty()
            || self.scenario.stacks.iter().any(|stack| stack.places().contains(&Place::Host))
    }

    pub(super) fn perform_all(&mut self, steps: &[Step]) -> Result<()> {
        self.observer.tell(RunEvent::Filling { total: to_fill(steps) });
        steps.iter().try_for_each(|step| self.perform(step))
    }

    pub(super) fn perform(&mut self, step: &Step) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failed::measurement("interrupted while setting up").into());
        }
        // The journal is in the folder: nothing is made that nobody could clean up.
        self.store.present()?;
        self.observer.tell(RunEvent::Step { why: step.why.clone() });
        self.executor.perform(step).map(drop)
    }

    pub(super) fn warn(&mut self, kind: &str, subject: &str, text: String) -> Result<()> {
        debug_assert!(WARNING_KINDS.contains(&kind), "{kind} is not in the docs");
        let warning = Warning { kind: kind.to_owned(), subject: subject.to_owned(), text };
        // Every visit, and every guest of a stack, may give the same warning.
        if !self.told.is_new(&warning) {
            return Ok(());
        }
        self.observer.tell(RunEvent::Warning { text: warning.text.clone() });
        self.store.append(&RunRecord::Warning(warning)).context("cannot store a warning")
    }

    fn end_workload(&mut self, workload: &str, reason: &str) -> Result<()> {
        self.observer.tell(RunEvent::WorkloadEnd { reason: reason.to_owned() });
        self.store.append(&RunRecord::WorkloadEnd {
            workload: workload.to_owned(),
            reason: reason.to_owned(),
        })?;
        Ok(self.store.sync()?)
    }

    pub(super) fn ground<'b>(&'b self, layout: &'b SetLayout) -> PlanGround<'b> {
        PlanGround {
            scenario: self.scenario,
            layout,
            found: &self.survey.found,
            guest_parts: self.guest_parts.clone(),
            tag: self.executor.tag().clone(),
        }
    }

    pub(super) fn run_id(&self) -> String {
        self.executor.tag().run_id.clone()
    }
}

/// Returns the present time in RFC 3339.
pub fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// Returns true if a step would fill a file of this host that already has no holes or unwritten
/// extents, as far as is known.
fn is_whole(step: &Step) -> bool {
    let Op::FillFile(fill) = &step.op else { return false };
    let path = fill.file.path().ok().filter(|_| step.place.is_host());
    path.is_some_and(|path| {
        fill::unwritten_ranges(path, fill.bytes).is_ok_and(|ranges| ranges.is_empty())
    })
}

/// Returns the bytes that steps fill. Files that are filled already are left as they are.
fn to_fill(steps: &[Step]) -> u64 {
    let filled = |path: &Path| {
        marker::read(path).is_ok_and(|marker| marker.is_some_and(|marker| marker.filled))
    };
    let fills = |step: &Step| match &step.op {
        Op::FillFile(fill) => fill.bytes,
        _ => 0,
    };
    let done = |step: &Step| match &step.op {
        Op::MakeFile(file) if step.place.is_host() && filled(&file.path) => file.bytes,
        _ => 0,
    };
    steps.iter().map(fills).sum::<u64>().saturating_sub(steps.iter().map(done).sum())
}
