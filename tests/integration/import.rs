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
        .replace(
            "total=89170",
            &format!("total={}", (iops.parse::<f64>().unwrap() * 2001.0) as u32 + minute),
        )
}

/// Two systems in folders: reads and writes in five runs each, in turns, and one JSON+ each.
fn results(rig: &Rig) {
    let rates =
        [("44.6", "35.6"), ("44.9", "34.9"), ("44.2", "35.2"), ("45.1", "36.1"), ("44.4", "35.4")];
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
    says(&told, &["22 results of 13 files", "by their paths", "host (11), vm (11)"]);
    says(&told, &["no result in: results/README.md", "taken for repeats"]);
    for format in ["terminal", "markdown", "html", "csv", "json"] {
        let text = rig.expect(0, &["report", &id, "-v", "--format", format]);
        let verdict = if format == "csv" { "ratio of 4k randrw IOPS" } else { "costs" };
        says(&text, &["one run each: no spread is known", verdict, "4k randrw"]);
    }
    let report = rig.json(&["report", "last"]);
    assert_eq!(report["run"]["imported"], true);
    let files = report["imported"]["files"].as_array().unwrap();
    assert_eq!((files.len(), files[0]["bytes"].as_u64()), (13, Some(15)));
    assert!(
        files.iter().all(|file| Path::new(file["path"].as_str().unwrap()).is_absolute()),
        "{files:?}"
    );
    let loads = report["imported"]["workloads"].as_array().unwrap();
    let load = |subject: &str| {
        loads.iter().find(|one| one["subject"].as_str().unwrap().contains(subject)).unwrap()
    };
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
    let [host, vm] = [
        format!("host=article.txt:1-{lines}"),
        format!("vm=article.txt:{}-{}", lines + 1, 2 * lines + 1),
    ];
    let (id, told) = imported(&rig, &["--system", &host, "--system", &vm, "--baseline", "vm"]);
    assert!(
        told.contains("as they were named: host (2), vm (2)") && !told.contains("hint"),
        "{told}"
    );
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
    let (new, _) =
        imported(&rig, &["--system", "host=results/vm", "--system", "vm=results/host/0.txt"]);
    let text = flat(&rig.expect(0, &["compare", &old, &new]));
    says(&text, &["host, new against old: costs", "vm, new against old: unresolved"]);
    says(&text, &["1 run against 5 runs: the spread is not known"]);
    says(&text, &["imported (old run): its figures were imported from 13 files"]);
    let failing = rig.iotax(&["compare", &old, &new, "--fail-above", "1%"]);
    assert_eq!(failing.status.code(), Some(1), "{}", words(&failing));
    assert!(rig.complaint(2, &["compare", &old, &old]).contains("given twice"));

    // A measured run of the same load: one stack, which the only system is compared with.
    let file = rig.file("x.img", 16);
    let run = [
        "run",
        &file,
        "--rw",
        "randread",
        "--iodepth",
        "1",
        "--budget",
        "1s",
        "--min-time",
        "500ms",
    ];
    rig.expect(0, &run);
    let (one, _) = imported(&rig, &["results/vm/read.json"]);
    let measured = rig.run_dirs();
    let measured = measured[measured.len() - 2].to_str().unwrap().to_owned();
    let text = flat(&rig.expect(0, &["compare", &measured, &one]));
    says(&text, &["one imported run: no spread of it is known", "each has one system only"]);
    says(&text, &["its region, direct I/O and distribution are not known"]);
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
    says(
        &["cut.json"],
        &["no result in cut.json", "not read: cut.json:12: fio JSON: it ends in the middle"],
    );
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

/// Returns fio's JSON of one job with these options, this number of reads in 10 s, and this error.
fn job(options: &str, ios: u32, error: u32) -> String {
    let options = options.split(' ').map(|one| one.split_once('=').unwrap());
    let options: Vec<String> =
        options.map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
    format!(
        r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a", "error": {error}, "job options": {{{}}},
        "read": {{"io_bytes": {}, "bw": {}, "iops": {:.6}, "total_ios": {ios}, "runtime": 10000}}}}]}}"#,
        options.join(", "),
        u64::from(ios) * 4096,
        u64::from(ios) * 4 / 10,
        f64::from(ios) / 10.0
    )
}

/// Writes four runs of each of two systems with these options; the second system does half as many
/// I/Os.
fn four_each(rig: &Rig, host: &str, vm: &str) {
    for at in 0..4 {
        write(rig, &format!("four/host/r{at}.json"), &job(host, 100_000 + 100 * at, 0));
        write(rig, &format!("four/vm/r{at}.json"), &job(vm, 50_000 + 100 * at, 0));
    }
}

const RANDREAD: &str = "rw=randread bs=4k iodepth=1";

#[test]
fn paths_that_differ_are_one_system_only_where_words_of_runs_do() {
    let rig = Rig::new();
    let put = |path: &str, ios: u32| write(&rig, path, &job(RANDREAD, ios, 0));
    for (at, bs) in ["4k", "8k"].into_iter().enumerate() {
        let of_size = RANDREAD.replace("4k", bs);
        for (ios, system) in [(95_930, "host"), (116_360, "vm")] {
            write(
                &rig,
                &format!("deep/{system}/nvme0n1/{bs}/randread-1-{at}.json"),
                &job(&of_size, ios, 0),
            );
        }
    }
    let (id, told) = imported(&rig, &["deep/host", "deep/vm"]);
    says(&told, &["by their paths: host (2), vm (2)", "--system NAME=PATH for each path"]);
    let text = flat(&rig.expect(0, &["report", &id, "-v"]));
    says(&text, &["host * 9593", "vm 11.6k", "121.3"]);
    assert!(!text.contains("10.6k"), "{text}");
    for (at, date) in ["2026-01-01", "2026-01-02"].into_iter().enumerate() {
        put(&format!("dates/host/{date}/r.json"), 100_000 + at as u32);
        put(&format!("dates/vm/{date}/r.json"), 50_000 + at as u32);
    }
    let (_, told) = imported(&rig, &["dates"]);
    says(
        &told,
        &[
            "host (2), vm (2)",
            "taken for repeats",
            "host: dates/host/2026-01-01/r.json, dates/host/2026-01-02/r.json",
        ],
    );
    for (path, ios) in [
        ("drives/host/sda.json", 1000),
        ("drives/host/sdb.json", 9000),
        ("drives/vm/sda.json", 900),
    ] {
        put(path, ios);
    }
    let (_, told) = imported(&rig, &["drives"]);
    says(&told, &["host/sda (1), host/sdb (1), vm (1)"]);
    assert!(!told.contains("taken for repeats"), "{told}");
    let named = ["--system", "host=drives/host", "--system", "vm=drives/vm/sda.json"];
    says(&imported(&rig, &named).1, &["as they were named: host (2), vm (1)"]);
}

#[test]
fn a_run_counts_once_however_often_it_is_printed_or_copied() {
    let rig = Rig::new();
    let vdbench = include_str!("../../crates/audit/fixtures/vdbench/console.txt");
    for (system, rate) in [("host", "17028.00"), ("vm", "13028.00")] {
        for run in 1..=2 {
            let text = vdbench
                .replace("17028.00", rate)
                .replace("17:11:03.218", &format!("17:1{run}:03.218"));
            for name in ["logfile.html", "summary.html", "totals.html"] {
                let page = format!("<title>Vdbench out/{name}</title><pre>\n{text}");
                write(&rig, &format!("three/{system}/out{run}/{name}"), &page);
            }
            write(&rig, &format!("copied/{system}/a{run}.txt"), &text);
            write(&rig, &format!("copied/{system}/b{run}.txt"), &text);
        }
    }
    for folder in ["three", "copied"] {
        let (id, told) = imported(&rig, &[folder]);
        says(&told, &["host (2), vm (2)", "the same run again, not counted"]);
        let text = flat(&rig.expect(0, &["report", &id, "-v"]));
        says(
            &text,
            &[
                "2 runs against 2 runs: the spread is not known",
                "results of a run that is already counted, left out",
            ],
        );
    }
    // The client prints the server's output, and the server has a log, too.
    let client = "Connecting to host 127.0.0.1, port 5997\n\
        [  5] local 127.0.0.1 port 43418 connected to 127.0.0.1 port 5997\n\
        [ ID] Interval           Transfer     Bitrate         Retr\n\
        [  5]   0.00-2.01   sec   167 MBytes   698 Mbits/sec    0             sender\n\
        [  5]   0.00-2.01   sec   167 MBytes   697 Mbits/sec                  receiver\n";
    let server = "Server listening on 5997 (test #3)\nAccepted connection from 127.0.0.1, port 43408\n\
        [  5] local 127.0.0.1 port 5997 connected to 127.0.0.1 port 43418\n[ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-2.01   sec   167 MBytes   697 Mbits/sec                  receiver\n";
    let both = format!("{client}\nServer output:\n-----------\n{server}\n\niperf Done.\n");
    write(&rig, "net/host/run1.txt", &both);
    write(&rig, "net/host/server1.txt", server);
    write(&rig, "net/vm/run1.txt", &both.replace("43418", "43420"));
    says(&imported(&rig, &["net"]).1, &["5 results of 3 files", "host (1), vm (1)"]);
    // Both formats of one run: the one that lists its options counts.
    write(&rig, "forms/host/run1.txt", &format!("{TEXT}\n{TEXT}"));
    write(&rig, "forms/vm/run1.json", &job(RANDREAD, 84_560, 0));
    let text = "fio-3.33\nStarting 1 process\na: (groupid=0, jobs=1): err= 0: pid=9: Sat Nov 28 07:57:19 2026\n  \
        read: IOPS=8456, BW=33.0MiB/s (34.6MB/s)(330MiB/10000msec)\n     issued rwts: total=84560,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    write(&rig, "forms/vm/run1.txt", text);
    let (_, told) = imported(&rig, &["forms"]);
    says(&told, &["host (2), vm (1)", "forms/vm/run1.txt:4 (vm) is forms/vm/run1.json:2"]);
}

#[test]
fn failed_jobs_are_named_and_give_no_verdict() {
    let rig = Rig::new();
    four_each(&rig, RANDREAD, RANDREAD);
    let (id, _) = imported(&rig, &["four"]);
    assert!(rig.expect(0, &["report", &id, "-v"]).contains("costs"));
    for at in 0..4 {
        write(&rig, &format!("four/vm/r{at}.json"), &job(RANDREAD, 50_000 + 100 * at, 5));
    }
    let (id, told) = imported(&rig, &["four"]);
    says(
        &told,
        &[
            "host (4), vm (0)",
            "the run failed and does not count: four/vm/r0.json:2 (vm): error 5, Input/output error",
        ],
    );
    let text = flat(&rig.expect(0, &["report", &id]));
    says(
        &text,
        &[
            "failed_job (vm): 4 results of runs that ended with error 5",
            "of which none are compared",
        ],
    );
    assert!(!text.contains("costs"), "{text}");
    write(
        &rig,
        "full.txt",
        "dd: error writing 'x': No space left on device\n5+0 records in\n4+0 records out\n4194304 bytes (4.2 MB, 4.0 MiB) copied, 0.01 s, 419 MB/s\n",
    );
    says(&imported(&rig, &["full.txt"]).1, &["the run failed", "No space left on device"]);
}

#[test]
fn every_option_makes_a_load_another_or_a_confounder_that_is_named() {
    let rig = Rig::new();
    let against = |host: &str, vm: &str| {
        four_each(&rig, host, vm);
        let (id, _) = imported(&rig, &["four"]);
        flat(&rig.expect(0, &["report", &id]))
    };
    let with = |option: &str| format!("{RANDREAD} {option}");
    let buffered = against(&with("invalidate=0"), &with("buffered=0"));
    says(
        &buffered,
        &[
            "confounder (vm, 4k randread",
            "direct=1, invalidate not set against direct=0, invalidate=0 of host",
        ],
    );
    for option in [
        "offset=1g",
        "zonemode=zbd",
        "verify=crc32c",
        "iodepth_batch=8",
        "nrfiles=4",
        "new_in_fio_4=1",
    ] {
        says(&against(RANDREAD, &with(option)), &["confounder", option.split('=').next().unwrap()]);
    }
    let alike = against(&with("log_avg_msec=500"), &with("filename=/dev/sdb direct=0"));
    assert!(alike.contains("50.1") && !alike.contains("confounder"), "{alike}");
    let sequence = RANDREAD.replace("randread", "randread:8");
    for (host, vm) in [
        (RANDREAD, sequence.as_str()),
        ("rw=randread bssplit=4k/50:64k/50", "rw=randread bsrange=4k-64k"),
    ] {
        says(&against(host, vm), &["of which none are compared"]);
    }
}

#[test]
fn rates_are_by_counts_and_slips_are_named() {
    let rig = Rig::new();
    let text = |printed: &str, issued: u32, mib: u32| {
        format!(
            "fio-3.16\nStarting 4 processes\ntest: (groupid=0, jobs=4): err= 0: pid=1: Thu Nov 18 23:26:17 2021\n  \
             write: IOPS={printed}, BW={mib}MiB/s (2732MB/s)(153GiB/60010msec)\n     issued rwts: total=0,{issued},0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    write(&rig, "e0/host.txt", &text("20.0k", 1_259_822, 2624));
    write(&rig, "e0/vm.txt", &text("20.8k", 1_250_832, 2605));
    let (id, told) = imported(&rig, &["e0"]);
    says(
        &told,
        &[
            "a slip: e0/host.txt:4 (host): IOPS: 20.0k is printed, but 20994 follows from 1259822 I/Os in 60.01 s",
        ],
    );
    let text = flat(&rig.expect(0, &["report", &id]));
    assert!(text.contains("99.3 ? %") && !text.contains("104.0"), "{text}");
    let lines = "read: IOPS=26.0k, BW=102MiB/s (107MB/s)(29.8GiB/300001msec)\nwrite: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n";
    write(&rig, "lines.txt", lines);
    says(&imported(&rig, &["lines.txt"]).1, &["25.0k is printed", "102MiB/s beside it"]);
    let rados = "Total time run:       1.103127\nTotal reads made      248\nRead size:            4194304\nBandwidth (MB/sec)    799.261\nAverage IOPS          224\n";
    write(&rig, "rados.txt", rados);
    let (id, told) = imported(&rig, &["rados.txt"]);
    says(
        &told,
        &[
            "799.261 is printed, but 899.26 MiB/s follows from 248 I/Os of 4194304 bytes in 1.103127 s",
        ],
    );
    says(&rig.expect(0, &["report", &id]), &["224 ?", "899 ? MiB/s"]);
}

#[test]
fn outputs_behind_a_common_prefix_and_progress_are_read() {
    let rig = Rig::new();
    let behind = |prefix: &str, text: &str| -> String {
        text.lines().map(|line| format!("{prefix}{line}\n")).collect()
    };
    for (at, prefix) in
        ["> ", "fio-1  | ", "\u{1b}[32m", "2026-11-28T08:00:21Z ", "    "].into_iter().enumerate()
    {
        write(&rig, &format!("behind{at}.txt"), &behind(prefix, TEXT));
        says(&imported(&rig, &[&format!("behind{at}.txt")]).1, &["2 results of 1 file"]);
    }
    let dd = "1041235968 bytes (1.0 GB, 993 MiB) copied, 4 s, 260 MB/s\n1024+0 records in\n1024+0 records out\n\
              1073741824 bytes (1.1 GB, 1.0 GiB) copied, 4.20552 s, 255 MB/s\n";
    write(&rig, "dd.txt", dd);
    let (id, told) = imported(&rig, &["dd.txt"]);
    says(&told, &["1 result of 1 file"]);
    says(&rig.expect(0, &["report", &id]), &["243 ? MiB/s"]);
    let cpu =
        include_str!("../../crates/audit/fixtures/sysbench/cpu-1.0.txt").replace("0.02", "0.00");
    write(&rig, "cpu.txt", &cpu);
    let (id, _) = imported(&rig, &["cpu.txt"]);
    let text = rig.expect(0, &["report", &id, "-v"]);
    assert!(
        text.contains("events per second")
            && !text.contains("reads and writes together")
            && !text.contains("0 ? ms"),
        "{text}"
    );
}
