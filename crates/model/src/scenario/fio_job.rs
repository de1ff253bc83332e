//! A section of a fio job file as a job, and the jobs between two stonewalls as a workload. What
//! the generator of iotax does not honour and fio does makes the installed fio run all jobs of that
//! workload; only the target is replaced.

use super::Engine;
use super::draft::{JobDraft, WorkloadDraft};
use super::error::{Fault, InputError, Origin};
use super::fio::Pair;
use super::fio_section::FioWish;
use super::jobfile::Notes;
use iotax_load::fio_options::{self, IOENGINES};
use iotax_load::{Distribution, EngineName};

/// A section that was read.
pub(super) struct FioJob {
    pub(super) section: String,
    pub(super) draft: JobDraft,
    pub(super) stonewall: bool,
    pub(super) wait_for: Option<Pair>,
    pub(super) engine: FioEngine,
    pub(super) ioengine: Option<Pair>,
    pub(super) wishes: Vec<FioWish>,
    pub(super) verify: Option<(String, Origin)>,
    pub(super) kb_base_1000: bool,
    pub(super) origin: Origin,
}

impl FioJob {
    /// Applies what fio does with a job beyond its keys, and notes it.
    pub(super) fn like_fio(mut self, notes: &mut Notes) -> Self {
        let (line, name) = (self.origin.file_and_line(), self.draft.job.name.clone());
        if self.engine == FioEngine::Sync && self.draft.job.iodepth > 1 {
            let which = self.ioengine.as_ref().and_then(|pair| pair.value.as_deref());
            notes.add(format!(
                "{line}: job \"{name}\": iodepth={} becomes 1, as in fio: its engine {} issues one I/O at a time",
                self.draft.job.iodepth,
                which.unwrap_or("psync, fio's default"),
            ));
            self.draft.job.iodepth = 1;
        }
        let distribution = self.draft.job.random_distribution;
        if !distribution.is_random() && !self.draft.job.rw.random() {
            notes.add(format!(
                "{line}: job \"{name}\": random_distribution={distribution} has no effect, as in fio: rw={} is sequential",
                self.draft.job.rw.word()
            ));
            self.draft.job.random_distribution = Distribution::Random;
        }
        if self.engine == FioEngine::Posix && self.draft.job.iodepth > 1 {
            notes.add(format!(
                "{line}: job \"{name}\": ioengine=posixaio has one I/O in flight in truth, as in fio on Linux: the others of iodepth={} wait in its queue",
                self.draft.job.iodepth
            ));
        }
        if !self.draft.job.direct {
            notes.add(format!(
                "{line}: job \"{name}\": direct=0, so the page cache is a part of what is measured"
            ));
        }
        self
    }

    fn has_wish(&self, key: &str) -> bool {
        self.wishes.iter().any(|wish| wish.key == key)
    }

    /// Leaves the job to the engines of iotax.
    fn by_iotax(self, notes: &mut Notes) -> JobDraft {
        if let (FioEngine::Async, Some(pair)) = (self.engine, &self.ioengine) {
            notes.add(format!(
                "{}: \"{}\": iotax chooses an asynchronous engine of its own",
                pair.origin.file_and_line(),
                pair.text()
            ));
        }
        if let Some((value, origin)) = self.verify.as_ref().filter(|_| self.draft.job.verify) {
            notes.add(format!(
                "{}: \"verify={value}\": iotax puts a stamp of its own on each sector, with a CRC-32, and reads all of it back at the end",
                origin.file_and_line()
            ));
        }
        self.draft
    }

    /// Leaves the job to the installed fio.
    fn by_fio(mut self, notes: &mut Notes) -> JobDraft {
        let ioengine = self.ioengine.as_ref().and_then(|pair| pair.value.as_deref());
        let mut options = vec![format!("ioengine={}", ioengine.unwrap_or("psync"))];
        options.extend(self.kb_base_1000.then(|| "kb_base=1000".to_owned()));
        for wish in self.wishes.iter().filter(|wish| wish.key != "ioengine") {
            options.push(wish.option.clone());
        }
        for wish in &self.wishes {
            let why = fio_options::find(wish.key).map_or("", |option| option.why);
            notes.add(format!(
                "{}: \"{}\": by the installed fio, since {why}",
                wish.pair.origin.file_and_line(),
                wish.pair.text()
            ));
        }
        let stamped = std::mem::take(&mut self.draft.job.verify);
        if let Some((value, origin)) = self.verify.as_ref().filter(|_| stamped) {
            options.push(format!("verify={value}"));
            notes.add(format!(
                "{}: \"verify={value}\": by the installed fio, which stamps what it writes",
                origin.file_and_line()
            ));
        }
        if (stamped || self.has_wish("verify")) && !self.has_wish("do_verify") {
            options.push("do_verify=0".to_owned());
            notes.add(format!(
                "{}: job \"{}\": nothing is read back but by verify_backlog, since each slice is a run of fio with do_verify=0",
                self.origin.file_and_line(),
                self.draft.job.name
            ));
        }
        self.draft.job.continue_on_error |=
            self.has_wish("continue_on_error") || self.has_wish("ignore_error");
        self.draft.job.fio_options = options;
        self.draft.fio_origin =
            self.wishes.first().map(|wish| (wish.pair.written.clone(), wish.pair.origin.clone()));
        self.draft
    }
}

/// What an engine of fio means for iotax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FioEngine {
    Sync,
    /// Several I/Os at a time per thread: as many as iodepth says.
    Async,
    /// A queue in front of one I/O at a time.
    Posix,
    Null,
    /// Another engine of fio for files or devices.
    Other,
}

impl FioEngine {
    pub(super) fn from_pair(pair: &Pair) -> Result<Self, InputError> {
        match pair.required_value()? {
            "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" => Ok(FioEngine::Sync),
            "libaio" | "io_uring" | "windowsaio" | "solarisaio" => Ok(FioEngine::Async),
            "posixaio" => Ok(FioEngine::Posix),
            // fio's example of an engine in C++ does what its null does.
            "null" | "cpp_null" => Ok(FioEngine::Null),
            other if IOENGINES.contains(&other) => Ok(FioEngine::Other),
            other => {
                let Fault { hint, .. } = Fault::unknown("ioengine", other, IOENGINES);
                let why =
                    format!("\"{other}\" needs more than the file or device that a stack offers");
                Err(pair.error(Fault { why, hint }))
            }
        }
    }
}

/// Jobs that run at once.
pub(super) struct JobGroup {
    pub(super) jobs: Vec<FioJob>,
}

impl JobGroup {
    /// Returns the workload of the jobs.
    ///
    /// # Errors
    /// A job with the engine null is beside jobs that do I/O.
    pub(super) fn draft(self, notes: &mut Notes) -> Result<WorkloadDraft, InputError> {
        let engine = self.engine()?;
        let names: Vec<&str> = self.jobs.iter().map(|job| job.draft.job.name.as_str()).collect();
        let name = match names.as_slice() {
            [first, _, _, _, ..] => format!("{first}+{}more", names.len() - 1),
            few => few.join("+"),
        };
        let draft = |job: FioJob| match engine {
            Some(Engine::Fio) => job.by_fio(notes),
            _ => job.by_iotax(notes),
        };
        let jobs = self.jobs.into_iter().map(draft).collect();
        Ok(WorkloadDraft { name, jobs, probe: None, engine, sweep: None })
    }

    /// Returns the engine of all jobs. `None`: iotax chooses one, on which a synchronous job keeps
    /// its depth of 1.
    fn engine(&self) -> Result<Option<Engine>, InputError> {
        let all = |engine| self.jobs.iter().all(|job| job.engine == engine);
        let wished = self.jobs.iter().any(|job| !job.wishes.is_empty());
        if let Some(job) = self.jobs.iter().find(|job| job.engine == FioEngine::Null) {
            if !all(FioEngine::Null) {
                let hint = "put a stonewall between them";
                let fault = Fault::hint("ioengine=null beside jobs that do I/O", hint);
                return Err(job.origin.error_at_key("ioengine", fault));
            }
        }
        let own = |name| Some(Engine::Native(name));
        Ok(match () {
            () if wished => Some(Engine::Fio),
            () if all(FioEngine::Null) => own(EngineName::Null),
            () if all(FioEngine::Posix) => own(EngineName::PosixAio),
            () if self.jobs.iter().any(|job| job.engine == FioEngine::Posix) => Some(Engine::Fio),
            () => all(FioEngine::Sync).then_some(Engine::Native(EngineName::Sync)),
        })
    }
}
