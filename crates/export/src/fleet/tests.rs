//! Exports of made-up fleets, read back by other readers.

use super::{ALL, by_name, read_fleet_parquet};
use calamine::{Reader, Xlsx, open_workbook_from_rs};
use iotax_analysis::findings::fleet::FleetFindings;
use iotax_analysis::fleet::made_up_fleet::MadeUpFleet;
use iotax_analysis::fleet::{FleetInput, HostFigures, fleet_findings};
use std::io::Cursor;

fn fleet() -> (FleetInput, FleetFindings) {
    let fleet =
        MadeUpFleet { slow: vec![(7, 0.62)], lost: vec![4], ..MadeUpFleet::of_hosts(12, 1) };
    let mut input = fleet.build();
    input.hosts[1].host = "=cmd|x".into();
    let found = fleet_findings(&input);
    (input, found)
}

fn export(name: &str) -> Vec<u8> {
    let (input, found) = fleet();
    let mut out = Vec::new();
    (by_name(name).unwrap().write)(&input, &found, &mut out).unwrap();
    out
}

#[test]
fn a_parquet_file_is_read_again_and_makes_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.parquet");
    std::fs::write(&path, export("parquet")).unwrap();
    let again = read_fleet_parquet(&path).unwrap();
    let (input, found) = fleet();
    assert_eq!(again, input);
    assert_eq!(fleet_findings(&again), found);
    std::fs::write(&path, b"PAR1 not really PAR1").unwrap();
    let refused = read_fleet_parquet(&path).unwrap_err().to_string();
    assert!(refused.contains("fleet.parquet: "), "{refused}");
}

#[test]
fn a_database_has_hosts_figures_and_facts() {
    let mut database = rusqlite::Connection::open_in_memory().unwrap();
    let bytes = export("sqlite");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    database = rusqlite::Connection::open(file.path()).unwrap_or(database);
    let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM hosts WHERE state = 'done'"), 11);
    assert_eq!(count("SELECT count(*) FROM figures"), 55);
    assert_eq!(count("SELECT count(*) FROM figures WHERE outlier = 'worse' AND host = 'n7'"), 4);
    assert_eq!(count("SELECT count(*) FROM facts WHERE key = 'firmware'"), 11);
}

#[test]
fn the_workbook_has_live_deviations_and_no_formula_from_a_host() {
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(export("xlsx"))).unwrap();
    assert_eq!(book.sheet_names(), ["Answer", "Figures", "Matrix", "Hosts", "Facts"]);
    let matrix = book.worksheet_range("Matrix").unwrap();
    let row = |name: &str| matrix.rows().position(|row| row[0] == *name).unwrap();
    let slow = row("n7");
    assert_eq!(matrix.rows().nth(slow).unwrap()[6].to_string(), "worse");
    let live: f64 = matrix.rows().nth(slow).unwrap()[2].to_string().parse().unwrap();
    assert!((live + 0.38).abs() < 0.03, "{live}");
    let formulas = book.worksheet_formula("Matrix").unwrap();
    let all: Vec<&String> = formulas.rows().flatten().filter(|one| !one.is_empty()).collect();
    assert!(all.iter().any(|one| one.contains("MEDIAN(")), "{all:?}");
    assert!(all.iter().all(|one| !one.contains("cmd")));
    row("=cmd|x");
}

#[test]
fn fleets_without_figures_are_exported() {
    let empty = FleetInput::default();
    let found = fleet_findings(&empty);
    for exporter in ALL {
        let mut out = Vec::new();
        (exporter.write)(&empty, &found, &mut out).unwrap();
        assert!(!out.is_empty(), "{}", exporter.name);
    }
}

/// Prints the time and the memory that fleets take: `cargo test --release -p iotax-export --lib
/// fleets_of -- --ignored --nocapture`.
#[test]
#[ignore = "prints times of 1,000 and 10,000 hosts"]
fn fleets_of_a_thousand_and_ten_thousand_hosts() {
    let peak_kib = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).map(str::to_owned);
        line.unwrap_or_default()
    };
    let page = iotax_report::PageContext::default();
    let folder = tempfile::tempdir().unwrap();
    for hosts in [1_000, 10_000] {
        let slow = (1..=hosts / 40).map(|at| (at * 40, 0.8)).collect();
        let lost = (1..=hosts / 31).map(|at| at * 31).collect();
        let input = MadeUpFleet { slow, lost, ..MadeUpFleet::of_hosts(hosts, 3) }.build();
        let mut begin = std::time::Instant::now();
        let mut say = |what: &str, bytes: usize| {
            let seconds = begin.elapsed().as_secs_f64();
            println!("{hosts} hosts, {what}: {seconds:.2} s, {bytes} bytes, {}", peak_kib());
            begin = std::time::Instant::now();
        };
        let texts = input.figures().map(|(_, one)| serde_json::to_vec(one).unwrap());
        let texts: Vec<Vec<u8>> = texts.collect();
        say("figures.json written", texts.iter().map(Vec::len).sum());
        let read = texts.iter().map(|text| HostFigures::from_json(text).unwrap());
        say("figures.json read", read.map(|one| one.figures.len()).sum());
        let found = fleet_findings(&input);
        say("findings", found.hosts.len());
        for renderer in iotax_report::fleet::ALL {
            let text = (renderer.render)(&found, &page);
            std::fs::write(folder.path().join(renderer.name), &text).unwrap();
            say(renderer.name, text.len());
        }
        let places = iotax_report::ReportPlaces { command: "iotax", page: None };
        say("brief", iotax_report::fleet::brief(&found, &places, &page).len());
        for exporter in ALL {
            let mut out = Vec::new();
            (exporter.write)(&input, &found, &mut out).unwrap();
            std::fs::write(folder.path().join(exporter.name), &out).unwrap();
            say(exporter.name, out.len());
        }
        let again = read_fleet_parquet(&folder.path().join("parquet")).unwrap();
        say("parquet read", again.hosts.len());
        assert_eq!(again.hosts.len(), input.hosts.len());
    }
}
