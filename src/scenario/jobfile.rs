//! Job files of other load generators: the family of their formats, and what all of them share. A key that shapes
//! the load is honoured or refused with its line; one that does not is noted. None is dropped in silence.

use super::draft::{Draft, Targets};
use super::error::{Fault, InputError, Origin, nearest};
use super::{Workload, fio, vdbench};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A way to write jobs down.
pub struct Format {
    /// What names of such files end in, the usual one first.
    pub endings: &'static [&'static str],
    /// Whether a file whose first line that says something is this one can be nothing else, however it is called.
    pub begins: fn(&str) -> bool,
    /// Reads the file and what it includes.
    pub read: fn(&Path) -> Result<JobFile, InputError>,
}

/// All formats; the first one is that of a file that says nothing about its own.
pub const ALL: &[&Format] = &[&fio::FORMAT, &vdbench::FORMAT];

/// What a job file says: workloads in their order, and what was read but not used.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// One after the other.
    pub drafts: Vec<Draft>,
    /// One sentence each, with file and line.
    pub notes: Vec<String>,
}

impl JobFile {
    /// The workloads on a target of unknown size.
    ///
    /// # Errors
    /// A percentage, which needs a declared size.
    pub fn workloads(&self) -> Result<Vec<Workload>, InputError> {
        self.drafts.iter().map(|draft| draft.on(Targets::default())).collect()
    }
}

/// Whether this names a job file: by its ending, or by how the file begins.
pub fn is_job_file(path: &Path) -> bool {
    by_ending(path).is_some() || by_beginning(path).is_some()
}

/// Reads a job file in the format that it is in.
///
/// # Errors
/// A file that cannot be read, or the first line that cannot be honoured.
pub fn read(path: &Path) -> Result<JobFile, InputError> {
    // Somebody's jobs.ini may be of any generator: what stands in it counts more than how it is called.
    let format = by_beginning(path).or_else(|| by_ending(path)).unwrap_or(ALL[0]);
    (format.read)(path)
}

/// `.fio or .vdb`: the usual ending of each format.
pub fn usual_endings() -> String {
    let endings: Vec<String> = ALL.iter().map(|format| format!(".{}", format.endings[0])).collect();
    endings.join(" or ")
}

fn by_ending(path: &Path) -> Option<&'static Format> {
    let ending = path.extension()?.to_str()?;
    ALL.iter().copied().find(|format| format.endings.contains(&ending))
}

/// How far into a file its first line that says something is looked for.
const BEGINNING: u64 = 64 << 10;

fn by_beginning(path: &Path) -> Option<&'static Format> {
    // Opening anything else than a file may wait, or do something.
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // All known formats have comments that begin with one of these.
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with([';', '#', '*', '/']));
    let first = lines.find(|line| !line.is_empty())?;
    ALL.iter().copied().find(|format| (format.begins)(first))
}

/// Notes in their order. One is given once for each line, though a line may meet every job.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) sentences: Vec<String>,
    seen: BTreeSet<String>,
}

impl Notes {
    pub(super) fn add(&mut self, sentence: String) {
        if self.seen.insert(sentence.clone()) {
            self.sentences.push(sentence);
        }
    }

    /// A job that leaves O_DIRECT out goes through the page cache, and keeps doing so.
    pub(super) fn page_cache(&mut self, origin: &Origin, job: &str, how: &str) {
        let line = origin.line();
        self.add(format!("{line}: job \"{job}\": {how}, so the page cache is a part of what is measured"));
    }
}

/// A key that does not shape the load, and why it has no effect.
pub(super) type Noted = (&'static str, &'static str);

/// A key that shapes the load: the values at which it changes nothing, what it changes, a hint.
pub(super) type Shaping = (&'static str, &'static [&'static str], &'static str, &'static str);

pub(super) const REPORTS: &str = "iotax records every latency and makes its own report";
pub(super) const TARGET: &str = "the target is the stack's";
pub(super) const TIMING: &str = "how long is measured is said by [measure]: precision, min_time and budget";
pub(super) const OFFSETS: &str = "it changes which offsets are read and written";
pub(super) const DATA: &str = "it changes what is written";
pub(super) const PACE: &str = "it changes when I/Os are issued";
pub(super) const CPU: &str = "it changes where and with what priority the load runs";
pub(super) const VERIFY: &str = "reading back and verifying is another load";
pub(super) const REPLAY: &str = "this version does not replay";
pub(super) const COMMANDS: &str = "iotax runs no command of a job file";

/// The keys of a format, or of a part of it, that are not honoured.
#[derive(Clone, Copy)]
pub(super) struct Unused {
    pub(super) noted: &'static [Noted],
    pub(super) shaping: &'static [Shaping],
}

/// A key as it was written.
pub(super) struct Given<'a> {
    /// In the tables.
    pub(super) key: &'a str,
    /// In the file: `key`, or short for it.
    pub(super) written: &'a str,
    pub(super) value: Option<&'a str>,
    pub(super) origin: &'a Origin,
}

impl Unused {
    /// Notes a key that has no effect, lets one pass at a value at which it changes nothing, and refuses it else.
    /// `false`: the key is in neither table.
    pub(super) fn place(&self, given: &Given, notes: &mut Notes) -> Result<bool, InputError> {
        let Given { key, written, value, origin } = *given;
        if let Some((_, why)) = self.noted.iter().find(|(noted, _)| *noted == key) {
            let text = value.map_or_else(|| written.to_owned(), |value| format!("{written}={value}"));
            notes.add(format!("{}: \"{text}\" has no effect here: {why}", origin.line()));
            return Ok(true);
        }
        let Some((_, harmless, why, hint)) = self.shaping.iter().find(|(shaping, ..)| *shaping == key) else {
            return Ok(false);
        };
        if harmless.contains(&value.unwrap_or("1")) {
            return Ok(true);
        }
        let hint = if hint.is_empty() { "remove the line if the load may be another one" } else { hint };
        Err(origin.error(written, Fault::hint(format!("cannot be honoured: {why}"), hint)))
    }

    /// Every key of the tables.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.noted.iter().map(|(key, _)| *key).chain(self.shaping.iter().map(|(key, ..)| *key))
    }
}

/// `unknown key of WHAT`, with the nearest known one.
pub(super) fn unknown_key(what: &str, key: &str, known: &[&str]) -> Fault {
    let hint = match nearest(key, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "keys that are honoured or noted are listed in docs/scenario-format.md".to_owned(),
    };
    Fault::hint(format!("unknown key of {what}"), hint)
}

const DEEPEST_INCLUDE: usize = 16;

/// Files being read, the innermost last.
#[derive(Default)]
pub(super) struct Open(Vec<PathBuf>);

impl Open {
    /// The text of a job file, or of one that is included `from` a line.
    pub(super) fn enter(&mut self, path: &Path, from: Option<&Origin>) -> Result<String, InputError> {
        let place = |fault| match from {
            Some(origin) => origin.error("include", fault),
            None => InputError::new(path.display().to_string(), fault),
        };
        let real = path.canonicalize().map_err(|error| place(cannot_read(path, from, &error)))?;
        if self.0.contains(&real) {
            return Err(place(Fault::hint(
                format!("{} includes itself", path.display()),
                "break the circle",
            )));
        }
        if self.0.len() >= DEEPEST_INCLUDE {
            return Err(place(Fault::new(format!("more than {DEEPEST_INCLUDE} files include each other"))));
        }
        let text = std::fs::read_to_string(&real).map_err(|error| place(cannot_read(path, from, &error)))?;
        self.0.push(real);
        Ok(text)
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }
}

fn cannot_read(path: &Path, from: Option<&Origin>, error: &std::io::Error) -> Fault {
    let what = from.map(|_| format!(" {}", path.display())).unwrap_or_default();
    Fault::new(format!("cannot read the job file{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_of_one_format_each() {
        let mut seen = BTreeSet::new();
        for ending in ALL.iter().flat_map(|format| format.endings) {
            assert!(seen.insert(ending), "{ending} is of two formats");
        }
        assert_eq!(usual_endings(), ".fio or .vdb");
    }

    #[test]
    fn what_stands_in_a_file_counts_more_than_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let format = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            is_job_file(&path).then(|| by_beginning(&path).or_else(|| by_ending(&path)).unwrap().endings[0])
        };
        assert_eq!(format("a.fio", "[a]\n"), Some("fio"));
        assert_eq!(format("b.ini", "\n* HCIBench\nsd=sd1,lun=/dev/sdb\n"), Some("vdb"));
        assert_eq!(format("c", "messagescan=no\n"), Some("vdb"));
        assert_eq!(format("d.vdb", ""), Some("vdb"));
        assert_eq!(format("e.img", "[a]\n"), None);
        assert_eq!(format("f.img", "\u{0}\u{1}sd=\n"), None);
        assert!(!is_job_file(folder.path()));
    }
}
