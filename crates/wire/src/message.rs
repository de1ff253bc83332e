//! Content of the frames: requests of the host and responses of the agent (docs/wire.md). A result
//! is sent as JSON scalars, with its histograms in the blob, and is checked when it is unpacked.

use crate::trial::TrialSpec;
use iotax_facts::Engine;
use iotax_facts::slice::{CpuTimes, DeviceReading, QuiesceGate, ThreadId};
use iotax_facts::trial::ReadBack;
use iotax_host::facts::Facts;
use iotax_load::{
    Direction, Histogram, Job, MachineTimes, SeriesResult, SeriesSpec, ShortSlice, SliceBound,
    SliceResult, SliceSpec, TargetSpec, Transient, VerifiedWorker,
};
use iotax_probe::{Exchange, ProbeSpec};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Time that a slice may take beyond its own length: to drain, to flush a slow disk, to cross the
/// wire.
pub const SLICE_GRACE: Duration = Duration::from_secs(120);

/// Assumed length of a slice of bytes, which has no length of its own: that of the longest slice of
/// a given time.
const BYTES_LENGTH: Duration = Duration::from_secs(60);

/// Returns how long the host waits for a slice, including its discarded start. Engines must give up
/// before that.
pub fn slice_limit(spec: &SliceSpec) -> Duration {
    let length = match spec.bound {
        SliceBound::Time { ns } => Duration::from_nanos(spec.min_discard_ns.saturating_add(ns)),
        SliceBound::Bytes { .. } => BYTES_LENGTH,
    };
    length + SLICE_GRACE
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum WireRequest {
    /// First request: protocol and version of the host's iotax, and the run.
    Hello {
        protocol: u16,
        iotax: String,
        run_id: String,
    },
    Facts {
        devices: Vec<PathBuf>,
        #[serde(default)]
        programs: Vec<String>,
    },
    /// Reads CLOCK_MONOTONIC of the place.
    Clock,
    Prepare {
        /// Number of the worker, chosen by the host.
        worker: u32,
        /// Targets of the worker, each of which gets every job at the same time. Empty only for a
        /// probe.
        targets: Vec<TargetSpec>,
        jobs: Vec<Job>,
        engine: Option<Engine>,
        /// Probe that the worker is, instead of a load. There are no targets and no jobs then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<ProbeSpec>,
    },
    /// Starts the other end of a network probe, which is worker `worker` in another place: listens
    /// for it, or starts the server of its tool.
    Listen {
        worker: u32,
        probe: ProbeSpec,
        /// Address to listen at; `None` for all IPv4 addresses.
        bind: Option<IpAddr>,
        /// Port to listen at; `None` for a free one.
        port: Option<u16>,
    },
    Unlisten {
        worker: u32,
    },
    /// Gives a network card in the place its address. In a guest that iotax starts, nothing else
    /// does.
    Address(CardAddress),
    Slice {
        worker: u32,
        spec: SliceSpec,
    },
    Series {
        /// Numbers of the workers. `spec` refers to them by their index in this list.
        workers: Vec<u32>,
        spec: SeriesSpec,
    },
    /// Asks what a worker found of what it wrote, in its own reads and, if `read`, by reading all
    /// of it back.
    Verify {
        worker: u32,
        read: bool,
    },
    End {
        worker: u32,
    },
    EndAll,
    /// Writes the blocks of a durability trial until the place is killed. Progress frames report
    /// what is acknowledged.
    DurableWrite {
        target: TargetSpec,
        spec: TrialSpec,
    },
    DurableVerify {
        target: TargetSpec,
        spec: TrialSpec,
        acknowledged: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unreadable: Vec<u64>,
    },
    /// Passes a request about steps, such as to perform or undo one, to the agent's handler.
    Step {
        payload: serde_json::Value,
    },
    /// Inspects a path before anything is written to it.
    Inspect {
        path: PathBuf,
    },
    /// Passes to the agent's handler what may be written in the place from now on.
    Judge {
        payload: serde_json::Value,
    },
    DiskBySerial {
        serial: String,
    },
    /// Finds the block device of a PCI function, for a disk that reports no serial.
    DiskAtPci {
        address: String,
    },
    /// Waits until no data for these paths is dirty in memory and no I/O is in flight on the
    /// devices below them, at most `limit_ns`.
    Gate {
        paths: Vec<PathBuf>,
        limit_ns: u64,
    },
    CpuTimes,
    ThreadTimes {
        threads: Vec<ThreadId>,
    },
    /// Counts the bytes of a file that are holes or unwritten extents.
    UnwrittenBytes {
        path: PathBuf,
        /// Offset at which the counting ends.
        end: u64,
    },
    /// Reads the requests that the devices below these paths have completed since boot.
    DeviceCounts {
        paths: Vec<PathBuf>,
    },
    /// Ends all workers and the agent.
    Bye,
}

impl WireRequest {
    /// Returns the tag of the request, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            WireRequest::Hello { .. } => "hello",
            WireRequest::Facts { .. } => "facts",
            WireRequest::Clock => "clock",
            WireRequest::Prepare { .. } => "prepare",
            WireRequest::Listen { .. } => "listen",
            WireRequest::Unlisten { .. } => "unlisten",
            WireRequest::Address(_) => "address",
            WireRequest::Slice { .. } => "slice",
            WireRequest::Series { .. } => "series",
            WireRequest::Verify { .. } => "verify",
            WireRequest::End { .. } => "end",
            WireRequest::EndAll => "end_all",
            WireRequest::DurableWrite { .. } => "durable_write",
            WireRequest::DurableVerify { .. } => "durable_verify",
            WireRequest::Step { .. } => "step",
            WireRequest::Inspect { .. } => "inspect",
            WireRequest::Judge { .. } => "judge",
            WireRequest::DiskBySerial { .. } => "disk_by_serial",
            WireRequest::DiskAtPci { .. } => "disk_at_pci",
            WireRequest::Gate { .. } => "gate",
            WireRequest::CpuTimes => "cpu_times",
            WireRequest::ThreadTimes { .. } => "thread_times",
            WireRequest::UnwrittenBytes { .. } => "unwritten_bytes",
            WireRequest::DeviceCounts { .. } => "device_counts",
            WireRequest::Bye => "bye",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum Response {
    Hello(AgentInfo),
    Facts {
        facts: Facts,
    },
    Clock {
        monotonic_ns: u64,
    },
    Prepared(Prepared),
    Listening(Listening),
    Unlistened,
    Addressed {
        interface: String,
    },
    /// Answers `slice`; histograms are in the blob.
    Slice(SliceScalars),
    /// Answers `series`; histograms of all workers are in the blob, in their order.
    Series(SeriesScalars),
    Verified {
        found: VerifiedWorker,
    },
    Ended,
    DurableWritten {
        acknowledged: u64,
    },
    DurableVerified {
        found: ReadBack,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unreadable: Vec<u64>,
    },
    Step {
        payload: serde_json::Value,
    },
    Inspect {
        payload: serde_json::Value,
    },
    Judge {
        payload: serde_json::Value,
    },
    Disk {
        path: PathBuf,
    },
    Gate(QuiesceGate),
    CpuTimes(CpuTimes),
    ThreadTimes {
        /// CLOCK_MONOTONIC of the place, in nanoseconds, just before the reading.
        at_ns: u64,
        /// CPU time of each thread since its start, in nanoseconds; `null` if the thread has ended
        /// or the kernel does not report it.
        ns: Vec<Option<u64>>,
    },
    UnwrittenBytes {
        /// Bytes of holes and unwritten extents; `None` if it is not a file, or its file system
        /// does not report them.
        bytes: Option<u64>,
    },
    DeviceCounts(DeviceReading),
    Bye,
    Error {
        message: String,
        /// Exit code that the error would have on the host.
        code: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub protocol: u16,
    pub iotax: String,
    pub hostname: String,
    pub arch: String,
    pub kernel: String,
    pub pid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Name of the engine: `null`, `sync`, `uring` or `fio 3.33`.
    pub engine: String,
    pub why: String,
    pub command: Option<Vec<String>>,
}

/// Port and addresses at which a place listens for a network probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    pub port: u16,
    /// Token that a probe must send to be admitted; `None` for a tool's server, which admits
    /// everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Addresses of the place, those of its loopback last.
    pub addresses: Vec<IpAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardAddress {
    pub mac: String,
    pub address: Ipv4Addr,
    /// Length of the network's prefix, in bits.
    pub prefix: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireProgress {
    pub running_ms: u64,
    /// Number of the last write of a durability trial that a returned flush covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<u64>,
    /// Progress of the request, in a form that the agent's handler and the host agree on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    pub result: SliceResult,
    /// CPU times of the place during the slice, without the wait for a common start; `None` if the
    /// place does not report them.
    pub cpu: Option<CpuTimes>,
    /// What a network probe observed beside its result; `None` for other workers.
    pub exchange: Option<Exchange>,
    /// Readings of the devices below the worker's targets, just before the slice and just after it;
    /// empty if none reports.
    pub devices: [DeviceReading; 2],
}

/// [`SliceResult`] without its histograms, and the CPU times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceScalars {
    pub window_start_ns: u64,
    pub window_ns: u64,
    pub read: Count,
    pub write: Count,
    #[serde(default, skip_serializing_if = "Count::is_none")]
    pub trim: Count,
    pub discarded_ios: u64,
    pub discarded_ns: u64,
    pub drain_ns: u64,
    pub flush_ns: Option<u64>,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub errors: u64,
    pub first_error: Option<String>,
    pub read_len: u32,
    pub write_len: u32,
    pub sync_len: u32,
    pub reap_gap_len: u32,
    pub service_len: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_len: u32,
    pub in_flight_ns: u64,
    pub served_ns: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    #[serde(default, skip_serializing_if = "reports_nothing")]
    pub devices: [DeviceReading; 2],
}

/// [`SeriesResult`] without its histograms, and the CPU times of each worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesScalars {
    pub slices: Vec<ShortSlice>,
    /// Sums of each worker; its CPU times are those of the place during its slices.
    pub sums: Vec<SliceScalars>,
    pub transients: Vec<Transient>,
}

fn reports_nothing([from, to]: &[DeviceReading; 2]) -> bool {
    from.devices.is_empty() && to.devices.is_empty()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub ios: u64,
    pub bytes: u64,
}

impl Count {
    fn is_none(&self) -> bool {
        *self == Count::default()
    }
}

fn is_zero(len: &u32) -> bool {
    *len == 0
}

/// Splits a result into scalars and a blob of encoded histograms. That of trims is in it only if
/// there were any.
pub fn pack(ran: &Ran) -> (SliceScalars, Vec<u8>) {
    let result = &ran.result;
    let SliceResult { read, write, trim, sync_latency, reap_gap, service, .. } = result;
    let trims = if trim.ios > 0 { trim.latency.encode() } else { Vec::new() };
    let [reads, writes, syncs, gaps, services] =
        [&read.latency, &write.latency, sync_latency, reap_gap, service].map(Histogram::encode);
    let parts = [reads, writes, syncs, gaps, services, trims];
    let [read_len, write_len, sync_len, reap_gap_len, service_len, trim_len] =
        [0, 1, 2, 3, 4, 5].map(|i: usize| parts[i].len() as u32);
    let scalars = SliceScalars {
        window_start_ns: result.window_start_ns,
        window_ns: result.window_ns,
        read: Count { ios: result.read.ios, bytes: result.read.bytes },
        write: Count { ios: result.write.ios, bytes: result.write.bytes },
        trim: Count { ios: result.trim.ios, bytes: result.trim.bytes },
        discarded_ios: result.discarded_ios,
        discarded_ns: result.discarded_ns,
        drain_ns: result.drain_ns,
        flush_ns: result.flush_ns,
        cpu_user_ns: result.cpu_user_ns,
        cpu_system_ns: result.cpu_system_ns,
        errors: result.errors,
        first_error: result.first_error.clone(),
        read_len,
        write_len,
        sync_len,
        reap_gap_len,
        service_len,
        trim_len,
        in_flight_ns: result.in_flight_ns,
        served_ns: result.served_ns,
        targets: result.targets.clone(),
        cpu: ran.cpu,
        exchange: ran.exchange.clone(),
        devices: ran.devices.clone(),
    };
    (scalars, parts.concat())
}

pub fn pack_series(result: &SeriesResult) -> (SeriesScalars, Vec<u8>) {
    let cpu = result.machine.iter().map(|times| times.map(CpuTimes::from));
    let (sums, blobs): (Vec<_>, Vec<_>) = result
        .sums
        .iter()
        .zip(cpu)
        .map(|(sum, cpu)| pack(&Ran { result: sum.clone(), cpu, ..Ran::default() }))
        .unzip();
    let (slices, transients) = (result.slices.clone(), result.transients.clone());
    (SeriesScalars { slices, sums, transients }, blobs.concat())
}

/// Restores the result of a series from its scalars and its blob.
///
/// # Errors
/// A clause, as from [`unpack`], or if the slices are not those asked for or do not add up to the
/// sums.
pub fn unpack_series(
    scalars: SeriesScalars,
    blob: &[u8],
    spec: &SeriesSpec,
) -> Result<SeriesResult, String> {
    let SeriesScalars { slices, sums, transients } = scalars;
    let order = slices.iter().map(|slice| slice.worker);
    if !order.eq(spec.order.iter().copied()) {
        return Err("slices are not in the order asked for".to_owned());
    }
    if [sums.len(), transients.len()].iter().any(|len| *len != spec.lengths.len()) {
        return Err("sums are not of the workers asked for".to_owned());
    }
    let mut result = SeriesResult { slices, transients, ..SeriesResult::default() };
    let mut rest = blob;
    for (worker, sum) in sums.into_iter().enumerate() {
        let ours = || result.slices.iter().filter(|slice| slice.worker == worker);
        let ios = ours().fold(0, |sum: u64, slice| sum.saturating_add(slice.ios));
        let window_ns = ours().fold(0, |sum: u64, slice| sum.saturating_add(slice.window_ns));
        let total =
            [sum.read.ios, sum.write.ios, sum.trim.ios].into_iter().fold(0, u64::saturating_add);
        if (ios, window_ns) != (total, sum.window_ns) {
            return Err(format!(
                "slices of {ios} I/Os in {window_ns} ns add up to {total} in {}",
                sum.window_ns
            ));
        }
        let (blob, more) = split(rest, sum.blob_len())?;
        let of_all = match ours().count() {
            // In a series without a slice of it a worker did nothing.
            0 => SliceSpec::starting_now(SliceBound::Bytes { bytes: 0 }, 0, false),
            slices => SliceSpec::starting_now(
                SliceBound::Time { ns: series_ns(spec) },
                slices as u64,
                false,
            ),
        };
        let Ran { result: sum, cpu, .. } = unpack(sum, blob, &of_all)?;
        result.sums.push(sum);
        result.machine.push(cpu.map(MachineTimes::from));
        rest = more;
    }
    match rest {
        [] => Ok(result),
        rest => Err(format!("{} bytes too many after the histograms", rest.len())),
    }
}

/// Returns the length of a series in nanoseconds: the sum of all windows and discarded starts or,
/// if that is longer, the time from the first begin to the last in the schedule.
pub(super) fn series_ns(spec: &SeriesSpec) -> u64 {
    let length = |worker: &usize| {
        spec.lengths
            .get(*worker)
            .map_or(0, |length| length.discard_ns.saturating_add(length.window_ns))
    };
    let slices_ns = spec.order.iter().map(length).fold(0, u64::saturating_add);
    let begins_ns = spec.begins_ns.last().zip(spec.begins_ns.first());
    slices_ns.max(begins_ns.map_or(0, |(last, first)| last.saturating_sub(*first)))
}

impl SliceScalars {
    fn blob_len(&self) -> u32 {
        let SliceScalars {
            read_len, write_len, sync_len, reap_gap_len, service_len, trim_len, ..
        } = self;
        [read_len, write_len, sync_len, reap_gap_len, service_len, trim_len]
            .into_iter()
            .fold(0, |sum: u32, len| sum.saturating_add(*len))
    }

    /// Returns why these cannot be the scalars of such a slice; `None` if they can. The agent runs
    /// on another machine, and its counts go into sums and divisors.
    fn fault(&self, spec: &SliceSpec) -> Option<String> {
        let SliceScalars { read, write, trim, window_ns, .. } = self;
        let counts = [read, write, trim].into_iter().flat_map(|one| [one.ios, one.bytes]);
        let cpu = self.cpu.unwrap_or_default();
        let counts = counts
            .chain([self.discarded_ios, self.errors, self.discarded_ns, self.drain_ns])
            .chain([self.flush_ns.unwrap_or(0), self.cpu_user_ns, self.cpu_system_ns])
            .chain([cpu.user_ns, cpu.system_ns, cpu.steal_ns, cpu.idle_ns, cpu.throttled_ns])
            .chain(self.targets.iter().flat_map(|(ios, bytes)| [*ios, *bytes]))
            .chain(self.exchange.iter().flat_map(Exchange::counts));
        let most = counts.max().unwrap_or(0);
        let sums = [self.in_flight_ns, self.served_ns];
        let (least_ns, limit) = match spec.bound {
            // A fio whose first I/O failed has an empty window; a probe of times reports the sum
            // over all of its streams.
            SliceBound::Time { .. } => {
                (u64::from(self.errors == 0), slice_limit(spec) * MOST_STREAMS)
            }
            SliceBound::Bytes { .. } => (0, Duration::MAX),
        };
        let ios = read.ios.saturating_add(write.ios).saturating_add(trim.ios);
        match () {
            () if most >= MOST_OF_SLICE => Some(format!("a count of {most}")),
            () if sums.iter().any(|sum| *sum >= MOST_OF_SUM) => {
                Some("I/Os that took years".to_owned())
            }
            () if self.window_start_ns >= MOST_OF_CLOCK => Some("a start after decades".to_owned()),
            () if *window_ns < least_ns || u128::from(*window_ns) > limit.as_nanos() => {
                Some(format!("a window of {window_ns} ns"))
            }
            () if ios > window_ns.saturating_add(1).saturating_mul(MOST_IOS_EACH_NS) => {
                Some(format!("{ios} I/Os within {window_ns} ns"))
            }
            () => None,
        }
    }
}

/// Maximum number of parallel streams of a probe, each of which adds its times to the window.
const MOST_STREAMS: u32 = 4096;
/// Upper limit of counts and times of a slice: one PiB, or thirteen days.
const MOST_OF_SLICE: u64 = 1 << 50;
/// Upper limit of a sum of latencies: a million I/Os in flight for more than a minute.
const MOST_OF_SUM: u64 = 1 << 56;
/// Upper limit of a clock that counts from the boot of a machine: 36 years.
const MOST_OF_CLOCK: u64 = 1 << 60;
/// Most I/Os per nanosecond: more than a thousand threads that do no real work can reach.
const MOST_IOS_EACH_NS: u64 = 1000;

impl Response {
    /// Describes a figure of the answer that is impossible; `None` if there is none.
    pub(super) fn fault(&self) -> Option<String> {
        let (most, limit) = match self {
            Response::Clock { monotonic_ns: ns } | Response::ThreadTimes { at_ns: ns, .. } => {
                (*ns, MOST_OF_CLOCK)
            }
            Response::Gate(gate) => (gate.waited_ns, MOST_OF_SLICE),
            Response::Verified { found } => (largest(&json!(found)), MOST_OF_SLICE),
            Response::DurableVerified { found, unreadable } => {
                (largest(&json!([found, unreadable])), MOST_OF_SLICE)
            }
            _ => (0, MOST_OF_SLICE),
        };
        (most >= limit).then(|| format!("a figure of {most}"))
    }
}

/// Returns the largest number anywhere in a JSON value.
fn largest(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::Array(all) => all.iter().map(largest).max().unwrap_or(0),
        Value::Object(all) => all.values().map(largest).max().unwrap_or(0),
        _ => 0,
    }
}

/// Restores the result of a slice from its scalars and its blob.
///
/// # Errors
/// A clause, if the lengths do not match the blob, a histogram does not decode, or a figure is
/// impossible for such a slice.
pub fn unpack(scalars: SliceScalars, blob: &[u8], spec: &SliceSpec) -> Result<Ran, String> {
    if let Some(fault) = scalars.fault(spec) {
        return Err(format!("impossible in a slice: {fault}"));
    }
    let (read, rest) = split(blob, scalars.read_len)?;
    let (write, rest) = split(rest, scalars.write_len)?;
    let (sync, rest) = split(rest, scalars.sync_len)?;
    let (reap_gap, rest) = split(rest, scalars.reap_gap_len)?;
    let (service, rest) = split(rest, scalars.service_len)?;
    let (trim, rest) = split(rest, scalars.trim_len)?;
    if !rest.is_empty() {
        return Err(format!("{} bytes too many after the histograms", rest.len()));
    }
    let result = SliceResult {
        targets: scalars.targets,
        window_start_ns: scalars.window_start_ns,
        window_ns: scalars.window_ns,
        read: direction(scalars.read, read)?,
        write: direction(scalars.write, write)?,
        trim: if trim.is_empty() { Direction::default() } else { direction(scalars.trim, trim)? },
        sync_latency: histogram(sync)?,
        reap_gap: histogram(reap_gap)?,
        service: histogram(service)?,
        in_flight_ns: scalars.in_flight_ns,
        served_ns: scalars.served_ns,
        discarded_ios: scalars.discarded_ios,
        discarded_ns: scalars.discarded_ns,
        drain_ns: scalars.drain_ns,
        flush_ns: scalars.flush_ns,
        cpu_user_ns: scalars.cpu_user_ns,
        cpu_system_ns: scalars.cpu_system_ns,
        errors: scalars.errors,
        first_error: scalars.first_error,
    };
    Ok(Ran { result, cpu: scalars.cpu, exchange: scalars.exchange, devices: scalars.devices })
}

fn split(blob: &[u8], len: u32) -> Result<(&[u8], &[u8]), String> {
    blob.split_at_checked(len as usize)
        .ok_or_else(|| "a histogram is longer than the blob".to_owned())
}

fn direction(count: Count, encoded: &[u8]) -> Result<Direction, String> {
    Ok(Direction { ios: count.ios, bytes: count.bytes, latency: histogram(encoded)? })
}

fn histogram(encoded: &[u8]) -> Result<Histogram, String> {
    Histogram::decode(encoded).map_err(|error| format!("a histogram does not decode: {error}"))
}

/// Message with its number. The body is parsed separately, so that an unknown one can be answered.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope<'a> {
    /// Number of the message, counted from 1. The answer has the same.
    pub id: u64,
    #[serde(borrow)]
    pub body: &'a RawValue,
}

/// Returns the JSON of an envelope with this number and body.
///
/// # Errors
/// When the body has no JSON form (a path that is not UTF-8).
pub fn enclose(id: u64, body: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let body = serde_json::value::to_raw_value(body)?;
    serde_json::to_vec(&Envelope { id, body: &body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_facts::slice::DeviceCounts;
    use proptest::prelude::*;

    /// The bound of a slice whose window may have any length.
    const BYTES: SliceBound = SliceBound::Bytes { bytes: 4096 };

    fn of(bound: SliceBound) -> SliceSpec {
        SliceSpec::starting_now(bound, 0, false)
    }

    fn some_result() -> Ran {
        let mut result =
            SliceResult { window_ns: 7, flush_ns: Some(0), errors: 2, ..SliceResult::default() };
        result.first_error = Some("Input/output error".into());
        for ns in [1, 90_000, u64::MAX] {
            result.read.latency.record(ns);
            result.sync_latency.record(ns / 2);
            result.reap_gap.record(ns / 3);
            result.service.record(ns / 4);
        }
        result.read.ios = 3;
        (result.in_flight_ns, result.served_ns) = (12, 11);
        let exchange = Some(Exchange { mss: 1448, ..Exchange::default() });
        let device = DeviceCounts {
            device: "vda".into(),
            lowest: true,
            reads: 9,
            ..DeviceCounts::default()
        };
        let devices = [7, 8].map(|at_ns| DeviceReading { at_ns, devices: vec![device.clone()] });
        Ran { result, cpu: Some(CpuTimes { user_ns: 5, ..CpuTimes::default() }), exchange, devices }
    }

    #[test]
    fn a_result_crosses_whole() {
        let (scalars, blob) = pack(&some_result());
        let json = serde_json::to_string(&Response::Slice(scalars)).unwrap();
        let Response::Slice(scalars) = serde_json::from_str(&json).unwrap() else {
            panic!("another response")
        };
        assert_eq!(unpack(scalars, &blob, &of(BYTES)).unwrap(), some_result());
    }

    #[test]
    fn trims_cross_where_there_are_some() {
        let mut ran = some_result();
        assert!(!serde_json::to_string(&pack(&ran).0).unwrap().contains("trim"));
        (ran.result.trim.ios, ran.result.trim.bytes) = (1, 4096);
        ran.result.trim.latency.record(77);
        let (scalars, blob) = pack(&ran);
        assert_eq!(unpack(scalars, &blob, &of(BYTES)).unwrap(), ran);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let (scalars, blob) = pack(&some_result());
        let longer = SliceScalars { sync_len: scalars.sync_len + 1, ..scalars.clone() };
        assert!(unpack(longer, &blob, &of(BYTES)).unwrap_err().contains("longer than the blob"));
        let mut padded = blob.clone();
        padded.push(0);
        assert!(unpack(scalars, &padded, &of(BYTES)).unwrap_err().contains("too many"));
    }

    #[test]
    fn figures_that_no_slice_has_are_refused() {
        let told = |change: &dyn Fn(&mut SliceScalars), bound| {
            let (mut scalars, blob) = pack(&some_result());
            (scalars.window_ns, scalars.read) = (100_000_000, Count { ios: 3, bytes: 12288 });
            change(&mut scalars);
            unpack(scalars, &blob, &of(bound)).map(drop)
        };
        let time = SliceBound::Time { ns: 100_000_000 };
        assert_eq!(told(&|_| {}, time), Ok(()));
        type Lie = (&'static str, fn(&mut SliceScalars));
        let lies: [Lie; 13] = [
            ("a count of 18446744073709551615", |lie| lie.read.ios = u64::MAX),
            ("a count of 1125899906842624", |lie| lie.write.bytes = 1 << 50),
            ("a count of 1125899906842624", |lie| lie.targets = vec![(1, 1), (1 << 50, 1)]),
            ("a count of 18446744073709551615", |lie| lie.discarded_ns = u64::MAX),
            ("a count of 18446744073709551615", |lie| lie.flush_ns = Some(u64::MAX)),
            ("a count of 18446744073709551615", |lie| {
                lie.cpu = Some(CpuTimes { idle_ns: u64::MAX, ..CpuTimes::default() });
            }),
            ("a count of 18446744073709551615", |lie| {
                let to_peer =
                    Some(iotax_probe::ExchangeDirection { lost: u64::MAX, ..Default::default() });
                lie.exchange = Some(Exchange { to_peer, ..Exchange::default() });
            }),
            ("a start after decades", |lie| lie.window_start_ns = u64::MAX),
            ("I/Os that took years", |lie| lie.in_flight_ns = u64::MAX),
            ("a window of 0 ns", |lie| (lie.window_ns, lie.errors) = (0, 0)),
            ("a window of 600000000000000 ns", |lie| lie.window_ns = 600_000_000_000_000),
            ("a window of 18446744073709551615 ns", |lie| lie.window_ns = u64::MAX),
            ("1000000000000 I/Os within 100000000 ns", |lie| lie.read.ios = 1_000_000_000_000),
        ];
        for (why, lie) in lies {
            assert_eq!(told(&lie, time), Err(format!("impossible in a slice: {why}")));
        }
        assert_eq!(told(&|scalars| (scalars.window_ns, scalars.read.ios) = (0, 9), BYTES), Ok(()));
        // A fio whose first I/O failed, and a probe that adds up the times of 64 streams.
        assert_eq!(told(&|scalars| (scalars.window_ns, scalars.errors) = (0, 1), time), Ok(()));
        assert_eq!(told(&|scalars| scalars.window_ns = 64 * 30_000_000_000, time), Ok(()));
    }

    #[test]
    fn other_answers_have_no_absurd_figures_either() {
        let verified = |blocks| {
            let back = iotax_load::verify::VerifiedBlocks { blocks, ..Default::default() };
            Response::Verified { found: VerifiedWorker { back, ..VerifiedWorker::default() } }
        };
        let durable = |lost| Response::DurableVerified {
            found: ReadBack { lost, ..ReadBack::default() },
            unreadable: vec![1],
        };
        let gate =
            |waited_ns| Response::Gate(QuiesceGate { waited_ns, ..QuiesceGate::NOTHING_OWED });
        let clock = |monotonic_ns| Response::Clock { monotonic_ns };
        for answer in [verified(u64::MAX), durable(1 << 50), gate(u64::MAX), clock(1 << 63)] {
            assert!(
                answer.fault().is_some_and(|fault| fault.starts_with("a figure of ")),
                "{answer:?}"
            );
        }
        for answer in [verified(9), durable(9), gate(9), clock(1 << 59), Response::Ended] {
            assert_eq!(answer.fault(), None);
        }
    }

    proptest! {
        #[test]
        fn whatever_an_agent_counts_adds_up(figures in proptest::collection::vec(any::<u64>(), 20)) {
            let at = |at: usize| figures[at] >> (figures[(at + 1) % 20] % 64);
            let count = |from: usize| Count { ios: at(from), bytes: at(from + 1) };
            let scalars = SliceScalars {
                read: count(0), write: count(2), trim: count(4), window_ns: at(6), window_start_ns: at(7),
                discarded_ios: at(8), discarded_ns: at(9), drain_ns: at(10), flush_ns: Some(at(11)),
                cpu_user_ns: at(12), cpu_system_ns: at(13), errors: at(14), in_flight_ns: at(15), served_ns: at(16),
                targets: vec![(at(17), at(18))], ..pack(&some_result()).0
            };
            if let Ok(ran) = unpack(scalars, &pack(&some_result()).1, &of(SliceBound::Time { ns: at(19) % 60_000_000_000 })) {
                let mut all = SliceResult::default();
                // The maximum number of places of one stack.
                (0..64).for_each(|_| all.add(&ran.result));
                let SliceResult { window_start_ns, window_ns, drain_ns, discarded_ns, .. } = ran.result;
                prop_assert!(window_start_ns + window_ns + drain_ns + discarded_ns < 1 << 62);
            }
        }

        #[test]
        fn arbitrary_blobs_never_panic(blob in proptest::collection::vec(any::<u8>(), 0..200), a in 0u32..100, b in 0u32..100) {
            let scalars = SliceScalars { read_len: a, write_len: b, sync_len: (blob.len() as u32).saturating_sub(a + b), ..SliceScalars::default() };
            let _ = unpack(scalars, &blob, &of(BYTES));
        }
    }
}
