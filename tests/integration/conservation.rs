//! I/O that is issued reaches the disk: mkfs leaves no holes below a stack, discarded ranges are
//! rewritten, and reads that do no I/O give no verdict.

use crate::rig::{Rig, beside, can_boot, can_loop, can_run};
use iotax_host::guard::fill::unwritten_ranges;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Returns the unwritten ranges of a file's data; `None` if its file system does not report them.
fn unwritten(file: &Path, mib: u64) -> Option<Vec<Range<u64>>> {
    let ranges = unwritten_ranges(file, mib * MIB);
    ranges.inspect_err(|error| println!("skipped: needs FIEMAP in /var/tmp ({error})")).ok()
}

/// Returns the bytes read from the lowest devices of a place, divided by the bytes that the newest
/// run issued to a stack.
fn share_read(rig: &Rig, stack: &str, place: &str) -> f64 {
    let records = rig.records("device_traffic");
    let record =
        records.iter().find(|one| one["stack"] == stack).unwrap_or_else(|| panic!("{records:?}"));
    let mut places = record["places"].as_array().unwrap().iter();
    let place = places.find(|one| one["place"] == place).unwrap_or_else(|| panic!("{record}"));
    let devices = place["seen"]["devices"].as_array().unwrap().iter();
    let lowest = devices.filter(|device| device["lowest"] == true);
    let bytes = |value: &Value| value["read_bytes"].as_f64().unwrap();
    lowest.map(bytes).sum::<f64>() / bytes(&record["issued"])
}

const SHORT: [&str; 8] = ["--budget", "2s", "--min-time", "1s", "--slice", "50ms", "--bs", "4k"];

#[test]
fn mkfs_leaves_no_unwritten_extents_in_the_file_of_the_baseline() {
    let _machine = beside();
    if !can_loop() {
        return;
    }
    for kind in ["xfs", "ext4", "btrfs"] {
        if !can_run(&[&format!("mkfs.{kind}")]) {
            continue;
        }
        let rig = Rig::new();
        let path = rig.path("x.img");
        let file = format!("{},keep=true", rig.file("x.img", 512));
        let stacks =
            [file.clone(), format!("{file} | loop"), format!("{file} | loop | fs({kind})")];
        let args: Vec<&str> = stacks.iter().map(String::as_str).chain(SHORT).collect();
        rig.expect(0, &[&["run"], args.as_slice()].concat());
        let Some(ranges) = unwritten(&path, 512) else { return };
        assert_eq!(ranges, [], "mkfs.{kind} has zeroed without writing");
        for stack in ["file", "loop"] {
            let share = share_read(&rig, stack, "host");
            assert!(share > 0.99, "{kind}: {stack} read {share} of what it issued");
        }
    }
}

#[test]
fn what_was_discarded_in_a_kept_file_is_written_before_the_next_run() {
    let _machine = beside();
    let rig = Rig::new();
    let path = rig.path("x.img");
    let file = format!("{},keep=true", rig.file("x.img", 64));
    let delayed = format!("{file} | delay(us=50)");
    let args = [&["run", &file, &delayed], SHORT.as_slice()].concat();
    rig.expect(0, &args);
    if unwritten(&path, 64).is_none() {
        return;
    }
    let punched = Command::new("fallocate")
        .args(["--punch-hole", "--offset", "8MiB", "--length", "16MiB"])
        .arg(&path)
        .status()
        .unwrap();
    assert!(punched.success());
    assert_eq!(unwritten(&path, 64), Some(std::iter::once(8 * MIB..24 * MIB).collect()));
    rig.expect(0, &args);
    assert_eq!(unwritten(&path, 64), Some(vec![]));
    assert!(share_read(&rig, "file", "host") > 0.99);
}

#[test]
fn when_quiet_reads_of_holes_leave_no_verdict() {
    // What other tests read of the same device would stand for what was not read.
    let _machine = crate::rig::alone();
    let rig = Rig::new();
    let path = rig.path("theirs.img");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(64 * MIB).unwrap();
    std::fs::write(rig.path("half"), vec![7; 32 << 20]).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &std::fs::read(rig.path("half")).unwrap(), 0)
        .unwrap();
    file.sync_all().unwrap();
    if unwritten(&path, 64).is_none() {
        return;
    }
    let theirs = format!("file:{}", path.display());
    let found = rig
        .json(&[&["run", &theirs, &format!("{theirs} | delay(us=50)")], SHORT.as_slice()].concat());
    assert_eq!(found["headline"], Value::Null, "{found}");
    let verdict = &found["workloads"][0]["comparisons"][0]["verdict"];
    let words = verdict.to_string();
    assert!(
        words.contains("did no I/O") && words.contains("holes or unwritten extents"),
        "{verdict}"
    );
    let warnings = rig.records("warning");
    let told = warnings
        .iter()
        .find(|one| one["kind"] == "unwritten")
        .unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(told["text"].as_str().unwrap().starts_with("32 MiB of "), "{told}");
}

#[test]
fn when_quiet_a_guest_takes_turns_with_the_host_and_its_reads_are_counted_on_both_sides() {
    let _machine = beside();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let path = rig.path("x.img");
    let file = format!("{},keep=true", rig.file("x.img", 512));
    let stacks = [file.clone(), format!("{file} | vm(vcpus=1)")];
    let args: Vec<&str> =
        stacks.iter().map(String::as_str).chain(["--budget", "6s", "--bs", "4k"]).collect();
    rig.expect(0, &[&["run"], args.as_slice()].concat());
    let Some(ranges) = unwritten(&path, 512) else { return };
    assert_eq!(ranges, []);
    let records = rig.records("device_traffic");
    let of_guest =
        records.iter().find(|one| one["stack"] != "file").unwrap_or_else(|| panic!("{records:?}"));
    let stack = of_guest["stack"].as_str().unwrap();
    let places: Vec<&str> = of_guest["places"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|place| place["place"].as_str())
        .collect();
    let [guest, "host"] = places[..] else { panic!("{of_guest}") };
    for place in [guest, "host"] {
        let share = share_read(&rig, stack, place);
        assert!(share > 0.97, "{place} read {share} of what was issued");
    }
    let series = rig.records("series");
    assert!(
        series.len() > 4 && series.iter().all(|one| one["stacks"] == json!(["file", stack])),
        "{series:?}"
    );
    let slices: Vec<Value> = rig
        .records("slice")
        .into_iter()
        .filter(|one| one["short_slices"].as_u64() > Some(0))
        .collect();
    let told = |stack: &str, key: &str| {
        slices.iter().filter(|one| one["stack"] == stack).all(|one| one[key].is_object())
    };
    assert!(
        told(stack, "host_cpu") && !told("file", "host_cpu"),
        "what QEMU computes is the guest's: {slices:?}"
    );
}
