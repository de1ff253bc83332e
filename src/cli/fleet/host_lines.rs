//! Lines about hosts: while a fleet runs, and at its end.

use super::super::output::{columns, hanging_paragraph, say_aside};
use iotax_fleet::host_state::{HostReport, HostState, count_hosts};
use iotax_fleet::plan::default_fleets_dir;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Prints a line for each host that changes its state.
pub struct HostPrinter {
    states: Mutex<BTreeMap<String, HostState>>,
}

impl HostPrinter {
    pub fn new<'a>(reports: impl Iterator<Item = (&'a str, &'a HostReport)>) -> HostPrinter {
        let states = reports.map(|(name, report)| (name.to_owned(), report.state)).collect();
        HostPrinter { states: Mutex::new(states) }
    }

    /// Takes a new state of a host.
    pub fn take(&self, name: &str, report: &HostReport) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(name.to_owned(), report.state);
        if report.state == HostState::Running {
            return;
        }
        let counts = count_hosts(states.values().copied());
        let why = report.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        say_aside(&format!("{name}: {}{why}  ({counts})", report.state.word()));
    }
}

/// Returns the number of hosts in each state, and a paragraph for each host that is not done: for at
/// most so many.
pub fn state_lines(names: &[&str], reports: &[HostReport], folder: &Path, most: usize) -> String {
    let width = columns();
    let mut text = count_hosts(reports.iter().map(|report| report.state)) + "\n";
    let with_reason = || names.iter().zip(reports).filter(|(_, report)| report.why.is_some());
    for (name, report) in with_reason().take(most) {
        let why = report.why.as_deref().unwrap_or_default();
        text += &hanging_paragraph(&format!("  {name}: {}: ", report.state.word()), why, width);
        if let Some(next) = &report.next {
            text += &format!("      {}\n", located_command(next, folder));
        }
    }
    let more = with_reason().count().saturating_sub(most);
    if more > 0 {
        text += &format!("  and {more} more: {}\n", typed_fleet("status", folder));
    }
    text
}

/// Returns a command of `fleet` as a user types it for the fleet in a folder.
pub fn typed_fleet(verb: &str, folder: &Path) -> String {
    located_command(&format!("iotax fleet {verb} {}", iotax_store::run_id_of(folder)), folder)
}

/// Returns commands on a fleet with its folder in place of its id, if it is not in the usual folder.
fn located_command(next: &str, folder: &Path) -> String {
    if default_fleets_dir().ok().as_deref() == folder.parent() {
        return next.to_owned();
    }
    next.replace(&iotax_store::run_id_of(folder), &iotax_units::shell::path(folder))
}
