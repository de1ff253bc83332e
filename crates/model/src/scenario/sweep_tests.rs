//! Tests of sweeps on the command line and in scenario files.

use super::super::check::{ScenarioRequest, from_path, from_stacks};
use super::super::{Scenario, Workload};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const STACKS: [&str; 1] = ["file:/srv/x.img,size=4GiB"];

fn asked(words: &[(&str, &str)]) -> Result<Scenario, InputError> {
    let words = words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    from_stacks(
        &STACKS.map(str::to_owned),
        &ScenarioRequest { words, ..ScenarioRequest::default() },
    )
}

fn written(text: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    std::fs::write(&path, format!("[stack.a]\ntext = \"{}\"\n{text}", STACKS[0])).unwrap();
    let prefix = format!("{}/", folder.path().display());
    from_path(&path, &ScenarioRequest::default())
        .map_err(|error| error.to_string().replace(&prefix, ""))
}

fn listing(workloads: &[Workload]) -> String {
    let mut text = String::new();
    for workload in workloads {
        let sweep = workload.sweep.as_ref().unwrap();
        let at: Vec<String> =
            sweep.at.iter().map(|at| format!("{}={}", at.word, at.value)).collect();
        let (name, common, own) = (&workload.name, workload.sweep_subject(), workload.subject());
        writeln!(text, "{name}: {} at {}\n    {common}; {own}", sweep.sweep, at.join(" ")).unwrap();
    }
    text
}

#[test]
fn both_spellings_and_scenario_files_say_the_same() {
    let plain = asked(&[("iodepth", "1,4,16")]).unwrap().workloads;
    assert_eq!(plain, asked(&[("iodepth", "[1, 4,16]")]).unwrap().workloads);
    for list in ["[1, 4, 16]", "\"1,4,16\"", "\"[1,4,16]\"", "[\"1\", 4, \"16\",]"] {
        let text = format!("[[workload]]\niodepth = {list}\n");
        assert_eq!(written(&text).unwrap().workloads, plain, "{list}");
    }
    let depths: Vec<u32> = plain.iter().map(|workload| workload.jobs[0].iodepth).collect();
    assert_eq!(depths, [1, 4, 16]);
}

#[test]
fn points_of_sweeps() {
    let text = "[[workload]]\nbs = [\"4k\", \"64k\", \"1MiB\"]\nengine = \"uring\"\n\
        [[workload]]\nname = \"grid\"\nrw = \"randwrite\"\niodepth = [1, 8]\nbs = [\"4k\", \"8k\"]\n\
        [[workload]]\nrate_iops = [1000, 2000]\nnumjobs = [1, 2]\niodepth = 4\n\
        [[workload]]\nrate_iops = [1000, 2000]\nnumjobs = [2, 1]\niodepth = 4\n";
    let scenario = written(text).unwrap();
    insta::assert_snapshot!(listing(&scenario.workloads));
    assert!(scenario.workloads[..3].iter().all(|workload| workload.engine.is_some()));
}

#[test]
fn a_list_of_one_is_that_value() {
    let one = asked(&[("iodepth", "[4]")]).unwrap().workloads;
    assert_eq!(one, asked(&[("iodepth", "4")]).unwrap().workloads);
    assert_eq!(asked(&[("iodepth", "[4]"), ("bs", "[4k,8k]")]).unwrap().workloads.len(), 2);
}

#[test]
fn a_workload_of_an_older_run_is_read_and_one_without_a_sweep_is_written_as_before() {
    let workload = &asked(&[]).unwrap().workloads[0];
    let text = serde_json::to_string(workload).unwrap();
    assert!(!text.contains("sweep"), "{text}");
    assert_eq!(&serde_json::from_str::<Workload>(&text).unwrap(), workload);
    let point = &asked(&[("bs", "[4k,8k]")]).unwrap().workloads[1];
    let text = serde_json::to_string(point).unwrap();
    assert_eq!(&serde_json::from_str::<Workload>(&text).unwrap(), point);
}

#[test]
fn refused_sweeps() {
    let many = format!("[{}]", (1..=65).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let nine = "[1,2,3,4,5,6,7,8,9]";
    let on_the_command_line: [&[(&str, &str)]; 16] = [
        &[("bs", "4k,64k")],
        &[("rate_iops", "1000,2000")],
        &[("iodepth", "[1,4")],
        &[("iodepth", "[]")],
        &[("iodepth", "[1,,4]")],
        &[("iodepth", "1,4,")],
        &[("iodepth", "1,x")],
        &[("iodepth", "[1,[4]]")],
        &[("iodepth", "1,4,1")],
        &[("iodepth", "1,2"), ("bs", "[4k,8k,4KiB]")],
        &[("rw", "[read,write]")],
        &[("percentage_random", "[0,100]")],
        &[("rate_iops", "[0,1000]")],
        &[("iodepth", &many)],
        &[("iodepth", nine), ("numjobs", nine)],
        &[("iodepth", "1,2"), ("bs", "[4k,8k]"), ("numjobs", "1,2")],
    ];
    let in_a_file = [
        "[[workload]]\nbs = \"4k,64k\"\n",
        "[[workload]]\nbs = [\"4k\", \"64x\"]\n",
        "[[workload]]\nbs = [\n  \"4k\",\n  4096,\n]\n",
        "[[workload]]\niodepth = [1, [2, 3]]\n",
        "[[workload]]\niodepth = []\n",
        "[[workload]]\niodepth = [1, 4.5]\n",
        "[[workload]]\nrw = [\"read\", \"write\"]\n",
        "[[workload]]\nname = [\"a\", \"b\"]\niodepth = 1\n",
        "[[workload]]\nengine = [\"sync\", \"uring\"]\niodepth = 1\n",
        "[[workload]]\nengine = \"sync\"\niodepth = [1, 4]\n",
        "[measure]\nbudget = [\"1min\", \"2min\"]\n",
    ];
    let mut table = String::new();
    for words in on_the_command_line {
        let error = asked(words).map(|_| ()).unwrap_err();
        let shown: Vec<String> =
            words.iter().map(|(key, value)| format!("--{key} {value}")).collect();
        writeln!(table, "{}\n    {error}", shown.join(" ").replace(&many, "[1,...,65]")).unwrap();
    }
    for text in in_a_file {
        writeln!(table, "{text:?}\n    {}", written(text).map(|_| ()).unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_list_is_not_fios() {
    for (word, value) in
        [("iodepth", "1,4"), ("numjobs", "[1,2]"), ("bs", "[4k,8k]"), ("rw", "[read]")]
    {
        let fault = refuse_in_job_file(word, value).unwrap_err();
        assert!(fault.hint.unwrap().contains("scenario file"), "{word}");
    }
    for (word, value) in
        [("bs", "4k,8k"), ("rate_iops", "1,2"), ("percentage_random", "0,100"), ("iodepth", "4")]
    {
        assert_eq!(refuse_in_job_file(word, value), Ok(()), "{word}");
    }
}

proptest! {
    /// The first list varies fastest, and every pair is there once.
    #[test]
    fn a_grid_has_every_point_once(
        depths in prop::collection::btree_set(1u32..500, 2..8),
        blocks in prop::collection::btree_set(1u64..200, 2..8),
        bs_first: bool,
    ) {
        let list = |items: Vec<String>| format!("[{}]", items.join(","));
        let depth_list = list(depths.iter().map(u32::to_string).collect());
        let block_list = list(blocks.iter().map(|kib| format!("{kib}k")).collect());
        let mut words = [("iodepth", depth_list.as_str()), ("bs", block_list.as_str())];
        if bs_first { words.reverse(); }
        let workloads = asked(&words).unwrap().workloads;
        let found: Vec<(u64, u64)> = workloads.iter().map(|workload| {
            let job = &workload.jobs[0];
            let (depth, block) = (u64::from(job.iodepth), job.bs / 1024);
            let at: Vec<u64> = workload.sweep.as_ref().unwrap().at.iter().map(|at| at.value).collect();
            assert_eq!(at, if bs_first { [job.bs, depth] } else { [depth, job.bs] });
            (depth, block)
        }).collect();
        let pairs = |block: &u64| depths.iter().map(|depth| (u64::from(*depth), *block)).collect::<Vec<_>>();
        let mut expected: Vec<(u64, u64)> = blocks.iter().flat_map(pairs).collect();
        if bs_first { expected.sort(); }
        prop_assert_eq!(found, expected);
        let names: BTreeSet<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        prop_assert_eq!(names.len(), workloads.len());
        let sweeps: BTreeSet<&str> =
            workloads.iter().filter_map(|workload| Some(workload.sweep.as_ref()?.sweep.as_str())).collect();
        prop_assert_eq!(sweeps.len(), 1);
    }

    #[test]
    fn arbitrary_lists_never_panic(word in 0..SWEPT.len(), text in "[\\[\\],0-9k ]{0,12}") {
        let _ = asked(&[(SWEPT[word].word, &text)]);
    }
}
