//! What the text and the tables of a page name: links, drives, words, headings. Nothing is guessed: a name that could be two things is
//! none.

use super::Link;
use super::ratings::Ratings;
use super::words::{Word, makers, says, spellings};
use crate::number::{Unit, quantities};
use crate::page::{Page, Spot};

mod link;

pub use link::{NamedLink, links};

/// More text outside outputs than that is no article: nothing is said of it.
const MOST_BYTES: usize = 1 << 20;
/// A page that names more links or drives than that is data.
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
    /// Indices of lines that begin a section, with their depth.
    headings: Vec<(usize, u8)>,
    /// The lines in lower case, and where each begins with its index.
    lower: String,
    starts: Vec<(usize, usize)>,
}

impl Mentions {
    /// Looks through those lines of a page that are of no tool's output.
    pub fn of(page: &Page, lines: impl Iterator<Item = usize>, ratings: &Ratings) -> Mentions {
        let mut found = Mentions::default();
        for (at, text) in lines.map(|at| (at, page.line(at))).filter(|(_, text)| text.len() <= LONGEST_LINE) {
            found.starts.push((found.lower.len(), at));
            found.lower.push_str(&text.to_lowercase());
            found.lower.push('\n');
            found.headings.extend(heading(text).map(|depth| (at, depth)));
            found.links.extend(links(at, &text.to_ascii_lowercase()));
            found.drives.extend(drives(at, text, ratings));
            if found.lower.len() > MOST_BYTES || found.links.len().max(found.drives.len()) > MOST_NAMES {
                return Mentions { too_large: true, ..Mentions::default() };
            }
        }
        found.makers = makers(&found.lower);
        found.words = WORDS.into_iter().filter(|word| says(&found.lower, word)).collect();
        found
    }

    /// Whether the page has a word of one of these lists anywhere.
    pub fn has(&self, word: Word) -> bool {
        debug_assert!(WORDS.contains(&word), "{word} is not looked for");
        self.words.contains(&word)
    }

    /// Index of the first line that has a word of a list.
    pub fn first(&self, word: Word) -> Option<usize> {
        let first = spellings(word).iter().filter_map(|spelling| {
            let mut places = self.lower.match_indices(spelling);
            places.find_map(|(at, _)| {
                let line = self.starts.partition_point(|(start, _)| *start <= at) - 1;
                let end = self.starts.get(line + 1).map_or(self.lower.len(), |(start, _)| *start);
                crate::prose::has(&self.lower[self.starts[line].0..end], spelling)
                    .then_some(self.starts[line].1)
            })
        });
        first.min()
    }

    /// The link that the drive of a page is behind, if nothing else can be meant: the one that `lspci` reports as negotiated, or the
    /// one generation with the one number of lanes that the page names, or the one cable.
    pub fn only_drive_link(&self) -> Option<(Link, Spot)> {
        let mut settled = self.links.iter().filter(|named| named.negotiated);
        if let Some(first) = settled.next() {
            return settled.all(|other| other.link == first.link).then_some((first.link?, first.spot));
        }
        let mine: Vec<&NamedLink> = self.links.iter().filter(|named| !named.is_network()).collect();
        let first = mine.first()?;
        match mine.iter().filter(|named| matches!(named.link, Some(Link::Cable(_)))).count() {
            0 => link::one_pcie(&mine),
            // A page of NVMe drives that names SATA names it for others.
            all if all == mine.len() && !self.has("nvme") => {
                mine.iter().all(|named| named.link == first.link).then_some((first.link?, first.spot))
            }
            _ => None,
        }
    }

    /// The fastest link of drives, or network, that a page names; none where it names one in part or several of one.
    pub fn fastest(&self, network: bool) -> Option<(Link, Spot)> {
        let mine = self.links.iter().filter(|named| named.is_network() == network);
        let whole: Option<Vec<(Link, Spot)>> =
            mine.map(|named| Some((named.link.filter(|_| named.count == 1)?, named.spot))).collect();
        let fastest =
            whole?.into_iter().max_by(|one, other| one.0.rate().line.total_cmp(&other.0.rate().line))?;
        let of_others = matches!(fastest.0, Link::Cable(_)) && self.has("nvme");
        (!of_others).then_some(fastest)
    }

    /// Indices of the headings over a line, the nearest first: each of a lesser depth than the one below it.
    pub fn headings_over(&self, line: usize) -> Vec<usize> {
        let from = self.headings.partition_point(|(at, _)| *at < line);
        let mut over: Vec<usize> = Vec::new();
        let mut depth = u8::MAX;
        for (at, own) in self.headings[..from].iter().rev().take(200) {
            if *own < depth {
                over.push(*at);
                depth = *own;
            }
        }
        over
    }
}

/// The depth of a heading: of Markdown its signs, of a numbered line its numbers; short lines only.
fn heading(text: &str) -> Option<u8> {
    let bare = text.trim();
    let signs = bare.bytes().take_while(|byte| *byte == b'#').count();
    if signs > 0 {
        return (signs <= 6 && bare[signs..].starts_with(' ')).then_some(signs as u8);
    }
    let (number, title) = bare.split_once([' ', '\u{a0}'])?;
    let numbered = number.contains('.')
        && number.split('.').all(|part| part.len() <= 2 && part.parse::<u8>().is_ok() || part.is_empty());
    let titled = title.starts_with(|letter: char| letter.is_alphabetic());
    // Figures that stand alone are no headings: `2.5 GB/s`.
    let figure =
        quantities(0, bare).first().is_some_and(|one| one.unit != Unit::Bare && one.figure.spot.start == 0);
    let short = bare.len() <= 120 && !bare.ends_with([';', ',', '，', '；', '。']);
    (numbered && titled && short && !figure)
        .then(|| number.split('.').filter(|part| !part.is_empty()).count() as u8)
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
        let after = next.min(one.bytes.end + NEAR);
        let before =
            drives.last().map_or(0, |last| last.spot.end as usize).max(one.bytes.start.saturating_sub(NEAR));
        let near = figures.iter().filter(|figure| {
            let spot = figure.figure.spot;
            figure.unit == Unit::Bytes && spot.start as usize >= before && spot.end as usize <= after
        });
        let rated = |bytes: &f64| ratings.sized(one.drive, *bytes).is_some();
        let printed: Vec<f64> = near.map(|figure| figure.figure.value).filter(rated).collect();
        let of_part = one.size.and_then(|size| ratings.drives()[one.drive].sizes[size].capacity);
        let capacity = of_part.or(printed.first().copied().filter(|_| printed.len() == 1));
        let from =
            (before..=one.bytes.start).find(|at| text.is_char_boundary(*at)).unwrap_or(one.bytes.start);
        let count = one.count.or_else(|| count(&text[from..one.bytes.start], &text[one.bytes.end..next]));
        drives.push(NamedDrive {
            spot: Spot::new(at, one.bytes.clone()),
            drive: one.drive,
            capacity,
            count: count.unwrap_or(1),
        });
    }
    drives
}

/// `10 块`, `4 x`, `x4`, `6 шт`, around a name.
fn count(head: &str, tail: &str) -> Option<u32> {
    // What stands behind a comma is of something else.
    let head = head.rsplit([',', ';', '，', '；', '、', '。', '|', '+']).next()?.to_lowercase();
    let of_sign = |sign: &str| {
        head.match_indices(sign).find_map(|(at, _)| {
            let before = head[..at].trim_end();
            let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (rest, number) = before.split_at(before.len() - digits);
            let inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
            let alone = !rest.ends_with(inside)
                && !head[at + sign.len()..].starts_with(|letter: char| letter.is_ascii_alphabetic());
            number.parse().ok().filter(|_| alone && digits <= 3)
        })
    };
    let signs = ["x", "×", "*", "块", "个", "片", "颗", "шт", "pcs", "drives", "disks", "ssds", "units"];
    let behind = || {
        tail.trim_start()
            .strip_prefix(['x', '×', '*'])?
            .trim_start()
            .split(|letter: char| !letter.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    signs.into_iter().find_map(of_sign).or_else(behind)
}

#[cfg(test)]
mod tests;
