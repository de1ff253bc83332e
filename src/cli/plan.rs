//! `iotax plan`: what `run` would do, step by step, with nothing touched. What cannot be undone is
//! red.

use super::asked::Asked;
use super::say;
use crate::exit::{DONE, UNMET_NEED};
use crate::host::caches::WriteCache;
use crate::layer::FirstWrites;
use crate::layer::guest::{self, Requested};
use crate::measure::alone;
use crate::measure::durability;
use crate::measure::first_writes::{Unwritten, of_set};
use crate::measure::plan::{Ground, SetPlan, filled};
use crate::measure::rounds::LEAST_BUDGET_FOR_A_PILOT_S;
use crate::measure::sets::{Layout, layout};
use crate::measure::survey;
use crate::report::wrapped;
use crate::scenario::{DurabilitySpec, MeasureSpec, Published, Regime, Scenario, Workload};
use crate::stats::pilot;
use crate::step::{RunTag, Step};
use crate::units::{show_bytes, show_ns};
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
    let guests = guest.is_some();
    let layout = layout(scenario);
    let survey = survey::look(scenario, &layout)?;
    let ground = Ground {
        scenario,
        layout: &layout,
        found: &survey.found,
        guest_parts: guest.map(|requested| guest::Parts::for_plan(requested, scenario)).transpose()?,
        tag: RunTag { run_id: "RUN".into(), run_dir: "RUN-DIRECTORY".into() },
    };
    let region = ground.bounds()?.region;
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
        text += &first_writes(scenario, &plan, region);
        for (index, exposed) in &plan.targets {
            let stack = &scenario.stacks[*index];
            let paths: Vec<String> = exposed.paths.iter().map(ToString::to_string).collect();
            let targets = match paths.as_slice() {
                [path] => format!("target {path}"),
                several => format!("targets {} at once", several.join(", ")),
            };
            let what = if scenario.durability.is_some() { "try" } else { "measure" };
            text += &format!("  {what} {}: load on {}, {targets}\n", stack.name, exposed.place);
        }
        text += "  take all of it down in reverse order\n";
    }
    match &scenario.durability {
        Some(spec) => text += &trials(spec, &ground)?,
        None => {
            text += &times(scenario, &layout, guests);
            text += &setting_up(scenario, &layout, filled(&ground.media()?), guests);
            text += &sweeps(scenario);
            text += &regime(scenario, &survey.write_caches);
        }
    }
    text += &published(scenario);
    ground.guest_warnings()?.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    survey.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    Ok(text)
}

/// What is killed how often, and what is written meanwhile.
fn trials(spec: &DurabilitySpec, ground: &Ground) -> Result<String> {
    let (mut text, mut all) = (String::new(), 0);
    for set in &ground.layout.sets {
        let plan = ground.set(set, 0)?;
        let names = set.stacks.iter().map(|index| ground.scenario.stacks[*index].name.as_str());
        let kills: Vec<&str> = plan
            .guests
            .iter()
            .flat_map(|guest| durability::kills_of(spec, guest))
            .map(|kill| kill.of())
            .collect();
        all += kills.len() as u64 * u64::from(spec.trials);
        text += &format!(
            "durability of {}: {} trials each: {}\n",
            names.collect::<Vec<_>>().join(", "),
            spec.trials,
            kills.join("; ")
        );
    }
    let written = match ground.scenario.max_written {
        Some(bytes) => format!("at most {} are written in all", show_bytes(bytes)),
        None => "as much is written as that takes; hint: max_written bounds it".to_owned(),
    };
    Ok(text
        + &format!(
            "  a trial: writes of 4 KiB at random, {} at once, a flush behind each {}; killed {} to {} after the first \
             acknowledgement, brought up again, read back; {written}\n",
            spec.in_flight,
            spec.batch,
            show_ns(spec.least_ns as f64),
            show_ns(spec.most_ns as f64)
        )
        + &trials_take(spec, all, ground.scenario.max_written.is_some())
        + &setting_up(ground.scenario, ground.layout, filled(&ground.media()?), false))
}

/// How long so many kills take: nearly all of it is booting, and how long that takes depends on the machine.
fn trials_take(spec: &DurabilitySpec, kills: u64, bounded: bool) -> String {
    let load_s = (spec.least_ns + spec.most_ns) as f64 / 2e9;
    let all = |seconds: f64| long_time(kills as f64 * (load_s + seconds));
    let most = if bounded { ", or less where max_written cuts it short" } else { "" };
    format!(
        "time: {kills} kills, each behind {} of load in the mean{most} and before a boot ({BOOTS}): {} at 3 s a boot, {} at 60 s, \
         and reading back\n",
        show_ns(1e9 * load_s),
        all(3.0),
        all(60.0)
    )
}

/// How long a guest takes to boot.
const BOOTS: &str = "seconds with KVM, a minute or two without";

/// What is written through a stack before it is measured, since a read of it would reach no disk.
fn first_writes(scenario: &Scenario, plan: &SetPlan, region: u64) -> String {
    let line = |what: Unwritten| {
        let (index, _) = &plan.targets[what.target];
        let (written, of) = (show_bytes(what.written()), &scenario.stacks[*index].name);
        let how = match what.order {
            FirstWrites::InOrder => "all of it once, in order".to_owned(),
            FirstWrites::AtRandom { block } => {
                format!("blocks of {} at random places, then all of it in order", show_bytes(block))
            }
        };
        format!("  write {written} through {of} before it is measured: {how}\n")
    };
    of_set(&plan.targets, region).into_iter().map(line).collect()
}

fn steps(steps: &[Step], colour: bool) -> String {
    let (red, plain) = if colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let line = |(at, step): (usize, &Step)| {
        let operation = step.op.operation();
        let number = at + 1;
        match operation.irreversible() {
            None => format!("  {number}. {}\n", operation.describe()),
            Some(lost) => {
                format!("  {number}. {red}irreversible: {} ({lost}){plain}\n", operation.describe())
            }
        }
    };
    if steps.is_empty() {
        return "  nothing to be made\n".to_owned();
    }
    steps.iter().enumerate().map(line).collect()
}

/// Of writes: the regime, and the caches that it has to do with.
fn regime(scenario: &Scenario, caches: &[WriteCache]) -> String {
    let steady = scenario.measure.regime == Regime::Steady;
    let rule = match (steady, caches.first()) {
        _ if !scenario.writes() => return String::new(),
        (false, _) => "a burst, caches take part".to_owned(),
        (true, Some(largest)) => {
            format!(
                "steady, more than {} to each drive in each visit before any counts",
                show_bytes(largest.bytes)
            )
        }
        (true, None) => {
            "steady, shown only by a lasting fall of pace; hint: name the largest cache with write_cache"
                .to_owned()
        }
    };
    let known: Vec<String> =
        caches.iter().map(|cache| format!("  {}: {}\n", cache.name, show_bytes(cache.bytes))).collect();
    let none =
        if caches.is_empty() { "; no cache of writes is known on the path" } else { "; known caches:" };
    format!("writes: {rule}{none}\n{}", known.concat())
}

/// What the report will show beside what is measured.
fn published(scenario: &Scenario) -> String {
    let said = |published: &Published| {
        format!(
            "published: {} figures of {}, shown beside what is measured\n",
            published.figures.len(),
            published.source
        )
    };
    scenario.published.as_ref().map(said).unwrap_or_default()
}

/// The points of each sweep in the order of measuring, and how long they take at most.
fn sweeps(scenario: &Scenario) -> String {
    let name = |workload: &Workload| workload.sweep.as_ref().map(|sweep| sweep.sweep.clone());
    let mut text = String::new();
    for points in scenario.workloads.chunk_by(|a, b| name(a).is_some() && name(a) == name(b)) {
        let Some(sweep) = name(&points[0]) else { continue };
        let most_s = points.len() as f64 * scenario.measure.budget_ns as f64 / 1e9;
        text += &format!(
            "sweep {sweep}: {}: {} points, at most {} of measuring\n",
            points[0].sweep_subject(),
            points.len(),
            long_time(most_s)
        );
        let listed: Vec<String> = points.iter().map(coordinates).collect();
        text += &format!("  {}", wrapped(&listed.join(", "), PLAN_WIDTH, "  "));
    }
    text
}

/// Lists of points are wrapped here.
const PLAN_WIDTH: usize = 100;

/// `iodepth=4 bs=64k`
fn coordinates(point: &Workload) -> String {
    let at = point.sweep.iter().flat_map(|sweep| &sweep.at);
    at.map(|at| format!("{}={}", at.word, at.shown())).collect::<Vec<_>>().join("\u{a0}")
}

/// `90 s`, `12 min`, `5.3 h`: nobody plans a day in seconds.
fn long_time(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 3.0 * 3600.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn times(scenario: &Scenario, layout: &Layout, guests: bool) -> String {
    let measure = &scenario.measure;
    let (least, most) = (measure.min_time_ns as f64 / 1e9, measure.budget_ns as f64 / 1e9);
    let workloads = scenario.workloads.len();
    let how = match (layout.sets.len(), layout.siblings()) {
        _ if measure.attaches > 1 && layout.sets.len() == 1 => {
            format!("rounds of all stacks, set up {} times", measure.attaches)
        }
        (1, 1) => "rounds of all stacks, until the answer is sure".to_owned(),
        (1, siblings) => format!("rounds of all stacks on {siblings} equal files, swapped at half time"),
        (sets, _) => format!("{sets} sets in {} visits each, in random order", measure.visits),
    };
    let written = match scenario.max_written {
        Some(bytes) => format!("no drive is written more than {}\n", show_bytes(bytes)),
        None => String::new(),
    };
    let before = before_the_rounds(measure, layout, guests);
    let in_all = long_time((most + before) * workloads as f64);
    let before = match before > 0.0 {
        true => format!(", behind up to {before:.0} s for the pilot and the baseline alone"),
        false => String::new(),
    };
    format!(
        "measuring: {workloads} workload(s), each {least:.0} s to {most:.0} s{before}, at most {in_all} in all: {how}\n{written}"
    )
}

/// What takes time beside measuring; how long depends on the drives and the machine.
fn setting_up(scenario: &Scenario, layout: &Layout, fill_bytes: u64, guests: bool) -> String {
    let stacks = layout.sets.iter().map(|set| set.stacks.len()).sum::<usize>();
    let times = match layout.sets.len() {
        // What is below the guests is made once, however often they are killed.
        _ if scenario.durability.is_some() => 1,
        1 if layout.siblings() == 1 => scenario.measure.attaches.max(1),
        1 => layout.siblings() as u32,
        _ => scenario.measure.visits,
    };
    let often = if times > 1 { format!(", {times} times") } else { String::new() };
    let fill = match fill_bytes {
        0 => String::new(),
        bytes => format!(", filling files with {} as fast as they take it", show_bytes(bytes)),
    };
    let boots = if guests { format!(", booting guests ({BOOTS})") } else { String::new() };
    format!("not in that time: setting up and taking down {stacks} stacks{often}{boots}{fill}\n")
}

/// Seconds that the pilot and the rounds of the baseline alone may take, in every workload.
fn before_the_rounds(measure: &MeasureSpec, layout: &Layout, guests: bool) -> f64 {
    let budget_s = measure.budget_ns as f64 / 1e9;
    let together = layout.sets.iter().any(|set| set.stacks.len() > 1);
    if budget_s < LEAST_BUDGET_FOR_A_PILOT_S || !together {
        return 0.0;
    }
    let pilot_s = if measure.slice_ns.is_none() { pilot::MOST_S } else { 0.0 };
    // Only guests can be stopped.
    let alone_s = if guests { alone::PART * budget_s } else { 0.0 };
    pilot_s + alone_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::check::{Request, from_path, from_stacks};

    #[test]
    fn a_plan_shows_the_points_of_each_sweep_and_their_time() {
        let words = [("rw", "randread"), ("iodepth", "1,4"), ("bs", "[4k,64k,1M]")];
        let words = words.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let measure = vec![("budget".to_owned(), "1min".to_owned())];
        let request = Request { words, measure, ..Request::default() };
        let scenario = from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &request).unwrap();
        assert_eq!(
            sweeps(&scenario),
            "sweep randread-over-iodepth-bs: random reads over iodepth and bs: 6 points, at most 6 min of measuring\n  \
             iodepth=1 bs=4k, iodepth=4 bs=4k, iodepth=1 bs=64k, iodepth=4 bs=64k, iodepth=1 bs=1M,\n  \
             iodepth=4 bs=1M\n"
        );
        let plain = from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &Request::default()).unwrap();
        assert_eq!(sweeps(&plain), "");
    }

    #[test]
    fn a_plan_says_what_was_published() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenario-format.md");
        let page = std::fs::read_to_string(file).unwrap();
        let example = page.split("```toml\n").find(|block| block.contains("\n[published]\n")).unwrap();
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), example.split("```").next().unwrap()).unwrap();
        let scenario = from_path(path.path(), &Request::default()).unwrap();
        assert_eq!(
            published(&scenario),
            "published: 5 figures of an article: its title, author, site and date, shown beside what is measured\n"
        );
    }

    #[test]
    fn a_plan_says_the_regime_of_writes_and_the_caches_that_are_known() {
        let of = |rw: &str, steady: bool, caches: &[WriteCache]| {
            let measure = if steady { vec![("regime".to_owned(), "steady".to_owned())] } else { Vec::new() };
            let words = vec![("rw".to_owned(), rw.to_owned())];
            let request = Request { words, measure, ..Request::default() };
            regime(&from_stacks(&["file:/srv/x.img,size=1GiB".to_owned()], &request).unwrap(), caches)
        };
        let cache = WriteCache { name: "write_cache, as given".into(), bytes: 32 << 30, stacks: Vec::new() };
        assert_eq!(of("randread", false, &[]), "");
        assert_eq!(
            of("randwrite", false, std::slice::from_ref(&cache)),
            "writes: a burst, caches take part; known caches:\n  write_cache, as given: 32 GiB\n"
        );
        assert_eq!(
            of("randwrite", true, &[cache]),
            "writes: steady, more than 32 GiB to each drive in each visit before any counts; known caches:\n  write_cache, as given: 32 GiB\n"
        );
        assert!(
            of("randwrite", true, &[]).contains("hint: name the largest cache with write_cache; no cache")
        );
    }

    #[test]
    fn a_plan_of_trials_says_how_long_they_take() {
        let spec = DurabilitySpec::default();
        assert_eq!(
            trials_take(&spec, 260, false),
            "time: 260 kills, each behind 1.50 s of load in the mean and before a boot (seconds with KVM, a minute or two without): \
             20 min at 3 s a boot, 4.4 h at 60 s, and reading back\n"
        );
        let fixed = DurabilitySpec { least_ns: 0, most_ns: 0, ..spec };
        assert!(trials_take(&fixed, 2, true).contains(": 6 s at 3 s a boot, 120 s at 60 s"));
        assert!(trials_take(&fixed, 2, true).contains("or less where max_written cuts it short"));
    }

    #[test]
    fn times_are_said_in_what_people_plan_in() {
        assert_eq!([30.0, 600.0, 86_400.0].map(long_time), ["30 s", "10 min", "24.0 h"]);
    }
}
