//! The main job as a whole: files, delays, loops, writes, fio, interrupts.

use crate::rig::{
    Rig, can, can_loop, can_run, flat, holes, is_root, says, signal, traces, wait, words,
};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "2s", "--budget", "6s"];
/// For tests that ask no more of a figure than that there is one.
const QUICKER: &[&str] = &["--slice", "20ms", "--min-time", "200ms", "--budget", "1s"];

#[test]
fn when_quiet_a_known_delay_is_found_on_a_file() {
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let report =
        rig.json(&[&["run", &file, &format!("{file} | delay(percent=25)")], QUICK].concat());
    let ratio = &report["workloads"][0]["comparisons"][0]["ratio"];
    let found = ratio["value"].as_f64().unwrap_or_else(|| panic!("{report}"));
    // 25 % more time an I/O is 80 % of the rate; the bounds are wide since the machine is shared.
    assert!((0.6..0.95).contains(&found), "{report}");
    assert!(!rig.path("x.img").exists());
}

#[test]
fn the_read_ahead_of_a_loop_device_is_set_and_read_back() {
    if !can_loop() {
        return;
    }
    let rig = Rig::new();
    let stack = format!("{} | loop | readahead(4MiB)", rig.file("x.img", 64));
    rig.json(&[&["run", &stack, "--rw", "read", "--direct", "0"], QUICKER].concat());
    let text = rig.expect(0, &["report", &rig.last_id(), "-v"]);
    says(&text, &["readahead of host: read_ahead_kb 4096"]);
}

const MIB: u64 = 1 << 20;

#[test]
fn a_kept_file_that_was_trimmed_is_filled_anew_by_the_next_run() {
    let rig = Rig::new();
    let path = rig.path("x.img");
    let kept = rig.file("x.img", 64) + ",keep=true";
    rig.json(&[&["run", &kept, "--rw", "randread"], QUICKER].concat());
    assert!(holes(&path) < MIB, "filled");
    // Without its size it is a file that is there, and no step makes or fills it.
    let there = format!("file:{}", path.display());
    let plan = rig.expect(0, &["plan", "-v", &there, "--rw", "randtrim"]);
    assert!(plan.contains("that it is not filled"), "{plan}");
    rig.json(&[&["run", &there, "--rw", "randtrim", "--bs", "1MiB"], QUICKER].concat());
    assert!(holes(&path) > MIB, "trimmed: {}", holes(&path));
    rig.json(&[&["run", &kept, "--rw", "randread"], QUICKER].concat());
    assert!(holes(&path) < MIB, "{} of it were never written again", holes(&path));
}

#[test]
fn a_plan_says_that_a_kept_file_is_reused_and_writes_nothing_into_it() {
    let rig = Rig::new();
    let kept = rig.file("x.img", 64) + ",keep=true";
    let before = flat(&rig.expect(0, &["plan", "-v", &kept]));
    assert!(before.contains("1. create ") && before.contains("2. fill "), "{before}");
    assert!(before.contains("writing 64 MiB into files"), "{before}");
    rig.json(&[&["run", &kept], QUICKER].concat());
    let after = flat(&rig.expect(0, &["plan", "-v", &kept]));
    let reuse =
        format!("1. reuse {} (64 MiB, kept from an earlier run)", rig.path("x.img").display());
    assert!(after.contains(&reuse), "{after}");
    assert!(
        !after.contains("create ") && !after.contains("fill ") && !after.contains("writing "),
        "{after}"
    );
}

#[test]
fn the_budget_is_that_of_the_whole_run_and_its_first_line_says_how_long_it_takes() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let began = Instant::now();
    let bill =
        ["run", "--bill", &format!("{file} | delay(us=50)"), "--slice", "20ms", "--budget", "6s"];
    let output = rig.iotax(&bill);
    let took_s = began.elapsed().as_secs_f64();
    let said = words(&output);
    assert!(output.status.success(), "{said}");
    let first =
        String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
    assert!(
        first.starts_with("this run takes at most 7 s: 6 s of measuring, 1 s of setting up"),
        "{said}"
    );
    // Two loads, and latencies at a matched rate for the second; the rest is margin for a busy
    // machine.
    let windows = rig.records("slice");
    let measured_s: f64 = windows.iter().map(|one| one["window_ns"].as_f64().unwrap() / 1e9).sum();
    assert!(measured_s > 2.0, "{measured_s}");
    assert!(measured_s < 6.5, "{measured_s} s of slices in {took_s} s");
}

#[test]
fn the_bill_of_a_file_system_on_a_loop_device() {
    let rig = Rig::new();
    let Some(stack) = rig.loop_and_xfs() else { return };
    let report = rig.json(&[&["run", "--bill", &stack], QUICKER].concat());
    let bill = &report["workloads"][0]["bill"];
    let layers: Vec<&str> = bill["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["layer"].as_str().unwrap())
        .collect();
    assert_eq!(layers, ["loop", "fs(xfs)"], "{report}");
    assert!(bill["unexplained"].is_object() && bill["total"].is_object(), "{report}");
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn writes_get_equal_files_and_two_figures() {
    if !can_loop() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args = ["run", &file, &format!("{file} | loop"), "--rw", "randwrite"];
    let report = rig.json(&[&args[..], QUICKER].concat());
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        for figure in ["iops", "durable_bytes_per_s"] {
            assert!(
                row[figure]["value"].as_f64().is_some_and(|value| value > 0.0),
                "{figure}: {row}"
            );
        }
    }
    let journal = std::fs::read_to_string(rig.run_dirs()[0].join("journal.jsonl")).unwrap();
    let steps = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["rec"]["step"].clone());
    let made: Vec<Value> =
        steps.map(|step| step["op"].clone()).filter(|op| op["op"] == "make_file").collect();
    let path = |name: &str| rig.path(name).to_str().unwrap().to_owned();
    let equal = [path("x.img"), path("x.img.2")];
    assert_eq!(made.iter().map(|op| op["path"].as_str().unwrap()).collect::<Vec<_>>(), equal);
    assert!(made.iter().all(|op| op["bytes"] == 64 * MIB), "{made:?}");
    // Each stack is on each of them once.
    let workers = rig.records("worker");
    let bare = workers.iter().filter(|worker| worker["stack"] == "file");
    let targets: BTreeSet<&str> = bare.map(|worker| worker["target"].as_str().unwrap()).collect();
    assert_eq!(targets, equal.iter().map(String::as_str).collect());
    let loops = journal.lines().filter(|line| line.contains("\"op\":\"attach_loop\""));
    let backing: Vec<bool> =
        loops.map(|line| line.contains(&format!("{{\"path\":\"{}\"}}", equal[1]))).collect();
    assert_eq!(backing, [true, false], "{journal}");
}

#[test]
fn every_engine_measures_the_same_file() {
    let rig = Rig::new();
    std::fs::write(rig.path("x.img"), vec![7; 16 << 20]).unwrap();
    let path = rig.path("x.img").to_str().unwrap().to_owned();
    // The null engine does no I/O, and is given the file like the others.
    let own = iotax_load::engine::ALL.iter().map(|kind| kind.word);
    for engine in own.chain(can_run(&["fio"]).then_some("fio")) {
        let args = [
            "run",
            &format!("file:{path}"),
            "--engine",
            engine,
            "--iodepth",
            "1",
            "--slice",
            "200ms",
        ];
        let report = rig.json(&[&args[..], &QUICKER[2..]].concat());
        let row = &report["workloads"][0]["rows"][0];
        assert!(
            row["engine"].as_str().is_some_and(|words| words.starts_with(engine)),
            "{engine}: {report}"
        );
        assert!(
            row["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0),
            "{engine}: {report}"
        );
        let workers = rig.records("worker");
        assert!(
            !workers.is_empty() && workers.iter().all(|worker| worker["target"] == path),
            "{workers:?}"
        );
    }
}

#[test]
fn ctrl_c_takes_down_and_keeps_what_was_measured() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let long = ["--slice", "50ms", "--min-time", "60s", "--budget", "60s"];
    let child = rig.spawn(&[&["run", &file, &format!("{file} | null")][..], &long].concat());
    // On a busy machine a slice of 50 ms may complete nothing.
    wait(|| rig.index().matches("\"round\":9,").count() > 0, 60, "a tenth round");
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(" resume "), "{}", words(&output));
    assert!(!rig.path("x.img").exists());
    assert!(rig.expect(0, &["list"]).contains("interrupted"));
    let report = rig.json(&["report", "last"]);
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().is_some_and(|iops| iops > 0.0), "{report}");
    }
    for format in ["terminal", "markdown", "html", "json", "csv"] {
        let text = rig.expect(0, &["report", "last", "--format", format]);
        assert!(text.contains(&rig.last_id()), "{format}: {text}");
        // A sheet has figures only.
        assert!(format == "csv" || text.contains("interrupted"), "{format}: {text}");
    }
    let short = rig.expect(0, &["report", "last"]);
    assert!(
        short.lines().count() <= 25
            && short.contains(" report ")
            && flat(&short).contains(" -v (all)"),
        "{short}"
    );
    let whole = rig.expect(0, &["report", "last", "--verbose"]);
    assert!(!short.contains("  Stacks\n") && whole.contains("\n  Stacks\n"), "{whole}");
    rig.expect(0, &["report", "last", "-o", "whole.txt"]);
    assert_eq!(std::fs::read_to_string(rig.path("whole.txt")).unwrap(), whole, "a file has all");
}

/// The figures of a metric in a run's record, added up.
fn recorded(rig: &Rig, metric: &str) -> f64 {
    let slices = rig.records("slice");
    let samples = slices.iter().flat_map(|slice| slice["samples"].as_array().unwrap());
    samples.filter(|one| one["metric"] == metric).map(|one| one["value"].as_f64().unwrap()).sum()
}

#[test]
fn no_more_is_written_than_is_allowed_fills_and_all_workloads_together() {
    let rig = Rig::new();
    let scenario = rig.path("two.toml");
    let text = format!(
        "max_written = \"512MiB\"\n[measure]\nmin_time = \"60s\"\nbudget = \"120s\"\nslice = \"100ms\"\n\
         [stack.file]\ntext = \"{0},keep=true\"\n[stack.null]\ntext = \"{0} | null\"\n\
         [[workload]]\nrw = \"randwrite\"\nbs = \"64KiB\"\n[[workload]]\nrw = \"write\"\nbs = \"64KiB\"\n",
        rig.file("x.img", 64)
    );
    std::fs::write(&scenario, text).unwrap();
    let report = rig.json(&["run", scenario.to_str().unwrap()]);
    let written = recorded(&rig, "write.bytes");
    // 64 MiB of the 512 are the fill; warm-ups are written and not recorded.
    assert!(written > 0.0 && written <= 448.0 * 1024.0 * 1024.0, "{written}");
    for workload in report["workloads"].as_array().unwrap() {
        assert_eq!(workload["ended"], "max_written", "{report}");
    }
    assert!(rig.path("x.img").exists(), "kept, since one of the stacks says so");
}

/// A run with the longest slices there are, and the fio of the first. At depth 1 no trial comes
/// before it.
fn run_under_fio(rig: &Rig) -> Option<(std::process::Child, rustix::process::Pid)> {
    if !can_run(&["fio"]) {
        return None;
    }
    std::fs::create_dir(rig.path("tmp")).unwrap();
    let file = rig.file("x.img", 16);
    let args = ["run", &file, "--engine", "fio", "--iodepth", "1"];
    let long = ["--slice", "60s", "--min-time", "10m", "--budget", "20m"];
    let mut command = rig.command(&[&args[..], &long].concat());
    command.env("TMPDIR", rig.path("tmp")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    loop {
        if let Some(fio) = fio_of(run.id()) {
            return Some((run, fio));
        }
        if run.try_wait().unwrap().is_some() {
            panic!("it ended: {}", words(&run.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn fio_of(parent: u32) -> Option<rustix::process::Pid> {
    let is_ours = |pid: &i32| {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        read("status").contains(&format!("\nPPid:\t{parent}\n"))
            && read("cmdline").starts_with("fio\0--output")
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    let pid = names.filter_map(|name| name.to_str()?.parse().ok()).find(is_ours)?;
    rustix::process::Pid::from_raw(pid)
}

#[test]
fn ctrl_c_is_not_for_fio_and_a_slice_cut_short_is_no_failure() {
    use rustix::process::{getpgid, kill_process};
    let rig = Rig::new();
    let Some((run, fio)) = run_under_fio(&rig) else { return };
    assert_eq!(getpgid(Some(fio)).unwrap(), fio, "a terminal's Ctrl-C would reach it");
    signal(&run, Signal::INT);
    kill_process(fio, Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    let index = rig.index();
    assert!(
        index.contains(r#""reason":"interrupted""#) && !index.contains("fio failed"),
        "{index}"
    );
}

#[test]
fn a_killed_run_leaves_no_fio_and_no_file_of_it() {
    let rig = Rig::new();
    let Some((mut run, fio)) = run_under_fio(&rig) else { return };
    run.kill().unwrap();
    run.wait().unwrap();
    let gone = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", fio.as_raw_nonzero()));
        status.map_or(true, |text| text.contains("State:\tZ"))
    };
    // Left alone it would read for a minute.
    let ended = (0..1500).any(|_| {
        gone() || {
            std::thread::sleep(Duration::from_millis(20));
            false
        }
    });
    if !ended {
        rustix::process::kill_process(fio, Signal::KILL).unwrap();
    }
    assert!(ended, "fio outlives the run that started it");
    assert_eq!(std::fs::read_dir(rig.path("tmp")).unwrap().count(), 0);
    rig.expect(0, &["clean"]);
}

#[test]
fn plan_touches_nothing_and_says_what_is_missing() {
    let rig = Rig::new();
    let stack = format!("{} | loop | fs(ext4)", rig.file("x.img", 512));
    let output = rig.iotax(&["plan", "-v", "--bill", &stack]);
    let plan = flat(&words(&output));
    // Without root, loop devices or mkfs the plan is shown all the same.
    let unmet = plan.contains("missing on this machine");
    assert_eq!(output.status.code(), Some(if unmet { 3 } else { 0 }), "{plan}");
    for part in
        ["losetup", "irreversible: mkfs.ext4", "mount -t ext4", "undo all steps in reverse order"]
    {
        assert!(plan.contains(part), "{plan}");
    }
    assert!(!rig.path("x.img").exists() && rig.run_dirs().is_empty());
}

#[test]
fn a_consent_for_no_device_under_test_is_pointed_out() {
    let rig = Rig::new();
    let plan = flat(&rig.expect(0, &["plan", &rig.file("x.img", 64), "--destroy", "serial=TYPO"]));
    assert!(plan.contains("serial=TYPO: no device under test has that serial"), "{plan}");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let rig = Rig::new();
    let mut child = rig.spawn(&["plan", &rig.file("x.img", 64)]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", words(&output));
    assert_eq!(output.status.code(), Some(0));
}

/// Reads of a slice; none came to its end in the window of one that got no processor.
fn ios(slice: &Value) -> f64 {
    let is_ios = |one: &&Value| one["metric"] == "read.ios" || one["metric"] == "write.ios";
    let ios = slice["samples"].as_array().unwrap().iter().find(is_ios);
    ios.map_or(0.0, |ios| ios["value"].as_f64().unwrap())
}

fn window_ns(slice: &Value) -> f64 {
    slice["window_ns"].as_f64().unwrap()
}

#[test]
fn when_quiet_a_pilot_chooses_the_slices_and_latencies_get_a_rate_of_their_own() {
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    // Writes into a cache: all others take turns in slices whose length needs no pilot.
    let quick = ["--rw", "randwrite", "--min-time", "2s", "--budget", "40s", "--precision", "30%"];
    let cached = ["--write-cache", "1MiB"];
    let stacks = [file.clone(), format!("{file} | delay(percent=25)")];
    rig.json(&[&["run", &stacks[0], &stacks[1]], &quick[..], &cached].concat());
    let design = rig.records("design").pop().unwrap();
    let slices = rig.records("slice");
    let of =
        |purpose: &str| slices.iter().filter(|slice| slice["purpose"] == purpose).count() as u64;
    // A disk that is too slow for short slices has no pilot; the warm-up's last slice of each stack
    // tells.
    let slow = slices.iter().filter(|slice| slice["purpose"] == "warm_up").any(|slice| {
        slice["window_ns"].as_u64().unwrap() >= 1_000_000_000
            && 1e9 * ios(slice) < 2000.0 * window_ns(slice)
    });
    assert_eq!(design["pilot_slices"].as_u64().unwrap() > 10, !slow, "{design}");
    assert_eq!(of("pilot"), design["pilot_slices"].as_u64().unwrap());
    let length = design["slice_ns"].as_u64().unwrap();
    assert!((50_000_000..=1_000_000_000).contains(&length), "{design}");
    let plain = slices.iter().find(|slice| slice["purpose"].is_null()).unwrap();
    assert!(
        plain["window_ns"].as_u64().unwrap() > 0,
        "it ends on as many bytes as went in that time: {plain}"
    );
    // Four slices a round; how many rounds there is time for hangs on how long the pilot made them.
    assert!(of("matched") >= 4, "{}", of("matched"));
    let matched = rig.records("matched").pop().unwrap();
    assert_eq!(matched["slowest"], "delay(percent=25)");
    let offered = matched["rate_iops"].as_f64().unwrap();
    let matched = slices.iter().filter(|slice| slice["purpose"] == "matched");
    let rates = matched.map(|slice| ios(slice) / window_ns(slice) * 1e9);
    // On a busy machine slices fall behind the rate; none is ahead of it by more than what came
    // late.
    let mean = rates.clone().sum::<f64>() / rates.count() as f64;
    assert!(mean > 0.2 * offered && mean < 1.3 * offered, "{mean} of {offered}");
}

#[test]
fn writes_past_caches_take_turns_and_are_flushed_once_a_series() {
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let stacks = [file.clone(), format!("{file} | delay(percent=100)")];
    let quick =
        ["--rw", "randwrite", "--min-time", "2s", "--budget", "30s", "--matched-rate", "off"];
    let report = rig.json(&[&["run", &stacks[0], &stacks[1]], &quick[..]].concat());
    let design = rig.records("design").pop().unwrap();
    assert!(design["series"]["rounds"].as_u64().unwrap() > 0, "{design}");
    let slices = rig.records("slice");
    let in_series = slices.iter().filter(|slice| slice["short_slices"].as_u64().unwrap_or(0) > 0);
    let flushed = |slice: &&Value| {
        let samples = slice["samples"].as_array().unwrap();
        samples.iter().any(|sample| sample["metric"] == "flush" && sample["value"].is_f64())
    };
    assert!(in_series.clone().count() > 10 && in_series.clone().all(|slice| flushed(&slice)));
    // Acknowledged and durable: both rest on the series.
    let found = report["workloads"][0]["comparisons"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    for one in found {
        let cost = 1.0 - one["ratio"]["value"].as_f64().unwrap_or_else(|| panic!("{one}"));
        assert!((0.1..0.9).contains(&cost), "{one}");
    }
}

#[test]
fn reads_in_one_place_take_turns_and_their_latencies_are_those_of_one_at_a_time() {
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let stacks = [file.clone(), format!("{file} | delay(percent=100)")];
    let quick = ["--iodepth", "4", "--min-time", "2s", "--budget", "8s"];
    let report = rig.json(&[&["run", &stacks[0], &stacks[1]], &quick[..]].concat());
    let design = rig.records("design").pop().unwrap();
    assert!(design["series"]["rounds"].as_u64().unwrap() > 0, "{design}");
    let (slices, series) = (rig.records("slice"), rig.records("series"));
    let in_series = |purpose: &str| {
        let of = slices.iter().filter(|slice| slice["short_slices"].as_u64().unwrap_or(0) > 0);
        of.filter(|slice| slice["purpose"].as_str().unwrap_or("plain") == purpose).count()
    };
    assert!(in_series("plain") > 10 && in_series("matched") > 4, "{}", in_series("matched"));
    assert_eq!(
        series.len() * 2,
        ["pilot", "plain", "long", "matched"].map(in_series).iter().sum::<usize>()
    );
    assert_eq!(rig.records("matched").pop().unwrap()["rate_iops"], Value::Null);
    assert_eq!(rig.records("transient").len(), 4, "of each stack at depth 4 and at 1");
    // Held back as long again as each took.
    let found = &report["workloads"][0]["comparisons"][0];
    let cost = 1.0 - found["ratio"]["value"].as_f64().unwrap();
    assert!((0.3..0.9).contains(&cost), "{found}");
    let text = flat(&rig.expect(0, &["report", "last", "-v"]));
    says(
        &text,
        &["rounds in a series", "rate after a change of stack", "random reads at iodepth 1"],
    );
    let starts = report["workloads"][0]["design"]["starts"].as_array().unwrap();
    assert_eq!(
        (starts.len(), starts[0]["percent"].as_array().unwrap().len()),
        (2, 46),
        "{starts:?}"
    );
}

#[test]
fn a_folder_that_is_closed_to_somebody_is_told_and_nothing_counts_as_left() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if !can("root, to play somebody else", is_root()) {
        return;
    }
    let rig = Rig::new();
    let mode = |path: &Path, bits| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap()
    };
    mode(&rig.path(""), 0o755);
    std::fs::copy(crate::rig::program(), rig.path("iotax")).unwrap();
    for (name, owner) in [("runs", NOBODY), ("closed", 0)] {
        std::fs::create_dir_all(rig.path(name)).unwrap();
        chown(rig.path(name), Some(owner), Some(owner)).unwrap();
        mode(&rig.path(name), 0o700);
    }
    let as_nobody = |words: &[&str]| {
        let mut command = std::process::Command::new(rig.path("iotax"));
        command
            .arg("--runs")
            .arg(rig.path("runs"))
            .args(words)
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY);
        command.output().unwrap()
    };
    let target = format!("file:{},size=16MiB", rig.path("closed/x.img").display());
    let output = as_nobody(&["run", &target, "--budget", "2s"]);
    let told = words(&output);
    assert!(
        told.contains("Permission denied") && !told.contains("not everything was removed"),
        "{told}"
    );
    assert!(output.status.code() != Some(0) && output.status.code() != Some(5), "{told}");
    let cleaned = as_nobody(&["clean"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
}
