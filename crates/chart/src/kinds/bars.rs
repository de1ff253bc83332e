//! Bars of the rates, grouped by load or by the tables of the scenario, with whiskers, ceilings and
//! the published figures beside.

use super::{bar_row, class_of_verdict, largest, verdict_legend};
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark};
use crate::frame::ChartAxis;
use crate::request::{ChartRequest, counted_word, rate_of_row};
use crate::rows::{ChartRow, RowChart};
use crate::shapes::moved;
use crate::stack_axes::stack_axes;
use crate::text::{AxisUnit, tick_text};
use iotax_analysis::Findings;
use iotax_analysis::findings::efficiency::{Efficiency, FigureOrigin};
use iotax_analysis::findings::imported::ImportedWorkload;
use iotax_analysis::findings::ratios::{RatioRow, RatioTable};
use iotax_analysis::findings::{MeasuredFigure, StackRow, WorkloadFindings};
use maud::{Markup, html};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "bars",
    about: "rates as bars, grouped, with published figures and ceilings",
    has_quantities: false,
    draw,
};

/// Most bars of a chart, which bounds the size of the file.
const MOST_BARS: usize = 150;
/// Largest ratio of the longest bars of two groups on one axis; beyond, each has its own.
const APART: f64 = 30.0;

/// A figure to be drawn as a bar, and what lies beside it.
pub(super) struct BarFigure<'a> {
    pub(super) name: String,
    pub(super) class: &'static str,
    pub(super) figure: &'a MeasuredFigure,
    pub(super) published: Option<&'a MeasuredFigure>,
    pub(super) ceilings: Vec<&'a Efficiency>,
}

pub(super) struct BarGroup<'a> {
    pub(super) head: String,
    /// `1/s`, `B/s`, `ns` or another unit.
    pub(super) unit: &'static str,
    /// What a rate counts: `IOPS`.
    pub(super) counted: &'a str,
    pub(super) bars: Vec<BarFigure<'a>>,
}

impl BarGroup<'_> {
    fn has_any(&self) -> bool {
        self.bars.iter().any(|bar| bar.figure.value().is_some_and(f64::is_finite))
    }

    fn largest(&self) -> f64 {
        let published = self.bars.iter().filter_map(|bar| bar.published);
        let ceilings = self.bars.iter().flat_map(|bar| &bar.ceilings).map(|one| &one.could);
        largest(self.bars.iter().map(|bar| bar.figure).chain(published).chain(ceilings))
    }
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let groups = all_groups(request);
    let is_times = groups.iter().all(|group| group.unit == "ns");
    let what = if is_times { "Times" } else { "Rates" };
    let title = match groups.as_slice() {
        [group] => format!("{what}: {}", group.head),
        _ => format!("{what} side by side"),
    };
    draw_groups(title, groups)
}

/// Returns the groups that have figures, up to the number of bars that one file holds, and whether
/// others are left out.
fn shown_groups(groups: Vec<BarGroup>) -> (Vec<BarGroup>, bool) {
    let (mut left, mut is_cut) = (MOST_BARS, false);
    let fits = |group: &BarGroup| {
        let fits = left >= group.bars.len().min(MOST_BARS);
        is_cut |= !fits;
        left = left.saturating_sub(group.bars.len());
        fits
    };
    let shown = groups.into_iter().filter(BarGroup::has_any).filter(fits).collect();
    (shown, is_cut)
}

/// Returns the groups that share an axis.
fn panels<'a, 'b>(groups: &'b [BarGroup<'a>]) -> Vec<Vec<&'b BarGroup<'a>>> {
    let mut panels: Vec<Vec<&BarGroup>> = Vec::new();
    for group in groups {
        let fits = |panel: &&mut Vec<&BarGroup>| {
            let (a, b) = (panel[0].largest(), group.largest());
            (panel[0].unit, panel[0].counted) == (group.unit, group.counted)
                && a.max(b) <= APART * a.min(b)
        };
        match panels.iter_mut().find(fits) {
            Some(panel) => panel.push(group),
            None => panels.push(vec![group]),
        }
    }
    panels
}

/// Draws groups of bars, those that fit together on one axis; `None` if there is no figure.
pub(super) fn draw_groups(title: String, groups: Vec<BarGroup>) -> Option<ChartDrawing> {
    let (shown, is_cut) = shown_groups(groups);
    let panels = panels(&shown);
    let (mut body, mut top) = (Vec::new(), 0.0);
    for panel in &panels {
        let (drawn, height) = draw_panel(panel);
        body.push(moved((0.0, top), &drawn));
        top += height + 6.0;
    }
    let bars = || shown.iter().flat_map(|group| &group.bars);
    let mut notes = vec!["Whiskers: 95 % intervals.".to_owned()];
    if is_cut {
        notes.push("The run has more than one image shows; --load N draws one load.".to_owned());
    }
    let heads: Vec<&str> = shown.iter().map(|group| group.head.as_str()).collect();
    (!panels.is_empty()).then(|| ChartDrawing {
        description: format!("{title}: {} bars of {}.", bars().count(), super::some_names(heads)),
        title,
        legend: legend(&shown),
        height: top,
        body: html! { @for part in &body { (part) } },
        notes,
    })
}

fn draw_panel(groups: &[&BarGroup]) -> (Markup, f64) {
    let most = groups.iter().map(|group| group.largest()).fold(0.0, f64::max);
    let unit = AxisUnit::for_size(groups[0].unit, most);
    let mut rows = Vec::new();
    for group in groups {
        rows.push(ChartRow::heading(group.head.clone()));
        rows.extend(group.bars.iter().map(|bar| bar.row(unit)));
    }
    let axis = ChartAxis::even(rows.iter().flat_map(ChartRow::values).chain([0.0]), 6.0);
    let chart = RowChart {
        rows,
        axis,
        axis_name: unit.name_counting(groups[0].counted),
        tick: tick_text,
        zone: None,
        origin: Some(0.0),
    };
    chart.draw()
}

impl BarFigure<'_> {
    fn row(&self, unit: AxisUnit) -> ChartRow {
        let mut row = bar_row(self.name.clone(), self.figure, unit);
        row.class = self.class;
        row.diamonds =
            self.published.iter().filter_map(|one| one.value()).map(|it| it / unit.by).collect();
        for ceiling in &self.ceilings {
            let Some(could) = ceiling.could.value() else { continue };
            row.limits.push((limit_class(&ceiling.by), could / unit.by));
            let Some(share) = ceiling.share.value() else { continue };
            let words = format!("{:.0} % of {}", 100.0 * share, ceiling.by.bound_words());
            row.words += &format!("; {words}");
            if row.limits.len() == 1 {
                row.figure += &format!(", {:.0} % of {}", 100.0 * share, ceiling.by.word());
            }
        }
        row
    }
}

fn limit_class(by: &FigureOrigin) -> &'static str {
    match by {
        FigureOrigin::Measured { .. } => "measured",
        FigureOrigin::Rated { .. } => "rated",
        _ => "link",
    }
}

fn legend(groups: &[BarGroup]) -> Vec<(LegendMark, String)> {
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let classes: Vec<&'static str> = bars().map(|bar| bar.class).collect();
    let mut legend: Vec<(LegendMark, String)> = verdict_legend(&classes, LegendMark::Bar).collect();
    if bars().any(|bar| bar.published.is_some_and(|one| one.value().is_some())) {
        legend.push((LegendMark::Diamond, "published, other hardware".to_owned()));
    }
    let limits = [
        ("limit measured", "drives measured alone"),
        ("limit rated", "rating of the drives"),
        ("limit link", "limit of the link"),
    ];
    for (class, text) in limits {
        let is_it = |one: &&Efficiency| class.ends_with(limit_class(&one.by));
        if bars().flat_map(|bar| bar.ceilings.iter().copied()).any(|one| is_it(&one)) {
            legend.push((LegendMark::Plain(class), text.to_owned()));
        }
    }
    legend
}

fn all_groups<'a>(request: &ChartRequest<'a>) -> Vec<BarGroup<'a>> {
    let findings = request.findings;
    if let Some(imported) = &findings.imported {
        return request.asked(&imported.workloads).flat_map(imported_group).collect();
    }
    if !findings.tables.is_empty() {
        return request
            .asked(&findings.tables)
            .flat_map(|table| table_groups(findings, table))
            .collect();
    }
    let loads: Vec<&WorkloadFindings> = request.asked(&findings.workloads).collect();
    let is_sweep = loads.iter().all(|load| load.sweep.is_some());
    let loads = loads.into_iter().filter(|load| is_sweep || load.sweep.is_none());
    loads.flat_map(|load| load_groups(findings, load)).collect()
}

/// Returns the stacks of a load as one group, or if they lie on two axes, a group for each value of
/// the first.
fn load_groups<'a>(findings: &'a Findings, load: &'a WorkloadFindings) -> Vec<BarGroup<'a>> {
    let bar = |row: &'a StackRow| {
        let verdict = load.comparisons.iter().find(|one| one.stack == row.stack);
        let metric = if load.rate_unit == "B/s" { "throughput" } else { "iops" };
        BarFigure {
            name: row.stack.clone(),
            class: verdict.map_or("level", |one| class_of_verdict(&one.rate.verdict)),
            figure: rate_of_row(load, row),
            published: findings.published_figure(&load.name, &row.stack, metric),
            ceilings: load.efficiency.iter().filter(|one| one.stack == row.stack).collect(),
        }
    };
    let group = |head: String, bars| {
        let counted = counted_word(load);
        BarGroup { head, unit: load.rate_unit, counted, bars }
    };
    let (base, others): (Vec<_>, Vec<_>) =
        load.rows.iter().enumerate().partition(|(_, row)| row.baseline);
    let names: Vec<(usize, &str)> =
        others.iter().map(|(at, row)| (*at, row.stack.as_str())).collect();
    let Some(axes) = stack_axes(&names) else {
        return vec![group(load.subject.clone(), load.rows.iter().map(bar).collect())];
    };
    let mut groups =
        vec![group(load.subject.clone(), base.iter().map(|(_, row)| bar(row)).collect())];
    for (head, cells) in axes.rows.iter().zip(&axes.cells) {
        let bars = axes.columns.iter().zip(cells).filter_map(|(name, at)| {
            Some(BarFigure { name: name.clone(), ..bar(&load.rows[(*at)?]) })
        });
        groups.push(group(head.clone(), bars.collect()));
    }
    groups
}

fn table_groups<'a>(findings: &'a Findings, table: &'a RatioTable) -> Vec<BarGroup<'a>> {
    let group = |row: &'a RatioRow| {
        let direction = row.direction.map(|way| format!(", {way}s")).unwrap_or_default();
        let name = table.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let cells = table.columns.iter().zip(&row.cells);
        let bars = cells.map(|(column, cell)| {
            let stack = column.stack.as_deref().filter(|_| row.direction.is_none());
            BarFigure {
                name: column.head.clone(),
                class: cell.verdict.as_ref().map_or("level", class_of_verdict),
                figure: &cell.value,
                published: stack
                    .and_then(|stack| findings.published_figure(&row.workload, stack, &row.metric)),
                ceilings: Vec::new(),
            }
        });
        let unit = row.cells.iter().find_map(|cell| unit_of(&cell.value)).unwrap_or("");
        BarGroup {
            head: format!("{name}{} {}{direction}", row.workload, row.metric),
            unit,
            counted: "IOPS",
            bars: bars.collect(),
        }
    };
    table.rows.iter().map(group).collect()
}

/// Returns what others measured: in I/Os, or in bytes where there are no I/Os.
fn imported_group(load: &ImportedWorkload) -> Option<BarGroup<'_>> {
    let has_ios = load.rows.iter().any(|row| row.iops.figure.value().is_some());
    let bar = |row: &'_ iotax_analysis::findings::imported::ImportedRow| {
        row.comparison.as_ref().map_or("level", |one| class_of_verdict(&one.verdict))
    };
    let bars = load.rows.iter().map(|row| BarFigure {
        name: row.system.clone(),
        class: bar(row),
        figure: if has_ios { &row.iops.figure } else { &row.bytes_per_s.figure },
        published: None,
        ceilings: Vec::new(),
    });
    let unit = if has_ios { "1/s" } else { "B/s" };
    let head = load.subject.clone();
    Some(BarGroup { head, unit, counted: "IOPS", bars: bars.collect() })
}

fn unit_of(figure: &MeasuredFigure) -> Option<&'static str> {
    match figure {
        MeasuredFigure::Known { unit, .. } => Some(unit),
        _ => None,
    }
}
