//! QEMU's control socket: commands with a time limit, events kept for whoever asks. One JSON object a line, in both
//! directions. Refuses to go on after anything that is not the protocol.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QmpError {
    /// QEMU ended, or closed the socket.
    #[error("QEMU closed its control socket during {during}")]
    Closed {
        /// The command, or `greeting`.
        during: String,
    },
    /// Nothing came in time.
    #[error("QEMU did not answer {during} within {limit:?}")]
    TimedOut {
        /// The command, or `greeting`.
        during: String,
        /// The limit.
        limit: Duration,
    },
    /// Something came that is not QMP.
    #[error("what came from QEMU's control socket during {during} is not QMP: {why}: {found:?}")]
    Garbled {
        /// The command, or `greeting`.
        during: String,
        /// What is wrong with it.
        why: String,
        /// Its first 200 bytes.
        found: String,
    },
    /// QEMU's own refusal.
    #[error("QEMU refused {command}: {description}")]
    Refused {
        /// The command.
        command: String,
        /// `GenericError`, `CommandNotFound`, ...
        class: String,
        /// QEMU's words.
        description: String,
    },
    /// The socket itself failed.
    #[error("cannot talk to QEMU during {during}: {source}")]
    Io {
        /// The command, or `greeting`.
        during: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// Something that happened to the guest.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `SHUTDOWN`, `VSERPORT_CHANGE`, ...
    pub name: String,
    /// Its data; null when it has none.
    pub data: Value,
}

/// A connection after its greeting.
#[derive(Debug)]
pub struct Qmp {
    stream: UnixStream,
    buffer: Vec<u8>,
    events: VecDeque<Event>,
    next_id: u64,
    limit: Duration,
}

/// The longest answer, query-qmp-schema, has some 300 kB.
const LONGEST_LINE: usize = 8 << 20;

impl Qmp {
    /// Connects and negotiates. Every later command has the same limit.
    ///
    /// # Errors
    /// [`QmpError`]; `Io` with `NotFound` or `ConnectionRefused` when no QEMU listens there (yet).
    pub fn connect(path: &Path, limit: Duration) -> Result<Qmp, QmpError> {
        let stream =
            UnixStream::connect(path).map_err(|source| QmpError::Io { during: "connect".into(), source })?;
        Qmp::greet(stream, limit)
    }

    /// Negotiates on a stream that is connected already.
    ///
    /// # Errors
    /// [`QmpError`].
    pub fn greet(stream: UnixStream, limit: Duration) -> Result<Qmp, QmpError> {
        let (buffer, events) = (Vec::new(), VecDeque::new());
        let mut qmp = Qmp { stream, buffer, events, next_id: 1, limit };
        let greeting = qmp.message("greeting", Instant::now() + limit)?;
        if greeting.get("QMP").is_none() {
            return Err(garbled("greeting", "no QMP banner", greeting.to_string().as_bytes()));
        }
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Executes a command and returns what it returns. `arguments` is an object, or null for none.
    ///
    /// # Errors
    /// [`QmpError`]. After anything but `Refused` the connection is of no more use.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({"execute": command, "id": id});
        if !arguments.is_null() {
            request["arguments"] = arguments;
        }
        let deadline = Instant::now() + self.limit;
        self.send(command, &request)?;
        loop {
            let message = self.message(command, deadline)?;
            if self.keep_event(&message) {
                continue;
            }
            // An answer to a command that had timed out, or an error without an id (QEMU could not read us).
            if message.get("id").is_some_and(|own| *own != json!(id)) {
                continue;
            }
            return answer(command, message);
        }
    }

    /// The next event, kept or fresh; `None` when the limit is over.
    ///
    /// # Errors
    /// [`QmpError`], `Closed` above all: QEMU has ended.
    pub fn next_event(&mut self, limit: Duration) -> Result<Option<Event>, QmpError> {
        let deadline = Instant::now() + limit;
        while self.events.is_empty() {
            match self.message("waiting for an event", deadline) {
                Ok(message) => drop(self.keep_event(&message)),
                Err(QmpError::TimedOut { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(self.events.pop_front())
    }

    fn send(&mut self, during: &str, request: &Value) -> Result<(), QmpError> {
        let sent = self
            .stream
            .set_write_timeout(Some(self.limit))
            .and_then(|()| self.stream.write_all(format!("{request}\n").as_bytes()));
        sent.map_err(|source| match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => QmpError::Closed { during: during.into() },
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                QmpError::TimedOut { during: during.into(), limit: self.limit }
            }
            _ => QmpError::Io { during: during.into(), source },
        })
    }

    fn keep_event(&mut self, message: &Value) -> bool {
        let Some(name) = message.get("event").and_then(Value::as_str) else {
            return false;
        };
        let data = message.get("data").cloned().unwrap_or(Value::Null);
        self.events.push_back(Event { name: name.to_owned(), data });
        true
    }

    fn message(&mut self, during: &str, deadline: Instant) -> Result<Value, QmpError> {
        let line = self.line(during, deadline)?;
        let message: Value =
            serde_json::from_slice(&line).map_err(|error| garbled(during, &error.to_string(), &line))?;
        if message.is_object() { Ok(message) } else { Err(garbled(during, "not an object", &line)) }
    }

    fn line(&mut self, during: &str, deadline: Instant) -> Result<Vec<u8>, QmpError> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(self.buffer.drain(..=searched + end).collect());
            }
            searched = self.buffer.len();
            if searched > LONGEST_LINE {
                return Err(garbled(during, "a line without end", &self.buffer));
            }
            self.fill(during, deadline)?;
        }
    }

    fn fill(&mut self, during: &str, deadline: Instant) -> Result<(), QmpError> {
        let timed_out = || QmpError::TimedOut { during: during.into(), limit: self.limit };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out());
        }
        let mut chunk = [0; 16 << 10];
        let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(&mut chunk));
        match read {
            Ok(0) => Err(QmpError::Closed { during: during.into() }),
            Ok(bytes) => {
                self.buffer.extend_from_slice(&chunk[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(timed_out())
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                Err(QmpError::Closed { during: during.into() })
            }
            Err(source) => Err(QmpError::Io { during: during.into(), source }),
        }
    }
}

fn answer(command: &str, mut message: Value) -> Result<Value, QmpError> {
    if let Some(error) = message.get("error") {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("(no words)").to_owned();
        return Err(QmpError::Refused {
            command: command.into(),
            class: text("class"),
            description: text("desc"),
        });
    }
    match message.get_mut("return") {
        Some(value) => Ok(value.take()),
        None => Err(garbled(command, "neither an answer nor an event", message.to_string().as_bytes())),
    }
}

fn garbled(during: &str, why: &str, found: &[u8]) -> QmpError {
    let found = String::from_utf8_lossy(&found[..found.len().min(200)]).trim_end().to_owned();
    QmpError::Garbled { during: during.into(), why: why.into(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREETING: &str =
        r#"{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}, "capabilities": ["oob"]}}"#;
    const LIMIT: Duration = Duration::from_millis(300);

    /// A peer that says each line as soon as a line has come in, the first at once; then it hangs up or
    /// stays silent.
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
        let status = format!("{event}\n{late}\n{}", r#"{"return": {"status": "running"}, "id": 2}"#);
        let refused = r#"{"id": 3, "error": {"class": "CommandNotFound", "desc": "The command none has not been found"}}"#;
        let lines = [GREETING, r#"{"return": {}, "id": 1}"#, &status, refused, r#"{"event": "STOP"}"#];
        let mut qmp = Qmp::greet(peer(&lines, false), LIMIT).unwrap();
        assert_eq!(qmp.execute("query-status", Value::Null).unwrap()["status"], "running");
        let failure = qmp.execute("none", json!({"a": 1})).unwrap_err();
        assert_eq!(failure.to_string(), "QEMU refused none: The command none has not been found");
        let event = qmp.next_event(Duration::ZERO).unwrap().unwrap();
        assert_eq!((event.name.as_str(), &event.data["open"]), ("VSERPORT_CHANGE", &json!(true)));
        qmp.send("nothing", &Value::Null).unwrap();
        assert_eq!(qmp.next_event(LIMIT).unwrap(), Some(Event { name: "STOP".into(), data: Value::Null }));
        assert_eq!(qmp.next_event(Duration::from_millis(20)).unwrap(), None);
    }

    #[test]
    fn a_peer_that_is_not_qemu() {
        let told = |lines: &[&str], hang_up| Qmp::greet(peer(lines, hang_up), LIMIT).unwrap_err().to_string();
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
        let writer = std::thread::spawn(move || while theirs.write_all(&[b'x'; 1 << 16]).is_ok() {});
        let failure = Qmp::greet(ours, Duration::from_secs(20)).unwrap_err();
        assert!(
            matches!(&failure, QmpError::Garbled { why, found, .. } if why == "a line without end" && found.len() == 200)
        );
        writer.join().unwrap();
    }

    #[test]
    fn nobody_listens() {
        let directory = tempfile::tempdir().unwrap();
        let failure = Qmp::connect(&directory.path().join("qmp"), LIMIT).unwrap_err();
        assert!(matches!(failure, QmpError::Io { source, .. } if source.kind() == ErrorKind::NotFound));
    }
}
