//! Reads runs, whole ones and those still being written or torn by a kill. This module only reads
//! folders; it measures, locks and changes nothing.

use super::index::{self, ParsedLine};
use super::is_id;
use super::private::{self, Purpose};
use super::run_id_of;
use super::run_name;
use super::{INDEX, StoreError};
use iotax_model::record::{RunRecord, RunStart};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub id: String,
    pub folder: PathBuf,
    /// Start of the run, with its time and scenario; or why it cannot be read.
    pub start: Result<RunStart, String>,
    /// Outcome of the run; `None` if its last record is no end: it still runs or was killed.
    pub outcome: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub torn: u64,
    /// Sound records of unknown kinds, by kind.
    pub unknown: BTreeMap<String, u64>,
}

/// Passes each record of a run's index to `take`, in order, holding one at a time. Returns the
/// number of torn lines and of records of unknown kinds.
///
/// # Errors
/// [`StoreError::NoRun`] without an index, [`StoreError::Newer`], [`StoreError::Malformed`],
/// [`StoreError::Unsafe`], [`StoreError::System`].
pub fn stream_records(folder: &Path, mut take: impl FnMut(RunRecord)) -> Result<Tally, StoreError> {
    let path = folder.join(INDEX);
    let file = match private::open(folder, INDEX, Purpose::Show) {
        Ok(Some(file)) => file,
        Ok(None) => return Err(no_run(folder, "there is no index.jsonl")),
        Err(StoreError::System { source, .. }) if source.kind() == ErrorKind::NotADirectory => {
            return Err(no_run(folder, "there is no index.jsonl"));
        }
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut tally = Tally::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = read_line(&mut reader, &mut line)
            .map_err(|error| StoreError::system("read", &path, error))?;
        if read == 0 {
            break;
        }
        match index::decode(&line) {
            ParsedLine::Record(record) => take(record),
            ParsedLine::Unknown(kind) => *tally.unknown.entry(kind).or_default() += 1,
            ParsedLine::Torn => tally.torn += 1,
            ParsedLine::Newer(theirs) => return Err(StoreError::Newer { path, theirs }),
            ParsedLine::Malformed(kind, cause) => {
                return Err(StoreError::Malformed { path, line: number, kind, cause });
            }
        }
    }
    Ok(tally)
}

/// Length limit of a line in bytes. No record that iotax writes comes near it, and a damaged line
/// must not fill the memory.
const LONGEST_LINE: u64 = 64 << 20;

/// Reads a line with its newline, up to [`LONGEST_LINE`]; returns the bytes read, 0 at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    reader.take(LONGEST_LINE).read_until(b'\n', line)
}

/// Returns all folders whose name is a run's id, even without a record, since the journal says what
/// to clean. Empty if the folder of runs does not exist.
///
/// # Errors
/// [`StoreError::System`] if the folder of runs cannot be read.
pub fn run_folders(runs_dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match std::fs::read_dir(runs_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::system("read", runs_dir, error)),
    };
    let is_run = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(is_id)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let mut folders: Vec<PathBuf> =
        entries.flatten().filter(is_run).map(|entry| entry.path()).collect();
    folders.sort();
    Ok(folders)
}

/// Returns all runs that have an index, oldest first; none if the folder of runs does not exist.
///
/// # Errors
/// [`StoreError::System`] if the folder of runs cannot be read.
pub fn list_runs(runs_dir: &Path) -> Result<Vec<RunSummary>, StoreError> {
    let has_index = |folder: &PathBuf| folder.join(INDEX).symlink_metadata().is_ok();
    let folders = run_folders(runs_dir)?.into_iter().filter(has_index);
    let mut runs: Vec<RunSummary> = folders.map(read_summary).collect();
    // Two runs may begin in one second: the second half of the id is random.
    let began =
        |run: &RunSummary| run.start.as_ref().map(|start| start.at.clone()).unwrap_or_default();
    runs.sort_by_key(|run| (run.id[..run.id.len().min(15)].to_owned(), began(run), run.id.clone()));
    Ok(runs)
}

pub(super) fn no_run(folder: &Path, why: &str) -> StoreError {
    StoreError::NoRun { what: folder.display().to_string(), why: Some(why.to_owned()) }
}

/// Reads a summary from the two ends of the index: a long run is listed as fast as a short one.
pub fn read_summary(folder: PathBuf) -> RunSummary {
    let id = run_id_of(&folder);
    let start = first_record(&folder).map(|mut start| {
        run_name::apply_given_name(&folder, &mut start);
        start
    });
    let outcome = last_record(&folder).and_then(|record| match record {
        RunRecord::End { outcome, .. } => Some(outcome),
        _ => None,
    });
    RunSummary { id, folder, start, outcome }
}

fn first_record(folder: &Path) -> Result<RunStart, String> {
    let file = private::open(folder, INDEX, Purpose::Show).map_err(|error| error.to_string())?;
    let file = file.ok_or("there is no index.jsonl")?;
    let mut line = Vec::new();
    read_line(&mut BufReader::new(file), &mut line).map_err(|error| error.to_string())?;
    match index::decode(&line) {
        ParsedLine::Record(RunRecord::Run(start)) => Ok(start),
        ParsedLine::Newer(theirs) => {
            Err(StoreError::Newer { path: folder.join(INDEX), theirs }.to_string())
        }
        ParsedLine::Malformed(kind, cause) => Err(format!("not a {kind} record: {cause}")),
        ParsedLine::Torn | ParsedLine::Unknown(_) | ParsedLine::Record(_) => {
            Err("its first record is missing or torn".into())
        }
    }
}

/// Returns the record of the last line, if the line is whole and ends within the last 64 KiB.
fn last_record(folder: &Path) -> Option<RunRecord> {
    use std::os::unix::fs::FileExt;
    let file = private::open(folder, INDEX, Purpose::Show).ok()??;
    let len = file.metadata().ok()?.len();
    let wanted = len.min(64 << 10);
    let mut tail = vec![0u8; wanted as usize];
    file.read_exact_at(&mut tail, len - wanted).ok()?;
    let whole = tail.strip_suffix(b"\n")?;
    let line = whole.rsplit(|byte| *byte == b'\n').next()?;
    match index::decode(line) {
        ParsedLine::Record(record) => Some(record),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::format_tests::start;
    use super::super::{SEGMENT, Store, Writer, load_run};
    use super::*;
    use iotax_load::Histogram;
    use iotax_model::record::{Better, CpuTimes, QuiesceGate, SampleValue, Slice, SliceSample};
    use proptest::prelude::*;

    const ID: &str = "20260102-030405-a1b2";

    fn stored(dir: &Path) -> Writer {
        let mut writer = Store::create(dir, ID).unwrap();
        writer.append(&RunRecord::Run(start())).unwrap();
        writer
    }

    fn end() -> RunRecord {
        RunRecord::End { at: "2026-01-02T03:09:05Z".into(), outcome: "complete".into() }
    }

    fn sample(metric: &str, unit: &str, value: SampleValue) -> SliceSample {
        SliceSample { metric: metric.into(), unit: unit.into(), better: Better::Higher, value }
    }

    /// As large as a real one: both directions, three histograms.
    fn slice(round: u32, at: [u64; 2]) -> Slice {
        let figure =
            |i: u32| SampleValue::Value(f64::from(round.wrapping_mul(31).wrapping_add(i)) * 1.5);
        Slice {
            purpose: Default::default(),
            host_cpu: None,
            other_cpu: None,
            state: None,
            rebuilt: None,
            set: 0,
            visit: 0,
            round,
            slice: round % 4,
            stack: "file+loop".into(),
            workload: "4k-randread-qd32".into(),
            short_slices: 0,
            start_ns: 81_234_567_890 + u64::from(round),
            clock_offset_ns: -120,
            window_ns: 100_000_000,
            discarded_ns: 20_000_000,
            discarded_ios: 1400,
            drain_ns: 410_000,
            errors: 0,
            samples: vec![
                sample("read.ios", "1", figure(0)),
                sample("read.bytes", "B", figure(1)),
                sample("read.latency", "ns", SampleValue::Histogram(at[0])),
                sample("write.ios", "1", figure(2)),
                sample("write.bytes", "B", figure(3)),
                sample("write.latency", "ns", SampleValue::Histogram(at[1])),
                sample("cpu.user", "ns", figure(4)),
                sample("cpu.system", "ns", figure(5)),
            ],
            cpu: Some(CpuTimes {
                user_ns: 1,
                system_ns: 2,
                steal_ns: 3,
                idle_ns: 4,
                throttled_ns: 5,
                kernel_threads_ns: None,
            }),
            gate: Some(QuiesceGate::NOTHING_OWED),
            device_read_bytes: None,
            targets: Vec::new(),
            together: None,
            late: None,
            run_again: 0,
            parts: Vec::new(),
        }
    }

    #[test]
    fn a_run_is_readable_at_each_moment() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = stored(dir.path());
        let read = || load_run(&dir.path().join(ID)).unwrap();
        assert_eq!((read().start, read().outcome, read().torn), (start(), None, 0));
        let mut latency = Histogram::new();
        latency.record(77);
        let at =
            [writer.histogram(&latency).unwrap(), writer.histogram(&Histogram::new()).unwrap()];
        writer.append(&RunRecord::Slice(slice(7, at))).unwrap();
        assert_eq!(read().slices, [slice(7, at)]);
        assert_eq!(read().histograms.read_at(at[0]), Some(latency));
        assert_eq!(read().histograms.read_at(at[1]), Some(Histogram::new()));
        writer.append(&end()).unwrap();
        writer.sync().unwrap();
        assert_eq!(read().outcome.as_deref(), Some("complete"));
    }

    #[test]
    fn a_kill_at_any_byte_loses_only_the_last_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = stored(dir.path());
        for round in 0..3 {
            writer.append(&RunRecord::Slice(slice(round, [0, 0]))).unwrap();
        }
        drop(writer);
        let folder = dir.path().join(ID);
        let whole = std::fs::read(folder.join(INDEX)).unwrap();
        let last_line =
            whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for cut in last_line..whole.len() {
            std::fs::write(folder.join(INDEX), &whole[..cut]).unwrap();
            let run = load_run(&folder).unwrap();
            // Without its newline alone a line is whole: its CRC says so.
            let (whole, torn) =
                if cut == whole.len() - 1 { (3, 0) } else { (2, u64::from(cut > last_line)) };
            assert_eq!((run.slices.len(), run.torn), (whole, torn), "cut at {cut}");
            let mut writer = Store::append(&folder).unwrap();
            writer.append(&RunRecord::Slice(slice(9, [0, 0]))).unwrap();
            let run = load_run(&folder).unwrap();
            assert_eq!(run.slices.last().unwrap().round, 9, "cut at {cut}");
            assert_eq!((run.slices.len(), run.torn), (whole + 1, torn), "cut at {cut}");
        }
    }

    #[test]
    fn one_writer_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let writer = stored(dir.path());
        let busy = Store::append(writer.folder()).unwrap_err();
        assert!(matches!(busy, StoreError::Busy(_)), "{busy}");
        let folder = writer.folder().to_owned();
        drop(writer);
        Store::append(&folder).unwrap();
    }

    #[test]
    fn newer_malformed_and_no_runs_say_so() {
        use crate::FORMAT;
        let dir = tempfile::tempdir().unwrap();
        let folder = stored(dir.path()).folder().to_owned();
        let append = |text: String| {
            let index = std::fs::read_to_string(folder.join(INDEX)).unwrap();
            let first = index.lines().next().unwrap().to_owned();
            std::fs::write(folder.join(INDEX), format!("{first}\n{text}\n")).unwrap();
            load_run(&folder).err().unwrap().to_string()
        };
        let sound = String::from_utf8(crate::line::enclose(br#"{"record":"end"}"#)).unwrap();
        let malformed = append(sound.trim().to_owned());
        assert!(malformed.contains("line 2: not a end record"), "{malformed}");
        let newer = append(sound.trim().replace(&format!("\"v\":{FORMAT}"), "\"v\":4"));
        assert!(
            newer.contains(&format!(
                "is of format 4, this iotax reads up to {FORMAT}; hint: use the iotax"
            )),
            "{newer}"
        );
        let none = load_run(dir.path()).err().unwrap().to_string();
        assert!(none.contains("is no run: there is no index.jsonl"), "{none}");
        std::fs::write(folder.join(INDEX), "hello\n").unwrap();
        assert!(
            load_run(&folder)
                .err()
                .unwrap()
                .to_string()
                .contains("first record is missing or torn")
        );
    }

    #[test]
    fn lists() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list_runs(&dir.path().join("none")).unwrap(), []);
        let mut writer = stored(dir.path());
        std::fs::create_dir(dir.path().join("not a run")).unwrap();
        std::fs::create_dir(dir.path().join("empty")).unwrap();
        assert_eq!(list_runs(dir.path()).unwrap()[0].outcome, None);
        writer.append(&end()).unwrap();
        let runs = list_runs(dir.path()).unwrap();
        assert_eq!(
            (runs.len(), runs[0].id.as_str(), runs[0].outcome.as_deref()),
            (1, ID, Some("complete"))
        );
        assert_eq!(runs[0].start, Ok(start()));
    }

    #[test]
    fn a_full_disk_is_said_and_what_was_stored_stays_whole() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to mount a small tmpfs");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        std::fs::create_dir(&runs).unwrap();
        let mount = |words: &[&str]| {
            std::process::Command::new(words[0]).args(&words[1..]).arg(&runs).status().unwrap()
        };
        if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "iotax-test"]).success() {
            println!("skipped: needs to mount a tmpfs");
            return;
        }
        let filled = std::panic::catch_unwind(|| {
            let mut writer = stored(&runs);
            let mut stored = 0;
            let error = loop {
                match writer.append(&RunRecord::Slice(slice(stored, [0, 0]))) {
                    Ok(()) => stored += 1,
                    Err(error) => break error,
                }
            };
            let run = load_run(&runs.join(ID)).unwrap();
            (error, stored as usize, run.slices.len(), run.torn)
        });
        assert!(mount(&["umount"]).success());
        let (error, wrote, read, torn) = filled.unwrap();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(wrote > 10 && wrote == read && torn == 0, "{wrote} {read} {torn}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn damage_never_panics_and_never_adds(at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let dir = tempfile::tempdir().unwrap();
            let mut writer = stored(dir.path());
            writer.append(&RunRecord::Slice(slice(1, [0, 0]))).unwrap();
            writer.append(&end()).unwrap();
            let path = writer.folder().join(INDEX);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = with;
            std::fs::write(&path, bytes).unwrap();
            if let Ok(run) = load_run(writer.folder()) {
                prop_assert!(run.slices.is_empty() || run.slices == [slice(1, [0, 0])]);
                prop_assert!(run.start == start());
            }
        }
    }

    #[test]
    #[ignore = "a measurement: cargo test --release --lib million_slices -- --ignored --nocapture"]
    fn million_slices_in_seconds() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = stored(dir.path());
        let mut latency = Histogram::new();
        (0..3000u64).for_each(|i| latency.record(60_000 + i * i % 90_000));
        let clock = std::time::Instant::now();
        for round in 0..1_000_000 {
            let at =
                [writer.histogram(&latency).unwrap(), writer.histogram(&Histogram::new()).unwrap()];
            writer.append(&RunRecord::Slice(slice(round, at))).unwrap();
        }
        let size = |name: &str| std::fs::metadata(writer.folder().join(name)).unwrap().len() >> 20;
        println!(
            "written in {:?}: index {} MiB, segment {} MiB",
            clock.elapsed(),
            size(INDEX),
            size(SEGMENT)
        );
        let clock = std::time::Instant::now();
        let mut slices = 0u64;
        stream_records(writer.folder(), |record| {
            slices += u64::from(matches!(record, RunRecord::Slice(_)))
        })
        .unwrap();
        println!("streamed in {:?}", clock.elapsed());
        let clock = std::time::Instant::now();
        let run = load_run(writer.folder()).unwrap();
        println!("read into memory in {:?}", clock.elapsed());
        let clock = std::time::Instant::now();
        let mut sum = Histogram::new();
        for sample in run.slices.iter().flat_map(|slice| &slice.samples) {
            if let SampleValue::Histogram(offset) = sample.value {
                sum.merge(&run.histograms.read_at(offset).unwrap());
            }
        }
        println!("all histograms read and merged in {:?}", clock.elapsed());
        assert_eq!((slices, sum.count()), (1_000_000, 3_000_000_000));
    }
}
