//! Peers that answer as they should not.

use super::*;
use crate::frame::{NOISE_LIMIT, PREAMBLE};
use std::io::Write;

const MOMENT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

fn step(payload: serde_json::Value) -> WireRequest {
    WireRequest::Step { payload }
}

fn by_hand() -> (Peer, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let words: LastWords = Box::new(|| "[  1.2] Kernel panic - not syncing".into());
    (Peer::new("guest1", PeerLink::of_socket(ours).unwrap(), words), theirs)
}

fn answer(id: u64, kind: FrameKind, body: &impl serde::Serialize) -> Vec<u8> {
    frame::encode(&WireFrame { kind, json: enclose(id, body).unwrap(), blob: Vec::new() }).unwrap()
}

#[test]
fn a_silent_peer_is_dead_and_its_last_words_are_shown() {
    let (peer, mut theirs) = by_hand();
    let mut peer = peer.with_silence(SHORT);
    theirs.write_all(PREAMBLE).unwrap();
    let dead = peer.call(WireRequest::Clock, Duration::from_secs(60)).unwrap_err();
    assert!(matches!(dead.fault, WireFault::Silent(..)));
    assert_eq!(
        dead.to_string(),
        "guest1: silent for 300ms while it should answer \"clock\"; its last words:\n[  1.2] Kernel panic - not syncing"
    );
}

#[test]
fn a_peer_that_does_not_even_read_times_out() {
    let (mut peer, theirs) = by_hand();
    let payload = serde_json::Value::String("x".repeat(3 << 20));
    let stuck = peer.call(step(payload), SHORT).unwrap_err();
    assert!(matches!(stuck.fault, WireFault::Timeout { .. }), "{stuck}");
    drop(theirs);
}

#[test]
fn foreign_peers_are_named() {
    let said = |bytes: &[u8]| {
        let (mut peer, mut theirs) = by_hand();
        theirs.write_all(bytes).unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        peer.hello("r1", QUICK_LIMIT).unwrap_err()
    };
    let after_preamble = |bytes: &[u8]| said(&[&PREAMBLE[..], bytes].concat());
    assert!(matches!(said(b"").fault, WireFault::Frame(FrameError::Eof)));
    assert!(said(b"login: ").to_string().contains("not an iotax agent: it wrote \"login: \""));
    assert!(matches!(
        said(&[b'y'; NOISE_LIMIT + 100]).fault,
        WireFault::Frame(FrameError::NoPreamble { .. })
    ));
    let garbage = after_preamble(b"[ 2.0] usb 1-1: new device");
    assert!(
        garbage.to_string().contains("garbled stream")
            && garbage.to_string().contains("[ 2.0] usb"),
        "{garbage}"
    );
    let mut other = answer(1, FrameKind::Response, &Response::Bye);
    other[4] = 7;
    let version = after_preamble(&other);
    let words = format!("speaks wire protocol 7, this iotax speaks {PROTOCOL}");
    assert!(version.to_string().contains(&words), "{version}");
    let wrong_number = after_preamble(&answer(5, FrameKind::Response, &Response::Bye));
    assert!(wrong_number.to_string().contains("bears number 5, expected was 1"), "{wrong_number}");
    let wrong_kind = after_preamble(&answer(1, FrameKind::Response, &Response::Bye));
    assert!(wrong_kind.to_string().contains("unexpected \"Bye\""), "{wrong_kind}");
    let asks = after_preamble(&answer(1, FrameKind::Request, &WireRequest::Bye));
    assert!(asks.to_string().contains("asks instead of answering"), "{asks}");
}

#[test]
fn a_peer_that_reports_absurd_figures_or_sends_data_as_a_sign_of_life_is_refused() {
    let said_by = |kind, body: &str, blob: &[u8]| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let json = format!("{{\"id\":1,\"body\":{body}}}").into_bytes();
        let frame = frame::encode(&WireFrame { kind, json, blob: blob.to_vec() }).unwrap();
        theirs.write_all(&[&frame::PREAMBLE[..], &frame].concat()).unwrap();
        let mut peer = Peer::new("liar", PeerLink::of_socket(ours).unwrap(), Box::new(String::new));
        let refused = peer.call(WireRequest::Clock, MOMENT);
        refused.map_err(|error| (error.to_string(), peer.is_usable()))
    };
    let clock = |ns: u64| {
        said_by(
            FrameKind::Response,
            &format!("{{\"response\":\"clock\",\"monotonic_ns\":{ns}}}"),
            b"",
        )
    };
    assert_eq!(clock(7), Ok(Response::Clock { monotonic_ns: 7 }));
    let absurd = "liar: garbled answer to \"clock\": it reports a figure of 18446744073709551615";
    assert_eq!(clock(u64::MAX), Err((absurd.to_owned(), false)));
    let data = "liar: garbled answer to \"clock\": it sends data with its progress";
    assert_eq!(
        said_by(FrameKind::Progress, "{\"running_ms\":1}", b"data"),
        Err((data.to_owned(), false))
    );
}
