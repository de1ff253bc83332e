//! The table of requirements: each line holds one figure of the simulations, its Monte-Carlo error
//! and its bound.

use super::cell::{Concluded, Repetition, SimulatedCell, StatedVerdict};
use super::details::Detail;
use super::kinds::{ALL, Class, NoiseSource};
use super::short::{self, kinds::ShortSource};
use crate::stop::StopSpec;
use iotax_units::median;
use serde::Serialize;

/// True costs at which shared noise is simulated.
pub const COSTS: [f64; 4] = [0.0, 0.02, 0.05, 0.2];
/// Number of repetitions from which a bound holds without allowance.
pub const FULL: u64 = 2000;

/// Requirement on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineBound {
    /// The figure must not be above this.
    AtMost(f64),
    /// The figure must not be below this.
    AtLeast(f64),
    /// The figure must lie between the two.
    Between(f64, f64),
    /// Nothing is required. The figure is shown for information, or since it is known to miss the
    /// desired value.
    Shown,
}

/// Unit of a figure, for printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineUnit {
    /// A share, printed in percent.
    Share,
    /// Time, printed in seconds.
    Seconds,
    /// A bare ratio, without unit.
    Ratio,
    /// A difference of shares, printed in percentage points.
    Points,
    /// Seconds, printed in microseconds.
    Micros,
}

/// One line of the table of requirements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfcheckLine {
    /// Name of the measured figure.
    pub figure: String,
    /// Source of the figure: a kind of noise, or several, such as `pooled`.
    pub of: String,
    /// Value of the figure.
    pub value: f64,
    /// Monte-Carlo standard error of the value.
    pub error: f64,
    /// Unit of the value.
    pub unit: LineUnit,
    /// Requirement on the value.
    pub bound: LineBound,
    /// Number of repetitions that the value rests on.
    pub n: usize,
    /// True if the value is within its bound, with the [`allowance`] for this number of
    /// repetitions.
    pub holds: bool,
}

/// State of a line against its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    /// The figure is within its bound.
    Ok,
    /// The figure is beyond its bound, by no more than the allowance for so few repetitions.
    WithinError,
    /// The figure is beyond its bound and the allowance.
    Fails,
    /// The figure has no bound, by intention.
    Shown,
}

impl LineBound {
    /// Returns true if a value is within the bound, give or take an allowance. A value that is not
    /// a number never is.
    fn admits(self, value: f64, allowance: f64) -> bool {
        match self {
            LineBound::AtMost(most) => value <= most + allowance,
            LineBound::AtLeast(least) => value >= least - allowance,
            LineBound::Between(least, most) => {
                value >= least - allowance && value <= most + allowance
            }
            LineBound::Shown => true,
        }
    }
}

/// Returns the number of Monte-Carlo errors by which a figure may exceed its bound: three below
/// 2,000 repetitions, otherwise zero.
pub fn allowance(reps: u64) -> f64 {
    if reps >= FULL { 0.0 } else { 3.0 }
}

impl SelfcheckLine {
    /// Returns the state of the line against its bound.
    pub fn state(&self) -> LineState {
        match (self.bound, self.holds) {
            (LineBound::Shown, _) => LineState::Shown,
            (_, false) => LineState::Fails,
            (bound, true) if bound.admits(self.value, 0.0) => LineState::Ok,
            _ => LineState::WithinError,
        }
    }

    pub(super) fn new(
        figure: &str,
        of: &str,
        sample: RepeatedFigure,
        unit: LineUnit,
        bound: LineBound,
    ) -> SelfcheckLine {
        let (value, error) = (sample.value, sample.error);
        let holds = bound.admits(value, allowance(sample.reps) * error);
        SelfcheckLine {
            figure: figure.into(),
            of: of.into(),
            value,
            error,
            unit,
            bound,
            n: sample.n,
            holds,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedFigure {
    pub(super) value: f64,
    error: f64,
    n: usize,
    reps: u64,
}

pub(super) fn share_of_hits(hits: impl Iterator<Item = bool>, reps: u64) -> RepeatedFigure {
    let (n, hit) = hits.fold((0usize, 0usize), |(n, hit), one| (n + 1, hit + usize::from(one)));
    let value = hit as f64 / n as f64;
    // The error of a share of 0 or 1 is not 0: Agresti and Coull's two more of each kind.
    let shrunk = (hit as f64 + 2.0) / (n as f64 + 4.0);
    RepeatedFigure { value, error: (shrunk * (1.0 - shrunk) / (n as f64 + 4.0)).sqrt(), n, reps }
}

pub(super) fn average(values: impl Iterator<Item = f64>, reps: u64) -> RepeatedFigure {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|one| (one - value).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    RepeatedFigure { value, error: (variance / n).sqrt(), n: values.len(), reps }
}

/// Plan of everything that is simulated.
pub struct Plan {
    /// Simulated cells, in the order of the plan.
    pub cells: Vec<SimulatedCell>,
    parts: Vec<CellPart>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CellPart {
    Standard(Class, f64),
    /// A cell measured in short slices.
    Short(Class, f64),
    /// A series of the user's own machine. It is shown beside the others and enters no pooled
    /// figure.
    Local(f64),
    Rare,
    Hard,
    Throttled,
    Fixed,
    Matrix,
}

impl CellPart {
    fn purpose(self) -> &'static str {
        match self {
            CellPart::Standard(..) | CellPart::Short(..) | CellPart::Local(_) => "",
            CellPart::Rare | CellPart::Hard => "at least 60 s",
            CellPart::Throttled => "at least 30 s",
            CellPart::Fixed => "120 s",
            CellPart::Matrix => "matrix",
        }
    }
}

fn cell(source: &NoiseSource, cost: f64, stop: StopSpec) -> SimulatedCell {
    SimulatedCell { source: source.clone(), costs: vec![0.0, cost], stop, naive_s: None }
}

const STOP: StopSpec = StopSpec { precision: 0.01, min_time_s: 10.0, budget_s: 300.0 };
/// Ends a measurement after 120 s, the time of two runs of 60 s.
const FIXED: StopSpec = StopSpec { precision: 0.0, min_time_s: 120.0, budget_s: 120.0 };
const MATRIX_WORKLOADS: usize = 6;
const MATRIX_STACKS: usize = 5;

impl Plan {
    /// Plans the cells of all kinds of noise, of the series that come with iotax, and of those from
    /// the user's own machine.
    pub fn new(shipped: &[NoiseSource], local: &[NoiseSource]) -> Plan {
        let mut plan = Plan { cells: Vec::new(), parts: Vec::new() };
        let made_up = ALL.iter().map(NoiseSource::MadeUp);
        let long = shipped.iter().filter(|source| !matches!(source, NoiseSource::Short(_)));
        let sources: Vec<NoiseSource> = made_up.chain(long.cloned()).collect();
        for source in &sources {
            plan.add_source(source);
        }
        plan.add_matrix(&sources);
        plan.add_short(shipped);
        // Last, so that the cells before them have the same seeds with and without them.
        for source in local {
            match source {
                NoiseSource::Short(short) => plan.add_short_source(short),
                _ => COSTS
                    .iter()
                    .for_each(|cost| plan.add(CellPart::Local(*cost), cell(source, *cost, STOP))),
            }
        }
        plan
    }

    fn add_short(&mut self, shipped: &[NoiseSource]) {
        short::kinds::ALL.iter().for_each(|kind| self.add_short_source(&ShortSource::MadeUp(kind)));
        for source in shipped {
            if let NoiseSource::Short(fine) = source {
                self.add_short_source(fine);
            }
        }
    }

    fn add_short_source(&mut self, source: &ShortSource) {
        for cost in source.costs() {
            let part = CellPart::Short(source.class(), *cost);
            self.add(part, cell(&NoiseSource::Short(source.clone()), *cost, source.stop()));
        }
    }

    fn add_matrix(&mut self, sources: &[NoiseSource]) {
        let shared: Vec<&NoiseSource> =
            sources.iter().filter(|source| source.class() == Class::Shared).collect();
        for at in 0..MATRIX_WORKLOADS {
            // Every workload of a matrix has its own noise.
            let source = shared[at * shared.len() / MATRIX_WORKLOADS].clone();
            let costs = vec![0.0; MATRIX_STACKS];
            self.add(CellPart::Matrix, SimulatedCell { source, costs, stop: STOP, naive_s: None });
        }
    }

    fn add_source(&mut self, source: &NoiseSource) {
        let cell = |cost: f64, stop: StopSpec| cell(source, cost, stop);
        let long = StopSpec { min_time_s: 60.0, ..STOP };
        match source.class() {
            class @ (Class::Shared | Class::Own) => {
                COSTS
                    .iter()
                    .for_each(|cost| self.add(CellPart::Standard(class, *cost), cell(*cost, STOP)));
            }
            Class::Rare => {
                [0.0, 0.02].iter().for_each(|cost| self.add(CellPart::Rare, cell(*cost, long)))
            }
            Class::Hard => self.add(CellPart::Hard, cell(0.02, long)),
            Class::Throttled => {
                self.add(CellPart::Throttled, cell(0.02, StopSpec { min_time_s: 30.0, ..STOP }))
            }
        }
        if FIXED_OF.iter().any(|(name, _)| *name == source.name()) {
            self.add(CellPart::Fixed, SimulatedCell { naive_s: Some(60.0), ..cell(0.02, FIXED) });
        }
    }

    fn add(&mut self, part: CellPart, cell: SimulatedCell) {
        self.parts.push(part);
        self.cells.push(cell);
    }

    /// Returns the details of each cell, given the outcomes of all cells in the order of the plan.
    pub fn details(&self, outcomes: &[Vec<Repetition>]) -> Vec<Detail> {
        let cells = self.cells.iter().zip(&self.parts).zip(outcomes);
        cells
            .map(|((cell, part), outcomes)| Detail::from_cell(cell, part.purpose(), outcomes))
            .collect()
    }

    /// Returns the table of requirements, given the outcomes of all cells in the order of the plan,
    /// with `reps` repetitions each.
    pub fn lines(&self, outcomes: &[Vec<Repetition>], reps: u64) -> Vec<SelfcheckLine> {
        let table = LineTable { plan: self, outcomes, reps };
        [
            table.false_positives(),
            table.coverage(),
            table.rare(),
            table.power(),
            table.resolving_times(),
            table.errors(),
            table.refusals(),
            table.matrix(),
            table.short(),
        ]
        .concat()
    }
}

/// Largest allowed mean time to resolve a cost of 2 %, in seconds, for some sources.
const TIMES: &[(&str, f64)] = &[
    ("iid", 30.0),
    ("replay zram-1", 25.0),
    ("replay zram-2", 25.0),
    ("replay file", 60.0),
    ("replay loop", 70.0),
];
/// Sources that are also measured one stack after the other, with the largest allowed rms error
/// relative to that.
const FIXED_OF: &[(&str, f64)] = &[("replay file", 1.0 / 8.0), ("AR(1)", 1.0 / 6.0)];

pub(super) struct LineTable<'a> {
    plan: &'a Plan,
    outcomes: &'a [Vec<Repetition>],
    pub(super) reps: u64,
}

impl LineTable<'_> {
    pub(super) fn cells_for(
        &self,
        wanted: impl Fn(CellPart) -> bool,
    ) -> impl Iterator<Item = (&SimulatedCell, &Vec<Repetition>)> {
        let cells = self.plan.cells.iter().zip(self.outcomes).zip(&self.plan.parts);
        cells.filter(move |(_, part)| wanted(**part)).map(|(cell, _)| cell)
    }

    fn false_positives(&self) -> Vec<SelfcheckLine> {
        let null = || self.cells_for(|part| part == CellPart::Standard(Class::Shared, 0.0));
        let local = self.cells_for(|part| part == CellPart::Local(0.0));
        let figure = "A/A false positives";
        let one = |(cell, outcomes): (&SimulatedCell, &Vec<Repetition>)| {
            let sample = share_of_hits(firsts(outcomes).map(is_difference), self.reps);
            SelfcheckLine::new(
                figure,
                &cell.source.name(),
                sample,
                LineUnit::Share,
                LineBound::AtMost(0.065),
            )
        };
        let mut lines: Vec<SelfcheckLine> = null().chain(local).map(one).collect();
        let pooled = share_of_hits(
            null().flat_map(|(_, outcomes)| firsts(outcomes)).map(is_difference),
            self.reps,
        );
        lines.push(SelfcheckLine::new(
            figure,
            "pooled",
            pooled,
            LineUnit::Share,
            LineBound::AtMost(0.053),
        ));
        lines
    }

    fn coverage(&self) -> Vec<SelfcheckLine> {
        let mut lines = Vec::new();
        for cost in COSTS {
            let figure = format!("coverage at true {} %", 100.0 * cost);
            let each = self.cells_for(
                |part| matches!(part, CellPart::Standard(Class::Shared, c) | CellPart::Local(c) if c == cost),
            );
            for (cell, outcomes) in each {
                let sample = share_of_hits(coverage_flags(outcomes), self.reps);
                lines.push(SelfcheckLine::new(
                    &figure,
                    &cell.source.name(),
                    sample,
                    LineUnit::Share,
                    LineBound::AtLeast(0.935),
                ));
            }
            let pooled = self.cells_for(|part| part == CellPart::Standard(Class::Shared, cost));
            let pooled =
                share_of_hits(pooled.flat_map(|(_, outcomes)| coverage_flags(outcomes)), self.reps);
            lines.push(SelfcheckLine::new(
                &figure,
                "pooled",
                pooled,
                LineUnit::Share,
                LineBound::Between(0.935, 0.98),
            ));
        }
        for (cell, outcomes) in
            self.cells_for(|part| matches!(part, CellPart::Standard(Class::Own, _)))
        {
            let figure = format!("coverage at true {} %, noise in B only", 100.0 * cell.costs[1]);
            let sample = share_of_hits(coverage_flags(outcomes), self.reps);
            lines.push(SelfcheckLine::new(
                &figure,
                &cell.source.name(),
                sample,
                LineUnit::Share,
                LineBound::AtLeast(0.9),
            ));
        }
        lines
    }

    fn rare(&self) -> Vec<SelfcheckLine> {
        let one = |(cell, outcomes): (&SimulatedCell, &Vec<Repetition>)| {
            let truth = cell.source.truth(cell.costs[1]);
            let sample = share_of_hits(firsts(outcomes).map(|one| one.is_wrong(truth)), self.reps);
            let figure = format!("wrong verdicts after 60 s at true {} %", 100.0 * cell.costs[1]);
            let bound = if cell.source.class() == Class::Hard {
                LineBound::Shown
            } else {
                LineBound::AtMost(0.05)
            };
            SelfcheckLine::new(&figure, &cell.source.name(), sample, LineUnit::Share, bound)
        };
        self.cells_for(|part| matches!(part, CellPart::Rare | CellPart::Hard)).map(one).collect()
    }

    fn power(&self) -> Vec<SelfcheckLine> {
        let small = || self.cells_for(|part| part == CellPart::Standard(Class::Shared, 0.02));
        let said = |said: StatedVerdict| {
            let all = small().flat_map(|(_, outcomes)| firsts(outcomes));
            share_of_hits(all.map(move |one| one.said == said), self.reps)
        };
        vec![
            SelfcheckLine::new(
                "says costs at true 2 %",
                "pooled",
                said(StatedVerdict::Costs),
                LineUnit::Share,
                LineBound::AtLeast(0.97),
            ),
            SelfcheckLine::new(
                "says no difference at true 2 %",
                "pooled",
                said(StatedVerdict::None),
                LineUnit::Share,
                LineBound::AtMost(0.025),
            ),
        ]
    }

    fn resolving_times(&self) -> Vec<SelfcheckLine> {
        let figure = "mean time to resolve 2 %";
        let mut lines = Vec::new();
        let mut means: Vec<RepeatedFigure> = Vec::new();
        for (cell, outcomes) in
            self.cells_for(|part| part == CellPart::Standard(Class::Shared, 0.02))
        {
            let name = cell.source.name();
            let sample = average(outcomes.iter().map(|one| one.took_s), self.reps);
            means.push(sample);
            if let Some((_, most)) = TIMES.iter().find(|(known, _)| *known == name) {
                lines.push(SelfcheckLine::new(
                    figure,
                    &name,
                    sample,
                    LineUnit::Seconds,
                    LineBound::AtMost(*most),
                ));
            }
        }
        for (cell, outcomes) in self.cells_for(|part| part == CellPart::Local(0.02)) {
            let sample = average(outcomes.iter().map(|one| one.took_s), self.reps);
            lines.push(SelfcheckLine::new(
                figure,
                &cell.source.name(),
                sample,
                LineUnit::Seconds,
                LineBound::Shown,
            ));
        }
        means.sort_by(|one, two| one.value.total_cmp(&two.value));
        let middle = means[means.len() / 2];
        let median =
            RepeatedFigure { value: median(means.iter().map(|mean| mean.value)), ..middle };
        lines.push(SelfcheckLine::new(
            figure,
            "median of all",
            median,
            LineUnit::Seconds,
            LineBound::AtMost(25.0),
        ));
        lines
    }

    fn errors(&self) -> Vec<SelfcheckLine> {
        let one = |(cell, outcomes): (&SimulatedCell, &Vec<Repetition>)| {
            let name = cell.source.name();
            let most =
                FIXED_OF.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, most)| *most);
            let figure = "rms error of 120 s over that of 60 s + 60 s";
            SelfcheckLine::new(
                figure,
                &name,
                rms_ratio(outcomes, self.reps),
                LineUnit::Ratio,
                LineBound::AtMost(most),
            )
        };
        self.cells_for(|part| part == CellPart::Fixed).map(one).collect()
    }

    fn refusals(&self) -> Vec<SelfcheckLine> {
        let limited =
            self.cells_for(|part| part == CellPart::Throttled).flat_map(|(_, outcomes)| outcomes);
        // Both regimes must have been present to be distinguished.
        let seen = limited.filter(|one| (0.1..=0.9).contains(&one.limited));
        let flagged =
            share_of_hits(seen.map(|one| one.comparisons[0].refused.is_some()), self.reps);
        let ordinary = self.cells_for(|part| matches!(part, CellPart::Standard(Class::Shared, _)));
        let refused = share_of_hits(
            ordinary.flat_map(|(_, outcomes)| firsts(outcomes)).map(|one| one.refused.is_some()),
            self.reps,
        );
        vec![
            SelfcheckLine::new(
                "throttled runs flagged",
                "token bucket",
                flagged,
                LineUnit::Share,
                LineBound::AtLeast(0.98),
            ),
            SelfcheckLine::new(
                "false refusals",
                "pooled",
                refused,
                LineUnit::Share,
                LineBound::AtMost(0.01),
            ),
        ]
    }

    fn matrix(&self) -> Vec<SelfcheckLine> {
        let workloads: Vec<&Vec<Repetition>> =
            self.cells_for(|part| part == CellPart::Matrix).map(|(_, outcomes)| outcomes).collect();
        let any = |rep: usize| {
            let matrix: Vec<&Repetition> =
                workloads.iter().map(|outcomes| &outcomes[rep]).collect();
            Repetition::any_false(&matrix)
        };
        let sample = share_of_hits((0..self.reps as usize).map(any), self.reps);
        let figure =
            format!("any false cost in {} null cells", MATRIX_WORKLOADS * (MATRIX_STACKS - 1));
        vec![SelfcheckLine::new(
            &figure,
            "matrix",
            sample,
            LineUnit::Share,
            LineBound::AtMost(0.065),
        )]
    }
}

pub(super) fn firsts(outcomes: &[Repetition]) -> impl Iterator<Item = &Concluded> {
    outcomes.iter().map(|outcome| &outcome.comparisons[0])
}

/// Returns for each stated interval whether it covers the truth. A refused verdict states no
/// interval.
pub(super) fn coverage_flags(outcomes: &[Repetition]) -> impl Iterator<Item = bool> {
    firsts(outcomes).filter(|one| one.refused.is_none()).filter_map(|one| one.covered)
}

pub(super) fn is_difference(one: &Concluded) -> bool {
    matches!(one.said, StatedVerdict::Costs | StatedVerdict::Gains)
}

/// Returns the rms error of iotax over that of measuring one stack after the other. Its Monte-Carlo
/// error follows from the delta method for two independent mean squares.
fn rms_ratio(outcomes: &[Repetition], reps: u64) -> RepeatedFigure {
    let squares = |of: &dyn Fn(&Repetition) -> Option<f64>| {
        average(outcomes.iter().filter_map(of).map(|error| error * error), reps)
    };
    let (ours, naive) = (squares(&|one| one.comparisons[0].error), squares(&|one| one.naive_error));
    let value = (ours.value / naive.value).sqrt();
    let relative =
        ((ours.error / ours.value).powi(2) + (naive.error / naive.value).powi(2)).sqrt() / 2.0;
    RepeatedFigure { value, error: value * relative, n: ours.n, reps }
}
