//! Each target of a stack by itself: the drives of an `each`, or the disks of a guest.

use super::bars::{BarFigure, BarGroup, draw_groups};
use crate::chart_kind::ChartKind;
use crate::drawing::ChartDrawing;
use crate::request::ChartRequest;
use iotax_analysis::findings::{StackRow, WorkloadFindings};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "drives",
    about: "rates drive by drive, where a stack has several",
    has_quantities: false,
    draw,
};

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let loads = request.asked(&request.findings.workloads);
    let rows = loads.flat_map(|load| load.rows.iter().map(move |row| (load, row)));
    let groups = rows.filter(|(_, row)| row.targets.len() > 1).map(|(load, row)| group(load, row));
    draw_groups("Rates drive by drive".to_owned(), groups.collect())
}

fn group<'a>(load: &'a WorkloadFindings, row: &'a StackRow) -> BarGroup<'a> {
    let has_places = row.targets.iter().any(|one| one.place != row.targets[0].place);
    let bars = row.targets.iter().map(|one| BarFigure {
        name: if has_places { format!("{} {}", one.place, one.path) } else { one.path.clone() },
        class: "level",
        figure: &one.iops,
        published: None,
        ceilings: Vec::new(),
    });
    BarGroup {
        head: format!("{}, {}", row.stack, load.subject),
        unit: "1/s",
        counted: "IOPS",
        bars: bars.collect(),
    }
}
