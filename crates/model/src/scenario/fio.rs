//! fio job files as fio reads them: sections, `[global]`, includes, comments, `${VAR}`. Each key is
//! honoured, or noted as having no effect here, or refused with its line: a key that shapes the
//! load is never dropped in silence. (Behaviour checked with fio 3.33.)

use super::Engine;
use super::draft::{JobDraft, WorkloadDraft};
use super::error::{Fault, InputError, Origin};
use super::jobfile::{
    COMMANDS, CPU, DATA, JobFile, Noted, Notes, OFFSETS, Open, PACE, REPLAY, REPORTS, Shaping,
    TARGET, TIMING, Unused, VERIFY, unknown_key,
};
use super::sweep;
use super::values::Dialect;
use super::words::{JobWords, canonical, known_words};
use iotax_load::{Distribution, EngineName, Job};
use iotax_units::fio;
use std::path::Path;

/// Reads a job file and what it includes.
///
/// # Errors
/// A file cannot be read, a line cannot be honoured, or there is no job section.
pub fn read_fio_job(path: &Path) -> Result<JobFile, InputError> {
    read_with(path, &|name| std::env::var(name).ok())
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

fn read_with(path: &Path, environment: Environment) -> Result<JobFile, InputError> {
    let sections = FioLines { environment, open: Open::default() }.sections(path)?;
    let mut reader =
        JobFileReader { global: Pairs::new(), drafts: Vec::new(), notes: Notes::default() };
    for section in sections {
        reader.section(section)?;
    }
    if reader.drafts.is_empty() {
        let fault = Fault::hint("no job section", "begin a job with a line such as [randread]");
        return Err(InputError::new(path.display().to_string(), fault));
    }
    let drafts = reader.drafts.into_iter().map(JobGroup::draft).collect::<Result<_, _>>()?;
    Ok(JobFile { drafts, notes: reader.notes.sentences })
}

/// `key` or `key=value`, with its position.
#[derive(Clone, Debug)]
struct Pair {
    key: String,
    value: Option<String>,
    origin: Origin,
}

type Pairs = Vec<Pair>;

struct FioSection {
    name: String,
    origin: Origin,
    pairs: Pairs,
}

impl FioSection {
    /// Returns true for a global section; fio compares the first six letters.
    fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

struct FioLines<'a> {
    environment: Environment<'a>,
    open: Open,
}

impl FioLines<'_> {
    fn sections(&mut self, path: &Path) -> Result<Vec<FioSection>, InputError> {
        let mut sections: Vec<FioSection> = Vec::new();
        let text = self.open.enter(path, None)?;
        for (line, origin) in lines_of(&text, path) {
            if line.starts_with('[') {
                let name = section_name(line, &origin)?;
                sections.push(FioSection { name, origin, pairs: Vec::new() });
                continue;
            }
            let Some(section) = sections.last_mut() else {
                let fault = Fault::hint(
                    format!("\"{line}\" is before any section"),
                    "begin with a line such as [global]",
                );
                return Err(origin.error_here(fault));
            };
            self.read_job_line(line, &origin, path, &mut section.pairs)?;
        }
        self.open.leave();
        Ok(sections)
    }

    fn read_job_line(
        &mut self,
        line: &str,
        origin: &Origin,
        path: &Path,
        pairs: &mut Pairs,
    ) -> Result<(), InputError> {
        if let Some(name) = included(line) {
            return self.include(name, origin, path, pairs);
        }
        let line = self.expanded(line, origin)?;
        let (key, value) = fio::option(&line);
        pairs.push(Pair {
            key: key.to_owned(),
            value: value.map(str::to_owned),
            origin: origin.clone(),
        });
        Ok(())
    }

    /// Reads an included file. fio allows no sections in it: its lines join the section that
    /// includes it.
    fn include(
        &mut self,
        name: &str,
        origin: &Origin,
        from: &Path,
        pairs: &mut Pairs,
    ) -> Result<(), InputError> {
        let path = from.parent().unwrap_or(Path::new("")).join(name);
        let text = self.open.enter(&path, Some(origin))?;
        for (line, inner) in lines_of(&text, &path) {
            if line.starts_with('[') {
                let fault = Fault::hint(
                    "a section in an included file",
                    "an included file has only lines of key=value",
                );
                return Err(inner.error_here(fault));
            }
            self.read_job_line(line, &inner, &path, pairs)?;
        }
        self.open.leave();
        Ok(())
    }

    /// Expands `${NAME}` from the environment. An unset variable is refused: fio would leave it
    /// empty, which changes the load.
    fn expanded(&self, line: &str, origin: &Origin) -> Result<String, InputError> {
        let mut text = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, tail)) = after.split_once('}') else {
                return Err(origin.error_here(Fault::hint("\"${\" without \"}\"", "write ${NAME}")));
            };
            let value = (self.environment)(name).ok_or_else(|| {
                let why = format!("environment variable \"{name}\" is not set");
                origin
                    .error_here(Fault::hint(why, format!("run with {name}=... before the command")))
            })?;
            text.push_str(before);
            text.push_str(&value);
            rest = tail;
        }
        Ok(text + rest)
    }
}

/// Returns the lines that are not blank or comments. fio cuts at `;` and `#` anywhere.
fn lines_of<'a>(text: &'a str, path: &Path) -> impl Iterator<Item = (&'a str, Origin)> {
    let file = path.display().to_string();
    text.lines().enumerate().filter_map(move |(index, whole)| {
        let line = whole.split([';', '#']).next().unwrap_or_default().trim();
        let column = whole.chars().take_while(|c| c.is_whitespace()).count() + 1;
        (!line.is_empty())
            .then(|| (line, Origin { file: file.clone(), at: Some((index + 1, column)) }))
    })
}

fn section_name(line: &str, origin: &Origin) -> Result<String, InputError> {
    match fio::section(line) {
        Some("") => Err(origin.error_here(Fault::new("a section without a name"))),
        Some(name) => Ok(name.to_owned()),
        None => {
            Err(origin.error_here(Fault::hint(format!("\"{line}\" is no section"), "write [NAME]")))
        }
    }
}

/// Returns the file of a line `include FILE`; a blank, a tab or `=` follows the word. `None`:
/// another line.
fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let name = rest.strip_prefix([' ', '\t', '='])?;
    Some(name.trim())
}

struct JobFileReader {
    global: Pairs,
    drafts: Vec<JobGroup>,
    notes: Notes,
}

impl JobFileReader {
    /// Adds a section. Later globals extend earlier ones, for the sections that follow.
    fn section(&mut self, section: FioSection) -> Result<(), InputError> {
        if section.is_global() {
            self.global.extend(section.pairs);
            return Ok(());
        }
        let pairs: Pairs = self.global.iter().cloned().chain(section.pairs).collect();
        let job = FioJob::from_section(section.name, section.origin, &pairs, &mut self.notes)?;
        match self.drafts.last_mut() {
            Some(group) if !job.stonewall => group.jobs.push(job),
            _ => self.drafts.push(JobGroup { jobs: vec![job] }),
        }
        Ok(())
    }
}

struct FioJob {
    draft: JobDraft,
    stonewall: bool,
    engine: FioEngine,
    origin: Origin,
}

impl FioJob {
    fn from_section(
        section: String,
        origin: Origin,
        pairs: &[Pair],
        notes: &mut Notes,
    ) -> Result<Self, InputError> {
        let mut words = JobWords::default();
        let mut name = section;
        let mut stonewall = false;
        let mut engine = (FioEngine::Sync, None);
        let mut never_read = None;
        for pair in pairs {
            match pair.key.as_str() {
                "stonewall" | "wait_for_previous" => stonewall = pair.flag()?,
                "name" => name = pair.required_value()?.to_owned(),
                // A flag of fio without a value.
                "norandommap" => {
                    words.set_word(
                        "norandommap",
                        if pair.flag()? { "1" } else { "0" },
                        &pair.origin,
                    );
                }
                "do_verify" => never_read = (!pair.flag()?).then_some(pair),
                "ioengine" => engine = (FioEngine::from_pair(pair)?, Some(pair)),
                key => match canonical(key) {
                    Some(word) => {
                        sweep::refuse_in_job_file(word, pair.required_value()?)
                            .map_err(|fault| pair.origin.error_at_key(key, fault))?;
                        words.set_word(key, pair.required_value()?, &pair.origin);
                    }
                    None => pair.without_effect(notes)?,
                },
            }
        }
        let mut draft = words.draft(Dialect::Fio)?;
        draft.job.name = name;
        verified(&draft.job, &words, never_read, notes)?;
        words.thousands().for_each(|note| notes.add(note));
        let job = FioJob { draft, stonewall, engine: engine.0, origin };
        Ok(job.like_fio(engine.1, notes))
    }

    fn like_fio(mut self, engine: Option<&Pair>, notes: &mut Notes) -> Self {
        let (line, name) = (self.origin.file_and_line(), self.draft.job.name.clone());
        if self.engine == FioEngine::Sync && self.draft.job.iodepth > 1 {
            let which =
                engine.and_then(|pair| pair.value.as_deref()).unwrap_or("psync, fio's default");
            notes.add(format!(
                "{line}: job \"{name}\": iodepth={} becomes 1, as in fio: its engine {which} issues one I/O at a time",
                self.draft.job.iodepth
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
        if let (FioEngine::Async, Some(pair)) = (self.engine, engine) {
            let value = pair.value.as_deref().unwrap_or_default();
            notes.add(format!(
                "{}: \"ioengine={value}\": iotax chooses an asynchronous engine of its own",
                pair.origin.file_and_line()
            ));
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
}

/// Notes that iotax stamps and reads back the data of a job with `verify` in its own way. Refuses
/// such a job if `do_verify` is 0.
fn verified(
    job: &Job,
    words: &JobWords,
    never_read: Option<&Pair>,
    notes: &mut Notes,
) -> Result<(), InputError> {
    let Some((value, origin)) = words.written_word("verify").filter(|_| job.verify) else {
        return Ok(());
    };
    if let Some(pair) = never_read {
        let why = "cannot be honoured with verify: what is stamped is read back, as nobody else could do so later";
        return Err(pair
            .origin
            .error_at_key(&pair.key, Fault::hint(why, "leave out verify, or do_verify")));
    }
    notes.add(format!(
        "{}: \"verify={value}\": iotax puts a stamp of its own on each sector, with a CRC-32, and reads all of it back at the end",
        origin.file_and_line()
    ));
    Ok(())
}

impl Pair {
    fn required_value(&self) -> Result<&str, InputError> {
        self.value.as_deref().filter(|value| !value.is_empty()).ok_or_else(|| {
            self.origin.error_at_key(
                &self.key,
                Fault::hint("a value is missing", format!("write {}=VALUE", self.key)),
            )
        })
    }

    /// Returns the value of a flag, 0 or 1; a flag without a value is set.
    fn flag(&self) -> Result<bool, InputError> {
        match self.value.as_deref() {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => Err(self
                .origin
                .error_at_key(&self.key, Fault::new(format!("\"{other}\" is not 0 or 1")))),
        }
    }

    fn without_effect(&self, notes: &mut Notes) -> Result<(), InputError> {
        let key = self.key.as_str();
        match UNUSED.note_or_refuse(key, self.value.as_deref(), &self.origin, notes)? {
            true => Ok(()),
            false => Err(self.origin.error_at_key(key, unknown_key(key, &known_keys()))),
        }
    }
}

fn known_keys() -> Vec<&'static str> {
    let own = ["stonewall", "wait_for_previous", "name", "ioengine", "do_verify", "include"];
    known_words().into_iter().chain(own).chain(UNUSED.keys()).collect()
}

/// What an engine of fio means for iotax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FioEngine {
    Sync,
    /// Several I/Os at a time per thread: as many as iodepth says.
    Async,
    /// A queue in front of one I/O at a time.
    Posix,
    Null,
}

impl FioEngine {
    fn from_pair(pair: &Pair) -> Result<Self, InputError> {
        match pair.required_value()? {
            "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" => Ok(FioEngine::Sync),
            "libaio" | "io_uring" | "windowsaio" | "solarisaio" => Ok(FioEngine::Async),
            "posixaio" => Ok(FioEngine::Posix),
            "null" => Ok(FioEngine::Null),
            other => {
                let known = [
                    "psync",
                    "sync",
                    "pvsync",
                    "libaio",
                    "io_uring",
                    "posixaio",
                    "windowsaio",
                    "null",
                ];
                let Fault { hint, .. } = Fault::unknown("ioengine", other, &known);
                let why = format!("\"{other}\" issues I/O that no engine of iotax issues");
                Err(pair.origin.error_at_key(&pair.key, Fault { why, hint }))
            }
        }
    }
}

struct JobGroup {
    jobs: Vec<FioJob>,
}

impl JobGroup {
    fn draft(self) -> Result<WorkloadDraft, InputError> {
        let engine = self.engine()?;
        let names: Vec<&str> = self.jobs.iter().map(|job| job.draft.job.name.as_str()).collect();
        let name = match names.as_slice() {
            [first, _, _, _, ..] => format!("{first}+{}more", names.len() - 1),
            few => few.join("+"),
        };
        let jobs = self.jobs.into_iter().map(|job| job.draft).collect();
        Ok(WorkloadDraft { name, jobs, probe: None, engine, sweep: None })
    }

    /// Returns the engine of all jobs. `None`: iotax chooses one, on which a synchronous job keeps
    /// its depth of 1. Refuses null or posixaio beside another engine.
    fn engine(&self) -> Result<Option<Engine>, InputError> {
        let all = |engine| self.jobs.iter().all(|job| job.engine == engine);
        if all(FioEngine::Null) {
            return Ok(Some(Engine::Native(EngineName::Null)));
        }
        if let Some(job) = self.jobs.iter().find(|job| job.engine == FioEngine::Null) {
            let fault = Fault::hint(
                "ioengine=null beside jobs that do I/O",
                "put a stonewall between them",
            );
            return Err(job.origin.error_at_key("ioengine", fault));
        }
        if all(FioEngine::Posix) {
            return Ok(Some(Engine::Native(EngineName::PosixAio)));
        }
        if let Some(job) = self.jobs.iter().find(|job| job.engine == FioEngine::Posix) {
            let why = "ioengine=posixaio beside jobs of another one, and all of a workload have one engine";
            let fault = Fault::hint(why, "put a stonewall between them");
            return Err(job.origin.error_at_key("ioengine", fault));
        }
        Ok(all(FioEngine::Sync).then_some(Engine::Native(EngineName::Sync)))
    }
}

const UNUSED: Unused = Unused { noted: NOTED, shaping: SHAPING };

const CHECKED: &str =
    "what is wrong with verify is counted and shown, to the end of the run, and sets its exit code";
const BACK: &str =
    "what is written with verify is read back in order, by all threads that wrote it";
const ENGINE: &str = "iotax sets its own engine up";

/// Keys that do not shape the load, with the reason why they have no effect.
const NOTED: &[Noted] = &[
    ("description", "it is a comment"),
    ("group_reporting", "jobs of a workload are reported together"),
    ("new_group", REPORTS),
    ("thread", "iotax always uses threads"),
    ("filename", TARGET),
    ("directory", TARGET),
    ("filename_format", TARGET),
    ("unique_filename", TARGET),
    ("opendir", TARGET),
    ("lockfile", TARGET),
    ("nrfiles", "the target is one file or device, the stack's"),
    ("openfiles", TARGET),
    ("file_service_type", TARGET),
    ("fallocate", TARGET),
    ("create_serialize", TARGET),
    ("create_fsync", TARGET),
    ("create_on_open", TARGET),
    ("allow_file_create", TARGET),
    ("unlink", TARGET),
    ("overwrite", "the file is always written in full before measuring"),
    ("runtime", TIMING),
    ("timeout", TIMING),
    ("time_based", TIMING),
    ("ramp_time", "the start of each slice is discarded"),
    ("loops", TIMING),
    ("io_size", TIMING),
    ("io_limit", TIMING),
    ("number_ios", TIMING),
    ("steadystate", TIMING),
    ("steadystate_duration", TIMING),
    ("steadystate_ramp_time", TIMING),
    ("exitall", TIMING),
    ("softrandommap", "the random map of iotax takes no memory that might be lacking"),
    ("randrepeat", "offsets follow randseed"),
    ("allrandrepeat", "offsets follow randseed"),
    (
        "random_generator",
        "offsets come from iotax's generator; whether blocks come again is said by norandommap",
    ),
    (
        "refill_buffers",
        "write data are incompressible unless buffer_compress_percentage says otherwise",
    ),
    (
        "scramble_buffers",
        "write data are incompressible unless buffer_compress_percentage says otherwise",
    ),
    ("rw_sequencer", "it acts only on rw=...:N"),
    ("rwmixcycle", "fio itself ignores it"),
    ("userspace_reap", ENGINE),
    ("fixedbufs", ENGINE),
    ("registerfiles", ENGINE),
    ("nonvectored", ENGINE),
    ("invalidate", "iotax never drops the page cache; direct=1 goes past it"),
    ("clocksource", REPORTS),
    ("gtod_reduce", REPORTS),
    ("gtod_cpu", REPORTS),
    ("disable_lat", REPORTS),
    ("disable_clat", REPORTS),
    ("disable_slat", REPORTS),
    ("disable_bw", REPORTS),
    ("disable_bw_measurement", REPORTS),
    ("disk_util", REPORTS),
    ("unified_rw_reporting", REPORTS),
    ("per_job_logs", REPORTS),
    ("stats", REPORTS),
    ("write_bw_log", REPORTS),
    ("write_lat_log", REPORTS),
    ("write_iops_log", REPORTS),
    ("write_hist_log", REPORTS),
    ("log_avg_msec", REPORTS),
    ("log_hist_msec", REPORTS),
    ("log_hist_coarseness", REPORTS),
    ("log_max_value", REPORTS),
    ("log_offset", REPORTS),
    ("log_unix_epoch", REPORTS),
    ("bwavgtime", REPORTS),
    ("iopsavgtime", REPORTS),
    ("clat_percentiles", REPORTS),
    ("lat_percentiles", REPORTS),
    ("slat_percentiles", REPORTS),
    ("percentile_list", REPORTS),
    ("significant_figures", REPORTS),
    ("unit_base", REPORTS),
    ("log_entries", REPORTS),
    ("log_prio", REPORTS),
    ("log_compression", REPORTS),
    ("log_compression_cpus", REPORTS),
    ("log_store_compressed", REPORTS),
    ("log_alternate_epoch", REPORTS),
    ("log_alternate_epoch_clock_id", REPORTS),
    ("block_error_percentiles", REPORTS),
    ("error_dump", REPORTS),
    ("unlink_each_loop", TARGET),
    ("exit_what", TIMING),
    ("exitall_on_error", TIMING),
    ("verify_fatal", CHECKED),
    ("verify_dump", CHECKED),
    ("verify_async", BACK),
    ("verify_async_cpus", BACK),
    ("verifysort", BACK),
    ("verifysort_nr", BACK),
    ("verify_state_save", "what is verified is read back by the run that wrote it"),
];

const BLOCKS: &str = "it changes the size or place of blocks";
const BATCHES: &str = "it changes how many I/Os are issued or reaped at once";
const CACHE: &str = "it changes what the page cache holds";
const TRIM: &str = "it trims what a job wrote, which is another load";
const STAMP: &str = "what is verified has iotax's own stamp";
const LOAD: &str = "it changes what I/O is issued";

/// Keys that shape the load, each with the values at which it changes nothing, what it changes
/// otherwise, and a hint.
const SHAPING: &[Shaping] = &[
    ("bssplit", &[], BLOCKS, "write one job for each block size"),
    ("bsrange", &[], BLOCKS, "write bs=SIZE"),
    ("blocksize_range", &[], BLOCKS, "write bs=SIZE"),
    ("bs_unaligned", &["0"], BLOCKS, ""),
    ("blocksize_unaligned", &["0"], BLOCKS, ""),
    ("bs_is_seq_rand", &["0"], BLOCKS, ""),
    ("ba", &[], BLOCKS, "I/Os are aligned to bs"),
    ("blockalign", &[], BLOCKS, "I/Os are aligned to bs"),
    ("filesize", &[], "it changes the region", "write size=SIZE"),
    (
        "fill_device",
        &["0"],
        "it changes the region",
        "write no size: the region is the whole target",
    ),
    ("fill_fs", &["0"], "it changes the region", "write no size: the region is the whole target"),
    ("file_append", &["0"], "it changes the region", ""),
    ("offset_align", &["0"], OFFSETS, ""),
    ("experimental_verify", &["0"], VERIFY, ""),
    ("zonemode", &["none"], OFFSETS, ""),
    ("zonesize", &["0"], OFFSETS, ""),
    ("zonerange", &["0"], OFFSETS, ""),
    ("zoneskip", &["0"], OFFSETS, ""),
    ("zonecapacity", &["0"], OFFSETS, ""),
    ("read_beyond_wp", &["0"], OFFSETS, ""),
    ("iodepth_batch", &["1"], BATCHES, ""),
    ("iodepth_batch_submit", &["1"], BATCHES, ""),
    ("iodepth_batch_complete", &["1"], BATCHES, ""),
    ("iodepth_batch_complete_min", &["1"], BATCHES, ""),
    ("iodepth_batch_complete_max", &["1"], BATCHES, ""),
    ("iodepth_low", &[], BATCHES, ""),
    ("serialize_overlap", &["0"], PACE, ""),
    ("io_submit_mode", &["inline"], PACE, ""),
    ("hipri", &["0"], "it polls for completions", ""),
    ("sqthread_poll", &["0"], "it lets a kernel thread issue", ""),
    ("nowait", &["0"], LOAD, ""),
    ("rate", &[], PACE, "write rate_iops=N"),
    ("rate_min", &[], PACE, ""),
    ("rate_iops_min", &[], PACE, ""),
    ("rate_process", &["linear"], PACE, ""),
    ("rate_cycle", &[], PACE, ""),
    ("rate_ignore_thinktime", &["0"], PACE, ""),
    ("thinktime", &["0"], PACE, ""),
    ("thinktime_spin", &["0"], PACE, ""),
    ("thinktime_blocks", &["1"], PACE, ""),
    ("thinktime_iotime", &["0"], PACE, ""),
    ("startdelay", &["0"], PACE, "jobs of a workload begin together"),
    ("latency_target", &["0"], PACE, ""),
    ("latency_window", &["0"], PACE, ""),
    ("latency_percentile", &["100"], PACE, ""),
    ("latency_run", &["0"], PACE, ""),
    ("max_latency", &["0"], "it ends a run", ""),
    ("flow", &["0"], PACE, ""),
    ("flow_id", &["0"], PACE, ""),
    ("flow_sleep", &["0"], PACE, ""),
    ("wait_for", &[], "jobs wait for all before them or for none", "write stonewall"),
    (
        "sync",
        &["0", "none"],
        "each write would be durable when it returns",
        "write fsync=1 or fdatasync=1",
    ),
    ("atomic", &["0"], LOAD, ""),
    ("write_barrier", &["0"], LOAD, "write fdatasync=N"),
    ("sync_file_range", &[], LOAD, "write fdatasync=N"),
    ("fsync_on_close", &["0"], LOAD, "write end_fsync=1"),
    ("fadvise_hint", &[], CACHE, ""),
    ("pre_read", &["0"], CACHE, ""),
    ("zero_buffers", &["0"], DATA, "write buffer_compress_percentage=100"),
    ("buffer_pattern", &[], DATA, ""),
    ("buffer_compress_chunk", &[], DATA, ""),
    ("dedupe_mode", &["repeat"], DATA, ""),
    ("write_hint", &["none"], LOAD, ""),
    (
        "verify_only",
        &["0"],
        VERIFY,
        "durability trials read back what outlived a crash: --durability",
    ),
    ("verify_pattern", &[], STAMP, "leave it out, and write verify=crc32c"),
    ("verify_pattern_interval", &[], STAMP, "leave it out, and write verify=crc32c"),
    ("verify_interval", &[], STAMP, "leave it out: each sector of 512 bytes has a stamp"),
    ("verify_offset", &["0"], STAMP, "leave it out"),
    ("verify_header_seed", &["1"], STAMP, "leave it out"),
    (
        "verify_write_sequence",
        &["1"],
        STAMP,
        "leave it out: the last write of a block must be there",
    ),
    (
        "verify_backlog",
        &["0"],
        VERIFY,
        "leave it out: a mix (rw=randrw) checks its own reads as they come back",
    ),
    (
        "verify_backlog_batch",
        &["0"],
        VERIFY,
        "leave it out: a mix (rw=randrw) checks its own reads as they come back",
    ),
    (
        "verify_state_load",
        &["0"],
        VERIFY,
        "durability trials read back what outlived a crash: --durability",
    ),
    ("trim_percentage", &["0"], TRIM, ""),
    ("trim_backlog", &["0"], TRIM, ""),
    ("trim_verify_zero", &["0"], TRIM, ""),
    ("read_iolog", &[], REPLAY, ""),
    ("write_iolog", &[], "this version does not record offsets", ""),
    ("profile", &[], LOAD, ""),
    ("exec_prerun", &[], COMMANDS, "run it yourself before"),
    ("exec_postrun", &[], COMMANDS, "run it yourself afterwards"),
    (
        "ioscheduler",
        &[],
        "it changes the device's scheduler",
        "set it before the run; it is recorded",
    ),
    ("cpumask", &[], CPU, "write cpus_allowed=0,2"),
    ("numa_cpu_nodes", &[], CPU, ""),
    ("numa_mem_policy", &[], CPU, ""),
    ("nice", &["0"], CPU, ""),
    ("cgroup", &[], CPU, ""),
    ("cgroup_weight", &[], CPU, ""),
    ("uid", &[], CPU, ""),
    ("gid", &[], CPU, ""),
    ("lockmem", &["0"], "the kind of memory changes what is measured", ""),
    ("hugepage-size", &[], "the kind of memory changes what is measured", ""),
    ("kb_base", &["1024"], "it changes how every size is read", "write sizes with kb_base=1024"),
    (
        "ignore_error",
        &[],
        "an I/O that fails is always counted as failed",
        "write continue_on_error=io",
    ),
    ("create_only", &["0"], "it does no I/O", ""),
    ("trim_backlog_batch", &["0"], TRIM, ""),
    ("read_iolog_chunked", &["0"], REPLAY, ""),
    ("replay_no_stall", &["0"], REPLAY, ""),
    ("replay_redirect", &[], REPLAY, ""),
    ("replay_scale", &[], REPLAY, ""),
    ("replay_align", &[], REPLAY, ""),
    ("replay_time_scale", &[], REPLAY, ""),
    ("replay_skip", &[], REPLAY, ""),
    ("merge_blktrace_file", &[], REPLAY, ""),
    ("merge_blktrace_scalars", &[], REPLAY, ""),
    ("merge_blktrace_iters", &[], REPLAY, ""),
    ("max_open_zones", &["0"], OFFSETS, ""),
    ("job_max_open_zones", &["0"], OFFSETS, ""),
    ("ignore_zone_limits", &["0"], OFFSETS, ""),
    ("zone_reset_threshold", &["0"], OFFSETS, ""),
    ("zone_reset_frequency", &["0"], OFFSETS, ""),
    ("thinktime_blocks_type", &["complete"], PACE, ""),
    ("dedupe_working_set_percentage", &[], DATA, ""),
    ("dedupe_global", &["0"], DATA, ""),
    ("cgroup_nodelete", &["0"], CPU, ""),
    ("allow_mounted_write", &["0"], "a mounted device is never written", ""),
];

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;
