//! How long a run takes and how much it writes: measuring, setting up, boots of guests, fills. What
//! is not known in advance is named and not counted.

use anyhow::Result;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::run_tag::RunTag;
use iotax_layers::guest;
use iotax_measure::matched_rate;
use iotax_model::scenario::Scenario;
use iotax_plan::ground::filled;
use iotax_plan::ready::ReadyScenario;
use iotax_plan::set_plan::{PlanGround, SetPlan};
use iotax_plan::sets::SetLayout;
use iotax_plan::unwritten::{UnwrittenStack, unwritten_of_set};
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use iotax_units::{UNKNOWN_BYTES, count_noun, is_unknown, show_size};
use std::collections::BTreeMap;
use std::path::Path;

/// Formats seconds as `90 s`, `12 min` or `5.3 h`, by their length.
pub fn long_time(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 3.0 * 3600.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Returns the steps whose files an earlier run has left, each with its path and whether it is
/// filled with incompressible data.
pub fn reused(steps: &[Step]) -> BTreeMap<StepId, (&Path, bool)> {
    let mut found = BTreeMap::new();
    for step in steps.iter().filter(|step| step.place.is_host()) {
        let Op::MakeFile(make) = &step.op else { continue };
        if let Ok(Some(marker)) = make.reusable() {
            found.insert(step.id, (make.path.as_path(), marker.filled));
        }
    }
    found
}

pub fn is_filled(reused: &BTreeMap<StepId, (&Path, bool)>, step: &Step) -> bool {
    let Op::FillFile(fill) = &step.op else { return false };
    let known = match &fill.file {
        PathRef::Yield(id) => reused.get(id),
        PathRef::Path(path) => reused.values().find(|(known, _)| known == path),
        _ => None,
    };
    fill.data.is_unique() && known.is_some_and(|(_, filled)| *filled)
}

pub fn to_fill(steps: Vec<Step>) -> Vec<Step> {
    let full: Vec<StepId> = {
        let reused = reused(&steps);
        steps.iter().filter(|step| is_filled(&reused, step)).map(|step| step.id).collect()
    };
    steps.into_iter().filter(|step| !full.contains(&step.id)).collect()
}

/// Returns the seconds that a guest takes to boot here: with KVM, or without.
pub fn boot_s() -> f64 {
    if (guest::FINDINGS.kvm)().trouble().is_none() { 3.0 } else { 60.0 }
}

/// Work of a run apart from measuring, summed over all visits.
#[derive(Clone, Debug, Default)]
pub struct OtherWork {
    /// Number of guest boots: one guest counts once, however many stacks have a disk in it.
    boots: u64,
    /// Number of bytes that files are filled with.
    filled: u64,
    /// Number of bytes written through stacks before they are measured.
    first: u64,
    /// Largest number of bytes that syncs and rebuilds write to the members of arrays.
    below: u64,
    /// Largest number of times that an existing virtual machine is shut down and started, by its
    /// name.
    restarts: BTreeMap<String, u64>,
}

impl OtherWork {
    /// Returns the work of making the files under test.
    ///
    /// # Errors
    /// Bad input, as for a plan of the run.
    pub fn of_files(ground: &PlanGround) -> Result<OtherWork> {
        Ok(OtherWork { filled: filled(&to_fill(ground.media()?)), ..OtherWork::default() })
    }

    /// Returns the work of a whole run, with that of labs if it has guests (`guests`).
    pub fn from_ground(ground: &PlanGround, guests: bool) -> Result<OtherWork> {
        let (scenario, layout) = (ground.scenario, ground.layout);
        let region = ground.region().map_or(UNKNOWN_BYTES, |(region, _)| region);
        let mut beside = OtherWork::of_files(ground)?;
        beside.boots += if guests { ground.labs()?.guests.len() as u64 } else { 0 };
        let followed = ground.followers()?;
        for (at, set) in layout.sets.iter().enumerate().filter(|(_, set)| set.after.is_none()) {
            let visits = layout.visits_of_a_set(&scenario.measure);
            let written = if followed[at] == at { visits } else { 0 };
            beside.add(&ground.plan_set(set, 0)?, scenario, [visits, written], region);
        }
        Ok(beside)
    }

    /// Returns the longest time of a run: `this run takes at most 62 s: 60 s of measuring, 2 s of
    /// setting up, writing 400 MiB ...`. What is unknown in advance is named, not counted.
    fn in_all(&self, measuring_s: f64, scenario: &Scenario) -> String {
        let (measuring_s, known_s) = (measuring_s.ceil(), self.known_s());
        let open = self.open_work(scenario);
        let open = if open.is_empty() {
            String::new()
        } else {
            format!("; not counted: {}", open.join(", "))
        };
        format!(
            "this run takes at most {}: {} of measuring, {} of setting up{}{open}",
            long_time(measuring_s + known_s),
            long_time(measuring_s),
            long_time(known_s),
            self.work_words()
        )
    }

    /// Returns the bytes that are written before and beside the load; unknown if a part is.
    pub fn written_bytes(&self) -> u64 {
        [self.filled, self.first, self.below].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the seconds that setting up takes, as far as that is known: boots and writes.
    pub fn known_s(&self) -> f64 {
        let bytes = self.written_bytes();
        let written_s = if is_unknown(bytes) { 0.0 } else { bytes as f64 / 2e8 };
        (boot_s() * self.boots as f64 + written_s).ceil()
    }

    /// Lists the work whose time is not known in advance.
    pub fn open_work(&self, scenario: &Scenario) -> Vec<&'static str> {
        let open = [
            (is_unknown(self.written_bytes()), "first writes of drives that are not known yet"),
            (!self.restarts.is_empty(), "restarts of virtual machines"),
            (!scenario.measure.precondition.is_off(), "preconditioning"),
            (!scenario.operators.is_empty(), "manual steps"),
        ];
        open.iter().filter(|(is_open, _)| *is_open).map(|(_, what)| *what).collect()
    }

    /// Adds the work of a set for its number of visits, and for that of the visits before which its
    /// back end is made and written.
    fn add(&mut self, plan: &SetPlan, scenario: &Scenario, visits: [u32; 2], region: u64) {
        let [visits, written] = visits.map(u64::from);
        let first = unwritten_of_set(&plan.targets, region, scenario);
        let first: u64 =
            first.iter().map(UnwrittenStack::total_written).fold(0, u64::saturating_add);
        let all = |bytes: fn(&Op) -> u64| {
            plan.steps.iter().map(|step| bytes(&step.op)).fold(0, u64::saturating_add)
        };
        let (filled, below) = (all(Op::bytes_filled), all(Op::bytes_below));
        for step in &plan.steps {
            if let Op::ChangeMachine(change) = &step.op {
                // One restart with its settings, and one with those from before.
                *self.restarts.entry(change.vm.to_string()).or_default() += 2 * visits;
            }
        }
        self.boots += visits * plan.guests.len() as u64;
        self.first = self.first.saturating_add(first.saturating_mul(written));
        self.filled = self.filled.saturating_add(filled.saturating_mul(visits));
        self.below = self.below.saturating_add(below.saturating_mul(written));
    }

    /// Describes restarts of existing virtual machines, boots with their time, then bytes: `, 3
    /// boots of guests (9 s at 3 s each, ...)`.
    pub fn work_words(&self) -> String {
        let boots = match self.boots {
            0 => String::new(),
            boots => format!(
                ", {} ({} at 3 s each, as with KVM; {} at 60 s, as without)",
                count_noun(boots, "boot of a guest", "boots of guests"),
                long_time(3.0 * boots as f64),
                long_time(60.0 * boots as f64)
            ),
        };
        let parts = [
            (self.filled, "into files"),
            (self.first, "through stacks that were never written"),
            (self.below, "by syncs and rebuilds at most"),
        ];
        let written: Vec<String> = parts
            .iter()
            .filter(|(bytes, _)| *bytes > 0)
            .map(|(bytes, where_to)| format!("{} {where_to}", show_size(*bytes)))
            .collect();
        let all = parts.iter().map(|(bytes, _)| *bytes).fold(0, u64::saturating_add);
        let takes = match written.is_empty() {
            true => String::new(),
            false if is_unknown(all) => format!(", writing {}", written.join(" and ")),
            false => {
                format!(
                    ", writing {} ({} at 200 MB/s)",
                    written.join(" and "),
                    long_time(all as f64 / 2e8)
                )
            }
        };
        let restart = |(vm, times): (&String, &u64)| {
            format!(", shutting down and starting {vm} up to {times} times")
        };
        self.restarts.iter().map(restart).collect::<String>() + &boots + &takes
    }
}

/// Returns the most seconds for which one load is measured, including the pilot, the baseline alone
/// and the matched rate.
pub fn load_s(scenario: &Scenario, layout: &SetLayout) -> f64 {
    let measure = &scenario.measure;
    let (least_s, most_s) = (measure.min_time_ns as f64 / 1e9, measure.budget_ns as f64 / 1e9);
    match layout.sets.len() {
        // With one stack nothing is compared, so the minimum time is enough. With several sets each
        // visit has its time.
        1 if scenario.stacks.len() == 1 => least_s,
        1 => most_s,
        sets => {
            let visits = f64::from(measure.visits.max(1)) * sets as f64;
            most_s.min(visits * matched_rate::with_matched(least_s, measure))
        }
    }
}

/// Returns a sentence on how long a run of `loads` loads takes at most: its measuring, and its
/// set-up as far as that is known in advance.
///
/// # Errors
/// Bad input, as for a plan of the run.
pub fn longest_run_words(
    scenario: &Scenario,
    ready: &ReadyScenario,
    loads: usize,
) -> Result<String> {
    let ReadyScenario { layout, survey, guest_parts, .. } = ready;
    let (found, guest_parts) = (&survey.found, guest_parts.clone());
    let guests = guest_parts.is_some();
    let ground = PlanGround { scenario, layout, found, guest_parts, tag: RunTag::of_none() };
    let beside = OtherWork::from_ground(&ground, guests)?;
    let measuring_s = load_s(scenario, layout) * loads as f64;
    Ok(beside.in_all(measuring_s, scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_stacks};

    #[test]
    fn boots_and_bytes_beside_the_measuring_are_counted_with_their_time() {
        let beside =
            OtherWork { boots: 6, filled: 12 << 30, first: 2 << 30, ..OtherWork::default() };
        assert_eq!(
            beside.work_words(),
            ", 6 boots of guests (18 s at 3 s each, as with KVM; 6 min at 60 s, as without), writing 12 GiB into files and 2 GiB \
             through stacks that were never written (75 s at 200 MB/s)"
        );
        assert_eq!(
            OtherWork { boots: 1, ..OtherWork::default() }.work_words().split(" (").next(),
            Some(", 1 boot of a guest")
        );
        assert_eq!(OtherWork::default().work_words(), "");
        let restarts = [("libvirt:db1".to_owned(), 16)].into();
        let said = OtherWork { restarts, ..OtherWork::default() }.work_words();
        assert_eq!(said, ", shutting down and starting libvirt:db1 up to 16 times");
        let unknown =
            OtherWork { first: iotax_units::UNKNOWN_BYTES, ..OtherWork::default() }.work_words();
        assert!(!unknown.contains("MB/s") && unknown.contains("through stacks"), "{unknown}");
    }

    #[test]
    fn many_setups_in_one_guest_are_one_boot() {
        use iotax_layers::guest::GuestParts;
        use iotax_layers::medium::FoundMedium;
        let all =
            "file:/srv/x.img,size=1GiB | vm(cache=[none,writeback],num-queues=[1,2,4])".to_owned();
        let scenario = from_stacks(&[all], &ScenarioRequest::default()).unwrap();
        assert_eq!(scenario.stacks.len(), 6);
        let layout = iotax_plan::sets::layout(&scenario);
        let found: Vec<Vec<FoundMedium>> = scenario
            .stacks
            .iter()
            .map(|_| vec![FoundMedium::without_signature(1 << 30, false, false)])
            .collect();
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let (scenario, guest_parts) = (&scenario, Some(GuestParts::made_up()));
        let ground = PlanGround { scenario, layout: &layout, found: &found, guest_parts, tag };
        let mut beside = OtherWork::default();
        for set in &layout.sets {
            beside.add(
                &ground.plan_set(set, 0).unwrap(),
                scenario,
                [layout.visits_of_a_set(&scenario.measure); 2],
                1 << 30,
            );
        }
        let visits = u64::from(layout.visits_of_a_set(&scenario.measure));
        assert_eq!(
            (layout.sets.len(), beside.boots),
            (1, visits),
            "six disks of one guest in each visit"
        );
    }

    #[test]
    fn times_are_said_in_what_people_plan_in() {
        assert_eq!([30.0, 600.0, 86_400.0].map(long_time), ["30 s", "10 min", "24.0 h"]);
    }
}
