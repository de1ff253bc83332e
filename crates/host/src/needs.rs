//! What a run may need of a machine: one entry a need, with the command that supplies it. Checking
//! only reads; nothing is installed or changed.

use super::Missing;
use super::pci;
use super::probe::{GuestProbe, Probe};
use crate::units::show_bytes;
use std::path::Path;

/// Something a machine may lack.
#[derive(Clone, Copy)]
pub struct Need {
    /// Stable name, for `doctor --require`.
    pub id: &'static str,
    /// What for, a clause: `to boot a guest`.
    pub why: &'static str,
    /// What supplies it, by distribution; the last one holds for those not named.
    pub supply: &'static [Supply],
    /// What is lacking, in words with the object; `None` when nothing is.
    pub check: fn(&Probe) -> Option<String>,
    /// Whether it takes a reboot to have it.
    pub reboot: bool,
}

/// A command (or an act) that supplies a need.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// `ID` or a word of `ID_LIKE` in os-release; empty for every other.
    pub distribution: &'static str,
    /// The command.
    pub command: &'static str,
}

const fn everywhere(command: &'static str) -> Supply {
    Supply { distribution: "", command }
}

const fn debian(command: &'static str) -> Supply {
    Supply { distribution: "debian", command }
}

const fn fedora(command: &'static str) -> Supply {
    Supply { distribution: "fedora", command }
}

/// A module of the kernel, by its name in /sys/module and that of its file.
macro_rules! kernel_module {
    ($id:literal, $file:literal, $config:literal, $why:literal) => {
        Need {
            id: $id,
            why: $why,
            supply: &[everywhere(concat!(
                "boot a kernel with CONFIG_",
                $config,
                " (grep ",
                $config,
                " /boot/config-* tells which has it), or install its package of further modules"
            ))],
            check: |probe| module(probe, $file, concat!("/sys/module/", $id)),
            reboot: false,
        }
    };
}

/// A program, by its need's name, with the packages that have it.
macro_rules! program {
    ($id:literal, $name:literal, $debian:literal, $fedora:literal, $why:literal) => {
        Need {
            id: $id,
            why: $why,
            supply: &[
                debian(concat!("apt-get install ", $debian)),
                fedora(concat!("dnf install ", $fedora)),
                everywhere(concat!("install ", $debian)),
            ],
            check: |probe| program(probe, $name),
            reboot: false,
        }
    };
}

/// All needs.
pub const ALL: &[Need] = &[
    Need {
        id: "folder",
        why: "to make a file",
        supply: &[everywhere("mkdir -p DIR, or name a folder of your own: --dir DIR")],
        check: |probe| probe.folder.clone().err(),
        reboot: false,
    },
    Need {
        id: "space",
        why: "to make a file and still keep 10 % of its file system free",
        supply: &[everywhere("free some space, or name another folder: --dir DIR")],
        check: space,
        reboot: false,
    },
    Need {
        id: "root",
        why: "to attach loop devices and mount file systems",
        supply: &[everywhere("sudo iotax ...")],
        check: root,
        reboot: false,
    },
    Need {
        id: "io_uring",
        why: "to keep many I/Os in flight from one thread (the sync engine does without)",
        supply: &[everywhere("sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)")],
        check: io_uring,
        reboot: false,
    },
    Need {
        id: "losetup",
        why: "for the layer loop",
        supply: &[
            debian("apt-get install mount util-linux"),
            fedora("dnf install util-linux"),
            everywhere("install util-linux"),
        ],
        check: |probe| program(probe, "losetup"),
        reboot: false,
    },
    Need {
        id: "loop-devices",
        why: "for the layer loop",
        supply: &[everywhere("modprobe loop (in a container: run on the host itself)")],
        check: |probe| {
            (!probe.at("/dev/loop-control").exists()).then(|| "there is no /dev/loop-control".into())
        },
        reboot: false,
    },
    Need {
        id: "mkfs.xfs",
        why: "for the layer fs(xfs)",
        supply: &[
            debian("apt-get install xfsprogs"),
            fedora("dnf install xfsprogs"),
            everywhere("install xfsprogs"),
        ],
        check: |probe| program(probe, "mkfs.xfs"),
        reboot: false,
    },
    Need {
        id: "mkfs.ext4",
        why: "for the layer fs(ext4)",
        supply: &[
            debian("apt-get install e2fsprogs"),
            fedora("dnf install e2fsprogs"),
            everywhere("install e2fsprogs"),
        ],
        check: |probe| program(probe, "mkfs.ext4"),
        reboot: false,
    },
    Need {
        id: "mkfs.btrfs",
        why: "for the layer fs(btrfs)",
        supply: &[
            debian("apt-get install btrfs-progs"),
            fedora("dnf install btrfs-progs"),
            everywhere("install btrfs-progs"),
        ],
        check: |probe| program(probe, "mkfs.btrfs"),
        reboot: false,
    },
    Need {
        id: "lvm",
        why: "for the layer lvm",
        supply: &[
            debian("apt-get install lvm2"),
            fedora("dnf install lvm2"),
            everywhere("install LVM 2.03.12 or newer"),
        ],
        check: |probe| program(probe, "lvm"),
        reboot: false,
    },
    Need {
        id: "sfdisk",
        why: "for the layer partition",
        supply: &[
            debian("apt-get install fdisk"),
            fedora("dnf install util-linux"),
            everywhere("install util-linux"),
        ],
        check: |probe| ["sfdisk", "partx", "wipefs"].into_iter().find_map(|name| program(probe, name)),
        reboot: false,
    },
    Need {
        id: "dmsetup",
        why: "for the layers split and linear",
        supply: &[
            debian("apt-get install dmsetup"),
            fedora("dnf install device-mapper"),
            everywhere("install dmsetup"),
        ],
        check: |probe| program(probe, "dmsetup"),
        reboot: false,
    },
    Need {
        id: "dm_mod",
        why: "for the layers split, linear and lvm",
        supply: &[everywhere(
            "boot a kernel with CONFIG_BLK_DEV_DM (grep BLK_DEV_DM /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "dm-mod", "/sys/module/dm_mod"),
        reboot: false,
    },
    Need {
        id: "dm-thin-pool",
        why: "for the layer lvm(thin)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_DM_THIN_PROVISIONING (grep DM_THIN /boot/config-* tells which has it)",
        )],
        check: |probe| module(probe, "dm-thin-pool", "/sys/module/dm_thin_pool"),
        reboot: false,
    },
    Need {
        id: "dm-cache",
        why: "for the layer lvm(cache)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_DM_CACHE_SMQ (grep DM_CACHE /boot/config-* tells which has it)",
        )],
        check: |probe| module(probe, "dm-cache-smq", "/sys/module/dm_cache_smq"),
        reboot: false,
    },
    Need {
        id: "zfs",
        why: "for the layer zfs",
        supply: &[
            debian(
                "apt-get install zfsutils-linux zfs-dkms (Debian: in contrib; Ubuntu needs the first only)",
            ),
            everywhere("install OpenZFS 2.0 or newer, its tools and its module"),
        ],
        check: |probe| program(probe, "zpool").or_else(|| module(probe, "zfs", "/sys/module/zfs")),
        reboot: false,
    },
    Need {
        id: "wipefs",
        why: "to take partition tables that zpool made off its members again",
        supply: &[
            debian("apt-get install util-linux"),
            fedora("dnf install util-linux"),
            everywhere("install util-linux"),
        ],
        check: |probe| program(probe, "wipefs"),
        reboot: false,
    },
    Need {
        id: "mdadm",
        why: "for the layer mdraid",
        supply: &[debian("apt-get install mdadm"), fedora("dnf install mdadm"), everywhere("install mdadm")],
        check: |probe| program(probe, "mdadm"),
        reboot: false,
    },
    Need {
        id: "raid0",
        why: "for mdraid(level=0)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_MD_RAID0 (grep MD_RAID0 /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "raid0", "/sys/module/raid0"),
        reboot: false,
    },
    Need {
        id: "raid1",
        why: "for mdraid(level=1)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_MD_RAID1 (grep MD_RAID1 /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "raid1", "/sys/module/raid1"),
        reboot: false,
    },
    Need {
        id: "raid10",
        why: "for mdraid(level=10)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_MD_RAID10 (grep MD_RAID10 /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "raid10", "/sys/module/raid10"),
        reboot: false,
    },
    Need {
        id: "raid456",
        why: "for mdraid(level=5) and mdraid(level=6)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_MD_RAID456 (grep MD_RAID456 /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "raid456", "/sys/module/raid456"),
        reboot: false,
    },
    Need {
        id: "qemu",
        why: "to boot a guest",
        supply: &[
            debian("apt-get install qemu-system-x86"),
            fedora("dnf install qemu-system-x86-core"),
            everywhere("install QEMU (qemu-system-x86_64)"),
        ],
        check: |probe| (probe.guest.qemu)().err(),
        reboot: false,
    },
    Need {
        id: "kvm",
        why: "for guests that run at the CPU's own speed (without it: emulated, no headline)",
        supply: &[everywhere(
            "switch on virtualisation in the firmware, modprobe kvm_intel or kvm_amd, join group kvm; in a VM: nested virtualisation",
        )],
        check: |probe| (probe.guest.kvm)().trouble(),
        reboot: false,
    },
    Need {
        id: "guest-kernel",
        why: "to boot a guest",
        supply: &[
            debian(
                "apt-get update (a kernel package is then fetched, not installed), or make /boot/vmlinuz-* readable (sudo chmod +r)",
            ),
            fedora("dnf install kernel-core"),
            Supply { distribution: "arch", command: "pacman -S linux" },
            everywhere("make /boot/vmlinuz-* readable (sudo chmod +r), with its /lib/modules folder"),
        ],
        check: |probe| (probe.guest.kernel)().err(),
        reboot: false,
    },
    Need {
        id: "qemu-io_uring",
        why: "for vm(aio=io_uring)",
        supply: &[everywhere(
            "a QEMU built with io_uring, and sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)",
        )],
        check: |probe| (probe.guest.io_uring)().err(),
        reboot: false,
    },
    Need {
        id: "storage-daemon-io_uring",
        why: "for vm(attach=vhost-user-blk,aio=io_uring)",
        supply: &[everywhere(
            "a storage daemon of QEMU's built with io_uring, and sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)",
        )],
        check: |probe| (probe.guest.daemon_io_uring)().err(),
        reboot: false,
    },
    Need {
        id: "qemu-storage-daemon",
        why: "for vm(attach=vhost-user-blk) and vm(format=qcow2)",
        supply: &[
            debian("apt-get install qemu-system-common"),
            // The program is in the package of qemu-img.
            fedora("dnf install qemu-img"),
            everywhere("install QEMU's storage daemon (qemu-storage-daemon, 6.0 or newer)"),
        ],
        check: |probe| (probe.guest.storage_daemon)().err(),
        reboot: false,
    },
    Need {
        id: "spdk",
        why: "for spdk(...) and vm(attach=vhost-user-blk,spdk=SOCKET)",
        supply: &[everywhere(
            "start SPDK's target: build/bin/spdk_tgt -r SOCKET -S /var/tmp -m 0x1 (where there are no huge pages: --no-huge -s 1024)",
        )],
        check: |probe| (probe.guest.spdk)().err(),
        reboot: false,
    },
    Need {
        id: "ovmf",
        why: "for vm(firmware=ovmf)",
        supply: &[
            debian("apt-get install ovmf"),
            fedora("dnf install edk2-ovmf"),
            everywhere("install OVMF (edk2's firmware for guests)"),
        ],
        check: |probe| (probe.guest.ovmf)().err(),
        reboot: false,
    },
    Need {
        id: "lab-image",
        why: "to boot the lab guest, in which RAID, volume managers and fabrics are tried",
        supply: &[everywhere("iotax lab build")],
        check: |probe| (probe.guest.lab)().err(),
        reboot: false,
    },
    Need {
        id: "iommu",
        why: "for vm(attach=vfio)",
        supply: &[
            debian(
                "switch on VT-d or AMD-Vi in the firmware, add intel_iommu=on iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, update-grub, reboot",
            ),
            fedora(
                "switch on VT-d or AMD-Vi in the firmware, grubby --update-kernel=ALL --args='intel_iommu=on iommu=pt', reboot",
            ),
            everywhere("switch on VT-d or AMD-Vi in the firmware, boot with intel_iommu=on iommu=pt"),
        ],
        check: |probe| (!pci::has_iommu(probe)).then(|| "no IOMMU is in use".into()),
        reboot: true,
    },
    Need {
        id: "vhost_scsi",
        why: "for vm(attach=vhost-scsi)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_VHOST_SCSI and CONFIG_TARGET_CORE (grep VHOST_SCSI /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "vhost_scsi", "/sys/module/vhost_scsi"),
        reboot: false,
    },
    Need {
        id: "vfio-pci",
        why: "for vm(attach=vfio)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_VFIO_PCI (grep VFIO_PCI /boot/config-* tells which has it), or install its package of further modules",
        )],
        check: |probe| module(probe, "vfio-pci", "/sys/bus/pci/drivers/vfio-pci"),
        reboot: false,
    },
    kernel_module!("nvmet", "nvmet", "NVME_TARGET", "for the target of nvmf"),
    kernel_module!("nvmet_tcp", "nvmet-tcp", "NVME_TARGET_TCP", "for the target of nvmf(tcp)"),
    kernel_module!("nvmet_rdma", "nvmet-rdma", "NVME_TARGET_RDMA", "for the target of nvmf(rdma)"),
    kernel_module!("nvme_loop", "nvme-loop", "NVME_TARGET_LOOP", "for nvmf(loop)"),
    kernel_module!("nvme_tcp", "nvme-tcp", "NVME_TCP", "for the host of nvmf(tcp)"),
    kernel_module!("nvme_rdma", "nvme-rdma", "NVME_RDMA", "for the host of nvmf(rdma)"),
    kernel_module!("iscsi_target_mod", "iscsi_target_mod", "ISCSI_TARGET", "for the target of iscsi"),
    kernel_module!("ib_isert", "ib_isert", "INFINIBAND_ISERT", "for the target of iscsi(iser)"),
    kernel_module!("iscsi_tcp", "iscsi_tcp", "ISCSI_TCP", "for the initiator of iscsi(tcp)"),
    kernel_module!("ib_iser", "ib_iser", "INFINIBAND_ISER", "for the initiator of iscsi(iser)"),
    kernel_module!("rdma_rxe", "rdma_rxe", "RDMA_RXE", "for RDMA where no card has it"),
    kernel_module!("nbd", "nbd", "BLK_DEV_NBD", "for the client of nbd"),
    program!("open-iscsi", "iscsid", "open-iscsi", "iscsi-initiator-utils", "for the initiator of iscsi"),
    program!("ip", "ip", "iproute2", "iproute", "for RDMA, to find or make its network card"),
    program!("rdma", "rdma", "iproute2", "iproute", "for RDMA where no card has it"),
    program!("nbd-client", "nbd-client", "nbd-client", "nbd", "for the client of nbd"),
    program!("qemu-nbd", "qemu-nbd", "qemu-utils", "qemu-img", "for the server of nbd"),
    Need {
        id: "ssh",
        why: "to measure on another machine",
        supply: &[
            debian("apt-get install openssh-client"),
            fedora("dnf install openssh-clients"),
            everywhere("install OpenSSH's client"),
        ],
        check: |probe| program(probe, "ssh"),
        reboot: false,
    },
    Need {
        id: "fio",
        why: "for engine = \"fio\"",
        supply: &[
            debian("apt-get install fio"),
            fedora("dnf install fio"),
            everywhere("install fio 3 or newer"),
        ],
        check: |probe| program(probe, "fio"),
        reboot: false,
    },
    Need {
        id: "blkid",
        why: "for a second opinion on what a device carries",
        supply: &[
            debian("apt-get install util-linux"),
            fedora("dnf install util-linux"),
            everywhere("install util-linux"),
        ],
        check: |probe| program(probe, "blkid"),
        reboot: false,
    },
];

/// The need of this name.
pub fn by_id(id: &str) -> Option<&'static Need> {
    ALL.iter().find(|need| need.id == id)
}

/// That need, where somebody else found out what is lacking on this machine.
pub fn lacking(id: &str, what: String) -> Option<Missing> {
    Some(by_id(id)?.lacking(&Probe::of_files(Path::new("/")), what))
}

/// What of these needs is unmet on this machine; files would go to `dir`.
pub fn missing(ids: &[&str], dir: &Path, guest: GuestProbe) -> Vec<Missing> {
    let probe = Probe::here(dir, guest);
    ids.iter().filter_map(|id| by_id(id)?.missing(&probe)).collect()
}

impl Need {
    /// What is missing on this machine, with the command that supplies it.
    pub fn missing(&self, probe: &Probe) -> Option<Missing> {
        Some(self.lacking(probe, (self.check)(probe)?))
    }

    /// The same where somebody else found out what that is. A finding with a hint of its own knows better than the table.
    pub fn lacking(&self, probe: &Probe, what: String) -> Missing {
        let (what, command) = match what.split_once("; hint: ") {
            Some((what, hint)) => (what.to_owned(), hint.to_owned()),
            None => (what, self.command(probe).to_owned()),
        };
        Missing { what, why: self.why.into(), command, reboot: self.reboot }
    }

    /// The command for this machine's distribution.
    pub fn command(&self, probe: &Probe) -> &'static str {
        let words = distribution(probe);
        let fits = |supply: &&Supply| {
            supply.distribution.is_empty() || words.iter().any(|word| word == supply.distribution)
        };
        self.supply.iter().find(fits).map_or("", |supply| supply.command)
    }
}

/// `ID` and `ID_LIKE` of os-release.
fn distribution(probe: &Probe) -> Vec<String> {
    let text = probe.read("/etc/os-release").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches(['"', '\'']).split(' '))
        .map(str::to_owned)
        .collect()
}

/// How a program is installed where iotax does not know the package manager: the words behind are for people.
pub const BY_HAND: &str = "install";

/// Behind the name of a program that is lacking.
const NOT_INSTALLED: &str = " is not installed";

impl Missing {
    /// Whether it is a module of the kernel.
    pub fn is_of_kernel(&self) -> bool {
        self.what.starts_with(NO_MODULE)
    }

    /// How a package manager is called for it, and its packages; `None` where none supplies it.
    pub fn packages(&self) -> Option<(&str, &str)> {
        let command = self.command.split(" (").next().filter(|_| self.what.ends_with(NOT_INSTALLED))?;
        let at = command.find("install ")? + "install".len();
        Some((&command[..at], command[at..].trim()))
    }
}

fn program(probe: &Probe, name: &str) -> Option<String> {
    probe.program(name).is_none().then(|| format!("{name}{NOT_INSTALLED}"))
}

/// Before the name of a module that is lacking.
const NO_MODULE: &str = "there is no module ";

/// A module that is loaded (`there` tells), or that `modprobe` would find.
fn module(probe: &Probe, name: &str, there: &str) -> Option<String> {
    let release = probe.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let lists = ["modules.dep", "modules.builtin"].map(|list| format!("/lib/modules/{release}/{list}"));
    let file = format!("/{name}.ko");
    let listed = lists.iter().filter_map(|list| probe.read(list)).any(|list| list.contains(&file));
    let found = probe.at(there).exists() || listed;
    (!found).then(|| format!("{NO_MODULE}{name} for this kernel ({release})"))
}

fn space(probe: &Probe) -> Option<String> {
    let dir = probe.dir.display();
    let Some(space) = probe.space else {
        return Some(format!("the free space of {dir} is not known"));
    };
    (space.free <= space.total / 10)
        .then(|| format!("{dir}: only {} of {} are free", show_bytes(space.free), show_bytes(space.total)))
}

fn root(probe: &Probe) -> Option<String> {
    (probe.euid != 0).then(|| format!("this is user {}, not root", probe.euid))
}

fn io_uring(probe: &Probe) -> Option<String> {
    let why = probe.io_uring.as_ref().err()?;
    Some(match probe.number("/proc/sys/kernel/io_uring_disabled") {
        Some(value @ 1..) => {
            format!("io_uring is switched off: kernel.io_uring_disabled = {value}")
        }
        _ => format!("io_uring does not answer: {why}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::kvm::KvmState;
    use super::super::made_up::complete_server;
    use super::super::probe::Space;
    use super::*;

    fn lacking(probe: &Probe) -> Vec<&'static str> {
        ALL.iter().filter(|need| need.missing(probe).is_some()).map(|need| need.id).collect()
    }

    #[test]
    fn the_table_is_sound() {
        let mut ids: Vec<&str> = ALL.iter().map(|need| need.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len(), "names are unique");
        for need in ALL {
            assert!(!need.why.is_empty() && by_id(need.id).is_some());
            assert!(need.supply.last().is_some_and(|supply| supply.distribution.is_empty()), "{}", need.id);
        }
    }

    #[test]
    fn a_complete_machine_lacks_nothing_and_an_empty_one_almost_everything() {
        assert_eq!(lacking(&complete_server().probe), Vec::<&str>::new());
        let folder = tempfile::tempdir().expect("temporary folder");
        let mut probe = Probe::of_files(folder.path());
        probe.euid = 1000;
        probe.io_uring = Err("operation not permitted".into());
        probe.folder = Err("folder /x does not exist".into());
        assert_eq!(lacking(&probe).len(), ALL.len(), "{:?}", lacking(&probe));
    }

    #[test]
    fn each_need_alone() {
        let machine = complete_server();
        let what = |id: &str, probe: &Probe| by_id(id).and_then(|need| need.missing(probe)).expect(id).what;
        let guest = GuestProbe {
            kvm: || KvmState::Emulated("20 ms a loop".into()),
            qemu: || Err("too old".into()),
            kernel: || Err("none to read".into()),
            storage_daemon: || Err("is 5.2.0".into()),
            io_uring: || Err("not built in".into()),
            daemon_io_uring: || Err("forbidden".into()),
            ovmf: || Err("no OVMF".into()),
            spdk: || Err("no target".into()),
            lab: || Err("not built".into()),
        };
        let asked = Probe { guest, ..machine.probe.clone() };
        assert_eq!(what("qemu", &asked), "too old");
        assert_eq!(what("guest-kernel", &asked), "none to read");
        assert_eq!(what("qemu-io_uring", &asked), "not built in");
        assert_eq!(what("qemu-storage-daemon", &asked), "is 5.2.0");
        assert_eq!(what("storage-daemon-io_uring", &asked), "forbidden");
        assert_eq!(what("lab-image", &asked), "not built");
        assert!(what("kvm", &asked).contains("only emulates: 20 ms a loop"));
        let absent = KvmState::Absent("no permission; hint: join the group".into());
        let kvm = by_id("kvm").unwrap();
        let missing = kvm.lacking(&asked, absent.trouble().unwrap());
        assert_eq!((missing.what.as_str(), missing.command.as_str()), ("no permission", "join the group"));
        let missing = kvm.lacking(&asked, "it does not answer".into());
        assert!(missing.command.starts_with("switch on virtualisation"), "{}", missing.command);
        let full = Probe { space: Some(Space { total: 1000, free: 100 }), ..machine.probe.clone() };
        assert!(what("space", &full).contains("only 100 B of 1000 B are free"));
        let filtered = Probe { io_uring: Err("denied".into()), ..machine.probe.clone() };
        assert!(what("io_uring", &filtered).contains("does not answer: denied"));
        machine.put(&[("/proc/sys/kernel/io_uring_disabled", "2")]);
        assert!(what("io_uring", &filtered).contains("io_uring_disabled = 2"));
    }

    #[test]
    fn commands_follow_the_distribution() {
        let machine = complete_server();
        let command = |text: &str| {
            machine.put(&[("/etc/os-release", text)]);
            by_id("qemu").expect("qemu").command(&machine.probe)
        };
        assert!(command("ID=ubuntu\nID_LIKE=debian\n").starts_with("apt-get"));
        assert!(command("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n").starts_with("dnf"));
        assert!(command("ID=void\n").starts_with("install QEMU"));
    }
}
