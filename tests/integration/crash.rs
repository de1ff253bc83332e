//! kill -9 before and after every journal record, then `clean`: nothing of the run is left and what
//! was not ours is untouched.

use crate::rig::{Rig, can_boot, can_serve, traces, words};
use std::path::Path;

/// What a folder holds, apart from the runs.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Kills a run behind each record, and before it where an act came since the record before: an
/// intent is written before its act. Cleans after each, and has it looked at what is left
/// elsewhere, until one run gets through alive.
pub fn killed_everywhere(rig: &Rig, args: &[&str], least_records: usize, look: &dyn Fn(&str)) {
    killed_at_each(1, rig, args, least_records, look);
}

/// The same at each so manieth record: what `./check` has time for. The long suite kills at all of
/// them.
pub fn killed_at_each(
    every: usize,
    rig: &Rig,
    args: &[&str],
    least_records: usize,
    look: &dyn Fn(&str),
) {
    let folder = rig.path("");
    std::fs::write(rig.path("theirs.txt"), "precious").unwrap();
    let before = contents(&folder);
    for record in (0..).step_by(every) {
        let mut is_intent = false;
        for side in ["after", "before"] {
            if side == "before" && is_intent {
                continue;
            }
            let output = rig
                .command(args)
                .env("IOTAX_CRASH_AT", format!("{record}:{side}"))
                .output()
                .unwrap();
            let survived = output.status.code().is_some();
            assert!(
                !survived || record >= least_records,
                "only {record} records\n{}",
                words(&output)
            );
            if survived {
                assert_eq!(output.status.code(), Some(0), "{}", words(&output));
                return look("nowhere");
            }
            let journal =
                std::fs::read_to_string(rig.run_dirs().pop().unwrap().join("journal.jsonl"))
                    .unwrap();
            is_intent =
                journal.lines().last().is_some_and(|line| line.contains(r#""entry":"intent""#));
            let cleaned = rig.iotax(&["clean"]);
            assert_eq!(
                cleaned.status.code(),
                Some(0),
                "killed {side} record {record}: {}",
                words(&cleaned)
            );
            assert_eq!(traces(&folder), Vec::<String>::new(), "killed {side} record {record}");
            assert!(contents(&folder) == before, "killed {side} record {record}: files differ");
            look(&format!("{side} record {record}"));
            let again = rig.expect(0, &["clean"]);
            assert!(again.contains("nothing to clean"), "{again}");
        }
    }
}

/// Kills a run in the middle of what some steps do: when their intent is on disk, when they are
/// done and nothing says so, and when they are undone and nothing says so. A run that gets through
/// alive shows which records these are.
pub fn killed_around(rig: &Rig, args: &[&str], is_one: &dyn Fn(&str) -> bool, look: &dyn Fn(&str)) {
    rig.expect(0, args);
    let journal =
        std::fs::read_to_string(rig.run_dirs().pop().unwrap().join("journal.jsonl")).unwrap();
    let entry = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["rec"].clone()
    };
    let is_chosen = |line: &&str| is_one(line) && entry(line)["entry"] == "intent";
    let chosen: Vec<u64> = journal
        .lines()
        .filter(is_chosen)
        .map(|line| entry(line)["seq"].as_u64().unwrap())
        .collect();
    let mut kills = 0;
    for (record, line) in journal.lines().enumerate() {
        let entry = entry(line);
        if !chosen.contains(&entry["seq"].as_u64().unwrap()) {
            continue;
        }
        let side = if entry["entry"] == "intent" { "after" } else { "before" };
        rig.killed_at(&format!("{record}:{side}"), args);
        let cleaned = rig.iotax(&["clean"]);
        assert_eq!(
            cleaned.status.code(),
            Some(0),
            "killed {side} record {record}: {}",
            words(&cleaned)
        );
        look(&format!("killed {side} record {record}: {line}"));
        assert!(
            rig.expect(0, &["clean"]).contains("nothing to clean"),
            "killed {side} record {record}"
        );
        kills += 1;
    }
    assert!(!chosen.is_empty() && kills > 2 * chosen.len(), "intent, done and undone\n{journal}");
}

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms"];

#[test]
fn of_a_loop_and_a_file_system() {
    kill_a_loop_and_a_file_system(5);
}

#[test]
#[ignore = "kills at every record: ./check --lab runs it by name"]
fn of_a_loop_and_a_file_system_at_every_record() {
    kill_a_loop_and_a_file_system(1);
}

fn kill_a_loop_and_a_file_system(every: usize) {
    let rig = Rig::new();
    let Some(stack) = rig.loop_and_xfs() else { return };
    let args = [&["run", "--bill", &stack], QUICK].concat();
    // Intent and done of nine steps: file, fill, loop, mkfs, directory, mount, file, fill; and
    // their undoing.
    killed_at_each(every, &rig, &args, 20, &|_| ());
}

#[test]
fn of_a_guest() {
    kill_a_guest(4);
}

#[test]
#[ignore = "boots a guest at every record of its journal: ./check --lab runs it by name"]
fn of_a_guest_at_every_record() {
    kill_a_guest(1);
}

fn kill_a_guest(every: usize) {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let stack = format!("{file} | vm(memory=256MiB)");
    let args = [&["run", &file, &stack], QUICK].concat();
    killed_at_each(every, &rig, &args, 8, &|_| ());
}

#[test]
#[ignore = "boots a guest at every record of its journal: ./check --lab runs it by name"]
fn of_a_guest_whose_disk_is_served_beside_it() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let stack = format!("{file} | vm(memory=256MiB,attach=vhost-user-blk) x2");
    let args = [&["run", &file, &stack], QUICK].concat();
    // Intent and done of file, fill, and of a daemon, an initramfs and QEMU twice; and their
    // undoing.
    killed_everywhere(&rig, &args, 16, &|_| ());
}

#[test]
#[ignore = "boots a guest at many records of its journal: ./check --lab runs it by name"]
fn of_a_guest_on_a_chain_of_images() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let stack = format!("{file} | vm(memory=256MiB,vcpus=1,format=qcow2,backing=1)");
    let args = [&["run", &file, &stack], QUICK].concat();
    // Intent and done of file, fill, two images, an initramfs and QEMU; and their undoing.
    killed_everywhere(&rig, &args, 18, &|_| ());
}

#[test]
fn the_journal_names_the_boot_and_clean_removes_the_file() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args = [&["run", &file], QUICK].concat();
    rig.killed_at("3:after", &args);
    let journal = rig.run_dirs()[0].join("journal.jsonl");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(std::fs::read_to_string(&journal).unwrap().contains(boot.trim()));
    rig.expect(0, &["clean"]);
    assert!(!rig.path("x.img").exists());
}

#[test]
fn resume_goes_on_after_a_kill() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let null = format!("{file} | null");
    let args = [&["run", &file, &null], QUICK].concat();
    rig.killed_at("4:before", &args);
    let run = rig.run_dirs()[0].clone();
    let listed = rig.expect(0, &["list"]);
    assert!(listed.contains("killed"), "{listed}");
    rig.expect(0, &["resume", run.to_str().unwrap()]);
    assert!(rig.expect(0, &["list"]).contains("complete"));
    assert!(rig.run_dirs() == [run] && rig.slices() > 0, "the same run has figures");
    assert!(!rig.path("x.img").exists());
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}
