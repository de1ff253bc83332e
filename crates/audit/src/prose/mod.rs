//! What sentences claim: clauses outside outputs, tables and commands, with their figures, what they are about, and how they
//! put it. English, Chinese, Russian. A clause is read by words of the field, not understood; where two readings are possible
//! there is none.

mod words;

use crate::link::words::{GAIN, LIMIT, LOSS, WITHIN, lists};
use crate::number::{Hedge, Quantity, Unit, quantities};
use crate::page::Page;
use std::ops::Range;

pub(crate) use words::size_of;
pub use words::{Topic, topic, topics};

/// A clause: a piece of a sentence between stops and commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Index of its line.
    pub line: usize,
    /// Its bytes in the line.
    pub bytes: Range<usize>,
    /// The bytes of the whole sentence.
    pub sentence: Range<usize>,
    /// Its figures.
    pub figures: Vec<Quantity>,
    /// What it is about.
    pub topic: Topic,
    /// How it puts it.
    pub manner: Manner,
}

/// How a clause puts its figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// `reaches 94 %`: so much is left.
    Share,
    /// `loses 18.4 %`, `10 % overhead`: so much is gone.
    Loss,
    /// `20 % faster`: so much more.
    Gain,
    /// `within 2 %`, `+-5 %`: no more apart than that.
    Within,
    /// `limited to 3500 MB/s`, `at most`: no more is possible.
    Limit,
    /// `4 times`.
    Times,
    /// A figure without any of these.
    Plain,
}

impl Clause {
    /// Its text.
    pub fn text<'a>(&self, page: &'a Page) -> &'a str {
        page.line(self.line).get(self.bytes.clone()).unwrap_or("")
    }

    /// The whole sentence.
    pub fn sentence<'a>(&self, page: &'a Page) -> &'a str {
        page.line(self.line).get(self.sentence.clone()).unwrap_or("")
    }

    /// Its percentages.
    pub fn percents(&self) -> impl Iterator<Item = &Quantity> {
        self.figures.iter().filter(|figure| figure.unit == Unit::Percent)
    }
}

/// Every clause of a page that has a figure, outside the lines that are taken.
pub fn clauses(page: &Page, taken: &[Range<usize>]) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut fenced = false;
    let mut next = taken.iter().peekable();
    for index in 0..page.len() {
        while next.peek().is_some_and(|range| range.end <= index) {
            next.next();
        }
        let line = page.line(index);
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let is_taken = next.peek().is_some_and(|range| range.contains(&index));
        if !fenced && !is_taken && is_prose(line) {
            of_line(index, line, &mut clauses);
        }
    }
    clauses
}

/// Longer lines are data.
const LONGEST: usize = 4000;

/// Whether a line is one of sentences: it has words, is no row of a table and no command.
fn is_prose(line: &str) -> bool {
    let text = line.trim();
    if text.is_empty()
        || text.len() > LONGEST
        || text.starts_with(['|', '$', '<', '{', '[', '+'])
        || text.ends_with('|')
    {
        return false;
    }
    let indented = line.starts_with("    ") && text.is_ascii();
    // Settings and commands: `runtime=300`, `fio -direct=1`.
    let settings = text.matches('=').count() >= 2 || text.contains(" --") || text.contains("://");
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    !indented && !settings && letters >= 4
}

fn of_line(index: usize, line: &str, clauses: &mut Vec<Clause>) {
    let figures = quantities(index, line);
    for sentence in pieces(line, 0..line.len(), words::ends_sentence) {
        for bytes in pieces(line, sentence.clone(), words::ends_clause) {
            let text = &line[bytes.clone()];
            let inside = |figure: &&Quantity| {
                bytes.contains(&(figure.figure.spot.start as usize))
                    && bytes.end >= figure.figure.spot.end as usize
            };
            let figures: Vec<Quantity> = figures.iter().filter(inside).copied().collect();
            if figures.is_empty() {
                continue;
            }
            // `slower than the host, by 14 %`: what has no words of its own is put as what stands before it.
            let spoken = if has_words(text) { text } else { &line[sentence.start..bytes.end] };
            let times = figures.iter().any(|figure| words::is_multiple(line, &bytes, figure));
            let manner = manner(spoken, &line[sentence.clone()], &figures, times);
            let topic = topic(text).or(&topic(&line[sentence.clone()]));
            clauses.push(Clause { line: index, bytes, sentence: sentence.clone(), figures, topic, manner });
        }
    }
}

/// Whether a clause says more than a preposition before its figure.
fn has_words(text: &str) -> bool {
    let before = text.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or("");
    let behind = text.trim_end().ends_with(|letter: char| letter == '%' || letter.is_ascii_digit());
    !behind || before.chars().filter(|letter| letter.is_alphabetic()).count() > 3
}

/// The pieces of a range between letters that end them.
fn pieces(line: &str, range: Range<usize>, ends: fn(&str, usize, char) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    for (at, letter) in line[range.clone()].char_indices() {
        let at = range.start + at;
        if ends(line, at, letter) {
            pieces.push(start..at);
            start = at + letter.len_utf8();
        }
    }
    pieces.push(start..range.end);
    pieces.retain(|piece| !line[piece.clone()].trim().is_empty());
    pieces
}

/// How a clause puts its figures; `times` says that one of them is a multiple.
fn manner(text: &str, sentence: &str, figures: &[Quantity], times: bool) -> Manner {
    let percent = figures.iter().any(|figure| figure.unit == Unit::Percent);
    let within = figures.iter().any(|figure| figure.hedge == Hedge::PlusMinus);
    let said = lists(text);
    match percent {
        true if within || (said | lists(sentence)) & WITHIN != 0 => Manner::Within,
        true if said & LOSS != 0 => Manner::Loss,
        true if said & GAIN != 0 => Manner::Gain,
        true => Manner::Share,
        false if times => Manner::Times,
        false if said & LIMIT != 0 => Manner::Limit,
        false => Manner::Plain,
    }
}

#[cfg(test)]
mod tests;
