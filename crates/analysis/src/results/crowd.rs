//! Guests and hosts that load a stack together: how even their rates are, how much of a window all
//! of them ran, and the rate of many against that of one.

use crate::ceilings::masking;
use crate::compare::directions;
use crate::compare::ratio::{RateComparison, of_ratio, of_totals};
use crate::compare::rows;
use crate::findings::crowd::{Crowd, CrowdDirection, PlaceRow, Scaling};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, PartTotal, RoundTotal, StackSide};
use crate::gather::subject::{Quantity, mark_emulated};
use iotax_model::record::Place;
use iotax_stats::fairness::{self, Shares};
use iotax_stats::ratio::Total;
use iotax_stats::{Digits, Refusal, ratio};
use iotax_units::count_noun;
use std::collections::BTreeMap;

pub fn crowds(reading: &WorkloadView) -> Vec<Crowd> {
    (0..reading.sides.len()).filter_map(|at| of_stack(reading, at)).collect()
}

fn of_stack(reading: &WorkloadView, at: usize) -> Option<Crowd> {
    let side = &reading.sides[at];
    let all = IoShares::among_places(side, None)?;
    let shares = side.rounds.values().map(|round| round.together);
    let slices =
        side.rounds.values().map(|round| f64::from(round.with_parts)).sum::<f64>().max(1.0);
    let again = side.rounds.values().map(|round| f64::from(round.run_again)).sum::<f64>();
    let cpu = rows::stack_row(reading, at).cpu;
    let fewest = fewest(reading, at);
    let mut crowd = Crowd {
        stack: reading.name(at).to_owned(),
        places: all.rates.len(),
        left_out: side.left_out.iter().map(ToString::to_string).collect(),
        of_other_places: side.of_other_places,
        slowest: all.slowest.clone(),
        fastest: all.fastest.clone(),
        spread: all.spread,
        jain: all.jain,
        together: shares.sum::<f64>() / slices,
        late: side.rounds.values().map(|round| round.late).sum::<f64>() / slices,
        run_again: again / slices,
        per_core: cpu.map("1/s", |ns| 1e9 / ns),
        scaling: fewest.map(|fewest| scaling(reading, [fewest, at])),
        directions: ways(reading, side)
            .filter_map(|way| direction(reading, fewest, at, way))
            .collect(),
        rows: all.rates.keys().map(|place| place_row(reading, side, place)).collect(),
        emulated: reading.emulated(at),
        sentence: String::new(),
    };
    let is_one = |is: fn(&Place) -> bool| all.rates.keys().all(is);
    let them = match (is_one(Place::is_guest), is_one(|place| !place.is_guest())) {
        (true, _) => "guests",
        (_, true) => "hosts",
        _ => "hosts and labs",
    };
    crowd.sentence = crowd_words(&crowd, them);
    Some(crowd)
}

fn ways<'a>(
    reading: &WorkloadView,
    side: &'a StackSide,
) -> impl Iterator<Item = IoDirection> + use<'a> {
    let is_reported = |way: &IoDirection| {
        side.rounds
            .values()
            .flat_map(|round| round.parts.values())
            .any(|part| part.amount(Some(*way)) > 0.0)
    };
    reading.mix_directions().iter().copied().filter(is_reported)
}

/// Distribution of the I/Os over the places, for one direction or for all.
struct IoShares {
    rates: BTreeMap<Place, f64>,
    slowest: (String, f64),
    fastest: (String, f64),
    spread: MeasuredFigure,
    jain: MeasuredFigure,
}

impl IoShares {
    /// Computes the shares; `None` for a single place.
    fn among_places(side: &StackSide, way: Option<IoDirection>) -> Option<IoShares> {
        let rates = rates(side, way);
        let least = rates.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
        let most = rates.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        if rates.len() < 2 {
            return None;
        }
        Some(IoShares {
            slowest: (least.0.to_string(), *least.1),
            fastest: (most.0.to_string(), *most.1),
            spread: spread(side, way, [most.0, least.0], rates.len()),
            jain: jain(side, way, &rates),
            rates,
        })
    }
}

fn direction(
    reading: &WorkloadView,
    fewest: Option<usize>,
    at: usize,
    way: IoDirection,
) -> Option<CrowdDirection> {
    let shared = IoShares::among_places(&reading.sides[at], Some(way))?;
    let ratio = fewest.map(|fewest| {
        let paired = reading.pair(&reading.sides[fewest], &reading.sides[at]);
        let found = directions::direction_ratio(
            reading,
            [fewest, at],
            &paired,
            way,
            Quantity::Acknowledged,
        );
        (found.ratio_figure(), times_as_many(reading, [fewest, at]))
    });
    Some(CrowdDirection {
        direction: way.word(),
        slowest: shared.slowest,
        fastest: shared.fastest,
        spread: shared.spread,
        jain: shared.jain,
        efficiency: ratio
            .as_ref()
            .map(|(ratio, places)| ratio.clone().map("1", |ratio| ratio / places)),
        ratio: ratio.map(|(ratio, _)| ratio),
    })
}

fn place_row(reading: &WorkloadView, side: &StackSide, place: &Place) -> PlaceRow {
    let figure = |unit, of: &dyn Fn(&PartTotal) -> f64| {
        let rounds: Vec<(f64, f64)> = side
            .rounds
            .values()
            .filter_map(|round| round.parts.get(place))
            .map(|part| (part.seconds, of(part)))
            .collect();
        of_totals(&rounds, unit)
    };
    let of_way = |way: IoDirection| {
        ways(reading, side)
            .any(|known| known == way)
            .then(|| figure("1/s", &|part| part.amount(Some(way))))
    };
    PlaceRow {
        place: place.to_string(),
        iops: figure("1/s", &|part| part.ios),
        bytes_per_s: figure("B/s", &|part| part.bytes),
        of_mean: of_mean(side, place),
        p99: rows::latency_at(&side.latencies_in(reading.run, place), Some(0.99)),
        read_iops: of_way(IoDirection::Read),
        write_iops: of_way(IoDirection::Write),
    }
}

/// Returns the second place's rate over the first's, from the same rounds. The pair was picked from
/// all pairs as the furthest apart, so the interval is Bonferroni's over the number of pairs.
fn spread(
    side: &StackSide,
    way: Option<IoDirection>,
    [most, least]: [&Place; 2],
    places: usize,
) -> MeasuredFigure {
    // Each guest's rate is over its own windows, because slices by bytes end at different times.
    let total = |part: &PartTotal| Total { sum: part.amount(way), items: part.seconds };
    let of =
        |round: &RoundTotal| Some((total(round.parts.get(most)?), total(round.parts.get(least)?)));
    let rounds = [side.rounds.values().filter_map(of).collect::<Vec<(Total, Total)>>()];
    match ratio::of_means(&rounds) {
        Ok(found) => {
            let pairs = (places * (places - 1) / 2) as f64;
            let (low, high) = found.bounds_at(1.0 - 0.05 / pairs);
            // The slowest is no faster than the fastest.
            of_ratio(&found, "1").with_interval(Some(&Interval::from_bounds(low, high.min(1.0))))
        }
        Err(reason) => point(&rounds, reason),
    }
}

/// Returns the ratio without an interval, which is missing for this reason.
fn point(rounds: &[Vec<(Total, Total)>; 1], reason: Refusal) -> MeasuredFigure {
    match ratio::point_of_means(rounds) {
        Ok(value) => {
            MeasuredFigure::bare(value, "1", (rounds[0].len() as u64, SampleUnit::Rounds), reason)
        }
        Err(reason) => MeasuredFigure::missing(reason),
    }
}

/// Returns a place's rate over the mean of all of them, each over its own windows.
fn of_mean(side: &StackSide, place: &Place) -> MeasuredFigure {
    let of = |round: &RoundTotal| {
        let rate =
            |part: &PartTotal| if part.seconds > 0.0 { part.ios / part.seconds } else { 0.0 };
        let mean = round.parts.values().map(rate).sum::<f64>() / round.parts.len() as f64;
        let part = round.parts.get(place)?;
        Some((Total { sum: mean, items: 1.0 }, Total { sum: rate(part), items: 1.0 }))
    };
    let rounds = [side.rounds.values().filter_map(of).collect::<Vec<(Total, Total)>>()];
    ratio::of_means(&rounds)
        .map_or_else(|reason| point(&rounds, reason), |found| of_ratio(&found, "1"))
}

fn jain(
    side: &StackSide,
    way: Option<IoDirection>,
    rates: &BTreeMap<Place, f64>,
) -> MeasuredFigure {
    let share = |part: &PartTotal| (part.amount(way), part.seconds);
    let all =
        |round: &RoundTotal| rates.keys().map(|place| round.parts.get(place).map(share)).collect();
    let rounds: Vec<Shares> = side.rounds.values().filter_map(all).collect();
    let interval = match fairness::of_rounds(&rounds) {
        Ok(found) => Interval::of_t(found.low, found.high, found.freedom),
        Err(reason) => Interval::Missing { missing: reason.to_string() },
    };
    let value = fairness::jain(&rates.values().copied().collect::<Vec<_>>());
    MeasuredFigure::known_value(value, "1", (rounds.len() as u64, SampleUnit::Rounds), interval)
}

/// Returns the I/Os a second of each place, over its own windows of whole rounds.
fn rates(side: &StackSide, way: Option<IoDirection>) -> BTreeMap<Place, f64> {
    let mut sums: BTreeMap<Place, PartTotal> = BTreeMap::new();
    for (place, part) in side.rounds.values().flat_map(|round| &round.parts) {
        sums.entry(place.clone()).or_default().add_part(part);
    }
    let rate =
        |part: &PartTotal| if part.seconds > 0.0 { part.amount(way) / part.seconds } else { 0.0 };
    sums.into_iter().map(|(place, part)| (place, rate(&part))).collect()
}

/// Returns the stack with the fewest places that differs from stack `at` in nothing else; `None` if
/// there is none.
fn fewest(reading: &WorkloadView, at: usize) -> Option<usize> {
    let stacks = &reading.run.start.scenario.stacks;
    let copies = |stack: usize| stacks[stack].clients();
    let alike = |other: &usize| {
        stacks[*other].is_but_for_copies(&stacks[at]) && copies(*other) < copies(at)
    };
    (0..stacks.len()).filter(alike).min_by_key(|other| copies(*other))
}

fn times_as_many(reading: &WorkloadView, [fewest, at]: [usize; 2]) -> f64 {
    let clients = |stack: usize| {
        let lost = reading.sides[stack].left_out.len() as f64;
        f64::from(reading.run.start.scenario.stacks[stack].clients()) - lost
    };
    clients(at) / clients(fewest)
}

fn scaling(reading: &WorkloadView, [fewest, at]: [usize; 2]) -> Scaling {
    let paired = reading.pair(&reading.sides[fewest], &reading.sides[at]);
    let found = RateComparison::estimate(reading, [fewest, at], &paired, reading.basis());
    let places = times_as_many(reading, [fewest, at]);
    let ratio = found.rate_ratio_figure();
    let masked = masking::of_pair(reading, [fewest, at], &found.verdict).map(|masked| masked.words);
    let offered = reading.offered_apart([fewest, at]).map(|reason| reason.to_string());
    // The interval itself shows how wide it is.
    let is_width =
        |reason: &&Refusal| matches!(reason, Refusal::TooWide { .. } | Refusal::AmongMany { .. });
    let withheld =
        found.verdict.reason().filter(|reason| !is_width(reason)).map(ToString::to_string);
    Scaling {
        against: reading.name(fewest).to_owned(),
        places,
        efficiency: ratio.clone().map("1", |ratio| ratio / places),
        ratio,
        caution: offered.or(masked).or(withheld),
    }
}

fn crowd_words(crowd: &Crowd, them: &str) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let share = crowd.spread.value().unwrap_or(crowd.slowest.1 / crowd.fastest.1);
    let spread = match (crowd.spread.bounds(), crowd.fastest.1 > 0.0) {
        (_, false) => "none completed anything".to_owned(),
        (Some((_, high)), _) if high >= 1.0 => "no sure difference between them".to_owned(),
        (Some(bounds), _) => {
            format!(
                "the slowest has {} of the fastest",
                Digits::format_share(share, Some(bounds)).to_words()
            )
        }
        (None, _) => {
            format!("the slowest has {} of the fastest, how surely is not known", percent(share))
        }
    };
    let again = match crowd.run_again {
        more if more > FEW_AGAIN => {
            format!("; a slice was run {:.2} times on average until they did", 1.0 + more)
        }
        _ => String::new(),
    };
    let late = match crowd.late {
        share if share > MUCH_LATE => {
            format!(
                "; the last began {} into them, and rates are low by as much at most",
                percent(share)
            )
        }
        _ => String::new(),
    };
    format!(
        "{}: {} {them} at once{}, {spread}; all ran in {:.1} % of the windows{late}{again}",
        mark_emulated(&crowd.stack, crowd.emulated.is_some()),
        crowd.places,
        lost_places_note(crowd),
        100.0 * crowd.together
    )
}

fn lost_places_note(crowd: &Crowd) -> String {
    let rounds = count_noun(crowd.of_other_places, "round", "rounds");
    match (crowd.left_out.as_slice(), crowd.of_other_places) {
        ([], 0) => String::new(),
        ([], _) => format!(" ({rounds} after the loss of one, without it, not counted)"),
        (names, 0) => format!(" without {} (lost)", names.join(", ")),
        (names, _) => {
            format!(" without {} (lost; {rounds} with other places not counted)", names.join(", "))
        }
    }
}

/// Mean late start, as a share of the window, above which the sentence mentions it.
const MUCH_LATE: f64 = 0.01;

/// Mean number of repetitions of a slice above which the sentence mentions them. Slices are not
/// chosen for repetition by what they measure, but by how busy the host was.
const FEW_AGAIN: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use crate::twin;
    use iotax_model::record::{CpuTimes, LOST_PLACE, SampleValue, Warning};

    /// A reactor that polls is a core of user time in /proc/stat, whether it serves or not.
    #[test]
    fn a_polled_core_is_a_busy_one_and_counted_once() {
        let cores = |polled: f64| {
            let mut run = twin::crowd();
            run.slices.iter_mut().filter(|slice| slice.stack == "vm x4").for_each(|slice| {
                let own = CpuTimes { user_ns: slice.window_ns / 2, ..CpuTimes::default() };
                slice.host_cpu = Some(CpuTimes {
                    user_ns: own.user_ns + (polled * slice.window_ns as f64) as u64,
                    ..own
                });
            });
            let crowd = findings(&run).workloads.remove(0).crowds.remove(0);
            let (low, high) = crowd.per_core.bounds().unwrap();
            (crowd.slowest.1 + crowd.fastest.1) / (low + high)
        };
        assert!(
            (cores(1.0) / cores(0.0) - 1.5 / 0.5).abs() < 0.05,
            "{} {}",
            cores(1.0),
            cores(0.0)
        );
    }

    #[test]
    fn a_rate_is_offered_to_every_guest() {
        let mut run = twin::crowd();
        run.start.scenario.workloads[0].jobs[0].rate_iops = Some(1000);
        let reading = WorkloadView::from_run(&run, &run.start.scenario.workloads[0]);
        assert_eq!((reading.offered(0), reading.offered(1)), (Some(1000.0), Some(4000.0)));
        assert_eq!(reading.threads(1), 4.0 * reading.threads(0));
        // Four times the rate is what was asked for.
        let found = findings(&run);
        let workload = &found.workloads[0];
        let reason = "vm x4 is offered 4,000 I/Os a second and vm 1,000, as each of its members gets the workload's rate";
        assert!(
            workload.comparisons[0].rate.sentence.contains(reason),
            "{}",
            workload.comparisons[0].rate.sentence
        );
        assert_eq!(workload.comparisons[0].rate.ratio.value(), None);
        assert!(workload.charges[0].cpu.ratio.value().is_some(), "CPU time per I/O compares");
        let caution =
            workload.crowds[0].scaling.as_ref().and_then(|scaling| scaling.caution.clone());
        assert!(caution.is_some_and(|caution| caution.starts_with(reason)));
        assert!(found.headline.is_none_or(|said| !said.contains("IOPS")));
    }

    #[test]
    fn late_starts_and_slices_that_were_run_again_are_told() {
        let sentence = |late: f64, run_again: u32| {
            let mut run = twin::crowd();
            for slice in run.slices.iter_mut().filter(|slice| slice.together.is_some()) {
                (slice.late, slice.run_again) = (Some(late), run_again);
            }
            findings(&run).workloads.remove(0).crowds.remove(0).sentence
        };
        assert!(
            sentence(0.009, 0).ends_with("all ran in 98.0 % of the windows"),
            "{}",
            sentence(0.009, 0)
        );
        let told = sentence(0.12, 2);
        assert!(
            told.contains("; the last began 12.0 % into them, and rates are low by as much at most; a slice was run 3.00 times on average"),
            "{told}"
        );
    }

    #[test]
    fn reads_and_writes_of_many_are_shared_by_themselves() {
        let mut run = twin::crowd();
        run.start.scenario.workloads[0].jobs[0].rw = iotax_load::Rw::RandRw;
        for slice in &mut run.slices {
            let mut halves = Vec::new();
            for sample in slice.samples.iter_mut().filter(|one| one.metric.starts_with("read.")) {
                let mut half = sample.clone();
                half.metric = sample.metric.replace("read", "write");
                for one in [&mut half, sample] {
                    if let SampleValue::Value(amount) = &mut one.value {
                        *amount /= 2.0;
                    }
                }
                halves.push(half);
            }
            slice.samples.extend(halves);
            // The writes are shared evenly.
            let even = slice.parts.iter().map(|part| part.ios).sum::<u64>() / 8;
            for part in &mut slice.parts {
                (part.reads, part.writes) = (part.ios / 2, even);
            }
        }
        let found = findings(&run).workloads.remove(0);
        let [reads, writes] = found.crowds[0].directions.as_slice() else {
            panic!("{:?}", found.crowds[0])
        };
        assert_eq!((reads.direction, writes.direction), ("read", "write"));
        assert!((reads.jain.value().unwrap() - 100.0 / 120.0).abs() < 0.01, "{:?}", reads.jain);
        assert!(
            writes.jain.value().unwrap() > 0.999 && writes.spread.value().unwrap() > 0.99,
            "{writes:?}"
        );
        let ratios = [reads, writes].map(|one| one.ratio.as_ref().unwrap().value().unwrap());
        assert!(ratios.iter().all(|ratio| (ratio - 2.0).abs() < 0.1), "{ratios:?}");
        let rows = &found.crowds[0].rows;
        assert_eq!(
            rows.iter().map(|row| row.place.as_str()).collect::<Vec<_>>(),
            ["vm0", "vm1", "vm2", "vm3"]
        );
        let reads = |at: usize| rows[at].read_iops.as_ref().unwrap().value().unwrap();
        assert!((reads(3) / reads(0) - 4.0).abs() < 0.05 && rows[3].iops.bounds().is_some());
    }

    #[test]
    fn rounds_after_the_loss_of_a_place_are_of_another_load() {
        let lost_from = |of_all: f64| {
            let mut run = twin::crowd();
            let rounds = run.slices.iter().map(|slice| slice.round + 1).max().unwrap();
            let from = (of_all * f64::from(rounds)) as u32;
            let after = run
                .slices
                .iter_mut()
                .filter(|slice| slice.round >= from && !slice.parts.is_empty());
            for slice in after {
                let gone = slice.parts.pop().unwrap();
                let ios =
                    slice.samples.iter_mut().find(|sample| sample.metric == "read.ios").unwrap();
                let SampleValue::Value(ios) = &mut ios.value else { panic!("{:?}", slice.samples) };
                *ios -= gone.ios as f64;
            }
            let mut worker =
                run.workers.iter().find(|worker| worker.stack == "vm x4").unwrap().clone();
            for at in 0..4 {
                worker.place = format!("vm{at}").as_str().into();
                run.workers.push(worker.clone());
            }
            let (kind, subject) = (LOST_PLACE.to_owned(), "vm3".to_owned());
            run.warnings.push(Warning { kind, subject, text: "vm3 was lost".into() });
            findings(&run).workloads.remove(0)
        };
        let late = lost_from(0.8);
        let crowd = &late.crowds[0];
        assert_eq!((crowd.places, crowd.left_out.len()), (4, 0));
        assert!(
            crowd.of_other_places > 5 && crowd.sentence.contains("after the loss of one"),
            "{crowd:?}"
        );
        let whole = &late.comparisons[0];
        assert!(!whole.rate.sentence.contains("lost"), "{}", whole.rate.sentence);
        let early = lost_from(0.2);
        let crowd = &early.crowds[0];
        assert_eq!((crowd.places, crowd.left_out.as_slice()), (3, ["vm3".to_owned()].as_slice()));
        assert!(
            crowd.sentence.contains("3 guests at once without vm3 (lost; "),
            "{}",
            crowd.sentence
        );
        assert_eq!(early.rows[1].left_out, ["vm3"]);
        let left = &early.comparisons[0];
        assert!(
            left.rate.sentence.contains(" without vm3, which was lost"),
            "{}",
            left.rate.sentence
        );
        // Three of four that make 1, 2, 3 and 4 parts of ten.
        let part = left.rate.ratio.value().unwrap() / whole.rate.ratio.value().unwrap();
        assert!((part - 0.6).abs() < 0.02, "{part}");
        assert!(
            (early.rows[1].rounds + crowd.of_other_places) as f64
                > 0.9 * early.rows[0].rounds as f64
        );
    }

    #[test]
    fn many_guests_are_held_against_one() {
        let run = twin::crowd();
        let found = findings(&run);
        let crowd = &found.workloads[0].crowds[0];
        assert_eq!(
            (crowd.stack.as_str(), crowd.places, found.workloads[0].crowds.len()),
            ("vm x4", 4, 1)
        );
        // The twin's places get 1, 2, 3 and 4 parts of ten.
        assert_eq!((crowd.slowest.0.as_str(), crowd.fastest.0.as_str()), ("vm0", "vm3"));
        assert!((crowd.jain.value().unwrap() - 100.0 / 120.0).abs() < 0.01, "{:?}", crowd.jain);
        assert!(crowd.jain.bounds().is_some());
        let of_mean: Vec<f64> = crowd.rows.iter().map(|row| row.of_mean.value().unwrap()).collect();
        assert!(
            of_mean.iter().zip([0.4, 0.8, 1.2, 1.6]).all(|(one, of)| (one - of).abs() < 0.01),
            "{of_mean:?}"
        );
        // Each of the twin's places has the latencies of all.
        let p99 = found.workloads[0].rows[1].latency[0].p99.value().unwrap();
        assert!(crowd.rows.iter().all(|row| row.p99.value() == Some(p99)), "{:?}", crowd.rows);
        assert!((crowd.spread.value().unwrap() - 0.25).abs() < 0.001, "{:?}", crowd.spread);
        assert!(crowd.spread.bounds().is_some_and(|(_, high)| high < 1.0));
        let scaling = crowd.scaling.as_ref().unwrap();
        assert_eq!((scaling.against.as_str(), scaling.places), ("vm", 4.0));
        let (low, high) = scaling.efficiency.bounds().unwrap();
        // Twice the rate in four times the places.
        assert!(low < 0.5 && 0.5 < high && high - low < 0.1, "{low} {high}");
        assert!((crowd.together - 0.98).abs() < 1e-9);
        assert!(
            crowd.sentence.contains("4 guests at once, the slowest has 24.97 % +- "),
            "{}",
            crowd.sentence
        );
    }
}
