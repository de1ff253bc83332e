//! Durability trials for real: a disk that lies is caught, honest ones are not accused, and
//! whatever ends a run in the midst of a trial leaves nothing behind.

use crate::crash::killed_everywhere;
use crate::rig::{Rig, can_boot, can_serve, flat, signal, traces, words};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// The rows of the report, after a run that ended with that code.
fn rows(rig: &Rig, code: i32, args: &[&str]) -> Vec<Value> {
    let report = rig.json_of(code, args);
    assert!(
        report["not_excluded"].to_string().contains("a power cut or a crash of this host"),
        "{report}"
    );
    report["durability"]["rows"].as_array().unwrap().clone()
}

/// Stack, what was killed, blocks, kept, lost.
fn told(row: &Value) -> (&str, &str, u64, u64, u64) {
    let number = |name: &str| row[name].as_u64().unwrap();
    let word = |name: &str| row[name].as_str().unwrap();
    assert_eq!(number("torn") + number("under_way_torn") + number("unreadable"), 0, "{row}");
    (word("stack"), word("kill"), number("blocks"), number("kept"), number("lost"))
}

fn kept_all(row: &Value) {
    let (_, _, blocks, kept, _) = told(row);
    assert!(blocks > 0 && kept == blocks, "{row}");
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn an_overlay_that_goes_with_qemu_is_caught_and_a_plain_disk_keeps_everything() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let guest = format!("{} | vm(snapshot=[off,on],memory=256MiB,vcpus=1)", rig.file("x.img", 64));
    let rows =
        rows(&rig, 1, &["run", "--durability=trials=1,min_load=200ms,max_load=500ms", &guest]);
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let (stack, killed, blocks, kept, lost) = told(row);
        assert!(blocks > 0 && row["acknowledged"].as_u64() >= Some(blocks), "{row}");
        // The overlay lives as long as its QEMU: a guest that was only reset finds everything.
        let is_lost = stack.ends_with("snapshot=on") && killed == "qemu";
        assert_eq!((kept, lost), if is_lost { (0, blocks) } else { (blocks, 0) }, "{row}");
        assert_eq!(row["lossy"], u64::from(is_lost));
    }
    let report = rig.expect(0, &["report", "last"]);
    assert!(report.contains("acknowledged blocks") && report.contains("LOST"), "{report}");
    assert!(!rig.path("x.img").exists());
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
#[ignore = "minutes of boots; ./check --lab runs it by name"]
fn what_serves_the_disk_is_killed_too_and_a_file_system_below_stays() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let served =
        format!("{} | vm(attach=vhost-user-blk,memory=256MiB,vcpus=1)", rig.file("y.img", 64));
    let on_xfs = rig
        .loop_and_xfs()
        .map(|below| format!("{below} | vm(memory=256MiB,vcpus=1,cache=writeback)"));
    let found =
        rows(&rig, 0, &["run", "--durability=trials=1,min_load=100ms,max_load=300ms", &served]);
    let killed: Vec<&str> = found.iter().map(|row| told(row).1).collect();
    assert_eq!(killed, ["guest", "qemu", "daemon"]);
    let on_xfs = on_xfs.map(|stack| {
        rows(
            &rig,
            0,
            &["run", "--durability=trials=1,kill=qemu,min_load=100ms,max_load=300ms", &stack],
        )
    });
    found.iter().chain(on_xfs.iter().flatten()).for_each(kept_all);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
#[ignore = "minutes of boots; ./check --lab runs it by name"]
fn a_chain_of_images_is_the_same_one_in_every_trial() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    // Refcounts that are not written are made again by the QEMU that opens the image next.
    let chain =
        "format=qcow2,backing=1,lazy-refcounts=true,cache=[none,writeback],memory=256MiB,vcpus=1";
    let guest = format!("{} | vm({chain})", rig.file("x.img", 64));
    let rows =
        rows(&rig, 0, &["run", "--durability=trials=2,min_load=100ms,max_load=500ms", &guest]);
    assert_eq!(rows.len(), 4);
    rows.iter().for_each(kept_all);
    assert!(!rig.path("x.img").exists());
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

/// A run that is in the midst of its first load, which would last ten minutes.
fn in_the_midst_of_a_trial(rig: &Rig) -> Child {
    let guest = format!("{} | vm(memory=256MiB,vcpus=1)", rig.file("x.img", 64));
    let args = ["run", "--durability=trials=1,min_load=10min,max_load=10min", &guest];
    let mut run = rig.command(&args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("trying") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the run ended before its first trial");
    }
    // Somebody must read what it says until its end.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    std::thread::sleep(std::time::Duration::from_secs(2));
    run
}

#[test]
#[ignore = "minutes of boots; ./check --lab runs it by name"]
fn ctrl_c_and_kill_9_in_the_midst_of_a_trial_leave_nothing_that_clean_does_not_find() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let mut run = in_the_midst_of_a_trial(&rig);
    signal(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(4));
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(!rig.path("x.img").exists());
    assert!(rig.complaint(2, &["resume", &rig.last_id()]).contains("cannot be resumed"));

    let mut run = in_the_midst_of_a_trial(&rig);
    signal(&run, Signal::KILL);
    assert_eq!(run.wait().unwrap().code(), None);
    let cleaned = rig.iotax(&["clean"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(!rig.path("x.img").exists());
}

#[test]
#[ignore = "boots a guest at every record of its journal: ./check --lab runs it by name"]
fn killed_at_every_record_between_a_kill_and_the_next_boot() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let guest = format!("{} | vm(memory=256MiB,vcpus=1)", rig.file("x.img", 64));
    let args = ["run", "--durability=trials=1,kill=qemu,min_load=50ms,max_load=100ms", &guest];
    // Intent and done of file, fill, initramfs and QEMU; the two latter undone and made once more;
    // all undone.
    killed_everywhere(&rig, &args, 14, &|_| ());
}

#[test]
fn what_could_show_nothing_is_refused_before_anything_is_made() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let bare = rig.complaint(2, &["run", "--durability", &file]);
    assert!(bare.contains("no guest on top that could be killed"), "{bare}");
    let load =
        rig.complaint(2, &["plan", "--durability", "--rw", "randread", &format!("{file} | vm")]);
    assert!(load.contains("have a load of their own"), "{load}");
    assert!(!rig.path("x.img").exists());
    if !can_boot() {
        return;
    }
    let guest = format!("{file} | vm(snapshot=on)");
    let small = rig.complaint(2, &["run", "--durability", "--max-written", "65MiB", &guest]);
    assert!(small.contains("less than a batch for each of 40 trials"), "{small}");
    let plan = flat(&rig.expect(0, &["plan", "-v", "--commands", "--durability=trials=3", &guest]));
    assert!(plan.contains("durability of vm: 3 trials each: the guest; QEMU"), "{plan}");
    assert!(plan.contains("time: 6 kills, each after 1.50 s of load on average"), "{plan}");
    assert!(plan.contains("snapshot=on,driver=raw,node-name=disk0-below"), "{plan}");
}
