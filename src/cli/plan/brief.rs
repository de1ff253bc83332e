//! A plan in brief: three answers, the loads as a table, the stacks as trees, the next command.

use super::answers::Answers;
use super::effort::OtherWork;
use super::{View, loads, trees};
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_host::caches::WriteCache;
use iotax_model::scenario::{Operator, Regime, Scenario};
use iotax_plan::ready::ReadyScenario;
use iotax_plan::set_plan::PlanGround;
use iotax_plan::sets::SetLayout;
use iotax_units::harmless::escape_line;
use iotax_units::{UNKNOWN_BYTES, count_noun, distinct, show_bytes};

/// Width of the column with the name of each part.
const LABEL: usize = 10;

/// Returns the first words of a line: the name of a part, or blanks.
pub fn label(name: &str) -> String {
    format!("{name:<LABEL$}")
}

/// Returns the plan as text, and true if it can be carried out.
///
/// # Errors
/// Bad input, as for `iotax run`.
pub fn brief_plan(
    view: &View,
    scenario: &Scenario,
    ready: ReadyScenario,
) -> Result<(String, bool)> {
    let (missing, obstacles) = (ready.missing_needs().to_vec(), ready.obstacles());
    let is_ready = ready.missing_summary(scenario).is_none() && obstacles.is_empty();
    let ReadyScenario { layout, survey, guest_parts, .. } = ready;
    let guests = guest_parts.is_some();
    let (found, tag) = (&survey.found, RunTag::of_none());
    let ground = PlanGround { scenario, layout: &layout, found, guest_parts, tag };
    let region = ground.region().map_or(UNKNOWN_BYTES, |(region, _)| region);
    let work = OtherWork::from_ground(&ground, guests)?;
    let answers = Answers { view, ground: &ground, work: &work, missing, obstacles };
    let mut text = answers.written()? + &answers.time()? + &answers.readiness();
    text += &loads::load_lines(view, scenario, region);
    let order = order_words(scenario, &layout) + &kept_words(&ground)?;
    text += &trees::stack_lines(view, scenario, &order);
    text += &manual_steps(view, scenario);
    text += &cache_words(view, scenario, &survey.write_caches);
    if let Some(published) = &scenario.published {
        let words = format!("{} of {}", published.counts(), escape_line(&published.source));
        text += &view.paragraph(&label("Beside"), &format!("published: {words}"));
    }
    let notes = scenario.notes.iter().filter(|note| !loads::is_of_job_file(note));
    for note in notes {
        text += &view.paragraph(&label("Note"), &escape_line(note));
    }
    for warning in [ground.guest_warnings()?, survey.warnings].concat() {
        text += &view.paragraph(&label("Warning"), &escape_line(&warning));
    }
    Ok((text, is_ready))
}

/// Returns the lines with the command that carries a plan out.
pub fn next_lines(view: &View, is_ready: bool, next: &str) -> String {
    // A command stays on one line, to be copied.
    let command = format!("\n{}{next}\n", label(if is_ready { "Next" } else { "Then" }));
    let more = "-v shows every step in words, --commands prints them to copy";
    command + &view.paragraph(&label(""), more)
}

/// Describes in which order the stacks are measured.
fn order_words(scenario: &Scenario, layout: &SetLayout) -> String {
    let turns = layout.chains().len();
    let times = layout.visits_of_a_set(&scenario.measure);
    let often = if times > 1 { format!(", set up {times} times") } else { String::new() };
    match (scenario.durability.is_some(), turns) {
        (true, _) => "one after the other".to_owned(),
        (_, 1) if scenario.stacks.len() == 1 => format!("one stack{often}"),
        (_, 1) if layout.siblings() > 1 => format!(
            "all up at once, on {} equal files that they swap half-way; measured in turn",
            layout.siblings()
        ),
        (_, 1) => format!("all up at once, measured in turn{often}"),
        _ => format!("{turns} turns, as they cannot be up at once; random order{often}"),
    }
}

/// Tells how many back ends stay up for several turns; empty if none does.
fn kept_words(ground: &PlanGround) -> Result<String> {
    let followed = ground.followers()?;
    let turns_of = |first: usize| followed.iter().filter(|other| **other == first).count();
    let kept = (0..followed.len()).filter(|at| turns_of(*at) > 1).count() as u64;
    Ok(match kept {
        0 => String::new(),
        one => format!(
            "; {} up between consecutive turns",
            count_noun(one, "back end stays", "back ends stay")
        ),
    })
}

/// Describes what a person does before a stack is measured.
fn manual_steps(view: &View, scenario: &Scenario) -> String {
    let steps = scenario.operators.values();
    let words = |step: &Operator| escape_line(&format!("{} ({})", step.text, step.drive_words()));
    let lines = distinct(steps.map(words));
    lines.iter().map(|line| view.paragraph(&label("By hand"), line)).collect()
}

/// Describes what the write caches on the path do to the figures of writes. Empty if nothing is
/// written.
fn cache_words(view: &View, scenario: &Scenario, caches: &[WriteCache]) -> String {
    let compares = scenario.durability.is_none() && scenario.measure.trace_ns.is_none();
    if !scenario.writes() || !compares {
        return String::new();
    }
    let known: Vec<String> = caches
        .iter()
        .map(|cache| format!("{} {}", escape_line(&cache.name), show_bytes(cache.bytes)))
        .collect();
    let known = if known.is_empty() { "none known here".to_owned() } else { known.join(", ") };
    let text = match scenario.measure.regime {
        Regime::Burst => format!(
            "writes are measured as they come, caches included ({known}); \
             --regime steady fills the caches first"
        ),
        Regime::Steady => format!("writes count once the write caches are full ({known})"),
    };
    view.paragraph(&label("Caches"), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments, from_path};
    use iotax_plan::ready::ready;
    use std::path::Path;

    fn shown(scenario: &Scenario) -> String {
        let ready = ready(scenario, &mut |_| {}).unwrap();
        let view = View { width: 80, ..View::default() };
        let (text, is_ready) = brief_plan(&view, scenario, ready).unwrap();
        text + &next_lines(&view, is_ready, "iotax run ...")
    }

    #[test]
    fn a_plan_of_two_stacks_is_a_screen() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("file:{},size=1MiB", folder.path().join("x.img").display());
        let stacks = [file.clone(), format!("{file} | loop")];
        let scenario = from_arguments(&stacks, &ScenarioRequest::default()).unwrap();
        let text = shown(&scenario);
        println!("{text}");
        assert!(text.lines().count() <= 25, "{text}");
        for part in ["a new file", "no other data is touched", "at most 5 min", "randread", "Next"]
        {
            // Without loop devices it can only be run later.
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                flat.contains(part) || part == "Next" && text.contains("Then"),
                "{part}: {text}"
            );
        }
    }

    #[test]
    fn the_largest_scenario_that_ships_is_two_screens() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/e4-backends-fabrics.toml");
        let scenario = from_path(Path::new(path), &ScenarioRequest::default()).unwrap();
        let text = shown(&scenario);
        println!("{text}");
        assert!(text.lines().count() < 80, "{} lines\n{text}", text.lines().count());
        assert!(text.contains("6 emulated drives of 256 MiB in the guest lab"), "{text}");
    }
}
