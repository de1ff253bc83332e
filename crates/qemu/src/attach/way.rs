//! Trait of the ways to attach a disk to a guest, and what they have in common.

use crate::disk::{Backend, DiskServer, DiskSpec};
use crate::guest_files::can_be_sockets;
use crate::option_value::{CommandLine, OptionValue};
use iotax_drivers::lio::ExportVhostScsi;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::spdk::export::ExportSpdk;
use iotax_drivers::vfio::PassThrough;
use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};

/// Way to attach a disk to a guest.
pub trait AttachWay: Sync {
    /// Returns the word that selects this way in a stack, with the option that selects a variant.
    fn name(&self) -> &'static str;

    /// Returns what the host must have in addition to the needs of every guest, as ids of
    /// `host::needs`.
    fn host_needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the kernel modules that the guest needs for it, in addition to those of every guest.
    fn guest_modules(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if an iothread of its own can serve the disk. The disk then has one unless the
    /// stack says otherwise.
    fn takes_iothread(&self) -> bool {
        true
    }

    /// Returns true if another process accesses the guest's memory, which must then be shared
    /// memory.
    fn shares_memory(&self) -> bool {
        false
    }

    /// Returns the command line of the process that serves the disk in QEMU's place; `None` if
    /// iotax starts no such process. One of the words occurs in no other process's command line.
    fn daemon_command_line(
        &self,
        _disk: &DiskSpec,
        _files: &DaemonFiles,
    ) -> Option<Vec<std::ffi::OsString>> {
        None
    }

    /// Returns true if a disk that is a part of a file must be whole MiB. A file's data without the
    /// marker after them are such a part.
    fn shows_whole_mib(&self) -> bool {
        false
    }

    /// Returns the disk options that this way does not support. A stack that gives one is refused.
    fn lacking_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if the guest gets the drive itself, which nothing else on this host can use
    /// meanwhile.
    fn takes_drive(&self) -> bool {
        false
    }

    /// Returns true if no software in the guest can write a disk that is attached read-only.
    fn keeps_writes_out(&self, _backend: Backend) -> bool {
        !self.takes_drive()
    }

    /// Returns the step that must be done before QEMU starts, with what serves the disk afterwards.
    /// `None` if there is no such step. `below` is the file or device that the disk is on.
    fn step_beforehand(
        &self,
        _disk: &DiskSpec,
        _below: &PathRef,
        _tag: &RunTag,
    ) -> Option<Beforehand> {
        None
    }

    /// Checks that this way supports the disk's options and has the server that it needs.
    ///
    /// # Errors
    /// Names the option or the missing server, usually with a hint.
    fn check_disk_options(&self, _disk: &DiskSpec) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if QEMU shows the disk's serial to the guest; else the guest finds it by its
    /// PCI address.
    fn shows_serial(&self) -> bool {
        true
    }

    /// Returns true if the guest can see that a disk is read-only. Otherwise only its writes fail.
    fn shows_read_only(&self) -> bool {
        true
    }

    /// Returns the properties in which a running QEMU reports the effective options of disk number
    /// `at`.
    fn device_properties(&self, at: usize) -> Vec<Property>;

    /// Returns the properties in which a running QEMU reports the iothreads that serve disk number
    /// `at`: one as a link, several as a list.
    fn thread_properties(&self, _at: usize) -> Vec<Property> {
        Vec::new()
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec);
}

/// A step that must be done before QEMU starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Beforehand {
    /// Purpose of the step, as an infinitive: `take the drive for the guest`.
    pub why: &'static str,
    pub act: DiskAct,
    pub server: DiskServer,
}

/// Disk options that QEMU itself implements, the two of queues first. A passed-through drive has
/// none of them.
pub(super) const OF_QEMU: &[&str] = &[
    "num-queues",
    "queue-size",
    "aio",
    "cache",
    "iothread",
    "iothreads",
    "discard",
    "detect-zeroes",
    "snapshot",
    "format",
    "preallocation",
    "first-writes",
    "cluster-size",
    "backing",
    "lazy-refcounts",
    "l2-cache-size",
];

/// Disk options of QEMU's block layer: all of [`OF_QEMU`] but the two of queues. Of these, only the
/// first (`aio`) can also apply to another server.
pub(super) const OF_QEMUS_BLOCK_LAYER: &[&str] = OF_QEMU.split_at(2).1;

/// A property of an object in a running QEMU, which reports the effective value of a disk option.
pub struct Property {
    pub option: &'static str,
    pub object: String,
    pub name: &'static str,
}

impl Property {
    pub(super) fn new(option: &'static str, object: &str, name: &'static str) -> Property {
        Property { option, object: object.to_owned(), name }
    }
}

/// Files of a process that serves a disk, in the run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonFiles {
    pub socket: PathBuf,
    pub control: PathBuf,
    /// File with the daemon's process id; this path in its command line distinguishes it from every
    /// other process.
    pub pid: PathBuf,
    pub log: PathBuf,
}

impl DaemonFiles {
    pub fn new(directory: &Path, disk: &str) -> DaemonFiles {
        let file = |ending: &str| directory.join(format!("{disk}.{ending}"));
        DaemonFiles {
            socket: file("vhost"),
            control: file("qsd"),
            pid: file("pid"),
            log: file("qsd.log"),
        }
    }

    /// Checks that the paths of the sockets are short enough for Linux. Called only where there is
    /// such a process: these paths are longer than those of the guest.
    ///
    /// # Errors
    /// Bad input: a path is too long.
    pub fn check(&self) -> Result<(), Failed> {
        can_be_sockets([&self.socket, &self.control])
    }
}

/// Returns the ids of the node and the device of disk number `at`.
pub(super) fn ids(at: usize) -> (String, String) {
    (format!("disk{at}"), format!("disk{at}-device"))
}

/// Adds the iothreads of disk number `at` to the command line and returns their ids.
pub(super) fn iothreads(line: &mut CommandLine, at: usize, disk: &DiskSpec) -> Vec<String> {
    let id = |thread: u16| match disk.iothreads {
        1 => format!("iothread{at}"),
        _ => format!("iothread{at}-{thread}"),
    };
    let ids: Vec<String> = (0..disk.iothreads).map(id).collect();
    for id in &ids {
        line.option("-object", OptionValue::beginning_with("iothread").set("id", id));
    }
    ids
}

/// Refuses several iothreads, for devices whose queues no QEMU spreads over them.
pub(super) fn one_thread_at_most(disk: &DiskSpec) -> Result<(), String> {
    match disk.iothreads {
        0 | 1 => Ok(()),
        _ => Err(format!(
            "attach={} has one iothread at most; hint: attach=virtio-blk spreads its queues over several",
            disk.way.name()
        )),
    }
}

/// Returns the PCI slot of disk number `at`, for disks that the guest finds by slot. It is above
/// those that QEMU assigns itself.
pub fn slot(at: usize) -> usize {
    FIRST_SLOT + at
}

const FIRST_SLOT: usize = 0x10;

impl std::fmt::Debug for dyn AttachWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn AttachWay {
    fn eq(&self, other: &dyn AttachWay) -> bool {
        self.name() == other.name()
    }
}

/// Act of a step that must be done before QEMU starts.
#[derive(Clone, Debug, PartialEq)]
pub enum DiskAct {
    ExportSpdk(ExportSpdk),
    ExportVhostScsi(ExportVhostScsi),
    PassThrough(PassThrough),
}
