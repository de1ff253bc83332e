//! Speaks JSON-RPC 2.0 as SPDK's targets do: bare objects on a Unix socket, one after the other,
//! without a length before them. Every call has a time limit. After any error but a refusal, the
//! connection is of no more use.

use crate::json_socket::{Framing, JsonSocket, SocketError};
use rustix::net::sockopt;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limits how long a call may take. Most take some milliseconds; before a target deletes a
/// controller, it waits until the guest is gone.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Most bytes of a reply. Ten thousand bdevs are described in some 10 MB.
const LONGEST_REPLY: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    #[error("no SPDK target listens on {socket}: {source}")]
    Absent { socket: PathBuf, source: std::io::Error },
    #[error("the SPDK target at {socket} refused {method}: {words} ({code}){}", refusal_hint(.method, .code, .words))]
    Refused {
        socket: PathBuf,
        method: String,
        /// Code of the refusal: a negative errno, or one of JSON-RPC's from -32700 on.
        code: i64,
        words: String,
    },
    /// The reply did not come, or what came is no reply to the call.
    #[error("{}", socket_failure_words(.socket, .method, .cause))]
    Socket { socket: PathBuf, method: String, cause: SocketError },
}

fn socket_failure_words(socket: &Path, method: &str, cause: &SocketError) -> String {
    let socket = socket.display();
    match cause {
        SocketError::Closed => {
            format!("the SPDK target at {socket} closed the connection during {method}")
        }
        SocketError::TimedOut(limit) => format!(
            "the SPDK target at {socket} did not answer {method} within {} s; hint: is it stopped, or do its reactors hang?",
            limit.as_secs()
        ),
        SocketError::Garbled { why, found } => {
            format!(
                "what came from {socket} during {method} is no reply of an SPDK target: {why}: {found:?}"
            )
        }
        SocketError::Io(source) => {
            format!("cannot talk to the SPDK target at {socket} during {method}: {source}")
        }
    }
}

/// Returns what a person could do about a refusal. Some methods give the errno as their code,
/// others only in words.
fn refusal_hint(method: &str, code: &i64, words: &str) -> &'static str {
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
        (-2 | -13, _) => {
            "; hint: the target opens files with its own rights, and in its own mount namespace"
        }
        _ => "",
    }
}

const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Debug)]
pub struct Rpc {
    stream: JsonSocket,
    socket: PathBuf,
}

impl Rpc {
    /// Connects to a target. `limit` is the time for connecting and for each call.
    ///
    /// # Errors
    /// [`RpcError::Absent`] if nobody listens there, or the process that does belongs to neither
    /// this user nor root.
    pub fn connect(socket: &Path, limit: Duration) -> Result<Rpc, RpcError> {
        let absent = |source| RpcError::Absent { socket: socket.to_owned(), source };
        let stream =
            JsonSocket::connect(socket, Framing::Bare, LONGEST_REPLY, limit).map_err(absent)?;
        // A socket of that name may be anybody's, and its owner controls the answers.
        let user = sockopt::socket_peercred(stream.stream())
            .map_err(|errno| absent(errno.into()))?
            .uid
            .as_raw();
        if user != 0 && user != rustix::process::geteuid().as_raw() {
            let why = format!(
                "the process that serves it belongs to user {user}, who is neither you nor root"
            );
            return Err(absent(std::io::Error::new(ErrorKind::PermissionDenied, why)));
        }
        Ok(Rpc { stream, socket: socket.to_owned() })
    }

    /// Returns the pid of the target, if the kernel reports it (not across PID namespaces).
    pub fn process(&self) -> Option<u32> {
        let other = sockopt::socket_peercred(self.stream.stream()).ok()?;
        u32::try_from(other.pid.as_raw_nonzero().get()).ok()
    }

    /// Calls a method and returns its result; `params` is an object, or null for no parameters.
    ///
    /// # Errors
    /// [`RpcError::Refused`] if the target refuses, [`RpcError::Socket`] if no valid reply comes in
    /// time.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let mut request = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        let reply =
            self.stream.call(request, |_, _| false).map_err(|cause| self.failed(method, cause))?;
        self.judge(method, reply)
    }

    fn judge(&self, method: &str, mut reply: Value) -> Result<Value, RpcError> {
        let (whole, id) = (reply.to_string(), self.stream.last_id());
        let wrong =
            |why: &str| Err(self.failed(method, SocketError::garbled(why, whole.as_bytes())));
        // A request that cannot be read at all is answered without an id.
        let to_this =
            reply["id"] == json!(id) || reply["error"].is_object() && reply["id"].is_null();
        if reply["jsonrpc"] != "2.0" {
            return wrong("it is not JSON-RPC 2.0");
        }
        if !to_this {
            return wrong(&format!("it is not to call {id}"));
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

    fn failed(&self, method: &str, cause: SocketError) -> RpcError {
        RpcError::Socket { socket: self.socket.clone(), method: method.into(), cause }
    }
}
