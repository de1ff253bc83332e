//! Runs the fio that is installed on this host. A killed iotax leaves nothing of it: fio dies with
//! iotax, its job comes on standard input from memory, and its report goes to standard output.

use super::client::Client;
use super::{EngineError, Filename, Ioengines, Site, fio_failed, system, version_name};
use iotax_drivers::ceph::Cluster;
use iotax_host::Missing;
use iotax_load::{TargetSpec, clock};
use iotax_sys::child::{ANSWERS_WITHIN, ChildEnd, ends_with_us, output_of, run_within};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct Here {
    client: Option<Client>,
}

impl Here {
    /// Creates the site for these targets. A single one may be a target file, for fio as a client
    /// of Ceph.
    ///
    /// # Errors
    /// If a target file cannot be used, or is one of several targets.
    pub(super) fn for_targets(targets: &[TargetSpec]) -> Result<Here, EngineError> {
        let clients = targets.iter().map(|target| Client::read_client_file(&target.path));
        let mut clients = clients.collect::<Result<Vec<_>, _>>()?;
        match (targets.len(), clients.iter().flatten().count()) {
            (_, 0) => Ok(Here::default()),
            (1, _) => Ok(Here { client: clients.remove(0) }),
            _ => Err(EngineError::Unfit("fio is a client of one pool or image at a time".into())),
        }
    }

    pub(super) fn client_of(client: Client) -> Here {
        Here { client: Some(client) }
    }
}

impl Site for Here {
    fn fio_version(&self) -> Result<String, EngineError> {
        version()
    }

    fn ioengines(&self) -> Ioengines {
        Ioengines { at_depth_one: "psync", deeper: &["io_uring", "libaio"], has_disk_util: true }
    }

    fn reason_and_place(&self) -> (String, &'static str) {
        ("named by the user".into(), "here")
    }

    fn target_size(&self, path: &Path) -> Result<u64, EngineError> {
        self.client.as_ref().map_or_else(|| target_bytes(path), |client| Ok(client.bytes))
    }

    fn fio_filename(&self, path: &Path) -> Result<Filename, EngineError> {
        match self.client {
            Some(_) => Ok(Filename { text: String::new(), held: None }),
            None => Filename::from_path(path),
        }
    }

    fn cluster_client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    fn fio_command(&self, options: &[String]) -> Vec<String> {
        let conf = self.client.iter().flat_map(|client| ["env".to_owned(), conf_variable(client)]);
        conf.chain(["fio".to_owned()]).chain(options.iter().cloned()).collect()
    }

    fn run_fio(
        &self,
        options: &[String],
        job_file: &str,
        limit: Duration,
    ) -> Result<Output, EngineError> {
        let mut command = Command::new("fio");
        command.args(options).current_dir("/");
        if let Some(client) = &self.client {
            // fio's engine rbd has no option for the configuration.
            command.env("CEPH_CONF", &client.conf).env_remove("CEPH_ARGS");
        }
        command.stdin(in_memory(job_file)?).stdout(Stdio::piped()).stderr(Stdio::piped());
        // fio gets its own process group: Ctrl-C is for iotax, which ends the slice in order.
        let child =
            ends_with_us(command.process_group(0)).spawn().map_err(|source| {
                match source.kind() {
                    std::io::ErrorKind::NotFound => EngineError::Missing(missing()),
                    _ => system("start", Path::new("fio"), source),
                }
            })?;
        let ended = run_within(child, limit)
            .map_err(|source| system("wait for", Path::new("fio"), source))?;
        match (ended, &self.client) {
            (ChildEnd::Killed | ChildEnd::Stuck, Some(client)) => Err(EngineError::Fio {
                status: format!("ended after {} s", limit.as_secs()),
                words: format!(
                    "its I/Os did not complete; {}",
                    Cluster { conf: &client.conf }.how_it_is(&client.pool)
                ),
            }),
            (ended, _) => super::output_in_time(ended, limit),
        }
    }

    /// Flushes all paths at the same time, and returns the nanoseconds until the last is flushed.
    fn flush_targets(&self, paths: &[&Path]) -> Result<u64, EngineError> {
        // As a client, fio has flushed by itself.
        if self.client.is_some() {
            return Ok(0);
        }
        let open = |path: &&Path| {
            File::options().write(true).open(path).map_err(|source| system("open", path, source))
        };
        let files = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let flushed: Vec<_> = std::thread::scope(|scope| {
            let flushes: Vec<_> =
                files.iter().map(|file| scope.spawn(|| file.sync_all())).collect();
            let ended = |flush: std::thread::ScopedJoinHandle<_>| {
                flush.join().unwrap_or_else(|_| Err(std::io::Error::other("its thread stopped")))
            };
            flushes.into_iter().map(ended).collect()
        });
        let took_ns = start.elapsed().as_nanos() as u64;
        for (path, flushed) in paths.iter().zip(flushed) {
            flushed.map_err(|source| system("fsync", path, source))?;
        }
        Ok(took_ns)
    }

    fn window_start(&self, report_ms: u64, window_ns: u64) -> u64 {
        monotonic_at(report_ms).saturating_sub(window_ns)
    }
}

fn conf_variable(client: &Client) -> String {
    format!("CEPH_CONF={}", client.conf.display())
}

/// Returns a file without a name that holds the text and disappears with its last reader.
fn in_memory(text: &str) -> Result<File, EngineError> {
    let made =
        rustix::fs::memfd_create("iotax-fio", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    let written = made.map_err(std::io::Error::from).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    written.map_err(|source| EngineError::System {
        action: "hold a job file in memory".into(),
        source,
    })
}

/// Returns the version as `fio 3.33`.
///
/// # Errors
/// If fio is not installed, or does not report its version.
pub fn version() -> Result<String, EngineError> {
    let output = match output_of(Command::new("fio").arg("--version"), ANSWERS_WITHIN) {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(EngineError::Missing(missing()));
        }
        Err(source) => return Err(system("start", Path::new("fio"), source)),
    };
    version_name(&output.stdout)
        .filter(|_| output.status.success())
        .ok_or_else(|| fio_failed(&output))
}

pub fn missing() -> Missing {
    Missing {
        what: "fio".into(),
        why: "to run jobs with the engine fio".into(),
        command: "apt-get install fio".into(),
        reboot: false,
    }
}

fn target_bytes(path: &Path) -> Result<u64, EngineError> {
    // The end of a block device is found by seeking: its metadata report 0 bytes.
    let mut file = File::open(path).map_err(|source| {
        EngineError::Unfit(format!("cannot open {}: {source}", path.display()))
    })?;
    file.seek(SeekFrom::End(0)).map_err(|source| system("measure", path, source))
}

impl Filename {
    /// Returns a name by which fio opens a path. fio splits names at ':' and expands '$', so a path
    /// with other than plain characters is opened here and named as a descriptor of this process.
    ///
    /// # Errors
    /// If such a path cannot be opened.
    pub fn from_path(path: &Path) -> Result<Filename, EngineError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@=".contains(c);
        let as_it_is =
            path.to_str().filter(|text| text.starts_with('/') && text.chars().all(plain));
        if let Some(text) = as_it_is {
            return Ok(Filename { text: text.to_owned(), held: None });
        }
        let file = File::open(path).map_err(|source| system("open", path, source))?;
        let text = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        Ok(Filename { text, held: Some(file) })
    }
}

/// Converts a wall-clock time in milliseconds to CLOCK_MONOTONIC in nanoseconds. The time in fio's
/// report is that of fio's end, a few milliseconds after the end of the window.
fn monotonic_at(wall_ms: u64) -> u64 {
    let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let wall_ns = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
    let ago = wall_ns.saturating_sub(wall_ms.saturating_mul(1_000_000));
    clock::monotonic_ns().saturating_sub(ago)
}
