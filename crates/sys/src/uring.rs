//! Check that io_uring answers: a sysctl, a seccomp filter or an old kernel may forbid it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Checks that io_uring can be used, by setting up a ring of one entry.
///
/// # Errors
/// The kernel's error: EPERM (sysctl or seccomp), ENOSYS (too old or filtered), ENOMEM.
pub fn probe() -> io::Result<()> {
    // struct io_uring_params is 120 bytes (io_uring_setup(2)); all zero asks for defaults.
    let mut params = [0u64; 15];
    // SAFETY: the call writes at most sizeof(struct io_uring_params) = 120 bytes, the length of
    // `params`, which outlives the call and is aligned for its u32 and u64 members.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a result that is not negative is a new descriptor that nobody else owns.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Ok(())
}
