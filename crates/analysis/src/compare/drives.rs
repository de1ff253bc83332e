//! Stacks that differ only in their drive. Each is compared with the median of the others in the
//! same rounds or visits, so that drift cancels and a second slow drive does not hide the first. A
//! drive is an outlier if its whole interval lies beyond the spread of the others.

use crate::ceilings::efficiency::drive_below;
use crate::compare::ratio::{EstimatedRatio, level_values};
use crate::findings::drives::{DriveFigure, DriveOutlier};
use crate::findings::{MeasuredFigure, WorkloadFindings};
use crate::gather::pairing::PairedUnits;
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::RoundId;
use iotax_model::stack::{LayerSpec, Medium, Stack};
use iotax_stats::family::Family;
use iotax_stats::{Refusal, ratio, visits};
use iotax_store::RunData;
use iotax_units::median;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest drives in which one can be an outlier.
const LEAST: usize = 4;

/// Median absolute deviations (scaled to standard deviations) within which 99 of 100 ordinary
/// drives lie, by the least number of others: of a normal distribution, by simulation. The
/// deviation of few drives is a poor estimate, so that three deviations would hold only from forty
/// on.
const ORDINARY: &[(usize, f64)] = &[
    (3, 110.0),
    (4, 15.8),
    (5, 14.5),
    (6, 8.2),
    (7, 7.8),
    (8, 6.0),
    (10, 5.0),
    (14, 4.1),
    (20, 3.5),
    (40, 3.0),
];

/// Standard deviations of a normal distribution in a median absolute deviation.
const SCALE: f64 = 1.4826;

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
    let levels: Vec<f64> =
        others.iter().map(|other| (other.iter().sum::<f64>() / other.len() as f64).ln()).collect();
    let middle = median(levels.iter().copied());
    let spread = median(levels.iter().map(|level| (level - middle).abs()));
    let factor = ORDINARY.iter().rfind(|(least, _)| *least <= levels.len());
    let factor = factor.map_or(f64::INFINITY, |(_, factor)| *factor);
    Ok((found, (factor * SCALE * spread).exp_m1().max(reading.zone())))
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
) {
    let figures = workloads.iter_mut().flat_map(|workload| &mut workload.drives);
    for (figure, found) in figures.zip(estimates) {
        let Some(found) = found else { continue };
        figure.of_median = figure.of_median.with_interval(Some(&found.simultaneous(family)));
        let Some((low, high)) = figure.of_median.bounds() else { continue };
        figure.outlier = match figure.ordinary + 1.0 {
            _ if figure.emulated.is_some() => None,
            farthest if high * farthest < 1.0 => Some(DriveOutlier::Slower),
            farthest if low > farthest => Some(DriveOutlier::Faster),
            _ => None,
        };
    }
}
