//! What the disks of a running guest really are: asked of QEMU (or of the process that serves a disk), held against what
//! was asked for and against what the guest sees. A setting that was dropped on the way would be measured as if it were on.

use super::qemu::{DiskSpec, on_off};
use super::qmp::{Qmp, QmpError};
use crate::host::facts::Device;
use crate::host::pci::Drive;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Words of settings, by option.
pub type Settings = BTreeMap<String, String>;

/// What QEMU tells of disk number `at`; `node` is the disk's block node where `blocks` has it, which is QEMU itself or the
/// process that serves the disk.
///
/// # Errors
/// When one of them does not answer.
pub fn of_qemu(
    qemu: &mut Qmp,
    blocks: Option<&mut Qmp>,
    at: usize,
    disk: &DiskSpec,
) -> Result<Settings, QmpError> {
    let mut settings = Settings::new();
    for property in disk.way.properties(at) {
        let arguments =
            json!({"path": format!("/machine/peripheral/{}", property.object), "property": property.name});
        // A property that another QEMU calls otherwise is not told.
        match qemu.execute("qom-get", arguments) {
            Ok(value) => drop(settings.insert(property.option.into(), word(&value))),
            Err(QmpError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (blocks, node) = match blocks {
        Some(daemon) => (daemon, "disk".to_owned()),
        None => (qemu, format!("disk{at}")),
    };
    // Told flat, every chain has a depth of 0.
    let nodes = blocks.execute("query-named-block-nodes", json!({"flat": false}))?;
    settings.extend(of_node(&nodes, &node));
    if disk.snapshot {
        let devices = blocks.execute("query-block", Value::Null)?;
        settings.extend(of_overlay(&devices, &node));
    }
    Ok(settings)
}

/// What a block node tells of itself; nothing where there is none of that name.
pub fn of_node(nodes: &Value, name: &str) -> Settings {
    let nodes = nodes.as_array().map(Vec::as_slice).unwrap_or_default();
    nodes.iter().find(|node| node["node-name"] == name).map(told_of).unwrap_or_default()
}

/// What writes meet, where QEMU has put an overlay over the disk.
fn of_overlay(devices: &Value, id: &str) -> Settings {
    let devices = devices.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(device) = devices.iter().find(|device| device["device"] == id) else { return Settings::new() };
    let mut settings = told_of(&device["inserted"]);
    let depth = device["inserted"]["backing_file_depth"].as_u64().unwrap_or(0);
    settings.insert("snapshot".into(), on_off(depth > 0).into());
    // Those of the overlay, which nobody chose.
    ["backing", "cluster-size", "lazy-refcounts"].iter().for_each(|option| drop(settings.remove(*option)));
    settings
}

fn told_of(node: &Value) -> Settings {
    let told = [
        ("cache.direct", &node["cache"]["direct"]),
        ("cache.no-flush", &node["cache"]["no-flush"]),
        ("read-only", &node["ro"]),
        ("detect-zeroes", &node["detect_zeroes"]),
        ("format", &node["drv"]),
    ];
    let image = &node["image"];
    let of_image = [
        ("backing", &node["backing_file_depth"]),
        ("cluster-size", &image["cluster-size"]),
        ("lazy-refcounts", &image["format-specific"]["data"]["lazy-refcounts"]),
    ];
    let of_image = of_image.into_iter().filter(|_| node["drv"] != "raw");
    let told = told.into_iter().chain(of_image).filter(|(_, value)| !value.is_null());
    told.map(|(option, value)| (option.to_owned(), word(value))).collect()
}

fn word(value: &Value) -> String {
    match value {
        Value::Bool(on) => on_off(*on).to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the guest's kernel tells of the disk.
pub fn of_guest(device: &Device) -> Settings {
    let told = [
        ("write-cache", device.write_cache.clone()),
        ("num-queues", device.hardware_queues.map(|queues| queues.to_string())),
        ("scheduler", device.scheduler.clone()),
        ("driver", device.driver.clone()),
    ];
    told.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect()
}

/// Settings that are not as they were asked for, as clauses.
pub fn differences(disk: &DiskSpec, vcpus: u32, qemu: &Settings, guest: &Settings) -> Vec<String> {
    let mut differ = Vec::new();
    let asked = [
        // An overlay is QEMU's own file, through the page cache and never flushed.
        ("cache.direct", on_off(disk.cache.direct() && !disk.snapshot).to_owned()),
        ("cache.no-flush", on_off(disk.cache.no_flush() || disk.snapshot).to_owned()),
        ("snapshot", on_off(disk.snapshot).to_owned()),
        ("read-only", on_off(disk.read_only).to_owned()),
        ("write-cache", on_off(disk.cache.write_cache()).to_owned()),
        ("format", if disk.snapshot { "qcow2" } else { disk.format() }.to_owned()),
    ];
    let images = disk.qcow2.iter().flat_map(|images| {
        [
            ("backing", images.backing().to_string()),
            ("cluster-size", images.cluster.to_string()),
            ("lazy-refcounts", on_off(images.lazy_refcounts).to_owned()),
        ]
    });
    let queues = disk.num_queues.map(|queues| ("num-queues", queues.to_string()));
    for (option, asked) in asked.into_iter().chain(images).chain(queues) {
        if let Some(told) = qemu.get(option).filter(|told| **told != asked) {
            differ.push(format!("{option}={asked} was asked for, and QEMU has {told}"));
        }
    }
    let sees = if disk.cache.write_cache() { "write back" } else { "write through" };
    // A SCSI disk that cannot be written has no cache for writes.
    if let Some(told) = guest.get("write-cache").filter(|told| *told != sees && !disk.read_only) {
        differ.push(format!("the guest should see a {sees} cache, and sees a {told} one"));
    }
    if let (Some(asked), Some(told)) = (disk.num_queues, guest.get("num-queues")) {
        if *told != asked.to_string() {
            let why =
                if u32::from(asked) > vcpus { format!(" (it has {vcpus} vCPUs)") } else { String::new() };
            differ.push(format!("num-queues={asked} was asked for, and the guest uses {told}{why}"));
        }
    }
    differ
}

/// What of a drive that the guest was given is not as this host knew it, as clauses: then both sides measured other
/// drives, or one drive in two formats.
pub fn other_drive(drive: &Drive, device: &Device) -> Vec<String> {
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let block = device.queue.get("logical_block_size").cloned();
    let both = [
        ("model", drive.model.clone(), device.model.clone()),
        ("serial", drive.serial.clone(), device.serial.clone()),
        ("firmware", drive.firmware.clone(), device.firmware.clone()),
        ("logical block", number(drive.logical_block), block),
        ("size", number(drive.bytes), number(device.bytes)),
    ];
    let differing = both.into_iter().filter(|(_, here, there)| here != there);
    let told = |word: Option<String>| word.unwrap_or_else(|| "unknown".into());
    differing
        .map(|(what, here, there)| {
            format!("its {what} is {} on this host and {} in the guest", told(here), told(there))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::qemu::{Aio, Cache, Qcow2, Span};
    use super::*;

    fn disk(cache: Cache, num_queues: Option<u16>) -> DiskSpec {
        DiskSpec { cache, num_queues, aio: Aio::Threads, ..DiskSpec::made_up() }
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_was_dropped_on_the_way_is_told() {
        let none = disk(Cache::None, Some(4));
        let qemu = settings(&[("cache.direct", "on"), ("write-cache", "on"), ("num-queues", "4")]);
        let guest = settings(&[("write-cache", "write back"), ("num-queues", "4")]);
        assert_eq!(differences(&none, 4, &qemu, &guest), Vec::<String>::new());
        let fewer = settings(&[("write-cache", "write back"), ("num-queues", "2")]);
        assert_eq!(
            differences(&none, 2, &qemu, &fewer),
            ["num-queues=4 was asked for, and the guest uses 2 (it has 2 vCPUs)"]
        );
        assert_eq!(
            differences(&disk(Cache::Writethrough, None), 2, &qemu, &guest),
            [
                "cache.direct=off was asked for, and QEMU has on",
                "write-cache=off was asked for, and QEMU has on",
                "the guest should see a write through cache, and sees a write back one"
            ]
        );
    }

    #[test]
    fn an_overlay_is_what_writes_meet() {
        let inserted = json!({"drv": "qcow2", "ro": false, "backing_file_depth": 1, "cache": {"direct": false, "no-flush": true}});
        let told = of_overlay(&json!([{"device": "disk0", "inserted": inserted}]), "disk0");
        let expected = [
            ("cache.direct", "off"),
            ("cache.no-flush", "on"),
            ("format", "qcow2"),
            ("read-only", "off"),
            ("snapshot", "on"),
        ];
        assert_eq!(told, settings(&expected));
        let overlay = DiskSpec { snapshot: true, ..disk(Cache::None, None) };
        assert_eq!(differences(&overlay, 1, &told, &Settings::new()), Vec::<String>::new());
        assert_eq!(differences(&disk(Cache::None, None), 1, &told, &Settings::new()).len(), 4);
    }

    #[test]
    fn a_drive_in_another_format_is_another_drive() {
        let drive = Drive {
            model: Some("M".into()),
            serial: Some("S".into()),
            firmware: Some("F".into()),
            logical_block: Some(512),
            bytes: Some(1 << 30),
            ..Drive::default()
        };
        let queue = |block: &str| [("logical_block_size".to_owned(), block.to_owned())].into();
        let same = Device {
            model: Some("M".into()),
            serial: Some("S".into()),
            firmware: Some("F".into()),
            bytes: Some(1 << 30),
            queue: queue("512"),
            ..Device::default()
        };
        assert_eq!(other_drive(&drive, &same), Vec::<String>::new());
        assert_eq!(
            other_drive(&drive, &Device { queue: queue("4096"), firmware: None, ..same }),
            [
                "its firmware is F on this host and unknown in the guest",
                "its logical block is 512 on this host and 4096 in the guest"
            ]
        );
    }

    #[test]
    fn a_node_tells_its_cache_and_mode() {
        let nodes = json!([
            {"node-name": "file0", "ro": true, "cache": {"direct": false, "no-flush": false, "writeback": true}},
            {"node-name": "disk0", "ro": false, "drv": "raw", "detect_zeroes": "off",
             "cache": {"direct": true, "no-flush": false, "writeback": true}},
        ]);
        let told = of_node(&nodes, "disk0");
        let expected = [
            ("cache.direct", "on"),
            ("cache.no-flush", "off"),
            ("detect-zeroes", "off"),
            ("format", "raw"),
            ("read-only", "off"),
        ];
        assert_eq!(told, settings(&expected));
        assert!(of_node(&nodes, "disk1").is_empty());
    }

    #[test]
    fn another_chain_than_was_asked_for_is_told() {
        let span = |mib: u64| Span { offset: mib << 20, bytes: 1 << 20 };
        let images = Qcow2 {
            spans: vec![span(0), span(1)],
            bytes: 1 << 20,
            cluster: 1 << 16,
            lazy_refcounts: false,
            l2_cache: None,
        };
        let disk = DiskSpec { qcow2: Some(images), ..disk(Cache::None, None) };
        // As QEMU 7.2 tells it.
        let node = |depth: u32, cluster: u64| {
            let image =
                json!({"cluster-size": cluster, "format-specific": {"data": {"lazy-refcounts": false}}});
            let node =
                json!({"node-name": "disk0", "drv": "qcow2", "backing_file_depth": depth, "image": image});
            of_node(&json!([node]), "disk0")
        };
        let told = |qemu: &Settings| differences(&disk, 2, qemu, &Settings::new());
        assert_eq!(told(&node(1, 65536)), Vec::<String>::new());
        assert_eq!(
            told(&node(0, 4096)),
            [
                "backing=1 was asked for, and QEMU has 0",
                "cluster-size=65536 was asked for, and QEMU has 4096"
            ]
        );
        assert_eq!(told(&settings(&[("format", "raw")])), ["format=qcow2 was asked for, and QEMU has raw"]);
    }
}
