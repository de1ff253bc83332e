//! Our generator as a contender: a fresh worker for each run, as a program that is started again
//! is.

use super::goals::Ours;
use super::{ContestLoad, ContestTarget, Shot};
use iotax_load::{
    EngineName, Histogram, Hold, Job, SliceBound, SliceResult, SliceSpec, Stamping, TargetSpec,
    Worker,
};
use iotax_steps::engine::EngineError;

/// Discarded at the start of each run: caches of the processor, the first looks.
const DISCARD_NS: u64 = 50_000_000;

/// A run of so many seconds.
///
/// # Errors
/// What the worker says.
pub fn shot(
    place: &ContestTarget,
    load: &ContestLoad,
    ours: Ours,
    seconds: f64,
) -> Result<Shot, EngineError> {
    let load = ContestLoad { iomem: ours.iomem, ..load.clone() };
    let mut worker = worker(place, load.job(ours.stamps), &load)?;
    let result = worker.slice(&timed((seconds * 1e9) as u64, DISCARD_NS))?;
    let mut shot = shot_of_slice(&result);
    shot.engine = format!("{} ({})", worker.engine().name, worker.engine().why);
    Ok(shot)
}

/// The engine that a run has: as named, or as ours chooses by the target. Peers are told it.
///
/// # Errors
/// What the worker says that is prepared to find out.
pub fn engine(
    place: &ContestTarget,
    load: &ContestLoad,
    ours: Ours,
) -> Result<EngineName, EngineError> {
    match load.engine {
        Some(name) => Ok(name),
        None => Ok(worker(place, load.job(ours.stamps), load)?.engine().name),
    }
}

pub(super) fn worker(
    place: &ContestTarget,
    job: Job,
    load: &ContestLoad,
) -> Result<Worker, EngineError> {
    let target = TargetSpec {
        path: place.path.clone(),
        bytes: Some(place.bytes),
        writable: false,
        hold: Hold::default(),
    };
    Ok(Worker::prepare(&[target], &[job], load.engine)?)
}

/// A slice with a window of that length.
pub(super) fn timed(window_ns: u64, min_discard_ns: u64) -> SliceSpec {
    SliceSpec::now(SliceBound::Time { ns: window_ns }, min_discard_ns, false)
}

fn shot_of_slice(result: &SliceResult) -> Shot {
    let ios = (result.read.ios + result.write.ios) as f64;
    let all = (ios + result.discarded_ios as f64).max(1.0);
    let mut latency = Histogram::new();
    latency.merge(&result.read.latency);
    latency.merge(&result.write.latency);
    Shot {
        iops: ios / (result.window_ns as f64 / 1e9),
        user_ns: result.cpu_user_ns as f64 / all,
        kernel_ns: result.cpu_system_ns as f64 / all,
        latency,
        reap_gap: result.reap_gap.clone(),
        littles_law_error: result.littles_law_error(),
        errors: result.errors,
        engine: String::new(),
        job_file: None,
    }
}

/// Bytes of memory that one job takes at depth 128 and 4 KiB blocks: what the process has more of
/// with a prepared worker that has run than without.
///
/// # Errors
/// What the worker says, or that the system does not tell.
pub fn memory_of_a_job(place: &ContestTarget) -> Result<u64, EngineError> {
    let load = ContestLoad {
        rw: iotax_load::Rw::RandRead,
        bs: 4096,
        iodepth: 128,
        numjobs: 1,
        direct: false,
        engine: Some(iotax_load::EngineName::Uring),
        iomem: iotax_load::Iomem::default(),
        rate_iops: None,
    };
    let first = resident()?;
    let mut worker = worker(place, load.job(Stamping::Each), &load)?;
    worker.slice(&timed(50_000_000, 5_000_000))?;
    let with = resident()?;
    drop(worker);
    Ok(with.saturating_sub(first))
}

/// Memory of this process that is its own: what it shares with files is not of a job.
fn resident() -> Result<u64, EngineError> {
    let failed = |source| EngineError::System { action: "read /proc/self/status".into(), source };
    let status = std::fs::read_to_string("/proc/self/status").map_err(failed)?;
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    kib.map(|kib| kib << 10).ok_or_else(|| failed(std::io::Error::other("it has no RssAnon")))
}
