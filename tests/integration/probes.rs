//! Probes of places: processors, memory and kernel of this host and of a guest, as a user runs
//! them.

use crate::rig::{
    Rig, can, can_boot, can_run, flat, is_root, process_of, says, signal, wait, words,
};
use crate::sshd::Sshd;
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "1s", "--budget", "9s"];

#[test]
fn a_place_without_a_device_is_measured_by_probes() {
    let rig = Rig::new();
    let args = [&["run", "cpu", "cpu | null", "--probe", "integer,copy(64KiB),wakeup"][..], QUICK]
        .concat();
    let report = rig.json(&args);
    let [integer, copy, wakeup] = [0, 1, 2].map(|at| &report["workloads"][at]);
    assert_eq!(
        (&integer["name"], &integer["probe"]["head"]),
        (&"integer".into(), &"passes/s".into())
    );
    assert!(integer["rows"][0]["iops"]["value"].as_f64().unwrap() > 1000.0, "{integer}");
    assert_eq!(integer["comparisons"][0]["quantity"], "integer work");
    assert!(
        integer["charges"].as_array().unwrap().is_empty() && integer["matched"].is_null(),
        "{integer}"
    );
    assert!(copy["rows"][0]["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{copy}");
    assert_eq!(
        (&wakeup["rate_unit"], &wakeup["rows"][0]["iops"]["unit"]),
        (&"ns".into(), &"ns".into())
    );
    let slices = rig.records("slice");
    assert!(slices.iter().all(|slice| slice["samples"].is_array()) && !slices.is_empty());
    let text = rig.expect(0, &["report", &rig.last_id(), "-v"]);
    assert!(
        text.contains("passes/s") && !text.contains("IOPS") && !text.contains("same limit"),
        "{text}"
    );
}

/// Tests work that is set up afresh for each slice (`integer`, `exec`) and work that lasts, in
/// guests that share processors.
#[test]
fn guests_are_measured_side_by_side_by_probes() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    let rig = Rig::new();
    let guests = "cpu | vm(memory=256MiB,vcpus=2) x2";
    let probes = ["--probe", "integer,exec,wakeup", "--numjobs", "2"];
    let report = rig.json(&[&["run", guests][..], &probes, QUICK].concat());
    for workload in report["workloads"].as_array().unwrap() {
        assert!(workload["rows"][0]["iops"]["value"].as_f64().unwrap() > 0.0, "{workload}");
        assert_eq!(workload["crowds"][0]["places"], 2, "{workload}");
    }
    for slice in rig.records("slice") {
        assert!(slice["together"].as_f64().unwrap() >= 0.99, "{slice}");
        assert_eq!(slice["parts"].as_array().unwrap().len(), 2, "{slice}");
    }
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
fn a_network_is_measured_beside_storage_each_by_what_is_for_it() {
    let rig = Rig::new();
    let file = rig.file("a.img", 32);
    let scenario = format!(
        "[stack.file]\ntext = \"{file}\"\n[stack.null]\ntext = \"{file} | null\"\n[stack.net]\ntext = \"net:host\"\n\
         [[workload]]\nrw = \"randread\"\n[[workload]]\nprobe = \"tcp(receive)\"\n"
    );
    std::fs::write(rig.path("both.toml"), scenario).unwrap();
    let path = rig.path("both.toml");
    let report = rig.json(&[&["run", path.to_str().unwrap()][..], QUICK].concat());
    let [load, tcp] = [0, 1].map(|at| &report["workloads"][at]);
    let rounds = |workload: &Value| {
        let rows = workload["rows"].as_array().unwrap();
        rows.iter().map(|row| row["rounds"].as_u64().unwrap() > 0).collect::<Vec<_>>()
    };
    assert_eq!((rounds(load), rounds(tcp)), (vec![true, true, false], vec![false, false, true]));
    let compared = |workload: &Value| workload["comparisons"].as_array().unwrap().len();
    assert_eq!((compared(load), compared(tcp)), (1, 0), "a network is no stack of a load");
    let none = &load["rows"][2]["iops"];
    assert_eq!(none["reason"], "it has no device, and is not measured under this");
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
            "\"loop\" needs a file or a device below it, and cpu is neither",
        ),
        (vec!["plan", "cpu", "--probe", "integr"], "unknown probe \"integr\""),
        (vec!["plan", "cpu", "--probe", "integer", "--bs", "4k"], "a probe has no \"bs\""),
        (vec!["plan", "cpu", "--probe", "integer", "--rate_iops", "9"], "only udp takes a rate"),
        (vec!["plan", &file, "--probe", "copy(10B)"], "is less than"),
    ] {
        rig.complains(2, &args, &[said]);
    }
    says(&rig.expect(0, &["plan", "-v", "cpu", "cpu | null"]), &["measure cpu: probes on host"]);
}

#[test]
fn places_are_measured_each_with_each_over_their_network() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let at = "address=127.0.0.1";
    let (host, there) = (format!("host,{at}"), format!("ssh:elsewhere,{at}"));
    let args =
        ["network", &host, &there, "--probe", "tcp(send),rr(tcp),udp(send)", "--budget", "9s"];
    let json = [&args[..], &["--format", "json"]].concat();
    let output = rig.command(&json).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [tcp, rr, udp] = [0, 1, 2].map(|at| &report["workloads"][at]);
    assert_eq!(tcp["rows"][0]["ends"], serde_json::json!(["host", "ssh:elsewhere"]));
    assert_eq!(tcp["rows"][1]["ends"], serde_json::json!(["ssh:elsewhere", "host"]));
    for row in 0..2 {
        assert!(tcp["rows"][row]["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{tcp}");
        assert!(
            rr["rows"][row]["iops"]["value"].as_f64().unwrap() > 100.0,
            "a round trip in ns: {rr}"
        );
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
    // On a busy machine nothing is sent in some windows.
    assert!(sent.iter().any(|sent| *sent > 0.0), "what was sent is beside what arrived: {sent:?}");
    let text = rig.expect(0, &["report", &rig.last_id()]);
    says(&text, &["tcp(send) from host", "to ssh:elsewhere"]);
    let page = rig.path("page.html");
    rig.expect(0, &["report", &rig.last_id(), "-o", page.to_str().unwrap()]);
    says(
        &std::fs::read_to_string(page).unwrap(),
        &["From each place to every other", "class=\"heat5\""],
    );
}

#[test]
fn tools_of_a_network_have_their_server_started_and_ended() {
    let rig = Rig::new();
    if !can_run(&["iperf3", "sockperf"]) {
        return;
    }
    let port = free_port();
    let stack = format!("net:host,address=127.0.0.1,port={port}");
    let probes = "iperf3(tcp),iperf3(udp),sockperf(udp),tcp";
    let report =
        rig.json(&["run", &stack, "--probe", probes, "--min-time", "4s", "--budget", "16s"]);
    let [tcp, udp, latency, own] = [0, 1, 2, 3].map(|at| &report["workloads"][at]["rows"][0]);
    for row in [tcp, own] {
        assert!(row["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{row}");
        assert!(row["network"]["cpu_there_per_kib"]["value"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["network"]["sent_again_per_gib"]["value"].is_number(), "{row}");
    }
    assert!(
        udp["network"]["lost"]["value"].is_number() && udp["network"]["sent"]["value"].is_number(),
        "{udp}"
    );
    assert!(
        latency["iops"]["value"].as_f64().unwrap() > 100.0,
        "half a round trip in ns: {latency}"
    );
    for row in [tcp, udp, latency] {
        let [best, median, mean] =
            ["best", "median", "mean"].map(|one| row["runs"][one].as_f64().unwrap());
        assert!(
            best > 0.0 && median > 0.0 && mean > 0.0 && row["runs"]["runs"].as_u64() > Some(0),
            "{row}"
        );
    }
    assert!(own["runs"].is_null(), "resident: {own}");
    let text = rig.expect(0, &["report", &rig.last_id(), "-v"]);
    says(
        &text,
        &["Runs of the tool", "best", "Losses and CPU time of the network", "CPU/KiB there"],
    );
    std::net::TcpListener::bind(("127.0.0.1", port)).expect("nothing listens any more");
}

#[test]
fn the_server_of_a_tool_is_started_in_the_other_place() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    if !can_run(&["iperf3"]) {
        return;
    }
    let args = [
        "run",
        "net:ssh:elsewhere,address=127.0.0.1",
        "--probe",
        "iperf3",
        "--budget",
        "3s",
        "--format",
        "json",
    ];
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &report["workloads"][0]["rows"][0];
    assert_eq!(row["ends"], serde_json::json!(["host", "ssh:elsewhere"]));
    assert!(row["bytes_per_s"]["value"].as_f64().unwrap() > 1e6, "{row}");
    // A taken port is refused there.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let stack = format!("net:ssh:elsewhere,address=127.0.0.1,port={port}");
    let output = rig
        .command(&["run", &stack, "--probe", "iperf3"])
        .env("IOTAX_SSH_CONFIG", &sshd.config)
        .output();
    let said = words(&output.unwrap());
    let expected = format!(
        "ssh:elsewhere: the server of iperf3(tcp): cannot listen at 127.0.0.1:{port}: the port is taken"
    );
    assert!(flat(&said).contains(&expected), "{said}");
}

#[test]
fn the_server_of_a_tool_dies_with_a_run_that_is_killed() {
    let rig = Rig::new();
    if !can_run(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let stack = format!("net:host,address=127.0.0.1,port={port}");
    let mut run = rig.spawn(&["run", &stack, "--probe", "iperf3", "--min-time", "60s"]);
    let server = || process_of("", &format!("iperf3\0-s\0-B\0127.0.0.1\0-p\0{port}\0"));
    wait(|| server().is_some(), 30, "a server");
    signal(&run, Signal::KILL);
    run.wait().unwrap();
    wait(|| server().is_none(), 10, "its end");
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn two_hosts_are_compared_without_a_device() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let args =
        [&["run", "cpu", "cpu @ssh:elsewhere", "--probe", "pipe", "--format", "json"][..], QUICK]
            .concat();
    let output = rig.command(&args).env("IOTAX_SSH_CONFIG", &sshd.config).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = &report["workloads"][0]["rows"];
    assert_eq!(
        (&rows[1]["stack"], &rows[1]["place"]),
        (&"ssh:elsewhere".into(), &"ssh:elsewhere".into())
    );
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
        (
            vec!["plan", "net:host,address=here", "--probe", "rr"],
            "\"here\" is not an IPv4 or IPv6 address",
        ),
        (vec!["plan", "net:host,port=0", "--probe", "rr"], "\"0\" is not a port"),
        (
            vec!["plan", "cpu | vm", "--probe", "mbw"],
            "is a program, and the guest of \"cpu | vm\" has none",
        ),
        (
            vec!["plan", "cpu @vm1", "--probe", "mbw"],
            "is a program, and the guest of \"cpu @vm1\" has none",
        ),
        (
            vec!["plan", "net:vm1", "--probe", "iperf3"],
            "is a program, and the guest of \"net:vm1\" has none",
        ),
        (vec!["plan", "cpu", "--probe", "copy(999GiB)"], "999 GiB is more than 128 GiB"),
        (vec!["plan", "net:lab", "--probe", "rr"], "is a lab, which has no network"),
        (vec!["plan", "cpu @ssh:a", "--probe", "rr"], "needs another place that answers"),
        (vec!["plan", "net:host | vm", "--probe", "rr"], "has none; hint: write vm(net=tap)"),
        (
            vec!["plan", "net:ssh:b | vm(net=tap)", "--probe", "rr"],
            "leads to this host and to other guests",
        ),
        (vec!["plan", "net:ssh:b @vm1", "--probe", "rr"], "leads to this host and no further"),
        (vec!["plan", "net:vm1 @vm1", "--probe", "rr"], "is both ends"),
        (vec!["plan", "net:guest @host", "--probe", "rr"], "unknown place \"guest\""),
        (vec!["network", "host", "vm1", "--vm", "net=none"], "has no network"),
        (vec!["network", "host", "vm1", "--vm", "cores=2"], "unknown option of \"vm\": \"cores\""),
        (vec!["network", "host", "host"], "is named twice"),
    ] {
        rig.complains(2, &args, &[said]);
    }
}

#[test]
fn a_plan_names_tools_that_this_host_lacks() {
    let rig = Rig::new();
    let says = |folder: &str, said: &str| {
        let mut plan = rig.command(&["plan", "cpu", "--probe", "unixbench(dhry2reg)"]);
        let output = plan.env("UNIXBENCH", folder).env("COLUMNS", "200").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", words(&output));
        let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
        assert!(text.contains(said), "{text}");
    };
    says("", "UNIXBENCH is not set in this place");
    says("/nowhere", "UNIXBENCH=/nowhere has no folder pgms");
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
    let args = [&args[..], &["--min-time", "8s", "--budget", "24s", "--format", "json"]].concat();
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
    says(
        &text,
        &["the difference is between two machines", "A limit hides the cost of ssh:limited"],
    );
}

#[test]
fn threads_that_share_processors_are_a_limit() {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if !(can("two processors", processors > 1) && can_run(&["taskset"])) {
        return;
    }
    let rig = Rig::new();
    let args =
        [&["run", "cpu", "cpu | null", "--probe", "integer", "--numjobs", "2"][..], QUICK].concat();
    let inner = rig.command(&[&args[..], &["--format", "json"]].concat());
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(inner.get_program()).args(inner.get_args());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = report["workloads"][0]["comparisons"][0].to_string();
    says(
        &verdict,
        &[
            "at_limit",
            "processors allowed (",
            "; 2 threads share them; the stack ran at a limit too",
        ],
    );
}
