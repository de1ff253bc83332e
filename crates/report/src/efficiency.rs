//! Stacks against the limits of their drives: a row per stack and source of the drives' figures.

use super::number::{Shown, share_of_baseline};
use super::table::{PartRow, TextTable};
use iotax_analysis::findings::efficiency::{DirectionEfficiency, Efficiency, FigureOrigin};
use iotax_analysis::findings::{MeasuredFigure, WorkloadFindings};

pub(super) const TITLE: &str = "Against what the drives could do";

const LEGEND: &str = "could: the most that the drives allow under this load, by the arithmetic of their layout; measured: all drives loaded \
     at once, each with the whole depth; rated: by the data sheet; of all: of the same drives if every I/O were one of a drive";
/// Addition to the legend if links are known.
const OF_LINKS: &str = "; link, network: the largest packets of what their data cross, with nothing else on it; tcp: as measured in this run";
/// Addition to the legend for a mix.
const OF_DIRECTIONS: &str = "; reads, writes: each against the limit of a load of that direction alone; where both share that limit, neither reaches 100 %";

pub(super) fn legend(workload: &WorkloadFindings) -> String {
    let links = workload.efficiency.iter().any(|one| one.by.is_on_the_way());
    let directions = workload.efficiency.iter().any(|one| !one.directions.is_empty());
    let more = [(links, OF_LINKS), (directions, OF_DIRECTIONS)];
    more.into_iter()
        .filter(|(is_there, _)| *is_there)
        .fold(LEGEND.to_owned(), |all, (_, text)| all + text)
}

/// Returns the table; `None` if nothing is known of the drives.
pub(super) fn efficiency_table(workload: &WorkloadFindings) -> Option<TextTable> {
    let lines: Vec<EfficiencyLine> = workload
        .efficiency
        .iter()
        .flat_map(|one| EfficiencyLine::whole_and_directions(one, &one.directions))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    let cells =
        |cell: &dyn Fn(&EfficiencyLine) -> String| lines.iter().map(cell).collect::<Vec<_>>();
    let whole = |cell: &dyn Fn(&Efficiency) -> String| {
        let cell = |line: &EfficiencyLine| {
            if line.direction.is_none() { cell(line.whole) } else { String::new() }
        };
        cells(&cell)
    };
    let of = |figure: Option<&MeasuredFigure>| {
        figure.map_or_else(String::new, |figure| share_of_baseline(figure).cell())
    };
    table.push("stack", 0, cells(&|line| line.name()));
    table.push("of its drives", 0, cells(&|line| share_of_baseline(line.reached_share()).cell()));
    if workload.efficiency.iter().any(|one| one.published.is_some()) {
        table.push("published", 1, whole(&|one| of(one.published.as_ref())));
    }
    table.push("drives", 3, whole(&|one| one.drives.to_string()));
    table.push("could", 1, cells(&|line| Shown::from_figure(line.could()).cell()));
    if workload.efficiency.iter().any(|one| one.of_all.is_some()) {
        table.push("of all", 4, cells(&|line| of(line.of_all())));
    }
    table.push("by", 2, whole(&|one| one.by.word().to_owned()));
    let rules = whole(&bound);
    if rules.iter().any(|rule| !rule.is_empty()) {
        table.push("bound", 5, rules);
    }
    Some(table)
}

/// A line of the table: a stack, or a direction of a mix below it.
type EfficiencyLine<'a> = PartRow<'a, Efficiency, DirectionEfficiency>;

impl<'a> PartRow<'a, Efficiency, DirectionEfficiency> {
    fn name(&self) -> String {
        let emulated = if self.whole.emulated.is_some() { " ~" } else { "" };
        match self.direction {
            Some(direction) => format!("  {}s", direction.direction),
            None => format!("{}{emulated}", self.whole.stack),
        }
    }

    fn reached_share(&self) -> &MeasuredFigure {
        self.direction.map_or(&self.whole.share, |direction| &direction.share)
    }

    fn could(&self) -> &MeasuredFigure {
        self.direction.map_or(&self.whole.could, |direction| &direction.could)
    }

    fn of_all(&self) -> Option<&MeasuredFigure> {
        self.direction.map_or(self.whole.of_all.as_ref(), |direction| direction.of_all.as_ref())
    }
}

fn bound(one: &Efficiency) -> String {
    let drive = match &one.by {
        FigureOrigin::Rated { drive, .. } => drive.as_deref(),
        _ => None,
    };
    let words: Vec<&str> =
        drive.into_iter().chain([one.rule.as_str()]).filter(|word| !word.is_empty()).collect();
    words.join("; ")
}

/// Returns one sentence per stack: on the measured bound if there is one, else on the lowest of the
/// other bounds.
pub(super) fn efficiency_sentences(workload: &WorkloadFindings) -> impl Iterator<Item = String> {
    let mut said: Vec<&Efficiency> = Vec::new();
    for one in &workload.efficiency {
        match said.last_mut().filter(|last| last.stack == one.stack) {
            None => said.push(one),
            Some(last) if is_lower(one, last) => *last = one,
            Some(_) => {}
        }
    }
    said.into_iter().map(|one| one.sentence.clone()).collect::<Vec<_>>().into_iter()
}

fn is_lower(one: &Efficiency, other: &Efficiency) -> bool {
    let bounds = [one, other].map(|one| one.could.value());
    !matches!(other.by, FigureOrigin::Measured { .. })
        && matches!(bounds, [Some(one), Some(other)] if one < other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::findings::SampleUnit;
    use iotax_analysis::{findings, twin};

    #[test]
    fn reads_and_writes_of_a_mix_are_lines_below_their_stack() {
        let mut workload = findings(&twin::arrays()).workloads.remove(2);
        workload.efficiency.retain(|one| one.stack == "raid5" && one.by.word() == "rated");
        let figure = |value, unit| {
            MeasuredFigure::bare(value, unit, (1, SampleUnit::Ratings), "a rating has no interval")
        };
        let one = &mut workload.efficiency[0];
        // 5,000 reads and 5,000 writes a second of five drives that read 20k and write 10k.
        (one.could, one.share) = (figure(28_571.4, "1/s"), figure(0.35, "1"));
        let [read, write] = one.directions.as_mut_slice() else { panic!("{one:?}") };
        (read.could, read.share) = (figure(100_000.0, "1/s"), figure(0.05, "1"));
        (write.could, write.share) = (figure(16_666.7, "1/s"), figure(0.3, "1"));
        let table = efficiency_table(&workload).unwrap();
        let column = |head: &str| {
            table.columns.iter().find(|column| column.head == head).unwrap().cells.clone()
        };
        assert_eq!(column("stack"), ["raid5", "  reads", "  writes"]);
        for (head, wanted) in [
            ("of its drives", ["35", "5", "30"]),
            ("could", ["28.6k", "100", "16.7k"]),
            ("drives", ["5", "", ""]),
        ] {
            for (cell, wanted) in column(head).iter().zip(wanted) {
                assert!(cell.starts_with(wanted), "{head}: {cell}, not {wanted}");
            }
        }
        assert!(legend(&workload).ends_with(OF_DIRECTIONS));
    }
}
