//! Tests of the writers of tables in the form of an article.

use super::*;
use iotax_analysis::{findings, twin};

fn report() -> ArticleReport {
    let found = findings(&twin::tables());
    ArticleReport::of_runs(&[&found], found.articles.clone())
}

fn text_of(form: &str) -> String {
    (by_name(form).unwrap().render)(&report(), &PageContext::of_width(100))
}

#[test]
fn a_table_alone_has_its_figures_its_marks_and_why_cells_are_empty() {
    let text = text_of("terminal");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  4k-randread")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].contains(" kIOPS ") && rows[0].contains("% \u{25bc}"), "{}", rows[0]);
    assert!(rows[0].ends_with("33.73 kIOPS") && rows[1].ends_with('\u{25bc}'), "{text}");
    let head = text.lines().find(|line| line.contains("% of LVM")).unwrap();
    assert!(head.contains("LVM ~") && head.ends_with("page"), "{head}");
    assert!(text.contains("empty: not published (4k-randread-qd4 / page)"), "{text}");
    assert!(text.contains("\u{25bc} costs; ~ emulated, not representative"), "{text}");
    assert!(text.contains("EMULATED") && !text.contains("Warnings"), "{text}");
}

#[test]
fn the_grid_of_csv_is_plain() {
    let text = text_of("csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("load,LVM,ZFS,% of LVM,page"));
    let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!((cells[0], cells[4]), ("4k-randread-qd1", "33.73 kIOPS"));
    assert!(cells[3].ends_with('%') && cells[1].ends_with(" kIOPS"), "{cells:?}");
    assert!(lines.next().unwrap().ends_with(','), "an empty cell: {text}");
}

#[test]
fn markdown_page_and_json_have_the_same_cells() {
    let grid = text_of("csv");
    let cell = grid.lines().nth(1).unwrap().split(',').nth(1).unwrap();
    let markdown = text_of("markdown");
    assert!(markdown.contains("# Backends by iSER\n") && markdown.contains("| ---: |"));
    assert!(markdown.contains(&format!("| {cell} |")), "{markdown}");
    let page = text_of("html");
    assert!(page.contains(cell), "no {cell}");
    let json: serde_json::Value = serde_json::from_str(&text_of("json")).unwrap();
    assert_eq!(json["format"], "iotax-tables");
    assert_eq!(json["tables"][0]["rows"][0]["cells"][0]["text"], cell);
    assert_eq!(json["tables"][0]["rows"][1]["cells"][3]["figure"]["state"], "missing");
}
