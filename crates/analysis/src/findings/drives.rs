//! Stacks that differ only in their drive, compared drive by drive.

use super::figure::MeasuredFigure;
use serde::Serialize;

/// Stacks of a run that differ only in their drive: at least four.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveGroup {
    /// Layers that all of them have on their drive: `vm(attach=vfio)`; empty for bare drives.
    pub layers: String,
    pub drives: Vec<DriveFacts>,
    /// One sentence for each outlier, then one on how many drives are none.
    pub sentences: Vec<String>,
}

/// A drive of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveFacts {
    pub stack: String,
    /// Path, with the model if it is known.
    pub drive: String,
    /// What is recorded of this drive and differs from most of those it is compared with.
    pub differs: Vec<String>,
}

/// The rate of one drive under one load, against the median of the other drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveFigure {
    pub stack: String,
    /// Rate over the median rate of the others in the same rounds or visits. The interval holds
    /// together with those of all drives and loads of the run.
    pub of_median: MeasuredFigure,
    /// Number of the other drives: those of the same model, if there are three, otherwise all.
    pub others: usize,
    /// Relative distance from the median that is still ordinary: as far as 99 of 100 drives lie that
    /// scatter like the others, and at least what the run calls no difference.
    pub ordinary: f64,
    pub outlier: Option<DriveOutlier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
}

/// Side on which a drive lies beyond what is ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveOutlier {
    Slower,
    Faster,
}
