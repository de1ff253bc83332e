//! ESXi, alone or managed by a vCenter: parses the output of `govc vm.info -json` and `govc
//! device.info -json`. The address and the user are in govc's own environment (`GOVC_URL`, ...),
//! never in a scenario.

use super::{
    Disk, Hypervisor, ManagerRequest, ManagerSettings, PASSED, line_of, not_running, not_understood,
};
use anyhow::Result;
use iotax_facts::vm::{Manager, Vm, VmFacts};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) struct Esxi;

/// Settings of a machine that are reported, each with its JSON pointer in `config`.
const OF_MACHINE: &[(&str, &str)] = &[
    ("hardware", "/version"),
    ("vcpus", "/hardware/numCPU"),
    ("memory_mb", "/hardware/memoryMB"),
    ("latency_sensitivity", "/latencySensitivity/level"),
    ("cpu.reservation_mhz", "/cpuAllocation/reservation"),
    ("cpu.limit_mhz", "/cpuAllocation/limit"),
    ("cpu.shares", "/cpuAllocation/shares/level"),
    ("memory.reservation_mb", "/memoryAllocation/reservation"),
    ("memory.reserved", "/memoryReservationLockedToMax"),
];

const OF_DISK: &[(&str, &str)] = &[
    ("file", "/backing/fileName"),
    ("mode", "/backing/diskMode"),
    ("thin", "/backing/thinProvisioned"),
    ("eager", "/backing/eagerlyScrub"),
    ("write_through", "/backing/writeThrough"),
    ("sharing", "/backing/sharing"),
    ("device", "/backing/deviceName"),
    ("iops_limit", "/storageIOAllocation/limit"),
    ("shares", "/storageIOAllocation/shares/level"),
];

impl Hypervisor for Esxi {
    fn package_name(&self) -> &'static str {
        "go install github.com/vmware/govmomi/govc@v0.37.3, and set GOVC_URL and the other GOVC variables"
    }

    fn query_arguments<'a>(&self, vm: &'a Vm) -> [Vec<&'a str>; 2] {
        [vec!["vm.info", "-json", &vm.name], vec!["device.info", "-json", "-vm", &vm.name]]
    }

    fn read_machine_facts(&self, vm: &Vm, ask: ManagerRequest) -> Result<VmFacts> {
        facts_in(vm, &machine(vm, ask)?, &ask(&self.query_arguments(vm)[1], None)?)
    }

    fn changeable_settings(&self) -> &'static [&'static str] {
        &["mode", "latency"]
    }

    fn is_machine_running(&self, vm: &Vm, ask: ManagerRequest) -> Result<bool> {
        let machine = machine(vm, ask)?;
        Ok(machine.pointer("/runtime/powerState").and_then(Value::as_str) == Some("poweredOn"))
    }

    fn change_objection(&self, vm: &Vm, ask: ManagerRequest) -> Result<Option<String>> {
        let machine = machine(vm, ask)?;
        let has = machine.get("snapshot").is_some_and(|snapshot| !snapshot.is_null());
        Ok(has.then(|| "it has snapshots".into()))
    }

    /// Saves only the settings that can be changed: each can be restored on its own.
    fn read_saved(&self, vm: &Vm, disk: &str, ask: ManagerRequest) -> Result<String> {
        let machine = machine(vm, ask)?;
        let devices = ask(&["device.info", "-json", "-vm", &vm.name, disk], None)?;
        let devices: Value =
            serde_json::from_str(&devices).map_err(|error| not_understood(vm, error))?;
        let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let mode = word(devices.pointer("/devices/0/backing/diskMode"));
        let mode =
            mode.ok_or_else(|| not_understood(vm, format!("the disk {disk} has no mode")))?;
        let latency = word(machine.pointer("/config/latencySensitivity/level"))
            .unwrap_or_else(|| "normal".into());
        Ok(format!("latency: {latency}\nmode: {mode}\n"))
    }

    fn saved_with_settings(
        &self,
        _: &Vm,
        _: &str,
        saved: &str,
        settings: &ManagerSettings,
    ) -> Result<String> {
        let of = |key: &str| {
            settings
                .get(key)
                .map(String::as_str)
                .or_else(|| line_of(saved, key))
                .unwrap_or_default()
        };
        Ok(format!("latency: {}\nmode: {}\n", of("latency"), of("mode")))
    }

    fn comparable_part(&self, _: &str, saved: &str) -> String {
        saved.to_owned()
    }

    fn write_saved(&self, vm: &Vm, disk: &str, saved: &str, ask: ManagerRequest) -> Result<()> {
        let now = self.read_saved(vm, disk, ask)?;
        let changed = |key| line_of(saved, key).filter(|value| line_of(&now, key) != Some(value));
        if let Some(mode) = changed("mode") {
            ask(&["vm.disk.change", "-vm", &vm.name, "-disk.name", disk, "-mode", mode], None)?;
        }
        if let Some(latency) = changed("latency") {
            ask(&["vm.change", "-vm", &vm.name, "-latency", latency], None)?;
        }
        Ok(())
    }

    fn stop_machine(&self, vm: &Vm, force: bool, ask: ManagerRequest) -> Result<()> {
        let how = if force { "-off" } else { "-s" };
        ask(&["vm.power", how, &vm.name], None).map(drop)
    }

    fn start_machine(&self, vm: &Vm, ask: ManagerRequest) -> Result<()> {
        ask(&["vm.power", "-on", &vm.name], None).map(drop)
    }
}

/// Returns what govc reports about the one machine of that name. Fails if there is none, or
/// several.
pub(crate) fn machine(vm: &Vm, ask: ManagerRequest) -> Result<Value> {
    let text = ask(&Esxi.query_arguments(vm)[0], None)?;
    let answer: Value = serde_json::from_str(&text).map_err(|error| not_understood(vm, error))?;
    let known = answer.get("virtualMachines").ok_or_else(|| {
        not_understood(vm, "it has no virtualMachines; hint: take govc v0.37 or newer")
    })?;
    match known.as_array().map(Vec::as_slice).unwrap_or_default() {
        [machine] => Ok(machine.clone()),
        [] => Err(not_understood(
            vm,
            "there is no such machine; hint: `govc find / -type m` lists them",
        )),
        _ => Err(not_understood(
            vm,
            "several have that name; hint: write its path, from `govc find / -type m`",
        )),
    }
}

fn facts_in(vm: &Vm, machine: &Value, devices: &str) -> Result<VmFacts> {
    if let Some(state) = machine.pointer("/runtime/powerState").and_then(Value::as_str) {
        if state != "poweredOn" {
            return Err(not_running(vm, state));
        }
    }
    let config = machine.get("config").unwrap_or(&Value::Null);
    let mut settings = picked(config, OF_MACHINE);
    let devices: Value =
        serde_json::from_str(devices).map_err(|error| not_understood(vm, error))?;
    let devices = devices.get("devices").and_then(Value::as_array);
    let devices = devices.ok_or_else(|| not_understood(vm, "it has no devices"))?;
    let kind =
        |device: &Value| device.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let passed = devices.iter().filter(|device| kind(device) == "VirtualPCIPassthrough");
    for (at, device) in passed.enumerate() {
        settings.insert(format!("{PASSED}{at}"), passed_through(device));
    }
    let disk = |device: &Value| {
        let mut settings = picked(device, OF_DISK);
        // -1 is no limit, as is a missing one.
        settings.retain(|key, value| key != "iops_limit" || value != "-1");
        let at = devices
            .iter()
            .find(|one| one.get("key").is_some_and(|key| Some(key) == device.get("controllerKey")));
        settings.extend(at.map(|controller| ("controller".to_owned(), kind(controller))));
        let name = device.get("name").and_then(Value::as_str).unwrap_or("disk").to_owned();
        let serial = device.pointer("/backing/uuid").and_then(Value::as_str).map(str::to_owned);
        Disk { name, serial, measured: None, settings }
    };
    let disks = devices.iter().filter(|device| kind(device) == "VirtualDisk").map(disk).collect();
    Ok(VmFacts { manager: Manager::Esxi, name: vm.name.clone(), settings, disks })
}

fn picked(value: &Value, of: &[(&str, &str)]) -> BTreeMap<String, String> {
    let one = |(key, pointer): &(&str, &str)| {
        let text = match value.pointer(pointer)? {
            Value::Null => return None,
            Value::String(text) if text.is_empty() => return None,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(((*key).to_owned(), text))
    };
    of.iter().filter_map(one).collect()
}

/// Describes a passed-through device as `pci 0000:3b:00.0 144d:a802`: its address, and the ids of
/// vendor and device. govc prints both as signed numbers, the device's in hexadecimal.
fn passed_through(device: &Value) -> String {
    let word = |pointer| device.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    let hex = |text: &str| i64::from_str_radix(text, 16).map(|id| format!("{:04x}", id & 0xffff));
    let vendor = device.pointer("/backing/vendorId").and_then(Value::as_i64);
    let vendor = vendor.map_or("?".to_owned(), |id| format!("{:04x}", id & 0xffff));
    let id = word("/backing/deviceId");
    format!("pci {} {vendor}:{}", word("/backing/id"), hex(id).unwrap_or_else(|_| id.to_owned()))
}
