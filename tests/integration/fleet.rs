//! A fleet over ssh: hosts are sshds on loopback, each with a state folder of its own.

use crate::rig::{Rig, can, program, wait};
use crate::sshd::Sshd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Hosts n1, n2, ... with an installed iotax, as each has the same program.
struct Fleet {
    rig: Rig,
    sshd: Sshd,
}

/// Load of a second on a file of each host.
const LOAD: [&str; 4] = ["--budget", "1s", "--precision", "50%"];

impl Fleet {
    fn start(hosts: usize) -> Option<Fleet> {
        let rig = Rig::new();
        let sshd = Sshd::start(&rig, None)?;
        let mut fleet = Fleet { rig, sshd };
        let bin = fleet.rig.path("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("iotax")).unwrap();
        for host in 1..=hosts {
            fleet.serve(&format!("n{host}"), &[]);
        }
        fleet.list(hosts);
        Some(fleet)
    }

    /// Adds a host whose programs are, first, those of `scripts`.
    fn serve(&mut self, host: &str, scripts: &[(&str, &str)]) {
        let own = self.rig.path(&format!("bin-{host}"));
        std::fs::create_dir_all(&own).unwrap();
        for (name, text) in scripts {
            script(&own.join(name), text);
        }
        let path = format!(
            "{}:{}:/usr/bin:/bin:/usr/sbin:/sbin",
            own.display(),
            self.rig.path("bin").display()
        );
        let state = self.state(host);
        std::fs::create_dir_all(&state).unwrap();
        self.sshd.serve_with_environment(
            host,
            &[
                ("HOME", own.to_str().unwrap()),
                ("XDG_STATE_HOME", state.to_str().unwrap()),
                ("PATH", &path),
            ],
        );
    }

    fn state(&self, host: &str) -> PathBuf {
        self.rig.path(&format!("state-{host}"))
    }

    fn list(&self, hosts: usize) {
        std::fs::write(self.rig.path("hosts"), format!("n[1-{hosts}]\n")).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.rig.command(&[&["fleet"], args].concat());
        command
            .env("IOTAX_SSH_CONFIG", &self.sshd.config)
            .env("IOTAX_FLEETS", self.rig.path("fleets"));
        command
    }

    fn run(&self, code: i32, args: &[&str]) -> (String, String) {
        let output: Output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "iotax fleet {args:?}\n{out}\n{err}");
        (out, err)
    }

    /// `run` of a small file with these further arguments.
    fn run_file(&self, code: i32, args: &[&str]) -> (String, String) {
        let file = self.rig.file("x.img", 16);
        self.run(
            code,
            &[&["run", &file, "--hosts", "hosts", "--parallel", "1"], &LOAD[..], args].concat(),
        )
    }

    /// Writes a scenario with a file of its own for each host: they have one file system.
    fn write_scenario(&self, hosts: u32, stack: &str) {
        let row = |host| {
            let file = self.rig.file(&format!("x{host}.img"), 512);
            format!("[n{host}]\ndevice = [\"own={file}\"]\n")
        };
        std::fs::write(self.rig.path("own.toml"), (1..=hosts).map(row).collect::<String>())
            .unwrap();
        let scenario = format!(
            "[device.own]\npath = \"file:/nowhere.img\"\nsize = \"512MiB\"\n[stack.s]\ntext = \"{stack}\"\n\
             [[workload]]\nrw = \"randread\"\nbs = \"4k\"\n"
        );
        std::fs::write(self.rig.path("own-scenario.toml"), scenario).unwrap();
    }

    fn states(&self) -> Vec<(String, String, String)> {
        let (text, _) = self.run(0, &["status", "last", "--json"]);
        let hosts: Vec<Value> = serde_json::from_str(&text).unwrap();
        let word = |host: &Value, key: &str| host[key].as_str().unwrap_or_default().to_owned();
        hosts
            .iter()
            .map(|host| (word(host, "host"), word(host, "state"), word(host, "why")))
            .collect()
    }

    fn state_of(&self, host: &str) -> (String, String) {
        let found = self.states().into_iter().find(|(name, ..)| name == host).unwrap();
        (found.1, found.2)
    }

    /// Files that iotax has left on a host.
    fn left_on(&self, host: &str) -> Vec<PathBuf> {
        files_below(&self.state(host))
    }

    fn newest(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.rig.path("fleets")).unwrap();
        entries.map(|entry| entry.unwrap().path()).max().unwrap()
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
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

#[test]
fn each_host_has_a_run_and_nothing_is_left_there() {
    let Some(fleet) = Fleet::start(3) else { return };
    let (plan, _) =
        fleet.run(0, &["plan", "file:/var/tmp/iotax-fleet-x.img,size=16MiB", "--hosts", "hosts"]);
    assert!(plan.starts_with("3 hosts by ssh, 3 at a time: at most 5 min"), "{plan}");
    assert!(plan.ends_with("n1: reachable\nn2: reachable\nn3: reachable\n"), "{plan}");
    assert!(fleet.left_on("n2").is_empty(), "a plan leaves nothing: {:?}", fleet.left_on("n2"));
    let (out, err) = fleet.run_file(0, &["--expect", "3"]);
    assert!(out.starts_with("3 of 3 hosts done\n"), "{out}");
    assert!(err.contains("n2: done  (2 of 3 hosts done; 1 waiting)"), "{err}");
    for host in ["n1", "n2", "n3"] {
        let run = fleet.newest().join(format!("hosts/{host}/attempt-1/run.iotax"));
        let found = fleet.rig.json(&["report", run.to_str().unwrap()]);
        assert!(found["workloads"][0]["rows"][0]["iops"]["value"].as_f64().unwrap() > 0.0);
        assert!(fleet.left_on(host).is_empty(), "{:?}", fleet.left_on(host));
    }
    let (list, _) = fleet.run(0, &["status"]);
    assert!(list.contains("3 of 3 hosts done"), "{list}");
    let (_, again) = fleet.run(0, &["resume", "last"]);
    assert!(!again.contains("done  ("), "a host that is done is left alone: {again}");
}

#[test]
fn hosts_that_cannot_take_a_task_have_a_state_and_a_next_command() {
    let Some(mut fleet) = Fleet::start(1) else { return };
    fleet.serve("n2", &[("uname", "[ \"$1\" = -m ] && echo aarch64 || echo Linux")]);
    fleet.serve(
        "n3",
        &[(
            "date",
            "[ \"$1\" = +%s ] && expr $(/usr/bin/date +%s) + 3600 || exec /usr/bin/date \"$@\"",
        )],
    );
    // A host that refuses the key, one without a name, and one whose state folder is full.
    fleet.serve("n4", &[]);
    fleet.sshd.refuse_key("n4");
    fleet.serve("n6", &[("iotax", "exit 1")]);
    let full = fleet.state("n6");
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&full).status();
    assert!(mounted.unwrap().success());
    fleet.list(6);
    let (out, _) = fleet.run_file(4, &[]);
    let unmounted = Command::new("umount").arg(&full).status();
    assert!(unmounted.unwrap().success());
    assert!(out.starts_with("2 of 6 hosts done; 2 refused; 2 never started\n"), "{out}");
    for (host, state, part) in [
        ("n1", "done", ""),
        ("n2", "refused", "aarch64"),
        ("n3", "done", ""),
        ("n4", "never_started", "Permission denied"),
        ("n5", "never_started", "cannot connect"),
        ("n6", "refused", "whole"),
    ] {
        let found = fleet.state_of(host);
        assert!(found.0 == state && found.1.contains(part), "{host}: {found:?}\n{out}");
    }
    assert!(
        out.contains("--limit '!n2'") && out.contains("ssh-copy-id") || out.contains("resume"),
        "{out}"
    );
    let ticket = std::fs::read_to_string(fleet.newest().join("hosts/n3/ticket.json")).unwrap();
    let ahead = serde_json::from_str::<Value>(&ticket).unwrap()["clock_ahead_s"].as_i64().unwrap();
    assert!((3590..=3610).contains(&ahead), "{ahead}");
}

#[test]
fn a_selector_that_fits_nothing_or_too_much_is_refused() {
    let Some(mut fleet) = Fleet::start(2) else { return };
    for (args, part) in [
        (vec!["--limit", "n9"], "\"n9\" matches no host"),
        (vec!["--expect", "3"], "has 2 hosts and you expected 3"),
        (vec!["--consent", "none.toml"], "none.toml"),
        (vec!["--destroy", "serial=S1"], "--consent FILE"),
    ] {
        let (_, err) = fleet.run_file(2, &args);
        assert!(err.contains(part), "{args:?}: {err}");
    }
    // Two names of one host: the same folder on the same machine.
    let same = fleet.state("n1");
    fleet.sshd.serve_with_environment("n3", &[("XDG_STATE_HOME", same.to_str().unwrap())]);
    fleet.list(3);
    let (_, err) = fleet.run_file(2, &[]);
    assert!(err.contains("n1 and n3 are one host"), "{err}");
    assert!(fleet.left_on("n1").is_empty() && fleet.left_on("n2").is_empty());
    for (text, part) in [
        ("[n1]\ndestroy = [\"serial=S1\"]\n", "no row for n2, n3"),
        (
            "[n1]\ndestroy = [\"serial=S1\"]\n[n2]\ndestroy = [\"serial=S1\"]\n",
            "the drive S1 is named for n1 and for n2",
        ),
        ("[n1]\ndestroy = [\"/dev/sda\"]\n", "[n1] destroy"),
        ("[n1]\nserials = [\"S1\"]\n", "consent.toml:2"),
        ("[n9]\n", "not in the fleet: n9"),
    ] {
        std::fs::write(fleet.rig.path("consent.toml"), text).unwrap();
        let (_, err) = fleet.run_file(2, &["--consent", "consent.toml"]);
        assert!(err.contains(part), "{text}: {err}");
    }
}

#[test]
fn a_cut_connection_leaves_the_task_running_and_it_is_found_again() {
    let Some(mut fleet) = Fleet::start(2) else { return };
    fleet.write_scenario(2, "own");
    let args = [
        "run",
        "own-scenario.toml",
        "--hosts",
        "hosts",
        "--consent",
        "own.toml",
        "--budget",
        "12s",
        "--min-time",
        "10s",
        "--patience",
        "2s",
    ];
    let run = fleet.spawn(&args);
    wait(|| fleet.state("n2").exists() && !started(&fleet, "n2").is_empty(), 60, "the task of n2");
    // The task is not a child of the server.
    fleet.sshd.cut("n2");
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(4) && text.contains("1 unknown"), "{text}");
    assert!(fleet.state_of("n2").1.contains("may still be running"), "{text}");
    fleet.serve("n2", &[]);
    let (out, _) = fleet.run(0, &["resume", "last"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    let attempts = std::fs::read_dir(fleet.newest().join("hosts/n2")).unwrap().count();
    assert_eq!(attempts, 2, "one attempt and the ticket: nothing was started twice");
    assert!(fleet.left_on("n2").is_empty());
}

#[test]
fn a_task_that_is_killed_is_lost_and_a_cancelled_one_keeps_what_it_measured() {
    let Some(fleet) = Fleet::start(2) else { return };
    fleet.write_scenario(
        2,
        if fleet.rig.loop_and_xfs().is_some() { "own | loop | fs(xfs)" } else { "own" },
    );
    let args = [
        "run",
        "own-scenario.toml",
        "--hosts",
        "hosts",
        "--consent",
        "own.toml",
        "--budget",
        "60s",
        "--min-time",
        "50s",
    ];
    let run = fleet.spawn(&args);
    wait(
        || !started(&fleet, "n1").is_empty() && !started(&fleet, "n2").is_empty(),
        60,
        "both tasks",
    );
    wait(|| index_of(&fleet, "n2").contains("\"record\":\"s"), 60, "a slice of n2");
    let mark = std::fs::read_to_string(&started(&fleet, "n1")[0]).unwrap();
    let pid = serde_json::from_str::<Value>(&mark).unwrap()["pid"].as_i64().unwrap() as i32;
    let killed = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    let (out, _) = fleet.run(0, &["cancel", "last"]);
    assert!(out.contains("gathers what was measured"), "{out}");
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert_eq!(fleet.state_of("n1").0, "lost", "{text}");
    let (state, why) = fleet.state_of("n2");
    assert!(state == "failed" && why.contains("exit code 4"), "{state} {why}");
    assert!(fleet.newest().join("hosts/n2/attempt-1/run.iotax").exists());
    let (out, _) = fleet.run(0, &["clean", "last"]);
    assert!(out.starts_with("2 of 2 hosts clean"), "{out}");
    assert!(fleet.left_on("n1").is_empty() && fleet.left_on("n2").is_empty());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(fleet.rig.path("").to_str().unwrap()), "{mounts}");
}

/// Returns the program if it is in PATH or in the folder of tools that the long suite makes.
fn tool(name: &str) -> Option<PathBuf> {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/readers/bin")).join(name);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&paths).map(|folder| folder.join(name));
    let found = std::iter::once(own).chain(all).find(|path| path.exists());
    can(name, found.is_some()).then_some(found).flatten()
}

fn run_tool(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

/// A drive of this machine with a serial, which a load that only reads may name.
fn some_serial() -> Option<String> {
    let text =
        Command::new(program()).args(["fleet", "task", "look", "/tmp/none"]).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let look: Value = serde_json::from_str(text.trim().strip_prefix("IOTAX-FLEET look ")?).ok()?;
    Some(look["drives"][0]["serial"].as_str()?.to_owned())
}

#[test]
fn a_consent_is_spent_also_after_the_host_was_cleaned() {
    let Some(fleet) = Fleet::start(1) else { return };
    let Some(serial) =
        some_serial().filter(|serial| can("a drive with a serial", !serial.is_empty()))
    else {
        return;
    };
    let file = fleet.rig.file("x.img", 16);
    let table = format!("[n1]\ndestroy = [\"serial={serial}\"]\n");
    std::fs::write(fleet.rig.path("consent.toml"), &table).unwrap();
    let args = [
        "run",
        &file,
        "--hosts",
        "hosts",
        "--consent",
        "consent.toml",
        "--budget",
        "60s",
        "--min-time",
        "50s",
    ];
    let run = fleet.spawn(&args);
    wait(|| !started(&fleet, "n1").is_empty(), 60, "the task");
    let mark = std::fs::read_to_string(&started(&fleet, "n1")[0]).unwrap();
    let pid = serde_json::from_str::<Value>(&mark).unwrap()["pid"].as_i64().unwrap() as i32;
    let killed = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("1 lost") && text.contains("--consent FILE"), "{text}");
    let (out, _) = fleet.run(0, &["clean", "last"]);
    assert!(out.starts_with("1 of 1 hosts clean") && fleet.left_on("n1").is_empty(), "{out}");
    let (out, _) = fleet.run(4, &["resume", "last"]);
    assert!(
        out.starts_with("0 of 1 hosts done; 1 lost") && out.contains("--consent FILE"),
        "{out}"
    );
    assert!(started(&fleet, "n1").is_empty());
    // With the consent given anew it begins; it is ended soon.
    let again = fleet.spawn(&["resume", "last", "--consent", "consent.toml"]);
    wait(|| !started(&fleet, "n1").is_empty(), 60, "the task, again");
    fleet.run(0, &["cancel", "last"]);
    let output = again.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("1 failed") || text.contains("1 of 1 hosts done"), "{text}");
}

#[test]
fn the_hosts_of_a_group_are_loaded_together() {
    let Some(mut fleet) = Fleet::start(0) else { return };
    for host in ["n1", "n2", "n3"] {
        fleet.sshd.serve_apart(host);
    }
    fleet.write_scenario(3, "own");
    std::fs::write(fleet.rig.path("hosts.ini"), "[pair]\nn1\nn2\n[rest]\nn3\n").unwrap();
    let own = ["run", "own-scenario.toml", "--consent", "own.toml", "--hosts", "hosts.ini"];
    let (_, err) = fleet.run(2, &[&own[..], &["--together", "rest"]].concat());
    assert!(err.contains("has 1 hosts, and two are needed; groups: pair, rest, all"), "{err}");
    let (_, err) = fleet.run(2, &[&own[..], &["--together", "pair,all"]].concat());
    assert!(err.contains("n1 is in pair and in all") && err.contains("--parallel 1"), "{err}");
    let together = ["--together", "pair,all", "--parallel", "1"];
    let (out, _) = fleet.run(0, &[&own[..], &together, &LOAD].concat());
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    for (group, places) in [("pair", 2), ("all", 3)] {
        let run = fleet.newest().join(format!("hosts/{group}/attempt-1/run.iotax"));
        let found = fleet.rig.json(&["report", run.to_str().unwrap()]);
        assert_eq!(found["places"].as_array().unwrap().len(), places, "{}", found["places"]);
    }
}

#[test]
fn ansible_reads_its_playbook() {
    let Some(playbook) = tool("ansible-playbook") else { return };
    let rig = Rig::new();
    std::fs::write(rig.path("hosts.ini"), "[all]\nn1\nn2\n").unwrap();
    let file = rig.file("x.img", 16);
    rig.expect(0, &["fleet", "emit", "ansible", &file, "--hosts", "hosts.ini", "-o", "emitted"]);
    let mut command = Command::new(playbook);
    command
        .arg("-i")
        .arg(rig.path("hosts.ini"))
        .arg("--syntax-check")
        .arg(rig.path("emitted/playbook.yml"));
    run_tool(command.env("HOME", rig.path("")).env("ANSIBLE_LOCAL_TEMP", rig.path("ansible")));
}

#[test]
#[ignore = "Ansible takes a minute"]
fn ansible_runs_its_playbook() {
    let Some(playbook) = tool("ansible-playbook") else { return };
    let Some(fleet) = Fleet::start(2) else { return };
    fleet.write_scenario(2, "own");
    let config = fleet.sshd.config.display();
    let inventory = format!(
        "[all]\nn1\nn2\n[all:vars]\nansible_ssh_common_args='-F {config}'\nansible_python_interpreter=/usr/bin/python3\n"
    );
    std::fs::write(fleet.rig.path("inventory.ini"), inventory).unwrap();
    let args = [
        "emit",
        "ansible",
        "own-scenario.toml",
        "--hosts",
        "inventory.ini",
        "--consent",
        "own.toml",
        "-o",
        "emitted",
    ];
    let (out, err) = fleet.run(0, &[&args[..], &LOAD].concat());
    assert!(
        out.contains("ansible-playbook -i inventory.ini")
            && err.contains("ansible_ssh_common_args"),
        "{out}{err}"
    );
    fleet.run(2, &[&args[..], &LOAD].concat());
    let (early, _) = fleet.run(4, &["gather", "emitted"]);
    assert!(early.starts_with("0 of 2 hosts done; 2 unknown"), "{early}");
    let emitted = fleet.rig.path("emitted/playbook.yml");
    let ansible = |more: &[&str]| {
        let mut command = Command::new(&playbook);
        command.arg("-i").arg(fleet.rig.path("inventory.ini")).arg(&emitted).args(more);
        command
            .env("HOME", fleet.rig.path(""))
            .env("ANSIBLE_LOCAL_TEMP", fleet.rig.path("ansible"))
            .env("ANSIBLE_SSH_CONTROL_PATH", "none");
        run_tool(&mut command)
    };
    ansible(&[]);
    let (out, _) = fleet.run(0, &["gather", "emitted"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    // A second run of the playbook does not measure again, and what was fetched is not replaced.
    let outcome = std::fs::read(fleet.rig.path("emitted/hosts/n1/attempt-1/run.iotax")).unwrap();
    std::fs::write(fleet.rig.path("emitted/hosts/n2/attempt-1/run.iotax"), b"half of it").unwrap();
    let (out, _) = fleet.run(4, &["gather", "emitted"]);
    assert!(out.contains("1 of 2 hosts done; 1 unknown") && out.contains("whole"), "{out}");
    assert!(!outcome.is_empty());
}

#[test]
#[ignore = "ReFrame is on PyPI only"]
fn reframe_takes_sanity_and_figures_of_each_host() {
    let Some(reframe) = tool("reframe") else { return };
    let Some(fleet) = Fleet::start(0) else { return };
    fleet.list(2);
    fleet.write_scenario(2, "own");
    let args = [
        "emit",
        "reframe",
        "own-scenario.toml",
        "--hosts",
        "hosts",
        "--consent",
        "own.toml",
        "-o",
        "emitted",
    ];
    fleet.run(0, &[&args[..], &LOAD].concat());
    let mut command = Command::new(reframe);
    command.arg("-c").arg(fleet.rig.path("emitted/iotax_check.py")).args([
        "-r",
        "--performance-report",
        "--nocolor",
    ]);
    command
        .arg("--prefix")
        .arg(fleet.rig.path("reframe"))
        .arg("--report-file")
        .arg(fleet.rig.path("reframe.json"));
    command.env("HOME", fleet.rig.path("")).current_dir(fleet.rig.path(""));
    let text = run_tool(&mut command);
    assert!(text.contains("Ran 2/2 test case(s)"), "{text}");
    let report: Value =
        serde_json::from_slice(&std::fs::read(fleet.rig.path("reframe.json")).unwrap()).unwrap();
    let figures = report["runs"][0]["testcases"][0]["perfvalues"].as_object().unwrap();
    assert!(figures.keys().any(|name| name.contains("rate")), "{figures:?}");
    let (out, _) = fleet.run(0, &["gather", "emitted"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
}

#[test]
#[ignore = "Ramble is on no registry"]
fn ramble_runs_an_experiment_for_each_host() {
    let root = std::env::var_os("RAMBLE_ROOT").map(PathBuf::from);
    if !can(
        "RAMBLE_ROOT, a checkout of Ramble",
        root.as_ref().is_some_and(|root| root.join("bin/ramble").exists()),
    ) {
        return;
    }
    let Some(python) = tool("reframe") else { return };
    let Some(fleet) = Fleet::start(0) else { return };
    fleet.list(2);
    fleet.write_scenario(2, "own");
    let args = [
        "emit",
        "ramble",
        "own-scenario.toml",
        "--hosts",
        "hosts",
        "--consent",
        "own.toml",
        "-o",
        "emitted",
    ];
    fleet.run(0, &[&args[..], &LOAD].concat());
    let at = |name: &str| fleet.rig.path(&format!("emitted/ramble/{name}"));
    let path = format!("{}:{}", python.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ramble = |words: &[&str]| {
        let mut command = Command::new(root.as_ref().unwrap().join("bin/ramble"));
        command.args(words).env("HOME", fleet.rig.path("")).env("PATH", &path);
        run_tool(&mut command)
    };
    let workspace = at("runs").display().to_string();
    ramble(&["repo", "add", "--scope", "user", fleet.rig.path("emitted/ramble").to_str().unwrap()]);
    ramble(&["workspace", "create", "-d", &workspace]);
    std::fs::copy(at("workspace/ramble.yaml"), at("runs/configs/ramble.yaml")).unwrap();
    ramble(&["-D", &workspace, "workspace", "setup"]);
    ramble(&["-D", &workspace, "on"]);
    ramble(&["-D", &workspace, "workspace", "analyze", "--format", "text"]);
    let text = std::fs::read_to_string(at("runs/results.latest.txt")).unwrap();
    assert!(text.matches("SUCCESS").count() == 2 && text.contains("iops = "), "{text}");
    let (out, _) = fleet.run(0, &["gather", "emitted"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
}

/// The marks of tasks that have begun on a host.
fn started(fleet: &Fleet, host: &str) -> Vec<PathBuf> {
    fleet.left_on(host).into_iter().filter(|path| path.ends_with("started.json")).collect()
}

/// Records of the run on a host, so far.
fn index_of(fleet: &Fleet, host: &str) -> String {
    let index = fleet.left_on(host).into_iter().find(|path| path.ends_with("index.jsonl"));
    index.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
}
