//! Creates qcow2 images by QEMU's storage daemon, which is controlled over QMP and ends when the
//! image is made or iotax ends. The daemon sees only the part of the file or device that the image
//! may take.

use crate::command_line::STORAGE_DAEMON;
use crate::disk::Backend;
use crate::qcow2::{Span, room_node};
use crate::qmp::Qmp;
use crate::version::EMPTY_DAEMON;
use anyhow::{Context, Result, bail};
use iotax_drivers::path_ref::PathRef;
use iotax_sys::child::{ends_with_us, last_words};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Creation of a qcow2 image by QEMU's `blockdev-create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeImage {
    /// File or device that the image is in.
    pub on: PathRef,
    pub block: bool,
    pub offset: u64,
    /// Most bytes of the file or device that the image may take, from `offset` on.
    pub room: u64,
    /// Size in bytes of the disk that the image contains.
    pub bytes: u64,
    /// Size of a cluster in bytes.
    pub cluster: u64,
    /// True if every cluster is allocated from the start (QEMU's `preallocation=metadata`).
    pub mapped: bool,
    /// True if refcounts are not kept up to date with every write.
    pub lazy_refcounts: bool,
}

impl MakeImage {
    /// Returns the value of QEMU's option `preallocation`.
    pub fn preallocation(&self) -> &'static str {
        if self.mapped { "metadata" } else { "off" }
    }
}

/// Time limit for each answer of the daemon, which may be late while it allocates the clusters of a
/// large image.
const ANSWER: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Creates the image, with a storage daemon that runs only for that.
///
/// # Errors
/// The daemon cannot be run, cannot open the file or device, or the image does not fit. Includes
/// the daemon's output.
pub fn make_image(image: &MakeImage) -> Result<()> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let mut daemon = start_storage_daemon(image, theirs)?;
    let made = converse(image, ours);
    // The daemon has done its work, or is of no more use: it may have quit already.
    let _ = daemon.kill();
    let words = daemon.stderr.take().map(last_words).unwrap_or_default();
    daemon.wait().context("cannot wait for the storage daemon")?;
    made.with_context(|| {
        format!("{STORAGE_DAEMON} made no image on {}: {}", image.on, words.trim())
    })
}

fn start_storage_daemon(image: &MakeImage, socket: UnixStream) -> Result<Child> {
    let backend = if image.block { Backend::HostDevice } else { Backend::File };
    let span = Span { offset: image.offset, bytes: image.room };
    let mut command = Command::new(STORAGE_DAEMON);
    command.args(EMPTY_DAEMON).arg("--blockdev");
    command.arg(room_node("room", image.on.resolved_path()?, backend, span).into_word());
    let ends = || socket.try_clone().map(OwnedFd::from).map(Stdio::from);
    command.stdin(ends()?).stdout(ends()?).stderr(Stdio::piped());
    // Its own group: Ctrl-C is for iotax. A daemon that outlives a killed run would go on writing.
    ends_with_us(command.process_group(0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Aio, Cache, DiskSpec};
    use crate::qcow2::{Qcow2, lay_out};
    use crate::settings::{of_node, of_node_differing};
    use crate::testing::made_up_disk;
    use iotax_drivers::path_ref::PathRef;
    use iotax_host::guard::rig;
    use iotax_host::probe::program_path;
    use iotax_units::MIB;
    use std::io::Write;
    use std::path::Path;

    fn image_at(path: &Path, span: Span, bytes: u64, cluster: u64) -> MakeImage {
        MakeImage {
            on: PathRef::Path(path.to_owned()),
            block: false,
            offset: span.offset,
            room: span.bytes,
            bytes,
            cluster,
            mapped: false,
            lazy_refcounts: false,
        }
    }

    fn is_there() -> bool {
        let lacking = [STORAGE_DAEMON, "qemu-io", "qemu-img"]
            .into_iter()
            .find(|name| program_path(name).is_none());
        lacking.is_none_or(|name| {
            rig::skip(name);
            false
        })
    }

    fn node(path: &Path, span: Span) -> String {
        format!(
            "driver=qcow2,file.driver=raw,file.offset={},file.size={},file.file.driver=file,file.file.filename={}",
            span.offset,
            span.bytes,
            path.display()
        )
    }

    /// Every cluster is written, in an order in which no table is filled before the next is begun.
    fn write_everywhere(node: &str, bytes: u64, block: u64) -> String {
        let mut qemu_io = Command::new("qemu-io")
            .args(["--image-opts", node])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let blocks = bytes / block;
        // A stride that has no factor in common with a power of two times a few comes to every
        // block.
        let commands: String = (0..blocks)
            .map(|at| format!("write -q {} {block}\n", at * 4099 % blocks * block))
            .collect();
        let mut stdin = qemu_io.stdin.take().unwrap();
        stdin.write_all(commands.as_bytes()).unwrap();
        drop(stdin);
        let output = qemu_io.wait_with_output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&words).replace("qemu-io> ", "").trim().to_owned()
    }

    #[test]
    fn an_image_that_is_full_fits_its_stretch_and_nothing_beside_it_is_touched() {
        if !is_there() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        for cluster in [512, 4096, 64 << 10, 2 << 20] {
            std::fs::write(&path, vec![7; 40 << 20]).unwrap();
            let part = Span { offset: 3 * MIB, bytes: 14 * MIB };
            let (spans, bytes) = lay_out(part, cluster, 0, true).unwrap();
            make_image(&image_at(&path, spans[0], bytes, cluster)).unwrap();
            let node = node(&path, spans[0]);
            assert_eq!(
                write_everywhere(&node, bytes, 4096.max(cluster.min(bytes))),
                "",
                "clusters of {cluster}"
            );
            let check =
                Command::new("qemu-img").args(["check", "--image-opts", &node]).output().unwrap();
            assert!(check.status.success(), "clusters of {cluster}: {check:?}");
            let content = std::fs::read(&path).unwrap();
            let end = (spans[0].offset + spans[0].bytes) as usize;
            assert!(content[..3 << 20].iter().chain(&content[end..]).all(|byte| *byte == 7));
        }
    }

    /// Nothing is written to a chain before it is read: its base shows what lay there.
    #[test]
    fn a_chain_shows_what_lay_below_and_is_read_back_as_it_is() {
        if !is_there() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        std::fs::write(&path, vec![7; 20 << 20]).unwrap();
        let (cluster, part) = (16 << 10, Span { offset: MIB, bytes: 18 * MIB });
        let (spans, bytes) = lay_out(part, cluster, 2, false).unwrap();
        for (at, span) in spans.iter().enumerate() {
            make_image(&MakeImage { mapped: at == 0, ..image_at(&path, *span, bytes, cluster) })
                .unwrap();
        }
        let images = Qcow2 { spans, bytes, cluster, lazy_refcounts: false, l2_cache: None };
        let disk = DiskSpec {
            path,
            aio: Aio::Threads,
            cache: Cache::Writeback,
            read_only: true,
            share_read: true,
            qcow2: Some(images),
            ..made_up_disk()
        };
        let node = disk.node("disk").into_word().into_string().unwrap();
        let read = Command::new("qemu-io")
            .args(["-r", "--image-opts", &node, "-c", &format!("read -P 7 0 {bytes}")])
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&read.stdout).into_owned();
        assert!(read.status.success() && !words.contains("failed"), "{words}{read:?}");
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ends = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
        let mut daemon = Command::new(STORAGE_DAEMON)
            .args(EMPTY_DAEMON)
            .args(["--blockdev", &node])
            .stdin(ends())
            .stdout(ends())
            .spawn()
            .unwrap();
        let mut qmp = Qmp::greet(ours, ANSWER).unwrap();
        let nodes = qmp.execute("query-named-block-nodes", json!({"flat": false})).unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let told = of_node(&nodes, "disk");
        let of = |option: &str| told.get(option).map(String::as_str);
        assert_eq!(
            (of("format"), of("backing"), of("cluster-size")),
            (Some("qcow2"), Some("2"), Some("16384"))
        );
        assert_eq!(of_node_differing(&disk, &told), Vec::<String>::new());
    }

    #[test]
    fn an_image_that_does_not_fit_is_told_with_qemus_words() {
        if !is_there() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        std::fs::write(&path, vec![0; 2 << 20]).unwrap();
        let small = Span { offset: 0, bytes: 64 << 10 };
        let error = make_image(&image_at(&path, small, 1 << 30, 64 << 10)).unwrap_err();
        assert!(format!("{error:#}").contains("No space left on device"), "{error:#}");
        let gone = make_image(&image_at(&folder.path().join("y.img"), small, 1 << 30, 64 << 10))
            .unwrap_err();
        assert!(format!("{gone:#}").contains("No such file or directory"), "{gone:#}");
    }
}
