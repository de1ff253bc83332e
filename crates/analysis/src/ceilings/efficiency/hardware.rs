//! Drives of a stack, if its place reports each of them separately, with model, capacity and links.
//! If one is not reported, or may be several drives in one, the drives of the stack count as
//! unknown.

use iotax_facts::machine::{Device, TargetFacts};
use iotax_hardware::ratings::{DriveMatch, Ratings};
use iotax_model::record::PlaceFacts;
use iotax_model::stack::{Medium, Stack};
use iotax_store::RunData;

/// Drives of a stack, one per member of its medium, all of them different.
pub(super) struct Hardware<'a> {
    drives: Vec<MatchedDrive<'a>>,
}

#[derive(Clone, Copy)]
pub(super) struct MatchedDrive<'a> {
    pub(super) place: &'a PlaceFacts,
    pub(super) device: &'a Device,
}

/// Returns the only drive of a stack, as its place reports it; `None` if it may be several.
pub fn drive_below<'a>(run: &'a RunData, stack: &'a Stack) -> Option<&'a Device> {
    match Hardware::from_run(run, stack)?.drives.as_slice() {
        [one] => Some(one.device),
        _ => None,
    }
}

impl<'a> Hardware<'a> {
    /// Finds the drives of a stack; `None` unless each member is a drive of its own.
    pub(super) fn from_run(run: &'a RunData, stack: &'a Stack) -> Option<Hardware<'a>> {
        let drives: Option<Vec<MatchedDrive>> =
            stack.medium.members().iter().map(|member| drive(run, member)).collect();
        let drives = drives.filter(|drives| !drives.is_empty())?;
        let same = |one: &MatchedDrive, other: &MatchedDrive| {
            one.place.place == other.place.place && one.device.name == other.device.name
        };
        let twice = drives
            .iter()
            .enumerate()
            .any(|(at, one)| drives[..at].iter().any(|other| same(one, other)));
        (!twice).then_some(Hardware { drives })
    }

    pub(super) fn drives(&self) -> &[MatchedDrive<'a>] {
        &self.drives
    }

    /// Returns the rating of the drives for the sizes that they have, if all are of one model.
    pub(super) fn rating<'r>(&self, ratings: &'r Ratings) -> Option<DriveMatch<'r>> {
        let of = |drive: &MatchedDrive| {
            ratings.rating_of(drive.device.model.as_ref()?, Some(drive.device.bytes? as f64))
        };
        let mut all = self.drives.iter().map(of);
        let mut first = all.next()??;
        for other in all {
            let other = other.filter(|other| std::ptr::eq(other.drive, first.drive))?;
            first.sizes.extend(other.sizes);
        }
        Some(first)
    }
}

/// Returns what a place reports about a member of a medium, once for each time that it was
/// recorded. A file that did not exist yet is described by its folder.
pub(super) fn targets<'a>(
    run: &'a RunData,
    member: &'a Medium,
) -> impl Iterator<Item = (&'a PlaceFacts, &'a TargetFacts)> {
    let (path, folder) = match member {
        Medium::File { path, .. } | Medium::Remote { path, size: Some(_), .. } => {
            (Some(path), path.parent())
        }
        Medium::Device { path } | Medium::Remote { path, .. } => (Some(path), None),
        Medium::Drive { .. }
        | Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => (None, None),
    };
    let place = member.place();
    let known = run.places.iter().filter(move |known| known.place == place);
    let known_targets =
        known.flat_map(|known| known.facts.targets.iter().map(move |target| (known, target)));
    known_targets.filter(move |(_, target)| {
        Some(&target.path) == path || Some(target.path.as_path()) == folder
    })
}

fn drive<'a>(run: &'a RunData, member: &'a Medium) -> Option<MatchedDrive<'a>> {
    targets(run, member).find_map(|(place, target)| {
        Some(MatchedDrive { place, device: only_drive(&target.devices)? })
    })
}

/// Returns the only device that is neither a partition of another nor a dm, md or loop device: the
/// drive below all others. `None` if there is no such device, or more than one.
fn only_drive(devices: &[Device]) -> Option<&Device> {
    let is_made =
        |device: &Device| ["dm-", "md", "loop"].iter().any(|kind| device.name.starts_with(kind));
    let is_part =
        |device: &Device| devices.iter().any(|whole| is_part_of(&device.name, &whole.name));
    let mut drives = devices.iter().filter(|device| !is_made(device) && !is_part(device));
    drives.next().filter(|_| drives.next().is_none())
}

/// Returns true for a partition of a drive: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part_of(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole).map(|rest| {
        match whole.ends_with(|last: char| last.is_ascii_digit()) {
            true => rest.strip_prefix('p').unwrap_or_default(),
            false => rest,
        }
    });
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_what_is_left_of_partitions_and_what_is_made_of_them() {
        let of = |names: &[&str]| {
            let device = |name: &&str| Device { name: (*name).to_owned(), ..Device::default() };
            let devices: Vec<Device> = names.iter().map(device).collect();
            only_drive(&devices).map(|device| device.name.clone())
        };
        assert_eq!(of(&["nvme0n1p1", "nvme0n1"]).as_deref(), Some("nvme0n1"));
        assert_eq!(of(&["loop3", "dm-0", "sda2", "sda"]).as_deref(), Some("sda"));
        assert_eq!(of(&["sda", "sdaa"]), None);
        assert_eq!(of(&["md0", "nvme1n1", "nvme1n1p1", "nvme11n1"]), None);
        // The drive without a model may answer for a part of it.
        assert_eq!(of(&["dm-1", "nvme0n1", "vda"]), None);
        assert_eq!(of(&[]), None);
    }
}
