//! Description of an operation, and what undoing it touches.

use crate::observer::Observer;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_units::harmless::escape_line;
use std::path::{Path, PathBuf};

/// Short description of what undoing does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoing {
    /// Past participle, such as `removed` or `ended`: reads correctly before `what` and after
    /// `would be`.
    pub did: String,
    /// Object that is undone: `guest vm0`, `/srv/x.img`.
    pub what: String,
}

impl Undoing {
    pub fn new(did: &'static str, what: impl std::fmt::Display) -> Undoing {
        Undoing { did: did.to_owned(), what: what.to_string() }
    }

    /// Describes the undoing of a file, which is kept if `stays`.
    pub fn of_file(path: impl std::fmt::Display, stays: bool) -> Undoing {
        Undoing::new(if stays { "kept" } else { "removed" }, path)
    }
}

impl std::fmt::Display for Undoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.did, self.what)
    }
}

/// Something that undoing removes, ends or changes, in a form by which one can check that only this
/// run can have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own<'a> {
    /// Path in the run's folder, or that folder.
    InFolder(&'a Path),
    /// Name that carries the run's id, or, if it is an absolute path, a path in the run's folder.
    Named(&'a str),
    /// Name that becomes one component of a path below /sys or another of the kernel's folders.
    /// Only this is checked of it.
    Part(&'a str),
}

/// Operation of a step: what it does, what it needs and what undoing it touches.
pub trait Operation {
    /// Describes exactly what the operation does, for the output of `plan` and for readers of the
    /// journal.
    fn describe(&self) -> String;

    /// Returns the commands by which a person would do the operation, for `plan --commands`. The
    /// device that it makes is assigned to the shell variable `out`. By default it is a comment
    /// with what iotax does itself.
    fn commands_by_hand(&self, _out: &str) -> Vec<String> {
        vec![format!("# by iotax itself: {}", escape_line(&self.describe()))]
    }

    /// Returns what the operation destroys and undo cannot bring back, in words; `None` if nothing.
    fn irreversible_effect(&self) -> Option<String> {
        None
    }

    /// Returns the paths that the operation uses, so that outputs of earlier steps can be filled
    /// in.
    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        Vec::new()
    }

    /// Records, in the operation, what the machine can no longer report after the change. The
    /// journal then has it.
    fn observe(&mut self, _machine: &dyn Observer) {}

    /// Returns the paths and names that undoing takes from the journal, each with the check that it
    /// must pass ([`Own`]). Undoing is refused if one fails. Devices, drives and files outside the
    /// run's folder are identified when they are undone (by markers, ids on drives, inodes).
    fn own_resources<'a>(&'a self, _made: &'a StepOutput) -> Vec<Own<'a>> {
        Vec::new()
    }

    /// Describes in a few words what undoing does, given what the operation made if that is known.
    /// Returns `None` if there is nothing to undo.
    fn undo_summary(&self, _made: Option<&StepOutput>) -> Option<Undoing> {
        None
    }

    /// Returns the path of the ceph.conf of the cluster that the operation makes; `None` if it
    /// makes none.
    fn cluster_conf(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the command that a person would type when undoing the operation failed.
    fn undo_by_hand(&self, _tag: &RunTag, _made: &StepOutput) -> Option<String> {
        None
    }
}
