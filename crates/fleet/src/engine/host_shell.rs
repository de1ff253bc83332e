//! Runs a script in the shell of a host, with a stream to it and one from it.

use iotax_sys::child::{ChildEnd, run_within};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Beginning of the lines that are iotax's own; a login profile may print others.
pub(super) const MARK: &str = "IOTAX-FLEET ";

/// Where the output of a script goes.
pub(super) enum ScriptOutput<'a> {
    Kept,
    ToFile(&'a Path),
}

/// What a script printed.
#[derive(Debug, Default)]
pub(super) struct ShellAnswer {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Exit code; `None` if the script was killed at its limit, or by a signal.
    pub(super) code: Option<i32>,
}

impl ShellAnswer {
    /// Returns the rest of the last of iotax's lines that begins with `key`.
    pub(super) fn marked(&self, key: &str) -> Option<&str> {
        let own = self.stdout.lines().rev().filter_map(|line| line.trim_end().strip_prefix(MARK));
        own.filter_map(|line| line.strip_prefix(key)).map(str::trim).next()
    }

    /// Returns the last line of the standard error that says something.
    pub(super) fn last_words(&self) -> String {
        let last = self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
        let silent = match self.code {
            None => "no answer in time",
            Some(255) => "the connection was lost",
            Some(_) => "it printed no error",
        };
        last.unwrap_or(silent).trim_end_matches('.').to_owned()
    }
}

/// Runs a command that runs a script on a host, with `input` as its standard input.
///
/// # Errors
/// The command cannot be started.
pub(super) fn run_script(
    command: &mut Command,
    input: Option<Box<dyn Read + Send>>,
    output: ScriptOutput,
    limit: Duration,
) -> std::io::Result<ShellAnswer> {
    command
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stderr(Stdio::piped());
    match output {
        ScriptOutput::Kept => command.stdout(Stdio::piped()),
        ScriptOutput::ToFile(path) => command.stdout(File::create(path)?),
    };
    let mut child = command.spawn()?;
    if let (Some(mut input), Some(mut stdin)) = (input, child.stdin.take()) {
        // It ends when the child does, which closes the other end of the pipe.
        thread::spawn(move || std::io::copy(&mut input, &mut stdin).and_then(|_| stdin.flush()));
    }
    Ok(match run_within(child, limit)? {
        ChildEnd::Whole(output) | ChildEnd::Held(output) => ShellAnswer {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        },
        ChildEnd::Flooded | ChildEnd::Killed | ChildEnd::Stuck => ShellAnswer::default(),
    })
}
