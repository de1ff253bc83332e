//! Things that a run may need of a machine: one entry for each need, with the command that supplies
//! it. Checking only reads; nothing is installed or changed.

use super::Missing;
use super::pci;
use super::probe::{GuestProbe, Probe};
use iotax_facts::need::{
    Requirement, SearchedThing, Supply, debian, everywhere, fedora, module, program,
};
use iotax_units::show_bytes;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A requirement that a machine may not meet.
#[derive(Clone, Copy)]
pub struct Need {
    /// Stable name, for `doctor --require`.
    pub id: &'static str,
    /// Purpose, a clause: `to boot a guest`.
    pub why: &'static str,
    /// Commands that meet the need, by distribution; the last one applies to all that are not
    /// named.
    pub supply: &'static [Supply],
    /// Check that shows whether the requirement is met.
    pub check: NeedCheck,
    /// True if the command takes effect only after a reboot.
    pub reboot: bool,
}

/// Check that shows whether a requirement is met.
#[derive(Clone, Copy)]
pub enum NeedCheck {
    /// Function that says what is missing (`no IOMMU is in use`); `None` if nothing is.
    By(fn(&Probe) -> Option<String>),
    /// Things that must all be found.
    Finds(&'static [SearchedThing]),
}

impl Need {
    /// Creates a need that is met if programs, modules or files are found.
    pub const fn requiring(requirement: Requirement) -> Need {
        let Requirement { id, why, supply, finds } = requirement;
        Need { id, why, supply, check: NeedCheck::Finds(finds), reboot: false }
    }
}

/// Needs that belong to no single layer, or that have a check of their own.
pub const OWN: &[Need] = &[
    Need {
        id: "folder",
        why: "to make a file",
        supply: &[everywhere("mkdir -p DIR, or name a folder of your own: --dir DIR")],
        check: NeedCheck::By(|probe| probe.folder.clone().err()),
        reboot: false,
    },
    Need {
        id: "space",
        why: "to make a file and still keep 10 % of its file system free",
        supply: &[everywhere("free some space, or name another folder: --dir DIR")],
        check: NeedCheck::By(space),
        reboot: false,
    },
    Need {
        id: "root",
        why: "to attach loop devices, mount file systems and make bridges and taps",
        supply: &[everywhere("sudo iotax ...")],
        check: NeedCheck::By(root),
        reboot: false,
    },
    Need {
        id: "io_uring",
        why: "to keep many I/Os in flight from one thread (the sync engine does without)",
        supply: &[everywhere(
            "sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)",
        )],
        check: NeedCheck::By(io_uring),
        reboot: false,
    },
    Need::requiring(program!(
        "wipefs",
        "to take partition tables that zpool made off its members again",
        "util-linux",
        "util-linux",
        "util-linux"
    )),
    Need {
        id: "qemu",
        why: "to boot a guest",
        supply: &[
            debian("apt-get install qemu-system-x86"),
            fedora("dnf install qemu-system-x86-core"),
            everywhere("install QEMU (qemu-system-x86_64)"),
        ],
        check: NeedCheck::By(|probe| (probe.guest.qemu)().err()),
        reboot: false,
    },
    Need {
        id: "kvm",
        why: "for guests that run at the CPU's own speed (without it: emulated, no headline)",
        supply: &[everywhere(
            "switch on virtualisation in the firmware, modprobe kvm_intel or kvm_amd, join group kvm; in a VM: nested virtualisation",
        )],
        check: NeedCheck::By(|probe| (probe.guest.kvm)().trouble()),
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
            everywhere(
                "make /boot/vmlinuz-* readable (sudo chmod +r), with its /lib/modules folder",
            ),
        ],
        check: NeedCheck::By(|probe| (probe.guest.kernel)().err()),
        reboot: false,
    },
    Need {
        id: "qemu-io_uring",
        why: "for vm(aio=io_uring)",
        supply: &[everywhere(
            "a QEMU built with io_uring, and sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)",
        )],
        check: NeedCheck::By(|probe| (probe.guest.io_uring)().err()),
        reboot: false,
    },
    Need {
        id: "storage-daemon-io_uring",
        why: "for vm(attach=vhost-user-blk,aio=io_uring)",
        supply: &[everywhere(
            "a storage daemon of QEMU's built with io_uring, and sysctl -w kernel.io_uring_disabled=0 (in a container: its seccomp profile)",
        )],
        check: NeedCheck::By(|probe| (probe.guest.daemon_io_uring)().err()),
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
        check: NeedCheck::By(|probe| (probe.guest.storage_daemon)().err()),
        reboot: false,
    },
    Need {
        id: "spdk",
        why: "for spdk(...) and vm(attach=vhost-user-blk,spdk=SOCKET)",
        supply: &[everywhere(
            "start SPDK's target: build/bin/spdk_tgt -r SOCKET -S /var/tmp -m 0x1 (where there are no huge pages: --no-huge -s 1024)",
        )],
        check: NeedCheck::By(|probe| (probe.guest.spdk)().err()),
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
        check: NeedCheck::By(|probe| (probe.guest.ovmf)().err()),
        reboot: false,
    },
    Need {
        id: "lab-image",
        why: "to boot the lab guest, in which RAID, volume managers and fabrics are tried",
        supply: &[everywhere("iotax lab build")],
        check: NeedCheck::By(|probe| (probe.guest.lab)().err()),
        reboot: false,
    },
    Need {
        id: "iommu",
        why: "for vm(attach=vfio)",
        supply: &[everywhere("switch on the IOMMU in the firmware, and boot with iommu=pt")],
        check: NeedCheck::By(lacks_iommu),
        reboot: true,
    },
    Need {
        id: "vhost_scsi",
        why: "for vm(attach=vhost-scsi)",
        supply: &[everywhere(
            "boot a kernel with CONFIG_VHOST_SCSI and CONFIG_TARGET_CORE (grep VHOST_SCSI /boot/config-* shows which have it), or install the kernel's package of extra modules",
        )],
        check: NeedCheck::Finds(&[SearchedThing::Module("vhost_scsi")]),
        reboot: false,
    },
    Need {
        check: NeedCheck::By(|probe| no_module(probe, "vfio-pci", "/sys/bus/pci/drivers/vfio-pci")),
        ..Need::requiring(module!("vfio-pci", "vfio-pci", "VFIO_PCI", "for vm(attach=vfio)"))
    },
    Need::requiring(module!("rdma_rxe", "rdma_rxe", "RDMA_RXE", "for RDMA where no card has it")),
    Need::requiring(program!(
        "ip",
        "for vm(net=tap), and for RDMA, to find or make network cards",
        "iproute2",
        "iproute",
        "iproute2"
    )),
    Need {
        id: "tun",
        why: "for vm(net=tap)",
        supply: &[everywhere(
            "modprobe tun, or boot a kernel with CONFIG_TUN (in a container: give it /dev/net/tun)",
        )],
        check: NeedCheck::Finds(&[SearchedThing::File("/dev/net/tun")]),
        reboot: false,
    },
    Need {
        id: "vhost_net",
        why: "for vm(net=tap,vhost=on)",
        supply: &[everywhere(
            "modprobe vhost_net, or leave vhost=on out: QEMU then serves the card itself",
        )],
        check: NeedCheck::Finds(&[SearchedThing::File("/dev/vhost-net")]),
        reboot: false,
    },
    Need::requiring(program!(
        "rdma",
        "for RDMA where no card has it",
        "iproute2",
        "iproute",
        "iproute2"
    )),
    Need::requiring(program!(
        "ssh",
        "to measure on another machine",
        "openssh-client",
        "openssh-clients",
        "OpenSSH's client"
    )),
    Need::requiring(program!(
        "blkid",
        "for a second opinion on what a device carries",
        "util-linux",
        "util-linux",
        "util-linux"
    )),
];

/// Explains that no IOMMU is in use (`None` if one is), and which kernel parameters this machine's
/// IOMMU requires. The kind of IOMMU is known from its ACPI table, or from the processor's vendor
/// if the firmware has switched the IOMMU off.
fn lacks_iommu(probe: &Probe) -> Option<String> {
    if pci::has_iommu(probe) {
        return None;
    }
    let cpu = probe.read_trimmed("/proc/cpuinfo").unwrap_or_default();
    let has_table =
        |name: &str| probe.path_below(format!("/sys/firmware/acpi/tables/{name}")).exists();
    let is_amd = ["AuthenticAMD", "HygonGenuine"].iter().any(|vendor| cpu.contains(vendor));
    let (switch, words) = match () {
        () if has_table("DMAR") => ("VT-d", "intel_iommu=on iommu=pt"),
        () if has_table("IVRS") || is_amd => ("AMD-Vi", "iommu=pt"),
        () if cpu.contains("GenuineIntel") => ("VT-d", "intel_iommu=on iommu=pt"),
        () => ("the IOMMU", "iommu=pt"),
    };
    let distribution = distribution(probe);
    let boot = match () {
        () if distribution.iter().any(|word| word == "debian") => {
            format!(
                "add {words} to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot"
            )
        }
        () if distribution.iter().any(|word| word == "fedora") => {
            format!("run grubby --update-kernel=ALL --args='{words}', reboot")
        }
        () => format!("boot with {words}"),
    };
    Some(format!("no IOMMU is in use; hint: switch on {switch} in the firmware, {boot}"))
}

/// Returns which of these needs this machine does not meet. `dir` is the folder for files and runs.
pub fn missing_from_host(needs: &[Need], dir: &Path, guest: GuestProbe) -> Vec<Missing> {
    let probe = Probe::this_machine(dir, guest);
    needs.iter().filter_map(|need| need.find_missing(&probe)).collect()
}

impl Need {
    /// Returns what is missing on the probed machine, with the command that supplies it; `None` if
    /// the need is met.
    pub fn find_missing(&self, probe: &Probe) -> Option<Missing> {
        Some(self.describe_missing(&distribution(probe), self.remote_form().missing_thing(probe)?))
    }

    /// Returns the need in the form in which another machine is asked for it.
    pub fn remote_form(&self) -> AskedNeed {
        let finds = match self.check {
            NeedCheck::By(_) => Vec::new(),
            NeedCheck::Finds(finds) => finds.iter().map(|find| (*find).into()).collect(),
        };
        AskedNeed { id: self.id.to_owned(), finds }
    }

    /// Describes what is missing on a machine with these distribution names. `what` is the answer
    /// of a check; a hint in it takes precedence over [`Self::supply`].
    pub fn describe_missing(&self, distribution: &[String], what: String) -> Missing {
        let (what, command) = match what.split_once("; hint: ") {
            Some((what, hint)) => (what.to_owned(), hint.to_owned()),
            None => (what, self.supply_command(distribution).to_owned()),
        };
        Missing { what, why: self.why.into(), command, reboot: self.reboot }
    }

    pub fn supply_command(&self, distribution: &[String]) -> &'static str {
        let fits = |supply: &&Supply| {
            supply.distribution.is_empty()
                || distribution.iter().any(|word| word == supply.distribution)
        };
        self.supply.iter().find(fits).map_or("", |supply| supply.command)
    }
}

/// A need as it is sent to another machine: the things to look for, or just the id of one in
/// [`OWN`] that has a check of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskedNeed {
    pub id: String,
    /// Things that must all be found; empty if the id is enough.
    pub finds: Vec<SearchedThing<String>>,
}

impl AskedNeed {
    /// Returns what is missing on the probed machine: `there is no module nbd for this kernel
    /// (6.1.0)`. `None` if the need is met.
    pub fn missing_thing(&self, probe: &Probe) -> Option<String> {
        let own = OWN.iter().find(|need| need.id == self.id).map(|need| need.check);
        match own {
            Some(NeedCheck::By(check)) => check(probe),
            _ => self.finds.iter().find_map(|find| not_found(probe, find)),
        }
    }
}

/// Returns the words of `ID` and `ID_LIKE` in os-release, by which [`Need::supply`] is chosen.
pub fn distribution(probe: &Probe) -> Vec<String> {
    let text = probe.read_trimmed("/etc/os-release").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches(['"', '\'']).split(' '))
        .map(str::to_owned)
        .collect()
}

/// Verb for installing a program if iotax does not know the package manager; a person reads the
/// rest.
pub const BY_HAND: &str = "install";

/// Words after the name of a program that is lacking.
const NOT_INSTALLED: &str = " is not installed";

impl Missing {
    /// Returns true if a module of the kernel is missing.
    pub fn is_of_kernel(&self) -> bool {
        self.what.starts_with(NO_MODULE)
    }

    /// Returns the package manager's command and the packages: `apt-get install` and `ovmf`. `None`
    /// if what is missing is not a program, or no package supplies it.
    pub fn packages(&self) -> Option<(&str, &str)> {
        let command =
            self.command.split(" (").next().filter(|_| self.what.ends_with(NOT_INSTALLED))?;
        let at = command.find("install ")? + "install".len();
        Some((&command[..at], command[at..].trim()))
    }
}

/// Words before the name of a module that is lacking.
const NO_MODULE: &str = "there is no module ";

fn not_found(probe: &Probe, find: &SearchedThing<String>) -> Option<String> {
    match find {
        SearchedThing::Program(name) => {
            probe.program(name).is_none().then(|| format!("{name}{NOT_INSTALLED}"))
        }
        SearchedThing::Module(name) => {
            no_module(probe, name, &format!("/sys/module/{}", name.replace('-', "_")))
        }
        SearchedThing::File(path) => {
            (!probe.path_below(path).exists()).then(|| format!("there is no {path}"))
        }
    }
}

/// Returns a message if a module is neither loaded (no path `there`) nor listed for `modprobe`.
fn no_module(probe: &Probe, name: &str, there: &str) -> Option<String> {
    let release = probe.read_trimmed("/proc/sys/kernel/osrelease").unwrap_or_default();
    let lists =
        ["modules.dep", "modules.builtin"].map(|list| format!("/lib/modules/{release}/{list}"));
    let file = format!("/{name}.ko");
    let listed =
        lists.iter().filter_map(|list| probe.read_trimmed(list)).any(|list| list.contains(&file));
    let found = probe.path_below(there).exists() || listed;
    (!found).then(|| format!("{NO_MODULE}{name} for this kernel ({release})"))
}

fn space(probe: &Probe) -> Option<String> {
    let dir = probe.dir.display();
    let Some(space) = probe.space else {
        return Some(format!("the free space of {dir} is not known"));
    };
    (space.free <= space.total / 10).then(|| {
        format!("{dir}: only {} of {} are free", show_bytes(space.free), show_bytes(space.total))
    })
}

fn root(probe: &Probe) -> Option<String> {
    (probe.euid != 0).then(|| format!("this is user {}, not root", probe.euid))
}

fn io_uring(probe: &Probe) -> Option<String> {
    let why = probe.io_uring.as_ref().err()?;
    Some(match probe.read_number("/proc/sys/kernel/io_uring_disabled") {
        Some(value @ 1..) => {
            format!("io_uring is switched off: kernel.io_uring_disabled = {value}")
        }
        _ => format!("io_uring does not answer: {why}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::bare_guest;

    #[test]
    fn the_hint_about_an_iommu_has_the_words_of_this_machine() {
        let hint = |files: &[(&str, &str)]| {
            let machine = bare_guest();
            machine.put(&[("/etc/os-release", "ID=debian\n")]);
            machine.put(files);
            lacks_iommu(&machine.probe).unwrap()
        };
        let of_cpu = |vendor: &str| hint(&[("/proc/cpuinfo", &format!("vendor_id\t: {vendor}\n"))]);
        let grub = "to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot";
        let said = |of: &str, words: &str| {
            format!("no IOMMU is in use; hint: switch on {of} in the firmware, add {words} {grub}")
        };
        assert_eq!(of_cpu("GenuineIntel"), said("VT-d", "intel_iommu=on iommu=pt"));
        assert_eq!(of_cpu("AuthenticAMD"), said("AMD-Vi", "iommu=pt"));
        let emulated = [
            ("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n"),
            ("/sys/firmware/acpi/tables/DMAR", ""),
        ];
        assert_eq!(hint(&emulated), said("VT-d", "intel_iommu=on iommu=pt"));
    }
}
