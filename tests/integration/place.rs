//! Other places for real: a guest that boots and is measured in, a host over a real sshd.

use crate::rig::{Rig, can_boot, holes, process_of, says, signal, traces, wait, words};
use crate::sshd::{OTHER, Sshd};
use rustix::process::{Signal, kill_process};
use std::process::Stdio;

const QUICK: &[&str] = &["--slice", "50ms", "--min-time", "1s", "--budget", "4s"];
/// For tests that ask for no figure.
const QUICKER: &[&str] = &["--slice", "20ms", "--min-time", "200ms", "--budget", "1s"];

#[test]
fn a_guest_boots_and_is_measured_against_its_file() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 128);
    let guest = format!("{file} | vm(memory=256MiB, iothread=true, num-queues=2)");
    let report = rig.json(&[&["run", &file, &guest], QUICK].concat());
    let text = report.to_string();
    let rows = &report["workloads"][0]["rows"];
    for row in [&rows[0], &rows[1]] {
        assert!(row["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0), "{text}");
    }
    // Without a KVM that works every figure of the guest is labelled and none is a headline.
    if rows[1]["emulated"].is_string() {
        assert!(report["headline"].is_null(), "{text}");
        assert!(!report["emulated"].as_array().unwrap().is_empty(), "{text}");
    }
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(!rig.path("x.img").exists());
}

#[test]
fn qemu_that_dies_in_the_middle_is_told_and_nothing_is_left() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let guest = format!("{file} | vm(memory=256MiB)");
    let child = rig.spawn(&["run", &file, &guest, "--min-time", "60s", "--budget", "60s"]);
    wait(|| rig.slices() > 0, 120, "the first slice");
    let qemu = process_of("qemu-system", rig.path("").to_str().unwrap()).expect("a QEMU");
    kill_process(qemu, Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("guest vm"), "{}", words(&output));
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(!rig.path("x.img").exists());
    rig.expect(0, &["report", "last"]);
}

/// The file was kept by a run of iotax on that host, and one there has it next.
#[test]
fn a_file_that_was_trimmed_over_ssh_is_filled_anew_by_the_next_run_there() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let path = rig.path("x.img");
    let kept = rig.file("x.img", 64) + ",keep=true";
    let holes = || holes(&path) >> 20;
    rig.json(&[&["run", &kept], QUICKER].concat());
    assert_eq!(holes(), 0);
    let there = format!("ssh:elsewhere:{}", path.display());
    let trims = [&["run", &there, "--rw", "randtrim", "--bs", "1MiB"], QUICKER].concat();
    let output = rig.command(&trims).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(holes() > 0, "{}", words(&output));
    rig.json(&[&["run", &kept], QUICKER].concat());
    assert_eq!(holes(), 0, "{}", words(&output));
}

#[test]
fn a_file_with_a_size_is_created_on_another_host_and_kept_only_if_asked() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let path = rig.path("there.img");
    let there = format!("ssh:elsewhere:{},size=64MiB", path.display());
    let run = |stack: &str, rw: &str| {
        let args = [&["run", stack, "--rw", rw], QUICKER].concat();
        rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap()
    };
    let succeeds = |stack: &str, rw: &str| {
        let output = run(stack, rw);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    };
    succeeds(&there, "randrw");
    assert!(!path.exists(), "removed after the run");
    let kept = format!("{there},keep=true");
    succeeds(&kept, "randwrite");
    assert_eq!((path.metadata().unwrap().len(), holes(&path)), ((64 << 20) + 4096, 0));
    let inode = std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    succeeds(&there, "randread");
    assert_eq!(
        std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap()),
        inode,
        "reused, not removed"
    );
    let larger = run(&there.replace("64MiB", "128MiB"), "randread");
    assert_eq!(larger.status.code(), Some(2), "{}", words(&larger));
    says(&words(&larger), &["with a size of 64 MiB, not 128 MiB"]);
    std::fs::write(&path, vec![7u8; 64 << 20]).unwrap();
    let theirs = run(&there, "randread");
    assert_eq!(theirs.status.code(), Some(2), "{}", words(&theirs));
    says(&words(&theirs), &["not a file of iotax", "to only read this file, leave size= out"]);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7u8; 64 << 20]);
    let absent = run(&format!("ssh:elsewhere:{}", rig.path("absent.img").display()), "randread");
    assert_eq!(absent.status.code(), Some(2), "{}", words(&absent));
    says(&words(&absent), &["absent.img does not exist on elsewhere", "add size=4GiB"]);
    let plan = rig.command(&["plan", "-v", &there]).output().unwrap();
    says(&words(&plan), &["@ssh:elsewhere: create", "@ssh:elsewhere: fill"]);
}

#[test]
fn clean_removes_the_file_that_a_killed_run_created_on_another_host() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let path = rig.path("there.img");
    let there = format!("ssh:elsewhere:{},size=64MiB", path.display());
    let long = ["run", &there, "--min-time", "60s", "--budget", "60s"];
    let mut command = rig.command(&long);
    command.env("IOTAX_SSH_CONFIG", &sshd.config).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait(|| rig.slices() > 0, 60, "the first slice");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(path.exists());
    let cleaned = rig.command(&["clean"]).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
    assert!(words(&cleaned).contains("there.img") && !path.exists(), "{}", words(&cleaned));
}

#[test]
fn two_names_of_one_host_are_refused() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let config = std::fs::read_to_string(&sshd.config).unwrap();
    std::fs::write(&sshd.config, config.replace("Host elsewhere\n", "Host elsewhere alias\n"))
        .unwrap();
    let on = |host: &str| {
        let path = rig.path(&format!("{host}.img"));
        std::fs::write(&path, vec![7u8; 16 << 20]).unwrap();
        format!("ssh:{host}:{}", path.display())
    };
    let both = format!("each([{},{}])", on("elsewhere"), on("alias"));
    let args = [&["run", &both], QUICKER].concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    says(
        &words(&output),
        &["ssh:alias is the same machine as ssh:elsewhere", "hint: use one name"],
    );
}

#[test]
fn two_hosts_load_together_and_are_held_against_one() {
    let rig = Rig::new();
    let Some(mut sshd) = Sshd::start(&rig, None) else { return };
    sshd.serve_other();
    let on = |host: &str| {
        let path = rig.path(&format!("{host}.img"));
        std::fs::write(&path, vec![7u8; 64 << 20]).unwrap();
        format!("ssh:{host}:{}", path.display())
    };
    let (one, other) = (on("elsewhere"), on(OTHER));
    let both = format!("each([{one},{other}])");
    let args = [&["run", &one, &both], QUICK, &["--format", "json"]].concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let crowd = &report["workloads"][0]["crowds"][0];
    assert_eq!((&crowd["stack"], &crowd["places"]), (&"each of 2".into(), &2.into()), "{report}");
    assert!(crowd["sentence"].as_str().unwrap().contains("2 hosts at once"), "{crowd}");
    assert_eq!(crowd["scaling"]["places"], 2.0, "{crowd}");
    let slices = rig.records("slice");
    let together: Vec<_> = slices.iter().filter(|slice| slice["stack"] == "each of 2").collect();
    assert!(!together.is_empty());
    for slice in together {
        let [first, second] = slice["parts"].as_array().unwrap().as_slice() else {
            panic!("{slice}")
        };
        assert_eq!(
            (&first["place"], &second["place"]),
            (&"ssh:elsewhere".into(), &"ssh:other".into())
        );
        let ios = |part: &serde_json::Value| part["ios"].as_u64().unwrap();
        let read = slice["samples"]
            .as_array()
            .unwrap()
            .iter()
            .find(|sample| sample["metric"] == "read.ios");
        assert_eq!(
            read.unwrap()["value"].as_f64().unwrap() as u64,
            ios(first) + ios(second),
            "{slice}"
        );
        assert!(
            ios(first) > 0 && ios(second) > 0 && slice["together"].as_f64().unwrap() > 0.9,
            "{slice}"
        );
    }
    // Each host reads as much of its own file as one alone does.
    let workers = rig.records("worker");
    assert!(workers.iter().all(|worker| worker["bytes"] == 64 << 20), "{workers:?}");
}

#[test]
fn programs_of_a_described_engine_are_asked_for_on_the_host_where_it_runs() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let kept = rig.file("x.img", 64) + ",keep=true";
    rig.json(&[&["run", &kept], QUICKER].concat());
    let there = format!("ssh:elsewhere:{}", rig.path("x.img").display());
    let text = format!(
        "[tool.array]\nunwritten = false\npath = \"/dev/{{name}}\"\n\
         make = [[\"/nowhere/arrayctl\", \"create\", \"{{name}}\", \"{{members}}\"]]\n\
         undo = [[\"no-such-engine-cli\", \"delete\", \"{{name}}\"]]\n\
         find = [[\"true\", \"{{name}}\"]]\n\
         [stack.bare]\ntext = \"{there} | loop\"\n[stack.by-tool]\ntext = \"{there} | loop | array\"\n\
         [[workload]]\nrw = \"randread\"\n"
    );
    let scenario = rig.path("tools.toml");
    std::fs::write(&scenario, text).unwrap();
    let args = ["run", scenario.to_str().unwrap()];
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    says(
        &said,
        &[
            "missing on ssh:elsewhere",
            "no-such-engine-cli is not installed: for [tool.array], which runs it; hint: ",
            "there is no /nowhere/arrayctl: for [tool.array], which runs it; hint: ",
        ],
    );
    assert!(!said.contains("true is not installed"), "{said}");
}

#[test]
fn this_host_and_others_load_together() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let path = rig.path("there.img");
    std::fs::write(&path, vec![7u8; 64 << 20]).unwrap();
    let (here, there) = (rig.file("here.img", 64), format!("ssh:elsewhere:{}", path.display()));
    let both = format!("each([{here},{there}])");
    let run =
        |args: &[&str]| rig.command(args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    let plan = words(&run(&["plan", "-v", &both]));
    let targets = [
        format!("{} on host, ", rig.path("here.img").display()),
        format!("{} on ssh:elsewhere at once", path.display()),
    ];
    says(&plan, &targets.each_ref().map(String::as_str));
    let output = run(&[&["run", &here, &both], QUICK, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let crowd = &report["workloads"][0]["crowds"][0];
    assert!(crowd["sentence"].as_str().unwrap().contains("2 hosts at once"), "{crowd}");
    assert_eq!(
        (&crowd["scaling"]["against"], &crowd["scaling"]["places"]),
        (&"file".into(), &2.0.into())
    );
    for (row, place) in crowd["rows"].as_array().unwrap().iter().zip(["host", "ssh:elsewhere"]) {
        assert_eq!(row["place"], place, "{crowd}");
        for figure in ["iops", "of_mean", "p99"] {
            assert!(
                row[figure]["value"].as_f64().is_some_and(|value| value > 0.0),
                "{figure}: {row}"
            );
        }
    }
    for slice in rig.records("slice").iter().filter(|slice| slice["stack"] == "each of 2") {
        assert!(
            slice["together"].as_f64().unwrap() > 0.9
                && slice["parts"].as_array().unwrap().len() == 2
        );
    }
    assert!(
        !rig.path("here.img").exists() && path.exists(),
        "what the run made is removed, theirs is kept"
    );
    let shown = words(&run(&["report", "last", "-v"]));
    assert!(shown.contains("Places of each of 2") && shown.contains("ssh:elsewhere "), "{shown}");

    // Writes go to both: to our own file here, and there only with a consent, which a file cannot
    // have.
    let refused = run(&[&["run", &both, "--rw", "randwrite"], QUICK].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    assert!(!rig.path("here.img").exists() && std::fs::read(&path).unwrap() == vec![7u8; 64 << 20]);
}

#[test]
fn a_host_that_is_lost_in_the_middle_is_reached_again_and_one_that_stays_lost_is_left_out_by_name()
{
    let rig = Rig::new();
    let Some(mut sshd) = Sshd::start(&rig, None) else { return };
    sshd.serve_other();
    sshd.serve_apart("third");
    let on = |host: &str| {
        let path = rig.path(&format!("{host}.img"));
        std::fs::write(&path, vec![7u8; 16 << 20]).unwrap();
        format!("ssh:{host}:{}", path.display())
    };
    let all = ["elsewhere", OTHER, "third"].map(on);
    let several = format!("each([{}])", all.join(","));
    let args = [
        "run",
        &all[0],
        &several,
        "--slice",
        "20ms",
        "--min-time",
        "300s",
        "--budget",
        "300s",
        "--format",
        "json",
    ];
    let mut command = rig.command(&args);
    let child =
        command.env("IOTAX_SSH_CONFIG", &sshd.config).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    wait(|| rig.slices() > 12, 120, "slices of all");
    sshd.end_agents(OTHER);
    // The last line of the record may be half written.
    let reached_again = || rig.index().contains(r#""kind":"lost_place","subject":"ssh:other""#);
    wait(reached_again, 60, "the loss of an agent in the record");
    let before = rig.slices();
    wait(|| rig.slices() > before + 8, 120, "slices of all again");
    sshd.cut("third");
    let of = |hosts: usize| {
        let is_of = |line: &&str| {
            line.contains(r#""stack":"each of 3""#)
                && line.matches(r#"{"place":"ssh:"#).count() == hosts
        };
        rig.index().lines().filter(is_of).count()
    };
    wait(|| of(2) > of(3) + 4, 200, "more slices of two than of three");
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    // What was copied to it is still there.
    assert_eq!(output.status.code(), Some(5), "{}", words(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot remove the agent's copy on third"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let crowd = &report["workloads"][0]["crowds"][0];
    assert_eq!(
        (&crowd["places"], &crowd["left_out"][0]),
        (&2.into(), &"ssh:third".into()),
        "{crowd}"
    );
    let sentence = report["workloads"][0]["comparisons"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains(" without ssh:third, which was lost"), "{sentence}");
    let places: Vec<usize> = rig
        .records("slice")
        .iter()
        .filter(|slice| slice["stack"] == "each of 3")
        .map(|slice| slice["parts"].as_array().unwrap().len())
        .collect();
    let first_without = places.iter().position(|places| *places == 2).unwrap();
    assert!(places[..first_without].iter().all(|places| *places == 3), "{places:?}");
    assert!(places[first_without..].iter().all(|places| *places == 2), "{places:?}");
    // When it is back, what is left there is removed.
    sshd.serve_apart("third");
    let cleaned = rig
        .command(&["clean", &rig.last_id()])
        .env("IOTAX_SSH_CONFIG", &sshd.config)
        .output()
        .unwrap();
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
}

#[test]
fn a_host_over_ssh_is_measured_against_this_one() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let theirs = rig.path("elsewhere.img");
    std::fs::write(&theirs, vec![7u8; 64 << 20]).unwrap();
    let (here, there) =
        (format!("file:{}", theirs.display()), format!("ssh:elsewhere:{}", theirs.display()));
    let args = [&["run", &here, &there], QUICK, &["--format", "json"]].concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let workload = &report["workloads"][0];
    assert_eq!(workload["rows"][1]["place"], "ssh:elsewhere", "{report}");
    for row in workload["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0), "{report}");
    }
    assert!(
        workload["comparisons"][0]["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0),
        "{report}"
    );
    let left: Vec<_> =
        std::fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.file_name()).collect();
    let run = rig.last_id();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(&run)), "{left:?}");
}
