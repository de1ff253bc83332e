//! Facts of a slice besides its load: processor times, and the wait before it.

use serde::{Deserialize, Serialize};

/// CPU times of a place in nanoseconds, up to a reading or between two: of /proc/stat, summed over
/// all CPUs, and of `cpu.stat` of the process's own control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    pub user_ns: u64,
    /// The sum of system, irq and softirq.
    pub system_ns: u64,
    pub steal_ns: u64,
    pub idle_ns: u64,
    /// Time during which a CPU limit of the own control group throttled its threads, summed over
    /// all CPUs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// CPU time of kernel threads by their own clocks, for short slices; `None` if it was not read,
    /// or no kernel thread is visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads_ns: Option<u64>,
}

/// Converts from [`iotax_load::MachineTimes`], which has the fields in their order. The last one is
/// `None` if it is 0.
impl From<[u64; 6]> for CpuTimes {
    fn from(
        [user_ns, system_ns, steal_ns, idle_ns, throttled_ns, threads_ns]: [u64; 6],
    ) -> CpuTimes {
        let kernel_threads_ns = (threads_ns > 0).then_some(threads_ns);
        CpuTimes { user_ns, system_ns, steal_ns, idle_ns, throttled_ns, kernel_threads_ns }
    }
}

impl From<CpuTimes> for [u64; 6] {
    fn from(times: CpuTimes) -> [u64; 6] {
        let CpuTimes { user_ns, system_ns, steal_ns, idle_ns, throttled_ns, kernel_threads_ns } =
            times;
        [user_ns, system_ns, steal_ns, idle_ns, throttled_ns, kernel_threads_ns.unwrap_or(0)]
    }
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

impl CpuTimes {
    /// Returns the time since an earlier reading. A counter that ran backwards, as iowait may,
    /// gives 0.
    pub fn elapsed_since(self, earlier: CpuTimes) -> CpuTimes {
        CpuTimes {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
            kernel_threads_ns: self
                .kernel_threads_ns
                .zip(earlier.kernel_threads_ns)
                .map(|(to, from)| to.saturating_sub(from)),
        }
    }

    pub fn sum_times(self, other: CpuTimes) -> CpuTimes {
        CpuTimes {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
            steal_ns: self.steal_ns.saturating_add(other.steal_ns),
            idle_ns: self.idle_ns.saturating_add(other.idle_ns),
            throttled_ns: self.throttled_ns.saturating_add(other.throttled_ns),
            kernel_threads_ns: self
                .kernel_threads_ns
                .zip(other.kernel_threads_ns)
                .map(|(one, other)| one.saturating_add(other)),
        }
    }
}

/// I/O that a block device has completed, as `/sys/block/X/stat` counts it
/// (Documentation/block/stat.rst of Linux).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    pub device: String,
    /// True if no other device is known below it in the same place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lowest: bool,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Requests that were merged into others before they reached the device.
    pub merged: u64,
}

impl DeviceCounts {
    pub fn completed_since(&self, earlier: &DeviceCounts) -> DeviceCounts {
        self.each_with(earlier, u64::saturating_sub)
    }

    pub fn sum_device_counts(&self, other: &DeviceCounts) -> DeviceCounts {
        self.each_with(other, u64::saturating_add)
    }

    fn each_with(&self, other: &DeviceCounts, join: fn(u64, u64) -> u64) -> DeviceCounts {
        DeviceCounts {
            device: self.device.clone(),
            lowest: self.lowest,
            reads: join(self.reads, other.reads),
            read_bytes: join(self.read_bytes, other.read_bytes),
            writes: join(self.writes, other.writes),
            write_bytes: join(self.write_bytes, other.write_bytes),
            merged: join(self.merged, other.merged),
        }
    }
}

/// I/O that the devices of one place had completed at a point in time, or completed between two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReading {
    /// Time of the reading on CLOCK_MONOTONIC of the place, or the time between two readings.
    pub at_ns: u64,
    pub devices: Vec<DeviceCounts>,
}

impl DeviceReading {
    /// Returns the nanoseconds since an earlier reading, in `at_ns`, and the I/O since then of the
    /// devices that are in both readings.
    pub fn difference_since(&self, earlier: &DeviceReading) -> DeviceReading {
        let before =
            |one: &DeviceCounts| earlier.devices.iter().find(|known| known.device == one.device);
        let devices = self.devices.iter().filter_map(|one| Some(one.completed_since(before(one)?)));
        DeviceReading {
            at_ns: self.at_ns.saturating_sub(earlier.at_ns),
            devices: devices.collect(),
        }
    }

    pub fn add_reading(&mut self, other: &DeviceReading) {
        self.at_ns = self.at_ns.saturating_add(other.at_ns);
        for one in &other.devices {
            match self.devices.iter_mut().find(|known| known.device == one.device) {
                Some(known) => *known = known.sum_device_counts(one),
                None => self.devices.push(one.clone()),
            }
        }
    }
}

/// I/O on one of several targets of a place in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnTarget {
    pub ios: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadId {
    pub pid: u32,
    /// Number of the thread; a kernel thread's equals its process id.
    pub tid: u32,
}

/// Result of the quiesce gate, which waits before a slice until earlier writes have reached the
/// devices: nothing is pending, or what was pending when the gate gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuiesceGate {
    pub waited_ns: u64,
    /// Dirty and Writeback bytes left: of the files and devices under load if the kernel reports
    /// them per file (6.5 and newer), else of the whole machine.
    pub dirty_bytes: u64,
    /// I/Os in flight on the lower devices. `None` if one of them does not report them, or there is
    /// no such device (a network file system).
    pub in_flight: Option<u64>,
    pub gave_up: bool,
}

impl QuiesceGate {
    pub const NOTHING_OWED: QuiesceGate =
        QuiesceGate { waited_ns: 0, dirty_bytes: 0, in_flight: Some(0), gave_up: false };

    /// Combines two gates before one slice: waits add up, of the other values the worse one counts,
    /// and a value that one gate does not know is unknown.
    #[must_use]
    pub fn combine_gates(self, other: QuiesceGate) -> QuiesceGate {
        QuiesceGate {
            waited_ns: self.waited_ns + other.waited_ns,
            dirty_bytes: self.dirty_bytes.max(other.dirty_bytes),
            in_flight: worse_known(self.in_flight, other.in_flight),
            gave_up: self.gave_up || other.gave_up,
        }
    }
}

/// Returns the larger of two counts; unknown if one of them is unknown.
pub fn worse_known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.max(b?))
}
