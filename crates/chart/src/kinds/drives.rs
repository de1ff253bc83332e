//! Each target of a stack by itself (the drives of an `each`, or the disks of a guest), and stacks
//! that differ only in their drive.

use super::bars::{BarFigure, BarGroup, draw_groups};
use crate::chart_kind::ChartKind;
use crate::drawing::ChartDrawing;
use crate::request::ChartRequest;
use iotax_analysis::findings::drives::{DriveFacts, DriveGroup};
use iotax_analysis::findings::{StackRow, WorkloadFindings};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "drives",
    about: "rates drive by drive, of one stack or of stacks that differ only in the drive",
    has_quantities: false,
    draw,
};

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let loads = request.asked(&request.findings.workloads);
    let rows = loads.flat_map(|load| load.rows.iter().map(move |row| (load, row)));
    let groups = rows.filter(|(_, row)| row.targets.len() > 1).map(|(load, row)| group(load, row));
    let all = &request.findings.drives;
    let stacks = request.asked(&request.findings.workloads).flat_map(|load| {
        all.iter().filter(|_| !load.drives.is_empty()).map(move |group| of_stacks(load, group))
    });
    draw_groups("Rates drive by drive".to_owned(), groups.chain(stacks).collect())
}

fn of_stacks<'a>(load: &'a WorkloadFindings, group: &'a DriveGroup) -> BarGroup<'a> {
    let is_bytes = load.rate_unit == "B/s";
    let row = |name: &str| load.rows.iter().find(|row| row.stack == name);
    let bar = |drive: &'a DriveFacts| {
        let row = row(&drive.stack)?;
        Some(BarFigure {
            name: drive.stack.clone(),
            class: "level",
            figure: if is_bytes { &row.bytes_per_s } else { &row.iops },
            published: None,
            ceilings: Vec::new(),
        })
    };
    BarGroup {
        head: match group.layers.is_empty() {
            true => load.subject.clone(),
            false => format!("{}, {}", group.layers, load.subject),
        },
        unit: load.rate_unit,
        counted: if is_bytes { "throughput" } else { "IOPS" },
        bars: group.drives.iter().filter_map(bar).collect(),
    }
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
