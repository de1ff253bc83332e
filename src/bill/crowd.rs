//! Guests side by side: how evenly what is below is shared among them, how much of a window all of them ran, and what many
//! of them make of it against one.

use super::compare::{Estimated, Found};
use super::findings::Figure;
use super::gather::Side;
use super::reading::Reading;
use serde::Serialize;
use std::collections::BTreeMap;

/// One stack whose load runs in several places at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crowd {
    /// The stack.
    pub stack: String,
    /// How many.
    pub places: usize,
    /// The place with the least, and its I/Os a second.
    pub slowest: (String, f64),
    /// The one with the most.
    pub fastest: (String, f64),
    /// Jain's index of fairness (1984): 1 when all get the same, 1/n when one gets all.
    pub jain: f64,
    /// Share of the windows in which all ran, over all slices.
    pub together: f64,
    /// I/Os a second for each busy core of the host: by /proc/stat, where a core that polls (a reactor of SPDK's) is busy all
    /// the time, so that nothing has to be added for it.
    pub per_core: Figure,
    /// Against the same stack in fewer places.
    pub scaling: Option<Scaling>,
    /// In words.
    pub sentence: String,
}

/// Many against fewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The stack of fewer.
    pub against: String,
    /// How many times as many places.
    pub places: f64,
    /// Rate of the many over that of the fewer.
    pub ratio: Figure,
    /// That over `places`: 1 is a stack that scales without loss.
    pub efficiency: Figure,
}

/// Every such stack of a workload.
pub fn crowds(reading: &Reading) -> Vec<Crowd> {
    (0..reading.sides.len()).filter_map(|at| of_stack(reading, at)).collect()
}

fn of_stack(reading: &Reading, at: usize) -> Option<Crowd> {
    let side = &reading.sides[at];
    let rates = rates(side);
    let least = rates.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
    let most = rates.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    if rates.len() < 2 {
        return None;
    }
    let shares = side.rounds.values().map(|round| round.together);
    let slices = side.rounds.values().map(|round| f64::from(round.with_parts)).sum::<f64>();
    let cpu = super::rows::row(reading, at).cpu;
    let mut crowd = Crowd {
        stack: reading.name(at).to_owned(),
        places: rates.len(),
        slowest: (least.0.clone(), *least.1),
        fastest: (most.0.clone(), *most.1),
        jain: jain(&rates.values().copied().collect::<Vec<_>>()),
        together: shares.sum::<f64>() / slices.max(1.0),
        per_core: cpu.map("1/s", |ns| 1e9 / ns),
        scaling: scaling(reading, at),
        sentence: String::new(),
    };
    crowd.sentence = said(&crowd);
    Some(crowd)
}

/// I/Os a second of each place, over its own windows of whole rounds.
fn rates(side: &Side) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (place, (ios, seconds)) in side.rounds.values().flat_map(|round| &round.parts) {
        let sum = sums.entry(place.clone()).or_default();
        (sum.0, sum.1) = (sum.0 + ios, sum.1 + seconds);
    }
    let rate = |(ios, seconds): (f64, f64)| if seconds > 0.0 { ios / seconds } else { 0.0 };
    sums.into_iter().map(|(place, sum)| (place, rate(sum))).collect()
}

/// (sum x)^2 / (n sum x^2); where nobody gets anything all get the same.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 1.0 }
}

/// Against the stack that differs in nothing but having the fewest places.
fn scaling(reading: &Reading, at: usize) -> Option<Scaling> {
    let stacks = &reading.run.start.scenario.stacks;
    let copies = |stack: usize| stacks[stack].guests();
    let alike = |other: &usize| stacks[*other].is_but_for_copies(&stacks[at]) && copies(*other) < copies(at);
    let fewest = (0..stacks.len()).filter(alike).min_by_key(|other| copies(*other))?;
    let paired = reading.pair(&reading.sides[fewest], &reading.sides[at]);
    let found = Found::of(reading, [fewest, at], &paired, reading.basis());
    let places = f64::from(copies(at)) / f64::from(copies(fewest));
    let ratio = found.estimated.as_ref().map_or_else(Figure::missing, Estimated::figure);
    Some(Scaling {
        against: reading.name(fewest).to_owned(),
        places,
        efficiency: ratio.clone().map("1", |ratio| ratio / places),
        ratio,
    })
}

fn said(crowd: &Crowd) -> String {
    let spread = match crowd.fastest.1 > 0.0 {
        true => format!("the slowest has {:.0} % of the fastest", 100.0 * crowd.slowest.1 / crowd.fastest.1),
        false => "none completed anything".to_owned(),
    };
    format!(
        "{}: {} guests at once, {spread} (Jain's index {:.3}); all ran in {:.1} % of the windows",
        crowd.stack,
        crowd.places,
        crowd.jain,
        100.0 * crowd.together
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::findings;
    use crate::bill::twin;
    use crate::store::record::CpuTimes;

    #[test]
    fn jain_by_hand() {
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), 1.0);
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), 0.25);
        assert!((jain(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), 1.0);
    }

    /// A reactor that polls is a core of user time in /proc/stat, whether it serves or not.
    #[test]
    fn a_polled_core_is_a_busy_one_and_counted_once() {
        let cores = |polled: f64| {
            let mut run = twin::crowd();
            run.slices.iter_mut().filter(|slice| slice.stack == "vm x4").for_each(|slice| {
                let own = CpuTimes { user_ns: slice.window_ns / 2, ..CpuTimes::default() };
                slice.host_cpu =
                    Some(CpuTimes { user_ns: own.user_ns + (polled * slice.window_ns as f64) as u64, ..own });
            });
            let crowd = findings(&run).workloads.remove(0).crowds.remove(0);
            let (low, high) = crowd.per_core.bounds().unwrap();
            (crowd.slowest.1 + crowd.fastest.1) / (low + high)
        };
        assert!((cores(1.0) / cores(0.0) - 1.5 / 0.5).abs() < 0.05, "{} {}", cores(1.0), cores(0.0));
    }

    #[test]
    fn a_rate_is_offered_to_every_guest() {
        let mut run = twin::crowd();
        run.start.scenario.workloads[0].jobs[0].rate_iops = Some(1000);
        let reading = Reading::of(&run, &run.start.scenario.workloads[0]);
        assert_eq!((reading.offered(0), reading.offered(1)), (Some(1000.0), Some(4000.0)));
        assert_eq!(reading.threads(1), 4.0 * reading.threads(0));
    }

    #[test]
    fn many_guests_are_held_against_one() {
        let run = twin::crowd();
        let found = findings(&run);
        let crowd = &found.workloads[0].crowds[0];
        assert_eq!((crowd.stack.as_str(), crowd.places, found.workloads[0].crowds.len()), ("vm x4", 4, 1));
        // The twin's places get 1, 2, 3 and 4 parts of ten.
        assert_eq!((crowd.slowest.0.as_str(), crowd.fastest.0.as_str()), ("vm0", "vm3"));
        assert!((crowd.jain - 100.0 / 120.0).abs() < 0.01, "{}", crowd.jain);
        let scaling = crowd.scaling.as_ref().unwrap();
        assert_eq!((scaling.against.as_str(), scaling.places), ("vm", 4.0));
        let (low, high) = scaling.efficiency.bounds().unwrap();
        // Twice the rate in four times the places.
        assert!(low < 0.5 && 0.5 < high && high - low < 0.1, "{low} {high}");
        assert!((crowd.together - 0.98).abs() < 1e-9);
        assert!(
            crowd.sentence.contains("4 guests at once, the slowest has 25 % of the fastest"),
            "{}",
            crowd.sentence
        );
    }
}
