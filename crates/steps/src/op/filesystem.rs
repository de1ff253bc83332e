//! Makes a file system on block devices of ours, and mounts it.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::{ManagedResource, ResourceChange};
use anyhow::{Context, Result, bail};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool::{run_tool, tool};
use iotax_sys::child;
use iotax_units::shell;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs `mkfs` without discards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFilesystem {
    /// Type of the file system: `xfs`, `ext4` or `btrfs`.
    pub kind: String,
    pub device: PathRef,
    /// Further devices of a btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PathRef>,
    /// Label (at most 12 bytes, xfs's limit).
    pub label: String,
    /// Further arguments of mkfs, such as `-b`, `size=4096`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl MakeFilesystem {
    pub fn devices(&self) -> impl Iterator<Item = &PathRef> {
        std::iter::once(&self.device).chain(&self.others)
    }

    fn joined_devices(&self, between: &str) -> String {
        self.devices().map(ToString::to_string).collect::<Vec<_>>().join(between)
    }

    /// Returns the options of mkfs. They turn off discards: mkfs would first discard the whole
    /// device, which the loop driver turns into holes in the backing file, and reads of holes
    /// measure nothing.
    fn mkfs_words(&self) -> Result<Vec<String>> {
        let label = self.label.as_str();
        let words: &[&str] = match self.kind.as_str() {
            "xfs" => &["-q", "-K", "-f", "-L", label],
            // Lazy initialisation would write in the background while slices are measured.
            "ext4" => {
                &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-L", label]
            }
            "btrfs" => &["--quiet", "--nodiscard", "--force", "--label", label],
            other => bail!("unknown file system \"{other}\""),
        };
        let program = format!("mkfs.{}", self.kind);
        let words = words.iter().map(|word| (*word).to_owned());
        Ok(std::iter::once(program).chain(words).chain(self.options.iter().cloned()).collect())
    }

    fn command(&self) -> Result<Command> {
        let words = self.mkfs_words()?;
        let mut command = tool(&words[0], &words[1..]);
        for device in self.devices() {
            command.arg(device.resolved_path()?);
        }
        Ok(command)
    }
}

impl Operation for MakeFilesystem {
    fn describe(&self) -> String {
        let options: String = self.options.iter().map(|word| format!("{word} ")).collect();
        format!(
            "mkfs.{} (no discard, label {}) {options}{}",
            self.kind,
            self.label,
            self.joined_devices(" ")
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let devices = shell::quote_line(self.devices().map(ToString::to_string));
        match self.mkfs_words() {
            Ok(words) => vec![format!("{} {devices}", shell::quote_line(words))],
            Err(why) => vec![format!("# {why:#}")],
        }
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("all data on {} is lost", self.joined_devices(", ")))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        std::iter::once(&mut self.device).chain(&mut self.others).collect()
    }
}

impl ResourceChange for MakeFilesystem {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        run_tool(child::writes_its_zeros(&mut self.command()?)).map(drop)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Block device, or the name of a file system in a pool.
    pub device: PathRef,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PathRef>,
    pub directory: PathBuf,
    pub kind: String,
    /// True if the time of a file's last access is written now and then (relatime), as systems do
    /// by default; false if it never is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relatime: bool,
}

impl Mount {
    /// Creates the mount of one device without access times: else reads would cause writes.
    pub fn without_atime(device: PathRef, directory: PathBuf, kind: &str) -> Mount {
        Mount { device, others: Vec::new(), directory, kind: kind.to_owned(), relatime: false }
    }

    /// Returns the options that only this type of file system understands: a btrfs must be told not
    /// to discard, and which its other devices are.
    ///
    /// # Errors
    /// If the path of a device is not known yet.
    pub fn data(&self) -> Result<String> {
        let mut words: Vec<String> = Vec::new();
        if self.kind == "btrfs" {
            words.push("nodiscard".into());
        }
        for other in &self.others {
            words.push(format!("device={}", other.resolved_path()?.display()));
        }
        Ok(words.join(","))
    }
}

impl Operation for Mount {
    fn describe(&self) -> String {
        let atime = if self.relatime { "relatime" } else { "noatime" };
        let nodiscard = if self.kind == "btrfs" { ",nodiscard" } else { "" };
        let others: String = self.others.iter().map(|other| format!(",device={other}")).collect();
        let (kind, directory) = (&self.kind, self.directory.display());
        format!(
            "mount -t {kind} -o {atime},nosuid,nodev{nodiscard}{others} {} {directory}",
            self.device
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let atime = if self.relatime { "relatime" } else { "noatime" };
        let nodiscard = if self.kind == "btrfs" { ",nodiscard" } else { "" };
        let others: String = self.others.iter().map(|other| format!(",device={other}")).collect();
        let options = format!("{atime},nosuid,nodev{nodiscard}{others}");
        let (device, directory) = (self.device.to_string(), self.directory.display().to_string());
        let words = ["mount", "-t", &self.kind, "-o", &options, &device, &directory];
        vec![shell::quote_line(words)]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        std::iter::once(&mut self.device).chain(&mut self.others).collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("unmounted", self.directory.display()))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("umount {}", shell::path(&self.directory)))
    }
}

impl ManagedResource for Mount {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let atime = if self.relatime { MountFlags::RELATIME } else { MountFlags::NOATIME };
        let flags = atime | MountFlags::NOSUID | MountFlags::NODEV;
        let data = CString::new(self.data()?).context("a device's name with a zero byte")?;
        let (device, kind) = (self.device.resolved_path()?, self.kind.as_str());
        mount(device, &self.directory, kind, flags, data.as_c_str()).with_context(|| {
            format!("cannot mount {} ({kind}) at {}", device.display(), self.directory.display())
        })?;
        Ok(StepOutput::found_at(&self.directory))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(is_mounted(&self.directory)?.then(|| StepOutput::found_at(&self.directory)))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        match is_mounted(&self.directory)? {
            true => unmount_soon(&self.directory),
            false => Ok(()),
        }
    }
}

fn is_mounted(directory: &Path) -> Result<bool> {
    let Ok(inside) = fs::metadata(directory) else { return Ok(false) };
    let parent = directory.parent().context("a mount point without a parent")?;
    Ok(fs::metadata(parent)?.dev() != inside.dev())
}

fn unmount_soon(directory: &Path) -> Result<()> {
    let mut last = None;
    for _ in 0..50 {
        match unmount(directory, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            // Something of ours may still be closing a file there.
            Err(error @ Errno::BUSY) => last = Some(error),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot unmount {}", directory.display()));
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(last.map_or(anyhow::anyhow!("busy"), anyhow::Error::from)).with_context(|| {
        format!("cannot unmount {}: a process has a file open there", directory.display())
    })
}
