//! fio's words for one job, from a job file, a scenario file or the command line, and their
//! combined meaning. Each is an entry of [`WORDS`], from which the scenario file and the command
//! line take their keys.

use super::draft::{JobDraft, Keys};
use super::error::{Fault, InputError, Origin};
use super::sweep::SweepItem;
use super::values::{
    Dialect, parse_bs, parse_class, parse_cpus, parse_distribution, parse_extent, parse_flag,
    parse_iomem, parse_level, parse_number, parse_percent, parse_policy, parse_rate, parse_rw,
    parse_sync, parse_verify,
};
use iotax_load::{Distribution, Job, Rw};
use std::collections::BTreeMap;

pub struct WordDef {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub help: &'static str,
}

pub const WORDS: &[WordDef] = &[
    WordDef {
        name: "rw",
        aliases: &["readwrite"],
        help: "read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite or randtrimwrite",
    },
    WordDef { name: "rwmixread", aliases: &[], help: "percent of reads in a mix" },
    WordDef { name: "rwmixwrite", aliases: &[], help: "percent of writes in a mix" },
    WordDef { name: "bs", aliases: &["blocksize"], help: "block size; \"[4k,64k]\" sweeps" },
    WordDef { name: "iodepth", aliases: &[], help: "I/Os in flight per thread; 1,4,16 sweeps" },
    WordDef { name: "numjobs", aliases: &[], help: "threads; 1,2,4 sweeps" },
    WordDef { name: "size", aliases: &[], help: "bytes of the region, or percent of the target" },
    WordDef { name: "offset", aliases: &["fileoffset"], help: "first byte of the region" },
    WordDef {
        name: "offset_increment",
        aliases: &[],
        help: "offset added to the region for each further thread (numjobs); bytes, or percent of the target",
    },
    WordDef { name: "percentage_random", aliases: &[], help: "percent of I/Os at a random offset" },
    WordDef {
        name: "random_distribution",
        aliases: &[],
        help: "distribution of random offsets: random, zipf:1.1 or pareto:0.2",
    },
    WordDef {
        name: "norandommap",
        aliases: &[],
        help: "0: random offsets cover every block once before any repeats (fio's random map); 1: offsets are drawn \
            independently",
    },
    WordDef { name: "fsync", aliases: &[], help: "fsync after this many writes" },
    WordDef { name: "fdatasync", aliases: &[], help: "fdatasync after this many writes" },
    WordDef { name: "end_fsync", aliases: &[], help: "fsync at the end of each slice" },
    WordDef { name: "direct", aliases: &[], help: "O_DIRECT" },
    WordDef {
        name: "sync",
        aliases: &[],
        help: "none, sync (O_SYNC) or dsync (O_DSYNC): each write is durable when it returns",
    },
    WordDef { name: "buffered", aliases: &[], help: "the opposite of direct" },
    WordDef {
        name: "rate_iops",
        aliases: &[],
        help: "I/Os per second per thread, issued on schedule; \"[1000,2000]\" sweeps",
    },
    WordDef {
        name: "buffer_compress_percentage",
        aliases: &[],
        help: "percent by which written data can be compressed",
    },
    WordDef {
        name: "dedupe_percentage",
        aliases: &[],
        help: "percent of written blocks that duplicate the thread's last unique block",
    },
    WordDef {
        name: "continue_on_error",
        aliases: &[],
        help: "none: the run ends when an I/O fails; io (or all, read, write): count failed I/Os and go on",
    },
    WordDef {
        name: "cpus_allowed",
        aliases: &[],
        help: "CPUs that the threads run on, of the machine that runs the load: 0-3,5",
    },
    WordDef {
        name: "cpus_allowed_policy",
        aliases: &[],
        help: "shared: all threads use all of them; split: each thread gets one, in turn",
    },
    WordDef {
        name: "prioclass",
        aliases: &[],
        help: "I/O priority class: rt (1), be (2) or idle (3); only some I/O schedulers use it",
    },
    WordDef { name: "prio", aliases: &[], help: "level within the class, 0 (highest) to 7" },
    WordDef {
        name: "iomem",
        aliases: &["mem"],
        help: "I/O buffers: malloc, or mmaphuge (huge pages, which make large I/Os faster)",
    },
    WordDef {
        name: "verify",
        aliases: &[],
        help: "stamp written blocks, check them when they are read, and read all of them back at the end",
    },
    WordDef { name: "randseed", aliases: &[], help: "seed of offsets, mix and buffers" },
];

/// Returns the name in [`WORDS`] of a word or alias; `None`: it is unknown.
pub fn canonical(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|def| def.name == word || def.aliases.contains(&word)).map(|def| def.name)
}

pub fn known_words() -> Vec<&'static str> {
    WORDS
        .iter()
        .flat_map(|def| std::iter::once(def.name).chain(def.aliases.iter().copied()))
        .collect()
}

/// Words of one job as written; if one is repeated, the last counts, as in fio.
#[derive(Clone, Debug, Default)]
pub struct JobWords {
    values: BTreeMap<&'static str, Written>,
    turns: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The word or its alias.
    pub(super) key: String,
    /// Single value; empty if there is a list.
    pub(super) value: String,
    /// Values of a list from a scenario file.
    pub(super) list: Option<Vec<SweepItem>>,
    pub(super) origin: Origin,
    /// Position of the word in the order of writing, from 1.
    turn: usize,
}

impl JobWords {
    /// Adds a word; returns false if it is not one of [`WORDS`].
    pub fn set_word(&mut self, key: &str, value: &str, origin: &Origin) -> bool {
        self.put_word(key, value.trim(), None, origin)
    }

    /// Adds a word with a list of values; returns false if it is not one of [`WORDS`].
    pub(super) fn set_list(&mut self, key: &str, list: Vec<SweepItem>, origin: &Origin) -> bool {
        self.put_word(key, "", Some(list), origin)
    }

    fn put_word(
        &mut self,
        key: &str,
        value: &str,
        list: Option<Vec<SweepItem>>,
        origin: &Origin,
    ) -> bool {
        let Some(name) = canonical(key) else {
            return false;
        };
        // The later of "direct" and "buffered" counts, and the later of the two mixes.
        let slot = match name {
            "buffered" => "direct",
            "rwmixwrite" => "rwmixread",
            other => other,
        };
        let (key, value, origin) = (key.to_owned(), value.to_owned(), origin.clone());
        self.turns += 1;
        self.values.insert(slot, Written { key, value, list, origin, turn: self.turns });
        true
    }

    /// Returns a word as it was written, with its position.
    pub(super) fn written_word(&self, name: &str) -> Option<(&str, &Origin)> {
        self.values.get(name).map(|written| (written.value.as_str(), &written.origin))
    }

    /// Removes the word that was written with this key; returns false if there is none.
    pub(super) fn remove_word(&mut self, key: &str) -> bool {
        let before = self.values.len();
        self.values.retain(|_, written| written.key != key);
        self.values.len() < before
    }

    /// Returns the words in the order in which they were written.
    pub(super) fn in_order(&self) -> Vec<(&'static str, &Written)> {
        let mut words: Vec<_> =
            self.values.iter().map(|(name, written)| (*name, written)).collect();
        words.sort_by_key(|(_, written)| written.turn);
        words
    }

    /// Returns the words with one value in place of a word's list.
    pub(super) fn with_item(&self, name: &str, item: &SweepItem) -> JobWords {
        let mut words = self.clone();
        if let Some(written) = words.values.get_mut(name) {
            written.value.clone_from(&item.text);
            written.origin.clone_from(&item.origin);
            written.list = None;
        }
        words
    }

    /// Returns the job that the words describe together.
    ///
    /// # Errors
    /// Returns the first word whose value is refused or contradicts another, with its position.
    pub fn draft(&self, dialect: Dialect) -> Result<JobDraft, InputError> {
        let read = WordReader { words: self, dialect };
        let rw = read.get("rw", parse_rw)?.unwrap_or(if dialect == Dialect::Fio {
            Rw::Read
        } else {
            Rw::RandRead
        });
        let default = Job::default();
        let random_distribution = read.distribution(rw)?;
        let direct = read.direct()?.unwrap_or(dialect == Dialect::Ours);
        let job = Job {
            rw,
            rwmixread: read.rwmixread()?.unwrap_or(default.rwmixread),
            bs: read.directional("bs", rw, 4096, parse_bs)?,
            iodepth: read.bounded_number("iodepth", 1, iotax_load::MAX_DEPTH, 1)?,
            numjobs: read.bounded_number("numjobs", 1, 4096, 1)?,
            offset: 0,
            size: None,
            percentage_random: read.directional(
                "percentage_random",
                rw,
                100 * u8::from(rw.random()),
                parse_percent,
            )?,
            random_distribution,
            random_map: read.random_map(rw, random_distribution)?,
            fsync: read.bounded_number("fsync", 0, u32::MAX, 0)?,
            fdatasync: read.bounded_number("fdatasync", 0, u32::MAX, 0)?,
            end_fsync: read.get("end_fsync", parse_flag)?.unwrap_or(false),
            direct,
            sync: read.get("sync", parse_sync)?.unwrap_or_default(),
            rate_iops: Some(read.directional("rate_iops", rw, 0, parse_rate)?)
                .filter(|rate| *rate > 0),
            buffer_compress_percentage: read
                .get("buffer_compress_percentage", parse_percent)?
                .unwrap_or(0),
            dedupe_percentage: read.get("dedupe_percentage", parse_percent)?.unwrap_or(0),
            continue_on_error: read.continue_on_error(rw)?,
            cpus_allowed: read.get("cpus_allowed", parse_cpus)?.unwrap_or_default(),
            cpus_split: read.split()?,
            prioclass: read.get("prioclass", parse_class)?,
            prio: read.get("prio", parse_level)?,
            iomem: read.get("iomem", parse_iomem)?.unwrap_or_default(),
            verify: read.get("verify", parse_verify)?.unwrap_or(false),
            randseed: read.get("randseed", parse_number)?.unwrap_or(default.randseed),
            ..default
        };
        let draft = JobDraft {
            size: read.get("size", parse_extent)?,
            offset: read.get("offset", parse_extent)?,
            size_origin: self.origin_of("size"),
            offset_origin: self.origin_of("offset"),
            increment: read.get("offset_increment", parse_extent)?,
            increment_origin: self.origin_of("offset_increment"),
            rw_origin: self.origin_of("rw"),
            bs_origin: self.origin_of("bs"),
            iodepth_origin: self.origin_of("iodepth"),
            fio_origin: None,
            keys: Keys::default(),
            job,
        };
        draft.check_block()?;
        Ok(draft)
    }

    /// Returns a note for each word with a unit like "KiB", which fio reads as a power of 1000.
    pub fn thousands(&self) -> impl Iterator<Item = String> {
        let sizes = ["bs", "size", "offset", "offset_increment"]
            .into_iter()
            .filter_map(|key| self.values.get(key));
        sizes.filter(|written| written.value.to_ascii_lowercase().contains("ib")).map(|written| {
            let (key, value) = (&written.key, &written.value);
            format!(
                "{}: \"{key}={value}\": in a job file fio reads KiB, MiB and GiB as powers of 1000",
                written.origin.file_and_line()
            )
        })
    }

    fn origin_of(&self, key: &str) -> Option<Origin> {
        self.values.get(key).map(|written| written.origin.clone())
    }
}

type Parse<T> = fn(&str, Dialect) -> Result<T, Fault>;

struct WordReader<'a> {
    words: &'a JobWords,
    dialect: Dialect,
}

impl WordReader<'_> {
    fn get<T>(&self, key: &str, parse: Parse<T>) -> Result<Option<T>, InputError> {
        let Some(written) = self.words.values.get(key) else {
            return Ok(None);
        };
        parse(&written.value, self.dialect)
            .map(Some)
            .map_err(|fault| written.origin.error_at_key(&written.key, fault))
    }

    fn bounded_number(
        &self,
        key: &str,
        least: u32,
        most: u32,
        default: u32,
    ) -> Result<u32, InputError> {
        let Some(number) = self.get(key, parse_number)? else {
            return Ok(default);
        };
        match u32::try_from(number) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                Err(self
                    .refuse(key, Fault::new(format!("{number} is not between {least} and {most}"))))
            }
        }
    }

    fn direct(&self) -> Result<Option<bool>, InputError> {
        let negated =
            self.words.values.get("direct").is_some_and(|written| written.key == "buffered");
        Ok(self.get("direct", parse_flag)?.map(|flag| flag != negated))
    }

    /// Returns the distribution of random offsets. With a sequential `rw` any but the default is
    /// refused, except in a job file: fio ignores it, and fio.rs adds a note.
    fn distribution(&self, rw: Rw) -> Result<Distribution, InputError> {
        let distribution = self.get("random_distribution", parse_distribution)?.unwrap_or_default();
        match distribution.is_random() || rw.random() || self.dialect == Dialect::Fio {
            true => Ok(distribution),
            false => {
                let why = format!(
                    "\"{distribution}\" is of random offsets, and rw={} is sequential",
                    rw.word()
                );
                let hint = format!("write rw=rand{}, or no random_distribution", rw.word());
                Err(self.refuse("random_distribution", Fault::hint(why, hint)))
            }
        }
    }

    /// Returns true if the job keeps a random map. fio keeps one by default; scenarios must request
    /// it. With a skewed distribution or a sequential `rw` there is none, and a scenario that
    /// requests it is refused.
    fn random_map(&self, rw: Rw, distribution: Distribution) -> Result<bool, InputError> {
        let none = self.get("norandommap", parse_flag)?.unwrap_or(self.dialect == Dialect::Ours);
        let why = match (rw.random(), distribution.is_random()) {
            _ if none => return Ok(false),
            (true, true) => return Ok(true),
            (false, _) => {
                format!("each block once, of random offsets, and rw={} is sequential", rw.word())
            }
            (_, false) => {
                format!(
                    "each block once, and random_distribution={distribution} hits some more often"
                )
            }
        };
        match self.dialect {
            Dialect::Fio => Ok(false),
            Dialect::Ours => {
                Err(self.refuse("norandommap", Fault::hint(why, "write no norandommap")))
            }
        }
    }

    /// Returns true if the job goes on after errors. fio's `read` and `write` apply to one
    /// direction; here a job with both directions goes on with both or with neither.
    fn continue_on_error(&self, rw: Rw) -> Result<bool, InputError> {
        let known: Parse<&'static str> = |word, _| {
            const KNOWN: &[&str] = &["none", "io", "all", "read", "write", "0", "1"];
            KNOWN
                .iter()
                .copied()
                .find(|one| *one == word)
                .ok_or_else(|| Fault::unknown("value", word, KNOWN))
        };
        match (self.get("continue_on_error", known)?, rw.reads(), rw.writes()) {
            (None | Some("none" | "0"), ..) => Ok(false),
            (Some(one @ ("read" | "write")), true, true) => {
                let why = format!("\"{one}\" is of one direction, and rw={} has both", rw.word());
                Err(self.refuse("continue_on_error", Fault::hint(why, "write io, or none")))
            }
            (Some("read"), reads, _) => Ok(reads),
            (Some("write"), _, writes) => Ok(writes),
            (Some(_), ..) => Ok(true),
        }
    }

    fn split(&self) -> Result<bool, InputError> {
        let split = self.get("cpus_allowed_policy", parse_policy)?;
        if split.is_some()
            && self.dialect == Dialect::Ours
            && !self.words.values.contains_key("cpus_allowed")
        {
            let fault = Fault::hint(
                "there are no cpus_allowed to be shared or split",
                "write cpus_allowed=0-3",
            );
            return Err(self.refuse("cpus_allowed_policy", fault));
        }
        Ok(split.unwrap_or(false))
    }

    fn rwmixread(&self) -> Result<Option<u8>, InputError> {
        let negated =
            self.words.values.get("rwmixread").is_some_and(|written| written.key == "rwmixwrite");
        let percent = self.get("rwmixread", parse_percent)?;
        Ok(percent.map(|percent| if negated { 100 - percent } else { percent }))
    }

    /// Returns the value for the direction in use from fio's `READ,WRITE,TRIM`. A job that mixes
    /// directions is refused if their values differ.
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
        let trim = values.get(2).copied().unwrap_or(write);
        if rw.trims() {
            return match rw.writes_data() && write != trim {
                false => Ok(trim),
                true => Err(refuse(Fault::hint(
                    format!(
                        "\"{}\" differs between writes and trims, and each trim is followed by its write",
                        written.value
                    ),
                    "write one value",
                ))),
            };
        }
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
            Some(written) => written.origin.error_at_key(&written.key, fault),
            None => Origin::command_line().error_at_key(key, fault),
        }
    }
}

/// Returns the fault of an unknown word outside of job files, with a hint.
pub(super) fn unknown_word(key: &str) -> Fault {
    let known: Vec<&str> = known_words().into_iter().chain(["engine"]).collect();
    let hint = match key {
        "ioengine" => Some("write engine = null, sync, aio, uring, posixaio or fio".to_owned()),
        _ => Fault::unknown("word", key, &known).hint,
    };
    Fault { why: "unknown word of a workload".to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::super::draft::{Targets, drafts_from_words};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comma_forms_follow_the_direction() {
        let bs = |rw: &str, bs: &str| {
            let mut words = JobWords::default();
            words.set_word("rw", rw, &Origin::command_line());
            words.set_word("bs", bs, &Origin::command_line());
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
            let ours = drafts_from_words(&[(WORDS[key].name.to_owned(), value.clone())]);
            for draft in ours.iter().flatten() {
                let _ = draft.workload_on(Targets::default());
            }
            let mut job = JobWords::default();
            job.set_word(WORDS[key].name, &value, &Origin::command_line());
            if let Ok(draft) = job.draft(Dialect::Fio) {
                let _ = draft.job_on(Targets { smallest: Some(1 << 30), all_declared: true });
            }
        }
    }
}
