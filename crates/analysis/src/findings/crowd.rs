//! Guests side by side.

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
    /// Places that were to take part as well, and have none in these figures: they were lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Whole rounds that do not count, as other places took part in them.
    #[serde(skip_serializing_if = "is_none")]
    pub of_other_places: u64,
    /// The place with the least, and its I/Os a second.
    pub slowest: (String, f64),
    /// The one with the most.
    pub fastest: (String, f64),
    /// The least over the most. The interval holds for the two of all pairs that lie furthest
    /// apart.
    pub spread: MeasuredFigure,
    /// Jain's index of fairness (1984): 1 when all get the same, 1/n when one gets all.
    pub jain: MeasuredFigure,
    /// Share of the windows in which all ran, over all slices.
    pub together: f64,
    /// Mean share of a window that had passed when the last began, where slices end on equal bytes;
    /// 0 elsewhere.
    pub late: f64,
    /// Slices that were run again because their places did not run together, over all slices that
    /// count.
    pub run_again: f64,
    /// I/Os a second for each busy core of the host: by /proc/stat, where a core that polls (a
    /// reactor of SPDK's) is busy all the time, so that nothing has to be added for it.
    pub per_core: MeasuredFigure,
    /// Against the same stack in fewer places.
    pub scaling: Option<Scaling>,
    /// Reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<CrowdDirection>,
    /// Each of the places.
    pub rows: Vec<PlaceRow>,
    /// Why figures of it are not representative.
    pub emulated: Option<String>,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The stack of fewer.
    pub against: String,
    /// How many times as many places.
    pub places: f64,
    /// Rate of the many over that of the fewer.
    pub ratio: MeasuredFigure,
    /// That over `places`: 1 is a stack that scales without loss.
    pub efficiency: MeasuredFigure,
    /// Why it says little or nothing: the comparison is withheld, or both ran into a ceiling.
    pub caution: Option<String>,
}

/// How evenly one direction of a mix is shared, and what many make of it against fewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrowdDirection {
    pub direction: &'static str,
    /// As of the whole load.
    pub slowest: (String, f64),
    /// As of the whole load.
    pub fastest: (String, f64),
    /// As of the whole load.
    pub spread: MeasuredFigure,
    /// As of the whole load.
    pub jain: MeasuredFigure,
    /// Its rate in the many over that in the fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<MeasuredFigure>,
    /// That over how many times as many places there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<MeasuredFigure>,
}

/// One of several places that load together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRow {
    pub place: String,
    pub iops: MeasuredFigure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: MeasuredFigure,
    /// Its I/Os a second over the mean of all places.
    pub of_mean: MeasuredFigure,
    /// 99th percentile of the latency of all of its I/Os, in ns.
    pub p99: MeasuredFigure,
    /// Of a mix, reads a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<MeasuredFigure>,
    /// Of a mix, writes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<MeasuredFigure>,
}
