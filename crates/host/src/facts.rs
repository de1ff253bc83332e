//! Facts of a machine, recorded with every run. Each is read on its own: what is not there is
//! `None` or left out, and gathering never fails, also in a guest that has nothing but /proc and
//! /sys.

use super::cable;
use super::drive_health;
use super::limits;
use super::net;
use super::probe::{GuestProbe, Probe};
use super::{block, mounts};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub use iotax_facts::machine::{
    Cable, Device, DriveHealth, Facts, FileSystem, HugePages, Network, PcieLink, Processor,
    TargetFacts,
};

/// Settings of a block device's queue (files in `queue/`) that change figures; sizes in bytes
/// unless the name says otherwise.
const QUEUE: &[&str] = &[
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "nr_requests",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "max_segments",
    "read_ahead_kb",
    "nomerges",
    "rq_affinity",
    "io_poll",
    "io_poll_delay",
    "iostats",
    "wbt_lat_usec",
    "discard_max_bytes",
    "discard_granularity",
    "fua",
    "zoned",
    "stable_writes",
    "dax",
];

/// Settings of an md array (files in `md/`) that change figures (Documentation/admin-guide/md.rst);
/// the chunk in bytes, speeds in KiB per second.
const MD: &[&str] = &[
    "level",
    "raid_disks",
    "chunk_size",
    "layout",
    "metadata_version",
    "bitmap/location",
    "consistency_policy",
    "stripe_cache_size",
    "group_thread_cnt",
    "skip_copy",
    "rmw_level",
    "preread_bypass_threshold",
    "sync_speed_min",
    "sync_speed_max",
];

/// Gathers the facts of this machine, of the files and devices at `targets`, and the versions of
/// `programs`.
pub fn gather(targets: &[PathBuf], programs: &[String]) -> Facts {
    gather_from(&Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED), targets, programs)
}

pub fn gather_from(probe: &Probe, targets: &[PathBuf], programs: &[String]) -> Facts {
    Facts {
        hostname: probe.read_trimmed("/proc/sys/kernel/hostname"),
        os: os_name(probe),
        kernel: probe.read_trimmed("/proc/sys/kernel/osrelease"),
        kernel_build: probe.read_trimmed("/proc/sys/kernel/version"),
        command_line: probe.read_trimmed("/proc/cmdline"),
        boot_id: probe.read_trimmed("/proc/sys/kernel/random/boot_id"),
        cpu: Box::new(cpu(probe)),
        memory_bytes: memory_bytes(probe, "MemTotal"),
        huge_pages: huge_pages(probe),
        transparent_huge_pages: chosen_word(
            probe.read_trimmed("/sys/kernel/mm/transparent_hugepage/enabled"),
        ),
        clocksource: probe
            .read_trimmed("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        targets: drive_health::with_health(
            probe,
            targets.iter().map(|path| target_facts(probe, path)).collect(),
        ),
        networks: net::networks(probe),
        limits: [limits::of_groups(probe, targets), limits::of_interfaces(probe)].concat(),
        tools: versions(probe, programs),
        said: BTreeMap::new(),
        vm: None,
    }
}

/// Asks all programs for their versions in parallel: starting one takes long in an emulated guest.
fn versions(probe: &Probe, programs: &[String]) -> BTreeMap<String, String> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = programs
            .iter()
            .map(|name| (name.clone(), scope.spawn(move || probe.program_version(name))))
            .collect();
        asked.into_iter().filter_map(|(name, asked)| Some((name, asked.join().ok()??))).collect()
    })
}

fn os_name(probe: &Probe) -> Option<String> {
    let text = probe
        .read_trimmed("/etc/os-release")
        .or_else(|| probe.read_trimmed("/usr/lib/os-release"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Returns the value of a line of /proc/meminfo, in bytes.
pub fn memory_bytes(probe: &Probe, key: &str) -> Option<u64> {
    bytes_in(&probe.read_trimmed("/proc/meminfo")?, key)
}

pub fn node_memory_bytes(probe: &Probe, node: u32, key: &str) -> Option<u64> {
    bytes_in(&probe.read_trimmed(node_dir(node).join("meminfo"))?, &format!("Node {node} {key}"))
}

fn bytes_in(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn node_dir(node: u32) -> PathBuf {
    Path::new("/sys/devices/system/node").join(format!("node{node}"))
}

/// Returns the word in brackets: `madvise` of `always [madvise] never`. A word that is alone is
/// returned as it is.
fn chosen_word(text: Option<String>) -> Option<String> {
    let text = text?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned).or_else(|| (!text.contains(' ')).then_some(text))
}

pub fn huge_pages(probe: &Probe) -> Vec<HugePages> {
    huge_pages_in(probe, Path::new("/sys/kernel/mm/hugepages"))
}

pub fn node_huge_pages(probe: &Probe, node: u32) -> Vec<HugePages> {
    huge_pages_in(probe, &node_dir(node).join("hugepages"))
}

fn huge_pages_in(probe: &Probe, dir: &Path) -> Vec<HugePages> {
    let of_size = |name: &String| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count = |file| probe.read_number(dir.join(name).join(file));
        Some(HugePages {
            size: kib.checked_mul(1024)?,
            total: count("nr_hugepages"),
            free: count("free_hugepages"),
            reserved: count("resv_hugepages"),
        })
    };
    let mut pages: Vec<HugePages> = probe.folder_names(dir).iter().filter_map(of_size).collect();
    pages.sort_by_key(|pages| pages.size);
    pages
}

pub fn cpu(probe: &Probe) -> Processor {
    let info = probe.read_trimmed("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim())
    };
    let dir = Path::new("/sys/devices/system/cpu");
    let cpus: Vec<PathBuf> = probe
        .folder_names(dir)
        .iter()
        .filter(|name| is_cpu(name))
        .map(|name| dir.join(name))
        .collect();
    let distinct = |file: &str| -> BTreeSet<String> {
        cpus.iter().filter_map(|cpu| probe.read_trimmed(cpu.join(file))).collect()
    };
    let packages = distinct("topology/physical_package_id");
    let cores: BTreeSet<(String, String)> = cpus
        .iter()
        .filter_map(|cpu| {
            Some((
                probe.read_trimmed(cpu.join("topology/physical_package_id"))?,
                probe.read_trimmed(cpu.join("topology/core_id"))?,
            ))
        })
        .collect();
    let counted = |count: usize| (count > 0).then_some(count as u64);
    Processor {
        model: field("model name").map(str::to_owned),
        microcode: field("microcode").map(str::to_owned),
        sockets: counted(packages.len()),
        cores: counted(cores.len()),
        threads: counted(info.lines().filter(|line| line.starts_with("processor")).count()),
        numa_nodes: numa_nodes(probe),
        l3_groups: l3_groups(probe, &cpus),
        smt_groups: smt_groups(probe, &cpus),
        governors: distinct("cpufreq/scaling_governor").into_iter().collect(),
        turbo: turbo(probe),
        under_hypervisor: field("flags")
            .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        mitigations: mitigations(probe),
    }
}

fn is_cpu(name: &str) -> bool {
    name.strip_prefix("cpu").is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn numa_nodes(probe: &Probe) -> BTreeMap<String, String> {
    let dir = Path::new("/sys/devices/system/node");
    let of_node = |name: String| {
        let number = name.strip_prefix("node")?.parse::<u32>().ok()?;
        Some((number.to_string(), probe.read_trimmed(dir.join(&name).join("cpulist"))?))
    };
    probe.folder_names(dir).into_iter().filter_map(of_node).collect()
}

fn l3_groups(probe: &Probe, cpus: &[PathBuf]) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for cpu in cpus {
        let caches = probe
            .folder_names(cpu.join("cache"))
            .into_iter()
            .map(|index| cpu.join("cache").join(index));
        for cache in caches.filter(|cache| probe.read_number(cache.join("level")) == Some(3)) {
            let shared = probe.read_trimmed(cache.join("shared_cpu_list"));
            groups.extend(shared.filter(|shared| !groups.contains(shared)));
        }
    }
    groups
}

fn smt_groups(probe: &Probe, cpus: &[PathBuf]) -> Vec<String> {
    let siblings =
        cpus.iter().filter_map(|cpu| probe.read_trimmed(cpu.join("topology/thread_siblings_list")));
    let mut seen = BTreeSet::new();
    siblings.filter(|core| core.contains([',', '-']) && seen.insert(core.clone())).collect()
}

/// Returns whether turbo is allowed. intel_pstate has a file that forbids it, acpi-cpufreq one that
/// allows it. `None` if neither is there.
fn turbo(probe: &Probe) -> Option<bool> {
    let dir = Path::new("/sys/devices/system/cpu");
    let forbidden = probe.read_number(dir.join("intel_pstate/no_turbo")).map(|value| value == 0);
    forbidden.or_else(|| probe.read_number(dir.join("cpufreq/boost")).map(|value| value == 1))
}

fn mitigations(probe: &Probe) -> BTreeMap<String, String> {
    let dir = Path::new("/sys/devices/system/cpu/vulnerabilities");
    probe
        .folder_names(dir)
        .into_iter()
        .filter_map(|name| Some((name.clone(), probe.read_trimmed(dir.join(name))?)))
        .collect()
}

fn target_facts(probe: &Probe, path: &Path) -> TargetFacts {
    let is_device = match std::fs::metadata(probe.path_below(path)) {
        Ok(meta) => meta.file_type().is_block_device(),
        Err(_) => named_device(probe, path).is_some(),
    };
    let file_system = if is_device { None } else { file_system(probe, path) };
    let devices = device_chain(probe, path).iter().map(|name| device_facts(probe, name)).collect();
    TargetFacts { path: path.to_owned(), file_system, devices }
}

/// Reads the facts of the block device at a path of this machine from sysfs; `None` if there is
/// none.
pub fn device_here(path: &Path) -> Option<Device> {
    let probe = Probe::of_files(Path::new("/"));
    device_at(&probe, path).map(|name| device_facts(&probe, &name))
}

/// Returns the kernel names of the device at a path, or of the devices that hold the file there,
/// each followed by all devices below it. Each name occurs once.
pub fn device_chain(probe: &Probe, path: &Path) -> Vec<String> {
    let mut chain = Vec::new();
    for name in devices_of(probe, path) {
        descend(probe, name, &mut chain);
    }
    chain
}

/// Returns the block size in bytes for direct I/O to a file or device: the largest logical block of
/// the devices at and below it, at least 512.
pub fn logical_block_below(path: &Path) -> u64 {
    let probe = Probe::of_files(Path::new("/"));
    let blocks = device_chain(&probe, path).into_iter().filter_map(|name| {
        // A partition has the queue of its disk.
        let dir = device_dir(&probe, &name);
        let own = probe.read_number(dir.join("queue/logical_block_size"));
        own.or_else(|| probe.read_number(dir.parent()?.join("queue/logical_block_size")))
    });
    blocks.max().unwrap_or(0).max(512)
}

fn descend(probe: &Probe, name: String, chain: &mut Vec<String>) {
    // A device may be reached twice (a mirror of two partitions of one disk).
    if chain.contains(&name) {
        return;
    }
    chain.push(name.clone());
    for name in devices_below(probe, &name) {
        descend(probe, name, chain);
    }
}

/// Returns the devices directly below a device: its slaves, the disk of a partition, and the
/// devices that hold the file of a loop device.
pub(super) fn devices_below(probe: &Probe, name: &str) -> Vec<String> {
    let dir = device_dir(probe, name);
    let mut below = probe.folder_names(dir.join("slaves"));
    below.extend(parent_of(probe, &dir));
    let backing = probe.read_trimmed(dir.join("loop/backing_file"));
    below.extend(backing.into_iter().flat_map(|file| devices_of(probe, Path::new(&file))));
    below
}

/// Returns the folder of a device in sysfs; /sys/class/block lists partitions too.
pub(super) fn device_dir(probe: &Probe, name: &str) -> PathBuf {
    let class = Path::new("/sys/class/block").join(name.replace('/', "!"));
    if probe.path_below(&class).exists() { class } else { block::sys_block(name) }
}

pub(super) fn parent_of(probe: &Probe, dir: &Path) -> Option<String> {
    probe.read_number(dir.join("partition"))?;
    let real = probe.path_below(dir).canonicalize().ok()?;
    Some(real.parent()?.file_name()?.to_str()?.to_owned())
}

/// Returns the device at a path, or all devices of the file system that holds the path: btrfs may
/// have several.
fn devices_of(probe: &Probe, path: &Path) -> Vec<String> {
    let Some(first) = device_of(probe, path) else { return Vec::new() };
    let pools = probe.folder_names("/sys/fs/btrfs").into_iter();
    let mut pools =
        pools.map(|id| probe.folder_names(Path::new("/sys/fs/btrfs").join(id).join("devices")));
    match pools.find(|devices| devices.contains(&first) && device_at(probe, path).is_none()) {
        Some(devices) => devices,
        None => vec![first],
    }
}

/// Returns the device at a path, or the one below the file system that holds the path.
fn device_of(probe: &Probe, path: &Path) -> Option<String> {
    device_at(probe, path).or_else(|| {
        let mount = mount_of(probe, path)?;
        // btrfs gives its file systems numbers of their own, so the source must say it. That source
        // may be a name that does not exist (`/dev/root`): it is not searched for in a file system
        // again.
        probe
            .link_name(format!("/sys/dev/block/{}", mount.devnum))
            .or_else(|| device_at(probe, Path::new(&mount.source)))
    })
}

fn device_at(probe: &Probe, path: &Path) -> Option<String> {
    match std::fs::metadata(probe.path_below(path)) {
        Ok(meta) if meta.file_type().is_block_device() => {
            probe.link_name(format!("/sys/dev/block/{}", block::devnum(meta.rdev())))
        }
        Ok(_) => None,
        Err(_) => named_device(probe, path),
    }
}

/// Returns the kernel name of the device that a path in /dev names, if sysfs has it. Serves where
/// the path has no node: in a made-up machine, or if /dev is bare.
fn named_device(probe: &Probe, path: &Path) -> Option<String> {
    let name = path.strip_prefix("/dev").ok()?.to_str()?;
    (!name.is_empty() && probe.path_below(device_dir(probe, name)).exists())
        .then(|| name.to_owned())
}

fn file_system(probe: &Probe, path: &Path) -> Option<FileSystem> {
    let mount = mount_of(probe, path)?;
    let options = format!("{};{}", mount.options, mount.super_options);
    Some(FileSystem { kind: mount.kind, point: mount.point, source: mount.source, options })
}

/// Finds the mount of a path: the one with the longest mount point that the path starts with, and
/// of several on one mount point the last.
fn mount_of(probe: &Probe, path: &Path) -> Option<mounts::Mount> {
    let real = if probe.root == Path::new("/") { real_path(path) } else { path.to_owned() };
    mounts::parse(&probe.read_trimmed("/proc/self/mountinfo")?)
        .into_iter()
        .filter(|mount| real.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// Returns the real path of a file, without symbolic links; if the file does not exist yet, that of
/// its nearest folder.
fn real_path(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok())
        .unwrap_or_else(|| path.to_owned())
}

pub fn device_facts(probe: &Probe, name: &str) -> Device {
    let dir = device_dir(probe, name);
    let disk = parent_of(probe, &dir).unwrap_or_else(|| name.to_owned());
    let disk_dir = device_dir(probe, &disk);
    let above = ancestors(probe, &disk_dir);
    let read = |file: &str| probe.read_trimmed(disk_dir.join(file));
    let queue = |file: &str| probe.read_trimmed(disk_dir.join("queue").join(file));
    Device {
        name: name.to_owned(),
        model: read("device/model"),
        serial: block::serial(probe, &disk),
        wwn: block::wwn(probe, &disk),
        firmware: read("device/firmware_rev").or_else(|| read("device/rev")),
        driver: driver(probe, &disk_dir),
        bytes: probe.read_number(dir.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        read_only: probe.read_number(dir.join("ro")).map(|number| number == 1),
        rotational: queue("rotational").map(|word| word == "1"),
        scheduler: chosen_word(queue("scheduler")),
        write_cache: queue("write_cache"),
        hardware_queues: Some(probe.folder_names(disk_dir.join("mq")).len() as u64)
            .filter(|count| *count > 0),
        queue: QUEUE.iter().filter_map(|file| Some(((*file).to_owned(), queue(file)?))).collect(),
        md: MD
            .iter()
            .filter_map(|file| Some(((*file).to_owned(), read(&format!("md/{file}"))?)))
            .collect(),
        backing_file: read("loop/backing_file"),
        pcie: pcie_link(probe, &disk_dir),
        cable: cable::disk_cable(probe, &disk_dir, &above),
        numa_node: above.iter().find_map(|dir| number_in(dir, "numa_node")),
        health: None,
    }
}

/// Returns the driver of the nearest device above a disk that has one, other than `sd` and `sr`:
/// the controller's driver says more than these.
fn driver(probe: &Probe, disk_dir: &Path) -> Option<String> {
    ancestors(probe, disk_dir).iter().find_map(|dir| {
        let target = std::fs::read_link(dir.join("driver")).ok()?;
        let name = target.file_name()?.to_str()?.to_owned();
        (!["sd", "sr"].contains(&name.as_str())).then_some(name)
    })
}

fn pcie_link(probe: &Probe, disk_dir: &Path) -> Option<PcieLink> {
    let dir = ancestors(probe, disk_dir)
        .into_iter()
        .find(|dir| dir.join("current_link_speed").exists())?;
    let speed = |file| text_in(&dir, file).filter(|speed| !speed.starts_with("Unknown"));
    let link = PcieLink {
        address: dir.file_name()?.to_str()?.to_owned(),
        speed: speed("current_link_speed"),
        // 0 and 63 and 255 mean a link that does not exist (an integrated or emulated endpoint).
        width: number_in(&dir, "current_link_width").filter(|width| (1..=32).contains(width)),
        max_speed: speed("max_link_speed"),
        max_width: number_in(&dir, "max_link_width").filter(|width| (1..=32).contains(width)),
    };
    (link.speed.is_some() || link.width.is_some()).then_some(link)
}

/// Returns the real folders above a disk, up to /sys/devices, nearest first.
fn ancestors(probe: &Probe, disk_dir: &Path) -> Vec<PathBuf> {
    let Ok(real) = probe.path_below(disk_dir).canonicalize() else {
        return Vec::new();
    };
    let top = probe.path_below("/sys/devices");
    let top = top.canonicalize().unwrap_or(top);
    real.ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(&top) && **dir != top)
        .map(Path::to_owned)
        .collect()
}

fn text_in(dir: &Path, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(dir.join(file)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads a number; `None` also for -1, the kernel's value for "no NUMA node".
fn number_in(dir: &Path, file: &str) -> Option<u64> {
    text_in(dir, file)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{bare_guest, server};
    use super::*;

    #[test]
    fn a_server_with_nvme_and_raid() {
        let machine = server();
        let facts = gather_from(
            &machine.probe,
            &["/dev/nvme0n1".into(), "/srv/data/x.img".into()],
            &["fio", "qemu-system-x86_64"].map(str::to_owned),
        );
        insta::assert_json_snapshot!(facts);
    }

    #[test]
    fn a_guest_with_proc_and_sys_only() {
        let machine = bare_guest();
        insta::assert_json_snapshot!(gather_from(
            &machine.probe,
            &["/dev/vda".into(), "/nowhere".into()],
            &[]
        ));
    }

    #[test]
    fn nothing_at_all_is_all_unknown() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let facts = gather_from(&Probe::of_files(folder.path()), &[], &[]);
        assert_eq!(facts, Facts::default());
    }

    #[test]
    fn this_machine() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let facts = gather(&[folder.path().join("not-yet.img")], &[]);
        assert!(
            facts.kernel.is_some() && facts.boot_id.is_some() && facts.memory_bytes.is_some(),
            "{facts:?}"
        );
        assert!(facts.targets[0].file_system.is_some(), "{facts:?}");
        let text = serde_json::to_string(&facts).expect("serialize");
        assert_eq!(serde_json::from_str::<Facts>(&text).expect("deserialize"), facts);
    }

    #[test]
    fn a_root_whose_source_does_not_exist() {
        let machine = bare_guest();
        machine.put(&[("/proc/self/mountinfo", "1 0 0:30 / / rw - btrfs /dev/root rw\n")]);
        let facts = gather_from(&machine.probe, &["/x".into()], &[]);
        assert_eq!(facts.targets[0].devices, []);
        assert_eq!(facts.targets[0].file_system.as_ref().map(|fs| fs.kind.as_str()), Some("btrfs"));
    }

    /// What the sides of a comparison are held against each other by: each of them is in the record
    /// of both.
    #[test]
    fn settings_of_a_queue_that_change_figures_are_recorded() {
        let machine = server();
        let settings = [
            "nr_requests",
            "nomerges",
            "rq_affinity",
            "read_ahead_kb",
            "max_sectors_kb",
            "io_poll",
            "wbt_lat_usec",
        ];
        let queue = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1/queue";
        for (at, name) in settings.iter().enumerate() {
            machine.put(&[(&format!("{queue}/{name}"), &format!("{at}\n"))]);
        }
        machine.put(&[(&format!("{queue}/../ro"), "1\n")]);
        let facts = gather_from(&machine.probe, &["/dev/nvme0n1".into()], &[]);
        let device = &facts.targets[0].devices[0];
        let told = |name: &&str| device.queue.get(*name).map(String::as_str);
        let expected: Vec<String> = (0..settings.len()).map(|at| at.to_string()).collect();
        assert_eq!(settings.iter().filter_map(told).collect::<Vec<_>>(), expected);
        assert_eq!((device.rotational, device.read_only), (Some(false), Some(true)));
        assert_eq!(device.write_cache.as_deref(), Some("write back"));
        assert_eq!(device.scheduler.as_deref(), Some("none"));
    }

    #[test]
    fn a_node_tells_its_own_memory_and_huge_pages() {
        let machine = server();
        let dir = "/sys/devices/system/node/node1";
        let pages = format!("{dir}/hugepages/hugepages-2048kB");
        machine.put(&[
            (
                &format!("{dir}/meminfo"),
                "Node 1 MemTotal:  2048 kB\nNode 1 MemFree:  1024 kB\nNode 1 Active(file):  8 kB\n",
            ),
            (&format!("{pages}/nr_hugepages"), "4\n"),
            (&format!("{pages}/free_hugepages"), "3\n"),
        ]);
        let bytes = |node, key| node_memory_bytes(&machine.probe, node, key);
        assert_eq!((bytes(1, "MemFree"), bytes(1, "Active(file)")), (Some(1 << 20), Some(8 << 10)));
        assert_eq!((bytes(0, "MemFree"), bytes(1, "MemAvailable")), (None, None));
        let pages = HugePages { size: 2 << 20, total: Some(4), free: Some(3), reserved: None };
        assert_eq!(node_huge_pages(&machine.probe, 1), [pages]);
    }

    #[test]
    fn words_in_brackets() {
        let word = |text: &str| chosen_word(Some(text.into()));
        assert_eq!(word("none [mq-deadline] kyber").as_deref(), Some("mq-deadline"));
        assert_eq!(word("none").as_deref(), Some("none"));
        assert_eq!(word("always madvise"), None);
    }
}
