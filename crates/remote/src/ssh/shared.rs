//! One connection for many commands (OpenSSH's ControlMaster), so that a command costs a round trip
//! and a password is asked for once. If it cannot be made, every ssh connects for itself and
//! reports why it fails.

use super::{SshOptions, bare};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest path of the socket: an address has room for 108 bytes, of which ssh adds 17 while it
/// makes the socket.
const LONGEST: usize = 88;
const END_GRACE: Duration = Duration::from_secs(1);

/// ssh process that holds the connection. It ends when this is dropped, or the thread that started
/// it ends.
pub struct SharedSsh {
    process: Child,
    socket: PathBuf,
}

impl SharedSsh {
    /// Connects to a host, with `socket` for the ssh commands that share the connection
    /// ([`SshOptions::shared`]). `None` if the path is too long or the connection is not made in
    /// time.
    pub fn start(host: &str, socket: &Path, options: &SshOptions) -> Option<SharedSsh> {
        if socket.as_os_str().len() > LONGEST {
            return None;
        }
        let mut command = bare(options).ok()?;
        command.args(["-N", "-M", "-o", "ControlPersist=no", "-S"]).arg(socket).args(["--", host]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = iotax_sys::child::ends_with_us(&mut command).spawn().ok()?;
        let mut shared = SharedSsh { process, socket: socket.to_owned() };
        shared.comes_up(options.limit).then_some(shared)
    }

    fn comes_up(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            if self.socket.exists() {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for SharedSsh {
    fn drop(&mut self) {
        let pid = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw);
        // It removes its socket on SIGTERM; one that is gone already has done so.
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        let deadline = Instant::now() + END_GRACE;
        while Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        // All three fail only if there is nothing left to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}
