//! Checks of a run's folder before a command acts on it: its journal says what to remove and which
//! processes to end.

use super::output::typed;
use anyhow::Result;
use iotax_store::StoreError;
use iotax_units::{exit, shell};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the folder of runs, or of one run, without links. Refuses a folder that another user may
/// have written to, since the command `verb` does what is written there.
///
/// # Errors
/// Bad input: says who may have written to it and what to do. Or the folder cannot be examined.
pub fn own_folder(folder: &Path, verb: &str) -> Result<PathBuf> {
    iotax_store::check_own_folder(folder).map_err(|error| {
        let (user, own) =
            (folder.symlink_metadata().map(|meta| meta.uid()), rustix::process::geteuid().as_raw());
        let StoreError::Unsafe { path, why, .. } = error else { return exit::Failed::from(error).into() };
        let hint = match user {
            Ok(user) if user != own => {
                let is_run = iotax_store::run_id_of(folder).starts_with(|sign: char| sign.is_ascii_digit());
                let command = match is_run {
                    true => typed(verb, folder),
                    false => format!("iotax --runs {} {verb}", shell::path(folder)),
                };
                format!("as that user: sudo -u '#{user}' {command}")
            }
            _ => "look who wrote what is in it; if all of it is yours, chmod go-w it".into(),
        };
        exit::Failed::input(format!(
            "refused to {verb} {}: {why}; a journal says which files to remove and which processes to end, so iotax obeys only \
             your own; hint: {hint}",
            path.display(),
        ))
        .into()
    })
}

/// Returns the folder of the run that `text` means, even if only its journal is left and its record
/// is gone.
///
/// # Errors
/// Bad input if there is no such run.
pub fn folder_with_journal(runs: &Path, text: &str) -> Result<PathBuf> {
    let folder = runs.join(text);
    let has_journal = || folder.join(iotax_store::JOURNAL).symlink_metadata().is_ok();
    match iotax_store::is_id(text) && has_journal() {
        true => Ok(folder),
        false => Ok(iotax_store::find_newest(runs, text).map_err(exit::Failed::from)?),
    }
}

/// Refuses a run whose folder was renamed: the names of what the run made contain its id.
///
/// # Errors
/// Bad input.
pub fn check_id(id: &str, verb: &str) -> Result<()> {
    if iotax_store::is_new_id(id) {
        return Ok(());
    }
    let why = "its folder was renamed, and the names of what a run made carry its id; hint: rename the folder back";
    Err(exit::Failed::input(format!(
        "refused to {verb} the run {id}: {why} (like 20260102-030405-a1b2)"
    ))
    .into())
}
