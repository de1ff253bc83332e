//! A fleet on a real Kubernetes whose nodes are network namespaces (tests/labs/k8s-lab): for the
//! long suite. The lab builds Kubernetes from source once, into target/k8s, which takes a quarter
//! of an hour.

use crate::rig::{Rig, can, is_root, program, wait};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct KubeLab {
    rig: Rig,
}

const FILE: &str = "file:/srv/x.img,size=16MiB";
const IMAGE: &str = "lab.local/iotax:1";
const ON_NODES: [&str; 6] = ["--hosts", "k8s:", "--image", IMAGE, "--pull-policy", "Never"];
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/labs/k8s-lab");

fn built() -> PathBuf {
    std::env::var_os("K8S_LAB_BIN").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/k8s/bin")),
        PathBuf::from,
    )
}

impl KubeLab {
    fn start(nodes: usize) -> Option<KubeLab> {
        let programs =
            ["/usr/bin/etcd", "/usr/bin/containerd", "/usr/sbin/runc", "/usr/lib/cni/bridge"];
        let is_there = programs.iter().all(|path| Path::new(path).exists());
        if !can(
            "root, etcd-server, containerd, runc, containernetworking-plugins, cgroup v1",
            is_root() && is_there && Path::new("/sys/fs/cgroup/pids").is_dir(),
        ) {
            return None;
        }
        let lab = KubeLab { rig: Rig::new() };
        if !built().join("kubehost").exists() {
            let folder = built().parent().unwrap().to_owned();
            if !can(
                "go, to build Kubernetes",
                Path::new("/usr/bin/go").exists() || std::env::var_os("GOROOT").is_some(),
            ) {
                return None;
            }
            assert!(
                Command::new("bash")
                    .arg(SCRIPT)
                    .arg("build")
                    .arg(folder)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        lab.tool(&["up", &nodes.to_string()]);
        let root = lab.rig.path("image");
        std::fs::create_dir_all(root.join("usr/bin")).unwrap();
        let stripped =
            Command::new("strip").arg("-o").arg(root.join("usr/bin/iotax")).arg(program()).status();
        assert!(stripped.unwrap().success());
        let archive = lab.rig.path("image.tar");
        let packed = Command::new("bash")
            .arg(SCRIPT)
            .arg("pack")
            .arg(&root)
            .arg(IMAGE)
            .arg(&archive)
            .status();
        assert!(packed.unwrap().success());
        lab.tool(&["image", archive.to_str().unwrap()]);
        Some(lab)
    }

    fn tool(&self, words: &[&str]) {
        let mut command = Command::new("bash");
        command
            .arg(SCRIPT)
            .arg(words[0])
            .arg(self.rig.path("lab"))
            .args(&words[1..])
            .env("K8S_LAB_BIN", built());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn with_environment(&self, mut command: Command) -> Command {
        let path = format!("{}:{}", built().display(), std::env::var("PATH").unwrap());
        command
            .env("KUBECONFIG", self.rig.path("lab/kubeconfig"))
            .env("KUBECACHEDIR", self.rig.path("lab/cache"))
            .env("PATH", path)
            .env("IOTAX_FLEETS", self.rig.path("fleets"));
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        self.with_environment(self.rig.command(&[&["fleet"], args].concat()))
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

    fn kubectl(&self, words: &[&str]) -> String {
        let mut command = self.with_environment(Command::new(built().join("kubectl")));
        let output = command.args(words).output().unwrap();
        assert!(
            output.status.success(),
            "kubectl {words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn states(&self) -> Vec<(String, String)> {
        let (text, _) = self.run(0, &["status", "last", "--json"]);
        let hosts: Vec<Value> = serde_json::from_str(&text).unwrap();
        let word = |host: &Value, key: &str| host[key].as_str().unwrap_or_default().to_owned();
        hosts.iter().map(|host| (word(host, "state"), word(host, "why"))).collect()
    }

    /// Files of the task on the disk of a node.
    fn on_node(&self, node: u32, name: &str) -> Option<PathBuf> {
        let fleets =
            std::fs::read_dir(self.rig.path(&format!("lab/n{node}/lib/iotax/fleet"))).ok()?;
        let newest = fleets.flatten().map(|entry| entry.path()).max()?;
        Some(newest.join(format!("n{node}/attempt-1/{name}"))).filter(|path| path.exists())
    }

    /// Checks that no pod, Job or ConfigMap of a fleet is there, and no file on the nodes.
    fn check_nothing_left(&self, nodes: u32) {
        let left = self.kubectl(&["get", "job,pod,configmap", "-l", "app=iotax", "-o", "name"]);
        assert_eq!(left, "");
        for node in 1..=nodes {
            let folder = self.rig.path(&format!("lab/n{node}/lib/iotax/fleet"));
            assert_eq!(std::fs::read_dir(&folder).map_or(0, Iterator::count), 0, "{folder:?}");
            assert_eq!(
                std::fs::read_dir(self.rig.path(&format!("lab/n{node}/srv"))).unwrap().count(),
                0
            );
        }
    }
}

impl Drop for KubeLab {
    fn drop(&mut self) {
        self.tool(&["down"]);
    }
}

#[test]
#[ignore = "a real Kubernetes"]
fn each_node_of_a_cluster_has_a_run() {
    let Some(lab) = KubeLab::start(4) else { return };
    let load = ["--budget", "1s", "--precision", "50%"];
    for (args, part) in [
        (vec![], "selects 4 hosts; hint: add --expect 4"),
        (vec!["--expect", "5"], "has 4 hosts and you expected 5"),
    ] {
        let (_, err) = lab.run(2, &[&["run", FILE], &ON_NODES[..], &load, &args].concat());
        assert!(err.contains(part), "{err}");
    }
    let (_, err) = lab.run(2, &["run", FILE, "--hosts", "k8s:disk=none", "--image", IMAGE]);
    assert!(err.contains("\"disk=none\" selects no node"), "{err}");
    let (out, _) = lab.run(0, &[&["run", FILE], &ON_NODES[..], &load, &["--expect", "4"]].concat());
    assert!(out.starts_with("4 of 4 hosts done\n"), "{out}");
    lab.check_nothing_left(4);
    let emitted = [&["emit", "k8s", FILE, "-o", "emitted", "--expect", "4"], &ON_NODES[..], &load];
    lab.run(0, &emitted.concat());
    let manifests = lab.rig.path("emitted/manifests.json").display().to_string();
    lab.kubectl(&["apply", "--dry-run=server", "-f", &manifests]);
    lab.kubectl(&["apply", "-f", &manifests]);
    wait(|| (1..=4).all(|node| lab.on_node(node, "outcome.json").is_some()), 60, "the results");
    let (out, _) = lab.run(0, &["gather", "emitted"]);
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    lab.run(0, &["clean", "./emitted"]);
    lab.check_nothing_left(4);
    let (out, _) = lab.run(
        4,
        &[
            "run",
            FILE,
            "--hosts",
            "k8s:lab/serial=SER2",
            "--image",
            "lab.local/none:1",
            "--pull-policy",
            "Never",
            "--expect",
            "1",
        ],
    );
    assert!(out.starts_with("0 of 1 hosts done; 1 never started"), "{out}");
    assert!(lab.states()[0].1.contains("ErrImageNeverPull"), "{:?}", lab.states());
    lab.check_nothing_left(4);
}

#[test]
#[ignore = "a real Kubernetes"]
fn evicted_deleted_and_lost_pods_are_told_apart_and_nothing_runs_twice() {
    let Some(lab) = KubeLab::start(4) else { return };
    let args = [
        &[
            "run",
            FILE,
            "--budget",
            "80s",
            "--min-time",
            "60s",
            "--patience",
            "30s",
            "--expect",
            "4",
        ],
        &ON_NODES[..],
    ]
    .concat();
    let run = lab.spawn(&args);
    wait(|| (1..=4).all(|node| lab.on_node(node, "started.json").is_some()), 120, "all tasks");
    std::thread::sleep(std::time::Duration::from_secs(8));
    // n2: the pod is evicted; n3: its Job is deleted; n4: the node is lost.
    let pod = lab.kubectl(&["get", "pods", "-o", "name", "--field-selector", "spec.nodeName=n2"]);
    let pod = pod.trim().trim_start_matches("pod/").to_owned();
    let eviction = lab.rig.path("eviction.json");
    let body = format!(
        r#"{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{pod}","namespace":"default"}}}}"#
    );
    std::fs::write(&eviction, body).unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
    lab.kubectl(&["create", "--raw", &path, "-f", eviction.to_str().unwrap()]);
    let jobs = lab.kubectl(&["get", "jobs", "-o", "name"]);
    let job = jobs.lines().find(|name| name.ends_with("-n3")).unwrap().to_owned();
    lab.kubectl(&["delete", &job, "--wait=false"]);
    lab.tool(&["kill-node", "4"]);
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    let states = lab.states();
    let words: Vec<&str> = states.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(words, ["done", "failed", "failed", "unknown"], "{states:?}\n{text}");
    // What was measured until the signal is kept.
    let fleets = std::fs::read_dir(lab.rig.path("fleets")).unwrap();
    let newest = fleets.flatten().map(|entry| entry.path()).max().unwrap();
    for host in ["n2", "n3"] {
        assert!(newest.join(format!("hosts/{host}/attempt-1/run.iotax")).exists(), "{host}");
    }
    lab.tool(&["start-node", "4"]);
    wait(
        || lab.kubectl(&["get", "nodes", "--no-headers"]).matches(" Ready ").count() == 4,
        120,
        "the node",
    );
    let (out, _) = lab.run(0, &["resume", "last"]);
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    let attempts = |host: &str| {
        let folder = newest.join(format!("hosts/{host}"));
        std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("attempt"))
            .count()
    };
    assert_eq!(["n1", "n2", "n3"].map(attempts), [1, 2, 2]);
    lab.check_nothing_left(4);
}
