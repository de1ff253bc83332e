//! A fleet on a real Kubernetes whose nodes are network namespaces (tests/labs/k8s-lab): for the
//! long suite. The lab builds Kubernetes from source once, into target/k8s, which takes a quarter
//! of an hour.

use crate::fleet_rig::{FleetRig, ended, run_lab, run_tool};
use crate::rig::{Rig, can, is_root, program, wait};
use std::path::{Path, PathBuf};
use std::process::Command;

struct KubeLab {
    fleet: FleetRig,
}

const FILE: &str = "file:/srv/x.img,size=16MiB";
const IMAGE: &str = "lab.local/iotax:1";
const NODES: &str = "--hosts k8s: --image lab.local/iotax:1 --pull-policy Never";
const LOAD: &str = "--budget 1s --precision 50%";
/// Commands of the lab that have no running lab: `build FOLDER`, `pack FOLDER IMAGE ARCHIVE`.
const SCRIPT: &str = "k8s-lab";

fn built() -> PathBuf {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/k8s/bin");
    std::env::var_os("K8S_LAB_BIN").map_or(usual, PathBuf::from)
}

impl KubeLab {
    fn start(nodes: usize) -> Option<KubeLab> {
        let programs =
            ["/usr/bin/etcd", "/usr/bin/containerd", "/usr/sbin/runc", "/usr/lib/cni/bridge"];
        let is_there = programs.iter().all(|path| Path::new(path).exists());
        let needs = "root, etcd-server, containerd, runc, containernetworking-plugins, cgroup v1";
        if !can(needs, is_root() && is_there && Path::new("/sys/fs/cgroup/pids").is_dir()) {
            return None;
        }
        if !built().join("kubehost").exists() {
            let has_go = Path::new("/usr/bin/go").exists() || std::env::var_os("GOROOT").is_some();
            if !can("go, to build Kubernetes", has_go) {
                return None;
            }
            run_lab(SCRIPT, built().parent().unwrap(), "build", &[]);
        }
        let rig = Rig::new();
        let path = format!("{}:{}", built().display(), std::env::var("PATH").unwrap());
        let environment = [
            ("KUBECONFIG", rig.path("lab/kubeconfig")),
            ("KUBECACHEDIR", rig.path("lab/cache")),
            ("PATH", PathBuf::from(path)),
        ];
        let lab = KubeLab { fleet: FleetRig::new(rig, &environment) };
        lab.tool(&format!("up {nodes}"));
        let (root, archive) = (lab.path("image"), lab.path("image.tar"));
        std::fs::create_dir_all(root.join("usr/bin")).unwrap();
        let copy = root.join("usr/bin/iotax");
        run_tool(Command::new("strip").arg("-o").arg(copy).arg(program()));
        run_lab(SCRIPT, &root, &format!("pack {IMAGE} {}", archive.display()), &[]);
        lab.tool(&format!("image {}", archive.display()));
        Some(lab)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.fleet.rig.path(name)
    }

    fn tool(&self, words: &str) {
        run_lab(SCRIPT, &self.path("lab"), words, &[("K8S_LAB_BIN", built())]);
    }

    fn kubectl(&self, words: &str) -> String {
        let mut command = Command::new(built().join("kubectl"));
        command.env("KUBECONFIG", self.path("lab/kubeconfig"));
        run_tool(command.env("KUBECACHEDIR", self.path("lab/cache")).args(words.split(' ')))
    }

    /// Files of the task on the disk of a node.
    fn on_node(&self, node: u32, name: &str) -> Option<PathBuf> {
        let fleets = std::fs::read_dir(self.path(&format!("lab/n{node}/lib/iotax/fleet"))).ok()?;
        let newest = fleets.flatten().map(|entry| entry.path()).max()?;
        Some(newest.join(format!("n{node}/attempt-1/{name}"))).filter(|path| path.exists())
    }

    /// Checks that no pod, Job or ConfigMap of a fleet is there, and no file on the nodes.
    fn check_nothing_left(&self, nodes: u32) {
        assert_eq!(self.kubectl("get job,pod,configmap -l app=iotax -o name"), "");
        for node in 1..=nodes {
            for folder in ["lib/iotax/fleet", "srv"] {
                let folder = self.path(&format!("lab/n{node}/{folder}"));
                assert_eq!(std::fs::read_dir(&folder).map_or(0, Iterator::count), 0, "{folder:?}");
            }
        }
    }
}

impl Drop for KubeLab {
    fn drop(&mut self) {
        self.tool("down");
    }
}

#[test]
#[ignore = "a real Kubernetes"]
fn each_node_of_a_cluster_has_a_run() {
    let Some(lab) = KubeLab::start(4) else { return };
    for (more, part) in [
        (NODES.to_owned(), "selects 4 hosts; hint: add --expect 4"),
        (format!("{NODES} --expect 5"), "has 4 hosts and you expected 5"),
        (format!("--hosts k8s:disk=none --image {IMAGE}"), "\"disk=none\" selects no node"),
    ] {
        let (_, err) = lab.fleet.run(2, &format!("run {FILE} {LOAD} {more}"));
        assert!(err.contains(part), "{err}");
    }
    let (out, _) = lab.fleet.run(0, &format!("run {FILE} {LOAD} {NODES} --expect 4"));
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    lab.check_nothing_left(4);
    lab.fleet.run(0, &format!("emit k8s {FILE} {LOAD} {NODES} --expect 4 -o emitted"));
    let manifests = lab.path("emitted/manifests.json").display().to_string();
    lab.kubectl(&format!("apply --dry-run=server -f {manifests}"));
    lab.kubectl(&format!("apply -f {manifests}"));
    wait(|| (1..=4).all(|node| lab.on_node(node, "outcome.json").is_some()), 60, "the results");
    let (out, _) = lab.fleet.run(0, "gather emitted");
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    lab.fleet.run(0, "clean ./emitted");
    lab.check_nothing_left(4);
    let one = "--hosts k8s:lab/serial=SER2 --expect 1 --image lab.local/none:1 --pull-policy Never";
    let (out, _) = lab.fleet.run(4, &format!("run {FILE} {one}"));
    assert!(out.starts_with("0 of 1 hosts done; 1 never started"), "{out}");
    let states = lab.fleet.states();
    assert!(states[0].1.contains("ErrImageNeverPull"), "{states:?}");
    lab.check_nothing_left(4);
}

#[test]
#[ignore = "a real Kubernetes"]
fn evicted_deleted_and_lost_pods_are_told_apart_and_nothing_runs_twice() {
    let Some(lab) = KubeLab::start(4) else { return };
    let load = "--budget 80s --min-time 60s --patience 30s --expect 4";
    let run = lab.fleet.spawn(&format!("run {FILE} {load} {NODES}"));
    wait(|| (1..=4).all(|node| lab.on_node(node, "started.json").is_some()), 120, "all tasks");
    std::thread::sleep(std::time::Duration::from_secs(8));
    // n2: the pod is evicted; n3: its Job is deleted; n4: the node is lost.
    let pod = lab.kubectl("get pods -o name --field-selector spec.nodeName=n2");
    let pod = pod.trim().trim_start_matches("pod/").to_owned();
    let eviction = lab.path("eviction.json");
    let body = format!(
        r#"{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{pod}","namespace":"default"}}}}"#
    );
    std::fs::write(&eviction, body).unwrap();
    let path = format!("/api/v1/namespaces/default/pods/{pod}/eviction");
    lab.kubectl(&format!("create --raw {path} -f {}", eviction.display()));
    let jobs = lab.kubectl("get jobs -o name");
    let job = jobs.lines().find(|name| name.ends_with("-n3")).unwrap();
    lab.kubectl(&format!("delete {job} --wait=false"));
    lab.tool("kill-node 4");
    let text = ended(run, 4);
    let states = lab.fleet.states();
    let words: Vec<&str> = states.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(words, ["done", "failed", "failed", "unknown"], "{states:?}\n{text}");
    // What was measured until the signal is kept.
    for host in ["n2", "n3"] {
        assert!(lab.fleet.host(host).join("attempt-1/run.iotax").exists(), "{host}");
    }
    lab.tool("start-node 4");
    let ready = || lab.kubectl("get nodes --no-headers").matches(" Ready ").count();
    wait(|| ready() == 4, 120, "the node");
    let (out, _) = lab.fleet.run(0, "resume last");
    assert!(out.starts_with("4 of 4 hosts done"), "{out}");
    assert_eq!(["n1", "n2", "n3"].map(|host| lab.fleet.attempts(host)), [1, 2, 2]);
    lab.check_nothing_left(4);
}
