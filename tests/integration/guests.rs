//! Guests under TCG or KVM: every way a disk reaches one, many at once, and what is read back of
//! them.

use crate::crash::killed_around;
use crate::rig::{
    Rig, can, can_boot, can_run, can_serve, disks, flat, is_root, process_of, traces, wait, words,
};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::path::Path;

const QUICK: &[&str] =
    &["--slice", "100ms", "--min-time", "2s", "--budget", "8s", "--matched-rate", "off"];

fn report(rig: &Rig, args: &[&str]) -> Value {
    rig.json(&[args, QUICK].concat())
}

#[test]
fn a_disk_reaches_a_guest_in_every_way_and_two_guests_are_one_stack() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let ways = format!(
        "{file} | vm(attach=[virtio-blk,virtio-scsi,nvme,vhost-user-blk],memory=256MiB,vcpus=1)"
    );
    let two = format!("{file} | vm(memory=256MiB,vcpus=1) x2");
    let report = report(&rig, &["run", &file, &ways, &two, "--rw", "randread", "--iodepth", "4"]);
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    let disks = disks(&report);
    let attached = |stack: &str| {
        let disk = disks
            .iter()
            .find(|disk| disk["stack"] == stack)
            .unwrap_or_else(|| panic!("{stack}: {disks:?}"));
        (
            disk["attach"].as_str().unwrap().to_owned(),
            disk["qemu"]["cache.direct"].clone(),
            disk["differs"].clone(),
        )
    };
    for way in ["virtio-blk", "virtio-scsi", "nvme", "vhost-user-blk"] {
        let expected = (way.to_owned(), Value::from("on"), Value::Array(Vec::new()));
        assert_eq!(attached(&format!("vm attach={way}")), expected);
    }
    // As the daemon comes it would say "write through", and the guest would send no flush.
    let served = disks.iter().find(|disk| disk["attach"] == "vhost-user-blk").unwrap();
    assert_eq!(served["guest"]["write-cache"], "write back");
    // One guest for three ways and half of the two, one for vhost-user, one for the other half.
    let guests = report["places"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|place| place["place"] != "host")
        .count();
    assert_eq!(guests, 3, "{}", report["places"]);
    let crowd = &report["workloads"][0]["crowds"][0];
    assert_eq!((&crowd["stack"], &crowd["places"]), (&Value::from("vm x2"), &Value::from(2)));
    let fairness = crowd["jain"]["value"].as_f64().unwrap();
    assert!(
        (0.5..=1.0).contains(&fairness) && crowd["together"].as_f64().unwrap() >= 0.99,
        "{crowd}"
    );
    assert_eq!(crowd["scaling"]["against"], "vm attach=virtio-blk");
    assert!(
        report["warnings"].to_string().contains("every job runs in all 2 guests at once"),
        "{}",
        report["warnings"]
    );
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

/// Interfaces of a run that are still there.
fn interfaces() -> Vec<String> {
    let all = std::fs::read_dir("/sys/class/net").unwrap().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // ix, a letter, and the end of a run's id.
    names.filter(|name| name.starts_with("ix") && name[3..].starts_with('-')).collect()
}

fn can_have_a_network() -> bool {
    can_boot()
        && is_root()
        && can_run(&["ip"])
        && can("/dev/net/tun", Path::new("/dev/net/tun").exists())
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn guests_and_their_host_are_measured_each_with_each_over_a_bridge() {
    let _alone = crate::rig::alone();
    if !can_have_a_network() {
        return;
    }
    let rig = Rig::new();
    let args =
        ["network", "host", "vm1", "vm2", "--vm", "vcpus=1,memory=256MiB", "--budget", "18s"];
    let report = rig.json(&args);
    let [tcp, rr] = [0, 1].map(|at| &report["workloads"][at]["rows"]);
    let ends: Vec<String> =
        tcp.as_array().unwrap().iter().map(|row| row["ends"].to_string()).collect();
    assert_eq!(ends.len(), 6);
    assert_eq!((ends[0].as_str(), ends[3].as_str()), (r#"["host","vm1"]"#, r#"["vm1","vm2"]"#));
    for row in 0..6 {
        assert!(tcp[row]["bytes_per_s"]["value"].as_f64().unwrap() > 1e5, "{tcp}");
        assert!(rr[row]["iops"]["value"].as_f64().unwrap() > 1000.0, "a round trip in ns: {rr}");
    }
    let path = |row: usize| tcp[row]["engine"].as_str().unwrap();
    assert!(path(0).contains("(bridge, mtu 1500") && path(0).contains("to 198.1"), "{}", path(0));
    assert!(
        path(3).contains("(virtio_net, mtu 1500") && path(3).contains("on the same link"),
        "{}",
        path(3)
    );
    assert_eq!((interfaces(), traces(&rig.path(""))), (Vec::new(), Vec::new()));
}

/// Over the loopback from the host itself, over its card from a guest, several queues of it.
#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn a_guest_reaches_this_host_over_its_card() {
    let _alone = crate::rig::alone();
    if !can_have_a_network() {
        return;
    }
    let rig = Rig::new();
    let guest = "cpu | vm(net=tap,net-queues=2,memory=256MiB)";
    let quick = ["--slice", "100ms", "--min-time", "500ms", "--budget", "9s"];
    let args = ["run", "cpu", guest, "--probe", "tcp(send),tcp(receive),rr(udp)"];
    let report = rig.json(&[&args[..], &quick].concat());
    for workload in report["workloads"].as_array().unwrap() {
        let [host, guest] = [0, 1].map(|at| workload["rows"][at]["engine"].as_str().unwrap());
        assert!(host.contains("to 127.0.0.1 over lo (loopback"), "{host}");
        assert!(
            guest.contains("virtio_net") && guest.contains("2 receive and 2 send queues"),
            "{guest}"
        );
        assert!(workload["rows"][1]["iops"]["value"].as_f64().unwrap() > 0.0, "{workload}");
    }
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("its own processes reach it over the loopback"), "{warnings}");
    assert_eq!(interfaces(), Vec::<String>::new());
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn the_network_of_a_killed_run_is_removed_by_clean() {
    let _alone = crate::rig::alone();
    if !can_have_a_network() {
        return;
    }
    let rig = Rig::new();
    let args =
        ["run", "net:vm1", "net:host @vm1", "--vm", "vcpus=1,memory=256MiB", "--probe", "rr"];
    let quick = ["--slice", "100ms", "--min-time", "200ms", "--budget", "1s"];
    let is_one = |line: &str| line.contains("make_bridge") || line.contains("make_tap");
    killed_around(&rig, &[&args[..], &quick].concat(), &is_one, &|when| {
        assert_eq!(interfaces(), Vec::<String>::new(), "{when}");
        assert_eq!(traces(&rig.path("")), Vec::<String>::new(), "{when}");
    });
}

#[test]
fn a_cache_mode_is_what_qemu_and_the_guest_say() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let guest = format!("{file} | vm(cache=writethrough,num-queues=2,memory=256MiB,vcpus=1)");
    let quick =
        ["--slice", "100ms", "--min-time", "500ms", "--budget", "2s", "--matched-rate", "off"];
    let report = rig.json(&[&["run", &file, &guest, "--rw", "randread"][..], &quick].concat());
    let disk = &disks(&report)[0];
    assert_eq!(
        (&disk["qemu"]["cache.direct"], &disk["qemu"]["write-cache"]),
        (&"off".into(), &"off".into())
    );
    assert_eq!(disk["guest"]["write-cache"], "write through");
    // One vCPU uses one queue, and that is told.
    assert_eq!(disk["guest"]["num-queues"], "1");
    assert!(
        report["warnings"].to_string().contains("num-queues=2 was asked for, and the guest uses 1"),
        "{report}"
    );
}

#[test]
fn guests_that_the_host_has_no_room_for_never_start() {
    if !can_serve() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let said = rig.complaint(3, &["run", &format!("{file} | vm(memory=4TiB)")]);
    assert!(said.contains("this host can give") && !rig.path("x.img").exists(), "{said}");
    let huge = rig.iotax(&["run", &format!("{file} | vm(memory=1TiB,hugepages=1GiB)")]);
    assert_eq!(huge.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&huge.stderr).contains("needs 1024 huge pages of 1 GiB"));
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn a_qemu_that_is_killed_is_told_of_and_the_run_goes_on_by_resume() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args = ["run", &file, &format!("{file} | vm(memory=256MiB,vcpus=1)")];
    let long = ["--rw", "randread", "--slice", "50ms", "--budget", "12s", "--matched-rate", "off"];
    let child = rig.spawn(&[&args[..], &long].concat());
    wait(|| rig.index().contains("\"round\":3,"), 120, "a fourth round");
    let qemu = process_of("qemu-system", &rig.last_id()).expect("a QEMU");
    kill_process(qemu, Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        // Whichever of its two sockets was spoken to then.
        said.contains("guest vm0: ")
            && said.contains(": QEMU has ended (signal: 9 (SIGKILL)); hint: `dmesg` shows"),
        "{said}"
    );
    assert!(said.contains("to go on: iotax ") && said.contains(" resume "), "{said}");
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    let resumed = rig.expect(0, &["resume", "last"]);
    assert!(resumed.contains(": complete"), "{resumed}");
}

/// What a run refuses, `plan` refuses by the same words; so a guest on a file that is yet to be
/// made is planned by both.
#[test]
fn a_guest_stands_on_a_file_system_that_the_run_makes() {
    let rig = Rig::new();
    let Some(below) = rig.loop_and_xfs().filter(|_| can_serve()) else { return };
    let plan =
        flat(&rig.expect(0, &["plan", "-v", &format!("{below} | vm(memory=256MiB,vcpus=1)")]));
    assert!(plan.contains("of /RUN-DIRECTORY/fs0/iotax.data by virtio-blk"), "{plan}");
}

/// Two guests with two files each, against one file in one guest: the load runs on every disk, and
/// each guest is one place.
#[test]
fn guests_have_several_disks_and_what_serves_them_is_known_by_its_threads() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let files: Vec<String> = (0..4).map(|number| rig.file(&format!("{number}.img"), 32)).collect();
    let guest = "vm(memory=256MiB,vcpus=1)";
    let spread = format!("each([{}]) | {guest} x2", files.join(","));
    let one = format!("{} | {guest}", files[0]);
    let load = ["--rw", "randread", "--iodepth", "2", "--percentiles", "p99.95,p90"];
    let report = report(&rig, &[&["run", &one, &spread][..], &load].concat());
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    for row in rows {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
        let asked = row["latency"][0]["asked"].as_array().unwrap();
        let percents: Vec<f64> = asked.iter().map(|one| one["percent"].as_f64().unwrap()).collect();
        assert_eq!(percents, [90.0, 99.95]);
        // QEMU's threads but for the virtual CPUs.
        let engine = &row["serving"];
        assert!(engine["iops_per_core"]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
        let threads = engine["threads"].as_str().unwrap();
        assert!(threads.contains("QEMU's main loop") && !threads.contains("CPU "), "{threads}");
    }
    let crowd = &report["workloads"][0]["crowds"][0];
    assert_eq!((&crowd["stack"], &crowd["places"]), (&Value::from("vm x2"), &Value::from(2)));
    let targets: Vec<usize> = rig
        .records("worker")
        .iter()
        .filter(|worker| worker["stack"] == "vm x2")
        .map(|worker| 1 + worker["others"].as_array().map_or(0, Vec::len))
        .collect();
    assert!(!targets.is_empty() && targets.iter().all(|disks| *disks == 2), "{targets:?}");
    let disks = disks(&report);
    assert_eq!(disks.iter().filter(|disk| disk["stack"] == "vm x2").count(), 4, "{disks:?}");
    assert!(
        report["warnings"].to_string().contains("on all 4 disks of guests at once"),
        "{report}"
    );
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}
