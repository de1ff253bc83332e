use crate::audit::audit;
use crate::claim::Status;
use crate::finding::{Severity, Slip};
use crate::page::Page;
use crate::rule::testing::{findings, found, wrong};

/// Both ways, two jobs in a group, two seconds.
const MIXED: &str = include_str!("../../../fixtures/fio/randrw-3.33.txt");
/// Reads of one job for half a minute, on a machine that does other things too.
const READ: &str = include_str!("../../../fixtures/fio/randread-3.33.txt");

/// Holds that a rule is silent on a text and speaks when a piece of it is another.
fn speaks(text: &str, changes: &[(&str, &str, &str)]) {
    for (from, to, rule) in changes {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not in it");
        assert_eq!(found(text, rule), [], "{rule} of a sound output");
        assert_ne!(found(&changed, rule), [], "{rule}: {from} -> {to}: {:#?}", findings(&changed));
    }
}

/// How many findings of a rule a text has.
fn count(text: &str, rule: &str) -> usize {
    found(text, rule).len()
}

#[test]
fn a_sound_output_holds_and_figures_that_were_changed_are_found() {
    assert_eq!(wrong(MIXED), Vec::<String>::new());
    let audited = audit(Page::new("p", MIXED));
    assert!(audited.count(Status::Holds) > 20, "{:?}", audited.claims);
    let result = "BW=174MiB/s (183MB/s)(348MiB/2001msec)\n";
    for (from, to, rule) in [
        ("read: IOPS=44.6k", "read: IOPS=45.6k", "F1"),
        ("total=89170,", "total=98170,", "F1"),
        (result, "BW=184MiB/s (183MB/s)(348MiB/2001msec)\n", "F2"),
        (result, "BW=174MiB/s (138MB/s)(348MiB/2001msec)\n", "F2"),
        (result, "BW=174MiB/s (183MB/s)(384MiB/2001msec)\n", "F5"),
        (result, "BW=174MiB/s (183MB/s)(384MiB/2001msec)\n", "F3"),
        ("   READ: bw=174MiB/s", "   READ: bw=147MiB/s", "F2"),
        ("io=348MiB (365MB)", "io=348MiB (356MB)", "F3"),
        ("avg=193.45, stdev=79.04", "avg=293.45, stdev=79.04", "F7"),
    ] {
        speaks(MIXED, &[(from, to, rule)]);
    }
    let slipped = found(&MIXED.replacen("write: IOPS=44.6k", "write: IOPS=4460", 1), "F1");
    assert_eq!(slipped[0].slip, Some(Slip::FactorTen));
}

const W: &str = "w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.7\n\
    w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n\
    \x20 write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n\
    \x20    issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n";

#[test]
fn a_lost_carry_is_told_by_what_was_issued_or_by_the_bandwidth() {
    let found = findings(W);
    assert_eq!((found.len(), found[0].rule, found[0].recomputed.as_str()), (1, "N2", "26.0k"));
    assert_eq!((found[0].slip, found[0].spot.line), (Some(Slip::FioCarry), 3));
    assert_eq!(count(&W.replace("fio-3.7", "fio-3.33"), "F1"), 1, "a sound fio prints no such");
    assert_eq!(findings(&W.replace("25.0k", "26.0k")), []);
    assert_eq!(findings(&W.replace("iodepth=1", &format!("iodepth={}", u64::MAX))).len(), 1);
    let pasted = "fio 3.7 said\nwrite: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n";
    assert_eq!(wrong(pasted), ["N3 25.0k -> 26.0k"]);
    assert_eq!(findings(&pasted.replace("25.0k", "26.0k")), []);
    let total = "  write: IOPS=73.4k, BW=573MiB/s (601MB/s)(55.0GiB/100001msec); 0 zone resets\n";
    assert_eq!((count(total, "F5"), count(&total.replace("55.0GiB", "54.1GiB"), "F5")), (0, 1));
}

#[test]
fn a_bandwidth_that_is_what_was_moved_over_the_time_is_right_whatever_was_issued() {
    // 7,000,000 of the writes were cut short at the end of their files: 20 GiB in 300 s.
    let moved = W
        .replace("fio-3.7", "fio-3.33")
        .replace("25.0k, BW=102MiB/s (106MB/s)(29.7GiB", "26.0k, BW=68.3MiB/s (71.6MB/s)(20.0GiB");
    for rule in ["F1", "F2", "F3", "F4", "F5"] {
        assert_eq!(found(&moved, rule), [], "{rule}");
    }
    let group = "\nRun status group 0 (all jobs):\n  WRITE: bw=68.3MiB/s (71.6MB/s), 68.3MiB/s-68.3MiB/s (71.6MB/s-71.6MB/s), io=20.0GiB (21.5GB), run=300001-300001msec\n";
    assert_eq!(wrong(&format!("{moved}{group}")), Vec::<String>::new());
    assert_eq!(count(&moved.replace("68.3MiB", "86.3MiB"), "F2"), 1, "of neither");
    for (from, to) in [("short=0,0", "short=0,9"), ("err= 0", "err= 5"), ("write:", "trim: ")] {
        let text = moved.replace("(20.0GiB/300001msec)", "").replace(from, to);
        assert_eq!(wrong(&text), Vec::<String>::new(), "{to}");
    }
    let json = |iops: u64| {
        format!(
            r#"{{"fio version" : "fio-3.33", "jobs" : [ {{"jobname" : "j", "job options" : {{"rw" : "read", "bs" : "4k"}},
"read" : {{"io_bytes" : 3000000, "bw_bytes" : 3000000, "iops" : {iops}.000000, "runtime" : 1000, "total_ios" : 1000}}}} ]}}"#
        )
    };
    assert_eq!((count(&json(1000), "F4"), count(&json(1100), "F4")), (0, 1));
}

#[test]
fn a_group_of_old_fio_is_cut_to_whole_kib() {
    // 40,000 * 4096 B in 30,014 ms are 5330.85 KiB/s.
    let text = |printed: &str| {
        format!(
            "old: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=4\nfio-2.2.10\n\
             old: (groupid=0, jobs=1): err= 0: pid=7: Mon Nov 23 10:00:00 2026\n\
             \x20 write: io=160000KB, bw=5330.9KB/s, iops=1332, runt= 30014msec\n\
             \x20    issued    : total=r=0/w=40000/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n\n\
             Run status group 0 (all jobs):\n\
             \x20 WRITE: io=160000KB, aggrb={printed}, minb={printed}, maxb={printed}, mint=30014msec, maxt=30014msec\n"
        )
    };
    let sound = text("5330KB/s");
    assert_eq!((findings(&sound), findings(&sound.replace("fio-2.2.10\n", ""))), (Vec::new(), Vec::new()));
    assert_eq!(wrong(&text("15330KB/s")), ["F2 15330KB/s -> 5330KB/s"; 3]);
}

#[test]
fn what_all_clients_had_in_flight_when_a_ramp_ended_is_no_slip() {
    // Of each client 8 I/Os of 4 KiB that were begun in the ramp are in its bytes, not in its count.
    let job = |name: &str, ios: u64, bytes: u64, options: &str| {
        format!(
            "{{\"jobname\" : \"{name}\", \"groupid\" : 0, \"error\" : 0, {options}\n\"read\" : {{\n\"io_bytes\" : {bytes},\n\
             \"bw_bytes\" : {bytes},\n\"iops\" : {ios}.000000,\n\"runtime\" : 1000\n}},\n\"hostname\" : \"h\"}}"
        )
    };
    let options =
        "\"job options\" : {\"name\" : \"j\", \"rw\" : \"read\", \"bs\" : \"4k\", \"iodepth\" : \"8\"},";
    let one = job("j", 1000, 1008 * 4096, options);
    let page = |bytes: u64| {
        let all = job("All clients", 2000, bytes, "");
        format!("{{\n\"fio version\" : \"fio-3.19\",\n\"client_stats\" : [\n{one},\n{one},\n{all}\n]\n}}\n")
    };
    assert_eq!((count(&page(2016 * 4096), "F4"), count(&page(2116 * 4096), "F4")), (0, 1));
}

#[test]
fn what_fio_prints_before_a_run_is_over_is_not_held() {
    const INTERIM: &str = include_str!("../../../fixtures/fio/status-interval.txt");
    assert_eq!(wrong(INTERIM), Vec::<String>::new());
    let rates: Vec<&str> = INTERIM.split("BW=").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let first = INTERIM.replacen(&format!("BW={} ", rates[0]), "BW=999MiB/s ", 1);
    assert_eq!(wrong(&first), Vec::<String>::new());
    let last = INTERIM.replace(&format!("BW={} ", rates[rates.len() - 1]), "BW=999MiB/s ");
    assert_ne!(wrong(&last), Vec::<String>::new(), "the run's own is held");
}

#[test]
fn changed_latencies_are_found() {
    let clat = "clat (usec): min=22, max=21824, avg=122.52";
    speaks(
        READ,
        &[
            ("lat (usec): min=29, max=21827, avg=127.08", "lat (usec): min=29, max=21827, avg=172.08", "F8"),
            (clat, "clat (usec): min=222, max=21824, avg=122.52", "F9"),
            ("avg=122.52, stdev=166.52", "avg=122.52, stdev=26652.00", "F9"),
            ("60.00th=[   99]", "60.00th=[   79]", "F9"),
            ("99.99th=[ 4555]", "99.99th=[45550]", "F9"),
            ("250=29.72%", "250=26.72%", "F12"),
        ],
    );
}

/// A run on a slow disk: half of its I/Os took longer than fio's histogram reaches.
const SLOW: &str = "slow: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, iodepth=8
fio-3.7
slow: (groupid=0, jobs=1): err= 0: pid=9: Mon Nov 23 10:00:00 2026
  write: IOPS=1, BW=1706KiB/s (1747kB/s)(100MiB/60020msec)
    clat (msec): min=90, max=41200, avg=11800.00, stdev=9000.00
    clat percentiles (msec):
     |  1.00th=[   90], 20.00th=[  400], 40.00th=[  990], 50.00th=[ 2500],
     | 60.00th=[17113], 90.00th=[17113], 99.00th=[17113]
  lat (msec)   : 100=2.00%, 500=20.00%, 1000=18.00%
     issued rwts: total=0,100,0,0 short=0,0,0,0 dropped=0,0,0,0
";

#[test]
fn what_is_slower_than_fio_counts_is_no_slip() {
    let at_end = SLOW
        .replace("min=90,", "min=20000,")
        .replace("avg=11800.00", "avg=25800.00")
        .replace("[   90]", "[17113]");
    let at_end =
        ["[  400]", "[  990]", "[ 2500]"].iter().fold(at_end, |text, one| text.replace(one, "[17113]"));
    assert_eq!((count(SLOW, "F9"), count(&at_end, "F9")), (0, 0));
    // 60 % took longer than the last bucket that is shown.
    let buckets = |from: &str, to: &str| count(&SLOW.replace(from, to), "F12");
    assert_eq!((count(SLOW, "F12"), buckets("max=41200", "max=1000")), (0, 1));
    assert_eq!(
        (buckets("1000=18.00%", "1000=18.00%, >=2000=40.00%"), buckets("100=2.00%", "100=82.00%")),
        (1, 1)
    );
}

#[test]
fn buckets_may_have_what_was_in_flight_when_a_ramp_ended_and_overflow_beyond_32_bits() {
    let told = |issued: &str, share: &str| {
        count(
            &format!(
                "fio-3.30\nw: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n  write: IOPS=402, BW=403MiB/s (423MB/s)(23.6GiB/60002msec)\n  lat (msec)   : 100=0.18%, 250={share}%\n     issued rwts: total=0,{issued},0,0 short=0,0,0,0 dropped=0,0,0,0\n     latency   : target=0, window=0, percentile=100.00%, depth=64\n"
            ),
            "F12",
        )
    };
    // 64 of 24138 are 0.27 %.
    assert_eq!([told("24138", "100.09"), told("241380", "100.09"), told("24138", "28.60")], [0, 1, 1]);
    assert_eq!(told("12042333583", "28.60"), 0, "counters of 32 bits");
}

#[test]
fn loads_that_are_not_what_is_told_are_found() {
    speaks(
        READ,
        &[
            ("avg=127.08, stdev=167.17", "avg=1127.08, stdev=167.17", "F7"),
            ("sys=31.34%", "sys=91.34%", "F23"),
            ("1=0.1%, 2=0.1%, 4=0.1%, 8=100.0%", "1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%", "F24"),
            ("err= 0", "err= 5", "F25"),
        ],
    );
    let first = |text: String, rule: &str| found(&text, rule)[0].severity;
    assert_eq!(first(READ.replace("avg=127.08", "avg=27.08"), "F7"), Severity::Ambiguous, "buffered I/O");
    let busy = READ.replace("sys=31.34%", "sys=91.34%");
    assert_eq!(first(busy.clone(), "F23"), Severity::Ambiguous, "nothing is compared");
    assert_eq!(count(&busy.replace("ioengine=libaio", "ioengine=null"), "F23"), 0, "by design");
}

#[test]
fn a_job_that_reads_back_what_it_wrote_has_its_ways_one_after_another() {
    // Figures of our own: a write job with verify at depth 16.
    let text = "\
v: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16
fio-3.27
v: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  read: IOPS=80.0k, BW=313MiB/s (328MB/s)(158MiB/505msec)
    lat (usec): min=11, max=210, avg=199.60, stdev= 5.99
  write: IOPS=80.0k, BW=313MiB/s (328MB/s)(250MiB/800msec); 0 zone resets
    lat (usec): min=12, max=801, avg=199.41, stdev=36.21
";
    assert_eq!(count(text, "F7"), 0);
    assert_eq!(count(&text.replace("avg=199.60", "avg=399.60"), "F7"), 1, "too much for one way alone");
    assert_eq!(count(&text.replace("505msec", "800msec"), "F7"), 1, "both at one time");
}

/// A text whose last line of progress ends with another bandwidth.
fn ends(text: &str, way: &str, bandwidth: &str) -> String {
    let sign = format!("[100.0%][{way}=");
    let from = text.rfind(&sign).expect("progress to the end") + sign.len();
    let to = from + text[from..].find(']').unwrap();
    format!("{}{bandwidth}{}", &text[..from], &text[to..])
}

#[test]
fn an_end_that_is_not_the_mean_is_ambiguous_also_where_the_page_compares() {
    assert_eq!(count(&ends(READ, "r", "246MiB/s"), "F28"), 0);
    let fell = ends(READ, "r", "123MiB/s");
    let compared = format!("{fell}\n{fell}\n| run | IOPS | loss |\n|---|---|---|\n| a | 64.0k | 5 % |\n");
    for (text, wanted) in [(&fell, 1), (&compared, 2)] {
        let told = found(text, "F28");
        assert_eq!(told.len(), wanted);
        assert!(told.iter().all(|one| one.severity == Severity::Ambiguous), "{told:#?}");
    }
    assert_eq!(count(&fell.replace("100.0%][r=", "45.0%][r="), "F28"), 0, "progress of the middle");
    assert_eq!(count(&fell.replace("31001msec", "21001msec"), "F28"), 0, "too short");
}

#[test]
fn two_regimes_and_samples_that_vary_are_told() {
    let smooth =
        READ.replace("90.00th=[  225]", "90.00th=[  165]").replace("95.00th=[  277]", "95.00th=[  225]");
    speaks(&smooth, &[("90.00th=[  165]", "90.00th=[  215]", "F29")]);
    assert_eq!((count(READ, "F27"), count(&READ.replace("stdev=77995.08", "stdev=7799.08"), "F27")), (1, 0));
}
