//! Visits the sets of stacks: each is brought up, measured with every workload, and removed.

use super::clusters;
use super::matched_rate::left_for_depth;
use super::observer::RunEvent;
use super::operator;
use super::places::Places;
use super::progress::{VisitEnd, VisitLimit};
use super::rounds::Visit;
use super::session::{PlannedVisit, RunOutcome, Session};
use super::states;
use super::under_load::StackUnderLoad;
use super::visit_workers::{Bench, OfferedLoad};
use anyhow::Result;
use iotax_model::record::RunRecord;
use iotax_model::scenario::{Regime, Workload};
use iotax_model::stack::Stack;
use iotax_plan::set_plan::SetPlan;
use iotax_plan::sets::SetLayout;
use iotax_stats::rounds::{Round, RoundKind};
use iotax_stats::schedule::Schedule;
use iotax_stats::steady::SteadySpec;
use iotax_stats::stop::StopSpec;
use iotax_wire::stops;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
#[derive(Clone, Copy, Debug, PartialEq)]
enum VisitOutcome {
    Done,
    Interrupted,
    /// The baseline's rate while the other stacks are up, as a share of its rate alone.
    Disturbed(f64),
}

/// Visit of one set, or of a set in one state after the other.
struct VisitTurn<'a> {
    chain: &'a [PlannedVisit],
    /// What is visited next, if anything.
    next: Option<PlannedVisit>,
    /// Number of manual steps that were asked for before.
    manual_steps: usize,
}

impl Session<'_> {
    pub(super) fn visits(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
    ) -> Result<RunOutcome> {
        let mut manual_steps = 0;
        let all = self.planned_visits(layout)?;
        for (at, chain) in all.iter().enumerate() {
            let before = manual_steps;
            manual_steps += operator::steps_of(self.scenario, &layout.sets[chain[0].set]);
            let is_left = |chain: &&Vec<PlannedVisit>| {
                chain.iter().any(|planned| !self.workloads_left(*planned).is_empty())
            };
            // Attaches of one set are each set up from the bottom.
            let further = if layout.sets.len() > 1 { &all[at + 1..] } else { &[] };
            let next = further.iter().find(is_left).map(|chain| chain[0]);
            // In another order of visits a back end is another set-up.
            let next = next.filter(|next| next.number == chain[0].number);
            let turn = VisitTurn { chain, next, manual_steps: before };
            match self.visit(layout, places, &turn, region)? {
                VisitOutcome::Done => {}
                VisitOutcome::Interrupted => return self.end_interrupted(),
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
        self.observer.notify(RunEvent::Warning {
            text: format!("{reason}: each is measured by itself, in visits"),
        });
        self.store.append(&RunRecord::Apart { reason })?;
        self.past.apart = true;
        self.visits(&layout.split_apart(&self.scenario.stacks), places, region)
    }

    fn end_interrupted(&mut self) -> Result<RunOutcome> {
        for workload in self.scenario.workloads.clone() {
            if self.past.progress.contains_key(&workload.name)
                && !self.past.workloads_done.contains(&workload.name)
            {
                self.end_workload(&workload.name, "interrupted")?;
            }
        }
        Ok(RunOutcome::Interrupted)
    }

    /// Returns the number of visits of the only set: as many as there are equal files (one if there
    /// are none), times the attaches that were asked for.
    pub(super) fn sibling_visits(&self, layout: &SetLayout) -> usize {
        layout.visits_of_a_set(&self.scenario.measure) as usize
    }

    /// Plans the visits. If all stacks can be up together, there is one visit per attach, or per
    /// attach one for each of the equal files that the stacks swap. Sets that take turns have
    /// several visits each, in random order; those that keep a back end up follow each other. Sets
    /// of one chain of states are in one visit.
    fn planned_visits(&self, layout: &SetLayout) -> Result<Vec<Vec<PlannedVisit>>> {
        if layout.sets.len() == 1 {
            // This is a Latin square: every stack once on every one of the equal files.
            let last = self.past.first_visit + self.sibling_visits(layout) as u32 - 1;
            return Ok((self.past.first_visit..=last)
                .map(|number| vec![PlannedVisit { number, set: 0 }])
                .collect());
        }
        let chains = layout.chains();
        let followed = self.ground(layout).followers()?;
        let groups: Vec<usize> = chains.iter().map(|chain| followed[chain[0]]).collect();
        let mut made = vec![0; chains.len()];
        let mut schedule = Schedule::new(self.scenario.measure.seed, u64::MAX);
        let visits = schedule.visits(&groups, self.scenario.measure.visits as usize);
        Ok(visits
            .into_iter()
            .map(|chain| {
                made[chain] += 1;
                let number = made[chain] - 1;
                chains[chain].iter().map(|set| PlannedVisit { number, set: *set }).collect()
            })
            .collect())
    }

    /// Returns the indices of the workloads that a visit is still to measure on a set.
    fn workloads_left(&self, planned: PlannedVisit) -> Vec<usize> {
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
        turn: &VisitTurn,
        region: u64,
    ) -> Result<VisitOutcome> {
        let chain = turn.chain;
        let Some(last) =
            chain.iter().rposition(|planned| !self.workloads_left(*planned).is_empty())
        else {
            return Ok(VisitOutcome::Done);
        };
        let (planned, further) = (chain[0], &chain[1..=last]);
        let before = self.executor.mark() - self.kept.steps.len();
        let set = &layout.sets[planned.set];
        let most = operator::most_steps(self.scenario, layout);
        if !self.await_operator(places, set, turn.manual_steps, most)? {
            return Ok(VisitOutcome::Interrupted);
        }
        let step = operator::step_words(turn.manual_steps + 1, most);
        if !self.await_disks_gone(places, set, &step, None)? {
            return Ok(VisitOutcome::Interrupted);
        }
        let mark = self.executor.mark() - self.kept.steps.len();
        let up = self.bring_up(layout, places, planned)?;
        let brought_up = self.executor.mark();
        if !self.await_disks(places, set, &step, &up)? {
            self.leave_set(places, &up, mark, Vec::new())?;
            return Ok(VisitOutcome::Interrupted);
        }
        self.record_drives(places, &up)?;
        let mut ready = self.stacks_under_load(places, &up, region)?;
        for one in &mut ready {
            one.serving = self.threads_serving(places, &up, one.index)?;
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
        let kept = match (turn.next, outcome) {
            (Some(next), VisitOutcome::Done) => {
                let ground = self.ground(layout);
                let next = ground.plan_set(&layout.sets[next.set], next.number)?;
                up.steps[..ground.kept_steps(&up, &next)].to_vec()
            }
            _ => Vec::new(),
        };
        self.leave_disk_hosts(places, set, brought_up)?;
        self.await_disks_gone(places, set, &step, Some(&up))?;
        self.leave_set(places, &up, mark, kept)?;
        self.leave_operators_places(places, set);
        if self.kept.steps.is_empty() {
            self.undo_above(before)?;
        }
        Ok(outcome)
    }

    fn measure_all(
        &mut self,
        layout: &SetLayout,
        places: &mut Places,
        planned: PlannedVisit,
        up: &SetPlan,
        ready: &[StackUnderLoad],
    ) -> Result<VisitOutcome> {
        for index in self.workloads_left(planned) {
            match self.measure(layout, places, planned, up, ready, index)? {
                VisitEnd::Interrupted => return Ok(VisitOutcome::Interrupted),
                VisitEnd::Disturbed { share } => return Ok(VisitOutcome::Disturbed(share)),
                _ => {}
            }
        }
        Ok(VisitOutcome::Done)
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
        let until = match self.visit_limit(layout, planned, workload.name.as_str()) {
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
                self.stop_spec(&workload.name).budget_s / self.sibling_visits(layout) as f64
            }
        };
        let subject = workload.subject() + &self.part_of(layout, planned, workload);
        self.observer.notify(RunEvent::Workload { subject, spent_s, budget_s });
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
        let members: Vec<u64> = self.scenario.stacks.iter().map(Stack::target_count).collect();
        let names: Vec<&str> =
            self.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
        let watched = self.watched_arrays(up, ready)?;
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
                clusters: clusters::clusters_below(self.scenario, up, &indices),
                failing: Default::default(),
                traffic: Default::default(),
                transients: Default::default(),
                turns: Default::default(),
                placed: 0,
                recorded: Vec::new(),
                stops: &stops::stopped_since,
                is_uninterrupted: false,
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
    /// Empty if there is one visit only, or several sets.
    fn part_of(&self, layout: &SetLayout, planned: PlannedVisit, workload: &Workload) -> String {
        let ways = self.sibling_visits(layout);
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
        let goes_on = planned.number + 1 < self.sibling_visits(layout) as u32;
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

    fn visit_limit(&self, layout: &SetLayout, planned: PlannedVisit, workload: &str) -> VisitLimit {
        let spec = self.stop_spec(workload);
        let k = f64::from(self.scenario.measure.visits.max(1)) * layout.sets.len() as f64;
        match (layout.sets.len(), self.sibling_visits(layout)) {
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

    fn stop_spec(&self, workload: &str) -> StopSpec {
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
}
