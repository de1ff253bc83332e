//! What others do to a run while it measures: its process is stopped for a while, its folder is
//! removed.

use crate::rig::{Rig, alone, beside, can_loop, flat, loops, signal, words};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use std::process::Child;
use std::time::{Duration, Instant};

/// Waits until it is so; a failure after a minute.
fn wait_for(child: &mut Child, what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it ended with {status} before {what}");
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn when_quiet_a_stop_of_iotax_itself_leaves_out_the_slices_that_it_overlaps() {
    let _machine = alone();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let delayed = format!("{file} | delay(us=50)");
    let args =
        ["run", "-v", &file, &delayed, "--slice", "1s", "--min-time", "8s", "--budget", "8s"];
    let mut run = rig.spawn(&args);
    wait_for(&mut run, "four slices are measured", || rig.slices() >= 4);
    // In the middle of the next.
    std::thread::sleep(Duration::from_millis(400));
    signal(&run, Signal::STOP);
    let from = monotonic_ns() + 50_000_000;
    std::thread::sleep(Duration::from_secs(3));
    let to = monotonic_ns();
    signal(&run, Signal::CONT);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let told = flat(&words(&output));
    // To a tenth of a second.
    let known = ["2.9", "3."].map(|seconds| format!("iotax itself was stopped for {seconds}"));
    assert!(known.iter().any(|known| told.contains(known)), "{told}");
    let warnings = rig.records("warning");
    let stopped: Vec<_> = warnings.iter().filter(|warning| warning["kind"] == "stopped").collect();
    assert!(!stopped.is_empty(), "{warnings:?}");
    for warning in &stopped {
        let stack = warning["subject"].as_str().unwrap();
        assert!(["file", "delay(us=50)"].contains(&stack), "{warning}");
        assert!(warning["text"].as_str().unwrap().contains(" of visit 0 under "), "{warning}");
    }
    let overlaps = |slice: &serde_json::Value| {
        let [start, window] = ["start_ns", "window_ns"].map(|key| slice[key].as_u64().unwrap());
        start < to && start + window > from
    };
    let slices = rig.records("slice");
    assert!(slices.iter().any(|slice| slice["start_ns"].as_u64().unwrap() > to), "it went on");
    assert_eq!(slices.iter().find(|slice| overlaps(slice)), None);
}

#[test]
fn a_run_whose_folder_is_removed_ends_and_takes_everything_down() {
    let _machine = beside();
    if !can_loop() {
        return;
    }
    for all_runs in [false, true] {
        let rig = Rig::new();
        let file = rig.file("x.img", 64);
        let args =
            ["run", &file, &format!("{file} | loop"), "--min-time", "60s", "--budget", "60s"];
        let mut run = rig.spawn(&args);
        wait_for(&mut run, "ten slices are measured", || rig.slices() >= 10);
        assert_eq!(loops(&rig.path("")).len(), 1);
        let removed = if all_runs { rig.runs() } else { rig.run_dirs().pop().unwrap() };
        std::fs::remove_dir_all(&removed).unwrap();
        let began = Instant::now();
        let output = run.wait_with_output().unwrap();
        // It would go on for a minute.
        assert!(began.elapsed() < Duration::from_secs(30), "{}", words(&output));
        assert_eq!(output.status.code(), Some(4), "{}", words(&output));
        let told = flat(&words(&output));
        assert!(
            told.contains("was removed while the run went on, and with it all that was measured"),
            "{told}"
        );
        assert!(
            told.contains("all that it had set up was removed") && !told.contains("resume"),
            "{told}"
        );
        assert_eq!(loops(&rig.path("")), [""; 0]);
        assert!(!rig.path("x.img").exists() && !removed.exists());
    }
}
