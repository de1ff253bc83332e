//! Outputs of tools that are no fio: each is found by its own lines and read, what stands at a spot is what was read, sound outputs
//! give no finding, a slip in any figure that a rule bears out does, and broken outputs neither panic nor read what is not there.

use iotax_audit::audit::{Audited, audit};
use iotax_audit::claim::Status;
use iotax_audit::finding::Severity;
use iotax_audit::import;
use iotax_audit::page::Page;
use iotax_audit_proof::laws::{damaged, figures_stand_where_they_say};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Name, tool, text of every output that is kept.
const FIXTURES: &[(&str, &str, &str)] = &[
    ("dd/gnu", "dd", include_str!("../../audit/fixtures/dd/gnu.txt")),
    ("dd/gnu-small", "dd", include_str!("../../audit/fixtures/dd/gnu-small.txt")),
    ("dd/gnu-old", "dd", include_str!("../../audit/fixtures/dd/gnu-old.txt")),
    ("dd/gnu-de", "dd", include_str!("../../audit/fixtures/dd/gnu-de.txt")),
    ("dd/gnu-zh", "dd", include_str!("../../audit/fixtures/dd/gnu-zh.txt")),
    ("dd/gnu-uk", "dd", include_str!("../../audit/fixtures/dd/gnu-uk.txt")),
    ("dd/gnu-ru-old", "dd", include_str!("../../audit/fixtures/dd/gnu-ru-old.txt")),
    ("dd/busybox", "dd", include_str!("../../audit/fixtures/dd/busybox.txt")),
    ("dd/bsd", "dd", include_str!("../../audit/fixtures/dd/bsd.txt")),
    ("mbw/three", "mbw", include_str!("../../audit/fixtures/mbw/three.txt")),
    ("mbw/no-average", "mbw", include_str!("../../audit/fixtures/mbw/no-average.txt")),
    ("unixbench/partial", "UnixBench", include_str!("../../audit/fixtures/unixbench/partial.txt")),
    ("unixbench/four", "UnixBench", include_str!("../../audit/fixtures/unixbench/four.txt")),
    ("sysbench/cpu-1.0", "sysbench", include_str!("../../audit/fixtures/sysbench/cpu-1.0.txt")),
    ("sysbench/memory-1.0", "sysbench", include_str!("../../audit/fixtures/sysbench/memory-1.0.txt")),
    ("sysbench/fileio-1.0", "sysbench", include_str!("../../audit/fixtures/sysbench/fileio-1.0.txt")),
    ("sysbench/fileio-1.1", "sysbench", include_str!("../../audit/fixtures/sysbench/fileio-1.1.txt")),
    ("sysbench/oltp-0.5", "sysbench", include_str!("../../audit/fixtures/sysbench/oltp-0.5.txt")),
    ("sysbench/fileio-0.4", "sysbench", include_str!("../../audit/fixtures/sysbench/fileio-0.4.txt")),
    ("sysbench/memory-0.4", "sysbench", include_str!("../../audit/fixtures/sysbench/memory-0.4.txt")),
    ("vdbench/console", "vdbench", include_str!("../../audit/fixtures/vdbench/console.txt")),
    ("vdbench/flatfile", "vdbench", include_str!("../../audit/fixtures/vdbench/flatfile.html")),
    ("vdbench/totals", "vdbench", include_str!("../../audit/fixtures/vdbench/totals.html")),
    ("vdbench/summary", "vdbench", include_str!("../../audit/fixtures/vdbench/summary.html")),
    ("hcibench/vdbench-res", "HCIBench", include_str!("../../audit/fixtures/hcibench/vdbench-res.txt")),
    ("hcibench/fio-res", "HCIBench", include_str!("../../audit/fixtures/hcibench/fio-res.txt")),
    ("hcibench/vms", "HCIBench", include_str!("../../audit/fixtures/hcibench/vms.txt")),
    ("hcibench/summary", "HCIBench", include_str!("../../audit/fixtures/hcibench/summary.csv")),
    ("diskspd/mixed", "DiskSpd text", include_str!("../../audit/fixtures/diskspd/mixed.txt")),
    ("diskspd/write", "DiskSpd text", include_str!("../../audit/fixtures/diskspd/write.txt")),
    ("diskspd/mixed-xml", "DiskSpd XML", include_str!("../../audit/fixtures/diskspd/mixed.xml")),
    ("elbencho/write-read", "elbencho", include_str!("../../audit/fixtures/elbencho/write-read.txt")),
    ("elbencho/mix", "elbencho", include_str!("../../audit/fixtures/elbencho/mix.txt")),
    ("elbencho/phases", "elbencho", include_str!("../../audit/fixtures/elbencho/phases.csv")),
];

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(own, ..)| *own == name).unwrap().2
}

fn read(text: &str) -> Audited {
    audit(Page::new("p", text))
}

fn wrong(audited: &Audited) -> usize {
    audited.findings.iter().filter(|finding| finding.severity <= Severity::WrongFigure).count()
}

/// The number that digits are, with a point or a comma.
fn number(digits: &str) -> Option<f64> {
    digits.replace(',', ".").parse().ok()
}

#[test]
fn each_output_is_found_by_its_own_lines() {
    for (name, tool, text) in FIXTURES {
        let page = Page::new(*name, *text);
        let imported = import::scan(&page);
        assert!(
            imported.outputs.iter().any(|output| output.format == *tool),
            "{name}: {:?}",
            imported.unread
        );
        assert!(imported.unread.is_empty(), "{name}: {:?}", imported.unread);
        let known = imported.outputs.iter().all(|one| one.format == *tool || *name == "hcibench/vms");
        assert!(known, "{name} is read as something else");
        assert!(imported.outputs.iter().any(|output| !output.said.readings().is_empty()), "{name}");
        figures_stand_where_they_say(&page, &imported);
    }
}

#[test]
fn threads_that_a_page_leaves_out_are_no_slip_of_the_total() {
    let text = fixture("diskspd/write");
    let of_thread = |line: &&str| line.trim_start().starts_with("1 |");
    assert_eq!(text.lines().filter(of_thread).count(), 3, "of all, reads, writes");
    let shortened: String =
        text.lines().filter(|line| !of_thread(line)).map(|line| format!("{line}\n")).collect();
    assert_eq!(read(&shortened).findings, []);
    let added = shortened.replace("thread count:\t\t4", "thread count:\t\t3");
    assert_ne!(added, shortened);
    assert_ne!(wrong(&read(&added)), 0, "three lines of three threads are all of them");
}

#[test]
fn processors_of_several_groups_end_no_output() {
    let text = fixture("diskspd/write");
    let head = "thread count:\t\t4\n";
    let cpus = "\nSocket | Node | Group | Core | Class | CPU |  Usage |  User  | Kernel |  Idle\n\
                -----------------------------------------------------------------------\n\
                \x20     0|     0|      1|     7|      0|   14|  61.00%|  11.00%|  50.00%|  39.00%\n";
    assert!(text.contains(head));
    let imported = import::scan(&Page::new("p", text.replace(head, &format!("{head}{cpus}"))));
    assert_eq!(imported.outputs.len(), 1);
    let whole = import::scan(&Page::new("p", text)).outputs[0].lines.len();
    assert_eq!(imported.outputs[0].lines.len(), whole + cpus.lines().count());
}

#[test]
fn each_format_finds_its_own_example() {
    let tools: Vec<&str> = FIXTURES.iter().map(|(_, tool, _)| *tool).collect();
    for format in import::ALL.iter().filter(|format| tools.contains(&format.name)) {
        let page = Page::new("p", format.example);
        let begins = (0..page.len()).find(|at| (format.begins)(page.bare(*at).0)).unwrap();
        assert!((format.read)(&page, begins).is_some(), "{}", format.name);
    }
}

#[test]
fn sound_outputs_give_no_finding() {
    for (name, _, text) in FIXTURES {
        let audited = read(text);
        assert!(audited.findings.is_empty(), "{name}: {:?}", audited.findings);
        let held = audited.count(Status::Holds) + audited.count(Status::Plausible);
        // Numbers of mbw and HCIBench are imported; no rule holds them.
        let is_held = !name.starts_with("hcibench") && !name.starts_with("mbw");
        assert!(held > 0 || !is_held, "{name}: nothing was recomputed");
    }
}

/// A slip: its name, and what it makes of printed digits.
type Slip = (&'static str, fn(&str) -> Option<String>);

/// Ways to get a printed figure wrong.
const SLIPS: [Slip; 4] = [
    ("a digit", |digits| {
        let at = digits.find(|digit: char| ('1'..='9').contains(&digit))?;
        let other = match digits.as_bytes()[at] {
            b'9' => '4',
            digit => char::from(digit + 1),
        };
        Some(format!("{}{other}{}", &digits[..at], &digits[at + 1..]))
    }),
    ("ten times", |digits| of_value(digits, |value| value * 10.0)),
    ("a tenth", |digits| of_value(digits, |value| value / 10.0)),
    ("1024 for 1000", |digits| of_value(digits, |value| value * 1.048_576)),
];

fn of_value(digits: &str, change: fn(f64) -> f64) -> Option<String> {
    let value = number(digits)?;
    let decimals = digits.replace(',', ".").split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let changed = format!("{:.decimals$}", change(value));
    let comma = digits.contains(',');
    let changed = if comma { changed.replace('.', ",") } else { changed };
    (!digits.contains('e') && changed != digits && number(&changed)? != value).then_some(changed)
}

/// The page with other digits at a place.
fn with(audited: &Audited, at: usize, digits: &str) -> String {
    let spot = audited.claims[at].spot;
    let start = audited.page.offset(spot.index()) + spot.start as usize;
    let end = audited.page.offset(spot.index()) + spot.end as usize;
    let text = audited.page.text();
    format!("{}{digits}{}", &text[..start], &text[end..])
}

#[test]
fn slips_in_figures_that_hold_are_found() {
    let mut counts: BTreeMap<(&str, &str), (usize, usize, usize)> = BTreeMap::new();
    for (_, tool, text) in FIXTURES {
        let sound = read(text);
        let held: Vec<usize> =
            (0..sound.claims.len()).filter(|at| sound.claims[*at].status == Status::Holds).collect();
        for at in held {
            let digits = sound.page.quote(sound.claims[at].spot);
            for (kind, slip) in SLIPS {
                let Some(changed) = slip(digits) else { continue };
                let audited = read(&with(&sound, at, &changed));
                let count = counts.entry((*tool, kind)).or_default();
                count.0 += 1;
                count.1 += usize::from(wrong(&audited) > 0);
                let line = sound.claims[at].spot.line;
                count.2 += usize::from(audited.findings.iter().any(|finding| finding.spot.line == line));
            }
        }
    }
    for ((tool, kind), (all, found, on_line)) in &counts {
        println!("{tool:12} {kind:14} {all:5} slips, {found:5} found, {on_line:5} on their line");
    }
    for ((tool, kind), (all, found, _)) in &counts {
        let least = if *kind == "1024 for 1000" { 0.5 } else { 0.8 };
        assert!(*found as f64 >= least * *all as f64, "{tool} {kind}: {found} of {all}");
    }
}

/// What a table of wrong figures should say of some of them.
#[test]
fn findings_tell_the_figure_the_arithmetic_and_the_slip() {
    let told = |text: String| {
        let audited = read(&text);
        assert_eq!(wrong(&audited), 1, "{:?}", audited.findings);
        audited.findings.into_iter().next().unwrap()
    };
    let finding = told(fixture("dd/gnu-old").replace("834 MB/s", "83 MB/s"));
    assert_eq!((finding.rule, &*finding.printed, &*finding.recomputed), ("X30", "83 MB/s", "834 MB/s"));
    assert_eq!(finding.arithmetic.as_deref(), Some("34359738368 bytes / 41.2208 s = 834 MB/s"));
    assert_eq!(finding.slip, Some(iotax_audit::finding::Slip::FactorTen));
    // The bytes are what both sizes and the rate speak against.
    let finding = told(fixture("dd/gnu").replace("104857600 bytes", "204857600 bytes"));
    assert!(finding.printed.starts_with("204857600"), "{finding:?}");
    let finding = told(fixture("dd/busybox").replace("181.5MB/s", "190.3MB/s"));
    assert_eq!(
        (&*finding.recomputed, finding.slip),
        ("181.5 MB/s", Some(iotax_audit::finding::Slip::ThousandFor1024))
    );
    let finding = told(fixture("dd/gnu-de").replace("2,1 GB/s", "3,1 GB/s"));
    assert_eq!(&*finding.recomputed, "2,1 GB/s");
}

#[test]
fn a_block_of_less_than_a_kib_is_not_known() {
    // sysbench prints it as 0KiB: nothing can be said of the MiB that were moved.
    let text = fixture("sysbench/memory-1.0").replace("block size: 2KiB", "block size: 0KiB");
    assert_eq!(wrong(&read(&text)), 0);
}

#[test]
fn prose_that_looks_a_bit_like_a_tool_is_not_claimed() {
    for text in [
        "Datastore performance was good.\nIOPS = 5\n",
        "sysbench is a benchmark.\nsysbench cpu run\n",
        "General statistics:\nnothing here\n",
        "17:06:15.097 the server came up in 12 seconds and served 15 requests\n",
        "100 files copied, 5 s left, 30 MB/s on average today\n",
        "Throughput:\n  read is fast\n",
        "Method: we measured. Elapsed: two weeks\n",
        "<Results>\n<Item>5</Item>\n</Results>\n",
        "OPERATION   RESULT TYPE   FIRST DONE   LAST DONE\nnothing\n",
        "In total 5 samples (of 10 samples)\n",
        "| Dhrystone | BASELINE RESULT INDEX |\n",
    ] {
        let imported = import::scan(&Page::new("p", text));
        assert!(imported.outputs.is_empty(), "{text}: {:?}", imported.outputs);
    }
}

#[test]
fn xml_without_an_end_is_listed() {
    let text = fixture("diskspd/mixed-xml");
    let imported = import::scan(&Page::new("p", &text[..text.len() - 30]));
    assert_eq!(imported.unread.len(), 1, "{:?}", imported.unread);
    let broken = text.replacen("</Thread>", "</Tread>", 1);
    assert!(import::scan(&Page::new("p", broken)).unread[0].why.contains("XML"));
}

/// Each line at which an output may begin as a line of a megabyte and many times over, whole outputs and their halves over and
/// over: nobody waits for it.
#[test]
fn long_lines_and_many_equal_lines_are_read_once() {
    let mut seen = std::collections::HashSet::new();
    let mut tools = std::collections::HashSet::new();
    for (_, tool, text) in FIXTURES {
        let page = Page::new("p", *text);
        let begins = |line: &&str| import::ALL.iter().any(|format| (format.begins)(line));
        for line in (0..page.len()).map(|at| page.bare(at).0).filter(begins) {
            // Lines that differ in digits only are alike here.
            let shape: String =
                line.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect();
            if seen.insert(shape) {
                let times = if tools.insert(*tool) { 100_000 } else { 10_000 };
                let _ = import::scan(&Page::new("p", format!("{line}\n").repeat(times)));
                let filler = "1234567 8.5 | x, ".repeat(60_000);
                let _ = import::scan(&Page::new("p", format!("{line}{filler}")));
            }
        }
        let half: String =
            text.lines().take(text.lines().count() / 2).map(|line| format!("{line}\n")).collect();
        let _ = import::scan(&Page::new("p", half.repeat(200_000 / half.len().max(1))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn broken_outputs_neither_panic_nor_read_what_is_not_there(
        which in 0..FIXTURES.len(), damages in prop::collection::vec((0u8..6, 0usize..10_000, 0usize..10_000), 1..6)
    ) {
        let text = damaged(FIXTURES[which].2.as_bytes(), &damages);
        let page = Page::new("p", String::from_utf8_lossy(&text));
        figures_stand_where_they_say(&page, &import::scan(&page));
        let _ = audit(page);
    }
}
