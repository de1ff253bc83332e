//! Data that a side of a comparison reads although this run did not write it. A new volume is
//! written before it is read, but a drive of the user's is read as it was found. A drive answers
//! reads of blocks that were never written, or were trimmed, without reading its media. If one side
//! does so, the other looks slow. If both may, only what is between drive and load is measured.

use crate::gather::reading::WorkloadView;
use crate::validity::confounders::bases;
use iotax_model::stack::Face;
use iotax_model::stack::{LayerSpec, Medium, Stack};

pub const KIND: &str = "found_data";

/// Returns a sentence for each stack with which a stack is compared, if one of the two, or both,
/// read data that the run has not written.
pub fn data_differences(reading: &WorkloadView, at: usize) -> Vec<String> {
    let scenario = &reading.run.start.scenario;
    if scenario.measure.precondition.passes > 0
        || !reading.workload.jobs.iter().any(|job| job.rw.reads())
    {
        return Vec::new();
    }
    let said = |base: usize| {
        let [one, other] = [base, at].map(|at| &scenario.stacks[at]);
        let which = match [one, other].map(|stack| is_written(reading, stack)) {
            [true, true] => return None,
            [true, false] => was_and_was_not(one, other),
            [false, true] => was_and_was_not(other, one),
            [false, false] => {
                format!("{} and {} were both read as they were found", one.name, other.name)
            }
        };
        Some(format!(
            "{which}: a drive answers blocks that were never written, or were trimmed, without reading them; hint: --precondition 1x \
             writes all of every drive before (it needs --destroy for each)"
        ))
    };
    bases(reading, at).into_iter().filter_map(said).collect()
}

fn was_and_was_not(new: &Stack, found: &Stack) -> String {
    format!(
        "{} was written before it was measured, and {} was read as it was found",
        new.name, found.name
    )
}

/// Returns true if the run wrote the data: through the stack, into a file on a file system of its
/// own, or because it made and filled what the stack is on.
fn is_written(reading: &WorkloadView, stack: &Stack) -> bool {
    let through = reading.run.laid_out.iter().any(|one| one.stack == stack.name);
    through || stack.layers.iter().any(fills_a_file) || !is_somebodys(&stack.medium)
}

fn fills_a_file(layer: &LayerSpec) -> bool {
    layer.catalog_entry().is_some_and(|help| help.gives == Face::File)
}

/// Returns true for a medium with a device, or a path on another host, that iotax does not fill.
/// Files and drives of a lab do not count.
fn is_somebodys(medium: &Medium) -> bool {
    let theirs = |medium: &Medium| {
        matches!(medium, Medium::Device { .. } | Medium::Remote { size: None, .. })
    };
    medium.members().iter().any(theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunData, findings, twin};
    use iotax_load::Rw;
    use iotax_model::record::LaidOut;

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
        findings(&run)
            .warnings
            .into_iter()
            .filter(|one| one.kind == KIND)
            .map(|one| one.text)
            .collect()
    }

    #[test]
    fn a_drive_that_is_read_as_it_was_found_beside_one_that_was_written_is_told() {
        let told_of_devices = told(|_| ());
        assert_eq!(told_of_devices.len(), 1, "{told_of_devices:?}");
        assert!(told_of_devices[0].contains("was read as it was found"), "{told_of_devices:?}");
        let nothing: Vec<String> = Vec::new();
        let both = told(|run| run.laid_out.clear());
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].contains("were both read as they were found"), "{both:?}");
        let writing = |run: &mut RunData| {
            run.laid_out.clear();
            let jobs =
                run.start.scenario.workloads.iter_mut().flat_map(|workload| &mut workload.jobs);
            jobs.for_each(|job| job.rw = Rw::RandWrite);
        };
        assert_eq!(told(writing), nothing, "a load that only writes");
        assert_eq!(told(|run| run.start.scenario.measure.precondition.passes = 1), nothing);
        let of_a_lab = |run: &mut RunData| {
            for stack in &mut run.start.scenario.stacks {
                stack.medium = Medium::Drive { place: "lab".into(), name: "nvme0".into() };
            }
        };
        assert_eq!(told(of_a_lab), nothing, "drives of a lab are filled");
        let beside_a_file = told(|run| {
            run.laid_out.clear();
            run.start.scenario.stacks[1].medium =
                Medium::File { path: "/srv/x.img".into(), size: Some(1 << 30), keep: false };
        });
        assert!(
            beside_a_file[0].contains("was written before it was measured"),
            "{beside_a_file:?}"
        );
    }
}
