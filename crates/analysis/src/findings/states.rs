//! Arrays that were measured in states.

use super::comparison::{Charges, Comparison};
use serde::Serialize;

/// One array in all of its states, in their order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayStates {
    /// The stack as it was set up, which is healthy.
    pub stack: String,
    /// What told the state: `sysfs`, `zpool status`.
    pub told_by: &'static str,
    /// One by one, from the first.
    pub states: Vec<StateFindings>,
    /// What it told, in words.
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateFindings {
    /// Name of the stack in it.
    pub stack: String,
    /// As it was asked for: `failed(1)`; `healthy again`.
    pub state: String,
    /// Slices that figures are made of.
    pub slices: u64,
    /// Of these, after how many the array told its state.
    pub told: u64,
    /// What it told there, in its words: `rebuilding, 3 to 61 % done`.
    pub told_as: Vec<String>,
    /// Slices that were left out, since the array was in another state after them. They were run
    /// again.
    pub left_out: u64,
    /// What it told there.
    pub left_out_as: Vec<String>,
    /// How fast it was rebuilt meanwhile; `None`: it was in no rebuild, or none was looked at
    /// twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
    /// Against the array as it was set up; none of that itself, nor where that is the baseline
    /// already.
    pub comparisons: Vec<Comparison>,
    pub charges: Vec<Charges>,
    /// Whether it is healthy once more.
    pub again: bool,
}

/// Pace of the rebuilds of one array under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rebuild {
    /// Stretches of rebuilds that were seen: a share that falls, another visit, or a slice in which
    /// the state was left begins again.
    pub stretches: u64,
    /// Percent of a rebuild that were done between the first and the last look of each stretch, all
    /// together.
    pub percent: f64,
    /// Most that these are off, where shares were kept in whole percent.
    pub percent_off: f64,
    /// Seconds of these stretches.
    pub seconds: f64,
    /// Share of that time in which the load ran on the array.
    pub loaded: f64,
    /// Bytes of a member, where they are known.
    pub member_bytes: Option<u64>,
    /// Seconds that a whole rebuild takes at the pace of the stretches; of several the median.
    /// `None`: too little was seen.
    pub whole_s: Option<f64>,
    /// Bytes a second that were written to each member that is rebuilt.
    pub bytes_per_s: Option<f64>,
    pub sentence: String,
}
