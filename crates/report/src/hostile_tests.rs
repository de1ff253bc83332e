//! Runs whose names and texts were written by somebody who means ill: nothing of them acts in any
//! form of any report.

use super::article::ArticleReport;
use super::{ALL, PageContext, against, article};
use iotax_analysis::against::compare_runs as held_against;
use iotax_analysis::findings::against::RegressionLimits;
use iotax_analysis::{Findings, RunData, findings, twin};
use iotax_units::harmless::acts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const LIMITS: RegressionLimits = RegressionLimits { rate: Some(0.05), latency: None, cpu: None };

/// What is put around a name.
const BEFORE: &str = "=cmd|' /C calc'!A0";
const BEHIND: &str = "\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{200b}\nFAKE: | 100 % |\r\n\t<script>alert(1)</script>`x`[a](b)\u{7}";

fn hostile(text: &str) -> String {
    format!("{BEFORE}{text}{BEHIND}")
}

/// Every text that `chosen` takes, keys too, made hostile.
fn changed(value: &Value, chosen: &dyn Fn(&str) -> bool) -> Value {
    let text = |text: &str| if chosen(text) { hostile(text) } else { text.to_owned() };
    match value {
        Value::String(one) => Value::String(text(one)),
        Value::Array(all) => all.iter().map(|one| changed(one, chosen)).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(key, one)| (text(key), changed(one, chosen)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// The texts of a value.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(into.insert(text.clone())),
        Value::Array(all) => all.iter().for_each(|one| texts(one, into)),
        Value::Object(all) => all.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

/// With those of its texts hostile that may be any.
fn remade<T: Serialize + DeserializeOwned>(one: &mut T, chosen: &dyn Fn(&str) -> bool) {
    let mut value = serde_json::to_value(&*one).unwrap();
    let mut all = BTreeSet::new();
    texts(&value, &mut all);
    for text in all.iter().filter(|text| chosen(text)) {
        let tried = changed(&value, &|other| other == text);
        // Words of a format are none of others' texts.
        if let Ok(made) = serde_json::from_value(tried.clone()) {
            (*one, value) = (made, tried);
        }
    }
}

fn remade_run(mut run: RunData, chosen: &dyn Fn(&str) -> bool) -> RunData {
    remade(&mut run.start, chosen);
    remade(&mut run.places, chosen);
    remade(&mut run.layers, chosen);
    remade(&mut run.workers, chosen);
    remade(&mut run.designs, chosen);
    remade(&mut run.matched, chosen);
    remade(&mut run.apart, chosen);
    remade(&mut run.laid_out, chosen);
    remade(&mut run.preconditioned, chosen);
    remade(&mut run.clocks, chosen);
    remade(&mut run.trials, chosen);
    remade(&mut run.verified, chosen);
    remade(&mut run.imported_files, chosen);
    remade(&mut run.imported, chosen);
    remade(&mut run.warnings, chosen);
    remade(&mut run.ends, chosen);
    remade(&mut run.visits_ended, chosen);
    remade(&mut run.outcome, chosen);
    for slice in &mut run.slices {
        for name in [&mut slice.stack, &mut slice.workload] {
            if chosen(name) {
                *name = hostile(name);
            }
        }
    }
    run
}

/// The same run with hostile names, which still fit each other.
fn of_hostile_names(run: RunData) -> RunData {
    let scenario = &run.start.scenario;
    let mut names: BTreeSet<String> = run
        .places
        .iter()
        .map(|place| place.place.to_string())
        .filter(|place| place != "host")
        .collect();
    names.extend(scenario.stacks.iter().flat_map(|stack| [stack.name.clone(), stack.text.clone()]));
    names.extend(scenario.workloads.iter().map(|workload| workload.name.clone()));
    names.extend(
        scenario.workloads.iter().filter_map(|one| Some(one.sweep.as_ref()?.sweep.clone())),
    );
    names.extend(scenario.name.clone());
    names.extend(
        scenario.published.iter().flat_map(|one| [one.source.clone(), one.hardware.clone()]),
    );
    names.extend(run.start.imported.iter().flat_map(|one| one.systems.clone()));
    names.extend(run.warnings.iter().flat_map(|one| [one.subject.clone(), one.text.clone()]));
    names.insert(run.start.id.clone());
    remade_run(run, &|text| names.contains(text))
}

/// The same run with all its texts hostile: few of them fit each other.
fn of_hostile_texts(run: RunData) -> RunData {
    remade_run(run, &|_| true)
}

const TWINS: [fn() -> RunData; 15] = [
    twin::bill,
    twin::failed,
    twin::crowd,
    twin::writes,
    twin::mixed,
    twin::visits,
    twin::grid,
    twin::matrix,
    twin::named_bill,
    twin::durability,
    twin::verified,
    twin::published,
    twin::arrays,
    twin::tables,
    twin::imported,
];

fn check(form: &str, text: &str) {
    // White space is none in HTML but between words.
    let is_html = form == "html";
    let raw = text.lines().find(|line| line.contains(|c| acts(c) && !(is_html && c == '\t')));
    assert_eq!(raw, None, "{form}");
    assert!(is_html || !text.lines().any(|line| line.starts_with("FAKE")), "{form}: {text}");
    match form {
        "csv" => check_cells(text),
        "json" => {
            let value: Value = serde_json::from_str(text).unwrap();
            let mut all = BTreeSet::new();
            texts(&value, &mut all);
            assert!(all.iter().any(|text| text.contains(BEHIND)), "programs get what was written");
        }
        "html" => {
            let text = super::html::without_own_script(text);
            assert!(!text.contains("<script") && text.contains("&lt;script"), "{text}");
        }
        "markdown" => check_markdown(text),
        _ => assert!(text.contains("\\u{1b}"), "it is shown: {text}"),
    }
}

fn check_cells(text: &str) {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut hostile = 0;
    for record in reader.records() {
        for cell in record.unwrap().iter() {
            let number = cell.parse::<f64>().is_ok();
            assert!(number || !cell.trim_start().starts_with(['=', '+', '-', '@']), "{cell}");
            hostile += u32::from(cell.starts_with("'=cmd"));
        }
    }
    assert!(hostile > 0, "{text}");
}

fn check_markdown(text: &str) {
    let mut fenced = false;
    let mut columns = None;
    for line in text.lines() {
        fenced ^= line.starts_with("````");
        if fenced {
            continue;
        }
        let plain = line
            .replace("\\\\", "")
            .replace("\\|", "")
            .replace("\\<", "")
            .replace("\\`", "")
            .replace("\\[", "");
        let tags =
            plain.replace("<details>", "").replace("</details>", "").replace("<summary>", "");
        assert!(!tags.replace("</summary>", "").contains('<'), "{line}");
        assert!(!plain.contains("`x`") && !plain.contains("[a]"), "{line}");
        let pipes = plain.starts_with('|').then(|| plain.matches('|').count());
        assert!(
            pipes.is_none() || columns.flatten().is_none_or(|columns| pipes == Some(columns)),
            "{line}"
        );
        columns = pipes.map(Some);
    }
    assert!(!fenced && text.contains("\\<script\\>"), "{text}");
}

fn check_every_form(found: &[Findings]) {
    for renderer in ALL {
        let widths = if renderer.name == "terminal" { vec![40, 200] } else { vec![80] };
        for width in widths {
            check(renderer.name, &(renderer.render)(found, &PageContext::of_width(width)));
        }
    }
}

#[test]
fn hostile_names_do_nothing_in_any_form() {
    for make in TWINS {
        check_every_form(&[findings(&of_hostile_names(make()))]);
    }
}

#[test]
fn hostile_texts_do_nothing_in_any_form() {
    let found: Vec<Findings> =
        TWINS.iter().map(|make| findings(&of_hostile_texts(make()))).collect();
    check_every_form(&found);
}

#[test]
fn hostile_texts_do_nothing_in_tables_of_articles() {
    for make in [of_hostile_names, of_hostile_texts] {
        let found = findings(&make(twin::tables()));
        let report = ArticleReport::of_runs(&[&found], found.articles.clone());
        for renderer in article::ALL {
            check(renderer.name, &(renderer.render)(&report, &PageContext::of_width(80)));
        }
    }
}

#[test]
fn hostile_names_do_nothing_where_runs_are_held_against_each_other() {
    let mut imported_later = twin::imported();
    imported_later.start.id = "20260101-130000-0061".into();
    let pairs = [
        (twin::a_week_before(21), twin::a_week_later(22, 130_000.0)),
        (twin::bill_of_seed(7), twin::partial()),
        (twin::imported(), imported_later),
    ];
    for (old, new) in pairs {
        let found = held_against(&of_hostile_names(old), &of_hostile_names(new), LIMITS).unwrap();
        for renderer in against::ALL {
            check(renderer.name, &(renderer.render)(&found, &PageContext::of_width(80)));
        }
    }
}

/// The same run with other names of its stacks, which `named` returns for each name.
fn renamed(mut run: RunData, named: impl Fn(&str) -> String) -> RunData {
    let of_stacks = run.start.scenario.stacks.iter_mut().map(|stack| &mut stack.name);
    for name in of_stacks.chain(run.slices.iter_mut().map(|slice| &mut slice.stack)) {
        *name = named(name);
    }
    run
}

/// With `IOTAX_PAGES=FOLDER` the pages are left there, for a look with a browser.
#[test]
fn pages_of_crowds_and_of_strange_names_stay_below_a_megabyte() {
    const MOST_BYTES: usize = 1_000_000;
    let kept = std::env::var_os("IOTAX_PAGES").map(std::path::PathBuf::from);
    let runs = [
        ("stacks-300", twin::many(300, 1)),
        ("loads-40", twin::many(4, 40)),
        ("long-names", renamed(twin::bill(), |name| format!("{name} {}", "long_".repeat(60)))),
        (
            "right-to-left",
            renamed(twin::bill(), |name| format!("\u{5d3}\u{5d9}\u{5e1}\u{5e7} {name}")),
        ),
        ("hostile", of_hostile_names(twin::bill())),
    ];
    for (name, run) in runs {
        let render = super::by_name("html").expect("a page").render;
        let page = render(&[findings(&run)], &PageContext::of_width(80));
        if let Some(folder) = &kept {
            std::fs::write(folder.join(format!("{name}.html")), &page).unwrap();
        }
        assert!(page.len() < MOST_BYTES, "{name}: {} bytes", page.len());
    }
}
