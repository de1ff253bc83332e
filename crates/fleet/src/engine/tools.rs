//! Programs of an engine (`sbatch`, `squeue`, `kubectl`), which bring the user's own
//! authentication.

use iotax_sys::child::{ChildEnd, run_within};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Time for an answer of an engine.
pub(super) const ENGINE_LIMIT: Duration = Duration::from_secs(60);

/// Runs a program to its end, with `input` as its standard input. Returns its standard output.
///
/// # Errors
/// The program is missing, was too slow, or failed: a clause with its own last words.
pub(super) fn run_tool(
    program: &str,
    words: &[&str],
    input: Option<&[u8]>,
    limit: Duration,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no {program} here"),
        _ => format!("{program} cannot be started: {error}"),
    })?;
    if let (Some(input), Some(mut stdin)) = (input.map(<[u8]>::to_vec), child.stdin.take()) {
        // It ends when the child does.
        thread::spawn(move || stdin.write_all(&input));
    }
    let output = match run_within(child, limit) {
        Ok(ChildEnd::Whole(output) | ChildEnd::Held(output)) => output,
        Ok(_) => return Err(format!("{program} did not end within {} s", limit.as_secs())),
        Err(error) => return Err(format!("{program}: {error}")),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last =
        words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it gave no reason");
    Err(format!(
        "{program}: {}",
        last.trim_start_matches("sbatch: error: ").trim_start_matches("error: ")
    ))
}
