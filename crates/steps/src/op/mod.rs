//! The family of operations: one file and one entry each. An operation is typed data that says what
//! it does. As a [`ManagedResource`] it is made, found again after an interrupted attempt and taken
//! away, as a [`ResourceChange`] it is done.

mod afar;
mod arc;
mod array;
mod await_sync;
mod bcache;
mod ceph;
mod directory;
mod drives;
mod fabric;
mod fail_member;
mod file;
mod filesystem;
mod fio_target;
mod image;
mod krbd;
mod librbd;
mod linear;
mod loopdev;
mod lvm;
mod machine;
mod network;
mod partition;
mod passthrough;
mod process;
mod rebuild;
mod scratch;
mod spdk;
mod spdk_bdev;
mod spdk_nvmf;
mod spdk_raid;
mod tool;
mod vhost_scsi;
mod wipe;
mod zpool;
mod zpool_member;

pub use afar::MakeFileAfar;
pub use arc::LimitArc;
pub use array::{CreateArray, SyncBounds};
pub use await_sync::AwaitSync;
pub use bcache::MakeBcache;
pub use ceph::{CephChange, ChangeCeph, MakeCeph, MakeRbdImage};
pub use directory::MakeDirectory;
pub use drives::Drives;
pub use fabric::{
    ConnectIscsi, ConnectNbd, ConnectNvmf, ExportIscsi, ExportNbd, ExportNvmf, NbdServer, RdmaOn,
    SoftRdma, StartIscsid,
};
pub use fail_member::FailMember;
pub use file::{FillFile, ForgetFill, MakeFile};
pub use filesystem::{MakeFilesystem, Mount};
pub use fio_target::MakeFioTarget;
pub use image::MakeImage;
pub use krbd::MapRbd;
pub use librbd::ExportLibrbd;
pub use linear::{MakeLinear, Stretch};
pub use loopdev::AttachLoop;
pub use lvm::{EXTENT, LvmVolume, MakeLvm, Stripes};
pub use machine::ChangeMachine;
pub use network::{MOST_TAPS, MakeBridge, MakeTap, bridge_name, tap_name};
pub use partition::MakePartition;
pub use passthrough::PassThrough;
pub use process::{RemoteAgent, Spawn, with_belows};
pub use rebuild::Rebuild;
pub use scratch::{BuildInitramfs, BuildSeed};
pub use spdk::{BdevPart, ExportSpdk, SpdkKind, kind as spdk_kind};
pub use spdk_bdev::{JoinSpdk, SpdkLvol, SpdkRaid, SplitSpdk, array_below, member as spdk_member};
pub use spdk_nvmf::{ExportSpdkNvmf, METHODS as SPDK_NVMF_METHODS};
pub use spdk_raid::{ChangeSpdkArray, SpdkChange};
pub use tool::{ChangeByTool, MakeByTool, ToolChange};
pub use vhost_scsi::ExportVhostScsi;
pub use wipe::WipeSignatures;
pub use zpool::{MakeZpool, Vdev, ZfsContent};
pub use zpool_member::{AwaitResilver, ZpoolOffline, ZpoolReplace};

use super::resource::{ManagedResource, ResourceChange};
use super::system::{NotOurs, Observer, RealSystem};
use super::{PathRef, RunTag, StepId, StepOutput};
use crate::guest::DiskKey;
use anyhow::{Context, Result};
use iotax_journal as store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The operations: each is a [`ManagedResource`] or a [`ResourceChange`].
macro_rules! operations {
    (
        resources { $($(#[$of_resource:meta])* $resource:ident,)* }
        changes { $($(#[$of_change:meta])* $change:ident,)* }
    ) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "op", rename_all = "snake_case")]
        pub enum Op {
            $($(#[$of_resource])* $resource($resource),)*
            $($(#[$of_change])* $change($change),)*
        }

        impl Op {
            pub fn operation(&self) -> &dyn Operation {
                match self {
                    $(Op::$resource(op) => op,)*
                    $(Op::$change(op) => op,)*
                }
            }

            fn operation_mut(&mut self) -> &mut dyn Operation {
                match self {
                    $(Op::$resource(op) => op,)*
                    $(Op::$change(op) => op,)*
                }
            }

            /// What it does to a machine.
            pub fn act(&self) -> Act<'_> {
                match self {
                    $(Op::$resource(op) => Act::Make(op),)*
                    $(Op::$change(op) => Act::Change(op),)*
                }
            }
        }
    };
}

operations! {
    resources {
        /// A directory of the run.
        MakeDirectory,
        /// A file of ours.
        MakeFile,
        AttachLoop,
        Mount,
        /// A volume group and a volume of LVM's.
        MakeLvm,
        /// A cache of bcache's before a drive.
        MakeBcache,
        /// A pool of ZFS and what is in it.
        MakeZpool,
        /// The limit of ZFS's cache.
        LimitArc,
        /// A partition table with one partition.
        MakePartition,
        /// A part of a device, or several put together.
        MakeLinear,
        /// An array of the kernel's RAID.
        CreateArray,
        /// The initramfs of a guest.
        BuildInitramfs,
        /// The seed of a guest whose system is not ours.
        BuildSeed,
        /// A PCI drive for a guest.
        PassThrough,
        /// A LUN of the kernel's target.
        ExportVhostScsi,
        /// A disk in a running SPDK target.
        ExportSpdk,
        /// A bdev over several files or devices in a running SPDK target.
        JoinSpdk,
        /// Equal parts of a bdev.
        SplitSpdk,
        /// A cluster of Ceph's.
        MakeCeph,
        /// An image of Ceph's as a file.
        ExportLibrbd,
        /// An image of Ceph's as a block device of the kernel's client.
        MapRbd,
        /// What fio reaches as a client of Ceph's.
        MakeFioTarget,
        /// A bdev's NVMe-oF subsystem in a running SPDK target.
        ExportSpdkNvmf,
        /// A subsystem of the kernel's NVMe target.
        ExportNvmf,
        /// A controller of one.
        ConnectNvmf,
        /// A target of the kernel's iSCSI.
        ExportIscsi,
        StartIscsid,
        /// A session with a target.
        ConnectIscsi,
        /// An export of a qemu-nbd.
        ExportNbd,
        /// The device over one.
        ConnectNbd,
        SoftRdma,
        /// The bridge that guests' network cards are on.
        MakeBridge,
        /// This host's end of a guest's network card.
        MakeTap,
        /// A process that lives as long as the stack: QEMU.
        Spawn,
        /// Our binary on a host over SSH.
        RemoteAgent,
        /// A file of ours on a host without an agent.
        MakeFileAfar,
        /// What the program of an engine makes that iotax does not know.
        MakeByTool,
        /// Other settings of an existing virtual machine.
        ChangeMachine,
    }
    changes {
        FillFile,
        /// What a file's marker says of it.
        ForgetFill,
        MakeFilesystem,
        /// A member of a pool taken offline.
        ZpoolOffline,
        /// A member of a pool that comes back.
        ZpoolReplace,
        /// A resilver waited for.
        AwaitResilver,
        /// What the user has given up of a member.
        WipeSignatures,
        /// A member of an array that fails.
        FailMember,
        /// A member of an array that comes back.
        Rebuild,
        /// Until the members of an array are whole.
        AwaitSync,
        /// An image within a file or device.
        MakeImage,
        /// A member that leaves an array of a running SPDK target, comes back or is waited for.
        ChangeSpdkArray,
        /// A member of what such an engine made that fails, comes back or is waited for.
        ChangeByTool,
        /// An image in a cluster of ours.
        MakeRbdImage,
        /// An OSD that ends, comes back empty or is waited for.
        ChangeCeph,
    }
}

/// What an operation does to a machine.
pub enum Act<'a> {
    /// It makes something, and takes it away when it is undone.
    Make(&'a dyn ManagedResource),
    /// It changes something that is there.
    Change(&'a dyn ResourceChange),
}

/// What undoing does, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoing {
    /// `removed`, `ended`: it reads before what it is done to and after `would be`.
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

/// Something that undoing removes, ends or changes, by which it is seen that only this run can have
/// made it.
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
    fn observe(&mut self, _machine: &dyn Observer) {}

    /// What undoing touches that the run alone can have made: a journal is never believed beyond
    /// that. Devices, drives and files outside of the run's folder are known by what undoing itself
    /// looks at (markers, ids on drives, inodes).
    fn own_resources<'a>(&'a self, _made: &'a StepOutput) -> Vec<Own<'a>> {
        Vec::new()
    }

    /// What undoing does in a few words, with what it made where that is known; `None`: it has
    /// nothing of its own to undo.
    fn undoing(&self, _made: Option<&StepOutput>) -> Option<Undoing> {
        None
    }

    /// Configuration of the cluster of storage that it makes, by which that is asked for its state.
    fn cluster(&self) -> Option<PathBuf> {
        None
    }

    /// The command that a person would type to undo it, when `undo` failed.
    fn undo_by_hand(&self, _tag: &RunTag, _made: &StepOutput) -> Option<String> {
        None
    }
}

impl Op {
    /// Whether what it made, or a part of it, is still there after a reboot.
    pub fn survives_reboot(&self) -> bool {
        matches!(self.act(), Act::Make(resource) if resource.survives())
    }

    /// Bytes of data that it fills a file with.
    pub fn bytes_filled(&self) -> u64 {
        match self {
            Op::FillFile(fill) => fill.bytes,
            Op::MakeFileAfar(file) => file.bytes,
            _ => 0,
        }
    }

    /// Bytes that it has the machine write to what is below: the first sync of an array, a rebuild,
    /// a resilver.
    pub fn bytes_below(&self) -> u64 {
        match self {
            Op::CreateArray(array) => array.first_sync_bytes(),
            Op::Rebuild(rebuild) => rebuild.bytes,
            Op::ZpoolReplace(replace) => replace.bytes,
            Op::ChangeSpdkArray(change) => change.bytes,
            Op::ChangeByTool(change) => change.bytes,
            Op::ChangeCeph(change) => change.bytes,
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
            Op::ChangeByTool(change) if matches!(change.change, ToolChange::Returns(_)) => {
                change.bytes = in_use;
            }
            Op::ChangeCeph(change) if matches!(change.change, CephChange::Returns(_)) => {
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
    pub fn check_own(&self, tag: &RunTag, made: &StepOutput) -> Result<()> {
        let folder = &tag.run_dir;
        let is_within = |path: &Path| {
            path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir)
        };
        // The folder is ours alone, and iotax makes no links in it.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        let through_a_link = |path: &Path| {
            path.ancestors().take_while(|above| *above != folder.as_path()).any(is_link)
        };
        let is_part = |name: &str| {
            !name.is_empty() && !name.contains(['/', '\0']) && ![".", ".."].contains(&name)
        };
        let refuse =
            |what: &str, why: String| Err(NotOurs(format!("{what} is {why}: left alone")).into());
        // A name that is a path is held like every path.
        let as_path = |own| match own {
            Own::Named(name) if name.starts_with('/') => Own::InFolder(Path::new(name)),
            other => other,
        };
        for own in self.operation().own_resources(made).into_iter().map(as_path) {
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
                    return refuse(
                        &path.display().to_string(),
                        "a record of the run itself".into(),
                    );
                }
                Own::Part(name) if !is_part(name) => {
                    return refuse(name, "no name of the kernel's".into());
                }
                Own::Named(name) if !(tag.is_in(name) && is_part(name)) => {
                    return refuse(name, format!("no name of run {}", tag.run_id));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The same operation with what it must know of the machine before it changes it.
    pub fn observed(mut self, machine: &dyn Observer) -> Op {
        self.operation_mut().observe(machine);
        self
    }

    /// The same operation with every path filled in that a step yielded, or that only its place
    /// knows.
    ///
    /// # Errors
    /// When a step that it builds on has yielded no path; what `locate` says.
    pub fn resolved(
        &self,
        yields: &BTreeMap<StepId, StepOutput>,
        locate: &mut dyn FnMut(&DiskKey) -> Result<PathBuf>,
    ) -> Result<Op> {
        let mut op = self.clone();
        for input in op.operation_mut().inputs() {
            let path = match input {
                // What no kernel has is named, and no path.
                PathRef::Path(_)
                | PathRef::Bdev { .. }
                | PathRef::RbdPool { .. }
                | PathRef::Rbd(_)
                | PathRef::Nothing => {
                    continue;
                }
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
