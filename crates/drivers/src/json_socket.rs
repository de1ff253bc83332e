//! Objects of JSON over a Unix socket, a request and its answer at a time, within a time limit:
//! what QEMU's control socket (QMP) and an SPDK target's JSON-RPC have in common. After anything
//! but an answer the connection is of no more use.

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use serde_json::{Value, json};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Separator between objects on the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Lines,
    /// Puts nothing between objects.
    Bare,
}

#[derive(Debug)]
pub enum SocketError {
    Closed,
    /// Reports that nothing, or not all of it, came within that time.
    TimedOut(Duration),
    Garbled {
        why: String,
        /// First 200 bytes of what came.
        found: String,
    },
    Io(io::Error),
}

impl SocketError {
    pub fn garbled(why: impl Into<String>, found: &[u8]) -> SocketError {
        let found = String::from_utf8_lossy(&found[..found.len().min(200)]).into_owned();
        SocketError::Garbled { why: why.into(), found }
    }

    fn from_io(source: io::Error, limit: Duration) -> SocketError {
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => SocketError::Closed,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => SocketError::TimedOut(limit),
            _ => SocketError::Io(source),
        }
    }
}

#[derive(Debug)]
pub struct JsonSocket {
    stream: UnixStream,
    framing: Framing,
    longest: usize,
    limit: Duration,
    received: Vec<u8>,
    /// Number of received bytes that are known to have no end of a line.
    searched: usize,
    last_id: u64,
}

/// Connects to a Unix socket: a stopped process may have a full backlog, and connecting then waits
/// for ever.
///
/// # Errors
/// When nobody listens there, or takes no connection within the limit.
pub(crate) fn connect_within(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let opened = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&opened, sockopt::Timeout::Send, Some(limit))?;
    connect(&opened, &address)?;
    Ok(opened.into())
}

impl JsonSocket {
    /// Connects, with the limit on that too.
    ///
    /// # Errors
    /// When nobody listens there (yet).
    pub fn connect(
        path: &Path,
        framing: Framing,
        longest: usize,
        limit: Duration,
    ) -> io::Result<JsonSocket> {
        Ok(JsonSocket::from_stream(connect_within(path, limit)?, framing, longest, limit))
    }

    pub fn from_stream(
        stream: UnixStream,
        framing: Framing,
        longest: usize,
        limit: Duration,
    ) -> JsonSocket {
        JsonSocket {
            stream,
            framing,
            longest,
            limit,
            received: Vec::new(),
            searched: 0,
            last_id: 0,
        }
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    pub fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Sends a request with an id of its own and returns the first object that is not to be
    /// skipped, within the limit.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn call(
        &mut self,
        mut request: Value,
        mut is_skipped: impl FnMut(u64, &Value) -> bool,
    ) -> Result<Value, SocketError> {
        self.last_id += 1;
        request["id"] = json!(self.last_id);
        let deadline = Instant::now() + self.limit;
        self.send(&request)?;
        loop {
            let object = self.next(deadline)?;
            if !is_skipped(self.last_id, &object) {
                return Ok(object);
            }
        }
    }

    pub fn send(&mut self, object: &Value) -> Result<(), SocketError> {
        let end = if self.framing == Framing::Lines { "\n" } else { "" };
        let sent = self.stream.set_write_timeout(Some(self.limit));
        let sent = sent.and_then(|()| self.stream.write_all(format!("{object}{end}").as_bytes()));
        sent.map_err(|source| SocketError::from_io(source, self.limit))
    }

    /// Returns the next whole object, however it was cut up or run together with others.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn next(&mut self, deadline: Instant) -> Result<Value, SocketError> {
        loop {
            if let Some((object, end)) = self.first()? {
                let bytes: Vec<u8> = self.received.drain(..end).collect();
                self.searched = 0;
                return match object.is_object() {
                    true => Ok(object),
                    false => Err(SocketError::garbled("not an object", bytes.trim_ascii())),
                };
            }
            self.receive(deadline)?;
        }
    }

    /// Returns the first object of what was received, if it is whole, and its bytes.
    fn first(&mut self) -> Result<Option<(Value, usize)>, SocketError> {
        let is_too_long = self.received.len() > self.longest;
        if self.framing == Framing::Bare {
            let mut objects =
                serde_json::Deserializer::from_slice(&self.received).into_iter::<Value>();
            return match objects.next() {
                None => Ok(None),
                Some(Ok(object)) => Ok(Some((object, objects.byte_offset()))),
                Some(Err(error)) if error.is_eof() && !is_too_long => Ok(None),
                Some(Err(error)) => Err(SocketError::garbled(error.to_string(), &self.received)),
            };
        }
        let Some(end) = self.received[self.searched..].iter().position(|byte| *byte == b'\n')
        else {
            self.searched = self.received.len();
            return match is_too_long {
                true => Err(SocketError::garbled("a line without end", &self.received)),
                false => Ok(None),
            };
        };
        let end = self.searched + end + 1;
        let line = self.received[..end].trim_ascii();
        match serde_json::from_slice(line) {
            Ok(object) => Ok(Some((object, end))),
            Err(error) => Err(SocketError::garbled(error.to_string(), line)),
        }
    }

    fn receive(&mut self, deadline: Instant) -> Result<(), SocketError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SocketError::TimedOut(self.limit));
        }
        let mut chunk = [0; 64 << 10];
        let read =
            self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(&mut chunk));
        match read {
            Ok(0) => Err(SocketError::Closed),
            Ok(bytes) => {
                self.received.extend_from_slice(&chunk[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(source) => Err(SocketError::from_io(source, self.limit)),
        }
    }
}
