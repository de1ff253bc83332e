//! virtio-blk: a paravirtual disk. From QEMU 9.0 on, several iothreads can share its queues.

use crate::attach::way::{AttachWay, Property, ids, iothreads};
use crate::disk::DiskSpec;
use crate::option_value::{CommandLine, OptionValue, on_off};
use serde_json::json;

pub struct VirtioBlk;

impl AttachWay for VirtioBlk {
    fn name(&self) -> &'static str {
        "virtio-blk"
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        let (_, device) = ids(at);
        vec![
            Property::new("num-queues", &device, "num-queues"),
            Property::new("queue-size", &device, "queue-size"),
            Property::new("write-cache", &device, "write-cache"),
        ]
    }

    fn thread_properties(&self, at: usize) -> Vec<Property> {
        let of_device = |name| Property::new("iothreads", &ids(at).1, name);
        ["iothread", "iothread-vq-mapping"].map(of_device).into()
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let (node, device) = ids(at);
        disk.add_drive(line, &node);
        let threads = iothreads(line, at, disk);
        if threads.len() > 1 {
            line.add_word("-device").add_word(mapped(disk, &node, &device, &threads));
            return;
        }
        let value = OptionValue::beginning_with("virtio-blk-pci")
            .set("id", device)
            .set("drive", &node)
            .set("serial", &disk.serial)
            .set("write-cache", on_off(disk.cache.write_cache()))
            .maybe("num-queues", disk.num_queues)
            .maybe("queue-size", disk.queue_size)
            .maybe("iothread", threads.first());
        line.option("-device", value);
    }
}

/// Returns the device in JSON, the only form of `-device` that can list several iothreads.
fn mapped(disk: &DiskSpec, node: &str, device: &str, threads: &[String]) -> String {
    let mut value = json!({
        "driver": "virtio-blk-pci",
        "id": device,
        "drive": node,
        "serial": disk.serial,
        "write-cache": on_off(disk.cache.write_cache()),
        "iothread-vq-mapping": threads.iter().map(|id| json!({"iothread": id})).collect::<Vec<_>>(),
    });
    if let Some(queues) = disk.num_queues {
        value["num-queues"] = queues.into();
    }
    if let Some(size) = disk.queue_size {
        value["queue-size"] = size.into();
    }
    value.to_string()
}
