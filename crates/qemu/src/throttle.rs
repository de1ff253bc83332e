//! Limits that QEMU or its storage daemon sets: throttle groups, and limits of single drives.

use super::qmp::{Qmp, QmpError};
use iotax_facts::limit::{LimitUnit, SetLimit};
use iotax_facts::vm::VmDisk;
use serde_json::{Value, json};

/// Kinds of limits, each with its name in a throttle group and in `query-block`.
const NAMES: &[(LimitUnit, &str, &str)] = &[
    (LimitUnit::TotalIos, "iops-total", "iops"),
    (LimitUnit::ReadIos, "iops-read", "iops_rd"),
    (LimitUnit::WriteIos, "iops-write", "iops_wr"),
    (LimitUnit::TotalBytes, "bps-total", "bps"),
    (LimitUnit::ReadBytes, "bps-read", "bps_rd"),
    (LimitUnit::WriteBytes, "bps-write", "bps_wr"),
];

/// Reads the limits that are set in QEMU or its storage daemon. `socket` is the name of its control
/// socket for the results.
///
/// # Errors
/// [`QmpError`], but not for a command that the process does not know: the storage daemon has no
/// drives.
pub fn limits(qmp: &mut Qmp, socket: &str) -> Result<Vec<SetLimit>, QmpError> {
    let mut all = Vec::new();
    let objects = ask(qmp, "qom-list", json!({"path": "/objects"}))?;
    for group in groups(&objects) {
        let path = format!("/objects/{group}");
        let limits = ask(qmp, "qom-get", json!({"path": path, "property": "limits"}))?;
        all.extend(of_group(&group, &limits, socket));
    }
    all.extend(of_drives(&ask(qmp, "query-block", Value::Null)?, socket));
    Ok(all)
}

/// Executes a command. Null if QEMU refuses it.
fn ask(qmp: &mut Qmp, command: &str, arguments: Value) -> Result<Value, QmpError> {
    match qmp.execute(command, arguments) {
        Err(QmpError::Refused { .. }) => Ok(Value::Null),
        other => other,
    }
}

fn groups(objects: &Value) -> Vec<String> {
    let all = objects.as_array().into_iter().flatten();
    let groups = all.filter(|object| object["type"] == "child<throttle-group>");
    groups.filter_map(|object| Some(object["name"].as_str()?.to_owned())).collect()
}

fn of_group(group: &str, limits: &Value, socket: &str) -> Vec<SetLimit> {
    let of = |(of, name, _): &(LimitUnit, &str, &str)| {
        let value = |suffix: &str| limits[format!("{name}{suffix}")].as_f64();
        limit(*of, value(""), value("-max"), value("-max-length"), format!("group {group}"), socket)
    };
    NAMES.iter().filter_map(of).collect()
}

/// Returns the limits of drives from the answer to `query-block`. A drive in a throttle group
/// reports the group's limits.
fn of_drives(blocks: &Value, socket: &str) -> Vec<SetLimit> {
    let drives = blocks.as_array().into_iter().flatten();
    let of_drive = |drive: &Value| {
        let name = ["device", "qdev"]
            .iter()
            .find_map(|key| drive[*key].as_str().filter(|name| !name.is_empty()));
        let (name, inserted) = (name.unwrap_or("drive").to_owned(), drive["inserted"].clone());
        NAMES.iter().filter_map(move |(of, _, field)| {
            let value = |suffix: &str| inserted[format!("{field}{suffix}")].as_f64();
            limit(*of, value(""), value("_max"), value("_max_length"), name.clone(), socket)
        })
    };
    drives.flat_map(of_drive).collect()
}

/// Converts a limit of QEMU, with `length` in seconds. Its bucket (util/throttle.c) holds `max *
/// length`, or a tenth of a second of `rate` if there is no `max`. `None` without a rate.
fn limit(
    of: LimitUnit,
    rate: Option<f64>,
    max: Option<f64>,
    length: Option<f64>,
    on: String,
    socket: &str,
) -> Option<SetLimit> {
    let rate = rate.filter(|rate| *rate > 0.0)?;
    let burst = match max.filter(|max| *max > 0.0) {
        Some(max) => max * length.unwrap_or(1.0).max(1.0),
        None => rate / 10.0,
    };
    Some(SetLimit {
        of,
        rate,
        burst: Some(burst),
        on,
        set_in: format!("QEMU throttling, QMP {socket}"),
    })
}

/// Returns the limits of a disk of a libvirt domain from its XML: `<total_iops_sec>` and its like
/// in `<iotune>`.
pub fn of_libvirt(domain: &str, disk: &VmDisk) -> Vec<SetLimit> {
    let value = |name: &str| disk.settings.get(&format!("iotune.{name}"))?.parse::<f64>().ok();
    let device = &disk.name;
    let names = [
        (LimitUnit::TotalIos, "total_iops"),
        (LimitUnit::ReadIos, "read_iops"),
        (LimitUnit::WriteIos, "write_iops"),
        (LimitUnit::TotalBytes, "total_bytes"),
        (LimitUnit::ReadBytes, "read_bytes"),
        (LimitUnit::WriteBytes, "write_bytes"),
    ];
    let of = |(of, name): (LimitUnit, &str)| {
        let [rate, max, length] = ["", "_max", "_max_length"].map(|suffix| match suffix {
            "_max_length" => value(&format!("{name}_sec_max_length")),
            suffix => value(&format!("{name}_sec{suffix}")),
        });
        let set = limit(of, rate, max, length, format!("{domain} {device}"), "")?;
        Some(SetLimit { set_in: format!("virsh blkdeviotune {domain} {device}"), ..set })
    };
    names.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(limits: &[SetLimit]) -> Vec<String> {
        limits.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn groups_are_read_as_the_storage_daemon_of_qemu_7_2_shows_them() {
        let objects = json!([{"name": "type", "type": "string"}, {"name": "g", "type": "child<throttle-group>"}]);
        assert_eq!(groups(&objects), ["g"]);
        let limits = json!({"iops-total": 1000, "iops-total-max": 5000, "iops-total-max-length": 2, "iops-size": 0,
            "bps-read": 1048576, "bps-read-max": 0, "bps-read-max-length": 1, "iops-write": 0});
        assert_eq!(
            texts(&of_group("g", &limits, "/run/q")),
            [
                "group g: 1000 I/Os a second, bursts of 10000 (QEMU throttling, QMP /run/q)",
                "group g: 1048576 bytes read a second, bursts of 104857.6 (QEMU throttling, QMP /run/q)",
            ]
        );
    }

    #[test]
    fn drives_are_read_from_query_block() {
        let blocks = json!([{"device": "", "qdev": "/machine/peripheral/d0/virtio-backend",
            "inserted": {"iops": 500, "iops_rd": 0, "iops_max": 2000, "bps": 0}}, {"device": "cd0"}]);
        assert_eq!(
            texts(&of_drives(&blocks, "q")),
            [
                "/machine/peripheral/d0/virtio-backend: 500 I/Os a second, bursts of 2000 (QEMU throttling, QMP q)"
            ]
        );
        assert_eq!((of_drives(&Value::Null, "q"), groups(&Value::Null)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_domain_s_disk_has_the_limits_of_its_iotune() {
        let disk = |settings: &[(&str, &str)]| VmDisk {
            name: "vda".into(),
            serial: None,
            measured: None,
            settings: settings
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let settings = [
            ("cache", "none"),
            ("iotune.total_bytes_sec", "0"),
            ("iotune.read_bytes_sec", "10485760"),
            ("iotune.total_iops_sec", "400"),
            ("iotune.total_iops_sec_max", "800"),
            ("iotune.total_iops_sec_max_length", "5"),
            ("iotune.group_name", "x"),
        ];
        assert_eq!(
            texts(&of_libvirt("d", &disk(&settings))),
            [
                "d vda: 400 I/Os a second, bursts of 4000 (virsh blkdeviotune d vda)",
                "d vda: 10485760 bytes read a second, bursts of 1048576 (virsh blkdeviotune d vda)",
            ]
        );
        assert_eq!(of_libvirt("d", &disk(&[("iotune.total_iops_sec", "many")])), []);
    }
}
