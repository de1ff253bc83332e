//! vhost-user-blk over a socket that the layer below provides. The process that listens there (an
//! engine of the stack, or an existing one) serves the disk through the guest's memory. No I/O
//! passes through QEMU, and nothing is started or removed here.

use super::vhost_user_blk;
use crate::attach::way::{AttachWay, Property};
use crate::disk::{Backend, DiskSpec};
use crate::option_value::CommandLine;

pub struct VhostUserSocket;

impl AttachWay for VhostUserSocket {
    fn name(&self) -> &'static str {
        "vhost-user-blk with socket"
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn takes_iothread(&self) -> bool {
        false
    }

    fn shows_serial(&self) -> bool {
        false
    }

    fn lacking_options(&self) -> &'static [&'static str] {
        crate::attach::way::OF_QEMUS_BLOCK_LAYER
    }

    /// Returns false: the server of the socket decides whether the disk can be written.
    fn keeps_writes_out(&self, _: Backend) -> bool {
        false
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        vhost_user_blk::properties(at)
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        vhost_user_blk::add(line, at, disk, &disk.path);
    }
}
