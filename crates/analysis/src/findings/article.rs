//! Tables in the form of an article, with the text of every cell.

use super::figure::MeasuredFigure;
use iotax_stats::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArticleFindings {
    /// Name by which the table was asked for.
    pub name: String,
    pub title: String,
    /// Head of the names of the rows.
    pub corner: String,
    pub columns: Vec<String>,
    pub rows: Vec<ArticleRow>,
    /// Why cells are empty, and what limits or emulation mean for figures.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArticleRow {
    pub name: String,
    pub cells: Vec<ArticleCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArticleCell {
    /// Figure as the article would print it; empty if there is none.
    pub text: String,
    pub figure: MeasuredFigure,
    /// Unit in which the figure is written, and its size in the unit of `figure`.
    pub unit: String,
    #[serde(skip)]
    pub factor: f64,
    #[serde(skip)]
    pub decimals: usize,
    pub origin: CellOrigin,
    /// Conclusion from a share, if it is one of measured rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Limit that both sides reached, if the share is that of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
}

/// Kinds of a cell's figure: measured, a share, or given by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellOrigin {
    Measured,
    /// A share of another measured figure.
    Share,
    /// The figure itself, as its own share.
    Whole,
    /// Published or rated, or a share of such figures alone.
    Given,
}

impl ArticleCell {
    /// Returns true if the cell is a measured figure without an interval.
    pub fn lacks_interval(&self) -> bool {
        let is_measured = matches!(self.origin, CellOrigin::Measured | CellOrigin::Share);
        is_measured && self.figure.value().is_some() && self.figure.bounds().is_none()
    }

    /// Returns true if nothing follows from the share: it is that of a limit, or its verdict is
    /// not resolved.
    pub fn is_unresolved(&self) -> bool {
        let open = self.verdict.as_ref().is_some_and(|verdict| !verdict.is_resolved());
        self.figure.bounds().is_some() && (self.masked.is_some() || open)
    }
}
