//! Parses the command line, dispatches the command, and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    iotax::cli::main()
}
