//! A running SPDK target. What needs none is always tested; what needs a real one runs where
//! IOTAX_SPDK_SOCKET names its JSON-RPC socket.

use crate::crash::killed_everywhere;
use crate::rig::{Rig, can, can_serve, disks, traces};
use iotax_drivers::spdk::{LIMIT, Rpc};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn a_target_that_does_not_answer_is_an_unmet_need() {
    let rig = Rig::new();
    let socket = rig.path("spdk.sock");
    let vm = format!("vm(attach=vhost-user-blk,spdk={})", socket.display());
    let said = rig.complaint(3, &["run", &format!("{} | {vm}", rig.file("x.img", 64))]);
    assert!(
        said.contains("no SPDK target listens on") && said.contains("hint: start SPDK's target"),
        "{said}"
    );
    assert!(!rig.path("x.img").exists() && rig.run_dirs().is_empty());
}

/// The socket of a real target, or the word that there is none.
fn target() -> Option<PathBuf> {
    let socket = std::env::var_os("IOTAX_SPDK_SOCKET").map(PathBuf::from);
    let there = socket.as_deref().is_some_and(Path::exists);
    let able = can("IOTAX_SPDK_SOCKET=SOCKET of a running SPDK target", there) && can_serve();
    socket.filter(|_| able)
}

/// Names of all that it has.
fn contents(socket: &Path) -> Vec<Value> {
    let mut rpc = Rpc::connect(socket, LIMIT).unwrap();
    let mut all = |method: &str, key: &str| {
        let list = rpc.call(method, Value::Null).unwrap();
        list.as_array().unwrap().iter().map(|one| one[key].clone()).collect::<Vec<_>>()
    };
    [
        all("bdev_get_bdevs", "name"),
        all("vhost_get_controllers", "ctrlr"),
        all("bdev_lvol_get_lvstores", "name"),
    ]
    .concat()
}

/// Two files as one bdev of the target, and a guest's way to it.
fn joined(rig: &Rig, socket: &Path, words: &str, guests: &str) -> String {
    let members = [rig.file("a.img", 64), rig.file("b.img", 64)].join(",");
    let vm = "vm(attach=vhost-user-blk,memory=256MiB,vcpus=1)";
    format!("[{members}] | spdk(rpc={},{words}) | {vm}{guests}", socket.display())
}

fn vm(socket: &Path, more: &str) -> String {
    format!("vm(attach=vhost-user-blk,spdk={},memory=256MiB,vcpus=1{more})", socket.display())
}

#[test]
fn a_real_target_serves_disks_and_keeps_nothing_of_them() {
    let Some(socket) = target() else { return };
    let _alone = crate::rig::alone();
    let (rig, before) = (Rig::new(), contents(&socket));
    let file = rig.file("x.img", 64);
    let daemon = format!("{file} | vm(attach=vhost-user-blk,memory=256MiB,vcpus=1)");
    let quick = ["--slice", "100ms", "--min-time", "2s", "--budget", "8s", "--matched-rate", "off"];
    let spdk =
        [vm(&socket, ""), vm(&socket, ",queue-size=64") + " x2"].map(|vm| format!("{file} | {vm}"));
    for load in ["randread", "randwrite"] {
        let args = ["run", &file, &daemon, &spdk[0], &spdk[1], "--rw", load];
        let report = rig.json(&[&args[..], &quick].concat());
        for row in report["workloads"][0]["rows"].as_array().unwrap() {
            assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
        }
        let disks = disks(&report);
        let served: Vec<_> =
            disks.iter().filter(|disk| disk["attach"] == "vhost-user-blk with spdk").collect();
        assert!(served.len() >= 3, "{disks:?}");
        for disk in served {
            let read_only = if load == "randread" { "on" } else { "off" };
            assert_eq!(
                (&disk["qemu"]["cache.direct"], &disk["qemu"]["read-only"]),
                (&"on".into(), &read_only.into())
            );
            assert_eq!(disk["differs"], Value::Array(Vec::new()));
            if load == "randwrite" {
                assert_eq!(disk["guest"]["write-cache"], "write back", "it sends flushes");
            }
        }
        assert_eq!(contents(&socket), before);
    }
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn a_real_target_joins_files_and_keeps_nothing_of_them() {
    let Some(socket) = target() else { return };
    let _alone = crate::rig::alone();
    let (rig, before) = (Rig::new(), contents(&socket));
    let quick = ["--slice", "100ms", "--min-time", "1s", "--budget", "4s", "--matched-rate", "off"];
    let stacks = [
        joined(&rig, &socket, "raid=raid0", ""),
        joined(&rig, &socket, "raid=raid1", " x2"),
        joined(&rig, &socket, "raid=raid1,lvol=thin,cluster-size=1MiB", ""),
        joined(&rig, &socket, "raid=concat,lvol=thick,cluster-size=1MiB", " x2"),
    ];
    for load in ["randread", "randwrite"] {
        let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
        let report = rig.json(&[&["run"], &stacks[..], &["--rw", load], &quick].concat());
        for row in report["workloads"][0]["rows"].as_array().unwrap() {
            assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
        }
        let disks = disks(&report);
        assert!(disks.len() >= 4, "{disks:?}");
        for disk in disks {
            assert_eq!(disk["qemu"]["cache.direct"], "on");
            // Logical volumes take no flush, which a guest that could write is warned of.
            let is_volume = disk["stack"].as_str().unwrap().contains("lvol=");
            let no_flush = "the guest should see write-cache=write back, and sees write through";
            for differs in disk["differs"].as_array().unwrap() {
                assert!(is_volume && differs == no_flush, "{disk}");
            }
            assert!(disk["qemu"]["raid"].as_str().unwrap().ends_with(" of 2, online"), "{disk}");
        }
        assert_eq!(contents(&socket), before);
    }
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
#[ignore = "boots a guest at many records of its journal: ./check --lab runs it by name"]
fn a_real_target_is_as_before_after_a_kill_at_every_record_of_a_bdev() {
    let Some(socket) = target() else { return };
    let _alone = crate::rig::alone();
    let (rig, before) = (Rig::new(), contents(&socket));
    let stack = joined(&rig, &socket, "raid=raid1,lvol=thick,cluster-size=1MiB", " x2");
    let quick = ["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms"];
    // Intent and done of two files, their fills, the bdev, its parts, and of a disk, an initramfs
    // and QEMU twice; and undoing.
    killed_everywhere(
        &rig,
        &[&["run", &stack, "--rw", "randwrite"], &quick[..]].concat(),
        24,
        &|at| {
            assert_eq!(contents(&socket), before, "killed {at}");
        },
    );
}

#[test]
#[ignore = "boots a guest at every record of its journal: ./check --lab runs it by name"]
fn a_real_target_is_as_before_after_a_kill_at_every_record() {
    let Some(socket) = target() else { return };
    let _alone = crate::rig::alone();
    let (rig, before) = (Rig::new(), contents(&socket));
    let file = rig.file("x.img", 64);
    let args = ["run", &file, &format!("{file} | {}", vm(&socket, "")), "--rw", "randwrite"];
    let quick = ["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms"];
    // Intent and done of file, fill, the disk in the target, an initramfs and QEMU; and their
    // undoing.
    killed_everywhere(&rig, &[&args[..], &quick[..]].concat(), 14, &|at| {
        assert_eq!(contents(&socket), before, "killed {at}");
    });
}
