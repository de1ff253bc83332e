//! Findings of a run, ready for any renderer: plain values, nothing to compute. A
//! [`MeasuredFigure`] has a unit, n and an interval, or it is Failed or Missing with the reason.

pub mod against;
pub mod article;
pub mod ceiling;
mod charge;
pub mod clusters;
mod comparison;
pub mod crowd;
mod direction;
pub mod drives;
pub mod durability;
pub mod efficiency;
mod figure;
pub mod fleet;
pub mod history;
pub mod imported;
pub mod layers;
pub mod limits;
pub mod over_time;
pub mod precondition;
mod probe;
pub mod published;
pub mod ratios;
pub mod slo;
pub mod states;
pub mod steady;
pub mod sweep;
mod tail;
pub mod trace;
pub mod traffic;
pub mod verification;

use article::ArticleFindings;
use ceiling::MaskingCeiling;
pub use charge::ChargeFinding;
use clusters::ClusterFindings;
pub use comparison::{Charges, Comparison, ComparisonRole, Quantity, RateFinding, RatioChecks};
use crowd::Crowd;
pub use direction::{BillDirection, DirectionCharge, DirectionComparison, DirectionRow};
use drives::{DriveFigure, DriveGroup};
use durability::Durability;
use efficiency::Efficiency;
pub use figure::{Interval, MeasuredFigure, SampleUnit};
use imported::ImportedFindings;
pub use iotax_model::record::GuestDisk;
pub use iotax_model::record::Place;
use iotax_model::record::state::COMPLETE;
use iotax_model::scenario::SweepPoint;
use iotax_stats::Verdict;
use iotax_stats::pilot::Pattern;
use layers::LayerReport;
use limits::LimitFindings;
use over_time::StackRates;
use precondition::PreconditionReport;
pub use probe::{NetworkRow, ProbeReport, ToolRuns};
use published::PublishedFindings;
use ratios::RatioTable;
use serde::Serialize;
use slo::ServiceLevelFinding;
use states::{ArrayStates, StateFindings};
use steady::WritesReport;
use sweep::SweepFindings;
pub use tail::TailFinding;
use trace::TraceFinding;
use traffic::TrafficReport;
use verification::Verification;

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub run: RunIdentity,
    pub headline: Option<String>,
    pub no_headline: Option<String>,
    /// Stack and quantity of the comparison that the headline states.
    #[serde(skip)]
    pub headline_of: Option<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruler: Option<RulerCheck>,
    pub emulated: Vec<String>,
    pub workloads: Vec<WorkloadFindings>,
    /// Bills of one stack that combine two depths, where there are any. The bills of single
    /// workloads are in [`WorkloadFindings::bill`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joint_bills: Vec<JointBill>,
    /// Reason why stacks that could be up together were measured apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditioned: Vec<PreconditionReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<DriveGroup>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepFindings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitFindings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFindings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFindings>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<RatioTable>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub articles: Vec<ArticleFindings>,
    pub places: Vec<PlaceReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficReport>,
    pub warnings: Vec<WarningReport>,
    pub not_excluded: Vec<String>,
}

impl Findings {
    /// Returns the published figure of a stack under a load, if there is one.
    pub fn published_figure(
        &self,
        load: &str,
        stack: &str,
        metric: &str,
    ) -> Option<&MeasuredFigure> {
        let mut figures = self.published.iter().flat_map(|found| &found.figures);
        figures
            .find(|one| one.workload == load && one.stack == stack && one.metric == metric)
            .map(|one| &one.published)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunIdentity {
    pub id: String,
    pub name: Option<String>,
    pub at: String,
    pub iotax: String,
    /// The command line, quoted for a shell.
    pub command: String,
    pub source: String,
    pub seed: u64,
    /// Largest negligible difference of rates, as a fraction: within it, a verdict is "no
    /// difference".
    pub zone: f64,
    /// `complete`, `interrupted`, `waits for a reboot`, `waits for a manual step`, `failed`,
    /// `running` or `killed`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Number of torn frames in the record, which were skipped.
    pub torn: u64,
    /// True if the results were imported, so that others measured them.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl RunIdentity {
    /// Returns true if everything the run was asked for was measured.
    pub fn is_complete(&self) -> bool {
        self.state == COMPLETE
    }

    /// Returns the state, such as `killed` or `imported, complete`. A failure includes its text.
    pub fn state_said(&self) -> String {
        let state =
            if self.imported { format!("imported, {}", self.state) } else { self.state.to_owned() };
        state + &self.failure.as_ref().map(|words| format!(": {words}")).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadFindings {
    pub name: String,
    /// Load in words: `4k random reads at iodepth 32 x 4`.
    pub subject: String,
    /// Unit in which rates of this load are given: `1/s` or `B/s`. It is `ns` for a probe that
    /// measures times; their mean is in the rows' `iops`.
    pub rate_unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
    /// Reason why the measurement ended; `None` if it was cut short.
    pub ended: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesReport>,
    pub design: Option<DesignReport>,
    /// Rate over time of the only stack, if the run is a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFinding>,
    /// Bytes that the load reached on each stack, on the one with the least if they differ; `None`
    /// if nothing was loaded, and for probes.
    pub reached_bytes: Option<u64>,
    /// Bytes that the load reached on the stack with the most; `None` if stacks do not differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_reached_bytes: Option<u64>,
    /// Seconds of load on all stacks together.
    pub measured_s: f64,
    pub rows: Vec<StackRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevelFinding>,
    /// Sentences on how the rate of other generators on the baseline differs from iotax's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_baseline: Vec<String>,
    /// Comparisons of each stack with the baseline: one for reads, two for loads that write
    /// (acknowledged and durable).
    pub comparisons: Vec<Comparison>,
    pub charges: Vec<Charges>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directions_note: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayStates>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterFindings>,
    pub matched: Option<MatchedFindings>,
    pub beside: Option<InterferenceCheck>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crowds: Vec<Crowd>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub efficiency: Vec<Efficiency>,
    /// Drives of stacks that differ only in their drive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<DriveFigure>,
    /// Sentences on the latency that stacks across a network add to one I/O in flight, in round
    /// trips of that network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<String>,
    pub bill: Option<Bill>,
    /// Rates over the time of the measurement; empty for a probe of times.
    #[serde(skip)]
    pub over_time: Vec<StackRates>,
}

impl WorkloadFindings {
    /// Returns all comparisons of throughput: first those with the baseline, then those of array
    /// states with the same array as it was set up.
    pub fn all_comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().chain(self.states().flat_map(|state| &state.comparisons))
    }

    pub fn all_charges(&self) -> impl Iterator<Item = &Charges> {
        self.charges.iter().chain(self.states().flat_map(|state| &state.charges))
    }

    fn states(&self) -> impl Iterator<Item = &StateFindings> {
        self.arrays.iter().flat_map(|array| &array.states)
    }

    /// Returns everything that is judged together: [`WorkloadFindings::all_comparisons`] and the
    /// bill.
    pub(super) fn jointly_judged(
        &mut self,
    ) -> (impl Iterator<Item = &mut Comparison>, Option<&mut Bill>) {
        let states = self.arrays.iter_mut().flat_map(|array| &mut array.states);
        (
            self.comparisons.iter_mut().chain(states.flat_map(|state| &mut state.comparisons)),
            self.bill.as_mut(),
        )
    }

    pub(super) fn charged(&mut self) -> impl Iterator<Item = &mut Charges> {
        let states = self.arrays.iter_mut().flat_map(|array| &mut array.states);
        self.charges.iter_mut().chain(states.flat_map(|state| &mut state.charges))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignReport {
    pub slice_ns: u64,
    pub pattern: Pattern,
    /// Period of a recurring disturbance on the machine, if it decided the pattern.
    pub period_ns: Option<u64>,
    /// Slices of the pilot that the design is based on; 0: no pilot.
    pub pilot_slices: u32,
    pub why: String,
    pub sentence: String,
    /// Rate of each stack over the course of a slice; empty unless slices were measured in series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<SliceStart>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceStart {
    pub stack: String,
    /// Width in nanoseconds of a bin of the time since the start of a slice.
    pub bin_ns: u64,
    /// Rate in each bin in percent of the steady rate, which is the mean of the last half of the
    /// bins.
    pub percent: Vec<f64>,
}

impl DesignReport {
    /// Returns the rates in the first bins of all stacks in words; `None` if there are none.
    pub fn starts_in_words(&self) -> Option<String> {
        const SHOWN_BINS: usize = 12;
        let bin_ns = self.starts.first()?.bin_ns;
        let of_stack = |start: &SliceStart| {
            let bins = start.percent.iter().take(SHOWN_BINS);
            let bins: Vec<String> = bins.map(|percent| format!("{percent:.0}")).collect();
            format!("{} {}", start.stack, bins.join(" "))
        };
        Some(format!(
            "rate after a change of stack, as a percentage of the steady rate, in steps of {}: {}",
            iotax_units::show_ns(bin_ns as f64),
            self.starts.iter().map(of_stack).collect::<Vec<_>>().join("; ")
        ))
    }
}

/// Comparison of the baseline's rate while the other stacks are up with its rate alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterferenceCheck {
    /// Rate while the other stacks are up, over the rate alone.
    pub ratio: MeasuredFigure,
    pub verdict: Verdict,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackRow {
    pub stack: String,
    pub text: String,
    pub baseline: bool,
    pub place: Option<Place>,
    /// Both ends of a network probe: from which place to which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<[Place; 2]>,
    /// Reason why the figures are not representative.
    pub emulated: Option<String>,
    /// Places that were to load the stack with others but were lost; the figures exclude them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Generator that was used, and why.
    pub engine: Option<String>,
    pub rounds: u64,
    /// I/Os that failed or came back short.
    pub errors: u64,
    pub iops: MeasuredFigure,
    /// Acknowledged bytes per second.
    pub bytes_per_s: MeasuredFigure,
    /// Bytes per second over the time with the flush; only for writes.
    pub durable_bytes_per_s: Option<MeasuredFigure>,
    /// Rates of reads and writes separately; only for a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionRow>,
    pub latency: Vec<LatencyFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<LatencyFigures>,
    /// CPU time of the generator's threads per I/O.
    pub cpu_generator: MeasuredFigure,
    pub generator: GeneratorReport,
    /// CPU time of the whole place (user and system) per I/O.
    pub cpu_place: MeasuredFigure,
    /// CPU time per I/O of host and guest together, which is that of this host if the load ran in a
    /// guest on it.
    pub cpu: MeasuredFigure,
    /// Rates of the single targets if a place has several (disks of a guest, members of an `each`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<ToolRuns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRow>,
    /// CPU use of the threads that serve the I/O, without those of the load; `None` if it is not
    /// known in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<EngineReport>,
    /// Waits for the writeback of earlier writes; only for writes.
    pub debt: Option<WritebackWait>,
}

/// Rate on one of several targets on which a stack is loaded at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetRow {
    pub place: Place,
    pub path: String,
    pub iops: MeasuredFigure,
}

/// Threads that serve a stack's I/O apart from the load: those of its RAID, its daemons, and its
/// QEMU without the virtual CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineReport {
    /// Names of the threads: `md127_raid5, vhost (16)`.
    pub threads: String,
    pub cpu: MeasuredFigure,
    /// I/Os per second for each core that the threads keep busy. A thread that polls keeps a core
    /// busy all the time.
    pub iops_per_core: MeasuredFigure,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratorReport {
    /// CPU time of the generator's threads per I/O in user mode: its own code.
    pub cpu_user: MeasuredFigure,
    /// CPU time of these threads per I/O in the kernel: the path of the I/O itself, as far as it
    /// runs in these threads.
    pub cpu_kernel: MeasuredFigure,
    pub threads: f64,
    /// Fraction of each thread's time that it computed in user mode; `None`: not recorded.
    pub user_share: Option<f64>,
    pub kernel_share: Option<f64>,
    /// Time between two checks of a thread's queue for completions; a latency may be too long by at
    /// most this much. `None` where each thread has one I/O in flight and waits for it, and where
    /// it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reap_gap: Option<LatencyFigures>,
    /// Service times under a schedule, from the issue of an I/O to its end; the latencies of the
    /// row then begin when the I/O was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyFigures>,
    /// Mean number of I/Os in flight over the windows, by the queue's own count; `None`: not
    /// recorded.
    pub in_flight: Option<f64>,
    /// Number of I/Os in flight that the load asks for on all members together; `None` with a
    /// schedule, which asks for no depth. Those missing from `in_flight` were still in the
    /// generator's threads, which submit one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// Mean service time times rate, over the mean number of I/Os in flight, minus 1: 0 by Little's
    /// law. `None` if it is not recorded.
    pub littles_law_error: Option<f64>,
    /// Largest `littles_law_error` that I/Os across the ends of windows may explain.
    #[serde(skip)]
    pub littles_law_ends: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyFigures {
    pub direction: &'static str,
    pub mean: MeasuredFigure,
    pub p50: MeasuredFigure,
    pub p99: MeasuredFigure,
    pub p999: MeasuredFigure,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedPercentile>,
    /// Points `(quantile, nanoseconds)` of the pooled histogram, for drawing.
    pub curve: Vec<(f64, u64)>,
}

impl LatencyFigures {
    pub fn figures(&self) -> impl Iterator<Item = (String, &MeasuredFigure)> {
        let known =
            [("mean", &self.mean), ("p50", &self.p50), ("p99", &self.p99), ("p99.9", &self.p999)];
        let asked =
            self.asked.iter().map(|one| (percentile_name(one.percent / 100.0), &one.figure));
        known.into_iter().map(|(name, figure)| (name.to_owned(), figure)).chain(asked)
    }

    pub fn figure_named(&self, name: &str) -> Option<&MeasuredFigure> {
        self.figures().find(|(known, _)| known == name).map(|(_, figure)| figure)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedPercentile {
    pub percent: f64,
    pub figure: MeasuredFigure,
}

pub fn percentile_name(quantile: f64) -> String {
    let percent = format!("{:.6}", 100.0 * quantile);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// Waits before the slices of a stack until earlier writes have reached the devices (quiesce gate).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WritebackWait {
    pub waited_s: f64,
    /// Number of slices before which the gate was checked.
    pub slices: u64,
    /// Seconds that these slices themselves took, including flushes.
    pub busy_s: f64,
    /// Number of slices that began although writes were still on their way, because the gate gave
    /// up.
    pub gave_up: u64,
    /// Most dirty bytes left at the start of a slice.
    pub dirty_bytes: u64,
    /// Most I/Os left in flight on lower devices; `None` if this is not known for every slice.
    pub in_flight: Option<u64>,
}

impl Default for WritebackWait {
    fn default() -> WritebackWait {
        WritebackWait {
            waited_s: 0.0,
            slices: 0,
            busy_s: 0.0,
            gave_up: 0,
            dirty_bytes: 0,
            in_flight: Some(0),
        }
    }
}

impl WritebackWait {
    /// Returns the share of the stack's time spent waiting; `None` without slices.
    pub fn share(&self) -> Option<f64> {
        let whole = self.waited_s + self.busy_s;
        (self.slices > 0 && whole > 0.0).then(|| self.waited_s / whole)
    }
}

/// Result of comparing stacks with themselves. Nothing differs between them, so any difference is
/// an error of the measuring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulerCheck {
    pub holds: bool,
    pub sentence: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedFindings {
    /// Offered I/Os per second; `None` for one I/O at a time.
    pub rate_iops: Option<f64>,
    /// Load in words: `4k random reads at 12,300 I/Os a second`.
    pub subject: String,
    pub origin: String,
    pub rows: Vec<MatchedRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedRow {
    pub stack: String,
    pub baseline: bool,
    pub emulated: Option<String>,
    pub iops: MeasuredFigure,
    /// True if the stack kept up with the offered rate; `None` if it was not measured, or if there
    /// is no such rate.
    pub kept_up: Option<bool>,
    /// For a stack that achieved more than was offered: true if the surplus was due in the
    /// discarded starts of its slices. Otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caught_up: Option<bool>,
    pub latency: Vec<LatencyFigures>,
    /// Time from the issue of an I/O to its completion, if `latency` begins when the I/O was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyFigures>,
}

/// Bill whose added latencies are of one I/O at a time, and whose ratios and CPU times are of a
/// deeper workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointBill {
    /// Load in words: `4k random reads: microseconds at iodepth 1, rate and CPU at iodepth 32`.
    pub subject: String,
    pub shallow: String,
    pub deep: String,
    /// True if this bill replaces those of both workloads, because the user named no workload.
    pub sole: bool,
    pub bill: Bill,
}

/// Cost of each layer of a stack. Ratios multiply; they do not add.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// One line per layer, from the bottom.
    pub lines: Vec<BillLine>,
    pub total: BillLine,
    /// Part of the total that the lines do not explain.
    pub unexplained: BillLine,
}

/// One line of a bill: a stack with one more layer against the stack without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillLine {
    pub layer: String,
    /// Stack on which the layer was added.
    pub on: String,
    /// Rate with the layer over the rate without.
    pub ratio: MeasuredFigure,
    /// 1 plus the difference that the layer makes to the rate, as a share of the baseline's rate:
    /// 0.95 if it takes 5 %. The differences of all lines add up to that of the total.
    pub of_baseline: MeasuredFigure,
    pub verdict: Verdict,
    pub masked: Option<MaskingCeiling>,
    /// Added mean latency in ns with one I/O at a time; lines add up to the total.
    pub added_latency: MeasuredFigure,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<BillDirection>,
    /// Added CPU time per I/O in ns, host and guest together.
    pub added_cpu: MeasuredFigure,
    pub emulated: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    pub place: Place,
    pub emulated: Option<String>,
    pub facts: serde_json::Value,
    /// Exact commands that created the place, quoted for a shell.
    pub commands: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<GuestDisk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WarningReport {
    pub kind: String,
    pub subject: String,
    pub text: String,
}

impl WarningReport {
    pub fn new(kind: &str, subject: &str, text: String) -> WarningReport {
        WarningReport { kind: kind.into(), subject: subject.into(), text }
    }

    /// Returns the warning as one line: `target (loop): the sentence`.
    pub fn to_sentence(&self) -> String {
        match self.subject.as_str() {
            "" => format!("{}: {}", self.kind, self.text),
            subject => format!("{} ({subject}): {}", self.kind, self.text),
        }
    }
}
