//! A fleet on a real Slurm whose nodes are network namespaces (tests/labs/slurm-lab). Each node has
//! a /srv of its own; the folder of fleets is seen by all.

use crate::rig::{Rig, can, is_root, wait};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

struct SlurmLab {
    rig: Rig,
}

const FILE: &str = "file:/srv/x.img,size=16MiB";

impl SlurmLab {
    fn start(nodes: usize) -> Option<SlurmLab> {
        let programs = ["slurmctld", "slurmd", "sbatch", "munged", "ip"];
        let is_there = |program: &&str| {
            ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
                .iter()
                .any(|folder| PathBuf::from(folder).join(program).exists())
        };
        if !can(
            "root, slurmctld, slurmd, slurm-client and munge",
            is_root() && programs.iter().all(is_there),
        ) {
            return None;
        }
        let lab = SlurmLab { rig: Rig::new() };
        lab.tool(&["up", &nodes.to_string()]);
        Some(lab)
    }

    /// Calls the lab's script: `up 4`, `cut n1`.
    fn tool(&self, words: &[&str]) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/labs/slurm-lab");
        let output = Command::new("bash")
            .arg(script)
            .arg(words[0])
            .arg(self.rig.path("lab"))
            .args(&words[1..])
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.rig.command(&[&["fleet"], args].concat());
        command
            .env("SLURM_CONF", self.rig.path("lab/slurm.conf"))
            .env("IOTAX_FLEETS", self.rig.path("fleets"));
        command
    }

    fn run(&self, code: i32, args: &[&str]) -> (String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "iotax fleet {args:?}\n{out}\n{err}");
        (out, err)
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn state_of(&self, host: &str) -> (String, String) {
        let (text, _) = self.run(0, &["status", "last", "--json"]);
        let hosts: Vec<Value> = serde_json::from_str(&text).unwrap();
        let found = hosts.into_iter().find(|one| one["host"] == host).unwrap();
        let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (word("state"), word("why"))
    }

    fn newest(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.rig.path("fleets")).unwrap();
        entries.map(|entry| entry.unwrap().path()).max().unwrap()
    }

    fn has_begun(&self, host: &str) -> bool {
        let fleets = std::fs::read_dir(self.rig.path("fleets")).into_iter().flatten().flatten();
        let mark =
            |path: PathBuf| path.join(format!("hosts/{host}/attempt-1/started.json")).exists();
        fleets.into_iter().any(|fleet| mark(fleet.path()))
    }

    fn job_of(&self, host: &str) -> String {
        let ticket =
            std::fs::read_to_string(self.newest().join(format!("hosts/{host}/ticket.json")))
                .unwrap();
        serde_json::from_str::<Value>(&ticket).unwrap()["job"].as_str().unwrap().to_owned()
    }

    fn slurm(&self, program: &str, words: &[&str]) {
        let status = Command::new(program)
            .args(words)
            .env("SLURM_CONF", self.rig.path("lab/slurm.conf"))
            .status();
        assert!(status.unwrap().success(), "{program} {words:?}");
    }

    /// Checks that nothing is left on any node: no folder of runs, no file of the load.
    fn check_nothing_left(&self) {
        for folder in ["/var/tmp", "/tmp"] {
            let id = self.newest().file_name().unwrap().to_str().unwrap().to_owned();
            let left = std::fs::read_dir(folder)
                .unwrap()
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().contains(&id));
            assert_eq!(left.map(|entry| entry.path()).collect::<Vec<_>>(), Vec::<PathBuf>::new());
        }
        for node in std::fs::read_dir(self.rig.path("lab/srv")).unwrap().flatten() {
            assert_eq!(std::fs::read_dir(node.path()).unwrap().count(), 0, "{:?}", node.path());
        }
    }
}

impl Drop for SlurmLab {
    fn drop(&mut self) {
        self.tool(&["down"]);
    }
}

#[test]
fn each_node_of_a_partition_has_a_run() {
    let Some(lab) = SlurmLab::start(4) else { return };
    for (hosts, args, part) in [
        ("slurm:all", vec![], "selects 4 hosts; hint: add --expect 4"),
        ("slurm:all", vec!["--expect", "3"], "has 4 hosts and you expected 3"),
        ("slurm:shared", vec!["--expect", "4"], "OverSubscribe=FORCE:4"),
        ("slurm:none", vec!["--expect", "4"], "partitions: all, shared"),
    ] {
        let (_, err) =
            lab.run(2, &[&["run", FILE, "--budget", "1s", "--hosts", hosts], &args[..]].concat());
        assert!(err.contains(part), "{hosts}: {err}");
    }
    let load = ["--budget", "1s", "--precision", "50%"];
    let (out, _) =
        lab.run(0, &[&["run", FILE, "--hosts", "slurm:all", "--expect", "4"], &load[..]].concat());
    assert!(out.starts_with("4 of 4 hosts done\n"), "{out}");
    let run = lab.newest().join("hosts/n3/attempt-1/run.iotax");
    let found = lab.rig.json(&["report", run.to_str().unwrap()]);
    assert!(found["workloads"][0]["rows"][0]["iops"]["value"].as_f64().unwrap() > 0.0);
    lab.check_nothing_left();
    // A drained node is not narrowed away: it has a state, and the others go on.
    lab.slurm("scontrol", &["update", "nodename=n2", "state=drain", "reason=fan"]);
    let (out, _) = lab.run(
        4,
        &[&["run", FILE, "--hosts", "slurm:all", "--limit", "n1,n2", "--expect", "2"], &load[..]]
            .concat(),
    );
    assert!(out.starts_with("1 of 2 hosts done; 1 never started"), "{out}");
    assert!(lab.state_of("n2").1.contains("drain"), "{:?}", lab.state_of("n2"));
    lab.slurm("scontrol", &["update", "nodename=n2", "state=resume"]);
    let (out, _) = lab.run(0, &["resume", "last"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
}

#[test]
fn slurm_takes_the_emitted_scripts() {
    let Some(lab) = SlurmLab::start(2) else { return };
    let args = [
        "emit",
        "slurm",
        FILE,
        "--hosts",
        "slurm:all",
        "--expect",
        "2",
        "--budget",
        "1s",
        "-o",
        "fleets/x",
    ];
    std::fs::create_dir(lab.rig.path("fleets")).unwrap();
    lab.run(0, &args);
    let (out, _) = lab.run(4, &["gather", "fleets/x"]);
    assert!(out.starts_with("0 of 2 hosts done; 2 never started"), "{out}");
    lab.slurm("sh", &[lab.rig.path("fleets/x/submit.sh").to_str().unwrap()]);
    let ended = |node: u32| {
        lab.rig.path(&format!("fleets/x/hosts/n{node}/attempt-1/outcome.json")).exists()
    };
    wait(|| ended(1) && ended(2), 60, "the jobs");
    let (out, _) = lab.run(0, &["gather", "fleets/x"]);
    assert!(out.starts_with("2 of 2 hosts done"), "{out}");
    // Submitted again, the tasks do nothing.
    let before = std::fs::read(lab.rig.path("fleets/x/hosts/n1/attempt-1/outcome.json")).unwrap();
    lab.slurm("sh", &[lab.rig.path("fleets/x/submit.sh").to_str().unwrap()]);
    wait(
        || lab.rig.path("fleets/x/hosts/n1/task.log").metadata().is_ok_and(|log| log.len() > 0),
        30,
        "the refusal",
    );
    let log = std::fs::read_to_string(lab.rig.path("fleets/x/hosts/n1/task.log")).unwrap();
    assert!(log.contains("never started twice"), "{log}");
    assert_eq!(
        std::fs::read(lab.rig.path("fleets/x/hosts/n1/attempt-1/outcome.json")).unwrap(),
        before
    );
}

#[test]
fn a_restarted_controller_and_a_cancelled_job_lose_nothing() {
    let Some(lab) = SlurmLab::start(2) else { return };
    let args = [
        "run",
        FILE,
        "--hosts",
        "slurm:all",
        "--expect",
        "2",
        "--budget",
        "40s",
        "--min-time",
        "30s",
    ];
    let run = lab.spawn(&args);
    wait(|| lab.has_begun("n1") && lab.has_begun("n2"), 60, "both jobs");
    lab.tool(&["restart-controller"]);
    wait(|| lab.state_of("n1").0 == "running", 30, "the controller");
    // By Slurm's own command; its signal reaches the task, which keeps what it has measured.
    lab.slurm("scancel", &["--full", "--signal=TERM", &lab.job_of("n1")]);
    wait(|| lab.state_of("n1").0 == "failed", 60, "the end of n1");
    let (out, _) = lab.run(0, &["cancel", "last"]);
    assert!(out.contains("gathers what was measured"), "{out}");
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.code() == Some(4) && text.contains("0 of 2 hosts done; 2 failed"),
        "{text}"
    );
    for host in ["n1", "n2"] {
        assert!(lab.newest().join(format!("hosts/{host}/attempt-1/run.iotax")).exists(), "{host}");
    }
    lab.check_nothing_left();
}

#[test]
#[ignore = "a minute for each lost node"]
fn a_lost_node_is_unknown_until_it_is_back_and_nothing_runs_twice() {
    let Some(lab) = SlurmLab::start(4) else { return };
    let args = [
        "run",
        FILE,
        "--hosts",
        "slurm:all",
        "--expect",
        "4",
        "--budget",
        "60s",
        "--min-time",
        "50s",
        "--patience",
        "5s",
    ];
    let run = lab.spawn(&args);
    wait(|| (1..=4).all(|node| lab.has_begun(&format!("n{node}"))), 60, "all jobs");
    lab.tool(&["cut", "n2"]);
    lab.tool(&["kill-node", "n3"]);
    lab.tool(&["kill-slurmd", "n4"]);
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The task of n2 went on behind the cut, and that of n4 without slurmd: both wrote their results.
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert_eq!(lab.state_of("n1").0, "done");
    assert!(
        ["unknown", "lost"].contains(&lab.state_of("n3").0.as_str()),
        "{:?}",
        lab.state_of("n3")
    );
    lab.tool(&["mend", "n2"]);
    lab.tool(&["start-slurmd", "n3"]);
    lab.tool(&["start-slurmd", "n4"]);
    let idle = || {
        let listed = Command::new("sinfo")
            .args(["-h", "-N", "-p", "all", "-o", "%T"])
            .env("SLURM_CONF", lab.rig.path("lab/slurm.conf"))
            .output();
        String::from_utf8_lossy(&listed.unwrap().stdout)
            .lines()
            .filter(|line| *line == "idle")
            .count()
            == 4
    };
    wait(idle, 90, "four idle nodes");
    let (out, _) = lab.run(0, &["resume", "last"]);
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    let attempts = |host: &str| {
        let folder = lab.newest().join(format!("hosts/{host}"));
        std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("attempt"))
            .count()
    };
    assert_eq!((attempts("n1"), attempts("n2"), attempts("n3"), attempts("n4")), (1, 1, 2, 1));
    lab.check_nothing_left();
}
