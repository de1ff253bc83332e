//! One scenario on many hosts: figures pooled over hosts, hosts that differ from the others, what
//! they differ in, and drift against earlier runs of the same hosts.

mod answer;
mod causes;
mod compared;
mod drift;
mod fleet_input;
mod host_facts;
mod host_figures;
#[cfg(any(test, feature = "testing"))]
#[path = "../testing/made_up_fleet.rs"]
pub mod made_up_fleet;
pub(crate) mod quantity;
#[cfg(test)]
mod tests;

pub(crate) use causes::differing_facts;
pub use fleet_input::{FleetHostResult, FleetInput};
pub use host_facts::HostFact;
pub(crate) use host_facts::device_pairs;
pub use host_figures::{FIGURES_FORMAT, HostFigure, HostFigures, HostWarning};

use crate::findings::MeasuredFigure;
use crate::findings::fleet::{
    ComparedHost, FleetFigure, FleetFindings, HostDeviation, MissingHost,
};
use compared::{ComparedFigures, MeasuredHost, NAMED, name_hosts, order_hosts};
use iotax_stats::Digits;
use std::collections::{BTreeMap, BTreeSet};

/// States in the order in which they are counted; others follow.
const STATES: [&str; 8] =
    ["done", "running", "waiting", "failed", "refused", "lost", "unknown", "never started"];

/// Seconds by which a clock may be off without being named.
const CLOCK_OFF_S: f64 = 1.0;

/// Returns all findings about a fleet. Hosts of another scenario than most are in no figure.
pub fn fleet_findings(fleet: &FleetInput) -> FleetFindings {
    let scenario = most_common(fleet.figures().map(|(_, one)| one.scenario_sha256.as_str()));
    let is_same = |one: &HostFigures| Some(one.scenario_sha256.as_str()) == scenario;
    let measured: Vec<(&FleetHostResult, &HostFigures)> =
        fleet.figures().filter(|(_, one)| is_same(one)).collect();
    let zone = measured.iter().map(|(_, one)| one.zone).fold(0.0, f64::max);
    let ComparedFigures { mut figures, mut hosts } = ComparedFigures::compare(&measured, zone);
    let order = order_hosts(&mut hosts, &figures);
    let measured: Vec<_> = order.into_iter().map(|at| measured[at]).collect();
    compared::count_bins(&mut figures, &hosts);
    let facts = causes::FactTable::new(&measured);
    let causes = causes::likely_causes(&facts, &hosts);
    FleetFindings {
        fleet: fleet.id.clone(),
        name: fleet.name.clone(),
        source: fleet.source.clone(),
        asked: fleet.hosts.len(),
        counted: count_states(fleet),
        answer: answer::fleet_answer(&figures, &hosts, &causes, zone),
        zone,
        drift: fleet.earlier.as_ref().map(|earlier| drift::fleet_drift(&measured, earlier, zone)),
        missing: missing_hosts(fleet, is_same),
        alarms: [
            left_out_sentences(&figures, &hosts),
            disturbed_sentences(&measured, &hosts),
            alarm_sentences(fleet),
        ]
        .concat(),
        not_excluded: [open_doubts(fleet, &figures, &hosts), warning_sentences(&measured)].concat(),
        facts: facts.spreads(),
        figures,
        hosts,
        causes,
    }
}

fn count_states(fleet: &FleetInput) -> String {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for host in &fleet.hosts {
        let at = STATES.iter().position(|state| *state == host.state).unwrap_or(STATES.len());
        *counts.entry((at, &host.state)).or_default() += 1;
    }
    let done = counts.remove(&(0, STATES[0])).unwrap_or(0);
    let others = counts.into_iter().map(|((_, state), count)| format!("; {count} {state}"));
    format!("{done} of {} hosts done{}", fleet.hosts.len(), others.collect::<String>())
}

fn missing_hosts(fleet: &FleetInput, is_same: impl Fn(&HostFigures) -> bool) -> Vec<MissingHost> {
    let missing = fleet.hosts.iter().filter_map(|one| {
        let why = match &one.figures {
            Some(figures) if is_same(figures) => return None,
            Some(_) => Some("its run is of another scenario than most".to_owned()),
            None => one.why.clone(),
        };
        let (host, state, next) = (one.host.clone(), one.state.clone(), one.next.clone());
        Some(MissingHost { host, state, why, next })
    });
    missing.collect()
}

/// Returns the value that most have, the smallest of several.
fn most_common<'a>(values: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(value, _)| value)
}

/// Returns sentences on hosts that are in no comparison under the first quantity, as their figures
/// have no interval: the slowest host measures the fewest rounds.
fn left_out_sentences(figures: &[FleetFigure], hosts: &[ComparedHost]) -> Vec<String> {
    let first = figures.iter().map(|one| one.key.quantity).min();
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for (at, figure) in figures.iter().enumerate() {
        let values = || {
            hosts
                .iter()
                .filter_map(move |host| Some((host.host.as_str(), host.deviations[at].as_ref()?)))
        };
        let (compared, left_out): (Vec<_>, Vec<_>) =
            values().partition(|(_, one)| one.of_others.value().is_some());
        let names: Vec<&str> = left_out.iter().map(|(host, _)| *host).collect();
        let is_known =
            compared.is_empty() || names.is_empty() || all.iter().any(|(known, _)| *known == names);
        if Some(figure.key.quantity) != first || is_known {
            continue;
        }
        let range = |them: &[(&str, &HostDeviation)]| {
            let sizes = || them.iter().map(|(_, one)| one.value);
            let words = |value| Digits::for_value(value, None, figure.unit).bare();
            let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
            match (words(low), words(high)) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} to {high}"),
            }
        };
        let why = left_out.first().and_then(|(_, one)| one.of_others.reason()).unwrap_or_default();
        let sentence = format!(
            "{} not compared, {}: {} against {} of the others; {why}; hint: raise --budget",
            name_hosts(names.iter().copied()),
            figure.key.to_words(figure.unit),
            range(&left_out),
            range(&compared),
        );
        all.push((names, sentence));
    }
    all.into_iter().map(|(_, sentence)| sentence).collect()
}

/// Returns the warnings of outliers that at most half of the other hosts have, too: they may be why
/// the host differs.
fn disturbed_sentences(measured: &[MeasuredHost], hosts: &[ComparedHost]) -> Vec<String> {
    let has =
        |figures: &HostFigures, kind: &str| figures.warnings.iter().any(|one| one.kind == kind);
    let outliers = measured.iter().zip(hosts).filter(|(_, host)| host.is_outlier());
    let own = outliers.flat_map(|((host, figures), _)| {
        let is_rare = |one: &&HostWarning| {
            2 * measured.iter().filter(|(_, other)| has(other, &one.kind)).count() <= measured.len()
        };
        let rare = figures.warnings.iter().filter(is_rare);
        rare.map(|one| {
            format!("{} was measured with a warning, {}: {}", host.host, one.kind, one.text)
        })
    });
    own.take(NAMED).collect()
}

/// Returns a sentence for each kind of warning of the hosts' runs.
fn warning_sentences(measured: &[MeasuredHost]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (host, figures) in measured {
        for one in &figures.warnings {
            let hosts = kinds.entry(&one.kind).or_default();
            if hosts.last().is_none_or(|(last, _)| *last != host.host) {
                hosts.push((&host.host, &one.text));
            }
        }
    }
    let sentence = |(kind, hosts): (&str, Vec<(&str, &str)>)| {
        let names = name_hosts(hosts.iter().map(|(host, _)| *host));
        format!("{kind} on {names}: {}", hosts[0].1)
    };
    kinds.into_iter().map(sentence).collect()
}

fn alarm_sentences(fleet: &FleetInput) -> Vec<String> {
    type PickText = fn(&HostFigures) -> &str;
    let mut all = Vec::new();
    let hosts_by = |pick: PickText| -> BTreeMap<&str, Vec<&str>> {
        let mut by_value: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (host, figures) in fleet.figures() {
            by_value.entry(pick(figures)).or_default().push(&host.host);
        }
        by_value
    };
    let kinds: [(&str, PickText); 2] =
        [("iotax", |one| &one.iotax), ("another scenario, SHA-256", |one| &one.scenario_sha256)];
    for (what, pick) in kinds {
        let by_value = hosts_by(pick);
        let usual = most_common(fleet.figures().map(|(_, one)| pick(one)));
        for (value, hosts) in by_value.into_iter().filter(|(value, _)| Some(*value) != usual) {
            let value: String = value.chars().take(16).collect();
            let names = name_hosts(hosts);
            let usual: String = usual.unwrap_or_default().chars().take(16).collect();
            all.push(format!("{names} ran {what} {value} (most others: {usual})"));
        }
    }
    let emulated = fleet.figures().filter(|(_, one)| !one.emulated.is_empty());
    let emulated: Vec<&str> = emulated.map(|(host, _)| host.host.as_str()).collect();
    if !emulated.is_empty() {
        all.push(format!("EMULATED, not representative: {}", name_hosts(emulated)));
    }
    let mut clocks: Vec<(&str, f64)> = fleet
        .hosts
        .iter()
        .filter_map(|host| Some((host.host.as_str(), host.clock_ahead_s?)))
        .filter(|(_, ahead)| ahead.abs() >= CLOCK_OFF_S)
        .collect();
    clocks.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let more = clocks.len().saturating_sub(NAMED);
    let words = clocks.iter().take(NAMED).map(|(host, ahead)| {
        let way = if *ahead > 0.0 { "ahead" } else { "behind" };
        format!("{host} {:.0} s {way}", ahead.abs())
    });
    let words = words.collect::<Vec<_>>().join(", ");
    match (clocks.len(), more) {
        (0, _) => {}
        (_, 0) => all.push(format!("clocks are off: {words}")),
        (_, more) => all.push(format!("clocks are off: {words} and {more} more")),
    }
    all
}

fn open_doubts(fleet: &FleetInput, figures: &[FleetFigure], hosts: &[ComparedHost]) -> Vec<String> {
    let mut all = Vec::new();
    let without = fleet.hosts.len() - hosts.len();
    if without > 0 {
        let missing = if without > 1 { "hosts are missing" } else { "hosts is missing" };
        let asked = fleet.hosts.len();
        all.push(format!(
            "{without} of {asked} {missing} from every figure; they may be the slow ones"
        ));
    }
    let mut incomplete = figures.iter().filter_map(|one| match one.mean {
        MeasuredFigure::Known { n, .. } if (n as usize) < hosts.len() => {
            Some(format!("{}: {} ({n})", one.key.workload, one.key.to_words(one.unit)))
        }
        _ => None,
    });
    let named: Vec<String> = incomplete.by_ref().take(NAMED).collect();
    if !named.is_empty() {
        let more = match incomplete.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        all.push(format!(
            "figures that not all of the {} hosts have, or not with an interval: {}{more}",
            hosts.len(),
            named.join(", ")
        ));
    }
    let days: BTreeSet<&str> = fleet.figures().filter_map(|(_, one)| one.at.get(..10)).collect();
    if let (Some(first), Some(last), true) = (days.first(), days.last(), days.len() > 1) {
        all.push(format!("hosts were measured from {first} to {last}, not at one time"));
    }
    if hosts.iter().any(ComparedHost::is_outlier) {
        let untried = "a likely cause is a fact that nearly only outliers have; it was not tested";
        all.push(untried.to_owned());
    }
    all
}
