//! The family of operations: one file and one entry each. An operation is typed data; it says
//! what it does, does it through a [`System`], finds again what an interrupted attempt made, and
//! undoes it.

mod afar;
mod arc;
mod array;
mod await_sync;
mod bcache;
mod directory;
mod drives;
mod fabric;
mod fail_member;
mod file;
mod filesystem;
mod image;
mod linear;
mod loopdev;
mod lvm;
mod partition;
mod passthrough;
mod process;
mod rebuild;
mod scratch;
mod spdk;
mod spdk_bdev;
mod spdk_nvmf;
mod spdk_raid;
mod vhost_scsi;
mod wipe;
mod zpool;
mod zpool_member;

pub use afar::MakeFileAfar;
pub use arc::LimitArc;
pub use array::{Bounds, CreateArray};
pub use await_sync::AwaitSync;
pub use bcache::MakeBcache;
pub use directory::MakeDirectory;
pub use drives::Drives;
pub use fabric::{
    ConnectIscsi, ConnectNbd, ConnectNvmf, ExportIscsi, ExportNbd, ExportNvmf, NbdServer, RdmaOn, SoftRdma,
    StartIscsid,
};
pub use fail_member::FailMember;
pub use file::{FillFile, ForgetFill, MakeFile};
pub use filesystem::{MakeFilesystem, Mount};
pub use image::MakeImage;
pub use linear::{MakeLinear, Stretch};
pub use loopdev::AttachLoop;
pub use lvm::{EXTENT, LvmVolume, MakeLvm, Stripes};
pub use partition::MakePartition;
pub use passthrough::PassThrough;
pub use process::{RemoteAgent, Spawn, with_belows};
pub use rebuild::Rebuild;
pub use scratch::{BuildInitramfs, BuildSeed};
pub use spdk::{ExportSpdk, Part, SpdkKind, kind as spdk_kind};
pub use spdk_bdev::{JoinSpdk, SpdkLvol, SpdkRaid, SplitSpdk, array_below, member as spdk_member};
pub use spdk_nvmf::{ExportSpdkNvmf, METHODS as SPDK_NVMF_METHODS};
pub use spdk_raid::{ChangeSpdkArray, SpdkChange};
pub use vhost_scsi::ExportVhostScsi;
pub use wipe::WipeSignatures;
pub use zpool::{MakeZpool, Vdev, ZfsContent};
pub use zpool_member::{AwaitResilver, ZpoolOffline, ZpoolReplace};

use super::settings::ThingSettings;
use super::state::ArrayState;
use super::system::{NotOurs, System};
use super::{PathRef, RunTag, StepId, Yield};
use crate::layer::guest::DiskKey;
use crate::store;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// One typed change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A directory of the run.
    MakeDirectory(MakeDirectory),
    /// A file of ours.
    MakeFile(MakeFile),
    /// Its content.
    FillFile(FillFile),
    /// What its marker says of it.
    ForgetFill(ForgetFill),
    /// A loop device.
    AttachLoop(AttachLoop),
    /// A file system.
    MakeFilesystem(MakeFilesystem),
    /// A mount.
    Mount(Mount),
    /// A volume group and a volume of LVM's.
    MakeLvm(MakeLvm),
    /// A cache of bcache's before a drive.
    MakeBcache(MakeBcache),
    /// A pool of ZFS and what is in it.
    MakeZpool(MakeZpool),
    /// A member of a pool taken offline.
    ZpoolOffline(ZpoolOffline),
    /// One that comes back.
    ZpoolReplace(ZpoolReplace),
    /// A resilver waited for.
    AwaitResilver(AwaitResilver),
    /// The limit of ZFS's cache.
    LimitArc(LimitArc),
    /// What the user has given up of a member.
    WipeSignatures(WipeSignatures),
    /// A partition table with one partition.
    MakePartition(MakePartition),
    /// A part of a device, or several put together.
    MakeLinear(MakeLinear),
    /// An array of the kernel's RAID.
    CreateArray(CreateArray),
    /// A member of it that fails.
    FailMember(FailMember),
    /// A member that comes back.
    Rebuild(Rebuild),
    /// Until its members are whole.
    AwaitSync(AwaitSync),
    /// An image within a file or device.
    MakeImage(MakeImage),
    /// The initramfs of a guest.
    BuildInitramfs(BuildInitramfs),
    /// The seed of a guest whose system is not ours.
    BuildSeed(BuildSeed),
    /// A PCI drive for a guest.
    PassThrough(PassThrough),
    /// A LUN of the kernel's target.
    ExportVhostScsi(ExportVhostScsi),
    /// A disk in a running SPDK target.
    ExportSpdk(ExportSpdk),
    /// A bdev over several files or devices in a running SPDK target.
    JoinSpdk(JoinSpdk),
    /// Equal parts of a bdev.
    SplitSpdk(SplitSpdk),
    /// A bdev's NVMe-oF subsystem in a running SPDK target.
    ExportSpdkNvmf(ExportSpdkNvmf),
    /// A member that leaves an array of a running SPDK target, comes back or is waited for.
    ChangeSpdkArray(ChangeSpdkArray),
    /// A subsystem of the kernel's NVMe target.
    ExportNvmf(ExportNvmf),
    /// A controller of one.
    ConnectNvmf(ConnectNvmf),
    /// A target of the kernel's iSCSI.
    ExportIscsi(ExportIscsi),
    /// open-iscsi's daemon.
    StartIscsid(StartIscsid),
    /// A session with a target.
    ConnectIscsi(ConnectIscsi),
    /// An export of a qemu-nbd.
    ExportNbd(ExportNbd),
    /// The device over one.
    ConnectNbd(ConnectNbd),
    /// An RDMA device.
    SoftRdma(SoftRdma),
    /// A process that lives as long as the stack: QEMU.
    Spawn(Spawn),
    /// Our binary on a host over SSH.
    RemoteAgent(RemoteAgent),
    /// A file of ours on a host without an agent.
    MakeFileAfar(MakeFileAfar),
}

/// What undoing does, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoing {
    /// `removed`, `ended`: it reads before what it is done to and behind `would be`.
    pub did: String,
    /// What it is done to: `guest vm0`, `/srv/x.img`.
    pub what: String,
}

impl Undoing {
    /// Of what has a name or a path.
    pub fn new(did: &'static str, what: impl std::fmt::Display) -> Undoing {
        Undoing { did: did.to_owned(), what: what.to_string() }
    }

    /// Of a file that stays when it was there before.
    fn of_file(path: impl std::fmt::Display, stays: bool) -> Undoing {
        Undoing::new(if stays { "kept" } else { "removed" }, path)
    }
}

impl std::fmt::Display for Undoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.did, self.what)
    }
}

/// Something that undoing removes, ends or changes, by which it is seen that only this run can have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own<'a> {
    /// A path in the run's folder, or that folder.
    InFolder(&'a Path),
    /// A name that carries the run's id, or a path in its folder.
    Named(&'a str),
    /// A name that becomes one part of a path of the kernel's.
    Part(&'a str),
}

/// What each operation says of itself.
pub trait Operation {
    /// The exact act, for `plan` and the journal's reader.
    fn describe(&self) -> String;

    /// What cannot be brought back, if anything.
    fn irreversible(&self) -> Option<String> {
        None
    }

    /// Paths that earlier steps yield.
    fn inputs(&mut self) -> Vec<&mut PathRef> {
        Vec::new()
    }

    /// Notes what the machine would not tell any more once it was changed: it goes into the intent.
    fn observe(&mut self, _system: &dyn System) {}

    /// Does it.
    ///
    /// # Errors
    /// With what could not be done and why; what was half done is found again by `find`.
    fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield>;

    /// What an interrupted attempt of this run made, found by its name or tag. What makes nothing of its
    /// own (content of a file that another step made) leaves this and the undoing as they are. `others` are
    /// what other steps of the run are known to have made: that is never this step's.
    ///
    /// # Errors
    /// When the machine cannot be asked.
    fn find(&self, _system: &dyn System, _tag: &RunTag, _others: &[Yield]) -> Result<Option<Yield>> {
        Ok(None)
    }

    /// In which state what it made is, where that is more than being there.
    ///
    /// # Errors
    /// When the machine cannot be asked.
    fn state(&self, _system: &dyn System, _made: &Yield) -> Result<Option<ArrayState>> {
        Ok(None)
    }

    /// How what it made really is.
    ///
    /// # Errors
    /// When the machine cannot be asked.
    fn settings(&self, _system: &dyn System, _made: &Yield) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }

    /// What undoing touches that the run alone can have made: a journal is never believed beyond that. Devices, drives and files
    /// outside of the run's folder are known by what undoing itself looks at (markers, ids on drives, inodes).
    fn own<'a>(&'a self, _made: &'a Yield) -> Vec<Own<'a>> {
        Vec::new()
    }

    /// Undoes it; done already is fine.
    ///
    /// # Errors
    /// When something of it is still there.
    fn undo(&self, _system: &mut dyn System, _tag: &RunTag, _made: &Yield) -> Result<()> {
        Ok(())
    }

    /// The same in a few words, with what it made where that is known; `None`: it has nothing of its own to undo.
    fn undoing(&self, _made: Option<&Yield>) -> Option<Undoing> {
        None
    }

    /// The command that a person would type to undo it, when `undo` failed.
    fn undo_by_hand(&self, _tag: &RunTag, _made: &Yield) -> Option<String> {
        None
    }

    /// Whether it is still there after a reboot (a file is, a mount is not).
    fn survives_reboot(&self) -> bool;
}

impl Op {
    /// Of what is read back once it is up: the layer that makes it so, and which part of it, where it has several.
    pub fn told_as(&self) -> Option<(&'static str, &'static str)> {
        use crate::layer::catalog::{bcache, iscsi, lvm, mdraid, nbd, nvmf, spdk, zfs};
        match self {
            Op::CreateArray(_) => Some((mdraid::HELP.name, "")),
            Op::MakeLvm(_) => Some((lvm::HELP.name, "")),
            Op::MakeBcache(_) => Some((bcache::HELP.name, "")),
            Op::MakeZpool(_) => Some((zfs::HELP.name, "")),
            Op::JoinSpdk(_) => Some((spdk::HELP.name, "")),
            Op::ExportNvmf(_) => Some((nvmf::HELP.name, "target")),
            Op::ConnectNvmf(_) => Some((nvmf::HELP.name, "host")),
            Op::ExportIscsi(_) => Some((iscsi::HELP.name, "target")),
            Op::ConnectIscsi(_) => Some((iscsi::HELP.name, "initiator")),
            Op::ConnectNbd(_) => Some((nbd::HELP.name, "client")),
            _ => None,
        }
    }
}

/// The methods of an operation whose result is a [`Thing`](crate::step::thing::Thing): within its `impl Operation`.
macro_rules! by_thing {
    () => {
        fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield> {
            system.make_thing(self, tag)
        }

        fn find(&self, system: &dyn System, tag: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
            system.find_thing(self, tag)
        }

        fn undo(&self, system: &mut dyn System, tag: &RunTag, made: &Yield) -> Result<()> {
            system.unmake_thing(self, tag, made)
        }

        fn state(&self, system: &dyn System, made: &Yield) -> Result<Option<crate::step::state::ArrayState>> {
            system.state_of_thing(self, made)
        }

        fn settings(
            &self,
            system: &dyn System,
            made: &Yield,
        ) -> Result<crate::step::settings::ThingSettings> {
            system.settings_of_thing(self, made)
        }

        fn survives_reboot(&self) -> bool {
            crate::step::thing::Thing::survives(self)
        }
    };
}
use by_thing;

/// Those of one that is a [`Change`](crate::step::thing::Change) of a thing that stands: it goes with the thing.
macro_rules! by_change {
    () => {
        fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
            system.change_thing(self)?;
            Ok(Yield::default())
        }

        fn survives_reboot(&self) -> bool {
            false
        }
    };
}
use by_change;

/// Whatever the operation is, as what it can do.
macro_rules! as_operation {
    ($op:expr) => {
        match $op {
            Op::MakeDirectory(op) => op,
            Op::MakeFile(op) => op,
            Op::FillFile(op) => op,
            Op::ForgetFill(op) => op,
            Op::AttachLoop(op) => op,
            Op::MakeFilesystem(op) => op,
            Op::Mount(op) => op,
            Op::MakeLvm(op) => op,
            Op::MakeBcache(op) => op,
            Op::MakeZpool(op) => op,
            Op::ZpoolOffline(op) => op,
            Op::ZpoolReplace(op) => op,
            Op::AwaitResilver(op) => op,
            Op::LimitArc(op) => op,
            Op::WipeSignatures(op) => op,
            Op::MakePartition(op) => op,
            Op::MakeLinear(op) => op,
            Op::CreateArray(op) => op,
            Op::FailMember(op) => op,
            Op::Rebuild(op) => op,
            Op::AwaitSync(op) => op,
            Op::MakeImage(op) => op,
            Op::BuildInitramfs(op) => op,
            Op::BuildSeed(op) => op,
            Op::PassThrough(op) => op,
            Op::ExportVhostScsi(op) => op,
            Op::ExportSpdk(op) => op,
            Op::JoinSpdk(op) => op,
            Op::SplitSpdk(op) => op,
            Op::ExportSpdkNvmf(op) => op,
            Op::ChangeSpdkArray(op) => op,
            Op::ExportNvmf(op) => op,
            Op::ConnectNvmf(op) => op,
            Op::ExportIscsi(op) => op,
            Op::StartIscsid(op) => op,
            Op::ConnectIscsi(op) => op,
            Op::ExportNbd(op) => op,
            Op::ConnectNbd(op) => op,
            Op::SoftRdma(op) => op,
            Op::Spawn(op) => op,
            Op::RemoteAgent(op) => op,
            Op::MakeFileAfar(op) => op,
        }
    };
}

impl Op {
    /// Bytes of data that it fills a file with.
    pub fn bytes_filled(&self) -> u64 {
        match self {
            Op::FillFile(fill) => fill.bytes,
            Op::MakeFileAfar(file) => file.bytes,
            _ => 0,
        }
    }

    /// Bytes that it has the machine write to what is below: the first sync of an array, a rebuild, a resilver.
    pub fn bytes_below(&self) -> u64 {
        match self {
            Op::CreateArray(array) => array.first_sync_bytes(),
            Op::Rebuild(rebuild) => rebuild.bytes,
            Op::ZpoolReplace(replace) => replace.bytes,
            Op::ChangeSpdkArray(change) => change.bytes,
            _ => 0,
        }
    }

    /// The same of an array whose members have so many bytes in use.
    #[must_use]
    pub fn of_members(mut self, in_use: u64) -> Op {
        match &mut self {
            Op::Rebuild(rebuild) => rebuild.bytes = in_use,
            Op::ZpoolReplace(replace) => replace.bytes = in_use,
            Op::ChangeSpdkArray(change) if matches!(change.change, SpdkChange::Returns(_)) => {
                change.bytes = in_use;
            }
            _ => {}
        }
        self
    }

    /// Whether undoing it would touch nothing but what this run can have made.
    ///
    /// # Errors
    /// [`NotOurs`] with what that would be.
    pub fn check_own(&self, tag: &RunTag, made: &Yield) -> Result<()> {
        let folder = &tag.run_dir;
        let is_within = |path: &Path| {
            path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir)
        };
        // The folder is ours alone, and iotax makes no links in it.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        let through_a_link =
            |path: &Path| path.ancestors().take_while(|above| *above != folder.as_path()).any(is_link);
        let is_part =
            |name: &str| !name.is_empty() && !name.contains(['/', '\0']) && ![".", ".."].contains(&name);
        let refuse = |what: &str, why: String| Err(NotOurs(format!("{what} is {why}: left alone")).into());
        // A name that is a path is held like every path.
        let as_path = |own| match own {
            Own::Named(name) if name.starts_with('/') => Own::InFolder(Path::new(name)),
            other => other,
        };
        for own in self.operation().own(made).into_iter().map(as_path) {
            match own {
                Own::InFolder(path) if !is_within(path) => {
                    return refuse(
                        &path.display().to_string(),
                        format!("not in the run's folder {}", folder.display()),
                    );
                }
                Own::InFolder(path) if through_a_link(path) => {
                    return refuse(&path.display().to_string(), "reached through a link".into());
                }
                Own::InFolder(path) if path.file_name().is_some_and(store::is_file_of_run) => {
                    return refuse(&path.display().to_string(), "a record of the run itself".into());
                }
                Own::Part(name) if !is_part(name) => return refuse(name, "no name of the kernel's".into()),
                Own::Named(name) if !(tag.is_in(name) && is_part(name)) => {
                    return refuse(name, format!("no name of run {}", tag.run_id));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The operation itself.
    pub fn operation(&self) -> &dyn Operation {
        as_operation!(self)
    }

    fn operation_mut(&mut self) -> &mut dyn Operation {
        as_operation!(self)
    }

    /// The same operation with what it must know of the machine before it changes it.
    pub fn observed(mut self, system: &dyn System) -> Op {
        self.operation_mut().observe(system);
        self
    }

    /// The same operation with every path filled in that a step yielded, or that only its place knows.
    ///
    /// # Errors
    /// When a step that it builds on has yielded no path; what `locate` says.
    pub fn resolved(
        &self,
        yields: &BTreeMap<StepId, Yield>,
        locate: &mut dyn FnMut(&DiskKey) -> Result<PathBuf>,
    ) -> Result<Op> {
        let mut op = self.clone();
        for input in op.operation_mut().inputs() {
            let path = match input {
                // A bdev is named, and no path.
                PathRef::Path(_) | PathRef::Bdev { .. } => continue,
                PathRef::Yield(step) => {
                    let path = yields.get(step).and_then(|made| made.path.clone());
                    path.with_context(|| format!("step {step} has yielded no path"))?
                }
                PathRef::Serial(serial) => locate(&DiskKey::Serial(serial.clone()))?,
                PathRef::Pci(address) => locate(&DiskKey::Pci(address.clone()))?,
            };
            *input = PathRef::Path(path);
        }
        Ok(op)
    }
}
