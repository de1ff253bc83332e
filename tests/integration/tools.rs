//! Engines that iotax does not know, described by the commands of their programs: one that is
//! really there (QEMU's storage daemon), and one that this test plays.

use crate::crash::killed_at_each;
use crate::rig::{Rig, can, can_loop, can_run, words};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms"];

/// A scenario whose second stack has that layer over a loop device.
fn scenario(rig: &Rig, layer: &str, tools: &str) -> String {
    let file = rig.file("x.img", 64);
    let text = format!(
        "{tools}\n[stack.loop]\ntext = \"{file} | loop\"\n[stack.by-tool]\ntext = \"{file} | loop | {layer}\"\n\
         [[workload]]\nrw = \"randread\"\n"
    );
    let path = rig.path("tools.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Processes that name something of this folder and run on by themselves.
fn daemons(folder: &Path) -> String {
    let pattern = format!("qemu-storage-daemon .*{}", folder.display());
    let output = std::process::Command::new("pgrep")
        .args(["--full", "--list-full", &pattern])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn can_fuse() -> bool {
    can("FUSE (/dev/fuse, as root)", Path::new("/dev/fuse").exists())
        && can_loop()
        && can_run(&["qemu-storage-daemon", "pkill", "pgrep"])
}

#[test]
fn a_described_engine_is_measured_and_nothing_is_left_wherever_a_run_is_killed() {
    measure_and_kill_a_described_engine(6);
}

#[test]
#[ignore = "kills at every record: ./check --lab runs it by name"]
fn nothing_of_a_described_engine_is_left_by_a_kill_at_every_record() {
    measure_and_kill_a_described_engine(1);
}

fn measure_and_kill_a_described_engine(every: usize) {
    if !can_fuse() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/engines/qsd-fuse.toml");
    let scenario = scenario(&rig, "qsd-fuse(aio=threads)", &format!("tools = [\"{file}\"]"));
    let plan = rig.expect(0, &["plan", "-v", &scenario]);
    assert!(
        plan.contains("qemu-storage-daemon --daemonize") && plan.contains("aio=threads"),
        "{plan}"
    );
    let report = rig.json(&[&["run", &scenario], QUICK].concat());
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter().all(|row| row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0),
        "{rows:?}"
    );
    assert_eq!(daemons(&rig.path("")), "");
    let args = [&["run", &scenario], QUICK].concat();
    // Intent and done of four steps: file, fill, loop, what the program makes; and their undoing.
    killed_at_each(every, &rig, &args, 12, &|place| {
        assert_eq!(daemons(&rig.path("")), "", "{place}")
    });
}

/// A program that plays an engine's: its arrays are loop devices, by its own list of names.
const ARRAYCTL: &str = r#"#!/bin/sh
state=$(dirname "$0")/state; mkdir -p "$state"
case $1 in
create) CREATE ;;
show) ls "$state"; if test -f "$state/$2"; then exit 0; else exit 1; fi ;;
delete) device=$(cat "$state/$2"); rm "$state/$2"; losetup --detach "$device" ;;
json) printf '{"device":"%s"}\n' "$(cat "$state/$2")" ;;
esac
"#;

fn arrayctl(rig: &Rig, create: &str) -> String {
    let program = rig.path("arrayctl");
    std::fs::write(&program, ARRAYCTL.replace("CREATE", create)).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.display();
    format!(
        "[tool.array]\nlimit = \"3s\"\nlong_limit = \"3s\"\nunwritten = false\nabsent = [1]\npath_pointer = \"/device\"\n\
         make = [[\"{program}\", \"create\", \"{{name}}\", \"{{members}}\"]]\n\
         undo = [[\"{program}\", \"delete\", \"{{name}}\"]]\n\
         find = [[\"{program}\", \"show\", \"{{name}}\"], [\"{program}\", \"json\", \"{{name}}\"]]\n"
    )
}

const MAKES: &str = r#"losetup --find --show --direct-io=on "$3" > "$state/$2""#;

#[test]
fn a_device_that_a_program_names_is_measured_and_taken_away_by_it() {
    if !can_loop() {
        return;
    }
    let rig = Rig::new();
    let scenario = scenario(&rig, "array", &arrayctl(&rig, MAKES));
    let report = rig.json(&[&["run", &scenario], QUICK].concat());
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["iops"]["value"].as_f64().unwrap() > 0.0), "{rows:?}");
    assert_eq!(std::fs::read_dir(rig.path("state")).unwrap().count(), 0);
    assert_eq!(crate::rig::traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn a_program_that_hangs_fails_or_lies_leaves_nothing() {
    if !can_loop() {
        return;
    }
    let cases = [
        (format!("{MAKES}; sleep 600"), "did not end within 3 s and was killed"),
        (
            format!("{MAKES}; echo 'drive 1 has failed'; exit 9"),
            "failed (exit status: 9): drive 1 has failed",
        ),
        (r#"echo "$3" > "$state/$2""#.to_owned(), "existed before and is not ours"),
        (r#"echo /dev/none > "$state/$2""#.to_owned(), "there is no /dev/none"),
        (r#"echo /dev/null > "$state/$2""#.to_owned(), "/dev/null is not a block device"),
        (
            r#"losetup --find --show --sizelimit 1048576 "$3" > "$state/$2""#.to_owned(),
            "has 1 MiB, less than the ",
        ),
    ];
    for (create, wanted) in cases {
        let rig = Rig::new();
        // What a program only claims to have made is not detached when it is deleted.
        let tool = arrayctl(&rig, &create);
        let text = std::fs::read_to_string(rig.path("arrayctl")).unwrap();
        let keeps = if wanted.contains("before") {
            text.replace("losetup --detach", ": losetup")
        } else {
            text
        };
        std::fs::write(rig.path("arrayctl"), keeps).unwrap();
        let scenario = scenario(&rig, "array", &tool);
        let output = rig.iotax(&[&["run", &scenario], QUICK].concat());
        let said = words(&output);
        assert!(
            !output.status.success() && said.contains(wanted) && said.contains("[tool.array]"),
            "{said}"
        );
        assert_eq!(std::fs::read_dir(rig.path("state")).unwrap().count(), 0, "{said}");
        assert_eq!(crate::rig::traces(&rig.path("")), Vec::<String>::new(), "{said}");
        assert!(rig.expect(0, &["clean"]).contains("nothing to clean"));
    }
}

#[test]
fn a_program_that_is_missing_is_an_unmet_need() {
    let rig = Rig::new();
    let tool = arrayctl(&rig, "")
        .replace(&rig.path("arrayctl").display().to_string(), "no-such-engine-cli");
    let said = rig.complaint(3, &["run", &scenario(&rig, "array", &tool)]);
    assert!(
        said.contains(
            "no-such-engine-cli is not installed: for [tool.array], which runs it; hint: "
        ),
        "{said}"
    );
    assert!(!rig.path("x.img").exists());
}

/// Returns a tool whose `make` is this command. The script keeps running for some seconds after
/// iotax was killed, and then writes to the loop device.
fn slow_tool(rig: &Rig, make: &str) -> String {
    let (script, began) = (rig.path("make.sh").display().to_string(), rig.path("began"));
    let text = format!(
        "name=$1 file=$2 device=$3\ntouch {}\nsleep 4\necho overwritten > $device\ntruncate -s 16M $file\n",
        began.display()
    );
    let executable = |path: &str, text: &str| {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    executable(&script, &format!("#!/bin/sh -e\n{text}"));
    executable(&format!("{script}.env"), &format!("#!/usr/bin/env -S bash -e\n{text}"));
    executable(&format!("{script}.behind"), &format!("#!/bin/sh\n{script} \"$@\" < /dev/null &\n"));
    let make = make.replace("SCRIPT", &script);
    format!(
        "[tool.slow]\ngives = \"file\"\nunwritten = false\npath = \"{{run}}/{{name}}\"\n\
         make = [[{make}, \"{{name}}\", \"{{run}}/{{name}}\", \"{{device}}\"]]\n\
         undo = [[\"rm\", \"-f\", \"{{run}}/{{name}}\"]]\n\
         find = [[\"find\", \"{{run}}\", \"-maxdepth\", \"1\", \"-name\", \"{{name}}*\"]]\n"
    )
}

#[test]
fn clean_waits_for_a_make_that_goes_on_whoever_interprets_it() {
    if !can_loop() || !can_run(&["bash", "setsid"]) {
        return;
    }
    for make in [
        r#""SCRIPT""#,
        r#""env", "A=1", "SCRIPT""#,
        r#""env", "-i", "SCRIPT""#,
        r#""SCRIPT.env""#,
        r#""SCRIPT.behind""#,
        r#""setsid", "--fork", "SCRIPT""#,
    ] {
        let rig = Rig::new();
        let scenario = scenario(&rig, "slow", &slow_tool(&rig, make));
        let mut run = rig.spawn(&[&["run", &scenario], QUICK].concat());
        crate::rig::wait(|| rig.path("began").exists(), 60, "make");
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(crate::rig::process_of("", "make.sh").is_some(), "{make}: it goes on");
        let cleaned = rig.iotax(&["clean"]);
        assert_eq!(cleaned.status.code(), Some(0), "{make}: {}", words(&cleaned));
        // `clean` waited for the script, so it does not write to somebody else's loop device.
        assert!(
            crate::rig::process_of("", &rig.path("make.sh").display().to_string()).is_none(),
            "{make}"
        );
        assert!(words(&cleaned).contains("waiting until process "), "{make}: {}", words(&cleaned));
        assert_eq!(crate::rig::traces(&rig.path("")), Vec::<String>::new(), "{make}");
        assert!(rig.expect(0, &["clean"]).contains("nothing to clean"), "{make}");
    }
}

#[test]
fn a_plan_shows_every_program_and_a_uri_runs_none() {
    let rig = Rig::new();
    let ran = rig.path("ran");
    let script = rig.path("as-root.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = rig.path("uri.toml");
    let write = |uri: &str| {
        let text = format!(
            "[place.h1]\nssh = \"h1\"\nlibvirt = \"db1\"\nuri = \"{uri}\"\n[stack.vm]\ntext = \"ssh:h1:/srv/a.img,size=16MiB\"\n"
        );
        std::fs::write(&path, text).unwrap();
    };
    let file = path.to_str().unwrap();
    write(&format!("qemu+ext:///system?command={}", script.display()));
    for command in ["plan", "run"] {
        let parts = [
            "uri.toml:4:7: key \"uri\"",
            "the transport \"ext\" is not one of unix, tls, tcp, ssh",
        ];
        rig.complains(2, &[command, file], &parts);
    }
    assert!(!ran.exists());
    write("qemu+ssh://kvm3/system");
    let shown = "virtual machine libvirt:db1: run virsh -q -c qemu+ssh://kvm3/system domstate --domain db1; virsh -q -c \
                 qemu+ssh://kvm3/system dumpxml --domain db1";
    for args in [vec!["plan", "-v", file], vec!["plan", "-v", "--commands", file]] {
        let output = words(&rig.iotax(&args));
        assert!(crate::rig::flat(&output).contains(shown), "{output}");
    }
    let tools = scenario(&rig, "slow", &slow_tool(&rig, r#""SCRIPT""#));
    let plan = words(&rig.iotax(&["plan", "-v", &tools]));
    assert!(plan.contains("also runs: find, rm (see --commands)"), "{plan}");
}
