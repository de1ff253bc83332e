//! A guest's disk as QEMU opens it: cache mode, how the host's I/O is issued, block node. How it is
//! attached to the guest is up to its [`AttachWay`].

use super::version::Version;
use crate::attach::way::AttachWay;
use crate::option_value::{CommandLine, OptionValue, is_plain, on_off};
use crate::qcow2::Qcow2;
use iotax_drivers::path_ref::RbdImage;
use iotax_host::pci::PciDrive;
use std::path::{Path, PathBuf};

/// QEMU's cache modes, by three settings of QEMU's own: `cache.direct` (O_DIRECT on the host),
/// `cache.no-flush` (the guest's flushes are ignored) and `write-cache` (the guest sees a volatile
/// cache; without it, each write is flushed).
///
/// | mode         | `cache.direct` | `cache.no-flush` | `write-cache` |
/// |--------------|----------------|------------------|---------------|
/// | none         | on             | off              | on            |
/// | writeback    | off            | off              | on            |
/// | writethrough | off            | off              | off           |
/// | directsync   | on             | off              | off           |
/// | unsafe       | off            | on               | on            |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    None,
    Writeback,
    Writethrough,
    Directsync,
    /// Uses the host's page cache and ignores the guest's flushes: a crash of the host loses data.
    Unsafe,
}

impl Cache {
    pub const ALL: &[(&str, Cache)] = &[
        ("none", Cache::None),
        ("writeback", Cache::Writeback),
        ("writethrough", Cache::Writethrough),
        ("directsync", Cache::Directsync),
        ("unsafe", Cache::Unsafe),
    ];

    pub fn direct(self) -> bool {
        matches!(self, Cache::None | Cache::Directsync)
    }

    pub fn no_flush(self) -> bool {
        self == Cache::Unsafe
    }

    pub fn write_cache(self) -> bool {
        !matches!(self, Cache::Writethrough | Cache::Directsync)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aio {
    Threads,
    /// Linux AIO; needs `cache.direct`.
    Native,
    /// io_uring; needs a QEMU built with it and a kernel that allows it, see `io_uring_works`.
    IoUring,
}

impl Aio {
    pub const ALL: &[(&str, Aio)] =
        &[("threads", Aio::Threads), ("native", Aio::Native), ("io_uring", Aio::IoUring)];

    pub fn word(self) -> &'static str {
        match self {
            Aio::Threads => "threads",
            Aio::Native => "native",
            Aio::IoUring => "io_uring",
        }
    }
}

/// Kind of file that the disk is on, which determines QEMU's block driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    File,
    HostDevice,
}

impl Backend {
    pub fn driver(self) -> &'static str {
        match self {
            Backend::File => "file",
            Backend::HostDevice => "host_device",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectZeroes {
    Off,
    /// Turns writes of zeros into QEMU's "write zeroes" requests.
    On,
    /// Turns writes of zeros into discards; needs `discard`.
    Unmap,
}

impl DetectZeroes {
    pub const ALL: &[(&str, DetectZeroes)] =
        &[("off", DetectZeroes::Off), ("on", DetectZeroes::On), ("unmap", DetectZeroes::Unmap)];

    pub fn word(self) -> &'static str {
        match self {
            DetectZeroes::Off => "off",
            DetectZeroes::On => "on",
            DetectZeroes::Unmap => "unmap",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DiskServer {
    #[default]
    Qemu,
    /// Another process, by the socket on which it listens.
    Daemon(PathBuf),
    /// The kernel's SCSI target, by the WWN of its port.
    Kernel(String),
    Spdk(Spdk),
    Drive(Box<PciDrive>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spdk {
    pub rpc: PathBuf,
    /// CPU mask of the target's reactors that may serve the disk; `None` for the target's choice.
    pub cpumask: Option<String>,
    /// Name of the vhost controller and of the bdev. Set when the guest is planned.
    pub name: String,
    /// Socket of the vhost controller. Set when the guest is planned.
    pub socket: PathBuf,
}

/// A disk of a guest. Unless `discard` is on, the guest's discards are ignored (QEMU's default), so
/// that a mkfs in the guest punches no holes in what is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpec {
    pub way: &'static dyn AttachWay,
    /// Absolute path of the file or device that the disk is on; for an image in Ceph, of the
    /// cluster's ceph.conf.
    pub path: PathBuf,
    pub rbd: Option<Box<RbdImage>>,
    pub backend: Backend,
    /// Offset of the disk's part in `path`, in bytes.
    pub offset: u64,
    /// Length of the disk's part of `path` in bytes; `None` if it extends to the end.
    pub bytes: Option<u64>,
    /// The qcow2 images in the disk's part of `path`; `None` for a raw disk.
    pub qcow2: Option<Qcow2>,
    pub cache: Cache,
    pub aio: Aio,
    /// True if the guest's discards are passed on to `path`.
    pub discard: bool,
    pub detect_zeroes: DetectZeroes,
    /// True if the guest's writes go to a temporary overlay, which QEMU drops when it ends. `path`
    /// is then only read.
    pub snapshot: bool,
    /// Number of I/O threads that serve the disk; 0 for QEMU's main loop.
    pub iothreads: u16,
    /// Number of queues; `None` for QEMU's default, one for each vCPU.
    pub num_queues: Option<u16>,
    /// Number of requests that a queue holds; `None` for QEMU's default.
    pub queue_size: Option<u16>,
    /// Serial number by which the guest finds the disk: 1 to 20 letters, digits, `-`, `_`. Virtio
    /// cuts off longer ones.
    pub serial: String,
    pub read_only: bool,
    /// True if other processes open the image too, so that QEMU takes no locks. Only with
    /// `read_only`.
    pub share_read: bool,
    /// True if several guests each have a part of `path`. QEMU then takes no lock, which would be
    /// on the whole file.
    pub shared_out: bool,
    pub server: DiskServer,
}

impl DiskSpec {
    /// Returns the block node of the disk, for QEMU and its storage daemon alike. The file's node
    /// inherits the cache settings and read-only from the node around it.
    pub fn node(&self, name: &str) -> OptionValue {
        self.with_settings(OptionValue::new("driver", self.format()).set("node-name", name))
    }

    /// Adds the block node `name`, for a device of QEMU to use. With `snapshot` it is made by
    /// -drive, which alone makes a temporary overlay (qcow2, in TMPDIR or /var/tmp, unlinked at
    /// once), and `name` is the overlay.
    pub fn add_drive(&self, line: &mut CommandLine, name: &str) {
        if !self.snapshot {
            line.option("-blockdev", self.node(name));
            return;
        }
        let drive = OptionValue::new("if", "none")
            .set("id", name)
            .set("snapshot", "on")
            .set("driver", self.format());
        line.option("-drive", self.with_settings(drive.set("node-name", format!("{name}-below"))));
    }

    fn with_settings(&self, value: OptionValue) -> OptionValue {
        let images = self.qcow2.as_ref();
        let own = value
            .maybe("offset", (images.is_none() && self.offset > 0).then_some(self.offset))
            .maybe("size", self.bytes.filter(|_| images.is_none()))
            .maybe("lazy-refcounts", images.filter(|images| images.lazy_refcounts).map(|_| "on"))
            .maybe("discard", self.discard.then_some("unmap"))
            .maybe(
                "detect-zeroes",
                (self.detect_zeroes != DetectZeroes::Off).then(|| self.detect_zeroes.word()),
            )
            .set("cache.direct", on_off(self.cache.direct()))
            .set("cache.no-flush", on_off(self.cache.no_flush()))
            .set("read-only", on_off(self.read_only));
        match images {
            Some(images) => images.node(self, own),
            None if self.rbd.is_some() => {
                let rbd = self.rbd.as_ref();
                own.set("file.driver", "rbd")
                    .maybe("file.pool", rbd.map(|rbd| &rbd.pool))
                    .maybe("file.image", rbd.map(|rbd| &rbd.image))
                    .set("file.conf", &self.path)
            }
            None => own
                .set("file.driver", self.backend.driver())
                .set("file.filename", &self.path)
                .set("file.aio", self.aio.word())
                .maybe("file.locking", (!self.is_locked()).then_some("off")),
        }
    }

    /// Returns true if QEMU locks the file or device against other QEMU processes.
    pub(super) fn is_locked(&self) -> bool {
        !self.share_read && !self.shared_out
    }

    /// Returns the disk's format in QEMU's words: `qcow2` or `raw`.
    pub fn format(&self) -> &'static str {
        if self.qcow2.is_some() { "qcow2" } else { "raw" }
    }

    /// Returns the option `format` or `snapshot` if the disk uses it and its way of attachment does
    /// not support it.
    fn beyond_its_way(&self) -> Option<&'static str> {
        let asked = [("format", self.qcow2.is_some()), ("snapshot", self.snapshot)];
        let lacks = self.way.lacking_options();
        asked
            .into_iter()
            .find(|(option, asked)| *asked && lacks.contains(option))
            .map(|(option, _)| option)
    }

    /// Checks the disk's path, serial number and options, also against its way of attachment.
    ///
    /// # Errors
    /// Says what is wrong, such as an option that would mislead, destroy data, or be weakened by
    /// QEMU silently.
    pub fn check_disk_spec(&self) -> Result<(), String> {
        let disk = self;
        if !disk.path.is_absolute() {
            return Err("its path is not absolute".into());
        }
        if !is_plain(&disk.serial) || disk.serial.len() > LONGEST_SERIAL {
            return Err(format!(
                "serial \"{}\" is not 1 to {LONGEST_SERIAL} letters, digits, - and _",
                disk.serial
            ));
        }
        disk.check_options()?;
        disk.way.check_disk_options(disk)
    }

    /// Checks what is known before the disk has its place in a guest, like
    /// [`DiskSpec::check_disk_spec`].
    ///
    /// # Errors
    /// Names an option that is out of range, or that does not go with another one or with the way
    /// of attachment.
    pub fn check_options(&self) -> Result<(), String> {
        let disk = self;
        if disk.aio == Aio::Native && !disk.cache.direct() {
            return Err(
                "aio=native works only past the host's page cache; hint: cache=none, or aio=threads".into()
            );
        }
        if let Some(option) = disk.beyond_its_way() {
            return Err(format!(
                "attach={} has no {option}: what is below is served as it is, from its first byte",
                disk.way.name()
            ));
        }
        if disk.snapshot && disk.qcow2.is_some() {
            return Err(
                "snapshot=on puts an overlay over format=raw only; hint: backing=1 is an overlay that stays"
                    .into(),
            );
        }
        if disk.share_read && !disk.read_only {
            return Err("an image opened by two must be read-only".into());
        }
        if disk.shared_out && disk.bytes.is_none() {
            return Err("a part of what several write must have an end".into());
        }
        if disk.bytes.is_some_and(|bytes| bytes == 0 || bytes % 512 != 0) {
            return Err("its size is not a whole number of sectors of 512 bytes".into());
        }
        if disk.num_queues.is_some_and(|queues| queues == 0 || queues > 1024) {
            return Err("num-queues is not between 1 and 1024".into());
        }
        if disk.detect_zeroes == DetectZeroes::Unmap && !disk.discard {
            return Err(
                "detect-zeroes=unmap makes discards, and discards are ignored; hint: discard=unmap"
                    .into(),
            );
        }
        if disk
            .queue_size
            .is_some_and(|size| !size.is_power_of_two() || !(4..=1024).contains(&size))
        {
            return Err("queue-size is not a power of two from 4 to 1024".into());
        }
        if disk.snapshot && disk.way.shares_memory() {
            return Err(format!(
                "snapshot=on is QEMU's own, and with attach={} another process serves the disk",
                disk.way.name()
            ));
        }
        Ok(())
    }
}

/// Returns the folder in which QEMU makes temporary overlays: `tmpdir`, its TMPDIR, or else
/// /var/tmp. From version 8.0 on /var/tmp replaces /tmp, which is often in memory.
pub fn overlay_folder(tmpdir: Option<PathBuf>, qemu: Option<Version>) -> PathBuf {
    let usual = || PathBuf::from("/var/tmp");
    match tmpdir.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if folder == Path::new("/tmp") && qemu >= Some(Version::new(8, 0)) => usual(),
        folder => folder.unwrap_or_else(usual),
    }
}

const LONGEST_SERIAL: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::made_up_disk;

    #[test]
    fn overlays_lie_where_that_qemu_makes_them() {
        let folder = |tmpdir: Option<&str>, qemu| overlay_folder(tmpdir.map(PathBuf::from), qemu);
        let (old, new) = (Some(Version::new(7, 2)), Some(Version::new(8, 0)));
        assert_eq!(folder(None, old), Path::new("/var/tmp"));
        assert_eq!(folder(Some(""), new), Path::new("/var/tmp"));
        assert_eq!(folder(Some("/srv/tmp"), new), Path::new("/srv/tmp"));
        assert_eq!(
            (folder(Some("/tmp"), old), folder(Some("/tmp"), None)),
            ("/tmp".into(), "/tmp".into())
        );
        assert_eq!(folder(Some("/tmp"), new), Path::new("/var/tmp"));
    }

    #[test]
    fn an_overlay_is_made_by_a_drive_with_the_same_settings() {
        let words = |snapshot| {
            let mut line = CommandLine::default();
            DiskSpec { snapshot, offset: 1 << 20, ..made_up_disk() }.add_drive(&mut line, "disk0");
            let words = line.into_words();
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        let rest = ",offset=1048576,cache.direct=on,cache.no-flush=off,read-only=off,file.driver=file,file.filename=/srv/x.img,file.aio=native";
        assert_eq!(
            words(false),
            ["-blockdev".to_owned(), format!("driver=raw,node-name=disk0{rest}")]
        );
        let drive = format!("if=none,id=disk0,snapshot=on,driver=raw,node-name=disk0-below{rest}");
        assert_eq!(words(true), ["-drive".to_owned(), drive]);
    }
}
