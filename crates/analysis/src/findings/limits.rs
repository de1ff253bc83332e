//! Limits that courses of load show, which `iotax limits` runs.

use iotax_facts::limit::SetLimit;
use iotax_stats::bucket::CourseShape;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitFindings {
    /// Stack as it was written on the command line.
    pub stack: String,
    pub courses: Vec<CourseFinding>,
    /// Limits that are set, as far as they can be read.
    pub settings: Vec<SetLimit>,
    /// Processors that iotax itself may use, if a control group limits them.
    pub processors: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CourseFinding {
    /// `read` or `write`; for a network `send` or `receive`.
    pub direction: &'static str,
    /// Unit of the figures: `ios` or `bytes`; for a network `bytes` without headers, or
    /// `datagrams`.
    pub unit: &'static str,
    pub load: String,
    pub seconds: f64,
    pub rested_seconds: f64,
    pub ios: u64,
    pub bytes: u64,
    /// Shape of the course, and its figures with their standard errors; `None` if `refused` has the
    /// reason.
    #[serde(flatten)]
    pub found: Option<CourseShape>,
    pub refused: Option<String>,
    /// True if the rest before the course may have been too short for the bucket to be full.
    pub burst_may_be_larger: bool,
    /// Rate of a network in bytes per second with the headers of Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_wire: Option<f64>,
    /// Remark on a limit that the course in the other unit has found as well.
    pub note: Option<String>,
    pub settings: Vec<SetLimit>,
    /// Points of the course: seconds since its start, and I/Os or bytes until then.
    pub points: Vec<(f64, f64)>,
    /// I/Os or bytes of one request: a limiter may let a request pass for which the bucket has too
    /// little left.
    #[serde(skip)]
    pub block: f64,
    /// What the course shows: `reads: limited to 1,000 I/Os a second after a burst of 5,000 I/Os`.
    pub sentence: String,
    /// How the limit was found, and what is set: `found in 5.2 s of 4k random reads at iodepth 32;
    /// ...`.
    pub detail: String,
}
