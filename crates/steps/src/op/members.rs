//! Identities of the drives under what an operation makes, and their present paths.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::Operation;
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::PathRef;

/// Reads the identities of members that are about to be written, for [`today`].
pub(super) fn about_to_write(machine: &dyn Observer, members: &[&mut PathRef]) -> Drives {
    let identity = |member: &&mut PathRef| match machine
        .ask_machine(MachineQuestion::Identity(member.resolved_path().ok()?))
    {
        Some(MachineAnswer::Identity(identity)) => Some(identity),
        _ => None,
    };
    Drives::of_identities(members.iter().map(identity))
}

/// Returns the operation with its members at their present paths, and a message for each member
/// whose path leads to another drive by now.
pub(super) fn today<O: Operation + Clone>(op: &O, drives: &Drives) -> (O, Vec<String>) {
    let mut today = op.clone();
    let others = drives.update_member_paths(today.input_paths());
    (today, others)
}
