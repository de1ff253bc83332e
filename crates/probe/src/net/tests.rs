//! Both ends on the loopback.

use super::control::{self, ControlRequest, Reply};
use super::flow::{Flow, FlowOrder, FlowShare, Socket};
use super::hello::{ANSWER, ConnectionRole, Hello, HelloAnswer, HelloVerdict, Token};
use super::{ALL, ProbeServer};
use crate::{Probe, ProbeError, ProbeSpec, prepare};
use iotax_load::{SliceBound, SliceResult, SliceSpec, clock};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MS: u64 = 1_000_000;

fn server() -> ProbeServer {
    ProbeServer::listen(HERE, None).unwrap()
}

fn spec(text: &str, server: &ProbeServer) -> ProbeSpec {
    ProbeSpec {
        peer: Some(server.address()),
        token: Some(server.token()),
        ..ProbeSpec::parse(text).unwrap()
    }
}

fn client(text: &str, server: &ProbeServer) -> Box<dyn Probe> {
    prepare(&spec(text, server)).unwrap()
}

fn refused(spec: &ProbeSpec) -> String {
    prepare(spec).err().unwrap().to_string()
}

fn of_ms(ms: u64) -> SliceSpec {
    SliceSpec::starting_now(SliceBound::Time { ns: ms * MS }, 30 * MS, false)
}

/// Runs a slice, again if the machine was too busy with other tests to carry anything, or to wake
/// up in time.
fn measured(probe: &mut Box<dyn Probe>, ms: u64) -> SliceResult {
    for _ in 0..30 {
        match probe.run_probe_slice(&of_ms(ms)) {
            Err(ProbeError::Unfit(_)) => {}
            Ok(result) if result.read.ios + result.write.ios == 0 => {}
            other => return other.unwrap(),
        }
    }
    panic!("thirty slices without anything");
}

#[test]
fn streams_carry_bytes_in_the_directions_asked_for() {
    let server = server();
    for (text, reads, writes) in
        [("tcp", false, true), ("tcp(receive)", true, false), ("tcp(both)", true, true)]
    {
        let mut probe = prepare(&ProbeSpec { numjobs: 2, ..spec(text, &server) }).unwrap();
        assert_eq!(probe.name(), ProbeSpec::parse(text).unwrap().to_string());
        for _ in 0..3 {
            let result = measured(&mut probe, 200);
            assert_eq!((result.read.bytes > 0, result.write.bytes > 0), (reads, writes), "{text}");
            assert_eq!((result.read.ios > 0, result.write.ios > 0), (reads, writes), "{text}");
            assert_eq!(result.window_ns, 200 * MS);
            assert!(
                result.discarded_ns >= 30 * MS && result.cpu_user_ns + result.cpu_system_ns > 0
            );
            let exchange = probe.last_exchange().unwrap();
            assert_eq!((exchange.from_peer.is_some(), exchange.to_peer.is_some()), (reads, writes));
            let told = exchange.from_peer.unwrap_or_default().bytes
                + exchange.to_peer.unwrap_or_default().bytes;
            assert_eq!(told, result.read.bytes + result.write.bytes);
            assert!(
                exchange.round_trip_ns > 0
                    && exchange.mss > 500
                    && exchange.datagram_bytes.is_none()
            );
        }
    }
}

#[test]
fn datagrams_are_counted_where_they_are_sent_and_where_they_arrive() {
    let server = server();
    for text in ["udp", "udp(receive)", "udp(both)", "udp(small-send)", "udp(small-receive)"] {
        let spec = ProbeSpec { numjobs: 2, rate: Some(2_000_000), ..spec(text, &server) };
        let mut probe = prepare(&spec).unwrap();
        for _ in 0..2 {
            let result = measured(&mut probe, 200);
            let exchange = probe.last_exchange().unwrap();
            let size = if text.contains("small") { 64 } else { 1400 };
            assert_eq!(exchange.datagram_bytes, Some(size), "{text}");
            let (near, far) =
                (text.contains("receive") || text.contains("both"), !text.contains("receive"));
            assert_eq!((result.read.ios > 0, result.write.ios > 0), (near, far), "{text}");
            assert_eq!(result.read.bytes, result.read.ios * u64::from(size));
            assert_eq!(result.write.bytes, result.write.ios * u64::from(size));
            let ways = [exchange.to_peer, exchange.from_peer];
            assert!(ways.iter().flatten().all(|way| way.sent > 0), "{text}");
            // No more than is due from the load's beginning on.
            let sent_ns = result.discarded_ns + 200 * MS;
            for way in ways.iter().flatten() {
                let due = 2_000_000 * sent_ns / (1_000_000_000 * u64::from(size));
                assert!(way.lost <= way.sent && way.sent <= due + 4, "{text}: {way:?}, due {due}");
                assert_eq!((way.reordered, way.duplicates), (0, 0));
            }
        }
    }
}

#[test]
fn what_arrives_is_recorded_in_steps_where_that_is_asked_for() {
    let server = server();
    for (text, numjobs) in [("tcp(both)", 2), ("udp(small-send)", 1), ("udp(receive)", 1)] {
        let step = 10 * MS;
        let rate = text.starts_with("udp").then_some(2_000_000);
        let spec = ProbeSpec { numjobs, rate, course_ns: Some(step), ..spec(text, &server) };
        let mut probe = prepare(&spec).unwrap();
        let result = measured(&mut probe, 200);
        let exchange = probe.last_exchange().unwrap();
        let steps = (result.discarded_ns + result.window_ns) / step;
        for (way, arrived) in
            [(&exchange.to_peer, &result.write), (&exchange.from_peer, &result.read)]
        {
            let Some(way) = way else { continue };
            assert_eq!(way.course.len() as u64, steps, "{text}");
            let in_window = if text.starts_with("tcp") { arrived.bytes } else { arrived.ios };
            // The course includes the discarded start, and lacks the part of a step at its end.
            let all = way.course.iter().sum::<u64>();
            assert!(
                all > 0 && all + way.course.iter().max().unwrap() >= in_window,
                "{text}: {all} of {in_window}"
            );
        }
        let on_wire = exchange.on_wire().unwrap();
        let payload = exchange.datagram_bytes.unwrap_or(exchange.mss);
        assert!((on_wire - 1.0) * f64::from(payload) >= 42.0, "{text}: {on_wire}");
    }
}

#[test]
fn datagrams_go_as_fast_as_they_can_without_a_rate() {
    let server = server();
    let result = measured(&mut client("udp", &server), 200);
    assert!(result.write.ios > 0 && result.read.ios == 0);
}

#[test]
fn every_round_trip_has_its_time() {
    let server = server();
    for text in ["rr", "rr(udp)"] {
        let mut probe = prepare(&ProbeSpec { numjobs: 2, ..spec(text, &server) }).unwrap();
        for _ in 0..3 {
            let result = measured(&mut probe, 200);
            assert!(result.read.ios > 0 && result.read.latency.min().unwrap() > 0, "{text}");
            // One of each thread may have begun within and ended after the window, or before and
            // within.
            assert!(result.read.latency.count().abs_diff(result.read.ios) <= 2, "{text}");
            let (mean, units) = (result.read.latency.mean().unwrap(), result.read.ios as f64);
            assert!(
                (result.window_ns as f64 / units / mean - 1.0).abs() < 1e-3,
                "of several streams too: {text}"
            );
            assert_eq!(result.read.bytes, 64 * result.read.ios);
            assert!(result.in_flight_ns <= 2 * 200 * MS && result.served_ns > 0);
            assert_eq!(result.write, iotax_load::Direction::default());
            assert_eq!(probe.last_exchange().unwrap().unanswered, 0);
        }
    }
}

#[test]
fn a_slice_begins_when_it_is_asked_to_and_one_that_comes_too_late_when_it_comes() {
    let server = server();
    let mut probe = client("tcp(both)", &server);
    let begin_ns = clock::monotonic_ns() + 200 * MS;
    let result =
        probe.run_probe_slice(&SliceSpec { begin_ns: Some(begin_ns), ..of_ms(30) }).unwrap();
    assert_eq!(result.window_start_ns, begin_ns + result.discarded_ns);
    let late_ns = clock::monotonic_ns() - 5000 * MS;
    let result =
        probe.run_probe_slice(&SliceSpec { begin_ns: Some(late_ns), ..of_ms(30) }).unwrap();
    assert!(result.window_start_ns > late_ns + 5000 * MS);
}

#[test]
fn what_does_not_fit_is_refused_with_its_reason() {
    let server = server();
    let words = client("tcp", &server).run_probe_slice(&SliceSpec::starting_now(
        SliceBound::Bytes { bytes: 1 },
        0,
        false,
    ));
    assert!(words.unwrap_err().to_string().contains("slices by time only"));
    let own = |text: &str| spec(text, &server);
    assert!(refused(&ProbeSpec { rate: Some(1), ..own("tcp") }).contains("for udp only"));
    assert!(refused(&ProbeSpec { numjobs: 65, ..own("tcp") }).contains("at most 64 streams"));
    assert!(refused(&ProbeSpec { peer: None, ..own("tcp") }).contains("no other end is named"));
    assert!(
        refused(&ProbeSpec { token: None, ..own("tcp") })
            .contains("token of the other end is missing")
    );
    assert!(
        refused(&ProbeSpec { token: Some("x".into()), ..own("tcp") })
            .contains("32 hexadecimal digits")
    );
    let nowhere = ProbeSpec { cpus_allowed: vec![1023], ..own("tcp") };
    assert!(refused(&nowhere).contains("processor 1023 does not exist"), "{}", refused(&nowhere));
    assert!(
        refused(&ProbeSpec { cpus_allowed: vec![5000], ..own("rr(udp)") })
            .contains("processor 5000")
    );
    let mut slow = prepare(&ProbeSpec { rate: Some(14_000), ..own("udp") }).unwrap();
    let words = slow.run_probe_slice(&of_ms(10)).unwrap_err().to_string();
    assert!(
        words.contains(
            "sends no datagram of 1400 bytes in a window of 10 ms; hint: use a higher rate"
        ),
        "{words}"
    );
    assert!(measured(&mut slow, 200).write.ios > 0, "it can be asked again");
}

#[test]
fn clients_do_not_meet_each_other() {
    let server = server();
    let run = |text: &'static str| {
        let spec = spec(text, &server);
        thread::spawn(move || {
            let mut probe = prepare(&spec).unwrap();
            (0..4).map(|_| measured(&mut probe, 200).read.ios).min().unwrap()
        })
    };
    let all =
        ["tcp(both)", "tcp(receive)", "rr", "rr(udp)", "udp(both)", "udp(small-receive)"].map(run);
    for (number, one) in all.into_iter().enumerate() {
        assert!(one.join().unwrap() > 0, "{number}");
    }
}

#[test]
fn one_that_listens_at_all_addresses_answers_at_the_one_that_was_asked() {
    for (all, own) in [("0.0.0.0", "127.0.0.3"), ("::", "::1")] {
        let server = match ProbeServer::listen(all.parse().unwrap(), None) {
            Err(_) if all == "::" => return println!("skipped: no IPv6 here"),
            server => server.unwrap(),
        };
        let peer = Some(SocketAddr::new(own.parse().unwrap(), server.address().port()));
        for text in ["tcp(both)", "udp(both)", "rr(udp)"] {
            let mut probe = prepare(&ProbeSpec { peer, ..spec(text, &server) }).unwrap();
            assert!(measured(&mut probe, 200).read.ios > 0, "{text} {own}");
        }
    }
}

/// Opens a connection that begins like a client's, and returns its session.
fn raw(
    server: &ProbeServer,
    role: ConnectionRole,
    session: u64,
    token: &str,
) -> (TcpStream, HelloAnswer) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let hello = Hello { role, token: token.parse().unwrap(), session, index: 0 };
    stream.write_all(&hello.encode()).unwrap();
    let mut answer = [0; ANSWER];
    stream.read_exact(&mut answer).unwrap();
    (stream, HelloAnswer::decode(&answer).unwrap())
}

fn still_serves(server: &ProbeServer) {
    assert!(measured(&mut client("rr", server), 200).read.ios > 0);
}

/// Returns true if the other end closes the connection.
fn ends(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn strangers_are_dropped_and_stand_in_nobodys_way() {
    let server = server();
    let idle: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    still_serves(&server);
    let mut loud = TcpStream::connect(server.address()).unwrap();
    loud.write_all(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n").unwrap();
    assert!(ends(&loud), "at once");
    assert!(idle.iter().all(ends), "after two seconds");
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.write_all(b"iotax").unwrap();
    assert!(ends(&slow));
    still_serves(&server);
}

#[test]
fn datagrams_of_strangers_change_nothing() {
    let server = server();
    let stranger = UdpSocket::bind((HERE, 0)).unwrap();
    stranger.connect(server.address()).unwrap();
    let mut probe = client("udp(both)", &server);
    let token = Token::random().unwrap();
    for index in 0..200 {
        stranger.send(&vec![0x55; 7 * index]).unwrap();
        let hello = Hello { role: ConnectionRole::Receive, token, session: index as u64, index: 0 };
        stranger.send(&hello.encode()).unwrap();
    }
    assert!(measured(&mut probe, 200).read.ios > 0);
    stranger.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(stranger.recv(&mut [0; 64]).is_err(), "a stranger gets no answer");
}

#[test]
fn each_refusal_has_its_words() {
    let server = server();
    let other = Token::random().unwrap().to_string();
    assert!(
        refused(&ProbeSpec { token: Some(other.clone()), ..spec("tcp", &server) })
            .contains("does not accept the token")
    );
    assert_eq!(
        raw(&server, ConnectionRole::Control, 0, &other).1.verdict,
        HelloVerdict::WrongToken
    );
    assert_eq!(
        raw(&server, ConnectionRole::Send, 5, &server.token()).1.verdict,
        HelloVerdict::Unknown,
        "no such session"
    );
    // The next version, which may have a shorter hello.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"iotaxnet\0\0\0\x02").unwrap();
    let mut answer = [0; ANSWER];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(HelloAnswer::decode(&answer).unwrap().verdict, HelloVerdict::OtherVersion);
    assert!(ends(&stream));
}

/// Starts a server that says one thing and closes.
fn parrot(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(words).unwrap();
        // The client's words are read, so that the answer arrives.
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        while stream.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
    });
    address
}

#[test]
fn other_ends_that_are_none_are_named() {
    let server = server();
    let at = |peer| refused(&ProbeSpec { peer: Some(peer), ..spec("tcp", &server) });
    let words = at(parrot(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n"));
    assert!(words.contains("is not iotax: it answered \"SSH-2.0-OpenSSH_9.2p1 De"), "{words}");
    let words = at(parrot(b"iotaxnet\0\0\0\x07"));
    assert!(words.contains("speaks version 7 of the protocol, this iotax version 1"), "{words}");
    assert!(at(parrot(b"")).contains("closed the connection without an answer"));
    let free = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap();
    assert!(at(free).contains("refuses connections"));
    let silent = TcpListener::bind((HERE, 0)).unwrap();
    assert!(at(silent.local_addr().unwrap()).contains("does not answer within 5 s"));
}

#[test]
fn a_port_that_is_taken_and_an_address_of_another_are_named() {
    let first = server();
    let port = first.address().port();
    let words = |bind, port| ProbeServer::listen(bind, port).err().unwrap().to_string();
    assert!(words(HERE, Some(port)).contains("the port is taken by another program; hint"));
    let udp = UdpSocket::bind((HERE, 0)).unwrap();
    assert!(
        words(HERE, Some(udp.local_addr().unwrap().port())).contains("is taken"),
        "UDP alone too"
    );
    let far = words("192.0.2.250".parse().unwrap(), None);
    assert!(far.contains("it is not an address of this machine"), "{far}");
    drop(first);
    ProbeServer::listen(HERE, Some(port)).unwrap();
}

#[test]
fn an_end_that_goes_in_a_slice_is_named_and_the_probe_stays_broken() {
    for text in ["tcp", "tcp(receive)", "rr", "udp", "udp(receive)", "rr(udp)"] {
        let server = server();
        let mut probe = client(text, &server);
        measured(&mut probe, 200);
        let ender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            drop(server);
        });
        let since = Instant::now();
        let words = probe.run_probe_slice(&of_ms(4000)).unwrap_err().to_string();
        assert!(words.contains("closed the connection"), "{text}: {words}");
        ender.join().unwrap();
        assert!(since.elapsed() < Duration::from_secs(15), "{text}");
        assert_eq!(probe.run_probe_slice(&of_ms(10)).unwrap_err().to_string(), words);
    }
}

#[test]
fn a_client_that_goes_in_a_slice_leaves_nothing_behind() {
    let server = server();
    let (control, HelloAnswer { session, .. }) =
        raw(&server, ConnectionRole::Control, 0, &server.token());
    let (stream, answer) = raw(&server, ConnectionRole::Receive, session, &server.token());
    assert_eq!(answer.verdict, HelloVerdict::Welcome);
    assert_eq!(
        raw(&server, ConnectionRole::Receive, session, &server.token()).1.verdict,
        HelloVerdict::Unknown,
        "number 0 is there"
    );
    let now = clock::monotonic_ns();
    let (begin_ns, to_ns) = (now + MS, now + 500_000 * MS);
    let order = FlowOrder {
        begin_ns,
        from_ns: begin_ns,
        to_ns,
        datagram_bytes: 64,
        ..FlowOrder::default()
    };
    control::write_frame(&control, &ControlRequest::Slice(order)).unwrap();
    (&stream).read_exact(&mut [0; 1000]).unwrap();
    drop((control, stream));
    still_serves(&server);
    let since = Instant::now();
    drop(server);
    assert!(since.elapsed() < Duration::from_secs(10), "it does not wait for the slice's end");
}

#[test]
fn frames_that_are_none_end_the_session_and_slices_that_cannot_be_are_refused() {
    let server = server();
    for odd in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\x02{}", b"\0\0\0\x03abc", b"\0\0\0\0"] {
        let (control, _) = raw(&server, ConnectionRole::Control, 0, &server.token());
        (&control).write_all(odd).unwrap();
        assert!(ends(&control), "{odd:?}");
    }
    let (control, _) = raw(&server, ConnectionRole::Control, 0, &server.token());
    let now = clock::monotonic_ns();
    let good = FlowOrder {
        begin_ns: now,
        from_ns: now,
        to_ns: now + MS,
        datagram_bytes: 64,
        ..FlowOrder::default()
    };
    let refusal = |order: Option<FlowOrder>| {
        if let Some(order) = order {
            control::write_frame(&control, &ControlRequest::Slice(order)).unwrap();
        }
        control::write_frame(&control, &ControlRequest::Collect).unwrap();
        match control::read_frame(&control).unwrap() {
            Reply::Refused { why } => why,
            other => format!("{other:?}"),
        }
    };
    assert_eq!(refusal(None), "no slice was ordered");
    assert!(refusal(Some(FlowOrder { from_ns: 0, ..good })).contains("not in order"));
    assert!(refusal(Some(FlowOrder { to_ns: u64::MAX, ..good })).contains("ten minutes"));
    assert!(
        refusal(Some(FlowOrder { datagram_bytes: 65_000, ..good })).contains("size of datagrams")
    );
    assert!(refusal(Some(FlowOrder { round_trip_ns: u64::MAX, ..good })).contains("round trip"));
    assert!(refusal(Some(FlowOrder { course_ns: Some(0), ..good })).contains("1024 steps"));
    assert_eq!(refusal(Some(good)), "Shares { shares: [] }");
    control::write_frame(&control, &ControlRequest::Slice(good)).unwrap();
    control::write_frame(&control, &ControlRequest::Slice(good)).unwrap();
    assert!(ends(&control), "a slice in a slice");
    still_serves(&server);
}

#[test]
fn a_server_has_room_for_so_many_sessions_and_flows() {
    let server = server();
    let many = |numjobs| ProbeSpec { numjobs, ..spec("tcp(both)", &server) };
    // 256 flows, then one more.
    let full: Vec<_> = (0..2).map(|_| prepare(&many(64)).unwrap()).collect();
    assert!(refused(&many(1)).contains("no room for more clients or flows"));
    drop(full);
    let since = Instant::now();
    while prepare(&many(1)).is_err() {
        assert!(since.elapsed() < Duration::from_secs(20), "what has ended makes room");
    }
    let sessions: Vec<_> =
        (0..64).map(|_| raw(&server, ConnectionRole::Control, 0, &server.token())).collect();
    assert!(sessions.iter().any(|(_, answer)| answer.verdict == HelloVerdict::Welcome));
    assert!(refused(&many(1)).contains("no room for more clients"));
}

/// Returns an order that begins soon.
fn soon(window_ms: u64) -> FlowOrder {
    let begin_ns = clock::monotonic_ns() + 5 * MS;
    let from_ns = begin_ns + 20 * MS;
    FlowOrder {
        slice: 1,
        begin_ns,
        from_ns,
        to_ns: from_ns + window_ms * MS,
        datagram_bytes: 64,
        ..FlowOrder::default()
    }
}

fn flow(socket: Socket, role: ConnectionRole, is_server: bool) -> Flow {
    Flow::new(socket, role, is_server, 77, Arc::new(AtomicBool::new(false))).unwrap()
}

#[test]
fn a_stream_is_quiet_after_a_slice_and_all_that_was_sent_has_arrived() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    let watch = far.try_clone().unwrap();
    let (mut sends, mut receives) = (
        flow(Socket::Stream(near), ConnectionRole::Send, false),
        flow(Socket::Stream(far), ConnectionRole::Send, true),
    );
    let mut all = [0, 0];
    for _ in 0..5 {
        let order = soon(10);
        let (arrived, sent) = thread::scope(|scope| {
            let sent = scope.spawn(|| sends.run_order(&order).unwrap());
            (receives.run_order(&order).unwrap(), sent.join().unwrap())
        });
        // On a busy machine a window of 10 ms may pass with nothing sent.
        all = [all[0] + sent.units + sent.outside, all[1] + arrived.units + arrived.outside];
        thread::sleep(Duration::from_millis(20));
        watch.set_nonblocking(true).unwrap();
        assert_eq!(watch.peek(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
        watch.set_nonblocking(false).unwrap();
    }
    assert!(all[0] > 0 && all[1] > 0, "{all:?}");
}

/// Passes datagrams on and drops, doubles and swaps some; gives how many of those sent in the
/// window it dropped, and how many it doubled and swapped.
fn bad_path(from: &UdpSocket, to: &UdpSocket) -> (u64, u64, u64) {
    let (mut dropped, mut doubled, mut swapped) = (0, 0, 0);
    let mut held: Option<Vec<u8>> = None;
    loop {
        let mut datagram = vec![0; 2000];
        let bytes = from.recv(&mut datagram).unwrap();
        datagram.truncate(bytes);
        let (kind, number) =
            (datagram[15], u64::from_be_bytes(super::hello::array_at(&datagram, 16)));
        if kind == 2 {
            to.send(&datagram).unwrap();
            return (dropped, doubled, swapped);
        }
        match number % 10 {
            3 => dropped += u64::from(kind == 1),
            5 => {
                doubled += 1;
                to.send(&datagram).unwrap();
                to.send(&datagram).unwrap();
            }
            7 => held = Some(datagram),
            _ => {
                to.send(&datagram).unwrap();
                if let Some(held) = held.take() {
                    swapped += 1;
                    to.send(&held).unwrap();
                }
            }
        }
    }
}

fn pair() -> (UdpSocket, UdpSocket) {
    let (one, two) = (UdpSocket::bind((HERE, 0)).unwrap(), UdpSocket::bind((HERE, 0)).unwrap());
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    (one, two)
}

#[test]
fn lost_doubled_and_overtaken_datagrams_are_counted() {
    let ((near, in_between), (out, far)) = (pair(), pair());
    let mut sends = flow(Socket::Datagram(near), ConnectionRole::Send, false);
    let mut receives = flow(Socket::Datagram(far), ConnectionRole::Send, true);
    let order = FlowOrder { rate: Some(64 * 1000), ..soon(100) };
    let (sent, arrived, bad) = thread::scope(|scope| {
        let sent = scope.spawn(|| sends.run_order(&order).unwrap());
        let bad = scope.spawn(|| bad_path(&in_between, &out));
        let arrived: FlowShare = receives.run_order(&order).unwrap();
        (sent.join().unwrap(), arrived, bad.join().unwrap())
    });
    let (dropped, doubled, swapped) = bad;
    assert!(dropped > 0 && doubled > 0 && swapped > 0, "{bad:?}");
    // One that was held at the end never arrived.
    let lost = sent.marked - arrived.marked;
    assert!((dropped..=dropped + 1).contains(&lost), "{lost} {dropped}");
    assert_eq!((arrived.duplicates, arrived.reordered), (doubled, swapped));
}

#[test]
fn definitions_need_the_other_end() {
    for one in ALL {
        assert!(
            one.needs_peer && one.program.is_none() && one.shortest_slice_ns >= 20 * MS,
            "{}",
            one.name
        );
    }
}
