//! Makes files of ours over ssh on a host that runs no agent of ours: commands there make, mark and
//! fill them. A file is removed only if it still has the marker that was made.

use crate::operation::{Operation, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_remote::agentless::file;
use iotax_units::{shell, show_bytes};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// File with our marker, filled with incompressible data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFileAfar {
    /// Destination as ssh knows it.
    pub host: String,
    pub path: PathBuf,
    /// Bytes of data, which the marker follows.
    pub bytes: u64,
}

impl Operation for MakeFileAfar {
    fn describe(&self) -> String {
        let (path, bytes) = (self.path.display(), show_bytes(self.bytes));
        format!(
            "on {}: create {path} and fill it with {bytes} of incompressible data, unless it is ours already",
            self.host
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let (path, bytes) = (shell::path(&self.path), self.bytes);
        let fill = format!("head -c {bytes} /dev/urandom > {path}");
        vec![format!("ssh {} {}", shell::quote_word(&self.host), shell::quote_word(&fill))]
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        let file = format!("{} on {}", self.path.display(), self.host);
        Some(Undoing::of_file(file, made.is_some_and(|made| made.reused)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let command = match self.path.is_absolute() {
            true => format!("rm {}", shell::path(&self.path)),
            // The path is a Windows path.
            false => format!("del \"{}\"", self.path.display()),
        };
        Some(format!("ssh {} {}", shell::quote_word(&self.host), shell::quote_word(&command)))
    }
}

impl ManagedResource for MakeFileAfar {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        file::make(&self.host, &self.path, self.bytes, &tag.run_id)
    }

    fn find_resource(&self, tag: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        file::find(&self.host, &self.path, &tag.run_id)
    }

    fn remove_resource(&self, _: &mut RealSystem, tag: &RunTag, made: &StepOutput) -> Result<()> {
        file::remove(&self.host, &self.path, made, &tag.run_id)
            .with_context(|| format!("cannot remove {} on {}", self.path.display(), self.host))
    }
}
