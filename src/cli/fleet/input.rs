//! Results of a fleet for the analysis: of a fleet's folder, of a folder of packed runs, or of an
//! earlier fleet with the same hosts.

use super::run::OpenFleet;
use anyhow::Result;
use iotax_analysis::findings;
use iotax_analysis::fleet::{FleetHostResult, FleetInput, HostFigures};
use iotax_fleet::host_state::{HostReport, HostState};
use iotax_fleet::plan::{FleetFolder, FleetPlan, PlannedHost, list_fleets};
use iotax_fleet::task::{FIGURES, RUN, comparable_sum};
use iotax_model::scenario::Scenario;
use iotax_store as store;
use iotax_sys::regular::read_regular;
use iotax_units::exit::Failed;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Largest file of figures: some 10 KB are usual.
const MOST_FIGURES: u64 = 64 << 20;
/// Deepest folder in which packed runs are looked for.
const DEEPEST: usize = 3;

/// Returns the figures of a run, for the task that measured it or a folder that holds it.
///
/// # Errors
/// The run cannot be read.
pub fn figures_of_run(run: &Path) -> Result<HostFigures> {
    let data = store::load_run(run).map_err(Failed::from)?;
    let sum = comparable_sum(&data.start.scenario);
    Ok(HostFigures::from_run(&data, &findings(&data), &sum))
}

/// Returns the figures of a packed run.
///
/// # Errors
/// It is no packed run.
fn figures_of_packed(path: &Path) -> Result<HostFigures> {
    let opened =
        store::open_run(Path::new("/"), &path.display().to_string()).map_err(Failed::from)?;
    figures_of_run(opened.folder())
}

impl OpenFleet {
    /// Returns the results of all hosts in these states.
    ///
    /// # Errors
    /// The folder of the fleet cannot be read.
    pub fn input(&self, reports: &[HostReport]) -> Result<FleetInput> {
        let hosts = self
            .plan
            .hosts
            .iter()
            .zip(reports)
            .map(|(planned, report)| self.host_result(planned, report));
        let scenario = self.plan.scenarios.first();
        Ok(FleetInput {
            id: self.plan.id.clone(),
            name: scenario.and_then(|scenario| scenario.name.clone()),
            source: scenario.map_or_else(String::new, source_of),
            hosts: hosts.collect::<Result<_>>()?,
            earlier: None,
        })
    }

    fn host_result(&self, planned: &PlannedHost, report: &HostReport) -> Result<FleetHostResult> {
        let folder = self.folder.host(&planned.host.name).map_err(Failed::from)?;
        let outcome = folder.newest_outcome().map_err(Failed::from)?;
        let figures = outcome.map(|(attempt, _)| figures_in(&attempt));
        let ticket = folder.ticket().map_err(Failed::from)?;
        let why = report.why.clone().or_else(|| {
            figures
                .as_ref()
                .and_then(|figures| figures.as_ref().err())
                .map(|error| format!("{error:#}"))
        });
        Ok(FleetHostResult {
            host: planned.host.name.clone(),
            state: report.state.word().to_owned(),
            why,
            next: report.next.clone(),
            // What a host that failed has measured is not what the others have measured.
            figures: figures.and_then(Result::ok).filter(|_| report.state == HostState::Done),
            clock_ahead_s: ticket
                .and_then(|ticket| ticket.clock_ahead_s)
                .map(|seconds| seconds as f64),
            groups: planned.host.groups.iter().cloned().collect(),
        })
    }
}

/// Returns the stacks of a scenario, or the file that it is from.
fn source_of(scenario: &Scenario) -> String {
    match scenario.is_of_command_line() {
        true => {
            scenario.stacks.iter().map(|stack| stack.text.as_str()).collect::<Vec<_>>().join(", ")
        }
        false => scenario.source.clone(),
    }
}

/// Returns the figures of an attempt: those that the host computed, else from its packed run.
fn figures_in(attempt: &Path) -> Result<HostFigures> {
    match read_regular(&attempt.join(FIGURES), MOST_FIGURES) {
        Ok(text) => HostFigures::from_json(&text)
            .map_err(|why| Failed::input(format!("{FIGURES}: {why}")).into()),
        Err(_) => figures_of_packed(&attempt.join(RUN)),
    }
}

/// Returns the results in a folder of packed runs (`HOST.iotax`, or `HOST/....iotax`), whoever made
/// them.
///
/// # Errors
/// Bad input: there is no packed run, or one host has two.
pub fn folder_input(folder: &Path) -> Result<FleetInput> {
    let mut hosts: Vec<FleetHostResult> = Vec::new();
    for path in packed_runs(folder, DEEPEST) {
        let host = host_of_file(folder, &path);
        if hosts.iter().any(|other| other.host == host) {
            let why = format!(
                "{}: two runs are of the host {host}; hint: one file HOST.iotax for each host",
                path.display()
            );
            return Err(Failed::input(why).into());
        }
        let figures = figures_of_packed(&path);
        let state = if figures.is_ok() { HostState::Done } else { HostState::Unknown };
        hosts.push(FleetHostResult {
            host,
            state: state.word().to_owned(),
            why: figures.as_ref().err().map(|error| format!("{error:#}")),
            next: figures.as_ref().err().map(|_| "copy its packed run again".to_owned()),
            figures: figures.ok(),
            ..FleetHostResult::default()
        });
    }
    if hosts.is_empty() {
        let hint = "hint: iotax report last -o HOST.iotax on each host makes packed runs";
        return Err(Failed::input(format!(
            "{} has no fleet.json and no packed runs; {hint}",
            folder.display()
        ))
        .into());
    }
    let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(FleetInput { id, name: None, source: folder.display().to_string(), hosts, earlier: None })
}

fn packed_runs(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let below = |path: PathBuf| match (
        path.is_dir(),
        path.extension().is_some_and(|end| end == store::EXTENSION),
    ) {
        (true, _) if depth > 0 => packed_runs(&path, depth - 1),
        (false, true) => vec![path],
        _ => Vec::new(),
    };
    paths.into_iter().flat_map(below).collect()
}

/// Returns the host of a packed run: the first folder below `folder`, or the name of the file.
fn host_of_file(folder: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(folder).unwrap_or(path);
    let first =
        inner.components().next().map(|part| PathBuf::from(part.as_os_str())).unwrap_or_default();
    first.with_extension("").display().to_string()
}

/// Returns the newest earlier fleet with the same scenarios that has at least half of the hosts.
pub fn earlier_fleet(fleets: &Path, plan: &FleetPlan) -> Option<OpenFleet> {
    let sums =
        |plan: &FleetPlan| plan.scenarios.iter().map(comparable_sum).collect::<BTreeSet<String>>();
    let own: BTreeSet<&str> = plan.hosts.iter().map(|planned| planned.host.name.as_str()).collect();
    let before = list_fleets(fleets).into_iter().rev().filter(|id| *id < plan.id);
    let mut opened = before.filter_map(|id| {
        let (folder, plan) = FleetFolder::open(&fleets.join(id)).ok()?;
        Some(OpenFleet { plan, folder })
    });
    opened.find(|other| {
        let has_result = |planned: &&PlannedHost| {
            let folder = other.folder.host(&planned.host.name);
            let outcome = folder.and_then(|folder| folder.newest_outcome());
            outcome.is_ok_and(|found| found.is_some_and(|(_, outcome)| outcome.is_done()))
        };
        let shared =
            other.plan.hosts.iter().filter(|planned| own.contains(planned.host.name.as_str()));
        sums(&other.plan) == sums(plan) && 2 * shared.filter(has_result).count() >= own.len()
    })
}
