//! The simulated twin of a machine: which resources are there, what they are on, and what a person
//! has set. That is enough to test that a plan is undone from any prefix, without root. It refuses
//! what the real one refuses: taking away what another is on, making what exists, changing what is
//! not there.

use super::op::{Act, Op};
use super::place_executor::{Lacking, PlaceExecutor};
use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use anyhow::{Result, anyhow, bail, ensure};
use iotax_drivers::ceph::Before;
use iotax_drivers::disk_key::DiskKey;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::process::ProcessId;
use iotax_drivers::queue::QueueSettings;
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::threads::ServingThread;
use iotax_drivers::zfs::ArcLimit;
use iotax_facts::array::ArrayState;
use iotax_host::block::Identity;
use iotax_host::needs::AskedNeed;
use std::path::{Path, PathBuf};

/// The setting that limits ZFS's cache.
const PARAMETER: &str = "zfs_arc_max";

/// A machine in memory. Two that are equal hold the same things.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedSystem {
    pub resources: Vec<Simulated>,
    /// Settings that a person has made until the next boot; a resource may change them.
    pub settings: QueueSettings,
    pub boot: u32,
    /// Number (from 0) of the operation that does its work and then reports a failure.
    pub fail_at: Option<u32>,
    pub changes: u32,
}

/// A resource on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Unique key of the resource, its name as the last word.
    pub key: String,
    /// The run that made it; `None`: somebody else did.
    pub run: Option<String>,
    /// Output of its step.
    pub made: StepOutput,
    /// Paths that it is on.
    pub below: Vec<PathBuf>,
    /// True if it survives a reboot.
    pub survives: bool,
}

impl Simulated {
    /// Returns the name by which what has no path goes.
    fn name(&self) -> &str {
        name_of(&self.key)
    }

    fn is_at(&self, path: &Path) -> bool {
        self.made.path.as_deref() == Some(path) || Path::new(self.name()) == path
    }

    fn is_on(&self, other: &Simulated) -> bool {
        let is_other = |below: &PathBuf| {
            other.made.path.as_ref() == Some(below)
                || below.to_str().is_some_and(|below| below.starts_with(other.name()))
        };
        self.below.iter().any(is_other)
    }
}

/// Identity of a resource once it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownBy {
    /// A name or path that it was given.
    Name,
    /// A name that the kernel gave it, so that several may have one key: a loop device.
    Number,
    /// A process, by its number and start.
    Process,
}

/// Facts that the twin knows of an operation that makes something.
struct Model {
    /// Unique key of the resource, its name or path as the last word: `md iotax-RUN-md0`.
    key: String,
    /// Resources that must stay as long as it is there: what it is on or has open, by path or by
    /// name.
    below: Vec<PathBuf>,
    known_by: KnownBy,
    /// True if one of ours that is there already is used again.
    reuses: bool,
    survives: bool,
    /// Settings of the machine that are lost or changed as long as it is there, and put back when
    /// it is removed.
    puts_back: QueueSettings,
}

impl Model {
    /// Returns the model of an operation; `None`: the operation changes something that is there.
    fn from_op(op: &Op) -> Option<Model> {
        let (key, below) = key_and_below(op)?;
        let known_by = match op {
            Op::AttachLoop(_) => KnownBy::Number,
            Op::Spawn(_) | Op::StartIscsid(_) | Op::ExportNbd(_) | Op::ExportLibrbd(_) => {
                KnownBy::Process
            }
            _ => KnownBy::Name,
        };
        let puts_back = match op {
            Op::PassThrough(drive) => drive.queue.clone(),
            Op::SetReadAhead(it) => {
                let was = it.was_kib.map(|kib| ("read_ahead_kb".to_owned(), kib.to_string()));
                was.into_iter().collect()
            }
            Op::LimitArc(limit) => [(PARAMETER.to_owned(), limit.was.parameter.to_string())].into(),
            _ => QueueSettings::new(),
        };
        let reuses = matches!(op, Op::MakeFile(_) | Op::MakeFileAfar(_));
        Some(Model { key, below, known_by, reuses, survives: op.survives_reboot(), puts_back })
    }

    fn is_numbered(&self) -> bool {
        self.known_by == KnownBy::Number
    }
}

fn key_and_below(op: &Op) -> Option<(String, Vec<PathBuf>)> {
    let file = |path: &Path| (format!("file {}", path.display()), Vec::new());
    Some(match op {
        Op::MakeDirectory(it) => (format!("directory {}", it.path.display()), Vec::new()),
        Op::MakeFile(it) => file(&it.path),
        Op::BuildInitramfs(it) => file(&it.path),
        Op::BuildSeed(it) => file(&it.path),
        Op::MakeFileAfar(it) => (format!("file {}:{}", it.host, it.path.display()), Vec::new()),
        Op::AttachLoop(it) => (format!("loop {}", it.backing), known([&it.backing])),
        Op::Mount(it) => {
            let devices = known([&it.device].into_iter().chain(&it.others));
            (format!("mount {}", it.directory.display()), with(devices, &it.directory))
        }
        Op::MakeLvm(it) => (format!("lvm {}", it.name), known(&it.members)),
        Op::MakeBcache(it) => (format!("bcache {}", it.name), known([&it.slow, &it.fast])),
        Op::SetReadAhead(it) => {
            let device = it.device.to_string();
            (format!("read-ahead {}", device.trim_start_matches('/')), known([&it.device]))
        }
        // The limit of the cache is put back when no pool uses it.
        Op::MakeZpool(it) => {
            (format!("zpool {}", it.name), with(known(&it.members), Path::new(PARAMETER)))
        }
        Op::LimitArc(_) => (format!("arc {PARAMETER}"), Vec::new()),
        Op::MakePartition(it) => (format!("partition {}", it.name), known([&it.device])),
        Op::MakeLinear(it) => {
            (format!("dm {}", it.name), known(it.stretches.iter().map(|stretch| &stretch.device)))
        }
        Op::CreateArray(it) => (format!("md {}", it.name), known(&it.members)),
        Op::PassThrough(it) => (format!("drive {}", it.address), Vec::new()),
        Op::ExportVhostScsi(it) => (format!("vhost-scsi {}", it.wwn), known([&it.backing])),
        Op::ExportSpdk(it) => {
            let below =
                it.backing.resolved_path().map_or_else(|_| it.bdev().into(), Path::to_owned);
            (format!("spdk {}", it.name), vec![below])
        }
        Op::JoinSpdk(it) => (format!("bdev {}", it.bdev()), known(&it.members)),
        Op::SplitSpdk(it) => {
            let below = bdev(&it.bdev);
            (format!("parts {}p", below[0].display()), below)
        }
        Op::ExportSpdkNvmf(it) => (format!("nvmf {}", it.nqn), bdev(&it.bdev)),
        Op::ExportNvmf(it) => (format!("nvmet {}", it.nqn), known([&it.device])),
        Op::ConnectNvmf(it) => (format!("nvme {}", it.nqn), Vec::new()),
        Op::ExportIscsi(it) => (format!("iscsi {}", it.iqn), known([&it.backing])),
        Op::StartIscsid(it) => (format!("iscsid {}", it.names().display()), Vec::new()),
        Op::ConnectIscsi(it) => (format!("iscsi session {}", it.iqn), Vec::new()),
        Op::ExportNbd(it) => (format!("nbd export {}", it.name), known([&it.backing])),
        Op::ConnectNbd(it) => (format!("nbd {}", it.name), Vec::new()),
        Op::SoftRdma(it) => {
            (format!("rdma {}", iotax_drivers::softrdma::names(&it.short).rdma), Vec::new())
        }
        Op::MakeBridge(it) => (format!("bridge {}", it.name), Vec::new()),
        Op::MakeTap(it) => (format!("tap {}", it.name), vec![PathBuf::from(&it.bridge)]),
        Op::Spawn(it) => {
            // Its command line names what it has open.
            let opened = it.argv.iter().map(PathBuf::from).chain(known(&it.belows)).collect();
            (format!("process {}", it.tag), opened)
        }
        Op::MakeCeph(it) => (format!("ceph {}", it.conf().display()), known(&it.members)),
        Op::MakeFioTarget(it) => {
            (format!("fio target {}", it.file.display()), vec![it.conf.clone()])
        }
        Op::ExportLibrbd(it) => (format!("librbd {}", it.file.display()), vec![it.conf.clone()]),
        Op::MapRbd(it) => (format!("rbd {}/{}", it.pool, it.image), vec![it.conf.clone()]),
        Op::MakeByTool(it) => (format!("tool {}", it.name), known(&it.members)),
        Op::ChangeMachine(it) => (format!("machine {}", it.vm), Vec::new()),
        Op::RemoteAgent(it) => (format!("agent {}", it.host), Vec::new()),
        Op::FillFile(_)
        | Op::ForgetFill(_)
        | Op::MakeFilesystem(_)
        | Op::ZpoolOffline(_)
        | Op::ZpoolReplace(_)
        | Op::AwaitResilver(_)
        | Op::WipeSignatures(_)
        | Op::FailMember(_)
        | Op::Rebuild(_)
        | Op::AwaitSync(_)
        | Op::MakeImage(_)
        | Op::ChangeSpdkArray(_)
        | Op::MakeRbdImage(_)
        | Op::ChangeCeph(_)
        | Op::ChangeByTool(_) => return None,
    })
}

/// Returns the path or name of what an operation changes, once resolved.
fn changed(op: &Op) -> Result<&Path> {
    match op {
        Op::FillFile(it) => it.file.resolved_path(),
        Op::ForgetFill(it) => it.file.resolved_path(),
        Op::MakeFilesystem(it) => it.device.resolved_path(),
        Op::ZpoolOffline(it) => it.content.resolved_path(),
        Op::ZpoolReplace(it) => it.content.resolved_path(),
        Op::AwaitResilver(it) => it.content.resolved_path(),
        Op::WipeSignatures(it) => it.device.resolved_path(),
        Op::FailMember(it) => it.array.resolved_path(),
        Op::Rebuild(it) => it.array.resolved_path(),
        Op::AwaitSync(it) => it.array.resolved_path(),
        Op::MakeImage(it) => it.on.resolved_path(),
        Op::ChangeSpdkArray(it) => it.made.bdev().map(|(_, name)| Path::new(name)),
        Op::MakeRbdImage(it) => it.conf.resolved_path(),
        Op::ChangeCeph(it) => it.made.resolved_path(),
        Op::ChangeByTool(it) => Ok(Path::new(&it.of.name)),
        made => bail!("{} changes nothing", made.operation().describe()),
    }
}

/// Returns those of the paths that are known.
fn known<'a>(paths: impl IntoIterator<Item = &'a PathRef>) -> Vec<PathBuf> {
    paths.into_iter().filter_map(|path| path.resolved_path().ok().map(Path::to_owned)).collect()
}

fn with(mut paths: Vec<PathBuf>, another: &Path) -> Vec<PathBuf> {
    paths.push(another.to_owned());
    paths
}

/// Returns the name of a bdev.
fn bdev(path: &PathRef) -> Vec<PathBuf> {
    path.bdev().map(|(_, name)| PathBuf::from(name)).into_iter().collect()
}

/// Returns the last word of a resource's key.
fn name_of(key: &str) -> &str {
    key.rsplit(' ').next().unwrap_or_default()
}

impl SimulatedSystem {
    /// Puts something there that is somebody else's, gone with the next boot.
    pub fn put(&mut self, key: &str, path: &str, below: &[&str]) {
        let below = below.iter().map(PathBuf::from).collect();
        self.resources.push(Simulated {
            key: key.into(),
            run: None,
            made: StepOutput::found_at(path),
            below,
            survives: false,
        });
    }

    /// Reboots: what lives in the kernel is gone, files stay.
    pub fn reboot(&mut self) {
        self.resources.retain(|resource| resource.survives);
        self.settings.clear();
        self.boot += 1;
    }

    /// Returns a copy without what only tests and counts need.
    pub fn contents(&self) -> SimulatedSystem {
        SimulatedSystem { fail_at: None, changes: 0, boot: 0, ..self.clone() }
    }

    /// Returns true if something is there that has this path or name.
    fn has(&self, path: &Path) -> bool {
        self.resources.iter().any(|resource| resource.is_at(path))
    }

    /// Returns the output of a step that makes such a resource.
    fn yield_of(&self, model: &Model) -> StepOutput {
        let key = &model.key;
        let (kind, name) = (key.split(' ').next().unwrap_or_default(), Path::new(name_of(key)));
        let numbered = || (0..).map(|number| PathBuf::from(format!("/dev/{kind}{number}")));
        match model.known_by {
            KnownBy::Number => StepOutput {
                path: numbered().find(|path| !self.has(path)),
                ..StepOutput::default()
            },
            KnownBy::Process => StepOutput {
                process: Some(ProcessId { pid: 100, start_time: 1 }),
                ..StepOutput::default()
            },
            KnownBy::Name if name.is_absolute() => StepOutput::found_at(name),
            KnownBy::Name => {
                StepOutput::found_at(Path::new("/dev/simulated").join(key.replace(' ', "-")))
            }
        }
    }

    fn make(&mut self, model: Model, tag: &RunTag) -> Result<StepOutput> {
        let there =
            self.resources.iter().find(|there| there.key == model.key && !model.is_numbered());
        if let Some(there) = there {
            if !(model.reuses && there.run.is_some()) {
                return Err(anyhow!("{} is there", model.key).context(NothingMade));
            }
            return Ok(StepOutput { reused: true, ..there.made.clone() });
        }
        let made = self.yield_of(&model);
        self.settings.retain(|name, _| !model.puts_back.contains_key(name));
        let Model { key, below, survives, .. } = model;
        self.resources.push(Simulated {
            key,
            run: Some(tag.run_id.clone()),
            made: made.clone(),
            below,
            survives,
        });
        Ok(made)
    }

    fn unmake(&mut self, model: Model, made: &StepOutput) -> Result<()> {
        let key = &model.key;
        let is_it = |there: &Simulated| {
            there.key == *key && (!model.is_numbered() || there.made.path == made.path)
        };
        if let Some(at) = self.resources.iter().position(is_it) {
            let it = &self.resources[at];
            if it.below != model.below {
                bail!(NotOurs(format!("{key} is on something else by now")));
            }
            let above = self.resources.iter().find(|other| other.key != *key && other.is_on(it));
            if let Some(above) = above {
                bail!("{key} is in use by {}", above.key);
            }
            self.resources.remove(at);
        }
        self.settings.extend(model.puts_back);
        Ok(())
    }
}

impl Observer for SimulatedSystem {
    fn ask_machine(&self, question: MachineQuestion<'_>) -> Option<MachineAnswer> {
        Some(match question {
            MachineQuestion::Identity(path) => {
                let name = path.file_name()?.to_str().filter(|name| name.starts_with("nvme"))?;
                let serial = Some(format!("S-{name}"));
                MachineAnswer::Identity(Identity { serial, ..Identity::default() })
            }
            MachineQuestion::File(_) => return None,
            MachineQuestion::Queue(_) => MachineAnswer::Queue(self.settings.clone()),
            MachineQuestion::Arc => {
                let parameter = self.settings.get(PARAMETER).and_then(|bytes| bytes.parse().ok());
                MachineAnswer::Arc(ArcLimit { parameter: parameter.unwrap_or(0), limit: 0 })
            }
            MachineQuestion::SpdkTransport(_) => MachineAnswer::SpdkTransport(false),
            MachineQuestion::NvmetHosts(_) => MachineAnswer::NvmetHosts(Vec::new()),
            MachineQuestion::Vm(vm, _) => MachineAnswer::Vm(format!("{vm} as it was")),
            MachineQuestion::CephImage { .. } => {
                MachineAnswer::CephImage(Before { fsid: "0a1b2c".into(), mapped: Vec::new() })
            }
        })
    }
}

impl PlaceExecutor for SimulatedSystem {
    fn boot_id(&mut self) -> Result<String> {
        Ok(format!("boot-{}", self.boot))
    }

    fn locate_disk(&mut self, key: &DiskKey) -> Result<PathBuf> {
        bail!("no disk here has {key}")
    }

    fn with_observations(&mut self, op: Op) -> Result<Op> {
        Ok(op.with_machine_facts(self))
    }

    fn perform_operation(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput> {
        let made = match Model::from_op(op) {
            Some(model) => self.make(model, tag)?,
            None => {
                let of = changed(op)?;
                ensure!(self.has(of), "{} is not there", of.display());
                StepOutput::default()
            }
        };
        let now = self.changes;
        self.changes += 1;
        ensure!(self.fail_at != Some(now), "simulated failure of change {now}");
        Ok(made)
    }

    fn find_interrupted(
        &mut self,
        op: &Op,
        tag: &RunTag,
        others: &[StepOutput],
    ) -> Result<Option<StepOutput>> {
        let Some(model) = Model::from_op(op) else { return Ok(None) };
        // Nothing but the steps of the run says whose a numbered one is.
        let is_its = |there: &&Simulated| {
            if model.is_numbered() {
                !others.iter().any(|other| other.path == there.made.path)
            } else {
                there.run.as_ref() == Some(&tag.run_id)
            }
        };
        let found = self.resources.iter().filter(|there| there.key == model.key).find(is_its);
        Ok(found.map(|there| there.made.clone()))
    }

    fn undo_operation(&mut self, op: &Op, _: &RunTag, made: &StepOutput) -> Result<()> {
        match (Model::from_op(op), op.act()) {
            (Some(model), Act::Make(resource)) if !resource.stays_after_undo(made) => {
                self.unmake(model, made)
            }
            _ => Ok(()),
        }
    }

    fn read_array_state(&mut self, _: &Op, made: &StepOutput) -> Result<Option<ArrayState>> {
        let is_there = made.path.as_deref().is_some_and(|path| self.has(path));
        Ok(is_there.then_some(ArrayState::Healthy))
    }

    fn read_thing_settings(&mut self, _: &Op, _: &StepOutput) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }

    fn list_serving_threads(&mut self, _: &Op, _: &StepOutput) -> Result<Vec<ServingThread>> {
        Ok(Vec::new())
    }

    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn lacking_needs(&mut self, _: &[AskedNeed]) -> Result<Lacking> {
        Ok(Lacking::default())
    }
}
