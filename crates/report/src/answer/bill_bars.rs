//! The bill as bars: what is left of the baseline's rate after each layer, and what each takes.

use super::super::PageContext;
use super::super::look::TerminalLook;
use super::super::number::{Shown, change_in_percent};
use super::super::table::TextTable;
use super::super::verdicts::class_of;
use iotax_analysis::findings::{Bill, BillLine, MeasuredFigure};
use iotax_stats::round::Margin;

/// Widths of a bar in columns; the largest is used that leaves room for all columns.
const WIDTHS: [usize; 4] = [20, 16, 12, 8];

/// Returns the table; `None` if the shares of the baseline are not known, as in old runs, or if a
/// layer has reads and writes apart.
pub(super) fn bill_bars(bill: &Bill, page: &PageContext) -> Option<TextTable> {
    let tables = WIDTHS.map(|width| bars_of_width(bill, width, page.look));
    let [.., narrowest] = &tables;
    let fitting = tables.iter().flatten().find(|one| page.look.table(one).fits(page.width));
    fitting.or(narrowest.as_ref()).cloned()
}

fn bars_of_width(bill: &Bill, width: usize, look: TerminalLook) -> Option<TextTable> {
    let share = |line: &BillLine| Some(line.of_baseline.value()? - 1.0);
    let shares: Vec<f64> = bill.lines.iter().map(share).collect::<Option<_>>()?;
    let has_directions = bill.lines.iter().any(|line| !line.directions.is_empty());
    if has_directions || share(&bill.total).is_none() {
        return None;
    }
    let base = &bill.lines.first()?.on;
    let mut left = 1.0;
    let mut bars = vec![rate_bar(1.0, 0.0, width, look)];
    for share in shares {
        left += share;
        bars.push(rate_bar(left, -share, width, look));
    }
    let total = share(&bill.total)?;
    bars.push(rate_bar(1.0 + total, -total, width, look));
    let mut lines: Vec<&BillLine> = bill.lines.iter().chain([&bill.total]).collect();
    let unexplained = change_in_percent(&bill.unexplained.ratio);
    if unexplained.digits().is_some_and(|digits| !digits.value.trim_matches(['0', '.']).is_empty())
    {
        lines.push(&bill.unexplained);
        bars.push(String::new());
    }
    let mut table = TextTable::named_table("bill");
    let name = |line: &&BillLine| {
        let emulated = if line.emulated.is_some() { " ~" } else { "" };
        let masked = if line.masked.is_some() { " (masked)" } else { "" };
        let layer = if line.layer == "total" { "together" } else { &line.layer };
        format!("{} {layer}{emulated}{masked}", look.mark(class_of(&line.verdict)))
    };
    let with_base = |first: String, cells: Vec<String>| [vec![first], cells].concat();
    table.push("  layer", 0, with_base(format!("  {base}"), lines.iter().map(name).collect()));
    table.push("% left", 2, bars);
    let points = |line: &&BillLine| match &line.of_baseline {
        figure @ MeasuredFigure::Known { .. } => show_points(figure),
        _ => change_in_percent(&line.ratio).cell(),
    };
    table.push("points", 0, with_base(String::new(), lines.iter().map(points).collect()));
    let added = |pick: fn(&BillLine) -> &MeasuredFigure| {
        let cell = |line: &&BillLine| signed_cell(&Shown::from_figure(pick(line)));
        with_base(String::new(), lines.iter().map(cell).collect())
    };
    table.push_known("latency", 0, added(|line| &line.added_latency));
    table.push_known("CPU per I/O", 1, added(|line| &line.added_cpu));
    Some(table)
}

/// Returns a bar of `width` columns for the whole baseline: what is left, what this layer lost, and
/// the percentage left.
fn rate_bar(left: f64, lost: f64, width: usize, look: TerminalLook) -> String {
    let [full, gone] = if look.ascii { ['#', '.'] } else { ['\u{2588}', '\u{2592}'] };
    let cells = |share: f64| (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    let end = cells(left + lost.max(0.0));
    let kept = cells(left).min(width);
    let mut text: String = std::iter::repeat_n(full, kept).collect();
    text.extend(std::iter::repeat_n(gone, end.saturating_sub(kept)));
    let blank = " ".repeat(width.saturating_sub(text.chars().count()));
    format!("{text}{blank} {:>3.0}", 100.0 * left)
}

/// Returns the change in points of the baseline: `-18.5 +- 1.7`.
fn show_points(of_baseline: &MeasuredFigure) -> String {
    change_in_percent(of_baseline).cell().trim_end_matches(" %").to_owned()
}

/// Returns a difference with its sign.
pub(super) fn signed_cell(shown: &Shown) -> String {
    let cell = shown.cell();
    match shown.digits() {
        Some(digits) if !cell.starts_with('-') && digits.margin != Margin::Unknown => {
            format!("+{cell}")
        }
        _ => cell,
    }
}
