//! A fleet on a real Slurm whose nodes are network namespaces (tests/labs/slurm-lab). Each node has
//! a /srv of its own; the folder of fleets is seen by all.

use crate::fleet_rig::{FleetRig, ended, run_lab, run_tool};
use crate::rig::{Rig, can, is_root, wait};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

struct SlurmLab {
    fleet: FleetRig,
}

/// Run on a small file of each node of all N; the number and the load follow.
const RUN: &str = "run file:/srv/x.img,size=16MiB --hosts slurm:all --expect";
const LOAD: &str = "--budget 1s --precision 50%";

impl SlurmLab {
    fn start(nodes: usize) -> Option<SlurmLab> {
        let programs = ["slurmctld", "slurmd", "sbatch", "munged", "ip"];
        let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        let is_there =
            |program: &&str| folders.iter().any(|folder| Path::new(folder).join(program).exists());
        let needs = "root, slurmctld, slurmd, slurm-client and munge";
        if !can(needs, is_root() && programs.iter().all(is_there)) {
            return None;
        }
        let rig = Rig::new();
        let conf = rig.path("lab/slurm.conf");
        let lab = SlurmLab { fleet: FleetRig::new(rig, &[("SLURM_CONF", conf)]) };
        lab.tool(&format!("up {nodes}"));
        Some(lab)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.fleet.rig.path(name)
    }

    /// Calls the lab's script: `up 4`, `cut n1`.
    fn tool(&self, words: &str) {
        run_lab("slurm-lab", &self.path("lab"), words, &[]);
    }

    /// Calls a program of Slurm.
    fn slurm(&self, words: &str) -> String {
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        run_tool(command.args(words).env("SLURM_CONF", self.path("lab/slurm.conf")))
    }

    fn has_begun(&self, host: &str) -> bool {
        let fleets = std::fs::read_dir(self.path("fleets")).into_iter().flatten().flatten();
        let mark = format!("hosts/{host}/attempt-1/started.json");
        fleets.into_iter().any(|fleet| fleet.path().join(&mark).exists())
    }

    fn job_of(&self, host: &str) -> String {
        let ticket = std::fs::read_to_string(self.fleet.host(host).join("ticket.json")).unwrap();
        serde_json::from_str::<Value>(&ticket).unwrap()["job"].as_str().unwrap().to_owned()
    }

    /// Checks that nothing is left on any node: no folder of runs, no file of the load.
    fn check_nothing_left(&self) {
        let id = self.fleet.newest().file_name().unwrap().to_str().unwrap().to_owned();
        for folder in ["/var/tmp", "/tmp"] {
            let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
            let left = entries.filter(|path| path.to_string_lossy().contains(&id));
            assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new());
        }
        for node in std::fs::read_dir(self.path("lab/srv")).unwrap().flatten() {
            assert_eq!(std::fs::read_dir(node.path()).unwrap().count(), 0, "{:?}", node.path());
        }
    }
}

impl Drop for SlurmLab {
    fn drop(&mut self) {
        self.tool("down");
    }
}

#[test]
fn each_node_of_a_partition_has_a_run() {
    let Some(lab) = SlurmLab::start(4) else { return };
    for (hosts, part) in [
        ("slurm:all", "selects 4 hosts; hint: add --expect 4"),
        ("slurm:all --expect 3", "has 4 hosts and you expected 3"),
        ("slurm:shared --expect 4", "OverSubscribe=FORCE:4"),
        ("slurm:none --expect 4", "partitions: all, shared"),
    ] {
        let (_, err) = lab.fleet.run(2, &format!("run /srv/x.img --budget 1s --hosts {hosts}"));
        assert!(err.contains(part), "{hosts}: {err}");
    }
    let (out, _) = lab.fleet.run(0, &format!("{RUN} 4 {LOAD}"));
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    lab.fleet.check_run("n3");
    lab.check_nothing_left();
    // A drained node is not narrowed away: it has a state, and the others go on.
    lab.slurm("scontrol update nodename=n2 state=drain reason=fan");
    let (out, _) = lab.fleet.run(4, &format!("{RUN} 2 --limit n1,n2 {LOAD}"));
    assert!(out.starts_with("1 of 2 hosts done; 1 never started"), "{out}");
    assert!(lab.fleet.state_of("n2").1.contains("drain"), "{:?}", lab.fleet.states());
    lab.slurm("scontrol update nodename=n2 state=resume");
    let (out, _) = lab.fleet.run(0, "resume last");
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
}

#[test]
fn slurm_takes_the_emitted_scripts() {
    let Some(lab) = SlurmLab::start(2) else { return };
    std::fs::create_dir(lab.path("fleets")).unwrap();
    let emit = RUN.replacen("run", "emit slurm", 1);
    lab.fleet.run(0, &format!("{emit} 2 {LOAD} -o fleets/x"));
    let (out, _) = lab.fleet.run(4, "gather fleets/x");
    assert!(out.starts_with("0 of 2 hosts done; 2 never started"), "{out}");
    let submit = || lab.slurm(&format!("sh {}", lab.path("fleets/x/submit.sh").display()));
    submit();
    let outcome = |node| lab.path(&format!("fleets/x/hosts/n{node}/attempt-1/outcome.json"));
    wait(|| outcome(1).exists() && outcome(2).exists(), 60, "the jobs");
    let (out, _) = lab.fleet.run(0, "gather fleets/x");
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    // Submitted again, the tasks do nothing.
    let before = std::fs::read(outcome(1)).unwrap();
    submit();
    let log = || std::fs::read_to_string(lab.path("fleets/x/hosts/n1/task.log"));
    wait(|| log().is_ok_and(|log| !log.is_empty()), 30, "the refusal");
    assert!(log().unwrap().contains("never started twice"), "{log:?}", log = log());
    assert_eq!(std::fs::read(outcome(1)).unwrap(), before);
}

#[test]
fn a_restarted_controller_and_a_cancelled_job_lose_nothing() {
    let Some(lab) = SlurmLab::start(2) else { return };
    let run = lab.fleet.spawn(&format!("{RUN} 2 --budget 40s --min-time 30s"));
    wait(|| lab.has_begun("n1") && lab.has_begun("n2"), 60, "both jobs");
    lab.tool("restart-controller");
    wait(|| lab.fleet.state_of("n1").0 == "running", 30, "the controller");
    // By Slurm's own command; its signal reaches the task, which keeps what it has measured.
    lab.slurm(&format!("scancel --full --signal=TERM {}", lab.job_of("n1")));
    wait(|| lab.fleet.state_of("n1").0 == "failed", 60, "the end of n1");
    let (out, _) = lab.fleet.run(0, "cancel last");
    assert!(out.contains("gathers what was measured"), "{out}");
    let text = ended(run, 4);
    assert!(text.contains("0 of 2 hosts done; 2 failed"), "{text}");
    for host in ["n1", "n2"] {
        assert!(lab.fleet.host(host).join("attempt-1/run.iotax").exists(), "{host}");
    }
    lab.check_nothing_left();
}

#[test]
#[ignore = "a minute for each lost node"]
fn a_lost_node_is_unknown_until_it_is_back_and_nothing_runs_twice() {
    let Some(lab) = SlurmLab::start(4) else { return };
    let run = lab.fleet.spawn(&format!("{RUN} 4 --budget 60s --min-time 50s --patience 5s"));
    wait(|| (1..=4).all(|node| lab.has_begun(&format!("n{node}"))), 60, "all jobs");
    lab.tool("cut n2");
    lab.tool("kill-node n3");
    lab.tool("kill-slurmd n4");
    // The task of n2 went on during the cut, and that of n4 without slurmd: both wrote results.
    ended(run, 4);
    let (done, lost) = (lab.fleet.state_of("n1"), lab.fleet.state_of("n3"));
    assert_eq!(done.0, "done");
    assert!(["unknown", "lost"].contains(&lost.0.as_str()), "{lost:?}");
    lab.tool("mend n2");
    lab.tool("start-slurmd n3");
    lab.tool("start-slurmd n4");
    let idle =
        || lab.slurm("sinfo -h -N -p all -o %T").lines().filter(|one| *one == "idle").count();
    wait(|| idle() == 4, 90, "four idle nodes");
    let (out, _) = lab.fleet.run(0, "resume last");
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    assert_eq!(["n1", "n2", "n3", "n4"].map(|host| lab.fleet.attempts(host)), [1, 1, 2, 1]);
    lab.check_nothing_left();
}
