use crate::rule::fio::testing::{MIXED, READ, found, speaks};

#[test]
fn changed_latencies_are_found() {
    speaks(
        READ,
        &[
            ("lat (usec): min=29, max=21827, avg=127.08", "lat (usec): min=29, max=21827, avg=172.08", "F8"),
            (
                "clat (usec): min=22, max=21824, avg=122.52",
                "clat (usec): min=222, max=21824, avg=122.52",
                "F9",
            ),
            ("avg=122.52, stdev=166.52", "avg=122.52, stdev=26652.00", "F9"),
            ("60.00th=[   99]", "60.00th=[   79]", "F10"),
            ("99.99th=[ 4555]", "99.99th=[45550]", "F10"),
            (
                "clat (usec): min=22, max=21824, avg=122.52",
                "clat (usec): min=22, max=21824, avg=722.52",
                "F11",
            ),
            ("250=29.72%", "250=26.72%", "F12"),
            ("100=62.19%, 250=29.72%", "100=29.19%, 250=62.72%", "F13"),
        ],
    );
}

#[test]
fn tails_and_floors_are_remarked() {
    assert_eq!(found(READ, "F31").len(), 1, "the slowest of 31 s");
    assert_eq!(found(MIXED, "F33").len(), 1, "771 ns");
    assert_eq!(
        found(&MIXED.replace("ioengine=libaio", "ioengine=psync"), "F33"),
        [],
        "synchronous engines have no such floor"
    );
}

#[test]
fn buckets_are_silent_where_there_are_none() {
    let without: String =
        READ.lines().filter(|line| !line.starts_with("  lat (")).map(|line| format!("{line}\n")).collect();
    assert_eq!(found(&without, "F12"), []);
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
fn a_percentile_at_the_end_of_the_histogram_has_no_upper_end() {
    assert_eq!(found(SLOW, "F11"), []);
    assert_eq!(found(SLOW, "F10"), []);
    assert_eq!(found(&SLOW.replace("avg=11800.00", "avg=25800.00"), "F11").len(), 1);
    let slower = SLOW.replace("min=90,", "min=20000,").replace("[   90]", "[17113]");
    let slower =
        ["[  400]", "[  990]", "[ 2500]"].iter().fold(slower, |text, one| text.replace(one, "[17113]"));
    assert_eq!(found(&slower, "F10"), []);
}

#[test]
fn buckets_of_seconds_that_are_left_out_are_no_slip() {
    assert_eq!(found(SLOW, "F12"), [], "60 % took longer than the last that is shown");
    assert_eq!(found(&SLOW.replace("1000=18.00%", "750=18.00%"), "F12"), []);
    assert_eq!(found(&SLOW.replace("max=41200", "max=1000"), "F12").len(), 1);
    assert_eq!(found(&SLOW.replace("1000=18.00%", "1000=18.00%, >=2000=40.00%"), "F12").len(), 1);
    assert_eq!(found(&SLOW.replace("100=2.00%", "100=82.00%"), "F12").len(), 1, "more than all");
}

#[test]
fn buckets_may_have_what_was_in_flight_when_a_ramp_ended_and_overflow_beyond_32_bits() {
    let text = |issued: &str, shares: [&str; 2]| {
        format!(
            "fio-3.30\nw: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n  write: IOPS=402, BW=403MiB/s (423MB/s)(23.6GiB/60002msec)\n  lat (msec)   : 100={}%, 250={}%\n     issued rwts: total=0,{issued},0,0 short=0,0,0,0 dropped=0,0,0,0\n     latency   : target=0, window=0, percentile=100.00%, depth=64\n",
            shares[0], shares[1]
        )
    };
    assert_eq!(found(&text("24138", ["0.18", "100.09"]), "F12"), [], "64 of 24138 are 0.27 %");
    assert_eq!(found(&text("241380", ["0.18", "100.09"]), "F12").len(), 1);
    assert_eq!(found(&text("24138", ["0.18", "28.60"]), "F12").len(), 1);
    assert_eq!(found(&text("12042333583", ["0.18", "28.60"]), "F12"), [], "counters of 32 bits");
}
