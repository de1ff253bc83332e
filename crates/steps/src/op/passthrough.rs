//! Takes a PCI drive from this host's driver and gives it to vfio-pci, so that a guest can have it.
//! Undo gives it back to the driver, and its disk gets back the queue settings that it had.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::queue;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, host_probe};
use iotax_drivers::vfio::{self, PassThrough};
use iotax_host::pci;
use iotax_units::shell;
use std::path::Path;
use std::time::Duration;

impl Operation for PassThrough {
    fn describe(&self) -> String {
        let (address, driver) = (&self.address, &self.driver);
        let bound = format!("bind {address} to {} in place of {driver}", vfio::DRIVER);
        self.isolation.iter().fold(bound, |bound, isolation| format!("{bound}; {isolation}"))
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        vfio::hand_over_by_hand(self)
    }

    fn observe(&mut self, machine: &dyn Observer) {
        if let Some(MachineAnswer::Queue(settings)) =
            machine.ask_machine(MachineQuestion::Queue(&self.disk))
        {
            self.queue = settings;
        }
    }

    fn own_resources<'a>(&'a self, made: &'a StepOutput) -> Vec<Own<'a>> {
        let settings = self.queue.keys().chain(made.queue.keys());
        settings
            .map(|name| Own::Part(name))
            .chain([Own::Part(&self.address), Own::Part(&self.driver)])
            .collect()
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        let (address, disk) = (&self.address, self.disk.display());
        Some(Undoing::new(
            "given back",
            format!("the drive at {address} ({disk}) to {}", self.driver),
        ))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let device = Path::new("/sys/bus/pci/devices").join(&self.address);
        Some(format!(
            "echo > {}; echo {address} > {}; echo {address} > /sys/bus/pci/drivers_probe",
            shell::path(device.join("driver_override")),
            shell::path(device.join("driver/unbind")),
            address = shell::quote_word(&self.address)
        ))
    }
}

impl ManagedResource for PassThrough {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::found_at(vfio::take_function(&host_probe(), self)?))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // The plan was refused unless the function had a driver of this host, and this is not asked
        // after a refusal before the first change: vfio-pci has the drive from us.
        Ok(vfio::is_taken(&host_probe(), &self.address).then(StepOutput::default))
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        _: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        let other_name = vfio::give_back(&host_probe(), self)?;
        // Runs from before 2026-11-23 have the settings in what was made.
        let was = if self.queue.is_empty() { &made.queue } else { &self.queue };
        let pause = || std::thread::sleep(Duration::from_millis(100));
        let restore = |disk: &String| queue::restore_for_good(&host_probe(), disk, was, pause);
        let disks = pci::disks_at(&host_probe(), &self.address);
        other_name
            .into_iter()
            .chain(disks.iter().flat_map(restore))
            .for_each(|note| system.note(note));
        Ok(())
    }
}
