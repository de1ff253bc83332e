//! Ways to attach a disk to a guest, each in a file of its own. A way provides QEMU's options for
//! the disk's devices, names what the host must have, and refuses the disk options that it does not
//! support. The oldest QEMU that iotax supports has all of them.

mod nvme;
mod socket;
mod spdk;
mod vfio;
mod vhost_scsi;
mod vhost_user_blk;
mod virtio_blk;
mod virtio_scsi;
pub mod way;

use crate::attach::way::AttachWay;

/// Ways to attach a disk that a stack can choose by name.
pub const ALL: &[&dyn AttachWay] = &[
    &virtio_blk::VirtioBlk,
    &virtio_scsi::VirtioScsi,
    &nvme::Nvme,
    &vhost_user_blk::VhostUserBlk,
    &vhost_scsi::VhostScsi,
    &vfio::Vfio,
];

/// Variant of `vhost-user-blk` that the option `spdk` selects.
pub const SPDK: &dyn AttachWay = &spdk::VhostUserSpdk;

/// Variant of `vhost-user-blk` over a socket that another process serves.
pub const SOCKET: &dyn AttachWay = &socket::VhostUserSocket;

pub fn by_name(name: &str) -> Option<&'static dyn AttachWay> {
    ALL.iter().copied().find(|way| way.name() == name)
}
