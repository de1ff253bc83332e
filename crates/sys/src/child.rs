//! Children: such as must not outlive this process, which the kernel ends when it dies, even by SIGKILL; and waiting for one within a time.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Where the kernel cannot tell when a child ends (before 5.3), it is looked at so often.
const LOOKS: Duration = Duration::from_millis(5);

/// How a child ended; `None`: it has not, within that time. It sleeps meanwhile: the child may be a load generator on the same processor.
///
/// # Errors
/// When it cannot be waited for.
pub fn ended_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok();
    let start = Instant::now();
    loop {
        let ended = child.try_wait()?;
        let rest = limit.saturating_sub(start.elapsed());
        if ended.is_some() || rest.is_zero() {
            return Ok(ended);
        }
        pause(handle.as_ref(), rest);
    }
}

fn pause(handle: Option<&OwnedFd>, rest: Duration) {
    let Some(handle) = handle else {
        return std::thread::sleep(rest.min(LOOKS));
    };
    // A day at most, which every system's times can hold: it is asked again, as where a signal ends it early.
    let rest = rest.min(Duration::from_secs(86_400));
    let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
    let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&rest));
}

/// The child is killed when the thread that spawns it ends, in whatever way: spawn it from the thread that
/// waits for it. A program that gains privileges when it is started (setuid) loses the bond.
pub fn ends_with_us(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes two system calls; it neither allocates nor locks.
    unsafe { command.pre_exec(move || follow(parent)) }
}

fn follow(parent: u32) -> io::Result<()> {
    // SAFETY: the command takes an integer and touches no memory of ours.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it has no argument and cannot fail.
    let now = unsafe { libc::getppid() };
    // A parent that died before the signal was asked for will not send it.
    if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || ends_with_us(Command::new("sleep").arg("60")).spawn().expect("sleep");
        let mut child = std::thread::spawn(start).join().expect("thread");
        assert_eq!(child.wait().expect("wait").signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_of_a_dead_parent_does_not_start() {
        assert_eq!(follow(1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    /// How often this thread has gone to sleep.
    fn sleeps() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("status");
        let told = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        told.expect("status").trim().parse().expect("status")
    }

    #[test]
    fn whoever_waits_leaves_the_processor_to_the_child() {
        if pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).is_err() {
            println!("skipped: needs pidfd_open (Linux 5.3)");
            return;
        }
        let mut child = Command::new("sleep").arg("0.5").spawn().expect("sleep");
        let before = sleeps();
        let ended = ended_within(&mut child, Duration::from_secs(60)).expect("wait");
        assert!(ended.is_some_and(|status| status.success()));
        assert!(sleeps() - before < 50, "it looks only when there is something to see");
    }
}
