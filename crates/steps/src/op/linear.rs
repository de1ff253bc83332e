//! Joins parts of block devices, one after the other, to one device, by the device mapper's
//! `linear`: a part of one device, or several devices together.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::dm::{self, MakeLinear, Stretch};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::{is_unknown, shell, size_word};

impl ManagedResource for MakeLinear {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        dm::create(self)
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(dm::find_linear(&self.name))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        dm::remove(&self.name)
    }
}

impl Operation for MakeLinear {
    fn describe(&self) -> String {
        let stretch = |part: &Stretch| {
            let bytes = size_word(part.bytes, part.bytes);
            let offset = match part.offset.checked_div(part.bytes) {
                // Offsets are in sizes of the stretch while those are not known.
                Some(many) if many > 1 && is_unknown(part.bytes) => format!("{many}*{bytes}"),
                _ => size_word(part.offset, part.offset),
            };
            format!("{} +{offset} {bytes}", part.device)
        };
        let parts: Vec<String> = self.stretches.iter().map(stretch).collect();
        let read_only = if self.read_only { " --readonly" } else { "" };
        format!("dmsetup create {}{read_only}: linear {}", self.name, parts.join(", "))
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let name = shell::quote_word(&self.name);
        let read_only = if self.read_only { " --readonly" } else { "" };
        let rows = dm::table_rows(&self.stretches).into_iter().map(|row| shell::quote_word(&row));
        let rows: Vec<String> = rows.collect();
        vec![
            format!("printf '%s\\n' {} | dmsetup create {name}{read_only}", rows.join(" ")),
            format!("{out}={}", shell::path(format!("/dev/mapper/{}", self.name))),
        ]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.stretches.iter_mut().map(|stretch| &mut stretch.device).collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("device mapper's {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("dmsetup remove {}", shell::quote_word(&self.name)))
    }
}
