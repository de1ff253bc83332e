//! Cleaning after a run that was killed or rebooted away: everything its journal says was begun
//! and not undone, in reverse order. A run that is still going is not touched.

use super::RunTag;
use super::executor::{Left, undo_one};
use super::hand::Hands;
use super::journal::{self, Journal, Open};
use super::op::Undoing;
use anyhow::Result;
use std::path::Path;

/// What a cleaning did.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// What is undone now.
    pub undone: Vec<Undoing>,
    /// What is still there.
    pub left: Vec<Left>,
    /// What is worth a word and is no failure.
    pub notes: Vec<String>,
}

/// What would be undone, first to last.
///
/// # Errors
/// When the journal cannot be read.
pub fn pending(run_dir: &Path) -> Result<Vec<Open>> {
    let mut open = journal::open_steps(&journal::read(run_dir)?);
    open.reverse();
    Ok(open)
}

/// Undoes what an ended run left. The caller holds the run's lock.
///
/// # Errors
/// When the journal cannot be read or written; what cannot be undone is in the result.
pub fn clean(run_dir: &Path, run_id: &str, hands: &mut Hands) -> Result<Cleaned> {
    let open = journal::open_steps(&journal::read(run_dir)?);
    let tag = RunTag { run_id: run_id.to_owned(), run_dir: run_dir.to_owned() };
    let mut cleaned = Cleaned::default();
    if open.is_empty() {
        return Ok(cleaned);
    }
    let mut journal = Journal::open(run_dir)?;
    for step in open.iter().rev() {
        match undo_one(hands, &mut journal, &tag, step, &open) {
            Ok(undone) => cleaned.undone.extend(undone),
            Err(left) => cleaned.left.push(left),
        }
    }
    cleaned.notes = hands.notes();
    Ok(cleaned)
}
