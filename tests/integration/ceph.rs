//! A real Ceph cluster on files of this machine, set up, measured, killed and cleaned.

use crate::crash::killed_around;
use crate::nested::{killed_at_each, lab};
use crate::rig::{Rig, can_boot, can_loop, can_run, disks, traces, wait};
use iotax_drivers::ceph::cluster::MakeCeph;
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::system::RealSystem;
use iotax_steps::resource::ManagedResource;
use serde_json::Value;
use std::path::Path;

const QUICK: [&str; 8] =
    ["--slice", "100ms", "--min-time", "1s", "--budget", "3s", "--matched-rate", "off"];

fn can_have_ceph() -> bool {
    can_loop()
        && can_run(&[
            "ceph",
            "ceph-mon",
            "ceph-mgr",
            "ceph-osd",
            "rbd",
            "qemu-storage-daemon",
            "qemu-img",
        ])
        && crate::rig::can(
            "QEMU's driver rbd (qemu-block-extra)",
            iotax_drivers::ceph::qemu_has_driver().is_ok(),
        )
}

/// Two files, the smallest that there may be, under a cluster with images as large as a test needs.
fn cluster(rig: &Rig, words: &str) -> String {
    let members = [rig.file("a.img", 1024), rig.file("b.img", 1024)].join(",");
    format!("[{members}] | ceph(size=2,image-size=64MiB{words})")
}

/// What a report reads back of a layer.
fn settings<'a>(records: &'a [Value], layer: &str) -> Vec<&'a Value> {
    records
        .iter()
        .filter(|record| record["layer"] == layer)
        .map(|record| &record["settings"])
        .collect()
}

/// Returns names and lengths of the logs that Ceph writes outside of the run's folder.
fn logs_of_ceph() -> Vec<(String, u64)> {
    let entries = std::fs::read_dir("/var/log/ceph").into_iter().flatten().flatten();
    let mut logs: Vec<_> = entries
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len())
        })
        .collect();
    logs.sort();
    logs
}

fn nothing_is_left(rig: &Rig) {
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(["a.img", "b.img"].iter().all(|name| !rig.path(name).exists()));
    let left = |run: &Path| run.join("ceph0").exists();
    assert!(!rig.run_dirs().iter().any(|run| left(run)));
}

#[test]
fn images_of_a_real_cluster_are_measured_and_nothing_of_it_is_left() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let logs = logs_of_ceph();
    let layers = ["librbd", "librbd(writeback)", "rados", "fio-rbd", "fio-rbd(writeback)"];
    let stacks = layers.map(|layer| format!("{} | {layer}", cluster(&rig, "")));
    let stacks: Vec<&str> =
        stacks.iter().take(if can_run(&["fio"]) { 5 } else { 2 }).map(String::as_str).collect();
    // fio's slices are of a second.
    let times = ["--min-time", "1s", "--budget", "14s", "--matched-rate", "off"];
    let report = rig.json(&[&["run"], &stacks[..], &["--rw", "randwrite"], &times].concat());
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    let records = rig.records("volume");
    let of_cluster = settings(&records, "ceph");
    assert_eq!(of_cluster.len(), 1, "both stacks are on one cluster");
    for (name, value) in
        [("size", "2"), ("min_size", "1"), ("pg_num", "16"), ("osd_objectstore", "bluestore")]
    {
        assert_eq!(of_cluster[0][name], value, "{}", of_cluster[0]);
    }
    let caches: Vec<&Value> =
        settings(&records, "librbd").iter().map(|told| &told["rbd_cache"]).collect();
    assert_eq!(caches, ["false (QEMU)", "true (QEMU)"]);
    if stacks.len() > 2 {
        let by_fio = settings(&records, "fio-rbd");
        let caches: Vec<&Value> = by_fio.iter().map(|told| &told["rbd_cache"]).collect();
        assert_eq!(caches, ["false (configuration)", "true (configuration)"]);
        assert_eq!(settings(&records, "rados")[0]["object_size"], "4194304");
        let workers = rig.records("worker");
        let by = |end: &str| {
            workers.iter().find(|one| one["stack"].as_str().unwrap().ends_with(end)).unwrap()
        };
        assert!(
            by("rados")["why"].as_str().unwrap().starts_with("fio's rados is a client"),
            "{}",
            by("rados")
        );
    }
    let cluster = &report["workloads"][0]["clusters"][0];
    assert_eq!(cluster["stacks"].as_array().unwrap().len(), stacks.len());
    assert_eq!(
        (&cluster["healthy"], &cluster["slices_not_healthy"]),
        (&cluster["readings"], &0.into()),
        "{cluster}"
    );
    nothing_is_left(&rig);
    assert_eq!(logs_of_ceph(), logs, "what Ceph writes lies in the run's folder");
}

#[test]
fn a_cluster_whose_run_is_killed_while_it_is_made_is_cleaned() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let stack = format!("{} | librbd", cluster(&rig, ""));
    let mut run = rig.spawn(&[&["run", &stack, "--rw", "randread"], &QUICK[..]].concat());
    let osds = || traces(&rig.path("")).iter().filter(|line| line.contains("ceph-osd ")).count();
    wait(|| osds() > 0, 120, "an OSD");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(traces(&rig.path("")).iter().any(|line| line.contains("ceph-mon ")), "it lives on");
    rig.expect(0, &["clean"]);
    nothing_is_left(&rig);
    assert!(rig.expect(0, &["clean"]).contains("nothing to clean"));
}

/// An existing cluster, on a file each of two loop devices, with a pool and nothing in it.
struct Theirs {
    cluster: MakeCeph,
    loops: Vec<String>,
    system: RealSystem,
    tag: RunTag,
}

impl Theirs {
    fn new(rig: &Rig) -> Theirs {
        let attach = |name: &str| {
            let path = rig.path(name);
            std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
            let path = path.to_str().unwrap().to_owned();
            tool("losetup", &["--find", "--show", &path]).trim().to_owned()
        };
        let loops = vec![attach("theirs-a"), attach("theirs-b")];
        let cluster = MakeCeph {
            name: "theirs-0a1b2c".into(),
            directory: rig.path("theirs"),
            members: loops.iter().map(|device| PathRef::Path(device.into())).collect(),
            size: 2,
            min_size: 1,
            pg: 8,
            memory: 1 << 30,
            cache_policy: "writearound".into(),
            order: 22,
            drives: Drives::default(),
        };
        let tag = RunTag { run_id: "theirs-0a1b2c".into(), run_dir: rig.path("") };
        let mut theirs = Theirs { cluster, loops, system: RealSystem::default(), tag };
        theirs.cluster.make_resource(&mut theirs.system, &theirs.tag).unwrap();
        theirs
    }

    fn rbd(&self, words: &[&str]) -> String {
        self.run("rbd", words)
    }

    fn ceph(&self, words: &[&str]) -> String {
        self.run("ceph", words)
    }

    fn run(&self, program: &str, words: &[&str]) -> String {
        let conf = self.cluster.conf();
        tool(program, &[&["--conf", conf.to_str().unwrap()], words].concat())
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let made = iotax_drivers::step_output::StepOutput::default();
        let ended = self.cluster.remove_resource(&mut self.system, &self.tag, &made);
        self.loops.iter().for_each(|device| drop(tool("losetup", &["--detach", device])));
        ended.unwrap();
    }
}

fn tool(program: &str, words: &[&str]) -> String {
    let output = std::process::Command::new(program).args(words).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "makes a cluster to stand for somebody's: ./check --lab runs it by name"]
fn a_real_cluster_of_somebodys_is_read_and_nothing_is_made_in_it() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let theirs = Theirs::new(&rig);
    let pool = theirs.cluster.name.as_str();
    let image = format!("{pool}/i0");
    theirs.rbd(&["create", "--size", "64M", &image]);
    let medium = |image: &str| format!("rbd:{pool}/{image}@{}", theirs.cluster.conf().display());
    let run = |stack: &str, rw: &str, more: &[&str]| {
        let args = [&["run", stack, "--rw", rw], &QUICK[..], more].concat();
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let complains = |stack: &str, rw: &str, parts: &[&str]| {
        let args = run(stack, rw, &[]);
        rig.complains(2, &args.iter().map(String::as_str).collect::<Vec<_>>(), parts);
    };
    let own = format!("{} | librbd", medium("i0"));
    complains(
        &own,
        "randwrite",
        &["which iotax did not create", &format!("--destroy serial=rbd:{image}")],
    );
    let plan = rig.expect(3, &["plan", "-v", &own, "--rw", "randwrite"]);
    for part in ["serial=rbd:", "measure librbd: load on host"] {
        assert!(plan.contains(part), "the plan and what it needs: {plan}");
    }
    let none = format!("the pool {pool} has no image none; hint: name one of these: i0");
    complains(&format!("{} | librbd", medium("none")), "randread", &[&none]);
    let no_pool = format!("rbd:none/i0@{} | librbd", theirs.cluster.conf().display());
    complains(
        &no_pool,
        "randread",
        &["there is no pool none; hint: name one of these: theirs-0a1b2c"],
    );
    let before = theirs.rbd(&["ls", pool]);
    let args = run(&own, "randread", &["--format", "json"]);
    let output = rig.iotax(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let said = crate::rig::words(&output);
    assert!(
        output.status.success() && said.contains("was ever written; reads of the rest"),
        "{said}"
    );
    let told = rig.records("volume");
    assert_eq!(settings(&told, "librbd")[0]["pool size"], "2");
    let consent = ["--destroy".to_owned(), format!("serial=rbd:{image}")];
    let consent: Vec<&str> = consent.iter().map(String::as_str).collect();
    let args = run(&own, "randwrite", &consent);
    rig.expect(0, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(theirs.rbd(&["ls", pool]), before, "nothing was made");
    // One whose OSDs are nearly full is read and not written; one in an error is not touched.
    let ratio = |name: &str, value: &str| theirs.ceph(&["osd", name, value]);
    let is_reported = |check: &str| theirs.ceph(&["health", "detail"]).contains(check);
    ratio("set-nearfull-ratio", "0.001");
    wait(|| is_reported("OSD_NEARFULL"), 60, "a warning of room");
    let args = run(&own, "randwrite", &consent);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    rig.complains(2, &args, &["no room to be written to (OSD_NEARFULL", "hint: ceph --conf"]);
    let args = run(&own, "randread", &["--format", "json"]);
    let report = rig.json(&args[..args.len() - 2].iter().map(String::as_str).collect::<Vec<_>>());
    let cluster = &report["workloads"][0]["clusters"][0];
    assert_eq!(cluster["course"][0]["status"]["health"], "HEALTH_WARN", "{cluster}");
    assert!(
        cluster["readings"].as_u64().unwrap() >= 2 && cluster["healthy"] == cluster["readings"],
        "{cluster}"
    );
    ratio("set-full-ratio", "0.001");
    wait(|| is_reported("HEALTH_ERR"), 60, "an error");
    complains(&own, "randread", &["reports HEALTH_ERR", "_FULL", "health detail"]);
    ratio("set-full-ratio", "0.95");
    ratio("set-nearfull-ratio", "0.85");
    wait(|| !is_reported("FULL"), 60, "room again");
    // Whoever has it open.
    let mut watches = std::process::Command::new("qemu-storage-daemon");
    let node = format!(
        "driver=rbd,node-name=r,pool={pool},image=i0,conf={}",
        theirs.cluster.conf().display()
    );
    let socket = format!("addr.type=unix,addr.path={}", rig.path("nbd").display());
    watches.args(["--blockdev", &node, "--nbd-server", &socket]);
    let mut watches =
        watches.args(["--export", "type=nbd,id=n,node-name=r,writable=on"]).spawn().unwrap();
    wait(|| theirs.rbd(&["status", &image]).contains("watcher="), 30, "a watcher");
    complains(&own, "randread", &["is in use by the client at ", "hint: stop that client"]);
    watches.kill().unwrap();
    watches.wait().unwrap();
}

#[test]
fn a_cluster_that_cannot_be_reached_is_refused_before_anything_is_made() {
    let rig = Rig::new();
    let conf = rig.path("ceph.conf");
    let stack = format!("rbd:p/i@{} | librbd", conf.display());
    let args = ["run", &stack, "--rw", "randread"];
    rig.complains(2, &args, &["ceph.conf does not exist; hint: rbd:p/i@/path/ceph.conf"]);
    if !can_run(&["ceph", "rbd"]) {
        return;
    }
    // The discard port, on which nobody answers.
    std::fs::write(&conf, "[global]\nmon_host = v2:127.0.0.1:9\nauth_client_required = none\n")
        .unwrap();
    rig.complains(3, &args, &["does not answer", "hint: check mon_host"]);
    assert!(rig.run_dirs().is_empty());
}

#[test]
#[ignore = "makes a cluster at many records of its journal: ./check --lab runs it by name"]
fn a_real_cluster_is_gone_after_a_kill_in_each_of_its_steps() {
    if !can_have_ceph() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    // One OSD on a file that is filled once. Files and loop devices have separate tests.
    let member = rig.file("kept.img", 1024);
    let stack = format!(
        "{member},keep=true | loop | ceph(size=1,min-size=1,pg=1,image-size=1MiB) | librbd"
    );
    let quick = ["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms", "--rw", "randread"];
    let args = [&["run", &stack], &quick[..]].concat();
    let is_cephs = |line: &str| {
        ["make_ceph", "make_rbd_image", "export_librbd"]
            .iter()
            .any(|op| line.contains(&format!("\"{op}\"")))
    };
    killed_around(&rig, &args, &is_cephs, &|when| {
        assert_eq!(traces(&rig.path("")), Vec::<String>::new(), "{when}");
        assert!(!rig.run_dirs().iter().any(|run| run.join("ceph0").exists()), "{when}");
        let member = std::fs::File::open(rig.path("kept.img")).unwrap();
        let mut label = [0; 22];
        std::os::unix::fs::FileExt::read_exact_at(&member, &mut label, 0).unwrap();
        assert_ne!(&label, b"bluestore block device", "{when}");
    });
}

#[test]
#[ignore = "fails and rebuilds an OSD, and boots a guest: ./check --lab runs it by name"]
fn a_real_cluster_goes_through_its_states_under_a_guest() {
    if !can_have_ceph() || !can_boot() {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let vm = |options: &str| format!("{} | vm(memory=256MiB,vcpus=1,{options})", cluster(&rig, ""));
    let stacks =
        [vm("cache=none"), vm("cache=writeback,num-queues=1"), vm("attach=vhost-user-blk")];
    let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
    let report = rig.json(&[&["run"], &stacks[..], &["--rw", "randwrite"], &QUICK].concat());
    let told: Vec<Value> =
        disks(&report).iter().map(|disk| disk["qemu"]["rbd_cache"].clone()).collect();
    assert_eq!(told, ["false (QEMU)", "true (QEMU)", "false (QEMU)"]);
    assert!(
        disks(&report).iter().all(|disk| disk["differs"].as_array().unwrap().is_empty()),
        "{report}"
    );
    nothing_is_left(&rig);
    let stack = format!("{} | librbd", cluster(&rig, ""));
    let states =
        ["--states", "healthy,failed(1),rebuilding,healthy,out(1),healthy", "--visits", "1"];
    let report = rig.json(&[&["run", &stack, "--rw", "randread"], &states[..], &QUICK].concat());
    let slices = rig.records("slice");
    let told: Vec<&str> = slices.iter().filter_map(|slice| slice["state"].as_str()).collect();
    for state in ["healthy", "degraded, 1 missing", "rebuilding, ", "1 out"] {
        assert!(told.iter().any(|told| told.starts_with(state)), "{state} is not among {told:?}");
    }
    // Each state with the whole reading after each slice.
    let clusters = report["workloads"][0]["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 6, "a part for each state: {clusters:?}");
    let first = |at: usize| &clusters[at]["course"][0]["status"];
    assert_eq!(
        (&first(0)["up"], &first(0)["in"], &first(1)["up"]),
        (&2.into(), &2.into(), &1.into())
    );
    assert!(first(1)["checks"].as_array().unwrap().contains(&"OSD_DOWN".into()), "{}", first(1));
    assert_eq!(
        (&first(4)["up"], &first(4)["in"], &first(4)["health"]),
        (&2.into(), &1.into(), &"HEALTH_OK".into())
    );
    assert!(clusters[4]["most_misplaced"].as_f64().unwrap() > 0.0, "{}", clusters[4]);
    let readings = rig.records("cluster");
    assert!(readings.len() > slices.iter().filter(|slice| slice["state"].is_string()).count());
    let warned = |warning: &&Value| warning["kind"] == "cluster";
    assert_eq!(
        report["warnings"].as_array().unwrap().iter().find(warned),
        None,
        "states were asked for"
    );
    nothing_is_left(&rig);
}

/// What this machine's kernel may lack, a lab's has. Beside the image another is mapped by hand,
/// which is never touched.
const KERNELS_CLIENT: &str = r#"
export CEPH_CONF=CONF
pool=POOL
for module in virtio_net rbd; do modprobe $module || fail "no module $module"; done
ip link set lo up
n=0; while [ ! -e /sys/class/net/eth0 ]; do n=$((n+1)); [ $n -lt 100 ] || fail "no network"; sleep 0.2; done
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up || fail "no address"
# The daemons are at 127.0.0.1, which from here is 10.0.2.2.
for port in PORTS; do busybox nc -ll -p $port -e busybox nc 10.0.2.2 $port & done
sleep 1
rbd device map --options ms_mode=prefer-crc,noudev $pool/theirs || fail "not mapped: $(dmesg | tail)"
run="$iotax run rbd:$pool/i@$CEPH_CONF|krbd(queue-depth=32) --destroy serial=rbd:$pool/i --rw randrw --bs 4k --iodepth 8 \
    --slice 200ms --min-time 2s --budget 5s --matched-rate off"
untouched() { [ "$(cat /sys/bus/rbd/devices/*/name)" = theirs ]; }
$run > /mnt/out 2>&1 || fail "the run: $(cat /mnt/out)"
untouched || fail "left: $(cat /sys/bus/rbd/devices/*/name)"
$iotax report last --format json | tr -d '\n' > /mnt/json || fail "no report"
fact options $(grep -rhao '"client options":"[^"]*"' /mnt/runs | tail -n 1)
fact depth $(grep -rhao '"nr_requests":"[^"]*"' /mnt/runs | tail -n 1)
fact errors $(grep -o '"errors": *[0-9]*' /mnt/json | sort -u | tr -s ' ')
# Nobody watches an image that is mapped for reading only.
mine=$(rbd device map --read-only --options ms_mode=prefer-crc,noudev $pool/i) || fail "not mapped to read"
$run > /mnt/out 2>&1; fact mapped $?: $(tr '\n' ' ' < /mnt/out)
rbd device unmap --options noudev $mine || fail "$mine is not mapped any more"
KILLED
rbd device unmap --options noudev $(ls -d /dev/rbd[0-9]*) || fail "theirs is not mapped any more"
fact as before
"#;

#[test]
#[ignore = "minutes in a lab under a translator; ./check --lab runs it by name"]
fn an_image_of_a_real_cluster_is_mapped_by_the_kernels_client_and_unmapped_after_any_kill() {
    if !(can_have_ceph() && can_run(&["ip"])) {
        return;
    }
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    let theirs = Theirs::new(&rig);
    let pool = theirs.cluster.name.as_str();
    theirs.rbd(&["create", "--size", "16M", &format!("{pool}/i")]);
    theirs.rbd(&["create", "--size", "8M", &format!("{pool}/theirs")]);
    // Of the mon and the OSDs: 127.0.0.1:6801, each once.
    let maps = [
        theirs.ceph(&["mon", "dump", "--format", "json"]),
        theirs.ceph(&["osd", "dump", "--format", "json"]),
    ];
    let ports: std::collections::BTreeSet<&str> = maps
        .iter()
        .flat_map(|map| map.split("127.0.0.1:").skip(1))
        .filter_map(|rest| {
            rest.split(|one: char| !one.is_ascii_digit()).next().filter(|port| *port != "0")
        })
        .collect();
    let ports: Vec<&str> = ports.into_iter().collect();
    let script = KERNELS_CLIENT
        .replace("CONF\n", &format!("{}\n", theirs.cluster.conf().display()))
        .replace("POOL", pool)
        .replace("PORTS", &ports.join(" "))
        // Intent and done of the mapping, and its undoing.
        .replace("KILLED", &killed_at_each(0..3, "$run", "untouched"));
    let network = ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"];
    let Some(facts) = lab(&script, "", &network) else { return };
    eprintln!("{}", facts.join("\n"));
    let of = |word: &str| facts.iter().find_map(|fact| fact.strip_prefix(word)).unwrap_or_default();
    let options = of("options ");
    assert!(
        options.contains("ms_mode=prefer-crc") && options.contains("queue_depth=32"),
        "{facts:?}"
    );
    assert!(!options.contains("key=") && !options.contains("secret="), "{facts:?}");
    assert_eq!(of("depth "), r#""nr_requests":"32""#, "{facts:?}");
    assert_eq!(of("errors "), r#""errors": 0"#, "{facts:?}");
    let mapped = of("mapped ");
    assert!(
        mapped.starts_with("2: ") && mapped.contains("is mapped on this host as /dev/rbd"),
        "{facts:?}"
    );
    for fact in ["killed everywhere", "as before"] {
        assert!(facts.iter().any(|found| found == fact), "no \"{fact}\" in {facts:?}");
    }
    assert!(theirs.rbd(&["status", &format!("{pool}/i")]).contains("Watchers: none"));
}
