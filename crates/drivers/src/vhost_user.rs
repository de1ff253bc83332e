//! Questions to a vhost-user socket about what it serves: the few messages by which QEMU asks a
//! disk of vhost-user-blk for its size, sent without a guest's memory, so that nothing is read or
//! written. The process that listens there is trusted no further than that.

use crate::json_socket::connect_within;
use crate::process::ProcessId;
use crate::tool::nobody_else_can_write;
use anyhow::{Context, Result, bail, ensure};

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VhostDisk {
    pub bytes: u64,
    /// Most queues that the disk can have; `None` if the server does not report that.
    pub queues: Option<u64>,
}

/// Time limit of an answer: a server that has another guest, or hangs, does not answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// Version of the protocol, in the flags of a header.
const VERSION: u32 = 1;
/// Flag of a header that marks an answer.
const ANSWER: u32 = 1 << 2;
/// Feature bit: the server has protocol features.
const HAS_PROTOCOL_FEATURES: u64 = 1 << 30;
/// Protocol feature bit: the disk has several queues.
const QUEUES: u64 = 1 << 0;
/// Protocol feature bit: the server answers requests for the disk's configuration.
const CONFIG: u64 = 1 << 9;
const GET_FEATURES: u32 = 1;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const GET_QUEUE_NUM: u32 = 17;
const GET_CONFIG: u32 = 24;
/// Bytes that follow the header of GET_CONFIG: offset, size and flags, before the bytes themselves.
const BEFORE_CONFIG: usize = 12;
/// Unit of the disk's size, in bytes, whatever its block size is.
const SECTOR: u64 = 512;

/// Asks the server at a socket for the size and the queues of the disk that it serves.
///
/// # Errors
/// If there is no socket, another user could have put it there, no process listens on it, or the
/// answer is not that of a vhost-user-blk disk.
pub fn query_socket(path: &Path) -> Result<VhostDisk> {
    is_safe(path)?;
    let stream = connect(path)?;
    talk(stream)
        .with_context(|| format!("{} does not answer as a disk of vhost-user-blk", path.display()))
}

/// Returns the sockets of the vhost-user disks in a QEMU's command line. Leaves out those on which
/// no process listens in this network namespace.
pub fn watched(qemu: &ProcessId) -> Vec<PathBuf> {
    let line = fs::read(format!("/proc/{}/cmdline", qemu.pid)).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    let disks = line
        .split('\0')
        .filter_map(|word| word.strip_prefix("socket,id=disk")?.split_once(",path="));
    let paths: Vec<PathBuf> =
        disks.map(|(_, path)| PathBuf::from(path.replace(",,", ","))).collect();
    let listening = listening();
    paths.into_iter().filter(|path| listening.contains_key(path)).collect()
}

/// Returns the pid of a process that has the listening socket at a path open; `None` if none is
/// visible. Makes no connection.
pub fn server(path: &Path) -> Option<u32> {
    let socket = PathBuf::from(format!("socket:[{}]", listening().get(path)?));
    let listens = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|what| what == socket))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(listens)
}

/// Describes, in a clause, the first of these sockets on which no process listens any more; `None`
/// if there is none. Makes no connection, which the server of a disk would notice.
pub fn describe_lost_sockets(watched: &[PathBuf]) -> Option<String> {
    let listening = if watched.is_empty() { BTreeMap::new() } else { listening() };
    let gone = watched.iter().find(|path| !listening.contains_key(*path))?;
    Some(format!(
        "no process listens on {} any more: the server of the guest's disk has ended",
        gone.display()
    ))
}

/// Returns the paths of the Unix sockets that take connections, with the inode of each.
fn listening() -> BTreeMap<PathBuf, String> {
    const ACCEPTS: u32 = 1 << 16;
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let path = |line: &str| {
        let (fields, path) = line.split_once(" /")?;
        let mut fields = fields.split_whitespace().skip(3);
        let flags = u32::from_str_radix(fields.next()?, 16).ok()?;
        let inode = fields.nth(2)?.to_owned();
        (flags & ACCEPTS != 0).then(|| (PathBuf::from(format!("/{path}")), inode))
    };
    table.lines().filter_map(path).collect()
}

fn connect(path: &Path) -> Result<UnixStream> {
    connect_within(path, ANSWERS_WITHIN).map_err(|error| {
        let shown = path.display();
        match error.kind() {
            ErrorKind::ConnectionRefused => anyhow::anyhow!("no process listens on {shown}"),
            ErrorKind::NotFound => anyhow::anyhow!("there is no {shown}"),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => anyhow::anyhow!(
                "{shown} accepts no connection within {} s: another guest may use it",
                ANSWERS_WITHIN.as_secs()
            ),
            _ => anyhow::Error::new(error).context(format!("cannot connect to {shown}")),
        }
    })
}

/// Checks that it is a socket, and that only root or this user can have put it there.
fn is_safe(path: &Path) -> Result<()> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no {}", path.display())
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot look at {}", path.display()));
        }
    };
    let meta = fs::metadata(&real).with_context(|| format!("cannot look at {}", real.display()))?;
    ensure!(meta.file_type().is_socket(), "{} is not a socket", path.display());
    nobody_else_can_write(path, "is not used", "put a socket there")
}

fn talk(mut stream: UnixStream) -> Result<VhostDisk> {
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
    let features = number(&mut stream, GET_FEATURES)?;
    ensure!(features & HAS_PROTOCOL_FEATURES != 0, "it has no protocol features");
    let offered = number(&mut stream, GET_PROTOCOL_FEATURES)?;
    ensure!(offered & CONFIG != 0, "it does not offer its disk's configuration");
    send(&mut stream, SET_PROTOCOL_FEATURES, &(offered & (CONFIG | QUEUES)).to_le_bytes())?;
    let queues =
        if offered & QUEUES == 0 { None } else { Some(number(&mut stream, GET_QUEUE_NUM)?) };
    // The first field of a disk's configuration is its number of sectors.
    let mut asked = vec![0; BEFORE_CONFIG + 8];
    asked[4..8].copy_from_slice(&8_u32.to_le_bytes());
    send(&mut stream, GET_CONFIG, &asked)?;
    let config = receive(&mut stream, GET_CONFIG)?;
    let sectors = config.get(BEFORE_CONFIG..BEFORE_CONFIG + 8).context("it reports no size")?;
    let sectors = u64::from_le_bytes(sectors.try_into()?);
    let bytes = sectors.checked_mul(SECTOR).filter(|bytes| *bytes > 0);
    Ok(VhostDisk {
        bytes: bytes.with_context(|| format!("it reports a size of {sectors} sectors"))?,
        queues,
    })
}

fn number(stream: &mut UnixStream, request: u32) -> Result<u64> {
    send(stream, request, &[])?;
    let answer = receive(stream, request)?;
    let bytes =
        answer.get(..8).with_context(|| format!("its answer to request {request} is short"))?;
    Ok(u64::from_le_bytes(bytes.try_into()?))
}

fn send(stream: &mut UnixStream, request: u32, payload: &[u8]) -> Result<()> {
    let header = [request, VERSION, payload.len() as u32].map(u32::to_le_bytes).concat();
    stream.write_all(&[&header, payload].concat()).map_err(|error| explain_socket_error(&error))
}

fn receive(stream: &mut UnixStream, request: u32) -> Result<Vec<u8>> {
    let mut header = [0; 12];
    stream.read_exact(&mut header).map_err(|error| explain_socket_error(&error))?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (answered, flags, size) = (word(0), word(4), word(8) as usize);
    ensure!(
        answered == request && flags & 3 == VERSION && flags & ANSWER != 0 && size <= 4096,
        "it does not speak vhost-user: {:?} came instead of an answer",
        String::from_utf8_lossy(&header)
    );
    let mut payload = vec![0; size];
    stream.read_exact(&mut payload).map_err(|error| explain_socket_error(&error))?;
    Ok(payload)
}

fn explain_socket_error(error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            anyhow::anyhow!("it closed the connection")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            anyhow::anyhow!(
                "no answer came within {} s: another guest may use it",
                ANSWERS_WITHIN.as_secs()
            )
        }
        _ => anyhow::anyhow!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::thread;

    /// What is said of a socket whose server answers the first request with these bytes.
    fn told_of(answer: &'static [u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
            stream.write_all(answer).unwrap();
        });
        let told = query_socket(&path).unwrap_err();
        server.join().unwrap();
        format!("{told:#}")
    }

    #[test]
    fn what_is_no_socket_of_vhost_user_is_named_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| format!("{:#}", query_socket(path).unwrap_err());
        let path = folder.path().join("x");
        assert!(refused(&path).starts_with("there is no /"));
        fs::write(&path, "").unwrap();
        assert!(refused(&path).ends_with("is not a socket"));
        fs::remove_file(&path).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        assert!(refused(&path).starts_with("no process listens on /"));
        let _listener = UnixListener::bind(folder.path().join("y")).unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(
            refused(&folder.path().join("y"))
                .contains("another user could have put a socket there")
        );
    }

    #[test]
    fn a_socket_is_watched_as_long_as_somebody_listens_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x"), folder.path().join("y"));
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(describe_lost_sockets(std::slice::from_ref(&path)), None);
        assert_eq!((server(&path), server(&other)), (Some(std::process::id()), None));
        drop(listener);
        assert_eq!(server(&path), None);
        let why = describe_lost_sockets(&[path.clone(), other]).unwrap();
        assert!(
            why.starts_with(&format!("no process listens on {} any more", path.display())),
            "{why}"
        );
    }

    #[test]
    fn who_speaks_something_else_is_not_taken_for_a_disk() {
        assert!(
            told_of(b"HTTP/1.1 400 Bad Request\r\n")
                .contains("it does not speak vhost-user: \"HTTP")
        );
        assert!(told_of(b"").ends_with("it closed the connection"));
        let empty = [1_u32, VERSION | ANSWER, 8, 0, 0].map(u32::to_le_bytes).concat();
        assert!(told_of(empty.leak()).ends_with("it has no protocol features"));
    }
}
