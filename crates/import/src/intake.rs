//! Takes results in the order of the files, into the store and into the final summary.

use super::sources::{ResultOwner, STANDARD_INPUT, SourceFile};
use super::systems::{FileContent, name_systems};
use super::{FileRead, FoundResult, ImportRequest, ImportedRun, convert, runs};
use anyhow::Result;
use iotax_audit::import::ALL;
use iotax_model::record::imported::Uncounted;
use iotax_model::record::{RunRecord, WARNING_KINDS, Warning};
use iotax_store::{self as store, Writer};
use iotax_units::exit::Failed;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// Destination of results, and the summary shown at the end.
pub(super) struct Intake<'a> {
    writer: &'a mut Writer,
    done: ImportedRun,
    empty_pages: Vec<String>,
    /// Files by their numbers.
    files: Vec<TakenFile>,
    all: Vec<FoundResult>,
    /// Encoded records of a batch of files, which are written together.
    pending: Vec<u8>,
    here: PathBuf,
}

struct TakenFile {
    shown: String,
    absolute: String,
    sha256: String,
    whose: ResultOwner,
}

impl<'a> Intake<'a> {
    pub(super) fn new(writer: &'a mut Writer) -> Intake<'a> {
        let here = std::env::current_dir().unwrap_or_default();
        let (empty_pages, files, all) = (Vec::new(), Vec::new(), Vec::new());
        Intake {
            writer,
            done: ImportedRun::default(),
            empty_pages,
            files,
            all,
            pending: Vec::new(),
            here,
        }
    }

    pub(super) fn take_file(&mut self, source: &SourceFile, read: FileRead) -> Result<()> {
        let FileRead { mut file, found, strays, beyond } = read;
        self.done.files += 1;
        self.done.results += found.len();
        let unread = file
            .unread
            .iter()
            .map(|one| format!("{}:{}: {}", file.path, one.line_range(), one.why));
        self.done.unread.extend(unread);
        if strays > 0 {
            self.done.strays.push(format!("{} of {}", strays, file.path));
        }
        self.done.beyond.extend(beyond);
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
        let (absolute, sha256) = (file.path.clone(), file.sha256.clone());
        let (shown, whose) = (source.shown.clone(), source.whose.clone());
        self.files.push(TakenFile { shown, absolute, sha256, whose });
        self.pending.extend(store::line_of(&RunRecord::ImportedFile(file)).map_err(Failed::from)?);
        for mut found in found {
            if let Some(histogram) = found.histogram.take() {
                found
                    .result
                    .samples
                    .push(convert::histogram_sample(self.writer.histogram(&histogram)?));
            }
            self.all.push(found);
        }
        Ok(())
    }

    /// Records the entries of folders that are not files.
    pub(super) fn pass_over(&mut self, passed: Vec<String>) {
        self.done.passed = passed;
    }

    pub(super) fn flush_pending(&mut self) -> Result<()> {
        self.writer.append_lines(&self.pending).map_err(Failed::from)?;
        self.pending.clear();
        Ok(())
    }

    /// Returns an absolute path. The current folder is looked up once, not for every file.
    fn absolute(&self, path: &Path) -> String {
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let whole = match is_plain {
            true => self.here.join(path),
            false => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        };
        whole.to_string_lossy().into_owned()
    }

    /// Names the systems of all results, and marks the results that do not count as a separate run.
    fn settle_systems(&mut self) {
        let numbers = runs::number_runs(&self.all);
        let loads: Vec<u64> =
            self.all.iter().map(|found| runs::hash(convert::key(&found.result))).collect();
        self.name_by_paths(&numbers, &loads);
        runs::mark_copies(&mut self.all, &numbers);
        self.report_repeats(&loads);
        let mut known: HashMap<String, usize> = HashMap::new();
        for FoundResult { result, .. } in &self.all {
            let at = *known.entry(result.system.clone()).or_insert_with(|| {
                self.done.systems.push((result.system.clone(), 0));
                self.done.systems.len() - 1
            });
            self.done.systems[at].1 += usize::from(result.uncounted.is_none());
            let place =
                |file: u32, line: u32| format!("{}:{line}", self.files[file as usize].shown);
            let own = format!("{} ({})", place(result.file, result.line), result.system);
            match &result.uncounted {
                Some(Uncounted::Copy { file, line }) => {
                    self.done.again.push(format!("{own} is {}", place(*file, *line)));
                }
                Some(Uncounted::Failed(why)) => self.done.failed.push(format!("{own}: {why}")),
                None => {
                    self.done.slips.extend(result.slips.iter().map(|slip| format!("{own}: {slip}")))
                }
            }
        }
        // A line of JSON may hold both directions of a job.
        self.done.failed.dedup();
        self.compare_bytes();
    }

    fn name_by_paths(&mut self, numbers: &[u32], loads: &[u64]) {
        let mut contents: Vec<FileContent> = Vec::new();
        let mut of_file: HashMap<u32, usize> = HashMap::new();
        for ((found, run), load) in self.all.iter().zip(numbers).zip(loads) {
            let ResultOwner::Path(path) = &self.files[found.result.file as usize].whose else {
                continue;
            };
            let at = *of_file.entry(found.result.file).or_insert_with(|| {
                contents.push(FileContent { path: path.clone(), results: Vec::new() });
                contents.len() - 1
            });
            if found.result.uncounted.is_none() {
                contents[at].results.push((*load, *run));
            }
        }
        self.done.by_path = !contents.is_empty();
        let names = name_systems(&contents);
        let repeated: Vec<HashSet<u64>> =
            contents.iter().map(|file| runs::repeated(file.results.iter().copied())).collect();
        // If only the file's own name gives the system, outputs of one load may come from several
        // systems: each is named by its line.
        let mut apart: HashSet<(u32, u32)> = HashSet::new();
        for (found, load) in self.all.iter().zip(loads) {
            let at = of_file.get(&found.result.file).filter(|at| names[**at].by_file);
            if at.is_some_and(|at| repeated[*at].contains(load)) {
                apart.insert((found.result.file, found.output));
            }
        }
        for found in &mut self.all {
            let Some(at) = of_file.get(&found.result.file) else { continue };
            found.result.system.clone_from(&names[*at].name);
            if apart.contains(&(found.result.file, found.output)) {
                found.result.system = format!("{}:{}", names[*at].name, found.output);
                self.done
                    .guessed
                    .get_or_insert_with(|| self.files[found.result.file as usize].shown.clone());
            }
        }
    }

    /// Lists the files that are taken for repeats, for systems named by paths.
    fn report_repeats(&mut self, loads: &[u64]) {
        let mut files: BTreeMap<(&str, u64), BTreeSet<&str>> = BTreeMap::new();
        for (FoundResult { result, .. }, load) in self.all.iter().zip(loads) {
            let file = &self.files[result.file as usize];
            if result.uncounted.is_none() && matches!(file.whose, ResultOwner::Path(_)) {
                files.entry((&result.system, *load)).or_default().insert(&file.shown);
            }
        }
        let mut longest_of: BTreeMap<&str, &BTreeSet<&str>> = BTreeMap::new();
        for ((system, _), files) in files.iter().filter(|(_, files)| files.len() > 1) {
            let longest = longest_of.entry(system).or_insert(files);
            *longest = if longest.len() < files.len() { files } else { longest };
        }
        let lines = longest_of
            .iter()
            .map(|(system, files)| format!("{system}: {}", some_names(files.iter().copied())));
        self.done.repeats = lines.collect();
    }

    /// Reports files that are copies of another file but belong to another system.
    fn compare_bytes(&mut self) {
        let mut seen: HashMap<&str, (&TakenFile, &str)> = HashMap::new();
        let mut last = None;
        for FoundResult { result, .. } in &self.all {
            let file = &self.files[result.file as usize];
            if last.replace(result.file) == Some(result.file) || file.sha256.is_empty() {
                continue;
            }
            let (other, system) = *seen.entry(&file.sha256).or_insert((file, &result.system));
            if system != result.system {
                let (path, before) = (&file.absolute, &other.absolute);
                self.done.copied.push(format!("{path} ({}) is {before} ({system})", result.system));
            }
        }
    }

    pub(super) fn end_import(mut self, asked: &ImportRequest) -> Result<ImportedRun> {
        let empty = std::mem::take(&mut self.empty_pages);
        if !empty.is_empty() || self.done.results == 0 {
            let pages = if empty.is_empty() { &self.done.empty } else { &empty };
            return Err(without_result(pages, &self.done).into());
        }
        self.settle_systems();
        if let Some(baseline) = &asked.baseline {
            if self.done.systems.iter().all(|(name, _)| name != baseline) {
                let names = some_names(self.done.systems.iter().map(|(name, _)| name.as_str()));
                let why = format!(
                    "--baseline {baseline}: no result is of that system; there are {names}"
                );
                return Err(Failed::input(why).into());
            }
        }
        for found in std::mem::take(&mut self.all) {
            self.pending.extend(store::imported_line(&found.result).map_err(Failed::from)?);
        }
        self.flush_pending()?;
        let empty =
            self.done.empty.iter().map(|file| ("no_result", format!("{file} has no result")));
        let passed =
            self.done.passed.iter().map(|what| ("passed_over", format!("passed over: {what}")));
        for (kind, text) in empty.chain(passed) {
            debug_assert!(WARNING_KINDS.contains(&kind), "{kind} is not in the docs");
            let warning = Warning { kind: kind.into(), subject: String::new(), text };
            self.writer.append(&RunRecord::Warning(warning))?;
        }
        let at = jiff::Timestamp::now().to_string();
        self.writer
            .append(&RunRecord::End { at, outcome: iotax_model::record::state::COMPLETE.into() })?;
        Ok(self.done)
    }
}

fn without_result(pages: &[String], done: &ImportedRun) -> Failed {
    let tried: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    let unread = match done.unread.split_first() {
        Some((first, [])) => format!("; not read: {first}"),
        Some((first, others)) => format!("; not read: {first}, and {} more", others.len()),
        None => String::new(),
    };
    Failed::input(format!(
        "no result in {}: looked for {}{unread}; hint: name pages with whole outputs of tools; \
         iotax audit PAGE --scenario new.toml drafts a scenario from tables",
        some_names(pages.iter().map(String::as_str)),
        tried.join(", ")
    ))
}

/// Returns names separated by commas; of more than eight, the first eight and the number of the
/// others.
pub fn some_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 8;
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}
