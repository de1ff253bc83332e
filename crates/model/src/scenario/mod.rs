//! The user's request: the one-line stack grammar, TOML scenarios and fio job files, all checked
//! into one [`Scenario`]. Nothing here touches the machine, except to read the named files.

pub mod article;
mod article_toml;
mod article_units;
pub mod ast;
pub mod bdev;
mod by_fio;
pub mod check;
mod claims;
mod draft;
pub mod durability;
pub mod error;
pub mod fio;
mod fio_job;
mod fio_keys;
mod fio_section;
pub mod grammar;
mod job_words;
pub mod jobfile;
pub mod limits;
pub mod measure;
mod media;
pub mod metric;
mod names;
mod operator;
pub mod place;
pub mod precondition;
pub mod probes;
pub mod profile;
pub mod published;
pub mod rating;
pub mod remote;
pub mod ruler;
pub mod slo;
pub mod stacks;
pub mod states;
pub mod sweep;
pub mod table;
mod table_wires;
pub mod toml;
pub mod tools;
mod trims;
pub mod values;
mod verify;
pub mod words;

pub use article::ArticleTable;
pub use article_toml::{TableNames, read_tables};
pub use check::BILL_DEPTHS;
pub use claims::PublishedClaim;
pub use durability::{DurabilitySpec, Kill};
use error::COMMAND_LINE;
pub use error::InputError;
pub use iotax_facts::place::is_of_the_kernel;
use job_words::subject as job_subject;
pub use job_words::{block_size_word, block_word, detail_words, order_words, rate_words};
pub use limits::LimitSearch;
pub use metric::Metric;
pub use names::last_layer_name;
pub use operator::Operator;
pub use place::LabSpec;
pub use precondition::{Precondition, SteadyLimit};
pub use published::{Published, PublishedFigure};
pub use rating::{DriveRatings, Rating};
pub use slo::{LatencyMetric, ServiceLevel};
pub use states::state_source;
pub use sweep::{Coordinate, SweepPoint};
pub use table::{TableGroup, TableSpec};

pub use iotax_facts::{Consent, Engine};

use crate::stack::{LayerSpec, Stack};
use iotax_facts::place::Place;
use iotax_facts::vm::PlaceDescription;
use iotax_load::{DataKind, Job};
use iotax_probe::ProbeSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A checked scenario: every name resolves, every unit is known, every layer exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Origin of the scenario, for messages: a path or `command line`.
    pub source: String,
    /// `name = "..."` of a scenario file.
    #[serde(default)]
    pub name: Option<String>,
    /// Paths of `[device.NAME]` and the positions at which they are written, for messages.
    #[serde(skip)]
    pub declared: Vec<(PathBuf, String)>,
    /// The compared stacks; with `bill`, the prefixes of the one stack given that can be loaded, in
    /// order.
    pub stacks: Vec<Stack>,
    /// Index of the baseline in `stacks`.
    pub baseline: usize,
    /// True if the stacks are the prefixes of one stack, and the report shows the cost of each
    /// layer.
    pub bill: bool,
    /// Loads that each stack gets, one after the other.
    pub workloads: Vec<Workload>,
    pub measure: MeasureSpec,
    /// `--destroy`: the devices that may be written.
    pub consent: Vec<Consent>,
    /// `max_written`: no drive is written more bytes than this.
    pub max_written: Option<u64>,
    /// Durability trials that replace a comparison under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Box<DurabilitySpec>>,
    /// Search for the limits of the only stack, which replaces a comparison under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Box<LimitSearch>>,
    /// Figures that somebody else published for these stacks and workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Box<Published>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Box<Rating>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableSpec>>,
    /// Tables with rows and columns of their own, which are shown when they are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub articles: Vec<ArticleTable>,
    /// Guests with emulated drives in which stacks are built, by the names of their places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labs: BTreeMap<Place, LabSpec>,
    /// Guests without a disk that stacks name as places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guests: BTreeMap<Place, LayerSpec>,
    /// Descriptions of places from the scenario: facts in the user's words, and the virtual machine
    /// that a place is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub described: BTreeMap<Place, PlaceDescription>,
    /// `--change`: the virtual machines that the run may shut down and change. The value is true if
    /// it may do so by force.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, bool>,
    /// Steps that a person performs before a stack is measured, by the name of the stack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<String, Operator>,
    /// Notes on input that was read differently from how it was written, for `plan`, the report and
    /// the log.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Scenario {
    /// Returns an empty scenario, for a run that measures nothing (an import).
    pub fn of_nothing(source: &str, name: Option<String>) -> Scenario {
        Scenario { source: source.to_owned(), name, ..Scenario::default() }
    }

    /// Returns the step that a person performs before that stack is measured.
    pub fn operator_of(&self, stack: &Stack) -> Option<&Operator> {
        operator::operator_of(&self.operators, stack)
    }

    /// Returns true if the comparison comes from the command line and from no file.
    pub fn is_of_command_line(&self) -> bool {
        self.source == COMMAND_LINE
    }

    /// Returns the beginning of a message about a path at the bottom of a stack: where the path is
    /// declared, else the stack's text, with `: ` after it. Empty for a bare medium of the command
    /// line.
    pub fn place_of(&self, stack: &Stack, path: &Path) -> String {
        match self.declared.iter().find(|(declared, _)| declared == path) {
            Some((_, place)) => format!("{place}: "),
            None if stack.layers.is_empty() && self.is_of_command_line() => String::new(),
            None => format!("{}: ", stack.text),
        }
    }

    /// Returns true if any load, or a durability trial, writes or trims.
    pub fn writes(&self) -> bool {
        self.durability.is_some() || self.workloads.iter().any(Workload::writes)
    }

    pub fn trims(&self) -> bool {
        self.workloads.iter().flat_map(|workload| &workload.jobs).any(|job| job.rw.trims())
    }

    pub fn verifies(&self) -> bool {
        self.workloads.iter().any(Workload::verifies)
    }

    /// Returns the kind of data that files and volumes are filled with before anything is measured:
    /// that of the first job that states one.
    pub fn data(&self) -> DataKind {
        let jobs = self.workloads.iter().flat_map(|workload| &workload.jobs);
        jobs.map(Job::data).find(|data| !data.is_unique()).unwrap_or_default()
    }

    /// Returns a matrix over the stacks: row i, column j is the fraction of the bytes written
    /// through stack j that reaches each drive below stack i.
    pub fn reaches(&self) -> Vec<Vec<f64>> {
        let row = |below: &Stack| {
            self.stacks.iter().map(|through| below.medium.receives(&through.medium)).collect()
        };
        self.stacks.iter().map(row).collect()
    }
}

/// Jobs that run at the same time on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name, from the job file's section or made of the job's keys (`4k-randread-qd32`).
    pub name: String,
    pub jobs: Vec<Job>,
    /// Probe of the place, which replaces jobs on the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSpec>,
    /// `engine = "..."`: null, sync, aio, uring, posixaio or fio; `None`: the properties of the
    /// target decide.
    pub engine: Option<Engine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
}

impl Workload {
    /// Returns true if any job changes the target, by writes or trims.
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.writes())
    }

    /// Returns true if any job writes data; trims alone do not count.
    pub fn writes_data(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.writes_data())
    }

    pub fn verifies(&self) -> bool {
        self.jobs.iter().any(|job| job.verify)
    }

    /// Returns the keys of a job file for which the installed fio runs this load; empty if none do.
    pub fn fio_keys(&self) -> Vec<&str> {
        let options = self.jobs.iter().flat_map(|job| &job.fio_options);
        let keys =
            iotax_units::distinct(options.map(|text| text.split('=').next().unwrap_or_default()));
        let beside = ["ioengine", "kb_base", "do_verify"];
        let only: Vec<&str> = keys.iter().copied().filter(|key| !beside.contains(key)).collect();
        if only.is_empty() { keys.into_iter().take(1).collect() } else { only }
    }

    /// Returns the subject of a verdict: `4k random reads at iodepth 32 x 4`.
    pub fn subject(&self) -> String {
        if let Some(probe) = &self.probe {
            return probes::subject(probe);
        }
        self.jobs.iter().map(|job| job_subject(job, &[])).collect::<Vec<_>>().join(" with ")
    }

    /// Returns the kind of I/O without its depth and rate: `4k random reads`.
    pub fn kind_subject(&self) -> String {
        if let Some(probe) = &self.probe {
            return probes::subject(probe);
        }
        let kind = |job| job_subject(job, &["iodepth", "numjobs", "rate_iops"]);
        self.jobs.iter().map(kind).collect::<Vec<_>>().join(" with ")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSpec {
    /// Length of a slice's window in nanoseconds; `None`: chosen by a pilot.
    #[serde(default)]
    pub slice_ns: Option<u64>,
    /// Desired half-width of the interval, a fraction (0.01).
    pub precision: f64,
    /// Largest difference, as a fraction (0.02), that a verdict calls "no difference".
    pub equivalence: f64,
    pub min_time_ns: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub min_time_given: bool,
    /// Longest time to measure a workload, in nanoseconds.
    pub budget_ns: u64,
    /// Nanoseconds for which the only stack is loaded without a pause, to show its rate over time;
    /// `None`: stacks are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_ns: Option<u64>,
    /// Number of visits if stacks cannot be up together (at least 4 for a verdict).
    pub visits: u32,
    /// Rate at which the latencies of all stacks are compared, as a fraction of the slowest
    /// stack's; 0: they are not compared.
    #[serde(default)]
    pub matched_rate: f64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub matched_rate_given: bool,
    /// Number of times that stacks that can be up together are set up and measured. With 3 or more,
    /// the interval is computed from the set-ups' results instead of the rounds'.
    #[serde(default = "default_attaches")]
    pub attaches: u32,
    pub seed: u64,
    /// Which writes verdicts are about.
    #[serde(default)]
    pub regime: Regime,
    /// Size in bytes of the largest write cache on the path that the user knows of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<u64>,
    /// How drives are preconditioned before anything is measured.
    #[serde(default, skip_serializing_if = "Precondition::is_off")]
    pub precondition: Precondition,
    /// True if the installed fio also loads the baseline, as a stack of its own, to show how the
    /// generators differ.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fio_on_baseline: bool,
    /// Percentiles that reports show in addition to p50, p99 and p99.9, in order; `p99.95` is
    /// 99.95.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Latency limits that every stack must keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevel>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// Writes as they come, into whatever cache takes them.
    #[default]
    Burst,
    /// Writes once the caches on the path are full.
    Steady,
}

impl Regime {
    pub const ALL: [Regime; 2] = [Regime::Burst, Regime::Steady];

    /// Returns the word of the regime in scenarios, verdicts and records.
    pub fn regime_word(self) -> &'static str {
        match self {
            Regime::Burst => "burst",
            Regime::Steady => "steady",
        }
    }
}

/// Returns the number of attaches in records from before there was this key.
fn default_attaches() -> u32 {
    1
}

impl Default for MeasureSpec {
    fn default() -> Self {
        MeasureSpec {
            slice_ns: None,
            precision: 0.01,
            equivalence: 0.02,
            min_time_ns: 10_000_000_000,
            min_time_given: false,
            trace_ns: None,
            budget_ns: 300_000_000_000,
            visits: 6,
            matched_rate: 0.7,
            matched_rate_given: false,
            attaches: 1,
            seed: 1,
            regime: Regime::Burst,
            write_cache: None,
            fio_on_baseline: false,
            precondition: Precondition::default(),
            percentiles: Vec::new(),
            slo: Vec::new(),
        }
    }
}
