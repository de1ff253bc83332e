//! Makes a qcow2 image within a part of a file of ours or of a block device, by QEMU itself.
//! Nothing is undone for it: it disappears with what it is in.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use iotax_qemu::image;
use iotax_qemu::image::MakeImage;
use iotax_units::{show_bytes, size_word};

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

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("what {} held there is lost", self.on))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.on]
    }
}

impl ResourceChange for MakeImage {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        image::make_image(self)
    }
}
