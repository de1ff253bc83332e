//! A child process to its end, or to its limit, with all that it wrote.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

/// Waits for a child; at the limit it is killed and there is `None`. Threads drain its output meanwhile: a report is
/// larger than a pipe's buffer. It sleeps until the child ends: the child may be a load generator on the same processor.
///
/// # Errors
/// When it cannot be waited for.
pub fn wait_within(mut child: Child, limit: Duration) -> std::io::Result<Option<Output>> {
    let readers = (child.stdout.take().map(drain), child.stderr.take().map(drain));
    let deadline = Instant::now() + limit;
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    let status = loop {
        match (child.try_wait()?, deadline.saturating_duration_since(Instant::now())) {
            (Some(status), _) => break status,
            (None, Duration::ZERO) => {
                // Both fail only if it has just ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            (None, rest) => pause(handle.as_ref(), rest),
        }
    };
    let [stdout, stderr] =
        [readers.0, readers.1].map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Some(Output { status, stdout, stderr }))
}

/// Until it ends, or for a moment where the kernel cannot tell that (before 5.3).
fn pause(handle: Option<&OwnedFd>, rest: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let Some(handle) = handle else {
        return std::thread::sleep(rest.min(Duration::from_millis(2)));
    };
    // A day at most: no limit of a run is longer, and it is asked again.
    let rest = rest.min(Duration::from_secs(86_400));
    let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
    // A signal may end it early: it is asked again.
    let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&rest));
}

fn drain(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is all there is to show.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn one_that_hangs_is_killed() {
        let child =
            Command::new("sleep").arg("60").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        assert!(wait_within(child, Duration::from_millis(100)).unwrap().is_none());
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    /// How often this thread has gone to sleep.
    fn sleeps() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let told = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        told.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn whoever_waits_leaves_the_processor_to_the_child() {
        if pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).is_err() {
            println!("skipped: needs pidfd_open (Linux 5.3)");
            return;
        }
        let child = Command::new("sh").args(["-c", "sleep 0.5; echo done"]).stdout(Stdio::piped()).spawn();
        let before = sleeps();
        let output = wait_within(child.unwrap(), Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(output.stdout, b"done\n");
        assert!(sleeps() - before < 50, "it looks only when there is something to see");
    }
}
