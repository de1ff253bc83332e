//! Parses every example of docs/wire.md, so that the page stays true.

use super::frame::{self, FrameKind};
use super::message::{Envelope, Response, WireProgress, WireRequest};
use super::peer::SILENCE_LIMIT;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../docs/wire.md");

/// Returns the fenced blocks with that info string.
fn blocks<'a>(page: &'a str, info: &str) -> Vec<&'a str> {
    let fence = format!("```{info}\n");
    page.split(fence.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

/// Returns the messages in such blocks, one a line.
fn messages(info: &str) -> Vec<&'static str> {
    blocks(PAGE, info).into_iter().flat_map(str::lines).collect()
}

/// Parses, prints again, and compares as values: no field is lost or renamed.
fn parsed<T: DeserializeOwned + Serialize>(block: &str) -> T {
    let value: T = serde_json::from_str(block).unwrap_or_else(|error| panic!("{block}: {error}"));
    let (given, printed): (serde_json::Value, _) =
        (serde_json::from_str(block).unwrap(), serde_json::to_value(&value).unwrap());
    assert_eq!(subset(&given, &printed), Ok(()), "{block}");
    value
}

/// Compares facts, which grow: what the page shows must be there, more may be.
fn subset(small: &serde_json::Value, large: &serde_json::Value) -> Result<(), String> {
    match (small, large) {
        (serde_json::Value::Object(small), serde_json::Value::Object(large)) => {
            small.iter().try_for_each(|(key, value)| {
                subset(value, large.get(key).ok_or_else(|| format!("{key} is lost"))?)
            })
        }
        (small, large) if small == large => Ok(()),
        (small, large) => Err(format!("{small} became {large}")),
    }
}

#[test]
fn every_request_is_shown_and_parses() {
    let shown: Vec<WireRequest> = messages("json request").into_iter().map(parsed).collect();
    let names: BTreeSet<_> = shown.iter().map(WireRequest::name).collect();
    assert_eq!(names.len(), 25, "{names:?}");
    for request in &shown {
        assert_eq!(serde_json::to_value(request).unwrap()["request"], request.name());
    }
}

#[test]
fn every_response_is_shown_and_parses() {
    let shown: Vec<Response> = messages("json response").into_iter().map(parsed).collect();
    let tags: BTreeSet<_> = shown
        .iter()
        .map(|response| serde_json::to_value(response).unwrap()["response"].to_string())
        .collect();
    assert_eq!(tags.len(), 24, "{tags:?}");
}

#[test]
fn progress_is_as_shown() {
    let shown: Vec<WireProgress> = messages("json progress").into_iter().map(parsed).collect();
    assert_eq!(shown.len(), 4);
}

#[test]
fn the_frame_is_a_clock_request() {
    let hex: String =
        blocks(PAGE, "hex frame")[0].chars().filter(char::is_ascii_hexdigit).collect();
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    let frame = frame::read_frame(&mut bytes.as_slice()).unwrap();
    assert_eq!(frame.kind, FrameKind::Request);
    let envelope: Envelope = serde_json::from_slice(&frame.json).unwrap();
    assert_eq!(envelope.id, 1);
    assert_eq!(
        serde_json::from_str::<WireRequest>(envelope.body.get()).unwrap(),
        WireRequest::Clock
    );
    assert_eq!(frame::encode(&frame).unwrap(), bytes);
}

/// Returns the second cell of the frame's row with that field.
fn cell(field: &str) -> String {
    let row = PAGE.lines().find(|line| line.contains(&format!(" | {field} | "))).unwrap();
    row.rsplit(" | ").next().unwrap().trim_end_matches(" |").to_owned()
}

#[test]
fn the_frames_numbers_are_those_of_the_code() {
    let mib = |bytes: u32| format!("at most {} MiB", bytes >> 20);
    assert_eq!(cell("magic"), "`IOTX`");
    assert_eq!(cell("version"), frame::PROTOCOL.to_string());
    assert_eq!(cell("kind"), "1 request, 2 response, 3 progress, 4 stop");
    assert_eq!(cell("json_len"), mib(frame::JSON_LIMIT));
    assert_eq!(cell("blob_len"), mib(frame::BLOB_LIMIT));
    let noise = frame::NOISE_LIMIT >> 10;
    assert!(
        PAGE.contains(&format!("Up to {noise} KiB in front"))
            && PAGE.contains(&format!("After {noise} KiB"))
    );
    let silence = format!("silence limit ({} s unless set otherwise)", SILENCE_LIMIT.as_secs());
    assert!(PAGE.contains(&silence), "{silence}");
    let hellos = PAGE.split("\"protocol\":").skip(1).map(|rest| rest.split(',').next().unwrap());
    let hellos: Vec<&str> = hellos.collect();
    let ours = frame::PROTOCOL.to_string();
    assert_eq!(hellos, [&ours, &ours], "as both ends say hello");
}

#[test]
fn the_preamble_is_as_written() {
    let written = PAGE.split("16 bytes `").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    assert_eq!(written, frame::PREAMBLE.escape_ascii().to_string());
}
