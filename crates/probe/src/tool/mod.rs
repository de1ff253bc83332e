//! Tools of the field, whose names people trust. A slice is one run of the program (a visit). It
//! takes as long as the slice's bound, and at least the tool's own shortest time. `visit` runs a
//! program and enforces its time limit. Each other module has one tool: its tests, its exact
//! arguments, and a strict reading of its output. Unexpected output is an error, never a zero.

mod iperf3;
mod mbw;
mod perftest;
pub(crate) mod removed;
#[cfg(test)]
#[path = "testing/samples.rs"]
mod samples;
mod served;
mod sockperf;
mod sysbench;
mod unixbench;
mod visit;

pub use served::ServedTool;
pub use unixbench::with_named_folder;

use crate::{Definition, ProbeError, ProbeSpec, ProbeUnit};
use std::net::SocketAddr;
use std::path::Path;

pub const ALL: &[&Definition] = &[
    &unixbench::DEFINITION,
    &mbw::DEFINITION,
    &sysbench::DEFINITION,
    &iperf3::DEFINITION,
    &perftest::DEFINITION,
    &sockperf::DEFINITION,
];

/// Function that returns the command of the other end, program first.
type ServerCommand = fn(&ProbeSpec, SocketAddr) -> Vec<String>;

const SERVERS: &[(&Definition, ServerCommand)] = &[
    (&iperf3::DEFINITION, iperf3::server),
    (&perftest::DEFINITION, perftest::server),
    (&sockperf::DEFINITION, sockperf::server),
];

/// Checks that this place has what the server of a tool needs besides its program.
fn check_server(spec: &ProbeSpec) -> Result<(), ProbeError> {
    match spec.name == perftest::DEFINITION.name {
        true => perftest::check_device(Path::new(perftest::DEVICES)),
        false => Ok(()),
    }
}

/// Returns true if the server of a tool ends after one run, and has to be started again.
fn serves_once(spec: &ProbeSpec) -> bool {
    spec.name == perftest::DEFINITION.name
}

/// Returns the command of a tool's other end, which listens until it is ended; `None` if the tool
/// has none.
pub fn server(spec: &ProbeSpec, listen: SocketAddr) -> Option<Vec<String>> {
    let (_, server) = SERVERS.iter().find(|(definition, _)| definition.name == spec.name)?;
    Some(server(spec, listen))
}

/// Figures that tools and people report of several runs, side by side: the best alone shows what a
/// machine does when it is lucky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSpread {
    pub best: f64,
    /// Median of the figures; the mean of the two middle ones for an even number.
    pub median: f64,
    pub mean: f64,
}

impl RunSpread {
    /// Returns best, median and mean of the figures of slices. The best is the lowest if the unit
    /// is a time, else the highest. `None` if there are no figures, or one is not finite.
    pub fn among_figures(unit: ProbeUnit, figures: &[f64]) -> Option<RunSpread> {
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
        let best = if matches!(unit, ProbeUnit::Time(_)) { lowest } else { highest };
        Some(RunSpread { best, median, mean: sorted.iter().sum::<f64>() / sorted.len() as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Argument, Probe, prepare};
    use iotax_load::{SliceBound, SliceResult, SliceSpec};
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// A server that ends with its test.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            // It fails if the server has ended by itself.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Runs a tool for a second; `None`, with a message, if it is not installed here.
    fn second(spec: &ProbeSpec) -> Option<(Box<dyn Probe>, Result<SliceResult, ProbeError>)> {
        match prepare(spec) {
            Err(ProbeError::Missing { program, package }) => {
                println!("skipped: {program} (package {package}) is not installed");
                None
            }
            probe => {
                let mut probe = probe.unwrap();
                let result = probe.run_probe_slice(&SliceSpec::starting_now(
                    SliceBound::Time { ns: 1_000_000_000 },
                    0,
                    false,
                ));
                Some((probe, result))
            }
        }
    }

    #[test]
    fn installed_tools_give_figures() {
        for probe in ["mbw(memcpy)", "sysbench(cpu)"] {
            let Some((probe, result)) = second(&ProbeSpec::parse(probe).unwrap()) else { continue };
            let result = result.unwrap();
            assert!(result.read.ios > 0 && result.window_ns > 0, "{} {result:?}", probe.name());
            assert!(probe.name().contains('.'), "a version in {}", probe.name());
            assert!(probe.slice_command().unwrap()[0].starts_with('/'));
        }
    }

    #[test]
    fn network_tools_measure_against_their_server() {
        for probe in ["iperf3(bidir)", "sockperf(tcp)"] {
            let mut spec = ProbeSpec::parse(probe).unwrap();
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
            spec.peer = Some(free);
            let command = server(&spec, free).unwrap();
            let mut program = Command::new(&command[0]);
            program
                .args(&command[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let Ok(child) = iotax_sys::child::ends_with_us(&mut program).spawn() else {
                println!("skipped: {} is not installed", command[0]);
                continue;
            };
            let _running = Running(child);
            // It listens soon; each refused attempt is the error that a user would get.
            let result = (0..20).find_map(|_| match second(&spec) {
                Some((_, Ok(result))) => Some(result),
                Some((_, Err(why))) => {
                    assert!(why.to_string().contains("running at 127.0.0.1"), "{why}");
                    std::thread::sleep(Duration::from_millis(100));
                    None
                }
                None => Some(SliceResult::default()),
            });
            let result = result.unwrap();
            let measured = match probe {
                "sockperf(tcp)" => {
                    result.read.latency.count() == result.read.ios && result.read.ios > 0
                }
                _ => result.read.bytes > 0 && result.write.bytes > 0,
            };
            assert!(measured, "{probe}: {result:?}");
        }
    }

    #[test]
    fn best_median_and_mean_are_three_figures() {
        let of = |figures| RunSpread::among_figures(ProbeUnit::Count("loops"), figures);
        assert_eq!(of(&[4.0, 1.0, 10.0]), Some(RunSpread { best: 10.0, median: 4.0, mean: 5.0 }));
        assert_eq!(
            of(&[4.0, 1.0, 10.0, 5.0]),
            Some(RunSpread { best: 10.0, median: 4.5, mean: 5.0 })
        );
        assert_eq!(of(&[7.0]), Some(RunSpread { best: 7.0, median: 7.0, mean: 7.0 }));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_best_time_is_the_shortest() {
        let spread = RunSpread::among_figures(ProbeUnit::Time("a round trip"), &[4.0, 1.0, 10.0]);
        assert_eq!(spread, Some(RunSpread { best: 1.0, median: 4.0, mean: 5.0 }));
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
        assert_eq!(ProbeSpec::parse("sysbench(memory)").unwrap().unit().unwrap(), ProbeUnit::Bytes);
    }

    #[test]
    fn the_page_has_every_tool_and_test() {
        let page = include_str!("../../../../docs/probes-tools.md");
        let table = page
            .split("## Tools and units")
            .nth(1)
            .and_then(|rest| rest.split("\n## ").next())
            .unwrap();
        for definition in ALL {
            let tests = match definition.argument {
                Argument::Test(tests) => tests.iter().map(|(word, ..)| *word).collect(),
                _ => Vec::new(),
            };
            for word in [definition.name].into_iter().chain(tests) {
                assert!(table.contains(&format!("`{word}`")), "{} {word}", definition.name);
            }
        }
    }

    #[test]
    fn those_with_another_end_need_a_peer() {
        let listen = "127.0.0.1:5201".parse().unwrap();
        for definition in ALL {
            let spec = ProbeSpec::parse(definition.name).unwrap();
            assert_eq!(
                server(&spec, listen).is_some(),
                definition.needs_peer,
                "{}",
                definition.name
            );
        }
    }
}
