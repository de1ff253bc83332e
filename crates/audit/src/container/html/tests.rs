use super::*;
use crate::container::pages;
use crate::table::{Table, scan};

fn shown(html: &str) -> Vec<(u32, String)> {
    let page = read("p", html.as_bytes().to_vec());
    (0..page.len()).map(|at| (page.number(at), page.line(at).to_string())).collect()
}

fn text(html: &str) -> Vec<String> {
    shown(html).into_iter().map(|(_, line)| line).collect()
}

fn table(html: &str) -> (Page, Table) {
    let page = read("p", html.as_bytes().to_vec());
    let mut found = scan(&page, &[]).tables;
    assert_eq!(found.len(), 1, "{:?}", text(html));
    (page, found.remove(0))
}

#[test]
fn html_is_known_by_its_first_bytes_and_markdown_with_tags_is_not() {
    let tags = "<div><p>a</p><p>b</p><p>c</p><p>d</p><p>e</p></div>";
    let wholes =
        "<!DOCTYPE html>|\u{feff}\n <!doctype HTML><p>|<!-- saved --><html>|<?xml version='1.0'?>\n<html>";
    for html in wholes.split('|').chain([tags]) {
        assert!(knows(html.as_bytes()), "{html}");
    }
    let readme = format!("<div align=\"center\">{tags}</div>\n\n## Usage\n\n```\nx\n```\n");
    let others = "|plain|# Title\n<table><tr><td>1</table>|{\"a\": 1}|<Results><System/></Results>|<div>";
    for other in others.split('|').chain([readme.as_str()]) {
        assert!(!knows(other.as_bytes()), "{other}");
    }
    assert_eq!(pages("p", b"<html><p>one<p>two".to_vec())[0].line(0), "one");
}

#[test]
fn lines_are_what_a_browser_shows_and_know_their_source() {
    let html = "<html>\n<head><title>T</title><style>p { width: 5% }</style></head>\n<body>\n<h2>Disk &amp; net</h2>\n<p>It does\n   500&nbsp;MB/s<br>in the &lt;host&gt;.</p>\n<ul><li><p>one</p></li>\n<li>two</ul>\n<script>var a = \"<p>7</p>\";</script>\n<!-- 8 -->end\n";
    assert_eq!(
        shown(html),
        [
            (4, "## Disk & net".to_string()),
            (4, String::new()),
            (5, "It does 500\u{a0}MB/s".to_string()),
            (6, "in the <host>.".to_string()),
            (6, String::new()),
            (7, "- one".to_string()),
            (7, String::new()),
            (8, "- two".to_string()),
            (8, String::new()),
            (10, "end".to_string()),
        ]
    );
}

#[test]
fn listings_keep_their_lines_and_stand_in_fences() {
    let html = "<html><p>out:</p>\n<pre>\n<code>a  1\n\n  <b>b</b> &gt; 2</code>\n</pre><p>x</p>";
    assert_eq!(text(html), ["out:", "", "```", "a  1", "", "  b > 2", "```", "", "x"]);
    let numbers: Vec<u32> = shown(html).iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers[3..6], [3, 4, 5]);
    assert_eq!(text("<html><pre>a<br>b<div>c</div>d</pre>"), ["```", "a", "b", "c", "d", "```"]);
    assert_eq!(text("<html><pre>never closed"), ["```", "never closed", "```"]);
    assert_eq!(shown("<html>\n<p>a&#10;b &#10;<b>c</b>&#10; d")[0].0, 2);
    assert_eq!(shown("<html><pre>a&#10;b&#10;c").last().unwrap().0, 1, "written ends are none of the source");
    assert_eq!(text("<html><pre>a<script>neither is closed"), ["```", "a", "```"]);
}

#[test]
fn tables_become_rows_between_pipes() {
    let html = "<html><h3>Speed</h3>\n<table><caption>Table 1</caption>\n<thead>\n<tr><th rowspan=2>Case</th><th colspan=2>VM</th></tr>\n<tr><th>IOPS</th><th>MB/s</th></tr></thead>\n<tbody><tr><td>read | 4k</td><td>26.5k<br>(93%)</td><td>103.5</td></tr>\n<tr><td>write<td>25.5k<td>99.5</table>after";
    let rows = "### Speed\n\nTable 1\n\n| Case | VM | VM |\n| Case | IOPS | MB/s |\n|---|---|---|\n| read \\| 4k | 26.5k (93%) | 103.5 |\n| write | 25.5k | 99.5 |\n\nafter";
    assert_eq!(text(html), rows.split('\n').collect::<Vec<_>>());
    let (page, table) = table(html);
    assert_eq!((table.title.as_deref(), table.corner.as_str()), (Some("Table 1"), "Case"));
    assert_eq!((table.rows[0].label.as_str(), page.number(table.rows[1].line)), ("read | 4k", 7));
    let cell = table.rows[0].cells[0].as_ref().unwrap();
    assert_eq!(
        (cell.figure.unwrap().figure.value, cell.share.as_ref().unwrap().figure.value),
        (26_500.0, 93.0)
    );
}

#[test]
fn a_table_without_heads_is_read_where_its_first_row_is_one() {
    let (_, table) = table(
        "<html><table><tr><td>Case<td>Host<td>VM<tr><td>OS<td>CentOS<td>Ubuntu<tr><td>read<td>500 MB/s<td>450 MB/s</table>",
    );
    assert_eq!((table.corner.as_str(), table.rows.len(), table.columns[1].head.as_str()), ("Case", 2, "VM"));
    assert_eq!(table.rows[1].cells[1].as_ref().unwrap().figure.unwrap().figure.value, 450e6);
}

#[test]
fn what_lays_out_a_page_is_no_table() {
    let inner = "<table><tr><th>a<th>b<tr><td>x<td>5</table>";
    let html = format!("<html><table><tr><td>menu</td><td><h1>Title</h1>{inner}</td></tr></table>");
    assert_eq!(text(&html), ["menu", "", "# Title", "", "| a | b |", "|---|---|", "| x | 5 |"]);
    let listing = "<html><table><tr><td class=gutter><pre>1\n2</pre></td><td><pre>read: 5\nwrite: 6</pre></td></tr></table>";
    assert_eq!(text(listing), ["```", "1", "2", "```", "", "```", "read: 5", "write: 6", "```"]);
}

#[test]
fn a_power_or_a_note_is_no_digit_of_the_figure_before_it() {
    let (_, table) =
        table("<html><table><tr><th>a<th>b<tr><td>x<td>94%<sup>1</sup><tr><td>y<td>10<sup>6</sup></table>");
    let figure =
        |row: usize| table.rows[row].cells[0].as_ref().unwrap().figure.map(|figure| figure.figure.value);
    assert_eq!((figure(0), figure(1)), (Some(94.0), None));
}

#[test]
fn html_in_utf_16_or_another_encoding_is_html() {
    let html = "<!DOCTYPE html><html><meta charset=\"utf-16\"><p>Скорость 94 %</p></html>";
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let marked = format!("\u{feff}{html}");
    let declared = html.replace("utf-16", "windows-1251");
    let declared = encoding_rs::WINDOWS_1251.encode(&declared).0.into_owned();
    for bytes in [little(html), big(html), little(&marked), big(&marked), html.as_bytes().to_vec(), declared]
    {
        assert!(knows(&bytes));
        let page = read("p", bytes);
        let lines: Vec<&str> = (0..page.len()).map(|at| page.line(at)).collect();
        assert_eq!((lines.concat().trim(), page.unread.len()), ("Скорость 94 %", 0));
    }
    assert!(!knows(&little("fio-3.16\n<p>")) && !knows(&big("fio-3.16\n<p>")) && !knows(b"\0\0\0"));
}

#[test]
fn what_is_never_closed_is_listed() {
    let page = read("p", b"<html><p>a\n<svg><p>lost\n\nx".to_vec());
    assert_eq!((page.line(0), page.unread.len(), page.unread[0].line, page.unread[0].last), ("a", 1, 2, 2));
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
