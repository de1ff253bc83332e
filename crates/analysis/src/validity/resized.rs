//! Change of a target's size between parts of a run: a file that was truncated, or a volume that
//! grew, before the run went on.

use crate::gather::reading::WorkloadView;
use iotax_model::record::Place;
use iotax_units::show_bytes;
use std::collections::BTreeMap;

const KIND: &str = "resized";

/// Returns the kind and the text of a warning if the target of a stack, in some place, did not have
/// the same size in all visits under this workload.
pub fn changed_size(reading: &WorkloadView, at: usize) -> Option<(&'static str, String)> {
    let ours = reading.run.workers.iter().filter(|worker| {
        worker.stack == reading.name(at) && worker.workload == reading.workload.name
    });
    let mut first: BTreeMap<&Place, u64> = BTreeMap::new();
    for worker in ours {
        let bytes = *first.entry(&worker.place).or_insert(worker.bytes);
        if bytes != worker.bytes {
            let text = format!(
                "{} had {} at first and {} in visit {}: its figures are of both, and of neither; hint: run it again",
                worker.target,
                show_bytes(bytes),
                show_bytes(worker.bytes),
                worker.visit + 1
            );
            return Some((KIND, text));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::{findings, twin};
    use iotax_model::record::WorkerUp;

    #[test]
    fn a_target_that_shrank_between_visits_is_told() {
        let told = |run: &_| findings(run).warnings.into_iter().find(|one| one.kind == super::KIND);
        let mut run = twin::visits();
        assert_eq!(told(&run), None);
        let first = run.workers[0].clone();
        run.workers.push(WorkerUp { visit: 1, ..first.clone() });
        assert_eq!(told(&run), None);
        run.workers.push(WorkerUp { visit: 2, bytes: first.bytes / 4, ..first });
        let text = told(&run).unwrap().text;
        assert!(
            text.contains(" at first and ")
                && text.contains("in visit 3")
                && text.contains("run it again"),
            "{text}"
        );
    }
}
