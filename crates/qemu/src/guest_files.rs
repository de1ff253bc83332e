//! Sockets and logs of a guest: their names in the run's directory, and whether Linux takes them.

use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};

/// The files of a running guest, by name in the run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFiles {
    pub qmp: PathBuf,
    pub port: PathBuf,
    /// The socket of the port of the agent that performs steps; only a lab has one.
    pub steps: Option<PathBuf>,
    pub console: PathBuf,
    /// Output of QEMU itself.
    pub stderr: PathBuf,
}

/// Longest path of a socket: sun_path has 108 bytes, one for the final NUL.
const LONGEST_SOCKET_PATH: usize = 107;

impl GuestFiles {
    /// Names the files of a guest.
    ///
    /// # Errors
    /// Bad input: a path that no Unix socket can have.
    pub fn new(directory: &Path, guest: &str) -> Result<GuestFiles, Failed> {
        let file = |ending: &str| directory.join(format!("{guest}.{ending}"));
        let files = GuestFiles {
            qmp: file("qmp"),
            port: file("port"),
            steps: None,
            console: file("console.log"),
            stderr: file("qemu.log"),
        };
        can_be_sockets([&files.qmp, &files.port])?;
        Ok(files)
    }

    /// Names the files of a lab, which has one more port.
    ///
    /// # Errors
    /// As [`GuestFiles::new`].
    pub fn of_lab(directory: &Path, guest: &str) -> Result<GuestFiles, Failed> {
        let steps = directory.join(format!("{guest}.steps"));
        can_be_sockets([&steps])?;
        Ok(GuestFiles { steps: Some(steps), ..GuestFiles::new(directory, guest)? })
    }

    pub fn sockets(&self) -> Vec<PathBuf> {
        [&self.qmp, &self.port].into_iter().chain(&self.steps).cloned().collect()
    }
}

/// Checks that Linux takes these as paths of sockets.
///
/// # Errors
/// Bad input: one is too long.
pub fn can_be_sockets<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failed> {
    let bytes = |path: &&PathBuf| path.as_os_str().len();
    match paths.into_iter().max_by_key(bytes).filter(|path| bytes(path) > LONGEST_SOCKET_PATH) {
        None => Ok(()),
        Some(path) => Err(Failed::input(format!(
            "the path of a guest's socket, {}, has {} bytes, and Linux takes {LONGEST_SOCKET_PATH}; \
             hint: choose a run directory with a shorter path",
            path.display(),
            bytes(&path)
        ))),
    }
}
