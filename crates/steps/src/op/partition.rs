//! Makes a partition table with one partition on a block device, by sfdisk. Ours is recognised by
//! its id, which is derived from a name that carries the run's id.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::drives::left_on;
use iotax_drivers::partition::{self, MakePartition};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::{shell, size_word};

impl ManagedResource for MakePartition {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        partition::create(self)
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        partition::find_own_table(&today(self, &self.drives).0)
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        partition::remove(&today)?;
        left_on(&others)
    }
}

impl Operation for MakePartition {
    fn describe(&self) -> String {
        format!(
            "sfdisk {}: {} table {}, one partition at byte {}, {} bytes",
            self.device,
            self.table,
            self.id,
            self.start,
            size_word(self.bytes, self.bytes)
        )
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        partition::create_by_hand(self, out)
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("the beginning and the end of {} are lost", self.device))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = about_to_write(machine, &self.input_paths());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the partition table on {}", self.device)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!(
            "wipefs --all --types gpt,dos,PMBR {}",
            shell::quote_word(&self.device.to_string())
        ))
    }
}
