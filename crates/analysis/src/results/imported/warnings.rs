//! Facts that a reader of imported figures must know.

use super::group::{LoadResults, loads};
use super::others::kinds;
use super::{settings, tool, words};
use crate::findings::WarningReport;
use crate::validity::confounders;
use iotax_model::record::imported::{ImportedFile, ImportedResult, Uncounted};
use iotax_store::RunData;
use iotax_units::{count_noun, show_names};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn warnings(run: &RunData) -> Vec<WarningReport> {
    let loads = loads(&run.imported);
    let mut all: Vec<WarningReport> = run.imported_files.iter().flat_map(of_file).collect();
    all.extend(copied_files(run));
    all.extend(of_results(run));
    all.extend(unlike_loads(run, &loads));
    all.extend(tools(run, &loads));
    if run.imported.iter().any(|result| result.part.is_some()) {
        let why = "outputs list jobs of one load one by one: each has a table of its own, and they are not added up";
        all.push(WarningReport::new(
            "parts",
            "",
            format!("{why}; fio adds them up with group_reporting"),
        ));
    }
    all
}

fn of_file(file: &ImportedFile) -> Vec<WarningReport> {
    let place = |places: String| format!("{}:{places}", file.path);
    let mut all: Vec<WarningReport> = file
        .unread
        .iter()
        .map(|one| WarningReport::new("not_read", &place(one.line_range()), one.why.clone()))
        .collect();
    if file.snapshots > 0 {
        let outputs = count_noun(file.snapshots.into(), "output was", "outputs were");
        let text = format!(
            "{outputs} printed before the run had ended (status-interval) and passed over: a run's last counts"
        );
        all.push(WarningReport::new("snapshots", &file.path, text));
    }
    all
}

/// Warns of equal files that are given for several systems: they have the figures of one of these
/// at most.
fn copied_files(run: &RunData) -> Vec<WarningReport> {
    let mut systems: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for result in &run.imported {
        systems.entry(result.file).or_default().insert(&result.system);
    }
    let mut same: BTreeMap<&str, Vec<&ImportedFile>> = BTreeMap::new();
    for file in run.imported_files.iter().filter(|file| !file.sha256.is_empty()) {
        same.entry(&file.sha256).or_default().push(file);
    }
    let of = |files: &Vec<&ImportedFile>| {
        let names: BTreeSet<&str> =
            files.iter().filter_map(|file| systems.get(&file.file)).flatten().copied().collect();
        let paths = show_names(files.iter().map(|file| &file.path));
        let subject = names.iter().copied().collect::<Vec<_>>().join(", ");
        let text = format!(
            "{paths} are one file, byte by byte: its figures are of one of these systems at the most"
        );
        (files.len() > 1 && names.len() > 1)
            .then(|| WarningReport::new("copied_file", &subject, text))
    };
    same.values().filter_map(of).collect()
}

/// Warns of results that do not count as runs (one warning per system and reason) and of rates that
/// were printed wrongly.
fn of_results(run: &RunData) -> Vec<WarningReport> {
    const MOST: usize = 4;
    let place = |number: u32, line: u32| {
        let file = run.imported_files.iter().find(|file| file.file == number);
        format!("{}:{line}", file.map_or("?", |file| file.path.as_str()))
    };
    let mut uncounted: BTreeMap<(&str, &'static str, String), Vec<String>> = BTreeMap::new();
    let mut slips = Vec::new();
    for result in &run.imported {
        let own = place(result.file, result.line);
        let (kind, why, place) = match &result.uncounted {
            Some(Uncounted::Failed(why)) => (
                "failed_job",
                format!(
                    "of runs that ended with {why} are not counted, and no verdict rests on them"
                ),
                own,
            ),
            Some(Uncounted::Copy { file, line }) => {
                let why = "of a run that is already counted, left out".to_owned();
                ("copies", why, format!("{own} is {}", place(*file, *line)))
            }
            None => {
                let said = |slip: &String| {
                    WarningReport::new("slip", &format!("{}, {own}", result.system), slip.clone())
                };
                slips.extend(result.slips.iter().map(said));
                continue;
            }
        };
        uncounted.entry((&result.system, kind, why)).or_default().push(place);
    }
    let said = |((system, kind, why), mut places): ((&str, &'static str, String), Vec<String>)| {
        let results = count_noun(places.len() as u64, "result", "results");
        places.dedup();
        let more = places.len().checked_sub(MOST).filter(|more| *more > 0);
        places.truncate(MOST);
        let more = more.map_or(String::new(), |more| format!(" and {more} more"));
        WarningReport::new(kind, system, format!("{results} {why}: {}{more}", places.join(", ")))
    };
    uncounted.into_iter().map(said).chain(slips).collect()
}

/// Warns of settings that differ, once for all loads in which the same settings differ.
fn unlike_loads(run: &RunData, loads: &[LoadResults]) -> Vec<WarningReport> {
    let mut all: Vec<(WarningReport, u64)> = Vec::new();
    for one in loads.iter().flat_map(|loaded| setting_warnings(run, loaded)) {
        match all.iter_mut().find(|(known, _)| known.text == one.text) {
            Some((_, more)) => *more += 1,
            None => all.push((one, 0)),
        }
    }
    let said = |(mut one, more): (WarningReport, u64)| {
        if more > 0 {
            one.subject = format!(
                "{} and {}",
                one.subject,
                count_noun(more, "more comparison", "more comparisons")
            );
        }
        one
    };
    all.into_iter().map(said).collect()
}

/// Warns of settings in which a system and the baseline differ under one load.
fn setting_warnings(run: &RunData, loaded: &LoadResults) -> Vec<WarningReport> {
    let named = run.start.imported.as_ref().and_then(|import| import.baseline.as_deref());
    let first = run.imported.first().map(|result| result.system.as_str());
    let Some(base) = loaded.systems.iter().find(|group| Some(group.system) == named.or(first))
    else {
        return Vec::new();
    };
    let subject = words::subject(loaded.load, loaded.way, loaded.part);
    let loads = |results: &[&ImportedResult]| {
        results.iter().map(|one| one.load.clone()).collect::<Vec<_>>()
    };
    let of_base = loads(&base.results);
    let of = |other: &super::SystemGroup| {
        let of_other = loads(&other.results);
        let sides = [&of_other, &of_base].map(|side| side.iter().collect::<Vec<_>>());
        let [here, there] = settings::differ([&sides[0], &sides[1]])?;
        let text = format!("{here} against {there} of {}: not the same is compared", base.system);
        Some(WarningReport::new(confounders::KIND, &format!("{}, {subject}", other.system), text))
    };
    loaded.systems.iter().filter(|group| group.system != base.system).filter_map(of).collect()
}

fn tools(run: &RunData, loads: &[LoadResults]) -> Option<WarningReport> {
    let of = |results: &mut dyn Iterator<Item = &ImportedResult>| {
        results.map(tool).collect::<BTreeSet<_>>()
    };
    let mut tables: Vec<BTreeSet<String>> = Vec::new();
    for loaded in loads {
        tables.push(of(&mut loaded.systems.iter().flat_map(|group| group.results.iter().copied())));
    }
    for kind in kinds(&run.imported) {
        tables
            .push(of(&mut kind.systems.iter().flat_map(|(_, _, results)| results.iter().copied())));
    }
    let mixed: BTreeSet<String> =
        tables.into_iter().filter(|tools| tools.len() > 1).flatten().collect();
    let names = || show_names(&mixed);
    let text = || {
        format!("results of {} are in one table: they differ in what they count and round", names())
    };
    (!mixed.is_empty()).then(|| WarningReport::new("tools", "", text()))
}
