//! What a run found, ready for any renderer: plain values, nothing to compute. A number never
//! travels alone: it has a unit, n and an interval, or it is Failed or Missing with the reason.

pub mod against;
pub mod ceiling;
mod charge;
pub mod clusters;
mod comparison;
pub mod crowd;
mod direction;
pub mod durability;
pub mod efficiency;
mod figure;
pub mod imported;
pub mod layers;
pub mod precondition;
mod probe;
pub mod published;
pub mod ratios;
pub mod slo;
pub mod states;
pub mod steady;
pub mod sweep;
mod tail;
pub mod traffic;
pub mod verification;

use ceiling::MaskingCeiling;
pub use charge::ChargeFinding;
use clusters::ClusterFindings;
pub use comparison::{Charges, Comparison, ComparisonRole, Quantity, RateFinding, RatioChecks};
use crowd::Crowd;
pub use direction::{BillDirection, DirectionCharge, DirectionComparison, DirectionRow};
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
use traffic::TrafficReport;
use verification::Verification;

/// Everything a report says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub run: RunIdentity,
    /// The one sentence, if the run carries one.
    pub headline: Option<String>,
    /// Why there is no headline.
    pub no_headline: Option<String>,
    /// Stack and quantity of the comparison that the headline is.
    #[serde(skip)]
    pub headline_of: Option<(String, String)>,
    /// What stacks against themselves show of the ruler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruler: Option<RulerCheck>,
    /// Places whose figures are emulated, as sentences.
    pub emulated: Vec<String>,
    /// In the order of the scenario.
    pub workloads: Vec<WorkloadFindings>,
    /// The bill of one stack from two depths, where there are such; the bills of single workloads
    /// stand with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joint_bills: Vec<JointBill>,
    /// Why stacks were measured apart that could be up together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// What was done to the drives of each stack before it was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditioned: Vec<PreconditionReport>,
    /// Workloads that are points of one sweep, side by side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepFindings>,
    /// What became of acknowledged writes when something was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFindings>,
    /// What stacks gave back of what was written to them, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// What somebody published of these stacks, beside what was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFindings>,
    /// The tables that the scenario asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<RatioTable>,
    pub places: Vec<PlaceReport>,
    /// What layers made, as it was read back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerReport>,
    /// What loads issued and what devices completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficReport>,
    /// Recorded while measuring, and found while reading.
    pub warnings: Vec<WarningReport>,
    /// What the figures do not exclude, as sentences.
    pub not_excluded: Vec<String>,
}

/// Which run, of what, by which program, in what state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunIdentity {
    pub id: String,
    /// The scenario's name, where it has one.
    pub name: Option<String>,
    pub at: String,
    /// Version of iotax that measured.
    pub iotax: String,
    /// The command line, quoted for a shell.
    pub command: String,
    /// Where the scenario came from.
    pub source: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Zone within which "no difference" may be said, a fraction.
    pub zone: f64,
    /// `complete`, `interrupted`, `waits for a reboot`, `waits for a manual step`, `failed`,
    /// `running` or `killed`.
    pub state: &'static str,
    /// The words of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Frames of the record that were torn and count as absent.
    pub torn: u64,
    /// Whether others measured it.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl RunIdentity {
    /// Whether all that was asked for was measured.
    pub fn is_complete(&self) -> bool {
        self.state == COMPLETE
    }

    /// `killed`; of a failure with its words.
    pub fn state_said(&self) -> String {
        let state =
            if self.imported { format!("imported, {}", self.state) } else { self.state.to_owned() };
        state + &self.failure.as_ref().map(|words| format!(": {words}")).unwrap_or_default()
    }
}

/// One workload on all stacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadFindings {
    pub name: String,
    /// `4k random reads at iodepth 32 x 4`.
    pub subject: String,
    /// `1/s` or `B/s`: the rate that people speak of here; `ns` of a probe that takes times: their
    /// mean is in the rows' `iops`.
    pub rate_unit: &'static str,
    /// What the probe counts, of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeReport>,
    /// Of a sweep, which point it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
    /// Why measuring ended; `None`: it did not end in order.
    pub ended: Option<String>,
    /// Of writes: their regime, and what caches there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesReport>,
    /// Length and order of its slices.
    pub design: Option<DesignReport>,
    /// Bytes of every stack that the load reached; `None`: nothing was loaded.
    pub reached_bytes: Option<u64>,
    /// Those of the stack with the most, where stacks differ: `reached_bytes` is then of that with
    /// the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_reached_bytes: Option<u64>,
    /// Seconds of load, all stacks together.
    pub measured_s: f64,
    /// A row a stack.
    pub rows: Vec<StackRow>,
    /// Whether each stack keeps the service levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevelFinding>,
    /// Other generators on the baseline against ours, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_baseline: Vec<String>,
    /// Each stack against the baseline; writes have two each.
    pub comparisons: Vec<Comparison>,
    /// Latency and CPU time of each stack against the baseline.
    pub charges: Vec<Charges>,
    /// Of a mix: how to read the rates of its directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directions_note: Option<String>,
    /// Arrays that were measured in states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayStates>,
    /// Clusters of storage below the stacks, as they were between the slices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterFindings>,
    /// Latencies where all stacks get the same load.
    pub matched: Option<MatchedFindings>,
    /// Whether the other stacks disturb the baseline, where it was looked for.
    pub beside: Option<InterferenceCheck>,
    /// Stacks whose load runs in several guests or hosts at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crowds: Vec<Crowd>,
    /// Stacks against the most that their drives allow, where that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub efficiency: Vec<Efficiency>,
    /// Added latency of a load with one I/O in flight, in round trips of the network that stacks
    /// cross, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<String>,
    /// The stack taken apart, if asked for.
    pub bill: Option<Bill>,
}

impl WorkloadFindings {
    /// All comparisons of throughput: with the baseline, then of states with the same array as it
    /// was set up.
    pub fn all_comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().chain(self.states().flat_map(|state| &state.comparisons))
    }

    pub fn all_charges(&self) -> impl Iterator<Item = &Charges> {
        self.charges.iter().chain(self.states().flat_map(|state| &state.charges))
    }

    fn states(&self) -> impl Iterator<Item = &StateFindings> {
        self.arrays.iter().flat_map(|array| &array.states)
    }

    /// All that is held against each other: [`WorkloadFindings::all_comparisons`], and the bill.
    pub(super) fn judged(&mut self) -> (impl Iterator<Item = &mut Comparison>, Option<&mut Bill>) {
        let states = self.arrays.iter_mut().flat_map(|array| &mut array.states);
        (
            self.comparisons.iter_mut().chain(states.flat_map(|state| &mut state.comparisons)),
            self.bill.as_mut(),
        )
    }

    /// [`WorkloadFindings::all_charges`], to be held against each other.
    pub(super) fn charged(&mut self) -> impl Iterator<Item = &mut Charges> {
        let states = self.arrays.iter_mut().flat_map(|array| &mut array.states);
        self.charges.iter_mut().chain(states.flat_map(|state| &mut state.charges))
    }
}

/// How a workload was measured, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignReport {
    /// Length of a slice's window.
    pub slice_ns: u64,
    /// Order of slices in a round.
    pub pattern: Pattern,
    /// Period of something that comes back on the machine, where it decided the pattern.
    pub period_ns: Option<u64>,
    /// Slices of the pilot behind it; 0: no pilot.
    pub pilot_slices: u32,
    pub why: String,
    pub sentence: String,
    /// How the rate of each stack began after a change of stack; empty where slices were asked for
    /// one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<SliceStart>,
}

/// How the rate of a stack began in short slices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceStart {
    pub stack: String,
    /// Width of a bin of time since the start of a slice, nanoseconds.
    pub bin_ns: u64,
    /// Rate in each bin, percent of the steady rate: the mean of the last half of the bins.
    pub percent: Vec<f64>,
}

impl DesignReport {
    /// The first bins of all stacks in words; `None`: there are none.
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

/// The baseline beside the other stacks against itself alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterferenceCheck {
    /// Rate beside them over rate alone.
    pub ratio: MeasuredFigure,
    /// The conclusion: the baseline costs by so much, or does not.
    pub verdict: Verdict,
    pub sentence: String,
}

/// One stack under one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackRow {
    pub stack: String,
    pub text: String,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Where the load ran.
    pub place: Option<Place>,
    /// Of a network: from where to where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<[Place; 2]>,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    /// Places that were to load it with others, and have no part in the figures: they were lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Which generator and why.
    pub engine: Option<String>,
    pub rounds: u64,
    /// I/Os that failed or came back short.
    pub errors: u64,
    pub iops: MeasuredFigure,
    /// Bytes a second (acknowledged).
    pub bytes_per_s: MeasuredFigure,
    /// Bytes a second with the flush; only of writes.
    pub durable_bytes_per_s: Option<MeasuredFigure>,
    /// Rates of reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionRow>,
    pub latency: Vec<LatencyFigures>,
    /// Latencies of fsync and fdatasync, where the load calls them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<LatencyFigures>,
    /// CPU time of the generator's threads an I/O.
    pub cpu_generator: MeasuredFigure,
    /// What of it is the generator's own, and how far its latencies hold.
    pub generator: GeneratorReport,
    /// CPU time of the whole place (user and system) an I/O.
    pub cpu_place: MeasuredFigure,
    /// CPU time per I/O, host and guest together: of this host where the load ran in a guest on it.
    pub cpu: MeasuredFigure,
    /// Of several targets in a place (disks of a guest, members of an `each`): each by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetRow>,
    /// Of a tool: its single runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<ToolRuns>,
    /// Of a network probe: losses, and the CPU time of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRow>,
    /// What serves its I/O beside the load; `None`: nothing is known of it, or only a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<EngineReport>,
    /// What earlier writes still owed; only of writes.
    pub debt: Option<WritebackWait>,
}

/// One of several targets that a stack is loaded on at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetRow {
    pub place: Place,
    pub path: String,
    pub iops: MeasuredFigure,
}

/// What serves a stack's I/O beside the load: the threads of its RAID, its daemons, its QEMU
/// without the virtual CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineReport {
    /// They, in words: `md127_raid5, vhost (16)`.
    pub threads: String,
    /// CPU time of them all an I/O.
    pub cpu: MeasuredFigure,
    /// I/Os a second for each core that they keep busy; a thread that polls keeps one busy all the
    /// time.
    pub iops_per_core: MeasuredFigure,
}

/// The load generator's own part in a stack's figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratorReport {
    /// CPU time of its threads an I/O in user mode: its own code.
    pub cpu_user: MeasuredFigure,
    /// The same in the kernel: the path of the I/O itself, as far as it is walked in these threads.
    pub cpu_kernel: MeasuredFigure,
    /// Threads, on all members of the stack together.
    pub threads: f64,
    /// Share of the time of each thread that it computed in user mode, a fraction; `None`: not
    /// recorded.
    pub user_share: Option<f64>,
    pub kernel_share: Option<f64>,
    /// Time between two looks at a thread's queue: by so much at most a latency may be too long.
    /// `None` where each thread has one I/O in flight and waits for it, and where it is not
    /// recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reap_gap: Option<LatencyFigures>,
    /// With a schedule: from an I/O's issue itself to its end; the latencies of the row begin when
    /// it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyFigures>,
    /// I/Os in flight, the mean over the windows by the queue's own count; `None`: not recorded.
    pub in_flight: Option<f64>,
    /// As many as the load asks for, on all members together; `None` with a schedule, which asks
    /// for none. What is missing was with the generator's threads: they hand over one after the
    /// other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// By how much mean service time times rate differs from that, a fraction (Little's law says
    /// 0).
    pub littles_law_error: Option<f64>,
    /// What I/Os that lie across an end of a window may make of that, a fraction.
    #[serde(skip)]
    pub littles_law_ends: Option<f64>,
}

/// Latencies of one direction, from merged histograms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyFigures {
    pub direction: &'static str,
    pub mean: MeasuredFigure,
    pub p50: MeasuredFigure,
    pub p99: MeasuredFigure,
    pub p999: MeasuredFigure,
    /// Those that were asked for beside these, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedPercentile>,
    /// `(quantile, nanoseconds)` of the pooled histogram, for drawing.
    pub curve: Vec<(f64, u64)>,
}

impl LatencyFigures {
    /// Its figures with their names.
    pub fn figures(&self) -> impl Iterator<Item = (String, &MeasuredFigure)> {
        let known =
            [("mean", &self.mean), ("p50", &self.p50), ("p99", &self.p99), ("p99.9", &self.p999)];
        let asked =
            self.asked.iter().map(|one| (percentile_name(one.percent / 100.0), &one.figure));
        known.into_iter().map(|(name, figure)| (name.to_owned(), figure)).chain(asked)
    }

    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&MeasuredFigure> {
        self.figures().find(|(known, _)| known == name).map(|(_, figure)| figure)
    }
}

/// A percentile that the scenario or the reader asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedPercentile {
    pub percent: f64,
    pub figure: MeasuredFigure,
}

pub fn percentile_name(quantile: f64) -> String {
    let percent = format!("{:.6}", 100.0 * quantile);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// What the quiesce gate waited for before the slices of a stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WritebackWait {
    /// Seconds waited in all.
    pub waited_s: f64,
    /// Slices before which the gate was asked.
    pub slices: u64,
    /// Seconds that these slices themselves took, flushes and all.
    pub busy_s: f64,
    /// Slices before which it gave up.
    pub gave_up: u64,
    /// Most dirty bytes left at the start of a slice.
    pub dirty_bytes: u64,
    /// Most I/Os left in flight on lower devices; `None` when that is not known of every slice.
    pub in_flight: Option<u64>,
}

impl Default for WritebackWait {
    /// Of no slices: nothing was owed.
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
    /// Share of the stack's time that went by in waiting; `None` of no slices.
    pub fn share(&self) -> Option<f64> {
        let whole = self.waited_s + self.busy_s;
        (self.slices > 0 && whole > 0.0).then(|| self.waited_s / whole)
    }
}

/// What stacks against themselves show: nothing lies between them, so that any difference is an
/// error of the ruler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RulerCheck {
    /// Whether none was found.
    pub holds: bool,
    pub sentence: String,
}

/// All stacks under the same offered load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedFindings {
    /// I/Os a second that were offered; `None`: one I/O at a time.
    pub rate_iops: Option<f64>,
    /// `4k random reads at 12,300 I/Os a second`.
    pub subject: String,
    /// Where the rate came from, in words.
    pub origin: String,
    /// A row a stack.
    pub rows: Vec<MatchedRow>,
}

/// One stack under the offered load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchedRow {
    pub stack: String,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    pub iops: MeasuredFigure,
    /// Whether it achieved 98 % of the offered rate; `None`: not measured.
    pub kept_up: Option<bool>,
    /// Of one that achieved more than was offered: whether that was due in the discarded starts of
    /// its slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caught_up: Option<bool>,
    pub latency: Vec<LatencyFigures>,
    /// From an I/O's issue itself to its end; `latency` begins when it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyFigures>,
}

/// A bill whose microseconds are of one I/O at a time and whose ratios and CPU time are of a deeper
/// workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointBill {
    /// `4k random reads: microseconds at iodepth 1, rate and CPU at iodepth 32`.
    pub subject: String,
    /// Name of the workload at depth 1.
    pub shallow: String,
    /// Name of the deeper one.
    pub deep: String,
    /// Whether it stands for the bills of both, as nobody asked for these workloads.
    pub sole: bool,
    pub bill: Bill,
}

/// A stack taken apart. Ratios multiply; they do not add.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// A layer a line, from the bottom.
    pub lines: Vec<BillLine>,
    /// The whole stack against the baseline.
    pub total: BillLine,
    /// What of the total the lines do not explain.
    pub unexplained: BillLine,
}

/// One line: a prefix against the one below.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillLine {
    /// The layer that was added.
    pub layer: String,
    /// The stack it is added to.
    pub on: String,
    /// Rate with it over rate without.
    pub ratio: MeasuredFigure,
    /// 1 and what the layer adds to the rate as a share of the baseline's: 0.95 where it takes five
    /// points of it. Points of all lines add up to the total's.
    pub of_baseline: MeasuredFigure,
    /// What follows: withheld for the same reasons as that of any comparison.
    pub verdict: Verdict,
    /// What hides a cost: both run into it.
    pub masked: Option<MaskingCeiling>,
    /// Added mean latency of one I/O at a time, ns; lines add up to the total.
    pub added_latency: MeasuredFigure,
    /// Reads and writes apart; only of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<BillDirection>,
    /// Added CPU time per I/O, host and guest together, ns.
    pub added_cpu: MeasuredFigure,
    /// Why it is not representative.
    pub emulated: Option<String>,
}

/// A place with its facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    pub place: Place,
    /// Why its figures are not representative.
    pub emulated: Option<String>,
    pub facts: serde_json::Value,
    /// Exact commands that made it, quoted for a shell.
    pub commands: Vec<String>,
    /// Of a guest: its disks as they really are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<GuestDisk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WarningReport {
    pub kind: String,
    /// What it is about.
    pub subject: String,
    pub text: String,
}

impl WarningReport {
    /// Of that kind, about that.
    pub fn new(kind: &str, subject: &str, text: String) -> WarningReport {
        WarningReport { kind: kind.into(), subject: subject.into(), text }
    }

    /// `target (loop): the sentence`.
    pub fn to_sentence(&self) -> String {
        match self.subject.as_str() {
            "" => format!("{}: {}", self.kind, self.text),
            subject => format!("{} ({subject}): {}", self.kind, self.text),
        }
    }
}
