//! Tests of tables in the form of an article: those of the five published comparisons, cell by cell,
//! from runs that measured what the articles print.

use crate::findings::MeasuredFigure;
use crate::findings::article::{ArticleFindings, CellOrigin};
use crate::{article_tables, findings, twin};
use iotax_model::scenario::check::{ScenarioRequest, from_path};
use iotax_model::scenario::{Scenario, TableNames, read_tables};
use iotax_store::RunData;
use std::path::{Path, PathBuf};

const PRINTED: &str = include_str!("printed_tables.txt");

fn shipped(file: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(file)
}

fn scenario(file: &str) -> Scenario {
    from_path(&shipped(file), &ScenarioRequest::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a table of runs of these scenarios, from a file of tables or from the first scenario.
fn table_of(name: &str, files: &[&str]) -> ArticleFindings {
    let (tables, scenarios): (Vec<&str>, Vec<&str>) =
        files.iter().partition(|file| file.starts_with("tables/"));
    let runs: Vec<RunData> =
        scenarios.iter().map(|file| twin::of_published(scenario(file))).collect();
    let names: Vec<&Scenario> = runs.iter().map(|run| &run.start.scenario).collect();
    let known = match tables.first() {
        Some(file) => read_tables(&shipped(file), &TableNames::of_runs(&names)).unwrap(),
        None => names[0].articles.clone(),
    };
    let table = known.iter().find(|table| table.name == name);
    let table = table.unwrap_or_else(|| panic!("no {name} in {files:?}")).clone();
    let found: Vec<_> = runs.iter().map(findings).collect();
    let both: Vec<_> = runs.iter().zip(&found).collect();
    article_tables(&both, &[table]).remove(0)
}

#[test]
fn the_tables_of_the_five_articles_come_out_as_they_are_printed() {
    let (mut wrong, mut cells, mut others) = (Vec::new(), 0, 0);
    for block in PRINTED.split("\n= ").skip(1) {
        let mut lines = block.lines().filter(|line| !line.is_empty());
        let mut head = lines.next().unwrap().split(" = ");
        let (name, files) = (head.next().unwrap(), head.next().unwrap());
        let found = table_of(name, &files.split(' ').collect::<Vec<_>>());
        let rows: Vec<&str> = lines.collect();
        assert_eq!(rows.len(), found.rows.len(), "{name}");
        for (line, row) in rows.iter().zip(&found.rows) {
            let printed: Vec<&str> = line.split(" | ").collect();
            assert_eq!(printed.len(), row.cells.len(), "{name}: {line}");
            for ((printed, cell), column) in printed.iter().zip(&row.cells).zip(&found.columns) {
                let (article, expected) = printed.split_once(" => ").unwrap_or((printed, printed));
                assert!(article != expected || !printed.contains("=>"), "{name}: {printed}");
                cells += 1;
                others += usize::from(article != expected);
                // These tables of the article call MiB/s MB/s; the digits are compared.
                let is_mislabelled = cell.unit == "MiB/s" && name.starts_with("e4");
                let text = match is_mislabelled {
                    true => cell.text.trim_end_matches(" MiB/s"),
                    false => &cell.text,
                };
                if text != expected {
                    wrong.push(format!("{name}: {} / {column}: {printed} => {text}", row.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cells > 500 && others < 40, "{others} of {cells} differ");
}

#[test]
fn a_cell_without_a_figure_is_empty_and_a_note_says_why() {
    let found = table_of("e3-random-iops", &["e3-many-guests.toml"]);
    for cell in found.rows.iter().flat_map(|row| &row.cells) {
        assert!(cell.text.is_empty() && cell.figure.value().is_none(), "{cell:?}");
    }
    let [note] = found.notes.as_slice() else { panic!("{:?}", found.notes) };
    assert!(note.starts_with("empty: ") && note.contains("4k random read / 1 VM"), "{note}");
}

#[test]
fn shares_have_the_interval_and_the_verdict_of_the_comparison() {
    let mut run = twin::bill();
    let loads = &run.start.scenario.workloads;
    let text = format!(
        "[table]\nrows = [{:?}]\ncells = {{ intervals = true, digits = 1 }}\n\
         shares = {{ tight = true }}\n\
         columns = [\"file\", {{ name = \"loop\", stack = \"loop\", percent_of = \"file\" }},\n\
         {{ name = \"itself\", stack = \"file\", percent_of = \"file\" }},\n\
         {{ name = \"lost\", stack = \"loop\", percent_of = \"file\", loss = true }},\n\
         {{ name = \"p99\", stack = \"loop\", metric = \"p99\", unit = \"us\" }}]\n",
        loads[0].name
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.toml");
    std::fs::write(&file, text).unwrap();
    run.start.scenario.articles =
        read_tables(&file, &TableNames::of_runs(&[&run.start.scenario])).unwrap();
    let found = findings(&run);
    let [rate, share, whole, lost, tail] = found.articles[0].rows[0].cells.as_slice() else {
        panic!("{:?}", found.articles)
    };
    assert!(rate.text.contains(" IOPS [") && rate.figure.bounds().is_some(), "{}", rate.text);
    let comparison = &found.workloads[0].comparisons[0];
    assert_eq!(share.figure.value(), comparison.rate.ratio.value());
    assert!(share.verdict.as_ref().is_some_and(iotax_stats::Verdict::is_resolved), "{share:?}");
    assert!(share.text.starts_with("95.") && share.text.contains("% ["), "{}", share.text);
    assert_eq!((whole.text.as_str(), whole.origin), ("100.0%", CellOrigin::Whole));
    let [part, rest] = [share, lost].map(|cell| cell.figure.value().unwrap());
    assert!((part + rest - 1.0).abs() < 1e-12);
    assert!(matches!(tail.figure, MeasuredFigure::Known { unit: "ns", .. }), "{tail:?}");
    assert!(tail.text.contains(" us ["), "{}", tail.text);
}
