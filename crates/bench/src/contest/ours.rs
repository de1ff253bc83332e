//! iotax as a contender: a fresh worker for each run, as if the program were started again.

use super::goals::Ours;
use super::{ContestLoad, ContestTarget, Shot};
use iotax_engines::load_engine::EngineError;
use iotax_load::{
    EngineName, Histogram, Hold, Job, SliceBound, SliceResult, SliceSpec, Stamping, TargetSpec,
    Worker,
};

/// Time discarded at the start of each run, for the processor's caches and the first looks.
const DISCARD_NS: u64 = 50_000_000;

/// Runs the load for some seconds.
///
/// # Errors
/// Returns the error of the worker.
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

/// Returns the engine of a run: the named one, or the one that iotax chooses by the target. Peers
/// get the same.
///
/// # Errors
/// Returns the error of the worker that is prepared to find out.
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

/// Returns a slice with a window of this length.
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

/// Returns the bytes of memory that one job takes at depth 128 and 4 KiB blocks: the memory that
/// the process has gained once a prepared worker has run.
///
/// # Errors
/// Returns the error of the worker, or that the system does not report its memory.
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

/// Returns the memory that is private to this process: memory shared with files does not belong to
/// a job.
fn resident() -> Result<u64, EngineError> {
    let failed = |source| EngineError::System { action: "read /proc/self/status".into(), source };
    let status = std::fs::read_to_string("/proc/self/status").map_err(failed)?;
    let kib = status.lines().find_map(|line| {
        line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    kib.map(|kib| kib << 10).ok_or_else(|| failed(std::io::Error::other("it has no RssAnon")))
}
