//! Steps that a person performs before a stack can be measured: a drive is given to one machine
//! after the other, or the disks of virtual machines are made of what iotax exports.

use super::error::Fault;
use super::media::size_of;
use crate::stack::{HandedDisk, Location, Medium, Stack};
use iotax_facts::place::Place;
use iotax_units::{count_noun, show_bytes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Instruction to a person, with the drives that show that it was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    pub text: String,
    /// Serial or WWN of the drive that is then in the stack's place; empty if there are `disks`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// Bytes of the drive, or of each disk, that are used. They cannot be read while it is
    /// elsewhere.
    pub size: u64,
    /// Disks that are made of what the stack's layers show. They are loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<HandedDisk>,
    /// IQNs or NQNs that may connect to the stack's last export, which iotax does not connect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initiators: Vec<String>,
    /// Adapter of ESXi that connects, for its commands: `vmhba64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// What must be undone after each visit, before what is below the disks is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

impl Operator {
    /// Names the drive that is moved, or counts the disks that are made, with the bytes that are
    /// used.
    pub fn drive_words(&self) -> String {
        let size = show_bytes(self.size);
        match self.disks.len() {
            0 => format!("drive {}, {size} of it used", self.serial),
            disks => format!("{}, {size} of each used", count_noun(disks as u64, "disk", "disks")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorTable {
    text: String,
    #[serde(default)]
    serial: String,
    size: String,
    #[serde(default)]
    disks: BTreeMap<String, String>,
    #[serde(default)]
    initiators: Vec<String>,
    adapter: Option<String>,
    undo: Option<String>,
}

impl OperatorTable {
    pub(super) fn checked(&self) -> Result<Operator, Fault> {
        let serial = self.serial.trim().to_owned();
        if self.text.trim().is_empty() || serial.is_empty() == self.disks.is_empty() {
            return Err(Fault::hint(
                "an operator has a text, and either a serial or disks",
                if self.disks.is_empty() { EXAMPLE } else { DISKS_EXAMPLE },
            ));
        }
        let disks = self.disks.iter().map(|(at, serial)| disk_at(at, serial));
        let disks = disks.collect::<Result<Vec<_>, Fault>>()?;
        let only_with_disks = [
            ("initiators", !self.initiators.is_empty()),
            ("adapter", self.adapter.is_some()),
            ("undo", self.undo.is_some()),
        ];
        if let Some((key, _)) =
            only_with_disks.into_iter().find(|(_, written)| *written && disks.is_empty())
        {
            return Err(Fault::hint(format!("{key} without disks has no effect"), DISKS_EXAMPLE));
        }
        for word in self.initiators.iter().chain(&self.adapter) {
            check_name(word)?;
        }
        let mut names: Vec<&String> = self.initiators.iter().collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::new(format!("the initiator {} is named twice", twice[0])));
        }
        if !disks.is_empty() && self.undo.as_ref().is_none_or(|text| text.trim().is_empty()) {
            return Err(Fault::hint(
                "an operator with disks has no undo, and iotax must not remove what is below a disk in use",
                "write undo = \"take the disks away, ...\"",
            ));
        }
        Ok(Operator {
            text: self.text.trim().to_owned(),
            serial,
            size: size_of(&self.size)?,
            disks,
            initiators: self.initiators.clone(),
            adapter: self.adapter.clone(),
            undo: self.undo.as_ref().map(|text| text.trim().to_owned()),
        })
    }
}

/// Checks a name that becomes a folder of configfs and a word of a command.
fn check_name(word: &str) -> Result<(), Fault> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_');
    match !word.is_empty()
        && word.len() <= 223
        && word.chars().all(is_plain)
        && !word.starts_with('.')
    {
        true => Ok(()),
        false => Err(Fault::hint(
            format!("\"{word}\" is no IQN, NQN or adapter"),
            "write for example initiators = [\"iqn.1998-01.com.vmware:esx1\"], adapter = \"vmhba64\"",
        )),
    }
}

/// Returns the disk at `ssh:HOST:/dev/NAME` or `/dev/NAME`.
fn disk_at(at: &str, serial: &str) -> Result<HandedDisk, Fault> {
    let (place, path) = match at.strip_prefix("ssh:").and_then(|rest| rest.split_once(":/")) {
        Some((host, path)) if !host.is_empty() => (Place::Ssh(host.to_owned()), format!("/{path}")),
        _ => (Place::Host, at.to_owned()),
    };
    let is_device = path.starts_with("/dev/") && !path.contains("/../");
    if !is_device || serial.trim().is_empty() {
        return Err(Fault::hint(
            format!("\"{at}\" = \"{serial}\" is not a device path with a serial"),
            DISKS_EXAMPLE,
        ));
    }
    Ok(HandedDisk { place, path: PathBuf::from(path), serial: serial.trim().to_owned() })
}

const EXAMPLE: &str =
    "write operator = { text = \"give the drive to vm2\", serial = \"S1234\", size = \"100GiB\" }";

const DISKS_EXAMPLE: &str =
    "write for example disks = { \"ssh:vm1:/dev/sdb\" = \"6000c29a\" } and no serial";

/// Returns the step of a stack. All stacks of a grid have the step of the name before the first
/// blank.
pub(super) fn operator_of<'a>(
    operators: &'a BTreeMap<String, Operator>,
    stack: &Stack,
) -> Option<&'a Operator> {
    operators.get(stack.name.split(' ').next()?)
}

/// Gives each stack the disks that a person makes of it.
pub(super) fn hand_disks(stacks: &mut [Stack], operators: &BTreeMap<String, Operator>) {
    for stack in stacks {
        if let Some(operator) = operator_of(operators, stack) {
            stack.by_hand.clone_from(&operator.disks);
        }
    }
}

/// Checks that each step fits its stack, and that all stacks on a path have the same step. `alone`
/// names what the scenario asks for (a bill, durability trials) if steps cannot be combined with
/// it.
///
/// # Errors
/// Returns the name of the stack at fault, with the reason.
pub(super) fn check_operators(
    stacks: &[Stack],
    operators: &BTreeMap<String, Operator>,
    alone: Option<&str>,
) -> Result<(), (String, Fault)> {
    if operators.is_empty() {
        return Ok(());
    }
    let mut seen: BTreeMap<String, (Option<&Operator>, &Stack)> = BTreeMap::new();
    for stack in stacks {
        let operator = operator_of(operators, stack);
        if let Some(operator) = operator {
            fits(stack, operator, alone).map_err(|fault| (stack.name.clone(), fault))?;
        }
        // A person who moves a drive shows by its serial that it was done.
        let moved = operator.filter(|operator| operator.disks.is_empty());
        for location in stack.medium.locations() {
            let Location::Path(host, path) = location else { continue };
            let at = format!("{}:{}", host.unwrap_or_default(), path.display());
            match seen.get(&at) {
                Some((other, first)) if *other != moved => {
                    let why = format!(
                        "{} is on the same path but has another operator, or none",
                        first.name
                    );
                    let hint = "write one text for all stacks on a path: nothing else shows that it was done";
                    return Err((stack.name.clone(), Fault::hint(why, hint)));
                }
                _ => drop(seen.insert(at, (moved, stack))),
            }
        }
    }
    Ok(())
}

fn fits(stack: &Stack, operator: &Operator, alone: Option<&str>) -> Result<(), Fault> {
    if let Some(what) = alone {
        let why = format!("an operator cannot be used with {what}");
        return Err(Fault::hint(why, "leave out one of them"));
    }
    if !operator.disks.is_empty() {
        return disks_fit(stack, operator);
    }
    let is_drive = match &stack.medium {
        Medium::Device { .. } => true,
        Medium::Remote { path, .. } => path.starts_with("/dev"),
        _ => false,
    };
    match is_drive {
        true => Ok(()),
        false => Err(Fault::hint(
            "an operator with a serial moves one drive, which must be the stack's only medium",
            "write a device of this host, or /dev/NAME @ssh:HOST; for several disks, or for disks \
             made of what the stack shows, write disks",
        )),
    }
}

fn disks_fit(stack: &Stack, operator: &Operator) -> Result<(), Fault> {
    let hosts: BTreeSet<&Place> = operator.disks.iter().map(|disk| &disk.place).collect();
    let of_host = |place: &Place| operator.disks.iter().filter(|disk| disk.place == *place).count();
    if hosts.iter().any(|place| of_host(place) * hosts.len() != operator.disks.len()) {
        return Err(Fault::hint(
            "its hosts have unequal numbers of disks",
            "name as many disks for each host",
        ));
    }
    let serials: BTreeSet<&String> = operator.disks.iter().map(|disk| &disk.serial).collect();
    if serials.len() < operator.disks.len() {
        return Err(Fault::hint(
            "two of its disks have one serial",
            "name the serial of each disk",
        ));
    }
    let export =
        stack.layers.last().filter(|layer| layer.catalog_entry().is_some_and(|help| help.fabric));
    let (is_export, leads) = (export.is_some(), export.is_some_and(|layer| !layer.far.is_empty()));
    if !operator.initiators.is_empty() && (!is_export || leads) {
        return Err(Fault::hint(
            "initiators needs a stack that ends in an export without >@PLACE",
            "write for example ... | iscsi(address=10.0.0.1) @STORAGE",
        ));
    }
    if is_export && !leads && operator.initiators.is_empty() {
        return Err(Fault::hint(
            "iotax would connect this export on the target's own host, but its disks are made by hand",
            "write initiators = [\"iqn...\"], the names of those that connect",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;
