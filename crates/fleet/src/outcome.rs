//! What came of a host's task, and the stream in which its files travel.

use crate::committed::{self, sum_of_file};
use crate::host_look::MachineIdentity;
use crate::task::{FILES, FORMAT, OUTCOME};
use iotax_store::StoreError;
use iotax_units::exit;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

/// Result of an attempt on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub format: u32,
    pub fleet: String,
    pub host: String,
    pub attempt: u32,
    pub iotax: String,
    pub scenario_sha256: String,
    /// Exit code of the run on the host; of a task that was refused, that of the reason.
    pub code: u8,
    /// True if the task was refused before it began, so that nothing was done.
    #[serde(default)]
    pub refused: bool,
    /// True if the task was allowed to write drives.
    #[serde(default)]
    pub writes: bool,
    /// Why there is no complete run.
    #[serde(default)]
    pub why: Option<String>,
    pub began_at: String,
    pub ended_at: String,
    pub machine: MachineIdentity,
    pub files: Vec<FileSum>,
}

/// A file that belongs to an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Outcome {
    /// Returns true if the run is complete, whatever its verdicts are.
    pub fn is_done(&self) -> bool {
        !self.refused && (self.code == exit::DONE || self.code == exit::FINDING)
    }

    /// Stores the outcome in the folder of its attempt, as the last of its files.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn commit(mut self, folder: &Path) -> Result<Outcome, StoreError> {
        let of_file = |name: &&str| {
            let path = folder.join(name);
            let (sha256, bytes) = sum_of_file(&path).ok()?;
            Some(FileSum { name: (*name).to_owned(), bytes, sha256 })
        };
        self.files = FILES.iter().filter_map(of_file).collect();
        committed::write_json(folder, OUTCOME, &self)?;
        Ok(self)
    }

    /// Reads the outcome of an attempt; `None` if it has none.
    ///
    /// # Errors
    /// [`StoreError`], also for a format of a later version.
    pub fn read(attempt: &Path) -> Result<Option<Outcome>, StoreError> {
        let outcome: Option<Outcome> = committed::read_shown_json(attempt, OUTCOME)?;
        match &outcome {
            Some(newer) if newer.format > FORMAT => {
                Err(StoreError::Newer { path: attempt.join(OUTCOME), theirs: newer.format })
            }
            _ => Ok(outcome),
        }
    }

    /// Checks that every file of the outcome is in the folder, whole.
    ///
    /// # Errors
    /// Says which file is not.
    pub fn check_files(&self, folder: &Path) -> Result<(), String> {
        for file in &self.files {
            if !FILES.contains(&file.name.as_str()) {
                return Err(format!("the outcome names a file \"{}\"", file.name.escape_debug()));
            }
            match sum_of_file(&folder.join(&file.name)) {
                Ok((sum, bytes)) if sum == file.sha256 && bytes == file.bytes => {}
                Ok(_) => return Err(format!("{} is not whole: its SHA-256 differs", file.name)),
                Err(error) => return Err(format!("{} cannot be read: {error}", file.name)),
            }
        }
        Ok(())
    }
}

/// Most bytes of an attempt's files.
const MOST: u64 = 8 << 30;

/// Writes the files of an attempt that has an outcome as a tar.
///
/// # Errors
/// A file cannot be read, or `out` cannot be written.
pub fn send_attempt(attempt: &Path, out: impl Write) -> io::Result<()> {
    let mut archive = Builder::new(out);
    for name in FILES.iter().chain([&OUTCOME]) {
        let Ok(file) = File::open(attempt.join(name)) else { continue };
        let mut header = Header::new_ustar();
        header.set_mode(0o600);
        header.set_size(file.metadata()?.len());
        let bytes = header.size()?;
        archive.append_data(&mut header, name, file.take(bytes))?;
    }
    archive.into_inner()?.flush()
}

/// Reads the files of an attempt that [`send_attempt`] wrote on another machine into `hosts`, the
/// folder of that host here, as `attempt-N`. Nothing that comes from there is trusted: names, sizes
/// and sums are checked.
///
/// # Errors
/// The stream is not whole, or it is not the attempt that was asked for. Nothing is left then.
pub fn receive_attempt(stream: impl Read, host_folder: &Path, attempt: u32) -> io::Result<Outcome> {
    let staged = tempfile::Builder::new().prefix(".attempt-").tempdir_in(host_folder)?;
    let mut archive = Archive::new(stream.take(MOST));
    let mut seen = Vec::new();
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let is_own = FILES.contains(&name.as_str()) || name == OUTCOME;
        if entry.header().entry_type() != EntryType::Regular || !is_own || seen.contains(&name) {
            return Err(io::Error::other(format!(
                "\"{}\" is not a file of an attempt",
                name.escape_debug()
            )));
        }
        let mut file = File::create_new(staged.path().join(&name))?;
        io::copy(&mut entry, &mut file)?;
        file.sync_all()?;
        seen.push(name);
    }
    let outcome = Outcome::read(staged.path()).map_err(io::Error::other)?;
    let outcome =
        outcome.ok_or_else(|| io::Error::other("the stream ended before outcome.json"))?;
    if outcome.attempt != attempt {
        return Err(io::Error::other(format!("it is attempt {}, not {attempt}", outcome.attempt)));
    }
    outcome.check_files(staged.path()).map_err(io::Error::other)?;
    let kept: PathBuf = host_folder.join(format!("attempt-{attempt}"));
    std::fs::rename(staged.path(), &kept)?;
    // Renamed: there is nothing to remove any more.
    let _ = staged.keep();
    Ok(outcome)
}
