//! Users of a target inside the kernel, which no /proc/PID/fd shows: swap, loop devices, md, LVM
//! and other holders, multipath, exports by LIO and nvmet.

use super::found::{Finding, TargetUse};
use super::mounts;
use super::openers::OpenTarget;
use crate::block::{self, BlockNode};
use crate::mounts::unescape;
use crate::probe::Probe;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

fn finding(kind: TargetUse, text: String) -> Finding {
    Finding { kind, text }
}

/// Finds swap space on the target: /proc/swaps lists files and devices.
pub fn swap(probe: &Probe, target: &OpenTarget) -> Vec<Finding> {
    let swaps = probe.read_trimmed("/proc/swaps").unwrap_or_default();
    let of_target = |line: &str| {
        let path = unescape(line.split_whitespace().next()?);
        let meta = std::fs::metadata(probe.path_below(&path)).ok()?;
        target.matches(&meta)?;
        Some(finding(TargetUse::Swap, format!("in use as swap space ({path})")))
    };
    swaps.lines().skip(1).filter_map(of_target).collect()
}

/// Finds what the kernel has stacked on a device, on its partitions or on its disk, other paths to
/// it, loop devices over it, and exports of it.
pub fn of_device(probe: &Probe, node: &BlockNode, wwn: Option<&str>) -> Vec<Finding> {
    let mut found: Vec<Finding> = block::numbers_in_question(probe, node)
        .into_iter()
        .flat_map(|(devnum, name)| holders(probe, &devnum, &name))
        .collect();
    found.extend(wwn.into_iter().flat_map(|wwn| other_ways(probe, node, wwn)));
    found.extend(loops(probe, &|backing| same_device(probe, node, backing)));
    found.extend(exports(probe, &|exported| same_device(probe, node, exported)));
    found
}

/// Finds loop devices over a file, and exports of it by the kernel.
pub fn of_file(probe: &Probe, path: &Path, meta: &Metadata) -> Vec<Finding> {
    let same = |other: &Path| {
        std::fs::metadata(other)
            .is_ok_and(|other| (other.dev(), other.ino()) == (meta.dev(), meta.ino()))
            || path.canonicalize().is_ok_and(|path| path == other)
    };
    let mut found = loops(probe, &same);
    found.extend(exports(probe, &same));
    found
}

fn same_device(probe: &Probe, node: &BlockNode, other: &Path) -> bool {
    let numbers = OpenTarget::Device(block::numbers_in_question(probe, node));
    std::fs::metadata(probe.path_below(other)).is_ok_and(|meta| numbers.matches(&meta).is_some())
}

fn holders(probe: &Probe, devnum: &str, name: &str) -> Vec<Finding> {
    probe
        .folder_names(format!("/sys/dev/block/{devnum}/holders"))
        .iter()
        .map(|holder| describe_holder(probe, name, holder))
        .collect()
}

fn describe_holder(probe: &Probe, name: &str, holder: &str) -> Finding {
    let dir = block::sys_block(holder);
    let mapped = probe.read_trimmed(dir.join("dm/name")).unwrap_or_default();
    let uuid = probe.read_trimmed(dir.join("dm/uuid")).unwrap_or_default();
    // device-mapper's users prefix the uuid with their name: LVM-, CRYPT-, mpath-.
    match uuid.split('-').next().unwrap_or_default() {
        "mpath" => finding(
            TargetUse::Multipath,
            format!("{name} is a path of multipath device {holder} ({mapped})"),
        ),
        "LVM" => {
            finding(TargetUse::Holder, format!("{name} is held by LVM volume {holder} ({mapped})"))
        }
        "CRYPT" => finding(
            TargetUse::Holder,
            format!("{name} is held by encrypted device {holder} ({mapped})"),
        ),
        _ if !mapped.is_empty() => finding(
            TargetUse::Holder,
            format!("{name} is held by device-mapper {holder} ({mapped})"),
        ),
        _ => match probe.read_trimmed(dir.join("md/level")) {
            Some(level) => finding(
                TargetUse::Holder,
                format!("{name} is a member of software RAID {holder} ({level})"),
            ),
            None => finding(TargetUse::Holder, format!("{name} is held by {holder}")),
        },
    }
}

/// Finds other paths to the disk: two disks with one WWN are the same disk, and may be in use under
/// the other name.
fn other_ways(probe: &Probe, node: &BlockNode, wwn: &str) -> Vec<Finding> {
    let name = node.parent.as_deref().unwrap_or(&node.name);
    block::others_with_wwn(probe, name, wwn)
        .into_iter()
        .map(|other| {
            finding(
                TargetUse::Multipath,
                format!("{name} is also reached as {other} (same WWN {wwn})"),
            )
        })
        .collect()
}

/// Finds loop devices whose backing file satisfies `is_target`, and adds where each is mounted.
fn loops(probe: &Probe, is_target: &dyn Fn(&Path) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in probe.folder_names("/sys/block").into_iter().filter(|name| name.starts_with("loop"))
    {
        let dir = block::sys_block(&name);
        let Some(backing) = probe.read_trimmed(dir.join("loop/backing_file")) else {
            continue;
        };
        let backing = PathBuf::from(unescape(&backing));
        if !is_target(&backing) {
            continue;
        }
        let numbers = block::disk_by_name(probe, &name)
            .map_or_else(Vec::new, |node| block::numbers_in_question(probe, &node));
        let (mounted, _) = mounts::of_devices(probe, &numbers);
        let also: String = mounted.iter().map(|mount| format!("; {}", mount.text)).collect();
        found.push(finding(TargetUse::Loop, format!("held by loop device {name}{also}")));
    }
    found
}

/// Finds targets of the kernel (LIO's backstores and nvmet's namespaces, in configfs) that export a
/// path which satisfies `is_target`.
fn exports(probe: &Probe, is_target: &dyn Fn(&Path) -> bool) -> Vec<Finding> {
    let lio = two_down(probe, "/sys/kernel/config/target/core", "udev_path");
    let nvmet = probe.folder_names("/sys/kernel/config/nvmet/subsystems").into_iter().flat_map(
        |subsystem| {
            let dir = format!("/sys/kernel/config/nvmet/subsystems/{subsystem}/namespaces");
            probe
                .folder_names(&dir)
                .into_iter()
                .map(move |id| PathBuf::from(format!("{dir}/{id}/device_path")))
        },
    );
    lio.into_iter()
        .chain(nvmet)
        .filter(|attribute| {
            probe.read_trimmed(attribute).is_some_and(|path| is_target(Path::new(&path)))
        })
        .map(|attribute| {
            finding(
                TargetUse::Exported,
                format!("exported by the kernel ({})", attribute.display()),
            )
        })
        .collect()
}

fn two_down(probe: &Probe, dir: &str, attribute: &str) -> Vec<PathBuf> {
    probe
        .folder_names(dir)
        .into_iter()
        .flat_map(|first| {
            let inner = Path::new(dir).join(first);
            probe
                .folder_names(&inner)
                .into_iter()
                .map(move |second| inner.join(second).join(attribute))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::server;

    fn users(probe: &Probe, name: &str) -> Vec<(TargetUse, String)> {
        let node = block::disk_by_name(probe, name).expect("disk");
        let wwn = block::wwn(probe, name);
        of_device(probe, &node, wwn.as_deref())
            .into_iter()
            .map(|finding| (finding.kind, finding.text))
            .collect()
    }

    #[test]
    fn raid_members_and_what_stands_on_raid() {
        let machine = server();
        let member = users(&machine.probe, "sda");
        assert_eq!(
            member,
            [(TargetUse::Holder, "sda1 is a member of software RAID md0 (raid1)".into())]
        );
        assert_eq!(
            users(&machine.probe, "md0"),
            [(TargetUse::Holder, "md0 is held by LVM volume dm-0 (vg-data)".into())]
        );
        assert_eq!(users(&machine.probe, "nvme0n1"), []);
    }

    #[test]
    fn device_mappers_by_their_prefix() {
        let machine = server();
        for (dm, uuid, kind, word) in [
            ("dm-1", "mpath-3600", TargetUse::Multipath, "multipath device dm-1"),
            ("dm-2", "CRYPT-LUKS2-ab", TargetUse::Holder, "encrypted device dm-2"),
            ("dm-3", "own-thing", TargetUse::Holder, "device-mapper dm-3"),
            ("bcache0", "", TargetUse::Holder, "held by bcache0"),
        ] {
            let dir = format!("/sys/devices/virtual/block/{dm}");
            let name: &[(&str, &str)] =
                if uuid.is_empty() { &[] } else { &[("dm/name", "x"), ("dm/uuid", uuid)] };
            machine.block(&dir, &format!("251:{}", dm.len() + uuid.len()), name);
            let finding = describe_holder(&machine.probe, "sdc", dm);
            assert!(finding.kind == kind && finding.text.contains(word), "{finding:?}");
        }
    }

    #[test]
    fn two_ways_to_one_disk() {
        let machine = server();
        machine.block("/sys/devices/b/block/sdz", "65:16", &[("device/wwid", "naa.50000\n")]);
        assert!(users(&machine.probe, "sda").contains(&(
            TargetUse::Multipath,
            "sda is also reached as sdz (same WWN naa.50000)".into()
        )));
    }

    #[test]
    fn exported_by_the_kernel() {
        let machine = server();
        machine.put(&[
            ("/sys/kernel/config/target/core/iblock_0/disk/udev_path", "/dev/sdq\n"),
            ("/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path", "/dev/sdr\n"),
        ]);
        let of =
            |path: &str| exports(&machine.probe, &|exported| exported == Path::new(path)).len();
        assert_eq!((of("/dev/sdq"), of("/dev/sdr"), of("/dev/sds")), (1, 1, 0));
    }
}
