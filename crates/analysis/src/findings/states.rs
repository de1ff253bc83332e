//! Arrays that were measured in several states.

use super::comparison::{Charges, Comparison};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayStates {
    /// The stack as it was set up, which is healthy.
    pub stack: String,
    /// Source that reports the state: `sysfs`, `zpool status`.
    #[serde(rename = "told_by")]
    pub reported_by: &'static str,
    pub states: Vec<StateFindings>,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateFindings {
    pub stack: String,
    /// State as requested, `failed(1)`, or `healthy again`.
    pub state: String,
    /// Number of slices that count for figures.
    pub slices: u64,
    /// Number of these slices after which the array reported its state.
    #[serde(rename = "told")]
    pub reported: u64,
    /// States that the array reported after these slices, in its own words: `rebuilding, 3 to 61 %
    /// done`.
    #[serde(rename = "told_as")]
    pub reported_as: Vec<String>,
    /// Number of slices that were left out because the array was in another state after them. They
    /// were run again.
    pub left_out: u64,
    pub left_out_as: Vec<String>,
    /// Pace of rebuilds during these slices; `None` if no rebuild was read twice in succession.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
    /// Comparisons with the array as it was set up; empty for that state itself, and where it is
    /// the baseline already.
    pub comparisons: Vec<Comparison>,
    pub charges: Vec<Charges>,
    pub again: bool,
}

/// Pace of the rebuilds of one array under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rebuild {
    /// Number of observed stretches of rebuilds. A new one begins when the share falls, with
    /// another visit, and after a slice without a share.
    pub stretches: u64,
    /// Percent of a rebuild done between the first and the last reading of each stretch, all
    /// together.
    pub percent: f64,
    /// Largest error of `percent`, where shares were recorded in whole percent.
    pub percent_off: f64,
    /// Seconds of these stretches.
    pub seconds: f64,
    /// Share of that time in which the load ran on the array.
    pub loaded: f64,
    pub member_bytes: Option<u64>,
    /// Seconds that a whole rebuild takes at the pace of the stretches, by their median; `None` if
    /// too little was observed.
    pub whole_s: Option<f64>,
    /// Bytes per second written to each member that is rebuilt.
    pub bytes_per_s: Option<f64>,
    pub sentence: String,
}
