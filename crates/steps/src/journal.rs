//! The journal of a run: on disk are each intent before its step is performed, and the output after
//! it. It is in the run's folder, so `clean` needs nothing else after a kill -9 or a reboot.

use crate::step::Step;
use anyhow::{Context, Result, ensure};
use iotax_drivers::step_output::StepOutput;
use iotax_journal::appender::{Appender, sync_folder};
use iotax_journal::line;
use iotax_journal::private::{self, Purpose};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

pub const FILE: &str = iotax_journal::JOURNAL;

/// Version of the journal's lines. It is not the version of the run's record: an iotax that cannot
/// read the record's figures must still be able to clean up.
const VERSION: u32 = 2;

/// Bytes of the largest journal. A run performs thousands of steps at most: a larger file is
/// nothing that iotax wrote, and must not fill the memory.
const LARGEST: u64 = 64 << 20;

/// Most faults of a journal that are described; for more, only their number is given.
const MOST_DAMAGE: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum JournalEntry {
    Intent {
        seq: u64,
        /// Id of the boot in which it was performed: loop devices, mounts and processes end with
        /// it.
        boot_id: String,
        /// The step, with every path resolved.
        step: Box<Step>,
    },
    Done {
        seq: u64,
        made: StepOutput,
    },
    /// The step was undone, or nothing of it was found.
    Undone {
        seq: u64,
    },
}

/// Step whose intent is in the journal and that was not undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    pub seq: u64,
    pub boot_id: String,
    pub step: Step,
    /// Output of the step; `None` if the run ended before it was written.
    pub made: Option<StepOutput>,
}

/// An open journal; every append is on disk when it returns. The caller holds the run's lock.
pub struct Journal {
    file: Appender,
    next_seq: u64,
    appended: u64,
}

impl Journal {
    /// Opens the journal of a run, or makes it. Cuts off a last line that a kill left incomplete.
    ///
    /// # Errors
    /// If the file cannot be opened, read or written, or another user could have written it.
    pub fn open(run_dir: &Path) -> Result<Journal> {
        let log = read_journal(run_dir)?;
        let next_seq =
            log.entries.iter().map(JournalEntry::seq).max().map_or(0, |seq| seq.saturating_add(1));
        let mut file = Appender::open(run_dir, FILE)?;
        // The name of a new journal must outlive the power as its lines do.
        sync_folder(run_dir)?;
        match log.tail {
            Tail::None => {}
            Tail::Torn => file.cut(log.whole)?,
            Tail::Unended => file.append(b"\n").map(drop)?,
        }
        Ok(Journal { file, next_seq, appended: 0 })
    }

    /// Writes the intent of a step and returns its number in the journal.
    ///
    /// # Errors
    /// If it is not surely on disk. The step must not be performed then.
    pub fn append_intent(&mut self, boot_id: &str, step: &Step) -> Result<u64> {
        let seq = self.next_seq;
        self.append(&JournalEntry::Intent {
            seq,
            boot_id: boot_id.to_owned(),
            step: Box::new(step.clone()),
        })?;
        // Numbers have no gaps: one that is missing is a line that was lost.
        self.next_seq += 1;
        Ok(seq)
    }

    /// Writes the output of a step.
    ///
    /// # Errors
    /// If it is not surely on disk.
    pub fn append_done(&mut self, seq: u64, made: &StepOutput) -> Result<()> {
        self.append(&JournalEntry::Done { seq, made: made.clone() })
    }

    /// Writes that a step is undone.
    ///
    /// # Errors
    /// If it is not surely on disk.
    pub fn append_undone(&mut self, seq: u64) -> Result<()> {
        self.append(&JournalEntry::Undone { seq })
    }

    fn append(&mut self, entry: &JournalEntry) -> Result<()> {
        crash_point(self.appended, "before");
        let text = line::encode_as(VERSION, entry)?;
        let written = self.file.append(&text).and_then(|_| self.file.sync());
        written
            .with_context(|| format!("cannot write the journal {}", self.file.path().display()))?;
        crash_point(self.appended, "after");
        self.appended += 1;
        Ok(())
    }
}

impl JournalEntry {
    fn seq(&self) -> u64 {
        match self {
            JournalEntry::Intent { seq, .. }
            | JournalEntry::Done { seq, .. }
            | JournalEntry::Undone { seq } => *seq,
        }
    }
}

#[derive(Debug, Default)]
pub struct Log {
    pub entries: Vec<JournalEntry>,
    /// Descriptions of damage, other than an incomplete last line, which a kill explains. If there
    /// are any, something may be left that no entry names.
    pub damage: Vec<String>,
    left_out: u64,
    tail: Tail,
    /// Bytes up to the end of the last line that has an end.
    whole: u64,
}

/// What follows the last end of a line.
#[derive(Debug, Default, PartialEq, Eq)]
enum Tail {
    #[default]
    None,
    /// Beginning of an entry that a kill or a full disk cut off. Nothing of it has been performed
    /// yet.
    Torn,
    /// A line that lacks only its end; its content counts.
    Unended,
}

/// Reads a run's journal. A run without one has an empty journal.
///
/// # Errors
/// If it cannot be read, another user could have written it, or it is larger than any that iotax
/// writes.
pub fn read_journal(run_dir: &Path) -> Result<Log> {
    let Some(file) = private::open(run_dir, FILE, Purpose::Act)? else { return Ok(Log::default()) };
    let path = run_dir.join(FILE);
    let mut text = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read the journal {}", path.display()))?;
    ensure!(
        text.len() as u64 <= LARGEST,
        "the journal {} is larger than {}: no iotax wrote it",
        path.display(),
        iotax_units::show_bytes(LARGEST)
    );
    Ok(Log::from_text(&text))
}

impl Log {
    fn from_text(text: &[u8]) -> Log {
        let (mut log, mut begun) = (Log::default(), BTreeSet::new());
        for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let whole = line.strip_suffix(b"\n");
            match (entry(whole.unwrap_or(line)), whole) {
                (Ok(entry), whole) => {
                    log.apply_entry(entry, at + 1, &mut begun);
                    log.tail = if whole.is_some() { Tail::None } else { Tail::Unended };
                }
                (Err(_), None) if is_torn(line) => log.tail = Tail::Torn,
                (Err(why), whole) => {
                    log.damaged(|| format!("line {}: {why}", at + 1));
                    log.tail = if whole.is_some() { Tail::None } else { Tail::Unended };
                }
            }
            log.whole += whole.map_or(0, |_| line.len() as u64);
        }
        log.note_lost_intents(&begun);
        if log.left_out > 0 {
            log.damage.push(format!("and {} more", log.left_out));
        }
        log
    }

    fn apply_entry(&mut self, entry: JournalEntry, line: usize, begun: &mut BTreeSet<u64>) {
        match &entry {
            JournalEntry::Intent { seq, .. } => drop(begun.insert(*seq)),
            JournalEntry::Done { seq, made } if !begun.contains(seq) => {
                let made = made.shown_thing();
                self.damaged(|| {
                    format!("line {line}: step {seq} made {made}, and the line with its intent is missing")
                });
            }
            _ => {}
        }
        self.entries.push(entry);
    }

    fn note_lost_intents(&mut self, begun: &BTreeSet<u64>) {
        let is_known = |entry: &&JournalEntry| {
            matches!(entry, JournalEntry::Done { .. } | JournalEntry::Undone { .. })
        };
        let known: BTreeSet<u64> =
            self.entries.iter().filter(is_known).map(JournalEntry::seq).collect();
        let last = begun.last().copied().unwrap_or(0);
        let lost =
            (0..last).filter(|seq| !begun.contains(seq) && !known.contains(seq)).take(MOST_DAMAGE);
        let lost: Vec<u64> = lost.collect();
        lost.iter().for_each(|seq| {
            self.damaged(|| format!("the line with the intent of step {seq} is missing"))
        });
    }

    fn damaged(&mut self, what: impl FnOnce() -> String) {
        match self.damage.len() < MOST_DAMAGE {
            true => self.damage.push(what()),
            false => self.left_out += 1,
        }
    }
}

/// Returns true if a line without an end can be the beginning of an entry that a kill cut off.
fn is_torn(line: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"v\":";
    let length = line.len().min(BEGINNING.len());
    line[..length] == BEGINNING[..length] && !line.contains(&0)
}

fn entry(line: &[u8]) -> Result<JournalEntry, String> {
    let sound = line::open(line).ok_or("it is damaged")?;
    if sound.version > VERSION {
        return Err(format!(
            "it is of format {}, and this iotax reads up to {VERSION}",
            sound.version
        ));
    }
    serde_json::from_str(sound.record)
        .map_err(|error| format!("this iotax does not know such a step ({error})"))
}

/// Returns the steps that were begun and not undone, in the order in which they were begun.
pub fn open_steps(entries: &[JournalEntry]) -> Vec<Open> {
    let mut open: Vec<Option<Open>> = Vec::new();
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for entry in entries {
        match entry {
            JournalEntry::Intent { seq, boot_id, step } => {
                places.entry(*seq).or_default().push(open.len());
                open.push(Some(Open {
                    seq: *seq,
                    boot_id: boot_id.clone(),
                    step: step.as_ref().clone(),
                    made: None,
                }));
            }
            JournalEntry::Done { seq, made } => {
                let first = places.get(seq).and_then(|places| places.first());
                if let Some(Some(found)) = first.map(|at| &mut open[*at]) {
                    found.made = Some(made.clone());
                }
            }
            JournalEntry::Undone { seq } => {
                places.remove(seq).unwrap_or_default().into_iter().for_each(|at| open[at] = None);
            }
        }
    }
    open.into_iter().flatten().collect()
}

/// Kills this process at a record, for tests: `IOTAX_CRASH_AT=3:before` makes it die by SIGKILL
/// just before its fourth record, `3:after` just after it. Not in release builds.
#[cfg(debug_assertions)]
fn crash_point(appended: u64, side: &str) {
    let wanted = std::env::var("IOTAX_CRASH_AT").unwrap_or_default();
    if wanted == format!("{appended}:{side}") {
        let me = rustix::process::getpid();
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

#[cfg(not(debug_assertions))]
fn crash_point(_: u64, _: &str) {}
