//! Disks of guests that are qcow2 images: what is read was written before, chains are as deep as
//! asked for, and parts of one file are written by several guests at once.

use crate::rig::{Rig, can_loop, can_run, disks, traces};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const QUICK: &[&str] =
    &["--slice", "100ms", "--min-time", "2s", "--budget", "6s", "--matched-rate", "off"];
const GUEST: &str = "memory=256MiB,vcpus=1";
const MIB: u64 = 1 << 20;

fn can_boot() -> bool {
    can_run(&["qemu-system-x86_64", "qemu-storage-daemon", "qemu-img"])
}

fn report(rig: &Rig, stacks: &[&str], rw: &str) -> Value {
    rig.json(&[&["run"], stacks, &["--rw", rw], QUICK].concat())
}

fn disk(report: &Value, stack: &str) -> Value {
    let found = disks(report).into_iter().find(|disk| disk["stack"] == stack);
    found.unwrap_or_else(|| panic!("{stack}: {report}"))
}

/// What qemu-img says of the image at the start of a file of 64 MiB; `None`: there is none.
fn of_image(file: &Path, command: &str) -> Option<Value> {
    if !std::fs::read(file).unwrap().starts_with(b"QFI\xfb") {
        return None;
    }
    let node = format!(
        "driver=qcow2,file.driver=raw,file.offset=0,file.size={},file.file.driver=file,file.file.filename={}",
        64 * MIB,
        file.display()
    );
    let output = Command::new("qemu-img")
        .args([command, "--output=json", "--image-opts", &node])
        .output()
        .unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Bytes before `end` that lie somewhere in the image's file.
fn mapped(map: &Value, end: u64) -> u64 {
    let parts =
        map.as_array().unwrap().iter().filter(|part| part["data"] == true && part["zero"] == false);
    let within = |part: &Value| {
        let start = number(&part["start"]);
        (start + number(&part["length"])).min(end).saturating_sub(start)
    };
    parts.map(within).sum()
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn what_is_read_of_an_image_was_written_before() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = format!("{},keep=true", rig.file("x.img", 64));
    let vm = |options: &str| format!("{file} | vm({options}{GUEST})");
    let stacks = [vm(""), vm("format=qcow2,"), vm("format=qcow2,backing=2,")];
    let report = report(&rig, &[&stacks[0], &stacks[1], &stacks[2]], "randread");
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    let [thin, chain] = ["format=qcow2", "format=qcow2,backing=2"]
        .map(|options| disk(&report, &format!("vm {options}")));
    for (disk, below) in [(thin, "0"), (chain, "2")] {
        assert_eq!(
            (&disk["qemu"]["format"], &disk["qemu"]["backing"]),
            (&"qcow2".into(), &below.into())
        );
        assert_eq!(disk["differs"], Value::Array(Vec::new()));
    }
    let warnings = report["warnings"].as_array().unwrap();
    let of = |kind: &str| warnings.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("first_writes").len(), 1, "{warnings:?}");
    assert_eq!(of("cached"), Vec::<&Value>::new(), "reads come to the device");
    // Every stack was on every file once; the last image of each is still there.
    let mut images = 0;
    for name in ["x.img", "x.img.2", "x.img.3"] {
        let file = rig.path(name);
        let (Some(map), Some(check)) = (of_image(&file, "map"), of_image(&file, "check")) else {
            continue;
        };
        images += 1;
        assert_eq!(
            (&check["check-errors"], check.get("leaks")),
            (&Value::from(0), None),
            "{check}"
        );
        // The chain is the shortest of the compared.
        assert_eq!(mapped(&map, 61 * MIB), 61 * MIB, "{name}: {map}");
    }
    assert_eq!(images, 3);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
#[ignore = "minutes of boots; ./check --lab runs it by name"]
fn several_guests_write_their_parts_of_one_file() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let below = if can_loop() { " | loop" } else { "" };
    let raw = format!("{file} | vm({GUEST}) x2");
    let images = format!("{file}{below} | vm(format=qcow2,first-writes=random,{GUEST}) x2");
    let report = report(&rig, &[&raw, &images], "randwrite");
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    assert!(!rig.path("x.img").exists() && !rig.path("x.img.2").exists());
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}
