//! `iotax list`: the stored runs, newest last: when each began, how it ended, what it measured, and
//! its answer in a few words.

use super::output::{columns, say, say_aside, typed};
use super::run_filter::{RunFilter, stack_names, state_of};
use super::run_table::{RunColumns, run_table};
use anyhow::Result;
use iotax_analysis::findings;
use iotax_model::record::RunStart;
use iotax_model::record::state::RunState;
use iotax_plan::sets::not_resumable;
use iotax_report::json::document_text;
use iotax_report::run_answer;
use iotax_steps::clean::pending;
use iotax_store::{self as store, OpenedRun, RunSummary};
use iotax_units::exit::{DONE, Failed, contained};
use iotax_units::{count_noun, distinct, harmless};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;

/// Arguments of `list`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Runs: ids, names, folders, or packed files (x.iotax) [default: all stored runs]
    #[arg(value_name = "RUN")]
    run: Vec<String>,
    #[command(flatten)]
    filter: RunFilter,
    /// Show older runs too: a terminal gets the newest 50
    #[arg(long)]
    all: bool,
    /// Print a JSON array with an object for each run
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  iotax list --stack xfs --verdict costs --since 7d
  iotax list --state killed
  iotax list carried/*.iotax
  iotax list --json | jq '.[] | select(.verdict == \"costs\") | .id'

RUN of every command: an id, its beginning or end, a name, a folder, last, last~1";

/// Number of runs that a terminal shows.
const MOST_SHOWN: usize = 50;

/// Prints the runs that are asked for. Returns the exit code.
///
/// # Errors
/// Bad input: a named run does not exist. Or the folder of runs cannot be read.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let opened = opened_runs(&args.run, runs)?;
    let all = match args.run.is_empty() {
        true => store::list_runs(runs)?,
        false => opened.iter().map(|run| store::read_summary(run.folder().to_owned())).collect(),
    };
    let mut chosen: Vec<&RunSummary> =
        all.iter().filter(|run| args.filter.fits_summary(run)).collect();
    let to_terminal = !args.json && std::io::stdout().is_terminal();
    let is_limited = to_terminal && !args.all && args.run.is_empty();
    let older = if is_limited { chosen.len().saturating_sub(MOST_SHOWN) } else { 0 };
    let reads_all = args.filter.asks_findings();
    if !reads_all {
        chosen.drain(..older);
    }
    let fits = |run: &ListedRun| {
        args.filter.fits_host(run.host.as_deref()) && args.filter.fits_verdict(run.verdict)
    };
    let mut listed: Vec<ListedRun> =
        chosen.into_iter().map(ListedRun::from_run).filter(fits).collect();
    listed.iter_mut().for_each(|run| run.name_packed_file(&opened));
    if args.json {
        say(&document_text(&listed))?;
    }
    if listed.is_empty() {
        say_none(&why_empty(&all, &args.filter, runs), args.json)?;
        return Ok(DONE);
    }
    if args.json {
        return Ok(DONE);
    }
    let older =
        if reads_all && is_limited { listed.len().saturating_sub(MOST_SHOWN) } else { older };
    if reads_all {
        listed.drain(..older);
    }
    // A search in lines needs whole lines.
    let width = if to_terminal { columns() } else { usize::MAX };
    let lines: Vec<RunColumns> = listed.iter().map(ListedRun::columns).collect();
    let notes: String = listed.iter().filter_map(ListedRun::note).collect();
    let more = match older {
        0 => String::new(),
        older => format!("\n{older} older: iotax list --all\n"),
    };
    say(&format!("{}{more}{notes}", run_table(&lines, width)))?;
    Ok(DONE)
}

fn opened_runs(named: &[String], runs: &Path) -> Result<Vec<OpenedRun>> {
    named.iter().map(|name| Ok(store::open_run(runs, name).map_err(Failed::from)?)).collect()
}

fn say_none(why: &str, aside: bool) -> Result<()> {
    if aside {
        say_aside(why);
        return Ok(());
    }
    say(&format!("{why}\n"))
}

/// Returns why no run is listed, and what to type next.
fn why_empty(all: &[RunSummary], filter: &RunFilter, runs: &Path) -> String {
    if all.is_empty() || filter.is_open() {
        return format!(
            "no runs in {}\nto make one: iotax run \"file:/srv/x.img,size=4GiB | loop\"\n\
             runs that were started with sudo are root's: sudo iotax list",
            runs.display()
        );
    }
    let starts = || all.iter().filter_map(|run| run.start.as_ref().ok());
    let names = |all: Vec<String>| {
        let mut shown = all;
        let more = shown.len().saturating_sub(MOST_NAMED);
        shown.truncate(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    let stacks = names(distinct(starts().flat_map(stack_names)));
    let loads = starts().flat_map(|start| start.scenario.workloads.iter());
    let loads = names(distinct(loads.map(|workload| workload.name.clone())));
    format!(
        "none of {} fits\nstacks: {stacks}\nworkloads: {loads}\nall runs: iotax list",
        count_noun(all.len() as u64, "run", "runs"),
    )
}

/// Number of names that are shown if no run fits.
const MOST_NAMED: usize = 8;

/// A run in the list; the fields of `--json`. Within a version, fields are only added.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ListedRun {
    id: String,
    folder: String,
    name: Option<String>,
    at: Option<String>,
    iotax: Option<String>,
    state: &'static str,
    /// Reason why the run failed or cannot be read.
    failure: Option<String>,
    imported: bool,
    host: Option<String>,
    stacks: Vec<String>,
    workloads: Vec<String>,
    verdict: Option<&'static str>,
    verdict_of: Option<String>,
    answer: Option<String>,
    /// What to do about a run that did not end by itself.
    next: Option<String>,
}

impl ListedRun {
    fn from_run(run: &RunSummary) -> ListedRun {
        let listed = ListedRun {
            id: run.id.clone(),
            folder: run.folder.display().to_string(),
            ..ListedRun::default()
        };
        let start = match &run.start {
            Ok(start) => start,
            Err(why) => {
                return ListedRun { state: UNREADABLE, failure: Some(why.clone()), ..listed };
            }
        };
        let state = state_of(run);
        let listed = ListedRun {
            name: shown_name(start),
            at: Some(start.at.clone()),
            iotax: Some(start.iotax.clone()),
            state: state.state_word(),
            failure: failure(run, state),
            imported: start.imported.is_some(),
            stacks: stack_names(start),
            workloads: start.scenario.workloads.iter().map(|load| load.name.clone()).collect(),
            next: next_step(run, state),
            ..listed
        };
        listed.with_findings(&run.folder)
    }

    /// Adds what only the whole record shows.
    fn with_findings(self, folder: &Path) -> ListedRun {
        let data = match store::load_run(folder) {
            Ok(data) => data,
            Err(error) => {
                return ListedRun { state: UNREADABLE, failure: Some(error.to_string()), ..self };
            }
        };
        let host = data.places.iter().find_map(|place| place.facts.hostname.clone());
        // A record that breaks the analysis must not hide the other runs.
        let answer = match contained(|| run_answer(&findings(&data))) {
            Ok(answer) => answer,
            Err(_) => {
                let why = format!("a fault of iotax; {} shows it", typed("report", folder));
                return ListedRun { state: UNREADABLE, failure: Some(why), host, ..self };
            }
        };
        ListedRun {
            host,
            verdict: answer.verdict,
            verdict_of: answer.stack,
            answer: Some(answer.words).filter(|words| !words.is_empty()),
            ..self
        }
    }

    /// Names the packed file in place of the temporary folder that the run was unpacked into.
    fn name_packed_file(&mut self, opened: &[OpenedRun]) {
        let is_it = |run: &&OpenedRun| run.folder().display().to_string() == self.folder;
        if let Some(file) = opened.iter().find(is_it).and_then(OpenedRun::packed_file) {
            self.folder = file.display().to_string();
            self.next = None;
        }
    }

    fn columns(&self) -> RunColumns {
        let answer = match (&self.failure, &self.answer) {
            (Some(failure), _) => failure,
            (None, Some(answer)) => answer,
            (None, None) => "",
        };
        let what = self.name.iter().cloned().chain([self.stacks.join(" / ")]);
        let what: Vec<String> = what.filter(|text| !text.is_empty()).collect();
        RunColumns {
            id: self.id.clone(),
            at: self.at.clone().unwrap_or_default(),
            state: self.state.to_owned(),
            answer: harmless::escape_line(answer),
            what: harmless::escape_line(&what.join(": ")),
        }
    }

    /// Returns a line on what to do about the run.
    fn note(&self) -> Option<String> {
        let next = self.next.as_ref()?;
        Some(format!("{}: {}\n", self.id, harmless::escape_line(next)))
    }
}

const UNREADABLE: &str = "unreadable";

/// Returns the name of a run. Without a name it is `limits` for a search for limits. For an
/// imported run it says so.
fn shown_name(start: &RunStart) -> Option<String> {
    let name = start.scenario.name.clone();
    match (&start.imported, name) {
        (None, None) if start.scenario.limits.is_some() => Some("limits".to_owned()),
        (Some(_), Some(name)) => Some(format!("imported, {name}")),
        (Some(_), None) => Some("imported".to_owned()),
        (None, name) => name,
    }
}

/// Returns the first line of a failure; the run's report has all of it.
fn failure(run: &RunSummary, state: RunState) -> Option<String> {
    let words = run.outcome.as_deref().filter(|_| state == RunState::Failed)?;
    words.lines().next().map(without_an_announcement)
}

/// Returns what to do about a run that waits for a person or was killed.
fn next_step(run: &RunSummary, state: RunState) -> Option<String> {
    match state {
        RunState::WaitsForPerson => {
            Some(format!("after the manual step: {}", typed("resume", &run.folder)))
        }
        RunState::Killed if pending(&run.folder).is_ok_and(|pending| pending.is_nothing()) => {
            let scenario = run.start.as_ref().map(|start| &start.scenario).ok()?;
            let resume =
                format!("nothing is left of it; to go on: {}", typed("resume", &run.folder));
            not_resumable(scenario).is_none().then_some(resume)
        }
        RunState::Killed => Some(format!(
            "what it made is still there; to remove it: {}",
            typed("clean", &run.folder)
        )),
        _ => None,
    }
}

/// Returns `guest vm0: the stream ended` from a line that announces more lines: `...; its last
/// words:`.
fn without_an_announcement(line: &str) -> String {
    let cut = line.strip_suffix(':').and_then(|line| line.rsplit_once("; "));
    cut.map_or(line, |(line, _)| line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::record::RunRecord;
    use iotax_store::{Store, list_runs};

    #[test]
    fn a_failure_is_its_first_line() {
        assert_eq!(
            without_an_announcement("guest vm0: the stream ended; its last words:"),
            "guest vm0: the stream ended"
        );
        assert_eq!(without_an_announcement("no space; hint: more"), "no space; hint: more");
    }

    #[test]
    fn an_empty_list_says_why_and_what_to_type() {
        let dir = tempfile::tempdir().unwrap();
        let none = why_empty(&[], &RunFilter::default(), dir.path());
        assert!(none.contains("no runs in ") && none.contains("to make one: iotax run "), "{none}");
        let mut start = RunStart { id: "a".into(), ..RunStart::default() };
        start.scenario.name = Some("nightly".into());
        Store::create(dir.path(), "a").unwrap().append(&RunRecord::Run(start)).unwrap();
        let all = list_runs(dir.path()).unwrap();
        let listed = ListedRun::from_run(&all[0]);
        assert_eq!((listed.name.as_deref(), listed.state), (Some("nightly"), "killed"));
        assert_eq!(listed.answer.as_deref().map(str::is_empty), Some(false), "{listed:?}");
    }
}
