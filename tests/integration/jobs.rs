//! Job files of fio whose loads the installed fio runs, by the program as a user runs it.

use crate::rig::{Rig, can_run};

/// A job file with a block size that only fio splits, and commands that nobody may run.
#[test]
fn what_only_fio_honours_is_run_by_the_installed_fio_on_every_stack() {
    if !can_run(&["fio"]) {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 32);
    let null = format!("{file} | null");
    let job = rig.path("j.fio");
    let text = "[a]\nioengine=psync\nrw=randread\nbssplit=4k/50:16k/50\nfilename=/etc/hostname\nwrite_bw_log=x\n";
    std::fs::write(&job, text).unwrap();
    let job = job.to_str().unwrap();
    let plan = rig.expect(0, &["plan", job, &file, &null]);
    assert!(plan.contains("engine fio, for bssplit"), "{plan}");
    rig.expect(0, &["run", job, &file, &null, "--budget", "5s"]);
    let workers = rig.records("worker");
    let by_fio = workers.iter().filter(|worker| worker["engine"].to_string().contains("fio 3"));
    assert_eq!(by_fio.count(), workers.len(), "{workers:?}");
    assert!(workers.iter().any(|worker| worker["stack"] != workers[0]["stack"]), "{workers:?}");
    for slice in rig.records("slice") {
        let samples = slice["samples"].as_array().unwrap();
        let value = |metric: &str| {
            let sample = samples.iter().find(|sample| sample["metric"] == metric).unwrap();
            sample["value"].as_f64().unwrap()
        };
        let mean = value("read.bytes") / value("read.ios");
        assert!((6e3..15e3).contains(&mean), "{slice}");
    }
    assert!(rig.slices() > 1);
    let marker = rig.path("ran");
    let bad = rig.path("bad.fio");
    let text = format!("[a]\nexec_prerun=touch {}\nread_iolog=x\n", marker.display());
    std::fs::write(&bad, text).unwrap();
    rig.complains(2, &["run", bad.to_str().unwrap(), &file], &["exec_prerun", "read_iolog"]);
    assert!(!marker.exists());
    rig.complains(
        2,
        &["plan", job, &file, "--engine", "uring"],
        &["j.fio:4", "bssplit", "the installed fio runs the job"],
    );
}
