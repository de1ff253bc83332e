//! Facts of a block device in sysfs and udev: its size, its partitions, and the names that
//! distinguish it from every other disk.

use super::probe::Probe;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A block device, as sysfs reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockNode {
    pub name: String,
    pub devnum: String,
    pub bytes: u64,
    /// Position on the disk, in bytes; 0 for a whole disk.
    pub start: u64,
    pub logical_block_bytes: u64,
    pub read_only: bool,
    /// Name of the disk, if this is a partition.
    pub parent: Option<String>,
}

/// Names and numbers that distinguish a file or a block device from all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Kernel name of a device: `nvme0n1`.
    pub name: Option<String>,
    /// `major:minor` of a device.
    pub devnum: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    /// WWN, EUI-64 or NGUID of the disk, as the kernel prints it.
    pub wwn: Option<String>,
    /// Name of this attachment, for a device without serial and WWN (`boot-1a2b3c4d-diskseq-12`).
    /// It is valid until the device is detached or the machine reboots.
    pub transient: Option<String>,
    /// Other disks that report the same serial, which then identifies none of them.
    pub serial_shared_with: Vec<String>,
    /// Extent of a partition; serial and WWN are then those of its disk. `None` for a whole disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartitionExtent>,
    pub inode: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionExtent {
    pub number: u64,
    pub start: u64,
    pub bytes: u64,
}

impl Identity {
    /// Returns true if both describe one device. Kernel names and device numbers count only if
    /// there is no WWN and no serial of its own: the kernel reassigns them when a drive comes back
    /// from a guest.
    pub fn is_same_device(&self, other: &Identity) -> bool {
        self.lasting() == other.lasting()
    }

    /// Returns the identity without kernel name and device number if it has a WWN, or a serial that
    /// no other disk has. Any other identity is returned unchanged.
    fn lasting(&self) -> Identity {
        match (&self.serial, &self.wwn) {
            (_, Some(_)) => Identity {
                name: None,
                devnum: None,
                serial_shared_with: Vec::new(),
                ..self.clone()
            },
            (Some(_), None) if self.serial_shared_with.is_empty() => {
                Identity { name: None, devnum: None, ..self.clone() }
            }
            _ => self.clone(),
        }
    }
}

/// Formats a device number as `major:minor`.
pub fn devnum(rdev: u64) -> String {
    format!("{}:{}", rustix::fs::major(rdev), rustix::fs::minor(rdev))
}

pub fn node_by_number(probe: &Probe, rdev: u64) -> Option<BlockNode> {
    node_at(probe, &Path::new("/sys/dev/block").join(devnum(rdev)))
}

pub fn disk_by_name(probe: &Probe, name: &str) -> Option<BlockNode> {
    node_at(probe, &sys_block(name))
}

/// Returns the path of a device's node: `/dev/sda`.
pub fn node_path(node: &BlockNode) -> PathBuf {
    device_path(&node.name)
}

/// Returns the path of a device by its kernel name, which has `!` for the slash of `cciss/c0d0`.
pub fn device_path(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// Returns `/sys/block/NAME`, where the kernel writes `!` for the slash of a name (`cciss/c0d0`).
pub fn sys_block(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name.replace('/', "!"))
}

fn node_at(probe: &Probe, dir: &Path) -> Option<BlockNode> {
    let real = probe.path_below(dir).canonicalize().ok()?;
    let name = real.file_name()?.to_str()?.to_owned();
    let parent = probe
        .read_number(dir.join("partition"))
        .and_then(|_| Some(real.parent()?.file_name()?.to_str()?.to_owned()));
    let queue = sys_block(parent.as_deref().unwrap_or(&name)).join("queue");
    Some(BlockNode {
        devnum: probe.read_trimmed(dir.join("dev"))?,
        // Both are in units of 512 bytes, whatever the device's block
        // (Documentation/ABI/stable/sysfs-block).
        bytes: probe.read_number(dir.join("size"))?.checked_mul(512)?,
        start: probe.read_number(dir.join("start")).unwrap_or(0).checked_mul(512)?,
        logical_block_bytes: probe.read_number(queue.join("logical_block_size")).unwrap_or(512),
        read_only: probe.read_number(dir.join("ro")) == Some(1),
        name,
        parent,
    })
}

/// Returns udev's most readable by-id path of a device (`/dev/disk/by-id/nvme-MODEL_SERIAL`), which
/// keeps its meaning after a reboot; `None` if the device has none.
pub fn by_id_path(probe: &Probe, device: &Path) -> Option<PathBuf> {
    let folder = Path::new("/dev/disk/by-id");
    let node =
        probe.link_name(device).or_else(|| Some(device.file_name()?.to_str()?.to_owned()))?;
    let is_number = |name: &str| {
        ["wwn-", "nvme-eui.", "nvme-nvme.", "dm-uuid-"].iter().any(|start| name.starts_with(start))
    };
    let names = probe.folder_names(folder).into_iter();
    let names = names.filter(|name| probe.link_name(folder.join(name)).as_ref() == Some(&node));
    let best = names.min_by_key(|name| (is_number(name), name.len(), name.clone()))?;
    Some(folder.join(best))
}

/// Returns the partitions of a disk; empty for a partition.
pub fn partitions(probe: &Probe, disk: &BlockNode) -> Vec<BlockNode> {
    let dir = sys_block(&disk.name);
    if disk.parent.is_some() {
        return Vec::new();
    }
    probe
        .folder_names(&dir)
        .into_iter()
        .filter(|name| probe.read_number(dir.join(name).join("partition")).is_some())
        .filter_map(|name| node_at(probe, &dir.join(name)))
        .collect()
}

/// Returns number and name (`8:0`, `sda`) of each device whose use counts as use of the target: the
/// target itself, for a disk also its partitions, for a partition also its disk, but not its
/// siblings.
pub fn numbers_in_question(probe: &Probe, node: &BlockNode) -> Vec<(String, String)> {
    let parent = node.parent.as_deref().and_then(|name| disk_by_name(probe, name));
    std::iter::once(node.clone())
        .chain(partitions(probe, node))
        .chain(parent)
        .map(|node| (node.devnum, node.name))
        .collect()
}

/// Returns the identity of a disk or a partition. Model, serial and WWN of a partition are those of
/// its disk.
pub fn identity(probe: &Probe, node: &BlockNode) -> Identity {
    let name = node.parent.as_deref().unwrap_or(&node.name);
    let (serial, wwn) = (serial(probe, name), wwn(probe, name));
    let transient = match (&serial, &wwn) {
        (None, None) => transient(probe, name),
        _ => None,
    };
    let serial_shared_with =
        serial.as_deref().map_or_else(Vec::new, |own| others_with_serial(probe, name, own));
    Identity {
        name: Some(node.name.clone()),
        devnum: Some(node.devnum.clone()),
        model: first_of(probe, &sys_block(name), &["device/model"]),
        serial,
        wwn,
        transient,
        serial_shared_with,
        part: partition_extent(probe, node),
        inode: None,
    }
}

fn partition_extent(probe: &Probe, node: &BlockNode) -> Option<PartitionExtent> {
    let number =
        probe.read_number(Path::new("/sys/dev/block").join(&node.devnum).join("partition"))?;
    Some(PartitionExtent { number, start: node.start, bytes: node.bytes })
}

/// Reads the serial of a disk from the first source that has one: sysfs, page 0x80 of SCSI's vital
/// product data, or udev. `None` also for a serial without a letter or a digit other than 0.
pub fn serial(probe: &Probe, name: &str) -> Option<String> {
    let dir = sys_block(name);
    first_of(probe, &dir, &["serial", "device/serial"])
        .or_else(|| vpd_serial(probe, &dir))
        .or_else(|| udev(probe, &dir, &["ID_SERIAL_SHORT", "ID_SCSI_SERIAL"]))
        .filter(|serial| says_something(serial))
}

/// Reads the WWN of a disk from sysfs (`wwid` of NVMe, `device/wwid` of SCSI), else from udev.
/// `None` also for a WWN of only zeros.
pub fn wwn(probe: &Probe, name: &str) -> Option<String> {
    let dir = sys_block(name);
    first_of(probe, &dir, &["wwid", "nguid", "eui", "device/wwid"])
        .or_else(|| udev(probe, &dir, &["ID_WWN_WITH_EXTENSION", "ID_WWN"]))
        .filter(|wwn| says_something(bare_wwn(wwn)))
}

/// Returns true if the disk `name` is below the PCI function `address` (`0000:00:10.0`), directly
/// or through other buses.
pub fn hangs_on(probe: &Probe, name: &str, address: &str) -> bool {
    let real = probe.path_below(sys_block(name)).canonicalize();
    real.is_ok_and(|path| path.components().any(|part| part.as_os_str() == address))
}

fn first_of(probe: &Probe, dir: &Path, files: &[&str]) -> Option<String> {
    files.iter().find_map(|file| probe.read_trimmed(dir.join(file))).map(|text| one_space(&text))
}

/// Joins words by single blanks: SCSI pads its fields with blanks, also inside, and users type
/// single ones.
fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns false for a serial of only zeros, blanks and dashes, which cheap drives and bridges
/// report.
fn says_something(serial: &str) -> bool {
    serial.chars().any(|c| c.is_ascii_alphanumeric() && c != '0')
}

/// Returns a WWN without the prefix that names its kind. The kernel writes `naa.5000...` and
/// `eui.0025...`; udev and labels write `0x5000...`.
pub fn bare_wwn(text: &str) -> &str {
    ["naa.", "eui.", "uuid.", "0x"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text)
}

/// Reads the serial from page 0x80 of SCSI's vital product data: a header of 4 bytes, whose last
/// two are the length of the text, and the text.
fn vpd_serial(probe: &Probe, dir: &Path) -> Option<String> {
    let page = std::fs::read(probe.path_below(dir.join("device/vpd_pg80"))).ok()?;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..4 + length)?;
    let text = one_space(&String::from_utf8_lossy(text).replace('\0', " "));
    (!text.is_empty()).then_some(text)
}

fn udev(probe: &Probe, dir: &Path, keys: &[&str]) -> Option<String> {
    let number = probe.read_trimmed(dir.join("dev"))?;
    let data = probe.read_trimmed(format!("/run/udev/data/b{number}"))?;
    keys.iter().find_map(|key| {
        let line = data
            .lines()
            .find_map(|line| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('='))?;
        Some(one_space(line)).filter(|value| !value.is_empty())
    })
}

/// Returns a name for a disk without serial and WWN (zram, loop, a virtio disk without a serial).
/// The kernel increments `diskseq` at every attachment and never reuses a value within a boot, so
/// the name of an earlier boot or attachment matches nothing.
fn transient(probe: &Probe, name: &str) -> Option<String> {
    let sequence = probe.read_number(sys_block(name).join("diskseq"))?;
    let boot = probe.read_trimmed("/proc/sys/kernel/random/boot_id")?;
    Some(format!("boot-{}-diskseq-{sequence}", boot.get(..8)?))
}

/// Returns other disks with the same serial: namespaces of one NVMe drive, several paths to one
/// LUN, or virtual disks that were all given one serial.
fn others_with_serial(probe: &Probe, name: &str, own: &str) -> Vec<String> {
    other_disks(probe, name)
        .into_iter()
        .filter(|other| serial(probe, other).as_deref() == Some(own))
        .collect()
}

/// Returns other disks with the same WWN, which are further paths to the same disk.
pub fn others_with_wwn(probe: &Probe, name: &str, own: &str) -> Vec<String> {
    other_disks(probe, name)
        .into_iter()
        .filter(|other| wwn(probe, other).as_deref() == Some(own))
        .collect()
}

fn other_disks(probe: &Probe, name: &str) -> Vec<String> {
    let mut names = probe.folder_names("/sys/block");
    // `hidden`: the paths below a natively multipathed NVMe disk, which nobody can open.
    // Device-mapper and md inherit nothing, but a virtual disk may; loops report no serial.
    names.retain(|other| {
        other != name && probe.read_number(sys_block(other).join("hidden")) != Some(1)
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::server;

    fn named(probe: &Probe, name: &str) -> Identity {
        identity(probe, &disk_by_name(probe, name).expect("disk"))
    }

    #[test]
    fn the_by_id_path_of_a_device_is_the_one_that_people_can_read() {
        let machine = server();
        for name in ["wwn-0x5", "nvme-eui.0025", "nvme-Made-up_S4EVNF0M_1", "nvme-Made-up_S4EVNF0M"]
        {
            machine.link(&format!("/dev/disk/by-id/{name}"), "/dev/nvme0n1");
        }
        machine.link("/dev/disk/by-id/wwn-0x6", "/dev/sda");
        let path = |device: &str| by_id_path(&machine.probe, Path::new(device));
        let readable = Some(PathBuf::from("/dev/disk/by-id/nvme-Made-up_S4EVNF0M"));
        assert_eq!(path("/dev/nvme0n1"), readable);
        assert_eq!(path("/dev/disk/by-id/wwn-0x5"), readable, "a link to the same device");
        assert_eq!(path("/dev/sda"), Some("/dev/disk/by-id/wwn-0x6".into()));
        assert_eq!(path("/dev/sdz"), None);
    }

    #[test]
    fn serials_and_wwns_of_each_bus() {
        let machine = server();
        let nvme = named(&machine.probe, "nvme0n1");
        assert_eq!(
            (nvme.serial.as_deref(), nvme.wwn.as_deref()),
            (Some("S4EVNF0M"), Some("eui.0025385b71b00001"))
        );
        let scsi = named(&machine.probe, "sda");
        assert_eq!(
            (scsi.serial.as_deref(), scsi.wwn.as_deref()),
            (Some("WD-1"), Some("naa.50000"))
        );
        machine.block("/sys/devices/virtio9/block/vdb", "254:16", &[("serial", "disk-1\0\0")]);
        assert_eq!(named(&machine.probe, "vdb").serial.as_deref(), Some("disk-1"));
        machine.block(
            "/sys/devices/usb/block/sdx",
            "65:0",
            &[("serial", "0000 0000"), ("wwid", "eui.0000000000000000")],
        );
        machine.put(&[(
            "/run/udev/data/b65:0",
            "S:disk/by-id/x\nE:ID_SERIAL=Maker_Stick_77\nE:ID_SERIAL_SHORT=77\n",
        )]);
        let stick = named(&machine.probe, "sdx");
        assert_eq!((stick.serial, stick.wwn), (None, None), "zeros name nothing");
    }

    #[test]
    fn udev_tells_when_sysfs_does_not() {
        let machine = server();
        machine.block("/sys/devices/usb/block/sdx", "65:0", &[]);
        machine.put(&[("/run/udev/data/b65:0", "E:ID_SERIAL_SHORT=77\nE:ID_WWN=0x5000c5\n")]);
        let stick = named(&machine.probe, "sdx");
        assert_eq!((stick.serial.as_deref(), stick.wwn.as_deref()), (Some("77"), Some("0x5000c5")));
    }

    #[test]
    fn a_disk_without_names_gets_one_for_this_attachment() {
        let machine = server();
        machine.block("/sys/devices/virtual/block/zram0", "253:0", &[("diskseq", "12\n")]);
        assert_eq!(
            named(&machine.probe, "zram0").transient.as_deref(),
            Some("boot-1a2b3c4d-diskseq-12")
        );
        assert_eq!(named(&machine.probe, "dm-0").transient, None, "no diskseq, no name");
        assert_eq!(named(&machine.probe, "sda").transient, None, "the serial does");
    }

    #[test]
    fn a_drive_that_came_back_is_the_same_and_one_without_names_is_not() {
        let drive = Identity {
            name: Some("nvme0n1".into()),
            serial: Some("S4".into()),
            wwn: Some("eui.00".into()),
            ..Identity::default()
        };
        let back = Identity {
            name: Some("nvme1n1".into()),
            devnum: Some("259:4".into()),
            ..drive.clone()
        };
        assert!(drive.is_same_device(&back));
        assert!(!drive.is_same_device(&Identity { serial: Some("S5".into()), ..back }));
        let nameless = Identity { name: Some("vdb".into()), ..Identity::default() };
        assert!(
            !nameless.is_same_device(&Identity { name: Some("vdc".into()), ..Identity::default() })
        );
        let namespace = Identity { wwn: Some("eui.01".into()), ..drive.clone() };
        assert!(!drive.is_same_device(&namespace));
    }

    #[test]
    fn partitions_of_one_disk_are_not_the_same_device() {
        let machine = server();
        let dir = "/sys/devices/pci0000:00/0000:00:17.0/ata16/block/sdb";
        let second = [("partition", "2\n"), ("start", "4194304\n")];
        machine.block(&format!("{dir}/sdb2"), "8:18", &second);
        let disk = disk_by_name(&machine.probe, "sdb").unwrap();
        let parts: Vec<Identity> = partitions(&machine.probe, &disk)
            .iter()
            .map(|part| identity(&machine.probe, part))
            .collect();
        let [first, second] = parts.as_slice() else { panic!("{parts:?}") };
        assert_eq!(first.serial.as_deref(), Some("WD-2"), "that of its disk");
        assert!(!first.is_same_device(second));
        assert!(!first.is_same_device(&identity(&machine.probe, &disk)), "nor is one the whole");
        // The same partition after its disk has come back under another name.
        let back =
            Identity { name: Some("sdc1".into()), devnum: Some("8:33".into()), ..first.clone() };
        assert!(first.is_same_device(&back));
    }

    #[test]
    fn a_serial_that_is_shared_does_not_make_two_one() {
        let of = |name: &str, other: &str| Identity {
            name: Some(name.into()),
            serial: Some("S4".into()),
            serial_shared_with: vec![other.into()],
            ..Identity::default()
        };
        assert!(!of("sdb", "sdd").is_same_device(&of("sdc", "sdd")));
        let with_wwn = |name, other| Identity { wwn: Some("naa.5".into()), ..of(name, other) };
        assert!(with_wwn("sdb", "sdd").is_same_device(&with_wwn("sdc", "sde")), "the WWN tells");
    }

    #[test]
    fn a_shared_serial_is_told() {
        let machine = server();
        machine.block("/sys/devices/a/block/nvme0n2", "259:1", &[("device/serial", "S4EVNF0M")]);
        machine.block(
            "/sys/devices/a/block/nvme0c0n1",
            "259:2",
            &[("device/serial", "S4EVNF0M"), ("hidden", "1")],
        );
        assert_eq!(named(&machine.probe, "nvme0n1").serial_shared_with, ["nvme0n2"]);
    }

    #[test]
    fn a_partition_is_named_by_its_disk_and_knows_what_matters() {
        let machine = server();
        let disk = disk_by_name(&machine.probe, "sda").expect("disk");
        let part = partitions(&machine.probe, &disk).remove(0);
        assert_eq!(
            (part.name.as_str(), part.parent.as_deref(), part.start),
            ("sda1", Some("sda"), 1 << 20)
        );
        assert_eq!(identity(&machine.probe, &part).serial.as_deref(), Some("WD-1"));
        let names = |node: &BlockNode| -> Vec<String> {
            numbers_in_question(&machine.probe, node).into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(names(&disk), ["sda", "sda1"]);
        assert_eq!(names(&part), ["sda1", "sda"]);
    }
}
