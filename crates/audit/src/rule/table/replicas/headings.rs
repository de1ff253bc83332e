//! Headings above tables that are called the same: of another load the units are not equal, whatever stands right above them.

use crate::knowledge::words::spellings;
use crate::number::{Unit, quantities};
use crate::page::Page;

/// Every heading of a page: its line, and what it and those that it stands under are called without their ordinals.
pub(super) fn of(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut under: Vec<(usize, String)> = Vec::new();
    let mut fenced = false;
    for line in 0..page.len() {
        let text = page.line(line);
        fenced ^= text.trim().starts_with("```") || text.trim().starts_with("~~~");
        let name = text.trim_start_matches('#');
        let level = text.len() - name.len();
        if fenced || !(1..7).contains(&level) || !name.starts_with(' ') {
            continue;
        }
        under.retain(|(above, _)| *above < level);
        under.push((level, without_ordinals(name.trim().trim_end_matches('#'))));
        let names: Vec<&str> = under.iter().map(|(_, name)| name.as_str()).collect();
        found.push((line, names.join("\n")));
    }
    found
}

/// A heading without its own number and those of units: `2.1 Run 3` is `run #`, as `#3`, `(0369)` and `vm3` are numbers of units.
fn without_ordinals(heading: &str) -> String {
    let digit = |letter: char| letter.is_ascii_digit();
    let is_unit = |word: &str| spellings("unit").contains(&word);
    let mut words: Vec<String> = Vec::new();
    for word in behind_number(heading).to_lowercase().split_whitespace() {
        let bare = word.trim_end_matches([':', '：', ',', '.']);
        let number = bare.trim_matches(['(', ')', '（', '）', '[', ']', '#', '№']);
        let of_unit = |before: &String| match number.len() < bare.len() {
            true => !spellings("load").contains(&before.as_str()),
            false => is_unit(before),
        };
        let is_number = !number.is_empty() && number.chars().all(digit);
        let unit = bare.trim_end_matches(digit).trim_end_matches(['-', '_', '#']);
        words.push(match () {
            () if is_number && words.last().is_some_and(of_unit) => "#".to_owned(),
            () if bare.ends_with(digit) && is_unit(unit) => format!("{unit} #"),
            () => bare.to_owned(),
        });
    }
    words.join(" ")
}

/// What stands behind the number of a section: `2.1 Reads`, `3. Reads`, and not `1.5 GB`.
fn behind_number(text: &str) -> &str {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &text[..text.len() - rest.len()];
    let sign = number.contains('.') && rest.starts_with(' ') || rest.starts_with([')', '、', '）']);
    let figures = quantities(0, text);
    let own = figures.first().is_none_or(|one| one.figure.spot.start > 0 || one.unit == Unit::Bare);
    if number.is_empty() || !sign || !own { text } else { rest.trim_start_matches([')', '、', '）']) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn headings_lose_their_ordinals_only() {
        let same = |one: &str, other: &str| super::without_ordinals(one) == super::without_ordinals(other);
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
            ("1.5 GB", "2.5 GB"),
            ("Threads (1)", "Threads (8)"),
            ("Threads 1", "Threads 8"),
            ("Clients 1 to 10", "Clients 1 to 500"),
        ] {
            assert!(!same(one, other), "{one}, {other}");
        }
    }
}
