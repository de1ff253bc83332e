//! Checks a vhost-user socket that another process serves, before anything is planned: that a disk
//! is served there, and the size of the disk. Nothing is made there, and the socket is never
//! removed.

use anyhow::Result;
use iotax_drivers::vhost_user;
use iotax_model::stack::Stack;
use iotax_units::exit::Failed;
use std::path::Path;

/// Returns the size in bytes of the disk that a socket serves.
///
/// # Errors
/// Bad input: nobody serves a disk there, or it has fewer queues than the guest asks for.
pub fn inspect_socket(path: &Path, stack: &Stack) -> Result<u64> {
    let name = format!("vhost-user:{}", path.display());
    let refuse = |why: String| Failed::input(format!("{}: {why}", stack.text));
    let served = vhost_user::query_socket(path).map_err(|why| {
        refuse(format!(
            "{why:#}; hint: first start the program that serves it, for one guest at a time, as root or as the user \
             who runs iotax"
        ))
    })?;
    let guest = stack.guest();
    let asked =
        guest.and_then(|guest| guest.option_number("num-queues").or(guest.option_number("vcpus")));
    match (asked, served.queues) {
        (Some(asked), Some(has)) if asked > has => Err(refuse(format!(
            "{name} has at most {has} queues, but the guest asks for {asked}; hint: vm(num-queues={has})"
        ))
        .into()),
        _ => Ok(served.bytes),
    }
}
