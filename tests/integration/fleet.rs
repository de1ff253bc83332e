//! A fleet over ssh: hosts are sshds on loopback, each with a state folder of its own.

use crate::fleet_rig::{FleetRig, ended, run_tool};
use crate::rig::{Rig, can, program, wait};
use crate::sshd::Sshd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hosts n1, n2, ... with an installed iotax, as each has the same program.
pub struct SshFleet {
    pub fleet: FleetRig,
    pub sshd: Sshd,
}

/// Load of a second.
pub const LOAD: &str = "--budget 1s --precision 50%";
/// Scenario and table that [`SshFleet::write_scenario`] writes.
pub const OWN: &str = "own-scenario.toml --hosts hosts --consent own.toml";

impl SshFleet {
    pub fn start(hosts: usize) -> Option<SshFleet> {
        let rig = Rig::new();
        let sshd = Sshd::start(&rig, None)?;
        let bin = rig.path("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("iotax")).unwrap();
        let config = sshd.config.clone();
        let mut lab = SshFleet { fleet: FleetRig::new(rig, &[("IOTAX_SSH_CONFIG", config)]), sshd };
        for host in 1..=hosts {
            lab.serve(&format!("n{host}"), &[]);
        }
        lab.list(hosts);
        Some(lab)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.fleet.rig.path(name)
    }

    /// Adds a host whose programs are, first, those of `scripts`.
    fn serve(&mut self, host: &str, scripts: &[(&str, &str)]) {
        let own = self.path(&format!("bin-{host}"));
        std::fs::create_dir_all(&own).unwrap();
        for (name, text) in scripts {
            script(&own.join(name), text);
        }
        let bin = self.path("bin");
        let path = format!("{}:{}:/usr/bin:/bin:/usr/sbin:/sbin", own.display(), bin.display());
        let state = self.state(host);
        std::fs::create_dir_all(&state).unwrap();
        let [home, state] = [&own, &state].map(|folder| folder.to_str().unwrap());
        let variables = [("HOME", home), ("XDG_STATE_HOME", state), ("PATH", &path)];
        self.sshd.serve_with_environment(host, &variables);
    }

    fn state(&self, host: &str) -> PathBuf {
        self.path(&format!("state-{host}"))
    }

    pub fn list(&self, hosts: usize) {
        std::fs::write(self.path("hosts"), format!("n[1-{hosts}]\n")).unwrap();
    }

    /// Runs on a small file, which the hosts share, one host after the other.
    fn run_file(&self, code: i32, words: &str) -> (String, String) {
        let file = self.fleet.rig.file("x.img", 16);
        self.fleet.run(code, &format!("run {file} --hosts hosts --parallel 1 {LOAD} {words}"))
    }

    /// Writes a scenario with a file of its own for each host: they have one file system.
    pub fn write_scenario(&self, hosts: u32, stack: &str) {
        let row = |host| {
            let file = self.fleet.rig.file(&format!("x{host}.img"), 512);
            format!("[n{host}]\ndevice = [\"own={file}\"]\n")
        };
        let table: String = (1..=hosts).map(row).collect();
        std::fs::write(self.path("own.toml"), table).unwrap();
        let scenario = format!(
            "[device.own]\npath = \"file:/nowhere.img\"\nsize = \"512MiB\"\n[stack.s]\ntext = \"{stack}\"\n\
             [[workload]]\nrw = \"randread\"\nbs = \"4k\"\n"
        );
        std::fs::write(self.path("own-scenario.toml"), scenario).unwrap();
    }

    /// Files that iotax has left on a host.
    fn left_on(&self, host: &str) -> Vec<PathBuf> {
        files_below(&self.state(host))
    }

    /// Returns the mark of the task that has begun on a host.
    fn started(&self, host: &str) -> Option<PathBuf> {
        self.left_on(host).into_iter().find(|path| path.ends_with("started.json"))
    }

    /// Kills the task that has begun on a host.
    fn kill_task(&self, host: &str) {
        let mark = std::fs::read_to_string(self.started(host).unwrap()).unwrap();
        let pid = serde_json::from_str::<Value>(&mark).unwrap()["pid"].as_i64().unwrap() as i32;
        let killed = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    }

    /// Returns the records of the run on a host, so far.
    fn index_of(&self, host: &str) -> String {
        let index = self.left_on(host).into_iter().find(|path| path.ends_with("index.jsonl"));
        index.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }
}

fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path().is_dir() {
            true => files_below(&entry.path()),
            false => vec![entry.path()],
        })
        .collect()
}

/// A file system of limited size while it lives, in place of a host's state folder.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf, size: &str) -> SmallDisk {
        let option = format!("size={size}");
        run_tool(Command::new("mount").args(["-t", "tmpfs", "-o", &option, "none"]).arg(&folder));
        SmallDisk(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a task may still have files open there.
        run_tool(Command::new("umount").arg("-l").arg(&self.0));
    }
}

#[test]
fn each_host_has_a_run_and_nothing_is_left_there() {
    let Some(lab) = SshFleet::start(3) else { return };
    let file = "file:/var/tmp/iotax-fleet-x.img,size=16MiB";
    let (plan, _) = lab.fleet.run(0, &format!("plan {file} --hosts hosts"));
    assert!(plan.starts_with("3 hosts by ssh, 3 at a time: 1 turn\n"), "{plan}");
    let ready = "n1, n2, n3: ready\n\n3 of 3 hosts are ready; to start: iotax ";
    assert!(plan.contains("on n1:\nWrites ") && plan.contains(ready), "{plan}");
    let (plan, _) = lab.fleet.run(3, "plan /dev/none --hosts hosts --limit n[1-2]");
    assert!(
        plan.contains("n1, n2: /dev/none") && plan.contains("0 of 2 hosts are ready"),
        "{plan}"
    );
    assert!(lab.left_on("n2").is_empty(), "a plan leaves nothing: {:?}", lab.left_on("n2"));
    let (table, _) = lab.fleet.run(0, "drives --hosts hosts");
    assert_eq!(table.matches("]\ndestroy = [\n").count(), 3, "{table}");
    assert!(lab.left_on("n3").is_empty(), "neither do drives: {:?}", lab.left_on("n3"));
    let (out, err) = lab.run_file(0, "--expect 3");
    assert!(out.starts_with("3 of 3 hosts done"), "{out}");
    assert!(err.contains("n2: done  (2 of 3 hosts done; 1 waiting)"), "{err}");
    for host in ["n1", "n2", "n3"] {
        lab.fleet.check_run(host);
        assert!(lab.left_on(host).is_empty(), "{:?}", lab.left_on(host));
    }
    let (list, _) = lab.fleet.run(0, "status");
    assert!(list.contains("3 of 3 hosts done"), "{list}");
    let (_, again) = lab.fleet.run(0, "resume last");
    assert!(!again.contains("done  ("), "a host that is done is left alone: {again}");
}

#[test]
fn hosts_that_cannot_take_a_task_have_a_state_and_a_next_command() {
    let Some(mut lab) = SshFleet::start(1) else { return };
    lab.serve("n2", &[("uname", "[ \"$1\" = -m ] && echo aarch64 || echo Linux")]);
    let ahead = "[ \"$1\" = +%s ] && expr $(/usr/bin/date +%s) + 3600 || exec /usr/bin/date \"$@\"";
    lab.serve("n3", &[("date", ahead)]);
    // A host that refuses the key, one without a name, and one whose state folder is full.
    lab.serve("n4", &[]);
    lab.sshd.refuse_key("n4");
    lab.serve("n6", &[("iotax", "exit 1")]);
    let full = SmallDisk::mount(lab.state("n6"), "64k");
    lab.list(6);
    let (out, _) = lab.run_file(4, "");
    drop(full);
    assert!(out.starts_with("2 of 6 hosts done; 2 refused; 2 never started\n"), "{out}");
    for (host, state, part) in [
        ("n1", "done", ""),
        ("n2", "refused", "aarch64"),
        ("n3", "done", ""),
        ("n4", "never started", "Permission denied"),
        ("n5", "never started", "cannot connect"),
        ("n6", "refused", "whole"),
    ] {
        let found = lab.fleet.state_of(host);
        assert!(found.0 == state && found.1.contains(part), "{host}: {found:?}\n{out}");
    }
    assert!(out.contains("--limit '!n2'") && out.contains("resume"), "{out}");
    let ticket = std::fs::read_to_string(lab.fleet.host("n3").join("ticket.json")).unwrap();
    let ahead = serde_json::from_str::<Value>(&ticket).unwrap()["clock_ahead_s"].as_i64().unwrap();
    assert!((3590..=3610).contains(&ahead), "{ahead}");
}

#[test]
#[ignore = "a login has a minute"]
fn a_login_that_hangs_holds_no_other_host_up() {
    let Some(mut lab) = SshFleet::start(2) else { return };
    lab.serve("n1", &[("uname", "exec sleep 300")]);
    let (out, _) = lab.run_file(4, "");
    assert!(out.starts_with("1 of 2 hosts done; 1 never started\n"), "{out}");
    let (_, why) = lab.fleet.state_of("n1");
    assert!(why.contains("the login did not end within 60 s"), "{why}");
    assert!(out.contains("see what hangs: ssh n1 true"), "{out}");
}

#[test]
fn a_disk_that_fills_during_a_run_ends_it_and_the_rest_is_cleaned() {
    let Some(lab) = SshFleet::start(2) else { return };
    lab.write_scenario(2, "own");
    let small = SmallDisk::mount(lab.state("n1"), "2m");
    let run = lab.fleet.spawn(&format!("run {OWN} --budget 20s --min-time 5s"));
    wait(|| lab.index_of("n1").contains("\"record\":\"s"), 60, "a slice of n1");
    let filler = lab.state("n1").join("filler");
    // As much as fits: the write ends with an error.
    assert!(std::fs::write(&filler, vec![1; 4 << 20]).is_err());
    let out = ended(run, 4);
    assert!(out.starts_with("1 of 2 hosts done; 1 "), "{out}");
    std::fs::remove_file(filler).unwrap();
    assert_eq!(lab.fleet.state_of("n2").0, "done");
    let (state, why) = lab.fleet.state_of("n1");
    assert!(state == "failed" && why.contains("No space left on device"), "{state}: {why}");
    assert!(lab.left_on("n1").is_empty(), "{:?}", lab.left_on("n1"));
    let (out, _) = lab.fleet.run(0, "resume last");
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    drop(small);
}

#[test]
fn a_selector_that_fits_nothing_or_too_much_is_refused() {
    let Some(mut lab) = SshFleet::start(2) else { return };
    for (words, part) in [
        ("--limit n9", "\"n9\" matches no host"),
        ("--expect 3", "has 2 hosts and you expected 3"),
        ("--consent none.toml", "none.toml"),
        ("--destroy serial=S1", "--consent FILE"),
    ] {
        let (_, err) = lab.run_file(2, words);
        assert!(err.contains(part), "{words}: {err}");
    }
    // Two names of one host: the same folder on the same machine.
    let same = lab.state("n1");
    lab.sshd.serve_with_environment("n3", &[("XDG_STATE_HOME", same.to_str().unwrap())]);
    lab.list(3);
    let (_, err) = lab.run_file(2, "");
    assert!(err.contains("n1 and n3 are the same host"), "{err}");
    assert!(lab.left_on("n1").is_empty() && lab.left_on("n2").is_empty());
    for (text, part) in [
        ("[n1]\ndestroy = [\"serial=S1\"]\n", "consent.toml has no row for n2, n3"),
        (
            "[n1]\ndestroy = [\"serial=S1\"]\n[n2]\ndestroy = [\"serial=S1\"]\n",
            "the drive S1 is named for n1 and for n2",
        ),
        ("[n1]\ndestroy = [\"/dev/sda\"]\n", "[n1] destroy"),
        ("[n1]\nserials = [\"S1\"]\n", "consent.toml:2"),
        ("[n9]\n", "not chosen: n9"),
    ] {
        std::fs::write(lab.path("consent.toml"), text).unwrap();
        let (_, err) = lab.run_file(2, "--consent consent.toml");
        assert!(err.contains(part), "{text}: {err}");
    }
}

#[test]
fn a_cut_connection_leaves_the_task_running_and_it_is_found_again() {
    let Some(mut lab) = SshFleet::start(2) else { return };
    lab.write_scenario(2, "own");
    let run = lab.fleet.spawn(&format!("run {OWN} --budget 12s --min-time 10s --patience 2s"));
    wait(|| lab.started("n2").is_some(), 60, "the task of n2");
    // The task is not a child of the server.
    lab.sshd.cut("n2");
    let text = ended(run, 4);
    assert!(text.contains("1 unknown"), "{text}");
    assert!(lab.fleet.state_of("n2").1.contains("may still be running"), "{text}");
    lab.serve("n2", &[]);
    let (out, _) = lab.fleet.run(0, "resume last");
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    assert_eq!(lab.fleet.attempts("n2"), 1, "nothing was started twice");
    assert!(lab.left_on("n2").is_empty());
}

#[test]
fn a_task_that_is_killed_is_lost_and_a_cancelled_one_keeps_what_it_measured() {
    let Some(lab) = SshFleet::start(2) else { return };
    let can_mount = lab.fleet.rig.loop_and_xfs().is_some();
    lab.write_scenario(2, if can_mount { "own | loop | fs(xfs)" } else { "own" });
    let run = lab.fleet.spawn(&format!("run {OWN} --budget 60s --min-time 50s"));
    wait(|| lab.started("n1").is_some() && lab.started("n2").is_some(), 60, "both tasks");
    wait(|| lab.index_of("n2").contains("\"record\":\"s"), 60, "a slice of n2");
    lab.kill_task("n1");
    let (out, _) = lab.fleet.run(0, "cancel last");
    assert!(out.contains("gathers what was measured"), "{out}");
    let text = ended(run, 4);
    assert_eq!(lab.fleet.state_of("n1").0, "lost", "{text}");
    let (state, why) = lab.fleet.state_of("n2");
    assert!(state == "failed" && why.contains("exit code 4: it was interrupted"), "{state} {why}");
    assert!(lab.fleet.host("n2").join("attempt-1/run.iotax").exists());
    let (out, _) = lab.fleet.run(0, "clean last");
    assert!(out.starts_with("2 of 2 hosts clean"), "{out}");
    assert!(lab.left_on("n1").is_empty() && lab.left_on("n2").is_empty());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(lab.path("").to_str().unwrap()), "{mounts}");
}

/// A drive of this machine with a serial, which a load that only reads may name.
fn some_serial() -> Option<String> {
    let text = run_tool(Command::new(program()).args(["fleet", "task", "look", "/tmp/none"]));
    let look: Value = serde_json::from_str(text.trim().strip_prefix("IOTAX-FLEET look ")?).ok()?;
    Some(look["drives"][0]["serial"].as_str()?.to_owned())
}

#[test]
fn a_consent_is_spent_also_after_the_host_was_cleaned() {
    let Some(lab) = SshFleet::start(1) else { return };
    let serial = some_serial();
    if !can("a drive with a serial", serial.is_some()) {
        return;
    }
    let table = format!("[n1]\ndestroy = [\"serial={}\"]\n", serial.unwrap());
    std::fs::write(lab.path("consent.toml"), &table).unwrap();
    let file = lab.fleet.rig.file("x.img", 16);
    let consent = "--consent consent.toml";
    let load = "--budget 60s --min-time 50s";
    let run = lab.fleet.spawn(&format!("run {file} --hosts hosts {consent} {load}"));
    wait(|| lab.started("n1").is_some(), 60, "the task");
    lab.kill_task("n1");
    let text = ended(run, 4);
    assert!(text.contains("1 lost") && text.contains("--consent FILE"), "{text}");
    let (out, _) = lab.fleet.run(0, "clean last");
    assert!(out.starts_with("1 of 1 hosts clean") && lab.left_on("n1").is_empty(), "{out}");
    let (out, _) = lab.fleet.run(4, "resume last");
    assert!(out.starts_with("0 of 1 hosts done; 1 lost"), "{out}");
    assert!(out.contains("--consent FILE"), "{out}");
    assert!(lab.started("n1").is_none());
    // With the consent given anew it begins; it is ended soon.
    let again = lab.fleet.spawn(&format!("resume last {consent}"));
    wait(|| lab.started("n1").is_some(), 60, "the task, again");
    lab.fleet.run(0, "cancel last");
    let output = again.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 failed") || text.contains("1 of 1 hosts done"), "{text}");
}

#[test]
fn the_hosts_of_a_group_are_loaded_together() {
    let Some(mut lab) = SshFleet::start(0) else { return };
    for host in ["n1", "n2", "n3"] {
        lab.sshd.serve_apart(host);
    }
    lab.write_scenario(3, "own");
    std::fs::write(lab.path("hosts.ini"), "[pair]\nn1\nn2\n[rest]\nn3\n").unwrap();
    let own = OWN.replace("--hosts hosts", "--hosts hosts.ini");
    let (_, err) = lab.fleet.run(2, &format!("run {own} --together rest"));
    assert!(err.contains("has 1 hosts, and two are needed; groups: pair, rest, all"), "{err}");
    let (_, err) = lab.fleet.run(2, &format!("run {own} --together pair,all"));
    assert!(err.contains("n1 is in pair and in all") && err.contains("--parallel 1"), "{err}");
    let together = "--together pair,all --parallel 1";
    let (out, _) = lab.fleet.run(0, &format!("run {own} {together} {LOAD}"));
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    for (group, places) in [("pair", 2), ("all", 3)] {
        let found = lab.fleet.check_run(group);
        assert_eq!(found["places"].as_array().unwrap().len(), places, "{}", found["places"]);
    }
}
