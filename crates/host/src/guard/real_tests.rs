//! The guard against targets that are really occupied or foreign. Each test says `skipped: needs X`
//! where the machine cannot make its target.

use super::found::{Inspection, InspectionCheck, TargetUse};
use super::inspect::inspect;
use super::judge::{Intent, judge};
use super::marker;
use super::rig::{Child, Loop, root, run, skip};
use iotax_facts::Consent;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Returns consent to whatever the target is called and carries: what is refused with this stays
/// refused.
fn full_consent(found: &Inspection) -> Vec<Consent> {
    let word = super::judge::consent_word(&found.identity).unwrap_or("none").to_owned();
    let wipe = found.signatures.iter().map(|signature| signature.name.clone()).collect();
    vec![Consent { serial: word, wipe, unseen: Vec::new() }]
}

/// Inspects a target that is to be permitted. A process with more capabilities than ours (PID 1 of
/// some sandboxes) hides its open files, for which every device is refused: that is printed, and
/// set aside here.
fn inspect_unhindered(path: &Path) -> Inspection {
    let mut found = inspect(path).expect("inspect");
    for blind in found.unchecked.iter().filter(|blind| blind.check == InspectionCheck::Open) {
        skip(&format!("full root for the whole permit: {}", blind.why));
        assert!(refused(path).contains("iotax could not check all of it: "));
    }
    found.unchecked.retain(|blind| blind.check != InspectionCheck::Open);
    found
}

/// Returns why writing is refused in spite of full consent.
fn refused(path: &Path) -> String {
    let found = inspect(path).expect("inspect");
    judge(&found, Intent::Write, &full_consent(&found)).expect_err("must be refused").to_string()
}

fn occupied_by(path: &Path, kind: TargetUse) -> String {
    let found = inspect(path).expect("inspect");
    let finding = found.occupied.iter().find(|finding| finding.kind == kind);
    finding.unwrap_or_else(|| panic!("{kind:?} not among {:?}", found.occupied)).text.clone()
}

fn signatures(path: &Path) -> Vec<String> {
    inspect(path).expect("inspect").signatures.into_iter().map(|signature| signature.name).collect()
}

/// Checks the refusal without consent that names the signature, and the permit with it.
fn refused_unless_named(device: &Loop, name: &str) {
    let found = inspect_unhindered(&device.path);
    assert!(
        found.signatures.iter().any(|signature| signature.name == name),
        "{name}: {:?}",
        found.signatures
    );
    let mut consent = full_consent(&found);
    assert_eq!(
        judge(&found, Intent::Write, &consent).map_err(|refusal| refusal.to_string()).map(|_| ()),
        Ok(())
    );
    consent[0].wipe.retain(|wipe| wipe != name);
    let refusal = judge(&found, Intent::Write, &consent).expect_err("not named").to_string();
    assert!(refusal.contains(name), "{refusal}");
}

#[test]
fn an_empty_device_that_nobody_uses_is_permitted_with_consent() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    let found = inspect_unhindered(&device.path);
    assert_eq!(
        (found.occupied.as_slice(), found.signatures.as_slice()),
        ([].as_slice(), [].as_slice())
    );
    assert!(judge(&found, Intent::Write, &full_consent(&found)).is_ok());
    let hint = judge(&found, Intent::Write, &[]).expect_err("no consent").hint.expect("hint");
    assert!(hint.starts_with("--destroy serial=boot-"), "{hint}");
    let known = [InspectionCheck::Reservation, InspectionCheck::Mounts];
    assert!(
        found.unchecked.iter().all(|blind| known.contains(&blind.check)),
        "{:?}",
        found.unchecked
    );
}

#[test]
fn mounted() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    if run(&["mkfs.ext4", "-q", device.name()]).is_none() {
        return;
    }
    let point = device.mount_point();
    if run(&["mount", device.name(), point.to_str().expect("utf-8")]).is_none() {
        return;
    }
    let (mounted, held) = (
        occupied_by(&device.path, TargetUse::Mounted),
        occupied_by(&device.path, TargetUse::Exclusive),
    );
    let by_file = occupied_by(&device.file, TargetUse::Loop);
    let refusal = refused(&device.path);
    run(&["umount", point.to_str().expect("utf-8")]).expect("unmount");
    assert!(mounted.contains(point.to_str().expect("utf-8")), "{mounted}");
    assert!(held.contains("busy") && refusal.contains("is mounted at"), "{refusal}");
    assert!(by_file.contains("is mounted at"), "the file below says so too: {by_file}");
}

#[test]
fn mounted_in_another_namespace_only() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    if run(&["mkfs.ext4", "-q", device.name()]).is_none() {
        return;
    }
    let point = device.mount_point();
    let script = format!("mount {} {} && exec sleep 60", device.name(), point.display());
    let mounts =
        |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    let is_mounted = |pid: u32| mounts(pid).contains(point.to_str().expect("utf-8"));
    let words = ["unshare", "-m", "--propagation", "private", "sh", "-c", &script];
    let Some(child) = Child::start(&words, is_mounted) else {
        return;
    };
    assert!(!is_mounted(std::process::id()), "hidden from us");
    let mounted = occupied_by(&device.path, TargetUse::Mounted);
    assert!(
        mounted.contains(&format!("in the mount namespace of process {}", child.pid())),
        "{mounted}"
    );
    assert!(refused(&device.path).contains("is mounted at"));
}

#[test]
fn a_mounted_partition_occupies_its_disk_but_not_its_sibling() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    if run(&["sgdisk", "-n", "1:2048:40959", "-n", "2:40960:81919", device.name()]).is_none() {
        return;
    }
    // The kernel gets the partitions directly: not every kernel reads this table itself.
    let parts = [1, 2].map(|number| format!("{}p{number}", device.name()));
    for (part, first) in [("1", "2048"), ("2", "40960")] {
        if !Path::new(&format!("{}p{part}", device.name())).exists()
            && run(&["addpart", device.name(), part, first, "38912"]).is_none()
        {
            return;
        }
    }
    run(&["mkfs.ext4", "-q", &parts[0]]).expect("mkfs");
    let point = device.mount_point();
    run(&["mount", &parts[0], point.to_str().expect("utf-8")]).expect("mount");
    let (disk, own) = (refused(&device.path), refused(Path::new(&parts[0])));
    let sibling = inspect(Path::new(&parts[1])).expect("inspect");
    let names = signatures(&device.path);
    run(&["umount", point.to_str().expect("utf-8")]).expect("unmount");
    assert!(disk.contains("p1 is mounted at") && own.contains("p1 is mounted at"), "{disk}\n{own}");
    assert_eq!(sibling.occupied, []);
    assert!(
        names.contains(&"gpt".into()) && names.contains(&"ext4".into()),
        "the partition's too: {names:?}"
    );
}

#[test]
fn held_by_a_loop_device() {
    let Some(device) = Loop::with_size(16 * MIB) else {
        return;
    };
    assert!(occupied_by(&device.file, TargetUse::Loop).contains("held by loop device loop"));
    let Some(upper) = run(&["losetup", "--find", "--show", device.name()]) else {
        return;
    };
    let held = inspect(&device.path).expect("inspect").occupied;
    let refusal = refused(&device.path);
    run(&["losetup", "--detach", &upper]).expect("detach");
    assert!(held.iter().any(|finding| finding.kind == TargetUse::Loop), "{held:?}");
    assert!(refusal.contains("held by loop device"), "{refusal}");
}

#[test]
fn swap() {
    let Some(device) = Loop::with_size(16 * MIB) else {
        return;
    };
    if run(&["mkswap", device.name()]).is_none() {
        return;
    }
    refused_unless_named(&device, "swap");
    if run(&["swapon", device.name()]).is_none() {
        return;
    }
    let refusal = refused(&device.path);
    run(&["swapoff", device.name()]).expect("swapoff");
    assert!(refusal.contains("swap space"), "{refusal}");
}

#[test]
fn a_swap_file_with_our_marker() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("x.img");
    marker::create_marked_file(&path, 16 * MIB, "run-1").expect("create");
    let name = path.to_str().expect("utf-8");
    // mkswap truncates nothing; it takes the size that it is given.
    if !root() || run(&["mkswap", name, "16384"]).is_none() || run(&["swapon", name]).is_none() {
        return;
    }
    let refusal = refused(&path);
    run(&["swapoff", name]).expect("swapoff");
    assert!(refusal.contains("swap space"), "{refusal}");
}

#[test]
fn foreign_signatures() {
    let makers: &[(&str, u64, &[&str])] = &[
        ("ext4", 64, &["mkfs.ext4", "-q"]),
        ("xfs", 320, &["mkfs.xfs", "-q"]),
        ("btrfs", 128, &["mkfs.btrfs", "-q"]),
        ("LVM2_member", 64, &["pvcreate", "-q", "--config", "devices{use_devicesfile=0}", "-y"]),
        ("gpt", 64, &["sgdisk", "-n", "1:0:0"]),
        ("dos", 64, &["parted", "-s", "LOOP", "mklabel", "msdos"]),
        (
            "crypto_LUKS",
            64,
            &[
                "cryptsetup",
                "luksFormat",
                "-q",
                "--pbkdf",
                "pbkdf2",
                "--pbkdf-force-iterations",
                "1000",
                "--key-file",
                "/proc/version",
            ],
        ),
        ("swap", 16, &["mkswap"]),
    ];
    for (name, mib, words) in makers {
        let Some(device) = Loop::with_size(mib * MIB) else {
            return;
        };
        let mut words: Vec<&str> =
            words.iter().map(|word| if *word == "LOOP" { device.name() } else { word }).collect();
        if !words.contains(&device.name()) {
            words.push(device.name());
        }
        if run(&words).is_some() {
            refused_unless_named(&device, name);
            println!("{name}: found and refused");
        }
    }
}

/// Checks whole tools' own marks, each as its tool leaves it on a loop device of that size.
#[test]
fn marks_of_caches_replicas_and_object_stores() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let osd = folder.path().to_str().expect("utf-8");
    let makers: &[(&str, u64, &[&str])] = &[
        ("bcache", 64 * MIB, &["make-bcache", "-B", "LOOP"]),
        ("bcache", 64 * MIB, &["make-bcache", "-C", "LOOP"]),
        ("drbd", 64 * MIB, &["drbdmeta", "--force", "0", "v08", "LOOP", "internal", "create-md"]),
        // The size is no multiple of 4 KiB.
        (
            "drbd",
            64 * MIB + 2560,
            &["drbdmeta", "--force", "0", "v09", "LOOP", "internal", "create-md", "1"],
        ),
        (
            "ceph_bluestore",
            2048 * MIB,
            &[
                "ceph-osd",
                "--mkfs",
                "-i",
                "0",
                "--osd-objectstore",
                "bluestore",
                "--osd-data",
                osd,
                "--fsid",
                "11111111-2222-3333-4444-555555555555",
                "--osd-uuid",
                "21111111-2222-3333-4444-555555555555",
                "--bluestore-block-path",
                "LOOP",
                "--no-mon-config",
                "--log-file",
                "/dev/null",
            ],
        ),
        ("vdo", 8192 * MIB, &["vdoformat", "LOOP"]),
    ];
    for (name, bytes, words) in makers {
        let Some(device) = Loop::with_size(*bytes) else {
            return;
        };
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "LOOP" { device.name() } else { word }).collect();
        if run(&words).is_some() {
            refused_unless_named(&device, name);
            println!("{name}: found and refused");
        }
    }
}

/// Writes version 1.2's first fields: md is often not in the kernel, and mdadm then makes no
/// superblock.
#[test]
fn a_raid_members_superblock() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    let disk = File::options().write(true).open(&device.path).expect("open");
    let mut block = vec![0; 4096];
    block[..8].copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]);
    disk.write_all_at(&block, 4096).and_then(|()| disk.sync_all()).expect("write");
    drop(disk);
    refused_unless_named(&device, "linux_raid_member");
}

#[test]
fn data_without_a_signature() {
    let Some(device) = Loop::with_size(64 * MIB) else {
        return;
    };
    let disk = File::options().write(true).open(&device.path).expect("open");
    disk.write_all_at(&vec![0xa7; 8 << 20], 20 << 20)
        .and_then(|()| disk.sync_all())
        .expect("write");
    drop(disk);
    refused_unless_named(&device, "data");
}

#[test]
fn anothers_file_and_a_symbolic_link() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (theirs, ours, link) =
        (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    std::fs::write(&theirs, vec![7; 65536]).expect("write");
    marker::create_marked_file(&ours, MIB, "run-1").expect("create");
    std::os::unix::fs::symlink(&ours, &link).expect("link");
    assert!(refused(&theirs).contains("not a file of iotax"));
    assert!(refused(&link).contains("symbolic link"));
    assert!(refused(folder.path()).contains("a folder"));
    assert!(
        inspect(&folder.path().join("none")).unwrap_err().to_string().contains("cannot inspect")
    );
    let found = inspect(&ours).expect("inspect");
    let wire = serde_json::to_string(&found).expect("serialize");
    assert_eq!(serde_json::from_str::<Inspection>(&wire).expect("deserialize"), found);
    assert!(judge(&found, Intent::Write, &[]).is_ok(), "{found:?}");
}

#[test]
fn a_file_open_in_another_process() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("x.img");
    marker::create_marked_file(&path, MIB, "run-1").expect("create");
    // Under another name: the inode counts.
    let other = folder.path().join("other-name");
    std::fs::hard_link(&path, &other).expect("hard link");
    let script = format!("exec sleep 60 <{}", other.display());
    let is_open =
        |pid: u32| std::fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|link| link == other);
    let Some(child) = Child::start(&["sh", "-c", &script], is_open) else {
        return;
    };
    let refusal = refused(&path);
    assert!(refusal.contains(&format!("open in process {}", child.pid())), "{refusal}");
}

#[test]
fn a_device_open_in_another_process() {
    let Some(device) = Loop::with_size(16 * MIB) else {
        return;
    };
    let script = format!("exec sleep 60 <{}", device.name());
    let is_open = |pid: u32| {
        std::fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|link| link == device.path)
    };
    let Some(child) = Child::start(&["sh", "-c", &script], is_open) else {
        return;
    };
    let refusal = refused(&device.path);
    assert!(refusal.contains(&format!("open in process {} (sleep)", child.pid())), "{refusal}");
}

#[test]
fn a_file_open_in_a_running_qemu() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("x.img");
    marker::create_marked_file(&path, 4 * MIB, "run-1").expect("create");
    let drive = format!("file={},format=raw,if=virtio,cache=none", path.display());
    let words = [
        "qemu-system-x86_64",
        "-S",
        "-display",
        "none",
        "-nodefaults",
        "-accel",
        "tcg",
        "-m",
        "64",
        "-drive",
        &drive,
    ];
    let has_it = |pid: u32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link == path))
        })
    };
    let Some(child) = Child::start(&words, has_it) else {
        return;
    };
    let refusal = refused(&path);
    assert!(
        refusal.contains(&format!("open in process {} (qemu-system", child.pid())),
        "{refusal}"
    );
}

/// Checks the root device, which is only looked at, never written.
#[test]
fn the_root_device() {
    let text = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    let root = crate::mounts::parse(&text).into_iter().find(|mount| mount.point == Path::new("/"));
    let device = root
        .map(|mount| mount.source)
        .filter(|source| source.starts_with("/dev/") && Path::new(source).exists());
    let Some(device) = device else {
        return skip("a root file system on a device");
    };
    assert!(occupied_by(Path::new(&device), TargetUse::Mounted).contains("is mounted at /"));
    let refusal = refused(Path::new(&device));
    assert!(refusal.contains("is mounted at /") && !refusal.contains("--destroy"), "{refusal}");
}
