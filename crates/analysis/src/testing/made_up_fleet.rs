//! Fleets with a known truth.

use super::{FIGURES_FORMAT, FleetHostResult, FleetInput, HostFact, HostFigure, HostFigures};
use crate::findings::fleet::{FigureKey, FleetQuantity};
use iotax_units::random::Random;

/// A fleet of hosts that are alike but for the slow ones.
#[derive(Clone, Debug)]
pub struct MadeUpFleet {
    pub id: String,
    pub hosts: usize,
    pub seed: u64,
    /// Standard deviation between hosts, as a logarithm.
    pub spread: f64,
    /// Standard error of the figures of one host, as a logarithm.
    pub error: f64,
    /// Numbers of slow hosts from 1, with the factor of their rates.
    pub slow: Vec<(usize, f64)>,
    /// Facts that slow hosts have in place of the others': subject, key, value.
    pub slow_facts: Vec<[&'static str; 3]>,
    /// Numbers of hosts without figures.
    pub lost: Vec<usize>,
}

impl MadeUpFleet {
    pub fn of_hosts(hosts: usize, seed: u64) -> MadeUpFleet {
        MadeUpFleet {
            id: "20260301-101500-ab12".into(),
            hosts,
            seed,
            spread: 0.01,
            error: 0.004,
            slow: Vec::new(),
            slow_facts: vec![["drive", "PCIe link", "8.0 GT/s x2"]],
            lost: Vec::new(),
        }
    }

    pub fn build(&self) -> FleetInput {
        let mut random = Random::new(self.seed, 47);
        FleetInput {
            id: self.id.clone(),
            name: Some("nightly".into()),
            source: "reads.toml".into(),
            hosts: (1..=self.hosts).map(|number| self.host(number, &mut random)).collect(),
            earlier: None,
        }
    }

    fn host(&self, number: usize, random: &mut Random) -> FleetHostResult {
        let figures = self.figures(number, random);
        let is_lost = self.lost.contains(&number);
        FleetHostResult {
            host: format!("n{number}"),
            state: if is_lost { "lost" } else { "done" }.into(),
            why: is_lost.then(|| "ssh: no route to host".into()),
            next: is_lost.then(|| format!("iotax fleet resume {}", self.id)),
            figures: (!is_lost).then_some(figures),
            clock_ahead_s: Some(0.01),
            groups: vec!["storage".into()],
        }
    }

    fn figures(&self, number: usize, random: &mut Random) -> HostFigures {
        let factor = self.slow.iter().find(|(slow, _)| *slow == number).map(|(_, factor)| *factor);
        let own = self.spread * normal_value(random) + factor.unwrap_or(1.0).ln();
        let mut figure = |stack: &str, quantity, unit: &str, typical: f64, power: f64| {
            let against = (quantity == FleetQuantity::RateRatio).then(|| "file".to_owned());
            let (workload, stack) = ("randread-4k-x32".to_owned(), stack.to_owned());
            HostFigure {
                key: FigureKey { workload, stack, quantity, against, direction: None },
                subject: "4k random reads at iodepth 32".into(),
                unit: unit.into(),
                value: typical * (power * own + self.error * normal_value(random)).exp(),
                log_error: Some(self.error * (1.0 + 0.2 * normal_value(random)).abs().max(0.4)),
                freedom: Some(15.0),
                no_error: None,
            }
        };
        let figures = vec![
            figure("file", FleetQuantity::Rate, "1/s", 400e3, 1.0),
            figure("loop", FleetQuantity::Rate, "1/s", 330e3, 1.0),
            figure("loop", FleetQuantity::RateRatio, "1", 0.83, 0.1),
            figure("file", FleetQuantity::LatencyP99, "ns", 120e3, -1.0),
            figure("file", FleetQuantity::CpuPerIo, "ns", 2.1e3, 0.0),
        ];
        HostFigures {
            format: FIGURES_FORMAT,
            run: format!("20260301-101500-{number:04x}"),
            name: Some("nightly".into()),
            at: "2026-03-01T10:15:00Z".into(),
            iotax: "0.9.0".into(),
            scenario_sha256: "5f1c".repeat(16),
            zone: 0.02,
            emulated: Vec::new(),
            figures,
            verdicts: vec!["loop costs 17 % +- 1 % of the IOPS of file".into()],
            warnings: Vec::new(),
            facts: self.facts(factor.is_some(), random),
        }
    }

    fn facts(&self, is_slow: bool, random: &mut Random) -> Vec<HostFact> {
        let temperature = format!("{} °C", 33 + random.draw_below(9));
        let kernel = if random.chance(30) { "6.12.41+deb13-amd64" } else { "6.12.38+deb13-amd64" };
        let facts = [
            ["host", "kernel", kernel],
            ["host", "os", "Debian GNU/Linux 13 (trixie)"],
            ["host", "cpu", "AMD EPYC 9354P 32-Core Processor"],
            ["host", "microcode", "0xa101148"],
            ["host", "governor", "performance"],
            ["drive", "model", "SAMSUNG MZQL23T8HCLS-00A07"],
            ["drive", "firmware", "GDC5902Q"],
            ["drive", "PCIe link", "16.0 GT/s x4"],
            ["drive", "scheduler", "none"],
            ["drive", "temperature", &temperature],
        ];
        let slow = |subject: &str, key: &str| {
            let found =
                self.slow_facts.iter().find(|[one, other, _]| [*one, *other] == [subject, key]);
            found.filter(|_| is_slow).map(|[.., value]| *value)
        };
        let fact = |[subject, key, value]: [&str; 3]| HostFact {
            subject: subject.into(),
            key: key.into(),
            value: slow(subject, key).unwrap_or(value).into(),
        };
        facts.into_iter().map(fact).collect()
    }
}

/// Returns a normal value, by the sum of twelve even ones.
fn normal_value(random: &mut Random) -> f64 {
    const STEPS: u64 = 1 << 32;
    (0..12).map(|_| random.draw_below(STEPS) as f64 / STEPS as f64).sum::<f64>() - 6.0
}
