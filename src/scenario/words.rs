//! fio's words for one job, from a job file, a scenario file or the command line, and what they
//! mean together. Two dialects: fio's own, where `4096` is bytes, and ours, where a size has a unit.
//! It refuses what would not be the load that was written.

use super::error::{Fault, InputError};
use super::{Engine, Workload, block_size_word};
use crate::units;
use iotax_load::{EngineName, Job, Rw};
use std::collections::BTreeMap;

/// How numbers are read, and which defaults hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A scenario file or the command line: sizes have a unit; direct, and no engine named.
    Ours,
    /// A job file: fio's suffixes and fio's defaults (direct=0, a synchronous engine).
    Fio,
}

/// Where a word stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A path, or `command line`.
    pub file: String,
    /// Line and column, from 1.
    pub at: Option<(usize, usize)>,
}

impl Origin {
    /// The command line, which has no lines.
    pub fn command_line() -> Self {
        Origin { file: "command line".to_owned(), at: None }
    }

    /// An error about a key that stands here.
    pub fn error(&self, key: &str, fault: Fault) -> InputError {
        let error = InputError::new(self.file.clone(), fault).key(key);
        match self.at {
            Some(at) => error.at(at),
            None => error,
        }
    }

    /// `FILE:LINE`.
    pub fn line(&self) -> String {
        self.at.map_or_else(|| self.file.clone(), |(line, _)| format!("{}:{line}", self.file))
    }
}

/// One of fio's words that is honoured.
pub struct WordDef {
    /// The word.
    pub name: &'static str,
    /// fio's other words for it.
    pub aliases: &'static [&'static str],
    /// One line.
    pub help: &'static str,
}

/// All words that shape the load.
pub const WORDS: &[WordDef] = &[
    WordDef { name: "rw", aliases: &["readwrite"], help: "read, write, randread, randwrite, rw or randrw" },
    WordDef { name: "rwmixread", aliases: &[], help: "percent of reads in a mix" },
    WordDef { name: "rwmixwrite", aliases: &[], help: "percent of writes in a mix" },
    WordDef { name: "bs", aliases: &["blocksize"], help: "block size" },
    WordDef { name: "iodepth", aliases: &[], help: "I/Os in flight a thread" },
    WordDef { name: "numjobs", aliases: &[], help: "threads" },
    WordDef { name: "size", aliases: &[], help: "bytes of the region, or percent of the target" },
    WordDef { name: "offset", aliases: &["fileoffset"], help: "first byte of the region" },
    WordDef { name: "percentage_random", aliases: &[], help: "percent of I/Os at a random offset" },
    WordDef { name: "fsync", aliases: &[], help: "fsync after so many writes" },
    WordDef { name: "fdatasync", aliases: &[], help: "fdatasync after so many writes" },
    WordDef { name: "end_fsync", aliases: &[], help: "fsync at the end of each slice" },
    WordDef { name: "direct", aliases: &[], help: "O_DIRECT" },
    WordDef { name: "buffered", aliases: &[], help: "the opposite of direct" },
    WordDef { name: "rate_iops", aliases: &[], help: "I/Os a second a thread, issued on schedule" },
    WordDef { name: "buffer_compress_percentage", aliases: &[], help: "how compressible write data are" },
    WordDef { name: "randseed", aliases: &[], help: "seed of offsets, mix and buffers" },
];

/// The word behind a word or its alias.
pub fn canonical(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|def| def.name == word || def.aliases.contains(&word)).map(|def| def.name)
}

/// Every word and alias.
pub fn known_words() -> Vec<&'static str> {
    WORDS.iter().flat_map(|def| std::iter::once(def.name).chain(def.aliases.iter().copied())).collect()
}

/// The words of one job as written; the last one counts, as in fio.
#[derive(Clone, Debug, Default)]
pub struct JobWords {
    values: BTreeMap<&'static str, Written>,
}

#[derive(Clone, Debug)]
struct Written {
    key: String,
    value: String,
    origin: Origin,
}

impl JobWords {
    /// Takes a word; `false` if it is none of [`WORDS`].
    pub fn set(&mut self, key: &str, value: &str, origin: &Origin) -> bool {
        let Some(name) = canonical(key) else {
            return false;
        };
        // The later of "direct" and "buffered" counts, and of the two mixes.
        let slot = match name {
            "buffered" => "direct",
            "rwmixwrite" => "rwmixread",
            other => other,
        };
        let written = Written { key: key.to_owned(), value: value.trim().to_owned(), origin: origin.clone() };
        self.values.insert(slot, written);
        true
    }

    /// What the words mean together.
    ///
    /// # Errors
    /// The first word that has no meaning, with its place.
    pub fn draft(&self, dialect: Dialect) -> Result<JobDraft, InputError> {
        let read = Reader { words: self, dialect };
        let rw = read.get("rw", parse_rw)?.unwrap_or(if dialect == Dialect::Fio {
            Rw::Read
        } else {
            Rw::RandRead
        });
        let default = Job::default();
        let direct = read.direct()?.unwrap_or(dialect == Dialect::Ours);
        let job = Job {
            rw,
            rwmixread: read.rwmixread()?.unwrap_or(default.rwmixread),
            bs: read.directional("bs", rw, 4096, parse_bs)?,
            iodepth: read.number("iodepth", 1, 65_536, 1)?,
            numjobs: read.number("numjobs", 1, 4096, 1)?,
            offset: 0,
            size: None,
            percentage_random: read.directional(
                "percentage_random",
                rw,
                100 * u8::from(rw.random()),
                parse_percent,
            )?,
            fsync: read.number("fsync", 0, u32::MAX, 0)?,
            fdatasync: read.number("fdatasync", 0, u32::MAX, 0)?,
            end_fsync: read.get("end_fsync", parse_flag)?.unwrap_or(false),
            direct,
            rate_iops: Some(read.directional("rate_iops", rw, 0, parse_number)?).filter(|rate| *rate > 0),
            buffer_compress_percentage: read.get("buffer_compress_percentage", parse_percent)?.unwrap_or(0),
            randseed: read.get("randseed", parse_number)?.unwrap_or(default.randseed),
            ..default
        };
        let draft = JobDraft {
            size: read.get("size", parse_extent)?,
            offset: read.get("offset", parse_extent)?,
            size_origin: self.origin_of("size"),
            offset_origin: self.origin_of("offset"),
            bs_origin: self.origin_of("bs"),
            iodepth_origin: self.origin_of("iodepth"),
            job,
        };
        draft.check_block()?;
        Ok(draft)
    }

    /// Words in fio's "KiB" form, which fio reads as powers of 1000.
    pub fn thousands(&self) -> impl Iterator<Item = String> {
        let sizes = ["bs", "size", "offset"].into_iter().filter_map(|key| self.values.get(key));
        sizes.filter(|written| written.value.to_ascii_lowercase().contains("ib")).map(|written| {
            let (key, value) = (&written.key, &written.value);
            format!(
                "{}: \"{key}={value}\": in a job file fio reads KiB, MiB and GiB as powers of 1000",
                written.origin.line()
            )
        })
    }

    fn origin_of(&self, key: &str) -> Option<Origin> {
        self.values.get(key).map(|written| written.origin.clone())
    }
}

type Parse<T> = fn(&str, Dialect) -> Result<T, Fault>;

struct Reader<'a> {
    words: &'a JobWords,
    dialect: Dialect,
}

impl Reader<'_> {
    fn get<T>(&self, key: &str, parse: Parse<T>) -> Result<Option<T>, InputError> {
        let Some(written) = self.words.values.get(key) else {
            return Ok(None);
        };
        parse(&written.value, self.dialect)
            .map(Some)
            .map_err(|fault| written.origin.error(&written.key, fault))
    }

    fn number(&self, key: &str, least: u32, most: u32, default: u32) -> Result<u32, InputError> {
        let Some(number) = self.get(key, parse_number)? else {
            return Ok(default);
        };
        match u32::try_from(number) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(self.refuse(key, Fault::new(format!("{number} is not between {least} and {most}")))),
        }
    }

    fn direct(&self) -> Result<Option<bool>, InputError> {
        let negated = self.words.values.get("direct").is_some_and(|written| written.key == "buffered");
        Ok(self.get("direct", parse_flag)?.map(|flag| flag != negated))
    }

    fn rwmixread(&self) -> Result<Option<u8>, InputError> {
        let negated = self.words.values.get("rwmixread").is_some_and(|written| written.key == "rwmixwrite");
        let percent = self.get("rwmixread", parse_percent)?;
        Ok(percent.map(|percent| if negated { 100 - percent } else { percent }))
    }

    /// fio's `READ,WRITE,TRIM`: the part of the direction in use; a mix has one value for both.
    fn directional<T: Copy + PartialEq>(
        &self,
        key: &str,
        rw: Rw,
        default: T,
        parse: Parse<T>,
    ) -> Result<T, InputError> {
        let Some(written) = self.words.values.get(key) else {
            return Ok(default);
        };
        let refuse = |fault| self.refuse(key, fault);
        let parts: Vec<&str> = written.value.split(',').map(str::trim).collect();
        if parts.len() > 3 {
            return Err(refuse(Fault::new("more than three values: read, write, trim")));
        }
        let mut values = Vec::new();
        for part in &parts {
            let empty = part.is_empty() && parts.len() > 1;
            values.push(if empty { default } else { parse(part, self.dialect).map_err(refuse)? });
        }
        let read = values[0];
        let write = values.get(1).copied().unwrap_or(read);
        match (rw.reads(), rw.writes()) {
            (true, true) if read != write => Err(refuse(Fault::hint(
                format!(
                    "\"{}\" differs between reads and writes, which one job cannot do here",
                    written.value
                ),
                "write one value, or one job for each direction",
            ))),
            (true, _) => Ok(read),
            _ => Ok(write),
        }
    }

    fn refuse(&self, key: &str, fault: Fault) -> InputError {
        match self.words.values.get(key) {
            Some(written) => written.origin.error(&written.key, fault),
            None => Origin::command_line().error(key, fault),
        }
    }
}

/// A stretch of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Percent of the target, which only a declared size makes bytes.
    Percent(u8),
}

/// What is known of the targets of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Targets {
    /// Bytes of the smallest medium whose size is declared.
    pub smallest: Option<u64>,
    /// Whether all are.
    pub all_declared: bool,
}

/// A job whose region is not yet known in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct JobDraft {
    /// All but `size` and `offset`.
    pub job: Job,
    size: Option<Extent>,
    offset: Option<Extent>,
    size_origin: Option<Origin>,
    offset_origin: Option<Origin>,
    bs_origin: Option<Origin>,
    iodepth_origin: Option<Origin>,
}

impl JobDraft {
    /// O_DIRECT with a block that no device takes would fail at the first I/O, with EINVAL.
    fn check_block(&self) -> Result<(), InputError> {
        if !self.job.direct || self.job.bs % 512 == 0 {
            return Ok(());
        }
        let origin = self.bs_origin.clone().unwrap_or_else(Origin::command_line);
        let why = format!("a block of {} bytes cannot be read or written with O_DIRECT", self.job.bs);
        Err(origin.error("bs", Fault::hint(why, "take a multiple of 512 bytes, or direct=0")))
    }

    /// The job on these targets: the same region, in bytes, on each of them.
    ///
    /// # Errors
    /// A region that does not fit, or a percentage of an unknown size.
    pub fn job_on(&self, targets: Targets) -> Result<Job, InputError> {
        let known = targets.smallest.filter(|_| targets.all_declared);
        let size = self.extent("size", self.size, self.size_origin.as_ref(), known)?;
        let offset = self.extent("offset", self.offset, self.offset_origin.as_ref(), known)?.unwrap_or(0);
        let job = Job { size, offset, ..self.job.clone() };
        self.check_region(&job, targets.smallest)?;
        Ok(job)
    }

    /// The synchronous engine would run another load without a word.
    fn check_depth(&self, engine: Option<Engine>) -> Result<(), InputError> {
        if engine != Some(Engine::Native(EngineName::Sync)) || self.job.iodepth == 1 {
            return Ok(());
        }
        let origin = self.iodepth_origin.clone().unwrap_or_else(Origin::command_line);
        let why = format!("engine \"sync\" issues one I/O at a time, and iodepth is {}", self.job.iodepth);
        Err(origin.error("iodepth", Fault::hint(why, "write iodepth 1 and numjobs, or engine uring")))
    }

    fn extent(
        &self,
        key: &str,
        extent: Option<Extent>,
        origin: Option<&Origin>,
        target: Option<u64>,
    ) -> Result<Option<u64>, InputError> {
        match (extent, target) {
            (None, _) => Ok(None),
            (Some(Extent::Bytes(bytes)), _) => Ok(Some(bytes)),
            (Some(Extent::Percent(100)), _) if key == "size" => Ok(None),
            (Some(Extent::Percent(0)), _) if key == "offset" => Ok(Some(0)),
            (Some(Extent::Percent(percent)), Some(bytes)) => Ok(Some(self.share(bytes, percent))),
            (Some(Extent::Percent(percent)), None) => {
                let fault = Fault::hint(
                    format!("{percent}% of a target whose size is not declared"),
                    "write it in bytes, or declare size=... of every medium",
                );
                Err(origin.cloned().unwrap_or_else(Origin::command_line).error(key, fault))
            }
        }
    }

    /// Rounded down to whole blocks, so that a region never ends within one.
    fn share(&self, bytes: u64, percent: u8) -> u64 {
        let exact = u128::from(bytes) * u128::from(percent) / 100;
        let exact = u64::try_from(exact).unwrap_or(bytes);
        exact - exact % self.job.bs
    }

    fn check_region(&self, job: &Job, target: Option<u64>) -> Result<(), InputError> {
        let (origin, key) = match (&self.size_origin, &self.offset_origin, &self.bs_origin) {
            (Some(origin), _, _) => (origin.clone(), "size"),
            (None, Some(origin), _) => (origin.clone(), "offset"),
            (None, None, Some(origin)) => (origin.clone(), "bs"),
            (None, None, None) => (Origin::command_line(), "bs"),
        };
        let region = job.size.unwrap_or(job.bs);
        if region < job.bs {
            let why = format!(
                "a region of {} holds no block of {}",
                units::show_bytes(region),
                units::show_bytes(job.bs)
            );
            return Err(origin.error(key, Fault::hint(why, "take a larger size or a smaller bs")));
        }
        let Some(target) = target else { return Ok(()) };
        if job.offset.checked_add(region).is_some_and(|end| end <= target) {
            return Ok(());
        }
        let from = if job.offset == 0 {
            String::new()
        } else {
            format!(" from offset {}", units::show_bytes(job.offset))
        };
        let why = format!(
            "the workload does not fit the file: {}{from} of a file of {}",
            units::show_bytes(region),
            units::show_bytes(target)
        );
        Err(origin.error(key, Fault::hint(why, "make the file larger or the workload smaller")))
    }
}

/// A workload before its regions are known in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Unique among the drafts of a scenario, once checked.
    pub name: String,
    /// All run at once.
    pub jobs: Vec<JobDraft>,
    /// Named, or chosen by what the target does.
    pub engine: Option<Engine>,
}

impl Draft {
    /// One job with a name made of its words.
    pub fn of_words(words: &JobWords, engine: Option<Engine>) -> Result<Self, InputError> {
        let mut draft = words.draft(Dialect::Ours)?;
        draft.job.name = name_of(&draft.job);
        Ok(Draft { name: draft.job.name.clone(), jobs: vec![draft], engine })
    }

    /// The workload on these targets.
    ///
    /// # Errors
    /// As [`JobDraft::job_on`], and a depth that the engine cannot keep.
    pub fn on(&self, targets: Targets) -> Result<Workload, InputError> {
        self.jobs.iter().try_for_each(|job| job.check_depth(self.engine))?;
        let jobs = self.jobs.iter().map(|job| job.job_on(targets)).collect::<Result<Vec<_>, _>>()?;
        Ok(Workload { name: self.name.clone(), jobs, engine: self.engine })
    }
}

/// The workload of `--rw randread --bs 4k --iodepth 32`: fio's words, and `engine`.
///
/// # Errors
/// An unknown word, a value that it does not take, a percentage (no target is known here).
pub fn workload_from_words(words: &[(String, String)]) -> Result<Workload, InputError> {
    draft_from_words(words)?.on(Targets::default())
}

pub(super) fn draft_from_words(words: &[(String, String)]) -> Result<Draft, InputError> {
    let origin = Origin::command_line();
    let mut job = JobWords::default();
    let mut engine = None;
    for (key, value) in words {
        if key == "engine" {
            engine = parse_engine(value).map_err(|fault| origin.error(key, fault))?;
        } else if !job.set(key, value, &origin) {
            return Err(origin.error(key, unknown_word(key)));
        }
    }
    Draft::of_words(&job, engine)
}

/// Why a word is refused outside of job files.
pub(super) fn unknown_word(key: &str) -> Fault {
    let known: Vec<&str> = known_words().into_iter().chain(["engine"]).collect();
    let hint = match key {
        "ioengine" => Some("write engine = null, sync, uring or fio".to_owned()),
        _ => Fault::unknown("word", key, &known).hint,
    };
    Fault { why: "unknown word of a workload".to_owned(), hint }
}

/// `auto`, `null`, `sync`, `uring`, `fio`.
///
/// # Errors
/// Any other word.
pub fn parse_engine(word: &str) -> Result<Option<Engine>, Fault> {
    match word {
        "auto" => Ok(None),
        "null" => Ok(Some(Engine::Native(EngineName::Null))),
        "sync" => Ok(Some(Engine::Native(EngineName::Sync))),
        "uring" => Ok(Some(Engine::Native(EngineName::Uring))),
        "fio" => Ok(Some(Engine::Fio)),
        "io_uring" => Err(Fault::hint("unknown engine \"io_uring\"", "did you mean \"uring\"?")),
        other => Err(Fault::unknown("engine", other, &["auto", "null", "sync", "uring", "fio"])),
    }
}

/// `4k-randread-qd32`, `4k-randrw70-qd1-x4`.
pub fn name_of(job: &Job) -> String {
    let mix = if job.rw.reads() && job.rw.writes() { job.rwmixread.to_string() } else { String::new() };
    let jobs = if job.numjobs > 1 { format!("-x{}", job.numjobs) } else { String::new() };
    let sync = match (job.fsync, job.fdatasync) {
        (0, 0) => String::new(),
        (0, every) => format!("-fdatasync{every}"),
        (every, _) => format!("-fsync{every}"),
    };
    let rate = job.rate_iops.map(|rate| format!("-rate{rate}")).unwrap_or_default();
    format!("{}-{}{mix}-qd{}{jobs}{sync}{rate}", block_size_word(job.bs), job.rw.word(), job.iodepth)
}

fn parse_rw(word: &str, _: Dialect) -> Result<Rw, Fault> {
    match word {
        "read" => Ok(Rw::Read),
        "write" => Ok(Rw::Write),
        "randread" => Ok(Rw::RandRead),
        "randwrite" => Ok(Rw::RandWrite),
        "rw" | "readwrite" => Ok(Rw::Rw),
        "randrw" => Ok(Rw::RandRw),
        "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => {
            Err(Fault::hint(format!("\"{word}\": this version does not trim"), "take a read or a write"))
        }
        other if other.contains(':') => Err(Fault::hint(
            format!(
                "\"{other}\": an order of offsets behind \":\" is not issued, and without it the load would be another one"
            ),
            "write it without \":\", or use percentage_random",
        )),
        other => {
            Err(Fault::unknown("rw", other, &["read", "write", "randread", "randwrite", "rw", "randrw"]))
        }
    }
}

const LARGEST_BLOCK: u64 = 1 << 30;

fn parse_bs(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    match parse_size(word, dialect)? {
        0 => Err(Fault::new("a block of nothing")),
        bytes if bytes > LARGEST_BLOCK => Err(Fault::new(format!("\"{word}\": a block has at most 1 GiB"))),
        bytes => Ok(bytes),
    }
}

fn parse_extent(word: &str, dialect: Dialect) -> Result<Extent, Fault> {
    let Some(percent) = word.strip_suffix('%') else {
        return parse_size(word, dialect).map(Extent::Bytes);
    };
    parse_percent(percent, dialect).map(Extent::Percent)
}

fn parse_percent(word: &str, dialect: Dialect) -> Result<u8, Fault> {
    let digits = if dialect == Dialect::Ours { word.strip_suffix('%').unwrap_or(word) } else { word };
    match digits.trim().parse::<u8>() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(Fault::new(format!("\"{word}\" is not a whole percentage from 0 to 100"))),
    }
}

/// fio takes 0 and 1 only.
fn parse_flag(word: &str, dialect: Dialect) -> Result<bool, Fault> {
    match (word, dialect) {
        ("1", _) | ("true", Dialect::Ours) => Ok(true),
        ("0", _) | ("false", Dialect::Ours) => Ok(false),
        (_, Dialect::Fio) => Err(Fault::hint(format!("\"{word}\" is not 0 or 1"), "fio takes 0 and 1 only")),
        _ => Err(Fault::new(format!("\"{word}\" is not true, false, 0 or 1"))),
    }
}

/// A plain count; fio takes its suffixes here too.
fn parse_number(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    let number = if dialect == Dialect::Fio { fio_number(word) } else { word.parse().ok() };
    number.ok_or_else(|| Fault::new(format!("\"{word}\" is not a whole number")))
}

fn parse_size(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    if dialect == Dialect::Fio {
        return fio_number(word).ok_or_else(|| {
            Fault::hint(
                format!("\"{word}\" is not a size as fio writes it"),
                "write a whole number with k, m or g, as 4k",
            )
        });
    }
    if let Some(bytes) = letter_size(word) {
        return Ok(bytes);
    }
    units::parse_bytes(word).map_err(|clause| {
        let fault = Fault::from_clause(&clause);
        let bare = word.bytes().all(|b| b.is_ascii_digit());
        if bare && !word.is_empty() {
            Fault::hint(fault.why, format!("write {}", with_unit(word)))
        } else {
            fault
        }
    })
}

/// What somebody who writes bare bytes meant.
fn with_unit(digits: &str) -> String {
    match digits.parse::<u64>() {
        Ok(bytes) if bytes > 0 && bytes % 1024 == 0 => {
            format!("\"{digits}B\" or \"{}k\"", bytes / 1024)
        }
        Ok(bytes) if bytes < 512 => format!("\"{digits}k\" or \"{digits}KiB\""),
        _ => format!("\"{digits}B\""),
    }
}

/// fio's own `4k`, which everybody writes: one letter, a power of 1024.
fn letter_size(word: &str) -> Option<u64> {
    let last = word.chars().last().filter(char::is_ascii_alphabetic)?;
    let power = power_of(last)?;
    scaled(word.strip_suffix(last)?.parse().ok()?, 1024, power)
}

fn power_of(letter: char) -> Option<u32> {
    "kmgtp".find(letter.to_ascii_lowercase()).and_then(|index| u32::try_from(index + 1).ok())
}

fn scaled(number: u64, base: u64, power: u32) -> Option<u64> {
    number.checked_mul(base.checked_pow(power)?)
}

/// fio 3 with kb_base=1024: `4k`, `4kb`, `4Ki` are 4096, and `4KiB` is 4000 (checked with fio 3.33).
fn fio_number(word: &str) -> Option<u64> {
    let lower = word.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number = lower[..end].parse().ok()?;
    let (letter, rest) = match lower[end..].chars().next() {
        None => return Some(number),
        Some('b') if lower.len() == end + 1 => return Some(number),
        Some(letter) => (letter, &lower[end + letter.len_utf8()..]),
    };
    let base = match rest {
        "" | "b" | "i" => 1024,
        "ib" => 1000,
        _ => return None,
    };
    scaled(number, base, power_of(letter)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn words_of_the_command_line() {
        let workload = workload_from_words(&words(&[
            ("rw", "randrw"),
            ("bs", "8k"),
            ("iodepth", "32"),
            ("numjobs", "4"),
            ("rwmixwrite", "30"),
            ("size", "1GiB"),
            ("engine", "uring"),
        ]))
        .unwrap();
        insta::assert_json_snapshot!(workload);
    }

    #[test]
    fn none_is_random_reads_one_at_a_time() {
        let workload = workload_from_words(&[]).unwrap();
        assert_eq!(workload.name, "4k-randread-qd1");
        assert_eq!(workload.jobs, [Job { name: "4k-randread-qd1".into(), ..Job::default() }]);
    }

    #[test]
    fn sizes_of_the_two_dialects() {
        for (word, ours, fios) in [
            ("4k", Some(4096), Some(4096)),
            ("4K", Some(4096), Some(4096)),
            ("4KiB", Some(4096), Some(4000)),
            ("4Ki", None, Some(4096)),
            ("4kB", Some(4000), Some(4096)),
            ("4096", None, Some(4096)),
            ("4096B", Some(4096), Some(4096)),
            ("0x1000", None, Some(4096)),
            ("1.5k", None, None),
            ("4x", None, None),
            ("", None, None),
            ("99999999999999999999g", None, None),
            ("20000000000g", None, None),
        ] {
            assert_eq!(parse_size(word, Dialect::Ours).ok(), ours, "{word} ours");
            assert_eq!(parse_size(word, Dialect::Fio).ok(), fios, "{word} fio's");
        }
    }

    #[test]
    fn comma_forms_follow_the_direction() {
        let bs = |rw: &str, bs: &str| {
            let mut words = JobWords::default();
            words.set("rw", rw, &Origin::command_line());
            words.set("bs", bs, &Origin::command_line());
            words.draft(Dialect::Fio).map(|draft| draft.job.bs).ok()
        };
        assert_eq!(bs("read", "8k,16k"), Some(8192));
        assert_eq!(bs("write", "8k,16k"), Some(16384));
        assert_eq!(bs("write", "8k"), Some(8192));
        assert_eq!(bs("read", ",16k"), Some(4096));
        assert_eq!(bs("write", "16k,"), Some(4096));
        assert_eq!(bs("rw", "8k,8k"), Some(8192));
        assert_eq!(bs("rw", "8k,16k"), None);
        assert_eq!(bs("rw", "8k,8k,8k,8k"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_words_never_panic(key in 0..WORDS.len(), value in any::<String>()) {
            let _ = workload_from_words(&words(&[(WORDS[key].name, &value)]));
            let mut job = JobWords::default();
            job.set(WORDS[key].name, &value, &Origin::command_line());
            if let Ok(draft) = job.draft(Dialect::Fio) {
                let _ = draft.job_on(Targets { smallest: Some(1 << 30), all_declared: true });
            }
        }

        #[test]
        fn a_checked_region_lies_within_the_file(
            size in proptest::option::of(any::<u64>()),
            percent in proptest::option::of(0u8..=100),
            offset in any::<u64>(),
            target in 1u64..1 << 62,
        ) {
            let mut job = JobWords::default();
            let origin = Origin::command_line();
            job.set("offset", &(offset % 1_000_000_007).to_string(), &origin);
            match (size, percent) {
                (Some(size), _) => { job.set("size", &(size % (2 * target).max(1)).to_string(), &origin); }
                (None, Some(percent)) => { job.set("size", &format!("{percent}%"), &origin); }
                (None, None) => {}
            }
            if let Ok(job) = job.draft(Dialect::Fio).unwrap().job_on(Targets { smallest: Some(target), all_declared: true }) {
                prop_assert!(job.offset + job.size.unwrap_or(job.bs) <= target);
                prop_assert!(job.size.unwrap_or(job.bs) >= job.bs);
            }
        }
    }
}
