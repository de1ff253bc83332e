use super::*;
use calamine::{Data, Range, Reader, Xlsx};
use iotax_analysis::{RunData, findings, twin};
use iotax_model::record::{Better, SampleValue, SliceSample};
use std::collections::BTreeMap;
use std::io::Cursor;

pub(super) fn exported(data: RunData) -> ExportedRun {
    ExportedRun { findings: findings(&data), data }
}

/// A workbook that was read back: the cells of each sheet.
struct ReadBook(Xlsx<Cursor<Vec<u8>>>);

impl ReadBook {
    fn from_runs(runs: &[ExportedRun]) -> ReadBook {
        let bytes = workbook(runs).unwrap();
        ReadBook(calamine::open_workbook_from_rs(Cursor::new(bytes)).unwrap())
    }

    fn cells(&mut self, sheet: &str) -> Range<Data> {
        self.0.worksheet_range(sheet).unwrap()
    }

    /// Returns the rows below the first row that has this head, by the names of their columns.
    fn rows(&mut self, sheet: &str, head: &str) -> Vec<BTreeMap<String, Data>> {
        let cells = self.cells(sheet);
        let mut rows = cells.rows().skip_while(|row| !row.iter().any(|one| *one == head));
        let heads: Vec<String> = rows.next().unwrap().iter().map(Data::to_string).collect();
        let below = rows.take_while(|row| row[0] != Data::Empty);
        below.map(|row| heads.iter().cloned().zip(row.iter().cloned()).collect()).collect()
    }
}

fn number(cell: &Data) -> Option<f64> {
    match cell {
        Data::Float(value) => Some(*value),
        Data::Int(value) => Some(*value as f64),
        _ => None,
    }
}

/// A fixture by its name, and sheets that its workbook has.
type SheetCase = (&'static str, fn() -> RunData, &'static [&'static str]);

/// With IOTAX_PAGES it also writes the workbooks to that folder, to be looked at.
#[test]
fn sheets_appear_where_a_run_has_something_for_them() {
    let cases: [SheetCase; 6] = [
        ("bill", twin::bill, &["% of baseline", "Bill", "Grid", "Percentiles", "Over time"]),
        ("tables", twin::tables, &["% of baseline", "Grid", "Published", "Percentiles"]),
        ("grid", twin::grid, &["Sweeps"]),
        ("published", twin::published, &["% of baseline", "Grid", "Published"]),
        ("arrays", twin::arrays, &["% of baseline", "Drives", "Grid"]),
        ("imported", twin::imported, &[]),
    ];
    for (name, fixture, expected) in cases {
        let runs = [exported(fixture())];
        let bytes = workbook(&runs).unwrap();
        if let Some(folder) = std::env::var_os("IOTAX_PAGES") {
            let path = std::path::Path::new(&folder).join(format!("{name}.xlsx"));
            std::fs::write(path, &bytes).unwrap();
        }
        let book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes)).unwrap();
        let names = book.sheet_names();
        assert_eq!(names[0], "Read me");
        for sheet in expected {
            assert!(names.iter().any(|one| one == sheet), "{name}: no {sheet} in {names:?}");
        }
        let has = |sheet: &str| names.iter().any(|one| one == sheet);
        assert_eq!(has("Bill"), name == "bill", "{name}: {names:?}");
        assert_eq!(has("Sweeps"), name == "grid", "{name}: {names:?}");
        assert_eq!(has("Raw"), name != "imported", "{name}: {names:?}");
    }
}

#[test]
fn the_summary_has_the_figures_of_the_findings_with_their_intervals() {
    let runs = [exported(twin::bill())];
    let rows = ReadBook::from_runs(&runs).rows("Summary", "stack");
    let loads = &runs[0].findings.workloads;
    assert_eq!(rows.len(), loads.iter().map(|load| load.rows.len()).sum::<usize>());
    let figures = loads.iter().flat_map(|load| load.rows.iter().map(move |row| (load, row)));
    for (cells, (load, row)) in rows.iter().zip(figures) {
        assert_eq!(cells["stack"], row.stack.as_str());
        assert_eq!(number(&cells["IOPS"]), row.iops.value());
        let bounds = row.iops.bounds().unwrap();
        assert_eq!(number(&cells["IOPS low"]), Some(bounds.0));
        assert_eq!(number(&cells["IOPS high"]), Some(bounds.1));
        let p99 = row.latency[0].p99.value().unwrap();
        assert!((number(&cells["read p99, µs"]).unwrap() - p99 / 1e3).abs() < 1e-9);
        let comparison = load.comparisons.iter().find(|one| one.stack == row.stack);
        let share = comparison.and_then(|one| one.rate.at_once().value());
        assert_eq!(number(&cells["% of baseline"]), share);
        let verdict = comparison.map(|one| Data::String(one.rate.verdict.phrase()));
        assert_eq!(cells["verdict"], verdict.unwrap_or(Data::Empty));
    }
}

#[test]
fn every_table_of_an_article_is_a_sheet_with_numbers_in_its_units() {
    let run = exported(twin::tables());
    let tables = run.findings.articles.clone();
    let mut alone = Vec::new();
    write_tables(&tables, &mut alone).unwrap();
    let alone: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(alone)).unwrap();
    let whole = ReadBook::from_runs(std::slice::from_ref(&run)).0;
    assert_eq!(alone.sheet_names(), ["backends"]);
    assert_eq!(whole.sheet_names().last().map(String::as_str), Some("backends"));
    for book in [alone, whole] {
        let mut book = ReadBook(book);
        let rows = book.rows("backends", "LVM");
        assert_eq!(rows.len(), tables[0].rows.len());
        for (cells, row) in rows.iter().zip(&tables[0].rows) {
            assert_eq!(cells["load"], row.name.as_str());
            let iops = row.cells[0].figure.value().unwrap();
            assert!((number(&cells["LVM"]).unwrap() - iops / 1e3).abs() < 1e-9);
            assert_eq!(number(&cells["% of LVM"]), row.cells[2].figure.value());
        }
        assert_eq!(rows[1]["page"], Data::Empty, "not published, and not zero");
        let figures = book.rows("backends", "as printed");
        assert_eq!(figures.len(), 8);
        assert_eq!(figures[3]["as printed"], "33.73 kIOPS");
        assert!(figures[0]["figure low"] != Data::Empty, "{figures:?}");
        assert_eq!(figures[7]["remarks"], "figure: not published");
    }
}

#[test]
fn a_failed_figure_is_empty_with_its_reason() {
    let rows = ReadBook::from_runs(&[exported(twin::failed())]).rows("Summary", "stack");
    let failed = rows.iter().find(|row| row["stack"] == "loop").unwrap();
    assert_eq!((&failed["IOPS"], &failed["% of baseline"]), (&Data::Empty, &Data::Empty));
    assert!(failed["remarks"].to_string().starts_with("IOPS: "), "{:?}", failed["remarks"]);
}

#[test]
fn names_that_look_like_formulas_are_text() {
    let mut run = exported(twin::bill());
    let hostile = "=HYPERLINK(\"x\",\"<&\u{1b}[2J\")";
    for load in &mut run.findings.workloads {
        load.rows[1].stack = hostile.to_owned();
    }
    let odd = SliceSample::new("Run", "1", Better::Higher, SampleValue::Value(1.0));
    run.data.slices[0].samples.push(odd);
    run.findings.run.command = "@SUM(1)\u{0}".to_owned();
    let mut book = ReadBook::from_runs(&[run]);
    let shown = "=HYPERLINK(\"x\",\"<&\\u{1b}[2J\")";
    for sheet in ["Summary", "Grid"] {
        let cells = book.cells(sheet);
        assert!(cells.used_cells().any(|(.., cell)| *cell == shown), "{sheet}");
        let formulas = book.0.worksheet_formula(sheet).unwrap();
        assert!(!formulas.used_cells().any(|(.., text)| text.contains("HYPERLINK")), "{sheet}");
    }
    assert_eq!(number(&book.rows("Raw", "load")[0]["Run'"]), Some(1.0));
    let first = book.cells("Read me");
    assert!(first.used_cells().any(|(.., cell)| *cell == "@SUM(1)\\u{0}"));
}

#[test]
fn a_bill_adds_up() {
    let run = exported(twin::bill());
    let joint = run.findings.joint_bills.first().map(|joint| joint.bill.clone());
    let bill = joint.or_else(|| run.findings.workloads[0].bill.clone()).unwrap();
    let rows = ReadBook::from_runs(&[run]).rows("Bill", "points taken");
    let taken = |row: &BTreeMap<String, Data>| number(&row["points taken"]);
    let [layers @ .., total, measured] = rows.as_slice() else { panic!("{rows:?}") };
    let points: f64 = layers.iter().filter_map(taken).sum();
    assert!((taken(total).unwrap() - points).abs() < 1e-9);
    let whole = 1.0 - bill.total.of_baseline.value().unwrap();
    assert_eq!(taken(measured), Some(whole));
    assert!((points - whole).abs() < 1e-6, "{points} and {whole}");
    assert!((number(&total["left"]).unwrap() - (1.0 - points)).abs() < 1e-9);
}

#[test]
fn every_formula_has_its_result() {
    for fixture in [twin::bill, twin::tables, twin::arrays] {
        let mut book = ReadBook::from_runs(&[exported(fixture())]);
        for sheet in book.0.sheet_names() {
            let formulas = book.0.worksheet_formula(&sheet).unwrap();
            let cells = book.cells(&sheet);
            let (top, left) = formulas.start().unwrap_or_default();
            for (row, col, text) in formulas.used_cells().filter(|(.., text)| !text.is_empty()) {
                let at = (top + row as u32, left + col as u32);
                let cell = cells.get_value(at);
                assert!(cell.is_some() && !matches!(cell, Some(Data::Error(_))), "{sheet}: {text}");
            }
        }
    }
}

#[test]
fn raw_says_when_slices_are_left_out() {
    let run = exported(twin::bill());
    let all = run.data.slices.len();
    let mut book = Workbook::new();
    book.push_worksheet(raw::draw_rows(&[run], 5).unwrap().unwrap());
    let bytes = book.save_to_buffer().unwrap();
    let mut read = ReadBook(calamine::open_workbook_from_rs(Cursor::new(bytes)).unwrap());
    assert_eq!(read.rows("Raw", "load").len(), 5);
    let note = read.cells("Raw").get_value((1, 0)).unwrap().to_string();
    assert!(note.contains("The first 5 of ") && all > 5, "{note}");
}

#[test]
fn the_same_runs_make_the_same_file() {
    let [one, other] = [0, 1].map(|_| workbook(&[exported(twin::grid())]).unwrap());
    assert!(one == other);
}

#[test]
fn several_runs_are_rows_of_one_sheet() {
    let runs = [exported(twin::bill_of_seed(1)), exported(twin::a_week_before(2))];
    let ids: Vec<Data> = runs.iter().map(|run| Data::String(run.findings.run.id.clone())).collect();
    let rows = ReadBook::from_runs(&runs).rows("Summary", "stack");
    for id in ids {
        assert!(rows.iter().any(|row| row["run"] == id), "{id}");
    }
}
