//! vhost-scsi: this host's kernel (LIO) serves the disk through the guest's memory. I/O passes
//! through no process, not even QEMU.

use crate::attach::way::{AttachWay, Beforehand, DiskAct, Property, ids};
use crate::disk::{Backend, DiskServer, DiskSpec};
use crate::option_value::{CommandLine, OptionValue};
use iotax_drivers::lio::ExportVhostScsi;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;

pub struct VhostScsi;

impl AttachWay for VhostScsi {
    fn name(&self) -> &'static str {
        "vhost-scsi"
    }

    fn host_needs(&self) -> &'static [&'static str] {
        &["root", "vhost_scsi"]
    }

    fn guest_modules(&self) -> &'static [&'static str] {
        &["virtio_scsi", "sd_mod"]
    }

    fn takes_iothread(&self) -> bool {
        false
    }

    /// Returns true for a device only: LIO opens a device read-only if told to, but always opens a
    /// file for writing.
    fn keeps_writes_out(&self, backend: Backend) -> bool {
        backend == Backend::HostDevice
    }

    fn lacking_options(&self) -> &'static [&'static str] {
        crate::attach::way::OF_QEMUS_BLOCK_LAYER
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        match disk.server {
            DiskServer::Kernel(_) if disk.offset == 0 => Ok(()),
            DiskServer::Kernel(_) => {
                Err("LIO serves a file from its start, so guests side by side cannot have a part of it each"
                    .into())
            }
            _ => Err("attach=vhost-scsi without the port that serves it".into()),
        }
    }

    fn step_beforehand(
        &self,
        disk: &DiskSpec,
        below: &PathRef,
        tag: &RunTag,
    ) -> Option<Beforehand> {
        let name = format!("iotax-{}-{}", tag.run_id, disk.serial);
        let wwn = wwn(&name);
        let act = DiskAct::ExportVhostScsi(ExportVhostScsi {
            backing: below.clone(),
            block: disk.backend == Backend::HostDevice,
            bytes: disk.bytes.unwrap_or_default(),
            read_only: disk.read_only,
            name,
            wwn: wwn.clone(),
            serial: disk.serial.clone(),
        });
        Some(Beforehand {
            why: "serve the guest's disk by the kernel",
            act,
            server: DiskServer::Kernel(wwn),
        })
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        let (_, device) = ids(at);
        vec![
            Property::new("num-queues", &device, "num_queues"),
            Property::new("queue-size", &device, "virtqueue_size"),
            Property::new("wwpn", &device, "wwpn"),
        ]
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let DiskServer::Kernel(wwn) = &disk.server else { return };
        let value = OptionValue::beginning_with("vhost-scsi-pci")
            .set("id", ids(at).1)
            .set("wwpn", wwn)
            .maybe("num_queues", disk.num_queues)
            .maybe("virtqueue_size", disk.queue_size);
        line.option("-device", value);
    }
}

/// Returns a WWN for a name: NAA 5 with LIO's vendor id, and the CRC-32 of the name as nine
/// hexadecimal digits.
fn wwn(name: &str) -> String {
    format!("naa.5001405{:09x}", crc32fast::hash(name.as_bytes()))
}
