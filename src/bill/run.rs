//! A loaded run, as plain data: whoever reads a store fills it, nothing here opens a file. A run that is
//! still going or was killed is as good as a finished one.

use crate::store::record::imported::{ImportedFile, ImportedResult};
use crate::store::record::precondition::{Passes, Preconditioned};
use crate::store::record::state::RunState;
use crate::store::record::trial::Trial;
use crate::store::record::verification::Verification;
use crate::store::record::{
    Clocks, DesignUp, LaidOut, LayerUp, LayingOut, Matched, PlaceFacts, RunStart, Slice, Warning, WorkerUp,
};
use iotax_audit::knowledge::ratings::Ratings;
use iotax_load::Histogram;
use std::collections::BTreeSet;

/// Where histograms come from: an offset as found in a sample, `None` for a torn frame.
pub trait HistogramSource {
    /// The histogram at that offset.
    fn histogram(&self, offset: u64) -> Option<Histogram>;
}

impl<F: Fn(u64) -> Option<Histogram>> HistogramSource for F {
    fn histogram(&self, offset: u64) -> Option<Histogram> {
        self(offset)
    }
}

/// All records of one run.
pub struct RunData {
    /// What was asked for.
    pub start: RunStart,
    /// What drives are rated at: what iotax knows, with what the run was given over it.
    pub ratings: Ratings,
    /// Facts of each place.
    pub places: Vec<PlaceFacts>,
    /// What layers made, as it was read back.
    pub layers: Vec<LayerUp>,
    /// Workers that came up.
    pub workers: Vec<WorkerUp>,
    /// Lengths and orders of slices, a workload each.
    pub designs: Vec<DesignUp>,
    /// Rates at which latencies are compared, a workload each.
    pub matched: Vec<Matched>,
    /// Why stacks were measured apart that could be up together.
    pub apart: Option<String>,
    /// First writes that were begun.
    pub laying_out: Vec<LayingOut>,
    /// First writes before anything was measured.
    pub laid_out: Vec<LaidOut>,
    /// How far passes over drives came, in the order of the record.
    pub passes: Vec<Passes>,
    /// Rounds that preconditioned, a visit and a workload each.
    pub preconditioned: Vec<Preconditioned>,
    /// Clocks of places against the host's, in the order of the record.
    pub clocks: Vec<Clocks>,
    /// In the order of the record.
    pub slices: Vec<Slice>,
    /// Durability trials, in the order of the record.
    pub trials: Vec<Trial>,
    /// What stacks gave back of what was written to them, in the order of the record.
    pub verified: Vec<Verification>,
    /// Files that results were imported from.
    pub imported_files: Vec<ImportedFile>,
    /// Results that were imported, in the order of the files.
    pub imported: Vec<ImportedResult>,
    /// Latencies of the slices.
    pub histograms: Box<dyn HistogramSource>,
    /// In the order of the record.
    pub warnings: Vec<Warning>,
    /// Workload and why measuring it ended.
    pub ends: Vec<(String, String)>,
    /// Visits that were measured to their end: visit, set, workload.
    pub visits_ended: Vec<(u32, u32, String)>,
    /// How the run ended; `None`: still running, or killed.
    pub outcome: Option<String>,
    /// Whether it went on when this was read.
    pub is_running: bool,
    /// Frames counted as absent.
    pub torn: u64,
}

impl RunData {
    /// How it stands.
    pub fn state(&self) -> RunState {
        RunState::of(self.outcome.as_deref(), self.is_running)
    }

    /// Visits of sets, by number and set, in which a clock ran too far apart under that load: nothing of it that was timed there
    /// counts. What ended before it in the same visit does: it has a comparison of its own.
    pub fn wrongly_timed(&self, workload: &str) -> BTreeSet<(u32, u32)> {
        let of_it = self.clocks.iter().filter(|one| one.is_of(workload));
        let wrong = of_it.filter(|one| one.to.too_far_apart_since(&one.from).is_some());
        wrong.map(|one| (one.visit, one.set)).collect()
    }
}
