use super::*;
use crate::table::scan;

fn shown(html: &str) -> String {
    let page = read("p", html.as_bytes().to_vec());
    let mut lines: Vec<String> = (0..page.len())
        .map(|at| format!("{} {}", page.line_number(at), page.line_text(at)))
        .collect();
    lines.extend(
        page.unread.iter().map(|one| format!("unread {} to {}: {}", one.line, one.last, one.why)),
    );
    for row in scan(&page, &[]).tables.iter().flat_map(|table| &table.rows) {
        let cells = row.cells.iter().flatten();
        let cells = cells.map(|cell| {
            [cell.figure, cell.share.as_deref().copied()].map(|one| one.map(|one| one.figure.value))
        });
        lines.push(format!("{}: {:?}", row.label, cells.collect::<Vec<_>>()));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

#[test]
fn every_page_is_shown_as_was_checked() {
    crate::testing::hold("html.txt", shown);
}

#[test]
fn html_is_known_by_its_first_bytes_and_markdown_with_tags_is_not() {
    let tags = "<div><p>a</p><p>b</p><p>c</p><p>d</p><p>e</p></div>";
    let wholes = "<!DOCTYPE html>|\u{feff}\n <!doctype HTML><p>|<!-- saved --><html>|<?xml version='1.0'?>\n<html>";
    for html in wholes.split('|').chain([tags]) {
        assert!(is_html(html.as_bytes()), "{html}");
    }
    let readme = format!("<div align=\"center\">{tags}</div>\n\n## Usage\n\n```\nx\n```\n");
    let others =
        "|plain|# Title\n<table><tr><td>1</table>|{\"a\": 1}|<Results><System/></Results>|<div>";
    for other in others.split('|').chain([readme.as_str()]) {
        assert!(!is_html(other.as_bytes()), "{other}");
    }
}

#[test]
fn html_in_utf_16_or_another_encoding_is_html() {
    let html = "<!DOCTYPE html><html><meta charset=\"utf-16\"><p>Скорость 94 %</p></html>";
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let marked = format!("\u{feff}{html}");
    let declared = html.replace("utf-16", "windows-1251");
    let declared = encoding_rs::WINDOWS_1251.encode(&declared).0.into_owned();
    for bytes in
        [little(html), big(html), little(&marked), big(&marked), html.as_bytes().to_vec(), declared]
    {
        assert!(is_html(&bytes));
        let page = read("p", bytes);
        let lines: Vec<&str> = (0..page.len()).map(|at| page.line_text(at)).collect();
        assert_eq!((lines.concat().trim(), page.unread.len()), ("Скорость 94 %", 0));
    }
    assert!(
        !is_html(&little("fio-3.16\n<p>"))
            && !is_html(&big("fio-3.16\n<p>"))
            && !is_html(b"\0\0\0")
    );
}

#[test]
fn hostile_pages_take_time_and_memory_as_they_are_long() {
    let parts = "<table><tr><td>|<div>|<tr><td rowspan=65534 colspan=1000>a long text of a cell that is copied|<pre>|<li>|</table>|<h1>|&|<|<!--|<td>|<svg>|<table>|<tr>|<td rowspan=9>x<tr>";
    for part in parts.split('|') {
        for begin in ["<html>", "<html><table><tr><td rowspan=65000 colspan=500>x<tr>"] {
            let page = read("p", format!("{begin}{}", part.repeat(20_000)).into_bytes());
            assert!(page.text().len() < 20_000_000, "{part}: {}", page.text().len());
            scan(&page, &[]);
        }
    }
}
