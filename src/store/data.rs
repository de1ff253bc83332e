//! A stored run as the plain data that reports are made of.

use super::{Run, RunLock, StoreError};
use crate::bill::run::RunData;
use std::path::Path;

/// Reads a run for reporting, whole or partial.
///
/// # Errors
/// As [`Run::open`].
pub fn load(folder: &Path) -> Result<RunData, StoreError> {
    let run = Run::open(folder)?;
    let histograms = run.histograms;
    Ok(RunData {
        start: run.start,
        places: run.places,
        layers: run.layers,
        workers: run.workers,
        designs: run.designs,
        matched: run.matched,
        apart: run.apart,
        laying_out: run.laying_out,
        laid_out: run.laid_out,
        passes: run.passes,
        preconditioned: run.preconditioned,
        clocks: run.clocks,
        slices: run.slices,
        trials: run.trials,
        verified: run.verified,
        imported_files: run.imported_files,
        imported: run.imported,
        histograms: Box::new(move |offset| histograms.get(offset)),
        warnings: run.warnings,
        ends: run.ends.into_iter().map(|(workload, reason)| (workload, first_line(&reason))).collect(),
        visits_ended: run.visits_ended,
        is_running: run.end.is_none() && RunLock::is_held(folder),
        outcome: run.end.map(|(_, outcome)| first_line(&outcome)),
        torn: run.torn,
    })
}

/// What went wrong, without what a guest's console or ssh said before that, which stays in the record.
pub fn first_line(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    line.strip_suffix("; its last words:").unwrap_or(line).to_owned()
}

/// The id of a run: the name of its folder.
pub fn run_id_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
