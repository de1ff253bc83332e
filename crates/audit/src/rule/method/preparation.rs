//! What was written before it was measured, and what it was written with: M6, M7, M8.

use super::loads::{Load, commands, loads};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::command::{Command, Word};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// M6.
pub const UNUSED: Rule = Rule {
    id: "M6",
    name: "what is prepared is measured",
    severity: Severity::Cosmetic,
    holds: "a file that dd, fallocate or truncate makes before fio's loads is one that a load or another command names",
    silent: "without loads of fio, of devices and /dev/null, of files that fio would name so itself, where the page names the file anywhere else, \
             and where loads are in files that it does not show",
    check: unused,
};

/// M7.
pub const BUFFERED: Rule = Rule {
    id: "M7",
    name: "dd goes around the page cache, or waits for it",
    severity: Severity::Ambiguous,
    holds: "dd commands whose rates the page shows have oflag=direct, sync or dsync, conv=fsync or fdatasync (of reads iflag=direct)",
    silent: "where the page shows the rate of one dd only and another tool's results, of pipes, of /dev/zero to /dev/null, of a file that another command is tried with, and where caches are \
             dropped",
    check: buffered,
};

/// M8.
pub const ZEROS: Rule = Rule {
    id: "M8",
    name: "what compresses or deduplicates is not measured with zeros",
    severity: Severity::WrongConclusion,
    holds: "no load of zeros (zero_buffers, buffer_compress_percentage=100, dd from /dev/zero) on a pool, volume or file system that a command of \
            the page makes with compression or deduplication",
    silent: "unless the path of the load is within what that command makes, by its name; of dd whose rate the page does not show (it fills); of thin \
             volumes of LVM, which store zeros as they are; fio's own buffers are random",
    check: zeros,
};

/// More files are a script's.
const MOST: usize = 20;

/// The value of `of=/data/file` among words.
fn operand<'a>(words: &'a [Word], key: &str) -> Option<(&'a str, Spot)> {
    let found = words.iter().find_map(|word| Some((word.text.strip_prefix(key)?, word.spot)))?;
    (!found.0.is_empty() && !found.0.contains(['$', '<', '{'])).then_some(found)
}

fn dds<'a>(evidence: &Evidence<'a>) -> Vec<(usize, &'a Command)> {
    commands(evidence).into_iter().filter(|(_, one)| one.program == "dd").collect()
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn unused(evidence: &Evidence, sink: &mut Sink) {
    let loads = loads(evidence);
    let ran =
        commands(evidence).iter().filter(|(_, one)| one.program == "fio").map(|(_, one)| one.line).max();
    let last = loads.iter().map(|load| load.spot.index()).chain(ran).max();
    let first = |line: usize| last.is_some_and(|last| last > line);
    if loads.is_empty() || loads.iter().any(Load::is_template) {
        return;
    }
    let mut told: Vec<&str> = Vec::new();
    for (_, dd) in dds(evidence) {
        let Some((path, spot)) = operand(&dd.words, "of=") else { continue };
        let name = last_part(path);
        let device = path.starts_with("/dev/");
        if device || name.len() < 3 || told.len() >= MOST || told.contains(&path) || !first(dd.line) {
            continue;
        }
        told.push(path);
        if loads.iter().any(|load| used_by(load, path, name)) || named_elsewhere(evidence.page, name) {
            continue;
        }
        let message = format!(
            "{path} is made before the loads, and none of them reads or writes it: fio lays out files of its own"
        );
        sink.finds(Finding::new("M6", Severity::Cosmetic, spot, message));
    }
}

/// Whether a load names a file, or would give its own files that name.
fn used_by(load: &Load, path: &str, name: &str) -> bool {
    let named = load
        .option(&["filename"])
        .is_some_and(|files| files.split(':').any(|file| file == path || last_part(file) == name));
    let own = !load.name.is_empty() && name.strip_prefix(load.name).is_some_and(|rest| rest.starts_with('.'));
    let by_format = load.entry(&["filename_format", "opendir", "file_service_type", "nrfiles"]).is_some();
    named || own || by_format
}

/// Whether lines other than those of dd name a file.
fn named_elsewhere(page: &Page, name: &str) -> bool {
    let finder = memchr::memmem::Finder::new(name);
    (0..page.len()).any(|line| {
        let text = page.line(line);
        finder.find(text.as_bytes()).is_some() && !text.contains("of=")
    })
}

fn buffered(evidence: &Evidence, sink: &mut Sink) {
    let mut shown: Vec<(&Command, Spot)> = Vec::new();
    for (at, command) in dds(evidence) {
        // Its own rate stands right behind.
        let near = evidence.outputs[at].lines.end + 3;
        let next = evidence.outputs.get(at + 1).filter(|next| next.lines.start <= near);
        if let Some(Said::Dd(copy)) = next.map(|next| &next.said) {
            shown.push((command, copy.rate.figure.spot));
        }
    }
    let others = evidence
        .outputs
        .iter()
        .any(|output| !matches!(output.said, Said::Dd(_)) && !output.said.readings().is_empty());
    if shown.is_empty() || (others && shown.len() < 2) || drops_caches(evidence.page) {
        return;
    }
    for (command, rate) in shown {
        let Some(why) = through_cache(&command.words) else { continue };
        if is_input(evidence.page, command) {
            continue;
        }
        sink.finds(Finding::new("M7", Severity::Ambiguous, command.spot, why).against([rate]));
    }
}

/// Whether the file that dd writes is what another command is tried with: nobody reads dd's rate then.
fn is_input(page: &Page, dd: &Command) -> bool {
    let Some((path, _)) = operand(&dd.words, "of=").filter(|(path, _)| !path.starts_with("/dev/")) else {
        return false;
    };
    let name = last_part(path);
    let finder = memchr::memmem::Finder::new(name);
    let other = |line: usize| {
        let mut words = page
            .line(line)
            .split_whitespace()
            .skip_while(|word| ["$", "#", ">", "sudo", "time"].contains(word));
        let word = words.next().unwrap_or("");
        let program = word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && !["rm", "dd", "ls", "sync", "hdparm"].contains(&word);
        program && words.any(|word| last_part(word) == name)
    };
    name.len() >= 3
        && (0..page.len()).any(|line| {
            finder.find(page.line(line).as_bytes()).is_some()
                && !page.line(line).contains("dd ")
                && other(line)
        })
}

fn drops_caches(page: &Page) -> bool {
    let text = page.text().as_bytes();
    memchr::memmem::find(text, b"drop_caches").is_some()
}

/// Why dd's rate is that of the page cache.
fn through_cache(words: &[Word]) -> Option<String> {
    let flags = |key: &str| operand(words, key).map_or("", |(value, _)| value);
    let has = |key: &str, flag: &[&str]| flags(key).split(',').any(|one| flag.contains(&one));
    let (from, to) = (operand(words, "if="), operand(words, "of="));
    if words.iter().any(|word| word.text == "|") {
        return None;
    }
    match (from, to) {
        (_, Some((to, _))) if to != "/dev/null" => {
            let waits = has("oflag=", &["direct", "sync", "dsync"]) || has("conv=", &["fsync", "fdatasync"]);
            let made = from.is_some_and(|(from, _)| ["/dev/zero", "/dev/urandom", "/dev/random"].contains(&from));
            (!waits && made).then(|| {
                format!("dd writes {to} through the page cache and does not wait for it (no oflag=direct, no conv=fsync): its rate is not the drive's")
            })
        }
        (Some((from, _)), Some(_)) if from != "/dev/zero" => (!has("iflag=", &["direct"]))
            .then(|| format!("dd reads {from} through the page cache (no iflag=direct): what is in memory is not read from the drive")),
        _ => None,
    }
}

/// What a command makes that shrinks zeros: its name as paths have it, what it does.
fn shrinking(command: &Command) -> Option<(String, &'static str)> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let set = |key: &str| {
        let value = words.iter().find_map(|word| word.strip_prefix(key));
        value.is_some_and(|value| !["off", "none", "no", ""].contains(&value))
    };
    match (command.program.as_str(), words.first()) {
        ("zpool", Some(&"create")) | ("zfs", Some(&"create")) => {
            let what = match (set("compression="), set("dedup=")) {
                (_, true) => "deduplicates",
                (true, _) => "compresses",
                _ => return None,
            };
            Some((name_of(&words)?, what))
        }
        _ => None,
    }
}

/// The pool or data set that `zpool create -o x name dev...` makes.
fn name_of(words: &[&str]) -> Option<String> {
    let mut words = words[1..].iter();
    while let Some(word) = words.next() {
        if ["-o", "-O", "-V", "-b", "-m", "-R", "-t"].contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            return (word.len() >= 2 && !word.starts_with('/')).then(|| (*word).to_owned());
        }
    }
    None
}

fn zeros(evidence: &Evidence, sink: &mut Sink) {
    let commands = commands(evidence);
    let layers: Vec<(String, &str, Spot)> = commands
        .iter()
        .filter_map(|(_, one)| shrinking(one).map(|(name, what)| (name, what, one.spot)))
        .collect();
    if layers.is_empty() || layers.len() > 100 {
        return;
    }
    let within = |path: &str| layers.iter().find(|(name, ..)| is_within(path, name));
    let rated = |at: usize| evidence.outputs.get(at + 1).is_some_and(|next| matches!(next.said, Said::Dd(_)));
    for (_, dd) in commands.iter().filter(|(at, one)| one.program == "dd" && rated(*at)) {
        let zeros = operand(&dd.words, "if=").is_some_and(|(from, _)| from == "/dev/zero");
        let into = operand(&dd.words, "of=").filter(|_| zeros);
        if let Some(((name, what, made), spot)) = into.and_then(|(path, spot)| Some((within(path)?, spot))) {
            tell((name, what, *made), spot, sink);
        }
    }
    for load in loads(evidence) {
        let zero = load.entry(&["zero_buffers"]).filter(|entry| entry.value.as_deref() != Some("0"));
        let full = load
            .entry(&["buffer_compress_percentage", "dedupe_percentage"])
            .filter(|entry| entry.value.as_deref() == Some("100"));
        let path = load.option(&["filename"]).or(load.option(&["directory"]));
        if let (Some(entry), Some((name, what, made))) = (zero.or(full), path.and_then(within)) {
            tell((name, what, *made), entry.spot, sink);
        }
    }
}

/// Whether a part of a path is the name: `/tank/x`, `/dev/zvol/tank/vol`.
fn is_within(path: &str, name: &str) -> bool {
    let mut parts = path.split('/');
    match name.split_once('/') {
        None => parts.any(|part| part == name),
        Some(_) => path.split_once(name).is_some_and(|(before, after)| {
            before.ends_with('/') && (after.is_empty() || after.starts_with('/'))
        }),
    }
}

fn tell((name, what, made): (&str, &str, Spot), spot: Spot, sink: &mut Sink) {
    let message = format!(
        "zeros on {name}, which {what}: next to nothing of them reaches a drive, so this is no rate of the drives"
    );
    sink.finds(Finding::new("M8", Severity::WrongConclusion, spot, message).against([made]));
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const RATE: &str =
        "32+0 records in\n32+0 records out\n34359738368 bytes (34 GB) copied, 36.9548 s, 930 MB/s\n";

    #[test]
    fn a_file_that_no_load_uses_is_told() {
        let page = |job: &str| {
            format!(
                "$ dd if=/dev/zero of=/data/test_file bs=1G count=32\n{RATE}\n[global]\nbs=4k\nrw=randread\nsize=1g\n{job}\n[one]\n"
            )
        };
        assert_eq!(found(&page("directory=/data"), "M6").len(), 1);
        for used in [
            "filename=/data/test_file",
            "directory=/data\nfilename=test_file",
            "filename=/data/a:/data/test_file",
            "filename=$FILE",
        ] {
            assert_eq!(found(&page(used), "M6"), [], "{used}");
        }
        assert_eq!(
            found(&page("directory=/data").replace("test_file", "one.0.0"), "M6"),
            [],
            "fio names it so"
        );
        assert_eq!(found(&format!("$ dd if=/dev/zero of=/data/test_file bs=1G count=32\n{RATE}"), "M6"), []);
    }

    #[test]
    fn rates_of_the_page_cache_are_told() {
        let one = |words: &str| format!("$ dd if=/dev/zero of=/data/file bs=1M count=1024{words}\n{RATE}\n");
        assert_eq!(found(&one(""), "M7").len(), 1);
        for words in [" oflag=direct", " conv=fsync", " oflag=nocache,dsync", " conv=notrunc,fdatasync"] {
            assert_eq!(found(&one(words), "M7"), [], "{words}");
        }
        assert_eq!(found(&format!("{}echo 3 > /proc/sys/vm/drop_caches\n", one("")), "M7"), []);
        assert_eq!(found("$ dd if=/dev/zero of=/data/file bs=1M count=1024\n", "M7"), [], "no rate");
        assert_eq!(found(&format!("{}$ rm /data/file\n", one("")), "M7").len(), 1);
        assert_eq!(
            found(&format!("{}$ backup /data/file\n", one("")), "M7"),
            [],
            "it makes what another reads"
        );
    }

    #[test]
    fn zeros_on_what_compresses_are_told() {
        let pool = "zpool create -O compression=lz4 tank /dev/sdb /dev/sdc\n";
        let dd = "dd if=/dev/zero of=/tank/file bs=1M count=1024 oflag=direct\n";
        let rate = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n";
        assert_eq!(found(&format!("{pool}{dd}{rate}"), "M8").len(), 1);
        assert_eq!(found(&format!("{pool}{dd}"), "M8"), [], "it fills, its rate is not shown");
        let thin = "lvcreate -V 16GiB -n thin --thinpool pool tank\n";
        assert_eq!(
            found(&format!("{thin}{}{rate}", dd.replace("/tank/file", "/dev/tank/thin")), "M8"),
            [],
            "LVM keeps zeros"
        );
        let fio = "fio --name=a --rw=write --bs=1m --zero_buffers --filename=/tank/file\n";
        assert_eq!(found(&format!("{pool}{fio}"), "M8").len(), 1);
        for text in [
            format!("{}{dd}{rate}", pool.replace("=lz4", "=off")),
            format!("{pool}{}{rate}", dd.replace("/tank/", "/data/")),
            format!("{pool}{}{rate}", dd.replace("/dev/zero", "/dev/urandom")),
            format!("{pool}{}", fio.replace("--zero_buffers ", "")),
        ] {
            assert_eq!(found(&text, "M8"), [], "{text}");
        }
    }
}
