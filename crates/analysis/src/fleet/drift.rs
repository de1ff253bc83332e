//! Hosts against their own earlier runs of the same scenario.

use super::answer::difference_words;
use super::compared::{MeasuredHost, ratio_figure, side_of, spread_figure, unit_word};
use super::fleet_input::FleetInput;
use super::host_figures::{HostFigure, HostFigures};
use super::name_hosts;
use super::quantity::Difference;
use crate::findings::MeasuredFigure;
use crate::findings::fleet::{ChangedHost, FigureDrift, FigureKey, FleetDrift};
use iotax_stats::Uncertain;
use iotax_stats::outliers::{HostStanding, drift_standings, name_outliers};
use iotax_stats::random_effects::pooled_effect;
use iotax_units::count_noun;
use std::collections::{BTreeMap, HashMap};

/// Facts that change from run to run and by which no change is explained.
const PASSING: [&str; 2] = ["temperature", "power-on hours"];

/// A host in both fleets.
struct HostPair<'a> {
    host: &'a str,
    new: &'a HostFigures,
    old: &'a HostFigures,
}

/// Changes of a figure by host.
struct ChangedFigure<'a> {
    figure: &'a HostFigure,
    pairs: Vec<(usize, Uncertain)>,
    standings: Vec<HostStanding>,
}

pub(super) fn fleet_drift(
    measured: &[MeasuredHost],
    earlier: &FleetInput,
    zone: f64,
) -> FleetDrift {
    let old: HashMap<&str, &HostFigures> =
        earlier.figures().map(|(host, figures)| (host.host.as_str(), figures)).collect();
    let mut pairs = Vec::new();
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, new) in measured {
        let why = match old.get(host.host.as_str()) {
            Some(old) if old.scenario_sha256 == new.scenario_sha256 => {
                pairs.push(HostPair { host: &host.host, new, old });
                continue;
            }
            Some(_) => "the earlier run is of another scenario",
            None => "there is no earlier run",
        };
        refused.entry(why).or_default().push(&host.host);
    }
    let mut all = changed_figures(&pairs);
    name_outliers(all.iter_mut().flat_map(|one| &mut one.standings), zone);
    let figures: Vec<FigureDrift> = all.into_iter().map(|one| figure_drift(one, &pairs)).collect();
    FleetDrift {
        earlier: earlier.id.clone(),
        matched: pairs.len(),
        sentence: drift_sentence(&figures, pairs.len()),
        figures,
        not_compared: refused
            .into_iter()
            .map(|(why, hosts)| format!("{}: {why}", name_hosts(hosts)))
            .collect(),
    }
}

fn changed_figures<'a>(pairs: &[HostPair<'a>]) -> Vec<ChangedFigure<'a>> {
    let mut all: Vec<ChangedFigure> = Vec::new();
    let mut known: HashMap<&FigureKey, usize> = HashMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        let old: HashMap<&FigureKey, &HostFigure> =
            pair.old.figures.iter().map(|figure| (&figure.key, figure)).collect();
        for figure in &pair.new.figures {
            let before = old.get(&figure.key).filter(|old| old.unit == figure.unit);
            let logs = figure.log().zip(before.and_then(|old| old.log()));
            let Some((new, old)) = logs else { continue };
            let column = *known.entry(&figure.key).or_insert_with(|| {
                all.push(ChangedFigure { figure, pairs: Vec::new(), standings: Vec::new() });
                all.len() - 1
            });
            all[column].pairs.push((at, new.minus(old)));
        }
    }
    for one in &mut all {
        let changes: Vec<Uncertain> = one.pairs.iter().map(|(_, change)| *change).collect();
        one.standings = drift_standings(&changes);
    }
    all
}

fn figure_drift(one: ChangedFigure, pairs: &[HostPair]) -> FigureDrift {
    let changes: Vec<Uncertain> = one.pairs.iter().map(|(_, change)| *change).collect();
    let pooled = pooled_effect(&changes);
    let mut changed: Vec<(f64, ChangedHost)> = one
        .pairs
        .iter()
        .zip(&one.standings)
        .filter(|(_, standing)| standing.is_outlier)
        .map(|((at, change), standing)| {
            let changed = ChangedHost {
                host: pairs[*at].host.to_owned(),
                change: ratio_figure(change.value, (standing.low, standing.high), 1),
                q: standing.q,
                side: side_of(&one.figure.key, change.value),
                differs: fact_changes(&pairs[*at]),
            };
            (change.value.abs(), changed)
        })
        .collect();
    changed.sort_by(|one, other| other.0.total_cmp(&one.0));
    FigureDrift {
        key: one.figure.key.clone(),
        subject: one.figure.subject.clone(),
        unit: unit_word(&one.figure.unit),
        more_is_better: one.figure.key.quantity.more_is_better(),
        change: match &pooled {
            Ok(found) => ratio_figure(found.mean.value, (found.low, found.high), found.hosts),
            Err(why) => MeasuredFigure::missing(why),
        },
        spread: spread_figure(&pooled),
        changed: changed.into_iter().map(|(_, changed)| changed).collect(),
    }
}

/// Returns the facts that differ between both runs of a host.
fn fact_changes(pair: &HostPair) -> Vec<String> {
    let old: HashMap<(&str, &str), &str> = pair
        .old
        .facts
        .iter()
        .map(|fact| ((fact.subject.as_str(), fact.key.as_str()), fact.value.as_str()))
        .collect();
    let differs = pair.new.facts.iter().filter_map(|fact| {
        let before = old.get(&(fact.subject.as_str(), fact.key.as_str()))?;
        let is_lasting = !PASSING.contains(&fact.key.as_str());
        (is_lasting && *before != fact.value)
            .then(|| format!("{} {} {} (was {before})", fact.subject, fact.key, fact.value))
    });
    let iotax = (pair.old.iotax != pair.new.iotax)
        .then(|| format!("iotax {} (was {})", pair.new.iotax, pair.old.iotax));
    differs.chain(iotax).collect()
}

/// Returns `2 of 12 hosts changed for sure; most: n3 is 12 % slower than its earlier run (...)`.
fn drift_sentence(figures: &[FigureDrift], matched: usize) -> String {
    let matched_words = count_noun(matched as u64, "host", "hosts");
    let all = figures.iter().flat_map(|figure| figure.changed.iter().map(move |one| (figure, one)));
    let mut hosts: BTreeMap<&str, (&FigureDrift, &ChangedHost)> = BTreeMap::new();
    for (figure, one) in all {
        let entry = hosts.entry(&one.host).or_insert((figure, one));
        if figure.key.quantity < entry.0.key.quantity {
            *entry = (figure, one);
        }
    }
    if matched == 0 {
        return "no host has an earlier run of this scenario".to_owned();
    }
    if hosts.is_empty() {
        return format!("none of {matched_words} changed beyond chance");
    }
    let size = |one: &ChangedHost| one.change.value().map_or(0.0, |ratio| ratio.ln().abs());
    let mut strongest: Vec<&(&FigureDrift, &ChangedHost)> = hosts.values().collect();
    strongest.sort_by(|one, other| size(other.1).total_cmp(&size(one.1)));
    let words = strongest.first().map(|(figure, one)| {
        let ratio = one.change.value().unwrap_or(1.0);
        let by = Difference::new([ratio.ln()], "in its earlier run");
        let how = difference_words(&by, &figure.subject, &figure.key, figure.unit);
        let differs = match one.differs.is_empty() {
            true => String::new(),
            false => format!("; what differs: {}", one.differs.join(", ")),
        };
        format!("{} {how}{differs}", one.host)
    });
    let count = hosts.len();
    format!(
        "{count} of {matched_words} changed beyond chance; largest: {}",
        words.unwrap_or_default()
    )
}
