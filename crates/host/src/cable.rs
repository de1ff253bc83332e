//! Cable of a drive (SATA, SAS or USB), with the speed that its two ends negotiated. A cable that
//! the kernel does not report is unknown.

use super::probe::Probe;
use iotax_facts::machine::Cable;
use std::path::{Path, PathBuf};

/// Function that reads the kind of a cable (`sas`) and the speed of each of its lanes from one
/// folder of sysfs. `None` if the folder is not of that kind.
type LaneSpeed = fn(&Path) -> Option<(&'static str, Vec<String>)>;

/// Returns the cable of the disk with this folder; `above` are the real folders above it, nearest
/// first. `None` if the kernel reports no speed, or not the same for all lanes.
pub(super) fn disk_cable(probe: &Probe, disk_dir: &Path, above: &[PathBuf]) -> Option<Cable> {
    let nearest = |found: LaneSpeed| above.iter().find_map(|dir| found(dir));
    let (kind, speeds) = nearest(sas).or_else(|| nearest(sata)).or_else(|| nearest(usb))?;
    // The vendor that libata and SAT give a SATA drive on a SAS port shows what it is.
    let is_sata =
        probe.read_trimmed(disk_dir.join("device/vendor")).is_some_and(|vendor| vendor == "ATA");
    let kind = if kind == "sas" && is_sata { "sata" } else { kind };
    let speed = speeds.first().filter(|first| speeds.iter().all(|other| other == *first))?;
    let known = speed.starts_with(|first: char| first.is_ascii_digit());
    known.then(|| Cable { kind: kind.into(), speed: speed.clone(), lanes: speeds.len() as u64 })
}

fn sysfs_text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn dir_name(dir: &Path) -> &str {
    dir.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn sata(dir: &Path) -> Option<(&'static str, Vec<String>)> {
    let number = dir_name(dir).strip_prefix("ata")?.parse::<u32>().ok()?;
    let link = format!("link{number}");
    let speed = sysfs_text(&dir.join(&link).join("ata_link").join(&link).join("sata_spd"))?;
    Some(("sata", vec![speed]))
}

/// Reads `port-0:0/phy-0:0/sas_phy/phy-0:0/negotiated_linkrate` of each phy of the port.
fn sas(dir: &Path) -> Option<(&'static str, Vec<String>)> {
    dir_name(dir).strip_prefix("port-")?;
    let phys = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let rate = |phy: PathBuf| {
        let own = dir_name(&phy).to_owned();
        own.starts_with("phy-")
            .then(|| sysfs_text(&phy.join("sas_phy").join(&own).join("negotiated_linkrate")))
    };
    let speeds: Option<Vec<String>> = phys.filter_map(rate).collect();
    Some(("sas", speeds.filter(|speeds| !speeds.is_empty())?))
}

/// Reads the speed of a USB device, whose folder has a `busnum`.
fn usb(dir: &Path) -> Option<(&'static str, Vec<String>)> {
    dir.join("busnum").exists().then_some(())?;
    Some(("usb", vec![sysfs_text(&dir.join("speed"))?]))
}

#[cfg(test)]
mod tests {
    use super::super::facts::device_facts;
    use super::super::made_up::{MadeUpMachine, server};
    use super::Cable;

    fn told(disk: &str, files: &[(&str, &str)], own: &[(&str, &str)]) -> Option<Cable> {
        let machine: MadeUpMachine = server();
        machine.put(files);
        machine.block(disk, "8:64", own);
        device_facts(&machine.probe, disk.rsplit('/').next().unwrap()).cable
    }

    fn cable(kind: &str, speed: &str, lanes: u64) -> Option<Cable> {
        Some(Cable { kind: kind.into(), speed: speed.into(), lanes })
    }

    #[test]
    fn cables_are_told_as_they_were_settled() {
        let ahci = "/sys/devices/pci0000:00/0000:00:1f.2/ata3";
        let disk = format!("{ahci}/host2/target2:0:0/2:0:0:0/block/sde");
        let speed = format!("{ahci}/link3/ata_link/link3/sata_spd");
        assert_eq!(told(&disk, &[(&speed, "6.0 Gbps\n")], &[]), cable("sata", "6.0 Gbps", 1));
        assert_eq!(told(&disk, &[(&speed, "<unknown>\n")], &[]), None);
        let port = "/sys/devices/pci0000:00/0000:00:03.0/host0/port-0:1";
        let disk = format!("{port}/end_device-0:1/target0:0:1/0:0:1:0/block/sde");
        let rates = ["phy-0:4", "phy-0:5"]
            .map(|phy| format!("{port}/{phy}/sas_phy/{phy}/negotiated_linkrate"));
        let both: Vec<(&str, &str)> =
            rates.iter().map(|rate| (rate.as_str(), "12.0 Gbit\n")).collect();
        assert_eq!(told(&disk, &both, &[]), cable("sas", "12.0 Gbit", 2));
        assert_eq!(
            told(&disk, &[(&rates[0], "6.0 Gbit\n")], &[("device/vendor", "ATA     \n")]),
            cable("sata", "6.0 Gbit", 1)
        );
        assert_eq!(
            told(&disk, &[(&rates[0], "12.0 Gbit\n"), (&rates[1], "6.0 Gbit\n")], &[]),
            None
        );
        let usb = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1";
        let disk = format!("{usb}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sde");
        let files = [("busnum", "2"), ("speed", "5000\n")]
            .map(|(file, text)| (format!("{usb}/{file}"), text));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        assert_eq!(told(&disk, &files, &[]), cable("usb", "5000", 1));
        assert_eq!(told("/sys/devices/virtual/block/sde", &[], &[]), None);
    }
}
