//! The kernel's SCSI target (LIO) through configfs, as far as vhost needs it. Files are served with asynchronous direct I/O and a
//! cache that the guest's flushes empty: what QEMU calls cache=none. Devices are served as they are.

use super::system::{run, tell_kernel};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIGFS: &str = "/sys/kernel/config";
const TARGET: &str = "/sys/kernel/config/target";
/// The link from a LUN to its backstore; the kernel takes any name.
pub const LINK: &str = "iotax";

/// A LUN and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lun<'a> {
    /// File or block device.
    pub backing: &'a Path,
    /// Which of them.
    pub block: bool,
    /// Bytes of a file that are shown.
    pub bytes: u64,
    /// No write passes.
    pub read_only: bool,
    /// Name of the backstore.
    pub name: &'a str,
    /// Of the port.
    pub wwn: &'a str,
    /// Unit serial number.
    pub serial: &'a str,
}

/// Folder of a backstore. The first adapter of each kind is everybody's: folders in it are told apart by name.
pub fn backstore(block: bool, name: &str) -> PathBuf {
    adapter(block).join(name)
}

fn adapter(block: bool) -> PathBuf {
    Path::new(TARGET).join("core").join(if block { "iblock_0" } else { "fileio_0" })
}

/// Folder of the vhost fabric. The kernel has one when somebody has made it.
pub fn fabric() -> PathBuf {
    Path::new(TARGET).join("vhost")
}

/// Folder of a port of it.
pub fn port(wwn: &str) -> PathBuf {
    fabric().join(wwn)
}

/// Makes the backstore, the port and the LUN. Tells the fabric's folder, if it was not there before.
///
/// # Errors
/// When the kernel has no such target, or refuses a part.
pub fn export(lun: &Lun) -> Result<Option<PathBuf>> {
    ready()?;
    let store = backstore(lun.block, lun.name);
    make(&adapter(lun.block))?;
    fs::create_dir(&store).with_context(|| format!("cannot make {}", store.display()))?;
    tell_kernel(&store.join("control"), &control(lun)?)?;
    tell_kernel(&store.join("wwn/vpd_unit_serial"), lun.serial)?;
    tell_kernel(&store.join("enable"), "1").with_context(|| {
        format!("LIO does not serve {}: the kernel's log (dmesg) tells why", lun.backing.display())
    })?;
    let group = port(lun.wwn).join("tpgt_1");
    let made = make(&fabric())?;
    for folder in [port(lun.wwn), group.clone(), group.join("lun/lun_0")] {
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // The other end of the one connection that there is; any name that no other has will do.
    tell_kernel(&group.join("nexus"), &nexus(lun.wwn))?;
    let link = group.join("lun/lun_0").join(LINK);
    symlink(&store, &link).with_context(|| format!("cannot make {}", link.display()))?;
    Ok(made.then(fabric))
}

/// The initiator's name: the port's with another vendor's first digit.
fn nexus(wwn: &str) -> String {
    wwn.replacen("naa.5", "naa.6", 1)
}

/// Whether the kernel's target is there, after trying to have it.
fn ready() -> Result<()> {
    if !Path::new(CONFIGFS).join("target").exists() || !fabric().exists() {
        // The kernel would ask for the backstores itself, but not where its modprobe is another than ours (a container).
        let modules = ["-a", "target_core_mod", "target_core_iblock", "target_core_file", "vhost_scsi"];
        run(Command::new("modprobe").args(modules))?;
        if fs::read_dir(CONFIGFS).is_ok_and(|mut entries| entries.next().is_none()) {
            run(Command::new("mount").args(["-t", "configfs", "configfs", CONFIGFS]))?;
        }
    }
    ensure!(Path::new(TARGET).exists(), "the kernel shows no {TARGET}");
    Ok(())
}

/// What LIO is told of the backing.
fn control(lun: &Lun) -> Result<String> {
    let path = lun.backing.to_str().context("a path that is not UTF-8")?;
    ensure!(!path.contains([',', '\n']), "LIO cannot be told of {path}: it has a comma");
    Ok(match lun.block {
        true => format!("udev_path={path},readonly={}", u8::from(lun.read_only)),
        false => {
            format!("fd_dev_name={path},fd_dev_size={},fd_buffered_io=1,fd_async_io=1", lun.bytes)
        }
    })
}

/// Whether a part of it is there.
pub fn is_exported(name: &str, wwn: &str) -> bool {
    port(wwn).exists() || [true, false].into_iter().any(|block| backstore(block, name).exists())
}

/// Takes all parts of it away, in whatever state they are, and the fabric's folder that was made for it.
///
/// # Errors
/// When a part is still in use.
pub fn unexport(block: bool, name: &str, wwn: &str, fabric: Option<&Path>) -> Result<()> {
    let group = port(wwn).join("tpgt_1");
    gone(fs::remove_file(group.join("lun/lun_0").join(LINK)), &group)?;
    for folder in [group.join("lun/lun_0"), group, port(wwn), backstore(block, name)] {
        gone(fs::remove_dir(&folder), &folder)?;
    }
    // Others may have backstores in the adapter or ports in the fabric, and then they stay.
    let _ = fs::remove_dir(adapter(block));
    if let Some(fabric) = fabric {
        let _ = fs::remove_dir(fabric);
    }
    Ok(())
}

fn gone(result: std::io::Result<()>, what: &Path) -> Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", what.display())),
    }
}

/// Whether it was not there before.
fn make(folder: &Path) -> Result<bool> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        other => other.map(|()| true).with_context(|| format!("cannot make {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lun(path: &str, block: bool) -> Lun<'_> {
        Lun {
            backing: Path::new(path),
            block,
            bytes: 1 << 30,
            read_only: true,
            name: "iotax-r-vm0-0",
            wwn: "naa.5001405000000001",
            serial: "iotax-vm0-0",
        }
    }

    #[test]
    fn lio_is_told_of_files_and_devices() {
        assert_eq!(
            control(&lun("/srv/x.img", false)).unwrap(),
            "fd_dev_name=/srv/x.img,fd_dev_size=1073741824,fd_buffered_io=1,fd_async_io=1"
        );
        assert_eq!(control(&lun("/dev/sdb", true)).unwrap(), "udev_path=/dev/sdb,readonly=1");
        assert!(control(&lun("/srv/a,b.img", false)).is_err());
        assert_eq!(nexus("naa.5001405000000001"), "naa.6001405000000001");
        assert_eq!(port("naa.5"), Path::new("/sys/kernel/config/target/vhost/naa.5"));
    }
}
