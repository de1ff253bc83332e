//! `vm`: a QEMU guest.

use super::OptionKind::{Count, CpuMask, Cpus, Flag, Memory, Number, Path, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::{Capability, Face, LayerHelp, Role, option};
use crate::scenario::LayerSpec;

pub use iotax_facts::guest::{MOST_DISKS, SMALLEST_MEMORY};

/// Ways in which a disk reaches a guest, in the order of `guest::attach::ALL`, which a test holds.
const ATTACH: &[&str] = &["virtio-blk", "virtio-scsi", "nvme", "vhost-user-blk", "vhost-scsi", "vfio"];

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "vm",
    elsewhere: &[("qemu", "vm"), ("kvm", "vm")],
    help: "a QEMU guest with a disk over what is below; the load runs inside",
    example: "file:/srv/x.img,size=4GiB | vm(cache=none,queues=2)",
    options: &[
        option("attach", Word(ATTACH), "how the disk reaches the guest").default("virtio-blk"),
        option(
            "spdk",
            Path,
            "JSON-RPC socket of a running SPDK target that serves the disk (attach=vhost-user-blk); not written: that of the bdev below, else a qemu-storage-daemon does",
        ),
        option(
            "cpumask",
            CpuMask,
            "on which reactors of the SPDK target the disk is served; not written: the target's choice",
        ),
        option(
            "cache",
            Word(&["none", "writeback", "writethrough", "directsync", "unsafe"]),
            "QEMU's cache mode of the disk",
        )
        .default("none"),
        option(
            "aio",
            Word(&["native", "threads", "io_uring"]),
            "how QEMU issues its I/O; not written: native, or threads where the cache mode is without O_DIRECT",
        ),
        option("iothread", Flag, "a thread of its own for the disk; not written: true where the way has one"),
        option("iothreads", Count, "threads that share the queues of the disk (virtio-blk, QEMU 9.0)"),
        option("num-queues", Count, "request queues of the disk; QEMU's own choice when not written")
            .also(&["queues", "num_queues"]),
        option("queue-size", Count, "requests that fit a queue; QEMU's own choice when not written")
            .also(&["queue_size"]),
        option("discard", Word(&["ignore", "unmap"]), "what becomes of the guest's discards")
            .default("ignore"),
        option("detect-zeroes", Word(&["off", "on", "unmap"]), "what becomes of writes of zeroes")
            .also(&["detect_zeroes"])
            .default("off"),
        option(
            "snapshot",
            Word(&["off", "on"]),
            "on: writes go to a temporary overlay that is thrown away with QEMU",
        )
        .default("off"),
        option(
            "format",
            Word(&["raw", "qcow2"]),
            "what the disk is in what is below: all of it, or a qcow2 image",
        )
        .default("raw"),
        option(
            "preallocation",
            Word(&["off", "metadata", "falloc", "full"]),
            "when clusters of the image get their places; not written: off, a thin image",
        )
        .default("off")
        .only_with("format", "qcow2"),
        option(
            "first-writes",
            Word(&["sequential", "random"]),
            "the order in which a thin image is written before it is measured; not written: sequential",
        )
        .also(&["first_writes"])
        .default("sequential")
        .only_with("format", "qcow2"),
        option("cluster-size", Size, "bytes of a cluster of the image; not written: 64KiB, as QEMU")
            .also(&["cluster_size"])
            .default("64KiB")
            .only_with("format", "qcow2"),
        option(
            "backing",
            Number,
            "images under the top one, up to 8: a base with the data, and empty ones between",
        )
        .only_with("format", "qcow2"),
        option(
            "lazy-refcounts",
            Flag,
            "refcounts of the image are not kept up to date with every write; not written: false",
        )
        .also(&["lazy_refcounts"])
        .default("false")
        .only_with("format", "qcow2"),
        option(
            "l2-cache-size",
            Size,
            "L2 tables of the image that QEMU keeps in memory; QEMU's own choice when not written",
        )
        .also(&["l2_cache_size"])
        .only_with("format", "qcow2"),
        option(
            "image",
            Path,
            "a disk image with its own kernel, system and cloud-init that the guest boots from; it is only read",
        ),
        option("vcpus", Count, "virtual CPUs of the guest").default("2"),
        option("memory", Memory, "memory of the guest").default("512MiB"),
        option(
            "hugepages",
            Word(&["2MiB", "1GiB"]),
            "the guest's memory is made of the host's huge pages of that size",
        ),
        option("numa", Number, "the host's NUMA node that the guest's memory is bound to"),
        option(
            "cpus",
            Cpus,
            "the host's processors that the guest and its I/O threads run on: a list, or auto for an L3 group's",
        ),
        option("machine", Word(&["q35", "pc"]), "QEMU's board").default("q35"),
        option("firmware", Word(&["direct", "ovmf"]), "direct: the kernel at once; ovmf: UEFI before it")
            .default("direct"),
        option(
            "accel",
            Word(&["auto", "kvm", "tcg"]),
            "auto takes KVM where it really works, else emulation, which is said in every output",
        )
        .default("auto"),
    ],
    role: Role::Guest,
    below: Face::Any,
    over: &[
        (Face::Bdev, "attach", &["vhost-user-blk"]),
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
        Capability::of("guest", "a QEMU guest, emulated or not", "/dev/x | vm"),
        Capability {
            more: &["kvm"],
            ..Capability::of("guest-kvm", "a guest at the CPU's own speed", "/dev/x | vm")
        },
        Capability::of("vfio", "an NVMe drive given to a guest", "/dev/x | vm(attach=vfio)"),
        Capability::of(
            "vhost-user",
            "a guest's disk served beside QEMU",
            "/dev/x | vm(attach=vhost-user-blk)",
        ),
        Capability::of("vhost-scsi", "a guest's disk served by the kernel", "/dev/x | vm(attach=vhost-scsi)"),
    ],
    programs: &["qemu-system-x86_64", "qemu-img"],
    ..LayerHelp::PLAIN
};

fn provisioning(layer: &LayerSpec) -> Option<Setting> {
    let is_thin = layer.option("format") == Some("qcow2") && layer.option("preallocation") == Some("off");
    Setting::of("thin image", "thin").filter(|_| is_thin)
}
