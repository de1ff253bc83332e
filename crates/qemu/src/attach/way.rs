//! What a way for a disk to reach a guest is asked for, and what the ways have in common.

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

/// Way for a disk to reach a guest.
pub trait AttachWay: Sync {
    /// Returns the word for this way in stacks.
    fn name(&self) -> &'static str;

    /// Returns the ids of `host::needs` beyond those of every guest.
    fn host_needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the modules of the guest's kernel beyond those that it boots with.
    fn guest_modules(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if a thread of its own can serve it; then it has one unless asked otherwise.
    fn takes_iothread(&self) -> bool {
        true
    }

    /// Returns true if another process reaches into the guest's memory, which is then a shared one.
    fn shares_memory(&self) -> bool {
        false
    }

    /// Returns the program that serves the disk in QEMU's stead, with its arguments. One of its
    /// words occurs in no other process.
    fn daemon_command_line(
        &self,
        _disk: &DiskSpec,
        _files: &DaemonFiles,
    ) -> Option<Vec<std::ffi::OsString>> {
        None
    }

    /// Returns true if a part of a file, or its data without the marker after them, is shown in
    /// whole MiB only.
    fn shows_whole_mib(&self) -> bool {
        false
    }

    /// Returns the options of a disk that it does not have; a stack that names one is refused.
    fn lacking_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if it takes the drive itself, which nobody else on this host can use meanwhile.
    fn takes_drive(&self) -> bool {
        false
    }

    /// Returns true if a disk that is read-only to its guest cannot be written by it, whatever runs
    /// there.
    fn keeps_writes_out(&self, _backend: Backend) -> bool {
        !self.takes_drive()
    }

    /// Returns the step that must be done before QEMU can have the disk, with what serves it then.
    fn step_beforehand(
        &self,
        _disk: &DiskSpec,
        _below: &PathRef,
        _tag: &RunTag,
    ) -> Option<Beforehand> {
        None
    }

    /// Checks that this way takes all options of the disk.
    ///
    /// # Errors
    /// Which option, and what would do.
    fn check_disk_options(&self, _disk: &DiskSpec) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if QEMU shows the disk's serial to the guest; else the guest finds it by its
    /// PCI address.
    fn shows_serial(&self) -> bool {
        true
    }

    /// Returns true if a disk that cannot be written says so to the guest, instead of failing its
    /// writes.
    fn shows_read_only(&self) -> bool {
        true
    }

    /// Returns where QEMU reports what became of options of disk number `at`: option, object,
    /// property.
    fn device_properties(&self, at: usize) -> Vec<Property>;

    /// Returns where QEMU reports which of its threads serve disk number `at`: one as a link,
    /// several as a list.
    fn thread_properties(&self, _at: usize) -> Vec<Property> {
        Vec::new()
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec);
}

/// A step before QEMU's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Beforehand {
    /// Purpose of the step, as a clause.
    pub why: &'static str,
    pub act: DiskAct,
    pub server: DiskServer,
}

/// Options of a disk that QEMU itself provides, those of its queues first. A passed-through drive
/// has none of them.
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

/// Options that only QEMU's block layer provides, except the first, which others may provide, too:
/// all of [`OF_QEMU`] but the two of the queues.
pub(super) const OF_QEMUS_BLOCK_LAYER: &[&str] = OF_QEMU.split_at(2).1;

/// A property of an object of a running QEMU.
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

/// The files of a process that serves a disk, in the run's directory.
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

    /// Checks the paths. It is called where there is such a process only: these paths are longer
    /// than those of the guest.
    ///
    /// # Errors
    /// Bad input: a path that no Unix socket can have.
    pub fn check(&self) -> Result<(), Failed> {
        can_be_sockets([&self.socket, &self.control])
    }
}

/// Returns the ids of the node and the device of disk number `at`.
pub(super) fn ids(at: usize) -> (String, String) {
    (format!("disk{at}"), format!("disk{at}-device"))
}

/// Adds the threads that serve disk number `at` and returns their ids.
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

/// Refuses more than one thread where no QEMU spreads the queues of such a disk over them.
pub(super) fn one_thread_at_most(disk: &DiskSpec) -> Result<(), String> {
    match disk.iothreads {
        0 | 1 => Ok(()),
        _ => Err(format!(
            "attach={} has one iothread at most; hint: attach=virtio-blk spreads its queues over several",
            disk.way.name()
        )),
    }
}

/// Returns the PCI slot of disk number `at`, where the guest must find it by that: above those that
/// QEMU assigns itself.
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

/// Act that is due before QEMU can have a disk.
#[derive(Clone, Debug, PartialEq)]
pub enum DiskAct {
    ExportSpdk(ExportSpdk),
    ExportVhostScsi(ExportVhostScsi),
    PassThrough(PassThrough),
}
