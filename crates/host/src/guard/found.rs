//! What is found on a target that is to be written: values, which travel over the wire.

use super::marker::Marker;
use super::sample;
use crate::block::Identity;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Everything the guard knows of a target. Travels over the wire to and from an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// As named by the user.
    pub path: PathBuf,
    pub kind: InspectedKind,
    /// Whether the name is a symbolic link.
    pub symlink: bool,
    pub bytes: u64,
    /// By what names the target can be told from every other.
    pub identity: Identity,
    /// Our marker, when it is a file of ours.
    pub marker: Option<Marker>,
    pub occupied: Vec<Finding>,
    /// What lies on it.
    pub signatures: Vec<Signature>,
    /// What the random blocks showed; `None` when they were not read.
    pub sample: Option<sample::BlockSample>,
    /// What could not be looked at.
    pub unchecked: Vec<UncheckedPoint>,
    /// Whether the kernel refuses writes to it.
    pub read_only: bool,
    /// It was looked at over ssh without an agent there: what could not be looked at may be
    /// consented to by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub afar: bool,
}

/// What a target is.
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

/// One use of the target by somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of use.
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

/// Something on the target that its owner may miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// libblkid's name where it has one: `ext4`, `gpt`, `LVM2_member`; `data` for data without any.
    pub name: String,
    /// Where: `at byte 1080`, `in partition sdb1 at byte 1080`, `by blkid`.
    pub place: String,
}

impl Signature {
    /// Whether it is a mark that a tool would know by its name, and not mere data.
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
    /// Of a path at which nobody has looked yet.
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
