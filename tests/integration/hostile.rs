//! Names by somebody who means ill, in scenarios, stored runs, pages and on the command line:
//! nothing that the program prints or writes acts on a terminal or in a spreadsheet.

use crate::rig::Rig;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;

const BEFORE: &str = "=cmd|x";
const BEHIND: &str = "\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\nFAKE: 100 %|<script>";

fn hostile(name: &str) -> String {
    format!("{BEFORE}{name}{BEHIND}")
}

/// Nothing of it acts; how it looks in HTML is up to a browser.
fn check(what: &str, form: &str, text: &str) {
    let acts = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.lines().find(|line| line.contains(acts)), None, "{what}");
    if form == "html" {
        // The page's own script is the only one; its policy lets no other run.
        let (before, own) = text.split_once("<script>// Behaviour of a report's page").unwrap();
        let after = own.split_once("</script>").unwrap().1;
        assert!(![before, after].iter().any(|part| part.contains("<script")), "{what}: {text}");
    } else {
        assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{what}: {text}");
    }
    if form == "csv" {
        let cells = text.lines().flat_map(|line| line.split(','));
        assert!(
            !cells.clone().any(|cell| cell.trim_start_matches('"').starts_with('=')),
            "{what}: {text}"
        );
        assert!(cells.count() > 10, "{what}: {text}");
    }
}

/// Runs it, checks all that it prints, and gives its exit code with that.
fn prints(rig: &Rig, args: &[&str]) -> (Option<i32>, String) {
    let output = rig.iotax(args);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let form = args.iter().position(|word| *word == "--format").map_or("", |at| args[at + 1]);
    check(&args.join(" "), if args.contains(&"--output") { "" } else { form }, &text);
    (output.status.code(), text)
}

#[test]
fn a_scenario() {
    let rig = Rig::new();
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let path = |name: &str| quoted(rig.path(&hostile(name)).to_str().unwrap());
    let head = format!("name = {}\n", quoted(&hostile("n")));
    let devices = format!(
        "[device.d]\npath = {}\nsize = \"64MiB\"\n[stack.a]\ntext = \"d\"\n[stack.b]\ntext = \"d | delay(us=9)\"\n",
        path("d")
    );
    let load = "[[workload]]\nrw = \"randread\"\niodepth = [1, 4]\n";
    let published = format!(
        "[published]\nsource = {}\nhardware = {}\nnote = {}\nstacks = [\"a\", \"b\"]\n\
         figures = [{{ workload = \"w\", metric = \"iops\", printed = [\"9k\", \"8k\"] }}]\n",
        quoted(&hostile("s")),
        quoted(&hostile("h")),
        quoted(&hostile("o"))
    );
    let named = "[[workload]]\nname = \"w\"\nrw = \"randread\"\n";
    for text in [format!("{head}{devices}{load}"), format!("{head}{devices}{named}{published}")] {
        std::fs::write(rig.path("s.toml"), &text).unwrap();
        for command in [&["plan", "s.toml"][..], &["plan", "-v", "--commands", "s.toml"]] {
            let (code, said) = prints(&rig, command);
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("\\u{1b}[2J"), "it is shown: {said}");
        }
    }
    // Names of stacks, places and loads that may not be so are refused with what they hold.
    for (what, key) in [("stack", "text"), ("device", "path"), ("place", "ssh")] {
        let text = format!("[{what}.{}]\n{key} = \"/d\"\n{load}", quoted(&hostile("a")));
        std::fs::write(rig.path("s.toml"), text).unwrap();
        let (code, said) = prints(&rig, &["plan", "s.toml"]);
        assert!(code == Some(2) && said.contains("\\u{1b}[2J"), "{said}");
    }
}

#[test]
fn a_stored_run() {
    let rig = Rig::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-v3");
    let index = std::fs::read_to_string(golden.join("index.jsonl")).unwrap();
    // The last line is torn.
    let parsed = index.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let records: Vec<Value> = parsed.map(|line| line["rec"].clone()).collect();
    let names = ["file", "4k-randread", "file:/srv/x.img,size=1GiB", "iotax"];
    let ids = ["20260102-030405-a1b2", "20260102-030405-a1b3"];
    for id in ids {
        let folder = rig.runs().join(id);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(golden.join("histograms.seg"), folder.join("histograms.seg")).unwrap();
        let lines: String =
            records.iter().map(|record| enclosed(&remade(record, &names), id)).collect();
        std::fs::write(folder.join("index.jsonl"), lines).unwrap();
    }
    for form in ["terminal", "markdown", "html", "json", "csv"] {
        let (code, text) = prints(&rig, &["report", ids[0], "-v", "--format", form]);
        assert_eq!(code, Some(0), "{text}");
        let shown = if form == "json" { "\\u001b" } else { "u{1b}" };
        assert!(text.contains(shown), "{form} shows what is there: {text}");
        let file = format!("r.{form}");
        prints(&rig, &["report", ids[0], "--format", form, "--output", &file]);
        check(&file, form, &std::fs::read_to_string(rig.path(&file)).unwrap());
        if ["terminal", "markdown", "json"].contains(&form) {
            prints(&rig, &["compare", ids[0], ids[1], "--format", form]);
        }
    }
    let (code, text) = prints(&rig, &["list"]);
    assert!(code == Some(0) && text.contains("=cmd|xfile\\u{1b}"), "{text}");
    prints(&rig, &["resume", ids[0]]);
    prints(&rig, &["clean", "--dry-run"]);
    prints(&rig, &["clean"]);
    // A record that is none of its kind is told with its words.
    let broken = rig.runs().join("20260102-030405-a1b4");
    std::fs::create_dir_all(&broken).unwrap();
    let record: Value = serde_json::json!({"record": "run", hostile("key"): hostile("value")});
    std::fs::write(broken.join("index.jsonl"), enclosed(&record, "x")).unwrap();
    assert_eq!(prints(&rig, &["report", "20260102-030405-a1b4"]).0, Some(2));
    prints(&rig, &["list"]);
}

/// With those names hostile, wherever they are.
fn remade(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::String(text) if names.contains(&text.as_str()) => hostile(text).into(),
        Value::Array(all) => all.iter().map(|one| remade(one, names)).collect(),
        // The kind of a medium and of a record is a word of the format.
        Value::Object(all) => {
            let is_word = |key: &str| ["medium", "record", "layer"].contains(&key);
            let one = |(key, one): (&String, &Value)| match one {
                Value::String(_) if is_word(key) => (key.clone(), one.clone()),
                _ => (key.clone(), remade(one, names)),
            };
            all.iter().map(one).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// The line of a record, under another id.
fn enclosed(record: &Value, id: &str) -> String {
    let mut record = record.clone();
    if record["record"] == "run" {
        record["id"] = id.into();
    }
    let text = serde_json::to_string(&record).unwrap();
    let crc = crc32fast::hash(text.as_bytes());
    format!("{{\"v\":3,\"len\":{},\"crc\":\"{crc:08x}\",\"rec\":{text}}}\n", text.len())
}

#[test]
fn a_page() {
    let rig = Rig::new();
    let name = format!("{}.md", hostile("page").replace('/', "_"));
    let cell = hostile("host").replace(['\n', '|'], " ");
    let text = format!(
        "| test | {cell} |\n|---|---|\n| {cell} 4k | 25.0k |\n| b | {cell} |\n\n\
         Losses of 94 % (\u{1b}]0;x\u{7} 250 against 200 MB/s).\n\n\
         w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=1\n fio-3.16\n\
         w: (groupid=0, jobs=4): err= 0: pid=1\u{202e}: Fri Apr 12 13:55:32 2024\n  \
         write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n     \
         issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    );
    std::fs::write(rig.path(&name), text).unwrap();
    let mut codes = BTreeSet::new();
    for form in ["terminal", "markdown", "html", "json", "sarif"] {
        codes.insert(prints(&rig, &["audit", &name, "--format", form]).0);
    }
    assert_eq!(codes, BTreeSet::from([Some(1)]), "the same is found in every form");
    for form in ["csv", "json"] {
        let list = format!("claims.{form}");
        prints(&rig, &["audit", &name, "--claims", &list]);
        check(&list, form, &std::fs::read_to_string(rig.path(&list)).unwrap());
    }
    prints(&rig, &["import", &name]);
    prints(&rig, &["list"]);
}

#[test]
fn the_command_line() {
    let rig = Rig::new();
    let name = hostile("x");
    let file = format!("file:{}", rig.path(&name).display());
    let made = format!("{file},size=1MiB");
    let there = rig.file("x.img", 64);
    let option = format!("--x{BEHIND}");
    for args in [
        &["run", &file][..],
        &["run", &format!("{file}/x,size=1MiB")],
        &["plan", &made],
        &["plan", &made, "--commands"],
        &["plan", &made, "-v"],
        &["run", &name],
        &["run", &there, "--rw", &name],
        &["run", &there, "--bs", &name],
        &["run", &there, &option],
        &["run", &there, "--baseline", &name],
        &["run", &there, "--destroy", &format!("serial={name}")],
        &["report", &name],
        &["report", &format!("./{name}")],
        &["report", "last", "--format", &name],
        &["compare", &name, &name],
        &["audit", &name],
        &["audit", &name, "--only", &name],
        &["import", &name],
        &["doctor", "--require", &name],
        &[&name],
    ] {
        let (code, text) = prints(&rig, args);
        assert!(code.is_some_and(|code| code != 4), "{args:?}: {text}");
        assert!(text.contains("u{") || code == Some(0), "{args:?} shows it: {text}");
    }
}
