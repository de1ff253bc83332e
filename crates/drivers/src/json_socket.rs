//! JSON objects over a Unix socket, one request and its answer at a time, within a time limit: what
//! QEMU's control socket (QMP) and an SPDK target's JSON-RPC have in common. After an error the
//! connection can no longer be used.

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
    /// Nothing between objects.
    Bare,
}

#[derive(Debug)]
pub enum SocketError {
    Closed,
    /// The request could not be sent, or no complete object arrived, within this time.
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
    /// Number of bytes at the start of `received` in which no line ends.
    searched: usize,
    last_id: u64,
}

/// Connects to a Unix socket within a time limit: while the backlog of a stopped process is full,
/// connecting would wait for ever. The limit then holds for each write to the stream, too.
///
/// # Errors
/// If nobody listens there, or no connection is accepted within the limit.
pub(crate) fn connect_within(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let opened = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&opened, sockopt::Timeout::Send, Some(limit))?;
    connect(&opened, &address)?;
    Ok(opened.into())
}

impl JsonSocket {
    /// Connects to a socket. `limit` is the time for connecting and for each call; `longest` is the
    /// number of bytes after which an object that is still incomplete is refused.
    ///
    /// # Errors
    /// If nobody listens there (yet), or no connection is accepted within the limit.
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

    /// Sends a request with an `id` of its own. Returns the first object that is received within
    /// the limit and for which `is_skipped`, given that id and the object, is false.
    ///
    /// # Errors
    /// If no such object comes in time, something other than an object comes, or the connection
    /// closes.
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

    /// Returns the next complete object, whether it arrives in pieces or together with others.
    ///
    /// # Errors
    /// If none is complete before `deadline`, something other than an object comes, or the
    /// connection closes.
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

    /// Returns the first value in `received`, if it is complete, and the number of bytes up to its
    /// end.
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
