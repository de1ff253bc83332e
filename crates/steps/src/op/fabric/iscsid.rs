//! The daemon of open-iscsi, where none runs: a process of ours as long as the stack is up. One that runs is used and stays.

use super::{Operation, Own, RunTag, System, Undoing, Yield};
use crate::step::iscsi;
use crate::step::thing::Thing;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `iscsid -f`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartIscsid {
    /// The run's folder there.
    pub directory: PathBuf,
    /// Sessions will go by RDMA.
    pub iser: bool,
}

impl StartIscsid {
    /// Names of initiators are in the records of interfaces; the daemon wants a file with one all the same, and /etc is not ours.
    /// The name of the file is in no other command line.
    fn names(&self) -> PathBuf {
        self.directory.join("iscsid.initiatorname")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("iscsid.log")
    }

    fn word(&self) -> String {
        self.names().display().to_string()
    }

    fn command(&self) -> Vec<String> {
        ["iscsid".into(), "-f".into(), "-i".into(), self.word()].to_vec()
    }
}

impl Operation for StartIscsid {
    fn describe(&self) -> String {
        format!("{}, unless an iscsid runs", self.command().join(" "))
    }

    fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield> {
        let made = system.make_thing(self, tag)?;
        if made.reused {
            return Ok(made);
        }
        let name = "InitiatorName=iqn.2026-01.invalid.iotax:unused\n";
        system.write_file(&self.names(), &mut || Ok(name.into()))?;
        let process = system.spawn(&self.command(), &self.word(), &self.log())?;
        Ok(Yield { process: Some(process), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        // Its files may be there without it: undo removes them either way.
        Ok(Some(Yield { process: system.find_process(&self.word())?, ..Yield::default() }))
    }

    fn own<'a>(&'a self, _: &'a Yield) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory)]
    }

    fn undo(&self, system: &mut dyn System, tag: &RunTag, made: &Yield) -> Result<()> {
        if made.reused {
            return Ok(());
        }
        if let Some(process) = &made.process {
            system.end_iscsid(process, &self.word())?;
        }
        system.remove_plain(&self.names())?;
        system.remove_plain(&self.log())?;
        system.unmake_thing(self, tag, made)
    }

    fn undoing(&self, made: Option<&Yield>) -> Option<Undoing> {
        match made {
            Some(Yield { process: None, .. }) => None,
            _ => Some(Undoing::new("ended", "iscsid")),
        }
    }

    fn undo_by_hand(&self, _: &RunTag, made: &Yield) -> Option<String> {
        made.process.as_ref().map(|process| format!("kill {}", process.pid))
    }

    fn survives_reboot(&self) -> bool {
        // The process does not, its files do; undo copes with both.
        true
    }
}

/// The look whether one runs, with the modules that it talks to.
impl Thing for StartIscsid {
    fn key(&self, _: &RunTag) -> String {
        format!("iscsid {}", self.word())
    }

    fn below(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn survives(&self) -> bool {
        false
    }

    fn make(&self, _: &RunTag) -> Result<Yield> {
        Ok(Yield { reused: iscsi::before_daemon(self.iser)?, ..Yield::default() })
    }

    fn find(&self, _: &RunTag) -> Result<Option<Yield>> {
        Ok(None)
    }

    fn unmake(&self, _: &RunTag, _: &Yield) -> Result<()> {
        Ok(())
    }
}
