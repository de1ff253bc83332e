//! Changes the root of a lab from its initramfs to its root image. PID 1 moves there with its
//! mounts, and starts udev, which LVM, md and the links below /dev/disk need. The image contains no
//! iotax, so it need not be rebuilt for each version.

use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::disk_key::{self as disk, DiskKey};
use rustix::mount::{MountFlags, mount, mount_move};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Key, on the kernel's command line, of the serial number of the root disk.
pub const WORD: &str = "iotax.root";

pub const SERIAL: &str = "iotax-root";

/// Path of iotax in a lab, where the initramfs is out of reach.
pub const PROGRAM: &str = "/run/iotax/agent";

/// Time limit for the root disk to appear: normally some milliseconds after its module is loaded,
/// far later under an emulator.
const DISK_LIMIT: Duration = Duration::from_secs(20);

/// Folder of the initramfs on which the root image is mounted first.
const NEW: &str = "/mnt";

/// Folders of the initramfs whose mounts move to the new root.
const MOVED: &[&str] = &["proc", "sys", "dev", "tmp", "run"];

/// Modules that the initramfs of a lab needs.
pub const MODULES: &[&str] = &["ext4", "nvme"];

/// Modules of ext4's checksum, for kernels in which it is not built in. ext4 does not name them as
/// dependencies.
pub const MODULES_IF_THERE: &[&str] = &["crc32c_generic", "crc32c_intel"];

/// Returns the serial number of the root disk from the kernel's command line. `None` if the guest
/// is not a lab.
pub fn wanted(command_line: &str) -> Option<String> {
    let mut words = command_line.split_whitespace().filter_map(|word| word.split_once('='));
    words.find(|(key, _)| *key == WORD).map(|(_, serial)| serial.to_owned())
}

/// Makes the image on the disk with this serial number the root of PID 1 and of all later
/// processes, and runs the programs that prepare it.
///
/// # Errors
/// The disk does not appear, a mount fails, or a program of the image fails.
pub fn enter(serial: &str) -> Result<()> {
    let disk = find_disk(serial)?;
    mount(&disk, NEW, "ext4", MountFlags::NOATIME, None)
        .with_context(|| format!("cannot mount {} as the root", disk.display()))?;
    keep_program()?;
    for place in MOVED {
        let new = Path::new(NEW).join(place);
        std::fs::create_dir_all(&new)
            .with_context(|| format!("cannot create {}", new.display()))?;
        mount_move(Path::new("/").join(place), &new)
            .with_context(|| format!("cannot move /{place}"))?;
    }
    std::env::set_current_dir(NEW).context("cannot enter the root")?;
    mount_move(".", "/").context("cannot move the root")?;
    rustix::process::chroot(".").context("cannot change the root")?;
    std::env::set_current_dir("/").context("cannot enter the root")?;
    prepare()
}

fn find_disk(serial: &str) -> Result<PathBuf> {
    let begin = Instant::now();
    let key = DiskKey::Serial(serial.to_owned());
    loop {
        if let Some(path) = disk::disk_with_key(&key) {
            return Ok(path);
        }
        if begin.elapsed() > DISK_LIMIT {
            bail!("no disk with the serial {serial} appeared within {DISK_LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Copies this program to [`PROGRAM`] for steps that start it again. Removes /init and the modules
/// from the initramfs, where they would only use memory.
fn keep_program() -> Result<()> {
    let kept = Path::new(PROGRAM);
    std::fs::create_dir_all(kept.parent().unwrap_or(kept)).context("cannot create /run/iotax")?;
    std::fs::copy("/init", kept)
        .with_context(|| format!("cannot copy this program to {PROGRAM}"))?;
    std::fs::remove_file("/init").context("cannot remove /init")?;
    std::fs::remove_dir_all("/lib/modules").context("cannot remove /lib/modules")
}

/// Programs that prepare the root, with their arguments, in order. udev starts after the devices
/// appeared, so `udevadm trigger` announces them again.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("ip", &["link", "set", "lo", "up"]),
    ("/usr/lib/systemd/systemd-udevd", &["--daemon"]),
    ("udevadm", &["trigger", "--type=subsystems", "--action=add"]),
    ("udevadm", &["trigger", "--type=devices", "--action=add"]),
    ("udevadm", &["settle", "--timeout=120"]),
    ("modprobe", &["configfs"]),
];

fn prepare() -> Result<()> {
    // SUID: some programs of the image have it.
    std::fs::create_dir_all("/dev/pts").context("cannot create /dev/pts")?;
    mount("devpts", "/dev/pts", "devpts", MountFlags::NOSUID, None)
        .context("cannot mount /dev/pts")?;
    std::fs::create_dir_all("/run/lock").context("cannot create /run/lock")?;
    rustix::system::sethostname(b"lab").context("cannot set the host's name")?;
    for (program, arguments) in PROGRAMS {
        perform(program, arguments)?;
    }
    // Folder in which fabrics and targets are set up.
    mount("configfs", "/sys/kernel/config", "configfs", MountFlags::NOSUID, None)
        .context("cannot mount /sys/kernel/config")
}

/// Runs a program of the root image and fails unless it succeeds. Its output goes to the console,
/// which the host shows if the guest does not boot.
fn perform(program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH).stdin(Stdio::null());
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}, which the root should have"))?;
    ensure!(status.success(), "{program} {} ended with {status}", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lab_is_told_a_root() {
        assert_eq!(wanted("console=ttyS0 quiet panic=-1\n"), None);
        assert_eq!(wanted("quiet iotax.root=iotax-root\n").as_deref(), Some("iotax-root"));
        assert_eq!(wanted("root=iotax.root"), None);
    }
}
