//! The command line: one file a command.

pub mod doctor;

use std::process::ExitCode;

/// Parses the command line, runs the command, turns its error into an exit code.
pub fn main() -> ExitCode {
    ExitCode::from(crate::exit::DONE)
}
