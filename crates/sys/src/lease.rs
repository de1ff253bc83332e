//! Check that we are the only opener of a file: a write lease is granted only then. It also notices
//! openers inside the kernel (loop, nfsd, LIO), which no /proc/PID/fd shows.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

// Linux value (asm-generic/fcntl.h); the same on every architecture that we build for.
const F_SETSIG: libc::c_int = 10;

/// Returns true if nobody else has `file` open for writing (or, on kernels that count readers, for
/// reading).
///
/// # Errors
/// EACCES if the file is another user's and we lack CAP_LEASE; EINVAL if the file system knows no
/// leases.
pub fn sole_opener(file: &File) -> io::Result<bool> {
    let fd = file.as_raw_fd();
    // Somebody who opens the file while we hold the lease makes the kernel send SIGIO, which would
    // end this process; SIGURG is ignored by default.
    fcntl(fd, F_SETSIG, libc::SIGURG)?;
    match fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

fn fcntl(fd: libc::c_int, command: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: these commands take an integer and touch no memory of ours; `fd` is open, since
    // the caller borrows its File.
    match unsafe { libc::fcntl(fd, command, value) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_writer_is_noticed() {
        let path = std::env::temp_dir().join(format!("iotax-lease-{}", std::process::id()));
        let ours = File::create(&path).expect("create");
        assert!(sole_opener(&ours).expect("lease"));
        let other = File::options().write(true).open(&path).expect("open");
        assert!(!sole_opener(&ours).expect("lease"));
        drop(other);
        assert!(sole_opener(&ours).expect("lease"));
        std::fs::remove_file(&path).expect("remove");
    }
}
