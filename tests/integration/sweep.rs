//! Sweeps by the program as a user runs it: asked for, planned, measured, reported. Structure only:
//! with budgets as small as these no figure is sure, and none is asserted.

use crate::rig::Rig;

#[test]
fn a_small_sweep_is_planned_measured_and_reported() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let null = format!("{file} | null");
    let asked = ["--iodepth", "1,2,4", "--slice", "5ms", "--min-time", "100ms", "--budget", "1s"];
    let plan =
        crate::rig::flat(&rig.expect(0, &[&["plan", "-v", &file, &null][..], &asked].concat()));
    assert!(
        plan.contains("3 points") && plan.contains("iodepth=1, iodepth=2, iodepth=4"),
        "{plan}"
    );
    let report = rig.json(&[&["run", &file, &null][..], &asked].concat());
    let sweep = &report["sweeps"][0];
    assert_eq!(
        (sweep["axis"].as_str(), sweep["points"].as_u64()),
        (Some("iodepth"), Some(3)),
        "{report}"
    );
    let stacks = sweep["curves"][0]["stacks"].as_array().unwrap();
    assert_eq!(stacks.len(), 2);
    for stack in stacks {
        let points = stack["points"].as_array().unwrap();
        let at: Vec<u64> =
            points.iter().filter_map(|point| point["at"]["value"].as_u64()).collect();
        assert_eq!(at, [1, 2, 4], "{report}");
        for point in points {
            assert_eq!(point["power"]["state"], "known", "{report}");
            assert_eq!(
                point["costs"].as_array().unwrap().len(),
                usize::from(stack["baseline"] != true)
            );
        }
        assert!(
            stack["knee"]["sentence"].as_str().is_some_and(|said| said.contains("knee")),
            "{report}"
        );
    }
    assert!(stacks[1]["courses"][0]["sentence"].as_str().is_some_and(|said| said.contains("cost")));
    for workload in report["workloads"].as_array().unwrap() {
        assert_eq!(workload["sweep"]["sweep"], sweep["name"], "{report}");
    }
    for (format, part) in [
        ("terminal", "Sweep: "),
        ("markdown", "## Sweep: "),
        ("html", "over iodepth"),
        ("csv", "knee over iodepth"),
    ] {
        let text = rig.expect(0, &["report", "last", "-v", "--format", format]);
        assert!(text.contains(part), "{format} lacks {part:?}:\n{text}");
    }
}

#[test]
fn lists_that_mean_two_things_are_refused() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let complaint = rig.complaint(2, &["run", &file, "--bs", "4k,64k"]);
    assert!(complaint.contains("key \"bs\"") && complaint.contains("[4k,64k]"), "{complaint}");
    let job = rig.path("j.fio");
    std::fs::write(&job, "[a]\nrw=randread\niodepth=1,4\n").unwrap();
    let complaint = rig.complaint(2, &["plan", job.to_str().unwrap(), &file]);
    assert!(complaint.contains("j.fio:3") && complaint.contains("scenario file"), "{complaint}");
    assert!(rig.run_dirs().is_empty());
}
