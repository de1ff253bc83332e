//! Each figure over all hosts, and each host against the others, by the statistics of
//! [`iotax_stats::random_effects`] and [`iotax_stats::outliers`]. Outliers are judged over all
//! hosts and figures at once.

use super::fleet_input::FleetHostResult;
use super::host_figures::{HostFigure, HostFigures};
use crate::findings::fleet::{
    ComparedHost, DeviationBins, FigureKey, FleetFigure, HostDeviation, OutlierSide,
};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use iotax_stats::outliers::{HostStanding, host_standings, name_outliers};
use iotax_stats::random_effects::{PooledEffect, pooled_effect};
use iotax_stats::{Refusal, Uncertain};
use iotax_units::count_noun;
use std::cmp::Reverse;
use std::collections::HashMap;

pub(super) type MeasuredHost<'a> = (&'a FleetHostResult, &'a HostFigures);

/// Figures, and hosts in the order of the input.
pub(super) struct ComparedFigures {
    pub(super) figures: Vec<FleetFigure>,
    pub(super) hosts: Vec<ComparedHost>,
}

impl ComparedFigures {
    pub(super) fn compare(measured: &[MeasuredHost], zone: f64) -> ComparedFigures {
        let mut columns: Vec<(&HostFigure, Vec<Option<&HostFigure>>)> = Vec::new();
        let mut known: HashMap<(&FigureKey, &str), usize> = HashMap::new();
        for (at, (_, figures)) in measured.iter().enumerate() {
            for figure in &figures.figures {
                let column = *known.entry((&figure.key, &figure.unit)).or_insert_with(|| {
                    columns.push((figure, vec![None; measured.len()]));
                    columns.len() - 1
                });
                columns[column].1[at] = Some(figure);
            }
        }
        let mut standings: Vec<ColumnStandings> =
            columns.iter().map(|(_, values)| ColumnStandings::new(values)).collect();
        let each = standings.iter_mut().flat_map(|one| one.found.iter_mut().flatten());
        name_outliers(each, zone);
        let hosts = measured.iter().enumerate().map(|(at, (host, figures))| ComparedHost {
            host: host.host.clone(),
            run: figures.run.clone(),
            deviations: (columns.iter().zip(&standings))
                .map(|((_, values), column)| Some(column.deviation(at, values[at]?)))
                .collect(),
            verdicts: figures.verdicts.clone(),
        });
        let hosts: Vec<ComparedHost> = hosts.collect();
        let figures = columns.iter().enumerate().map(|(at, (one, values))| {
            let is_outlier = hosts
                .iter()
                .map(|host| host.deviations[at].as_ref().is_some_and(|one| one.outlier.is_some()));
            pooled_figure(one, values, &is_outlier.collect::<Vec<_>>())
        });
        ComparedFigures { figures: figures.collect(), hosts }
    }
}

/// Standings of the hosts under one figure.
struct ColumnStandings {
    /// One entry for each host; `None` if its figure has no interval.
    found: Vec<Option<HostStanding>>,
    refusal: Option<Refusal>,
}

impl ColumnStandings {
    fn new(values: &[Option<&HostFigure>]) -> ColumnStandings {
        let logs: Vec<Option<Uncertain>> =
            values.iter().map(|one| one.and_then(HostFigure::log)).collect();
        match host_standings(&logs.iter().flatten().copied().collect::<Vec<_>>()) {
            Ok(all) => {
                let mut all = all.into_iter();
                let found = logs.iter().map(|log| log.and_then(|_| all.next())).collect();
                ColumnStandings { found, refusal: None }
            }
            Err(why) => ColumnStandings { found: vec![None; values.len()], refusal: Some(why) },
        }
    }

    fn deviation(&self, at: usize, figure: &HostFigure) -> HostDeviation {
        let Some(one) = &self.found[at] else {
            let why = match &self.refusal {
                Some(Refusal::TooFewHosts { have, need }) => {
                    let have = count_noun(*have as u64, "host has", "hosts have");
                    format!("{have} an interval, and {need} are needed")
                }
                Some(why) => why.to_string(),
                None => match &figure.no_error {
                    Some(why) => format!("it has no interval ({why})"),
                    None => "it has no interval".to_owned(),
                },
            };
            let of_others = MeasuredFigure::missing(why);
            let (q, ordinary, outlier) = (None, None, None);
            return HostDeviation { value: figure.value, of_others, q, ordinary, outlier };
        };
        HostDeviation {
            value: figure.value,
            of_others: ratio_figure(one.deviation.value, (one.low, one.high), 1).with_interval(
                Some(&Interval::of_t(one.low.exp(), one.high.exp(), one.deviation.freedom)),
            ),
            q: Some(one.q),
            ordinary: Some(one.ordinary.exp_m1()).filter(|far| far.is_finite()),
            outlier: one.is_outlier.then(|| side_of(&figure.key, one.deviation.value)),
        }
    }
}

/// Returns the side of a deviation, given as a logarithm.
pub(super) fn side_of(key: &FigureKey, deviation: f64) -> OutlierSide {
    match (deviation < 0.0) == key.quantity.more_is_better() {
        true => OutlierSide::Worse,
        false => OutlierSide::Better,
    }
}

/// Returns a ratio whose value and bounds are given as logarithms.
pub(super) fn ratio_figure(log: f64, (low, high): (f64, f64), hosts: usize) -> MeasuredFigure {
    let interval = Interval::from_bounds(low.exp(), high.exp());
    MeasuredFigure::known_value(log.exp(), "1", (hosts as u64, SampleUnit::Hosts), interval)
}

/// Returns the unit as the findings have it; an unknown one is a plain number.
pub(super) fn unit_word(unit: &str) -> &'static str {
    ["1/s", "B/s", "ns"].into_iter().find(|known| *known == unit).unwrap_or("1")
}

fn pooled_figure(
    one: &HostFigure,
    values: &[Option<&HostFigure>],
    is_outlier: &[bool],
) -> FleetFigure {
    let unit = unit_word(&one.unit);
    let logs: Vec<(Uncertain, bool)> = (values.iter().zip(is_outlier))
        .filter_map(|(figure, is_outlier)| Some(((*figure)?.log()?, *is_outlier)))
        .collect();
    let pooled = pooled_effect(&logs.iter().map(|(log, _)| *log).collect::<Vec<_>>());
    let others = logs.iter().filter(|(_, is_outlier)| !is_outlier).map(|(log, _)| *log);
    let others: Vec<Uncertain> = others.collect();
    let outliers = logs.len() - others.len();
    let known = |bounds: fn(&PooledEffect) -> (f64, f64)| match &pooled {
        Ok(found) => {
            ratio_figure(found.mean.value, bounds(found), found.hosts).map(unit, |value| value)
        }
        Err(why) => MeasuredFigure::missing(why),
    };
    FleetFigure {
        key: one.key.clone(),
        subject: one.subject.clone(),
        unit,
        more_is_better: one.key.quantity.more_is_better(),
        mean: known(|found| (found.low, found.high)),
        spread: spread_figure(&pooled),
        spread_of_others: (outliers > 0).then(|| spread_figure(&pooled_effect(&others))),
        next_host: known(|found| (found.next_low, found.next_high)),
        outliers,
        bins: None,
    }
}

/// Returns the standard deviation between hosts as a relative difference.
pub(super) fn spread_figure(pooled: &Result<PooledEffect, Refusal>) -> MeasuredFigure {
    match pooled {
        Ok(found) => {
            let interval = Interval::from_bounds(found.tau_low.exp_m1(), found.tau_high.exp_m1());
            let counted = (found.hosts as u64, SampleUnit::Hosts);
            MeasuredFigure::known_value(found.tau.exp_m1(), "1", counted, interval)
        }
        Err(why) => MeasuredFigure::missing(why),
    }
}

/// Puts outliers first, those that deviate most in front, and the others by name. Returns their
/// earlier positions.
pub(super) fn order_hosts(hosts: &mut Vec<ComparedHost>, figures: &[FleetFigure]) -> Vec<usize> {
    let key = |host: &ComparedHost| {
        let strongest = strongest_outlier(host, figures).map(|(_, log)| log.abs());
        let thousandths = strongest.map(|log| (1e3 * log) as u64);
        (Reverse(thousandths), natural_order(&host.host))
    };
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    order.sort_by_cached_key(|at| key(&hosts[*at]));
    let mut taken: Vec<Option<ComparedHost>> =
        std::mem::take(hosts).into_iter().map(Some).collect();
    hosts.extend(order.iter().filter_map(|at| taken[*at].take()));
    order
}

/// Returns a key under which `n10` follows `n9`.
pub(super) fn natural_order(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    let mut in_number = false;
    for letter in name.chars() {
        let (text, number) = parts.last_mut().expect("it has a part");
        match letter.to_digit(10) {
            Some(digit) => {
                *number = number.saturating_mul(10).saturating_add(digit.into());
                in_number = true;
            }
            None if in_number => {
                parts.push((letter.to_string(), 0));
                in_number = false;
            }
            None => text.push(letter),
        }
    }
    parts
}

/// Returns the figure that says most about an outlier, and its deviation as a logarithm: a rate
/// before a ratio before a latency, and of these the one that deviates most.
pub(super) fn strongest_outlier(
    host: &ComparedHost,
    figures: &[FleetFigure],
) -> Option<(usize, f64)> {
    let all = host.deviations.iter().enumerate().filter_map(|(at, one)| {
        let one = one.as_ref().filter(|one| one.outlier.is_some())?;
        Some((at, one.of_others.value()?.ln()))
    });
    all.min_by(|(one, by), (other, other_by)| {
        let quantity = |at: usize| figures[at].key.quantity;
        quantity(*one).cmp(&quantity(*other)).then(other_by.abs().total_cmp(&by.abs()))
    })
}

/// Number of bins of a distribution.
const BINS: usize = 25;

/// Width of the bins in all, relative to that of the hosts that are no outliers.
const BINNED: f64 = 1.25;

/// Counts the deviations of each figure in bins around zero.
pub(super) fn count_bins(figures: &mut [FleetFigure], hosts: &[ComparedHost]) {
    for (at, figure) in figures.iter_mut().enumerate() {
        let deviations = hosts.iter().filter_map(|host| {
            let one = host.deviations[at].as_ref()?;
            Some((one.of_others.value()? - 1.0, one.outlier.is_some()))
        });
        let deviations: Vec<(f64, bool)> = deviations.collect();
        let ordinary = deviations.iter().filter(|(_, is_outlier)| !is_outlier);
        let reach = BINNED * ordinary.map(|(one, _)| one.abs()).fold(0.0, f64::max);
        if reach <= 0.0 {
            continue;
        }
        let (from, width) = (-reach, 2.0 * reach / BINS as f64);
        let (mut counts, mut has_outlier) = (vec![0; BINS], vec![false; BINS]);
        for (deviation, is_outlier) in deviations {
            let bin = ((deviation - from) / width).floor().clamp(0.0, BINS as f64 - 1.0) as usize;
            counts[bin] += 1;
            has_outlier[bin] |= is_outlier;
        }
        figure.bins = Some(DeviationBins { from, width, counts, has_outlier });
    }
}

/// Most hosts, or figures, that a sentence names.
pub(super) const NAMED: usize = 8;

/// Returns the names for a sentence: `n3, n7, n9`, or the first eight and a count.
pub(super) fn name_hosts<'a>(hosts: impl IntoIterator<Item = &'a str>) -> String {
    let hosts: Vec<&str> = hosts.into_iter().collect();
    match hosts.len().saturating_sub(NAMED) {
        0 => iotax_units::show_names(hosts),
        more => format!("{} and {more} more", hosts[..NAMED].join(", ")),
    }
}
