//! A stored run as the plain data that reports are made of.

use super::{Run, StoreError};
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
        workers: run.workers,
        designs: run.designs,
        matched: run.matched,
        apart: run.apart,
        laying_out: run.laying_out,
        laid_out: run.laid_out,
        clocks: run.clocks,
        slices: run.slices,
        trials: run.trials,
        histograms: Box::new(move |offset| histograms.get(offset)),
        warnings: run.warnings,
        ends: run.ends,
        visits_ended: run.visits_ended,
        outcome: run.end.map(|(_, outcome)| outcome),
        torn: run.torn,
    })
}

/// The id of a run: the name of its folder.
pub fn run_id_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
