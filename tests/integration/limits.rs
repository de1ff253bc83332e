//! `iotax limits`: token buckets of a known size, and what it refuses.

use crate::rig::{Rig, alone, can, can_run, words};
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
        command.args(["--blockdev", &format!("driver=file,node-name=f,filename={}", at("back.img"))]);
        command.args(["--blockdev", "driver=throttle,node-name=t,throttle-group=g,file=f"]);
        command.args(["--chardev", &format!("socket,id=c,path={},server=on,wait=off", at("qmp"))]);
        command.args(["--monitor", "chardev=c"]);
        command.args(["--export", &format!("type=fuse,id=e,node-name=t,mountpoint={}", at("t.img"))]);
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
    can("FUSE (/dev/fuse, as root)", Path::new("/dev/fuse").exists()) && can_run(&["qemu-storage-daemon"])
}

#[test]
fn a_bucket_of_qemu_is_found_and_its_setting_is_read_when_quiet() {
    if !can_throttle() {
        return;
    }
    let _alone = alone();
    // Stalls of a busy machine lose tokens, which hides a limiter: one of three courses has to show it, with a wide margin.
    let off =
        |course: &Value, what: &str, set: f64| (course[what]["value"].as_f64().unwrap() / set - 1.0).abs();
    let mut courses = Vec::new();
    let found = loop {
        let throttled = Throttled::of(r#"{"iops-total":400,"iops-total-max":1200}"#);
        let mut course = throttled.limits()["courses"][0].clone();
        course["points"].take();
        assert!(throttled.rig.run_dirs().is_empty(), "nothing of the run is kept");
        let shows = course["shape"] == "bucket" && off(&course, "rate", 400.0) < 0.15;
        if shows && off(&course, "burst", 1200.0) < 0.25 {
            break course;
        }
        courses.push(course);
        assert!(courses.len() < 3, "{courses:?}");
    };
    let course = &found;
    assert_eq!((&course["direction"], &course["unit"]), (&"read".into(), &"ios".into()), "{course}");
    let set = &course["settings"][0];
    assert_eq!(
        (&set["of"], set["rate"].as_f64(), set["burst"].as_f64()),
        (&"total_ios".into(), Some(400.0), Some(1200.0))
    );
}

#[test]
fn a_file_of_iotax_is_made_written_and_removed() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args =
        ["limits", &file, "--write", "--seconds", "1", "--rest", "0s", "--max-written", "192MiB", "--json"];
    let found: Value = serde_json::from_str(&rig.expect(0, &args)).unwrap();
    let courses = found["courses"].as_array().unwrap();
    let kinds: Vec<(&str, &str)> = courses
        .iter()
        .map(|one| (one["direction"].as_str().unwrap(), one["unit"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds, [("read", "ios"), ("read", "bytes"), ("write", "ios"), ("write", "bytes")]);
    let written: u64 = courses[2..].iter().map(|one| one["bytes"].as_u64().unwrap()).sum();
    assert!(written > 0 && written <= 128 << 20, "beside the fill {written} bytes were written");
    assert!(!rig.path("x.img").exists() && rig.run_dirs().is_empty());
}

#[test]
fn what_is_not_iotax_s_is_not_written_and_several_stacks_are_refused() {
    let rig = Rig::new();
    std::fs::write(rig.path("theirs"), vec![7; 1 << 20]).unwrap();
    let file = format!("file:{}", rig.path("theirs").display());
    rig.complains(2, &["limits", &file, "--write"], &["theirs", "not a file of iotax"]);
    assert!(std::fs::read(rig.path("theirs")).unwrap().iter().all(|byte| *byte == 7));
    rig.complains(2, &["limits", "file:/no/such"], &["/no/such"]);
    rig.complains(2, &["limits", &file, "--seconds", "0"], &["--seconds 0 is not between 1 and 600"]);
    rig.complains(2, &["limits", &file, "--qmp", "/no/socket"], &["--qmp /no/socket"]);
    let output = rig.iotax(&["limits", &file, "--destroy", "serial=x"]);
    assert!(words(&output).contains("--write"), "{}", words(&output));
}
