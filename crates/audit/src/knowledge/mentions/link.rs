//! Links that a line names: `PCIe 3.0 x4`, `Gen4 x4`, `LnkSta: Speed 8GT/s, Width x4`, `SATA III`, `SAS 12Gb/s`, `40GbE`, `2x10G`.

use crate::knowledge::Link;
use crate::knowledge::words::says;
use crate::page::Spot;
use std::ops::Range;

/// A link that a page names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedLink {
    /// Where.
    pub spot: Spot,
    /// Which, if it is named in full.
    pub link: Option<Link>,
    /// Generation of PCIe, if that is named.
    pub generation: Option<u8>,
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

    fn whole(link: Link) -> NamedLink {
        NamedLink { link: Some(link), count: 1, ..NamedLink::default() }
    }
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
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut tokens, mut at, mut end) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'0'..=b'9' => {
                while digit(at) || (bytes.get(at) == Some(&b'.') && digit(at + 1)) {
                    at += 1;
                }
            }
            _ => at += bytes[at..].iter().take_while(|byte| byte.is_ascii_lowercase()).count(),
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

/// A link, and how many tokens name it.
type Read = Option<(NamedLink, usize)>;

/// The links that a line names, in order; the line in lower case of ASCII.
pub fn links(line: usize, lower: &str) -> Vec<NamedLink> {
    let (tokens, networked) = (tokens(lower), says(lower, "network"));
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let read = lspci(rest).or_else(|| pcie(rest)).or_else(|| cable(rest));
        let Some((named, taken)) = read.or_else(|| network(rest, networked)) else {
            at += 1;
            continue;
        };
        let spot = Spot::new(line, rest[0].bytes.start..rest[taken - 1].bytes.end);
        found.push(NamedLink { spot, ..named });
        at += taken;
    }
    let ten = Link::called("ethernet", 10.0).map(|ten| (ten, lower.match_indices("万兆")));
    found.extend(ten.into_iter().flat_map(|(ten, signs)| {
        signs.map(move |(from, sign)| {
            let spot = Spot::new(line, from..from + sign.len());
            NamedLink { spot, ..NamedLink::whole(ten) }
        })
    }));
    found
}

fn word<'a>(rest: &[Token<'a>], at: usize) -> &'a str {
    rest.get(at).map_or("", |token| token.text)
}

fn number<T: std::str::FromStr>(rest: &[Token], at: usize) -> Option<T> {
    word(rest, at).parse().ok()
}

/// `LnkSta: Speed 8GT/s, Width x4`; what `LnkCap` could do is no link that anything went over.
fn lspci(rest: &[Token]) -> Read {
    (word(rest, 0) == "lnksta").then_some(())?;
    let near = rest.len().min(14);
    let gigatransfers = (1..near).find(|at| word(rest, *at) == "gt")?;
    let width = (gigatransfers..near).find(|at| word(rest, *at) == "x")? + 1;
    let link = Link::of_speed("pcie", number(rest, gigatransfers - 1)?)?.lanes(number(rest, width)?)?;
    Some((NamedLink { negotiated: true, ..NamedLink::whole(link) }, width + 1))
}

/// `PCIe 3.0 x4`, `PCI Express 4.0 x4`, `PCIe Gen4x4`, `Gen3 x4`, and a generation alone.
fn pcie(rest: &[Token]) -> Read {
    let mut at = match (word(rest, 0), word(rest, 1)) {
        ("pcie", "gen") | ("pci", "express" | "e") => 2,
        ("pcie", _) => 1,
        ("gen", _) if word(rest, 2) == "x" => 1,
        _ => return None,
    };
    let near = |at: usize| rest.get(at).is_some_and(|token| !token.apart);
    at += usize::from(word(rest, at) == "gen");
    let generation = number::<f64>(rest, at).filter(|own| near(at) && own.fract() == 0.0)? as u8;
    let lanes = number(rest, at + 2).filter(|_| near(at + 1) && word(rest, at + 1) == "x");
    let link = Link::called("pcie", f64::from(generation)).and_then(|link| link.lanes(lanes?));
    let taken = if link.is_some() { at + 3 } else { at + 1 };
    let named = NamedLink { link, generation: Some(generation), count: 1, ..NamedLink::default() };
    (1..=6).contains(&generation).then_some((named, taken))
}

/// `SATA 3`, `SATA III`, `SATA 6Gb/s`, `SAS 12Gb/s`, `12G SAS`.
fn cable(rest: &[Token]) -> Read {
    let is_rate = |at: usize| matches!(word(rest, at), "g" | "gb" | "gbps" | "gbit");
    let (cable, taken) = match (word(rest, 0), word(rest, 1)) {
        ("sata", "iii") => (Link::called("sata", 3.0), 2),
        ("sata", "ii") => (Link::called("sata", 2.0), 2),
        ("sata", _) if is_rate(2) => (Link::of_speed("sata", number(rest, 1)?), 3),
        ("sata", _) if !rest.get(1)?.apart => (Link::called("sata", number(rest, 1)?), 2),
        ("sas", _) if is_rate(2) => (Link::called("sas", number(rest, 1)?), 3),
        _ if is_rate(1) && word(rest, 2) == "sas" => (Link::called("sas", number(rest, 0)?), 3),
        _ => return None,
    };
    Some((NamedLink::whole(cable?), taken))
}

/// `40GbE`, `25 GbE`, `10GBASE-T`, `10 Gigabit Ethernet`, `2x10G` beside a word of networks.
fn network(rest: &[Token], networked: bool) -> Read {
    let count = number(rest, 0).filter(|_| word(rest, 1) == "x");
    let at = if count.is_some() { 2 } else { 0 };
    let gigabits = number(rest, at)?;
    let taken = match (word(rest, at + 1), word(rest, at + 2)) {
        ("gbe" | "gige" | "gbase", _) => 2,
        ("gigabit" | "gb" | "gbit", "ethernet" | "network" | "nic") => 3,
        ("g" | "gbps" | "gbit", next) if networked && next != "s" && gigabits >= 10.0 => 2,
        _ => return None,
    };
    let link = Link::called("ethernet", gigabits)?;
    Some((NamedLink { count: count.unwrap_or(1), ..NamedLink::whole(link) }, at + taken))
}
