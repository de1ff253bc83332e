//! A stored run as the plain data that reports are made of.

use super::{Run, RunLock, StoreError};
use crate::bill::run::RunData;
use crate::store::record::Warning;
use iotax_audit::knowledge::ratings::{Ratings, known};
use std::path::Path;

/// Reads a run for reporting, whole or partial.
///
/// # Errors
/// As [`Run::open`].
pub fn load(folder: &Path) -> Result<RunData, StoreError> {
    let run = Run::open(folder)?;
    let histograms = run.histograms;
    let (ratings, unread) = ratings(&run.start.ratings);
    let warnings = run.warnings.into_iter().chain(unread).collect();
    Ok(RunData {
        start: run.start,
        ratings,
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
        warnings,
        ends: run.ends.into_iter().map(|(workload, reason)| (workload, first_line(&reason))).collect(),
        visits_ended: run.visits_ended,
        is_running: run.end.is_none() && RunLock::is_held(folder),
        outcome: run.end.map(|(_, outcome)| first_line(&outcome)),
        torn: run.torn,
    })
}

/// What iotax knows with the run's own over it. They were sound when it began; a file that this iotax does not take is told.
fn ratings(texts: &[String]) -> (Ratings, Vec<Warning>) {
    let mut unread = Vec::new();
    let all = texts.iter().fold(known().clone(), |all, text| {
        all.with(text).unwrap_or_else(|fault| {
            let text = format!(
                "ratings of drives that the run was given are not read: {fault}; hint: report --ratings FILE"
            );
            unread.push(Warning { kind: "ratings".into(), subject: String::new(), text });
            all
        })
    });
    (all, unread)
}

/// What went wrong, without what a guest's console or ssh said before that, which stays in the record.
pub fn first_line(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    line.strip_suffix("; its last words:").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_of_the_run_lie_over_what_is_known_and_one_that_is_not_taken_is_told() {
        let text = "[[drive]]\nname = \"Own 1\"\nmodels = [\"OWN1000\"]\ninterface = \"PCIe 4.0 x4\"\nmedia = \"TLC\"\n\
             writes = \"burst\"\nsource = \"Own, data sheet, 2024\"\nsizes = [{ read = \"7000MB/s\" }]\n";
        let (all, unread) = ratings(&[text.to_owned(), text.replace("TLC", "XLC")]);
        assert!(all.rating_of("OWN1000", None).is_some());
        assert_eq!(all.drives().len(), known().drives().len() + 1);
        let [warning] = unread.as_slice() else { panic!("{unread:?}") };
        assert!(
            warning.text.contains("are not read: line 5: media: ") && warning.kind == "ratings",
            "{warning:?}"
        );
    }
}
