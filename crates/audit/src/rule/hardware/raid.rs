//! P11: an array is held against a sum that its level cannot reach.

use super::Hardware;
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::mentions::text_has;
use crate::knowledge::{iops_text, rate_text};
use crate::number::{Quantity, Unit, quantities};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// Longer lines are no sentences.
const LONGEST: usize = 6000;

/// P11.
pub const RULE: Rule = Rule {
    id: "P11",
    name: "an array is held against what its level can reach",
    severity: Severity::Ambiguous,
    holds: "a sentence that takes the drives' rates summed as what the array can do at most, against its level: small random writes n / \
            (2/R + 2/W) of single parity, n / (3/R + 3/W) of double; full stripes (n - p) / n",
    silent: "where the page names no parity level with its geometry (`4+1`, `RAID6 of 8 drives`), several, or the sentence neither the \
             number of drives nor the rate of one",
    check,
};

/// A geometry of parity.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Geometry {
    data: u32,
    parity: u32,
    spot: Spot,
}

impl Geometry {
    fn drives(self) -> u32 {
        self.data + self.parity
    }
}

/// A rate of one drive that a sentence has.
#[derive(Clone, Copy)]
struct OfDrive {
    way: Way,
    quantity: Quantity,
}

const BASELINE: &[&str] = &["efficiency", "theoretical", "效率", "理论", "эффективн", "теоретич"];
const ONE_DRIVE: &[&str] = &[
    "per drive",
    "each drive",
    "single drive",
    "a drive",
    "每个",
    "单个",
    "每块",
    "каждый",
    "каждого",
    "одного",
];

fn check(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let page = evidence.page;
    let Some(geometry) = geometry(evidence, &hardware) else { return };
    for at in hardware.prose(evidence, LONGEST) {
        let text = page.line(at);
        if !text_has(text, BASELINE) || !text_has(text, ONE_DRIVE) {
            continue;
        }
        let figures = quantities(at, text);
        let Some(drives) = number_of_drives(text, &figures) else { continue };
        let rates = rates(text, &figures);
        if drives % geometry.drives() == 0 {
            sink.finds_all(unreachable(drives, geometry, &rates));
        }
    }
}

impl Sink {
    fn finds_all(&mut self, findings: Vec<Finding>) {
        findings.into_iter().for_each(|finding| self.finds(finding));
    }
}

/// The only geometry of parity that a page names.
fn geometry(evidence: &Evidence, hardware: &Hardware) -> Option<Geometry> {
    let mut found: Vec<Geometry> =
        hardware.prose(evidence, LONGEST).filter_map(|at| geometry_of(at, evidence.page.line(at))).collect();
    found.dedup_by_key(|one| (one.data, one.parity));
    match found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// `4+1` beside RAID; `--level=5 --raid-devices=6`.
fn geometry_of(line: usize, text: &str) -> Option<Geometry> {
    let lower = text.to_lowercase();
    if !lower.contains("raid") {
        return None;
    }
    let value = |key: &str| {
        let at = lower.find(key)? + key.len();
        let rest = lower[at..].trim_start_matches(['=', ' ']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse::<u32>().ok()
    };
    if let (Some(level), Some(drives)) =
        (value("--level").or_else(|| value("-l ")), value("--raid-devices").or_else(|| value("-n ")))
    {
        let parity = match level {
            5 => 1,
            6 => 2,
            _ => return None,
        };
        let data = drives.checked_sub(parity).filter(|data| *data >= 2)?;
        return Some(Geometry { data, parity, spot: Spot::new(line, 0..text.len()) });
    }
    let bytes = text.as_bytes();
    let plus = (1..bytes.len()).find(|at| bytes[*at] == b'+' && bytes[at - 1].is_ascii_digit())?;
    let before = bytes[..plus].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let after = bytes[plus + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let alone = plus == before || !matches!(bytes[plus - before - 1], b'+' | b'.' | b'-' | b'/' | b':');
    let data: u32 = text.get(plus - before..plus)?.parse().ok()?;
    let parity: u32 = text.get(plus + 1..plus + 1 + after)?.parse().ok()?;
    let known = (2..=32).contains(&data) && (1..=2).contains(&parity) && alone;
    known.then(|| Geometry { data, parity, spot: Spot::new(line, plus - before..plus + 1 + after) })
}

/// `10 drives`, `10 个驱动器`.
fn number_of_drives(text: &str, figures: &[Quantity]) -> Option<u32> {
    const DRIVES: [&str; 10] =
        ["drives", "ssds", "disks", "个驱动器", "块", "个硬盘", "个 ssd", "накопител", "дисков", "дисками"];
    let mut found = None;
    let mut at = 0;
    while let Some(start) = text[at..].find(|letter: char| letter.is_ascii_digit()).map(|start| at + start) {
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        let rest = text[start + digits..].trim_start().to_lowercase();
        let alone = !text[..start].ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '.');
        if alone && digits <= 3 && DRIVES.iter().any(|sign| rest.starts_with(sign)) {
            let number: u32 = text[start..start + digits].parse().ok()?;
            if found.is_some_and(|other| other != number) {
                return None;
            }
            found = Some(number);
        }
        at = start + digits;
    }
    found.filter(|number| (3..=999).contains(number) && !figures.is_empty())
}

/// Rates of a sentence with their ways, which stand before them (`reads 14 GB/s`) or, where none is before the first, behind them
/// (`2.7 M IOPS of random reads`).
fn rates(text: &str, figures: &[Quantity]) -> Vec<OfDrive> {
    let wanted: Vec<&Quantity> =
        figures.iter().filter(|one| matches!(one.unit, Unit::PerSecond | Unit::BytesPerSecond)).collect();
    let start =
        |at: usize| wanted.get(at).map_or(text.len(), |one: &&Quantity| one.figure.spot.start as usize);
    let end = |at: Option<usize>| at.map_or(0, |at| wanted[at].figure.spot.end as usize);
    let before = |at: usize| text.get(end(at.checked_sub(1))..start(at)).and_then(last_way);
    let behind = |at: usize| text.get(end(Some(at))..start(at + 1)).and_then(first_way);
    let leads = !wanted.is_empty() && before(0).is_some();
    let way = |at: usize| if leads { before(at) } else { behind(at) };
    let all = wanted.iter().enumerate();
    all.filter_map(|(at, one)| Some(OfDrive { way: way(at)?, quantity: **one })).collect()
}

const READS: [&str; 3] = ["read", "读", "чтен"];
const WRITES: [&str; 3] = ["write", "写", "запис"];

fn last_way(text: &str) -> Option<Way> {
    let lower = text.to_lowercase();
    let last = |names: &[&str]| names.iter().filter_map(|name| lower.rfind(name)).max();
    match (last(&READS), last(&WRITES)) {
        (None, None) => None,
        (read, write) => Some(if write > read { Way::Write } else { Way::Read }),
    }
}

fn first_way(text: &str) -> Option<Way> {
    let lower = text.to_lowercase();
    let first = |names: &[&str]| names.iter().filter_map(|name| lower.find(name)).min();
    match (first(&READS), first(&WRITES)) {
        (Some(read), Some(write)) if write < read => Some(Way::Write),
        (Some(_), _) => Some(Way::Read),
        (None, write) => write.map(|_| Way::Write),
    }
}

fn unreachable(drives: u32, geometry: Geometry, rates: &[OfDrive]) -> Vec<Finding> {
    let only = |way: Way, unit: Unit| {
        let mut mine = rates.iter().filter(|one| one.way == way && one.quantity.unit == unit);
        mine.next().filter(|_| mine.next().is_none())
    };
    let mut findings = Vec::new();
    let all = f64::from(drives);
    let (data, parity) = (geometry.data, geometry.parity);
    if let (Some(reads), Some(writes)) = (only(Way::Read, Unit::PerSecond), only(Way::Write, Unit::PerSecond))
    {
        let [read, write] = [reads, writes].map(|one| one.quantity.figure.value);
        let times = f64::from(1 + parity);
        let bound = all / (times / read + times / write);
        let sum = all * write;
        let message = format!(
            "{drives} x {} random writes are no baseline of parity {data}+{parity}: each takes {times:.0} reads and {times:.0} writes, so at \
             most {} a second, {:.0} % of it",
            iops_text(write),
            iops_text(bound),
            100.0 * bound / sum
        );
        let arithmetic = format!(
            "{drives} / ({times:.0}/{} + {times:.0}/{}) = {}",
            iops_text(read),
            iops_text(write),
            iops_text(bound)
        );
        let finding =
            Finding::new("P11", Severity::Ambiguous, writes.quantity.figure.spot, message).by(arithmetic);
        findings.push(finding.against([geometry.spot, reads.quantity.figure.spot]));
    }
    if let Some(writes) = only(Way::Write, Unit::BytesPerSecond) {
        let share = f64::from(data) / f64::from(geometry.drives());
        let sum = all * writes.quantity.figure.value;
        let message = format!(
            "{drives} x {} sequential writes are no baseline of parity {data}+{parity}: {parity} of {} drives take parity, so at most {}, \
             {:.0} % of it",
            rate_text(writes.quantity.figure.value),
            geometry.drives(),
            rate_text(share * sum),
            100.0 * share
        );
        let arithmetic =
            format!("{} x {data}/{} = {}", rate_text(sum), geometry.drives(), rate_text(share * sum));
        let finding =
            Finding::new("P11", Severity::Ambiguous, writes.quantity.figure.spot, message).by(arithmetic);
        findings.push(finding.against([geometry.spot]));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{findings, ids};
    use crate::finding::Severity;

    const ARRAY: &str = "The RAID has a 4+1 layout.\n";

    #[test]
    fn sums_of_drives_are_no_baseline_of_parity() {
        let page = format!(
            "{ARRAY}Efficiency is against the theoretical rate of 10 drives: each drive has 2.7 M IOPS of random reads and 0.7 M IOPS of \
             random writes.\nThe theoretical rate of 10 drives, each drive reads 14 GB/s and writes 6.75 GB/s, is nearly reached.\n"
        );
        let found = findings(&page);
        assert_eq!(ids(&found), ["P11", "P11"]);
        assert!(found[0].message.contains("2.78M a second, 40 % of it"), "{}", found[0].message);
        assert!(found[1].message.contains("54.0 GB/s, 80 % of it"), "{}", found[1].message);
        assert!(found.iter().all(|one| one.severity == Severity::Ambiguous));
    }

    #[test]
    fn double_parity_takes_three_of_each() {
        let page = "mdadm --create /dev/md0 --level=6 --raid-devices=8\nThe theoretical rate of 8 drives: each drive reads 100k IOPS and \
                    writes 50k IOPS.\n";
        assert!(
            findings(page)[0].message.contains("89k a second, 22 % of it"),
            "{}",
            findings(page)[0].message
        );
    }

    #[test]
    fn without_level_number_or_rate_of_a_drive_nothing_is_said() {
        for page in [
            "The theoretical rate of 10 drives: each drive reads 100k IOPS and writes 50k IOPS.\n".to_owned(),
            format!("{ARRAY}Efficiency is against the theoretical rate of 10 drives.\n"),
            format!("{ARRAY}each drive reads 100k IOPS and writes 50k IOPS.\n"),
            format!(
                "{ARRAY}A RAID of 8+2.\nThe theoretical rate of 10 drives: each drive reads 100k IOPS and writes 50k IOPS.\n"
            ),
            format!(
                "{ARRAY}The theoretical rate of 7 drives: each drive reads 100k IOPS and writes 50k IOPS.\n"
            ),
        ] {
            assert_eq!(ids(&findings(&page)), Vec::<&str>::new(), "{page}");
        }
    }
}
