//! The installed fio as an engine: one fio run a slice, its JSON+ read into our histograms.
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
    prepare: |target, jobs, _| Ok(Box::new(Fio::prepare(target, jobs)?)),
};

/// fio starts in a third of a second; a trial that takes longer than this hangs.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);
/// fio is ended so long before the host gives the place up, so that no fio writes on behind a failed run.
const BEFORE_HOST: Duration = Duration::from_secs(20);

/// A target and jobs.
pub struct Fio {
    version: String,
    why: String,
    ioengine: &'static str,
    target: TargetSpec,
    /// As written into the job file.
    filename: Filename,
    jobs: Vec<Job>,
    slices: u64,
}

impl Fio {
    /// Checks fio, the target and the jobs; a trial read shows whether fio can use io_uring here.
    ///
    /// # Errors
    /// [`EngineError::Missing`] without fio, [`EngineError::Unfit`] for jobs that do not fit.
    pub fn prepare(target: &TargetSpec, jobs: &[Job]) -> Result<Fio, EngineError> {
        let version = version()?;
        let jobs = fitted(target, jobs)?;
        let filename = Filename::of(&target.path)?;
        let mut fio = Fio {
            version,
            why: String::new(),
            ioengine: "psync",
            target: target.clone(),
            filename,
            jobs,
            slices: 0,
        };
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
        line("filename", &self.filename.text);
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
        for (number, job) in self.jobs.iter().enumerate() {
            text += &self.section(number, job, spec);
        }
        text
    }

    fn section(&self, number: usize, job: &Job, spec: &SliceSpec) -> String {
        let mut text = format!("[job{number}]\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
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

    /// Each thread's share of a byte-bound slice, in whole blocks.
    fn share_of(&self, bytes: u64, job: &Job) -> u64 {
        let threads: u64 = self.jobs.iter().map(|job| u64::from(job.numjobs)).sum();
        bytes.div_ceil(threads).div_ceil(job.bs).max(1) * job.bs
    }

    fn choose_ioengine(&self) -> Result<(&'static str, String), EngineError> {
        if self.jobs.iter().all(|job| job.iodepth == 1) {
            return Ok(("psync", "named by the user; fio's psync at depth 1".into()));
        }
        match self.trial("io_uring") {
            Ok(()) => Ok(("io_uring", "named by the user; fio's io_uring works here".into())),
            Err(_) => {
                self.trial("libaio")?;
                Ok(("libaio", "named by the user; fio's libaio, as its io_uring does not work here".into()))
            }
        }
    }

    /// One read of one block, with fio's own protection against writing.
    fn trial(&self, ioengine: &str) -> Result<(), EngineError> {
        let (bs, direct) = self.jobs.first().map_or((4096, true), |job| (job.bs, job.direct));
        let text = format!(
            "[trial]\nioengine={ioengine}\nfilename={}\nallow_file_create=0\nthread=1\nrw=read\nbs={bs}\nsize={bs}\ndirect={}\n",
            self.filename.text,
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

    fn flush(&self) -> Result<u64, EngineError> {
        let path = &self.target.path;
        let file = File::options().write(true).open(path).map_err(|source| system("open", path, source))?;
        let start = Instant::now();
        file.sync_all().map_err(|source| system("fsync", path, source))?;
        Ok(start.elapsed().as_nanos() as u64)
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
        let mut words = command_line(!self.target.writable);
        // The job comes on standard input: its text is part of the command.
        let spec = SliceSpec { bound: Bound::Time { ns: 1_000_000_000 }, min_discard_ns: 0, flush: false };
        words.push(format!("# standard input of a 1 s slice:\n{}", self.job_file(&spec)));
        Some(words)
    }

    /// fio's millisecond is 0.1 % of a second.
    fn slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        self.slices += 1;
        let limit = limit_of(spec);
        let writes = self.jobs.iter().any(|job| job.rw.writes());
        let report = self.run(&self.job_file(spec), !writes, limit)?;
        let mut result = convert(&report)?;
        if matches!(spec.bound, Bound::Time { .. }) {
            result.discarded_ns = spec.min_discard_ns.div_ceil(1_000_000) * 1_000_000;
        }
        // fio's own end_fsync would lie inside its runtime. This one starts after fio has ended: what
        // the kernel wrote back in between (tens of milliseconds) is missing from it.
        if spec.flush || self.jobs.iter().any(|job| job.end_fsync) {
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
mod tests {
    use super::*;
    use iotax_load::{Hold, Rw};
    use std::path::PathBuf;

    fn target(path: &Path, writable: bool) -> TargetSpec {
        TargetSpec { path: path.to_owned(), bytes: None, writable, hold: Hold::default() }
    }

    fn file_of(bytes: usize, name: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, vec![0xA5; bytes]).unwrap();
        (dir, path)
    }

    fn without_fio() -> bool {
        if version().is_err() {
            println!("skipped: needs fio");
        }
        version().is_err()
    }

    fn time(ms: u64) -> SliceSpec {
        SliceSpec { bound: Bound::Time { ns: ms * 1_000_000 }, min_discard_ns: 30_000_000, flush: false }
    }

    #[test]
    fn the_real_fio_reads_a_slice() {
        if without_fio() {
            return;
        }
        let (_dir, path) = file_of(4 << 20, "with space:and$dollar");
        let jobs = [Job::default(), Job { iodepth: 8, numjobs: 2, bs: 16384, ..Job::default() }];
        let mut fio = Fio::prepare(&target(&path, false), &jobs).unwrap();
        assert!(fio.name().starts_with("fio 3."), "{}", fio.name());
        let result = fio.slice(&time(200)).unwrap();
        assert!((200_000_000..400_000_000).contains(&result.window_ns), "{}", result.window_ns);
        assert!(result.read.ios > 100 && result.read.bytes > result.read.ios * 4096, "{result:?}");
        // fio counts what is in flight when its ramp ends on one side only: 1 + 8 * 2 at most.
        assert!(result.read.latency.count().abs_diff(result.read.ios) <= 17, "{result:?}");
        assert_eq!((result.write.ios, result.errors, result.flush_ns), (0, 0, None));
        assert!(result.cpu_system_ns > 0 && result.discarded_ns == 30_000_000);
        let end = result.window_start_ns + result.window_ns;
        assert!(end <= monotonic_ns() && monotonic_ns() - end < 20_000_000_000);
        let words = fio.command().unwrap();
        assert!(words.iter().any(|word| word == "--readonly"), "{words:?}");
        assert_eq!(std::fs::read(&path).unwrap(), vec![0xA5; 4 << 20], "a reading job changed the file");
    }

    #[test]
    fn the_real_fio_writes_within_its_region_and_flushes() {
        if without_fio() {
            return;
        }
        // A name that fio would split: it writes through a descriptor of ours.
        let (_dir, path) = file_of(3 << 20, "x:y");
        let bounded = TargetSpec { bytes: Some(2 << 20), ..target(&path, true) };
        let job = Job {
            rw: Rw::RandWrite,
            iodepth: 4,
            numjobs: 2,
            offset: 1 << 20,
            fdatasync: 16,
            ..Job::default()
        };
        let mut fio = Fio::prepare(&bounded, &[job]).unwrap();
        let spec = SliceSpec { bound: Bound::Bytes { bytes: 2 << 20 }, min_discard_ns: 0, flush: true };
        let result = fio.slice(&spec).unwrap();
        assert_eq!((result.write.bytes, result.write.latency.count()), (2 << 20, 512));
        assert!(result.sync_latency.count() >= 16, "{}", result.sync_latency.count());
        assert!(result.flush_ns.is_some());
        let after = std::fs::read(&path).unwrap();
        assert_eq!(after.len(), 3 << 20);
        let touched = |range: std::ops::Range<usize>| after[range].iter().any(|byte| *byte != 0xA5);
        assert!(!touched(0..1 << 20) && touched(1 << 20..2 << 20) && !touched(2 << 20..3 << 20));
    }

    #[test]
    fn slices_draw_different_offsets() {
        if without_fio() {
            return;
        }
        let (_dir, path) = file_of(1 << 20, "x");
        let mut fio = Fio::prepare(&target(&path, false), &[Job::default()]).unwrap();
        let first = fio.job_file(&time(50));
        fio.slice(&time(50)).unwrap();
        assert_ne!(first, fio.job_file(&time(50)));
    }

    #[test]
    fn fio_words_come_through_when_it_fails() {
        if without_fio() {
            return;
        }
        let (_dir, path) = file_of(1 << 20, "x");
        let mut fio = Fio::prepare(&target(&path, false), &[Job::default()]).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = fio.slice(&time(50)).unwrap_err();
        assert!(
            matches!(&error, EngineError::Fio { words, .. } if words.contains("No such file")),
            "{error}"
        );
        assert!(!path.exists(), "fio made the file");
    }

    #[test]
    fn fio_is_ended_before_the_host_gives_up() {
        let bytes = SliceSpec { bound: Bound::Bytes { bytes: 1 << 30 }, ..time(0) };
        for spec in [time(1_000), time(60_000), bytes] {
            let (limit, host) = (limit_of(&spec), slice_limit(spec.bound));
            assert!(limit < host && limit > Duration::from_secs(60), "{spec:?}: {limit:?} of {host:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_before_fio_runs() {
        let (_dir, path) = file_of(1 << 20, "x");
        let refused = |job: Job, target: &TargetSpec| {
            let error = fitted(target, &[job]).unwrap_err();
            assert_eq!(error.code(), crate::exit::BAD_INPUT);
            error.to_string()
        };
        let plain = target(&path, false);
        assert!(
            refused(Job { size: Some(2 << 20), ..Job::default() }, &plain).contains("wants 2097152 bytes")
        );
        assert!(refused(Job { offset: 1 << 20, ..Job::default() }, &plain).contains("has 1048576 bytes"));
        assert!(refused(Job { rw: Rw::RandRw, ..Job::default() }, &plain).contains("not permitted"));
        assert!(refused(Job { bs: 0, ..Job::default() }, &plain).contains("at least 1"));
        let held = TargetSpec { hold: Hold { ns: 5, share_ppm: 0 }, ..plain };
        assert!(refused(Job::default(), &held).contains("cannot hold"));
        assert!(
            refused(Job::default(), &target(Path::new("/nonexistent/x"), false))
                .contains("cannot open /nonexistent/x")
        );
    }

    #[test]
    fn its_absence_names_the_command() {
        let error = EngineError::Missing(missing());
        assert_eq!(error.code(), crate::exit::UNMET_NEED);
        assert!(error.to_string().contains("apt-get install fio"), "{error}");
    }

    #[test]
    fn errors_of_io_are_counted_and_garbage_is_refused() {
        let side = r#"{"io_bytes":4096,"total_ios":1,"runtime":100,"lat_ns":{"bins":{"1016":1}}}"#;
        let text = |err: u32| {
            format!(
                r#"fio: some warning
            {{"timestamp_ms":1,"jobs":[{{"read":{side},"write":{side},"sync":{{"lat_ns":{{}}}},"job_runtime":100,"usr_cpu":50.0,"sys_cpu":25.0,"total_err":{err},"first_error":{}}}]}} trailing"#,
                if err > 0 { 5 } else { 0 }
            )
        };
        let result = convert(&parse(&text(3)).unwrap()).unwrap();
        assert_eq!(
            (result.errors, result.window_ns, result.cpu_user_ns, result.cpu_system_ns),
            (3, 100_000_000, 50_000_000, 25_000_000)
        );
        assert!(result.first_error.unwrap().contains("Input/output error"));
        assert_eq!(result.read.latency.count(), 1);
        assert_eq!(convert(&parse(&text(0)).unwrap()).unwrap().first_error, None);
        for garbage in ["", "{", "fio: died", r#"{"jobs":[]}"#, r#"{"timestamp_ms":1,"jobs":[]}"#] {
            assert!(parse(garbage).is_err(), "{garbage}");
        }
        let nameless = text(0).replace("1016", "x");
        assert!(convert(&parse(&nameless).unwrap()).is_err());
    }

    #[test]
    fn a_hanging_fio_is_killed() {
        let child =
            Command::new("sleep").arg("60").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        let error = wait_within(child, Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("killed after"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    /// fio's bucket of a value: 64 a doubling, named by its middle.
    fn fio_middle(ns: u64) -> u64 {
        if ns < 128 {
            return ns;
        }
        let shift = 63 - ns.leading_zeros() as u64 - 6;
        (ns >> shift << shift) + (1 << shift) / 2
    }

    proptest::proptest! {
        #[test]
        fn a_latency_is_off_by_less_than_the_stated_bound(ns in 1u64..17_000_000_000) {
            let mut histogram = Histogram::new();
            histogram.record(fio_middle(ns));
            let (low, high) = (histogram.min().unwrap() as f64, histogram.max().unwrap() as f64);
            let truth = ns as f64;
            proptest::prop_assert!((low - truth).abs() / truth < 0.016, "{} {}", low, truth);
            proptest::prop_assert!((high - truth).abs() / truth < 0.016, "{} {}", high, truth);
        }
    }
}
