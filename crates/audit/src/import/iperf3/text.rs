//! iperf3's normal text, 3.0 to 3.17, of client and server: whole or only its rows, of one process or of several whose lines
//! begin with who printed them.

use super::{End, Iperf3, Role, Row, Stream, Test};
use crate::import::cut::{Line, exact};
use crate::import::{Format, Found, Said};
use crate::number::{Figure, leading};
use crate::page::{Page, Unread};

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "iperf3 text",
    help: "iperf3's normal output: TCP, UDP, several streams, both ways, also rows alone and several processes",
    example: include_str!("../../../fixtures/iperf3/tcp.txt"),
    begins,
    read,
};

fn begins(line: &str) -> bool {
    match line.as_bytes().first() {
        Some(b'[') => bracket(line).is_some(),
        Some(b'C' | b'A' | b'S' | b'i') => STARTS.iter().any(|start| line.starts_with(start)),
        _ => false,
    }
}

const STARTS: [&str; 5] =
    ["Connecting to host ", "Accepted connection from ", "Server listening on ", "iperf 3.", "iperf3: "];

/// What stands between the brackets that a row, a head or a connection begins with, and what stands behind them.
fn bracket(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('[')?;
    let end = inner.as_bytes().iter().take(6).position(|byte| *byte == b']')?;
    let name = inner[..end].trim();
    let known =
        name == "SUM" || name == "ID" || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    known.then_some((name, &inner[end + 1..]))
}

/// What a line says.
enum Kind<'p> {
    Row(Box<Row>),
    Head(&'p str),
    Opens,
    Connected,
    Version(&'p str),
    Done,
    Blank,
    /// A line of the tool that tells nothing.
    Known,
    /// It begins as a row and goes on as none.
    Strange,
}

/// Lines in which the first row must come.
const SOON: usize = 64;

/// Blank lines that an output may have between its lines.
const BLANKS: usize = 2;

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut reader = Reader { page, tests: Vec::new(), unread: Vec::new(), told: false };
    let (mut at, mut end, mut blanks) = (line, line, 0);
    while at < page.len() && blanks <= BLANKS && (reader.told || at - line < SOON) {
        let Some(said) = classify(page, at, &reader) else { break };
        let (opens, done, blank) =
            (matches!(said, Kind::Opens), matches!(said, Kind::Done), matches!(said, Kind::Blank));
        if opens && at > line && speaker(page, at).is_none() && reader.told {
            break;
        }
        blanks = if blank { blanks + 1 } else { 0 };
        // A server that listens again is of the next test.
        let listens = opens && page.bare(at).0.starts_with("Server");
        reader.take(at, said);
        at += 1;
        end = if blank || listens { end } else { at };
        if done && reader.tests.iter().all(|test| test.speaker.is_none()) {
            break;
        }
    }
    reader.tests.retain(|test| !test.intervals.is_empty() || !test.ends.is_empty());
    let said = Said::Iperf3(Box::new(Iperf3 { tests: reader.tests }));
    reader.told.then_some(Found { said, end: end.max(line + 1), unread: reader.unread })
}

/// Who printed a line, where several did.
fn speaker(page: &Page, line: usize) -> Option<&str> {
    let prefix = page.bare(line).1;
    let name = page.line(line)[..prefix].trim().trim_end_matches(':');
    name.starts_with('s').then_some(name)
}

/// Lines of the tool that tell nothing.
const KNOWN: [&str; 14] = [
    "- - - -",
    "-----",
    "Test Complete",
    "snd_tcp_congestion",
    "rcv_tcp_congestion",
    "Cookie: ",
    "TCP MSS: ",
    "Control connection",
    "Finished omit",
    "Reverse mode, ",
    "Starting Test: ",
    "CPU Utilization: ",
    "Time: ",
    "iperf3: error - ",
];

fn classify<'p>(page: &'p Page, at: usize, reader: &Reader) -> Option<Kind<'p>> {
    let bare = page.bare(at).0;
    let text = bare.trim();
    if let Some((name, behind)) = bracket(bare) {
        if name == "ID" {
            return behind.contains("Interval").then_some(Kind::Head(text));
        }
        if behind.trim_start().starts_with("local ") {
            return Some(Kind::Connected);
        }
        let udp = reader.of(speaker(page, at)).and_then(|test| test.udp);
        let unended = at + 1 == page.len() && !page.text().ends_with([' ', '\n']);
        let signs = [" sec ", "datagrams", "statistics not available"];
        return match row(&Line::of(page, at), at, name, behind, udp, unended) {
            Some(row) => Some(Kind::Row(Box::new(row))),
            None if !signs.iter().any(|sign| behind.contains(sign)) => None,
            None if behind.contains(" sec ") && !behind.contains("out-of-order") => Some(Kind::Strange),
            None => Some(Kind::Known),
        };
    }
    if let Some(version) = text.strip_prefix("iperf ").filter(|version| version.starts_with("3.")) {
        return Some(Kind::Version(version));
    }
    // Behind its version it names the machine.
    let named = || {
        let last = reader.tests.last();
        text.starts_with("Linux ")
            && last.is_some_and(|test| test.version.is_some() && test.intervals.is_empty())
    };
    match text {
        "" => Some(Kind::Blank),
        "iperf Done." => Some(Kind::Done),
        _ if STARTS[..3].iter().any(|start| text.starts_with(start)) => Some(Kind::Opens),
        _ if KNOWN.iter().any(|start| text.starts_with(start)) || named() => Some(Kind::Known),
        _ => None,
    }
}

struct Reader<'p> {
    page: &'p Page,
    tests: Vec<Test>,
    unread: Vec<Unread>,
    /// Whether any test has a row.
    told: bool,
}

impl Reader<'_> {
    fn of(&self, speaker: Option<&str>) -> Option<&Test> {
        self.tests.iter().rev().find(|test| test.speaker.as_deref() == speaker)
    }

    /// The test that a line is of; a new one where the last of its speaker is `over`.
    fn test(&mut self, at: usize, over: impl Fn(&Test) -> bool) -> &mut Test {
        let speaker = speaker(self.page, at);
        let known = self.tests.iter().rposition(|test| test.speaker.as_deref() == speaker);
        let known = known.filter(|known| !over(&self.tests[*known])).unwrap_or_else(|| {
            let speaker = speaker.map(str::to_owned);
            self.tests.push(Test { line: at, speaker, ..Test::default() });
            self.tests.len() - 1
        });
        &mut self.tests[known]
    }

    /// Takes a line in.
    fn take(&mut self, at: usize, said: Kind) {
        let ended = |test: &Test| !test.ends.is_empty();
        let begun = |test: &Test| !test.ends.is_empty() || !test.intervals.is_empty();
        self.told |= matches!(said, Kind::Row(_));
        match said {
            Kind::Row(row) if row.end.is_some() => {
                let same =
                    |known: &Row| (known.stream, known.role, known.end) == (row.stream, row.role, row.end);
                self.test(at, |test| test.ends.iter().any(same)).ends.push(*row);
            }
            Kind::Row(row) => self.test(at, ended).intervals.push(*row),
            Kind::Head(text) => {
                let test = self.test(at, ended);
                test.bidirectional |= text.contains("[Role]");
                if text.contains("Datagrams") || text.contains("Retr") {
                    test.udp = Some(text.contains("Datagrams"));
                }
            }
            Kind::Opens => {
                self.test(at, begun);
            }
            Kind::Version(version) => {
                let version = version.split_whitespace().next().map(str::to_owned);
                self.test(at, begun).version = version;
            }
            Kind::Connected => {
                let test = self.test(at, ended);
                test.streams = Some(test.streams.unwrap_or(0) + 1);
            }
            Kind::Strange => {
                let why = "a row of iperf3 with other columns than it prints";
                self.unread.push(self.page.unread(at..at + 1, why));
            }
            Kind::Done => {
                // Both ways there are two connections a stream.
                let test = self.test(at, |_| false);
                let both = if test.bidirectional { 2 } else { 1 };
                test.streams = test.streams.map(|streams| streams / both);
            }
            Kind::Known | Kind::Blank => {}
        }
    }
}

/// Reads a row behind its bracket, where `unended` a number at its end may be the head of a longer one: `   0.00-1.00   sec  2.56 GBytes  22.0 Gbits/sec    1    767 KBytes`.
fn row(line: &Line, at: usize, name: &str, behind: &str, udp: Option<bool>, unended: bool) -> Option<Row> {
    let stream = if name == "SUM" { Stream::Sum } else { Stream::One(name.parse().ok()?) };
    let mut row = Row { line: at, stream, ..Row::default() };
    let roles = [("[TX-C]", Role::TxC), ("[RX-C]", Role::RxC), ("[TX-S]", Role::TxS), ("[RX-S]", Role::RxS)];
    let role = roles.into_iter().find_map(|(sign, role)| Some((role, behind.strip_prefix(sign)?)));
    row.role = role.map(|(role, _)| role);
    let rest = role.map_or(behind, |(_, rest)| rest);
    let whole: Vec<&str> = rest.split_ascii_whitespace().collect();
    let mut words = whole.as_slice();
    // `0.00-10.00`, also with a space behind the dash.
    let (from, to) = words.first()?.split_once('-')?;
    let to = if to.is_empty() { words.get(1)? } else { to };
    words = words.split_at_checked(1 + usize::from(words[0].ends_with('-')))?.1.strip_prefix(&["sec"])?;
    row.time = [Some(number(line, from)?), Some(number(line, to)?)];
    row.bytes = Some(amount(line, &mut words, bytes_of)?);
    row.rate = Some(amount(line, &mut words, rate_of)?);
    row.jitter_ms = amount(line, &mut words, |unit| (unit == "ms").then_some(1.0));
    row.end = words.iter().find_map(|word| match *word {
        "sender" => Some(End::Sender),
        "receiver" => Some(End::Receiver),
        _ => None,
    });
    row.omitted = words.contains(&"(omitted)");
    let is_cut = |words: &[&str]| unended && words.len() == 1;
    if row.jitter_ms.is_some() {
        // `0/77 (0%)`, `Unknown/77`.
        if let Some((_, total)) = words.first().and_then(|word| word.split_once('/')) {
            row.datagrams = number(line, total).filter(|_| !is_cut(words));
            let share = words.get(1).and_then(|word| word.strip_prefix('(')?.strip_suffix("%)"));
            row.lost_share = share.and_then(|share| number(line, share)).map(two_digits);
        }
    } else if let Some(count) = words.first().filter(|_| !is_cut(words)).and_then(|word| line.count(word)) {
        let window = words.get(2).and_then(|unit| bytes_of(unit)).is_some();
        match udp {
            _ if window || row.end.is_some() => row.retransmits = Some(count),
            Some(false) => row.retransmits = Some(count),
            Some(true) => row.datagrams = Some(count),
            None => {}
        }
    }
    Some(row)
}

/// A word that is a number; a whole one is what it is.
fn number(line: &Line, word: &str) -> Option<Figure> {
    let (value, bytes, decimals) = leading(word)?;
    let spot = line.spot(word);
    let plain =
        if decimals == 0 && !word.contains('e') { exact(spot, value) } else { line.figure(word, 1.0)? };
    (bytes == word.len()).then_some(plain)
}

/// A number with its unit. Printed numbers are rounded, those without decimals, too.
fn amount(line: &Line, words: &mut &[&str], scale: impl Fn(&str) -> Option<f64>) -> Option<Figure> {
    let [number, unit, rest @ ..] = *words else { return None };
    let figure = line.figure(number, scale(unit)?)?;
    *words = rest;
    Some(if figure.value > 0.0 { figure } else { exact(figure.spot, figure.value) })
}

/// Bytes are counted by 1024.
fn bytes_of(unit: &str) -> Option<f64> {
    power(unit.strip_suffix("Bytes")?).map(|power| 1024f64.powi(power))
}

/// Bits a second: of 1000; bytes a second of 1024.
fn rate_of(unit: &str) -> Option<f64> {
    let amount = unit.strip_suffix("/sec")?;
    match amount.strip_suffix("bits") {
        Some(prefix) => power(prefix).map(|power| 1000f64.powi(power)),
        None => bytes_of(amount).map(|bytes| bytes * 8.0),
    }
}

fn power(prefix: &str) -> Option<i32> {
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == prefix)?;
    i32::try_from(power).ok()
}

/// Shares are printed with two digits that count, without zeros behind them: `5` of 4.98, `0.013`.
fn two_digits(share: Figure) -> Figure {
    if share.low != share.high || share.value <= 0.0 {
        return share;
    }
    let half = if share.value < 10.0 { 0.05 } else { 0.5 };
    Figure { low: share.value - half, high: share.value + half, ..share }
}

#[cfg(test)]
mod tests;
