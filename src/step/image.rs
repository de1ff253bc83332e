//! Images made by QEMU's storage daemon, which is told by QMP and ends when the image is made, or when we do. It sees only
//! the stretch that the image may take and refuses to go beyond.

use super::op::MakeImage;
use crate::layer::guest::qemu::{Backend, STORAGE_DAEMON, Span, room_node};
use crate::layer::guest::qmp::Qmp;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An answer of the daemon's; places for the clusters of a large image are reckoned between two of them.
const ANSWER: Duration = Duration::from_secs(120);
/// How often the job is asked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Makes it.
///
/// # Errors
/// With the daemon's words: what is below cannot be opened, or the image does not fit.
pub(super) fn make(image: &MakeImage) -> Result<()> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let mut daemon = start(image, theirs)?;
    let made = converse(image, ours);
    // It has done its work, or is of no more use: told to quit it may be gone already.
    let _ = daemon.kill();
    let mut words = String::new();
    if let Some(mut stderr) = daemon.stderr.take() {
        stderr.read_to_string(&mut words).context("cannot read what the storage daemon wrote")?;
    }
    daemon.wait().context("cannot wait for the storage daemon")?;
    made.with_context(|| format!("{STORAGE_DAEMON} made no image on {}: {}", image.on, words.trim()))
}

fn start(image: &MakeImage, socket: UnixStream) -> Result<Child> {
    let backend = if image.block { Backend::HostDevice } else { Backend::File };
    let span = Span { offset: image.offset, bytes: image.room };
    let mut command = Command::new(STORAGE_DAEMON);
    command.args([
        "--chardev",
        "stdio,id=control",
        "--monitor",
        "chardev=control,mode=control",
        "--blockdev",
    ]);
    command.arg(room_node("room", image.on.path()?, backend, span).into_word());
    let ends = || socket.try_clone().map(OwnedFd::from).map(Stdio::from);
    command.stdin(ends()?).stdout(ends()?).stderr(Stdio::piped());
    // Its own group: Ctrl-C is for iotax. A daemon that outlives a killed run would go on writing.
    iotax_sys::child::ends_with_us(command.process_group(0))
        .spawn()
        .with_context(|| format!("cannot start {STORAGE_DAEMON}"))
}

fn converse(image: &MakeImage, socket: UnixStream) -> Result<()> {
    let mut daemon = Qmp::greet(socket, ANSWER)?;
    let options = json!({
        "driver": "qcow2",
        "file": "room",
        "size": image.bytes,
        "cluster-size": image.cluster,
        "preallocation": image.preallocation(),
        "lazy-refcounts": image.lazy_refcounts,
    });
    daemon.execute("blockdev-create", json!({"job-id": "make", "options": options}))?;
    loop {
        let jobs = daemon.execute("query-jobs", Value::Null)?;
        let job = &jobs[0];
        match (job["status"].as_str(), job["error"].as_str()) {
            (Some("concluded"), Some(why)) => bail!("{why}"),
            (Some("concluded"), None) => break,
            (Some(_), _) => std::thread::sleep(PAUSE),
            (None, _) => bail!("the job is gone: {jobs}"),
        }
    }
    daemon.execute("job-dismiss", json!({"id": "make"}))?;
    // What it still has to write it writes before it answers no more.
    daemon.execute("quit", Value::Null)?;
    while daemon.next_event(ANSWER).is_ok_and(|event| event.is_some()) {}
    Ok(())
}
