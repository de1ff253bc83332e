//! Command lines of fio, after a prompt or `sudo` and continued over several lines, and the
//! settings that they request.

use super::fio::FioJobLine;
use super::fio::options::{self, JobOptions};
use super::format::{Format, ImportedOutputs, ToolReport};
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "command",
    example: "[root@vm ~]# sudo fio --name=test --rw=randread \\\n    --bs=4k --iodepth=32 /tmp/x.fio\n",
    begins: |line| after_fio(line).is_some(),
    read,
};

const WRAPPERS: &str = "sudo time nohup env exec numactl taskset nice ionice chrt stdbuf";

/// Limit of lines; longer commands are cut.
const MOST_LINES: usize = 200;

/// Returns the text after `fio `, if only a prompt, its path, wrappers with their options, and
/// assignments precede it.
fn after_fio(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fio ")?;
    let own = before.rsplit(['$', '#', '%', '>', ';', '&', '|']).next()?;
    let path = own.rsplit([' ', '\t', '`']).next()?;
    let is_before = |word: &str| {
        WRAPPERS.split(' ').any(|one| one == word)
            || word.contains('=')
            || word.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    };
    let fits = path.is_empty() || path.ends_with('/');
    let alone = own[..own.len() - path.len()]
        .split([' ', '\t', '`'])
        .all(|word| word.is_empty() || is_before(word));
    (fits && alone).then_some(after)
}

/// Returns an option without its dashes, which typesetting may have made longer (`–direct=1`).
/// `None` for a word without dashes.
fn option_name(word: &str) -> Option<&str> {
    let bare = word.trim_start_matches(['-', '\u{2013}', '\u{2014}', '\u{2212}']);
    (bare.len() < word.len() && bare.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        .then_some(bare)
}

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let (words, end) = command_words(page, line)?;
    let mut jobs: Vec<FioJobLine> = Vec::new();
    visit_jobs(&options(&words), &mut |name, own| {
        jobs.push(options::settings_from_options(name, line, own));
    });
    (!jobs.is_empty()).then(|| ImportedOutputs::single_output(ToolReport::Asked(jobs), end))
}

/// Calls `add` with the name and all options of each job of the command of fio that begins at a line.
pub fn visit_command_jobs(page: &AuditedPage, line: usize, add: &mut dyn FnMut(&str, &JobOptions)) {
    if let Some((words, _)) = command_words(page, line) {
        visit_jobs(&options(&words), add);
    }
}

/// Returns the words of a command after `fio`, and the line after it.
fn command_words(page: &AuditedPage, line: usize) -> Option<(Vec<&str>, usize)> {
    let (mut words, mut end) = (Vec::new(), line);
    let mut text = Some(after_fio(page.bare_line(line).0)?);
    while let Some(own) =
        text.map(str::trim_end).filter(|_| end < page.len() && end - line < MOST_LINES)
    {
        end += 1;
        words.extend(own.trim_end_matches('\\').split_whitespace());
        text = own.ends_with('\\').then(|| page.bare_line(end).0);
    }
    Some((words, end))
}

/// Returns the options of a command: `--key=value`, `-key=value`, `--key value`.
fn options(words: &[&str]) -> JobOptions {
    let mut options = JobOptions::new();
    let plain = |word: &&str| word.trim_matches(['\'', '"', '`']).to_owned();
    let command = words.iter().take_while(|word| !word.starts_with([';', '|', '&', '>', '<']));
    let mut words = command.map(plain).peekable();
    while let Some(word) = words.next() {
        let Some(name) = option_name(&word) else { continue };
        let (key, value) = match name.split_once('=') {
            Some((key, value)) => (key, Some(value.trim_matches(['\'', '"']).to_owned())),
            // `--bs 4k`: the value is the word after it.
            None if options::is_flag(name) => (name, None),
            None => (name, words.next_if(|next| option_name(next).is_none())),
        };
        options.push((key.to_owned(), value.unwrap_or_else(|| "1".to_owned())));
    }
    options
}

/// Calls `add` with the name and the options of each job. A `--name` begins a job, which inherits the
/// options of every earlier `--name=global`. Options before the first name belong to its job. There
/// is no job if there are fewer than two options: that is not a load.
fn visit_jobs(options: &JobOptions, add: &mut dyn FnMut(&str, &JobOptions)) {
    let mut jobs: Vec<(&str, JobOptions)> = vec![("", JobOptions::new())];
    for (key, value) in options {
        match jobs.last_mut() {
            Some((_, own)) if key != "name" => own.push((key.clone(), value.clone())),
            Some((first, _)) if first.is_empty() => *first = value,
            _ => jobs.push((value, JobOptions::new())),
        }
    }
    jobs.retain(|(name, own)| !name.is_empty() && !own.is_empty());
    if jobs.iter().map(|(_, own)| own.len()).sum::<usize>() < 2 {
        return;
    }
    let mut global = JobOptions::new();
    for (name, own) in jobs {
        match name {
            "global" => global.extend(own),
            _ => add(name, &[global.as_slice(), &own].concat()),
        }
    }
}
