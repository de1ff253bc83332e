//! `iotax history`: one stack over all stored runs, oldest first: its rate, its ratio to the
//! baseline, and where it surely changed.

use super::output::{page, say_aside};
use super::report::{self, Destination, NamedForm};
use super::run_filter::{PeriodFilter, stack_names};
use anyhow::Result;
use iotax_analysis::history::{HistoryBuilder, HistoryQuery};
use iotax_report::history::{ALL, by_name};
use iotax_store as store;
use iotax_units::distinct;
use iotax_units::exit::{DONE, Failed};
use std::path::Path;

/// Arguments of `history`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The stack: its name or text, or a part that only one stack of a run has
    stack: String,
    /// Only ratios to this baseline
    #[arg(long, value_name = "STACK")]
    against: Option<String>,
    /// Only loads whose name or description has this in it
    #[arg(long, value_name = "WORD")]
    workload: Option<String>,
    #[command(flatten)]
    period: PeriodFilter,
    /// terminal, json, csv or html [default: by the extension of the output file, else terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    to: Destination,
}

const EXAMPLES: &str = "\
Examples:
  iotax history loop
  iotax history xfs --workload randread --since 2026-11-01
  iotax history loop -o loop.html";

fn known_format(word: &str) -> Result<String, String> {
    report::known_word(word, ALL.iter().map(|renderer| renderer.name))
}

/// Prints the history of a stack. Returns the exit code.
///
/// # Errors
/// Bad input: no run measured the stack, or the output file has another extension. Or the folder of
/// runs cannot be read.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let forms: Vec<NamedForm> = ALL.iter().map(|one| (one.name, one.endings)).collect();
    args.to.check_among(args.format.as_deref(), &forms)?;
    let mut all = HistoryBuilder::new(HistoryQuery {
        stack: args.stack.clone(),
        against: args.against.clone(),
        workload: args.workload.clone(),
    });
    let mut names = Vec::new();
    let mut found = false;
    for run in store::list_runs(runs)? {
        let Ok(start) = &run.start else { continue };
        if !args.period.holds(Some(&start.at)) {
            continue;
        }
        names.extend(stack_names(start));
        match store::load_run(&run.folder) {
            Ok(data) => found |= all.add_run(data),
            Err(error) => say_aside(&format!("{} is left out: {error}", run.id)),
        }
    }
    if !found {
        return Err(nothing_found(args, distinct(names)).into());
    }
    let asked = if args.json { Some("json") } else { args.format.as_deref() };
    let form = asked.or_else(|| args.to.format_among(&forms)).unwrap_or("terminal");
    let renderer =
        by_name(form).ok_or_else(|| Failed::input(format!("a history has no form \"{form}\"")))?;
    args.to.write_text(&(renderer.render)(&all.finish(), &page()))?;
    Ok(DONE)
}

/// Number of stacks that the error names.
const MOST_NAMED: usize = 12;

fn nothing_found(args: &Args, names: Vec<String>) -> Failed {
    let what = match &args.workload {
        Some(load) => format!(" under a load with \"{load}\" in its name"),
        None => String::new(),
    };
    let known = match names.as_slice() {
        [] => "there are no runs of that time; hint: iotax list".to_owned(),
        names => {
            let shown = names[..names.len().min(MOST_NAMED)].join(", ");
            format!("stacks of the runs: {shown}; hint: write a part that one of them has")
        }
    };
    Failed::input(format!("no run measured a stack \"{}\"{what}; {known}", args.stack))
}
