//! The three answers of a plan: what is written and destroyed, how long all of it takes, and
//! whether this machine can run it.

use super::View;
use super::brief::label;
use super::effort::{OtherWork, boot_s, load_s, long_time, reused};
use crate::cli::missing::install_command;
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_host::Missing;
use iotax_host::block::by_id_path;
use iotax_host::guard::judge::Intent;
use iotax_host::probe::{GuestProbe, Probe};
use iotax_model::scenario::{DriveRatings, Scenario, Workload};
use iotax_model::stack::{LoadIssuer, Medium, Stack};
use iotax_plan::set_plan::PlanGround;
use iotax_plan::{passes, survey, trial_room};
use iotax_steps::op::Op;
use iotax_units::harmless::escape_line;
use iotax_units::{count_noun, distinct, is_unknown, show_bytes, show_size};
use std::collections::BTreeSet;
use std::path::Path;

/// What the answers are made from.
pub struct Answers<'a> {
    pub view: &'a View,
    pub ground: &'a PlanGround<'a>,
    pub work: &'a OtherWork,
    pub missing: Vec<Missing>,
    pub obstacles: Vec<String>,
}

/// Number of reasons that are shown why a plan cannot run; `-v` shows all.
const MOST_REASONS: usize = 3;

/// Device or image that exists and that the run writes or takes away.
#[derive(PartialEq)]
struct TouchedDevice {
    name: String,
    bytes: u64,
    is_taken: bool,
}

impl Answers<'_> {
    /// Describes what is destroyed, taken away and written, each device and file once.
    pub fn written(&self) -> Result<String> {
        let (taken, lost): (Vec<_>, Vec<_>) =
            self.touched_devices().into_iter().partition(|device| device.is_taken);
        let mut text = String::new();
        if !lost.is_empty() {
            let words = format!("all data on {}", device_list(&lost));
            text += &self.view.red(&self.view.paragraph(&label("Destroys"), &words));
        }
        if !taken.is_empty() {
            let words = format!("{} away from this host, and gives it back", device_list(&taken));
            text += &self.view.paragraph(&label("Takes"), &words);
        }
        let mut others = self.files()?;
        others.extend(self.lab_drives());
        others.extend(self.changed_machines()?);
        others.extend(self.copies());
        let none = if lost.is_empty() { "nothing" } else { "nothing else" };
        let spared = if lost.is_empty() { "; no other data is touched" } else { "" };
        let words = if others.is_empty() { none.to_owned() } else { others.join("; ") + spared };
        Ok(text + &self.view.paragraph(&label("Writes"), &words))
    }

    /// Returns the existing devices that stacks write to or take away, in the order of the stacks.
    fn touched_devices(&self) -> Vec<TouchedDevice> {
        let scenario = self.ground.scenario;
        let probe = Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED);
        let name = |medium: &Medium| match medium {
            Medium::Device { path } => {
                let path = by_id_path(&probe, path).unwrap_or_else(|| path.clone());
                Some(path.display().to_string())
            }
            Medium::Remote { host, path, .. } if path.starts_with("/dev") => {
                Some(format!("{} on {host}", path.display()))
            }
            other => other.foreign_name(),
        };
        let mut devices: Vec<TouchedDevice> = Vec::new();
        for (stack, found) in scenario.stacks.iter().zip(self.ground.found) {
            let intent = survey::intent(scenario, stack);
            for (medium, found) in stack.medium.members().iter().zip(found) {
                let Some(name) = name(medium).filter(|_| intent != Intent::Read) else { continue };
                let is_taken = intent == Intent::Take;
                match devices.iter_mut().find(|device| device.name == name) {
                    Some(known) => known.is_taken &= is_taken,
                    None => devices.push(TouchedDevice { name, bytes: found.bytes, is_taken }),
                }
            }
        }
        devices
    }

    /// Describes the files under test: new ones, and those that an earlier run has left.
    fn files(&self) -> Result<Vec<String>> {
        let scenario = self.ground.scenario;
        let steps = self.ground.media()?;
        let reused = reused(&steps);
        let rewritten = if scenario.writes() { ", overwritten" } else { "" };
        let words = |step: &iotax_steps::step::Step| match &step.op {
            Op::MakeFile(file) => {
                let (path, size) = (file.path.display(), show_size(file.bytes));
                Some(match (reused.contains_key(&step.id), file.keep) {
                    (true, _) => format!("{path}, {size}, reused from an earlier run{rewritten}"),
                    (false, true) => format!("a new file {path}, {size}, kept afterwards"),
                    (false, false) => format!("a new file {path}, {size}, removed afterwards"),
                })
            }
            Op::MakeFileAfar(file) => {
                let (path, size) = (file.path.display(), show_bytes(file.bytes));
                Some(format!("a file {path} on {}, {size}", file.host))
            }
            _ => None,
        };
        Ok(steps.iter().filter_map(words).collect())
    }

    /// Describes the emulated drives of labs, which hold nobody's data.
    fn lab_drives(&self) -> Vec<String> {
        let words = |(place, lab): (&Place, &iotax_model::scenario::LabSpec)| {
            let drives = u64::from(lab.drives.filter(|drives| *drives > 0)?);
            let count = count_noun(drives, "emulated drive", "emulated drives");
            Some(format!("{count} of {} in the guest {place}", show_bytes(lab.drive_size)))
        };
        self.ground.scenario.labs.iter().filter_map(words).collect()
    }

    fn changed_machines(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for set in &self.ground.layout.sets {
            for step in self.ground.plan_set(set, 0)?.steps {
                if let Op::ChangeMachine(change) = &step.op {
                    all.push(format!(
                        "the settings of {}, which is shut down and started for that",
                        change.vm
                    ));
                }
            }
        }
        Ok(distinct(all))
    }

    /// Describes the copies of iotax on hosts over ssh.
    fn copies(&self) -> Vec<String> {
        let stacks = || self.ground.scenario.stacks.iter();
        let members = stacks().flat_map(|stack| stack.medium.members());
        let others = members.filter(|medium| medium.agent() != LoadIssuer::Iotax);
        let without: Vec<&str> = others.filter_map(Medium::host).collect();
        let places: BTreeSet<Place> = stacks().flat_map(Stack::places).collect();
        let hosts = places.iter().filter_map(Place::ssh_host);
        let hosts = distinct(hosts.filter(|host| !without.contains(host)));
        let words = |names: String| format!("a copy of iotax on {names}, removed afterwards");
        match &hosts[..] {
            [] => Vec::new(),
            [one] => vec![words((*one).to_owned())],
            [first @ .., last] => vec![words(format!("{} and {last}", first.join(", ")))],
        }
    }

    /// Describes the longest time and the bytes written in all.
    pub fn time(&self) -> Result<String> {
        let scenario = self.ground.scenario;
        let (measuring_s, what) = self.measuring()?;
        let set_up_s = self.work.known_s();
        let open = self.work.open_work(scenario);
        let open = if open.is_empty() {
            String::new()
        } else {
            format!(", not counting {}", open.join(" and "))
        };
        let all = long_time(measuring_s.ceil() + set_up_s);
        let parts = format!("{} {what}, {} to set up", long_time(measuring_s), long_time(set_up_s));
        let words = format!("at most {all} ({parts}){open}; writes {}", self.bytes(measuring_s)?);
        Ok(self.view.paragraph(&label("Takes"), &words))
    }

    /// Returns the most seconds of measuring, and what is measured.
    fn measuring(&self) -> Result<(f64, String)> {
        let (scenario, layout) = (self.ground.scenario, self.ground.layout);
        let Some(spec) = &scenario.durability else {
            let loads = scenario.workloads.len();
            let seconds = load_s(scenario, layout) * loads as f64;
            return Ok((
                seconds,
                format!("to measure {}", count_noun(loads as u64, "load", "loads")),
            ));
        };
        let mut kills = 0;
        for set in &layout.sets {
            let guests = self.ground.plan_set(set, 0)?.guests;
            kills += guests.iter().flat_map(|guest| trial_room::kills_of(spec, guest)).count();
        }
        let kills = kills as f64 * f64::from(spec.trials);
        let each_s = (spec.least_ns + spec.most_ns) as f64 / 2e9 + boot_s();
        Ok((kills * each_s, format!("for {kills:.0} kills and boots")))
    }

    /// Describes the bytes that are written in all: by the set-up, and by the loads as far as they
    /// are limited.
    fn bytes(&self, measuring_s: f64) -> Result<String> {
        let scenario = self.ground.scenario;
        let passes = passes::passes_bytes(self.ground)?;
        let set_up = match self.work.written_bytes().saturating_add(passes) {
            0 => "nothing".to_owned(),
            bytes if is_unknown(bytes) => "an unknown amount".to_owned(),
            bytes => show_bytes(bytes),
        };
        let writing = scenario.workloads.iter().filter(|load| load.writes_data());
        let writing_s = match scenario.durability {
            Some(_) => measuring_s,
            None => load_s(scenario, self.ground.layout) * writing.clone().count() as f64,
        };
        if let Some(most) = scenario.max_written {
            return Ok(format!("{set_up}; no drive gets more than {}", show_bytes(most)));
        }
        Ok(match writing_s > 0.0 {
            false => set_up,
            true => {
                format!("{set_up} first, then {}", written_by_loads(scenario, writing, writing_s))
            }
        })
    }

    /// Says whether the run can begin, else what is missing and the one command that supplies it.
    pub fn readiness(&self) -> String {
        let needs = self.missing.iter().map(|missing| missing.what.clone());
        let all: Vec<String> = self.obstacles.iter().cloned().chain(needs).collect();
        if all.is_empty() {
            return self.view.paragraph(&label("Ready"), "yes");
        }
        let shown: Vec<String> =
            all.iter().take(MOST_REASONS).map(|why| escape_line(why)).collect();
        let more = match all.len().saturating_sub(MOST_REASONS) {
            0 => String::new(),
            more => format!("; and {more} more (-v)"),
        };
        let first = install_command(&self.missing)
            .or_else(|| self.missing.first().map(|missing| missing.command.clone()));
        let words = format!("no: {}{more}", shown.join("; "));
        let text = self.view.paragraph(&label("Ready"), &words);
        text + &first.map_or_else(String::new, |command| {
            self.view.paragraph(&label("First"), &escape_line(&command))
        })
    }
}

/// Lists devices by name and size: `2 drives (2 TiB): A, B`.
fn device_list(devices: &[TouchedDevice]) -> String {
    let size = |bytes: u64| {
        if is_unknown(bytes) { "size unknown".to_owned() } else { show_bytes(bytes) }
    };
    let names: Vec<String> = devices.iter().map(|device| escape_line(&device.name)).collect();
    match devices {
        [one] => format!("{} ({})", names[0], size(one.bytes)),
        several => {
            let all = several.iter().map(|device| device.bytes).fold(0, u64::saturating_add);
            format!("{} drives ({}): {}", several.len(), size(all), names.join(", "))
        }
    }
}

/// Describes what loads write in `seconds`: at their rates, at the rated rate of the drive, or
/// without a limit.
fn written_by_loads<'a>(
    scenario: &Scenario,
    writing: impl Iterator<Item = &'a Workload>,
    seconds: f64,
) -> String {
    let rate = |load: &Workload| -> Option<f64> {
        let jobs = load.jobs.iter().filter(|job| job.rw.writes_data());
        let each = jobs.map(|job| {
            let share = if job.rw.reads() { 1.0 - f64::from(job.rwmixread) / 100.0 } else { 1.0 };
            Some(job.rate_iops? as f64 * f64::from(job.numjobs) * job.bs as f64 * share)
        });
        each.sum()
    };
    let rates: Option<Vec<f64>> = writing.map(rate).collect();
    if let Some(rates) = rates.filter(|rates| !rates.is_empty()) {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        return format!("at most {} at the loads' rates", show_bytes((mean * seconds) as u64));
    }
    let rated = scenario.rating.as_ref();
    match rated.and_then(|rating| rating.rated_value(DriveRatings::Write)) {
        Some(rated) => format!(
            "at most {} at the rated {:.0} MB/s",
            show_bytes((rated * seconds) as u64),
            rated / 1e6
        ),
        None => format!(
            "for up to {} as fast as it goes ({} at 1 GB/s); --max-written limits it",
            long_time(seconds),
            show_bytes((1e9 * seconds) as u64)
        ),
    }
}
