//! QEMU's control socket (QMP): commands with a time limit, and events, which are kept until they
//! are read. Each line in either direction is a JSON object. Anything that is not the protocol is
//! an error.

use iotax_drivers::json_socket::{Framing, JsonSocket, SocketError};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
pub enum QmpError {
    #[error("QEMU refused {command}: {description}")]
    Refused { command: String, class: String, description: String },
    #[error("{}", qmp_error_words(.during, .cause))]
    Socket { during: String, cause: SocketError },
}

impl QmpError {
    fn during(during: &str) -> impl Fn(SocketError) -> QmpError {
        move |cause| QmpError::Socket { during: during.into(), cause }
    }

    /// Returns true if QEMU closed the socket, which it does when it ends.
    pub fn is_closed(&self) -> bool {
        matches!(self, QmpError::Socket { cause: SocketError::Closed, .. })
    }
}

fn qmp_error_words(during: &str, cause: &SocketError) -> String {
    match cause {
        SocketError::Closed => format!("QEMU closed its control socket during {during}"),
        SocketError::TimedOut(limit) => format!("QEMU did not answer {during} within {limit:?}"),
        SocketError::Garbled { why, found } => {
            format!(
                "what came from QEMU's control socket during {during} is not QMP: {why}: {found:?}"
            )
        }
        SocketError::Io(source) => format!("cannot talk to QEMU during {during}: {source}"),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct QmpEvent {
    pub name: String,
    /// Data of the event; null if it has none.
    pub data: Value,
}

/// Connection to QEMU's control socket, ready for commands.
#[derive(Debug)]
pub struct Qmp {
    socket: JsonSocket,
    events: VecDeque<QmpEvent>,
}

/// Largest length of an answer in bytes. The longest known one, to query-qmp-schema, has some 300
/// kB.
const LONGEST_LINE: usize = 8 << 20;

impl Qmp {
    /// Connects to the control socket at `path` and negotiates. Every later command has the same
    /// time limit.
    ///
    /// # Errors
    /// [`QmpError`]. It has `Io` with `NotFound` or `ConnectionRefused` if no QEMU listens there
    /// (yet).
    pub fn connect(path: &Path, limit: Duration) -> Result<Qmp, QmpError> {
        let socket = JsonSocket::connect(path, Framing::Lines, LONGEST_LINE, limit);
        Qmp::negotiate(socket.map_err(SocketError::Io).map_err(QmpError::during("connect"))?, limit)
    }

    pub fn greet(stream: UnixStream, limit: Duration) -> Result<Qmp, QmpError> {
        Qmp::negotiate(JsonSocket::from_stream(stream, Framing::Lines, LONGEST_LINE, limit), limit)
    }

    fn negotiate(socket: JsonSocket, limit: Duration) -> Result<Qmp, QmpError> {
        let mut qmp = Qmp { socket, events: VecDeque::new() };
        let greeting =
            qmp.socket.next(Instant::now() + limit).map_err(QmpError::during("greeting"))?;
        if greeting.get("QMP").is_none() {
            let garbled = SocketError::garbled("no QMP banner", greeting.to_string().as_bytes());
            return Err(QmpError::during("greeting")(garbled));
        }
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Executes a command and returns QEMU's answer. `arguments` is an object, or null for none.
    ///
    /// # Errors
    /// [`QmpError`]. After any but `Refused`, the connection can no longer be used.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let mut request = json!({"execute": command});
        if !arguments.is_null() {
            request["arguments"] = arguments;
        }
        let events = &mut self.events;
        // An answer to a command that had timed out is not ours; an error without an id is (QEMU
        // could not read us).
        let is_skipped = |id: u64, message: &Value| {
            keep_event(events, message) || message.get("id").is_some_and(|own| *own != json!(id))
        };
        let message = self.socket.call(request, is_skipped).map_err(QmpError::during(command))?;
        answer(command, message)
    }

    /// Returns the oldest event that was not read yet, or the next that arrives. `None` if none
    /// arrives within the limit.
    ///
    /// # Errors
    /// [`QmpError`], usually because QEMU has ended and closed the socket.
    pub fn next_event(&mut self, limit: Duration) -> Result<Option<QmpEvent>, QmpError> {
        let deadline = Instant::now() + limit;
        while self.events.is_empty() {
            match self.socket.next(deadline) {
                Ok(message) => drop(keep_event(&mut self.events, &message)),
                Err(SocketError::TimedOut(_)) => return Ok(None),
                Err(error) => return Err(QmpError::during("waiting for an event")(error)),
            }
        }
        Ok(self.events.pop_front())
    }
}

fn keep_event(events: &mut VecDeque<QmpEvent>, message: &Value) -> bool {
    let Some(name) = message.get("event").and_then(Value::as_str) else {
        return false;
    };
    let data = message.get("data").cloned().unwrap_or(Value::Null);
    events.push_back(QmpEvent { name: name.to_owned(), data });
    true
}

fn answer(command: &str, mut message: Value) -> Result<Value, QmpError> {
    if let Some(error) = message.get("error") {
        let text =
            |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("(no words)").to_owned();
        return Err(QmpError::Refused {
            command: command.into(),
            class: text("class"),
            description: text("desc"),
        });
    }
    match message.get_mut("return") {
        Some(value) => Ok(value.take()),
        None => {
            let found = message.to_string();
            let garbled = SocketError::garbled("neither an answer nor an event", found.as_bytes());
            Err(QmpError::during(command)(garbled))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};

    const GREETING: &str = r#"{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}, "capabilities": ["oob"]}}"#;
    const LIMIT: Duration = Duration::from_millis(300);

    /// A peer that says each line as soon as a line has come in, the first at once; then it hangs
    /// up or stays silent.
    fn peer(lines: &[&str], hang_up: bool) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\r\n")).collect();
        std::thread::spawn(move || {
            let mut reader = std::io::BufReader::new(theirs.try_clone().unwrap());
            let mut writer = theirs;
            for line in lines {
                writer.write_all(line.as_bytes()).unwrap();
                let mut heard = String::new();
                if std::io::BufRead::read_line(&mut reader, &mut heard).unwrap_or(0) == 0 {
                    return;
                }
            }
            if !hang_up {
                std::thread::sleep(10 * LIMIT);
            }
        });
        ours
    }

    #[test]
    fn a_recorded_conversation() {
        let event = r#"{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "VSERPORT_CHANGE", "data": {"open": true, "id": "agent-port"}}"#;
        let late = r#"{"return": {"status": "stale"}, "id": 0}"#;
        let status =
            format!("{event}\n{late}\n{}", r#"{"return": {"status": "running"}, "id": 2}"#);
        let refused = r#"{"id": 3, "error": {"class": "CommandNotFound", "desc": "The command none has not been found"}}"#;
        let lines =
            [GREETING, r#"{"return": {}, "id": 1}"#, &status, refused, r#"{"event": "STOP"}"#];
        let mut qmp = Qmp::greet(peer(&lines, false), LIMIT).unwrap();
        assert_eq!(qmp.execute("query-status", Value::Null).unwrap()["status"], "running");
        let failure = qmp.execute("none", json!({"a": 1})).unwrap_err();
        assert_eq!(failure.to_string(), "QEMU refused none: The command none has not been found");
        let event = qmp.next_event(Duration::ZERO).unwrap().unwrap();
        assert_eq!((event.name.as_str(), &event.data["open"]), ("VSERPORT_CHANGE", &json!(true)));
        qmp.socket.send(&Value::Null).unwrap();
        assert_eq!(
            qmp.next_event(LIMIT).unwrap(),
            Some(QmpEvent { name: "STOP".into(), data: Value::Null })
        );
        assert_eq!(qmp.next_event(Duration::from_millis(20)).unwrap(), None);
    }

    #[test]
    fn a_peer_that_is_not_qemu() {
        let told = |lines: &[&str], hang_up| {
            Qmp::greet(peer(lines, hang_up), LIMIT).unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            [
                told(&["SSH-2.0-OpenSSH_9.2"], false),
                told(&["[1]"], false),
                told(&[r#"{"hello": 1}"#], false),
                told(&[GREETING, "\u{1}\u{2}{"], false),
                told(&[GREETING, r#"{"unrelated": 1}"#], false),
                told(&[], true),
                told(&[], false),
                told(&[GREETING], true),
                told(&[GREETING], false),
            ]
            .join("\n")
        );
    }

    #[test]
    fn a_line_without_end_ends() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let writer =
            std::thread::spawn(move || while theirs.write_all(&[b'x'; 1 << 16]).is_ok() {});
        let failure = Qmp::greet(ours, Duration::from_secs(20)).unwrap_err();
        assert!(
            matches!(&failure, QmpError::Socket { cause: SocketError::Garbled { why, found }, .. }
                if why == "a line without end" && found.len() == 200)
        );
        writer.join().unwrap();
    }

    #[test]
    fn nobody_listens() {
        let directory = tempfile::tempdir().unwrap();
        let failure = Qmp::connect(&directory.path().join("qmp"), LIMIT).unwrap_err();
        let QmpError::Socket { cause: SocketError::Io(source), .. } = failure else {
            panic!("{failure}")
        };
        assert_eq!(source.kind(), ErrorKind::NotFound);
    }
}
