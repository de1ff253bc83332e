//! CPU time of a process by its own clock, in nanoseconds; /proc has it in ticks of 10 ms.

use std::mem::zeroed;

/// `CPUCLOCK_SCHED` of Linux (include/linux/posix-timers.h): the kind of clock that counts a
/// process's CPU time. It is in the low bits of a clock's id, below the process id, as
/// clock_getcpuclockid(3) makes it.
const BY_SCHEDULER: i32 = 2;
const PID_SHIFT: u32 = 3;

/// Returns the CPU time of all threads of a process, in nanoseconds. A thread of the kernel counts
/// as a process. `None` if there is no such process.
pub fn process_ns(pid: u32) -> Option<u64> {
    // Greater numbers would lose bits.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid <= i32::MAX >> PID_SHIFT)?;
    let clock = (!pid << PID_SHIFT) | BY_SCHEDULER;
    // SAFETY: all bytes zero are a valid timespec.
    let mut time: libc::timespec = unsafe { zeroed() };
    // SAFETY: `time` is a timespec that the call may write; a clock that is not there is an error.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_is_seen_and_one_that_is_not_there_is_not() {
        let ours = std::process::id();
        let before = process_ns(ours).unwrap();
        while process_ns(ours).unwrap() < before + 1_000_000 {}
        assert_eq!((process_ns(u32::MAX), process_ns(1 << 27)), (None, None));
    }
}
