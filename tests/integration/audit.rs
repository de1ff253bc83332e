//! The audit as people call it: files, folders and pipes, exit codes, what is refused, and a reader
//! that goes away.

use crate::rig::{Rig, flat};
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What fio 3.16 printed of a run that issued 25,991 writes a second, in lines as pages have them.
const LOST_CARRY: &str = "\
| test | host |
|---|---|
| randwrite 4k | 25.0k |

w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1
fio-3.16
w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)
     issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0
";

fn sound() -> String {
    LOST_CARRY.replace("25.0k", "26.0k")
}

fn page(rig: &Rig, name: &str, text: &str) -> String {
    let path = rig.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    name.to_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn exit_codes_say_how_bad_it_is() {
    let rig = Rig::new();
    let (bad, good) = (page(&rig, "bad.md", LOST_CARRY), page(&rig, "good.md", &sound()));
    let text = rig.expect(1, &["audit", &bad]);
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(" figures checked, 1 does not hold: write: IOPS 26.0k, not 25.0k"),
        "{text}"
    );
    assert!(text.contains("--> bad.md:8:15\n") && text.contains("\nnot checked: "), "{text}");
    assert!(!text.contains('\x1b'), "no colours into a pipe: {text}");
    let text = rig.expect(0, &["audit", &good]);
    assert!(text.contains(" figures checked, all ") && text.contains("; not checked: "), "{text}");
    let none = page(&rig, "none.md", "A page about disks.\n");
    let text = rig.expect(0, &["audit", &none]);
    assert!(text.starts_with("no figure to check: "), "{text}");
    rig.expect(1, &["audit", &good, &bad]);
    rig.expect(0, &["audit", &bad, "--fail-on", "never"]);
    rig.expect(0, &["audit", &bad, "--fail-on", "wrong-conclusion"]);
    rig.expect(1, &["audit", &bad, "--fail-on", "cosmetic"]);
    assert!(rig.run_dirs().is_empty(), "an audit leaves no run");
}

#[test]
fn rules_can_be_chosen_and_are_listed() {
    let rig = Rig::new();
    let bad = page(&rig, "bad.md", LOST_CARRY);
    let ids = |code: i32, more: &[&str]| -> Vec<String> {
        let found = json(&rig.expect(code, &[&["audit", &bad, "--format", "json"], more].concat()));
        let findings = found["findings"].as_array().unwrap();
        findings.iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert!(ids(1, &[]).contains(&"N2".to_owned()));
    assert_eq!(ids(1, &["--only", "n2"]), ["N2"]);
    assert_eq!(ids(0, &["--only", "F9,F5"]), [""; 0]);
    assert!(!ids(0, &["--without", "N2,T4"]).contains(&"N2".to_owned()));
    let listed = rig.expect(0, &["audit", "--rules"]);
    let parts = ["F4 ", "N2 ", "holds:", "silent:", "(wrong-figure)"];
    assert!(parts.iter().all(|part| listed.contains(part)), "{listed}");
    assert_eq!(rig.expect(0, &["audit", "--rules", "--only", "N2"]).matches("holds:").count(), 1);
}

#[test]
fn standard_input_is_a_page() {
    let rig = Rig::new();
    for args in [&["audit"][..], &["audit", "-"]] {
        let output = rig.piped(args, LOST_CARRY.as_bytes());
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("--> standard input:8:15"));
    }
    // Mis-encoded, empty and of no text at all.
    let gbk = b"\xd0\xb4\xcb\xf0\xca\xa7 18.4 %\xff\n";
    for (text, code) in [(&b""[..], 0), (gbk, 0), (&[0; 4096], 2)] {
        assert_eq!(rig.piped(&["audit"], text).status.code(), Some(code));
    }
}

#[test]
fn folders_are_walked_and_what_is_no_page_is_told() {
    let rig = Rig::new();
    page(&rig, "all/b/bad.md", LOST_CARRY);
    page(&rig, "all/a.md", &sound());
    page(&rig, "all/.git/bad.md", LOST_CARRY);
    std::fs::write(rig.path("all/c.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let output = rig.iotax(&["audit", "all", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "skipped: all/c.png: a PNG image\n");
    let found = json(std::str::from_utf8(&output.stdout).unwrap());
    let names: Vec<&Value> =
        found["documents"].as_array().unwrap().iter().map(|one| &one["document"]).collect();
    assert_eq!(names, ["all/a.md", "all/b/bad.md"]);
    assert_eq!(found["skipped"][0]["document"], "all/c.png");
    assert!(
        found["findings"].as_array().unwrap().iter().all(|one| one["document"] == "all/b/bad.md")
    );
    let text = String::from_utf8(rig.iotax(&["audit", "all"]).stdout).unwrap();
    assert!(
        text.lines().next().unwrap().ends_with("figures checked, 1 does not hold, on 1 of 2 pages"),
        "{text}"
    );
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(".md")).collect();
    assert!(
        rows.len() == 1 && rows[0].starts_with("all/b/bad.md: "),
        "only those with findings: {text}"
    );
    assert!(flat(&text).contains("IOPS 26.0k, not 25.0k"), "the worst of each page: {text}");
    assert!(text.contains("\n1 page has no finding\n1 file skipped\n"), "{text}");
    let all = String::from_utf8(rig.iotax(&["audit", "all", "-v"]).stdout).unwrap();
    assert!(all.contains("\nall/a.md: ") && all.contains("--> all/b/bad.md:8:15"), "{all}");
}

#[test]
fn a_page_that_cannot_be_read_is_told_and_the_others_are_audited() {
    let rig = Rig::new();
    let bad = page(&rig, "bad.md", LOST_CARRY);
    std::fs::create_dir(rig.path("empty")).unwrap();
    let output = rig.iotax(&["audit", "none.md", &bad, "/dev/zero", "empty"]);
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("iotax: none.md: there is no such file\n"), "{words}");
    assert!(words.contains("/dev/zero: it is a device, no page; hint: "), "{words}");
    assert!(words.contains("empty: there is no file in this folder that is not hidden"), "{words}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("wrong-figure[N2]"));
}

#[test]
fn bad_words_get_the_nearest_known_one() {
    let rig = Rig::new();
    let bad = page(&rig, "bad.md", LOST_CARRY);
    for (args, parts) in [
        (&["--only", "F11"][..], &["did you mean", "F1", "iotax audit --rules"][..]),
        (&["--fail-on", "wrong-figures"], &["wrong-figure", "never"]),
        (&["--show", "nothing"], &["wrong-conclusion, wrong-figure, ambiguous, cosmetic"]),
        (&["--format", "csv"], &["terminal, markdown, html, sarif, json"]),
        (&["--only", "F4", "--without", "F1"], &["cannot be used with"]),
        (&["-o", "x.pdf"], &["unknown ending \"pdf\"", "sarif"]),
        (&["-o", "none/x.html"], &["mkdir -p"]),
        (&["-", "-"], &["named twice"]),
    ] {
        rig.complains(2, &[&["audit", bad.as_str()], args].concat(), parts);
    }
    // Nothing was left behind.
    assert_eq!(std::fs::read_dir(rig.path(".")).unwrap().count(), 1);
}

#[test]
fn the_ending_of_the_output_is_its_form_and_paths_are_references() {
    let rig = Rig::new();
    let bad = page(&rig, "a b/bad.md", LOST_CARRY);
    for (name, begins) in [
        ("x.html", "<!DOCTYPE html>"),
        ("x.md", "# iotax audit"),
        ("x.sarif", "{\n  \"$schema\": "),
        ("x.json", "{\n  \"format\": \"iotax-audit\""),
        ("x.txt", "a b/bad.md: "),
    ] {
        assert_eq!(rig.expect(1, &["audit", &bad, "-o", name]), "");
        let text = std::fs::read_to_string(rig.path(name)).unwrap();
        assert!(text.starts_with(begins) && text.contains("N2"), "{name}: {text}");
    }
    let all = rig.expect(1, &["audit", &bad, "--verbose"]);
    assert_eq!(std::fs::read_to_string(rig.path("x.txt")).unwrap(), all, "a file has all");
    let found = json(&std::fs::read_to_string(rig.path("x.sarif")).unwrap());
    let result =
        found["runs"][0]["results"].as_array().unwrap().iter().find(|one| one["ruleId"] == "N2");
    let place = &result.unwrap()["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/bad.md");
    let region =
        ["startLine", "startColumn", "endColumn"].map(|key| place["region"][key].as_u64().unwrap());
    assert_eq!(region, [8, 15, 20]);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let rig = Rig::new();
    // More than a pipe holds.
    let pages: Vec<String> = (0..200)
        .map(|at| page(&rig, &format!("{at}.md"), &LOST_CARRY.replace("w:", &format!("w{at}:"))))
        .collect();
    let mut args = vec!["audit", "-v"];
    args.extend(pages.iter().map(String::as_str));
    let mut child = rig.spawn(&args);
    let mut first = [0; 16];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn the_page_of_docs_is_what_the_program_says() {
    const DOCS: &str = include_str!("../../docs/audit.md");
    let fenced = |kind: &str| {
        let (_, rest) = DOCS.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let rig = Rig::new();
    let name = page(&rig, "fio.md", fenced("fio.md"));
    let text = rig.expect(1, &["audit", &name]);
    assert!(text.starts_with(fenced("terminal")), "{text}");
    let found = json(&rig.expect(1, &["audit", &name, "--only", "N2", "--format", "json"]));
    assert_eq!(found, json(fenced("json")));
    let known = iotax_hardware::ratings::builtin_ratings();
    assert!(known.with_user_file(fenced("own.toml")).is_ok());
    let fault =
        known.with_user_file(&fenced("own.toml").replace("7000MB/s", "9000MB/s")).err().unwrap();
    let told = format!("`own.toml:{}: key \"{}\": {}`", fault.line, fault.key, fault.why);
    assert!(DOCS.contains(&told), "{told}");
    let acme = page(&rig, "acme.md", fenced("acme.md"));
    assert_eq!(rig.expect(0, &["audit", &acme]), fenced("terminal of acme.md"));
    for severity in ["wrong-conclusion", "wrong-figure", "ambiguous", "cosmetic"] {
        assert!(DOCS.contains(&format!("| `{severity}` |")));
    }
}

#[test]
fn of_a_folder_pages_without_figures_are_one_line() {
    let rig = Rig::new();
    page(&rig, "all/bad.md", LOST_CARRY);
    page(&rig, "all/none.md", "A page about disks.\n");
    page(&rig, "all/other.md", "Another page about disks.\n");
    let text = rig.expect(1, &["audit", "all"]);
    assert!(text.contains("\n2 pages have no figures: all/none.md, all/other.md\n"), "{text}");
}

#[test]
fn claims_are_listed_for_spreadsheets_and_programs() {
    let rig = Rig::new();
    let (bad, good) = (page(&rig, "bad.md", LOST_CARRY), page(&rig, "good.md", &sound()));
    rig.expect(1, &["audit", &bad, &good, "--claims", "all.json"]);
    let all = json(&std::fs::read_to_string(rig.path("all.json")).unwrap());
    let counted =
        json(&rig.expect(1, &["audit", &bad, &good, "--format", "json", "--claims", "all.csv"]));
    let claims = all["claims"].as_array().unwrap();
    let counts: u64 =
        counted["claims"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(claims.len() as u64, counts);
    assert!(
        claims
            .iter()
            .any(|one| one["printed"] == "25.0k" && one["line"] == 8 && one["why"] == "N2")
    );
    let sheet = std::fs::read_to_string(rig.path("all.csv")).unwrap();
    assert_eq!(sheet.lines().count() as u64, counts + 1);
    for (file, why) in [
        ("all.pdf", "known are csv, json"),
        ("no/all.csv", "--claims no/all.csv: there is no folder"),
    ] {
        let words = rig.complaint(2, &["audit", &bad, "--claims", file]);
        assert!(words.contains(why) && !rig.path(file).exists(), "{words}");
    }
}

#[test]
fn pages_stay_as_they_are_and_nothing_audited_is_no_success() {
    let rig = Rig::new();
    let bad = page(&rig, "bad.md", LOST_CARRY);
    for written in [["-o", "bad.md"], ["--claims", "bad.csv"], ["-o", "./x/../bad.md"]] {
        std::fs::create_dir_all(rig.path("x")).unwrap();
        let named = page(&rig, written[1], LOST_CARRY);
        let refused =
            rig.command(&[&["audit", &bad, &named], &written[..]].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{written:?}");
        assert_eq!(std::fs::read_to_string(rig.path(written[1])).unwrap(), LOST_CARRY);
    }
    let within = page(&rig, "x/page.md", LOST_CARRY);
    let words = rig.complaint(2, &["audit", "x", "-o", &within]);
    assert!(
        words.contains("is one of the pages in x; hint: write outside of that folder"),
        "{words}"
    );
    std::fs::write(rig.path("only.png"), b"\x89PNG\r\n").unwrap();
    rig.expect(2, &["audit", "only.png"]);
    rig.expect(1, &["audit", "only.png", &bad]);
}

#[test]
fn a_page_becomes_the_draft_of_a_scenario_that_plan_reads() {
    let rig = Rig::new();
    let page = page(
        &rig,
        "page.md",
        "# Drives\n\n| | Host | VM (cache=none) |\n|---|---|---|\n| 4k random read IOPS | 20.0k | 15.0k |\n\n\
         | | MEMCPY |\n|---|---|\n| Host | 7578 MiB/s |\n",
    );
    let written = rig.complaint(0, &["audit", &page, "--scenario", "out.toml"]);
    for words in [
        "written: out.toml: 2 stacks, 1 load, 2 figures, stacks to fill in: 0; then: iotax plan out.toml",
        "written: out-machine.toml: 1 stack, 1 load, 1 figure, stacks to fill in: 0",
    ] {
        assert!(flat(&written).contains(words), "{written}");
    }
    // Only the drive is left to be said, and plan says where.
    rig.complains(2, &["plan", "out.toml"], &["out.toml:", "path"]);
    let draft = std::fs::read_to_string(rig.path("out.toml")).unwrap();
    let disk = rig.path("x.img");
    let said = format!("[device.disk]\npath = \"{}\"\nsize = \"64MiB\"\n", disk.display());
    std::fs::write(rig.path("out.toml"), draft.replace("[device.disk]\n", &said)).unwrap();
    rig.expect(0, &["plan", "out.toml", "--only", "host"]);
    rig.expect(0, &["plan", "out-machine.toml"]);
    let draft = std::fs::read_to_string(rig.path("out.toml")).unwrap();
    assert!(draft.contains("layers = [\"vm(cache=none)\"]"), "{draft}");
    assert!(draft.contains("printed = [\"20.0k\", \"15.0k\"]"), "{draft}");
    for (words, why) in [
        (&["audit", &page, "--scenario", "out.toml"][..], "out.toml: it exists"),
        (&["audit", &page, "--scenario", "out.json"], "a scenario is a file of .toml"),
        (&["audit", &page, &page, "--scenario", "new.toml"], "a draft is of one page"),
        (&["audit", ".", "--scenario", "new.toml"], "a draft is of one page"),
        (&["audit", &page, "--scenario", "none/new.toml"], "there is no folder none"),
    ] {
        rig.complains(2, words, &["--scenario ", why]);
    }
    assert_eq!(std::fs::read_to_string(rig.path("out.toml")).unwrap(), draft, "kept");
    assert!(!rig.path("new.toml").exists());
}

/// A page of the house, in a real browser too (page.rs): made here, where the other forms are.
pub fn made(rig: &Rig) -> PathBuf {
    let bad = page(rig, "results/bad.md", LOST_CARRY);
    let good = page(rig, "results/good.md", &sound());
    rig.expect(1, &["audit", &bad, &good, "-o", "audit.html"]);
    rig.path("audit.html")
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let rig = Rig::new();
    let bad = page(&rig, "bad.md", LOST_CARRY);
    if !crate::rig::can_run(&["script"]) {
        return;
    }
    let on_a_terminal = |more: &[(&str, &str)]| {
        let line = format!("{} audit {bad}", crate::rig::program().display());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(rig.path(".")).stdin(Stdio::null());
        command.env("TERM", "xterm").env_remove("NO_COLOR").envs(more.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(on_a_terminal(&[]).contains("\x1b[1;31mwrong-figure[N2]\x1b[0m"));
    assert!(!on_a_terminal(&[("NO_COLOR", "1")]).contains('\x1b'));
    assert!(!on_a_terminal(&[("TERM", "dumb")]).contains('\x1b'));
    assert!(on_a_terminal(&[("NO_COLOR", "")]).contains('\x1b'));
}
