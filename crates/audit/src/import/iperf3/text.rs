//! iperf3's normal text, 3.0 to 3.17, of client and server: whole or only its rows, of one process
//! or of several, whose lines begin with a name (`s1: `).

use super::{Iperf3, IperfEnd, IperfRow, IperfStream, IperfTest, ROLES};
use crate::import::cut::{UnnumberedLine, exact};
use crate::import::format::{Format, ImportedOutputs, ToolReport};
use crate::number::{PrintedNumber, leading};
use crate::page::{AuditedPage, UnreadRange};

pub(crate) const FORMAT: Format = Format {
    name: "iperf3 text",
    example: include_str!("../../../fixtures/iperf3/tcp.txt"),
    begins: |line| match line.as_bytes().first() {
        Some(b'[') => bracket(line).is_some(),
        Some(b'C' | b'A' | b'S' | b'i') => {
            begins_with(line, STARTS) || begins_with(line, "iperf 3.|iperf3: ")
        }
        _ => false,
    },
    read,
};

const STARTS: &str = "Connecting to host |Accepted connection from |Server listening on ";

/// Beginnings of the tool's lines without figures.
const KNOWN: &str = "- - - -|-----|Test Complete|snd_tcp_congestion|rcv_tcp_congestion|Cookie: |TCP MSS: |Control connection|\
                     Finished omit|Reverse mode, |Starting Test: |CPU Utilization: |Time: ";

fn begins_with(line: &str, starts: &str) -> bool {
    starts.split('|').any(|start| line.starts_with(start))
}

/// Returns the text in the brackets at the beginning of a row, a head or a connection, and the text
/// after them.
fn bracket(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('[')?;
    let end = inner.as_bytes().iter().take(6).position(|byte| *byte == b']')?;
    let name = inner[..end].trim();
    let known = name == "SUM" || name == "ID" || name.parse::<u64>().is_ok();
    known.then_some((name, &inner[end + 1..]))
}

/// Number of lines within which the first row must follow.
const SOON: usize = 64;

/// Limit of blank lines between lines of an output.
const BLANKS: usize = 2;

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let mut reader =
        IperfTextReader { page, tests: Vec::new(), unread: Vec::new(), has_rows: false };
    let (mut at, mut end) = (line, line);
    while at < page.len() && at <= end + BLANKS && (reader.has_rows || at - line < SOON) {
        let Some(taken) = reader.read_iperf_line(at) else { break };
        at += 1;
        end = if taken == LineOutcome::Aside { end } else { at };
        if taken == LineOutcome::Last && reader.tests.iter().all(|test| test.speaker.is_none()) {
            break;
        }
    }
    reader.tests.retain(|test| !test.intervals.is_empty() || !test.ends.is_empty());
    let said = ToolReport::Iperf3(Box::new(Iperf3 { tests: reader.tests }));
    reader.has_rows.then_some(ImportedOutputs {
        said,
        end: end.max(line + 1),
        unread: reader.unread,
    })
}

/// Outcome of a line: part of the output, an aside that does not extend it, or the last line.
#[derive(PartialEq)]
enum LineOutcome {
    Line,
    Aside,
    Last,
}

struct IperfTextReader<'p> {
    page: &'p AuditedPage,
    tests: Vec<IperfTest>,
    unread: Vec<UnreadRange>,
    has_rows: bool,
}

impl<'p> IperfTextReader<'p> {
    /// Returns the name of the instance that printed a line, such as `s1`; `None` if the line has
    /// none.
    fn speaker(&self, line: usize) -> Option<&'p str> {
        let name =
            self.page.line_text(line)[..self.page.bare_line(line).1].trim().trim_end_matches(':');
        name.starts_with('s').then_some(name)
    }

    /// Returns the last test of the instance that printed a line; a new test if there is none or it
    /// is `over`.
    fn test(&mut self, at: usize, over: impl Fn(&IperfTest) -> bool) -> &mut IperfTest {
        let speaker = self.speaker(at);
        let known = self.tests.iter().rposition(|test| test.speaker.as_deref() == speaker);
        let known = known.filter(|known| !over(&self.tests[*known])).unwrap_or_else(|| {
            let speaker = speaker.map(str::to_owned);
            self.tests.push(IperfTest { line: at, speaker, ..IperfTest::default() });
            self.tests.len() - 1
        });
        &mut self.tests[known]
    }

    /// Reads a line; `None` if it is not part of the output.
    fn read_iperf_line(&mut self, at: usize) -> Option<LineOutcome> {
        let begun = |test: &IperfTest| !test.ends.is_empty() || !test.intervals.is_empty();
        let bare = self.page.bare_line(at).0;
        let text = bare.trim();
        if let Some((name, after)) = bracket(bare) {
            return self.bracketed(at, name, after);
        }
        if let Some(version) =
            text.strip_prefix("iperf ").filter(|version| version.starts_with("3."))
        {
            self.test(at, begun).version = version.split_whitespace().next().map(str::to_owned);
        } else if begins_with(text, STARTS) {
            if self.has_rows && self.speaker(at).is_none() {
                return None;
            }
            self.test(at, begun);
            // A server that listens again belongs to the next test.
            return Some(if text.starts_with("Server") {
                LineOutcome::Aside
            } else {
                LineOutcome::Line
            });
        } else if text == "iperf Done." {
            // A bidirectional test has two connections per stream.
            let test = self.test(at, |_| false);
            let both = if test.bidirectional { 2 } else { 1 };
            test.streams = test.streams.map(|streams| streams / both);
            return Some(LineOutcome::Last);
        } else if text.is_empty() {
            return Some(LineOutcome::Aside);
        } else if let Some(error) =
            text.strip_prefix("iperf3: error - ").or(text.strip_prefix("iperf3: interrupt - "))
        {
            self.test(at, |_| false).failed = Some(error.to_owned());
        } else if !begins_with(text, KNOWN) {
            // After its version it names the machine.
            let last = self.tests.last().filter(|_| text.starts_with("Linux "))?;
            return (last.version.is_some() && !begun(last)).then_some(LineOutcome::Line);
        }
        Some(LineOutcome::Line)
    }

    fn bracketed(&mut self, at: usize, name: &str, after: &str) -> Option<LineOutcome> {
        let ended = |test: &IperfTest| !test.ends.is_empty();
        if name == "ID" {
            after.contains("Interval").then_some(())?;
            let test = self.test(at, ended);
            test.bidirectional |= after.contains("[Role]");
            if after.contains("Datagrams") || after.contains("Retr") {
                test.udp = Some(after.contains("Datagrams"));
            }
            return Some(LineOutcome::Line);
        }
        if after.trim_start().starts_with("local ") {
            let test = self.test(at, ended);
            test.streams = Some(test.streams.unwrap_or(0) + 1);
            let ports = after
                .split(" port ")
                .skip(1)
                .map(|part| leading(part).map(|(port, ..)| port as u64));
            if let ([Some(one), Some(other)], None) =
                (ports.collect::<Vec<_>>().as_slice(), test.ports)
            {
                test.ports = Some([*one.min(other), *one.max(other)]);
            }
            return Some(LineOutcome::Line);
        }
        let (page, speaker) = (self.page, self.speaker(at));
        let last = self.tests.iter().rev().find(|test| test.speaker.as_deref() == speaker);
        let unended = at + 1 == page.len() && !page.text().ends_with([' ', '\n']);
        if let Some(row) = read_text_row(
            &UnnumberedLine::from_page(page, at),
            at,
            name,
            after,
            last.and_then(|test| test.udp),
            unended,
        ) {
            self.has_rows = true;
            let same = |known: &IperfRow| {
                (known.stream, known.role, known.end) == (row.stream, row.role, row.end)
            };
            match row.end.is_some() {
                true => self.test(at, |test| test.ends.iter().any(same)).ends.push(row),
                false => self.test(at, ended).intervals.push(row),
            }
        } else if after.contains(" sec ") && !after.contains("out-of-order") {
            let why = "a row of iperf3 with other columns than it prints";
            self.unread.push(page.unread(at..at + 1, why));
        } else {
            let signs = [" sec ", "datagrams", "statistics not available"];
            signs.iter().any(|sign| after.contains(sign)).then_some(())?;
        }
        Some(LineOutcome::Line)
    }
}

/// Reads a row after its bracket: `   0.00-1.00   sec  2.56 GBytes  22.0 Gbits/sec    1    767
/// KBytes`. With `unended`, a number at the end of the row may have been cut.
fn read_text_row(
    line: &UnnumberedLine,
    at: usize,
    name: &str,
    after: &str,
    udp: Option<bool>,
    unended: bool,
) -> Option<IperfRow> {
    let stream =
        if name == "SUM" { IperfStream::Sum } else { IperfStream::One(name.parse().ok()?) };
    let mut row = IperfRow { line: at, stream, ..IperfRow::default() };
    row.role = ROLES.into_iter().find(|role| after.starts_with(*role));
    let whole: Vec<&str> = after[row.role.map_or(0, str::len)..].split_ascii_whitespace().collect();
    // `0.00-10.00`, also with a space after the dash.
    let (from, to) = whole.first()?.split_once('-')?;
    let to = if to.is_empty() { whole.get(1)? } else { to };
    let mut words =
        whole.get(1 + usize::from(whole[0].ends_with('-'))..)?.strip_prefix(&["sec"])?;
    row.time = [Some(number_word(line, from)?), Some(number_word(line, to)?)];
    row.bytes = Some(amount(line, &mut words, bytes_of)?);
    row.rate = Some(amount(line, &mut words, rate_of)?);
    row.jitter_ms = amount(line, &mut words, |unit| (unit == "ms").then_some(1.0));
    let ends = [("sender", IperfEnd::Sender), ("receiver", IperfEnd::Receiver)];
    row.end = ends.into_iter().find(|(name, _)| words.contains(name)).map(|(_, end)| end);
    row.omitted = words.contains(&"(omitted)");
    let first = words.first().filter(|_| !(unended && words.len() == 1));
    if row.jitter_ms.is_some() {
        // `0/77 (0%)`, `Unknown/77`.
        row.datagrams = first.and_then(|word| number_word(line, word.split_once('/')?.1));
        let share = words.get(1).filter(|_| words[0].contains('/'));
        let share =
            share.and_then(|word| number_word(line, word.strip_prefix('(')?.strip_suffix("%)")?));
        row.lost_share = share.map(two_digits);
    } else if let Some(count) = first.and_then(|word| line.whole_count(word)) {
        let window = words.get(2).and_then(|unit| bytes_of(unit)).is_some();
        match udp {
            Some(true) if !window && row.end.is_none() => row.datagrams = Some(count),
            None if !window && row.end.is_none() => {}
            _ => row.retransmits = Some(count),
        }
    }
    Some(row)
}

/// Reads a word as a number; a whole number is exact.
fn number_word(line: &UnnumberedLine, word: &str) -> Option<PrintedNumber> {
    let (value, bytes, decimals) = leading(word)?;
    let whole = decimals == 0 && !word.contains('e');
    let figure = if whole { exact(line.spot(word), value) } else { line.whole_figure(word, 1.0)? };
    (bytes == word.len()).then_some(figure)
}

/// Takes a number and its unit from the front of `words`. Printed numbers are rounded, also those
/// without decimals; zero is exact.
fn amount(
    line: &UnnumberedLine,
    words: &mut &[&str],
    scale: impl Fn(&str) -> Option<f64>,
) -> Option<PrintedNumber> {
    let [number, unit, rest @ ..] = *words else { return None };
    let figure = line.whole_figure(number, scale(unit)?)?;
    *words = rest;
    Some(if figure.value > 0.0 { figure } else { exact(figure.spot, figure.value) })
}

/// Returns the factor of a unit of bytes, 1024-based.
fn bytes_of(unit: &str) -> Option<f64> {
    power(unit.strip_suffix("Bytes")?, 1024.0)
}

/// Returns the factor from a unit of rates to bits per second: bits are 1000-based, bytes
/// 1024-based.
fn rate_of(unit: &str) -> Option<f64> {
    let amount = unit.strip_suffix("/sec")?;
    let bits = amount.strip_suffix("bits").map(|prefix| power(prefix, 1000.0));
    bits.unwrap_or_else(|| bytes_of(amount).map(|bytes| bytes * 8.0))
}

fn power(prefix: &str, base: f64) -> Option<f64> {
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == prefix)?;
    Some(base.powi(power as i32))
}

/// Widens a percentage that is printed with two significant digits, without trailing zeros: `5` for
/// 4.98, `0.013`.
fn two_digits(share: PrintedNumber) -> PrintedNumber {
    if share.low != share.high || share.value <= 0.0 {
        return share;
    }
    let half = if share.value < 10.0 { 0.05 } else { 0.5 };
    PrintedNumber { low: share.value - half, high: share.value + half, ..share }
}
