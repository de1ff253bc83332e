//! What an inspection of a target finds, as values that an agent sends over the wire.

use super::marker::Marker;
use super::sample;
use crate::block::Identity;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the guard knows about a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    pub path: PathBuf,
    pub kind: InspectedKind,
    pub symlink: bool,
    pub bytes: u64,
    pub identity: Identity,
    /// Valid marker of the file; `None` if iotax did not make it, or for a device.
    pub marker: Option<Marker>,
    pub occupied: Vec<Finding>,
    pub signatures: Vec<Signature>,
    /// Result of reading random blocks and both ends; `None` if they were not read.
    pub sample: Option<sample::BlockSample>,
    pub unchecked: Vec<UncheckedPoint>,
    pub read_only: bool,
    /// True if the target was inspected over SSH without an agent; checks that could not be made
    /// may then be waived by name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub afar: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectedKind {
    File,
    /// A whole block device.
    Disk,
    /// Partition of a disk, with the disk's kernel name.
    Partition(String),
    /// Anything else: `a folder`, `a character device`, `a file that the kernel makes up (procfs)`.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: TargetUse,
    /// A clause for people: `mounted at /srv (ext4)`.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetUse {
    /// The target, a partition of it, or the disk that it is on is mounted, in this or in another
    /// mount namespace.
    Mounted,
    Swap,
    /// A loop device is on it.
    Loop,
    /// The kernel has stacked another device on it (md, LVM, crypt, bcache).
    Holder,
    /// The target is a path of a multipath device, or the same disk is also there under another
    /// name.
    Multipath,
    /// Exported by the kernel (LIO, nvmet).
    Exported,
    Open,
    /// The kernel holds it exclusively, for an unknown user.
    Exclusive,
}

/// Sign of data on a target that its owner may need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// libblkid's name if there is one: `ext4`, `gpt`, `LVM2_member`; else `data` for data without
    /// a mark, or `ambivalent` for contradictory marks.
    pub name: String,
    /// Place of the signature: `at byte 1080`, `in partition sdb1 at byte 1080`, `by blkid`.
    pub place: String,
}

impl Signature {
    /// Returns true for the mark of a format; false for data without a mark, and for contradictory
    /// marks.
    pub fn is_mark(&self) -> bool {
        ![DATA, AMBIVALENT].contains(&self.name.as_str())
    }
}

/// Name of a [`Signature`] for data that has no mark.
pub const DATA: &str = "data";
/// Name of a [`Signature`] for marks that contradict one another.
pub(super) const AMBIVALENT: &str = "ambivalent";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncheckedPoint {
    pub check: InspectionCheck,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectionCheck {
    Mounts,
    /// Whether other processes have the target open.
    Open,
    /// Whether the device can be opened exclusively.
    Exclusive,
    /// Signatures and data on the target.
    Content,
    /// SCSI or NVMe persistent reservations.
    Reservation,
}

impl Inspection {
    /// Returns an inspection of a path, with nothing found yet.
    pub fn blank_at(path: &Path) -> Inspection {
        Inspection {
            path: path.to_owned(),
            kind: InspectedKind::File,
            symlink: false,
            bytes: 0,
            identity: Identity::default(),
            marker: None,
            occupied: Vec::new(),
            signatures: Vec::new(),
            sample: None,
            unchecked: Vec::new(),
            read_only: false,
            afar: false,
        }
    }
}
