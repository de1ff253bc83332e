//! Results that are no I/O: scores, copies, networks. A table a name and unit.

use super::group::Runs;
use super::{ImportedComparison, ImportedSource, comparison, sentences, sources, words};
use crate::store::record::Better;
use crate::store::record::imported::{ImportedResult, ImportedSample, Load, Part};
use serde::Serialize;
use std::collections::HashMap;

/// One result on all systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherResult {
    /// `Dhrystone 2 using register variables`.
    pub name: String,
    /// As printed.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// A row a system.
    pub rows: Vec<OtherRow>,
    /// What is concluded.
    pub sentences: Vec<String>,
}

/// One system's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherRow {
    /// Its name.
    pub system: String,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// In the unit that is printed; the mean of the runs.
    pub value: f64,
    /// The 95 % interval, where the runs show their spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// From the least to the most that is printed so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<[f64; 2]>,
    /// Runs behind it.
    pub runs: u64,
    /// Against the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ImportedComparison>,
    /// Where they stand.
    pub sources: Vec<ImportedSource>,
}

/// One name and unit; systems in the order in which they come.
pub(in crate::bill) struct Kind<'a> {
    pub(in crate::bill) sample: &'a ImportedSample,
    pub(in crate::bill) load: &'a Load,
    pub(in crate::bill) part: Option<Part>,
    pub(in crate::bill) systems: Vec<(&'a str, Runs<'a>, Vec<&'a ImportedResult>)>,
}

impl Kind<'_> {
    /// `throughput, 4 jobs`.
    pub(in crate::bill) fn name(&self) -> String {
        words::other(&self.sample.metric, self.load, self.part)
    }
}

pub(super) fn others(results: &[ImportedResult], base: &str, zone: f64) -> Vec<OtherResult> {
    kinds(results).iter().map(|kind| result(kind, base, zone)).collect()
}

/// By name, unit and load, in the order in which they come.
pub(in crate::bill) fn kinds(results: &[ImportedResult]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut known: HashMap<(&str, &str, String, Option<Part>), usize> = HashMap::new();
    for result in results {
        for sample in &result.others {
            let key = (sample.metric.as_str(), sample.unit.as_str(), result.load.identity(), result.part);
            let at = *known.entry(key).or_insert_with(|| {
                kinds.push(Kind { sample, load: &result.load, part: result.part, systems: Vec::new() });
                kinds.len() - 1
            });
            let systems = &mut kinds[at].systems;
            let at = match systems.iter().rposition(|(system, ..)| *system == result.system) {
                Some(at) => at,
                None => {
                    systems.push((&result.system, Runs::default(), Vec::new()));
                    systems.len() - 1
                }
            };
            systems[at].1.add(result, Some(sample));
            systems[at].2.push(result);
        }
    }
    kinds
}

fn result(kind: &Kind, base: &str, zone: f64) -> OtherResult {
    let baseline = kind.systems.iter().find(|(system, ..)| *system == base);
    let row = |(system, runs, results): &(&str, Runs, Vec<&ImportedResult>)| {
        let against = baseline.filter(|(base, ..)| base != system);
        let compare = |(base, of_base, _): &(&str, Runs, Vec<&ImportedResult>)| {
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
    let compared: Vec<(&str, &ImportedComparison)> =
        rows.iter().filter_map(|row| Some((row.system.as_str(), row.comparison.as_ref()?))).collect();
    let sentences = sentences(&compared);
    OtherResult {
        name: kind.name(),
        unit: kind.sample.unit.clone(),
        better: kind.sample.better,
        sentences,
        rows,
    }
}
