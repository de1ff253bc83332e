//! Which device of this machine is the disk that the host means: found by the serial number that QEMU was
//! given, never by name or position, which the kernel deals out as it likes.

use std::path::{Path, PathBuf};

/// The device (`/dev/vda`) of the virtio, SCSI or NVMe disk with that serial; `None` when there is none, or more
/// than one.
pub fn disk_by_serial(serial: &str) -> Option<PathBuf> {
    find(Path::new("/sys/block"), serial).map(|name| Path::new("/dev").join(name))
}

fn find(blocks: &Path, serial: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(blocks).ok()?;
    let mut matching = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|block| has_serial(block, serial));
    let found = matching.next()?;
    if matching.next().is_some() {
        return None;
    }
    found.file_name().map(PathBuf::from)
}

/// virtio-blk says its serial in `serial`, NVMe in `device/serial`; SCSI only in page 0x80 of its vital product data,
/// after four bytes of header.
fn has_serial(block: &Path, serial: &str) -> bool {
    let text = |name: &str| std::fs::read(block.join(name)).ok();
    let page = text("device/vpd_pg80").and_then(|page| page.get(4..).map(<[u8]>::to_vec));
    let serials = [text("serial"), text("device/serial"), page];
    serials
        .into_iter()
        .flatten()
        .any(|own| own.trim_ascii() == serial.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_serial_and_only_when_it_is_one() {
        let blocks = tempfile::tempdir().unwrap();
        let write = |name: &str, file: &str, content: &[u8]| {
            let path = blocks.path().join(name).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write("vda", "serial", b"iotax-a");
        write("vdb", "serial", b"iotax-b\n");
        write("nvme0n1", "device/serial", b"iotax-n            \n");
        write("sda", "device/vpd_pg80", b"\0\x80\0\x07iotax-s");
        write("loop0", "size", b"0\n");
        let found = |serial| find(blocks.path(), serial);
        assert_eq!(found("iotax-b"), Some("vdb".into()));
        assert_eq!(found("iotax-n"), Some("nvme0n1".into()));
        assert_eq!(found("iotax-s"), Some("sda".into()));
        assert_eq!(found("iotax"), None);
        write("vdc", "serial", b"iotax-b");
        assert_eq!(found("iotax-b"), None);
    }
}
