//! What every exporter of fleets has, and what they share.

use iotax_analysis::findings::fleet::{
    ComparedHost, FigureKey, FleetFindings, HostDeviation, OutlierSide,
};
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

/// Deviations of hosts, by host and figure.
pub(super) struct DeviationIndex<'a> {
    hosts: HashMap<&'a str, &'a ComparedHost>,
    columns: HashMap<(&'a FigureKey, &'a str), usize>,
}

impl<'a> DeviationIndex<'a> {
    pub(super) fn new(found: &'a FleetFindings) -> DeviationIndex<'a> {
        let columns = found.figures.iter().enumerate().map(|(at, one)| ((&one.key, one.unit), at));
        let hosts = found.hosts.iter().map(|host| (host.host.as_str(), host));
        DeviationIndex { hosts: hosts.collect(), columns: columns.collect() }
    }

    pub(super) fn deviation(&self, host: &str, one: &HostFigure) -> Option<&'a HostDeviation> {
        let column = *self.columns.get(&(&one.key, one.unit.as_str()))?;
        self.hosts.get(host)?.deviations[column].as_ref()
    }
}

/// Returns `worse` or `better` for an outlier, else an empty text.
pub(crate) fn outlier_word(one: Option<&HostDeviation>) -> &'static str {
    match one.and_then(|one| one.outlier) {
        Some(OutlierSide::Worse) => "worse",
        Some(OutlierSide::Better) => "better",
        None => "",
    }
}
