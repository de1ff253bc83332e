//! Every export of every fixture is written, and what programs read back has the rows of the
//! record.

use super::parquet::parquet_bytes;
use super::slice_row::slice_rows;
use super::sql_tables::sql_tables;
use super::{ALL, ExportedRun, by_name};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use iotax_analysis::{RunData, findings, twin};
use iotax_model::record::SampleValue;
use rusqlite::{Connection, MAIN_DB};
use serde_json::Value;

fn exported(data: RunData) -> ExportedRun {
    ExportedRun { findings: findings(&data), data }
}

fn written(name: &str, runs: &[ExportedRun]) -> Vec<u8> {
    let mut bytes = Vec::new();
    (by_name(name).unwrap().write)(runs, &mut bytes).unwrap();
    bytes
}

fn text(name: &str, runs: &[ExportedRun]) -> String {
    String::from_utf8(written(name, runs)).unwrap()
}

const FIXTURES: [fn() -> RunData; 8] = [
    twin::bill,
    twin::grid,
    twin::tables,
    twin::published,
    twin::arrays,
    twin::imported,
    twin::verified,
    twin::durability,
];

#[test]
fn every_export_of_every_fixture_is_written() {
    for fixture in FIXTURES {
        let runs = [exported(fixture())];
        for exporter in ALL {
            let mut bytes = Vec::new();
            (exporter.write)(&runs, &mut bytes).unwrap();
            assert!(!bytes.is_empty(), "{}", exporter.name);
        }
    }
}

#[test]
fn names_and_extensions_are_unique() {
    let names: Vec<&str> = ALL.iter().map(|one| one.name).collect();
    let endings: Vec<&str> = ALL.iter().flat_map(|one| one.endings).copied().collect();
    for all in [names, endings] {
        let unique: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
    }
}

#[test]
fn slices_have_the_same_rows_in_csv_parquet_and_sqlite() {
    let runs = [exported(twin::bill())];
    let count = slice_rows(&runs[0]).count();
    assert!(count > 100);
    assert_eq!(csv::Reader::from_reader(&written("slices", &runs)[..]).records().count(), count);
    let database = database(&runs);
    let (rows, ios): (u32, f64) = database
        .query_row(
            "SELECT count(*), sum(value) FILTER (WHERE metric LIKE '%.ios') FROM slice_figure",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let samples = runs[0].data.slices.iter().flat_map(|slice| &slice.samples);
    let counted = samples.filter(|one| one.metric.ends_with(".ios"));
    let counted: f64 = counted
        .map(|one| match one.value {
            SampleValue::Value(value) => value,
            _ => 0.0,
        })
        .sum();
    assert_eq!(rows as usize, count);
    assert!((ios / counted - 1.0).abs() < 1e-9, "{ios} {counted}");
    // Small groups, so that there are several.
    let bytes = parquet_bytes(&runs, 100).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    assert_eq!(reader.num_row_groups(), count.div_ceil(100));
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), count);
    for (row, expected) in rows.iter().zip(slice_rows(&runs[0])) {
        let fields: Vec<String> =
            row.get_column_iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(fields[2], format!("\"{}\"", expected.stack));
        assert_eq!(fields[11], format!("\"{}\"", expected.metric));
    }
}

fn database(runs: &[ExportedRun]) -> Connection {
    let mut database = Connection::open_in_memory().unwrap();
    let bytes = written("sqlite", runs);
    database.deserialize_read_exact(MAIN_DB, &bytes[..], bytes.len(), false).unwrap();
    database
}

#[test]
fn every_row_of_a_table_has_all_columns_of_the_schema() {
    let runs = [exported(twin::published())];
    let database = database(&runs);
    for table in sql_tables(&runs) {
        let query = format!("SELECT count(*) FROM pragma_table_info('{}')", table.name);
        let columns: u32 = database.query_row(&query, [], |row| row.get(0)).unwrap();
        let columns = columns as usize;
        assert_eq!(columns, table.column_count, "{}", table.name);
        assert!(table.rows.into_iter().all(|row| row.len() == columns), "{}", table.name);
    }
}

#[test]
fn several_runs_share_a_database_and_one_run_twice_is_refused() {
    let mut other = twin::grid();
    other.start.id = "other".into();
    let runs = [exported(twin::bill()), exported(other)];
    let database = database(&runs);
    let count: u32 = database.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
    let twice = [exported(twin::bill()), exported(twin::bill())];
    let error = (by_name("sqlite").unwrap().write)(&twice, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("UNIQUE"), "{error}");
}

#[test]
fn text_with_tabs_and_backslashes_is_one_field_of_postgres() {
    let mut data = twin::bill();
    let name = "lo\top\\.\nx\0";
    let stack = data.slices[0].stack.clone();
    data.slices.iter_mut().filter(|one| one.stack == stack).for_each(|one| one.stack = name.into());
    let text = text("postgres", &[exported(data)]);
    let rows = text.split("COPY slice_figure FROM stdin;\n").nth(1).unwrap();
    let rows: Vec<&str> = rows.lines().take_while(|line| *line != "\\.").collect();
    assert!(rows.iter().all(|row| row.split('\t').count() == 15));
    assert!(rows.iter().any(|row| row.contains("lo\\top\\\\.\\nx\u{fffd}")));
}

#[test]
fn junit_fails_for_wrong_data_and_lost_writes_and_skips_what_is_unresolved() {
    for (fixture, failing) in
        [(twin::bill as fn() -> RunData, false), (twin::verified, true), (twin::durability, true)]
    {
        let run = exported(fixture());
        let unresolved = run.findings.workloads.iter().flat_map(|load| load.all_comparisons());
        let unresolved = unresolved
            .filter(|one| matches!(one.rate.verdict, iotax_stats::Verdict::Unresolved { .. }))
            .count();
        let text = text("junit", &[run]);
        let report = quick_junit::Report::deserialize_from_str(&text).unwrap();
        assert_eq!(report.failures > 0, failing, "{text}");
        assert!(report.tests > 0);
        assert!(text.matches("<skipped").count() >= unresolved, "{text}");
    }
}

#[test]
fn trackers_have_each_figure_once_with_its_interval() {
    let runs = [exported(twin::bill())];
    let load = &runs[0].findings.workloads[0];
    let iops = load.rows[0].iops.value().unwrap();
    let bigger: Vec<Value> = serde_json::from_str(&text("github-bigger", &runs)).unwrap();
    let name = format!("{}: {}: iops", load.subject, load.rows[0].stack);
    let line = bigger.iter().find(|line| line["name"] == name.as_str()).unwrap();
    // The parser rounds the last digit.
    let is_close =
        |found: &Value, value: f64| (found.as_f64().unwrap() / value - 1.0).abs() < 1e-12;
    assert!(is_close(&line["value"], iops));
    let bencher: Value = serde_json::from_str(&text("bencher", &runs)).unwrap();
    let metric = &bencher[format!("{}: {}", load.subject, load.rows[0].stack)]["iops, 1/s"];
    let (low, high) = load.rows[0].iops.bounds().unwrap();
    assert!(is_close(&metric["lower_value"], low) && is_close(&metric["upper_value"], high));
    let smaller: Vec<Value> = serde_json::from_str(&text("github-smaller", &runs)).unwrap();
    let p99 = smaller.iter().find(|line| line["name"].as_str().unwrap().contains("p99 latency"));
    assert!(p99.unwrap()["value"].as_f64().unwrap() < 1.0, "seconds");
    let names: std::collections::BTreeSet<&str> =
        bigger.iter().chain(&smaller).filter_map(|line| line["name"].as_str()).collect();
    assert_eq!(names.len(), bigger.len() + smaller.len());
}

#[test]
fn benchstat_has_a_line_for_each_stack_in_each_round() {
    let runs = [exported(twin::bill())];
    let text = text("benchstat", &runs);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Benchmark")).collect();
    let rounds: u64 = runs[0].findings.workloads[0].rows.iter().map(|row| row.rounds).sum();
    assert!(lines.len() as u64 >= rounds && rounds > 0, "{} {rounds}", lines.len());
    assert!(lines.iter().all(|line| line.split(' ').count() == 6), "{}", lines[0]);
}

#[test]
fn metrics_have_value_and_bounds_in_base_units() {
    let runs = [exported(twin::bill())];
    let text = text("openmetrics", &runs);
    assert!(text.ends_with("# EOF\n"));
    assert!(text.contains("iotax_latency_p99_seconds{run="), "{text}");
    for bound in ["value", "low", "high"] {
        assert!(text.contains(&format!("bound=\"{bound}\"}}")), "{bound}");
    }
}

#[test]
fn a_summary_has_the_answer_and_all_stacks() {
    let runs = [exported(twin::bill())];
    let text = text("ci-summary", &runs);
    let answer = iotax_report::short_answer(&runs[0].findings).unwrap();
    assert!(text.starts_with("### ") && text.contains(answer.split(' ').next_back().unwrap()));
    for row in &runs[0].findings.workloads[0].bill.as_ref().unwrap().lines {
        assert!(text.contains(&row.layer), "{text}");
    }
    assert!(text.lines().all(|line| line.starts_with("###") || line.chars().count() <= 100));
}
