//! PCI functions between this host's drivers and vfio-pci, through sysfs. Only the one function is touched: its
//! `driver_override` names the driver that may have it, so that no other device of its kind changes hands.

use super::system::{NotOurs, run, wait_until};
use crate::guard::admit::admit;
use crate::guard::judge::Intent;
use crate::host::pci;
use crate::host::probe::Probe;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The driver that keeps a function for a guest.
pub const DRIVER: &str = "vfio-pci";

/// A drive resets and its namespaces are scanned: two seconds for most, and ten for some behind a switch.
const COMES_BACK: Duration = Duration::from_secs(30);

/// A drive that a guest is given, and what it goes back to on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenDrive<'a> {
    /// `0000:01:00.0`.
    pub address: &'a str,
    /// This host's driver for it.
    pub driver: &'a str,
    /// Its disk.
    pub disk: &'a Path,
}

impl TakenDrive<'_> {
    fn folder(&self) -> PathBuf {
        folder(self.address)
    }

    fn is_bound_to(&self, driver: &str) -> bool {
        pci::driver(&here(), self.address).as_deref() == Some(driver)
    }

    /// Whether the disk is there, on this very drive.
    fn is_back(&self) -> bool {
        let name =
            self.disk.canonicalize().ok().and_then(|disk| disk.file_name()?.to_str().map(str::to_owned));
        name.is_some_and(|name| pci::of_disk(&here(), &name).as_deref() == Some(self.address))
    }

    fn rebind(&self, driver: &str) -> Result<()> {
        let folder = self.folder();
        let bound = folder.join("driver");
        if bound.exists() {
            write(&bound.join("unbind"), self.address)?;
        }
        write(Path::new("/sys/bus/pci/drivers_probe"), self.address)?;
        ensure!(
            self.is_bound_to(driver),
            "{} was not taken by {driver}: the kernel's log (dmesg) tells why",
            self.address
        );
        Ok(())
    }
}

fn folder(address: &str) -> PathBuf {
    Path::new("/sys/bus/pci/devices").join(address)
}

fn here() -> Probe {
    Probe::of_files(Path::new("/"))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write \"{}\" to {}", text.trim(), file.display()))
}

/// Gives a function to vfio-pci and tells the file of its group, by which a guest's QEMU opens it.
///
/// # Errors
/// When somebody uses the disk or a neighbour in its group, another driver has the function, or vfio-pci does not take it.
pub fn take(drive: &TakenDrive) -> Result<PathBuf> {
    // Between the plan and now somebody may have mounted it.
    admit(drive.disk, Intent::Take, &[])?;
    ensure!(
        drive.is_back(),
        "{} is not the disk at {}: the kernel has named its disks anew; hint: name it by /dev/disk/by-id/...",
        drive.disk.display(),
        drive.address
    );
    ensure!(drive.is_bound_to(drive.driver), "{} is not bound to {} any more", drive.address, drive.driver);
    let obstacles = pci::obstacles(&here(), drive.address);
    ensure!(obstacles.is_empty(), "cannot take {}: {}", drive.address, obstacles.join("; "));
    if !Path::new("/sys/bus/pci/drivers").join(DRIVER).exists() {
        run(Command::new("modprobe").arg(DRIVER))?;
    }
    write(&drive.folder().join("driver_override"), DRIVER)?;
    drive.rebind(DRIVER)?;
    let group = pci::group(&here(), drive.address)
        .with_context(|| format!("{} is in no IOMMU group", drive.address))?;
    let file = Path::new("/dev/vfio").join(group);
    wait_until(Duration::from_secs(5), || file.exists())
        .with_context(|| format!("{} did not appear", file.display()))?;
    Ok(file)
}

/// Whether vfio-pci has the function, or is meant to: the very first thing that [`take`] changes.
pub fn is_taken(address: &str) -> bool {
    let wanted = fs::read_to_string(folder(address).join("driver_override")).unwrap_or_default();
    wanted.trim() == DRIVER || pci::driver(&here(), address).as_deref() == Some(DRIVER)
}

/// Gives a function back to the driver that it had, and waits until its disk is there again.
///
/// # Errors
/// When a third driver has it (it is left alone), the old one does not take it, or the disk does not come back.
pub fn give_back(drive: &TakenDrive) -> Result<()> {
    let driver = pci::driver(&here(), drive.address);
    if let Some(other) = driver.as_deref().filter(|driver| ![DRIVER, drive.driver].contains(driver)) {
        let words = format!("{} is bound to {other} now: left alone", drive.address);
        return Err(NotOurs(words).into());
    }
    // A lone end of line empties it.
    write(&drive.folder().join("driver_override"), "\n")?;
    if driver.as_deref() != Some(drive.driver) {
        drive.rebind(drive.driver)?;
    }
    if wait_until(COMES_BACK, || drive.is_back()).is_err() {
        bail!(
            "{} has {} back, but {} is not there after {} s; hint: ls -l /sys/bus/pci/devices/{}/nvme",
            drive.driver,
            drive.address,
            drive.disk.display(),
            COMES_BACK.as_secs(),
            drive.address
        );
    }
    Ok(())
}
