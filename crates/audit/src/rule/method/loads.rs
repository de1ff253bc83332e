//! What a page asks fio for, with every option and where it stands: jobs of command lines and of job files.

use crate::evidence::Evidence;
use crate::import::command::Command;
use crate::import::fio::job_file::{Entry, JobFile};
use crate::import::{Output, Said};
use crate::page::Spot;

/// A job that fio is asked for.
pub(in crate::rule) struct Load<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where that stands.
    pub spot: Spot,
    entries: Vec<&'a Entry>,
}

impl<'a> Load<'a> {
    /// An option; of one that comes twice the last.
    pub fn entry(&self, keys: &[&str]) -> Option<&'a Entry> {
        self.entries.iter().rev().find(|entry| keys.contains(&entry.key.as_str())).copied()
    }

    /// Its value; a bare option is `1`.
    pub fn option(&self, keys: &[&str]) -> Option<&'a str> {
        Some(self.entry(keys)?.value.as_deref().unwrap_or("1").trim())
    }

    /// A number.
    pub fn number(&self, keys: &[&str]) -> Option<u64> {
        self.option(keys)?.parse().ok()
    }

    /// `randread` of `rw=randread:8`.
    pub fn rw(&self) -> Option<&'a str> {
        self.option(&["rw", "readwrite"])?.split([':', ',']).next()
    }

    /// Whether an option holds what a script sets, or a part of it was left out.
    pub fn is_template(&self) -> bool {
        self.entries.iter().filter_map(|entry| entry.value.as_deref()).any(|value| {
            value.contains(['$', '{', '<', '%', '\u{2026}']) || value.contains("...") || value.is_empty()
        })
    }
}

/// Every job that a page asks fio for, in its order.
pub(in crate::rule) fn loads<'a>(evidence: &Evidence<'a>) -> Vec<Load<'a>> {
    evidence.outputs.iter().flat_map(of_output).collect()
}

/// Those of one output.
pub(in crate::rule) fn of_output(output: &Output) -> Vec<Load<'_>> {
    match &output.said {
        Said::Command(command) => {
            all_of(command).filter(|one| one.program == "fio").flat_map(of_command).collect()
        }
        Said::JobFile(file) => of_file(file),
        _ => Vec::new(),
    }
}

/// A command and those behind it on its line.
fn all_of(command: &Command) -> impl Iterator<Item = &Command> {
    std::iter::once(command).chain(&command.more)
}

/// Every command line of a page, with the index of its output.
pub(in crate::rule) fn commands<'a>(evidence: &Evidence<'a>) -> Vec<(usize, &'a Command)> {
    let found = evidence.outputs.iter().enumerate().filter_map(|(at, output)| match &output.said {
        Said::Command(command) => Some((at, &**command)),
        _ => None,
    });
    found.flat_map(|(at, command)| all_of(command).map(move |one| (at, one))).collect()
}

/// What stands before the first name is of its job.
fn of_command(command: &Command) -> Vec<Load<'_>> {
    let mut jobs = vec![Load { name: "", spot: command.spot, entries: Vec::new() }];
    for entry in &command.options {
        let name = entry.value.as_deref().unwrap_or("");
        match jobs.last_mut() {
            Some(last) if entry.key != "name" => last.entries.push(entry),
            Some(last) if last.name.is_empty() => (last.name, last.spot) = (name, entry.spot),
            _ => jobs.push(Load { name, spot: entry.spot, entries: Vec::new() }),
        }
    }
    jobs.retain(|job| !job.name.is_empty() || job.rw().is_some());
    with_globals(jobs)
}

fn of_file(file: &JobFile) -> Vec<Load<'_>> {
    let sections = file.sections.iter().map(|section| Load {
        name: &section.name,
        spot: Spot::new(section.line, 0..section.name.len() + 2),
        entries: section.entries.iter().collect(),
    });
    with_globals(sections.collect())
}

/// Jobs with what the global sections before them say; without those sections.
fn with_globals(sections: Vec<Load>) -> Vec<Load> {
    let mut global: Vec<&Entry> = Vec::new();
    let mut jobs = Vec::new();
    for mut section in sections {
        if section.name == "global" {
            global.append(&mut section.entries);
            continue;
        }
        section.entries.splice(0..0, global.iter().copied());
        jobs.push(section);
    }
    jobs
}
