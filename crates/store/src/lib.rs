//! Runs on disk (docs/result-format.md): append-only, readable while they are written and after a
//! kill. Refuses folders that others may write to, and never takes a torn frame for a result.
#![forbid(unsafe_code)]

mod data;
mod folder;
mod index;
mod lock;
mod reader;
mod segment;
mod staged;
mod writer;

#[cfg(test)]
mod format_tests;

pub use data::{RunData, SegmentSource, first_line, load_run};
pub use folder::Store;
pub use iotax_journal::{
    FORMAT, INDEX, JOURNAL, LOCK, SEGMENT, StoreError, appender, check_own_folder,
    default_runs_dir, is_file_of_run, is_id, is_new_id, line, new_id, private, run_id_of,
};
pub use lock::RunLock;
pub use reader::{RunSummary, Tally, find_run, list_runs, newest_run, run_folders, stream_records};
pub use segment::{Histograms, Stored};
pub use staged::Staged;
pub use writer::{Writer, imported_line, line_of};
