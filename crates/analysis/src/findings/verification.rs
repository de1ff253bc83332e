//! Loads with `verify`.

use iotax_load::verify::VerifiedBlocks;
use serde::Serialize;
use std::collections::BTreeSet;

/// Everything about the verification of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// A row a workload that verifies and stack.
    pub rows: Vec<VerifiedRow>,
}

impl Verification {
    /// Of what is wrong the worst, in words.
    pub fn alarm(&self) -> Option<String> {
        let wrong: Vec<&VerifiedRow> = self.rows.iter().filter(|row| row.wrong() > 0).collect();
        let worst = wrong.iter().max_by_key(|row| row.wrong())?;
        let others: BTreeSet<&str> = wrong
            .iter()
            .map(|row| row.stack.as_str())
            .filter(|stack| *stack != worst.stack)
            .collect();
        Some(match others.len() {
            0 => worst.sentence.clone(),
            _ => format!(
                "{}; wrong data of {} as well",
                worst.sentence,
                others.into_iter().collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

/// One stack under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifiedRow {
    pub workload: String,
    pub stack: String,
    pub sizes: Vec<u64>,
    /// Blocks that were read back after the load, all visits together, without examples.
    pub back: VerifiedBlocks,
    /// Reads of the load, without examples.
    pub load: VerifiedBlocks,
    /// Seconds that the reading back took.
    pub took_s: f64,
    /// Visits of which not all that was written was read back.
    pub not_read: u64,
    pub sentence: String,
    /// The first wrong blocks, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

impl VerifiedRow {
    /// Blocks, and reads, that were not as last written.
    pub fn wrong(&self) -> u64 {
        self.back.wrong() + self.load.wrong()
    }

    /// Whether there is nothing to conclude from.
    pub fn is_empty(&self) -> bool {
        self.back.blocks + self.load.blocks == 0
    }
}
