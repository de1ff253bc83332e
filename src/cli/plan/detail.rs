//! A plan in full: every step in words, sizes, times and caches. Steps that cannot be undone are
//! red.

use super::effort::{OtherWork, is_filled, load_s, long_time, reused};
use super::{View, precondition, set};
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_host::caches::WriteCache;
use iotax_host::guard::judge::Intent;
use iotax_layers::FirstWrites;
use iotax_measure::{operator, series};
use iotax_model::scenario::{
    DurabilitySpec, Engine, LabSpec, Published, Regime, Scenario, Workload,
};
use iotax_model::stack::{LoadIssuer, Medium};
use iotax_plan::ready::ReadyScenario;
use iotax_plan::set_plan::{PlanGround, SetPlan};
use iotax_plan::sets::{SetLayout, StackSet};
use iotax_plan::unwritten::{UnwrittenStack, unwritten_of_set};
use iotax_plan::{survey, trial_room};
use iotax_remote::hypervisor;
use iotax_steps::op::{Op, RemoteAgent};
use iotax_steps::operation::Operation;
use iotax_steps::step::Step;
use iotax_units::harmless::escape_line;
use iotax_units::{
    UNKNOWN_BYTES, count_noun, distinct, is_unknown, show_bytes, show_names, show_ns, show_size,
};

/// Returns the plan as text. What the machine lacks comes first.
///
/// # Errors
/// Bad input, as for `iotax run`.
pub fn detailed_plan(view: &View, scenario: &Scenario, ready: ReadyScenario) -> Result<String> {
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
            format!("turn {} of {}: {}{together}", number + 1, layout.sets.len(), names.join(", "));
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
            let words = format!("{} ({})", operator.text, operator.drive_words());
            text += &view.paragraph("  manual step: ", &words);
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
    let mut text = format!("  in the same turn as turn {}, after it\n", after + 1);
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
        + &setting_up(ground.scenario, ground.layout, &OtherWork::of_files(ground)?))
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
    unwritten_of_set(&plan.targets, region, scenario).into_iter().map(line).collect()
}

/// Describes the regime of writes (burst or steady), and the known write caches. Empty if nothing
/// is written.
fn regime(scenario: &Scenario, caches: &[WriteCache]) -> String {
    let steady = scenario.measure.regime == Regime::Steady;
    let rule = match (steady, caches.first()) {
        _ if !scenario.writes() => return String::new(),
        (false, _) => "as they come (regime burst), so verdicts include write caches".to_owned(),
        (true, Some(largest)) => {
            format!(
                "counted once caches are full (regime steady): after each set-up more than {} is written to each drive first",
                show_bytes(largest.bytes)
            )
        }
        (true, None) => {
            "counted once caches are full (regime steady), which only a lasting drop of the rate shows; hint: set \
             write_cache to the size of the largest cache"
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
            published.counts(),
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

fn times(scenario: &Scenario, layout: &SetLayout, write_caches: &[WriteCache]) -> String {
    let measure = &scenario.measure;
    let most = load_s(scenario, layout);
    let in_turn = layout.sets.len() == 1
        && scenario.stacks.len() >= 2
        && scenario.workloads.iter().all(|load| series::suits(load, measure, write_caches));
    let least = series::least_s(measure, in_turn, scenario.stacks.len()).min(most);
    let workloads = scenario.workloads.len();
    let visits = count_noun(u64::from(measure.visits), "time", "times");
    let how = match (layout.chains().len(), layout.siblings()) {
        _ if measure.attaches > 1 && layout.sets.len() == 1 => {
            format!("rounds over all stacks, set up {} times", measure.attaches)
        }
        (1, 1) if layout.sets.len() > 1 => {
            format!("set up {visits}, one state after the other each time")
        }
        (1, 1) => "rounds over all stacks, until the precision is reached".to_owned(),
        (1, siblings) => {
            format!("rounds over all stacks on {siblings} equal files, swapped at half time")
        }
        (chains, _) if chains < layout.sets.len() => format!(
            "{} turns in {chains} groups (the states of one array follow each other), each set up {visits}, in \
             random order",
            layout.sets.len()
        ),
        (sets, _) => format!("{sets} turns in random order, each set up {visits}"),
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
            Some(Engine::Fio) if !workload.fio_keys().is_empty() => {
                format!("the installed fio, for {}", workload.fio_keys().join(", "))
            }
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
            "writes: as they come (regime burst), so verdicts include write caches; known caches:\n  write_cache, as given: \
             32 GiB\n"
        );
        assert_eq!(
            of("randwrite", true, &[cache]),
            "writes: counted once caches are full (regime steady): after each set-up more than 32 GiB is written to each \
             drive first; known caches:\n  write_cache, as given: 32 GiB\n"
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
}
