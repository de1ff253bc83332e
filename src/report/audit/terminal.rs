//! An audit in the terminal, as a good compiler tells of faults: the line quoted, the figure underlined, what it was held against
//! quoted too, the arithmetic. Findings of one kind are folded behind the first few, of a page and of pages that have the same. Page by
//! page; a sum at the end.

use super::super::ink::Ink;
use super::super::table::wrapped;
use super::super::terminal::NARROWEST;
use super::digest::{Document, Told};
use super::quote::Place;
use super::text::{Laid, shown};
use super::{Audit, PinsUsed, Renderer, Repeated, Severity, View, words};
use crate::units::counted;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Its entry.
pub const RENDERER: Renderer = Renderer {
    name: "terminal",
    help: "findings with their lines, for a terminal of any width",
    endings: &["txt"],
    page,
    end,
};

/// Operands that are quoted.
const OPERANDS: usize = 5;
/// Lines that could not be read, of those that are told each.
const UNREAD: usize = 8;
/// Letters of a message; nobody reads more.
const MESSAGE: usize = 1200;

const FRAME: Ink = Ink::BoldBlue;

fn page(document: &Document, view: &View, repeated: &mut Repeated) -> String {
    let pen = Pen { width: view.width.max(NARROWEST), colour: view.colour };
    let (first, folded) = words::folded(repeated.news(to_show(document, view)).into_iter());
    let mut out: String = first.into_iter().map(|told| finding(document, told, pen) + "\n").collect();
    for kind in folded {
        out += &format!("{}\n", pen.headed(kind.rule, kind.severity, &kind.said()));
    }
    out + &summary(document, view, pen)
}

fn to_show<'a>(document: &'a Document, view: &View) -> Vec<&'a Told> {
    document.findings.iter().filter(|told| told.finding.severity <= view.show).collect()
}

fn summary(document: &Document, view: &View, pen: Pen) -> String {
    let (name, found) = (shown(&document.name), words::of_page(document));
    let mut out = match name.width() + found.width() + 2 <= pen.width {
        true => format!("{name}: {found}\n"),
        false => format!("{name}:\n{}", pen.wrapped(&format!("  {found}"), "    ")),
    };
    let hidden = |severity: &Severity| *severity > view.show && document.found(*severity) > 0;
    let hidden: Vec<&str> = Severity::ALL.into_iter().filter(hidden).map(Severity::word).collect();
    if let Some(last) = hidden.last() {
        out += &pen.wrapped(&format!("  not shown: {} (--show {last})", hidden.join(", ")), "    ");
    }
    out += &pen.wrapped(&format!("  {}", words::by_status(|status| document.count(status))), "    ");
    out += &pen.wrapped(&format!("  {}", words::read(document)), "    ");
    for said in document.pins.iter().flat_map(PinsUsed::said) {
        out += &pen.wrapped(&format!("  {}", shown(&said)), "    ");
    }
    for unread in document.unread.iter().take(UNREAD) {
        let text = format!("  not read: {}: {}", words::lines(unread), shown(&unread.why));
        out += &pen.wrapped(&text, "    ");
    }
    let more = document.unread.iter().skip(UNREAD).map(|unread| unread.line);
    if document.unread.len() > UNREAD {
        out += &pen.wrapped(&format!("  not read either: {}", words::line_numbers(more)), "    ");
    }
    out + "\n"
}

fn end(audit: &Audit, view: &View) -> String {
    let pen = Pen { width: view.width.max(NARROWEST), colour: view.colour };
    let others = audit.skipped.len() + audit.refused.len();
    if audit.documents.len() < 2 && others == 0 {
        return String::new();
    }
    let mut said = vec![
        words::by_severity(|severity| words::all_found(audit, severity)),
        words::by_status(|status| words::all_claims(audit, status)),
    ];
    let not_read = audit.documents.iter().map(|document| document.unread.len()).sum::<usize>();
    for (count, one, many) in [
        (not_read, "place not read", "places not read"),
        (audit.skipped.len(), "file skipped", "files skipped"),
        (audit.refused.len(), "not opened", "not opened"),
    ] {
        if count > 0 {
            said.push(counted(count as u64, one, many));
        }
    }
    let pages = counted(audit.documents.len() as u64, "page", "pages");
    more_pages(audit, view, pen) + &pen.wrapped(&format!("{pages}: {}", said.join("; ")), "  ")
}

/// What was told of the first pages that have it.
fn more_pages(audit: &Audit, view: &View, pen: Pen) -> String {
    let mut repeated = Repeated::default();
    for document in &audit.documents {
        repeated.news(to_show(document, view));
    }
    let mut out = String::new();
    for more in repeated.more() {
        let pages = counted(more.pages as u64, "more page", "more pages");
        let text = format!("and {pages}: {}; --format json has all", more.message);
        out += &format!("{}\n", pen.headed(more.rule, more.severity, &text));
    }
    out
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
        let text = format!("{}{rest}", "\u{a0}".repeat(text.len() - rest.len()));
        wrapped(&text, self.width, indent).lines().map(|line| self.broken(line, indent)).collect()
    }

    /// A word that is longer than a line stands in several.
    fn broken(self, line: &str, indent: &str) -> String {
        let mut out = String::new();
        let mut column = 0;
        for c in line.chars() {
            let width = c.to_string().width();
            if column + width > self.width {
                out += &format!("\n{indent}");
                column = indent.len();
            }
            out.push(c);
            column += width;
        }
        out + "\n"
    }

    /// `wrong-figure[F4]: ...`
    fn headed(self, rule: &str, severity: Severity, text: &str) -> String {
        let mut short: String = text.chars().take(MESSAGE).collect();
        if short.len() < text.len() {
            short.push('\u{2026}');
        }
        let head = format!("{}[{rule}]", severity.word());
        let text = self.wrapped(&format!("{head}: {}", shown(&short)), "  ");
        match text.strip_prefix(&head) {
            Some(rest) => format!("{}{rest}", self.painted(colour(severity), &head)),
            None => text,
        }
    }
}

fn colour(severity: Severity) -> Ink {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => Ink::BoldRed,
        Severity::Ambiguous => Ink::BoldYellow,
        Severity::Cosmetic => Ink::BoldCyan,
    }
}

/// Spots of one line that are quoted together.
struct Quoted<'a> {
    place: &'a Place,
    /// Their bytes, and whether it is the figure itself.
    spans: Vec<(std::ops::Range<usize>, bool)>,
}

fn finding(document: &Document, told: &Told, pen: Pen) -> String {
    let finding = &told.finding;
    let mut out = pen.headed(finding.rule, finding.severity, &finding.message);
    let quoted = quoted(told);
    let last = quoted.iter().map(|quoted| quoted.place.line).max().unwrap_or(0);
    let gutter = last.to_string().len().max(2);
    let column = told.place.columns.map(|columns| format!(":{}", columns.chars.0)).unwrap_or_default();
    // In one line, however long: it may have to be copied.
    let arrow = pen.painted(FRAME, "-->");
    out += &format!("{:gutter$}{arrow} {}:{}{column}\n", "", shown(&document.name), told.place.line);
    let bar = pen.painted(FRAME, "|");
    out += &format!("{:gutter$} {bar}\n", "");
    let mut before: Option<u32> = None;
    for one in &quoted {
        if before.is_some_and(|before| one.place.line > before + 1) {
            out += &format!("{}\n", pen.painted(FRAME, "..."));
        }
        out += &lines_of(one, gutter, colour(finding.severity), pen);
        before = Some(one.place.line);
    }
    let not_quoted = told.more_operands + told.operands.len().saturating_sub(OPERANDS);
    let more = (not_quoted > 0).then(|| counted(not_quoted as u64, "more operand", "more operands"));
    let notes = [
        ("recomputed", Some(finding.recomputed.clone()).filter(|text| !text.is_empty())),
        ("by", finding.arithmetic.clone()),
        ("and", more),
        ("likely", finding.slip.map(|slip| slip.words().to_owned())),
    ];
    let notes: Vec<_> = notes.into_iter().filter_map(|(word, text)| Some((word, text?))).collect();
    if !notes.is_empty() {
        out += &format!("{:gutter$} {bar}\n", "");
    }
    for (word, text) in notes {
        let text =
            pen.wrapped(&format!("{:gutter$} = {word}: {}", "", shown(&text)), &" ".repeat(gutter + 5));
        out += &text.replacen('=', &pen.painted(FRAME, "="), 1);
    }
    out
}

/// By line; those of one kept line together.
fn quoted(told: &Told) -> Vec<Quoted<'_>> {
    let operands = told.operands.iter().take(OPERANDS).map(|place| (place, false));
    let mut places: Vec<(&Place, bool)> = operands.chain([(&told.place, true)]).collect();
    places.sort_by_key(|(place, own)| (place.line, !own));
    let mut quoted: Vec<Quoted> = Vec::new();
    for (place, own) in places {
        let span = (place.span.clone(), own);
        match quoted.iter_mut().find(|one| Arc::ptr_eq(&one.place.excerpt, &place.excerpt)) {
            Some(one) => one.spans.push(span),
            None => quoted.push(Quoted { place, spans: vec![span] }),
        }
    }
    quoted
}

fn lines_of(quoted: &Quoted, gutter: usize, colour: Ink, pen: Pen) -> String {
    let excerpt = &quoted.place.excerpt;
    let room = pen.width.saturating_sub(gutter + 3);
    let spans: Vec<_> = quoted.spans.iter().map(|(span, _)| span.clone()).collect();
    let bar = pen.painted(FRAME, "|");
    let number = pen.painted(FRAME, &format!("{:gutter$}", quoted.place.line));
    let mut out = String::new();
    for window in Laid::new(&excerpt.text).windows(&spans, excerpt.cut, room) {
        out += &format!("{number} {bar} {}\n", window.text.trim_end());
        let own = |span: usize| quoted.spans.get(span).is_some_and(|(_, own)| *own);
        let mut marks = vec![' '; window.marks.iter().map(|(_, columns)| columns.end).max().unwrap_or(0)];
        // The figure itself is drawn over what it was held against.
        for (whose, sign) in [(false, '-'), (true, '^')] {
            for (_, columns) in window.marks.iter().filter(|(span, _)| own(*span) == whose) {
                marks[columns.clone()].fill(sign);
            }
        }
        out += &format!("{:gutter$} {bar} {}\n", "", painted_marks(&marks, colour, pen));
    }
    out
}

fn painted_marks(marks: &[char], colour: Ink, pen: Pen) -> String {
    let runs = marks.chunk_by(|one, next| one == next);
    let painted = |run: &[char]| {
        let text: String = run.iter().collect();
        match run.first() {
            Some('^') => pen.painted(colour, &text),
            Some('-') => pen.painted(FRAME, &text),
            _ => text,
        }
    };
    runs.map(painted).collect()
}
