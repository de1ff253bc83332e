//! Published figures next to the measured ones.

use super::figure::MeasuredFigure;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFindings {
    /// Title, author, place and date of the publication.
    pub source: String,
    pub hardware: String,
    /// Further published results that no figure here compares with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub figures: Vec<PublishedFinding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimFinding>,
    /// Sentences that explain how to read the figures, what came out, and why some are unresolved.
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFinding {
    pub workload: String,
    /// Load in words: `4k random reads at iodepth 16`.
    pub subject: String,
    /// Metric in words: `iops`, `durable throughput`, `read p99.9`.
    pub metric: String,
    /// Printed row that the figure is from, if several have this metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub stack: String,
    /// Baseline of the ratio; `None` for the baseline's own figures, which have no ratio.
    pub against: Option<String>,
    /// Published figure as it was printed.
    pub printed: String,
    pub published: MeasuredFigure,
    pub measured: MeasuredFigure,
    /// Published and measured ratio to the baseline; `None` for the baseline itself.
    pub ratio: Option<RatioBeside>,
    pub emulated: Option<String>,
}

impl PublishedFinding {
    /// Returns the metric with its note: `write iops`, or `write iops (as its table prints it)`.
    pub fn metric_said(&self) -> String {
        let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}{note}", self.metric)
    }

    pub fn is_of_row(&self, other: &PublishedFinding) -> bool {
        let [ours, others] = [self, other].map(|one| (&one.workload, &one.metric, &one.note));
        ours == others
    }
}

/// A published claim about two stacks, or about one per core, next to what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimFinding {
    /// Words of the publication.
    pub text: String,
    pub workload: String,
    pub subject: String,
    /// Metric in words: `iops`, `iops per guest`, `iops per core`.
    pub metric: String,
    pub stack: String,
    /// Stack that the claim compares with; `None` for a claim per core.
    pub against: Option<String>,
    /// Claimed figure as it was printed.
    pub printed: String,
    /// `agrees`, `above` or `below` (the measured figure is above or below the claimed one), or
    /// `unresolved`.
    pub verdict: &'static str,
    #[serde(flatten)]
    pub beside: RatioBeside,
    pub emulated: Option<String>,
}

impl ClaimFinding {
    /// Returns the stacks in words: `a against b`, or `a`.
    pub fn pair_words(&self) -> String {
        match &self.against {
            Some(against) => format!("{} against {against}", self.stack),
            None => self.stack.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioBeside {
    pub published: MeasuredFigure,
    /// Range that the published ratio may have, since printed figures are rounded; from 0 where a
    /// bound was printed.
    pub rounding: Option<[f64; 2]>,
    pub measured: MeasuredFigure,
    /// Limit that both measured stacks reached; the ratio is then that of the limit.
    pub masked: Option<String>,
    #[serde(flatten)]
    pub agreement: Agreement,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "agreement", rename_all = "snake_case")]
pub enum Agreement {
    /// The published ratio lies within the measured interval, as far as its printed digits show.
    /// For a bound, the whole interval lies below it.
    Agrees,
    Differs,
    Unresolved {
        reason: String,
    },
}
