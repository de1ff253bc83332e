//! Identifies the drives under an array, a volume group, a pool or a partition table. The journal
//! has their paths, and the kernel may give those to other drives at the next boot, so undo first
//! checks that each is still the same drive.

use crate::path_ref::PathRef;
use crate::refusal::NotOurs;
use anyhow::Result;
use iotax_host::block::{self, Identity, PartitionExtent};
use iotax_host::guard::inspect::identity_of;
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Identities of members in their order, which the journal records before a step makes anything.
/// `None` for a member that nothing identifies (a loop device, a volume).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drives(Vec<Option<DriveIdentity>>);

/// Identity of a drive, or of a partition of it, that no boot changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveIdentity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serial: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wwn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<PartitionExtent>,
}

impl DriveIdentity {
    /// Converts an identity. Returns `None` if it has neither a WWN nor a serial that no other disk
    /// reports.
    fn from_identity(identity: Identity) -> Option<DriveIdentity> {
        let serial = identity.serial.filter(|_| identity.serial_shared_with.is_empty());
        let names_one = serial.is_some() || identity.wwn.is_some();
        names_one.then_some(DriveIdentity { serial, wwn: identity.wwn, part: identity.part })
    }

    /// Returns true if both are the same drive and the same partition of it: by the WWN if both
    /// have one, else by the serial.
    fn is_same_drive(&self, other: &DriveIdentity) -> bool {
        let same = match (&self.wwn, &other.wwn) {
            (Some(own), Some(other)) => own == other,
            _ => self.serial.is_some() && self.serial == other.serial,
        };
        same && self.part == other.part
    }

    fn shown_identity(&self) -> String {
        match (&self.serial, &self.wwn) {
            (Some(serial), _) => format!("serial {serial}"),
            (None, Some(wwn)) => format!("WWN {wwn}"),
            (None, None) => "no name".to_owned(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum MemberLocation {
    /// The path leads to the same drive, or to nothing and no other path leads to that drive.
    There,
    Moved(PathBuf),
    /// The path leads to another drive, and no one other path leads to the member's: a message that
    /// says so.
    Anothers(String),
}

/// Path at which nothing can ever be, for a member that is gone.
const NOWHERE: &str = "/dev/null/gone";

impl Drives {
    /// Creates the list from identities in the members' order. A member's entry is `None` if its
    /// identity is, or does not identify one drive.
    pub fn of_identities(identities: impl IntoIterator<Item = Option<Identity>>) -> Drives {
        let drive = |identity: Option<Identity>| identity.and_then(DriveIdentity::from_identity);
        Drives(identities.into_iter().map(drive).collect())
    }

    /// Returns true if no member's identity is known.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Sets each member's path to where its drive is on this machine now. If a member's path leads
    /// to another drive, sets a path at which nothing can be, and returns a message about it.
    pub fn update_member_paths(&self, members: Vec<&mut PathRef>) -> Vec<String> {
        let mut others = Vec::new();
        for (member, known) in members.into_iter().zip(&self.0) {
            let (Ok(path), Some(known)) = (member.resolved_path(), known) else { continue };
            match locate_member(path, known, drive_at(path), identified_drives) {
                MemberLocation::There => {}
                MemberLocation::Moved(path) => *member = PathRef::Path(path),
                MemberLocation::Anothers(why) => {
                    others.push(why);
                    *member = PathRef::Path(NOWHERE.into());
                }
            }
        }
        others
    }
}

/// Fails if [`Drives::update_member_paths`] returned messages: something is left on those members.
///
/// # Errors
/// [`NotOurs`] with the messages, if there are any.
pub fn left_on(others: &[String]) -> Result<()> {
    match others {
        [] => Ok(()),
        others => Err(NotOurs(others.join("; ")).into()),
    }
}

fn locate_member(
    path: &Path,
    known: &DriveIdentity,
    now: Option<Option<DriveIdentity>>,
    everywhere: impl FnOnce() -> Vec<(PathBuf, DriveIdentity)>,
) -> MemberLocation {
    if now.as_ref().is_some_and(|now| now.as_ref().is_some_and(|now| known.is_same_drive(now))) {
        return MemberLocation::There;
    }
    let mut found = everywhere().into_iter().filter(|(_, drive)| known.is_same_drive(drive));
    match (found.next(), found.next(), now) {
        (Some((path, _)), None, _) => MemberLocation::Moved(path),
        // The member is gone, with all that was on it.
        (_, _, None) => MemberLocation::There,
        (_, _, Some(now)) => MemberLocation::Anothers(format!(
            "{} is another drive now ({}, and not {}), and that one is not here: left alone",
            path.display(),
            now.as_ref().map_or_else(|| "no serial".to_owned(), DriveIdentity::shown_identity),
            known.shown_identity()
        )),
    }
}

/// Returns the drive at a path. The outer `None` means that nothing is there.
fn drive_at(path: &Path) -> Option<Option<DriveIdentity>> {
    identity_of(path).ok().map(DriveIdentity::from_identity)
}

fn identified_drives() -> Vec<(PathBuf, DriveIdentity)> {
    let names = Probe::of_files(Path::new("/")).folder_names("/sys/class/block");
    let paths = names.iter().map(|name| block::device_path(name));
    paths.filter_map(|path| Some((path.clone(), drive_at(&path)??))).collect()
}

/// Returns the warning that all data on these members is lost.
pub fn held_is_lost(members: &[PathRef]) -> String {
    let members: Vec<String> = members.iter().map(ToString::to_string).collect();
    format!("all data on {} is lost", members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(serial: &str) -> DriveIdentity {
        DriveIdentity { serial: Some(serial.into()), wwn: None, part: None }
    }

    #[test]
    fn a_member_is_followed_to_its_new_name_and_anothers_is_left() {
        let path = Path::new("/dev/nvme0n1");
        let at = |now: Option<Option<DriveIdentity>>, all: &[(&str, &str)]| {
            let all =
                all.iter().map(|(path, serial)| (PathBuf::from(path), drive(serial))).collect();
            locate_member(path, &drive("A"), now, || all)
        };
        assert_eq!(at(Some(Some(drive("A"))), &[]), MemberLocation::There);
        let swapped = [("/dev/nvme0n1", "B"), ("/dev/nvme1n1", "A")];
        assert_eq!(
            at(Some(Some(drive("B"))), &swapped),
            MemberLocation::Moved("/dev/nvme1n1".into())
        );
        assert_eq!(at(None, &swapped), MemberLocation::Moved("/dev/nvme1n1".into()));
        assert_eq!(at(None, &[]), MemberLocation::There, "gone");
        let MemberLocation::Anothers(why) = at(Some(Some(drive("B"))), &swapped[..1]) else {
            panic!("B is not A")
        };
        assert_eq!(
            why,
            "/dev/nvme0n1 is another drive now (serial B, and not serial A), and that one is not here: left alone"
        );
        assert!(
            matches!(at(Some(None), &[]), MemberLocation::Anothers(_)),
            "a loop device, or a volume"
        );
        let two = [("/dev/nvme1n1", "A"), ("/dev/nvme2n1", "A")];
        assert!(
            matches!(at(Some(Some(drive("B"))), &two), MemberLocation::Anothers(_)),
            "which of them is not known"
        );
    }

    #[test]
    fn what_names_no_single_drive_is_not_remembered() {
        let identity = |serial: &str, shared: &[&str]| Identity {
            serial: Some(serial.into()),
            serial_shared_with: shared.iter().map(|name| (*name).to_owned()).collect(),
            ..Identity::default()
        };
        assert_eq!(DriveIdentity::from_identity(identity("A", &[])), Some(drive("A")));
        assert_eq!(DriveIdentity::from_identity(identity("A", &["sdb"])), None);
        assert_eq!(
            DriveIdentity::from_identity(Identity {
                transient: Some("boot-1-diskseq-2".into()),
                ..Identity::default()
            }),
            None
        );
        let part = PartitionExtent { number: 1, start: 1 << 20, bytes: 1 << 30 };
        assert!(
            !drive("A").is_same_drive(&DriveIdentity { part: Some(part), ..drive("A") }),
            "its partition is another place"
        );
        let of = |wwn: &str| DriveIdentity { wwn: Some(wwn.into()), ..drive("A") };
        assert!(
            of("w").is_same_drive(&of("w"))
                && !of("w").is_same_drive(&of("v"))
                && drive("A").is_same_drive(&of("w"))
        );
    }

    #[test]
    fn undoing_does_not_look_at_a_path_that_is_another_drive_now() {
        let known = Drives(vec![Some(drive("A")), None]);
        let mut members = ["/dev/null", "/dev/zero"].map(|path| PathRef::Path(path.into()));
        let others = known.update_member_paths(members.iter_mut().collect());
        assert_eq!(members[0].resolved_path().unwrap(), Path::new(NOWHERE));
        assert_eq!(
            members[1].resolved_path().unwrap(),
            Path::new("/dev/zero"),
            "nothing is known of it"
        );
        assert!(left_on(&others).unwrap_err().is::<NotOurs>());
        assert!(others[0].starts_with("/dev/null is another drive now (no serial"), "{others:?}");
        // Journals of before know nobody.
        assert!(Drives::default().update_member_paths(members.iter_mut().collect()).is_empty());
    }
}
