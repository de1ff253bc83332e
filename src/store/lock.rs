//! Whether a run is going: the process that drives it holds a lock in its folder, which the kernel
//! lets go of however it dies.

use super::StoreError;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Held as long as it lives.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl RunLock {
    /// Whether the run is going; nothing is written for the answer. A folder that cannot be asked is that of no run of ours.
    pub fn is_held(folder: &Path) -> bool {
        let Ok(file) = File::open(folder.join("lock")) else { return false };
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        matches!(locked, Err(rustix::io::Errno::WOULDBLOCK))
    }

    /// Takes it; `None` when the run is going.
    ///
    /// # Errors
    /// When the lock file cannot be opened.
    pub fn take(folder: &Path) -> Result<Option<RunLock>, StoreError> {
        let path = folder.join("lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| StoreError::system("open", &path, error))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(RunLock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(StoreError::system("lock", &path, error.into())),
        }
    }
}
