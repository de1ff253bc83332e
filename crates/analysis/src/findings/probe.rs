//! Results of probes: what they count, single runs of a tool, losses and CPU time of a network.

use super::MeasuredFigure;
use iotax_probe::{ProbeSpec, ProbeUnit};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Heading of the probe's figures: `passes/s`, `throughput` or `mean`.
    pub head: String,
    /// What one unit of the probe's work is.
    pub about: &'static str,
    /// Related tool that is common in the field.
    pub relative: &'static str,
    /// True if the probe counts only what the other end sends.
    pub receives: bool,
}

impl ProbeReport {
    /// Returns the report of a probe; `None` if this version does not know it.
    pub fn from_probe(probe: &ProbeSpec) -> Option<ProbeReport> {
        let found = probe.definition().ok()?;
        let head = match probe.unit().ok()? {
            ProbeUnit::Count(what) => format!("{what}/s"),
            ProbeUnit::Bytes => "throughput".to_owned(),
            ProbeUnit::Time(_) => "mean".to_owned(),
        };
        let receives = probe.receives();
        Some(ProbeReport { head, about: found.about, relative: found.relative, receives })
    }
}

/// Single runs of a tool. None of these has an interval; that of the stack's figure is from whole
/// rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToolRuns {
    pub runs: u64,
    /// Unit of the three figures: `1/s`, `B/s`, `ns`.
    pub unit: &'static str,
    /// Highest rate, or shortest time.
    pub best: f64,
    /// Median; with an even number of runs, the mean of the middle two.
    pub median: f64,
    pub mean: f64,
}

/// Losses of a network probe, and the CPU time that its bytes cost both ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkRow {
    /// Datagrams sent per second; those that arrived are the stack's rate. `None` for other probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<MeasuredFigure>,
    /// Share of datagrams or requests of which nothing arrived. `None` for streams, and for round
    /// trips without a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<MeasuredFigure>,
    /// TCP segments retransmitted for each GiB that arrived. `None` for datagrams and round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_again_per_gib: Option<MeasuredFigure>,
    /// CPU time of this end's threads for each KiB that arrived, without what the kernel does in
    /// interrupts. `None` for round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_here_per_kib: Option<MeasuredFigure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_there_per_kib: Option<MeasuredFigure>,
}

/// Largest tolerated share of losses. If a path loses more, the rate does not show what it carries.
const TOLERATED: f64 = 0.01;

impl NetworkRow {
    /// Returns the share that was lost, if it is more than a hundredth.
    pub fn loses(&self) -> Option<f64> {
        self.lost.as_ref()?.value().filter(|lost| *lost > TOLERATED)
    }
}
