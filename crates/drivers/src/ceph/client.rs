//! Finds out whether the cache of a cluster's client, librbd, is on. A running QEMU or storage
//! daemon is asked on the admin socket that section `[client]` of our ceph.conf gives it: QEMU sets
//! `rbd_cache` by its cache mode, and none of its output shows that.

use super::Cluster;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Most bytes of an answer that are accepted. No request here needs as many.
const LONGEST: u32 = 1 << 20;

/// Names of the admin sockets of our clusters' clients, as ceph.conf spells them. A process has one
/// for each image that it has open.
pub(super) const SOCKETS: &str = "$pid.$cctid.asok";

pub fn longest_socket(conf: &Path) -> PathBuf {
    conf.with_file_name("4194304.140737488355328.asok")
}

/// Returns the admin socket through which process `pid` reports an image as open: the one among
/// whose performance counters is the image's name.
fn client_socket(conf: &Path, pool: &str, image: &str, pid: u32) -> Result<PathBuf> {
    let folder = conf.parent().with_context(|| format!("{} is in no folder", conf.display()))?;
    let (start, end) = (format!("{pid}."), format!("-{pool}-{image}"));
    let is_of_pid = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&start))
    };
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut sockets = entries.flatten().map(|entry| entry.path()).filter(is_of_pid);
    let has_it = |socket: &PathBuf| {
        let answer = ask_admin_socket(socket, &json!({"prefix": "perf dump"})).ok();
        let counters = answer.as_ref().and_then(Value::as_object);
        counters.is_some_and(|all| {
            all.keys().any(|name| name.starts_with("librbd-") && name.ends_with(&end))
        })
    };
    sockets
        .find(has_it)
        .with_context(|| format!("no admin socket of process {pid} reports {pool}/{image} as open"))
}

/// Sends a request to an admin socket and returns the answer. The request ends in a zero byte; the
/// answer follows its length, which is four bytes in big-endian order.
fn ask_admin_socket(socket: &Path, request: &Value) -> Result<Value> {
    let failed = || format!("no answer from {}", socket.display());
    let mut stream = UnixStream::connect(socket).with_context(failed)?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN)).with_context(failed)?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN)).with_context(failed)?;
    stream.write_all(format!("{request}\0").as_bytes()).with_context(failed)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).with_context(failed)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        bail!("an answer of {length} bytes from {}", socket.display());
    }
    let mut answer = vec![0; length as usize];
    stream.read_exact(&mut answer).with_context(failed)?;
    serde_json::from_slice(&answer).with_context(failed)
}

/// Returns the value of `rbd_cache` with which process `pid` has an image open, and who sets it:
/// `true (image)` if the image or its pool does, else `false (QEMU)` as the process's admin socket
/// reports. Returns `unknown (REASON)` if neither can be read: a client of somebody else's cluster
/// has no socket unless its configuration gives it one.
pub fn cache_reported(conf: &Path, pool: &str, image: &str, pid: u32) -> String {
    cache_of_client(conf, pool, image, pid).unwrap_or_else(|why| format!("unknown ({why:#})"))
}

/// Returns the value of `rbd_cache` for a client that runs only during the load, and what sets it:
/// `true (image)` if the image or its pool does, else `true (configuration)`. Returns `unknown
/// (REASON)` if neither can be read.
pub fn cache_by_conf(conf: &Path, pool: &str, image: &str) -> String {
    let cluster = Cluster { conf };
    let find = || -> Result<String> {
        let all =
            cluster.run_json("rbd", &["config", "image", "ls", &format!("{pool}/{image}")])?;
        if let Some(value) = set_of_image(&all, "rbd_cache") {
            return Ok(format!("{value} (image)"));
        }
        let value = cluster.run_ceph_tool(
            "ceph-conf",
            &["--name", "client.admin", "--show-config-value", "rbd_cache"],
        )?;
        Ok(format!("{} (configuration)", value.trim()))
    };
    find().unwrap_or_else(|why| format!("unknown ({why:#})"))
}

fn cache_of_client(conf: &Path, pool: &str, image: &str, pid: u32) -> Result<String> {
    let whole = format!("{pool}/{image}");
    let all = Cluster { conf }.run_json("rbd", &["config", "image", "ls", &whole])?;
    if let Some(value) = set_of_image(&all, "rbd_cache") {
        return Ok(format!("{value} (image)"));
    }
    let socket = client_socket(conf, pool, image, pid)?;
    let answer = ask_admin_socket(&socket, &json!({"prefix": "config get", "var": "rbd_cache"}))?;
    let value =
        answer["rbd_cache"].as_str().with_context(|| format!("no rbd_cache in {answer}"))?;
    Ok(format!("{value} (QEMU)"))
}

fn set_of_image(all: &Value, option: &str) -> Option<String> {
    let all = all.as_array()?;
    let is_it = |one: &&Value| one["name"] == option && one["source"] != "config";
    all.iter().find(is_it).and_then(|one| one["value"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_of_the_image_goes_first() {
        let all = json!([
            {"name": "rbd_cache", "value": "true", "source": "config"},
            {"name": "rbd_cache_policy", "value": "writeback", "source": "image"},
        ]);
        assert_eq!(set_of_image(&all, "rbd_cache"), None);
        assert_eq!(set_of_image(&all, "rbd_cache_policy").as_deref(), Some("writeback"));
    }

    #[test]
    fn an_admin_socket_is_asked_and_one_that_is_silent_or_lies_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let answers = |name: &str, answer: &'static [u8]| {
            let socket = folder.path().join(name);
            let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 64];
                let length = stream.read(&mut request).unwrap();
                assert_eq!(request[length - 1], 0);
                stream.write_all(answer).unwrap();
            });
            socket
        };
        answers("7.1.asok", b"\0\0\0\x18{\"librbd-1-p-vol1\":null}");
        let own = answers("7.2.asok", b"\0\0\0\x18{\"librbd-2-p-vol0\":null}");
        answers("77.1.asok", b"\0\0\0\x18{\"librbd-3-p-vol2\":null}");
        let conf = folder.path().join("ceph.conf");
        assert_eq!(client_socket(&conf, "p", "vol0", 7).unwrap(), own);
        assert!(client_socket(&conf, "p", "vol2", 7).unwrap_err().to_string().contains("p/vol2"));
        let asked = |answer: &'static [u8]| {
            let socket = answers(&format!("9.{}.asok", answer.len()), answer);
            let told =
                ask_admin_socket(&socket, &json!({"prefix": "config get", "var": "rbd_cache"}));
            told.map_err(|error| error.to_string())
        };
        assert_eq!(
            asked(b"\0\0\0\x15{\"rbd_cache\":\"false\"}"),
            Ok(json!({"rbd_cache": "false"}))
        );
        assert!(asked(b"\0\0\0\x15{\"rbd").unwrap_err().starts_with("no answer from"));
        assert!(
            asked(b"\xff\xff\xff\xff").unwrap_err().starts_with("an answer of 4294967295 bytes")
        );
    }
}
