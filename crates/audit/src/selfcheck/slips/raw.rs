//! Slips in outputs of tools: an author edits them, pastes parts of two runs together, or the tool itself prints it wrong.

use super::Slip;
use super::edit::{blocks, change, change_where, field, lines, mistyped, targets};
use crate::import::fio::num2str::{self, Era, Style};
use crate::selfcheck::draft::{Draft, Dress, Item, Kind, Role, Target};
use crate::selfcheck::pool::{self, Run};
use crate::selfcheck::random::Random;

const SHOWN: &[Kind] = &[Kind::Compared, Kind::Raw];
const RAW: &[Kind] = &[Kind::Raw];

/// All of them.
pub(super) const ALL: &[Slip] = &[
    Slip {
        name: "fio: a digit of IOPS",
        help: "one of the first three digits of IOPS=",
        kinds: SHOWN,
        rules: &["F1", "F4"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, "IOPS=", "IOPS=", &[','], &|text, random| mistyped(text, 3, random)))
        },
    },
    Slip {
        name: "fio: a digit of the bandwidth",
        help: "one of the first three digits of BW=",
        kinds: SHOWN,
        rules: &["F2", "F5", "F4"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, "IOPS=", "BW=", &[' '], &|text, random| mistyped(text, 3, random)))
        },
    },
    Slip {
        name: "fio: a digit of the status' bandwidth",
        help: "one of the first three digits of the bandwidth of the run status",
        kinds: SHOWN,
        rules: &["F2"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, ": bw=", "bw=", &[' '], &|text, random| mistyped(text, 3, random)))
        },
    },
    Slip {
        name: "fio: 1000 for 1024",
        help: "the bandwidth of 1024 with the unit of 1000: (303MB/s) behind BW=303MiB/s",
        kinds: SHOWN,
        rules: &["F2", "F6"],
        bound: 0.95,
        inject: thousand,
    },
    Slip {
        name: "fio: a digit of the total",
        help: "one of the first two digits of the total behind the bandwidth",
        kinds: SHOWN,
        rules: &["F3", "F5"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, ")(", ")(", &['/'], &|text, random| mistyped(text, 2, random)))
        },
    },
    Slip {
        name: "fio: a digit of the runtime",
        help: "one of the first two digits of the runtime behind the total",
        kinds: SHOWN,
        rules: &["F1", "F2", "F5"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, ")(", "/", &['m'], &|text, random| mistyped(text, 2, random)))
        },
    },
    Slip {
        name: "fio: a part without counts",
        help: "an output that was cut behind its percentiles, and one of the first two digits of BW= in it",
        kinds: SHOWN,
        rules: &["F4", "F5"],
        bound: 0.95,
        inject: part,
    },
    Slip {
        name: "fio: a lost carry",
        help: "an output as fio 3.16 prints it, whose IOPS lost their carry",
        kinds: RAW,
        rules: &["N2"],
        bound: 0.95,
        inject: carry,
    },
    Slip {
        name: "fio: a lost carry, copied",
        help: "the same where the table has the wrong figure and a ratio of it",
        kinds: &[Kind::Compared],
        rules: &["N10", "T4"],
        bound: 0.9,
        inject: carry_copied,
    },
    Slip {
        name: "fio: a lost carry of a pasted line",
        help: "the result lines alone, without what was issued",
        kinds: RAW,
        rules: &["N3"],
        bound: 0.95,
        inject: excerpt,
    },
    Slip {
        name: "fio: latencies of another run",
        help: "latencies, percentiles and buckets of an output whose rate is another by a fifth and more",
        kinds: &[Kind::Compared],
        rules: &["F7"],
        bound: 0.95,
        inject: other_latencies,
    },
    Slip {
        name: "fio: a digit of a mean latency",
        help: "one of the first two digits of the mean of clat",
        kinds: SHOWN,
        rules: &["F8", "F7", "F11"],
        bound: 0.95,
        inject: |draft, random| {
            let (item, _) =
                change(draft, random, "clat (", "avg=", &[','], &|text, random| mistyped(text, 2, random))?;
            Some(targets(draft, item, &["slat", "clat", "lat", "read", "write"]))
        },
    },
    Slip {
        name: "fio: a maximum below the mean",
        help: "the maximum of clat is half its mean",
        kinds: SHOWN,
        rules: &["F9", "F10", "F11"],
        bound: 0.95,
        inject: maximum,
    },
    Slip {
        name: "fio: a digit of a percentile",
        help: "the first digit of the median",
        kinds: SHOWN,
        rules: &["F10", "F11", "F13"],
        bound: 0.95,
        inject: |draft, random| {
            let (item, _) =
                change(draft, random, "50.00th=[", "[", &[']'], &|text, random| mistyped(text, 1, random))?;
            Some(targets(draft, item, &["|", "clat", "lat"]))
        },
    },
    Slip {
        name: "fio: a mean above its percentiles",
        help: "the 99.99th percentile in the place of the mean of clat",
        kinds: SHOWN,
        rules: &["F11", "F8", "F7"],
        bound: 0.95,
        inject: impossible,
    },
    Slip {
        name: "fio: a digit of a bucket",
        help: "the first digit of the largest share of the latency buckets",
        kinds: SHOWN,
        rules: &["F12", "F13"],
        bound: 0.95,
        inject: |draft, random| {
            buckets(draft, random, &|shares, random| {
                let largest = largest(shares)?;
                shares[largest] = mistyped(&shares[largest], 1, random)?;
                Some(())
            })
        },
    },
    Slip {
        name: "fio: buckets in another order",
        help: "the largest share of the latency buckets in the place of the last",
        kinds: SHOWN,
        rules: &["F13"],
        bound: 0.9,
        inject: |draft, random| {
            buckets(draft, random, &|shares, _| {
                let (largest, last) = (largest(shares)?, shares.len().checked_sub(1)?);
                (largest != last).then(|| shares.swap(largest, last))
            })
        },
    },
    Slip {
        name: "fio: a digit of the samples' mean",
        help: "the first digit of the mean of the samples of bandwidth, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F14", "F17"],
        bound: 0.95,
        inject: |draft, random| {
            let found =
                long(draft, random, ["bw (", "avg="], &[','], &|text, random| mistyped(text, 1, random))?;
            Some(targets(draft, found.0, &["bw (", "iops"]))
        },
    },
    Slip {
        name: "fio: a digit of per=",
        help: "the first digits of per=, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F15"],
        bound: 0.95,
        inject: |draft, random| {
            one(long(draft, random, ["bw (", "per="], &['%'], &|_, random| {
                Some(format!("{:.2}", random.between(20.0, 80.0)))
            }))
        },
    },
    Slip {
        name: "fio: half of the samples",
        help: "half of the samples of bandwidth, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F16"],
        bound: 0.95,
        inject: |draft, random| {
            one(long(draft, random, ["bw (", "samples="], &[' ', '\n'], &|text, _| {
                Some((text.parse::<u64>().ok()? / 2).to_string())
            }))
        },
    },
    Slip {
        name: "fio: a digit of the samples of IOPS",
        help: "one of the first two digits of the mean of the samples of IOPS",
        kinds: SHOWN,
        rules: &["F17"],
        bound: 0.95,
        inject: |draft, random| {
            let found =
                change(draft, random, "iops  ", "avg=", &[','], &|text, random| mistyped(text, 2, random))?;
            Some(targets(draft, found.0, &["bw (", "iops"]))
        },
    },
    Slip {
        name: "fio: samples that vary",
        help: "a deviation of the samples of two fifths of their mean, of both kinds",
        kinds: RAW,
        rules: &["F27"],
        bound: 0.95,
        inject: unsteady,
    },
    Slip {
        name: "fio: a digit of the disk's I/Os",
        help: "the first digit of what the disk served, of a run of 20 s and more",
        kinds: RAW,
        rules: &["F19"],
        bound: 0.95,
        inject: disk,
    },
    Slip {
        name: "fio: a generator without time",
        help: "97 % of a processor for the load generator of runs that are compared",
        kinds: &[Kind::Compared],
        rules: &["F23"],
        bound: 0.95,
        inject: busy,
    },
    Slip {
        name: "fio: another depth",
        help: "iodepth=32 of a run whose I/Os were submitted at 8",
        kinds: SHOWN,
        rules: &["F24", "F7", "F25"],
        bound: 0.95,
        inject: |draft, random| {
            let eight = |lines: &[String]| lines.iter().any(|line| line.contains("8=100.0%"));
            let (item, line) =
                change_where(draft, random, &eight, ["ioengine=", "iodepth="], &[' '], &|_, _| {
                    Some("32".into())
                })?;
            let mut found = targets(draft, item, &["IO depths", "lat", "read", "write"]);
            found.push(Target::Raw(item, line));
            Some(found)
        },
    },
    Slip {
        name: "fio: an error",
        help: "err= 5",
        kinds: SHOWN,
        rules: &["F25"],
        bound: 0.95,
        inject: |draft, random| one(change(draft, random, "err=", "err=", &[':'], &|_, _| Some("5".into()))),
    },
    Slip {
        name: "fio: an end unlike the mean",
        help: "last progress at two fifths of the mean, of a run of 30 s and more",
        kinds: RAW,
        rules: &["F28", "F30"],
        bound: 0.95,
        inject: ending,
    },
    Slip {
        name: "fio: a digit of the progress",
        help: "one of the first two digits of the rate in the last line of progress",
        kinds: RAW,
        rules: &["F32"],
        bound: 0.95,
        inject: |draft, random| {
            one(change(draft, random, "/s][", "=", &['k', ' '], &|text, random| mistyped(text, 2, random)))
        },
    },
];

pub(super) fn one(found: Option<(usize, usize)>) -> Option<Vec<Target>> {
    found.map(|(item, line)| vec![Target::Raw(item, line)])
}

/// A change in an output of 20 s and more.
pub(super) fn long(
    draft: &mut Draft,
    random: &mut Random,
    at: [&str; 2],
    behind: &[char],
    to: &dyn Fn(&str, &mut Random) -> Option<String>,
) -> Option<(usize, usize)> {
    change_where(draft, random, &is_long, at, behind, to)
}

fn is_long(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains("run=2200") || line.contains("run=3202"))
}

fn thousand(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, line) = change(draft, random, "IOPS=", " (", &[')'], &|text, _| {
        text.contains("MB/s").then(|| text.to_owned())
    })?;
    let lines = lines(draft, item)?;
    let binary = pool::between(&lines[line], "BW=", " ")?.replace("MiB", "MB");
    let decimal = pool::between(&lines[line], " (", ")")?.to_owned();
    if binary == decimal || !binary.contains("MB") {
        return None;
    }
    lines[line] = lines[line].replacen(&format!("({decimal})"), &format!("({binary})"), 1);
    Some(vec![Target::Raw(item, line)])
}

fn part(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let one_way = |lines: &[String]| lines.iter().filter(|line| line.contains("IOPS=")).count() == 1;
    let (item, line) = change_where(draft, random, &one_way, ["IOPS=", "BW="], &[' '], &|text, random| {
        mistyped(text, 2, random)
    })?;
    let lines = lines(draft, item)?;
    let end = lines.iter().position(|line| line.contains("99.99th"))?;
    lines.truncate(end + 1);
    Some(targets(draft, item, &["read", "write"])).filter(|_| line < end)
}

/// A block of a run of one way below 100,000 and above 10,000 I/Os a second.
fn carried_block(draft: &Draft, random: &mut Random) -> Option<(usize, &'static Run)> {
    let mut found = Vec::new();
    for (at, item) in draft.items.iter().enumerate() {
        if let Item::Raw { run: Some(run), .. } = item {
            if run.ways.len() == 1 && (10_500.0..99_000.0).contains(&run.iops(0)) {
                found.push((at, *run));
            }
        }
    }
    (!found.is_empty()).then(|| *random.pick(&found))
}

/// A run's figures as a version prints them that loses carries, after its rate was moved to where one is lost; and the rate.
struct Carried {
    iops: String,
    exact: f64,
    issued: f64,
    binary: String,
    decimal: String,
    totals: [String; 2],
}

fn reprinted(run: &Run, random: &mut Random) -> Carried {
    let rate = run.iops(0);
    let whole = (rate / 1e3).round() * 1e3;
    let exact = (whole - random.between(2.0, 48.0)).floor();
    let issued = (exact * run.runtime_ms / 1e3).ceil();
    let bytes = issued * run.bs as f64;
    let print = |value: f64, style: Style| num2str::print(value as u64, style, Era::LostCarry);
    Carried {
        iops: print(exact, Style::IOPS),
        exact,
        issued,
        binary: print(1e3 * bytes / run.runtime_ms, Style::BANDWIDTH),
        decimal: print(1e3 * bytes / run.runtime_ms, Style::BANDWIDTH_DECIMAL),
        totals: [print(bytes, Style::TOTAL), print(bytes, Style::TOTAL_DECIMAL)],
    }
}

/// Writes it into the block; gives the line of the rate.
fn reprint(draft: &mut Draft, item: usize, run: &Run, carried: &Carried) -> Option<usize> {
    let Carried { iops, issued, binary, decimal, totals: [total, total_decimal], .. } = carried;
    let ms = run.runtime_ms;
    let lines = lines(draft, item)?;
    let mut rate = None;
    for (at, line) in lines.iter_mut().enumerate() {
        if line.starts_with("fio-3.33") {
            *line = "fio-3.16".into();
        } else if line.contains("IOPS=") {
            let end = line.rfind(')').map_or("", |at| &line[at + 1..]).to_owned();
            *line = format!(
                "  {}: IOPS={iops}, BW={binary} ({decimal})({total}/{ms}msec){end}",
                run.ways[0].name
            );
            rate = Some(at);
        } else if line.contains("issued rwts: total=") {
            let old = format!("{}", run.ways[0].issued);
            *line = line.replacen(&old, &format!("{issued}"), 1);
        } else if line.contains(": bw=") {
            let way = line.split(':').next().unwrap_or("").to_owned();
            *line = format!(
                "{way}: bw={binary} ({decimal}), {binary}-{binary} ({decimal}-{decimal}), io={total} ({total_decimal}), run={ms}-{ms}msec"
            );
        }
    }
    rate
}

fn carry(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, run) = carried_block(draft, random)?;
    let carried = reprinted(run, random);
    let line = reprint(draft, item, run, &carried)?;
    let mut found = targets(draft, item, &["READ", "WRITE"]);
    found.push(Target::Raw(item, line));
    Some(found)
}

/// The value that `76.0k` says.
fn said(text: &str) -> Option<f64> {
    Some(text.trim_end_matches('k').parse::<f64>().ok()? * 1e3)
}

fn carry_copied(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, run) = carried_block(draft, random)?;
    let copy = draft.figures.iter().position(
        |figure| matches!(figure.role, Role::Value { copied: Some((of, _)), rate: true, .. } if of == item),
    )?;
    let carried = reprinted(run, random);
    let line = reprint(draft, item, run, &carried)?;
    draft.figures[copy].text = carried.iops.clone();
    draft.figures[copy].value = said(&carried.iops)?;
    let mut found = targets(draft, item, &["READ", "WRITE"]);
    found.extend([Target::Figure(copy), Target::Raw(item, line)]);
    for id in 0..draft.figures.len() {
        if let Role::Ratio { form, above, below } | Role::Said { form, above, below } = draft.figures[id].role
        {
            if above == copy || below == copy {
                let value = form.of(draft.figures[above].value, draft.figures[below].value);
                draft.figures[id].value = value;
                draft.figures[id].text = draft.figures[id].guise.show(value);
                found.push(Target::Figure(id));
            }
        }
    }
    // Of another load's figures nothing is said where the rate is moved by chance to where it was.
    (carried.exact != run.iops(0)).then_some(found)
}

fn excerpt(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    if blocks(draft, &|_| true).len() != 1 {
        return None;
    }
    let (item, run) = carried_block(draft, random)?;
    let carried = reprinted(run, random);
    // What was moved is not exact to where a carry shows by the bandwidth's three digits.
    let digits =
        carried.binary.trim_end_matches(|letter: char| letter.is_alphabetic() || letter == '/').len();
    let line = reprint(draft, item, run, &carried)?;
    if let Item::Raw { lines, dress, .. } = &mut draft.items[item] {
        *lines = vec![lines[line].clone()];
        // One line is no listing.
        *dress = Dress::Fenced;
    }
    (digits >= 3).then(|| vec![Target::Raw(item, 0)])
}

/// The lines of a block that tell of latencies.
fn latencies(lines: &[String]) -> Vec<usize> {
    let of = |line: &str| {
        let line = line.trim_start();
        ["slat (", "clat (", "lat (", "clat perc", "|"].iter().any(|word| line.starts_with(word))
    };
    lines.iter().enumerate().filter(|(_, line)| of(line)).map(|(at, _)| at).collect()
}

fn other_latencies(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let runs: Vec<(usize, &'static Run)> = draft
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| match item {
            Item::Raw { run: Some(run), .. } if run.ways.len() == 1 => Some((at, *run)),
            _ => None,
        })
        .collect();
    let (item, run) = *random.pick(&runs);
    let far = |other: &&(usize, &'static Run)| !(0.45..1.2).contains(&(run.iops(0) / other.1.iops(0)));
    let others: Vec<&(usize, &'static Run)> = runs.iter().filter(far).collect();
    let (_, other) = **(!others.is_empty()).then(|| random.pick(&others))?;
    let theirs: Vec<String> = other.text().lines().map(str::to_owned).collect();
    let theirs: Vec<String> = latencies(&theirs).into_iter().map(|at| theirs[at].clone()).collect();
    let lines = lines(draft, item)?;
    let own = latencies(lines);
    let (first, count) = (*own.first()?, own.len());
    let (heads, buckets): (Vec<&String>, Vec<&String>) = theirs.iter().partition(|line| !line.contains(") "));
    let mut kept: Vec<String> =
        lines.iter().enumerate().filter(|(at, _)| !own.contains(at)).map(|(_, line)| line.clone()).collect();
    let cpu = kept.iter().position(|line| line.trim_start().starts_with("cpu "))?;
    kept.splice(cpu..cpu, buckets.into_iter().cloned());
    kept.splice(first..first, heads.into_iter().cloned());
    *lines = kept;
    (count > 8).then(|| targets(draft, item, &["lat", "clat", "slat", "read", "write"]))
}

fn maximum(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, line) = change(draft, random, "clat (", "max=", &[','], &|text, _| Some(text.to_owned()))?;
    let lines = lines(draft, item)?;
    let mean: f64 = pool::between(&lines[line], "avg=", ",")?.trim().parse().ok()?;
    let (_, bytes) = field(&lines[line..=line], "clat (", "max=", &[','])?;
    lines[line].replace_range(bytes, &format!("{:.0}", mean / 2.0));
    Some(targets(draft, item, &["|", "clat", "lat"]))
}

fn impossible(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, line) = change(draft, random, "clat (", "avg=", &[','], &|text, _| Some(text.to_owned()))?;
    let lines = lines(draft, item)?;
    let (_, far) = field(lines, "99.99th=[", "[", &[']'])?;
    let at = lines.iter().position(|line| line.contains("99.99th=["))?;
    let far = lines[at][far].trim().to_owned();
    // Where both are of one unit.
    let units = [&lines[line], lines.iter().find(|line| line.contains("clat percentiles"))?]
        .map(|line| pool::between(line, "(", ")").unwrap_or("").to_owned());
    let (_, bytes) = field(&lines[line..=line], "clat (", "avg=", &[','])?;
    lines[line].replace_range(bytes, &format!("{far}.00"));
    (units[0] == units[1]).then(|| targets(draft, item, &["|", "clat", "slat", "lat", "read", "write"]))
}

fn largest(shares: &[String]) -> Option<usize> {
    let value = |text: &String| text.parse::<f64>().unwrap_or(0.0);
    (0..shares.len()).max_by(|a, b| value(&shares[*a]).total_cmp(&value(&shares[*b])))
}

/// Changes the shares of the latency buckets of a block of one job.
fn buckets(
    draft: &mut Draft,
    random: &mut Random,
    change: &dyn Fn(&mut Vec<String>, &mut Random) -> Option<()>,
) -> Option<Vec<Target>> {
    let of = |line: &str| line.trim_start().starts_with("lat (") && line.contains(") ");
    let one_job = |lines: &[String]| {
        lines.iter().any(|line| of(line)) && lines.iter().filter(|line| line.contains("err=")).count() == 1
    };
    let found = blocks(draft, &one_job);
    let item = *(!found.is_empty()).then(|| random.pick(&found))?;
    let lines = lines(draft, item)?;
    let mut shares: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| of(line)) {
        shares.extend(line.split('=').skip(1).filter_map(|part| Some(part.split('%').next()?.to_owned())));
    }
    let before = shares.clone();
    change(&mut shares, random)?;
    let mut next = shares.iter();
    let mut at = Vec::new();
    for (number, line) in lines.iter_mut().enumerate().filter(|(_, line)| of(line)) {
        let mut parts = line.split('=');
        let mut made = parts.next()?.to_owned();
        for part in parts {
            made.push('=');
            made.push_str(next.next()?);
            made.push_str(&part[part.find('%')?..]);
        }
        *line = made;
        at.push(Target::Raw(item, number));
    }
    (before != shares).then_some(at)
}

fn unsteady(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let number = |line: &str, before| pool::between(line, before, ",")?.trim().parse::<f64>().ok();
    let steady = |lines: &[String]| {
        let line = lines.iter().find(|line| line.contains("bw ("));
        let varies = |line: &String| Some(number(line, "stdev=")? / number(line, "avg=")?);
        is_long(lines) && line.and_then(varies).is_some_and(|varies| varies < 0.1)
    };
    let same = |text: &str, _: &mut Random| Some(text.to_owned());
    let (item, _) = change_where(draft, random, &steady, ["bw (", "stdev="], &[','], &same)?;
    let lines = lines(draft, item)?;
    for word in ["bw (", "iops  "] {
        let (at, bytes) = field(lines, word, "stdev=", &[','])?;
        let mean: f64 = pool::between(&lines[at], "avg=", ",")?.trim().parse().ok()?;
        lines[at].replace_range(bytes, &format!("{:.2}", 0.4 * mean));
    }
    Some(targets(draft, item, &["bw (", "iops"]))
}

fn disk(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let larger = |text: &str, random: &mut Random| {
        let (reads, writes) = text.split_once('/')?;
        let read = reads.len() > writes.len();
        let new = mistyped(if read { reads } else { writes }, 1, random)?;
        Some(if read { format!("{new}/{writes}") } else { format!("{reads}/{new}") })
    };
    one(long(draft, random, ["vda:", "ios="], &[','], &larger))
}

fn busy(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let (item, line) = change(draft, random, "cpu  ", "usr=", &['%'], &|text, _| Some(text.to_owned()))?;
    let lines = lines(draft, item)?;
    let system: f64 = pool::between(&lines[line], "sys=", "%")?.parse().ok()?;
    let (_, bytes) = field(&lines[line..=line], "cpu  ", "usr=", &['%'])?;
    lines[line].replace_range(bytes, &format!("{:.2}", 97.0 - system));
    Some(vec![Target::Raw(item, line)])
}

fn ending(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let thirty = |lines: &[String]| lines.iter().any(|line| line.contains("run=3202"));
    let (item, line) = change_where(draft, random, &thirty, ["Jobs: 1", "[w="], &['M'], &|text, _| {
        Some(format!("{:.1}", 0.4 * text.parse::<f64>().ok()?))
    })?;
    let lines = lines(draft, item)?;
    let (_, bytes) = field(&lines[line..=line], "/s][", "=", &['k'])?;
    let rate: f64 = lines[line][bytes.clone()].parse().ok()?;
    lines[line].replace_range(bytes, &format!("{:.1}", 0.4 * rate));
    Some(targets(draft, item, &["Jobs:", "write"]))
}
