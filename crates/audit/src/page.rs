//! Text of one document as numbered lines, with spots (line and range of bytes) of its parts. Parts
//! that could not be read are listed with their lines and never dropped silently.

pub use iotax_hardware::TextSpan;
use serde::Serialize;
use std::ops::Range;
use std::sync::OnceLock;

/// Lines that a reader could not read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadRange {
    /// First line, from 1.
    pub line: u32,
    pub last: u32,
    /// Reason, such as `iperf3 JSON: it ends in the middle of an object`.
    pub why: String,
}

#[derive(Clone, Copy, Debug)]
struct LineAt {
    start: usize,
    end: usize,
    number: u32,
    /// Number of bytes before the tool's own text: a listing's line number or a console's prefix.
    prefix: u32,
}

#[derive(Clone, Debug)]
pub struct AuditedPage {
    /// Path, or `standard input`.
    pub name: String,
    text: String,
    lines: Vec<LineAt>,
    rendered: bool,
    /// Text in which spaces replace the prefixes of the lines, computed on demand.
    unlisted: OnceLock<String>,
    /// Parts that could not be decoded or rendered.
    pub unread: Vec<UnreadRange>,
}

impl AuditedPage {
    /// Creates a page whose lines are numbered from 1.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> AuditedPage {
        let text = text.into();
        let mut lines = split(&text);
        listing::mark(&text, &mut lines);
        let (unlisted, unread) = (OnceLock::new(), Vec::new());
        AuditedPage { name: name.into(), text, lines, rendered: false, unlisted, unread }
    }

    /// Creates a page of rendered lines, each with its line number in the source.
    pub fn rendered(name: impl Into<String>, rendered: &[(u32, String)]) -> AuditedPage {
        let joined: Vec<&str> = rendered.iter().map(|(_, line)| line.as_str()).collect();
        let mut page = AuditedPage::new(name, joined.join("\n"));
        page.rendered = true;
        for (line, (number, _)) in page.lines.iter_mut().zip(rendered) {
            line.number = *number;
        }
        page
    }

    /// Returns the page with other prefixes: `prefix` returns the number of bytes that
    /// [`Self::bare_line`] leaves out at the start of a line, or `None` to leave out the whole
    /// line. Spots remain those of this page.
    pub(crate) fn after_prefix(&self, prefix: impl Fn(&str) -> Option<u32>) -> AuditedPage {
        let mut page = self.clone();
        page.unlisted = OnceLock::new();
        for at in 0..page.lines.len() {
            let (line, found) = (self.lines[at], prefix(self.line_text(at)));
            page.lines[at].prefix = found.unwrap_or((line.end - line.start) as u32);
        }
        page
    }

    /// Returns true if the lines were rendered: their numbers are those of the file, but their
    /// columns are not.
    pub fn is_rendered(&self) -> bool {
        self.rendered
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a line without its line break; empty if `index` is after the last line.
    pub fn line_text(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| &self.text[line.start..line.end])
    }

    /// Returns a line without the number of a listing (` 1fio-3.16`) or a prefix (`s1: `), and the
    /// number of bytes left out.
    pub fn bare_line(&self, index: usize) -> (&str, usize) {
        let Some(line) = self.lines.get(index) else { return ("", 0) };
        let prefix = line.prefix as usize;
        (&self.text[line.start + prefix..line.end], prefix)
    }

    /// Returns the whole text for a JSON reader that begins at a line. In a listing, spaces replace
    /// the line numbers, so that all else stays in place.
    pub fn json_text(&self, index: usize) -> &str {
        if self.bare_line(index).1 == 0 {
            return &self.text;
        }
        self.unlisted.get_or_init(|| {
            let mut text = self.text.clone();
            for line in self.lines.iter().filter(|line| line.prefix > 0) {
                let bytes = line.start..line.start + line.prefix as usize;
                text.replace_range(bytes.clone(), &" ".repeat(bytes.len()));
            }
            text
        })
    }

    /// Returns the number of a line in the file, from 1. An `index` after the last line gives the
    /// last line's.
    pub fn line_number(&self, index: usize) -> u32 {
        self.lines.get(index).or(self.lines.last()).map_or(1, |line| line.number)
    }

    /// Returns the index of a line's first byte in the text; the text's length after the last line.
    pub fn offset(&self, index: usize) -> usize {
        self.lines.get(index).map_or(self.text.len(), |line| line.start)
    }

    pub fn quote(&self, spot: TextSpan) -> &str {
        self.line_text(spot.index()).get(spot.start as usize..spot.end as usize).unwrap_or("")
    }

    /// Returns the spot of a range of bytes of the text. A range over several lines is cut to the
    /// first.
    pub fn spot(&self, bytes: Range<usize>) -> TextSpan {
        let index = self.lines.partition_point(|line| line.start <= bytes.start).saturating_sub(1);
        self.spot_near(bytes, index)
    }

    /// Returns the spot of bytes on line `from` or a later one, for readers that advance through a
    /// text.
    pub fn spot_near(&self, bytes: Range<usize>, from: usize) -> TextSpan {
        let mut index = from;
        while self.lines.get(index + 1).is_some_and(|next| next.start <= bytes.start) {
            index += 1;
        }
        let Some(line) = self.lines.get(index) else { return TextSpan::default() };
        let end = bytes.end.min(line.end).max(line.start);
        TextSpan::new(index, bytes.start.saturating_sub(line.start)..end - line.start)
    }

    /// Empties lines that could not be read, so that no other reader examines them. The numbers of
    /// lines stay.
    pub fn pass_over(&mut self, lines: Range<usize>) {
        let end = lines.end.min(self.lines.len());
        for line in &mut self.lines[lines.start.min(end)..end] {
            (line.end, line.prefix) = (line.start, 0);
        }
    }

    /// Returns a record of lines that could not be read.
    pub fn unread(&self, lines: Range<usize>, why: impl Into<String>) -> UnreadRange {
        let last = lines.end.saturating_sub(1).max(lines.start);
        UnreadRange {
            line: self.line_number(lines.start),
            last: self.line_number(last),
            why: why.into(),
        }
    }
}

fn split(text: &str) -> Vec<LineAt> {
    let mut lines = Vec::with_capacity(text.len() / 40);
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    for (at, next) in ends.enumerate() {
        if start >= text.len() {
            break;
        }
        let end = if text[start..next].ends_with('\r') { next - 1 } else { next };
        lines.push(LineAt {
            start,
            end,
            number: u32::try_from(at + 1).unwrap_or(u32::MAX),
            prefix: 0,
        });
        start = next + 1;
    }
    lines
}

/// Marks what precedes a tool's lines in a listing: line numbers, or the instance that printed a
/// line.
mod listing {
    use super::LineAt;

    /// Least number of lines, numbered from 1, that make a listing; fewer are a table, or chance.
    const LEAST: usize = 3;

    pub(super) fn mark(text: &str, lines: &mut [LineAt]) {
        let of = |line: &LineAt| &text[line.start..line.end];
        let mut at = 0;
        while at < lines.len() {
            let own = of(&lines[at]);
            // Nearly every line has neither, so one look is enough to skip it.
            let count = match own.bytes().find(|byte| *byte != b' ') {
                Some(b'1') => count_numbered(|next| lines.get(at + next).map(of)),
                Some(b's') => {
                    lines[at].prefix = speaker(own).unwrap_or(0);
                    0
                }
                _ => 0,
            };
            for (next, line) in
                lines[at..].iter_mut().take(count).enumerate().filter(|_| count >= LEAST)
            {
                line.prefix = numbered(of(line), next + 1).map_or(0, |(length, _)| length);
            }
            at += count.max(1);
        }
    }

    /// Returns how many consecutive lines, of which `line` returns each by its index, are numbered
    /// from 1.
    fn count_numbered<'t>(line: impl Fn(usize) -> Option<&'t str>) -> usize {
        let melted = |at: usize| numbered(line(at)?, at + 1).map(|(_, melted)| melted);
        // Within a listing a number may also touch a figure: the next line decides.
        let goes_on = |at: &usize| match melted(*at) {
            Some(true) => *at >= LEAST && melted(at + 1) == Some(false),
            own => own.is_some(),
        };
        (0..).take_while(goes_on).count()
    }

    /// Returns the length of the line number before a line (` 17`), and true if the line's own text
    /// begins with a digit (`202048.00 MiB` in line 20). `None` if the line does not begin with
    /// `number`.
    fn numbered(line: &str, number: usize) -> Option<(u32, bool)> {
        let bare = line.trim_start_matches(' ');
        let padding = line.len() - bare.len();
        if padding > 6 || !bare.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let after = bare.strip_prefix(number.to_string().as_str())?;
        let digit = |at: usize| after.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        // Decimals belong to a figure; in `2...` the dots begin a line of fio's after its number.
        let melted = digit(0) || after.starts_with('.') && digit(1);
        Some((u32::try_from(line.len() - after.len()).unwrap_or(0), melted))
    }

    /// Returns the length of the prefix `s1: `, which some tools print if several instances of them
    /// run.
    fn speaker(line: &str) -> Option<u32> {
        let digits = line.strip_prefix('s')?.bytes().take_while(u8::is_ascii_digit).count();
        let after = line[1 + digits..].strip_prefix(':')?;
        let space = usize::from(after.starts_with(' '));
        let fits = (1..=3).contains(&digits) && (space == 1 || after.is_empty());
        fits.then_some(2 + digits as u32 + space as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_numbers_and_spots_what_stands_there() {
        let page = AuditedPage::new("p", "one\r\ntwo words\n\nlast");
        assert_eq!((page.len(), page.line_text(1), page.line_number(3)), (4, "two words", 4));
        assert_eq!(page.line_text(0), "one", "without its end");
        let spot = page.spot(9..14);
        assert_eq!((spot, page.quote(spot)), (TextSpan::new(1, 4..9), "words"));
        assert_eq!(page.quote(page.spot(9..30)), "words", "a spot ends with its line");
        assert_eq!(page.line_text(9), "");
        assert_eq!(AuditedPage::new("p", "").len(), 0);
    }

    #[test]
    fn numbers_of_a_listing_are_no_part_of_what_a_tool_printed() {
        for (text, bare) in [
            (
                "title| 1fio-3.16| 2Starting 4| 3Jobs: 4|  4  write|text",
                "title|fio-3.16|Starting 4|Jobs: 4|  write|text",
            ),
            // Two lines are chance.
            ("1 2.5|2 2.6|x", "1 2.5|2 2.6|x"),
            // The next line tells what is against a number; nothing behind the last does.
            ("1a|2b|3c|42048.00 MiB|5d|62048.00 MiB", "a|b|c|2048.00 MiB|d|62048.00 MiB"),
            ("1.5|2.5|3.5|4.5", "1.5|2.5|3.5|4.5"),
            ("s1: [ ID] Interval|s1:|six: 7", "[ ID] Interval||six: 7"),
        ] {
            let page = AuditedPage::new("p", text.replace('|', "\n"));
            let found: Vec<&str> = (0..page.len()).map(|at| page.bare_line(at).0).collect();
            assert_eq!(found.join("|"), bare);
        }
    }
}
