//! What is there before anything is planned: needs, the bottom of every stack, and the guard's
//! word on it. It reads only. All that is missing is named at once.

use super::places::Place;
use super::sets::Layout;
use super::wire::message::{Request, Response};
use super::{caches, engine};
use crate::exit::Failed;
use crate::guard::admit::admit;
use crate::guard::fill;
use crate::guard::inspect::{Inspection, Kind};
use crate::guard::judge::{self, Intent, Permit};
use crate::guard::marker;
use crate::host::block::Identity;
use crate::host::caches::WriteCache;
use crate::host::probe::{GuestProbe, Probe};
use crate::host::{Missing, needs};
use crate::layer::medium::{Found, sibling_path};
use crate::layer::{Claim, by_name, guest};
use crate::scenario::{Agent, Consent, Engine, LayerSpec, Medium, Scenario, Stack};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A thousand random blocks of a slow disk, without an agent over a slow connection.
const INSPECT_LIMIT: Duration = Duration::from_secs(150);

/// What was found.
#[derive(Debug, Default)]
pub struct Survey {
    /// The bottom of each stack, member by member.
    pub found: Vec<Vec<Found>>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Caches of writes that are known on the path, the largest first.
    pub write_caches: Vec<WriteCache>,
    /// Files that are made, looked at once though several stacks have them in turn.
    made: BTreeMap<PathBuf, Found>,
    /// Who the local devices and files at the bottom are.
    identities: Vec<Identity>,
}

/// Refuses a scenario with unmet needs.
///
/// # Errors
/// Exit code 3 naming every one of them, each with the command that supplies it.
pub fn check_needs(scenario: &Scenario) -> Result<()> {
    match missing(scenario) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(Failed::need(listed(scenario, &missing)).into()),
    }
}

/// The same of a run that is to be stored: what only a reboot supplies it can wait for, and this says what that is.
///
/// # Errors
/// As [`check_needs`], when anything else is missing.
pub fn waits_for(scenario: &Scenario) -> Result<Option<String>> {
    let missing = missing(scenario);
    if missing.iter().any(|missing| !missing.reboot) {
        return Err(Failed::need(listed(scenario, &missing)).into());
    }
    Ok((!missing.is_empty()).then(|| listed(scenario, &missing)))
}

fn listed(scenario: &Scenario, missing: &[Missing]) -> String {
    let lines: Vec<String> = missing
        .iter()
        .map(|missing| format!("  {}: {}; hint: {}", missing.what, missing.why, missing.command))
        .collect();
    format!("this machine lacks what {} needs:\n{}", scenario.source, lines.join("\n"))
}

/// What a scenario needs and this machine lacks.
pub fn missing(scenario: &Scenario) -> Vec<Missing> {
    let ids: Vec<&str> = needs_of(scenario).into_iter().collect();
    needs::missing(&ids, Path::new("/"), guest::FINDINGS)
}

/// Ids of `host::needs` that a scenario's layers, media and engines ask for.
pub fn needs_of(scenario: &Scenario) -> BTreeSet<&'static str> {
    let mut ids = BTreeSet::new();
    for stack in &scenario.stacks {
        if stack.medium.host().is_some() {
            // What it takes over there, the agent tells.
            ids.insert("ssh");
            continue;
        }
        for spec in &stack.layers {
            ids.extend(by_name(&spec.name).map(|layer| layer.needs(spec)).unwrap_or_default());
        }
        let engines = scenario.workloads.iter().map(|workload| workload.engine);
        ids.extend(engines.flat_map(|engine| engine::kind_of(engine).needs));
    }
    ids
}

/// Looks at the bottom of every stack and asks the guard about it.
///
/// # Errors
/// Bad input when a target does not exist or may not be used as meant.
pub fn look(scenario: &Scenario, layout: &Layout) -> Result<Survey> {
    refuse_fio_in_guests(scenario)?;
    let probe = Probe::here(Path::new("/"), GuestProbe::NOT_ASKED);
    let mut survey = Survey { write_caches: caches::known(scenario, &probe), ..Survey::default() };
    for (index, stack) in scenario.stacks.iter().enumerate() {
        let look = |member| bottom(member, &layout.siblings_of(index), scenario, stack, &mut survey);
        let found = stack.medium.members().iter().map(look).collect::<Result<Vec<_>>>()?;
        refuse_aliases(stack)?;
        survey.found.push(found);
    }
    survey.warnings.dedup();
    survey.warn_of_idle_consents(scenario);
    Ok(survey)
}

/// One medium, or one of several; of a divided file all siblings.
fn bottom(
    member: &Medium,
    siblings: &[Option<usize>],
    scenario: &Scenario,
    stack: &Stack,
    survey: &mut Survey,
) -> Result<Found> {
    match member {
        Medium::File { path, size, .. } => {
            let look = |sibling: &Option<usize>| {
                let own = sibling_path(path, *sibling);
                refuse_double_use(&own, path, scenario, stack)?;
                file(&own, *size, scenario, stack, survey)
            };
            let found = siblings.iter().map(look).collect::<Result<Vec<_>>>()?;
            found.into_iter().next().with_context(|| format!("{}: no file at all", stack.text))
        }
        Medium::Device { path } => existing(path, false, scenario, stack, survey),
        // Its size is asked of the agent there, when it is reached.
        Medium::Remote { size: Some(bytes), agent: Agent::Fio, .. } => {
            Ok(Found { bytes: *bytes, block: false, exists: false })
        }
        Medium::Remote { path, .. } => {
            Ok(Found { bytes: u64::MAX, block: path.starts_with("/dev"), exists: true })
        }
        Medium::Many { .. } => {
            Err(Failed::input(format!("{}: a list of media within a list", stack.text)).into())
        }
    }
}

/// `x.img.2` may be a file of its own, and then it cannot be the second of the equal files that `x.img` needs.
fn refuse_double_use(sibling: &Path, of: &Path, scenario: &Scenario, stack: &Stack) -> Result<()> {
    let named = |medium: &Medium| matches!(medium, Medium::File { path, .. } if path == sibling);
    let mut media = scenario.stacks.iter().flat_map(|stack| stack.medium.members());
    if sibling == of || !media.any(named) {
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

/// Two names of one device would load it twice and call it two. The worker finds what is not seen by name.
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

impl Survey {
    /// A consent that names nothing under test is a slip of the pen, and may be meant for a disk that is.
    fn warn_of_idle_consents(&mut self, scenario: &Scenario) {
        if scenario.stacks.iter().any(|stack| stack.medium.host().is_some()) {
            return; // The devices over there are not known yet.
        }
        let names_none = |consent: &&Consent| {
            !self.identities.iter().any(|identity| judge::names_device(identity, &consent.serial))
        };
        let idle: Vec<String> = scenario
            .consent
            .iter()
            .filter(names_none)
            .map(|consent| {
                format!("--destroy serial={}: no device under test has that serial or WWN", consent.serial)
            })
            .collect();
        self.warnings.extend(idle);
    }
}

/// Our guests hold the kernel and iotax, nothing else.
fn refuse_fio_in_guests(scenario: &Scenario) -> Result<()> {
    let named = |stack: &Stack| {
        stack
            .layers
            .iter()
            .rev()
            .find(|spec| spec.name == "engine")
            .map(|spec| spec.option("name") == Some("fio"))
    };
    let of_a_workload = scenario.workloads.iter().any(|workload| workload.engine == Some(Engine::Fio));
    let guest = |stack: &&Stack| stack.layers.iter().any(|spec| spec.name == "vm");
    match scenario.stacks.iter().filter(guest).find(|stack| named(stack).unwrap_or(of_a_workload)) {
        Some(stack) => Err(Failed::input(format!(
            "{}: there is no fio in the guests of iotax; hint: the engine uring or sync, or a guest of your own by ssh:HOST:/dev/...",
            stack.text
        ))
        .into()),
        None => Ok(()),
    }
}

/// A file that is made when it is not there, or reused when it is ours.
fn file(
    path: &Path,
    size: Option<u64>,
    scenario: &Scenario,
    stack: &Stack,
    survey: &mut Survey,
) -> Result<Found> {
    let Some(bytes) = size else { return existing(path, true, scenario, stack, survey) };
    if let Some(found) = survey.made.get(path) {
        return Ok(found.clone());
    }
    if std::fs::symlink_metadata(path).is_ok() {
        let (found, _) = admitted(path, Intent::Write, scenario, stack)?;
        let ours = found.marker.as_ref().map(|marker| marker.bytes);
        if ours.is_some_and(|ours| ours != bytes) {
            return Err(Failed::input(format!(
                "{}: {} is ours from an earlier run and holds {}, not {}; hint: say that size, or remove the file",
                stack.text,
                path.display(),
                crate::units::show_bytes(ours.unwrap_or(0)),
                crate::units::show_bytes(bytes)
            ))
            .into());
        }
    } else {
        marker::check_room(path, bytes)?;
    }
    let found = Found { bytes, block: false, exists: false };
    survey.made.insert(path.to_owned(), found.clone());
    Ok(found)
}

/// Somebody's device or file: read, or written by explicit consent.
///
/// # Errors
/// Bad input when it does not exist or may not be used as meant.
fn existing(
    path: &Path,
    could_be_made: bool,
    scenario: &Scenario,
    stack: &Stack,
    survey: &mut Survey,
) -> Result<Found> {
    if std::fs::metadata(path).is_err() {
        return Err(Failed::input(format!(
            "{}: {} does not exist; hint: name a path that does{}",
            stack.text,
            path.display(),
            if could_be_made { ", or add size=4GiB to have the file made" } else { "" }
        ))
        .into());
    }
    let (found, permit) = admitted(path, intent(scenario, stack), scenario, stack)?;
    survey.warnings.extend(permit.warnings);
    if found.kind == Kind::File && fill::holes(path).is_ok_and(|bytes| bytes > 0) {
        survey.warnings.push(format!("{} has holes: reading them measures no disk", path.display()));
    }
    survey.identities.push(found.identity.clone());
    Ok(found_of(&found))
}

/// The bottom of a stack on another host, asked of the agent there. A file that is to be made where no agent is may be
/// missing, or is ours already.
///
/// # Errors
/// Bad input when it does not exist or may not be used as meant.
pub fn remote(
    place: &mut Place,
    medium: &Medium,
    scenario: &Scenario,
    stack: &Stack,
) -> Result<(Found, Vec<String>)> {
    let Medium::Remote { path, size, agent, .. } = medium else {
        return Err(Failed::input(format!("{}: not on another host", stack.text)).into());
    };
    let payload = match place.ask(Request::Inspect { path: path.to_owned() }, INSPECT_LIMIT)? {
        Response::Inspect { payload } => payload,
        other => return Err(Failed::from(place.peer.unexpected("inspect", &other)).into()),
    };
    let found: Option<Inspection> =
        serde_json::from_value(payload).context("cannot understand what the agent saw")?;
    let to_make = size.filter(|_| *agent == Agent::Fio);
    let Some(found) = found else {
        let hint = "name a path that does, or add size=4GiB to have the file made";
        let absent = || {
            Failed::input(format!("{}: {} does not exist there; hint: {hint}", stack.text, path.display()))
        };
        return Ok((Found { bytes: to_make.ok_or_else(absent)?, block: false, exists: false }, Vec::new()));
    };
    let permit = judge::judge(&found, intent(scenario, stack), &scenario.consent).map_err(Failed::from)?;
    // One that is ours at this size is used again, by the step that would make it.
    let ours = to_make.is_some() && found.marker.as_ref().map(|marker| marker.bytes) == to_make;
    Ok((Found { exists: !ours, ..found_of(&found) }, permit.warnings))
}

fn found_of(found: &Inspection) -> Found {
    let bytes = found.marker.as_ref().map_or(found.bytes, |marker| marker.bytes);
    Found { bytes, block: found.kind != Kind::File, exists: true }
}

/// The guard's word. Its hold on a device ends here: layers must be able to open it; the agent asks
/// again just before the first write.
///
/// # Errors
/// What it refuses, naming the stack.
pub fn admitted(
    path: &Path,
    intent: Intent,
    scenario: &Scenario,
    stack: &Stack,
) -> Result<(Inspection, Permit)> {
    let admission = admit(path, intent, &scenario.consent)
        .map_err(|error| Failed::input(format!("{}: {error:#}", stack.text)))?;
    Ok((admission.inspection, admission.permit))
}

/// What a stack does to its medium: the load, or a layer, writes to it, takes it from this host, or only reads.
pub fn intent(scenario: &Scenario, stack: &Stack) -> Intent {
    let load = scenario.writes();
    let layers =
        stack.layers.iter().any(|spec| by_name(&spec.name).is_some_and(|layer| layer.writes_below(spec)));
    let takes = |spec: &LayerSpec| by_name(&spec.name).is_some_and(|layer| layer.claim(spec) == Claim::Takes);
    match load || layers {
        true => Intent::Write,
        false if stack.layers.iter().any(takes) => Intent::Take,
        false => Intent::Read,
    }
}
