//! Lines of the table about short slices.

use super::super::cell::{AddedTime, Concluded, Repetition, SimulatedCell, StatedVerdict};
use super::super::kinds::Class;
use super::super::lines::{
    CellPart, LineBound, LineTable, LineUnit, SelfcheckLine, average, coverage_flags, firsts,
    is_difference, share_of_hits,
};

/// One cell of the table: the simulated comparison and the outcome of each repetition.
type Simulated<'a> = (&'a SimulatedCell, &'a Vec<Repetition>);

impl LineTable<'_> {
    pub(in super::super) fn short(&self) -> Vec<SelfcheckLine> {
        [
            self.short_false_positives(),
            self.short_coverage(),
            self.short_bias(),
            self.short_power(),
            self.short_times(),
            self.short_added(),
        ]
        .concat()
    }

    fn short_cells(
        &self,
        wanted: impl Fn(Class, f64) -> bool,
    ) -> impl Iterator<Item = Simulated<'_>> {
        self.cells_for(
            move |part| matches!(part, CellPart::Short(class, cost) if wanted(class, cost)),
        )
    }

    fn short_shared(&self, cost: f64) -> impl Iterator<Item = Simulated<'_>> {
        self.short_cells(move |class, at| class == Class::Shared && at == cost)
    }

    /// Returns the cells of noise that affects all stacks, at one cost, without replays: those were
    /// recorded while the machine compiled something, and are shown by themselves.
    fn short_made_up(&self, cost: f64) -> impl Iterator<Item = Simulated<'_>> {
        self.short_shared(cost).filter(|(cell, _)| !is_replay(cell))
    }

    fn short_false_positives(&self) -> Vec<SelfcheckLine> {
        let figure = "A/A false positives in short slices";
        let line = |of: &str, hits: &mut dyn Iterator<Item = &Concluded>, most: f64| {
            let sample = share_of_hits(hits.map(is_difference), self.reps);
            SelfcheckLine::new(figure, of, sample, LineUnit::Share, LineBound::AtMost(most))
        };
        let one = |(cell, outcomes): Simulated| {
            line(
                &cell.source.name(),
                &mut firsts(outcomes),
                if is_replay(cell) { 0.1 } else { 0.065 },
            )
        };
        let mut lines: Vec<SelfcheckLine> = self.short_shared(0.0).map(one).collect();
        let mut all = self.short_made_up(0.0).flat_map(|(_, outcomes)| firsts(outcomes));
        lines.push(line("pooled", &mut all, 0.053));
        lines
    }

    fn short_coverage(&self) -> Vec<SelfcheckLine> {
        let mut lines = Vec::new();
        for cost in self.short_costs() {
            let figure = format!("coverage in short slices at true {} %", 100.0 * cost);
            let line = |of: &str, sample, bound| {
                SelfcheckLine::new(&figure, of, sample, LineUnit::Share, bound)
            };
            for (cell, outcomes) in self.short_shared(cost) {
                let sample = share_of_hits(coverage_flags(outcomes), self.reps);
                lines.push(line(&cell.source.name(), sample, least_coverage(cell)));
            }
            let all = self.short_made_up(cost).flat_map(|(_, outcomes)| coverage_flags(outcomes));
            lines.push(line(
                "pooled",
                share_of_hits(all, self.reps),
                LineBound::Between(0.935, 0.98),
            ));
        }
        for (cell, outcomes) in self.short_cells(|class, _| class != Class::Shared) {
            let figure =
                format!("coverage in short slices at true {} %, noise in B only", percent(cell));
            let sample = share_of_hits(coverage_flags(outcomes), self.reps);
            let name = cell.source.name();
            lines.push(SelfcheckLine::new(
                &figure,
                &name,
                sample,
                LineUnit::Share,
                least_coverage(cell),
            ));
        }
        lines
    }

    fn short_bias(&self) -> Vec<SelfcheckLine> {
        let figure = "bias in short slices at true 2 %";
        let one = |(cell, outcomes): Simulated| {
            let sample = average(firsts(outcomes).filter_map(|one| one.error), self.reps);
            let name = cell.source.name();
            let known =
                MOST_BIAS.iter().find(|(known, _)| *known == name).map_or(0.001, |(_, most)| *most);
            let bound =
                if is_hard(cell) { LineBound::Shown } else { LineBound::Between(-known, known) };
            SelfcheckLine::new(figure, &name, sample, LineUnit::Points, bound)
        };
        self.short_cells(|_, cost| cost == 0.02)
            .filter(|(cell, _)| !is_replay(cell))
            .map(one)
            .collect()
    }

    fn short_power(&self) -> Vec<SelfcheckLine> {
        let said = |said: StatedVerdict| {
            let all = self.short_made_up(0.02).flat_map(|(_, outcomes)| firsts(outcomes));
            share_of_hits(all.map(move |one| one.said == said), self.reps)
        };
        let refused = self
            .short_cells(|class, _| class == Class::Shared)
            .filter(|(cell, _)| !is_replay(cell));
        let refused =
            refused.flat_map(|(_, outcomes)| firsts(outcomes)).map(|one| one.refused.is_some());
        [
            (
                "says costs in short slices at true 2 %",
                said(StatedVerdict::Costs),
                LineBound::AtLeast(0.97),
            ),
            (
                "says no difference in short slices at true 2 %",
                said(StatedVerdict::None),
                LineBound::AtMost(0.025),
            ),
            (
                "false refusals in short slices",
                share_of_hits(refused, self.reps),
                LineBound::AtMost(0.01),
            ),
        ]
        .map(|(figure, sample, bound)| {
            SelfcheckLine::new(figure, "pooled", sample, LineUnit::Share, bound)
        })
        .to_vec()
    }

    fn short_times(&self) -> Vec<SelfcheckLine> {
        let mut lines = Vec::new();
        for cost in self.short_costs() {
            let figure = format!("mean time in short slices at true {} %", 100.0 * cost);
            for (cell, outcomes) in self.short_shared(cost) {
                let name = cell.source.name();
                let bound = MOST_S.iter().find(|(known, _)| *known == name);
                let bound = bound.map_or(LineBound::Shown, |(_, most)| LineBound::AtMost(*most));
                let sample = average(outcomes.iter().map(|one| one.took_s), self.reps);
                lines.push(SelfcheckLine::new(&figure, &name, sample, LineUnit::Seconds, bound));
            }
        }
        lines
    }

    /// Returns the lines about the time added to each I/O, for the cells with one I/O in flight.
    fn short_added(&self) -> Vec<SelfcheckLine> {
        let mut lines = Vec::new();
        for cost in self.short_costs() {
            let added_us = 1e6 * super::added_s(cost);
            let (covers, bias) = (
                format!("coverage of added {added_us:.1} us"),
                format!("bias of added {added_us:.1} us"),
            );
            let mut pooled: Vec<AddedTime> = Vec::new();
            for (cell, outcomes) in self.short_shared(cost) {
                let added: Vec<AddedTime> = firsts(outcomes).filter_map(|one| one.added).collect();
                if added.is_empty() {
                    continue;
                }
                let name = cell.source.name();
                let follows = cost > 0.0 && FOLLOWS_LEVEL.contains(&name.as_str());
                let bound = if follows { LineBound::Shown } else { least_coverage(cell) };
                let sample = share_of_hits(added.iter().map(AddedTime::is_covered), self.reps);
                lines.push(SelfcheckLine::new(&covers, &name, sample, LineUnit::Share, bound));
                if !follows && !is_replay(cell) {
                    pooled.extend(added);
                }
            }
            let sample = share_of_hits(pooled.iter().map(AddedTime::is_covered), self.reps);
            let bound = LineBound::Between(0.935, 0.99);
            lines.push(SelfcheckLine::new(&covers, "pooled", sample, LineUnit::Share, bound));
            let sample = average(pooled.iter().map(|one| one.off_s), self.reps);
            let bound = LineBound::Between(-1e-7, 1e-7);
            lines.push(SelfcheckLine::new(&bias, "pooled", sample, LineUnit::Micros, bound));
        }
        lines
    }

    /// Returns all true costs at which shared noise is simulated, the smallest first.
    fn short_costs(&self) -> Vec<f64> {
        let cells = self.short_cells(|class, _| class == Class::Shared);
        let mut costs: Vec<f64> = cells.map(|(cell, _)| cell.costs[1]).collect();
        costs.sort_by(f64::total_cmp);
        costs.dedup();
        costs
    }
}

/// Largest allowed mean time of a run, in seconds, for some sources.
const MOST_S: &[(&str, f64)] = &[
    ("short service times", 8.0),
    ("short memory 20 ms", 8.5),
    ("short memory 1 s", 8.5),
    ("short busy neighbour", 8.5),
    ("short depth 32", 18.0),
];
/// Largest allowed bias where it is known to be larger: rounds have equal weight, and those in
/// which B stalls last longer.
const MOST_BIAS: &[(&str, f64)] = &[("short stalls of B", 0.003), ("short memory 1 s of B", 0.003)];
/// Kinds whose added time follows the machine's level, which hardly changes during a run of some
/// seconds.
const FOLLOWS_LEVEL: [&str; 3] = ["short memory 1 s", "short memory 60 s", "short busy neighbour"];

/// Returns the requirement on coverage. Where the usual bound cannot be met,
/// docs/decisions/short-slices.md says why.
fn least_coverage(cell: &SimulatedCell) -> LineBound {
    match cell.source.class() {
        Class::Hard => LineBound::Shown,
        _ if cell.source.name() == "short memory 1 s of B" => LineBound::AtLeast(0.7),
        Class::Shared if !is_replay(cell) => LineBound::AtLeast(0.935),
        _ => LineBound::AtLeast(0.9),
    }
}

fn percent(cell: &SimulatedCell) -> f64 {
    100.0 * cell.costs[1]
}

fn is_hard(cell: &SimulatedCell) -> bool {
    cell.source.class() == Class::Hard
}

fn is_replay(cell: &SimulatedCell) -> bool {
    cell.source.recorded().is_some()
}
