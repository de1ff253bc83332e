//! `each([a,b])`: the same load on two files at once, against one of them.

use crate::rig::{Rig, can_run, flat, says, words};
use serde_json::Value;

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "1s", "--budget", "3s"];

/// `each([..])` of two files of the rig, and the first of them.
fn two(rig: &Rig) -> (String, String) {
    let (one, other) = (rig.file("a.img", 32), rig.file("b.img", 64));
    (format!("each([{one},{other}])"), one)
}

/// Of all slices but the warm-up, which ends on time whatever is written.
fn samples(rig: &Rig, stack: &str, metric: &str) -> Vec<f64> {
    let ours = |slice: &Value| slice["stack"] == stack && slice["purpose"] != "warm_up";
    let of_stack = rig.records("slice").into_iter().filter(ours);
    let samples = of_stack.flat_map(|slice| slice["samples"].as_array().unwrap().clone());
    let wanted = samples.filter(|sample| sample["metric"] == metric);
    wanted.map(|sample| sample["value"].as_f64().unwrap()).collect()
}

#[test]
fn two_files_are_read_at_once_and_compared_with_one() {
    let rig = Rig::new();
    let (each, one) = two(&rig);
    let report = rig.json(&[&["run", &each, &one][..], QUICK].concat());
    let rows = &report["workloads"][0]["rows"];
    assert_eq!((&rows[0]["stack"], &rows[0]["text"]), (&"each of 2".into(), &Value::from(each)));
    assert!(rows[0]["iops"]["value"].as_f64().unwrap() > 0.0 && rows[0]["errors"] == 0, "{report}");
    let note = report["warnings"].to_string();
    assert!(note.contains("runs on all 2 members at once, so 2 times the depth"), "{note}");
    let workers = rig.records("worker");
    let path = |name: &str| Value::from(rig.path(name).to_str().unwrap());
    assert_eq!(workers.len(), 4, "two at the stated depth, two at the matched rate");
    assert_eq!(
        (&workers[0]["target"], &workers[0]["others"]),
        (&path("a.img"), &vec![path("b.img")].into())
    );
    assert_eq!((&workers[1]["target"], &workers[1]["others"]), (&path("a.img"), &Value::Null));
    assert_eq!(workers[0]["bytes"], 32 << 20, "of each as much as the smallest has");
    assert!(!rig.path("a.img").exists() && !rig.path("b.img").exists(), "made and removed");
}

#[test]
fn writes_go_in_equal_parts_to_both_and_are_flushed() {
    let rig = Rig::new();
    let (each, one) = two(&rig);
    let load = ["--rw", "randwrite", "--bs", "4k", "--iodepth", "2"];
    let report = rig.json(&[&["run", &each, &one][..], &load, QUICK].concat());
    assert!(
        report["workloads"][0]["rows"][0]["durable_bytes_per_s"]["value"].as_f64().unwrap() > 0.0
    );
    let bytes = samples(&rig, "each of 2", "write.bytes");
    // All slices are of equal bytes, and these are whole blocks for each member's thread.
    assert!(!bytes.is_empty() && bytes.iter().all(|slice| *slice == bytes[0]), "{bytes:?}");
    assert_eq!(
        (bytes[0] as u64 % (2 * 4096), samples(&rig, "file", "write.bytes")[0]),
        (0, bytes[0])
    );
    assert_eq!(samples(&rig, "each of 2", "flush").len(), bytes.len());
    assert!(!rig.path("a.img").exists() && !rig.path("b.img").exists());
}

#[test]
fn fio_gets_a_section_for_each_member() {
    if !can_run(&["fio"]) {
        return;
    }
    let rig = Rig::new();
    let (each, _) = two(&rig);
    rig.json(&[&["run", &each, "--engine", "fio"][..], QUICK].concat());
    let command = rig.records("worker")[0]["command"].to_string();
    for name in ["a.img", "b.img"] {
        assert!(command.contains(&format!("filename={}", rig.path(name).display())), "{command}");
    }
    let ios = samples(&rig, "each of 2", "read.ios");
    assert!(!ios.is_empty() && ios.iter().all(|ios| *ios > 0.0), "{ios:?}");
}

#[test]
fn the_plan_makes_every_member_once() {
    let rig = Rig::new();
    let (each, one) = two(&rig);
    let plan = flat(&rig.expect(0, &["plan", "-v", &each, &one]));
    let [a, b] = ["a.img", "b.img"].map(|name| rig.path(name).display().to_string());
    assert!(
        plan.contains(&format!("measure each of 2: load on host, targets {a}, {b} at once")),
        "{plan}"
    );
    assert!(plan.contains(&format!("measure file: load on host, target {a} ")), "{plan}");
    for path in [&a, &b] {
        assert_eq!(plan.matches(&format!("create {path} ")).count(), 1, "{plan}");
    }
    assert!(!rig.path("a.img").exists());
}

#[test]
fn one_member_that_is_not_ours_keeps_all_from_being_written() {
    let rig = Rig::new();
    let path = rig.path("theirs.img");
    let content = vec![7u8; 32 << 20];
    std::fs::write(&path, &content).unwrap();
    let each = format!("each([{},file:{}])", rig.file("a.img", 32), path.display());
    let words = rig.complaint(2, &["run", &each, "--rw", "randwrite"]);
    assert!(words.contains("theirs.img") && words.contains("not a file of iotax"), "{words}");
    assert!(std::fs::read(&path).unwrap() == content && !rig.path("a.img").exists());
    assert!(rig.run_dirs().is_empty());
}

#[test]
fn what_cannot_be_loaded_at_once_is_refused_with_the_member() {
    let rig = Rig::new();
    let refused =
        |stacks: &[&str], parts: &[&str]| rig.complains(2, &[&["run"], stacks].concat(), parts);
    let (each, one) = two(&rig);
    refused(&[&format!("{each} | loop")], &["measured bare", "\"loop\"", "hint"]);
    refused(
        &[&format!("[{one},ssh:vm7:/dev/vda] | linear")],
        &["vm7:/dev/vda", "on ssh:vm7", "joined", "hint"],
    );
    let here_and_there = format!("each([{one},ssh:vm7:/dev/vda])");
    for layer in ["loop", "vm", "split(2)"] {
        let stack = format!("{here_and_there} | {layer}");
        refused(
            &[&stack],
            &["in several places (host, ssh:vm7)", "can only be set up in one place", "hint"],
        );
    }
    refused(
        &[&format!("each([{one},file:/no/such.img])")],
        &["/no/such.img does not exist", "size="],
    );
    std::fs::write(rig.path("real.img"), vec![1; 1 << 20]).unwrap();
    std::os::unix::fs::symlink(rig.path("real.img"), rig.path("alias.img")).unwrap();
    let twice = format!(
        "each([file:{},file:{}])",
        rig.path("real.img").display(),
        rig.path("alias.img").display()
    );
    refused(&[&twice], &["real.img", "alias.img", "are the same", "hint"]);
    let sibling = rig.file("a.img.2", 32);
    let output = rig.iotax(&[
        "plan",
        &format!("each([{one},{sibling}])"),
        &format!("{one} | loop(direct-io=false)"),
    ]);
    says(&words(&output), &["a.img.2 is needed as an equal file of", "hint"]);
    assert!(rig.run_dirs().is_empty() && !rig.path("a.img").exists());
}
