//! What is being done, on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// What is being done, while it lives; quiet when standard error is no terminal.
pub struct Saying(Option<ProgressBar>);

impl Saying {
    /// Nothing yet.
    pub fn new() -> Saying {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Saying(bar)
    }

    /// This.
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
