//! Admission of a target: inspects it, judges it, and claims a device that will be written, in one
//! call.

use super::found::{InspectedKind, Inspection};
use super::inspect::{Depth, identity_of, inspect_as};
use super::judge::{Intent, Permit, judge, judge_free};
use crate::block::Identity;
use anyhow::Result;
use iotax_facts::Consent;
use iotax_units::exit::Failed;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Admission {
    pub inspection: Inspection,
    /// Warnings: who else uses a target that is read, or what could not be checked.
    pub permit: Permit,
    /// Claim on a device that will be written, which keeps mounts, md, LVM and swap off until it is
    /// dropped. `None` for a file, and for a device that is only read or taken.
    pub hold: Option<Hold>,
}

/// Devices that the guard has let a run write. Data or a file system that the run leaves on them
/// between its visits is no reason to refuse them; another device under the same name is judged
/// again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Admitted(Vec<(PathBuf, Identity)>);

impl Admitted {
    pub fn add_device(&mut self, path: &Path, identity: Identity) {
        self.0.push((path.to_owned(), identity));
    }

    /// Returns true if the device at this path was admitted under this path, and is still the same
    /// one.
    ///
    /// # Errors
    /// A target was admitted under this path, and what is there now cannot be looked at.
    pub fn is_admitted(&self, path: &Path) -> Result<bool> {
        let mut known = self.0.iter().filter(|(known, _)| known == path).peekable();
        if known.peek().is_none() {
            return Ok(false);
        }
        let identity = identity_of(path)?;
        Ok(known.any(|(_, known)| known.is_same_device(&identity)))
    }
}

/// An exclusive claim on a block device. Plain opens still work; another request for exclusive use
/// (mount, swapon, mkfs, mdadm, LVM) gets EBUSY.
#[derive(Debug)]
pub struct Hold {
    _claim: File,
}

/// Inspects and judges a target, and claims it if it is a device to be written.
///
/// # Errors
/// The target cannot be inspected; it is refused (bad input, with every reason found); or the
/// device cannot be claimed.
pub fn admit(path: &Path, intent: Intent, consent: &[Consent]) -> Result<Admission> {
    let depth = match intent {
        Intent::Read | Intent::Take => Depth::Quick,
        Intent::Write => Depth::Full,
    };
    let inspection = inspect_as(path, depth)?;
    let permit = judge(&inspection, intent, consent).map_err(Failed::from)?;
    let is_device = matches!(inspection.kind, InspectedKind::Disk | InspectedKind::Partition(_));
    let hold = (is_device && intent == Intent::Write).then(|| claim_device(path)).transpose()?;
    Ok(Admission { inspection, permit, hold })
}

/// Claims an unused drive that is about to be taken from this host. Whether it may be taken at all
/// was judged when the run was planned.
///
/// # Errors
/// The drive cannot be inspected; it is in use or no whole disk (bad input, with every reason
/// found); or it cannot be claimed.
pub fn claim_free(path: &Path) -> Result<Hold> {
    judge_free(&inspect_as(path, Depth::Quick)?).map_err(Failed::from)?;
    claim_device(path)
}

/// Claims a block device.
///
/// # Errors
/// Bad input: the device is in use or cannot be opened, or the path is no block device.
pub fn claim_device(path: &Path) -> Result<Hold> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let refuse = |why: String| Failed::input(format!("cannot claim {}: {why}", path.display()));
    let fd =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| refuse(error.to_string()))?;
    let claim = File::from(fd);
    match claim.metadata() {
        Ok(meta) if meta.file_type().is_block_device() => Ok(Hold { _claim: claim }),
        _ => Err(refuse("it is not a block device".into()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::marker;
    use crate::guard::rig::Loop;

    #[test]
    fn a_claim_keeps_others_off_and_ends_with_its_value() {
        let Some(device) = Loop::with_size(1 << 20) else {
            return;
        };
        let hold = claim_device(&device.path).expect("claim");
        assert!(claim_device(&device.path).unwrap_err().to_string().contains("busy"));
        assert!(File::options().write(true).open(&device.path).is_ok(), "plain opens go on");
        drop(hold);
        // A child that another test starts holds a copy of the file from its fork to its exec.
        let is_free = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            claim_device(&device.path).is_ok()
        });
        assert!(is_free);
    }

    #[test]
    fn files_are_admitted_by_their_marker() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (ours, theirs) = (folder.path().join("a"), folder.path().join("b"));
        marker::create_marked_file(&ours, 1 << 20, "run-1").expect("create");
        std::fs::write(&theirs, "precious").expect("write");
        assert!(admit(&ours, Intent::Write, &[]).expect("ours").hold.is_none());
        assert!(admit(&theirs, Intent::Read, &[]).is_ok());
        let error = admit(&theirs, Intent::Write, &[]).expect_err("theirs");
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
        assert!(claim_device(&ours).unwrap_err().to_string().contains("not a block device"));
    }

    #[test]
    fn a_device_without_consent_is_not_admitted() {
        let Some(device) = Loop::with_size(1 << 20) else {
            return;
        };
        let admission = admit(&device.path, Intent::Read, &[]).expect("reading");
        assert!(admission.hold.is_none());
        assert!(admit(&device.path, Intent::Write, &[]).is_err());
    }
}
