//! What probes say: what they count, single runs of a tool, losses and CPU time of a network.

use super::MeasuredFigure;
use iotax_probe::{ProbeSpec, ProbeUnit};
use serde::Serialize;

/// What a probe counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Head of its figures: `passes/s`, `throughput`, `mean`.
    pub head: String,
    /// What one unit does.
    pub about: &'static str,
    /// Its relative among the field's tools.
    pub relative: &'static str,
    /// It counts what comes from the other end only.
    pub receives: bool,
}

impl ProbeReport {
    /// That of a probe that this version knows.
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

/// Single runs of a tool, side by side. None of these has an interval: that of the stack's figure
/// is from whole rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToolRuns {
    pub runs: u64,
    /// Of the three figures: `1/s`, `B/s`, `ns`.
    pub unit: &'static str,
    /// The highest rate, the shortest time.
    pub best: f64,
    /// The middle one, the mean of two.
    pub median: f64,
    pub mean: f64,
}

/// What a network probe lost, and what its bytes cost both ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkRow {
    /// Datagrams a second that were sent; what arrived of them is the stack's rate. Of others
    /// `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<MeasuredFigure>,
    /// The share of these, or of requests, of which nothing arrived. Of streams `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<MeasuredFigure>,
    /// TCP segments that were sent again for each GiB that arrived. Of datagrams `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_again_per_gib: Option<MeasuredFigure>,
    /// CPU time of this end's threads for each KiB that arrived, without what the kernel does in
    /// interrupts. Of round trips `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_here_per_kib: Option<MeasuredFigure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_there_per_kib: Option<MeasuredFigure>,
}

/// Of a path that loses more, the rate is not what it carries.
const TOLERATED: f64 = 0.01;

impl NetworkRow {
    /// The share that was lost, where it is more than a hundredth.
    pub fn loses(&self) -> Option<f64> {
        self.lost.as_ref()?.value().filter(|lost| *lost > TOLERATED)
    }
}
