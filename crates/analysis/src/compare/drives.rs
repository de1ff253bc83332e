//! Stacks that differ only in their drive. Each is compared with the median of the others in the
//! same rounds or visits, so that drift cancels. As with the hosts of a fleet, a drive is an outlier
//! if it lies farther from the others than their scatter explains, and its whole interval beyond
//! what the run calls no difference.

use crate::ceilings::efficiency::drive_below;
use crate::compare::ratio::{EstimatedRatio, level_values};
use crate::findings::drives::{DriveFigure, DriveOutlier};
use crate::findings::{MeasuredFigure, WorkloadFindings};
use crate::gather::pairing::PairedUnits;
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::RoundId;
use iotax_model::stack::{LayerSpec, Medium, Stack};
use iotax_stats::family::Family;
use iotax_stats::outliers::{HostStanding, deviation_standings};
use iotax_stats::{Refusal, Uncertain, ratio, t_quantile, visits};
use iotax_store::RunData;
use iotax_units::median;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest drives in which one can be an outlier.
const LEAST: usize = 4;

/// Chance with which an ordinary drive lies farther from the others than what is called ordinary.
const EXTRAORDINARY: f64 = 0.01;

/// Returns the stacks that differ only in their drive, by their indices; groups of fewer than four
/// drives are left out.
pub fn drive_groups(run: &RunData) -> Vec<Vec<usize>> {
    let stacks = &run.start.scenario.stacks;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, stack) in stacks.iter().enumerate().filter(|(_, stack)| is_on_a_drive(stack)) {
        match groups.iter_mut().find(|group| is_same_but_for_drive(&stacks[group[0]], stack)) {
            Some(group) if group.iter().any(|one| stacks[*one].medium == stack.medium) => {}
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups.retain(|group| group.len() >= LEAST);
    groups
}

fn is_on_a_drive(stack: &Stack) -> bool {
    let on_drive = matches!(
        stack.medium,
        Medium::Device { .. } | Medium::Drive { .. } | Medium::Remote { size: None, .. }
    );
    on_drive && stack.state.is_none()
}

fn is_same_but_for_drive(one: &Stack, other: &Stack) -> bool {
    one.layers.iter().map(LayerSpec::key).eq(other.layers.iter().map(LayerSpec::key))
}

/// Returns the drives of a group with which a drive is compared: those of its model, if there are
/// three others, otherwise all others. `models` are those of the whole group.
pub fn peers(group: &[usize], models: &[Option<&str>], at: usize) -> Vec<usize> {
    let others = || group.iter().zip(models).filter(|(one, _)| **one != at);
    let model = group.iter().position(|one| *one == at).and_then(|it| models[it]);
    let alike: Vec<usize> = others()
        .filter(|(_, other)| model.is_some() && **other == model)
        .map(|(one, _)| *one)
        .collect();
    match alike.len() + 1 >= LEAST {
        true => alike,
        false => others().map(|(one, _)| *one).collect(),
    }
}

/// Returns a figure for each drive of each group under a load, and the estimates for
/// [`settle_drives`] in the same order.
pub fn drive_figures(reading: &WorkloadView) -> (Vec<DriveFigure>, Vec<Option<EstimatedRatio>>) {
    let stacks = &reading.run.start.scenario.stacks;
    let mut all = (Vec::new(), Vec::new());
    let is_probe = reading.workload.probe.is_some();
    for group in drive_groups(reading.run).into_iter().filter(|_| !is_probe) {
        let model = |at: &usize| drive_below(reading.run, &stacks[*at])?.model.as_deref();
        let models: Vec<Option<&str>> = group.iter().map(model).collect();
        for at in &group {
            let mut peers = peers(&group, &models, *at);
            peers.retain(|peer| reading.incomparable([*peer, *at]).is_none());
            let found = against_median(reading, *at, &peers);
            let (of_median, ordinary) = match &found {
                Ok((found, ordinary)) => (found.estimated_figure(), *ordinary),
                Err(reason) => (MeasuredFigure::missing(reason), reading.zone()),
            };
            all.0.push(DriveFigure {
                stack: stacks[*at].name.clone(),
                of_median,
                others: peers.len(),
                ordinary,
                outlier: None,
                emulated: reading.emulated(*at),
            });
            all.1.push(found.ok().map(|(found, _)| found));
        }
    }
    all
}

/// Returns the relative distance from the others up to which the first of the drives is ordinary,
/// by the scatter of the others. `levels` are the logarithms of their rates.
///
/// # Errors
/// [`Refusal`] if there are too few drives.
fn ordinary_distance(levels: &[f64], deviation: Uncertain) -> Result<f64, Refusal> {
    // Drives that were measured in the same rounds have about the same error.
    let all = deviation_standings(levels, &vec![deviation; levels.len()])?;
    let far = |own: &HostStanding| t_quantile(1.0 - EXTRAORDINARY / 2.0, own.freedom) * own.scatter;
    Ok(all.first().map_or(f64::INFINITY, |own| far(own).exp_m1()))
}

/// Estimates the rate of a drive over the median of its peers, and the relative distance from that
/// median that is ordinary among them.
///
/// # Errors
/// [`Refusal`] if fewer than three peers were measured, too few rounds or visits are in common, or
/// writes did not reach the regime that was asked for.
fn against_median(
    reading: &WorkloadView,
    at: usize,
    peers: &[usize],
) -> Result<(EstimatedRatio, f64), Refusal> {
    let lacking = |reason: &str| Refusal::NotMeasured { reason: reason.to_owned() };
    if peers.len() + 1 < LEAST {
        return Err(lacking("fewer than three other drives were measured"));
    }
    if let Some(refused) = reading.writes.regime_refusal() {
        return Err(refused.clone());
    }
    let side = |at: usize| &reading.sides[at];
    let basis = reading.basis();
    let common = peers
        .iter()
        .map(|peer| reading.pair(side(*peer), side(at)))
        .reduce(in_common)
        .filter(|units| !matches!(units, PairedUnits::Rounds(ids) if ids.is_empty()))
        .ok_or_else(|| lacking("the drives have no rounds in common"))?;
    let of = |at: usize| level_values(side(at), &common, basis);
    let own = of(at)?;
    let others: Vec<Vec<f64>> = peers.iter().map(|peer| of(*peer)).collect::<Result<_, _>>()?;
    let pairs: Vec<(f64, f64)> = own
        .iter()
        .enumerate()
        .map(|(unit, own)| (median(others.iter().map(|other| other[unit])), *own))
        .collect();
    let found = match &common {
        PairedUnits::Visits(_, unit) => {
            EstimatedRatio::Visits(visits::of_at_least(unit.least(), &pairs)?, *unit)
        }
        PairedUnits::Rounds(ids) => {
            let by_round: BTreeMap<RoundId, (f64, f64)> =
                ids.iter().copied().zip(pairs.iter().copied()).collect();
            let of_stratum = |stratum: Vec<RoundId>| -> Vec<(f64, f64)> {
                stratum.iter().filter_map(|id| by_round.get(id).copied()).collect()
            };
            let strata: Vec<_> = side(at).strata.split(ids).into_iter().map(of_stratum).collect();
            EstimatedRatio::Rounds(ratio::stratified(&strata)?)
        }
    };
    let level = |rates: &Vec<f64>| (rates.iter().sum::<f64>() / rates.len() as f64).ln();
    let levels: Vec<f64> = std::iter::once(&own).chain(&others).map(level).collect();
    let ordinary = ordinary_distance(&levels, found.log())?;
    Ok((found, ordinary.max(reading.zone())))
}

/// Returns the rounds or visits that both have; none if one has rounds and the other visits.
fn in_common(one: PairedUnits, other: PairedUnits) -> PairedUnits {
    match (one, other) {
        (PairedUnits::Rounds(mut ids), PairedUnits::Rounds(others)) => {
            let others: BTreeSet<RoundId> = others.into_iter().collect();
            ids.retain(|id| others.contains(id));
            PairedUnits::Rounds(ids)
        }
        (PairedUnits::Visits(mut ids, unit), PairedUnits::Visits(others, _)) => {
            ids.retain(|id| others.contains(id));
            PairedUnits::Visits(ids, unit)
        }
        _ => PairedUnits::Rounds(Vec::new()),
    }
}

/// Gives the figures intervals that hold for all drives and loads at once, and names the outliers.
pub fn settle_drives(
    workloads: &mut [WorkloadFindings],
    estimates: &[Option<EstimatedRatio>],
    family: Family,
    zone: f64,
) {
    let figures = workloads.iter_mut().flat_map(|workload| &mut workload.drives);
    for (figure, found) in figures.zip(estimates) {
        let Some(found) = found else { continue };
        figure.of_median = figure.of_median.with_interval(Some(&found.simultaneous(family)));
        let Some((low, high)) = figure.of_median.bounds() else { continue };
        let value = figure.of_median.value().unwrap_or(1.0);
        let farthest = figure.ordinary + 1.0;
        figure.outlier = match zone + 1.0 {
            _ if figure.emulated.is_some() => None,
            least if value * farthest < 1.0 && high * least < 1.0 => Some(DriveOutlier::Slower),
            least if value > farthest && low > least => Some(DriveOutlier::Faster),
            _ => None,
        };
    }
}
