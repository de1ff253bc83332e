//! Every form of audits that were made by hand: snapshots for text, structure for programs, and text that means harm. Rules are
//! of no family here (Q1), so that no snapshot has the words of one.

use super::{ALL, Audit, Document, Severity, Skipped, View, by_name, digest};
use iotax_audit::audit::Audited;
use iotax_audit::claim::{Claim, Kind, Metric, Status};
use iotax_audit::finding::{Finding, Slip};
use iotax_audit::number::{Base, Figure, Hedge, Interval, Quantity, Unit};
use iotax_audit::page::{Page, Spot};
use iotax_audit::table::{Cell, Column, Row, Table};
use serde_json::Value;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

const LOSS: &str = "\
# 写性能损失

\twrite: IOPS=25.10k, BW=98.0MiB/s (103MB/s)(5883MiB/60001msec)
\twrite: IOPS=20.4k, BW=79.6MiB/s (83.5MB/s)(4778MiB/60002msec)

| 测试 | host | guest | loss |
|---|---|---|---|
| randwrite 4k | 25.1k | 20.4k | 81.3 % (18.4 %) |
| randread 4k | 31.0k | 30.1k | 97.1 % |

虚拟机的写损失为 18.4 %，读损失约 3 %。
";

fn spot(page: &Page, line: usize, text: &str) -> Spot {
    let start = page.line(line).find(text).unwrap_or_else(|| panic!("no {text:?} in line {line}"));
    Spot::new(line, start..start + text.len())
}

fn claim(spot: Spot, status: Status) -> Claim {
    Claim {
        spot,
        metric: Metric::Other,
        unit: Unit::Bare,
        value: 0.0,
        interval: Interval::exact(0.0),
        kind: Kind::Raw,
        status,
        why: "nothing on the page gives it",
    }
}

fn cell(page: &Page, line: usize, text: &str) -> Option<Cell> {
    let figure = Figure { spot: spot(page, line, text.split(" (").next()?), value: 0.0, low: 0.0, high: 0.0 };
    let quantity = |figure| Quantity {
        figure,
        unit: Unit::Bare,
        scale: 1.0,
        base: Base::None,
        decimals: 1,
        hedge: Hedge::Plain,
    };
    let share = text.split_once(" (").map(|(_, share)| spot(page, line, &share[..share.len() - 1]));
    Some(Cell {
        spot: spot(page, line, text),
        figure: Some(quantity(figure)),
        share: share.map(|spot| quantity(Figure { spot, ..figure })),
        more: Vec::new(),
    })
}

fn audited(page: Page, claims: Vec<Claim>, mut findings: Vec<Finding>, tables: Vec<Table>) -> Audited {
    findings.sort_by_key(|finding| (finding.spot, finding.severity));
    for finding in &mut findings {
        page.quote(finding.spot).clone_into(&mut finding.printed);
    }
    Audited {
        page,
        outputs: Vec::new(),
        tables,
        claims,
        findings,
        unread: Vec::new(),
        clauses: Vec::new(),
        links: Vec::new(),
    }
}

/// A display bug, what was computed from it, and a table that has both.
fn loss() -> Document {
    let page = Page::new("results/loss.md", LOSS);
    let at = |line, text| spot(&page, line, text);
    let (bug, other) = (at(2, "25.10k"), at(3, "20.4k"));
    let claims = vec![
        claim(bug, Status::DoesNotHold),
        claim(at(2, "98.0MiB/s"), Status::Holds),
        claim(at(2, "103MB/s"), Status::Holds),
        claim(at(2, "5883MiB"), Status::Holds),
        claim(at(2, "60001msec"), Status::Plausible),
        claim(other, Status::Holds),
        claim(at(7, "25.1k"), Status::DoesNotHold),
        claim(at(7, "20.4k"), Status::Holds),
        claim(at(7, "81.3 %"), Status::DoesNotHold),
        claim(at(7, "18.4 %"), Status::DoesNotHold),
        claim(at(8, "97.1 %"), Status::Holds),
        claim(at(10, "18.4 %"), Status::DoesNotHold),
        claim(at(10, "3 %"), Status::CannotBeChecked),
    ];
    let by = "1 - 20.387k / 25.991k";
    let findings = vec![
        Finding::new(
            "Q2",
            Severity::WrongFigure,
            bug,
            "25.10k is a display bug of fio 3.16: the run issued 26.0k a second",
        )
        .recomputed("26.0k")
        .by("1000 * 1559486 / 60001 = 25991")
        .slip(Slip::FioCarry)
        .against([at(2, "5883MiB"), at(2, "60001msec")]),
        Finding::new(
            "Q1",
            Severity::WrongFigure,
            at(7, "81.3 %"),
            "20.4k is 78.4 % of what was issued, not 81.3 %",
        )
        .recomputed("78.4 %")
        .by("20.387k / 25.991k")
        .slip(Slip::FromWrongFigure)
        .against([bug, other]),
        Finding::new("Q1", Severity::WrongFigure, at(7, "18.4 %"), "the loss is 21.6 %, not 18.4 %")
            .recomputed("21.6 %")
            .by(by)
            .slip(Slip::FromWrongFigure)
            .against([bug, other]),
        Finding::new(
            "Q10",
            Severity::WrongConclusion,
            at(10, "18.4 %"),
            "the headline's 18.4 % comes from a figure that fio printed wrong; it is 21.6 %",
        )
        .recomputed("21.6 %")
        .by(by)
        .slip(Slip::FromWrongFigure)
        .against([bug, other, at(7, "18.4 %")]),
        Finding::new("Q5", Severity::Ambiguous, at(10, "3 %"), "nothing on the page gives this figure"),
        Finding::new("Q3", Severity::Cosmetic, at(2, "5883MiB"), "the total is cut off, not rounded")
            .recomputed("5884MiB"),
    ];
    let columns = ["host", "guest", "loss"].map(|head| Column { head: head.into() }).to_vec();
    let row = |line, label: &str, cells: [&str; 3]| Row {
        label: label.into(),
        line,
        cells: cells.map(|text| cell(&page, line, text)).to_vec(),
    };
    let rows = vec![
        row(7, "randwrite 4k", ["25.1k", "20.4k", "81.3 % (18.4 %)"]),
        row(8, "randread 4k", ["31.0k", "30.1k", "97.1 %"]),
    ];
    let tables =
        vec![Table {
            lines: 5..9, title: Some("写性能损失".into()), corner: "测试".into(), columns, rows
        }];
    let unread = vec![page.unread(4..6, "iperf3 JSON ends in the middle of an object")];
    let mut audited = audited(page, claims, findings, tables);
    audited.unread = unread;
    digest(audited, Some("results/loss.md".into()))
}

/// Twenty rows with the same slip, and an operand far away.
fn alike() -> Document {
    let lines: String = (0..20).map(|at| format!("row {at}: {at}00 MB/s at 4k, {at}1 IOPS\n")).collect();
    let page = Page::new("alike.txt", format!("bs=4k\n{}{lines}", "\n".repeat(30)));
    let findings = (0..20)
        .map(|at| {
            let text = format!("{at}00 MB/s");
            Finding::new(
                "Q4",
                Severity::WrongFigure,
                spot(&page, 31 + at, &text),
                format!("{at}1 IOPS of 4k are no {text}"),
            )
            .recomputed("0.3 MB/s")
            .against([spot(&page, 0, "4k"), spot(&page, 31 + at, "IOPS")])
        })
        .collect();
    digest(audited(page, Vec::new(), findings, Vec::new()), None)
}

/// A line of 20,000 characters, with figures at both of its ends.
fn long() -> Document {
    let line = format!(
        "平均 IOPS 是 25.9k，{}最后 20.3k 次，损失 18.4 %。{}",
        "很".repeat(9_000),
        "长".repeat(9_000)
    );
    let page = Page::new("long.md", line);
    let findings = vec![
        Finding::new("Q1", Severity::WrongFigure, spot(&page, 0, "18.4 %"), "the loss is 21.6 %")
            .recomputed("21.6 %")
            .against([spot(&page, 0, "25.9k"), spot(&page, 0, "20.3k")]),
    ];
    digest(audited(page, Vec::new(), findings, Vec::new()), Some("long.md".into()))
}

/// A sheet of a workbook.
fn sheet() -> Document {
    let page = Page::rendered("b.xlsx [Sheet1]", &[(12, "| write | 104 % |".into())]);
    let findings = vec![Finding::new("Q1", Severity::Ambiguous, spot(&page, 0, "104 %"), "more than all")];
    digest(audited(page, Vec::new(), findings, Vec::new()), Some("b.xlsx".into()))
}

const EVIL: &str = "\u{1b}[2J<script>alert(1)</script>\u{202e}|`**x**` [a](b) 94 %\u{7}";

/// Text that wants to break out of whatever it is shown in, in every place where text of a page can stand.
fn evil() -> Document {
    let page = Page::new(format!("{EVIL}.md"), format!("{EVIL}\n{EVIL}"));
    let figure = spot(&page, 0, "94 %");
    let findings = vec![
        Finding::new("Q1", Severity::WrongFigure, figure, format!("{EVIL} is wrong"))
            .recomputed(EVIL)
            .by(EVIL)
            .against([spot(&page, 1, "94 %")]),
    ];
    let cell = Cell { spot: Spot::new(0, 0..EVIL.len()), figure: None, share: None, more: Vec::new() };
    let rows = vec![Row { label: EVIL.into(), line: 0, cells: vec![Some(cell)] }];
    let tables = vec![Table {
        lines: 0..2,
        title: Some(EVIL.into()),
        corner: EVIL.into(),
        columns: vec![Column { head: EVIL.into() }],
        rows,
    }];
    let unread = vec![page.unread(0..1, EVIL)];
    let mut audited = audited(page, vec![claim(figure, Status::CannotBeChecked)], findings, tables);
    audited.unread = unread;
    digest(audited, Some(format!("{EVIL}.md")))
}

fn clean() -> Document {
    let page = Page::new("clean.txt", "read: IOPS=2000");
    let claims = vec![claim(spot(&page, 0, "2000"), Status::Holds)];
    digest(audited(page, claims, Vec::new(), Vec::new()), Some("clean.txt".into()))
}

fn of(documents: Vec<Document>) -> Audit {
    Audit { documents, ..Audit::default() }
}

fn all() -> [(&'static str, Audit); 5] {
    let several = Audit {
        documents: vec![clean(), loss(), sheet()],
        skipped: vec![Skipped { name: "a.png".into(), why: "a PNG image".into() }],
        refused: vec![Skipped { name: "none.md".into(), why: "there is no such file".into() }],
    };
    [
        ("loss", of(vec![loss()])),
        ("alike", of(vec![alike()])),
        ("long", of(vec![long()])),
        ("evil", of(vec![evil()])),
        ("several", several),
    ]
}

fn view(width: usize) -> View {
    View { width, colour: false, verbose: true, show: Severity::Cosmetic }
}

fn text(audit: &Audit, name: &str, view: &View) -> String {
    (by_name(name).unwrap().render)(audit, view)
}

fn json(audit: &Audit, name: &str) -> Value {
    serde_json::from_str(&text(audit, name, &view(80))).unwrap()
}

#[test]
fn the_family_is_in_order() {
    let names: BTreeSet<&str> = ALL.iter().map(|renderer| renderer.name).collect();
    let endings: Vec<&str> = ALL.iter().flat_map(|renderer| renderer.endings).copied().collect();
    assert_eq!(names.len(), ALL.len());
    assert_eq!(endings.len(), endings.iter().collect::<BTreeSet<_>>().len(), "an ending is of one form");
    assert!(ALL.iter().all(|renderer| !renderer.help.is_empty() && renderer.help.len() < 70));
    assert!(by_name("csv").is_none());
}

#[test]
fn terminal() {
    for (name, audit) in all() {
        for width in [80, 160] {
            let text = text(&audit, "terminal", &view(width));
            // A name stands in one line, so that it can be copied.
            for line in text.lines().filter(|line| !line.contains("\\u{7}.md")) {
                assert!(line.width() <= width, "{name} at {width}: {line}");
            }
            insta::assert_snapshot!(format!("{name}_{width}"), text);
        }
        let narrow = text(&audit, "terminal", &view(1));
        let fits = |line: &str| line.width() <= 40 || line.contains("\\u{7}.md");
        assert!(narrow.lines().all(fits), "{name}: {narrow}");
    }
}

#[test]
fn what_is_not_shown_is_counted() {
    let audit = of(vec![loss()]);
    let shown = |show| text(&audit, "terminal", &View { show, ..view(80) });
    let (all, some) = (shown(Severity::Cosmetic), shown(Severity::WrongConclusion));
    assert!(all.contains("cosmetic[Q3]") && !all.contains("not shown"), "{all}");
    assert!(some.contains("wrong-conclusion[Q10]") && !some.contains("[Q1]"), "{some}");
    assert!(some.contains("not shown: wrong-figure, ambiguous, cosmetic (--show cosmetic)"), "{some}");
    assert!(some.contains("1 wrong conclusion, 3 wrong figures, 1 ambiguous, 1 cosmetic"), "{some}");
}

#[test]
fn colours_add_nothing_but_colours() {
    for (name, audit) in all() {
        let coloured = text(&audit, "terminal", &View { colour: true, ..view(80) });
        assert!(coloured.contains("\x1b[1;"), "{name}");
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, behind)) = rest.split_once('\x1b') {
            plain += before;
            rest = behind.split_once('m').unwrap().1;
        }
        assert_eq!(plain + rest, text(&audit, "terminal", &view(80)), "{name}");
    }
}

#[test]
fn markdown() {
    for (name, audit) in all() {
        insta::assert_snapshot!(format!("{name}_markdown"), text(&audit, "markdown", &view(80)));
    }
}

#[test]
fn json_has_all_findings_and_counts() {
    let found = json(&of(vec![loss()]), "json");
    insta::assert_json_snapshot!("loss_json", found);
    assert_eq!((found["format"].as_str(), found["version"].as_u64()), (Some("iotax-audit"), Some(1)));
    let found = json(&all()[4].1, "json");
    assert_eq!(found["findings"].as_array().unwrap().len(), 7, "whatever is shown to people");
    for finding in found["findings"].as_array().unwrap() {
        for key in ["rule", "severity", "document", "line", "printed", "recomputed", "message"] {
            assert!(!finding[key].is_null(), "{key} in {finding}");
        }
    }
    assert_eq!(found["findings"][6].get("column"), None, "a sheet has no columns");
    assert_eq!(found["claims"]["does not hold"], 5);
    assert_eq!(found["claims"]["holds"], 7);
    assert_eq!(found["documents"][1]["claims"]["cannot be checked"], 1);
    assert_eq!(found["unread"][0]["why"], "iperf3 JSON ends in the middle of an object");
    assert_eq!(found["skipped"][0]["document"], "a.png");
    assert_eq!(found["not_opened"][0]["why"], "there is no such file");
}

#[test]
fn sarif_says_where_in_units_of_utf16() {
    let mut found = json(&of(vec![loss()]), "sarif");
    found["runs"][0]["tool"]["driver"]["version"] = "VERSION".into();
    insta::assert_json_snapshot!("loss_sarif", found);
    let results = |audit: &Audit| json(audit, "sarif")["runs"][0]["results"].as_array().unwrap().clone();
    let several = results(&all()[4].1);
    let location = &several[6]["locations"][0];
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "b.xlsx");
    assert_eq!(location["physicalLocation"]["region"], serde_json::json!({ "startLine": 12 }));
    assert_eq!(location["logicalLocations"][0]["name"], "b.xlsx [Sheet1]");
    let prints: BTreeSet<String> =
        results(&of(vec![alike()])).iter().map(|one| one["partialFingerprints"].to_string()).collect();
    assert_eq!(prints.len(), 20, "fingerprints tell findings apart");
}

#[test]
fn rules_of_the_family_are_described() {
    for rule in iotax_audit::rule::ALL {
        let page = Page::new("p", "18.4 %");
        let finding = Finding::new(rule.id, rule.severity, Spot::new(0, 0..6), "no");
        let audit = of(vec![digest(audited(page, Vec::new(), vec![finding], Vec::new()), None)]);
        let run = &json(&audit, "sarif")["runs"][0];
        assert_eq!(run["results"][0]["ruleIndex"], 0);
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!((rules.len(), &rules[0]["id"]), (1, &rule.id.into()), "one entry an id");
        assert!(rules[0]["fullDescription"]["text"].as_str().unwrap().contains(rule.holds));
        for form in ["markdown", "html"] {
            let told = text(&audit, form, &View { show: Severity::Cosmetic, ..view(80) });
            assert!(told.contains(rule.id), "{form} of {}", rule.id);
        }
    }
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let print = |before: &str| {
        let page = Page::new("p", format!("{before}a loss of 18.4 %"));
        let at = spot(&page, page.len() - 1, "18.4 %");
        let finding = Finding::new("Q1", Severity::WrongFigure, at, "no");
        let audit = of(vec![digest(audited(page, Vec::new(), vec![finding], Vec::new()), None)]);
        json(&audit, "sarif")["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    assert_eq!(print(""), print("one\ntwo\n"));
}

#[test]
fn html() {
    let page = text(&of(vec![loss()]), "html", &view(80));
    for needed in [
        "<title>results/loss.md · iotax audit</title>",
        "1 wrong conclusion, 3 wrong figures, 1 ambiguous, 1 cosmetic",
        "<del>81.3 %</del> <ins>78.4 %</ins> (<del>18.4 %</del> <ins>21.6 %</ins>)",
        "<span class=\"f wrong\">25.1k</span>",
        "id=\"d0f0\"",
        "href=\"#d0f3\"",
        "1 figure cannot be checked: nothing on the page gives it",
        "iperf3 JSON ends in the middle of an object",
    ] {
        assert!(page.contains(needed), "no {needed} in {page}");
    }
    for outside in ["http://", "https://", "<link", "src=", "<script"] {
        assert!(!page.contains(outside), "the page has {outside}");
    }
    assert!(page.contains("<mark>"), "the figure is marked in its line");
    let list = page.split("<ul class=\"worst\">").nth(1).and_then(|rest| rest.split("</ul>").next()).unwrap();
    let lines: Vec<&str> = list.split("\">line ").skip(1).filter_map(|item| item.split('<').next()).collect();
    assert_eq!(
        lines,
        ["11", "3", "8", "8"],
        "the wrong conclusion before wrong figures, those in the order of the page"
    );
    let several = text(&all()[4].1, "html", &view(80));
    assert!(
        several.contains("Nothing on this page was found not to hold.") && several.contains("a PNG image")
    );
}

#[test]
fn a_share_in_the_row_below_stands_in_its_cell_and_tables_that_hold_are_left_out() {
    let page = Page::new("p", "| guest | 4520 |\n| | (2317%) |\n| host | 195 |");
    let (value, share) = (spot(&page, 0, "4520"), spot(&page, 1, "2317%"));
    let mut below = cell(&page, 0, "4520").unwrap();
    below.share = below
        .figure
        .map(|quantity| Quantity { figure: Figure { spot: share, ..quantity.figure }, ..quantity });
    let rows = vec![Row { label: "guest".into(), line: 0, cells: vec![Some(below)] }];
    let columns = vec![Column { head: "IOPS".into() }];
    let first = Table { lines: 0..2, title: None, corner: String::new(), columns, rows };
    let held = vec![Row { label: "host".into(), line: 2, cells: vec![cell(&page, 2, "195")] }];
    let second = Table { lines: 2..3, rows: held, ..first.clone() };
    let remark = Finding::new("Q9", Severity::Ambiguous, spot(&page, 2, "195"), "one run");
    let wrong = Finding::new("Q1", Severity::Cosmetic, share, "cut off").recomputed("2318%");
    let claims = vec![claim(value, Status::Holds), claim(share, Status::DoesNotHold)];
    let document = digest(audited(page, claims, vec![wrong, remark], vec![first, second]), None);
    assert_eq!(document.tables.len(), 1, "the other has a remark only");
    let page = text(&of(vec![document]), "html", &view(80));
    assert!(page.contains("4520 (<del>2317%</del> <ins>2318%</ins>)"), "{page}");
}

#[test]
fn every_form_says_what_where_and_by_which_arithmetic() {
    let audit = of(vec![loss()]);
    for renderer in ALL {
        let text = (renderer.render)(&audit, &View { width: 160, ..view(160) });
        for needed in ["Q1", "the loss is 21.6 %, not 18.4 %", "loss.md", "1 - 20.387k / 25.991k"] {
            assert!(text.contains(needed), "{} lacks {needed}: {text}", renderer.name);
        }
    }
}

#[test]
fn text_of_pages_cannot_break_out() {
    let audit = of(vec![evil()]);
    for renderer in ALL {
        let text = (renderer.render)(&audit, &view(80));
        let raw = ['\u{1b}', '\u{7}', '\u{202e}'];
        match renderer.name {
            // Programs get what stands there, as JSON writes it.
            "json" | "sarif" => assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}"),
            _ => assert!(!text.contains(raw), "{}: {text}", renderer.name),
        }
        if renderer.name == "html" {
            assert!(!text.contains("<script") && text.contains("&lt;script"), "{text}");
        }
    }
    let found = json(&audit, "json");
    assert_eq!(found["findings"][0]["recomputed"], EVIL);
}
