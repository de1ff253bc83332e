//! Mounts of devices, in the mount namespace of every process that can be seen.

use super::found::{Finding, TargetUse};
use crate::mounts::{Mount, parse};
use crate::probe::Probe;
use iotax_units::count_noun;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// Finds where any of these devices (number and name) is mounted. The second part says which mount
/// namespaces could not be read; `None` if all could.
pub fn of_devices(probe: &Probe, devices: &[(String, String)]) -> (Vec<Finding>, Option<String>) {
    let (namespaces, blind) = namespaces(probe);
    let own = probe.link_name("/proc/self/ns/mnt");
    let mut found: Vec<Finding> = Vec::new();
    for (namespace, (pid, text)) in namespaces {
        let elsewhere = own.as_ref().is_some_and(|own| *own != namespace);
        for mount in parse(&text) {
            let number = number_of(probe, &mount);
            let Some((_, name)) = devices.iter().find(|(devnum, _)| *devnum == number) else {
                continue;
            };
            let place = if elsewhere {
                format!(" in the mount namespace of process {pid}")
            } else {
                String::new()
            };
            let text =
                format!("{name} is mounted at {} ({}){place}", mount.point.display(), mount.kind);
            if !found.iter().any(|known| known.text == text) {
                found.push(Finding { kind: TargetUse::Mounted, text });
            }
        }
    }
    (found, blind)
}

/// Returns the number of the device below a mount. btrfs gives file systems numbers of their own,
/// so the mount's source is looked up.
fn number_of(probe: &Probe, mount: &Mount) -> String {
    if !mount.devnum.starts_with("0:") || !mount.source.starts_with('/') {
        return mount.devnum.clone();
    }
    match std::fs::metadata(probe.path_below(&mount.source)) {
        Ok(meta) if meta.file_type().is_block_device() => crate::block::devnum(meta.rdev()),
        _ => mount.devnum.clone(),
    }
}

/// Returns the mountinfo of each mount namespace, with the id of a process in it. The second part
/// says which namespaces could not be read; `None` if all could.
fn namespaces(probe: &Probe) -> (BTreeMap<String, (u32, String)>, Option<String>) {
    let mut seen = BTreeMap::new();
    let mut blind = 0;
    for pid in pids(probe) {
        // A process may end while we look: that is no blindness.
        let dir = format!("/proc/{pid}");
        match std::fs::read_link(probe.path_below(format!("{dir}/ns/mnt"))) {
            Ok(link) => {
                let key = link.to_string_lossy().into_owned();
                if let (false, Some(text)) =
                    (seen.contains_key(&key), probe.read_trimmed(format!("{dir}/mountinfo")))
                {
                    seen.insert(key, (pid, text));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => blind += 1,
            Err(_) => {}
        }
    }
    if seen.is_empty() {
        // The machine is made up, or its kernel has no namespaces.
        seen.extend(
            probe.read_trimmed("/proc/self/mountinfo").map(|text| ("own".to_owned(), (0, text))),
        );
    }
    let why = (blind > 0).then(|| {
        let of = count_noun(blind as u64, "process", "processes");
        format!("the mount namespaces of {of} that we may not look into")
    });
    (seen, why.or_else(|| beyond_pid_namespace(probe)))
}

pub(super) fn pids(probe: &Probe) -> Vec<u32> {
    probe.folder_names("/proc").iter().filter_map(|name| name.parse().ok()).collect()
}

/// Describes the processes that a container hides: there, /proc shows only the container's own.
/// `None` outside of a container. The initial PID namespace has a fixed inode (PROC_PID_INIT_INO in
/// the kernel's proc_ns.h).
pub(super) fn beyond_pid_namespace(probe: &Probe) -> Option<String> {
    let namespace = probe.link_name("/proc/self/ns/pid")?;
    (namespace != "pid:[4026531836]")
        .then(|| "processes outside this container; run on the host itself".to_owned())
}
