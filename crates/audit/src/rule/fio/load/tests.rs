use crate::finding::Severity;
use crate::rule::fio::testing::{MIXED, READ, found, speaks};

#[test]
fn more_in_flight_than_asked_is_impossible() {
    speaks(MIXED, &[("avg=193.45, stdev=79.04", "avg=293.45, stdev=79.04", "F7")]);
    speaks(READ, &[("avg=127.08, stdev=167.17", "avg=1127.08, stdev=167.17", "F7")]);
    let halved = found(&READ.replace("avg=127.08", "avg=27.08"), "F7");
    assert_eq!(
        halved[0].severity,
        Severity::Ambiguous,
        "buffered I/O completes while it is submitted: {halved:#?}"
    );
}

#[test]
fn a_generator_that_computes_all_the_time_is_told() {
    speaks(READ, &[("sys=31.34%", "sys=91.34%", "F23")]);
    let null = READ.replace("sys=31.34%", "sys=91.34%").replace("ioengine=libaio", "ioengine=null");
    assert_eq!(found(&null, "F23"), [], "by design");
    let alone = found(&READ.replace("sys=31.34%", "sys=91.34%"), "F23");
    assert_eq!(alone[0].severity, Severity::Ambiguous, "nothing is compared");
}

#[test]
fn depths_and_errors_are_told() {
    speaks(
        READ,
        &[
            ("1=0.1%, 2=0.1%, 4=0.1%, 8=100.0%", "1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%", "F24"),
            ("err= 0", "err= 5", "F25"),
            ("short=0,", "short=7,", "F25"),
        ],
    );
}

#[test]
fn a_job_that_reads_back_what_it_wrote_has_its_ways_one_after_another() {
    // Figures of our own: a write job with verify at depth 16.
    let text = "\
v: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16
fio-3.27
Starting 1 process
v: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  read: IOPS=80.0k, BW=313MiB/s (328MB/s)(158MiB/505msec)
    lat (usec): min=11, max=210, avg=199.60, stdev= 5.99
  write: IOPS=80.0k, BW=313MiB/s (328MB/s)(250MiB/800msec); 0 zone resets
    lat (usec): min=12, max=801, avg=199.41, stdev=36.21
";
    assert_eq!(found(text, "F7"), []);
    assert_eq!(found(&text.replace("avg=199.60", "avg=399.60"), "F7").len(), 1, "too much for one way alone");
    assert_eq!(found(&text.replace("505msec", "800msec"), "F7").len(), 1, "both at one time");
}
