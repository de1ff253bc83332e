//! The answer of a fleet, which a terminal shows without `-v`: at most [`FLEET_LINES`] lines at 80
//! columns, however many hosts there are.

use super::{sheet, table};
use crate::document::FEW_HOSTS;
use crate::ink::Ink;
use crate::table::{LeftOut, TextTable, wrap_words};
use crate::terminal::{NARROWEST, indented};
use crate::{PageContext, ReportPlaces};
use iotax_analysis::findings::fleet::{ComparedHost, FleetFigure, FleetFindings};
use iotax_units::count_noun;

/// Largest number of lines of an answer at 80 columns or more.
pub const FLEET_LINES: usize = 25;

/// Most rows of figures and of outliers.
const ROWS: usize = 5;

/// Most rows of outliers of many hosts.
const MANY_ROWS: usize = 3;

/// Most lines of the answer itself and of each of the alarms.
const ANSWER_LINES: usize = 5;

/// Returns the answer of a fleet.
pub fn brief(found: &FleetFindings, places: &ReportPlaces, page: &PageContext) -> String {
    let width = page.width.max(NARROWEST);
    let look = page.look;
    let wrapped = |text: &str| wrap_words(&look.signs(text), width, "  ");
    let mut top = look.ink(Ink::Dim, &first_lines(&wrapped(&sheet::fleet_identity(found)), 2));
    for alarm in found.alarms.iter().take(2) {
        top += &first_lines(&wrapped(&format!("! {alarm}")), 2);
    }
    let mark = look.mark(found.answer.class);
    let answer = wrapped(&format!("{mark} {}", found.answer.sentence));
    top += &format!("\n{}", look.ink(Ink::Bold, &first_lines(&answer, ANSWER_LINES)));
    let closing = closing_lines(found, places, page);
    let mut text = top;
    let mut room = FLEET_LINES.saturating_sub(text.lines().count() + closing.lines().count());
    let mut add = |part: String| {
        let lines = part.lines().count();
        let fits = lines <= room;
        if fits {
            text += &part;
            room -= lines;
        }
        fits
    };
    let outliers: Vec<&ComparedHost> = found.hosts.iter().filter(|one| one.is_outlier()).collect();
    if !outliers.is_empty() {
        let most = if found.hosts.len() > FEW_HOSTS { MANY_ROWS } else { ROWS };
        let shown: Vec<&ComparedHost> = outliers.iter().take(most).copied().collect();
        let (matrix, left_out) = table::fitted_matrix(found, &shown, width);
        let more = outliers.len() - shown.len();
        let counted = |many: usize, one: &str, several: &str| {
            (many > 0).then(|| count_noun(many as u64, one, several))
        };
        let more = [
            counted(more, "more outlier", "more outliers"),
            counted(
                left_out,
                "more figure in which they differ",
                "more figures in which they differ",
            ),
        ];
        let more = more.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let more = if more.is_empty() { more } else { format!("and {more}") };
        add(format!("\n{}{}", fitted_table(&matrix, page, width), soft_line(&more, page)));
    }
    let figures = brief_figures(found, page);
    // Long names take several lines each.
    for count in (1..=figures.row_count().min(ROWS)).rev() {
        let more = figures.row_count() - count;
        let more = match more {
            0 => String::new(),
            some => format!("and {}", count_noun(some as u64, "more figure", "more figures")),
        };
        let rows = figures.of_rows(&(0..count).collect::<Vec<_>>());
        let rows = format!("\n{}{}", fitted_table(&rows, page, width), soft_line(&more, page));
        if add(rows) {
            break;
        }
    }
    format!("{}{closing}", look.painted(&text))
}

fn fitted_table(table: &TextTable, page: &PageContext, width: usize) -> String {
    page.look.table(table).to_text(width, &mut LeftOut::default())
}

fn soft_line(text: &str, page: &PageContext) -> String {
    match text {
        "" => String::new(),
        text => page.look.ink(Ink::Dim, &indented(text, page.width.max(NARROWEST))),
    }
}

/// Returns a row for each figure. Of many hosts there is their distribution, too: roots of counts,
/// so that single hosts can be seen beside hundreds.
fn brief_figures(found: &FleetFindings, page: &PageContext) -> TextTable {
    let cells = |cell: &dyn Fn(&FleetFigure) -> String| found.figures.iter().map(cell).collect();
    let mut table = TextTable::default();
    table.push("figure", 0, cells(&|one| sheet::figure_name(found, one)));
    table.push("mean over hosts", 0, cells(&|one| sheet::counted_mean_cell(found, one)));
    let spread = |one: &FleetFigure| sheet::bare_spread(&one.spread);
    table.push("spread", 0, cells(&spread));
    let others = |one: &FleetFigure| {
        one.spread_of_others.as_ref().map(sheet::bare_spread).unwrap_or_default()
    };
    table.push_known("without outliers", 2, cells(&others));
    table.push("next host", 1, cells(&sheet::next_cell));
    if found.hosts.len() > FEW_HOSTS {
        let line = |one: &FleetFigure| match &one.bins {
            Some(bins) => {
                let counts = bins.counts.chunks(2).map(|two| two.iter().sum::<usize>() as f64);
                page.look.sparkline(counts.map(f64::sqrt))
            }
            None => String::new(),
        };
        table.push("over hosts", 1, cells(&line));
    }
    table
}

/// Returns hosts without a result, drift, and where the rest is.
fn closing_lines(found: &FleetFindings, places: &ReportPlaces, page: &PageContext) -> String {
    let width = page.width.max(NARROWEST);
    let line =
        |text: &str, most: usize| first_lines(&indented(&page.look.signs(text), width), most);
    let missing = sheet::missing_lines(found);
    let mut text = String::from("\n");
    for one in missing.iter().take(2) {
        text += &line(one, 2);
    }
    if missing.len() > 2 {
        let more = count_noun(missing.len() as u64 - 2, "more reason", "more reasons");
        text += &line(&format!("and {more}; -v has all"), 1);
    }
    if let Some(drift) = &found.drift {
        text += &line(&format!("since {}: {}", drift.earlier, drift.sentence), 2);
    }
    let all = format!("{} -v: all figures, causes and facts", places.command);
    let rest = match places.page {
        Some(path) => format!("\u{2192} {}", path.display()),
        None => format!("{} -o fleet.html: the page", places.command),
    };
    text + &page.look.ink(Ink::Dim, &format!("  {all}\n  {rest}\n"))
}

/// Returns the first lines of a text; the last one shows that there were more, in place of words if
/// it would be wider than the others.
fn first_lines(text: &str, most: usize) -> String {
    const MORE: &str = " ...";
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines.iter().take(most).map(|line| format!("{line}\n")).collect::<String>();
    if lines.len() <= most {
        return kept;
    }
    let columns = |line: &str| line.chars().count();
    let width = lines.iter().map(|line| columns(line)).max().unwrap_or(0);
    let mut kept = kept.trim_end();
    while columns(kept.lines().last().unwrap_or_default()) + columns(MORE) > width {
        let Some((shorter, _)) = kept.rsplit_once(' ') else { break };
        kept = shorter.trim_end();
    }
    format!("{kept}{MORE}\n")
}
