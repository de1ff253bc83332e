//! The installed fio as an engine: one fio run a slice, its JSON+ read into our histograms. Several targets are
//! a section each for every job: `filename=a:b` would spread one job's I/Os over them.
//!
//! What is known less well than with our own engine: fio gives its window in whole milliseconds (hence
//! `shortest_slice_ns`); it does not tell completions outside the window or the time to drain (0 in the
//! result, docs/result-format.md); its count of I/Os and of latencies may differ by what was in flight when its
//! ramp ended; its buckets are 1/64 of their value wide and named by their middle, so a
//! latency is off by at most 1/128, and our bucket adds at most 1/128: together under 1.6 %. fio's last bucket
//! ends at 17.2 s. Refuses jobs that fio would answer by making or growing a file, and held-back completions.
//!
//! A killed iotax leaves nothing of it: fio dies with us, its job comes on standard input from memory, its
//! report on standard output.

use super::{EngineError, Kind, LoadEngine};
use crate::host::Missing;
use crate::measure::wire::agent::monotonic_ns;
use crate::measure::wire::peer::slice_limit;
use crate::scenario::Engine;
use iotax_load::{Bound, Direction, Histogram, Job, SliceResult, SliceSpec, TargetSpec};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(super) static KIND: Kind = Kind {
    needs: &["fio"],
    // It knows its window to a millisecond and takes 0.3 s to start.
    shortest_slice_ns: 1_000_000_000,
    answers: |engine| matches!(engine, Some(Engine::Fio)),
    prepare: |targets, jobs, _| Ok(Box::new(Fio::prepare(targets, jobs)?)),
};

/// fio starts in a third of a second; a trial that takes longer than this hangs.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);
/// fio is ended so long before the host gives the place up, so that no fio writes on behind a failed run.
const BEFORE_HOST: Duration = Duration::from_secs(20);

/// Targets and their jobs.
pub struct Fio {
    version: String,
    why: String,
    ioengine: &'static str,
    members: Vec<Member>,
    slices: u64,
}

/// A target, and the jobs as they fit it.
struct Member {
    target: TargetSpec,
    /// As written into the job file.
    filename: Filename,
    jobs: Vec<Job>,
}

impl Fio {
    /// Checks fio, the targets and the jobs; a trial read of each shows whether fio can use io_uring here.
    ///
    /// # Errors
    /// [`EngineError::Missing`] without fio, [`EngineError::Unfit`] without a target or for jobs that do not fit.
    pub fn prepare(targets: &[TargetSpec], jobs: &[Job]) -> Result<Fio, EngineError> {
        let version = version()?;
        if targets.is_empty() {
            return Err(EngineError::Unfit("no target to run on".into()));
        }
        let members = targets.iter().map(|target| Member::of(target, jobs)).collect::<Result<_, _>>()?;
        let mut fio = Fio { version, why: String::new(), ioengine: "psync", members, slices: 0 };
        (fio.ioengine, fio.why) = fio.choose_ioengine()?;
        Ok(fio)
    }

    /// The job file of the next slice.
    pub fn job_file(&self, spec: &SliceSpec) -> String {
        let mut text = String::from("[global]\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
        line("ioengine", &self.ioengine);
        // fio must never make or grow a file: only what the guard has seen is touched.
        line("allow_file_create", &0);
        line("thread", &1);
        line("disk_util", &0);
        line("lat_percentiles", &1);
        line("clat_percentiles", &0);
        line("continue_on_error", &"all");
        if let Bound::Time { ns } = spec.bound {
            line("time_based", &1);
            line("runtime", &format_args!("{}ms", ns.div_ceil(1_000_000)));
            line("ramp_time", &format_args!("{}ms", spec.min_discard_ns.div_ceil(1_000_000)));
        }
        for (number, (member, job)) in self.jobs().enumerate() {
            text += &self.section(number, member, job, spec);
        }
        text
    }

    /// Every job of every member.
    fn jobs(&self) -> impl Iterator<Item = (&Member, &Job)> {
        self.members.iter().flat_map(|member| member.jobs.iter().map(move |job| (member, job)))
    }

    fn section(&self, number: usize, member: &Member, job: &Job, spec: &SliceSpec) -> String {
        let mut text = format!("[job{number}]\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
        line("filename", &member.filename.text);
        line("rw", &job.rw.word());
        line("rwmixread", &job.rwmixread);
        line("bs", &job.bs);
        line("iodepth", &job.iodepth);
        line("numjobs", &job.numjobs);
        line("offset", &job.offset);
        line("size", &job.size.unwrap_or_default());
        line("direct", &u8::from(job.direct));
        line("fsync", &job.fsync);
        line("fdatasync", &job.fdatasync);
        // A map of blocks done would be lost at the end of each slice anyway.
        line("norandommap", &1);
        if job.rw.random() != (job.percentage_random == 100) || !matches!(job.percentage_random, 0 | 100) {
            line("percentage_random", &job.percentage_random);
        }
        // fio starts anew each slice: with one seed it would read the same blocks each time.
        let seed = job.randseed.wrapping_add(self.slices.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // fio parses it as a signed number.
        line("randseed", &(seed >> 1));
        if job.buffer_compress_percentage > 0 {
            line("buffer_compress_percentage", &job.buffer_compress_percentage);
        } else {
            line("refill_buffers", &1);
        }
        if let Some(rate) = job.rate_iops {
            line("rate_iops", &rate);
        }
        if let Bound::Bytes { bytes } = spec.bound {
            line("io_size", &self.share_of(bytes, job));
        }
        text
    }

    /// Each thread's share of a byte-bound slice, in whole blocks; the same on every member.
    fn share_of(&self, bytes: u64, job: &Job) -> u64 {
        let threads: u64 = self.jobs().map(|(_, job)| u64::from(job.numjobs)).sum();
        bytes.div_ceil(threads).div_ceil(job.bs).max(1) * job.bs
    }

    fn choose_ioengine(&self) -> Result<(&'static str, String), EngineError> {
        if self.jobs().all(|(_, job)| job.iodepth == 1) {
            return Ok(("psync", "named by the user; fio's psync at depth 1".into()));
        }
        let on_all = |ioengine| self.members.iter().try_for_each(|member| self.trial(ioengine, member));
        match on_all("io_uring") {
            Ok(()) => Ok(("io_uring", "named by the user; fio's io_uring works here".into())),
            Err(_) => {
                on_all("libaio")?;
                Ok(("libaio", "named by the user; fio's libaio, as its io_uring does not work here".into()))
            }
        }
    }

    /// One read of one block, with fio's own protection against writing.
    fn trial(&self, ioengine: &str, member: &Member) -> Result<(), EngineError> {
        let (bs, direct) = member.jobs.first().map_or((4096, true), |job| (job.bs, job.direct));
        let text = format!(
            "[trial]\nioengine={ioengine}\nfilename={}\nallow_file_create=0\nthread=1\nrw=read\nbs={bs}\nsize={bs}\ndirect={}\n",
            member.filename.text,
            u8::from(direct)
        );
        self.run(&text, true, TRIAL_LIMIT).map(|_| ())
    }

    fn run(&self, job_file: &str, readonly: bool, limit: Duration) -> Result<Report, EngineError> {
        let words = command_line(readonly);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/");
        command.stdin(in_memory(job_file)?).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own group: Ctrl-C is for iotax, which ends the slice in order.
        let child = iotax_sys::child::ends_with_us(command.process_group(0))
            .spawn()
            .map_err(|source| system("start", Path::new("fio"), source))?;
        let output = wait_within(child, limit)?;
        match parse(&String::from_utf8_lossy(&output.stdout)) {
            Ok(report) if output.status.success() || report.jobs.iter().any(|job| job.total_err > 0) => {
                Ok(report)
            }
            Ok(_) => Err(fio_failed(&output)),
            Err(_) if !output.status.success() => Err(fio_failed(&output)),
            Err(cause) => Err(EngineError::Output(cause)),
        }
    }

    /// All members at once, until the last is flushed.
    fn flush(&self) -> Result<u64, EngineError> {
        let files = self.members.iter().map(Member::open_to_flush).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let flushed: Vec<_> = std::thread::scope(|scope| {
            let flushes: Vec<_> = files.iter().map(|file| scope.spawn(|| file.sync_all())).collect();
            let ended = |flush: std::thread::ScopedJoinHandle<_>| {
                flush.join().unwrap_or_else(|_| Err(std::io::Error::other("its thread stopped")))
            };
            flushes.into_iter().map(ended).collect()
        });
        let took_ns = start.elapsed().as_nanos() as u64;
        for (member, flushed) in self.members.iter().zip(flushed) {
            flushed.map_err(|source| system("fsync", &member.target.path, source))?;
        }
        Ok(took_ns)
    }
}

impl Member {
    fn of(target: &TargetSpec, jobs: &[Job]) -> Result<Member, EngineError> {
        let jobs = fitted(target, jobs)?;
        Ok(Member { target: target.clone(), filename: Filename::of(&target.path)?, jobs })
    }

    fn open_to_flush(&self) -> Result<File, EngineError> {
        let path = &self.target.path;
        File::options().write(true).open(path).map_err(|source| system("open", path, source))
    }
}

impl LoadEngine for Fio {
    fn name(&self) -> String {
        self.version.clone()
    }

    fn why(&self) -> String {
        self.why.clone()
    }

    fn command(&self) -> Option<Vec<String>> {
        let mut words = command_line(!self.members.iter().any(|member| member.target.writable));
        // The job comes on standard input: its text is part of the command.
        let spec = SliceSpec {
            bound: Bound::Time { ns: 1_000_000_000 },
            min_discard_ns: 0,
            flush: false,
            begin_ns: None,
        };
        words.push(format!("# standard input of a 1 s slice:\n{}", self.job_file(&spec)));
        Some(words)
    }

    /// fio's millisecond is 0.1 % of a second.
    fn slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        self.slices += 1;
        let limit = limit_of(spec);
        let writes = self.jobs().any(|(_, job)| job.rw.writes());
        let report = self.run(&self.job_file(spec), !writes, limit)?;
        let mut result = convert(&report)?;
        if matches!(spec.bound, Bound::Time { .. }) {
            result.discarded_ns = spec.min_discard_ns.div_ceil(1_000_000) * 1_000_000;
        }
        // fio's own end_fsync would lie inside its runtime. This one starts after fio has ended: what
        // the kernel wrote back in between (tens of milliseconds) is missing from it.
        if spec.flush || self.jobs().any(|(_, job)| job.end_fsync) {
            result.flush_ns = Some(self.flush()?);
        }
        Ok(result)
    }
}

/// How long the fio of a slice may run: its start, its end and a device that drains slowly are in it.
fn limit_of(spec: &SliceSpec) -> Duration {
    slice_limit(spec.bound).saturating_sub(BEFORE_HOST)
}

/// The job comes on standard input, the report on standard output.
fn command_line(readonly: bool) -> Vec<String> {
    let protection = readonly.then_some("--readonly");
    ["fio", "--output-format=json+"].into_iter().chain(protection).chain(["-"]).map(str::to_owned).collect()
}

/// A text as a file without a name, which goes with its last reader.
fn in_memory(text: &str) -> Result<File, EngineError> {
    let made = rustix::fs::memfd_create("iotax-fio", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    let written = made.map_err(std::io::Error::from).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    written.map_err(|source| EngineError::System { action: "hold a job file in memory".into(), source })
}

/// `fio 3.33`, or what is missing.
fn version() -> Result<String, EngineError> {
    let output = match Command::new("fio").arg("--version").stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(EngineError::Missing(missing()));
        }
        Err(source) => return Err(system("start", Path::new("fio"), source)),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.trim().strip_prefix("fio-").filter(|_| output.status.success());
    number.map(|number| format!("fio {number}")).ok_or_else(|| fio_failed(&output))
}

/// The need that the engine `fio` has.
pub fn missing() -> Missing {
    Missing {
        what: "fio".into(),
        why: "to run jobs with the engine fio".into(),
        command: "apt-get install fio".into(),
        reboot: false,
    }
}

/// Jobs with their region made explicit, as fio would otherwise use or grow what it finds.
fn fitted(target: &TargetSpec, jobs: &[Job]) -> Result<Vec<Job>, EngineError> {
    if !target.hold.is_none() {
        return Err(EngineError::Unfit(
            "fio cannot hold completions back; hint: use the engine sync or uring under the layer delay"
                .into(),
        ));
    }
    if jobs.is_empty() {
        return Err(EngineError::Unfit("no job to run".into()));
    }
    let there = target_bytes(&target.path)?;
    let usable = target.bytes.unwrap_or(there).min(there);
    jobs.iter().map(|job| fitted_job(target, job, usable)).collect()
}

fn fitted_job(target: &TargetSpec, job: &Job, usable: u64) -> Result<Job, EngineError> {
    let (path, name) = (target.path.display(), &job.name);
    if job.rw.writes() && !target.writable {
        return Err(EngineError::Unfit(format!(
            "job \"{name}\" writes, and writing to {path} was not permitted"
        )));
    }
    if job.bs == 0 || job.iodepth == 0 || job.numjobs == 0 {
        return Err(EngineError::Unfit(format!(
            "job \"{name}\": bs, iodepth and numjobs must be at least 1"
        )));
    }
    let rest = usable.saturating_sub(job.offset);
    let size = job.size.unwrap_or(rest) / job.bs * job.bs;
    if size == 0 || size > rest {
        let wanted = job.size.unwrap_or(job.bs);
        return Err(EngineError::Unfit(format!(
            "job \"{name}\" wants {wanted} bytes from offset {}, but {path} has {usable} bytes",
            job.offset
        )));
    }
    Ok(Job { size: Some(size), ..job.clone() })
}

fn target_bytes(path: &Path) -> Result<u64, EngineError> {
    // The end of a block device is found by seeking; its metadata say 0.
    let mut file = File::open(path)
        .map_err(|source| EngineError::Unfit(format!("cannot open {}: {source}", path.display())))?;
    file.seek(SeekFrom::End(0)).map_err(|source| system("measure", path, source))
}

/// The target as fio is told it.
struct Filename {
    text: String,
    /// Keeps a name that leads through our own descriptors valid.
    _held: Option<File>,
}

impl Filename {
    /// fio splits names at ':' and expands '$': such a path is reached through a descriptor of ours.
    fn of(path: &Path) -> Result<Filename, EngineError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@=".contains(c);
        let as_it_is = path.to_str().filter(|text| text.starts_with('/') && text.chars().all(plain));
        if let Some(text) = as_it_is {
            return Ok(Filename { text: text.to_owned(), _held: None });
        }
        let file = File::open(path).map_err(|source| system("open", path, source))?;
        let text = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        Ok(Filename { text, _held: Some(file) })
    }
}

fn system(action: &str, path: &Path, source: std::io::Error) -> EngineError {
    EngineError::System { action: format!("{action} {}", path.display()), source }
}

/// Waits for fio and kills it at the limit. Threads drain its output meanwhile: a report is larger than a
/// pipe's buffer.
fn wait_within(mut child: Child, limit: Duration) -> Result<Output, EngineError> {
    let readers = (child.stdout.take().map(drain), child.stderr.take().map(drain));
    let deadline = Instant::now() + limit;
    let status = loop {
        let waited = child.try_wait().map_err(|source| system("wait for", Path::new("fio"), source))?;
        match waited {
            Some(status) => break status,
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            None => {
                // Both fail only if it has just ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                return Err(EngineError::Fio {
                    status: format!("killed after {limit:?}"),
                    words: "it did not end in time".into(),
                });
            }
        }
    };
    let [stdout, stderr] =
        [readers.0, readers.1].map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

fn drain(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is all there is to show.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn fio_failed(output: &Output) -> EngineError {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let outside_json = stdout.split('{').next().unwrap_or_default();
    let all = [&stderr, outside_json].concat();
    let lines: Vec<&str> = all.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines[lines.len().saturating_sub(5)..].join("; ");
    let words = if words.is_empty() { "it said nothing".into() } else { words };
    EngineError::Fio { status: output.status.to_string(), words }
}

/// What is read of fio's JSON+ (fio 3.x: all latencies in nanoseconds).
#[derive(Debug, Deserialize)]
struct Report {
    /// Wall clock when the report was made, milliseconds.
    timestamp_ms: u64,
    jobs: Vec<JobReport>,
}

#[derive(Debug, Deserialize)]
struct JobReport {
    read: SideReport,
    write: SideReport,
    sync: SyncReport,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    #[serde(default)]
    total_err: u64,
    #[serde(default)]
    first_error: i32,
}

#[derive(Debug, Deserialize)]
struct SideReport {
    io_bytes: u64,
    total_ios: u64,
    runtime: u64,
    lat_ns: Latency,
}

#[derive(Debug, Deserialize)]
struct SyncReport {
    lat_ns: Latency,
}

#[derive(Debug, Deserialize)]
struct Latency {
    /// Middle of a bucket to its count.
    #[serde(default)]
    bins: BTreeMap<String, u64>,
}

fn parse(text: &str) -> Result<Report, String> {
    // fio writes warnings in front of the object, into the same file.
    let json = text.find('{').map_or("", |at| &text[at..]);
    let mut stream = serde_json::Deserializer::from_str(json).into_iter();
    let report: Report = stream.next().ok_or("it is empty")?.map_err(|error| error.to_string())?;
    if report.jobs.is_empty() { Err("it has no jobs".into()) } else { Ok(report) }
}

fn convert(report: &Report) -> Result<SliceResult, EngineError> {
    let mut result = SliceResult::default();
    for job in &report.jobs {
        add_direction(&mut result.read, &job.read)?;
        add_direction(&mut result.write, &job.write)?;
        add_bins(&mut result.sync_latency, &job.sync.lat_ns)?;
        // Percent of the thread's runtime in milliseconds.
        result.cpu_user_ns += (job.usr_cpu * job.job_runtime as f64 * 1e4) as u64;
        result.cpu_system_ns += (job.sys_cpu * job.job_runtime as f64 * 1e4) as u64;
        result.window_ns = result.window_ns.max(job.read.runtime.max(job.write.runtime) * 1_000_000);
        result.errors += job.total_err;
        if job.first_error != 0 && result.first_error.is_none() {
            let error = std::io::Error::from_raw_os_error(job.first_error.abs());
            result.first_error = Some(error.to_string());
        }
    }
    if result.window_ns == 0 && result.errors == 0 {
        return Err(EngineError::Output(
            "it completed nothing in a window of 0 ms; hint: a longer slice".into(),
        ));
    }
    result.window_start_ns = monotonic_at(report.timestamp_ms).saturating_sub(result.window_ns);
    Ok(result)
}

/// fio's report bears the wall clock of its own end, a few milliseconds after the window's.
fn monotonic_at(wall_ms: u64) -> u64 {
    let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let wall_ns = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
    let ago = wall_ns.saturating_sub(wall_ms.saturating_mul(1_000_000));
    monotonic_ns().saturating_sub(ago)
}

fn add_direction(sum: &mut Direction, side: &SideReport) -> Result<(), EngineError> {
    sum.ios += side.total_ios;
    sum.bytes += side.io_bytes;
    add_bins(&mut sum.latency, &side.lat_ns)
}

fn add_bins(histogram: &mut Histogram, latency: &Latency) -> Result<(), EngineError> {
    for (middle, count) in &latency.bins {
        let ns: u64 =
            middle.parse().map_err(|_| EngineError::Output(format!("bin \"{middle}\" is no number")))?;
        for _ in 0..*count {
            histogram.record(ns);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;
