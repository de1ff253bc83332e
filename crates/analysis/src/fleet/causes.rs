//! Facts of hosts side by side, and those in which outliers differ from nearly all hosts that are
//! none. A fact that such hosts share is no cause.

use super::compared::MeasuredHost;
use super::host_facts::HostFact;
use crate::findings::fleet::{ComparedHost, FactSpread, LikelyCause};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Chooses how the values of a fact are compared.
#[derive(Clone, Copy)]
enum FactKind {
    Text,
    /// A number that is unusual from this distance on.
    Number(f64),
    /// A text that differs by nature, such as a serial number.
    Identity,
}

/// Facts by their names, or by how these begin: the likelier a cause, the further in front. Others
/// follow.
const KINDS: &[(&str, FactKind)] = &[
    ("PCIe link", FactKind::Text),
    ("cable", FactKind::Text),
    ("firmware", FactKind::Text),
    ("model", FactKind::Text),
    ("temperature", FactKind::Number(8.0)),
    ("wear", FactKind::Number(10.0)),
    ("media errors", FactKind::Number(1.0)),
    ("spare", FactKind::Number(5.0)),
    ("write cache", FactKind::Text),
    ("scheduler", FactKind::Text),
    ("driver", FactKind::Text),
    ("governor", FactKind::Text),
    ("turbo", FactKind::Text),
    ("kernel", FactKind::Text),
    ("microcode", FactKind::Text),
    ("cpu", FactKind::Text),
    ("mitigation", FactKind::Text),
    ("clocksource", FactKind::Text),
    ("NUMA node", FactKind::Text),
    ("group", FactKind::Text),
    ("power-on hours", FactKind::Number(5_000.0)),
    ("serial", FactKind::Identity),
];

/// Largest part of the hosts that are no outliers which may share a cause.
const MOST_SHARED: f64 = 0.05;

/// Least part of the hosts that are no outliers which have the usual value.
const LEAST_USUAL: f64 = 0.5;

/// Most values of a fact that are listed.
const MOST_VALUES: usize = 8;

fn rank_and_kind(key: &str) -> (usize, FactKind) {
    let at = KINDS.iter().position(|(name, _)| key.starts_with(name));
    at.map_or((KINDS.len(), FactKind::Text), |at| (at, KINDS[at].1))
}

/// Values of each fact with the hosts that have them.
pub(super) struct FactTable<'a> {
    host_count: usize,
    columns: BTreeMap<(&'a str, &'a str), Vec<(usize, &'a str)>>,
    groups: Vec<(usize, String)>,
}

impl<'a> FactTable<'a> {
    pub(super) fn new(measured: &[MeasuredHost<'a>]) -> FactTable<'a> {
        let mut columns: BTreeMap<(&str, &str), Vec<(usize, &str)>> = BTreeMap::new();
        for (at, (_, figures)) in measured.iter().enumerate() {
            for HostFact { subject, key, value } in &figures.facts {
                columns.entry((subject, key)).or_default().push((at, value));
            }
        }
        let groups = measured.iter().enumerate().filter(|(_, (host, _))| !host.groups.is_empty());
        let groups = groups.map(|(at, (host, _))| (at, host.groups.join(", ")));
        FactTable { host_count: measured.len(), columns, groups: groups.collect() }
    }

    fn all_columns(&self) -> impl Iterator<Item = ((&str, &str), Vec<(usize, &str)>)> {
        let groups = self.groups.iter().map(|(at, group)| (*at, group.as_str())).collect();
        let columns = self.columns.iter().map(|(name, values)| (*name, values.clone()));
        columns.chain(std::iter::once((("host", "group"), groups)))
    }

    /// Returns the facts in which hosts differ, but for those that differ by nature.
    pub(super) fn spreads(&self) -> Vec<FactSpread> {
        let mut all: Vec<(usize, FactSpread)> = Vec::new();
        for ((subject, key), values) in self.all_columns() {
            let (rank, kind) = rank_and_kind(key);
            let values = match kind {
                FactKind::Identity => continue,
                FactKind::Number(_) => number_range(&values),
                FactKind::Text => common_values(values.iter().map(|(_, value)| *value)),
            };
            let has_all = values.iter().map(|(_, hosts)| hosts).sum::<usize>() == self.host_count;
            if values.len() > 1 || (!values.is_empty() && !has_all) {
                let (subject, key) = (subject.to_owned(), key.to_owned());
                all.push((rank, FactSpread { subject, key, values }));
            }
        }
        all.sort_by_key(|(rank, _)| *rank);
        all.into_iter().map(|(_, spread)| spread).collect()
    }
}

/// Returns the values with the numbers of hosts that have them, the commonest first.
fn common_values<'v>(values: impl Iterator<Item = &'v str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let mut counts: Vec<(String, usize)> =
        counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: usize = counts.iter().skip(MOST_VALUES).map(|(_, count)| count).sum();
    if rest > 0 {
        let more = counts.len() - MOST_VALUES;
        counts.truncate(MOST_VALUES);
        counts.push((format!("{more} other values"), rest));
    }
    counts
}

/// Returns the range and the median of numbers; nothing if all are equal.
fn number_range(values: &[(usize, &str)]) -> Vec<(String, usize)> {
    let mut numbers: Vec<(f64, &str)> =
        values.iter().filter_map(|(_, value)| Some((number_in(value)?, *value))).collect();
    numbers.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (Some(low), Some(high)) = (numbers.first(), numbers.last()) else { return Vec::new() };
    let middle = numbers[numbers.len() / 2].1;
    match low.0 == high.0 {
        true => Vec::new(),
        false => {
            let words = format!("{} to {}, median {middle}", low.1, high.1);
            vec![(words, numbers.len()), (String::new(), 0)]
        }
    }
}

/// Returns the number at the start of a value: 61 of `61 °C`.
fn number_in(value: &str) -> Option<f64> {
    value.split(' ').next()?.parse().ok()
}

/// Returns the facts that only outliers have, the likeliest first: those that explain most of them,
/// then those that fewest others share.
pub(super) fn likely_causes(facts: &FactTable, hosts: &[ComparedHost]) -> Vec<LikelyCause> {
    let is_outlier: Vec<bool> = hosts.iter().map(ComparedHost::is_outlier).collect();
    if !is_outlier.contains(&true) {
        return Vec::new();
    }
    let mut all: Vec<(usize, LikelyCause)> = Vec::new();
    for ((subject, key), values) in facts.all_columns() {
        let (rank, kind) = rank_and_kind(key);
        let (unusual, usual): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|(at, _)| is_outlier[*at]);
        let found = match kind {
            FactKind::Identity => continue,
            FactKind::Text => unusual_texts(&unusual, &usual),
            FactKind::Number(least) => unusual_numbers(&unusual, &usual, least),
        };
        all.extend(found.into_iter().map(|(with_it, value, usual_words, shared_by)| {
            let cause = LikelyCause {
                hosts: with_it.into_iter().map(|at| hosts[at].host.clone()).collect(),
                subject: subject.to_owned(),
                key: key.to_owned(),
                value,
                usual: usual_words,
                shared_by,
                others: usual.len(),
            };
            (rank, cause)
        }));
    }
    all.sort_by(|(rank, one), (other_rank, other)| {
        let shared = |cause: &LikelyCause| cause.shared_by as f64 / cause.others as f64;
        (other.hosts.len().cmp(&one.hosts.len()))
            .then(shared(one).total_cmp(&shared(other)))
            .then(rank.cmp(other_rank))
    });
    all.into_iter().map(|(_, cause)| cause).collect()
}

/// Returns the facts in which one device differs from its peers, the likeliest cause first:
/// `firmware GDC5702Q (most others: GDC5902Q)`, `temperature 78 °C (the others: 34 to 41)`.
pub(crate) fn differing_facts(
    own: &[(String, String)],
    others: &[&[(String, String)]],
) -> Vec<String> {
    let differs = own.iter().filter_map(|(key, value)| {
        let theirs =
            || others.iter().filter_map(|one| Some(&one.iter().find(|one| one.0 == *key)?.1));
        let (rank, kind) = rank_and_kind(key);
        let words = match kind {
            FactKind::Identity => return None,
            FactKind::Text => {
                let is_usual = |one: &&String| {
                    2 * theirs().filter(|other| other == one).count() > others.len()
                };
                let usual = theirs().find(is_usual).filter(|usual| *usual != value)?;
                format!("{key} {value} (most others: {usual})")
            }
            FactKind::Number(least) => {
                let number = number_in(value)?;
                let numbers = || theirs().filter_map(|other| number_in(other));
                let low = numbers().reduce(f64::min)?;
                let high = numbers().reduce(f64::max)?;
                let is_beyond = number >= high + least || number <= low - least;
                is_beyond.then(|| format!("{key} {value} (the others: {low} to {high})"))?
            }
        };
        Some((rank, words))
    });
    let mut differs: Vec<(usize, String)> = differs.collect();
    differs.sort_by_key(|(rank, _)| *rank);
    differs.into_iter().map(|(_, words)| words).collect()
}

/// Outliers with a value, the value, the usual one, and how many others share the value.
type UnusualValue = (Vec<usize>, String, String, usize);

fn unusual_texts(outliers: &[(usize, &str)], others: &[(usize, &str)]) -> Vec<UnusualValue> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    others.iter().for_each(|(_, value)| *counts.entry(value).or_default() += 1);
    let most = counts.iter().max_by_key(|(value, count)| (**count, std::cmp::Reverse(**value)));
    let Some((usual, count)) = most else { return Vec::new() };
    if (*count as f64) < LEAST_USUAL * others.len() as f64 {
        return Vec::new();
    }
    let mut by_value: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    outliers.iter().for_each(|(at, value)| by_value.entry(value).or_default().push(*at));
    let unusual = by_value.into_iter().filter_map(|(value, hosts)| {
        let shared = counts.get(value).copied().unwrap_or(0);
        let is_rare = shared as f64 <= MOST_SHARED * others.len() as f64;
        is_rare.then(|| (hosts, value.to_owned(), (*usual).to_owned(), shared))
    });
    unusual.collect()
}

/// Compares numbers with the range in which 9 of 10 of the others lie.
fn unusual_numbers(
    outliers: &[(usize, &str)],
    others: &[(usize, &str)],
    least: f64,
) -> Vec<UnusualValue> {
    let parsed = |values: &[(usize, &str)]| -> Vec<(usize, f64)> {
        values.iter().filter_map(|(at, value)| Some((*at, number_in(value)?))).collect()
    };
    let mut usual: Vec<f64> = parsed(others).into_iter().map(|(_, number)| number).collect();
    usual.sort_by(f64::total_cmp);
    let quantile = |part: f64| usual.get(((usual.len() as f64) * part) as usize).copied();
    let (Some(low), Some(high)) = (quantile(0.05), quantile(0.95).or(usual.last().copied())) else {
        return Vec::new();
    };
    let unit = outliers.first().and_then(|(_, value)| value.split_once(' ')).map(|(_, unit)| unit);
    let words = |low: f64, high: f64| {
        let unit = unit.map(|unit| format!(" {unit}")).unwrap_or_default();
        if low == high { format!("{low}{unit}") } else { format!("{low} to {high}{unit}") }
    };
    let sides: [&dyn Fn(f64) -> bool; 2] =
        [&|number| number >= high + least, &|number| number <= low - least];
    let mut found = Vec::new();
    for is_beyond in sides {
        let beyond: Vec<(usize, f64)> =
            parsed(outliers).into_iter().filter(|(_, number)| is_beyond(*number)).collect();
        let shared = usual.iter().filter(|number| is_beyond(**number)).count();
        let is_rare = shared as f64 <= MOST_SHARED * usual.len() as f64;
        if beyond.is_empty() || !is_rare {
            continue;
        }
        let own = || beyond.iter().map(|(_, number)| *number);
        let value =
            words(own().fold(f64::INFINITY, f64::min), own().fold(f64::NEG_INFINITY, f64::max));
        let hosts: BTreeSet<usize> = beyond.iter().map(|(at, _)| *at).collect();
        found.push((hosts.into_iter().collect(), value, words(low, high), shared));
    }
    found
}
