//! Facts of a machine: processor, memory, drives and what lies below files, networks. An unknown
//! fact is `None`, never an empty word.

use super::limit::SetLimit;
use super::vm::VmFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Facts of a place. An unknown fact is `None`, never an empty word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Name of the machine.
    pub hostname: Option<String>,
    pub os: Option<String>,
    /// Release of the kernel: `6.1.0-18-amd64`.
    pub kernel: Option<String>,
    /// Build of the kernel: `#1 SMP PREEMPT_DYNAMIC ...`.
    pub kernel_build: Option<String>,
    /// Command line of the kernel.
    pub command_line: Option<String>,
    /// Random id of this boot.
    pub boot_id: Option<String>,
    pub cpu: Box<Processor>,
    /// Bytes of memory that the kernel manages.
    pub memory_bytes: Option<u64>,
    /// Reserved huge pages by size.
    pub huge_pages: Vec<HugePages>,
    /// Word in force: `always [madvise] never`.
    pub transparent_huge_pages: Option<String>,
    /// Time source of the kernel.
    pub clocksource: Option<String>,
    /// Files and devices that were asked about.
    pub targets: Vec<TargetFacts>,
    /// Networks that the machine's cards lead to; empty if no card reports its speed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// Limits that control groups set for this process, on processors and on what lies below its
    /// targets, and limits that tc sets on interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SetLimit>,
    /// First line of `--version` of the programs that a run may use.
    pub tools: BTreeMap<String, String>,
    /// Facts that the user stated about the machine, in their own words.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said: BTreeMap<String, String>,
    /// Report of the manager, for a virtual machine that the scenario names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm: Option<Box<VmFacts>>,
}

impl Facts {
    /// Returns the network through which an address is reached, or in which it lies; `None` if it
    /// is not an IPv4 address or no such network is recorded.
    pub fn network_of(&self, address: &str) -> Option<&Network> {
        toward(&self.networks, address.parse().ok()?)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    pub model: Option<String>,
    pub sockets: Option<u64>,
    /// Physical cores of all packages.
    pub cores: Option<u64>,
    /// Logical CPUs that are online.
    pub threads: Option<u64>,
    /// Logical CPUs of each NUMA node, as `0-7,16-23`.
    pub numa_nodes: BTreeMap<String, String>,
    /// Groups of logical CPUs that share an L3 cache.
    pub l3_groups: Vec<String>,
    /// Logical CPUs of each core, if a core has several: `0,8`.
    pub smt_groups: Vec<String>,
    /// Frequency governors in use.
    pub governors: Vec<String>,
    /// True if turbo is allowed.
    pub turbo: Option<bool>,
    /// True if a hypervisor announces itself to this machine.
    pub under_hypervisor: Option<bool>,
    /// Vulnerabilities and the kernel's mitigation of each.
    pub mitigations: BTreeMap<String, String>,
}

/// Huge pages of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    pub size: u64,
    pub total: Option<u64>,
    pub free: Option<u64>,
    /// Free pages that are promised to somebody who has not touched them yet; nodes do not report
    /// their own number.
    pub reserved: Option<u64>,
}

/// A file or a device that is measured, with what lies below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetFacts {
    pub path: PathBuf,
    /// File system of a file; `None` for a device.
    pub file_system: Option<FileSystem>,
    /// The device itself (or the one below the file), followed by what is below it, depth first.
    pub devices: Vec<Device>,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    pub kind: String,
    pub point: PathBuf,
    pub source: String,
    /// Options of the mount, then those of the file system.
    pub options: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    pub name: String,
    /// Model of the disk.
    pub model: Option<String>,
    /// Serial of the disk.
    pub serial: Option<String>,
    /// WWN of the disk.
    pub wwn: Option<String>,
    pub firmware: Option<String>,
    /// Driver of the disk or its controller.
    pub driver: Option<String>,
    pub bytes: Option<u64>,
    /// True if the kernel refuses to write the device.
    pub read_only: Option<bool>,
    pub rotational: Option<bool>,
    /// The scheduler in force.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Number of hardware queues.
    pub hardware_queues: Option<u64>,
    /// Other settings below `queue/` that change figures, as the kernel prints them; see also
    /// [`Device::rotational`], [`Device::scheduler`] and [`Device::write_cache`].
    pub queue: BTreeMap<String, String>,
    /// Settings of a kernel RAID array below `md/`, as the kernel prints them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub md: BTreeMap<String, String>,
    /// File that backs a loop device.
    pub backing_file: Option<String>,
    /// The PCIe link of the drive or its controller.
    pub pcie: Option<PcieLink>,
    /// Cable from the drive to the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cable: Option<Cable>,
    /// NUMA node of the controller.
    pub numa_node: Option<u64>,
}

/// A PCIe link, with its trained speed and width and the limits of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// Address of the function: `0000:01:00.0`.
    pub address: String,
    pub speed: Option<String>,
    pub width: Option<u64>,
    /// Highest speed that the device supports.
    pub max_speed: Option<String>,
    /// Lanes that the device has.
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

/// A network of the routing table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub address: Ipv4Addr,
    /// Number of bits that all addresses of the network share.
    pub bits: u8,
    /// Interface that leads there.
    pub card: String,
    /// Speed of the interface in megabits per second, if it is a card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megabits: Option<u64>,
    /// True for InfiniBand, false for Ethernet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub infiniband: bool,
}

/// Returns the network through which an address is reached, or in which it lies: the one that
/// shares most bits with it.
pub fn toward(networks: &[Network], address: Ipv4Addr) -> Option<&Network> {
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
    /// Capacity of the cache in bytes.
    pub bytes: u64,
    /// Names of the stacks that write into the cache above the flush, which empties it; empty for a
    /// drive's own cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
}
