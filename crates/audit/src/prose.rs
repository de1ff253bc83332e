//! Text outside outputs and tables: sentences with their figures. `link::change` checks the changes
//! that sentences state.

use crate::number::{Quantity, quantities};
use crate::page::AuditedPage;
use std::ops::Range;

/// A sentence with at least one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    pub line: usize,
    pub bytes: Range<usize>,
    pub figures: Vec<Quantity>,
}

/// Returns the sentences of a page with a figure. Leaves out the lines in `taken`, fenced listings,
/// and lines that are not prose.
pub fn sentences(page: &AuditedPage, taken: &[Range<usize>]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut fenced = false;
    let mut next = taken.iter().peekable();
    for index in 0..page.len() {
        while next.peek().is_some_and(|range| range.end <= index) {
            next.next();
        }
        let line = page.line_text(index);
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced
            && !next.peek().is_some_and(|range| range.contains(&index))
            && is_prose(line)
        {
            split_sentences(index, line, &mut sentences);
        }
    }
    sentences
}

/// Returns true if a line is prose: it has words, and is neither a table row nor a command.
fn is_prose(line: &str) -> bool {
    let text = line.trim();
    if text.starts_with(['|', '$', '<', '{', '[', '+']) || text.ends_with('|') {
        return false;
    }
    let indented = line.starts_with("    ") && text.is_ascii();
    // Settings and commands: `runtime=300`, `fio -direct=1`.
    let settings =
        text.matches('=').take(2).count() == 2 || text.contains(" --") || text.contains("://");
    !indented
        && !settings
        && text.chars().filter(|letter| letter.is_alphabetic()).take(4).count() == 4
}

fn split_sentences(index: usize, line: &str, sentences: &mut Vec<Sentence>) {
    let mut figures = quantities(index, line).into_iter().peekable();
    let mut start = 0;
    let ends = line.char_indices().filter(|(at, letter)| ends_sentence(line, *at, *letter));
    for end in ends.map(|(at, _)| at).chain([line.len()]) {
        let inside = |figure: &Quantity| (figure.figure.spot.start as usize) < end;
        let own: Vec<Quantity> = std::iter::from_fn(|| figures.next_if(inside)).collect();
        if !own.is_empty() {
            sentences.push(Sentence { line: index, bytes: start..end, figures: own });
        }
        start = end;
    }
}

/// Returns true if a letter ends a sentence. A full stop between digits is a decimal point, after a
/// short word it marks an abbreviation.
fn ends_sentence(line: &str, at: usize, letter: char) -> bool {
    match letter {
        '。' | '!' | '?' | '！' | '？' | ';' | '；' => true,
        '.' => {
            let after = &line[at + 1..];
            let word =
                line[..at].rsplit(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
            let short = ["vs", "approx", "ca", "resp", "bzw", "incl"]
                .contains(&word.to_lowercase().as_str());
            !short && (after.is_empty() || after.starts_with([' ', '\u{a0}']))
        }
        _ => false,
    }
}

/// A block size with its unit as written: `k`, `KB`, `MiB`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BlockSize<'t> {
    /// Size in bytes; all prefixes are taken as 1024-based, as tools print them.
    pub bytes: f64,
    pub unit: &'t str,
}

impl BlockSize<'_> {
    /// Returns the size in bytes with `KB` or `MB` as 1000-based: `4 MB` times 10 per second is 40
    /// MB/s. `None` for other units.
    pub fn literal(self) -> Option<f64> {
        match self.unit.to_ascii_lowercase().as_str() {
            "kb" => Some(self.bytes / 1.024),
            "mb" => Some(self.bytes / 1.048_576),
            _ => None,
        }
    }
}

/// Returns the block size that a text names, in bytes; `None` in the cases of [`block_size`].
pub(crate) fn size_of(text: &str) -> Option<f64> {
    block_size(text).map(|size| size.bytes)
}

/// Returns the block size that a text names: `4KB random`, `4k-50rdpct`, `1MB`. `None` unless it
/// names exactly one, from 512 bytes to 64 MiB.
pub(crate) fn block_size(text: &str) -> Option<BlockSize<'_>> {
    let mut sizes: Vec<BlockSize> = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(|letter: char| letter.is_ascii_digit()) {
        let start = from + found;
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        from = start + digits;
        let free = text[..start].chars().next_back().is_none_or(|before| {
            !before.is_ascii_alphanumeric()
                && before != '.'
                && (before != '=' || text[..start].to_lowercase().ends_with("bs="))
        });
        let after = text[from..].trim_start_matches([' ', '-']);
        let factor = match after.as_bytes().first() {
            Some(b'k' | b'K') => 1024.0,
            Some(b'M' | b'm') => 1_048_576.0,
            _ => continue,
        };
        let rest = after[1..].strip_prefix("iB").or(after[1..].strip_prefix(['B', 'b']));
        let rest = rest.unwrap_or(&after[1..]);
        // `4kqd1`, `4KQ32T1`: the depth follows.
        let depth = rest.trim_start_matches(['q', 'Q', 'd', 'D']);
        let depth =
            depth.len() < rest.len() && depth.starts_with(|letter: char| letter.is_ascii_digit());
        let ends = depth
            || !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '/');
        let number: Option<f64> = text[start..start + digits].parse().ok();
        if let (true, true, Some(number)) = (free, ends, number) {
            let unit = after.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or("");
            sizes.push(BlockSize { bytes: number * factor, unit });
        }
    }
    sizes.dedup_by_key(|size| size.bytes);
    match sizes.as_slice() {
        [only] if (512.0..=67_108_864.0).contains(&only.bytes) => Some(*only),
        _ => None,
    }
}
