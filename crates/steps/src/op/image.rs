//! Makes a qcow2 image within a stretch of a file of ours or of a block device, by QEMU itself. It
//! has no name and nothing of its own to undo: it disappears with what it is in.

use super::{Operation, PathRef, RealSystem, ResourceChange};
use crate::image;
use anyhow::Result;
use iotax_units::{show_bytes, size_word};
use serde::{Deserialize, Serialize};

/// Runs QEMU's `blockdev-create` with `driver=qcow2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeImage {
    /// File or device that the image is in.
    pub on: PathRef,
    /// True if `on` is a block device.
    pub block: bool,
    /// Offset of the image there.
    pub offset: u64,
    /// Most bytes that the image may take.
    pub room: u64,
    /// Bytes of the disk in the image.
    pub bytes: u64,
    /// Bytes of a cluster.
    pub cluster: u64,
    /// True if every cluster has its place from the start (QEMU's `preallocation=metadata`).
    pub mapped: bool,
    /// True if refcounts are not kept up to date with every write.
    pub lazy_refcounts: bool,
}

impl MakeImage {
    /// Returns QEMU's word for the preallocation of clusters.
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
