//! Latencies of pairs of stacks: ratios of percentiles, and the share of a stack's I/Os that take
//! longer than a percentile of the baseline's.

use crate::compare::directions;
use crate::compare::ratio::{AddedPerIo, EstimatedRatio, of_estimate, of_ratio};
use crate::compare::rows;
use crate::findings::{Interval, MeasuredFigure, SampleUnit, TailFinding, percentile_name};
use crate::gather::pairing::{PairedUnits, VisitUnit};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, RoundId, StackSide};
use crate::gather::subject::mark_emulated;
use iotax_stats::exceedance::{RoundHistograms, Threshold, number_beyond, share_ratio};
use iotax_stats::quantile;
use iotax_stats::{Digits, Refusal, visits};
use iotax_units::show_ns;

/// Smallest quantile that counts as a tail.
const TAIL_FROM: f64 = 0.9;

/// Returns the ratios of latency percentiles, second side over first: for each direction that both
/// have, p50, p99, p99.9 and those that the scenario asks for. A row is direction, quantile (0 to
/// 1), ratio.
pub fn ratios(
    reading: &WorkloadView,
    sides: [&StackSide; 2],
    paired: &PairedUnits,
) -> Vec<(&'static str, f64, MeasuredFigure)> {
    let mut ratios = Vec::new();
    for (way, pair) in PairedLatencies::of_all(reading, sides, paired) {
        ratios.extend(quantiles(reading).map(|q| (way.word(), q, pair.quantile_ratio(q))));
    }
    ratios
}

/// Returns the latency of stack `pair[1]` over that of stack `pair[0]` in one direction, at a
/// quantile or, for `None`, in the mean.
pub fn latency_ratio(
    reading: &WorkloadView,
    pair: [usize; 2],
    way: IoDirection,
    quantile: Option<f64>,
) -> MeasuredFigure {
    if let Some(reason) = reading.own_clocks_unlike(pair) {
        return MeasuredFigure::missing(reason);
    }
    let [a, b] = pair.map(|at| &reading.sides[at]);
    let paired = reading.pair(a, b);
    match quantile {
        None => AddedPerIo::between_stacks(a, b, &paired, directions::wait_total(Some(way)))
            .ratio_figure(),
        Some(q) => PairedLatencies::gather_pair(reading, [a, b], &paired, way).quantile_ratio(q),
    }
}

/// Returns the shares of the second stack's I/Os that take longer than the tail percentiles of the
/// first.
pub fn tail_findings(
    reading: &WorkloadView,
    [base, at]: [usize; 2],
    paired: &PairedUnits,
) -> Vec<TailFinding> {
    let sides = [base, at].map(|at| &reading.sides[at]);
    let names =
        [base, at].map(|at| mark_emulated(reading.name(at), reading.emulated(at).is_some()));
    let mut all = Vec::new();
    for (way, pair) in PairedLatencies::of_all(reading, sides, paired) {
        let tails = quantiles(reading).filter(|q| *q >= TAIL_FROM);
        all.extend(tails.map(|q| pair.finding(way, q, &names)));
    }
    all
}

fn quantiles(reading: &WorkloadView) -> impl Iterator<Item = f64> {
    let asked =
        reading.run.start.scenario.measure.percentiles.iter().map(|percent| percent / 100.0);
    [0.5, 0.99, 0.999].into_iter().chain(asked)
}

/// Latencies of one direction on baseline and stack, for each stratum of paired rounds or for each
/// visit.
enum PairedLatencies {
    Rounds(Vec<[RoundHistograms; 2]>),
    Visits(Vec<[RoundHistograms; 2]>, VisitUnit),
}

impl PairedLatencies {
    /// Returns the latencies of each direction that both have.
    fn of_all(
        reading: &WorkloadView,
        sides: [&StackSide; 2],
        paired: &PairedUnits,
    ) -> impl Iterator<Item = (IoDirection, PairedLatencies)> {
        let of = move |way| (way, PairedLatencies::gather_pair(reading, sides, paired, way));
        IoDirection::ALL
            .into_iter()
            .map(of)
            .filter(|(_, pair)| pair.latency_counts().iter().all(|count| *count > 0))
    }

    fn gather_pair(
        reading: &WorkloadView,
        sides: [&StackSide; 2],
        paired: &PairedUnits,
        way: IoDirection,
    ) -> PairedLatencies {
        // The side already has them all, unless the sides differ.
        let some = |side: &StackSide, ids: &[RoundId]| match ids.len() == side.rounds.len() {
            true => side.of_way(way).clone(),
            false => side.latencies_of(reading.run, ids, way),
        };
        match paired {
            PairedUnits::Rounds(ids) => {
                let strata = sides[0].strata.split(ids);
                PairedLatencies::Rounds(
                    strata.iter().map(|ids| sides.map(|side| some(side, ids))).collect(),
                )
            }
            PairedUnits::Visits(ids, unit) => {
                let visit = |id: &u32| sides.map(|side| some(side, &side.rounds_of(*id)));
                PairedLatencies::Visits(ids.iter().map(visit).collect(), *unit)
            }
        }
    }

    fn pairs(&self) -> &[[RoundHistograms; 2]] {
        match self {
            PairedLatencies::Rounds(pairs) | PairedLatencies::Visits(pairs, _) => pairs,
        }
    }

    fn latency_counts(&self) -> [u64; 2] {
        [0, 1].map(|at| self.pairs().iter().map(|pair| pair[at].count()).sum())
    }

    fn merge_side(&self, at: usize) -> RoundHistograms {
        let mut merged = RoundHistograms::new(1);
        self.pairs().iter().for_each(|pair| merged.add(0, &pair[at].pooled_histogram()));
        merged
    }

    fn quantile_ratio(&self, q: f64) -> MeasuredFigure {
        match self {
            PairedLatencies::Rounds(strata) => {
                let pooled = || {
                    let [a, b] = [self.merge_side(0), self.merge_side(1)]
                        .map(|side| quantile::pooled_of_one(&side, q));
                    Ok::<f64, Refusal>(b? / a?)
                };
                match quantile::of_ratio(strata, q) {
                    Err(few @ Refusal::TooFewRounds { .. }) => match pooled() {
                        Ok(ratio) => {
                            let counted = (self.latency_counts().iter().sum(), SampleUnit::Samples);
                            MeasuredFigure::bare(ratio, "1", counted, few)
                        }
                        Err(reason) => MeasuredFigure::missing(reason),
                    },
                    found => of_estimate(found, "1"),
                }
            }
            PairedLatencies::Visits(pairs, unit) => {
                match quantile::of_visits(pairs, q, unit.least()) {
                    Ok(found) => EstimatedRatio::Visits(found, *unit).estimated_figure(),
                    Err(reason) => MeasuredFigure::missing(reason),
                }
            }
        }
    }

    fn added(&self, q: f64) -> MeasuredFigure {
        match self {
            PairedLatencies::Rounds(strata) => {
                of_estimate(quantile::of_difference(strata, q), "ns")
            }
            PairedLatencies::Visits(pairs, unit) => {
                match quantile::difference_of_visits(pairs, q, unit.least()) {
                    Ok(found) => {
                        let bounds =
                            (found.value - found.half_width, found.value + found.half_width);
                        let interval = Interval::from_bounds(bounds.0, bounds.1);
                        MeasuredFigure::known_value(
                            found.value,
                            "ns",
                            (found.rounds as u64, unit.sample_unit()),
                            interval,
                        )
                    }
                    Err(reason) => MeasuredFigure::missing(reason),
                }
            }
        }
    }

    /// Returns the share of the stack's I/Os above the threshold that the share `beyond` of the
    /// baseline's I/Os exceeds.
    fn share_above(&self, beyond: f64) -> MeasuredFigure {
        let pooled = self.merge_side(0).pooled_histogram();
        let Some(threshold) = Threshold::exceeded_by(&pooled, beyond) else {
            return MeasuredFigure::missing(Refusal::IdleBaseline);
        };
        let ratio = match self {
            PairedLatencies::Rounds(strata) => {
                share_ratio(strata, [threshold; 2]).map(|found| of_ratio(&found, "1"))
            }
            PairedLatencies::Visits(pairs, unit) => {
                let share =
                    |side: &RoundHistograms| number_beyond(side, threshold) / side.count() as f64;
                let shares: Vec<(f64, f64)> =
                    pairs.iter().map(|[a, b]| (share(a), share(b))).collect();
                visits::of_at_least(unit.least(), &shares)
                    .map(|found| EstimatedRatio::Visits(found, *unit).estimated_figure())
            }
        };
        ratio.map_or_else(MeasuredFigure::missing, |ratio| {
            ratio.map("1", |times| (beyond * times).min(1.0))
        })
    }

    fn finding(&self, way: IoDirection, q: f64, [base, stack]: &[String; 2]) -> TailFinding {
        let beyond = 1.0 - q;
        let share = self.share_above(beyond);
        let threshold = match self.pairs() {
            [[base, _]] => rows::latency_at(base, Some(q)),
            _ => match quantile::pooled_of_one(&self.merge_side(0), q) {
                Ok(ns) => {
                    let counted = (self.latency_counts()[0], SampleUnit::Samples);
                    MeasuredFigure::bare(
                        ns,
                        "ns",
                        counted,
                        "of all set-ups together; its row has the interval",
                    )
                }
                Err(reason) => MeasuredFigure::missing(reason),
            },
        };
        let sentence = threshold.value().zip(share.value()).map(|(ns, value)| {
            let digits = Digits::format_share(value, share.bounds());
            format!(
                "{} % of {base}'s {}s take longer than {}, of {stack}'s {}",
                percent_name(beyond),
                way.word(),
                show_ns(ns),
                digits.to_words()
            )
        });
        TailFinding {
            direction: way.word(),
            quantile: q,
            threshold,
            share,
            added: self.added(q),
            sentence,
        }
    }
}

pub fn percent_name(share: f64) -> String {
    percentile_name(share).trim_start_matches('p').to_owned()
}

#[cfg(test)]
mod tests {
    use crate::{findings, twin};

    #[test]
    fn slow_ios_are_counted_beyond_the_baselines_percentile() {
        let mut run = twin::bill_of_seed(7);
        run.start.scenario.measure.percentiles = vec![20.0, 95.0];
        let comparison = findings(&run).workloads.remove(0).comparisons.remove(0);
        let quantiles: Vec<f64> = comparison.tails.iter().map(|one| one.quantile).collect();
        assert_eq!(quantiles, [0.99, 0.999, 0.95], "a fifth is no tail");
        let tail = &comparison.tails[0];
        let (share, (low, high)) = (tail.share.value().unwrap(), tail.share.bounds().unwrap());
        assert!(low < share && share < high && share > 0.01, "loop is slower: {:?}", tail.share);
        let added = tail.added.value().unwrap();
        let p99 = |at: usize| findings(&run).workloads[0].rows[at].latency[0].p99.value().unwrap();
        assert!((added / (p99(1) - p99(0)) - 1.0).abs() < 1e-9);
        let said = tail.sentence.as_ref().unwrap();
        assert!(said.starts_with("1 % of file's reads take longer than "), "{said}");
        assert!(said.contains(", of loop's ") && said.contains(" %"), "{said}");
    }
}
