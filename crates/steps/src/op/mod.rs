//! The operations, one file and one entry in the list for each. An operation is typed data that
//! says what it does. A [`ManagedResource`] is made, found again after an interrupted attempt, and
//! removed; a [`ResourceChange`] is carried out once.

mod afar;
mod arc;
mod array;
mod await_sync;
mod bcache;
mod ceph;
mod directory;
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
mod members;
mod network;
mod partition;
mod passthrough;
mod process;
mod readahead;
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
pub use await_sync::AwaitSync;
pub use bcache::MakeBcache;
pub use ceph::MakeRbdImage;
pub use directory::MakeDirectory;
pub use fabric::{ConnectNbd, ExportIscsi, ExportNbd, NbdServer, RdmaOn, SoftRdma, StartIscsid};
pub use fail_member::FailMember;
pub use file::{FillFile, ForgetFill, MakeFile};
pub use filesystem::{MakeFilesystem, Mount};
pub use fio_target::MakeFioTarget;
pub use krbd::MapRbd;
pub use librbd::ExportLibrbd;
pub use loopdev::AttachLoop;
pub use lvm::{EXTENT, LvmVolume, MakeLvm, Stripes};
pub use machine::ChangeMachine;
pub use network::{MOST_TAPS, MakeBridge, MakeTap, bridge_name, tap_name};
pub use process::{RemoteAgent, Spawn, with_belows};
pub use readahead::SetReadAhead;
pub use rebuild::Rebuild;
pub use scratch::{BuildInitramfs, BuildSeed};
pub use tool::{ChangeByTool, MakeByTool, ToolChange};
pub use wipe::WipeSignatures;
pub use zpool::{MakeZpool, Vdev, ZfsContent};
pub use zpool_member::{AwaitResilver, ZpoolOffline, ZpoolReplace};

use super::resource::{ManagedResource, ResourceChange};
use crate::observer::Observer;
use crate::operation::{Operation, Own};
use anyhow::{Context, Result};
use iotax_drivers::ceph::cluster::{CephChange, ChangeCeph, MakeCeph};
use iotax_drivers::disk_key::DiskKey;
use iotax_drivers::dm::MakeLinear;
use iotax_drivers::iscsi::ConnectIscsi;
use iotax_drivers::lio::ExportVhostScsi;
use iotax_drivers::md::CreateArray;
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::nvmf::ConnectNvmf;
use iotax_drivers::partition::MakePartition;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::refusal::NotOurs;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::spdk::export::ExportSpdk;
use iotax_drivers::spdk::join::{JoinSpdk, SplitSpdk};
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::spdk::raid::{ChangeSpdkArray, SpdkChange};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::vfio::PassThrough;
use iotax_journal as store;
use iotax_qemu::attach::way::DiskAct;
use iotax_qemu::image::MakeImage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

impl From<DiskAct> for Op {
    fn from(act: DiskAct) -> Op {
        match act {
            DiskAct::ExportSpdk(export) => Op::ExportSpdk(export),
            DiskAct::ExportVhostScsi(export) => Op::ExportVhostScsi(export),
            DiskAct::PassThrough(take) => Op::PassThrough(take),
        }
    }
}

/// Lists the operations: each is a [`ManagedResource`] or a [`ResourceChange`].
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
        MakeDirectory,
        MakeFile,
        AttachLoop,
        Mount,
        MakeLvm,
        MakeBcache,
        SetReadAhead,
        MakeZpool,
        LimitArc,
        MakePartition,
        /// Part of a device, or several devices put together.
        MakeLinear,
        /// Array of the kernel's RAID driver.
        CreateArray,
        BuildInitramfs,
        BuildSeed,
        /// PCI drive for a guest.
        PassThrough,
        ExportVhostScsi,
        ExportSpdk,
        JoinSpdk,
        /// Equal parts of a bdev.
        SplitSpdk,
        MakeCeph,
        ExportLibrbd,
        /// Ceph image as a block device of the kernel's client.
        MapRbd,
        MakeFioTarget,
        ExportSpdkNvmf,
        ExportNvmf,
        ConnectNvmf,
        ExportIscsi,
        StartIscsid,
        ConnectIscsi,
        ExportNbd,
        ConnectNbd,
        SoftRdma,
        MakeBridge,
        MakeTap,
        /// Process that lives as long as the stack: QEMU.
        Spawn,
        RemoteAgent,
        MakeFileAfar,
        MakeByTool,
        ChangeMachine,
    }
    changes {
        FillFile,
        ForgetFill,
        MakeFilesystem,
        ZpoolOffline,
        ZpoolReplace,
        AwaitResilver,
        /// Wipes signatures of the kinds that the user has named, on a member.
        WipeSignatures,
        FailMember,
        Rebuild,
        AwaitSync,
        MakeImage,
        ChangeSpdkArray,
        ChangeByTool,
        MakeRbdImage,
        ChangeCeph,
    }
}

/// What an operation does on a machine: makes a resource, or changes one.
pub enum Act<'a> {
    Make(&'a dyn ManagedResource),
    Change(&'a dyn ResourceChange),
}

impl Op {
    /// Returns true if what the operation makes, or a part of it, still exists after a reboot.
    pub fn survives_reboot(&self) -> bool {
        matches!(self.act(), Act::Make(resource) if resource.outlives_reboot())
    }

    pub fn bytes_filled(&self) -> u64 {
        match self {
            Op::FillFile(fill) => fill.bytes,
            Op::MakeFileAfar(file) => file.bytes,
            _ => 0,
        }
    }

    /// Returns the bytes that the machine itself writes to the layer below because of the
    /// operation, for the first sync of an array, a rebuild or a resilver; 0 for other operations.
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

    /// Returns the operation with the number of bytes that it rebuilds, given that `in_use` bytes
    /// of each member are in use. Others than rebuilds are unchanged.
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

    /// Checks that undoing the operation touches only what this run can have made.
    ///
    /// # Errors
    /// [`NotOurs`], naming what undoing would touch.
    pub fn check_own_names(&self, tag: &RunTag, made: &StepOutput) -> Result<()> {
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
        // A name that is a path is checked like every path.
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

    /// Returns the operation with what it records about the machine before the change.
    pub fn with_machine_facts(mut self, machine: &dyn Observer) -> Op {
        self.operation_mut().observe(machine);
        self
    }

    /// Returns the operation with paths in place of references to earlier steps and to disks.
    /// `locate` finds a disk on the machine of the operation.
    ///
    /// # Errors
    /// If a step that it builds on has yielded no path, or `locate` fails.
    pub fn resolved(
        &self,
        yields: &BTreeMap<StepId, StepOutput>,
        locate: &mut dyn FnMut(&DiskKey) -> Result<PathBuf>,
    ) -> Result<Op> {
        let mut op = self.clone();
        for input in op.operation_mut().input_paths() {
            let path = match input {
                // A path is resolved already. The others have a name and no path.
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
