//! Made-up machines for tests: folders with the files of /proc and /sys that matter.

use super::kvm::KvmState;
use super::probe::{GuestProbe, Probe, Programs, Space};
use std::path::Path;
use tempfile::TempDir;

/// A machine in a folder.
pub struct MadeUpMachine {
    folder: TempDir,
    pub probe: Probe,
}

impl MadeUpMachine {
    fn new(files: &[(&str, &str)]) -> MadeUpMachine {
        let folder = tempfile::tempdir().expect("temporary folder");
        let probe = Probe::of_files(folder.path());
        let machine = MadeUpMachine { folder, probe };
        machine.put(files);
        machine
    }

    /// Writes files of the machine.
    pub fn put(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("file");
        }
    }

    /// Links a name to a path of the machine.
    pub fn link(&self, name: &str, target: &str) {
        let name = self.folder.path().join(name.trim_start_matches('/'));
        std::fs::create_dir_all(name.parent().expect("parent")).expect("folder");
        let target = self.folder.path().join(target.trim_start_matches('/'));
        std::os::unix::fs::symlink(target, name).expect("link");
    }

    /// Adds a disk or partition at its place in /sys/devices, with the links to it.
    pub fn block(&self, device: &str, devnum: &str, files: &[(&str, &str)]) {
        let name = Path::new(device).file_name().and_then(|name| name.to_str()).expect("name");
        for (file, text) in
            [("dev", devnum), ("size", "2097152"), ("inflight", "       1        0")]
        {
            self.put(&[(&format!("{device}/{file}"), text)]);
        }
        for (file, text) in files {
            self.put(&[(&format!("{device}/{file}"), text)]);
        }
        self.link(&format!("/sys/dev/block/{devnum}"), device);
        self.link(&format!("/sys/class/block/{name}"), device);
        if !files.iter().any(|(file, _)| *file == "partition") {
            self.link(&format!("/sys/block/{name}"), device);
        }
    }
}

/// Makes a server with two sockets, an NVMe drive on PCIe, and /srv/data on LVM on a mirror of two
/// SATA disks.
pub fn server() -> MadeUpMachine {
    let machine = MadeUpMachine::new(&[
        ("/proc/sys/kernel/hostname", "store1\n"),
        ("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1\n"),
        ("/proc/sys/kernel/random/boot_id", "1a2b3c4d-0000-4000-8000-000000000000\n"),
        ("/proc/sys/kernel/io_uring_disabled", "0\n"),
        ("/proc/cmdline", "root=/dev/sda2 ro quiet\n"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Made-up CPU @ 2.00GHz\nflags\t\t: fpu vme\n\nprocessor\t: 1\n",
        ),
        (
            "/proc/meminfo",
            "MemTotal:       1048576 kB\nMemFree: 1 kB\nDirty: 8 kB\nWriteback: 0 kB\n",
        ),
        (
            "/proc/self/mountinfo",
            "1 0 8:2 / / rw - ext4 /dev/sda2 rw\n2 1 252:0 / /srv/data rw,noatime shared:1 - xfs /dev/mapper/vg-data rw,attr2\n",
        ),
        ("/etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("/sys/devices/system/node/node0/cpulist", "0\n"),
        ("/sys/devices/system/node/node1/cpulist", "1\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "15\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ]);
    for cpu in ["0", "1"] {
        let at = |file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        machine.put(&[
            (&at("topology/physical_package_id"), cpu),
            (&at("topology/core_id"), "0"),
            (&at("cache/index3/level"), "3"),
            (&at("cache/index3/shared_cpu_list"), cpu),
            (&at("cpufreq/scaling_governor"), "powersave"),
        ]);
    }
    disks_of_server(&machine);
    machine
}

fn disks_of_server(machine: &MadeUpMachine) {
    let port = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
    machine.put(&[
        (&format!("{port}/current_link_speed"), "16.0 GT/s PCIe\n"),
        (&format!("{port}/current_link_width"), "2\n"),
        (&format!("{port}/max_link_speed"), "16.0 GT/s PCIe\n"),
        (&format!("{port}/max_link_width"), "4\n"),
        (&format!("{port}/numa_node"), "1\n"),
        (&format!("{port}/class"), "0x010802\n"),
        ("/sys/kernel/iommu_groups/14/devices/0000:01:00.0/class", "0x010802\n"),
        ("/sys/bus/pci/drivers/vfio-pci/module/version", "0.2\n"),
        ("/sys/module/vhost_scsi/refcnt", "0\n"),
        ("/dev/net/tun", ""),
        ("/dev/vhost-net", ""),
        ("/sys/module/dm_mod/refcnt", "1\n"),
        ("/sys/module/dm_thin_pool/refcnt", "0\n"),
        ("/sys/module/dm_cache_smq/refcnt", "0\n"),
        ("/sys/module/zfs/refcnt", "0\n"),
    ]);
    machine.link(&format!("{port}/driver"), "/sys/bus/pci/drivers/nvme");
    machine.link(&format!("{port}/iommu_group"), "/sys/kernel/iommu_groups/14");
    machine.link("/sys/bus/pci/devices/0000:01:00.0", port);
    machine.block(
        &format!("{port}/nvme/nvme0/nvme0n1"),
        "259:0",
        &[
            ("device/model", "Made-up NVMe 1TB                        \n"),
            ("device/serial", "S4EVNF0M                  \n"),
            ("device/firmware_rev", "2B2QEXM7\n"),
            ("wwid", "eui.0025385b71b00001\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/scheduler", "[none] mq-deadline\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/rotational", "0\n"),
            ("mq/0/nr_tags", "1023\n"),
            ("mq/1/nr_tags", "1023\n"),
        ],
    );
    for (disk, number, serial) in [("sda", 0, "WD-1"), ("sdb", 16, "WD-2")] {
        let dir = format!("/sys/devices/pci0000:00/0000:00:17.0/ata{number}/block/{disk}");
        let header = format!("\0\u{80}\0{}{serial}", char::from(serial.len() as u8));
        machine.block(
            &dir,
            &format!("8:{number}"),
            &[("queue/rotational", "1\n"), ("device/wwid", &format!("naa.5000{number}\n"))],
        );
        // A page is bytes, not UTF-8: 0x80 is one byte.
        let page = header.chars().map(|c| c as u8).collect::<Vec<u8>>();
        machine.put(&[(&format!("{dir}/device/vpd_pg80"), "")]);
        std::fs::write(machine.probe.path_below(format!("{dir}/device/vpd_pg80")), page)
            .expect("file");
        let part = [("partition", "1\n"), ("start", "2048\n"), ("inflight", "0 0")];
        machine.block(&format!("{dir}/{disk}1"), &format!("8:{}", number + 1), &part);
        machine.put(&[(&format!("{dir}/{disk}1/holders/md0"), "")]);
    }
    let md =
        [("md/level", "raid1\n"), ("slaves/sda1", ""), ("slaves/sdb1", ""), ("holders/dm-0", "")];
    machine.block("/sys/devices/virtual/block/md0", "9:0", &md);
    let dm = [("dm/name", "vg-data\n"), ("dm/uuid", "LVM-abc\n"), ("slaves/md0", "")];
    machine.block("/sys/devices/virtual/block/dm-0", "252:0", &dm);
}

/// Makes a guest whose initramfs has /proc and /sys and nothing else.
pub fn bare_guest() -> MadeUpMachine {
    let machine = MadeUpMachine::new(&[
        ("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: QEMU TCG CPU\nflags\t\t: fpu hypervisor\n",
        ),
        ("/proc/meminfo", "MemTotal: 262144 kB\n"),
        ("/proc/self/mountinfo", "1 0 0:2 / / rw - rootfs rootfs rw\n"),
    ]);
    machine.block(
        "/sys/devices/pci0000:00/0000:00:02.0/virtio0/block/vda",
        "254:0",
        &[("serial", "iotax-r1-0"), ("queue/scheduler", "none\n")],
    );
    machine
}

/// Makes the server with programs and room: everything is there.
pub fn complete_server() -> MadeUpMachine {
    let mut machine = server();
    let versions = [
        ("qemu-system-x86_64", "QEMU emulator version 7.2.9 (Debian 1:7.2+dfsg-7)"),
        ("qemu-img", "qemu-img version 7.2.9"),
        ("qemu-storage-daemon", "qemu-storage-daemon version 7.2.9"),
        ("fio", "fio-3.33"),
        ("ssh", "OpenSSH_9.2p1"),
        ("losetup", "losetup from util-linux 2.38.1"),
        ("mkfs.xfs", "mkfs.xfs version 6.1.0"),
        ("mkfs.ext4", "mke2fs 1.47.0"),
        ("mkfs.btrfs", "mkfs.btrfs, part of btrfs-progs v6.2"),
        ("lvm", "LVM version: 2.03.16(2) (2022-05-18)"),
        ("make-bcache", "make-bcache 1.0.8"),
        ("zpool", "zfs-2.1.11-1+deb12u1"),
        ("wipefs", "wipefs from util-linux 2.38.1"),
        ("sfdisk", "sfdisk from util-linux 2.38.1"),
        ("partx", "partx from util-linux 2.38.1"),
        ("dmsetup", "Library version: 1.02.185"),
        ("mdadm", "mdadm - v4.2 - 2021-12-30 - Debian 4.2-5"),
        ("blkid", "blkid from util-linux 2.38.1"),
        ("iscsid", "iscsid version 2.1.8"),
        ("ip", "ip utility, iproute2-6.1.0"),
        ("rdma", "rdma utility, iproute2-6.1.0"),
        ("nbd-client", "nbd-client version 3.24"),
        ("qemu-nbd", "qemu-nbd 7.2.9"),
        ("ceph", "ceph version 16.2.15 (618f4408) pacific (stable)"),
        ("ceph-mon", "ceph version 16.2.15"),
        ("ceph-mgr", "ceph version 16.2.15"),
        ("ceph-osd", "ceph version 16.2.15"),
        ("rbd", "ceph version 16.2.15"),
        ("monmaptool", ""),
        ("ceph-authtool", ""),
    ];
    machine.probe.programs =
        Programs::Given(versions.map(|(name, version)| (name.into(), version.into())).into());
    machine.probe.space = Some(Space { total: 1 << 40, free: 1 << 39 });
    machine.probe.guest = GuestProbe {
        kvm: || KvmState::Works,
        qemu: || Ok(()),
        kernel: || Ok(()),
        storage_daemon: || Ok(()),
        io_uring: || Ok(()),
        daemon_io_uring: || Ok(()),
        ovmf: || Ok(()),
        spdk: || Ok(()),
        lab: || Ok(()),
    };
    let modules = [
        "nvmet",
        "nvmet-tcp",
        "nvmet-rdma",
        "nvme-loop",
        "nvme-tcp",
        "nvme-rdma",
        "nbd",
        "rdma_rxe",
        "bcache",
        "rbd",
    ];
    let more = ["iscsi_target_mod", "ib_isert", "iscsi_tcp", "ib_iser"];
    let files = modules.iter().chain(&more).map(|module| format!("kernel/drivers/{module}.ko:\n"));
    machine.put(&[("/lib/modules/6.1.0-18-amd64/modules.dep", &files.collect::<String>())]);
    let loaded = ["dm_mod", "raid0", "raid1", "raid10", "raid456"];
    loaded
        .iter()
        .for_each(|module| machine.put(&[(&format!("/sys/module/{module}/initstate"), "live\n")]));
    machine.put(&[
        ("/dev/loop-control", ""),
        ("/dev/fuse", ""),
        ("/proc/filesystems", "nodev\tproc\n\text4\n\txfs\n"),
    ]);
    machine
}
