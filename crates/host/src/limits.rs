//! Limits that are set on this machine: by this program's control group and the groups above it on
//! devices and processors, and by the queues of network interfaces on what is sent.

use super::facts::device_chain;
use super::mounts::{self, Mount};
use super::probe::Probe;
use iotax_sys::child::output_of;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use iotax_facts::limit::{LimitUnit, SetLimit};

/// Files of the block controller of control groups, version 1, each with the unit of its limit. A
/// line is `8:0 1000`.
const THROTTLES: &[(&str, LimitUnit)] = &[
    ("blkio.throttle.read_iops_device", LimitUnit::ReadIos),
    ("blkio.throttle.read_bps_device", LimitUnit::ReadBytes),
    ("blkio.throttle.write_iops_device", LimitUnit::WriteIos),
    ("blkio.throttle.write_bps_device", LimitUnit::WriteBytes),
];
/// Words of `io.max` of control groups, version 2, each with the unit of its limit: `8:0 rbps=max
/// wbps=1048576 riops=120 wiops=max`.
const IO_MAX: &[(&str, LimitUnit)] = &[
    ("riops", LimitUnit::ReadIos),
    ("rbps", LimitUnit::ReadBytes),
    ("wiops", LimitUnit::WriteIos),
    ("wbps", LimitUnit::WriteBytes),
];
/// Time limit of tc, which takes longer only if something is wrong.
const TC_LIMIT: Duration = Duration::from_secs(5);

/// Folder of a control group, and the version of its hierarchy (1 or 2).
struct ControlGroup {
    folder: PathBuf,
    version: u8,
}

/// Finds the limits that control groups set on CPU time and on the devices at and below these
/// targets, and a restriction to some of the processors.
pub fn of_groups(probe: &Probe, targets: &[PathBuf]) -> Vec<SetLimit> {
    let mut devices = BTreeMap::new();
    for name in targets.iter().flat_map(|target| device_chain(probe, target)) {
        if let Some(number) =
            probe.read_trimmed(Path::new("/sys/class/block").join(&name).join("dev"))
        {
            devices.insert(number, name);
        }
    }
    let mut limits = Vec::new();
    for group in groups(probe, "blkio") {
        limits.extend(on_devices(probe, &group, &devices));
    }
    for group in groups(probe, "cpu") {
        limits.extend(of_processors(probe, &group));
    }
    limits.extend(allowed(probe));
    limits
}

/// Returns the `cpu.stat` of each of the own control groups that has a CPU quota: the kernel counts
/// there how long it throttled threads.
pub fn quota_stats(probe: &Probe) -> Vec<PathBuf> {
    let limited =
        groups(probe, "cpu").into_iter().filter(|group| of_processors(probe, group).is_some());
    limited.map(|group| group.folder.join("cpu.stat")).collect()
}

/// Returns this program's group of a controller, followed by the groups above it, of both versions
/// if both are mounted.
fn groups(probe: &Probe, controller: &str) -> Vec<ControlGroup> {
    let mounts = mounts::parse(&probe.read_trimmed("/proc/self/mountinfo").unwrap_or_default());
    let own = probe.read_trimmed("/proc/self/cgroup").unwrap_or_default();
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (fields.next(), fields.next()) else { continue };
        let version = if names.is_empty() { 2 } else { 1 };
        let has = |mount: &&Mount| match version {
            2 => mount.kind == "cgroup2",
            _ => {
                mount.kind == "cgroup"
                    && mount.super_options.split(',').any(|word| word == controller)
            }
        };
        if version == 1 && !names.split(',').any(|name| name == controller) {
            continue;
        }
        let Some(mount) = mounts.iter().find(has) else { continue };
        // Where the mount shows a part of the tree alone, its root is the highest that can be seen.
        let inner = Path::new(path.trim_start_matches('/'));
        let seen = inner.ancestors().map(|below| mount.point.join(below));
        groups.extend(
            seen.filter(|folder| probe.path_below(folder).is_dir())
                .map(|folder| ControlGroup { folder, version }),
        );
    }
    groups
}

fn on_devices(
    probe: &Probe,
    group: &ControlGroup,
    devices: &BTreeMap<String, String>,
) -> Vec<SetLimit> {
    let mut limits = Vec::new();
    let mut add = |file: &Path, number: &str, of: LimitUnit, rate: &str| {
        if let (Some(on), Ok(rate)) = (devices.get(number), rate.parse::<u64>()) {
            let set_in = file.display().to_string();
            limits.push(SetLimit { of, rate: rate as f64, burst: None, on: on.clone(), set_in });
        }
    };
    if group.version == 2 {
        let file = group.folder.join("io.max");
        for line in probe.read_trimmed(&file).unwrap_or_default().lines() {
            let mut words = line.split_ascii_whitespace();
            let number = words.next().unwrap_or_default();
            for (word, rate) in words.filter_map(|word| word.split_once('=')) {
                let of = IO_MAX.iter().find(|(name, _)| *name == word);
                of.iter().for_each(|(_, of)| add(&file, number, *of, rate));
            }
        }
    } else {
        for (name, of) in THROTTLES {
            let file = group.folder.join(name);
            for line in probe.read_trimmed(&file).unwrap_or_default().lines() {
                if let Some((number, rate)) = line.split_once(' ') {
                    add(&file, number, *of, rate.trim());
                }
            }
        }
    }
    limits
}

/// Reads the CPU quota of a control group, as a number of CPUs. `None` if it has none.
fn of_processors(probe: &Probe, group: &ControlGroup) -> Option<SetLimit> {
    let (file, quota, period, burst) = match group.version {
        2 => {
            let file = group.folder.join("cpu.max");
            let text = probe.read_trimmed(&file)?;
            let (quota, period) = text.split_once(' ')?;
            (
                file,
                quota.parse().ok()?,
                period.parse().ok()?,
                probe.read_number(group.folder.join("cpu.max.burst")),
            )
        }
        _ => {
            let file = group.folder.join("cpu.cfs_quota_us");
            // -1 is no quota.
            let quota = probe.read_number(&file)?;
            let period = probe.read_number(group.folder.join("cpu.cfs_period_us"))?;
            (file, quota, period, probe.read_number(group.folder.join("cpu.cfs_burst_us")))
        }
    };
    let (quota, period): (u64, u64) = (quota, period);
    (period > 0).then(|| SetLimit {
        of: LimitUnit::Processors,
        rate: quota as f64 / period as f64,
        burst: burst.filter(|burst| *burst > 0).map(|burst| burst as f64 / period as f64),
        on: "cpu".into(),
        set_in: file.display().to_string(),
    })
}

/// Returns the processors that this program's control group may use (`0-3,8`), with the file that
/// lists them. `None` if no such file exists.
pub fn processors(probe: &Probe) -> Option<(String, PathBuf)> {
    let own = groups(probe, "cpuset");
    let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
    let of = |group: &ControlGroup| {
        let file = files
            .iter()
            .map(|file| group.folder.join(file))
            .find(|file| probe.path_below(file).exists())?;
        Some((probe.read_trimmed(&file)?, file))
    };
    own.iter().find_map(of)
}

/// Finds a limit to fewer processors than are online, set by a cpuset or by whoever started iotax
/// (taskset).
fn allowed(probe: &Probe) -> Option<SetLimit> {
    let status = probe.read_trimmed("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    let (online, mine) = (
        count_in_list(&probe.read_trimmed("/sys/devices/system/cpu/online")?)?,
        count_in_list(list)?,
    );
    let set_in = match processors(probe) {
        Some((group, file)) if count_in_list(&group) == Some(mine) => file.display().to_string(),
        _ => "Cpus_allowed_list of /proc/self/status; taskset -p".to_owned(),
    };
    let limit = SetLimit {
        of: LimitUnit::Allowed,
        rate: mine as f64,
        burst: None,
        on: "cpu".into(),
        set_in,
    };
    (mine < online).then_some(limit)
}

/// Returns how many numbers a list such as `0-3,8` has; `None` if it is malformed.
fn count_in_list(list: &str) -> Option<u64> {
    let one = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u64>().ok()?, to.parse::<u64>().ok()?);
        to.checked_sub(from)?.checked_add(1)
    };
    list.split(',').map(one).sum()
}

/// Finds limits on what network interfaces send, from tc; empty if tc is not installed.
pub fn of_interfaces(probe: &Probe) -> Vec<SetLimit> {
    let Some(tc) = probe.program("tc") else { return Vec::new() };
    let ask = |words: &[&str]| {
        let mut command = Command::new(&tc);
        command.args(words).env("LC_ALL", "C");
        let output = output_of(&mut command, TC_LIMIT).ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let queues = ask(&["-j", "qdisc", "show"]).unwrap_or_default();
    let mut limits = of_queues(&queues);
    for interface in with_classes(&queues) {
        limits.extend(of_classes(
            &interface,
            &ask(&["class", "show", "dev", &interface]).unwrap_or_default(),
        ));
    }
    limits
}

fn queues(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Finds token bucket filters in the output of `tc -j qdisc show`, which has rates in bytes per
/// second and bursts in bytes.
fn of_queues(text: &str) -> Vec<SetLimit> {
    let limit = |queue: &Value| {
        let options = &queue["options"];
        (queue["kind"] == "tbf").then_some(())?;
        let on = queue["dev"].as_str()?.to_owned();
        Some(SetLimit {
            of: LimitUnit::Sent,
            rate: options["rate"].as_f64()?,
            burst: options["burst"].as_f64(),
            set_in: format!("tbf; tc qdisc show dev {on}"),
            on,
        })
    };
    queues(text).iter().filter_map(limit).collect()
}

/// Returns the interfaces that have an `htb` queue, whose classes have the rates.
fn with_classes(text: &str) -> Vec<String> {
    let mut all: Vec<String> = queues(text)
        .iter()
        .filter(|queue| queue["kind"] == "htb")
        .filter_map(|queue| Some(queue["dev"].as_str()?.to_owned()))
        .collect();
    all.dedup();
    all
}

/// Finds rate ceilings in the output of `tc class show`: `class htb 1:10 root prio 0 rate 50Mbit
/// ceil 80Mbit burst 64Kb cburst 32750b`.
fn of_classes(interface: &str, text: &str) -> Vec<SetLimit> {
    let limit = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let word_after =
            |name: &str| words.get(words.iter().position(|word| *word == name)? + 1).copied();
        let id = words.strip_prefix(&["class", "htb"])?.first()?;
        Some(SetLimit {
            of: LimitUnit::Sent,
            rate: amount(word_after("ceil")?)?,
            burst: word_after("cburst").and_then(amount),
            on: interface.to_owned(),
            set_in: format!("htb {id}; tc class show dev {interface}"),
        })
    };
    text.lines().filter_map(limit).collect()
}

/// Parses an amount of tc into bytes (`64Kb`, binary) or bytes per second (`80Mbit`, decimal).
fn amount(word: &str) -> Option<f64> {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "bit" => 0.125,
        "Kbit" => 125.0,
        "Mbit" => 125e3,
        "Gbit" => 125e6,
        "Tbit" => 125e9,
        "b" => 1.0,
        "Kb" => 1024.0,
        "Mb" => 1048576.0,
        "Gb" => 1073741824.0,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::server;
    use super::*;

    fn texts(limits: &[SetLimit]) -> Vec<String> {
        limits.iter().map(ToString::to_string).collect()
    }

    /// A drive at 8:0 and nothing else.
    fn machine(mounts: &str, own: &str) -> super::super::made_up::MadeUpMachine {
        let machine = server();
        machine.block("/sys/devices/pci0/sdq", "65:0", &[]);
        machine.put(&[("/proc/self/mountinfo", mounts), ("/proc/self/cgroup", own)]);
        machine
    }

    #[test]
    fn throttles_of_version_1_are_read_in_the_own_group_and_above() {
        let machine = machine(
            "31 30 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
             32 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            "7:blkio:/lab/one\n1:cpu,cpuacct:/lab\n0::/\n",
        );
        let at = "/sys/fs/cgroup/blkio/lab";
        machine.put(&[
            (&format!("{at}/one/blkio.throttle.read_iops_device"), "65:0 1000\n254:9 7\n"),
            (&format!("{at}/one/blkio.throttle.read_bps_device"), ""),
            (&format!("{at}/blkio.throttle.write_bps_device"), "65:0 1048576\n"),
            ("/sys/fs/cgroup/cpu/lab/cpu.cfs_quota_us", "150000"),
            ("/sys/fs/cgroup/cpu/lab/cpu.cfs_period_us", "100000"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        assert_eq!(
            texts(&of_groups(&machine.probe, &["/dev/sdq".into()])),
            [
                "sdq: 1000 reads a second (/sys/fs/cgroup/blkio/lab/one/blkio.throttle.read_iops_device)",
                "sdq: 1048576 bytes written a second (/sys/fs/cgroup/blkio/lab/blkio.throttle.write_bps_device)",
                "cpu: 1.5 processors (/sys/fs/cgroup/cpu/lab/cpu.cfs_quota_us)",
            ]
        );
        assert_eq!(of_groups(&machine.probe, &[]).len(), 1, "no other device is asked about");
    }

    #[test]
    fn limits_of_version_2_are_read() {
        let machine = machine(
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "0::/system.slice/x.service\n",
        );
        let at = "/sys/fs/cgroup/system.slice";
        machine.put(&[
            (
                &format!("{at}/x.service/io.max"),
                "65:0 rbps=max wbps=2097152 riops=500 wiops=max\n8:16 riops=1\n",
            ),
            (&format!("{at}/cpu.max"), "50000 100000\n"),
            (&format!("{at}/cpu.max.burst"), "0\n"),
            (&format!("{at}/x.service/cpu.max"), "max 100000\n"),
            (&format!("{at}/x.service/cpuset.cpus.effective"), "0-1\n"),
        ]);
        assert_eq!(
            texts(&of_groups(&machine.probe, &["/dev/sdq".into()])),
            [
                "sdq: 2097152 bytes written a second (/sys/fs/cgroup/system.slice/x.service/io.max)",
                "sdq: 500 reads a second (/sys/fs/cgroup/system.slice/x.service/io.max)",
                "cpu: 0.5 processors (/sys/fs/cgroup/system.slice/cpu.max)",
            ]
        );
        assert_eq!(processors(&machine.probe).map(|(list, _)| list).as_deref(), Some("0-1"));
    }

    #[test]
    fn fewer_processors_than_the_machine_has_are_a_limit_with_its_cause() {
        let machine = machine("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/x\n");
        machine.put(&[
            ("/sys/devices/system/cpu/online", "0-7\n"),
            ("/proc/self/status", "Name:\tiotax\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1,4\n"),
            ("/sys/fs/cgroup/x/cpuset.cpus.effective", "0-1,4\n"),
        ]);
        let texts = || texts(&of_groups(&machine.probe, &[]));
        assert_eq!(texts(), ["cpu: 3 processors allowed (/sys/fs/cgroup/x/cpuset.cpus.effective)"]);
        machine.put(&[("/sys/fs/cgroup/x/cpuset.cpus.effective", "0-7\n")]);
        let by_taskset =
            "cpu: 3 processors allowed (Cpus_allowed_list of /proc/self/status; taskset -p)";
        assert_eq!(texts(), [by_taskset]);
        machine.put(&[("/proc/self/status", "Cpus_allowed_list:\t0-7\n")]);
        assert_eq!(texts(), [""; 0]);
        assert_eq!(
            ["0", "0-3,8", "", "3-1", "x"].map(count_in_list),
            [Some(1), Some(5), None, None, None]
        );
    }

    #[test]
    fn a_machine_without_groups_sets_no_limit() {
        let machine = server();
        assert_eq!(of_groups(&machine.probe, &["/dev/sda".into()]), []);
        assert_eq!((of_interfaces(&machine.probe), processors(&machine.probe)), (Vec::new(), None));
    }

    /// As iproute2 6.1 prints them.
    const QUEUES: &str = r#"[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
        {"kind":"tbf","handle":"8001:","dev":"d0","root":true,"refcnt":3,"options":{"rate":12500000,"burst":262137,"lat":20000}},
        {"kind":"htb","handle":"1:","dev":"d1","root":true,"refcnt":3,"options":{"r2q":10,"default":"0x10","direct_packets_stat":0,"direct_qlen":1000}}]"#;
    const CLASSES: &str = "class htb 1:10 root prio 0 rate 50Mbit ceil 80Mbit burst 64Kb cburst 32750b \n\
        class fq_codel 2:1 parent 2: \n";

    #[test]
    fn buckets_of_interfaces_are_read() {
        assert_eq!(
            texts(&of_queues(QUEUES)),
            ["d0: 12500000 bytes sent a second, bursts of 262137 (tbf; tc qdisc show dev d0)"]
        );
        assert_eq!(with_classes(QUEUES), ["d1"]);
        assert_eq!(
            texts(&of_classes("d1", CLASSES)),
            ["d1: 10000000 bytes sent a second, bursts of 32750 (htb 1:10; tc class show dev d1)"]
        );
        for text in ["", "tc: nonsense", "{}", "[1,{\"kind\":\"tbf\"}]"] {
            assert_eq!((of_queues(text), with_classes(text)), (Vec::new(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn amounts_have_units_of_tc() {
        let all =
            ["500bit", "1Kbit", "1Gbit", "1500b", "1Kb", "2Mb"].map(|word| amount(word).unwrap());
        assert_eq!(all, [62.5, 125.0, 125e6, 1500.0, 1024.0, 2097152.0]);
        assert_eq!(["", "b", "1Zbit", "x"].map(amount), [None; 4]);
    }
}
