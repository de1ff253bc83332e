//! P12 and P13: more is given out than there is.

use super::Hardware;
use crate::finding::{Finding, Severity};
use crate::knowledge::iops_text;
use crate::knowledge::ratings::Rated;
use crate::number::{Hedge, Quantity, Unit, quantities};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// P12.
pub const BUDGET: Rule = Rule {
    id: "P12",
    name: "virtual machines fit into their host",
    severity: Severity::Ambiguous,
    holds: "virtual machines times virtual processors against the threads of the host (two a core); times memory, with huge pages that a \
            program of the host takes on each NUMA node, against the memory",
    silent: "where the page does not have each number once, or has several hosts",
    check: budget,
};

/// P13.
pub const PER_CORE: Rule = Rule {
    id: "P13",
    name: "a rate a core times the cores is what the drives have",
    severity: Severity::Ambiguous,
    holds: "I/Os a second a core that a sentence claims, times the cores that the page gives to it, against the rated random reads of the \
            drives that it names with their number (or states in a sentence)",
    silent: "where the cores, the drives or their rates are not told once",
    check: per_core,
};

/// Longer lines are no sentences.
const LONGEST: usize = 2000;

/// A number that a page has, once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    number: f64,
    spot: Spot,
}

/// Of all that lines say the only one; the same twice is one.
fn only(all: Vec<Told>) -> Option<Told> {
    let first = *all.first()?;
    all.iter().all(|other| (other.number - first.number).abs() < 1e-9).then_some(first)
}

/// A line that may name numbers.
struct Line<'a> {
    at: usize,
    text: &'a str,
    lower: String,
}

fn lines<'a>(hardware: &Hardware, evidence: &'a Evidence) -> Vec<Line<'a>> {
    let line = |at| Line { at, text: evidence.page.line(at), lower: evidence.page.line(at).to_lowercase() };
    hardware.prose(evidence, LONGEST).map(line).collect()
}

impl Line<'_> {
    fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.lower.contains(name))
    }

    /// The whole number right before one of the names: `16 VMs`, `8 个 vCPU`.
    fn before(&self, names: &[&str]) -> Vec<Told> {
        let mut found = Vec::new();
        for name in names {
            for (at, _) in self.lower.match_indices(name) {
                let Some(head) = self.text.get(..at) else { continue };
                let bare = head.trim_end_matches([' ', '\u{a0}', '-', '个', '台', '块', '颗']);
                let digits = bare.bytes().rev().take_while(u8::is_ascii_digit).count();
                let start = bare.len() - digits;
                // Of `6/8 vCPU` nobody knows which.
                let alone = !bare[..start].ends_with(|letter: char| {
                    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '/' | ',' | '-')
                });
                if let (true, Ok(number)) = (alone && digits <= 4, bare[start..].parse()) {
                    found.push(Told { number, spot: Spot::new(self.at, start..at + name.len()) });
                }
            }
        }
        found
    }

    /// The whole number behind one of the names and a colon: `VMs: 16`, `虚拟机：16`.
    fn behind(&self, names: &[&str]) -> Vec<Told> {
        let mut found = Vec::new();
        for name in names {
            let Some((at, _)) = self.lower.match_indices(name).next() else { continue };
            let from = at + name.len();
            // `current_vms = 500` is of a program.
            let Some(tail) = self.text.get(from..).filter(|_| !self.lower[..at].ends_with('_')) else {
                continue;
            };
            let Some(rest) = tail.trim_start().strip_prefix([':', '：', '=']) else { continue };
            let rest = rest.trim_start();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let ends = !rest[digits..]
                .starts_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '/'));
            if let (true, Ok(number)) = (ends && digits <= 4, rest[..digits].parse()) {
                let start = self.text.len() - rest.len();
                found.push(Told { number, spot: Spot::new(self.at, start..start + digits) });
            }
        }
        found
    }
}

const MACHINES: &[&str] = &["vms", "virtual machines", "虚拟机", "guests", "виртуальных машин", "вм "];
const VCPUS: &[&str] = &["vcpu", "virtual cpus"];
const SOCKETS: &[&str] = &["dual ", "2x ", "2 x ", "双", "two sockets", "два процессора", "2 ×"];
const MEMORY: &[&str] = &["memory", "ram", "内存", "память", "озу"];

fn told(lines: &[Line], pick: impl Fn(&Line) -> Vec<Told>) -> Option<Told> {
    only(lines.iter().flat_map(pick).collect())
}

fn machines(lines: &[Line]) -> Option<Told> {
    let counted = |line: &Line| {
        let mut all = line.before(MACHINES);
        all.extend(line.behind(MACHINES));
        all.retain(|one| one.number >= 2.0);
        all
    };
    told(lines, counted)
}

/// Sockets and cores of the one processor that the page names: `dual EPYC 9534, 64 cores`.
struct Host {
    sockets: f64,
    cores: f64,
    spot: Spot,
}

fn host(lines: &[Line]) -> Option<Host> {
    let processor = |line: &&Line| {
        line.has(&["epyc", "xeon", "ryzen", "threadripper", "ampere"]) && line.has(&["core", "核", "ядер"])
    };
    let mut named = lines.iter().filter(processor);
    let line = named.next().filter(|_| named.next().is_none())?;
    let cores = only(line.before(&["cores", "core", "核", "ядер"]))?;
    let sockets = if line.has(SOCKETS) { 2.0 } else { 1.0 };
    (cores.number >= 2.0).then_some(Host { sockets, cores: cores.number * sockets, spot: cores.spot })
}

const HOSTS: [&str; 11] = [
    "hosts",
    "nodes",
    "servers",
    "节点",
    "台服务器",
    "台物理机",
    "台宿主机",
    "серверов",
    "сервера",
    "узлов",
    "хостов",
];

/// Threads a core.
const THREADS: f64 = 2.0;

fn budget(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let lines = lines(&hardware, evidence);
    if lines.iter().any(|line| line.before(&HOSTS).iter().any(|told| told.number > 1.0)) {
        return;
    }
    let Some(machines) = machines(&lines) else { return };
    let host = host(&lines);
    if let (Some(vcpus), Some(host)) = (told(&lines, |line| line.before(VCPUS)), &host) {
        let all = machines.number * vcpus.number;
        if all > THREADS * host.cores {
            let message = format!(
                "{} machines of {} virtual processors are {all:.0}, and the host has {} cores: they wait for each other",
                machines.number, vcpus.number, host.cores
            );
            let finding = Finding::new("P12", Severity::Ambiguous, vcpus.spot, message);
            sink.finds(finding.against([machines.spot, host.spot]));
        }
    }
    if let Some(finding) = memory(&lines, machines, host.as_ref()) {
        sink.finds(finding);
    }
}

/// Bytes of the one quantity of a line.
fn bytes(line: &Line) -> Option<Told> {
    // `RAM:64GB`: what stands against a colon is no figure elsewhere, for the sake of times.
    let text = line.text.replace(':', " ");
    let all: Vec<Quantity> =
        quantities(line.at, &text).into_iter().filter(|one| one.unit == Unit::Bytes).collect();
    match all.as_slice() {
        [only] => Some(Told { number: only.figure.value, spot: only.figure.spot }),
        _ => None,
    }
}

fn memory(lines: &[Line], machines: Told, host: Option<&Host>) -> Option<Finding> {
    let about = |line: &Line| line.has(MEMORY);
    let of_machine = |line: &&Line| {
        about(line)
            && line.has(&[
                "each vm",
                "per vm",
                "every vm",
                "each virtual machine",
                "each guest",
                "每个虚拟机",
                "каждой вм",
                "каждая вм",
            ])
    };
    let own = only(lines.iter().filter(of_machine).filter_map(bytes).collect())?;
    let total =
        |line: &&Line| about(line) && !line.has(MACHINES) && !line.has(&["vm", "huge", "hugepage", "大页"]);
    let host_memory =
        only(lines.iter().filter(total).filter_map(bytes).filter(|one| one.number > own.number).collect())?;
    let pages = |line: &&Line| {
        line.has(&["hugepage", "huge page", "大页"]) && line.has(&["numa"]) && !of_machine(line)
    };
    let pages = only(lines.iter().filter(pages).filter_map(bytes).collect());
    let guests = machines.number * own.number;
    let gigabytes = |bytes: f64| format!("{:.0} GB", bytes / 1e9);
    if guests > host_memory.number {
        let message = format!(
            "{} machines of {} are {}, and the host has {}",
            machines.number,
            gigabytes(own.number),
            gigabytes(guests),
            gigabytes(host_memory.number)
        );
        let finding = Finding::new("P12", Severity::Ambiguous, own.spot, message);
        return Some(finding.against([machines.spot, host_memory.spot]));
    }
    let (pages, host) = (pages?, host.filter(|host| host.sockets > 1.0)?);
    let [node, guests] = [host_memory.number, guests].map(|bytes| bytes / host.sockets);
    let needed = pages.number + guests;
    if needed <= node {
        return None;
    }
    let message = format!(
        "a NUMA node has {}, and is given {} of huge pages and {} of guests: {} more than there is, unless guests live in those pages",
        gigabytes(node),
        gigabytes(pages.number),
        gigabytes(guests),
        gigabytes(needed - node)
    );
    let arithmetic = format!(
        "{} / {} sockets; {} x {} / {}",
        gigabytes(host_memory.number),
        host.sockets,
        machines.number,
        gigabytes(own.number),
        host.sockets
    );
    let finding = Finding::new("P12", Severity::Ambiguous, pages.spot, message).by(arithmetic);
    Some(finding.against([machines.spot, own.spot, host_memory.spot]))
}

fn per_core(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let lines = lines(&hardware, evidence);
    let mut claims = lines.iter().filter_map(claim_per_core);
    let Some((least, spot)) = claims.next() else { return };
    let (Some(cores), Some((drives, rated, source))) = (cores_given(&lines), drives_rated(&hardware, &lines))
    else {
        return;
    };
    let claimed = least * cores.number;
    let all = drives * rated;
    if claimed > all {
        let message = format!(
            "{} I/Os a second a core on {} cores are {}, and {drives} drives are rated at {}: not every core had that",
            iops_text(least),
            cores.number,
            iops_text(claimed),
            iops_text(all)
        );
        let arithmetic = format!("{} x {}; {drives} x {}", iops_text(least), cores.number, iops_text(rated));
        let others: Vec<Spot> = claims.map(|(_, spot)| spot).chain([cores.spot, source]).collect();
        sink.finds(Finding::new("P13", Severity::Ambiguous, spot, message).by(arithmetic).against(others));
    }
}

/// I/Os a second a core: `1M IOPS per core`, `每核心提供接近一百万 IOps`; with what nearly leaves.
fn claim_per_core(line: &Line) -> Option<(f64, Spot)> {
    if !line.has(&["per core", "each core", "a core", "per-core", "每核", "每个核", "на ядро"])
        || !line.has(&["iops"])
    {
        return None;
    }
    const WORDS: [(&str, f64); 5] =
        [("一百万", 1e6), ("百万", 1e6), ("one million", 1e6), ("a million", 1e6), ("миллион", 1e6)];
    let nearly = |text: &str| {
        ["接近", "近", "nearly", "almost", "close to", "about", "почти", "около", "约"]
            .iter()
            .any(|word| text.trim_end().ends_with(word))
    };
    for (word, number) in WORDS {
        let Some(at) = line.lower.find(word) else { continue };
        if line.text.get(at..at + word.len()).is_none() {
            continue;
        }
        let least = if nearly(&line.lower[..at]) { 0.9 * number } else { number };
        return Some((least, Spot::new(line.at, at..at + word.len())));
    }
    let rates: Vec<Quantity> =
        quantities(line.at, line.text).into_iter().filter(|one| one.unit == Unit::PerSecond).collect();
    match rates.as_slice() {
        [only] if matches!(only.hedge, Hedge::About) => Some((0.9 * only.figure.value, only.figure.spot)),
        [only] if only.hedge != Hedge::Below => Some((only.figure.low, only.figure.spot)),
        _ => None,
    }
}

/// Cores that the page gives to the array: `2 cores per CCD` of as many CCDs as sockets have.
fn cores_given(lines: &[Line]) -> Option<Told> {
    const USES: &[&str] =
        &["run", "use", "using", "assign", "dedicat", "使用", "运行", "分配", "занима", "выдел", "использ"];
    let per_die = ["per ccd", "each ccd", "every ccd", "每个 ccd", "每个ccd", "на ccd"];
    let given = |line: &&Line| line.has(&per_die) && line.has(USES);
    let cores = only(
        lines.iter().filter(given).flat_map(|line| line.before(&["cores", "core", "核心", "ядра"])).collect(),
    )?;
    let dies =
        |line: &&Line| line.has(&["ccd"]) && !given(line) && line.has(&["cpu", "processor", "процессор"]);
    let dies = only(
        lines
            .iter()
            .filter(dies)
            .flat_map(|line| {
                line.before(&["ccd", "ccds", "个核心复合芯片", "核心复合芯片", "core complex", "chiplets"])
            })
            .collect(),
    )?;
    let sockets = host(lines)?.sockets;
    Some(Told { number: cores.number * dies.number * sockets, spot: cores.spot })
}

/// The number of drives, and random reads a second of one: rated, else as a sentence states it.
fn drives_rated(hardware: &Hardware, lines: &[Line]) -> Option<(f64, f64, Spot)> {
    let mut several = hardware.mentions.drives.iter().filter(|named| named.count.unwrap_or(1) > 1);
    let first = several.next()?;
    if several.any(|other| other.drive != first.drive || other.count != first.count) {
        return None;
    }
    let matched = hardware.ratings.match_of(first.drive, first.capacity)?;
    let stated = lines.iter().find_map(|line| {
        let each = line.has(&["each drive", "per drive", "每个驱动器", "单个驱动器", "каждый накопитель"]);
        let rates = quantities(line.at, line.text).into_iter().filter(|one| one.unit == Unit::PerSecond);
        rates.max_by(|one, other| one.figure.value.total_cmp(&other.figure.value)).filter(|_| each)
    });
    let rated = matched.most(Rated::RandreadIops).or(stated.map(|one| one.figure.high))?;
    let rated = stated.map_or(rated, |stated| rated.max(stated.figure.high));
    Some((f64::from(first.count?), rated, first.spot))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{findings, ids};

    const HOST: &str = "CPU: dual AMD EPYC 9534, 64 cores\nMemory:768 GB\n";

    #[test]
    fn machines_that_do_not_fit_are_told() {
        let page = format!("{HOST}We ran 40 VMs.\nEvery one has 8 vCPUs.\n");
        let found = findings(&page);
        assert_eq!(ids(&found), ["P12"]);
        assert!(found[0].message.contains("320, and the host has 128 cores"), "{}", found[0].message);
        let page = format!("{HOST}We ran 40 VMs.\nEach VM has memory of 32 GB.\n");
        assert!(findings(&page)[0].message.contains("1280 GB, and the host has 768 GB"));
        let page = format!(
            "{HOST}There are 16 VMs.\nEach VM has memory of 16 GB.\nThe target takes 300 GB of hugepages on its NUMA node.\n"
        );
        assert!(
            findings(&page)[0].message.contains("44 GB more than there is"),
            "{}",
            findings(&page)[0].message
        );
    }

    #[test]
    fn machines_that_fit_or_are_not_told_once_are_left_alone() {
        for page in [
            format!("{HOST}We ran 16 VMs.\nEach has 8 vCPUs.\n"),
            format!("{HOST}We ran 16 VMs.\nThen 400 VMs.\nEach has 8 vCPUs.\n"),
            format!("{HOST}We ran 40 VMs.\nEach has 6/8 vCPUs.\n"),
            format!("{HOST}Another has dual Xeon 6230 of 20 cores.\n40 VMs.\nEach has 8 vCPUs.\n"),
            format!(
                "{HOST}There are 16 VMs.\nEach VM has memory of 16 GB.\nThe target takes 200 GB of hugepages on its NUMA node.\n"
            ),
            format!("{HOST}plan(current_vms=500, months=12)\nEach VM has memory of 32 GB.\n"),
            "40 VMs\n8 vCPUs\n".to_owned(),
            format!("{HOST}On 4 nodes we ran 40 VMs.\nEach has 8 vCPUs.\n"),
        ] {
            assert_eq!(ids(&findings(&page)), Vec::<&str>::new(), "{page}");
        }
    }

    const CORES: &str = "Drives: 10 x Kioxia CM7-V 3.2TB\nCPU: dual AMD EPYC 9534, 64 cores\nEach CPU has 8 CCDs, each CCD of 8 cores.\nThe target runs on 2 cores per CCD.\n";

    #[test]
    fn a_rate_a_core_is_no_more_than_the_drives_have() {
        let found = findings(&format!("{CORES}It has nearly one million IOPS per core.\n"));
        assert_eq!(ids(&found), ["P13"]);
        assert!(
            found[0].message.contains("28.80M, and 10 drives are rated at 27.00M"),
            "{}",
            found[0].message
        );
        assert_eq!(ids(&findings(&format!("{CORES}It has 0.5M IOPS per core.\n"))), Vec::<&str>::new());
        assert_eq!(ids(&findings("It has 10M IOPS per core.\n")), Vec::<&str>::new());
    }
}
