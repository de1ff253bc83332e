//! Lock that shows whether a run is going: the process that drives the run holds it in the run's
//! folder, and the kernel releases it however the process dies.

use super::LOCK;
use super::StoreError;
use super::private::{self, Purpose};
use rustix::fs::FlockOperation;
use std::fs::File;
use std::path::Path;

/// Lock that is held while the value lives.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl RunLock {
    /// Returns true if the run is going, without writing anything; false if the lock file does not
    /// exist or cannot be opened safely.
    pub fn is_held(folder: &Path) -> bool {
        let Ok(Some(file)) = private::open(folder, LOCK, Purpose::Show) else { return false };
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        matches!(locked, Err(rustix::io::Errno::WOULDBLOCK))
    }

    /// Takes the lock, making its file if needed; `None` if the run is going.
    ///
    /// # Errors
    /// [`StoreError::System`] if the lock file cannot be opened or locked, [`StoreError::Unsafe`]
    /// if it or the folder is not ours alone.
    pub fn take(folder: &Path) -> Result<Option<RunLock>, StoreError> {
        let file = private::open_to_write(folder, LOCK)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(RunLock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(StoreError::system("lock", folder.join(LOCK), error.into())),
        }
    }
}
