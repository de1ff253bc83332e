//! What a host reports before anything is done there: which machine it is, and its drives. Two
//! names of one machine, and one drive of two machines, are found by it.

use iotax_host::block::{self, Identity};
use iotax_host::probe::{GuestProbe, Probe};
use iotax_model::scenario::Consent;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names that distinguish a machine from all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineIdentity {
    pub hostname: Option<String>,
    pub machine_id: Option<String>,
    pub boot_id: Option<String>,
    /// Device and inode of the folder of the fleet there: two names of one host share it.
    pub folder: Option<(u64, u64)>,
    /// Path of that folder: a file system gives the inode of a folder that was removed to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder_path: Option<PathBuf>,
}

impl MachineIdentity {
    /// Reads the identity of this machine; `folder` is the fleet's folder here.
    pub fn of_this_machine(folder: &Path) -> MachineIdentity {
        let probe = files_of_this_machine();
        let inode = std::fs::metadata(folder).ok().map(|meta| (meta.dev(), meta.ino()));
        MachineIdentity {
            hostname: probe.read_trimmed("/proc/sys/kernel/hostname"),
            machine_id: probe.read_trimmed("/etc/machine-id"),
            boot_id: probe.read_trimmed("/proc/sys/kernel/random/boot_id"),
            folder: inode,
            folder_path: std::fs::canonicalize(folder).ok(),
        }
    }

    /// Returns true if both are surely the same host: one boot of one machine, and one folder of
    /// the fleet.
    pub fn is_same_host(&self, other: &MachineIdentity) -> bool {
        self.boot_id.is_some()
            && self.boot_id == other.boot_id
            && self.folder.is_some()
            && self.folder == other.folder
            && self.folder_path == other.folder_path
    }
}

/// A drive of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostDrive {
    /// `/dev/nvme0n1`.
    pub path: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub wwn: Option<String>,
    pub bytes: u64,
    /// Path that means the drive on every boot: `/dev/disk/by-id/nvme-MODEL_SERIAL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_id: Option<String>,
    /// What uses the drive, as far as a look shows: a mount, swap, or a device on top of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
}

impl HostDrive {
    /// Returns true if a consent for this serial or WWN means the drive.
    pub fn is_named(&self, serial: &str) -> bool {
        let wwn = self.wwn.as_deref().map(block::bare_wwn);
        self.serial.as_deref() == Some(serial) || wwn == Some(block::bare_wwn(serial))
    }
}

/// Answer of a host to the first question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLook {
    pub machine: MachineIdentity,
    pub drives: Vec<HostDrive>,
    /// Seconds since 1970 by the clock of the host.
    pub clock_s: i64,
    /// Plan of its task, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<HostPlan>,
}

/// What a host would do with its task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostPlan {
    /// The plan, as `iotax plan` prints it.
    pub text: String,
    /// Reason why the host is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a look at a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookPurpose {
    /// Its drives.
    Drives,
    /// What it would do with its task, in lines of so many columns.
    Plan(usize),
    /// A task follows.
    Start,
}

impl HostLook {
    /// Looks at this machine. `folder` is the fleet's folder here.
    pub fn of_this_machine(folder: &Path) -> HostLook {
        HostLook {
            machine: MachineIdentity::of_this_machine(folder),
            drives: host_drives(&files_of_this_machine()),
            clock_s: jiff::Timestamp::now().as_second(),
            plan: None,
        }
    }

    /// Reads the look in what `iotax fleet task look` printed; `None` if there is no look.
    pub(crate) fn from_printed(text: &str) -> Option<HostLook> {
        let look = text.lines().find_map(|line| line.strip_prefix("IOTAX-FLEET look "))?;
        serde_json::from_str(look).ok()
    }

    /// Returns the consents that name no drive of the host.
    pub fn missing_drives<'a>(&self, consents: &'a [Consent]) -> Vec<&'a str> {
        let is_here =
            |consent: &&Consent| self.drives.iter().any(|drive| drive.is_named(&consent.serial));
        consents.iter().filter(|one| !is_here(one)).map(|one| one.serial.as_str()).collect()
    }
}

fn files_of_this_machine() -> Probe {
    Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED)
}

/// Returns the drives that report a serial or WWN, in the order of their names.
fn host_drives(probe: &Probe) -> Vec<HostDrive> {
    let names = std::fs::read_dir(probe.path_below(Path::new("/sys/block")))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let drive = |name: &String| {
        let node = block::disk_by_name(probe, name)?;
        let Identity { model, serial, wwn, .. } = block::identity(probe, &node);
        (serial.is_some() || wwn.is_some()).then(|| HostDrive {
            path: block::node_path(&node).display().to_string(),
            model,
            serial,
            wwn,
            bytes: node.bytes,
            by_id: block::by_id_path(probe, &block::node_path(&node))
                .map(|path| path.display().to_string()),
            in_use: user_of_drive(probe, name),
        })
    };
    names.iter().filter_map(drive).collect()
}

/// Returns what uses a drive or one of its partitions.
fn user_of_drive(probe: &Probe, name: &str) -> Option<String> {
    let folder = probe.path_below(block::sys_block(name));
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let parts: Vec<String> =
        names.filter(|part| part.starts_with(name)).chain([name.to_owned()]).collect();
    let holder = |part: &String| {
        let own =
            if part == name { folder.join("holders") } else { folder.join(part).join("holders") };
        let first = std::fs::read_dir(own).ok()?.flatten().next()?;
        Some(format!("by {}", first.file_name().to_string_lossy()))
    };
    let mounts = probe.read_trimmed("/proc/self/mounts").unwrap_or_default();
    let swaps = probe.read_trimmed("/proc/swaps").unwrap_or_default();
    let mounted = |part: &String| {
        let device = format!("/dev/{part}");
        let first = |line: &str| line.split_whitespace().next() == Some(device.as_str());
        let mount = mounts.lines().find(|line| first(line));
        let mount = mount.and_then(|line| line.split_whitespace().nth(1));
        let swap = swaps.lines().any(first).then(|| "as swap".to_owned());
        mount.map(|point| format!("mounted at {point}")).or(swap)
    };
    parts.iter().find_map(mounted).or_else(|| parts.iter().find_map(holder))
}
