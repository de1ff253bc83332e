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
