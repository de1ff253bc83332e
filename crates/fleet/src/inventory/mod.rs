//! Hosts of a fleet, from a file that people already have: a list, an inventory of Ansible (INI,
//! YAML, or the JSON of `ansible-inventory --list`), or from Slurm or Kubernetes. A pattern that
//! matches no host is refused.

mod ansible_ini;
mod ansible_yaml;
mod host_list;
mod host_range;
mod limit;
mod variables;

pub use limit::{first_names, limit_hosts};

use iotax_sys::regular::read_text;
use iotax_units::exit::{Failed, unreadable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A host of a fleet, as ssh, Slurm or Kubernetes reaches it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetHost {
    /// Name in every output, unique in the fleet: letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Host that ssh connects to, if it is not the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// True if the task runs as root by `sudo -n`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sudo: bool,
    /// Groups of the inventory that the host is in.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
}

impl FleetHost {
    /// Returns a host of this name, which ssh reaches by its name.
    ///
    /// # Errors
    /// The name is no name of a host.
    pub fn new(name: &str) -> Result<FleetHost, String> {
        check_name(name)?;
        Ok(FleetHost { name: name.to_owned(), ..FleetHost::default() })
    }

    /// Returns the host as a person gives it to ssh: `root@10.0.0.7`.
    pub fn destination(&self) -> String {
        let address = self.address.as_deref().unwrap_or(&self.name);
        match &self.user {
            Some(user) => format!("{user}@{address}"),
            None => address.to_owned(),
        }
    }
}

/// Hosts that were read from one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    pub hosts: Vec<FleetHost>,
    /// What of the source was not used, as sentences.
    pub notes: Vec<String>,
}

/// Problem in a line of an inventory.
#[derive(Debug, PartialEq, Eq)]
pub struct LineError {
    /// Line, from 1; `None` if the format has no lines.
    pub line: Option<usize>,
    pub why: String,
}

impl LineError {
    fn at_line(line: usize, why: impl Into<String>) -> LineError {
        LineError { line: Some(line), why: why.into() }
    }
}

/// A format of files with hosts.
struct HostFormat {
    name: &'static str,
    /// Returns true if a file of this name with this text is in this format.
    fits: fn(&Path, &str) -> bool,
    read: fn(&str) -> Result<Inventory, LineError>,
}

/// The first format that fits reads the file.
const FORMATS: &[&HostFormat] = &[&ansible_yaml::FORMAT, &ansible_ini::FORMAT, &host_list::FORMAT];

/// Reads the hosts of a file.
///
/// # Errors
/// Bad input: the file cannot be read, or names file, line and reason.
pub fn read_hosts(path: &Path) -> Result<Inventory, Failed> {
    let text = read_text(path).map_err(|error| {
        let hint = "hint: a file with a host on each line, an Ansible inventory, slurm:PARTITION or k8s:SELECTOR";
        // Other errors bring a hint of their own.
        let why = unreadable(&error).map_or_else(|| error.to_string(), |why| format!("{why}; {hint}"));
        Failed::input(format!("cannot read the hosts {}: {why}", path.display()))
    })?;
    inventory_of(path, &text).map_err(|error| {
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        Failed::input(format!("{}: {line}{}", path.display(), error.why))
    })
}

fn inventory_of(path: &Path, text: &str) -> Result<Inventory, LineError> {
    let format = FORMATS.iter().find(|format| (format.fits)(path, text));
    let format = format.copied().unwrap_or(&host_list::FORMAT);
    let inventory = (format.read)(text)?;
    if inventory.hosts.is_empty() {
        let why = format!("it names no host (read as {})", format.name);
        return Err(LineError { line: None, why });
    }
    Ok(inventory)
}

/// Checks a name of a host, which becomes the name of a folder, of a job and of a column.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= 253 && name.chars().all(is_plain) && !name.contains("..") {
        return Ok(());
    }
    let shown = name.escape_debug();
    Err(format!("\"{shown}\" is not a host name; hint: letters, digits, '.', '-' and '_'"))
}

/// Adds a host.
///
/// # Errors
/// Another host has its name, or both lead to one address.
fn add_unique(hosts: &mut Vec<FleetHost>, host: FleetHost) -> Result<(), String> {
    if hosts.iter().any(|other| other.name == host.name) {
        return Err(format!(
            "the host {} is listed twice; hint: remove one of the lines",
            host.name
        ));
    }
    let same =
        |other: &&FleetHost| other.destination() == host.destination() && other.port == host.port;
    if let Some(other) = hosts.iter().find(same) {
        return Err(format!(
            "{} and {} are one host, {}; hint: remove one of them",
            other.name,
            host.name,
            host.destination()
        ));
    }
    hosts.push(host);
    Ok(())
}

#[cfg(test)]
mod tests;
