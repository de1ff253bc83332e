//! The pilot runs the baseline alone for some seconds, to choose the length of a slice and the
//! pattern of a round. Its data are used for nothing else, so that the choice cannot bias the
//! result.

use super::spectrum::{self, SpectralLine};
use super::spread::mean;
use serde::{Deserialize, Serialize};

/// Length of the pilot's slices, the shortest that are used, in seconds.
pub const SLICE_S: f64 = 0.05;
/// Shortest duration of a pilot, in seconds.
pub const LEAST_S: f64 = 4.0;
/// Longest duration of a pilot, in seconds.
pub const MOST_S: f64 = 10.0;
/// Number of completions that a slice of the slowest stack should have.
const COMPLETIONS: f64 = 200.0;
/// Longest slice that a slow stack is given, in seconds.
const LONGEST_S: f64 = 30.0;
/// Lengths of a slice that a pilot can choose, as multiples of [`SLICE_S`].
const MULTIPLES: [usize; 6] = [1, 2, 4, 8, 12, 20];
/// Number of standard errors of its own price by which a longer design must be cheaper. Longer
/// slices gain a tenth where switching is cheap and lose much where the noise is not white, of
/// which the few long rounds of a pilot say little.
const SURE: f64 = 2.0;

/// Share of the chosen price below which the price of another length makes the pilot go on.
const MUCH: f64 = 0.45;

/// One slice of the pilot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotSlice {
    /// Work per second of the slice.
    pub rate: f64,
    /// Seconds from its start to the next one's: the window, the discarded part and the drain.
    pub took_s: f64,
}

/// Order of slices within a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// A random permutation and its mirror image: ABBA or BAAB.
    #[default]
    Mirror,
    /// The order of [`Pattern::Mirror`], then the same with its halves exchanged: ABBABAAB or
    /// BAABABBA. A disturbance whose period is a mirrored round cancels in it.
    Double,
}

impl Pattern {
    /// Returns the number of slices of each stack in a round.
    pub fn slices(self) -> usize {
        match self {
            Pattern::Mirror => 2,
            Pattern::Double => 4,
        }
    }
}

/// Design by which a workload is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Length of a slice's window, in seconds.
    pub slice_s: f64,
    /// Order of slices within a round.
    pub pattern: Pattern,
    /// Period of a recurring disturbance on the machine, in seconds, if that decided the pattern;
    /// otherwise `None`.
    pub period_s: Option<f64>,
}

/// Conditions that a design has to meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DesignBounds {
    /// Number of stacks in a round.
    pub stacks: usize,
    /// I/Os per second of the slowest stack.
    pub slowest: f64,
    /// Budget in seconds; 16 rounds must fit into three quarters of it.
    pub budget_s: f64,
}

/// Returns true if the pilot should go on: until [`LEAST_S`], and then while its choice is not
/// clear, until [`MOST_S`].
pub fn goes_on(slices: &[PilotSlice]) -> bool {
    let lasted: f64 = slices.iter().map(|slice| slice.took_s).sum();
    lasted < LEAST_S || (lasted < MOST_S && !is_clear(slices))
}

/// Chooses length and pattern by their prices in the pilot's slices. The slices are then made
/// longer if the slowest stack has too few completions, and shorter if 16 rounds do not fit into
/// the budget.
pub fn design(slices: &[PilotSlice], bounds: &DesignBounds) -> Design {
    let line = spectrum::find_line(&slices.iter().map(|slice| slice.rate).collect::<Vec<_>>());
    let (multiple, pattern) = best(&prices(slices, line.is_some()));
    let chosen = multiple as f64 * SLICE_S;
    let slice_s = chosen.max(length_for(bounds.slowest)).min(longest_within(bounds, pattern));
    let period_s = line.filter(|_| pattern == Pattern::Double).map(|line| period(&line, slices));
    Design { slice_s, pattern, period_s }
}

/// Returns the length of a slice, in seconds, in which a stack with `slowest` completions per
/// second has 200 of them: rounded up to 10 ms, at least [`SLICE_S`] and at most 30 s.
pub fn length_for(slowest: f64) -> f64 {
    let wanted = if slowest > 0.0 { COMPLETIONS / slowest } else { LONGEST_S };
    ((wanted * 100.0).ceil() / 100.0).clamp(SLICE_S, LONGEST_S)
}

/// Returns the longest slice, in seconds, with which 16 rounds fit into three quarters of the
/// budget (at least 1 ms): better few completions than no interval.
fn longest_within(bounds: &DesignBounds, pattern: Pattern) -> f64 {
    let slices = (16 * pattern.slices() * bounds.stacks) as f64;
    (0.75 * bounds.budget_s / slices * 1000.0).floor().max(1.0) / 1000.0
}

fn period(line: &SpectralLine, slices: &[PilotSlice]) -> f64 {
    line.period * mean(&slices.iter().map(|slice| slice.took_s).collect::<Vec<_>>())
}

/// Returns the mean time of a slice outside its window, in seconds.
fn overhead(slices: &[PilotSlice]) -> f64 {
    if slices.is_empty() {
        return 0.0;
    }
    (mean(&slices.iter().map(|slice| slice.took_s).collect::<Vec<_>>()) - SLICE_S).max(0.0)
}

/// Price of a design: variance of a round in which the baseline takes the place of all stacks,
/// times the duration of the round.
#[derive(Clone, Copy, Debug)]
struct Price {
    multiple: usize,
    pattern: Pattern,
    price: f64,
    /// Relative standard error of the price.
    error: f64,
}

/// Returns the price of each length and pattern of which the pilot holds at least three rounds.
/// [`Pattern::Double`] is tried only if there is a periodic disturbance.
fn prices(slices: &[PilotSlice], periodic: bool) -> Vec<Price> {
    let rates: Vec<f64> = slices.iter().map(|slice| slice.rate).collect();
    let patterns: &[Pattern] =
        if periodic { &[Pattern::Mirror, Pattern::Double] } else { &[Pattern::Mirror] };
    let all = MULTIPLES
        .iter()
        .flat_map(|multiple| patterns.iter().map(move |pattern| (*multiple, *pattern)));
    all.filter_map(|(multiple, pattern)| price(&rates, multiple, pattern, overhead(slices)))
        .collect()
}

/// Computes the price of a design from the baseline's rates, with a round at every possible start.
/// Rounds that overlap are not independent, so only those side by side count for the error. `None`
/// if fewer than three fit side by side.
fn price(rates: &[f64], multiple: usize, pattern: Pattern, overhead_s: f64) -> Option<Price> {
    let signs: &[f64] = match pattern {
        Pattern::Mirror => &[1.0, -1.0, -1.0, 1.0],
        Pattern::Double => &[1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0],
    };
    let whole = rates.len() / (signs.len() * multiple);
    if whole < 3 {
        return None;
    }
    let blocks: Vec<f64> = rates.chunks_exact(multiple).map(mean).collect();
    let scale = mean(rates) * signs.len() as f64 / 2.0;
    let contrast = |round: &[f64]| {
        (round.iter().zip(signs).map(|(rate, sign)| rate * sign).sum::<f64>() / scale).powi(2)
    };
    let variance = mean(&blocks.windows(signs.len()).map(contrast).collect::<Vec<_>>());
    let seconds = signs.len() as f64 * (multiple as f64 * SLICE_S + overhead_s);
    Some(Price { multiple, pattern, price: variance * seconds, error: (2.0 / whole as f64).sqrt() })
}

/// Returns the length (a multiple of [`SLICE_S`]) and the pattern of the shortest design, unless a
/// longer one is significantly cheaper. Without prices it is the pilot's own length, mirrored.
fn best(prices: &[Price]) -> (usize, Pattern) {
    let mut best: Option<&Price> = None;
    for price in prices {
        let surely = price.price * (1.0 + SURE * price.error);
        if best.is_none_or(|best| surely < best.price) {
            best = Some(price);
        }
    }
    best.map_or((1, Pattern::Mirror), |best| (best.multiple, best.pattern))
}

/// Returns true if no other length looks much better than the chosen one.
fn is_clear(slices: &[PilotSlice]) -> bool {
    let prices = prices(slices, false);
    let (best, _) = best(&prices);
    let chosen =
        prices.iter().find(|price| price.multiple == best).map_or(0.0, |price| price.price);
    prices.iter().all(|price| price.multiple == best || price.price > MUCH * chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    const BOUNDS: DesignBounds = DesignBounds { stacks: 2, slowest: 10_000.0, budget_s: 300.0 };

    fn pilot(
        seed: u64,
        n: usize,
        overhead_s: f64,
        level: impl Fn(f64, &mut Noise) -> f64,
    ) -> Vec<PilotSlice> {
        let mut noise = Noise::new(seed);
        let took_s = SLICE_S + overhead_s;
        (0..n).map(|i| PilotSlice { rate: level(i as f64 * took_s, &mut noise), took_s }).collect()
    }

    fn white(_: f64, noise: &mut Noise) -> f64 {
        1000.0 * (1.0 + 0.05 * noise.normal())
    }

    #[test]
    fn short_slices_unless_switching_is_dear() {
        assert_eq!(design(&pilot(1, 100, 0.006, white), &BOUNDS).slice_s, 0.05);
        let dear = design(&pilot(1, 100, 0.3, white), &BOUNDS);
        assert!(dear.slice_s > 0.05, "{dear:?}");
        assert_eq!(dear.pattern, Pattern::Mirror);
    }

    #[test]
    fn slow_stacks_get_long_slices_as_far_as_the_budget_goes() {
        let slow = DesignBounds { slowest: 100.0, ..BOUNDS };
        assert_eq!(design(&[], &slow).slice_s, 2.0);
        assert_eq!(design(&[], &DesignBounds { budget_s: 64.0, ..slow }).slice_s, 0.75);
        assert_eq!(
            design(&[], &DesignBounds { slowest: 0.0, budget_s: 1e6, ..slow }).slice_s,
            30.0
        );
        assert_eq!(design(&[], &BOUNDS).slice_s, 0.05);
    }

    #[test]
    fn a_period_of_a_round_doubles_the_pattern() {
        let tone = |period_s: f64| {
            move |at: f64, noise: &mut Noise| {
                1000.0
                    * (1.0
                        + 0.01 * noise.normal()
                        + 0.05 * (std::f64::consts::TAU * at / period_s).sin())
            }
        };
        let found = design(&pilot(2, 150, 0.006, tone(0.224)), &BOUNDS);
        assert_eq!(found.pattern, Pattern::Double);
        assert!((found.period_s.unwrap() - 0.224).abs() < 0.01, "{found:?}");
        assert_eq!(design(&pilot(3, 150, 0.006, tone(1.9)), &BOUNDS).pattern, Pattern::Mirror);
    }

    #[test]
    fn it_lasts_four_to_ten_seconds() {
        assert!(goes_on(&[]));
        assert!(goes_on(&pilot(4, 60, 0.006, white)));
        assert!(!goes_on(&pilot(4, 180, 0.006, white)));
    }
}
