//! Moves a PCI function from this host's driver to vfio-pci and back, through sysfs. Only that one
//! function is touched: its `driver_override` names the driver that may have it, so that no other
//! device of its kind changes hands. A function that somebody else keeps for a guest, or that a
//! guest has at this moment, is neither taken nor given back.

use super::tool::tool;
use crate::plain_file::write_sysfs;
use crate::queue::QueueSettings;
use crate::refusal::{NotOurs, NothingMade};
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail, ensure};
use iotax_host::guard::admit::{Hold, claim_free};
use iotax_host::guard::openers::{self, OpenTarget};
use iotax_host::pci;
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassThrough {
    /// Address of the function: `0000:01:00.0`.
    pub address: String,
    /// Driver that has it now and gets it back.
    pub driver: String,
    /// Disk as the stack names it.
    pub disk: PathBuf,
    /// IOMMU group and ACS, in words, for those who read the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Settings of its queue, observed before it is taken.
    #[serde(default, skip_serializing_if = "QueueSettings::is_empty")]
    pub queue: QueueSettings,
}

pub const DRIVER: &str = "vfio-pci";

/// Returns the commands that move the function to vfio-pci.
pub fn hand_over_by_hand(wanted: &PassThrough) -> Vec<String> {
    let folder = pci::function_folder(&wanted.address);
    let echo = |value: &str, file: &Path| {
        format!("echo {} > {}", shell::quote_word(value), shell::path(file))
    };
    vec![
        format!("modprobe {DRIVER}"),
        echo(DRIVER, &folder.join("driver_override")),
        echo(&wanted.address, &folder.join("driver/unbind")),
        echo(&wanted.address, Path::new("/sys/bus/pci/drivers_probe")),
    ]
}

/// Time for a drive to come back. It resets and its namespaces are scanned: two seconds for most,
/// and ten for some after a switch.
const COMES_BACK: Duration = Duration::from_secs(30);

/// Longest wait for a guest's QEMU to release the group. It unpins the guest's memory first.
const LETS_GO: Duration = Duration::from_secs(10);

/// Longest wait for udev to link a disk's name. It usually does so within a second, unless it is
/// busy.
const LINK_FOLLOWS: Duration = Duration::from_secs(5);

impl PassThrough {
    fn is_bound_to(&self, probe: &Probe, driver: &str) -> bool {
        pci::bound_driver(probe, &self.address).as_deref() == Some(driver)
    }

    /// Returns true if the disk is there under its name, on this very function.
    fn is_back(&self, probe: &Probe) -> bool {
        let real = probe.path_below(&self.disk).canonicalize();
        let name = real.ok().and_then(|disk| disk.file_name()?.to_str().map(str::to_owned));
        name.is_some_and(|name| pci::of_disk(probe, &name).as_deref() == Some(&*self.address))
    }

    /// Returns a note if the disk came back under another name. Waits a little for the link that
    /// udev makes. `None` if the disk has its name again.
    fn other_name(&self, probe: &Probe) -> Option<String> {
        wait_until(LINK_FOLLOWS, || self.is_back(probe)).err()?;
        Some(format!(
            "the drive at {} came back as {}: {} is not it any more",
            self.address,
            pci::disks_at(probe, &self.address).join(", "),
            self.disk.display()
        ))
    }

    fn unbind(&self, probe: &Probe) -> Result<()> {
        let bound = probe.path_below(pci::function_folder(&self.address).join("driver"));
        if !bound.exists() {
            return Ok(());
        }
        write_sysfs(&bound.join("unbind"), &self.address)
    }

    /// Moves the function from this host's driver to vfio-pci. `hold` claims the disk until the
    /// unbind, which removes it.
    fn hand_over(&self, probe: &Probe, hold: Hold) -> Result<()> {
        write_sysfs(
            &probe.path_below(pci::function_folder(&self.address).join("driver_override")),
            DRIVER,
        )?;
        self.unbind(probe)?;
        drop(hold);
        self.bind(probe, DRIVER)
    }

    fn bind(&self, probe: &Probe, driver: &str) -> Result<()> {
        write_sysfs(&probe.path_below("/sys/bus/pci/drivers_probe"), &self.address)?;
        ensure!(
            self.is_bound_to(probe, driver),
            "{} was not taken by {driver}: the kernel's log (dmesg) says why",
            self.address
        );
        Ok(())
    }

    /// Claims the disk, so that nobody can mount it or use it for RAID, LVM or swap. Changes
    /// nothing. Refuses a function that is kept for another driver, is not bound to the driver or
    /// is not the disk that was planned, and one whose disk or IOMMU group is in use.
    fn claim_disk(&self, probe: &Probe) -> Result<Hold> {
        if let Some(other) = wanted_driver(probe, &self.address) {
            bail!("somebody else keeps {} for {other} (driver_override)", self.address);
        }
        ensure!(
            self.is_bound_to(probe, &self.driver),
            "{} is not bound to {} any more",
            self.address,
            self.driver
        );
        let users = users(probe, &self.address);
        ensure!(
            users.is_empty(),
            "another guest has the IOMMU group of {}: {}",
            self.address,
            users.join("; ")
        );
        let obstacles = pci::obstacles(probe, &self.address);
        ensure!(obstacles.is_empty(), "cannot take {}: {}", self.address, obstacles.join("; "));
        // Between the plan and now somebody may have mounted it.
        let hold = claim_free(&self.disk)?;
        ensure!(
            self.is_back(probe),
            "{} is not the disk at {}: the kernel has given its disks other names; hint: name it by /dev/disk/by-id/...",
            self.disk.display(),
            self.address
        );
        Ok(hold)
    }
}

/// Returns the driver that `driver_override` names as the only one that may have a function, if
/// any.
fn wanted_driver(probe: &Probe, address: &str) -> Option<String> {
    probe
        .read_trimmed(pci::function_folder(address).join("driver_override"))
        .filter(|driver| driver != "(null)")
}

/// Describes the processes that have a function's IOMMU group open, or the function itself
/// (iommufd), as the QEMU of a guest does.
fn users(probe: &Probe, address: &str) -> Vec<String> {
    let group = pci::group_number(probe, address).map(|group| Path::new("/dev/vfio").join(group));
    let own = probe.folder_names(pci::function_folder(address).join("vfio-dev")).into_iter();
    let files = group.into_iter().chain(own.map(|name| Path::new("/dev/vfio/devices").join(name)));
    let number = |file: PathBuf| {
        Some((fs::metadata(probe.path_below(&file)).ok()?.rdev(), file.display().to_string()))
    };
    let (found, _) =
        openers::find_openers(probe, &OpenTarget::Character(files.filter_map(number).collect()));
    found.into_iter().map(|finding| finding.text).collect()
}

/// Waits for udev, if it runs: its rules set up a new disk, and could undo what is set on it later.
fn let_udev_finish(probe: &Probe) {
    if probe.path_below("/run/udev/control").exists() {
        // Where it does not within 10 s, or is not there, the disk is there all the same.
        let _ = run_tool(&mut tool("udevadm", ["settle", "--timeout=10"]));
    }
}

/// Gives a function to vfio-pci and returns the file of its group, by which a guest's QEMU opens
/// it.
///
/// # Errors
/// [`NothingMade`] if somebody uses the disk, the group or another device in it, another driver has
/// the function, or vfio-pci cannot be loaded. Fails too if vfio-pci does not take the function, or
/// the group's file does not appear.
pub fn take_function(probe: &Probe, drive: &PassThrough) -> Result<PathBuf> {
    // What takes long comes before the last look.
    if !probe.path_below("/sys/bus/pci/drivers").join(DRIVER).exists() {
        run_tool(&mut tool("modprobe", [DRIVER])).context(NothingMade)?;
    }
    let hold = drive.claim_disk(probe).context(NothingMade)?;
    drive.hand_over(probe, hold)?;
    let group = pci::group_number(probe, &drive.address)
        .with_context(|| format!("{} is in no IOMMU group", drive.address))?;
    let file = Path::new("/dev/vfio").join(group);
    wait_until(Duration::from_secs(5), || file.exists())
        .with_context(|| format!("{} did not appear", file.display()))?;
    Ok(file)
}

/// Returns true if vfio-pci has the function, or is meant to: the very first thing that
/// [`take_function`] changes.
pub fn is_taken(probe: &Probe, address: &str) -> bool {
    wanted_driver(probe, address).as_deref() == Some(DRIVER)
        || pci::bound_driver(probe, address).as_deref() == Some(DRIVER)
}

/// Gives a function back to the driver that it had, and waits until it has a disk again. Returns a
/// note if the disk has another name now, which is no failure: the kernel assigns its names again.
///
/// # Errors
/// [`NotOurs`] if a third driver or a guest has the function, which is then left alone. Fails too
/// if the old driver does not take it, or no disk comes back within 30 s.
pub fn give_back(probe: &Probe, drive: &PassThrough) -> Result<Option<String>> {
    let driver = pci::bound_driver(probe, &drive.address);
    if let Some(other) =
        driver.as_deref().filter(|driver| ![DRIVER, &*drive.driver].contains(driver))
    {
        let words = format!("{} is bound to {other} now: left alone", drive.address);
        return Err(NotOurs(words).into());
    }
    // A guest of ours has ended by now: what has it open is somebody else's.
    if driver.as_deref() == Some(DRIVER)
        && wait_until(LETS_GO, || users(probe, &drive.address).is_empty()).is_err()
    {
        let users = users(probe, &drive.address).join("; ");
        return Err(NotOurs(format!("a guest has {}: left alone ({users})", drive.address)).into());
    }
    // A lone end of line empties the file.
    write_sysfs(
        &probe.path_below(pci::function_folder(&drive.address).join("driver_override")),
        "\n",
    )?;
    if driver.as_deref() != Some(&*drive.driver) {
        drive.unbind(probe)?;
        drive.bind(probe, &drive.driver)?;
    }
    if wait_until(COMES_BACK, || !pci::disks_at(probe, &drive.address).is_empty()).is_err() {
        bail!(
            "{} has {} back, but {} is not there after {} s; hint: ls -l /sys/bus/pci/devices/{}/nvme",
            drive.driver,
            drive.address,
            drive.disk.display(),
            COMES_BACK.as_secs(),
            drive.address
        );
    }
    let_udev_finish(probe);
    Ok(drive.other_name(probe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ThingSettings;
    use iotax_host::guard::admit::claim_device;
    use iotax_host::guard::rig::{Loop, run as try_run};
    use iotax_host::made_up::{MadeUpMachine, server};

    const ADDRESS: &str = "0000:01:00.0";

    fn drive() -> PassThrough {
        let (address, driver, disk) = (ADDRESS.into(), "nvme".into(), "/dev/nvme0n1".into());
        PassThrough { address, driver, disk, isolation: None, queue: ThingSettings::new() }
    }

    fn wish(machine: &MadeUpMachine, driver: &str) {
        machine.put(&[(&format!("/sys/bus/pci/devices/{ADDRESS}/driver_override"), driver)]);
    }

    fn bind(machine: &MadeUpMachine, driver: &str) {
        let link = machine.probe.path_below(format!("/sys/bus/pci/devices/{ADDRESS}/driver"));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(format!("/sys/bus/pci/drivers/{driver}"), link).unwrap();
    }

    /// Makes a process that has the group open: a device of another number would not do, so a real
    /// one takes its place.
    fn guest(machine: &MadeUpMachine) {
        machine.put(&[
            ("/proc/4711/comm", "qemu-system-x86"),
            ("/proc/4711/fd/x", ""),
            ("/dev/vfio/x", ""),
        ]);
        for file in ["/dev/vfio/14", "/proc/4711/fd/9"] {
            std::os::unix::fs::symlink("/dev/zero", machine.probe.path_below(file)).unwrap();
        }
    }

    fn refused(machine: &MadeUpMachine) -> String {
        let error = take_function(&machine.probe, &drive()).unwrap_err();
        assert!(error.is::<NothingMade>(), "{error:#}");
        format!("{error:#}")
    }

    #[test]
    fn a_function_that_somebody_else_keeps_for_a_guest_is_not_taken() {
        let machine = server();
        wish(&machine, "vfio-pci\n");
        assert!(refused(&machine).contains("somebody else keeps 0000:01:00.0 for vfio-pci"));
        wish(&machine, "(null)\n");
        bind(&machine, DRIVER);
        assert!(refused(&machine).contains("is not bound to nvme any more"));
        bind(&machine, "nvme");
        guest(&machine);
        let text = refused(&machine);
        assert!(text.contains("/dev/vfio/14 is open in process 4711 (qemu-system-x86)"), "{text}");
        assert_eq!(wanted_driver(&machine.probe, ADDRESS), None, "nothing was written");
    }

    /// Uses a pipe as the kernel's end of `unbind`, at which the handing over stops.
    #[test]
    fn nobody_can_mount_a_drive_until_it_is_unbound() {
        let (machine, Some(device)) = (server(), Loop::with_size(1 << 20)) else { return };
        machine.put(&[("/sys/bus/pci/drivers/nvme/bind", "")]);
        let pipe = machine.probe.path_below("/sys/bus/pci/drivers/nvme/unbind");
        if try_run(&["mkfifo", pipe.to_str().unwrap()]).is_none() {
            return;
        }
        let (path, probe) = (device.path.clone(), machine.probe.clone());
        let kernel = std::thread::spawn(move || {
            // The first change is made; the next waits for a reader of the pipe.
            let begun = wait_until(LETS_GO, || wanted_driver(&probe, ADDRESS).is_some());
            std::thread::sleep(Duration::from_millis(100));
            let meanwhile = claim_device(&path).map(drop).map_err(|error| error.to_string());
            fs::read_to_string(pipe).unwrap();
            begun.map(|()| meanwhile)
        });
        let error =
            drive().hand_over(&machine.probe, claim_device(&device.path).unwrap()).unwrap_err();
        assert!(error.to_string().contains("was not taken by vfio-pci"), "{error:#}");
        let meanwhile = kernel.join().unwrap().unwrap().unwrap_err();
        assert!(meanwhile.contains("busy"), "{meanwhile}");
        assert!(claim_device(&device.path).is_ok(), "it is let go of");
    }

    #[test]
    fn a_drive_that_comes_back_under_another_name_is_back() {
        let machine = server();
        wish(&machine, "vfio-pci\n");
        machine.put(&[("/dev/nvme0n1", ""), ("/dev/nvme7n1", "")]);
        assert_eq!(give_back(&machine.probe, &drive()).unwrap(), None);
        assert_eq!(wanted_driver(&machine.probe, ADDRESS), None, "nobody is asked for any more");
        let renamed = PassThrough { disk: "/dev/nvme7n1".into(), ..drive() };
        assert_eq!(
            give_back(&machine.probe, &renamed).unwrap().unwrap(),
            "the drive at 0000:01:00.0 came back as nvme0n1: /dev/nvme7n1 is not it any more"
        );
    }

    #[test]
    fn a_drive_is_not_taken_out_of_a_running_guest() {
        let machine = server();
        wish(&machine, "vfio-pci\n");
        bind(&machine, DRIVER);
        guest(&machine);
        assert!(is_taken(&machine.probe, ADDRESS));
        let error = give_back(&machine.probe, &drive()).unwrap_err();
        assert!(error.is::<NotOurs>(), "{error:#}");
        assert!(error.to_string().contains("process 4711"), "{error:#}");
        assert_eq!(
            wanted_driver(&machine.probe, ADDRESS).as_deref(),
            Some(DRIVER),
            "left as it was"
        );
    }
}
