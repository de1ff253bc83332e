//! An array of the kernel's RAID driver (md) over several block devices, made by mdadm. Its first
//! sync is a step of its own.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::drives::{held_is_lost, left_on};
use iotax_drivers::md::{self, CreateArray};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::{self, ServingThread};
use iotax_facts::array::ArrayState;
use iotax_units::shell;

impl ManagedResource for CreateArray {
    fn outlives_reboot(&self) -> bool {
        // The superblocks survive, and udev assembles an array from them again.
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        md::create(self)
    }

    fn io_threads(&self, made: &StepOutput) -> Result<Vec<ServingThread>> {
        let device = made.path.as_ref().map(|path| path.canonicalize()).transpose()?;
        let name = device.as_ref().and_then(|path| path.file_name()?.to_str());
        Ok(name.map_or_else(Vec::new, threads::of_array))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        md::find_array(&today(self, &self.drives).0)
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        md::remove_array(&today)?;
        left_on(&others)
    }

    fn resource_state(&self, made: &StepOutput) -> Result<Option<ArrayState>> {
        Ok(made.path.as_deref().and_then(md::state_of))
    }
}

impl Operation for CreateArray {
    fn describe(&self) -> String {
        let words = md::create_words(self);
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        let settings: String = md::sysfs_settings(self)
            .into_iter()
            .map(|(file, value)| format!("; md/{file} = {value}"))
            .collect();
        format!("mdadm {} {}{settings}", words.join(" "), members.join(" "))
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let members = self.members.iter().map(ToString::to_string);
        let words = ["mdadm".to_owned()].into_iter().chain(md::create_words(self)).chain(members);
        let array = shell::quote_word(&format!("/dev/md/{}", self.name));
        let folder = format!("/sys/block/$(basename $(readlink -f {array}))/md");
        let settings = md::sysfs_settings(self)
            .into_iter()
            .map(|(file, value)| format!("echo {value} > {folder}/{file}"));
        let make = [shell::quote_line(words), format!("{out}={array}")];
        make.into_iter().chain(settings).collect()
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(held_is_lost(&self.members))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = about_to_write(machine, &self.input_paths());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("stopped", format!("array {}, its superblocks zeroed", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let members = shell::quote_line(self.members.iter().map(PathRef::to_string));
        let array = shell::quote_word(&format!("/dev/md/{}", self.name));
        Some(format!("mdadm --stop {array}; mdadm --zero-superblock {members}"))
    }
}
