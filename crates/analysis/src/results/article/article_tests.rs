//! Tests of tables in the form of an article: those of the five published comparisons, cell by
//! cell, from runs that measured what the articles print.

use crate::findings::MeasuredFigure;
use crate::findings::article::{ArticleFindings, CellOrigin};
use crate::{article_tables, findings, twin};
use iotax_model::scenario::article::TableMetric;
use iotax_model::scenario::check::{ScenarioRequest, from_path};
use iotax_model::scenario::{ArticleTable, PublishedFigure, Scenario, TableNames, read_tables};
use iotax_store::RunData;
use std::path::{Path, PathBuf};

const PRINTED: &str = include_str!("printed_tables.txt");

fn shipped(file: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(file)
}

fn scenario(file: &str) -> Scenario {
    from_path(&shipped(file), &ScenarioRequest::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A table as its article prints it.
struct PrintedBlock {
    name: &'static str,
    /// Files of scenarios, and of tables.
    files: Vec<&'static str>,
    rows: Vec<&'static str>,
}

fn printed_blocks() -> Vec<PrintedBlock> {
    let block = |text: &'static str| {
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let mut head = lines.next().unwrap().split(" = ");
        let (name, files) = (head.next().unwrap(), head.next().unwrap());
        PrintedBlock { name, files: files.split(' ').collect(), rows: lines.collect() }
    };
    PRINTED.split("\n= ").skip(1).map(block).collect()
}

/// Returns a table of runs of these scenarios, from a file of tables or from the first scenario.
/// The runs measured what the scenarios publish, and what is printed besides.
fn table_of(name: &str, files: &[&str], printed: &[PrintedBlock]) -> ArticleFindings {
    let files_of_all = files;
    let (tables, files): (Vec<&str>, Vec<&str>) =
        files.iter().partition(|file| file.starts_with("tables/"));
    let mut scenarios: Vec<Scenario> = files.iter().map(|file| scenario(file)).collect();
    let names: Vec<&Scenario> = scenarios.iter().collect();
    let known = match tables.first() {
        Some(file) => read_tables(&shipped(file), &TableNames::of_runs(&names)).unwrap(),
        None => names[0].articles.clone(),
    };
    let named = |name: &str| known.iter().find(|table| table.name == name);
    // Tables of one scenario are of one run.
    for block in printed.iter().filter(|block| block.files == files_of_all) {
        if let Some(table) = named(block.name) {
            add_unpublished(&mut scenarios[0], table, &block.rows);
        }
    }
    let table = named(name).unwrap_or_else(|| panic!("no {name} in {files:?}")).clone();
    let runs: Vec<RunData> = scenarios.into_iter().map(twin::of_published).collect();
    let found: Vec<_> = runs.iter().map(findings).collect();
    let both: Vec<_> = runs.iter().zip(&found).collect();
    article_tables(&both, &[table]).remove(0)
}

/// Adds the figures of an article that its scenario leaves out since others beside them contradict
/// them.
fn add_unpublished(scenario: &mut Scenario, table: &ArticleTable, rows: &[&str]) {
    for (line, row) in rows.iter().zip(&table.rows) {
        for (printed, column) in line.split(" | ").zip(&table.columns) {
            let choice = table.choice_of(row, column);
            let is_share = row.percent_of.or(column.percent_of).is_some();
            let Some(TableMetric::Figure(metric)) = choice.metric.filter(|_| !is_share) else {
                continue;
            };
            let stack = choice.stack_among(scenario.stacks.iter());
            let load =
                scenario.workloads.iter().find(|load| Some(&load.name) == choice.load.as_ref());
            let (Ok(stack), Some(load)) = (stack, load) else { continue };
            let (stack, metric) = (&scenario.stacks[stack].name, metric.on_workload(load).unwrap());
            let mut known = scenario.published.iter().flat_map(|all| &all.figures);
            let is_known = known
                .any(|one| (&one.workload, &one.stack, one.metric) == (&load.name, stack, metric));
            let article = printed.split(" => ").next().unwrap_or_default();
            let article = article.replace(" МБ/с", "MB/s");
            let unit = choice.unit.as_ref().filter(|_| metric.unit() == "B/s");
            let text = match unit.filter(|_| !article.contains("/s")) {
                Some(unit) => format!("{article}{unit}"),
                None => article,
            };
            let figure = PublishedFigure::from_printed(&load.name, metric, stack, &text);
            if let (false, Ok(figure), Some(all)) = (is_known, figure, &mut scenario.published) {
                all.figures.push(figure);
            }
        }
    }
}

#[test]
fn the_tables_of_the_five_articles_come_out_as_they_are_printed() {
    let (mut wrong, mut cells, mut others) = (Vec::new(), 0, 0);
    let blocks = printed_blocks();
    for PrintedBlock { name, files, rows } in &blocks {
        let found = table_of(name, files, &blocks);
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
    let found = table_of("e3-random-iops", &["e3-many-guests.toml"], &[]);
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
