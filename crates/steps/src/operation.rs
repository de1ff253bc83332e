//! What every operation says of itself, and what undoing it touches.

use crate::observer::Observer;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
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

    /// Describes the undoing of a file, which is kept if it existed before.
    pub fn of_file(path: impl std::fmt::Display, stays: bool) -> Undoing {
        Undoing::new(if stays { "kept" } else { "removed" }, path)
    }
}

impl std::fmt::Display for Undoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.did, self.what)
    }
}

/// Something that undoing removes, ends or changes, in a form that proves that only this run can
/// have made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own<'a> {
    /// Path in the run's folder, or that folder.
    InFolder(&'a Path),
    /// Name that carries the run's id, or a path in its folder.
    Named(&'a str),
    /// Name that becomes one component of a path of the kernel.
    Part(&'a str),
}

/// Description that every operation gives of itself.
pub trait Operation {
    /// Describes the exact act, for `plan` and the journal's reader.
    fn describe(&self) -> String;

    /// Returns what cannot be brought back, if anything.
    fn irreversible_effect(&self) -> Option<String> {
        None
    }

    /// Returns the paths that earlier steps yield.
    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        Vec::new()
    }

    /// Notes what the machine can no longer report once it is changed. The intent keeps it.
    fn observe(&mut self, _machine: &dyn Observer) {}

    /// Returns what undoing touches and only this run can have made: nothing else in a journal is
    /// believed. Devices, drives and files outside the run's folder are identified when they are
    /// undone (by markers, ids on drives, inodes).
    fn own_resources<'a>(&'a self, _made: &'a StepOutput) -> Vec<Own<'a>> {
        Vec::new()
    }

    /// Describes in a few words what undoing does, with what the operation made where that is
    /// known. Returns `None` if it has nothing of its own to undo.
    fn undo_summary(&self, _made: Option<&StepOutput>) -> Option<Undoing> {
        None
    }

    /// Returns the configuration of the storage cluster that it makes, used to ask the cluster for
    /// its state.
    fn cluster_conf(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the command that a person would type when undoing the operation failed.
    fn undo_by_hand(&self, _tag: &RunTag, _made: &StepOutput) -> Option<String> {
        None
    }
}
