//! Claims of a publication that are no figure of a stack: how many times another stack one reaches,
//! or how much it reaches per core. An unknown stack, workload or metric is refused.

use super::Workload;
use super::article::{ChoiceWord, TableMetric};
use super::error::{Fault, InputError, Located};
use crate::stack::Stack;
use ::toml::Spanned;
use iotax_units::{self as units, Counted, PrintedValue};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedClaim {
    /// Words of the publication.
    pub text: String,
    pub workload: String,
    pub metric: TableMetric,
    pub stack: String,
    /// Stack that the claim compares with; `None` for a claim per core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// True if both rates are those of one guest, on average.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_guest: bool,
    /// Claimed figure as it was printed: `4x`, `~30% less`, `~1M`.
    pub printed: String,
    /// Claimed ratio to `against`, or the claimed figure in the metric's unit.
    pub value: f64,
    /// Lowest value that prints as this figure; 0 if a bound was printed: `<25%`.
    pub low: f64,
    /// Highest value that prints as this figure.
    pub high: f64,
}

impl PublishedClaim {
    /// Returns true if only an upper bound was claimed, such as `<25%`.
    pub fn is_bound(&self) -> bool {
        self.low == 0.0
    }
}

/// An entry of `[published]` `claims` as it is in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimWire {
    text: Spanned<String>,
    workload: Spanned<String>,
    metric: Spanned<String>,
    stack: Spanned<String>,
    against: Option<Spanned<String>>,
    per_guest: Option<Spanned<bool>>,
    printed: Spanned<String>,
}

impl ClaimWire {
    /// Checks the claim against the names of stacks and workloads.
    ///
    /// # Errors
    /// Returns the first key that is not known or does not fit.
    pub(super) fn settled(
        &self,
        file: &Located,
        stacks: &[Stack],
        workloads: &[Workload],
    ) -> Result<PublishedClaim, InputError> {
        let refuse = |key: &str, span, fault| file.error_at_span(key, &span, fault);
        let text = self.text.get_ref().trim();
        if text.is_empty() {
            return Err(refuse("text", self.text.span(), Fault::new("is empty")));
        }
        let name = self.workload.get_ref();
        let load = workloads.iter().find(|load| load.name == *name).ok_or_else(|| {
            let known: Vec<&str> = workloads.iter().map(|load| load.name.as_str()).collect();
            refuse("workload", self.workload.span(), Fault::unknown("workload", name, &known))
        })?;
        let stack = named_stack(file, "stack", &self.stack, stacks)?;
        let against = self.against.as_ref();
        let against = against.map(|name| named_stack(file, "against", name, stacks)).transpose()?;
        if against.is_some_and(|against| against.name == stack.name) {
            let span = self.against.as_ref().map_or(0..0, Spanned::span);
            return Err(refuse("against", span, Fault::new("a stack is no multiple of itself")));
        }
        let per_guest = self.per_guest.as_ref().is_some_and(|asked| *asked.get_ref());
        let metric = claimed_metric(self.metric.get_ref(), load, against.is_some())
            .map_err(|fault| refuse("metric", self.metric.span(), fault))?;
        if let Some(span) = self.per_guest.as_ref().filter(|_| per_guest).map(Spanned::span) {
            let is_rate = against.is_some() && metric.base_unit() != "ns";
            let fault = match is_rate {
                false => Some("applies to a rate against that of another stack"),
                true if stack.guests().max(against.map_or(1, Stack::guests)) < 2 => {
                    Some("neither stack has several guests")
                }
                true => None,
            };
            if let Some(why) = fault {
                return Err(refuse("per_guest", span, Fault::new(why)));
            }
        }
        let printed = self.printed.get_ref();
        let read = match (against, metric.base_unit()) {
            (Some(_), _) => units::parse_printed_ratio(printed),
            (None, "ns") => units::parse_printed(printed, Counted::Time),
            (None, _) => units::parse_printed(printed, Counted::PerSecond),
        };
        let PrintedValue { value, low, high } =
            read.map_err(|why| refuse("printed", self.printed.span(), Fault::from_clause(&why)))?;
        Ok(PublishedClaim {
            text: text.to_owned(),
            workload: name.clone(),
            metric,
            stack: stack.name.clone(),
            against: against.map(|stack| stack.name.clone()),
            per_guest,
            printed: printed.clone(),
            value,
            low,
            high,
        })
    }
}

fn named_stack<'a>(
    file: &Located,
    key: &str,
    name: &Spanned<String>,
    stacks: &'a [Stack],
) -> Result<&'a Stack, InputError> {
    stacks.iter().find(|stack| stack.name == *name.get_ref()).ok_or_else(|| {
        let known: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
        let fault = Fault::unknown("stack", name.get_ref(), &known);
        file.error_at_span(key, &name.span(), fault)
    })
}

/// Returns the metric of a claim. Between two machines only ratios compare, and figures per core,
/// so that other claims need a stack to compare with.
fn claimed_metric(word: &str, load: &Workload, is_ratio: bool) -> Result<TableMetric, Fault> {
    let metric = TableMetric::parse_word(word)?;
    match (metric, is_ratio) {
        (TableMetric::Figure(metric), true) => metric.on_workload(load).map(TableMetric::Figure),
        (_, true) => Err(Fault::hint(
            format!("there is no ratio of two stacks in {metric}"),
            "leave out against, or claim it of iops, throughput or a latency",
        )),
        (TableMetric::IopsPerCore | TableMetric::CpuPerIo, false) => Ok(metric),
        (_, false) => Err(Fault::hint(
            format!("{metric} of one stack is no claim about two"),
            "write against = \"STACK\"; a figure of one stack goes into [[published.figures]], and \
             one per core has the metric \"iops per core\" or \"cpu per I/O\"",
        )),
    }
}
