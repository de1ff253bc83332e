//! Steps that a person performs before a stack can be measured: one drive that is given to one
//! machine after the other.

use super::error::Fault;
use super::media::size_of;
use crate::stack::{Location, Medium, Stack};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Instruction to a person, with the drive that shows that it was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    pub text: String,
    /// Serial or WWN of the drive that is then in the stack's place.
    pub serial: String,
    /// Bytes of the drive that are used. They cannot be read while the drive is elsewhere.
    pub size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorTable {
    text: String,
    serial: String,
    size: String,
}

impl OperatorTable {
    pub(super) fn checked(&self) -> Result<Operator, Fault> {
        let serial = self.serial.trim().to_owned();
        if self.text.trim().is_empty() || serial.is_empty() {
            return Err(Fault::hint("an operator has a text and a serial", EXAMPLE));
        }
        Ok(Operator { text: self.text.trim().to_owned(), serial, size: size_of(&self.size)? })
    }
}

const EXAMPLE: &str =
    "write operator = { text = \"give the drive to vm2\", serial = \"S1234\", size = \"100GiB\" }";

/// Returns the step of a stack. All stacks of a grid have the step of the name before the first
/// blank.
pub(super) fn operator_of<'a>(
    operators: &'a BTreeMap<String, Operator>,
    stack: &Stack,
) -> Option<&'a Operator> {
    operators.get(stack.name.split(' ').next()?)
}

/// Checks that each step is for stacks on one drive alone, and that all stacks on a path have the
/// same step. `alone` names what the scenario asks for (a bill, durability trials) if steps cannot
/// be combined with it.
///
/// # Errors
/// Returns the name of the stack at fault, with the reason.
pub(super) fn check_operators(
    stacks: &[Stack],
    operators: &BTreeMap<String, Operator>,
    alone: Option<&str>,
) -> Result<(), (String, Fault)> {
    if operators.is_empty() {
        return Ok(());
    }
    let fault =
        |stack: &Stack, why: &str, hint: &str| Err((stack.name.clone(), Fault::hint(why, hint)));
    let mut seen: BTreeMap<String, (Option<&Operator>, &Stack)> = BTreeMap::new();
    for stack in stacks {
        let operator = operator_of(operators, stack);
        if let (Some(_), Some(what)) = (operator, alone) {
            return fault(
                stack,
                &format!("an operator cannot be used with {what}"),
                "leave out one of them",
            );
        }
        let is_drive = match &stack.medium {
            Medium::Device { .. } => true,
            Medium::Remote { path, .. } => stack.layers.is_empty() && path.starts_with("/dev"),
            _ => false,
        };
        if operator.is_some() && !is_drive {
            let hint = "write a device of this host, or ssh:HOST:/dev/NAME without layers";
            return fault(
                stack,
                "an operator moves one drive, and the stack must be that drive alone",
                hint,
            );
        }
        for location in stack.medium.locations() {
            let Location::Path(host, path) = location else { continue };
            let at = format!("{}:{}", host.unwrap_or_default(), path.display());
            match seen.get(&at) {
                Some((other, first)) if *other != operator => {
                    let why = format!(
                        "{} is on the same path but has another operator, or none",
                        first.name
                    );
                    let hint = "write one text for all stacks on a path: nothing else shows that it was done";
                    return fault(stack, &why, hint);
                }
                _ => drop(seen.insert(at, (operator, stack))),
            }
        }
    }
    Ok(())
}
