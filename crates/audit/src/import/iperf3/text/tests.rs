use super::*;
use crate::import::iperf3::Stream::{One, Sum};
use crate::import::scan;

fn all(text: &str) -> Vec<Iperf3> {
    let iperf = |said| match said {
        Said::Iperf3(iperf) => Some(*iperf),
        _ => None,
    };
    scan(&Page::new("p", text)).outputs.into_iter().filter_map(|output| iperf(output.said)).collect()
}

macro_rules! fixture {
    ($name:literal) => {{
        let mut found = all(include_str!(concat!("../../../../fixtures/iperf3/", $name)));
        assert_eq!(found.len(), 1);
        found.remove(0).tests
    }};
}

fn rate(row: &Row) -> f64 {
    row.rate.unwrap().value
}

#[test]
fn intervals_and_ends_of_one_stream_are_read() {
    let tests = fixture!("tcp.txt");
    let [test] = tests.as_slice() else { panic!() };
    assert_eq!((test.udp, test.streams, test.intervals.len()), (Some(false), Some(1), 2));
    let first = &test.intervals[0];
    assert_eq!((first.stream, first.end, first.omitted), (One(5), None, false));
    assert_eq!(first.retransmits.unwrap().value, 1.0);
    assert_eq!(
        test.ends.iter().map(|row| row.end.unwrap()).collect::<Vec<_>>(),
        [End::Sender, End::Receiver]
    );
    let seconds = first.time.map(|time| time.unwrap().value);
    assert_eq!(seconds, [0.0, 1.0]);
    for row in test.intervals.iter().chain(&test.ends) {
        let seconds = row.time[1].unwrap().value - row.time[0].unwrap().value;
        let moved = row.bytes.unwrap().interval().scaled(8.0 / seconds);
        assert!(moved.wider(0.01).meets(row.rate.unwrap().interval()), "{row:?}");
    }
}

#[test]
fn sums_roles_and_datagrams_are_read() {
    let parallel = &fixture!("tcpP.txt")[0];
    assert_eq!((parallel.streams, parallel.intervals.len(), parallel.ends.len()), (Some(2), 6, 6));
    assert_eq!(parallel.intervals.iter().filter(|row| row.stream == Sum).count(), 2);
    let results = parallel.results();
    assert_eq!((results.len(), results[0].stream, results[0].end), (1, Sum, Some(End::Receiver)));
    let both = &fixture!("bidir.txt")[0];
    assert_eq!((both.bidirectional, both.streams), (true, Some(2)));
    let roles: Vec<Role> = both.results().iter().map(|row| row.role.unwrap()).collect();
    assert_eq!(roles, [Role::TxC, Role::RxC]);
    let udp = &fixture!("udp.txt")[0];
    assert_eq!(udp.intervals[0].datagrams.unwrap().value, 39.0);
    assert_eq!(udp.intervals[0].retransmits, None);
    let end = &udp.ends[1];
    assert_eq!((end.datagrams.unwrap().value, end.lost_share.unwrap().value), (77.0, 0.0));
    assert_eq!(end.jitter_ms.unwrap().value, 0.088);
    let both = &fixture!("udpbidir.txt")[0];
    assert_eq!(both.intervals[0].datagrams.unwrap().value, 20.0);
    assert_eq!(both.intervals[1].jitter_ms.unwrap().value, 0.016);
    assert!(fixture!("omit.txt")[0].intervals[0].omitted);
    let verbose = &fixture!("verbose.txt")[0];
    assert_eq!(verbose.version.as_deref(), Some("3.12"));
    let megabits = fixture!("fm.txt")[0].ends[0].rate.unwrap();
    assert_eq!((megabits.value, megabits.low), (19_728e6, 19_727.5e6));
}

#[test]
fn what_a_server_prints_of_several_tests_is_several() {
    let found = all(include_str!("../../../../fixtures/iperf3/server.txt"));
    assert_eq!(found.len(), 2);
    let both = &found[0].tests[0];
    assert_eq!(
        both.results().iter().map(|row| row.role.unwrap()).collect::<Vec<_>>(),
        [Role::RxS, Role::TxS]
    );
    let udp = &found[1].tests[0];
    assert_eq!(udp.ends[0].jitter_ms.unwrap().value, 0.088);
}

#[test]
fn processes_whose_lines_are_mixed_are_tests_of_their_own() {
    let text = "s1: [ ID] Interval Transfer Bitrate Retr\n\
                s2: [ ID] Interval Transfer Bitrate Retr\n\
                s1: [ 5] 0.00-10.00 sec 15.2 GBytes 13.0 Gbits/sec 1062 sender\n\
                s2: [ 5] 0.00-10.00 sec 14.8 GBytes 12.7 Gbits/sec 1856 sender\n\
                s1:\n\
                s2: [ 5] 0.00-10.04 sec 14.7 GBytes 12.6 Gbits/sec receiver\n\
                s1: iperf Done.\n\
                s2: - - - - - - - - - - - - - - - - - - - - - - - - -\n\
                In all 25.7 Gbits/sec\n";
    let found = all(text);
    let [one] = found.as_slice() else { panic!("{}", found.len()) };
    let told: Vec<(Option<&str>, usize)> =
        one.tests.iter().map(|test| (test.speaker.as_deref(), test.ends.len())).collect();
    assert_eq!(told, [(Some("s1"), 1), (Some("s2"), 2)]);
    assert_eq!(one.readings().len(), 2);
    let page = Page::new("p", text);
    assert_eq!(page.quote(one.tests[1].ends[0].retransmits.unwrap().spot), "1856");
    assert_eq!(page.quote(one.tests[1].ends[1].rate.unwrap().spot), "12.6");
}

#[test]
fn rows_alone_and_other_units_are_read() {
    let text = "as follows\n[SUM]   0.00-60.00  sec  1.25 TBytes   183 Gbits/sec  0  sender\n\
                [SUM]   0.00-60.04  sec  1.25 TBytes  21.3 GBytes/sec  receiver\n";
    let test = &all(text)[0].tests[0];
    assert_eq!((test.ends.len(), test.ends[0].retransmits.unwrap().value), (2, 0.0));
    assert!((rate(&test.ends[1]) / 183e9 - 1.0).abs() < 0.01);
    let old = "[  4]   0.0- 1.0 sec  112 MBytes   943 Mbits/sec\n";
    assert_eq!(rate(&all(old)[0].tests[0].intervals[0]), 943e6);
    let lost = "[  5]   0.00-2.00   sec  2.41 MBytes  10.1 Mbits/sec  0.088 ms  Unknown/77  receiver\n\
                [  7]   0.00-2.00   sec  2.41 MBytes  10.1 Mbits/sec  0.088 ms  77/77 (1e+02%)  receiver\n";
    let ends = &all(lost)[0].tests[0].ends;
    assert_eq!(ends[0].datagrams.unwrap().value, 77.0);
    assert_eq!(ends[1].lost_share.unwrap().value, 100.0);
}

#[test]
fn brackets_of_others_and_errors_alone_are_left() {
    for text in [
        "[1] See the manual of iperf3\n",
        "[ 5] 0.00-10.00 sec is what it says\n",
        "Connecting to host a, port 1\n",
        "iperf3: a tool for networks\n",
        "[SUM] of all\n",
        "[ ID] Name\n",
        "iperf3: error - unable to connect to server: Connection refused\n",
    ] {
        assert!(all(text).is_empty(), "{text}");
    }
    let strange = "[  5]   0.00-1.00   sec  2.56 GBytes  22.0 Gbits/sec    1    767 KBytes\n\
                   [  5]   1.00-2.00   sec  2.5x GBytes  22.0 Gbits/sec    1    767 KBytes\n";
    let scanned = scan(&Page::new("p", strange));
    assert_eq!((scanned.outputs.len(), scanned.unread[0].line), (1, 2));
}
