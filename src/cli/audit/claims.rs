//! `--claims FILE`: the figures of all pages as a list, written while pages are audited.

use crate::cli::report::{folder_of, may_write_in, write_as};
use crate::exit::Failed;
use crate::report::audit::list::{Form, List};
use anyhow::Result;
use std::path::Path;

/// Asks before pages are read whether the list can be written.
///
/// # Errors
/// Bad input: its ending is of no form, or its folder is not there or not ours to write.
pub(super) fn check(path: &Path) -> Result<()> {
    form(path)?;
    let refused = |why: String| Failed::input(format!("--claims {}: {why}", path.display()));
    Ok(may_write_in(folder_of(path)).map_err(refused)?)
}

/// The form of a file by its ending.
fn form(path: &Path) -> Result<Form> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let found = Form::ALL.into_iter().find(|(_, known)| *known == ending).map(|(form, _)| form);
    let error = || {
        let known = Form::ALL.map(|(_, ending)| ending).join(", ");
        Failed::input(format!("--claims {}: its ending tells the form; known are {known}", path.display()))
    };
    Ok(found.ok_or_else(error)?)
}

/// Does something that fills the list.
///
/// # Errors
/// Those of what fills it, and when the file cannot be written.
pub(super) fn into<T>(path: &Path, fill: impl FnOnce(&mut List) -> Result<T>) -> Result<T> {
    let form = form(path)?;
    let mut done = None;
    let mut fill = Some(fill);
    let written = write_as(path, &mut |out| {
        let mut list = List::begin(out, form)?;
        let filled = fill.take().map(|fill| fill(&mut list));
        let failed = matches!(filled, Some(Err(_)));
        done = filled;
        if failed { Err(std::io::Error::other("what it is of could not be made")) } else { list.end() }
    });
    match done {
        Some(Err(error)) => Err(error),
        Some(Ok(made)) => written.map(|()| made),
        None => {
            Err(written.err().unwrap_or_else(|| Failed::measurement("nothing was listed".to_owned()).into()))
        }
    }
}
