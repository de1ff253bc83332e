//! `iotax limits`: token buckets of a known size, and what it refuses.

use crate::rig::{Rig, alone, can, can_run, is_root, words};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A file behind QEMU's throttling, with a control socket beside it; ended with its value.
struct Throttled {
    rig: Rig,
    daemon: std::process::Child,
}

impl Throttled {
    fn of(limits: &str) -> Throttled {
        let rig = Rig::new();
        // Holes are answered without a throttle.
        std::fs::write(rig.path("back.img"), vec![0x5a; 64 << 20]).unwrap();
        std::fs::write(rig.path("t.img"), "").unwrap();
        let at = |name: &str| rig.path(name).display().to_string();
        let mut command = Command::new("qemu-storage-daemon");
        command.args([
            "--object",
            &format!("{{\"qom-type\":\"throttle-group\",\"id\":\"g\",\"limits\":{limits}}}"),
        ]);
        command
            .args(["--blockdev", &format!("driver=file,node-name=f,filename={}", at("back.img"))]);
        command.args(["--blockdev", "driver=throttle,node-name=t,throttle-group=g,file=f"]);
        command.args(["--chardev", &format!("socket,id=c,path={},server=on,wait=off", at("qmp"))]);
        command.args(["--monitor", "chardev=c"]);
        command
            .args(["--export", &format!("type=fuse,id=e,node-name=t,mountpoint={}", at("t.img"))]);
        let daemon = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let throttled = Throttled { rig, daemon };
        let (began, file) = (Instant::now(), throttled.rig.path("t.img"));
        while std::fs::metadata(&file).unwrap().len() == 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "it is not exported");
            std::thread::sleep(Duration::from_millis(20));
        }
        throttled
    }

    fn limits(&self) -> Value {
        let file = format!("file:{}", self.rig.path("t.img").display());
        let socket = self.rig.path("qmp").display().to_string();
        let args = ["limits", &file, "--qmp", &socket, "--rest", "0s", "--seconds", "8", "--json"];
        serde_json::from_str(&self.rig.expect(0, &args)).unwrap()
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        // It unmounts what it exports when it is asked to end.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.daemon),
            rustix::process::Signal::TERM,
        );
        let _ = self.daemon.wait();
    }
}

fn can_throttle() -> bool {
    can("FUSE (/dev/fuse, as root)", Path::new("/dev/fuse").exists())
        && can_run(&["qemu-storage-daemon"])
}

#[test]
fn a_bucket_of_qemu_is_found_and_its_setting_is_read_when_quiet() {
    if !can_throttle() {
        return;
    }
    let _alone = alone();
    // Stalls of a busy machine lose tokens, which hides a limiter: one of three courses has to show
    // it, with a wide margin.
    let off = |course: &Value, what: &str, set: f64| {
        (course[what]["value"].as_f64().unwrap() / set - 1.0).abs()
    };
    let mut courses = Vec::new();
    let found = loop {
        let throttled = Throttled::of(r#"{"iops-total":400,"iops-total-max":1200}"#);
        let mut course = throttled.limits()["courses"][0].clone();
        course["points"].take();
        assert_eq!(throttled.rig.run_dirs().len(), 1, "the run is kept");
        let shows = course["shape"] == "bucket" && off(&course, "rate", 400.0) < 0.15;
        if shows && off(&course, "burst", 1200.0) < 0.25 {
            break course;
        }
        courses.push(course);
        assert!(courses.len() < 3, "{courses:?}");
    };
    let course = &found;
    assert_eq!(
        (&course["direction"], &course["unit"]),
        (&"read".into(), &"ios".into()),
        "{course}"
    );
    let set = &course["settings"][0];
    assert_eq!(
        (&set["of"], set["rate"].as_f64(), set["burst"].as_f64()),
        (&"total_ios".into(), Some(400.0), Some(1200.0))
    );
}

/// iotax over a loopback of its own, whose frames are Ethernet's, shaped by a token bucket; `None`:
/// not on this machine.
fn over_tbf(rig: &Rig, rate_and_burst: &str, args: &[&str]) -> Option<Value> {
    let inner = rig.command(args);
    let script = format!(
        "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate {rate_and_burst} latency 50ms || exit 77; exec \"$@\""
    );
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", &script, "sh"])
        .arg(inner.get_program())
        .args(inner.get_args());
    let output = command.current_dir(rig.path("")).output().unwrap();
    if !can("tc's tbf in a network namespace", output.status.code() != Some(77)) {
        return None;
    }
    assert!(output.status.success(), "{}", words(&output));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

const LOOPBACK: &str = "net:host,address=127.0.0.1";

#[test]
fn a_bucket_of_tc_is_found_and_its_setting_is_read_when_quiet() {
    if !(can("root", is_root()) && can_run(&["unshare", "ip", "tc"])) {
        return;
    }
    let _alone = alone();
    let rig = Rig::new();
    let args = ["limits", LOOPBACK, "--seconds", "5", "--rest", "1s", "--json"];
    let Some(found) = over_tbf(&rig, "30mbit burst 600kb", &args) else { return };
    let courses = found["courses"].as_array().unwrap();
    let kinds = courses
        .iter()
        .map(|one| (one["direction"].as_str().unwrap(), one["unit"].as_str().unwrap()));
    let kinds: Vec<(&str, &str)> = kinds.collect();
    let all =
        [("send", "bytes"), ("receive", "bytes"), ("send", "datagrams"), ("receive", "datagrams")];
    assert_eq!(kinds, all);
    for course in courses {
        let off = course["on_wire"].as_f64().unwrap() / 3.75e6 - 1.0;
        assert!(off.abs() < 0.1, "{off} of 30 Mbit/s on the wire: {course}");
        assert_eq!(course["settings"][0]["rate"].as_f64(), Some(3.75e6), "{course}");
    }
    assert!(courses.iter().any(|course| course["shape"] == "bucket"), "{courses:?}");
    assert_eq!(rig.run_dirs().len(), 1, "the run is kept");
}

#[test]
fn networks_at_a_limit_of_tc_get_no_verdict_when_quiet() {
    if !(can("root", is_root()) && can_run(&["unshare", "ip", "tc"])) {
        return;
    }
    let _alone = alone();
    let rig = Rig::new();
    let other = "net:host,address=127.0.0.2";
    let args = ["run", LOOPBACK, other, "--probe", "tcp", "--slice", "100ms", "--min-time", "15s"];
    // What is in the sockets drains through the limit after each slice.
    let args = [&args[..], &["--budget", "60s", "--format", "json"]].concat();
    let Some(report) = over_tbf(&rig, "200mbit burst 64kb", &args) else { return };
    let verdict = report["workloads"][0]["comparisons"][0].to_string();
    for words in ["at_limit", "lo: 25000000 bytes sent a second", "tc qdisc show dev lo"] {
        assert!(verdict.contains(words), "no {words} in {verdict}");
    }
}

#[test]
fn a_file_of_iotax_is_made_written_and_removed() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args = [
        "limits",
        &file,
        "--write",
        "--seconds",
        "1",
        "--rest",
        "0s",
        "--max-written",
        "192MiB",
        "--json",
    ];
    let found: Value = serde_json::from_str(&rig.expect(0, &args)).unwrap();
    let courses = found["courses"].as_array().unwrap();
    let kinds: Vec<(&str, &str)> = courses
        .iter()
        .map(|one| (one["direction"].as_str().unwrap(), one["unit"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds, [("read", "ios"), ("read", "bytes"), ("write", "ios"), ("write", "bytes")]);
    let written: u64 = courses[2..].iter().map(|one| one["bytes"].as_u64().unwrap()).sum();
    assert!(written > 0 && written <= 128 << 20, "beside the fill {written} bytes were written");
    assert!(!rig.path("x.img").exists());
    // The run is one like all others: listed, reported in every form, and compared.
    crate::rig::says(&rig.expect(0, &["list"]), &["complete", "limits: file"]);
    let page = rig.expect(0, &["report", "last", "--format", "html"]);
    // A course whose volume ended it at once has nothing to draw.
    let drawn = courses.iter().filter(|one| one["points"].as_array().unwrap().len() > 2).count();
    assert!(drawn > 0, "{found}");
    assert_eq!(page.matches("<path class=\"curve s2\"").count(), drawn, "courses are drawn");
    assert!(rig.expect(0, &["report", "last", "--format", "csv"]).contains(",rate,"));
    let again: Value = serde_json::from_str(&rig.expect(0, &args)).unwrap();
    assert_eq!(again["courses"].as_array().unwrap().len(), 4);
    let runs = rig.run_dirs();
    let [old, new] = [&runs[0], &runs[1]].map(|run| run.display().to_string());
    let change = rig.expect(0, &["compare", &old, &new]);
    assert!(change.contains("4k random reads at iodepth 32: rate "), "{change}");
    rig.complains(2, &["compare", &old, &old], &["given twice"]);
}

#[test]
fn what_is_not_iotax_s_is_not_written_and_several_stacks_are_refused() {
    let rig = Rig::new();
    std::fs::write(rig.path("theirs"), vec![7; 1 << 20]).unwrap();
    let file = format!("file:{}", rig.path("theirs").display());
    rig.complains(2, &["limits", &file, "--write"], &["theirs", "not a file of iotax"]);
    assert!(std::fs::read(rig.path("theirs")).unwrap().iter().all(|byte| *byte == 7));
    rig.complains(2, &["limits", "file:/no/such"], &["/no/such"]);
    rig.complains(2, &["limits", "net:host", "--write"], &["a network has no writes to allow"]);
    rig.complains(
        2,
        &["limits", &file, "--seconds", "0"],
        &["--seconds 0 is not between 1 and 600"],
    );
    rig.complains(2, &["limits", &file, "--qmp", "/no/socket"], &["--qmp /no/socket"]);
    let output = rig.iotax(&["limits", &file, "--destroy", "serial=x"]);
    assert!(words(&output).contains("--write"), "{}", words(&output));
}
