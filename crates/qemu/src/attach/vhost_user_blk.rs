//! vhost-user-blk: a separate process, here QEMU's storage daemon, serves the disk through the
//! guest's memory. No I/O passes through QEMU itself.

use crate::attach::way::{AttachWay, DaemonFiles, Property, ids};
use crate::command_line::STORAGE_DAEMON;
use crate::disk::{DiskServer, DiskSpec};
use crate::option_value::{CommandLine, OptionValue, on_off, socket};
use std::ffi::OsString;
use std::path::Path;

pub struct VhostUserBlk;

impl AttachWay for VhostUserBlk {
    fn name(&self) -> &'static str {
        "vhost-user-blk"
    }

    fn host_needs(&self) -> &'static [&'static str] {
        &["qemu-storage-daemon"]
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn shows_serial(&self) -> bool {
        false
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        crate::attach::way::one_thread_at_most(disk)?;
        if !matches!(disk.server, DiskServer::Daemon(_)) {
            return Err("attach=vhost-user-blk without the socket of what serves it".into());
        }
        match disk.cache.write_cache() {
            true => Ok(()),
            false => Err(
                "attach=vhost-user-blk always shows the guest a volatile cache; hint: cache=none or cache=writeback"
                    .into(),
            ),
        }
    }

    fn daemon_command_line(&self, disk: &DiskSpec, files: &DaemonFiles) -> Option<Vec<OsString>> {
        let mut line = CommandLine::default();
        line.add_word(STORAGE_DAEMON).add_word("--pidfile").add_word(&files.pid);
        line.option("--chardev", socket("control", &files.control));
        line.add_words("--monitor chardev=control,mode=control");
        line.option("--blockdev", disk.node("disk"));
        let threads = iothreads_of_daemon(&mut line, disk);
        let export = OptionValue::beginning_with("vhost-user-blk")
            .set("id", "export")
            .set("node-name", "disk")
            .set("addr.type", "unix")
            .set("addr.path", &files.socket)
            .set("writable", on_off(!disk.read_only))
            .maybe("num-queues", disk.num_queues)
            .maybe("iothread", threads);
        line.option("--export", export);
        Some(line.into_words())
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        properties(at)
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let DiskServer::Daemon(socket) = &disk.server else { return };
        add(line, at, disk, socket);
    }
}

/// Returns the properties that QEMU reports of its end of the connection, whatever process is at
/// the other end.
pub(super) fn properties(at: usize) -> Vec<Property> {
    let (_, device) = ids(at);
    vec![
        Property::new("num-queues", &device, "num-queues"),
        Property::new("queue-size", &device, "queue-size"),
    ]
}

/// Adds QEMU's end of a vhost-user connection. A server must listen on `socket`.
pub(super) fn add(line: &mut CommandLine, at: usize, disk: &DiskSpec, socket: &Path) {
    let (node, device) = ids(at);
    line.option(
        "-chardev",
        OptionValue::beginning_with("socket").set("id", &node).set("path", socket),
    );
    let value = OptionValue::beginning_with("vhost-user-blk-pci")
        .set("id", device)
        .set("chardev", &node)
        .set("addr", format!("{:#x}", crate::attach::way::slot(at)))
        // With it the guest asks the daemon's configuration, which (7.2) says "write through"
        // whatever the cache is: the guest then sends no flush, and what it thinks is on the drive
        // is in a cache.
        .set("config-wce", "off")
        .maybe("num-queues", disk.num_queues)
        .maybe("queue-size", disk.queue_size);
    line.option("-device", value);
}

fn iothreads_of_daemon(line: &mut CommandLine, disk: &DiskSpec) -> Option<&'static str> {
    let id = "iothread0";
    (disk.iothreads > 0).then(|| {
        line.option("--object", OptionValue::beginning_with("iothread").set("id", id));
        id
    })
}
