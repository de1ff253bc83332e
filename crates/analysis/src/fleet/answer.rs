//! The answer of a fleet in a sentence: which hosts differ from the others, by how much, and what
//! they differ in.

use super::compared::{name_hosts, side_of, strongest_outlier};
use super::quantity::{Difference, percent_words};
use crate::findings::fleet::{
    ComparedHost, FigureKey, FleetAnswer, FleetFigure, LikelyCause, OutlierSide,
};
use crate::findings::{Interval, MeasuredFigure};
use iotax_stats::family::{Family, stretch};
use iotax_stats::outliers::LEAST_COMPARED;
use iotax_units::count_noun;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most causes that a sentence names.
const MOST_CAUSES: usize = 2;

/// Most hosts that the answer begins with.
const FEW_NAMES: usize = 4;

/// Most groups of outliers that the answer names.
const MOST_GROUPS: usize = 2;

pub(super) fn fleet_answer(
    figures: &[FleetFigure],
    hosts: &[ComparedHost],
    causes: &[LikelyCause],
    zone: f64,
) -> FleetAnswer {
    let groups = outlier_groups(figures, hosts, causes);
    match groups.first() {
        Some(first) => FleetAnswer {
            class: if first.side == OutlierSide::Worse { "cost" } else { "gain" },
            sentence: outlier_sentence(&groups, figures, hosts),
        },
        None => alike_answer(figures, hosts, zone),
    }
}

/// Outliers on one side that differ in one fact, under the figure that says most about them.
struct OutlierGroup<'a> {
    figure: usize,
    side: OutlierSide,
    /// Hosts with their deviations as logarithms.
    hosts: Vec<(&'a str, f64)>,
    causes: Vec<&'a LikelyCause>,
}

/// Returns the outliers in groups, the largest first, and of equal ones that which deviates most.
fn outlier_groups<'a>(
    figures: &[FleetFigure],
    hosts: &'a [ComparedHost],
    causes: &'a [LikelyCause],
) -> Vec<OutlierGroup<'a>> {
    let mut first_cause: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, cause) in causes.iter().enumerate() {
        for host in &cause.hosts {
            first_cause.entry(host).or_insert(at);
        }
    }
    let mut alike: BTreeMap<(bool, usize), Vec<&ComparedHost>> = BTreeMap::new();
    for (at, host) in hosts.iter().enumerate() {
        let Some((figure, log)) = strongest_outlier(host, figures) else { continue };
        // Hosts without a cause have nothing in common.
        let cause = first_cause.get(host.host.as_str()).copied().unwrap_or(causes.len() + at);
        let is_worse = side_of(&figures[figure].key, log) == OutlierSide::Worse;
        alike.entry((is_worse, cause)).or_default().push(host);
    }
    let mut groups: Vec<OutlierGroup> = Vec::new();
    for ((is_worse, _), mut members) in alike {
        let side = if is_worse { OutlierSide::Worse } else { OutlierSide::Better };
        // Members that are outliers in other figures only are a group of their own.
        while let Some(figure) = shared_figure(&members, figures, side) {
            let is_in = |host: &&ComparedHost| outlier_log(host, figure, side).is_some();
            let (these, rest): (Vec<_>, Vec<_>) = members.into_iter().partition(is_in);
            let has_all =
                |cause: &&LikelyCause| these.iter().all(|host| cause.hosts.contains(&host.host));
            let causes = causes.iter().filter(has_all).collect();
            let log = |host: &&'a ComparedHost| {
                Some((host.host.as_str(), outlier_log(host, figure, side)?))
            };
            let hosts = these.iter().filter_map(log).collect();
            groups.push(OutlierGroup { figure, side, hosts, causes });
            members = rest;
        }
    }
    groups.sort_by(|one, other| {
        let farthest =
            |group: &OutlierGroup| group.hosts.iter().map(|(_, log)| log.abs()).fold(0.0, f64::max);
        (other.hosts.len().cmp(&one.hosts.len())).then(farthest(other).total_cmp(&farthest(one)))
    });
    groups
}

/// Returns the deviation of a host that is an outlier on this side in a figure, as a logarithm.
fn outlier_log(host: &ComparedHost, figure: usize, side: OutlierSide) -> Option<f64> {
    let own = host.deviations[figure].as_ref().filter(|one| one.outlier == Some(side))?;
    Some(own.of_others.value()?.ln())
}

/// Returns the figure in which most of the hosts are outliers on this side, of several the one of
/// the first quantity in which they deviate most; `None` if none of them is.
fn shared_figure(
    hosts: &[&ComparedHost],
    figures: &[FleetFigure],
    side: OutlierSide,
) -> Option<usize> {
    let score = |at: usize| {
        let logs = hosts.iter().filter_map(|host| outlier_log(host, at, side));
        let (count, sum) = logs.fold((0, 0.0), |(count, sum), log| (count + 1, sum + log.abs()));
        (count, Reverse(figures[at].key.quantity), (1e6 * sum) as u64, Reverse(at))
    };
    let best = (0..figures.len()).map(score).max()?;
    (best.0 > 0).then_some(best.3.0)
}

fn outlier_sentence(
    groups: &[OutlierGroup],
    figures: &[FleetFigure],
    hosts: &[ComparedHost],
) -> String {
    let shown = groups.iter().take(MOST_GROUPS);
    let words: Vec<String> =
        shown.map(|group| group_words(group, &figures[group.figure], hosts)).collect();
    let rest: usize = groups.iter().skip(MOST_GROUPS).map(|group| group.hosts.len()).sum();
    let more = match rest {
        0 => String::new(),
        _ => format!("; {} more", count_noun(rest as u64, "host differs", "hosts differ")),
    };
    format!("{}{more}", words.join("; "))
}

/// Returns `n7 is 38 % slower than the other 11 hosts (4k random reads at iodepth 32, IOPS of file);
/// likely: PCIe link 8.0 GT/s x2 (most others: 16.0 GT/s x4)`.
fn group_words(group: &OutlierGroup, figure: &FleetFigure, hosts: &[ComparedHost]) -> String {
    let names = name_hosts(group.hosts.iter().map(|(host, _)| *host));
    // More names are no answer; they follow it.
    let (subject, named) = match group.hosts.len() > FEW_NAMES {
        true => (format!("{} hosts", group.hosts.len()), format!(": {names}")),
        false => (names, String::new()),
    };
    let own = |host: &ComparedHost| host.deviations[group.figure].as_ref()?.of_others.value();
    let compared = hosts.iter().filter(|host| own(host).is_some()).count();
    let others = match compared - group.hosts.len() {
        1 => "the other host".to_owned(),
        others => format!("the other {others} hosts"),
    };
    let by = Difference::new(group.hosts.iter().map(|(_, log)| *log), others);
    let how = difference_words(&by, &figure.subject, &figure.key, figure.unit);
    let causes = group.causes.iter().take(MOST_CAUSES).map(|cause| cause.to_words());
    let causes: Vec<String> = causes.collect();
    let why = match (causes.is_empty(), group.hosts.len()) {
        (true, 1) => "; no recorded fact sets it apart".to_owned(),
        (true, _) => String::new(),
        (false, 1) => format!("; likely: {}", causes.join(", ")),
        (false, _) => format!("; likely, on all of them: {}", causes.join(", ")),
    };
    format!("{subject} {how}{named}{why}")
}

/// Returns how hosts differ and, in brackets, the load with what of the figure is not named yet:
/// `is 38 % slower than the other 11 hosts (4k random reads at iodepth 32, IOPS of file)`.
pub(super) fn difference_words(
    by: &Difference,
    subject: &str,
    key: &FigureKey,
    unit: &str,
) -> String {
    let definition = key.quantity.definition();
    let (how, figure) = ((definition.difference)(by, key), key.to_words(unit));
    match () {
        () if how.contains(&figure) => format!("{how} ({subject})"),
        () if how.contains((definition.word)(unit)) => format!("{how} ({subject}, {})", key.stack),
        () => format!("{how} ({subject}, {figure})"),
    }
}

/// Returns the answer where no host is an outlier.
fn alike_answer(figures: &[FleetFigure], hosts: &[ComparedHost], zone: f64) -> FleetAnswer {
    let open = |sentence: String| FleetAnswer { class: "open", sentence };
    if hosts.is_empty() {
        return open("unresolved: no host has a figure".to_owned());
    }
    if hosts.len() < LEAST_COMPARED {
        let have = count_noun(hosts.len() as u64, "host has", "hosts have");
        return open(format!(
            "unresolved: {have} figures, and {LEAST_COMPARED} are needed to find one that differs"
        ));
    }
    // Rates are what is asked about; tails and CPU time scatter more.
    let all = |is_rate: bool| -> Vec<usize> {
        let is_compared = |at: &usize| {
            let mut own = hosts.iter().filter_map(|host| host.deviations[*at].as_ref());
            figures[*at].more_is_better == is_rate
                && own.any(|one| one.of_others.bounds().is_some())
        };
        (0..figures.len()).filter(is_compared).collect()
    };
    let kept = [all(true), all(false)].into_iter().find(|kept| !kept.is_empty());
    let kept = kept.unwrap_or_default();
    let family = Family::single_kind(hosts.len() * kept.len().max(1));
    let deviations = || {
        kept.iter().flat_map(|at| {
            hosts.iter().filter_map(|host| Some((*at, &host.host, host.deviations[*at].as_ref()?)))
        })
    };
    let reaches =
        deviations().filter_map(|(at, _, one)| Some((at, farthest_reach(&one.of_others, family)?)));
    let Some((at, reach)) = reaches.max_by(|one, other| one.1.total_cmp(&other.1)) else {
        return open(no_interval_words(hosts));
    };
    if reach <= zone {
        let (others, zone) = (hosts.len() - 1, percent_words(zone));
        let sentence = format!("no host differs from the other {others} by more than {zone} %");
        return FleetAnswer { class: "none", sentence };
    }
    let farthest = deviations()
        .filter_map(|(at, host, one)| Some((at, host, one.of_others.value()?.ln(), one.q?)))
        .min_by(|one, other| one.3.total_cmp(&other.3));
    if let Some((at, host, log, q)) = farthest.filter(|(.., q)| *q <= NEARLY) {
        let by = Difference::new([log], format!("the other {} hosts", hosts.len() - 1));
        let figure = &figures[at];
        let how = difference_words(&by, &figure.subject, &figure.key, figure.unit);
        return open(format!(
            "no host differs beyond chance; nearest to it, {host} {how}; false-discovery rate {} %, and 1 % names a host",
            percent_words(q)
        ));
    }
    let figure = &figures[at];
    let of_figure = format!("({}, {})", figure.subject, figure.key.to_words(figure.unit));
    open(match reach <= WIDE {
        true => {
            format!(
                "no host differs beyond chance, or by more than {} % {of_figure}",
                percent_words(reach)
            )
        }
        false => format!(
            "no host differs beyond chance, but intervals are wide {of_figure}; hint: raise --budget"
        ),
    })
}

/// False-discovery rate up to which a host that is no outlier is named in the answer.
const NEARLY: f64 = 0.2;

/// Reach of the intervals, relative to the others, beyond which they exclude next to nothing.
const WIDE: f64 = 0.5;

/// Returns the answer where no figure can be compared, with the reason that most hosts have.
fn no_interval_words(hosts: &[ComparedHost]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let each = hosts.iter().flat_map(|host| host.deviations.iter().flatten().next());
    each.filter_map(|one| one.of_others.reason())
        .for_each(|why| *counts.entry(why).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let why = most.map(|(why, _)| format!(": {why}; hint: raise --budget")).unwrap_or_default();
    format!("unresolved: no figure has an interval on at least {LEAST_COMPARED} hosts{why}")
}

/// Returns how far from the others a host may be by an interval that holds for all hosts at once.
fn farthest_reach(of_others: &MeasuredFigure, family: Family) -> Option<f64> {
    let MeasuredFigure::Known { value, interval, .. } = of_others else { return None };
    let Interval::Bounds { low, high, freedom } = interval else { return None };
    let stretch = stretch(family, freedom.unwrap_or(f64::MAX));
    let end = |bound: f64| (value.ln() + stretch * (bound / value).ln()).exp();
    Some((1.0 - end(*low)).max(end(*high) - 1.0))
}
