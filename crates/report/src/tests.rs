//! Every renderer on every kind of run: snapshots for text, structure for the page.

use super::{ALL, PageContext, TerminalLook, by_name};
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::crowd::PlaceRow;
use iotax_analysis::findings::{EngineReport, MeasuredFigure};
use iotax_analysis::twin::{self, FIXTURES};
use iotax_analysis::{Findings, findings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The fixtures whose snapshots are kept in every form of text: between them they have every
/// section of a report. The others have a snapshot for a terminal of 80 columns.
const IN_EVERY_FORM: [&str; 6] =
    ["failed", "three_figures", "mixed", "tables", "imported", "together"];

fn has_every_form(name: &str) -> bool {
    IN_EVERY_FORM.contains(&name)
}

/// Findings of a fixture, computed once.
fn fixture(name: &str) -> &'static Findings {
    static FOUND: [OnceLock<Findings>; FIXTURES.len()] =
        [const { OnceLock::new() }; FIXTURES.len()];
    let at = FIXTURES.iter().position(|(known, _)| *known == name).expect(name);
    FOUND[at].get_or_init(|| findings(&FIXTURES[at].1()))
}

/// The sections that other fixtures have one by one, in one report.
fn together() -> &'static Findings {
    static TOGETHER: OnceLock<Findings> = OnceLock::new();
    TOGETHER.get_or_init(|| {
        let mut whole = fixture("verified").clone();
        for name in [
            "bill",
            "crowd",
            "states",
            "masked",
            "writes",
            "late",
            "visits",
            "known_drive",
            "networks",
            "partial",
        ] {
            let other = fixture(name).clone();
            whole.workloads.extend(other.workloads);
            whole.joint_bills.extend(other.joint_bills);
            whole.layers.extend(other.layers);
            whole.preconditioned.extend(other.preconditioned);
            whole.warnings.extend(other.warnings);
            whole.emulated.extend(other.emulated);
        }
        whole.sweeps = fixture("grid").sweeps.clone();
        whole.sweeps[0].curves.truncate(1);
        whole.durability = fixture("durability").durability.clone();
        whole.places = fixture("guest").places.clone();
        whole.traffic = fixture("guest").traffic.clone();
        whole.ruler = fixture("a_against_a").ruler.clone();
        whole
    })
}

/// All fixtures with their findings.
fn all() -> impl Iterator<Item = (&'static str, &'static Findings)> {
    FIXTURES.iter().map(|(name, _)| (*name, fixture(name))).chain([("together", together())])
}

/// The text with ASCII signs, as its sentences have them.
fn render(findings: &Findings, name: &str, width: usize) -> String {
    (by_name(name).unwrap().render)(std::slice::from_ref(findings), &in_ascii(width))
}

fn in_ascii(width: usize) -> PageContext {
    PageContext { width, look: TerminalLook { ascii: true, colour: false } }
}

#[test]
fn a_page_of_others_figures_does_not_say_that_they_were_measured() {
    let imported = render(fixture("imported"), "html", 80);
    let own = ["Reproduce it", "Slices of all stacks", "What each layer charges", ", seed "];
    own.iter().for_each(|words| assert!(!imported.contains(words), "{words}"));
    assert!(
        imported.contains("Imported results of host, vm")
            && imported.contains("Nothing was measured here")
    );
    let markdown = render(fixture("imported"), "markdown", 80);
    assert!(!markdown.contains("seed"));
    let measured = render(fixture("bill"), "html", 80);
    assert!(
        measured.contains(own[0])
            && measured.contains(own[1])
            && !measured.contains("Nothing was measured here")
    );
}

#[test]
fn the_family_is_in_order() {
    let names: BTreeSet<&str> = ALL.iter().map(|renderer| renderer.name).collect();
    assert_eq!(names.len(), ALL.len());
    for renderer in ALL {
        assert!(!renderer.endings.is_empty());
        for ending in renderer.endings {
            assert!(ending.chars().all(|c| c.is_ascii_lowercase()), "{ending}");
            let forms = ALL.iter().filter(|other| other.endings.contains(ending)).count();
            assert_eq!(forms, 1, "{ending} is of one form");
        }
    }
    assert!(by_name("nothing").is_none());
}

#[test]
fn terminal() {
    for (name, found) in all() {
        for width in [80, 160] {
            let form = by_name("terminal").unwrap().render;
            let text = form(std::slice::from_ref(found), &PageContext::of_width(width));
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
            if width == 80 || has_every_form(name) {
                insta::assert_snapshot!(format!("{name}_{width}"), text);
            }
        }
    }
}

const COMMAND: &str = "iotax report 20260101-120000-0009";
const ELSEWHERE: super::ReportPlaces = super::ReportPlaces { command: COMMAND, page: None };

/// Holds the length of a short report and gives it.
fn brief(name: &str, found: &Findings, width: usize) -> String {
    let text = super::brief(found, &ELSEWHERE, &PageContext::of_width(width));
    assert!(
        text.lines().count() <= super::LINES,
        "{name} at {width}: {}\n{text}",
        text.lines().count()
    );
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{name} at {width}: {line}");
    }
    assert!(text.contains(&format!("next: {COMMAND} -v")), "{name}: {text}");
    assert!(text.contains(found.run.state), "{name}: {text}");
    text
}

#[test]
fn without_v_a_report_is_short_and_says_the_same() {
    for (name, found) in all() {
        for width in [80, 160] {
            let text = brief(name, found, width);
            let flat = flat(&super::brief(found, &ELSEWHERE, &in_ascii(width)));
            match found.no_headline.as_deref() {
                Some(iotax_analysis::EMULATED) => assert!(
                    flat.contains(" are not representative, so there is no headline"),
                    "{name}: {text}"
                ),
                Some(reason) => {
                    assert!(flat.contains(&super::table::capital(reason)), "{name}: {text}");
                }
                None => {
                    let words = [" cost", " gains ", " LOST", "WRONG DATA", "rate"];
                    assert!(words.iter().any(|word| flat.contains(word)), "{name}: {text}");
                }
            }
            if width == 80 || has_every_form(name) {
                insta::assert_snapshot!(format!("{name}_brief_{width}"), text);
            }
        }
    }
}

#[test]
fn a_short_report_of_many_comparisons_has_every_cell() {
    for (stacks, loads, comparisons) in [(1, 1, 1), (4, 2, 8), (6, 10, 60)] {
        let found = findings(&twin::many(stacks, loads));
        let all: usize = found.workloads.iter().map(|one| one.comparisons.len()).sum();
        assert_eq!(all, comparisons);
        for width in [80, 160] {
            let text = brief("many", &found, width);
            let changes = text.matches("\u{25bc} ").count();
            assert!(changes > comparisons * 9 / 10 && !text.contains("more load"), "{text}");
        }
        let largest = found.headline.unwrap();
        assert!(largest.starts_with(&format!("s{stacks} against file: costs ")), "{largest}");
        let text = brief("many", &findings(&twin::many(stacks, loads)), 80);
        assert!(text.contains(&format!("s{stacks} costs ")), "{text}");
    }
    let crowd = findings(&twin::many(40, 2));
    assert!(brief("many", &crowd, 80).contains(" more stacks (-v)"));
}

#[test]
fn lost_and_wrong_data_and_failed_ios_are_in_a_short_report() {
    let lost = flat(&brief("durability", fixture("durability"), 80));
    assert!(
        lost.contains("19,998 LOST, 2 TORN; 20 of 20 kills of QEMU broke the promise"),
        "{lost}"
    );
    let wrong = flat(&brief("verified", fixture("verified"), 80));
    assert!(wrong.contains("WRONG DATA from file | loop: of 240,662 blocks"), "{wrong}");
    let mut failed = fixture("bill").clone();
    let text = "3 I/Os of 1000 failed".to_owned();
    failed.warnings.push(iotax_analysis::findings::WarningReport {
        kind: "io_errors".into(),
        subject: "loop".into(),
        text,
    });
    assert!(brief("failed", &failed, 80).contains("io_errors (loop): 3 I/Os of 1000 failed"));
}

/// Without the breaks of lines.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ios_in_flight_that_nobody_knows_are_said_to_be_unknown() {
    let mut found = fixture("writes").clone();
    found.workloads[0].rows[0].debt.as_mut().unwrap().in_flight = None;
    for name in ["terminal", "markdown", "html"] {
        let text = render(&found, name, 160);
        assert!(text.contains("how many I/Os were in flight is not known"), "{name}: {text}");
    }
}

#[test]
fn narrow_terminals_lose_columns_not_sentences() {
    let found = fixture("bill");
    let text = render(found, "terminal", 40);
    let wide = render(found, "terminal", 160);
    let mut lines = text.lines().filter(|line| !line.starts_with("  iotax "));
    assert!(lines.all(|line| line.chars().count() <= 40), "commands are not broken: {text}");
    let has_column = |text: &str| {
        let heads = text.lines().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>());
        heads.into_iter().any(|heads| heads == ["stack", "IOPS", "throughput"])
    };
    assert!(has_column(&wide), "{wide}");
    assert!(!has_column(&text), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not shown at 40 columns: "), "{text}");
    assert!(text.contains("costs"));
}

#[test]
fn markdown() {
    for (name, found) in all().filter(|(name, _)| has_every_form(name)) {
        insta::assert_snapshot!(format!("{name}_markdown"), render(found, "markdown", 80));
    }
}

#[test]
fn csv() {
    for (name, found) in all() {
        let text = render(found, "csv", 80);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert!(rows.len() > 5);
        for row in &rows {
            let known = &row[5] == "known";
            assert_eq!(
                known,
                !row[6].is_empty(),
                "{name}: only known figures have a value: {row:?}"
            );
            assert!(known || !row[12].is_empty(), "{name}: an absent figure says why: {row:?}");
            assert!(
                !row[19].is_empty() && !row[20].is_empty(),
                "{name}: kind and quantity: {row:?}"
            );
        }
        if has_every_form(name) {
            insta::assert_snapshot!(format!("{name}_csv"), text);
        }
    }
}

#[test]
fn a_figure_of_a_mix_is_found_in_a_spreadsheet_by_short_words_and_stands_once() {
    let text = render(fixture("mixed"), "csv", 80);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|one| one == name).unwrap();
    let rows: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let columns = ["stack", "kind", "quantity", "direction", "statistic", "scope"];
    let many = |wanted: [&str; 6]| {
        rows.iter()
            .filter(|row| columns.iter().zip(wanted).all(|(name, value)| &row[at(name)] == value))
            .count()
    };
    let stack = fixture("mixed").workloads[0].rows[1].stack.as_str();
    for way in ["read", "write"] {
        for wanted in [
            [stack, "value", "iops", way, "", ""],
            [stack, "value", "latency", way, "p50", ""],
            [stack, "ratio", "iops", way, "", ""],
            [stack, "ratio", "iops", way, "", "all at once"],
            [stack, "ratio", "latency", way, "p50", ""],
        ] {
            assert_eq!(many(wanted), 1, "{wanted:?}: {text}");
        }
    }
    let mut seen = BTreeSet::new();
    for row in &rows {
        let key: Vec<&str> = row.iter().take(5).collect();
        assert!(seen.insert(key.join("|")), "twice: {row:?}");
    }
}

#[test]
fn a_mix_has_its_reads_and_writes_below_each_stack_in_a_short_report() {
    let mut found = fixture("mixed").clone();
    found.workloads[0].bill = None;
    let text = brief("mixed", &found, 80);
    let rows: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("    stack ")).skip(1).collect();
    let stack = ["  reads ", "  writes "];
    let begins = ["file * "].iter().chain(&stack).chain(&["loop "]).chain(&stack);
    for (at, (row, with)) in rows.iter().zip(begins.chain(&["fs(xfs) "]).chain(&stack)).enumerate()
    {
        assert!(
            row.trim_start_matches([' ', '\u{25bc}']).starts_with(with.trim_start()),
            "{with}: {text}"
        );
        assert_eq!(row.contains(" %"), at > 2, "changes of all but the baseline: {text}");
        assert_eq!(row.contains(" \u{b5}s"), at > 2, "latencies that each adds: {text}");
    }
    let long = render(&found, "terminal", 80);
    assert!(long.contains("Change of latency") && long.contains(", writes "), "{long}");
}

#[test]
fn json() {
    for (name, found) in all() {
        let text = render(found, "json", 80);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (value["format"].as_str(), value["version"].as_u64()),
            (Some("iotax-findings"), Some(1))
        );
        assert_eq!(value["run"]["id"].as_str(), Some(found.run.id.as_str()), "{name}");
    }
}

/// The kind of an object that is in many places.
fn shared_kind(object: &serde_json::Map<String, Value>) -> Option<&'static str> {
    let word = |key: &str| object.get(key).and_then(Value::as_str);
    match (word("state"), word("verdict")) {
        (Some("known" | "failed" | "missing"), _) => Some("FIGURE"),
        (_, Some(_)) => Some("VERDICT"),
        _ => None,
    }
}

/// Adds what a value holds to the kinds that are known of each of its fields. Elements of a list
/// have one name.
fn fields(path: &str, value: &Value, known: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut within = |path: &str, all: &serde_json::Map<String, Value>| {
        all.iter().for_each(|(key, one)| fields(&format!("{path}.{key}"), one, known));
    };
    let kind = match value {
        Value::Object(all) => match shared_kind(all) {
            Some(kind) => {
                within(kind, all);
                kind.to_owned()
            }
            None => return within(path, all),
        },
        Value::Array(all) => {
            all.iter().for_each(|one| fields(&format!("{path}[]"), one, known));
            return;
        }
        Value::String(word) if word.chars().all(|c| c.is_ascii_lowercase() || c == '_') => {
            word.clone()
        }
        Value::String(_) => "TEXT".to_owned(),
        Value::Number(_) => "NUMBER".to_owned(),
        Value::Bool(_) => "BOOL".to_owned(),
        Value::Null => "NULL".to_owned(),
    };
    known.entry(path.to_owned()).or_default().insert(kind);
}

#[test]
fn every_field_of_json_keeps_its_name_its_kind_and_its_words() {
    let mut known = BTreeMap::new();
    for (_, found) in all() {
        fields("", &serde_json::from_str(&render(found, "json", 80)).unwrap(), &mut known);
    }
    let line = |(path, kinds): (&String, &BTreeSet<String>)| {
        format!("{path}: {}\n", kinds.iter().map(String::as_str).collect::<Vec<_>>().join(" | "))
    };
    insta::assert_snapshot!("json_fields", known.iter().map(line).collect::<String>());
}

#[test]
fn a_knee_is_a_figure_of_the_spreadsheet_and_points_have_their_place() {
    let text = render(fixture("grid"), "csv", 80);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|head| head == name).unwrap();
    let rows: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let about = |metric: &str, stack: &str, bs: &str| -> Vec<&::csv::StringRecord> {
        let wanted = [("metric", metric), ("stack", stack), ("bs", bs), ("sweep", "twin")];
        rows.iter()
            .filter(|row| wanted.iter().all(|(name, value)| &row[column(name)] == *value))
            .collect()
    };
    let knee = about("knee over iodepth", "vm(vcpus=1)", "65536");
    assert_eq!(knee.len(), 1);
    assert_eq!(
        [&knee[0][column("value")], &knee[0][column("of")], &knee[0][column("iodepth")]],
        ["4", "points", ""]
    );
    for metric in ["power", "iops", "ratio for all points at once"] {
        let depths: Vec<&str> =
            about(metric, "loop", "4096").iter().map(|row| &row[column("iodepth")]).collect();
        assert_eq!(depths, ["1", "4", "8", "16", "32"], "{metric}");
    }
}

#[test]
fn all_that_a_sweep_concludes_is_in_every_text_and_on_the_page() {
    let others = [twin::rising_sweep, twin::block_sizes].map(|make| findings(&make()));
    let fixtures = ["sweep", "grid", "rates"].map(fixture);
    for found in fixtures.into_iter().chain(&others) {
        let [terminal, markdown, json] =
            ["terminal", "markdown", "json"].map(|name| render(found, name, 400));
        let page = render(found, "html", 80);
        for curve in &found.sweeps[0].curves {
            for sentence in curve.stacks.iter().flat_map(|stack| stack.conclusion_sentences()) {
                assert!(terminal.contains(sentence) && json.contains(sentence), "{sentence}");
                assert!(markdown.contains(&super::table::escape_markdown(sentence)), "{sentence}");
                assert!(page.contains(&super::html::escaped_signed(sentence)), "{sentence}");
            }
        }
        assert!(page.contains("points one by one</h2>"));
    }
}

/// Elements that stay open.
const VOID: [&str; 2] = ["meta", "wbr"];

/// Tags of a page, in order, without declarations; the style sheet holds no tag.
fn tags(page: &str) -> Vec<(bool, String)> {
    page.split('<')
        .skip(1)
        .filter_map(|piece| {
            let name: String = piece
                .trim_start_matches('/')
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            (!name.is_empty()).then(|| (piece.starts_with('/'), name))
        })
        .collect()
}

fn assert_balanced(name: &str, page: &str) {
    let mut open: Vec<String> = Vec::new();
    for (closes, tag) in tags(page) {
        match closes {
            true => assert_eq!(open.pop().as_ref(), Some(&tag), "{name}"),
            false if VOID.contains(&tag.as_str()) => {}
            false => open.push(tag),
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
}

/// With `IOTAX_PAGES=FOLDER` the pages are left there, for a look with a browser.
#[test]
fn the_page_is_whole_and_asks_nobody() {
    let kept = std::env::var_os("IOTAX_PAGES").map(std::path::PathBuf::from);
    for (name, found) in all() {
        let page = render(found, "html", 80);
        if let Some(folder) = &kept {
            std::fs::write(folder.join(format!("{name}.html")), &page).unwrap();
        }
        let page = super::html::without_own_script(&page);
        assert_balanced(name, &page);
        for forbidden in [
            "http:", "https:", "//cdn", "<script", "@import", "url(", "src=", "href=\"h", "NaN",
            "inf%", "\"inf", "None", "Some(",
        ] {
            assert!(!page.contains(forbidden), "{name} holds {forbidden}");
        }
        for needed in [
            "<!DOCTYPE html>",
            "lang=\"en\"",
            "viewport",
            "light-dark(",
            "default-src 'none'",
            "@media print",
            "<svg",
            "<title>",
        ] {
            let undrawn = needed == "<svg" && found.workloads.is_empty();
            assert!(undrawn || page.contains(needed), "{name} lacks {needed}");
        }
        let drawings = page.matches("role=\"img\"").count();
        assert!(page.matches("<title>").count() > drawings, "{name}: a drawing has no title");
        for workload in &found.workloads {
            for said in super::verdicts::workload_sentences(workload) {
                assert!(
                    page.contains(&super::html::escaped_signed(&said.text)),
                    "{name}: {}",
                    said.text
                );
            }
        }
    }
}

#[test]
fn a_page_draws_bill_course_latencies_sweeps_and_limits() {
    let page = render(fixture("bill"), "html", 80);
    // The bill of both loads, and the course and the latencies of each.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 5);
    assert_eq!(page.matches(">Latency by percentile<").count(), 2);
    assert_eq!(page.matches(">Over time<").count(), 2);
    assert!(page.contains("what is left") && page.contains("against the baseline"));
    let sweep = render(fixture("sweep"), "html", 80);
    assert!(sweep.contains("class=\"ring ") && !sweep.contains(">Over time<"));
    assert!(render(fixture("limits"), "html", 80).contains("class=\"limit rated\""));
}

#[test]
fn what_has_no_interval_has_no_empty_band_in_a_drawing() {
    let mut found = fixture("three_figures").clone();
    let head = "CPU time per I/O, against";
    assert!(render(&found, "html", 80).contains(head));
    for one in &mut found.workloads[0].charges {
        one.cpu.ratio = MeasuredFigure::bare(
            1.2,
            "1",
            (6, iotax_analysis::findings::SampleUnit::Rounds),
            "too few rounds",
        );
    }
    let page = render(&found, "html", 80);
    assert!(!page.contains(head) && page.contains("Mean latency under the same load, against"));
}

/// What all renderers must say, each in its own spelling.
fn said_by_all(found: &Findings, word: &str) {
    for renderer in ALL {
        let text = (renderer.render)(std::slice::from_ref(found), &PageContext::of_width(400));
        let text = text.replace("&#x2212;", "-").replace('\\', "");
        assert!(text.contains(word), "{} does not say {word}", renderer.name);
    }
}

#[test]
fn masks_refusals_and_what_was_not_measured_are_said_by_every_renderer() {
    said_by_all(fixture("masked"), "masked by a steady limit that both share");
    said_by_all(fixture("rate_limited"), "masked by a rate limit that both met");
    said_by_all(fixture("late"), "did not keep up");
    said_by_all(
        fixture("late"),
        "what this host computed for the guest of vm(vcpus=1) was not recorded",
    );
    said_by_all(fixture("a_against_a"), "the run has no slices at a matched rate");
    said_by_all(
        fixture("three_figures"),
        "the mean latency of 4k random reads at 40,000 I/Os a second",
    );
}

#[test]
fn what_drives_could_do_is_said_by_every_renderer_and_only_where_it_is_known() {
    let found = fixture("arrays");
    said_by_all(found, "read-modify-write bound: 4 I/Os a write");
    for name in ["terminal", "markdown", "html"] {
        assert!(render(found, name, 400).contains("Against what the drives could do"), "{name}");
        assert!(!render(fixture("bill"), name, 400).contains("the drives could do"), "{name}");
    }
}

#[test]
fn runs_of_a_tool_and_losses_of_a_network_stand_in_every_form() {
    let found = fixture("networks");
    for name in ["terminal", "markdown", "html"] {
        let text = render(found, name, 400);
        for words in
            ["best", "median", "mean", "sent again/GiB", "CPU/KiB there", "sent/s", "arrived/s"]
        {
            assert!(text.contains(words), "{name}: no {words}: {text}");
        }
        assert!(text.contains("without what the kernel does in interrupts"), "{name}");
        assert!(text.contains("host to ssh:c (12.5 % lost)"), "{name}: {text}");
        assert!(!render(fixture("bill"), name, 400).contains("single runs"), "{name}");
    }
    assert!(super::brief(found, &ELSEWHERE, &PageContext::of_width(120)).contains("(12.5 % lost)"));
    let mut alone = found.clone();
    alone.workloads.truncate(1);
    let short = super::brief(&alone, &ELSEWHERE, &PageContext::of_width(120));
    assert!(short.contains("throughput") && short.contains("iB/s"), "bytes, not blocks: {short}");
    let csv = render(found, "csv", 80);
    for line in [
        "best of single runs",
        "median of single runs",
        "mean of single runs",
        "datagrams sent",
        "share lost",
        "segments sent again per GiB",
        "cpu per KiB of this end",
        "cpu per KiB of the other end",
    ] {
        assert!(csv.contains(line), "{line}: {csv}");
    }
    let json: Value = serde_json::from_str(&render(found, "json", 80)).unwrap();
    let [tool, udp] = [0, 1].map(|at| &json["workloads"][at]["rows"][1]);
    assert!(tool["runs"]["best"].as_f64() > tool["runs"]["median"].as_f64(), "{tool}");
    assert!(udp["network"]["lost"]["value"].as_f64().unwrap() > 0.1, "{udp}");
}

#[test]
fn reads_and_writes_apart_stand_in_every_form_and_only_where_there_are_both() {
    let found = fixture("mixed");
    let sentence = &found.workloads[0].comparisons[0].directions[0].rate.sentence;
    for name in ["terminal", "markdown", "html"] {
        let text = render(found, name, 400)
            .replace('\u{a0}', " ")
            .replace('\u{b1}', "+-")
            .replace('\\', "");
        for part in [
            "Reads and writes",
            "reads of file *",
            "writes of loop",
            "the rates of reads and writes change",
        ] {
            assert!(text.contains(part), "{name} lacks {part}: {text}");
        }
        assert!(text.contains(sentence.as_str()), "{name} lacks {sentence}");
        assert!(text.contains("write iops (as its table prints them)"), "{name}");
        assert!(!render(fixture("writes"), name, 400).contains("Reads and writes"), "{name}");
    }
    let json: Value = serde_json::from_str(&render(found, "json", 80)).unwrap();
    let directions = &json["workloads"][0]["comparisons"][0]["directions"];
    assert_eq!(directions[1]["direction"].as_str(), Some("write"));
    assert_eq!(directions[0]["sentence"].as_str(), Some(sentence.as_str()));
    assert!(json["workloads"][0]["rows"][0]["directions"][0]["iops"]["value"].is_number());
    let other: Value = serde_json::from_str(&render(fixture("writes"), "json", 80)).unwrap();
    assert!(other["workloads"][0]["comparisons"][0].get("directions").is_none());
    let csv = render(found, "csv", 80);
    for metric in
        ["read iops", "write throughput", "ratio of 4k random 50/50 mixed write IOPS (acknowledged"]
    {
        assert!(
            csv.contains(&format!(",{metric}")) || csv.contains(&format!("\"{metric}")),
            "{metric}"
        );
    }
}

#[test]
fn a_table_that_is_asked_for_stands_in_every_form_and_in_the_place_of_the_plain_one() {
    let found = fixture("tables");
    for name in ["terminal", "markdown", "html"] {
        let text = render(found, name, 400).replace('\u{a0}', " ");
        for part in [
            "iSER: iops, and in % of LVM",
            "NVMe-oF: iops, and in % of LVM",
            "emulated: not representative of KVM",
            "94.7 ? %",
        ] {
            assert!(text.contains(part), "{name} lacks {part}: {text}");
        }
        assert!(!text.contains("of the baseline\n"), "{name}");
    }
    let json: Value = serde_json::from_str(&render(found, "json", 80)).unwrap();
    assert_eq!(json["tables"][0]["columns"][2]["stack"].as_str(), Some("zfs-iser"));
    assert!(json["tables"][1]["columns"][2]["stack"].is_null());
    let share = &json["tables"][0]["rows"][0]["cells"][1]["share"];
    assert_eq!(share["state"].as_str(), Some("known"), "{share}");
    assert!(super::matrix::side_by_side_table(found).is_none());
}

#[test]
fn of_many_loads_each_is_a_row_and_a_line_that_opens() {
    let many = render(together(), "html", 80);
    let folded = "<details><summary class=\"whole-section\">";
    assert_eq!(many.matches(folded).count(), together().workloads.len());
    assert_eq!(many.matches("* baseline;").count(), 1, "marks are explained once");
    let few = render(fixture("mixed"), "html", 80);
    assert!(!few.contains(folded) && few.contains("* baseline;"));
}

#[test]
fn engines_are_told_by_load_where_a_stack_had_several() {
    let mut found = fixture("mixed").clone();
    found.workloads.truncate(1);
    found
        .workloads
        .push(WorkloadFindings { name: "other".to_owned(), ..found.workloads[0].clone() });
    for (workload, engine) in
        found.workloads.iter_mut().zip(["uring (it works here)", "sync (iodepth is 1)"])
    {
        workload.rows.iter_mut().for_each(|row| row.engine = Some(engine.to_owned()));
    }
    let stacks = super::sheet::stacks_in_full(&found);
    let said =
        format!("uring (it works here): {}; sync (iodepth is 1): other", found.workloads[0].name);
    assert_eq!(stacks.last().unwrap(), &("engine".to_owned(), said));
}

#[test]
fn published_figures_stand_in_every_form() {
    let found = fixture("published");
    said_by_all(found, "118.47us");
    said_by_all(found, "no such figure of file was published");
    for name in ["terminal", "markdown", "html", "json"] {
        let text = render(found, name, 400).replace('\u{a0}', " ");
        for part in [
            "a page that never was, 2026",
            "a drive of the twin",
            "its charts are lost",
            "has no interval",
        ] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
        assert!(name == "json" || text.contains("Published beside measured"), "{name}");
        assert!(
            !render(fixture("guest"), name, 400).to_lowercase().contains("published"),
            "{name}"
        );
    }
}

#[test]
fn what_is_alike_of_many_stacks_is_said_once_and_each_keeps_its_figures() {
    for found in ["cells", "matrix"].map(fixture) {
        let csv = render(found, "csv", 80);
        let json: Value = serde_json::from_str(&render(found, "json", 80)).unwrap();
        for (at, workload) in found.workloads.iter().enumerate() {
            let said = super::verdicts::workload_sentences(workload);
            let stacks = workload.rows.len() - 1;
            let all = workload.comparisons.len() + 2 * workload.charges.len();
            assert!(stacks > 5 && said.len() < all / 2, "{} of {all}", said.len());
            let texts: Vec<&str> = said.iter().map(|said| said.text.as_str()).collect();
            let joins = |text: &&str| {
                ["every stack", "each of"].iter().any(|start| text.starts_with(start))
            };
            assert!(texts.iter().any(joins), "{texts:#?}");
            for (number, one) in workload.comparisons.iter().enumerate() {
                let stored = &json["workloads"][at]["comparisons"][number]["sentence"];
                assert_eq!(stored.as_str(), Some(one.rate.sentence.as_str()));
                assert!(csv.contains(&one.stack));
            }
            for width in [80, 160] {
                let text = render(found, "terminal", width);
                let heads = ["rate", "added CPU/IO"];
                let column = |head: &str| {
                    text.lines().any(|line| line.contains("against file") && line.contains(head))
                };
                assert!(
                    heads.iter().all(|head| column(head)),
                    "a figure that no sentence names has its column"
                );
            }
        }
    }
}

#[test]
fn three_figures_stand_in_every_text_and_on_the_page() {
    let found = fixture("three_figures");
    for name in ["terminal", "markdown", "html", "json"] {
        let text = render(found, name, 400).replace('\u{a0}', " ").replace('\u{b1}', "+-");
        for part in [
            "adds 18",
            "more CPU per I/O (x 1.2",
            "slices of 20.0 ms",
            "beside the other stacks the baseline",
        ] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
    }
}

#[test]
fn a_default_bill_is_one_table_and_a_named_one_three() {
    let tables = |name| render(fixture(name), "markdown", 80).matches("| layer | rate |").count();
    assert_eq!((tables("bill"), tables("named_bill")), (1, 3));
}

#[test]
fn names_cannot_break_out_of_a_report() {
    let mut run = twin::a_against_a();
    let evil = "<script>alert(1)</script>|`\"'";
    run.start.scenario.stacks[1].name = evil.into();
    run.slices
        .iter_mut()
        .filter(|slice| slice.stack == "file-again")
        .for_each(|slice| slice.stack = evil.into());
    let found = findings(&run);
    let page = super::html::without_own_script(&render(&found, "html", 80));
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
    assert_balanced("evil", &page);
    let markdown = render(&found, "markdown", 80);
    assert!(markdown.contains("\\<script") && !markdown.replace("\\<", "").contains("<script"));
}

#[test]
fn emulation_is_said_by_every_renderer_and_heads_none() {
    let found = fixture("guest");
    for renderer in ALL {
        let text = (renderer.render)(std::slice::from_ref(found), &PageContext::default());
        assert!(text.to_lowercase().contains("emulated"), "{}", renderer.name);
    }
    assert_eq!(found.headline, None);
    assert!(render(found, "html", 80).contains("<h1>vm(vcpus=2) against file</h1>"));
}

#[test]
fn what_a_kill_lost_and_what_no_kill_shows_is_said_by_all() {
    let found = fixture("durability");
    let row = &found.durability.as_ref().unwrap().rows[3];
    for renderer in ALL.iter().filter(|renderer| renderer.name != "csv") {
        let text = (renderer.render)(std::slice::from_ref(found), &PageContext::of_width(400));
        let text = text.replace('\u{a0}', " ").replace('\\', "");
        for words in [&row.sentence, &row.examples[0], &found.not_excluded[0]] {
            assert!(text.contains(words.as_str()), "{} does not say {words}", renderer.name);
        }
        // Nothing that was tried makes a stack that.
        assert!(!text.to_lowercase().contains("safe"), "{}", renderer.name);
    }
}

#[test]
fn a_run_is_called_by_its_scenarios_name_and_begins_at_a_second() {
    let mut run = twin::bill();
    run.start.scenario.name = Some("file, loop | XFS".to_owned());
    run.start.at = "2026-11-22T18:34:03.650126065Z".to_owned();
    let found = findings(&run);
    for (name, says) in [
        ("terminal", "file, loop | XFS: iotax run "),
        ("markdown", "# file, loop \\| XFS\n"),
        ("html", "<title>file, loop | XFS "),
        ("json", "\"name\": \"file, loop | XFS\""),
    ] {
        assert!(render(&found, name, 160).contains(says), "{name}");
    }
    for name in ["terminal", "markdown", "html"] {
        let text = render(&found, name, 160);
        assert!(text.contains("2026-11-22 18:34:03 UTC") && !text.contains("650126065"), "{name}");
    }
}

#[test]
fn a_workload_without_a_round_has_a_line_and_no_tables() {
    let mut run = twin::bill();
    run.slices.clear();
    run.outcome = Some("interrupted".to_owned());
    let found = findings(&run);
    for name in ["terminal", "markdown", "html"] {
        let text = render(&found, name, 160);
        assert!(
            text.contains("nded before the first whole round: there are no figures"),
            "{name}: {text}"
        );
        assert!(!text.contains("own code") && !text.contains("bill: "), "{name}: {text}");
    }
    let text = brief("nothing", &found, 80);
    assert!(text.contains("Ended before the first whole round: there are no figures"), "{text}");
}

#[test]
fn several_runs_stand_one_behind_the_other() {
    let two = ["bill", "guest"].map(|name| fixture(name).clone());
    assert_ne!(two[0].run.id, two[1].run.id);
    for renderer in ALL {
        let text = (renderer.render)(&two, &PageContext::of_width(80));
        let [first, second] =
            two.each_ref().map(|one| text.find(&one.run.id).expect(renderer.name));
        assert!(first < second, "{}", renderer.name);
    }
    let json = (by_name("json").unwrap().render)(&two, &PageContext::of_width(80));
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap().as_array().map(Vec::len), Some(2));
}

#[test]
fn a_percentile_that_is_asked_for_is_in_every_form() {
    for (name, heads) in
        [("three_figures", ["p95", "read latency p95"]), ("mixed", ["p95", "write latency p95"])]
    {
        let mut run = FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1();
        run.start.scenario.measure.percentiles = vec![95.0];
        let found = findings(&run);
        for renderer in ["terminal", "markdown", "html"] {
            let text = render(&found, renderer, 200);
            assert!(text.matches(heads[0]).count() >= 2, "{renderer} of {name}: {text}");
        }
        let csv = render(&found, "csv", 80);
        for line in [heads[1], "ratio of read latency p95"] {
            assert!(csv.contains(line), "{line}: {csv}");
        }
        let json: Value = serde_json::from_str(&render(&found, "json", 80)).unwrap();
        assert!(json.to_string().contains(r#""asked":[{"figure":{"#), "{json}");
        let latency = &found.workloads[0].rows[0].latency[0];
        let [p50, p95, p99] =
            [&latency.p50, &latency.asked[0].figure, &latency.p99].map(|one| one.value().unwrap());
        assert!(p50 < p95 && p95 < p99, "{p50} {p95} {p99}");
    }
}

#[test]
fn what_an_engine_serves_for_each_of_its_cores_is_in_every_form() {
    let mut found = fixture("crowd").clone();
    let (engine, row) =
        (fixture("crowd").workloads[0].rows[0].iops.clone(), &mut found.workloads[0].rows[1]);
    row.serving = Some(EngineReport {
        threads: "reactor (2, polling)".into(),
        cpu: engine.clone(),
        iops_per_core: engine,
    });
    for renderer in ["terminal", "markdown", "html"] {
        let text = render(&found, renderer, 200);
        // Of the stack, and beside what it makes of every busy core of the host.
        assert!(text.matches("IOPS/engine core").count() == 2, "{renderer}: {text}");
        assert!(text.contains("reactor (2, polling)"), "{renderer}: {text}");
    }
    let csv = render(&found, "csv", 80);
    assert!(
        csv.contains("iops per busy core of the engine")
            && csv.contains("cpu per io of the engine"),
        "{csv}"
    );
    assert!(render(&found, "json", 80).contains("\"iops_per_core\""));
}

#[test]
fn ceilings_and_sweeps_of_a_mix_have_reads_and_writes_apart_in_every_format() {
    let found = findings(&twin::arrays());
    let text = render(&found, "csv", 80);
    let line =
        |words: [&str; 3]| text.lines().find(|line| words.iter().all(|word| line.contains(word)));
    let of_reads =
        line(["raid5", "randrw", "what the drives could do of reads alone, rated"]).unwrap();
    // Five drives of 20k; five of which each write takes four.
    let has = |line: &str, wanted: f64| {
        line.split(',')
            .filter_map(|cell| cell.parse::<f64>().ok())
            .any(|cell| (cell / wanted - 1.0).abs() < 1e-6)
    };
    assert!(has(of_reads, 100e3), "{of_reads}");
    let of_writes =
        line(["raid5", "randrw", "what the drives could do of writes alone, rated"]).unwrap();
    assert!(has(of_writes, 5.0 / (2.0 / 20e3 + 2.0 / 10e3)), "{of_writes}");
    assert!(line(["raid5", "randread", "of reads alone"]).is_none());
    for name in ["terminal", "markdown", "html"] {
        let text = render(&found, name, 400);
        assert!(
            text.contains("each against the limit of a load of that direction alone"),
            "{name}"
        );
        assert!(text.contains(" of the limit of writes alone"), "{name}");
    }
    let found = findings(&twin::mixed_sweep());
    let text = render(&found, "csv", 80);
    for way in ["read", "write"] {
        let metric = format!("{way} ratio for all points at once");
        assert!(
            text.lines().filter(|line| line.contains(&metric)).count() >= 4,
            "two stacks, two points"
        );
    }
    for name in ["terminal", "markdown", "html"] {
        let text = render(&found, name, 400);
        assert!(text.contains("reads") && text.contains("writes"), "{name}");
    }
}

#[test]
fn of_many_places_an_answer_shows_three_and_a_report_all() {
    let mut found = fixture("crowd").clone();
    let crowd = &mut found.workloads[0].crowds[0];
    let row = crowd.rows[3].clone();
    crowd.rows.extend((4..9).map(|at| PlaceRow { place: format!("vm{at}"), ..row.clone() }));
    let answer = brief("crowd", &found, 80);
    assert!(answer.contains("fastest, median and slowest of the 9 places of vm x4"), "{answer}");
    let table = answer.split("9 places of vm x4").nth(1).unwrap();
    assert_eq!(table.matches("\n  vm").count(), 3, "{table}");
    assert!(["of the mean", "p99", "vm0 "].iter().all(|word| table.contains(word)), "{table}");
    let markdown = render(&found, "markdown", 80);
    assert!((0..9).all(|at| markdown.contains(&format!("| vm{at} |"))), "{markdown}");
    let terminal = render(&found, "terminal", 80);
    assert!((0..9).all(|at| terminal.contains(&format!("\n  vm{at} "))), "{terminal}");
}
