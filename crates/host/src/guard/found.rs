//! Findings on a target that is to be written: values, which travel over the wire.

use super::marker::Marker;
use super::sample;
use crate::block::Identity;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Facts that the guard knows of a target. Travels over the wire to and from an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Path as named by the user.
    pub path: PathBuf,
    pub kind: InspectedKind,
    /// True if the name is a symbolic link.
    pub symlink: bool,
    pub bytes: u64,
    /// Names that distinguish the target from every other.
    pub identity: Identity,
    /// Marker, when it is a file of ours.
    pub marker: Option<Marker>,
    pub occupied: Vec<Finding>,
    /// Signatures of what is on it.
    pub signatures: Vec<Signature>,
    /// Result of the random blocks; `None` when they were not read.
    pub sample: Option<sample::BlockSample>,
    /// Points that could not be looked at.
    pub unchecked: Vec<UncheckedPoint>,
    /// True if the kernel refuses writes to it.
    pub read_only: bool,
    /// True if it was looked at over ssh without an agent there: what could not be looked at may be
    /// consented to by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub afar: bool,
}

/// Kind of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectedKind {
    File,
    /// A whole block device.
    Disk,
    /// A partition of a disk: the disk's kernel name.
    Partition(String),
    /// Neither: `a folder`, `a character device`, `a file that the kernel makes up (procfs)`.
    Other(String),
}

/// Use of the target by somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: TargetUse,
    /// A clause for people: `mounted at /srv (ext4)`.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetUse {
    /// Mounted, in this or in another mount namespace, itself or a partition of it.
    Mounted,
    Swap,
    /// A loop device is on it.
    Loop,
    /// The kernel stacks another device on it (md, LVM, crypt, bcache).
    Holder,
    /// A path of a multipath device, or one of several ways to the same disk.
    Multipath,
    /// Exported by the kernel (LIO, nvmet).
    Exported,
    /// A process has it open.
    Open,
    /// The kernel holds it exclusively, for whoever.
    Exclusive,
}

/// Mark on the target that its owner may miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// libblkid's name where it has one: `ext4`, `gpt`, `LVM2_member`; `data` for data without any.
    pub name: String,
    /// Place of the signature: `at byte 1080`, `in partition sdb1 at byte 1080`, `by blkid`.
    pub place: String,
}

impl Signature {
    /// Returns true if it is a mark that a tool would know by its name, and not mere data.
    pub fn is_mark(&self) -> bool {
        ![DATA, AMBIVALENT].contains(&self.name.as_str())
    }
}

/// Name of content that has no mark.
pub const DATA: &str = "data";
/// Name of marks that contradict each other.
pub(super) const AMBIVALENT: &str = "ambivalent";

/// A check that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncheckedPoint {
    pub check: InspectionCheck,
    pub why: String,
}

/// The checks that may fail to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectionCheck {
    Mounts,
    /// Other processes' open files.
    Open,
    /// An exclusive open of the device.
    Exclusive,
    /// Signatures and data on it.
    Content,
    /// SCSI or NVMe persistent reservations.
    Reservation,
}

impl Inspection {
    /// Makes the inspection of a path at which nobody has looked yet.
    pub fn blank(path: &Path) -> Inspection {
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
