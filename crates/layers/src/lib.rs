//! Sets up layers. Each layer has an entry in its family's table and, as a rule, a file of its own.
//! Its name, options and meaning are in `iotax_model::layer`. A layer does no I/O: it says what it
//! needs, how it uses the device below it, and which steps would create it.
//!
//! [`known`] has layers whose cost is known, [`volume`] arrays, volumes, pools and file systems,
//! [`fabric`] layers with two ends, and [`guest`] guests; each has a table `ALL`. [`guest::lab`]
//! plans the lab, and [`lab`] builds its root image. [`medium`] plans what is at the bottom of a
//! stack, [`state`] the steps of an array from one state to the next. [`needs`] finds needs by
//! name.
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
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::run_tag::RunTag;
use iotax_facts::need::SearchedThing;
use iotax_facts::place::Place;
use iotax_facts::vm::Vm;
use iotax_host::Missing;
use iotax_host::caches::WriteCache;
use iotax_host::needs::AskedNeed;
use iotax_host::probe::Probe;
use iotax_load::{DataKind, Hold};
use iotax_model::layer::{LayerHelp, tool};
use iotax_model::scenario::Engine;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{FillFile, MakeDirectory, Op};
use iotax_steps::step::Step;
use state::StateMove;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

const FAMILIES: &[&[&dyn Layer]] = &[known::ALL, volume::ALL, guest::ALL, fabric::ALL];

/// Use that a layer makes of the device below it during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// Reads pass through; others may read at the same time.
    SharedRead,
    /// Reads leave copies in a cache of this machine: nobody else may read the same data.
    Caches,
    /// The layer writes on its own account (a file system's metadata). There may be one such user;
    /// raw reads of the same device are fine.
    Writes,
    /// The layer takes the device from this host: nobody else can use it while the layer is up.
    Takes,
}

/// A write cache that a layer brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCache {
    /// The cache; its list of stacks is still empty.
    pub cache: WriteCache,
    /// True if a flush of the device writes back all that the cache holds, so that it is empty
    /// after each flush.
    pub flushed: bool,
}

/// Device that a layer shows to the layer above it, or to the load.
#[derive(Clone, Debug, PartialEq)]
pub struct ExposedDevice {
    /// Files or block devices; several where no layer has joined them yet.
    pub paths: Vec<PathRef>,
    /// Usable bytes of each path, from its start.
    pub bytes: u64,
    /// True for a block device, false for a file.
    pub block: bool,
    pub place: Place,
    /// Further places that are loaded at the same time, each with a path: guests side by side, or
    /// the members of an `each([..])` on several hosts.
    pub copies: Vec<(Place, PathRef)>,
    /// True if all loaded places have the same whole device, and each loads a part of it: the first
    /// from the start, the next one from where that ends.
    pub overlaid: bool,
    /// True if the copies have media of their own, each with as many `bytes`. Otherwise they are
    /// equal parts of one device.
    pub apart: bool,
    /// Delay of each completion by layers of known cost.
    pub hold: Hold,
    pub writable: bool,
    /// Set if part of the device was never written, so that a read of it reaches no disk: how the
    /// device is then written once, before it is measured.
    pub unwritten: Option<FirstWrites>,
    /// True if the paths are parts of one device: they are loaded at once, and share the bytes that
    /// are measured.
    pub split: bool,
    /// True if the members below differ in size; `bytes` is then the size of the smallest.
    pub uneven: bool,
    /// The load generator, if a layer names another than the workload's.
    pub engine: Option<Engine>,
    /// Write unit in bytes, if there is one. A write fails unless it covers whole multiples of it
    /// and is aligned to it.
    pub write_unit: Option<u64>,
    /// Arrays and pools below that can lose members.
    pub arrays: Vec<Array>,
    /// Steps whose result is read back once it is up, from the bottom. The planner keeps this list.
    pub read_back: Vec<StepId>,
}

/// Array or pool that can lose members.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The step that made the array. The array's state is queried by this id.
    pub step: StepId,
    /// Device or pool that the step made.
    pub made: PathRef,
    pub members: Vec<PathRef>,
    pub spec: LayerSpec,
    pub place: Place,
    /// Bytes of each member that a rebuild writes.
    pub in_use: u64,
}

/// Order of the first writes to a device. It decides where the blocks then lie below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWrites {
    /// Writes from the beginning to the end.
    InOrder,
    /// Writes as many blocks of `block` bytes as the device has at random places, which covers 63 %
    /// of it, and only then writes all of it in order.
    AtRandom { block: u64 },
}

impl FirstWrites {
    /// Returns the bytes that are written, as a multiple of the device's size.
    pub fn passes(self) -> u64 {
        match self {
            FirstWrites::InOrder => 1,
            FirstWrites::AtRandom { .. } => 2,
        }
    }
}

impl ExposedDevice {
    /// Returns the number of equal parts, over all paths and copies, into which the device below is
    /// divided; `bytes` is the size of one part.
    pub fn part_count(&self) -> u64 {
        let here = if self.split { self.paths.len() } else { 1 };
        let copies = if self.apart { 0 } else { self.copies.len() };
        (here + copies) as u64
    }

    /// Returns every loaded place, with the paths that are loaded there.
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

    pub fn is_in(&self, place: &Place) -> bool {
        self.place == *place || self.copies.iter().any(|(copy, _)| copy == place)
    }

    /// Returns the only path.
    ///
    /// # Errors
    /// Fails when there is not exactly one: the layer of `spec` joins no devices.
    pub fn only_path(&self, spec: &LayerSpec) -> Result<&PathRef> {
        match self.paths.as_slice() {
            [path] => Ok(path),
            several => bail!(
                "{}: {} takes one device, and there are {} below it; hint: name one medium",
                spec.origin,
                spec.name,
                several.len()
            ),
        }
    }
}

/// A program that the text of a stack names, and no need does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProgram {
    /// Name in the PATH, or absolute path.
    pub program: String,
    /// Purpose of the program, as a clause.
    pub why: String,
    pub command: String,
}

impl NamedProgram {
    /// Returns the need in the form in which another place is asked for it.
    pub fn to_asked_need(&self) -> AskedNeed {
        let program = self.program.clone();
        let find = if program.starts_with('/') {
            SearchedThing::File(program)
        } else {
            SearchedThing::Program(program)
        };
        AskedNeed { id: format!("program {}", self.program), finds: vec![find] }
    }

    /// Returns the need as unmet; `what` says what is lacking.
    pub fn as_missing(&self, what: String) -> Missing {
        Missing { what, why: self.why.clone(), command: self.command.clone(), reboot: false }
    }
}

pub trait Layer: Sync {
    fn help(&self) -> &'static LayerHelp;

    /// Returns the layer's name in stacks.
    fn name(&self) -> &'static str {
        self.help().name
    }

    /// Returns the ids of the needs (`host::needs`) that must be met where the layer is set up.
    fn needs(&self, _spec: &LayerSpec) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the ids of the needs of a fabric's far end, which must be met in that end's place.
    fn needs_far(&self, _spec: &LayerSpec) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the programs that the layer's text in the stack names. They must be where the layer
    /// is set up.
    fn named_programs(&self, _spec: &LayerSpec) -> Vec<NamedProgram> {
        Vec::new()
    }

    /// Returns what this host lacks for this layer beyond [`Self::needs`], such as methods of the
    /// SPDK target that it names. May query the machine; creates nothing.
    fn missing_on_host(&self, _spec: &LayerSpec) -> Vec<Missing> {
        Vec::new()
    }

    /// Returns what the layer does to the device below it, which decides who else may use that
    /// device during a measurement.
    fn claim(&self, _spec: &LayerSpec) -> Claim {
        Claim::SharedRead
    }

    /// Returns true if the layer writes, or may write, to the device below even when the load only
    /// reads.
    fn writes_below(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Returns true if the device below must accept being opened for writing, even if nothing is
    /// ever written.
    fn opens_for_writing(&self, spec: &LayerSpec) -> bool {
        self.writes_below(spec)
    }

    /// Returns true if the layer yields a device that was never written. It is written once all
    /// stacks of a set are up, so no stack may have made anything of its own on it by then.
    fn gives_unwritten(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Returns true if the layer acknowledges writes that are only in this host's page cache.
    fn caches_writes(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Returns true if the layer has a cache on a device, with which each visit begins cold.
    fn begins_cold(&self, _spec: &LayerSpec) -> bool {
        false
    }

    /// Returns the layer's own write-back cache, if it has one. `each` is the size of each member
    /// in bytes, and `machine` is the machine that the layer lives on, as far as these are known.
    fn write_cache(
        &self,
        _spec: &LayerSpec,
        _each: Option<u64>,
        _machine: Option<&Probe>,
    ) -> Option<OwnCache> {
        None
    }

    /// Returns the operation for one move on the way to another state, for what the layer `made` of
    /// its `members`. The operation needs no undo of its own: its effect ends with what the layer
    /// `made`.
    ///
    /// # Errors
    /// Fails when the layer has no members that could fail, or cannot fail them as it was asked
    /// for. The message says why, and what would do.
    fn state_move_op(
        &self,
        spec: &LayerSpec,
        _made: &PathRef,
        _members: &[PathRef],
        _step: StateMove,
    ) -> Result<Op> {
        bail!("{}: \"{}\" has no members that could fail", spec.origin, spec.name)
    }

    /// Returns the operation that marks a member of what the layer `made`, counted from 0, out or
    /// in again.
    ///
    /// # Errors
    /// Fails when no member can be out.
    fn put_out(&self, spec: &LayerSpec, _made: &PathRef, _at: usize, _out: bool) -> Result<Op> {
        bail!("{}: a member of \"{}\" can fail, but cannot be taken out", spec.origin, spec.name)
    }

    /// Returns the name of the part that the operation makes of this layer, if it is read back once
    /// it is up: `Some("")` if there is only one part, `None` if nothing is read back.
    fn reads_back(&self, _op: &Op) -> Option<&'static str> {
        None
    }

    /// Returns the name under which the part that an operation makes is reported.
    fn reader_name<'a>(&self, _op: &'a Op) -> &'a str {
        self.name()
    }

    /// Adds the layer's steps to the plan and returns the device that it shows.
    ///
    /// # Errors
    /// Fails when the layer cannot be set up on the device below. The message says which layer,
    /// why, and what would do.
    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice>;
}

/// Returns the name of the layer whose part an operation makes, and the name of that part (empty if
/// there is only one). `None` if nothing is read back once it is up.
pub fn readback_owner(op: &Op) -> Option<(&str, &'static str)> {
    all_layers().find_map(|layer| Some((layer.reader_name(op), layer.reads_back(op)?)))
}

/// Iterates over every layer that a stack can name.
pub fn all_layers() -> impl Iterator<Item = &'static dyn Layer> {
    FAMILIES.iter().copied().flatten().copied()
}

pub fn by_name(name: &str) -> Option<&'static dyn Layer> {
    all_layers().find(|layer| layer.name() == name)
}

pub fn layer_of(spec: &LayerSpec) -> Option<&'static dyn Layer> {
    by_name(if spec.tool.is_some() { tool::KIND } else { &spec.name })
}

/// State of a plan: layers add their steps to it.
pub struct PlanContext {
    pub tag: RunTag,
    /// Programs and images that this machine has for guests.
    pub guest_parts: Option<guest::GuestParts>,
    /// True if the layer being planned must let writes pass, because the load or a layer above it
    /// writes.
    pub writable: bool,
    /// Seed of the contents of files.
    pub seed: u64,
    /// Kind of data that files are filled with.
    pub data: DataKind,
    /// True if the load trims. Filled blocks do not stay filled then.
    pub trims: bool,
    /// Place for which [`Self::add_step`] adds steps.
    pub place: Place,
    /// True if something is set up above the layer being planned. A guest then needs the programs
    /// for it.
    pub set_up_above: bool,
    /// Number of uses of the layer being planned by the layers above it, in all stacks. Guests side
    /// by side count one each.
    pub ways_above: u32,
    pub steps: Vec<Step>,
    /// Guests that the steps start.
    pub guests: Vec<guest::GuestPlan>,
    /// Guests to which stacks still add disks; [`guest::finish`] plans their steps.
    pub drafts: Vec<guest::GuestDraft>,
    /// Names of guests that the scenario has chosen.
    pub names: BTreeSet<String>,
    /// Index of the stack being planned, if it wants instances of its own.
    pub own: Option<usize>,
    pub machines: BTreeMap<Place, ExistingMachine>,
    /// Names of the initiators that a person connects to the export that is planned; empty: iotax
    /// connects its own.
    pub initiators: Vec<String>,
    /// Short name of the stack and visit that are planned: `s0v2`.
    pub visit_name: String,
    /// Addresses of labs with a network card.
    pub lab_addresses: BTreeMap<Place, Ipv4Addr>,
    /// Changes to existing machines that the steps would make without the user's consent, one
    /// sentence each. A plan with such changes is not carried out.
    pub consents_lacking: Vec<String>,
    instances: u32,
}

/// An existing virtual machine, with what a layer may change in it.
#[derive(Clone, Debug)]
pub struct ExistingMachine {
    pub vm: Vm,
    /// True if the machine may be switched off when it does not shut down. `None`: it may not be
    /// changed at all.
    pub may_change: Option<bool>,
    /// Names of the disks under load in the machine's manager (libvirt, Proxmox VE or ESXi), by
    /// their paths in the machine, as far as they are known.
    pub disks: Vec<(PathRef, String)>,
}

impl ExistingMachine {
    /// Returns the name, in the machine's manager, of the disk at `path` in the machine.
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
            initiators: Vec::new(),
            visit_name: String::new(),
            lab_addresses: BTreeMap::new(),
            consents_lacking: Vec::new(),
            instances: 0,
        }
    }

    pub fn add_step(&mut self, why: impl Into<String>, op: Op) -> StepId {
        let place = self.place.clone();
        self.add_in(&place, why, op)
    }

    /// Adds a step in a given place, such as the far end of a fabric.
    pub fn add_in(&mut self, place: &Place, why: impl Into<String>, op: Op) -> StepId {
        let id = self.steps.len() as StepId;
        self.steps.push(Step { id, place: place.clone(), why: why.into(), op });
        id
    }

    /// Returns the run's folder in the current place. In a place other than this host, adds the
    /// step that makes the folder when it is first asked for.
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

    /// Describes how to fill a file that this plan makes with data of the kind that the load
    /// writes.
    pub fn fill_of(&self, place: &Place, path: &std::path::Path, bytes: u64) -> FillFile {
        let (file, seed) = (PathRef::Path(path.to_owned()), self.data_seed(place, path));
        FillFile { file, bytes, seed, data: self.data, trimmed: self.trims }
    }

    /// Returns the seed of a file's content. No two files of a run hold the same data, or a
    /// deduplicating layer would store only one of them.
    fn data_seed(&self, place: &Place, path: &std::path::Path) -> u64 {
        // Several hosts may have their drives from the same storage.
        let host = place.ssh_host().unwrap_or_default();
        let name = format!("{} {host}{}", self.tag.run_id, path.display());
        self.seed ^ (u64::from(crc32fast::hash(name.as_bytes())) << 32)
    }

    /// Returns a name for something that this plan makes, unique within the plan: `fs0`, `vm1`.
    pub fn instance(&mut self, kind: &str) -> String {
        let name = format!("{kind}{}", self.instances);
        self.instances += 1;
        if self.names.contains(&name) { self.instance(kind) } else { name }
    }
}

/// Returns the value of an option that a layer cannot do without: the one written in the stack, or
/// the catalog's default.
///
/// # Errors
/// Fails when there is neither. The scenario's check comes first, so this is for callers that build
/// specs by hand.
pub fn required_word<'a>(spec: &'a LayerSpec, name: &str) -> Result<&'a str> {
    spec.option(name).with_context(|| format!("{}: {} without {name}", spec.origin, spec.name))
}

pub fn flag(spec: &LayerSpec, name: &str) -> bool {
    spec.option(name) == Some("true")
}

/// Returns an option as a number, see [`required_word`].
///
/// # Errors
/// Fails like [`required_word`], and when the value is not a number or too large for its type.
pub fn required_number<T: FromStr>(spec: &LayerSpec, name: &str) -> Result<T> {
    let word = required_word(spec, name)?;
    word.parse()
        .ok()
        .with_context(|| format!("{}: {name} = \"{word}\" is no number that fits", spec.origin))
}

/// Returns an option as bytes, see [`required_word`].
///
/// # Errors
/// Fails like [`required_word`], and when the value is not a size.
pub fn required_bytes(spec: &LayerSpec, name: &str) -> Result<u64> {
    optional_bytes(spec, name)?
        .with_context(|| format!("{}: {} without {name}", spec.origin, spec.name))
}

/// Returns an option as bytes, if it is written or the catalog has a default.
///
/// # Errors
/// Fails when the value is not a size.
pub fn optional_bytes(spec: &LayerSpec, name: &str) -> Result<Option<u64>> {
    let parsed = spec.option(name).map(iotax_units::parse_bytes).transpose();
    parsed.map_err(|why| anyhow!("{}: {name}: {why}", spec.origin))
}
