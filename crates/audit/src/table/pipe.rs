//! Cells between pipes: Markdown with or without outer pipes, `a | b |` without a line of dashes, the boxes that databases and
//! consoles draw.

use super::grid::{Grid, Line, head, repeats};
use super::{Ask, Found, MOST_ROWS, Shape, cell};
use crate::number::{self, Unit};
use crate::page::{Page, Spot};

/// The shape's entry in the family.
pub const SHAPE: Shape = Shape {
    name: "pipes",
    help: "Markdown, `a | b |` without a line of dashes, boxes of `+---+` or lines drawn in Unicode",
    example: "| job | IOPS |\n|-----|------|\n| a | 100 |\n| b | 90 |\n",
    begins,
    find,
};

/// Lines of a head.
const HEADS: usize = 4;

fn begins(line: &str) -> bool {
    memchr::memchr(b'|', line.as_bytes()).is_some() || line.trim_start().starts_with(BOXES)
}

/// What lines of boxes begin with.
const BOXES: &[char] = &['+', '│', '┃', '║', '┌', '├', '└', '┏', '┣', '┗', '╔', '╠', '╚', '╒', '╞', '╘'];

/// What a line of the run is.
enum Kind {
    /// Cells, with whether a pipe stands before the first and behind the last.
    Cells(Vec<Spot>, bool, bool),
    /// `|---|---|`: how many columns it rules; whether it is a box's.
    Rule(usize, bool),
}

struct Run {
    at: usize,
    lines: Vec<Kind>,
}

fn find(ask: &Ask) -> Found {
    let mut run = Run { at: ask.at, lines: Vec::new() };
    // Lines of the Markdown table that is open.
    let mut open = None;
    for line in ask.at..ask.end {
        // Lines that a row was joined from.
        if line < ask.at + run.lines.len() {
            continue;
        }
        let Some(kind) = kind(ask.page, line) else { break };
        let kind = run.joined(ask, line, kind);
        let begins = run.lines.last().is_some_and(|head| begins_table(head, &kind));
        open = if begins { Some(0) } else { open.map(|lines: usize| lines + 1) };
        if open.is_some_and(|lines| lines > MOST_ROWS + HEADS) {
            return log(ask, run, kind);
        }
        run.lines.push(kind);
    }
    let end = ask.at + run.lines.len().max(1);
    Found { grids: run.grids(ask.page), end }
}

/// A run whose last table is longer than any that is read: the rest of that table is counted, up to the head of the next.
fn log(ask: &Ask, run: Run, mut line: Kind) -> Found {
    let (mut at, mut more) = (ask.at + run.lines.len(), 0);
    loop {
        let next = (at + 1 < ask.end).then(|| kind(ask.page, at + 1)).flatten();
        if next.as_ref().is_some_and(|next| begins_table(&line, next)) {
            break;
        }
        more += usize::from(matches!(line, Kind::Cells(..)));
        at += 1;
        match next {
            Some(next) => line = next,
            None => break,
        }
    }
    let mut grids = run.grids(ask.page);
    if let Some(log) = grids.last_mut() {
        (log.more, log.lines.end) = (more, at);
    }
    Found { grids, end: at }
}

/// Whether a line is the rule below a head of as many cells, as in Markdown.
fn begins_table(head: &Kind, rule: &Kind) -> bool {
    matches!((head, rule), (Kind::Cells(cells, ..), Kind::Rule(columns, false)) if cells.len() == *columns)
}

fn kind(page: &Page, line: usize) -> Option<Kind> {
    let text = page.line(line);
    let start = text.len() - text.trim_start_matches([' ', '\t', '>']).len();
    let text = text.trim_end();
    let body = text.get(start..)?;
    if !begins(body) && !body.starts_with("--") {
        return None;
    }
    if let Some(columns) = ruled(body) {
        return Some(Kind::Rule(columns, !body.contains('|') || body.starts_with('+')));
    }
    let pipe = |letter: Option<char>| letter.is_some_and(|letter| PIPES.contains(&letter));
    // ` | host | VM` of a table without outer pipes: its first cell is empty.
    let start = match (start, pipe(body.chars().next_back())) {
        (1, false) if text.starts_with(" |") => 0,
        _ => start,
    };
    let body = &text[start..];
    let cells = split(line, text, start);
    (cells.len() > 1 || pipe(body.chars().next()) && pipe(body.chars().next_back()) && !cells.is_empty())
        .then(|| Kind::Cells(cells, pipe(body.chars().next()), pipe(body.chars().next_back())))
}

const PIPES: &[char] = &['|', '│', '┃', '║'];

/// How many columns a line of dashes rules.
fn ruled(body: &str) -> Option<usize> {
    let mut columns = 0;
    let (mut dashes, mut ruled) = (false, false);
    for letter in body.chars() {
        match letter {
            '-' | '=' | '─' | '━' | '═' | '┄' => dashes = true,
            ':' | ' ' => {}
            '|' | '+' | '│' | '┃' | '║' => {
                columns += usize::from(dashes);
                ruled = true;
                dashes = false;
            }
            '\u{250c}'..='\u{254b}' | '\u{2552}'..='\u{256c}' => {
                columns += usize::from(dashes);
                ruled = true;
                dashes = false;
            }
            _ => return None,
        }
    }
    columns += usize::from(dashes);
    (columns > 0 && ruled).then_some(columns)
}

/// The cells of a line between unescaped pipes, each trimmed; the outer pipes bound none.
fn split(line: usize, text: &str, start: usize) -> Vec<Spot> {
    let mut cells = Vec::new();
    let mut from = start;
    let mut escaped = false;
    let push = |cells: &mut Vec<Spot>, from: usize, to: usize| {
        let part = &text[from..to];
        let left = part.len() - part.trim_start().len();
        cells.push(Spot::new(line, from + left..from + left.max(part.trim_end().len())));
    };
    for (at, letter) in text[start..].char_indices().map(|(at, letter)| (start + at, letter)) {
        if PIPES.contains(&letter) && !escaped {
            if at > start {
                push(&mut cells, from, at);
            }
            from = at + letter.len_utf8();
        }
        escaped = letter == '\\' && !escaped;
    }
    if from < text.len() {
        push(&mut cells, from, text.len());
    }
    cells
}

impl Run {
    /// A row of Markdown that a page broke after its pipes, `| a | 1 |`, `2 |`, `3 |`, with the cells of the lines below; those become
    /// lines of nothing.
    fn joined(&mut self, ask: &Ask, line: usize, kind: Kind) -> Kind {
        let rule = self.lines.windows(2).rev().find(|pair| matches!(pair[1], Kind::Rule(_, false)));
        let wide = rule.filter(|pair| begins_table(&pair[0], &pair[1])).and_then(|pair| match pair[1] {
            Kind::Rule(columns, _) => Some(columns),
            Kind::Cells(..) => None,
        });
        let (Some(wide), Kind::Cells(cells, true, true)) = (wide, &kind) else { return kind };
        let mut all = cells.clone();
        let mut next = line + 1;
        while all.len() < wide && next < ask.end {
            let text = ask.page.line(next).trim_end();
            if !text.ends_with('|') || text.starts_with('|') {
                break;
            }
            all.extend(split(next, text, 0));
            next += 1;
        }
        if all.len() != wide || next == line + 1 {
            return kind;
        }
        let made = Kind::Cells(all, true, true);
        // The row stands on its last line; those before it hold nothing.
        self.lines.extend((line + 1..next).map(|_| Kind::Cells(Vec::new(), true, true)));
        made
    }

    fn cells(&self, at: usize) -> Option<&[Spot]> {
        match self.lines.get(at)? {
            Kind::Cells(cells, ..) => Some(cells),
            Kind::Rule(..) => None,
        }
    }

    fn grids(&self, page: &Page) -> Vec<Grid> {
        let ruled = self.lines.iter().enumerate().any(|(at, line)| {
            matches!(line, Kind::Rule(columns, _) if at > 0 && self.cells(at - 1).is_some_and(|head| head.len() == *columns))
        });
        if ruled { self.ruled(page) } else { self.bare(page) }
    }

    /// Tables whose heads stand above a line of dashes.
    fn ruled(&self, page: &Page) -> Vec<Grid> {
        let mut grids: Vec<Grid> = Vec::new();
        let mut at = 0;
        let mut top = 0;
        while at < self.lines.len() {
            let boxed = matches!(self.lines[at], Kind::Rule(_, true));
            let heads = match self.lines[at] {
                Kind::Rule(columns, boxed) if !(boxed && grids.last().is_some()) => {
                    self.heads(top, at, columns)
                }
                _ => 0..0,
            };
            if !heads.is_empty() {
                // Heads of a second table were rows of the first.
                if let Some(before) = grids.last_mut() {
                    before.rows.retain(|row| row.line < self.at + heads.start);
                    before.lines.end = self.at + heads.start;
                }
                let line = |at: usize| {
                    self.cells(at).unwrap_or(&[]).iter().map(|spot| head(page.quote(*spot))).collect()
                };
                let heads_lines: Vec<Vec<String>> = heads.clone().map(line).collect();
                // A drawing has boxes too.
                let empty = |column: usize| heads_lines.iter().all(|line| line[column].is_empty());
                let figures = heads_lines.iter().flatten().all(|text| cell::is_figure(text));
                if boxed && (figures || (1..heads_lines[0].len()).any(empty)) {
                    at += 1;
                    continue;
                }
                let mut heads_lines = heads_lines;
                if let Some(second) = self.second_heads(page, at + 1, &heads_lines).filter(|_| !boxed) {
                    heads_lines.push(second);
                    at += 1;
                }
                let lines = self.at + heads.start..self.at + at + 1;
                grids.push(Grid { lines, heads: heads_lines, rows: Vec::new(), more: 0 });
                top = at + 1;
            } else if let (Kind::Cells(cells, ..), Some(grid)) = (&self.lines[at], grids.last_mut()) {
                let width = grid.heads[0].len();
                let cells: Vec<Spot> = cells.iter().copied().take(width).collect();
                if !cells.is_empty() {
                    grid.rows.push(Line { line: self.at + at, cells });
                }
                grid.lines.end = self.at + at + 1;
            }
            at += 1;
        }
        grids
    }

    /// A second line of heads, which Markdown only allows behind the rule: no label, words in all other cells, figures below; the
    /// heads above go on over several columns, or it repeats below them.
    fn second_heads(&self, page: &Page, at: usize, heads: &[Vec<String>]) -> Option<Vec<String>> {
        let (cells, [above]) = (self.cells(at)?, heads) else { return None };
        let (label, others) = cells.split_first()?;
        let text = |spot: &Spot| head(page.quote(*spot));
        let unlabelled = text(label).is_empty() || text(label) == above[0];
        let words = others.iter().all(|spot| !text(spot).is_empty() && !cell::is_figure(page.quote(*spot)));
        let goes_on = (2..above.len()).any(|at| above[at].is_empty() || above[at] == above[at - 1])
            || repeats(above, &cells.iter().map(text).collect::<Vec<_>>());
        let below = || Facts::of(page, self.cells(at + 1).unwrap_or(&[])).figures > 0;
        let fits = cells.len() == above.len() && unlabelled && words && goes_on;
        (fits && below()).then(|| cells.iter().map(text).collect())
    }

    /// The lines of cells right above a rule, as wide as it.
    fn heads(&self, top: usize, rule: usize, columns: usize) -> std::ops::Range<usize> {
        let fits = |at: &usize| self.cells(*at).is_some_and(|cells| cells.len() == columns);
        let markdown = top > 0;
        let most = if markdown { 1 } else { HEADS };
        let count = (top..rule).rev().take_while(fits).take(most).count();
        rule - count..rule
    }

    /// Tables without a line of dashes: a line of words, then lines of a label and figures.
    fn bare(&self, page: &Page) -> Vec<Grid> {
        let mut grids = Vec::new();
        let mut at = 0;
        while at < self.lines.len() {
            let (grid, next) = self.bare_at(page, at);
            grids.extend(grid);
            at = next;
        }
        grids
    }

    fn bare_at(&self, page: &Page, at: usize) -> (Option<Grid>, usize) {
        let Some(cells) = self.cells(at) else { return (None, at + 1) };
        let first = Facts::of(page, cells);
        let headed = first.figures == 0;
        let mut heads: Vec<Vec<String>> = Vec::new();
        let mut from = at;
        if headed {
            heads.push(cells.iter().map(|spot| head(page.quote(*spot))).collect());
            from += 1;
            // A second line of heads has no label, or that of the first.
            let goes_on = |second: &&[Spot]| {
                second.len() == cells.len()
                    && Facts::of(page, second).figures == 0
                    && (page.quote(second[0]).is_empty() || page.quote(second[0]) == page.quote(cells[0]))
            };
            if let Some(second) = self.cells(from).filter(goes_on) {
                heads.push(second.iter().map(|spot| head(page.quote(*spot))).collect());
                from += 1;
            }
        }
        let Some(width) = self.cells(from).map(<[Spot]>::len) else { return (None, from.max(at + 1)) };
        let mut rows: Vec<Line> = Vec::new();
        let mut figures = 0;
        let mut to = from;
        while let Some(cells) = self.cells(to).filter(|cells| cells.len() == width) {
            let facts = Facts::of(page, cells);
            let boxed = matches!(self.lines[to], Kind::Cells(_, true, true));
            let again = heads.first().is_some_and(|heads| {
                cells.iter().zip(heads).skip(1).all(|(spot, text)| *text == head(page.quote(*spot)))
            });
            if facts.figures == 0 && (!boxed || again) || !headed && !facts.sound_alone() {
                break;
            }
            figures += usize::from(facts.figures > 0);
            rows.push(Line { line: self.at + to, cells: cells.to_vec() });
            to += 1;
        }
        let boxed = matches!(self.lines[at], Kind::Cells(_, true, true));
        let least = if boxed && headed { 1 } else { 2 };
        if figures < least || width < 2 {
            return (None, to.max(at + 1));
        }
        let Some(heads) = heads.into_iter().map(|line| fit(line, width, boxed)).collect() else {
            return (None, to.max(at + 1));
        };
        let grid = Grid { lines: self.at + at..self.at + to, heads, rows, more: 0 };
        let full = (1..width).any(|column| grid.full(page, column));
        (full.then_some(grid), to)
    }
}

/// Heads as wide as the rows. Where the corner is empty it may be lost, and its pipe with it or left over at the end; `None`
/// where they do not fit.
fn fit(mut line: Vec<String>, width: usize, boxed: bool) -> Option<Vec<String>> {
    let (last, others) = line.split_last()?;
    let whole = others.iter().all(|text| !text.is_empty());
    match width.checked_sub(line.len())? {
        0 if last.is_empty() && whole && !boxed => line.rotate_right(1),
        0 => {}
        1 if whole && !last.is_empty() => line.insert(0, String::new()),
        _ => return None,
    }
    Some(line)
}

/// What cells behind the first are.
struct Facts {
    label: bool,
    figures: usize,
    others: usize,
    /// All figures have units of results.
    rates: bool,
}

impl Facts {
    fn of(page: &Page, cells: &[Spot]) -> Facts {
        let label =
            cells.first().is_some_and(|spot| !cell::is_figure(page.quote(*spot)) && spot.start < spot.end);
        let mut facts = Facts { label, figures: 0, others: 0, rates: true };
        for spot in cells.iter().skip(1) {
            let text = page.quote(*spot);
            if cell::is_figure(text) {
                facts.figures += 1;
                let first = number::quantities(0, text).first().map(|first| first.unit);
                facts.rates &=
                    !matches!(first, None | Some(Unit::Bare | Unit::Bytes | Unit::Hertz | Unit::Things));
            } else if !text.is_empty() {
                facts.others += 1;
            }
        }
        facts
    }

    /// Whether a line without a head says enough: a label and results with their units.
    fn sound_alone(&self) -> bool {
        self.label && self.figures > 0 && self.others == 0 && self.rates
    }
}

impl Grid {
    /// Whether every row has a figure in a column.
    fn full(&self, page: &Page, column: usize) -> bool {
        let figure = |spot: &Spot| {
            let text = page.quote(*spot);
            text.is_empty() || cell::is_figure(text)
        };
        let all = || self.rows.iter().filter_map(|row| row.cells.get(column));
        // Rows of words may stand among rows of figures in a boxed table.
        all().filter(|spot| figure(spot)).count() * 2 >= all().count()
    }
}
