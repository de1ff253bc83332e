//! Children that must not outlive this process: the kernel ends them when it dies, even by SIGKILL.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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
}
