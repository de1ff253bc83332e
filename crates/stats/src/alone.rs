//! Checks if stacks that are merely up slow the baseline down (resident pollers, idle guests, huge
//! pages). In some rounds the baseline runs both beside them and with all of them stopped. Any
//! difference would be hidden in every cost.

use super::Refusal;
use super::ratio::{self, Ratio};
use super::spread::BATCHES;

/// Conclusion from the rounds so far on whether the other stacks slow the baseline down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The others do not disturb the baseline by more than the precision: the interval lies within
    /// it, or the estimate does although the disturbance is significant.
    Fine,
    /// The others significantly disturb the baseline, by more than the precision: measure the
    /// stacks apart.
    Disturbed {
        /// Rate beside the others over rate alone.
        found: Ratio,
    },
    /// There are too few rounds, or they are too noisy.
    Undecided,
}

/// Estimates the rate of the baseline beside the others over its rate alone, from `(alone, beside)`
/// work per second of each round in order of time.
///
/// # Errors
/// As [`ratio::estimate`].
pub fn beside_over_alone(rounds: &[(f64, f64)]) -> Result<Ratio, Refusal> {
    ratio::estimate(rounds)
}

/// Decides from the baseline's work per second `(alone, beside)` in each round so far; `precision`
/// is a fraction. Below 16 rounds it is [`Decision::Undecided`].
///
/// It may be called after every round. An estimate within the precision is never
/// [`Decision::Disturbed`]. If repeated calls find one beyond it by chance, the run is measured in
/// visits, which cost time and hide nothing.
pub fn decide(rounds: &[(f64, f64)], precision: f64) -> Decision {
    let Some(found) = beside_over_alone(rounds).ok().filter(|found| found.spread.n >= BATCHES)
    else {
        return Decision::Undecided;
    };
    let is_sure = found.high < 1.0 || found.low > 1.0;
    let farthest = (1.0 - found.low).max(found.high - 1.0);
    match () {
        () if is_sure && (1.0 - found.ratio).abs() > precision => Decision::Disturbed { found },
        () if farthest <= precision || is_sure => Decision::Fine,
        () => Decision::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    /// Rounds whose second rate is this share of the first, with independent noise of both.
    fn rounds(seed: u64, n: usize, share: f64, sd: f64) -> Vec<(f64, f64)> {
        let mut noise = Noise::new(seed);
        let mut rate = |level: f64| level * (1.0 + sd * noise.normal());
        (0..n).map(|_| (rate(100.0), rate(100.0 * share))).collect()
    }

    #[test]
    fn a_sure_difference_above_the_precision_disturbs() {
        let disturbed = |share: f64| {
            let found = (0..50).map(move |seed| decide(&rounds(seed, 60, share, 0.01), 0.01));
            found.filter_map(|one| {
                if let Decision::Disturbed { found } = one { Some(found) } else { None }
            })
        };
        let slower: Vec<Ratio> = disturbed(0.95).collect();
        let covered = slower.iter().filter(|found| found.low < 0.95 && 0.95 < found.high).count();
        assert!(
            slower.len() >= 45 && covered + 6 >= slower.len(),
            "{} found, {covered} covered",
            slower.len()
        );
        assert!(slower.iter().all(|found| found.high < 1.0));
        assert!(disturbed(1.05).count() >= 45, "faster counts too");
    }

    #[test]
    fn below_the_precision_all_is_fine_and_noise_decides_nothing() {
        assert_eq!(decide(&rounds(3, 200, 1.0, 0.01), 0.01), Decision::Fine);
        assert_eq!(decide(&rounds(4, 400, 0.995, 0.005), 0.01), Decision::Fine, "sure but small");
        assert_eq!(decide(&rounds(5, 16, 1.0, 0.2), 0.01), Decision::Undecided, "too noisy");
        assert_eq!(decide(&rounds(6, 15, 0.5, 0.01), 0.01), Decision::Undecided, "too few");
        assert_eq!(decide(&[(0.0, 1.0); 20], 0.01), Decision::Undecided, "nothing to compare with");
    }

    #[test]
    fn nothing_is_rarely_called_a_disturbance() {
        let wrong = (0..300).filter(|seed| {
            matches!(decide(&rounds(100 + seed, 24, 1.0, 0.05), 0.01), Decision::Disturbed { .. })
        });
        let wrong = wrong.count();
        assert!(wrong <= 30, "{wrong} of 300");
    }
}
