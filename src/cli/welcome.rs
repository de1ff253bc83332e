//! What `iotax` alone prints: three commands that work on this machine as they are, and where the
//! help is.

use super::doctor;
use super::output::say;
use anyhow::Result;
use iotax_units::exit::DONE;
use std::path::Path;

/// Folders in which the first command could make its file.
const FOLDERS: [&str; 2] = [".", "/var/tmp"];

/// Prints the commands. `runs` is the folder of the stored runs.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(runs: &Path) -> Result<u8> {
    let stored = iotax_store::find_run(runs, "last").is_ok();
    let here = |folder: &str| doctor::command_here(Path::new(folder)).ok();
    let first = FOLDERS.iter().find_map(|folder| here(folder));
    say(&welcome_text(first.as_deref(), stored))?;
    Ok(DONE)
}

/// Returns the text. `first` measures something here; `None`: nothing can be measured yet.
fn welcome_text(first: Option<&str>, stored: bool) -> String {
    let mut commands: Vec<(String, &str)> = Vec::new();
    if let Some(first) = first {
        commands.push((format!("{first} --budget 60s"), "cost of each layer, about a minute"));
        commands.push((first.replacen("run", "plan", 1), "what that would do, nothing is touched"));
    }
    if stored {
        commands.push(("iotax report last".into(), "the report of the last run"));
        commands.push(("iotax list".into(), "the stored runs"));
    }
    commands.push(("iotax doctor".into(), "what works on this machine, and what is missing"));
    commands.push(("iotax audit --rules".into(), "what is checked in figures that others publish"));
    commands.push(("iotax selfcheck stats --reps 50".into(), "a test of the statistics"));
    let line = |(command, what): &(String, &str)| format!("  # {what}\n  {command}\n");
    let three: String = commands.iter().take(3).map(line).collect();
    format!(
        "iotax measures what each layer of a storage stack costs. For example, here:\n\n{three}\n\
         Help: iotax help          all commands\n      \
         iotax run -h        one command in short, --help with examples\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_commands_are_shown_that_work_here() {
        let first = "iotax run --bill 'file:/srv/x.img,size=1GiB | loop'";
        for (first, stored) in
            [(Some(first), true), (Some(first), false), (None, true), (None, false)]
        {
            let text = welcome_text(first, stored);
            assert!(text.lines().count() <= 15, "{text}");
            assert_eq!(text.matches("  # ").count(), 3, "{text}");
            assert_eq!(text.contains("iotax report last"), stored, "{text}");
        }
    }
}
