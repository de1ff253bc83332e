//! `iotax plan`: what `run` would do, step by step, with nothing touched. What cannot be undone is
//! red.

use super::asked::Asked;
use super::say;
use crate::exit::{DONE, UNMET_NEED};
use crate::layer::guest::{self, Requested};
use crate::measure::plan::Ground;
use crate::measure::sets::layout;
use crate::measure::survey;
use crate::scenario::Scenario;
use crate::step::{RunTag, Step};
use anyhow::{Error, Result};
use std::io::IsTerminal;

/// Arguments of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
}

/// Runs the command.
///
/// # Errors
/// Bad input; KVM that was demanded and is not there. Other unmet needs are listed in the plan, and then the
/// exit code says so.
pub fn run(args: &Args) -> Result<u8> {
    let scenario = args.asked.scenario()?;
    let guest = guest::requested(&scenario)?;
    let lacking = survey::check_needs(&scenario).err();
    say(&show(&scenario, guest, lacking.as_ref(), std::io::stdout().is_terminal())?)?;
    Ok(if lacking.is_none() { DONE } else { UNMET_NEED })
}

/// The plan as text, after what is lacking.
///
/// # Errors
/// Bad input; KVM that was demanded and is not there.
fn show(
    scenario: &Scenario,
    guest: Option<Requested>,
    lacking: Option<&Error>,
    colour: bool,
) -> Result<String> {
    let layout = layout(scenario);
    let survey = survey::look(scenario, &layout)?;
    let ground = Ground {
        scenario,
        layout: &layout,
        found: &survey.found,
        guest_parts: guest.map(guest::Parts::for_plan).transpose()?,
        tag: RunTag { run_id: "RUN".into(), run_dir: "RUN-DIRECTORY".into() },
    };
    ground.bounds()?;
    let mut text = String::new();
    if let Some(missing) = lacking {
        text += &format!("{missing:#}\n\n");
    }
    scenario.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text += "files under test\n";
    text += &steps(&ground.media()?, colour);
    for (number, set) in layout.sets.iter().enumerate() {
        let plan = ground.set(set, 0)?;
        let names: Vec<&str> = set.stacks.iter().map(|index| scenario.stacks[*index].name.as_str()).collect();
        text += &format!("set {} of {}: {} (up together)\n", number + 1, layout.sets.len(), names.join(", "));
        text += &steps(&plan.steps, colour);
        for (index, exposed) in &plan.targets {
            let stack = &scenario.stacks[*index];
            let paths: Vec<String> = exposed.paths.iter().map(ToString::to_string).collect();
            let targets = match paths.as_slice() {
                [path] => format!("target {path}"),
                several => format!("targets {} at once", several.join(", ")),
            };
            text += &format!("  measure {}: load on {}, {targets}\n", stack.name, exposed.place);
        }
        text += "  take all of it down in reverse order\n";
    }
    text += &times(scenario, &layout);
    survey.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    Ok(text)
}

fn steps(steps: &[Step], colour: bool) -> String {
    let (red, plain) = if colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let line = |step: &Step| {
        let operation = step.op.operation();
        match operation.irreversible() {
            None => format!("  {}\n", operation.describe()),
            Some(lost) => format!("  {red}irreversible: {} ({lost}){plain}\n", operation.describe()),
        }
    };
    if steps.is_empty() { "  nothing to be made\n".to_owned() } else { steps.iter().map(line).collect() }
}

fn times(scenario: &Scenario, layout: &crate::measure::sets::Layout) -> String {
    let measure = &scenario.measure;
    let (least, most) = (measure.min_time_ns as f64 / 1e9, measure.budget_ns as f64 / 1e9);
    let workloads = scenario.workloads.len();
    let how = match (layout.sets.len(), layout.siblings()) {
        (1, 1) => "rounds of all stacks, until the answer is sure".to_owned(),
        (1, siblings) => format!("rounds of all stacks on {siblings} equal files, swapped at half time"),
        (sets, _) => format!("{sets} sets in {} visits each, in random order", measure.visits),
    };
    let written = match scenario.max_written {
        Some(bytes) => format!("no drive is written more than {}\n", crate::units::show_bytes(bytes)),
        None => String::new(),
    };
    format!("measuring: {workloads} workload(s), each {least:.0} s to {most:.0} s: {how}\n{written}")
}
