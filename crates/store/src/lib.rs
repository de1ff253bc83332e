//! Runs on disk (docs/result-format.md): append-only, readable while they are written and after a
//! kill. Refuses folders that others may write to, and never takes a torn frame for a result.
#![forbid(unsafe_code)]

mod data;
mod find;
mod folder;
mod index;
mod lock;
mod opened;
mod packed;
mod reader;
mod remove;
mod run_name;
mod segment;
mod staged;
mod writer;

#[cfg(test)]
mod format_tests;

pub use data::{RunData, SegmentSource, first_line, load_run};
pub use find::{find_newest, find_run};
pub use folder::Store;
pub use iotax_journal::{
    FORMAT, INDEX, JOURNAL, LOCK, NAME, SEGMENT, StoreError, appender, check_own_folder,
    default_runs_dir, is_file_of_run, is_id, is_new_id, line, new_id, private, run_id_of,
};
pub use lock::RunLock;
pub use opened::{OpenedRun, open_run};
pub use packed::{EXTENSION, pack_run};
pub use reader::{RunSummary, Tally, list_runs, read_summary, run_folders, stream_records};
pub use remove::{removable_bytes, remove_run};
pub use run_name::{check_name, rename_run};
pub use segment::{Histograms, Stored};
pub use staged::Staged;
pub use writer::{Writer, imported_line, line_of};
