//! Starts iscsid, the daemon of open-iscsi, if none runs, and ends it with the stack. A daemon that
//! runs already is used and stays.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::iscsi;
use iotax_drivers::plain_file::{remove_file, write_file};
use iotax_drivers::process::process_of_tag;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, host_probe};
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartIscsid {
    /// Folder of the run in the place of the daemon.
    pub directory: PathBuf,
    /// True if sessions will use RDMA.
    pub iser: bool,
}

impl StartIscsid {
    /// Returns the path of the file with the daemon's initiator name, in the run's folder. The
    /// daemon requires one, though interface records have names of their own. No other process has
    /// this path in its command line.
    pub(crate) fn names(&self) -> PathBuf {
        self.directory.join("iscsid.initiatorname")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("iscsid.log")
    }

    fn process_tag(&self) -> String {
        self.names().display().to_string()
    }

    fn command(&self) -> Vec<String> {
        ["iscsid".into(), "-f".into(), "-i".into(), self.process_tag()].to_vec()
    }
}

impl Operation for StartIscsid {
    fn describe(&self) -> String {
        format!("{}, unless an iscsid runs", self.command().join(" "))
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let names = shell::path(self.names());
        let daemon = shell::quote_line(self.command());
        vec![
            "mkdir -p /run/lock/iscsi".to_owned(),
            format!("echo InitiatorName=iqn.2026-01.invalid.iotax:unused > {names}"),
            format!("pidof iscsid > /dev/null || {{ {daemon} & {out}_pid=$!; }}"),
        ]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory)]
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        match made {
            Some(StepOutput { process: None, .. }) => None,
            _ => Some(Undoing::new("ended", "iscsid")),
        }
    }

    fn undo_by_hand(&self, _: &RunTag, made: &StepOutput) -> Option<String> {
        made.process.as_ref().map(|process| format!("kill {}", process.pid))
    }
}

impl ManagedResource for StartIscsid {
    /// Returns true: the process does not survive, but its files do. `remove_resource` copes with
    /// both.
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, system: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        // Checks if a daemon runs, and loads the modules that it talks to.
        if iscsi::before_daemon(self.iser)? {
            return Ok(StepOutput { reused: true, ..StepOutput::default() });
        }
        write_file(&self.names(), b"InitiatorName=iqn.2026-01.invalid.iotax:unused\n")?;
        let process = system.spawn(&self.command(), &self.log())?;
        Ok(StepOutput { process: Some(process), ..StepOutput::default() })
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // Its files may exist without the process: they are removed either way.
        Ok(Some(StepOutput {
            process: process_of_tag(&self.process_tag())?,
            ..StepOutput::default()
        }))
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        _: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        match (&made.process, iscsi::targets(&host_probe()).as_slice()) {
            (None, _) => {}
            (Some(process), []) => system.end_process(process, &self.process_tag())?,
            (Some(process), targets) => {
                let (pid, targets) = (process.pid, targets.join(", "));
                system.note(format!(
                    "iscsid (process {pid}), which the run started, is left: there are sessions with {targets}"
                ));
            }
        }
        remove_file(&self.names())?;
        remove_file(&self.log())
    }
}
