//! Files of a run that must survive a kill: opened safely, appended to completely or not at all,
//! each line with its length and CRC. They are the index of a run, its histograms and its journal
//! of steps.
#![forbid(unsafe_code)]

pub mod appender;
mod folder;
pub mod line;
pub mod private;

pub use folder::{check_links, check_own_folder, default_runs_dir, is_id, is_new_id, new_id};

use std::path::{Path, PathBuf};

pub const FORMAT: u32 = 3;
/// Name of the journal; `iotax_steps::journal` writes its lines.
pub const JOURNAL: &str = "journal.jsonl";

pub const INDEX: &str = "index.jsonl";

pub const SEGMENT: &str = "histograms.seg";

/// File with the name that a person gave to a stored run.
pub const NAME: &str = "name";

/// Returns true if the name is that of one of the files that record a run.
pub fn is_file_of_run(name: &std::ffi::OsStr) -> bool {
    [INDEX, SEGMENT, LOCK, JOURNAL, NAME].iter().any(|own| name == *own)
}

/// Name of the lock file, held by whoever writes the run.
pub const LOCK: &str = "lock";

/// Returns the id of a run, which is the name of its folder.
pub fn run_id_of(folder: &std::path::Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}: {source}", path.display())]
    System { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot make the folder of runs {}: {source}; hint: name another: --runs FOLDER, or IOTAX_RUNS", path.display())]
    NoFolder { path: PathBuf, source: std::io::Error },
    /// No space left, or over quota; what was stored before is whole.
    #[error("cannot store the run in {}: {source}; what was stored before is whole; hint: free some space, or set IOTAX_RUNS to a larger file system", path.display())]
    Full { path: PathBuf, source: std::io::Error },
    /// Another user could put files there.
    #[error("refused to use {}: {why}; hint: {hint}", path.display())]
    Unsafe { path: PathBuf, why: String, hint: String },
    #[error("{} is of format {theirs}, this iotax reads up to {FORMAT}; hint: use the iotax that wrote it, or a newer one", path.display())]
    Newer { path: PathBuf, theirs: u32 },
    #[error("{}: line {line}: not a {kind} record: {cause}", path.display())]
    Malformed { path: PathBuf, line: u64, kind: String, cause: String },
    #[error("{what} is no run{}; hint: iotax list", .why.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    NoRun { what: String, why: Option<String> },
    #[error("{what} can be {candidates}; hint: write more of the id")]
    Ambiguous { what: String, candidates: String },
    /// A file that should be a packed run is none, or is not sound.
    #[error("{} is no packed run: {why}; hint: iotax report RUN -o run.iotax makes one", path.display())]
    NotPacked { path: PathBuf, why: String },
    #[error("the run {} is being written by another iotax", .0.display())]
    Busy(PathBuf),
    #[error("the folder of the run, {}, was removed while the run went on, and with it all that was measured", .0.display())]
    Removed(PathBuf),
    #[error("cannot write the record down: {0}")]
    Unwritable(serde_json::Error),
}

impl StoreError {
    pub fn system(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: std::io::Error,
    ) -> StoreError {
        StoreError::System { action, path: path.into(), source }
    }

    pub(crate) fn refuse(path: &Path, why: String) -> StoreError {
        StoreError::Unsafe {
            path: path.to_owned(),
            why,
            hint: "chmod 700 a folder of your own, and set IOTAX_RUNS to it".into(),
        }
    }
}

impl From<StoreError> for iotax_units::exit::Failed {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Full { .. }
            | StoreError::System { .. }
            | StoreError::Removed(_)
            | StoreError::Unwritable(_) => Self::measurement(message),
            _ => Self::input(message),
        }
    }
}
