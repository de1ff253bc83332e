//! virtio-scsi: a separate paravirtual controller for each disk, so that no two disks share a queue
//! or a thread.

use crate::attach::way::{AttachWay, Property, ids, iothreads, one_thread_at_most};
use crate::disk::DiskSpec;
use crate::option_value::{CommandLine, OptionValue, on_off};

pub struct VirtioScsi;

impl AttachWay for VirtioScsi {
    fn name(&self) -> &'static str {
        "virtio-scsi"
    }

    fn guest_modules(&self) -> &'static [&'static str] {
        &["virtio_scsi", "sd_mod"]
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        one_thread_at_most(disk)
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        let (_, device) = ids(at);
        let controller = controller(at);
        vec![
            Property::new("num-queues", &controller, "num_queues"),
            Property::new("queue-size", &controller, "virtqueue_size"),
            Property::new("write-cache", &device, "write-cache"),
        ]
    }

    fn thread_properties(&self, at: usize) -> Vec<Property> {
        vec![Property::new("iothreads", &controller(at), "iothread")]
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let (node, device) = ids(at);
        let controller = controller(at);
        disk.add_drive(line, &node);
        let threads = iothreads(line, at, disk);
        let value = OptionValue::beginning_with("virtio-scsi-pci")
            .set("id", &controller)
            .maybe("num_queues", disk.num_queues)
            .maybe("virtqueue_size", disk.queue_size)
            .maybe("iothread", threads.first());
        line.option("-device", value);
        let value = OptionValue::beginning_with("scsi-hd")
            .set("id", device)
            .set("bus", format!("{controller}.0"))
            .set("drive", &node)
            .set("serial", &disk.serial)
            .set("write-cache", on_off(disk.cache.write_cache()));
        line.option("-device", value);
    }
}

fn controller(at: usize) -> String {
    format!("scsi{at}")
}
