//! T7: what a load is called against what it does.

use super::loads::{Load, loads};
use crate::finding::{Finding, Severity};
use crate::page::Spot;
use crate::prose::{Topic, topic};
use crate::rule::{Evidence, Rule, Sink};

pub const RULE: Rule = Rule {
    id: "T7",
    name: "a load is what it is called",
    severity: Severity::Ambiguous,
    holds: "a job whose name says random, sequential, read or write has such an rw; labels of tables (75rdpct-80randompct) have the \
            shares of the page's list of loads",
    silent: "where a name says both or neither, of scripts, and where no one entry of the list fits a label",
    check: |evidence, sink| {
        names(evidence, sink);
        profiles(evidence, sink);
    },
};

/// More labels, or entries of a list, are data.
const MOST: usize = 100;
/// Longer lines are no lists.
const LONGEST: usize = 300;

fn names(evidence: &Evidence, sink: &mut Sink) {
    let mut loads = loads(evidence);
    loads.retain(|load| !load.is_template() && contradicts(load));
    while let Some((name, rw)) = loads.first().map(|load| (load.name, load.rw().unwrap_or(""))) {
        let alike = |load: &Load| says(load.name) == says(name) && load.rw() == Some(rw);
        let (mine, others): (Vec<Load>, Vec<Load>) = loads.into_iter().partition(alike);
        let mut message = format!("the job is called {name}, but its rw is {rw}");
        if mine.len() > 1 {
            message.push_str(&format!("; so it is of {} more that are called like it", mine.len() - 1));
        }
        let more = mine[1..].iter().take(MOST).map(|load| load.spot);
        sink.finds(Finding::new("T7", Severity::Cosmetic, mine[0].spot, message).against(more));
        loads = others;
    }
}

/// What a name says. A parameter is no word: `job(readers=0,write_bw=0)`; what it is set to may be one: `rw=randread`.
fn says(name: &str) -> Topic {
    let separators = |letter: char| letter.is_whitespace() || "(),;:[]{}/-".contains(letter);
    let worded = |part| match str::split_once(part, '=') {
        Some(("rw" | "readwrite" | "mode" | "type" | "test", value)) => value,
        Some(_) => "",
        None => part,
    };
    let words: Vec<&str> = name.split(separators).map(worded).collect();
    Topic { size: None, ..topic(&words.join(" ")) }
}

fn contradicts(load: &Load) -> bool {
    let (said, rw) = (says(load.name), load.rw().unwrap_or(""));
    // Shares of the mix, or of what is random, may make it so after all.
    if load.entry(&["percentage_random", "rwmixread", "rwmixwrite"]).is_some() {
        return false;
    }
    let random = rw.starts_with("rand");
    let (read, write) = match rw.trim_start_matches("rand") {
        "read" => (true, false),
        "write" => (false, true),
        "rw" | "readwrite" => (true, true),
        _ => return false,
    };
    let order = said.random != said.sequential && said.random != random;
    let way = said.read != said.write && (said.read, said.write) != (read, write);
    order || way
}

/// A load as a list or a label tells it: bytes, share of reads, share of what is random, in percent.
struct Profile {
    size: f64,
    reads: u64,
    random: u64,
    spot: Spot,
}

fn profiles(evidence: &Evidence, sink: &mut Sink) {
    let mut labels: Vec<(&str, Profile)> = Vec::new();
    for row in evidence.tables.iter().flat_map(|table| &table.rows) {
        let start = evidence.page.line(row.line).find(&row.label).unwrap_or(0);
        let spot = Spot::new(row.line, start..start + row.label.len());
        if labels.len() < MOST && labels.iter().all(|(label, _)| *label != row.label) {
            labels.extend(of_label(&row.label, spot).map(|own| (row.label.as_str(), own)));
        }
    }
    let lines = evidence.text_lines().take_while(|_| !labels.is_empty());
    let listed = lines.filter_map(|line| of_line(evidence.page.line(line), line));
    let listed: Vec<Profile> = listed.take(MOST).collect();
    for (label, own) in &labels {
        let same = |one: &&Profile| (one.size, one.reads) == (own.size, own.reads);
        let alone = labels.iter().filter(|(_, one)| same(&one)).count() == 1;
        let mut told = listed.iter().filter(same);
        let Some(other) = told.next().filter(|_| told.next().is_none() && alone) else { continue };
        if other.random != own.random {
            let line = evidence.page.number(other.spot.index());
            let message = format!(
                "{label} has {} % of its I/Os random, line {line} says {} %: one of them is not what was run",
                own.random, other.random
            );
            sink.finds(Finding::new("T7", Severity::Ambiguous, own.spot, message).against([other.spot]));
        }
    }
}

fn percent(text: &str) -> Option<u64> {
    text.parse().ok().filter(|share| *share <= 100)
}

/// `64k-75rdpct-80randompct`.
fn of_label(label: &str, spot: Spot) -> Option<Profile> {
    let share = |end: &str| label.split(['-', '_', ' ']).find_map(|part| percent(part.strip_suffix(end)?));
    Some(Profile { size: topic(label).size?, reads: share("rdpct")?, random: share("randompct")?, spot })
}

/// `64k - 80% seq - 75/25 r/w`.
fn of_line(text: &str, line: usize) -> Option<Profile> {
    if text.len() > LONGEST || !text.contains('%') {
        return None;
    }
    let (mut random, mut reads) = (None, None);
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    for pair in words.windows(2) {
        let share = pair[0].strip_suffix('%').and_then(percent);
        let mix = pair[0].split_once('/').and_then(|(left, right)| percent(left).zip(percent(right)));
        let mix = mix.filter(|(left, right)| left + right == 100);
        match (pair[1].trim_matches(','), share, mix) {
            ("rng" | "rnd" | "rand" | "random", Some(share), _) => random = Some(share),
            ("seq" | "sequential", Some(share), _) => random = Some(100 - share),
            ("r/w" | "read/write" | "rw", _, Some((left, _))) => reads = Some(left),
            ("w/r" | "write/read", _, Some((_, right))) => reads = Some(right),
            _ => {}
        }
    }
    let spot = Spot::new(line, 0..text.len());
    Some(Profile { size: topic(text).size?, reads: reads?, random: random?, spot })
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn jobs_do_what_they_are_called() {
        for (name, rw, count) in [
            ("random-read", "read", 1),
            ("seqwrite", "randwrite", 1),
            ("rand_write", "randrw", 1),
            ("\"load (rw=randwrite)\"", "randread", 1),
            ("random-read", "randread", 0),
            ("read", "randread", 0),
            ("4k-randrw", "randrw", 0),
            ("prewrite", "read", 0),
            ("random-read", "$RW", 0),
            ("write", "randrw --rwmixread=0", 0),
            ("\"job(reader=1,write_bw=0)\"", "randread", 0),
        ] {
            let page = format!("fio --name={name} --rw={rw} --bs=4k --filename=/dev/sdb\n");
            assert_eq!(found(&page, "T7").len(), count, "{name} {rw}");
        }
        let job = |name: &str| format!("[{name}]\nrw=randread\nbs=4k\n\n");
        let told = found(&["global", "write 1", "write 2", "read"].map(job).concat(), "T7");
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].message.ends_with("1 more that are called like it"), "{}", told[0].message);
        let others = found(&["global", "write 1", "seq write 2"].map(job).concat(), "T7");
        assert_eq!(others.len(), 2, "they say other things");
    }

    #[test]
    fn labels_have_the_shares_of_the_list() {
        let page = |seq: &str| {
            format!(
                "Load 1:\nvdbench - 64k - {seq} - 75/25 r/w\nLoad 2:\nvdbench - 4k - 80% rng - 50/50 r/w\n\n\
                 | x | MB/s | IOPS |\n|---|---|---|\n| 64k-75rdpct-80randompct | 3000.1 | 48001.6 |\n| 4k-50rdpct-80randompct | 400.1 | 102425.6 |\n"
            )
        };
        assert_eq!(found(&page("80% seq"), "T7").len(), 1);
        assert_eq!(found(&page("80% rng"), "T7"), []);
        assert_eq!(found(&page("20% seq"), "T7"), []);
    }
}
