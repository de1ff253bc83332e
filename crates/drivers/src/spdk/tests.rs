//! Tests the client against targets that fragment, hang, refuse and talk nonsense, against one that
//! keeps what it receives, and against the answers of a real one (`recorded.jsonl`).

use super::fake::{FakeTarget, Pieces, reply, serve};
use super::{Rpc, RpcError, SpdkConnection, answers, export, find_export, read_back, unexport};
use crate::json_socket::SocketError;
use crate::path_ref::PathRef;
use crate::refusal::NotOurs;
use crate::spdk::export::{BdevPart, ExportSpdk};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Limit that is long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(20);

/// Returns a folder that is not on a tmpfs, which may refuse O_DIRECT.
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// Returns the result of a call that is answered so.
fn met(
    answer: impl FnMut(&Value) -> Pieces + Send + 'static,
    limit: Duration,
) -> Result<Value, RpcError> {
    let folder = folder();
    let socket = folder.path().join("s");
    serve(&socket, answer);
    Rpc::connect(&socket, limit).unwrap().call("bdev_get_bdevs", json!({"name": "x"}))
}

fn complaint(answer: impl FnMut(&Value) -> Pieces + Send + 'static) -> String {
    let error = met(answer, PATIENT).unwrap_err().to_string();
    // The socket lies in a folder of this test.
    let start = error.find("/var/tmp/").unwrap();
    let end = error[start..].find("/s").unwrap() + start + 2;
    error.replace(&error[start..end], "SOCKET")
}

#[test]
fn a_request_is_a_bare_object_with_an_id_of_its_own() {
    let folder = folder();
    let socket = folder.path().join("s");
    serve(&socket, |request| Some(vec![reply(request, Ok(request.clone()))]));
    let mut rpc = Rpc::connect(&socket, PATIENT).unwrap();
    let first = rpc.call("a", json!({"b": 1})).unwrap();
    assert_eq!(first, json!({"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"b": 1}}));
    assert_eq!(
        rpc.call("c", Value::Null).unwrap(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "c"})
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However a reply is cut up, it is the same; what comes after it in one piece is kept for the
    /// next call.
    #[test]
    fn pieces_make_a_whole(cuts in proptest::collection::vec(0usize..400, 0..6), text in ".{0,40}") {
        let folder = folder();
        let socket = folder.path().join("s");
        let result = json!({"text": text, "list": [1, {"}": "\"{"}]});
        let expected = result.clone();
        serve(&socket, move |request| {
            // The first call's piece has the reply to the second after it, whose own request is
            // not answered.
            if request["id"] == 2 {
                return Some(Vec::new());
            }
            let next = json!({"id": 2});
            let bytes = [reply(request, Ok(result.clone())), reply(&next, Ok(7.into()))].concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % bytes.len()).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            Some(cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect())
        });
        let mut rpc = Rpc::connect(&socket, PATIENT).unwrap();
        prop_assert_eq!(rpc.call("a", Value::Null).unwrap(), expected);
        prop_assert_eq!(rpc.call("b", Value::Null).unwrap(), json!(7));
    }
}

#[test]
fn what_is_no_reply_is_told_in_plain_words() {
    let refused = |code: i64, words: &'static str| {
        complaint(move |request| Some(vec![reply(request, Err((code, words)))]))
    };
    let raw = |text: &'static str| complaint(move |_| Some(vec![text.as_bytes().to_vec()]));
    insta::assert_snapshot!(
        [
            refused(-32601, "Method not found"),
            refused(-17, "File exists"),
            refused(-32602, "Operation not permitted"),
            refused(-13, "Permission denied"),
            refused(-32603, "no words that we know"),
            raw("{\"QMP\": {\"version\": {}}}\r\n"),
            raw("HTTP/1.1 400 Bad Request\r\n"),
            raw(r#"{"jsonrpc":"2.0","id":9,"result":true}"#),
            raw(r#"{"jsonrpc":"2.0","id":1}"#),
            raw(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#),
            complaint(|_| None),
        ]
        .join("\n")
    );
}

#[test]
fn silence_ends_with_the_limit_and_a_half_reply_too() {
    let limit = Duration::from_millis(200);
    for pieces in [Vec::new(), vec![b"{\"jsonrpc\":\"2.0\",\"id\":1,\"res".to_vec()]] {
        let start = Instant::now();
        let error = met(move |_| Some(pieces.clone()), limit).unwrap_err();
        let timed_out = matches!(error, RpcError::Socket { cause: SocketError::TimedOut(_), .. });
        assert!(timed_out, "{error}");
        assert!(start.elapsed() >= limit);
    }
}

#[test]
fn nobody_there_is_told_with_the_cause() {
    let folder = folder();
    let absent = answers(&folder.path().join("s"), &[]).unwrap_err();
    assert!(
        absent.contains("no SPDK target listens on /") && absent.contains("No such file"),
        "{absent}"
    );
    let left = folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    let refused = answers(&left, &[]).unwrap_err();
    assert!(refused.contains("Connection refused"), "{refused}");
}

/// File with a MiB and something after it, a target beside it, and the disk to make.
struct Rig {
    folder: TempDir,
    target: FakeTarget,
    asked: ExportSpdk,
}

fn rig() -> Rig {
    let folder = folder();
    let file = folder.path().join("x.img");
    std::fs::write(&file, vec![0; (1 << 20) + 4096]).unwrap();
    let target = FakeTarget::start(folder.path());
    let asked = ExportSpdk {
        rpc: target.socket.clone(),
        backing: PathRef::Path(file),
        uring: false,
        read_only: true,
        part: Some(BdevPart { at: 0, mib: 1 }),
        cpumask: Some("0x1".into()),
        name: "iotax-r-vm0-0".into(),
    };
    Rig { folder, target, asked }
}

impl Rig {
    fn is_empty(&self) -> bool {
        let state = self.target.state.lock().unwrap();
        state.bdevs.is_empty() && state.controllers.is_empty()
    }
}

#[test]
fn a_disk_is_made_found_read_back_and_taken_away() {
    let rig = rig();
    assert_eq!(find_export(&rig.asked).unwrap(), None);
    let socket = export(&rig.asked).unwrap();
    assert_eq!(socket, rig.folder.path().join("iotax-r-vm0-0"));
    assert_eq!(find_export(&rig.asked).unwrap(), Some(Some(socket)));
    let told = read_back(&rig.target.socket, &rig.asked.name).unwrap();
    let expected = [
        ("bdev", "AIO disk"),
        ("block-size", "512"),
        ("cache.direct", "on"),
        ("read-only", "on"),
        ("server", "SPDK v0.1 made up, polls on core 0"),
    ];
    assert_eq!(told, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    unexport(&rig.asked).unwrap();
    assert!(rig.is_empty());
    // Done already is fine.
    unexport(&rig.asked).unwrap();
    let calls = rig.target.state.lock().unwrap().calls.join("\n");
    let calls = calls.replace(rig.folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!(calls);
}

#[test]
fn a_half_made_disk_is_found_and_taken_away() {
    for without in ["bdev_split_create", "vhost_create_blk_controller"] {
        let rig = rig();
        rig.target.state.lock().unwrap().without.push(without);
        let error = export(&rig.asked).unwrap_err().to_string();
        assert!(error.contains(&format!("refused {without}")), "{error}");
        assert_eq!(find_export(&rig.asked).unwrap(), Some(None));
        unexport(&rig.asked).unwrap();
        assert!(rig.is_empty());
    }
}

#[test]
fn what_is_somebody_elses_is_left_alone() {
    let rig = rig();
    export(&rig.asked).unwrap();
    let other =
        ExportSpdk { backing: PathRef::Path("/srv/theirs.img".into()), ..rig.asked.clone() };
    let error = unexport(&other).unwrap_err();
    assert!(error.downcast_ref::<NotOurs>().is_some(), "{error}");
    rig.target.state.lock().unwrap().controllers.get_mut("iotax-r-vm0-0").unwrap()["backend_specific"]
        ["block"]["bdev"] = "theirs".into();
    let error = unexport(&rig.asked).unwrap_err();
    assert!(error.downcast_ref::<NotOurs>().is_some(), "{error}");
    assert_eq!(rig.target.state.lock().unwrap().controllers.len(), 1);
}

#[test]
fn a_target_that_sees_other_files_is_found_out_before_a_guest_has_them() {
    let rig = rig();
    let other = rig.folder.path().join("other.img");
    std::fs::write(&other, vec![0; 1 << 20]).unwrap();
    rig.target.state.lock().unwrap().opens = Some(other);
    let error = export(&rig.asked).unwrap_err().to_string();
    assert!(
        error.contains("has another file open as") && error.contains("mount namespace"),
        "{error}"
    );
    assert!(rig.target.state.lock().unwrap().controllers.is_empty());
}

#[test]
fn a_target_that_is_gone_has_nothing_left() {
    let rig = rig();
    let gone = ExportSpdk { rpc: rig.folder.path().join("gone"), ..rig.asked.clone() };
    assert_eq!(find_export(&gone).unwrap(), None);
    unexport(&gone).unwrap();
    // A file that exists and is not a target is a different case.
    let file = ExportSpdk { rpc: rig.folder.path().to_owned(), ..rig.asked.clone() };
    assert!(
        find_export(&file).is_ok_and(|found| found.is_none()),
        "connecting to a folder is refused"
    );
}

#[test]
fn what_a_target_lacks_is_named() {
    let rig = rig();
    assert_eq!(answers(&rig.target.socket, &["bdev_aio_create"]), Ok(()));
    rig.target.state.lock().unwrap().without.push("vhost_create_blk_controller");
    let why = answers(&rig.target.socket, &["bdev_uring_create"]).unwrap_err();
    assert!(
        why.contains("(SPDK v0.1 made up) has no vhost_create_blk_controller, bdev_uring_create: "),
        "{why}"
    );
    rig.target.state.lock().unwrap().in_interrupt = true;
    let facts = SpdkConnection::connect(&rig.target.socket).unwrap().facts;
    assert_eq!(
        (facts.polled_processors(), facts.describe_target().as_str()),
        (vec![], "SPDK v0.1 made up, waits for interrupts on core 0")
    );
}

/// Plays a recording: the requests to a real target (its version is in the first line) and its
/// answers, with its folder as FOLDER and a pid that no process has. Fails on any other request.
pub fn play(recording: &str, folder: &Path) -> impl FnMut(&Value) -> Pieces + Send + use<> {
    let text = recording.replace("FOLDER", folder.to_str().unwrap());
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let mut script = text.lines().map(line).collect::<Vec<_>>().into_iter();
    let without_id = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("id");
        value
    };
    move |request| {
        let mut line = script.next().expect("no more was recorded");
        assert_eq!(without_id(request), without_id(&line["request"]));
        line["reply"]["id"] = request["id"].clone();
        Some(vec![line["reply"].to_string().into_bytes()])
    }
}

#[test]
fn a_real_target_was_asked_just_so_and_is_understood() {
    let rig = rig();
    let socket = rig.folder.path().join("recorded.sock");
    serve(&socket, play(include_str!("recorded.jsonl"), rig.folder.path()));
    let asked = ExportSpdk {
        rpc: socket.clone(),
        cpumask: None,
        name: "iotax-recorded".into(),
        ..rig.asked.clone()
    };
    let made: PathBuf = rig.folder.path().join("iotax-recorded");
    std::fs::write(&made, "").unwrap();
    answers(&socket, &["bdev_aio_create"]).unwrap();
    assert_eq!(export(&asked).unwrap(), made);
    let told = read_back(&socket, &asked.name).unwrap();
    assert_eq!((told["read-only"].as_str(), told["bdev"].as_str()), ("on", "AIO disk"));
    assert!(
        told["server"].starts_with("SPDK v") && told["server"].ends_with("polls on core 0"),
        "{told:?}"
    );
    assert_eq!(find_export(&asked).unwrap(), Some(Some(made)));
    unexport(&asked).unwrap();
    assert_eq!(find_export(&asked).unwrap(), None);
}
