//! Hosts without an agent: the fio there issues the load, over a real sshd on loopback.

use crate::rig::{Rig, can, can_loop, can_run, has, signal, traces, wait, words};
use crate::sshd::Sshd;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const QUICK: &[&str] = &["--min-time", "1s", "--budget", "6s", "--matched-rate", "off"];

/// The rig and its sshd, where there are fio and an sshd.
fn elsewhere(instead: Option<&str>) -> Option<(Rig, Sshd)> {
    if !can_run(&["fio"]) {
        return None;
    }
    let rig = Rig::new();
    let sshd = Sshd::start(&rig, instead)?;
    Some((rig, sshd))
}

fn command(rig: &Rig, sshd: &Sshd, args: &[&str]) -> Command {
    let mut command = rig.command(args);
    command.env("IOTAX_SSH_CONFIG", &sshd.config).stdin(Stdio::null());
    command
}

fn iotax(rig: &Rig, sshd: &Sshd, args: &[&str]) -> Output {
    command(rig, sshd, args).output().unwrap()
}

fn report(rig: &Rig, sshd: &Sshd, args: &[&str]) -> Value {
    let output = iotax(rig, sshd, &[args, QUICK, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file of 64 MiB that iotax makes there.
fn file(rig: &Rig, name: &str) -> String {
    format!("ssh:elsewhere:{},size=64MiB,agent=fio", rig.path(name).display())
}

/// What of a run is left: processes (its ssh ones, too) and sockets.
fn left(rig: &Rig) -> Vec<String> {
    let mut left: Vec<String> =
        traces(&rig.path("")).into_iter().filter(|line| !line.contains("sshd_config")).collect();
    left.extend(fios(rig));
    for run in rig.run_dirs() {
        let names = std::fs::read_dir(run)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().into_string().unwrap());
        left.extend(names.filter(|name| name.starts_with("ssh-")));
    }
    left
}

/// fio's own command line names no file.
fn fios(rig: &Rig) -> Vec<String> {
    open_in(rig, "fio")
}

/// Processes of that name that have a file of the rig open.
fn open_in(rig: &Rig, program: &str) -> Vec<String> {
    let folder = rig.path("");
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        let files = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let open = files
            .flat_map(|fd| std::fs::read_link(fd.path()))
            .any(|path| path.starts_with(&folder));
        found.extend((name.trim() == program && open).then(|| format!("{:?}", process.path())));
    }
    found
}

#[test]
fn fio_there_reads_and_writes_a_file_that_is_made_and_removed() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let there = file(&rig, "x.img");
    for load in
        [&["--rw", "randread", "--iodepth", "8"][..], &["--rw", "randwrite", "--iodepth", "4"]]
    {
        let report = report(&rig, &sshd, &[&["run", &there][..], load].concat());
        let row = &report["workloads"][0]["rows"][0];
        assert_eq!(row["place"], "ssh:elsewhere", "{report}");
        assert!(row["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0), "{report}");
        let worker = &rig.records("worker")[0];
        assert!(worker["engine"].as_str().unwrap().starts_with("fio 3."), "{worker}");
        assert!(
            worker["why"]
                .as_str()
                .unwrap()
                .starts_with("no agent on elsewhere (agent=fio); fio's "),
            "{worker}"
        );
        assert!(worker["command"].to_string().contains("allow_file_create=0"), "{worker}");
        for slice in rig.records("slice") {
            assert!(
                slice["cpu"].is_null() && slice["gate"].is_null(),
                "nothing is made up: {slice}"
            );
            let flush = slice["samples"].to_string().contains("\"flush\"");
            assert_eq!(flush, load[1] == "randwrite", "{slice}");
        }
        assert!(!rig.path("x.img").exists(), "made and removed");
        assert_eq!(left(&rig), Vec::<String>::new());
    }
    let place = &rig.records("place")[0];
    assert!(
        place["facts"]["kernel"].is_string() && place["facts"]["cpu"]["threads"].is_u64(),
        "{place}"
    );
}

#[test]
fn this_hosts_side_is_loaded_by_fio_too() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let theirs = rig.path("theirs.img");
    std::fs::write(&theirs, vec![7u8; 64 << 20]).unwrap();
    let here = format!("file:{}", theirs.display());
    let there = format!("ssh:elsewhere:{},agent=fio", theirs.display());
    let report = report(&rig, &sshd, &["run", &here, &there]);
    assert!(report.to_string().contains("so the other stacks are loaded by fio too"), "{report}");
    let engines: Vec<String> =
        rig.records("worker").iter().map(|worker| worker["engine"].to_string()).collect();
    assert!(
        engines.len() == 2 && engines[0] == engines[1] && engines[0].contains("fio 3."),
        "{engines:?}"
    );
    assert_eq!(std::fs::read(&theirs).unwrap(), vec![7u8; 64 << 20]);
    // Named on purpose, two generators are compared, and the report says so.
    let mixed = iotax(
        &rig,
        &sshd,
        &[&["run", &here, &there, "--engine", "sync", "--format", "json"][..], QUICK].concat(),
    );
    let text = String::from_utf8_lossy(&mixed.stdout);
    assert!(
        text.contains("it is loaded by fio 3.") && text.contains("the generators' own costs"),
        "{}",
        words(&mixed)
    );
}

#[test]
fn somebody_elses_file_is_never_written_and_a_missing_one_is_told() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let theirs = rig.path("theirs.img");
    std::fs::write(&theirs, vec![7u8; 64 << 20]).unwrap();
    for size in ["", ",size=64MiB"] {
        let there = format!("ssh:elsewhere:{}{size},agent=fio", theirs.display());
        let refused = iotax(&rig, &sshd, &["run", &there, "--rw", "randwrite"]);
        assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
        assert!(words(&refused).contains("is not a file of iotax"), "{}", words(&refused));
    }
    assert_eq!(std::fs::read(&theirs).unwrap(), vec![7u8; 64 << 20]);
    let absent = format!("ssh:elsewhere:{},agent=fio", rig.path("absent.img").display());
    let refused = iotax(&rig, &sshd, &["run", &absent]);
    assert!(
        refused.status.code() == Some(2) && words(&refused).contains("does not exist on elsewhere"),
        "{}",
        words(&refused)
    );
    assert!(words(&refused).contains("add size="), "{}", words(&refused));
    assert!(!rig.path("absent.img").exists());
    assert_eq!(left(&rig), Vec::<String>::new());
}

#[test]
fn a_killed_run_leaves_no_fio_and_clean_removes_its_file() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let there = file(&rig, "x.img");
    let long = ["run", &there, "--slice", "20s", "--min-time", "100s", "--budget", "100s"];
    let mut killed = command(&rig, &sshd, &long);
    let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait(|| !fios(&rig).is_empty(), 60, "the fio of a slice");
    child.kill().unwrap();
    child.wait().unwrap();
    wait(|| fios(&rig).is_empty(), 15, "the end of fio");
    assert!(rig.path("x.img").exists());
    let cleaned = iotax(&rig, &sshd, &["clean"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
    assert!(!rig.path("x.img").exists(), "{}", words(&cleaned));
}

#[test]
fn a_run_killed_while_its_file_is_filled_is_cleaned() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let there = format!("ssh:elsewhere:{},size=4GiB,agent=fio", rig.path("x.img").display());
    let mut killed = command(&rig, &sshd, &["run", &there]);
    let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait(|| !open_in(&rig, "dd").is_empty(), 60, "the fill");
    child.kill().unwrap();
    child.wait().unwrap();
    wait(|| open_in(&rig, "dd").is_empty(), 15, "the end of the fill");
    let cleaned = iotax(&rig, &sshd, &["clean"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
    assert!(!rig.path("x.img").exists(), "{}", words(&cleaned));
}

#[test]
fn ctrl_c_leaves_nothing() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let there = file(&rig, "x.img");
    let mut command =
        command(&rig, &sshd, &["run", &there, "--min-time", "60s", "--budget", "60s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait(|| !fios(&rig).is_empty(), 60, "the fio of a slice");
    signal(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    assert!(!rig.path("x.img").exists());
    assert_eq!(left(&rig), Vec::<String>::new());
}

/// A PATH in which there is all that is on this machine but these programs.
fn path_without(rig: &Rig, missing: &[&str]) -> String {
    let folder = rig.path("bin");
    std::fs::create_dir(&folder).unwrap();
    for program in std::fs::read_dir("/usr/bin").unwrap().flatten() {
        let name = program.file_name().into_string().unwrap();
        if !missing.contains(&name.as_str()) {
            std::os::unix::fs::symlink(program.path(), folder.join(name)).unwrap();
        }
    }
    folder.display().to_string()
}

#[test]
fn a_host_without_fio_is_told_the_command_that_supplies_it() {
    if !can(
        "a fio that is in /usr/bin alone",
        has("fio") && !Path::new("/usr/local/bin/fio").exists(),
    ) {
        return;
    }
    let rig = Rig::new();
    let path = path_without(&rig, &["fio"]);
    let Some(sshd) = Sshd::start(
        &rig,
        Some(&format!("PATH={path}; export PATH; exec sh -c \"$SSH_ORIGINAL_COMMAND\"")),
    ) else {
        return;
    };
    let refused = iotax(&rig, &sshd, &["run", &file(&rig, "x.img")]);
    assert_eq!(refused.status.code(), Some(3), "{}", words(&refused));
    assert!(
        words(&refused).contains("there is no fio in the PATH there; hint: "),
        "{}",
        words(&refused)
    );
    assert!(
        words(&refused).contains("install fio") || words(&refused).contains("fio there"),
        "{}",
        words(&refused)
    );
    assert!(!rig.path("x.img").exists());
}

#[test]
fn a_host_that_does_not_run_our_binary_says_what_does() {
    let instead = "f=$(mktemp -d); printf '%s\\n' '#!/bin/sh' 'if [ \"$1\" = -m ]; then echo aarch64; else exec /usr/bin/uname \"$@\"; fi' > $f/uname; chmod 755 $f/uname; PATH=$f:$PATH sh -c \"$SSH_ORIGINAL_COMMAND\"; r=$?; rm -r $f; exit $r";
    let Some((rig, sshd)) = elsewhere(Some(instead)) else { return };
    std::fs::write(rig.path("x.img"), vec![7u8; 16 << 20]).unwrap();
    let there = format!("ssh:elsewhere:{}", rig.path("x.img").display());
    let refused = iotax(&rig, &sshd, &["run", &there]);
    assert_eq!(refused.status.code(), Some(4), "{}", words(&refused));
    assert!(words(&refused).contains("it is a aarch64 machine"), "{}", words(&refused));
    assert!(words(&refused).contains("agent=fio"), "{}", words(&refused));
    let report = report(&rig, &sshd, &["run", &format!("{there},agent=fio")]);
    assert!(
        report["workloads"][0]["rows"][0]["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0),
        "{report}"
    );
}

/// A loop device that ends with this value.
struct Loop(String);

impl Loop {
    fn of(rig: &Rig) -> Option<Loop> {
        if !can_loop() || !can_run(&["losetup"]) {
            return None;
        }
        let path = rig.path("disk.img");
        std::fs::write(&path, vec![0u8; 64 << 20]).unwrap();
        let output =
            Command::new("losetup").args(["--find", "--show"]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        Some(Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_device_there_is_written_only_by_its_own_name() {
    let Some((rig, sshd)) = elsewhere(None) else { return };
    let Some(device) = Loop::of(&rig) else { return };
    let there = format!("ssh:elsewhere:{},agent=fio", device.0);
    let run = ["run", &there, "--rw", "randwrite"];
    let refused = iotax(&rig, &sshd, &run);
    assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
    let text = words(&refused);
    let option = text
        .split("--destroy ")
        .nth(1)
        .unwrap_or_else(|| panic!("{text}"))
        .split(' ')
        .next()
        .unwrap();
    assert!(option.starts_with("serial=boot-") && !option.contains("unseen"), "{text}");
    // Somebody holds it: no word opens it then.
    let holder = std::fs::File::open(&device.0).unwrap();
    let held = iotax(&rig, &sshd, &[&run[..], &["--destroy", option]].concat());
    assert!(
        held.status.code() == Some(2) && words(&held).contains("open in process"),
        "{}",
        words(&held)
    );
    drop(holder);
    let report = report(&rig, &sshd, &[&run[..], &["--destroy", option]].concat());
    assert!(
        report["workloads"][0]["rows"][0]["iops"]["value"].as_f64().is_some_and(|iops| iops > 1.0),
        "{report}"
    );
    // What the run left there must be named the next time.
    let again = iotax(&rig, &sshd, &[&run[..], &["--destroy", option]].concat());
    assert!(
        again.status.code() == Some(2) && words(&again).contains("wipe=data"),
        "{}",
        words(&again)
    );
}

/// Behaves like cmd.exe with PowerShell for the commands of iotax, and for no others. It has a file
/// `C:\iotax\x.img`, which is one of this machine, made, marked and removed as Windows would be
/// asked to; fio is the one of this machine.
const WINDOWS: &str = r#"
c=$SSH_ORIGINAL_COMMAND
f=FOLDER/x.img
octal() { for b in $(echo "$1" | tr , ' '); do printf "\\$(printf %03o "$b")"; done; }
list() { printf %s "$s" | sed -n 's/.*\$'"$1"'=@(\([0-9,]*\)).*/\1/p'; }
mark() { n=$(list x | tr , '\n' | grep -c .); { octal "$(list x)"; head -c $((4092 - n)) /dev/zero; octal "$(list y)"; } >> "$f"; }
say() { printf 'Microsoft Windows [Version 10.0]\r\nIOTAX-SSH %s\r\n' "$1"; exit 0; }
case $c in
'fio '*) sed -e 's/^filename=.*/filename='"$(printf %s "$f" | sed 's/[\/]/\\\//g')"'/' -e 's/windowsaio/psync/' -e 's/^iodepth=.*/iodepth=1/' | sh -c "$c"; exit $?;;
'powershell -NoProfile -NonInteractive -EncodedCommand '*) s=$(printf %s "${c##* }" | base64 -d | iconv -f UTF-16LE -t UTF-8);;
*) echo "'${c%% *}' is not recognized as an internal or external command," >&2; echo 'operable program or batch file.' >&2; exit 1;;
esac
case $s in
*Win32_OperatingSystem*) say '{"host":"WIN7","os":"Microsoft Windows","version":"10.0","memory":1048576,"cpu":"a processor","sockets":1,"cores":2.0,"threads":2.0,"fio":"'"$(fio --version | tr -d '\r')"'","disks":[]}';;
*CreateNew*) if [ -e "$f" ]; then echo 'The file already exists.' >&2; exit 1; fi; : > "$f"; say '{"inode":638000000000000000,"total":100000000000,"free":90000000000}';;
*Remove-Item*) rm "$f"; say '{"done":1}';;
*GetBytes*) dd if=/dev/urandom of="$f" bs=1048576 count=64 conv=notrunc; say '{"done":1}';;
*SetLength*) truncate -s 67108864 "$f"; mark; say '{"done":1}';;
*FlushFileBuffers*) sync "$f"; say '{"ns":1234567}';;
*'Get-Item -LiteralPath'*)
  [ -e "$f" ] || say '{"kind":"nothing"}'
  say '{"kind":"file","bytes":'"$(stat -c %s "$f")"',"born":638000000000000000,"link":false,"read_only":false,"trailer":"'"$(tail -c 4096 "$f" | od -An -v -tx1 | tr -d '\n' | sed 's/^ //; s/ /-/g')"'"}';;
esac
echo "not in this Windows: $s" >&2
exit 1
"#;

#[test]
fn the_conversation_with_a_windows_that_is_played() {
    if !can_run(&["fio"]) {
        return;
    }
    let rig = Rig::new();
    let folder = rig.path("win");
    std::fs::create_dir(&folder).unwrap();
    let Some(sshd) = Sshd::start(&rig, Some(&WINDOWS.replace("FOLDER", folder.to_str().unwrap())))
    else {
        return;
    };
    // An agent of ours does not come up there, and the message says what does.
    let refused = iotax(&rig, &sshd, &["run", "ssh:elsewhere:/srv/x.img"]);
    assert!(
        words(&refused).contains("'exec' is not recognized")
            && words(&refused).contains("agent=fio"),
        "{}",
        words(&refused)
    );
    let posix = iotax(&rig, &sshd, &["run", "ssh:elsewhere:/srv/x.img,agent=fio"]);
    assert!(words(&posix).contains("'exec' is not recognized"), "{}", words(&posix));
    // Somebody's file is read, and never written.
    std::fs::write(folder.join("x.img"), vec![7u8; 64 << 20]).unwrap();
    let there = r"ssh:elsewhere:C:\iotax\x.img,agent=fio";
    let report = report(&rig, &sshd, &["run", there]);
    assert!(
        report["workloads"][0]["rows"][0]["iops"]["value"].as_f64().is_some_and(|iops| iops > 10.0),
        "{report}"
    );
    let worker = &rig.records("worker")[0];
    assert!(worker["command"].to_string().contains(r"filename=C\\:\\iotax\\x.img"), "{worker}");
    assert!(worker["why"].as_str().unwrap().ends_with("fio's windowsaio at depth 1"), "{worker}");
    assert_eq!(rig.records("place")[0]["facts"]["hostname"], "WIN7");
    let written = iotax(&rig, &sshd, &["run", there, "--rw", "randwrite"]);
    assert!(
        written.status.code() == Some(2) && words(&written).contains("not a file of iotax"),
        "{}",
        words(&written)
    );
    assert_eq!(std::fs::read(folder.join("x.img")).unwrap(), vec![7u8; 64 << 20]);
    // One of ours is made, written and removed.
    std::fs::remove_file(folder.join("x.img")).unwrap();
    let ours = r"ssh:elsewhere:C:\iotax\x.img,size=64MiB,agent=fio";
    let written = self::report(&rig, &sshd, &["run", ours, "--rw", "randwrite"]);
    assert!(
        written["workloads"][0]["rows"][0]["durable_bytes_per_s"]["value"].as_f64().unwrap() > 0.0,
        "{written}"
    );
    assert!(
        rig.records("slice")[1]["samples"].to_string().contains("1234567"),
        "the flush as it is timed there"
    );
    assert!(!folder.join("x.img").exists());
}

/// The fio of Windows by Wine: IOTAX_FIO_EXE is a fio.exe, with what it needs beside it, IOTAX_WINE
/// a wine64. No package has one: it is built by mingw from the source of Debian's fio (`./configure
/// --cc=x86_64-w64-mingw32-gcc --cpu=x86_64 --target-win-ver=7 --disable-native`).
#[test]
#[ignore = "needs a fio.exe, which no package has"]
fn fio_exe_by_wine_runs_what_windows_is_sent() {
    let (Some(fio), Some(wine)) =
        (std::env::var_os("IOTAX_FIO_EXE"), std::env::var_os("IOTAX_WINE"))
    else {
        panic!("IOTAX_FIO_EXE and IOTAX_WINE are not set")
    };
    let rig = Rig::new();
    let drive = rig.path("prefix/drive_c/iotax");
    std::fs::create_dir_all(&drive).unwrap();
    let by_wine = format!(
        "fio() {{ WINEPREFIX={} WINEDEBUG=-all {} {} \"$@\"; }}\n",
        rig.path("prefix").display(),
        Path::new(&wine).display(),
        Path::new(&fio).display()
    );
    let line = WINDOWS.lines().find(|line| line.starts_with("'fio '*)")).unwrap();
    let play = by_wine + &WINDOWS.replace(line, "'fio '*) eval \"$c\"; exit $?;;");
    let Some(sshd) = Sshd::start(&rig, Some(&play.replace("FOLDER", drive.to_str().unwrap())))
    else {
        return;
    };
    let ours = r"ssh:elsewhere:C:\iotax\x.img,size=64MiB,agent=fio";
    for (load, figure) in [("randread", "iops"), ("randwrite", "durable_bytes_per_s")] {
        let load = [
            "--rw",
            load,
            "--iodepth",
            "4",
            "--slice",
            "1s",
            "--min-time",
            "4s",
            "--budget",
            "12s",
        ];
        let args =
            [&["run", ours][..], &load, &["--matched-rate", "off", "--format", "json"]].concat();
        let output = iotax(&rig, &sshd, &args);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            report["workloads"][0]["rows"][0][figure]["value"].as_f64().unwrap() > 0.0,
            "{report}"
        );
        let worker = &rig.records("worker")[0];
        assert!(worker["why"].as_str().unwrap().ends_with("fio's windowsaio"), "{worker}");
    }
    assert!(!drive.join("x.img").exists(), "made and removed");
}
