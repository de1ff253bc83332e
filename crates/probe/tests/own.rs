//! iotax's own probes as a place runs them.

use iotax_load::{SliceBound, SliceResult, SliceSpec};
use iotax_probe::{ProbeError, ProbeSpec, ProbeUnit, own, prepare};

fn spec(ms: u64) -> SliceSpec {
    SliceSpec::starting_now(SliceBound::Time { ns: ms * 1_000_000 }, 1_000_000, false)
}

fn slice_of(text: &str) -> SliceResult {
    prepare(&ProbeSpec::parse(text).unwrap()).unwrap().run_probe_slice(&spec(20)).unwrap()
}

#[test]
fn every_probe_does_units_within_its_window_again_and_again() {
    for definition in own::ALL {
        let probe = ProbeSpec::parse(definition.name).unwrap();
        // The sizes that a test has room for.
        let probe = match definition.name {
            "copy" | "chase" => ProbeSpec::parse(&format!("{}(64KiB)", definition.name)).unwrap(),
            _ => probe,
        };
        let mut ready = prepare(&probe).unwrap();
        for _ in 0..2 {
            let done = ready.run_probe_slice(&spec(20)).unwrap();
            assert!(done.read.ios > 0 && done.window_ns > 0, "{probe}: {done:?}");
            assert_eq!(done.errors, 0, "{probe}: {done:?}");
            match definition.unit {
                ProbeUnit::Time(_) => {
                    let late = done.read.latency.mean().unwrap() * done.read.latency.count() as f64;
                    assert_eq!(done.read.latency.count(), done.read.ios, "{probe}");
                    assert!(
                        (done.window_ns as f64 / late - 1.0).abs() < 1e-3,
                        "{probe}: its window is the lateness"
                    );
                }
                // Units are whole, so the window ends up to one unit before the requested 20 ms. The
                // unit that is left out may be some times as long as the mean one.
                _ => {
                    let unit_ns = done.window_ns / done.read.ios;
                    let least_ns = 20_000_000 - (8 * unit_ns).clamp(100_000, 15_000_000);
                    assert!(done.window_ns >= least_ns, "{probe}: {}", done.window_ns);
                }
            }
        }
    }
}

#[test]
fn copies_count_their_bytes() {
    let done = slice_of("copy(64KiB)");
    assert_eq!(done.read.bytes, done.read.ios * 65_536);
}

#[test]
fn several_threads_do_it_side_by_side() {
    let probe = ProbeSpec { numjobs: 3, ..ProbeSpec::parse("switch").unwrap() };
    let done = prepare(&probe).unwrap().run_probe_slice(&spec(20)).unwrap();
    assert!(done.read.ios > 0 && done.cpu_user_ns + done.cpu_system_ns > 0, "{done:?}");
}

#[test]
fn what_a_place_cannot_do_is_refused_by_name() {
    let refused = |probe: ProbeSpec| match prepare(&probe) {
        Err(ProbeError::Unfit(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was prepared"),
    };
    let far = ProbeSpec { cpus_allowed: vec![900], ..ProbeSpec::parse("integer").unwrap() };
    assert!(refused(far).contains("processor 900 does not exist"));
    let unknown = ProbeSpec { name: "later".into(), ..ProbeSpec::parse("integer").unwrap() };
    assert!(refused(unknown).contains("no probe called \"later\""));
    let mut ready = prepare(&ProbeSpec::parse("integer").unwrap()).unwrap();
    let by_bytes = SliceSpec::starting_now(SliceBound::Bytes { bytes: 1 }, 0, false);
    assert!(ready.run_probe_slice(&by_bytes).unwrap_err().to_string().contains("by time only"));
}

#[test]
fn a_probe_that_ends_leaves_no_process_behind() {
    let children = || {
        let listed =
            std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
        listed.unwrap_or_default().split_whitespace().count()
    };
    let before = children();
    let mut ready = prepare(&ProbeSpec::parse("fork").unwrap()).unwrap();
    ready.run_probe_slice(&spec(20)).unwrap();
    drop(ready);
    assert!(children() <= before);
}
