//! Data that only one side of a comparison has written: a volume that is new is written before it is read, a drive of somebody's is
//! read as it was found. A drive answers blocks that were never written, or were trimmed, without looking for them.

use super::confounders::bases;
use super::reading::Reading;
use crate::scenario::{Medium, Stack};

/// Kind of these doubts.
pub const KIND: &str = "found_data";

/// What a stack or what it is compared with reads without having written it, where the other has.
pub fn of(reading: &Reading, at: usize) -> Vec<String> {
    let scenario = &reading.run.start.scenario;
    if scenario.measure.precondition.passes > 0 || !reading.workload.jobs.iter().any(|job| job.rw.reads()) {
        return Vec::new();
    }
    let unlike = |base: usize| {
        let (one, other) = (&scenario.stacks[base], &scenario.stacks[at]);
        let (new, found) = match (is_written(reading, one), is_written(reading, other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => return None,
        };
        is_somebodys(&found.medium).then(|| {
            format!(
                "{} was written before it was measured, and {} was read as it was found: a drive answers blocks that were never \
                 written, or were trimmed, without reading them; hint: --precondition 1x writes all of every drive before (it needs \
                 --destroy for each)",
                new.name, found.name
            )
        })
    };
    bases(reading, at).into_iter().filter_map(unlike).collect()
}

/// Through the stack, or into a file on a file system of its own.
fn is_written(reading: &Reading, stack: &Stack) -> bool {
    let through = reading.run.laid_out.iter().any(|one| one.stack == stack.name);
    through || stack.layers.iter().any(|layer| layer.name == "fs")
}

/// What the run makes it fills: files of its own, drives of a lab.
fn is_somebodys(medium: &Medium) -> bool {
    let theirs =
        |medium: &Medium| matches!(medium, Medium::Device { .. } | Medium::Remote { size: None, .. });
    medium.members().iter().any(theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::{RunData, findings, twin};
    use crate::store::record::LaidOut;

    fn told(change: impl FnOnce(&mut RunData)) -> Vec<String> {
        let mut run = twin::a_against_a();
        let written = run.start.scenario.stacks[1].name.clone();
        for stack in &mut run.start.scenario.stacks {
            stack.medium = Medium::Device { path: "/dev/sda".into() };
        }
        run.laid_out = vec![LaidOut {
            visit: 0,
            set: 0,
            stack: written,
            place: "host".into(),
            bytes: 1 << 30,
            written: 1 << 30,
            took_ns: 1,
            flush_ns: 1,
        }];
        change(&mut run);
        findings(&run).warnings.into_iter().filter(|one| one.kind == KIND).map(|one| one.text).collect()
    }

    #[test]
    fn a_drive_that_is_read_as_it_was_found_beside_one_that_was_written_is_told() {
        let told_of_devices = told(|_| ());
        assert_eq!(told_of_devices.len(), 1, "{told_of_devices:?}");
        assert!(told_of_devices[0].contains("was read as it was found"), "{told_of_devices:?}");
        let nothing: Vec<String> = Vec::new();
        assert_eq!(told(|run| run.laid_out.clear()), nothing, "both as they were found");
        assert_eq!(told(|run| run.start.scenario.measure.precondition.passes = 1), nothing);
        let of_a_lab = |run: &mut RunData| {
            for stack in &mut run.start.scenario.stacks {
                stack.medium = Medium::Drive { place: "lab".into(), name: "nvme0".into() };
            }
        };
        assert_eq!(told(of_a_lab), nothing, "drives of a lab are filled");
    }
}
