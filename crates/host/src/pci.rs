//! PCI functions in sysfs: what drives them, which IOMMU group they are in, which disks are
//! attached to them. An IOMMU group is what the IOMMU can isolate from the rest: it is given to a
//! guest as a whole or not at all.

use super::probe::Probe;
use super::{block, facts};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Folder in which the kernel lists IOMMU groups.
const GROUPS: &str = "/sys/kernel/iommu_groups";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub address: String,
    /// Base class, sub-class and interface, a byte each: 0x010802 is an NVMe drive.
    pub class: u64,
    pub driver: Option<String>,
}

impl Function {
    /// Returns true for a bridge from PCI to PCI. It carries other functions and is never given to
    /// a guest; vfio leaves it to its driver. Other bridges (ISA, host) are devices like any other.
    pub fn is_bridge(&self) -> bool {
        self.class >> 8 == 0x0604
    }

    /// Returns the kind of function with its article: `an NVMe drive`.
    pub fn kind_name(&self) -> &'static str {
        match (self.class >> 16, self.class >> 8 & 0xff) {
            (0x01, 0x08) => "an NVMe drive",
            (0x01, _) => "a storage controller",
            (0x02, _) => "a network card",
            (0x03, _) => "a graphics card",
            (0x06, _) => "a bridge",
            (0x0c, 0x03) => "a USB controller",
            _ => "a device",
        }
    }
}

/// A disk with the PCI function that it is attached to: an NVMe drive is that function itself;
/// other disks share their controller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PciDrive {
    pub address: String,
    /// Names of its disk: `/dev/nvme0n1` first, then udev's links.
    pub paths: Vec<PathBuf>,
    pub driver: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Size of a logical block in bytes.
    pub logical_block: Option<u64>,
    pub bytes: Option<u64>,
    /// Other disks of the same function: namespaces of the drive, or disks of the controller.
    pub siblings: Vec<String>,
    /// The drive's IOMMU group, what else is in it, and whether the ports above isolate it (ACS),
    /// in words; `None` if there is no IOMMU, or it is off.
    pub isolation: Option<String>,
    /// Reasons why the group cannot be given away, one clause each.
    pub obstacles: Vec<String>,
    /// NUMA node of the slot.
    pub numa_node: Option<u64>,
}

/// Returns the folder of a function in sysfs.
pub fn function_folder(address: &str) -> PathBuf {
    Path::new("/sys/bus/pci/devices").join(address)
}

pub fn function(probe: &Probe, address: &str) -> Option<Function> {
    let dir = function_folder(address);
    let class = probe.read_trimmed(dir.join("class"))?;
    Some(Function {
        address: address.to_owned(),
        class: u64::from_str_radix(class.trim_start_matches("0x"), 16).ok()?,
        driver: bound_driver(probe, address),
    })
}

pub fn bound_driver(probe: &Probe, address: &str) -> Option<String> {
    probe.link_name(function_folder(address).join("driver"))
}

pub fn group_number(probe: &Probe, address: &str) -> Option<String> {
    probe.link_name(function_folder(address).join("iommu_group"))
}

/// Returns why the IOMMU group of this function cannot be given to a guest: other members are in
/// use here, or the function is in no group although this machine has an IOMMU. Empty if it can be
/// given.
pub fn obstacles(probe: &Probe, address: &str) -> Vec<String> {
    let Some(group) = group_number(probe, address) else {
        return has_iommu(probe)
            .then(|| format!("{address} is in no IOMMU group"))
            .into_iter()
            .collect();
    };
    let members = probe.folder_names(Path::new(GROUPS).join(&group).join("devices"));
    let others = members.iter().filter(|member| *member != address);
    let others = others.filter_map(|member| function(probe, member));
    others.filter(|other| !other.is_bridge()).filter_map(|other| in_use(&other, &group)).collect()
}

/// Returns the IOMMU group of a function, with its other members and ACS at the ports above, in
/// words: `IOMMU group 14, alone; ACS at 0000:00:01.0: on`. `None` without a group.
fn isolation(probe: &Probe, address: &str) -> Option<String> {
    let group = group_number(probe, address)?;
    let members = probe.folder_names(Path::new(GROUPS).join(&group).join("devices"));
    let others = members.into_iter().filter(|member| member != address);
    let others: Vec<String> = others
        .map(|other| match function(probe, &other) {
            Some(known) => format!("{other} ({})", known.kind_name()),
            None => other,
        })
        .collect();
    let company = match others.is_empty() {
        true => ", alone".to_owned(),
        false => format!(" with {}", others.join(", ")),
    };
    let ports = ports_above(probe, address);
    let ports = ports.iter().map(|port| format!("; ACS at {port}: {}", acs_word(probe, port)));
    Some(format!("IOMMU group {group}{company}{}", ports.collect::<String>()))
}

/// Returns the addresses of the PCI ports between the root and a function, from the root.
fn ports_above(probe: &Probe, address: &str) -> Vec<String> {
    let Ok(folder) = probe.path_below(function_folder(address)).canonicalize() else {
        return Vec::new();
    };
    let names = folder.iter().filter_map(|name| name.to_str());
    let ports = names.filter(|name| *name != address);
    ports
        .filter(|name| function(probe, name).is_some_and(|port| port.is_bridge()))
        .map(str::to_owned)
        .collect()
}

/// Returns whether a port keeps what is below it from reaching other devices past the IOMMU (PCIe's
/// Access Control Services): `on`, `off`, `none`, or `unknown`.
fn acs_word(probe: &Probe, port: &str) -> &'static str {
    let file = File::open(probe.path_below(function_folder(port).join("config")));
    let mut config = Vec::new();
    match file.and_then(|file| file.take(CONFIG_BYTES).read_to_end(&mut config)) {
        Ok(length) if length > EXTENDED => acs_of_config(&config),
        // Only root is shown more than the first bytes.
        _ => "unknown",
    }
}

const CONFIG_BYTES: u64 = 4096;
/// Offset of the first extended capability in a function's configuration space.
const EXTENDED: usize = 0x100;
/// Id of the extended capability ACS (PCI Express Base Specification, 7.7.11).
const ACS: u32 = 0x000d;
/// Source validation, and redirection of requests, completions and upstream traffic to the root.
const ISOLATES: u16 = 0x1d;

fn acs_of_config(config: &[u8]) -> &'static str {
    let bytes_at = |at: usize| config.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (mut at, most) = (EXTENDED, config.len() / 4);
    for _ in 0..most {
        let Some(head) = bytes_at(at) else { break };
        if head & 0xffff == ACS {
            // Capabilities in the low half, control in the high one. What a port does not offer, it
            // need not switch on, as in Linux's pci_acs_flags_enabled.
            let word = bytes_at(at + 4).unwrap_or(0);
            let (offered, control) = (word as u16, (word >> 16) as u16);
            return if !control & ISOLATES & offered == 0 { "on" } else { "off" };
        }
        at = (head >> 20) as usize;
        if at < EXTENDED {
            break;
        }
    }
    "none"
}

/// Describes another function of the group that is bound to a driver of this host. `None` if it has
/// no driver, or waits for a guest itself (vfio-pci, pci-stub).
fn in_use(other: &Function, group: &str) -> Option<String> {
    let driver = other.driver.as_deref()?;
    (!["vfio-pci", "pci-stub"].contains(&driver)).then(|| {
        format!(
            "IOMMU group {group} also holds {}, {} bound to {driver}",
            other.address,
            other.kind_name()
        )
    })
}

/// Returns true if this machine isolates its devices by an IOMMU.
pub fn has_iommu(probe: &Probe) -> bool {
    !probe.folder_names(GROUPS).is_empty()
}

/// Returns the address of a disk's PCI function: the last address on its path from the root
/// complex. `None` if there is none, or if the disk has several controllers (native NVMe
/// multipath).
pub fn of_disk(probe: &Probe, name: &str) -> Option<String> {
    let below = |path: PathBuf| -> Option<String> {
        let real = probe.path_below(path).canonicalize().ok()?;
        let parts: Vec<&str> =
            real.components().filter_map(|part| part.as_os_str().to_str()).collect();
        parts.into_iter().rfind(|part| is_address(part)).map(str::to_owned)
    };
    let direct = below(block::sys_block(name));
    direct.or_else(|| {
        let subsystem = block::sys_block(name).join("device");
        let controllers: Vec<String> = probe
            .folder_names(&subsystem)
            .into_iter()
            .filter(|entry| is_controller(entry))
            .collect();
        match controllers.as_slice() {
            [one] => below(subsystem.join(one)),
            _ => None,
        }
    })
}

/// Returns the names of the disks that are attached to a PCI function.
pub fn disks_at(probe: &Probe, address: &str) -> Vec<String> {
    all_disks(probe).into_iter().filter(|(at, _)| at == address).map(|(_, name)| name).collect()
}

/// Returns each disk that is attached to a PCI function, as the function's address and the disk's
/// name.
fn all_disks(probe: &Probe) -> Vec<(String, String)> {
    let names = probe.folder_names("/sys/block").into_iter();
    names
        .filter(|name| probe.read_number(block::sys_block(name).join("hidden")) != Some(1))
        .filter_map(|name| Some((of_disk(probe, &name)?, name)))
        .collect()
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_address(part: &str) -> bool {
    let mut fields = part.split([':', '.']);
    let widths = [4, 2, 2, 1];
    let fits = widths.iter().all(|width| {
        fields.next().is_some_and(|field| {
            // Domains beyond 0xffff (VMD) have more digits.
            (field.len() == *width || *width == 4 && field.len() > 4)
                && field.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    fits && fields.next().is_none()
}

/// Returns all disks of this machine that are attached to a PCI function.
pub fn drives(probe: &Probe) -> Vec<PciDrive> {
    let disks = all_disks(probe);
    let links = links(probe);
    disks
        .iter()
        .filter_map(|(address, name)| read_drive(probe, address, name, &disks, &links))
        .collect()
}

fn read_drive(
    probe: &Probe,
    address: &str,
    name: &str,
    disks: &[(String, String)],
    links: &[(PathBuf, String)],
) -> Option<PciDrive> {
    let function = function(probe, address)?;
    let device = facts::device_facts(probe, name);
    let aliases = links.iter().filter(|(_, of)| of == name).map(|(link, _)| link.clone());
    let beside = disks.iter().filter(|(other, disk)| other == address && disk != name);
    Some(PciDrive {
        address: address.to_owned(),
        paths: std::iter::once(Path::new("/dev").join(name)).chain(aliases).collect(),
        driver: function.driver,
        model: device.model,
        serial: device.serial,
        firmware: device.firmware,
        logical_block: device.queue.get("logical_block_size").and_then(|bytes| bytes.parse().ok()),
        bytes: device.bytes,
        siblings: beside.map(|(_, disk)| disk.clone()).collect(),
        isolation: isolation(probe, address),
        obstacles: obstacles(probe, address),
        numa_node: device.numa_node,
    })
}

/// Returns udev's links to disks and partitions, each with the kernel's name of the device.
fn links(probe: &Probe) -> Vec<(PathBuf, String)> {
    let kinds =
        probe.folder_names("/dev/disk").into_iter().map(|kind| Path::new("/dev/disk").join(kind));
    let of_kind = |dir: PathBuf| {
        let names = probe.folder_names(&dir).into_iter().map(move |name| dir.join(name));
        names.filter_map(|link| Some((link.clone(), probe.link_name(&link)?))).collect::<Vec<_>>()
    };
    kinds.flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::server;
    use super::*;

    #[test]
    fn the_drive_of_a_server_with_all_that_names_it() {
        let machine = server();
        machine.link("/dev/disk/by-id/nvme-Made-up_S4EVNF0M", "/dev/nvme0n1");
        machine.put(&[("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400")]);
        let drives = drives(&machine.probe);
        let nvme = drives.iter().find(|drive| drive.address == "0000:01:00.0").unwrap();
        assert_eq!(
            nvme.paths,
            [Path::new("/dev/nvme0n1"), Path::new("/dev/disk/by-id/nvme-Made-up_S4EVNF0M")]
        );
        assert_eq!(
            (nvme.driver.as_deref(), nvme.serial.as_deref()),
            (Some("nvme"), Some("S4EVNF0M"))
        );
        assert_eq!((nvme.firmware.as_deref(), nvme.logical_block), (Some("2B2QEXM7"), Some(512)));
        let alone = "IOMMU group 14, alone; ACS at 0000:00:01.0: unknown";
        assert_eq!((nvme.isolation.as_deref(), nvme.numa_node), (Some(alone), Some(1)));
        assert_eq!((nvme.obstacles.len(), nvme.siblings.len()), (0, 0));
        assert!(has_iommu(&machine.probe));
    }

    #[test]
    fn a_bound_neighbour_is_an_obstacle_and_a_bridge_or_an_idle_one_is_not() {
        let machine = server();
        let neighbour = |address: &str, class: &str, driver: Option<&str>| {
            let dir = format!("/sys/bus/pci/devices/{address}");
            machine.put(&[
                (&format!("{dir}/class"), class),
                (&format!("/sys/kernel/iommu_groups/14/devices/{address}/x"), ""),
            ]);
            if let Some(driver) = driver {
                machine.link(&format!("{dir}/driver"), &format!("/sys/bus/pci/drivers/{driver}"));
            }
        };
        neighbour("0000:00:01.0", "0x060400", Some("pcieport"));
        neighbour("0000:01:00.1", "0x010802", None);
        neighbour("0000:01:00.2", "0x020000", Some("vfio-pci"));
        assert_eq!(obstacles(&machine.probe, "0000:01:00.0"), Vec::<String>::new());
        neighbour("0000:00:1f.0", "0x060100", None);
        assert_eq!(obstacles(&machine.probe, "0000:01:00.0"), Vec::<String>::new());
        neighbour("0000:00:1f.1", "0x060100", Some("lpc_ich"));
        let bridge = "IOMMU group 14 also holds 0000:00:1f.1, a bridge bound to lpc_ich";
        assert_eq!(obstacles(&machine.probe, "0000:01:00.0"), [bridge]);
        std::fs::remove_file(machine.probe.path_below("/sys/bus/pci/devices/0000:00:1f.1/driver"))
            .unwrap();
        neighbour("0000:02:00.0", "0x020000", Some("ixgbe"));
        assert_eq!(
            obstacles(&machine.probe, "0000:01:00.0"),
            ["IOMMU group 14 also holds 0000:02:00.0, a network card bound to ixgbe"]
        );
    }

    #[test]
    fn acs_is_read_from_the_list_of_extended_capabilities() {
        let mut config = vec![0; 4096];
        let mut put =
            |at: usize, word: u32| config[at..at + 4].copy_from_slice(&word.to_le_bytes());
        // Error reporting, then ACS with all that it offers, of which only one bit is set.
        put(0x100, 0x1482_0001);
        put(0x148, 0x0001_000d);
        put(0x14c, 0x0001_001f);
        assert_eq!(acs_of_config(&config), "off");
        config[0x14e] = 0x1d;
        assert_eq!(acs_of_config(&config), "on");
        config[0x148] = 0x0b;
        assert_eq!(acs_of_config(&config), "none");
        // A list that leads back to its start ends all the same.
        config[0x14a..0x14c].copy_from_slice(&[0x01, 0x10]);
        assert_eq!(acs_of_config(&config), "none");
    }

    #[test]
    fn no_group_is_an_obstacle_where_there_is_an_iommu() {
        let machine = server();
        assert_eq!(
            obstacles(&machine.probe, "0000:09:00.0"),
            ["0000:09:00.0 is in no IOMMU group"]
        );
        std::fs::remove_dir_all(machine.probe.path_below(GROUPS)).unwrap();
        assert_eq!(
            obstacles(&machine.probe, "0000:09:00.0"),
            Vec::<String>::new(),
            "a need that is named elsewhere"
        );
    }

    #[test]
    fn namespaces_of_one_drive_are_siblings() {
        let machine = server();
        let port = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
        machine.block(&format!("{port}/nvme/nvme0/nvme0n2"), "259:1", &[]);
        let drives = drives(&machine.probe);
        let nvme = drives.iter().find(|drive| drive.paths[0] == Path::new("/dev/nvme0n1")).unwrap();
        assert_eq!(nvme.siblings, ["nvme0n2"]);
    }

    #[test]
    fn a_multipath_head_hangs_on_its_only_controller() {
        let machine = server();
        let subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys1";
        machine.block(&format!("{subsystem}/nvme1n1"), "259:7", &[]);
        machine.link(&format!("{subsystem}/nvme1n1/device"), subsystem);
        let controller = "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme1";
        machine.put(&[(&format!("{controller}/state"), "live\n")]);
        machine.link(&format!("{subsystem}/nvme1"), controller);
        assert_eq!(of_disk(&machine.probe, "nvme1n1").as_deref(), Some("0000:02:00.0"));
        machine.link(&format!("{subsystem}/nvme2"), controller);
        assert_eq!(of_disk(&machine.probe, "nvme1n1"), None, "two ways to it");
    }

    #[test]
    fn addresses_are_told_from_other_folders() {
        assert!(is_address("0000:01:00.0") && is_address("10000:01:00.0"));
        for other in ["pci0000:00", "0000:00", "nvme0", "0000:01:00.0:pcie", "01:00.0"] {
            assert!(!is_address(other), "{other}");
        }
    }
}
