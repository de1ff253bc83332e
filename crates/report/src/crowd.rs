//! Guests next to each other, and hosts that load together: how evenly they share, their total, and
//! the gain of many over one.

use super::number::{Shown, share_of_baseline, three_digits};
use super::sheet;
use super::table::{PartRow, TextTable};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::crowd::{Crowd, CrowdDirection, PlaceRow, Scaling};

/// Returns a row for each stack whose load runs in several places, and for a mix a row below it for
/// each direction. Returns `None` if there is no such stack.
pub(super) fn crowd_table(workload: &WorkloadFindings) -> Option<TextTable> {
    let lines: Vec<CrowdLine> = workload
        .crowds
        .iter()
        .flat_map(|one| CrowdLine::whole_and_directions(one, &one.directions))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    let cells = |cell: &dyn Fn(&CrowdLine) -> String| lines.iter().map(cell).collect::<Vec<_>>();
    let whole = |cell: &dyn Fn(&Crowd) -> String| {
        cells(&|line| if line.direction.is_none() { cell(line.whole) } else { "-".to_owned() })
    };
    table.push("at once", 0, cells(&|line| line.name()));
    table.push("slowest", 0, cells(&|one| of_place(one.slowest())));
    table.push("fastest", 1, cells(&|one| of_place(one.fastest())));
    table.push("slowest of fastest", 5, cells(&|one| share_of_baseline(one.spread()).cell()));
    table.push("Jain", 2, cells(&|one| Shown::from_figure(one.jain()).cell()));
    table.push("all ran", 4, whole(&|one| format!("{:.1} %", 100.0 * one.together)));
    if workload.crowds.iter().any(|one| one.scaling.is_some()) {
        table.push("times", 0, cells(&|line| line.scaling_cell()));
        table.push("of linear", 1, cells(&|line| line.efficiency()));
    }
    table.push("IOPS/busy core", 3, whole(&|one| Shown::from_figure(&one.per_core).cell()));
    let engine = |one: &Crowd| {
        let row = workload.rows.iter().find(|row| row.stack == one.stack)?;
        Some(&row.serving.as_ref()?.iops_per_core)
    };
    if workload.crowds.iter().any(|one| engine(one).is_some()) {
        let cell = |one: &Crowd| {
            engine(one).map_or_else(|| "-".to_owned(), |figure| Shown::from_figure(figure).cell())
        };
        table.push(sheet::PER_ENGINE_CORE, 3, whole(&cell));
    }
    Some(table)
}

/// A line of the table: a stack, or a direction below it.
type CrowdLine<'a> = PartRow<'a, Crowd, CrowdDirection>;

impl<'a> PartRow<'a, Crowd, CrowdDirection> {
    fn name(&self) -> String {
        let without = match self.whole.left_out.as_slice() {
            [] => String::new(),
            names => format!(" without {}", names.join(", ")),
        };
        match self.direction {
            Some(one) => format!("  {}s", one.direction),
            None if without.is_empty() => marked_crowd_name(self.whole),
            None => format!("{}{without}", marked_crowd_name(self.whole)),
        }
    }

    fn slowest(&self) -> &(String, f64) {
        self.direction.map_or(&self.whole.slowest, |one| &one.slowest)
    }

    fn fastest(&self) -> &(String, f64) {
        self.direction.map_or(&self.whole.fastest, |one| &one.fastest)
    }

    fn spread(&self) -> &MeasuredFigure {
        self.direction.map_or(&self.whole.spread, |one| &one.spread)
    }

    fn jain(&self) -> &MeasuredFigure {
        self.direction.map_or(&self.whole.jain, |one| &one.jain)
    }

    /// Returns `2.01 +- 0.03 of 4`: the rate in many places over that in fewer, and the ratio of
    /// the numbers of places.
    fn scaling_cell(&self) -> String {
        let Some(scaling) = &self.whole.scaling else { return "-".to_owned() };
        let ratio = self.direction.map_or(Some(&scaling.ratio), |one| one.ratio.as_ref());
        let Some(shown) = ratio.map(Shown::from_figure) else { return "-".to_owned() };
        match shown.digits() {
            Some(_) => format!("{} of {}", shown.cell(), scaling.places),
            None => shown.cell(),
        }
    }

    fn efficiency(&self) -> String {
        let Some(scaling) = &self.whole.scaling else { return "-".to_owned() };
        let efficiency =
            self.direction.map_or(Some(&scaling.efficiency), |one| one.efficiency.as_ref());
        efficiency.map_or_else(|| "-".to_owned(), |figure| share_of_baseline(figure).cell())
    }
}

/// Largest number of places that the short table shows one by one.
const MANY: usize = 8;

/// Returns the title and a table with a row for each place of a stack. If `short`, a table of more
/// than [`MANY`] places has only the fastest, the median and the slowest.
pub(super) fn places(crowd: &Crowd, short: bool) -> (String, TextTable) {
    let stack = marked_crowd_name(crowd);
    let mut rows: Vec<&PlaceRow> = crowd.rows.iter().collect();
    let title = match rows.len() {
        all if short && all > MANY => {
            let iops = |row: &PlaceRow| row.iops.value().unwrap_or(0.0);
            rows.sort_by(|one, other| iops(other).total_cmp(&iops(one)));
            rows = vec![rows[0], rows[all / 2], rows[all - 1]];
            format!("fastest, median and slowest of the {all} places of {stack}")
        }
        _ => format!("places of {stack}"),
    };
    let mut table = TextTable::default();
    let cells =
        |cell: &dyn Fn(&PlaceRow) -> String| rows.iter().map(|row| cell(row)).collect::<Vec<_>>();
    let figure = |figure: Option<&MeasuredFigure>| {
        figure.map_or_else(|| "-".to_owned(), |one| Shown::from_figure(one).cell())
    };
    table.push("place", 0, cells(&|row| row.place.clone()));
    table.push("IOPS", 0, cells(&|row| figure(Some(&row.iops))));
    table.push("throughput", 3, cells(&|row| figure(Some(&row.bytes_per_s))));
    table.push("of the mean", 0, cells(&|row| share_of_baseline(&row.of_mean).cell()));
    table.push("p99", 1, cells(&|row| figure(Some(&row.p99))));
    if rows.iter().any(|row| row.read_iops.is_some()) {
        table.push("read IOPS", 2, cells(&|row| figure(row.read_iops.as_ref())));
        table.push("write IOPS", 2, cells(&|row| figure(row.write_iops.as_ref())));
    }
    (title, table)
}

fn marked_crowd_name(crowd: &Crowd) -> String {
    let emulated = if crowd.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", crowd.stack)
}

fn of_place((place, iops): &(String, f64)) -> String {
    format!("{} ({place})", three_digits(*iops))
}

pub(super) fn crowd_sentences(workload: &WorkloadFindings) -> impl Iterator<Item = String> {
    let said = |crowd: &Crowd| match &crowd.scaling {
        Some(scaling) => format!("{}; {}", crowd.sentence, scaling_words(scaling)),
        None => crowd.sentence.clone(),
    };
    workload.crowds.iter().map(said).collect::<Vec<_>>().into_iter()
}

fn scaling_words(scaling: &Scaling) -> String {
    let Scaling { against, places, .. } = scaling;
    let caution = scaling.caution.as_deref();
    match (
        Shown::from_figure(&scaling.ratio).digits(),
        share_of_baseline(&scaling.efficiency).digits(),
    ) {
        (Some(ratio), Some(of)) => format!(
            "{} times the rate of {against} in {places} times as many places: {} of linear{}",
            ratio.to_words(),
            of.to_words(),
            caution.map(|caution| format!(" ({caution})")).unwrap_or_default()
        ),
        _ => format!("against {against}: no figure ({})", caution.unwrap_or("none was found")),
    }
}
