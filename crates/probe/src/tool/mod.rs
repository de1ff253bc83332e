//! The field's own tools, where people trust their names: a slice is one run of the program (a visit), as long as the slice's bound
//! or the tool's own shortest time. `visit` runs a program and holds it to its limit; each other module has one tool: its tests, its
//! exact arguments, and a strict reading of its output. What a tool prints that is not as expected is an error, never a zero.

mod iperf3;
mod mbw;
mod openssl;
#[cfg(test)]
mod samples;
mod seven_zip;
mod sockperf;
mod stream;
mod stress_ng;
mod sysbench;
mod unixbench;
mod visit;

use crate::{Definition, ProbeSpec, Unit};
use std::net::SocketAddr;

/// All of them.
pub const ALL: &[&Definition] = &[
    &unixbench::DEFINITION,
    &mbw::DEFINITION,
    &stream::DEFINITION,
    &sysbench::DEFINITION,
    &stress_ng::DEFINITION,
    &seven_zip::DEFINITION,
    &openssl::DEFINITION,
    &iperf3::DEFINITION,
    &sockperf::DEFINITION,
];

/// The arguments of the other end, program first.
type Server = fn(&ProbeSpec, SocketAddr) -> Vec<String>;

/// Those that have another end.
const SERVERS: &[(&Definition, Server)] =
    &[(&iperf3::DEFINITION, iperf3::server), (&sockperf::DEFINITION, sockperf::server)];

/// The command of a tool's other end, which listens there until it is ended; `None`: it has none.
pub fn server(spec: &ProbeSpec, listen: SocketAddr) -> Option<Vec<String>> {
    let (_, server) = SERVERS.iter().find(|(definition, _)| definition.name == spec.name)?;
    Some(server(spec, listen))
}

/// What tools and people take for the figure of several runs, side by side: the best alone says what a machine does in luck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The highest rate, the shortest time.
    pub best: f64,
    /// The middle one, the mean of two.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Spread {
    /// Of the figures of slices; `None` of none, and where one is no number.
    pub fn of(unit: Unit, figures: &[f64]) -> Option<Spread> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (lowest, highest) = (*sorted.first()?, *sorted.last()?);
        if !figures.iter().all(|figure| figure.is_finite()) {
            return None;
        }
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
            _ => sorted[middle],
        };
        let best = if matches!(unit, Unit::Time(_)) { lowest } else { highest };
        Some(Spread { best, median, mean: sorted.iter().sum::<f64>() / sorted.len() as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Argument;

    #[test]
    fn best_median_and_mean_are_three_figures() {
        let of = |figures| Spread::of(Unit::Count("loops"), figures);
        assert_eq!(of(&[4.0, 1.0, 10.0]), Some(Spread { best: 10.0, median: 4.0, mean: 5.0 }));
        assert_eq!(of(&[4.0, 1.0, 10.0, 5.0]), Some(Spread { best: 10.0, median: 4.5, mean: 5.0 }));
        assert_eq!(of(&[7.0]), Some(Spread { best: 7.0, median: 7.0, mean: 7.0 }));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_best_time_is_the_shortest() {
        let spread = Spread::of(Unit::Time("a round trip"), &[4.0, 1.0, 10.0]);
        assert_eq!(spread, Some(Spread { best: 1.0, median: 4.0, mean: 5.0 }));
    }

    #[test]
    fn every_test_of_a_tool_says_what_its_unit_is() {
        for definition in ALL {
            let Argument::Test(tests) = definition.argument else { continue };
            for (word, unit, _) in tests {
                let spec = ProbeSpec::parse(&format!("{}({word})", definition.name)).unwrap();
                assert_eq!(spec.unit().unwrap(), *unit);
            }
        }
        assert_eq!(ProbeSpec::parse("sysbench(memory)").unwrap().unit().unwrap(), Unit::Bytes);
    }

    #[test]
    fn those_with_another_end_need_a_peer() {
        let listen = "127.0.0.1:5201".parse().unwrap();
        for definition in ALL {
            let spec = ProbeSpec::parse(definition.name).unwrap();
            assert_eq!(server(&spec, listen).is_some(), definition.needs_peer, "{}", definition.name);
        }
    }
}
