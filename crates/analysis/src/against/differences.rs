//! Differences between two runs other than their figures (scenario, generator, machine, boot), and
//! the warnings of each run. A difference that nobody intended is the likeliest cause of a change.

use super::WORDS;
use super::changes::MatchedWorkload;
use crate::findings::WarningReport;
use crate::gather::reading::WorkloadView;
use crate::results::verification;
use crate::results::warnings;
use crate::validity::machines;
use iotax_model::record::state::RunState;
use iotax_model::record::{Place, PlaceFacts, WorkerUp};
use iotax_store::RunData;
use iotax_units::{show_bytes, show_ns};
use jiff::Timestamp;

/// Kinds of a run's own warnings that are irrelevant to a comparison.
const OF_ONE_RUN: [&str; 2] = ["note", "target"];

/// Returns the seconds between the starts of the runs, whichever came first; `None` if a start
/// cannot be read.
pub(super) fn apart_s(old: &RunData, new: &RunData) -> Option<f64> {
    Some(seconds_from(old, new)?.abs())
}

fn seconds_from(old: &RunData, new: &RunData) -> Option<f64> {
    let at = |run: &RunData| run.start.at.parse::<Timestamp>().ok();
    Some((at(new)?.as_millisecond() - at(old)?.as_millisecond()) as f64 / 1e3)
}

/// Returns the alarms for wrong data, then the differences between the runs, then the warnings of
/// each run itself.
pub(super) fn comparison_warnings(
    runs: [&RunData; 2],
    readings: &[Vec<WorkloadView>; 2],
    matched: &[MatchedWorkload],
) -> Vec<WarningReport> {
    let mut all: Vec<WarningReport> =
        WORDS.into_iter().zip(runs).filter_map(|(word, run)| wrong_data(word, run)).collect();
    all.extend(order(runs));
    all.extend(of_scenarios(runs));
    all.extend(of_places(runs));
    matched.iter().for_each(|one| all.extend(of_workers(one)));
    for ((word, run), readings) in WORDS.into_iter().zip(runs).zip(readings) {
        all.extend(partial_run_warning(word, run));
        let own = warnings::warnings(run, readings, &[]);
        all.extend(
            own.into_iter().filter(|one| !OF_ONE_RUN.contains(&one.kind.as_str())).map(|one| {
                WarningReport { subject: format!("{word} run, {}", one.subject), ..one }
            }),
        );
    }
    all
}

/// Returns the alarm for a run whose stacks returned other data than were written to them; `None`
/// if they did not. `word` says which run: `old` or `new`.
fn wrong_data(word: &str, run: &RunData) -> Option<WarningReport> {
    let alarm = verification::verification(run)?.alarm()?;
    Some(WarningReport::new("wrong_data", &format!("{word} run"), alarm))
}

fn order(runs: [&RunData; 2]) -> Vec<WarningReport> {
    match seconds_from(runs[0], runs[1]) {
        Some(seconds) if seconds < 0.0 => {
            vec![WarningReport::new(
                "order",
                "",
                "the run that is called old is the newer of the two".into(),
            )]
        }
        Some(_) => Vec::new(),
        None => vec![WarningReport::new(
            "time",
            "",
            "a start cannot be read; the runs count as a year apart".into(),
        )],
    }
}

fn partial_run_warning(word: &str, run: &RunData) -> Option<WarningReport> {
    let said = match run.state() {
        // The run's own warnings report these.
        RunState::Complete | RunState::Running | RunState::Killed => return None,
        RunState::Failed => format!("it failed: {}", run.outcome.as_deref().unwrap_or_default()),
        state => format!("it ended before its time: {}", state.state_word()),
    };
    Some(WarningReport::new("partial", &format!("{word} run"), said))
}

/// Reports a fact that was `old` and is `new`; `None` if it is the same.
fn differs(kind: &str, subject: &str, old: &str, new: &str) -> Option<WarningReport> {
    (old != new).then(|| {
        WarningReport::new(
            kind,
            subject,
            format!("was {old} in the old run, is {new} in the new one"),
        )
    })
}

fn of_scenarios([old, new]: [&RunData; 2]) -> Vec<WarningReport> {
    let measures = [&old.start.scenario.measure, &new.start.scenario.measure];
    let [slice, zone] = [
        measures.map(|measure| {
            measure.slice_ns.map_or_else(|| "auto".to_owned(), |ns| show_ns(ns as f64))
        }),
        measures.map(|measure| super::changes::percent_word(measure.equivalence)),
    ];
    let regimes = measures.map(|measure| measure.regime.regime_word());
    let caches = measures
        .map(|measure| measure.write_cache.map_or_else(|| "not given".to_owned(), show_bytes));
    let conditions = measures.map(|measure| measure.precondition.precondition_word());
    let baselines = [old, new].map(|run| {
        let scenario = &run.start.scenario;
        scenario.stacks.get(scenario.baseline).map_or("none", |stack| stack.name.as_str())
    });
    [
        differs("iotax", "", &old.start.iotax, &new.start.iotax),
        differs("slice", "", &slice[0], &slice[1]),
        differs("equivalence", "", &zone[0], &zone[1]),
        differs("regime", "", regimes[0], regimes[1]),
        differs("write_cache", "", &caches[0], &caches[1]),
        differs("precondition", "", &conditions[0], &conditions[1]),
        differs("baseline", "", baselines[0], baselines[1]),
        differs("boot", "", &old.start.boot_id, &new.start.boot_id),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_places([old, new]: [&RunData; 2]) -> Vec<WarningReport> {
    let mut all = Vec::new();
    for place in &new.places {
        let before = old.places.iter().find(|other| other.place == place.place);
        all.extend(before.into_iter().flat_map(|before| of_place(before, place)));
    }
    let lacks = |run: &RunData, place: &Place| run.places.iter().all(|other| other.place != *place);
    for (word, run, other) in [("old", old, new), ("new", new, old)] {
        for place in run.places.iter().filter(|place| lacks(other, &place.place)) {
            all.push(WarningReport::new(
                "place",
                &place.place.to_string(),
                format!("it is in the {word} run only"),
            ));
        }
    }
    all
}

/// Returns the facts of a place, each after the kind of warning that reports a difference. `None`
/// is unknown, and is not compared.
fn facts(place: &PlaceFacts) -> Vec<(&'static str, Option<String>)> {
    let facts = &place.facts;
    let cpu = &facts.cpu;
    let listed = |words: &[String]| (!words.is_empty()).then(|| words.join(", "));
    let kernel = facts.kernel.as_ref();
    let build = facts.kernel_build.as_deref().unwrap_or("");
    let mitigations: Vec<String> =
        cpu.mitigations.iter().map(|(name, what)| format!("{name}: {what}")).collect();
    let mut drives: Vec<String> = facts
        .targets
        .iter()
        .flat_map(|target| &target.devices)
        .filter_map(|device| {
            let words =
                [&device.model, &device.serial, &device.firmware].map(|word| word.as_deref());
            let words: Vec<&str> = words.into_iter().flatten().collect();
            (!words.is_empty()).then(|| words.join(" "))
        })
        .collect();
    drives.sort();
    drives.dedup();
    let yes_no = |on: bool| if on { "on" } else { "off" }.to_owned();
    vec![
        ("machine", facts.hostname.clone()),
        ("os", facts.os.clone()),
        ("kernel", kernel.map(|release| format!("{release} {build}").trim_end().to_owned())),
        ("command_line", facts.command_line.as_deref().map(without_measured_rate)),
        ("cpu", cpu.model.clone()),
        ("cpus", cpu.threads.map(|count| count.to_string())),
        ("memory", facts.memory_bytes.map(show_bytes)),
        ("governor", listed(&cpu.governors)),
        ("turbo", cpu.turbo.map(yes_no)),
        ("mitigations", listed(&mitigations)),
        ("clocksource", facts.clocksource.clone()),
        ("huge_pages", facts.transparent_huge_pages.clone()),
        ("drives", listed(&drives)),
        (
            "emulated",
            Some(
                place
                    .emulated
                    .clone()
                    .map_or("not emulated".to_owned(), |why| format!("emulated ({why})")),
            ),
        ),
    ]
}

/// Removes `tsc_early_khz`, which iotax measures anew for each run with translated guests: a
/// different last digit is no difference between the runs.
fn without_measured_rate(command_line: &str) -> String {
    let words = command_line.split_whitespace().filter(|word| !word.starts_with("tsc_early_khz="));
    words.collect::<Vec<_>>().join(" ")
}

fn of_place(old: &PlaceFacts, new: &PlaceFacts) -> Vec<WarningReport> {
    let (place, pairs) = (new.place.to_string(), facts(old).into_iter().zip(facts(new)));
    let mut all: Vec<WarningReport> =
        pairs.filter_map(|((kind, a), (_, b))| differs(kind, &place, &a?, &b?)).collect();
    let machines = old.facts.vm.as_ref().zip(new.facts.vm.as_ref());
    let settings = machines.map(|(old, new)| machines::of_one(old, new)).unwrap_or_default();
    for (kind, found) in
        [("fact", machines::user_differences(old, new)), ("virtual_machine", settings)]
    {
        all.extend(found.into_iter().filter_map(|one| {
            differs(kind, &format!("{place}, {}", one.name), &one.values[0], &one.values[1])
        }));
    }
    all
}

fn of_workers(matched: &MatchedWorkload) -> Vec<WarningReport> {
    let worker = |run: usize, stack: usize| {
        let reading = matched.sides[run];
        let name = &reading.run.start.scenario.stacks[stack].name;
        let ours =
            |worker: &&WorkerUp| worker.stack == *name && worker.workload == reading.workload.name;
        reading.run.workers.iter().find(ours)
    };
    let of = |stack: &[usize; 2]| {
        let (old, new) = (worker(0, stack[0])?, worker(1, stack[1])?);
        let subject = format!("{}, {}", new.stack, new.workload);
        Some([
            differs("engine", &subject, &old.engine.to_string(), &new.engine.to_string()),
            differs("place", &subject, &old.place.to_string(), &new.place.to_string()),
            differs("region", &subject, &show_bytes(old.bytes), &show_bytes(new.bytes)),
        ])
    };
    matched.stacks.iter().filter_map(of).flatten().flatten().collect()
}
