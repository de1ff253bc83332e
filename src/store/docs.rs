//! Parses every example of docs/result-format.md, and the run of format 1 that must be readable forever.

use super::index::{self, Parsed};
use super::record::{Record, RunStart, Value};
use super::{Run, Store, segment};
use iotax_load::Histogram;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../docs/result-format.md");

fn blocks(info: &str) -> Vec<&'static str> {
    let fence = format!("```{info}\n");
    PAGE.split(fence.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().trim_end())
        .collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-v1")
}

#[test]
fn records_parse_and_lose_nothing() {
    let mut kinds = BTreeSet::new();
    for block in blocks("json record") {
        let record: Record = serde_json::from_str(block).unwrap_or_else(|error| panic!("{block}: {error}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), block);
        assert!(
            matches!(index::decode(&super::line::enclose(block.as_bytes())), Parsed::Record(parsed) if parsed == record)
        );
        kinds.insert(serde_json::to_value(&record).unwrap()["record"].to_string());
    }
    assert_eq!(kinds.len(), 9, "{kinds:?}");
}

#[test]
fn the_point_of_a_sweep_is_as_shown() {
    let [point] = blocks("json sweep")[..] else { panic!("one point expected") };
    let parsed: crate::scenario::SweepPoint = serde_json::from_str(point).unwrap();
    assert_eq!(serde_json::to_string(&parsed).unwrap(), point);
}

#[test]
fn the_line_is_what_is_written() {
    let [line] = blocks("json index")[..] else { panic!("one line expected") };
    let Parsed::Record(record) = index::decode(line.as_bytes()) else { panic!("torn: {line}") };
    assert_eq!(index::encode(&record).unwrap(), format!("{line}\n").into_bytes());
}

#[test]
fn the_segment_header_is_as_shown() {
    let hex: String = blocks("hex segment")[0].chars().filter(char::is_ascii_hexdigit).collect();
    let shown: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    let written = segment::encode(&Histogram::new());
    assert_eq!(written[..8], shown[..8]);
    assert_eq!(crc32fast::hash(&shown[..12]).to_le_bytes(), shown[12..]);
}

/// What is in the folder is never written again: if this test fails, the reader is wrong.
#[test]
fn the_golden_run_stays_readable() {
    let run = Run::open(&golden()).unwrap();
    assert_eq!((run.start.id.as_str(), run.start.scenario.stacks.len()), ("20260102-030405-a1b2", 1));
    assert_eq!((run.places.len(), run.workers.len(), run.slices.len(), run.warnings.len()), (1, 1, 2, 1));
    assert_eq!((run.torn, run.unknown.get("weather")), (1, Some(&1)));
    assert_eq!(run.resumed.len(), 1);
    assert_eq!(run.ends, [("4k-randread".to_owned(), "precision".to_owned())]);
    assert_eq!(run.end.map(|(_, outcome)| outcome).as_deref(), Some("complete"));
    for (slice, counts) in run.slices.iter().zip([100, 200]) {
        let Some(Value::Histogram(offset)) =
            slice.samples.iter().find(|s| s.metric == "read.latency").map(|s| &s.value)
        else {
            panic!("no latency")
        };
        assert_eq!(run.histograms.get(*offset).unwrap().count(), counts);
    }
}

/// Made the golden run of a format once; kept to make that of the next one.
#[test]
#[ignore = "writes the fixture of a new format: IOTAX_GOLDEN=folder cargo test -- --ignored write_golden"]
fn write_golden() {
    let folder =
        std::env::var_os("IOTAX_GOLDEN").map(PathBuf::from).expect("IOTAX_GOLDEN names a new folder");
    let (runs, id) = (folder.parent().unwrap(), folder.file_name().unwrap().to_str().unwrap());
    let mut writer = Store::create(runs, id).unwrap();
    writer.append(&Record::Run(start())).unwrap();
    for record in GOLDEN_HEAD {
        writer.append(&serde_json::from_str(record).unwrap()).unwrap();
    }
    let [_, slice, ..] = blocks("json record")[..] else { panic!("no slice on the page") };
    for round in 0..2u64 {
        let mut histogram = Histogram::new();
        (0..100 * (round + 1)).for_each(|i| histogram.record(60_000 + 997 * i));
        let offset = writer.histogram(&histogram).unwrap();
        let mut record: Record = serde_json::from_str(slice).unwrap();
        if let Record::Slice(slice) = &mut record {
            slice.round = round as u32;
            slice.samples[1].value = Value::Histogram(offset);
        }
        writer.append(&record).unwrap();
    }
    drop(writer);
    let index = folder.join(super::INDEX);
    let mut text = std::fs::read(&index).unwrap();
    text.extend(super::line::enclose(br#"{"record":"weather","sky":"grey"}"#));
    text.extend(b"{\"v\":1,\"len\":400,\"crc\":\"00c0ffee\",\"rec\":{\"record\":\"slice\",\"vis");
    std::fs::write(&index, text).unwrap();
    let mut writer = Store::append(&folder).unwrap();
    for record in GOLDEN_TAIL {
        writer.append(&serde_json::from_str(record).unwrap()).unwrap();
    }
}

const GOLDEN_HEAD: [&str; 2] = [
    r#"{"record":"place","place":"host","facts":{"hostname":"example"},"emulated":null,"commands":[]}"#,
    r#"{"record":"worker","visit":0,"stack":"file","workload":"4k-randread","place":"host","target":"/srv/x.img","bytes":1073741824,"engine":"uring","why":"io_uring works here without worker threads"}"#,
];
const GOLDEN_TAIL: [&str; 4] = [
    r#"{"record":"resumed","at":"2026-01-02T03:08:00Z"}"#,
    r#"{"record":"warning","kind":"busy_generator","subject":"4k-randread","text":"the generator used 93 % of a core"}"#,
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
