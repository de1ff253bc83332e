//! Prints results on standard output, and the current step on standard error. Names from others
//! cannot act on a terminal.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use iotax_units::harmless::lines;
use std::io::{IsTerminal, Write};

/// Prints to standard output.
pub(super) fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(lines(text).as_bytes())
        .and_then(|()| out.flush())
        .context("cannot write to standard output")
}

/// Prints a line on standard error.
pub(super) fn say_aside(text: &str) {
    // A closed standard error cannot be written to.
    let _ = writeln!(std::io::stderr(), "{}", lines(text));
}

/// Shows the current step while it lives; silent if standard error is not a terminal.
pub struct Saying(Option<ProgressBar>);

impl Saying {
    pub fn new() -> Saying {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Saying(bar)
    }

    pub fn say(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Saying {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
