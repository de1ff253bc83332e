//! Disks by vhost-user sockets: one that another process serves, QEMU's storage daemon here, and
//! one of an engine that a scenario describes.

use crate::crash::killed_everywhere;
use crate::rig::{
    Rig, can_loop, can_run, can_serve, disks, flat, process_of, says, signal, traces, wait, words,
};
use rustix::process::{Signal, kill_process};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const QUICK: &[&str] =
    &["--slice", "100ms", "--min-time", "1s", "--budget", "4s", "--matched-rate", "off"];
const VM: &str = "vm(attach=vhost-user-blk,memory=256MiB,vcpus=1)";

/// An existing disk of 64 MiB, in a folder that no run knows.
struct Theirs {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Theirs {
    fn new() -> Theirs {
        let folder = tempfile::Builder::new().prefix("theirs-").tempdir_in("/var/tmp").unwrap();
        let (disk, socket) = (folder.path().join("disk"), folder.path().join("x.sock"));
        std::fs::write(&disk, vec![7; 64 << 20]).unwrap();
        let daemon = Command::new("qemu-storage-daemon")
            .arg("--blockdev")
            .arg(format!(
                "driver=file,node-name=disk,filename={},cache.direct=on,aio=threads",
                disk.display()
            ))
            .arg("--export")
            .arg(format!(
                "vhost-user-blk,id=e,node-name=disk,addr.type=unix,addr.path={},writable=on",
                socket.display()
            ))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait(|| socket.exists(), 10, "the socket");
        Theirs { folder, daemon }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("x.sock")
    }

    fn medium(&self) -> String {
        format!("vhost-user:{}", self.socket().display())
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

#[test]
fn a_socket_that_somebody_serves_is_measured_written_with_consent_and_left_alone() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let (rig, theirs) = (Rig::new(), Theirs::new());
    let medium = theirs.medium();
    let stack = format!("{medium} | {VM}");
    let disk = || std::fs::read(theirs.folder.path().join("disk")).unwrap();
    let report = rig.json(&[&["run", &stack, "--rw", "randread"], QUICK].concat());
    let row = &report["workloads"][0]["rows"][0];
    assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    assert_eq!(disks(&report)[0]["differs"], serde_json::json!([]), "{report}");
    assert!(disk().iter().all(|byte| *byte == 7), "a load that reads writes nothing");
    let writes = [&["run", &stack, "--rw", "randwrite"], QUICK].concat();
    let hint = format!("--destroy serial={medium} if its data may be lost");
    rig.complains(2, &writes, &["which iotax did not create", &hint]);
    let consent = format!("serial={medium}");
    rig.expect(0, &[&writes[..], &["--destroy", &consent]].concat());
    assert!(disk().iter().any(|byte| *byte != 7));
    assert!(theirs.socket().metadata().unwrap().file_type().is_socket());
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn a_socket_that_goes_away_under_load_ends_the_run_with_its_name() {
    let _alone = crate::rig::alone();
    if !can_serve() {
        return;
    }
    let (rig, theirs) = (Rig::new(), Theirs::new());
    let stack = format!("{} | {VM}", theirs.medium());
    let run = rig.spawn(&[
        "run",
        &stack,
        "--rw",
        "randread",
        "--slice",
        "2s",
        "--min-time",
        "5min",
        "--budget",
        "5min",
    ]);
    wait(|| rig.slices() > 0, 120, "a slice");
    signal(&theirs.daemon, Signal::KILL);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    let gone = format!("no process listens on {} any more", theirs.socket().display());
    says(&words(&output), &[&gone, "the server of the guest's disk has ended"]);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    rig.expect(0, &["clean"]);
}

#[test]
fn what_is_no_disk_by_vhost_user_is_refused_before_anything_is_made() {
    if !can_run(&["qemu-system-x86_64"]) {
        return;
    }
    let rig = Rig::new();
    let at = |path: &Path| format!("vhost-user:{} | {VM}", path.display());
    let refused = |path: &Path, why: &str| {
        let told = flat(&rig.complaint(2, &["plan", &at(path), "--rw", "randread"]));
        assert!(
            told.contains(why) && told.contains("hint: first start the program that serves it"),
            "{told}"
        );
    };
    refused(&rig.path("none"), "there is no /");
    std::fs::write(rig.path("file"), "").unwrap();
    refused(&rig.path("file"), "is not a socket");
    drop(UnixListener::bind(rig.path("left")).unwrap());
    refused(&rig.path("left"), "no process listens on /");
    let listener = UnixListener::bind(rig.path("other")).unwrap();
    let server = std::thread::spawn(move || {
        std::io::Write::write_all(&mut listener.accept().unwrap().0, b"220 mail.example ESMTP\r\n")
            .unwrap();
    });
    refused(&rig.path("other"), "does not answer as a disk of vhost-user-blk");
    server.join().unwrap();
}

#[test]
fn a_described_engine_can_be_named_on_the_command_line() {
    if !can_describe() {
        return;
    }
    let rig = Rig::new();
    let stack = format!("{} | loop | qsd-vhost(queues=1) | {VM}", rig.file("x.img", 64));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/engines/qsd-vhost.toml");
    let plan = flat(&rig.expect(0, &["plan", "-v", &stack, "--tool", file]));
    says(
        &plan,
        &["qemu-storage-daemon --daemonize", "num-queues=1", "by vhost-user-blk with socket"],
    );
    rig.complains(
        2,
        &["plan", &stack, "--tool", "none.toml"],
        &["cannot read the tools in none.toml", "hint: name a file of [tool.NAME] tables"],
    );
    let scenario = described(&rig);
    rig.complains(
        2,
        &["plan", &scenario, "--tool", file],
        &["write tools = [\"FILE\"] in the file"],
    );
}

/// A scenario in which a guest uses what an engine over a loop device makes.
fn described(rig: &Rig) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/engines/qsd-vhost.toml");
    let disk = rig.file("x.img", 64);
    let text = format!(
        "tools = [\"{file}\"]\n[stack.by-tool]\ntext = \"{disk} | loop | qsd-vhost(aio=threads) | {VM}\"\n\
         [[workload]]\nrw = \"randread\"\n"
    );
    let path = rig.path("sockets.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn can_describe() -> bool {
    can_serve() && can_loop() && can_run(&["pkill", "pgrep"])
}

fn is_bare(rig: &Rig, place: &str) {
    assert_eq!(traces(&rig.path("")), Vec::<String>::new(), "{place}");
}

#[test]
fn a_guest_stands_on_the_socket_of_a_described_engine_and_nothing_is_left_when_it_is_killed() {
    let _alone = crate::rig::alone();
    if !can_describe() {
        return;
    }
    let rig = Rig::new();
    let scenario = described(&rig);
    let args = [&["run", &scenario], QUICK].concat();
    let report = rig.json(&args);
    let row = &report["workloads"][0]["rows"][0];
    assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    is_bare(&rig, "nowhere");
    // Intent and done of what the engine makes, after those of the file, its filling and the loop
    // device.
    for record in ["6:after", "7:before", "7:after"] {
        rig.killed_at(record, &args);
        rig.expect(0, &["clean"]);
        is_bare(&rig, record);
        assert!(!rig.path("x.img").exists());
    }
}

#[test]
fn an_engine_whose_socket_goes_away_under_load_is_named_and_taken_away() {
    let _alone = crate::rig::alone();
    if !can_describe() {
        return;
    }
    let rig = Rig::new();
    let scenario = described(&rig);
    let run =
        rig.spawn(&["run", &scenario, "--slice", "2s", "--min-time", "5min", "--budget", "5min"]);
    wait(|| rig.slices() > 0, 120, "a slice");
    let needle = format!("addr.path={}", rig.path("").display());
    let daemon = process_of("", &needle).expect("the engine's daemon");
    kill_process(daemon, Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    says(&words(&output), &["no process listens on /", ".sock any more"]);
    is_bare(&rig, "under load");
}

#[test]
#[ignore = "boots a guest at many records of its journal: ./check --lab runs it by name"]
fn a_guest_on_a_described_engine_is_killed_everywhere() {
    let _alone = crate::rig::alone();
    if !can_describe() {
        return;
    }
    let rig = Rig::new();
    let scenario = described(&rig);
    let args = [&["run", &scenario], QUICK].concat();
    // Intent and done of file, fill, loop, what the program makes, an initramfs and QEMU; and their
    // undoing.
    killed_everywhere(&rig, &args, 16, &|place| is_bare(&rig, place));
}
