//! What is known of a fleet before anything is compared.

use super::host_figures::HostFigures;
use serde::{Deserialize, Serialize};

/// Results of all hosts of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetInput {
    pub id: String,
    pub name: Option<String>,
    /// Scenario or command that the hosts carried out.
    pub source: String,
    pub hosts: Vec<FleetHostResult>,
    /// An earlier fleet with the same hosts, for drift.
    #[serde(default)]
    pub earlier: Option<Box<FleetInput>>,
}

impl FleetInput {
    /// Returns the hosts that have figures.
    pub fn figures(&self) -> impl Iterator<Item = (&FleetHostResult, &HostFigures)> {
        self.hosts.iter().filter_map(|host| Some((host, host.figures.as_ref()?)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetHostResult {
    pub host: String,
    /// `done`, `failed`, `refused`, `lost`, `unknown`, `never started`, ...
    pub state: String,
    /// Reason for the state, as a fragment.
    #[serde(default)]
    pub why: Option<String>,
    /// Command that leads on.
    #[serde(default)]
    pub next: Option<String>,
    /// Figures of its run; `None` if there is no run, or it cannot be read.
    #[serde(default)]
    pub figures: Option<HostFigures>,
    /// Seconds by which its clock is ahead of that of this host.
    #[serde(default)]
    pub clock_ahead_s: Option<f64>,
    /// Groups of the inventory that the host is in.
    #[serde(default)]
    pub groups: Vec<String>,
}
