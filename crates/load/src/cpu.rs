//! CPU time of threads.

/// CPU time of one thread, or of several in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// Nanoseconds in user mode.
    pub user_ns: u64,
    /// Nanoseconds in the kernel.
    pub system_ns: u64,
}

impl ThreadCpu {
    /// Returns the CPU time of the calling thread since it began.
    pub fn of_thread() -> ThreadCpu {
        // SAFETY: all bytes zero are a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a rusage that the call may write.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        ThreadCpu { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
    }

    /// Returns the sum with the CPU time of another thread.
    pub fn plus(self, other: ThreadCpu) -> ThreadCpu {
        ThreadCpu {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
        }
    }

    /// Returns the CPU time since an earlier reading.
    pub fn since(self, before: ThreadCpu) -> ThreadCpu {
        ThreadCpu {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn the_cpu_of_a_spinning_thread_is_seen() {
        let before = ThreadCpu::of_thread();
        clock::wait_until(clock::monotonic_ns() + 1_000);
        while ThreadCpu::of_thread() == before {}
        let spent = ThreadCpu::of_thread().since(before);
        assert!(spent.user_ns + spent.system_ns > 0);
    }
}
