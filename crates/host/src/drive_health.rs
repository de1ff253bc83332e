//! Health of drives: temperature, wear and errors as smartctl or nvme reports them, or else the
//! temperature of the kernel's sensor. A drive that sleeps is not asked, and no drive is waited for.

use super::facts::{device_dir, parent_of};
use super::probe::{Probe, Programs};
use iotax_facts::machine::{Device, DriveHealth, TargetFacts};
use iotax_sys::child::output_of;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Time limit for the answer of one drive.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Adds its health to each drive below the targets. All drives are asked at once, each only once.
pub(super) fn with_health(probe: &Probe, mut targets: Vec<TargetFacts>) -> Vec<TargetFacts> {
    let devices = || targets.iter().flat_map(|target| &target.devices);
    let mut disks: Vec<String> = devices().filter_map(|device| disk_of(probe, device)).collect();
    disks.sort();
    disks.dedup();
    let found: Vec<(String, Option<DriveHealth>)> = thread::scope(|scope| {
        let asked = disks.into_iter().map(|disk| {
            let asking = disk.clone();
            (disk, scope.spawn(move || drive_health(probe, &asking)))
        });
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|(disk, one)| (disk, one.join().ok().flatten())).collect()
    });
    for device in targets.iter_mut().flat_map(|target| &mut target.devices) {
        let disk = disk_of(probe, device);
        let own = found.iter().find(|(name, _)| Some(name) == disk.as_ref());
        device.health = own.and_then(|(_, health)| health.clone());
    }
    targets
}

/// Returns the disk that a device is, or is a partition of; `None` if it is no NVMe, SATA or SAS
/// drive.
fn disk_of(probe: &Probe, device: &Device) -> Option<String> {
    let parent = parent_of(probe, &device_dir(probe, &device.name));
    let disk = parent.unwrap_or_else(|| device.name.clone());
    ["nvme", "sd"].iter().any(|kind| disk.starts_with(kind)).then_some(disk)
}

fn drive_health(probe: &Probe, disk: &str) -> Option<DriveHealth> {
    let dir = device_dir(probe, disk);
    let power = probe.read_trimmed(dir.join("device/power/runtime_status"));
    if power.as_deref() == Some("suspended") {
        return None;
    }
    let node = format!("/dev/{disk}");
    // A program of a made-up machine is not there to be run.
    let is_here = matches!(probe.programs, Programs::Installed) && probe.root == Path::new("/");
    let ask = |name: &str, words: &[&str]| {
        let mut command = Command::new(probe.program(name).filter(|_| is_here)?);
        command.args(words).arg(&node).env("LC_ALL", "C");
        serde_json::from_slice::<Value>(&output_of(&mut command, ANSWERS_WITHIN).ok()?.stdout).ok()
    };
    let by_smartctl = || smartctl_health(&ask("smartctl", &["-n", "standby", "-j", "-a"])?);
    let by_nvme = || nvme_health(&ask("nvme", &["smart-log", "-o", "json"])?);
    by_smartctl()
        .or_else(|| disk.starts_with("nvme").then(by_nvme)?)
        .or_else(|| sensor_health(probe, &dir))
}

/// Reads the output of `smartctl -j -a`; `None` if it has no figure, as of a drive in standby.
fn smartctl_health(answer: &Value) -> Option<DriveHealth> {
    let log = &answer["nvme_smart_health_information_log"];
    let attribute = |ids: &[u64]| {
        let table = answer["ata_smart_attributes"]["table"].as_array()?;
        ids.iter().find_map(|id| table.iter().find(|one| one["id"].as_u64() == Some(*id)))
    };
    // Normalized values of these attributes are the percentage of life that is left.
    let life_left = || attribute(&[231, 233, 202, 177])?["value"].as_u64();
    let scsi_errors = || {
        let log = answer["scsi_error_counter_log"].as_object()?;
        log.values().map(|way| whole_number(&way["total_uncorrected_errors"])).sum::<Option<u64>>()
    };
    let health = DriveHealth {
        source: "smartctl".into(),
        temperature: answer["temperature"]["current"].as_i64(),
        used_percent: first_number([
            &log["percentage_used"],
            &answer["endurance_used"]["current_percent"],
            &answer["scsi_percentage_used_endurance_indicator"],
        ])
        .or_else(|| life_left().map(|left| 100_u64.saturating_sub(left))),
        spare_percent: first_number([
            &log["available_spare"],
            &answer["spare_available"]["current_percent"],
        ]),
        media_errors: whole_number(&log["media_errors"])
            .or_else(|| whole_number(&attribute(&[187, 198])?["raw"]["value"]))
            .or_else(scsi_errors),
        power_on_hours: whole_number(&answer["power_on_time"]["hours"]),
    };
    health.is_known().then_some(health)
}

/// Reads the output of `nvme smart-log -o json`, whose temperature is in kelvins.
fn nvme_health(answer: &Value) -> Option<DriveHealth> {
    let kelvins =
        whole_number(&answer["temperature"]).and_then(|kelvins| i64::try_from(kelvins).ok());
    let health = DriveHealth {
        source: "nvme".into(),
        temperature: kelvins.filter(|kelvins| *kelvins > 0).map(|kelvins| kelvins - 273),
        used_percent: first_number([&answer["percent_used"], &answer["percentage_used"]]),
        spare_percent: first_number([&answer["avail_spare"], &answer["available_spare"]]),
        media_errors: whole_number(&answer["media_errors"]),
        power_on_hours: whole_number(&answer["power_on_hours"]),
    };
    health.is_known().then_some(health)
}

/// Reads the kernel's sensor. That of a disk that turns is not read: some wake for it.
fn sensor_health(probe: &Probe, dir: &Path) -> Option<DriveHealth> {
    if probe.read_number(dir.join("queue/rotational")) == Some(1) {
        return None;
    }
    let device = dir.join("device");
    let own = probe.folder_names(&device).into_iter().map(|name| device.join(name));
    let below = probe.folder_names(device.join("hwmon")).into_iter();
    let below = below.map(|name| device.join("hwmon").join(name));
    let millidegrees = own.chain(below).find_map(|sensor| {
        let name = sensor.file_name()?.to_str()?;
        name.starts_with("hwmon").then(|| probe.read_trimmed(sensor.join("temp1_input")))?
    })?;
    let temperature = millidegrees.parse::<i64>().ok()? / 1000;
    Some(DriveHealth {
        source: "hwmon".into(),
        temperature: Some(temperature),
        ..DriveHealth::default()
    })
}

/// Returns a whole number that is written as one, or as a text of digits.
fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.replace(',', "").parse().ok())
}

fn first_number<const N: usize>(values: [&Value; N]) -> Option<u64> {
    values.into_iter().find_map(whole_number)
}

#[cfg(test)]
mod tests {
    use super::super::facts::gather_from;
    use super::super::made_up::server;
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    fn health(source: &str, temperature: i64, counts: [Option<u64>; 4]) -> DriveHealth {
        let [used_percent, spare_percent, media_errors, power_on_hours] = counts;
        let (source, temperature) = (source.into(), Some(temperature));
        DriveHealth {
            source,
            temperature,
            used_percent,
            spare_percent,
            media_errors,
            power_on_hours,
        }
    }

    #[test]
    fn smartctl_reports_nvme_sata_and_sas_drives() {
        // smartctl 7.3 -j -a, cut to what is read.
        let nvme = json!({
            "json_format_version": [1, 0],
            "smartctl": {"version": [7, 3], "exit_status": 0},
            "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
            "nvme_smart_health_information_log": {
                "critical_warning": 0, "temperature": 38, "available_spare": 100,
                "available_spare_threshold": 10, "percentage_used": 3,
                "power_on_hours": 9120, "media_errors": 0, "temperature_sensors": [38, 47]
            },
            "temperature": {"current": 38}, "power_on_time": {"hours": 9120}
        });
        let expected = health("smartctl", 38, [Some(3), Some(100), Some(0), Some(9120)]);
        assert_eq!(smartctl_health(&nvme), Some(expected));
        let sata = json!({
            "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
            "ata_smart_attributes": {"revision": 1, "table": [
                {"id": 9, "name": "Power_On_Hours", "value": 95, "raw": {"value": 21046}},
                {"id": 177, "name": "Wear_Leveling_Count", "value": 91, "worst": 91, "raw": {"value": 171}},
                {"id": 187, "name": "Uncorrectable_Error_Cnt", "value": 100, "raw": {"value": 2}}
            ]},
            "temperature": {"current": 31}, "power_on_time": {"hours": 21046}
        });
        let expected = health("smartctl", 31, [Some(9), None, Some(2), Some(21046)]);
        assert_eq!(smartctl_health(&sata), Some(expected));
        let sas = json!({
            "device": {"name": "/dev/sdb", "type": "scsi", "protocol": "SCSI"},
            "temperature": {"current": 29, "drive_trip": 60},
            "power_on_time": {"hours": 40120, "minutes": 12},
            "scsi_percentage_used_endurance_indicator": 1,
            "scsi_error_counter_log": {
                "read": {"total_uncorrected_errors": 0}, "write": {"total_uncorrected_errors": 4}
            }
        });
        let expected = health("smartctl", 29, [Some(1), None, Some(4), Some(40120)]);
        assert_eq!(smartctl_health(&sas), Some(expected));
        let standby = json!({
            "smartctl": {"exit_status": 2, "messages": [
                {"string": "Device is in STANDBY mode, exit(2)", "severity": "information"}
            ]},
            "device": {"name": "/dev/sdc", "type": "sat"}
        });
        assert_eq!(smartctl_health(&standby), None);
    }

    #[test]
    fn nvme_reports_kelvins_and_long_numbers_as_text() {
        let answer = json!({
            "critical_warning": 0, "temperature": 310, "avail_spare": 99, "spare_thresh": 10,
            "percent_used": 12, "data_units_read": "1,250,871", "power_on_hours": "9,120",
            "media_errors": 7, "num_err_log_entries": 41, "temperature_sensor_1": 310
        });
        let expected = health("nvme", 37, [Some(12), Some(99), Some(7), Some(9120)]);
        assert_eq!(nvme_health(&answer), Some(expected));
        assert_eq!(nvme_health(&json!({"error": "Permission denied"})), None);
    }

    #[test]
    fn a_sensor_is_read_without_a_program_but_not_of_a_drive_that_sleeps_or_turns() {
        let found = |own: &[(&str, &str)]| {
            let machine = server();
            let disk = "/sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/0:0:0:0/block/sde";
            let sensor = [("device/hwmon/hwmon3/temp1_input", "41850\n")];
            machine.block(disk, "8:64", &[&sensor, own].concat());
            let facts = gather_from(&machine.probe, &[PathBuf::from("/dev/sde")], &[]);
            facts.targets[0].devices[0].health.clone()
        };
        assert_eq!(found(&[("queue/rotational", "0")]), Some(health("hwmon", 41, [None; 4])));
        assert_eq!(found(&[("queue/rotational", "1")]), None);
        assert_eq!(found(&[("device/power/runtime_status", "suspended\n")]), None);
    }
}
