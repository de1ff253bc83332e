//! Tests that parse every example of docs/result-format.md, and a run of each format, which must
//! stay readable forever.

use super::index::{self, ParsedLine};
use super::{RunData, Store, load_run, segment};
use iotax_facts::machine::WriteCache;
use iotax_load::Histogram;
use iotax_model::record::{Purpose, RunRecord, RunStart, SampleValue, Slice};
use iotax_stats::pilot::Pattern;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../docs/result-format.md");

fn blocks(info: &str) -> Vec<&'static str> {
    let fence = format!("```{info}\n");
    PAGE.split(fence.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().trim_end())
        .collect()
}

/// Returns the records on the page, one a line.
fn records() -> Vec<&'static str> {
    blocks("json record").into_iter().flat_map(str::lines).collect()
}

fn golden(format: u32) -> RunData {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures");
    load_run(&fixtures.join(format!("run-v{format}"))).unwrap()
}

#[test]
fn records_parse_and_lose_nothing() {
    let mut kinds = BTreeSet::new();
    for block in records() {
        let record: RunRecord =
            serde_json::from_str(block).unwrap_or_else(|error| panic!("{block}: {error}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), block);
        assert!(
            matches!(index::decode(&super::line::enclose(block.as_bytes())), ParsedLine::Record(parsed) if parsed == record)
        );
        kinds.insert(serde_json::to_value(&record).unwrap()["record"].to_string());
    }
    assert_eq!(kinds.len(), 25, "{kinds:?}");
}

#[test]
fn the_point_of_a_sweep_is_as_shown() {
    let [point] = blocks("json sweep")[..] else { panic!("one point expected") };
    let parsed: iotax_model::scenario::SweepPoint = serde_json::from_str(point).unwrap();
    assert_eq!(serde_json::to_string(&parsed).unwrap(), point);
}

#[test]
fn what_a_run_was_imported_from_is_as_shown() {
    let [shown] = blocks("json imported")[..] else { panic!("one example expected") };
    let parsed: iotax_model::record::imported::Import = serde_json::from_str(shown).unwrap();
    assert_eq!(serde_json::to_string(&parsed).unwrap(), shown);
    assert!([1, 2, 3].iter().all(|format| golden(*format).start.imported.is_none()));
}

#[test]
fn published_figures_are_as_shown() {
    let [shown] = blocks("json published")[..] else { panic!("one example expected") };
    let parsed: iotax_model::scenario::Published = serde_json::from_str(shown).unwrap();
    assert_eq!(serde_json::to_string(&parsed).unwrap(), shown);
    let [old, new] = [1, 2].map(golden);
    assert_eq!((old.start.scenario.published, new.start.scenario.published), (None, None));
}

#[test]
fn the_line_is_what_is_written() {
    let [line] = blocks("json index")[..] else { panic!("one line expected") };
    let ParsedLine::Record(record) = index::decode(line.as_bytes()) else { panic!("torn: {line}") };
    assert_eq!(index::encode(&record).unwrap(), format!("{line}\n").into_bytes());
}

#[test]
fn the_segment_header_is_as_shown() {
    let hex: String = blocks("hex segment")[0].chars().filter(char::is_ascii_hexdigit).collect();
    let shown: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    let written = segment::encode(&Histogram::new());
    assert_eq!(written[..8], shown[..8]);
    assert_eq!(crc32fast::hash(&shown[..12]).to_le_bytes(), shown[12..]);
}

/// Keeps old runs readable: the files in these folders are never written again, so if this test
/// fails, the reader is wrong.
#[test]
fn golden_runs_stay_readable() {
    for run in [golden(1), golden(2), golden(3)] {
        assert_eq!(
            (run.start.id.as_str(), run.start.scenario.stacks.len()),
            ("20260102-030405-a1b2", 1)
        );
        assert_eq!((run.places.len(), run.workers.len(), run.warnings.len()), (1, 1, 1));
        assert_eq!((run.torn, run.unknown.get("weather")), (1, Some(&1)));
        assert_eq!(run.resumed.len(), 1);
        assert_eq!(run.ends, [("4k-randread".to_owned(), "precision".to_owned())]);
        assert_eq!(run.outcome.as_deref(), Some("complete"));
        let plain = run.slices.iter().filter(|slice| slice.purpose == Purpose::Plain);
        let counts: Vec<u64> = plain.map(|slice| latencies(&run, slice)).collect();
        assert_eq!(counts, [100, 200]);
    }
}

/// Format 2 knows what a slice is for, and the design of a workload.
#[test]
fn the_golden_run_of_format_2_keeps_what_format_1_had_not() {
    let old = golden(1);
    assert!(old.designs.is_empty() && old.matched.is_empty() && old.apart.is_none());
    let run = golden(2);
    assert_eq!(
        (run.designs.len(), run.designs[0].pattern, run.designs[0].pilot_slices),
        (1, Pattern::Mirror, 80)
    );
    assert_eq!((run.matched.len(), run.matched[0].rate_iops), (1, Some(12300.0)));
    assert!(run.apart.is_some_and(|why| why.contains("1.2 %")));
    assert_eq!(run.visits_ended, [(0, 0, "4k-randread".to_owned())]);
    assert_eq!(run.start.write_caches[0].bytes, 1 << 30);
    let purposes: Vec<Purpose> = run.slices.iter().map(|slice| slice.purpose).collect();
    assert_eq!(purposes, PURPOSES);
    let behind_a_guest = run.slices.iter().filter_map(|slice| slice.host_cpu.as_ref());
    assert_eq!(behind_a_guest.map(|cpu| cpu.user_ns).collect::<Vec<_>>(), [6_100_000]);
}

/// A reader of format 2 refuses words of a job that it does not know, and could not say why.
#[test]
fn the_golden_run_of_format_3_has_a_job_that_format_2_cannot_read() {
    let job = |format| golden(format).start.scenario.workloads.remove(0).jobs.remove(0);
    assert_eq!([1, 2, 3].map(|format| job(format).random_map), [false, false, true]);
    assert_eq!(job(3).cpus_allowed, [0, 1]);
    let index = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("tests/fixtures/run-v3")
        .join(super::INDEX);
    let first = std::fs::read_to_string(index).unwrap().lines().next().unwrap().to_owned();
    let version = super::line::open(first.as_bytes()).unwrap().version;
    assert_eq!(version, 3, "which a reader of format 2 calls newer");
}

fn latencies(run: &RunData, slice: &Slice) -> u64 {
    let latency = slice
        .samples
        .iter()
        .find(|sample| sample.metric == "read.latency")
        .map(|sample| &sample.value);
    let Some(SampleValue::Histogram(offset)) = latency else { panic!("no latency") };
    run.histograms.read_at(*offset).unwrap().count()
}

const PURPOSES: [Purpose; 8] = [
    Purpose::WarmUp,
    Purpose::Pilot,
    Purpose::Alone,
    Purpose::Beside,
    Purpose::Plain,
    Purpose::Plain,
    Purpose::Long,
    Purpose::Matched,
];

/// Made the golden run of a format once; kept to make that of the next one.
#[test]
#[ignore = "writes the fixture of a new format: IOTAX_GOLDEN=folder cargo test -- --ignored write_golden"]
fn write_golden() {
    let folder = std::env::var_os("IOTAX_GOLDEN")
        .map(PathBuf::from)
        .expect("IOTAX_GOLDEN names a new folder");
    let (runs, id) = (folder.parent().unwrap(), folder.file_name().unwrap().to_str().unwrap());
    let mut writer = Store::create(runs, id).unwrap();
    let cache = WriteCache {
        name: "the drive's".to_owned(),
        bytes: 1 << 30,
        stacks: vec!["file".to_owned()],
    };
    let mut start = RunStart { write_caches: vec![cache], ..start() };
    let job = &mut start.scenario.workloads[0].jobs[0];
    (job.random_map, job.cpus_allowed) = (true, vec![0, 1]);
    writer.append(&RunRecord::Run(start)).unwrap();
    for record in GOLDEN_HEAD {
        writer.append(&serde_json::from_str(record).unwrap()).unwrap();
    }
    let page = records();
    let [_, plain, matched, ..] = page[..] else { panic!("no slices on the page") };
    let (mut round, mut count) = (0, 100);
    for purpose in PURPOSES {
        let mut histogram = Histogram::new();
        (0..count).for_each(|i| histogram.record(60_000 + 997 * i));
        let offset = writer.histogram(&histogram).unwrap();
        let text = if purpose == Purpose::Matched { matched } else { plain };
        let RunRecord::Slice(mut slice) = serde_json::from_str(text).unwrap() else {
            panic!("no slice: {text}")
        };
        (slice.purpose, slice.round, slice.samples[1].value) =
            (purpose, round, SampleValue::Histogram(offset));
        if purpose == Purpose::Plain {
            (round, count) = (round + 1, count + 100);
        }
        writer.append(&RunRecord::Slice(slice)).unwrap();
    }
    drop(writer);
    let index = folder.join(super::INDEX);
    let mut text = std::fs::read(&index).unwrap();
    text.extend(super::line::enclose(br#"{"record":"weather","sky":"grey"}"#));
    let torn = "\"len\":400,\"crc\":\"00c0ffee\",\"rec\":{\"record\":\"slice\",\"vis";
    text.extend(format!("{{\"v\":{},{torn}", super::FORMAT).into_bytes());
    std::fs::write(&index, text).unwrap();
    let mut writer = Store::append(&folder).unwrap();
    for record in GOLDEN_TAIL {
        writer.append(&serde_json::from_str(record).unwrap()).unwrap();
    }
}

const GOLDEN_HEAD: [&str; 5] = [
    r#"{"record":"place","place":"host","facts":{"hostname":"example"},"emulated":null,"commands":[]}"#,
    r#"{"record":"worker","visit":0,"stack":"file","workload":"4k-randread","place":"host","target":"/srv/x.img","bytes":1073741824,"engine":"uring","why":"io_uring works here without worker threads"}"#,
    r#"{"record":"design","workload":"4k-randread","slice_ns":50000000,"pattern":"mirror","pilot_slices":80,"why":"the least variance for the time"}"#,
    r#"{"record":"matched","workload":"4k-randread","rate_iops":12300.0,"slowest":"file"}"#,
    r#"{"record":"apart","reason":"beside the other stacks the baseline runs 1.2 % +- 0.4 % slower"}"#,
];
const GOLDEN_TAIL: [&str; 5] = [
    r#"{"record":"resumed","at":"2026-01-02T03:08:00Z"}"#,
    r#"{"record":"warning","kind":"busy_generator","subject":"4k-randread","text":"the generator used 93 % of a core"}"#,
    r#"{"record":"visit_end","visit":0,"set":0,"workload":"4k-randread"}"#,
    r#"{"record":"workload_end","workload":"4k-randread","reason":"precision"}"#,
    r#"{"record":"end","at":"2026-01-02T03:09:05Z","outcome":"complete"}"#,
];

/// The start of a run of one file.
pub(super) fn start() -> RunStart {
    let json = r#"{"id":"20260102-030405-a1b2","at":"2026-01-02T03:04:05Z","iotax":"0.1.0","argv":["iotax","run","file:/srv/x.img,size=1GiB"],
      "scenario":{"source":"command line","stacks":[{"name":"file","text":"file:/srv/x.img,size=1GiB","medium":{"medium":"file","path":"/srv/x.img","size":1073741824,"keep":false},"layers":[],"own":false}],
      "baseline":0,"bill":false,"workloads":[{"name":"4k-randread","jobs":[{"name":"4k-randread","rw":"randread","rwmixread":50,"bs":4096,"iodepth":1,"numjobs":1,"offset":0,"size":null,"percentage_random":100,"fsync":0,"fdatasync":0,"end_fsync":false,"direct":true,"rate_iops":null,"buffer_compress_percentage":0,"randseed":1}],"engine":null}],
      "measure":{"slice_ns":100000000,"precision":0.01,"equivalence":0.02,"min_time_ns":10000000000,"budget_ns":300000000000,"visits":6,"seed":1},
      "consent":[],"max_written":null},"boot_id":"6a3c0f6e-0000-4000-8000-000000000000"}"#;
    serde_json::from_str(json).unwrap()
}
