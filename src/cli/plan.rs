//! `iotax plan`: shows what `run` would do, without touching anything. Three answers come first,
//! then the loads, the stacks and the next command. `-v` has every step in words, `--commands`
//! every step as commands to copy.

mod answers;
mod brief;
mod commands;
mod detail;
mod effort;
mod loads;
mod precondition;
mod set;
mod trees;

pub use effort::longest_run_words;

use super::asked::MeasureArgs;
use super::output::{columns, hanging_paragraph, look, say_aside, say_in_colour};
use anyhow::Result;
use iotax_model::scenario::Scenario;
use iotax_plan::ready::ready;
use iotax_report::ink::Ink;
use iotax_units::exit::{DONE, UNMET_NEED};
use iotax_units::shell;

/// Arguments of `plan`.
#[derive(clap::Args)]
pub struct Args {
    /// Print all steps as commands to copy, in order, with the undo at the end; with -v as text,
    /// with the command lines of QEMU and all commands of a [tool.NAME]
    #[arg(long)]
    commands: bool,
    /// Print every step, size and time in words
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    asked: MeasureArgs,
}

/// How much of a plan is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlanForm {
    Brief,
    /// Every step in words; if true, with all command lines.
    Detailed(bool),
    /// Every step as commands to copy.
    Script,
}

#[derive(Default)]
pub struct View {
    width: usize,
    /// True if text on what cannot be undone is red.
    colour: bool,
    commands: bool,
}

impl View {
    fn paragraph(&self, first: &str, text: &str) -> String {
        hanging_paragraph(first, text, self.width)
    }

    fn red(&self, text: &str) -> String {
        if self.colour { Ink::Red.on(text.trim_end()) + "\n" } else { text.to_owned() }
    }
}

/// Prints the plan of the scenario that the arguments describe. Returns the exit code, 3 if a need
/// is unmet.
///
/// # Errors
/// Bad input, as for `iotax run`. Unmet needs are no error: the plan lists them.
pub fn run(args: &Args) -> Result<u8> {
    let form = match (args.verbose, args.commands) {
        (true, commands) => PlanForm::Detailed(commands),
        (false, true) => PlanForm::Script,
        (false, false) => PlanForm::Brief,
    };
    print(&args.asked.scenario()?, form)
}

/// Prints the plan of a scenario and returns the exit code.
///
/// # Errors
/// Fails like [`run`].
pub(super) fn print(scenario: &Scenario, form: PlanForm) -> Result<u8> {
    let colour = look().colour;
    let commands = form == PlanForm::Detailed(true);
    let view = View { width: columns(), colour, commands };
    let ready = ready(scenario, &mut |text| say_aside(&text))?;
    let lacks = ready.missing_summary(scenario);
    let text = match form {
        PlanForm::Brief => {
            let (text, is_ready) = brief::brief_plan(&view, scenario, ready)?;
            text + &brief::next_lines(&view, is_ready, &next_command())
        }
        PlanForm::Detailed(_) => detail::detailed_plan(&view, scenario, ready)?,
        PlanForm::Script => commands::plan_script(scenario, ready)?,
    };
    say_in_colour(&text)?;
    Ok(if lacks.is_none() { DONE } else { UNMET_NEED })
}

/// Returns the plan of a scenario on this host in brief, and why the host is not ready.
///
/// # Errors
/// Fails like [`run`].
pub fn host_plan(scenario: &Scenario, width: usize) -> Result<(String, Option<String>)> {
    let ready = ready(scenario, &mut |_| ())?;
    let view = View { width, ..View::default() };
    let lacks = ready.missing_summary(scenario).into_iter().chain(ready.obstacles()).next();
    Ok((brief::brief_plan(&view, scenario, ready)?.0, lacks))
}

/// Returns the command that carries out the plan that this call shows, as a user types it.
fn next_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    run_words(words.collect())
}

/// Replaces the word `plan` by `run`, or drops `--plan`, and drops the options of `plan` itself.
pub fn run_words(mut words: Vec<String>) -> String {
    words.retain(|word| !["-v", "--verbose", "--commands", "--plan"].contains(&word.as_str()));
    if let Some(word) = words.iter_mut().find(|word| *word == "plan") {
        *word = "run".to_owned();
    }
    format!("iotax {}", shell::quote_line(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_carries_the_plan_out() {
        let typed = |line: &str| run_words(line.split(' ').map(str::to_owned).collect());
        assert_eq!(typed("plan -v /dev/x --rw randread"), "iotax run /dev/x --rw randread");
        assert_eq!(typed("--runs /srv plan --commands a.toml"), "iotax --runs /srv run a.toml");
        assert_eq!(typed("network host ssh:a --plan"), "iotax network host ssh:a");
        let stack = ["plan", "/dev/x | loop"].map(str::to_owned);
        assert_eq!(run_words(stack.to_vec()), "iotax run '/dev/x | loop'");
    }
}
