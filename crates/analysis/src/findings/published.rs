//! What somebody published beside what was measured.

use super::figure::MeasuredFigure;
use serde::Serialize;

/// The published figures of a run's scenario, each beside its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFindings {
    /// Title, author, place and date.
    pub source: String,
    /// What it was measured on.
    pub hardware: String,
    /// What else was published that no figure here compares with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// In the order of the scenario.
    pub figures: Vec<PublishedFinding>,
    /// How to read them, what came out, and why some are unresolved.
    pub sentences: Vec<String>,
}

/// One published figure beside the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFinding {
    /// Name of the workload.
    pub workload: String,
    /// `4k random reads at iodepth 16`.
    pub subject: String,
    /// `iops`, `durable throughput`, `read p99.9`.
    pub metric: String,
    /// Which of several printed rows of the metric it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub stack: String,
    /// The baseline; of the baseline's own figures `None`, as they have no ratio.
    pub against: Option<String>,
    /// As it was printed.
    pub printed: String,
    pub published: MeasuredFigure,
    pub measured: MeasuredFigure,
    /// The two ratios to the baseline; `None` of the baseline itself.
    pub ratio: Option<RatioBeside>,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
}

impl PublishedFinding {
    /// `write iops`, or `write iops (as its table prints it)`.
    pub fn metric_said(&self) -> String {
        let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}{note}", self.metric)
    }

    /// Whether it is of the same printed row.
    pub fn is_of_row(&self, other: &PublishedFinding) -> bool {
        let [ours, others] = [self, other].map(|one| (&one.workload, &one.metric, &one.note));
        ours == others
    }
}

/// A published ratio and the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioBeside {
    /// Of the printed figures.
    pub published: MeasuredFigure,
    /// From where to where it may lie, since printed figures are rounded; from 0 where a bound was
    /// printed.
    pub rounding: Option<[f64; 2]>,
    pub measured: MeasuredFigure,
    /// What limit both measured stacks ran into: the ratio is then that of the limit.
    pub masked: Option<String>,
    #[serde(flatten)]
    pub agreement: Agreement,
}

/// Whether a published ratio and the measured one can be the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "agreement", rename_all = "snake_case")]
pub enum Agreement {
    /// The published ratio lies within the measured interval, as far as its printed digits tell; of
    /// a bound: the whole interval lies below it.
    Agrees,
    Differs,
    /// Nothing can be said.
    Unresolved {
        reason: String,
    },
}
