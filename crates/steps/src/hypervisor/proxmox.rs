//! Proxmox VE: a VM's configuration, as `qm config` prints it: sorted `key: value`, a disk as `STORE:VOLUME,key=value,...`.

use super::{Ask, DEFAULT, Disk, Hypervisor, PASSED, not_running, not_understood, words_of};
use anyhow::Result;
use iotax_facts::vm::{Manager, Vm, VmFacts};
use std::collections::BTreeMap;

pub(crate) struct Proxmox;

/// Keys of the machine that change figures.
const OF_MACHINE: &[&str] = &[
    "affinity",
    "balloon",
    "bios",
    "cores",
    "cpu",
    "cpulimit",
    "cpuunits",
    "hugepages",
    "machine",
    "memory",
    "numa",
    "scsihw",
    "sockets",
    "vcpus",
];

/// Of a disk what is shown though nobody set it.
const OF_DISK: &[&str] = &["cache", "aio", "iothread"];

/// Where disks are.
const BUSES: &[&str] = &["scsi", "virtio", "sata", "ide"];

impl Hypervisor for Proxmox {
    fn package(&self) -> &'static str {
        "it is Proxmox VE's own: write on = \"ssh:root@NODE\" of the node that has the VM"
    }

    fn facts(&self, vm: &Vm, ask: Ask) -> Result<VmFacts> {
        let status = ask(&["status", &vm.name])?;
        let state = status.trim().strip_prefix("status:").unwrap_or(&status).trim();
        if state != "running" {
            return Err(not_running(vm, state));
        }
        // What is in force, without changes that wait for a restart.
        facts_in(vm, &ask(&["config", &vm.name, "--current", "1"])?)
    }
}

/// The lines of a configuration.
pub(crate) fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(": ")).collect()
}

fn facts_in(vm: &Vm, text: &str) -> Result<VmFacts> {
    let config = lines(text);
    let (mut settings, mut disks) = (BTreeMap::new(), Vec::new());
    for (key, value) in &config {
        if OF_MACHINE.contains(key) {
            settings.insert((*key).to_owned(), (*value).to_owned());
        } else if let Some(number) = numbered(key, "hostpci") {
            settings.insert(format!("{PASSED}{number}"), format!("pci {value}"));
        } else if let Some(bus) = BUSES.iter().find(|bus| numbered(key, bus).is_some()) {
            let controller = config.get("scsihw").filter(|_| *bus == "scsi");
            disks.extend(disk_of(key, bus, value, controller.copied()));
        }
    }
    if config.is_empty() {
        return Err(not_understood(vm, "it has no lines of `key: value`"));
    }
    Ok(VmFacts { manager: Manager::Proxmox, name: vm.name.clone(), settings, disks })
}

/// The number behind a word: of `scsi0`, 0.
fn numbered(key: &str, word: &str) -> Option<u32> {
    key.strip_prefix(word)?.parse().ok()
}

fn disk_of(name: &str, bus: &str, value: &str, controller: Option<&str>) -> Option<Disk> {
    let (volume, words) = words_of(value);
    if words.get("media") == Some(&"cdrom") {
        return None;
    }
    let mut settings: BTreeMap<String, String> =
        words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    for key in OF_DISK {
        settings.entry((*key).to_owned()).or_insert_with(|| DEFAULT.to_owned());
    }
    settings.insert("bus".into(), bus.to_owned());
    settings.extend(controller.map(|model| ("controller".to_owned(), model.to_owned())));
    settings.extend(volume.first().map(|volume| ("volume".to_owned(), (*volume).to_owned())));
    let serial = settings.remove("serial");
    Some(Disk { name: name.to_owned(), serial, measured: None, settings })
}
