//! Cleaning after a run that was killed or rebooted away: everything its journal says was begun
//! and not undone, in reverse order. A run that is still going is not touched.

use super::executor::{Left, undo_one};
use super::journal::{self, Journal, Open};
use super::place_executor::PlaceExecutors;
use crate::operation::Undoing;
use anyhow::{Result, anyhow};
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_journal as store;
use iotax_units::shell;
use std::path::Path;

#[derive(Debug, Default)]
pub struct Cleaned {
    pub undone: Vec<Undoing>,
    /// Things that are still there, or may be.
    pub left: Vec<Left>,
    /// Remarks that are no failure.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct Pending {
    pub steps: Vec<Open>,
    /// Things that may be left beside them, since the journal is damaged.
    pub unknown: Option<Left>,
}

impl Pending {
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty() && self.unknown.is_none()
    }
}

/// Finds what would be undone.
///
/// # Errors
/// When the journal cannot be read, or the run's folder is not ours alone.
pub fn pending(run_dir: &Path) -> Result<Pending> {
    let log = journal::read_journal(run_dir)?;
    let mut steps = journal::open_steps(&log.entries);
    steps.reverse();
    Ok(Pending { steps, unknown: unknown(run_dir, &log.damage) })
}

/// Describes what a damaged journal no longer names, which only a person can find.
fn unknown(run_dir: &Path, damage: &[String]) -> Option<Left> {
    if damage.is_empty() {
        return None;
    }
    let id = store::run_id_of(run_dir);
    let cause = anyhow!(
        "the journal is damaged ({}), so something may be left that it does not name; names of what a run makes carry its id",
        damage.join("; ")
    );
    Some(Left {
        what: format!("what {} does not say any more", run_dir.join(journal::FILE).display()),
        place: Place::Host,
        cause,
        by_hand: Some(format!(
            "losetup --list; findmnt --list; lsblk; ps -ef | grep {}; then, when nothing of it is left, rm -r {}",
            shell::quote_word(&id),
            shell::path(run_dir)
        )),
    })
}

/// Undoes what an ended run left. The caller holds the run's lock.
///
/// # Errors
/// When the journal cannot be read or written; what cannot be undone is in the result.
pub fn clean(run_dir: &Path, run_id: &str, places: &mut PlaceExecutors) -> Result<Cleaned> {
    undo_all(run_dir, &RunTag { run_id: run_id.to_owned(), run_dir: run_dir.to_owned() }, places)
}

pub(super) fn undo_all(
    run_dir: &Path,
    tag: &RunTag,
    places: &mut PlaceExecutors,
) -> Result<Cleaned> {
    let log = journal::read_journal(run_dir)?;
    let open = journal::open_steps(&log.entries);
    let mut cleaned = Cleaned::default();
    if !open.is_empty() {
        let mut journal = Journal::open(run_dir)?;
        for step in open.iter().rev() {
            match undo_one(places, &mut journal, tag, step, &open) {
                Ok(undone) => cleaned.undone.extend(undone),
                Err(left) => cleaned.left.push(left),
            }
        }
        cleaned.notes = places.notes();
    }
    cleaned.left.extend(unknown(run_dir, &log.damage));
    Ok(cleaned)
}
