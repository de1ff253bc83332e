//! M12: the PCI Express that a title names against the platform that the drive is in.

use crate::finding::{Finding, Severity};
use crate::knowledge::pcie::Pcie;
use crate::knowledge::platform::{Platform, platforms};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// M12.
pub const RULE: Rule = Rule {
    id: "M12",
    name: "the link is the one that the title names",
    severity: Severity::Ambiguous,
    holds: "the server or processor that the page names has the PCIe generation of its title, and lspci's LnkSta has it",
    silent: "where a line of the page names the lower generation, or any platform of it has the higher one",
    check,
};

/// Lines from the first with text on that are a title.
const TITLE: usize = 4;
/// Longer lines are no lists of hardware.
const LONGEST: usize = 500;

/// Generations that a text names: `PCIe 4.0`, `PCIe Gen4`.
fn generations(text: &str) -> Vec<(u8, std::ops::Range<usize>)> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = lower[from..].find("pci").map(|at| from + at) {
        from = start + 3;
        let names = ["pcie®", "pcie", "pci-e", "pci express"];
        let Some(name) = names.iter().find(|name| lower[start..].starts_with(**name)) else { continue };
        let rest = &lower[start + name.len()..];
        let blank = rest.len() - rest.trim_start().len();
        let word = rest.trim_start();
        let (skipped, word) = word
            .strip_prefix("gen")
            .map_or((0, word), |rest| (3 + rest.len() - rest.trim_start().len(), rest.trim_start()));
        let bytes = word.as_bytes();
        let generation = match bytes {
            [digit @ b'1'..=b'6', b'.', b'0', ..] => Some((digit - b'0', 3)),
            [digit @ b'1'..=b'6', next, ..] if skipped > 0 && !next.is_ascii_digit() && *next != b'.' => {
                Some((digit - b'0', 1))
            }
            [digit @ b'1'..=b'6'] if skipped > 0 => Some((digit - b'0', 1)),
            _ => None,
        };
        if let Some((generation, digits)) = generation {
            let end = start + name.len() + blank + skipped + digits;
            found.push((generation, start..end));
        }
    }
    found
}

/// The generation that the title names, where it is one.
fn titled(page: &Page) -> Option<(u8, Spot)> {
    let lines = (0..page.len().min(40)).filter(|line| !page.line(*line).trim().is_empty()).take(TITLE);
    let mut found = lines.filter(|line| page.line(*line).len() <= LONGEST).flat_map(|line| {
        generations(page.line(line))
            .into_iter()
            .map(move |(generation, bytes)| (generation, Spot::new(line, bytes)))
    });
    let first = found.next()?;
    found.all(|other| other.0 == first.0).then_some(first)
}

/// The generation of `LnkSta: Speed 8GT/s (ok), Width x4 (ok)`.
fn negotiated(text: &str) -> Option<u8> {
    let speed = text.trim_start().strip_prefix("LnkSta:")?.split("Speed ").nth(1)?;
    let end = speed.find("GT/s")?;
    Some(Pcie::of_speed(speed[..end].parse().ok()?, 4)?.generation())
}

fn check(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    let Some((generation, spot)) = titled(page) else { return };
    let mut lowest: Option<(usize, Platform)> = None;
    let mut link: Option<(usize, u8)> = None;
    for line in evidence.lines_outside_outputs() {
        let text = page.line(line);
        if text.len() > LONGEST {
            continue;
        }
        if generations(text).iter().any(|(other, _)| *other < generation) {
            return;
        }
        if let Some(own) = negotiated(text) {
            link = link.filter(|(_, before)| *before >= own).or(Some((line, own)));
        }
        for platform in platforms(text) {
            if platform.pcie >= generation {
                return;
            }
            lowest.get_or_insert((line, platform));
        }
    }
    let (line, bytes, why) = match (link, lowest) {
        (Some((line, own)), _) if own < generation => {
            (line, 0..page.line(line).len(), format!("lspci has a link of PCIe {own}.0"))
        }
        (None, Some((line, platform))) => {
            let why = format!("{} has PCIe {}.0 ({})", platform.name, platform.pcie, platform.source);
            (line, platform.bytes, why)
        }
        _ => return,
    };
    let message = format!(
        "the title names PCIe {generation}.0, but {why}: the drive's link is no faster, and the page does not say so"
    );
    sink.finds(Finding::new("M12", Severity::Ambiguous, spot, message).against([Spot::new(line, bytes)]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::testing::found;

    #[test]
    fn generations_are_read() {
        let of = |text: &str| generations(text).into_iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(of("a PCIe 4.0 drive, PCIe Gen3 x4, PCI-E 3.0"), [4, 3, 3]);
        assert_eq!(of("PCIEx4 to NVMe, PCIe 40, pcie gen"), Vec::<u8>::new());
    }

    #[test]
    fn a_drive_in_an_older_server_is_told() {
        let page = |text: &str| found(&format!("PCIe 4.0 drives compared\n\nServer: {text}\n"), "M12").len();
        assert_eq!(page("PowerEdge R740"), 1);
        assert_eq!(page("PowerEdge R750"), 0);
        assert_eq!(page("PowerEdge R740, which has PCIe 3.0 slots"), 0, "it says so");
        assert_eq!(page("PowerEdge R740 and R750"), 0, "either may be meant");
        assert_eq!(page("of our own"), 0);
        assert_eq!(page("of our own\n\tLnkSta:\tSpeed 8GT/s, Width x4"), 1);
        assert_eq!(page("of our own\n\tLnkSta:\tSpeed 16GT/s, Width x4"), 0);
    }
}
