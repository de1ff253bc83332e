//! What the text and the tables of a page name: links, drives, makers, words. Nothing is guessed: a name that could be two things is
//! none.

use super::Link;
use super::ratings::Ratings;
use super::words::{Word, makers, says};
use crate::number::{Unit, quantities};
use crate::page::{Page, Spot};

mod link;

pub use link::{NamedLink, links};

/// More text outside outputs, or more names, are of no article: nothing is said of it.
const MOST_BYTES: usize = 1 << 20;
const MOST_NAMES: usize = 1000;
/// A longer line is no sentence.
const LONGEST_LINE: usize = 6000;

/// The lists of words that are looked for on the whole page.
const WORDS: [Word; 7] = ["several", "bonded", "cached", "guest", "fabric", "nvme", "direct"];

/// A drive that a page names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedDrive {
    /// Where.
    pub spot: Spot,
    /// Index of the drive in the ratings.
    pub drive: usize,
    /// Bytes, where they stand near the name or the part number says them.
    pub capacity: Option<f64>,
    /// How many.
    pub count: u32,
}

/// All that a page names.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// Links, in the order of the page.
    pub links: Vec<NamedLink>,
    /// Drives.
    pub drives: Vec<NamedDrive>,
    /// Makers of drives.
    pub makers: Vec<Word>,
    /// Whether the page was too large to look through; then all else is empty.
    pub too_large: bool,
    /// Those of [`WORDS`] that the page has anywhere.
    words: Vec<Word>,
}

impl Mentions {
    /// Looks through those lines of a page that are of no tool's output.
    pub fn of(page: &Page, lines: impl Iterator<Item = usize>, ratings: &Ratings) -> Mentions {
        let (mut found, mut all) = (Mentions::default(), String::new());
        for (at, text) in lines.map(|at| (at, page.line(at))).filter(|(_, text)| text.len() <= LONGEST_LINE) {
            all.extend([&text.to_lowercase(), "\n"]);
            found.links.extend(links(at, &text.to_ascii_lowercase()));
            found.drives.extend(drives(at, text, ratings));
            if all.len() > MOST_BYTES || found.links.len().max(found.drives.len()) > MOST_NAMES {
                return Mentions { too_large: true, ..Mentions::default() };
            }
        }
        found.makers = makers(&all);
        found.words = WORDS.into_iter().filter(|word| says(&all, word)).collect();
        found
    }

    /// Whether the page has a word of one of these lists anywhere.
    pub fn has(&self, word: Word) -> bool {
        debug_assert!(WORDS.contains(&word), "{word} is not looked for");
        self.words.contains(&word)
    }

    /// The link that the drive of a page is behind, if nothing else can be meant: the one that `lspci` reports as negotiated, or the
    /// only one that the page names.
    pub fn only_drive_link(&self) -> Option<(Link, Spot)> {
        let settled = self.links.iter().any(|named| named.negotiated);
        let mut mine = self.links.iter().filter(|named| !named.is_network() && named.negotiated == settled);
        let first = mine.clone().find(|named| named.link.is_some())?;
        let alike = |other: &NamedLink| match other.link {
            None => other.generation == first.generation,
            link => link == first.link,
        };
        mine.all(alike).then_some((first.link?, first.spot)).filter(|(link, _)| self.is_of_drive(*link))
    }

    /// The fastest link of drives, or network, that a page names; none where it names one in part or several of one.
    pub fn fastest(&self, network: bool) -> Option<(Link, Spot)> {
        let mine = self.links.iter().filter(|named| named.is_network() == network);
        let whole: Option<Vec<(Link, Spot)>> =
            mine.map(|named| Some((named.link.filter(|_| named.count == 1)?, named.spot))).collect();
        let line = |named: &(Link, Spot)| named.0.rate().line;
        let fastest = whole?.into_iter().max_by(|one, other| line(one).total_cmp(&line(other)))?;
        Some(fastest).filter(|(link, _)| self.is_of_drive(*link))
    }

    /// A page of NVMe drives that names SATA names it for others.
    fn is_of_drive(&self, link: Link) -> bool {
        !link.is_cable() || !self.has("nvme")
    }
}

/// Bytes around a name in which its capacity and number stand.
const NEAR: usize = 80;

/// The drives that a line names.
pub fn drives(at: usize, text: &str, ratings: &Ratings) -> Vec<NamedDrive> {
    let found = ratings.find(text);
    let figures = if found.is_empty() { Vec::new() } else { quantities(at, text) };
    let mut drives: Vec<NamedDrive> = Vec::with_capacity(found.len());
    for (index, one) in found.iter().enumerate() {
        let next = found.get(index + 1).map_or(text.len(), |next| next.bytes.start);
        let last = drives.last().map_or(0, |last| last.spot.end as usize);
        let near = last.max(one.bytes.start.saturating_sub(NEAR))..next.min(one.bytes.end + NEAR);
        let is_near = |spot: Spot| near.start <= spot.start as usize && spot.end as usize <= near.end;
        let printed = figures.iter().filter(|one| one.unit == Unit::Bytes && is_near(one.figure.spot));
        let mut rated =
            printed.map(|one| one.figure.value).filter(|bytes| ratings.sized(one.drive, *bytes).is_some());
        let printed = rated.next().filter(|_| rated.next().is_none());
        let of_part = one.size.and_then(|size| ratings.drives()[one.drive].sizes[size].capacity);
        let head = (near.start..=one.bytes.start).find_map(|from| text.get(from..one.bytes.start));
        let count = one.count.or_else(|| count(head.unwrap_or(""), &text[one.bytes.end..next]));
        drives.push(NamedDrive {
            spot: Spot::new(at, one.bytes.clone()),
            drive: one.drive,
            capacity: of_part.or(printed),
            count: count.unwrap_or(1),
        });
    }
    drives
}

/// `10 块`, `4 x`, `x4`, `6 шт`, around a name.
fn count(head: &str, tail: &str) -> Option<u32> {
    const SIGNS: [&str; 11] = ["x", "×", "*", "块", "个", "片", "颗", "шт", "pcs", "drives", "disks"];
    // What stands before a comma is of something else.
    let head = head.rsplit([',', ';', '，', '；', '、', '。', '|', '+']).next()?.to_lowercase();
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let of_sign = |sign: &str| {
        head.match_indices(sign).find_map(|(at, _)| {
            let before = head[..at].trim_end();
            let rest = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let alone = !rest.ends_with(letter) && !head[at + sign.len()..].starts_with(letter);
            before[rest.len()..].parse().ok().filter(|count| alone && *count < 1000)
        })
    };
    let tail = || tail.trim_start().strip_prefix(['x', '×', '*'])?.split_whitespace().next()?.parse().ok();
    SIGNS.into_iter().find_map(of_sign).or_else(tail)
}

#[cfg(test)]
mod tests;
