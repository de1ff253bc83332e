//! Outputs whose lines share a prefix: quote marks, names of containers, timestamps, an
//! indentation. A prefix is searched for only where no result was found, and removed if that gives
//! results.

use super::format::{PageOutputs, ToolOutput};
use crate::page::AuditedPage;
use std::ops::Range;

/// Longest prefix, in bytes.
const LONGEST: usize = 100;
/// Limit of prefixes that are tried on a page.
const MOST: usize = 8;
/// Limit of positions in a line at which a prefix may end.
const MOST_ENDS: usize = 16;
/// Least number of consecutive lines that share a prefix.
const LEAST: usize = 3;

/// Adds the outputs whose lines share a prefix to those found without. `begins` returns true for a
/// text that may begin an output.
pub(super) fn add_prefixed_outputs(
    page: &AuditedPage,
    imported: &mut PageOutputs,
    scan: impl Fn(&AuditedPage) -> PageOutputs,
    begins: impl Fn(&str) -> bool,
) {
    let mut read: Vec<Range<usize>> =
        imported.outputs.iter().filter(|one| has_result(one)).map(lines).collect();
    let mut tried: Vec<&str> = Vec::new();
    for at in 0..page.len().saturating_sub(LEAST - 1) {
        if tried.len() == MOST || read.iter().any(|lines| lines.contains(&at)) {
            continue;
        }
        let Some(prefix) =
            prefix_of_output(page, at, &begins).filter(|prefix| !tried.contains(prefix))
        else {
            continue;
        };
        tried.push(prefix);
        let bare = page.after_prefix(|line| length_before(line, prefix).map(|bytes| bytes as u32));
        let mut found = scan(&bare);
        found.outputs.retain(|one| {
            !read.iter().any(|lines| one.lines.start < lines.end && lines.start < one.lines.end)
        });
        if !found.outputs.iter().any(has_result) {
            continue;
        }
        let new: Vec<Range<usize>> = found.outputs.iter().map(lines).collect();
        let covered = |at: usize| new.iter().any(|lines| lines.contains(&at));
        imported.outputs.retain(|one| has_result(one) || !one.lines.clone().any(covered));
        let numbers: Vec<u32> =
            new.iter().flat_map(Clone::clone).map(|at| page.line_number(at)).collect();
        imported.unread.retain(|one| !numbers.contains(&one.line));
        imported.outputs.append(&mut found.outputs);
        imported.unread.append(&mut found.unread);
        read.extend(new);
    }
    imported.outputs.sort_by_key(|one| one.lines.start);
}

fn has_result(output: &ToolOutput) -> bool {
    !output.said.readings().is_empty()
}

fn lines(output: &ToolOutput) -> Range<usize> {
    output.lines.clone()
}

/// Returns the longest prefix of a line that the following lines share, and after which an output
/// may begin.
fn prefix_of_output(page: &AuditedPage, at: usize, begins: impl Fn(&str) -> bool) -> Option<&str> {
    let line = page.line_text(at);
    let shared = |bytes: usize| {
        (at + 1..at + LEAST)
            .all(|next| length_before(page.line_text(next), &line[..bytes]).is_some())
    };
    let bytes = line.as_bytes();
    let is_blank = |at: usize| matches!(bytes[at], b' ' | b'\t');
    // A run of blanks ends a prefix at its first or at its last one.
    let is_end = |end: &usize| match is_blank(end - 1) {
        true => !is_blank(*end) || *end < 2 || !is_blank(end - 2),
        false => b">|:]".contains(&bytes[end - 1]),
    };
    let ends = (1..line.len().min(LONGEST + 1)).filter(is_end).take(MOST_ENDS);
    let cuts: Vec<usize> = ends.take_while(|end| shared(*end)).collect();
    cuts.iter().rev().find(|end| begins(&line[**end..])).map(|end| &line[..*end])
}

/// Returns the length of `prefix` before a line, doubled if it appears twice; for a line that is
/// only the prefix, the whole length. In a prefix with a time, digits may differ. `None` if the
/// line lacks the prefix.
fn length_before(line: &str, prefix: &str) -> Option<usize> {
    let is_time = prefix
        .as_bytes()
        .windows(3)
        .any(|three| three[1] == b':' && three[0].is_ascii_digit() && three[2].is_ascii_digit());
    let same = |(a, b): (u8, u8)| a == b || (is_time && a.is_ascii_digit() && b.is_ascii_digit());
    let starts = |line: &str| {
        line.is_char_boundary(prefix.len())
            && line.len() >= prefix.len()
            && line.bytes().zip(prefix.bytes()).all(same)
    };
    let bare = prefix.trim_end();
    if !starts(line) {
        let nothing =
            line.trim_end().len() == bare.len() && line.bytes().zip(bare.bytes()).all(same);
        return nothing.then_some(line.len());
    }
    let twice = !bare.is_empty() && starts(&line[prefix.len()..]);
    Some(prefix.len() * if twice { 2 } else { 1 })
}

/// Removes the escape sequences that set colours or erase a line. `None` if the text has no escape
/// sequence.
pub(crate) fn without_colours(text: &str) -> Option<String> {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next()?.to_owned();
    let before = plain.len();
    for part in parts {
        let codes = part
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b'?'))
            .count();
        plain.push_str(
            part.get(codes..).and_then(|rest| rest.strip_prefix(['m', 'K'])).unwrap_or(part),
        );
    }
    (before < text.len()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::find_outputs;

    const FIO: &str = include_str!("../../fixtures/fio/randrw-3.33.txt");
    const DD: &str = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 4.20552 s, 255 MB/s\n";

    fn readings(text: &str) -> usize {
        find_outputs(&AuditedPage::new("p", text))
            .outputs
            .iter()
            .map(|one| one.said.readings().len())
            .sum()
    }

    fn behind(text: &str, prefix: impl Fn(usize) -> String) -> String {
        text.lines()
            .enumerate()
            .map(|(at, line)| format!("{}{line}\n", prefix(at)).replace(" \n", "\n"))
            .collect()
    }

    #[test]
    fn what_all_lines_share_is_taken_off() {
        let vdbench = include_str!("../../fixtures/vdbench/console.txt");
        let iperf = include_str!("../../fixtures/iperf3/tcp.txt");
        let json = include_str!("../../fixtures/fio/randrw.json");
        for text in [FIO, DD, vdbench, iperf, json] {
            let count = readings(text);
            assert!(count > 0);
            for prefix in ["> ", "> > ", "fio-1  | ", "    ", "\t", "[pod/fio-abc] ", "# "] {
                assert_eq!(
                    readings(&behind(text, |_| prefix.to_owned())),
                    count,
                    "{prefix:?} {text}"
                );
            }
            let dated =
                behind(text, |at| format!("2026-11-28T07:{:02}:{:02}.123Z ", at / 60, at % 60));
            assert_eq!(readings(&dated), count, "{dated}");
        }
    }

    #[test]
    fn lines_of_several_that_print_at_once_are_told_apart_by_their_prefixes() {
        let [one, two] =
            ["fio-1  | ", "fio-2  | "].map(|prefix| behind(FIO, |_| prefix.to_owned()));
        let both: String =
            one.lines().zip(two.lines()).map(|(one, two)| format!("{one}\n{two}\n")).collect();
        assert_eq!(readings(&both), 0, "nothing is made of lines that alternate");
        assert_eq!(readings(&format!("{one}{two}")), 2 * readings(FIO));
    }

    #[test]
    fn colours_are_taken_off_and_nothing_else_is() {
        assert_eq!(
            without_colours("\u{1b}[1;32mfio-3.33\u{1b}[0m\u{1b}[K").as_deref(),
            Some("fio-3.33")
        );
        assert_eq!(without_colours("a[3m"), None);
        assert_eq!(without_colours("a\u{1b}[5Xb").as_deref(), Some("a5Xb"));
    }
}
