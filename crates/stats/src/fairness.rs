//! Measures how evenly several parties share: Jain's index of their rates, with an interval. It
//! does not show who gets less; a ratio of two of them does.

use super::spread::{BATCHES, mean};
use super::{Refusal, t975};

/// Work and seconds of each party in one round, always in the same order.
pub type Shares = Vec<(f64, f64)>;

/// Jain's index with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fairness {
    /// Jain's index: 1 when all get the same, 1/n when one gets all.
    pub jain: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound, at most 1.
    pub high: f64,
    /// Degrees of freedom of the interval.
    pub freedom: f64,
}

/// Computes Jain's index (Jain, Chiu, Hawe 1984) of rates: (sum x)^2 / (n sum x^2). It is 1 if all
/// rates are zero.
pub fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 1.0 }
}

/// Estimates Jain's index of the parties' rates over all rounds. The interval is the jackknife's
/// over 16 batches of rounds in order of time (Tukey 1958). Noise alone makes equal rates differ,
/// and the index smaller by about the relative variance of a rate.
///
/// # Errors
/// [`Refusal::TooFewRounds`] below 16 rounds.
pub fn of_rounds(rounds: &[Shares]) -> Result<Fairness, Refusal> {
    if rounds.len() < BATCHES {
        return Err(Refusal::TooFewRounds { have: rounds.len() });
    }
    let batch = |at: usize| at * BATCHES / rounds.len();
    let without = |left_out: Option<usize>| {
        let kept = rounds.iter().enumerate().filter(|(at, _)| Some(batch(*at)) != left_out);
        jain(&rates(kept.map(|(_, round)| round)))
    };
    let whole = without(None);
    let many = BATCHES as f64;
    let pseudo: Vec<f64> =
        (0..BATCHES).map(|at| many * whole - (many - 1.0) * without(Some(at))).collect();
    let center = mean(&pseudo);
    let variance = pseudo.iter().map(|one| (one - center).powi(2)).sum::<f64>() / (many - 1.0);
    let half = t975(BATCHES - 1) * (variance / many).sqrt();
    let bounded = |value: f64| value.clamp(0.0, 1.0);
    Ok(Fairness {
        jain: whole,
        low: bounded(whole.min(center - half)),
        high: bounded(whole.max(center + half)),
        freedom: many - 1.0,
    })
}

/// Returns the rate of each party over all rounds: its work over its seconds, or 0 without time.
fn rates<'a>(rounds: impl Iterator<Item = &'a Shares>) -> Vec<f64> {
    let mut sums: Shares = Vec::new();
    for round in rounds {
        sums.resize(sums.len().max(round.len()), (0.0, 0.0));
        for (sum, one) in sums.iter_mut().zip(round) {
            (sum.0, sum.1) = (sum.0 + one.0, sum.1 + one.1);
        }
    }
    sums.into_iter()
        .map(|(work, seconds)| if seconds > 0.0 { work / seconds } else { 0.0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_units::random::Random;

    #[test]
    fn jain_by_hand() {
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), 1.0);
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), 0.25);
        assert!((jain(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), 1.0);
    }

    fn noisy(random: &mut Random, rates: &[f64], noise: f64) -> Vec<Shares> {
        let mut one = |rate: f64| {
            // The sum of twelve is normal enough.
            let normal: f64 = (0..12)
                .map(|_| random.draw_below(1 << 20) as f64 / f64::from(1 << 20))
                .sum::<f64>()
                - 6.0;
            (rate * (1.0 + noise * normal).max(0.0), 1.0)
        };
        (0..64).map(|_| rates.iter().map(|rate| one(*rate)).collect()).collect()
    }

    #[test]
    fn the_interval_holds_the_index_of_the_true_rates() {
        let rates = [100.0, 90.0, 60.0, 110.0];
        let truth = jain(&rates);
        let mut random = Random::new(7, 0);
        let held = (0..300).filter(|_| {
            let found = of_rounds(&noisy(&mut random, &rates, 0.1)).unwrap();
            found.low <= truth && truth <= found.high
        });
        let held = held.count();
        assert!((275..=297).contains(&held), "{held} of 300");
    }

    #[test]
    fn equal_shares_under_noise_reach_one_and_few_rounds_tell_nothing() {
        let mut random = Random::new(8, 0);
        let found = of_rounds(&noisy(&mut random, &[100.0; 16], 0.05)).unwrap();
        assert!(found.low > 0.999 && found.high > 0.9999 && found.jain < 1.0, "{found:?}");
        let few = noisy(&mut random, &[1.0; 2], 0.1)[..15].to_vec();
        assert_eq!(of_rounds(&few), Err(Refusal::TooFewRounds { have: 15 }));
    }
}
