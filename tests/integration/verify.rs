//! `verify`: what a load wrote is read back through a stack; a stack that gives back something else
//! is the first thing a report says.

use crate::rig::{Rig, can_boot, can_loop, flat};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const QUICK: &[&str] = &[
    "--rw",
    "randrw",
    "--iodepth",
    "8",
    "--verify",
    "1",
    "--slice",
    "20ms",
    "--min-time",
    "1s",
    "--budget",
    "3s",
];

fn found(report: &Value, stack: &str) -> Value {
    let rows = report["verification"]["rows"].as_array().unwrap().clone();
    rows.into_iter().find(|row| row["stack"] == stack).unwrap()
}

#[test]
fn what_was_written_is_read_back_through_every_stack() {
    let rig = Rig::new();
    let file = rig.file("x.img", 16);
    let mut stacks = vec![file.clone(), format!("{file} | delay(us=20)")];
    if can_loop() {
        stacks.push(format!("{file} | loop"));
    }
    let mut args: Vec<&str> = vec!["run"];
    args.extend(stacks.iter().map(String::as_str));
    let report = rig.json(&[&args[..], QUICK].concat());
    let rows = report["verification"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), stacks.len(), "{report}");
    for row in rows {
        assert!(
            row["back"]["blocks"].as_u64().unwrap() > 100
                && row["load"]["blocks"].as_u64().unwrap() > 0,
            "{row}"
        );
        assert!(row["sentence"].as_str().unwrap().contains("all as last written"), "{row}");
        assert_eq!(row["not_read"], 0);
    }
    let verified = rig.records("verified");
    let told: BTreeSet<String> =
        verified.iter().map(|record| record["stack"].to_string()).collect();
    assert_eq!(told.len(), stacks.len(), "{verified:?}");
}

/// Somebody who writes into the file below for as long as the load lasts; past the page cache, as
/// the load: where both ways meet, the kernel answers the load's fsync with EIO.
fn spoiled(path: PathBuf, over: &AtomicBool) {
    let zeros = vec![0; (64 << 10) + 4096];
    let zeros = &zeros[zeros.as_ptr().align_offset(4096)..][..64 << 10];
    while !over.load(Ordering::Relaxed) {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        if let Ok(file) = File::options().write(true).custom_flags(direct).open(&path) {
            // It may be gone by now.
            let _ = file.write_all_at(zeros, 64 << 10);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_that_somebody_else_writes_to_is_caught_in_every_form_of_the_report() {
    let rig = Rig::new();
    let (file, over) = (rig.file("x.img", 8), AtomicBool::new(false));
    let path = rig.path("x.img");
    let text = thread::scope(|scope| {
        scope.spawn(|| spoiled(path, &over));
        let output = rig.iotax(&[&["run", &file][..], QUICK].concat());
        over.store(true, Ordering::Relaxed);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    assert!(text.lines().count() <= 25, "{text}");
    let text = flat(&text);
    let alarm = "WRONG DATA from file: of ";
    assert!(
        text.contains(alarm) && text.contains("FOREIGN (never written by this load)"),
        "{text}"
    );
    let whole = flat(&rig.expect(0, &["report", "last", "-v"]));
    assert!(whole.contains(alarm) && whole.contains("and there is sector 0: zeros"), "{whole}");
    let before = |text: &str, what: &str| text.find(alarm) < text.find(what);
    assert!(before(&text, "mix at iodepth 8"), "{text}");
    for form in ["markdown", "html", "json"] {
        let said = flat(&rig.expect(0, &["report", "last", "--format", form]));
        assert!(said.contains(alarm), "{form}: {said}");
    }
    let csv = rig.expect(0, &["report", "last", "--format", "csv"]);
    let wrong = csv.lines().find(|line| line.contains("read back: blocks foreign")).unwrap();
    assert!(!wrong.contains(",known,0,"), "{wrong}");
    let report = rig.json(&["report", "last"]);
    assert!(report["headline"].as_str().unwrap().starts_with(alarm));
    assert!(found(&report, "file")["back"]["foreign"].as_u64().unwrap() > 0);
}

#[test]
fn what_guests_wrote_is_read_back_in_them() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 16);
    let (one, two) = (
        format!("{file} | vm(memory=256MiB,vcpus=1)"),
        format!("{file} | vm(memory=256MiB,vcpus=1) x2"),
    );
    let quick = [
        "--rw",
        "randrw",
        "--iodepth",
        "4",
        "--verify",
        "1",
        "--slice",
        "100ms",
        "--min-time",
        "2s",
        "--budget",
        "8s",
    ];
    let report = rig.json(&[&["run", &one, &two][..], &quick, &["--matched-rate", "off"]].concat());
    for stack in ["vm", "vm x2"] {
        let row = found(&report, stack);
        assert!(row["back"]["blocks"].as_u64().unwrap() > 20 && row["not_read"] == 0, "{row}");
        assert!(row["sentence"].as_str().unwrap().contains("all as last written"), "{row}");
    }
    let places = |stack: &str| {
        let of = |record: &Value| (record["stack"] == stack).then(|| record["place"].to_string());
        rig.records("verified").iter().filter_map(of).collect::<BTreeSet<String>>().len()
    };
    assert_eq!((places("vm"), places("vm x2")), (1, 2), "each guest reads what it wrote");
}
