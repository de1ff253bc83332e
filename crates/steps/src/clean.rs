//! Cleans up after a run that was killed or ended by a reboot: undoes, in reverse order, all that
//! its journal says was begun and not undone.

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
    /// Things that could not be removed, or may exist without being in the journal.
    pub left: Vec<Left>,
    /// Notes that are no failures.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct Pending {
    pub steps: Vec<Open>,
    /// What may be left besides these, if the journal is damaged.
    pub unknown: Option<Left>,
}

impl Pending {
    pub fn is_nothing(&self) -> bool {
        self.steps.is_empty() && self.unknown.is_none()
    }
}

/// Returns the steps that cleaning would undo, the last first.
///
/// # Errors
/// If the journal cannot be read, or another user could have written it.
pub fn pending(run_dir: &Path) -> Result<Pending> {
    let log = journal::read_journal(run_dir)?;
    let mut steps = journal::open_steps(&log.entries);
    steps.reverse();
    Ok(Pending { steps, unknown: unknown(run_dir, &log.damage) })
}

/// Describes what a damaged journal may no longer name, with commands by which a person finds it;
/// `None` if the journal is not damaged.
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
/// If the journal cannot be read or written. What cannot be undone is in the result instead.
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
