//! Output of the commands: standard output, messages on standard error, the terminal's width.

use anyhow::Result;
use iotax_report::ink::lines_in_colour;
use iotax_report::{PageContext, TerminalLook};
use iotax_units::exit::{self, DONE};
use iotax_units::harmless::lines;
use iotax_units::shell;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

static CHOICE: OnceLock<ColourChoice> = OnceLock::new();

/// Sets when output has colours, for the whole program; only the first call counts.
pub fn choose_colours(choice: ColourChoice) {
    let _ = CHOICE.set(choice);
}

/// Returns how text on standard output looks.
pub fn look() -> TerminalLook {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let colour = match CHOICE.get().copied().unwrap_or_default() {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        // https://no-color.org: any value but an empty one.
        ColourChoice::Auto => std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !dumb,
    };
    TerminalLook { colour, ascii: !has_utf8() }
}

/// Returns true if the locale has UTF-8; the first variable that is set counts.
fn has_utf8() -> bool {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    let locale = variables.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Returns the width and the look of standard output.
pub fn page() -> PageContext {
    PageContext { width: columns(), look: look() }
}

/// Returns the command `verb` for the run in this folder as a user types it, with `--runs` if the
/// run is not in the usual folder of runs.
pub fn typed(verb: &str, run: &Path) -> String {
    let usual = iotax_store::default_runs_dir().ok();
    let id = iotax_store::run_id_of(run);
    match run.parent().filter(|runs| usual.as_deref() != Some(*runs)) {
        Some(runs) => {
            format!("iotax --runs {} {verb} {}", shell::path(runs), shell::quote_word(&id))
        }
        None => format!("iotax {verb} {}", shell::quote_word(&id)),
    }
}

/// Wraps text to `width` columns, including the indent of [`aside`]. Indented lines stay as they
/// are: carets below a word, commands to copy.
pub fn fit_text(text: &str, width: usize) -> String {
    let fit = |line: &str| match line.starts_with([' ', '\t']) {
        true => line.to_owned(),
        false => iotax_report::wrap_words(line, width.saturating_sub(2), "").trim_end().to_owned(),
    };
    text.split('\n').map(fit).collect::<Vec<_>>().join("\n")
}

/// Prints to standard output.
///
/// # Errors
/// The reader has gone away (`| head`); then the exit code is 0 and no message follows. Or standard
/// output cannot be written for another reason, such as a full disk.
pub fn say(text: &str) -> Result<()> {
    write_out(&lines(text))
}

/// Prints text as [`say`] does, but keeps the colours that iotax has put into it.
///
/// # Errors
/// Fails as [`say`] does.
pub fn say_in_colour(text: &str) -> Result<()> {
    // Without colours there is nothing to keep.
    if look().colour { write_out(&lines_in_colour(text)) } else { say(text) }
}

fn write_out(text: &str) -> Result<()> {
    say_bytes(&mut |out| out.write_all(text.as_bytes()))
}

/// Writes what `fill` writes to standard output, as it is.
///
/// # Errors
/// Fails as [`say`] does, or if `fill` fails.
pub fn say_bytes(fill: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match fill(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(exit::Failed {
            code: DONE,
            message: "the reader of standard output went away".into(),
        }
        .into()),
        other => Ok(other.map_err(|error| {
            exit::Failed::measurement(format!("cannot write to standard output: {error}"))
        })?),
    }
}

/// Prints a message on standard error.
pub fn say_aside(text: &str) {
    // A closed standard error cannot be written to.
    let _ = writeln!(std::io::stderr(), "{}", aside(text));
}

/// Formats a message for standard error. Only the first line begins at the margin, so that a name
/// with a line end in it cannot pass for a message of iotax.
fn aside(text: &str) -> String {
    let text = lines(text);
    let indented = |(at, line): (usize, &str)| match at > 0
        && !line.starts_with([' ', '\t'])
        && !line.is_empty()
    {
        true => format!("  {line}"),
        false => line.to_owned(),
    };
    text.split('\n').enumerate().map(indented).collect::<Vec<_>>().join("\n")
}

/// Formats a paragraph after a first column, with its further lines indented below its start. A
/// word longer than a line gets its own line: it may have to be copied.
pub fn hanging_paragraph(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let paragraph = iotax_report::wrap_words(text, width.saturating_sub(indent), "");
    let lines = paragraph.lines().enumerate().map(|(at, line)| match at {
        0 => format!("{first}{line}"),
        _ => format!("{:indent$}{line}", ""),
    });
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the columns of the terminal. Without one, returns those that `COLUMNS` asks for, or 80.
pub fn columns() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.or_else(asked).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_fits_the_terminal_and_what_is_indented_stays() {
        let long = format!("iotax: {}\n  {}\n  ^^^", "why ".repeat(40), "x  y".repeat(40));
        let fitted = aside(&fit_text(&long, 80));
        let (excerpt, sentence): (Vec<&str>, Vec<&str>) =
            fitted.lines().partition(|line| line.starts_with("  x") || line.ends_with('^'));
        assert_eq!(excerpt, long.lines().skip(1).collect::<Vec<_>>());
        assert_eq!(sentence.join(" ").matches("why").count(), 40);
        assert!(sentence.len() == 3 && sentence.iter().all(|line| line.len() <= 80), "{fitted}");
    }

    #[test]
    fn what_is_said_aside_does_nothing_and_begins_no_line() {
        assert_eq!(
            aside("iotax: a\u{1b}[2J\niotax: b\r\n  c\n\nd"),
            "iotax: a\\u{1b}[2J\n  iotax: b\\u{d}\n  c\n\n  d"
        );
    }

    #[test]
    fn a_command_on_a_run_says_where_the_run_is_unless_that_is_usual() {
        let id = "20260101-000000-abcd";
        let elsewhere = Path::new("/srv/runs").join(id);
        assert_eq!(typed("resume", &elsewhere), format!("iotax --runs /srv/runs resume {id}"));
        assert_eq!(
            typed("clean", Path::new("/srv/a b;reboot/x")),
            "iotax --runs '/srv/a b;reboot' clean x",
        );
        let Ok(usual) = iotax_store::default_runs_dir() else { return };
        assert_eq!(typed("clean", &usual.join(id)), format!("iotax clean {id}"));
    }
}
