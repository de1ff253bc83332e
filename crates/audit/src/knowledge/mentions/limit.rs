//! Limits that sentences state (`at most 3500 MB/s over PCIe 3.0 x4`, `34 Gbits/sec (or 4.25 Gbytes/s)`) and links that they give as
//! the cause.

use super::bytes_per_second;
use super::link::NamedLink;
use super::vocabulary::{Word, any, says};
use crate::knowledge::Link;
use crate::number::{Hedge, Interval, Quantity, Unit};
use crate::page::Spot;
use std::ops::Range;

type Words = [(String, Range<usize>)];

/// A limit that a sentence states.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Where its figure stands.
    pub spot: Spot,
    /// Bytes a second, with what `about` allows.
    pub rate: Interval,
    /// The link that the sentence names.
    pub link: Option<Link>,
    /// Whether it is of a network: by its link, or as bits a second that are converted to bytes a second.
    pub network: bool,
}

/// A sentence that gives a link as the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Where: the whole line.
    pub spot: Spot,
    /// The link that it names.
    pub link: Option<Link>,
}

/// What is said to be about a figure may be so much more.
const ABOUT: f64 = 0.02;

/// `the most that was reached` is a result, and no limit.
const REACHED: &[&str] = &["reached", "achieved", "measured", "got", "达到了", "测得", "достигл", "получил"];

const MOST: &[&str] = &[
    "up to",
    "at most",
    "maximum",
    "max",
    "limit",
    "limited",
    "limits",
    "capped",
    "cap",
    "ceiling",
    "cannot exceed",
    "no more than",
    "not exceed",
    "最高",
    "最大",
    "上限",
    "不超过",
    "极限",
    "限制",
    "максим",
    "не более",
    "предел",
    "потолок",
    "ограничен",
];
/// Words that make a figure one of the link even where a drive is in the sentence.
const LIMITS: &[&str] =
    &["limit", "limited", "limits", "capped", "bottleneck", "受限", "限制", "瓶颈", "ограничен", "упира"];
const PATH: &[&str] = &[
    "interface",
    "bus",
    "slot",
    "link",
    "lanes",
    "接口",
    "总线",
    "插槽",
    "链路",
    "通道",
    "интерфейс",
    "шин",
    "слот",
    "лини",
];
const DRIVE: &[&str] =
    &["ssd", "ssds", "drive", "drives", "disk", "disks", "硬盘", "固态", "磁盘", "накопител", "диск"];
const CAUSES: &[&str] = &[
    "limited by",
    "bottlenecked by",
    "bound by",
    "capped by",
    "constrained by",
    "restricted by",
    "due to the limit",
    "受限于",
    "受制于",
    "受到",
    "ограничен",
    "упирается",
    "упираемся",
    "упёрл",
    "уперл",
];

pub(super) fn limits(
    text: &str,
    lower: &str,
    words: &Words,
    figures: &[Quantity],
    links: &[NamedLink],
    drive: bool,
) -> Vec<Limit> {
    let rates: Vec<&Quantity> = figures.iter().filter(|figure| bytes_per_second(figure).is_some()).collect();
    if let Some(limit) = converted(&rates) {
        return vec![limit];
    }
    let stated = any(lower, words, MOST) && (!links.is_empty() && any(lower, words, PATH) || network(links));
    let of_drive = (drive || any(lower, words, DRIVE)) && !any(lower, words, LIMITS);
    let link = links.iter().find_map(|named| named.link);
    match rates.as_slice() {
        [only]
            if stated
                && !of_drive
                && !says(lower, words, Word::Rating)
                && before(text, only, MOST)
                && !before(text, only, REACHED) =>
        {
            let rate = bytes_per_second(only).map(|rate| widened(rate, only.hedge));
            let network = only.unit == Unit::BitsPerSecond || network(links);
            rate.into_iter().map(|rate| Limit { spot: only.figure.spot, rate, link, network }).collect()
        }
        _ => Vec::new(),
    }
}

fn network(links: &[NamedLink]) -> bool {
    links.iter().any(NamedLink::is_network)
}

/// Whether one of the words stands before the figure in its sentence.
fn before(text: &str, figure: &Quantity, spellings: &[&str]) -> bool {
    let head = &text[..figure.figure.spot.start as usize];
    let stop = head.rmatch_indices(['.', '。', ';', '；', '!', '?']).next();
    let sentence = stop.map_or(head, |(at, stop)| &head[at + stop.len()..]);
    // A point within a number or a version ends no sentence.
    let sentence = if sentence.starts_with(|letter: char| letter.is_ascii_digit()) { head } else { sentence };
    super::vocabulary::text_has(sentence, spellings)
}

/// Bits a second with the same in bytes a second: who converts a link's rate is about to hold figures of storage against it.
fn converted(rates: &[&Quantity]) -> Option<Limit> {
    let [bits, bytes] = rates else { return None };
    if bits.unit != Unit::BitsPerSecond || bytes.unit != Unit::BytesPerSecond {
        return None;
    }
    let [one, other] = [bytes_per_second(bits)?, bytes_per_second(bytes)?];
    let rate = Interval { low: one.low.min(other.low), high: one.high.max(other.high) };
    one.meets(other).then(|| Limit {
        spot: bits.figure.spot,
        rate: widened(rate, bits.hedge),
        link: None,
        network: true,
    })
}

fn widened(rate: Interval, hedge: Hedge) -> Interval {
    match hedge {
        Hedge::About | Hedge::PlusMinus => rate.wider(ABOUT),
        Hedge::Above => Interval { high: f64::INFINITY, ..rate },
        Hedge::Plain | Hedge::Below => rate,
    }
}

pub(super) fn cause(
    line: usize,
    text: &str,
    lower: &str,
    words: &Words,
    links: &[NamedLink],
) -> Option<Cause> {
    let named = links.first()?;
    let names = any(lower, words, CAUSES);
    let one = links.iter().all(|other| other.is_network() == named.is_network());
    (names && one).then(|| Cause { spot: Spot::new(line, 0..text.len()), link: named.link })
}
