//! Workloads before they are checked against the targets: the jobs are read, but a region may still
//! be a percentage of a target's size. A job that does not fit the targets or the engine is refused
//! here.

use super::error::{Fault, InputError, Origin};
use super::job_words::list_word;
use super::sweep::{self, SweepPoint};
use super::values::Extent;
use super::words::{JobWords, unknown_word};
use super::{Engine, Workload, block_size_word, trims};
use iotax_load::{Distribution, EngineName, Iomem, Job};
use iotax_probe::ProbeSpec;
use iotax_units as units;

const INCREMENT: &str = "offset_increment";

/// Known sizes of a scenario's targets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Targets {
    /// Bytes of the smallest medium whose size is declared.
    pub smallest: Option<u64>,
    pub all_declared: bool,
}

/// Names of settings in the notation in which a job was written, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) bs: &'static str,
    pub(super) size: &'static str,
    pub(super) offset: &'static str,
    pub(super) iodepth: &'static str,
    /// Notation of a job that goes through the page cache.
    pub(super) buffered: &'static str,
}

impl Default for Keys {
    fn default() -> Self {
        Keys { bs: "bs", size: "size", offset: "offset", iodepth: "iodepth", buffered: "direct=0" }
    }
}

/// A job whose region is not yet known in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct JobDraft {
    /// Job without `size`, `offset` and `offset_increment`.
    pub job: Job,
    pub(super) size: Option<Extent>,
    pub(super) offset: Option<Extent>,
    pub(super) size_origin: Option<Origin>,
    pub(super) offset_origin: Option<Origin>,
    pub(super) increment: Option<Extent>,
    pub(super) increment_origin: Option<Origin>,
    pub(super) rw_origin: Option<Origin>,
    pub(super) bs_origin: Option<Origin>,
    pub(super) iodepth_origin: Option<Origin>,
    /// Key of a job file that only fio honours, with its position.
    pub(super) fio_origin: Option<(String, Origin)>,
    pub(super) keys: Keys,
}

impl JobDraft {
    /// Refuses O_DIRECT with a block size that is not a multiple of 512 bytes. The first I/O would
    /// fail with EINVAL.
    pub(super) fn check_block(&self) -> Result<(), InputError> {
        if !self.job.direct || self.job.bs % 512 == 0 {
            return Ok(());
        }
        let origin = self.bs_origin.clone().unwrap_or_else(Origin::command_line);
        let why =
            format!("a block of {} bytes cannot be read or written with O_DIRECT", self.job.bs);
        let hint = format!("take a multiple of 512 bytes, or {}", self.keys.buffered);
        Err(origin.error_at_key(self.keys.bs, Fault::hint(why, hint)))
    }

    /// Returns the job with its region in bytes, which is the same on each of the targets.
    ///
    /// # Errors
    /// The region does not fit the smallest target or holds no block, or a percentage refers to an
    /// unknown size.
    pub fn job_on(&self, targets: Targets) -> Result<Job, InputError> {
        let known = targets.smallest.filter(|_| targets.all_declared);
        let size =
            self.extent(self.keys.size, true, self.size, self.size_origin.as_ref(), known)?;
        let offset =
            self.extent(self.keys.offset, false, self.offset, self.offset_origin.as_ref(), known)?;
        let offset = offset.unwrap_or(0);
        let increment =
            self.extent(INCREMENT, false, self.increment, self.increment_origin.as_ref(), known)?;
        let job =
            Job { size, offset, offset_increment: increment.unwrap_or(0), ..self.job.clone() };
        self.check_region(&job, targets.smallest)?;
        Ok(job)
    }

    /// Refuses an iodepth above 1 with the sync engine, which would silently issue one I/O at a
    /// time.
    fn check_depth(&self, engine: Option<Engine>) -> Result<(), InputError> {
        if engine != Some(Engine::Native(EngineName::Sync))
            || self.job.iodepth == 1
            || self.job.rw.trims()
        {
            return Ok(());
        }
        let origin = self.iodepth_origin.clone().unwrap_or_else(Origin::command_line);
        let why = format!(
            "engine \"sync\" issues one I/O at a time, and iodepth is {}",
            self.job.iodepth
        );
        Err(origin.error_at_key(
            self.keys.iodepth,
            Fault::hint(why, "write iodepth 1 and numjobs, or engine uring"),
        ))
    }

    /// Refuses trims if another engine than sync is named. Only sync trims, with as many threads as
    /// the iodepth requires.
    fn check_trims(&self, engine: Option<Engine>) -> Result<(), InputError> {
        if !self.job.rw.trims() || trims::by_engine(engine) || !self.job.fio_options.is_empty() {
            return Ok(());
        }
        let fault = Fault::hint(
            format!("rw={} trims, which the named engine does not", self.job.rw.word()),
            "name no engine, or sync",
        );
        Err(self.rw_origin.clone().unwrap_or_else(Origin::command_line).error_at_key("rw", fault))
    }

    /// Refuses an engine of iotax for a job that only fio can run.
    fn check_fio_options(&self, engine: Option<Engine>) -> Result<(), InputError> {
        let (Some(Engine::Native(name)), Some((key, origin))) = (engine, &self.fio_origin) else {
            return Ok(());
        };
        let why = format!("the engine {name}, which was named, does not honour it");
        let hint = "name no engine: the installed fio runs the job";
        Err(origin.error_at_key(key, Fault::hint(why, hint)))
    }

    fn extent(
        &self,
        key: &str,
        is_size: bool,
        extent: Option<Extent>,
        origin: Option<&Origin>,
        target: Option<u64>,
    ) -> Result<Option<u64>, InputError> {
        match (extent, target) {
            (None, _) => Ok(None),
            (Some(Extent::Bytes(bytes)), _) => Ok(Some(bytes)),
            (Some(Extent::Percent(100)), _) if is_size => Ok(None),
            (Some(Extent::Percent(0)), _) if !is_size => Ok(Some(0)),
            (Some(Extent::Percent(percent)), Some(bytes)) => {
                Ok(Some(self.percent_in_blocks(bytes, percent)))
            }
            (Some(Extent::Percent(percent)), None) => {
                let fault = Fault::hint(
                    format!("{percent}% of a target whose size is not declared"),
                    "write it in bytes, or declare size=... of every medium",
                );
                Err(origin.cloned().unwrap_or_else(Origin::command_line).error_at_key(key, fault))
            }
        }
    }

    /// Returns that percentage of `bytes`, rounded down to whole blocks so that a region never ends
    /// within one.
    fn percent_in_blocks(&self, bytes: u64, percent: u8) -> u64 {
        let exact = u128::from(bytes) * u128::from(percent) / 100;
        let exact = u64::try_from(exact).unwrap_or(bytes);
        exact - exact % self.job.bs
    }

    fn check_region(&self, job: &Job, target: Option<u64>) -> Result<(), InputError> {
        let (origin, key) = match (&self.size_origin, &self.offset_origin, &self.bs_origin) {
            (Some(origin), _, _) => (origin.clone(), self.keys.size),
            (None, Some(origin), _) => (origin.clone(), self.keys.offset),
            (None, None, Some(origin)) => (origin.clone(), self.keys.bs),
            (None, None, None) => (Origin::command_line(), self.keys.bs),
        };
        let last = job.last_offset();
        let (origin, key) = match &self.increment_origin {
            Some(moved) if last > job.offset => (moved.clone(), INCREMENT),
            _ => (origin, key),
        };
        let region = job.size.unwrap_or(job.bs);
        if region < job.bs {
            let why = format!(
                "a region of {} holds no block of {}",
                units::show_bytes(region),
                units::show_bytes(job.bs)
            );
            return Err(
                origin.error_at_key(key, Fault::hint(why, "take a larger size or a smaller bs"))
            );
        }
        let Some(target) = target else { return Ok(()) };
        if last.checked_add(region).is_some_and(|end| end <= target) {
            return Ok(());
        }
        let whose =
            if last > job.offset { format!(" of thread {}", job.numjobs) } else { String::new() };
        let from = match last {
            0 => String::new(),
            offset => format!(" from offset {}{whose}", units::show_bytes(offset)),
        };
        let why = format!(
            "the workload does not fit the file: {}{from} of a file of {}",
            units::show_bytes(region),
            units::show_bytes(target)
        );
        Err(origin
            .error_at_key(key, Fault::hint(why, "make the file larger or the workload smaller")))
    }
}

/// A workload before its regions are known in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadDraft {
    /// Name of the workload. When it is checked, a number is added if another one has the same
    /// name.
    pub name: String,
    pub jobs: Vec<JobDraft>,
    pub probe: Option<ProbeSpec>,
    pub engine: Option<Engine>,
    pub sweep: Option<SweepPoint>,
}

impl WorkloadDraft {
    /// Returns the workload on these targets.
    ///
    /// # Errors
    /// Fails like [`JobDraft::job_on`], and if the engine cannot issue the depth or the trims of a
    /// job.
    pub fn workload_on(&self, targets: Targets) -> Result<Workload, InputError> {
        self.jobs.iter().try_for_each(|job| job.check_depth(self.engine))?;
        self.jobs.iter().try_for_each(|job| job.check_trims(self.engine))?;
        self.jobs.iter().try_for_each(|job| job.check_fio_options(self.engine))?;
        let jobs =
            self.jobs.iter().map(|job| job.job_on(targets)).collect::<Result<Vec<_>, _>>()?;
        let (name, probe, sweep) = (self.name.clone(), self.probe.clone(), self.sweep.clone());
        let by_fio = self.jobs.iter().any(|job| !job.job.fio_options.is_empty());
        let engine = self.engine.or(by_fio.then_some(Engine::Fio));
        // Engines have no effect on a probe.
        let engine = engine.filter(|_| probe.is_none());
        Ok(Workload { name, jobs, probe, engine, sweep })
    }
}

/// Returns the draft of `--rw randread --bs 4k --iodepth 32`, or those of a sweep: `--iodepth
/// 1,4,16`.
///
/// # Errors
/// A word is unknown, or does not accept its value.
pub(super) fn drafts_from_words(
    words: &[(String, String)],
) -> Result<Vec<WorkloadDraft>, InputError> {
    let origin = Origin::command_line();
    let mut job = JobWords::default();
    for (key, value) in words {
        if !job.set_word(key, value, &origin) {
            return Err(origin.error_at_key(key, unknown_word(key)));
        }
    }
    sweep::drafts(&job, None, None)
}

pub fn name_of(job: &Job) -> String {
    name_without(job, &[])
}

pub(super) fn name_without(job: &Job, words: &[&str]) -> String {
    let parts = name_parts(job)
        .into_iter()
        .filter(|(word, part)| !words.contains(word) && !part.is_empty());
    parts.map(|(_, part)| part).collect::<Vec<_>>().join("-")
}

/// Returns the parts of a job's name, each with the key of fio that it shows. Values that a name
/// does not show are empty.
fn name_parts(job: &Job) -> [(&'static str, String); 11] {
    let mix =
        if job.rw.reads() && job.rw.writes() { job.rwmixread.to_string() } else { String::new() };
    let jobs = if job.numjobs > 1 { format!("x{}", job.numjobs) } else { String::new() };
    let sync = match (job.fsync, job.fdatasync) {
        (0, 0) => String::new(),
        (0, every) => format!("fdatasync{every}"),
        (every, _) => format!("fsync{every}"),
    };
    let rate = job.rate_iops.map(|rate| format!("rate{rate}")).unwrap_or_default();
    let prio = match (job.prioclass, job.prio) {
        (None, None) => String::new(),
        (class, level) => format!("prio{}.{}", class.unwrap_or(0), level.unwrap_or(0)),
    };
    let cpus = match job.cpus_allowed.as_slice() {
        [] => String::new(),
        cpus => format!(
            "{}{}",
            if job.cpus_split { "cpusplit" } else { "cpus" },
            list_word(cpus).replace(',', "+")
        ),
    };
    let distribution = match job.random_distribution {
        Distribution::Random => String::new(),
        skewed => skewed.to_string().replace(':', ""),
    };
    [
        ("bs", block_size_word(job.bs)),
        ("rw", format!("{}{mix}", job.rw.word())),
        ("random_distribution", distribution),
        ("norandommap", if job.random_map { "map".to_owned() } else { String::new() }),
        ("iodepth", format!("qd{}", job.iodepth)),
        ("numjobs", jobs),
        ("fsync", sync),
        ("rate_iops", rate),
        ("iomem", if job.iomem == Iomem::MmapHuge { "huge".to_owned() } else { String::new() }),
        ("prio", prio),
        ("cpus_allowed", cpus),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_the_command_line() {
        let workload = workload(&words(&[
            ("rw", "randrw"),
            ("bs", "8k"),
            ("iodepth", "32"),
            ("numjobs", "4"),
            ("rwmixwrite", "30"),
            ("size", "1GiB"),
        ]));
        insta::assert_json_snapshot!(workload);
    }

    #[test]
    fn none_is_random_reads_one_at_a_time() {
        let workload = workload(&[]);
        assert_eq!(workload.name, "4k-randread-qd1");
        assert_eq!(workload.jobs, [Job { name: "4k-randread-qd1".into(), ..Job::default() }]);
    }

    fn workload(words: &[(String, String)]) -> Workload {
        let drafts = drafts_from_words(words).unwrap();
        assert_eq!(drafts.len(), 1);
        drafts[0].workload_on(Targets::default()).unwrap()
    }

    fn words(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    proptest! {
        #[test]
        fn a_checked_region_lies_within_the_file(
            size in proptest::option::of(any::<u64>()),
            percent in proptest::option::of(0u8..=100),
            offset in any::<u64>(),
            target in 1u64..1 << 62,
        ) {
            let mut job = JobWords::default();
            let origin = Origin::command_line();
            job.set_word("offset", &(offset % 1_000_000_007).to_string(), &origin);
            match (size, percent) {
                (Some(size), _) => { job.set_word("size", &(size % (2 * target).max(1)).to_string(), &origin); }
                (None, Some(percent)) => { job.set_word("size", &format!("{percent}%"), &origin); }
                (None, None) => {}
            }
            if let Ok(job) = job.draft(super::super::values::Dialect::Fio).unwrap().job_on(Targets { smallest: Some(target), all_declared: true }) {
                prop_assert!(job.offset + job.size.unwrap_or(job.bs) <= target);
                prop_assert!(job.size.unwrap_or(job.bs) >= job.bs);
            }
        }
    }
}
