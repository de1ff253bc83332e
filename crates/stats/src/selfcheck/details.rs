//! Details below the table of requirements: results of one kind of noise at one cost, averaged over
//! its repetitions.

use super::cell::{Repetition, SimulatedCell, StatedVerdict};
use crate::pilot::{self, Pattern};
use serde::Serialize;
use std::collections::BTreeMap;

/// Results of one cell, averaged over its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detail {
    /// Name of the kind of noise.
    pub kind: String,
    /// Description of the kind.
    pub help: String,
    /// Difference of the cell from an ordinary one; empty for ordinary cells.
    pub purpose: &'static str,
    /// True cost of the first stack beside the baseline, as a fraction.
    pub cost: f64,
    /// Number of repetitions of the cell.
    pub n: usize,
    /// Mean machine time of a repetition, in seconds.
    pub mean_s: f64,
    /// Mean part of that time before the first round (warm-up and pilot), in seconds.
    pub pilot_s: f64,
    /// Mean half-width of the interval of ln R.
    pub half_width: f64,
    /// Mean of ln R minus its true value.
    pub bias: f64,
    /// Shares of the repetitions that said costs, gains, no difference and unresolved, in this
    /// order.
    pub said: [f64; 4],
    /// Share of the repetitions whose verdict was refused, by the word of the refusal. An interval
    /// that is merely too wide does not count.
    pub refused: BTreeMap<&'static str, f64>,
    /// Designs that the pilots chose (`ABBA of 0.05 s`) with their shares of the repetitions, the
    /// most frequent first.
    pub designs: Vec<(String, f64)>,
}

impl Detail {
    /// Averages the outcomes of a cell's repetitions.
    pub fn from_cell(
        cell: &SimulatedCell,
        purpose: &'static str,
        outcomes: &[Repetition],
    ) -> Detail {
        let firsts = || outcomes.iter().map(|one| &one.comparisons[0]);
        let said = |what| mean(firsts().map(|one| f64::from(u8::from(one.said == what))));
        Detail {
            kind: cell.source.name(),
            help: cell.source.help(),
            purpose,
            cost: cell.costs[1],
            n: outcomes.len(),
            mean_s: mean(outcomes.iter().map(|one| one.took_s)),
            pilot_s: mean(outcomes.iter().map(|one| one.pilot_s)),
            half_width: mean(firsts().filter_map(|one| one.half_width)),
            bias: mean(firsts().filter_map(|one| one.error)),
            said: [
                StatedVerdict::Costs,
                StatedVerdict::Gains,
                StatedVerdict::None,
                StatedVerdict::Unresolved,
            ]
            .map(said),
            refused: shares(firsts().filter_map(|one| one.refused), outcomes.len()),
            designs: designs(outcomes),
        }
    }
}

fn designs(outcomes: &[Repetition]) -> Vec<(String, f64)> {
    let word = |outcome: &Repetition| {
        let order = match outcome.design.pattern {
            Pattern::Mirror => "ABBA",
            Pattern::Double => "ABBABAAB",
        };
        match outcome.design.slice_s {
            short_s if short_s < pilot::SLICE_S => format!("{order} in series"),
            slice_s => format!("{order} of {slice_s:.2} s"),
        }
    };
    let mut all: Vec<(String, f64)> =
        shares(outcomes.iter().map(word), outcomes.len()).into_iter().collect();
    all.sort_by(|one, two| two.1.total_cmp(&one.1));
    all
}

fn shares<T: Ord>(of: impl Iterator<Item = T>, n: usize) -> BTreeMap<T, f64> {
    let mut shares = BTreeMap::new();
    of.for_each(|one| *shares.entry(one).or_default() += 1.0 / n as f64);
    shares
}

/// Returns the mean; not a number if there are no values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    sum / n
}
