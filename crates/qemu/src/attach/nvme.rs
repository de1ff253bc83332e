//! An emulated NVMe controller for each disk, for guests without virtio drivers. QEMU serves it in
//! its main loop.

use crate::attach::way::{AttachWay, Property, ids};
use crate::disk::DiskSpec;
use crate::option_value::{CommandLine, OptionValue, on_off};

pub struct Nvme;

impl AttachWay for Nvme {
    fn name(&self) -> &'static str {
        "nvme"
    }

    fn guest_modules(&self) -> &'static [&'static str] {
        &["nvme"]
    }

    fn takes_iothread(&self) -> bool {
        false
    }

    /// Returns false: QEMU's controller (7.2) cannot report it. A guest was seen to report ro=0 for
    /// a disk over a read-only node.
    fn shows_read_only(&self) -> bool {
        false
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        match (disk.iothreads, disk.queue_size) {
            (0, None) => Ok(()),
            (0, Some(_)) => {
                Err("attach=nvme has no queue-size: the guest's driver chooses it".into())
            }
            _ => Err("attach=nvme is served in QEMU's main loop; hint: iothread=false".into()),
        }
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        let (_, device) = ids(at);
        vec![
            Property::new("num-queues", &device, "max_ioqpairs"),
            Property::new("write-cache", &device, "write-cache"),
        ]
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let (node, device) = ids(at);
        disk.add_drive(line, &node);
        let value = OptionValue::beginning_with("nvme")
            .set("id", device)
            .set("drive", &node)
            .set("serial", &disk.serial)
            .set("write-cache", on_off(disk.cache.write_cache()))
            .maybe("max_ioqpairs", disk.num_queues);
        line.option("-device", value);
    }
}
