//! What a run records (docs/result-format.md). Every line of the index is one of these.

pub mod imported;
pub mod precondition;
pub mod state;
pub mod verification;

pub use iotax_facts::cluster::ClusterStatus;
pub use iotax_facts::place::Place;
pub use iotax_facts::slice::{
    CpuTimes, DeviceCounts, DeviceReading, OnTarget, QuiesceGate, ThreadId, worse_known,
};
pub use iotax_facts::spdk::{Reactor, SpdkTarget};
pub use iotax_facts::trial;

use crate::scenario::Scenario;
use iotax_facts::machine::WriteCache;
use iotax_facts::machine::{Device, Facts};
use iotax_load::{EngineName, Transient};
use iotax_stats::pilot::Pattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One line of `index.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum RunRecord {
    /// First line of a run.
    Run(RunStart),
    /// Facts of a place, when it is first reached.
    Place(PlaceFacts),
    /// What joins drives is up, in the first visit of its set.
    #[serde(rename = "volume")]
    Layer(LayerUp),
    /// What serves a stack's I/O beside its load, when it is first up so.
    Serving(Serving),
    /// A worker was prepared on a stack.
    Worker(WorkerUp),
    /// How a workload is measured: length and order of its slices.
    Design(DesignUp),
    /// The rate at which latencies are compared.
    Matched(Matched),
    /// Stacks that are up disturb the baseline: from here on each is measured by itself, in visits.
    Apart { reason: String },
    /// What was never written is about to be written once.
    LayingOut(LayingOut),
    /// What was never written was written once, before anything was measured.
    LaidOut(LaidOut),
    /// How far the passes over drives are that precondition them.
    Passes(precondition::Passes),
    /// Rounds of a load that were to bring it to a steady state ended.
    Preconditioned(precondition::Preconditioned),
    /// The clock of a place against the host's, at the beginning and the end of a load.
    Clocks(Clocks),
    /// A cluster of storage, read between slices.
    Cluster(ClusterReading),
    /// A stretch of load on one stack: a slice, or all slices of it in a series.
    Slice(Slice),
    /// Short slices of a series, one by one.
    Series(SeriesUp),
    /// How the rate of a stack began in the short slices of a visit.
    Transient(TransientUp),
    /// What devices counted while a load ran on a stack.
    DeviceTraffic(DeviceTraffic),
    /// A durability trial: what was acknowledged, a kill, and what was found of it.
    Trial(trial::DurabilityTrial),
    /// What a stack gave back of what was written to it.
    Verified(verification::Verification),
    /// A file that results were imported from.
    ImportedFile(imported::ImportedFile),
    /// A result that was imported.
    Imported(imported::ImportedResult),
    /// Something a reader must know.
    Warning(Warning),
    /// The run went on after a kill or a reboot.
    Resumed { at: String },
    /// A visit of a set was measured to its end with a workload.
    VisitEnd { visit: u32, set: u32, workload: String },
    /// Why measuring a workload ended.
    WorkloadEnd {
        workload: String,
        /// `precision`, `rate_limited`, `budget`, `interrupted`, or the words of a failure.
        reason: String,
    },
    /// Last line of a run that ended in order.
    End {
        at: String,
        /// `complete`, `interrupted`, or the words of a failure.
        outcome: String,
    },
}

/// Threads of a place that serve the I/O of a stack beside its load: its engine. What they compute
/// is `engine.cpu` of its slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Name of the stack.
    pub stack: String,
    pub place: Place,
    pub threads: Vec<ThreadGroup>,
}

/// Threads of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadGroup {
    pub name: String,
    pub count: u32,
    /// They poll, so that each takes a core, whatever there is to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub polls: bool,
    /// The rest of what they are there for is done by the threads that hand I/O to them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}

fn is_nothing(count: &u64) -> bool {
    *count == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What was asked for, and by which program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run's id, also the name of its folder.
    pub id: String,
    pub at: String,
    pub iotax: String,
    /// The command line, word by word.
    pub argv: Vec<String>,
    pub scenario: Scenario,
    /// Boot id of the host.
    pub boot_id: String,
    /// Equal files that the stacks go round, visit by visit: visits whose numbers differ by so many
    /// had the same; 0: not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub siblings: u32,
    /// Caches of writes that were known on the path, the largest first; none where nothing writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_caches: Vec<WriteCache>,
    /// Texts of files with ratings of drives that it was given, each over the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<String>,
    /// Of a run that was imported: from what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<imported::Import>,
}

/// Facts of one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceFacts {
    /// `host`, a guest's name, `ssh:HOST`.
    pub place: Place,
    pub facts: Facts,
    /// Emulated CPU (TCG, or a KVM that emulates): figures are not representative.
    pub emulated: Option<String>,
    /// Exact command lines that made it, if we did (QEMU's).
    pub commands: Vec<Vec<String>>,
    /// Of a guest of ours: its disks as they really are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<GuestDisk>,
    /// Of a guest of ours: the SPDK targets that serve disks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spdk: Vec<SpdkTarget>,
}

/// What a layer made (an array, a volume, an export, a connection), as its place tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerUp {
    /// Stacks that have it below them.
    pub stacks: Vec<String>,
    pub layer: String,
    /// Which part of it, where it has several: `target`, `host`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    pub place: Place,
    /// Its device, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// As its own tools tell it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A disk of a guest, read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestDisk {
    /// The stack that it is.
    pub stack: String,
    /// Where the guest has it.
    pub path: PathBuf,
    /// How it reaches the guest: `virtio-blk`.
    pub attach: String,
    /// Option and value as QEMU, or what serves the disk, tells them.
    pub qemu: BTreeMap<String, String>,
    pub guest: BTreeMap<String, String>,
    /// What is not as it was asked for, as clauses.
    pub differs: Vec<String>,
}

/// What the pilot chose, or what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignUp {
    /// Name of the workload.
    pub workload: String,
    /// Length of a slice's window.
    pub slice_ns: u64,
    /// Order of slices in a round.
    pub pattern: Pattern,
    /// Period of something that comes back on the machine, where it decided the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Slices of the pilot behind it; 0: no pilot.
    pub pilot_slices: u32,
    /// Where stacks take turns in series of short slices; `None`: each slice is asked for by
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesDesign>,
    pub why: String,
}

/// How stacks take turns in series of short slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesDesign {
    /// Discarded at the start of each slice, nanoseconds.
    pub discard_ns: u64,
    /// Rounds in a series. One series is one round of the statistics.
    pub rounds: u32,
}

/// Short slices of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesUp {
    pub visit: u32,
    pub set: u32,
    pub round: u32,
    /// What they were for.
    #[serde(default, skip_serializing_if = "Purpose::is_plain")]
    pub purpose: Purpose,
    /// Name of the workload.
    pub workload: String,
    /// Names of the stacks, which slices name by their places in this list.
    pub stacks: Vec<String>,
    /// Where they lie in the segment, as a histogram does.
    pub at: u64,
}

/// How the rate of a stack began in short slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransientUp {
    pub visit: u32,
    pub set: u32,
    /// Name of the workload.
    pub workload: String,
    /// Name of the stack.
    pub stack: String,
    /// Whether the load was one I/O at a time, for latencies, and not the workload itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_at_a_time: bool,
    /// Of all series of the visit together.
    pub transient: Transient,
}

/// A load that is the same on every stack, for latencies that can be compared: an open loop at one
/// rate, or a closed loop of one I/O at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matched {
    /// Name of the workload.
    pub workload: String,
    /// I/Os a second that are offered, all threads of all jobs together; `None`: a closed loop of
    /// one I/O at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Name of the slowest stack, whose rate it was taken from; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub slowest: String,
}

/// A worker on a stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerUp {
    /// Visit number, from 0.
    pub visit: u32,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Where the load runs.
    pub place: Place,
    /// Path that is read and written there.
    pub target: String,
    /// The other members of an `each([..])`, on which the same load runs at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Bytes in use of each of them.
    pub bytes: u64,
    pub engine: Generator,
    pub why: String,
    /// The exact command of a slice, for engines that are programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// The generator that loads a stack; in the record a word: `null`, `sync`, `uring` or `fio 3.33`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Generator {
    /// fio of that version.
    Fio(String),
    /// One of our engines.
    Native(EngineName),
    /// One that this version does not know.
    Other(String),
}

impl From<String> for Generator {
    fn from(word: String) -> Generator {
        match (word.strip_prefix("fio "), word.parse()) {
            (Some(version), _) => Generator::Fio(version.to_owned()),
            (None, Ok(name)) => Generator::Native(name),
            (None, Err(_)) => Generator::Other(word),
        }
    }
}

impl From<Generator> for String {
    fn from(generator: Generator) -> String {
        generator.to_string()
    }
}

impl std::fmt::Display for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Generator::Fio(version) => write!(f, "fio {version}"),
            Generator::Native(name) => write!(f, "{name}"),
            Generator::Other(word) => f.write_str(word),
        }
    }
}

/// First writes that begin: a run that is killed in the middle of them knows what it may have
/// written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayingOut {
    /// Visit number, from 0.
    pub visit: u32,
    /// Number of the set.
    pub set: u32,
    /// Name of the stack.
    pub stack: String,
    /// Where the load runs.
    pub place: Place,
    /// Bytes of all writes that are to come.
    pub bytes: u64,
}

/// First writes through a stack, in one place: part of no figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidOut {
    /// Visit number, from 0.
    pub visit: u32,
    /// Number of the set.
    pub set: u32,
    /// Name of the stack.
    pub stack: String,
    /// Where the load ran.
    pub place: Place,
    /// Bytes that are written now and were not before.
    pub bytes: u64,
    /// Bytes of all writes: more than those where some came twice.
    pub written: u64,
    /// Time from the first submission to the last acknowledgement, of all stretches together,
    /// without their flushes.
    pub took_ns: u64,
    /// Time of the flushes.
    pub flush_ns: u64,
}

/// A clock that was compared with the host's twice, which tells how fast it runs. The place was not
/// stopped in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Visit number, from 0.
    pub visit: u32,
    /// Number of the set.
    pub set: u32,
    /// Under which load; not told by runs from before 2026-11-23.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    pub place: Place,
    pub from: ClockReading,
    pub to: ClockReading,
}

/// A clock against the host's at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// When, on the host's CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Clock of the place minus clock of the host.
    pub offset_ns: i64,
    /// The round trip by which they were compared: half of it bounds the error.
    pub round_trip_ns: u64,
}

/// A clock that gains or loses more than this part of the time makes figures wrong by more than
/// their intervals say.
const MOST_APART: f64 = 0.01;

impl Clocks {
    /// Whether it is of that load, as far as it tells.
    pub fn is_of(&self, workload: &str) -> bool {
        self.workload.as_deref().is_none_or(|name| name == workload)
    }
}

impl ClockReading {
    /// The same, where it is so much that nothing timed by this clock counts, whatever the round
    /// trips explain.
    pub fn too_far_apart_since(&self, from: &ClockReading) -> Option<f64> {
        let (apart, error) = self.apart_since(from);
        (apart.abs() > MOST_APART + error).then_some(apart)
    }

    /// By how much of the time since then the clock ran faster than the host's, and the most that
    /// this is off.
    pub fn apart_since(&self, from: &ClockReading) -> (f64, f64) {
        let span_ns = self.at_ns.saturating_sub(from.at_ns).max(1) as f64;
        let error_ns = (from.round_trip_ns + self.round_trip_ns) as f64 / 2.0;
        ((self.offset_ns - from.offset_ns) as f64 / span_ns, error_ns / span_ns)
    }
}

/// How a cluster of storage was, between two slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterReading {
    /// Visit number, from 0.
    pub visit: u32,
    /// Number of the set.
    pub set: u32,
    pub workload: String,
    /// Names of the stacks on it.
    pub stacks: Vec<String>,
    /// When, on the host's CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What it reported; `None`: it did not answer.
    pub status: Option<ClusterStatus>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// The I/O that a load issued to one stack during a visit, and the I/O that the block devices below
/// it completed in that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceTraffic {
    pub visit: u32,
    pub set: u32,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// All I/O of its slices, inside and outside of their windows.
    pub issued: IssuedIo,
    /// Places with devices that report; those of the load come first.
    pub places: Vec<PlaceTraffic>,
}

/// I/O that a load issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedIo {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
}

impl IssuedIo {
    /// Adds the I/O of another count.
    pub fn add(&mut self, other: &IssuedIo) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
    }
}

/// What the devices of one place completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceTraffic {
    pub place: Place,
    /// The I/O during the slices; `at_ns` is the total time of the slices.
    pub seen: DeviceReading,
    /// The I/O between the slices, by other programs; `at_ns` is the total time between them.
    pub idle: DeviceReading,
    pub slices: u32,
    /// Number of slices in which the lowest devices completed clearly more bytes than the load
    /// issued.
    pub exceeded: u32,
}

/// Ids, window, samples of one slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Visit, from 0: one set-up of stacks that can be up together.
    pub visit: u32,
    /// The set of stacks that were up together, from 0; only stacks of one set are paired by
    /// rounds.
    #[serde(default)]
    pub set: u32,
    /// Round, from 0 within the run and workload.
    pub round: u32,
    /// Position within the round, from 0.
    pub slice: u32,
    /// What it was for; rounds count by purpose.
    #[serde(default, skip_serializing_if = "Purpose::is_plain")]
    pub purpose: Purpose,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// How many short slices of a series it is the sum of; 0: it is one slice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short_slices: u32,
    /// Start of the window on the host's CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Clock of the place minus clock of the host.
    pub clock_offset_ns: i64,
    /// Length of the window: acknowledged time.
    pub window_ns: u64,
    pub discarded_ns: u64,
    /// Completions outside the window.
    pub discarded_ios: u64,
    /// Time until the queue was empty.
    pub drain_ns: u64,
    /// I/Os that failed or came back short.
    pub errors: u64,
    pub samples: Vec<SliceSample>,
    /// CPU time of the place during the slice, without the waiting for a common start.
    pub cpu: Option<CpuTimes>,
    /// CPU time of this host during the slice, where the load runs in a guest on it: the guest's is
    /// part of it. Of short slices that of the guest's QEMU and vhost threads alone, all of it as
    /// `user_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<CpuTimes>,
    /// CPU time during the slice of places below that neither of these has in it: the other ends of
    /// fabrics, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu: Option<CpuTimes>,
    /// Of a stack that is measured in a state: in which it was after the slice, as what has the
    /// state tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Of an array that was being rebuilt then: the share of it that was done, 0 to 1. Records of
    /// before have it in `state` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<f64>,
    /// Bytes that were read meanwhile from this host's devices below the media; `None`: no device
    /// tells, or the load only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    /// What the quiesce gate saw before the slice.
    pub gate: Option<QuiesceGate>,
    /// Of several targets in one place: each, in the order of the worker's record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<OnTarget>,
    /// Of load in several places: the share of the window in which all of them ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<f64>,
    /// Of such load by bytes: the share of the window that had passed when the last of them began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    /// How often it was run again because its places did not run together; those runs are not
    /// recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_again: u32,
    /// What each of several places contributed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<SlicePart>,
}

impl Slice {
    /// The figure of that name, where it is known.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        self.samples.iter().filter(|sample| sample.metric == metric).find_map(SliceSample::figure)
    }

    /// The sum of all figures whose names end so.
    pub fn total(&self, ending: &str) -> f64 {
        self.samples
            .iter()
            .filter(|sample| sample.metric.ends_with(ending))
            .filter_map(SliceSample::figure)
            .sum()
    }
}

/// One of several places in a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlicePart {
    pub place: Place,
    /// I/Os in its window.
    pub ios: u64,
    pub bytes: u64,
    /// What of the I/Os is reads; 0 in records of before 2026-11-26.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub reads: u64,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub writes: u64,
    /// Length of its own window.
    pub window_ns: u64,
    /// Latencies of all of its I/Os, as [`SampleValue::Histogram`] finds them; `None` in records of
    /// before 2026-11-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<u64>,
    /// Of several targets there (disks of a guest): each, in the order of the worker's record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<OnTarget>,
}

/// What a slice is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The comparison at the stated depth.
    #[default]
    Plain,
    /// The same in longer slices: four times as long, or eight times in a series.
    Long,
    /// The first of a stack in a visit, for caches and pace; used for nothing.
    WarmUp,
    /// The pilot on the baseline; used for the design alone.
    Pilot,
    /// Before the others, until the pace is steady; no figure rests on it, but it fills caches.
    Precondition,
    /// The baseline with all other stacks stopped.
    Alone,
    /// The baseline beside the others, in the same rounds as `alone`.
    Beside,
    /// An open loop at the matched rate.
    Matched,
    /// What it was for, but the stack did not keep its state to the end of it; used for nothing.
    OutOfState,
}

impl Purpose {
    fn is_plain(&self) -> bool {
        *self == Purpose::Plain
    }
}

/// (metric, unit, direction, value or histogram): IOPS is one metric among others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "FlatSample")]
pub struct SliceSample {
    /// `read.ios`, `read.bytes`, `read.latency`, `write.*`, `sync.latency`, `flush`, `cpu.user`,
    /// `cpu.system` (the generator's own), `engine.cpu` (of the threads that serve the stack's I/O,
    /// [`Serving`]), `threads.cpu` (of all threads that work for the stack in short slices, by
    /// their own clocks).
    pub metric: String,
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    #[serde(flatten)]
    pub value: SampleValue,
}

impl SliceSample {
    fn figure(&self) -> Option<f64> {
        match self.value {
            SampleValue::Value(figure) => Some(figure),
            _ => None,
        }
    }
}

/// A sample as it is read: serde's `flatten` takes three times as long, and a run has millions.
#[derive(Deserialize)]
struct FlatSample {
    metric: String,
    unit: String,
    better: Better,
    value: Option<f64>,
    histogram: Option<u64>,
    failed: Option<String>,
    missing: Option<String>,
}

impl From<FlatSample> for SliceSample {
    fn from(flat: FlatSample) -> SliceSample {
        let figure =
            flat.value.map(SampleValue::Value).or(flat.histogram.map(SampleValue::Histogram));
        let words =
            || flat.failed.map(SampleValue::Failed).or(flat.missing.map(SampleValue::Missing));
        // JSON writes infinite and undefined numbers as null.
        let none = || SampleValue::Missing("no finite number".into());
        let value = figure.or_else(words).unwrap_or_else(none);
        SliceSample { metric: flat.metric, unit: flat.unit, better: flat.better, value }
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

/// A figure, or a place in the histogram segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleValue {
    Value(f64),
    /// Byte offset of a frame in `histograms.seg`.
    Histogram(u64),
    /// Tried and failed; never zero.
    Failed(String),
    /// Not there, and why.
    Missing(String),
}

/// The kind of warning that spoils a stack: its figures have failed I/Os in them.
pub const IO_ERRORS: &str = "io_errors";
/// Metric of a network probe: bytes on the wire, with the headers of Ethernet, for a byte of its
/// load.
pub const ON_WIRE: &str = "net.on_wire";

/// The kind of warning that names a place which was lost while several loaded together.
pub const LOST_PLACE: &str = "lost_place";

/// The kind of warning that names who kept the CPUs busy when a run began.
pub const BUSY: &str = "busy";

/// The kind of warning that short slices of several places ran into each other.
pub const OVERLAPS: &str = "overlaps";

/// The kind of warning that names a slice which is left out, since iotax itself was stopped
/// meanwhile.
pub const STOPPED: &str = "stopped";

/// The kind of warning that names files with holes or unwritten extents, whose reads reach no disk.
pub const UNWRITTEN: &str = "unwritten";

/// The kind of warning that names I/O that devices completed and no load issued, or the other way
/// round.
pub const TRAFFIC: &str = "traffic";

/// The kind of warning that names stacks whose loads run on different machines.
pub const MACHINES: &str = "machines";

/// Every kind of warning that a report of a run may have, in the order of docs/reading-a-report.md.
pub const WARNING_KINDS: &[&str] = &[
    "running",
    "killed",
    "torn_frames",
    "torn_histograms",
    "partial_rounds",
    IO_ERRORS,
    STOPPED,
    LOST_PLACE,
    "gate_gave_up",
    "two_regimes",
    "not_steady",
    "not_preconditioned",
    "not_level",
    "target",
    "accelerator",
    "apart",
    "cluster",
    "level",
    "clock",
    BUSY,
    "steal",
    OVERLAPS,
    "polling",
    "neighbours",
    "vcpus",
    "generator",
    "littles_law",
    "cached",
    UNWRITTEN,
    TRAFFIC,
    "faster",
    "found_data",
    "resized",
    "confounder",
    "engines",
    "sides",
    MACHINES,
    "guests",
    "first_writes",
    "settings",
    "ratings",
    "unknown_stack",
    "note",
    "not_read",
    "no_result",
    "passed_over",
    "parts",
    "snapshots",
    "failed_job",
    "slip",
    "copies",
    "copied_file",
    "tools",
];

/// A warning as typed data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable word, one of [`WARNING_KINDS`]; a record of an older iotax may have another.
    pub kind: String,
    /// What it is about: a stack, a workload, a place.
    pub subject: String,
    /// The sentence for people.
    pub text: String,
}

/// Words of the record for a workload that was measured as long as was asked.
const AS_ASKED: &[&str] = &["precision", "rate_limited", "budget", "time", "visits", "max_written"];

/// Whether a workload's end needs no further measuring.
pub fn ended_as_asked(reason: &str) -> bool {
    AS_ASKED.contains(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_gates_the_worse_counts_and_the_unknown_stays_unknown() {
        let gate = |dirty_bytes, in_flight, gave_up| QuiesceGate {
            waited_ns: 1,
            dirty_bytes,
            in_flight,
            gave_up,
        };
        let both = gate(1, Some(2), false).and(gate(2, Some(1), true));
        assert_eq!(both, QuiesceGate { waited_ns: 2, ..gate(2, Some(2), true) });
        assert_eq!(gate(0, Some(2), false).and(gate(0, None, false)).in_flight, None);
        assert_eq!(QuiesceGate::NOTHING_OWED.and(gate(0, None, false)).in_flight, None);
    }
}
