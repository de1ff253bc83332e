//! Volumes and fabrics for real: set up over a lab's drives, measured and removed again. The
//! figures are those of a translator, and nothing is said of them here but that there are some, and
//! what the report says of them.

use crate::rig::{Rig, alone, can, can_run, traces};
use iotax_layers::lab::root_image;
use serde_json::Value;
use std::collections::BTreeSet;

const QUICK: &[&str] = &[
    "--rw",
    "randread",
    "--slice",
    "100ms",
    "--min-time",
    "1s",
    "--budget",
    "20s",
    "--visits",
    "1",
    "--matched-rate",
    "off",
    "--lab",
    "drive_size=512MiB",
];

fn can_be_lab() -> bool {
    can_run(&["qemu-system-x86_64"])
        && can("the lab's image: iotax lab build", root_image(&crate::lab::parts().kernel).is_ok())
}

/// Runs the stacks in a lab, where there can be one. Every one of them has figures, nothing failed,
/// and nothing of the run is left.
fn measured(stacks: &[&str], more: &[&str]) -> Option<(Rig, Value)> {
    if !can_be_lab() {
        return None;
    }
    let rig = Rig::new();
    let report = rig.json(&[&["run"], stacks, QUICK, more].concat());
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(
            row["iops"]["value"].as_f64().is_some_and(|iops| iops > 0.0) && row["errors"] == 0,
            "{row}"
        );
    }
    let text = report.to_string();
    assert!(text.contains("emulated"), "{text}");
    assert_eq!(traces(&rig.runs()), [""; 0]);
    let lacking: Vec<Value> =
        rig.records("warning").into_iter().filter(|warning| warning["kind"] == "clean").collect();
    assert_eq!(lacking, [Value::Null; 0]);
    Some((rig, report))
}

fn rows(report: &Value) -> usize {
    report["workloads"][0]["rows"].as_array().unwrap().len()
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn raid_is_measured_healthy_failed_and_rebuilding_with_its_state_read_behind_every_slice() {
    let _alone = alone();
    let stacks = [
        "each([nvme0,nvme1,nvme2]) @lab",
        "[nvme0,nvme1,nvme2] @lab | mdraid(level=5,chunk=64KiB,sync-speed-max=4MiB,\
         group-thread-cnt=2,stripe-cache-size=1024)",
    ];
    let Some((rig, report)) =
        measured(&stacks, &["--states", "healthy,failed(1),rebuilding,healthy"])
    else {
        return;
    };
    assert_eq!(rows(&report), 5, "the drives, and the array in four states: {report}");
    let slices = rig.records("slice");
    let told: Vec<&str> = slices.iter().filter_map(|slice| slice["state"].as_str()).collect();
    let kinds: BTreeSet<&str> = told.iter().map(|state| state.split(',').next().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["degraded", "healthy", "rebuilding"]), "{told:?}");
    assert!(slices.len() > told.len(), "the bare drives have no state");
    let arrays = rig.records("volume");
    let md = &arrays[0]["device"]["md"];
    assert_eq!((&md["group_thread_cnt"], &md["stripe_cache_size"]), (&"2".into(), &"1024".into()));
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn two_arrays_are_loaded_at_once_and_each_loses_a_member() {
    let _alone = alone();
    let array = "mdraid(level=1,size=64MiB)";
    let stacks = [
        &format!("[nvme0,nvme1] @lab | {array}"),
        &format!("each([[nvme0,nvme1],[nvme2,nvme3]]) @lab | {array}"),
    ];
    let Some((rig, report)) =
        measured(&stacks.map(String::as_str), &["--states", "healthy,failed(1)"])
    else {
        return;
    };
    let targets: Vec<usize> = report["workloads"][0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["targets"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(targets, [0, 0, 2, 2], "one array, and two, in two states each: {report}");
    let arrays: Vec<Value> =
        rig.records("volume").into_iter().map(|layer| layer["stacks"].clone()).collect();
    assert_eq!(arrays.len(), 3, "each array is read back: {arrays:?}");
    let degraded =
        |slice: &Value| slice["state"].as_str().is_some_and(|state| state.contains("1 missing"));
    assert!(rig.records("slice").iter().any(degraded));
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn volumes_are_measured_against_their_drives() {
    let _alone = alone();
    let stacks = [
        "each([nvme0,nvme1]) @lab",
        "[nvme0,nvme1] @lab | mdraid(level=0,chunk=64KiB)",
        "[nvme0,nvme1] @lab | lvm(striped)",
        "[nvme0,nvme1] @lab | lvm(thin)",
        "[nvme0,nvme1] @lab | lvm(striped) | fs(xfs)",
        "[nvme0,nvme1] @lab | bcache(writeback)",
        "[nvme0,nvme1] @lab | zfs(stripe,compression=lz4,size=64MiB)",
        "[nvme0,nvme1] @lab | zfs(stripe,dedup=on,size=64MiB)",
    ];
    let Some((_rig, report)) = measured(&stacks, &[]) else { return };
    assert_eq!(rows(&report), stacks.len(), "{report}");
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn a_lab_and_this_host_load_together() {
    let _alone = alone();
    let files = Rig::new();
    let both = format!("each([nvme0 @lab,{}])", files.file("here.img", 64));
    let Some((rig, report)) = measured(&["nvme0 @lab", &both], &[]) else { return };
    let crowd = &report["workloads"][0]["crowds"][0];
    assert!(crowd["sentence"].as_str().unwrap().contains("2 hosts and labs at once"), "{crowd}");
    let slices = rig.records("slice");
    let together: Vec<&Value> =
        slices.iter().filter(|slice| !slice["together"].is_null()).collect();
    assert!(!together.is_empty());
    for slice in together {
        assert!(slice["together"].as_f64().unwrap() > 0.9, "{slice}");
        // What the lab computes is in this host's CPU time, and counted once.
        assert_eq!(slice["cpu"], slice["host_cpu"], "{slice}");
        assert!(slice["device_read_bytes"].is_null(), "{slice}");
    }
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn fabrics_are_measured_against_their_drive() {
    let _alone = alone();
    let exports = ["nvmf(tcp)", "nvmf(rdma)", "iscsi(tcp)", "iscsi(iser)", "nbd"];
    let exports: Vec<String> =
        exports.iter().map(|export| format!("nvme0 @lab | {export}")).collect();
    let stacks: Vec<&str> =
        ["nvme0 @lab"].into_iter().chain(exports.iter().map(String::as_str)).collect();
    let Some((_rig, report)) = measured(&stacks, &[]) else { return };
    assert_eq!(rows(&report), stacks.len(), "{report}");
    assert!(
        report.to_string().contains("RDMA by software"),
        "RDMA without a card is told: {report}"
    );
}

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn the_matrix_of_backends_and_fabrics_is_printed_as_it_was_published() {
    let _alone = alone();
    if !can_be_lab() {
        return;
    }
    let rig = Rig::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/e4-backends-fabrics.toml");
    // Small drives and one visit: this is about the way through all of it.
    let text = std::fs::read_to_string(path).unwrap();
    let small_drives = text.replace("drive_size = \"256MiB\"", "drive_size = \"128MiB\"");
    assert_ne!(text, small_drives);
    let scenario = rig.path("e4.toml");
    std::fs::write(&scenario, small_drives).unwrap();
    let small = ["--visits", "1", "--budget", "8s", "--slice", "50ms", "--matched-rate", "off"];
    let text = rig.expect(0, &[&["run", "-v", scenario.to_str().unwrap()][..], &small].concat());
    assert!(text.contains("EMULATED: figures of lab"), "{text}");
    for words in [
        "iSER: iops",
        "NVMe-oF: iops",
        "in % of LVM",
        "4k-80random-50read",
        "of LVM",
        "published",
        "ZFS dedup",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let report = rig.expect(0, &["report", "last", "--format", "json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    assert_eq!(workloads.len(), 5);
    for row in workloads.iter().flat_map(|workload| workload["rows"].as_array().unwrap()) {
        assert!(
            row["iops"]["value"].as_f64().is_some_and(|iops| iops > 0.0) && row["errors"] == 0,
            "{row}"
        );
    }
    assert_eq!(traces(&rig.runs()), [""; 0]);
}
