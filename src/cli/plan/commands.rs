//! A plan as commands to copy into a shell: what each step does, in order, and its undo after the
//! load. What only iotax itself does is a comment.

use super::effort::reused;
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_facts::place::Place;
use iotax_layers::FirstWrites;
use iotax_layers::fabric::connection_by_hand;
use iotax_model::scenario::{Operator, Scenario};
use iotax_plan::ready::ReadyScenario;
use iotax_plan::set_plan::{PlanGround, SetPlan};
use iotax_plan::sets::StackSet;
use iotax_plan::unwritten::unwritten_of_set;
use iotax_steps::op::Op;
use iotax_steps::step::Step;
use iotax_units::harmless::escape_line;
use iotax_units::{UNKNOWN_BYTES, shell, show_names, show_size};
use std::path::Path;

const HEAD: &str = "\
#!/bin/sh
# The steps of `iotax run` by hand. RUN stands for the run's id. iotax also checks before each step
# that nothing of others is touched, and undoes its steps after a crash; these lines do neither.
set -e
";

/// Folder of the run in the script.
const FOLDER: &str = "/run/iotax-RUN";

/// Returns the plan as a shell script.
///
/// # Errors
/// Bad input, as for `iotax run`.
pub fn plan_script(scenario: &Scenario, ready: ReadyScenario) -> Result<String> {
    let ReadyScenario { layout, survey, guest_parts, .. } = ready;
    let guests = guest_parts.is_some();
    let tag = RunTag { run_id: "RUN".into(), run_dir: FOLDER.into() };
    let found = &survey.found;
    let ground = PlanGround { scenario, layout: &layout, found, guest_parts, tag };
    let (media, labs) = (ground.media()?, if guests { ground.labs()?.steps } else { Vec::new() });
    let mut script =
        ShellScript { tag: &ground.tag, lines: Vec::new(), place: Place::Host, prefix: "file" };
    script.lines.push(format!("mkdir -p -m 0700 {FOLDER}"));
    script.files(&media);
    script.prefix = "lab";
    script.section("the lab", &labs);
    script.prefix = "step";
    let turns = layout.chains();
    for (number, chain) in turns.iter().enumerate() {
        let sets: Vec<&StackSet> = chain.iter().map(|set| &layout.sets[*set]).collect();
        let stacks = sets.iter().flat_map(|set| &set.stacks);
        let names: Vec<&str> = stacks.map(|index| scenario.stacks[*index].name.as_str()).collect();
        script.turn(&format!("turn {} of {}: {}", number + 1, turns.len(), names.join(", ")));
        script.chain(&ground, &sets)?;
    }
    script.prefix = "lab";
    script.undo(&labs);
    script.prefix = "file";
    script.undo_files(&media);
    script.comment("the run's folder");
    script.lines.push(format!("rm -r {FOLDER}"));
    Ok(format!("{HEAD}{}\n", script.lines.join("\n")))
}

struct ShellScript<'a> {
    tag: &'a RunTag,
    lines: Vec<String>,
    /// Place in which the last line is typed.
    place: Place,
    /// Beginning of the shell variables: files, labs and turns number their steps on their own.
    prefix: &'static str,
}

impl ShellScript<'_> {
    fn comment(&mut self, text: &str) {
        self.lines.push(format!("# {}", escape_line(text)));
    }

    fn turn(&mut self, text: &str) {
        self.lines.push(String::new());
        self.comment(text);
    }

    fn section(&mut self, name: &str, steps: &[Step]) {
        if !steps.is_empty() {
            self.turn(name);
            steps.iter().for_each(|step| self.step(step));
        }
    }

    /// Adds the files under test, except those that an earlier run has left.
    fn files(&mut self, steps: &[Step]) {
        let known = reused(steps);
        for step in steps {
            match &step.op {
                Op::MakeFile(file) if known.contains_key(&step.id) => {
                    self.comment(&format!("{} is there already", file.path.display()));
                }
                Op::FillFile(_) if super::effort::is_filled(&known, step) => {}
                _ => self.step(step),
            }
        }
    }

    fn undo_files(&mut self, steps: &[Step]) {
        let known = reused(steps);
        let is_kept = |step: &&Step| match &step.op {
            Op::MakeFile(file) => file.keep || known.contains_key(&step.id),
            _ => false,
        };
        let made: Vec<Step> = steps.iter().filter(|step| !is_kept(step)).cloned().collect();
        self.undo(&made);
    }

    /// Adds the steps of stacks that are up together, the places of the load, the further states of
    /// the stacks and the undo.
    fn chain(&mut self, ground: &PlanGround, sets: &[&StackSet]) -> Result<()> {
        let scenario = ground.scenario;
        let Some((first, states)) = sets.split_first() else { return Ok(()) };
        let operators = first.stacks.iter().filter_map(|index| {
            let stack = &scenario.stacks[*index];
            scenario.operator_of(stack)
        });
        let (before, after): (Vec<&Operator>, Vec<_>) =
            operators.partition(|operator| operator.disks.is_empty());
        for operator in before {
            self.comment(&format!("by hand: {}", operator.text));
        }
        let plan = ground.plan_set(first, 0)?;
        plan.steps.iter().for_each(|step| self.step(step));
        for operator in &after {
            self.comment(&format!("by hand: {}", operator.text));
            for step in &plan.steps {
                let known = connection_by_hand(&step.op, operator.adapter.as_deref());
                let Some(known) = known.filter(|_| !operator.initiators.is_empty()) else {
                    continue;
                };
                self.comment(&format!("target: {}", known.target));
                known.connect.iter().for_each(|line| self.comment(line));
            }
        }
        let region = ground.region().map_or(UNKNOWN_BYTES, |(region, _)| region);
        for what in unwritten_of_set(&plan.targets, region, scenario) {
            let (index, _) = &plan.targets[what.target];
            let order = match what.order {
                FirstWrites::InOrder => "in order",
                FirstWrites::AtRandom { .. } => "at random places, then in order",
            };
            let (name, size) = (&scenario.stacks[*index].name, show_size(what.total_written()));
            self.comment(&format!("before measuring: all of {name} is written {order} ({size})"));
        }
        self.loads(scenario, &plan);
        for set in states {
            for (_, steps) in
                set.after.map_or(Ok(Vec::new()), |from| ground.into_state(set, from))?
            {
                self.comment("the next state, which is measured too:");
                steps.iter().for_each(|step| self.step(step));
            }
        }
        for text in after.iter().filter_map(|operator| operator.undo.as_ref()) {
            self.comment(&format!("by hand, before the undo: {text}"));
        }
        self.undo(&plan.steps);
        Ok(())
    }

    fn loads(&mut self, scenario: &Scenario, plan: &SetPlan) {
        for (index, exposed) in &plan.targets {
            let on = |(place, paths): (&Place, Vec<&iotax_drivers::path_ref::PathRef>)| {
                let names = show_names(paths.iter().map(ToString::to_string));
                if place.is_host() { names } else { format!("{names} in {place}") }
            };
            let targets: Vec<String> = exposed.loaded().into_iter().map(on).collect();
            let name = &scenario.stacks[*index].name;
            self.comment(&format!("load of {name}: {}", targets.join(", ")));
        }
    }

    fn step(&mut self, step: &Step) {
        self.enter(&step.place);
        let operation = step.op.operation();
        if let Some(lost) = operation.irreversible_effect() {
            self.comment(&format!("destroys: {lost}"));
        }
        let commands = operation.commands_by_hand(&format!("{}{}", self.prefix, step.id + 1));
        let prefix = self.prefix;
        self.lines.extend(commands.iter().map(|line| with_variables(line, prefix)));
    }

    /// Adds a comment if the next lines belong in the shell of another place.
    fn enter(&mut self, place: &Place) {
        if self.place == *place {
            return;
        }
        self.place = place.clone();
        let text = match place {
            Place::Host => "on this host:".to_owned(),
            place => match place.ssh_host() {
                Some(host) => format!("in a shell of {host} (ssh {}):", shell::quote_word(host)),
                None => format!("in the guest {place}:"),
            },
        };
        self.comment(&text);
    }

    /// Adds the undo of steps, the last one first.
    fn undo(&mut self, steps: &[Step]) {
        if steps.is_empty() {
            return;
        }
        self.comment("undo:");
        let prefix = self.prefix;
        for step in steps.iter().rev() {
            let number = step.id + 1;
            let made = StepOutput::found_at(format!("<device of step {number}>"));
            let operation = step.op.operation();
            let by_hand = operation.undo_by_hand(&self.tag.in_place(&step.place), &made);
            let ended = |makes: &[std::path::PathBuf]| {
                let files: String = makes.iter().map(|path| format!(" {}", word(path))).collect();
                let remove = if files.is_empty() { files } else { format!("; rm -f{files}") };
                format!("kill \"${prefix}{number}_pid\"{remove}")
            };
            let line = match &step.op {
                Op::Spawn(spawn) => Some(ended(&spawn.makes)),
                Op::ExportNbd(export) => Some(ended(&export.spawn.makes)),
                Op::ExportLibrbd(export) => Some(ended(&export.spawn.makes)),
                Op::StartIscsid(_) => Some(ended(&[])),
                _ => by_hand,
            };
            let summary =
                || Some(format!("# {}", escape_line(&operation.undo_summary(None)?.to_string())));
            let Some(line) = line.or_else(summary) else { continue };
            self.enter(&step.place);
            // Its own folder is not that of the lines that follow.
            let line = if line.starts_with("cd ") { format!("({line})") } else { line };
            self.lines.push(with_variables(&line, self.prefix));
        }
        self.enter(&Place::Host);
    }
}

fn word(path: &Path) -> String {
    shell::path(path)
}

/// Replaces the devices of earlier steps, which are quoted words or parts of quoted words, by shell
/// variables.
fn with_variables(line: &str, prefix: &str) -> String {
    const MARK: &str = "<device of step ";
    if line.starts_with('#') {
        return line.to_owned();
    }
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once(MARK) {
        let number = after.split_once('>').filter(|(number, _)| is_number(number));
        // It is a part of somebody's name.
        let Some((number, tail)) = number else { break };
        let variable = format!("\"${prefix}{number}\"");
        match (before.strip_suffix('\''), tail.strip_prefix('\'')) {
            (Some(before), Some(tail)) => {
                text += &format!("{before}{variable}");
                rest = tail;
            }
            _ => {
                text += &format!("{before}'{variable}'");
                rest = tail;
            }
        }
    }
    text + rest
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_earlier_steps_are_variables() {
        assert_eq!(
            with_variables("mkfs.xfs -q '<device of step 1>' x", "step"),
            "mkfs.xfs -q \"$step1\" x"
        );
        assert_eq!(
            with_variables("qemu 'file=<device of step 12>,x=y'", "step"),
            "qemu 'file='\"$step12\"',x=y'"
        );
        assert_eq!(with_variables("# on <device of step 1>", "step"), "# on <device of step 1>");
        for name in ["echo '<device of step ", "echo '<device of step $(x)>'"] {
            assert_eq!(with_variables(name, "step"), name, "a part of somebody's name");
        }
    }
}
