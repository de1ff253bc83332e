//! M7: rates of dd that the page cache made.

use super::loads::commands;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::command::{Command, Word};
use crate::import::{Output, dd};
use crate::page::{Page, Spot};

/// The value of `of=/data/file` among words.
fn operand<'a>(words: &'a [Word], key: &str) -> Option<&'a str> {
    let value = words.iter().find_map(|word| word.text.strip_prefix(key))?;
    (!value.is_empty() && !value.contains(['$', '<', '{'])).then_some(value)
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn is_dd(output: &Output) -> bool {
    output.format == dd::FORMAT.name
}

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    let mut shown: Vec<(&Command, Spot)> = Vec::new();
    for (at, command) in commands(evidence).into_iter().filter(|(_, one)| one.program == "dd") {
        // Its own rate stands right behind.
        let near = evidence.outputs[at].lines.end + 3;
        let next = evidence.outputs.get(at + 1).filter(|next| next.lines.start <= near);
        let rate = next.filter(|next| is_dd(next)).and_then(|next| next.said.readings()[0].bytes_per_second);
        shown.extend(rate.map(|rate| (command, rate.spot)));
    }
    let is_other = |output: &Output| !is_dd(output) && !output.said.readings().is_empty();
    let drops = || memchr::memmem::find(evidence.page.text().as_bytes(), b"drop_caches").is_some();
    let few = match shown.len() {
        0 => true,
        1 => evidence.outputs.iter().any(is_other),
        _ => false,
    };
    if few || drops() {
        return;
    }
    for (command, rate) in shown {
        let why = through_cache(&command.words).filter(|_| !is_input(evidence.page, command));
        let finding =
            why.map(|why| Finding::new("M7", Severity::Ambiguous, command.spot, why).against([rate]));
        finding.into_iter().for_each(|finding| sink.finds(finding));
    }
}

/// Whether the file that dd writes is what another command is tried with: nobody reads dd's rate then.
fn is_input(page: &Page, dd: &Command) -> bool {
    let path = operand(&dd.words, "of=").filter(|path| !path.starts_with("/dev/"));
    let Some(name) = path.map(last_part).filter(|name| name.len() >= 3) else { return false };
    (0..page.len()).map(|at| page.line(at)).filter(|text| text.contains(name)).any(|text| {
        let words = text.trim_start_matches(['$', '#', '>', ' ']).trim_start_matches("sudo ");
        let (program, rest) = words.split_once(' ').unwrap_or((words, ""));
        let is_program = program.starts_with(|letter: char| letter.is_ascii_lowercase());
        let uses = rest.split(' ').any(|word| last_part(word) == name);
        is_program && uses && !["rm", "dd", "ls", "sync", "hdparm"].contains(&program)
    })
}

/// Why dd's rate is that of the page cache.
fn through_cache(words: &[Word]) -> Option<String> {
    let has = |key: &str, flags: &[&str]| {
        operand(words, key).is_some_and(|value| value.split(',').any(|one| flags.contains(&one)))
    };
    let (from, to) = (operand(words, "if=")?, operand(words, "of=")?);
    if words.iter().any(|word| word.text == "|") {
        return None;
    }
    if to != "/dev/null" {
        let waits = has("oflag=", &["direct", "sync", "dsync"]) || has("conv=", &["fsync", "fdatasync"]);
        let made = ["/dev/zero", "/dev/urandom", "/dev/random"].contains(&from);
        return (!waits && made).then(|| {
            format!(
                "dd writes {to} through the page cache and does not wait for it (no oflag=direct, no conv=fsync): its rate is not the drive's"
            )
        });
    }
    (from != "/dev/zero" && !has("iflag=", &["direct"])).then(|| {
        format!(
            "dd reads {from} through the page cache (no iflag=direct): what is in memory is not read from the drive"
        )
    })
}
