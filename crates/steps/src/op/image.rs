//! A qcow2 image within a stretch of a file of ours or of a block device, made by QEMU itself. It
//! has no name and nothing of its own to undo: it goes with what it lies in.

use super::{Operation, PathRef, RealSystem, ResourceChange};
use crate::image;
use anyhow::Result;
use iotax_units::{show_bytes, size_word};
use serde::{Deserialize, Serialize};

/// QEMU's `blockdev-create` with `driver=qcow2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeImage {
    /// What it lies in.
    pub on: PathRef,
    /// Whether that is a block device.
    pub block: bool,
    /// Where it begins there.
    pub offset: u64,
    /// Bytes that it may take.
    pub room: u64,
    /// Bytes of the disk that it is.
    pub bytes: u64,
    /// Bytes of a cluster.
    pub cluster: u64,
    /// Whether every cluster has its place from the start (QEMU's `preallocation=metadata`).
    pub mapped: bool,
    /// Refcounts are not kept up to date with every write.
    pub lazy_refcounts: bool,
}

impl MakeImage {
    /// QEMU's word for where clusters get their places.
    pub fn preallocation(&self) -> &'static str {
        if self.mapped { "metadata" } else { "off" }
    }
}

impl Operation for MakeImage {
    fn describe(&self) -> String {
        format!(
            "qemu-storage-daemon blockdev-create driver=qcow2,size={},cluster-size={},preallocation={}{} in {} of {} from {} on",
            size_word(self.bytes, show_bytes(self.bytes)),
            show_bytes(self.cluster),
            self.preallocation(),
            if self.lazy_refcounts { ",lazy-refcounts=on" } else { "" },
            size_word(self.room, show_bytes(self.room)),
            self.on,
            size_word(self.offset, show_bytes(self.offset))
        )
    }

    fn irreversible(&self) -> Option<String> {
        Some(format!("what {} held there is lost", self.on))
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.on]
    }
}

impl ResourceChange for MakeImage {
    fn make(&self, _: &mut RealSystem) -> Result<()> {
        image::make(self)
    }
}
