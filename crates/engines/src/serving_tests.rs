//! Peers of an agent that serves a machine of the test's own.

use super::*;
use crate::testing::{FakeHandler, spec, target};
use iotax_load::{EngineName, Rw, ShortLength};
use iotax_wire::message::{SeriesScalars, unpack_series};
use iotax_wire::peer::{Peer, PeerLink, QUICK_LIMIT, WireFault};
use std::io::Seek;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

/// Time limit of calls that are quick, except on a busy machine.
const MOMENT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

fn step(payload: serde_json::Value) -> WireRequest {
    WireRequest::Step { payload }
}

fn fake_peer() -> Peer {
    let mut peer = in_process("here", Box::new(FakeHandler::default())).unwrap();
    peer.hello("r1", QUICK_LIMIT).unwrap();
    peer
}

fn answer(id: u64, kind: FrameKind, body: &impl serde::Serialize) -> Vec<u8> {
    frame::encode(&WireFrame { kind, json: enclose(id, body).unwrap(), blob: Vec::new() }).unwrap()
}

#[test]
fn a_whole_conversation() {
    let handler = FakeHandler::default();
    let alive = handler.alive.clone();
    let mut peer = in_process("here", Box::new(handler)).unwrap();
    assert_eq!(peer.hello("r1", QUICK_LIMIT).unwrap().pid, std::process::id());
    for worker in [1, 2, 70] {
        let prepared =
            peer.prepare(worker, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
        assert_eq!(prepared.engine, "fake");
    }
    assert_eq!(alive.load(Ordering::SeqCst), 3);
    let Ran { result, cpu, .. } = peer.slice(70, &spec(), QUICK_LIMIT).unwrap();
    assert_eq!(cpu, Some(CpuTimes::default()), "the fake's processors do nothing");
    assert_eq!(
        (result.window_ns, result.read.latency.count(), result.flush_ns),
        (10_000_000, 100, Some(5))
    );
    peer.end_worker(2).unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 2);
    let again = peer.slice(2, &spec(), QUICK_LIMIT).unwrap_err();
    assert!(again.to_string().contains("there is no worker 2"), "{again}");
    let doubled = peer
        .prepare(1, &[target(false)], &[], Some(Engine::Native(EngineName::Sync)), QUICK_LIMIT)
        .unwrap_err();
    assert!(doubled.to_string().contains("worker 1 exists already"), "{doubled}");
    peer.bye().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn the_end_of_the_stream_ends_workers() {
    let handler = FakeHandler::default();
    let alive = handler.alive.clone();
    let mut peer = in_process("here", Box::new(handler)).unwrap();
    peer.prepare(1, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
    drop(peer);
    let deadline = Instant::now() + Duration::from_secs(5);
    while alive.load(Ordering::SeqCst) > 0 {
        assert!(Instant::now() < deadline, "the worker still lives");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_writing_job_is_permitted_first() {
    let mut peer = fake_peer();
    let jobs = [Job { rw: Rw::Write, ..Job::default() }];
    let refused = peer.prepare(1, &[target(false)], &jobs, None, QUICK_LIMIT).unwrap_err();
    assert_eq!((refused.code, refused.to_string().as_str()), (2, "here: no consent for it"));
    peer.prepare(1, &[target(true)], &jobs, None, QUICK_LIMIT).unwrap();
}

#[test]
fn one_member_without_consent_refuses_all_before_a_worker_is_made() {
    let handler = FakeHandler::default();
    let (alive, permitted) = (handler.alive.clone(), handler.permitted.clone());
    let mut peer = in_process("here", Box::new(handler)).unwrap();
    let jobs = [Job { rw: Rw::Write, ..Job::default() }];
    let asked = |peer: &mut Peer, writable: [bool; 3]| {
        peer.prepare(1, &writable.map(target), &jobs, None, QUICK_LIMIT).map(drop)
    };
    let refused = asked(&mut peer, [true, true, false]).unwrap_err();
    assert_eq!((refused.code, refused.to_string().as_str()), (2, "here: no consent for it"));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    permitted.store(0, Ordering::SeqCst);
    asked(&mut peer, [true; 3]).unwrap();
    assert_eq!((permitted.load(Ordering::SeqCst), alive.load(Ordering::SeqCst)), (3, 1));
}

#[test]
fn panics_failures_and_unknown_requests_are_answers() {
    let mut peer = fake_peer();
    let panicked =
        peer.call(step(serde_json::json!({"panic": "index 7"})), QUICK_LIMIT).unwrap_err();
    assert!(panicked.to_string().contains("panicked in \"step\": index 7"), "{panicked}");
    let failed =
        peer.call(step(serde_json::json!({"fail": "lacks mdadm"})), QUICK_LIMIT).unwrap_err();
    assert_eq!((failed.code, iotax_units::exit::Failed::from(failed).code), (3, 3));
    let large = peer.call(step(serde_json::json!({"bytes": 5 << 20})), QUICK_LIMIT).unwrap_err();
    assert!(large.to_string().contains("cannot be sent"), "{large}");
    assert!(peer.call(WireRequest::CpuTimes, QUICK_LIMIT).is_ok());
}

#[test]
fn an_unknown_request_is_answered_under_its_number() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut asked = ours.try_clone().unwrap();
    let agent = thread::spawn(move || {
        serve(theirs.try_clone().unwrap(), theirs, &mut FakeHandler::default())
    });
    asked
        .write_all(&answer(9, FrameKind::Request, &serde_json::json!({"request": "make_coffee"})))
        .unwrap();
    asked
        .write_all(
            &frame::encode(&WireFrame {
                kind: FrameKind::Request,
                json: b"}{".to_vec(),
                blob: vec![],
            })
            .unwrap(),
        )
        .unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let mut from_agent = ours;
    frame::skip_to_preamble(&mut from_agent).unwrap();
    for (id, words) in [(9, "make_coffee"), (0, "cannot parse")] {
        let frame = frame::read_frame(&mut from_agent).unwrap();
        let envelope: Envelope = serde_json::from_slice(&frame.json).unwrap();
        assert_eq!(envelope.id, id);
        assert!(envelope.body.get().contains(words), "{}", envelope.body);
    }
    agent.join().unwrap().unwrap();
}

#[test]
fn a_garbled_request_ends_the_agent_with_an_error() {
    let mut stream = tempfile::tempfile().unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    stream.rewind().unwrap();
    let error = serve(stream, Vec::new(), &mut FakeHandler::default()).unwrap_err();
    assert!(format!("{error:#}").contains("GET / HTTP"), "{error:#}");
}

#[test]
fn a_long_step_tells_how_far_it_is_and_ends_when_nobody_wants_the_rest() {
    let mut peer = fake_peer();
    let mut told = Vec::new();
    let worked = peer.call_long(step(serde_json::json!({"work_ms": 2000})), &mut |far| {
        told.push(far.as_u64().unwrap());
        ControlFlow::Continue(())
    });
    assert!(matches!(worked, Ok(Response::Step { .. })), "{worked:?}");
    assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
    // An hour.
    let endless = step(serde_json::json!({"work_ms": 3_600_000}));
    let stopped = peer.call_long(endless, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(stopped.to_string().ends_with("stopped"), "{stopped}");
    // What undoes it goes by the same connection.
    assert!(matches!(peer.call(step(serde_json::json!(7)), MOMENT), Ok(Response::Step { .. })));
}

#[test]
fn reading_back_tells_how_far_it_is_and_its_worker_goes_on_when_nobody_wants_the_rest() {
    let mut peer = fake_peer();
    peer.prepare(1, &[target(true)], &[Job { verify: true, ..Job::default() }], None, MOMENT)
        .unwrap();
    let mut told = Vec::new();
    let stopped = peer.verify(1, true, &mut |far| {
        told.push(far["read_back"].as_f64().unwrap());
        if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let stopped = stopped.unwrap();
    assert!(!stopped.whole && stopped.took_ns > 0 && told.is_sorted(), "{stopped:?} {told:?}");
    assert_eq!(peer.slice(1, &spec(), MOMENT).unwrap().result.read.ios, 100);
    let only_told = peer.verify(1, false, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(only_told.whole, "nothing was to be read");
    assert!(
        peer.verify(2, true, &mut |_| ControlFlow::Continue(())).is_err(),
        "there is no worker 2"
    );
    assert!(peer.is_usable());
}

#[test]
fn what_takes_long_ends_when_its_host_is_gone() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let agent = thread::spawn(move || {
        serve(theirs.try_clone().unwrap(), theirs, &mut FakeHandler::default())
    });
    let mut peer = Peer::new("killed", PeerLink::of_socket(ours).unwrap(), Box::new(String::new));
    peer.hello("r", MOMENT).unwrap();
    let long = step(serde_json::json!({"work_ms": 3_600_000}));
    peer.watch(long, &mut |_| ControlFlow::Break(())).unwrap();
    drop(peer);
    // With an error or without, but it ends.
    let _ = agent.join().unwrap();
}

#[test]
fn progress_keeps_a_slow_request_alive() {
    let mut peer = fake_peer().with_silence(Duration::from_millis(1500));
    peer.call(step(serde_json::json!({"sleep_ms": 2500})), Duration::from_secs(10)).unwrap();
}

#[test]
fn a_trial_is_watched_and_read_back() {
    use iotax_wire::trial::TrialSpec;
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().set_len(8 << 20).unwrap();
    let spec =
        TrialSpec { trial: 1, seed: 2, blocks: 2048, batch: 8, in_flight: 2, most_batches: 10 };
    let target = |writable| TargetSpec { path: file.path().into(), ..target(writable) };
    let request =
        |writable| WireRequest::DurableWrite { target: target(writable), spec: spec.clone() };
    let mut peer = fake_peer();
    let refused = peer.watch(request(false), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(refused.to_string(), "here: no consent for it");
    let mut told = Vec::new();
    let answer = peer.watch(request(true), &mut |acknowledged| {
        told.extend(acknowledged);
        ControlFlow::Continue(())
    });
    assert_eq!(answer.unwrap(), Some(Response::DurableWritten { acknowledged: 80 }));
    assert_eq!(told, (1..=10).map(|batch| batch * 8).collect::<Vec<u64>>());
    let verify = WireRequest::DurableVerify {
        target: target(false),
        spec: spec.clone(),
        acknowledged: 80,
        unreadable: vec![7],
    };
    let Response::DurableVerified { found, .. } = peer.call(verify, QUICK_LIMIT).unwrap() else {
        panic!("another answer")
    };
    assert!(
        found.broken_blocks() == 0 && found.kept == found.blocks && found.blocks >= 60,
        "{found:?}"
    );
    // Whoever watches may stop; what is still on its way counts.
    let answer = peer.watch(request(true), &mut |_| ControlFlow::Break(()));
    assert_eq!(answer.unwrap(), None);
    assert_eq!(peer.drained(QUICK_LIMIT.min(Duration::from_secs(1))), Some(80));
}

#[test]
fn a_slow_request_times_out_and_poisons() {
    let mut peer = fake_peer();
    let start = Instant::now();
    let late = peer.call(step(serde_json::json!({"sleep_ms": 3000})), SHORT).unwrap_err();
    assert!(matches!(late.fault, WireFault::Timeout { request: "step", .. }), "{late}");
    let next = peer.call(WireRequest::Clock, Duration::from_secs(9)).unwrap_err();
    assert!(
        matches!(&next.fault, WireFault::Poisoned(cause) if cause.contains("no answer to \"step\"")),
        "{next}"
    );
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(!peer.is_usable());
}

#[test]
fn a_peer_of_another_protocol_is_refused_by_the_agent() {
    let mut peer = in_process("here", Box::new(FakeHandler::default())).unwrap();
    let hello =
        WireRequest::Hello { protocol: PROTOCOL + 1, iotax: "9.9".into(), run_id: "r".into() };
    let refused = peer.call(hello, QUICK_LIMIT).unwrap_err();
    assert!(
        refused.to_string().contains(&format!(
            "(iotax 9.9) speaks wire protocol {}, this agent {PROTOCOL}",
            PROTOCOL + 1
        )),
        "{refused}"
    );
}

#[test]
fn one_clock_has_no_offset() {
    let offset = fake_peer().clock_offset().unwrap();
    assert!(offset.offset_ns.unsigned_abs() <= offset.round_trip_ns, "{offset:?}");
}

#[test]
fn what_an_agent_of_this_process_keeps_has_ended_when_its_peer_is_let_go() {
    let mut handler = FakeHandler::default();
    handler.ends_in = Duration::from_millis(200);
    let kept = handler.alive.clone();
    drop(in_process("here", Box::new(handler)).unwrap());
    assert_eq!(std::sync::Arc::strong_count(&kept), 1, "the handler's is gone");
}

#[test]
fn a_series_is_its_slices_and_their_sums() {
    let mut peer = fake_peer();
    for worker in [3, 8] {
        peer.prepare(worker, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
    }
    let length = ShortLength { discard_ns: 100, window_ns: 1_000_000 };
    let spec = SeriesSpec {
        order: vec![0, 1, 1, 0, 1],
        lengths: vec![length; 2],
        begins_ns: vec![],
        bin_ns: 1000,
        flush: false,
    };
    let done = peer.series(&[3, 8], &spec, &mut |_| ()).unwrap();
    assert_eq!(done.slices.iter().map(|slice| slice.worker).collect::<Vec<_>>(), spec.order);
    let sums: Vec<_> = done
        .sums
        .iter()
        .map(|sum| (sum.read.ios, sum.window_ns, sum.read.latency.count()))
        .collect();
    assert_eq!(sums, [(200, 2_000_000, 200), (300, 3_000_000, 300)]);
    let flushes = |spec: &SeriesSpec, peer: &mut Peer| -> Vec<Option<u64>> {
        let done = peer.series(&[3, 8], spec, &mut |_| ()).unwrap();
        done.sums.iter().map(|sum| sum.flush_ns).collect()
    };
    assert_eq!(flushes(&spec, &mut peer), [None; 2]);
    let flushed = flushes(&SeriesSpec { flush: true, ..spec.clone() }, &mut peer);
    assert!(flushed.iter().all(|ns| ns.is_some_and(|ns| (1..=5).contains(&ns))), "{flushed:?}");
    let gone = peer.series(&[3, 9], &spec, &mut |_| ()).unwrap_err();
    assert!(gone.to_string().contains("there is no worker 9"), "{gone}");
    let told = |change: &dyn Fn(&mut SeriesScalars)| {
        let (mut scalars, blob) = pack_series(&done);
        change(&mut scalars);
        unpack_series(scalars, &blob, &spec).map(|same| assert_eq!(same, done))
    };
    assert_eq!(told(&|_| ()), Ok(()));
    let lies: [&dyn Fn(&mut SeriesScalars); 6] = [
        &|lie| lie.slices.swap(0, 1),
        &|lie| lie.slices[0].ios += 1,
        &|lie| lie.slices[0].window_ns = u64::MAX,
        &|lie| drop(lie.sums.pop()),
        &|lie| lie.sums[0].read_len += 1,
        &|lie| lie.sums[1].discarded_ios = 1 << 50,
    ];
    for lie in lies {
        assert!(told(lie).is_err());
    }
}
