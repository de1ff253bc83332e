//! Words that the forms of a fleet's report share.

use super::super::number::{Shown, change_in_percent};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::fleet::{
    DeviationBins, FigureKey, FleetFigure, FleetFindings, HostDeviation, MissingHost, OutlierSide,
};
use iotax_stats::Digits;
use iotax_units::count_noun;
use std::collections::BTreeMap;

/// Returns the answer without what it is about and its causes: `n7 is 38 % slower than the other 11
/// hosts`.
pub fn fleet_title(found: &FleetFindings) -> String {
    let sentence = &found.answer.sentence;
    sentence.split(" (").next().unwrap_or(sentence).to_owned()
}

/// Returns `nightly · 11 of 12 hosts done; 1 lost · fleet ID`.
pub(crate) fn fleet_identity(found: &FleetFindings) -> String {
    let known = [found.name.as_deref().unwrap_or_default(), &found.counted, &found.source];
    let known = known.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> =
        known.map(str::to_owned).chain([format!("fleet {}", found.fleet)]).collect();
    parts.join(" \u{b7} ")
}

pub(crate) const LEGEND: &str = "\
    mean: geometric mean over hosts with its 95 % interval (random effects, Hartung-Knapp); spread: \
    standard deviation between hosts, without the error of measuring; without outliers: the spread of the other hosts; next host: where the next host \
    of this kind is expected, relative to the mean, with 95 %";

pub(crate) const MATRIX_LEGEND: &str = "\
    deviation from the mean of the other hosts, each with its own 95 % interval; worse, better: an \
    outlier, at a false-discovery rate of 1 % over all hosts and figures, and its whole interval is \
    beyond the limit of \"no difference\"";

/// Returns the figure with its load, unless all figures are of one load.
pub(crate) fn figure_name(found: &FleetFindings, figure: &FleetFigure) -> String {
    key_name(found, &figure.key, figure.unit)
}

pub(crate) fn key_name(found: &FleetFindings, key: &FigureKey, unit: &str) -> String {
    match has_one_load(found) {
        true => key.to_words(unit),
        false => format!("{}: {}", key.workload, key.to_words(unit)),
    }
}

fn has_one_load(found: &FleetFindings) -> bool {
    found.figures.iter().all(|one| one.key.workload == found.figures[0].key.workload)
}

/// Returns the mean as a cell with the number of its hosts, unless all have the figure.
pub(crate) fn counted_mean_cell(found: &FleetFindings, figure: &FleetFigure) -> String {
    match &figure.mean {
        MeasuredFigure::Known { n, .. } if (*n as usize) < found.hosts.len() => {
            format!("{} of {n} hosts", mean_cell(figure))
        }
        _ => mean_cell(figure),
    }
}

/// Returns the mean as a cell; a ratio is the change that it means.
pub(crate) fn mean_cell(figure: &FleetFigure) -> String {
    match figure.unit {
        "1" => change_in_percent(&figure.mean).cell(),
        _ => Shown::from_figure(&figure.mean).cell(),
    }
}

pub(crate) fn spread_cell(spread: &MeasuredFigure) -> String {
    match spread.value() {
        Some(value) => Digits::format_share(value, spread.bounds()).cell(),
        None => "-".to_owned(),
    }
}

/// Returns a spread without its interval.
pub(crate) fn bare_spread(spread: &MeasuredFigure) -> String {
    match spread.value() {
        Some(value) => Digits::format_share(value, spread.bounds()).value + " %",
        None => "-".to_owned(),
    }
}

/// Returns the interval of the next host relative to the mean: `+- 2.3 %`.
pub(crate) fn next_cell(figure: &FleetFigure) -> String {
    let next = &figure.next_host;
    let width = next.value().zip(next.bounds()).and_then(|(mean, (low, high))| {
        Digits::format_change(0.0, Some((low / mean - 1.0, high / mean - 1.0))).width()
    });
    width.unwrap_or_else(|| "-".to_owned())
}

pub(crate) fn hosts_cell(figure: &FleetFigure) -> String {
    match &figure.mean {
        MeasuredFigure::Known { n, .. } => n.to_string(),
        _ => "-".to_owned(),
    }
}

/// Returns `-38.2 +- 0.9 % worse`; `-` without the figure.
pub(crate) fn deviation_cell(one: Option<&HostDeviation>) -> String {
    let Some(one) = one else { return "-".to_owned() };
    let mark = match one.outlier {
        Some(OutlierSide::Worse) => " worse",
        Some(OutlierSide::Better) => " better",
        None => "",
    };
    format!("{}{mark}", change_in_percent(&one.of_others).cell())
}

/// Returns the ends of a distribution: `-3.4 to +3.4 %`.
pub(crate) fn bin_ends(bins: &DeviationBins) -> String {
    let to = bins.from + bins.width * bins.counts.len() as f64;
    format!("{:+.1} to {:+.1} %", 100.0 * bins.from, 100.0 * to)
}

/// Returns names for a cell or a sentence: the first eight and a count.
pub(crate) fn named_hosts(hosts: &[String]) -> String {
    const NAMED: usize = 8;
    match hosts.len().saturating_sub(NAMED) {
        0 => hosts.join(", "),
        more => format!("{} and {more} more", hosts[..NAMED].join(", ")),
    }
}

/// Returns the missing hosts by state and reason, for a line each: `3 lost: n4, n5, n9 (ssh: no
/// route to host); next: iotax fleet resume ID`.
pub(crate) fn missing_lines(found: &FleetFindings) -> Vec<String> {
    let mut groups: BTreeMap<_, Vec<&MissingHost>> = BTreeMap::new();
    for one in &found.missing {
        let without_name = |text: &Option<String>| Some(text.as_ref()?.replace(&one.host, "HOST"));
        let reason = (one.state.as_str(), without_name(&one.why), without_name(&one.next));
        groups.entry(reason).or_default().push(one);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    let lines = groups.into_iter().map(|((state, why, next), hosts)| {
        let (why, next) = match hosts.as_slice() {
            [one] => (one.why.clone(), one.next.clone()),
            _ => (why, next),
        };
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        let next = next.map(|next| format!("; next: {next}")).unwrap_or_default();
        let names: Vec<String> = hosts.iter().map(|one| one.host.clone()).collect();
        format!("{} {state}: {}{why}{next}", names.len(), named_hosts(&names))
    });
    lines.collect()
}

/// Returns the figures under which no host is compared, with the reason: `IOPS of file, p99 of file:
/// only 3 hosts have an interval`.
pub(crate) fn uncompared_lines(found: &FleetFindings) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (at, figure) in found.figures.iter().enumerate() {
        let own = || found.hosts.iter().filter_map(|host| host.deviations[at].as_ref());
        let reason = own().find_map(|one| one.of_others.reason());
        if let Some(reason) = reason.filter(|_| own().all(|one| one.of_others.value().is_none())) {
            groups.entry(reason).or_default().push(figure_name(found, figure));
        }
    }
    let line = |(reason, names): (&str, Vec<String>)| format!("{}: {reason}", named_hosts(&names));
    groups.into_iter().map(line).collect()
}

/// Returns `25 outliers of 1000 hosts`.
pub(crate) fn outlier_count(found: &FleetFindings) -> String {
    let outliers = found.hosts.iter().filter(|host| host.is_outlier()).count();
    let words = count_noun(outliers as u64, "outlier", "outliers");
    format!("{words} of {}", count_noun(found.hosts.len() as u64, "host", "hosts"))
}
