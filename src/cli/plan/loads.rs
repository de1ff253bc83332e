//! The loads of a plan as a table in fio's words, and the keys of a job file that have no effect.

use super::View;
use super::brief::label;
use iotax_load::Job;
use iotax_model::scenario::{Engine, Scenario, Workload, block_word, detail_words, order_words};
use iotax_report::table::{LeftOut, TextTable};
use iotax_units::harmless::escape_line;
use iotax_units::{distinct, is_unknown, show_bytes};

/// A job of a load, or the jobs of all points of a sweep.
struct LoadRow<'a> {
    name: String,
    jobs: Vec<&'a Job>,
    load: &'a Workload,
}

/// Heads of the columns, and what each shows of a job.
type CellOf = fn(&Job, u64) -> String;
const COLUMNS: &[(&str, CellOf)] = &[
    ("rw", |job, _| job.rw.word().to_owned()),
    ("bs", |job, _| block_word(job)),
    ("iodepth", |job, _| job.iodepth.to_string()),
    ("numjobs", |job, _| job.numjobs.to_string()),
    ("region", region_word),
    ("rate", |job, _| job.rate_iops.map_or("max".to_owned(), |rate| format!("{rate} IOPS"))),
];

/// Returns the loads: a row for each job, one for all points of a sweep. `region` is the number of
/// bytes that all stacks offer.
pub fn load_lines(view: &View, scenario: &Scenario, region: u64) -> String {
    let rows = rows(scenario);
    let mut text = String::new();
    if let Some(spec) = &scenario.durability {
        let words = format!(
            "writes of 4 KiB at random, {} at once, a flush after every {}; the guest or QEMU is \
             killed meanwhile and everything acknowledged is read back",
            spec.in_flight, spec.batch
        );
        text += &view.paragraph(&label("Load"), &words);
    } else if !rows.is_empty() {
        let mut table = TextTable::named_table("loads");
        let names = rows.iter().map(|row| row.name.clone());
        table.push("load", 0, names.collect());
        for (head, cell) in COLUMNS {
            let cells = rows.iter().map(|row| {
                let values = distinct(row.jobs.iter().map(|job| cell(job, region)));
                values.join(",")
            });
            table.push(head, 0, cells.collect());
        }
        text += &format!("\n{}", table.to_text(view.width, &mut LeftOut::default()));
        text += &grouped(view, &rows, "engine ", engine_word);
        text += &grouped(view, &rows, "", details);
    }
    let probes = scenario.workloads.iter().filter(|load| load.probe.is_some());
    let probes: Vec<String> = probes.map(Workload::subject).collect();
    if !probes.is_empty() {
        text += &view.paragraph(&label("Probes"), &escape_line(&probes.join(", ")));
    }
    text + &job_file_lines(view, scenario)
}

fn rows(scenario: &Scenario) -> Vec<LoadRow<'_>> {
    let sweep = |load: &Workload| load.sweep.as_ref().map(|sweep| sweep.sweep.clone());
    let mut rows = Vec::new();
    let loads = || scenario.workloads.iter().filter(|load| load.probe.is_none());
    let all: Vec<&Workload> = loads().collect();
    for points in all.chunk_by(|a, b| sweep(a).is_some() && sweep(a) == sweep(b)) {
        let Some(first) = points.first() else { continue };
        for (at, job) in first.jobs.iter().enumerate() {
            let name = sweep(first).unwrap_or_else(|| first.name.clone());
            let name = match first.jobs.len() {
                1 => name,
                _ => format!("{name}: {}", job.name),
            };
            let jobs = points.iter().filter_map(|point| point.jobs.get(at)).collect();
            rows.push(LoadRow { name, jobs, load: first });
        }
    }
    rows
}

/// Returns the part of the target that a job uses; `all` if its size is not known yet.
fn region_word(job: &Job, region: u64) -> String {
    let size = match job.size {
        Some(size) => show_bytes(size),
        None if is_unknown(region) => "all".to_owned(),
        None => show_bytes(region.saturating_sub(job.offset)),
    };
    if job.offset > 0 { format!("{size} from {}", show_bytes(job.offset)) } else { size }
}

/// Returns the engine that is expected to issue a load's I/O, and why in a word.
fn engine_word(row: &LoadRow) -> String {
    let keys = row.load.fio_keys();
    match row.load.engine {
        Some(Engine::Fio) if !keys.is_empty() => format!("fio, for {}", keys.join(", ")),
        Some(Engine::Fio) => "fio (asked)".to_owned(),
        Some(Engine::Native(name)) => format!("{name} (asked)"),
        None if row.jobs.iter().any(|job| job.rw.trims()) => "sync (trims)".to_owned(),
        None if row.jobs.iter().all(|job| job.iodepth == 1) => "sync (depth 1)".to_owned(),
        None => "uring (depth)".to_owned(),
    }
}

/// Returns a line for each word that `word_of` has for rows, with the names of the rows unless it
/// is that of all.
fn grouped(view: &View, rows: &[LoadRow], head: &str, word_of: fn(&LoadRow) -> String) -> String {
    let words = distinct(rows.iter().map(word_of).filter(|word| !word.is_empty()));
    let line = |word: &String| {
        let with_it = rows.iter().filter(|row| word_of(row) == *word);
        let names: Vec<String> = with_it.map(|row| escape_line(&row.name)).collect();
        let whose = match names.len() == rows.len() {
            true => String::new(),
            false => format!(": {}", names.join(", ")),
        };
        view.paragraph("  ", &format!("{head}{word}{whose}"))
    };
    words.iter().map(line).collect()
}

/// Describes what the table has no column for: `70 % reads, zipf:1.1 random, buffered`.
fn details(row: &LoadRow) -> String {
    let more = distinct(row.jobs.iter().map(|job| job_details(job)));
    let more: Vec<String> = more.into_iter().filter(|words| !words.is_empty()).collect();
    more.join(" or ")
}

fn job_details(job: &Job) -> String {
    let mix = if job.rw.reads() && job.rw.writes() {
        format!(", {} % reads", job.rwmixread)
    } else {
        String::new()
    };
    let usual = if job.rw.random() { "random" } else { "sequential" };
    let order = order_words(job);
    let order = if order == usual { String::new() } else { format!(", {order}") };
    let buffered = if job.direct { "" } else { ", buffered (the page cache is measured)" };
    let flush = if job.end_fsync { ", fsync at the end" } else { "" };
    let all = format!("{mix}{order}{buffered}{}{flush}", detail_words(job));
    all.trim_start_matches(", ").to_owned()
}

/// Returns true if a note is on a line of a fio job file: `FILE:LINE: ...`.
pub fn is_of_job_file(note: &str) -> bool {
    numbered(note).is_some()
}

/// Splits a note on a line of a job file into the line's number and the rest.
fn numbered(note: &str) -> Option<(&str, &str)> {
    let (place, rest) = note.split_once(": ")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_job = [".fio", ".job", ".ini"].iter().any(|ending| file.ends_with(ending));
    (is_job && line.parse::<u32>().is_ok()).then_some((line, rest))
}

/// Lists the keys of a job file that were read differently or have no effect, those with one reason
/// in one line.
fn job_file_lines(view: &View, scenario: &Scenario) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (line, rest) in scenario.notes.iter().filter_map(|note| numbered(note)) {
        let (what, why) = match rest.split_once("\" has no effect here: ") {
            Some((key, why)) => (key.trim_start_matches('"'), format!("ignored, {why}")),
            // Only a key is quoted as a whole: a job is `job "NAME"`.
            None => rest.split_once(": ").map_or((rest, String::new()), |(what, why)| {
                let key = what.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
                (key.unwrap_or(what), why.to_owned())
            }),
        };
        let what = format!("{} (line {line})", escape_line(what));
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(what),
            None => reasons.push((why, vec![what])),
        }
    }
    let line = |(why, what): &(String, Vec<String>)| {
        let why = if why.is_empty() { String::new() } else { format!(": {}", escape_line(why)) };
        view.paragraph("  ", &format!("{}{why}", what.join(", ")))
    };
    let lines: String = reasons.iter().map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("  keys of the job file that count otherwise:\n{lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    fn shown(what: &[&str], words: &[(&str, &str)]) -> String {
        let texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let request = ScenarioRequest { words: texts(words), ..ScenarioRequest::default() };
        let what: Vec<String> = what.iter().map(|what| (*what).to_owned()).collect();
        let scenario = from_arguments(&what, &request).unwrap();
        load_lines(&View { width: 80, ..View::default() }, &scenario, 1 << 30)
    }

    #[test]
    fn loads_are_a_table_in_the_words_of_fio() {
        let file = "file:/srv/x.img,size=1GiB";
        let mut job = tempfile::Builder::new().suffix(".fio").tempfile().unwrap();
        let text = "[global]\nioengine=libaio\ndirect=1\nruntime=60\ntime_based\n[a]\nrw=randrw\n\
                    rwmixread=70\nbs=8k\niodepth=32\nnumjobs=4\nrate_iops=100\n[b]\nstonewall\nrw=write\nbs=1M\nsize=50%\n";
        std::io::Write::write_all(&mut job, text.as_bytes()).unwrap();
        let of_job = shown(&[file, job.path().to_str().unwrap()], &[]);
        let sweep = shown(&[file], &[("rw", "randread"), ("iodepth", "1,4"), ("bs", "[4k,64k]")]);
        insta::assert_snapshot!([of_job, sweep].join("\n"));
    }

    #[test]
    fn a_load_of_fio_says_for_which_keys() {
        let mut job = tempfile::Builder::new().suffix(".fio").tempfile().unwrap();
        let text = "[global]\nioengine=libaio\ndirect=1\niodepth=4\n[a]\nrw=randrw\nbssplit=4k/60:64k/40\n\
                    thinktime=5\n[b]\nstonewall\nrw=write\nsync=1\ndirect=0\n";
        std::io::Write::write_all(&mut job, text.as_bytes()).unwrap();
        let text = shown(&["file:/srv/x.img,size=1GiB", job.path().to_str().unwrap()], &[]);
        for words in [
            "mixed-size",
            "engine fio, for bssplit, thinktime: a",
            "engine uring (depth): b",
            "job \"b\" (line 9): direct=0, so the page cache is a part of what is measured",
            "O_SYNC",
            "bssplit=4k/60:64k/40 (line 7): by the installed fio, since iotax issues blocks of one",
        ] {
            let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(words), "{words}: {text}");
        }
    }
}
