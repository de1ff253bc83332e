//! The answer of a run, which a terminal shows without `-v`: the conclusion, one table with every
//! stack and load in it, what is in doubt, and what to type next; at most [`LINES`] lines. What has
//! no room is counted, never dropped silently; lost or wrong data always has room.

mod bill_bars;
mod grid;
mod load_table;
mod sweep_lines;
mod verdict_lines;

pub use verdict_lines::verdict_sentences;

use super::document::{Document, is_alarm};
use super::ink::Ink;
use super::look::TerminalLook;
use super::table::{LeftOut, TextTable, capital, wrap_words};
use super::terminal::{NARROWEST, answer, indented, marked_line};
use super::verdicts::VerdictSentence;
use super::{PageContext, crowd, durability, imported, matrix, sheet, trace};
use iotax_analysis::findings::ceiling::MaskingCeiling;
use iotax_analysis::findings::trace::TraceFinding;
use iotax_analysis::findings::{Bill, WorkloadFindings};
use iotax_analysis::{EMULATED, Findings, simultaneous_comparisons};
use iotax_units::{count_noun, show_names};
use std::collections::BTreeSet;
use std::path::Path;

/// Largest number of lines of an answer at 80 columns or more.
pub const LINES: usize = 22;

/// Where the rest of a report is: the command for the full one (`iotax report ID`), and the page if
/// it was written.
pub struct ReportPlaces<'a> {
    pub command: &'a str,
    pub page: Option<&'a Path>,
}

/// Returns the answer of one run.
pub fn brief(findings: &Findings, elsewhere: &ReportPlaces, page: &PageContext) -> String {
    let page = &PageContext { width: page.width.max(NARROWEST), ..*page };
    let top = answer_head(findings, page);
    let sentences = verdict_lines::verdict_lines(findings);
    let mut tables = OneTable::all_of_findings(findings, page);
    let lines_of = |one: &VerdictSentence| line_count(&sentence_text(one, page));
    let said: usize = sentences.iter().map(lines_of).sum();
    let urgent: usize = sentences.iter().filter(|one| one.class == "cost").map(lines_of).sum();
    let wants: usize = tables.iter().map(|table| table.line_count(page.width)).sum();
    let layouts = [2, 1, 0].map(|lines| {
        let closing = closing_lines(findings, elsewhere, lines, page);
        // The marks of a table take at most two lines.
        let fixed = line_count(&top) + line_count(&closing) + 2;
        let room = LINES.saturating_sub(fixed);
        // Lost data has room; of the other sentences at least a line that counts them.
        let kept = if said == 0 { 0 } else { (urgent + 1).clamp(2, (room / 3 * 2).max(2)) };
        AnswerLayout { closing, fixed, room, share: room.saturating_sub(kept) }
    });
    // No row and no verdict goes for a warning's words.
    let fits = |layout: &&AnswerLayout| wants <= layout.share && wants + said < layout.room;
    let layout = layouts.iter().find(fits).unwrap_or(&layouts[2]);
    let AnswerLayout { closing, fixed, room, share } = layout;
    if wants > *share {
        tables.drain(..tables.len().saturating_sub(1));
    }
    let shown = tables.iter().map(|table| table.fitted_rows((*share).min(wants), page.width));
    let tables_text: String = shown.collect();
    let sentences =
        fitted_sentences(&sentences, room.saturating_sub(line_count(&tables_text) + 1), page);
    let gap = if sentences.is_empty() { "" } else { "\n" };
    let empty = !findings.workloads.is_empty() && findings.workloads.iter().all(sheet::is_empty);
    let nothing =
        if empty { wrap_words(&capital(sheet::EMPTY), page.width, "  ") } else { String::new() };
    let text = format!("{top}{nothing}{tables_text}{gap}{sentences}");
    let used = line_count(&text) + fixed - line_count(&top);
    let places = place_tables(findings, LINES.saturating_sub(used), page);
    let marks = explained_marks(findings, &format!("{tables_text}{places}"));
    let legend = if marks.is_empty() { String::new() } else { format!("  {marks}") };
    let legend = page.look.ink(Ink::Dim, &wrap_words(&legend, page.width, "  "));
    format!("{}{legend}{closing}", page.look.painted(&format!("{text}{places}")))
}

/// Closing lines of an answer, and the lines that they leave.
struct AnswerLayout {
    closing: String,
    /// Number of lines that all but tables and sentences take.
    fixed: usize,
    /// Number of lines for tables and sentences, and for tables alone.
    room: usize,
    share: usize,
}

/// Returns tables of the places that load a stack together, for as many stacks as fit in `room`
/// lines.
fn place_tables(findings: &Findings, mut room: usize, page: &PageContext) -> String {
    let crowds = findings.workloads.iter().flat_map(|workload| &workload.crowds);
    let one = |(title, table): (String, TextTable)| {
        let table = page.look.table(&table).to_text(page.width, &mut LeftOut::default());
        let text = format!("{}{table}", indented(&title, page.width));
        let lines = line_count(&text);
        let fits = lines <= room;
        room -= if fits { lines } else { 0 };
        fits.then_some(text)
    };
    crowds.map(|crowd| crowd::places(crowd, true)).filter_map(one).collect()
}

/// Returns only the table of the answer, with its most informative rows in at most `lines` lines.
pub fn informative_table(findings: &Findings, lines: usize, page: &PageContext) -> String {
    let table = OneTable::all_of_findings(findings, page).pop();
    page.look.painted(&table.map(|one| one.fitted_rows(lines, page.width)).unwrap_or_default())
}

fn line_count(text: &str) -> usize {
    text.lines().count()
}

/// Returns a sentence with the mark of its class.
fn sentence_text(one: &VerdictSentence, page: &PageContext) -> String {
    marked_line(one, page.look, page.width)
}

/// Returns the head: the run, warnings without which figures are misread, the answer, and the check
/// of the measuring.
fn answer_head(findings: &Findings, page: &PageContext) -> String {
    let places = findings.places.iter().filter(|place| place.emulated.is_some());
    let names: BTreeSet<String> = places.map(|place| place.place.to_string()).collect();
    let none_is_real =
        findings.headline.is_none() && findings.no_headline.as_deref() == Some(EMULATED);
    let emulated = (!names.is_empty()).then(|| {
        let end = if none_is_real { ", so there is no headline" } else { "" };
        format!("EMULATED: figures of {} are not representative{end}", show_names(in_order(names)))
    });
    let mut head = Document::from_findings(findings).head;
    if none_is_real && emulated.is_some() {
        // The reason for a missing headline is printed with it.
        head.headline = Err(None);
    }
    let look = page.look;
    let failed = findings.warnings.iter().filter(|one| is_alarm(findings, one));
    let alarms = emulated.into_iter().chain(failed.map(|one| one.to_sentence()));
    let alarms: String = alarms
        .map(|line| wrap_words(&look.signs(&format!("! {line}")), page.width, "  "))
        .collect();
    let identity = look.ink(Ink::Dim, &wrap_words(&head.identity, page.width, "  "));
    if head.answer.is_some() {
        // The table has its figures.
        head.headline = Err(None);
    }
    let answer = answer(&head, look, page.width);
    if answer.is_empty() { identity + &alarms } else { format!("{identity}{alarms}\n{answer}") }
}

fn in_order(names: BTreeSet<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by_key(String::len);
    names
}

/// Returns as many of the sentences as fit in `room` lines, and how many are left.
fn fitted_sentences(all: &[VerdictSentence], room: usize, page: &PageContext) -> String {
    let texts: Vec<String> = all.iter().map(|one| sentence_text(one, page)).collect();
    let lines = |many: usize| texts[..many].iter().map(|text| line_count(text)).sum::<usize>();
    let more = |many: usize| usize::from(many < texts.len());
    let many = (0..=texts.len()).rev().find(|many| lines(*many) + more(*many) <= room).unwrap_or(0);
    let left = match texts.len() - many {
        0 => String::new(),
        left => {
            format!("  and {} (-v)\n", count_noun(left as u64, "more verdict", "more verdicts"))
        }
    };
    texts[..many].concat() + &left
}

/// A table of the answer, with the text above it.
struct OneTable {
    title: Vec<String>,
    table: TextTable,
    /// Weight of each row; rows with a higher one have room first.
    weights: Vec<f64>,
    /// Noun for a row, in the singular and the plural.
    rows: [&'static str; 2],
    /// True if no column may be left out.
    in_parts: bool,
}

impl OneTable {
    fn of_table(table: TextTable) -> OneTable {
        let weights = vec![0.0; table.row_count()];
        OneTable { title: Vec::new(), table, weights, rows: ["row", "rows"], in_parts: false }
    }

    fn titled(self, title: String) -> OneTable {
        OneTable { title: vec![title], ..self }
    }

    /// Returns the tables of the answer; the last one is shown alone if not all have room.
    fn all_of_findings(findings: &Findings, page: &PageContext) -> Vec<OneTable> {
        let mut all = OneTable::unsigned_tables(findings, page);
        for one in &mut all {
            one.table = page.look.table(&one.table);
            one.title.iter_mut().for_each(|title| *title = page.look.signs(title));
        }
        all
    }

    fn unsigned_tables(findings: &Findings, page: &PageContext) -> Vec<OneTable> {
        let measured: Vec<&WorkloadFindings> =
            findings.workloads.iter().filter(|workload| !sheet::is_empty(workload)).collect();
        if let Some(table) = durability::trial_table(findings) {
            let rows = findings.durability.iter().flat_map(|found| &found.rows);
            let weights = rows.map(|row| row.lossy as f64).collect();
            return vec![OneTable { weights, ..OneTable::of_table(table) }];
        }
        // The sentences of courses have all figures of their table.
        if findings.limits.is_some() {
            return Vec::new();
        }
        if let Some(section) = imported::clearest_section(findings) {
            return vec![OneTable::of_table(section.table).titled(section.title)];
        }
        if let Some((table, _)) = matrix::network(findings) {
            return vec![OneTable::of_table(table)];
        }
        if let Some(joint) = findings.joint_bills.first() {
            let title = format!("the bill of {}", joint.subject);
            return vec![OneTable::of_bill(title, &joint.bill, page)];
        }
        match measured.as_slice() {
            [] => Vec::new(),
            [one] => vec![match (&one.bill, &one.trace) {
                (Some(bill), _) => OneTable::of_bill(effort_line(one), bill, page),
                (None, Some(trace)) => OneTable::of_trace(one, trace, page.look),
                (None, None) => load_table::load_table(one, page.look).titled(effort_line(one)),
            }],
            many => {
                let sweeps = findings.sweeps.iter().map(|one| {
                    OneTable::of_table(sweep_lines::sweep_lines(one, page.look))
                        .titled(one.subject.clone())
                });
                let mut all: Vec<OneTable> = sweeps.collect();
                all.push(grid::grid(many, page.width, page.look));
                all
            }
        }
    }

    /// Returns the table of a bill. Layers have room before their shares of reads and of writes.
    fn of_bill(title: String, bill: &Bill, page: &PageContext) -> OneTable {
        let table = bill_bars::bill_bars(bill, page).unwrap_or_else(|| sheet::bill(bill));
        let is_layer = |name: &String| f64::from(u8::from(!name.starts_with("   ")));
        let weights = table.columns[0].cells.iter().map(is_layer).collect();
        OneTable { weights, ..OneTable::of_table(table) }.titled(title)
    }

    fn of_trace(load: &WorkloadFindings, trace: &TraceFinding, look: TerminalLook) -> OneTable {
        let title = vec![load.subject.clone(), format!("  {}", trace::course_line(load, look))];
        OneTable { title, ..OneTable::of_table(trace::level_table(trace)) }
    }

    fn line_count(&self, width: usize) -> usize {
        line_count(&self.rows_text(&(0..self.table.row_count()).collect::<Vec<_>>(), width))
    }

    fn rows_text(&self, kept: &[usize], width: usize) -> String {
        let rows = self.table.of_rows(kept);
        let table = match self.in_parts {
            true => rows.in_parts(width),
            false => rows.to_text(width, &mut LeftOut::default()),
        };
        let left = match (self.table.row_count() - kept.len(), self.rows) {
            (0, _) => String::new(),
            (1, [one, _]) => format!("  and 1 more {one} (-v)\n"),
            (many, [_, several]) => format!("  and {many} more {several} (-v)\n"),
        };
        let title = self.title.iter().map(|title| indented(title, width)).collect::<String>();
        format!("\n{title}{table}{left}")
    }

    /// Returns the table with its most informative rows, as many as fit in `room` lines.
    fn fitted_rows(&self, room: usize, width: usize) -> String {
        let mut order: Vec<usize> = (0..self.table.row_count()).collect();
        order.sort_by(|one, other| self.weights[*other].total_cmp(&self.weights[*one]));
        let text = |many: usize| {
            let mut kept = order[..many].to_vec();
            kept.sort_unstable();
            self.rows_text(&kept, width)
        };
        let texts = (1..=order.len()).rev().map(text);
        texts.into_iter().find(|text| line_count(text) <= room).unwrap_or_default()
    }
}

/// Returns the load and its effort: `4k random reads at iodepth 32: 48 rounds, 9.6 s of load`.
fn effort_line(workload: &WorkloadFindings) -> String {
    let effort = sheet::effort(workload);
    let effort = effort.split(" on ").next().unwrap_or(&effort).to_owned();
    format!("{}: {effort}", workload.subject)
}

/// Returns what the marks of a table mean, as far as it has them, and how many comparisons the
/// intervals hold for.
fn explained_marks(findings: &Findings, table: &str) -> String {
    let comparisons: Vec<_> =
        findings.workloads.iter().flat_map(WorkloadFindings::all_comparisons).collect();
    let by: BTreeSet<&str> = comparisons
        .iter()
        .filter_map(|one| one.masked.as_ref())
        .map(MaskingCeiling::short)
        .collect();
    let masked = format!("masked by {}", by.into_iter().collect::<Vec<_>>().join(", "));
    let cells = || table.lines().flat_map(|line| line.split("  ")).map(str::trim);
    let has = |is_so: fn(&str) -> bool| cells().any(is_so);
    let family = simultaneous_comparisons(&findings.workloads);
    let family = (family > 1 && !table.is_empty())
        .then(|| format!("intervals of rates hold for all {family} comparisons together"));
    let known = [
        (table.contains(" *"), "* baseline"),
        (has(|cell| cell.starts_with("? ")), "? unresolved"),
        (has(|cell| cell.ends_with(" !")), "! unresolved"),
        (has(|cell| cell.contains(" ?")), "? after a figure: no interval"),
        (table.contains(" ~"), "~ emulated"),
        (table.contains("(masked)"), masked.as_str()),
        (has(|cell| cell == "-"), "- no figure (-v: why)"),
    ];
    let known = known.into_iter().filter(|(shown, _)| *shown).map(|(_, said)| said.to_owned());
    known.chain(family).collect::<Vec<_>>().join("; ")
}

/// Number of warnings whose beginnings an answer shows; the others are counted.
const SAID_WARNINGS: usize = 2;

/// Returns as many words of a sentence as `lines` lines hold.
fn first_lines(text: &str, lines: usize, page: &PageContext) -> String {
    let wrapped = wrap_words(text, page.width.saturating_sub(4), "  ");
    match wrapped.match_indices('\n').nth(lines - 1) {
        Some((end, _)) if end + 1 < wrapped.len() => format!("{} ...\n", &wrapped[..end]),
        _ => wrapped,
    }
}

fn closing_lines(
    findings: &Findings,
    elsewhere: &ReportPlaces,
    warning_lines: usize,
    page: &PageContext,
) -> String {
    let look = page.look;
    let others = || findings.warnings.iter().filter(|one| !is_alarm(findings, one));
    let said = if warning_lines == 0 { 0 } else { SAID_WARNINGS };
    let more = others().count().saturating_sub(said) as u64;
    let and = if said == 0 { "" } else { "and " };
    let [one, many] =
        if said == 0 { ["warning", "warnings"] } else { ["more warning", "more warnings"] };
    let more = (more > 0).then(|| format!("! {and}{} (-v)", count_noun(more, one, many)));
    let said = others().take(said).map(|one| format!("! {}", one.to_sentence()));
    let warned =
        said.chain(more).map(|line| first_lines(&look.signs(&line), warning_lines.max(1), page));
    let warned = warned.map(|line| look.painted(&line));
    let command = elsewhere.command;
    let next = match elsewhere.page {
        Some(path) => format!("next: {command} -v (all); the page: {}", path.display()),
        None => format!("next: {command} -v (all), -o report.html (page)"),
    };
    warned.chain([look.ink(Ink::Dim, &wrap_words(&next, page.width, "  "))]).collect()
}
