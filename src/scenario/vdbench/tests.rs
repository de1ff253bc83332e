//! Tests of parameter files: what they mean, and each refusal once.

use super::super::jobfile;
use super::*;
use iotax_load::Rw;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Reads `text` as p.vdb in a folder of its own, with other files beside it.
fn read_text(text: &str, others: &[(&str, &str)]) -> Result<JobFile, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in others.iter().chain([&("p.vdb", text)]) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let prefix = format!("{}/", folder.path().display());
    let short = |text: String| text.replace(&prefix, "");
    read(&folder.path().join("p.vdb"))
        .map(|file| JobFile { notes: file.notes.into_iter().map(short).collect(), ..file })
        .map_err(|error| error.to_string().replace(&prefix, ""))
}

fn good(text: &str) -> JobFile {
    read_text(text, &[]).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

const SD: &str = "sd=sd1,lun=/dev/sdb,openflags=o_direct\n";

/// The jobs of `wd=wd1` with these parameters, at iorate=max.
fn job(wd: &str) -> iotax_load::Job {
    let file = good(&format!("{SD}wd=wd1,sd=*{wd}\nrd=r,wd=*,iorate=max\n"));
    file.workloads().unwrap()[0].jobs[0].clone()
}

/// The workloads of `rd=r` with these parameters, by name.
fn runs(rd: &str) -> JobFile {
    good(&format!("{SD}wd=wd1,sd=sd1\nrd=r,wd=wd1{rd}\n"))
}

fn names(file: &JobFile) -> Vec<&str> {
    file.drafts.iter().map(|draft| draft.name.as_str()).collect()
}

/// The first note with this in it.
fn note<'a>(file: &'a JobFile, part: &str) -> &'a str {
    file.notes.iter().find(|note| note.contains(part)).unwrap_or_else(|| panic!("{part}: {:?}", file.notes))
}

#[test]
fn the_profiles_of_a_published_comparison() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/e4-vdbench-profiles.vdb");
    let file = jobfile::read(Path::new(path)).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/");
    let mut table = String::new();
    for workload in file.workloads().unwrap() {
        for job in &workload.jobs {
            // As it is recorded: words that are not in force are left out.
            let job = serde_json::to_string(job).unwrap();
            writeln!(table, "{}: {job}", workload.name).unwrap();
        }
    }
    insta::assert_snapshot!(format!("{table}{}", file.notes.join("\n").replace(folder, "")));
}

#[test]
fn a_file_as_hcibench_writes_it() {
    let file = good(
        "*Auto Generated VDBench Parameter File\n*2 raw disk, 100% random, 70% read\n\
         *SD:\tStorage Definition\n*WD:\tWorkload Definition\n*RD:\tRun Definition\n\n\
         debug=86\ndata_errors=10000\n\
         sd=sd1,lun=/dev/sda,openflags=o_direct,hitarea=0,range=(0,100),threads=4\n\
         sd=sd2,lun=/dev/sdb,openflags=o_direct,hitarea=0,range=(0,100),threads=4\n\
         wd=wd1,sd=(sd1,sd2),xfersize=(4096,100),rdpct=70,seekpct=100\n\
         rd=run1,wd=wd1,iorate=max,elapsed=3600,warmup=1800\n",
    );
    let workloads = file.workloads().unwrap();
    assert_eq!(workloads[0].name, "run1");
    let job = &workloads[0].jobs[0];
    assert_eq!((job.bs, job.rw, job.rwmixread, job.percentage_random), (4096, Rw::RandRw, 70, 100));
    assert_eq!((job.iodepth, job.numjobs, job.direct, job.size, job.offset), (4, 1, true, None, 0));
    assert!(note(&file, "for 2 SDs").starts_with("p.vdb:12: job \"wd1\""));
    assert!(note(&file, "lun=/dev/sda").contains("the target is the stack's"));
}

#[test]
fn lines_are_read_as_vdbench_reads_them() {
    let file = good(
        "  * comment\n# another\n/ and one\n\n\
         SD=sd1,LUN=\"/a b,c=d\",\n   thr=4,     a comment\n   openflags=o_direct\n\
         sd=sd2,lun=/dev/x$y threads=2\n\
         wd=wd1\nsd=sd1\nxf=8k,rdpct=0\n\
         rd=r,wd=wd1,iorate=max\neof\nrd=never,wd=nothing\n",
    );
    assert_eq!(names(&file), ["r"]);
    let job = &file.drafts[0].jobs[0].job;
    assert_eq!((job.iodepth, job.bs, job.rw, job.direct), (4, 8192, Rw::RandWrite, true));
    assert!(note(&file, "behind a blank").starts_with("p.vdb:8: \"threads=2\""));
    assert!(note(&file, "/a b,c=d").starts_with("p.vdb:5"));
}

#[test]
fn includes_stand_in_place_of_their_line() {
    let others = [("sds", "* SDs\nsd=sd1,lun=/dev/x,threads=3\n"), ("ring", "include=p.vdb\n")];
    let file = read_text("include=sds\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max\n", &others).unwrap();
    assert_eq!(file.drafts[0].jobs[0].job.iodepth, 3);
    for (text, part) in [
        ("include=ring\n", "ring:1:1: key \"include\": an include in an included file"),
        ("include=nope\n", "p.vdb:1:1: key \"include\": cannot read the job file"),
        ("include=p.vdb\n", "includes itself"),
    ] {
        let error = read_text(text, &others).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn defaults_are_for_those_that_come_later() {
    let file = good(
        "sd=a,lun=/dev/a\nsd=default,threads=2\nsd=b,lun=/dev/b\n\
         wd=default,xfersize=16k\nwd=wa,sd=a\nwd=default,rdpct=0\nwd=wb,sd=b,xfersize=8k\n\
         rd=default,iorate=max\nrd=ra,wd=wa\nrd=rb,wd=wb\nrd=rc,sd=b\n",
    );
    let jobs: Vec<_> = file.drafts.iter().map(|draft| &draft.jobs[0].job).collect();
    let told: Vec<_> = jobs.iter().map(|job| (job.name.as_str(), job.iodepth, job.bs, job.rw)).collect();
    // A run without a wd takes wd=default, as it is at the end.
    let expected =
        [("wa", 8, 16384, Rw::RandRead), ("wb", 2, 8192, Rw::RandWrite), ("rc", 2, 16384, Rw::RandWrite)];
    assert_eq!(told, expected);
}

#[test]
fn names_are_lists_ranges_and_wildcards() {
    let sds: String = (1..=12).map(|n| format!("sd=sd{n},lun=/dev/x{n}\n")).collect();
    for (names, count) in [("sd*", 12), ("*", 12), ("(sd2-sd11)", 10), ("(sd1,sd3,sd7)", 3), ("sd1*", 4)] {
        assert_eq!(several_of(&sds, names), count, "{names}");
    }
}

fn several_of(sds: &str, names: &str) -> u32 {
    let file = good(&format!("{sds}wd=w,sd={names}\nrd=r,wd=w,iorate=max\n"));
    let rest = note(&file, "is for ").split_once("is for ").unwrap().1;
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn directions_and_seeks() {
    let told = |wd: &str| {
        let job = job(wd);
        (job.rw, job.rwmixread, job.percentage_random)
    };
    assert_eq!(told(""), (Rw::RandRead, 100, 100));
    assert_eq!(told(",rdpct=0"), (Rw::RandWrite, 0, 100));
    assert_eq!(told(",wrpct=30,seekpct=80"), (Rw::RandRw, 70, 80));
    assert_eq!(told(",readpct=100,seekpct=20"), (Rw::RandRead, 100, 20));
    for sequential in ["0", "seq", "sequential", "eof", "-1"] {
        assert_eq!(told(&format!(",rdpct=50,seekpct={sequential}")), (Rw::Rw, 50, 0), "{sequential}");
    }
    assert_eq!(told(",seekpct=0"), (Rw::Read, 100, 0));
    assert_eq!(told(",seekpct=0,rdpct=0"), (Rw::Write, 0, 0));
    assert_eq!(told(",seekpct=random"), (Rw::RandRead, 100, 100));
}

#[test]
fn sequential_passes_that_differ_are_noted() {
    let notes = |wd: &str| good(&format!("{SD}wd=w,sd=*{wd}\nrd=r,wd=w,iorate=max\n"));
    note(&notes(",seekpct=20"), "p.vdb:2: \"seekpct=20\": sequential I/Os go on behind the last");
    note(&notes(",seekpct=0,rdpct=50"), "make a sequential pass each");
    note(&notes(",seekpct=eof"), "the pass begins again at its end");
    assert!(!notes(",seekpct=0").notes.iter().any(|note| note.contains("pass")));
}

#[test]
fn loops_nest_as_vdbench_nests_them() {
    let file = runs(",forthreads=(1-4,d),iorate=(100,200),distribution=d,forxfersize=(4k,64k)");
    let names = names(&file);
    assert_eq!(names.len(), 12);
    assert_eq!(
        &names[..3],
        [
            "r threads=1 xfersize=4k iorate=100",
            "r threads=1 xfersize=4k iorate=200",
            "r threads=1 xfersize=64k iorate=100"
        ]
    );
    let job = &file.drafts[11].jobs[0].job;
    assert_eq!((job.iodepth, job.bs, job.rate_iops), (4, 65536, Some(200)));
    // A later list of the same key takes the place of the earlier one, and its turn.
    assert_eq!(
        runs(",xfersize=(1k,2k),rdpct=(0,100),forxfersize=(4k,8k),iorate=max").drafts[1].name,
        "r rdpct=0 xfersize=8k"
    );
    // One value is no list.
    assert_eq!(self::names(&runs(",xfersize=8k,seekpct=seq,iorate=max")), ["r"]);
    assert_eq!(self::names(&runs(",seekpct=(0-100,50),iorate=max")).len(), 3);
    assert_eq!(self::names(&runs(",iorate=(100,max),distribution=det"))[1], "r iorate=max");
}

#[test]
fn rates_are_shared_out() {
    let file = good(
        "sd=sd1,lun=/dev/a\nsd=sd2,lun=/dev/b\nwd=a,sd=sd*,skew=75\nwd=b,sd=sd*\nwd=c,sd=sd1\n\
         rd=both,wd=(a,b),iorate=1000,distribution=deterministic\n\
         rd=one,wd=c,iorate=333.4,distribution=(deterministic)\n",
    );
    let rates = |index: usize| -> Vec<_> {
        file.drafts[index].jobs.iter().map(|job| (job.job.iodepth, job.job.rate_iops)).collect()
    };
    assert_eq!(rates(0), [(8, Some(375)), (8, Some(125))]);
    assert_eq!(rates(1), [(8, Some(333))]);
    note(&file, "job \"a\": 750 I/Os a second over 2 SDs are 375 here");
    note(&file, "job \"c\": 333.4 I/Os a second are rounded to 333");
}

#[test]
fn threads_are_an_sds_and_shared_by_its_wds() {
    let file = good(
        "sd=sd1,lun=/dev/a\nsd=sd2,lun=/dev/b,threads=3\nwd=a,sd=sd1\nwd=b,sd=sd1\nwd=c,sd=sd2\n\
         rd=default,iorate=max\nrd=shared,wd=(a,b)\nrd=apart,wd=(a,c)\nrd=own,wd=a,threads=0\n",
    );
    let depths =
        |index: usize| -> Vec<_> { file.drafts[index].jobs.iter().map(|job| job.job.iodepth).collect() };
    assert_eq!((depths(0), depths(1), depths(2)), (vec![4, 4], vec![8, 3], vec![1]));
    note(&file, "2 wds share 8 threads of an SD: here each has 4");
    note(&file, "its wds have SDs of their own");
}

#[test]
fn regions_are_those_of_vdbench() {
    let region = |sd: &str, wd: &str| {
        let text = format!("sd=sd1,lun=/x{sd}\nwd=w,sd=*,xfersize=64k{wd}\nrd=r,wd=w,iorate=max\n");
        let draft = &good(&text).drafts[0].jobs[0];
        let targets = super::super::draft::Targets { smallest: Some(1 << 30), all_declared: true };
        let job = draft.job_on(targets).unwrap();
        (job.offset, job.size)
    };
    const M: u64 = 1 << 20;
    assert_eq!(region("", ""), (0, None));
    assert_eq!(region(",range=(0,100)", ""), (0, None));
    assert_eq!(region(",size=100m", ""), (0, Some(100 * M)));
    assert_eq!(region(",size=100m,range=(10,20)", ""), (10 * M, Some(10 * M)));
    assert_eq!(region(",size=100m,range=(10,20)", ",range=(50,60)"), (50 * M, Some(10 * M)));
    assert_eq!(region("", ",range=(1m,3m)"), (M, Some(2 * M)));
    assert_eq!(region(",range=(0,3m)", ""), (0, Some(3 * M)));
    assert_eq!(region(",offset=1m", ""), (M, None));
    assert_eq!(region(",offset=1m,size=4m", ""), (M, Some(3 * M)));
    assert_eq!(region("", ",range=(50,100)"), (512 * M, Some(512 * M)));
    assert_eq!(region(",size=100k", ""), (0, Some(64 << 10)));
}

#[test]
fn flags_go_from_the_run_to_the_wd_to_the_sd() {
    let direct = |sd: &str, wd: &str, rd: &str| {
        let file = good(&format!("sd=sd1,lun=/x{sd}\nwd=w,sd=*{wd}\nrd=r,wd=w,iorate=max{rd}\n"));
        let direct = file.drafts[0].jobs[0].job.direct;
        assert_eq!(direct, !file.notes.iter().any(|note| note.contains("page cache")));
        direct
    };
    assert!(!direct("", "", ""));
    assert!(direct(",openflags=directio", "", ""));
    assert!(direct("", ",open=O_DIRECT", ""));
    assert!(direct(",openflags=o_sync", "", ",openflags=(o_direct)"), "the run's flags take their place");
}

#[test]
fn compressible_data_are_percentages() {
    let compress = |general: &str, rd: &str| {
        let file = good(&format!("{general}{SD}wd=w,sd=*\nrd=r,wd=w,iorate=max{rd}\n"));
        let percent = file.drafts[0].jobs[0].job.buffer_compress_percentage;
        (percent, file.notes.iter().any(|note| note.contains("rounded")))
    };
    assert_eq!(compress("", ""), (0, false));
    assert_eq!(compress("compratio=1\n", ""), (0, false));
    assert_eq!(compress("compratio=2\n", ""), (50, false));
    assert_eq!(compress("compratio=3\n", ""), (67, true));
    assert_eq!(compress("compression=25\n", ""), (75, false));
    assert_eq!(compress("compratio=2\n", ",forcompratio=4"), (75, false));
    assert_eq!(compress("dedupratio=1\n", ""), (0, false));
}

/// Parameter files that are refused, and the messages: `SD` stands before each, and what is lacking behind it.
const BAD: &[&str] = &[
    "",
    "eof\nrd=r,wd=w\n",
    "sd\n",
    "s=4\n",
    "sd=\n",
    "sd=(a,b)\n",
    "sd=a,,lun=/x\n",
    "sd=a,lun=\"/x\n",
    "wd=w,sd=(a\nrd=r\n",
    "wd=w,sd=(a, b)\nrd=r\n",
    "wd=w,sd=a)\nrd=r\n",
    "wd=w,sd=(a)b\nrd=r\n",
    "wd=w,sd=()\nrd=r\n",
    "wd=w,xfersize=$size\nrd=r\n",
    "fsd=f,anchor=/x\n",
    "wd=w,sd=sd1\nfwd=f,fsd=f\n",
    "rg=g\n",
    "frobnicate=1\n",
    "wd=w,xfersze=4k\n",
    "wd=w,sd=sd1\nsd=sd2,lun=/x\n",
    "sd=sd1,lun=/x\n",
    "wd=w,sd=sd1\nwd=w\n",
    "wd=w,sd=sd1\n",
    "wd=w,sd=sd1\nrd=r,iorate=max\n",
    "wd=w,sd=sd1\nrd=r,wd=w\n",
    "wd=w,sd=sd1\nrd=r,wd=w,wd=w,iorate=max\n",
    "wd=w,sd=sd1\nrd=r,wd=v,iorate=max\n",
    "wd=w,sd=sd2\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=(sd1,sd*)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=(sd4-sd1)\nrd=r,wd=w,iorate=max\n",
    "wd=w\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,xfersize=(4k,50,8k,50)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,xfersize=(4k,64k,4k)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,xfersize=1000\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,xfersize=0\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,xfersize=4q\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,rdpct=50.5\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,rdpct=101\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,seekpct=(poisson,3)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,seekpct=sideways\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,range=10\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,range=(20,10)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,range=(50,120)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,range=(10.5,20)\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1,range=(1m,1025k),xfersize=64k\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=curve\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=0\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=(10-100,0)\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=(10-100)\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=1000\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=1000,distribution=uniform\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=0.2,distribution=d\n",
    "wd=w,sd=sd1,skew=70\nwd=v,sd=sd1\nrd=r,wd=*,iorate=max\n",
    "wd=w,sd=sd1,skew=70\nwd=v,sd=sd1,skew=70\nrd=r,wd=*,iorate=100,distribution=d\n",
    "wd=w,sd=sd1\nwd=v,sd=sd1\nwd=u,sd=sd1\nrd=r,wd=*,iorate=max\n",
    "sd=sd2,lun=/x\nwd=w,sd=sd1\nwd=v,sd=sd*\nrd=r,wd=*,iorate=max\n",
    "sd=sd2,lun=/x\nwd=w,sd=*\nrd=r,wd=w,iorate=max\n",
    "sd=sd2,lun=/x,openflags=o_direct,threads=4\nwd=w,sd=*\nrd=r,wd=w,iorate=max\n",
    "sd=b,lun=/x\nwd=w,sd=b,openflags=o_direct\nwd=v,sd=b\nrd=r,wd=*,iorate=max\n",
    "sd=b,size=1m,range=(0,2m)\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,offset=1m,range=(0,50)\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,offset=100\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,threads=(8,2)\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,openflags=o_dsync\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,openflags=fsync\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "sd=b,openflags=0x4000\nwd=w,sd=b\nrd=r,wd=w,iorate=max\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=max,forxfersize=(1-1000,1)\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=max,forthreads=(1-16,1),forrdpct=(0-100,10)\n",
    "wd=w,sd=sd1\nrd=r,wd=w,iorate=max,forcompratio=(1,100)\n",
];

#[test]
fn refused_parameter_files() {
    let mut table = String::new();
    for text in BAD {
        let error = read_text(&format!("{SD}{text}"), &[]).expect_err(text);
        assert!(error.contains("p.vdb:"), "{error}");
        writeln!(table, "{text:?}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(table);
}

/// A file with this key where it belongs.
fn with_key(part: &Part, key: &str, value: &str) -> String {
    let at = |name: &str| match part.name == name {
        true => format!(",{key}={value}"),
        false => String::new(),
    };
    let general = if part.name.is_empty() { format!("{key}={value}\n") } else { String::new() };
    format!(
        "{general}hd=h{}\nsd=sd1,lun=/x,openflags=o_direct{}\nwd=w,sd=sd1{}\nrd=r,wd=w,iorate=max{}\n",
        at("hd"),
        at("sd"),
        at("wd"),
        at("rd")
    )
}

#[test]
fn every_key_that_is_not_honoured_is_noted_or_refused_with_its_line() {
    for part in keys::ALL {
        for (key, why) in part.unused.noted {
            let file = good(&with_key(part, key, "7"));
            assert!(note(&file, &format!("\"{key}=7\" has no effect here: {why}")).starts_with("p.vdb:"));
        }
        for (key, harmless, why, _) in part.unused.shaping {
            let error = read_text(&with_key(part, key, "7"), &[]).expect_err(key);
            let expected = format!("key \"{key}\": cannot be honoured: {why}; hint: ");
            assert!(error.starts_with("p.vdb:") && error.contains(&expected), "{error}");
            for value in *harmless {
                good(&with_key(part, key, value));
            }
        }
    }
}

#[test]
fn every_key_has_one_place() {
    // What runs.rs asks for.
    let honoured: &[(&str, &[&str])] = &[
        ("", &["compratio", "compression"]),
        ("hd", &[]),
        ("sd", &["size", "threads", "offset", "openflags", "range"]),
        (
            "wd",
            &[
                "sd",
                "skew",
                "xfersize",
                "readpct",
                "rdpct",
                "writepct",
                "wrpct",
                "range",
                "seekpct",
                "openflags",
            ],
        ),
        (
            "rd",
            &[
                "wd",
                "sd",
                "iorate",
                "distribution",
                "openflags",
                "xfersize",
                "forxfersize",
                "threads",
                "forthreads",
                "rdpct",
                "forrdpct",
                "seekpct",
                "forseekpct",
                "compratio",
                "forcompratio",
                "compression",
                "forcompression",
            ],
        ),
    ];
    for (part, (name, honoured)) in keys::ALL.iter().zip(honoured) {
        assert_eq!(part.name, *name);
        let placed: Vec<&str> = part.unused.keys().chain(honoured.iter().copied()).collect();
        let once: BTreeSet<&str> = placed.iter().copied().collect();
        assert_eq!(once.len(), placed.len(), "a key of {name:?} stands in two places");
        assert_eq!(once, part.known().into_iter().collect(), "keys of {name:?}");
    }
}

#[test]
fn the_docs_name_every_key() {
    let docs = include_str!("../../../docs/scenario-format.md");
    let section = docs.split("## vdbench parameter files").nth(1).unwrap();
    for key in keys::ALL.iter().flat_map(|part| part.known()) {
        assert!(section.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn shortened_keys_are_those_that_vdbench_takes_them_for() {
    let full = |part: &Part, key: &str| part.full(key).map(|full| full.word);
    assert_eq!(full(&keys::SD, "th"), Some("threads"));
    assert_eq!(full(&keys::SD, "re"), Some("replay"));
    assert_eq!(full(&keys::WD, "st"), Some("stride"));
    assert_eq!(full(&keys::WD, "se"), Some("seekpct"));
    assert_eq!(full(&keys::RD, "for"), Some("forxfersize"));
    assert_eq!(full(&keys::RD, "form"), Some("format"));
    assert_eq!(full(&keys::RD, "el"), Some("elapsed"));
    assert_eq!(full(&keys::WD, "us"), None);
}

#[test]
fn jobs_of_a_vdbench_file_are_named_in_messages_by_its_keys() {
    let file = good("sd=sd1,lun=/x,size=2g\nwd=w,sd=*\nrd=r,wd=w,iorate=max\n");
    let targets = super::super::draft::Targets { smallest: Some(1 << 30), all_declared: true };
    let error = file.drafts[0].on(targets).unwrap_err().to_string();
    assert!(error.contains("p.vdb:1:15: key \"size\": the workload does not fit the file"), "{error}");
}

proptest::proptest! {
    #[test]
    fn arbitrary_files_never_panic(text in "[a-z=,()\"$ \n0-9.*/#%é-]{0,60}") {
        let _ = read_text(&text, &[]);
    }

    #[test]
    fn arbitrary_values_never_panic(value in "[^\n]{1,20}", key in 0usize..8) {
        let key = ["xfersize", "rdpct", "seekpct", "range", "skew", "sd", "openflags", "xf"][key];
        let _ = read_text(&format!("{SD}wd=w,sd=sd1,{key}={value}\nrd=r,wd=w,iorate={value}\n"), &[]);
        let _ = read_text(&format!("{SD}wd=w,sd=sd1\nrd=r,wd=w,iorate=max,{key}={value}\n"), &[]);
        let _ = read_text(&format!("sd=a,{key}={value}\nwd=w,sd=a\nrd=r,wd=w,iorate=max,threads={value}\n"), &[]);
    }
}
