//! Effective settings of a running guest's disks, as QEMU (or the process that serves a disk) and
//! the guest report them, compared with the requested ones. Without this, a setting that was
//! dropped would be measured as if it were on.

use super::attach::SOCKET;
use super::qmp::{Qmp, QmpError};
use crate::attach::way::Property;
use crate::disk::{DiskServer, DiskSpec};
use crate::option_value::on_off;
use iotax_host::facts::Device;
use iotax_host::pci::PciDrive;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Values of settings, by option, as text.
pub type GuestSettings = BTreeMap<String, String>;

/// Reads the settings of disk number `at` as QEMU reports them. `blocks` is the control socket of
/// the process that serves the disk, if it is not QEMU itself.
///
/// # Errors
/// QEMU or the process does not answer.
pub fn of_qemu(
    qemu: &mut Qmp,
    blocks: Option<&mut Qmp>,
    at: usize,
    disk: &DiskSpec,
) -> Result<GuestSettings, QmpError> {
    let mut settings = GuestSettings::new();
    for property in disk.way.device_properties(at) {
        let value = read_property(qemu, &property)?;
        settings.extend(value.map(|value| (property.option.to_owned(), value_word(&value))));
    }
    let of_daemon = blocks.is_some();
    let (blocks, node) = match blocks {
        Some(daemon) => (daemon, "disk".to_owned()),
        None => (qemu, format!("disk{at}")),
    };
    let threads = match of_daemon {
        true => threads_of_daemon(blocks)?,
        false => threads_of_device(blocks, &disk.way.thread_properties(at))?,
    };
    settings.extend(threads.map(|threads| ("iothreads".to_owned(), threads.to_string())));
    if !has_node(disk) {
        return Ok(settings);
    }
    // In a flat answer every chain has a depth of 0.
    let nodes = blocks.execute("query-named-block-nodes", json!({"flat": false}))?;
    settings.extend(of_node(&nodes, &node));
    if disk.snapshot {
        let devices = blocks.execute("query-block", Value::Null)?;
        settings.extend(of_overlay(&devices, &node));
    }
    settings
        .extend(never_reported(disk).map(|option| (option.to_owned(), NOT_REPORTED.to_owned())));
    Ok(settings)
}

/// Reads a property. `None` if this version of QEMU does not have it.
fn read_property(qemu: &mut Qmp, property: &Property) -> Result<Option<Value>, QmpError> {
    let path = format!("/machine/peripheral/{}", property.object);
    answered(qemu.execute("qom-get", json!({"path": path, "property": property.name})))
}

fn answered(answer: Result<Value, QmpError>) -> Result<Option<Value>, QmpError> {
    match answer {
        Err(QmpError::Refused { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// Counts the iothreads that serve a device of QEMU: a property of it links one or lists several.
/// `None` if QEMU does not report it.
fn threads_of_device(qemu: &mut Qmp, properties: &[Property]) -> Result<Option<usize>, QmpError> {
    let mut threads = None;
    for property in properties {
        let count = read_property(qemu, property)?.map(|value| match &value {
            Value::Array(several) => several.len(),
            one => usize::from(one.as_str().is_some_and(|link| !link.is_empty())),
        });
        threads = count.map(|more| threads.unwrap_or(0) + more).or(threads);
    }
    Ok(threads)
}

/// Counts the iothreads of a storage daemon, which serves one disk. If it was started without any,
/// the path /objects does not exist. `None` if it refuses to answer.
fn threads_of_daemon(daemon: &mut Qmp) -> Result<Option<usize>, QmpError> {
    let objects = match daemon.execute("qom-list", json!({"path": "/objects"})) {
        Err(QmpError::Refused { class, .. }) if class == "DeviceNotFound" => return Ok(Some(0)),
        answer => answered(answer)?,
    };
    let is_thread = |object: &&Value| object["type"] == "child<iothread>";
    Ok(objects.and_then(|objects| Some(objects.as_array()?.iter().filter(is_thread).count())))
}

/// Returns true if the disk has a block node, in QEMU or in its storage daemon.
fn has_node(disk: &DiskSpec) -> bool {
    matches!(disk.server, DiskServer::Qemu | DiskServer::Daemon(_)) && disk.way != SOCKET
}

const NOT_REPORTED: &str = "not reported by QEMU";

/// Returns the disk's options that no QEMU reports (checked with 7.2 and the schema of 10.0). They
/// are only known from the command line, which the run records.
fn never_reported(disk: &DiskSpec) -> impl Iterator<Item = &'static str> {
    let l2_cache = disk.qcow2.as_ref().and_then(|images| images.l2_cache);
    let aio = disk.rbd.is_none().then_some("aio");
    aio.into_iter().chain(["discard"]).chain(l2_cache.map(|_| "l2-cache-size"))
}

/// Returns the settings of the block node `name` from the answer to query-named-block-nodes. Empty
/// if there is no such node.
pub fn of_node(nodes: &Value, name: &str) -> GuestSettings {
    let nodes = nodes.as_array().map(Vec::as_slice).unwrap_or_default();
    nodes.iter().find(|node| node["node-name"] == name).map(node_settings).unwrap_or_default()
}

/// Returns the settings of the temporary overlay that QEMU put over disk `id`, from the answer to
/// query-block, with `snapshot`: whether there is an overlay.
fn of_overlay(devices: &Value, id: &str) -> GuestSettings {
    let devices = devices.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(device) = devices.iter().find(|device| device["device"] == id) else {
        return GuestSettings::new();
    };
    let mut settings = node_settings(&device["inserted"]);
    let depth = device["inserted"]["backing_file_depth"].as_u64().unwrap_or(0);
    settings.insert("snapshot".into(), on_off(depth > 0).into());
    // These are of the overlay, and nobody chose them.
    ["backing", "cluster-size", "lazy-refcounts"]
        .iter()
        .for_each(|option| drop(settings.remove(*option)));
    settings
}

fn node_settings(node: &Value) -> GuestSettings {
    let settings = [
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
    let settings = settings.into_iter().chain(of_image).filter(|(_, value)| !value.is_null());
    settings.map(|(option, value)| (option.to_owned(), value_word(value))).collect()
}

fn value_word(value: &Value) -> String {
    match value {
        Value::Bool(on) => on_off(*on).to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn of_guest(device: &Device) -> GuestSettings {
    let settings = [
        ("write-cache", device.write_cache.clone()),
        ("num-queues", device.hardware_queues.map(|queues| queues.to_string())),
        ("read-only", device.read_only.map(|on| on_off(on).to_owned())),
        ("scheduler", device.scheduler.clone()),
        ("driver", device.driver.clone()),
    ];
    settings.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect()
}

/// Describes, as clauses, the settings that differ from the requested ones or are not reported.
/// `qemu` and `guest` are the settings that each of them reports.
pub fn differences(
    disk: &DiskSpec,
    vcpus: u32,
    qemu: &GuestSettings,
    guest: &GuestSettings,
) -> Vec<String> {
    let mut differ = of_node_differing(disk, qemu);
    differ.extend(differing(asked_of_device(disk), qemu));
    // A drive is as it is; see [`other_drive`].
    if !matches!(disk.server, DiskServer::Drive(_)) {
        differ.extend(in_guest(disk, vcpus, guest));
    }
    differ
}

/// Describes the settings of the disk's block node alone that differ from the requested ones or are
/// not reported. For an image in Ceph this includes librbd's cache.
pub fn of_node_differing(disk: &DiskSpec, qemu: &GuestSettings) -> Vec<String> {
    let of_node = if has_node(disk) { differing(asked_of_node(disk), qemu) } else { Vec::new() };
    of_node.into_iter().chain(other_cache(disk, qemu)).collect()
}

/// Setting of librbd's cache. QEMU turns it off with O_DIRECT and on without, unless the image
/// overrides it.
pub const RBD_CACHE: &str = "rbd_cache";

fn other_cache(disk: &DiskSpec, reported: &GuestSettings) -> Option<String> {
    let should = if disk.cache.direct() { "false" } else { "true" };
    let reported = reported.get(RBD_CACHE).filter(|reported| !reported.starts_with(should))?;
    disk.rbd
        .as_ref()
        .map(|_| format!("{RBD_CACHE}={should} goes with the cache mode, and it is {reported}"))
}

/// Describes the options that QEMU reports with another value than requested, or does not report.
fn differing(asked: Vec<AskedOption>, reported: &GuestSettings) -> Vec<String> {
    let differs = |(option, asked): AskedOption| match reported.get(option) {
        Some(reported) if *reported == asked => None,
        Some(reported) => Some(format!("{option}={asked} was asked for, and QEMU has {reported}")),
        None => Some(format!("{option}={asked} was asked for, and QEMU does not report it")),
    };
    asked.into_iter().filter_map(differs).collect()
}

type AskedOption = (&'static str, String);

/// Returns the options requested of the block node: all that [`node_settings`] reads.
fn asked_of_node(disk: &DiskSpec) -> Vec<AskedOption> {
    let mut asked = vec![
        // An overlay is QEMU's own file, through the page cache and never flushed.
        ("cache.direct", on_off(disk.cache.direct() && !disk.snapshot).to_owned()),
        ("cache.no-flush", on_off(disk.cache.no_flush() || disk.snapshot).to_owned()),
        ("read-only", on_off(disk.read_only).to_owned()),
        ("detect-zeroes", disk.detect_zeroes.word().to_owned()),
        ("format", if disk.snapshot { "qcow2" } else { disk.format() }.to_owned()),
    ];
    asked.extend(disk.snapshot.then(|| ("snapshot", on_off(true).to_owned())));
    asked.extend(disk.qcow2.iter().flat_map(|images| {
        [
            ("backing", images.backing().to_string()),
            ("cluster-size", images.cluster.to_string()),
            ("lazy-refcounts", on_off(images.lazy_refcounts).to_owned()),
        ]
    }));
    asked
}

/// Returns the options requested of the device: those that its way of attachment reports, and the
/// number of iothreads.
fn asked_of_device(disk: &DiskSpec) -> Vec<AskedOption> {
    let properties = disk.way.device_properties(0);
    let mut asked: Vec<AskedOption> = properties
        .iter()
        .filter_map(|property| Some((property.option, asked_of(disk, property.option)?)))
        .collect();
    asked.extend(disk.way.takes_iothread().then(|| ("iothreads", disk.iothreads.to_string())));
    asked
}

/// Returns the requested value of an option. `None` if the choice was left to QEMU.
fn asked_of(disk: &DiskSpec, option: &str) -> Option<String> {
    match (option, &disk.server) {
        ("num-queues", _) => disk.num_queues.map(|queues| queues.to_string()),
        ("queue-size", _) => disk.queue_size.map(|size| size.to_string()),
        ("write-cache", _) => Some(on_off(disk.cache.write_cache()).to_owned()),
        ("wwpn", DiskServer::Kernel(wwn)) => Some(wwn.clone()),
        ("host", DiskServer::Drive(drive)) => Some(drive.address.clone()),
        _ => None,
    }
}

/// Describes the settings that the guest's kernel reports with another value than requested, or
/// does not report.
fn in_guest(disk: &DiskSpec, vcpus: u32, guest: &GuestSettings) -> Vec<String> {
    if guest.is_empty() {
        return vec!["the guest reports nothing about the disk".to_owned()];
    }
    let cache = if disk.cache.write_cache() { "write back" } else { "write through" };
    // A SCSI disk that cannot be written has no cache for writes.
    let cache = (!disk.read_only).then_some(("write-cache", cache));
    let kept_out = disk.read_only && disk.way.keeps_writes_out(disk.backend);
    let seen_read_only = kept_out && disk.way.shows_read_only();
    // The server of the socket decides both.
    let is_known = disk.way != SOCKET;
    let should =
        [("read-only", on_off(seen_read_only))].into_iter().chain(cache).filter(|_| is_known);
    let mut differ: Vec<String> = should
        .filter_map(|(option, should)| match guest.get(option) {
            Some(seen) if seen == should => None,
            Some(seen) => Some(format!("the guest should see {option}={should}, and sees {seen}")),
            None => Some(format!("the guest should see {option}={should}, and does not report it")),
        })
        .collect();
    if let (Some(asked), Some(seen)) = (disk.num_queues, guest.get("num-queues")) {
        if *seen != asked.to_string() {
            let why = if u32::from(asked) > vcpus {
                format!(" (it has {vcpus} vCPUs)")
            } else {
                String::new()
            };
            differ
                .push(format!("num-queues={asked} was asked for, and the guest uses {seen}{why}"));
        }
    }
    differ
}

/// Describes, as clauses, the facts of a drive that differ between this host (`drive`) and the
/// guest (`device`), or that only one of them knows.
///
/// # Errors
/// The serial number, size or logical block differs, so that the guest has another drive, or the
/// drive in another format. The text lists all differences.
pub fn other_drive(drive: &PciDrive, device: Option<&Device>) -> Result<Vec<String>, String> {
    let Some(device) = device else {
        let unread = "the guest does not report which drive it has, so it may be another drive than this host gave it";
        return Ok(vec![unread.to_owned()]);
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let block = device.queue.get("logical_block_size").cloned();
    let both = [
        ("model", false, drive.model.clone(), device.model.clone()),
        ("serial", true, drive.serial.clone(), device.serial.clone()),
        ("firmware", false, drive.firmware.clone(), device.firmware.clone()),
        ("logical block", true, number(drive.logical_block), block),
        ("size", true, number(drive.bytes), number(device.bytes)),
    ];
    let (mut doubts, mut another) = (Vec::new(), false);
    for (what, decides, here, there) in both.into_iter().filter(|(_, _, here, there)| here != there)
    {
        another |= decides && here.is_some() && there.is_some();
        let known = |word: Option<String>| word.unwrap_or_else(|| "unknown".into());
        doubts.push(format!(
            "its {what} is {} on this host and {} in the guest",
            known(here),
            known(there)
        ));
    }
    if another { Err(doubts.join("; ")) } else { Ok(doubts) }
}

#[cfg(test)]
mod tests {
    use super::super::attach;
    use super::*;
    use crate::disk::{Aio, Backend, Cache, DetectZeroes};
    use crate::qcow2::{Qcow2, Span};
    use crate::testing::made_up_disk;

    fn disk(cache: Cache, num_queues: Option<u16>) -> DiskSpec {
        DiskSpec { cache, num_queues, aio: Aio::Threads, ..made_up_disk() }
    }

    fn settings(pairs: &[(&str, &str)]) -> GuestSettings {
        pairs.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect()
    }

    /// QEMU does all that it was asked for.
    fn as_asked(disk: &DiskSpec) -> GuestSettings {
        let node = if has_node(disk) { asked_of_node(disk) } else { Vec::new() };
        let asked = node.into_iter().chain(asked_of_device(disk));
        asked.map(|(option, value)| (option.to_owned(), value)).collect()
    }

    fn with(settings: &GuestSettings, option: &str, value: &str) -> GuestSettings {
        let mut settings = settings.clone();
        settings.insert(option.to_owned(), value.to_owned());
        settings
    }

    const SEEN: &[(&str, &str)] =
        &[("read-only", "off"), ("write-cache", "write back"), ("num-queues", "4")];

    #[test]
    fn what_was_dropped_on_the_way_is_told() {
        let none = disk(Cache::None, Some(4));
        let (qemu, guest) = (as_asked(&none), settings(SEEN));
        assert_eq!(differences(&none, 4, &qemu, &guest), Vec::<String>::new());
        let fewer = with(&guest, "num-queues", "2");
        assert_eq!(
            differences(&none, 2, &qemu, &fewer),
            ["num-queues=4 was asked for, and the guest uses 2 (it has 2 vCPUs)"]
        );
        assert_eq!(
            differences(&disk(Cache::Writethrough, None), 2, &qemu, &guest),
            [
                "cache.direct=off was asked for, and QEMU has on",
                "write-cache=off was asked for, and QEMU has on",
                "the guest should see write-cache=write through, and sees write back"
            ]
        );
        assert_eq!(
            differences(&none, 4, &qemu, &with(&guest, "read-only", "on")),
            ["the guest should see read-only=off, and sees on"]
        );
        let reader = DiskSpec { read_only: true, ..none };
        assert_eq!(
            differences(&reader, 4, &as_asked(&reader), &guest),
            ["the guest should see read-only=on, and sees off"]
        );
        let nvme = DiskSpec { way: attach::by_name("nvme").unwrap(), iothreads: 0, ..reader };
        assert_eq!(
            differences(&nvme, 4, &as_asked(&nvme), &guest),
            Vec::<String>::new(),
            "it cannot say so"
        );
        let way = attach::by_name("vhost-scsi").unwrap();
        let lio = |backend| DiskSpec {
            way,
            backend,
            server: DiskServer::Kernel("naa.5".into()),
            ..nvme.clone()
        };
        let seen = |disk: DiskSpec| differences(&disk, 4, &as_asked(&disk), &guest);
        assert_eq!(
            seen(lio(Backend::File)),
            Vec::<String>::new(),
            "LIO opens a file for writing whatever it is told"
        );
        assert_eq!(
            seen(lio(Backend::HostDevice)),
            ["the guest should see read-only=on, and sees off"]
        );
    }

    /// Checks every way with all options: what is read is compared, and what is not reported is no
    /// agreement.
    #[test]
    fn all_that_is_read_is_compared_and_silence_is_told() {
        let drive = PciDrive { address: "0000:01:00.0".into(), ..PciDrive::default() };
        for way in attach::ALL {
            let server = match way.name() {
                "vhost-user-blk" => DiskServer::Daemon("/run/x".into()),
                "vhost-scsi" => DiskServer::Kernel("naa.5".into()),
                "vfio" => DiskServer::Drive(Box::new(drive.clone())),
                _ => DiskServer::Qemu,
            };
            let full =
                DiskSpec { way: *way, server, queue_size: Some(128), ..disk(Cache::None, Some(4)) };
            let (qemu, guest) = (as_asked(&full), settings(SEEN));
            assert_eq!(differences(&full, 4, &qemu, &guest), Vec::<String>::new(), "{way:?}");
            for property in way.device_properties(0) {
                let option = property.option;
                let other = differences(&full, 4, &with(&qemu, option, "other"), &guest);
                assert!(
                    other.len() == 1 && other[0].starts_with(option),
                    "{way:?} {option}: {other:?}"
                );
            }
            let silent = differences(&full, 4, &GuestSettings::new(), &guest);
            assert_eq!(silent.len(), qemu.len(), "{way:?}: {silent:?}");
            assert!(
                silent.iter().all(|one| one.ends_with("and QEMU does not report it")),
                "{silent:?}"
            );
            let unseen = differences(&full, 4, &qemu, &GuestSettings::new());
            assert_eq!(unseen.len(), usize::from(way.name() != "vfio"), "{way:?}: {unseen:?}");
        }
        let asked = DiskSpec { detect_zeroes: DetectZeroes::On, ..disk(Cache::None, None) };
        let told = as_asked(&disk(Cache::None, None));
        assert_eq!(
            differences(&asked, 4, &told, &settings(SEEN)),
            ["detect-zeroes=on was asked for, and QEMU has off"]
        );
    }

    /// A QEMU that gives these answers, one a question.
    fn qemu(answers: Vec<Value>) -> Qmp {
        use std::io::{BufRead, BufReader, Write};
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut heard = BufReader::new(theirs.try_clone().unwrap()).lines();
            let greeting = json!({"QMP": {}});
            writeln!(theirs, "{greeting}").unwrap();
            let answers = std::iter::once(json!({"return": {}})).chain(answers);
            for (number, mut answer) in answers.enumerate() {
                heard.next();
                answer["id"] = (number + 1).into();
                writeln!(theirs, "{answer}").unwrap();
            }
        });
        Qmp::greet(ours, std::time::Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn threads_are_counted_where_they_are_told() {
        let of_device = |answers: &[Value]| {
            let properties = attach::ALL[0].thread_properties(3);
            assert_eq!(properties.len(), answers.len());
            threads_of_device(&mut qemu(answers.to_vec()), &properties).unwrap()
        };
        let told = |value: Value| json!({"return": value});
        let unknown = json!({"error": {"class": "GenericError", "desc": "Property not found"}});
        assert_eq!(of_device(&[told(json!("/objects/iothread3")), unknown.clone()]), Some(1));
        assert_eq!(of_device(&[told(json!("")), unknown.clone()]), Some(0));
        let several = json!([{"iothread": "iothread3-0"}, {"iothread": "iothread3-1"}]);
        assert_eq!(of_device(&[told(json!("")), told(several)]), Some(2));
        assert_eq!(of_device(&[unknown.clone(), unknown.clone()]), None);
        let objects = json!([
            {"name": "type", "type": "string"},
            {"name": "iothread0", "type": "child<iothread>"}
        ]);
        assert_eq!(threads_of_daemon(&mut qemu(vec![told(objects)])).unwrap(), Some(1));
        // As QEMU 7.2 says it.
        let none =
            json!({"error": {"class": "DeviceNotFound", "desc": "Device '/objects' not found"}});
        assert_eq!(threads_of_daemon(&mut qemu(vec![none])).unwrap(), Some(0));
        assert_eq!(threads_of_daemon(&mut qemu(vec![unknown])).unwrap(), None);
    }

    #[test]
    fn an_overlay_is_what_writes_meet() {
        let inserted = json!({"drv": "qcow2", "ro": false, "backing_file_depth": 1, "detect_zeroes": "off",
            "cache": {"direct": false, "no-flush": true}});
        let told = of_overlay(&json!([{"device": "disk0", "inserted": inserted}]), "disk0");
        let expected = [
            ("cache.direct", "off"),
            ("cache.no-flush", "on"),
            ("detect-zeroes", "off"),
            ("format", "qcow2"),
            ("read-only", "off"),
            ("snapshot", "on"),
        ];
        assert_eq!(told, settings(&expected));
        let overlay = DiskSpec { snapshot: true, ..disk(Cache::None, None) };
        assert_eq!(of_node_differing(&overlay, &told), Vec::<String>::new());
        assert_eq!(of_node_differing(&disk(Cache::None, None), &told).len(), 3);
    }

    #[test]
    fn a_drive_in_another_format_is_another_drive() {
        let drive = PciDrive {
            model: Some("M".into()),
            serial: Some("S".into()),
            firmware: Some("F".into()),
            logical_block: Some(512),
            bytes: Some(1 << 30),
            ..PciDrive::default()
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
        assert_eq!(other_drive(&drive, Some(&same)), Ok(Vec::new()));
        let unsure =
            other_drive(&drive, Some(&Device { firmware: None, serial: None, ..same.clone() }));
        assert_eq!(
            unsure.unwrap(),
            [
                "its serial is S on this host and unknown in the guest",
                "its firmware is F on this host and unknown in the guest"
            ]
        );
        let unread = other_drive(&drive, None).unwrap();
        assert!(
            unread.len() == 1 && unread[0].contains("does not report which drive it has"),
            "{unread:?}"
        );
        assert_eq!(
            other_drive(&drive, Some(&Device { queue: queue("4096"), model: None, ..same.clone() })),
            Err("its model is M on this host and unknown in the guest; its logical block is 512 on this host and 4096 in the guest".into())
        );
        let other_serial = Device { serial: Some("T".into()), ..same.clone() };
        for other in [other_serial, Device { bytes: Some(2 << 30), ..same }] {
            assert!(other_drive(&drive, Some(&other)).is_err(), "{other:?}");
        }
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
        // Answer of QEMU 7.2.
        let node = |depth: u32, cluster: u64| {
            let image = json!({"cluster-size": cluster, "format-specific": {"data": {"lazy-refcounts": false}}});
            let node = json!({"node-name": "disk0", "drv": "qcow2", "backing_file_depth": depth, "image": image,
                "ro": false, "detect_zeroes": "off", "cache": {"direct": true, "no-flush": false}});
            of_node(&json!([node]), "disk0")
        };
        let told = |qemu: &GuestSettings| of_node_differing(&disk, qemu);
        assert_eq!(told(&node(1, 65536)), Vec::<String>::new());
        assert_eq!(
            told(&node(0, 4096)),
            [
                "backing=1 was asked for, and QEMU has 0",
                "cluster-size=65536 was asked for, and QEMU has 4096"
            ]
        );
        assert_eq!(
            told(&with(&node(1, 65536), "format", "raw")),
            ["format=qcow2 was asked for, and QEMU has raw"]
        );
    }
}
