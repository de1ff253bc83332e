//! fio job files: how they are recognised, and the handling of their keys. A key that shapes the
//! load is honoured, or refused with its line; any other key is noted. Parameter files of vdbench
//! are recognised and refused.

use super::draft::WorkloadDraft;
use super::error::{Fault, InputError, Origin, nearest};
use super::fio;
use iotax_sys::regular::{open_regular, read_text};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Contents of a job file: its workloads in order, and notes on what has no effect.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    pub drafts: Vec<WorkloadDraft>,
    /// Notes of one sentence each, with file and line.
    pub notes: Vec<String>,
}

/// Returns true for a job file by its ending, or for a parameter file of vdbench, which
/// [`read_job_file`] refuses.
pub fn is_job_file(path: &Path) -> bool {
    has_ending(path, &["fio", "job", "ini"]) || is_of_vdbench(path)
}

/// Reads a job file.
///
/// # Errors
/// A file that cannot be read or is vdbench's, or the first line that cannot be honoured.
pub fn read_job_file(path: &Path) -> Result<JobFile, InputError> {
    if is_of_vdbench(path) {
        let hint = "write its loads as a fio job file or a scenario (docs/decisions/vdbench-parameter-files.md lists \
                    which word is which); iotax audit and iotax import read what vdbench printed";
        let fault = Fault::hint("a parameter file of vdbench, which iotax does not run", hint);
        return Err(InputError::new(path.display().to_string(), fault));
    }
    fio::read_fio_job(path)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.iter().any(|known| *known == ending))
}

/// Number of bytes at the beginning of a file in which its first line that is not blank or a
/// comment is looked for.
const BEGINNING: u64 = 64 << 10;

/// Keys with which vdbench's parameter files begin: definitions, and what usually precedes them.
const OF_VDBENCH: &[&str] = &[
    "sd",
    "wd",
    "rd",
    "hd",
    "fsd",
    "fwd",
    "compratio",
    "data_errors",
    "dedupratio",
    "messagescan",
    "report",
    "validate",
];

fn is_of_vdbench(path: &Path) -> bool {
    let file = open_regular(path).ok();
    let mut bytes = Vec::new();
    let text = file.and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes).ok());
    let text = text.map(|_| String::from_utf8_lossy(&bytes)).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '*', '/']));
    let first = lines.find(|line| !line.is_empty()).and_then(|line| line.split_once('='));
    has_ending(path, &["vdb", "vdbench", "parm"])
        || first.is_some_and(|(key, value)| !value.is_empty() && OF_VDBENCH.contains(&key))
}

/// Notes in the order in which they were added. Equal notes, as of a line of `[global]` that
/// affects every job, are kept once.
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
}

/// A key that does not shape the load, with the reason why it has no effect.
pub(super) type Noted = (&'static str, &'static str);

/// A key that shapes the load, the values at which it changes nothing, what it changes otherwise,
/// and a hint (may be empty).
pub(super) type Shaping = (&'static str, &'static [&'static str], &'static str, &'static str);

pub(super) const REPORTS: &str = "iotax records every latency and makes its own report";
pub(super) const TARGET: &str = "the target is the stack's";
pub(super) const TIMING: &str =
    "how long is measured is said by [measure]: precision, min_time and budget";
pub(super) const OFFSETS: &str = "it changes which offsets are read and written";
pub(super) const CPU: &str = "it changes where and with what priority the load runs";
pub(super) const VERIFY: &str = "reading back and verifying is another load";
pub(super) const REPLAY: &str = "this version does not replay";
pub(super) const COMMANDS: &str = "iotax runs no command of a job file";

/// Returns the fault of an unknown key, with a hint at the nearest known one.
pub(super) fn unknown_key(key: &str, known: &[&str]) -> Fault {
    let hint = match nearest(key, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "docs/job-files.md lists all keys".to_owned(),
    };
    Fault::hint("unknown key of a fio job", hint)
}

const DEEPEST_INCLUDE: usize = 16;

/// Files being read, the innermost last.
#[derive(Default)]
pub(super) struct Open(Vec<PathBuf>);

impl Open {
    /// Returns the text of a job file, or of one that the line `from` includes. Refuses a file that
    /// includes itself, and too many files within each other.
    pub(super) fn enter(
        &mut self,
        path: &Path,
        from: Option<&Origin>,
    ) -> Result<String, InputError> {
        let place = |fault| match from {
            Some(origin) => origin.error_at_key("include", fault),
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
            return Err(place(Fault::new(format!(
                "more than {DEEPEST_INCLUDE} files include each other"
            ))));
        }
        let text = read_text(&real).map_err(|error| place(cannot_read(path, from, &error)))?;
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
    fn a_parameter_file_of_vdbench_is_named_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let taken = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            is_job_file(&path).then(|| {
                read_job_file(&path).map(|file| file.drafts.len()).map_err(|e| e.to_string())
            })
        };
        assert_eq!(taken("a.fio", "[a]\n"), Some(Ok(1)));
        let vdbench = [
            ("b.ini", "\n* HCIBench\nsd=sd1,lun=/dev/sdb\n"),
            ("vdb-1vmdk-4k", "messagescan=no\n"),
            ("d.vdb", ""),
            ("e.parm", "[a]\n"),
        ];
        for (name, text) in vdbench {
            let why = taken(name, text).unwrap().unwrap_err();
            assert!(
                why.contains("a parameter file of vdbench") && why.contains("fio job file"),
                "{name}: {why}"
            );
        }
        assert_eq!(taken("f.img", "[a]\n"), None);
        assert_eq!(taken("g.img", "\u{0}\u{1}sd=\n"), None);
        assert!(!is_job_file(folder.path()));
    }
}
