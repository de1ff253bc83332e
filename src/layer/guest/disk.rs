//! Which device of this machine is the disk that the host means: found by the serial number that QEMU was
//! given, never by name or position, which the kernel deals out as it likes.

use crate::host::block;
use crate::host::probe::Probe;
use std::path::{Path, PathBuf};

/// The device (`/dev/vda`) of the virtio, SCSI or NVMe disk with that serial; `None` when there is none, or more
/// than one.
pub fn disk_by_serial(serial: &str) -> Option<PathBuf> {
    find(&Probe::of_files(Path::new("/")), serial).map(|name| Path::new("/dev").join(name))
}

fn find(probe: &Probe, serial: &str) -> Option<String> {
    let names = probe.names("/sys/block").into_iter();
    let mut matching = names.filter(|name| block::serial(probe, name).as_deref() == Some(serial));
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
        let found = |serial| find(&Probe::of_files(root.path()), serial);
        assert_eq!(found("iotax-b"), Some("vdb".into()));
        assert_eq!(found("iotax-n"), Some("nvme0n1".into()));
        assert_eq!(found("iotax-s"), Some("sda".into()));
        assert_eq!(found("iotax"), None);
        write("vdc", "serial", b"iotax-b");
        assert_eq!(found("iotax-b"), None);
    }
}
