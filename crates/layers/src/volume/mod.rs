//! Layers of one host between devices and what is above: loop, partition, split, linear, mdraid,
//! lvm, zfs, fs; devices that a running SPDK target, or an engine unknown to iotax, makes of them;
//! a Ceph cluster on them, and its images as files or devices.

mod bcache;
pub mod ceph;
mod domain;
mod fio_client;
pub mod fs;
mod krbd;
mod librbd;
mod linear;
mod loopdev;
pub mod lvm;
mod mdraid;
mod partition;
mod readahead;
mod spdk;
mod tool;
pub mod zfs;

pub use bcache::Bcache;
pub use ceph::Ceph;
pub use domain::Domain;
pub use fio_client::{FioRbd, Rados};
pub use fs::FileSystem;
pub use krbd::Krbd;
pub use librbd::Librbd;
pub use linear::{Linear, SplitLayer};
pub use loopdev::Loop;
pub use lvm::Lvm;
pub use mdraid::MdRaid;
pub use partition::Partition;
pub use readahead::ReadAhead;
pub use spdk::SpdkBdev;
pub use tool::ByTool;
pub use zfs::Zfs;

use super::{Array, ExposedDevice, Layer, PlanContext, required_word};
use anyhow::{Result, bail};
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{MakeDirectory, MakeFile, Mount, Op};

pub const ALL: &[&dyn Layer] = &[
    &Loop,
    &Lvm,
    &Bcache,
    &ReadAhead,
    &Zfs,
    &FileSystem,
    &Partition,
    &SplitLayer,
    &Linear,
    &MdRaid,
    &SpdkBdev,
    &Ceph,
    &Librbd,
    &Krbd,
    &Rados,
    &FioRbd,
    &Domain,
    &ByTool,
];

/// Adds the steps that make the mount point, mount a file system and fill one file on it. Returns
/// the file's path.
fn file_on(context: &mut PlanContext, mount: Mount, bytes: u64) -> PathRef {
    let path = mount.directory.join("iotax.data");
    let directory = MakeDirectory { path: mount.directory.clone() };
    context.add_step("make the mount point", Op::MakeDirectory(directory));
    context.add_step("mount the file system", Op::Mount(mount));
    let file = MakeFile { path: path.clone(), bytes, keep: false, inside_mount: true };
    context.add_step("create the file on it", Op::MakeFile(file));
    let fill = context.fill_of(&context.place, &path, bytes);
    context.add_step("fill the file on it", Op::FillFile(fill));
    PathRef::Path(path)
}

/// Returns the arrays that can lose members: the one that a step has `made` of all members below,
/// or else those below.
fn array_of(
    spec: &LayerSpec,
    below: &ExposedDevice,
    step: StepId,
    made: PathRef,
    in_use: u64,
) -> Vec<Array> {
    if spec.survivable_failures(below.paths.len()) == 0 {
        return below.arrays.clone();
    }
    let (members, place) = (below.paths.clone(), below.place.clone());
    vec![Array { step, made, members, spec: spec.clone(), place, in_use }]
}

/// Refuses options in the stack that mean nothing for the value of the option `of`, such as `type`.
/// Each row of the table has an option and the values that it goes with.
///
/// # Errors
/// The first such option, with the values that it goes with.
fn options_of(spec: &LayerSpec, of: &str, table: &[(&str, &[&str])]) -> Result<()> {
    let value = required_word(spec, of)?;
    let stray = table
        .iter()
        .find(|(option, values)| spec.options.contains_key(*option) && !values.contains(&value));
    match stray {
        Some((option, values)) => bail!(
            "{}: {option} means nothing with {}({of}={value}); hint: it goes with {of}={}",
            spec.origin,
            spec.name,
            values.join(" or ")
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "testing/rig.rs"]
mod rig;
