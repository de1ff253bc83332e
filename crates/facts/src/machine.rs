//! Facts of a machine: processor, memory, networks, and drives with what lies between them and a
//! file. An unknown fact is `None`, never an empty string.

use super::limit::SetLimit;
use super::vm::VmFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Facts of a place. An unknown fact is `None`, never an empty string.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub hostname: Option<String>,
    pub os: Option<String>,
    pub kernel: Option<String>,
    pub kernel_build: Option<String>,
    pub command_line: Option<String>,
    pub boot_id: Option<String>,
    pub cpu: Box<Processor>,
    pub memory_bytes: Option<u64>,
    pub huge_pages: Vec<HugePages>,
    /// The kernel's setting for transparent huge pages, the value in force in brackets: `always
    /// [madvise] never`.
    pub transparent_huge_pages: Option<String>,
    pub clocksource: Option<String>,
    pub targets: Vec<TargetFacts>,
    /// Networks to which the machine has routes; empty if no network card reports its speed, or
    /// there are too many routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// Limits from control groups on this process's processors and on the devices below its
    /// targets, and limits from tc on interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SetLimit>,
    /// First line of `--version` of each program that a run may use.
    pub tools: BTreeMap<String, String>,
    /// Facts about the machine that the user stated, in the user's own words.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said: BTreeMap<String, String>,
    /// What libvirt, Proxmox VE or ESXi reports on the machine, if it is an existing virtual
    /// machine that the scenario names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm: Option<Box<VmFacts>>,
}

impl Facts {
    /// Returns the network that contains an address, or through which the address is reached.
    /// `None` if the address is not IPv4, or no such network is recorded.
    pub fn network_of(&self, address: &str) -> Option<&Network> {
        network_toward(&self.networks, address.parse().ok()?)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    pub sockets: Option<u64>,
    /// Physical cores of all packages.
    pub cores: Option<u64>,
    /// Logical CPUs that are online.
    pub threads: Option<u64>,
    /// Logical CPUs of each NUMA node, as `0-7,16-23`.
    pub numa_nodes: BTreeMap<String, String>,
    /// Logical CPUs of each group that shares an L3 cache, as `0-7,16-23`.
    pub l3_groups: Vec<String>,
    /// Logical CPUs of each core that has several: `0,8`.
    pub smt_groups: Vec<String>,
    pub governors: Vec<String>,
    pub turbo: Option<bool>,
    pub under_hypervisor: Option<bool>,
    /// The kernel's mitigation of each vulnerability of the processor, by the vulnerability's name.
    pub mitigations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    pub size: u64,
    pub total: Option<u64>,
    pub free: Option<u64>,
    /// Free pages that are promised but not touched yet. NUMA nodes do not report this number.
    pub reserved: Option<u64>,
}

/// A file or device under load, with the devices below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetFacts {
    pub path: PathBuf,
    /// File system of a file; `None` for a device.
    pub file_system: Option<FileSystem>,
    /// The device itself, or the one below the file; then the devices below it, depth first.
    pub devices: Vec<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    pub kind: String,
    pub point: PathBuf,
    pub source: String,
    /// Mount options, then those of the file system.
    pub options: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    pub name: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub wwn: Option<String>,
    pub firmware: Option<String>,
    pub driver: Option<String>,
    pub bytes: Option<u64>,
    pub read_only: Option<bool>,
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    pub hardware_queues: Option<u64>,
    /// Further settings below `queue/` that change figures, as the kernel prints them; see also
    /// [`Device::rotational`], [`Device::scheduler`] and [`Device::write_cache`].
    pub queue: BTreeMap<String, String>,
    /// Settings of a kernel RAID array below `md/`, as the kernel prints them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub md: BTreeMap<String, String>,
    pub backing_file: Option<String>,
    pub pcie: Option<PcieLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cable: Option<Cable>,
    pub numa_node: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<DriveHealth>,
}

/// Health of a drive as the drive reports it. All of it changes with time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveHealth {
    /// Source of the figures: `smartctl`, `nvme` or `hwmon`.
    pub source: String,
    /// Temperature in degrees Celsius.
    pub temperature: Option<i64>,
    /// Used part of the rated endurance in percent, which may exceed 100.
    pub used_percent: Option<u64>,
    pub spare_percent: Option<u64>,
    pub media_errors: Option<u64>,
    pub power_on_hours: Option<u64>,
}

impl DriveHealth {
    /// Returns true if the drive reported any figure.
    pub fn is_known(&self) -> bool {
        let nothing = DriveHealth { source: self.source.clone(), ..DriveHealth::default() };
        *self != nothing
    }
}

/// PCIe link: its negotiated speed and width, and the maximum speed and width of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// Address of the function: `0000:01:00.0`.
    pub address: String,
    pub speed: Option<String>,
    pub width: Option<u64>,
    pub max_speed: Option<String>,
    pub max_width: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// Protocol of the drive: `sata`, `sas` or `usb`.
    pub kind: String,
    /// Speed as the kernel prints it: `6.0 Gbps` for SATA, `12.0 Gbit` for SAS, `5000` (Mb/s) for
    /// USB.
    pub speed: String,
    /// Number of parallel lanes: phys of a SAS port.
    pub lanes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub address: Ipv4Addr,
    /// Length of the network prefix in bits.
    pub bits: u8,
    /// Interface that leads to the network.
    pub card: String,
    /// Speed of the interface in megabits per second; `None` if it is no network card, or does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megabits: Option<u64>,
    /// True for InfiniBand, false for Ethernet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub infiniband: bool,
}

/// Returns the network that contains an address, or through which the address is reached: the one
/// with the longest matching prefix.
pub fn network_toward(networks: &[Network], address: Ipv4Addr) -> Option<&Network> {
    let leads =
        |one: &&Network| (u32::from(address) ^ u32::from(one.address)) & mask(one.bits) == 0;
    networks.iter().filter(leads).max_by_key(|one| one.bits)
}

fn mask(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCache {
    /// Name of the cache, and the source of its size.
    pub name: String,
    pub bytes: u64,
    /// Names of the stacks whose writes pass this cache before the flush that empties it; empty for
    /// a drive's own cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
}
