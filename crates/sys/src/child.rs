//! Child processes: has the kernel end them with this process, even if it is killed; waits for one
//! with a time limit; runs one to its end or its limit and collects its output.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpgid, kill_process_group, pidfd_open, waitid,
};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Interval at which a child is checked if the kernel cannot report its end (before Linux 5.3).
const LOOKS: Duration = Duration::from_millis(5);

/// Waits for a child and returns how it ended; `None` if it has not ended within the limit. Sleeps
/// meanwhile: the child may be a load generator on the same processor.
///
/// # Errors
/// The child cannot be waited for.
pub fn ended_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok();
    let start = Instant::now();
    loop {
        let ended = child.try_wait()?;
        let rest = limit.saturating_sub(start.elapsed());
        if ended.is_some() || rest.is_zero() {
            return Ok(ended);
        }
        pause(handle.iter(), handle.is_some(), rest);
    }
}

/// Time within which a killed process ends, unless it hangs in the kernel.
const DIES_WITHIN: Duration = Duration::from_secs(5);

/// Time to read on after a child has ended. Its own output is in the pipes by then; the processes
/// that it started may write a last line.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum number of bytes that are read from one pipe. The longest output seen from a system
/// program is a tenth of it.
pub const LONGEST_OUTPUT: usize = 16 << 20;

/// Time limit for a program that only looks something up. One that takes longer waits for a device
/// that does not answer.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub enum ChildEnd {
    /// The child ended by itself, and its pipes were read to their ends.
    Whole(Output),
    /// The child ended by itself, but a process that it started still holds its pipes open.
    Held(Output),
    /// The child was killed because it wrote more than [`LONGEST_OUTPUT`].
    Flooded,
    Killed,
    /// The child was killed but still exists: it waits for a device within the kernel.
    Stuck,
}

impl ChildEnd {
    /// Returns the output of a child that ended by itself. `limit` is the time limit that the child
    /// had, for the error.
    ///
    /// # Errors
    /// Says why there is no output: a clause that follows the name of the program.
    pub fn output(self, limit: Duration) -> Result<Output, String> {
        let late = format!("did not end within {} s", limit.as_secs_f64());
        let log = "hint: the kernel's log (dmesg)";
        match self {
            ChildEnd::Whole(output) | ChildEnd::Held(output) => Ok(output),
            ChildEnd::Flooded => Err(format!(
                "wrote more than {} MiB and was killed; hint: make it print less",
                LONGEST_OUTPUT >> 20
            )),
            ChildEnd::Killed => {
                Err(format!("{late} and was killed; {log} may show what it waited for"))
            }
            ChildEnd::Stuck => Err(format!(
                "{late}, not even when it was killed: it waits for a device within the kernel (state D); {log} may show why"
            )),
        }
    }
}

/// Waits for a child and reads its pipes in the meantime, so that a full pipe does not block it. At
/// the limit, or when it has written too much, it is killed, together with its process group if it
/// leads one.
///
/// # Errors
/// The child cannot be waited for.
pub fn run_within(child: Child, limit: Duration) -> io::Result<ChildEnd> {
    Ok(run_within_timed(child, limit)?.0)
}

/// Waits for a child as [`run_within`] does, and also returns the CPU time of the child and of the
/// processes that it waited for. That is zero if it cannot be read or if the child was killed.
///
/// # Errors
/// Fails like [`run_within`].
pub fn run_within_timed(mut child: Child, limit: Duration) -> io::Result<(ChildEnd, CpuTime)> {
    let start = Instant::now();
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    let ends = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let mut pipes = ends.map(Pipe::from_end);
    // Its times are gone when somebody has waited for it.
    let mut ended: Option<(Instant, CpuTime)> = None;
    loop {
        ended = ended.or_else(|| ended_with(&child).map(|cpu| (Instant::now(), cpu)));
        pipes.iter_mut().for_each(Pipe::read);
        let is_flood = pipes.iter().any(|pipe| pipe.read.len() > LONGEST_OUTPUT);
        let is_open = pipes.iter().any(|pipe| pipe.end.is_some());
        let rest = match ended {
            Some((at, _)) => GRACE.saturating_sub(at.elapsed()),
            None => limit.saturating_sub(start.elapsed()),
        };
        match ended {
            _ if is_flood => break,
            Some((_, cpu)) if !is_open || rest.is_zero() => {
                let [stdout, stderr] = pipes.map(|pipe| pipe.read);
                let output = Output { status: child.wait()?, stdout, stderr };
                return Ok((
                    if is_open { ChildEnd::Held(output) } else { ChildEnd::Whole(output) },
                    cpu,
                ));
            }
            None if rest.is_zero() => break,
            _ => {}
        }
        let waits_for_end = handle.as_ref().filter(|_| ended.is_none());
        pause(
            pipes.iter().filter_map(|pipe| pipe.end.as_ref()).chain(waits_for_end),
            handle.is_some(),
            rest,
        );
    }
    let is_flood = pipes.iter().any(|pipe| pipe.read.len() > LONGEST_OUTPUT);
    signal_all(&mut child, Signal::KILL);
    let died = ended_within(&mut child, DIES_WITHIN)?;
    let how = match died {
        Some(_) if is_flood => ChildEnd::Flooded,
        Some(_) => ChildEnd::Killed,
        None => ChildEnd::Stuck,
    };
    Ok((how, CpuTime::default()))
}

/// Runs a program without input to its end and returns its output. The program does not outlive the
/// calling thread.
///
/// # Errors
/// The program cannot be started, does not end within the limit, or writes too much. The last two
/// errors name it.
pub fn output_of(command: &mut Command, limit: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = run_within(ends_with_us(command).spawn()?, limit)?;
    let name = || command.get_program().to_string_lossy();
    ended.output(limit).map_err(|why| io::Error::other(format!("{} {why}", name())))
}

/// Reads what a program that has ended left in a pipe: to the pipe's end, but no more than some
/// bytes beyond [`LONGEST_OUTPUT`], and for at most a second.
pub fn last_words(pipe: impl Into<OwnedFd>) -> String {
    let mut pipe = Pipe::from_end(Some(pipe.into()));
    let start = Instant::now();
    while pipe.end.is_some() && pipe.read.len() <= LONGEST_OUTPUT && start.elapsed() < GRACE {
        pipe.read();
        pause(pipe.end.iter(), true, GRACE.saturating_sub(start.elapsed()));
    }
    String::from_utf8_lossy(&pipe.read).into_owned()
}

/// A pipe that is being read. `end` is its reading end, and `None` once there is nothing left to
/// read.
struct Pipe {
    end: Option<OwnedFd>,
    read: Vec<u8>,
}

impl Pipe {
    fn from_end(end: Option<OwnedFd>) -> Pipe {
        // This does not fail for a pipe. If it did, reads would block, and the output would only be
        // read later.
        let _ = end.as_ref().map(|end| ioctl_fionbio(end, true));
        Pipe { end, read: Vec::new() }
    }

    fn read(&mut self) {
        let mut piece = [0; 64 << 10];
        while let Some(end) = self.end.as_ref().filter(|_| self.read.len() <= LONGEST_OUTPUT) {
            let room = piece.len().min(LONGEST_OUTPUT + 1 - self.read.len());
            match rustix::io::read(end, &mut piece[..room]) {
                Ok(length @ 1..) => self.read.extend_from_slice(&piece[..length]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // After an error, only the bytes read so far are available.
                Ok(0) | Err(_) => self.end = None,
            }
        }
    }
}

/// CPU time of a process and of those that it has waited for, in whole ticks of the kernel (10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub user_ns: u64,
    pub system_ns: u64,
}

/// Returns the CPU time of a child that has ended and was not waited for, zero if it cannot be
/// read. `None` if the child still runs.
fn ended_with(child: &Child) -> Option<CpuTime> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let has_ended = !matches!(waitid(WaitId::Pid(Pid::from_child(child)), how), Ok(None));
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    has_ended.then(|| parse_cpu_times(&stat()).unwrap_or_default())
}

/// Parses the CPU time in a line of `/proc/PID/stat`.
fn parse_cpu_times(stat: &str) -> Option<CpuTime> {
    // A program's name may have blanks and brackets.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let ns = |own: usize, waited_for: usize| {
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some((ticks(own)? + ticks(waited_for)?) * tick_ns)
    };
    Some(CpuTime { user_ns: ns(11, 13)?, system_ns: ns(12, 14)? })
}

/// Sends a signal to a child that was not waited for, or to its whole process group if it leads
/// one.
pub fn signal_all(child: &mut Child, signal: Signal) {
    let pid = Pid::from_child(child);
    // Both fail only if it has just ended by itself.
    let _ = match getpgid(Some(pid)) {
        Ok(group) if group == pid => kill_process_group(pid, signal),
        _ => rustix::process::kill_process(pid, signal),
    };
}

/// Waits until one of `sources` is readable, for at most `rest`; if the kernel does not signal the
/// end of a child (`signals_end`), for at most the interval between two checks.
fn pause<'a>(sources: impl Iterator<Item = &'a OwnedFd>, signals_end: bool, rest: Duration) {
    let mut sources: Vec<PollFd> =
        sources.map(|source| PollFd::new(source, PollFlags::IN)).collect();
    // A day at most, which every system's times can hold: it is asked again, as where a signal ends
    // it early.
    let rest = rest.min(if signals_end { Duration::from_secs(86_400) } else { LOOKS });
    let rest = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
    let _ = poll(&mut sources, Some(&rest));
}

/// Has the kernel kill the child when the thread that spawns it ends, in whatever way: spawn it
/// from the thread that waits for it. Has no effect on a program that gains privileges when it
/// starts (setuid).
pub fn ends_with_us(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes two system calls; it neither allocates nor
    // locks.
    unsafe { command.pre_exec(move || follow(parent)) }
}

/// Starts the child in a session of its own, so that it outlives the terminal or the connection of
/// this process.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call; it neither allocates nor
    // locks.
    unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) }
}

/// Gives the child none of this process's descriptors except the three standard ones, not even
/// those that this process inherited, such as the lock of a script. A child that lives longer would
/// hold them. Has no effect before Linux 5.11.
pub fn inherits_nothing(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call; it neither allocates nor
    // locks.
    unsafe { command.pre_exec(close_on_exec) }
}

/// Denies the child every way to zero or discard blocks without writing them (`BLKZEROOUT`,
/// `BLKDISCARD`, `fallocate` with holes or zero ranges), as a device without these commands would.
/// Programs such as mkfs then write zeros, so the files and devices below keep real blocks, whose
/// reads do I/O. If the kernel has no seccomp filters, the child starts without one.
pub fn writes_its_zeros(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes two system calls; it neither allocates nor
    // locks.
    unsafe { command.pre_exec(refuse_zeroing) }
}

/// Instructions of a classic BPF program over `struct seccomp_data` of linux/seccomp.h, on a
/// little-endian machine.
mod filter {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const NUMBER: u32 = 0;
    const MACHINE: u32 = 4;
    /// Offset of the low half of the second argument: the request of ioctl, or the mode of
    /// fallocate.
    const SECOND: u32 = 24;
    const X86_64: u32 = 0xc000_003e;
    const BLKDISCARD: u32 = 0x1277;
    const BLKSECDISCARD: u32 = 0x127d;
    const BLKZEROOUT: u32 = 0x127f;
    const PUNCH_ZERO_WRITE_ZEROES: u32 = 0x02 | 0x10 | 0x80;
    const ALLOW: u32 = 0x7fff_0000;
    const REFUSE: u32 = 0x0005_0000 | libc::EOPNOTSUPP as u32;

    const fn word(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter { code, jt, jf, k }
    }

    /// Filter that [`super::writes_its_zeros`] installs. A jump states how many instructions it
    /// skips if the test holds, and how many if it does not.
    pub(super) static PROGRAM: [libc::sock_filter; 13] = [
        word(LOAD, 0, 0, MACHINE),
        word(EQUAL, 0, 9, X86_64),
        word(LOAD, 0, 0, NUMBER),
        word(EQUAL, 5, 0, libc::SYS_fallocate as u32),
        word(EQUAL, 0, 6, libc::SYS_ioctl as u32),
        word(LOAD, 0, 0, SECOND),
        word(EQUAL, 5, 0, BLKDISCARD),
        word(EQUAL, 4, 0, BLKSECDISCARD),
        word(EQUAL, 3, 2, BLKZEROOUT),
        word(LOAD, 0, 0, SECOND),
        word(ANY_BIT, 1, 0, PUNCH_ZERO_WRITE_ZEROES),
        word(RETURN, 0, 0, ALLOW),
        word(RETURN, 0, 0, REFUSE),
    ];
}

fn refuse_zeroing() -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter::PROGRAM.len() as libc::c_ushort,
        filter: filter::PROGRAM.as_ptr().cast_mut(),
    };
    // SAFETY: the first command takes integers; the second reads the program, which is static, and
    // keeps a copy.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
    }
    Ok(())
}

fn close_on_exec() -> io::Result<()> {
    // SAFETY: the call takes three integers and touches no memory of ours. Marked, not closed: Rust
    // itself still has one open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    match done {
        // A kernel before 5.11 has no such call.
        -1 if !matches!(
            io::Error::last_os_error().raw_os_error(),
            Some(libc::ENOSYS | libc::EINVAL)
        ) =>
        {
            Err(io::Error::last_os_error())
        }
        _ => Ok(()),
    }
}

fn follow(parent: u32) -> io::Result<()> {
    // SAFETY: the command takes an integer and touches no memory of ours.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it has no argument and cannot fail.
    let now = unsafe { libc::getppid() };
    // A parent that died before the signal was asked for will not send it.
    if u32::try_from(now) == Ok(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    #[test]
    fn a_child_that_writes_its_zeros_punches_no_holes() {
        let folder =
            std::path::PathBuf::from(format!("/var/tmp/iotax-zeros-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("x");
        std::fs::write(&file, [7; 8192]).unwrap();
        let punch = |filtered: bool, mode: &str| {
            let mut command = Command::new("fallocate");
            command.args([mode, "--offset", "0", "--length", "4096"]).arg(&file);
            let filtered = if filtered { writes_its_zeros(&mut command) } else { &mut command };
            filtered.stderr(Stdio::null()).status().expect("fallocate of util-linux").success()
        };
        assert!(!punch(true, "--punch-hole") && !punch(true, "--zero-range"));
        assert_eq!(std::fs::read(&file).unwrap(), [7; 8192]);
        assert!(punch(true, "--keep-size"), "what only allocates is allowed");
        assert!(punch(false, "--punch-hole"), "and without the filter all of it");
        std::fs::remove_dir_all(&folder).unwrap();
    }

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

    #[test]
    fn a_child_that_inherits_nothing_has_no_lock_of_its_parents_parent() {
        let held = std::fs::File::open("/proc/self/cmdline").expect("file");
        rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).expect("no close-on-exec");
        let ends = |command: &mut Command| {
            let output = command.args(["-l", "/proc/self/fd"]).output().expect("ls");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let (plain, closed) =
            (ends(&mut Command::new("ls")), ends(inherits_nothing(&mut Command::new("ls"))));
        assert!(plain.contains("cmdline") && !closed.contains("cmdline"), "{plain}\n{closed}");
    }

    #[test]
    fn one_that_hangs_is_killed() {
        let mut sleep = Command::new("sleep");
        sleep.arg("60").stdout(Stdio::piped()).stderr(Stdio::piped());
        for command in [&mut sleep, Command::new("sleep").arg("60").process_group(0)] {
            let start = Instant::now();
            let ended = run_within(command.spawn().expect("sleep"), Duration::from_millis(100));
            assert!(matches!(ended, Ok(ChildEnd::Killed)), "{ended:?}");
            assert!(start.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn what_a_child_and_its_children_computed_is_counted() {
        let mut busy = Command::new("sh");
        let own = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";
        let script = format!("{own}; sh -c '{own}'");
        busy.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let limit = Duration::from_secs(60);
        let (ended, both) = run_within_timed(busy.spawn().expect("sh"), limit).expect("wait");
        assert!(
            matches!(ended, ChildEnd::Whole(ref output) if output.status.success()),
            "{ended:?}"
        );
        assert!(both.user_ns > 0, "{both:?}");
        let mut idle = Command::new("sleep");
        let (_, cpu) =
            run_within_timed(idle.arg("0.2").spawn().expect("sleep"), limit).expect("wait");
        assert!(cpu.user_ns < both.user_ns, "{cpu:?} {both:?}");
    }

    #[test]
    fn times_are_read_behind_any_name() {
        let line = "12 (a) b (c) Z 1 2 3 4 5 6 7 8 9 10 100 200 10 20 20 0";
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let cpu = CpuTime { user_ns: 110 * tick, system_ns: 220 * tick };
        assert_eq!(parse_cpu_times(line), Some(cpu));
        assert_eq!(parse_cpu_times("12 (a) Z 1 2"), None);
    }

    #[test]
    fn what_is_held_open_by_another_is_not_waited_for() {
        let mut leaves = Command::new("sh");
        leaves.args(["-c", "echo words; sleep 30 & :"]).stdout(Stdio::piped()).process_group(0);
        let start = Instant::now();
        let child = leaves.spawn().expect("sh");
        let group = Pid::from_child(&child);
        // The child itself would be allowed this long.
        let ended = run_within(child, Duration::from_secs(3600));
        assert!(
            matches!(ended, Ok(ChildEnd::Held(ref output)) if output.stdout == b"words\n"),
            "{ended:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(20));
        kill_process_group(group, Signal::KILL).expect("the sleep runs");
    }

    #[test]
    fn one_that_writes_without_end_is_killed_with_its_group() {
        let limit = Duration::from_secs(3600);
        for script in ["yes; :", "yes >&2; :", "yes & :", "trap '' PIPE; while :; do yes; done"] {
            let mut floods = Command::new("sh");
            floods
                .args(["-c", script])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
            let child = floods.spawn().expect("sh");
            let group = Pid::from_child(&child);
            let before = peak_memory();
            let ended = run_within(child, limit).expect("wait");
            assert!(matches!(ended, ChildEnd::Flooded), "{script}");
            let why = ended.output(limit).expect_err("no output");
            assert_eq!(why, "wrote more than 16 MiB and was killed; hint: make it print less");
            assert!(peak_memory() - before < 128 << 10, "{script}");
            let is_gone = || kill_process_group(group, Signal::KILL).is_err();
            let start = Instant::now();
            while !is_gone() {
                assert!(start.elapsed() < Duration::from_secs(20), "{script}: its group runs");
                std::thread::sleep(LOOKS);
            }
        }
    }

    /// Returns the peak memory of this process, in KiB.
    fn peak_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("status");
        let told = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        told.and_then(|told| told.split_whitespace().next()?.parse().ok()).expect("status")
    }

    #[test]
    fn a_program_that_is_asked_gets_no_input_and_its_error_names_it() {
        let limit = Duration::from_secs(60);
        let output = output_of(Command::new("cat").arg("-"), limit).expect("cat");
        assert!(output.status.success() && output.stdout.is_empty());
        let error = output_of(Command::new("yes").arg("x"), limit).expect_err("no end");
        assert!(
            error.to_string().starts_with("yes wrote more than 16 MiB and was killed; hint: "),
            "{error}"
        );
        let error = output_of(&mut Command::new("no-such-program"), limit).expect_err("no program");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn last_words_are_not_waited_for_where_another_has_the_pipe() {
        let mut leaves = Command::new("sh");
        leaves.args(["-c", "echo words >&2; exec sleep 30"]).stderr(Stdio::piped());
        let mut child = leaves.spawn().expect("sh");
        let start = Instant::now();
        assert_eq!(last_words(child.stderr.take().expect("a pipe")), "words\n");
        assert!(start.elapsed() < Duration::from_secs(20));
        child.kill().and_then(|()| child.wait()).expect("it runs");
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
