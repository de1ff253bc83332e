//! The kernel's SCSI target (LIO) through configfs: backstores, and the vhost fabric, which shows
//! them to guests; module `iscsi` is for the iSCSI fabric. Files are served with asynchronous
//! direct I/O and a write cache that the guest's flushes empty, as with QEMU's cache=none. Block
//! devices are served as they are.

pub mod iscsi;

use super::export;
use crate::path_ref::PathRef;
use crate::plain_file::write_sysfs;
use anyhow::{Context, Result, ensure};
use iotax_units::harmless::escape_line;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Backstore, target port of the vhost fabric, and the LUN between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportVhostScsi {
    pub backing: PathRef,
    /// True if the backing is a block device.
    pub block: bool,
    /// Size of the disk in bytes if the backing is a file.
    pub bytes: u64,
    pub read_only: bool,
    pub name: String,
    /// WWN: `naa.` and 16 hexadecimal digits.
    pub wwn: String,
    /// Serial by which the guest finds the disk.
    pub serial: String,
}

impl ExportVhostScsi {
    pub fn lun(&self) -> Result<Lun<'_>> {
        Ok(self.lun_on(self.backing.resolved_path()?))
    }

    /// Returns the LUN on the device or file at `backing`.
    pub fn lun_on<'a>(&'a self, backing: &'a Path) -> Lun<'a> {
        let store = Store {
            backing,
            block: self.block,
            bytes: self.bytes,
            read_only: self.read_only,
            name: &self.name,
            serial: &self.serial,
        };
        Lun { store, wwn: &self.wwn }
    }
}

const TARGET: &str = "/sys/kernel/config/target";
/// Name of our links in configfs, from a LUN to its backstore. The kernel accepts any name.
pub const LINK: &str = "iotax";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    pub backing: &'a Path,
    pub block: bool,
    pub bytes: u64,
    pub read_only: bool,
    pub name: &'a str,
    pub serial: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lun<'a> {
    pub store: Store<'a>,
    pub wwn: &'a str,
}

/// Returns the folder of a backstore, which is in the first adapter of its kind (`block`: devices,
/// else files). Other programs use that adapter, too, with other names.
pub fn backstore(block: bool, name: &str) -> PathBuf {
    adapter(block).join(name)
}

fn adapter(block: bool) -> PathBuf {
    Path::new(TARGET).join("core").join(if block { "iblock_0" } else { "fileio_0" })
}

/// Returns the folder of the vhost fabric. It exists only if somebody has made it.
pub fn fabric() -> PathBuf {
    Path::new(TARGET).join("vhost")
}

pub fn port(wwn: &str) -> PathBuf {
    fabric().join(wwn)
}

/// Makes the backstore, the port and the LUN. Returns the fabric's folder, if it was not there
/// before.
///
/// # Errors
/// If the kernel has no such target or refuses a part, or the path of the backing is not UTF-8 or
/// has a comma.
pub fn export(lun: &Lun) -> Result<Option<PathBuf>> {
    load_target_modules(&["vhost_scsi"])?;
    let store = make_store(&lun.store)?;
    let group = port(lun.wwn).join("tpgt_1");
    let made = export::make_folder(&fabric())?;
    for folder in [port(lun.wwn), group.clone(), group.join("lun/lun_0")] {
        export::make_new(&folder)?;
    }
    // The other end of the one connection that there is; any name that no other has will do.
    write_sysfs(&group.join("nexus"), &nexus(lun.wwn))?;
    export::link(&store, &group.join("lun/lun_0").join(LINK))?;
    Ok(made.then(fabric))
}

/// Returns the commands that do what [`export`] does.
pub fn export_by_hand(lun: &Lun) -> Vec<String> {
    let group = port(lun.wwn).join("tpgt_1");
    let mut lines = export::load_by_hand(&target_modules(&["vhost_scsi"]));
    lines.extend(store_by_hand(&lun.store));
    let shown = group.join("lun/lun_0");
    lines.extend([
        export::folders_by_hand([shown.as_path()]),
        export::echo_by_hand(&nexus(lun.wwn), &group.join("nexus")),
        export::link_by_hand(&backstore(lun.store.block, lun.store.name), &shown.join(LINK)),
    ]);
    lines
}

/// Returns the commands that make a backstore.
fn store_by_hand(store: &Store) -> Vec<String> {
    let folder = backstore(store.block, store.name);
    let control = match control(store) {
        Ok(control) => export::echo_by_hand(&control, &folder.join("control")),
        Err(why) => format!("# {}", escape_line(&format!("{why:#}"))),
    };
    vec![
        export::folders_by_hand([folder.as_path()]),
        control,
        export::echo_by_hand(store.serial, &folder.join("wwn/vpd_unit_serial")),
        export::echo_by_hand("1", &folder.join("enable")),
    ]
}

/// Returns the WWN of the initiator: the port's, with `naa.6` in place of `naa.5`.
fn nexus(wwn: &str) -> String {
    wwn.replacen("naa.5", "naa.6", 1)
}

fn load_target_modules(fabric: &[&str]) -> Result<()> {
    export::load_configfs(Path::new(TARGET), &target_modules(fabric))
}

fn target_modules<'a>(fabric: &[&'a str]) -> Vec<&'a str> {
    [&["target_core_mod", "target_core_iblock", "target_core_file"], fabric].concat()
}

fn make_store(store: &Store) -> Result<PathBuf> {
    let folder = backstore(store.block, store.name);
    export::make_folder(&adapter(store.block))?;
    export::make_new(&folder)?;
    write_sysfs(&folder.join("control"), &control(store)?)?;
    write_sysfs(&folder.join("wwn/vpd_unit_serial"), store.serial)?;
    write_sysfs(&folder.join("enable"), "1").with_context(|| {
        format!("LIO does not serve {}: the kernel's log (dmesg) says why", store.backing.display())
    })?;
    Ok(folder)
}

fn control(store: &Store) -> Result<String> {
    let path = store.backing.to_str().context("a path that is not UTF-8")?;
    ensure!(!path.contains([',', '\n']), "LIO cannot serve {path}: the path has a comma");
    Ok(match store.block {
        true => format!("udev_path={path},readonly={}", u8::from(store.read_only)),
        false => {
            format!("fd_dev_name={path},fd_dev_size={},fd_buffered_io=1,fd_async_io=1", store.bytes)
        }
    })
}

pub fn is_exported(name: &str, wwn: &str) -> bool {
    port(wwn).exists() || has_store(name)
}

fn has_store(name: &str) -> bool {
    [true, false].into_iter().any(|block| backstore(block, name).exists())
}

/// Removes the LUN, the port and the backstore, as far as they exist, and `fabric`, the fabric's
/// folder, if the export made it and nothing else is in it.
///
/// # Errors
/// If a part is still in use.
pub fn unexport(block: bool, name: &str, wwn: &str, fabric: Option<&Path>) -> Result<()> {
    let group = port(wwn).join("tpgt_1");
    export::unlink(&group.join("lun/lun_0").join(LINK))?;
    for folder in [group.join("lun/lun_0"), group, port(wwn)] {
        export::remove(&folder)?;
    }
    remove_store(block, name, fabric)
}

/// Removes a backstore, and the folders of its adapter and of the fabric unless others use them.
fn remove_store(block: bool, name: &str, fabric: Option<&Path>) -> Result<()> {
    export::remove(&backstore(block, name))?;
    // Others may have backstores in the adapter or ports in the fabric, and then they stay.
    let _ = fs::remove_dir(adapter(block));
    remove_fabric(fabric, Path::new(TARGET));
    Ok(())
}

/// Removes the folder of a fabric, if it is empty. Ignores one that is not directly in `target`:
/// the path comes from the journal, which is not trusted with other folders.
fn remove_fabric(fabric: Option<&Path>, target: &Path) {
    if let Some(fabric) = fabric.filter(|fabric| fabric.parent() == Some(target)) {
        let _ = fs::remove_dir(fabric);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(path: &str, block: bool) -> Store<'_> {
        Store {
            backing: Path::new(path),
            block,
            bytes: 1 << 30,
            read_only: true,
            name: "iotax-r-vm0-0",
            serial: "iotax-vm0-0",
        }
    }

    #[test]
    fn lio_is_told_of_files_and_devices() {
        assert_eq!(
            control(&store("/srv/x.img", false)).unwrap(),
            "fd_dev_name=/srv/x.img,fd_dev_size=1073741824,fd_buffered_io=1,fd_async_io=1"
        );
        assert_eq!(control(&store("/dev/sdb", true)).unwrap(), "udev_path=/dev/sdb,readonly=1");
        assert!(control(&store("/srv/a,b.img", false)).is_err());
        assert_eq!(nexus("naa.5001405000000001"), "naa.6001405000000001");
        assert_eq!(port("naa.5"), Path::new("/sys/kernel/config/target/vhost/naa.5"));
    }

    #[test]
    fn the_fabrics_folder_goes_with_the_last_port_unless_it_was_there_before() {
        let target = tempfile::tempdir().unwrap();
        let (fabric, port) = (target.path().join("vhost"), target.path().join("vhost/naa.5"));
        for there_before in [false, true] {
            if there_before {
                fs::create_dir(&fabric).unwrap();
            }
            let made = export::make_folder(&fabric).unwrap().then_some(fabric.as_path());
            assert_eq!(made.is_some(), !there_before);
            fs::create_dir(&port).unwrap();
            remove_fabric(made, target.path());
            assert!(port.exists(), "another's port is in it");
            fs::remove_dir(&port).unwrap();
            remove_fabric(made, target.path());
            assert_eq!(fabric.exists(), there_before);
        }
        remove_fabric(Some(&fabric), Path::new(TARGET));
        assert!(fabric.exists(), "it is in no target's folder");
    }
}
