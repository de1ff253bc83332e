//! The rate of an array in each of its states.

use super::bars::{BarFigure, BarGroup, draw_groups};
use super::class_of_verdict;
use crate::chart_kind::ChartKind;
use crate::drawing::ChartDrawing;
use crate::request::{ChartRequest, rate_of_row};
use crate::text::typeset;
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::states::ArrayStates;

pub(crate) const KIND: ChartKind = ChartKind {
    name: "states",
    about: "rate of an array in each of its states: whole, degraded, rebuilding",
    has_quantities: false,
    draw,
};

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let loads = request.asked(&request.findings.workloads);
    let groups = loads.flat_map(|load| load.arrays.iter().map(|array| group(load, array)));
    let mut drawing = draw_groups("Rates of arrays by state".to_owned(), groups.collect())?;
    let mut sentences = request
        .asked(&request.findings.workloads)
        .flat_map(|load| &load.arrays)
        .flat_map(|array| &array.states)
        .filter_map(|state| state.rebuild.as_ref());
    drawing.notes.extend(sentences.next().map(|rebuild| typeset(&rebuild.sentence)));
    Some(drawing)
}

fn group<'a>(load: &'a WorkloadFindings, array: &'a ArrayStates) -> BarGroup<'a> {
    let bars = array.states.iter().filter_map(|state| {
        let row = load.rows.iter().find(|row| row.stack == state.stack)?;
        let verdict = state.comparisons.first().map(|one| &one.rate.verdict);
        Some(BarFigure {
            name: state.state.clone(),
            class: verdict.map_or("level", class_of_verdict),
            figure: rate_of_row(load, row),
            published: None,
            ceilings: Vec::new(),
        })
    });
    let head = format!("{}, {}", array.stack, load.subject);
    BarGroup { head, unit: load.rate_unit, counted: "IOPS", bars: bars.collect() }
}
