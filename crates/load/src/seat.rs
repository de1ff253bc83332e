//! Seat of a load thread: its processors (fio's `cpus_allowed`) and I/O priority (`prioclass`,
//! `prio`). A thread takes its seat before it allocates anything. Processors that do not exist or
//! are not allowed are refused.

use crate::{Job, LoadError};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// IOPRIO_WHO_PROCESS of linux/ioprio.h; with the number 0 it selects the calling thread.
const WHO_PROCESS: libc::c_int = 1;
/// Number of bits below the class in the kernel's form of an I/O priority.
const CLASS_SHIFT: u32 = 13;
/// Priority class of best effort.
const BEST_EFFORT: u8 = 2;

/// Processors and priority of a thread. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Allowed processors; empty means any.
    cpus: Vec<u32>,
    /// Class and level in the kernel's form; `None` leaves the priority as it is.
    priority: Option<u16>,
}

impl Seat {
    pub(crate) fn from_job(job: &Job, thread: u64) -> Seat {
        let cpus = match (job.cpus_split, job.cpus_allowed.len() as u64) {
            (true, number @ 1..) => vec![job.cpus_allowed[(thread % number) as usize]],
            _ => job.cpus_allowed.clone(),
        };
        Seat { cpus, priority: priority(job.prioclass, job.prio) }
    }

    /// Checks, in a short-lived thread, that the machine grants the processors and the I/O priority
    /// that the job asks for.
    ///
    /// # Errors
    /// [`LoadError::Unfit`] with the option at fault.
    pub(crate) fn check_seats(job: &Job) -> Result<(), LoadError> {
        let seat =
            Seat { cpus: job.cpus_allowed.clone(), priority: priority(job.prioclass, job.prio) };
        if seat == Seat::default() {
            return Ok(());
        }
        let tried = std::thread::scope(|scope| scope.spawn(|| seat.take_seat()).join());
        let tried = tried
            .unwrap_or_else(|_| Err(io::Error::other("the thread that tried it ended by a panic")));
        tried.map_err(|error| LoadError::Unfit(format!("job \"{}\": {error}", job.name)))
    }

    /// Applies the seat to the calling thread and the threads that it starts.
    ///
    /// # Errors
    /// The system's refusal, in words that name fio's option.
    pub(crate) fn take_seat(&self) -> io::Result<()> {
        if !self.cpus.is_empty() {
            sit(&self.cpus)?;
        }
        self.priority.map_or(Ok(()), |priority| {
            // SAFETY: three numbers, and the kernel touches no memory of ours.
            let set = unsafe {
                libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, libc::c_int::from(priority))
            };
            if set == 0 {
                Ok(())
            } else {
                Err(priority_error(priority, &io::Error::last_os_error()))
            }
        })
    }
}

/// Parses a list such as `0-3,8`, in the kernel's own notation, into sorted processor numbers.
///
/// # Errors
/// The reason why it is not such a list, or that a number is too large for a processor.
pub fn cpu_list(text: &str) -> Result<Vec<u32>, String> {
    let number =
        |text: &str| text.trim().parse::<u32>().map_err(|_| format!("\"{text}\" is no processor"));
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to || to >= CpuSet::MAX_CPU as u32 {
                    return Err(format!("\"{part}\" is no range of processors"));
                }
                all.extend(from..=to);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    match all.last() {
        Some(last) if *last >= CpuSet::MAX_CPU as u32 => {
            Err(format!("there is no processor {last}"))
        }
        _ => Ok(all),
    }
}

/// Returns class and level in the kernel's form, as fio does: best effort without a class, the
/// highest level without a level. `None` if neither is given.
fn priority(class: Option<u8>, level: Option<u8>) -> Option<u16> {
    let class = match (class, level) {
        (None, None) => return None,
        (None | Some(0), _) => BEST_EFFORT,
        (Some(class), _) => class,
    };
    Some(u16::from(class) << CLASS_SHIFT | u16::from(level.unwrap_or(0)))
}

fn priority_error(priority: u16, error: &io::Error) -> io::Error {
    let class = priority >> CLASS_SHIFT;
    let hint = match error.raw_os_error() {
        Some(libc::EPERM) => {
            "; hint: prioclass=1 (real time) needs CAP_SYS_NICE or CAP_SYS_ADMIN there: root, or prioclass=2"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("prioclass={class} is refused: {error}{hint}"))
}

/// Pins the calling thread to processors, and refuses any that it did not get. The kernel accepts a
/// set if any of its processors can be used, and silently drops the others.
fn sit(cpus: &[u32]) -> io::Result<()> {
    let before = sched_getaffinity(None)?;
    let mut wanted = CpuSet::new();
    let fits = |cpu: &&u32| (**cpu as usize) < CpuSet::MAX_CPU;
    cpus.iter().filter(fits).for_each(|cpu| wanted.set(*cpu as usize));
    let set = sched_setaffinity(None, &wanted).and_then(|()| sched_getaffinity(None));
    let lacking: Vec<String> = match &set {
        Ok(now) => cpus
            .iter()
            .filter(|cpu| !(fits(cpu) && now.is_set(**cpu as usize)))
            .map(u32::to_string)
            .collect(),
        Err(_) => cpus.iter().map(u32::to_string).collect(),
    };
    if lacking.is_empty() {
        return Ok(());
    }
    let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu)).collect();
    let (first, last) = (there.first().copied().unwrap_or(0), there.last().copied().unwrap_or(0));
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "cpus_allowed names {} {}, not there or not allowed; hint: {} of {first} to {last} are, where the load runs",
            if lacking.len() == 1 { "processor" } else { "processors" },
            lacking.join(", "),
            there.len()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<u32> {
        let now = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|cpu| now.is_set(*cpu)).map(|cpu| cpu as u32).collect()
    }

    /// Takes a seat in a separate thread, and returns that thread's processors and priority.
    fn seated(seat: Seat) -> (Vec<u32>, u16) {
        let told = move || {
            seat.take_seat().unwrap();
            // SAFETY: two numbers.
            let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) };
            // Threads that a thread starts have its seat.
            let cpus = std::thread::spawn(allowed).join().unwrap();
            (cpus, priority as u16)
        };
        std::thread::spawn(told).join().unwrap()
    }

    #[test]
    fn lists_of_processors_are_the_kernels() {
        assert_eq!(cpu_list("0-2, 5,4"), Ok(vec![0, 1, 2, 4, 5]));
        assert_eq!(cpu_list("3,1,2-3"), Ok(vec![1, 2, 3]));
        for odd in ["", "2-1", "x", "0-", "9999", "0-9999"] {
            assert!(cpu_list(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_seat_is_shared_or_split_among_threads() {
        let all = allowed();
        let job = |cpus_split| Job { cpus_allowed: all.clone(), cpus_split, ..Job::default() };
        assert_eq!(seated(Seat::from_job(&job(false), 5)).0, all);
        for thread in 0..3 {
            let own = all[thread % all.len()];
            assert_eq!(seated(Seat::from_job(&job(true), thread as u64)).0, [own]);
        }
        assert_eq!(seated(Seat::from_job(&Job::default(), 0)).0, all, "left as it is");
    }

    #[test]
    fn processors_that_are_not_there_are_refused_by_number() {
        let first = allowed()[0];
        for cpus in [vec![first, 1023], vec![1023], vec![first, 5000]] {
            let missing = *cpus.last().unwrap();
            let words = Seat::check_seats(&Job { cpus_allowed: cpus, ..Job::default() })
                .unwrap_err()
                .to_string();
            assert!(
                words.contains(&format!("cpus_allowed names processor {missing}, not there")),
                "{words}"
            );
        }
        assert!(Seat::check_seats(&Job { cpus_allowed: vec![first], ..Job::default() }).is_ok());
    }

    #[test]
    fn the_priority_is_the_threads() {
        let of = |prioclass, prio| Seat::from_job(&Job { prioclass, prio, ..Job::default() }, 0);
        assert_eq!(of(None, None), Seat::default());
        for (seat, class, level) in [
            (of(Some(2), Some(7)), 2, 7),
            (of(None, Some(3)), 2, 3),
            (of(Some(0), None), 2, 0),
            (of(Some(3), None), 3, 0),
        ] {
            assert_eq!(seated(seat).1, class << CLASS_SHIFT | level);
        }
        let refused = priority_error(1 << CLASS_SHIFT, &io::Error::from_raw_os_error(libc::EPERM))
            .to_string();
        assert!(
            refused.starts_with("prioclass=1 is refused") && refused.contains("CAP_SYS_NICE"),
            "{refused}"
        );
    }
}
