//! Results other than I/O: scores, copies, networks. There is one table per name and unit.

use super::group::SystemRuns;
use super::{comparison, comparison_sentences, sources, words};
use crate::findings::imported::{Better, ImportedComparison, OtherResult, OtherRow};
use iotax_model::record::imported::{ImportedPart, ImportedResult, ImportedSample, ReportedLoad};
use std::collections::HashMap;

pub(crate) struct ResultKind<'a> {
    pub(crate) sample: &'a ImportedSample,
    pub(crate) load: &'a ReportedLoad,
    pub(crate) part: Option<ImportedPart>,
    pub(crate) systems: Vec<(&'a str, SystemRuns<'a>, Vec<&'a ImportedResult>)>,
}

impl ResultKind<'_> {
    pub(crate) fn name(&self) -> String {
        words::other_subject(&self.sample.metric, self.load, self.part)
    }
}

pub(super) fn others(results: &[ImportedResult], base: &str, zone: f64) -> Vec<OtherResult> {
    kinds(results).iter().map(|kind| result(kind, base, zone)).collect()
}

/// Groups results by name, unit and load, in the order in which they appear. Those that do not
/// count as a run are left out.
pub(crate) fn kinds(results: &[ImportedResult]) -> Vec<ResultKind<'_>> {
    let mut kinds: Vec<ResultKind> = Vec::new();
    let mut known: HashMap<(&str, &str, String, Option<ImportedPart>), usize> = HashMap::new();
    for result in results.iter().filter(|one| one.uncounted.is_none()) {
        for sample in &result.others {
            let key =
                (sample.metric.as_str(), sample.unit.as_str(), result.load.identity(), result.part);
            let at = *known.entry(key).or_insert_with(|| {
                kinds.push(ResultKind {
                    sample,
                    load: &result.load,
                    part: result.part,
                    systems: Vec::new(),
                });
                kinds.len() - 1
            });
            let systems = &mut kinds[at].systems;
            let at = match systems.iter().rposition(|(system, ..)| *system == result.system) {
                Some(at) => at,
                None => {
                    systems.push((&result.system, SystemRuns::default(), Vec::new()));
                    systems.len() - 1
                }
            };
            systems[at].1.add_result(result, Some(sample));
            systems[at].2.push(result);
        }
    }
    kinds
}

fn result(kind: &ResultKind, base: &str, zone: f64) -> OtherResult {
    let baseline = kind.systems.iter().find(|(system, ..)| *system == base);
    let row = |(system, runs, results): &(&str, SystemRuns, Vec<&ImportedResult>)| {
        let against = baseline.filter(|(base, ..)| base != system);
        let compare = |(base, of_base, _): &(&str, SystemRuns, Vec<&ImportedResult>)| {
            let quantity = match kind.sample.better {
                Better::Higher => kind.name(),
                Better::Lower => format!("1 / ({})", kind.name()),
            };
            comparison(&[of_base.clone(), runs.clone()], base, quantity, zone)
        };
        Some(OtherRow {
            system: (*system).to_owned(),
            baseline: base == *system,
            value: runs.mean()?,
            interval: runs.interval().map(|(low, high)| [low, high]),
            rounded: runs.rounded(),
            runs: runs.len() as u64,
            comparison: against.and_then(compare),
            sources: sources(results),
        })
    };
    let rows: Vec<OtherRow> = kind.systems.iter().filter_map(row).collect();
    let compared: Vec<(&str, &ImportedComparison)> = rows
        .iter()
        .filter_map(|row| Some((row.system.as_str(), row.comparison.as_ref()?)))
        .collect();
    let sentences = comparison_sentences(&compared);
    OtherResult {
        name: kind.name(),
        unit: kind.sample.unit.clone(),
        better: kind.sample.better,
        sentences,
        rows,
    }
}
