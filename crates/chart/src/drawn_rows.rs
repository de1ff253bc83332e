//! Which stacks a chart of many lines draws: a reader can follow some, the tables have all.

use iotax_analysis::findings::WorkloadFindings;
use std::collections::BTreeSet;

/// Stacks of a load that a chart draws, as indices of its rows.
pub struct DrawnRows {
    rows: BTreeSet<usize>,
    all: usize,
}

impl DrawnRows {
    /// Returns the baseline and the stacks whose rates differ most from it, at most `most` of both
    /// together.
    pub fn farthest(load: &WorkloadFindings, most: usize) -> DrawnRows {
        let distance = |at: usize| {
            let row = &load.rows[at];
            let own = load.comparisons.iter().find(|one| one.stack == row.stack);
            let ratio = own.and_then(|one| one.rate.ratio.value());
            let far = ratio.filter(|ratio| *ratio > 0.0).map_or(-1.0, |ratio| ratio.ln().abs());
            if row.baseline { f64::INFINITY } else { far }
        };
        let mut farthest: Vec<usize> = (0..load.rows.len()).collect();
        farthest.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)));
        DrawnRows { rows: farthest.into_iter().take(most).collect(), all: load.rows.len() }
    }

    pub fn has(&self, row: usize) -> bool {
        self.rows.contains(&row)
    }

    /// Returns a sentence that says which stacks are drawn; `None` if all are.
    pub fn note(&self) -> Option<String> {
        let drawn = self.rows.len();
        (drawn < self.all).then(|| {
            format!(
                "{drawn} of {} stacks are drawn: the baseline and those that differ most from it.",
                self.all
            )
        })
    }
}
