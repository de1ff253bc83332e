//! Records of a run (docs/result-format.md). Every line of the index is one of these.

pub mod course;
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
    /// A layer is set up, in the first visit of its set: what its place reports of it.
    #[serde(rename = "volume")]
    Layer(LayerUp),
    Serving(Serving),
    /// A load generator was prepared on a stack.
    Worker(WorkerUp),
    /// Design of a workload's measurement: length and order of its slices.
    Design(DesignUp),
    Matched(Matched),
    /// Stacks that are up disturb the baseline, so each is measured by itself from here on, in
    /// visits.
    Apart {
        reason: String,
    },
    LayingOut(LayingOut),
    LaidOut(LaidOut),
    Passes(precondition::Passes),
    Preconditioned(precondition::Preconditioned),
    Clocks(Clocks),
    Cluster(ClusterReading),
    /// Load on one stack: a slice, or the sum of its slices in a series.
    Slice(Slice),
    Series(SeriesUp),
    Transient(TransientUp),
    DeviceTraffic(DeviceTraffic),
    /// A durability trial: the acknowledged writes, a kill, and what was found of the writes.
    Trial(trial::DurabilityTrial),
    PathLimits(course::PathLimits),
    /// A course of load, in which a limit may show.
    Course(course::LimitCourse),
    Verified(verification::Verification),
    /// A file that results were imported from.
    ImportedFile(imported::ImportedFile),
    Imported(imported::ImportedResult),
    Warning(Warning),
    /// The run went on after a kill or a reboot.
    Resumed {
        at: String,
    },
    /// A workload was measured to its end in a visit of a set.
    VisitEnd {
        visit: u32,
        set: u32,
        workload: String,
    },
    WorkloadEnd {
        workload: String,
        /// `precision`, `rate_limited`, `budget`, `time`, `visits`, `max_written`, `interrupted`,
        /// or the message of a failure.
        reason: String,
    },
    /// Last line of a run; a run that is killed has none.
    End {
        at: String,
        /// `complete`, `interrupted`, or the message of a failure or of what the run waits for
        /// ([`state`]).
        outcome: String,
    },
}

/// Threads of a place that serve the I/O of a stack but do not generate its load. The stack's
/// slices record their CPU time as `engine.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    pub stack: String,
    pub place: Place,
    pub threads: Vec<ThreadGroup>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadGroup {
    pub name: String,
    pub count: u32,
    /// The threads poll, so each of them takes a core even when it has nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub polls: bool,
    /// The threads do only a part of their work. The threads that hand I/O to them do the rest.
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

/// Request of a run, and the program that runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// Id of the run, also the name of its folder.
    pub id: String,
    pub at: String,
    pub iotax: String,
    pub argv: Vec<String>,
    pub scenario: Scenario,
    pub boot_id: String,
    /// Number of equal files among which the stacks rotate from visit to visit: visits whose
    /// numbers differ by a multiple of this use the same files. 0 if not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub siblings: u32,
    /// Known write caches on the paths of the stacks, the largest first. Empty if no load writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_caches: Vec<WriteCache>,
    /// Texts of the files named with `--ratings`. Later files override earlier ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<imported::Import>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceFacts {
    /// `host`, a guest's name, `ssh:HOST`.
    pub place: Place,
    pub facts: Facts,
    /// Reason why the place's figures are not representative, such as an emulated CPU (TCG) or
    /// emulated drives. `None`: they are.
    pub emulated: Option<String>,
    /// Exact command lines of the processes (QEMU) that are the place, if iotax started it.
    pub commands: Vec<Vec<String>>,
    /// Disks of a guest that iotax made, as QEMU and the guest report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<GuestDisk>,
    /// SPDK targets that serve disks of a guest that iotax made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spdk: Vec<SpdkTarget>,
}

/// Result of setting up a layer (an array, a volume, an export, a connection), as its place reports
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerUp {
    /// Names of the stacks that contain the layer.
    pub stacks: Vec<String>,
    pub layer: String,
    /// Part of the layer, if it has several: `target`, `host`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    pub place: Place,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Settings as the layer's own tools report them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A guest's disk, as QEMU and the guest report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestDisk {
    /// Name of the stack whose storage the disk is.
    pub stack: String,
    pub path: PathBuf,
    /// Attachment of the disk to the guest: `virtio-blk`.
    pub attach: String,
    /// Options and values as QEMU, or the process that serves the disk, reports them.
    pub qemu: BTreeMap<String, String>,
    pub guest: BTreeMap<String, String>,
    /// Clauses that say where the disk differs from what was requested.
    pub differs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignUp {
    pub workload: String,
    pub slice_ns: u64,
    pub pattern: Pattern,
    /// Period of a recurring disturbance on the machine, if it decided the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Number of slices of the pilot that led to the design; 0: no pilot.
    pub pilot_slices: u32,
    /// Design of the series of short slices in which stacks take turns; `None`: each slice is
    /// requested separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesDesign>,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesDesign {
    pub discard_ns: u64,
    /// Rounds in a series. One series is one round of the statistics.
    pub rounds: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesUp {
    pub visit: u32,
    pub set: u32,
    pub round: u32,
    #[serde(default, skip_serializing_if = "Purpose::is_plain")]
    pub purpose: Purpose,
    pub workload: String,
    /// Names of the stacks. Slices refer to them by their index in this list.
    pub stacks: Vec<String>,
    /// Offset of the short slices in the run's segment file.
    pub at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransientUp {
    pub visit: u32,
    pub set: u32,
    pub workload: String,
    pub stack: String,
    /// True if the load was one I/O at a time, for latencies, and not the workload itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_at_a_time: bool,
    /// How the load's rate settles after a switch to the stack, over all series of the visit.
    pub transient: Transient,
}

/// A load that is equal on every stack, so that latencies can be compared: an open loop at one
/// rate, or a closed loop of one I/O at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matched {
    pub workload: String,
    /// Offered I/Os per second, all threads of all jobs together; `None`: a closed loop of one I/O
    /// at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Name of the slowest stack, from which the rate was derived, or an empty text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub slowest: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerUp {
    pub visit: u32,
    pub stack: String,
    pub workload: String,
    pub place: Place,
    pub target: String,
    /// Other members of an `each([..])`, on which the load runs at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Bytes in use on each of the targets.
    pub bytes: u64,
    pub engine: Generator,
    pub why: String,
    /// Exact command of a slice, for engines that are programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// Load generator of a stack; recorded as a word: `null`, `sync`, `uring` or `fio 3.33`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Generator {
    Fio(String),
    Native(EngineName),
    /// A generator that this version does not know.
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

/// Note before first writes begin. If the run is killed during them, a resumed run knows how much
/// may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayingOut {
    pub visit: u32,
    pub set: u32,
    pub stack: String,
    pub place: Place,
    /// Bytes that these first writes will write.
    pub bytes: u64,
}

/// First writes through a stack in one place. They are part of no figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidOut {
    pub visit: u32,
    pub set: u32,
    pub stack: String,
    pub place: Place,
    /// Bytes that were unwritten before and are written now.
    pub bytes: u64,
    /// Bytes of all writes. Exceeds `bytes` if some of them were written twice.
    pub written: u64,
    /// Time from the first submission to the last acknowledgement, summed over all stretches,
    /// without their flushes.
    pub took_ns: u64,
    pub flush_ns: u64,
}

/// Two comparisons of a place's clock with the host's, which show how fast the clock runs. The
/// place was not stopped in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    pub visit: u32,
    pub set: u32,
    /// Name of the workload; runs from before 2026-11-23 do not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    pub place: Place,
    pub from: ClockReading,
    pub to: ClockReading,
}

/// Offset of a clock from the host's at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Time of the reading on the host's CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Clock of the place minus clock of the host, in nanoseconds.
    pub offset_ns: i64,
    /// Round trip of the comparison. Half of it bounds the error.
    pub round_trip_ns: u64,
}

/// Drift, as a fraction of the time that passed, above which figures timed by a clock are more
/// wrong than their intervals say.
const MOST_APART: f64 = 0.01;

impl Clocks {
    /// Returns true if the clocks were read while that workload ran, or if the record names no
    /// workload.
    pub fn is_of(&self, workload: &str) -> bool {
        self.workload.as_deref().is_none_or(|name| name == workload)
    }
}

impl ClockReading {
    /// Returns the drift since `from` ([`Self::apart_since`]) if it is too large to use what this
    /// clock timed, even after the error of the round trips is subtracted. `None`: the clock is
    /// good enough.
    pub fn too_far_apart_since(&self, from: &ClockReading) -> Option<f64> {
        let (apart, error) = self.apart_since(from);
        (apart.abs() > MOST_APART + error).then_some(apart)
    }

    /// Returns the drift since `from`: the fraction of the time by which the clock ran faster than
    /// the host's, and the largest error of that fraction.
    pub fn apart_since(&self, from: &ClockReading) -> (f64, f64) {
        let span_ns = self.at_ns.saturating_sub(from.at_ns).max(1) as f64;
        let error_ns = (from.round_trip_ns + self.round_trip_ns) as f64 / 2.0;
        ((self.offset_ns - from.offset_ns) as f64 / span_ns, error_ns / span_ns)
    }
}

/// State of a storage cluster between two slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterReading {
    pub visit: u32,
    pub set: u32,
    pub workload: String,
    pub stacks: Vec<String>,
    /// Time of the reading on the host's CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Status that the cluster reported; `None`: it did not answer.
    pub status: Option<ClusterStatus>,
    /// Reason why the cluster did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// The I/O that a load issued to one stack during a visit, and the I/O that the block devices below
/// the stack completed in that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceTraffic {
    pub visit: u32,
    pub set: u32,
    pub stack: String,
    pub workload: String,
    /// All I/O that the load issued in the visit's slices of this stack, inside and outside of
    /// their windows.
    pub issued: IssuedIo,
    /// Places whose devices report their I/O; the places of the load come first.
    pub places: Vec<PlaceTraffic>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedIo {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
}

impl IssuedIo {
    pub fn add(&mut self, other: &IssuedIo) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
    }
}

/// I/O that the devices of one place completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceTraffic {
    pub place: Place,
    /// The I/O during the slices; `at_ns` is the total time of the slices.
    pub seen: DeviceReading,
    /// The I/O between the slices, by other programs; `at_ns` is the total time between them.
    pub idle: DeviceReading,
    pub slices: u32,
    /// Number of slices in which the lowest devices of the path completed clearly more bytes than
    /// the load issued.
    pub exceeded: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Visit number, from 0. A visit is one set-up of stacks that can be up together.
    pub visit: u32,
    /// Number, from 0, of the set of stacks that were up together. Only stacks of one set are
    /// paired in rounds.
    #[serde(default)]
    pub set: u32,
    /// Round, from 0 within the run and workload.
    pub round: u32,
    /// Position within the round, from 0.
    pub slice: u32,
    /// Purpose of the slice; rounds are counted per purpose.
    #[serde(default, skip_serializing_if = "Purpose::is_plain")]
    pub purpose: Purpose,
    pub stack: String,
    pub workload: String,
    /// Number of short slices of a series that this one is the sum of; 0: it is a single slice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short_slices: u32,
    /// Start of the window on the host's CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Clock of the place minus clock of the host, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Length of the window, in which acknowledged I/Os count.
    pub window_ns: u64,
    pub discarded_ns: u64,
    /// Completions outside the window.
    pub discarded_ios: u64,
    /// Time from the end of the window until the queue was empty.
    pub drain_ns: u64,
    /// I/Os that failed or came back short.
    pub errors: u64,
    pub samples: Vec<SliceSample>,
    /// CPU time of the place during the slice. The wait for a common start is not included.
    pub cpu: Option<CpuTimes>,
    /// CPU time of this host during the slice, if the load runs in a guest on it, the guest's own
    /// included. In short slices it is the time of the guest's QEMU and vhost threads alone, all of
    /// it as `user_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<CpuTimes>,
    /// CPU time during the slice of further places on the stack's path (the other ends of fabrics),
    /// summed. The other two fields do not include it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu: Option<CpuTimes>,
    /// State of the stack after the slice, if it is measured in a state, as reported by the layer
    /// that has the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Fraction of an array's rebuild that was done, 0 to 1, if the array was being rebuilt. Older
    /// records have it in `state` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<f64>,
    /// Bytes that were read during the slice from this host's devices below the media; `None`: no
    /// device reports them, or the load only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    pub gate: Option<QuiesceGate>,
    /// Figures of each target, if one place has several, in the order of the worker's record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<OnTarget>,
    /// Fraction of the window in which all places ran at once, if several places load the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<f64>,
    /// Fraction of the window that had passed when the last place began, if each of several places
    /// loads a fixed number of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    /// Number of earlier attempts at the slice that were discarded, because its places did not run
    /// together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_again: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<SlicePart>,
}

impl Slice {
    pub fn figure(&self, metric: &str) -> Option<f64> {
        self.samples
            .iter()
            .filter(|sample| sample.metric == metric)
            .find_map(SliceSample::metric_value)
    }

    /// Returns the sum of all figures whose metric names end with `ending`.
    pub fn total(&self, ending: &str) -> f64 {
        self.samples
            .iter()
            .filter(|sample| sample.metric.ends_with(ending))
            .filter_map(SliceSample::metric_value)
            .sum()
    }
}

/// What one of several places contributed to a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlicePart {
    pub place: Place,
    /// I/Os in the window of this place.
    pub ios: u64,
    pub bytes: u64,
    /// Number of the I/Os that are reads; 0 in records from before 2026-11-26.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub reads: u64,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub writes: u64,
    /// Length of the place's own window.
    pub window_ns: u64,
    /// Offset of the place's histogram of all latencies, as in [`SampleValue::Histogram`]; `None`
    /// in records from before 2026-11-26.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<u64>,
    /// Figures of each target there (disks of a guest), if there are several, in the order of the
    /// worker's record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<OnTarget>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Slice of the comparison itself, under the workload as the scenario describes it.
    #[default]
    Plain,
    /// Slice of the same comparison that is longer: four times as long, or eight times in a series.
    Long,
    /// First slice of a stack in a visit, which fills caches and lets the rate settle; no figure
    /// uses it.
    WarmUp,
    /// Slice of the pilot on the baseline; only the design uses it.
    Pilot,
    /// Slice before all others, repeated until the rate is steady. No figure uses it, but it fills
    /// caches.
    Precondition,
    /// Slice of the baseline while the guests of all other stacks are stopped.
    Alone,
    /// Slice of the baseline while the other stacks are up and idle, in the same rounds as `alone`.
    Beside,
    /// Slice under the [`Matched`] load, for latencies.
    Matched,
    /// Slice of any other purpose, before the end of which the stack left the state that it is
    /// measured in; no figure uses it.
    OutOfState,
}

impl Purpose {
    fn is_plain(&self) -> bool {
        *self == Purpose::Plain
    }
}

/// One figure of a slice: metric, unit, which direction is better, and a value or histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "FlatSample")]
pub struct SliceSample {
    /// Name of the metric: `read.ios`, `read.bytes`, `read.latency`, `write.*`, `sync.latency`,
    /// `flush`, `cpu.user`, `cpu.system` (the generator's own), `engine.cpu` (of the threads that
    /// serve the stack's I/O, [`Serving`]), `threads.cpu` (of all threads that work for the stack
    /// in short slices, by their own clocks).
    pub metric: String,
    pub unit: String,
    pub better: Better,
    #[serde(flatten)]
    pub value: SampleValue,
}

impl SliceSample {
    pub fn new(metric: &str, unit: &str, better: Better, value: SampleValue) -> SliceSample {
        SliceSample { metric: metric.to_owned(), unit: unit.to_owned(), better, value }
    }
}

impl SliceSample {
    fn metric_value(&self) -> Option<f64> {
        match self.value {
            SampleValue::Value(figure) => Some(figure),
            _ => None,
        }
    }
}

/// Form in which samples are read. serde's `flatten` takes three times as long, and a run has
/// millions of samples.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

/// Value of a sample, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleValue {
    Value(f64),
    /// Byte offset of a frame in `histograms.seg`.
    Histogram(u64),
    /// The measurement failed, for the given reason; never recorded as zero.
    Failed(String),
    /// There is no value, for the given reason.
    Missing(String),
}

/// Kind of the warning that I/Os of a stack failed; the stack then counts as failed.
pub const IO_ERRORS: &str = "io_errors";
/// Metric of a network probe: bytes on the wire, Ethernet headers included, per byte of payload.
pub const ON_WIRE: &str = "net.on_wire";

/// Kind of the warning that names a place that was lost while several places loaded together.
pub const LOST_PLACE: &str = "lost_place";

/// Kind of the warning that names the processes that kept the CPUs busy when a run began.
pub const BUSY: &str = "busy";

/// Kind of the warning that short slices of several places overlapped.
pub const OVERLAPS: &str = "overlaps";

/// Kind of the warning that names a slice that is left out because iotax itself was stopped during
/// it.
pub const STOPPED: &str = "stopped";

/// Kind of the warning that names files with holes or unwritten extents, whose reads reach no disk.
pub const UNWRITTEN: &str = "unwritten";

/// Kind of the warning that devices completed I/O that no load issued, or the reverse.
pub const TRAFFIC: &str = "traffic";

/// Kind of the warning that names stacks whose loads run on different machines.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable word, one of [`WARNING_KINDS`]; a record of an older iotax may have another.
    pub kind: String,
    /// Stack, workload or place that the warning is about.
    pub subject: String,
    /// The warning as a sentence.
    pub text: String,
}

/// Reasons of [`RunRecord::WorkloadEnd`] with which a workload was measured for as long as
/// requested.
const AS_ASKED: &[&str] = &["precision", "rate_limited", "budget", "time", "visits", "max_written"];

/// Returns true if a workload that ended for that reason was measured for as long as requested.
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
        let both = gate(1, Some(2), false).combine_gates(gate(2, Some(1), true));
        assert_eq!(both, QuiesceGate { waited_ns: 2, ..gate(2, Some(2), true) });
        assert_eq!(gate(0, Some(2), false).combine_gates(gate(0, None, false)).in_flight, None);
        assert_eq!(QuiesceGate::NOTHING_OWED.combine_gates(gate(0, None, false)).in_flight, None);
    }
}
