//! T7: what a load is called against what it does.

use super::loads::{Load, loads};
use crate::finding::{Finding, Severity};
use crate::page::Spot;
use crate::rule::identity::size_of;
use crate::rule::{Evidence, Rule, Sink};

/// T7.
pub const RULE: Rule = Rule {
    id: "T7",
    name: "a load is what it is called",
    severity: Severity::Ambiguous,
    holds: "a job whose name says random, sequential, read or write has such an rw; the shares that labels of tables hold \
            (75rdpct-80randompct) are those of the list of loads on the page",
    silent: "where a name says both or neither, of what is a parameter in it (write_bw=0), of scripts; jobs of one such name and rw are told once; of labels unless one entry of the list and one label have that size and share of reads",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    let loads = loads(evidence);
    let mut kinds: Vec<(Kind, Vec<&Load>)> = Vec::new();
    for load in loads.iter().filter(|load| !load.is_template() && contradicts(load)) {
        let kind = (says(load.name), load.rw());
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, alike)) => alike.push(load),
            None => kinds.push((kind, vec![load])),
        }
    }
    for ((_, rw), alike) in kinds {
        let mut message =
            format!("the job is called {}, but its rw is {}", alike[0].name, rw.unwrap_or_default());
        if alike.len() > 1 {
            message.push_str(&format!("; so it is of {} more that are called like it", alike.len() - 1));
        }
        let others = alike[1..].iter().take(MOST).map(|load| load.spot);
        sink.finds(Finding::new("T7", Severity::Cosmetic, alike[0].spot, message).against(others));
    }
    profiles(evidence, sink);
}

/// What the words of a name say.
#[derive(Default, Clone, Copy, PartialEq, Debug)]
struct Says {
    random: bool,
    sequential: bool,
    read: bool,
    write: bool,
}

/// What a name says, and what is done in its place.
type Kind<'a> = (Says, Option<&'a str>);

fn says(name: &str) -> Says {
    let mut said = Says::default();
    // A parameter is no word: `job(readers=0,write_bw=0)`; what it is set to may be one: `rw=randread`.
    let worded = |part: &str| match part.split_once('=') {
        Some((key, value)) if ["rw", "readwrite", "mode", "type", "test"].contains(&key) => value.to_owned(),
        Some(_) => String::new(),
        None => part.to_owned(),
    };
    let separators = |letter: char| letter.is_whitespace() || "(),;:[]{}/-".contains(letter);
    let name = name.to_ascii_lowercase().split(separators).map(worded).collect::<Vec<_>>().join(" ");
    for word in name.split(|letter: char| !letter.is_ascii_alphabetic()) {
        let (random, rest) = match word {
            _ if word.starts_with("random") => (Some(true), &word[6..]),
            _ if word.starts_with("rand") => (Some(true), &word[4..]),
            _ if word.starts_with("sequential") => (Some(false), &word[10..]),
            _ if word.starts_with("seq") => (Some(false), &word[3..]),
            _ => (None, word),
        };
        let (read, write) = match rest {
            "read" | "reads" => (true, false),
            "write" | "writes" => (false, true),
            "rw" | "readwrite" | "mixed" | "mix" => (true, true),
            "" => (false, false),
            // Another word.
            _ => continue,
        };
        said.random |= random == Some(true);
        said.sequential |= random == Some(false);
        said.read |= read;
        said.write |= write;
    }
    said
}

fn contradicts(load: &Load) -> bool {
    let said = says(load.name);
    let Some(rw) = load.rw() else { return false };
    let (random, read, write) = match rw {
        "read" => (false, true, false),
        "write" => (false, false, true),
        "randread" => (true, true, false),
        "randwrite" => (true, false, true),
        "rw" | "readwrite" => (false, true, true),
        "randrw" => (true, true, true),
        _ => return false,
    };
    // Shares of the mix, or of what is random, may make it so after all.
    if load.entry(&["percentage_random", "rwmixread", "rwmixwrite"]).is_some() {
        return false;
    }
    let order = said.random != said.sequential && said.random != random;
    let way = said.read != said.write && (said.read != read || said.write != write);
    order || way
}

/// A load as a list or a label tells it: bytes, share of reads, share of what is random, in percent.
struct Profile {
    size: u64,
    reads: u64,
    random: u64,
    spot: Spot,
}

/// More labels are data.
const MOST: usize = 100;
/// Longer lines are no lists.
const LONGEST: usize = 300;

fn profiles(evidence: &Evidence, sink: &mut Sink) {
    let rows = evidence.tables.iter().flat_map(|table| &table.rows);
    let mut labels: Vec<(String, Profile)> = Vec::new();
    for row in rows {
        let start = evidence.page.line(row.line).find(&row.label).unwrap_or(0);
        let spot = Spot::new(row.line, start..start + row.label.len());
        let is_new = labels.len() <= MOST && !labels.iter().any(|(label, _)| *label == row.label);
        if let Some(profile) = of_label(&row.label, spot).filter(|_| is_new) {
            labels.push((row.label.clone(), profile));
        }
    }
    if labels.is_empty() || labels.len() > MOST {
        return;
    }
    let mut listed: Vec<Profile> = Vec::new();
    for line in evidence.text_lines() {
        let text = evidence.page.line(line);
        if listed.len() <= MOST && text.len() <= LONGEST && text.contains('%') {
            listed.extend(of_line(text, line));
        }
    }
    for (label, own) in &labels {
        let same = |one: &&Profile| (one.size, one.reads) == (own.size, own.reads);
        let of_labels = labels.iter().filter(|(_, one)| same(&one)).count();
        let mut told = listed.iter().filter(same);
        let Some(other) = told.next().filter(|_| told.next().is_none() && of_labels == 1) else { continue };
        if other.random == own.random {
            continue;
        }
        let message = format!(
            "{label} has {} % of its I/Os random, line {} says {} %: one of them is not what was run",
            own.random,
            evidence.page.number(other.spot.index()),
            other.random
        );
        sink.finds(Finding::new("T7", Severity::Ambiguous, own.spot, message).against([other.spot]));
    }
}

/// `64k-75rdpct-80randompct`.
fn of_label(label: &str, spot: Spot) -> Option<Profile> {
    let share = |ends: &[&str]| {
        let part = label
            .split(['-', '_', ' '])
            .find_map(|part| ends.iter().find_map(|end| part.strip_suffix(end)))?;
        part.parse().ok().filter(|share: &u64| *share <= 100)
    };
    let size = size_of(label.split(['-', '_']).next()?)? as u64;
    let (reads, random) = (share(&["rdpct"])?, share(&["randompct", "rndpct", "seekpct"])?);
    Some(Profile { size, reads, random, spot })
}

/// `64k - 80% seq - 75/25 r/w`.
fn of_line(text: &str, line: usize) -> Option<Profile> {
    if text.len() > LONGEST {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |text: &str| text.parse::<u64>().ok().filter(|share| *share <= 100);
    let (mut random, mut reads) = (None, None);
    for pair in words.windows(2) {
        let kind = pair[1].trim_matches(',').to_ascii_lowercase();
        if let Some(share) = pair[0].strip_suffix('%').and_then(number) {
            match kind.as_str() {
                "rng" | "rnd" | "rand" | "random" => random = Some(share),
                "seq" | "sequential" => random = Some(100 - share),
                _ => {}
            }
        }
        let shares = pair[0].split_once('/').and_then(|(left, right)| number(left).zip(number(right)));
        if let Some((left, right)) = shares.filter(|(left, right)| left + right == 100) {
            match kind.as_str() {
                "r/w" | "read/write" | "rw" => reads = Some(left),
                "w/r" | "write/read" => reads = Some(right),
                _ => {}
            }
        }
    }
    let mut sizes = words.iter().filter_map(|word| size_of(word)).map(|size| size as u64);
    let size = sizes.next().filter(|_| sizes.next().is_none())?;
    Some(Profile { size, reads: reads?, random: random?, spot: Spot::new(line, 0..text.len()) })
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn jobs_do_what_they_are_called() {
        let job = |name: &str, rw: &str| {
            found(&format!("fio --name={name} --rw={rw} --bs=4k --filename=/dev/sdb\n"), "T7")
        };
        for (name, rw) in
            [("random-read", "read"), ("seqwrite", "randwrite"), ("read", "write"), ("rand_write", "randrw")]
        {
            assert_eq!(job(name, rw).len(), 1, "{name} {rw}");
        }
        for (name, rw) in [
            ("random-read", "randread"),
            ("read", "randread"),
            ("test", "randrw"),
            ("4k-randrw", "randrw"),
            ("read-write", "randrw"),
            ("prewrite", "read"),
            ("readahead", "write"),
            ("random-read", "$RW"),
            ("write", "randrw --rwmixread=0"),
        ] {
            assert_eq!(job(name, rw), [], "{name} {rw}");
        }
        assert_eq!(found("[global]\nbs=4k\nrw=randrw\n\n[randwrite]\n", "T7").len(), 1);
        assert_eq!(job("\"job(reader=1,write_bw=0)\"", "randread"), [], "a parameter");
        assert_eq!(job("\"load (rw=randwrite)\"", "randread").len(), 1);
    }

    #[test]
    fn jobs_that_are_called_alike_are_told_once() {
        let page = |names: &[&str]| -> String {
            let job = |name: &&str| format!("[{name}]\nrw=randread\nbs=4k\n\n");
            format!("[global]\ndirect=1\n\n{}", names.iter().map(job).collect::<String>())
        };
        let told = found(&page(&["write 1", "write 2", "read", "write 3"]), "T7");
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].message.ends_with("2 more that are called like it"), "{}", told[0].message);
        assert_eq!(found(&page(&["write 1", "seq write 2"]), "T7").len(), 2, "they say other things");
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
