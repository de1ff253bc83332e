//! Slips in outputs of fio that make them tell of another state: of the device, of its latencies, of the generator.

use super::Slip;
use super::edit::{blocks, change_where, field, field_of, lines, targets};
use super::raw::{long, one};
use crate::selfcheck::draft::{Draft, Kind, Target};
use crate::selfcheck::random::Random;

const RAW: &[Kind] = &[Kind::Raw];

/// All of them.
pub(super) const ALL: &[Slip] = &[
    Slip {
        name: "fio: a device that took no time",
        help: "a tenth of the device's time, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F20", "F21"],
        bound: 0.95,
        inject: |draft, random| {
            one(long(draft, random, ["vda:", "ticks="], &[','], &|text, _| of_both(text, 0.1)))
        },
    },
    Slip {
        name: "fio: a queue shorter than its I/Os",
        help: "in_queue of half of what the ticks add up to, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F21"],
        bound: 0.95,
        inject: |draft, random| {
            one(long(draft, random, ["vda:", "in_queue="], &[','], &|text, _| of_both(text, 0.4)))
        },
    },
    Slip {
        name: "fio: an idle device",
        help: "a device that was busy half of the time, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F22"],
        bound: 0.95,
        inject: |draft, random| {
            let half = |_: &str, random: &mut Random| Some(format!("{:.2}", random.between(30.0, 70.0)));
            one(long(draft, random, ["vda:", "util="], &['%'], &half))
        },
    },
    Slip {
        name: "fio: two regimes",
        help: "percentiles from the 60th on of three times as long",
        kinds: RAW,
        rules: &["F29"],
        bound: 0.9,
        inject: regimes,
    },
    Slip {
        name: "fio: a far tail",
        help: "a 99.99th percentile of sixty times the median",
        kinds: RAW,
        rules: &["F31"],
        bound: 0.95,
        inject: tail,
    },
    Slip {
        name: "fio: a completion in no time",
        help: "the least completion latency of an asynchronous engine below 2 us",
        kinds: RAW,
        rules: &["F33"],
        bound: 0.95,
        inject: |draft, random| {
            let asynchronous = |lines: &[String]| {
                let engine =
                    |line: &String| line.contains("ioengine=libaio") || line.contains("ioengine=io_uring");
                lines.iter().any(engine) && lines.iter().any(|line| line.contains("clat (usec)"))
            };
            let none = |_: &str, _: &mut Random| Some("1".to_owned());
            one(change_where(draft, random, &asynchronous, ["clat (usec)", "min="], &[','], &none))
        },
    },
    Slip {
        name: "fio: I/Os without a processor",
        help: "a thousandth of the processor for the load generator",
        kinds: RAW,
        rules: &["P15"],
        bound: 0.88, // Large blocks take more time than that even so.
        inject: idle,
    },
];

/// Both counts of `reads/writes`, or the only one, times a factor.
fn of_both(text: &str, factor: f64) -> Option<String> {
    let scaled: Option<Vec<String>> =
        text.split('/').map(|count| Some(format!("{:.0}", factor * count.parse::<f64>().ok()?))).collect();
    scaled.map(|counts| counts.join("/")).filter(|new| new != text)
}

/// A block of one job and way whose percentiles are listed.
fn with_percentiles(draft: &Draft, random: &mut Random) -> Option<usize> {
    let count = |lines: &[String], word: &str| lines.iter().filter(|line| line.contains(word)).count();
    let found = blocks(draft, &|lines| {
        count(lines, "50.00th=[") == 1 && count(lines, "99.99th=[") == 1 && count(lines, "err=") == 1
    });
    (!found.is_empty()).then(|| *random.pick(&found))
}

/// A percentile of a line that has it, times a factor.
fn stretch(line: &mut String, percentile: &str, to: &dyn Fn(f64) -> f64) -> Option<()> {
    let bytes = field_of(line, percentile, "[", &[']'])?;
    let value: f64 = line[bytes.clone()].trim().parse().ok()?;
    line.replace_range(bytes, &format!("{:.0}", to(value)));
    Some(())
}

fn regimes(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let item = with_percentiles(draft, random)?;
    let lines = lines(draft, item)?;
    for percentile in [
        "60.00th", "70.00th", "80.00th", "90.00th", "95.00th", "99.00th", "99.50th", "99.90th", "99.95th",
        "99.99th",
    ] {
        let line = lines.iter_mut().find(|line| line.contains(percentile))?;
        stretch(line, percentile, &|value| 3.0 * value)?;
    }
    Some(targets(draft, item, &["|", "clat", "lat"]))
}

fn tail(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let item = with_percentiles(draft, random)?;
    let lines = lines(draft, item)?;
    let (at, bytes) = field(lines, "50.00th=[", "[", &[']'])?;
    let median: f64 = lines[at][bytes].trim().parse().ok()?;
    let line = lines.iter_mut().find(|line| line.contains("99.99th"))?;
    stretch(line, "99.99th", &|_| 60.0 * median)?;
    Some(targets(draft, item, &["|", "clat", "lat"]))
}

fn idle(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let libaio = |lines: &[String]| lines.iter().any(|line| line.contains("ioengine=libaio"));
    let little = |_: &str, _: &mut Random| Some("0.01".to_owned());
    let (item, line) = change_where(draft, random, &libaio, ["cpu  ", "usr="], &['%'], &little)?;
    let lines = lines(draft, item)?;
    let bytes = field_of(&lines[line], "cpu  ", "sys=", &['%'])?;
    lines[line].replace_range(bytes, "0.02");
    Some(targets(draft, item, &["cpu", "read", "write"]))
}
