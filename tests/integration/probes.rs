//! Probes of places: processors, memory and kernel of this host and of a guest, as a user runs them.

use crate::rig::{Rig, says};

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "1s", "--budget", "3s"];

#[test]
fn a_place_without_a_device_is_measured_by_probes() {
    let rig = Rig::new();
    let args = [&["run", "cpu", "cpu | null", "--probe", "integer,copy(64KiB),wakeup"][..], QUICK].concat();
    let report = rig.json(&args);
    let [integer, copy, wakeup] = [0, 1, 2].map(|at| &report["workloads"][at]);
    assert_eq!((&integer["name"], &integer["probe"]["head"]), (&"integer".into(), &"passes/s".into()));
    assert!(integer["rows"][0]["iops"]["value"].as_f64().unwrap() > 1000.0, "{integer}");
    assert_eq!(integer["comparisons"][0]["quantity"], "integer work");
    assert!(integer["charges"].as_array().unwrap().is_empty() && integer["matched"].is_null(), "{integer}");
    assert!(copy["rows"][0]["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{copy}");
    assert_eq!((&wakeup["rate_unit"], &wakeup["rows"][0]["iops"]["unit"]), (&"ns".into(), &"ns".into()));
    let slices = rig.records("slice");
    assert!(slices.iter().all(|slice| slice["samples"].is_array()) && !slices.is_empty());
    let text = rig.expect(0, &["report", &rig.last_id(), "-v"]);
    assert!(text.contains("passes/s") && !text.contains("IOPS") && !text.contains("same limit"), "{text}");
}

#[test]
fn a_probe_runs_beside_loads_where_a_stack_is_loaded() {
    let rig = Rig::new();
    let file = rig.file("a.img", 32);
    let scenario = format!(
        "[stack.file]\ntext = \"{file}\"\n[stack.null]\ntext = \"{file} | null\"\n\
         [[workload]]\nrw = \"randread\"\n[[workload]]\nprobe = \"syscall\"\nnumjobs = 2\n"
    );
    std::fs::write(rig.path("both.toml"), scenario).unwrap();
    let path = rig.path("both.toml");
    let report = rig.json(&[&["run", path.to_str().unwrap()][..], QUICK].concat());
    assert_eq!(report["workloads"][1]["subject"], "system calls x 2");
    assert!(report["workloads"][0]["rows"][0]["bytes_per_s"]["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_write() {
    let rig = Rig::new();
    let file = rig.file("a.img", 32);
    for (args, said) in [
        (
            vec!["plan", "cpu", "--rw", "randread"],
            "has no device, and the load \"4k-randread-qd1\" needs one",
        ),
        (
            vec!["plan", "cpu | loop", "--probe", "integer"],
            "\"loop\" stands on a file or a device, and cpu is neither",
        ),
        (vec!["plan", "cpu", "--probe", "integr"], "no probe is called \"integr\""),
        (vec!["plan", "cpu", "--probe", "integer", "--bs", "4k"], "a probe has no \"bs\""),
        (vec!["plan", &file, "--probe", "copy(10B)"], "is less than"),
    ] {
        rig.complains(2, &args, &[said]);
    }
    says(&rig.expect(0, &["plan", "cpu", "cpu | null"]), &["measure cpu: probes on host"]);
}
