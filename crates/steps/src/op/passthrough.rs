//! A PCI drive taken from this host's driver and given to vfio-pci, so that a guest can have it. Undone, the driver has it
//! back and its disk is there again, its queue set as it was.

use super::{Operation, Own, RunTag, System, Undoing, Yield};
use crate::shell;
use crate::step::queue::Settings;
use crate::step::vfio::{self, TakenDrive};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `driver_override`, unbind, probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassThrough {
    /// Address of the function: `0000:01:00.0`.
    pub address: String,
    /// The driver that has it now and gets it back.
    pub driver: String,
    /// The disk as the stack names it.
    pub disk: PathBuf,
    /// Settings of its queue, observed before it is taken.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub queue: Settings,
}

impl PassThrough {
    fn drive(&self) -> TakenDrive<'_> {
        TakenDrive { address: &self.address, driver: &self.driver, disk: &self.disk }
    }
}

impl Operation for PassThrough {
    fn describe(&self) -> String {
        format!("bind {} to {} in place of {}", self.address, vfio::DRIVER, self.driver)
    }

    fn observe(&mut self, system: &dyn System) {
        self.queue = system.queue_settings(&self.disk);
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        let group = system.take_drive(&self.drive())?;
        Ok(Yield { path: Some(group), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        // The plan was refused unless the function had a driver of this host, and a refusal before the first change is never
        // asked here: vfio-pci has it from us.
        Ok(system.is_taken(&self.address)?.then(Yield::default))
    }

    fn own<'a>(&'a self, made: &'a Yield) -> Vec<Own<'a>> {
        let settings = self.queue.keys().chain(made.queue.keys());
        settings
            .map(|name| Own::Part(name))
            .chain([Own::Part(&self.address), Own::Part(&self.driver)])
            .collect()
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, made: &Yield) -> Result<()> {
        system.give_back(&self.drive())?;
        // Runs from before 2026-11-23 have them in what was made.
        let queue = if self.queue.is_empty() { &made.queue } else { &self.queue };
        system.restore_queue(&self.address, queue);
        Ok(())
    }

    fn undoing(&self, _: Option<&Yield>) -> Option<Undoing> {
        let (address, disk) = (&self.address, self.disk.display());
        Some(Undoing::new("given back", format!("the drive at {address} ({disk}) to {}", self.driver)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        let device = Path::new("/sys/bus/pci/devices").join(&self.address);
        Some(format!(
            "echo > {}; echo {address} > {}; echo {address} > /sys/bus/pci/drivers_probe",
            shell::path(device.join("driver_override")),
            shell::path(device.join("driver/unbind")),
            address = shell::word(&self.address)
        ))
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}
