//! Sets up layers. Each layer has an entry in its family's table and, as a rule, a file of its own;
//! names, options and meaning are in `iotax_model::layer`. A layer does no I/O: it says what it
//! needs, how it uses what is below, and which steps would create it.
//!
//! Modules: [`known`] layers whose cost is known, [`volume`] arrays, volumes, pools and file
//! systems, [`fabric`] layers with two ends, [`guest`] guests and [`guest::lab`] the lab; each has
//! a table `ALL`. [`medium`] what a stack is on, [`state`] the way of an array from one state to
//! the next, [`needs`] all needs by name, [`lab`] the root image of the lab: its recipe, build and
//! cache.
#![forbid(unsafe_code)]

pub mod fabric;
pub mod guest;
pub mod known;
pub mod lab;
pub mod medium;
pub mod needs;
pub mod state;
pub mod volume;

use anyhow::{Context, Result, anyhow, bail};
use iotax_facts::need::SearchedThing;
use iotax_facts::vm::Vm;
use iotax_host::Missing;
use iotax_host::caches::WriteCache;
use iotax_host::needs::AskedNeed;
use iotax_host::probe::Probe;
use iotax_load::{DataKind, Hold};
use iotax_model::layer::{LayerHelp, tool};
use iotax_model::scenario::{Engine, LayerSpec};
use iotax_steps::op::{FillFile, MakeDirectory, Op};
use iotax_steps::{PathRef, Place, RunTag, Step, StepId};
use state::StateMove;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::str::FromStr;

/// The families, each with a table of its layers.
const FAMILIES: &[&[&dyn Layer]] = &[known::ALL, volume::ALL, guest::ALL, fabric::ALL];

/// How a layer uses what is below it while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// Reads pass through; others may read beside it.
    SharedRead,
    /// Reads leave copies in a cache of this machine: nobody else may read the same data.
    Caches,
    /// It writes of its own (a file system's metadata): one such user, raw reads beside it are
    /// fine.
    Writes,
    /// It takes the device from this host: nobody else can use it while the layer is up.
    Takes,
}

/// A cache of writes that a layer brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCache {
    /// Which; no stacks yet.
    pub cache: WriteCache,
    /// Whether a flush empties it: then it is above the flush, and never full after one.
    pub flushed: bool,
}

/// What a layer shows to the one above it, or to the load.
#[derive(Clone, Debug, PartialEq)]
pub struct ExposedDevice {
    /// File or block device; several where nothing has joined them yet.
    pub paths: Vec<PathRef>,
    /// Bytes that may be used of each, from the start.
    pub bytes: u64,
    /// Block device or file.
    pub block: bool,
    /// Where it is visible.
    pub place: Place,
    /// Further places that are loaded at once, each with a path: of guests side by side, of the
    /// members of an `each([..])` on several hosts.
    pub copies: Vec<(Place, PathRef)>,
    /// Those have media of their own, each with as many `bytes`; else equal parts of one thing.
    pub apart: bool,
    /// Completions held back on the way.
    pub hold: Hold,
    pub writable: bool,
    /// Some of it was never written, so that a read of it reaches no disk: it is written once
    /// before it is read.
    pub unwritten: Option<FirstWrites>,
    /// The paths are parts of one thing, which are loaded at once and share the region.
    pub split: bool,
    /// The members below are not of one size: `bytes` are those of the smallest.
    pub uneven: bool,
    /// The load generator, where a layer names another than the workload's.
    pub engine: Option<Engine>,
    /// A write of anything but whole multiples of so many bytes, aligned to them, fails.
    pub write_unit: Option<u64>,
    /// The steps that made what has states (an array, a pool), each with what is below it.
    pub arrays: Vec<Array>,
    /// Steps whose layers it is on and that are read back once they are up, from the bottom.
    /// The planner keeps them.
    pub told: Vec<StepId>,
}

/// What can lose members.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The step that made it: its state is asked by this.
    pub step: StepId,
    /// What that step made.
    pub made: PathRef,
    pub members: Vec<PathRef>,
    /// The layer that it is.
    pub spec: LayerSpec,
    pub place: Place,
    /// Bytes of each member that a rebuild writes.
    pub in_use: u64,
}

/// In which order something is written for the first time, which is where its blocks then lie
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWrites {
    /// From its beginning to its end.
    InOrder,
    /// As many blocks of so many bytes as there are, at random places (63 % of it), and only then
    /// in order.
    AtRandom { block: u64 },
}

impl FirstWrites {
    /// How often all of it is written, counted in bytes.
    pub fn passes(self) -> u64 {
        match self {
            FirstWrites::InOrder => 1,
            FirstWrites::AtRandom { .. } => 2,
        }
    }
}

impl ExposedDevice {
    /// How many share what is below in equal parts; `bytes` are those of a part.
    pub fn parts(&self) -> u64 {
        let here = if self.split { self.paths.len() } else { 1 };
        let copies = if self.apart { 0 } else { self.copies.len() };
        (here + copies) as u64
    }

    /// Every place that is loaded, with what is loaded there.
    pub fn loaded(&self) -> Vec<(&Place, Vec<&PathRef>)> {
        let mut all = vec![(&self.place, self.paths.iter().collect::<Vec<_>>())];
        for (place, path) in &self.copies {
            match all.iter_mut().find(|(known, _)| *known == place) {
                Some((_, paths)) => paths.push(path),
                None => all.push((place, vec![path])),
            }
        }
        all
    }

    /// Whether it is loaded in that place.
    pub fn is_in(&self, place: &Place) -> bool {
        self.place == *place || self.copies.iter().any(|(copy, _)| copy == place)
    }

    /// The one thing to stand on.
    ///
    /// # Errors
    /// When there are several: the layer that asks joins nothing.
    pub fn path(&self, spec: &LayerSpec) -> Result<&PathRef> {
        match self.paths.as_slice() {
            [path] => Ok(path),
            several => bail!(
                "{}: {} stands on one device, and there are {} below it; hint: name one medium",
                spec.origin,
                spec.name,
                several.len()
            ),
        }
    }
}

/// A program that only the words of a stack name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProgram {
    /// Its name in the PATH, or its whole path.
    pub program: String,
    /// What for, a clause.
    pub why: String,
    pub command: String,
}

impl NamedProgram {
    /// As a place is asked for it.
    pub fn asked(&self) -> AskedNeed {
        let program = self.program.clone();
        let find = if program.starts_with('/') {
            SearchedThing::File(program)
        } else {
            SearchedThing::Program(program)
        };
        AskedNeed { id: format!("program {}", self.program), finds: vec![find] }
    }

    /// It, where `what` is lacking.
    pub fn missing(&self, what: String) -> Missing {
        Missing { what, why: self.why.clone(), command: self.command.clone(), reboot: false }
    }
}

/// A member of the family.
pub trait Layer: Sync {
    fn help(&self) -> &'static LayerHelp;

    /// Its name in stacks.
    fn name(&self) -> &'static str {
        self.help().name
    }

    /// Ids of `host::needs` that must be met.
    fn needs(&self, _spec: &LayerSpec) -> Vec<&'static str> {
        Vec::new()
    }

    /// The same of its far end, asked of the place where that is.
    fn needs_far(&self, _spec: &LayerSpec) -> Vec<&'static str> {
        Vec::new()
    }

    /// Programs that only its own words name; asked for where it lives.
    fn programs(&self, _spec: &LayerSpec) -> Vec<NamedProgram> {
        Vec::new()
    }

    /// What is missing on this host of the programs that only this layer's text names. It may query
    /// the machine, and creates nothing.
    fn missing(&self, _spec: &LayerSpec) -> Vec<Missing> {
        Vec::new()
    }

    /// How it uses what is below.
    fn claim(&self, _spec: &LayerSpec) -> Claim {
        Claim::SharedRead
    }

    /// Whether it writes to what is below even when the load only reads, or may.
    fn writes_below(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Whether what is below must let itself be opened for writing, though nothing may ever be
    /// written.
    fn opens_for_writing(&self, spec: &LayerSpec) -> bool {
        self.writes_below(spec)
    }

    /// Whether what it gives was never written. The measuring side writes it when all stacks of a
    /// set are up, so none of them may have made anything of its own on it by then.
    fn gives_unwritten(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Whether it acknowledges writes that are in this host's page cache only.
    fn caches_writes(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// A cache of its own that holds writes back. Each of its members has so many bytes, and the
    /// machine is the one that it lives on, as far as these are known.
    fn write_cache(
        &self,
        _spec: &LayerSpec,
        _each: Option<u64>,
        _machine: Option<&Probe>,
    ) -> Option<OwnCache> {
        None
    }

    /// What makes one move of what it `made` of its `members` on the way to another state. It goes
    /// with it.
    ///
    /// # Errors
    /// When it has no members that could fail, or not as it was asked for: why, and what would do.
    fn moved(
        &self,
        spec: &LayerSpec,
        _made: &PathRef,
        _members: &[PathRef],
        _step: StateMove,
    ) -> Result<Op> {
        bail!("{}: \"{}\" has no members that could fail", spec.origin, spec.name)
    }

    /// What has a member of what it `made` out, or in again.
    ///
    /// # Errors
    /// When none of its members can be out.
    fn put_out(&self, spec: &LayerSpec, _made: &PathRef, _at: usize, _out: bool) -> Result<Op> {
        bail!("{}: a member of \"{}\" can fail, but cannot be taken out", spec.origin, spec.name)
    }

    /// Which part of what it makes is read back once that operation is done; `Some("")` where it
    /// has one part only.
    fn reads_back(&self, _op: &Op) -> Option<&'static str> {
        None
    }

    /// What a reader calls the layer whose part an operation makes.
    fn called<'a>(&self, _op: &'a Op) -> &'a str {
        self.name()
    }

    /// Adds its steps and says what it shows.
    ///
    /// # Errors
    /// When it cannot stand on what is below: which, why, and what would do.
    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice>;
}

/// The layer whose part an operation makes, and which part of it, where it has several: it is read
/// back once it is up.
pub fn readback_owner(op: &Op) -> Option<(&str, &'static str)> {
    all().find_map(|layer| Some((layer.called(op), layer.reads_back(op)?)))
}

/// Every layer that a stack can name.
pub fn all() -> impl Iterator<Item = &'static dyn Layer> {
    FAMILIES.iter().copied().flatten().copied()
}

/// The layer of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Layer> {
    all().find(|layer| layer.name() == name)
}

/// The layer of a stack.
pub fn layer_of(spec: &LayerSpec) -> Option<&'static dyn Layer> {
    by_name(if spec.tool.is_some() { tool::KIND } else { &spec.name })
}

/// Where layers add their steps.
pub struct PlanContext {
    /// The run that the steps belong to.
    pub tag: RunTag,
    /// What guests are made of on this machine.
    pub guest_parts: Option<guest::GuestParts>,
    /// Whether the layer being planned must let writes pass: the load writes, or a layer above
    /// does.
    pub writable: bool,
    /// Seed of file contents.
    pub seed: u64,
    /// What files are filled with.
    pub data: DataKind,
    /// Whether the load trims: what is filled does not stay so.
    pub trims: bool,
    /// Where steps are performed.
    pub place: Place,
    /// Whether something is set up above the layer being planned: a guest needs the programs for
    /// it.
    pub set_up_above: bool,
    /// In how many ways stacks go on above the layer being planned, guests side by side each for
    /// itself.
    pub ways_above: u32,
    pub steps: Vec<Step>,
    /// Guests that the steps start, for the measuring side to connect to.
    pub guests: Vec<guest::GuestPlan>,
    /// Guests that stacks still take their seats in.
    pub drafts: Vec<guest::GuestDraft>,
    /// Names of guests that the scenario has chosen.
    pub names: BTreeSet<String>,
    /// The stack being planned, if it wants instances of its own.
    pub own: Option<usize>,
    /// Places that are existing virtual machines.
    pub machines: BTreeMap<Place, ExistingMachine>,
    /// What the steps would change without a consent, a sentence each: no run performs them.
    pub consents_lacking: Vec<String>,
    instances: u32,
}

/// An existing virtual machine, as far as a layer may change it.
#[derive(Clone, Debug)]
pub struct ExistingMachine {
    pub vm: Vm,
    /// Whether it may be switched off; `None`: it may not be changed at all.
    pub may_change: Option<bool>,
    /// What its manager calls the disks under load, as far as that is known.
    pub disks: Vec<(PathRef, String)>,
}

impl ExistingMachine {
    /// What its manager calls the disk at a path there.
    pub fn disk_at(&self, path: &PathRef) -> Option<&String> {
        self.disks.iter().find(|(known, _)| known == path).map(|(_, disk)| disk)
    }
}

impl PlanContext {
    pub fn new(tag: RunTag, guest_parts: Option<guest::GuestParts>, seed: u64) -> PlanContext {
        PlanContext {
            tag,
            guest_parts,
            writable: false,
            seed,
            data: DataKind::default(),
            trims: false,
            place: Place::Host,
            set_up_above: false,
            ways_above: 1,
            steps: Vec::new(),
            guests: Vec::new(),
            drafts: Vec::new(),
            names: BTreeSet::new(),
            own: None,
            machines: BTreeMap::new(),
            consents_lacking: Vec::new(),
            instances: 0,
        }
    }

    /// Adds a step where the layer below lives, and gives its number.
    pub fn add(&mut self, why: impl Into<String>, op: Op) -> StepId {
        let place = self.place.clone();
        self.add_in(&place, why, op)
    }

    /// Adds a step in another place: the far end of a fabric.
    pub fn add_in(&mut self, place: &Place, why: impl Into<String>, op: Op) -> StepId {
        let id = self.steps.len() as StepId;
        self.steps.push(Step { id, place: place.clone(), why: why.into(), op });
        id
    }

    /// The run's folder where the layer below lives; elsewhere than here it is made when it is
    /// first asked for.
    pub fn directory(&mut self) -> PathBuf {
        let place = self.place.clone();
        self.directory_in(&place)
    }

    pub fn directory_in(&mut self, place: &Place) -> PathBuf {
        let directory = self.tag.directory_in(place);
        let made = |step: &Step| {
            step.place == *place
                && matches!(&step.op, Op::MakeDirectory(made) if made.path == directory)
        };
        if !place.is_host() && !self.steps.iter().any(made) {
            let op = Op::MakeDirectory(MakeDirectory { path: directory.clone() });
            self.add_in(place, "make the run's folder there", op);
        }
        directory
    }

    /// Data into a file that this plan makes, of the kind that the load writes.
    pub fn fill_of(&self, place: &Place, path: &std::path::Path, bytes: u64) -> FillFile {
        let (file, seed) = (PathRef::Path(path.to_owned()), self.data_seed(place, path));
        FillFile { file, bytes, seed, data: self.data, trimmed: self.trims }
    }

    /// Seed of a file's content: no two files of a run hold the same data, or a deduplicating layer
    /// would store only one of them.
    fn data_seed(&self, place: &Place, path: &std::path::Path) -> u64 {
        // Hosts may have their drives from one storage.
        let host = place.ssh_host().unwrap_or_default();
        let name = format!("{} {host}{}", self.tag.run_id, path.display());
        self.seed ^ (u64::from(crc32fast::hash(name.as_bytes())) << 32)
    }

    /// A name for something that this plan makes, unique within it: `fs0`, `vm1`.
    pub fn instance(&mut self, kind: &str) -> String {
        let name = format!("{kind}{}", self.instances);
        self.instances += 1;
        if self.names.contains(&name) { self.instance(kind) } else { name }
    }
}

/// An option's word that a layer cannot do without: what was written, or the catalog's default.
///
/// # Errors
/// There is neither (the scenario's check comes first, so this is for callers that build specs by
/// hand).
pub fn word<'a>(spec: &'a LayerSpec, name: &str) -> Result<&'a str> {
    spec.option(name).with_context(|| format!("{}: {} without {name}", spec.origin, spec.name))
}

/// Whether a flag is on.
pub fn flag(spec: &LayerSpec, name: &str) -> bool {
    spec.option(name) == Some("true")
}

/// A number, see [`word`].
///
/// # Errors
/// As [`word`]; and when it is no number, or too large for its type.
pub fn number<T: FromStr>(spec: &LayerSpec, name: &str) -> Result<T> {
    let word = word(spec, name)?;
    word.parse()
        .ok()
        .with_context(|| format!("{}: {name} = \"{word}\" is no number that fits", spec.origin))
}

/// Bytes, see [`word`].
///
/// # Errors
/// As [`word`]; and when it is no size.
pub fn bytes(spec: &LayerSpec, name: &str) -> Result<u64> {
    size(spec, name)?.with_context(|| format!("{}: {} without {name}", spec.origin, spec.name))
}

/// Bytes, where they are written or the catalog has a default.
///
/// # Errors
/// When it is no size.
pub fn size(spec: &LayerSpec, name: &str) -> Result<Option<u64>> {
    let parsed = spec.option(name).map(iotax_units::parse_bytes).transpose();
    parsed.map_err(|why| anyhow!("{}: {name}: {why}", spec.origin))
}
