//! What the sentences, headings, commands and cells of a page name: links, drives, media, limits, causes, loads. Nothing is guessed: a
//! name that could be two things is none. Tools' outputs are not looked through, but for the commands in them.

use super::Link;
use super::ratings::{self, Ratings};
use crate::import::{self, Output};
use crate::number::{Interval, Quantity, quantities};
use crate::page::{Page, Spot};
use crate::table::Table;

mod command;
mod limit;
mod link;
mod vocabulary;

pub use command::Command;
pub use limit::{Cause, Limit};
pub use link::{NamedLink, links};
pub(crate) use vocabulary::text_has;
pub use vocabulary::{Word, makers, said, says, text_says};

/// More text outside outputs than that is no article: nothing is said of it.
const MOST_BYTES: usize = 4 << 20;
/// A page that names more links, drives or limits than that is data.
const MOST_NAMES: usize = 1000;
const MOST_LIMITS: usize = 50;
/// So many headings are looked through for those over a line.
const MOST_HEADINGS: usize = 200;
/// A longer line is no sentence.
const LONGEST_LINE: usize = 6000;

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
    pub count: Option<u32>,
}

/// A word of the vocabulary on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Index of the line.
    pub line: usize,
    /// Which.
    pub word: Word,
}

/// All that a page names.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// Links, in the order of the page.
    pub links: Vec<NamedLink>,
    /// Drives.
    pub drives: Vec<NamedDrive>,
    /// Limits that a sentence states.
    pub limits: Vec<Limit>,
    /// Sentences that give a link as the cause.
    pub causes: Vec<Cause>,
    /// Loads that were asked for.
    pub commands: Vec<Command>,
    /// Words that tell what is around a figure, once a line.
    pub words: Vec<Said>,
    /// Makers of drives, each once.
    pub makers: Vec<&'static str>,
    /// Indices of lines that begin a section, with their depth.
    pub headings: Vec<(usize, u8)>,
    /// Whether the page was too large to look through; then all else is empty.
    pub too_large: bool,
    /// Which words it has, by their place in the vocabulary.
    has: [bool; Word::ALL.len()],
}

impl Mentions {
    /// Looks through a page.
    pub fn of(page: &Page, outputs: &[Output], tables: &[Table], ratings: &Ratings) -> Mentions {
        let mut found = Mentions::default();
        let mut bytes = 0;
        let mut commands = command::Reader::default();
        let mut output = 0;
        let mut table = 0;
        let mut next = 0;
        while next < page.len() {
            let at = next;
            next += 1;
            while outputs.get(output).is_some_and(|one| one.lines.end <= at) {
                output += 1;
            }
            while tables.get(table).is_some_and(|one| one.lines.end <= at) {
                table += 1;
            }
            let inside = outputs.get(output).filter(|one| one.lines.contains(&at));
            let asks = |one: &Output| matches!(one.said, import::Said::Command(_) | import::Said::JobFile(_));
            // What a tool printed asks for nothing.
            if let Some(result) = inside.filter(|one| !asks(one)) {
                commands.end_job();
                next = result.lines.end;
                continue;
            }
            let text = page.line(at);
            commands.line(at, text);
            if text.len() > LONGEST_LINE || inside.is_some() {
                continue;
            }
            bytes += text.len();
            let named = found.links.len().max(found.drives.len());
            let stated = found.limits.len().max(found.causes.len());
            if bytes > MOST_BYTES || named > MOST_NAMES || stated > MOST_LIMITS {
                return Mentions { too_large: true, ..Mentions::default() };
            }
            let in_table = tables.get(table).is_some_and(|one| one.lines.contains(&at));
            found.line(at, text, in_table, ratings);
        }
        found.commands = commands.done();
        found
    }

    fn line(&mut self, at: usize, text: &str, in_table: bool, ratings: &Ratings) {
        if text.trim().is_empty() {
            return;
        }
        let lower = text.to_lowercase();
        let words = ratings::words(text);
        for word in vocabulary::said(&lower, &words) {
            self.words.push(Said { line: at, word });
            self.has[word as usize] = true;
        }
        for maker in vocabulary::makers(&lower, &words) {
            if !self.makers.contains(&maker) {
                self.makers.push(maker);
            }
        }
        if let Some(depth) = heading(text).filter(|_| !in_table) {
            self.headings.push((at, depth));
        }
        let numbered = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit()) || text.contains('兆');
        if !numbered(text) && !["sata", "infiniband"].iter().any(|name| lower.contains(name)) {
            return;
        }
        let figures = quantities(at, text);
        let links = links(at, text, &words, &lower, &figures);
        let drives = drives(at, text, &figures, ratings);
        if !in_table {
            self.limits.extend(limit::limits(text, &lower, &words, &figures, &links, !drives.is_empty()));
            self.causes.extend(limit::cause(at, text, &lower, &words, &links));
        }
        self.links.extend(links);
        self.drives.extend(drives);
    }

    /// Whether the page has a word anywhere.
    pub fn has(&self, word: Word) -> bool {
        self.has[word as usize]
    }

    /// The link that the drive of a page is behind, if nothing else can be meant: the one that `lspci` tells as negotiated, or the one
    /// generation with the one number of lanes that the page names, or the one cable.
    pub fn only_drive_link(&self) -> Option<(Link, Spot)> {
        let mut told = self.links.iter().filter(|named| named.negotiated);
        if let Some(first) = told.next() {
            let link = first.link?;
            return told.all(|other| other.link == Some(link)).then_some((link, first.spot));
        }
        let mine: Vec<&NamedLink> = self.links.iter().filter(|named| !named.is_network()).collect();
        let cables = mine.iter().filter(|named| matches!(named.link, Some(Link::Cable(_)))).count();
        match cables {
            0 => link::one_pcie(&mine),
            // A page of NVMe drives that names SATA names it for others.
            all if all == mine.len() && !self.has(Word::Nvme) => {
                let first = mine.first()?;
                mine.iter().all(|named| named.link == first.link && named.count == 1).then_some(())?;
                Some((first.link?, first.spot))
            }
            _ => None,
        }
    }

    /// The fastest link of drives that a page names, and only if it names no generation of PCIe without its lanes.
    pub fn fastest_drive_link(&self) -> Option<(Link, Spot)> {
        let fastest = fastest(self.links.iter().filter(|named| !named.is_network()))?;
        let of_others = matches!(fastest.0, Link::Cable(_)) && self.has(Word::Nvme);
        (!of_others).then_some(fastest)
    }

    /// The fastest network that a page names; one of 1 Gb/s or less is that of management.
    pub fn fastest_network(&self) -> Option<(Link, Spot)> {
        let fastest = fastest(self.links.iter().filter(|named| named.is_network()))?;
        (fastest.0.rate().line > 0.2e9).then_some(fastest)
    }

    /// Indices of the headings over a line, the nearest first: each of a lesser depth than the one below it.
    pub fn headings_over(&self, line: usize) -> Vec<usize> {
        let from = self.headings.partition_point(|(at, _)| *at < line);
        let mut over: Vec<usize> = Vec::new();
        let mut depth = u8::MAX;
        for (at, own) in self.headings[..from].iter().rev().take(MOST_HEADINGS) {
            if *own < depth {
                over.push(*at);
                depth = *own;
            }
            if depth <= 1 {
                break;
            }
        }
        over
    }
}

fn fastest<'a>(links: impl Iterator<Item = &'a NamedLink>) -> Option<(Link, Spot)> {
    let mut best: Option<(Link, Spot)> = None;
    for named in links {
        let link = named.link?;
        if named.count > 1 {
            return None;
        }
        if best.is_none_or(|(kept, _)| link.rate().line > kept.rate().line) {
            best = Some((link, named.spot));
        }
    }
    best
}

/// The depth of a heading: of Markdown its signs, of a numbered line its numbers; short lines only.
pub fn heading(text: &str) -> Option<u8> {
    let bare = text.trim();
    if bare.is_empty() || bare.len() > 120 || bare.ends_with([';', ',', '，', '；', '。']) {
        return None;
    }
    let signs = bare.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&signs) {
        return bare[signs..].starts_with(' ').then_some(signs as u8);
    }
    let numbers: usize = bare.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, rest) = bare.split_at(numbers);
    let parts = number.split('.').filter(|part| !part.is_empty()).count();
    let told = number.contains('.') && number.split('.').all(|part| part.len() <= 2);
    let titled =
        rest.strip_prefix([' ', '\u{a0}', '、']).is_some_and(|rest| rest.chars().any(char::is_alphabetic));
    // Figures of a table that stand alone are no headings: `2.5 GB/s`.
    let figure = quantities(0, bare)
        .first()
        .is_some_and(|one| one.unit != crate::number::Unit::Bare && one.figure.spot.start == 0);
    (told && titled && !figure && (1..=4).contains(&parts)).then_some(parts as u8)
}

/// The drives that a text alone names.
pub fn drives_in(text: &str, ratings: &Ratings) -> Vec<NamedDrive> {
    drives(0, text, &quantities(0, text), ratings)
}

/// Bytes around a name in which its capacity and number stand.
const NEAR: usize = 80;

fn drives(at: usize, text: &str, figures: &[Quantity], ratings: &Ratings) -> Vec<NamedDrive> {
    let found = ratings.find(text);
    let mut drives = Vec::with_capacity(found.len());
    for (index, one) in found.iter().enumerate() {
        let after =
            found.get(index + 1).map_or(text.len(), |next| next.bytes.start).min(one.bytes.end + NEAR);
        let before = match index {
            0 => 0,
            _ => found[index - 1].bytes.end,
        };
        let before = before.max(one.bytes.start.saturating_sub(NEAR));
        let part = one.size.and_then(|size| ratings.drives()[one.drive].sizes[size].capacity);
        let near = figures.iter().filter(|figure| {
            let spot = figure.figure.spot;
            figure.unit == crate::number::Unit::Bytes
                && spot.start as usize >= before
                && (spot.end as usize) <= after
        });
        let rated = |bytes: &f64| ratings.match_of(one.drive, Some(*bytes)).is_some();
        let printed: Vec<f64> = near.map(|figure| figure.figure.value).filter(rated).collect();
        let printed = match printed.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let count = one.count.or_else(|| count(text, before, &one.bytes, after));
        drives.push(NamedDrive {
            spot: Spot::new(at, one.bytes.clone()),
            drive: one.drive,
            capacity: part.or(printed),
            count,
        });
    }
    drives
}

/// `10 块`, `4 x`, `x4`, `6 шт`, around a name.
fn count(text: &str, before: usize, name: &std::ops::Range<usize>, after: usize) -> Option<u32> {
    const SIGNS: [&str; 14] =
        ["x", "×", "*", "块", "个", "片", "颗", "шт", "pcs", "drives", "disks", "ssds", "units", "pieces"];
    let from = (before..=name.start).find(|at| text.is_char_boundary(*at))?;
    let to = (0..=after.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    let head = &text[from..name.start];
    // What stands behind a comma is of something else.
    let head = head.rsplit([',', ';', '，', '；', '、', '。', '|', '+']).next().unwrap_or(head);
    let mut at = 0;
    while let Some(start) = head[at..].find(|letter: char| letter.is_ascii_digit()).map(|start| at + start) {
        let digits = head[start..].bytes().take_while(u8::is_ascii_digit).count();
        let rest = head[start + digits..].trim_start();
        let alone = !head[..start].ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '.');
        let sign = SIGNS.iter().any(|sign| rest.to_lowercase().starts_with(sign));
        let follows =
            !rest.trim_start_matches(['x', 'X']).starts_with(|letter: char| letter.is_ascii_alphabetic());
        if alone && sign && digits <= 3 && (follows || !rest.starts_with(['x', 'X'])) {
            return head[start..start + digits].parse().ok();
        }
        at = start + digits;
    }
    let tail = text[name.end..to.max(name.end)].trim_start();
    let tail = tail.strip_prefix(['x', '×', '*'])?;
    let digits = tail.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    let number = &tail.trim_start()[..digits];
    (1..=3).contains(&digits).then(|| number.parse().ok()).flatten()
}

/// Bytes a second of a figure of a rate; `None` of anything else.
pub fn bytes_per_second(quantity: &Quantity) -> Option<Interval> {
    match quantity.unit {
        crate::number::Unit::BytesPerSecond => Some(quantity.interval()),
        crate::number::Unit::BitsPerSecond => Some(quantity.interval().scaled(1.0 / 8.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
