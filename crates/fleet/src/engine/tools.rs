//! Programs of an engine (`sbatch`, `squeue`, `kubectl`), which bring the user's own
//! authentication.

use super::host_shell::{ScriptOutput, run_script};
use std::io::{Cursor, Read};
use std::process::Command;
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
    command.args(words);
    let input = input.map(|text| Box::new(Cursor::new(text.to_vec())) as Box<dyn Read + Send>);
    let answer =
        run_script(&mut command, input, ScriptOutput::Kept, limit).map_err(|error| match error
            .kind()
        {
            std::io::ErrorKind::NotFound => format!("there is no {program} here"),
            _ => format!("{program} cannot be started: {error}"),
        })?;
    if answer.code == Some(0) {
        return Ok(answer.stdout);
    }
    let last = answer.last_words();
    let own = format!("{program}: ");
    let words = last.trim_start_matches(&own).trim_start_matches("error: ");
    Err(format!("{own}{}", words.trim_start_matches("fatal: ")))
}
