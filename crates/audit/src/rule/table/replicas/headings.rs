//! Headings above tables that are called the same: of another load the units are not equal, whatever stands right above them.

use super::UNITS;
use crate::number::{Unit, quantities};
use crate::page::Page;
use crate::table::Table;
use std::collections::HashMap;

/// Numbers in brackets behind these are loads, no ordinals.
const LOADS: [&str; 18] = [
    "threads",
    "thread",
    "clients",
    "client",
    "qd",
    "iodepth",
    "depth",
    "jobs",
    "numjobs",
    "connections",
    "users",
    "workers",
    "processes",
    "keys",
    "size",
    "线程",
    "并发",
    "потоков",
];

/// Groups parted by their headings: tables of one part stand below the same, or below such as differ in an ordinal alone.
pub(super) fn part<'a>(page: &Page, groups: Vec<Vec<&'a Table>>) -> Vec<Vec<&'a Table>> {
    if groups.is_empty() {
        return groups;
    }
    let headings = headings(page);
    groups.into_iter().flat_map(|group| alike(&headings, group)).collect()
}

fn alike<'a>(headings: &[(usize, String)], tables: Vec<&'a Table>) -> Vec<Vec<&'a Table>> {
    let mut parts: Vec<Vec<&Table>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for table in tables {
        let above = headings.partition_point(|(line, _)| *line < table.lines.start);
        let name = above.checked_sub(1).map_or("", |at| headings[at].1.as_str());
        let at = *known.entry(name).or_insert(parts.len());
        match parts.get_mut(at) {
            Some(part) => part.push(table),
            None => parts.push(vec![table]),
        }
    }
    parts
}

/// Every heading of a page: its line, and what it and those that it stands under are called without their ordinals.
fn headings(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut under: Vec<(usize, String)> = Vec::new();
    let mut fenced = false;
    for line in 0..page.len() {
        let text = page.line(line).trim();
        fenced ^= text.starts_with("```") || text.starts_with("~~~");
        let Some((level, name)) = heading(page, line).filter(|_| !fenced) else { continue };
        under.retain(|(above, _)| *above < level);
        under.push((level, without_ordinals(name)));
        let names: Vec<&str> = under.iter().map(|(_, name)| name.as_str()).collect();
        found.push((line, names.join("\n")));
    }
    found
}

/// The level of a heading and its words.
fn heading(page: &Page, line: usize) -> Option<(usize, &str)> {
    let text = page.line(line);
    let name = text.trim_start_matches('#');
    let level = text.len() - name.len();
    if (1..7).contains(&level) && name.starts_with(' ') {
        return Some((level, name.trim().trim_end_matches('#').trim_end()));
    }
    let name = text.trim();
    let below = if line + 1 < page.len() { page.line(line + 1).trim_end() } else { "" };
    let drawn = |sign: u8| below.len() > 2 && below.bytes().all(|byte| byte == sign);
    let level = match (drawn(b'='), drawn(b'-')) {
        (true, _) => 1,
        (_, true) => 2,
        _ => return None,
    };
    (name.contains(char::is_alphabetic) && !name.contains('|')).then_some((level, name))
}

/// A heading without its own number and those of units: `2.1 Run 3` is `run #`.
fn without_ordinals(heading: &str) -> String {
    let lower = behind_number(heading).to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split_whitespace() {
        let bare = word.trim_end_matches([':', '：', ',', '.']);
        let ordinal = words.last().is_some_and(|before| is_ordinal(bare, before));
        words.push(if ordinal { "#".to_owned() } else { glued(bare).unwrap_or_else(|| bare.to_owned()) });
    }
    words.join(" ")
}

/// What stands behind the number of a section: `2.1 Reads`, `3. Reads`, and not `1.5 GB`.
fn behind_number(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &text[..text.len() - rest.len()];
    let sign = number.contains('.') && rest.starts_with(' ') || rest.starts_with([')', '、', '）']);
    let own = quantities(0, text)
        .first()
        .is_none_or(|first| first.figure.spot.start > 0 || first.unit == Unit::Bare);
    if number.is_empty() || !sign || !own { text } else { rest.trim_start_matches([')', '、', '）']) }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word only says which of several it is: `1` behind `run`, `#3`, `(0369)`.
fn is_ordinal(word: &str, before: &str) -> bool {
    let inner = word
        .strip_prefix(['(', '（', '['])
        .and_then(|inner| inner.strip_suffix([')', '）', ']']))
        .filter(|_| !LOADS.contains(&before));
    let signed = word.strip_prefix(['#', '№']);
    inner.or(signed).is_some_and(digits) || digits(word) && UNITS.contains(&before)
}

/// `vm3`, `node-3`, `虚拟机3` without the number.
fn glued(word: &str) -> Option<String> {
    let name = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let unit = name.trim_end_matches(['-', '_', '#']);
    (name.len() < word.len() && UNITS.contains(&unit)).then(|| format!("{unit} #"))
}

#[cfg(test)]
mod tests {
    use super::without_ordinals;

    #[test]
    fn headings_lose_their_ordinals_only() {
        let same = |one: &str, other: &str| without_ordinals(one) == without_ordinals(other);
        for (one, other) in [
            ("Run 1", "Run 4:"),
            ("2.1 Drive PM9A3 (0369)", "2.2 Drive PM9A3 (6310)"),
            ("VM1", "VM 2"),
            ("Reads, node-3", "Reads, node-4"),
            ("Pass #1", "Pass #2"),
        ] {
            assert!(same(one, other), "{one}, {other}");
        }
        for (one, other) in [
            ("Writes of 2M keys, 10 clients", "Writes of 2M keys, 500 clients"),
            ("Writes of 2M keys", "Writes of 4M keys"),
            ("1.5 GB", "2.5 GB"),
            ("Threads (1)", "Threads (8)"),
            ("Threads 1", "Threads 8"),
            ("Clients 1 to 10", "Clients 1 to 500"),
        ] {
            assert!(!same(one, other), "{one}, {other}");
        }
    }
}
