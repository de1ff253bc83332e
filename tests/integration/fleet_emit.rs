//! Files of `iotax fleet emit`, run by the tools that they are for.

use crate::fleet::{LOAD, OWN, SshFleet};
use crate::fleet_rig::run_tool;
use crate::rig::{Rig, can};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program if it is in PATH or in the folder of tools that the long suite makes.
fn tool(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/readers/bin").join(name);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&paths).map(|folder| folder.join(name));
    let found = std::iter::once(own).chain(all).find(|path| path.exists());
    can(name, found.is_some()).then_some(found).flatten()
}

/// Emits files for hosts n1 and n2 into `emitted`.
fn emitted(kind: &str) -> Option<SshFleet> {
    let lab = SshFleet::start(0)?;
    lab.list(2);
    lab.write_scenario(2, "own");
    lab.fleet.run(0, &format!("emit {kind} {OWN} {LOAD} -o emitted"));
    Some(lab)
}

/// Checks that both hosts of `emitted` have results.
fn check_gathered(lab: &SshFleet) {
    let (out, _) = lab.fleet.run(0, "gather emitted");
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
}

#[test]
fn ansible_reads_its_playbook() {
    let Some(playbook) = tool("ansible-playbook") else { return };
    let rig = Rig::new();
    std::fs::write(rig.path("hosts.ini"), "[all]\nn1\nn2\n").unwrap();
    let file = rig.file("x.img", 16);
    rig.expect(0, &["fleet", "emit", "ansible", &file, "--hosts", "hosts.ini", "-o", "emitted"]);
    let mut command = Command::new(playbook);
    command.arg("--syntax-check").arg("-i").arg(rig.path("hosts.ini"));
    command.env("HOME", rig.path("")).env("ANSIBLE_LOCAL_TEMP", rig.path("ansible"));
    run_tool(command.arg(rig.path("emitted/playbook.yml")));
}

#[test]
#[ignore = "Ansible takes a minute"]
fn ansible_runs_its_playbook() {
    let Some(playbook) = tool("ansible-playbook") else { return };
    let Some(lab) = SshFleet::start(2) else { return };
    lab.write_scenario(2, "own");
    let inventory = format!(
        "[all]\nn1\nn2\n[all:vars]\nansible_ssh_common_args='-F {}'\nansible_python_interpreter=/usr/bin/python3\n",
        lab.sshd.config.display()
    );
    std::fs::write(lab.path("hosts.ini"), inventory).unwrap();
    let own = OWN.replace("--hosts hosts", "--hosts hosts.ini");
    let (out, err) = lab.fleet.run(0, &format!("emit ansible {own} {LOAD} -o emitted"));
    let command = format!("ansible-playbook -i {} ", lab.path("hosts.ini").display());
    assert!(out.contains(&command), "{out}");
    assert!(err.contains("ansible_ssh_common_args"), "{err}");
    lab.fleet.run(2, &format!("emit ansible {own} {LOAD} -o emitted"));
    let (early, _) = lab.fleet.run(4, "gather emitted");
    assert!(early.starts_with("0 of 2 hosts done; 2 unknown"), "{early}");
    let mut command = Command::new(&playbook);
    command.arg("-i").arg(lab.path("hosts.ini")).arg(lab.path("emitted/playbook.yml"));
    command.env("HOME", lab.path("")).env("ANSIBLE_LOCAL_TEMP", lab.path("ansible"));
    run_tool(command.env("ANSIBLE_SSH_CONTROL_PATH", "none"));
    check_gathered(&lab);
    // A result that was damaged after it was fetched does not count.
    std::fs::write(lab.path("emitted/hosts/n2/attempt-1/run.iotax"), b"half of it").unwrap();
    let (out, _) = lab.fleet.run(4, "gather emitted");
    assert!(out.contains("1 of 2 hosts done; 1 unknown") && out.contains("whole"), "{out}");
}

#[test]
#[ignore = "ReFrame is on PyPI only"]
fn reframe_takes_sanity_and_figures_of_each_host() {
    let Some(reframe) = tool("reframe") else { return };
    let Some(lab) = emitted("reframe") else { return };
    let report = lab.path("reframe.json");
    let mut command = Command::new(reframe);
    command.arg("-c").arg(lab.path("emitted/iotax_check.py"));
    command.args(["-r", "--performance-report", "--nocolor", "--report-file"]).arg(&report);
    command.arg("--prefix").arg(lab.path("reframe"));
    let text = run_tool(command.env("HOME", lab.path("")).current_dir(lab.path("")));
    assert!(text.contains("Ran 2/2 test case(s)"), "{text}");
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let figures = report["runs"][0]["testcases"][0]["perfvalues"].as_object().unwrap();
    assert!(figures.keys().any(|name| name.contains("rate")), "{figures:?}");
    check_gathered(&lab);
}

#[test]
#[ignore = "Ramble is on no registry"]
fn ramble_runs_an_experiment_for_each_host() {
    let root = std::env::var_os("RAMBLE_ROOT").map(PathBuf::from).unwrap_or_default();
    if !can("RAMBLE_ROOT, a checkout of Ramble", root.join("bin/ramble").exists()) {
        return;
    }
    let Some(python) = tool("reframe") else { return };
    let Some(lab) = emitted("ramble") else { return };
    let at = |name: &str| lab.path(&format!("emitted/ramble/{name}"));
    let path = format!("{}:{}", python.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ramble = |words: &str| {
        let mut command = Command::new(root.join("bin/ramble"));
        command.args(words.split(' ')).env("HOME", lab.path("")).env("PATH", &path);
        run_tool(&mut command)
    };
    let workspace = at("runs").display().to_string();
    ramble(&format!("repo add --scope user {}", at("").display()));
    ramble(&format!("workspace create -d {workspace}"));
    std::fs::copy(at("workspace/ramble.yaml"), at("runs/configs/ramble.yaml")).unwrap();
    ramble(&format!("-D {workspace} workspace setup"));
    ramble(&format!("-D {workspace} on"));
    ramble(&format!("-D {workspace} workspace analyze --format text"));
    let text = std::fs::read_to_string(at("runs/results.latest.txt")).unwrap();
    assert!(text.matches("SUCCESS").count() == 2 && text.contains("iops = "), "{text}");
    check_gathered(&lab);
}
