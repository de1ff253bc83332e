//! A matrix with the figure in each cell: stacks by loads, two axes of the stacks, the tables of
//! the scenario, or a sweep over two parameters. Cells without a conclusion are hatched.

use super::class_of_verdict;
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark, MARGIN, WIDTH};
use crate::request::{ChartRequest, rate_of_row};
use crate::stack_axes::stack_axes;
use crate::text::{
    ChartLabel, brief_change, brief_figure, change_text, drawable, figure_text, px, text_width,
};
use iotax_analysis::findings::ratios::RatioTable;
use iotax_analysis::findings::sweep::SweepFindings;
use iotax_analysis::findings::{MeasuredFigure, StackRow, WorkloadFindings};
use iotax_stats::Verdict;
use maud::{Markup, html};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "grid",
    about: "a matrix of stacks and loads, or of two axes of the stacks, with the figures",
    has_quantities: false,
    draw,
};

/// Most columns side by side; further ones follow below.
const MOST_COLUMNS: usize = 10;
/// Most cells of all matrices together, which bounds the size of the file.
const MOST_CELLS: usize = 500;
const CELL_HEIGHT: f64 = 30.0;
const MOST_NAME: f64 = 210.0;

#[derive(Clone, Default)]
struct MatrixCell {
    text: String,
    words: String,
    /// `cost`, `gain`, `none`, `open`; empty for a figure that is not compared.
    class: &'static str,
    /// How strong the colour is, 0 to 1.
    strength: f64,
}

struct CellMatrix {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<MatrixCell>)>,
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let (title, matrices) = all_matrices(request)?;
    let (mut body, mut top, mut cells) = (Vec::new(), 8.0, 0);
    for matrix in &matrices {
        cells += matrix.rows.len() * matrix.columns.len();
        if cells > MOST_CELLS && !body.is_empty() {
            break;
        }
        for first in (0..matrix.columns.len()).step_by(MOST_COLUMNS) {
            let (drawn, height) = matrix.draw(first, top);
            body.push(drawn);
            top += height + 16.0;
        }
    }
    let left_out = matrices.iter().any(|_| cells > MOST_CELLS);
    let mut notes =
        vec!["Changes against the baseline; the stronger the colour, the larger.".to_owned()];
    if left_out {
        notes.push("The run has more than one image shows; --load N draws one load.".to_owned());
    }
    let cell_count = matrices.iter().map(|one| one.rows.len() * one.columns.len()).sum::<usize>();
    Some(ChartDrawing {
        description: format!("{title}, as a matrix of {cell_count} figures."),
        title,
        legend: vec![
            (LegendMark::Area("cell cost"), "slower".to_owned()),
            (LegendMark::Area("cell gain"), "faster".to_owned()),
            (LegendMark::Area("cell plain"), "no difference".to_owned()),
            (LegendMark::Area("cell hatched"), "unresolved".to_owned()),
        ],
        height: top,
        body: html! { (hatching()) @for part in &body { (part) } },
        notes,
    })
}

fn hatching() -> Markup {
    html! {
        defs {
            pattern id="iotax-hatch" width="6" height="6" patternUnits="userSpaceOnUse" {
                path class="hatch" d="M0 6L6 0" {}
            }
        }
    }
}

/// Returns the matrices that suit the run best, with a title for all of them.
fn all_matrices(request: &ChartRequest) -> Option<(String, Vec<CellMatrix>)> {
    let tables: Vec<CellMatrix> =
        request.asked(&request.findings.tables).map(matrix_of_table).collect();
    if !tables.is_empty() {
        return Some(("Figures side by side".to_owned(), tables));
    }
    let is_plain = |load: &&WorkloadFindings| load.sweep.is_none() && load.rows.len() > 1;
    let loads: Vec<&WorkloadFindings> =
        request.asked(&request.findings.workloads).filter(is_plain).collect();
    let by_axes: Vec<CellMatrix> = loads.iter().filter_map(|load| matrix_of_axes(load)).collect();
    if !by_axes.is_empty() {
        return Some(("Stacks by two of their options".to_owned(), by_axes));
    }
    if loads.len() > 1 {
        return Some(("Stacks by loads".to_owned(), vec![matrix_of_loads(&loads)]));
    }
    let of_sweep = |sweep: &SweepFindings| {
        (0..sweep.curves.first().map_or(0, |one| one.stacks.len()))
            .filter_map(|stack| matrix_of_sweep(sweep, stack))
            .collect::<Vec<_>>()
    };
    let sweeps: Vec<CellMatrix> =
        request.asked(&request.findings.sweeps).flat_map(of_sweep).collect();
    (!sweeps.is_empty()).then(|| ("Sweep over two parameters".to_owned(), sweeps))
}

impl MatrixCell {
    /// Returns a cell with the change against the baseline.
    fn compared(name: &str, ratio: &MeasuredFigure, verdict: &Verdict) -> MatrixCell {
        let Some(value) = ratio.value() else { return MatrixCell::missing(name) };
        let words = format!("{name}: {}", change_text(ratio));
        MatrixCell {
            text: brief_change(value),
            words,
            class: class_of_verdict(verdict),
            strength: strength(value),
        }
    }

    fn plain(name: &str, figure: &MeasuredFigure) -> MatrixCell {
        let Some(text) = brief_figure(figure) else { return MatrixCell::missing(name) };
        let words = format!("{name}: {}", figure_text(figure));
        MatrixCell { text, words, ..MatrixCell::default() }
    }

    fn missing(name: &str) -> MatrixCell {
        MatrixCell {
            text: "\u{2013}".to_owned(),
            words: format!("{name}: no figure"),
            ..MatrixCell::default()
        }
    }
}

/// Returns how strong the colour of a ratio is: whole at half or double.
fn strength(ratio: f64) -> f64 {
    let octaves = ratio.max(1e-6).log2().abs();
    if octaves.is_finite() { (0.15 + 0.5 * octaves).min(0.65) } else { 0.65 }
}

fn cell_of_row(load: &WorkloadFindings, row: &StackRow) -> MatrixCell {
    let name = format!("{}, {}", row.stack, load.name);
    match load.comparisons.iter().find(|one| one.stack == row.stack) {
        Some(found) => MatrixCell::compared(&name, &found.rate.at_once(), &found.rate.verdict),
        None => MatrixCell::plain(&name, rate_of_row(load, row)),
    }
}

fn matrix_of_loads(loads: &[&WorkloadFindings]) -> CellMatrix {
    let many = loads.len().min((MOST_CELLS / loads[0].rows.len().max(1)).max(1));
    let loads = &loads[..many];
    let row = |row: &StackRow| {
        let found = |load: &&WorkloadFindings| {
            let same = load.rows.iter().find(|other| other.stack == row.stack);
            same.map_or_else(|| MatrixCell::missing(&row.stack), |same| cell_of_row(load, same))
        };
        (row.stack.clone(), loads.iter().map(found).collect())
    };
    CellMatrix {
        title: String::new(),
        columns: loads.iter().map(|load| load.name.clone()).collect(),
        rows: loads[0].rows.iter().map(row).collect(),
    }
}

fn matrix_of_axes(load: &WorkloadFindings) -> Option<CellMatrix> {
    let others = load.rows.iter().enumerate().filter(|(_, row)| !row.baseline);
    let names: Vec<(usize, &str)> = others.map(|(at, row)| (at, row.stack.as_str())).collect();
    let axes = stack_axes(&names)?;
    let cell = |at: &Option<usize>| {
        at.map_or_else(
            || MatrixCell::missing("not measured"),
            |at| cell_of_row(load, &load.rows[at]),
        )
    };
    let rows = axes.rows.into_iter().zip(&axes.cells);
    Some(CellMatrix {
        title: format!("{}, against {}", load.subject, load.comparisons.first()?.against),
        columns: axes.columns,
        rows: rows.map(|(name, cells)| (name, cells.iter().map(cell).collect())).collect(),
    })
}

fn matrix_of_table(table: &RatioTable) -> CellMatrix {
    let row = |row: &iotax_analysis::findings::ratios::RatioRow| {
        let direction = row.direction.map(|way| format!(", {way}s")).unwrap_or_default();
        let name = format!("{} {}{direction}", row.workload, row.metric);
        let cell = |(column, cell): (
            &iotax_analysis::findings::ratios::RatioColumn,
            &iotax_analysis::findings::ratios::RatioCell,
        )| {
            let name = format!("{}, {name}", column.head);
            match (&cell.share, &cell.verdict) {
                (Some(share), Some(verdict)) => MatrixCell::compared(&name, share, verdict),
                _ => MatrixCell::plain(&name, &cell.value),
            }
        };
        let cells = table.columns.iter().zip(&row.cells).map(cell).collect();
        (name, cells)
    };
    CellMatrix {
        title: table.name.clone().unwrap_or_default(),
        columns: table.columns.iter().map(|column| column.head.clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

fn matrix_of_sweep(sweep: &SweepFindings, stack: usize) -> Option<CellMatrix> {
    let word = sweep.curve_word.as_ref()?;
    let first = sweep.curves.first()?.stacks.get(stack)?;
    if first.baseline {
        return None;
    }
    let row = |curve: &iotax_analysis::findings::sweep::Curve| {
        let value = curve.at.as_ref().map_or("", |at| at.shown.as_str());
        let cells = curve.stacks[stack].points.iter().map(|point| {
            let name = format!("{word} {value}, {} {}", sweep.axis, point.at.shown);
            let cost = point.costs.first();
            cost.map_or_else(
                || MatrixCell::missing(&name),
                |cost| MatrixCell::compared(&name, &cost.ratio, &cost.verdict),
            )
        });
        (format!("{word} {value}"), cells.collect())
    };
    Some(CellMatrix {
        title: format!("{}: {}", first.stack, sweep.subject),
        columns: first
            .points
            .iter()
            .map(|point| format!("{} {}", sweep.axis, point.at.shown))
            .collect(),
        rows: sweep.curves.iter().filter(|curve| curve.stacks.len() > stack).map(row).collect(),
    })
}

impl CellMatrix {
    /// Draws the columns from `first` on, and returns the height that they take.
    fn draw(&self, first: usize, top: f64) -> (Markup, f64) {
        let columns = &self.columns[first..(first + MOST_COLUMNS).min(self.columns.len())];
        let names = self.rows.iter().map(|(name, _)| text_width(&drawable(name)));
        let name_room = names.fold(60.0, f64::max).min(MOST_NAME);
        let left = MARGIN + name_room + 12.0;
        let room = WIDTH - MARGIN - left;
        let wide = (room / columns.len() as f64).min(150.0);
        let title_height = if self.title.is_empty() { 0.0 } else { 26.0 };
        let head = top + title_height + 16.0;
        let name = |x, y, anchor, class, room| ChartLabel { x, y, anchor, class, room };
        let y_of = |row: usize| head + 8.0 + row as f64 * CELL_HEIGHT;
        let x_of = |column: usize| left + column as f64 * wide;
        let drawn = html! {
            (name(MARGIN, top + 14.0, "start", "head", WIDTH - 2.0 * MARGIN).draw(&self.title))
            @for (at, column) in columns.iter().enumerate() {
                (name(x_of(at) + wide / 2.0, head, "middle", "soft", wide - 6.0).draw(column))
            }
            @for (row, (title, cells)) in self.rows.iter().enumerate() {
                (name(MARGIN, y_of(row) + 20.0, "start", "", name_room + 1.0).draw(title))
                @for (at, cell) in cells.iter().skip(first).take(columns.len()).enumerate() {
                    (draw_cell(cell, x_of(at), y_of(row), wide))
                }
            }
        };
        (drawn, title_height + 24.0 + self.rows.len() as f64 * CELL_HEIGHT)
    }
}

fn draw_cell(cell: &MatrixCell, x: f64, y: f64, wide: f64) -> Markup {
    let class = match cell.class {
        "cost" => "cell cost",
        "gain" => "cell gain",
        "open" => "cell hatched",
        _ => "cell plain",
    };
    let opacity = matches!(cell.class, "cost" | "gain").then(|| format!("{:.2}", cell.strength));
    let label = ChartLabel {
        x: x + wide / 2.0,
        y: y + 20.0,
        anchor: "middle",
        class: match cell.class {
            "" => "head",
            "open" => "over",
            _ => "",
        },
        room: wide - 4.0,
    };
    html! {
        g {
            title { (drawable(&cell.words)) }
            rect class=(class) x=(px(x)) y=(px(y)) width=(px(wide)) height=(px(CELL_HEIGHT))
                fill-opacity=[opacity] {}
            (label.draw(&cell.text))
        }
    }
}
