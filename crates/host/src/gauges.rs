//! Gauges that are read before and after every slice: CPU time, dirty memory, I/Os in flight. What
//! the kernel does not report is `None`, never zero.

use super::facts::{device_chain, devices_below, memory_bytes};
use super::limits;
use super::probe::{GuestProbe, Probe};
use iotax_facts::slice::{CpuTimes, DeviceCounts, ThreadId};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Nanoseconds of one tick of /proc/stat: USER_HZ is 100 on all architectures that we build for.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Reader of a machine's gauges. Create it once: it remembers which devices are below a path.
#[derive(Clone, Debug)]
pub struct Gauges {
    probe: Probe,
    /// Devices at and below each path, cached at the first query.
    chains: BTreeMap<PathBuf, Vec<String>>,
    /// Paths of `cpu.stat` of the own control groups that limit CPU time.
    quotas: Vec<PathBuf>,
}

/// Bytes that the page cache has not written back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwedBytes {
    pub bytes: u64,
    /// True if the bytes are those of the whole machine, because they are not known per file.
    pub of_all: bool,
}

impl Default for Gauges {
    fn default() -> Self {
        Gauges::seen_by(Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED))
    }
}

impl Gauges {
    pub fn seen_by(probe: Probe) -> Gauges {
        let quotas = limits::quota_stats(&probe);
        Gauges { probe, chains: BTreeMap::new(), quotas }
    }

    pub fn probe(&self) -> &Probe {
        &self.probe
    }

    /// Reads the time of all CPUs since boot, and how long quotas throttled the own control groups.
    pub fn cpu_times(&self) -> Option<CpuTimes> {
        let times = parse_stat(&self.probe.read_trimmed("/proc/stat")?)?;
        let held =
            self.quotas.iter().filter_map(|file| parse_throttled(&self.probe.read_trimmed(file)?));
        Some(CpuTimes { throttled_ns: held.sum(), ..times })
    }

    /// Returns the CPU time of a thread in nanoseconds; `None` if it has ended, or this kernel does
    /// not report it.
    pub fn thread_ns(&self, ThreadId { pid, tid }: ThreadId) -> Option<u64> {
        let schedstat = self.probe.read_trimmed(format!("/proc/{pid}/task/{tid}/schedstat"))?;
        schedstat.split_whitespace().next()?.parse().ok()
    }

    /// Returns the bytes that wait for or are under writeback: of these files and devices if all
    /// can be opened and the kernel reports that (cachestat, 6.5 and newer), else of the whole
    /// machine, where other programs contribute.
    pub fn pending_bytes(&self, paths: &[PathBuf]) -> Option<OwedBytes> {
        let of_paths: std::io::Result<u64> =
            paths.iter().map(|path| iotax_sys::cachestat::owed_bytes(File::open(path)?)).sum();
        match of_paths {
            Ok(bytes) => Some(OwedBytes { bytes, of_all: false }),
            Err(_) => Some(OwedBytes { bytes: self.dirty_bytes()?, of_all: true }),
        }
    }

    fn dirty_bytes(&self) -> Option<u64> {
        Some(memory_bytes(&self.probe, "Dirty")? + memory_bytes(&self.probe, "Writeback")?)
    }

    /// Returns the kernel names of the device at a path (or below the file there), and of all
    /// devices below it. The result is cached: the lookup walks the mounts, and each slice asks
    /// three times.
    pub fn lower_devices(&mut self, path: &Path) -> Vec<String> {
        if let Some(chain) = self.chains.get(path) {
            return chain.clone();
        }
        let chain = device_chain(&self.probe, path);
        self.chains.insert(path.to_owned(), chain.clone());
        chain
    }

    /// Forgets which devices are below paths. Call it after layers were made or removed.
    pub fn forget(&mut self) {
        self.chains.clear();
    }

    /// Returns the sum of I/Os in flight on these devices; `None` if one of them does not report
    /// them, or there is no device.
    pub fn in_flight(&self, names: &[String]) -> Option<u64> {
        if names.is_empty() {
            return None;
        }
        names.iter().map(|name| self.in_flight_on(name)).sum()
    }

    /// Returns the I/O that the devices at these paths (or below the files there) and all devices
    /// below them have completed since they were attached. Each device is listed once, before those
    /// below it; devices that do not report are left out.
    pub fn device_counts(&mut self, paths: &[PathBuf]) -> Vec<DeviceCounts> {
        let mut names: Vec<String> = Vec::new();
        for path in paths {
            let chain = self.lower_devices(path);
            names
                .extend(chain.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        names.iter().filter_map(|name| self.counts_of(name)).collect()
    }

    fn counts_of(&self, name: &str) -> Option<DeviceCounts> {
        let folder = PathBuf::from("/sys/class/block").join(name.replace('/', "!"));
        // A device whose statistics are turned off counts nothing; a partition has no queue of its
        // own but its disk's.
        if self.probe.read_number(folder.join("queue/iostats")) == Some(0) {
            return None;
        }
        let text = self.probe.read_trimmed(folder.join("stat"))?;
        let figures: Vec<u64> =
            text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [reads, reads_merged, read_sectors, _, writes, writes_merged, write_sectors, ..] =
            figures[..]
        else {
            return None;
        };
        Some(DeviceCounts {
            device: name.to_owned(),
            lowest: devices_below(&self.probe, name).is_empty(),
            reads,
            // These sectors have 512 bytes, whatever the device's block size.
            read_bytes: read_sectors.checked_mul(512)?,
            writes,
            write_bytes: write_sectors.checked_mul(512)?,
            merged: reads_merged.saturating_add(writes_merged),
        })
    }

    fn in_flight_on(&self, name: &str) -> Option<u64> {
        let file = PathBuf::from("/sys/class/block").join(name.replace('/', "!")).join("inflight");
        // Reads and writes, as two numbers.
        self.probe
            .read_trimmed(file)?
            .split_whitespace()
            .map(|number| number.parse::<u64>().ok())
            .sum()
    }
}

/// Parses the first line of /proc/stat (proc_stat(5)): user nice system idle iowait irq softirq
/// steal ...; user includes guest time.
fn parse_stat(text: &str) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sum = |fields: &[usize]| -> Option<u64> {
        let total: u64 =
            fields.iter().map(|field| ticks.get(*field).copied()).sum::<Option<u64>>()?;
        total.checked_mul(TICK_NS)
    };
    Some(CpuTimes {
        user_ns: sum(&[0, 1])?,
        system_ns: sum(&[2, 5, 6])?,
        steal_ns: sum(&[7])?,
        idle_ns: sum(&[3, 4])?,
        throttled_ns: 0,
        kernel_threads_ns: None,
    })
}

/// Reads the throttled nanoseconds from a control group's `cpu.stat`: `throttled_usec` of version
/// 2, `throttled_time` of version 1.
fn parse_throttled(text: &str) -> Option<u64> {
    let value = |line: &str| match line.split_once(' ')? {
        ("throttled_usec", us) => us.parse::<u64>().ok()?.checked_mul(1000),
        ("throttled_time", ns) => ns.parse().ok(),
        _ => None,
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_line() {
        let times =
            parse_stat("cpu  10 1 5 100 20 2 3 4 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n").expect("parsed");
        let ms = |ns: u64| ns / 1_000_000;
        assert_eq!((ms(times.user_ns), ms(times.system_ns)), (110, 100));
        assert_eq!((ms(times.steal_ns), ms(times.idle_ns)), (40, 1200));
        assert_eq!(parse_stat("cpu 1 2 x 4 5 6 7 8"), None);
        assert_eq!(parse_stat("cpu 1 2 3"), None);
    }

    #[test]
    fn this_machine_tells() {
        let gauges = Gauges::default();
        let before = gauges.cpu_times().expect("cpu times");
        assert!(before.user_ns > 0 && before.idle_ns > 0);
        assert!(gauges.dirty_bytes().is_some());
        let of_all =
            gauges.pending_bytes(&["/no/such/path".into()]).expect("the machine's own counters");
        assert!(of_all.of_all);
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        let own = gauges.pending_bytes(&[file.path().to_owned()]).unwrap();
        assert!(own.of_all || own.bytes == 0, "an empty file owes nothing: {own:?}");
    }

    #[test]
    fn a_thread_tells_what_it_has_computed() {
        let machine = super::super::made_up::server();
        machine.put(&[("/proc/7/task/8/schedstat", "123456789 55 2\n")]);
        let gauges = Gauges::seen_by(machine.probe.clone());
        assert_eq!(gauges.thread_ns(ThreadId { pid: 7, tid: 8 }), Some(123_456_789));
        assert_eq!(gauges.thread_ns(ThreadId { pid: 7, tid: 9 }), None, "it has ended");
        let pid = std::process::id();
        assert!(Gauges::default().thread_ns(ThreadId { pid, tid: pid }).is_some_and(|ns| ns > 0));
    }

    #[test]
    fn devices_on_the_way_are_counted_once_from_the_top() {
        let machine = super::super::made_up::server();
        machine.put(&[
            ("/sys/class/block/dm-0/stat", "  10 1 2048 5 20 2 4096 0 0 5 5\n"),
            ("/sys/class/block/sda/stat", "  30 0 8 5 40 0 16 0 0 5 5 0 0 0 0 7 7\n"),
            ("/sys/class/block/sdb/stat", "  30 0\n"),
        ]);
        let mut gauges = Gauges::seen_by(machine.probe.clone());
        let file = PathBuf::from("/srv/data/x.img");
        let counts = gauges.device_counts(&[file.clone(), file]);
        let seen = |name: &str| counts.iter().filter(|one| one.device == name).collect::<Vec<_>>();
        let [top] = seen("dm-0")[..] else { panic!("{counts:?}") };
        assert_eq!(&counts[0], top);
        assert_eq!(
            (top.reads, top.read_bytes, top.writes, top.write_bytes),
            (10, 1 << 20, 20, 2 << 20)
        );
        assert_eq!((top.merged, top.lowest), (3, false));
        assert!(seen("sda")[0].lowest && seen("sdb").is_empty(), "cut short: it reports nothing");
        assert_eq!(gauges.device_counts(&["/proc/version".into()]), [], "nothing below it");
    }

    #[test]
    fn what_a_quota_holds_back_is_counted_of_the_groups_that_have_one() {
        let machine = super::super::made_up::server();
        let at = "/sys/fs/cgroup";
        machine.put(&[
            ("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/proc/self/cgroup", "0::/x/y\n"),
            ("/proc/stat", "cpu 1 2 3 4 5 6 7 8 9 0\n"),
            (&format!("{at}/x/cpu.max"), "90000 100000\n"),
            (&format!("{at}/x/cpu.stat"), "usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n"),
            (&format!("{at}/x/y/cpu.max"), "max 100000\n"),
            (&format!("{at}/x/y/cpu.stat"), "throttled_usec 9\n"),
        ]);
        let gauges = Gauges::seen_by(machine.probe.clone());
        assert_eq!(gauges.cpu_times().unwrap().throttled_ns, 1_500_000);
        assert_eq!(parse_throttled("nr_periods 3\nthrottled_time 77\n"), Some(77));
        assert_eq!(parse_throttled("usage_usec 3\n"), None);
    }

    #[test]
    fn in_flight_of_a_stack() {
        let machine = super::super::made_up::server();
        let mut gauges = Gauges::seen_by(machine.probe.clone());
        let names = gauges.lower_devices(Path::new("/srv/data/x.img"));
        assert_eq!(names, ["dm-0", "md0", "sda1", "sda", "sdb1", "sdb"]);
        assert_eq!(gauges.in_flight(&names), Some(2 + 2));
        assert_eq!(gauges.in_flight(&[]), None);
        assert_eq!(gauges.in_flight(&["none".into()]), None);
    }
}
