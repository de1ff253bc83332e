//! Choice of the engine by jobs, kernel and targets, with the reason for it. An engine that the
//! user names is used, unless a job trims and the engine cannot. If one thread of it does not reach
//! a job's depth, more threads do.

use super::io::{Engine, Io, Op};
use super::name::EngineName;
use super::punt::Workers;
use super::trial::EngineTrial;
use super::uring::Uring;
use crate::offsets::Region;
use crate::{Job, LoadError, clock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;

/// Maximum number of reads by which io_uring is tried on a target.
const PROBES: u32 = 8;

/// Time that all probe reads of one job on one target may take together.
const PROBE_NS: u64 = 10_000_000_000;

/// Engine in use, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Name of the engine.
    pub name: EngineName,
    /// Reason for the choice (`named by the user`, `io_uring works here, ...`), and after it
    /// clauses on how the depth is reached, the clock of the latencies, and features that are
    /// missing.
    pub why: String,
}

/// Chooses one engine for all jobs and targets, or takes the named one. `trials` has an entry for
/// each job, with one trial for each target.
///
/// # Errors
/// [`LoadError::Unfit`] if a job trims and the named engine does not; [`LoadError::System`] if
/// trying io_uring fails, or a probe read fails or does not come back.
pub(crate) fn choose(
    named: Option<EngineName>,
    trials: &[Vec<EngineTrial>],
) -> Result<Chosen, LoadError> {
    let jobs: Vec<&Job> = trials.iter().flatten().map(|trial| trial.job).collect();
    let (name, why) = match (named, jobs.iter().find(|job| job.rw.trims())) {
        (Some(name), Some(job)) if !matches!(name, EngineName::Sync | EngineName::Null) => {
            return Err(LoadError::Unfit(format!(
                "job \"{}\" trims, which engine {name} does not; hint: engine sync, whose threads make up the depth",
                job.name
            )));
        }
        (Some(name), _) => (name, "named by the user".to_string()),
        (None, Some(_)) => (
            EngineName::Sync,
            "trims are done when the call returns, so threads make up a depth".to_string(),
        ),
        (None, None) if jobs.iter().all(|job| job.iodepth == 1) => {
            (EngineName::Sync, "iodepth is 1 in every job".to_string())
        }
        (None, None) => by_trial(trials)?,
    };
    let note = depth_note(name, &jobs);
    let why = why + &note;
    Ok(Chosen { name, why })
}

/// Returns a clause on how the jobs' depth is reached if one thread of the engine does not reach
/// it, or that it is not reached. Empty if one thread reaches it.
fn depth_note(name: EngineName, jobs: &[&Job]) -> String {
    if name == EngineName::Aio && jobs.iter().any(|job| job.iodepth > 1 && !job.direct) {
        return "; without O_DIRECT the kernel does each I/O within the call that submits it, so one is in flight in truth"
            .to_string();
    }
    if name == EngineName::PosixAio && jobs.iter().any(|job| job.iodepth > 1) {
        return "; as glibc it does the I/Os of a thread one after the other, so one is in flight in truth and latencies have the wait for it".to_string();
    }
    let Some(depth) = name.kind().depth else {
        return String::new();
    };
    let deep = jobs.iter().filter(|job| job.iodepth > depth);
    let threads = |job: &&Job| job.iodepth.div_ceil(depth);
    match deep.map(threads).max() {
        None => String::new(),
        Some(most) => format!(
            "; {name} has one I/O in flight a thread, so iodepth is reached by {most} threads for each of numjobs"
        ),
    }
}

/// Chooses io_uring if it serves every job deeper than 1 on every target without worker threads;
/// otherwise the engine of [`instead`]. Returns the reason, too.
fn by_trial(trials: &[Vec<EngineTrial>]) -> Result<(EngineName, String), LoadError> {
    let several = trials.iter().any(|on_targets| on_targets.len() > 1);
    for trial in trials.iter().flatten().filter(|trial| trial.job.iodepth > 1) {
        let tried =
            try_uring(trial).map_err(|error| trial.target.system("try an engine on", error))?;
        if let Some(against) = tried.reason_against(trial, several) {
            return Ok(instead(trials, against));
        }
    }
    let why = format!("io_uring works here, and {PROBES} probe reads needed no worker thread");
    Ok((EngineName::Uring, why))
}

/// Chooses the aio engine if every job deeper than 1 uses O_DIRECT and the kernel has libaio's
/// calls; otherwise the sync engine. `against` is the reason against io_uring.
fn instead(trials: &[Vec<EngineTrial>], against: String) -> (EngineName, String) {
    let mut deep = trials.iter().flatten().filter(|trial| trial.job.iodepth > 1);
    if deep.any(|trial| !trial.job.direct) {
        return (EngineName::Sync, against);
    }
    match super::aio::is_here() {
        Ok(()) => {
            (EngineName::Aio, format!("{against}; libaio's calls keep the depth, with O_DIRECT"))
        }
        Err(error) => {
            (EngineName::Sync, format!("{against}, and libaio's calls are refused ({error})"))
        }
    }
}

enum TriedRing {
    Inline,
    Punted,
    Refused(io::Error),
}

impl TriedRing {
    /// Returns the reason against io_uring; `None` if it works without worker threads. `named` asks
    /// for the path of the target in the reason.
    fn reason_against(self, trial: &EngineTrial, named: bool) -> Option<String> {
        match self {
            TriedRing::Inline => None,
            TriedRing::Punted if named => Some(format!(
                "io_uring hands reads of {} to worker threads",
                trial.target.path().display()
            )),
            TriedRing::Punted => {
                Some("io_uring hands this target's reads to worker threads".to_string())
            }
            TriedRing::Refused(error) => Some(format!("io_uring is refused here ({error})")),
        }
    }
}

/// Tries io_uring with reads of the target, in a thread of its own: the worker threads that the
/// kernel may start for them belong to the thread that submits, and end with it.
fn try_uring(trial: &EngineTrial) -> io::Result<TriedRing> {
    let file = trial.file.try_clone()?;
    let (region, depth) = (trial.region_of(0), PROBES.min(trial.job.iodepth));
    let probe = std::thread::Builder::new()
        .name("iotax-probe".into())
        .spawn(move || probe(file, region, depth))?;
    probe.join().unwrap_or_else(|_| Err(io::Error::other("the probe's thread stopped")))
}

fn probe(file: File, region: Region, depth: u32) -> io::Result<TriedRing> {
    let mut memory = crate::target::probe_memory(depth, region.bs)?;
    let mut workers = Workers::of_this_thread();
    workers.any_new();
    let mut ring = match Uring::new(file, depth, memory.extent()) {
        Ok(ring) => ring,
        Err(error) => return Ok(TriedRing::Refused(error)),
    };
    for slot in 0..depth {
        let io = Io {
            op: Op::Read,
            slot,
            len: region.bs as u32,
            offset: region.offset + region.blocks * u64::from(slot) / u64::from(depth) * region.bs,
            buffer: memory.read_buffer(slot),
        };
        // SAFETY: the memory holds a buffer of `bs` bytes for each slot; it outlives the ring or
        // is abandoned below.
        unsafe { ring.submit_io(&io) };
    }
    let mut done = Vec::new();
    let until_ns = clock::monotonic_ns() + PROBE_NS;
    while done.len() < depth as usize {
        let reaped = ring.reap_completions(Some(until_ns), &mut done);
        if reaped.is_err() || (clock::monotonic_ns() >= until_ns && done.len() < depth as usize) {
            memory.abandon();
            let late = || io::Error::new(io::ErrorKind::TimedOut, "probe reads do not come back");
            return Err(reaped.err().unwrap_or_else(late));
        }
    }
    if let Some(failed) = done.iter().find(|completion| completion.result < 0) {
        return Err(io::Error::from_raw_os_error(-failed.result));
    }
    Ok(if workers.any_new() { TriedRing::Punted } else { TriedRing::Inline })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::LoadTarget;
    use crate::{Hold, TargetSpec};
    use std::path::Path;

    fn job(iodepth: u32) -> Job {
        Job { iodepth, direct: false, ..Job::default() }
    }

    fn target_in(folder: &Path) -> LoadTarget {
        let path = folder.join("file");
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        LoadTarget::inspect(&TargetSpec {
            path,
            offset: 0,
            bytes: None,
            writable: false,
            hold: Hold::default(),
        })
        .unwrap()
    }

    fn chosen_of(targets: &[LoadTarget], named: Option<EngineName>, iodepth: u32) -> Chosen {
        let job = job(iodepth);
        let region = Region { offset: 0, bs: 4096, blocks: 256 };
        let trial = |target| EngineTrial {
            job: &job,
            target,
            file: target.open_for_job(&job).unwrap(),
            regions: vec![region],
        };
        choose(named, &[targets.iter().map(trial).collect()]).unwrap()
    }

    fn chosen_on(folder: &Path, named: Option<EngineName>, iodepth: u32) -> Chosen {
        chosen_of(&[target_in(folder)], named, iodepth)
    }

    #[test]
    fn depth_one_is_sync() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = chosen_on(folder.path(), None, 1);
        assert_eq!(chosen.name, EngineName::Sync);
        assert_eq!(chosen.why, "iodepth is 1 in every job");
    }

    #[test]
    fn trims_are_of_the_sync_engine() {
        let folder = tempfile::tempdir().unwrap();
        let target = target_in(folder.path());
        let job = Job { rw: crate::Rw::RandTrim, ..job(8) };
        let region = Region { offset: 0, bs: 4096, blocks: 256 };
        let chosen = |named| {
            let file = File::open(target.path()).unwrap();
            choose(
                named,
                &[vec![EngineTrial { job: &job, target: &target, file, regions: vec![region] }]],
            )
        };
        let auto = chosen(None).unwrap();
        assert_eq!(auto.name, EngineName::Sync);
        assert!(
            auto.why.starts_with("trims are done when the call returns")
                && auto.why.contains("8 threads")
        );
        assert_eq!(chosen(Some(EngineName::Null)).unwrap().name, EngineName::Null);
        let refused = chosen(Some(EngineName::Uring)).unwrap_err().to_string();
        assert!(
            refused.contains("trims, which engine uring does not; hint: engine sync"),
            "{refused}"
        );
    }

    #[test]
    fn a_named_engine_is_respected_and_sync_says_how_it_reaches_depth() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = chosen_on(folder.path(), Some(EngineName::Sync), 32);
        assert_eq!(chosen.name, EngineName::Sync);
        assert!(chosen.why.starts_with("named by the user; sync has one"), "{}", chosen.why);
        assert!(chosen.why.contains("32 threads"), "{}", chosen.why);
        let chosen = chosen_on(folder.path(), Some(EngineName::Null), 32);
        assert_eq!(chosen.why, "named by the user");
    }

    /// Returns true if the kernel has no io_uring, or allows it to nobody here.
    fn is_refused(chosen: &Chosen) -> bool {
        let refused = chosen.why.starts_with("io_uring is refused");
        let lacking =
            ["(os error 38)", "(os error 1)"].iter().any(|cause| chosen.why.contains(cause));
        assert_eq!(refused, lacking, "{}", chosen.why);
        refused
    }

    #[test]
    fn a_cached_file_at_depth_is_for_uring_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = chosen_on(folder.path(), None, 32);
        if is_refused(&chosen) {
            assert_eq!(chosen.name, EngineName::Sync);
            return;
        }
        assert_eq!(chosen.name, EngineName::Uring, "{}", chosen.why);
    }

    /// Makes a folder in which io_uring punts reads: those that would have to wait.
    fn punting_folder() -> Option<tempfile::TempDir> {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            println!("skipped: needs a writable /dev/shm");
            return None;
        };
        let path = folder.path().join("asked");
        std::fs::write(&path, [7; 4096]).unwrap();
        let nowait = rustix::io::preadv2(
            File::open(&path).unwrap(),
            &mut [io::IoSliceMut::new(&mut [0; 4096])],
            0,
            rustix::io::ReadWriteFlags::NOWAIT,
        );
        if nowait != Err(rustix::io::Errno::OPNOTSUPP) {
            println!("skipped: needs a /dev/shm that io_uring punts ({nowait:?})");
            return None;
        }
        Some(folder)
    }

    #[test]
    fn a_target_that_punts_is_for_sync() {
        let Some(folder) = punting_folder() else { return };
        let chosen = chosen_on(folder.path(), None, 8);
        assert_eq!(chosen.name, EngineName::Sync);
        let refused = is_refused(&chosen);
        assert!(refused || chosen.why.contains("worker threads"), "{}", chosen.why);
    }

    #[test]
    fn one_member_that_punts_is_for_sync_on_all() {
        let Some(punting) = punting_folder() else { return };
        let plain = tempfile::tempdir().unwrap();
        let targets = [target_in(plain.path()), target_in(punting.path())];
        let chosen = chosen_of(&targets, None, 8);
        assert_eq!(chosen.name, EngineName::Sync);
        let refused = is_refused(&chosen);
        let told = chosen.why.contains(&format!("reads of {}", targets[1].path().display()));
        assert!(refused || told, "{}", chosen.why);
    }

    #[test]
    fn what_uring_cannot_do_aio_does_with_o_direct_and_sync_without() {
        let folder = tempfile::tempdir().unwrap();
        let target = target_in(folder.path());
        let region = Region { offset: 0, bs: 4096, blocks: 256 };
        let instead_of = |direct: bool| {
            let job = Job { direct, ..job(8) };
            let file = File::open(target.path()).unwrap();
            instead(
                &[vec![EngineTrial { job: &job, target: &target, file, regions: vec![region] }]],
                "refused".into(),
            )
        };
        assert_eq!(instead_of(false), (EngineName::Sync, "refused".to_string()));
        let direct = instead_of(true);
        assert_eq!(direct.0, EngineName::Aio, "{}", direct.1);
        assert!(direct.1.starts_with("refused; libaio's calls keep"), "{}", direct.1);
        assert!(depth_note(EngineName::Aio, &[&job(8)]).contains("one is in flight in truth"));
        assert_eq!(depth_note(EngineName::Aio, &[&Job { direct: true, ..job(8) }]), "");
        assert!(depth_note(EngineName::PosixAio, &[&job(8)]).contains("one is in flight in truth"));
        assert_eq!(depth_note(EngineName::PosixAio, &[&job(1)]), "");
    }
}
