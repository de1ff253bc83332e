//! Drives that are written as a whole, as often as asked for, before the visits begin.

use super::set_plan::PlanGround;
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_layers::{PlanContext, medium};
use iotax_model::stack::{LoadIssuer, Medium};
use iotax_units::{KIB, is_unknown, show_names};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

/// Block size in bytes: SNIA's sequential block.
pub const BLOCK: u64 = 128 * KIB;
/// Drives of one place and size that are written at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub place: Place,
    pub agent: LoadIssuer,
    /// Bytes of each drive, in whole blocks; `UNKNOWN_BYTES` for a drive that nobody has looked at
    /// yet.
    pub bytes: u64,
    /// Bytes of each drive that an earlier part of the run has written, in all passes.
    pub done: u64,
    pub whose: DriveOwner,
    pub paths: Vec<PathBuf>,
}

/// Owner of the data that is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveOwner {
    /// A file of ours, with our marker after its data.
    File,
    /// A drive of a lab, which the run made.
    Drive,
    /// A device of somebody who consents to its destruction.
    Device,
}

impl Batch {
    /// Returns true if nobody misses the data on these drives.
    pub fn is_ours(&self) -> bool {
        self.whose != DriveOwner::Device
    }

    /// Returns true if two batches are equal except for their paths.
    fn is_like(&self, other: &Batch) -> bool {
        (self.agent, self.bytes, self.done, &self.whose, &self.place)
            == (other.agent, other.bytes, other.done, &other.whose, &other.place)
    }

    pub fn drive_names(&self) -> String {
        show_names(self.paths.iter().map(|path| path.display()))
    }

    /// Returns the bytes that `passes` passes write, all drives together; `None`: a size is not
    /// known yet.
    pub fn batch_bytes(&self, passes: u32) -> Option<u64> {
        (!is_unknown(self.bytes)).then(|| {
            self.bytes.saturating_mul(passes.into()).saturating_mul(self.paths.len() as u64)
        })
    }
}

/// Returns the drives and files at the bottom of all stacks, each once, in batches. `done` returns
/// the bytes that an earlier part of the run has written to a path of a place.
///
/// # Errors
/// When a list of media has a list in it.
pub fn batches(ground: &PlanGround, done: impl Fn(&Place, &str) -> u64) -> Result<Vec<Batch>> {
    let mut context = PlanContext::new(ground.tag.clone(), None, 0);
    let (mut all, mut seen): (Vec<Batch>, BTreeSet<(Place, PathBuf)>) =
        (Vec::new(), BTreeSet::new());
    let mut known = HashSet::new();
    for (index, stack) in ground.scenario.stacks.iter().enumerate() {
        let members = stack.medium.members().iter().zip(&ground.found[index]);
        // All stacks of a member have the same equal files.
        let fresh: Vec<_> = members.filter(|(member, _)| known.insert(*member)).collect();
        if fresh.is_empty() {
            continue;
        }
        for sibling in ground.layout.siblings_of(index) {
            for (member, found) in &fresh {
                let shown = medium::plan_member(member, found, sibling, &mut context)?;
                let path = shown.paths[0].resolved_path()?.to_owned();
                if !seen.insert((shown.place.clone(), path.clone())) {
                    continue;
                }
                let batch = Batch {
                    agent: member.agent(),
                    bytes: shown.bytes / BLOCK * BLOCK,
                    done: done(&shown.place, &path.to_string_lossy()),
                    whose: whose(member),
                    place: shown.place,
                    paths: Vec::new(),
                };
                match all.iter_mut().find(|known| known.is_like(&batch)) {
                    Some(known) => known.paths.push(path),
                    None => all.push(Batch { paths: vec![path], ..batch }),
                }
            }
        }
    }
    Ok(all)
}

fn whose(medium: &Medium) -> DriveOwner {
    match medium {
        Medium::Drive { .. } => DriveOwner::Drive,
        Medium::File { .. } | Medium::Remote { size: Some(_), .. } => DriveOwner::File,
        _ => DriveOwner::Device,
    }
}

/// Returns the bytes that the passes of a run write, as far as sizes are known.
///
/// # Errors
/// As [`batches`].
pub fn passes_bytes(ground: &PlanGround) -> Result<u64> {
    let passes = ground.scenario.measure.precondition.passes;
    let batches = if passes > 0 { batches(ground, |_, _| 0)? } else { Vec::new() };
    Ok(batches.iter().filter_map(|batch| batch.batch_bytes(passes)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::layout;
    use iotax_drivers::run_tag::RunTag;
    use iotax_layers::medium::FoundMedium;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    #[test]
    fn drives_of_one_size_are_written_at_the_same_time() {
        let stacks =
            ["each([/dev/vda,/dev/vdb])", "[/dev/vda,/dev/vdb,/dev/vdc] | mdraid(level=0)"];
        let measure = vec![("precondition".to_owned(), "2x".to_owned())];
        let words = vec![("rw".to_owned(), "randread".to_owned())];
        let request = ScenarioRequest { words, measure, ..ScenarioRequest::default() };
        let scenario = from_arguments(&stacks.map(str::to_owned), &request).unwrap();
        let of = |bytes| FoundMedium::without_signature(bytes, true, true);
        let (one, odd) = (of(1 << 40), of((1 << 39) + 512));
        let found = vec![vec![one.clone(), one.clone()], vec![one.clone(), one, odd]];
        let layout = layout(&scenario);
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let ground = PlanGround {
            scenario: &scenario,
            layout: &layout,
            found: &found,
            guest_parts: None,
            tag,
        };
        let all = batches(&ground, |_, path| if path == "/dev/vdb" { 0 } else { 7 }).unwrap();
        let shown: Vec<_> =
            all.iter().map(|batch| (batch.drive_names(), batch.bytes, batch.done)).collect();
        let of = |name: &str, bytes, done| (name.to_owned(), bytes, done);
        // Drives that kept different amounts are in different batches.
        assert_eq!(
            shown,
            [of("/dev/vda", 1 << 40, 7), of("/dev/vdb", 1 << 40, 0), of("/dev/vdc", 1 << 39, 7)]
        );
        let all = batches(&ground, |_, _| 0).unwrap();
        assert_eq!(
            (all[0].paths.len(), all[0].batch_bytes(2), passes_bytes(&ground).unwrap()),
            (2, Some(4 << 40), 5 << 40)
        );
    }
}
