//! Facts of the places of a run as flat texts, so that hosts can be compared key by key. Names of
//! devices are replaced by their kinds: the same drive has another name on another host.

use iotax_facts::machine::{Device, DriveHealth, Facts};
use iotax_model::record::PlaceFacts;
use iotax_store::RunData;
use iotax_units::show_bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A fact of a host or of a device on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostFact {
    /// `host`, `drive`, `md array`, or that of a guest: `vm0 drive`.
    pub subject: String,
    pub key: String,
    pub value: String,
}

/// Returns the facts of all places of a run, each place once.
pub fn host_facts(run: &RunData) -> Vec<HostFact> {
    let mut seen = BTreeSet::new();
    let places = run.places.iter().filter(|place| seen.insert(place.place.to_string()));
    places.flat_map(place_facts).collect()
}

fn place_facts(place: &PlaceFacts) -> Vec<HostFact> {
    let name = place.place.to_string();
    let mut all = Vec::new();
    let mut add = |subject: String, pairs: Vec<(String, String)>| {
        let facts = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty());
        all.extend(facts.map(|(key, value)| {
            let value = value.trim().to_owned();
            HostFact { subject: subject.clone(), key, value }
        }));
    };
    add(name.clone(), machine_pairs(&place.facts));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let devices = || place.facts.targets.iter().flat_map(|target| &target.devices);
    for device in devices() {
        // The facts of a partition are those of its disk.
        let is_part = devices().any(|disk| is_partition_of(&device.name, &disk.name));
        if is_part || !seen.insert(&device.name) {
            continue;
        }
        let kind = device_kind(device);
        let count = counts.entry(kind).or_default();
        *count += 1;
        let number = if *count > 1 { format!(" {count}") } else { String::new() };
        let prefix = if place.place.is_host() { String::new() } else { format!("{name} ") };
        add(format!("{prefix}{kind}{number}"), device_pairs(device));
    }
    all
}

/// Returns true for `sda1` of `sda` and `nvme0n1p1` of `nvme0n1`.
fn is_partition_of(name: &str, disk: &str) -> bool {
    let number = name.strip_prefix(disk).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn device_kind(device: &Device) -> &'static str {
    let kinds = [("loop", "loop device"), ("md", "md array"), ("dm-", "dm device"), ("zd", "zvol")];
    let virtual_kind = kinds.iter().find(|(prefix, _)| device.name.starts_with(prefix));
    virtual_kind.map_or("drive", |(_, kind)| kind)
}

fn fact_pair(key: &str, value: Option<String>) -> Option<(String, String)> {
    Some((key.to_owned(), value?))
}

fn machine_pairs(facts: &Facts) -> Vec<(String, String)> {
    let cpu = &facts.cpu;
    let count = |number: Option<u64>| number.map(|number| number.to_string());
    let pages = facts.huge_pages.iter().filter_map(|pages| {
        let total = pages.total.filter(|total| *total > 0)?;
        Some(format!("{total} of {}", show_bytes(pages.size)))
    });
    let pages = pages.collect::<Vec<_>>().join(", ");
    let known = [
        fact_pair("kernel", facts.kernel.clone()),
        fact_pair("os", facts.os.clone()),
        fact_pair("cpu", cpu.model.clone()),
        fact_pair("microcode", cpu.microcode.clone()),
        fact_pair("sockets", count(cpu.sockets)),
        fact_pair("cores", count(cpu.cores)),
        fact_pair("cpus", count(cpu.threads)),
        fact_pair("NUMA nodes", Some(cpu.numa_nodes.len().to_string())),
        fact_pair("governor", Some(cpu.governors.join(", "))),
        fact_pair("turbo", cpu.turbo.map(|on| if on { "on" } else { "off" }.to_owned())),
        fact_pair("clocksource", facts.clocksource.clone()),
        fact_pair("memory", facts.memory_bytes.map(rounded_gibibytes)),
        fact_pair("huge pages", Some(pages)),
        fact_pair("transparent huge pages", facts.transparent_huge_pages.clone()),
    ];
    let mitigations =
        cpu.mitigations.iter().map(|(name, word)| (format!("mitigation {name}"), word.clone()));
    let said = facts.said.iter().map(|(name, word)| (name.clone(), word.clone()));
    known.into_iter().flatten().chain(mitigations).chain(said).collect()
}

/// Returns memory in GiB: what the firmware keeps for itself differs from boot to boot.
fn rounded_gibibytes(bytes: u64) -> String {
    format!("{:.0} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

/// Returns what is recorded of a device and may change its speed, in words by name.
pub(crate) fn device_pairs(device: &Device) -> Vec<(String, String)> {
    let count = |number: Option<u64>| number.map(|number| number.to_string());
    let link = |speed: &Option<String>, width: &Option<u64>| {
        Some(format!("{} x{}", speed.as_ref()?.trim_end_matches(" PCIe"), (*width)?))
    };
    let pcie = device.pcie.as_ref();
    let health = device.health.as_ref();
    let number = |pick: fn(&DriveHealth) -> Option<u64>, unit: &str| {
        health.and_then(pick).map(|number| format!("{number}{unit}"))
    };
    let known = [
        fact_pair("model", device.model.clone()),
        fact_pair("firmware", device.firmware.clone()),
        fact_pair("serial", device.serial.clone()),
        fact_pair("driver", device.driver.clone()),
        fact_pair("size", device.bytes.map(show_bytes)),
        fact_pair("PCIe link", pcie.and_then(|pcie| link(&pcie.speed, &pcie.width))),
        fact_pair("PCIe maximum", pcie.and_then(|pcie| link(&pcie.max_speed, &pcie.max_width))),
        fact_pair("cable", device.cable.as_ref().map(|one| format!("{} {}", one.kind, one.speed))),
        fact_pair("NUMA node", count(device.numa_node)),
        fact_pair("scheduler", device.scheduler.clone()),
        fact_pair("write cache", device.write_cache.clone()),
        fact_pair("hardware queues", count(device.hardware_queues)),
        fact_pair(
            "temperature",
            health.and_then(|one| one.temperature).map(|one| format!("{one} °C")),
        ),
        fact_pair("wear", number(|one| one.used_percent, " %")),
        fact_pair("spare", number(|one| one.spare_percent, " %")),
        fact_pair("media errors", number(|one| one.media_errors, "")),
        fact_pair("power-on hours", number(|one| one.power_on_hours, "")),
    ];
    let queue = device.queue.iter().chain(&device.md);
    let queue = queue.map(|(name, word)| (name.clone(), word.clone()));
    known.into_iter().flatten().chain(queue).collect()
}
