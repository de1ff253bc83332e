//! A set of stacks in a plan: its steps, with one line for guests that are alike, and the measured
//! targets. On request it shows every step as it is carried out, with the whole command lines.

use super::View;
use iotax_drivers::path_ref::PathRef;
use iotax_facts::place::Place;
use iotax_layers::guest::GuestPlan;
use iotax_model::stack::Stack;
use iotax_plan::set_plan::SetPlan;
use iotax_steps::op::{MakeByTool, Op};
use iotax_steps::step::Step;
use iotax_units::{distinct, shell, show_names};

/// Returns the steps of a set, numbered from one. A guest's own steps are one line, unless their
/// commands are requested.
pub fn steps(view: &View, plan: &SetPlan, stacks: &[Stack]) -> String {
    if view.commands {
        return plan.steps.iter().map(|step| step_line(view, step)).collect();
    }
    let mut lines: Vec<StepLines> = Vec::new();
    let mut alike: Vec<&GuestPlan> = Vec::new();
    for step in &plan.steps {
        match plan.guests.iter().find(|guest| guest.steps.contains(&step.id)) {
            None => {
                lines.extend(set_lines(view, &std::mem::take(&mut alike), plan, stacks));
                let number = (step.id + 1).to_string();
                lines.push(StepLines {
                    first: number.clone(),
                    last: number,
                    text: step_line(view, step),
                });
            }
            Some(guest) if guest.steps.last() == Some(&step.id) => {
                if alike.last().is_some_and(|other| {
                    summary(other, plan, stacks) != summary(guest, plan, stacks)
                }) {
                    lines.extend(set_lines(view, &std::mem::take(&mut alike), plan, stacks));
                }
                alike.push(guest);
            }
            Some(_) => {}
        }
    }
    lines.extend(set_lines(view, &alike, plan, stacks));
    folded_steps(&lines)
}

/// Text of a step, or of the steps of a guest, with its first and last number.
struct StepLines {
    first: String,
    last: String,
    text: String,
}

impl StepLines {
    /// Returns the text without numbers of steps, names that the run makes up, and offsets.
    /// Repeated steps have equal shapes.
    fn shape(&self) -> String {
        // Letters, then digits: the name of a guest.
        let is_numbered = |word: &str| {
            let word = word.trim_end_matches([':', ',']);
            let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
            name.len() < word.len()
                && !name.is_empty()
                && name.chars().all(|c| c.is_ascii_lowercase())
        };
        let is_named = |word: &str| {
            is_numbered(word)
                || word.starts_with('+')
                || word.starts_with("naa.")
                || word.ends_with('>')
                || word.contains("-RUN-")
        };
        let words = self.text.split_whitespace().skip(1);
        words.map(|word| if is_named(word) { "_" } else { word }).collect::<Vec<_>>().join(" ")
    }
}

/// Longest group of steps whose repetitions are searched for.
const LONGEST_GROUP: usize = 4;
/// Number of repetitions from which only the first and the last are shown.
const FOLDED_FROM: usize = 4;

/// Returns the text of all steps. Of steps that repeat and differ only in names and offsets, only
/// the first and the last are shown.
fn folded_steps(lines: &[StepLines]) -> String {
    let shapes: Vec<String> = lines.iter().map(StepLines::shape).collect();
    let (mut text, mut at) = (String::new(), 0);
    let shown =
        |from: usize, many: usize| lines[from..from + many].iter().map(|one| one.text.as_str());
    while at < lines.len() {
        let again = |group: usize| {
            let first = shapes.get(at..at + group)?;
            let times = shapes[at..].chunks(group).take_while(|shapes| *shapes == first).count();
            (times >= FOLDED_FROM).then_some((group, times))
        };
        let Some((group, times)) = (1..=LONGEST_GROUP).find_map(again) else {
            text.extend(shown(at, 1));
            at += 1;
            continue;
        };
        let end = at + group * times;
        let (from, to) = (&lines[at + group].first, &lines[end - group - 1].last);
        text.extend(shown(at, group));
        text += &format!("  {from}-{to}. the same, {} more times\n", times - 2);
        text.extend(shown(end - group, group));
        at = end;
    }
    text
}

/// Describes one step as it is carried out, in red if it is irreversible.
pub fn step_line(view: &View, step: &Step) -> String {
    let place = if step.place.is_host() { String::new() } else { format!("@{}: ", step.place) };
    let number = format!("  {}. {place}", step.id + 1);
    let operation = step.op.operation();
    match (&step.op, operation.irreversible_effect()) {
        (Op::MakeByTool(made), _) => by_tool(view, &number, made),
        (Op::Spawn(spawn), _) => command(view, &number, &spawn.shown_command()),
        (_, None) => view.paragraph(&number, &operation.describe()),
        (_, Some(lost)) => {
            let text = format!("irreversible: {} ({lost})", operation.describe());
            view.red(&view.paragraph(&number, &text))
        }
    }
}

/// Describes a step of an engine that a `[tool.NAME]` describes: the commands that make it, one per
/// line; with --commands also those that find, undo and query it.
fn by_tool(view: &View, number: &str, made: &MakeByTool) -> String {
    let indent = " ".repeat(number.len());
    let head = view.paragraph(number, &format!("create {} with [tool.{}]", made.name, made.tool));
    let shown =
        made.shown_commands().into_iter().filter(|(key, _)| view.commands || *key == "make");
    let lines = shown.flat_map(|(key, lines)| {
        let first = format!("{indent}{key}: ");
        lines.into_iter().map(move |words| command(view, &first, &words))
    });
    let text = head + &lines.collect::<String>();
    let is_shown = |program: &&str| {
        made.commands.make.iter().any(|argv| argv.first().is_some_and(|word| word == program))
    };
    let others: Vec<&str> =
        made.commands.programs().into_iter().filter(|program| !is_shown(program)).collect();
    match view.commands || others.is_empty() {
        true => text,
        false => {
            text + &view.paragraph(
                &format!("{indent}also runs: "),
                &format!("{} (see --commands)", others.join(", ")),
            )
        }
    }
}

/// Formats words for a shell, with a break before one that does not fit; a word longer than a line
/// stays whole.
fn command(view: &View, first: &str, words: &[String]) -> String {
    let indent = " ".repeat(first.len() + 2);
    let mut lines = vec![first.to_owned()];
    let mut fresh = true;
    // An option stays on the line of its value.
    let is_option = |word: &String| word.starts_with('-');
    for words in words.chunk_by(|one, next| is_option(one) && !is_option(next)) {
        let word = shell::quote_line(words);
        let used = lines.last().map_or(0, |line| line.chars().count());
        // Leaves room for the continuation mark.
        if !fresh && used + 1 + word.chars().count() + 2 > view.width {
            lines.push(indent.clone());
            fresh = true;
        }
        if let Some(line) = lines.last_mut() {
            *line += &if fresh { word } else { format!(" {word}") };
        }
        fresh = false;
    }
    lines.join(" \\\n") + "\n"
}

/// Description of a guest, and of each of its disks with the stacks on it. Guests for which these
/// are equal are shown in one line.
type Summary = (String, Vec<String>);

fn summary(guest: &GuestPlan, plan: &SetPlan, stacks: &[Stack]) -> Summary {
    let disk = |(disk, path): (String, &PathRef)| {
        let of: Vec<&str> =
            stacks_served(guest, path, plan).map(|stack| stacks[stack].name.as_str()).collect();
        if of.is_empty() { disk } else { format!("{}: {disk}", of.join(", ")) }
    };
    (guest.outline(), guest.disk_outlines().into_iter().zip(&guest.paths).map(disk).collect())
}

/// Returns the indices of the stacks whose load goes to the disk `path` of a guest.
fn stacks_served<'a>(
    guest: &'a GuestPlan,
    path: &'a PathRef,
    plan: &'a SetPlan,
) -> impl Iterator<Item = usize> + 'a {
    let is_it = move |place: &Place, at: &PathRef| *place == guest.place && at == path;
    let target = move |(_, shown): &&(usize, iotax_layers::ExposedDevice)| {
        shown.paths.iter().any(|at| is_it(&shown.place, at))
            || shown.copies.iter().any(|(place, at)| is_it(place, at))
    };
    plan.targets.iter().filter(target).map(|(stack, _)| *stack)
}

fn set_lines(
    view: &View,
    guests: &[&GuestPlan],
    plan: &SetPlan,
    stacks: &[Stack],
) -> Option<StepLines> {
    let ([first, ..], [.., last]) = (guests, guests) else { return None };
    let numbers = numbers(first.steps.first(), last.steps.last(), guests);
    let (what, disks) = summary(first, plan, stacks);
    let named = match guests.len() {
        1 => format!("start guest {}: ", first.place),
        many => format!("start {many} guests, {} to {}, each with ", first.place, last.place),
    };
    let number = format!("  {numbers}. ");
    let text = view.paragraph(&number, &format!("{named}{what}"));
    let disk =
        |disk: &String| view.paragraph(&" ".repeat(number.len()), &format!("disk of {disk}"));
    let text = text + &disks.iter().map(disk).collect::<String>();
    let (first, last) = (numbers.split('-').next(), numbers.split('-').next_back());
    let [first, last] = [first, last].map(|number| number.unwrap_or_default().to_owned());
    Some(StepLines { first, last, text })
}

/// Returns the numbers of the guests' steps as `3-8`, or only the last one if steps of others lie
/// between.
fn numbers(first: Option<&u32>, last: Option<&u32>, guests: &[&GuestPlan]) -> String {
    let (first, last) = (first.map_or(0, |id| id + 1), last.map_or(0, |id| id + 1));
    let own: usize = guests.iter().map(|guest| guest.steps.len()).sum();
    match (last - first) as usize + 1 == own && own > 1 {
        true => format!("{first}-{last}"),
        false => last.to_string(),
    }
}

/// Describes the targets of the load and their places, a line for each stack. `what` is the verb:
/// `measure` or `try`.
pub fn targets(view: &View, plan: &SetPlan, stacks: &[Stack], what: &str) -> String {
    let line = |(index, exposed): &(usize, iotax_layers::ExposedDevice)| {
        let copies = exposed.copies.iter().map(|(place, _)| place);
        let places = show_names(distinct(std::iter::once(&exposed.place).chain(copies)));
        let at_once = if exposed.copies.is_empty() { "" } else { " at once" };
        let in_guest = plan.guests.iter().any(|guest| exposed.is_in(&guest.place));
        let alike = exposed.copies.iter().all(|(_, path)| exposed.paths == [path.clone()]);
        let paths: Vec<String> = match alike {
            true => exposed.paths.iter().map(ToString::to_string).collect(),
            false => {
                let loaded = exposed.loaded().into_iter();
                let on = |(place, paths): (&Place, Vec<&PathRef>)| {
                    paths.iter().map(|path| format!("{path} on {place}")).collect::<Vec<_>>()
                };
                loaded.flat_map(on).collect()
            }
        };
        let target = match paths.as_slice() {
            // The guest's own line shows its disks.
            _ if exposed.paths == [PathRef::Nothing] => String::new(),
            _ if in_guest && !view.commands => String::new(),
            [path] => format!(", target {path}"),
            several => format!(", targets {} at once", several.join(", ")),
        };
        let name = &stacks[*index].name;
        let load = if exposed.paths == [PathRef::Nothing] { "probes" } else { "load" };
        view.paragraph(
            &format!("  {what} "),
            &format!("{name}: {load} on {places}{at_once}{target}"),
        )
    };
    plan.targets.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::run_tag::RunTag;
    use iotax_layers::guest::GuestParts;
    use iotax_layers::medium::FoundMedium;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
    use iotax_model::stack::Medium;
    use iotax_plan::set_plan::PlanGround;
    use iotax_plan::sets::layout;

    fn shown(layers: &[&str], commands: bool) -> String {
        let stacks: Vec<String> =
            layers.iter().map(|layers| format!("file:/srv/x.img,size=1GiB{layers}")).collect();
        let scenario = from_arguments(&stacks, &ScenarioRequest::default()).unwrap();
        let found: Vec<Vec<FoundMedium>> = stacks
            .iter()
            .map(|_| vec![FoundMedium::without_signature(1 << 30, false, false)])
            .collect();
        assert!(scenario.stacks.iter().all(|stack| matches!(stack.medium, Medium::File { .. })));
        let layout = layout(&scenario);
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let guest_parts = Some(GuestParts::made_up());
        let ground =
            PlanGround { scenario: &scenario, layout: &layout, found: &found, guest_parts, tag };
        let plan = ground.plan_set(&layout.sets[0], 0).unwrap();
        let view = View { width: 80, commands, ..View::default() };
        steps(&view, &plan, &scenario.stacks) + &targets(&view, &plan, &scenario.stacks, "measure")
    }

    #[test]
    fn equal_guests_are_one_line() {
        let text = shown(&["", " | vm(vcpus=1)", " | vm(vcpus=1) x16"], false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_step_beside_a_guest_keeps_its_line() {
        insta::assert_snapshot!(shown(
            &[" | loop | vm(attach=vhost-scsi)", " | loop | vm(attach=vhost-user-blk,queues=4)"],
            false
        ));
    }

    #[test]
    fn steps_that_come_again_and_again_are_shown_twice() {
        let text = shown(&[" | loop | split(16) | vm(vcpus=1,attach=vhost-scsi) x16"], false);
        insta::assert_snapshot!(text);
        let whole = shown(&[" | loop | split(16) | vm(vcpus=1,attach=vhost-scsi) x16"], true);
        assert_eq!(whole.matches("dmsetup create").count(), 16);
        let other = |number: u32, size: u32| StepLines {
            first: number.to_string(),
            last: number.to_string(),
            text: format!("  {number}. start guest vm{number}: {size} GiB\n"),
        };
        let sizes: Vec<StepLines> = (1..6).map(|number| other(number, number)).collect();
        assert_eq!(
            folded_steps(&sizes).lines().count(),
            5,
            "guests of different sizes are not the same"
        );
        let alike: Vec<StepLines> = (1..6).map(|number| other(number, 1)).collect();
        assert_eq!(folded_steps(&alike).lines().nth(1), Some("  2-4. the same, 3 more times"));
    }

    #[test]
    fn command_lines_can_be_typed_and_have_every_word() {
        let text = shown(&[" | vm"], true);
        insta::assert_snapshot!(text);
        let flat = text.replace(" \\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("-display none -machine q35"), "{flat}");
    }
}
