//! Proxmox VE: a VM's configuration, as `qm config` prints it: sorted `key: value`, a disk as
//! `STORE:VOLUME,key=value,...`.

use super::{
    DEFAULT, Disk, Hypervisor, ManagerRequest, ManagerSettings, PASSED, line_of, not_running,
    not_understood, words_of,
};
use anyhow::Result;
use iotax_facts::vm::{Manager, Vm, VmFacts};
use std::collections::BTreeMap;

pub(crate) struct Proxmox;

/// Settings of a machine that are reported, as they affect measurements.
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

/// Settings of a disk that are reported even if they are not set.
const OF_DISK: &[&str] = &["cache", "aio", "iothread"];

const BUSES: &[&str] = &["scsi", "virtio", "sata", "ide"];

impl Hypervisor for Proxmox {
    fn package_name(&self) -> &'static str {
        "it is Proxmox VE's own: write on = \"ssh:root@NODE\" of the node that has the VM"
    }

    fn query_arguments<'a>(&self, vm: &'a Vm) -> [Vec<&'a str>; 2] {
        // The current settings, without changes that are pending until a restart.
        [vec!["status", &vm.name], vec!["config", &vm.name, "--current", "1"]]
    }

    fn read_machine_facts(&self, vm: &Vm, ask: ManagerRequest) -> Result<VmFacts> {
        let [status, config] = self.query_arguments(vm);
        let status = ask(&status, None)?;
        let state = line_of(&status, "status").unwrap_or_default();
        if state != "running" {
            return Err(not_running(vm, state));
        }
        facts_in(vm, &ask(&config, None)?)
    }

    fn changeable_settings(&self) -> &'static [&'static str] {
        &["cache", "io", "iothread"]
    }

    fn is_machine_running(&self, vm: &Vm, ask: ManagerRequest) -> Result<bool> {
        Ok(line_of(&ask(&["status", &vm.name], None)?, "status") == Some("running"))
    }

    fn change_objection(&self, vm: &Vm, ask: ManagerRequest) -> Result<Option<String>> {
        let now = ask(&["config", &vm.name, "--current", "1"], None)?;
        let next = ask(&["config", &vm.name], None)?;
        let snapshots = ask(&["listsnapshot", &vm.name], None)?;
        Ok(match line_of(&now, "lock") {
            Some(lock) => Some(format!("it is locked ({lock})")),
            None if lines(&now) != lines(&next) => {
                Some("it has changes that take effect at its next start".into())
            }
            // What is now is listed too.
            None if snapshots.lines().filter(|line| !line.trim().is_empty()).count() > 1 => {
                Some("it has snapshots".into())
            }
            None => None,
        })
    }

    fn read_saved(&self, vm: &Vm, disk: &str, ask: ManagerRequest) -> Result<String> {
        let text = ask(&["config", &vm.name], None)?;
        line_of(&text, disk)
            .ok_or_else(|| not_understood(vm, format!("there is no disk {disk}")))?;
        Ok(text)
    }

    fn saved_with_settings(
        &self,
        vm: &Vm,
        disk: &str,
        saved: &str,
        settings: &ManagerSettings,
    ) -> Result<String> {
        let line = line_of(saved, disk)
            .ok_or_else(|| not_understood(vm, format!("there is no disk {disk}")))?;
        let word = |key: &str| if key == "io" { "aio".to_owned() } else { key.to_owned() };
        let changed: ManagerSettings =
            settings.iter().map(|(key, value)| (word(key), value.clone())).collect();
        let kept = line
            .split(',')
            .filter(|one| one.split_once('=').is_none_or(|(key, _)| !changed.contains_key(key)));
        let added = changed.iter().map(|(key, value)| format!("{key}={value}"));
        let line: Vec<String> = kept.map(str::to_owned).chain(added).collect();
        let of = |known: &str| match line_of(known, disk) {
            Some(_) => format!("{disk}: {}", line.join(",")),
            None => known.to_owned(),
        };
        Ok(saved.lines().map(of).collect::<Vec<_>>().join("\n") + "\n")
    }

    fn comparable_part(&self, disk: &str, saved: &str) -> String {
        // The digest is that of the text; words of a disk have no order but that the volume is the
        // first.
        let of = |line: &str| match line_of(line, disk) {
            Some(value) => {
                let mut words: Vec<&str> = value.split(',').collect();
                words.sort_unstable();
                format!("{disk}: {}", words.join(","))
            }
            None => line.to_owned(),
        };
        let lines = saved
            .lines()
            .filter(|line| line_of(line, "digest").is_none() && !line.trim().is_empty());
        lines.map(of).collect::<Vec<_>>().join("\n")
    }

    fn write_saved(&self, vm: &Vm, disk: &str, saved: &str, ask: ManagerRequest) -> Result<()> {
        let now = ask(&["config", &vm.name], None)?;
        let line = line_of(saved, disk)
            .ok_or_else(|| not_understood(vm, format!("there is no disk {disk}")))?;
        // One that was edited since is refused by its digest.
        let digest =
            line_of(&now, "digest").ok_or_else(|| not_understood(vm, "it has no digest"))?;
        ask(&["set", &vm.name, &format!("--{disk}"), line, "--digest", digest], None).map(drop)
    }

    fn stop_machine(&self, vm: &Vm, force: bool, ask: ManagerRequest) -> Result<()> {
        ask(&[if force { "stop" } else { "shutdown" }, &vm.name], None).map(drop)
    }

    fn start_machine(&self, vm: &Vm, ask: ManagerRequest) -> Result<()> {
        ask(&["start", &vm.name], None).map(drop)
    }
}

/// Returns the values of a configuration by their keys.
pub(crate) fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(": ")).collect()
}

fn facts_in(vm: &Vm, text: &str) -> Result<VmFacts> {
    let config = lines(text);
    let (mut settings, mut disks) = (BTreeMap::new(), Vec::new());
    for (key, value) in &config {
        if OF_MACHINE.contains(key) {
            settings.insert((*key).to_owned(), (*value).to_owned());
        } else if let Some(number) = number_after(key, "hostpci") {
            settings.insert(format!("{PASSED}{number}"), format!("pci {value}"));
        } else if let Some(bus) = BUSES.iter().find(|bus| number_after(key, bus).is_some()) {
            let controller = config.get("scsihw").filter(|_| *bus == "scsi");
            disks.extend(disk_of(key, bus, value, controller.copied()));
        }
    }
    if config.is_empty() {
        return Err(not_understood(vm, "it has no lines of `key: value`"));
    }
    Ok(VmFacts { manager: Manager::Proxmox, name: vm.name.clone(), settings, disks })
}

/// Returns the number that follows a word: 0 for `scsi` in `scsi0`.
fn number_after(key: &str, word: &str) -> Option<u32> {
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
