//! Service levels of real runs: exit codes, every form of the report, stored runs, and what is
//! refused.

use crate::rig::{Rig, flat, says};

#[test]
fn a_level_that_a_stack_breaks_is_a_finding_of_the_run() {
    let _beside = crate::rig::beside();
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    // However busy the machine is and however few slices it leaves, some reads of a file take less
    // than 100 s, and none takes less than 20 ms.
    let slow = format!("{file} | delay(us=20000)");
    let quick =
        ["--slice", "100ms", "--matched-rate", "off", "--min-time", "1s", "--budget", "15s"];
    let levels = ["--slo", "p99 < 10ms", "--slo", "read p5 < 100s"];
    let text = flat(&rig.expect(1, &[&["run", &file, &slow][..], &levels, &quick].concat()));
    let stack = format!("{file} | delay(us=20000)");
    says(
        &text,
        &["breaks read p99 < 10ms: ", "reads take longer, allowed 1 %", "keep read p5 < 100s"],
    );

    let found = rig.json(&["report", "last"]);
    let all = found["workloads"][0]["slo"].as_array().unwrap();
    let of = |stack: &str, level: &str| {
        all.iter()
            .find(|one| one["stack"] == *stack && one["level"] == *level)
            .unwrap_or_else(|| panic!("{all:?}"))
    };
    let names: Vec<&str> = all.iter().map(|one| one["stack"].as_str().unwrap()).collect();
    let slow_name = names
        .iter()
        .find(|name| name.contains("delay"))
        .unwrap_or_else(|| panic!("{stack}: {names:?}"));
    let broken = of(slow_name, "read p99 < 10ms");
    assert_eq!(
        (broken["verdict"].as_str(), broken["share"]["value"].as_f64()),
        (Some("broken"), Some(1.0))
    );
    assert_eq!(broken["beyond"], broken["share"]["n"], "{broken}");
    assert_eq!(of(slow_name, "read p5 < 100s")["verdict"], "kept");

    // A stored run is judged by other levels, and is no finding.
    let text = rig.expect(0, &["report", "last", "--format", "markdown", "--slo", "p50 < 1ns"]);
    says(&text, &["breaks read p50 \\< 1ns"]);
    let csv = rig.expect(0, &["report", "last", "--format", "csv"]);
    says(&csv, &["share of I/Os beyond read p99 < 10ms", "slo read p5 < 100s"]);

    let refused = |levels: &[&str], parts: &[&str]| {
        rig.complains(2, &[&["run", &file][..], levels].concat(), parts);
    };
    refused(&["--slo", "p99"], &["key \"slo\"", "\"p99\" is not a service level", "p99 < 500us"]);
    refused(&["--slo", "p99 < 5"], &["slo", "5"]);
    refused(&["--slo", "fdatasync p99 < 10ms"], &["no workload calls fdatasync", "fdatasync = 1"]);
    rig.complains(
        2,
        &["report", "last", "--slo", "write p99 < 1s"],
        &["--slo", "no workload has writes"],
    );
}

#[test]
fn flushes_keep_a_level_of_their_own() {
    let _beside = crate::rig::beside();
    let rig = Rig::new();
    // A few slices settle such levels, which a busy machine may leave: 95 of 100 may take longer.
    let scenario = rig.path("scenario.toml");
    let text = format!(
        "[stack.bare]\ntext = \"{}\"\n[[workload]]\nrw = \"randwrite\"\nfdatasync = 1\n[measure]\nslice = \"50ms\"\n\
         min_time = \"1s\"\nbudget = \"8s\"\nmatched_rate = \"off\"\nslo = [\"fdatasync p5 < 100s\", \"write p5 < 100s\"]\n",
        rig.file("x.img", 64)
    );
    std::fs::write(&scenario, text).unwrap();
    let found = rig.json(&["run", scenario.to_str().unwrap()]);
    let workload = &found["workloads"][0];
    let flush = &workload["rows"][0]["flush"];
    assert!(flush["p50"]["value"].as_f64().unwrap() > 0.0, "{flush}");
    for (at, level) in ["fdatasync p5 < 100s", "write p5 < 100s"].into_iter().enumerate() {
        assert_eq!(workload["slo"][at]["level"], level, "{}", workload["slo"]);
        assert_eq!(workload["slo"][at]["verdict"], "kept", "{}", workload["slo"]);
    }
    says(&rig.expect(0, &["report", "last", "-v"]), &["Latency of fsync and fdatasync"]);
}
