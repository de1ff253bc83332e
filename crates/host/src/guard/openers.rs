//! Processes that have a file or a device open.

use super::found::{Finding, TargetUse};
use super::mounts::{beyond_pid_namespace, pids};
use crate::probe::Probe;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// File or devices whose openers are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenTarget {
    /// A file by its file system's device number and its inode, whatever name it was opened by.
    File { device: u64, inode: u64 },
    /// Block devices by number and name.
    Device(Vec<(String, String)>),
    /// Character devices by number and name.
    Character(Vec<(u64, String)>),
}

impl OpenTarget {
    /// Returns the name of the target (`it` for a file) if this is the metadata of one of its
    /// nodes, else `None`.
    pub(super) fn matches(&self, meta: &std::fs::Metadata) -> Option<&str> {
        match self {
            OpenTarget::File { device, inode } => {
                (meta.dev() == *device && meta.ino() == *inode).then_some("it")
            }
            OpenTarget::Device(numbers) if meta.file_type().is_block_device() => {
                let number = crate::block::devnum(meta.rdev());
                numbers.iter().find(|(devnum, _)| *devnum == number).map(|(_, name)| name.as_str())
            }
            OpenTarget::Character(numbers) if meta.file_type().is_char_device() => numbers
                .iter()
                .find(|(number, _)| *number == meta.rdev())
                .map(|(_, name)| name.as_str()),
            OpenTarget::Device(_) | OpenTarget::Character(_) => None,
        }
    }
}

/// Finds other processes that have the target open. The second part says which processes could not
/// be examined; `None` if all could.
pub fn find_openers(probe: &Probe, target: &OpenTarget) -> (Vec<Finding>, Option<String>) {
    let (mut found, mut blind) = (Vec::new(), Vec::new());
    for pid in pids(probe).into_iter().filter(|pid| *pid != std::process::id()) {
        let comm = || probe.read_trimmed(format!("/proc/{pid}/comm")).unwrap_or_else(|| "?".into());
        match opened_by(probe, pid, target) {
            Ok(Some(name)) => {
                let text = format!("{name} is open in process {pid} ({})", comm());
                found.push(Finding { kind: TargetUse::Open, text });
            }
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                blind.push(format!("{pid} ({})", comm()))
            }
            // The process ended meanwhile.
            Err(_) => {}
        }
    }
    (found, blindness(&blind).or_else(|| beyond_pid_namespace(probe)))
}

fn blindness(pids: &[String]) -> Option<String> {
    let who = match pids {
        [] => return None,
        [one] => format!("process {one} has"),
        [one, others @ ..] => format!("process {one} and {} others have", others.len()),
    };
    Some(match rustix::process::geteuid().is_root() {
        true => {
            format!("what {who} open, with capabilities that we lack; run as full root on the host")
        }
        false => format!("what {who} open; run as root"),
    })
}

fn opened_by(probe: &Probe, pid: u32, target: &OpenTarget) -> std::io::Result<Option<String>> {
    let mut denied = None;
    for entry in
        std::fs::read_dir(probe.path_below(Path::new("/proc").join(pid.to_string()).join("fd")))?
    {
        // Following the link opens nothing: the kernel answers for the file that is open, also when
        // its name is gone or lies in another mount namespace.
        match std::fs::metadata(entry?.path()) {
            Ok(meta) => {
                if let Some(name) = target.matches(&meta) {
                    return Ok(Some(name.to_owned()));
                }
            }
            // The folder may be listed where its links may not be followed (ptrace_may_access).
            Err(error) if error.kind() == ErrorKind::PermissionDenied => denied = Some(error),
            // The file was closed meanwhile.
            Err(_) => {}
        }
    }
    denied.map_or(Ok(None), Err)
}
