//! Cells between spaces: console tables whose columns are two spaces or a tab apart, and lines that
//! lost their alignment, whose figures are counted from the right.

use super::grid::{Grid, RuledLine, strip_markup};
use super::title::{self, width};
use super::{FoundTables, TableQuery, cell};
use crate::number;
use crate::page::{AuditedPage, TextSpan};
use std::ops::Range;

const LONGEST: usize = 400;

/// Returns true if the line may be a row: at least two words begin with a digit, `~` or `(`.
pub(super) fn begins(line: &str) -> bool {
    let figure = |pair: &&[u8]| {
        b" \t".contains(&pair[0]) && (pair[1].is_ascii_digit() || b"~(".contains(&pair[1]))
    };
    let first = line.starts_with(|first: char| first.is_ascii_digit() || "~(".contains(first));
    line.len() <= LONGEST
        && usize::from(first) + line.as_bytes().windows(2).filter(figure).count() > 1
}

pub(super) fn find(ask: &TableQuery) -> FoundTables {
    let page = ask.page;
    // Heads are right above, with at most a rule between.
    let rule = |line: usize| {
        let text = page.line_text(line).trim();
        text.len() > 3 && text.contains(['-', '=', '─']) && title::is_rule(text)
    };
    let ruled = ask.at > ask.floor && rule(ask.at - 1);
    let top = ask.at - usize::from(ruled);
    // Most lines with figures follow others of their kind.
    let worded = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or("");
        first.contains(char::is_alphabetic) || matches!(first, "#" | "%")
    };
    let above = page.line_text(top.saturating_sub(1));
    let head = top > ask.floor
        && above.len() <= LONGEST
        && worded(above)
        && !sentence(above)
        && !has_dashes(above);
    if !head {
        return FoundTables::none(ask.at + 1);
    }
    let (heads, lines) = (top - 1, ask.at..ask.end);
    let grid = aligned(page, heads, lines.clone(), ruled)
        .or_else(|looked| loose(page, heads, lines).map_err(|also| looked.max(also)));
    match grid {
        Ok(grid) => FoundTables { end: grid.lines.end, grids: vec![grid] },
        // Rows that do not fit these heads do not fit one of themselves as a head either.
        Err(looked) => FoundTables::none(ask.at + looked.max(1)),
    }
}

/// Returns true if a text may be a head: it has words, but no figure and no code.
fn may_be_head(text: &str) -> bool {
    let words = text.contains(char::is_alphabetic) || text == "#" || text == "%";
    words && !cell::is_figure(text) && !text.contains(['"', '\'', '=', ';', '{', '}', '`'])
}

/// Returns true if a line has dashes instead of heads.
fn has_dashes(line: &str) -> bool {
    let dashes = |word: &&str| word.len() > 1 && word.bytes().all(|byte| b"-=:+|".contains(&byte));
    line.split_whitespace().filter(dashes).count() > 1
}

/// One or several words of a line: their bytes, and their columns on the screen.
#[derive(Clone, Default)]
struct SpacedWord {
    bytes: Range<usize>,
    screen: Range<usize>,
}

/// Returns the parts of a line, separated by at least two spaces or a tab.
fn far_apart(line: &str) -> Vec<SpacedWord> {
    let mut parts: Vec<SpacedWord> = Vec::new();
    let (mut spaces, mut column) = (2, 0);
    for (at, letter) in line.char_indices() {
        let (right, end) = (column + width(letter), at + letter.len_utf8());
        match letter {
            ' ' => spaces += 1,
            '\t' | '\u{3000}' => spaces += 2,
            _ => {
                match parts.last_mut().filter(|_| spaces < 2) {
                    Some(part) => (part.bytes.end, part.screen.end) = (end, right),
                    None => parts.push(SpacedWord { bytes: at..end, screen: column..right }),
                }
                spaces = 0;
            }
        }
        column = if letter == '\t' { right + 7 - column % 8 } else { right };
    }
    parts
}

/// Reads aligned columns: every line has as many parts as the heads, or one more if the corner is
/// empty. Otherwise returns the number of lines examined.
fn aligned(
    page: &AuditedPage,
    heads: usize,
    lines: Range<usize>,
    ruled: bool,
) -> Result<Grid, usize> {
    let above = page.line_text(heads);
    let parts = far_apart(above);
    let first = far_apart(page.line_text(lines.start)).len();
    // A label with one value is a list of settings, unless a rule makes it a table or the values
    // are results.
    let rates = first == 2 && !ruled;
    let lost = first
        .checked_sub(parts.len())
        .filter(|lost| *lost == 0 || *lost == 1 && !rates)
        .ok_or(0usize)?;
    if first < 2
        || parts.len() < 2 && !ruled
        || !parts.iter().all(|part| may_be_head(&above[part.bytes.clone()]))
    {
        return Err(0);
    }
    let mut rows: Vec<RuledLine> = Vec::new();
    let mut full = vec![true; first];
    for line in lines {
        let text = page.line_text(line);
        let cells = if text.len() > LONGEST { Vec::new() } else { far_apart(text) };
        // A cell is below its head if they share a column, or if their ends are aligned.
        let below = |(head, cell): (&SpacedWord, &SpacedWord)| {
            cell.screen.start < head.screen.end + 2 && head.screen.start < cell.screen.end + 2
        };
        let fits = cells.len() == first
            && !has_dashes(text)
            && parts.iter().zip(&cells[lost..]).all(below);
        if !fits || rates && !result(&text[cells[1].bytes.clone()]) {
            break;
        }
        for (full, cell) in full.iter_mut().zip(&cells) {
            let text = &text[cell.bytes.clone()];
            *full &= cell::is_figure(text) || matches!(text, "-" | "n/a" | "N/A");
        }
        rows.push(RuledLine {
            line,
            cells: cells.into_iter().map(|cell| TextSpan::new(line, cell.bytes)).collect(),
        });
    }
    let figures = full.iter().skip(1).any(|full| *full);
    if rows.len() < 2 || !figures || rows.iter().any(|row| setting(page.quote(row.cells[0]))) {
        return Err(rows.len());
    }
    Ok(grid(above, heads, &parts, lost, rows))
}

fn grid(
    above: &str,
    heads: usize,
    parts: &[SpacedWord],
    lost: usize,
    rows: Vec<RuledLine>,
) -> Grid {
    let mut line = vec![String::new(); lost];
    line.extend(parts.iter().map(|part| strip_markup(&above[part.bytes.clone()])));
    let end = rows.last().map_or(heads, |row| row.line) + 1;
    Grid { lines: heads..end, heads: vec![line], rows }
}

fn result(text: &str) -> bool {
    cell::is_figure(text) && number::quantity(0, text).is_some_and(|one| one.unit.is_rate())
}

/// Returns true for `CPU:` in a list of settings.
fn setting(label: &str) -> bool {
    label.ends_with([':', '：', '='])
}

fn sentence(line: &str) -> bool {
    line.trim_end().ends_with(['.', '。', ':', '：', ';', '；', ',', '，', '!', '?'])
}

/// Reads lines with a label and figures below as many heads of one word each: `读取 (Read) 写入
/// (Write)`. Otherwise returns the number of lines examined.
fn loose(page: &AuditedPage, heads: usize, lines: Range<usize>) -> Result<Grid, usize> {
    let above = page.line_text(heads);
    let parts = split_words(above);
    if parts.len() < 2 || !parts.iter().all(|part| may_be_head(&above[part.bytes.clone()])) {
        return Err(0);
    }
    let mut rows: Vec<RuledLine> = Vec::new();
    let mut count = 0;
    for line in lines.take_while(|line| begins(page.line_text(*line))) {
        let text = page.line_text(line);
        let cells = split_row(text);
        let trailing = cells
            .iter()
            .rev()
            .take_while(|part| cell::is_figure(&text[part.bytes.clone()]))
            .count();
        let Some(last) = (cells.len() - trailing).checked_sub(1) else { break };
        let label = cells[0].bytes.start..cells[last].bytes.end;
        let named = &text[label.clone()];
        let is_named = named.contains(char::is_alphabetic) && !setting(named) && !sentence(named);
        if trailing < 2 || !rows.is_empty() && trailing != count || !is_named {
            break;
        }
        count = trailing;
        let figures = cells.into_iter().skip(last + 1).map(|part| part.bytes);
        rows.push(RuledLine {
            line,
            cells: std::iter::once(label)
                .chain(figures)
                .map(|bytes| TextSpan::new(line, bytes))
                .collect(),
        });
    }
    match (count + 1).checked_sub(parts.len()) {
        Some(lost @ (0 | 1)) if rows.len() > 1 => Ok(grid(above, heads, &parts, lost, rows)),
        _ => Err(rows.len()),
    }
}

/// Returns the words of a line; text in brackets belongs to the word before it.
fn split_words(line: &str) -> Vec<SpacedWord> {
    let mut parts: Vec<SpacedWord> = Vec::new();
    let (mut space, mut depth) = (true, 0usize);
    for (at, letter) in line.char_indices() {
        if letter.is_whitespace() && depth == 0 {
            space = true;
            continue;
        }
        let (open, end) = (matches!(letter, '(' | '（' | '['), at + letter.len_utf8());
        match parts.last_mut().filter(|_| !space || open) {
            Some(part) => part.bytes.end = end,
            None => parts.push(SpacedWord { bytes: at..end, ..SpacedWord::default() }),
        }
        space = false;
        depth = match letter {
            ')' | '）' | ']' => depth.saturating_sub(1),
            _ => depth + usize::from(open),
        };
    }
    parts
}

/// Splits a row into its parts; a unit belongs to the number before it.
fn split_row(line: &str) -> Vec<SpacedWord> {
    let mut parts: Vec<SpacedWord> = Vec::new();
    let number = |part: &&mut SpacedWord| {
        line[part.bytes.clone()]
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
    };
    for part in split_words(line) {
        let word = line[part.bytes.clone()].split(['(', '（']).next().unwrap_or("").trim();
        let unit = number::measure(word).is_some();
        match parts.last_mut().filter(number).filter(|_| unit) {
            Some(before) => before.bytes.end = part.bytes.end,
            None => parts.push(part),
        }
    }
    parts
}
