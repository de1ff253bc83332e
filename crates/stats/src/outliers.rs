//! Finds hosts, or drives of one host, that differ from the others by more than the others differ
//! among themselves. A robust start keeps several outliers from hiding each other; the reference
//! distribution has tails so heavy that hosts which merely scatter are not accused.
//! docs/decisions/many-hosts.md has the simulations.

use super::random_effects::HostValue;
use super::refusal::Refusal;
use super::student::{Uncertain, t_quantile, t_two_sided};
use iotax_units::median;

/// Fewest hosts in which one can be an outlier.
pub const LEAST_COMPARED: usize = 4;

/// False-discovery rate of outliers; also the chance that any host is named if none differs.
pub const FALSE_OUTLIERS: f64 = 0.01;

/// Most degrees of freedom of the reference distribution, unless so many hosts are compared that
/// their own scatter shows how heavy its tails are. With these, hosts that scatter like Student's t
/// with 5 degrees of freedom are accused as rarely as normal ones.
const MOST_FREEDOM: f64 = 5.7;

/// Fewest ordinary hosts whose scatter shows the weight of its tails: one of them lies beyond the
/// far quantile.
const LEAST_FITTED: usize = 200;

/// Quantiles of the standardized deviations, without their signs, whose ratio is the weight of the
/// tails.
const NEAR_AND_FAR: [f64; 2] = [0.75, 0.995];

/// Number of hosts as which [`MOST_FREEDOM`] counts beside those from which the tails are estimated.
const PRIOR_HOSTS: f64 = 100.0;

/// Allowance for the error of the estimated tails: a standard error, which falls with the root of
/// the number of hosts.
const TAIL_ALLOWANCE: f64 = 1.5;

/// Median of the square of a normal value.
const MEDIAN_SQUARE: f64 = 0.455;

/// A host compared with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostStanding {
    /// Deviation of the host from the mean of the others, as a logarithm, with the standard error
    /// of the measurement.
    pub deviation: Uncertain,
    /// Lower end of the deviation's 95 % interval.
    pub low: f64,
    /// Upper end of the deviation's 95 % interval.
    pub high: f64,
    /// Standard deviation that the deviation of an ordinary host would have, from the scatter of
    /// the others.
    pub scatter: f64,
    /// Degrees of freedom of the scatter.
    pub freedom: f64,
    /// p value of the hypothesis that the host is an ordinary one.
    pub p: f64,
    /// Least false-discovery rate at which the host is an outlier (Benjamini and Hochberg 1995).
    pub q: f64,
    /// Largest deviation that is ordinary, as a logarithm; `q` exceeds 1 % exactly up to it.
    pub ordinary: f64,
    /// True if `q` is at most 1 % and the whole interval lies beyond the zone.
    pub is_outlier: bool,
}

impl HostStanding {
    /// Builds a standing that is not yet judged.
    fn new(deviation: Uncertain, scatter: f64, freedom: f64) -> HostStanding {
        let half_width = deviation.half_width(0.95);
        let p = match deviation.value == 0.0 {
            true => 1.0,
            false => t_two_sided(deviation.value / scatter, freedom),
        };
        HostStanding {
            deviation,
            low: deviation.value - half_width,
            high: deviation.value + half_width,
            scatter,
            freedom,
            p,
            q: 1.0,
            ordinary: f64::INFINITY,
            is_outlier: false,
        }
    }
}

/// Compares each host with the others under one figure, and names the outliers. `zone` is the
/// relative difference that is accepted, such as 0.02.
///
/// # Errors
/// As [`host_standings`].
pub fn host_outliers(hosts: &[Uncertain], zone: f64) -> Result<Vec<HostStanding>, Refusal> {
    let mut standings = host_standings(hosts)?;
    name_outliers(&mut standings, zone);
    Ok(standings)
}

/// Compares each host with the others under one figure. [`name_outliers`] then judges all figures
/// of a fleet together.
///
/// # Errors
/// [`Refusal::TooFewHosts`] below 4 hosts, [`Refusal::NotARate`] for a value or error that is not
/// finite.
pub fn host_standings(hosts: &[Uncertain]) -> Result<Vec<HostStanding>, Refusal> {
    let field = ComparedField::new(hosts, hosts.len() / 4)?;
    let standing =
        |(at, host)| field.standing(at, Uncertain::minus(host, field.mean_of_others(at)));
    Ok(hosts.iter().copied().enumerate().map(standing).collect())
}

/// Compares drives, or hosts, whose deviations come from elsewhere, such as those from the median
/// of the others in the same rounds, in which drift cancels. `levels` are the logarithms of their
/// rates in the same order; the scatter of the others follows from them.
///
/// # Errors
/// As [`host_standings`].
pub fn deviation_standings(
    levels: &[f64],
    deviations: &[Uncertain],
) -> Result<Vec<HostStanding>, Refusal> {
    let level = |(level, one): (&f64, &Uncertain)| Uncertain { value: *level, ..*one };
    let levels: Vec<Uncertain> = levels.iter().zip(deviations).map(level).collect();
    // A host has few drives, so that several slow ones may be nearly half of them.
    let field = ComparedField::new(&levels, levels.len().saturating_sub(1) / 2)?;
    let all = deviations.iter().take(levels.len()).enumerate();
    Ok(all.map(|(at, one)| field.standing(at, *one)).collect())
}

/// Compares each host with its own earlier run. `changes` are log ratios of later to earlier;
/// what all hosts have in common is not removed. [`name_outliers`] then names hosts that drifted.
pub fn drift_standings(changes: &[Uncertain]) -> Vec<HostStanding> {
    changes.iter().map(|one| HostStanding::new(*one, one.error, one.freedom)).collect()
}

/// Judges standings of one family together: all hosts under all figures of a fleet. `zone` is the
/// relative difference that is accepted.
pub fn name_outliers<'a>(standings: impl IntoIterator<Item = &'a mut HostStanding>, zone: f64) {
    let mut family: Vec<&mut HostStanding> = standings.into_iter().collect();
    family.sort_by(|one, other| one.p.total_cmp(&other.p));
    let all = family.len() as f64;
    let mut least = 1.0_f64;
    for (at, one) in family.iter_mut().enumerate().rev() {
        least = least.min(one.p * all / (at + 1) as f64);
        one.q = least;
    }
    let named = family.iter().take_while(|one| one.q <= FALSE_OUTLIERS).count();
    let level = FALSE_OUTLIERS * named.max(1) as f64 / all;
    for one in family {
        one.ordinary = t_quantile(1.0 - level / 2.0, one.freedom) * one.scatter;
        let is_beyond = one.low > zone.ln_1p() || one.high < -zone.ln_1p();
        one.is_outlier = one.q <= FALSE_OUTLIERS && is_beyond;
    }
}

/// Hosts under one figure, of which some are set aside as possible outliers.
struct ComparedField {
    /// Median of the values, which `hosts` are relative to.
    middle: f64,
    hosts: Vec<HostValue>,
    weights: Vec<f64>,
    is_ordinary: Vec<bool>,
    ordinary: WeightedSums,
    /// Most degrees of freedom of the reference distribution.
    most_freedom: f64,
}

impl ComparedField {
    /// Sets hosts aside: at most `most_aside`, those farthest from the median.
    fn new(hosts: &[Uncertain], most_aside: usize) -> Result<ComparedField, Refusal> {
        let mut hosts = HostValue::moderated(hosts, LEAST_COMPARED)?;
        let middle = median(hosts.iter().map(|host| host.value));
        hosts.iter_mut().for_each(|host| host.value -= middle);
        let tau_squared = robust_variance(&hosts);
        let mut field = ComparedField {
            middle,
            weights: hosts.iter().map(|host| 1.0 / (tau_squared + host.variance)).collect(),
            is_ordinary: vec![false; hosts.len()],
            hosts,
            ordinary: WeightedSums::default(),
            most_freedom: MOST_FREEDOM,
        };
        field.set_aside(most_aside);
        if let Some(fitted) = field.fitted_freedom() {
            field.most_freedom = fitted;
            field.set_aside(most_aside);
        }
        Ok(field)
    }

    /// Takes all but the hosts farthest from the median, and from the inside outwards more of them
    /// until one differs clearly from those inside (as in the generalized test of Rosner 1983).
    fn set_aside(&mut self, most_aside: usize) {
        let many = self.hosts.len();
        let far = |at: usize| self.weights[at] * self.hosts[at].value.powi(2);
        let mut order: Vec<usize> = (0..many).collect();
        order.sort_by(|one, other| far(*one).total_cmp(&far(*other)));
        self.ordinary = WeightedSums::default();
        self.is_ordinary.fill(false);
        for (inside, at) in order.into_iter().enumerate() {
            let (value, weight) = (self.hosts[at].value, self.weights[at]);
            let level = FALSE_OUTLIERS * (many - inside) as f64 / many as f64;
            let is_tested = inside >= many - most_aside.min(many);
            if is_tested && self.ordinary.p_value(value, weight, self.most_freedom) <= level {
                break;
            }
            self.ordinary = self.ordinary.with(value, weight, 1.0);
            self.is_ordinary[at] = true;
        }
    }

    /// Returns the degrees of freedom at which the quantiles of Student's t have the ratio of those
    /// of the ordinary hosts, on the safe side; `None` for fewer than [`LEAST_FITTED`].
    fn fitted_freedom(&self) -> Option<f64> {
        let centre = self.ordinary.value / self.ordinary.weight;
        let all = self.hosts.iter().zip(&self.weights).zip(&self.is_ordinary);
        let mut sizes: Vec<f64> = all
            .filter(|(_, is_ordinary)| **is_ordinary)
            .map(|((host, weight), _)| weight.sqrt() * (host.value - centre).abs())
            .collect();
        if sizes.len() < LEAST_FITTED {
            return None;
        }
        sizes.sort_by(f64::total_cmp);
        let count = sizes.len() as f64;
        let log_ratio = |[near, far]: [f64; 2]| (far / near).ln();
        let of_t = |freedom: f64| {
            log_ratio(NEAR_AND_FAR.map(|part| t_quantile(0.5 + part / 2.0, freedom)))
        };
        let found = log_ratio(NEAR_AND_FAR.map(|part| sizes[(part * count) as usize]));
        let own_share = count / (count + PRIOR_HOSTS);
        let target = own_share * found
            + (1.0 - own_share) * of_t(MOST_FREEDOM)
            + TAIL_ALLOWANCE / count.sqrt();
        // Bisects one over the degrees of freedom, from nearly normal tails to 2.
        let (mut low, mut high) = (1e-4, 0.5);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            *if of_t(1.0 / middle) < target { &mut low } else { &mut high } = middle;
        }
        Some(1.0 / high)
    }

    /// Returns the sums of the ordinary hosts without one host.
    fn others(&self, at: usize) -> WeightedSums {
        match self.is_ordinary[at] {
            true => self.ordinary.with(self.hosts[at].value, self.weights[at], -1.0),
            false => self.ordinary,
        }
    }

    fn mean_of_others(&self, at: usize) -> Uncertain {
        let mean = self.others(at).mean();
        Uncertain { value: mean.value + self.middle, ..mean }
    }

    fn standing(&self, at: usize, deviation: Uncertain) -> HostStanding {
        let others = self.others(at);
        let freedom = others.freedom(self.most_freedom);
        HostStanding::new(deviation, others.scatter(self.weights[at]), freedom)
    }
}

/// Returns the between-host variance at which the median of the squared standardized values is that
/// of normal values; 0 if the errors alone explain more. Nearly half of the hosts may be outliers.
fn robust_variance(hosts: &[HostValue]) -> f64 {
    let farthest = hosts.iter().map(|host| host.value.abs()).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, farthest.powi(2) / MEDIAN_SQUARE);
    for _ in 0..40 {
        let tried = f64::midpoint(low, high);
        let squares = hosts.iter().map(|host| host.value.powi(2) / (tried + host.variance));
        *if median(squares) > MEDIAN_SQUARE { &mut low } else { &mut high } = tried;
    }
    low
}

/// Sums over hosts from which their weighted mean and scatter follow.
#[derive(Clone, Copy, Debug, Default)]
struct WeightedSums {
    count: f64,
    weight: f64,
    value: f64,
    square: f64,
}

impl WeightedSums {
    /// Returns the sums with a host added `times` times: 1, or -1 to take it out.
    fn with(self, value: f64, weight: f64, times: f64) -> WeightedSums {
        WeightedSums {
            count: self.count + times,
            weight: self.weight + times * weight,
            value: self.value + times * weight * value,
            square: self.square + times * weight * value.powi(2),
        }
    }

    /// Returns the mean square of the standardized deviations: 1 if the weights are right.
    fn dispersion(self) -> f64 {
        let squares = self.square - self.value.powi(2) / self.weight;
        squares.max(0.0) / (self.count - 1.0)
    }

    fn mean(self) -> Uncertain {
        let error = (self.dispersion() / self.weight).sqrt();
        Uncertain { value: self.value / self.weight, error, freedom: self.count - 1.0 }
    }

    /// Returns the standard deviation of the deviation of another ordinary host of that weight: the
    /// denominator of the externally studentized residual.
    fn scatter(self, weight: f64) -> f64 {
        (self.dispersion() * (1.0 / weight + 1.0 / self.weight)).sqrt()
    }

    /// Returns the degrees of freedom of the reference distribution: those of the scatter for few
    /// hosts, `most` for many. The power in between is fitted to simulations.
    fn freedom(self, most: f64) -> f64 {
        ((self.count - 1.0).powf(-1.5) + most.powf(-1.5)).powf(-1.0 / 1.5)
    }

    fn p_value(self, value: f64, weight: f64, most_freedom: f64) -> f64 {
        let deviation = value - self.value / self.weight;
        t_two_sided(deviation / self.scatter(weight), self.freedom(most_freedom))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ZONE: f64 = 0.02;

    fn hosts(values: &[f64]) -> Vec<Uncertain> {
        values
            .iter()
            .map(|value| Uncertain { value: *value, error: 0.002, freedom: 20.0 })
            .collect()
    }

    fn named(standings: &[HostStanding]) -> Vec<usize> {
        let all = standings.iter().enumerate().filter(|(_, one)| one.is_outlier);
        all.map(|(at, _)| at).collect()
    }

    const TWELVE: [f64; 12] =
        [0.004, -0.006, 0.011, 0.001, -0.012, 0.008, -0.003, 0.015, -0.009, 0.0, 0.006, -0.014];

    fn twelve_with(slow: &[(usize, f64)]) -> Vec<Uncertain> {
        let mut values = TWELVE;
        slow.iter().for_each(|(at, by)| values[*at] -= by);
        hosts(&values)
    }

    #[test]
    fn one_to_three_outliers_of_twelve_are_named() {
        for slow in
            [vec![], vec![(4, 0.2)], vec![(0, 0.2), (7, 0.25)], vec![(1, 0.2), (5, 0.2), (9, 0.2)]]
        {
            let found = host_outliers(&twelve_with(&slow), ZONE).unwrap();
            let expected: Vec<usize> = slow.iter().map(|(at, _)| *at).collect();
            assert_eq!(named(&found), expected, "{found:#?}");
            for one in &found {
                assert_eq!(one.q <= FALSE_OUTLIERS, one.deviation.value.abs() > one.ordinary);
            }
        }
    }

    #[test]
    fn the_deviation_is_an_externally_studentized_residual() {
        let found = host_outliers(&twelve_with(&[]), ZONE).unwrap();
        let others: Vec<f64> = TWELVE[1..].to_vec();
        let mean = others.iter().sum::<f64>() / 11.0;
        let square = others.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 10.0;
        assert!((found[0].deviation.value - (TWELVE[0] - mean)).abs() < 1e-12);
        assert!((found[0].scatter - (square * (1.0 + 1.0 / 11.0)).sqrt()).abs() < 1e-12);
        let error = (0.002_f64.powi(2) + square / 11.0).sqrt();
        assert!((found[0].deviation.error - error).abs() < 1e-12);
        assert!(
            (found[0].freedom - (10f64.powf(-1.5) + 5.7f64.powf(-1.5)).powf(-2.0 / 3.0)).abs()
                < 1e-12
        );
    }

    #[test]
    fn false_discovery_rates_are_as_published() {
        // Benjamini and Hochberg (1995), section 3.2: of 15 p values, four are significant at 5 %.
        let published = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let blank = HostStanding::new(hosts(&[1.0])[0], 1.0, 20.0);
        let mut standings: Vec<_> =
            published.iter().rev().map(|p| HostStanding { p: *p, ..blank }).collect();
        name_outliers(&mut standings, ZONE);
        let q: Vec<f64> = standings.iter().rev().map(|one| one.q).collect();
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!((q[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
        // The seventh has 0.0639, the sixth 0.0695: it gets the lesser.
        assert!((q[5] - 0.0298 * 15.0 / 7.0).abs() < 1e-12);
        name_outliers(&mut [], ZONE);
    }

    #[test]
    fn the_zone_and_few_hosts() {
        let tight: Vec<f64> = TWELVE.map(|value| value / 100.0).to_vec();
        let mut near = hosts(&tight);
        near[3].value += 0.021;
        let found = host_outliers(&near, ZONE).unwrap();
        assert!(found[3].q <= FALSE_OUTLIERS && !found[3].is_outlier, "{:?}", found[3]);
        near[3].value += 0.02;
        assert_eq!(named(&host_outliers(&near, ZONE).unwrap()), [3]);
        let four = host_outliers(&hosts(&[0.001, 0.004, -0.003, -0.4]), ZONE).unwrap();
        assert_eq!(named(&four), [3]);
        let three = host_outliers(&hosts(&[0.0, 0.0, 1.0]), ZONE);
        assert_eq!(three, Err(Refusal::TooFewHosts { have: 3, need: 4 }));
        let equal = host_outliers(&[Uncertain { value: 0.5, error: 0.0, freedom: 9.0 }; 5], ZONE);
        assert_eq!(named(&equal.unwrap()), Vec::<usize>::new());
    }

    #[test]
    fn a_noisy_host_hides_no_outlier() {
        let mut all = twelve_with(&[(4, 0.2)]);
        all[7] = Uncertain { value: 0.15, error: 0.1, freedom: 20.0 };
        assert_eq!(named(&host_outliers(&all, ZONE).unwrap()), [4]);
    }

    #[test]
    fn given_deviations_are_kept() {
        let values = [0.01, -0.01, 0.0, 0.005, -0.3, 0.002];
        let deviation = |at: usize| {
            let others = values.iter().enumerate().filter(|(other, _)| *other != at);
            let middle = median(others.map(|(_, value)| *value));
            Uncertain { value: values[at] - middle, error: 0.001, freedom: 30.0 }
        };
        let deviations: Vec<_> = (0..values.len()).map(deviation).collect();
        let mut found = deviation_standings(&values, &deviations).unwrap();
        name_outliers(&mut found, ZONE);
        assert_eq!(named(&found), [4]);
        assert!(found.iter().zip(&deviations).all(|(one, given)| one.deviation == *given));
    }

    #[test]
    fn drift_is_judged_by_each_hosts_own_error() {
        let mut changes = hosts(&[0.001; 40]);
        changes[9].value = -0.05;
        changes[20] = Uncertain { value: -0.05, error: 0.03, freedom: 20.0 };
        let mut found = drift_standings(&changes);
        name_outliers(&mut found, ZONE);
        assert_eq!(named(&found), [9]);
        assert_eq!(found[20].p, changes[20].p_zero());
    }

    #[test]
    fn figures_of_a_fleet_are_one_family() {
        let mut figures: Vec<_> = (0..8)
            .map(|at| {
                host_standings(&twelve_with(if at == 2 { &[(6, 0.3)] } else { &[] })).unwrap()
            })
            .collect();
        let alone = host_outliers(&twelve_with(&[(6, 0.3)]), ZONE).unwrap()[6].q;
        name_outliers(figures.iter_mut().flatten(), ZONE);
        assert_eq!(named(&figures.concat()), [2 * 12 + 6]);
        assert!((figures[2][6].q / alone - 8.0).abs() < 1e-6);
    }

    #[test]
    fn a_thousand_hosts_show_how_heavy_their_tails_are() {
        let mut noise = crate::noise::Noise::new(0);
        let normal: Vec<f64> = (0..1000).map(|_| 0.01 * noise.normal()).collect();
        let heavy: Vec<f64> = normal
            .iter()
            .map(|value| {
                let square = (0..4).map(|_| noise.normal().powi(2)).sum::<f64>() / 4.0;
                value / square.sqrt()
            })
            .collect();
        let freedom = |values: &[f64]| host_standings(&hosts(values)).unwrap()[0].freedom;
        assert!(freedom(&normal) > 9.0, "{}", freedom(&normal));
        assert!(freedom(&heavy) < 5.0, "{}", freedom(&heavy));
        assert!(freedom(&normal[..199]) < MOST_FREEDOM);
        let mut one = normal;
        one[500] = -0.1;
        assert_eq!(named(&host_outliers(&hosts(&one), ZONE).unwrap()), [500]);
        // Figures that are equal to the last digit have no tails.
        assert!(host_outliers(&hosts(&[0.5; 200]), ZONE).unwrap().iter().all(|one| one.p == 1.0));
    }

    fn any_hosts() -> impl Strategy<Value = Vec<Uncertain>> {
        let host = (-0.1..0.1, 0.001..0.01, 8.0..60.0)
            .prop_map(|(value, error, freedom)| Uncertain { value, error, freedom });
        proptest::collection::vec(host, 4..20)
    }

    proptest! {
        #[test]
        fn units_and_order_do_not_matter(
            hosts in any_hosts(),
            shift in -5.0..5.0_f64,
            scale in 0.1..10.0_f64,
        ) {
            let plain = host_outliers(&hosts, ZONE).unwrap();
            let change = |host: &Uncertain| Uncertain {
                value: shift - scale * host.value,
                error: scale * host.error,
                ..*host
            };
            let changed: Vec<_> = hosts.iter().rev().map(change).collect();
            for (one, other) in plain.iter().rev().zip(host_outliers(&changed, ZONE).unwrap()) {
                prop_assert!((scale * one.deviation.value + other.deviation.value).abs() < 1e-8);
                prop_assert!((one.p - other.p).abs() < 1e-6, "{one:?} {other:?}");
                prop_assert!((one.q - other.q).abs() < 1e-6, "{one:?} {other:?}");
            }
        }
    }
}
