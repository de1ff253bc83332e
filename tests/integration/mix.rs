//! A real load that reads and writes: both apart in the forms for programs.

use crate::rig::Rig;

#[test]
fn when_quiet_a_mix_has_reads_and_writes_apart_with_what_each_costs() {
    let rig = Rig::new();
    let file = rig.file("x.img", 16);
    let slow = format!("{file} | delay(us=2000)");
    let load = ["--rw", "randrw", "--rwmixread", "70", "--iodepth", "4", "--matched-rate", "off"];
    let quick = ["--slice", "20ms", "--min-time", "1s", "--budget", "20s"];
    let report = rig.json(&[&["run", &file, &slow][..], &load, &quick].concat());
    let workload = &report["workloads"][0];
    for row in workload["rows"].as_array().unwrap() {
        let [read, write] =
            [0, 1].map(|at| row["directions"][at]["iops"]["value"].as_f64().unwrap());
        assert!((0.65..0.75).contains(&(read / (read + write))), "{row}");
        let whole = row["iops"]["value"].as_f64().unwrap();
        assert!(((read + write) / whole - 1.0).abs() < 1e-6, "{row}");
    }
    let whole = &workload["comparisons"][0];
    for (at, direction) in ["read", "write"].into_iter().enumerate() {
        let one = &whole["directions"][at];
        assert_eq!(one["direction"], direction, "{whole}");
        let high = one["ratio"]["interval"]["high"].as_f64();
        assert!(high.is_some_and(|high| high < 1.0), "{one}");
        assert!(
            one["quantity"].as_str().unwrap().contains(&format!("mixed {direction} IOPS")),
            "{one}"
        );
        // The job fixes the mix: the slow stack loses as much of both.
        let [own, all] = [one, whole].map(|one| one["ratio"]["value"].as_f64().unwrap());
        assert!((own / all - 1.0).abs() < 0.15, "{own} {all}");
    }
    let csv = rig.expect(0, &["report", "last", "--format", "csv"]);
    for metric in ["read iops", "write iops", "read throughput", "write durable throughput"] {
        assert!(csv.contains(&format!(",{metric},")), "{metric}: {csv}");
    }
}
