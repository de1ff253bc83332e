//! A place that is an existing virtual machine of libvirt, Proxmox VE or ESXi: which one, and what its manager reports
//! about it.

use super::place::Place;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What manages virtual machines. A member of the family: its word is the key of `[place.NAME]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// By `virsh`.
    Libvirt,
    /// By `qm`.
    Proxmox,
    /// By `govc`.
    Esxi,
}

impl Manager {
    /// All of them.
    pub const ALL: [Manager; 3] = [Manager::Libvirt, Manager::Proxmox, Manager::Esxi];

    /// `libvirt`
    pub fn word(self) -> &'static str {
        match self {
            Manager::Libvirt => "libvirt",
            Manager::Proxmox => "proxmox",
            Manager::Esxi => "esxi",
        }
    }

    /// The program that it is asked by.
    pub fn program(self) -> &'static str {
        match self {
            Manager::Libvirt => "virsh",
            Manager::Proxmox => "qm",
            Manager::Esxi => "govc",
        }
    }
}

/// One virtual machine, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Vm {
    /// What manages it.
    pub manager: Manager,
    /// A domain, a VMID, a name or path in the inventory.
    pub name: String,
    /// Where the manager's program is run: this host, or a host over SSH.
    #[serde(default, skip_serializing_if = "Place::is_host")]
    pub on: Place,
    /// libvirt's connection URI; `None`: virsh's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

impl std::fmt::Display for Vm {
    /// As in a consent: `libvirt:NAME`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.manager.word(), self.name)
    }
}

/// What its manager says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmFacts {
    /// What manages it.
    pub manager: Manager,
    /// Its name there.
    pub name: String,
    /// Of the machine, in the manager's words: `memory`, `cputune.shares`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Its disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<VmDisk>,
}

/// A disk of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmDisk {
    /// Its name there: `vda`, `scsi0`, `disk-1000-0`.
    pub name: String,
    /// The serial that the guest sees, where the manager says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The path under load that it was found to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<PathBuf>,
    /// In the manager's words; `default`: nothing was set.
    pub settings: BTreeMap<String, String>,
}

/// What a scenario says of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// In the user's own words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// The virtual machine that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<Vm>,
}
