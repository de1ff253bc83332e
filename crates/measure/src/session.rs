//! State of a run, and what all of its parts do: perform steps, undo them, warn. `session_run` goes
//! from the first step to the last, `visits` through the sets of stacks, and `set_up` brings one
//! set up.

use super::announced_once::AnnouncedOnce;
use super::observer::{Observer, RunEvent};
use super::resume_state::ResumeState;
use anyhow::{Context, Result};
use iotax_facts::place::Place;
use iotax_host::guard::admit::Admitted;
use iotax_host::guard::marker;
use iotax_layers::guest;
use iotax_model::record::{RunRecord, WARNING_KINDS, Warning};
use iotax_model::scenario::Scenario;
use iotax_plan::set_plan::PlanGround;
use iotax_plan::sets::SetLayout;
use iotax_plan::survey::Survey;
use iotax_plan::unwritten::UnwrittenStack;
use iotax_steps::executor::Executor;
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use iotax_store::Writer;
use iotax_units::exit::Failed;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    Complete,
    Interrupted,
}

impl RunOutcome {
    pub fn outcome_word(self) -> &'static str {
        match self {
            RunOutcome::Complete => "complete",
            RunOutcome::Interrupted => "interrupted",
        }
    }
}

pub struct Session<'a> {
    pub scenario: &'a Scenario,
    pub survey: Survey,
    /// Programs and images that this machine has for guests.
    pub guest_parts: Option<guest::GuestParts>,
    pub executor: Executor,
    pub store: Writer,
    pub observer: &'a mut dyn Observer,
    pub stop: &'a AtomicBool,
    /// Measurements of earlier parts of a resumed run; grows as this part goes on.
    pub past: ResumeState,
    pub announced: AnnouncedOnce,
    pub admitted: Admitted,
    /// What a person has to undo, as long as disks that they made are in use.
    pub undo_by_hand: Option<String>,
    /// What the last visit left up for the next one.
    pub kept: KeptBackEnd,
    /// Bytes that the load may still write; `None`: `max_written` was not given.
    pub allowance: Option<u64>,
}

/// Back end that stays up from one visit to the next.
#[derive(Debug, Default)]
pub struct KeptBackEnd {
    /// Its steps, with which the next visit's plan begins.
    pub steps: Vec<Step>,
    /// What was written on it first.
    pub written: Vec<UnwrittenStack>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedVisit {
    pub(super) number: u32,
    pub(super) set: usize,
}

impl Session<'_> {
    /// Undoes all steps that were performed after the mark, and reports the notes of the steps.
    pub(super) fn undo_above(&mut self, mark: usize) -> Result<()> {
        let undone = self.executor.undo_to(mark);
        self.report_notes()?;
        undone
    }

    pub(super) fn report_notes(&mut self) -> Result<()> {
        let notes = self.executor.notes();
        notes.into_iter().try_for_each(|note| self.warn("target", "", note))
    }

    pub(super) fn needs_host(&self) -> bool {
        // The CPU time that a lab takes of this host counts, too.
        !self.scenario.labs.is_empty()
            || !self.scenario.guests.is_empty()
            || self.scenario.stacks.iter().any(|stack| stack.places().contains(&Place::Host))
    }

    pub(super) fn perform_all(&mut self, steps: &[Step]) -> Result<()> {
        self.observer.notify(RunEvent::Filling { total: to_fill(steps) });
        steps.iter().try_for_each(|step| self.perform(step))
    }

    pub(super) fn perform(&mut self, step: &Step) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failed::measurement("interrupted while setting up").into());
        }
        // The journal is in the folder: nothing is made that nobody could clean up.
        self.store.check_present()?;
        self.observer.notify(RunEvent::Step { why: step.why.clone() });
        self.executor.perform_step(step).map(drop)
    }

    pub(super) fn warn(&mut self, kind: &str, subject: &str, text: String) -> Result<()> {
        debug_assert!(WARNING_KINDS.contains(&kind), "{kind} is not in the docs");
        let warning = Warning { kind: kind.to_owned(), subject: subject.to_owned(), text };
        // Every visit, and every guest of a stack, may give the same warning.
        if !self.announced.is_new(&warning) {
            return Ok(());
        }
        self.observer.notify(RunEvent::Warning { text: warning.text.clone() });
        self.store.append(&RunRecord::Warning(warning)).context("cannot store a warning")
    }

    pub(super) fn end_workload(&mut self, workload: &str, reason: &str) -> Result<()> {
        self.observer.notify(RunEvent::WorkloadEnd { reason: reason.to_owned() });
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
pub fn rfc3339_now() -> String {
    jiff::Timestamp::now().to_string()
}

/// Returns the bytes that steps fill. Files that are filled already are left as they are.
fn to_fill(steps: &[Step]) -> u64 {
    let filled = |path: &Path| {
        marker::read_marker(path).is_ok_and(|marker| marker.is_some_and(|marker| marker.filled))
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
