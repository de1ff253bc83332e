//! Stacks that differ only in their drive: a table with a row for each drive and a column for each
//! load, and the outliers in words.

use super::number::change_in_percent;
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::drives::{DriveFigure, DriveGroup, DriveOutlier};

pub(super) const TITLE: &str = "Drive by drive";

pub(super) const LEGEND: &str = "\
    rates against the median of the other drives (of the same model, if there are three), measured \
    in the same rounds or visits; the intervals hold for all drives and loads at once; slow, fast: \
    farther from the median than 99 of 100 drives that scatter like the others, and the whole \
    interval beyond the run's limit of no difference";

/// Returns the heading and the table of a group of drives.
pub(super) fn group_table(findings: &Findings, group: &DriveGroup) -> (String, TextTable) {
    let mut table = TextTable::default();
    let names = group.drives.iter().map(|drive| drive.stack.clone()).collect();
    table.push("stack", 0, names);
    table.push("drive", 1, group.drives.iter().map(|drive| drive.drive.clone()).collect());
    for load in findings.workloads.iter().filter(|load| !load.drives.is_empty()) {
        let figure = |stack: &str| load.drives.iter().find(|one| one.stack == stack);
        let cells =
            group.drives.iter().map(|drive| figure(&drive.stack).map_or_else(String::new, cell));
        table.push(&load.name, 0, cells.collect());
    }
    let heading = match group.layers.is_empty() {
        true => "Drives themselves".to_owned(),
        false => group.layers.clone(),
    };
    (heading, table)
}

fn cell(one: &DriveFigure) -> String {
    let mark = match one.outlier {
        Some(DriveOutlier::Slower) => " slow",
        Some(DriveOutlier::Faster) => " fast",
        None => "",
    };
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    format!("{}{mark}{emulated}", change_in_percent(&one.of_median).cell())
}
