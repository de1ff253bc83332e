//! mbw: copies of one array to another, by three methods. It prints lines such as `0 Method: MEMCPY
//! Elapsed: 0.01035 MiB: 128.00000 Copy: 12366.1 MiB/s`.
//!
//! A test has the name that mbw prints. Before version 1.4 (Debian has 1.2.2) two names are swapped
//! in mbw itself: what it calls MEMCPY is its loop, and DUMB is memcpy (`worker` and `printout` of
//! its mbw.c).

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, ask_program, ns, parse_positive, shorten_line,
    version_after, whole_number,
};
use crate::{Argument, Definition, ProbeError, ProbeUnit};
use std::path::Path;
use std::time::Duration;

/// Size of an array in MiB, as in `copy(128MiB)`: far more than a processor's own caches.
const ARRAY_MIB: u64 = 128;
/// Number of copies for each second of a slice: 6 GiB, about a second if memory is slow.
const RUNS_A_SECOND: u64 = 50;

pub(super) const DEFINITION: Definition = Definition {
    name: "mbw",
    argument: Argument::Test(&[
        (
            "memcpy",
            ProbeUnit::Bytes,
            "the row MEMCPY: memcpy over the whole array; before mbw 1.4 a loop that copies 8 bytes at a time",
        ),
        (
            "dumb",
            ProbeUnit::Bytes,
            "the row DUMB: a loop that copies 8 bytes at a time; before mbw 1.4 memcpy",
        ),
        (
            "mcblock",
            ProbeUnit::Bytes,
            "memcpy of the same 256 KiB to one place after the other: the source stays in a cache",
        ),
    ]),
    unit: ProbeUnit::Bytes,
    subject: "mbw's copies",
    about: "Copies an array of 128 MiB to another and counts bytes copied, half of what memory moves. If the arrays fit a cache, the \
            figure is the cache's.",
    relative: "copy(128MiB), in slices",
    program: Some(("mbw", "mbw")),
    shortest_slice_ns: 300_000_000,
    needs_peer: false,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "mbw",
    program: "mbw",
    version,
    copies: true,
    arguments: |asked| {
        let method =
            ["memcpy", "dumb", "mcblock"].iter().position(|one| *one == asked.test()).unwrap_or(0);
        let runs = asked.ns * RUNS_A_SECOND / 1_000_000_000;
        format!("-q -n {} -t{method} {ARRAY_MIB}", runs.max(5))
            .split(' ')
            .map(str::to_owned)
            .collect()
    },
    expected: |asked| Duration::from_nanos(asked.ns) + Duration::from_secs(1),
    is_unanswered: |_| false,
    read: read_mbw,
};

/// Returns the version that mbw reports, or for an old one that of the Debian package, if known.
fn version(program: &Path) -> Result<Option<String>, ProbeError> {
    let own = version_after("mbw", &ask_program(program, &["-h"])?);
    if own.is_some() || program != Path::new("/usr/bin/mbw") {
        return Ok(own);
    }
    let package = ask_program(Path::new("/usr/bin/dpkg-query"), &["-W", "-f", "${Version}", "mbw"])
        .unwrap_or_default();
    let upstream = package.rsplit_once('-').map_or(package.as_str(), |(upstream, _)| upstream);
    Ok(Some(upstream.to_owned())
        .filter(|text| text.starts_with(|sign: char| sign.is_ascii_digit())))
}

fn read_mbw(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let mut reading = ToolReading::default();
    let mut average = false;
    for line in printed.stdout.lines().filter(|line| line.contains("Method:")) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [run, "Method:", method, "Elapsed:", _, "MiB:", size, "Copy:", rate, "MiB/s"] =
            fields[..]
        else {
            return Err(format!("{} is not a run of mbw", shorten_line(line)));
        };
        let (size, rate) = (parse_positive(size, line)?, parse_positive(rate, line)?);
        if !method.eq_ignore_ascii_case(asked.test()) || size != ARRAY_MIB as f64 {
            let test = asked.test();
            return Err(format!("{} is not {test} of {ARRAY_MIB} MiB", shorten_line(line)));
        }
        if run == "AVG" {
            average = true;
            continue;
        }
        if whole_number(run, line)? != reading.read.ios {
            return Err(format!("{} is out of order", shorten_line(line)));
        }
        // The printed time has fewer digits than the rate.
        let time = ns(size / rate);
        reading.ns += time;
        reading.read.ios += 1;
        reading.read.bytes += ARRAY_MIB << 20;
        reading.read.latency.record(time);
    }
    match average {
        true => Ok(reading),
        false => Err(format!("it ends without its average; {}", visit::last_words(printed))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const SAMPLE: &str = include_str!("samples/mbw-1.2.2.txt");

    #[test]
    fn runs_are_added_up_by_their_rates() {
        let reading = read_sample("mbw(mcblock)", &TOOL, SAMPLE, "").unwrap();
        assert_eq!((reading.read.ios, reading.read.bytes), (5, 5 * (128 << 20)));
        assert_eq!(reading.read.latency.count(), 5);
        let rate = reading.read.bytes as f64 / (reading.ns as f64 / 1e9) / 1_048_576.0;
        let average = SAMPLE.lines().find(|line| line.starts_with("AVG")).unwrap();
        let printed: f64 = average.split_whitespace().nth(8).unwrap().parse().unwrap();
        assert!((rate / printed - 1.0).abs() < 0.001, "{rate} {printed}");
    }

    #[test]
    fn what_is_cut_off_or_of_another_test_is_an_error() {
        let cut = SAMPLE.split_inclusive('\n').take(3).collect::<String>();
        assert!(
            reads("mbw(mcblock)", &TOOL, &cut, "")
                .unwrap_err()
                .contains("ends without its average")
        );
        assert!(reads("mbw(mcblock)", &TOOL, "", "").unwrap_err().contains("printed nothing"));
        assert!(
            reads("mbw(memcpy)", &TOOL, SAMPLE, "")
                .unwrap_err()
                .contains("is not memcpy of 128 MiB")
        );
        let other = SAMPLE.replace("MiB/s", "GB/s");
        assert!(
            reads("mbw(mcblock)", &TOOL, &other, "").unwrap_err().contains("is not a run of mbw")
        );
        let zero = SAMPLE.replace("Copy: ", "Copy: -");
        assert!(
            reads("mbw(mcblock)", &TOOL, &zero, "")
                .unwrap_err()
                .contains("is not a number above 0")
        );
    }
}
