//! An audit in the terminal: the verdict, then root causes as a good compiler reports errors, then
//! the coverage. Without `-v` a page takes at most 20 lines, and of several pages each one with
//! findings takes a line.

use super::digest::{DigestDocument, DigestEntry};
use super::quote::ReleasedSpan;
use super::{Audit, AuditRenderer, Severity, View, escape_line, words};
use iotax_audit::verdict::{self, FindingBlock, count_with_noun, grouped};
use iotax_report::ink::Ink;
use iotax_report::table::wrap_words;
use iotax_report::terminal::NARROWEST;
use std::collections::HashSet;
use unicode_width::UnicodeWidthChar;

pub const RENDERER: AuditRenderer = AuditRenderer { name: "terminal", endings: &["txt"], render };

/// Largest number of lines per page without `-v`.
const LINES: usize = 20;
const OPERANDS: usize = 5;
/// Number of findings listed per root cause.
const MEMBERS: usize = 50;
/// Limit of a message in columns.
const MESSAGE: usize = 1200;

const FRAME: Ink = Ink::BoldBlue;

fn render(audit: &Audit, view: &View) -> String {
    let pen = Pen { width: view.width.max(NARROWEST), colour: view.colour };
    match audit.documents.as_slice() {
        [one] if !view.verbose => brief_page(one, view, pen),
        [one] => full_page(one, view, pen),
        pages if view.verbose => {
            let pages: String = pages.iter().map(|one| full_page(one, view, pen) + "\n").collect();
            format!("{}\n{pages}{}", pen.wrapped(&words::verdict(audit), "  "), totals(audit, pen))
        }
        _ => summary_table(audit, view, pen),
    }
}

fn full_page(document: &DigestDocument, view: &View, pen: Pen) -> String {
    let shown = document.visible_blocks(view.show);
    let mut out = pen.wrapped(&format!("{}: {}", document.name, document.verdict.line), "  ");
    shown.iter().for_each(|block| out += &format!("\n{}", in_full(document, block, pen)));
    out += "\n";
    out += &pen.wrapped(&document.verdict.coverage, "  ");
    out += &pen.wrapped(&words::sources_read(document), "  ");
    let unread = document.unread.iter().map(|one| format!("not read: {}", words::unread_note(one)));
    unread.for_each(|one| out += &pen.wrapped(&one, "  "));
    match document.verdict.blocks.len() - shown.len() {
        0 => out,
        hidden => out + &format!("{} less severe: --show cosmetic shows all\n", grouped(hidden)),
    }
}

/// Returns the page in at most [`LINES`] lines.
fn brief_page(document: &DigestDocument, view: &View, pen: Pen) -> String {
    // Remarks matter if nothing is wrong.
    let wrong = document.visible_blocks(Severity::WrongFigure.min(view.show));
    let shown = if wrong.is_empty() { document.visible_blocks(view.show) } else { wrong };
    let head = pen.clipped(&document.verdict.line, "  ", 3);
    let page = |(full, count): (usize, usize)| {
        let shown = &shown[..count];
        let rest: Vec<&FindingBlock> =
            document.verdict.blocks.iter().filter(|block| !shown.contains(block)).collect();
        let text = |(at, block): (usize, &&FindingBlock)| match at < full {
            true => in_full(document, block, pen) + "\n",
            false => in_short(document, block, pen),
        };
        let texts: String = shown.iter().enumerate().map(text).collect();
        let out = format!("{head}{}{texts}", if count > 0 { "\n" } else { "" });
        let end = if full < count { "\n" } else { "" };
        let coverage = pen.wrapped(&document.verdict.coverage, "  ");
        let more = pen.wrapped(&more(document, &rest, full < count), "  ");
        // Names of remarks are shown if there is room.
        let used =
            [&out, end, &coverage, &more].iter().map(|part| part.lines().count()).sum::<usize>();
        let remarks = remarks(document, &rest, pen);
        let remarks = if used + remarks.lines().count() <= LINES { remarks } else { String::new() };
        out + end + &coverage + &remarks + &more
    };
    // Shows as many as have room, the weightiest with their lines and arithmetic.
    let counts = (0..=shown.len().min(LINES / 2)).rev();
    let mut pages =
        counts.flat_map(|count| [count, 1.min(count), 0].map(|full| (full, count))).map(page);
    pages.find(|text| text.lines().count() <= LINES).unwrap_or(head.clone())
}

/// Returns `remarks: rate drifts (F28), ended with an error (F25)`, as far as it fits in two lines.
fn remarks(document: &DigestDocument, rest: &[&FindingBlock], pen: Pen) -> String {
    let remarks = rest.iter().filter(|block| block.severity == Severity::Ambiguous);
    let findings = remarks.map(|block| &document.findings[block.root].finding);
    let mut names: Vec<String> =
        findings.map(|one| format!("{} ({})", one.topic(), one.rule)).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let lists = (1..=names.len()).rev().map(|count| {
        let more = if count < names.len() { ", \u{2026}" } else { "" };
        pen.wrapped(&format!("remarks: {}{more}", names[..count].join(", ")), "  ")
    });
    lists.into_iter().find(|list| list.lines().count() <= 2).unwrap_or_default()
}

/// Returns what `-v` would add to the blocks shown, some of them in short form.
fn more(document: &DigestDocument, rest: &[&FindingBlock], in_short: bool) -> String {
    let count = |severity: Severity| rest.iter().filter(|block| block.severity == severity).count();
    let wrong = count(Severity::WrongConclusion) + count(Severity::WrongFigure);
    let more = [
        (wrong, "more that does not hold", "more that do not hold"),
        (count(Severity::Ambiguous), "remark", "remarks"),
        (count(Severity::Cosmetic), "cosmetic", "cosmetic"),
        (document.unread.len(), "part not read", "parts not read"),
    ];
    let more = more.into_iter().filter(|(count, ..)| *count > 0);
    let more: Vec<String> =
        more.map(|(count, one, many)| count_with_noun(count, one, many)).collect();
    match (more.as_slice(), in_short) {
        ([], false) => String::new(),
        ([], true) => "-v shows the lines and the arithmetic".to_owned(),
        _ => format!("{}: -v shows all", more.join(", ")),
    }
}

/// Returns the verdict on all pages, a line for each page with findings to show, and the totals.
fn summary_table(audit: &Audit, view: &View, pen: Pen) -> String {
    let pages = words::by_weight(audit, view.show);
    let mut out = pen.wrapped(&words::verdict(audit), "  ");
    let line = |page: &&DigestDocument| {
        pen.clipped(&format!("{}: {}", page.name, page.verdict.line), "  ", 3)
    };
    if !pages.is_empty() {
        out += &format!("\n{}\n", pages.iter().map(line).collect::<String>());
    }
    let end = "-v shows every finding; iotax audit PAGE shows those of a page\n";
    out + &totals(audit, pen) + if pages.is_empty() { "" } else { end }
}

/// Returns the numbers of pages without findings, pages without figures (with their names), and
/// files that were skipped or not opened, then what was not checked on any page.
fn totals(audit: &Audit, pen: Pen) -> String {
    let has_figures = |page: &&&DigestDocument| page.verdict.counts.figures > 0;
    let without = audit.documents.iter().filter(|page| page.findings.is_empty());
    let (without, empty): (Vec<_>, Vec<_>) = without.partition(|page| has_figures(&page));
    let pages = count_with_noun(without.len(), "page has no finding", "pages have no finding");
    let pages = match without.iter().filter(|page| page.verdict.counts.checked == 0).count() {
        0 => pages,
        unchecked => format!("{pages}; nothing could be checked on {} of them", grouped(unchecked)),
    };
    let names: Vec<&str> = empty.iter().map(|page| page.name.as_str()).collect();
    let no_figures = count_with_noun(empty.len(), "page has no figures", "pages have no figures");
    let coverage = words::coverage(audit);
    let said = [
        (without.len(), pages),
        (empty.len(), format!("{no_figures}: {}", names.join(", "))),
        (
            audit.skipped.len(),
            count_with_noun(audit.skipped.len(), "file skipped", "files skipped"),
        ),
        (audit.refused.len(), format!("{} not opened", grouped(audit.refused.len()))),
        (coverage.len(), coverage),
    ];
    said.iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, said)| pen.clipped(said, "  ", 2))
        .collect()
}

#[derive(Clone, Copy)]
struct Pen {
    width: usize,
    colour: bool,
}

impl Pen {
    fn painted(self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() { ink.on(text) } else { text.to_owned() }
    }

    /// Wraps a text. Leading blanks are kept; a word longer than a line takes several lines.
    fn wrapped(self, text: &str, indent: &str) -> String {
        let rest = text.trim_start_matches(' ');
        let text = format!("{}{}", "\u{a0}".repeat(text.len() - rest.len()), escape_line(rest));
        let text = text.replace("(line ", "(line\u{a0}");
        let mut out = String::new();
        for line in wrap_words(&text, self.width, indent).lines().filter(|line| !line.is_empty()) {
            let mut column = 0;
            for c in line.chars() {
                if column + columns(c) > self.width {
                    out += &format!("\n{indent}");
                    column = indent.len();
                }
                out.push(c);
                column += columns(c);
            }
            out.push('\n');
        }
        out
    }

    /// Wraps a text into at most `most` lines and marks where it is cut.
    fn clipped(self, text: &str, indent: &str, most: usize) -> String {
        let text = text.trim_end();
        let rooms = (1..=most * self.width).rev().step_by(4);
        let mut texts = rooms.map(|room| self.wrapped(&verdict::cut(text, room, columns), indent));
        texts.find(|text| text.lines().count() <= most).unwrap_or_default()
    }

    /// Returns `wrong-figure[F4]: ...`, in at most `most` lines.
    fn headed(self, block: &FindingBlock, root: &DigestEntry, most: usize) -> String {
        let message = verdict::cut(&root.finding.message, MESSAGE, columns);
        let head = format!("{}[{}]", block.severity.severity_word(), root.finding.rule);
        let text = self.clipped(&format!("{head}: {message}"), "  ", most);
        match text.strip_prefix(&head) {
            Some(rest) => format!("{}{rest}", self.painted(colour(block.severity), &head)),
            None => text,
        }
    }
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

fn colour(severity: Severity) -> Ink {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => Ink::BoldRed,
        Severity::Ambiguous => Ink::BoldYellow,
        Severity::Cosmetic => Ink::BoldCyan,
    }
}

/// Returns a block in two to five lines.
fn in_short(document: &DigestDocument, block: &FindingBlock, pen: Pen) -> String {
    let root = &document.findings[block.root];
    let printed = verdict::cut(&root.finding.printed, pen.width / 3, columns);
    let place = format!("  line {}: {printed}; {}", root.place.line, root.finding.advice());
    let mut out = pen.headed(block, root, 2) + &pen.clipped(&place, "  ", 1);
    for (word, members) in document.members(block) {
        let lines: Vec<String> = members.into_iter().map(|(_, line)| line).collect();
        out += &pen.clipped(&format!("  {word} ({}): {}", lines.len(), lines.join("; ")), "  ", 1);
    }
    out
}

fn in_full(document: &DigestDocument, block: &FindingBlock, pen: Pen) -> String {
    let root = &document.findings[block.root];
    let mut out = pen.headed(block, root, MESSAGE);
    let quoted = root.quoted_lines(OPERANDS);
    let last = quoted.last().map_or(0, |places| places[0].0.line);
    let gutter = last.to_string().len().max(2);
    let column =
        root.place.columns.map(|columns| format!(":{}", columns.column)).unwrap_or_default();
    let [arrow, bar, sign] = ["-->", "|", "="].map(|text| pen.painted(FRAME, text));
    // In one line, however long: it may have to be copied.
    out += &format!(
        "{:gutter$}{arrow} {}:{}{column}\n",
        "",
        escape_line(&document.name),
        root.place.line
    );
    out += &format!("{:gutter$} {bar}\n", "");
    let mut before = u32::MAX;
    for places in &quoted {
        let line = places[0].0.line;
        if line > before.saturating_add(1) {
            out += &format!("{}\n", pen.painted(FRAME, "..."));
        }
        out += &line_of(places, gutter, colour(block.severity), pen);
        before = line;
    }
    out += &format!("{:gutter$} {bar}\n", "");
    let indent = " ".repeat(gutter + 5);
    for (word, note) in root.headed_notes(OPERANDS) {
        let text = pen.wrapped(&format!("{:gutter$} = {word}: {note}", ""), &indent);
        out += &text.replacen('=', &sign, 1);
    }
    for (word, members) in document.members(block) {
        out += &format!("{:gutter$} {sign} {word}:\n", "");
        for (_, line) in members.iter().take(MEMBERS) {
            out += &pen.wrapped(&format!("{indent}{line}"), &format!("{indent}  "));
        }
        if let Some(more @ 1..) = members.len().checked_sub(MEMBERS) {
            out += &format!("{indent}and {} more; --format json has all\n", grouped(more));
        }
    }
    out
}

/// Returns a line with marks below its figures: `^` for the wrong one, `-` for those used for
/// comparison.
fn line_of(places: &[(&ReleasedSpan, bool)], gutter: usize, colour: Ink, pen: Pen) -> String {
    let [(first, _), ..] = places else { return String::new() };
    let spans: Vec<_> = places.iter().map(|(place, _)| place.span.clone()).collect();
    let (text, spans) = first.window(&spans, pen.width.saturating_sub(gutter + 3));
    let mut marks = vec![' '; spans.iter().map(|columns| columns.end).max().unwrap_or(0)];
    // The figure itself is drawn over those that it was compared with.
    for (columns, (_, own)) in spans.into_iter().zip(places).rev() {
        marks[columns].fill(if *own { '^' } else { '-' });
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
    let (bar, number) =
        (pen.painted(FRAME, "|"), pen.painted(FRAME, &format!("{:gutter$}", first.line)));
    format!("{number} {bar} {}\n{:gutter$} {bar} {marks}\n", text.trim_end(), "")
}
