//! What was read, taken in the order of the files: to the store, and into what is told at the end.

use super::sources::{By, STANDARD_INPUT, Source, Whose};
use super::{Asked, Done, FileRead, Found, convert};
use anyhow::Result;
use iotax_audit::import::ALL;
use iotax_model::record::imported::ImportedFile;
use iotax_model::record::{Record, WARNING_KINDS, Warning};
use iotax_store::{self as store, Writer};
use iotax_units::exit::Failed;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Where results go, and what is told of them at the end.
pub(super) struct Intake<'a> {
    writer: &'a mut Writer,
    done: Done,
    empty_pages: Vec<String>,
    known: HashMap<String, usize>,
    /// Path and system of the first file with such bytes.
    seen: HashMap<String, (String, String)>,
    /// Lines of a stretch of files, which go to the store at once: nothing of it is a run before the end.
    pending: Vec<u8>,
    here: PathBuf,
}

impl<'a> Intake<'a> {
    pub(super) fn new(writer: &'a mut Writer, by: By) -> Intake<'a> {
        let done = Done {
            folder: PathBuf::new(),
            files: 0,
            results: 0,
            systems: Vec::new(),
            by,
            empty: Vec::new(),
            passed: Vec::new(),
            unread: Vec::new(),
            strays: Vec::new(),
            beyond: Vec::new(),
            copied: Vec::new(),
            snapshots: Vec::new(),
            guessed: None,
        };
        let here = std::env::current_dir().unwrap_or_default();
        let (empty_pages, known, seen) = (Vec::new(), HashMap::new(), HashMap::new());
        Intake { writer, done, empty_pages, known, seen, pending: Vec::new(), here }
    }

    pub(super) fn take(&mut self, source: &Source, read: FileRead) -> Result<()> {
        let FileRead { mut file, found, lines, strays, beyond } = read;
        self.done.files += 1;
        self.done.results += found.len();
        let told = file.unread.iter().map(|one| format!("{}:{}: {}", file.path, one.places(), one.why));
        self.done.unread.extend(told);
        if strays > 0 {
            self.done.strays.push(format!("{} of {}", strays, file.path));
        }
        self.done.beyond.extend(beyond);
        self.compare_bytes(&file, &found);
        if file.snapshots > 0 {
            self.done.snapshots.push(format!("{} of {}", file.snapshots, file.path));
        }
        if found.is_empty() {
            match source.found {
                true => self.done.empty.push(file.path.clone()),
                false => self.empty_pages.push(file.path.clone()),
            }
        }
        file.path = match &source.path {
            Some(path) => self.absolute(path),
            None => STANDARD_INPUT.to_owned(),
        };
        self.pending.extend(store::line_of(&Record::ImportedFile(file)).map_err(Failed::from)?);
        for ((mut result, histogram), line) in found.into_iter().zip(lines) {
            if let Some(histogram) = histogram {
                result.samples.push(convert::histogram_sample(self.writer.histogram(&histogram)?));
            }
            self.count(&result.system);
            let is_guessed = matches!(&source.whose, Whose::Guessed(name) if *name != result.system);
            if is_guessed && self.done.guessed.is_none() {
                self.done.guessed = Some(source.shown.clone());
            }
            let line = line.map_or_else(|| store::imported_line(&result), Ok);
            self.pending.extend(line.map_err(Failed::from)?);
        }
        Ok(())
    }

    /// What lies in folders and is no file.
    pub(super) fn pass_over(&mut self, passed: Vec<String>) {
        self.done.passed = passed;
    }

    /// A file that is another's copy, and called another system, is told.
    fn compare_bytes(&mut self, file: &ImportedFile, found: &[Found]) {
        let Some((result, _)) = found.first().filter(|_| !file.sha256.is_empty()) else { return };
        let system = &result.system;
        match self.seen.get(&file.sha256) {
            Some((path, other)) if other != system => {
                self.done.copied.push(format!("{} ({system}) is {path} ({other})", file.path));
            }
            Some(_) => {}
            None => {
                self.seen.insert(file.sha256.clone(), (file.path.clone(), system.clone()));
            }
        }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.append_lines(&self.pending).map_err(Failed::from)?;
        self.pending.clear();
        Ok(())
    }

    /// From the root; where it is asked for once, and not for every file, where "here" is.
    fn absolute(&self, path: &Path) -> String {
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let whole = match is_plain {
            true => self.here.join(path),
            false => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        };
        whole.to_string_lossy().into_owned()
    }

    fn count(&mut self, system: &str) {
        let next = self.done.systems.len();
        let at = *self.known.entry(system.to_owned()).or_insert(next);
        match self.done.systems.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => self.done.systems.push((system.to_owned(), 1)),
        }
    }

    pub(super) fn end(mut self, asked: &Asked) -> Result<Done> {
        let empty = std::mem::take(&mut self.empty_pages);
        if !empty.is_empty() || self.done.results == 0 {
            let pages = if empty.is_empty() { &self.done.empty } else { &empty };
            return Err(without_result(pages, &self.done).into());
        }
        if let Some(baseline) = &asked.baseline {
            if self.done.systems.iter().all(|(name, _)| name != baseline) {
                let names = some_names(self.done.systems.iter().map(|(name, _)| name.as_str()));
                let why = format!("--baseline {baseline}: no result is of that system; there are {names}");
                return Err(Failed::input(why).into());
            }
        }
        let empty = self.done.empty.iter().map(|file| ("no_result", format!("{file} has no result")));
        let passed = self.done.passed.iter().map(|what| ("passed_over", format!("passed over: {what}")));
        for (kind, text) in empty.chain(passed) {
            debug_assert!(WARNING_KINDS.contains(&kind), "{kind} is not in the docs");
            let warning = Warning { kind: kind.into(), subject: String::new(), text };
            self.writer.append(&Record::Warning(warning))?;
        }
        let at = jiff::Timestamp::now().to_string();
        self.writer.append(&Record::End { at, outcome: iotax_model::record::state::COMPLETE.into() })?;
        Ok(self.done)
    }
}

fn without_result(pages: &[String], done: &Done) -> Failed {
    let tried: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    let unread = match done.unread.split_first() {
        Some((first, [])) => format!("; not read: {first}"),
        Some((first, others)) => format!("; not read: {first}, and {} more", others.len()),
        None => String::new(),
    };
    Failed::input(format!(
        "no result in {}: looked for {}{unread}; hint: name pages with whole outputs of tools",
        some_names(pages.iter().map(String::as_str)),
        tried.join(", ")
    ))
}

/// Names, of many the first few.
pub fn some_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 8;
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}
