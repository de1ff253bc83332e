//! Imports other tools' results as a run. Threads read the files in batches. When all files are
//! read, it decides which results belong to one run and to which system; results reach the store in
//! file order. An import is stored completely or not at all. Pages without results are refused.
#![forbid(unsafe_code)]

mod convert;
pub mod folder;
mod intake;
mod rates;
mod runs;
mod sources;
mod systems;

pub use sources::{NamedSource, STDIN, parse_named};

use anyhow::{Context, Result};
use convert::{FoundResult, PageResults};
use intake::Intake;
pub use intake::some_names;
use iotax_audit::container;
use iotax_audit::import::find_outputs;
use iotax_audit::page::UnreadRange;
use iotax_model::record::imported::{Import, ImportedFile, UnreadLines};
use iotax_model::record::{RunRecord, RunStart};
use iotax_model::scenario::Scenario;
use iotax_store::Staged;
use iotax_sys::regular::{open_regular, read_to_limit};
use iotax_units::exit::{Failed, contained, unreadable};
use sha2::{Digest, Sha256};
use sources::{ResultOwner, SourceFile, Sources, sources};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of files in a batch. The batch is read by all threads, then its files are stored in
/// order.
const STRETCH: usize = 256;
/// Limit in bytes of files in a folder and of standard input: larger ones are disks rather than
/// results, and would fill the memory. A file that is named is read whatever its size.
pub const LARGEST: u64 = 2 << 30;
/// Largest number of unread ranges of lines that a file's record lists.
const MOST_UNREAD: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct ImportRequest {
    pub pages: Vec<String>,
    pub named: Vec<NamedSource>,
    /// System that the others are compared with.
    pub baseline: Option<String>,
    pub name: Option<String>,
    pub argv: Vec<String>,
}

#[derive(Debug, Default)]
pub struct ImportedRun {
    pub folder: PathBuf,
    pub files: usize,
    pub results: usize,
    /// Systems in the order of their first results, each with the number of its results that count.
    pub systems: Vec<(String, usize)>,
    /// True if some systems were named by their paths.
    pub by_path: bool,
    /// Systems with several runs of one load from several paths: `host: r1.json, r2.json`.
    pub repeats: Vec<String>,
    /// Results of runs that are already counted: `vm/b.json:12 (vm) is vm/a.json:12`.
    pub again: Vec<String>,
    /// Results of runs that failed: `vm/a.json:12 (vm): error 5, Input/output error`.
    pub failed: Vec<String>,
    /// Printed rates that contradict their counts: `vm/a.txt:12 (vm): IOPS: 25.0k is printed, but
    /// 25991 follows from ...`.
    pub slips: Vec<String>,
    /// Files in folders that hold no result.
    pub empty: Vec<String>,
    /// Entries of folders that are not files: `results/pipe: no regular file`.
    pub passed: Vec<String>,
    /// Lines that could not be read, with the reason: `host.txt:12-14: why`.
    pub unread: Vec<String>,
    /// Number of results in a file outside the lines of any system: `2 of host.txt`.
    pub strays: Vec<String>,
    /// Lines that were named beyond the end of a file: `1-9999 of host.txt for host: its last is
    /// 60`.
    pub beyond: Vec<String>,
    /// Files of several systems with identical bytes: `vm/a.json (vm) is host/a.json (host)`.
    pub copied: Vec<String>,
    /// Outputs printed before their run had ended, which are not runs: `3 of host.json`.
    pub snapshots: Vec<String>,
    /// First file whose results were given to systems by their line, since it holds several runs of
    /// one load and only its own name could name the system.
    pub guessed: Option<String>,
}

/// Reads everything and stores it as one run.
///
/// # Errors
/// Fails if there is nothing to import, if a file cannot be read, if a page that was named has no
/// result or no result was found at all, for a baseline that is no system, if `stop` is set, if a
/// reader panics, or if the run cannot be stored. Nothing is stored then.
pub fn import(asked: &ImportRequest, runs: &Path, stop: &AtomicBool) -> Result<ImportedRun> {
    let Sources { all, passed } = sources(&asked.pages, &asked.named)?;
    if all.is_empty() {
        return Err(Failed::input(
            "there is nothing to import; hint: name files, folders, or - for standard input",
        )
        .into());
    }
    let id = iotax_store::new_id();
    let mut staged = Staged::begin(runs, &id).map_err(Failed::from)?;
    let mut intake = Intake::new(staged.writer().context("the run is closed")?);
    // The answer comes from files of the kernel, so it is read once.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (at, stretch) in all.chunks(STRETCH).enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failed::measurement("interrupted: nothing was stored").into());
        }
        let read = read_all(stretch, at * STRETCH, threads);
        for (source, read) in stretch.iter().zip(read) {
            intake.take_file(source, read?)?;
        }
        intake.flush_pending()?;
    }
    intake.pass_over(passed);
    let mut done = intake.end_import(asked)?;
    let start = RunRecord::Run(run_start(asked, &id, &done));
    done.folder = staged.keep(&start).map_err(Failed::from)?;
    Ok(done)
}

fn run_start(asked: &ImportRequest, id: &str, done: &ImportedRun) -> RunStart {
    RunStart {
        id: id.to_owned(),
        at: jiff::Timestamp::now().to_string(),
        iotax: env!("CARGO_PKG_VERSION").to_owned(),
        argv: asked.argv.clone(),
        scenario: Scenario::of_nothing("imported results", asked.name.clone()),
        boot_id: String::new(),
        siblings: 0,
        write_caches: Vec::new(),
        ratings: Vec::new(),
        imported: Some(Import {
            files: u32::try_from(done.files).unwrap_or(u32::MAX),
            systems: done.systems.iter().map(|(name, _)| name.clone()).collect(),
            baseline: asked.baseline.clone(),
        }),
    }
}

struct FileRead {
    file: ImportedFile,
    found: Vec<FoundResult>,
    strays: usize,
    beyond: Vec<String>,
}

/// Reads each file on the next free thread; the results are in the order of the files.
fn read_all(stretch: &[SourceFile], first: usize, threads: usize) -> Vec<Result<FileRead>> {
    let threads = threads.min(stretch.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = stretch.get(at) else { return done };
            done.push((at, read_file(source, first + at)));
        }
    };
    let mut all: Vec<(usize, Result<FileRead>)> = match threads {
        0 | 1 => work(),
        _ => std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let join = |other: std::thread::ScopedJoinHandle<_>| match other.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            own.into_iter().chain(others.into_iter().flat_map(join)).collect()
        }),
    };
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, read)| read).collect()
}

fn read_file(source: &SourceFile, number: usize) -> Result<FileRead> {
    let bytes = match &source.path {
        Some(path) => match open_source(path, source.found) {
            Ok(OpenedSource::TooLarge(bytes)) => return Ok(too_large(source, number, bytes)),
            Ok(OpenedSource::Bytes(bytes)) => Ok(bytes),
            Err(error) => Err(error),
        },
        None => read_to_limit(std::io::stdin().lock(), 0, LARGEST),
    };
    let bytes = bytes.map_err(|error| {
        Failed::input(format!("cannot read {}: {}", source.shown, reason(&error)))
    })?;
    contained(|| read_bytes(source, number, bytes))
        .map_err(|why| Failed::measurement(format!("{}: {why}", source.shown)).into())
}

enum OpenedSource {
    Bytes(Vec<u8>),
    TooLarge(u64),
}

fn open_source(path: &Path, found: bool) -> std::io::Result<OpenedSource> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    if found && size > LARGEST {
        return Ok(OpenedSource::TooLarge(size));
    }
    read_to_limit(file, size, u64::MAX).map(OpenedSource::Bytes)
}

fn too_large(source: &SourceFile, number: usize, bytes: u64) -> FileRead {
    let why = "it is larger than 2 GiB and was not read; hint: name the file itself".to_owned();
    let file = ImportedFile {
        file: u32::try_from(number).unwrap_or(u32::MAX),
        path: source.shown.clone(),
        bytes,
        sha256: String::new(),
        results: 0,
        unread: vec![UnreadLines { from: 1, to: 1, why }],
        snapshots: 0,
    };
    FileRead { file, found: Vec::new(), strays: 0, beyond: Vec::new() }
}

fn read_bytes(source: &SourceFile, number: usize, bytes: Vec<u8>) -> FileRead {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let size = bytes.len() as u64;
    let page = container::page(&source.shown, bytes);
    let imported = find_outputs(&page);
    let PageResults { found, strays, snapshots, last } =
        convert::page_results(&page, &imported.outputs, &source.whose, number);
    let mut unread: Vec<UnreadLines> =
        page.unread.iter().chain(&imported.unread).map(unread_lines).collect();
    if let Some(more) = unread.len().checked_sub(MOST_UNREAD).filter(|more| *more > 0) {
        let rest = unread.split_off(MOST_UNREAD);
        let ends = rest.iter().map(|one| one.from).min().zip(rest.iter().map(|one| one.to).max());
        unread.extend(ends.map(|(from, to)| UnreadLines {
            from,
            to,
            why: format!("{more} more stretches of lines"),
        }));
    }
    let results = u32::try_from(found.len()).unwrap_or(u32::MAX);
    let path = source.shown.clone();
    let file = ImportedFile { file: number, path, bytes: size, sha256, results, unread, snapshots };
    let beyond = beyond(source, last);
    FileRead { file, found, strays, beyond }
}

fn beyond(source: &SourceFile, last: u32) -> Vec<String> {
    let ResultOwner::Lines(ranges) = &source.whose else { return Vec::new() };
    let said = |(system, from, to): &(String, u32, u32)| {
        format!("{from}-{to} of {} for {system}: its last is {last}", source.shown)
    };
    ranges.iter().filter(|(.., to)| *to > last).map(said).collect()
}

fn unread_lines(unread: &UnreadRange) -> UnreadLines {
    UnreadLines { from: unread.line, to: unread.last, why: unread.why.clone() }
}

/// Returns why the operating system refused, in lower case and without the error number.
fn reason(error: &std::io::Error) -> String {
    unreadable(error).map_or_else(|| error.kind().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Histogram;
    use iotax_model::record::imported::{ImportedDirection, ImportedPart, ImportedResult};

    const TEXT: &str = include_str!("../../audit/fixtures/fio/randrw-3.33.txt");
    const JSON: &str = include_str!("../../audit/fixtures/fio/randread.json+");

    fn read(text: &str, whose: ResultOwner) -> FileRead {
        let source =
            SourceFile { path: None, shown: "results/page.txt".into(), whose, found: false };
        read_bytes(&source, 7, text.as_bytes().to_vec())
    }

    fn one(text: &str) -> Vec<FoundResult> {
        read(text, ResultOwner::One("host".into())).found
    }

    fn value(result: &ImportedResult, metric: &str) -> f64 {
        result.sample(metric).unwrap().value.unwrap()
    }

    fn systems(read: &FileRead) -> Vec<&str> {
        read.found.iter().map(|found| found.result.system.as_str()).collect()
    }

    #[test]
    fn a_figure_keeps_its_place_and_what_its_digits_stand_for() {
        let found = one(TEXT);
        let [read, write] = found.as_slice() else { panic!("{found:?}") };
        assert!(read.histogram.is_none() && write.histogram.is_none());
        let [read, write] = [&read.result, &write.result];
        assert_eq!(
            (read.way, write.way, read.file, read.line),
            (ImportedDirection::Read, ImportedDirection::Write, 7, 8)
        );
        assert_eq!((read.tool.as_str(), read.version.as_deref()), ("fio text", Some("3.33")));
        assert_eq!(read.ended.as_deref(), Some("2026-11-23T17:02:55"));
        assert_eq!(
            (read.load.bs, read.load.iodepth, read.load.numjobs),
            (Some(4096), Some(8), Some(2))
        );
        let iops = read.sample("iops").unwrap();
        let [low, high] = iops.rounded().unwrap();
        assert_eq!(low.floor(), 44_562.0, "as its counts say");
        assert!(high - low < 1.0, "{iops:?}");
        let at = |result: &ImportedResult, percent: f64| {
            result
                .percentiles
                .iter()
                .find(|one| one.percent == percent)
                .map(|one| (one.low, one.ns, one.high))
        };
        let (low, ns, high) = at(read, 99.9).unwrap();
        assert!(
            ns == 379_000.0 && low < high && low <= ns && ns <= high && high - low <= 1_000.0,
            "{low} to {high}"
        );
        assert_eq!(at(write, 50.0).map(|one| one.1), Some(186_000.0));
        assert_eq!((value(read, "ios"), value(read, "runtime")), (89_170.0, 2.001e9));
    }

    #[test]
    fn bins_become_a_histogram_within_their_stated_error() {
        let found = one(JSON);
        let [FoundResult { result, histogram: Some(histogram), .. }] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(histogram.count() as f64, value(result, "ios"));
        for one in result.percentiles.iter().filter(|one| [50.0, 99.0, 99.9].contains(&one.percent))
        {
            let ours = histogram.percentile(one.percent / 100.0).unwrap() as f64;
            assert!((ours / one.ns - 1.0).abs() < 0.016, "{one:?}: {ours}");
        }
        assert!(!result.percentiles.is_empty());
        assert_eq!(result.tool, "fio JSON");
        assert_eq!(
            Histogram::decode(&histogram.encode()).as_ref(),
            Ok(histogram),
            "what is stored is what was read"
        );
    }

    #[test]
    fn results_of_lines_that_nobody_named_are_strays() {
        let twice = format!("{TEXT}\n\n{TEXT}");
        let lines = TEXT.lines().count() as u32;
        let some = read(&twice, ResultOwner::Lines(vec![("host".to_owned(), 1, lines)]));
        assert_eq!((systems(&some), some.strays), (vec!["host"; 2], 2));
        assert_eq!(systems(&read(&twice, ResultOwner::One("host".into()))), ["host"; 4]);
    }

    #[test]
    fn lines_behind_the_end_of_a_file_are_told() {
        let lines = TEXT.lines().count() as u32;
        let of = |to: u32| read(TEXT, ResultOwner::Lines(vec![("host".into(), 1, to)])).beyond;
        assert_eq!(of(lines), Vec::<String>::new());
        let told = of(9999);
        assert!(
            told[0].starts_with("1-9999 of results/page.txt for host: its last is "),
            "{told:?}"
        );
    }

    #[test]
    fn what_caps_a_load_is_part_of_it() {
        let capped =
            JSON.replacen("\"rw\" :", "\"rate_iops\" : \"1000\", \"direct\" : \"1\", \"rw\" :", 1);
        assert_ne!(capped, JSON);
        let (plain, capped) = (one(JSON), one(&capped));
        assert_eq!(capped[0].result.load.caps, ["rate_iops=1000"]);
        assert!(capped[0].result.load.settings.as_ref().unwrap().contains(&"direct=1".to_owned()));
        assert_ne!(plain[0].result.load.identity(), capped[0].result.load.identity());
        assert_eq!(one(TEXT)[0].result.load.settings, None);
    }

    #[test]
    fn what_a_run_prints_before_it_ends_is_no_run_of_its_own() {
        const STATUS: [&str; 2] = [
            include_str!("../../audit/fixtures/fio/status-interval.txt"),
            include_str!("../../audit/fixtures/fio/status-interval.json"),
        ];
        for (text, rw, ios) in [(STATUS[0], "randread", 236_517.0), (STATUS[1], "write", 11_332.0)]
        {
            for whose in
                [ResultOwner::One("host".into()), ResultOwner::Path(vec!["host.txt".into()])]
            {
                let read = read(text, whose);
                let [FoundResult { result, histogram: None, .. }] = read.found.as_slice() else {
                    panic!("{:?}", read.found)
                };
                assert_eq!((read.file.snapshots, read.file.results), (3, 1));
                assert_eq!(result.load.rw.as_deref(), Some(rw));
                assert_eq!((value(result, "ios"), result.version.as_deref()), (ios, Some("3.33")));
            }
        }
    }

    #[test]
    fn jobs_of_one_load_side_by_side_are_parts() {
        let job = "mixed: (groupid=0, jobs=2): err= 0: pid=28249: Mon Nov 23 17:02:55 2026";
        let at = TEXT.find(job).unwrap();
        let end = TEXT.find("\nRun status").unwrap();
        let text = format!("{}{}{}", &TEXT[..end], &TEXT[at..end], &TEXT[end..]);
        let parts: Vec<Option<ImportedPart>> =
            one(&text).into_iter().map(|found| found.result.part).collect();
        let part = |part| Some(ImportedPart { part, of: 2 });
        assert_eq!(parts, [part(1), part(1), part(2), part(2)]);
    }

    #[test]
    fn what_is_cut_off_is_listed_and_what_was_not_printed_is_missing() {
        let read = read(
            "noise\n  read: IOPS=44.6k, BW=174MiB/s (183MB/s)(348MiB/2001msec)\nnoise\n",
            ResultOwner::One("a".into()),
        );
        let [FoundResult { result, histogram: None, .. }] = read.found.as_slice() else {
            panic!("{:?}", read.found)
        };
        let mean = result.sample("latency.mean").unwrap();
        assert_eq!(
            (mean.value, mean.missing.as_deref()),
            (None, Some("the output does not report it"))
        );
        assert_eq!((&result.load.rw, result.line), (&None, 2));
        let bins = JSON.find("\"bins\" : {\n").unwrap();
        let cut = super::tests::read(&JSON[..bins + 400], ResultOwner::One("a".into()));
        assert_eq!(cut.file.unread.len(), 1, "{:?}", cut.file);
        assert!(
            cut.found.iter().all(|found| found.histogram.is_none()),
            "half of the bins are no histogram"
        );
        assert_eq!(cut.file.sha256.len(), 64);
    }

    #[test]
    fn files_are_read_in_their_order_by_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut sources = Vec::new();
        for at in 0..40 {
            let path = folder.path().join(format!("{at:02}.txt"));
            std::fs::write(&path, if at % 3 == 0 { "nothing" } else { TEXT }).unwrap();
            let (shown, whose) = (path.display().to_string(), ResultOwner::One(at.to_string()));
            sources.push(SourceFile { path: Some(path), shown, whose, found: true });
        }
        for threads in [1, 2, 7] {
            let files: Vec<ImportedFile> = read_all(&sources, 100, threads)
                .into_iter()
                .map(|read| read.unwrap().file)
                .collect();
            for (file, at) in files.iter().zip(0u32..) {
                assert_eq!((file.file, file.results), (100 + at, if at % 3 == 0 { 0 } else { 2 }));
            }
            assert_eq!(files.len(), 40);
        }
    }
}
