//! Runs processes that live as long as a stack: QEMU here, the agent on another host. A process is
//! known by pid and start time. If its start was interrupted, it is found by a word of its command
//! line that carries the run's id.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::plain_file::remove_file;
use iotax_drivers::process::process_of_tag;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::{self, ServingThread};
use iotax_remote::ssh;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Program with its whole command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// Name of the process in messages: `guest vm0`. Empty in older journals.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// Program and arguments; one of them is `tag`.
    pub argv: Vec<String>,
    /// Devices whose paths replace `@below0@`, `@below1@`, ... in the command line. (Older journals
    /// have a single path, for `@below@`.)
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        alias = "below",
        deserialize_with = "one_or_many"
    )]
    pub belows: Vec<PathRef>,
    /// Word of the command line that no other process has.
    pub tag: String,
    /// File for its output, within the run directory.
    pub log: PathBuf,
    /// Sockets and files that it makes in the run's folder. They are removed after it ends.
    pub makes: Vec<PathBuf>,
    /// Socket whose appearance shows that the process is ready; `None` if nothing is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<PathBuf>,
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<PathRef>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum FoundProcess {
        Many(Vec<PathRef>),
        One(PathRef),
    }
    Ok(match FoundProcess::deserialize(from)? {
        FoundProcess::Many(all) => all,
        FoundProcess::One(one) => vec![one],
    })
}

impl Operation for Spawn {
    fn describe(&self) -> String {
        self.shown_command().join(" ")
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let log = shell::path(&self.log);
        let command = shell::quote_line(self.shown_command());
        let mut lines = vec![format!("{command} > {log} 2>&1 &"), format!("{out}_pid=$!")];
        lines.extend(
            self.ready.as_ref().map(|socket| {
                format!("while [ ! -S {} ]; do sleep 0.1; done", shell::path(socket))
            }),
        );
        lines
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.belows.iter_mut().collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        let made = self.makes.iter().map(|path| Own::InFolder(path));
        made.chain([Own::Named(&self.tag)]).collect()
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        // Without a process only its sockets are there.
        Some(match made {
            Some(StepOutput { process: None, .. }) => {
                Undoing::new("removed", format!("the sockets of {}", self.name()))
            }
            _ => Undoing::new("ended", self.name()),
        })
    }

    fn undo_by_hand(&self, _: &RunTag, made: &StepOutput) -> Option<String> {
        made.process.as_ref().map(|process| format!("kill {}", process.pid))
    }
}

impl ManagedResource for Spawn {
    /// Returns true: the process does not survive, but its sockets do. `remove_resource` copes with
    /// both.
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, system: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let process = system.spawn(&self.command_words()?, &self.log)?;
        if let Some(socket) = &self.ready {
            system.await_socket(socket, &process, &self.log)?;
        }
        Ok(StepOutput { process: Some(process), ..StepOutput::default() })
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // Its sockets may exist without the process: they are removed either way.
        Ok(Some(StepOutput { process: process_of_tag(&self.tag)?, ..StepOutput::default() }))
    }

    fn io_threads(&self, made: &StepOutput) -> Result<Vec<ServingThread>> {
        Ok(made.process.as_ref().map_or_else(Vec::new, |process| threads::of_qemu(process.pid)))
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        _: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        if let Some(process) = &made.process {
            system.end_process(process, &self.tag)?;
        }
        self.makes.iter().try_for_each(|path| remove_file(path))
    }
}

impl Spawn {
    /// Returns the command line for people; devices that are not known yet are described in words.
    pub fn shown_command(&self) -> Vec<String> {
        let belows: Vec<String> = self.belows.iter().map(PathRef::to_string).collect();
        in_place(&self.argv, &belows.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the name of the process for messages; the program, for an older journal.
    fn name(&self) -> &str {
        match (self.what.as_str(), self.argv.first()) {
            ("", Some(program)) => program,
            (what, _) => what,
        }
    }

    /// Returns the command line with the paths of the devices. They have no comma, which QEMU would
    /// require to be doubled.
    fn command_words(&self) -> Result<Vec<String>> {
        let paths: Result<Vec<&Path>> = self.belows.iter().map(PathRef::resolved_path).collect();
        with_belows(&self.argv, &paths?)
    }
}

/// Returns a command line with the paths of devices in place of `@below0@`, `@below1@`, ...
///
/// # Errors
/// If a path is not UTF-8.
pub fn with_belows(words: &[String], paths: &[&Path]) -> Result<Vec<String>> {
    let paths: Option<Vec<&str>> = paths.iter().map(|path| path.to_str()).collect();
    let paths = paths.context("a device whose path is not UTF-8")?;
    Ok(in_place(words, &paths))
}

fn in_place(words: &[String], paths: &[&str]) -> Vec<String> {
    let mut words = words.to_vec();
    for (at, path) in paths.iter().enumerate() {
        // A journal of format 1 has one, without a number.
        for place in [iotax_qemu::below_placeholder(at), "/@below@".to_owned()] {
            words.iter_mut().for_each(|word| *word = word.replace(&place, path));
        }
    }
    words
}

/// Copy of our binary on a host over SSH, in a folder that carries the run's id. The connection
/// (`iotax_remote::ssh`) copies it; this operation removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteAgent {
    pub host: String,
    /// True for the agent that performs steps, false for the one that issues the load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_steps: bool,
}

impl RemoteAgent {
    /// Returns the id in the name of the folder with the copy.
    pub fn id(&self, tag: &RunTag) -> String {
        if self.for_steps { format!("{}-steps", tag.run_id) } else { tag.run_id.clone() }
    }
}

impl Operation for RemoteAgent {
    fn describe(&self) -> String {
        format!("copy this iotax to {} over ssh and start it there as agent", self.host)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let host = shell::quote_word(&self.host);
        vec![format!("# by iotax itself: copies itself over ssh {host} and starts its agent there")]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the copy of iotax on {}", self.host)))
    }

    fn undo_by_hand(&self, tag: &RunTag, _: &StepOutput) -> Option<String> {
        Some(ssh::remove_by_hand(&self.host, &self.id(tag)))
    }
}

impl ManagedResource for RemoteAgent {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(Some(StepOutput::default()))
    }

    fn remove_resource(&self, _: &mut RealSystem, tag: &RunTag, _: &StepOutput) -> Result<()> {
        ssh::remove_remote(&self.host, &self.id(tag), &ssh::SshOptions::from_env())
            .map(drop)
            .with_context(|| format!("cannot remove the agent's copy on {}", self.host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    #[test]
    fn a_journal_of_before_knows_one_device_below() {
        let old = r#"{"argv":["qemu","file.filename=/@below@,x"],"below":{"yield":2},"tag":"t","log":"/l","makes":[]}"#;
        let spawn: Spawn = serde_json::from_str(old).unwrap();
        assert_eq!(spawn.belows, [PathRef::Yield(2)]);
        let words = with_belows(&spawn.argv, &[Path::new("/dev/loop3")]).unwrap();
        assert_eq!(words[1], "file.filename=/dev/loop3,x");
        let new = serde_json::to_string(&Op::Spawn(spawn.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Op>(&new).unwrap(), Op::Spawn(spawn));
    }

    #[test]
    fn every_device_has_its_place() {
        let argv = ["a=/@below0@", "b=/@below1@,c=/@below0@"].map(String::from);
        let paths = [Path::new("/dev/x"), Path::new("/dev/y")];
        assert_eq!(with_belows(&argv, &paths).unwrap(), ["a=/dev/x", "b=/dev/y,c=/dev/x"]);
    }
}
