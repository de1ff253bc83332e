//! Guests and hosts that load a stack at the same time.

use super::figure::MeasuredFigure;
use serde::Serialize;

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// One stack whose load runs in several places at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crowd {
    pub stack: String,
    pub places: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Number of whole rounds that do not count because other places took part in them.
    #[serde(skip_serializing_if = "is_none")]
    pub of_other_places: u64,
    /// Place with the lowest rate, and its I/Os per second.
    pub slowest: (String, f64),
    pub fastest: (String, f64),
    /// Lowest rate over the highest. The interval holds for the pair that lies furthest apart.
    pub spread: MeasuredFigure,
    /// Jain's index of fairness (1984): 1 when all get the same, 1/n when one gets all.
    pub jain: MeasuredFigure,
    /// Mean share of a slice's window in which all places ran.
    pub together: f64,
    /// Mean share of a window that had passed when the last place began, where slices end on equal
    /// bytes; else 0.
    pub late: f64,
    /// Number of slices that were run again because their places did not run together, per slice
    /// that counts.
    pub run_again: f64,
    /// I/Os per second for each busy core of the host, by /proc/stat. A core that polls (a reactor
    /// of SPDK's) is busy all the time there, so nothing has to be added for it.
    pub per_core: MeasuredFigure,
    pub scaling: Option<Scaling>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<CrowdDirection>,
    pub rows: Vec<PlaceRow>,
    pub emulated: Option<String>,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// Stack of fewer places with which this one is compared.
    pub against: String,
    /// Number of places of this stack over that of `against`.
    pub places: f64,
    /// Rate of this stack over that of `against`.
    pub ratio: MeasuredFigure,
    /// Ratio over `places`: 1 is a stack that scales without loss.
    pub efficiency: MeasuredFigure,
    /// Reason to distrust the ratio: the comparison is withheld, or both stacks reached a ceiling.
    pub caution: Option<String>,
}

/// Fairness and scaling of one direction of a mix. Fields mean the same as in [`Crowd`] and
/// [`Scaling`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrowdDirection {
    pub direction: &'static str,
    pub slowest: (String, f64),
    pub fastest: (String, f64),
    pub spread: MeasuredFigure,
    pub jain: MeasuredFigure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<MeasuredFigure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<MeasuredFigure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRow {
    pub place: String,
    pub iops: MeasuredFigure,
    pub bytes_per_s: MeasuredFigure,
    /// I/Os per second of this place over the mean of all places.
    pub of_mean: MeasuredFigure,
    /// 99th percentile in ns of the latency of all its I/Os.
    pub p99: MeasuredFigure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<MeasuredFigure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<MeasuredFigure>,
}
