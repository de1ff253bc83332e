//! What others measured, as runs: imported, reported, listed, compared, and what is refused.

use crate::rig::{Rig, flat, says, words};
use std::path::Path;

const TEXT: &str = include_str!("../../crates/audit/fixtures/fio/randrw-3.33.txt");
const JSON: &str = include_str!("../../crates/audit/fixtures/fio/randread.json+");
const IPERF: &str = include_str!("../../crates/audit/fixtures/iperf3/tcp.txt");

fn write(rig: &Rig, name: &str, text: &str) {
    let path = rig.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A text of our own with another rate and time, so that it is a run of its own.
fn run_of(iops: &str, minute: u32, second: u32) -> String {
    TEXT.replace("IOPS=44.6k", &format!("IOPS={iops}k"))
        .replace("17:02:55", &format!("17:{minute:02}:{second:02}"))
        .replace("total=89170", &format!("total={}", 89_000 + minute * 60 + second))
}

/// Two systems in folders: reads and writes in five runs each, in turns, and one JSON+ each.
fn results(rig: &Rig) {
    let rates = [("44.6", "35.6"), ("44.9", "34.9"), ("44.2", "35.2"), ("45.1", "36.1"), ("44.4", "35.4")];
    for (at, (host, vm)) in (0..).zip(rates) {
        write(rig, &format!("results/host/{at}.txt"), &run_of(host, at, 5));
        write(rig, &format!("results/vm/{at}.txt"), &run_of(vm, at, 15));
    }
    write(rig, "results/host/read.json", JSON);
    write(rig, "results/vm/read.json", JSON);
    write(rig, "results/README.md", "what these are\n");
}

fn imported(rig: &Rig, args: &[&str]) -> (String, String) {
    let output = rig.iotax(&[&["import"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
    let [id, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (id.trim().to_owned(), told)
}

#[test]
fn folders_become_a_run_that_every_form_of_report_tells() {
    let rig = Rig::new();
    results(&rig);
    let (id, told) = imported(&rig, &["results", "--name", "two systems"]);
    says(&told, &["22 results of 13 files", "taken by folders", "host (11), vm (11)"]);
    says(&told, &["no result in: results/README.md"]);
    for format in ["terminal", "markdown", "html", "csv", "json"] {
        let text = rig.expect(0, &["report", &id, "-v", "--format", format]);
        let verdict = if format == "csv" { "ratio of 4k randrw IOPS" } else { "costs" };
        says(&text, &["one run each: no spread is known", verdict, "4k randrw"]);
    }
    let report = rig.json(&["report", "last"]);
    assert_eq!(report["run"]["imported"], true);
    let files = report["imported"]["files"].as_array().unwrap();
    assert_eq!((files.len(), files[0]["bytes"].as_u64()), (13, Some(15)));
    assert!(files.iter().all(|file| Path::new(file["path"].as_str().unwrap()).is_absolute()), "{files:?}");
    let loads = report["imported"]["workloads"].as_array().unwrap();
    let load =
        |subject: &str| loads.iter().find(|one| one["subject"].as_str().unwrap().contains(subject)).unwrap();
    let host = &load("randrw")["rows"][0];
    assert_eq!(
        (host["system"].as_str(), host["runs"].as_u64(), host["baseline"].as_bool()),
        (Some("host"), Some(5), Some(true))
    );
    assert_eq!(host["sources"][0]["line"].as_u64(), Some(8));
    let single = &load("randread")["rows"][1]["comparison"]["verdict"];
    assert_eq!(single["reason"]["refusal"], "no_spread", "{single}");
    assert!(flat(&rig.expect(0, &["list"])).contains("imported, two systems: host / vm"));
    says(&rig.complaint(2, &["resume", &id]), &["it was imported", "hint: import its files again"]);
}

#[test]
fn standard_input_and_lines_of_a_page_are_systems() {
    let rig = Rig::new();
    let output = rig.piped(&["import", "-"], TEXT.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(rig.expect(0, &["report", "last", "-v"]).contains("standard input"));

    let lines = TEXT.lines().count();
    write(&rig, "article.txt", &format!("{TEXT}\n{}", run_of("35.6", 3, 15)));
    let (_, told) = imported(&rig, &["article.txt"]);
    says(&told, &["each is a system of its own", "article:1 (2), article:50 (2)"]);
    let [host, vm] =
        [format!("host=article.txt:1-{lines}"), format!("vm=article.txt:{}-{}", lines + 1, 2 * lines + 1)];
    let (id, told) = imported(&rig, &["--system", &host, "--system", &vm, "--baseline", "vm"]);
    assert!(told.contains("as they were named: host (2), vm (2)") && !told.contains("hint"), "{told}");
    says(&rig.expect(0, &["report", &id, "-v"]), &["host against vm: unresolved", "vm *"]);
}

#[test]
fn results_that_are_no_input_or_output_have_tables_of_their_own() {
    let rig = Rig::new();
    write(&rig, "net/host/tcp.txt", IPERF);
    let (id, _) = imported(&rig, &["net"]);
    let text = rig.expect(0, &["report", &id, "-v"]);
    assert!(text.contains("throughput, more is better") && text.contains("bit/s"), "{text}");
    assert!(text.contains("retransmits, less is better") && !text.contains("IOPS "), "{text}");
}

#[test]
fn runs_are_compared_by_what_is_known_of_them() {
    let rig = Rig::new();
    results(&rig);
    let (old, _) = imported(&rig, &["results"]);
    // What was the guest is the host now, and one run of what was the host the guest.
    let (new, _) = imported(&rig, &["--system", "host=results/vm", "--system", "vm=results/host/0.txt"]);
    let text = flat(&rig.expect(0, &["compare", &old, &new]));
    says(&text, &["host, new against old: costs", "vm, new against old: unresolved"]);
    says(&text, &["1 run against 5 runs: the spread is not known"]);
    says(&text, &["imported (old run): its figures were imported from 13 files"]);
    let failing = rig.iotax(&["compare", &old, &new, "--fail-above", "1%"]);
    assert_eq!(failing.status.code(), Some(1), "{}", words(&failing));
    assert!(rig.complaint(2, &["compare", &old, &old]).contains("given twice"));

    // A measured run of the same load: one stack, which the only system is compared with.
    let file = rig.file("x.img", 16);
    let run = ["run", &file, "--rw", "randread", "--iodepth", "1", "--budget", "1s", "--min-time", "500ms"];
    rig.expect(0, &run);
    let (one, _) = imported(&rig, &["results/vm/read.json"]);
    let measured = rig.run_dirs();
    let measured = measured[measured.len() - 2].to_str().unwrap().to_owned();
    let text = flat(&rig.expect(0, &["compare", &measured, &one]));
    says(&text, &["one imported run: no spread of it is known", "each has one system only"]);
    says(&text, &["nothing is known there of region"]);
}

#[test]
fn what_cannot_be_imported_leaves_nothing_behind() {
    let rig = Rig::new();
    write(&rig, "prose.txt", "nothing that a tool printed\n");
    write(&rig, "good.txt", TEXT);
    write(&rig, "cut.json", &JSON[..JSON.len() / 40]);
    std::fs::create_dir(rig.path("empty")).unwrap();
    let says = |args: &[&str], parts: &[&str]| {
        rig.complains(2, &[&["import"], args].concat(), parts);
        let left: Vec<_> = std::fs::read_dir(rig.runs()).into_iter().flatten().collect();
        assert!(left.is_empty(), "{args:?} left {left:?}");
    };
    says(&["prose.txt"], &["no result in prose.txt", "looked for fio text", "hint:"]);
    says(&["good.txt", "prose.txt"], &["no result in prose.txt"]);
    says(&["cut.json"], &["no result in cut.json", "not read: cut.json:12: fio JSON: it ends in the middle"]);
    says(&["none.txt"], &["cannot read none.txt: there is no such file"]);
    says(&["/dev/zero"], &["/dev/zero is no file", "hint: write - for standard input"]);
    says(&["empty"], &["the folder empty holds no file"]);
    says(&["-", "-"], &["standard input is named twice"]);
    says(&["--system", "x", "good.txt"], &["names no system", "NAME=PATH"]);
    says(&["good.txt", "--baseline", "other"], &["--baseline other", "there are good"]);
    says(&[], &["no result in standard input"]);
}

#[test]
fn names_that_others_chose_act_on_no_terminal_and_no_sheet() {
    let rig = Rig::new();
    let job = r#"{"jobs": [{"jobname": "=cmd|'/C calc'!A0 EVIL", "read": {"bw": 402, "iops": 100.5, "total_ios": 1000, "runtime": 10000}}]}"#;
    let job = job.replace("EVIL", "\u{1b}]0;owned\u{7}\u{202e}");
    for folder in ["host", "v\u{1b}[2J\nm"] {
        write(&rig, &format!("results/{folder}/\u{1b}[31m.json"), &job);
    }
    write(&rig, "results/host/\u{1b}[32m.md", "nothing\n");
    let (id, told) = imported(&rig, &["results"]);
    assert!(told.contains("v\\u{1b}[2J m (1)"), "{told:?}");
    let acts = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
    assert!(!acts(&told), "{told:?}");
    for form in ["terminal", "markdown", "html", "csv"] {
        let output = rig.iotax(&["report", &id, "-v", "--format", form]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("owned") && !acts(&text), "{form}: {text:?}");
        if form == "csv" {
            assert!(text.contains(",'=cmd|'/C calc'!A0") && !text.contains(",=cmd"), "{text}");
        }
    }
    assert!(!acts(&words(&rig.iotax(&["list"]))));
    assert!(!acts(&rig.expect(0, &["report", &id])));
}
