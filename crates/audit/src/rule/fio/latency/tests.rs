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
