//! Sockets and logs of a guest: their names in the run's directory, and a check of the sockets'
//! paths.

use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};

/// Files of a guest in the run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFiles {
    pub qmp: PathBuf,
    pub port: PathBuf,
    /// Socket of the port to the agent that performs steps; only a lab has one.
    pub steps: Option<PathBuf>,
    pub console: PathBuf,
    /// Output of QEMU itself.
    pub stderr: PathBuf,
}

/// Largest length of a socket's path in bytes: sun_path has 108, one of them for the final NUL.
const LONGEST_SOCKET_PATH: usize = 107;

impl GuestFiles {
    /// Returns the files of the guest with this name. Creates none of them.
    ///
    /// # Errors
    /// Bad input: the path of a socket is too long.
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

    /// Returns the files of the lab with this name, which has a second agent and a socket for it.
    /// Creates none of them.
    ///
    /// # Errors
    /// Fails like [`GuestFiles::new`].
    pub fn of_lab(directory: &Path, guest: &str) -> Result<GuestFiles, Failed> {
        let steps = directory.join(format!("{guest}.steps"));
        can_be_sockets([&steps])?;
        Ok(GuestFiles { steps: Some(steps), ..GuestFiles::new(directory, guest)? })
    }

    pub fn sockets(&self) -> Vec<PathBuf> {
        [&self.qmp, &self.port].into_iter().chain(&self.steps).cloned().collect()
    }
}

/// Checks that Linux accepts these as paths of sockets.
///
/// # Errors
/// Bad input: names the longest path if it has more than 107 bytes.
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
