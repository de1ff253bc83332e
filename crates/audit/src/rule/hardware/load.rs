//! The load that a label, a head or a title tells in words: `4k randread qd=1 jobs=16`, `随机4K读`, `Случайная запись 4k qd=128`,
//! `64k-75rdpct-80randompct`, `RND4K Q32T16`.

use crate::import::Way;
use crate::knowledge::ratings::words;

/// What a text tells of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Reads, writes, or both.
    pub way: Option<Way>,
    /// Share of reads, of both.
    pub reads: Option<f64>,
    /// Whether at random places.
    pub random: Option<bool>,
    /// Bytes of an I/O.
    pub bs: Option<u64>,
    /// I/Os in flight a job.
    pub depth: Option<u64>,
    /// Jobs.
    pub jobs: Option<u64>,
}

impl Load {
    /// Of a text.
    pub fn read(text: &str) -> Load {
        let lower = text.to_lowercase();
        let words = words(text);
        let named: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        let mut load = Load::default();
        let (reads, writes) = ways(&lower, &named);
        load.way = match (reads, writes) {
            (true, true) => Some(Way::Both),
            (true, false) => Some(Way::Read),
            (false, true) => Some(Way::Write),
            (false, false) => None,
        };
        load.random = random(&lower, &named);
        for (at, (word, bytes)) in words.iter().enumerate() {
            let next = named.get(at + 1).copied().unwrap_or("");
            let behind = text.get(bytes.end..).unwrap_or("");
            load.word(word, next, behind);
        }
        if load.reads.is_none()
            && (load.way == Some(Way::Both) || lower.contains("r/w") || lower.contains("mix"))
        {
            load.reads = mix(&lower);
        }
        match load.reads {
            Some(all) if all >= 1.0 => load.way = Some(Way::Read),
            Some(none) if none <= 0.0 => load.way = Some(Way::Write),
            Some(_) => load.way = Some(Way::Both),
            None => {}
        }
        if load.depth.is_none() {
            load.depth = lower
                .split("队列深度")
                .nth(1)
                .and_then(|rest| leading(rest.trim_start_matches([' ', '=', ':', '：', '为'])));
        }
        load
    }

    fn word(&mut self, word: &str, next: &str, behind: &str) {
        let number = |text: &str| text.parse::<u64>().ok();
        if self.bs.is_none() && !behind.starts_with('/') {
            self.bs = block(word);
        }
        match word {
            "qd" | "iodepth" | "depth" => self.depth = self.depth.or(number(next)),
            "jobs" | "numjobs" | "threads" | "job" => self.jobs = self.jobs.or(number(next)),
            _ => {}
        }
        if let Some(share) = word.strip_suffix("rdpct").and_then(number).filter(|share| *share <= 100) {
            self.reads = Some(share as f64 / 100.0);
        }
        if let Some(share) = word.strip_suffix("randompct").and_then(number) {
            self.random = (share >= 80).then_some(true).or((share == 0).then_some(false));
        }
        if let Some(depth) = word.strip_prefix("qd").and_then(number) {
            self.depth = Some(depth);
        }
        // `Q32T16`, as CrystalDiskMark has it.
        let both = word.strip_prefix('q').and_then(|rest| rest.split_once('t'));
        if let Some((depth, jobs)) = both.and_then(|(depth, jobs)| number(depth).zip(number(jobs))) {
            (self.depth, self.jobs) = (Some(depth), Some(jobs));
        }
    }

    /// What this one tells, and where it does not, another.
    #[must_use]
    pub fn or(self, other: Load) -> Load {
        let way = self.way.or(other.way);
        Load {
            way,
            reads: self.reads.or(other.reads.filter(|_| self.way.is_none() || self.way == other.way)),
            random: self.random.or(other.random),
            bs: self.bs.or(other.bs),
            depth: self.depth.or(other.depth),
            jobs: self.jobs.or(other.jobs),
        }
    }
}

fn ways(lower: &str, named: &[&str]) -> (bool, bool) {
    let has = |list: &[&str]| named.iter().any(|word| list.contains(word));
    let both = has(&["randrw", "rw", "readwrite"]);
    let reads = has(&["read", "reads", "randread", "seqread", "reading"])
        || lower.contains('读')
        || lower.contains("чтен");
    let writes = has(&["write", "writes", "randwrite", "seqwrite", "writing"])
        || lower.contains('写')
        || lower.contains("запис");
    (reads || both, writes || both)
}

fn random(lower: &str, named: &[&str]) -> Option<bool> {
    let has = |list: &[&str]| named.iter().any(|word| list.iter().any(|one| word.starts_with(one)));
    let random = has(&["rand", "rnd"]) || lower.contains("随机") || lower.contains("случайн");
    let sequential =
        has(&["seq"]) || lower.contains("顺序") || lower.contains("连续") || lower.contains("последоват");
    (random != sequential).then_some(random)
}

/// 4096 of `4k`, `rnd4k`, `4kb`: powers of two of at least 512 bytes.
fn block(word: &str) -> Option<u64> {
    let bare = ["rnd", "rand", "seq"].iter().find_map(|head| word.strip_prefix(head)).unwrap_or(word);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let unit = bare.get(digits..)?;
    let shift = match unit {
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        _ => return None,
    };
    let bytes = bare[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes.is_power_of_two() && bytes <= 64 << 20).then_some(bytes)
}

/// 0.75 of `75/25`, `70:30`: two that make a hundred, reads first.
fn mix(lower: &str) -> Option<f64> {
    let numbers = |sign: char| {
        lower.match_indices(sign).find_map(|(at, _)| {
            let head = lower[..at].trim_end();
            let digits = head.bytes().rev().take_while(u8::is_ascii_digit).count();
            let first: u64 = head[head.len() - digits..].parse().ok()?;
            let second = leading(lower[at + 1..].trim_start())?;
            (first + second == 100).then_some(first as f64 / 100.0)
        })
    };
    numbers('/').or_else(|| numbers(':'))
}

fn leading(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_from_labels_in_many_tongues() {
        let (read, write, both) = (Some(Way::Read), Some(Way::Write), Some(Way::Both));
        for (text, way, random, bs, depth, jobs) in [
            ("4k randread qd=1 jobs=16", read, Some(true), Some(4096), Some(1), Some(16)),
            ("4K随机写IOPS", write, Some(true), Some(4096), None, None),
            ("Случайное чтение 4k qd=128 jobs=16", read, Some(true), Some(4096), Some(128), Some(16)),
            ("Последовательная запись 4M qd=32", write, Some(false), Some(4 << 20), Some(32), None),
            ("RND4K Q32T16 write", write, Some(true), Some(4096), Some(32), Some(16)),
            ("SEQ1M Q8T1 read", read, Some(false), Some(1 << 20), Some(8), Some(1)),
            ("顺序读吞吐量", read, Some(false), None, None, None),
            ("4KB 随机读写 队列深度32", both, Some(true), Some(4096), Some(32), None),
            ("Throughput 100 MB/s", None, None, None, None, None),
        ] {
            let load = Load::read(text);
            assert_eq!(
                (load.way, load.random, load.bs, load.depth, load.jobs),
                (way, random, bs, depth, jobs),
                "{text}"
            );
        }
    }

    #[test]
    fn mixes_have_their_share_of_reads() {
        let of = |text: &str| (Load::read(text).way, Load::read(text).reads);
        assert_eq!(of("64k-75rdpct-80randompct"), (Some(Way::Both), Some(0.75)));
        assert_eq!(of("4k-0rdpct-100randompct"), (Some(Way::Write), Some(0.0)));
        assert_eq!(of("4k 70/30 r/w"), (Some(Way::Both), Some(0.7)));
        assert_eq!(of("4k read/write"), (Some(Way::Both), None));
        assert_eq!(of("24/7 read"), (Some(Way::Read), None));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-zA-Z/:= 随机读写队列深度чтение]{0,40}") {
            let _ = Load::read(&text);
        }
    }
}
