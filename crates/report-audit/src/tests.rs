//! One page in every form as a snapshot, and what holds of any page: it fits, it adds nothing, and
//! text that means harm stays text. Rules are of no family here (Q1), so that no snapshot has the
//! words of one.

use super::{ALL, Audit, DigestDocument, Severity, Skipped, View, by_name, digest};
use iotax_audit::audit::{Audited, audit};
use iotax_audit::claim::{Claim, Status};
use iotax_audit::finding::{Finding, Slip};
use iotax_audit::page::{AuditedPage, TextSpan};
use serde_json::Value;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

use Severity::{Ambiguous, Cosmetic, WrongConclusion, WrongFigure};

const LOSS: &str = "\
# 写性能损失

\twrite: IOPS=25.10k, BW=98.0MiB/s (103MB/s)(5883MiB/60001msec)
\twrite: IOPS=20.4k, BW=79.6MiB/s (83.5MB/s)(4778MiB/60002msec)

| 测试 | host | guest | guest / host |
|---|---|---|---|
| randwrite 4k | 25.1k | 20.4k | 81.3 % |
| randread 4k | 31.0k | 30.1k | 97.1 % |

虚拟机的写损失为 18.4 %，读损失约 3 %。
";

fn spot(page: &AuditedPage, line: usize, text: &str) -> TextSpan {
    let start =
        page.line_text(line).find(text).unwrap_or_else(|| panic!("no {text:?} in line {line}"));
    TextSpan::new(line, start..start + text.len())
}

/// A page with these findings, all of whose figures are wrong, a figure that holds and one that
/// nothing gives.
fn document(page: AuditedPage, mut findings: Vec<Finding>) -> DigestDocument {
    findings.sort_by_key(|finding| (finding.spot, finding.severity));
    findings.iter_mut().for_each(|one| page.quote(one.spot).clone_into(&mut one.printed));
    let wrong = findings.iter().map(|one| (one.spot, Status::DoesNotHold));
    let others =
        [Status::Holds, Status::CannotBeChecked].map(|status| (TextSpan::new(0, 0..1), status));
    let one = audit(AuditedPage::new("p", "a loss of 18.4 %")).claims.remove(0);
    let claims = wrong.chain(others).map(|(spot, status)| Claim { spot, status, ..one.clone() });
    digest(Audited { claims: claims.collect(), findings, ..audit(page) })
}

/// A display bug, what was computed from it, and a table that has both.
fn loss() -> DigestDocument {
    let page = AuditedPage::new("results/loss.md", LOSS);
    let at = |line, text| spot(&page, line, text);
    let finding = |rule, severity, spot, message: &str, recomputed: &str| {
        Finding::new(rule, severity, spot, message).recomputed(recomputed)
    };
    let bug = at(2, "25.10k");
    let findings = vec![
        finding(
            "Q2",
            WrongFigure,
            bug,
            "25.10k is a display bug: the run issued 26.0k a second",
            "26.0k",
        )
        .with_arithmetic("1000 * 1559486 / 60001 = 25991")
        .slip(Slip::FioCarry)
        .against([at(2, "5883MiB"), at(2, "60001msec")]),
        finding(
            "Q1",
            WrongFigure,
            at(7, "81.3 %"),
            "20.4k is 78.4 % of 26.0k, not 81.3 %",
            "78.4 %",
        )
        .slip(Slip::FromWrongFigure)
        .against([bug, at(3, "20.4k")]),
        finding(
            "Q10",
            WrongConclusion,
            at(10, "18.4 %"),
            "the loss is 21.6 %, not 18.4 %",
            "21.6 %",
        )
        .with_arithmetic("1 - 20.387k / 25.991k")
        .against([at(7, "81.3 %")]),
        finding("Q5", Ambiguous, at(10, "3 %"), "nothing on the page gives this figure", ""),
        finding("Q3", Cosmetic, at(2, "5883MiB"), "the total is cut off, not rounded", "5884MiB"),
    ];
    let mut document = document(page.clone(), findings);
    document.unread.push(page.unread(4..6, "iperf3 JSON ends in the middle of an object"));
    document
}

/// The same slip in row after row, and slips of other kinds: more than a screen has.
fn many() -> DigestDocument {
    let lines: String =
        (0..40).map(|at| format!("row {at}: {at}00 MB/s at 4k, {at}1 IOPS\n")).collect();
    let page = AuditedPage::new("many.txt", format!("bs=4k\n{}{lines}", "\n".repeat(30)));
    let finding = |at: usize| {
        let text = format!("{at}00 MB/s");
        let kind = if at < 20 { String::new() } else { "x".repeat(at) };
        let message = format!("{at}1 IOPS of 4k are no {text} {kind}");
        Finding::new("Q4", WrongFigure, spot(&page, 31 + at, &text), message)
            .recomputed("0.3 MB/s")
            .against([spot(&page, 0, "4k"), spot(&page, 31 + at, "IOPS")])
    };
    document(page.clone(), (0..40).map(finding).collect())
}

/// A line of 40,000 characters, with figures at both of its ends.
fn long() -> DigestDocument {
    let (before, after) = ("很".repeat(9_000), "长".repeat(9_000));
    let page = AuditedPage::new(
        "long.md",
        format!("平均 IOPS 是 25.9k，{before}最后 20.3k，损失 18.4 %。{after}"),
    );
    let finding = Finding::new("Q1", WrongFigure, spot(&page, 0, "18.4 %"), "the loss is 21.6 %");
    let operands = [spot(&page, 0, "25.9k"), spot(&page, 0, "20.3k")];
    document(page, vec![finding.recomputed("21.6 %").against(operands)])
}

const EVIL: &str = "\u{1b}[2J<script>alert(1)</script>\u{202e}`**x**` [a](b) 94 %\u{7}";

/// Text that wants to break out of whatever it is shown in, in every place where text of a page can
/// be.
fn evil() -> DigestDocument {
    let table = format!("| {EVIL} | {EVIL} |\n|---|---|\n| {EVIL} | 94 % |\n");
    let page = AuditedPage::new(format!("{EVIL}.md"), format!("{EVIL}\n\n{table}"));
    let finding = |line, severity| {
        let figure = spot(&page, line, "94 %");
        let finding =
            Finding::new("Q1", severity, figure, format!("{EVIL} is wrong")).recomputed(EVIL);
        finding.with_arithmetic(EVIL).against([spot(&page, 4, "94 %")])
    };
    let mut document =
        document(page.clone(), vec![finding(0, WrongConclusion), finding(4, WrongFigure)]);
    document.unread.push(page.unread(0..1, EVIL));
    document
}

fn of(documents: Vec<DigestDocument>) -> Audit {
    Audit { documents, ..Audit::default() }
}

fn several() -> Audit {
    let clean = document(AuditedPage::new("results/clean.txt", "read: IOPS=2000"), Vec::new());
    Audit {
        documents: vec![clean, long(), loss()],
        skipped: vec![Skipped { name: "a.png".into(), why: "a PNG image".into() }],
        refused: vec![Skipped { name: "none.md".into(), why: "there is no such file".into() }],
    }
}

fn all() -> [(&'static str, Audit); 5] {
    [
        ("loss", of(vec![loss()])),
        ("many", of(vec![many()])),
        ("long", of(vec![long()])),
        ("evil", of(vec![evil(), evil()])),
        ("several", several()),
    ]
}

fn view(width: usize, verbose: bool) -> View {
    View { width, colour: false, verbose, show: if verbose { Cosmetic } else { Ambiguous } }
}

fn text(audit: &Audit, name: &str, view: &View) -> String {
    (by_name(name).unwrap().render)(audit, view)
}

fn json(audit: &Audit, name: &str) -> Value {
    serde_json::from_str(&text(audit, name, &view(80, false))).unwrap()
}

/// Returns a page without its own script; another text as it is.
fn without_own_script(text: &str) -> String {
    let Some((before, own)) = text.split_once("<script>// Behaviour of a report's page") else {
        return text.to_owned();
    };
    format!("{before}{}", own.split_once("</script>").expect("it ends").1)
}

#[test]
fn one_page_in_every_form() {
    let audit = of(vec![loss()]);
    let mut endings: Vec<&str> = ALL.iter().flat_map(|one| one.endings).copied().collect();
    endings.sort_unstable();
    assert!(
        endings.windows(2).all(|two| two[0] != two[1]),
        "an ending is of one form: {endings:?}"
    );
    for renderer in ALL {
        let name = renderer.name;
        let text = (renderer.render)(&audit, &view(80, true))
            .replace(env!("CARGO_PKG_VERSION"), "VERSION");
        // Of a page of HTML, what our style does not say.
        // The page's own script is a file of its own.
        let body = text.split_once("<body>").and_then(|(_, body)| body.split("<script>").next());
        let body = body.map(|body| body.replace("><", ">\n<"));
        insta::assert_snapshot!(format!("loss_{name}"), body.unwrap_or_else(|| text.clone()));
        let foreign = without_own_script(&text);
        for outside in ["http://", "https://", "<link", "src=", "<script"] {
            assert!(name != "html" || !foreign.contains(outside), "the page has {outside}");
        }
    }
    insta::assert_snapshot!("several_markdown", text(&several(), "markdown", &view(80, false)));
}

#[test]
fn the_terminal_is_brief_and_fits() {
    for (name, audit) in all() {
        for (width, verbose) in [(80, false), (160, false), (80, true), (1, true)] {
            let plain = text(&audit, "terminal", &view(width, verbose));
            // A name is in one line, so that it can be copied.
            let fits = |line: &str| line.width() <= width.max(40) || line.contains("--> ");
            assert!(plain.lines().all(fits), "{name} at {width}: {plain}");
            assert!(verbose || plain.lines().count() <= 20, "{name} at {width}: {plain}");
            if width == 80 && !verbose && name != "evil" {
                insta::assert_snapshot!(name, plain);
            }
            let coloured = text(&audit, "terminal", &View { colour: true, ..view(width, verbose) });
            let mut pieces = coloured.split('\x1b');
            let first = pieces.next().into_iter();
            let bare: String =
                first.chain(pieces.map(|piece| piece.split_once('m').unwrap().1)).collect();
            assert_eq!(bare, plain, "{name}: colours add nothing");
            assert!(!verbose || coloured.contains("\x1b[1;"), "{name}");
        }
    }
    let shown = text(&of(vec![loss()]), "terminal", &View { show: WrongFigure, ..view(80, true) });
    assert!(shown.contains("2 less severe: --show cosmetic") && !shown.contains("Q5"), "{shown}");
    let many = text(&of(vec![many()]), "terminal", &view(80, true));
    assert_eq!(
        many.matches("wrong-figure[Q4]").count(),
        21,
        "those that differ in figures only are one"
    );
}

#[test]
fn programs_get_all_findings_with_rules_and_fingerprints() {
    let found = json(&several(), "json");
    assert_eq!(found["findings"].as_array().unwrap().len(), 6, "whatever is shown to people");
    assert_eq!(
        found["verdict"],
        "9 of 12 figures checked, 3 do not hold, 1 conclusion changes, on 2 of 3 pages"
    );
    assert_eq!(
        found["documents"][0]["verdict"],
        "1 of 2 figures checked, it holds; not checked: 1 percentage in a sentence"
    );
    assert_eq!(found["skipped"][0]["document"], "a.png");
    assert_eq!(found["not_opened"][0]["why"], "there is no such file");
    let prints = |document: DigestDocument| -> BTreeSet<String> {
        let results =
            json(&of(vec![document]), "sarif")["runs"][0]["results"].as_array().unwrap().clone();
        results.iter().map(|one| one["partialFingerprints"].to_string()).collect()
    };
    assert_eq!(prints(many()).len(), 40, "fingerprints keep findings apart");
    let moved = |before: &str| {
        let page = AuditedPage::new("p", format!("{before}a loss of 18.4 %"));
        let at = spot(&page, page.len() - 1, "18.4 %");
        prints(document(page, vec![Finding::new("Q1", WrongFigure, at, "no")]))
    };
    assert_eq!(moved(""), moved("one\ntwo\n"), "and stay when lines move");
    for rule in iotax_audit::rule::all_rules() {
        let finding = Finding::new(rule.id, rule.severity, TextSpan::new(0, 0..6), "no");
        let run = &json(
            &of(vec![document(AuditedPage::new("p", "18.4 %"), vec![finding])]),
            "sarif",
        )["runs"][0];
        let described = &run["tool"]["driver"]["rules"][0];
        assert_eq!(
            (&described["id"], &run["results"][0]["ruleIndex"]),
            (&rule.id.into(), &0.into())
        );
        assert_eq!(described["fullDescription"]["text"], rule.holds);
    }
}

#[test]
fn text_of_pages_cannot_break_out() {
    let audit = of(vec![evil(), evil()]);
    for (renderer, verbose) in ALL.iter().flat_map(|one| [(one, false), (one, true)]) {
        let (name, text) = (renderer.name, (renderer.render)(&audit, &view(80, verbose)));
        // Programs get what is on the page, as JSON writes it.
        let raw = if matches!(name, "json" | "sarif") {
            &['\u{1b}', '\u{7}'][..]
        } else {
            &['\u{1b}', '\u{7}', '\u{202e}']
        };
        assert!(!text.contains(raw), "{name}: {text}");
        let foreign = without_own_script(&text);
        assert!(
            name != "html" || !foreign.contains("<script") && foreign.contains("&lt;script"),
            "{foreign}"
        );
    }
    assert_eq!(json(&audit, "json")["findings"][0]["recomputed"], EVIL);
}
