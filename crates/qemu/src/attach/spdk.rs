//! vhost-user-blk from a running SPDK target. Its reactors serve the disk through the guest's
//! memory, from a bdev over what is below. No I/O passes through QEMU. iotax neither starts nor
//! stops the target.

use super::vhost_user_blk;
use crate::attach::way::{AttachWay, Beforehand, DiskAct, Property};
use crate::disk::{Aio, Backend, DiskServer, DiskSpec, Spdk};
use crate::option_value::CommandLine;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::spdk::export::{BdevPart, ExportSpdk};
use iotax_units::MIB;

pub struct VhostUserSpdk;

impl AttachWay for VhostUserSpdk {
    fn name(&self) -> &'static str {
        "vhost-user-blk with spdk"
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn takes_iothread(&self) -> bool {
        false
    }

    fn shows_whole_mib(&self) -> bool {
        true
    }

    fn shows_serial(&self) -> bool {
        false
    }

    fn lacking_options(&self) -> &'static [&'static str] {
        // A target opens what is below by libaio or io_uring, as it is asked.
        crate::attach::way::OF_QEMUS_BLOCK_LAYER.split_at(1).1
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        if !matches!(disk.server, DiskServer::Spdk(_)) {
            return Err("attach=vhost-user-blk with spdk without the target that serves it".into());
        }
        match (disk.aio, disk.read_only) {
            (Aio::Native, _) | (Aio::IoUring, false) => Ok(()),
            (Aio::IoUring, true) => Err(
                "SPDK's io_uring bdev cannot open what is below for reading only, and the load only reads; hint: aio=native"
                    .into(),
            ),
            (Aio::Threads, _) => {
                Err("SPDK has no pool of threads for its I/O; hint: aio=native (libaio) or aio=io_uring".into())
            }
        }
    }

    fn step_beforehand(
        &self,
        disk: &DiskSpec,
        below: &PathRef,
        tag: &RunTag,
    ) -> Option<Beforehand> {
        let DiskServer::Spdk(spdk) = &disk.server else { return None };
        let spdk = Spdk { name: format!("iotax-{}-{}", tag.run_id, disk.serial), ..spdk.clone() };
        let act = DiskAct::ExportSpdk(ExportSpdk {
            rpc: spdk.rpc.clone(),
            backing: below.clone(),
            uring: disk.aio == Aio::IoUring,
            read_only: disk.read_only,
            part: part(disk).filter(|_| !matches!(below, PathRef::Bdev { .. })),
            cpumask: spdk.cpumask.clone(),
            name: spdk.name.clone(),
        });
        Some(Beforehand {
            why: "serve the guest's disk by SPDK",
            act,
            server: DiskServer::Spdk(spdk),
        })
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        vhost_user_blk::properties(at)
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let DiskServer::Spdk(spdk) = &disk.server else { return };
        vhost_user_blk::add(line, at, disk, &spdk.socket);
    }
}

/// Returns the part of the file or device below that the guest sees: of a file its data without the
/// marker after them, of what guests share the part of one guest. `None` for a whole device, or if
/// the disk's size is unknown or below 1 MiB.
fn part(disk: &DiskSpec) -> Option<BdevPart> {
    let bytes = disk.bytes.filter(|bytes| *bytes >= MIB)?;
    let whole = disk.backend == Backend::HostDevice && !disk.shared_out;
    (!whole).then(|| BdevPart { at: disk.offset / bytes, mib: bytes / MIB })
}
