use crate::audit::{Audited, audit};
use crate::finding::{Severity, Slip};
use crate::page::Page;
use crate::rule::fio::testing::{MIXED, findings};
use crate::rule::testing::found;

fn audited(text: &str) -> Audited {
    audit(Page::new("p", text))
}

#[test]
fn a_sound_output_holds() {
    let audited = audited(MIXED);
    assert_eq!(audited.findings.iter().filter(|one| one.severity <= Severity::WrongFigure).count(), 0);
    assert!(audited.count(crate::claim::Status::Holds) > 20, "{:?}", audited.claims);
}

#[test]
fn a_lost_carry_is_told_by_what_was_issued() {
    // Figures of https://zhangfangzhou.cn, fio 3.7: 7,797,520 writes of 4 KiB in 300,001 ms.
    let text = "w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.7\n\
        w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n\
        \x20 write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n\
        \x20    issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let found = findings(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].rule, found[0].printed.as_str(), found[0].recomputed.as_str()),
        ("N2", "25.0k", "26.0k")
    );
    assert_eq!((found[0].slip, found[0].spot.line), (Some(Slip::FioCarry), 3));
    assert!(
        findings(&text.replace("fio-3.7", "fio-3.33")).iter().any(|one| one.rule == "F1"),
        "a sound fio prints no such"
    );
    assert_eq!(findings(&text.replace("25.0k", "26.0k")), []);
}

#[test]
fn a_lost_carry_of_pasted_lines_is_told_by_the_bandwidth() {
    let found = findings("fio 3.7 said\nwrite: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].rule, found[0].recomputed.as_str()), ("N3", "26.0k"));
    assert_eq!(findings("write: IOPS=26.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n"), []);
}

#[test]
fn figures_that_were_changed_are_found() {
    for (from, to, rule) in [
        ("read: IOPS=44.6k", "read: IOPS=45.6k", "F1"),
        ("write: IOPS=44.6k", "write: IOPS=4.46k", "F1"),
        ("BW=174MiB/s (183MB/s)(348MiB/2001msec)\n", "BW=184MiB/s (183MB/s)(348MiB/2001msec)\n", "F2"),
        ("BW=174MiB/s (183MB/s)(348MiB/2001msec)\n", "BW=174MiB/s (138MB/s)(348MiB/2001msec)\n", "F2"),
        ("BW=174MiB/s (183MB/s)(348MiB/2001msec)\n", "BW=174MiB/s (183MB/s)(384MiB/2001msec)\n", "F5"),
        ("   READ: bw=174MiB/s", "   READ: bw=147MiB/s", "F2"),
        ("io=348MiB (365MB)", "io=348MiB (356MB)", "F3"),
        ("total=89170,", "total=98170,", "F1"),
    ] {
        let text = MIXED.replacen(from, to, 1);
        assert_ne!(text, MIXED, "{from}");
        let found = findings(&text);
        assert!(found.iter().any(|one| one.rule == rule), "{to}: {found:#?}");
    }
    let slipped = findings(&MIXED.replacen("write: IOPS=44.6k", "write: IOPS=4460", 1));
    assert!(slipped.iter().any(|one| one.rule == "F1" && one.slip == Some(Slip::FactorTen)), "{slipped:#?}");
}

#[test]
fn a_group_of_old_fio_is_cut_to_whole_kib() {
    // 40,000 * 4096 B in 30,016 ms are 5330.49 KiB/s, 40,000 in 30,014 ms 5330.85.
    let text = |took: &str, printed: &str| {
        format!(
            "old: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=4\nfio-2.2.10\n\
             old: (groupid=0, jobs=1): err= 0: pid=7: Mon Nov 23 10:00:00 2026\n\
             \x20 write: io=160000KB, bw=5330.9KB/s, iops=1332, runt= {took}msec\n\
             \x20    issued    : total=r=0/w=40000/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n\n\
             Run status group 0 (all jobs):\n\
             \x20 WRITE: io=160000KB, aggrb={printed}, minb={printed}, maxb={printed}, mint={took}msec, maxt={took}msec\n"
        )
    };
    let sound = text("30014", "5330KB/s");
    assert_eq!(findings(&sound), []);
    assert_eq!(findings(&sound.replace("fio-2.2.10\n", "")), [], "its units tell how old it is");
    let wrong = findings(&text("30014", "5130KB/s"));
    assert!(wrong.iter().all(|one| one.rule == "F2" && one.recomputed.starts_with("533")), "{wrong:#?}");
    assert_eq!(wrong.len(), 3);
    let long = findings(&text("30014", "15330KB/s"));
    assert!(long.iter().any(|one| one.recomputed == "5330KB/s"), "{long:#?}");
}

#[test]
fn what_all_clients_had_in_flight_when_a_ramp_ended_is_no_slip() {
    // Of each client 8 I/Os of 4 KiB that were begun in the ramp are in its bytes, not in its count.
    let job = |name: &str, ios: u64, bytes: u64, options: &str| {
        format!(
            "{{\"jobname\" : \"{name}\", \"groupid\" : 0, \"error\" : 0, {options}\n\"read\" : {{\n\"io_bytes\" : {bytes},\n\
             \"bw_bytes\" : {bytes},\n\"iops\" : {ios}.000000,\n\"runtime\" : 1000,\n\"total_ios\" : {ios}\n}},\n\"hostname\" : \"h\"}}"
        )
    };
    let options =
        "\"job options\" : {\"name\" : \"j\", \"rw\" : \"read\", \"bs\" : \"4k\", \"iodepth\" : \"8\"},";
    let one = job("j", 1000, 1008 * 4096, options);
    let page = |bytes: u64| {
        let all = job("All clients", 2000, bytes, "");
        format!("{{\n\"fio version\" : \"fio-3.19\",\n\"client_stats\" : [\n{one},\n{one},\n{all}\n]\n}}\n")
    };
    let f4 = |text: &str| findings(text).iter().filter(|one| one.rule == "F4").count();
    assert_eq!(f4(&page(2016 * 4096)), 0);
    assert_eq!(f4(&page(2116 * 4096)), 1);
}

#[test]
fn a_total_whose_carry_was_lost_is_no_wrong_bandwidth_where_no_version_is_printed() {
    let line = "  write: IOPS=73.4k, BW=573MiB/s (601MB/s)(55.0GiB/100001msec); 0 zone resets\n";
    assert_eq!(found(line, "F5"), []);
    assert_eq!(found(&line.replace("55.0GiB", "54.1GiB"), "F5").len(), 1);
}

#[test]
fn what_fio_prints_before_a_run_is_over_is_not_held() {
    const INTERIM: &str = include_str!("../../../../fixtures/fio/status-interval.txt");
    for rule in crate::rule::ALL {
        let wrong = found(INTERIM, rule.id).into_iter().filter(|one| one.severity <= Severity::WrongFigure);
        assert_eq!(wrong.count(), 0, "{}", rule.id);
    }
    let rates: Vec<&str> = INTERIM.split("BW=").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    assert_eq!(found(&INTERIM.replacen(&format!("BW={first} "), "BW=999MiB/s ", 1), "F2"), []);
    let slip = INTERIM.replace(&format!("BW={last} "), "BW=999MiB/s ");
    assert!(["F2", "F4", "F5"].iter().any(|rule| !found(&slip, rule).is_empty()), "the run's own is held");
}

#[test]
fn what_one_job_was_asked_is_not_what_another_was() {
    let head = "second: (g=1): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\nStarting 2 processes\n\n";
    let job = |name: &str, group: u32, way: &str, issued: &str, size: &str| {
        format!(
            "{name}: (groupid={group}, jobs=1): err= 0: pid=7: Mon Nov 23 21:26:10 2026\n  {way}: IOPS=10.0k, BW={size} (1000msec)\n     issued rwts: total={issued} short=0,0,0,0 dropped=0,0,0,0\n\n"
        )
    };
    let large = job("two", 0, "read", "10032,0,0,0", "627MiB/s (657MB/s)(627MiB/1000msec)");
    let small = job("second", 1, "write", "0,10032,0,0", "39.2MiB/s (41.1MB/s)(39.2MiB/1000msec)");
    for rule in ["F1", "F2", "F3", "F4", "F5"] {
        assert_eq!(found(&format!("{head}{large}{small}"), rule), [], "{rule}");
    }
    // One name: it is of that.
    assert!(!found(&format!("{head}{}", large.replace("two", "second")), "F2").is_empty());
}

#[test]
fn no_depth_is_too_large() {
    let depth = format!("iodepth={}", u64::MAX);
    let text = format!(
        "w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, {depth}\nfio-3.30\n\
         w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n\
         \x20 write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n\
         \x20    issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    );
    assert_eq!(audited(&text).outputs.len(), 1);
}
