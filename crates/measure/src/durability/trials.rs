//! Runs the durability trials of a run, stack after stack: load, kill, restart, read back, record,
//! and the next trial. The layers below the guest stay up all the time, since making them again
//! would make a new file system. Everything is removed at the end, however the run ends.

use super::kill::Victims;
use crate::observer::RunEvent;
use crate::places::Places;
use crate::session::{PlannedVisit, RunOutcome, Session};
use anyhow::{Context, Result};
use iotax_engines::durability::stamp::BLOCK;
use iotax_engines::durability::verifier::{MOST_UNREADABLE, Verified};
use iotax_layers::guest::GuestPlan;
use iotax_load::{Random, TargetSpec};
use iotax_model::record::RunRecord;
use iotax_model::record::trial::DurabilityTrial;
use iotax_model::scenario::{DurabilitySpec, Kill};
use iotax_plan::set_plan::SetPlan;
use iotax_plan::sets::SetLayout;
use iotax_plan::trial_room::{kills_of, most_batches, number_of_trials};
use iotax_units::exit::Failed;
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::trial::TrialSpec;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limit for the first acknowledgement. A stack that acknowledges nothing in this time never will.
const FIRST_LIMIT: Duration = Duration::from_secs(60);
const VERIFY_LIMIT: Duration = Duration::from_secs(1800);

/// How the load of a trial ended.
enum TrialLoad {
    /// The kill was due, or the writer had written all that it may. `load_ns` counts from the first
    /// acknowledgement, in nanoseconds; `acknowledged` is the last acknowledgement.
    Due {
        load_ns: u64,
        acknowledged: u64,
    },
    Interrupted,
}

impl Session<'_> {
    pub(crate) fn trials(
        &mut self,
        spec: &DurabilitySpec,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
    ) -> Result<RunOutcome> {
        let trials = number_of_trials(spec, &self.ground(layout))?;
        let most_batches = most_batches(spec, self.allowance, trials);
        let mut unreadable = BTreeSet::new();
        for set in 0..layout.sets.len() {
            let mark = self.executor.mark();
            let up = self.bring_up(layout, places, PlannedVisit { number: 0, set })?;
            let mut setup =
                TrialSetup { spec, up, region, most_batches, below: mark, set, unreadable };
            setup.below += setup.up.below_guests;
            let outcome = self.trials_of(&mut setup, places)?;
            unreadable = setup.unreadable;
            // Guests that can still be reached are left in an orderly way.
            setup.up.guests.iter().for_each(|guest| places.leave(&guest.place));
            self.executor.undo_to(mark)?;
            if outcome == RunOutcome::Interrupted {
                return Ok(outcome);
            }
        }
        Ok(RunOutcome::Complete)
    }

    fn trials_of(&mut self, setup: &mut TrialSetup, places: &mut Places) -> Result<RunOutcome> {
        let guest = setup.guest()?;
        let kills = kills_of(setup.spec, guest);
        let ready = self.stacks_under_load(places, &setup.up, setup.region)?;
        self.record_guests(places, &setup.up, &ready)?;
        let stack = ready.first().map(|ready| ready.stack.clone()).unwrap_or_default();
        let all = setup.spec.trials * kills.len() as u32;
        let what = format!("trying {stack}: {all} kills");
        self.observer.notify(RunEvent::Trial { text: what });
        for number in 0..all {
            let kill = kills[number as usize % kills.len()];
            let Some(trial) = self.trial(setup, places, &stack, number, kill)? else {
                return Ok(RunOutcome::Interrupted);
            };
            let text = format!("  {stack}: {}", trial_words(&trial, all));
            self.observer.notify(RunEvent::Trial { text });
            self.store.append(&RunRecord::Trial(trial))?;
            self.store.sync()?;
        }
        Ok(RunOutcome::Complete)
    }

    /// Runs one trial, from the first write until it is read back. `None`: interrupted.
    fn trial(
        &mut self,
        setup: &mut TrialSetup,
        places: &mut Places,
        stack: &str,
        number: u32,
        kill: Kill,
    ) -> Result<Option<DurabilityTrial>> {
        let guest = setup.guest()?;
        let target = self.target(setup, places)?;
        let trial = self.trial_spec(setup, number);
        let victims = Victims::guest_processes(guest)?;
        let due = KillTime::from_spec(setup.spec, &trial);
        let request = WireRequest::DurableWrite { target, spec: trial.clone() };
        let TrialLoad::Due { load_ns, acknowledged } =
            load(places, guest, request, &due, self.stop)?
        else {
            // An agent that is writing takes no requests.
            places.take_connections(&guest.place).map(drop)?;
            return Ok(None);
        };
        let (last, control) = victims.strike(kill, guest, places)?;
        let acknowledged = last.unwrap_or(0).max(acknowledged);
        self.observer
            .notify(RunEvent::Phase { what: format!("{stack}: killed {}", kill.phrase()) });
        match control {
            Some(control) => {
                places.reach_again(guest, control, &self.run_id(), self.stop)?;
            }
            None => self.start_again(setup, places)?,
        }
        let target = self.target(setup, places)?;
        let known = setup.unreadable.iter().copied().take(MOST_UNREADABLE).collect();
        let request = WireRequest::DurableVerify {
            target,
            spec: trial.clone(),
            acknowledged,
            unreadable: known,
        };
        let Verified { found, unreadable } = read_back(places, guest, request)?;
        setup.unreadable.extend(unreadable);
        Ok(Some(DurabilityTrial {
            stack: stack.to_owned(),
            trial: number,
            kill,
            load_ns,
            batch: setup.spec.batch,
            in_flight: setup.spec.in_flight,
            acknowledged,
            writing: Some(acknowledged < trial.last()),
            found,
        }))
    }

    /// Undoes the steps of the killed guest, performs them again, and connects to the guest.
    fn start_again(&mut self, setup: &TrialSetup, places: &mut Places) -> Result<()> {
        self.executor.undo_to(setup.below)?;
        for step in &setup.up.steps[setup.up.below_guests..] {
            self.perform(step)?;
        }
        self.reach_guests(places, &setup.up)
    }

    /// Returns the disk under test in the guest that runs now, and lets the guard in the guest
    /// write to it.
    fn target(&mut self, setup: &TrialSetup, places: &mut Places) -> Result<TargetSpec> {
        let ready = self.stacks_under_load(places, &setup.up, setup.region)?;
        let member = ready.into_iter().next().and_then(|ready| ready.members.into_iter().next());
        let target = member.and_then(|member| member.targets.into_iter().next());
        target.context("a stack without a target")
    }

    fn trial_spec(&self, setup: &TrialSetup, number: u32) -> TrialSpec {
        let stream = (setup.set as u64) << 32 | u64::from(number);
        let seed = Random::new(self.scenario.measure.seed, stream).next();
        // Blocks of another run may lie on a file that was kept.
        let run = u64::from(crc32fast::hash(self.run_id().as_bytes()));
        TrialSpec {
            trial: Random::new(run, stream).next(),
            seed,
            blocks: setup.region / BLOCK as u64,
            batch: setup.spec.batch,
            in_flight: setup.spec.in_flight,
            most_batches: setup.most_batches,
        }
    }
}

struct TrialSetup<'a> {
    spec: &'a DurabilitySpec,
    up: SetPlan,
    region: u64,
    most_batches: u64,
    /// The executor's mark between the layers below the guest and the guest's own steps.
    below: usize,
    set: usize,
    /// Blocks that earlier trials, of any stack, could not read: all stacks are on the same file.
    /// No later trial is blamed for them.
    unreadable: BTreeSet<u64>,
}

impl TrialSetup<'_> {
    fn guest(&self) -> Result<&GuestPlan> {
        self.up.guests.first().context("a stack without a guest")
    }
}

/// Time of the kill: a duration after the first acknowledgement, or a number of acknowledged
/// writes, whichever comes first. A writer that may not write for the whole duration would be idle
/// by then, with no write under way.
#[derive(Debug, PartialEq, Eq)]
struct KillTime {
    after: Duration,
    acknowledged: u64,
}

impl KillTime {
    fn from_spec(spec: &DurabilitySpec, trial: &TrialSpec) -> KillTime {
        let mut random = Random::new(trial.seed, u64::MAX);
        let spread = spec.most_ns.saturating_sub(spec.least_ns);
        let after =
            Duration::from_nanos(spec.least_ns + random.draw_below(spread.saturating_add(1)));
        // The last quarter is left for what the writer does until the kill has reached it.
        let (least, most) = (trial.most_batches / 4, trial.most_batches / 4 * 3);
        let batch = (least + random.draw_below(most - least + 1)).max(1);
        KillTime { after, acknowledged: batch.saturating_mul(u64::from(trial.batch)) }
    }

    fn has_come(&self, since: Duration, acknowledged: u64) -> bool {
        since >= self.after || acknowledged >= self.acknowledged
    }
}

/// Lets the writer write until the kill is due. The time is counted from the first acknowledgement:
/// a kill before it would test nothing.
fn load(
    places: &mut Places,
    guest: &GuestPlan,
    request: WireRequest,
    due: &KillTime,
    stop: &AtomicBool,
) -> Result<TrialLoad> {
    let (asked, mut first, mut last) = (Instant::now(), None, 0);
    let mut interrupted = false;
    let mut watch = |acknowledged: Option<u64>| {
        if let Some(acknowledged) = acknowledged {
            first.get_or_insert_with(Instant::now);
            last = acknowledged;
        }
        interrupted = stop.load(Ordering::Relaxed);
        let over = first
            .map_or(asked.elapsed() > FIRST_LIMIT, |first| due.has_come(first.elapsed(), last));
        if over || interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let peer = &mut places.get(&guest.place)?.peer;
    // The agent answers when it has written all that it may. Waiting longer would only make the
    // written data older.
    peer.watch(request, &mut watch).map_err(Failed::from)?;
    match first {
        _ if interrupted => Ok(TrialLoad::Interrupted),
        Some(first) => {
            Ok(TrialLoad::Due { load_ns: first.elapsed().as_nanos() as u64, acknowledged: last })
        }
        None => Err(Failed::measurement(format!(
            "guest {}: no flush returned within {FIRST_LIMIT:?}",
            guest.place
        ))
        .into()),
    }
}

fn read_back(places: &mut Places, guest: &GuestPlan, request: WireRequest) -> Result<Verified> {
    let place = places.get(&guest.place)?;
    match place.send_request(request, VERIFY_LIMIT)? {
        Response::DurableVerified { found, unreadable } => Ok(Verified { found, unreadable }),
        other => Err(Failed::from(place.peer.unexpected("durable_verify", &other)).into()),
    }
}

/// Formats the result of a trial: `trial 3 of 40: qemu killed after 1.2 s: all 512 acknowledged
/// blocks kept`
fn trial_words(trial: &DurabilityTrial, all: u32) -> String {
    let found = &trial.found;
    let what = match found.broken_blocks() {
        0 => format!("all {} acknowledged blocks kept", found.blocks),
        _ => format!(
            "of {} acknowledged blocks {} LOST, {} torn, {} not readable; of {} under way {} torn",
            found.blocks,
            found.lost,
            found.torn,
            found.unreadable,
            found.under_way,
            found.under_way_torn
        ),
    };
    let seconds = trial.load_ns as f64 / 1e9;
    format!(
        "trial {} of {all}: {} killed after {seconds:.1} s: {what}",
        trial.trial + 1,
        trial.kill.kill_word()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(spec: &DurabilitySpec, seed: u64, most_batches: u64) -> KillTime {
        KillTime::from_spec(
            spec,
            &TrialSpec { trial: 1, seed, blocks: 4096, batch: 16, in_flight: 4, most_batches },
        )
    }

    #[test]
    fn what_may_be_written_is_shared_out_among_the_trials() {
        let spec = DurabilitySpec::default();
        assert_eq!(most_batches(&spec, None, 40), u64::MAX);
        assert_eq!(most_batches(&spec, Some(40 << 20), 40), 16);
        assert_eq!(most_batches(&spec, Some(40 << 10), 40), 0);
    }

    #[test]
    fn kills_strike_all_over_the_time_and_again_at_the_same_time() {
        let spec = DurabilitySpec::default();
        let time = |spec: &DurabilitySpec, seed| due(spec, seed, u64::MAX).after;
        let times: Vec<Duration> = (0..200).map(|seed| time(&spec, seed)).collect();
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(*least >= Duration::from_millis(500) && *least < Duration::from_millis(600));
        assert!(*most <= Duration::from_millis(2500) && *most > Duration::from_millis(2400));
        assert_eq!(times[7], time(&spec, 7));
        let fixed = DurabilitySpec { most_ns: spec.least_ns, ..spec };
        assert_eq!(time(&fixed, 3), Duration::from_millis(500));
    }

    #[test]
    fn a_writer_that_may_not_write_for_so_long_is_killed_while_it_still_writes() {
        let spec = DurabilitySpec::default();
        let due = |seed, most_batches| due(&spec, seed, most_batches);
        let at: Vec<u64> = (0..500).map(|seed| due(seed, 400).acknowledged / 16).collect();
        assert!(at.iter().all(|batch| (100..=300).contains(batch)), "{at:?}");
        assert!(at.iter().any(|batch| *batch < 120) && at.iter().any(|batch| *batch > 280));
        assert_eq!(due(1, 1).acknowledged, 16, "one batch at least");
        let one = due(7, 400);
        assert!(
            !one.has_come(Duration::ZERO, one.acknowledged - 1)
                && one.has_come(Duration::ZERO, one.acknowledged)
        );
        assert!(one.has_come(one.after, 16));
        assert!(
            due(7, u64::MAX).acknowledged > u64::MAX / 8,
            "without a bound the time alone counts"
        );
    }
}
