//! Tests of complete requests to run and plan.

use super::*;
use crate::layer;
use crate::scenario::Regime;
use crate::stack::Face;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

fn stacks(exprs: &[&str]) -> Result<Scenario, InputError> {
    with(exprs, &ScenarioRequest::default())
}

fn with(exprs: &[&str], request: &ScenarioRequest) -> Result<Scenario, InputError> {
    let exprs: Vec<String> = exprs.iter().map(|text| (*text).to_owned()).collect();
    from_arguments(&exprs, request)
}

fn names(exprs: &[&str]) -> Vec<String> {
    stacks(exprs).unwrap().stacks.into_iter().map(|stack| stack.name).collect()
}

const FILE: &str = "file:/srv/x.img,size=4GiB";

#[test]
fn two_stacks_of_the_command_line() {
    let scenario =
        stacks(&[FILE, "file:/srv/x.img,size=4GiB|loop()|fs( xfs )|delay(us = 2.5us)"]).unwrap();
    insta::assert_json_snapshot!(scenario);
}

#[test]
fn what_is_filled_is_of_the_kind_that_the_first_load_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fio");
    let of = |jobs: &str| {
        std::fs::write(&path, jobs).unwrap();
        let scenario = with(&[path.to_str().unwrap(), FILE], &ScenarioRequest::default()).unwrap();
        let said = scenario.notes.iter().any(|note| note.contains("different kinds of data"));
        (scenario.data(), scenario.workloads[0].subject(), said)
    };
    let (data, subject, said) = of("[a]\nrw=randwrite\nbs=16k\n");
    assert!(data.is_unique() && !said && !subject.contains('%'), "{data:?} {subject}");
    let (data, subject, said) =
        of("[a]\nrw=randwrite\nbs=16k\nbuffer_compress_percentage=50\ndedupe_percentage=30\n");
    assert_eq!((data.compress_percent, data.dedupe_percent, data.unit), (50, 30, 16 << 10));
    assert!(subject.ends_with(", 50 % compressible, 30 % duplicates") && !said, "{subject}");
    // A load that only reads states what there is to be read.
    let (data, subject, said) =
        of("[a]\nrw=randread\nbs=4k\n[b]\nstonewall\nrw=randread\ndedupe_percentage=40\n");
    assert_eq!((data.dedupe_percent, data.unit, said), (40, 4096, false));
    assert!(!subject.contains('%'), "{subject}");
    let two =
        "[a]\nrw=write\ndedupe_percentage=10\n[b]\nstonewall\nrw=write\ndedupe_percentage=20\n";
    assert!(of(two).2);
}

#[test]
fn size_on_the_command_line_is_that_of_all_loads_of_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let text = "[stack.file]\ntext = \"file:/srv/x.img,size=4GiB\"\n[[workload]]\nrw = \"randread\"\nsize = \"2GiB\"\n\
                [[workload]]\nrw = \"randwrite\"\n";
    std::fs::write(&path, text).unwrap();
    let words = |words: &[(&str, &str)]| {
        let words =
            words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        from_path(&path, &ScenarioRequest { words, ..ScenarioRequest::default() })
    };
    let sizes = |scenario: Scenario| -> Vec<Option<u64>> {
        scenario.workloads.iter().flat_map(|workload| &workload.jobs).map(|job| job.size).collect()
    };
    assert_eq!(sizes(words(&[]).unwrap()), [Some(2 << 30), None]);
    assert_eq!(sizes(words(&[("size", "1GiB")]).unwrap()), [Some(1 << 30); 2]);
    assert!(words(&[("size", "5GiB")]).unwrap_err().to_string().contains("command line"));
    let refused = words(&[("size", "1GiB"), ("bs", "8KiB")]).unwrap_err().to_string();
    assert!(refused.contains("only --size can be combined"), "{refused}");
}

#[test]
fn a_file_of_another_host_has_one_size_and_is_kept_if_any_stack_says_so() {
    let there = |options: &str| format!("ssh:vm1:/srv/x.img{options}");
    let of = |texts: &[String]| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        stacks(&texts).map_err(|error| error.to_string())
    };
    let kept = of(&[there(",size=1GiB"), there(",size=1GiB,keep=true") + " | loop"]).unwrap();
    assert!(
        kept.stacks.iter().all(|stack| stack.medium.medium_text() == there(",size=1GiB,keep=true")),
        "{:?}",
        kept.stacks
    );
    let refused = |texts: &[String]| of(texts).unwrap_err();
    let two = refused(&[there(",size=1GiB"), there(",size=2GiB") + " | loop"]);
    assert!(two.contains("ssh:vm1:/srv/x.img is given two sizes"), "{two}");
    assert!(refused(&[there(",keep=true")]).contains("keep=true requires size="));
    assert!(refused(&[there(",size=1GiB,keep=true,agent=fio")]).contains("always removed"));
    let restarted = refused(&[there(",size=1GiB") + " | domain(cache=none)"]);
    assert!(restarted.contains("\"domain\" restarts the machine"), "{restarted}");
    let other_host = there(",size=2GiB").replace("vm1", "vm2");
    assert!(of(&[there(",size=1GiB"), other_host]).is_ok());
}

#[test]
fn fio_on_the_baseline_is_a_stack_of_its_own() {
    let ask = |bill| ScenarioRequest {
        bill,
        measure: vec![("fio_on_baseline".into(), "true".into())],
        ..ScenarioRequest::default()
    };
    let looped = "file:/srv/x.img,size=4GiB | loop";
    let scenario = with(&[FILE, looped], &ask(false)).unwrap();
    let last = scenario.stacks.last().unwrap();
    assert_eq!(
        (scenario.stacks.len(), scenario.baseline, last.name.as_str()),
        (3, 0, "fio on file")
    );
    let (text, parsed) = (last.text.clone(), stacks(&[FILE, &last.text]).unwrap());
    assert_eq!(parsed.stacks[1].text, text, "it is the stack that one would write");
    assert_eq!(with(&[FILE, &text], &ask(false)).unwrap().stacks.len(), 2, "it is there already");
    let refused = |exprs: &[&str], bill| with(exprs, &ask(bill)).unwrap_err().to_string();
    assert!(refused(&[looped], true).contains("a bill has a line for each layer"));
    let delayed = "file:/srv/x.img,size=4GiB | delay(50us)";
    assert!(refused(&[delayed, FILE], false).contains("itself of a generator"));
    let trials = ScenarioRequest { durability: Some("trials=5".into()), ..ask(false) };
    let words = |rw: &str, more: &[(&str, &str)]| {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        ScenarioRequest { words: [("rw", rw)].iter().chain(more).map(own).collect(), ..ask(false) }
    };
    let guest = "file:/srv/x.img,size=4GiB | vm";
    for (stack, request, why) in [
        (guest, trials, "durability trials have a load of their own"),
        (FILE, words("randwrite", &[("verify", "1")]), "verified by stamps"),
        (FILE, words("randtrim", &[]), "a load trims"),
    ] {
        let refused = with(&[stack, looped], &request).unwrap_err().to_string();
        let place = "command line: key \"fio_on_baseline\": ";
        assert!(refused.starts_with(place) && refused.contains(why), "{refused}");
        assert!(refused.contains("hint: leave it out"), "{refused}");
    }
}

#[test]
fn a_bill() {
    let request = ScenarioRequest { bill: true, ..ScenarioRequest::default() };
    let scenario =
        with(&["file:/srv/x.img,size=4GiB | loop | fs(xfs) | delay(50) | delay(50)"], &request)
            .unwrap();
    let lines: Vec<_> =
        scenario.stacks.iter().map(|stack| format!("{} = {}", stack.name, stack.text)).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(scenario.bill && scenario.baseline == 0);
}

#[test]
fn a_bill_without_a_load_is_measured_at_two_depths() {
    let depths = |request: &ScenarioRequest| -> (Vec<u32>, bool) {
        let scenario = with(&["file:/srv/x.img,size=4GiB | loop"], request).unwrap();
        let said = scenario
            .notes
            .iter()
            .any(|note| note.contains("iodepth 1 (microseconds an I/O) and at iodepth 32"));
        (scenario.workloads.iter().map(|workload| workload.jobs[0].iodepth).collect(), said)
    };
    let bill = ScenarioRequest { bill: true, ..ScenarioRequest::default() };
    let words = |depth: &str| vec![("iodepth".to_owned(), depth.to_owned())];
    assert_eq!(depths(&bill), (BILL_DEPTHS.to_vec(), true));
    assert_eq!(depths(&ScenarioRequest { words: words("8"), ..bill.clone() }), (vec![8], false));
    assert_eq!(
        depths(&ScenarioRequest { engine: Some("sync".into()), ..bill.clone() }),
        (vec![1], false)
    );
    assert_eq!(depths(&ScenarioRequest::default()), (vec![1], false), "a comparison is no bill");
    let scenario = with(&["file:/srv/x.img,size=4GiB | loop"], &bill).unwrap();
    assert_eq!(scenario.workloads[1].kind_subject(), "4k random reads");
    assert_ne!(scenario.workloads[0].name, scenario.workloads[1].name);
}

#[test]
fn attaches_are_one_unless_asked_for() {
    let asked = |word: &str| {
        let measure = vec![("attaches".to_owned(), word.to_owned())];
        with(&[FILE], &ScenarioRequest { measure, ..ScenarioRequest::default() })
            .map(|scenario| scenario.measure.attaches)
    };
    assert_eq!(with(&[FILE], &ScenarioRequest::default()).unwrap().measure.attaches, 1);
    assert_eq!(asked("3").unwrap(), 3);
    assert!(asked("0").is_err() && asked("101").is_err() && asked("two").is_err());
    // A run that was recorded before attaches existed.
    let mut old = serde_json::to_value(crate::scenario::MeasureSpec::default()).unwrap();
    old.as_object_mut().unwrap().remove("attaches");
    assert_eq!(serde_json::from_value::<crate::scenario::MeasureSpec>(old).unwrap().attaches, 1);
}

#[test]
fn names_are_short_and_unique() {
    insta::assert_debug_snapshot!([
        names(&[FILE, "file:/srv/x.img,size=4GiB | vm"]),
        names(&["/dev/nvme1n1", "/dev/nvme1n1 | fs(xfs)", "/dev/nvme1n1 | fs(ext4)"]),
        names(&["file:/srv/x.img,size=4GiB | vm(cache=[none,writeback],queues=[1,4])"]),
        names(&[
            "file:/srv/x.img,size=4GiB | vm",
            "file:/srv/x.img,size=4GiB | vm(cache=writeback)"
        ]),
        names(&["file:/srv/x.img,size=4GiB | vm", "file:/srv/x.img,size=4GiB | loop | vm"]),
        names(&["file:/srv/x.img,size=4GiB", "file:/srv/y.img,size=4GiB"]),
        names(&["ssh:host1:/dev/nvme0n1", "ssh:vm7:/dev/vda", "ssh:vm7:/dev/vdb"]),
        names(&[FILE, FILE, "file:/srv/x.img,size=4GiB | null"]),
        names(&["file:/srv/x.img | loop(direct-io=[true,false]) | fs(xfs)"]),
        names(&["each([/dev/sda,/dev/sdb])", "/dev/sda", "each([/dev/sda,/dev/sdb]) | delay(5)"]),
        names(&["each([/dev/sda,/dev/sdb])", "each([/dev/sda,/dev/sdc])"]),
    ]);
}

const EACH: &str = "each([file:/srv/a.img,size=1GiB,file:/srv/b.img,size=2GiB,keep=true])";

#[test]
fn all_members_at_once() {
    let request = ScenarioRequest {
        words: vec![("size".into(), "50%".into())],
        ..ScenarioRequest::default()
    };
    let delayed = format!("{EACH} | delay(50)");
    let scenario = with(&[EACH, "file:/srv/b.img,size=2GiB", &delayed], &request).unwrap();
    assert_eq!(scenario.workloads[0].jobs[0].size, Some(512 << 20), "half of the smallest member");
    assert_eq!(
        scenario.stacks[1].medium,
        scenario.stacks[0].medium.members()[1],
        "kept, as one says"
    );
    insta::assert_json_snapshot!(scenario);
}

#[test]
fn one_member_is_that_medium() {
    let scenario =
        stacks(&["each([/dev/sda])", "each([ssh:vm7:/dev/vda, ssh:vm7:/dev/vdb])"]).unwrap();
    assert_eq!(scenario.stacks[0].medium, Medium::Device { path: "/dev/sda".into() });
    assert_eq!(
        (scenario.stacks[0].text.as_str(), scenario.stacks[0].loaded_at_once()),
        ("/dev/sda", None)
    );
    let several = &scenario.stacks[1];
    assert_eq!((several.loaded_at_once(), several.medium.host()), (Some(2), Some("vm7")));
    let again = stacks(&[&several.text]).unwrap();
    assert_eq!(again.stacks[0].medium, several.medium);
}

#[test]
fn a_member_of_another_size_is_refused() {
    let error = stacks(&[EACH, "file:/srv/a.img,size=2GiB"]).unwrap_err().to_string();
    assert!(error.contains("/srv/a.img is given two sizes"), "{error}");
}

#[test]
fn the_bill_of_a_layer_that_joins_begins_with_all_members_at_once() {
    let medium = stacks(&["each([/dev/sda,/dev/sdb,/dev/sdc])"]).unwrap().stacks.remove(0).medium;
    // No layer of this version joins; every one that is not the load generator's own would.
    let layer = |name: &str| LayerSpec {
        name: name.to_owned(),
        options: BTreeMap::new(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: String::new(),
    };
    let layers = vec![layer("mdraid"), layer("null")];
    let whole = StackCell { medium, layers }.into_stack("md".into(), false);
    assert_eq!(whole.text, "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid | null");
    let prefixes = expand_bill(&whole);
    let texts: Vec<&str> = prefixes.iter().map(|stack| stack.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "each([/dev/sda,/dev/sdb,/dev/sdc])",
            "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid",
            "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid | null"
        ]
    );
    let loaded: Vec<_> = prefixes.iter().map(Stack::loaded_at_once).collect();
    assert_eq!(loaded, [Some(3), None, None]);
    assert_eq!(prefixes[0].name, "each of 3");
}

#[test]
fn a_stack_of_several_media_is_named_by_its_layers() {
    let [two, three, one] = [
        "[/dev/sda,/dev/sdb] | mdraid(level=0) | vm",
        "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid(level=0) | vm",
        "/dev/sdd | vm",
    ];
    assert_eq!(names(&[two, one]), ["mdraid(level=0) + vm", "vm"]);
    let told_apart = ["2 media | mdraid(level=0) | vm", "3 media | mdraid(level=0) | vm", "vm"];
    assert_eq!(names(&[two, three, one]), told_apart);
}

#[test]
fn a_stack_of_the_command_line_has_the_name_that_it_is_given() {
    let loops = "name=one file:/srv/x.img,size=4GiB | loop";
    assert_eq!(names(&[FILE, loops, "name=one /dev/sdz"]), ["file", "one", "one #2"]);
    let grid = "name=g file:/srv/x.img | vm(cache=[none,writeback])";
    assert_eq!(names(&[grid]), ["g cache=none", "g cache=writeback"]);
    let refused = |text: &str| stacks(&[text]).unwrap_err().to_string();
    assert!(refused("name=a|b /dev/sdz").contains("name \"a|b\" has signs"));
    assert!(refused("name=a").contains("a name without a stack"));
    let behind = refused("name=a /dev/sdz | lop");
    assert!(behind.contains("column 19") && behind.contains("lop"), "{behind}");
}

#[test]
fn a_bdev_is_for_layers_that_bring_it_to_a_kernel() {
    let refused =
        |above: &str| stacks(&[&format!("/dev/sda | spdk{above}")]).unwrap_err().to_string();
    let all = [
        refused(""),
        refused(" | delay(50)"),
        refused(" | loop"),
        refused(" | fs(xfs)"),
        refused(" | vm"),
        refused(" | vm(attach=vhost-user-blk,spdk=/run/other.sock)"),
        refused(" | vm(attach=vhost-user-blk,aio=io_uring)"),
    ];
    insta::assert_snapshot!(all.join("\n"));
    let text = "/dev/sda | spdk(rpc=/run/s.sock) | vm(attach=vhost-user-blk)";
    let vm = stacks(&[text]).unwrap().stacks.remove(0).layers.remove(1);
    assert_eq!(vm.option("spdk"), Some("/run/s.sock"), "who serves it is the target below");
}

#[test]
fn a_bill_has_no_line_of_what_cannot_be_loaded() {
    let whole = "[/dev/sda,/dev/sdb] | spdk(raid=raid1) | vm(attach=vhost-user-blk)";
    let scenario =
        with(&[whole], &ScenarioRequest { bill: true, ..ScenarioRequest::default() }).unwrap();
    let texts: Vec<&str> = scenario.stacks.iter().map(|stack| stack.text.as_str()).collect();
    let last = "[/dev/sda,/dev/sdb] | spdk(raid=raid1) | vm(attach=vhost-user-blk,spdk=/var/tmp/spdk.sock)";
    assert_eq!(texts, ["each([/dev/sda,/dev/sdb])", last]);
    assert_eq!(
        scenario.notes[..1],
        [
            "no separate line in the bill: [/dev/sda,/dev/sdb] | spdk(raid=raid1), because an SPDK bdev cannot be \
             measured directly; the line of the layer above has both"
        ]
    );
}

#[test]
fn the_same_stack_twice_is_said() {
    let notes = stacks(&[FILE, FILE]).unwrap().notes;
    assert_eq!(notes, ["\"file\" and \"file #2\" are the same stack: A against A"]);
}

#[test]
fn a_baseline_by_name_or_text() {
    let request = |name: &str| ScenarioRequest {
        baseline: Some(name.to_owned()),
        ..ScenarioRequest::default()
    };
    let guest = "file:/srv/x.img,size=4GiB | vm";
    assert_eq!(with(&[FILE, guest], &request("vm")).unwrap().baseline, 1);
    assert_eq!(with(&[FILE, guest], &request(guest)).unwrap().baseline, 1);
    assert!(
        with(&[FILE, guest], &request("mv"))
            .unwrap_err()
            .to_string()
            .contains("did you mean \"vm\"?")
    );
}

#[test]
fn the_regime_is_one_of_writes() {
    let asked = |rw: &str, measure: &[(&str, &str)]| {
        let texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        with(
            &[FILE],
            &ScenarioRequest {
                words: texts(&[("rw", rw)]),
                measure: texts(measure),
                ..ScenarioRequest::default()
            },
        )
    };
    let spec =
        asked("randwrite", &[("regime", "steady"), ("write_cache", "32GiB")]).unwrap().measure;
    assert_eq!((spec.regime, spec.write_cache), (Regime::Steady, Some(32 << 30)));
    let plain = asked("randwrite", &[]).unwrap();
    assert_eq!((plain.measure.regime, plain.measure.write_cache), (Regime::Burst, None));
    assert!(plain.notes.is_empty());
    let idle = asked("randread", &[("regime", "burst"), ("write_cache", "1GiB")]).unwrap();
    assert_eq!(idle.notes, ["regime, write_cache: without effect, since no workload writes"]);
    assert!(asked("randread", &[]).unwrap().notes.is_empty());
    let errors = [
        asked("randread", &[("regime", "steady")]),
        asked("randwrite", &[("regime", "staedy")]),
        asked("randwrite", &[("write_cache", "32")]),
    ];
    let said: Vec<String> =
        errors.into_iter().map(|result| result.unwrap_err().to_string()).collect();
    assert_eq!(
        said[0],
        "command line: key \"regime\": regime \"steady\" is one of writes, and no workload writes; hint: add a workload that does, such as rw = \"randwrite\""
    );
    assert!(said[1].contains("did you mean \"steady\"?"), "{}", said[1]);
    assert!(said[2].contains("write_cache"), "{}", said[2]);
}

#[test]
fn preconditioning_is_asked_for_in_the_words_of_the_specification() {
    let asked = |rw: &str, measure: &[(&str, &str)]| {
        let texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        with(
            &[FILE],
            &ScenarioRequest {
                words: texts(&[("rw", rw)]),
                measure: texts(measure),
                ..ScenarioRequest::default()
            },
        )
    };
    let all = [("precondition", "2x,steady"), ("steady_round", "10s"), ("steady_limit", "30min")];
    let found = asked("randwrite", &all).unwrap();
    let spec = found.measure.precondition;
    assert_eq!((spec.passes, spec.steady, spec.round_ns), (2, true, 10_000_000_000));
    assert_eq!(spec.limit, crate::scenario::SteadyLimit::TimeNs(1_800_000_000_000));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert!(asked("randwrite", &[]).unwrap().measure.precondition.is_off());
    // Options without an effect are reported.
    let notes = |rw, measure| asked(rw, measure).unwrap().notes.join("; ");
    assert_eq!(
        notes("randread", &all),
        "steady_round, steady_limit, \"steady\" of precondition: without effect, since no workload writes"
    );
    assert!(
        notes("randread", &[("precondition", "steady")])
            .starts_with("precondition = \"steady\": without")
    );
    assert_eq!(notes("randread", &[("precondition", "2x")]), "");
    assert_eq!(
        notes("randwrite", &[("precondition", "2x"), ("steady_limit", "9")]),
        "steady_limit: without effect, since precondition has no \"steady\""
    );
    let error = |measure| asked("randwrite", measure).unwrap_err().to_string();
    let why = error(&[("precondition", "2")]);
    assert!(
        why.starts_with("command line: key \"precondition\": \"2\" is no preconditioning; hint:"),
        "{why}"
    );
    let why = error(&[("precondition", "steady"), ("steady_limit", "4min")]);
    assert!(
        why.contains("steady_limit") && why.contains("fewer than 5 rounds of 60.0 s; hint:"),
        "{why}"
    );
    assert!(error(&[("steady_round", "60")]).contains("steady_round"));
}

#[test]
fn runs_from_before_there_was_preconditioning_had_none() {
    let spec = crate::scenario::MeasureSpec::default();
    let old = serde_json::to_value(&spec).unwrap();
    assert!(old.get("precondition").is_none());
    assert_eq!(serde_json::from_value::<crate::scenario::MeasureSpec>(old).unwrap(), spec);
}

#[test]
fn runs_from_before_the_regime_are_bursts() {
    let mut old = serde_json::to_value(crate::scenario::MeasureSpec::default()).unwrap();
    old.as_object_mut().unwrap().remove("regime");
    assert_eq!(
        serde_json::from_value::<crate::scenario::MeasureSpec>(old).unwrap().regime,
        Regime::Burst
    );
}

#[test]
fn drives_get_what_is_written_through_any_stack_on_them() {
    let reaches = |exprs: &[&str]| stacks(exprs).unwrap().reaches();
    assert_eq!(reaches(&[FILE, "file:/srv/x.img,size=4GiB | loop"]), [[1.0, 1.0], [1.0, 1.0]]);
    let (a, b, far) = ("file:/a/x,size=1GiB", "file:/a/y,size=1GiB", "file:/b/x,size=1GiB");
    assert_eq!(reaches(&[a, b, far]), [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(reaches(&["/dev/sda", "/dev/sdb"]), [[1.0, 0.0], [0.0, 1.0]]);
    // Through both members each drive gets half; through one alone the other gets nothing.
    assert_eq!(reaches(&["/dev/sda", "each([/dev/sda,/dev/sdb])"]), [[1.0, 0.5], [0.0, 0.5]]);
}

#[test]
fn a_short_budget_lowers_the_least_time() {
    let request = ScenarioRequest {
        measure: vec![("budget".into(), "2s".into())],
        ..ScenarioRequest::default()
    };
    let spec = with(&[FILE], &request).unwrap().measure;
    assert_eq!((spec.min_time_ns, spec.budget_ns), (2_000_000_000, 2_000_000_000));
}

fn measured(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(key, word)| ((*key).to_owned(), (*word).to_owned())).collect()
}

#[test]
fn the_budget_of_the_command_line_is_that_of_the_whole_run_and_that_of_a_file_of_each_load() {
    let bill = |words: &[(&str, &str)]| {
        with(
            &["file:/srv/x.img,size=1GiB | loop"],
            &ScenarioRequest { bill: true, measure: measured(words), ..ScenarioRequest::default() },
        )
    };
    let two = bill(&[("budget", "26s")]).unwrap();
    assert_eq!(
        (two.workloads.len(), two.measure.budget_ns, two.measure.min_time_ns),
        (2, 13_000_000_000, 10_000_000_000)
    );
    let short = bill(&[("budget", "8s")]).unwrap().measure;
    assert_eq!((short.budget_ns, short.min_time_ns), (4_000_000_000, 4_000_000_000));
    let both = bill(&[("budget", "8s"), ("min_time", "5s")]).unwrap();
    assert_eq!((both.measure.budget_ns, both.measure.min_time_ns), (4_000_000_000, 4_000_000_000));
    let note =
        "min_time 5.00 s is shortened to the budget, of which each of the 2 loads gets 4.00 s";
    assert!(both.notes.iter().any(|one| one == note), "{:?}", both.notes);
    let coarse = bill(&[("budget", "8s"), ("slice", "2s")]).unwrap_err().to_string();
    let why = "budget 8.00 s, of which each of 2 loads has 4.00 s, holds fewer than four slices of 2.00 s";
    assert!(coarse.contains(why), "{coarse}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = "[stack.a]\ntext = \"cpu\"\n[[workload]]\nprobe = \"integer,float,syscall\"\n[measure]\nbudget = \"9s\"\nmin_time = \"5s\"\n";
    std::fs::write(&file, text).unwrap();
    let of = |request: &ScenarioRequest| {
        let measure = from_path(&file, request).unwrap().measure;
        (measure.budget_ns / 1_000_000_000, measure.min_time_ns / 1_000_000_000)
    };
    assert_eq!(of(&ScenarioRequest::default()), (9, 5));
    assert_eq!(
        of(&ScenarioRequest {
            measure: measured(&[("budget", "9s")]),
            ..ScenarioRequest::default()
        }),
        (3, 3)
    );
}

#[test]
fn an_option_that_nothing_would_heed_is_refused() {
    const FILE: &str = "file:/srv/x.img,size=1GiB";
    let probe = || Some("integer".to_owned());
    let cases: [(&str, &str, ScenarioRequest); 7] = [
        (FILE, "vm", ScenarioRequest { vm: Some("vcpus=2".into()), ..ScenarioRequest::default() }),
        (
            FILE,
            "lab",
            ScenarioRequest { lab: Some("memory=2GiB".into()), ..ScenarioRequest::default() },
        ),
        (
            FILE,
            "change",
            ScenarioRequest {
                change: vec!["libvirt:db1,force".into()],
                ..ScenarioRequest::default()
            },
        ),
        (
            "cpu",
            "engine",
            ScenarioRequest {
                engine: Some("sync".into()),
                probe: probe(),
                ..ScenarioRequest::default()
            },
        ),
        (
            "cpu",
            "fio_on_baseline",
            ScenarioRequest {
                measure: measured(&[("fio_on_baseline", "true")]),
                probe: probe(),
                ..ScenarioRequest::default()
            },
        ),
        (
            "cpu",
            "matched_rate",
            ScenarioRequest {
                measure: measured(&[("matched_rate", "50%")]),
                probe: probe(),
                ..ScenarioRequest::default()
            },
        ),
        (
            "cpu",
            "tool",
            ScenarioRequest {
                tools: vec![
                    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/engines/qsd-vhost.toml")
                        .into(),
                ],
                ..ScenarioRequest::default()
            },
        ),
    ];
    for (stack, option, request) in cases {
        let refused = with(&[stack, stack], &request).unwrap_err().to_string();
        let start = format!("command line: key \"{option}\": has no effect: ");
        assert!(refused.starts_with(&start) && refused.contains("; hint: "), "{refused}");
    }
    let heeded = with(
        &["cpu @vm"],
        &ScenarioRequest { vm: Some("vcpus=2".into()), ..ScenarioRequest::default() },
    );
    assert!(heeded.is_ok(), "{heeded:?}");
}

#[test]
fn a_job_file_beside_stacks() {
    let jobs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/file-vm.fio");
    let scenario = with(&[jobs, "file:/srv/x.img,size=1GiB"], &ScenarioRequest::default()).unwrap();
    let names: Vec<_> = scenario.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(names, ["qd1", "qd32"]);
    assert_eq!(scenario.workloads[0].jobs[0].size, Some((1 << 30) / 5 * 4 / 4096 * 4096));
    let alone = with(&[jobs], &ScenarioRequest::default()).unwrap_err().to_string();
    assert!(alone.contains("no stack is named"), "{alone}");
}

#[test]
fn a_profile_stands_wherever_a_job_file_may() {
    let request =
        |name: &str| ScenarioRequest { profile: Some(name.into()), ..ScenarioRequest::default() };
    let loads = |request: &ScenarioRequest| {
        with(&["file:/srv/x.img,size=1GiB"], request).map(|scenario| scenario.workloads.len())
    };
    assert_eq!(loads(&request("hcibench")), Ok(5));
    assert_eq!(loads(&request("vm-raid/mix-70-30")), Ok(1));
    let why = loads(&request("nothing")).unwrap_err().to_string();
    assert!(why.starts_with("command line: key \"profile\": unknown profile \"nothing\""), "{why}");
}

#[test]
fn an_error_leads_to_exit_code_2() {
    let error = anyhow::Error::from(iotax_units::exit::Failed::from(stacks(&["x"]).unwrap_err()));
    assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
}

/// Stacks that are refused, with the messages.
const BAD: &[&str] = &[
    "",
    "   ",
    "x.img",
    "/srv/x.img",
    "file:x.img,size=4GiB",
    "file:/srv/x.img,size=4",
    "file:/srv/x.img,size=4XiB",
    "file:/srv/x.img,size=0B",
    "file:/srv/x.img,sise=4GiB",
    "file:/srv/x.img,size=[1GiB,2GiB]",
    "file:/srv/x.img,size=1GiB,size=2GiB",
    "file:/srv/x.img,keep=yes",
    "file:/srv/x.img,4GiB",
    "file:/dev/sda",
    "file:/srv/../etc/passwd",
    "fiel:/srv/x.img",
    "file:",
    "file:\"/srv/x",
    "file:\"/srv/\\x\"",
    "/dev/sda,size=4GiB",
    "/dev/sda /dev/sdb",
    "/dev/sda,/dev/sdb",
    "ssh:vm7",
    "ssh:-oProxyCommand=x:/dev/vda",
    "ssh:vm7:/dev/vda,size=4GiB",
    "ssh:vm7:/dev/vda,agent=fio | fs(xfs)",
    "ssh:vm7:/dev/vda,agent=fi",
    "ssh:vm7:/dev/vda,agent=fio | engine(uring)",
    "ssh:vm7:/dev/vda,agent=fio | delay(us=5)",
    "ssh:vm7:/dev/vda,agent=fio | loop",
    r"ssh:vm7:C:\x.img",
    r"ssh:vm7:C:\a\..\x.img,agent=fio",
    r"ssh:vm7:\\.\PhysicalDriveX,agent=fio",
    r"ssh:vm7:\\server\share\x,agent=fio",
    r"ssh:vm7:\\.\PhysicalDrive1,size=1GiB,agent=fio",
    r"ssh:C:\x.img,agent=fio",
    "/dev/sda |",
    "/dev/sda | | loop",
    "/dev/sda | lop",
    "[/dev/sda,/dev/sdb] | mdraid",
    "[/dev/sda,/dev/sdb] | mdraid(level=3)",
    "[/dev/sda,/dev/sdb] | mdraid(5)",
    "[/dev/sda,/dev/sdb] | mdraid(raid5)",
    "[/dev/sda,/dev/sdb] | mdraid(level=7)",
    "[/dev/sda,/dev/sdb] | mdraid(level=raid5)",
    "[/dev/sda,/dev/sdb] | mdraid(level=0,chunk=64x)",
    "[/dev/sda,/dev/sdb] | mdraid(level=0,chunk-size=0)",
    "[/dev/sda,/dev/sdb] | zfs(volblocksize=16x)",
    "[/dev/sda,/dev/sdb] | md",
    "[/dev/sda,/dev/sdb] | RAID10",
    "/dev/sda | xfs",
    "/dev/sda | nvmeof",
    "/dev/sda | iscsi(rdma)",
    "/dev/sda | nvmf(iser)",
    "/dev/sda | zpool | lvcreate",
    "/dev/sda | split",
    "/dev/sda | split(0)",
    "/dev/sda | split(4) | loop",
    "/dev/sda | split(4) | vm x6",
    "/dev/sda | split(4) | vm x3",
    "/dev/sda | split(4) x4",
    "[/dev/sda,/dev/sdb,/dev/sdc] | loop",
    "[/dev/sda,/dev/sda] | loop",
    "[/dev/sda,/dev/sdb]",
    "[/dev/sda,/dev/sdb",
    "[]",
    "[/dev/sda,/dev/sdb] @storage | loop",
    "[/dev/sda,/dev/sdb] | delay(5)",
    "each(/dev/sda)",
    "each([])",
    "each([/dev/sda,/dev/sdb])x",
    "each([/dev/sda,/dev/sdb]) @storage",
    "each([/dev/sda,/dev/sdb]) | loop",
    "each([/dev/sda,/dev/sdb]) | delay(5) | vm x3",
    "each([[/dev/sda,/dev/sdb],[/dev/sdc]]) | mdraid(level=0)",
    "each([[/dev/sda,/dev/sdb],[/dev/sdc,/dev/sdd]])",
    "each([[/dev/sda],[/dev/sdb]]) | mdraid(level=1)",
    "each([[/dev/sda,/dev/sdb],/dev/sdc]) | mdraid(level=1)",
    "each([[/dev/sda,/dev/sdb] [/dev/sdc,/dev/sdd]]) | mdraid(level=1)",
    "each([[/dev/sda,/dev/sdb],[/dev/sdb,/dev/sdc]]) | mdraid(level=1)",
    "each([[/dev/sda,/dev/sdb],[/dev/sdc,/dev/sdd]]) | mdraid(level=1) | vm x3",
    "each([/dev/sda,/dev/sdb]) | md(level=5)",
    "each([/dev/sda,/dev/sdb]) | mdraid(level=0,chunk=4KiB)",
    "each([/dev/sda,/dev/sdb]) | delay(5) | linear",
    "each([nvme0,nvme1]) @lab | mdraid(level=5)",
    "[nvme0-3] @lab | mdraid(level=5)",
    "nvme0@lab",
    "each([/dev/sda,/dev/sda])",
    "each([file:/srv/x.img,size=1GiB,file:/srv/x.img,size=2GiB])",
    "each([/dev/sda,ssh:vm7:/dev/vda]) | loop",
    "each([/dev/sda,ssh:vm7:/dev/vda]) | vm x2",
    "[/dev/sda,ssh:vm7:/dev/vda] | linear",
    "[ssh:vm6:/dev/vda,ssh:vm7:/dev/vda] | mdraid(level=0)",
    "each([ssh:vm6:/dev/vda,ssh:vm7:/dev/vda,agent=fio])",
    "/dev/sda | loop(",
    "/dev/sda | loop)",
    "/dev/sda | loop(direct-io=maybe)",
    "/dev/sda | loop(direct-io)(x)",
    "/dev/sda | null(x)",
    "/dev/sda | fs",
    "/dev/sda | fs(zfs)",
    "/dev/sda | fs(xfs,type=ext4)",
    "/dev/sda | delay",
    "/dev/sda | delay(us=50,percent=2)",
    "/dev/sda | delay(us=-1)",
    "/dev/sda | delay(percent=0)",
    "/dev/sda | vm(cahce=none)",
    "/dev/sda | vm(cache)",
    "/dev/sda | vm(cache=[none,nonne])",
    "/dev/sda | vm(cache=[none,none])",
    "/dev/sda | vm(cache=[])",
    "/dev/sda | vm(cache=none,cache=unsafe)",
    "/dev/sda | vm(queues=1,num-queues=2)",
    "/dev/sda | vm(vcpus=0)",
    "/dev/sda | vm(memory=512)",
    "/dev/sda | vm(attach=virtiofs)",
    "/dev/sda | loop x8",
    "/dev/sda | vm x1000",
    "/dev/sda | vm cache=none aio=native | loop",
    "/dev/sda | vm(vcpus=1) cache=none",
    "/dev/sda | vm(memory=1MiB)",
    "/dev/sda | vm(memory=200000KiB)",
    "/dev/sda | vm x8 | engine(fio)",
    "/dev/sda | vm x0",
    "/dev/sda | vm x8 @host",
    "/dev/sda | vm @storage",
    "/dev/sda | vm @",
    "/dev/sda | vm @host>client",
    "/dev/sda | vm(image=/srv/debian.qcow2) | fs(xfs)",
    "/dev/sda | vm x4 | fs(xfs)",
    "/dev/sda | vm | vm",
    "/dev/sda | vm(cache=[none,writeback,unsafe],vcpus=[1,2,3,4,5,6,7,8],num-queues=[1,2,3])",
    "file:/srv/x.img | fs(xfs)",
    "file:/srv/\u{e9}.img | l\u{f6}\u{f6}p",
    "/dev/sda\n| lop",
];

#[test]
fn refused_stacks() {
    let mut table = String::new();
    for text in BAD {
        let Err(error) = stacks(&[text]) else { panic!("taken: {text}") };
        let error = error.to_string();
        assert!(error.starts_with("command line, stack 1: column "), "{error}");
        writeln!(table, "{text:?}\n    {}", error.replace('\n', "\n    ")).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn an_option_of_a_load_beside_a_file_that_has_loads_is_refused_by_its_name() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/e2-ceph.toml");
    let request =
        ScenarioRequest { words: vec![("bs".into(), "8KiB".into())], ..ScenarioRequest::default() };
    let why = from_path(Path::new(file), &request).unwrap_err().to_string();
    assert!(
        why.contains("has its own workloads, so --bs cannot be given; hint: leave --bs out"),
        "{why}"
    );
}

#[test]
fn refused_requests() {
    let words = |key: &str, value: &str| ScenarioRequest {
        words: vec![(key.into(), value.into())],
        ..ScenarioRequest::default()
    };
    let measure = |key: &str, value: &str| ScenarioRequest {
        measure: vec![(key.into(), value.into())],
        ..ScenarioRequest::default()
    };
    let bill = ScenarioRequest { bill: true, ..ScenarioRequest::default() };
    let twice = ScenarioRequest { job_file: Some("x.fio".into()), ..words("bs", "4k") };
    let profile = ScenarioRequest { profile: Some("hcibench".into()), ..words("bs", "4k") };
    let table = [
        with(&[], &ScenarioRequest::default()),
        with(&[FILE], &bill),
        with(&[FILE, FILE], &bill),
        with(&["file:/srv/x.img,size=4GiB | vm(vcpus=[1,2])"], &bill),
        with(&[FILE], &words("iodpeth", "3")),
        with(&[FILE], &words("ioengine", "libaio")),
        with(&[FILE], &words("bs", "4096")),
        with(&[FILE], &words("bs", "600B")),
        with(&[FILE], &words("size", "5GiB")),
        with(&["/dev/sda"], &words("size", "50%")),
        with(&[FILE], &measure("precision", "1")),
        with(&[FILE], &measure("min_time", "1h")),
        with(&[FILE], &twice),
        with(&[FILE], &profile),
        with(
            &[FILE],
            &ScenarioRequest { engine: Some("libaio".into()), ..ScenarioRequest::default() },
        ),
        with(
            &[FILE],
            &ScenarioRequest { max_written: Some("9".into()), ..ScenarioRequest::default() },
        ),
        with(
            &[FILE],
            &ScenarioRequest {
                destroy: vec!["serial=A,serial=B".into()],
                ..ScenarioRequest::default()
            },
        ),
        with(&["nope.toml"], &ScenarioRequest::default()),
        with(&["nope.fio"], &ScenarioRequest::default()),
        with(&["a.toml", FILE], &ScenarioRequest::default()),
        from_path(Path::new("src"), &ScenarioRequest::default()),
    ];
    let table: Vec<String> =
        table.into_iter().map(|result| result.unwrap_err().to_string()).collect();
    insta::assert_snapshot!(table.join("\n"));
}

fn example_blocks(doc: &str, kind: &str) -> Vec<String> {
    let path = format!("{}/docs/{doc}", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{kind}\n");
    let blocks: Vec<String> = text
        .split(&opening)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect();
    assert!(!blocks.is_empty(), "{doc} has no {kind} example");
    blocks
}

#[test]
fn every_stack_of_the_docs_is_taken() {
    for block in example_blocks("stack-grammar.md", "stack") {
        for line in block.lines() {
            stacks(&[line]).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn later_stacks_of_the_docs_parse_and_are_refused() {
    for block in example_blocks("stack-grammar.md", "stack-later") {
        for line in block.lines() {
            let expr = grammar::parse(line).unwrap_or_else(|fault| panic!("{}", fault.show(line)));
            assert!(grammar::parse(&expr.to_string()).is_ok());
            assert!(stacks(&[line]).is_err(), "taken: {line}");
        }
    }
}

#[test]
fn the_docs_say_how_many_copies_a_layer_can_have() {
    let page = std::fs::read_to_string(concat!(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
        "/docs/stack-grammar.md"
    ))
    .unwrap();
    let most = grammar::MOST_COPIES;
    for said in [format!("(* x1 to x{most} *)"), format!("At most {most};")] {
        assert!(page.contains(&said), "docs/stack-grammar.md does not say {said:?}");
    }
    assert!(stacks(&[&format!("{FILE} | vm x{most}")]).is_ok());
    let refused = stacks(&[&format!("{FILE} | vm x{}", most + 1)]).unwrap_err().to_string();
    assert!(refused.contains(&format!("a fan-out is x1 to x{most}")), "{refused}");
}

#[test]
fn the_error_of_the_docs_is_the_one_that_is_given() {
    let error = stacks(&["file:/srv/x.img,size=4GiB | lop"]).unwrap_err().to_string();
    assert_eq!(example_blocks("stack-grammar.md", "text")[0].trim_end(), error);
    let unlike = stacks(&["file:/srv/x.img,size=4GiB | engine-of-theirs"]).unwrap_err().to_string();
    assert!(unlike.contains(", and those that --tool FILE describes\n"), "{unlike}");
}

#[test]
fn scenarios_and_jobs_of_the_docs_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    for block in example_blocks("scenario-format.md", "toml") {
        let path = folder.path().join("doc.toml");
        std::fs::write(&path, block).unwrap();
        from_path(&path, &ScenarioRequest::default()).unwrap_or_else(|error| panic!("{error}"));
    }
    for block in example_blocks("job-files.md", "fio") {
        let path = folder.path().join("doc.fio");
        std::fs::write(&path, block).unwrap();
        with(&[path.to_str().unwrap(), FILE], &ScenarioRequest::default())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_scenario_that_comes_with_it_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tomls: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    assert!(tomls.len() >= 7, "{tomls:?}");
    for path in tomls {
        from_path(&path, &ScenarioRequest::default()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_docs_name_every_layer_option_and_word() {
    let read = |doc: &str| {
        std::fs::read_to_string(format!(
            "{}/docs/{doc}",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../..")
        ))
        .unwrap()
    };
    let grammar = read("stack-grammar.md");
    for layer in layer::ALL {
        assert!(grammar.contains(&format!("| `{}", layer.name)), "{}", layer.name);
        for option in layer.options {
            let shown = [format!("`{}=", option.name), format!("| `{}` |", option.name)];
            assert!(
                shown.iter().any(|one| grammar.contains(one)),
                "{} {}",
                layer.name,
                option.name
            );
        }
    }
    let format = read("scenario-format.md");
    let words = super::super::words::known_words();
    for word in words.iter().filter(|word| **word != "fileoffset").chain(&measure::measure_keys()) {
        assert!(
            format.contains(&format!("`{word}`")) || format.contains(&format!("(`{word}`")),
            "{word}"
        );
    }
}

#[test]
fn every_example_of_the_catalog_is_taken() {
    for layer in layer::ALL {
        let scenario = stacks(&[layer.example]).unwrap_or_else(|error| panic!("{error}"));
        // One that gives a bdev is loaded through another.
        let from_top =
            scenario.stacks[0].layers.iter().rev().position(|spec| spec.name == layer.name);
        assert_eq!(
            from_top,
            Some(usize::from(matches!(layer.gives, Face::Bdev | Face::Rbd))),
            "{}",
            layer.name
        );
    }
}

#[test]
fn an_image_of_ceph_is_reached_by_its_configuration_and_needs_a_layer() {
    let medium = |text: &str| stacks(&[text]).map(|scenario| scenario.stacks[0].medium.clone());
    let rbd = |conf: &str| Medium::Rbd { pool: "p".into(), image: "i.1".into(), conf: conf.into() };
    assert_eq!(medium("rbd:p/i.1 | vm").unwrap(), rbd("/etc/ceph/ceph.conf"));
    let other = "rbd:p/i.1@/srv/c.conf | librbd";
    assert_eq!(medium(other).unwrap(), rbd("/srv/c.conf"));
    assert_eq!(stacks(&[other]).unwrap().stacks[0].text, other);
    let why = |text: &str| medium(text).unwrap_err().to_string();
    for (text, part) in [
        ("rbd:p/i", "an RBD image is not a block device"),
        ("rbd:p | vm", "is no image of a pool"),
        ("rbd:p/n/i | vm", "is no image of a pool"),
        ("rbd:p/i@c.conf | vm", "is not an absolute path"),
        ("rbd:p/i | fs(xfs)", "\"fs\" requires a block device, but rbd:p/i is an RBD image"),
        (
            "rbd:p/i | vm(attach=vfio)",
            "only with attach=virtio-blk or virtio-scsi or nvme or vhost-user-blk",
        ),
        ("rbd:p/i | vm(aio=native)", "aio= does not apply to an RBD image; hint: remove aio="),
        ("[rbd:p/i,rbd:p/j] | mdraid(level=1)", "name it alone"),
        ("/dev/vda | librbd", "\"librbd\" requires an RBD image"),
    ] {
        assert!(why(text).contains(part), "{text}: {}", why(text));
    }
}

fn without_origins(stack: &Stack) -> (Medium, Vec<LayerSpec>) {
    let layers =
        stack.layers.iter().map(|layer| LayerSpec { origin: String::new(), ..layer.clone() });
    (stack.medium.clone(), layers.collect())
}

proptest! {
    /// The record and the planner compare stacks by the canonical text.
    #[test]
    fn a_canonical_text_gives_the_same_stack(
        name in "[a-z ,\"\\\\\\[(|=@é]{1,12}",
        size in proptest::option::of(1u64..1 << 52),
        keep in any::<bool>(),
        layers in proptest::sample::subsequence(
            vec!["loop", "fs(xfs)", "delay(7)", "null @host", "loop(direct-io=false)", "vm(queues=2,memory=1.5GiB)", "delay(percent=2%)"], 0..=7),
    ) {
        let medium = Medium::File { path: format!("/srv/{name}.img").into(), size, keep };
        let text = std::iter::once(medium.medium_text()).chain(layers.iter().map(|l| (*l).to_owned())).collect::<Vec<_>>().join(" | ");
        let Ok(first) = stacks(&[&text]) else { return Ok(()) };
        prop_assert_eq!(&first.stacks[0].medium, &medium);
        let second = stacks(&[&first.stacks[0].text]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(without_origins(&first.stacks[0]), without_origins(&second.stacks[0]));
        prop_assert_eq!(&first.stacks[0].text, &second.stacks[0].text);
    }

    #[test]
    fn names_of_any_stacks_are_unique(picks in proptest::collection::vec((0usize..5, 0usize..5), 1..8)) {
        let media = [FILE, "each([/dev/sda,/dev/sdb])", "each([/dev/sda,/dev/sdc])", "/dev/sdb", "ssh:vm7:/dev/vda"];
        let layers = ["", " | null", " | delay(5)", " | null | delay(5)", " | delay(us=[5,6])"];
        let texts: Vec<String> = picks.iter().map(|(m, l)| format!("{}{}", media[*m], layers[*l])).collect();
        let scenario = from_arguments(&texts, &ScenarioRequest::default()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let unique: BTreeSet<&str> = scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
        prop_assert_eq!(unique.len(), scenario.stacks.len());
    }

    #[test]
    fn arbitrary_arguments_never_panic(text in any::<String>()) {
        let _ = stacks(&[&text]);
    }
}

#[test]
fn a_consent_is_parsed_strictly() {
    let given = parse_consent("serial=S 1, wipe=gpt,wipe=ext4").unwrap();
    assert_eq!(
        given,
        Consent {
            serial: "S 1".into(),
            wipe: vec!["gpt".into(), "ext4".into()],
            unseen: Vec::new()
        }
    );
    for (text, part) in [
        ("", "not key=value"),
        ("S1", "not key=value"),
        ("wipe=gpt", "no serial number"),
        ("serial=", "no value"),
        ("serial=/dev/sdb", "is a path"),
        ("serial=A,serial=B", "two serials"),
        ("serial=A,force=1", "unknown key"),
    ] {
        let error = Origin::command_line()
            .error_at_key("destroy", parse_consent(text).unwrap_err())
            .to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn parts_are_loaded_at_once_and_what_was_chosen_is_noted() {
    let array = "[/dev/sda,/dev/sdb] | mdraid(level=1,sync=skip)";
    let scenario =
        stacks(&[array, &format!("{array} | split(2)"), "/dev/sdc | split(2) | vm x2"]).unwrap();
    let loaded: Vec<_> = scenario.stacks.iter().map(Stack::loaded_at_once).collect();
    assert_eq!(loaded, [None, Some(2), None]);
    assert_eq!(
        scenario.stacks[1].text,
        format!("[/dev/sda,/dev/sdb] | mdraid(level=1,sync=skip) | split(parts=2)")
    );
    insta::assert_snapshot!(scenario.notes.join("\n"));
}

#[test]
fn of_each_list_the_same_is_made_and_guests_share_all_of_it_out() {
    let arrays =
        "each([[/dev/sda,/dev/sdb,/dev/sdc],[/dev/sdd,/dev/sde,/dev/sdf]]) | mdraid(level=5)";
    let drives = "each([[nvme0,...,nvme2],[nvme3,...,nvme5]]) @lab | mdraid(level=5)";
    let two = "each([/dev/sda,/dev/sdb]) | vm";
    let texts = [
        arrays.to_owned(),
        format!("{arrays} | split(parts=2)"),
        format!("{arrays} | split(parts=8) | vm x16"),
        format!("{arrays} | split(parts=4) | vm x4"),
        format!("{arrays} | vm x6"),
        "/dev/sdc | split(parts=2) | vm".to_owned(),
        two.to_owned(),
        format!("{two} | mdraid(level=0)"),
    ];
    let scenario = stacks(&texts.each_ref().map(String::as_str)).unwrap();
    let found: Vec<&str> = scenario.stacks.iter().map(|stack| stack.text.as_str()).collect();
    assert_eq!(found, texts, "each parses to itself");
    let loaded: Vec<_> = scenario
        .stacks
        .iter()
        .map(|stack| (stack.loaded_at_once(), stack.target_count()))
        .collect();
    let of_one = (None, 1);
    let all = [
        (Some(2), 2),
        (Some(4), 4),
        (None, 16),
        (Some(2), 8),
        (None, 6),
        (Some(2), 2),
        (Some(2), 2),
        of_one,
    ];
    assert_eq!(loaded, all);
    assert_eq!(
        scenario.stacks[2].layers_with_members().map(|(_, below)| below).collect::<Vec<_>>(),
        [3, 1, 8]
    );
    let written = stacks(&[drives]).unwrap().stacks.remove(0).text;
    assert_eq!(written, "each([[nvme0,nvme1,nvme2],[nvme3,nvme4,nvme5]]) @lab | mdraid(level=5)");
    insta::assert_snapshot!(scenario.notes.join("\n"));
}

#[test]
fn a_load_that_is_random_in_part_says_in_which() {
    let subject = |rw: &str, random: &str| {
        let words = [("rw", rw), ("percentage_random", random)]
            .map(|(word, value)| (word.to_owned(), value.to_owned()));
        let asked = ScenarioRequest { words: words.to_vec(), ..ScenarioRequest::default() };
        from_arguments(&["/dev/x".to_owned()], &asked).unwrap().workloads[0].subject()
    };
    assert_eq!(subject("randrw", "80"), "4k 80 % random 50/50 mix at iodepth 1");
    assert_eq!(subject("randwrite", "0"), "4k sequential writes at iodepth 1");
    assert_eq!(subject("randread", "100"), "4k random reads at iodepth 1");
}

fn asked(words: &[(&str, &str)]) -> Result<Scenario, String> {
    let words =
        words.iter().map(|(word, value)| ((*word).to_owned(), (*value).to_owned())).collect();
    from_arguments(&["/dev/x".to_owned()], &ScenarioRequest { words, ..ScenarioRequest::default() })
        .map_err(|error| error.to_string())
}

#[test]
fn a_rate_that_no_clock_can_pace_is_refused_where_it_is_written() {
    let fastest = asked(&[("rate_iops", "1000000000")]).unwrap();
    assert_eq!(fastest.workloads[0].jobs[0].rate_iops, Some(1_000_000_000));
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let stack = if name.ends_with("toml") { None } else { Some("/dev/x") };
        let files: Vec<&str> = path.to_str().into_iter().chain(stack).collect();
        let error = with(&files, &ScenarioRequest::default()).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let stack = "[stack.x]\ntext = \"/dev/x\"\n[[workload]]\n";
    let all = [
        asked(&[("rate_iops", "1000000001")]).unwrap_err(),
        refused("one.toml", &format!("{stack}rate_iops = 1000000000000000\n")),
        refused("sweep.toml", &format!("{stack}rate_iops = [1000, 1000000000000000]\n")),
        refused("job.fio", "[a]\nrw=randread\nrate_iops=1000g\n"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn without_a_word_blocks_may_come_again() {
    let drawn = asked(&[("rw", "randread")]).unwrap();
    assert!(!drawn.workloads[0].jobs[0].random_map);
    let once = asked(&[("rw", "randwrite"), ("norandommap", "0")]).unwrap();
    assert_eq!(once.workloads[0].subject(), "4k random writes at iodepth 1, random map");
    assert_eq!(once.workloads[0].name, "4k-randwrite-map-qd1");
    for words in [
        [("rw", "read"), ("norandommap", "0")],
        [("random_distribution", "zipf"), ("norandommap", "0")],
    ] {
        let error = asked(&words).unwrap_err();
        assert!(error.contains("key \"norandommap\": each block once"), "{error}");
    }
}

#[test]
fn regions_that_are_moved_on_from_thread_to_thread_must_fit() {
    let on_file = |words: &[(&str, &str)]| {
        let words =
            words.iter().map(|(word, value)| ((*word).to_owned(), (*value).to_owned())).collect();
        let asked = from_arguments(
            &[FILE.to_owned()],
            &ScenarioRequest { words, ..ScenarioRequest::default() },
        );
        asked.map_err(|error| error.to_string())
    };
    let quarters = [("numjobs", "4"), ("size", "25%"), ("offset_increment", "25%")];
    let job = on_file(&quarters).unwrap().workloads[0].jobs[0].clone();
    assert_eq!(
        (job.offset_increment, job.last_offset(), job.size),
        (1 << 30, 3 << 30, Some(1 << 30))
    );
    let error =
        on_file(&[("numjobs", "5"), ("size", "1g"), ("offset_increment", "1g")]).unwrap_err();
    assert_eq!(
        error,
        "command line: key \"offset_increment\": the workload does not fit the file: 1 GiB from offset 4 GiB of thread 5 of a file of 4 GiB; hint: make the file larger or the workload smaller"
    );
}

#[test]
fn a_run_that_trims_does_nothing_else() {
    let trims = asked(&[("rw", "randtrim"), ("iodepth", "8")]).unwrap();
    assert!(trims.writes(), "what is there is lost");
    assert_eq!(trims.workloads[0].subject(), "4k random trims at iodepth 8");
    assert!(
        trims.notes.iter().any(|note| note.contains("rw=randtrimwrite writes each block")),
        "{:?}",
        trims.notes
    );
    let on_engine = |engine: &str| {
        let words =
            vec![("rw".to_owned(), "randtrim".to_owned()), ("iodepth".to_owned(), "8".to_owned())];
        let request = ScenarioRequest {
            words,
            engine: Some(engine.to_owned()),
            ..ScenarioRequest::default()
        };
        from_arguments(&["/dev/x".to_owned()], &request).map_err(|error| error.to_string())
    };
    assert!(on_engine("sync").is_ok(), "threads make up the depth");
    for engine in ["uring", "aio", "posixaio", "fio"] {
        let error = on_engine(engine).unwrap_err();
        assert!(
            error.ends_with(
                "rw=randtrim trims, which the named engine does not; hint: name no engine, or sync"
            ),
            "{error}"
        );
    }
    let on = |stack: &str| {
        let words = vec![("rw".to_owned(), "randtrim".to_owned())];
        with(&[stack], &ScenarioRequest { words, ..ScenarioRequest::default() })
            .map_err(|error| error.to_string())
    };
    assert!(on("/dev/x | engine(sync)").is_ok() && on("/dev/x | delay(50us)").is_ok());
    for (stack, who) in [
        (
            "/dev/x | engine(uring)",
            "the layer engine(uring) does not: /dev/x | engine(uring); hint: engine(sync)",
        ),
        ("/dev/x | engine(fio)", "the layer engine(fio) does not"),
        (
            "ssh:db1:/dev/x,agent=fio",
            "the fio of agent=fio does not: ssh:db1:/dev/x,agent=fio; hint: leave out",
        ),
    ] {
        let error = on(stack).unwrap_err();
        assert!(
            error.contains("key \"rw\": job \"4k-randtrim-qd1\" trims, and ")
                && error.contains(who),
            "{error}"
        );
    }
    let rewritten = asked(&[("rw", "trimwrite")]).unwrap();
    assert_eq!(
        rewritten.workloads[0].subject(),
        "4k sequential trims, each with a write at iodepth 1"
    );
    assert!(!rewritten.notes.iter().any(|note| note.contains("trims and does not write")));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fio");
    std::fs::write(&path, "[global]\ndirect=1\n[a]\nrw=trim\n[b]\nstonewall\nrw=read\n").unwrap();
    let mixed =
        with(&[path.to_str().unwrap(), FILE], &ScenarioRequest::default()).unwrap_err().to_string();
    assert!(mixed.contains("\"a\" trims what \"b\" (read) is on"), "{mixed}");
}

#[test]
fn a_run_ends_when_an_io_fails_unless_it_is_told_to_go_on() {
    assert!(!asked(&[("rw", "randread")]).unwrap().workloads[0].jobs[0].continue_on_error);
    for (word, goes_on) in
        [("io", true), ("all", true), ("read", true), ("write", false), ("none", false)]
    {
        let scenario = asked(&[("rw", "randread"), ("continue_on_error", word)]).unwrap();
        assert_eq!(scenario.workloads[0].jobs[0].continue_on_error, goes_on, "{word}");
        assert_eq!(
            scenario.notes.iter().any(|note| note.contains("goes on where I/Os fail")),
            goes_on,
            "{word}"
        );
    }
}

#[test]
fn memory_priority_and_processors_are_in_the_name_and_the_subject() {
    let words = [
        ("rw", "randread"),
        ("numjobs", "2"),
        ("iomem", "mmaphuge"),
        ("prioclass", "1"),
        ("prio", "3"),
        ("cpus_allowed", "0-1,4"),
    ];
    let workload = &asked(&words).unwrap().workloads[0];
    assert_eq!(workload.name, "4k-randread-qd1-x2-huge-prio1.3-cpus0-1+4");
    assert_eq!(
        workload.subject(),
        "4k random reads at iodepth 1 x 2, on huge pages, prioclass 1 prio 3, on processors 0-1,4"
    );
}

#[test]
fn a_skewed_load_says_by_which_law() {
    let skewed = asked(&[("rw", "randread"), ("random_distribution", "zipf")]).unwrap();
    assert_eq!(skewed.workloads[0].subject(), "4k zipf:1.1 random reads at iodepth 1");
    assert_eq!(skewed.workloads[0].name, "4k-randread-zipf1.1-qd1");
    let error = asked(&[("rw", "write"), ("random_distribution", "pareto:0.3")]).unwrap_err();
    assert_eq!(
        error,
        "command line: key \"random_distribution\": \"pareto:0.3\" is of random offsets, and rw=write is sequential; hint: write rw=randwrite, or no random_distribution"
    );
}

#[test]
fn a_stack_can_name_every_engine_that_a_load_can() {
    for kind in iotax_load::engine::ALL {
        let stack = format!("/dev/x | engine({})", kind.word);
        let scenario = stacks(&[&stack]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.stacks[0].layers[0].option("name"), Some(kind.word));
    }
}

#[test]
fn what_the_kernel_makes_up_is_no_medium() {
    for text in [
        "file:/proc/kcore",
        "/proc/kcore",
        "file:/sys/x,size=1GiB",
        "file:/proc/x.img,size=1GiB | loop",
        "ssh:db1:/proc/kcore",
    ] {
        let error = stacks(&[text]).unwrap_err();
        assert!(
            error.why.contains("is no file on a drive: the kernel makes up what is in it"),
            "{text}: {error}"
        );
        assert!(error.hint.is_some_and(|hint| hint.contains("a drive in /dev")), "{text}");
    }
    assert!(stacks(&["file:/process/x,size=1GiB"]).is_ok());
}

#[test]
fn a_stack_for_fewer_clients_differs_from_one_for_more_in_nothing_else() {
    let export = "/dev/sda @ssh:st | split(4) | nvmf(address=10.0.0.1) @ssh:st";
    let texts = [">@ssh:c1", ">@[ssh:c1,ssh:c2]", ">@[ssh:c3,ssh:c4]"];
    let stacks: Vec<Stack> = texts
        .iter()
        .flat_map(|far| {
            from_arguments(&[format!("{export}{far}")], &ScenarioRequest::default()).unwrap().stacks
        })
        .collect();
    let alike = |one: usize, other: usize| stacks[one].is_but_for_copies(&stacks[other]);
    assert!(alike(0, 1) && !alike(0, 2) && !alike(1, 2));
    let loaded: Vec<(u32, u64)> =
        stacks.iter().map(|stack| (stack.clients(), stack.target_count())).collect();
    assert_eq!(loaded, [(1, 4), (2, 4), (2, 4)]);
}

#[test]
fn read_ahead_under_direct_loads_alone_is_noted() {
    let noted = |direct: &str| {
        let words = vec![("direct".to_owned(), direct.to_owned())];
        let request = ScenarioRequest { words, ..ScenarioRequest::default() };
        let scenario = from_stacks(&["/dev/sda | readahead(4MiB)".to_owned()], &request).unwrap();
        scenario.notes.iter().any(|note| note.starts_with("readahead changes only reads"))
    };
    assert_eq!((noted("1"), noted("0")), (true, false));
}
