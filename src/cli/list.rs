//! `iotax list`: the stored runs, newest last: when each began, how it ended, what it measured.

use super::output::{columns, say, typed};
use anyhow::Result;
use iotax_model::record::RunStart;
use iotax_model::record::state::RunState;
use iotax_plan::sets::not_resumable;
use iotax_report::wrap_words;
use iotax_steps::clean::pending;
use iotax_store as store;
use iotax_units as units;
use iotax_units::exit::DONE;
use iotax_units::harmless::escape_line;
use std::io::IsTerminal;
use std::path::Path;

/// Arguments of `list`.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_: &Args, runs: &Path) -> Result<u8> {
    let listed = store::list_runs(runs)?;
    if listed.is_empty() {
        say(&format!("no runs in {}\n", runs.display()))?;
        return Ok(DONE);
    }
    // A search in lines needs whole lines.
    let width = if std::io::stdout().is_terminal() { columns() } else { usize::MAX };
    let lines: Vec<RunLine> = listed.iter().map(RunLine::from_run).collect();
    say(&run_table(&lines, width))?;
    Ok(DONE)
}

#[derive(Debug, PartialEq, Eq)]
struct RunLine {
    id: String,
    started: String,
    state: &'static str,
    remark: Option<String>,
    name: Option<String>,
    stacks: Vec<String>,
}

impl RunLine {
    fn from_run(run: &store::RunSummary) -> RunLine {
        let (state, remark) = state(run);
        let line = RunLine {
            id: run.id.clone(),
            started: String::new(),
            state,
            remark,
            name: None,
            stacks: Vec::new(),
        };
        match &run.start {
            Ok(start) => RunLine {
                started: units::show_minute(&start.at),
                name: shown_name(start).map(|name| escape_line(&name)),
                stacks: match &start.imported {
                    Some(imported) => {
                        imported.systems.iter().map(|name| escape_line(name)).collect()
                    }
                    None => {
                        start.scenario.stacks.iter().map(|stack| escape_line(&stack.name)).collect()
                    }
                },
                ..line
            },
            Err(why) => RunLine { state: "unreadable", remark: Some(why.clone()), ..line },
        }
    }

    /// Returns the names of the stacks as `one / four / six`. If that is wider than `width`
    /// columns, returns the first names that fit and the number of the rest.
    fn stacks(&self, width: usize) -> String {
        let named = |count: usize| {
            let stacks = self.stacks[..count].join(" / ");
            match self.stacks.len() - count {
                0 => stacks,
                more if count == 0 => format!("{more} stacks"),
                more => format!("{stacks} and {more} more"),
            }
        };
        let fits = |text: &String| text.chars().count() <= width;
        (0..=self.stacks.len()).rev().map(named).find(fits).unwrap_or_else(|| named(0))
    }

    /// Returns what was measured: the text for the run's own line, which has `room` columns, and
    /// the text for the lines below it, of `below` columns, if that is too little.
    fn what(&self, room: usize, below: usize) -> (String, Option<String>) {
        let stacks = self.stacks(usize::MAX);
        let whole = self.name.iter().chain([&stacks]).cloned().collect::<Vec<_>>().join(": ");
        match whole.chars().count() <= room {
            true => (whole, None),
            false => match &self.name {
                Some(name) if name.chars().count() <= room => {
                    (name.clone(), Some(self.stacks(below)))
                }
                Some(name) => (String::new(), Some(format!("{name}: {}", self.stacks(below)))),
                None => (String::new(), Some(self.stacks(below))),
            },
        }
    }
}

/// Returns the scenario's name. Without a name it is `limits` for a search for limits. For an
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

const HEADS: [&str; 4] = ["run", "started (UTC)", "state", "what"];
const GAP: &str = "  ";
const INDENT: &str = "    ";
/// Largest number of lines below a run's own line; its report has the whole text.
const MOST_LINES: usize = 2;
const MORE: &str = " ...";

/// Returns the table of runs with aligned columns. Text that has no room in a run's line, and
/// remarks on its state, are below it.
fn run_table(lines: &[RunLine], width: usize) -> String {
    let cells = |line: &RunLine| [line.id.clone(), line.started.clone(), line.state.to_owned()];
    let widest = |at: usize| {
        let those = lines.iter().map(|line| cells(line)[at].chars().count());
        those.max().unwrap_or(0).max(HEADS[at].len())
    };
    let widths = [widest(0), widest(1), widest(2)];
    let left: usize = widths.iter().map(|width| width + GAP.len()).sum();
    let row = |cells: [String; 3], what: String| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}{GAP}"));
        format!("{}{what}", cells.collect::<String>()).trim_end().to_owned() + "\n"
    };
    let room = width.saturating_sub(INDENT.len() + MORE.len());
    let said = |line: &RunLine| {
        let (what, more) = line.what(width.saturating_sub(left), room);
        let below = more.iter().chain(&line.remark).flat_map(|text| {
            let lines = wrap_words(text, room, "");
            let all = lines.lines().count();
            let more = |at| if at + 1 == MOST_LINES && all > MOST_LINES { MORE } else { "" };
            let line = |(at, line)| format!("{INDENT}{line}{}\n", more(at));
            lines.lines().take(MOST_LINES).enumerate().map(line).collect::<Vec<_>>()
        });
        row(cells(line), what) + &below.collect::<String>()
    };
    let heads = [HEADS[0], HEADS[1], HEADS[2]].map(str::to_owned);
    std::iter::once(row(heads, HEADS[3].to_owned())).chain(lines.iter().map(said)).collect()
}

/// Returns the state of a run in a word, and a remark on it. The run's report has the whole
/// failure.
fn state(run: &store::RunSummary) -> (&'static str, Option<String>) {
    let state =
        RunState::from_outcome(run.outcome.as_deref(), store::RunLock::is_held(&run.folder));
    let remark = match state {
        RunState::Failed => run
            .outcome
            .as_deref()
            .and_then(|words| words.lines().next())
            .map(without_an_announcement),
        RunState::WaitsForPerson => {
            Some(format!("after the manual step: {}", typed("resume", &run.folder)))
        }
        RunState::Killed if pending(&run.folder).is_ok_and(|pending| pending.is_nothing()) => {
            let scenario = run.start.as_ref().map(|start| &start.scenario);
            let resumable = scenario.is_ok_and(|scenario| not_resumable(scenario).is_none());
            let resume =
                format!("nothing is left of it; to go on: {}", typed("resume", &run.folder));
            Some(if resumable { resume } else { "nothing is left of it".to_owned() })
        }
        RunState::Killed => Some(format!(
            "what it made is still there; to remove it: {}",
            typed("clean", &run.folder)
        )),
        _ => None,
    };
    (state.state_word(), remark)
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

    fn line(id: &str, state: &'static str, stacks: &[&str]) -> RunLine {
        RunLine {
            id: id.to_owned(),
            started: "2026-11-22 18:33".to_owned(),
            state,
            remark: None,
            name: None,
            stacks: stacks.iter().map(|stack| (*stack).to_owned()).collect(),
        }
    }

    #[test]
    fn columns_are_aligned_and_long_names_leave_out_stacks_not_letters() {
        let cells =
            ["vm cache=none,num-queues=1", "vm cache=none,num-queues=2", "vm cache=writeback"];
        let failed =
            "the image /srv/boot.img does not start; hint: have a look at what its console said";
        let long: String = ["1st", "2nd", "3rd"]
            .into_iter()
            .map(|at| format!("the {at} word "))
            .collect::<String>()
            + &(4..30).map(|at| format!("the {at}th word ")).collect::<String>();
        let lines = [
            RunLine {
                name: Some("many guests".into()),
                ..line("20261122-183319-e975", "complete", &["one", "four"])
            },
            line("20261122-183403-6831", "interrupted", &cells),
            RunLine {
                remark: Some(failed.into()),
                ..line("20261122-184931-001d", "failed", &["vm"])
            },
            RunLine {
                remark: Some(long.clone()),
                name: Some("thin and preallocated images".into()),
                ..line("20261122-185130-8577", "failed", &["vm", "fs(ext4)"])
            },
        ];
        let narrow = run_table(&lines, 80);
        let expected = [
            "run                   started (UTC)     state        what",
            "20261122-183319-e975  2026-11-22 18:33  complete     many guests: one / four",
            "20261122-183403-6831  2026-11-22 18:33  interrupted",
            "    vm cache=none,num-queues=1 / vm cache=none,num-queues=2 and 1 more",
            "20261122-184931-001d  2026-11-22 18:33  failed       vm",
            "    the image /srv/boot.img does not start; hint: have a look at what its",
            "    console said",
            "20261122-185130-8577  2026-11-22 18:33  failed",
            "    thin and preallocated images: vm / fs(ext4)",
            "    the 1st word the 2nd word the 3rd word the 4th word the 5th word the 6th",
            "    word the 7th word the 8th word the 9th word the 10th word the 11th word ...",
            "",
        ];
        assert_eq!(narrow, expected.join("\n"));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        let whole = run_table(&lines, usize::MAX);
        assert_eq!(whole.lines().count(), 7, "a line a run, and one for each remark");
        assert!(whole.contains(&cells.join(" / ")) && whole.contains(failed));
        assert_eq!(
            without_an_announcement("guest vm0: the stream ended; its last words:"),
            "guest vm0: the stream ended"
        );
        assert_eq!(without_an_announcement("no space; hint: more"), "no space; hint: more");
    }
}
