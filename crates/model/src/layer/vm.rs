//! `vm`: a QEMU guest.

use super::OptionKind::{Count, CpuMask, Cpus, Flag, Memory, Number, Path, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::{Capability, LayerHelp, option};
use crate::stack::LayerSpec;
use crate::stack::{Face, LayerRole};

pub use iotax_facts::guest::{MOST_DISKS, SMALLEST_MEMORY};

/// Option that names a vhost-user socket that another process serves. The layer or medium below
/// sets it, so nobody needs to write it.
pub const SOCKET: &str = "socket";

pub const NET: &str = "net";
/// Value of [`NET`] for a tap device of this host.
pub const TAP: &str = "tap";

/// Ways to attach a disk to a guest. A test checks that their order is that of `attach::ALL` in the
/// crate `qemu`.
const ATTACH: &[&str] =
    &["virtio-blk", "virtio-scsi", "nvme", "vhost-user-blk", "vhost-scsi", "vfio"];

pub const HELP: LayerHelp = LayerHelp {
    name: "vm",
    elsewhere: &[("qemu", "vm"), ("kvm", "vm")],
    example: "file:/srv/x.img,size=4GiB | vm(cache=none,queues=2)",
    options: &[
        option("attach", Word(ATTACH)).with_default("virtio-blk"),
        option("spdk", Path),
        option(SOCKET, Path),
        option("cpumask", CpuMask),
        option("cache", Word(&["none", "writeback", "writethrough", "directsync", "unsafe"]))
            .with_default("none"),
        option("aio", Word(&["native", "threads", "io_uring"])),
        option("iothread", Flag),
        option("iothreads", Count),
        option("num-queues", Count).also(&["queues", "num_queues"]),
        option("queue-size", Count).also(&["queue_size"]),
        option("discard", Word(&["ignore", "unmap"])).with_default("ignore"),
        option("detect-zeroes", Word(&["off", "on", "unmap"]))
            .also(&["detect_zeroes"])
            .with_default("off"),
        option("snapshot", Word(&["off", "on"])).with_default("off"),
        option("format", Word(&["raw", "qcow2"])).with_default("raw"),
        option("preallocation", Word(&["off", "metadata", "falloc", "full"]))
            .with_default("off")
            .only_with("format", "qcow2"),
        option("first-writes", Word(&["sequential", "random"]))
            .also(&["first_writes"])
            .with_default("sequential")
            .only_with("format", "qcow2"),
        option("cluster-size", Size)
            .also(&["cluster_size"])
            .with_default("64KiB")
            .only_with("format", "qcow2"),
        option("backing", Number).only_with("format", "qcow2"),
        option("lazy-refcounts", Flag)
            .also(&["lazy_refcounts"])
            .with_default("false")
            .only_with("format", "qcow2"),
        option("l2-cache-size", Size).also(&["l2_cache_size"]).only_with("format", "qcow2"),
        option(NET, Word(&["none", TAP])).with_default("none"),
        option("vhost", Word(&["off", "on"])).with_default("off").only_with(NET, TAP),
        option("net-queues", Count).also(&["net_queues"]).with_default("1").only_with(NET, TAP),
        option("image", Path),
        option("vcpus", Count).with_default("2"),
        option("memory", Memory).with_default("512MiB"),
        option("hugepages", Word(&["2MiB", "1GiB"])),
        option("numa", Number),
        option("cpus", Cpus),
        option("machine", Word(&["q35", "pc"])).with_default("q35"),
        option("firmware", Word(&["direct", "ovmf"])).with_default("direct"),
        option("accel", Word(&["auto", "kvm", "tcg"])).with_default("auto"),
    ],
    role: LayerRole::Guest,
    below: Face::Any,
    over: &[
        (Face::Bdev, "attach", &["vhost-user-blk"]),
        (Face::VhostUser, "attach", &["vhost-user-blk"]),
        (Face::Rbd, "attach", &["virtio-blk", "virtio-scsi", "nvme", "vhost-user-blk"]),
    ],
    comparable: &[
        (Concept::CacheMode, How::Option("cache")),
        (Concept::DiskQueues, How::Option("num-queues")),
        (Concept::Vcpus, How::Option("vcpus")),
        (Concept::Provisioning, How::By(provisioning)),
    ],
    notes: &[
        (
            "cache",
            "unsafe",
            "QEMU ignores flushes (cache=unsafe), so nothing that is acknowledged is durable, and there is no durable figure",
        ),
        (
            "snapshot",
            "on",
            "writes go to an overlay that is gone with QEMU and ignores flushes (snapshot=on), so there is no durable figure",
        ),
    ],
    drops_flushes: &[("cache", "unsafe"), ("snapshot", "on")],
    capabilities: &[
        Capability::needing("guest", "a QEMU guest, emulated or not", "/dev/x | vm"),
        Capability {
            more: &["kvm"],
            ..Capability::needing("guest-kvm", "a guest at the CPU's own speed", "/dev/x | vm")
        },
        Capability::needing("vfio", "an NVMe drive given to a guest", "/dev/x | vm(attach=vfio)"),
        Capability::needing(
            "vhost-user",
            "a guest's disk served beside QEMU",
            "/dev/x | vm(attach=vhost-user-blk)",
        ),
        Capability::needing(
            "vhost-scsi",
            "a guest's disk served by the kernel",
            "/dev/x | vm(attach=vhost-scsi)",
        ),
        Capability::needing(
            "guest-network",
            "a network to a guest and between guests",
            "/dev/x | vm(net=tap)",
        ),
        Capability::needing(
            "guest-vhost-net",
            "a guest's network card served by the kernel",
            "/dev/x | vm(net=tap,vhost=on)",
        ),
    ],
    programs: &["qemu-system-x86_64", "qemu-img"],
    ..LayerHelp::PLAIN
};

fn provisioning(layer: &LayerSpec) -> Option<Setting> {
    let is_thin =
        layer.option("format") == Some("qcow2") && layer.option("preallocation") == Some("off");
    Setting::some_setting("thin image", "thin").filter(|_| is_thin)
}
