//! Fleets in the formats of other tools: a workbook, Parquet and SQLite. A Parquet file is read
//! again, so that a report on many hosts can be made from one file.

mod fleet_parquet;
mod fleet_sqlite;
#[cfg(test)]
mod tests;

pub use fleet_parquet::read_fleet_parquet;

use crate::workbook::fleet_book;
use iotax_analysis::findings::fleet::{ComparedHost, FigureKey, FleetFindings, HostDeviation};
use iotax_analysis::fleet::{FleetInput, HostFigure};
use std::collections::HashMap;
use std::io::{Result, Write};

pub struct FleetExporter {
    /// Word for `--format`.
    pub name: &'static str,
    /// Extensions of files for which the export is chosen.
    pub endings: &'static [&'static str],
    pub write: fn(&FleetInput, &FleetFindings, &mut dyn Write) -> Result<()>,
}

pub const ALL: &[&FleetExporter] =
    &[&fleet_book::EXPORTER, &fleet_parquet::EXPORTER, &fleet_sqlite::EXPORTER];

pub fn by_name(name: &str) -> Option<&'static FleetExporter> {
    ALL.iter().copied().find(|exporter| exporter.name == name)
}

/// Deviations of hosts, by host and figure.
struct DeviationIndex<'a> {
    hosts: HashMap<&'a str, &'a ComparedHost>,
    columns: HashMap<(&'a FigureKey, &'a str), usize>,
}

impl<'a> DeviationIndex<'a> {
    fn new(found: &'a FleetFindings) -> DeviationIndex<'a> {
        let columns = found.figures.iter().enumerate().map(|(at, one)| ((&one.key, one.unit), at));
        let hosts = found.hosts.iter().map(|host| (host.host.as_str(), host));
        DeviationIndex { hosts: hosts.collect(), columns: columns.collect() }
    }

    fn deviation(&self, host: &str, one: &HostFigure) -> Option<&'a HostDeviation> {
        let column = *self.columns.get(&(&one.key, one.unit.as_str()))?;
        self.hosts.get(host)?.deviations[column].as_ref()
    }
}

/// Returns `worse` or `better` for an outlier, else an empty text.
pub(crate) fn outlier_word(one: Option<&HostDeviation>) -> &'static str {
    use iotax_analysis::findings::fleet::OutlierSide;
    match one.and_then(|one| one.outlier) {
        Some(OutlierSide::Worse) => "worse",
        Some(OutlierSide::Better) => "better",
        None => "",
    }
}
