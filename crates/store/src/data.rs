//! A stored run as plain data, from which reports are made and a resumed run continues.

use super::reader::no_run;
use super::run_name;
use super::segment::Histograms;
use super::{RunLock, SEGMENT, StoreError, stream_records};
use iotax_hardware::ratings::{Ratings, builtin_ratings};
use iotax_load::{Histogram, ShortSlice};
use iotax_model::record::course::{LimitCourse, PathLimits};
use iotax_model::record::imported::{ImportedFile, ImportedResult};
use iotax_model::record::precondition::{Passes, Preconditioned};
use iotax_model::record::state::RunState;
use iotax_model::record::trial::DurabilityTrial;
use iotax_model::record::verification::Verification;
use iotax_model::record::{
    Clocks, ClusterReading, DesignUp, DeviceTraffic, LaidOut, LayerUp, LayingOut, Matched,
    PlaceFacts, RunRecord, RunStart, SeriesUp, Serving, Slice, TransientUp, Warning, WorkerUp,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

/// Source of the values at offsets of the segment. A torn frame has none; the default source has
/// none at all.
pub struct SegmentSource<T>(Box<dyn Fn(u64) -> Option<T>>);

impl<T> SegmentSource<T> {
    pub fn new(read: impl Fn(u64) -> Option<T> + 'static) -> SegmentSource<T> {
        SegmentSource(Box::new(read))
    }

    pub fn read_at(&self, offset: u64) -> Option<T> {
        (self.0)(offset)
    }
}

impl<T> Default for SegmentSource<T> {
    fn default() -> SegmentSource<T> {
        SegmentSource::new(|_| None)
    }
}

/// All records of one run, whole or partial: a run that is still going or was killed is as good as
/// a finished one.
#[derive(Default)]
pub struct RunData {
    pub start: RunStart,
    /// Ratings of drives that iotax knows, overridden by those that the run was given.
    pub ratings: Ratings,
    pub places: Vec<PlaceFacts>,
    pub layers: Vec<LayerUp>,
    pub serving: Vec<Serving>,
    pub workers: Vec<WorkerUp>,
    /// Lengths and orders of slices; the last entry of a workload counts.
    pub designs: Vec<DesignUp>,
    /// Rates at which latencies are compared; the last entry of a workload counts.
    pub matched: Vec<Matched>,
    /// Reason why stacks that could be up together were measured apart.
    pub apart: Option<String>,
    pub laying_out: Vec<LayingOut>,
    pub laid_out: Vec<LaidOut>,
    pub passes: Vec<Passes>,
    /// Rounds of preconditioning, one entry per visit and workload.
    pub preconditioned: Vec<Preconditioned>,
    pub clocks: Vec<Clocks>,
    pub clusters: Vec<ClusterReading>,
    pub slices: Vec<Slice>,
    pub series: Vec<SeriesUp>,
    /// Behaviour of rates at the start of short slices, one for each visit, stack and workload.
    pub transients: Vec<TransientUp>,
    /// Counters of devices, next to the I/O issued: one record per visit, stack and workload.
    pub device_traffic: Vec<DeviceTraffic>,
    pub trials: Vec<DurabilityTrial>,
    pub path_limits: PathLimits,
    pub courses: Vec<LimitCourse>,
    pub verified: Vec<Verification>,
    pub imported_files: Vec<ImportedFile>,
    pub imported: Vec<ImportedResult>,
    /// Latencies of the slices, at the offset of their sample.
    pub histograms: SegmentSource<Histogram>,
    /// Slices of the series, at the offset of its [`SeriesUp`].
    pub short_slices: SegmentSource<Vec<ShortSlice>>,
    /// Warnings, in the order of the record.
    pub warnings: Vec<Warning>,
    /// Times at which the run was resumed.
    pub resumed: Vec<String>,
    /// Workloads, each with the reason why its measurement ended.
    pub ends: Vec<(String, String)>,
    /// Visits that were measured completely: visit, set, workload.
    pub visits_ended: Vec<(u32, u32, String)>,
    /// Outcome of the run; `None` if it is still running, or was killed.
    pub outcome: Option<String>,
    pub is_running: bool,
    /// Number of lines of the index that were cut off or damaged, and count as absent.
    pub torn: u64,
    /// Sound records of kinds that this version does not know, by kind.
    pub unknown: BTreeMap<String, u64>,
}

impl RunData {
    /// Returns a run that has just begun: only its start is recorded, and ratings that the run was
    /// given are not read.
    pub fn begun(start: RunStart) -> RunData {
        RunData { start, ratings: builtin_ratings().clone(), ..RunData::default() }
    }

    fn take_record(&mut self, record: RunRecord) {
        match record {
            // A second start can only be a copy; the first counts.
            RunRecord::Run(_) => {}
            RunRecord::Place(place) => self.places.push(place),
            RunRecord::Layer(layer) => self.layers.push(layer),
            RunRecord::Serving(serving) => self.serving.push(serving),
            RunRecord::Worker(worker) => self.workers.push(worker),
            RunRecord::Design(design) => self.designs.push(design),
            RunRecord::Matched(matched) => self.matched.push(matched),
            RunRecord::Apart { reason } => self.apart = Some(reason),
            RunRecord::LayingOut(laying_out) => self.laying_out.push(laying_out),
            RunRecord::LaidOut(laid_out) => self.laid_out.push(laid_out),
            RunRecord::Passes(passes) => self.passes.push(passes),
            RunRecord::Preconditioned(done) => self.preconditioned.push(done),
            RunRecord::Clocks(clocks) => self.clocks.push(clocks),
            RunRecord::Cluster(reading) => self.clusters.push(reading),
            RunRecord::Slice(slice) => self.slices.push(slice),
            RunRecord::Series(series) => self.series.push(series),
            RunRecord::Transient(transient) => self.transients.push(transient),
            RunRecord::DeviceTraffic(traffic) => self.device_traffic.push(traffic),
            RunRecord::Trial(trial) => self.trials.push(trial),
            RunRecord::PathLimits(limits) => self.path_limits = limits,
            RunRecord::Course(course) => self.courses.push(course),
            RunRecord::Verified(found) => self.verified.push(found),
            RunRecord::ImportedFile(file) => self.imported_files.push(file),
            RunRecord::Imported(result) => self.imported.push(result),
            RunRecord::Warning(warning) => self.warnings.push(warning),
            RunRecord::Resumed { at } => {
                // A run that ended before and was continued has not ended.
                self.outcome = None;
                self.resumed.push(at);
            }
            RunRecord::VisitEnd { visit, set, workload } => {
                self.visits_ended.push((visit, set, workload))
            }
            RunRecord::WorkloadEnd { workload, reason } => {
                self.ends.push((workload, first_line(&reason)))
            }
            RunRecord::End { outcome, .. } => self.outcome = Some(first_line(&outcome)),
        }
    }

    pub fn state(&self) -> RunState {
        RunState::from_outcome(self.outcome.as_deref(), self.is_running)
    }

    /// Returns the visits, as (visit, set), in which a clock drifted too far under this workload,
    /// so that none of its times count. Workloads that ended earlier in the same visit do count, as
    /// they have their own comparison of clocks.
    pub fn wrongly_timed(&self, workload: &str) -> BTreeSet<(u32, u32)> {
        let of_it = self.clocks.iter().filter(|one| one.is_of(workload));
        let wrong = of_it.filter(|one| one.to.too_far_apart_since(&one.from).is_some());
        wrong.map(|one| (one.visit, one.set)).collect()
    }
}

/// Reads a run, whole or partial; histograms stay on disk.
///
/// # Errors
/// [`StoreError::NoRun`] without an index or a readable first record, [`StoreError::Newer`],
/// [`StoreError::Malformed`], [`StoreError::Unsafe`], [`StoreError::System`].
pub fn load_run(folder: &Path) -> Result<RunData, StoreError> {
    let mut run: Option<RunData> = None;
    let tally = stream_records(folder, |record| match (&mut run, record) {
        (Some(run), record) => run.take_record(record),
        (None, RunRecord::Run(start)) => run = Some(RunData::begun(start)),
        (None, _) => {}
    })?;
    let mut run = run.ok_or_else(|| no_run(folder, "its first record is missing or torn"))?;
    run_name::apply_given_name(folder, &mut run.start);
    let histograms = Rc::new(Histograms::open(folder, SEGMENT)?);
    let series = Rc::clone(&histograms);
    run.histograms = SegmentSource::new(move |offset| histograms.get(offset));
    run.short_slices = SegmentSource::new(move |offset| series.series(offset));
    let (ratings, unread) = ratings(&run.start.ratings);
    run.ratings = ratings;
    run.warnings.extend(unread);
    run.is_running = run.outcome.is_none() && RunLock::is_held(folder);
    (run.torn, run.unknown) = (tally.torn, tally.unknown);
    Ok(run)
}

/// Returns the ratings that iotax knows, overridden by those that the run was given, with a warning
/// for each that this iotax does not accept: it was sound when the run began.
fn ratings(texts: &[String]) -> (Ratings, Vec<Warning>) {
    let mut unread = Vec::new();
    let all = texts.iter().fold(builtin_ratings().clone(), |all, text| {
        all.with_user_file(text).unwrap_or_else(|fault| {
            let text = format!(
                "ratings of drives that the run was given are not read: {fault}; hint: report --ratings FILE"
            );
            unread.push(Warning { kind: "ratings".into(), subject: String::new(), text });
            all
        })
    });
    (all, unread)
}

/// Returns the first line of an error, without what a guest's console or ssh printed before, which
/// stays in the record.
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
        assert_eq!(all.drives().len(), builtin_ratings().drives().len() + 1);
        let [warning] = unread.as_slice() else { panic!("{unread:?}") };
        assert!(
            warning.text.contains("are not read: line 5: media: ") && warning.kind == "ratings",
            "{warning:?}"
        );
    }
}
