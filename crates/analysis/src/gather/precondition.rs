//! Preconditioning of each stack's drives before the measurement: passes over whole drives, and
//! rounds of each load until its rate was steady or something else ended them.

use crate::findings::WarningReport;
use crate::findings::precondition::{LoadReport, PassesReport, PreconditionReport};
use iotax_model::record::Place;
use iotax_model::record::precondition::{PassedDrive, Passes, Preconditioned, PreconditionedStack};
use iotax_model::stack::{Medium, Stack};
use iotax_stats::steady::Window;
use iotax_store::RunData;
use iotax_units::{count_noun, show_bytes, show_names, show_ns};
use std::path::Path;

/// Number of loads above which they are described together.
const FEW: usize = 2;

pub fn reports(run: &RunData) -> Vec<PreconditionReport> {
    let report = |stack: &Stack| {
        let passes: Vec<PassesReport> =
            latest(run).filter_map(|passes| of_stack(passes, stack)).collect();
        let loads: Vec<LoadReport> = run
            .start
            .scenario
            .workloads
            .iter()
            .filter_map(|load| of_load(run, &load.name, stack))
            .collect();
        let said: Vec<String> =
            passes.iter().map(passes_sentence).chain(load_sentences(&loads)).collect();
        let sentence = format!("{}: {}", stack.name, said.join("; "));
        (!said.is_empty()).then(|| PreconditionReport {
            stack: stack.name.clone(),
            passes,
            loads,
            sentence,
        })
    };
    run.start.scenario.stacks.iter().filter_map(report).collect()
}

/// Returns the reports as lines. Passes over the same drives appear once, for all stacks on them.
pub fn report_lines(reports: &[PreconditionReport]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, one) in reports.iter().enumerate() {
        let shares =
            |other: &&PreconditionReport| !one.passes.is_empty() && other.passes == one.passes;
        if reports.iter().filter(shares).count() < 2 {
            lines.push(one.sentence.clone());
            continue;
        }
        if !reports[..at].iter().any(|before| shares(&before)) {
            let names: Vec<&str> =
                reports.iter().filter(shares).map(|report| report.stack.as_str()).collect();
            let said: Vec<String> = one.passes.iter().map(passes_sentence).collect();
            lines.push(format!("{}: {}", names.join(", "), said.join("; ")));
        }
        let said = load_sentences(&one.loads);
        if !said.is_empty() {
            lines.push(format!("{}: {}", one.stack, said.join("; ")));
        }
    }
    lines
}

fn latest(run: &RunData) -> impl Iterator<Item = &Passes> {
    let same = |a: &Passes, b: &Passes| a.place == b.place && a.drives == b.drives;
    run.passes.iter().enumerate().filter_map(move |(at, passes)| {
        let more = run.passes[at + 1..].iter().any(|later| same(passes, later));
        (!more).then_some(passes)
    })
}

fn of_stack(passes: &Passes, stack: &Stack) -> Option<PassesReport> {
    let is_ours = |drive: &&PassedDrive| {
        stack.medium.members().iter().any(|medium| is_it(medium, &passes.place, &drive.path))
    };
    let drives: Vec<String> =
        passes.drives.iter().filter(is_ours).map(|drive| drive.path.clone()).collect();
    let seconds = (passes.took_ns + passes.flush_ns) as f64 / 1e9;
    let bytes = passes.written * drives.len() as u64;
    (!drives.is_empty()).then(|| PassesReport {
        passes: passes.passes,
        bytes: passes.total_bytes(),
        written: passes.written,
        bytes_per_s: (seconds > 0.0).then(|| bytes as f64 / seconds),
        seconds,
        drives,
    })
}

/// Returns true if the path, in this place, is that of the medium or of one of its equal files.
fn is_it(medium: &Medium, place: &Place, path: &str) -> bool {
    let is_named = match medium {
        Medium::File { path: file, .. } => {
            let number =
                path.strip_prefix(&*file.to_string_lossy()).and_then(|rest| rest.strip_prefix('.'));
            Path::new(path) == file || number.is_some_and(|number| number.parse::<u32>().is_ok())
        }
        Medium::Device { path: device } | Medium::Remote { path: device, .. } => {
            Path::new(path) == device
        }
        Medium::Drive { name, .. } => path.ends_with(&format!("_{name}")),
        Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => false,
    };
    is_named && medium.place() == *place
}

/// Returns what the rounds of a load showed for a stack, one result per set-up.
fn preconditioned_results<'a>(
    run: &'a RunData,
    workload: &'a str,
    stack: &'a Stack,
) -> impl Iterator<Item = (&'a Preconditioned, &'a PreconditionedStack)> {
    let of_load = run.preconditioned.iter().filter(move |done| done.workload == workload);
    of_load.filter_map(|done| Some((done, done.stacks.iter().find(|one| one.stack == stack.name)?)))
}

fn of_load(run: &RunData, workload: &str, stack: &Stack) -> Option<LoadReport> {
    let all: Vec<_> = preconditioned_results(run, workload, stack).collect();
    let rounds = || all.iter().map(|(done, _)| done.rounds);
    Some(LoadReport {
        workload: workload.to_owned(),
        set_ups: all.len() as u64,
        steady: all.iter().filter(|(_, one)| one.steady).count() as u64,
        least_rounds: rounds().min()?,
        most_rounds: rounds().max()?,
        round_ns: all.first()?.0.round_ns,
        without_rate: all.iter().any(|(done, _)| done.without_rate),
        written: all.iter().map(|(_, one)| one.written).sum(),
        seconds: all.iter().map(|(done, _)| done.took_ns as f64 / 1e9).sum(),
    })
}

/// Returns the sentence: `all of /dev/vdb written 2 times in order before the visits, 400 GiB in
/// 210.0 s, 2045.2 MB/s`
fn passes_sentence(report: &PassesReport) -> String {
    let drives = show_names(&report.drives);
    let often = count_noun(report.passes.into(), "time", "times");
    let all = report.drives.len() as u64;
    let written = match report.written < report.bytes {
        true => {
            format!("{} of {}", show_bytes(report.written * all), show_bytes(report.bytes * all))
        }
        false => show_bytes(report.bytes * all),
    };
    let rate =
        report.bytes_per_s.map_or_else(String::new, |rate| format!(", {:.1} MB/s", rate / 1e6));
    format!(
        "all of {drives} written {often} in order before the visits, {written} in {:.1} s{rate}",
        report.seconds
    )
}

/// Returns the sentences: `4k-randwrite steady after 7 rounds of 60 s, 31 GiB`
fn load_sentences(loads: &[LoadReport]) -> Vec<String> {
    let said = |name: &str, loads: &[LoadReport]| {
        let sum = |value: fn(&LoadReport) -> u64| loads.iter().map(value).sum::<u64>();
        let least = loads.iter().map(|load| load.least_rounds).min().unwrap_or(0);
        let most = loads.iter().map(|load| load.most_rounds).max().unwrap_or(0);
        let rounds = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let (steady, all) = (sum(|load| load.steady), sum(|load| load.set_ups));
        let reached = match (steady, all) {
            (0, _) => "not steady".to_owned(),
            (steady, all) if steady == all => "steady".to_owned(),
            (steady, all) => format!("steady in {steady} of {all} set-ups"),
        };
        let round = show_ns(loads.first().map_or(0.0, |load| load.round_ns as f64));
        let often = if all > loads.len() as u64 && steady == all { " in each set-up" } else { "" };
        let written = show_bytes(sum(|load| load.written));
        let freely =
            if loads.iter().any(|load| load.without_rate) { " without its rate" } else { "" };
        format!("{name} {reached} after {rounds} rounds of {round}{freely}{often}, {written}")
    };
    match loads.len() {
        0..=FEW => {
            loads.iter().map(|load| said(&load.workload, std::slice::from_ref(load))).collect()
        }
        many => vec![said(&format!("{many} loads"), loads)],
    }
}

/// Returns true if every stack was steady before each visit in which a load was measured.
pub fn is_steady(run: &RunData, workload: &str) -> bool {
    let mut of_load = run.preconditioned.iter().filter(|done| done.workload == workload).peekable();
    let visits = run.slices.iter().filter(|slice| slice.workload == workload);
    let known = |visit: u32, set: u32| {
        let is_it = |done: &&Preconditioned| (done.visit, done.set) == (visit, set);
        run.preconditioned.iter().filter(is_it).any(|done| done.workload == workload)
    };
    of_load.peek().is_some()
        && of_load.all(|done| done.stacks.iter().all(|one| one.steady))
        && visits.into_iter().all(|slice| known(slice.visit, slice.set))
}

/// Returns warnings about loads that were measured although they were not steady, and about passes
/// that did not finish.
pub fn warnings(run: &RunData) -> Vec<WarningReport> {
    let scenario = &run.start.scenario;
    let mut found = Vec::new();
    for passes in latest(run).filter(|passes| !passes.is_done()) {
        let drives = show_names(passes.drives.iter().map(|drive| &drive.path));
        let (written, all) = (show_bytes(passes.written), show_bytes(passes.total_bytes()));
        let text = format!("{drives}: {written} of the {all} that were to be written to each were");
        found.push(WarningReport::new("not_preconditioned", &passes.place.to_string(), text));
    }
    for workload in &scenario.workloads {
        for stack in &scenario.stacks {
            let unsteady: Vec<_> = preconditioned_results(run, &workload.name, stack)
                .filter(|(_, one)| !one.steady)
                .collect();
            let Some((done, one)) = unsteady.last() else { continue };
            let all = preconditioned_results(run, &workload.name, stack).count();
            let why = match (one.range, one.slope) {
                (Some(range), Some(slope)) => {
                    format!("of the last five {}", Window { range, slope }.to_sentence())
                }
                _ => "five are needed to judge it".to_owned(),
            };
            let ended = match done.ended.as_str() {
                "rounds" | "time" => {
                    "; hint: a larger steady_limit, or a longer steady_round".to_owned()
                }
                other => format!("; they ended: {other}"),
            };
            let text = format!(
                "{}: not steady when it was measured, in {} of {all} set-ups; after {} in visit {}, {why}{ended}",
                workload.name,
                unsteady.len(),
                count_noun(done.rounds.into(), "round", "rounds"),
                done.visit
            );
            found.push(WarningReport::new("not_preconditioned", &stack.name, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin;

    /// Returns a simulated run whose stacks were steady in one visit, and not in another.
    fn run() -> RunData {
        let mut run = twin::writes();
        let name = run.start.scenario.workloads[0].name.clone();
        let (first, ..) = run.start.scenario.stacks.split_first().unwrap();
        let path = match &first.medium {
            Medium::File { path, .. } | Medium::Device { path } => path.display().to_string(),
            other => panic!("{other:?}"),
        };
        let drives =
            [path.clone(), format!("{path}.2")].map(|path| PassedDrive { path, serial: None });
        let begun = Passes {
            place: "host".into(),
            drives: drives.to_vec(),
            bytes: 1 << 30,
            passes: 2,
            begun: 1 << 30,
            ..Passes::default()
        };
        let done = Passes {
            written: 2 << 30,
            begun: 2 << 30,
            took_ns: 3_900_000_000,
            flush_ns: 100_000_000,
            ..begun.clone()
        };
        run.passes = vec![begun, done];
        let stacks = |steady: &[bool]| {
            let stacks = run.start.scenario.stacks.iter().zip(steady);
            let one = |(stack, steady): (&Stack, &bool)| PreconditionedStack {
                stack: stack.name.clone(),
                written: 3 << 30,
                range: Some(if *steady { 0.1 } else { 0.31 }),
                slope: Some(0.05),
                steady: *steady,
            };
            stacks.map(one).collect()
        };
        let visit = |visit, rounds, steady: &[bool], ended: &str| Preconditioned {
            visit,
            set: 0,
            workload: name.clone(),
            rounds,
            round_ns: 60_000_000_000,
            ended: ended.into(),
            without_rate: false,
            took_ns: 1_000_000_000,
            stacks: stacks(steady),
        };
        run.preconditioned =
            vec![visit(0, 7, &[true, true], "steady"), visit(1, 25, &[true, false], "rounds")];
        run
    }

    #[test]
    fn each_stack_has_a_line_and_what_was_not_steady_a_warning() {
        let run = run();
        let mut lines: Vec<String> =
            reports(&run).into_iter().map(|report| report.sentence).collect();
        lines.extend(warnings(&run).into_iter().map(|one| one.to_sentence()));
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn passes_over_drives_that_stacks_share_are_told_once() {
        let mut run = run();
        let lines = report_lines(&reports(&run));
        let names: Vec<&str> =
            run.start.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
        assert!(lines[0].starts_with(&format!("{}: all of ", names.join(", "))), "{lines:?}");
        assert!(
            lines.iter().filter(|line| line.contains("before the visits")).count() == 1,
            "{lines:?}"
        );
        assert!(lines.len() == 3 && lines[2].starts_with(&format!("{}: ", names[1])), "{lines:?}");
        run.preconditioned.clear();
        assert_eq!(report_lines(&reports(&run)), lines[..1]);
        // A stack on a drive of its own has a line of its own.
        run.start.scenario.stacks[1].medium = Medium::Device { path: "/dev/x".into() };
        assert_eq!(report_lines(&reports(&run)), [reports(&run)[0].sentence.clone()]);
    }

    #[test]
    fn steady_is_what_every_measured_visit_was() {
        let mut run = run();
        let name = run.start.scenario.workloads[0].name.clone();
        assert!(!is_steady(&run, &name));
        run.preconditioned[1].stacks[1].steady = true;
        run.slices.iter_mut().for_each(|slice| (slice.visit, slice.set) = (1, 0));
        assert!(is_steady(&run, &name) && warnings(&run).is_empty());
        run.slices[0].visit = 2;
        assert!(!is_steady(&run, &name), "a visit without");
        run.preconditioned.clear();
        assert!(!is_steady(&run, &name));
    }

    #[test]
    fn passes_that_came_to_no_end_are_told() {
        let mut run = run();
        run.preconditioned.clear();
        run.passes.pop();
        let said: Vec<String> = warnings(&run).into_iter().map(|one| one.text).collect();
        assert!(said.len() == 1 && said[0].contains("0 B of the 2 GiB"), "{said:?}");
    }

    #[test]
    fn nothing_is_said_where_nothing_was_done() {
        let run = twin::writes();
        assert!(reports(&run).is_empty() && warnings(&run).is_empty());
    }
}
