//! Decides which results belong to one run: those with the same figures, another format of the same
//! counts, or the other end of a connection. A run counts once per system, however often it was
//! printed or copied.

use super::convert::FoundResult;
use iotax_model::record::imported::{ImportedResult, ImportedSample, Uncounted};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns a run number for each result; results of the same run have the same number.
pub(super) fn number_runs(all: &[FoundResult]) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::new();
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, found) in all.iter().enumerate() {
        let keys = keys(found);
        let of = |key: &u64| known.get(key).into_iter().flatten().copied();
        let same =
            keys.iter().flat_map(of).find(|before| is_same(&all[*before].result, &found.result));
        numbers.push(same.map_or(at as u32, |before| numbers[before]));
        keys.into_iter().for_each(|key| known.entry(key).or_default().push(at));
    }
    numbers
}

/// Marks all but one result of each run and system as copies. Results with options are preferred to
/// those without.
pub(super) fn mark_copies(all: &mut [FoundResult], numbers: &[u32]) {
    let mut kept: HashMap<(String, u32), usize> = HashMap::new();
    for at in 0..all.len() {
        if all[at].result.uncounted.is_some() {
            continue;
        }
        let mut first = *kept.entry((all[at].result.system.clone(), numbers[at])).or_insert(at);
        if first == at {
            continue;
        }
        let has_settings = |at: usize| all[at].result.load.settings.is_some();
        let mut copy = at;
        if has_settings(at) && !has_settings(first) {
            kept.insert((all[at].result.system.clone(), numbers[at]), at);
            std::mem::swap(&mut first, &mut copy);
        }
        let ImportedResult { file, line, .. } = all[first].result;
        all[copy].result.uncounted = Some(Uncounted::Copy { file, line });
    }
}

pub(super) fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Returns keys of a result; results of one run have at least one key in common.
fn keys(found: &FoundResult) -> Vec<u64> {
    let ImportedResult { load, way, part, ended, samples, percentiles, others, .. } = &found.result;
    let values = |samples: &[ImportedSample]| {
        let known =
            samples.iter().filter_map(|one| Some((one.metric.clone(), one.value?.to_bits())));
        known.collect::<Vec<_>>()
    };
    let points: Vec<u64> = percentiles.iter().map(|one| one.ns.to_bits()).collect();
    let figures = (values(samples), points, values(others));
    let mut keys = vec![hash(((load.identity(), way, part, ended, &found.run), figures))];
    let count = |metric: &str| found.result.sample(metric).and_then(|sample| sample.value);
    if let (Some(ios), Some(runtime)) = (count("ios"), count("runtime")) {
        keys.push(hash(("counts", way, ios.to_bits(), runtime.round() as u64)));
    }
    if let Some(run) = &found.run {
        let first = others.first().map(|one| &one.metric);
        keys.push(hash(("run", run, way, part, first)));
    }
    keys
}

/// Returns true if no figure, end time, block size, depth or direction of one result contradicts
/// the other.
fn is_same(one: &ImportedResult, other: &ImportedResult) -> bool {
    const CLOCKS_S: i64 = 2;
    let samples =
        |one: &ImportedResult| one.samples.iter().chain(&one.others).cloned().collect::<Vec<_>>();
    let (mine, theirs) = (samples(one), samples(other));
    let meets = |a: [f64; 2], b: [f64; 2]| {
        let slack = 1e-9 * a[1].abs() + 1.0e-9;
        a[0] <= b[1] + slack && b[0] <= a[1] + slack
    };
    let figures = mine.iter().all(|mine| {
        let theirs = theirs
            .iter()
            .find(|theirs| theirs.metric == mine.metric)
            .and_then(ImportedSample::rounded);
        mine.rounded().zip(theirs).is_none_or(|(mine, theirs)| meets(mine, theirs))
    });
    let percentiles = one.percentiles.iter().all(|mine| {
        let theirs = other.percentiles.iter().find(|theirs| theirs.percent == mine.percent);
        theirs.is_none_or(|theirs| meets([mine.low, mine.high], [theirs.low, theirs.high]))
    });
    let time = |one: &ImportedResult| one.ended.as_ref()?.parse::<jiff::civil::DateTime>().ok();
    let at_once = time(one).zip(time(other)).is_none_or(|(one, other)| {
        one.since(other).is_ok_and(|apart| {
            apart.total(jiff::Unit::Second).is_ok_and(|s| s.abs() <= CLOCKS_S as f64)
        })
    });
    // Jobs with the same rate limit may have the same counts.
    let unlike = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
    let one_load = !unlike(one.load.bs, other.load.bs)
        && !unlike(one.load.iodepth, other.load.iodepth)
        && one.load.rw.as_ref().zip(other.load.rw.as_ref()).is_none_or(|(a, b)| a == b);
    figures && percentiles && at_once && one_load
}

/// Returns the loads of which a file has more than one run.
pub(super) fn repeated(keys: impl Iterator<Item = (u64, u32)>) -> HashSet<u64> {
    let mut first: HashMap<u64, u32> = HashMap::new();
    keys.filter(|(load, run)| *first.entry(*load).or_insert(*run) != *run)
        .map(|(load, _)| load)
        .collect()
}
