//! Traces by the program as a user runs it: one stack without a pause.

use crate::rig::Rig;

#[test]
fn a_trace_is_planned_measured_and_reported() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let asked = [&file, "--rw", "randwrite", "--trace", "2s"];
    let plan = rig.expect(0, &[&["plan"], &asked[..]].concat());
    assert!(plan.contains("2 s") || plan.contains("2.00 s"), "{plan}");
    let report = rig.json(&[&["run"], &asked[..]].concat());
    let trace = &report["workloads"][0]["trace"];
    let levels = trace["levels"].as_array().expect("levels");
    let end_s = levels.last().unwrap()["to_s"].as_f64().unwrap();
    assert!((1.5..10.0).contains(&end_s), "{trace}");
    assert!(levels[0]["rate"]["value"].as_f64().unwrap() > 0.0, "{trace}");
    let sentence = trace["sentence"].as_str().unwrap();
    assert_eq!(report["headline"].as_str(), Some(sentence));
    // No flush and no wait lies between two slices.
    for slice in rig.records("slice") {
        assert!(slice.get("gate").is_none_or(|gate| gate.is_null()), "{slice}");
        assert_eq!(slice["purpose"].as_str().unwrap_or("plain"), "plain");
    }
    assert!(rig.slices() >= 10);
    let text = rig.expect(0, &["report", "last"]);
    assert!(text.contains("IOPS") && text.contains("from"), "{text}");
}

#[test]
fn what_a_trace_has_no_use_for_is_refused() {
    let rig = Rig::new();
    let file = rig.file("x.img", 16);
    let null = format!("{file} | null");
    rig.complains(2, &["plan", &file, &null, "--trace", "2s"], &["key \"trace\"", "2 stacks"]);
    rig.complains(
        2,
        &["plan", &file, "--trace", "2s", "--budget", "9s"],
        &["budget has no effect"],
    );
    rig.complains(2, &["plan", &file, "--trace", "2s", "--iodepth", "1,8"], &["2 loads"]);
}
