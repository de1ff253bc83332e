//! Splits a line for an importer: words, and figures after labels, each with its spot. Parts are
//! slices of the line, so a text and its spot are never kept apart.

use super::workload::OtherToolResult;
use crate::number::{PrintedNumber, leading, rounded};
use crate::page::{AuditedPage, TextSpan};

/// A line of a page without its number in a listing.
#[derive(Clone, Copy)]
pub(super) struct UnnumberedLine<'a> {
    index: usize,
    prefix: usize,
    pub(crate) text: &'a str,
}

impl<'a> UnnumberedLine<'a> {
    /// Returns line `index` of a page; empty after the last line.
    pub(super) fn from_page(page: &'a AuditedPage, index: usize) -> UnnumberedLine<'a> {
        let (text, prefix) = page.bare_line(index);
        UnnumberedLine { index, prefix, text }
    }

    /// Returns line `index` of an output whose lines may begin with a number of their own. A page
    /// takes such numbers for a listing's if several of these lines follow one another; the number
    /// is kept if `next` follows it.
    pub(super) fn with_number(
        page: &'a AuditedPage,
        index: usize,
        next: &str,
    ) -> UnnumberedLine<'a> {
        let bare = UnnumberedLine::from_page(page, index);
        if bare.prefix > 0 && bare.text.trim_start().starts_with(next) {
            return UnnumberedLine { index, prefix: 0, text: page.line_text(index) };
        }
        bare
    }

    pub(super) fn skip_bytes(self, bytes: usize) -> UnnumberedLine<'a> {
        let bytes = bytes.min(self.text.len());
        UnnumberedLine { prefix: self.prefix + bytes, text: &self.text[bytes..], ..self }
    }

    pub(super) fn spot(&self, part: &str) -> TextSpan {
        let start =
            (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).min(self.text.len());
        TextSpan::new(self.index, self.prefix + start..self.prefix + start + part.len())
    }

    /// Returns the figure at the beginning of a part of the line (after spaces and tabs),
    /// multiplied by `scale`, and the text after it. The spot covers its digits. `None` if the
    /// digits continue as a version, a date or a grouped number.
    pub(super) fn leading_number(
        &self,
        part: &'a str,
        scale: f64,
    ) -> Option<(PrintedNumber, &'a str)> {
        let part = part.trim_start_matches([' ', '\t']);
        let (value, bytes, decimals) = leading(part)?;
        let rest = &part[bytes..];
        let mut next = rest.bytes();
        if let (Some(b'.' | b',' | b':'), Some(b'0'..=b'9')) = (next.next(), next.next()) {
            return None;
        }
        let power = exponent(&part[..bytes]);
        let figure = rounded(self.spot(&part[..bytes]), value / power, decimals, power * scale);
        Some((PrintedNumber { value: value * scale, ..figure }, rest))
    }

    pub(super) fn whole_figure(&self, word: &'a str, scale: f64) -> Option<PrintedNumber> {
        let (figure, rest) = self.leading_number(word, scale)?;
        rest.is_empty().then_some(figure)
    }

    /// Returns the count, which is exact, that a word of only digits is; `None` for any other word.
    pub(super) fn whole_count(&self, word: &'a str) -> Option<PrintedNumber> {
        let (value, bytes, decimals) = leading(word)?;
        let whole =
            bytes == word.len() && decimals == 0 && word.bytes().all(|byte| byte.is_ascii_digit());
        whole.then(|| exact(self.spot(word), value))
    }

    /// Returns the figures of a line if it matches a pattern of `patterns.txt`: `#` is a figure,
    /// `@` the unit of bytes of the figure before it, and `*` any text.
    pub(super) fn fits(&self, pattern: &str) -> Option<Vec<PrintedNumber>> {
        const SIGNS: [char; 3] = ['#', '@', '*'];
        let (mut rest, mut any) = (self.text, false);
        let mut figures: Vec<PrintedNumber> = Vec::new();
        for part in pattern.split_inclusive(SIGNS) {
            let literal = part.trim_end_matches(SIGNS);
            if any && !literal.trim().is_empty() {
                rest = &rest[rest.find(literal.trim())?..];
            }
            for word in literal.split(' ') {
                rest = rest.trim_start().strip_prefix(word)?;
            }
            any = part.ends_with('*');
            if part.ends_with('#') {
                let (figure, after) = self.leading_number(rest, 1.0)?;
                figures.push(figure);
                rest = after;
            } else if part.ends_with('@') {
                let (scale, after) = prefixed_bytes(rest.trim_start())?;
                rest = after;
                figures.last_mut().into_iter().for_each(|last| *last = last.scaled(scale));
            }
        }
        (any || rest.trim().is_empty()).then_some(figures)
    }

    pub(super) fn labelled(&self, label: &str, scale: f64) -> Option<(PrintedNumber, &'a str)> {
        self.leading_number(self.text.trim_start().strip_prefix(label)?, scale)
    }
}

/// Calls `take` with each line from `from` on. Stops when it returns `None`, or `false` (not a line
/// of the output) for more than `most` consecutive lines. Returns the index after the last line of
/// the output.
pub(super) fn walk(
    page: &AuditedPage,
    from: usize,
    most: usize,
    mut take: impl FnMut(&UnnumberedLine, usize) -> Option<bool>,
) -> usize {
    let (mut at, mut end) = (from, from);
    while at < page.len() && at <= end + most {
        let Some(known) = take(&UnnumberedLine::from_page(page, at), at) else { break };
        at += 1;
        end = if known { at } else { end };
    }
    end
}

/// Returns a figure without rounding: a count.
pub(super) fn exact(spot: TextSpan, value: f64) -> PrintedNumber {
    PrintedNumber { spot, value, low: value, high: value }
}

/// Makes a figure exact: a count that was read together with its label.
pub(super) fn as_count(figure: PrintedNumber) -> PrintedNumber {
    exact(figure.spot, figure.value)
}

/// Returns the bytes of a unit (`Mb`, `KiB`, `b`; 1024-based), and the text after it.
fn prefixed_bytes(rest: &str) -> Option<(f64, &str)> {
    let power = "KMGT".find(rest.get(..1)?).map_or(0, |at| at + 1);
    let rest = &rest[usize::from(power > 0)..];
    let rest = rest.strip_prefix('i').unwrap_or(rest).strip_prefix(['b', 'B'])?;
    Some((1024f64.powi(power as i32), rest))
}

fn exponent(digits: &str) -> f64 {
    let written = digits.split_once(['e', 'E']).and_then(|(_, power)| power.parse::<i32>().ok());
    written.map_or(1.0, |power| 10f64.powi(power))
}

/// Returns the bytes of a size in options and names: `4k`, `64K`, `1m`, `8192`, `512`; 1024-based.
pub(super) fn parse_binary_size(word: &str) -> Option<u64> {
    iotax_units::fio::printed_size(word.trim_end_matches(['B', 'b']).trim_end_matches('i'))
}

pub(super) fn other(
    name: &str,
    unit: &str,
    more_is_better: bool,
    figure: PrintedNumber,
) -> OtherToolResult {
    OtherToolResult { name: name.to_owned(), unit: unit.to_owned(), more_is_better, figure }
}

pub(crate) const MIB: f64 = 1_048_576.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_line_are_told_from_listings_versions_and_sizes() {
        let page = AuditedPage::new("p", "0 | a\n1 | b\n2 | c\n3 | d\n1.0.20 1,234 17:06 2.5\n");
        assert_eq!(
            (
                UnnumberedLine::from_page(&page, 2).text,
                UnnumberedLine::with_number(&page, 2, "|").text
            ),
            (" | c", "2 | c")
        );
        let line = UnnumberedLine::from_page(&page, 4);
        let read: Vec<bool> =
            line.text.split(' ').map(|word| line.leading_number(word, 1.0).is_some()).collect();
        assert_eq!((read, line.whole_count("2.5")), (vec![false, false, false, true], None));
        assert_eq!(
            ["4k", "8KiB", "512", "x"].map(parse_binary_size),
            [Some(4096), Some(8192), Some(512), None]
        );
    }
}
