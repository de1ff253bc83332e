//! Tests of valid and invalid scenario files.

use super::super::Scenario;
use super::super::check::{ScenarioRequest, from_path};
use super::super::published::{Published, PublishedFigure};
use crate::stack::Medium;
use iotax_facts::place::Place;
use std::fmt::Write as _;
use std::path::Path;

/// Reads `text` as x.toml beside a few job files.
fn read_text(text: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), text).unwrap();
    std::fs::write(
        folder.path().join("jobs.fio"),
        "[a]\nrw=randread\nioengine=libaio\nsize=50%\n[b]\nstonewall\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("bad.fio"), "[a]\nread_iolog=x\n").unwrap();
    let prefix = format!("{}/", folder.path().display());
    from_path(&folder.path().join("x.toml"), &ScenarioRequest::default())
        .map_err(|error| error.to_string().replace(&prefix, ""))
        .map(|scenario| {
            let text = serde_json::to_string(&scenario).unwrap().replace(&prefix, "");
            serde_json::from_str(&text).unwrap()
        })
}

#[test]
fn a_path_is_told_with_the_line_that_declares_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = "[device.drive]\npath = \"/dev/sdx\"\n\n[stack.a]\non = \"drive\"\n\n[stack.b]\ntext = \"/dev/sdy | loop\"\n";
    std::fs::write(&file, text).unwrap();
    let scenario = from_path(&file, &ScenarioRequest::default()).unwrap();
    let place =
        |stack: usize, path: &str| scenario.place_of(&scenario.stacks[stack], Path::new(path));
    assert_eq!(
        place(0, "/dev/sdx"),
        format!("{}:2:8: key \"path\" of [device.drive]: ", file.display())
    );
    assert_eq!(place(1, "/dev/sdy"), "/dev/sdy | loop: ");
}

#[test]
fn the_command_line_names_another_medium_for_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let read = |text: &str, given: &str| {
        std::fs::write(&file, text).unwrap();
        from_path(
            &file,
            &ScenarioRequest { devices: vec![given.to_owned()], ..ScenarioRequest::default() },
        )
    };
    let text =
        "[device.drive]\npath = \"/dev/sdx\"\n\n[stack.a]\non = \"drive\"\nlayers = [\"loop\"]\n";
    let scenario = read(text, "drive=/dev/sdy").unwrap();
    assert_eq!(scenario.stacks[0].medium, Medium::Device { path: "/dev/sdy".into() });
    assert_eq!(
        scenario.place_of(&scenario.stacks[0], Path::new("/dev/sdy")),
        "command line: --device drive: "
    );
    let scenario = read(text, "drive=file:/srv/x.img,size=1GiB").unwrap();
    let expected = Medium::File { path: "/srv/x.img".into(), size: Some(1 << 30), keep: false };
    assert_eq!(scenario.stacks[0].medium, expected);
    let refused = |text, given| read(text, given).unwrap_err().to_string();
    let lines = [
        refused(text, "/dev/sdy"),
        refused(text, "drve=/dev/sdy"),
        refused(text, "drive=/dev/sdy | loop"),
        refused(text, "drive=[/dev/sdy,/dev/sdz]"),
        refused(text, "drive=/srv/x.img"),
        refused("[stack.a]\ntext = \"/dev/sdx | loop\"\n", "drive=/dev/sdy"),
    ];
    insta::assert_snapshot!("refused_media_of_the_command_line", lines.join("\n"));
}

#[test]
fn the_command_line_names_the_stacks_that_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = "baseline = \"a\"\n\n[stack.a]\ntext = \"/dev/sda\"\n\n[stack.b]\ntext = \"/dev/sdb\"\n\n\
                [stack.c]\ntext = \"/dev/sdc | vm(vcpus=[1,2])\"\n\n[table]\nstacks = [\"a\", \"b\"]\n";
    std::fs::write(&file, text).unwrap();
    let read = |only: &[&str]| {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        from_path(&file, &ScenarioRequest { only, ..ScenarioRequest::default() })
    };
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.stacks.iter().map(|stack| stack.name.clone()).collect()
    };
    let some = read(&["c vcpus=2", "b"]).unwrap();
    assert_eq!(names(&some), ["b", "c vcpus=2"]);
    assert_eq!((some.baseline, some.table.is_some()), (0, false), "the baseline is not among them");
    assert!(
        some.notes.iter().any(|note| note.starts_with("[table] is left out")),
        "{:?}",
        some.notes
    );
    let all = read(&[]).unwrap();
    assert_eq!((names(&all).len(), all.table.is_some()), (4, true));
    let refused = read(&["d"]).unwrap_err().to_string();
    assert!(
        refused.starts_with("command line: key \"only\": unknown stack \"d\"; hint: "),
        "{refused}"
    );
}

#[test]
fn everything_at_once() {
    let text = r#"
name = "all keys"
baseline = "loop"
engine = "uring"
destroy = ["serial=S1,wipe=gpt,wipe=ext4", "wwn=0x5000c500"]
max_written = "100GiB"

[measure]
slice = "50ms"
precision = "0.5%"
equivalence = "3 %"
min_time = "5s"
budget = "1min"
visits = 4
seed = 42
regime = "steady"
write_cache = "24GiB"

[device.disk]
path = "/srv/my disk.img"
size = "2GiB"
keep = true

[device.far]
path = "ssh:vm7:/dev/vdb"

[stack.file]
on = "disk"

[stack.loop]
on = "file"
layers = ["loop", "fs(ext4)"]
own = true

[stack.guest]
text = "disk | vm(cache=[none,writeback],queues=2)"

[[workload]]
name = "mix"
rw = "randrw"
rwmixread = "70%"
bs = "8k"
iodepth = 32
numjobs = "4"
size = "50%"
offset = "1MiB"
percentage_random = 80
fsync = 0
end_fsync = true
buffered = false
rate_iops = 1000
buffer_compress_percentage = 50
randseed = 7

[[workload]]
file = "jobs.fio"
name = "jobs"
engine = "auto"
"#;
    insta::assert_json_snapshot!(read_text(text).unwrap());
}

#[test]
fn stacks_keep_the_order_of_the_file() {
    let text =
        "[stack.z]\ntext=\"/dev/z\"\n[stack.a]\ntext=\"/dev/a\"\n[stack.m]\ntext=\"/dev/m\"\n";
    let names: Vec<String> =
        read_text(text).unwrap().stacks.into_iter().map(|stack| stack.name).collect();
    assert_eq!(names, ["z", "a", "m"]);
    let text = "stack = { z = { text = \"/dev/z\" }, a = { text = \"/dev/a\" } }\n";
    let names: Vec<String> =
        read_text(text).unwrap().stacks.into_iter().map(|stack| stack.name).collect();
    assert_eq!(names, ["z", "a"]);
}

#[test]
fn a_file_that_is_said_to_be_on_this_host_is_on_this_host() {
    let of = |place: &str| {
        let device = format!("[device.d]\npath = \"/srv/x.img\"\nsize = \"1GiB\"\n{place}");
        read_text(&format!("{device}[stack.a]\ntext = \"d\"\n")).unwrap().stacks
    };
    assert_eq!(of("place = \"host\"\n")[0].medium, of("")[0].medium);
}

const STACK: &str = "[stack.a]\ntext = \"file:/x,size=1GiB\"\n";

/// Faults, before or after one valid stack.
const BAD_TOP: &[&str] = &[
    "",
    "bil = true\n",
    "name = 3\n",
    "bill = \"yes\"\n",
    "baseline = \"b\"\n",
    "engine = \"io_uring\"\n",
    "engine = \"warp\"\n",
    "states = [\"healthy\"]\n",
    "states = [\n  \"healthy\",\n  \"rebuilding\",\n]\n",
    "destroy = [\"serial=/dev/sda\"]\n",
    "destroy = [\"wipe=gpt\"]\n",
    "destroy = [\"S4EV\"]\n",
    "destroy = [\"serial=A,wype=gpt\"]\n",
    "max_written = 100\n",
    "max_written = \"100\"\n",
    "name = \n",
    "name = \"a\"\nname = \"b\"\n",
];

const BAD_BEHIND: &[&str] = &[
    "[measure]\nslice = \"100\"\n",
    "[measure]\nslice = \"1us\"\n",
    "[measure]\nprecision = \"1\"\n",
    "[measure]\nprecision = \"0%\"\n",
    "[measure]\nbugdet = \"1min\"\n",
    "[measure]\nbudget = \"1min\"\nmin_time = \"2min\"\n",
    "[measure]\nvisits = 0\n",
    "[measure]\nvisits = 1.5\n",
    "[place.storage]\nhost = \"s1\"\n",
    "[device.d]\nsize = \"1GiB\"\n",
    "[device.d]\npath = \"srv/x.img\"\n",
    "[device.d]\npath = \"nvme0\"\nplace = \"lap\"\n",
    "[device.d]\npath = \"nvme0\"\nplace = \"host\"\n",
    "[device.d]\npath = \"/srv/../x.img\"\n",
    "[device.d]\npath = \"/srv/x.img\"\nsize = \"4\"\n",
    "[device.d]\npath = \"/dev/sda\"\nsize = \"4GiB\"\n",
    "[device.d]\npath = \"ssh:-oProxyCommand=x:/dev/sda\"\n",
    "[device.\"d e\"]\npath = \"/srv/x.img\"\n",
    "[stack.b]\n",
    "[stack.b]\ntext = \"/dev/sda\"\non = \"a\"\n",
    "[stack.b]\ntext = \"/dev/sda | lop\"\n",
    "[stack.b]\ntext = '/dev/sda | vm(cahce=none)'\n",
    "[stack.b]\ntext = \"/dev/sda |\"\n",
    "[stack.b]\ntext = \"dev | loop\"\n",
    "[stack.b]\non = \"A\"\nlayers = [\"loop\"]\n",
    "[stack.b]\non = \"a\"\nlayers = [\"loop\", \"fs\"]\n",
    "[stack.b]\non = \"a\"\nlayers = [\"loop | fs(xfs)\"]\n",
    "[stack.b]\ntext = \"each([/dev/sda,/dev/sdb])\"\n[stack.c]\non = \"b\"\nlayers = [\"null\", \"loop\"]\n",
    "[stack.b]\ntext = \"each([/dev/sda,d]) | loop\"\n[device.d]\npath = \"ssh:vm7:/dev/vda\"\n",
    "[stack.b]\non = \"c\"\n[stack.c]\non = \"b\"\n",
    "[stack.b]\ntext = \"\"\"\\u0041\"\"\"\n",
    "[[workload]]\n",
    "[[workload]]\niodpeth = 32\n",
    "[[workload]]\nrw = \"randraed\"\n",
    "[[workload]]\nbs = 4096\n",
    "[[workload]]\nbs = \"4096\"\n",
    "[[workload]]\nbs = \"4kb\"\n",
    "[[workload]]\nbs = 4.5\n",
    "[[workload]]\nsize = \"2GiB\"\n",
    "[[workload]]\noffset = \"1GiB\"\n",
    "[[workload]]\nsize = \"1KiB\"\n",
    "[[workload]]\nengine = \"sync\"\niodepth = 4\n",
    "[[workload]]\nfile = \"nope.fio\"\n",
    "[[workload]]\nfile = \"bad.fio\"\n",
    "[[workload]]\nfile = \"jobs.fio\"\nbs = \"4k\"\n",
    "[[workload]]\nprofile = \"hcibench\"\nbs = \"4k\"\n",
    "[[workload]]\nprofile = \"hcibench\"\nfile = \"jobs.fio\"\n",
    "[[workload]]\nprofile = \"hcibanch\"\n",
    "[[workload]]\nprofile = \"vm-raid/read\"\n",
];

/// A stack, two workloads, and `[published]` with a row of one cell.
fn with_published(head: &str, row: &str) -> String {
    let head = if head.is_empty() { GOOD_HEAD } else { head };
    format!(
        "{STACK}[[workload]]\nname = \"reads\"\nrw = \"randread\"\n[[workload]]\nname = \"mix\"\nrw = \"randrw\"\n[published]\n{head}[[published.figures]]\n{row}"
    )
}

const GOOD_HEAD: &str = "source = \"a page\"\nhardware = \"a drive\"\nstacks = [\"a\"]\n";

/// `workload`, `metric`, `printed` of one cell.
fn cell(workload: &str, metric: &str, printed: &str) -> String {
    format!("workload = \"{workload}\"\nmetric = \"{metric}\"\nprinted = [\"{printed}\"]\n")
}

#[test]
fn refused_published_figures() {
    let good = cell("reads", "iops", "26.0k");
    let heads = [
        "source = \"a page\"\nstacks = [\"a\"]\n",
        "source = \" \"\nhardware = \"a drive\"\nstacks = [\"a\"]\n",
        "source = 3\nhardware = \"a drive\"\nstacks = [\"a\"]\n",
        "source = \"a page\"\nhardware = \"a drive\"\nstacks = \"a\"\n",
        "source = \"a page\"\nhardware = \"a drive\"\nstacks = [\"b\"]\n",
        "source = \"a page\"\nhardware = \"a drive\"\nstacks = [\"a\", \"a\"]\n",
        "source = \"a page\"\nhardware = \"a drive\"\nstakcs = [\"a\"]\n",
    ];
    let rows = [
        cell("raeds", "iops", "26.0k"),
        cell("reads", "iosp", "26.0k"),
        cell("reads", "p100", "5us"),
        cell("reads", "durable iops", "26.0k"),
        cell("reads", "write p99", "5us"),
        cell("mix", "p99", "5us"),
        cell("reads", "iops", "26.0kiops"),
        cell("reads", "throughput", "26.0k"),
        cell("reads", "mean", "5"),
        cell("reads", "iops", "0"),
        cell("reads", "iops", "about 5"),
        cell("reads", "iops", "94%"),
        cell("reads", "iops", "-"),
        format!("{good}unit = \"1/s\"\n"),
        good.replace("[\"26.0k\"]", "[\"26.0k\", \"-\"]"),
        good.replace("[\"26.0k\"]", "[26]"),
        good.replace("[\"26.0k\"]", "\"26.0k\""),
        format!("{good}[[published.figures]]\n{good}"),
        format!("{good}note = \" \"\n"),
        cell("reads", "write iops", "26.0k"),
        cell("mix", "read durable iops", "26.0k"),
        // Of reads alone they are all that there are.
        format!("{good}[[published.figures]]\n{}", cell("reads", "read iops", "26.0k")),
    ];
    let mut table = String::new();
    heads.iter().for_each(|head| report(head, &with_published(head, &good), &mut table));
    rows.iter().for_each(|row| report(row, &with_published("", row), &mut table));
    report("two", &format!("{STACK}[[published]]\nsource = \"a page\"\n"), &mut table);
    insta::assert_snapshot!(table);
}

#[test]
fn claims_are_read_and_refused() {
    let claim = |text: &str| {
        let head = "[published]\nsource = \"a page\"\nhardware = \"a drive\"\n";
        with_tables(&format!(
            "{head}[[published.claims]]\ntext = \"four times\"\nworkload = \"reads\"\nstack = \"b\"\n{text}"
        ))
    };
    let good = "metric = \"iops\"\nagainst = \"a\"\nprinted = \"4x\"\n";
    let published = read_text(&claim(good)).unwrap().published.unwrap();
    assert_eq!(published.counts(), "1 claim");
    let stored = serde_json::to_string(&published).unwrap();
    assert_eq!(serde_json::from_str::<Published>(&stored).unwrap(), *published);
    let one = &published.claims[0];
    assert_eq!((one.value, one.low, one.high, one.per_guest), (4.0, 3.5, 4.5, false));
    let core = claim("metric = \"iops per core\"\nprinted = \"~1M\"\n");
    assert_eq!(read_text(&core).unwrap().published.unwrap().claims[0].high, 1.5e6);
    let texts = [
        good.replace("\"a\"", "\"b\""),
        good.replace("\"a\"", "\"c\""),
        good.replace("4x", "four"),
        good.replace("4x", "1M"),
        good.replace("iops", "cpu"),
        good.replace("iops", "durable iops"),
        good.replace("against = \"a\"\n", ""),
        format!("{good}per_guest = true\n"),
        format!("{good}per_guset = true\n"),
        good.replace("\"4x\"", "[\"4x\"]"),
    ];
    let mut table = String::new();
    texts.iter().for_each(|text| report(text, &claim(text), &mut table));
    insta::assert_snapshot!(table);
}

/// Returns two stacks and two workloads, with the given text after them.
fn with_tables(text: &str) -> String {
    format!(
        "{STACK}[stack.b]\ntext = \"file:/y,size=1GiB\"\n[[workload]]\nname = \"reads\"\nrw = \"randread\"\n[[workload]]\nname = \"mix\"\nrw = \"randrw\"\n{text}"
    )
}

#[test]
fn refused_ratings() {
    let texts = [
        "[rating]\nrandread_iops = \"1000k\"\n",
        "[rating]\nsource = \" \"\nrandread_iops = \"1000k\"\n",
        "[rating]\nsource = \"a data sheet\"\n",
        "[rating]\nsource = \"a data sheet\"\nrandread_ios = \"1000k\"\n",
        "[rating]\nsource = \"a data sheet\"\nread = \"7000MB\"\n",
        "[rating]\nsource = \"a data sheet\"\nread = \"<7000MB/s\"\n",
        "[rating]\nsource = \"a data sheet\"\nrandread_iops = [\"1000k\"]\n",
        "[[rating]]\nsource = \"a data sheet\"\nrandread_iops = \"1000k\"\n",
    ];
    let mut table = String::new();
    texts.iter().for_each(|text| report(text, &with_tables(text), &mut table));
    insta::assert_snapshot!(table);
}

#[test]
fn refused_tables() {
    let groups = "[[table.group]]\nname = \"x\"\nstacks = [\"a\", \"b\"]\n";
    let texts = [
        "[table]\npercent_of = \"a\"\n".to_owned(),
        "[table]\nstacks = [\"a\", \"c\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"a\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\npercent_of = \"c\"\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\ncolumns = [\"x\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\ncolumns = [\"x\", \"x\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\nrows = [\"raeds\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\nrows = [\"mix\", \"mix\"]\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\nmetric = \"p99.95\"\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\nmetric = \"durable iops\"\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\nmetric = \"write iops\"\n".to_owned(),
        format!("[table]\nstacks = [\"a\", \"b\"]\n{groups}"),
        format!("[table]\n{groups}"),
        format!("[table]\ncolumns = [\"A\", \"B\"]\n{groups}{groups}"),
        "[table]\ncolumns = [\"A\", \"B\"]\npercent_of = \"A\"\n[[table.group]]\nname = \"y\"\nstacks = [\"-\", \"a\"]\n".to_owned(),
    ];
    let mut table = String::new();
    texts.iter().for_each(|text| report(text, &with_tables(text), &mut table));
    insta::assert_snapshot!(table);
}

#[test]
fn tables_take_their_heads_from_the_stacks_and_their_rows_from_the_loads() {
    let of = |text: &str| read_text(&with_tables(text)).unwrap().table.unwrap();
    let plain = of("[table]\nstacks = [\"b\", \"a\"]\npercent_of = \"a\"\n");
    assert_eq!((plain.columns, plain.percent_of), (vec!["b".to_owned(), "a".to_owned()], Some(1)));
    assert_eq!(plain.rows, ["reads", "mix"]);
    let groups = of(
        "[table]\ncolumns = [\"A\", \"B\"]\nrows = [\"mix\"]\nmetric = \"durable iops\"\n[[table.group]]\nname = \"x\"\nstacks = [\"a\", \"-\"]\n",
    );
    assert_eq!(groups.groups[0].stacks, [Some("a".to_owned()), None]);
    assert_eq!(
        (groups.rows.len(), groups.metric.unwrap().to_string()),
        (1, "durable iops".to_owned())
    );
}

#[test]
fn figures_of_one_direction_and_rows_that_were_printed_twice_are_read() {
    let of = |text: &str| read_text(&with_tables(text)).unwrap();
    let table = "[table]\nstacks = [\"a\", \"b\"]\nrows = [\"mix\"]\nmetric = \"write iops\"\n";
    assert_eq!(of(table).table.unwrap().metric.unwrap().to_string(), "write iops");
    let row = |metric: &str, note: &str| {
        format!("[[published.figures]]\n{}{note}", cell("mix", metric, "25.0k"))
    };
    let rows =
        [row("write iops", ""), row("write iops", "note = \"its counts\"\n"), row("read iops", "")]
            .concat();
    let reads = format!("[[published.figures]]\n{}", cell("reads", "read throughput", "102MiB/s"));
    let found = of(&format!("[published]\n{GOOD_HEAD}{rows}{reads}")).published.unwrap();
    let said = |one: &PublishedFigure| (one.metric.to_string(), one.note.clone());
    assert_eq!(
        found.figures.iter().map(said).collect::<Vec<_>>(),
        [
            ("write iops".to_owned(), None),
            ("write iops".to_owned(), Some("its counts".to_owned())),
            ("read iops".to_owned(), None),
            // A load that only reads has one rate.
            ("throughput".to_owned(), None),
        ]
    );
    assert!(!found.figures[0].is_of_row(&found.figures[1]));
    let stored = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Published>(&stored).unwrap(), *found);
}

#[test]
fn published_figures_are_read_with_the_rounding_of_their_digits() {
    let text = "\
baseline = \"file\"
[stack.guest]
text = \"file:/x,size=1GiB | vm(num-queues=[1,4])\"
[stack.file]
text = \"file:/x,size=1GiB\"
[[workload]]
rw = \"randwrite\"
[[workload]]
rw = \"randrw\"
[published]
source = \"a page\"
hardware = \"a drive\"
note = \"the charts are lost\"
stacks = [\"file\", \"guest num-queues=1\", \"guest num-queues=4\"]
figures = [
  { workload = \"4k-randwrite-qd1\", metric = \"durable throughput\", printed = [\"28.7MiB/s\", \"-\", \"<25%\"] },
  { workload = \"4k-randwrite-qd1\", metric = \"p99.95\", printed = [\"118us\", \"1.2ms\", \"-\"] },
  { workload = \"4k-randrw50-qd1\", metric = \"read mean\", printed = [\"-\", \"141.24us\", \"-\"] },
]
";
    let scenario = read_text(text).unwrap();
    insta::assert_json_snapshot!(scenario.published);
}

#[test]
fn refused_scenarios() {
    let mut table = String::new();
    for head in BAD_TOP {
        let text = if head.is_empty() { String::new() } else { format!("{head}{STACK}") };
        report(head, &text, &mut table);
    }
    for tail in BAD_BEHIND {
        report(tail, &format!("{STACK}{tail}"), &mut table);
    }
    insta::assert_snapshot!(table);
}

fn report(what: &str, text: &str, table: &mut String) {
    let error = match read_text(text) {
        Ok(scenario) => panic!("taken: {what}\n{scenario:?}"),
        Err(error) => error,
    };
    assert!(error.contains("x.toml:") || error.contains("bad.fio:2:1:"), "{error}");
    writeln!(table, "{what:?}\n    {}", error.replace('\n', "\n    ")).unwrap();
}

#[test]
fn a_percentage_needs_a_declared_size() {
    let text = "[stack.a]\ntext = \"/dev/sda\"\n[[workload]]\nsize = \"50%\"\n";
    insta::assert_snapshot!(read_text(text).unwrap_err());
}

proptest::proptest! {
    #[test]
    fn arbitrary_scenarios_never_panic(text in "[\\[\\]a-z=\"'.{}|() \n0-9,%é]{0,60}") {
        let _ = read_text(&text);
    }

    #[test]
    fn arbitrary_stacks_never_panic(text in "[^'\n]{0,30}") {
        let _ = read_text(&format!("[stack.a]\ntext = '{text}'\n"));
    }
}

const TOOL: &str = "\
[tool.array]
members = \"2-8\"
path = \"/dev/array/{name}\"
capacity = \"sum-1\"
make = [[\"arrayctl\", \"create\", \"{name}\", \"--strip={strip:KiB}\", \"{members}\"]]
undo = [[\"arrayctl\", \"delete\", \"{name}\"]]
find = [[\"arrayctl\", \"show\", \"{name}\"]]
[tool.array.options.strip]
kind = \"size\"
default = \"64KiB\"
[tool.array.options.mode]
kind = \"word\"
values = [\"fast\", \"safe\"]
";

/// Returns a scenario with such a layer on two drives.
fn with_tool(layer: &str, tool: &str) -> String {
    format!(
        "[stack.a]\ntext = \"[/dev/a,/dev/b] | {layer}\"\n[stack.b]\ntext = \"/dev/a\"\n[[workload]]\nrw = \"randread\"\n{tool}"
    )
}

#[test]
fn a_described_engine_is_a_layer_like_any_other() {
    let scenario = read_text(&with_tool("array(strip=128KiB,mode=[fast,safe])", TOOL)).unwrap();
    let names: Vec<&str> = scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
    assert_eq!(names, ["a mode=fast", "a mode=safe", "b"]);
    let layer = &scenario.stacks[0].layers[0];
    assert_eq!((layer.option("strip"), layer.survivable_failures(2)), (Some("128KiB"), 1));
    assert_eq!(layer.layer_text(), "array(mode=fast,strip=128KiB)");
    let plain = read_text(&with_tool("array", TOOL)).unwrap().stacks[0].layers[0].clone();
    assert_eq!((plain.option("strip"), plain.option("mode")), (Some("64KiB"), None));
    // A report uses the record and not the scenario's file.
    let kept = serde_json::to_string(&scenario).unwrap();
    let read: Scenario = serde_json::from_str(&kept).unwrap();
    assert_eq!(read.stacks[0].layers[0], *layer);
    assert_eq!(read.stacks[0].layers[0].catalog_entry().unwrap().name, "array");
}

#[test]
fn refused_tools() {
    let change = |from: &str, to: &str| {
        assert!(TOOL.contains(from), "{from}");
        TOOL.replace(from, to)
    };
    let at_end = |text: &str| format!("{TOOL}{text}");
    let tools = [
        change("tool.array", "tool.mdraid"),
        change("tool.array", "tool.\"my array\""),
        change("\"2-8\"", "\"8-2\""),
        change("\"2-8\"", "2"),
        change("path = \"/dev/array/{name}\"\n", ""),
        change("/dev/array/{name}", "/srv/{name}"),
        change("path = \"/dev/array/{name}\"", "path_pointer = \"device\""),
        change("\"sum-1\"", "\"raid5\""),
        change(
            "make = [[\"arrayctl\", \"create\", \"{name}\", \"--strip={strip:KiB}\", \"{members}\"]]\n",
            "",
        ),
        change("[[\"arrayctl\", \"delete\", \"{name}\"]]", "\"arrayctl delete {name}\""),
        change(
            "[[\"arrayctl\", \"delete\", \"{name}\"]]",
            "[\"arrayctl\", \"delete\", \"{name}\"]",
        ),
        change("[[\"arrayctl\", \"delete\", \"{name}\"]]", "[]"),
        change(
            "\"arrayctl\", \"delete\", \"{name}\"",
            "\"sh\", \"-c\", \"arrayctl delete {name}\"",
        ),
        change("\"arrayctl\", \"delete\", \"{name}\"", "\"arrayctl delete\", \"{name}\""),
        change("\"delete\", \"{name}\"", "\"delete\", \"--all\""),
        change("\"show\", \"{name}\"", "\"show\", \"{part}\""),
        change("\"create\", \"{name}\"", "\"create\""),
        change("{strip:KiB}", "{stirp}"),
        change("{strip:KiB}", "{mode:KiB}"),
        change("{strip:KiB}", "{strip"),
        change("\"{members}\"", "\"{members}\", \"{members:KiB}\""),
        change("members = ", "member = \"{name}\"\nmembers = "),
        at_end("[tool.array.options.parts]\nkind = \"number\"\n"),
        at_end("[tool.array.options.parts]\nkind = \"count\"\ndefault = \"1\"\n"),
        change("kind = \"size\"", "kind = \"sizes\""),
        change("\"64KiB\"", "\"64\""),
        change("values = [\"fast\", \"safe\"]\n", ""),
        change("[tool.array.options.mode]", "[tool.array.options.name]"),
        change("[tool.array.options.mode]", "[tool.array.options.size]"),
        change("members = ", "gives = \"nvme\"\nmembers = "),
        change("members = ", "limit = \"0s\"\nmembers = "),
        change("members = ", "positional = \"level\"\nmembers = "),
        change("members = ", "absent = [0]\nmembers = "),
        change("members = ", "fail = [[\"arrayctl\", \"fail\", \"{member}\"]]\nmembers = "),
        change("members = ", "fail = [[\"arrayctl\", \"fail\", \"{name}\"]]\nmembers = "),
        change("members = ", "undoo = 1\nmembers = "),
        change("capacity = \"sum-1\"\n", "capacity_by = { of = \"mode\", fast = \"sum\" }\n"),
        at_end("[tool.array.capacity_by]\nof = \"mode\"\n"),
        at_end(
            "[tool.array.state]\ncommand = [\"arrayctl\", \"show\", \"{name}\"]\nhealthy = []\n",
        ),
        at_end(
            "[tool.array.settings]\ncommand = [\"arrayctl\", \"show\"]\npointers = { strip = \"strip\" }\n",
        ),
    ];
    let mut table = String::new();
    tools.iter().for_each(|tool| {
        let differs = tool.lines().find(|line| !TOOL.lines().any(|other| other == *line));
        report(differs.unwrap_or("a line is missing"), &with_tool("array", tool), &mut table);
    });
    for layer in ["aray", "array(stirp=1KiB)", "array(strip=64)", "array(mode=fats)", "array(fast)"]
    {
        report(layer, &with_tool(layer, TOOL), &mut table);
    }
    report("tools", &format!("tools = [\"none.toml\"]\n{}", with_tool("array", "")), &mut table);
    insta::assert_snapshot!(table);
}

#[test]
fn the_tools_that_are_shipped_are_sound() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/engines"));
    let mut known = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_socket = std::fs::read_to_string(&path).unwrap().contains("vhost-user-blk");
        let layer =
            if is_socket { format!("{name} | vm(attach=vhost-user-blk)") } else { name.clone() };
        let text = with_tool(&layer, "").replace("[/dev/a,/dev/b]", "/dev/c");
        let scenario = read_text(&format!("tools = [\"{}\"]\n{text}", path.display()));
        assert_eq!(
            scenario.unwrap().stacks[0].layers[0].name,
            name,
            "a file is called as its tool is"
        );
        known.push(name);
    }
    assert!(known.len() >= 2, "{known:?}");
}

#[test]
fn a_place_may_be_a_virtual_machine_and_has_facts_in_the_users_words() {
    let stack =
        "[stack.a]\ntext = \"/dev/vdb @vm1\"\n[stack.b]\ntext = \"ssh:root@vm2:/dev/vdb\"\n";
    let places = "[place.vm1]\nlibvirt = \"db1\"\non = \"ssh:root@kvm3\"\nuri = \"qemu:///system\"\n\
                  facts = { switch = \"SN2010\", ports = 25 }\n\
                  [place.second]\nssh = \"root@vm2\"\nproxmox = 101\nfacts = [\"switch: SN2010\", \"note: a: b\"]\n\
                  [place.host]\nfacts = [\"switch: SN2410\"]\n";
    let scenario = read_text(&format!("{stack}{places}")).unwrap();
    assert_eq!(scenario.stacks[0].text, "ssh:vm1:/dev/vdb");
    let described = |place: &str| scenario.described[&Place::from(place)].clone();
    let vm1 = described("ssh:vm1").vm.unwrap();
    assert_eq!(
        (vm1.to_string(), vm1.on, vm1.uri),
        ("libvirt:db1".into(), "ssh:root@kvm3".into(), Some("qemu:///system".into()))
    );
    let vm2 = described("ssh:root@vm2");
    assert_eq!(
        (vm2.vm.unwrap().to_string(), vm2.facts["note"].as_str()),
        ("proxmox:101".into(), "a: b")
    );
    assert_eq!(described("ssh:vm1").facts["ports"], "25");
    assert_eq!(described("host").facts["switch"], "SN2410");
}

#[test]
fn a_place_that_is_described_badly_is_refused_with_its_line() {
    let cases = [
        (
            "[place.vm1]\nlibvirt = \"a\"\nproxmox = 1\n",
            "\"proxmox\": cannot be combined with \"libvirt\"",
        ),
        (
            "[place.vm1]\nlibvirt = \"a\"\ndrives = 2\n",
            "\"drives\": cannot be combined with \"libvirt\"",
        ),
        ("[place.vm1]\nssh = \"a\"\non = \"ssh:b\"\n", "\"on\": there is no virtual machine here"),
        ("[place.vm1]\nlibvirt = \"-a\"\n", "\"-a\" is not a name of a virtual machine"),
        ("[place.vm1]\nproxmox = \"db\"\n", "\"db\" is not a VMID; hint: write its number"),
        ("[place.vm1]\nproxmox = 1\nuri = \"qemu:///system\"\n", "only libvirt has a URI"),
        (
            "[place.vm1]\nlibvirt = \"a\"\nuri = \"qemu+ext:///system?command=/tmp/x\"\n",
            "\"uri\": not a URI that a scenario may name: the transport \"ext\" is not one of unix",
        ),
        (
            "[place.vm1]\nlibvirt = \"a\"\nuri = \"qemu+ssh://h/system?command=/tmp/x\"\n",
            "its parameter \"command=/tmp/x\" is not one of",
        ),
        ("[place.vm1]\nesxi = \"a\"\non = \"ssh:b\"\n", "GOVC_URL"),
        (
            "[place.vm1]\nlibvirt = \"a\"\non = \"kvm3\"\n",
            "\"kvm3\" is not a host; hint: write on = \"ssh:HOST\"",
        ),
        ("[place.vm1]\nlibvirt = \"a\"\non = \"ssh:-o\"\n", "\"-o\" is no host for ssh"),
        (
            "[place.vm1]\nlibvirt = \"a\"\n[place.b]\nssh = \"vm1\"\nfacts = [\"a: b\"]\n",
            "ssh:vm1 is described twice",
        ),
        ("[place.host]\nssh = \"a\"\n", "\"host\" is this host"),
        (
            "[place.host]\nfacts = [\"SN2010\"]\n",
            "facts are a table or a list of texts; hint: write facts = {",
        ),
        ("[place.host]\nfacts = \"a: b\"\n", "facts are a table or a list of texts"),
        ("[place.host]\nfacts = [\"a: b\", \"a: c\"]\n", "there are two facts \"a\""),
        ("[[workload]]\nrw = { a = \"b\" }\n", "one value is expected here, not a table"),
    ];
    for (text, part) in cases {
        let why = read_text(&format!("{text}[stack.a]\ntext = \"/dev/vdb\"\n")).unwrap_err();
        assert!(why.contains(part) && why.starts_with("x.toml:"), "{text}: {why}");
    }
}

#[test]
fn a_consent_in_a_file_that_another_user_could_have_written_is_refused() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    let stack = "[stack.a]\ntext = \"/dev/vdb\"\n";
    for (key, word) in [("destroy", "serial=S1,wipe=gpt"), ("change", "libvirt:db1,force")] {
        std::fs::write(&path, format!("{key} = [\"{word}\"]\n{stack}")).unwrap();
        for (of_file, of_folder) in [(0o644, 0o700), (0o666, 0o700), (0o644, 0o777), (0o664, 0o755)]
        {
            set_permissions(&path, Permissions::from_mode(of_file)).unwrap();
            set_permissions(folder.path(), Permissions::from_mode(of_folder)).unwrap();
            let read =
                super::read_scenario(&path, &[]).map(drop).map_err(|error| error.to_string());
            if (of_file, of_folder) == (0o644, 0o700) {
                read.unwrap();
                continue;
            }
            let why = read.unwrap_err();
            assert!(
                why.contains(&format!("another user could have written \"{key}\" here (")),
                "{why}"
            );
            assert!(
                why.contains(&format!("hint: give it on the command line: --{key} {word}; or")),
                "{why}"
            );
        }
        std::fs::write(&path, stack).unwrap();
        super::read_scenario(&path, &[]).map(drop).unwrap();
    }
}

#[test]
fn values_of_the_wrong_kind_are_named_in_the_words_of_toml() {
    let keys = [
        "name",
        "bill",
        "baseline",
        "engine",
        "measure",
        "device",
        "stack",
        "workload",
        "destroy",
        "change",
        "max_written",
        "durability",
        "published",
        "rating",
        "table",
        "states",
        "place",
        "tool",
        "tools",
        "device.a",
        "device.a.path",
        "device.a.keep",
        "stack.b",
        "stack.b.layers",
        "stack.b.own",
        "stack.b.operator",
        "tool.t",
        "tool.t.make",
        "published.figures",
        "published.claims",
        "published.stacks",
        "table.stacks",
        "measure.slice",
        "measure.visits",
        "place.p",
        "place.p.ssh",
    ];
    let values = [
        "3",
        "-4.5",
        "\"x\"",
        "true",
        "[1]",
        "{ a = 1 }",
        "2026-01-01",
        "[[\"x\"]]",
        "[{ a = 1 }]",
        "[]",
    ];
    let words = [
        "struct",
        "sequence",
        "integer",
        "floating",
        "boolean",
        "a map",
        "a string",
        "tuple",
        "Wire",
        "u32",
        "i64",
        "usize",
        "invalid type",
        "Spanned",
        "`",
    ];
    let mut refused = 0;
    for (key, value) in keys.iter().flat_map(|key| values.iter().map(move |value| (key, value))) {
        let Err(error) = read_text(&format!("{key} = {value}\n")) else { continue };
        refused += 1;
        assert!(!words.iter().any(|word| error.contains(word)), "{key} = {value}: {error}");
        assert!(error.starts_with("x.toml"), "{error}");
    }
    assert!(refused > 200, "{refused}");
    let error = read_text("stack = 3\n").unwrap_err();
    assert_eq!(error, "x.toml:1:9: key \"stack\": the whole number 3 where a table is expected");
}
