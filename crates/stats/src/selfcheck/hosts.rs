//! Lines of the table about fleets of hosts: coverage of the pooled mean and of the prediction,
//! fleets in which a host is accused, and outliers that are found. docs/decisions/many-hosts.md.

use super::lines::{LineBound, LineUnit, SelfcheckLine, share_of_hits};
use crate::Uncertain;
use crate::noise::Noise;
use crate::outliers::{HostStanding, host_outliers};
use crate::random_effects::pooled_effect;

/// Relative difference that is accepted, as a fraction: iotax's own default.
const ZONE: f64 = 0.02;

/// Distribution of hosts around their mean, with a standard deviation of one.
#[derive(Clone, Copy, Debug)]
pub enum HostScatter {
    /// Normal distribution.
    Normal,
    /// Student's t with these degrees of freedom, at least 3.
    Student(u32),
    /// Shifted lognormal distribution of shape 0.5, whose long tail are slow hosts.
    Skewed,
}

impl HostScatter {
    fn draw(self, noise: &mut Noise) -> f64 {
        let normal = noise.normal();
        match self {
            HostScatter::Normal => normal,
            HostScatter::Student(freedom) => {
                let odd = if freedom % 2 == 1 { noise.normal().powi(2) } else { 0.0 };
                let chi_squared = even_chi_squared(noise, freedom / 2) + odd;
                // The variance of Student's t is freedom / (freedom - 2).
                normal / (chi_squared / (f64::from(freedom) - 2.0)).sqrt()
            }
            HostScatter::Skewed => {
                let (mean, square) = (0.125_f64.exp(), 0.25_f64.exp());
                (mean - (0.5 * normal).exp()) / ((square - 1.0) * square).sqrt()
            }
        }
    }

    fn word(self) -> String {
        match self {
            HostScatter::Normal => String::new(),
            HostScatter::Student(freedom) => format!(" t{freedom}"),
            HostScatter::Skewed => " skewed".to_owned(),
        }
    }
}

/// A simulated fleet whose hosts have the true mean 0.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedFleet {
    /// Number of hosts in the fleet.
    pub hosts: usize,
    /// Standard deviation between hosts, as a fraction.
    pub tau: f64,
    /// Distribution of the hosts around their mean.
    pub scatter: HostScatter,
    /// Smallest standard error of a host, as a fraction; the largest is three times as large.
    pub least_error: f64,
}

impl SimulatedFleet {
    /// Draws the hosts' values. Their standard errors are estimates with 8 to 40 degrees of
    /// freedom.
    pub fn draw(&self, noise: &mut Noise) -> Vec<Uncertain> {
        (0..self.hosts).map(|_| self.draw_host(noise)).collect()
    }

    fn draw_host(&self, noise: &mut Noise) -> Uncertain {
        let error = self.least_error * 3f64.powf(noise.uniform());
        let halves = 4 + (17.0 * noise.uniform()) as u32;
        let freedom = f64::from(2 * halves);
        let estimated = error * (even_chi_squared(noise, halves) / freedom).sqrt();
        let value = self.tau * self.scatter.draw(noise) + error * noise.normal();
        Uncertain { value, error: estimated, freedom }
    }
}

/// Draws a chi-squared number with twice `halves` degrees of freedom.
fn even_chi_squared(noise: &mut Noise, halves: u32) -> f64 {
    (0..halves).map(|_| noise.exponential(2.0)).sum()
}

/// Returns the lines about fleets, with `reps` repetitions; fewer for large fleets.
pub fn lines(reps: u64, seed: u64) -> Vec<SelfcheckLine> {
    let mut noise = Noise::new(seed);
    [pooled_lines(reps, &mut noise), accused_lines(reps, &mut noise), found_lines(reps, &mut noise)]
        .concat()
}

/// Returns the number of repetitions that fleets of that size get.
fn repetitions(reps: u64, hosts: usize) -> u64 {
    (reps * 50 / hosts.max(50) as u64).max(2)
}

fn pooled_lines(reps: u64, noise: &mut Noise) -> Vec<SelfcheckLine> {
    let (mut means, mut nexts) = (Vec::new(), Vec::new());
    for hosts in [3, 5, 12, 50, 300] {
        for tau in [0.0, 0.01, 0.05] {
            let fleet =
                SimulatedFleet { hosts, tau, scatter: HostScatter::Normal, least_error: 0.005 };
            let drawn: Vec<(bool, bool)> = (0..repetitions(reps, hosts))
                .filter_map(|_| {
                    let found = pooled_effect(&fleet.draw(noise)).ok()?;
                    let next = tau * noise.normal();
                    let holds = |low: f64, truth: f64, high: f64| low <= truth && truth <= high;
                    let mean = holds(found.low, 0.0, found.high);
                    Some((mean, holds(found.next_low, next, found.next_high)))
                })
                .collect();
            let of = format!("{hosts} hosts, {} %", 100.0 * tau);
            let line = |figure, hits: Vec<bool>, bound| {
                let sample = share_of_hits(hits.into_iter(), drawn.len() as u64);
                SelfcheckLine::new(figure, &of, sample, LineUnit::Share, bound)
            };
            let hits = drawn.iter().map(|(mean, _)| *mean).collect();
            means.push(line("coverage of a fleet's mean", hits, LineBound::AtLeast(0.935)));
            let hits = drawn.iter().map(|(_, next)| *next).collect();
            nexts.push(line("coverage of the next host", hits, LineBound::AtLeast(0.925)));
        }
    }
    [means, nexts].concat()
}

fn accused_lines(reps: u64, noise: &mut Noise) -> Vec<SelfcheckLine> {
    let mut lines = Vec::new();
    let (normal, t5) = (HostScatter::Normal, HostScatter::Student(5));
    for (hosts, tau, scatter) in [
        (4, 0.01, normal),
        (12, 0.01, normal),
        (12, 0.1, normal),
        (1000, 0.01, normal),
        (4, 0.01, t5),
        (12, 0.01, t5),
        (1000, 0.01, t5),
        (8, 0.1, t5),
        (1000, 0.1, HostScatter::Student(4)),
        (1000, 0.1, HostScatter::Skewed),
    ] {
        let fleet = SimulatedFleet { hosts, tau, scatter, least_error: 0.003 };
        // Twice as many as elsewhere, since the share is small.
        let reps = repetitions(reps, hosts);
        let accused = (0..2 * reps).map(|_| is_any_named(&fleet.draw(noise)));
        let accused = share_of_hits(accused, reps);
        let of = format!("{hosts} hosts, {} %{}", 100.0 * tau, scatter.word());
        // The truth is too near the bound for the usual number of repetitions.
        let is_near = tau > 0.01 && matches!(scatter, HostScatter::Student(_));
        let bound = if is_near { LineBound::Shown } else { LineBound::AtMost(0.01) };
        lines.push(SelfcheckLine::new(
            "equal fleets accused",
            &of,
            accused,
            LineUnit::Share,
            bound,
        ));
    }
    lines
}

fn found_lines(reps: u64, noise: &mut Noise) -> Vec<SelfcheckLine> {
    let mut lines = Vec::new();
    for (hosts, bad, by, bound) in [
        (12, 1, 0.2, LineBound::AtLeast(0.99)),
        (12, 3, 0.2, LineBound::AtLeast(0.99)),
        (12, 1, 0.1, LineBound::Shown),
        (12, 3, 0.1, LineBound::Shown),
        (4, 1, 0.2, LineBound::Shown),
        (6, 1, 0.2, LineBound::AtLeast(0.85)),
        (1000, 1, 0.12, LineBound::AtLeast(0.9)),
    ] {
        let fleet =
            SimulatedFleet { hosts, tau: 0.01, scatter: HostScatter::Normal, least_error: 0.003 };
        let reps = repetitions(reps, hosts);
        let found = (0..reps).map(|_| are_all_named(&fleet, bad, by, noise));
        let of = format!("{bad} of {hosts}, -{} %", 100.0 * by);
        let sample = share_of_hits(found, reps);
        lines.push(SelfcheckLine::new("outliers found", &of, sample, LineUnit::Share, bound));
    }
    lines
}

fn is_any_named(hosts: &[Uncertain]) -> bool {
    host_outliers(hosts, ZONE).is_ok_and(|all| all.iter().any(|one| one.is_outlier))
}

/// Lowers the first `bad` hosts and returns true if they are the ones that are named.
fn are_all_named(fleet: &SimulatedFleet, bad: usize, by: f64, noise: &mut Noise) -> bool {
    let mut hosts = fleet.draw(noise);
    hosts[..bad].iter_mut().for_each(|host| host.value -= by);
    let is_right = |(at, one): (usize, &HostStanding)| one.is_outlier == (at < bad);
    host_outliers(&hosts, ZONE).is_ok_and(|all| all.iter().enumerate().all(is_right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_hold_in_a_quick_version() {
        for line in lines(60, 1) {
            assert!(line.holds, "{line:?}");
        }
    }
}
