//! Recorded outputs, for the tests of what reads them.

use super::visit::{Asked, Printed, Reading, Tool};
use crate::ProbeSpec;
use std::path::Path;

/// Of the program that printed a sample.
pub(super) const WALL_NS: u64 = 2_000_000_000;

/// What a tool makes of an output.
pub(super) fn read_sample(probe: &str, tool: &Tool, stdout: &str, stderr: &str) -> Result<Reading, String> {
    let spec = ProbeSpec::parse(probe).unwrap();
    let asked = Asked { spec: &spec, program: Path::new("tool"), version: "1.0", ns: WALL_NS };
    let printed = Printed { stdout: stdout.to_owned(), stderr: stderr.to_owned(), wall_ns: WALL_NS };
    (tool.read)(&asked, &printed)
}

/// The same without what it holds, for errors.
pub(super) fn reads(probe: &str, tool: &Tool, stdout: &str, stderr: &str) -> Result<(), String> {
    read_sample(probe, tool, stdout, stderr).map(|_| ())
}
