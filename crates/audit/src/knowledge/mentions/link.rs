//! Links that a line names: `PCIe 3.0 x4`, `Gen4 x4`, `LnkSta: Speed 8GT/s, Width x4`, `SATA III`, `SAS 12Gb/s`, `40GbE`, `2x10G`.

use crate::knowledge::Link;
use crate::knowledge::network::Network;
use crate::knowledge::pcie::Pcie;
use crate::knowledge::sata_sas::Cable;
use crate::knowledge::words::says;
use crate::page::Spot;
use std::ops::Range;

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
    /// Whether `lspci` says that this was negotiated (`LnkSta`).
    pub negotiated: bool,
}

impl NamedLink {
    /// Whether it is a network.
    pub fn is_network(&self) -> bool {
        self.link.is_some_and(Link::is_network)
    }
}

/// The one generation with the one number of lanes of all that are named.
pub(super) fn one_pcie(named: &[&NamedLink]) -> Option<(Link, Spot)> {
    let first = named.iter().find(|named| named.link.is_some()).or(named.first())?;
    let generation = named.iter().find_map(|named| named.generation)?;
    let lanes = named.iter().find_map(|named| named.lanes)?;
    let alike = named.iter().all(|named| {
        named.generation.is_none_or(|own| own == generation) && named.lanes.is_none_or(|own| own == lanes)
    });
    alike.then(|| Some((Link::Pcie(Pcie::new(generation, lanes)?), first.spot))).flatten()
}

/// Letters in a row or a number of a line, in lower case.
struct Token<'a> {
    text: &'a str,
    bytes: Range<usize>,
    /// Whether something stands before it that parts names.
    apart: bool,
}

fn tokens(lower: &str) -> Vec<Token<'_>> {
    let bytes = lower.as_bytes();
    let (mut tokens, mut at, mut end) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let start = at;
        if bytes[at].is_ascii_digit() {
            let point = |at: usize| bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            while at < bytes.len() && (bytes[at].is_ascii_digit() || point(at)) {
                at += 1;
            }
        } else {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        }
        if at > start {
            let apart = lower[end..start].contains([',', ';', '(', ')', '|', '/', '，', '、']);
            tokens.push(Token { text: &lower[start..at], bytes: start..at, apart });
            end = at;
        } else {
            at += 1;
        }
    }
    tokens
}

/// What is read at a token: a link in full or in part, and how many tokens it takes.
enum Read {
    Pcie(Option<u8>, Option<u8>, bool),
    Whole(Link, u32),
}

/// The links that a line names, in order; the line in lower case of ASCII.
pub fn links(line: usize, lower: &str) -> Vec<NamedLink> {
    let tokens = tokens(lower);
    let networked = says(lower, "network");
    let infiniband = tokens.iter().any(|token| matches!(token.text, "infiniband" | "ib"));
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let read = lspci(rest).or_else(|| pcie(rest)).or_else(|| cable(rest));
        let Some((read, taken)) = read.or_else(|| network(rest, networked, infiniband)) else {
            at += 1;
            continue;
        };
        let spot = Spot::new(line, rest[0].bytes.start..rest[taken - 1].bytes.end);
        found.push(match read {
            Read::Pcie(generation, lanes, negotiated) => {
                let link = generation.zip(lanes).and_then(|(generation, lanes)| Pcie::new(generation, lanes));
                NamedLink { spot, link: link.map(Link::Pcie), generation, lanes, count: 1, negotiated }
            }
            Read::Whole(link, count) => {
                NamedLink { spot, link: Some(link), generation: None, lanes: None, count, negotiated: false }
            }
        });
        at += taken;
    }
    for (sign, gigabits) in [("万兆", 10.0), ("千兆", 1.0)] {
        found.extend(lower.match_indices(sign).map(|(from, _)| NamedLink {
            spot: Spot::new(line, from..from + sign.len()),
            link: Some(Link::Network(Network::Ethernet(gigabits))),
            generation: None,
            lanes: None,
            count: 1,
            negotiated: false,
        }));
    }
    found
}

fn word<'a>(rest: &[Token<'a>], at: usize) -> &'a str {
    rest.get(at).map_or("", |token| token.text)
}

fn number<T: std::str::FromStr>(rest: &[Token], at: usize) -> Option<T> {
    word(rest, at).parse().ok()
}

/// `LnkSta: Speed 8GT/s, Width x4`; what `LnkCap` could do is no link that anything went over.
fn lspci(rest: &[Token]) -> Option<(Read, usize)> {
    (word(rest, 0) == "lnksta").then_some(())?;
    let near = rest.len().min(14);
    let gigatransfers = (1..near).find(|at| word(rest, *at) == "gt")?;
    let width = (gigatransfers..near).find(|at| word(rest, *at) == "x")? + 1;
    let (speed, lanes): (f64, u8) = (number(rest, gigatransfers - 1)?, number(rest, width)?);
    let generation = (1..=6).find(|one| Pcie::new(*one, lanes) == Pcie::of_speed(speed, lanes))?;
    Some((Read::Pcie(Some(generation), Some(lanes), true), width + 1))
}

/// `PCIe 3.0 x4`, `PCI Express 4.0 x4`, `PCIe Gen4x4`, `Gen3 x4`, `PCIEx4`.
fn pcie(rest: &[Token]) -> Option<(Read, usize)> {
    let (mut at, mut of_lanes) = match (word(rest, 0), word(rest, 1)) {
        ("pcie", _) => (1, false),
        ("pciex", _) => (1, true),
        ("pci", "express" | "e") => (2, false),
        ("gen", _) if word(rest, 2) == "x" => (1, false),
        _ => return None,
    };
    let (mut generation, mut lanes) = (None, None);
    while rest.get(at).is_some_and(|token| !token.apart) {
        match (word(rest, at), number::<f64>(rest, at)) {
            ("gen" | "lanes", _) => {}
            ("x", _) => of_lanes = true,
            (_, Some(own)) if of_lanes && [1.0, 2.0, 4.0, 8.0, 16.0].contains(&own) => {
                (lanes, of_lanes) = (Some(own as u8), false);
            }
            (_, Some(own)) if generation.is_none() && own.fract() == 0.0 && (1.0..=6.0).contains(&own) => {
                generation = Some(own as u8);
            }
            _ => break,
        }
        at += 1;
    }
    (generation.is_some() || lanes.is_some()).then_some((Read::Pcie(generation, lanes, false), at))
}

/// `SATA 3`, `SATA III`, `SATA 6Gb/s`, `SAS 12Gb/s`, `12G SAS`.
fn cable(rest: &[Token]) -> Option<(Read, usize)> {
    let is_rate = |at: usize| matches!(word(rest, at), "g" | "gb" | "gbps" | "gbit");
    let (cable, taken) = match (word(rest, 0), word(rest, 1)) {
        ("sata", "iii") => (Cable::sata(3.0, false), 2),
        ("sata", "ii") => (Cable::sata(2.0, false), 2),
        ("sata", _) if is_rate(2) => (Cable::sata(number(rest, 1)?, true), 3),
        ("sata", _) if !rest.get(1)?.apart => (Cable::sata(number(rest, 1)?, false), 2),
        ("sas", _) if is_rate(2) => (Cable::sas(number(rest, 1)?), 3),
        _ if is_rate(1) && word(rest, 2) == "sas" => (Cable::sas(number(rest, 0)?), 3),
        _ if is_rate(1) && word(rest, 3) == "sas" => (Cable::sas(number(rest, 0)?), 4),
        _ => return None,
    };
    Some((Read::Whole(Link::Cable(cable?), 1), taken))
}

/// `40GbE`, `25 GbE`, `10GBASE-T`, `10 Gigabit Ethernet`, `2x10G` beside a word of networks, `FDR` beside InfiniBand, `16GFC`.
fn network(rest: &[Token], networked: bool, infiniband: bool) -> Option<(Read, usize)> {
    let (before, rest, skipped) = match number::<u32>(rest, 0).filter(|_| word(rest, 1) == "x") {
        Some(count) => (count, &rest[2..], 2),
        None => (1, rest, 0),
    };
    let of_network = matches!(word(rest, 2), "ethernet" | "network" | "nic");
    let (network, taken) = match word(rest, 1) {
        _ if infiniband && Network::infiniband(word(rest, 0)).is_some() => {
            (Network::infiniband(word(rest, 0)), 1)
        }
        "gbe" | "gige" | "gbase" => (Network::ethernet(number(rest, 0)?), 2),
        "gigabit" | "gb" | "gbit" if of_network => (Network::ethernet(number(rest, 0)?), 3),
        "g" | "gbps" | "gbit" if networked && word(rest, 2) != "s" => {
            (Network::ethernet(number(rest, 0).filter(|gigabits| *gigabits >= 10.0)?), 2)
        }
        "gfc" => (Network::fibre_channel(number(rest, 0)?), 2),
        _ => return None,
    };
    let after = number::<u32>(rest, taken + 1)
        .filter(|_| word(rest, taken) == "x" && !rest[taken].apart && !rest[taken + 1].apart);
    let count = before * after.unwrap_or(1);
    (1..=64).contains(&count).then_some(())?;
    Some((Read::Whole(Link::Network(network?), count), skipped + taken + if after.is_some() { 2 } else { 0 }))
}
