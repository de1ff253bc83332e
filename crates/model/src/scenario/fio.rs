//! fio job files as fio reads them: sections, `[global]`, includes, comments, `${VAR}`. Each key is
//! honoured, or left to the installed fio, or noted as having no effect here, or refused with its
//! line: a key that shapes the load is never dropped in silence. All that is refused is reported at
//! once. (Behaviour checked with fio 3.33.)

use super::error::{Fault, InputError, Origin};
use super::fio_job::{FioJob, JobGroup};
use super::fio_keys::{canonical_key, merged};
use super::fio_section::read_section;
use super::jobfile::{JobFile, Notes, Open};
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
    let mut lines = FioLines { environment, open: Open::default(), faults: Vec::new() };
    let sections = lines.sections(path)?;
    let mut reader = JobFileReader { faults: lines.faults, ..JobFileReader::default() };
    for section in sections {
        reader.section(section);
    }
    if reader.groups.is_empty() && reader.faults.is_empty() {
        let fault = Fault::hint("no job section", "begin a job with a line such as [randread]");
        return Err(InputError::new(path.display().to_string(), fault));
    }
    let mut drafts = Vec::new();
    for group in reader.groups {
        match group.draft(&mut reader.notes) {
            Ok(draft) => drafts.push(draft),
            Err(error) => reader.faults.push(error),
        }
    }
    match InputError::all_of(reader.faults) {
        Some(error) => Err(error),
        None => Ok(JobFile { drafts, notes: reader.notes.sentences }),
    }
}

/// `key` or `key=value`, with its position.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Name without aliases.
    pub(super) key: &'static str,
    /// The key as it is written, for errors and notes.
    pub(super) written: String,
    pub(super) value: Option<String>,
    pub(super) origin: Origin,
}

pub(super) type Pairs = Vec<Pair>;

pub(super) struct FioSection {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) pairs: Pairs,
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
    /// Lines that cannot be read; those after them are read nevertheless.
    faults: Vec<InputError>,
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
            if let Err(error) = self.read_job_line(line, &origin, path, &mut section.pairs) {
                self.faults.push(error);
            }
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
            key: canonical_key(key),
            written: key.to_owned(),
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

#[derive(Default)]
struct JobFileReader {
    global: Pairs,
    groups: Vec<JobGroup>,
    /// Index of the group that the last stonewall began.
    base: usize,
    notes: Notes,
    faults: Vec<InputError>,
}

impl JobFileReader {
    /// Adds a section. Later globals extend earlier ones, for the sections that follow.
    fn section(&mut self, section: FioSection) {
        if section.is_global() {
            self.global.extend(section.pairs);
            return;
        }
        let pairs = merged(self.global.iter().cloned().chain(section.pairs));
        let section = FioSection { pairs, ..section };
        let job = read_section(&section, &mut self.notes, &mut self.faults);
        let Some(job) = job else { return };
        match self.level(&job) {
            Ok(level) if level < self.groups.len() => self.groups[level].jobs.push(job),
            Ok(_) => self.groups.push(JobGroup { jobs: vec![job] }),
            Err(error) => self.faults.push(error),
        }
    }

    /// Returns the index of the group in which a job runs: that of the last stonewall, or the one
    /// after the job that it waits for.
    fn level(&mut self, job: &FioJob) -> Result<usize, InputError> {
        if job.stonewall {
            self.base = self.groups.len();
        }
        let Some(pair) = &job.wait_for else { return Ok(self.base) };
        let name = pair.required_value()?;
        let known = self.groups.iter().rposition(|group| {
            group.jobs.iter().any(|one| one.section == name || one.draft.job.name == name)
        });
        let fault = || {
            let why = format!("no job before this one is named \"{name}\"");
            pair.error(Fault::hint(why, "name an earlier section"))
        };
        known.map(|at| self.base.max(at + 1)).ok_or_else(fault)
    }
}

impl Pair {
    pub(super) fn required_value(&self) -> Result<&str, InputError> {
        self.value.as_deref().filter(|value| !value.is_empty()).ok_or_else(|| {
            self.error(Fault::hint("a value is missing", format!("write {}=VALUE", self.written)))
        })
    }

    /// Returns the value of a flag, 0 or 1; a flag without a value is set.
    pub(super) fn flag(&self) -> Result<bool, InputError> {
        match self.value.as_deref() {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => Err(self.error(Fault::new(format!("\"{other}\" is not 0 or 1")))),
        }
    }

    pub(super) fn error(&self, fault: Fault) -> InputError {
        self.origin.error_at_key(&self.written, fault)
    }

    /// Returns `key=value` as it is written.
    pub(super) fn text(&self) -> String {
        self.value
            .as_ref()
            .map_or_else(|| self.written.clone(), |value| format!("{}={value}", self.written))
    }
}

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "fio_key_tests.rs"]
mod key_tests;
