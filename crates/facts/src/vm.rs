//! Existing virtual machine of libvirt, Proxmox VE or ESXi in which load runs: its identity, and
//! what the program that manages it reports about it.

use super::place::Place;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Program family that manages virtual machines. Its word is the key of `[place.NAME]` that names
/// the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    Libvirt,
    Proxmox,
    Esxi,
}

impl Manager {
    pub const ALL: [Manager; 3] = [Manager::Libvirt, Manager::Proxmox, Manager::Esxi];

    pub fn manager_word(self) -> &'static str {
        match self {
            Manager::Libvirt => "libvirt",
            Manager::Proxmox => "proxmox",
            Manager::Esxi => "esxi",
        }
    }

    pub fn program(self) -> &'static str {
        match self {
            Manager::Libvirt => "virsh",
            Manager::Proxmox => "qm",
            Manager::Esxi => "govc",
        }
    }
}

/// Virtual machine, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Vm {
    pub manager: Manager,
    /// Name of the machine: a domain, a VMID, a name or path in the inventory.
    pub name: String,
    /// Place in which the manager's program (virsh, qm, govc) runs: this host, or a host over SSH.
    #[serde(default, skip_serializing_if = "Place::is_host")]
    pub on: Place,
    /// Connection URI of libvirt; `None`: virsh's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// libvirt transports that do not run a program named by the URI; `ext` runs any program.
const TRANSPORTS: [&str; 6] = ["unix", "tls", "tcp", "ssh", "libssh", "libssh2"];
/// Safe parameters of a URI. All others name a program (`command`, `netcat`), a file (`socket`,
/// `keyfile`, `pkipath`, `known_hosts`, `authfile`, `root`) or another connection (`name`), or
/// disable checks of the other end (`no_verify`).
const PARAMETERS: [&str; 4] = ["mode", "no_tty", "proxy", "sshauth"];

/// Returns the transport of a libvirt connection URI. The URI must not name a program to run, a
/// file to read or a further connection.
///
/// # Errors
/// Which part of the URI is not allowed.
pub fn transport_of(uri: &str) -> Result<&str, String> {
    let plain = |text: &str, also: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
    };
    let (scheme, rest) = uri.split_once("://").ok_or("it is not a URI such as qemu:///system")?;
    let (driver, transport) = scheme.split_once('+').unwrap_or((scheme, "unix"));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    if driver.is_empty() || !plain(driver, "") {
        return Err(format!("\"{driver}\" is not a driver of libvirt"));
    }
    if !TRANSPORTS.contains(&transport) {
        return Err(format!(
            "the transport \"{transport}\" is not one of {}",
            TRANSPORTS.join(", ")
        ));
    }
    // ssh would treat a host that begins with "-" as an option.
    if !plain(host, "._-@:[]")
        || host.split('@').any(|part| part.trim_start_matches('[').starts_with('-'))
    {
        return Err(format!("\"{host}\" is not a plain host name"));
    }
    if !["", "/", "/system", "/session", "/default"].contains(&path) {
        return Err(format!("its path \"{path}\" is neither /system nor /session"));
    }
    for parameter in query.split(['&', ';']).filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if !PARAMETERS.contains(&key) || !plain(value, "_-,") {
            return Err(format!(
                "its parameter \"{parameter}\" is not one of {}",
                PARAMETERS.join(", ")
            ));
        }
    }
    Ok(transport)
}

impl std::fmt::Display for Vm {
    /// Writes the name as in a consent: `libvirt:NAME`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.manager.manager_word(), self.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmFacts {
    pub manager: Manager,
    pub name: String,
    /// Settings of the machine, by their names in the manager: `memory`, `cputune.shares`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<VmDisk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmDisk {
    /// Name of the disk in the machine: `vda`, `scsi0`, `disk-1000-0`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Path under load that was identified as this disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<PathBuf>,
    /// Settings of the disk, by their names in the manager; the value `default` means that none was
    /// set.
    pub settings: BTreeMap<String, String>,
}

/// What a scenario states about a place: facts in the user's own words, and the virtual machine
/// that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceDescription {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<Vm>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_no_program_no_file_and_no_other_connection() {
        for (uri, transport) in [
            ("qemu:///system", "unix"),
            ("qemu:///session?mode=direct", "unix"),
            ("qemu+ssh://root@kvm-3.lan:2222/system?no_tty=1&proxy=native", "ssh"),
            ("qemu+tls://[fe80::1]/system", "tls"),
            ("xen+libssh2://kvm3/?sshauth=agent,privkey", "libssh2"),
            ("test:///default", "unix"),
        ] {
            assert_eq!(transport_of(uri), Ok(transport), "{uri}");
        }
        for (uri, part) in [
            ("qemu+ext:///system?command=/tmp/x", "the transport \"ext\""),
            ("qemu+EXT:///system", "the transport \"EXT\""),
            ("qemu+ssh://h/system?command=/tmp/x", "its parameter \"command=/tmp/x\""),
            ("qemu+ssh://h/system?no_tty=1;command=x", "\"command=x\""),
            ("qemu+ssh://h/system?%63ommand=x", "\"%63ommand=x\""),
            ("qemu+ssh://h/system?Command=x", "\"Command=x\""),
            ("qemu+ssh://h/system?netcat=/tmp/x", "netcat"),
            ("qemu+libssh2://h/system?keyfile=/tmp/k", "keyfile"),
            ("qemu:///system?socket=/tmp/s", "socket"),
            ("qemu:///system?name=qemu%2bext:///x", "name"),
            ("qemu+tls://h/system?pkipath=/tmp/p", "pkipath"),
            ("qemu+ssh://h/system?known_hosts=/tmp/k&no_verify=1", "known_hosts"),
            ("qemu+ssh://h/system?no_verify=1", "no_verify"),
            ("esx://h/?authfile=/tmp/a", "authfile"),
            ("qemu+ssh://-oProxyCommand=x/system", "is not a plain host name"),
            ("qemu+ssh://-oProxyCommand/system", "is not a plain host name"),
            ("qemu+ssh://me@-oProxyCommand/system", "is not a plain host name"),
            ("qemu+ssh://%2doProxyCommand/system", "is not a plain host name"),
            ("qemu:///embed?root=/tmp/r", "its path \"/embed\""),
            ("test:///tmp/machine.xml", "its path"),
            ("qemu:///system#x", "its path"),
            ("myalias", "it is not a URI"),
            ("+ext:///system", "is not a driver"),
        ] {
            let why = transport_of(uri).unwrap_err();
            assert!(why.contains(part), "{uri}: {why}");
        }
    }
}
