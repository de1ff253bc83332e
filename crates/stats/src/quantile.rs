//! Latency percentiles with their intervals: histograms are merged over rounds into 16 batches, percentiles are
//! read from the merged ones and never averaged into a figure. The one place that reads histograms.
//! Refuses a percentile with fewer than ten samples beyond it in any batch.

use super::spread::{BATCHES, mean};
use super::visits::{self, VisitRatio};
use super::{Refusal, t975};
use iotax_histogram::Histogram;

/// Samples that must lie beyond a percentile in each batch.
pub const LEAST_BEYOND: u64 = 10;

/// Half a bucket of the layout (128 an octave), as a logarithm: no percentile is known better than this.
const RESOLUTION: f64 = 1.0 / 256.0;

/// An estimate with its 95 % interval, all of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// From the pooled histograms.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Samples pooled (of the poorer side).
    pub samples: u64,
}

/// Latencies of one stack and direction: a histogram a batch of consecutive rounds.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    batches: Vec<Histogram>,
    /// Rounds that can be told apart; below 16 there is no interval.
    rounds: usize,
}

impl Batches {
    /// For so many rounds.
    pub fn new(rounds: usize) -> Batches {
        Batches { batches: vec![Histogram::new(); BATCHES.min(rounds.max(1))], rounds }
    }

    /// Adds the histogram of a slice of round `index` (position among the rounds, from 0).
    pub fn add(&mut self, index: usize, slice: &Histogram) {
        let count = self.batches.len();
        let batch = (index * count / self.rounds.max(1)).min(count - 1);
        self.batches[batch].merge(slice);
    }

    /// All batches merged.
    pub fn pooled(&self) -> Histogram {
        let mut pooled = Histogram::new();
        self.batches.iter().for_each(|batch| pooled.merge(batch));
        pooled
    }

    /// Completions in all batches.
    pub fn count(&self) -> u64 {
        self.batches.iter().map(Histogram::count).sum()
    }

    fn poorest(&self) -> u64 {
        self.batches.iter().map(Histogram::count).min().unwrap_or(0)
    }
}

/// Sum of the latencies in a histogram and their number.
pub fn total(histogram: &Histogram) -> (f64, f64) {
    let items = histogram.count() as f64;
    (histogram.mean().map_or(0.0, |mean| mean * items), items)
}

/// The `q` quantile (0.99) of one stack in nanoseconds.
///
/// # Errors
/// [`Refusal`] below 16 rounds or with a thin tail.
pub fn of_one(side: &Batches, q: f64) -> Result<Estimate, Refusal> {
    let logs = batch_logs(side, q)?;
    let pooled = log_quantile(&side.pooled(), q)?;
    Ok(interval(&logs, pooled, side.count()))
}

/// The pooled `q` quantile alone, for runs too short for an interval.
///
/// # Errors
/// [`Refusal::ThinTail`] with fewer than ten samples beyond it.
pub fn pooled_of_one(side: &Batches, q: f64) -> Result<f64, Refusal> {
    match beyond(side.count(), q) {
        have if have < LEAST_BEYOND => Err(Refusal::ThinTail { have }),
        _ => Ok(log_quantile(&side.pooled(), q)?.exp()),
    }
}

/// The pooled mean alone.
///
/// # Errors
/// [`Refusal::IdleStack`] when nothing completed.
pub fn pooled_mean_of_one(side: &Batches) -> Result<f64, Refusal> {
    side.pooled().mean().ok_or(Refusal::IdleStack)
}

/// The ratio of the `q` quantiles, B to A, paired by batches.
///
/// # Errors
/// [`Refusal`] below 16 rounds or with a thin tail on either side.
pub fn of_ratio(a: &Batches, b: &Batches, q: f64) -> Result<Estimate, Refusal> {
    let logs: Vec<f64> = batch_logs(b, q)?.iter().zip(batch_logs(a, q)?).map(|(b, a)| b - a).collect();
    let pooled = log_quantile(&b.pooled(), q)? - log_quantile(&a.pooled(), q)?;
    Ok(interval(&logs, pooled, a.count().min(b.count())))
}

/// The ratio of the `q` quantiles, or of the means, B to A, of paired visits `(A, B)`: what a set-up did to the latencies holds
/// for all rounds of its visit, so that each visit is read as a whole and counts once.
///
/// # Errors
/// [`Refusal`] below `least` pairs, with a thin tail in any visit, or when nothing completed in one.
pub fn of_visits(pairs: &[[Batches; 2]], q: Option<f64>, least: usize) -> Result<VisitRatio, Refusal> {
    let value = |side: &Batches| q.map_or_else(|| pooled_mean_of_one(side), |q| pooled_of_one(side, q));
    let values: Vec<(f64, f64)> =
        pairs.iter().map(|[a, b]| Ok((value(a)?, value(b)?))).collect::<Result<_, Refusal>>()?;
    let found = visits::of_at_least(least, &values)?;
    let resolution = RESOLUTION.exp();
    Ok(VisitRatio { low: found.low / resolution, high: found.high * resolution, ..found })
}

/// The mean latency of one stack in nanoseconds.
///
/// # Errors
/// [`Refusal`] below 16 rounds or when nothing completed in a batch.
pub fn mean_of_one(side: &Batches) -> Result<Estimate, Refusal> {
    let (logs, pooled) = mean_logs(side)?;
    Ok(interval(&logs, pooled, side.count()))
}

/// The ratio of the mean latencies, B to A, paired by batches.
///
/// # Errors
/// [`Refusal`] below 16 rounds or when nothing completed in a batch of either side.
pub fn mean_of_ratio(a: &Batches, b: &Batches) -> Result<Estimate, Refusal> {
    let ((of_a, pooled_a), (of_b, pooled_b)) = (mean_logs(a)?, mean_logs(b)?);
    let logs: Vec<f64> = of_b.iter().zip(of_a).map(|(b, a)| b - a).collect();
    Ok(interval(&logs, pooled_b - pooled_a, a.count().min(b.count())))
}

/// Logarithms of the mean of each batch, and of the pooled one.
fn mean_logs(side: &Batches) -> Result<(Vec<f64>, f64), Refusal> {
    enough_rounds(side)?;
    let ln_mean = |histogram: &Histogram| histogram.mean().filter(|mean| *mean > 0.0).map(f64::ln);
    let logs: Option<Vec<f64>> = side.batches.iter().map(ln_mean).collect();
    logs.zip(ln_mean(&side.pooled())).ok_or(Refusal::IdleStack)
}

/// Points of the pooled distribution, `(quantile, nanoseconds)`, as far as ten samples lie beyond; for drawing.
pub fn curve(side: &Batches) -> Vec<(f64, u64)> {
    const AT: [f64; 19] = [
        0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999,
        0.9995, 0.9999,
    ];
    let pooled = side.pooled();
    AT.iter()
        .filter(|q| beyond(pooled.count(), **q) >= LEAST_BEYOND)
        .filter_map(|q| pooled.percentile(*q).map(|ns| (*q, ns)))
        .collect()
}

fn enough_rounds(side: &Batches) -> Result<(), Refusal> {
    if side.rounds < BATCHES { Err(Refusal::TooFewRounds { have: side.rounds }) } else { Ok(()) }
}

fn batch_logs(side: &Batches, q: f64) -> Result<Vec<f64>, Refusal> {
    enough_rounds(side)?;
    let have = beyond(side.poorest(), q);
    if have < LEAST_BEYOND {
        return Err(Refusal::ThinTail { have });
    }
    side.batches.iter().map(|batch| log_quantile(batch, q)).collect()
}

/// Samples beyond a quantile; a hair is added since 1 - 0.999 is a little below 0.001.
fn beyond(count: u64, q: f64) -> u64 {
    (count as f64 * (1.0 - q) + 1e-6) as u64
}

fn log_quantile(histogram: &Histogram, q: f64) -> Result<f64, Refusal> {
    // Latencies below a nanosecond do not occur; the floor only keeps the logarithm finite.
    histogram.percentile(q).map(|ns| (ns.max(1) as f64).ln()).ok_or(Refusal::IdleStack)
}

/// mean +- t(15) s / 4, no finer than the buckets, stretched where needed to hold the pooled value (a
/// percentile between two modes may fall outside of its batches' spread).
fn interval(logs: &[f64], pooled: f64, samples: u64) -> Estimate {
    let centre = mean(logs);
    let variance = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / (logs.len() - 1) as f64;
    let half_width = t975(logs.len() - 1) * (variance / logs.len() as f64).sqrt() + RESOLUTION;
    Estimate {
        value: pooled.exp(),
        low: (centre - half_width).min(pooled).exp(),
        high: (centre + half_width).max(pooled).exp(),
        samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    fn side(noise: &mut Noise, rounds: usize, ios: usize, median_ns: f64) -> Batches {
        let mut batches = Batches::new(rounds);
        for round in 0..rounds {
            let mut slice = Histogram::new();
            (0..ios).for_each(|_| slice.record((median_ns * (0.5 * noise.normal()).exp()) as u64));
            batches.add(round, &slice);
        }
        batches
    }

    #[test]
    fn known_percentiles_and_ratio_are_covered() {
        let mut noise = Noise::new(11);
        let (a, b) = (side(&mut noise, 40, 500, 1e5), side(&mut noise, 40, 500, 1.1e5));
        let p50 = of_one(&a, 0.5).unwrap();
        assert!(p50.low < 1e5 && 1e5 < p50.high && p50.high / p50.low < 1.04, "{p50:?}");
        let p99 = of_one(&a, 0.99).unwrap();
        let truth = 1e5 * (0.5f64 * 2.326_348).exp();
        assert!(p99.low < truth && truth < p99.high, "{p99:?} {truth}");
        let ratio = of_ratio(&a, &b, 0.5).unwrap();
        assert!(ratio.low < 1.1 && 1.1 < ratio.high, "{ratio:?}");
        assert_eq!(ratio.samples, 20_000);
        let mean = mean_of_one(&a).unwrap();
        assert!(mean.low < 113_315.0 && 113_315.0 < mean.high, "{mean:?}");
        let of_means = mean_of_ratio(&a, &b).unwrap();
        assert!(of_means.low < 1.1 && 1.1 < of_means.high && of_means.high < 1.15, "{of_means:?}");
    }

    #[test]
    fn what_a_set_up_does_is_in_the_interval_of_visits_and_in_no_other() {
        let (mut held, mut merged_held, runs) = (0, 0, 200);
        for seed in 0..runs {
            let mut noise = Noise::new(seed);
            let pairs: Vec<[Batches; 2]> = (0..4)
                .map(|_| {
                    [1e5, 1.1e5].map(|median| {
                        let luck = (0.1 * noise.normal()).exp();
                        side(&mut noise, 16, 40, luck * median)
                    })
                })
                .collect();
            let holds = |low: f64, high: f64| usize::from(low < 1.1 && 1.1 < high);
            let found = of_visits(&pairs, Some(0.5), 4).unwrap();
            held += holds(found.low, found.high);
            let merged = |at: usize| {
                let mut all = Batches::new(64);
                for (visit, pair) in pairs.iter().enumerate() {
                    pair[at]
                        .batches
                        .iter()
                        .enumerate()
                        .for_each(|(round, one)| all.add(16 * visit + round, one));
                }
                all
            };
            let found = of_ratio(&merged(0), &merged(1), 0.5).unwrap();
            merged_held += holds(found.low, found.high);
        }
        assert!(held >= 184, "{held} of {runs}");
        assert!(merged_held < 170, "as if each batch were a set-up of its own: {merged_held} of {runs}");
    }

    #[test]
    fn visits_are_refused_as_everywhere() {
        let mut noise = Noise::new(13);
        let pairs: Vec<[Batches; 2]> =
            (0..4).map(|_| [1e5, 1.1e5].map(|median| side(&mut noise, 4, 200, median))).collect();
        assert!(of_visits(&pairs, None, 4).unwrap().visits == 4 && of_visits(&pairs, Some(0.98), 4).is_ok());
        assert_eq!(of_visits(&pairs[..3], Some(0.5), 4), Err(Refusal::TooFewVisits { have: 3 }));
        assert!(of_visits(&pairs[..3], Some(0.5), 3).is_ok());
        assert_eq!(of_visits(&pairs, Some(0.999), 4), Err(Refusal::ThinTail { have: 0 }));
        let idle = [[Batches::new(1), pairs[0][1].clone()]; 1];
        assert_eq!(of_visits(&idle, None, 4), Err(Refusal::IdleStack));
    }

    #[test]
    fn thin_tails_and_few_rounds_are_refused() {
        let mut noise = Noise::new(12);
        let thin = side(&mut noise, 16, 500, 1e5);
        assert!(matches!(of_one(&thin, 0.99), Err(Refusal::ThinTail { have: 5 })));
        assert!(of_one(&thin, 0.98).is_ok());
        let few = side(&mut noise, 15, 5000, 1e5);
        assert_eq!(of_one(&few, 0.5), Err(Refusal::TooFewRounds { have: 15 }));
        assert!(curve(&few).len() > 10, "the pooled curve needs no interval");
        assert!(curve(&Batches::new(0)).is_empty());
        assert!(matches!(mean_of_one(&Batches::new(20)), Err(Refusal::IdleStack)));
        assert!(matches!(mean_of_ratio(&thin, &Batches::new(20)), Err(Refusal::IdleStack)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn percentiles_are_monotone_and_inside_their_interval(seed: u64, median in 1e3..1e8f64) {
            let batches = side(&mut Noise::new(seed), 20, 300, median);
            let curve = curve(&batches);
            prop_assert!(curve.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            let found = of_one(&batches, 0.9).unwrap();
            prop_assert!(found.low <= found.value && found.value <= found.high);
        }

        #[test]
        fn merging_order_does_not_matter(seed: u64) {
            let mut noise = Noise::new(seed);
            let slices: Vec<Histogram> = (0..20).map(|_| side(&mut noise, 1, 50, 1e5).pooled()).collect();
            let (mut one, mut other) = (Batches::new(1), Batches::new(1));
            slices.iter().for_each(|slice| one.add(0, slice));
            slices.iter().rev().for_each(|slice| other.add(0, slice));
            prop_assert_eq!(one.pooled().count(), other.pooled().count());
            prop_assert_eq!(one.pooled().percentile(0.9), other.pooled().percentile(0.9));
        }
    }
}
