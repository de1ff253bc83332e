//! The journal of a run: what was about to be done is on disk before it is done, what it yielded
//! after. It lies in the run's folder, so `clean` needs nothing else after a kill -9 or a reboot.

use super::{Step, Yield};
use crate::store::appender::{Appender, sync_folder};
use crate::store::line;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// File name within the run directory.
pub const FILE: &str = "journal.jsonl";

/// Version of its lines, which is not the record's: an older iotax that cannot read a run's figures must still clean up behind it.
const VERSION: u32 = 2;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// About to be done.
    Intent {
        /// Number within the run.
        seq: u64,
        /// The boot it was done in: loop devices, mounts and processes end with it.
        boot_id: String,
        /// What, with every path resolved.
        step: Box<Step>,
    },
    /// Done.
    Done {
        /// Of the intent.
        seq: u64,
        /// What it made.
        made: Yield,
    },
    /// Undone, or found not to be there.
    Undone {
        /// Of the intent.
        seq: u64,
    },
}

/// Something that was begun and not undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// Number within the run.
    pub seq: u64,
    /// The boot it was done in.
    pub boot_id: String,
    /// What.
    pub step: Step,
    /// What it made; `None` when the run ended between intent and done.
    pub made: Option<Yield>,
}

/// An open journal; every append is on disk when it returns. The caller holds the run's lock.
pub struct Journal {
    file: Appender,
    next_seq: u64,
    appended: u64,
}

impl Journal {
    /// Opens the journal of a run, new or to go on with.
    ///
    /// # Errors
    /// When the file cannot be opened or read.
    pub fn open(run_dir: &Path) -> Result<Journal> {
        let next_seq = read(run_dir)?.iter().map(Entry::seq).max().map_or(0, |seq| seq + 1);
        let mut file = Appender::open(run_dir.join(FILE))?;
        // The name of a new journal must outlive the power as its lines do.
        sync_folder(run_dir)?;
        file.end_torn_line()?;
        Ok(Journal { file, next_seq, appended: 0 })
    }

    /// Writes the intent and gives its number.
    ///
    /// # Errors
    /// When it could not be made durable: the step must not be done then.
    pub fn intent(&mut self, boot_id: &str, step: &Step) -> Result<u64> {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.append(&Entry::Intent { seq, boot_id: boot_id.to_owned(), step: Box::new(step.clone()) })?;
        Ok(seq)
    }

    /// Writes what a step made.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub fn done(&mut self, seq: u64, made: &Yield) -> Result<()> {
        self.append(&Entry::Done { seq, made: made.clone() })
    }

    /// Writes that a step is undone.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub fn undone(&mut self, seq: u64) -> Result<()> {
        self.append(&Entry::Undone { seq })
    }

    fn append(&mut self, entry: &Entry) -> Result<()> {
        crash_point(self.appended, "before");
        let text = line::encode_as(VERSION, entry)?;
        let written = self.file.append(&text).and_then(|_| self.file.sync());
        written.with_context(|| format!("cannot write the journal {}", self.file.path().display()))?;
        crash_point(self.appended, "after");
        self.appended += 1;
        Ok(())
    }
}

impl Entry {
    fn seq(&self) -> u64 {
        match self {
            Entry::Intent { seq, .. } | Entry::Done { seq, .. } | Entry::Undone { seq } => *seq,
        }
    }
}

/// All whole entries of a run's journal; a torn line counts as absent, no journal as empty.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn read(run_dir: &Path) -> Result<Vec<Entry>> {
    let path = run_dir.join(FILE);
    match std::fs::read(&path) {
        Ok(text) => Ok(text.split(|byte| *byte == b'\n').filter_map(line::decode).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read the journal {}", path.display())),
    }
}

/// What was begun and not undone, in the order in which it was begun.
pub fn open_steps(entries: &[Entry]) -> Vec<Open> {
    let mut open: Vec<Open> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Intent { seq, boot_id, step } => open.push(Open {
                seq: *seq,
                boot_id: boot_id.clone(),
                step: step.as_ref().clone(),
                made: None,
            }),
            Entry::Done { seq, made } => {
                if let Some(found) = open.iter_mut().find(|open| open.seq == *seq) {
                    found.made = Some(made.clone());
                }
            }
            Entry::Undone { seq } => open.retain(|open| open.seq != *seq),
        }
    }
    open
}

/// Tests kill iotax at every record: `IOTAX_CRASH_AT=3:before` dies by SIGKILL just before the
/// fourth record of this process, `3:after` just behind it. Not in release builds.
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
