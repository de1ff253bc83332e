//! sysbench 1.0: its tests of processors, memory, threads and mutexes.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, after_text, ask_program, ns, parse_positive,
    units, version_after, whole_number,
};
use crate::{Argument, Definition, ProbeUnit};
use iotax_load::Direction;
use std::time::Duration;

/// Block size of sysbench's memory test in bytes, which is its default.
const BLOCK: u64 = 1024;

pub(super) const DEFINITION: Definition = Definition {
    name: "sysbench",
    argument: Argument::Test(&[
        (
            "cpu",
            ProbeUnit::Count("searches for primes"),
            "searches for all primes up to 10,000, by division",
        ),
        (
            "memory",
            ProbeUnit::Bytes,
            "writes blocks of 1 KiB, each an event with its own clock readings: calls more than memory",
        ),
        (
            "threads",
            ProbeUnit::Count("events"),
            "an event locks one of 8 mutexes, yields and unlocks, 1,000 times",
        ),
        (
            "mutex",
            ProbeUnit::Count("events"),
            "each thread locks 50,000 times, then ends: fixed work, whatever the slice's length",
        ),
    ]),
    unit: ProbeUnit::Count("events"),
    subject: "sysbench's test",
    about: "Runs one of sysbench's tests with its defaults; versions before 1.0 count other things under the same names.",
    relative: "integer, copy(128MiB), switch: in slices",
    program: Some(("sysbench", "sysbench")),
    shortest_slice_ns: 1_000_000_000,
    needs_peer: false,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "sysbench",
    program: "sysbench",
    version: |program| Ok(version_after("sysbench", &ask_program(program, &["--version"])?)),
    copies: false,
    arguments: |asked| {
        let mut words = vec![
            asked.test().to_owned(),
            format!("--threads={}", asked.spec.numjobs.max(1)),
            format!("--time={}", asked.seconds()),
        ];
        if asked.test() == "memory" {
            // The default limit of 100 GiB would end it early.
            words.push("--memory-total-size=1024T".to_owned());
        }
        words.push("run".to_owned());
        words
    },
    expected: |asked| Duration::from_secs(asked.seconds() + 1),
    is_unanswered: |_| false,
    read: read_sysbench,
};

fn read_sysbench(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let text = &printed.stdout;
    let time = after_text(text, "total time:")?;
    let seconds = time
        .strip_suffix('s')
        .ok_or_else(|| format!("\"total time: {time}\" is not in seconds"))?;
    let events = after_text(text, "total number of events:")?;
    let ios = whole_number(events, events)?;
    let read = match asked.test() {
        "memory" => {
            let size = after_text(text, "block size:")?;
            let operations = after_text(text, "Total operations:")?;
            let number = operations.split(' ').next().unwrap_or_default();
            if size != "1KiB" || whole_number(number, operations)? != ios {
                return Err(format!(
                    "{ios} events, blocks of {size} and \"Total operations: {operations}\""
                ));
            }
            Direction { ios, bytes: ios * BLOCK, ..Direction::default() }
        }
        _ => units(ios),
    };
    Ok(ToolReading { ns: ns(parse_positive(seconds, time)?), read, ..ToolReading::default() })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const CPU: &str = include_str!("samples/sysbench-1.0.20-cpu.txt");
    const MEMORY: &str = include_str!("samples/sysbench-1.0.20-memory.txt");

    #[test]
    fn events_over_the_total_time_are_the_rate() {
        let reading = read_sample("sysbench(cpu)", &TOOL, CPU, "").unwrap();
        assert_eq!((reading.read.ios, reading.read.bytes, reading.ns), (1669, 0, 1_004_000_000));
        let reading = read_sample("sysbench(memory)", &TOOL, MEMORY, "").unwrap();
        assert_eq!((reading.read.ios, reading.read.bytes), (3_380_463, 3_380_463 * 1024));
        assert_eq!(reading.ns, 1_000_100_000);
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let cut = CPU.split("General").next().unwrap();
        let why = reads("sysbench", &TOOL, cut, "").unwrap_err();
        assert!(
            why.contains("no line \"total time:\"") && why.contains("events per second"),
            "{why}"
        );
        let other = CPU.replace("1.0040s", "1.0040 min");
        assert!(reads("sysbench", &TOOL, &other, "").unwrap_err().contains("is not in seconds"));
        let none = CPU.replace("1669", "many");
        assert!(
            reads("sysbench", &TOOL, &none, "")
                .unwrap_err()
                .contains("\"many\" is not a whole number")
        );
        let blocks = MEMORY.replace("1KiB", "4KiB");
        assert!(
            reads("sysbench(memory)", &TOOL, &blocks, "").unwrap_err().contains("blocks of 4KiB")
        );
        assert!(
            reads("sysbench(memory)", &TOOL, CPU, "")
                .unwrap_err()
                .contains("no line \"block size:\"")
        );
    }
}
