//! Results of loads with `verify`.

use iotax_load::verify::VerifiedBlocks;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// One row per stack and per workload that verifies.
    pub rows: Vec<VerifiedRow>,
}

impl Verification {
    /// Returns the worst fault in words; `None` if no data were wrong.
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

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifiedRow {
    pub workload: String,
    pub stack: String,
    pub sizes: Vec<u64>,
    /// Blocks read back after the load, all visits together, without examples.
    pub back: VerifiedBlocks,
    /// Reads during the load, without examples.
    pub load: VerifiedBlocks,
    /// Seconds that the reading back took.
    pub took_s: f64,
    /// Number of visits in which not everything written was read back.
    pub not_read: u64,
    pub sentence: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

impl VerifiedRow {
    /// Returns the number of blocks and reads with other data than were last written.
    pub fn wrong(&self) -> u64 {
        self.back.wrong() + self.load.wrong()
    }

    /// Returns true if no block and no read was checked.
    pub fn is_empty(&self) -> bool {
        self.back.blocks + self.load.blocks == 0
    }
}
