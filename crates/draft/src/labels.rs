//! Reads heads, labels, headings and titles: what they say of the load, of the metric, and what is
//! left, which names a system.

use super::loads::PageLoad;
use super::words::{listed_words, part_at, word_at};
use iotax_audit::number::{NumberUnit, measure};
use iotax_units::fio::printed_size;

/// Metric of a figure, as far as a head or its unit says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PageMetric {
    Iops,
    Throughput,
    Mean,
    /// Percentile in percent: 99.9.
    Percentile(f64),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LabelMeaning {
    pub load: PageLoad,
    pub metric: Option<PageMetric>,
    /// True for the figures of a data sheet.
    pub is_rated: bool,
    /// Words of the label that say nothing of load and metric.
    pub name: String,
}

/// Longest text in bytes that is read; a longer one is a paragraph.
const LONGEST: usize = 240;
/// Lists of words that say something of a load.
const OF_LOAD: &[&str] = &["random", "sequential", "read", "write", "both"];
const OF_METRIC: &[&str] = &["iops", "throughput", "latency", "mean", "median"];

pub(super) fn read_label(text: &str) -> LabelMeaning {
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST).last();
    let text = if text.len() <= LONGEST { text } else { &text[..end.unwrap_or(0)] };
    // A letter stays one letter, so that both texts have the same number of them.
    let lower = text.chars().map(|letter| letter.to_lowercase().next().unwrap_or(letter));
    let lower: String = lower.collect();
    let mut walk = LabelWalk { lower: &lower, meaning: LabelMeaning::default() };
    let (mut rest, mut original, mut at) = (String::new(), text, 0);
    while at < lower.len() {
        let taken = walk.take_words(at, original);
        let length = if taken > 0 { taken } else { word_length(&lower[at..]) };
        let letters = lower[at..at + length].chars().count();
        let end = original.char_indices().nth(letters).map_or(original.len(), |(end, _)| end);
        rest.push_str(if taken > 0 { " " } else { &original[..end] });
        original = &original[end..];
        at += length;
    }
    let mut meaning = walk.meaning;
    meaning.load = meaning.load.settle();
    meaning.name = name_left(&rest);
    meaning
}

/// Returns the bytes of a run of letters and digits of one script at the start, or of one sign.
fn word_length(text: &str) -> usize {
    let first = text.chars().next().map_or(1, char::len_utf8);
    let cyrillic = text.chars().take_while(is_cyrillic).map(char::len_utf8).sum();
    token_at(text).len().max(first).max(cyrillic)
}

/// Returns what is left of a label without empty brackets, signs at its ends and signs between
/// blanks.
fn name_left(rest: &str) -> String {
    let rest = rest.replace(['（', '('], " (").replace(['）', ')'], ") ");
    let is_sign = |letter: char| !letter.is_alphanumeric();
    let words: Vec<&str> =
        rest.split_whitespace().filter(|word| !word.chars().all(is_sign)).collect();
    let name = words.join(" ").replace("( ", "(").replace(" )", ")");
    let edge = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '(' | ')');
    let name = name.trim_matches(edge);
    let balanced = name.matches('(').count() == name.matches(')').count();
    if balanced { name.to_owned() } else { name.replace(['(', ')'], " ").trim().to_owned() }
}

struct LabelWalk<'t> {
    lower: &'t str,
    meaning: LabelMeaning,
}

impl LabelWalk<'_> {
    /// Reads words of a load or a metric at a place; `original` is the text from there with its
    /// capitals. Returns their bytes; 0 if there are none.
    fn take_words(&mut self, at: usize, original: &str) -> usize {
        let text = &self.lower[at..];
        let first = text.chars().next().unwrap_or(' ');
        // Han characters stand together; other words begin where no letter or digit is.
        let before = self.lower[..at].chars().next_back();
        let is_alphabet = |letter: char| letter.is_ascii_alphanumeric() || is_cyrillic(&letter);
        if is_alphabet(first) && before.is_some_and(is_alphabet) {
            return 0;
        }
        if first.is_ascii_digit() {
            let taken = self.take_number(text);
            if taken > 0 {
                return taken;
            }
        }
        let unit = unit_letters(original);
        if unit > 0 {
            let end = original.char_indices().nth(unit).map_or(original.len(), |(end, _)| end);
            self.take_unit(&original[..end]);
            return text.chars().take(unit).map(char::len_utf8).sum();
        }
        // `NVMe-oF` has no word of this list.
        let lists: &[&str] =
            if before == Some('-') { &["probe", "rated"] } else { &["probe", "rated", "filler"] };
        if let Some((word, length)) = word_at(text, lists) {
            match word.list {
                "probe" => self.meaning.load.probe = Some(word.meaning),
                "rated" => self.meaning.is_rated = true,
                _ => {}
            }
            return length;
        }
        if let Some((word, length)) = word_at(text, OF_LOAD).or_else(|| word_at(text, OF_METRIC)) {
            // `read-ahead` and `write-back` are no loads.
            let after = text[length..].strip_prefix('-').filter(|_| word.is_latin);
            let is_joined = after.is_some_and(|after| {
                ["ahead", "back", "through"].iter().any(|end| after.starts_with(end))
            });
            if !is_joined {
                self.take_listed(word.list);
                return length;
            }
        }
        if first.is_ascii_alphanumeric() { self.take_token(text) } else { 0 }
    }

    fn take_listed(&mut self, list: &str) {
        let load = &mut self.meaning.load;
        match list {
            "random" => load.random = Some(true),
            "sequential" => load.random = Some(false),
            "read" => load.read = true,
            "write" => load.write = true,
            "both" => (load.read, load.write) = (true, true),
            "iops" => self.meaning.metric = Some(PageMetric::Iops),
            "throughput" => self.meaning.metric = Some(PageMetric::Throughput),
            "median" => self.meaning.metric = Some(PageMetric::Percentile(50.0)),
            "latency" => _ = self.meaning.metric.get_or_insert(PageMetric::Mean),
            _ => {}
        }
    }

    fn take_unit(&mut self, text: &str) {
        let metric = match measure(text).map(|measure| measure.unit) {
            Some(NumberUnit::PerSecond) => PageMetric::Iops,
            Some(NumberUnit::BytesPerSecond | NumberUnit::BitsPerSecond) => PageMetric::Throughput,
            Some(NumberUnit::Nanoseconds) => PageMetric::Mean,
            _ => return,
        };
        let _ = self.meaning.metric.get_or_insert(metric);
    }

    /// Reads `80% random`, `75/25 r/w`, `99.9th`, `8 threads`, or a token such as `4k`.
    fn take_number(&mut self, text: &str) -> usize {
        let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let number = text[..digits].trim_end_matches('.');
        let digits = number.len();
        let Ok(value) = number.parse::<f64>() else { return 0 };
        let whole = (value.fract() == 0.0 && value <= 1e9).then_some(value as u64);
        let after = &text[digits..];
        let skipped = after.len() - after.trim_start_matches([' ', '-']).len();
        let next = &after[skipped..];
        if let (Some(share), Some(rest)) =
            (whole.filter(|share| *share <= 100), next.strip_prefix('%'))
        {
            let blank = rest.len() - rest.trim_start().len();
            let Some((word, length)) = word_at(rest.trim_start(), OF_LOAD) else { return 0 };
            match word.list {
                "random" => self.meaning.load.percentage_random = Some(share),
                "sequential" => self.meaning.load.percentage_random = Some(100 - share),
                "read" => self.meaning.load.rwmixread = Some(share),
                "write" => self.meaning.load.rwmixread = Some(100 - share),
                _ => return 0,
            }
            return digits + skipped + 1 + blank + length;
        }
        if let (Some(share), Some(rest)) = (whole, after.strip_prefix(['/', ':'])) {
            let other = rest.bytes().take_while(u8::is_ascii_digit).count();
            if rest[..other].parse::<u64>().is_ok_and(|other| other + share == 100) {
                self.meaning.load.rwmixread = Some(share);
                return digits + 1 + other;
            }
        }
        if let Some(rest) = next.strip_prefix("th").or_else(|| next.strip_prefix("百分位")) {
            if !rest.starts_with(char::is_alphabetic) && value > 0.0 && value < 100.0 {
                self.meaning.metric = Some(PageMetric::Percentile(value));
                return text.len() - rest.len();
            }
        }
        let counted = ["threads", "thread", "jobs", "job", "线程", "поток"];
        if let Some(word) = counted.iter().find(|word| next.starts_with(**word)) {
            self.meaning.load.numjobs = whole;
            return digits + skipped + word.len();
        }
        self.take_token(text)
    }

    /// Reads a token that is nothing but words of a load: `randread4k`, `qd32`, `50rdpct`, `bs=4k`.
    fn take_token(&mut self, text: &str) -> usize {
        let token = token_at(text);
        let after = &text[token.len()..];
        if let Some(value) = after.strip_prefix('=').map(token_at).filter(|value| !value.is_empty())
        {
            return match self.set_option(token, value) {
                true => token.len() + 1 + value.len(),
                false => 0,
            };
        }
        let (mut load, mut metric) = (self.meaning.load.clone(), self.meaning.metric);
        let mut rest = token;
        while !rest.is_empty() {
            let Some(length) = read_part(rest, &mut load, &mut metric) else { return 0 };
            rest = &rest[length..];
        }
        (self.meaning.load, self.meaning.metric) = (load, metric);
        token.len()
    }

    /// Sets one of fio's options: `qd=32`, `fsync=1`. Returns false for others.
    fn set_option(&mut self, key: &str, value: &str) -> bool {
        let load = &mut self.meaning.load;
        let number = value.parse().ok().filter(|number| *number < 1 << 32);
        match (key, number) {
            ("qd" | "q" | "iodepth" | "depth", Some(depth)) => load.iodepth = Some(depth),
            ("jobs" | "numjobs" | "nj" | "t" | "threads", Some(jobs)) => load.numjobs = Some(jobs),
            ("fsync", Some(every)) => load.fsync = Some(every).filter(|every| *every > 0),
            ("bs" | "blocksize", _) => match size_at(value) {
                Some((bytes, length)) if length == value.len() => load.bs = Some(bytes),
                _ => return false,
            },
            ("rw" | "readwrite", _) => load.set_rw(value),
            _ => return false,
        }
        true
    }
}

/// Returns the run of ASCII letters and digits at the start, with points between digits.
fn token_at(text: &str) -> &str {
    let bytes = text.as_bytes();
    let part = |at: usize| {
        bytes[at].is_ascii_alphanumeric()
            || bytes[at] == b'.'
                && at > 0
                && bytes[at - 1].is_ascii_digit()
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    &text[..(0..bytes.len()).take_while(|at| part(*at)).count()]
}

fn is_cyrillic(letter: &char) -> bool {
    ('\u{400}'..='\u{4ff}').contains(letter)
}

/// Returns the number of letters of a unit at the start: of a rate, or of a time.
fn unit_letters(text: &str) -> usize {
    let end = |letter: char| letter.is_whitespace() || "()[]（），,|".contains(letter);
    let word = text.split(end).next().unwrap_or("");
    let starts = word.starts_with(char::is_alphabetic) && word.len() <= 16;
    let unit = starts.then(|| measure(word)).flatten().map(|measure| measure.unit);
    let is_time = ["us", "ms", "ns", "µs", "μs", "usec", "msec", "мкс", "мс"].contains(&word);
    if unit.is_some_and(NumberUnit::is_rate) || is_time { word.chars().count() } else { 0 }
}

/// Returns a block size at the start, in bytes, and its length: `4k`, `128kib`, `1mb`.
fn size_at(text: &str) -> Option<(u64, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text[digits..].chars().next().filter(|unit| matches!(unit, 'k' | 'm'))?;
    let bytes = printed_size(&format!("{}{unit}", &text[..digits]))?;
    let rest = &text[digits + 1..];
    let ending =
        ["ib", "b"].iter().find(|ending| rest.starts_with(**ending)).map_or(0, |end| end.len());
    (512..=64 << 20).contains(&bytes).then_some((bytes, digits + 1 + ending))
}

/// Reads one part of a token. Returns its length; `None` if it names no load and no metric.
fn read_part(text: &str, load: &mut PageLoad, metric: &mut Option<PageMetric>) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let share = text[..digits].parse().ok().filter(|share: &u64| *share <= 100);
        for (word, is_random) in [("rdpct", false), ("randompct", true), ("seekpct", true)] {
            if let (Some(share), true) = (share, text[digits..].starts_with(word)) {
                let field =
                    if is_random { &mut load.percentage_random } else { &mut load.rwmixread };
                *field = Some(share);
                return Some(digits + word.len());
            }
        }
        let (bytes, length) = size_at(text)?;
        load.bs = Some(bytes);
        return Some(length);
    }
    let number_after = |word: &str| {
        let rest = text.strip_prefix(word)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let ends = !rest[digits..].starts_with(['k', 'm', 'r']);
        Some((rest[..digits].parse::<u64>().ok().filter(|_| ends)?, word.len() + digits))
    };
    for word in ["iodepth", "qd", "q"] {
        if let Some((depth, length)) = number_after(word) {
            load.iodepth = Some(depth);
            return Some(length);
        }
    }
    for word in ["numjobs", "jobs", "nj", "t"] {
        if let Some((jobs, length)) = number_after(word) {
            load.numjobs = Some(jobs);
            return Some(length);
        }
    }
    if let Some(percent) = text.strip_prefix('p') {
        let value: Option<f64> = percent.parse().ok().filter(|one| *one > 0.0 && *one < 100.0);
        *metric = Some(PageMetric::Percentile(value?));
        return Some(text.len());
    }
    let word = part_at(text, OF_LOAD)?;
    match word.list {
        "random" => load.random = Some(true),
        "sequential" => load.random = Some(false),
        "read" => load.read = true,
        "write" => load.write = true,
        _ => (load.read, load.write) = (true, true),
    }
    Some(word.text.len())
}

/// Returns the ASCII name for a system that is called this: words of the lists are translated,
/// Latin letters and digits stay. Empty if nothing is left.
pub(super) fn ascii_name(text: &str) -> String {
    const LONGEST_NAME: usize = 60;
    let lower = text.to_lowercase();
    let mut words: Vec<String> = vec![String::new()];
    let mut at = 0;
    while at < lower.len() {
        let rest = &lower[at..];
        let letter = rest.chars().next().unwrap_or(' ');
        let translated = listed_words()
            .iter()
            .filter(|word| word.list == "name" && !word.is_latin)
            .find(|word| rest.starts_with(word.text));
        if let Some(word) = translated {
            words.push(word.meaning.to_owned());
            words.push(String::new());
            let ending =
                rest[word.text.len()..].chars().take_while(is_cyrillic).map(char::len_utf8);
            at += word.text.len() + ending.sum::<usize>();
            continue;
        }
        match words.last_mut() {
            Some(word) if letter.is_ascii_alphanumeric() => word.push(letter),
            _ => words.push(String::new()),
        }
        at += letter.len_utf8();
    }
    words.retain(|word| !word.is_empty());
    let name = words.join("-");
    name.get(..LONGEST_NAME).unwrap_or(&name).trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
