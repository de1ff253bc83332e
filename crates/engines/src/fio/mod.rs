//! fio as a load engine: one run of fio for each slice, whose JSON+ is read into our histograms.
//! Several targets are a section each for every job: `filename=a:b` would spread one job's I/Os
//! over them. A [`Site`] is where fio runs: this host (`here`), or one over ssh without an agent
//! (`iotax_remote::agentless`).
//!
//! Some facts are less exact than with our own engine. fio gives its window in whole milliseconds
//! (hence `shortest_slice_ns`). It does not report completions outside the window or the time to
//! drain (0 in the result, docs/result-format.md). Its count of I/Os and of latencies may differ by
//! what was in flight when its ramp ended. Its buckets are 1/64 of their value wide and named by
//! their middle, so a latency is off by at most 1/128, and our bucket adds at most 1/128: together
//! under 1.6 %. fio's last bucket ends at 17.2 s. Refuses jobs that fio would answer by making or
//! growing a file, and held-back completions.

mod checks;
mod client;
mod here;
mod report;

pub use checks::{check_known, has_ioengine};
pub use client::{Client, ENDING, PoolPart};
pub use here::{missing, version};

use crate::load_engine::{EngineError, EngineKind, LoadEngine};
use here::Here;
use iotax_facts::Engine;
use iotax_load::{Iomem, Job, SliceBound, SliceResult, SliceSpec, TargetSpec, fio_options};
use iotax_sys::child::ChildEnd;
use iotax_units::distinct;
use iotax_wire::message::slice_limit;
use report::Report;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

pub(super) static KIND: EngineKind = EngineKind {
    needs: &["fio"],
    // fio knows its window to a millisecond and takes 0.3 s to start.
    shortest_slice_ns: 1_000_000_000,
    answers: |engine| matches!(engine, Some(Engine::Fio)),
    prepare: |targets, jobs, _, _| {
        Ok(Box::new(Fio::prepare(Box::new(Here::for_targets(targets)?), targets, jobs)?))
    },
};

/// Rate in bytes per second below which the filling of a new target counts as hanging.
const SLOWEST_FILL: u64 = 1_000_000;
/// Time after which fio ends a slice of bytes of a job with options of its own.
const LONGEST_PACED: Duration = Duration::from_secs(10);
/// Time limit of a trial read. fio starts in a third of a second, so one that takes longer hangs.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);
/// Time before the host gives up a place at which fio is ended, so that no fio writes on after a
/// failed run.
const BEFORE_HOST: Duration = Duration::from_secs(20);

pub trait Site {
    /// Returns the version as `fio 3.33`.
    ///
    /// # Errors
    /// What is missing, does not fit or failed there, as for all methods here.
    fn fio_version(&self) -> Result<String, EngineError>;
    fn ioengines(&self) -> Ioengines;
    /// Returns why fio runs, and where, for the record: `named by the user`, `here`.
    fn reason_and_place(&self) -> (String, &'static str);
    fn target_size(&self, path: &Path) -> Result<u64, EngineError>;
    /// Returns the name by which fio opens a target.
    ///
    /// # Errors
    /// As for [`Site::fio_version`].
    fn fio_filename(&self, path: &Path) -> Result<Filename, EngineError>;
    fn fio_command(&self, options: &[String]) -> Vec<String>;
    /// Runs fio with the job on its standard input, and ends it at the limit. A fio that fails is
    /// no error here: the output shows it.
    ///
    /// # Errors
    /// As for [`Site::fio_version`].
    fn run_fio(
        &self,
        options: &[String],
        job_file: &str,
        limit: Duration,
    ) -> Result<Output, EngineError>;
    /// Flushes all paths and returns the nanoseconds until that is done.
    ///
    /// # Errors
    /// As for [`Site::fio_version`].
    fn flush_targets(&self, paths: &[&Path]) -> Result<u64, EngineError>;
    /// Returns when a window of `window_ns` that has just ended began, in nanoseconds of this
    /// machine's CLOCK_MONOTONIC. `report_ms` is the wall clock in fio's report, in milliseconds.
    fn window_start(&self, report_ms: u64, window_ns: u64) -> u64;
    /// Returns the target if fio accesses it as a client of a Ceph cluster, without a file.
    fn cluster_client(&self) -> Option<&Client> {
        None
    }
    /// Returns true if fio cannot be killed from here. Its job then limits its own runtime, after
    /// which it ends even if not all bytes of its slice are transferred.
    fn ends_by_itself(&self) -> bool {
        false
    }
}

/// Choice of fio's ioengines. Of `deeper`, the first that works is used.
#[derive(Clone, Copy, Debug)]
pub struct Ioengines {
    /// Ioengine for jobs that all have one I/O in flight.
    pub at_depth_one: &'static str,
    pub deeper: &'static [&'static str],
    /// True if fio has the option `disk_util`; a fio without it refuses it.
    pub has_disk_util: bool,
}

/// Name by which fio opens a target.
pub struct Filename {
    pub text: String,
    /// Open file that `text` leads to, if that is a descriptor of this process.
    pub held: Option<File>,
}

/// Installed fio, with targets and their jobs.
pub struct Fio {
    site: Box<dyn Site>,
    version: String,
    why: String,
    ioengine: &'static str,
    members: Vec<FioTarget>,
    slices: u64,
}

struct FioTarget {
    target: TargetSpec,
    filename: Filename,
    jobs: Vec<Job>,
}

impl Fio {
    /// Prepares fio to run the jobs on each target. If a job has several I/Os in flight, a trial
    /// read of each target shows which ioengine works.
    ///
    /// # Errors
    /// [`EngineError::Missing`] without fio, [`EngineError::Unfit`] without a target or for jobs
    /// that do not fit. Fails too if no ioengine works.
    pub fn prepare(
        site: Box<dyn Site>,
        targets: &[TargetSpec],
        jobs: &[Job],
    ) -> Result<Fio, EngineError> {
        let version = site.fio_version()?;
        if targets.is_empty() {
            return Err(EngineError::Unfit("no target to run on".into()));
        }
        let members = targets
            .iter()
            .map(|target| FioTarget::from_site(&*site, target, jobs))
            .collect::<Result<_, _>>()?;
        let ioengine = site.ioengines().at_depth_one;
        let mut fio = Fio { site, version, why: String::new(), ioengine, members, slices: 0 };
        (fio.ioengine, fio.why) = fio.choose_ioengine()?;
        Ok(fio)
    }

    pub fn job_file(&self, spec: &SliceSpec) -> String {
        let mut text = String::from("[global]\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
        line("ioengine", &self.ioengine);
        // fio must never make or grow a file: it may touch only what the guard has seen.
        line("allow_file_create", &0);
        line("thread", &1);
        if self.site.ioengines().has_disk_util {
            line("disk_util", &0);
        }
        line("lat_percentiles", &1);
        line("clat_percentiles", &0);
        line("continue_on_error", &"all");
        // Only the client can make its flush, and the flush is part of the slice's time.
        if spec.flush && self.site.cluster_client().is_some_and(Client::flushes) {
            line("end_fsync", &1);
        }
        match spec.bound {
            SliceBound::Time { ns } => {
                line("time_based", &1);
                line("runtime", &format_args!("{}ms", ns.div_ceil(1_000_000)));
                line("ramp_time", &format_args!("{}ms", spec.min_discard_ns.div_ceil(1_000_000)));
            }
            SliceBound::Bytes { .. } if self.site.ends_by_itself() => {
                line("runtime", &format_args!("{}s", limit_of(spec).as_secs()));
            }
            // A pace that only fio keeps may take any time for the bytes of a slice.
            SliceBound::Bytes { .. } if self.jobs().any(|(_, job)| !job.fio_options.is_empty()) => {
                line("runtime", &format_args!("{}s", LONGEST_PACED.as_secs()));
                // Jobs that keep a proportion end together, with the first that has its bytes.
                line("exitall", &1);
            }
            SliceBound::Bytes { .. } => {}
        }
        for (number, (member, job)) in self.jobs().enumerate() {
            text += &self.section(number, member, job, spec);
        }
        text
    }

    fn jobs(&self) -> impl Iterator<Item = (&FioTarget, &Job)> {
        self.members.iter().flat_map(|member| member.jobs.iter().map(move |job| (member, job)))
    }

    fn section(&self, number: usize, member: &FioTarget, job: &Job, spec: &SliceSpec) -> String {
        let mut text = format!("[job{number}]\n");
        match self.site.cluster_client() {
            Some(client) => text += &client.lines(job),
            None => _ = writeln!(text, "filename={}", member.filename.text),
        }
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
        if !job.sync.is_none() {
            line("sync", &job.sync.word());
        }
        if let Some(stride) = job.stride {
            line("zonemode", &"strided");
            line("zonesize", &stride.zone);
            line("zoneskip", &stride.skip);
        }
        line("fsync", &job.fsync);
        line("fdatasync", &job.fdatasync);
        // fio loses its map of finished blocks at the end of each slice.
        line("norandommap", &u8::from(!job.random_map));
        if job.rw.random() != (job.percentage_random == 100)
            || !matches!(job.percentage_random, 0 | 100)
        {
            line("percentage_random", &job.percentage_random);
        }
        if !job.random_distribution.is_random() {
            line("random_distribution", &job.random_distribution);
        }
        // fio starts again for each slice: with one seed it would read the same blocks each time.
        let seed = job.randseed.wrapping_add(self.slices.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // fio parses it as a signed number.
        line("randseed", &(seed >> 1));
        if job.buffer_compress_percentage > 0 {
            line("buffer_compress_percentage", &job.buffer_compress_percentage);
        } else {
            line("refill_buffers", &1);
        }
        if job.iomem == Iomem::MmapHuge {
            line("iomem", &"mmaphuge");
        }
        if job.dedupe_percentage > 0 {
            line("dedupe_percentage", &job.dedupe_percentage);
        }
        if let Some(class) = job.prioclass {
            line("prioclass", &class);
        }
        if let Some(level) = job.prio {
            line("prio", &level);
        }
        if !job.cpus_allowed.is_empty() {
            let cpus: Vec<String> = job.cpus_allowed.iter().map(u32::to_string).collect();
            line("cpus_allowed", &cpus.join(","));
            line("cpus_allowed_policy", &if job.cpus_split { "split" } else { "shared" });
        }
        if let Some(rate) = job.rate_iops {
            line("rate_iops", &rate);
        }
        if let SliceBound::Bytes { bytes } = spec.bound {
            line("io_size", &self.share_of(bytes, job));
        }
        // A client of a cluster has an ioengine of its own. What comes later counts, as in fio.
        let client = self.site.cluster_client().is_some();
        for option in job.fio_options.iter().filter(|it| !client || !it.starts_with("ioengine=")) {
            text += &format!("{option}\n");
        }
        if job.fio_options.iter().any(|option| option.starts_with("verify=")) {
            // Else fio leaves a file of what it verified in its working directory.
            text += "verify_state_save=0\n";
        }
        text
    }

    /// Returns the bytes that each thread transfers in a slice of `bytes`: an equal part for each
    /// thread on each target, rounded up to whole blocks.
    fn share_of(&self, bytes: u64, job: &Job) -> u64 {
        let threads: u64 = self.jobs().map(|(_, job)| u64::from(job.numjobs)).sum();
        bytes.div_ceil(threads).div_ceil(job.bs).max(1) * job.bs
    }

    fn choose_ioengine(&self) -> Result<(&'static str, String), EngineError> {
        let (why, place) = self.site.reason_and_place();
        if let Some(client) = self.site.cluster_client() {
            let name = client.ioengine();
            let cache =
                if client.flushes() { ", which caches unless rbd_cache is off" } else { "" };
            return Ok((name, format!("fio's {name} is a client of the cluster itself{cache}")));
        }
        let ioengines = self.site.ioengines();
        let named = self.jobs().map(|(_, job)| {
            job.fio_options.iter().find_map(|option| option.strip_prefix("ioengine="))
        });
        if let Some(named) = named.collect::<Option<Vec<_>>>() {
            let names = distinct(named).join(" and ");
            let why = format!("the job file has options of fio's; fio's {names}, as it says");
            return Ok((ioengines.at_depth_one, why));
        }
        if self.jobs().all(|(_, job)| job.iodepth == 1) {
            let name = ioengines.at_depth_one;
            return Ok((name, format!("{why}; fio's {name} at depth 1")));
        }
        let mut last =
            EngineError::Unfit("fio has no ioengine for more than one I/O in flight".into());
        for (at, name) in ioengines.deeper.iter().enumerate() {
            match self.members.iter().try_for_each(|member| self.trial(name, member)) {
                Ok(()) if at == 0 => {
                    return Ok((name, format!("{why}; fio's {name} works {place}")));
                }
                Ok(()) => {
                    let others = ioengines.deeper[..at].join(" and ");
                    return Ok((
                        name,
                        format!("{why}; fio's {name}, as its {others} does not work {place}"),
                    ));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Reads one block of a target with an ioengine. fio's option `--readonly` prevents writes.
    fn trial(&self, ioengine: &str, member: &FioTarget) -> Result<(), EngineError> {
        let (bs, direct) = member.jobs.first().map_or((4096, true), |job| (job.bs, job.direct));
        let text = format!(
            "[trial]\nioengine={ioengine}\nfilename={}\nallow_file_create=0\nthread=1\nrw=read\nbs={bs}\nsize={bs}\ndirect={}\n",
            member.filename.text,
            u8::from(direct)
        );
        self.run(&text, true, TRIAL_LIMIT).map(|_| ())
    }

    fn run(&self, job_file: &str, readonly: bool, limit: Duration) -> Result<Report, EngineError> {
        let output = self.site.run_fio(&options(readonly), job_file, limit)?;
        match report::parse(&String::from_utf8_lossy(&output.stdout)) {
            Ok(report)
                if output.status.success() || report.jobs.iter().any(|job| job.total_err > 0) =>
            {
                Ok(report)
            }
            Ok(_) => Err(fio_failed(&output)),
            Err(_) if !output.status.success() => Err(fio_failed(&output)),
            Err(cause) => Err(EngineError::Output(cause)),
        }
    }

    /// Checks that fio has transferred all bytes of a slice, if it may have ended by itself before
    /// that.
    fn check_whole(&self, spec: &SliceSpec, result: &SliceResult) -> Result<(), EngineError> {
        let SliceBound::Bytes { bytes } = spec.bound else { return Ok(()) };
        let wanted: u64 =
            self.jobs().map(|(_, job)| u64::from(job.numjobs) * self.share_of(bytes, job)).sum();
        let moved = result.read.bytes + result.write.bytes + result.trim.bytes;
        let short = moved < wanted && result.errors == 0;
        if self.site.ends_by_itself() && short { Err(too_long(limit_of(spec))) } else { Ok(()) }
    }
}

impl FioTarget {
    fn from_site(
        site: &dyn Site,
        target: &TargetSpec,
        jobs: &[Job],
    ) -> Result<FioTarget, EngineError> {
        let jobs = fit_jobs(site, target, jobs)?;
        Ok(FioTarget { target: target.clone(), filename: site.fio_filename(&target.path)?, jobs })
    }
}

impl LoadEngine for Fio {
    fn name(&self) -> String {
        self.version.clone()
    }

    fn choice_reason(&self) -> String {
        self.why.clone()
    }

    fn slice_command(&self) -> Option<Vec<String>> {
        let readonly = !self.members.iter().any(|member| member.target.writable);
        let mut words = self.site.fio_command(&options(readonly));
        // The job comes on standard input, so its text is part of the command.
        let spec = SliceSpec {
            bound: SliceBound::Time { ns: 1_000_000_000 },
            min_discard_ns: 0,
            flush: false,
            begin_ns: None,
        };
        words.push(format!("# standard input of a 1 s slice:\n{}", self.job_file(&spec)));
        Some(words)
    }

    /// Runs one slice as a run of fio. fio knows its window to a millisecond, 0.1 % of a second.
    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        self.slices += 1;
        let limit = limit_of(spec);
        let writes = self.jobs().any(|(_, job)| job.rw.writes());
        let report = self.run(&self.job_file(spec), !writes, limit)?;
        let mut result = report::convert(&report)?;
        result.window_start_ns = self.site.window_start(report.timestamp_ms, result.window_ns);
        self.check_whole(spec, &result)?;
        if matches!(spec.bound, SliceBound::Time { .. }) {
            result.discarded_ns = spec.min_discard_ns.div_ceil(1_000_000) * 1_000_000;
        }
        // fio's own end_fsync would be inside its runtime. This flush starts after fio has ended:
        // it lacks what the kernel wrote back in between (tens of milliseconds).
        if spec.flush || self.jobs().any(|(_, job)| job.end_fsync) {
            let paths: Vec<&Path> =
                self.members.iter().map(|member| member.target.path.as_path()).collect();
            result.flush_ns = Some(self.site.flush_targets(&paths)?);
        }
        Ok(result)
    }
}

/// Writes the whole target that fio reaches as a client, once and in order.
///
/// # Errors
/// If fio cannot, or takes longer than a slow cluster would.
pub fn fill(client: &Client) -> Result<(), EngineError> {
    let limit = Duration::from_secs(60 + client.bytes / SLOWEST_FILL);
    let output =
        Here::client_of(client.clone()).run_fio(&options(false), &client.filling(), limit)?;
    match report::parse(&String::from_utf8_lossy(&output.stdout)) {
        Ok(report) if output.status.success() => {
            let written = report::convert(&report)?.write.bytes;
            match written >= client.bytes {
                true => Ok(()),
                false => Err(EngineError::Output(format!(
                    "it wrote {written} of {} bytes",
                    client.bytes
                ))),
            }
        }
        _ => Err(fio_failed(&output)),
    }
}

/// Runs the installed fio once with a job file, read-only, to compare load generators.
///
/// # Errors
/// If it is not installed, fails, or does not end within the limit.
pub fn once(job_file: &str, limit: Duration) -> Result<SliceResult, EngineError> {
    let output = Here::default().run_fio(&options(true), job_file, limit)?;
    match report::parse(&String::from_utf8_lossy(&output.stdout)) {
        Ok(report) if output.status.success() => report::convert(&report),
        _ => Err(fio_failed(&output)),
    }
}

/// Returns how long the fio of a slice may run. The time includes its start, its end and a device
/// that drains slowly.
fn limit_of(spec: &SliceSpec) -> Duration {
    slice_limit(spec).saturating_sub(BEFORE_HOST)
}

/// Returns fio's options: the job comes on standard input, the report goes to standard output.
fn options(readonly: bool) -> Vec<String> {
    let protection = readonly.then_some("--readonly");
    ["--output-format=json+"]
        .into_iter()
        .chain(protection)
        .chain(["-"])
        .map(str::to_owned)
        .collect()
}

/// Returns `fio 3.33` from the output of `fio --version`.
pub fn version_name(stdout: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stdout);
    text.lines()
        .find_map(|line| line.trim().strip_prefix("fio-"))
        .map(|number| format!("fio {number}"))
}

/// Returns the jobs for a target, each with a size within it, without which fio would use or grow
/// what it finds. Refuses jobs that fio cannot run as asked, or that write where that is not
/// permitted.
fn fit_jobs(site: &dyn Site, target: &TargetSpec, jobs: &[Job]) -> Result<Vec<Job>, EngineError> {
    if !target.hold.is_none() {
        return Err(EngineError::Unfit(
            "fio cannot hold completions back; hint: use the engine sync or uring under the layer delay"
                .into(),
        ));
    }
    if jobs.is_empty() {
        return Err(EngineError::Unfit("no job to run".into()));
    }
    let there = site.target_size(&target.path)?;
    let room = there.saturating_sub(target.offset);
    let usable = target.bytes.unwrap_or(room).min(room);
    // For jobs that move from thread to thread, fio would clip or refuse other regions than we do.
    let fitted = |job: Job| {
        let job = fitted_job(target, &job, usable)?;
        site.cluster_client().map_or(Ok(job.clone()), |client| client.fit_client_job(job))
    };
    jobs.iter().flat_map(Job::apart).map(fitted).collect()
}

fn fitted_job(target: &TargetSpec, job: &Job, usable: u64) -> Result<Job, EngineError> {
    let (path, name) = (target.path.display(), &job.name);
    if job.rw.writes() && !target.writable {
        return Err(EngineError::Unfit(format!(
            "job \"{name}\" writes, and writing to {path} was not permitted"
        )));
    }
    fio_options::check(job).map_err(EngineError::Unfit)?;
    if job.rw.trims() && job.fio_options.is_empty() {
        return Err(EngineError::Unfit(format!(
            "job \"{name}\" trims, which fio is not asked to here; hint: engine sync"
        )));
    }
    if job.verify {
        return Err(EngineError::Unfit(format!(
            "job \"{name}\" verifies with iotax's own stamps, which fio does not know; hint: an engine of iotax's own, or no verify"
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
    Ok(Job { offset: target.offset + job.offset, size: Some(size), ..job.clone() })
}

fn system(action: &str, path: &Path, source: std::io::Error) -> EngineError {
    EngineError::System { action: format!("{action} {}", path.display()), source }
}

/// Returns the error of a fio that was killed at its limit or ended by itself.
pub fn too_long(limit: Duration) -> EngineError {
    EngineError::Fio {
        status: format!("killed after {limit:?}"),
        words: "it did not end in time".into(),
    }
}

/// Returns the output of a fio that ended by itself.
///
/// # Errors
/// If it was killed, at its limit or because it wrote too much.
pub fn output_in_time(ended: ChildEnd, limit: Duration) -> Result<Output, EngineError> {
    match ended {
        ChildEnd::Killed | ChildEnd::Stuck => Err(too_long(limit)),
        ended => ended.output(limit).map_err(|why| EngineError::Output(format!("it {why}"))),
    }
}

pub fn fio_failed(output: &Output) -> EngineError {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let outside_json = stdout.split('{').next().unwrap_or_default();
    let all = [&stderr, outside_json].concat();
    let lines: Vec<&str> = all.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines[lines.len().saturating_sub(5)..].join("; ");
    let words = if words.is_empty() { "it said nothing".into() } else { words };
    EngineError::Fio { status: output.status.to_string(), words }
}

#[cfg(test)]
mod tests;
