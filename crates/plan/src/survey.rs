//! Surveys the machine before anything is planned: needs, the bottom of every stack, and the
//! guard's verdict on it. The survey only reads. It names everything that is missing at once.

use super::sets::SetLayout;
use super::{caches, foreign_image, foreign_socket, layer_needs};
use anyhow::{Context, Result};
use iotax_engines::kinds as engine;
use iotax_facts::place::Place;
use iotax_host::block::Identity;
use iotax_host::caches::WriteCache;
use iotax_host::guard::admit::admit;
use iotax_host::guard::found::{InspectedKind, Inspection};
use iotax_host::guard::inspect::identity_of;
use iotax_host::guard::judge::{Intent, Permit};
use iotax_host::guard::{fill, judge, marker};
use iotax_host::probe::{GuestProbe, Probe};
use iotax_host::{Missing, block};
use iotax_layers::medium::{FoundMedium, sibling_path};
use iotax_layers::{Claim, guest, layer_of, needs};
use iotax_model::layer::ceph::MEDIUM_NEEDS;
use iotax_model::scenario::{Consent, Engine, Operator, Scenario, Workload};
use iotax_model::stack::{Face, HandedDisk, LayerSpec, Medium, Stack};
use iotax_remote::hypervisor;
use iotax_units::exit::Failed;
use iotax_units::{UNKNOWN_BYTES, distinct};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct Survey {
    /// The bottom of each stack, member by member.
    pub found: Vec<Vec<FoundMedium>>,
    pub warnings: Vec<String>,
    /// Write caches that are known to be on the path, the largest first.
    pub write_caches: Vec<WriteCache>,
    /// Files that iotax makes. Each is looked at once, though several stacks use it in turn.
    made: BTreeMap<PathBuf, FoundMedium>,
    absent: Vec<AbsentTarget>,
    /// Missing consents for Ceph images and vhost-user sockets that the load writes to, one
    /// sentence each. `plan` shows them, `run` refuses.
    pub consents_lacking: Vec<String>,
    /// Drives of other hosts that loads write to without any consent, by the host and by what
    /// [`why_writes`] adds. `run` asks the host first, which names the drive.
    remote_consents_lacking: BTreeMap<(String, &'static str), BTreeSet<PathBuf>>,
    /// Identities of the local devices and files at the bottom.
    identities: Vec<(PathBuf, Identity)>,
    /// Names by which managers of virtual machines know the disks under load, by place and path.
    pub disks: BTreeMap<(Place, PathBuf), String>,
    pub afar: BTreeMap<(Place, PathBuf), RemoteDrive>,
}

/// A drive of another host, as it was when the run began.
#[derive(Clone, Debug)]
pub struct RemoteDrive {
    pub identity: Identity,
    /// True if the guard checked the drive once more, just before it was first written.
    pub admitted: bool,
}

/// Lists what is missing, one line each below a line that names what requires it; `None` if nothing
/// is missing.
pub fn list_missing(scenario: &Scenario, missing: &[Missing]) -> Option<String> {
    let needs = match scenario.is_of_command_line() {
        true => "these stacks",
        false => scenario.source.as_str(),
    };
    (!missing.is_empty()).then(|| {
        format!("missing on this machine (required by {needs}):{}", missing_lines(missing))
    })
}

pub fn listed_in(place: &Place, missing: &[Missing]) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!("missing on {place} (required by what is set up there):{}", missing_lines(missing))
    })
}

fn missing_lines(missing: &[Missing]) -> String {
    let line = |missing: &Missing| {
        format!("\n  {}: {}; hint: {}", missing.what, missing.why, missing.command)
    };
    missing.iter().map(line).collect()
}

pub fn unmet_needs(scenario: &Scenario) -> Vec<Missing> {
    let ids: Vec<&str> = needs_of(scenario).into_iter().collect();
    let mut missing = needs::missing_needs(&ids, guest::FINDINGS);
    let layers = scenario.stacks.iter().flat_map(Stack::layers_in_places);
    for (spec, _) in layers.filter(|(_, place)| place.is_host()) {
        for one in layer_of(spec).map(|layer| layer.missing_on_host(spec)).unwrap_or_default() {
            if !missing.contains(&one) {
                missing.push(one);
            }
        }
    }
    let used = |place: &Place| scenario.stacks.iter().any(|stack| stack.places().contains(place));
    let described = scenario.described.iter().filter(|(place, _)| used(place));
    for one in described.filter_map(|(_, described)| hypervisor::missing(described.vm.as_ref()?)) {
        if missing.iter().all(|known| known.what != one.what) {
            missing.push(one);
        }
    }
    missing
}

/// Returns an error for each third-party program that this host must run as a probe and cannot.
/// Programs of other places are checked when these are reached.
pub fn tools_lacking(scenario: &Scenario) -> Vec<anyhow::Error> {
    let is_here = |workload: &&Workload| {
        let stacks =
            || scenario.stacks.iter().filter(|stack| workload.is_for(stack, &scenario.stacks));
        stacks()
            .any(|stack| stack.guest().is_none() && stack.medium.places().contains(&Place::Host))
    };
    let tools = scenario.workloads.iter().filter(|workload| !workload.needs_peer()).filter(is_here);
    let tools =
        tools.filter_map(|workload| workload.probe.as_ref()).filter(|probe| probe.is_tool());
    // One thing that is missing is one message, however many probes need it.
    let mut lacking: Vec<(String, Vec<String>)> = Vec::new();
    for probe in tools {
        let Some(why) = iotax_probe::prepare(probe).err().map(|why| why.to_string()) else {
            continue;
        };
        match lacking.iter_mut().find(|(known, _)| *known == why) {
            Some((_, probes)) => probes.push(probe.to_string()),
            None => lacking.push((why, vec![probe.to_string()])),
        }
    }
    let message = |(why, probes): (String, Vec<String>)| {
        Failed::need(format!("{}: {why}", distinct(probes.into_iter()).join(", "))).into()
    };
    lacking.into_iter().map(message).collect()
}

/// Returns the ids of the needs that this host must meet for a scenario's layers, media, guests and
/// engines.
pub fn needs_of(scenario: &Scenario) -> BTreeSet<&'static str> {
    // Agents report what other places lack.
    let mut ids = layer_needs::needs_of(scenario).remove(&Place::Host).unwrap_or_default();
    if !scenario.labs.is_empty() || layer_needs::sets_up_in_guests(scenario) {
        ids.extend(guest::LAB_NEEDS);
    }
    let guests = scenario.guests.values();
    ids.extend(guests.filter_map(|spec| Some(layer_of(spec)?.needs(spec))).flatten());
    for stack in &scenario.stacks {
        if stack.places().iter().any(Place::is_ssh) {
            ids.insert("ssh");
        }
        if !stack.medium.places().contains(&Place::Host) {
            continue;
        }
        if stack.medium.face() == Face::Rbd {
            ids.extend(MEDIUM_NEEDS);
        }
        let engines = scenario.workloads.iter().map(|workload| workload.engine);
        ids.extend(engines.flat_map(|engine| engine::kind_of(engine).needs));
    }
    ids
}

/// A device or file that the scenario names and that does not exist.
#[derive(Clone, Debug)]
pub struct AbsentTarget {
    pub path: PathBuf,
    pub why: String,
}

/// Looks at the bottom of every stack and asks the guard about it. Returns what was found, and the
/// devices and files that do not exist; these are assumed to be large enough.
///
/// # Errors
/// Bad input when a target may not be used as meant.
pub fn look_over(
    scenario: &Scenario,
    layout: &SetLayout,
    report: &mut dyn FnMut(String),
) -> Result<(Survey, Vec<AbsentTarget>)> {
    refuse_fio_in_guests(scenario)?;
    refuse_unknown_to_fio(scenario)?;
    let probe = Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED);
    let mut survey =
        Survey { write_caches: caches::known_write_caches(scenario, &probe), ..Survey::default() };
    let named = scenario.stacks.iter().flat_map(|stack| stack.medium.members());
    let named: HashSet<&Path> = named.filter_map(path_of_file).collect();
    for (index, stack) in scenario.stacks.iter().enumerate() {
        let mut look =
            |member| bottom(member, layout, index, scenario, &named, &mut survey, report);
        let found = stack.medium.members().iter().map(&mut look).collect::<Result<Vec<_>>>()?;
        refuse_aliases(stack)?;
        survey.found.push(found);
    }
    refuse_other_names(scenario)?;
    survey.warnings = distinct(survey.warnings);
    let absent = std::mem::take(&mut survey.absent);
    if absent.is_empty() {
        survey.warn_of_idle_consents(scenario);
    }
    Ok((survey, absent))
}

/// Size that a place without a device counts as: no stack is larger, as the smallest decides the
/// region of all.
const NO_LIMIT: u64 = 1 << 46;

/// Returns the step of a person that brings the stack's drive; `None`: it is there.
pub fn moved_by_operator<'a>(scenario: &'a Scenario, stack: &Stack) -> Option<&'a Operator> {
    scenario.operator_of(stack).filter(|_| stack.by_hand.is_empty())
}

/// Looks at one medium, or one member of several. Of a file that stacks have equal copies of in
/// turn, all copies are looked at.
fn bottom(
    member: &Medium,
    layout: &SetLayout,
    index: usize,
    scenario: &Scenario,
    named: &HashSet<&Path>,
    survey: &mut Survey,
    report: &mut dyn FnMut(String),
) -> Result<FoundMedium> {
    let stack = &scenario.stacks[index];
    if let Some(operator) = moved_by_operator(scenario, stack) {
        // The medium may still be elsewhere: it is looked at when it is the stack's turn.
        return Ok(FoundMedium::without_signature(operator.size, true, true));
    }
    let is_first = stack.medium.members().first() == Some(member);
    for disk in
        stack.by_hand.iter().filter(|_| is_first && intent(scenario, stack) == Intent::Write)
    {
        let lacking = handed_consent_lacking(disk, scenario);
        survey
            .consents_lacking
            .extend(lacking.filter(|one| !survey.consents_lacking.contains(one)));
    }
    let lacking = member.foreign_name().and_then(|name| consent_lacking(&name, scenario, stack));
    survey.consents_lacking.extend(lacking);
    if let Some((host, drive)) = drive_without_consent(member, scenario, stack) {
        let key = (host.to_owned(), why_writes(scenario, stack));
        survey.remote_consents_lacking.entry(key).or_default().insert(drive.to_owned());
    }
    match member {
        Medium::File { path, size, .. } => {
            // The file was looked at with its siblings, which all stacks of it have.
            if let Some(found) = survey.made.get(path) {
                return Ok(found.clone());
            }
            let look = |sibling: &Option<usize>| {
                let own = sibling_path(path, *sibling);
                refuse_double_use(&own, path, named, stack)?;
                inspect_made_file(&own, *size, scenario, stack, survey)
            };
            let found = layout.siblings_of(index).iter().map(look).collect::<Result<Vec<_>>>()?;
            found.into_iter().next().with_context(|| format!("{}: no file at all", stack.text))
        }
        Medium::Device { path } => existing(path, false, scenario, stack, survey),
        Medium::Cpu { .. } | Medium::Net { .. } => {
            Ok(FoundMedium::without_signature(NO_LIMIT, true, true))
        }
        Medium::Drive { place, .. } => {
            let lab = scenario
                .labs
                .get(place)
                .with_context(|| format!("{}: no lab @{place}", stack.text))?;
            Ok(FoundMedium::without_signature(lab.drive_size, true, true))
        }
        // The agent there is asked for the size when it is reached.
        Medium::Remote { size: Some(bytes), .. } => {
            Ok(FoundMedium::without_signature(*bytes, false, false))
        }
        Medium::Remote { path, .. } => {
            Ok(FoundMedium::without_signature(UNKNOWN_BYTES, path.starts_with("/dev"), true))
        }
        Medium::Rbd { pool, image, conf } => {
            let seen =
                foreign_image::inspect_foreign_image(conf, pool, image, scenario, stack, report)?;
            survey.warnings.extend(seen.warnings);
            Ok(FoundMedium::without_signature(seen.bytes, true, true))
        }
        Medium::VhostUser { path } => Ok(FoundMedium::without_signature(
            foreign_socket::inspect_socket(path, stack)?,
            true,
            true,
        )),
        Medium::Many { .. } => {
            Err(Failed::input(format!("{}: a list of media within a list", stack.text)).into())
        }
    }
}

fn path_of_file(medium: &Medium) -> Option<&Path> {
    match medium {
        Medium::File { path, .. } => Some(path),
        _ => None,
    }
}

/// Refuses a sibling that a stack uses as a file of its own. `x.img.2` may be such a file, and then
/// it cannot be the second of the equal files that `x.img` needs.
fn refuse_double_use(
    sibling: &Path,
    of: &Path,
    named: &HashSet<&Path>,
    stack: &Stack,
) -> Result<()> {
    if sibling == of || !named.contains(sibling) {
        return Ok(());
    }
    Err(Failed::input(format!(
        "{}: {} is needed as an equal file of {}, and it is under test itself; hint: give it another name",
        stack.text,
        sibling.display(),
        of.display()
    ))
    .into())
}

/// Refuses two names of one device in a stack, which would load it twice and count it as two. The
/// load generator finds aliases that the names do not show.
fn refuse_aliases(stack: &Stack) -> Result<()> {
    let mut seen: Vec<(PathBuf, &Path)> = Vec::new();
    for member in stack.medium.members() {
        let (Medium::File { path, .. } | Medium::Device { path }) = member else { continue };
        let Ok(real) = path.canonicalize() else { continue };
        if let Some((_, twin)) = seen.iter().find(|(other, _)| *other == real) {
            return Err(Failed::input(format!(
                "{}: {} and {} are the same, {}; hint: name each member once",
                stack.text,
                twin.display(),
                path.display(),
                real.display()
            ))
            .into());
        }
        seen.push((real, path));
    }
    Ok(())
}

#[derive(Clone)]
struct NamedDevice<'a> {
    stack: &'a Stack,
    path: &'a Path,
    /// Path without links; for a device, the kernel's name.
    real: PathBuf,
    disk: Option<PathBuf>,
    intent: Intent,
}

impl<'a> NamedDevice<'a> {
    fn look_up(
        probe: &Probe,
        path: &'a Path,
        scenario: &Scenario,
        stack: &'a Stack,
    ) -> Option<NamedDevice<'a>> {
        let device = std::fs::metadata(path).ok().filter(|meta| meta.file_type().is_block_device());
        let (real, disk) = match device.and_then(|meta| block::node_by_number(probe, meta.rdev())) {
            Some(node) => (
                Path::new("/dev").join(node.name),
                node.parent.map(|disk| Path::new("/dev").join(disk)),
            ),
            // It may be made later, in a folder with two names.
            None => (path.canonicalize().ok().or_else(|| in_real_folder(path))?, None),
        };
        Some(NamedDevice { stack, path, real, disk, intent: intent(scenario, stack) })
    }

    /// Returns the device itself and the disk that it is a part of.
    fn disks(&self) -> Vec<&PathBuf> {
        std::iter::once(&self.real).chain(&self.disk).collect()
    }

    /// Returns why both cannot be in one run; `None` if they can.
    fn clash(&self, other: &NamedDevice) -> Option<String> {
        if self.path == other.path {
            return None; // What the sets are made for.
        }
        let (one, two) = (self.path.display(), other.path.display());
        if self.real == other.real {
            let real = self.real.display();
            return Some(format!(
                "{one} and {two} are the same, {real}; hint: give it one name in all stacks"
            ));
        }
        let is_part = |a: &NamedDevice, b: &NamedDevice| a.disk.as_ref() == Some(&b.real);
        let only_read = [self, other].iter().all(|named| named.intent == Intent::Read);
        let parted = is_part(self, other) || is_part(other, self);
        (parted && !only_read).then(|| {
            format!("of {one} and {two} one is a part of the other, and one of them is written or given to a guest; hint: two runs")
        })
    }
}

fn in_real_folder(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// Refuses stacks that name one medium differently. The name shows that stacks share a medium:
/// under two names they would be up together, though one takes the other's drive away or writes
/// under it.
fn refuse_other_names(scenario: &Scenario) -> Result<()> {
    let probe = Probe::of_files(Path::new("/"));
    // The key is what only media that may clash have in common. Of stacks that use one name alike,
    // the first represents all.
    let mut seen: HashMap<PathBuf, Vec<NamedDevice>> = HashMap::new();
    for stack in &scenario.stacks {
        let mut own = Vec::new();
        for member in stack.medium.members() {
            let (Medium::File { path, .. } | Medium::Device { path }) = member else { continue };
            own.extend(NamedDevice::look_up(&probe, path, scenario, stack));
        }
        for one in &own {
            let near = one.disks().into_iter().filter_map(|disk| seen.get(disk)).flatten();
            if let Some((other, why)) =
                near.filter_map(|other| Some((other, other.clash(one)?))).next()
            {
                let (first, second) = (&other.stack.text, &one.stack.text);
                return Err(Failed::input(format!("{first} and {second}: {why}")).into());
            }
        }
        for one in own {
            let alike = |other: &NamedDevice| (other.path, other.intent) == (one.path, one.intent);
            for disk in one.disks() {
                let near = seen.entry(disk.clone()).or_default();
                if !near.iter().any(alike) {
                    near.push(one.clone());
                }
            }
        }
    }
    Ok(())
}

impl Survey {
    /// Refuses a device if another one had its name when it was looked at.
    ///
    /// # Errors
    /// Another device has the name now, or it cannot be identified.
    pub fn recognise(&self, path: &Path) -> Result<()> {
        let Some((_, known)) = self.identities.iter().find(|(known, _)| known == path) else {
            return Ok(());
        };
        same_device(path, known, &identity_of(path)?)
    }

    /// Returns the serial or WWN by which a consent names a device here or on a host that was
    /// reached. `None`: it is a file, or has neither.
    pub fn serial_of(&self, place: &Place, path: &str) -> Option<String> {
        let here = self
            .identities
            .iter()
            .filter(|(known, _)| known.as_os_str() == path && place.is_host());
        let afar = self.afar.get(&(place.clone(), PathBuf::from(path)));
        let mut known = here.map(|(_, identity)| identity).chain(afar.map(|afar| &afar.identity));
        known.find_map(|identity| judge::consent_word(identity).map(str::to_owned))
    }

    /// Warns of consents that name no device under test. Such a consent is probably a typing error
    /// for a disk that is under test.
    fn warn_of_idle_consents(&mut self, scenario: &Scenario) {
        if scenario.stacks.iter().any(|stack| stack.medium.places().iter().any(Place::is_ssh)) {
            return; // The devices over there are not known yet.
        }
        let images: Vec<String> =
            scenario.stacks.iter().filter_map(|stack| stack.medium.foreign_name()).collect();
        let names_none = |consent: &&Consent| {
            !images.contains(&consent.serial)
                && !self
                    .identities
                    .iter()
                    .any(|(_, identity)| judge::names_device(identity, &consent.serial))
        };
        let idle: Vec<String> = scenario
            .consent
            .iter()
            .filter(names_none)
            .map(|consent| {
                format!(
                    "--destroy serial={}: no device under test has that serial or WWN",
                    consent.serial
                )
            })
            .collect();
        self.warnings.extend(idle);
    }
}

/// Refuses fio in our guests: they hold the kernel and iotax, nothing else.
fn refuse_fio_in_guests(scenario: &Scenario) -> Result<()> {
    let named = |stack: &Stack| stack.generator().map(|spec| spec.option("name") == Some("fio"));
    let of_a_workload =
        scenario.workloads.iter().any(|workload| workload.engine == Some(Engine::Fio));
    let guest = |stack: &&Stack| stack.guest().is_some();
    match scenario.stacks.iter().filter(guest).find(|stack| named(stack).unwrap_or(of_a_workload)) {
        Some(stack) => Err(Failed::input(format!(
            "{}: there is no fio in the guests of iotax{}; hint: the engine uring or sync, or a guest of your own by ssh:HOST:/dev/...",
            stack.text,
            for_keys(&scenario.workloads)
        ))
        .into()),
        None => Ok(()),
    }
}

/// Describes the keys of a job file that need fio: `, and thinktime needs it`.
fn for_keys(loads: &[Workload]) -> String {
    let keys = distinct(loads.iter().flat_map(Workload::fio_keys));
    if keys.is_empty() { String::new() } else { format!(", and {} need it", keys.join(", ")) }
}

/// Refuses loads with options that the fio here does not know.
fn refuse_unknown_to_fio(scenario: &Scenario) -> Result<()> {
    if !scenario.stacks.iter().any(|stack| stack.medium.places().contains(&Place::Host)) {
        return Ok(());
    }
    for load in &scenario.workloads {
        iotax_engines::fio::check_known(&load.jobs).map_err(|error| {
            Failed::input(format!(
                "load \"{}\" is fio's ({}): {error}; hint: leave out what this fio does not know, or install a newer fio",
                load.name,
                load.fio_keys().join(", ")
            ))
        })?;
    }
    Ok(())
}

/// Looks at a file that iotax makes if it does not exist, or reuses if it made it earlier.
fn inspect_made_file(
    path: &Path,
    size: Option<u64>,
    scenario: &Scenario,
    stack: &Stack,
    survey: &mut Survey,
) -> Result<FoundMedium> {
    let Some(bytes) = size else { return existing(path, true, scenario, stack, survey) };
    if let Some(found) = survey.made.get(path) {
        return Ok(found.clone());
    }
    if std::fs::symlink_metadata(path).is_ok() {
        let (found, _) = admitted(path, Intent::Write, scenario, stack)?;
        let ours = found.marker.as_ref().map(|marker| marker.bytes);
        if ours.is_some_and(|ours| ours != bytes) {
            let why = other_size(path, ours.unwrap_or(0), bytes);
            return Err(Failed::input(format!("{}: {why}", stack.text)).into());
        }
    } else {
        marker::check_room(path, bytes)?;
    }
    let found = FoundMedium::without_signature(bytes, false, false);
    survey.made.insert(path.to_owned(), found.clone());
    Ok(found)
}

/// Looks at somebody's device or file, which is read, or written by explicit consent. One that does
/// not exist is added to the absent targets, and its size is unknown; `could_be_made` is true if
/// iotax could create it.
///
/// # Errors
/// Bad input when it may not be used as meant.
pub fn existing(
    path: &Path,
    could_be_made: bool,
    scenario: &Scenario,
    stack: &Stack,
    survey: &mut Survey,
) -> Result<FoundMedium> {
    if std::fs::metadata(path).is_err() {
        let place = scenario.place_of(stack, path);
        // The name comes from the place of a [device.NAME] in the scenario.
        let name = place.split_once("[device.").and_then(|(_, rest)| Some(rest.split_once(']')?.0));
        let hint = match (could_be_made, name) {
            (true, _) => "name an existing file, or add size=4GiB to have it created".to_owned(),
            (false, None) => "iotax doctor lists the devices of this machine".to_owned(),
            (false, Some(name)) => {
                format!(
                    "iotax doctor lists the devices of this machine; --device {name}=/dev/NAME uses another"
                )
            }
        };
        let why = format!("{place}{} does not exist; hint: {hint}", path.display());
        if survey.absent.iter().all(|known| known.path != path) {
            survey.absent.push(AbsentTarget { path: path.to_owned(), why });
        }
        return Ok(FoundMedium::without_signature(UNKNOWN_BYTES, !could_be_made, true));
    }
    let (found, permit) = admitted(path, intent(scenario, stack), scenario, stack)?;
    survey.warnings.extend(permit.warnings);
    if found.kind == InspectedKind::File && fill::holes(path).is_ok_and(|bytes| bytes > 0) {
        survey
            .warnings
            .push(format!("{} has holes: reading them measures no disk", path.display()));
    }
    survey.identities.push((path.to_owned(), found.identity.clone()));
    Ok(found_of(&found))
}

/// Checks that the device at `path` is still the same one.
///
/// # Errors
/// Another device is there now; the error names both.
pub fn same_device(path: &Path, known: &Identity, now: &Identity) -> Result<()> {
    if known.is_same_device(now) {
        return Ok(());
    }
    let word = |identity: &Identity| {
        judge::consent_word(identity).or(identity.name.as_deref()).unwrap_or("?").to_owned()
    };
    Err(Failed::measurement(format!(
        "{} was {} when the run began and is {} now; hint: name it by /dev/disk/by-id/...",
        path.display(),
        word(known),
        word(now)
    ))
    .into())
}

/// Formats the refusal of a file that iotax created in an earlier run with another size.
pub fn other_size(path: &Path, has: u64, wanted: u64) -> String {
    format!(
        "iotax created {} in an earlier run with a size of {}, not {}; hint: use that size, or remove the file",
        path.display(),
        iotax_units::show_bytes(has),
        iotax_units::show_bytes(wanted)
    )
}

/// Judges what another host's agent saw, as the guard does here.
///
/// # Errors
/// The guard's refusal, naming the stack.
pub fn judged_afar(
    found: &Inspection,
    intent: Intent,
    scenario: &Scenario,
    stack: &Stack,
) -> Result<Permit> {
    let judged = judge::judge(found, intent, &scenario.consent);
    judged.map_err(|refusal| {
        let why = Failed::from(refusal);
        Failed {
            message: format!("{}: {}{}", stack.text, why.message, why_writes(scenario, stack)),
            ..why
        }
        .into()
    })
}

pub fn found_of(found: &Inspection) -> FoundMedium {
    let bytes = found.marker.as_ref().map_or(found.bytes, |marker| marker.bytes);
    let marks = found.signatures.iter().filter(|signature| signature.is_mark());
    let names: BTreeSet<String> = marks.map(|signature| signature.name.clone()).collect();
    FoundMedium {
        signatures: names.into_iter().collect(),
        ..FoundMedium::without_signature(bytes, found.kind != InspectedKind::File, true)
    }
}

/// Asks the guard whether a path may be used as intended. The guard's hold on a device ends here,
/// since layers must be able to open it; the agent asks again just before the first write.
///
/// # Errors
/// The guard's refusal, naming the stack.
pub fn admitted(
    path: &Path,
    intent: Intent,
    scenario: &Scenario,
    stack: &Stack,
) -> Result<(Inspection, Permit)> {
    let admission = admit(path, intent, &scenario.consent).map_err(|error| {
        Failed::input(format!("{}: {error:#}{}", stack.text, why_writes(scenario, stack)))
    })?;
    Ok((admission.inspection, admission.permit))
}

/// Returns the refusal if the user has not consented to writing to an image or socket that is no
/// kernel's device. `None`: the consent is given, or nothing is written.
pub fn consent_lacking(name: &str, scenario: &Scenario, stack: &Stack) -> Option<String> {
    let is_named = || scenario.consent.iter().any(|consent| consent.serial == name);
    (intent(scenario, stack) == Intent::Write && !is_named()).then(|| {
        format!(
            "{}: the load writes to {name}, which iotax did not create; hint: --destroy serial={name} if its data may \
             be lost{}",
            stack.text,
            why_writes(scenario, stack)
        )
    })
}

impl Survey {
    /// Returns what `plan` says of drives of other hosts that the load writes to, if the user has
    /// consented to no drive at all: one sentence for each host.
    pub fn remote_consents_lacking(&self) -> Vec<String> {
        let sentence = |((host, why), drives): (&(String, &str), &BTreeSet<PathBuf>)| {
            let names: Vec<String> = drives.iter().map(|path| path.display().to_string()).collect();
            format!(
                "the load writes to {} on {host}; hint: --destroy serial=SERIAL for each drive whose data may be lost{why}",
                names.join(", ")
            )
        };
        self.remote_consents_lacking.iter().map(sentence).collect()
    }
}

/// Returns the refusal if the user has not consented to writing to a disk that a person makes.
fn handed_consent_lacking(disk: &HandedDisk, scenario: &Scenario) -> Option<String> {
    let serial = &disk.serial;
    let is_named = scenario.consent.iter().any(|consent| consent.serial == *serial);
    (!is_named).then(|| {
        format!(
            "the load writes to {disk}; hint: --destroy serial={serial} if its data may be lost"
        )
    })
}

/// Returns the host and path of a drive that the load writes to, if it is another host's and the
/// user has consented to no drive at all. Which drives consents name is known only when that host
/// is asked.
fn drive_without_consent<'a>(
    member: &'a Medium,
    scenario: &Scenario,
    stack: &Stack,
) -> Option<(&'a str, &'a Path)> {
    let Medium::Remote { host, path, size: None, .. } = member else { return None };
    let is_drive = [r"/dev/", r"\\.\"].iter().any(|root| path.to_string_lossy().starts_with(root));
    let lacks = is_drive && scenario.consent.is_empty() && intent(scenario, stack) == Intent::Write;
    lacks.then_some((host, path))
}

/// Returns a clause that says why a stack writes although its load reads, since nobody expects such
/// a load to need a consent; empty if it needs no reason.
fn why_writes(scenario: &Scenario, stack: &Stack) -> &'static str {
    match scenario.writes() {
        true => "",
        false if scenario.measure.precondition.passes > 0 => {
            "; the load only reads, but precondition writes the whole of it"
        }
        false if stack.layers.iter().any(guest::gives_drive_to_stranger) => {
            "; the load only reads, but the system in the image gets the drive itself and may write to it"
        }
        false => "",
    }
}

/// Returns what a stack does to its medium: the load, preconditioning, a layer or a rebuild writes
/// to it; it is taken from this host; or it is only read.
pub fn intent(scenario: &Scenario, stack: &Stack) -> Intent {
    let load = scenario.writes() || scenario.measure.precondition.passes > 0;
    let layers = stack
        .layers
        .iter()
        .any(|spec| layer_of(spec).is_some_and(|layer| layer.writes_below(spec)));
    match load || layers || stack.may_be_rebuilt() {
        true => Intent::Write,
        false if takes_drive(stack) => Intent::Take,
        false => Intent::Read,
    }
}

/// Returns true if the stack's drive is away from this host while the stack is up.
pub fn takes_drive(stack: &Stack) -> bool {
    let takes =
        |spec: &LayerSpec| layer_of(spec).is_some_and(|layer| layer.claim(spec) == Claim::Takes);
    stack.layers.iter().any(takes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::layout;
    use iotax_host::guard::rig::Loop;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    fn scenario(stacks: &[&str]) -> Scenario {
        let stacks: Vec<String> = stacks.iter().map(|text| (*text).to_owned()).collect();
        let words = vec![("rw".to_owned(), "randread".to_owned())];
        from_arguments(&stacks, &ScenarioRequest { words, ..ScenarioRequest::default() }).unwrap()
    }

    #[test]
    fn needs_are_asked_of_the_place_of_each_end() {
        let needs =
            |text: &str| needs_of(&scenario(&[text])).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(needs("/dev/x | nvmf"), "nvme_tcp nvmet nvmet_tcp root");
        assert_eq!(
            needs("/dev/x | nvmf(address=10.0.0.1) @host>@ssh:client"),
            "nvmet nvmet_tcp root ssh"
        );
        assert_eq!(needs("/dev/x | nbd"), "nbd nbd-client qemu-nbd root");
    }

    #[test]
    fn a_drive_of_another_host_is_not_written_without_any_consent() {
        let lacking = |medium: &str, rw: &str, consents: &[&str]| {
            let words = vec![("rw".to_owned(), rw.to_owned())];
            let request = ScenarioRequest { words, ..ScenarioRequest::default() };
            let mut scenario = from_arguments(&[medium.to_owned()], &request).unwrap();
            let named = |serial: &&str| Consent {
                serial: (*serial).to_owned(),
                wipe: Vec::new(),
                unseen: Vec::new(),
            };
            scenario.consent = consents.iter().map(named).collect();
            let (survey, _) = look_over(&scenario, &layout(&scenario), &mut |_| {}).unwrap();
            survey.remote_consents_lacking()
        };
        let drive = "ssh:h1:/dev/nvme0n1";
        let refused = lacking(drive, "randwrite", &[]);
        assert!(
            refused[0].contains("writes to /dev/nvme0n1 on h1; hint: --destroy"),
            "{refused:?}"
        );
        assert!(lacking(drive, "randread", &[]).is_empty());
        assert!(lacking(drive, "randwrite", &["S1"]).is_empty(), "that host is asked about S1");
        assert!(lacking("ssh:h1:/srv/x.img,size=1GiB", "randwrite", &[]).is_empty());
    }

    #[test]
    fn one_medium_under_two_names_in_two_stacks_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(at("real")).unwrap();
        std::fs::write(at("real/x"), vec![1; 4096]).unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        let look = |stacks: [String; 2]| {
            let scenario = scenario(&stacks.each_ref().map(String::as_str));
            look_over(&scenario, &layout(&scenario), &mut |_| {})
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let file = |name: &str| format!("file:{}", at(name));
        let refused = look([file("real/x"), file("link/x") + " | loop"]).unwrap_err();
        assert!(
            refused.contains("are the same") && refused.contains("hint: give it one name"),
            "{refused}"
        );
        assert_eq!(look([file("real/x"), file("real/x") + " | loop"]), Ok(()));
        // Neither file is there yet.
        let made = |name: &str| file(name) + ",size=1MiB";
        assert!(look([made("real/y"), made("link/y")]).unwrap_err().contains("are the same"));
        assert_eq!(look([made("real/y"), made("link/z")]), Ok(()));
    }

    #[test]
    fn a_drive_under_two_names_and_a_part_of_it_are_refused_where_it_is_taken() {
        let scenario =
            scenario(&["/dev/nvme1n1", "/dev/disk/by-id/x | vm(attach=vfio)", "/dev/nvme1n1p1"]);
        let named =
            |at: usize, path: &'static str, disk: Option<&str>, intent: Intent| NamedDevice {
                stack: &scenario.stacks[at],
                path: Path::new(path),
                real: if disk.is_some() { path } else { "/dev/nvme1n1" }.into(),
                disk: disk.map(PathBuf::from),
                intent,
            };
        let bare = named(0, "/dev/nvme1n1", None, Intent::Read);
        let taken = named(1, "/dev/disk/by-id/x", None, Intent::Take);
        let part = named(2, "/dev/nvme1n1p1", Some("/dev/nvme1n1"), Intent::Read);
        let same = "/dev/nvme1n1 and /dev/disk/by-id/x are the same, /dev/nvme1n1; hint: give it one name in all stacks";
        assert_eq!(bare.clash(&taken).as_deref(), Some(same));
        assert!(taken.clash(&part).unwrap().contains("one is a part of the other"));
        assert!(part.clash(&taken).is_some());
        assert_eq!(bare.clash(&part), None, "reads side by side");
        let other = NamedDevice {
            real: "/dev/nvme2n1p1".into(),
            disk: Some("/dev/nvme2n1".into()),
            ..part
        };
        assert_eq!(taken.clash(&other), None);
    }

    #[test]
    fn a_real_device_is_known_by_its_kernel_name() {
        let Some(device) = Loop::with_size(1 << 20) else { return };
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&device.path, &link).unwrap();
        let scenario = scenario(&["/dev/x"]);
        let probe = Probe::of_files(Path::new("/"));
        let named =
            |path| NamedDevice::look_up(&probe, path, &scenario, &scenario.stacks[0]).unwrap();
        assert_eq!(named(&link).real, device.path);
        assert!(named(&link).clash(&named(&device.path)).is_some());
    }

    #[test]
    fn what_is_another_device_than_at_first_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "one").unwrap();
        let known = identity_of(&path).unwrap();
        let survey = Survey { identities: vec![(path.clone(), known)], ..Survey::default() };
        assert!(survey.recognise(&path).is_ok());
        assert!(survey.recognise(Path::new("/dev/not-looked-at")).is_ok());
        std::fs::rename(&path, folder.path().join("y")).unwrap();
        std::fs::write(&path, "one").unwrap();
        let error = survey.recognise(&path).unwrap_err().to_string();
        assert!(
            error.contains("when the run began") && error.contains("hint: name it by"),
            "{error}"
        );
    }
}
