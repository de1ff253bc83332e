//! Checks a vhost-user socket that another process serves, before anything is planned: whether a disk is behind it and
//! how large that is. Nothing is made there, and the socket is never removed.

use super::survey;
use anyhow::Result;
use iotax_model::scenario::{Scenario, Stack};
use iotax_steps::vhost_user;
use iotax_units::exit::Failed;
use std::path::Path;

/// Looks at a socket: the bytes of its disk.
///
/// # Errors
/// Bad input: nobody serves a disk there, it has too few queues, or it may not be written.
pub fn look(path: &Path, scenario: &Scenario, stack: &Stack) -> Result<u64> {
    let name = format!("vhost-user:{}", path.display());
    survey::check_consent(&name, scenario, stack)?;
    let refuse = |why: String| Failed::input(format!("{}: {why}", stack.text));
    let served = vhost_user::look(path).map_err(|why| {
        refuse(format!(
            "{why:#}; hint: first start the program that serves it, for one guest at a time, as root or as the user \
             who runs iotax"
        ))
    })?;
    let guest = stack.guest();
    let asked = guest.and_then(|guest| guest.number("num-queues").or(guest.number("vcpus")));
    match (asked, served.queues) {
        (Some(asked), Some(has)) if asked > has => Err(refuse(format!(
            "{name} has at most {has} queues, but the guest asks for {asked}; hint: vm(num-queues={has})"
        ))
        .into()),
        _ => Ok(served.bytes),
    }
}
