//! Loads that a page states: in commands of fio, in listings of job files, and in short lines of
//! text.

use super::PageLimits;
use super::headings::taken_lines;
use super::labels::read_label;
use super::loads::{LoadList, PageLoad};
use iotax_audit::audit::Audited;
use iotax_audit::import::command::visit_command_jobs;
use iotax_audit::import::format::ToolReport;
use iotax_audit::page::AuditedPage;
use iotax_units::fio::{fio_number, option, section};

/// Longest line in bytes that may state a load in words.
const LONGEST: usize = 120;
/// Longest rest, in characters, of a line that states a load: more words are a sentence.
const MOST_REST: usize = 32;

/// Adds the loads of all commands and job files, in the order of the page.
pub(super) fn add_stated_loads(audited: &Audited, limits: &mut PageLimits, loads: &mut LoadList) {
    let page = &audited.page;
    for output in &audited.outputs {
        let (ToolReport::Asked(_), line) = (&output.said, output.lines.start) else { continue };
        visit_command_jobs(page, line, &mut |_, options| {
            let pairs = options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            add_load(load_of_options(pairs, page.line_number(line)), limits, loads);
        });
    }
    for (line, options) in job_sections(page) {
        add_load(load_of_options(options.into_iter(), page.line_number(line)), limits, loads);
    }
}

/// Adds loads that short lines of text state with block size and direction: `4KiB random reads`.
pub(super) fn add_listed_loads(audited: &Audited, limits: &mut PageLimits, loads: &mut LoadList) {
    let (page, taken) = (&audited.page, taken_lines(audited));
    for line in (0..page.len()).filter(|line| !taken[*line]) {
        let text = page.line_text(line).trim();
        if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if text.contains(['=', '`', '$', '。']) || text.ends_with('.') {
            continue;
        }
        let meaning = read_label(text);
        let load = PageLoad { line: page.line_number(line), ..meaning.load };
        let is_order = load.random.is_some() || load.percentage_random.is_some();
        let is_alone = meaning.name.chars().count() <= MOST_REST && meaning.metric.is_none();
        if load.is_named() && load.bs.is_some() && is_order && is_alone {
            add_load(load, limits, loads);
        }
    }
}

fn add_load(load: PageLoad, limits: &mut PageLimits, loads: &mut LoadList) {
    if load.is_named() && limits.has_room_for_loads(loads.all.len()) {
        loads.find_or_add(&load);
    }
}

/// Returns the load that options of fio mean; later ones count.
fn load_of_options<'o>(options: impl Iterator<Item = (&'o str, &'o str)>, line: u32) -> PageLoad {
    let mut load = PageLoad { line, ..PageLoad::default() };
    let number = |value: &str| fio_number(value).filter(|number| *number < 1 << 40);
    for (key, value) in options {
        match key {
            "rw" | "readwrite" => load.set_rw(value),
            "bs" | "blocksize" => load.bs = number(value),
            "iodepth" => load.iodepth = number(value),
            "numjobs" => load.numjobs = number(value),
            "fsync" => load.fsync = number(value).filter(|every| *every > 0),
            "end_fsync" => load.end_fsync = number(value) != Some(0),
            "rwmixread" => load.rwmixread = number(value).filter(|share| *share <= 100),
            "rwmixwrite" => {
                load.rwmixread = number(value).and_then(|share| 100u64.checked_sub(share))
            }
            "percentage_random" => {
                load.percentage_random = number(value).filter(|share| *share < 100)
            }
            "ioengine" => load.engine = Some(value.to_owned()),
            "size" => load.size = Some(value.to_owned()),
            "runtime" => load.runtime = Some(value.to_owned()),
            _ => {}
        }
    }
    // fio's defaults, which a command or a job file means.
    load.bs = load.bs.or(Some(4096));
    load.iodepth = load.iodepth.or(Some(1));
    load.numjobs = load.numjobs.or(Some(1));
    if !load.is_mix() {
        load.rwmixread = None;
    }
    load
}

/// Most lines of one listing that are read.
const MOST_LINES: usize = 200;
type Options<'p> = Vec<(&'p str, &'p str)>;

/// Returns the sections of job files on the page, each with its line and its options, after those
/// of the `[global]` before it.
fn job_sections(page: &AuditedPage) -> Vec<(usize, Options<'_>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < page.len() {
        let begins = section(page.bare_line(at).0).is_some_and(|name| !name.is_empty());
        at = if begins { read_listing(page, at, &mut found) } else { at + 1 };
    }
    found
}

/// Reads the listing that begins at a section. Returns the line after it.
fn read_listing<'p>(
    page: &'p AuditedPage,
    from: usize,
    found: &mut Vec<(usize, Options<'p>)>,
) -> usize {
    let mut global: Options = Vec::new();
    let mut sections: Vec<(usize, &str, Options)> = Vec::new();
    let mut at = from;
    while at < page.len() && at - from < MOST_LINES {
        let line = page.bare_line(at).0.trim();
        if let Some(name) = section(line) {
            sections.push((at, name, Vec::new()));
        } else if !line.is_empty() && !line.starts_with(['#', ';']) {
            let (key, value) = option(line);
            let is_key = !key.is_empty()
                && key.bytes().all(|byte| byte.is_ascii_lowercase() || b"_".contains(&byte));
            if !is_key {
                break;
            }
            sections
                .last_mut()
                .into_iter()
                .for_each(|last| last.2.push((key, value.unwrap_or("1"))));
        }
        at += 1;
    }
    let is_fio = sections.iter().any(|(_, _, options)| {
        options.iter().any(|(key, _)| ["rw", "readwrite", "ioengine", "bs"].contains(key))
    });
    for (line, name, own) in sections.into_iter().filter(|_| is_fio) {
        match name {
            "global" => global.extend(own),
            _ => found.push((line, [global.as_slice(), &own].concat())),
        }
    }
    at.max(from + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(text: &str) -> Vec<String> {
        let audited = iotax_audit::audit::audit(AuditedPage::new("p", text));
        let (mut limits, mut loads) = (PageLimits::default(), LoadList::default());
        add_stated_loads(&audited, &mut limits, &mut loads);
        add_listed_loads(&audited, &mut limits, &mut loads);
        loads.all.iter().map(PageLoad::name).collect()
    }

    #[test]
    fn loads_are_read_from_commands_job_files_and_lists() {
        let command = "fio -direct=1 -iodepth=32 -rw=randwrite -bs=4k -numjobs=4 -name=test\n";
        assert_eq!(loads(command), ["randwrite-4k-qd32-x4"]);
        let job = "[global]\nioengine=libaio\ngroup_reporting\n\n[a]\nrw=randrw\nbs=4k\n\
                   numjobs=4\n\n[b]\nrw=read\n\nText.\n";
        assert_eq!(loads(job), ["randrw-4k-qd1-x4", "read-4k-qd1"]);
        let list = "- Random reads (4KiB)\n- VDbench - 8k - 80% rng - 75/25 r/w\n\n\
                    All 4 KiB random reads were slower than one would think.\n[x]\ny\n";
        assert_eq!(loads(list), ["randread-4k", "randrw75-8k-random80"]);
        // What the list says again is the command's.
        assert_eq!(loads(&format!("* 4KB random write\n\n{command}")), ["randwrite-4k-qd32-x4"]);
    }
}
