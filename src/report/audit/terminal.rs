//! An audit in the terminal: the verdict, then root causes as a good compiler reports faults, then the coverage. Without `-v` a page
//! takes at most 20 lines, and several pages are a table of those with findings.

use super::super::ink::Ink;
use super::super::table::{LeftOut, Table, wrapped};
use super::super::terminal::NARROWEST;
use super::digest::{Document, Told};
use super::quote::Place;
use super::text::{shown, window};
use super::{Audit, Renderer, Severity, View, words};
use crate::units::counted;
use iotax_audit::verdict::Block;
use std::sync::Arc;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "terminal", endings: &["txt"], render };

/// Lines of a page without `-v`.
const LINES: usize = 20;
/// Operands that are quoted.
const OPERANDS: usize = 5;
/// Findings below a root cause that are listed.
const MEMBERS: usize = 50;
/// Characters of a message; nobody reads more.
const MESSAGE: usize = 1200;

const FRAME: Ink = Ink::BoldBlue;

fn render(audit: &Audit, view: &View) -> String {
    let pen = Pen { width: view.width.max(NARROWEST), colour: view.colour };
    match audit.documents.as_slice() {
        [one] if !view.verbose => brief(one, view, pen),
        [one] => whole(one, view, pen),
        pages if view.verbose => {
            let pages: String = pages.iter().map(|one| whole(one, view, pen) + "\n").collect();
            format!("{}\n{pages}{}", pen.wrapped(&words::verdict(audit), "  "), totals(audit, pen))
        }
        _ => table(audit, view, pen),
    }
}

/// All of a page.
fn whole(document: &Document, view: &View, pen: Pen) -> String {
    let shown_blocks: Vec<&Block> = blocks(document, view.show);
    let mut out = pen.wrapped(&format!("{}: {}", document.name, document.verdict.line), "  ");
    shown_blocks.iter().for_each(|block| out += &format!("\n{}", in_full(document, block, pen)));
    out += &format!("\n{}", pen.wrapped(&document.verdict.coverage, "  "));
    out += &pen.wrapped(&words::read(document), "  ");
    for unread in &document.unread {
        out += &pen.wrapped(&format!("not read: {}: {}", words::lines(unread), unread.why), "  ");
    }
    let hidden = document.verdict.blocks.len() - shown_blocks.len();
    if hidden > 0 {
        out += &format!("{hidden} less severe: --show cosmetic shows all\n");
    }
    out
}

fn blocks(document: &Document, show: Severity) -> Vec<&Block> {
    document.verdict.blocks.iter().filter(|block| block.severity <= show).collect()
}

/// The page in at most [`LINES`].
fn brief(document: &Document, view: &View, pen: Pen) -> String {
    // Remarks matter where nothing is wrong.
    let wrong = blocks(document, Severity::WrongFigure.min(view.show));
    let told = if wrong.is_empty() { blocks(document, view.show) } else { wrong };
    let head = pen.clipped(&document.verdict.line, "  ", 3);
    let page = |(full, count): (usize, usize)| {
        let text = |(at, block): (usize, &&Block)| match at < full {
            true => in_full(document, block, pen) + "\n",
            false => in_short(document, block, pen),
        };
        let texts: String = told[..count].iter().enumerate().map(text).collect();
        let end = if full < count { "\n" } else { "" };
        let start = if count > 0 { "\n" } else { "" };
        format!("{head}{start}{texts}{end}{}", tail(document, &told[..count], full == count, pen))
    };
    // As many as there is room for, the weightiest with their lines and arithmetic.
    let counts = (0..=told.len().min(LINES / 2)).rev();
    let pages = counts.flat_map(|count| [count, 1.min(count), 0].map(|full| (full, count))).map(page);
    pages.into_iter().find(|text| text.lines().count() <= LINES).unwrap_or(head.clone())
}

/// The coverage, and what `-v` shows beside the blocks that were shown.
fn tail(document: &Document, told: &[&Block], full: bool, pen: Pen) -> String {
    let rest = |bad: &dyn Fn(Severity) -> bool| {
        let others = document.verdict.blocks.iter().filter(|block| !told.contains(block));
        others.filter(|block| bad(block.severity)).count()
    };
    let more = [
        (
            rest(&|severity| severity <= Severity::WrongFigure),
            "more that does not hold",
            "more that do not hold",
        ),
        (rest(&|severity| severity == Severity::Ambiguous), "remark", "remarks"),
        (rest(&|severity| severity == Severity::Cosmetic), "cosmetic", "cosmetic"),
        (document.unread.len(), "part not read", "parts not read"),
    ];
    let more = more.into_iter().filter(|(count, ..)| *count > 0);
    let more: Vec<String> = more.map(|(count, one, many)| counted(count as u64, one, many)).collect();
    let mut out = pen.wrapped(&document.verdict.coverage, "  ");
    if !more.is_empty() || !full && !told.is_empty() {
        let more = if more.is_empty() { "the lines and the arithmetic".to_owned() } else { more.join(", ") };
        out += &pen.wrapped(&format!("{more}: -v shows all"), "  ");
    }
    out
}

/// Pages with findings as a table, and the totals.
fn table(audit: &Audit, view: &View, pen: Pen) -> String {
    let pages = words::by_weight(audit, view.show);
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    let folder = common_folder(&names);
    let mut out = pen.wrapped(&words::verdict(audit), "  ");
    if !pages.is_empty() {
        let place = if folder.is_empty() { String::new() } else { format!(" in {folder}") };
        out += &format!("\n{}", pen.wrapped(&format!("wrong conclusions and figures{place}:"), "  "));
        let mut table = Table::default();
        table.push("page", 0, names.iter().map(|name| name[folder.len()..].to_owned()).collect());
        for (severity, head) in Severity::ALL.into_iter().zip(words::COLUMNS) {
            let counts = pages.iter().map(|page| page.verdict.counts.of(severity));
            if severity <= view.show && counts.clone().any(|count| count > 0) {
                let head = head.trim_start_matches("wrong ");
                table.push(head, severity as u8 / 2, counts.map(|count| count.to_string()).collect());
            }
        }
        table.push("checked", 1, pages.iter().map(|page| words::checked(page)).collect());
        out += &format!("{}\n", table.text(pen.width, &mut LeftOut::default()));
    }
    out += &totals(audit, pen);
    out + if pages.is_empty() {
        ""
    } else {
        "-v shows every finding; iotax audit PAGE shows those of a page\n"
    }
}

/// The folder that all are in, with the slash after it.
fn common_folder<'a>(names: &[&'a str]) -> &'a str {
    let Some((first, others)) = names.split_first() else { return "" };
    let mut folder = first.rfind('/').map_or("", |end| &first[..=end]);
    while !others.iter().all(|name| name.starts_with(folder)) {
        let above = folder.trim_end_matches('/');
        folder = above.rfind('/').map_or("", |end| &above[..=end]);
    }
    folder
}

/// What is not in the table, and the coverage of all pages.
fn totals(audit: &Audit, pen: Pen) -> String {
    let without: Vec<_> = audit.documents.iter().filter(|page| page.findings.is_empty()).collect();
    let unchecked = without.iter().filter(|page| page.verdict.counts.checked == 0).count();
    let pages = match (counted(without.len() as u64, "page has", "pages have"), unchecked) {
        (pages, 0) => format!("{pages} no finding"),
        (pages, unchecked) => format!("{pages} no finding; nothing could be checked on {unchecked} of them"),
    };
    let skipped = counted(audit.skipped.len() as u64, "file skipped", "files skipped");
    let said = [
        (without.len(), pages),
        (audit.skipped.len(), skipped),
        (audit.refused.len(), format!("{} not opened", audit.refused.len())),
        (audit.documents.len(), words::counts(audit).coverage()),
    ];
    said.iter().filter(|(count, _)| *count > 0).map(|(_, said)| pen.wrapped(said, "  ")).collect()
}

/// How wide, and whether in colours.
#[derive(Clone, Copy)]
struct Pen {
    width: usize,
    colour: bool,
}

impl Pen {
    fn painted(self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() { ink.on(text) } else { text.to_owned() }
    }

    /// Blanks that it begins with are kept.
    fn wrapped(self, text: &str, indent: &str) -> String {
        let rest = text.trim_start_matches(' ');
        let text = format!("{}{}", "\u{a0}".repeat(text.len() - rest.len()), shown(rest));
        wrapped(&text, self.width, indent).lines().map(|line| self.broken(line, indent)).collect()
    }

    /// A word that is longer than a line takes several.
    fn broken(self, line: &str, indent: &str) -> String {
        let mut out = String::new();
        let mut column = 0;
        for c in line.chars() {
            let width = c.width().unwrap_or(0);
            if column + width > self.width {
                out += &format!("\n{indent}");
                column = indent.len();
            }
            out.push(c);
            column += width;
        }
        out + "\n"
    }

    /// At most so many lines; what was cut off is marked.
    fn clipped(self, text: &str, indent: &str, most: usize) -> String {
        let all = self.wrapped(text, indent);
        let lines: Vec<&str> = all.lines().collect();
        if lines.len() <= most {
            return all;
        }
        let (whole, rest) = lines.split_at(most - 1);
        let first = rest.first().copied().unwrap_or_default();
        let rest: String = rest[1..].iter().flat_map(|line| [" ", line.trim_start()]).collect();
        let mut last = String::new();
        for c in first.chars().chain(rest.chars()) {
            if last.width() + c.width().unwrap_or(0) + 1 > self.width {
                break;
            }
            last.push(c);
        }
        whole.iter().map(|line| format!("{line}\n")).collect::<String>() + &format!("{last}\u{2026}\n")
    }

    /// `wrong-figure[F4]: ...`, in at most so many lines.
    fn headed(self, block: &Block, root: &Told, most: usize) -> String {
        let message = cut(&root.finding.message, MESSAGE);
        let head = format!("{}[{}]", block.severity.word(), root.finding.rule);
        let text = self.clipped(&format!("{head}: {message}"), "  ", most);
        match text.strip_prefix(&head) {
            Some(rest) => format!("{}{rest}", self.painted(colour(block.severity), &head)),
            None => text,
        }
    }
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    let kept: String = text.chars().take(most).collect();
    if kept.len() < text.len() { kept + "\u{2026}" } else { kept }
}

fn colour(severity: Severity) -> Ink {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => Ink::BoldRed,
        Severity::Ambiguous => Ink::BoldYellow,
        Severity::Cosmetic => Ink::BoldCyan,
    }
}

/// A block in two to four lines.
fn in_short(document: &Document, block: &Block, pen: Pen) -> String {
    let root = &document.findings[block.root];
    let printed = cut(&root.finding.printed, 30);
    let place = format!("  line {}: {printed}; {}", root.place.line, root.finding.advice());
    let mut out = pen.headed(block, root, 2) + &pen.clipped(&place, "  ", 1);
    let members = words::members(document, block).map(|(word, members)| {
        let said: Vec<String> = members.iter().map(|(_, told)| words::member(told, root)).collect();
        format!("{word} ({}): {}", said.len(), said.join("; "))
    });
    let members: Vec<String> = members.collect();
    if !members.is_empty() {
        out += &pen.clipped(&format!("  {}", members.join("; ")), "  ", 1);
    }
    out
}

fn in_full(document: &Document, block: &Block, pen: Pen) -> String {
    let root = &document.findings[block.root];
    let mut out = pen.headed(block, root, usize::MAX);
    let quoted = quoted(root);
    let last = quoted.last().map_or(0, |(place, _)| place.line);
    let gutter = last.to_string().len().max(2);
    let column = root.place.columns.map(|columns| format!(":{}", columns.chars.0)).unwrap_or_default();
    // In one line, however long: it may have to be copied.
    let arrow = pen.painted(FRAME, "-->");
    out += &format!("{:gutter$}{arrow} {}:{}{column}\n", "", shown(&document.name), root.place.line);
    let bar = pen.painted(FRAME, "|");
    out += &format!("{:gutter$} {bar}\n", "");
    let mut before: Option<u32> = None;
    for places in quoted.chunk_by(|one, next| Arc::ptr_eq(&one.0.excerpt, &next.0.excerpt)) {
        let line = places[0].0.line;
        if before.is_some_and(|before| line > before + 1) {
            out += &format!("{}\n", pen.painted(FRAME, "..."));
        }
        out += &line_of(places, gutter, colour(block.severity), pen);
        before = Some(line);
    }
    out += &format!("{:gutter$} {bar}\n", "");
    for note in notes(document, block) {
        let text = pen.wrapped(&format!("{:gutter$} = {note}", ""), &" ".repeat(gutter + 5));
        out += &text.replacen('=', &pen.painted(FRAME, "="), 1);
    }
    for (word, members) in words::members(document, block) {
        out += &format!("{:gutter$} {} {word}:\n", "", pen.painted(FRAME, "="));
        let indent = " ".repeat(gutter + 5);
        for (_, told) in members.iter().take(MEMBERS) {
            out += &pen.wrapped(&format!("{indent}{}", words::member(told, root)), &format!("{indent}  "));
        }
        if let Some(more @ 1..) = members.len().checked_sub(MEMBERS) {
            out += &format!("{indent}and {more} more; --format json has all\n");
        }
    }
    out
}

fn notes(document: &Document, block: &Block) -> impl Iterator<Item = String> {
    let root = &document.findings[block.root];
    let finding = &root.finding;
    let not_quoted = root.more_operands + root.operands.len().saturating_sub(OPERANDS);
    let notes = [
        ("recomputed", Some(finding.recomputed.clone()).filter(|text| !text.is_empty())),
        ("by", finding.arithmetic.clone()),
        ("and", (not_quoted > 0).then(|| counted(not_quoted as u64, "more operand", "more operands"))),
        ("likely", finding.slip.map(|slip| slip.words().to_owned())),
        ("help", Some(finding.advice())),
    ];
    notes.into_iter().filter_map(|(word, text)| Some(format!("{word}: {}", text?)))
}

/// The figure and what it was held against, in the order of the page; in one line the figure first.
fn quoted(told: &Told) -> Vec<(&Place, bool)> {
    let operands = told.operands.iter().take(OPERANDS).map(|place| (place, false));
    let mut places: Vec<(&Place, bool)> = operands.chain([(&told.place, true)]).collect();
    places.sort_by_key(|(place, own)| (place.line, !own));
    places
}

/// A line with marks below its figures: `^` the one that is wrong, `-` what it was held against.
fn line_of(places: &[(&Place, bool)], gutter: usize, colour: Ink, pen: Pen) -> String {
    let Some((first, _)) = places.first() else { return String::new() };
    let spans: Vec<_> = places.iter().map(|(place, _)| place.span.clone()).collect();
    let room = pen.width.saturating_sub(gutter + 3);
    let window = window(&first.excerpt.text, &spans, first.excerpt.cut, room);
    let mut marks = vec![' '; window.marks.iter().map(|columns| columns.end).max().unwrap_or(0)];
    // The figure itself is drawn over what it was held against.
    for (columns, (_, own)) in window.marks.iter().zip(places).rev() {
        marks[columns.clone()].fill(if *own { '^' } else { '-' });
    }
    let painted = |run: &[char]| {
        let text: String = run.iter().collect();
        match run[0] {
            '^' => pen.painted(colour, &text),
            '-' => pen.painted(FRAME, &text),
            _ => text,
        }
    };
    let marks: String = marks.chunk_by(|one, next| one == next).map(painted).collect();
    let (bar, number) = (pen.painted(FRAME, "|"), pen.painted(FRAME, &format!("{:gutter$}", first.line)));
    format!("{number} {bar} {}\n{:gutter$} {bar} {marks}\n", window.text.trim_end(), "")
}
