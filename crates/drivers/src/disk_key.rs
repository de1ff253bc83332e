//! Finds, in a guest, the block device that is a certain disk of its host: by the serial number
//! that QEMU was given or by its PCI address. The kernel may assign names and positions differently
//! at each boot.

use anyhow::{Result, bail};
use iotax_host::block;
use iotax_host::probe::Probe;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskKey {
    Serial(String),
    /// Address of the PCI function that the disk is on: `0000:00:10.0`.
    Pci(String),
}

impl DiskKey {
    pub fn value(&self) -> &str {
        match self {
            DiskKey::Serial(value) | DiskKey::Pci(value) => value,
        }
    }
}

impl fmt::Display for DiskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskKey::Serial(serial) => write!(f, "serial {serial}"),
            DiskKey::Pci(address) => write!(f, "PCI address {address}"),
        }
    }
}

/// Finds the device (`/dev/vda`) of the virtio, SCSI or NVMe disk with that key; `None` when there
/// is no such disk, or more than one.
pub fn disk_with_key(key: &DiskKey) -> Option<PathBuf> {
    find_in(&Probe::of_files(Path::new("/")), key).map(|name| Path::new("/dev").join(name))
}

/// Finds a disk as [`disk_with_key`] does; the disk may appear a moment after whoever asks.
///
/// # Errors
/// If there is no such disk by then, or more than one.
pub fn find_soon(key: &DiskKey) -> Result<PathBuf> {
    let start = Instant::now();
    loop {
        match disk_with_key(key) {
            Some(path) => return Ok(path),
            None if start.elapsed() > Duration::from_secs(5) => bail!("no disk here has {key}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn find_in(probe: &Probe, key: &DiskKey) -> Option<String> {
    let is_it = |name: &String| match key {
        DiskKey::Serial(serial) => block::serial(probe, name).as_deref() == Some(serial),
        DiskKey::Pci(address) => block::hangs_on(probe, name, address),
    };
    // Paths below a natively multipathed NVMe disk report its serial too, and nobody can open them.
    let hidden =
        |name: &String| probe.read_number(block::sys_block(name).join("hidden")) == Some(1);
    let names = probe.folder_names("/sys/block").into_iter();
    let mut matching = names.filter(|name| !hidden(name)).filter(is_it);
    let found = matching.next()?;
    matching.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_serial_and_only_when_it_is_one() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, file: &str, content: &[u8]| {
            let path = root.path().join("sys/block").join(name).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write("vda", "serial", b"iotax-a");
        write("vdb", "serial", b"iotax-b\n");
        write("nvme0n1", "device/serial", b"iotax-n            \n");
        write("sda", "device/vpd_pg80", b"\0\x80\0\x07iotax-s");
        write("loop0", "size", b"0\n");
        let probe = Probe::of_files(root.path());
        let found = |serial: &str| find_in(&probe, &DiskKey::Serial(serial.into()));
        assert_eq!(found("iotax-b"), Some("vdb".into()));
        assert_eq!(found("iotax-n"), Some("nvme0n1".into()));
        assert_eq!(found("iotax-s"), Some("sda".into()));
        assert_eq!(found("iotax"), None);
        write("nvme0c0n1", "device/serial", b"iotax-n");
        write("nvme0c0n1", "hidden", b"1\n");
        assert_eq!(found("iotax-n"), Some("nvme0n1".into()));
        write("vdc", "serial", b"iotax-b");
        assert_eq!(found("iotax-b"), None);
    }

    #[test]
    fn by_the_pci_address_it_hangs_on() {
        let root = tempfile::tempdir().unwrap();
        let disk = |name: &str, parent: &str| {
            let device =
                root.path().join("sys/devices/pci0000:00").join(parent).join("block").join(name);
            std::fs::create_dir_all(&device).unwrap();
            let link = root.path().join("sys/block").join(name);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(device, link).unwrap();
        };
        disk("vda", "0000:00:10.0/virtio3");
        disk("vdb", "0000:00:11.0/virtio4");
        let probe = Probe::of_files(root.path());
        let found = |address: &str| find_in(&probe, &DiskKey::Pci(address.into()));
        assert_eq!(found("0000:00:11.0").as_deref(), Some("vdb"));
        assert_eq!(found("0000:00:12.0"), None);
        assert_eq!(found("0000:00"), None);
    }
}
