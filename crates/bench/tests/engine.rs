//! `iotax-bench engine` as its user runs it: one run as an object, ours and fio in turn, the table,
//! and what it refuses.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program with a folder of its own on a disk with O_DIRECT (not tmpfs).
struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Rig {
        Rig {
            folder: tempfile::Builder::new().prefix("iotax-bench-").tempdir_in("/var/tmp").unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iotax-bench"));
        command.arg("--runs").arg(self.path("runs")).arg("engine").args(args);
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it, checks the exit code, gives standard output and standard error.
    fn ended(&self, code: i32, args: &[&str]) -> [String; 2] {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{}", text_of(&output));
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn expect(&self, code: i32, args: &[&str]) -> String {
        let [stdout, _] = self.ended(code, args);
        stdout
    }
}

fn text_of(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn has_fio() -> bool {
    let has = std::env::var("PATH")
        .unwrap_or_default()
        .split(':')
        .any(|dir| Path::new(dir).join("fio").exists());
    if !has {
        println!("skipped: needs fio");
    }
    has
}

fn one(rig: &Rig, more: &[&str]) -> Value {
    let text = rig.expect(0, &[&["--only", "iotax", "--json", "--time", "300ms"], more].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn one_run_is_one_object() {
    let rig = Rig::new();
    std::fs::write(rig.path("x.img"), vec![1; 16 << 20]).unwrap();
    let file = rig.path("x.img");
    let file = file.to_str().unwrap();
    let target =
        ["--target", file, "--size", "8MiB", "--engine", "sync", "--rw", "randread", "--bs", "4k"];
    let found = one(&rig, &target);
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
    assert!(
        number("iops") > 0.0
            && number("cpu_user_ns_per_io") >= 0.0
            && number("cpu_kernel_ns_per_io") >= 0.0
    );
    // One I/O in flight for nearly all of the time, by figures that the law's own error is not made
    // of. A machine that is busy takes the generator away between two of them.
    let in_flight = number("iops") * found["latency_ns"]["mean"].as_f64().unwrap() / 1e9;
    assert!(
        (0.2..1.5).contains(&in_flight) && number("littles_law_error") < 0.25,
        "{in_flight}: {found}"
    );
    let latency = |name: &str| found["latency_ns"][name].as_f64().unwrap();
    assert!(
        latency("p50") <= latency("p99")
            && latency("p99") <= latency("p999")
            && latency("p999") <= latency("max")
    );
    assert!(latency("mean") > 0.0);
    assert_eq!(found["format"], "iotax-selfcheck-engine-target");
    assert_eq!(
        (found["size"].as_u64(), found["iodepth"].as_u64()),
        (Some(8 << 20), Some(1)),
        "{found}"
    );
    assert!(found["engine"].as_str().unwrap().starts_with("sync (named by the user"), "{found}");
    assert!(!rig.path("runs").exists(), "no run");
}

#[test]
fn zeros_are_read_without_a_disk_and_a_rate_is_kept() {
    let rig = Rig::new();
    let target =
        ["--target", "/dev/zero", "--engine", "sync", "--rate-iops", "2000", "--iodepth", "1"];
    let found = one(&rig, &target);
    let iops = found["iops"].as_f64().unwrap();
    // Of a busy machine: what was late is caught up with, and some of it may be from before the
    // window or end after it. Without a rate it is hundreds of thousands.
    assert!((1_000.0..3_000.0).contains(&iops), "at the rate: {iops}");
    let off = one(&rig, &["--target", "/dev/zero", "--engine", "sync", "--stamps", "off"]);
    assert!(off["latency_ns"].is_null() && off["iops"].as_f64().unwrap() > 0.0, "{off}");
}

#[test]
fn ours_and_fio_run_in_turn() {
    if !has_fio() {
        return;
    }
    let rig = Rig::new();
    let args = ["--target", "/dev/zero", "--engine", "sync", "--time", "200ms", "--repeats", "2"];
    let text = rig.expect(0, &args);
    assert!(text.contains("iotax  sync (") && text.contains("medians of 2: "), "{text}");
    let text = rig.expect(0, &[&args[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&text).unwrap();
    assert!(found["iops_ratio"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (found["iotax"].as_array().unwrap().len(), found["fio"].as_array().unwrap().len()),
        (2, 2)
    );
    assert!(found["fio"][0]["latency_ns"]["p50"].as_f64().unwrap() > 0.0, "{found}");
}

#[test]
fn fio_is_told_the_engine_that_ours_chose() {
    if !has_fio() {
        return;
    }
    let rig = Rig::new();
    let told = |more: &[&str]| {
        let words = ["--target", "/dev/zero", "--time", "100ms", "--repeats", "1", "--json"];
        let found: Value = serde_json::from_str(&rig.expect(0, &[&words, more].concat())).unwrap();
        (found["iotax"][0]["engine"].clone(), found["fio"][0]["job_file"].clone())
    };
    // One I/O in flight is done by a system call each: a ring would only cost.
    let (ours, theirs) = told(&["--iodepth", "1"]);
    assert!(ours.as_str().unwrap().starts_with("sync ("), "{ours}");
    assert!(theirs.as_str().unwrap().contains("ioengine=psync\n"), "{theirs}");
    let (ours, theirs) = told(&["--engine", "null", "--stamps", "off"]);
    assert!(ours.as_str().unwrap().starts_with("null ("), "{ours}");
    assert!(theirs.as_str().unwrap().contains("gtod_reduce=1\n"), "{theirs}");
}

#[test]
fn fio_reads_a_file_whose_name_it_would_split() {
    if !has_fio() {
        return;
    }
    let rig = Rig::new();
    let file = rig.path("disk:0.img");
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    let words = [
        "--only", "fio", "--engine", "sync", "--direct", "0", "--time", "200ms", "--json",
        "--target",
    ];
    let text = rig.expect(0, &[&words[..], &[file.to_str().unwrap()]].concat());
    let found: Value = serde_json::from_str(&text).unwrap();
    assert!(found["iops"].as_f64().unwrap() > 0.0, "{found}");
}

#[test]
fn the_table_has_a_line_a_goal_and_leaves_nothing() {
    let rig = Rig::new();
    let folder = rig.path("scratch");
    std::fs::create_dir(&folder).unwrap();
    // No figure is asked for: machines are shared. Both codes are of a table.
    let args = [
        "--goal",
        "1,4,12,13,14",
        "--time",
        "100ms",
        "--repeats",
        "1",
        "--json",
        "--dir",
        folder.to_str().unwrap(),
    ];
    let output = rig.run(&args);
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text_of(&output)));
    assert_eq!(found["format"], "iotax-selfcheck-engine");
    let lines = found["lines"].as_array().unwrap();
    // Without root, zram or fio there is no line of goal 4.
    let lacking =
        lines.iter().filter(|line| line["goal"] == 4).all(|line| line["state"] == "not_run");
    let codes = if lacking { [1, 3] } else { [0, 1] };
    assert!(codes.contains(&output.status.code().unwrap()), "{found}");
    let states = ["ok", "missed", "not_run"].map(|state| found[state].as_u64().unwrap());
    assert_eq!(states.iter().sum::<u64>(), lines.len() as u64, "{found}");
    let goals: Vec<u64> = lines.iter().map(|line| line["goal"].as_u64().unwrap()).collect();
    assert_eq!(goals, [1, 1, 1, 4, 4, 12, 12, 13, 13, 14], "{found}");
    let stop = lines.iter().find(|line| line["what"].as_str().unwrap().starts_with("p99")).unwrap();
    assert!(stop["value"].as_f64().unwrap() > 100e6, "a stop of 200 ms shows: {stop}");
    // The note of a zram device goes only with the device.
    assert_eq!(std::fs::read_dir(rig.path("runs/.zram")).unwrap().count(), 0);
}

#[test]
fn honesty_is_looked_at_by_itself_and_needs_no_disk() {
    let rig = Rig::new();
    let args = ["--goal", "12", "--time", "100ms", "--repeats", "1", "--json"];
    let output = rig.run(&[&args[..], &["--dir", "/no/such/folder"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text_of(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["not_run"], 0, "{found}");
    assert!(found["lines"][0]["what"].as_str().unwrap().contains("Little's law"), "{found}");
    assert!((0.0..0.5).contains(&found["lines"][0]["value"].as_f64().unwrap()), "{found}");
}

#[test]
fn a_goal_of_the_disk_needs_a_disk() {
    if !std::fs::read_to_string("/proc/self/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        println!("skipped: needs a tmpfs at /dev/shm");
        return;
    }
    let rig = Rig::new();
    let args = ["--goal", "11", "--time", "100ms", "--repeats", "1", "--dir", "/dev/shm"];
    let text = rig.expect(3, &args);
    assert!(text.contains("not run") && text.contains("hint: --dir on a disk"), "{text}");
    let found: Value =
        serde_json::from_str(&rig.expect(3, &[&args[..], &["--json"]].concat())).unwrap();
    assert!(found["holds"].is_null() && found["not_run"].as_u64() > Some(0), "{found}");
}

#[test]
fn ctrl_c_ends_a_long_run_on_a_target_at_once() {
    let rig = Rig::new();
    let words = ["--only", "iotax", "--target", "/dev/zero", "--time", "60s"];
    let run = rig.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let of = |name: &str| format!("/proc/{}/{name}", run.id());
    let wait = |done: &dyn Fn() -> bool, seconds: u64, what: &str| {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(seconds), "{what} did not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(
        &|| std::fs::read_dir(of("task")).is_ok_and(|threads| threads.count() > 2),
        30,
        "a load thread",
    );
    std::thread::sleep(Duration::from_millis(200));
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let ended =
        || std::fs::read_to_string(of("status")).is_ok_and(|text| text.contains("State:\tZ"));
    wait(&ended, 20, "its end");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text_of(&output).contains("interrupted: nothing is concluded"));
}

#[test]
fn without_fio_the_command_that_supplies_it_is_told() {
    let rig = Rig::new();
    let words = ["--only", "fio", "--target", "/dev/zero", "--time", "100ms"];
    let output = rig.command(&words).env("PATH", rig.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output));
    assert!(text_of(&output).contains("apt-get install fio"));
}

#[test]
fn its_help_tells_what_it_takes_and_every_engine() {
    let text = Rig::new().expect(0, &["--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2.5 GiB of scratch") && text.contains("zram device"), "{text}");
    for kind in iotax_load::engine::ALL {
        assert!(text.contains(kind.word), "{}: {text}", kind.word);
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_hint() {
    let rig = Rig::new();
    std::fs::write(rig.path("x.img"), vec![1; 1 << 20]).unwrap();
    let file = rig.path("x.img");
    let refused = |code: i32, more: &[&str]| {
        let [_, stderr] = rig.ended(code, more);
        stderr
    };
    let target = ["--target", file.to_str().unwrap()];
    let of = |more: &[&str]| refused(2, &[&target, more].concat());
    assert!(of(&["--rw", "randwrite"]).contains("only read here"));
    assert!(of(&["--size", "2MiB"]).contains("has 1048576 bytes"));
    assert!(of(&["--engine", "libaio"]).contains("did you mean \"aio\""));
    assert!(of(&["--engine", "fio"]).contains("--only fio"));
    assert!(of(&["--bs", "5x"]).contains("5x"));
    assert!(of(&["--bs", "1000B", "--direct", "1"]).contains("a multiple of 512 bytes"));
    assert!(of(&["--cpu", "100000"]).contains("no processor 100000"));
    // Numbers that the system knows, of processors that no machine here has; also before a table
    // writes anything.
    assert!(of(&["--cpu", "1023"]).contains("hint: --cpu with one of "));
    assert!(refused(2, &["--cpu", "1023"]).contains("no processor 1023"));
    assert!(of(&["--time", "0s"]).contains("less than 50 ms"));
    assert!(of(&["--time", "10us"]).contains("less than 50 ms"));
    assert!(of(&["--iodepth", "65536"]).contains("32768"));
    assert!(refused(2, &["--target", "/no/such.img"]).contains("No such file"));
    assert!(refused(2, &["--target", "/dev/null"]).contains("/dev/null"));
    assert!(refused(2, &["--iodepth", "4"]).contains("--target"));
    assert!(refused(2, &["--goal", "15"]).contains("15"));
    // What would do nothing.
    assert!(of(&["--seed", "2"]).contains("--seed"));
    assert!(of(&["--t-io-uring", "/bin/true"]).contains("--t-io-uring"));
    assert!(of(&["--only", "iotax", "--repeats", "2"]).contains("--repeats"));
    assert_eq!(std::fs::read(&file).unwrap(), vec![1; 1 << 20]);
}
