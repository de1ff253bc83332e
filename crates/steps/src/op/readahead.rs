//! Sets the read-ahead of a block device, and restores it.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::queue::{read_ahead_kib, set_read_ahead};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, host_probe};
use iotax_units::shell;
use serde::{Deserialize, Serialize};

/// Writes `kib` to `read_ahead_kb` of the device's queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetReadAhead {
    pub device: PathRef,
    pub kib: u64,
    /// Value before this run, which the journal records before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_kib: Option<u64>,
}

impl SetReadAhead {
    /// Returns the kernel's name of the device; `None` if it is gone.
    fn disk(&self) -> Option<String> {
        let real = self.device.resolved_path().ok()?.canonicalize().ok()?;
        Some(real.file_name()?.to_str()?.to_owned())
    }

    fn current_kib(&self) -> Option<u64> {
        read_ahead_kib(&host_probe(), &self.disk()?)
    }

    /// Returns the command that sets a value; blockdev counts in sectors of 512 bytes.
    fn blockdev(&self, kib: u64) -> String {
        let device = self.device.to_string();
        shell::quote_line(
            ["blockdev", "--setra", &(2 * kib).to_string(), &device].map(str::to_owned),
        )
    }
}

impl Operation for SetReadAhead {
    fn describe(&self) -> String {
        self.blockdev(self.kib)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        vec![self.blockdev(self.kib)]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        let question = self.device.resolved_path().ok().map(MachineQuestion::Queue);
        if let Some(MachineAnswer::Queue(queue)) =
            question.and_then(|question| machine.ask_machine(question))
        {
            self.was_kib = queue.get("read_ahead_kb").and_then(|kib| kib.parse().ok());
        }
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("restored", format!("the read-ahead of {}", self.device)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        self.was_kib.map(|kib| self.blockdev(kib))
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        let name = self.device.resolved_path().ok().and_then(|path| path.file_name()?.to_str());
        name.map(Own::Part).into_iter().collect()
    }
}

impl ManagedResource for SetReadAhead {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let lacking = || {
            format!(
                "{} has no read-ahead of its own; hint: name the whole disk, not a partition",
                self.device
            )
        };
        self.was_kib.with_context(lacking)?;
        set_read_ahead(&host_probe(), &self.disk().with_context(lacking)?, self.kib)?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok((self.current_kib() == Some(self.kib)).then(StepOutput::default))
    }

    fn remove_resource(&self, system: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (Some(disk), Some(was), Some(now)) = (self.disk(), self.was_kib, self.current_kib())
        else {
            return Ok(());
        };
        if now == self.kib {
            return set_read_ahead(&host_probe(), &disk, was);
        }
        if now != was {
            system.note(format!(
                "the read-ahead of {} is {now} KiB, which this run did not set: left alone",
                self.device
            ));
        }
        Ok(())
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let kib = self.current_kib().context("the device is gone")?;
        Ok([("read_ahead_kb".to_owned(), kib.to_string())].into())
    }
}
