//! A run opened for reading: a stored one, or one that was carried here in a packed file.

use super::packed::unpack_run;
use super::{EXTENSION, StoreError, find_run};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Run to read. Its folder is temporary if the run was packed, and is removed with this value.
#[derive(Debug)]
pub struct OpenedRun {
    folder: PathBuf,
    packed: Option<(PathBuf, TempDir)>,
}

impl OpenedRun {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the packed file that the run was opened from; `None` for a stored run.
    pub fn packed_file(&self) -> Option<&Path> {
        self.packed.as_ref().map(|(file, _)| file.as_path())
    }
}

impl From<PathBuf> for OpenedRun {
    fn from(folder: PathBuf) -> OpenedRun {
        OpenedRun { folder, packed: None }
    }
}

/// Opens the run that `text` means: a packed file (`x.iotax`), or whatever [`find_run`] knows.
///
/// # Errors
/// As [`find_run`]; [`StoreError::NotPacked`] if the file is not sound.
pub fn open_run(runs_dir: &Path, text: &str) -> Result<OpenedRun, StoreError> {
    let file = Path::new(text);
    if file.extension().is_none_or(|end| end != EXTENSION) || !file.is_file() {
        return find_run(runs_dir, text).map(OpenedRun::from);
    }
    let (folder, unpacked) = unpack_run(file)?;
    Ok(OpenedRun { folder, packed: Some((file.to_owned(), unpacked)) })
}
