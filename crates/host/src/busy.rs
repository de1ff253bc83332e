//! CPU load of other programs, which is measured before a run and reported in a warning, since it
//! disturbs the figures. Programs that iotax has started do not count, nor do kernel threads, which
//! also work for iotax.

use super::gauges::{Gauges, TICK_NS};
use super::probe::Probe;
use iotax_facts::slice::CpuTimes;
use std::collections::BTreeMap;
use std::time::Instant;

/// Fraction of a CPU that a program must use for the warning to name it.
const LEAST_OF_PROGRAM: f64 = 0.1;
/// Load of other programs, in CPUs, from which on the warning reports it.
const LEAST_BUSY: f64 = 0.3;
/// Share of all CPUs' time that the hypervisor must withhold for a warning.
const LEAST_STOLEN: f64 = 0.05;
/// Most programs that the warning names.
const NAMED: usize = 3;
/// Process id of kthreadd, the parent of all kernel threads.
const KTHREADD: u32 = 2;

/// CPU time that each program had used at one moment.
#[derive(Clone, Debug)]
pub struct CpuReading {
    pub read_at: Instant,
    times: CpuTimes,
    programs: BTreeMap<u32, Program>,
}

#[derive(Clone, Debug, PartialEq)]
struct Program {
    name: String,
    parent: u32,
    ns: u64,
}

/// CPU load between two readings, without iotax, the programs that it started, and kernel threads.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyCpus {
    /// Number of CPUs that are online.
    pub cpus: f64,
    /// CPU time that other programs used, in CPUs: 1.5 is one and a half.
    pub busy: f64,
    /// Share of all CPUs' time that the hypervisor did not give to this machine.
    pub stolen: f64,
    /// Up to three programs that used the most, and at least a tenth of a CPU each: `rustc (pid
    /// 4711)`, and the number of CPUs that it used.
    pub programs: Vec<(String, f64)>,
}

impl CpuReading {
    /// Reads the CPU time of all programs; `None` if this system has no /proc/stat.
    pub fn now(probe: &Probe) -> Option<CpuReading> {
        let gauges = Gauges::seen_by(probe.clone());
        let pids =
            probe.folder_names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        let program =
            |pid: u32| Some((pid, parse_stat(&probe.read_trimmed(format!("/proc/{pid}/stat"))?)?));
        Some(CpuReading {
            read_at: Instant::now(),
            times: gauges.cpu_times()?,
            programs: pids.filter_map(program).collect(),
        })
    }

    /// Returns the load since an earlier reading, without the process `own`, its descendants, and
    /// kernel threads.
    pub fn load_since(&self, earlier: &CpuReading, own: u32) -> BusyCpus {
        let passed_ns = (self.read_at - earlier.read_at).as_nanos().max(1) as f64;
        let CpuTimes { user_ns, system_ns, steal_ns, idle_ns, .. } =
            self.times.elapsed_since(earlier.times);
        let all_ns = (user_ns + system_ns + steal_ns + idle_ns).max(1) as f64;
        let is_anothers =
            |pid: &u32| ![own, KTHREADD].iter().any(|from| self.descends(*pid, *from));
        let others = self.programs.iter().filter(|(pid, _)| is_anothers(pid));
        let mut programs: Vec<(String, f64)> = others
            .map(|(pid, now)| {
                let before = earlier.programs.get(pid).map_or(0, |before| before.ns);
                let cpus = now.ns.saturating_sub(before) as f64 / passed_ns;
                (format!("{} (pid {pid})", now.name), cpus)
            })
            .collect();
        programs.sort_by(|one, other| other.1.total_cmp(&one.1));
        let busy = programs.iter().map(|(_, cpus)| cpus).sum();
        programs.retain(|(_, cpus)| *cpus >= LEAST_OF_PROGRAM);
        programs.truncate(NAMED);
        let cpus = (all_ns / passed_ns).round().max(1.0);
        BusyCpus { cpus, busy, stolen: steal_ns as f64 / all_ns, programs }
    }

    fn descends(&self, pid: u32, from: u32) -> bool {
        let mut at = pid;
        // Bounded, as two readings of a process that moved could make a loop of parents.
        for _ in 0..self.programs.len() {
            if at == from {
                return true;
            }
            match self.programs.get(&at) {
                Some(program) => at = program.parent,
                None => return false,
            }
        }
        false
    }
}

impl BusyCpus {
    /// Describes the load: `1.9 of 2 CPUs are busy: rustc (pid 4711), cc1 (pid 12)`. `None` if both
    /// the load and the stolen time are too small to matter.
    pub fn sentence(&self) -> Option<String> {
        let busy = (self.busy >= LEAST_BUSY).then(|| {
            let names: Vec<&str> = self.programs.iter().map(|(name, _)| name.as_str()).collect();
            let who =
                if names.is_empty() { "many small programs".to_owned() } else { names.join(", ") };
            format!("{:.1} of {} CPUs are busy: {who}", self.busy.min(self.cpus), self.cpus)
        });
        let stolen = (self.stolen >= LEAST_STOLEN).then(|| {
            format!("a hypervisor takes {:.0} % of the CPU time for others", 100.0 * self.stolen)
        });
        let parts: Vec<String> = [busy, stolen].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Parses `/proc/PID/stat`, whose CPU time includes threads that have ended. A name may contain
/// spaces and brackets.
fn parse_stat(text: &str) -> Option<Program> {
    let (head, tail) = text.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = tail.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Program {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        // utime and stime.
        ns: (number(11)? + number(12)?) * TICK_NS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_may_have_brackets_and_blanks() {
        let stat = "41 (a) b (c) S 7 41 41 0 -1 4194304 90 0 0 0 3 2 0 0 20 0 1 0 9 8 7";
        let name = "a) b (c".to_owned();
        assert_eq!(parse_stat(stat), Some(Program { name, parent: 7, ns: 50_000_000 }));
        assert_eq!(parse_stat("41 (a"), None);
    }

    #[test]
    fn others_are_named_and_what_is_ours_is_not() {
        let program = |name: &str, parent, ns| Program { name: name.to_owned(), parent, ns };
        let before = CpuReading {
            read_at: Instant::now(),
            times: CpuTimes::default(),
            programs: BTreeMap::from([(7, program("rustc", 1, 5_000_000))]),
        };
        let after = CpuReading {
            read_at: before.read_at + Duration::from_millis(500),
            times: CpuTimes {
                user_ns: 700_000_000,
                steal_ns: 100_000_000,
                idle_ns: 200_000_000,
                ..CpuTimes::default()
            },
            programs: BTreeMap::from([
                (2, program("kthreadd", 0, 0)),
                (3, program("kworker/0:1", 2, 400_000_000)),
                (7, program("rustc", 1, 455_000_000)),
                (8, program("cc1", 1, 100_000_000)),
                (9, program("cron", 1, 1_000_000)),
                (20, program("iotax", 1, 300_000_000)),
                (21, program("mkfs.xfs", 20, 300_000_000)),
            ]),
        };
        let found = after.load_since(&before, 20);
        let named: Vec<&str> = found.programs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((named, found.cpus), (vec!["rustc (pid 7)", "cc1 (pid 8)"], 2.0));
        assert_eq!(
            found.sentence().unwrap(),
            "1.1 of 2 CPUs are busy: rustc (pid 7), cc1 (pid 8); a hypervisor takes 10 % of the CPU time for others"
        );
        assert_eq!(before.load_since(&before, 20).sentence(), None);
    }

    #[test]
    fn this_system_tells() {
        let probe = Probe::of_files(std::path::Path::new("/"));
        let before = CpuReading::now(&probe).unwrap();
        // Other programs may be busier, and the kernel may run them for a while instead of this test.
        let is_seen = || {
            let now = CpuReading::now(&probe).unwrap();
            let busy = |own| now.load_since(&before, own).busy;
            busy(u32::MAX) > busy(std::process::id())
        };
        let deadline = before.read_at + Duration::from_secs(60);
        assert!(
            std::iter::from_fn(|| (Instant::now() < deadline).then(is_seen)).any(|seen| seen),
            "what is ours disturbs nobody"
        );
    }
}
