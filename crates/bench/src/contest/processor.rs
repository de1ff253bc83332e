//! Binds a contest to a processor: generators are compared on one, which they all use in turn.
//! Refuses processors that do not exist, or that this process may not use.

use iotax_engines::load_engine::EngineError;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Runs on one processor from here on, with all threads and children created later.
///
/// # Errors
/// [`EngineError::Unfit`] if this process has no such processor, or the system's error.
pub fn keep_to(cpu: usize) -> Result<(), EngineError> {
    let mut set = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        set.set(cpu);
    }
    // The kernel returns the same error for an empty set and for a set with no allowed processor.
    sched_setaffinity(None, &set).map_err(|errno| match (errno, allowed()) {
        (Errno::INVAL, Ok(allowed)) => EngineError::Unfit(format!(
            "there is no processor {cpu} for this process; hint: --cpu with one of {}",
            shown(&allowed)
        )),
        _ => {
            EngineError::System { action: format!("keep to processor {cpu}"), source: errno.into() }
        }
    })
}

/// Returns the processors on which this process may run at all, whatever its current affinity.
/// Asked for all, the kernel grants exactly these.
fn allowed() -> Result<Vec<usize>, Errno> {
    let before = sched_getaffinity(None)?;
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    let granted = sched_setaffinity(None, &all).and_then(|()| sched_getaffinity(None));
    sched_setaffinity(None, &before)?;
    granted.map(|set| numbers(&set))
}

fn numbers(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

fn shown(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match (run.first(), run.last()) {
        (Some(first), Some(last)) if first < last => format!("{first}-{last}"),
        (first, _) => first.map(usize::to_string).unwrap_or_default(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Undoes [`keep_to`] for this thread.
pub struct Anywhere(CpuSet);

impl Anywhere {
    /// Returns the current affinity of the process.
    ///
    /// # Errors
    /// Fails if the system does not report it.
    pub fn now() -> Result<Anywhere, EngineError> {
        sched_getaffinity(None).map(Anywhere).map_err(|errno| EngineError::System {
            action: "ask on which processors this process may run".into(),
            source: errno.into(),
        })
    }

    /// Returns the first processor that it may run on.
    pub fn first(&self) -> usize {
        numbers(&self.0).first().copied().unwrap_or(0)
    }

    pub fn again(&self) {
        // The process may run again where it ran before, or on fewer processors; nothing depends on
        // it.
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_not_there_is_refused_with_those_that_are() {
        let before = Anywhere::now().unwrap();
        for cpu in [CpuSet::MAX_CPU - 1, 100_000] {
            let refused = keep_to(cpu).unwrap_err();
            assert_eq!(refused.code(), iotax_units::exit::BAD_INPUT);
            let hint = format!("hint: --cpu with one of {}", shown(&allowed().unwrap()));
            assert!(refused.to_string().ends_with(&hint), "{refused}");
        }
        assert_eq!(numbers(&Anywhere::now().unwrap().0), numbers(&before.0), "nothing has moved");
        keep_to(before.first()).unwrap();
        assert_eq!(numbers(&Anywhere::now().unwrap().0), [before.first()]);
        before.again();
        assert_eq!(numbers(&Anywhere::now().unwrap().0), numbers(&before.0));
    }

    #[test]
    fn processors_are_told_as_ranges() {
        assert_eq!(shown(&[0, 1, 2, 3, 8]), "0-3, 8");
        assert_eq!(shown(&[0]), "0");
    }
}
