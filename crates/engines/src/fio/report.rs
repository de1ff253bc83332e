//! Reads fio's report of a slice: its JSON+ (fio 3.x: all latencies in nanoseconds) into our
//! histograms. The caller, who knows fio's clock, sets when the window began.

use crate::load_engine::EngineError;
use iotax_load::{Direction, Histogram, SliceResult};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Fields of a report that are read.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    /// Wall clock when the report was made, in milliseconds.
    pub(super) timestamp_ms: u64,
    pub(super) jobs: Vec<JobReport>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobReport {
    read: SideReport,
    write: SideReport,
    #[serde(default)]
    trim: SideReport,
    sync: SyncReport,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    #[serde(default)]
    pub(super) total_err: u64,
    #[serde(default)]
    first_error: i32,
}

#[derive(Debug, Default, Deserialize)]
struct SideReport {
    io_bytes: u64,
    total_ios: u64,
    runtime: u64,
    lat_ns: ReportedLatency,
}

#[derive(Debug, Deserialize)]
struct SyncReport {
    lat_ns: ReportedLatency,
}

#[derive(Debug, Default, Deserialize)]
struct ReportedLatency {
    /// Number of completions in each bucket, by the bucket's middle in nanoseconds.
    #[serde(default)]
    bins: BTreeMap<String, u64>,
}

/// Finds the report in fio's output.
///
/// # Errors
/// A clause that says what the output is instead.
pub(super) fn parse(text: &str) -> Result<Report, String> {
    // fio writes warnings in front of the object, into the same file.
    let json = text.find('{').map_or("", |at| &text[at..]);
    let mut stream = serde_json::Deserializer::from_str(json).into_iter();
    let report: Report = stream.next().ok_or("it is empty")?.map_err(|error| error.to_string())?;
    if report.jobs.is_empty() { Err("it has no jobs".into()) } else { Ok(report) }
}

/// Converts a report to the result of a slice, without the start of its window.
///
/// # Errors
/// If the window is of 0 ms without an I/O error, or the middle of a bucket is not a number.
pub(super) fn convert(report: &Report) -> Result<SliceResult, EngineError> {
    let mut result = SliceResult::default();
    for job in &report.jobs {
        add_direction(&mut result.read, &job.read)?;
        add_direction(&mut result.write, &job.write)?;
        add_direction(&mut result.trim, &job.trim)?;
        add_bins(&mut result.sync_latency, &job.sync.lat_ns)?;
        // The CPU share is in percent of the thread's runtime, which is in milliseconds.
        result.cpu_user_ns += (job.usr_cpu * job.job_runtime as f64 * 1e4) as u64;
        result.cpu_system_ns += (job.sys_cpu * job.job_runtime as f64 * 1e4) as u64;
        let runtime_ms = job.read.runtime.max(job.write.runtime).max(job.trim.runtime);
        result.window_ns = result.window_ns.max(runtime_ms * 1_000_000);
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
    Ok(result)
}

fn add_direction(sum: &mut Direction, side: &SideReport) -> Result<(), EngineError> {
    sum.ios += side.total_ios;
    sum.bytes += side.io_bytes;
    add_bins(&mut sum.latency, &side.lat_ns)
}

fn add_bins(histogram: &mut Histogram, latency: &ReportedLatency) -> Result<(), EngineError> {
    for (middle, count) in &latency.bins {
        let ns: u64 = middle
            .parse()
            .map_err(|_| EngineError::Output(format!("bin \"{middle}\" is no number")))?;
        histogram.record_many(ns, *count);
    }
    Ok(())
}
