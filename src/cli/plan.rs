//! `iotax plan`: shows what `run` would do, step by step, without touching anything. Steps that
//! cannot be undone are red.

mod precondition;
mod set;

use super::asked::MeasureArgs;
use super::output::{columns, hanging_paragraph, look, say_aside, say_in_colour};
use anyhow::Result;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_host::caches::WriteCache;
use iotax_host::guard::judge::Intent;
use iotax_layers::{FirstWrites, guest};
use iotax_measure::{matched_rate, operator, series};
use iotax_model::scenario::{
    DurabilitySpec, Engine, LabSpec, Published, Regime, Scenario, Workload,
};
use iotax_model::stack::{LoadIssuer, Medium};
use iotax_plan::ground::filled;
use iotax_plan::ready::{ReadyScenario, ready};
use iotax_plan::set_plan::{PlanGround, SetPlan};
use iotax_plan::sets::{SetLayout, StackSet};
use iotax_plan::unwritten::{UnwrittenStack, unwritten_of_set};
use iotax_plan::{survey, trial_room};
use iotax_remote::hypervisor;
use iotax_report::ink::Ink;
use iotax_steps::op::{Op, RemoteAgent};
use iotax_steps::operation::Operation;
use iotax_steps::step::Step;
use iotax_units::exit::{DONE, UNMET_NEED};
use iotax_units::harmless::escape_line;
use iotax_units::{
    UNKNOWN_BYTES, count_noun, distinct, is_unknown, show_bytes, show_names, show_ns, show_size,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Arguments of `plan`.
#[derive(clap::Args)]
pub struct Args {
    /// Show each step as it is carried out, with the command lines of QEMU and all commands of a
    /// [tool.NAME]
    #[arg(long)]
    commands: bool,
    #[command(flatten)]
    asked: MeasureArgs,
}

#[derive(Default)]
pub struct View {
    width: usize,
    /// True if text on what cannot be undone is red.
    colour: bool,
    commands: bool,
    /// True if a hint names `--commands`.
    hints: bool,
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
    print(&args.asked.scenario()?, Some(args.commands))
}

/// Prints the plan of a scenario and returns the exit code. `commands` is the value of
/// `--commands`, or `None` if the command has no such option.
///
/// # Errors
/// Fails like [`run`].
pub(super) fn print(scenario: &Scenario, commands: Option<bool>) -> Result<u8> {
    let colour = look().colour;
    let hints = commands == Some(false);
    let view = View { width: columns(), colour, commands: commands.unwrap_or_default(), hints };
    let ready = ready(scenario, &mut |text| say_aside(&text))?;
    let lacks = ready.missing_summary(scenario);
    let text = show(&view, scenario, ready)?;
    say_in_colour(&text)?;
    Ok(if lacks.is_none() { DONE } else { UNMET_NEED })
}

/// Returns the plan as text. What the machine lacks comes first.
fn show(view: &View, scenario: &Scenario, ready: ReadyScenario) -> Result<String> {
    let lacks = ready.missing_summary(scenario);
    let ReadyScenario { layout, survey, guest_parts, .. } = ready;
    let guests = guest_parts.is_some();
    let tag = RunTag::of_none();
    let ground = PlanGround { scenario, layout: &layout, found: &survey.found, guest_parts, tag };
    let region = ground.region().map_or(UNKNOWN_BYTES, |(region, _)| region);
    let mut text = lacks.map(|lacks| wrap_lines(view, &lacks) + "\n").unwrap_or_default();
    text += &marked_lines(view, "note", &scenario.notes);
    text += &hosts(view, scenario);
    text += &machines(view, scenario);
    text += &labs(view, scenario);
    text += &files(view, scenario, &ground.media()?);
    text += &precondition::describe_preconditioning(view, &ground)?;
    let beside = OtherWork::from_ground(&ground, guests)?;
    for (number, set) in layout.sets.iter().enumerate() {
        let plan = ground.plan_set(set, 0)?;
        let names: Vec<&str> =
            set.stacks.iter().map(|index| scenario.stacks[*index].name.as_str()).collect();
        let together = if names.len() > 1 { " (up together)" } else { "" };
        let head =
            format!("set {} of {}: {}{together}", number + 1, layout.sets.len(), names.join(", "));
        text += &view.paragraph("", &head);
        if let Some(after) = set.after {
            text += &in_further_state(view, &ground, set, after)?;
            continue;
        }
        for operator in set
            .stacks
            .iter()
            .filter_map(|index| scenario.operator_of(&scenario.stacks[*index]))
            .take(1)
        {
            let (serial, size) = (&operator.serial, show_bytes(operator.size));
            text += &view.paragraph(
                "  manual step: ",
                &format!("{} (drive {serial}, {size} of it used)", operator.text),
            );
        }
        text += &set::steps(view, &plan, &scenario.stacks);
        text += &written_below(view, &plan.steps);
        text += &first_writes(view, scenario, &plan, region);
        let what = if scenario.durability.is_some() { "try" } else { "measure" };
        text += &set::targets(view, &plan, &scenario.stacks, what);
        if !plan.steps.is_empty() {
            text += "  undo all steps in reverse order\n";
        }
    }
    let more = match &scenario.durability {
        Some(spec) => trials(spec, &ground)?,
        None => {
            measured_on(scenario, region)
                + &times(scenario, &layout, &survey.write_caches)
                + &setting_up(scenario, &layout, &beside)
                + &engines(scenario)
                + &sweeps(scenario)
                + &regime(scenario, &survey.write_caches)
        }
    };
    text += &wrap_lines(view, &(more + &describe_published(scenario)));
    text += &marked_lines(view, "warning", &[ground.guest_warnings()?, survey.warnings].concat());
    if guests && view.hints {
        text +=
            &marked_lines(view, "hint", &["--commands shows the command lines of QEMU".to_owned()]);
    }
    Ok(text)
}

/// Wraps lines to the width of the view, each with its own indent.
fn wrap_lines(view: &View, text: &str) -> String {
    let line = |line: &str| {
        let words = line.trim_start();
        view.paragraph(&line[..line.len() - words.len()], words)
    };
    text.lines().map(line).collect()
}

fn marked_lines(view: &View, mark: &str, texts: &[String]) -> String {
    texts.iter().map(|text| view.paragraph(&format!("{mark}: "), text)).collect()
}

/// Describes the work on hosts over ssh; a plan itself contacts none of them.
fn hosts(view: &View, scenario: &Scenario) -> String {
    let mut hosts: Vec<(&str, LoadIssuer)> = Vec::new();
    for medium in scenario.stacks.iter().flat_map(|stack| stack.medium.members()) {
        let Some(host) = medium.host() else { continue };
        if !hosts.contains(&(host, medium.agent())) {
            hosts.push((host, medium.agent()));
        }
    }
    if hosts.is_empty() {
        return String::new();
    }
    let line = |(host, agent): &(&str, LoadIssuer)| match agent {
        LoadIssuer::Iotax => {
            let copy = RemoteAgent { host: (*host).to_owned(), for_steps: false };
            view.paragraph("  ", &format!("{}; the copy is removed afterwards", copy.describe()))
        }
        LoadIssuer::Fio => {
            view.paragraph("  ", &format!("run the fio of {host} over ssh; nothing is copied"))
        }
    };
    let head = "hosts over ssh (plan does not connect to them; run checks whether they answer, and what is there)";
    let all = |host: &(&str, LoadIssuer)| line(host) + &written_there(view, scenario, host.0);
    view.paragraph("", head) + &hosts.iter().map(all).collect::<String>()
}

/// Lists the existing virtual machines that stacks use, with the commands that query their
/// managers.
fn machines(view: &View, scenario: &Scenario) -> String {
    let is_used =
        |place: &&Place| scenario.stacks.iter().any(|stack| stack.places().contains(place));
    let all = scenario.described.iter().filter(|(place, _)| is_used(place));
    all.filter_map(|(_, described)| described.vm.as_ref())
        .map(|vm| {
            let on = if vm.on.is_host() { String::new() } else { format!("on {}, ", vm.on) };
            let text = format!("{on}run {}", hypervisor::queries(vm).join("; "));
            view.paragraph(&format!("virtual machine {vm}: "), &text)
        })
        .collect()
}

/// Describes the drives on a host that are written. A plan does not examine them, so whether a
/// given consent applies to one is unknown.
fn written_there(view: &View, scenario: &Scenario, host: &str) -> String {
    let mut drives: Vec<String> = Vec::new();
    for stack in
        scenario.stacks.iter().filter(|stack| survey::intent(scenario, stack) == Intent::Write)
    {
        for medium in stack.medium.members() {
            let Medium::Remote { host: of, path, .. } = medium else { continue };
            let path = path.display().to_string();
            if of == host && path.starts_with("/dev/") && !drives.contains(&path) {
                drives.push(path);
            }
        }
    }
    if drives.is_empty() {
        return String::new();
    }
    let given: Vec<&str> = scenario.consent.iter().map(|consent| consent.serial.as_str()).collect();
    let given = if given.is_empty() {
        "none given".to_owned()
    } else {
        format!("given: {}", given.join(", "))
    };
    let text = format!(
        "write to {} on {host}: run refuses each drive that has no --destroy serial=... ({given})",
        drives.join(", ")
    );
    view.red(&view.paragraph("  ", &text))
}

/// Describes the steps that change the stacks of an earlier set, number `after`, into the array
/// state of `set`.
fn in_further_state(
    view: &View,
    ground: &PlanGround,
    set: &StackSet,
    after: usize,
) -> Result<String> {
    let mut text = format!("  in the same visit as set {}, after it\n", after + 1);
    for (_, steps) in ground.into_state(set, after)? {
        let line = |step: &Step| {
            view.paragraph(
                "  then ",
                &format!("@{}: {}", step.place, step.op.operation().describe()),
            )
        };
        text += &steps.iter().map(line).collect::<String>();
        text += &written_below(view, &steps);
    }
    Ok(text + "  measure; check the state before and after every slice\n")
}

fn labs(view: &View, scenario: &Scenario) -> String {
    let line = |(place, lab): (&Place, &LabSpec)| {
        let drives = count_noun(u64::from(lab.drives.unwrap_or(0)), "NVMe drive", "NVMe drives");
        let vcpus = count_noun(u64::from(lab.vcpus), "vCPU", "vCPUs");
        let each = if lab.drives == Some(1) { "" } else { " each" };
        let (size, memory) = (show_bytes(lab.drive_size), show_bytes(lab.memory));
        let text = format!(
            "{drives} of {size}{each}, {vcpus}, {memory} of memory; it exists for the whole run"
        );
        view.paragraph(&format!("lab {place}: "), &format!("a guest with {text}"))
    };
    scenario.labs.iter().map(line).collect()
}

fn files(view: &View, scenario: &Scenario, steps: &[Step]) -> String {
    let remote = scenario.stacks.iter().all(|stack| !stack.medium.places().contains(&Place::Host));
    match steps {
        [] if remote => String::new(),
        [] => "files under test: no file is created\n".to_owned(),
        steps => {
            let reused = reused(steps);
            let line = |step: &Step| match (&step.op, reused.get(&step.id)) {
                (Op::MakeFile(make), Some(_)) => {
                    let (path, size) = (make.path.display(), show_bytes(make.bytes));
                    view.paragraph(
                        &format!("  {}. ", step.id + 1),
                        &format!("reuse {path} ({size}, kept from an earlier run)"),
                    )
                }
                _ if is_filled(&reused, step) => String::new(),
                _ => set::step_line(view, step),
            };
            format!("files under test\n{}", steps.iter().map(line).collect::<String>())
        }
    }
}

/// Returns the steps whose files an earlier run has left, each with its path and whether it is
/// filled with incompressible data.
fn reused(steps: &[Step]) -> BTreeMap<StepId, (&Path, bool)> {
    let mut found = BTreeMap::new();
    for step in steps.iter().filter(|step| step.place.is_host()) {
        let Op::MakeFile(make) = &step.op else { continue };
        if let Ok(Some(marker)) = make.reusable() {
            found.insert(step.id, (make.path.as_path(), marker.filled));
        }
    }
    found
}

fn is_filled(reused: &BTreeMap<StepId, (&Path, bool)>, step: &Step) -> bool {
    let Op::FillFile(fill) = &step.op else { return false };
    let known = match &fill.file {
        PathRef::Yield(id) => reused.get(id),
        PathRef::Path(path) => reused.values().find(|(known, _)| known == path),
        _ => None,
    };
    fill.data.is_unique() && known.is_some_and(|(_, filled)| *filled)
}

fn to_fill(steps: Vec<Step>) -> Vec<Step> {
    let full: Vec<StepId> = {
        let reused = reused(&steps);
        steps.iter().filter(|step| is_filled(&reused, step)).map(|step| step.id).collect()
    };
    steps.into_iter().filter(|step| !full.contains(&step.id)).collect()
}

/// Describes durability trials: what is killed how often, and what is written meanwhile.
fn trials(spec: &DurabilitySpec, ground: &PlanGround) -> Result<String> {
    let (mut text, mut all) = (String::new(), 0);
    for set in &ground.layout.sets {
        let plan = ground.plan_set(set, 0)?;
        let names = set.stacks.iter().map(|index| ground.scenario.stacks[*index].name.as_str());
        let kills: Vec<&str> = plan
            .guests
            .iter()
            .flat_map(|guest| trial_room::kills_of(spec, guest))
            .map(|kill| kill.phrase())
            .collect();
        all += kills.len() as u64 * u64::from(spec.trials);
        text += &format!(
            "durability of {}: {} trials each: {}\n",
            escape_line(&names.collect::<Vec<_>>().join(", ")),
            spec.trials,
            kills.join("; ")
        );
    }
    let written = match ground.scenario.max_written {
        Some(bytes) => format!("at most {} is written in total", show_bytes(bytes)),
        None => "the amount written is not limited; hint: set max_written".to_owned(),
    };
    Ok(text
        + &format!(
            "  a trial: writes of 4 KiB at random, {} at once, a flush after every {}; killed {} to {} after the first \
             acknowledgement, brought up again, read back; {written}\n",
            spec.in_flight,
            spec.batch,
            show_ns(spec.least_ns as f64),
            show_ns(spec.most_ns as f64)
        )
        + &trials_take(spec, all, ground.scenario.max_written.is_some())
        + &setting_up(
            ground.scenario,
            ground.layout,
            &OtherWork { filled: filled(&to_fill(ground.media()?)), ..OtherWork::default() },
        ))
}

/// Describes the time of the kills. Nearly all of it is booting, which depends on the machine, so
/// it is given for 3 s and for 60 s per boot. `bounded`: max_written may end the trials earlier.
fn trials_take(spec: &DurabilitySpec, kills: u64, bounded: bool) -> String {
    let load_s = (spec.least_ns + spec.most_ns) as f64 / 2e9;
    let all = |seconds: f64| long_time(kills as f64 * (load_s + seconds));
    let most = if bounded { ", or less if max_written ends it earlier" } else { "" };
    format!(
        "time: {kills} kills, each after {} of load on average{most} and followed by a boot ({BOOTS}): {} at 3 s per \
         boot, {} at 60 s; plus reading back\n",
        show_ns(1e9 * load_s),
        all(3.0),
        all(60.0)
    )
}

const BOOTS: &str = "seconds with KVM, 1-2 min without";

/// Describes how much syncs and rebuilds of arrays write to the members, in addition to the load.
/// Empty if they write nothing.
fn written_below(view: &View, steps: &[Step]) -> String {
    match steps.iter().map(|step| step.op.bytes_below()).fold(0, u64::saturating_add) {
        0 => String::new(),
        bytes => {
            let text = match is_unknown(bytes) {
                true => "syncs and rebuilds write to the members; how much is unknown until the drives exist"
                    .to_owned(),
                false => format!("syncs and rebuilds write at most {} to the members", show_bytes(bytes)),
            };
            view.paragraph("  ", &text)
        }
    }
}

/// Describes the data written through a stack before it is measured, since a read of unwritten
/// blocks would reach no disk.
fn first_writes(view: &View, scenario: &Scenario, plan: &SetPlan, region: u64) -> String {
    let line = |what: UnwrittenStack| {
        let (index, _) = &plan.targets[what.target];
        let (written, of) = (show_size(what.total_written()), &scenario.stacks[*index].name);
        let data =
            if what.data.is_unique() { String::new() } else { format!(", with {}", what.data) };
        let how = match what.order {
            FirstWrites::InOrder => format!("write all of {of} once, sequentially"),
            FirstWrites::AtRandom { block } => {
                format!(
                    "write blocks of {} at random places of {of}, then all of it sequentially",
                    show_bytes(block)
                )
            }
        };
        view.paragraph("  ", &format!("before measuring, {how} ({written}){data}"))
    };
    unwritten_of_set(&plan.targets, region, scenario.data()).into_iter().map(line).collect()
}

/// Describes the regime of writes (burst or steady), and the known write caches. Empty if nothing
/// is written.
fn regime(scenario: &Scenario, caches: &[WriteCache]) -> String {
    let steady = scenario.measure.regime == Regime::Steady;
    let rule = match (steady, caches.first()) {
        _ if !scenario.writes() => return String::new(),
        (false, _) => "regime burst, so verdicts include write caches".to_owned(),
        (true, Some(largest)) => {
            format!(
                "regime steady: in each visit more than {} is written to each drive before any write counts",
                show_bytes(largest.bytes)
            )
        }
        (true, None) => {
            "regime steady, shown only by a lasting drop of the write rate; hint: set write_cache to the size of the \
             largest cache"
                .to_owned()
        }
    };
    let known: Vec<String> = caches
        .iter()
        .map(|cache| format!("  {}: {}\n", cache.name, show_bytes(cache.bytes)))
        .collect();
    let none =
        if caches.is_empty() { "; no write cache known on the path" } else { "; known caches:" };
    format!("writes: {rule}{none}\n{}", known.concat())
}

fn describe_published(scenario: &Scenario) -> String {
    let said = |published: &Published| {
        format!(
            "published: {} of {}, shown beside what is measured\n",
            count_noun(published.figures.len() as u64, "figure", "figures"),
            escape_line(&published.source)
        )
    };
    scenario.published.as_deref().map(said).unwrap_or_default()
}

/// Describes the points of each sweep in the order of measuring, and the longest time that they
/// take.
fn sweeps(scenario: &Scenario) -> String {
    let name = |workload: &Workload| workload.sweep.as_ref().map(|sweep| sweep.sweep.clone());
    let mut text = String::new();
    for points in scenario.workloads.chunk_by(|a, b| name(a).is_some() && name(a) == name(b)) {
        let Some(sweep) = name(&points[0]) else { continue };
        let most_s = points.len() as f64 * scenario.measure.budget_ns as f64 / 1e9;
        text += &format!(
            "sweep {}: {}: {} points, at most {} of measuring\n",
            escape_line(&sweep),
            escape_line(&points[0].sweep_subject()),
            points.len(),
            long_time(most_s)
        );
        let listed: Vec<String> = points.iter().map(coordinates).collect();
        text += &format!("  {}\n", listed.join(", "));
    }
    text
}

/// Returns the coordinates of a point: `iodepth=4 bs=64k`.
fn coordinates(point: &Workload) -> String {
    let at = point.sweep.iter().flat_map(|sweep| &sweep.at);
    at.map(|at| format!("{}={}", at.word, at.written_value())).collect::<Vec<_>>().join("\u{a0}")
}

/// Formats seconds as `90 s`, `12 min` or `5.3 h`, by their length.
fn long_time(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 3.0 * 3600.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn times(scenario: &Scenario, layout: &SetLayout, write_caches: &[WriteCache]) -> String {
    let measure = &scenario.measure;
    let most = load_s(scenario, layout);
    let in_turn = layout.sets.len() == 1
        && scenario.stacks.len() >= 2
        && scenario.workloads.iter().all(|load| series::suits(load, measure, write_caches));
    let least = series::least_s(measure, in_turn, scenario.stacks.len()).min(most);
    let workloads = scenario.workloads.len();
    let visits = count_noun(u64::from(measure.visits), "visit", "visits");
    let how = match (layout.chains().len(), layout.siblings()) {
        _ if measure.attaches > 1 && layout.sets.len() == 1 => {
            format!("rounds over all stacks, set up {} times", measure.attaches)
        }
        (1, 1) if layout.sets.len() > 1 => format!("{visits}, one state after the other in each"),
        (1, 1) => "rounds over all stacks, until the precision is reached".to_owned(),
        (1, siblings) => {
            format!("rounds over all stacks on {siblings} equal files, swapped at half time")
        }
        (chains, _) if chains < layout.sets.len() => format!(
            "{} sets in {chains} groups (the states of one array follow each other), {visits} of each group, in \
             random order",
            layout.sets.len()
        ),
        (sets, _) => format!("{sets} sets in {visits} each, in random order"),
    };
    let written = match scenario.max_written {
        Some(bytes) => format!("at most {} is written to each drive\n", show_bytes(bytes)),
        None => String::new(),
    };
    let in_all = long_time(most * workloads as f64);
    let each = match (format!("{least:.0} s"), format!("{most:.0} s")) {
        (least, most) if least == most => most,
        (least, most) => format!("{least} to {most}"),
    };
    format!(
        "measuring: {}, {each} each; at most {in_all} in total: {how}\n{written}",
        count_noun(workloads as u64, "workload", "workloads")
    )
}

/// Describes which engine issues the I/O, for all loads or load by load.
fn engines(scenario: &Scenario) -> String {
    let mut engines: Vec<(String, Vec<&str>)> = Vec::new();
    let named = scenario
        .notes
        .iter()
        .filter_map(|note| note.split_once("\"ioengine=")?.1.split('"').next());
    let named = distinct(named);
    for workload in scenario.workloads.iter().filter(|workload| workload.probe.is_none()) {
        let name = match workload.engine {
            None if named.is_empty() => CHOSEN.to_owned(),
            None => format!("{CHOSEN} (the job file says {})", named.join(", ")),
            Some(Engine::Fio) => "fio".to_owned(),
            Some(Engine::Native(name)) => name.to_string(),
        };
        match engines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, loads)) => loads.push(&workload.name),
            None => engines.push((name, vec![&workload.name])),
        }
    }
    match engines.as_slice() {
        [] => String::new(),
        [(name, _)] => format!("engine: {name}\n"),
        several => several
            .iter()
            .map(|(name, loads)| format!("engine of {}: {name}\n", show_names(loads)))
            .collect(),
    }
}

/// Engine of a load that names none.
const CHOSEN: &str =
    "auto: sync at iodepth 1; else uring, or aio or sync where io_uring does not work";

/// Describes how many bytes are under load, which are the same for all stacks. Empty if that is
/// unknown, as on hosts that were not reached yet, or if there are only probes.
fn measured_on(scenario: &Scenario, region: u64) -> String {
    match region {
        bytes if is_unknown(bytes) || scenario.workloads.iter().all(|one| one.probe.is_some()) => {
            String::new()
        }
        bytes => format!(
            "every stack is loaded on {}, the size of the smallest stack (unless the workload sets size)\n",
            show_bytes(bytes)
        ),
    }
}

/// Describes what takes time apart from measuring: set-ups, manual steps, reading back, boots,
/// writes.
fn setting_up(scenario: &Scenario, layout: &SetLayout, beside: &OtherWork) -> String {
    let stacks = layout.sets.iter().map(|set| set.stacks.len() as u64).sum();
    let stacks = count_noun(stacks, "stack", "stacks");
    let times = match layout.sets.len() {
        // The layers below the guests are made once, however often the guests are killed.
        _ if scenario.durability.is_some() => 1,
        1 if layout.siblings() == 1 => scenario.measure.attaches.max(1),
        1 => layout.siblings() as u32,
        _ => scenario.measure.visits,
    };
    let often = if times > 1 { format!(", {times} times") } else { String::new() };
    let moves = match operator::most_steps(scenario, layout) as u64 {
        0 => String::new(),
        most => format!(", up to {}", count_noun(most, "manual step", "manual steps")),
    };
    let read_back = if scenario.verifies() { ", reading back what was written" } else { "" };
    format!(
        "plus: setting up and removing {stacks}{often}{moves}{read_back}{}\n",
        beside.work_words()
    )
}

/// Work of a run apart from measuring, summed over all visits.
#[derive(Clone, Debug, Default)]
struct OtherWork {
    /// Number of guest boots: one guest counts once, however many stacks have a disk in it.
    boots: u64,
    /// Number of bytes that files are filled with.
    filled: u64,
    /// Number of bytes written through stacks before they are measured.
    first: u64,
    /// Largest number of bytes that syncs and rebuilds write to the members of arrays.
    below: u64,
    /// Largest number of times that an existing virtual machine is shut down and started, by its
    /// name.
    restarts: BTreeMap<String, u64>,
}

impl OtherWork {
    /// Returns the work of a whole run, with that of labs if it has guests (`guests`).
    fn from_ground(ground: &PlanGround, guests: bool) -> Result<OtherWork> {
        let (scenario, layout) = (ground.scenario, ground.layout);
        let region = ground.region().map_or(UNKNOWN_BYTES, |(region, _)| region);
        let mut beside =
            OtherWork { filled: filled(&to_fill(ground.media()?)), ..OtherWork::default() };
        beside.boots += if guests { ground.labs()?.guests.len() as u64 } else { 0 };
        for set in layout.sets.iter().filter(|set| set.after.is_none()) {
            let visits = layout.visits_of_a_set(&scenario.measure);
            beside.add(&ground.plan_set(set, 0)?, scenario, visits, region);
        }
        Ok(beside)
    }

    /// Returns the longest time of a run: `this run takes at most 62 s: 60 s of measuring, 2 s of
    /// setting up, writing 400 MiB ...`. What is unknown in advance is named, not counted.
    fn in_all(&self, measuring_s: f64, scenario: &Scenario) -> String {
        let bytes = [self.filled, self.first, self.below].into_iter().fold(0, u64::saturating_add);
        let boot_s = if (guest::FINDINGS.kvm)().trouble().is_none() { 3.0 } else { 60.0 };
        let written_s = if is_unknown(bytes) { 0.0 } else { bytes as f64 / 2e8 };
        let (measuring_s, known_s) =
            (measuring_s.ceil(), (boot_s * self.boots as f64 + written_s).ceil());
        let open = [
            (is_unknown(bytes), "first writes of drives that are not known yet"),
            (!self.restarts.is_empty(), "restarts of virtual machines"),
            (!scenario.measure.precondition.is_off(), "preconditioning"),
        ];
        let open: Vec<&str> =
            open.iter().filter(|(is_open, _)| *is_open).map(|(_, what)| *what).collect();
        let open = if open.is_empty() {
            String::new()
        } else {
            format!("; not counted: {}", open.join(", "))
        };
        format!(
            "this run takes at most {}: {} of measuring, {} of setting up{}{open}",
            long_time(measuring_s + known_s),
            long_time(measuring_s),
            long_time(known_s),
            self.work_words()
        )
    }

    fn add(&mut self, plan: &SetPlan, scenario: &Scenario, visits: u32, region: u64) {
        let visits = u64::from(visits);
        let first = unwritten_of_set(&plan.targets, region, scenario.data());
        let first: u64 =
            first.iter().map(UnwrittenStack::total_written).fold(0, u64::saturating_add);
        let below =
            plan.steps.iter().map(|step| step.op.bytes_below()).fold(0, u64::saturating_add);
        for step in &plan.steps {
            if let Op::ChangeMachine(change) = &step.op {
                // One restart with its settings, and one with those from before.
                *self.restarts.entry(change.vm.to_string()).or_default() += 2 * visits;
            }
        }
        self.boots += visits * plan.guests.len() as u64;
        self.first = self.first.saturating_add(first.saturating_mul(visits));
        self.below = self.below.saturating_add(below.saturating_mul(visits));
    }

    /// Describes restarts of existing virtual machines, boots with their time, then bytes: `, 3
    /// boots of guests (9 s at 3 s each, ...)`.
    fn work_words(&self) -> String {
        let boots = match self.boots {
            0 => String::new(),
            boots => format!(
                ", {} ({} at 3 s each, as with KVM; {} at 60 s, as without)",
                count_noun(boots, "boot of a guest", "boots of guests"),
                long_time(3.0 * boots as f64),
                long_time(60.0 * boots as f64)
            ),
        };
        let parts = [
            (self.filled, "into files"),
            (self.first, "through stacks that were never written"),
            (self.below, "by syncs and rebuilds at most"),
        ];
        let written: Vec<String> = parts
            .iter()
            .filter(|(bytes, _)| *bytes > 0)
            .map(|(bytes, where_to)| format!("{} {where_to}", show_size(*bytes)))
            .collect();
        let all = parts.iter().map(|(bytes, _)| *bytes).fold(0, u64::saturating_add);
        let takes = match written.is_empty() {
            true => String::new(),
            false if is_unknown(all) => format!(", writing {}", written.join(" and ")),
            false => {
                format!(
                    ", writing {} ({} at 200 MB/s)",
                    written.join(" and "),
                    long_time(all as f64 / 2e8)
                )
            }
        };
        let restart = |(vm, times): (&String, &u64)| {
            format!(", shutting down and starting {vm} up to {times} times")
        };
        self.restarts.iter().map(restart).collect::<String>() + &boots + &takes
    }
}

/// Returns the most seconds for which one load is measured, including the pilot, the baseline alone
/// and the matched rate.
fn load_s(scenario: &Scenario, layout: &SetLayout) -> f64 {
    let measure = &scenario.measure;
    let (least_s, most_s) = (measure.min_time_ns as f64 / 1e9, measure.budget_ns as f64 / 1e9);
    match layout.sets.len() {
        // With one stack nothing is compared, so the minimum time is enough. With several sets each
        // visit has its time.
        1 if scenario.stacks.len() == 1 => least_s,
        1 => most_s,
        sets => {
            let visits = f64::from(measure.visits.max(1)) * sets as f64;
            most_s.min(visits * matched_rate::with_matched(least_s, measure))
        }
    }
}

/// Returns a sentence on how long a run of `loads` loads takes at most: its measuring, and its
/// set-up as far as that is known in advance.
///
/// # Errors
/// Bad input, as for a plan of the run.
pub(super) fn longest_run_words(
    scenario: &Scenario,
    ready: &ReadyScenario,
    loads: usize,
) -> Result<String> {
    let ReadyScenario { layout, survey, guest_parts, .. } = ready;
    let (found, guest_parts) = (&survey.found, guest_parts.clone());
    let guests = guest_parts.is_some();
    let ground = PlanGround { scenario, layout, found, guest_parts, tag: RunTag::of_none() };
    let beside = OtherWork::from_ground(&ground, guests)?;
    let measuring_s = load_s(scenario, layout) * loads as f64;
    Ok(beside.in_all(measuring_s, scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_path, from_stacks};

    #[test]
    fn a_plan_shows_the_points_of_each_sweep_and_their_time() {
        let words = [("rw", "randread"), ("iodepth", "1,4"), ("bs", "[4k,64k,1M]")];
        let words = words.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let measure = vec![("budget".to_owned(), "1min".to_owned())];
        let request = ScenarioRequest { words, measure, ..ScenarioRequest::default() };
        let scenario = from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &request).unwrap();
        assert_eq!(
            sweeps(&scenario),
            "sweep randread-over-iodepth-bs: random reads over iodepth and bs: 6 points, at most 60 s of measuring\n  \
             iodepth=1\u{a0}bs=4k, iodepth=4\u{a0}bs=4k, iodepth=1\u{a0}bs=64k, iodepth=4\u{a0}bs=64k, iodepth=1\u{a0}bs=1M, \
             iodepth=4\u{a0}bs=1M\n"
        );
        let plain =
            from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &ScenarioRequest::default())
                .unwrap();
        assert_eq!(sweeps(&plain), "");
    }

    #[test]
    fn one_drive_of_a_lab_is_not_told_as_several() {
        let of = |medium: &str| {
            let scenario = from_stacks(&[medium.to_owned()], &ScenarioRequest::default()).unwrap();
            labs(&View { width: 200, ..View::default() }, &scenario)
        };
        assert!(
            of("nvme0 @lab").contains("with 1 NVMe drive of 1 GiB, 2 vCPUs"),
            "{}",
            of("nvme0 @lab")
        );
        assert!(
            of("nvme1 @lab").contains("with 2 NVMe drives of 1 GiB each, 2 vCPUs"),
            "{}",
            of("nvme1 @lab")
        );
    }

    #[test]
    fn drives_of_other_hosts_that_are_written_are_told_with_what_they_need() {
        let of = |stack: &str, more: &[(&str, &str)]| {
            let view = View { width: 400, ..View::default() };
            let more =
                more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let asked = ScenarioRequest { words: more, ..ScenarioRequest::default() };
            hosts(&view, &from_stacks(&[stack.to_owned()], &asked).unwrap())
        };
        let array = "[/dev/sda,/dev/sdb] @ssh:db1 | mdraid(level=1)";
        let told = of(array, &[("rw", "randread")]);
        assert!(
            told.contains(
                "write to /dev/sda, /dev/sdb on db1: run refuses each drive that has no --destroy \
                serial=... (none given)"
            ),
            "{told}"
        );
        assert!(!of("/dev/sda @ssh:db1", &[("rw", "randread")]).contains("--destroy"));
        assert!(
            of("/dev/sda @ssh:db1", &[("rw", "randwrite")]).contains("write to /dev/sda on db1")
        );
        assert!(!of("/srv/file @ssh:db1", &[("rw", "randwrite")]).contains("--destroy"));
    }

    #[test]
    fn a_plan_says_what_was_published() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenario-format.md");
        let page = std::fs::read_to_string(file).unwrap();
        let example =
            page.split("```toml\n").find(|block| block.contains("\n[published]\n")).unwrap();
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), example.split("```").next().unwrap()).unwrap();
        let scenario = from_path(path.path(), &ScenarioRequest::default()).unwrap();
        assert_eq!(
            describe_published(&scenario),
            "published: 1 figure of title, author, site, date, shown beside what is measured\n"
        );
    }

    #[test]
    fn a_plan_says_the_regime_of_writes_and_the_caches_that_are_known() {
        let of = |rw: &str, steady: bool, caches: &[WriteCache]| {
            let measure =
                if steady { vec![("regime".to_owned(), "steady".to_owned())] } else { Vec::new() };
            let words = vec![("rw".to_owned(), rw.to_owned())];
            let request = ScenarioRequest { words, measure, ..ScenarioRequest::default() };
            regime(
                &from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &request).unwrap(),
                caches,
            )
        };
        let cache = WriteCache {
            name: "write_cache, as given".into(),
            bytes: 32 << 30,
            stacks: Vec::new(),
        };
        assert_eq!(of("randread", false, &[]), "");
        assert_eq!(
            of("randwrite", false, std::slice::from_ref(&cache)),
            "writes: regime burst, so verdicts include write caches; known caches:\n  write_cache, as given: 32 GiB\n"
        );
        assert_eq!(
            of("randwrite", true, &[cache]),
            "writes: regime steady: in each visit more than 32 GiB is written to each drive before any write counts; \
             known caches:\n  write_cache, as given: 32 GiB\n"
        );
        assert!(
            of("randwrite", true, &[])
                .contains("hint: set write_cache to the size of the largest cache; no write cache")
        );
    }

    #[test]
    fn a_plan_of_trials_says_how_long_they_take() {
        let spec = DurabilitySpec::default();
        assert_eq!(
            trials_take(&spec, 260, false),
            "time: 260 kills, each after 1.50 s of load on average and followed by a boot (seconds with KVM, 1-2 min \
             without): 20 min at 3 s per boot, 4.4 h at 60 s; plus reading back\n"
        );
        let fixed = DurabilitySpec { least_ns: 0, most_ns: 0, ..spec };
        assert!(trials_take(&fixed, 2, true).contains(": 6 s at 3 s per boot, 120 s at 60 s"));
        assert!(trials_take(&fixed, 2, true).contains("or less if max_written ends it earlier"));
    }

    #[test]
    fn boots_and_bytes_beside_the_measuring_are_counted_with_their_time() {
        let beside =
            OtherWork { boots: 6, filled: 12 << 30, first: 2 << 30, ..OtherWork::default() };
        assert_eq!(
            beside.work_words(),
            ", 6 boots of guests (18 s at 3 s each, as with KVM; 6 min at 60 s, as without), writing 12 GiB into files and 2 GiB \
             through stacks that were never written (75 s at 200 MB/s)"
        );
        assert_eq!(
            OtherWork { boots: 1, ..OtherWork::default() }.work_words().split(" (").next(),
            Some(", 1 boot of a guest")
        );
        assert_eq!(OtherWork::default().work_words(), "");
        let restarts = [("libvirt:db1".to_owned(), 16)].into();
        let said = OtherWork { restarts, ..OtherWork::default() }.work_words();
        assert_eq!(said, ", shutting down and starting libvirt:db1 up to 16 times");
        let unknown =
            OtherWork { first: iotax_units::UNKNOWN_BYTES, ..OtherWork::default() }.work_words();
        assert!(!unknown.contains("MB/s") && unknown.contains("through stacks"), "{unknown}");
    }

    #[test]
    fn many_setups_in_one_guest_are_one_boot() {
        use iotax_layers::guest::GuestParts;
        use iotax_layers::medium::FoundMedium;
        let all =
            "file:/srv/x.img,size=1GiB | vm(cache=[none,writeback],num-queues=[1,2,4])".to_owned();
        let scenario = from_stacks(&[all], &ScenarioRequest::default()).unwrap();
        assert_eq!(scenario.stacks.len(), 6);
        let layout = iotax_plan::sets::layout(&scenario);
        let found: Vec<Vec<FoundMedium>> = scenario
            .stacks
            .iter()
            .map(|_| vec![FoundMedium::without_signature(1 << 30, false, false)])
            .collect();
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let (scenario, guest_parts) = (&scenario, Some(GuestParts::made_up()));
        let ground = PlanGround { scenario, layout: &layout, found: &found, guest_parts, tag };
        let mut beside = OtherWork::default();
        for set in &layout.sets {
            beside.add(
                &ground.plan_set(set, 0).unwrap(),
                scenario,
                layout.visits_of_a_set(&scenario.measure),
                1 << 30,
            );
        }
        let visits = u64::from(layout.visits_of_a_set(&scenario.measure));
        assert_eq!(
            (layout.sets.len(), beside.boots),
            (1, visits),
            "six disks of one guest in each visit"
        );
    }

    #[test]
    fn what_the_load_reaches_is_said_where_it_is_known() {
        let load = Workload {
            name: "w".into(),
            jobs: vec![iotax_load::Job::default()],
            probe: None,
            engine: None,
            sweep: None,
        };
        let scenario = Scenario { workloads: vec![load], ..Scenario::of_nothing("here", None) };
        assert!(measured_on(&scenario, 510 << 20).contains(" on 510 MiB, the size "));
        assert_eq!(measured_on(&scenario, iotax_units::UNKNOWN_BYTES / 4 * 3), "");
    }

    #[test]
    fn times_are_said_in_what_people_plan_in() {
        assert_eq!([30.0, 600.0, 86_400.0].map(long_time), ["30 s", "10 min", "24.0 h"]);
    }
}
