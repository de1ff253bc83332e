//! What the user asked for: the one-line stack grammar, TOML scenarios and job files of fio, all
//! checked into one [`Scenario`]. Nothing here touches the machine, but for reading the files
//! named.

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
    /// Where it came from, for messages: a path or `command line`.
    pub source: String,
    /// `name = "..."` of a scenario file.
    #[serde(default)]
    pub name: Option<String>,
    /// Paths of `[device.NAME]` and where they are written, for messages.
    #[serde(skip)]
    pub declared: Vec<(PathBuf, String)>,
    /// The compared stacks; with `bill`, every prefix of the one stack given, baseline first.
    pub stacks: Vec<Stack>,
    /// Index of the baseline in `stacks`.
    pub baseline: usize,
    /// Whether the stacks are the prefixes of one, and lines per layer are wanted.
    pub bill: bool,
    /// What load each stack gets, one after the other.
    pub workloads: Vec<Workload>,
    /// How it is measured.
    pub measure: MeasureSpec,
    /// `--destroy`: the devices that may be written.
    pub consent: Vec<Consent>,
    /// `max_written`: no drive is written more bytes than this.
    pub max_written: Option<u64>,
    /// Durability trials instead of a comparison under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Box<DurabilitySpec>>,
    /// What somebody else published of these stacks and workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Box<Published>>,
    /// What the drives below are rated at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Box<Rating>>,
    /// The tables that a report shows its figures in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableSpec>>,
    /// Guests with emulated drives that stacks stand in, by the names of their places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labs: BTreeMap<Place, LabSpec>,
    /// Guests without a disk that stacks name as places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guests: BTreeMap<Place, LayerSpec>,
    /// What the scenario says of places: facts in the user's words, the virtual machine that a
    /// place is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub described: BTreeMap<Place, PlaceDescription>,
    /// `--change`: the virtual machines that may be shut down and changed for the run, and whether
    /// by force.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, bool>,
    /// What a person does before a stack is measured, by the name of the stack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<String, Operator>,
    /// What was read differently from how it was written, for `plan`, the report and the log.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Scenario {
    /// That of a run in which nothing is measured.
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

    /// What a person does before that stack is measured.
    pub fn operator_of(&self, stack: &Stack) -> Option<&Operator> {
        operator::operator_of(&self.operators, stack)
    }

    /// Whether no file says what is compared.
    pub fn is_of_command_line(&self) -> bool {
        self.source == COMMAND_LINE
    }

    /// Where a path at the bottom of a stack is written, up to the colon after it.
    pub fn place_of(&self, stack: &Stack, path: &Path) -> String {
        match self.declared.iter().find(|(declared, _)| declared == path) {
            Some((_, place)) => format!("{place}: "),
            None if stack.layers.is_empty() && self.is_of_command_line() => String::new(),
            None => format!("{}: ", stack.text),
        }
    }

    /// Whether any load of it writes; durability trials do.
    pub fn writes(&self) -> bool {
        self.durability.is_some() || self.workloads.iter().any(Workload::writes)
    }

    /// Whether any load trims.
    pub fn trims(&self) -> bool {
        self.workloads.iter().flat_map(|workload| &workload.jobs).any(|job| job.rw.trims())
    }

    /// Whether any load of it reads back what it wrote.
    pub fn verifies(&self) -> bool {
        self.workloads.iter().any(Workload::verifies)
    }

    /// What files and volumes are filled with before anything is measured: the kind of data of the
    /// first job that states one.
    pub fn data(&self) -> DataKind {
        let jobs = self.workloads.iter().flat_map(|workload| &workload.jobs);
        jobs.map(Job::data).find(|data| !data.is_unique()).unwrap_or_default()
    }

    /// For each stack, how much of a byte written through each of the stacks comes to each drive
    /// below it.
    pub fn reaches(&self) -> Vec<Vec<f64>> {
        let row = |below: &Stack| {
            self.stacks.iter().map(|through| below.medium.receives(&through.medium)).collect()
        };
        self.stacks.iter().map(row).collect()
    }
}

/// The place of what is set up in a guest, whose name only a plan knows.
pub fn in_guest() -> Place {
    Place::Guest("in the guest".into())
}

/// A stack from its medium up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Short unique name used in tables: the last layer, or the name given in TOML.
    pub name: String,
    /// Its canonical one-line form.
    pub text: String,
    /// What lies at the bottom.
    pub medium: Medium,
    /// The layers from the bottom up.
    pub layers: Vec<LayerSpec>,
    /// `own = true`: no prefix is shared with another stack.
    pub own: bool,
    /// In which state it is measured, where the scenario names states and it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InState>,
}

impl Stack {
    /// Whether it is meant by that name or text.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.text == word
    }

    /// Its layers with the place of each: where what is below it lives.
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

    /// All places that it has a part in.
    pub fn places(&self) -> BTreeSet<Place> {
        let far = self.layers.iter().filter_map(|layer| layer.far.clone());
        let ends = self.medium.members().iter().filter_map(Medium::far_end).cloned();
        self.medium.places().into_iter().chain(far).chain(ends).collect()
    }

    /// Whether it goes through states, in which members are written again though no load writes.
    pub fn may_be_rebuilt(&self) -> bool {
        self.state.is_some()
    }

    /// Guests side by side that its load runs in; 1 where it has none.
    pub fn guests(&self) -> u32 {
        self.layers.iter().map(|layer| layer.copies).max().unwrap_or(1)
    }

    /// How many places load it at once: guests, or hosts and labs that its members are on.
    pub fn clients(&self) -> u32 {
        self.guests() * self.medium.places().len().max(1) as u32
    }

    /// Whether it differs from `other`, which loads more places, only in the number of guests or in
    /// which of its places load.
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

/// What two media on one file or device have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location<'a> {
    /// A path on this host, or on another.
    Path(Option<&'a str>, &'a Path),
    /// An emulated drive of a guest: the guest, and its name there.
    Drive(&'a Place, &'a str),
    /// An image of Ceph's: the configuration of its cluster, the pool and its name.
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
        /// As of a file of this host.
        size: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
        /// Who issues the load there.
        #[serde(default, skip_serializing_if = "LoadIssuer::is_iotax")]
        agent: LoadIssuer,
    },
    /// `nvme0 @lab`: an emulated drive of a guest of the run.
    Drive {
        place: Place,
        /// Its name there, which is its serial number too.
        name: String,
    },
    /// `rbd:POOL/IMAGE@CONF`: an image of somebody's Ceph cluster, made by somebody else.
    Rbd {
        pool: String,
        image: String,
        /// The configuration by which its cluster is reached.
        conf: PathBuf,
    },
    /// `cpu`, `cpu @ssh:HOST`: a place without a device, for probes.
    Cpu { place: Place },
    /// `net:ssh:b @ssh:a`: the network from a place, where probes run, to another, which answers.
    Net {
        place: Place,
        /// Where they are answered.
        to: Place,
        /// `address=10.0.0.2`: at that address of it; `None`: at the first that is reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        /// `port=5201`; `None`: one that is free.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// `vhost-user:/run/x.sock`: a disk that another process serves to a guest.
    #[serde(rename = "vhost-user")]
    VhostUser { path: PathBuf },
    /// `[a,b,c]`: several media for a layer that joins them; with none, `each([a,b,c])`: the same
    /// load on all of them at once.
    Many {
        /// At least one, all in one place, or on hosts over SSH where nothing joins them.
        members: Vec<Medium>,
        /// In so many lists of equal length, one after the other, each of which is joined by
        /// itself.
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
    /// In how many lists its members are joined, each by itself.
    pub fn groups(&self) -> usize {
        match self {
            Medium::Many { groups, .. } => (*groups).max(1),
            _ => 1,
        }
    }

    /// The media that it is made of: of one, itself.
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

    /// The host over ssh that it is on, or its first member; `None`: this one.
    pub fn host(&self) -> Option<&str> {
        match self.members().first()? {
            Medium::Remote { host, .. } => Some(host),
            Medium::Cpu { place } | Medium::Net { place, .. } => place.ssh_host(),
            _ => None,
        }
    }

    /// The place that it is in, or its first member: `host`, a guest of the run, or `ssh:HOST`.
    pub fn place(&self) -> Place {
        match self.members().first() {
            Some(Medium::Remote { host, .. }) => Place::Ssh(host.clone()),
            Some(
                Medium::Drive { place, .. } | Medium::Cpu { place } | Medium::Net { place, .. },
            ) => place.clone(),
            _ => Place::Host,
        }
    }

    /// The place at the other end of a network.
    pub fn far_end(&self) -> Option<&Place> {
        match self {
            Medium::Net { to, .. } => Some(to),
            _ => None,
        }
    }

    /// All places that its members are in.
    pub fn places(&self) -> BTreeSet<Place> {
        self.members().iter().map(Medium::place).collect()
    }

    /// Who issues the load on it.
    pub fn agent(&self) -> LoadIssuer {
        match self.members().first() {
            Some(Medium::Remote { agent, .. }) => *agent,
            _ => LoadIssuer::Iotax,
        }
    }

    /// Where its members are. Media that have one of these in common overlap.
    pub fn locations(&self) -> impl Iterator<Item = Location<'_>> {
        self.members().iter().filter_map(Medium::location)
    }

    /// Where one that has no members is, whatever its options.
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

    /// Whether both are at one path of one place, whatever their options.
    fn is_at(&self, other: &Medium) -> bool {
        self.location().is_some_and(|location| other.location() == Some(location))
    }

    /// Of a byte that is written through `other`, how much comes to each drive below this one: all
    /// where both are the same file or device, or files of one folder; divided where one of them
    /// has several members. What lies elsewhere counts as another drive, so that no drive is
    /// thought fuller than it is.
    pub fn receives(&self, other: &Medium) -> f64 {
        let (ours, theirs) = (self.members(), other.members());
        let beside = |one: &Medium| theirs.iter().filter(|other| one.is_on_drive_of(other)).count();
        // The member that gets least: all of them must come past their caches.
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

    /// What a consent to write it names, where no kernel has it and so it has no serial: itself.
    pub fn foreign_name(&self) -> Option<String> {
        match self {
            Medium::Rbd { pool, image, .. } => Some(format!("rbd:{pool}/{image}")),
            Medium::VhostUser { path } => Some(format!("vhost-user:{}", path.display())),
            _ => None,
        }
    }

    /// What it is to the layer above.
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

/// Where Ceph's own tools find the configuration of the cluster that a machine is a client of.
pub const USUAL_CEPH_CONF: &str = "/etc/ceph/ceph.conf";

/// Who issues the load in a place over ssh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadIssuer {
    /// Our binary, copied there.
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
    /// Its name in `layer::catalog::ALL`.
    pub name: String,
    /// Options by name; the layer's table of options says which exist and of what kind.
    pub options: BTreeMap<String, String>,
    /// `@PLACE`; `None`: where the layer below lives.
    pub place: Option<Place>,
    /// `@A>PLACE`: where the far end of a layer with two ends lives; `None`: in the same place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<Place>,
    /// `x4`: so many side by side, each on an equal part of what is below.
    #[serde(default = "default_attaches", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// What describes it, where it is no layer of iotax's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<Tool>>,
    /// File, line and key, or the position in the one-line stack, for messages.
    pub origin: String,
}

impl LayerSpec {
    /// What it makes on the same thing below: layers with equal keys can be one instance.
    pub fn key(&self) -> String {
        format!("{}{:?}{:?}{:?}{}", self.name, self.options, self.place, self.far, self.copies)
    }

    /// The places that it names.
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
    /// Unique; from the job file's section, or made of its words (`4k-randread-qd32`).
    pub name: String,
    /// All run at once.
    pub jobs: Vec<Job>,
    /// A probe of the place in place of jobs on the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSpec>,
    /// `engine = "..."`: null, sync, aio, uring, posixaio or fio; `None`: chosen by what the target
    /// does.
    pub engine: Option<Engine>,
    /// Of a sweep, which point it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepPoint>,
}

impl Workload {
    /// Whether any job changes what it is on, by writes or trims.
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.writes())
    }

    /// Whether any job reads back what it wrote.
    pub fn verifies(&self) -> bool {
        self.jobs.iter().any(|job| job.verify)
    }

    /// `4k random reads at iodepth 32 x 4`: the subject of a verdict.
    pub fn subject(&self) -> String {
        if let Some(probe) = &self.probe {
            return probes::subject(probe);
        }
        self.jobs.iter().map(|job| job_subject(job, &[])).collect::<Vec<_>>().join(" with ")
    }

    /// `4k random reads`: what is issued, but not how much at once.
    pub fn kind_subject(&self) -> String {
        if let Some(probe) = &self.probe {
            return probes::subject(probe);
        }
        let kind = |job| job_subject(job, &["iodepth", "numjobs", "rate_iops"]);
        self.jobs.iter().map(kind).collect::<Vec<_>>().join(" with ")
    }
}

/// How long and how finely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSpec {
    /// Length of a slice's window in nanoseconds; `None`: chosen by a pilot.
    #[serde(default)]
    pub slice_ns: Option<u64>,
    /// Wished half-width of the interval, a fraction (0.01).
    pub precision: f64,
    /// Zone within which "no difference" may be said, a fraction (0.02).
    pub equivalence: f64,
    /// Not before so many nanoseconds of measuring a workload.
    pub min_time_ns: u64,
    /// Whether the user chose that time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub min_time_given: bool,
    /// At the latest after so many nanoseconds of measuring a workload.
    pub budget_ns: u64,
    /// Visits where stacks cannot be up together (at least 4 for a verdict).
    pub visits: u32,
    /// Share of the slowest stack's rate at which latencies are compared; 0: they are not.
    #[serde(default)]
    pub matched_rate: f64,
    /// Whether the user chose that share.
    #[serde(default, skip_serializing_if = "is_false")]
    pub matched_rate_given: bool,
    /// Set-ups over which stacks that can be up together are measured; 3 or more are the unit of
    /// the interval.
    #[serde(default = "default_attaches")]
    pub attaches: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// What verdicts on writes are about.
    #[serde(default)]
    pub regime: Regime,
    /// The largest cache of writes that the user knows of on the path, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<u64>,
    /// What is done to the drives before anything is measured.
    #[serde(default, skip_serializing_if = "Precondition::is_off")]
    pub precondition: Precondition,
    /// Whether the installed fio loads the baseline too, as a stack of its own: what the generators
    /// differ in.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fio_on_baseline: bool,
    /// Percentiles that reports show in addition to p50, p99 and p99.9, in order: 99.95 of
    /// `p99.95`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Latencies that every stack must keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<ServiceLevel>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a verdict on writes is about.
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

    /// Its word in scenarios, verdicts and records.
    pub fn word(self) -> &'static str {
        match self {
            Regime::Burst => "burst",
            Regime::Steady => "steady",
        }
    }
}

/// What a run recorded before there were attaches had.
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
