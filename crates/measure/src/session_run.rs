//! Carries out a run from its first step to its last. The files under test are made first. Then,
//! visit by visit, the sets of stacks are brought up, measured and removed. However the run ends
//! (done, Ctrl-C, a failure), everything is removed and the measurements are kept.

use super::observer::RunEvent;
use super::places::Places;
use super::session::{RunOutcome, Session, rfc3339_now};
use anyhow::{Result, ensure};
use iotax_facts::place::Place;
use iotax_host::busy::CpuReading;
use iotax_host::probe::Probe;
use iotax_model::record::{BUSY, RunRecord};
use iotax_plan::set_plan::PlanBounds;
use iotax_plan::sets::{SetLayout, layout};
use iotax_units::exit::Failed;
use iotax_units::show_bytes;
use iotax_wire::stops;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
/// Most time for which a run watches which processes are busy. With a short budget it is one part
/// in [`LOOK_PART`] of the budget.
const MOST_LOOK: Duration = Duration::from_millis(500);
const LOOK_PART: u64 = 40;

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

impl Session<'_> {
    /// Carries the run out.
    ///
    /// # Errors
    /// The first failure, together with whatever could not be removed afterwards.
    pub fn run(&mut self) -> Result<RunOutcome> {
        let layout = layout(self.scenario);
        let layout =
            if self.past.apart { layout.split_apart(&self.scenario.stacks) } else { layout };
        let mut places = Places::default();
        stops::watch();
        let result = self.carry_out(&layout, &mut places);
        if let Some(undo) = self.undo_by_hand.take() {
            let text = format!("what is below disks that are in use is removed now: {undo}");
            self.observer.notify(RunEvent::Warning { text });
        }
        self.observer.notify(RunEvent::Removing);
        places.put_down();
        let removed = self.undo_above(0);
        drop(places);
        let result = self.not_a_failure(result);
        let outcome = match (&result, &removed) {
            (Ok(outcome), Ok(())) => outcome.outcome_word().to_owned(),
            (Err(error), _) | (_, Err(error)) => format!("{error:#}"),
        };
        let stored = self
            .store
            .append(&RunRecord::End { at: rfc3339_now(), outcome })
            .and_then(|()| self.store.sync());
        // A full disk must not hide how the run failed, or that something is still there.
        let result = result.and_then(|outcome| {
            stored.map(|()| outcome).map_err(|error| Failed::from(error).into())
        });
        let result = self.unless_removed(result, removed.is_ok());
        match (result, removed) {
            (Ok(outcome), Ok(())) => Ok(outcome),
            (Err(error), Ok(())) | (Ok(_), Err(error)) => Err(error),
            (Err(first), Err(second)) => Err(second.context(format!("{first:#}"))),
        }
    }

    /// Turns any outcome into an error if somebody removed the run's folder: such a run has nothing
    /// to show.
    fn unless_removed(&self, result: Result<RunOutcome>, removed: bool) -> Result<RunOutcome> {
        let Err(gone) = self.store.check_present() else { return result };
        let done = if removed { "; all that it had set up was removed" } else { "" };
        let hint = "run it again, and leave its folder until it has ended";
        Err(Failed::measurement(format!("{gone}{done}; hint: {hint}")).into())
    }

    /// Turns a failure into an interruption if Ctrl-C caused it.
    fn not_a_failure(&mut self, result: Result<RunOutcome>) -> Result<RunOutcome> {
        match result {
            Err(error) if self.stop.load(Ordering::Relaxed) => {
                self.observer.notify(RunEvent::Warning { text: format!("interrupted: {error:#}") });
                Ok(RunOutcome::Interrupted)
            }
            other => other,
        }
    }

    fn carry_out(&mut self, layout: &SetLayout, places: &mut Places) -> Result<RunOutcome> {
        let at_first = if self.needs_host() { CpuReading::now(&host_probe()) } else { None };
        for note in &self.scenario.notes {
            self.observer.notify(RunEvent::Note { text: note.clone() });
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
        at_first.map_or(Ok(()), |at_first| self.warn_of_busy_processes(&at_first))?;
        let outcome = match (&self.scenario.durability, &self.scenario.limits) {
            (Some(spec), _) => self.trials(spec, layout, places, region),
            (None, Some(search)) => self.find_limits(search, layout, places, region),
            (None, None) => self.visits(layout, places, region),
        };
        for place in places.reached_places() {
            places.leave(&place);
        }
        outcome
    }

    fn warn_of_busy_processes(&mut self, at_first: &CpuReading) -> Result<()> {
        let wanted =
            MOST_LOOK.min(Duration::from_nanos(self.scenario.measure.budget_ns / LOOK_PART));
        std::thread::sleep(wanted.saturating_sub(at_first.read_at.elapsed()));
        let now =
            CpuReading::now(&host_probe()).map(|now| now.load_since(at_first, std::process::id()));
        let sentence = now.and_then(|found| found.sentence());
        sentence.map_or(Ok(()), |sentence| self.warn(BUSY, "host", sentence))
    }

    /// Returns how many of the `left` bytes of `max_written` the load may still write after the
    /// earlier parts of the run. Refuses a run in which passes that were lost do not fit again.
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
}
