//! T8: commands of compared systems that differ beyond names and devices.

use super::loads::commands;
use crate::finding::{Finding, Severity};
use crate::import::command::Command;
use crate::knowledge::mentions::heading;
use crate::rule::{Evidence, Rule, Sink};

/// T8.
pub const RULE: Rule = Rule {
    id: "T8",
    name: "what is compared is made by the same command",
    severity: Severity::Ambiguous,
    holds: "commands of one tool under headings that are the same but for their numbers (2.2 LVM, 3.2 LVM) differ in devices and names only",
    silent: "unless there are two such headings with one command of that tool each, and a table stands behind both",
    check,
};

/// Tools that make what is measured.
const MAKE: [&str; 5] = ["mdadm", "lvcreate", "vgcreate", "zpool", "zfs"];
/// Options whose values are names.
const NAMES: [&str; 4] = ["-n", "--name", "--verbose", "-v"];
/// So many headings are looked through.
const MOST: usize = 400;

/// A heading without its number.
fn bare(text: &str) -> String {
    let text = text.trim().trim_start_matches('#').trim_start();
    let text = text.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || matches!(letter, '.' | '、' | ')' | ' ')
    });
    text.to_lowercase()
}

fn check(evidence: &Evidence, sink: &mut Sink) {
    let commands: Vec<&Command> = commands(evidence)
        .into_iter()
        .map(|(_, one)| one)
        .filter(|one| MAKE.contains(&one.program.as_str()))
        .collect();
    if commands.len() < 2 || commands.len() > MOST {
        return;
    }
    let mut headings: Vec<(usize, String)> = Vec::new();
    for line in 0..evidence.page.len() {
        let text = evidence.page.line(line);
        if heading(text).is_some() && headings.len() < MOST {
            headings.push((line, bare(text)));
        }
    }
    // Sub-headings between a heading and a command are parts of its name.
    let over =
        |line: usize| headings.iter().enumerate().rev().find(|(_, (at, _))| *at < line).map(|(at, _)| at);
    for (index, first) in commands.iter().enumerate() {
        let Some(one) = over(first.line) else { continue };
        let alone = |of: usize| {
            commands
                .iter()
                .filter(|other| other.program == first.program && over(other.line) == Some(of))
                .count()
                == 1
        };
        let twin = commands[index + 1..].iter().find(|other| {
            let same =
                |at: usize| at != one && headings[at].1 == headings[one].1 && !headings[at].1.is_empty();
            other.program == first.program && over(other.line).is_some_and(same)
        });
        let Some(second) = twin else { continue };
        let measured = |line: usize, end: usize| {
            evidence.tables.iter().any(|table| table.lines.start > line && table.lines.start < end)
        };
        let end = headings.get(one + 1).map_or(evidence.page.len(), |(at, _)| *at);
        let other = over(second.line).unwrap_or(one);
        let other_end = headings.get(other + 1).map_or(evidence.page.len(), |(at, _)| *at);
        if !alone(one) || !alone(other) || !measured(first.line, end) || !measured(second.line, other_end) {
            continue;
        }
        let (left, right) = (options(first), options(second));
        let only = |mine: &[String], theirs: &[String]| -> Vec<String> {
            mine.iter().filter(|word| !theirs.contains(word)).cloned().collect()
        };
        let (left, right) = (only(&left, &right), only(&right, &left));
        if left.is_empty() && right.is_empty() {
            continue;
        }
        let shown = |words: &[String]| if words.is_empty() { "nothing".to_owned() } else { words.join(" ") };
        let message = format!(
            "the {} of {:?} is made by another command than in line {}: {} there, {} here",
            first.program,
            headings[one].1,
            evidence.page.number(first.line),
            shown(&left),
            shown(&right)
        );
        sink.finds(Finding::new("T8", Severity::Ambiguous, second.spot, message).against([first.spot]));
    }
}

/// Options with their values, without names and devices.
fn options(command: &Command) -> Vec<String> {
    let mut options = Vec::new();
    let mut words = command.words.iter().map(|word| word.text.as_str()).peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            continue;
        }
        let value = words.next_if(|next| !next.starts_with('-') && !next.starts_with('/'));
        if NAMES.contains(&word.split('=').next().unwrap_or(word)) {
            continue;
        }
        // What is alone behind an option may as well be a name.
        options.push(match value {
            Some(value) => format!("{word} {value}"),
            None => word.to_owned(),
        });
    }
    options
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn page(second: &str) -> String {
        let table = "| x | MB/s |\n|---|---|\n| read | 400.1 |\n| write | 300.1 |\n";
        format!(
            "# 1. iSCSI\n\n## 1.1 LVM\n\nlvcreate -i6 -I64 --type striped -l 100%VG -n one vg\n\n{table}\n# 2. NVMe-oF\n\n## 2.1 LVM\n\n{second}\n\n{table}"
        )
    }

    #[test]
    fn another_command_is_told() {
        assert_eq!(found(&page("lvcreate -i6 -I128 --type striped -l 100%VG -n two vg2"), "T8").len(), 1);
        assert_eq!(found(&page("lvcreate -i6 -I64 --type striped -l 100%VG -n two vg2"), "T8"), []);
        let other = page("lvcreate -i6 -I128 --type striped -l 100%VG -n two vg2")
            .replace("2.1 LVM", "2.1 LVM with larger stripes");
        assert_eq!(found(&other, "T8"), [], "it says so");
    }
}
