//! References to the devices and files that steps and loads work on.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Reference to a device or file: a path that the plan knows, the output of an earlier step (the
/// number of a loop device is not known beforehand), a disk that its guest must find, or something
/// without a path, such as a bdev.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRef {
    Path(PathBuf),
    Yield(StepId),
    /// The disk with this serial in the guest where the load runs.
    Serial(String),
    /// The disk at this PCI address (`0000:00:10.0`) in the guest where the load runs.
    Pci(String),
    /// A bdev of a running SPDK target, which is no file or device of any kernel.
    Bdev {
        rpc: PathBuf,
        /// Name of the bdev there, or an alias of it.
        name: String,
    },
    /// A pool of a Ceph cluster: each layer on it makes an image of its own there.
    RbdPool {
        conf: PathBuf,
        pool: String,
    },
    /// An image in a pool of a Ceph cluster, which is no file or device of any kernel.
    Rbd(Box<RbdImage>),
    /// No device, where only a machine is measured, by probes.
    Nothing,
}

impl PathRef {
    /// Returns the path, if it is known on this machine.
    ///
    /// # Errors
    /// If an earlier step has not yielded it yet, only a guest can know it, or the thing has no
    /// path.
    pub fn resolved_path(&self) -> anyhow::Result<&Path> {
        match self {
            PathRef::Path(path) => Ok(path),
            PathRef::Yield(step) => {
                anyhow::bail!("the path that step {step} yields is not known yet")
            }
            PathRef::Pci(address) => {
                anyhow::bail!("the disk at PCI address {address} is only known in its guest")
            }
            PathRef::Serial(serial) => {
                anyhow::bail!("the disk with serial {serial} is only known in its guest")
            }
            PathRef::Bdev { name, .. } => {
                anyhow::bail!("the SPDK bdev {name} is not a block device, so it has no path")
            }
            PathRef::RbdPool { .. } | PathRef::Rbd(_) | PathRef::Nothing => {
                anyhow::bail!("{self} is not a block device, so it has no path")
            }
        }
    }

    /// Returns the RPC socket of the SPDK target that has the bdev, and the name of the bdev.
    ///
    /// # Errors
    /// If this does not refer to a bdev.
    pub fn bdev(&self) -> anyhow::Result<(&PathBuf, &str)> {
        match self {
            PathRef::Bdev { rpc, name } => Ok((rpc, name)),
            other => anyhow::bail!("{other} is not an SPDK bdev"),
        }
    }
}

impl std::fmt::Display for PathRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PathRef::Path(path) => write!(f, "{}", path.display()),
            // Counted from one, as in the lists of a plan.
            PathRef::Yield(step) => write!(f, "<device of step {}>", step + 1),
            PathRef::Serial(serial) => write!(f, "<disk {serial}>"),
            PathRef::Pci(address) => write!(f, "<disk at PCI {address}>"),
            PathRef::Bdev { name, .. } => write!(f, "bdev {name}"),
            PathRef::RbdPool { pool, .. } => write!(f, "rbd:{pool}"),
            PathRef::Rbd(rbd) => write!(f, "rbd:{}/{}", rbd.pool, rbd.image),
            PathRef::Nothing => f.write_str("cpu"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RbdImage {
    pub conf: PathBuf,
    pub pool: String,
    pub image: String,
}

pub type StepId = u32;
