//! The user's request: the one-line stack grammar, TOML scenarios and fio job files, all checked
//! into one [`Scenario`]. Nothing here touches the machine, except to read the named files.

pub mod ast;
pub mod bdev;
pub mod check;
mod draft;
pub mod durability;
pub mod error;
pub mod fio;
pub mod grammar;
mod job_words;
pub mod jobfile;
pub mod limits;
pub mod measure;
mod media;
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
pub mod toml;
pub mod tools;
mod trims;
pub mod values;
mod verify;
pub mod words;

pub use check::BILL_DEPTHS;
pub use durability::{DurabilitySpec, Kill};
use error::COMMAND_LINE;
pub use error::InputError;
pub use iotax_facts::place::is_of_the_kernel;
use job_words::subject as job_subject;
pub use job_words::{block_size_word, detail_words, order_words, rate_words};
pub use limits::LimitSearch;
pub use operator::Operator;
pub use place::LabSpec;
pub use precondition::{Precondition, SteadyLimit};
pub use published::{Metric, Published, PublishedFigure};
pub use rating::{DriveRatings, Rating};
pub use slo::{LatencyMetric, ServiceLevel};
pub use states::{InState, told_by};
pub use sweep::{Coordinate, SweepPoint};
pub use table::{TableGroup, TableSpec};

pub use iotax_facts::{Consent, Engine};

use crate::layer::tool::Tool;
use crate::layer::{Face, LayerRole};
use iotax_facts::place::Place;
use iotax_facts::vm::PlaceDescription;
use iotax_load::{DataKind, Job};
use iotax_probe::ProbeSpec;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// A checked scenario: every name resolves, every unit is known, every layer exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Origin of the scenario, for messages: a path or `command line`.
    pub source: String,
    /// `name = "..."` of a scenario file.
    #[serde(default)]
    pub name: Option<String>,
    /// Paths of `[device.NAME]` and the positions at which they are written, for messages.
    #[serde(skip)]
    pub declared: Vec<(PathBuf, String)>,
    /// The compared stacks; with `bill`, every prefix of the one stack given, baseline first.
    pub stacks: Vec<Stack>,
    /// Index of the baseline in `stacks`.
    pub baseline: usize,
    /// True if the stacks are the prefixes of one stack and the report has a line per layer.
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
    /// Ratings of the drives below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Box<Rating>>,
    /// Tables in which a report shows the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableSpec>>,
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
    /// Returns the scenario of a run that measures nothing.
    pub fn of_nothing(source: &str, name: Option<String>) -> Scenario {
        Scenario {
            source: source.to_owned(),
            name,
            declared: Vec::new(),
            stacks: Vec::new(),
            baseline: 0,
            bill: false,
            workloads: Vec::new(),
            measure: MeasureSpec::default(),
            consent: Vec::new(),
            max_written: None,
            durability: None,
            limits: None,
            published: None,
            rating: None,
            table: None,
            labs: BTreeMap::new(),
            guests: BTreeMap::new(),
            described: BTreeMap::new(),
            operators: BTreeMap::new(),
            changes: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the step that a person performs before that stack is measured.
    pub fn operator_of(&self, stack: &Stack) -> Option<&Operator> {
        operator::operator_of(&self.operators, stack)
    }

    /// Returns true if the comparison comes from the command line and from no file.
    pub fn is_of_command_line(&self) -> bool {
        self.source == COMMAND_LINE
    }

    /// Returns the position at which a path at the bottom of a stack is written, with the colon
    /// after it.
    pub fn place_of(&self, stack: &Stack, path: &Path) -> String {
        match self.declared.iter().find(|(declared, _)| declared == path) {
            Some((_, place)) => format!("{place}: "),
            None if stack.layers.is_empty() && self.is_of_command_line() => String::new(),
            None => format!("{}: ", stack.text),
        }
    }

    /// Returns true if any load writes; durability trials do.
    pub fn writes(&self) -> bool {
        self.durability.is_some() || self.workloads.iter().any(Workload::writes)
    }

    /// Returns true if any load trims.
    pub fn trims(&self) -> bool {
        self.workloads.iter().flat_map(|workload| &workload.jobs).any(|job| job.rw.trims())
    }

    /// Returns true if any load reads back what it wrote.
    pub fn verifies(&self) -> bool {
        self.workloads.iter().any(Workload::verifies)
    }

    /// Returns the kind of data that files and volumes are filled with before anything is measured:
    /// that of the first job that states one.
    pub fn data(&self) -> DataKind {
        let jobs = self.workloads.iter().flat_map(|workload| &workload.jobs);
        jobs.map(Job::data).find(|data| !data.is_unique()).unwrap_or_default()
    }

    /// Returns, for each stack, how much of a byte written through each of the stacks reaches each
    /// drive below it.
    pub fn reaches(&self) -> Vec<Vec<f64>> {
        let row = |below: &Stack| {
            self.stacks.iter().map(|through| below.medium.receives(&through.medium)).collect()
        };
        self.stacks.iter().map(row).collect()
    }
}

/// Returns the place of whatever is set up in a guest whose name only a plan knows.
pub fn in_guest() -> Place {
    Place::Guest("in the guest".into())
}

/// A stack from its medium up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Short unique name used in tables: the last layer, or the name given in TOML.
    pub name: String,
    /// Canonical one-line form of the stack.
    pub text: String,
    pub medium: Medium,
    /// The layers from the bottom up.
    pub layers: Vec<LayerSpec>,
    /// `own = true`: no prefix is shared with another stack.
    pub own: bool,
    /// State in which the stack is measured, if the scenario names states and the stack has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InState>,
}

impl Stack {
    /// Returns true if `word` is the name or the text of the stack.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.text == word
    }

    /// Returns the layers, each with the place of what is below it.
    pub fn layers_in_places(&self) -> impl Iterator<Item = (&LayerSpec, Place)> {
        let mut place = self.medium.place();
        self.layers.iter().map(move |layer| {
            let near = place.clone();
            place = match &layer.far {
                Some(far) => far.clone(),
                None if layer.is(LayerRole::Guest) => in_guest(),
                None => near.clone(),
            };
            (layer, near)
        })
    }

    /// Returns all places that the stack has a part in.
    pub fn places(&self) -> BTreeSet<Place> {
        let far = self.layers.iter().filter_map(|layer| layer.far.clone());
        let ends = self.medium.members().iter().filter_map(Medium::far_end).cloned();
        self.medium.places().into_iter().chain(far).chain(ends).collect()
    }

    /// Returns true if the stack goes through states, in which members are rewritten even if no
    /// load writes.
    pub fn may_be_rebuilt(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the number of guests side by side in which the load runs; 1 if there is no guest.
    pub fn guests(&self) -> u32 {
        self.layers.iter().map(|layer| layer.copies).max().unwrap_or(1)
    }

    /// Returns the number of places that load the stack at once: guests, or the hosts and labs of
    /// its members.
    pub fn clients(&self) -> u32 {
        self.guests() * self.medium.places().len().max(1) as u32
    }

    /// Returns true if the stack differs from `other`, which loads more places, only in the number
    /// of guests or in which of its places load.
    pub fn is_but_for_copies(&self, other: &Stack) -> bool {
        // An option that is written as its default is the default.
        let same = |(a, b): (&LayerSpec, &LayerSpec)| {
            (&a.name, &a.place, &a.far) == (&b.name, &b.place, &b.far)
                && a.options
                    .keys()
                    .chain(b.options.keys())
                    .all(|name| a.option(name) == b.option(name))
        };
        let of_its_places = || {
            let ours = self.medium.places();
            let theirs =
                other.medium.members().iter().filter(|member| ours.contains(&member.place()));
            theirs.eq(self.medium.members())
        };
        (self.medium == other.medium || of_its_places())
            && self.layers.len() == other.layers.len()
            && self.layers.iter().zip(&other.layers).all(same)
    }
}

/// Location that two media on one file or device have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location<'a> {
    /// A path on this host, or on the named one.
    Path(Option<&'a str>, &'a Path),
    /// An emulated drive of a guest: the guest, and the drive's name there.
    Drive(&'a Place, &'a str),
    /// A Ceph image: the configuration of its cluster, its pool and its name.
    Rbd(&'a Path, &'a str, &'a str),
}

/// The bottom of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "medium", rename_all = "lowercase")]
pub enum Medium {
    /// `file:/srv/x.img,size=4GiB`: created new, or reused with our marker in it.
    File {
        path: PathBuf,
        /// Bytes; `None`: the existing file's own size.
        size: Option<u64>,
        /// `keep=true`: not removed after the run.
        keep: bool,
    },
    /// `/dev/nvme1n1` on this host.
    Device { path: PathBuf },
    /// `ssh:host1:/dev/vdb`: a device of another machine, or a file there.
    Remote {
        /// Destination as given to ssh (`user@host`, an alias of ssh's config).
        host: String,
        /// Absolute path there, a device or a file.
        path: PathBuf,
        /// Bytes; `None`: the existing file's own size.
        size: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
        /// Program that issues the load there.
        #[serde(default, skip_serializing_if = "LoadIssuer::is_iotax")]
        agent: LoadIssuer,
    },
    /// `nvme0 @lab`: an emulated drive of a guest of the run.
    Drive {
        place: Place,
        /// Name of the drive there, which is also its serial number.
        name: String,
    },
    /// `rbd:POOL/IMAGE@CONF`: an image of a Ceph cluster. Neither was made by iotax.
    Rbd {
        pool: String,
        image: String,
        /// Configuration by which the cluster is reached.
        conf: PathBuf,
    },
    /// `cpu`, `cpu @ssh:HOST`: a place without a device, for probes.
    Cpu { place: Place },
    /// `net:ssh:b @ssh:a`: the network from one place, where probes run, to another, which answers.
    Net {
        place: Place,
        /// Place in which the probes are answered.
        to: Place,
        /// `address=10.0.0.2`: the address of that place to use; `None`: the first one that is
        /// reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        /// `port=5201`; `None`: a free port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// `vhost-user:/run/x.sock`: a disk that another process serves to a guest.
    #[serde(rename = "vhost-user")]
    VhostUser { path: PathBuf },
    /// `[a,b,c]`: several media for a layer that joins them. Without such a layer, `each([a,b,c])`:
    /// the same load on all of them at once.
    Many {
        /// At least one, all in one place, or on hosts over SSH if nothing joins them.
        members: Vec<Medium>,
        /// Number of lists of equal length into which the members are divided, one after the other.
        /// Each list is joined separately.
        #[serde(default = "one_group", skip_serializing_if = "is_one_group")]
        groups: usize,
    },
}

fn one_group() -> usize {
    1
}

fn is_one_group(groups: &usize) -> bool {
    *groups == 1
}

impl Medium {
    /// Returns the number of lists in which the members are joined, each list separately.
    pub fn groups(&self) -> usize {
        match self {
            Medium::Many { groups, .. } => (*groups).max(1),
            _ => 1,
        }
    }

    /// Returns the media that this one is made of; a single medium returns itself.
    pub fn members(&self) -> &[Medium] {
        match self {
            Medium::Many { members, .. } => members,
            one => std::slice::from_ref(one),
        }
    }

    fn members_mut(&mut self) -> &mut [Medium] {
        match self {
            Medium::Many { members, .. } => members,
            one => std::slice::from_mut(one),
        }
    }

    /// Returns the SSH host of the medium, or of its first member; `None`: this host.
    pub fn host(&self) -> Option<&str> {
        match self.members().first()? {
            Medium::Remote { host, .. } => Some(host),
            Medium::Cpu { place } | Medium::Net { place, .. } => place.ssh_host(),
            _ => None,
        }
    }

    /// Returns the place of the medium, or of its first member: `host`, a guest of the run, or
    /// `ssh:HOST`.
    pub fn place(&self) -> Place {
        match self.members().first() {
            Some(Medium::Remote { host, .. }) => Place::Ssh(host.clone()),
            Some(
                Medium::Drive { place, .. } | Medium::Cpu { place } | Medium::Net { place, .. },
            ) => place.clone(),
            _ => Place::Host,
        }
    }

    /// Returns the place at the other end of a network.
    pub fn far_end(&self) -> Option<&Place> {
        match self {
            Medium::Net { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Returns the places of all members.
    pub fn places(&self) -> BTreeSet<Place> {
        self.members().iter().map(Medium::place).collect()
    }

    /// Returns the program that issues the load on the medium.
    pub fn agent(&self) -> LoadIssuer {
        match self.members().first() {
            Some(Medium::Remote { agent, .. }) => *agent,
            _ => LoadIssuer::Iotax,
        }
    }

    /// Returns the locations of the members. Media that have one of these in common overlap.
    pub fn locations(&self) -> impl Iterator<Item = Location<'_>> {
        self.members().iter().filter_map(Medium::location)
    }

    /// Returns the location of a medium without members, whatever its options.
    fn location(&self) -> Option<Location<'_>> {
        match self {
            Medium::File { path, .. } | Medium::Device { path } | Medium::VhostUser { path } => {
                Some(Location::Path(None, path))
            }
            Medium::Remote { host, path, .. } => Some(Location::Path(Some(host), path)),
            Medium::Drive { place, name } => Some(Location::Drive(place, name)),
            Medium::Rbd { pool, image, conf } => Some(Location::Rbd(conf, pool, image)),
            Medium::Cpu { .. } | Medium::Net { .. } | Medium::Many { .. } => None,
        }
    }

    /// Returns true if both are at one path of one place, whatever their options.
    fn is_at(&self, other: &Medium) -> bool {
        self.location().is_some_and(|location| other.location() == Some(location))
    }

    /// Returns how much of a byte written through `other` reaches each drive below this one: all of
    /// it if both are the same file or device, or files in one folder. It is divided if one of them
    /// has several members. A medium elsewhere counts as another drive, so that no drive is thought
    /// fuller than it is.
    pub fn receives(&self, other: &Medium) -> f64 {
        let (ours, theirs) = (self.members(), other.members());
        let beside = |one: &Medium| theirs.iter().filter(|other| one.is_on_drive_of(other)).count();
        // The member that gets least: all members must get past their caches.
        let least = ours.iter().map(beside).min().unwrap_or(0);
        least as f64 / theirs.len().max(1) as f64
    }

    fn is_on_drive_of(&self, other: &Medium) -> bool {
        let folder = |medium: &Medium| match medium {
            Medium::File { path, .. } => path.parent().map(Path::to_owned),
            _ => None,
        };
        self.is_at(other) || (folder(self).is_some() && folder(self) == folder(other))
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Medium::File { path, .. } | Medium::Device { path } | Medium::Remote { path, .. } => {
                Some(path)
            }
            Medium::Drive { .. }
            | Medium::Cpu { .. }
            | Medium::Net { .. }
            | Medium::VhostUser { .. }
            | Medium::Rbd { .. }
            | Medium::Many { .. } => None,
        }
    }

    /// Returns the name that a consent to write the medium uses, if no kernel has it and it thus
    /// has no serial.
    pub fn foreign_name(&self) -> Option<String> {
        match self {
            Medium::Rbd { pool, image, .. } => Some(format!("rbd:{pool}/{image}")),
            Medium::VhostUser { path } => Some(format!("vhost-user:{}", path.display())),
            _ => None,
        }
    }

    /// Returns what the medium offers to the layer above.
    pub fn face(&self) -> Face {
        match self {
            Medium::File { .. } => Face::File,
            Medium::Rbd { .. } => Face::Rbd,
            Medium::VhostUser { .. } => Face::VhostUser,
            Medium::Cpu { .. } | Medium::Net { .. } => Face::Place,
            _ => Face::Block,
        }
    }
}

/// Path at which Ceph's own tools find the configuration of the cluster that a machine is a client
/// of.
pub const USUAL_CEPH_CONF: &str = "/etc/ceph/ceph.conf";

/// Program that issues the load in a place over SSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadIssuer {
    /// The iotax binary, copied there.
    #[default]
    Iotax,
    /// The fio that is installed there: `agent=fio`.
    Fio,
}

impl LoadIssuer {
    fn is_iotax(&self) -> bool {
        *self == LoadIssuer::Iotax
    }
}

/// A layer with its checked options as words, ready for the layer's own `build`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerSpec {
    /// Name of the layer in `layer::ALL`.
    pub name: String,
    /// Options by name. The layer's table of options says which exist and of which kind they are.
    pub options: BTreeMap<String, String>,
    /// `@PLACE`; `None`: the place of the layer below.
    pub place: Option<Place>,
    /// `@A>PLACE`: the place of the far end of a layer with two ends; `None`: the same place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<Place>,
    /// `x4`: number of copies side by side, each on an equal part of what is below.
    #[serde(default = "default_attaches", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// Description of the layer, if it is not one of iotax's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<Tool>>,
    /// File, line and key, or the position in the one-line stack, for messages.
    pub origin: String,
}

impl LayerSpec {
    /// Returns the key of the instance that the layer makes. Layers with equal keys on the same
    /// thing below can share one instance.
    pub fn key(&self) -> String {
        format!("{}{:?}{:?}{:?}{}", self.name, self.options, self.place, self.far, self.copies)
    }

    /// Returns the places that the layer names.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.place, &self.far].into_iter().flatten()
    }
}

fn is_one(copies: &u32) -> bool {
    *copies == 1
}

/// Jobs that run at the same time on one stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name, from the job file's section or made of the load's words (`4k-randread-qd32`).
    pub name: String,
    pub jobs: Vec<Job>,
    /// Probe of the place, which replaces jobs on the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSpec>,
    /// `engine = "..."`: null, sync, aio, uring, posixaio or fio; `None`: the properties of the
    /// target decide.
    pub engine: Option<Engine>,
    /// Point of a sweep that the workload is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
}

impl Workload {
    /// Returns true if any job changes the target, by writes or trims.
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.writes())
    }

    /// Returns true if any job reads back what it wrote.
    pub fn verifies(&self) -> bool {
        self.jobs.iter().any(|job| job.verify)
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

/// Duration and precision of measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSpec {
    /// Length of a slice's window in nanoseconds; `None`: chosen by a pilot.
    #[serde(default)]
    pub slice_ns: Option<u64>,
    /// Desired half-width of the interval, a fraction (0.01).
    pub precision: f64,
    /// Zone within which a verdict may be "no difference", a fraction (0.02).
    pub equivalence: f64,
    /// Shortest time to measure a workload, in nanoseconds.
    pub min_time_ns: u64,
    /// True if the user chose that time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub min_time_given: bool,
    /// Longest time to measure a workload, in nanoseconds.
    pub budget_ns: u64,
    /// Number of visits if stacks cannot be up together (at least 4 for a verdict).
    pub visits: u32,
    /// Fraction of the slowest stack's rate at which latencies are compared; 0: they are not
    /// compared.
    #[serde(default)]
    pub matched_rate: f64,
    /// True if the user chose that fraction.
    #[serde(default, skip_serializing_if = "is_false")]
    pub matched_rate_given: bool,
    /// Number of set-ups over which stacks that can be up together are measured. With 3 or more,
    /// set-ups are the unit of the interval.
    #[serde(default = "default_attaches")]
    pub attaches: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Regime that verdicts on writes refer to.
    #[serde(default)]
    pub regime: Regime,
    /// Size in bytes of the largest write cache on the path that the user knows of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<u64>,
    /// Treatment of the drives before anything is measured.
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

/// Regime that a verdict on writes refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// Writes as they come, into whatever cache takes them.
    #[default]
    Burst,
    /// Writes after the caches on the path are full.
    Steady,
}

impl Regime {
    pub const ALL: [Regime; 2] = [Regime::Burst, Regime::Steady];

    /// Returns the word of the regime in scenarios, verdicts and records.
    pub fn word(self) -> &'static str {
        match self {
            Regime::Burst => "burst",
            Regime::Steady => "steady",
        }
    }
}

/// Returns the number of attaches of runs that were recorded before attaches existed.
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
