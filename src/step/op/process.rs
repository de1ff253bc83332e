//! Processes that live as long as a stack: QEMU here, our own binary on another host. A process
//! is known by pid and start time; one whose start was interrupted is found by a word of its
//! command line that names the run.

use super::{Operation, PathRef, RunTag, System, Yield};
use crate::layer::guest;
use crate::measure::wire::ssh;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A program with its whole command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// Program and arguments; one of them is `tag`.
    pub argv: Vec<String>,
    /// What a step yields and only then can stand in the command line, in place of `@below@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<PathRef>,
    /// A word of the command line that no other process has.
    pub tag: String,
    /// Where its output goes, within the run directory.
    pub log: PathBuf,
    /// Sockets and files that it makes in the run directory, removed after it.
    pub makes: Vec<PathBuf>,
}

impl Operation for Spawn {
    fn describe(&self) -> String {
        self.argv.join(" ")
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        self.below.as_mut().into_iter().collect()
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        let process = system.spawn(&self.words()?, &self.tag, &self.log)?;
        Ok(Yield { process: Some(process), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        let process = system.find_process(&self.tag)?;
        // Its sockets may be there without it: undo removes them either way.
        Ok(Some(Yield { process, ..Yield::default() }))
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, made: &Yield) -> Result<()> {
        if let Some(process) = &made.process {
            system.end_process(process)?;
        }
        self.makes.iter().try_for_each(|path| system.remove_plain(path))
    }

    fn undo_by_hand(&self, _: &RunTag, made: &Yield) -> Option<String> {
        made.process.as_ref().map(|process| format!("kill {}", process.pid))
    }

    fn survives_reboot(&self) -> bool {
        // The process does not, its sockets do; undo copes with both.
        true
    }
}

impl Spawn {
    /// The command line with the device below in its place. Devices' names have no comma, which
    /// QEMU would want doubled.
    fn words(&self) -> Result<Vec<String>> {
        let Some(below) = &self.below else { return Ok(self.argv.clone()) };
        with_below(&self.argv, below.path()?)
    }
}

/// The words with a device's path in place of `@below@`.
///
/// # Errors
/// When the path is not UTF-8.
pub fn with_below(words: &[String], path: &Path) -> Result<Vec<String>> {
    let path = path.to_str().context("a device whose path is not UTF-8")?;
    Ok(words.iter().map(|word| word.replace(&format!("/{}", guest::BELOW), path)).collect())
}

/// Our binary, copied to a host over SSH into a directory that carries the run's id. The copying
/// itself is the connection's (measure::wire::ssh); this is what remembers to remove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteAgent {
    /// Destination as ssh knows it.
    pub host: String,
}

impl Operation for RemoteAgent {
    fn describe(&self) -> String {
        format!("copy this iotax to {} over ssh and start it there as agent", self.host)
    }

    fn perform(&self, _: &mut dyn System, _: &RunTag) -> Result<Yield> {
        Ok(Yield::default())
    }

    fn find(&self, _: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        Ok(Some(Yield::default()))
    }

    fn undo(&self, _: &mut dyn System, tag: &RunTag, _: &Yield) -> Result<()> {
        ssh::remove_remote(&self.host, &tag.run_id, &ssh::SshOptions::from_env())
            .map(drop)
            .with_context(|| format!("cannot remove the agent's copy on {}", self.host))
    }

    fn undo_by_hand(&self, tag: &RunTag, _: &Yield) -> Option<String> {
        Some(ssh::remove_by_hand(&self.host, &tag.run_id))
    }

    fn survives_reboot(&self) -> bool {
        true
    }
}
