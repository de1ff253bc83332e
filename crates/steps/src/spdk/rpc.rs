//! JSON-RPC 2.0 as SPDK's targets speak it: bare objects on a Unix socket, one behind the other with nothing before them that
//! tells their length. Every call has a time limit; after anything but a refusal the connection is of no more use.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a target listens unless it is told otherwise.
pub const USUAL_SOCKET: &str = "/var/tmp/spdk.sock";
/// Most calls take some milliseconds; to delete a controller a target first waits until its guest is gone.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Ten thousand bdevs are described in some 10 MB.
const LONGEST_REPLY: usize = 64 << 20;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// Nobody is there.
    #[error("no SPDK target listens on {socket}: {source}")]
    Absent {
        /// Of the target.
        socket: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The target ended, or could not read what it got.
    #[error("the SPDK target behind {socket} closed the connection during {method}")]
    Closed {
        /// Of the target.
        socket: PathBuf,
        /// What was called.
        method: String,
    },
    /// Nothing, or not all of it, came in time.
    #[error("the SPDK target behind {socket} did not answer {method} within {} s; hint: is it stopped, or do its reactors hang?", .limit.as_secs())]
    TimedOut {
        /// Of the target.
        socket: PathBuf,
        /// What was called.
        method: String,
        /// The limit.
        limit: Duration,
    },
    /// Something else than a reply to the call.
    #[error("what came from {socket} during {method} is no reply of an SPDK target: {why}: {found:?}")]
    Garbled {
        /// Of the target, if it is one.
        socket: PathBuf,
        /// What was called.
        method: String,
        /// What is wrong with it.
        why: String,
        /// Its first 200 bytes.
        found: String,
    },
    /// The target's own refusal.
    #[error("the SPDK target behind {socket} refused {method}: {words} ({code}){}", hint(.method, .code, .words))]
    Refused {
        /// Of the target.
        socket: PathBuf,
        /// What was called.
        method: String,
        /// A negative errno, or one of JSON-RPC's from -32700 on.
        code: i64,
        /// The target's words.
        words: String,
    },
    /// The socket itself failed.
    #[error("cannot talk to the SPDK target behind {socket} during {method}: {source}")]
    Io {
        /// Of the target.
        socket: PathBuf,
        /// What was called.
        method: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// What a person could do about a refusal. Some methods give the errno as their code, others in words only.
fn hint(method: &str, code: &i64, words: &str) -> &'static str {
    match (*code, words) {
        (METHOD_NOT_FOUND, _) => "; hint: its SPDK is too old for that, or was built without it",
        (-17, _) | (_, "File exists") => "; hint: it already has something of that name",
        (-32700, _) if method == "bdev_raid_create" => {
            "; hint: its SPDK has no such RAID level: raid5f is built in by ./configure --with-raid5f"
        }
        (-22, _) if method == "bdev_raid_create" => {
            "; hint: members have one block size, and strips are whole blocks"
        }
        (-32602, _) if method == "nvmf_subsystem_add_listener" => {
            "; hint: the address is one of the target's own host, and nobody else listens on that port there"
        }
        (-32602, _) if method == "nvmf_create_transport" => {
            "; hint: its SPDK was built without that transport (RDMA: ./configure --with-rdma)"
        }
        (-1, _) | (_, "Operation not permitted") if method != "bdev_aio_create" => {
            "; hint: something in the target has claimed the bdev: it found partitions, an lvstore or a RAID superblock on it"
        }
        (_, "Invalid argument") if method == "vhost_create_blk_controller" => {
            "; hint: cpumask is of reactors that the target has"
        }
        (-2 | -13, _) => "; hint: the target opens files with its own rights, and in its own mount namespace",
        _ => "",
    }
}

/// JSON-RPC's code for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// A connection to a target.
#[derive(Debug)]
pub struct Rpc {
    stream: UnixStream,
    socket: PathBuf,
    received: Vec<u8>,
    last_id: u64,
    limit: Duration,
}

impl Rpc {
    /// Connects; every call has the same limit.
    ///
    /// # Errors
    /// [`RpcError::Absent`] when nobody listens there.
    pub fn connect(socket: &Path, limit: Duration) -> Result<Rpc, RpcError> {
        let absent = |source| RpcError::Absent { socket: socket.to_owned(), source };
        let stream = open(socket, limit).map_err(|errno| absent(errno.into()))?;
        // A socket of that name may be anybody's, and what is said there is done.
        let user = sockopt::socket_peercred(&stream).map_err(|errno| absent(errno.into()))?.uid.as_raw();
        if user != 0 && user != rustix::process::geteuid().as_raw() {
            let why = format!("the process behind it is of user {user}, who is neither you nor root");
            return Err(absent(std::io::Error::new(ErrorKind::PermissionDenied, why)));
        }
        Ok(Rpc { stream, socket: socket.to_owned(), received: Vec::new(), last_id: 0, limit })
    }

    /// The process at the other end, where the kernel tells it (not across PID namespaces).
    pub fn process(&self) -> Option<u32> {
        let other = sockopt::socket_peercred(&self.stream).ok()?;
        u32::try_from(other.pid.as_raw_nonzero().get()).ok()
    }

    /// Calls a method and gives its result; `params` is an object, or null for none.
    ///
    /// # Errors
    /// [`RpcError`].
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.last_id += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        let deadline = Instant::now() + self.limit;
        self.send(method, &request)?;
        let reply = self.reply(method, deadline)?;
        self.judge(method, reply)
    }

    fn send(&mut self, method: &str, request: &Value) -> Result<(), RpcError> {
        let sent = self
            .stream
            .set_write_timeout(Some(self.limit))
            .and_then(|()| self.stream.write_all(request.to_string().as_bytes()));
        sent.map_err(|source| self.broken(method, source))
    }

    /// The next whole object, however it was cut up or run together with others.
    fn reply(&mut self, method: &str, deadline: Instant) -> Result<Value, RpcError> {
        loop {
            if let Some(reply) = self.take(method)? {
                return Ok(reply);
            }
            self.receive(method, deadline)?;
        }
    }

    fn take(&mut self, method: &str) -> Result<Option<Value>, RpcError> {
        let mut values = serde_json::Deserializer::from_slice(&self.received).into_iter::<Value>();
        match values.next() {
            None => Ok(None),
            Some(Err(error)) if error.is_eof() && self.received.len() <= LONGEST_REPLY => Ok(None),
            Some(Err(error)) => Err(self.garbled(method, error.to_string(), &self.received)),
            Some(Ok(value)) => {
                let end = values.byte_offset();
                self.received.drain(..end);
                Ok(Some(value))
            }
        }
    }

    fn receive(&mut self, method: &str, deadline: Instant) -> Result<(), RpcError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.timed_out(method));
        }
        let mut chunk = [0; 64 << 10];
        let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(&mut chunk));
        match read {
            Ok(0) => Err(self.closed(method)),
            Ok(bytes) => {
                self.received.extend_from_slice(&chunk[..bytes]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(source) => Err(self.broken(method, source)),
        }
    }

    fn judge(&self, method: &str, mut reply: Value) -> Result<Value, RpcError> {
        let whole = reply.to_string();
        let wrong = |why: &str| Err(self.garbled(method, why.to_owned(), whole.as_bytes()));
        // What cannot be read at all is answered without an id.
        let to_this =
            reply["id"] == json!(self.last_id) || reply["error"].is_object() && reply["id"].is_null();
        if reply["jsonrpc"] != "2.0" {
            return wrong("it is not JSON-RPC 2.0");
        }
        if !to_this {
            return wrong(&format!("it is not to call {}", self.last_id));
        }
        if let Some(error) = reply.get("error") {
            let code = error["code"].as_i64().unwrap_or_default();
            let words = error["message"].as_str().unwrap_or("(no words)").to_owned();
            return Err(RpcError::Refused {
                socket: self.socket.clone(),
                method: method.into(),
                code,
                words,
            });
        }
        match reply.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => wrong("it has neither a result nor an error"),
        }
    }

    fn broken(&self, method: &str, source: std::io::Error) -> RpcError {
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => self.closed(method),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.timed_out(method),
            _ => RpcError::Io { socket: self.socket.clone(), method: method.into(), source },
        }
    }

    fn closed(&self, method: &str) -> RpcError {
        RpcError::Closed { socket: self.socket.clone(), method: method.into() }
    }

    fn timed_out(&self, method: &str) -> RpcError {
        RpcError::TimedOut { socket: self.socket.clone(), method: method.into(), limit: self.limit }
    }

    fn garbled(&self, method: &str, why: String, found: &[u8]) -> RpcError {
        let found = String::from_utf8_lossy(&found[..found.len().min(200)]).into_owned();
        RpcError::Garbled { socket: self.socket.clone(), method: method.into(), why, found }
    }
}

/// With the limit on connecting too: a target that is stopped may have a full backlog, and connecting then waits for ever.
fn open(socket: &Path, limit: Duration) -> rustix::io::Result<UnixStream> {
    let address = SocketAddrUnix::new(socket)?;
    let opened = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&opened, sockopt::Timeout::Send, Some(limit))?;
    connect(&opened, &address)?;
    Ok(opened.into())
}
