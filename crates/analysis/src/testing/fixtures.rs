//! Simulated runs: one for everything that a report must cope with.

use super::*;
use iotax_facts::limit::{LimitUnit, SetLimit};
use iotax_facts::machine::{Device, PcieLink, TargetFacts};
use iotax_load::{VerifiedWorker, verify};
use iotax_model::record::course::{CourseDirection, CourseLoad, LimitCourse};
use iotax_model::record::imported::{
    Import, ImportedDirection, ImportedFile, ImportedPart, ImportedResult, ImportedSample,
    PrintedPercentile, ReportedLoad, Uncounted, UnreadLines,
};
use iotax_model::record::trial::{DurabilityTrial, Example, ReadBack};
use iotax_model::record::verification::Verification;
use iotax_model::record::{
    Better, DeviceCounts, DeviceReading, DeviceTraffic, IssuedIo, LayerUp, PlaceTraffic,
};
use iotax_model::scenario::article::{ArticleTable, TableHead};
use iotax_model::scenario::{
    Kill, LimitSearch, PublishedClaim, Rating, TableGroup, TableSpec, rating,
};
use iotax_model::stack::InState;
use iotax_model::state::AskedState;
use iotax_probe::ProbeSpec;

/// Name and maker of a simulated run.
pub type Fixture = (&'static str, fn() -> RunData);
pub const FIXTURES: [Fixture; 32] = [
    ("bill", bill),
    ("failed", failed),
    ("a_against_a", a_against_a),
    ("guest", guest),
    ("crowd", crowd),
    ("partial", partial),
    ("writes", writes),
    ("mixed", mixed),
    ("visits", visits),
    ("sweep", sweep),
    ("grid", grid),
    ("rates", rates),
    ("three_figures", three_figures),
    ("late", late),
    ("masked", masked),
    ("rate_limited", rate_limited),
    ("matrix", matrix),
    ("cells", cells),
    ("attaches", attaches),
    ("disturbed", disturbed),
    ("named_bill", named_bill),
    ("durability", durability),
    ("limits", limits),
    ("verified", verified),
    ("published", published),
    ("arrays", arrays),
    ("states", states),
    ("known_drive", known_drive),
    ("drive_by_drive", drive_by_drive),
    ("tables", tables),
    ("imported", imported),
    ("networks", networks),
];

/// A bill of file | loop | fs(xfs) | delay(us=10) at depth 1 and at depth 32: costs 4, 3 and about
/// 9 %.
pub fn bill() -> RunData {
    Twin::new(9, prefixes()).bill().jobs([1, 32]).measured()
}

pub fn bill_of_seed(seed: u64) -> RunData {
    Twin::new(seed, prefixes()).bill().measured()
}

/// The run of [`bill_of_seed`], but with this latency of the loop device (93,700 ns there), a week
/// later and on another kernel.
pub fn a_week_later(seed: u64, loop_latency_ns: f64) -> RunData {
    let mut stacks = prefixes();
    stacks[1].latency_ns = loop_latency_ns;
    let mut run = Twin::new(seed, stacks).bill().measured();
    run.start.at = "2026-01-08T12:00:00Z".into();
    run.start.boot_id = "11111111-1111-1111-1111-111111111111".into();
    run.places[0].facts.kernel = Some("6.12.9".into());
    run
}

/// The run of [`bill_of_seed`] with a kernel release among its facts.
pub fn a_week_before(seed: u64) -> RunData {
    let mut run = bill_of_seed(seed);
    run.places[0].facts.kernel = Some("6.1.0".into());
    run
}

fn prefixes() -> Vec<TwinStack> {
    vec![
        stack("file", FILE, 90_000.0),
        stack("loop", "file:/srv/iotax.img,size=4GiB | loop", 93_700.0),
        stack("fs(xfs)", "file:/srv/iotax.img,size=4GiB | loop | fs(xfs)", 96_600.0),
        stack(
            "delay(us=10)",
            "file:/srv/iotax.img,size=4GiB | loop | fs(xfs) | delay(us=10)",
            106_600.0,
        ),
    ]
}

/// Three prefixes with figures that an invented page published about them: one that agrees, one
/// that differs, a bound, and figures without one of the baseline.
pub fn published() -> RunData {
    let mut stacks = prefixes();
    stacks.truncate(3);
    let mut run = Twin::new(53, stacks).measured();
    let workload = run.start.scenario.workloads[0].name.clone();
    let row = |metric: &str, cells: [&str; 3]| {
        let metric = metric.to_owned().try_into().unwrap();
        let cells = ["file", "loop", "fs(xfs)"]
            .into_iter()
            .zip(cells)
            .filter(|(_, printed)| *printed != "-");
        cells
            .map(|(stack, printed)| {
                PublishedFigure::from_printed(&workload, metric, stack, printed).unwrap()
            })
            .collect()
    };
    let rows: [Vec<PublishedFigure>; 4] = [
        row("iops", ["195", "188", "245"]),
        row("read mean", ["-", "112us", "118.47us"]),
        row("read p99", ["1.27ms", "1.20ms", "<25%"]),
        row("read p99.99", ["2.0ms", "2.1ms", "-"]),
    ];
    run.start.scenario.published = Some(Box::new(Published {
        source: "a page that never was, 2026".into(),
        hardware: "a drive of the twin's".into(),
        note: Some("its charts are lost".into()),
        baseline: "file".into(),
        figures: rows.concat(),
        claims: invented_claims(&workload),
    }));
    run
}

/// Returns claims about [`published`]: two that agree, two that do not, and one of a figure that
/// the run does not have.
fn invented_claims(workload: &str) -> Vec<PublishedClaim> {
    let claim =
        |text: &str, metric: &str, against: Option<&str>, printed: &str, range: [f64; 3]| {
            let [low, value, high] = range;
            PublishedClaim {
                text: text.to_owned(),
                workload: workload.to_owned(),
                metric: metric.to_owned().try_into().unwrap(),
                stack: "loop".to_owned(),
                against: against.map(ToOwned::to_owned),
                per_guest: false,
                printed: printed.to_owned(),
                value,
                low,
                high,
            }
        };
    let file = Some("file");
    vec![
        claim("loop costs next to nothing", "iops", file, "~4% less", [0.955, 0.96, 0.965]),
        claim("loop reaches 4 times the file", "iops", file, "4x", [3.5, 4.0, 4.5]),
        claim("fs is a tenth faster", "iops", Some("fs(xfs)"), "90%", [0.895, 0.9, 0.905]),
        claim("the latency is as good", "read mean", Some("fs(xfs)"), "97%", [0.965, 0.97, 0.975]),
        claim("nearly 1M I/Os a core", "iops per core", None, "~1M", [5e5, 1e6, 1.5e6]),
    ]
}

/// A drive with a known data sheet on its link, and a loop device on it: 128k in order reaches
/// nearly the bound of both, and 4k stays far below.
pub fn known_drive() -> RunData {
    let stacks = vec![
        stack("bare", "/dev/nvme1n1", 20_000.0),
        stack("loop", "/dev/nvme1n1 | loop", 21_000.0),
    ];
    let large = Job { rw: Rw::Read, bs: 128 << 10, percentage_random: 0, ..Job::default() };
    let mut run = Twin::new(83, stacks).over(&[], vec![large, Job::default()]).measured();
    on_a_drive(&mut run, pro());
    run
}

/// Moves all stacks of a run to a drive of a physical machine.
pub fn on_a_drive(run: &mut RunData, device: Device) {
    let path = std::path::PathBuf::from("/dev/nvme1n1");
    for stack in &mut run.start.scenario.stacks {
        stack.medium = Medium::Device { path: path.clone() };
    }
    let facts = &mut run.places[0].facts;
    facts.cpu.under_hypervisor = Some(false);
    facts.targets = vec![TargetFacts { path, file_system: None, devices: vec![device] }];
}

/// A drive with a known data sheet, in a slot that could do more.
pub fn pro() -> Device {
    let pcie = PcieLink {
        address: "0000:01:00.0".into(),
        speed: Some("16.0 GT/s PCIe".into()),
        width: Some(4),
        ..PcieLink::default()
    };
    Device {
        name: "nvme1n1".into(),
        model: Some("Samsung SSD 980 PRO 1TB".into()),
        bytes: Some(1_000_204_886_016),
        rotational: Some(false),
        pcie: Some(pcie),
        ..Device::default()
    }
}

/// Seven drives one by one under two loads: two are slow and have a narrower link, one of them with
/// another firmware, and one is of another model.
pub fn drive_by_drive() -> RunData {
    const PATHS: [&str; 7] = [
        "/dev/nvme0n1",
        "/dev/nvme1n1",
        "/dev/nvme2n1",
        "/dev/nvme3n1",
        "/dev/nvme4n1",
        "/dev/nvme5n1",
        "/dev/nvme6n1",
    ];
    const NAMES: [&str; 7] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6"];
    let latencies = [90_000.0, 90_400.0, 89_700.0, 180_000.0, 90_200.0, 120_000.0, 60_000.0];
    let stacks = (0..7).map(|at| stack(NAMES[at], PATHS[at], latencies[at])).collect();
    let mut run = Twin::new(97, stacks).jobs([1, 16]).measured();
    let targets = PATHS.iter().enumerate().map(|(at, path)| {
        let mut device = Device { firmware: Some("GDC5902Q".into()), numa_node: Some(0), ..pro() };
        if let (3 | 5, Some(pcie)) = (at, &mut device.pcie) {
            pcie.width = Some(2);
        }
        match at {
            3 => device.firmware = Some("GDC5702Q".into()),
            6 => device.model = Some("another model".into()),
            _ => {}
        }
        TargetFacts { path: path.into(), file_system: None, devices: vec![device] }
    });
    run.places[0].facts.targets = targets.collect();
    for (stack, path) in run.start.scenario.stacks.iter_mut().zip(PATHS) {
        stack.medium = Medium::Device { path: path.into() };
    }
    run
}

/// A network to two hosts, measured by a tool and by datagrams; an eighth of the datagrams to the
/// second host is lost.
pub fn networks() -> RunData {
    let stacks = vec![
        stack("host to ssh:b", "net:ssh:b", 20_000.0),
        stack("host to ssh:c", "net:ssh:c", 40_000.0),
    ];
    let mut run = Twin::new(83, stacks).jobs([1, 4]).measured();
    for stack in &mut run.start.scenario.stacks {
        let to = Place::from(stack.name.rsplit(' ').next().unwrap_or_default());
        stack.medium = Medium::Net { place: Place::Host, to, address: None, port: None };
    }
    for (at, text) in ["iperf3(tcp)", "udp(send)"].into_iter().enumerate() {
        let workload = &mut run.start.scenario.workloads[at];
        let before = std::mem::replace(&mut workload.name, text.to_owned());
        (workload.jobs, workload.probe) = (Vec::new(), ProbeSpec::parse(text).ok());
        let slices = run.slices.iter_mut().map(|slice| &mut slice.workload);
        let others = run.workers.iter_mut().map(|worker| &mut worker.workload);
        let others = others.chain(run.ends.iter_mut().map(|(name, _)| name));
        let designs = run.designs.iter_mut().map(|design| &mut design.workload);
        slices
            .chain(others)
            .chain(designs)
            .filter(|name| **name == before)
            .for_each(|name| *name = text.into());
    }
    for slice in &mut run.slices {
        let by_datagram = slice.workload.starts_with("udp");
        let sent = (slice.total(".ios") * if slice.stack.ends_with('c') { 8.0 / 7.0 } else { 1.0 })
            .round();
        let lost = sent - slice.total(".ios");
        let all = slice.total(".ios") + slice.discarded_ios as f64;
        let seen = match by_datagram {
            true => [("net.sent", sent), ("net.lost", lost), ("net.retransmits", 0.0)],
            false => [
                ("net.sent", 0.0),
                ("net.lost", 0.0),
                ("net.retransmits", f64::from(slice.round % 3)),
            ],
        };
        for (metric, value) in seen.into_iter().chain([("net.peer_cpu", 6_000.0 * all)]) {
            let (metric, value) = (metric.to_owned(), SampleValue::Value(value));
            slice.samples.push(SliceSample {
                metric,
                unit: "1".into(),
                better: Better::Lower,
                value,
            });
        }
    }
    run
}

/// Five drives with RAID5, LVM and ZFS on them: half of the drives' random reads, of which ZFS
/// answers more than there are, a twelfth of their random writes and an eighth of a mix. The maker
/// rates the drives.
pub fn arrays() -> RunData {
    const LOADS: [Rw; 3] = [Rw::RandRead, Rw::RandWrite, Rw::RandRw];
    let stacks = vec![
        stack("each", "each([nvme0,...,nvme4] @lab)", 20_000.0),
        stack("raid5", "[nvme0,...,nvme4] @lab | mdraid(level=5)", 40_000.0),
        stack("lvm", "[nvme0,...,nvme4] @lab | lvm(type=striped)", 40_000.0),
        stack("zfs", "[nvme0,...,nvme4] @lab | zfs(vdev=raidz)", 15_000.0),
    ];
    let mut twin = Twin::new(61, stacks);
    twin.jobs = LOADS.map(|rw| Job { rw, iodepth: 4, ..Job::default() }).to_vec();
    (twin.rounds, twin.slice_ns, twin.writes, twin.noise_of) = (48, 4e6, 256.0, (0.02, 0.005));
    let mut run = twin.measured();
    let layers = [
        vec![],
        vec![layer("mdraid", &[("level", "5"), ("chunk", "512KiB")])],
        vec![layer("lvm", &[("type", "striped"), ("stripe-size", "64KiB")])],
        vec![layer("zfs", &[("vdev", "raidz"), ("volblocksize", "16KiB"), ("compression", "lz4")])],
    ];
    for (stack, layers) in run.start.scenario.stacks.iter_mut().zip(layers) {
        (stack.medium, stack.layers) = (drives(5), layers);
    }
    for slice in run.slices.iter_mut().filter(|slice| slice.stack == "raid5") {
        let times = if slice.workload.contains("randwrite") {
            6
        } else {
            1 + 3 * u64::from(slice.workload.contains("randrw"))
        };
        slice.window_ns *= times;
    }
    let mut rating = Rating::default();
    let printed = [
        ("source", "data sheet of a drive that never was, 2026"),
        ("randread_iops", "20k"),
        ("randwrite_iops", "10k"),
    ];
    for (key, text) in printed {
        rating::set_rating_key(&mut rating, key, text).unwrap();
    }
    run.start.scenario.rating = Some(Box::new(rating));
    run
}

/// Four drives, and a RAID5 of them as it was made, with one lost, during the rebuild, and whole
/// again. It reaches half of the rate while one is lost, and a third during the rebuild. One of the
/// slices of the rebuild ended after the array was whole.
pub fn states() -> RunData {
    let in_state = |name, latency_ns| stack(name, FILE, latency_ns);
    let stacks = vec![
        in_state("each of 4", 20_000.0),
        in_state("mdraid(level=5)", 40_000.0),
        in_state("mdraid(level=5) failed(1)", 80_000.0),
        in_state("mdraid(level=5) rebuilding", 120_000.0),
        in_state("mdraid(level=5) healthy again", 40_000.0),
    ];
    let mut twin = Twin::new(71, stacks).jobs([4]);
    (twin.apart, twin.slice_ns, twin.noise_of) = (Some(6), 2e7, (0.004, 0.002));
    let mut run = twin.measured();
    let told: [fn(usize) -> String; 4] = [
        |_| "healthy".into(),
        |_| "degraded, 1 missing".into(),
        |slice| format!("rebuilding, {} % done", 3 + slice % 50),
        |_| "healthy".into(),
    ];
    let asked =
        [AskedState::Healthy, AskedState::Failed(1), AskedState::Rebuilding, AskedState::Healthy];
    for (position, state) in asked.into_iter().enumerate() {
        let one = &mut run.start.scenario.stacks[position + 1];
        one.layers = vec![layer("mdraid", &[("level", "5"), ("chunk", "64KiB")])];
        one.state = Some(InState { position, state, of: 1 });
        let ours = run.slices.iter_mut().filter(|slice| slice.stack == one.name);
        ours.enumerate().for_each(|(at, slice)| slice.state = Some(told[position](at)));
    }
    run.start.scenario.stacks.iter_mut().for_each(|stack| stack.medium = drives(4));
    let left = run.slices.iter().find(|slice| slice.stack.ends_with("rebuilding")).cloned();
    let md = [
        ("level", "raid5"),
        ("raid_disks", "4"),
        ("chunk_size", "65536"),
        ("layout", "2"),
        ("metadata_version", "1.2"),
        ("bitmap/location", "none"),
        ("stripe_cache_size", "256"),
        ("sync_speed_max", "4096 (local)"),
    ];
    run.layers.push(LayerUp {
        stacks: vec!["mdraid(level=5)".into()],
        layer: "mdraid".into(),
        place: "lab".into(),
        part: String::new(),
        device: Some(Device {
            name: "md127".into(),
            md: md.map(|(key, word)| (key.to_owned(), word.to_owned())).into(),
            ..Device::default()
        }),
        settings: Default::default(),
    });
    run.slices.extend(left.map(|slice| Slice {
        purpose: Purpose::OutOfState,
        state: Some("healthy".into()),
        ..slice
    }));
    run
}

/// Three backends over two protocols, in an emulated lab, with the tables of an article that has
/// figures of one of them.
pub fn tables() -> RunData {
    const COLUMNS: [&str; 3] = ["LVM", "mdadm", "ZFS"];
    let backend = |name, latency_ns| TwinStack { place: "lab", ..stack(name, FILE, latency_ns) };
    let stacks = vec![
        backend("lvm-iser", 90_000.0),
        backend("mdadm-iser", 94_000.0),
        backend("zfs-iser", 300_000.0),
        backend("lvm-nvmeof", 80_000.0),
        backend("mdadm-nvmeof", 80_000.0),
    ];
    let mut twin = Twin::new(63, stacks).jobs([1, 4]);
    twin.slice_ns = 1e7;
    let mut run = twin.measured();
    run.places.push(PlaceFacts {
        place: "lab".into(),
        facts: facts("lab"),
        emulated: Some("emulated: not representative of KVM (there is none)".into()),
        commands: Vec::new(),
        disks: Vec::new(),
        spdk: Vec::new(),
    });
    let scenario = &mut run.start.scenario;
    let lvm = || layer("lvm", &[("type", "striped"), ("stripe-size", "64KiB")]);
    let mdraid = || layer("mdraid", &[("level", "0"), ("chunk", "512KiB")]);
    let zfs =
        || layer("zfs", &[("vdev", "stripe"), ("volblocksize", "16KiB"), ("compression", "lz4")]);
    let export = |name, transport| layer(name, &[("transport", transport)]);
    let layers = [
        vec![lvm(), export("iscsi", "iser")],
        vec![mdraid(), export("iscsi", "iser")],
        vec![zfs(), export("iscsi", "iser")],
        vec![lvm(), export("nvmf", "tcp")],
        vec![mdraid(), export("nvmf", "tcp")],
    ];
    for (stack, layers) in scenario.stacks.iter_mut().zip(layers) {
        (stack.medium, stack.layers) = (drives(6), layers);
    }
    let group = |name: &str, stacks: [Option<&str>; 3]| TableGroup {
        metric: None,
        rows: None,
        name: Some(name.to_owned()),
        stacks: stacks.map(|stack| stack.map(str::to_owned)).to_vec(),
    };
    let rows: Vec<String> =
        scenario.workloads.iter().map(|workload| workload.name.clone()).collect();
    let iops = |stack: &str, printed: &str| {
        PublishedFigure::from_printed(
            &rows[0],
            "iops".to_owned().try_into().unwrap(),
            stack,
            printed,
        )
        .unwrap()
    };
    scenario.published = Some(Box::new(Published {
        source: "a page that never was, 2026".into(),
        hardware: "six drives of the twin's".into(),
        note: None,
        baseline: "lvm-iser".into(),
        claims: Vec::new(),
        figures: vec![
            iops("lvm-iser", "131652.90"),
            iops("mdadm-iser", "124615.40"),
            iops("zfs-iser", "33734.00"),
        ],
    }));
    scenario.table = Some(Box::new(TableSpec {
        columns: COLUMNS.map(str::to_owned).to_vec(),
        percent_of: Some(0),
        rows,
        metric: None,
        groups: vec![
            group("iSER", [Some("lvm-iser"), Some("mdadm-iser"), Some("zfs-iser")]),
            group("NVMe-oF", [Some("lvm-nvmeof"), Some("mdadm-nvmeof"), None]),
        ],
    }));
    scenario.articles = vec![article_of_iser(scenario)];
    run
}

/// The figures of two stacks, the share of the second one, and a published figure, for each load.
fn article_of_iser(scenario: &Scenario) -> ArticleTable {
    let head = |name: &str, keys: &[(&str, &str)]| {
        let mut head = TableHead::new(name);
        keys.iter().for_each(|(key, word)| drop(head.cells.set_key(key, word)));
        head
    };
    let loads = scenario.workloads.iter();
    let columns = vec![
        head("LVM", &[("stack", "lvm-iser")]),
        head("ZFS", &[("stack", "zfs-iser")]),
        TableHead { percent_of: Some(0), ..head("% of LVM", &[("stack", "zfs-iser")]) },
        head("page", &[("stack", "zfs-iser"), ("show", "published")]),
    ];
    ArticleTable {
        name: "backends".into(),
        title: Some("Backends by iSER".into()),
        corner: "load".into(),
        cells: head("", &[("metric", "iops"), ("unit", "kIOPS"), ("digits", "2")]).cells,
        shares: head("", &[("digits", "1"), ("tight", "true")]).cells,
        rows: loads.map(|load| head(&load.name, &[("load", &load.name)])).collect(),
        columns,
    }
}

/// A run in which I/Os on the loop layer failed.
pub fn failed() -> RunData {
    let mut stacks = prefixes();
    stacks[1].lives = 0;
    let mut run = Twin::new(10, stacks).bill().measured();
    run.warnings.push(Warning {
        kind: "io_errors".into(),
        subject: "loop".into(),
        text:
            "3 I/Os failed or came back short on loop; the first: Input/output error (os error 5)"
                .into(),
    });
    run
}

/// The trace of one stack that falls to half of its rate after a third of its 120 slices.
pub fn trace() -> RunData {
    let mut twin = Twin::new(61, vec![stack("file", FILE, 90_000.0)]);
    (twin.rounds, twin.limit, twin.noise_of) = (60, Some((20, 5_000.0)), (0.003, 0.01));
    let mut run = twin.measured();
    run.start.scenario.measure.trace_ns = Some(12_000_000_000);
    run
}

pub fn a_against_a() -> RunData {
    let again = stack("file-again", FILE, 90_000.0);
    Twin::new(13, vec![stack("file", FILE, 90_000.0), again]).jobs([32]).measured()
}

/// Four guests that achieve twice the rate of one.
pub fn crowd() -> RunData {
    let guest = |name, text, latency_ns, parts| TwinStack {
        place: "vm",
        host_cpu_ns: Some(20_000.0),
        parts,
        ..stack(name, text, latency_ns)
    };
    let one = guest("vm", "file:/srv/iotax.img,size=4GiB | vm", 120_000.0, 1);
    let four = guest("vm x4", "file:/srv/iotax.img,size=4GiB | vm x4", 60_000.0, 4);
    let mut run = Twin::new(41, vec![one, four]).jobs([4]).measured();
    for stack in &mut run.start.scenario.stacks {
        let layer = &mut stack.layers[0];
        (layer.name, layer.copies) = ("vm".into(), if stack.name == "vm" { 1 } else { 4 });
    }
    run
}

/// A loop device that is faster than its file.
pub fn faster() -> RunData {
    let mut stacks = prefixes();
    stacks.truncate(2);
    stacks[1].latency_ns = 40_000.0;
    Twin::new(43, stacks).jobs([1]).measured()
}

/// A guest on an emulated CPU.
pub fn guest() -> RunData {
    let vm = TwinStack {
        place: "vm",
        ..stack("vm(vcpus=2)", "file:/srv/iotax.img,size=4GiB | vm(vcpus=2)", 900_000.0)
    };
    let mut run = Twin::new(4, vec![stack("file", FILE, 90_000.0), vm]).jobs([4]).measured();
    let qemu =
        "qemu-system-x86_64 -accel tcg -m 512 -drive file=/srv/iotax.img,if=none,id=d0 -append";
    let mut words: Vec<String> = qemu.split(' ').map(String::from).collect();
    words.push("console=ttyS0 quiet".into());
    run.places.push(PlaceFacts {
        place: "vm".into(),
        facts: facts("iotax-vm"),
        emulated: Some("no usable KVM, QEMU runs with TCG".into()),
        commands: vec![words],
        disks: vec![guest_disk()],
        spdk: Vec::new(),
    });
    run.device_traffic = vec![traffic("file", &["host"]), traffic("vm(vcpus=2)", &["vm", "host"])];
    run
}

/// Traffic of 100,000 reads of 4 KiB that the disk of each place completed.
fn traffic(stack: &str, places: &[&str]) -> DeviceTraffic {
    let disk = |reads| DeviceCounts {
        device: "vda".into(),
        lowest: true,
        reads,
        read_bytes: reads * 4096,
        ..DeviceCounts::default()
    };
    let place = |name: &&str| PlaceTraffic {
        place: Place::from(*name),
        seen: DeviceReading { at_ns: 9_000_000_000, devices: vec![disk(100_000)] },
        idle: DeviceReading { at_ns: 300_000_000, devices: vec![disk(0)] },
        slices: 90,
        exceeded: 0,
    };
    DeviceTraffic {
        visit: 0,
        set: 0,
        stack: stack.into(),
        workload: "4k-randread-qd4".into(),
        issued: IssuedIo { reads: 100_000, read_bytes: 409_600_000, ..IssuedIo::default() },
        places: places.iter().map(place).collect(),
    }
}

fn guest_disk() -> GuestDisk {
    let settings = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect()
    };
    GuestDisk {
        stack: "vm(vcpus=2)".into(),
        path: "/dev/vda".into(),
        attach: "virtio-blk".into(),
        qemu: settings(&[
            ("cache.direct", "on"),
            ("cache.no-flush", "off"),
            ("write-cache", "on"),
            ("num-queues", "2"),
        ]),
        guest: settings(&[
            ("write-cache", "write back"),
            ("num-queues", "2"),
            ("scheduler", "none"),
        ]),
        differs: Vec::new(),
    }
}

/// A run that was killed in the middle of its tenth round.
pub fn partial() -> RunData {
    let mut twin = Twin::new(
        5,
        prefixes()[..2].iter().map(|one| stack(one.name, one.text, one.latency_ns)).collect(),
    );
    twin.rounds = 10;
    let mut run = twin.measured();
    run.slices.truncate(39);
    run.outcome = None;
    run.ends.clear();
    run.torn = 1;
    run
}

/// Byte-bound writes with a flush at the end of each slice.
pub fn writes() -> RunData {
    let fs = stack("fs(ext4)", "file:/srv/iotax.img,size=4GiB | loop | fs(ext4)", 48_000.0);
    let mut twin = Twin::new(6, vec![stack("file", FILE, 40_000.0), fs]).jobs([8]);
    twin.jobs[0].rw = Rw::RandWrite;
    twin.measured()
}

/// Half reads, half writes, at depth 1. The loop device takes 20 us more per read and 24 us more
/// per write. A file system on it sees a tenth less reads and a tenth more writes. An invented page
/// published figures about them, and printed one row twice.
pub fn mixed() -> RunData {
    let mut twin = mix(91);
    (twin.writes, twin.noise_of, twin.matched) = (2048.0, (0.01, 0.003), Some((40, 6_000.0)));
    let mut run = twin.bill().measured();
    let workload = run.start.scenario.workloads[0].name.clone();
    let row = |(metric, note, cells): (&str, Option<&str>, [&str; 2])| -> Vec<PublishedFigure> {
        let metric = metric.to_owned().try_into().unwrap();
        let cells = ["file", "loop"].into_iter().zip(cells);
        let read = |(stack, printed)| {
            PublishedFigure::from_printed(&workload, metric, stack, printed).unwrap()
        };
        cells.map(|cell| PublishedFigure { note: note.map(str::to_owned), ..read(cell) }).collect()
    };
    let rows = [
        ("read iops", None, ["7440", "5444"]),
        ("write iops", Some("from its counts"), ["7438", "5442"]),
        ("write iops", Some("as its table prints them"), ["7.0k", "5.4k"]),
        ("write mean", None, ["33.6us", "60.5us"]),
    ];
    run.start.scenario.published = Some(Box::new(Published {
        source: "a page that never was, 2026".into(),
        hardware: "a drive of the twin's".into(),
        note: None,
        baseline: "file".into(),
        figures: rows.into_iter().flat_map(row).collect(),
        claims: Vec::new(),
    }));
    run
}

/// The loads and stacks of [`mixed`], with few I/Os and any seed.
pub fn mixed_of_seed(seed: u64) -> RunData {
    let mut twin = mix(seed);
    twin.writes = 256.0;
    twin.measured()
}

fn mix(seed: u64) -> Twin {
    let mut stacks = prefixes();
    stacks.truncate(3);
    let truth = [(90_000.0, 30_000.0, 1.0), (110_000.0, 54_000.0, 1.0), (112_000.0, 60_000.0, 0.9)];
    for (stack, (read_ns, write_ns, reads)) in stacks.iter_mut().zip(truth) {
        (stack.latency_ns, stack.write_factor, stack.read_factor) =
            (read_ns, write_ns / read_ns, reads);
    }
    let mut twin = Twin::new(seed, stacks).jobs([1]);
    twin.jobs[0].rw = Rw::RandRw;
    twin
}

/// Two stacks on one drive that are never up together, six visits each.
pub fn visits() -> RunData {
    let mut twin = Twin::new(
        7,
        vec![
            stack("mdraid(level=5)", "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid(level=5)", 200_000.0),
            stack("lvm", "[/dev/sda,/dev/sdb,/dev/sdc] | lvm", 150_000.0),
        ],
    );
    twin.apart = Some(6);
    twin.measured()
}

/// A sweep over iodepth. The file has its knee at 8. The loop device costs the same at all points;
/// the guest costs more at greater depths, and has its knee at 4.
pub fn sweep() -> RunData {
    sweep_of_seed(20)
}

pub fn sweep_of_seed(seed: u64) -> RunData {
    let depths = [1, 2, 4, 8, 16, 32].map(|iodepth| Job { iodepth, ..Job::default() });
    saturating(seed, 8.0).over(&["iodepth"], depths.to_vec()).measured()
}

/// A sweep of writes over the block size.
pub fn block_sizes() -> RunData {
    let job = |bs| Job { rw: Rw::RandWrite, bs, iodepth: 4, ..Job::default() };
    let mut twin = saturating(24, 8.0).over(&["bs"], [4096, 16_384, 65_536].map(job).to_vec());
    twin.rounds = 20;
    twin.measured()
}

/// A sweep over iodepth, with so many servers that even the deepest point is no knee.
pub fn rising_sweep() -> RunData {
    let depths = [1, 2, 4, 8].map(|iodepth| Job { iodepth, ..Job::default() });
    saturating(21, 1000.0).over(&["iodepth"], depths.to_vec()).measured()
}

/// A sweep over iodepth with two block sizes.
pub fn grid() -> RunData {
    let depths = [1, 4, 8, 16, 32];
    let jobs = [4096, 65_536].map(|bs| depths.map(|iodepth| Job { iodepth, bs, ..Job::default() }));
    saturating(22, 8.0).over(&["iodepth", "bs"], jobs.concat()).measured()
}

/// A sweep of half reads, half writes over iodepth.
pub fn mixed_sweep() -> RunData {
    let jobs = [1, 4].map(|iodepth| Job { rw: Rw::RandRw, iodepth, ..Job::default() });
    saturating(25, 8.0).over(&["iodepth"], jobs.to_vec()).measured()
}

/// A sweep over the offered rate. The guest cannot keep up with the last two rates, the others not
/// with the last.
pub fn rates() -> RunData {
    let rates = [10_000, 20_000, 32_000, 64_000, 120_000];
    let job = |rate| Job { rate_iops: Some(rate), iodepth: 512, ..Job::default() };
    saturating(23, 8.0).over(&["rate_iops"], rates.map(job).to_vec()).measured()
}

/// A guest that costs no throughput at depth 32, since the drive below is the limit, but latency
/// and CPU time: with a design, long rounds, matched slices, its host's CPU time, and rounds of the
/// baseline alone.
pub fn three_figures() -> RunData {
    let file = TwinStack { servers: Some(8.0), ..stack("file", FILE, 90_000.0) };
    let vm = TwinStack {
        place: "vm",
        servers: Some(9.4),
        host_cpu_ns: Some(2_300.0),
        ..stack("vm(vcpus=2)", "file:/srv/iotax.img,size=4GiB | vm(vcpus=2)", 105_750.0)
    };
    let mut twin = Twin::new(31, vec![file, vm]).jobs([32]);
    (twin.matched, twin.long, twin.alone, twin.slice_ns) =
        (Some((40, 40_000.0)), 8, Some((24, 0.999)), 2e7);
    let name = twin.workload(&twin.jobs[0]).name;
    twin.data.designs.push(DesignUp {
        workload: name,
        slice_ns: 20_000_000,
        pattern: Pattern::Double,
        period_ns: Some(81_000_000),
        pilot_slices: 92,
        series: None,
        why: "the shortest slices cost least, and something comes back about every round".into(),
    });
    twin.measured()
}

/// A guest that cannot keep up with the matched rate, in a run that did not record its host's CPU
/// time.
pub fn late() -> RunData {
    let with = |stack: TwinStack, servers| TwinStack { servers: Some(servers), ..stack };
    let vm = TwinStack {
        place: "vm",
        ..stack("vm(vcpus=1)", "file:/srv/iotax.img,size=4GiB | vm(vcpus=1)", 92_000.0)
    };
    let mut twin =
        Twin::new(32, vec![with(stack("file", FILE, 90_000.0), 8.0), with(vm, 4.0)]).jobs([32]);
    (twin.matched, twin.slice_ns) = (Some((24, 60_000.0)), 2e7);
    twin.measured()
}

/// Two stacks that a shared limit makes alike from the start, steadily; the upper one takes more
/// CPU time.
pub fn masked() -> RunData {
    let mut stacks = prefixes();
    stacks.truncate(3);
    let mut twin = Twin::new(33, stacks).bill().jobs([32]);
    (twin.limit, twin.noise_of) = (Some((0, 20_000.0)), (0.003, 0.003));
    twin.measured()
}

/// A limit that sets in after two thirds of the rounds, like a burst credit that is used up.
pub fn rate_limited() -> RunData {
    let mut twin = Twin::new(
        38,
        prefixes()[..2].iter().map(|one| stack(one.name, one.text, one.latency_ns)).collect(),
    );
    (twin.limit, twin.rounds) = (Some((60, 5_000.0)), 90);
    twin.measured()
}

/// Eight stacks that cost nothing on three workloads, and one that costs.
pub fn matrix() -> RunData {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let same = NAMES.map(|name| stack(name, FILE, 90_000.0));
    let mut stacks = vec![stack("file", FILE, 90_000.0)];
    stacks.extend(same);
    stacks.push(stack("loop", "file:/srv/iotax.img,size=4GiB | loop", 93_700.0));
    let mut twin = Twin::new(MATRIX_SEED, stacks).jobs([1, 2, 4]);
    twin.slice_ns = 1e7;
    twin.measured()
}

/// Seed with which a stack without a cost seems to have one; there are others.
const MATRIX_SEED: u64 = 36;

/// Stacks on a file, each with a cost of its own, the last with the largest, under this number of
/// loads.
pub fn many(stacks: usize, loads: u32) -> RunData {
    let costly = |at: usize| {
        let name = format!("s{at}").leak();
        stack(name, on_file(name), 90_000.0 * (1.0 + 0.04 * at as f64))
    };
    let all =
        std::iter::once(stack("file", FILE, 90_000.0)).chain((1..=stacks).map(costly)).collect();
    let jobs = (1..=loads).map(|iodepth| Job { iodepth, ..Job::default() }).collect();
    Twin { slice_ns: 1e7, ..Twin::new(17, all).over(&[], jobs) }.measured()
}

fn on_file(layer: &str) -> &'static str {
    format!("{FILE} | {layer}").leak()
}

/// A grid of cache modes and queues, reads and writes, as guests' disks are compared.
pub fn cells() -> RunData {
    let cell = |name, latency_ns| TwinStack {
        place: "vm",
        servers: Some(8.0),
        host_cpu_ns: Some(2_300.0),
        ..stack(name, on_file(name), latency_ns)
    };
    let stacks = vec![
        TwinStack { servers: Some(8.0), ..stack("file", FILE, 90_000.0) },
        cell("vm(cache=none,num-queues=1)", 105_000.0),
        cell("vm(cache=none,num-queues=4)", 101_000.0),
        cell("vm(cache=writeback,num-queues=1)", 90_000.0),
        cell("vm(cache=writeback,num-queues=4)", 90_300.0),
        cell("vm(cache=directsync,num-queues=1)", 118_000.0),
        cell("vm(cache=directsync,num-queues=4)", 112_000.0),
    ];
    let reads = Job { iodepth: 32, ..Job::default() };
    let writes = Job { rw: Rw::RandWrite, ..reads.clone() };
    let mut twin = Twin::new(61, stacks).over(&[], vec![reads, writes]);
    (twin.slice_ns, twin.matched) = (1e7, Some((40, 40_000.0)));
    twin.measured()
}

/// Two stacks over three set-ups, each of which adds something of its own to the rate of a stack.
pub fn attaches() -> RunData {
    let slow = stack("fs(ext4)", "file:/srv/iotax.img,size=4GiB | loop | fs(ext4)", 115_000.0);
    let mut twin = Twin::new(35, vec![stack("file", FILE, 90_000.0), slow]);
    (twin.attaches, twin.rounds) = (3, 20);
    let mut run = twin.measured();
    run.start.scenario.measure.attaches = 3;
    run
}

/// A baseline that is slower when the others are up, measured in visits after this was noticed.
pub fn disturbed() -> RunData {
    let mut twin =
        Twin::new(34, vec![stack("file", FILE, 90_000.0), stack("vm", on_file("vm"), 110_000.0)]);
    (twin.alone, twin.apart) = (Some((40, 0.95)), Some(6));
    let mut run = twin.measured();
    run.apart = Some("the baseline runs 5 % slower beside the others".into());
    run
}

/// A bill of workloads that the user named: a table for each, and the joint one.
pub fn named_bill() -> RunData {
    let mut twin = Twin::new(37, prefixes()).bill().jobs([1, 16]);
    twin.rounds = 32;
    twin.measured()
}

/// A file, a loop device of the same shape and a guest that saturates at half the load.
fn saturating(seed: u64, servers: f64) -> Twin {
    let with = |stack: TwinStack, servers| TwinStack { servers: Some(servers), ..stack };
    let file = with(stack("file", FILE, 90_000.0), servers);
    let layer = with(stack("loop", "file:/srv/iotax.img,size=4GiB | loop", 93_700.0), servers);
    let guest = with(
        stack("vm(vcpus=1)", "file:/srv/iotax.img,size=4GiB | vm(vcpus=1)", 92_000.0),
        servers / 2.0,
    );
    // A level that wanders less: the knee is of absolute figures, and their intervals include the
    // wandering.
    Twin { slice_ns: 1e7, noise_of: (0.01, 0.01), ..Twin::new(seed, vec![file, layer, guest]) }
}

/// A search for limits: small blocks are limited, and a limit of reads is set. Large blocks meet no
/// limit.
pub fn limits() -> RunData {
    let (small, large) = (CourseLoad::SmallBlocks, CourseLoad::LargeBlocks);
    let (read, write) = (CourseDirection::Read, CourseDirection::Write);
    let loads = [(read, small), (read, large), (write, small)];
    let mut run = limits_of(57, 1000.0, &loads);
    // Large blocks meet no limit: each step of the amount is the drive's own.
    let (mut amount, mut state) = (0.0, 1_u32);
    for point in &mut run.courses[1].points {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        amount += 1e7 * (0.5 + f64::from(state >> 8) / f64::from(1 << 24));
        point.1 = amount;
    }
    run.path_limits.near = vec![
        SetLimit {
            of: LimitUnit::ReadIos,
            rate: 1000.0,
            burst: None,
            on: "sda".into(),
            set_in: "/sys/fs/cgroup/x.service/io.max".into(),
        },
        SetLimit {
            of: LimitUnit::Processors,
            rate: 1.5,
            burst: None,
            on: "x.service".into(),
            set_in: "/sys/fs/cgroup/x.service/cpu.max".into(),
        },
    ];
    run
}

/// A search for limits: for each load, the course of a limiter that lets a burst of three seconds
/// and then `rate` per second through, on something 20 times as fast.
pub fn limits_of(seed: u64, rate: f64, loads: &[(CourseDirection, CourseLoad)]) -> RunData {
    let mut run = Twin::new(seed, vec![stack("file", "file:/srv/iotax.img", 90_000.0)]).data;
    let search = LimitSearch { writes: true, seconds: 6.0, rest_s: 10.0, qmp: None };
    run.start.scenario.limits = Some(Box::new(search));
    run.outcome = Some("complete".into());
    let burst = 3.0 * rate;
    let points = (1..=600).map(|at| f64::from(at) * 0.01);
    let points = points.map(|t| (t, (20.0 * rate * t).min(burst + rate * t)));
    let course = |(direction, load): &(CourseDirection, CourseLoad)| LimitCourse {
        direction: *direction,
        load: *load,
        rested_s: 10.0,
        ios: 9000,
        bytes: 9000 << 12,
        frame: None,
        points: points.clone().collect(),
    };
    run.courses = loads.iter().map(course).collect();
    run
}

pub fn durability() -> RunData {
    let vm = |name, text| TwinStack { place: "vm", ..stack(name, text, 900_000.0) };
    let stacks = vec![
        vm("vm", "file:/srv/iotax.img,size=4GiB | vm"),
        vm("vm snapshot=on", "file:/srv/iotax.img,size=4GiB | vm(snapshot=on)"),
    ];
    let mut run = Twin::new(51, stacks).data;
    run.start.scenario.durability = Some(Box::default());
    run.outcome = Some("complete".into());
    run.places[0].facts.targets = vec![TargetFacts {
        devices: vec![Device {
            name: "nvme0n1".into(),
            write_cache: Some("write back".into()),
            ..Device::default()
        }],
        ..TargetFacts::default()
    }];
    let mut overlay = GuestDisk { stack: "vm snapshot=on".into(), ..guest_disk() };
    for (option, word) in [("cache.direct", "off"), ("cache.no-flush", "on"), ("snapshot", "on")] {
        overlay.qemu.insert(option.into(), word.into());
    }
    for disk in [GuestDisk { stack: "vm".into(), ..guest_disk() }, overlay] {
        run.places.push(PlaceFacts {
            place: "vm".into(),
            facts: facts("iotax-vm"),
            emulated: None,
            commands: Vec::new(),
            disks: vec![disk],
            spdk: Vec::new(),
        });
    }
    let trials = |stack: &str| (0..40).map(|number| trial(stack, number)).collect::<Vec<_>>();
    run.trials = [trials("vm"), trials("vm snapshot=on")].concat();
    run
}

/// Mixed random reads and writes with verification: the file returns what was written to it, the
/// loop device does not.
pub fn verified() -> RunData {
    let stacks = vec![
        stack("file", FILE, 90_000.0),
        stack("file | loop", "file:/srv/iotax.img,size=4GiB | loop", 93_700.0),
    ];
    let mut twin = Twin::new(57, stacks).jobs([8]);
    (twin.jobs[0].rw, twin.jobs[0].verify) = (Rw::RandRw, true);
    let mut run = twin.measured();
    let workload = run.start.scenario.workloads[0].name.clone();
    let found =
        |blocks: u64| verify::VerifiedBlocks { blocks, bytes: 4096 * blocks, ..Default::default() };
    let record = |visit, stack: &str, found| Verification {
        visit,
        set: 0,
        workload: workload.clone(),
        stack: stack.into(),
        place: "host".into(),
        found,
    };
    let right = VerifiedWorker {
        load: verify::VerifiedBlocks { unjudged: 7_000, ..found(53_000) },
        back: found(120_331),
        whole: true,
        sizes: vec![4096],
        took_ns: 1_500_000_000,
    };
    let mut wrong = right.clone();
    (wrong.back.lost, wrong.back.torn) = (3, 1);
    wrong.back.examples = vec![verify::Example {
        target: "/dev/loop7".into(),
        offset: 8192,
        length: 4096,
        kind: verify::BlockFault::Lost,
        expected: (3, 3),
        found: "sector 0: the older write 2".into(),
    }];
    run.verified = vec![
        record(0, "file", right.clone()),
        record(0, "file | loop", right),
        record(0, "file | loop", wrong),
    ];
    run
}

fn trial(stack: &str, number: u32) -> DurabilityTrial {
    let kill = [Kill::Guest, Kill::Qemu][number as usize % 2];
    let mut found = ReadBack {
        blocks: 1000,
        kept: 1000,
        later: 3,
        under_way: 90,
        under_way_new: 7,
        ..ReadBack::default()
    };
    if kill == Kill::Qemu && stack != "vm" {
        let torn = u64::from(number < 4);
        let example = |block: u64| Example {
            block,
            expected: Some(9 * block + 1),
            found: "content that no trial wrote".into(),
        };
        (found.kept, found.later, found.lost, found.torn) = (0, 0, 1000 - torn, torn);
        found.examples = (5..7).map(example).collect();
    }
    DurabilityTrial {
        stack: stack.into(),
        trial: number,
        kill,
        load_ns: 500_000_000 + 50_000_000 * u64::from(number),
        batch: 16,
        in_flight: 4,
        acknowledged: 1200,
        writing: Some(true),
        found,
    }
}

/// Imported results of two systems: one read each, writes in five runs each, one of them copied,
/// parts, a score and a time.
pub fn imported() -> RunData {
    let mut run = Twin::new(61, prefixes()).data;
    let systems = ["host", "vm"].map(String::from).to_vec();
    run.start.scenario = Scenario::of_nothing("imported results", None);
    run.start.argv = ["iotax", "import", "results"].map(String::from).to_vec();
    run.start.imported = Some(Import { files: 2, systems, baseline: None });
    run.places.clear();
    run.imported_files =
        ["host", "vm"].into_iter().zip(0..).map(|(name, file)| imported_file(name, file)).collect();
    run.imported = [("host", 0, 1.0), ("vm", 1, 0.8)].into_iter().flat_map(of_system).collect();
    run
}

fn imported_file(name: &str, file: u32) -> ImportedFile {
    let unread = UnreadLines { from: 12, to: 14, why: "an output that ends in the middle".into() };
    ImportedFile {
        file,
        path: format!("/srv/results/{name}/all.txt"),
        bytes: 4096,
        sha256: format!("{file:064x}"),
        results: 10,
        unread: if file == 1 { vec![unread] } else { Vec::new() },
        snapshots: 0,
    }
}

fn of_system((system, file, share): (&str, u32, f64)) -> Vec<ImportedResult> {
    let load = |rw: &str| ReportedLoad {
        rw: Some(rw.into()),
        bs: Some(4096),
        iodepth: Some(8),
        numjobs: Some(2),
        ioengine: Some("libaio".into()),
        ..ReportedLoad::default()
    };
    let read =
        imported_result(system, file, load("randread"), ImportedDirection::Read, 44_600.0 * share);
    let mut all = vec![read];
    for (at, noise) in [1.0, 1.004, 0.998, 1.001, 0.997, 0.997].into_iter().enumerate() {
        let mut write = imported_result(
            system,
            file,
            load("randwrite"),
            ImportedDirection::Write,
            20_000.0 * share * noise,
        );
        // The systems take turns: the other one is half a minute later.
        write.ended = Some(format!("2026-11-23T17:{:02}:{:02}", at.min(4), 30 * file));
        write.uncounted = (at == 5).then_some(Uncounted::Copy { file, line: 1 });
        all.push(write);
    }
    for part in [1, 2] {
        let parts =
            ReportedLoad { rw: Some("read".into()), bs: Some(131_072), ..ReportedLoad::default() };
        let mut one = imported_result(
            system,
            file,
            parts,
            ImportedDirection::Read,
            1_000.0 * share * f64::from(part),
        );
        one.part = Some(ImportedPart { part, of: 2 });
        all.push(one);
    }
    let other = |metric: &str, unit: &str, better, value: f64| ImportedResult {
        samples: Vec::new(),
        percentiles: Vec::new(),
        others: vec![imported_sample(metric, unit, better, value)],
        ..imported_result(
            system,
            file,
            ReportedLoad { name: Some("score".into()), ..ReportedLoad::default() },
            ImportedDirection::Both,
            0.0,
        )
    };
    all.push(other(
        "Dhrystone 2 using register variables",
        "lps",
        Better::Higher,
        38_145_678.9 * share,
    ));
    all.push(other("time of a copy", "s", Better::Lower, 12.5 / share));
    all
}

fn imported_result(
    system: &str,
    file: u32,
    load: ReportedLoad,
    way: ImportedDirection,
    iops: f64,
) -> ImportedResult {
    let lower = |metric: &str, ns: f64| imported_sample(metric, "ns", Better::Lower, ns);
    let depth_ns = 16e9 / iops.max(1.0);
    let samples = vec![
        ImportedSample {
            low: Some(iops - 50.0),
            high: Some(iops + 50.0),
            ..imported_sample("iops", "1/s", Better::Higher, iops)
        },
        imported_sample("bandwidth", "B/s", Better::Higher, 4096.0 * iops),
        lower("latency.mean", depth_ns),
        imported_sample("ios", "1", Better::Higher, 60.0 * iops),
        lower("runtime", 20e9),
    ];
    let percentile = |percent: f64| {
        let ns = depth_ns * percent / 50.0;
        PrintedPercentile { percent, ns, low: ns, high: ns }
    };
    let percentiles = [50.0, 99.0, 99.9].map(percentile).to_vec();
    ImportedResult {
        percentiles,
        system: system.into(),
        load,
        way,
        part: None,
        file,
        line: 1,
        tool: "fio text".into(),
        version: Some("3.33".into()),
        ended: None,
        samples,
        others: Vec::new(),
        slips: Vec::new(),
        uncounted: None,
    }
}

fn imported_sample(metric: &str, unit: &str, better: Better, value: f64) -> ImportedSample {
    ImportedSample {
        metric: metric.into(),
        unit: unit.into(),
        better,
        value: Some(value),
        low: None,
        high: None,
        histogram: None,
        missing: None,
    }
}
