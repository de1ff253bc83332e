//! Figures and claims that somebody published about the same stacks and workloads, which a report
//! shows beside the measured ones. An unknown stack, workload, metric or unit is refused: a figure
//! beside the wrong row misleads.

use super::Workload;
use super::claims::{ClaimWire, PublishedClaim};
use super::error::{Fault, InputError, Located};
use super::metric::Metric;
use crate::stack::Stack;
use ::toml::Spanned;
use iotax_units::{self as units, PrintedValue};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Title, author, place and date of the publication.
    pub source: String,
    pub hardware: String,
    /// Other published results that no figure here compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Stack that printed percentages refer to.
    pub baseline: String,
    /// Figures in the order of the file: row by row, stack by stack.
    pub figures: Vec<PublishedFigure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<PublishedClaim>,
}

impl Published {
    /// Returns the number of figures and claims in words: `2 figures and 1 claim`.
    pub fn counts(&self) -> String {
        let figures = (self.figures.len() as u64, "figure", "figures");
        let claims = (self.claims.len() as u64, "claim", "claims");
        let known = [figures, claims].into_iter().filter(|(count, ..)| *count > 0);
        let words: Vec<String> =
            known.map(|(count, one, many)| units::count_noun(count, one, many)).collect();
        words.join(" and ")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    pub workload: String,
    pub metric: Metric,
    /// Words that distinguish several printed rows of one metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub stack: String,
    /// Figure as it was printed: `26.0k`.
    pub printed: String,
    /// True if `value` is a fraction of the baseline, because only that was published; false if it
    /// is in the metric's unit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share: bool,
    pub value: f64,
    /// Lowest value that prints as this figure; 0 if a bound was printed: `<25%`.
    pub low: f64,
    /// Highest value that prints as this figure.
    pub high: f64,
}

impl PublishedFigure {
    /// Reads a printed text: a fraction if it ends with `%`, otherwise a value in the units of the
    /// metric.
    ///
    /// # Errors
    /// The text has no number, or another unit.
    pub fn from_printed(
        workload: &str,
        metric: Metric,
        stack: &str,
        printed: &str,
    ) -> Result<PublishedFigure, Fault> {
        let share = printed.trim_end().ends_with('%');
        let read = match share {
            true => units::parse_printed_share(printed),
            false => units::parse_printed(printed, metric.counted_kind()),
        };
        let PrintedValue { value, low, high } =
            read.map_err(|clause| Fault::from_clause(&clause))?;
        Ok(PublishedFigure {
            workload: workload.to_owned(),
            metric,
            note: None,
            stack: stack.to_owned(),
            printed: printed.to_owned(),
            share,
            value,
            low,
            high,
        })
    }

    /// Returns true if both figures are in one printed row: they have the same workload, metric and
    /// note.
    pub fn is_of_row(&self, other: &PublishedFigure) -> bool {
        let [ours, others] = [self, other].map(|one| (&one.workload, one.metric, &one.note));
        ours == others
    }

    /// Returns true if only an upper bound was printed, such as `<25%`.
    pub fn is_bound(&self) -> bool {
        self.low == 0.0
    }
}

/// `[published]`: the stacks as heads of columns, and rows of figures that were printed for them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedTable {
    source: Spanned<String>,
    hardware: Spanned<String>,
    note: Option<String>,
    /// Required if there are figures.
    stacks: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    figures: Vec<Spanned<RowWire>>,
    #[serde(default)]
    claims: Vec<ClaimWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowWire {
    workload: Spanned<String>,
    metric: Spanned<String>,
    note: Option<Spanned<String>>,
    printed: Spanned<Vec<Spanned<String>>>,
}

/// Mark of a cell that was not published.
const NOT_PRINTED: &str = "-";

/// `[published]` as it is in the file, before the names of stacks and workloads are resolved.
pub(super) struct PublishedDraft {
    wire: PublishedTable,
    file: Located,
    baseline: Option<String>,
}

impl PublishedDraft {
    pub(super) fn new(
        wire: PublishedTable,
        file: Located,
        baseline: Option<String>,
    ) -> PublishedDraft {
        PublishedDraft { wire, file, baseline }
    }

    /// Checks every entry, with the names of stacks and workloads resolved.
    ///
    /// # Errors
    /// Returns the first entry that is not known or does not fit.
    pub(super) fn settled(
        &self,
        stacks: &[Stack],
        workloads: &[Workload],
    ) -> Result<Published, InputError> {
        let [source, hardware] = [("source", &self.wire.source), ("hardware", &self.wire.hardware)]
            .map(|(key, word)| self.named_word(key, word));
        let names = self.named_stacks(stacks)?;
        let head = self.wire.source.span();
        let baseline = self
            .baseline
            .as_deref()
            .and_then(|name| stacks.iter().find(|stack| stack.is_called(name)));
        let Some(baseline) = baseline.or(stacks.first()).map(|stack| stack.name.clone()) else {
            return Err(self.file.error_at_span("stacks", &head, Fault::new("there is no stack")));
        };
        let mut figures: Vec<PublishedFigure> = Vec::new();
        for row in &self.wire.figures {
            let row = self.row_figures(row.get_ref(), &names, workloads, &baseline, &figures)?;
            figures.extend(row);
        }
        let claims = self.wire.claims.iter();
        let claims = claims.map(|claim| claim.settled(&self.file, stacks, workloads));
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        if figures.is_empty() && claims.is_empty() {
            let hint = "write [[published.figures]] or [[published.claims]]";
            let fault = Fault::hint("there is no figure and no claim", hint);
            return Err(self.file.error_at_span("published", &head, fault));
        }
        Ok(Published {
            source: source?,
            hardware: hardware?,
            note: self.wire.note.clone(),
            baseline,
            figures,
            claims,
        })
    }

    fn named_word(&self, key: &str, word: &Spanned<String>) -> Result<String, InputError> {
        match word.get_ref().trim() {
            "" => Err(self.file.error_at_span(key, &word.span(), Fault::new("is empty"))),
            text => Ok(text.to_owned()),
        }
    }

    fn named_stacks(&self, known: &[Stack]) -> Result<Vec<&str>, InputError> {
        let mut names: Vec<&str> = Vec::new();
        let Some(stacks) = &self.wire.stacks else {
            return match self.wire.figures.first() {
                Some(row) => {
                    let fault = Fault::hint(
                        "is missing",
                        "write stacks = [\"NAME\", ...], the columns of the figures",
                    );
                    Err(self.file.error_at_span("stacks", &row.span(), fault))
                }
                None => Ok(names),
            };
        };
        for name in stacks.get_ref() {
            let fault = match name.get_ref().as_str() {
                twice if names.contains(&twice) => {
                    Fault::new(format!("stack \"{twice}\" is listed twice"))
                }
                name if known.iter().any(|stack| stack.name == name) => {
                    names.push(name);
                    continue;
                }
                name => {
                    let known: Vec<&str> = known.iter().map(|stack| stack.name.as_str()).collect();
                    Fault::unknown("stack", name, &known)
                }
            };
            return Err(self.file.error_at_span("stacks", &name.span(), fault));
        }
        Ok(names)
    }

    fn row_figures(
        &self,
        row: &RowWire,
        stacks: &[&str],
        workloads: &[Workload],
        baseline: &str,
        before: &[PublishedFigure],
    ) -> Result<Vec<PublishedFigure>, InputError> {
        let name = row.workload.get_ref();
        let workload =
            workloads.iter().find(|workload| workload.name == *name).ok_or_else(|| {
                let known: Vec<&str> =
                    workloads.iter().map(|workload| workload.name.as_str()).collect();
                self.file.error_at_span(
                    "workload",
                    &row.workload.span(),
                    Fault::unknown("workload", name, &known),
                )
            })?;
        let metric = Metric::parse(row.metric.get_ref())
            .and_then(|metric| metric.on_workload(workload))
            .map_err(|fault| self.file.error_at_span("metric", &row.metric.span(), fault))?;
        let note = row.note.as_ref().map(|note| self.named_word("note", note)).transpose()?;
        let twice =
            |one: &PublishedFigure| (&one.workload, one.metric, &one.note) == (name, metric, &note);
        if before.iter().any(twice) {
            let why = format!("{metric} of \"{name}\" is listed twice");
            let fault = Fault::hint(why, "where it was printed in two places, write which in note");
            return Err(self.file.error_at_span("metric", &row.metric.span(), fault));
        }
        let printed = row.printed.get_ref();
        if printed.len() != stacks.len() {
            let why = format!("{} figures for {} stacks", printed.len(), stacks.len());
            let fault = Fault::hint(why, "write \"-\" where none was published");
            return Err(self.file.error_at_span("printed", &row.printed.span(), fault));
        }
        let cells = stacks.iter().zip(printed).filter(|(_, cell)| cell.get_ref() != NOT_PRINTED);
        let figure = |(stack, cell): (&&str, &Spanned<String>)| {
            let read = PublishedFigure::from_printed(name, metric, stack, cell.get_ref());
            let figure = read.map(|figure| PublishedFigure { note: note.clone(), ..figure });
            let figure = figure.and_then(|figure| match figure.share && *stack == baseline {
                true => Err(Fault::new(format!(
                    "\"{}\" of the baseline itself says nothing",
                    figure.printed
                ))),
                false => Ok(figure),
            });
            figure.map_err(|fault| self.file.error_at_span("printed", &cell.span(), fault))
        };
        cells.map(figure).collect()
    }
}
