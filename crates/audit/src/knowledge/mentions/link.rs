//! Links that a line names: `PCIe 3.0 x4`, `Gen4 x4`, `LnkSta: Speed 8GT/s, Width x4`, `SATA III`, `SAS 12Gb/s`, `40GbE`, `2x10G`.

use crate::knowledge::Link;
use crate::knowledge::network::{Infiniband, Network};
use crate::knowledge::pcie::Pcie;
use crate::knowledge::sata_sas::Cable;
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use std::ops::Range;

type Word = (String, Range<usize>);

/// A link that a page names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLink {
    /// Where.
    pub spot: Spot,
    /// Which, if it is named in full.
    pub link: Option<Link>,
    /// Generation of PCIe, if that is named.
    pub generation: Option<u8>,
    /// Lanes of PCIe.
    pub lanes: Option<u8>,
    /// How many of it.
    pub count: u32,
    /// Whether `lspci` tells that this is what was negotiated (`LnkSta`).
    pub negotiated: bool,
}

impl NamedLink {
    fn pcie(spot: Spot, generation: Option<u8>, lanes: Option<u8>) -> NamedLink {
        let link = generation
            .zip(lanes)
            .and_then(|(generation, lanes)| Pcie::new(generation, lanes))
            .map(Link::Pcie);
        NamedLink { spot, link, generation, lanes, count: 1, negotiated: false }
    }

    fn whole(spot: Spot, link: Link, count: u32) -> NamedLink {
        NamedLink { spot, link: Some(link), generation: None, lanes: None, count, negotiated: false }
    }

    /// Whether it is a network.
    pub fn is_network(&self) -> bool {
        self.link.is_some_and(Link::is_network)
    }
}

/// The one generation with the one number of lanes of all that are named.
pub(super) fn one_pcie(named: &[&NamedLink]) -> Option<(Link, Spot)> {
    let whole = named.iter().find(|named| named.link.is_some());
    let first = whole.or_else(|| named.first())?;
    let generation = named.iter().find_map(|named| named.generation)?;
    let lanes = named.iter().find_map(|named| named.lanes)?;
    let alike = named.iter().all(|named| {
        named.generation.is_none_or(|own| own == generation) && named.lanes.is_none_or(|own| own == lanes)
    });
    alike.then(|| Some((Link::Pcie(Pcie::new(generation, lanes)?), first.spot))).flatten()
}

/// The links that a line names, in order.
pub fn links(line: usize, text: &str, words: &[Word], lower: &str, figures: &[Quantity]) -> Vec<NamedLink> {
    let mut found = Vec::new();
    let networked = super::vocabulary::any(lower, words, NETWORK);
    let infiniband = words.iter().any(|(word, _)| matches!(word.as_str(), "infiniband" | "ib"));
    let mut at = 0;
    while at < words.len() {
        let rest = &words[at..];
        let spot = |taken: usize| Spot::new(line, rest[0].1.start..rest[taken - 1].1.end);
        let read =
            lspci(rest, &spot).or_else(|| pcie(text, rest, &spot)).or_else(|| cable(text, rest, &spot));
        let read = read.or_else(|| network(rest, networked, infiniband, &spot));
        match read {
            Some((named, taken)) => {
                found.push(named);
                at += taken.max(1);
            }
            None => at += 1,
        }
    }
    for (sign, gigabits) in [("万兆", 10.0), ("千兆", 1.0)] {
        found.extend(lower.match_indices(sign).filter_map(|(from, _)| {
            let same = text.get(from..from + sign.len()) == Some(sign);
            let spot = Spot::new(line, from..from + sign.len());
            same.then(|| Some(NamedLink::whole(spot, Link::Network(Network::ethernet(gigabits)?), 1)))
                .flatten()
        }));
    }
    // `Network: 10000Mb/s`: a rate of bits where the line is about a network card.
    if super::vocabulary::any(lower, words, CARD) && found.is_empty() {
        let rates = figures.iter().filter(|figure| figure.unit == Unit::BitsPerSecond);
        found.extend(rates.filter_map(|rate| {
            let network = Network::ethernet(rate.figure.value / 1e9)?;
            Some(NamedLink::whole(rate.figure.spot, Link::Network(network), 1))
        }));
    }
    found
}

const NETWORK: &[&str] = &[
    "network",
    "ethernet",
    "nic",
    "nics",
    "lan",
    "sfp",
    "sfp28",
    "qsfp",
    "qsfp28",
    "switch",
    "uplink",
    "roce",
    "connectx",
    "网卡",
    "网络",
    "网口",
    "光口",
    "存储网",
    "交换机",
    "сеть",
    "сети",
    "сетев",
    "коммутатор",
];
const CARD: &[&str] =
    &["nic", "nics", "network card", "network adapter", "网卡", "сетевая карта", "сетевой адаптер"];

type Read = Option<(NamedLink, usize)>;

/// `LnkSta: Speed 8GT/s, Width x4`; what `LnkCap` could do is no link that anything went over.
fn lspci(rest: &[Word], spot: &dyn Fn(usize) -> Spot) -> Read {
    let first = rest[0].0.as_str();
    if !matches!(first, "lnksta" | "lnkcap")
        || rest.get(1).is_none_or(|(word, _)| word != "speed" && word != "port")
    {
        return None;
    }
    let taken = rest.iter().position(|(word, _)| width(word).is_some()).filter(|at| *at <= 12)?;
    let lanes = width(&rest[taken].0)?;
    let speed = rest[..taken].windows(2).find_map(|pair| gigatransfers(&pair[0].0, &pair[1].0))?;
    let link = Pcie::of_speed(speed, lanes)?;
    let mut named = NamedLink::pcie(spot(taken + 1), Some(link.generation()), Some(lanes));
    named.negotiated = first == "lnksta";
    match first {
        "lnksta" => Some((named, taken + 1)),
        // Skipped, not named.
        _ => Some((NamedLink { link: None, generation: None, lanes: None, ..named }, taken + 1)),
    }
}

/// `8gt`, or `2` and `5gt`.
fn gigatransfers(one: &str, next: &str) -> Option<f64> {
    let whole = !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(digits) = next.strip_suffix("gt").filter(|_| whole) {
        return format!("{one}.{digits}").parse().ok();
    }
    one.strip_suffix("gt").or_else(|| next.strip_suffix("gt"))?.parse().ok()
}

/// 4 of `x4`.
fn width(word: &str) -> Option<u8> {
    let lanes = word.strip_prefix('x')?.parse().ok()?;
    matches!(lanes, 1 | 2 | 4 | 8 | 16).then_some(lanes)
}

/// `PCIe 3.0 x4`, `PCIe3.0`, `PCI Express 4.0 x4`, `PCIe Gen4x4`, `Gen3 x4`, `PCIEx4`.
fn pcie(text: &str, rest: &[Word], spot: &dyn Fn(usize) -> Spot) -> Read {
    let word = |at: usize| rest.get(at).map_or("", |(word, _)| word.as_str());
    let (mut taken, mut tail) = match (word(0), word(1)) {
        ("pci", "express" | "e") => (2, ""),
        (first, _) if first.starts_with("pcie") => (1, &first[4..]),
        (first, next) if first.starts_with("gen") && (first.contains('x') || width(next).is_some()) => {
            (1, first)
        }
        _ => return None,
    };
    let bare_generation = tail.starts_with("gen");
    let mut generation = None;
    let mut lanes = None;
    for _ in 0..5 {
        if tail.is_empty() {
            // The next word belongs to it where only signs of its name stand between.
            let near = rest.get(taken).is_some_and(|(_, bytes)| {
                let gap = text.get(rest[taken - 1].1.end..bytes.start).unwrap_or("  ");
                gap.chars().count() <= 3 && !gap.contains([',', ';', '(', ')', '，', '|', '/', '、'])
            });
            let next = word(taken);
            let part = next == "gen"
                || next == "lanes"
                || width(next).is_some()
                || (generation.is_none() && next.starts_with("gen") && next.len() > 3)
                || (generation.is_none() && numbered(next).is_some());
            if !near || !part {
                break;
            }
            tail = next;
            taken += 1;
        }
        let bare = tail.strip_prefix("gen").unwrap_or(tail);
        if bare.is_empty() || bare == "lanes" {
            tail = "";
        } else if let Some(own) = width(bare) {
            lanes = Some(own);
            tail = "";
        } else if let Some((own, behind)) = numbered(bare).filter(|_| generation.is_none()) {
            generation = Some(own);
            tail = behind;
            // `3.0`, `4.0x4`: the words are `3`, `0`; `4`, `0x4`.
            let point = |(_, after): &(String, Range<usize>)| {
                text.get(rest[taken - 1].1.end..after.start) == Some(".")
            };
            let goes_on = tail.is_empty() && rest.get(taken).is_some_and(point);
            if let Some(behind) = word(taken).strip_prefix('0').filter(|_| goes_on) {
                tail = behind;
                taken += 1;
            }
        } else {
            break;
        }
    }
    let named = generation.is_some() || lanes.is_some();
    let complete = generation.is_some() && lanes.is_some();
    (named && (complete || !bare_generation))
        .then(|| (NamedLink::pcie(spot(taken), generation, lanes), taken))
}

/// The generation that a word begins with, and what is behind it: `4`, `4x4`.
fn numbered(word: &str) -> Option<(u8, &str)> {
    let digit = word.bytes().next().filter(|byte| (b'1'..=b'6').contains(byte))?;
    let behind = &word[1..];
    (behind.is_empty() || width(behind).is_some()).then_some((digit - b'0', behind))
}

/// `SATA 3`, `SATA III`, `SATA 6Gb/s`, `SATA3`, `SAS 12Gb/s`, `12G SAS`.
fn cable(text: &str, rest: &[Word], spot: &dyn Fn(usize) -> Spot) -> Read {
    let word = |at: usize| rest.get(at).map_or("", |(word, _)| word.as_str());
    let made = |cable: Option<Cable>, taken: usize| {
        Some((NamedLink::whole(spot(taken), Link::Cable(cable?), 1), taken))
    };
    let first = word(0);
    if let Some(tail) = first.strip_prefix("sata") {
        return match (tail, word(1)) {
            ("3", _) => made(Some(Cable::Sata3), 1),
            ("2", _) => made(Some(Cable::Sata2), 1),
            ("", "iii") => made(Some(Cable::Sata3), 2),
            ("", "ii") => made(Some(Cable::Sata2), 2),
            ("", "6gb" | "6gbps" | "6gbit" | "6g") => made(Cable::sata(6.0, true), 2),
            ("", "3gb" | "3gbps" | "3gbit" | "3g") => made(Cable::sata(3.0, true), 2),
            ("", "6" | "3") if matches!(word(2), "gb" | "gbps" | "gbit") => {
                made(Cable::sata(word(1).parse().ok()?, true), 3)
            }
            ("", "3") if text.get(rest[1].1.end..).is_some_and(|rest| !rest.starts_with(['.', ','])) => {
                made(Some(Cable::Sata3), 2)
            }
            ("", "3") if word(2) == "0" => made(Some(Cable::Sata3), 3),
            _ => None,
        };
    }
    let rate = |word: &str| -> Option<f64> {
        ["gb", "gbps", "gbit", "g"].iter().find_map(|unit| word.strip_suffix(unit))?.parse().ok()
    };
    match (first, word(1)) {
        ("sas", next) if rate(next).is_some() => made(Cable::sas(rate(next)?), 2),
        ("sas", next) if matches!(word(2), "gb" | "gbps" | "gbit") => made(Cable::sas(next.parse().ok()?), 3),
        (own, "sas") if rate(own).is_some() => made(Cable::sas(rate(own)?), 2),
        (own, "s") if rate(own).is_some() && word(2) == "sas" => made(Cable::sas(rate(own)?), 3),
        _ => None,
    }
}

/// `40GbE`, `25 GbE`, `10GBASE-T`, `10 Gigabit Ethernet`, `2x10G` beside a word of networks, `FDR` beside InfiniBand, `16GFC`.
fn network(rest: &[Word], networked: bool, infiniband: bool, spot: &dyn Fn(usize) -> Spot) -> Read {
    let word = |at: usize| rest.get(at).map_or("", |(word, _)| word.as_str());
    let (count, first) = super::super::ratings::words(word(0)).first().map_or((1, ""), |_| counted(word(0)));
    let behind = |taken: usize| -> u32 {
        let tail = word(taken).strip_prefix('x').and_then(|tail| tail.parse().ok());
        tail.filter(|times| (2..=64).contains(times)).unwrap_or(1)
    };
    let made = |network: Option<Network>, taken: usize| {
        Some((NamedLink::whole(spot(taken), Link::Network(network?), count * behind(taken)), taken))
    };
    let ethernet = |digits: &str| Network::ethernet(digits.parse().ok()?);
    for unit in ["gbe", "gige", "gbase"] {
        if let Some(digits) = first.strip_suffix(unit).filter(|digits| !digits.is_empty()) {
            return made(ethernet(digits), 1);
        }
    }
    let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    match word(1) {
        "gbe" | "gige" if digits => return made(ethernet(first), 2),
        "gigabit" | "gb" | "gbit" if digits && matches!(word(2), "ethernet" | "network" | "nic") => {
            return made(ethernet(first), 3);
        }
        _ => {}
    }
    let digits = first.strip_suffix('g').or_else(|| first.strip_suffix("gb")).unwrap_or_default();
    let is_rate = matches!(digits, "10" | "25" | "40" | "50" | "100" | "200" | "400");
    if is_rate && networked && word(1) != "s" {
        return made(ethernet(digits), 1);
    }
    if let Some(digits) = first.strip_suffix("gfc") {
        return made(Network::fibre_channel(digits.parse().ok()?), 1);
    }
    let generation = Infiniband::ALL.into_iter().find(|one| one.name().to_lowercase() == first);
    match generation {
        Some(one) if infiniband => made(Some(Network::Infiniband(one)), 1),
        _ => None,
    }
}

/// 2 and `10g` of `2x10g`.
fn counted(word: &str) -> (u32, &str) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    match word[digits..].strip_prefix('x') {
        Some(rest)
            if (1..=2).contains(&digits) && rest.starts_with(|letter: char| letter.is_ascii_digit()) =>
        {
            (word[..digits].parse().unwrap_or(1), rest)
        }
        _ => (1, word),
    }
}
