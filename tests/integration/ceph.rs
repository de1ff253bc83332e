//! A real Ceph cluster on files of this machine, set up, measured, killed and cleaned.

use crate::crash::killed_everywhere;
use crate::rig::{Rig, can_boot, can_loop, can_run, disks, traces, wait};
use serde_json::Value;
use std::path::Path;

const QUICK: [&str; 8] = ["--slice", "100ms", "--min-time", "1s", "--budget", "3s", "--matched-rate", "off"];

fn can_have_ceph() -> bool {
    can_loop()
        && can_run(&["ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "rbd", "qemu-storage-daemon", "qemu-img"])
        && crate::rig::can(
            "QEMU's driver rbd (qemu-block-extra)",
            iotax_steps::ceph::qemu_has_driver().is_ok(),
        )
}

/// Two files, the smallest that there may be, under a cluster with images as large as a test needs.
fn cluster(rig: &Rig, words: &str) -> String {
    let members = [rig.file("a.img", 1024), rig.file("b.img", 1024)].join(",");
    format!("[{members}] | ceph(size=2,image-size=64MiB{words})")
}

/// What a report reads back of a layer.
fn settings<'a>(records: &'a [Value], layer: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["layer"] == layer).map(|record| &record["settings"]).collect()
}

fn nothing_is_left(rig: &Rig) {
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(["a.img", "b.img"].iter().all(|name| !rig.path(name).exists()));
    let left = |run: &Path| run.join("ceph0").exists();
    assert!(!rig.run_dirs().iter().any(|run| left(run)));
}

#[test]
fn images_of_a_real_cluster_are_measured_and_nothing_of_it_is_left() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let stacks = ["librbd", "librbd(writeback)"].map(|layer| format!("{} | {layer}", cluster(&rig, "")));
    let report = rig.json(&[&["run", &stacks[0], &stacks[1], "--rw", "randwrite"], &QUICK[..]].concat());
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    let records = rig.records("volume");
    let of_cluster = settings(&records, "ceph");
    assert_eq!(of_cluster.len(), 1, "both stacks are on one cluster");
    for (name, value) in
        [("size", "2"), ("min_size", "1"), ("pg_num", "16"), ("osd_objectstore", "bluestore")]
    {
        assert_eq!(of_cluster[0][name], value, "{}", of_cluster[0]);
    }
    let caches: Vec<&Value> = settings(&records, "librbd").iter().map(|told| &told["rbd_cache"]).collect();
    assert_eq!(caches, ["false (QEMU)", "true (QEMU)"]);
    nothing_is_left(&rig);
}

#[test]
fn a_cluster_whose_run_is_killed_while_it_is_made_is_cleaned() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let stack = format!("{} | librbd", cluster(&rig, ""));
    let mut run = rig.spawn(&[&["run", &stack, "--rw", "randread"], &QUICK[..]].concat());
    let osds = || traces(&rig.path("")).iter().filter(|line| line.contains("ceph-osd ")).count();
    wait(|| osds() > 0, 120, "an OSD");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(traces(&rig.path("")).iter().any(|line| line.contains("ceph-mon ")), "it lives on");
    rig.expect(0, &["clean"]);
    nothing_is_left(&rig);
    assert!(rig.expect(0, &["clean"]).contains("nothing to clean"));
}

#[test]
#[ignore = "makes a cluster at many records of its journal: ./check --lab runs it by name"]
fn a_real_cluster_is_gone_after_a_kill_at_every_record() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let stack = format!("{} | librbd", cluster(&rig, ""));
    let quick = ["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms", "--rw", "randread"];
    // Intent and done of two files, their fills and loop devices, the cluster, an image and its export; and undoing.
    killed_everywhere(&rig, &[&["run", &stack], &quick[..]].concat(), 24, &|_| nothing_is_left(&rig));
}

#[test]
#[ignore = "fails and rebuilds an OSD, and boots a guest: ./check --lab runs it by name"]
fn a_real_cluster_goes_through_its_states_under_a_guest() {
    if !can_have_ceph() || !can_boot() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let vm = |options: &str| format!("{} | vm(memory=256MiB,vcpus=1,{options})", cluster(&rig, ""));
    let stacks = [vm("cache=none"), vm("cache=writeback,num-queues=1"), vm("attach=vhost-user-blk")];
    let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
    let report = rig.json(&[&["run"], &stacks[..], &["--rw", "randwrite"], &QUICK].concat());
    let told: Vec<Value> = disks(&report).iter().map(|disk| disk["qemu"]["rbd_cache"].clone()).collect();
    assert_eq!(told, ["false (QEMU)", "true (QEMU)", "false (QEMU)"]);
    assert!(disks(&report).iter().all(|disk| disk["differs"].as_array().unwrap().is_empty()), "{report}");
    nothing_is_left(&rig);
    let stack = format!("{} | librbd", cluster(&rig, ""));
    let states = ["--states", "healthy,failed(1),rebuilding,healthy", "--visits", "1"];
    rig.json(&[&["run", &stack, "--rw", "randread"], &states[..], &QUICK].concat());
    let slices = rig.records("slice");
    let told = |state: &str| slices.iter().filter(|slice| slice["state"]["state"] == state).count();
    assert!(told("healthy") > 1 && told("degraded") > 0 && told("rebuilding") > 0, "{slices:?}");
    nothing_is_left(&rig);
}
