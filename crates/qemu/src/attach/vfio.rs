//! vfio: the guest gets the drive itself. The host's driver releases it, the IOMMU confines it to
//! the guest's memory, and the guest's own NVMe driver uses it. At most its interrupts pass through
//! QEMU.

use crate::attach::way::{AttachWay, Beforehand, DiskAct, Property, ids};
use crate::disk::{DiskServer, DiskSpec};
use crate::option_value::{CommandLine, OptionValue};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::vfio::PassThrough;

pub struct Vfio;

impl AttachWay for Vfio {
    fn name(&self) -> &'static str {
        "vfio"
    }

    fn host_needs(&self) -> &'static [&'static str] {
        &["root", "iommu", "vfio-pci"]
    }

    fn guest_modules(&self) -> &'static [&'static str] {
        &["nvme"]
    }

    fn takes_iothread(&self) -> bool {
        false
    }

    fn takes_drive(&self) -> bool {
        true
    }

    fn lacking_options(&self) -> &'static [&'static str] {
        crate::attach::way::OF_QEMU
    }

    fn check_disk_options(&self, disk: &DiskSpec) -> Result<(), String> {
        match &disk.server {
            DiskServer::Drive(_) => Ok(()),
            _ => Err("attach=vfio without the drive that it takes".into()),
        }
    }

    fn step_beforehand(&self, disk: &DiskSpec, below: &PathRef, _: &RunTag) -> Option<Beforehand> {
        let (DiskServer::Drive(drive), PathRef::Path(path)) = (&disk.server, below) else {
            return None;
        };
        let act = DiskAct::PassThrough(PassThrough {
            address: drive.address.clone(),
            driver: drive.driver.clone()?,
            disk: path.clone(),
            isolation: drive.isolation.clone(),
            queue: Default::default(),
        });
        Some(Beforehand { why: "take the drive for the guest", act, server: disk.server.clone() })
    }

    fn device_properties(&self, at: usize) -> Vec<Property> {
        vec![Property::new("host", &ids(at).1, "host")]
    }

    fn add_device(&self, line: &mut CommandLine, at: usize, disk: &DiskSpec) {
        let DiskServer::Drive(drive) = &disk.server else { return };
        let value = OptionValue::beginning_with("vfio-pci")
            .set("id", ids(at).1)
            .set("host", &drive.address)
            .set("addr", format!("{:#x}", crate::attach::way::slot(at)));
        line.option("-device", value);
    }
}
