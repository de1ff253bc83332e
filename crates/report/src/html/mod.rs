//! One self-contained page without scripts, fonts or requests. Sentences are on top, drawings with
//! a table next to each follow, facts and exact commands are at the end. It is readable in light,
//! dark, on a phone and on paper.

pub(super) mod history;
mod plot;
mod sweep;
mod sweep_chart;

use super::crowd;
use super::disks;
use super::durability;
use super::efficiency;
use super::generator;
use super::imported;
use super::limits;
use super::matrix;
use super::number::{Shown, change_in_percent};
use super::probes;
use super::published;
use super::ratios;
use super::sheet;
use super::states;
use super::table::TextTable;
use super::table::capital;
use super::verdicts::{self, VerdictSentence, class_of};
use super::verification;
use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;
use iotax_analysis::findings::states::ArrayStates;
use iotax_analysis::findings::{
    Bill, BillLine, ChargeFinding, Charges, Comparison, LatencyFigures, MeasuredFigure,
    PlaceReport, StackRow, WorkloadFindings,
};
use iotax_stats::Verdict;
use iotax_units::harmless::lines;
use iotax_units::show_time;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plot::{Bar, Curve, Scale};

pub const RENDERER: ReportRenderer =
    ReportRenderer { name: "html", endings: &["html", "htm"], render };

const STYLE: &str = include_str!("style.css");
/// Number of line styles in the style sheet.
const STYLES: usize = 6;

fn render(findings: &[Findings], _page: &PageContext) -> String {
    let ids = findings.iter().map(|one| one.run.id.as_str()).collect::<Vec<_>>().join(", ");
    let titles = findings.iter().map(sheet::title).collect::<Vec<_>>().join(", ");
    whole_page(
        &format!("{titles} \u{b7} iotax {ids}"),
        "",
        &html! {
            @for one in findings {
                (head(one))
                @if let Some((pairs, heat)) = matrix::network(one) {
                    section {
                        h2 { "From each place to every other" }
                        (heat_map(&pairs, &heat))
                        p class="soft" { "Shaded by the share of the best figure of its probe: green is near it, red is far below." }
                    }
                } @else if let Some(side_by_side) = matrix::side_by_side_table(one) {
                    section {
                        h2 { "Side by side" }
                        (table_markup(&side_by_side, usize::MAX))
                    }
                }
                (read_back(one))
                (ratio_section(one))
                @for swept in &one.sweeps { (sweep::sweep_section(swept, one)) }
                @for joint in &one.joint_bills {
                    section {
                        h2 { "The bill" }
                        p class="soft" { (joint.subject) }
                        (bill_of(&joint.bill, 100.0 * one.run.zone))
                    }
                }
                @let workloads = one.workloads.iter().filter(|workload| workload.sweep.is_none()).collect::<Vec<_>>();
                @let folded = workloads.len() > MOST_OPEN;
                @if folded { (marks()) }
                @for workload in &workloads { (section(one, workload, folded)) }
                (trial_section(one))
                (course_section(one))
                (of_others(one))
                (published_section(one))
                (not_excluded(one))
            }
            @for one in findings { (origin(one, findings.len() == 1)) }
            @if findings.iter().any(|one| one.imported.is_none()) { (method()) }
            @if findings.iter().any(|one| one.imported.is_some()) { (method_of_others()) }
        },
    )
}

/// Returns a complete page; `style` is added for this kind of page after the common one.
pub fn whole_page(title: &str, style: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { main { (content) } }
        }
    };
    lines(&page.into_string()).into_owned()
}

/// Replaces `+-` of the plain texts by one sign and a minus before a number by a minus sign, and
/// keeps a figure on one line with its half-width.
fn typographic_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let opens = before == ' ' || before == '(';
        match c {
            '+' if opens && next == '-' => {
                rest.next();
                out.push('\u{b1}');
            }
            '-' if opens && next.is_ascii_digit() => out.push('\u{2212}'),
            c => out.push(c),
        }
        before = c;
    }
    out.replace(" \u{b1} ", "\u{a0}\u{b1}\u{a0}")
        .replace("\u{b1} ", "\u{b1}\u{a0}")
        .replace(" %", "\u{a0}%")
}

fn head(findings: &Findings) -> Markup {
    let run = &findings.run;
    html! {
        header {
            p class="eyebrow" { b { "iotax" } @if let Some(name) = &run.name { " \u{b7} " (name) } " \u{b7} " (show_time(&run.at)) " \u{b7} run " (run.id) " \u{b7} " (run.state_said()) }
            @for line in &findings.emulated { p class="alarm" { "Emulated: " (line) "." } }
            @if !run.is_complete() {
                p class="alarm" { "State of this run: " (run.state) ". The figures are of what it recorded." }
            }
            @if let Some(alarm) = findings.verification.as_ref().and_then(|found| found.alarm()) {
                p class="alarm" { (alarm) "." }
            }
            @match (&findings.headline, &findings.no_headline) {
                (Some(headline), _) => h1 { (typographic_signs(headline)) },
                (None, reason) => {
                    h1 { (sheet::title(findings)) }
                    @if let Some(reason) = reason { p class="soft" { (typographic_signs(&capital(reason))) "." } }
                },
            }
            @if let Some(check) = &findings.ruler {
                p class=(if check.holds { "soft" } else { "alarm" }) { (typographic_signs(&check.sentence)) "." }
            }
        }
    }
}

/// Number of workloads beyond which each one is folded and opens on a click. Its conclusion is then
/// in its first line.
const MOST_OPEN: usize = 6;

fn section(findings: &Findings, workload: &WorkloadFindings, folded: bool) -> Markup {
    let whole = html! {
        p class="soft" { (sheet::effort(workload)) }
        @if sheet::is_empty(workload) { p { (sheet::EMPTY) "." } } @else { (workload_body(findings, workload, folded)) }
    };
    html! {
        section class=[folded.then_some("folded")] {
            @if folded {
                details {
                    summary class="whole-section" {
                        h2 { (workload.subject) }
                        (verdict_list(&verdicts::rates(workload)))
                    }
                    (whole)
                }
            } @else {
                h2 { (workload.subject) }
                (whole)
            }
        }
    }
}

fn workload_body(findings: &Findings, workload: &WorkloadFindings, folded: bool) -> Markup {
    // Percent of the baseline.
    let zone = 100.0 * findings.run.zone;
    html! {
            @if let Some(design) = &workload.design {
                p class="soft" { (typographic_signs(&design.sentence)) "." }
                @if let Some(starts) = design.starts_in_words() { p class="soft" { (typographic_signs(&starts)) "." } }
            }
            (workload_verdicts(workload))
            @if let Some(bill) = sheet::own_bill(findings, workload) { h3 { "The bill" } (bill_of(bill, zone)) }
            (forest(&workload.comparisons.iter().collect::<Vec<_>>(), zone, |one| one.stack.clone()))
            @for pick in [LATENCY, CPU] { (charge_forest(workload, pick, zone)) }
            @if let Some(three) = verdicts::three_figures_table(workload) { h3 { "Comparison" } (table_markup(&three, usize::MAX)) p class="soft" { (THREE_WORDS) } }
            @for array in &workload.arrays { (in_states(array, zone)) }
            @for one in &workload.clusters { p class="soft" { (typographic_signs(&one.sentence)) "." } }
            (figures(workload, folded))
            (latency_charts(workload))
            (remarks(workload))
    }
}

fn workload_verdicts(workload: &WorkloadFindings) -> Markup {
    verdict_list(&verdicts::workload_sentences(workload))
}

fn verdict_list(all: &[VerdictSentence]) -> Markup {
    html! { ul class="verdicts" { @for said in all { li class=(said.class) { (typographic_signs(&said.text)) } } } }
}

fn ratio_section(findings: &Findings) -> Markup {
    html! {
        @if !findings.tables.is_empty() {
            section {
                h2 { "Side by side" }
                @for (title, figures, remarks) in ratios::tables(findings) {
                    h3 { (title) }
                    (table_markup(&figures, usize::MAX))
                    @for line in &remarks { p class="soft" { (typographic_signs(line)) "." } }
                }
                @if let Some(legend) = ratios::legend(findings) { p class="soft" { (legend) "." } }
            }
        }
    }
}

/// Returns the results of reading data back, if that was requested. They come before any figure.
fn read_back(findings: &Findings) -> Markup {
    let examples = verification::examples(findings);
    html! {
        @if let Some(rows) = verification::read_back_table(findings) {
            section {
                h2 { (verification::TITLE) }
                (verdict_list(&verification::read_back_sentences(findings)))
                @if !examples.is_empty() { ul class="soft" { @for line in &examples { li { (line) } } } }
                (table_markup(&rows, usize::MAX))
                p class="soft" { (verification::LEGEND) "." }
            }
        }
    }
}

fn of_others(findings: &Findings) -> Markup {
    let files = imported::files(findings);
    html! {
        @for one in imported::sections(findings) {
            section {
                h2 { (one.title) }
                (table_markup(&one.table, usize::MAX))
                ul class="soft" { @for line in &one.lines { li { (typographic_signs(line)) "." } } }
            }
        }
        @if let Some(legend) = imported::legend(findings) { p class="soft" { (typographic_signs(&legend)) "." } }
        @if !files.is_empty() {
            section {
                h2 { (imported::FILES) }
                ul class="soft" { @for line in &files { li { (line) } } }
            }
        }
    }
}

fn course_section(findings: &Findings) -> Markup {
    html! {
        @if let Some(found) = limits::course_table(findings) {
            section {
                h2 { "Limits" }
                (verdict_list(&limits::course_sentences(findings, "")))
                @for course in limits::courses(findings) {
                    h3 { (capital(&course.load)) }
                    (plot::course(course))
                }
                (table_markup(&found, usize::MAX))
                p class="soft" { (typographic_signs(limits::LEGEND)) "." }
            }
        }
    }
}

fn trial_section(findings: &Findings) -> Markup {
    let examples = durability::examples(findings);
    html! {
        @if let Some(tried) = durability::trial_table(findings) {
            section {
                h2 { "Durability" }
                (verdict_list(&durability::trial_sentences(findings)))
                (table_markup(&tried, usize::MAX))
                p class="soft" { (typographic_signs(durability::LEGEND)) "." }
                @if !examples.is_empty() {
                    h3 { "Blocks that were not kept" }
                    ul class="soft" { @for line in &examples { li { (line) } } }
                }
            }
        }
    }
}

const THREE_WORDS: &str = "Changes against the baseline. The intervals of rates hold for all of them in the run together, as do those of latencies and \
    those of CPU times. Latencies are under the same offered load; added CPU/IO is that of host and guest together.";

struct IntervalRow {
    name: String,
    note: String,
    mark: Option<String>,
    class: &'static str,
    total: bool,
    emulated: bool,
    bar: Option<Bar>,
    words: String,
}

fn intervals(rows: &[IntervalRow], zone: f64) -> Markup {
    let bars: Vec<Bar> = rows.iter().filter_map(|row| row.bar).collect();
    let scale = Scale::holding_bars(&bars, zone);
    // One word for all rows is enough.
    let all_emulated = rows.len() > 1 && rows.iter().all(|row| row.emulated);
    html! {
        div class="plot" {
            @for row in rows {
                div class=(if row.total { "row total" } else { "row" }) {
                    span {
                        (breakable(&row.name))
                        @if !row.note.is_empty() { " " span class="soft" { (row.note) } }
                        @if row.emulated && !all_emulated { " " span class="tag warn" { "emulated" } }
                        @if let Some(mark) = &row.mark { " " span class="tag" { (mark) } }
                    }
                    (plot::interval(row.bar, scale, zone, row.class, &format!("{} {}", row.name, row.words)))
                    span { (row.words) }
                }
            }
            div class="row axis" {
                span { @if all_emulated { span class="tag warn" { "all emulated" } } }
                (plot::axis(scale))
                span {}
            }
        }
    }
}

fn words_of(ratio: &MeasuredFigure) -> String {
    match change_in_percent(ratio) {
        Shown::Missing => "no figure".to_owned(),
        shown => typographic_signs(&shown.cell()),
    }
}

fn in_states(array: &ArrayStates, zone: f64) -> Markup {
    html! {
        h3 { (breakable(&array.stack)) " in its states" }
        p class="soft" { (typographic_signs(&array.sentence)) "." }
        (verdict_list(&states::state_sentences(array)))
        (forest(&states::comparisons(array), zone, |one| states::state_name(array, one)))
        @if let Some(three) = states::state_table(array) { (table_markup(&three, usize::MAX)) }
    }
}

/// Draws the intervals of rates compared with one stack. `zone`, in percent, is shaded; `named`
/// returns a row's name.
fn forest(comparisons: &[&Comparison], zone: f64, named: impl Fn(&Comparison) -> String) -> Markup {
    let row =
        |one: &Comparison, note: String, verdict: &Verdict, ratio: &MeasuredFigure| IntervalRow {
            name: named(one),
            note,
            mark: one.masked.as_ref().map(|masked| format!("masked: {}", masked.short())),
            class: class_of(verdict),
            total: false,
            emulated: one.emulated.is_some(),
            bar: Bar::from_ratio(ratio),
            words: words_of(ratio),
        };
    let rows_of = |one: &&Comparison| {
        let whole = row(one, one.write_word().to_owned(), &one.rate.verdict, &one.rate.at_once());
        let directions = one.directions.iter().map(|direction| {
            let note = format!("{}s {}", direction.direction, one.write_word());
            row(one, note, &direction.rate.verdict, &direction.rate.at_once())
        });
        std::iter::once(whole).chain(directions).collect::<Vec<_>>()
    };
    let rows: Vec<IntervalRow> = comparisons.iter().flat_map(rows_of).collect();
    let against = comparisons.first().map(|one| one.against.as_str());
    html! {
        @if let Some(against) = against.filter(|_| rows.iter().any(|row| row.bar.is_some())) {
            h3 { "Rate against " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Dot: estimate. Line: 95 % interval. Shaded: within \u{b1}" (zone) " %." }
        }
    }
}

/// Head of a drawing, and the function that picks its figure.
type PickCharge = (&'static str, fn(&Charges) -> &ChargeFinding);
const LATENCY: PickCharge =
    ("Mean latency under the same load, against", |charges| &charges.latency);
const CPU: PickCharge = ("CPU time per I/O, against", |charges| &charges.cpu);

/// Draws the intervals of latencies or CPU times. Stacks without an interval are left out: the
/// sentences say why, and the table has the value.
fn charge_forest(workload: &WorkloadFindings, (head, pick): PickCharge, zone: f64) -> Markup {
    let row = |one: &Charges, note: String, charge: &ChargeFinding| IntervalRow {
        name: one.stack.clone(),
        note,
        mark: None,
        class: class_of(&charge.verdict),
        total: false,
        emulated: one.emulated.is_some(),
        bar: Bar::from_ratio(&charge.ratio),
        words: words_of(&charge.ratio),
    };
    let rows_of = |one: &Charges| {
        let directions = one.directions.iter().filter(|_| head == LATENCY.0);
        let directions = directions.map(|it| row(one, format!("{}s", it.direction), &it.latency));
        std::iter::once(row(one, String::new(), pick(one))).chain(directions).collect::<Vec<_>>()
    };
    let rows = workload.charges.iter().flat_map(rows_of).filter(|row| row.bar.is_some());
    let rows: Vec<IntervalRow> = rows.collect();
    let against = workload.charges.first().map(|one| one.against.as_str()).unwrap_or_default();
    html! {
        @if !rows.is_empty() {
            h3 { (head) " " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Less is better: to the right of 0 the stack takes more." }
        }
    }
}

fn bill_of(bill: &Bill, zone: f64) -> Markup {
    let row = |line: &BillLine, total: bool| IntervalRow {
        name: line.layer.clone(),
        note: String::new(),
        mark: match (&line.masked, verdicts::class_of(&line.verdict)) {
            (Some(masked), _) => Some(format!("masked: {}", masked.short())),
            (None, "open") => Some("unresolved".to_owned()),
            _ => None,
        },
        class: class_of(&line.verdict),
        total,
        emulated: line.emulated.is_some(),
        bar: Bar::from_ratio(&line.ratio),
        words: words_of(&line.ratio),
    };
    let mut rows: Vec<IntervalRow> = bill.lines.iter().map(|line| row(line, false)).collect();
    rows.push(row(&bill.total, true));
    rows.push(row(&bill.unexplained, false));
    html! {
        (intervals(&rows, zone))
        p class="soft" { "Each layer against the stack below it. Factors multiply; percentages do not add." }
        (table_markup(&sheet::bill(bill), sheet::total_of(bill)))
        ul class="soft" { @for line in sheet::reserves(bill) { li { (typographic_signs(&line)) } } }
    }
}

/// Returns a table; `total` is the row that is set off, or one past the end.
fn table_markup(table: &TextTable, total: usize) -> Markup {
    let rows = table.columns.first().map_or(0, |column| column.cells.len());
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr { @for column in &table.columns { th scope="col" { (column.head) } } } }
                tbody {
                    @for at in 0..rows {
                        tr class=(if at == total { "total" } else { "" }) {
                            @for (column, is_name) in table.columns.iter().zip(std::iter::once(true).chain(std::iter::repeat(false))) {
                                @if is_name { (name_of_row(&column.cells[at])) } @else { (cell(&column.cells[at])) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Number of shades in the style sheet.
const SHADES: f64 = 5.0;

/// Returns a table whose cells are shaded. `heat` holds, by column and row, how good each is, from
/// 0 to 1.
fn heat_map(table: &TextTable, heat: &[Vec<Option<f64>>]) -> Markup {
    let Some((names, columns)) = table.columns.split_first() else { return html! {} };
    let shade = |good: f64| format!("heat{:.0}", (good * SHADES).ceil().clamp(1.0, SHADES));
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr { @for column in &table.columns { th scope="col" { (column.head) } } } }
                tbody {
                    @for (at, name) in names.cells.iter().enumerate() {
                        tr {
                            (name_of_row(name))
                            @for (column, heat) in columns.iter().zip(heat) {
                                @match heat[at] {
                                    Some(good) => { td class=(shade(good)) { (figure_kept(&typographic_signs(&column.cells[at]))) } },
                                    None => { (cell(&column.cells[at])) },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(text: &str) -> Markup {
    match text {
        "-" => html! { td class="absent" { "\u{2013}" } },
        "failed" => html! { td class="failed" { "failed" } },
        text => html! { td { (figure_kept(&typographic_signs(text))) } },
    }
}

/// Returns the cell of a row's name. Names of rows below another row are indented.
fn name_of_row(name: &str) -> Markup {
    html! { td class=[name.starts_with(' ').then_some("below")] { (breakable(name.trim_start())) } }
}

/// Keeps a figure on one line, except for its interval in brackets; words may wrap.
fn figure_kept(text: &str) -> Markup {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+\u{2212}<".contains(c)) {
        return html! { (text) };
    }
    let (value, interval) =
        text.split_once(" (").map_or((text, None), |(value, rest)| (value, Some(rest)));
    html! {
        span class="whole" { (value) }
        @if let Some(interval) = interval { " " span class="whole" { "(" (interval) } }
    }
}

/// Lets a name wrap after its commas too. A mark stays with its name, and a state is not split.
fn breakable(name: &str) -> Markup {
    let name = name
        .replace(" *", "\u{a0}*")
        .replace(" ~", "\u{a0}~")
        .replace("healthy again", "healthy\u{a0}again");
    html! { @for part in name.split_inclusive(',') { (part) @if part.ends_with(',') { wbr; } } }
}

fn marks() -> Markup {
    html! {
        p class="soft" {
            "* baseline. \u{b1} reaches to the farther end of the 95 % interval, (a to b) are its ends where \u{b1} would mislead; ? marks a value without one, \u{2013} no figure, ! a figure that carries no conclusion, ~ a stack whose figures are emulated and not representative. CPU/IO: user and system time of "
            "the whole place, with its host's where that is a guest. n: whole rounds."
        }
    }
}

/// Returns the tables of a workload's figures. Their marks are explained, too, unless they are
/// already (`explained`).
fn figures(workload: &WorkloadFindings, explained: bool) -> Markup {
    html! {
        h3 { "Figures" }
        (table_markup(&sheet::stacks(workload), usize::MAX))
        @for (title, apart, note) in sheet::apart_tables(workload) {
            h3 { (capital(&title)) }
            (table_markup(&apart, usize::MAX))
            @if let Some(note) = note { p class="soft" { (capital(note)) "." } }
        }
        @if !explained { (marks()) }
        @for one in probes::sections(workload) {
            h3 { (one.title) }
            (table_markup(&one.table, usize::MAX))
            p class="soft" { (capital(one.legend)) "." }
        }
        @if let Some(crowds) = crowd::crowd_table(workload) {
            h3 { "Guests at once" }
            (table_markup(&crowds, usize::MAX))
            @for line in crowd::crowd_sentences(workload) { p class="soft" { (typographic_signs(&line)) "." } }
        }
        @if let Some(disks) = sheet::targets(workload) {
            details {
                summary { (sheet::TARGETS) }
                (table_markup(&disks, usize::MAX))
            }
        }
        @for (title, places) in workload.crowds.iter().map(|crowd| crowd::places(crowd, false)) {
            details {
                summary { (capital(&title)) }
                (table_markup(&places, usize::MAX))
            }
        }
        @if let Some(drives) = efficiency::efficiency_table(workload) {
            h3 { (efficiency::TITLE) }
            (table_markup(&drives, usize::MAX))
            p class="soft" { (efficiency::legend(workload)) "." }
            @for line in efficiency::efficiency_sentences(workload) { p class="soft" { (typographic_signs(&line)) "." } }
        }
        @if let Some(matched) = &workload.matched {
            h3 { "Latency under the same load" }
            p class="soft" { (verdicts::matched_title(matched)) "." }
            (table_markup(&verdicts::matched_table(matched), usize::MAX))
        }
        @for line in sheet::debts(workload) { p class="soft" { (line) "." } }
        @for line in workload.round_trips.iter().chain(&workload.on_baseline) { p { (typographic_signs(line)) "." } }
        @if let Some(own) = generator::generator_table(workload) {
            details {
                summary { (generator::TITLE) }
                (table_markup(&own, usize::MAX))
                p class="soft" { (generator::LEGEND) "." }
            }
        }
    }
}

fn latency_charts(workload: &WorkloadFindings) -> Markup {
    let directions: Vec<&'static str> = ["read", "write"]
        .into_iter()
        .filter(|way| !curves(&workload.rows, way).is_empty())
        .collect();
    html! { @for direction in directions { (latency_chart(workload, direction)) } }
}

/// Returns the stacks with a curve of a direction, each with the line style of its row.
fn curves<'a>(rows: &'a [StackRow], direction: &str) -> Vec<(&'a StackRow, Curve<'a>)> {
    let of =
        |latency: &&'a LatencyFigures| latency.direction == direction && latency.curve.len() > 1;
    let curve = |(at, row): (usize, &'a StackRow)| {
        let latency = row.latency.iter().find(of)?;
        Some((row, Curve { points: &latency.curve, class: format!("c{}", at % STYLES) }))
    };
    rows.iter().enumerate().filter_map(curve).collect()
}

fn latency_chart(workload: &WorkloadFindings, direction: &str) -> Markup {
    let (rows, curves): (Vec<&StackRow>, Vec<Curve>) =
        curves(&workload.rows, direction).into_iter().unzip();
    let names: Vec<&str> = rows.iter().map(|row| row.stack.as_str()).collect();
    let words = format!(
        "{direction} latency by percentile of {}; the table above has the figures",
        names.join(", ")
    );
    // Shown below the first chart, which has the lines of all directions.
    let first =
        workload.rows.iter().flat_map(|row| &row.latency).map(|latency| latency.direction).next();
    let ratios = sheet::latency_ratios(&workload.comparisons).filter(|_| first == Some(direction));
    html! {
        h3 {
            @match workload.probe {
                Some(_) => "Latency by percentile",
                None => { "Latency of " (direction) "s by percentile, at the stated depth" }
            }
        }
        ul class="legend" {
            @for (name, curve) in names.iter().zip(&curves) {
                li { svg height="8" aria-hidden="true" { line class={ "curve " (curve.class) } x1="0" x2="28" y1="4" y2="4" {} } (name) }
            }
        }
        (plot::latencies(&curves, &words))
        @if let Some(ratios) = ratios {
            h4 { (sheet::LATENCY_CHANGES) }
            (table_markup(&ratios, usize::MAX))
            ul class="soft" { @for line in verdicts::tails(workload) { li { (typographic_signs(&line)) } } }
        }
    }
}

fn remarks(workload: &WorkloadFindings) -> Markup {
    let lines = sheet::remarks(workload);
    html! {
        @if !lines.is_empty() {
            h3 { "Remarks" }
            ul class="soft" { @for line in &lines { li { (line) } } }
        }
    }
}

fn published_section(findings: &Findings) -> Markup {
    html! {
        @if let Some(found) = &findings.published {
            section {
                h2 { (published::TITLE) }
                @for line in published::origin(found) { p class="soft" { (line) } }
                @for (title, rows) in published::tables(findings) {
                    h3 { (title) }
                    (table_markup(&rows, usize::MAX))
                }
                @if let Some(legend) = published::legend(found) { p class="soft" { (legend) "." } }
                ul class="soft" { @for line in &found.sentences { li { (typographic_signs(line)) "." } } }
            }
        }
    }
}

fn not_excluded(findings: &Findings) -> Markup {
    html! {
        @if !findings.preconditioned.is_empty() {
            section {
                h2 { (sheet::PRECONDITIONED) }
                ul { @for line in sheet::preconditioning_lines(findings) { li { (line) } } }
            }
        }
        @if !findings.traffic.is_empty() {
            section {
                h2 { (sheet::TRAFFIC) }
                ul { @for line in sheet::traffic(findings) { li { (line) } } }
            }
        }
        @if !findings.warnings.is_empty() {
            section {
                h2 { "Warnings" }
                ul { @for one in &findings.warnings { li { span class="tag warn" { (one.kind) } " " @if !one.subject.is_empty() { (one.subject) ": " } (one.text) } } }
            }
        }
        @if !findings.not_excluded.is_empty() {
            section {
                h2 { "What is not excluded" }
                ul { @for line in &findings.not_excluded { li { (line) } } }
            }
        }
    }
}

/// Returns the facts about how the run was made. They are open on the page of one run; on a page of
/// several runs they would bury the verdicts.
fn origin(findings: &Findings, open: bool) -> Markup {
    let run = &findings.run;
    html! {
        section {
            h2 { @if run.imported { "How it was imported" } @else { "How it was measured" } }
            dl {
                dt { "run" } dd { (run.id) }
                dt { "iotax" } dd { (run.iotax) }
                @if !run.imported {
                    dt { "scenario" } dd { (run.source) }
                    dt { "seed" } dd { (run.seed) }
                }
                @if run.torn > 0 { dt { "torn frames" } dd { (run.torn) } }
            }
            pre { (run.command) }
            @let stacks = sheet::stacks_in_full(findings);
            @if !stacks.is_empty() {
                h3 { (sheet::STACKS) }
                ul { @for (name, text) in stacks { li { b { (name) } ": " code { (text) } } } }
            }
            @if let Some(read_back) = disks::guest_disk_table(findings) {
                h3 { "Disks of guests" }
                (table_markup(&read_back, usize::MAX))
                p class="soft" { (disks::LEGEND) "." }
            }
            @if !findings.layers.is_empty() {
                h3 { (disks::LAYERS) }
                ul { @for line in disks::layers(findings) { li { (line) } } }
            }
            @for place in &findings.places { (place_of(place, open)) }
        }
    }
}

fn place_of(place: &PlaceReport, open: bool) -> Markup {
    html! {
        h3 { (place.place) @if place.emulated.is_some() { span class="tag warn" { "emulated" } } }
        details open[open] {
            summary { "facts and commands" }
            dl { @for (key, value) in sheet::fact_pairs(&place.facts) { dt { (key) } dd { (value) } } }
            @for command in &place.commands { pre { (command) } }
        }
    }
}

fn method() -> Markup {
    html! {
        section {
            h2 { "Method" }
            p {
                "Slices of all stacks alternate in random order, mirrored within each round, so that the machine's own noise "
                "meets all alike. A ratio is the total of a stack over the total of the baseline; its 95 % interval comes from "
                "how it varies from round to round, and no verdict is given while batches of rounds still depend on each other. "
                "Measuring stops when the interval is narrow enough, never because it looks significant. Latencies are compared "
                "where all stacks get the same load; percentiles are read from merged histograms. Costs and gains in throughput "
                "are held against all others of the run. METHOD.md of iotax has the formulas."
            }
        }
    }
}

fn method_of_others() -> Markup {
    html! {
        section {
            h2 { "Imported figures" }
            p { (imported::METHOD) }
        }
    }
}

#[cfg(test)]
pub(super) fn escaped_signed(text: &str) -> String {
    html! { (typographic_signs(text)) }.into_string()
}
