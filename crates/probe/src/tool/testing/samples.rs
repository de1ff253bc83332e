//! Recorded outputs, and scripts as programs, for tests.

use super::visit::{Tool, ToolReading, ToolRequest, ToolText};
use crate::ProbeSpec;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Wall time of the program that printed a sample.
pub(super) const WALL_NS: u64 = 2_000_000_000;

/// Reads a recorded output with a tool.
pub(super) fn read_sample(
    probe: &str,
    tool: &Tool,
    stdout: &str,
    stderr: &str,
) -> Result<ToolReading, String> {
    let spec = ProbeSpec::parse(probe).unwrap();
    let asked = ToolRequest { spec: &spec, program: Path::new("tool"), ns: WALL_NS };
    let printed =
        ToolText { stdout: stdout.to_owned(), stderr: stderr.to_owned(), wall_ns: WALL_NS };
    (tool.read)(&asked, &printed)
}

pub(super) fn reads(probe: &str, tool: &Tool, stdout: &str, stderr: &str) -> Result<(), String> {
    read_sample(probe, tool, stdout, stderr).map(|_| ())
}

/// Writes an executable script. Another process writes it: otherwise a test that starts a program
/// at that moment would hold the file open for writing, and it could not be run ("text file busy").
pub(super) fn write_program(file: &Path, script: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat >\"$1\" && chmod +x \"$1\"", "sh"]).arg(file).stdin(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    shell.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}
