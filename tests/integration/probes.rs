//! Probes of places: processors, memory and kernel of this host and of a guest, as a user runs them.

use crate::rig::{Rig, can, can_run, is_root, says, words};
use crate::sshd::Sshd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
        (vec!["plan", "cpu", "--probe", "integr"], "unknown probe \"integr\""),
        (vec!["plan", "cpu", "--probe", "integer", "--bs", "4k"], "a probe has no \"bs\""),
        (vec!["plan", "cpu", "--probe", "integer", "--rate_iops", "9"], "only udp takes a rate"),
        (vec!["plan", &file, "--probe", "copy(10B)"], "is less than"),
    ] {
        rig.complains(2, &args, &[said]);
    }
    says(&rig.expect(0, &["plan", "cpu", "cpu | null"]), &["measure cpu: probes on host"]);
}

#[test]
fn places_are_measured_each_with_each_over_their_network() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let at = "address=127.0.0.1";
    let (host, there) = (format!("host,{at}"), format!("ssh:elsewhere,{at}"));
    let args = ["network", &host, &there, "--probe", "tcp(send),rr(tcp),udp(send)", "--budget", "3s"];
    let json = [&args[..], &["--format", "json"]].concat();
    let output = rig.command(&json).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [tcp, rr, udp] = [0, 1, 2].map(|at| &report["workloads"][at]);
    assert_eq!(tcp["rows"][0]["ends"], serde_json::json!(["host", "ssh:elsewhere"]));
    assert_eq!(tcp["rows"][1]["ends"], serde_json::json!(["ssh:elsewhere", "host"]));
    for row in 0..2 {
        assert!(tcp["rows"][row]["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{tcp}");
        assert!(rr["rows"][row]["iops"]["value"].as_f64().unwrap() > 100.0, "a round trip in ns: {rr}");
        assert!(udp["rows"][row]["iops"]["value"].as_f64().unwrap() > 100.0, "{udp}");
    }
    let slices = rig.records("slice");
    let of = |slice: &Value, metric: &str| {
        let mut samples = slice["samples"].as_array().unwrap().iter();
        samples.find(|one| one["metric"] == metric).and_then(|one| one["value"].as_f64())
    };
    let sent: Vec<f64> = slices
        .iter()
        .filter(|one| one["workload"] == "udp(send)")
        .filter_map(|one| of(one, "net.sent"))
        .collect();
    assert!(
        !sent.is_empty() && sent.iter().all(|sent| *sent > 0.0),
        "what was sent stands beside what arrived"
    );
    let text = rig.expect(0, &["report", &rig.last_id()]);
    says(&text, &["tcp(send) from host", "to ssh:elsewhere"]);
    let page = rig.path("page.html");
    rig.expect(0, &["report", &rig.last_id(), "-o", page.to_str().unwrap()]);
    says(&std::fs::read_to_string(page).unwrap(), &["From each place to every other", "class=\"heat5\""]);
}

#[test]
fn two_hosts_are_compared_without_a_device() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let args =
        [&["run", "cpu", "cpu @ssh:elsewhere", "--probe", "pipe", "--format", "json"][..], QUICK].concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = &report["workloads"][0]["rows"];
    assert_eq!((&rows[1]["stack"], &rows[1]["place"]), (&"ssh:elsewhere".into(), &"ssh:elsewhere".into()));
    assert!(rows[1]["iops"]["value"].as_f64().unwrap() > 100.0, "{rows}");
}

#[test]
fn a_network_that_cannot_be_measured_says_why() {
    let rig = Rig::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let stack = format!("net:host,address=127.0.0.1,port={port}");
    rig.complains(2, &["run", &stack, "--probe", "rr"], &["the port is taken by another program"]);
    rig.complains(
        2,
        &["run", "net:host,address=203.0.113.9", "--probe", "rr"],
        &["it is not an address of this machine"],
    );
    for (args, said) in [
        (vec!["plan", "net:host,address=here", "--probe", "rr"], "\"here\" is not an IPv4 or IPv6 address"),
        (vec!["plan", "net:host,port=0", "--probe", "rr"], "\"0\" is not a port"),
        (vec!["plan", "net:lab", "--probe", "rr"], "is a guest of the run, which has no network"),
        (vec!["plan", "cpu", "--probe", "rr"], "needs a second place"),
        (vec!["plan", "net:host | vm", "--probe", "rr"], "\"vm\" stands on a file or a device"),
        (vec!["network", "host", "host"], "is named twice"),
    ] {
        rig.complains(2, &args, &[said]);
    }
}

/// A control group with a tenth of a processor; removed when it is dropped.
struct TenthOfOne {
    folder: PathBuf,
    file: &'static str,
}

impl TenthOfOne {
    fn new() -> Option<TenthOfOne> {
        let old = Path::new("/sys/fs/cgroup/cpu");
        let (root, file, text) = match old.is_dir() {
            true => (old, "cpu.cfs_quota_us", "10000"),
            false => (Path::new("/sys/fs/cgroup"), "cpu.max", "10000 100000"),
        };
        let folder = root.join(format!("iotax-it-{}", std::process::id()));
        let made = is_root() && std::fs::create_dir(&folder).is_ok();
        let tenth = TenthOfOne { folder, file };
        let is_set = made && std::fs::write(tenth.folder.join(file), text).is_ok();
        can("a control group that limits CPU time, as root", is_set).then_some(tenth)
    }
}

impl Drop for TenthOfOne {
    fn drop(&mut self) {
        // Processes of a session over ssh end a moment after it.
        let removed = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists()
        });
        assert!(removed || std::thread::panicking(), "{} is not empty", self.folder.display());
    }
}

#[test]
fn a_quota_of_cpu_time_is_named_and_leaves_no_verdict() {
    let rig = Rig::new();
    let Some(mut sshd) = Sshd::start(&rig, None) else { return };
    let Some(tenth) = TenthOfOne::new() else { return };
    sshd.serve_in_group("limited", &tenth.folder.join("cgroup.procs"));
    // Longer than the 10 ms that the group gets of every 100 ms.
    let args = ["run", "cpu", "cpu @ssh:limited", "--probe", "integer", "--slice", "200ms"];
    let args = [&args[..], &["--min-time", "8s", "--budget", "16s", "--format", "json"]].concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    drop(sshd);
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = report["workloads"][0]["comparisons"][0].to_string();
    let set = format!(
        "cpu: 0.1 processors ({}); it held threads back for",
        tenth.folder.join(tenth.file).display()
    );
    says(&verdict, &["at_limit", "\"of_baseline\":false", &set]);
    let text = rig.expect(0, &["report", &rig.last_id()]);
    says(&text, &["the difference is between two machines", "ran at a limit"]);
}

#[test]
fn threads_that_share_processors_are_a_limit() {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if !(can("two processors", processors > 1) && can_run(&["taskset"])) {
        return;
    }
    let rig = Rig::new();
    let args = [&["run", "cpu", "cpu | null", "--probe", "integer", "--numjobs", "2"][..], QUICK].concat();
    let inner = rig.command(&[&args[..], &["--format", "json"]].concat());
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(inner.get_program()).args(inner.get_args());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = report["workloads"][0]["comparisons"][0].to_string();
    says(
        &verdict,
        &["at_limit", "processors allowed (", "; 2 threads share them; the stack ran at a limit too"],
    );
}
