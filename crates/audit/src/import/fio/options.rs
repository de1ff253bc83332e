//! fio's job files as pages show them, and the meaning of fio's options wherever they appear: in a
//! job file, on a command line, in JSON. Parsing is tolerant, as published text may be cut or
//! retyped.

use super::FioJobLine;
use crate::import::cut::walk;
use crate::import::{Format, ImportedOutputs, ToolReport};
use crate::page::AuditedPage;
use iotax_units::fio::{self, printed_size};

pub(crate) const FORMAT: Format = Format {
    name: "fio job file",
    example: "[global]\nioengine=libaio\ndirect=1\nbs=4k\n\n[randread]\nrw=randread\niodepth=32\n",
    begins: |line| header(line).is_some(),
    read,
};

/// Options as key and value, in their order; if a key appears twice, the last one counts.
pub(crate) type JobOptions = Vec<(String, String)>;

/// A name, the index of its line, its options.
pub(crate) type JobSection = (String, usize, JobOptions);

/// Returns the settings of each job: its own options and those of every `global` section before it.
pub(crate) fn with_globals(sections: Vec<JobSection>) -> Vec<FioJobLine> {
    let mut global = JobOptions::new();
    let mut all = Vec::new();
    for (name, line, own) in sections {
        if name == "global" {
            global.extend(own);
        } else {
            all.push(asked(&name, line, &global.iter().cloned().chain(own).collect()));
        }
    }
    all
}

/// Returns the settings that options give to a job, as far as they state them.
pub(crate) fn asked(name: &str, line: usize, options: &JobOptions) -> FioJobLine {
    let of = |keys: &[&str]| {
        let known = options.iter().rev().find(|(key, _)| keys.contains(&key.as_str()));
        known.map(|(_, value)| value.trim())
    };
    // `randrw:8` also gives the number of I/Os in a row, which is dropped.
    let rw =
        of(&["rw", "readwrite"]).map(|rw| rw.split([':', ',']).next().unwrap_or(rw).to_owned());
    FioJobLine {
        name: name.to_owned(),
        line,
        rw,
        bs: if of(&["bssplit"]).is_some() || of(&["kb_base"]).is_some_and(|base| base != "1024") {
            [None; 3]
        } else {
            sizes(of(&["bs", "blocksize"]), of(&["bsrange", "blocksize_range"]))
        },
        ioengine: of(&["ioengine"]).map(str::to_owned),
        iodepth: of(&["iodepth"]).and_then(|depth| depth.parse().ok()),
    }
}

/// Returns the least and greatest sizes of reads, writes, trims: `4k`, `4k,8k`, `4k-64k`.
pub(super) fn sizes(fixed: Option<&str>, range: Option<&str>) -> [Option<(u64, u64)>; 3] {
    let Some(text) = range.or(fixed) else { return [None; 3] };
    let mut parts = text.split(',').map(|part| {
        let (least, most) = part.split_once('-').unwrap_or((part, part));
        Some((printed_size(least)?, printed_size(most)?))
    });
    // A size that is not given equals the one before it.
    let reads = parts.next().flatten();
    let writes = parts.next().unwrap_or(reads);
    let trims = parts.next().unwrap_or(writes);
    [reads, writes, trims]
}

/// Number of lines of sections within which an option must come that only fio has.
const SOON: usize = 32;

/// Number of sections without such an option that may precede the first one with it.
const EMPTY: usize = 4;

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let mut sections: Vec<JobSection> = Vec::new();
    let mut core = 0;
    let end = walk(page, line, page.len(), |here, at| {
        let text = without_comment(here.text);
        if let Some(name) = header(text) {
            sections.push((name.to_owned(), at, JobOptions::new()));
        } else if let Some((key, value)) = entry(text.trim()) {
            core += usize::from(CORE.split(' ').any(|one| one == key));
            sections.last_mut()?.2.push((key, value));
        } else {
            return text.trim().is_empty().then_some(false);
        }
        (core > 0 || (at - line < SOON && sections.len() <= EMPTY)).then_some(true)
    });
    (core >= 2).then(|| ImportedOutputs::whole(ToolReport::Asked(with_globals(sections)), end))
}

/// Returns the name of a section such as `[global]`, alone on its line. Brackets of lists and JSON
/// are not section names.
fn header(line: &str) -> Option<&str> {
    let name = fio::section(line)?;
    let tight = line.trim().len() == name.len() + 2;
    (tight && !name.is_empty() && !name.contains(['[', ']', '"', '{'])).then_some(name)
}

/// Returns a line without the comment that a `#` or a `;` begins.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with(['#', ';']) {
        return "";
    }
    [" #", "\t#", " ;", "\t;"]
        .iter()
        .filter_map(|sign| line.find(sign))
        .min()
        .map_or(line, |at| &line[..at])
}

/// Reads `bs=4k`; a bare `time_based` is `1`.
fn entry(text: &str) -> Option<(String, String)> {
    let (key, value) = fio::option(text);
    let letter = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    let named = key.len() <= 40
        && key.bytes().all(letter)
        && key.starts_with(|one: char| one.is_ascii_lowercase());
    let known = named && (value.is_some() || is_flag(key));
    known.then(|| (key.to_owned(), value.unwrap_or("1").to_owned()))
}

pub(crate) fn is_flag(key: &str) -> bool {
    FLAGS.split(' ').any(|flag| flag == key)
}

/// Options that may have no value, also those of older versions and of the command line.
const FLAGS: &str = "bs_unaligned norandommap time_based verify_only exitall exitall_on_error stonewall wait_for_previous \
                     new_group thread group_reporting zero_buffers refill_buffers unlink overwrite invalidate direct minimal \
                     append-terse version help showcmd readonly parse-only warnings-fatal cmdhelp enghelp";

/// Options of which no other tool's configuration has two.
const CORE: &str = "rw readwrite bs blocksize bsrange ioengine iodepth numjobs rwmixread rwmixwrite time_based \
                    group_reporting ramp_time stonewall norandommap direct runtime size";
