//! Which system and workload the figures of a page are of: of outputs, of tables by their labels and heads, of sentences by what
//! they name.

use super::axes::{self, Axes};
use crate::audit::Audited;
use crate::import::fio::Fio;
use crate::import::{Output, Reading, Said, Way, Workload};
use crate::knowledge::mentions::heading;
use crate::link::parts;
use crate::number::Figure;
use crate::page::{Page, Spot};
use crate::prose::{Clause, Topic, topic};
use crate::rule::prose::order::guest_or_host;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a figure is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Whose {
    /// Its system.
    pub system: Option<Arc<str>>,
    /// Its workload.
    pub workload: Option<Arc<str>>,
}

/// By where figures stand.
pub(super) fn of(audited: &Audited) -> HashMap<Spot, Whose> {
    let mut known = HashMap::new();
    let named = axes::named_by(&audited.links);
    let axes: Vec<Axes> = audited.tables.iter().map(|table| Axes::of(table, &named)).collect();
    let systems = Systems::of(&axes, audited);
    for (table, axes) in audited.tables.iter().zip(&axes) {
        for (row, cells) in table.rows.iter().enumerate() {
            for (column, cell) in cells.cells.iter().enumerate() {
                for one in
                    cell.iter().flat_map(|cell| cell.figure.iter().chain(&cell.share).chain(&cell.more))
                {
                    let (system, workload) = (axes.system(row, column), axes.workload(row, column));
                    known.insert(one.figure.spot, Whose { system, workload });
                }
            }
        }
    }
    let page = &audited.page;
    let taken = taken(audited);
    for output in &audited.outputs {
        let system = above(page, output.lines.start, &systems, &taken);
        of_output(output, system.as_ref(), &mut known);
    }
    for clause in &audited.clauses {
        let whose = of_clause(page, clause, &systems);
        for one in &clause.figures {
            known.insert(one.figure.spot, whose.clone());
        }
    }
    of_links(audited, &mut known);
    for named in &audited.pinned.named {
        let whose = known.entry(named.spot).or_default();
        whose.system = named.system.as_deref().map(Arc::from).or(whose.system.take());
        whose.workload = named.workload.as_deref().map(Arc::from).or(whose.workload.take());
    }
    known
}

/// More names are no systems.
const MOST_SYSTEMS: usize = 100;

/// The systems that a page tells of, each with the words that tell it from the others.
struct Systems(Vec<(Arc<str>, Vec<String>)>);

impl Systems {
    fn of(axes: &[Axes], audited: &Audited) -> Systems {
        let mut names: Vec<Arc<str>> = axes.iter().flat_map(Axes::systems).cloned().collect();
        names.extend(audited.pinned.named.iter().filter_map(|named| named.system.as_deref()).map(Arc::from));
        names.sort();
        names.dedup();
        names.truncate(MOST_SYSTEMS);
        let words: Vec<Vec<String>> = names.iter().map(|name| parts(name)).collect();
        let own = |at: usize| -> Vec<String> {
            let others = |word: &&String| {
                !words.iter().enumerate().any(|(other, words)| other != at && words.contains(word))
            };
            words[at].iter().filter(others).cloned().collect()
        };
        let own: Vec<Vec<String>> = (0..names.len()).map(own).collect();
        Systems(names.into_iter().zip(own).collect())
    }

    /// The one that a text names.
    fn named(&self, text: &str) -> Option<Arc<str>> {
        if self.0.is_empty() {
            return None;
        }
        let said: HashSet<String> = parts(text).into_iter().collect();
        let mut found = self.0.iter().filter(|(_, own)| own.iter().any(|word| said.contains(word)));
        found.next().filter(|_| found.next().is_none()).map(|(name, _)| Arc::clone(name))
    }
}

/// A ratio is of both of its operands' systems.
fn of_links(audited: &Audited, known: &mut HashMap<Spot, Whose>) {
    for link in &audited.links {
        let [one, other] = &link.names;
        let whose = known.entry(link.derived.figure.spot).or_default();
        if !one.is_empty()
            && !other.is_empty()
            && one != other
            && !names_loads(link.names.iter())
            && whose.system.is_none()
        {
            whose.system = Some(format!("{} / {}", one.trim(), other.trim()).into());
        }
    }
}

fn names_loads<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    names.any(|name| axes::tells_load(name))
}

fn of_clause(page: &Page, clause: &Clause, systems: &Systems) -> Whose {
    let text = clause.text(page);
    let system = systems.named(text).or_else(|| systems.named(clause.sentence(page)));
    let own = topic(text);
    let about = if own.is_empty() { &clause.topic } else { &own };
    Whose { system, workload: of_topic(about).map(Arc::from) }
}

/// `random read 4k`; none where it is of reads and writes.
fn of_topic(topic: &Topic) -> Option<String> {
    let order = match (topic.random, topic.sequential) {
        (true, false) => Some("random"),
        (false, true) => Some("sequential"),
        _ => None,
    };
    let way = match (topic.read, topic.write) {
        (true, false) => Some("read"),
        (false, true) => Some("write"),
        (true, true) => Some("read and write"),
        (false, false) => None,
    };
    let size = topic.size.filter(|size| *size >= 1.0).map(|size| bytes(size as u64));
    let words: Vec<String> = [order, way].into_iter().flatten().map(str::to_owned).chain(size).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// `4k`, `1m`, as fio takes them.
fn bytes(bytes: u64) -> String {
    match bytes {
        whole if whole >= 1 << 20 && whole % (1 << 20) == 0 => format!("{}m", whole >> 20),
        whole if whole >= 1 << 10 && whole % (1 << 10) == 0 => format!("{}k", whole >> 10),
        other => other.to_string(),
    }
}

/// Lines of outputs and tables.
fn taken(audited: &Audited) -> Vec<std::ops::Range<usize>> {
    let outputs = audited.outputs.iter().map(|output| output.lines.clone());
    let mut taken: Vec<_> = outputs.chain(audited.tables.iter().map(|table| table.lines.clone())).collect();
    taken.sort_by_key(|lines| lines.start);
    taken
}

/// The system that the nearest of the lines above an output names, or a heading over it: one of the page's, else host or guest.
fn above(page: &Page, start: usize, systems: &Systems, taken: &[std::ops::Range<usize>]) -> Option<Arc<str>> {
    const NEAR: usize = 4;
    const FAR: usize = 60;
    const LONGEST: usize = 200;
    let is_taken = |line: usize| {
        let behind = taken.partition_point(|lines| lines.start <= line);
        behind > 0 && taken[behind - 1].contains(&line)
    };
    let lines = (start.saturating_sub(FAR)..start).rev().filter(|line| !is_taken(*line));
    let mut told = 0;
    for line in lines {
        let text = page.line(line);
        if text.trim().is_empty() || text.len() > LONGEST {
            continue;
        }
        told += 1;
        if told > NEAR && heading(text).is_none() {
            continue;
        }
        let of_hosts = || guest_or_host(text).map(|guest| Arc::from(if guest { "guest" } else { "host" }));
        if let Some(system) = systems.named(text).or_else(of_hosts) {
            return Some(system);
        }
    }
    None
}

fn of_output(output: &Output, system: Option<&Arc<str>>, known: &mut HashMap<Spot, Whose>) {
    let whose = |workload: Option<Arc<str>>| Whose { system: system.cloned(), workload };
    let readings = output.said.readings();
    let loads: Vec<Option<Arc<str>>> = readings.iter().map(of_reading).collect();
    let common = loads.first().filter(|first| loads.iter().all(|other| other == *first)).cloned().flatten();
    output.said.figures(&mut |(_, _, figure)| {
        known.insert(figure.spot, whose(common.clone()));
    });
    for (reading, load) in readings.iter().zip(&loads) {
        for figure in figures(reading) {
            known.entry(figure.spot).and_modify(|whose| whose.workload.clone_from(load));
        }
    }
    if let Said::Fio(fio) = &output.said {
        of_fio(fio, system, known);
    }
}

fn figures(reading: &Reading) -> impl Iterator<Item = Figure> {
    let own = [reading.iops, reading.bytes_per_second, reading.ios, reading.bytes, reading.mean_ns];
    let percentiles = reading.percentiles_ns.iter().map(|(_, figure)| *figure);
    own.into_iter().flatten().chain(percentiles).chain(reading.others.iter().map(|other| other.figure))
}

/// A job's figures are of its workload, those of one of its ways of that way; where clients ran it, of that host.
fn of_fio(fio: &Fio, system: Option<&Arc<str>>, known: &mut HashMap<Spot, Whose>) {
    for job in &fio.jobs {
        let Some(first) = job.directions.first() else { continue };
        let system = job.host.as_deref().map(Arc::from).or_else(|| system.cloned());
        let mut give = |workload: Option<String>, tell: &dyn Fn(&mut crate::import::fio::Say)| {
            let workload: Option<Arc<str>> = workload.map(Arc::from);
            tell(&mut |_, _, figure| {
                if let Some(figure) = figure {
                    known.insert(figure.spot, Whose { system: system.clone(), workload: workload.clone() });
                }
            });
        };
        give(words(&fio.reading(job, first).workload, None), &|say| job.figures(say));
        for direction in &job.directions {
            let reading = fio.reading(job, direction);
            give(words(&reading.workload, mixed(&reading)), &|say| direction.figures(say));
        }
    }
}

fn of_reading(reading: &Reading) -> Option<Arc<str>> {
    words(&reading.workload, mixed(reading)).map(Arc::from)
}

/// The way of a reading, where its workload goes more than one.
fn mixed(reading: &Reading) -> Option<Way> {
    let one = reading
        .workload
        .rw
        .as_deref()
        .is_some_and(|rw| !matches!(rw, "rw" | "readwrite" | "randrw" | "trimwrite" | "randtrimwrite"));
    Some(reading.way).filter(|_| !one)
}

/// `test: randread bs=4k iodepth=32 numjobs=4`, as far as it is told.
fn words(load: &Workload, way: Option<Way>) -> Option<String> {
    let way = match way {
        Some(Way::Read) => Some("read".to_owned()),
        Some(Way::Write) => Some("write".to_owned()),
        Some(Way::Trim) => Some("trim".to_owned()),
        _ => None,
    };
    let way = match (&load.rw, way) {
        (Some(rw), Some(way)) => Some(format!("{rw} ({way})")),
        (Some(rw), None) => Some(rw.clone()),
        (None, way) => way,
    };
    let told = [
        way,
        load.bs.map(|bs| format!("bs={}", bytes(bs))),
        load.iodepth.map(|depth| format!("iodepth={depth}")),
        load.numjobs.map(|jobs| format!("numjobs={jobs}")),
    ];
    let told = told.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match (load.name.as_deref().map(str::trim).filter(|name| !name.is_empty()), told.as_str()) {
        (None, "") => None,
        (Some(name), "") => Some(name.to_owned()),
        (None, told) => Some(told.to_owned()),
        (Some(name), told) => Some(format!("{name}: {told}")),
    }
}
