//! Pools one figure over hosts that differ: random effects with the between-host variance of Paule
//! and Mandel (1982), the interval of Hartung and Knapp (2001), and a prediction of the next host.
//! docs/decisions/many-hosts.md has the simulations behind each choice.

use super::refusal::Refusal;
use super::student::{Uncertain, t975};
use iotax_units::median;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Fewest hosts that can be pooled.
pub const LEAST_HOSTS: usize = 3;

/// Degrees of freedom that the typical within-host variance adds to each host's own. Without them
/// hosts whose error is small by chance get too much weight, and the interval is too narrow.
const SHARED_FREEDOM: f64 = 8.0;

/// 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_963_985;

/// Number of between-host variances that stand for all plausible ones in a prediction.
const PREDICTED: usize = 24;

/// A figure pooled over hosts, in the unit of the hosts' values: logarithms of ratios or rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledEffect {
    /// Number of hosts that are pooled.
    pub hosts: usize,
    /// Mean over hosts, with hosts - 1 degrees of freedom.
    pub mean: Uncertain,
    /// Lower end of the mean's 95 % interval.
    pub low: f64,
    /// Upper end of the mean's 95 % interval.
    pub high: f64,
    /// Standard deviation between hosts, without the measurement's own error. Equal hosts whose
    /// errors have few degrees of freedom give up to a third of their error.
    pub tau: f64,
    /// Lower end of the 95 % interval of `tau`.
    pub tau_low: f64,
    /// Upper end of the 95 % interval of `tau`.
    pub tau_high: f64,
    /// Lower end of the interval in which the true value of another such host lies with 95 %.
    pub next_low: f64,
    /// Upper end of the interval in which the true value of another such host lies with 95 %.
    pub next_high: f64,
}

/// Pools the values of hosts that were measured independently.
///
/// # Errors
/// [`Refusal::TooFewHosts`] below 3 hosts, [`Refusal::NotARate`] for a value or error that is not
/// finite.
pub fn pooled_effect(hosts: &[Uncertain]) -> Result<PooledEffect, Refusal> {
    let hosts = HostValue::moderated(hosts, LEAST_HOSTS)?;
    let freedom = (hosts.len() - 1) as f64;
    let tau_squared = between_variance(&hosts, freedom, 0.0);
    let centre = WeightedCentre::for_variance(&hosts, tau_squared);
    let t = t975(hosts.len() - 1);
    // Hosts that agree by chance must not give a narrower interval than their errors alone do.
    let spread = (centre.q / freedom).sqrt().max(NORMAL_975 / t);
    let mean = Uncertain { value: centre.mean, error: spread / centre.weight.sqrt(), freedom };
    let half_width = t * mean.error;
    let quantile = |p| chi_squared(freedom).inverse_cdf(p);
    let (next_low, next_high) = next_host(&hosts, freedom);
    Ok(PooledEffect {
        hosts: hosts.len(),
        mean,
        low: mean.value - half_width,
        high: mean.value + half_width,
        tau: tau_squared.sqrt(),
        tau_low: between_variance(&hosts, quantile(0.975), 0.0).sqrt(),
        tau_high: between_variance(&hosts, quantile(0.025), tau_squared).sqrt(),
        next_low,
        next_high,
    })
}

/// A host's value, with a variance that also rests on the other hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostValue {
    pub(crate) value: f64,
    pub(crate) variance: f64,
}

impl HostValue {
    /// Moderates the variances (Smyth 2004): each counts with its own degrees of freedom, and the
    /// median of all counts with [`SHARED_FREEDOM`]. Refuses fewer than `least` hosts and values
    /// that are not finite.
    pub(crate) fn moderated(hosts: &[Uncertain], least: usize) -> Result<Vec<HostValue>, Refusal> {
        if hosts.len() < least {
            return Err(Refusal::TooFewHosts { have: hosts.len(), need: least });
        }
        if hosts.iter().any(|host| !host.value.is_finite() || !host.error.is_finite()) {
            return Err(Refusal::NotARate);
        }
        let typical = median(hosts.iter().map(|host| host.error.powi(2)));
        let middle = median(hosts.iter().map(|host| host.value));
        let range = hosts.iter().map(|host| (host.value - middle).abs()).fold(0.0, f64::max);
        // Weights stay finite if all errors are zero.
        let least_variance = (1e-9 * range).powi(2).max(1e-200);
        let value = |host: &Uncertain| {
            let shared = host.freedom * host.error.powi(2) + SHARED_FREEDOM * typical;
            let variance = shared / (host.freedom + SHARED_FREEDOM);
            HostValue { value: host.value, variance: variance.max(least_variance) }
        };
        Ok(hosts.iter().map(value).collect())
    }
}

/// Mean of hosts that are weighted for one between-host variance.
struct WeightedCentre {
    mean: f64,
    /// Sum of the weights.
    weight: f64,
    /// Weighted sum of squared deviations from the mean.
    q: f64,
    /// Derivative of `q` by the between-host variance.
    slope: f64,
}

impl WeightedCentre {
    fn for_variance(hosts: &[HostValue], tau_squared: f64) -> WeightedCentre {
        let weighted =
            || hosts.iter().map(|host| (1.0 / (tau_squared + host.variance), host.value));
        let weight: f64 = weighted().map(|(weight, _)| weight).sum();
        let mean = weighted().map(|(weight, value)| weight * value).sum::<f64>() / weight;
        let (q, slope) = weighted().fold((0.0, 0.0), |(q, slope), (weight, value)| {
            let term = weight * (value - mean).powi(2);
            (q + term, slope - weight * term)
        });
        WeightedCentre { mean, weight, q, slope }
    }
}

/// Returns the between-host variance at which Q, the weighted sum of squares, is `target`; 0 if Q
/// is never so large. Newton's steps from a variance that is not too large never pass the root,
/// since Q falls and is convex.
fn between_variance(hosts: &[HostValue], target: f64, start: f64) -> f64 {
    let mut found = start;
    for _ in 0..200 {
        let centre = WeightedCentre::for_variance(hosts, found);
        let step = (target - centre.q) / centre.slope;
        if step.is_nan() || step <= 1e-9 * found {
            break;
        }
        found += step;
    }
    found
}

/// Returns the 95 % interval of the true value of another host. Each between-host variance that Q
/// leaves plausible predicts a normal distribution; the interval is that of their mixture (a
/// confidence distribution, as of Nagashima, Noma and Furukawa 2019). Without measurement errors it
/// is Student's t with hosts - 1 degrees of freedom.
fn next_host(hosts: &[HostValue], freedom: f64) -> (f64, f64) {
    let chi_squared = chi_squared(freedom);
    let mut tau_squared = 0.0;
    // The cube puts most of the nodes at large variances, which decide the tails.
    let node = |at: usize| (at as f64 + 0.5) / PREDICTED as f64;
    let parts: Vec<(f64, f64, f64)> = (0..PREDICTED)
        .rev()
        .map(|at| {
            let target = chi_squared.inverse_cdf(node(at).powi(3));
            tau_squared = between_variance(hosts, target, tau_squared);
            let centre = WeightedCentre::for_variance(hosts, tau_squared);
            (node(at).powi(2), centre.mean, (tau_squared + 1.0 / centre.weight).sqrt())
        })
        .collect();
    let all: f64 = parts.iter().map(|(weight, ..)| weight).sum();
    let normal = standard_normal();
    let share_below = |value: f64| -> f64 {
        let part = |(weight, mean, deviation): &(f64, f64, f64)| {
            weight * normal.cdf((value - mean) / deviation)
        };
        parts.iter().map(part).sum::<f64>() / all
    };
    let farthest = |way: f64| {
        let ends = parts.iter().map(|(_, mean, deviation)| mean + 3.0 * way * deviation);
        ends.fold(parts[0].1, |one, other| if way < 0.0 { one.min(other) } else { one.max(other) })
    };
    let quantile = |p: f64| {
        let (mut low, mut high) = (farthest(-1.0), farthest(1.0));
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            *if share_below(middle) < p { &mut low } else { &mut high } = middle;
        }
        f64::midpoint(low, high)
    };
    (quantile(0.025), quantile(0.975))
}

fn chi_squared(freedom: f64) -> ChiSquared {
    // At least three hosts leave two degrees of freedom.
    ChiSquared::new(freedom).expect("a chi-squared distribution")
}

fn standard_normal() -> Normal {
    // Mean 0 and deviation 1 are always accepted.
    Normal::new(0.0, 1.0).expect("a standard normal distribution")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::t_quantile;
    use proptest::prelude::*;

    /// Trials of the BCG vaccine (Colditz et al. 1994): cases and others among the vaccinated, then
    /// among the controls.
    const BCG: [[f64; 4]; 13] = [
        [4.0, 119.0, 11.0, 128.0],
        [6.0, 300.0, 29.0, 274.0],
        [3.0, 228.0, 11.0, 209.0],
        [62.0, 13536.0, 248.0, 12619.0],
        [33.0, 5036.0, 47.0, 5761.0],
        [180.0, 1361.0, 372.0, 1079.0],
        [8.0, 2537.0, 10.0, 619.0],
        [505.0, 87886.0, 499.0, 87892.0],
        [29.0, 7470.0, 45.0, 7232.0],
        [17.0, 1699.0, 65.0, 1600.0],
        [186.0, 50448.0, 141.0, 27197.0],
        [5.0, 2493.0, 3.0, 2338.0],
        [27.0, 16886.0, 29.0, 17825.0],
    ];
    /// Degrees of freedom of an error that is known.
    const KNOWN: f64 = 1e12;

    fn known(value: f64, variance: f64) -> Uncertain {
        Uncertain { value, error: variance.sqrt(), freedom: KNOWN }
    }

    #[test]
    fn variances_between_trials_are_as_published() {
        // metafor's documentation: Paule-Mandel 0.3181 and Q-profile 0.1197 to 1.1115 for the log
        // risk ratios; van Houwelingen et al. (2002) there: 0.1302 to 1.1812 for the log odds.
        let risks = BCG.map(|[a, b, c, d]| {
            let variance = 1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d);
            known((a / (a + b) / (c / (c + d))).ln(), variance)
        });
        let found = pooled_effect(&risks).unwrap();
        let near = |tau: f64, printed: f64| (tau.powi(2) - printed).abs() < 6e-5;
        assert!(near(found.tau, 0.3181), "{found:?}");
        assert!(near(found.tau_low, 0.1197) && near(found.tau_high, 1.1115), "{found:?}");
        let odds = BCG.map(|cells| {
            let [a, b, c, d] = cells;
            known((a * d / (b * c)).ln(), cells.iter().map(|cell| 1.0 / cell).sum())
        });
        let found = pooled_effect(&odds).unwrap();
        assert!(near(found.tau_low, 0.1302) && near(found.tau_high, 1.1812), "{found:?}");
    }

    #[test]
    fn hartung_and_knapp_by_their_formula() {
        let hosts = [known(0.1, 0.01), known(-0.3, 0.02), known(0.4, 0.04), known(-0.1, 0.01)];
        let found = pooled_effect(&hosts).unwrap();
        let weights = hosts.map(|host| 1.0 / (found.tau.powi(2) + host.error.powi(2)));
        let all: f64 = weights.iter().sum();
        let weighted = |of: &dyn Fn(f64) -> f64| -> f64 {
            weights.iter().zip(&hosts).map(|(weight, host)| weight * of(host.value)).sum()
        };
        let mean = weighted(&|value| value) / all;
        let squares = weighted(&|value| (value - mean).powi(2));
        assert!((squares - 3.0).abs() < 1e-6, "Paule and Mandel: Q is its expectation: {squares}");
        assert!((found.mean.value - mean).abs() < 1e-9);
        let half_width = t_quantile(0.975, 3.0) * (squares / 3.0 / all).sqrt();
        assert!((found.high - mean - half_width).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn without_errors_it_is_students_t() {
        for values in [vec![0.1, 0.2, 0.6], vec![0.3, 0.1, 0.5, 0.2, 0.9, 0.4, 0.4, 0.6]] {
            let hosts: Vec<_> = values.iter().map(|value| known(*value, 0.0)).collect();
            let k = values.len() as f64;
            let mean = values.iter().sum::<f64>() / k;
            let square = values.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (k - 1.0);
            let found = pooled_effect(&hosts).unwrap();
            let t = t_quantile(0.975, k - 1.0);
            assert!((found.tau - square.sqrt()).abs() < 1e-6);
            assert!((found.high - mean - t * (square / k).sqrt()).abs() < 1e-6);
            let next = t * (square * (1.0 + 1.0 / k)).sqrt();
            assert!(((found.next_high - mean) / next - 1.0).abs() < 0.01, "{found:?} {next}");
        }
    }

    #[test]
    fn hosts_that_agree_by_chance_keep_the_width_of_their_errors() {
        let hosts = [known(0.1, 0.01), known(0.1, 0.01), known(0.1001, 0.01)];
        let found = pooled_effect(&hosts).unwrap();
        assert_eq!((found.tau, found.tau_low), (0.0, 0.0));
        assert!((found.high - found.mean.value - 1.96 * (0.01_f64 / 3.0).sqrt()).abs() < 1e-5);
        let equal = pooled_effect(&[known(0.1, 0.0); 4]).unwrap();
        assert!(
            (equal.high - 0.1).abs() < 1e-9 && (equal.next_low - 0.1).abs() < 1e-9,
            "{equal:?}"
        );
    }

    #[test]
    fn too_few_hosts_and_no_numbers_are_refused() {
        let two = pooled_effect(&[known(0.1, 0.1); 2]);
        assert_eq!(two, Err(Refusal::TooFewHosts { have: 2, need: 3 }));
        let none = pooled_effect(&[known(0.1, 0.1), known(f64::NAN, 0.1), known(0.1, 0.1)]);
        assert_eq!(none, Err(Refusal::NotARate));
    }

    fn hosts() -> impl Strategy<Value = Vec<Uncertain>> {
        let host = (-0.1..0.1, 0.001..0.01, 8.0..60.0)
            .prop_map(|(value, error, freedom)| Uncertain { value, error, freedom });
        proptest::collection::vec(host, 3..15)
    }

    fn figures(found: &PooledEffect) -> [f64; 8] {
        let mean = found.mean.value;
        let ends = [found.low, found.high, found.next_low, found.next_high].map(|end| end - mean);
        let [low, high, next_low, next_high] = ends;
        [mean, low, high, next_low, next_high, found.tau, found.tau_low, found.tau_high]
    }

    proptest! {
        #[test]
        fn units_and_order_do_not_matter(
            hosts in hosts(),
            shift in -5.0..5.0_f64,
            scale in 0.1..10.0_f64,
        ) {
            let plain = figures(&pooled_effect(&hosts).unwrap());
            let change = |host: &Uncertain| Uncertain {
                value: shift + scale * host.value,
                error: scale * host.error,
                ..*host
            };
            let changed: Vec<_> = hosts.iter().rev().map(change).collect();
            let changed = figures(&pooled_effect(&changed).unwrap());
            prop_assert!((changed[0] - shift - scale * plain[0]).abs() < 1e-7);
            for (one, other) in plain.iter().zip(changed).skip(1) {
                prop_assert!((scale * one - other).abs() < 1e-5 * scale, "{plain:?} {changed:?}");
            }
        }
    }
}
