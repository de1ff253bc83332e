//! `iotax list`: the stored runs, newest last: when each began, how it ended, what it is of.

use super::run::WAITS;
use super::{columns, say};
use crate::exit::DONE;
use crate::measure::sets::not_resumable;
use crate::report::wrapped;
use crate::step::clean::pending;
use crate::{store, units};
use anyhow::Result;
use std::io::IsTerminal;
use std::path::Path;

/// Arguments of `list`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn run(_: &Args, runs: &Path) -> Result<u8> {
    let listed = store::list(runs)?;
    if listed.is_empty() {
        say(&format!("no runs in {}\n", runs.display()))?;
        return Ok(DONE);
    }
    // Whoever searches lines wants whole ones.
    let width = if std::io::stdout().is_terminal() { columns() } else { usize::MAX };
    let lines: Vec<Line> = listed.iter().map(Line::of).collect();
    say(&table(&lines, width))?;
    Ok(DONE)
}

/// A run in words.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    id: String,
    started: String,
    state: &'static str,
    /// What else is to be said of the state.
    remark: Option<String>,
    /// The scenario's name.
    name: Option<String>,
    stacks: Vec<String>,
}

impl Line {
    fn of(run: &store::RunSummary) -> Line {
        let (state, remark) = state(run);
        let line = Line {
            id: run.id.clone(),
            started: String::new(),
            state,
            remark,
            name: None,
            stacks: Vec::new(),
        };
        match &run.start {
            Ok(start) => Line {
                started: units::show_minute(&start.at),
                name: start.scenario.name.clone(),
                stacks: start.scenario.stacks.iter().map(|stack| stack.name.clone()).collect(),
                ..line
            },
            Err(why) => Line { state: "unreadable", remark: Some(why.clone()), ..line },
        }
    }

    /// `many guests: one / four / six`; of many stacks those that fit, and how many more there are.
    fn what(&self, width: usize) -> String {
        let named = |count: usize| {
            let stacks = self.stacks[..count].join(" / ");
            let more = match self.stacks.len() - count {
                0 => String::new(),
                more if count == 0 => format!("{more} stacks"),
                more => format!(" and {more} more"),
            };
            match &self.name {
                Some(name) => format!("{name}: {stacks}{more}"),
                None => format!("{stacks}{more}"),
            }
        };
        let fits = |text: &String| text.chars().count() <= width;
        (0..=self.stacks.len()).rev().map(named).find(fits).unwrap_or_else(|| named(0))
    }
}

const HEADS: [&str; 4] = ["run", "started (UTC)", "state", "what"];
const GAP: &str = "  ";

/// Aligned; what is to be said of a state stands below its run.
fn table(lines: &[Line], width: usize) -> String {
    let cells = |line: &Line| [line.id.clone(), line.started.clone(), line.state.to_owned()];
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
    let said = |line: &Line| {
        let indent = GAP.repeat(2);
        let remark = |text: &String| {
            let room = width.saturating_sub(indent.len());
            wrapped(text, room, "").lines().map(|line| format!("{indent}{line}\n")).collect::<String>()
        };
        let remark = line.remark.as_ref().map(remark).unwrap_or_default();
        row(cells(line), line.what(width.saturating_sub(left))) + &remark
    };
    let heads = [HEADS[0], HEADS[1], HEADS[2]].map(str::to_owned);
    std::iter::once(row(heads, HEADS[3].to_owned())).chain(lines.iter().map(said)).collect()
}

/// A word, and what else is to be said; the whole of a failure is in the run's report.
fn state(run: &store::RunSummary) -> (&'static str, Option<String>) {
    const WORDS: [&str; 3] = ["complete", "interrupted", WAITS];
    match (&run.outcome, store::RunLock::take(&run.folder)) {
        (Some(outcome), _) => match WORDS.into_iter().find(|word| word == outcome) {
            Some(word) => (word, None),
            None => ("failed", outcome.lines().next().map(str::to_owned)),
        },
        (None, Ok(None)) => ("running", None),
        (None, _) if pending(&run.folder).is_ok_and(|steps| steps.is_empty()) => {
            let scenario = run.start.as_ref().map(|start| &start.scenario);
            let resumable = scenario.is_ok_and(|scenario| not_resumable(scenario).is_none());
            let resume = format!("nothing is left of it; to go on: iotax resume {}", run.id);
            ("killed", Some(if resumable { resume } else { "nothing is left of it".to_owned() }))
        }
        (None, _) => {
            ("killed", Some(format!("what it made is still there; to remove it: iotax clean {}", run.id)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, state: &'static str, stacks: &[&str]) -> Line {
        Line {
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
        let cells = ["vm cache=none,num-queues=1", "vm cache=none,num-queues=2", "vm cache=writeback"];
        let failed = "the image /srv/boot.img does not start; hint: have a look at what its console said";
        let lines = [
            Line {
                name: Some("many guests".into()),
                ..line("20261122-183319-e975", "complete", &["one", "four"])
            },
            line("20261122-183403-6831", "interrupted", &cells),
            Line { remark: Some(failed.into()), ..line("20261122-184931-001d", "failed", &["vm"]) },
        ];
        let narrow = table(&lines, 80);
        insta::assert_snapshot!(narrow, @"");
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        let whole = table(&lines, usize::MAX);
        assert_eq!(whole.lines().count(), 5, "a line a run, and one for the remark");
        assert!(whole.contains(&cells.join(" / ")) && whole.contains(failed));
    }
}
