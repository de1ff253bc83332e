//! What holds of every importer and of the rules on what it reads: an output is found by its own
//! lines and read whole, what is at a spot is what was read, sound outputs give no finding, a
//! slip in a figure that a rule bears out does, and no damage makes a reader panic, read what is
//! not there, or take longer than the text is long.

use iotax_audit::audit::{Audited, audit};
use iotax_audit::claim::Status;
use iotax_audit::finding::Severity;
use iotax_audit::import::format::ToolReport;
use iotax_audit::import::workload::{OutputFigure, ToolResult};
use iotax_audit::import::*;
use iotax_audit::number::PrintedNumber;
use iotax_audit::page::AuditedPage;
use iotax_audit_proof::laws::{damaged, figures_stand_where_they_say};
use iotax_audit_proof::slips::slips;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// An output of a run of our own, by its name in `fixtures`; `README.md` there says of which.
type Fixture = (String, String);

/// Of the tools that are no fio and no iperf3, or of all.
fn fixtures(all: bool) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit/fixtures");
    // Pages of people, what cases share, and the cases of rules are no outputs of one tool.
    let mut others = vec!["cases", "people", "pool", "published", "rules"];
    others.extend(["fio", "iperf3"].iter().filter(|_| !all));
    let tools =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a folder").path());
    let is_tool =
        |path: &PathBuf| path.is_dir() && !others.iter().any(|other| path.ends_with(other));
    let mut fixtures = Vec::new();
    for tool in tools.filter(is_tool) {
        for entry in std::fs::read_dir(tool).expect("a folder") {
            let path = entry.expect("a file").path();
            let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            fixtures.push((name, std::fs::read_to_string(&path).expect("a text")));
        }
    }
    fixtures.sort();
    fixtures
}

fn fixture(name: &str) -> String {
    fixtures(true).into_iter().find(|(known, _)| known == name).unwrap().1
}

fn read(text: &str) -> Audited {
    audit(AuditedPage::new("p", text))
}

fn wrong(audited: &Audited) -> usize {
    audited.findings.iter().filter(|finding| finding.severity <= Severity::WrongFigure).count()
}

#[test]
fn every_format_has_a_name_of_its_own_and_finds_and_reads_its_example() {
    let mut names: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    names.extend(json_formats::ALL.iter().map(|format| format.name));
    let count = names.len();
    assert_eq!(names.into_iter().collect::<HashSet<_>>().len(), count, "a name comes twice");
    for format in ALL {
        let page = AuditedPage::new("example", format.example);
        let imported = find_outputs(&page);
        assert!(!imported.outputs.is_empty(), "{}", format.name);
        assert!(
            imported.outputs.iter().any(|output| output.format == format.name),
            "{}",
            format.name
        );
        figures_stand_where_they_say(&page, &imported);
    }
    for format in json_formats::ALL {
        let page = AuditedPage::new("example", format.example);
        let parsed =
            iotax_audit::json::parse(page.text(), format.example.find('{').unwrap()).unwrap();
        let knowing = json_formats::ALL.iter().filter(|one| (one.knows)(&parsed.node));
        assert_eq!(knowing.map(|one| one.name).collect::<Vec<_>>(), [format.name]);
        assert!(figures_stand_where_they_say(&page, &find_outputs(&page)) > 0, "{}", format.name);
    }
}

/// A reading in one line: the load, then every figure with what its digits stand for.
fn told(reading: &ToolResult) -> String {
    let one = |name: &str, figure: &PrintedNumber| {
        let PrintedNumber { value, low, high, .. } = figure;
        format!(" {name} {value} {:+.1e} {:+.1e}", low - value, high - value)
    };
    let load = &reading.workload;
    let mut line = format!("  {}: {:?}", reading.line + 1, reading.way);
    let words = [&load.name, &load.rw, &load.ioengine].into_iter().flatten();
    words.for_each(|word| line += &format!(" {word}"));
    let numbers = [("bs", load.bs), ("iodepth", load.iodepth), ("numjobs", load.numjobs)];
    numbers.iter().filter_map(|(name, told)| Some((name, (*told)?))).for_each(|(name, told)| {
        line += &format!(" {name} {told}");
    });
    for (name, figure) in [
        ("iops", reading.iops),
        ("bandwidth", reading.bytes_per_second),
        ("ios", reading.ios),
        ("bytes", reading.bytes),
        ("mean", reading.mean_ns),
    ] {
        line += &figure.map_or(String::new(), |figure| one(name, &figure));
    }
    let all = reading.percentiles_ns.iter();
    all.for_each(|(percent, figure)| line += &one(&format!("p{percent}"), figure));
    reading
        .others
        .iter()
        .for_each(|other| line += &one(&format!("{} {}", other.name, other.unit), &other.figure));
    let counted: u64 = reading.histogram_ns.iter().map(|(_, count)| count).sum();
    if counted > 0 { format!("{line} histogram of {counted}") } else { line }
}

/// What is read of a text, with its spots held: outputs with their lines and readings, what was
/// asked, what was not read.
fn shown(name: &str, text: &str) -> String {
    let page = AuditedPage::new(name, text);
    let imported = find_outputs(&page);
    figures_stand_where_they_say(&page, &imported);
    let earlier = fio::snapshots::superseded(&imported.outputs);
    let mut lines = Vec::new();
    for (output, earlier) in imported.outputs.iter().zip(earlier) {
        let range = &output.lines;
        let superseded = if earlier { ", superseded" } else { "" };
        lines.push(format!("{}: {} to {}{superseded}", output.format, range.start + 1, range.end));
        lines.extend(output.said.readings().iter().map(told));
        if let ToolReport::Asked(jobs) = &output.said {
            lines.extend(jobs.iter().map(|job| {
                let words = [&job.rw, &job.ioengine].map(|word| word.as_deref().unwrap_or("-"));
                format!("  {}: {} {} {:?} {:?}", job.name, words[0], words[1], job.bs, job.iodepth)
            }));
        }
    }
    let unread = imported
        .unread
        .iter()
        .map(|one| format!("unread {} to {}: {}", one.line, one.last, one.why));
    lines.into_iter().chain(unread).map(|line| line + "\n").collect()
}

/// Holds a text against a file, or writes that again where `IOTAX_READINGS=write` asks for it: read
/// the difference.
fn is_as_checked(path: &str, checked: &str, now: &str) {
    if std::env::var("IOTAX_READINGS").is_ok_and(|what| what == "write") {
        return std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), now).unwrap();
    }
    for (number, (now, before)) in (1..).zip(now.lines().zip(checked.lines())) {
        assert_eq!(now, before, "line {number} of {path}");
    }
    assert_eq!(now.len(), checked.len());
}

/// Texts of `imports.txt`, each with what is read of it.
#[test]
fn every_text_is_imported_as_was_checked() {
    const CASES: &str = include_str!("../../audit/fixtures/imports.txt");
    let mut all = String::new();
    for (at, case) in CASES.split("=== ").enumerate() {
        let Some((head, rest)) = case.split_once('\n').filter(|_| at > 0) else {
            all += case;
            continue;
        };
        let (text, _) = rest.split_once("--- \n").expect("what is read");
        let name = head.split(' ').next().unwrap();
        all += &format!("=== {head}\n{text}--- \n{}", shown(name, text));
    }
    is_as_checked("../audit/fixtures/imports.txt", CASES, &all);
}

/// What is imported of every fixture, and what is found: figures by their status, findings by their
/// rule.
#[test]
fn every_fixture_is_read_and_held_as_was_checked() {
    let mut all = String::new();
    for (name, text) in fixtures(true) {
        let audited = read(&text);
        let count =
            |status: Status| format!("{} {}", status.status_words(), audited.count_claims(status));
        let rules: BTreeSet<&str> = audited.findings.iter().map(|finding| finding.rule).collect();
        let (shown, counts) = (shown(&name, &text), Status::ALL.map(count).join(", "));
        all += &format!("{name}\n{shown}  {counts}; {rules:?}\n");
        assert!(!shown.contains("\nunread") && wrong(&audited) == 0, "{name}: {shown}");
    }
    is_as_checked("tests/readings.txt", include_str!("readings.txt"), &all);
}

#[test]
fn what_is_left_of_a_cut_output_is_what_the_whole_has() {
    let is_text = |name: &str| name.contains("-3.33") || name.contains("status");
    let of_fio = |(name, _): &Fixture| name.starts_with("fio/") || name.starts_with("iperf3/");
    for (name, text) in fixtures(true).into_iter().filter(|one| of_fio(one) && !is_text(&one.0)) {
        let all = |page: &AuditedPage| {
            let mut figures = Vec::new();
            for output in find_outputs(page).outputs {
                let mut tell = |(_, unit, figure): OutputFigure| {
                    figures.push((figure.spot, unit, figure.value.to_bits()))
                };
                output.said.visit_figures(&mut tell);
            }
            figures
        };
        let whole: HashSet<_> =
            all(&AuditedPage::new(name.as_str(), text.as_str())).into_iter().collect();
        for cut in (0..text.len()).step_by(1 + text.len() / 20) {
            let page = AuditedPage::new(name.as_str(), &text[..cut]);
            for figure in all(&page) {
                assert!(
                    whole.contains(&figure),
                    "{name} cut at {cut}: {} {figure:?}",
                    page.quote(figure.0)
                );
            }
        }
        if name.ends_with(".json") {
            let page = AuditedPage::new(name.as_str(), &text[..text.len() / 2]);
            let unread = find_outputs(&page).unread;
            assert!(
                unread.len() == 1 && unread[0].last as usize == page.len(),
                "{name}: {unread:?}"
            );
        }
    }
}

#[test]
fn slips_in_figures_that_hold_are_found() {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (name, text) in fixtures(false) {
        let sound = read(&text);
        for claim in sound.claims.iter().filter(|claim| claim.status == Status::Holds) {
            let offset = sound.page.offset(claim.spot.index());
            let (start, end) =
                (offset + claim.spot.start as usize, offset + claim.spot.end as usize);
            for slipped in slips(sound.page.quote(claim.spot)) {
                let audited = read(&format!("{}{slipped}{}", &text[..start], &text[end..]));
                let count = counts.entry(name[..name.find('/').unwrap()].to_owned()).or_default();
                *count = (count.0 + 1, count.1 + usize::from(wrong(&audited) > 0));
            }
        }
    }
    for (tool, (all, found)) in &counts {
        println!("{tool:16} {all:5} slips, {found:5} found");
        assert!(*found as f64 >= 0.9 * *all as f64, "{tool}: {found} of {all}");
    }
}

#[test]
fn findings_tell_the_figure_the_arithmetic_and_the_slip() {
    let told = |name: &str, from: &str, to: &str| {
        let audited = read(&fixture(name).replace(from, to));
        assert_eq!(wrong(&audited), 1, "{:?}", audited.findings);
        audited.findings.into_iter().next().unwrap()
    };
    let finding = told("dd/gnu-old.txt", "834 MB/s", "83 MB/s");
    assert_eq!(
        (finding.rule, &*finding.printed, &*finding.recomputed),
        ("X29", "83 MB/s", "834 MB/s")
    );
    assert_eq!(finding.arithmetic.as_deref(), Some("34359738368 bytes / 41.2208 s = 834 MB/s"));
    assert_eq!(finding.slip, Some(iotax_audit::finding::Slip::FactorTen));
    // The bytes are what both sizes and the rate speak against.
    assert!(
        told("dd/gnu.txt", "104857600 bytes", "204857600 bytes").printed.starts_with("204857600")
    );
    assert_eq!(told("dd/busybox.txt", "181.5MB/s", "190.3MB/s").recomputed, "181.5 MB/s");
    assert_eq!(told("dd/gnu-de.txt", "2,1 GB/s", "3,1 GB/s").recomputed, "2,1 GB/s");
}

#[test]
fn what_cannot_be_held_is_not() {
    // sysbench prints a block of less than a KiB as 0KiB: nothing can be said of the MiB that were
    // moved.
    let text = fixture("sysbench/memory-1.0.txt").replace("block size: 2KiB", "block size: 0KiB");
    assert_eq!(wrong(&read(&text)), 0);
    // Threads that a page leaves out are no slip of the total.
    let of_thread = |line: &&str| !line.trim_start().starts_with("1 |");
    let text = fixture("diskspd/write.txt");
    let shortened = text.lines().filter(of_thread).collect::<Vec<_>>().join("\n");
    assert_eq!(read(&shortened).findings, []);
    assert_ne!(wrong(&read(&shortened.replace("thread count:\t\t4", "thread count:\t\t3"))), 0);
    for text in [
        "sysbench is a benchmark.\nsysbench cpu run\n",
        "General statistics:\nnothing here\n",
        "17:06:15.097 the server came up in 12 seconds and served 15 requests\n",
        "100 files copied, 5 s left, 30 MB/s on average today\n",
        "Throughput:\n  read is fast\n",
        "OPERATION   RESULT TYPE   FIRST DONE   LAST DONE\nnothing\n",
        "In total 5 samples (of 10 samples)\n",
        "| Dhrystone | BASELINE RESULT INDEX |\n",
    ] {
        assert!(find_outputs(&AuditedPage::new("p", text)).outputs.is_empty(), "{text}");
    }
}

/// Each line at which an output may begin as a line of 200 kB and many times over, halves of
/// outputs over and over: nobody waits for it.
#[test]
fn long_lines_and_many_equal_lines_are_read_once() {
    let mut seen = HashSet::new();
    for (_, text) in fixtures(false) {
        let page = AuditedPage::new("p", text.as_str());
        let begins = |line: &&str| ALL.iter().any(|format| (format.begins)(line));
        for line in (0..page.len()).map(|at| page.bare_line(at).0).filter(begins) {
            // Lines that differ in digits only are alike here.
            let shape = line.replace(|one: char| one.is_ascii_digit(), "0");
            if seen.insert(shape.chars().take(20).collect::<String>()) {
                let _ = find_outputs(&AuditedPage::new("p", format!("{line}\n").repeat(2_000)));
                let _ = find_outputs(&AuditedPage::new(
                    "p",
                    format!("{line}{}", "1234567 8.5 | x, ".repeat(12_000)),
                ));
            }
        }
        let half: String =
            text.lines().take(text.lines().count() / 2).map(|line| format!("{line}\n")).collect();
        let _ = find_outputs(&AuditedPage::new("p", half.repeat(100_000 / half.len().max(1))));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 600, ..Default::default() })]

    #[test]
    fn no_damage_makes_a_reader_panic_or_read_what_is_not_there(
        which in 0usize..1000, damages in proptest::collection::vec((0u8..6, 0usize..20_000, 0usize..20_000), 1..6),
    ) {
        static ALL_OF_THEM: std::sync::LazyLock<Vec<Fixture>> = std::sync::LazyLock::new(|| fixtures(true));
        let examples = ALL.iter().map(|format| format.example);
        let texts: Vec<&str> = ALL_OF_THEM.iter().map(|(_, text)| text.as_str()).chain(examples).collect();
        let text = damaged(texts[which % texts.len()].as_bytes(), &damages);
        let page = AuditedPage::new("p", String::from_utf8_lossy(&text));
        figures_stand_where_they_say(&page, &find_outputs(&page));
        if text.len() < 6000 {
            let _ = audit(page);
        }
    }
}
