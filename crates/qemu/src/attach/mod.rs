//! Ways for a disk to reach a guest, one file and one entry in [`ALL`] each. A way says which
//! devices it is in QEMU's words, what it lacks on a machine, and what of a disk's options it does
//! not take. The oldest QEMU that is taken has all of them.

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

/// Ways of attaching a disk, by QEMU's word for each.
pub const ALL: &[&dyn AttachWay] = &[
    &virtio_blk::VirtioBlk,
    &virtio_scsi::VirtioScsi,
    &nvme::Nvme,
    &vhost_user_blk::VhostUserBlk,
    &vhost_scsi::VhostScsi,
    &vfio::Vfio,
];

/// Form of `vhost-user-blk` with the option `spdk`.
pub const SPDK: &dyn AttachWay = &spdk::VhostUserSpdk;

/// Form of `vhost-user-blk` over a socket that another process serves.
pub const SOCKET: &dyn AttachWay = &socket::VhostUserSocket;

pub fn by_name(name: &str) -> Option<&'static dyn AttachWay> {
    ALL.iter().copied().find(|way| way.name() == name)
}
