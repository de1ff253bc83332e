//! The workbook in LibreOffice: its recalculated cells are the figures of the JSON report, also for
//! a baseline that somebody chooses again.

use super::tests::exported;
use super::workbook;
use iotax_analysis::twin;
use iotax_report::PageContext;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

/// Makes LibreOffice compute every formula of a file that it opens, whatever results it has.
const ALWAYS_RECALCULATE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode"
 oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"#;
/// Comma, quotes, UTF-8, unformatted numbers, all sheets.
const AS_CSV: &str =
    "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1";
/// The third sheet, `% of baseline`.
const SHARES: &str = "xl/worksheets/sheet3.xml";

#[test]
fn recalculated_cells_are_the_figures_of_the_report() {
    let folders = std::env::var("PATH").unwrap_or_default();
    if !folders.split(':').any(|folder| Path::new(folder).join("soffice").exists()) {
        eprintln!("skipped: needs soffice");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let runs = [exported(twin::bill())];
    let json = iotax_report::by_name("json").unwrap();
    let report = (json.render)(&[runs[0].findings.clone()], &PageContext::of_width(80));
    let report: Value = serde_json::from_str(&report).unwrap();
    let book = folder.path().join("x.xlsx");
    std::fs::write(&book, workbook(&runs).unwrap()).unwrap();

    let loads = report["workloads"].as_array().unwrap();
    let rows = recalculated(&book, "% of baseline");
    for (at, load) in loads.iter().enumerate() {
        for share in load["comparisons"].as_array().unwrap() {
            let cells = &row_of(&rows, share["stack"].as_str().unwrap())[1 + 3 * at..];
            assert_same(&cells[0], &share["ratio"]["value"]);
            assert_same(&cells[1], &share["simultaneous"]["low"]);
            assert_same(&cells[2], &share["simultaneous"]["high"]);
        }
    }

    let bill = match &report["joint_bills"] {
        Value::Array(joint) => &joint[0]["bill"],
        _ => &loads[0]["bill"],
    };
    let lines = bill["lines"].as_array().unwrap();
    let points = lines.iter().map(|line| 1.0 - line["of_baseline"]["value"].as_f64().unwrap());
    let cells = recalculated(&book, "Bill");
    assert_same(&row_of(&cells, "together")[2], &Value::from(points.sum::<f64>()));

    let chosen = folder.path().join("chosen.xlsx");
    choose_second_stack(&book, &chosen);
    let cells = recalculated(&chosen, "% of baseline");
    for (at, load) in loads.iter().enumerate() {
        let rate = |row: &Value| row["iops"]["value"].as_f64().unwrap();
        let rows = load["rows"].as_array().unwrap();
        for row in rows {
            let cells = &row_of(&cells, row["stack"].as_str().unwrap())[1 + 3 * at..];
            assert_same(&cells[0], &Value::from(rate(row) / rate(&rows[1])));
            assert_eq!(cells[1..3], ["", ""], "a chosen baseline has no interval");
        }
    }
    assert!(cells.iter().flatten().any(|cell| cell.contains("it has no interval")), "{cells:?}");
}

/// Returns the cells of a sheet as LibreOffice computes them.
fn recalculated(book: &Path, sheet: &str) -> Vec<Vec<String>> {
    let folder = book.parent().unwrap();
    let profile = folder.join("profile");
    let user = profile.join("user");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("registrymodifications.xcu"), ALWAYS_RECALCULATE).unwrap();
    let mut command = Command::new("soffice");
    command.arg(format!("-env:UserInstallation=file://{}", profile.display()));
    command.args(["--headless", "--convert-to", AS_CSV, "--outdir"]).arg(folder).arg(book);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let name = format!("{}-{sheet}.csv", book.file_stem().unwrap().to_string_lossy());
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).from_path(folder.join(&name));
    let rows = reader.unwrap_or_else(|error| panic!("{name}: {error}")).into_records();
    rows.map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn row_of<'a>(rows: &'a [Vec<String>], stack: &str) -> &'a [String] {
    rows.iter().find(|row| row[0] == stack).unwrap_or_else(|| panic!("no {stack} in {rows:?}"))
}

/// Compares a number of a CSV file, which may be in percent.
fn assert_same(cell: &str, value: &Value) {
    let scale = if cell.ends_with('%') { 100.0 } else { 1.0 };
    let found: f64 = cell.trim_end_matches('%').parse().unwrap_or(f64::NAN);
    let expected = value.as_f64().unwrap();
    let is_same = (found / scale - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(is_same, "{cell} is not {expected}");
}

/// Writes the workbook again with the second stack as the baseline, as a reader would choose it:
/// the name of the first is in the cell beside `baseline`.
fn choose_second_stack(from: &Path, to: &Path) {
    let mut old = zip::ZipArchive::new(File::open(from).unwrap()).unwrap();
    let mut new = zip::ZipWriter::new(File::create(to).unwrap());
    for at in 0..old.len() {
        let mut entry = old.by_index(at).unwrap();
        let name = entry.name().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if name == SHARES {
            bytes = with_second_stack(&String::from_utf8(bytes).unwrap()).into_bytes();
        }
        new.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        new.write_all(&bytes).unwrap();
    }
    new.finish().unwrap();
}

/// Replaces the shared string of the first cell with a list by the second one of its list.
fn with_second_stack(sheet: &str) -> String {
    let string = |cell: &str| {
        let from = sheet.find(&format!("<c r=\"{cell}\"")).unwrap();
        let begin = from + sheet[from..].find("<v>").unwrap() + 3;
        begin..begin + sheet[begin..].find("</v>").unwrap()
    };
    let (_, lists) = sheet.split_once("<dataValidations").unwrap();
    let (_, stacks) = lists.split_once("<formula1>$A$").unwrap();
    let first: u32 = stacks.split(':').next().unwrap().parse().unwrap();
    let (_, chosen) = lists.split_once("sqref=\"").unwrap();
    let second = &sheet[string(&format!("A{}", first + 1))];
    let mut text = sheet.to_owned();
    text.replace_range(string(chosen.split('"').next().unwrap()), second);
    text
}
