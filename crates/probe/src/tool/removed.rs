//! Tools that earlier versions ran as probes. Their stored runs stay readable; a new run is refused
//! and refers to a probe of iotax's own.

use crate::ProbeUnit;

/// A tool, or one test of it, that is no longer a probe.
pub struct RemovedTool {
    /// Probe as it was written: `stress-ng(cyclic)`, or `stress-ng` for all other tests of the
    /// tool.
    text: &'static str,
    /// Unit of its figures in stored runs.
    pub unit: ProbeUnit,
    /// The nearest of iotax's own probes.
    pub instead: &'static str,
}

const BOGO: ProbeUnit = ProbeUnit::Count("bogo operations");
const SIGNATURES: ProbeUnit = ProbeUnit::Count("signatures");

const fn removed(text: &'static str, unit: ProbeUnit, instead: &'static str) -> RemovedTool {
    RemovedTool { text, unit, instead }
}

const REMOVED: &[RemovedTool] = &[
    removed("stream", ProbeUnit::Bytes, "copy(128MiB)"),
    removed("7z", ProbeUnit::Count("LZMA instructions"), "integer"),
    removed("openssl", ProbeUnit::Bytes, "integer"),
    removed("openssl(rsa2048)", SIGNATURES, "integer"),
    removed("openssl(ecdsap256)", SIGNATURES, "integer"),
    removed("stress-ng", BOGO, "integer"),
    removed("stress-ng(matrix)", BOGO, "float"),
    removed("stress-ng(memcpy)", BOGO, "copy(128MiB)"),
    removed("stress-ng(vm)", BOGO, "copy(128MiB)"),
    removed("stress-ng(fork)", BOGO, "fork"),
    removed("stress-ng(switch)", BOGO, "switch"),
    removed("stress-ng(pipe)", BOGO, "pipe"),
    removed(
        "stress-ng(cyclic)",
        ProbeUnit::Time("wake-up after 100 us under SCHED_DEADLINE"),
        "wakeup",
    ),
];

/// Looks up a removed tool by its name and the word in brackets, in upper or lower case.
pub(crate) fn find_removed(name: &str, argument: Option<&str>) -> Option<&'static RemovedTool> {
    let test = format!("{name}({})", argument.unwrap_or_default());
    let known = |text: &str| REMOVED.iter().find(|one| one.text.eq_ignore_ascii_case(text));
    known(&test).or_else(|| known(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProbeSpec;

    #[test]
    fn a_new_run_names_the_own_probe_and_a_stored_one_keeps_its_unit() {
        for one in REMOVED {
            ProbeSpec::parse(one.instead).unwrap();
            let why = ProbeSpec::parse(one.text).unwrap_err();
            assert!(why.ends_with(&format!("hint: {}", one.instead)), "{why}");
            let (name, test) = one.text.split_once('(').unwrap_or((one.text, ""));
            let stored = ProbeSpec {
                name: name.to_owned(),
                argument: test.strip_suffix(')').map(str::to_owned),
                ..ProbeSpec::parse("integer").unwrap()
            };
            assert!(stored.unit().unwrap() == one.unit && stored.is_tool());
            assert!(stored.definition().err().unwrap().to_string().ends_with(one.instead));
        }
        let other = find_removed("stress-ng", Some("cpu")).unwrap();
        assert_eq!((other.unit, other.instead), (BOGO, "integer"));
    }
}
