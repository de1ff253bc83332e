//! iperf3's normal text, 3.0 to 3.17, of client and server: whole or only its rows, of one process or of several whose lines
//! begin with who printed them.

use super::{End, Form, Iperf3, Protocol, Role, Row, Stream, Test};
use crate::import::printed::{self, Whole};
use crate::import::{Format, Found, Said};
use crate::number::Figure;
use crate::page::{Page, Unread};

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "iperf3 text",
    help: "iperf3's normal output: TCP, UDP, several streams, both ways, also rows alone and several processes",
    example: "Connecting to host 127.0.0.1, port 5321\n\
              [  5] local 127.0.0.1 port 55438 connected to 127.0.0.1 port 5321\n\
              [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
              [  5]   0.00-1.00   sec  2.56 GBytes  22.0 Gbits/sec    1    767 KBytes       \n\
              [  5]   1.00-2.00   sec  3.02 GBytes  26.0 Gbits/sec    0   2.25 MBytes       \n\
              - - - - - - - - - - - - - - - - - - - - - - - - -\n\
              [ ID] Interval           Transfer     Bitrate         Retr\n\
              [  5]   0.00-2.00   sec  5.59 GBytes  24.0 Gbits/sec    1             sender\n\
              [  5]   0.00-2.00   sec  5.59 GBytes  23.9 Gbits/sec                  receiver\n\
              \n\
              iperf Done.\n",
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
enum Line<'p> {
    Row(Box<Row>),
    Head(&'p str),
    Opens,
    Listens,
    Connected,
    Reverse,
    Setting(&'p str),
    Error(&'p str),
    Cpu,
    Version(&'p str),
    Done,
    Between,
    Blank,
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
        let done = matches!(said, Line::Done);
        blanks = if matches!(said, Line::Blank) { blanks + 1 } else { 0 };
        if matches!(said, Line::Opens | Line::Listens)
            && at > line
            && speaker(page, at).is_none()
            && reader.told
        {
            break;
        }
        let ends = reader.take(at, said);
        at += 1;
        if ends {
            end = at;
        }
        if done && reader.tests.iter().all(|test| test.speaker.is_none()) {
            break;
        }
    }
    reader.tests.retain(|test| !test.intervals.is_empty() || !test.ends.is_empty() || test.error.is_some());
    let found = !reader.tests.is_empty();
    let said = Said::Iperf3(Box::new(Iperf3 { form: Form::Text, tests: reader.tests }));
    found.then_some(Found { said, end: end.max(line + 1), unread: reader.unread })
}

/// Who printed a line, where several did.
fn speaker(page: &Page, line: usize) -> Option<&str> {
    let prefix = page.bare(line).1;
    let name = page.line(line)[..prefix].trim().trim_end_matches(':');
    name.starts_with('s').then_some(name)
}

fn classify<'p>(page: &'p Page, at: usize, reader: &Reader) -> Option<Line<'p>> {
    let (bare, prefix) = page.bare(at);
    let text = bare.trim();
    if let Some((name, behind)) = bracket(bare) {
        if name == "ID" {
            return behind.contains("Interval").then_some(Line::Head(text));
        }
        if behind.trim_start().starts_with("local ") {
            return Some(Line::Connected);
        }
        let columns = reader.columns(speaker(page, at));
        let unended = at + 1 == page.len() && !page.text().ends_with([' ', '\n']);
        return match row(at, prefix + (bare.len() - behind.len()), name, behind, columns, unended) {
            Some(row) => Some(Line::Row(Box::new(row))),
            None if [" sec ", "datagrams", "statistics not available"]
                .iter()
                .all(|sign| !behind.contains(sign)) =>
            {
                None
            }
            None if behind.contains(" sec ") && !behind.contains("out-of-order") => Some(Line::Strange),
            None => Some(Line::Between),
        };
    }
    const BETWEEN: [&str; 9] = [
        "- - - -",
        "-----",
        "Test Complete",
        "snd_tcp_congestion",
        "rcv_tcp_congestion",
        "Cookie: ",
        "TCP MSS: ",
        "Control connection",
        "Finished omit",
    ];
    if text.is_empty() {
        return Some(Line::Blank);
    }
    if BETWEEN.iter().any(|start| text.starts_with(start)) {
        return Some(Line::Between);
    }
    let behind = |start: &str| text.strip_prefix(start);
    if let Some(version) = behind("iperf ").filter(|version| version.starts_with("3.")) {
        return Some(Line::Version(version));
    }
    match text {
        "iperf Done." => Some(Line::Done),
        _ if behind("Connecting to host ").is_some() || behind("Accepted connection from ").is_some() => {
            Some(Line::Opens)
        }
        _ if behind("Server listening on ").is_some() => Some(Line::Listens),
        _ if behind("Reverse mode, ").is_some() => Some(Line::Reverse),
        _ if behind("Starting Test: ").is_some() => Some(Line::Setting(text)),
        _ if behind("CPU Utilization: ").is_some() => Some(Line::Cpu),
        _ if behind("iperf3: ").is_some() => behind("iperf3: error - ").map(Line::Error),
        // Behind its version it names the machine and the time.
        _ if reader.tests.last().is_some_and(|test| test.version.is_some() && test.intervals.is_empty()) => {
            (behind("Time: ").is_some() || text.starts_with("Linux ")).then_some(Line::Between)
        }
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
    /// The protocol that the last head of a speaker tells.
    fn columns(&self, speaker: Option<&str>) -> Option<Protocol> {
        self.of(speaker).and_then(|test| test.protocol)
    }

    fn of(&self, speaker: Option<&str>) -> Option<&Test> {
        self.tests.iter().rev().find(|test| test.speaker.as_deref() == speaker)
    }

    fn new_test(&mut self, at: usize) -> &mut Test {
        let speaker = speaker(self.page, at).map(str::to_owned);
        self.tests.push(Test { line: at, speaker, ..Test::default() });
        let last = self.tests.len() - 1;
        &mut self.tests[last]
    }

    /// The test that a line is of; a new one where the last of its speaker is `over`.
    fn test(&mut self, at: usize, over: impl Fn(&Test) -> bool) -> &mut Test {
        let speaker = speaker(self.page, at);
        let known = self.tests.iter().rposition(|test| test.speaker.as_deref() == speaker);
        match known.filter(|known| !over(&self.tests[*known])) {
            Some(known) => &mut self.tests[known],
            None => self.new_test(at),
        }
    }

    /// Takes a line in; whether the output goes at least as far.
    fn take(&mut self, at: usize, said: Line) -> bool {
        let ended = |test: &Test| !test.ends.is_empty();
        self.told |= matches!(said, Line::Row(_));
        match said {
            Line::Row(row) if row.end.is_some() => {
                let same =
                    |known: &Row| (known.stream, known.role, known.end) == (row.stream, row.role, row.end);
                self.test(at, |test| test.ends.iter().any(same)).ends.push(*row);
            }
            Line::Row(row) => self.test(at, ended).intervals.push(*row),
            Line::Head(text) => {
                let told = protocol_of(text);
                let test = self.test(at, ended);
                test.protocol = told.or(test.protocol);
                if text.contains("[Role]") {
                    test.bidirectional = Some(true);
                }
            }
            Line::Opens => {
                self.test(at, |test| ended(test) || !test.intervals.is_empty());
            }
            Line::Version(version) => {
                let version = version.split_whitespace().next().unwrap_or(version).to_owned();
                self.test(at, |test| ended(test) || !test.intervals.is_empty()).version = Some(version);
            }
            Line::Connected => {
                let test = self.test(at, ended);
                test.streams = Some(test.streams.unwrap_or(0) + 1);
            }
            Line::Reverse => self.test(at, ended).reverse = Some(true),
            Line::Setting(text) => {
                let protocol = ["TCP", "UDP", "SCTP"]
                    .iter()
                    .position(|name| text.contains(&format!("protocol: {name},")));
                let known = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
                self.test(at, ended).protocol = protocol.map(|at| known[at]);
            }
            Line::Error(text) => self.test(at, |test| test.error.is_some()).error = Some(text.to_owned()),
            Line::Cpu => {
                let cpu = shares(self.page, at);
                self.test(at, |_| false).cpu = cpu;
            }
            Line::Strange => {
                self.unread
                    .push(self.page.unread(at..at + 1, "a row of iperf3 with other columns than it prints"));
            }
            Line::Done => self.halve_streams(at),
            Line::Between => {}
            Line::Listens | Line::Blank => return false,
        }
        true
    }

    /// Both ways there are two connections a stream.
    fn halve_streams(&mut self, at: usize) {
        let test = self.test(at, |_| false);
        if test.bidirectional == Some(true) {
            test.streams = test.streams.map(|streams| streams / 2);
        }
    }
}

fn protocol_of(head: &str) -> Option<Protocol> {
    match head {
        udp if udp.contains("Datagrams") => Some(Protocol::Udp),
        tcp if tcp.contains("Retr") => Some(Protocol::Tcp),
        _ => None,
    }
}

/// The two totals of `CPU Utilization: local/sender 39.9% (0.2%u/39.8%s), remote/receiver 46.3% (...)`.
fn shares(page: &Page, at: usize) -> [Option<Figure>; 2] {
    let (bare, prefix) = page.bare(at);
    let mut words = words(bare).filter(|(_, word)| word.ends_with('%'));
    let mut next = || {
        let (start, word) = words.next()?;
        let (figure, bytes) = printed::figure(at, prefix + start, word, 1.0, Whole::Exact)?;
        (bytes + 1 == word.len()).then_some(figure)
    };
    [next(), next()]
}

/// Words and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_ascii_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Reads a row behind its bracket, where `unended` a number at its end may be the head of a longer one: `   0.00-1.00   sec  2.56 GBytes  22.0 Gbits/sec    1    767 KBytes`.
fn row(
    line: usize,
    start: usize,
    name: &str,
    behind: &str,
    protocol: Option<Protocol>,
    unended: bool,
) -> Option<Row> {
    let stream = if name == "SUM" { Stream::Sum } else { Stream::One(name.parse().ok()?) };
    let mut row = Row::new(line, stream);
    let (role, rest) = role(behind);
    row.role = role;
    let start = start + (behind.len() - rest.len());
    let mut words = Words { line, start, all: words(rest).collect(), at: 0, unended };
    row.time = words.times()?;
    words.literal("sec")?;
    row.bytes = Some(words.amount(bytes_of)?);
    row.rate = Some(words.amount(rate_of)?);
    row.jitter_ms = words.amount(|unit| (unit == "ms").then_some(1.0));
    let end = |word: &str| match word {
        "sender" => Some(End::Sender),
        "receiver" => Some(End::Receiver),
        _ => None,
    };
    row.end = words.all[words.at..].iter().find_map(|(_, word)| end(word));
    row.omitted = words.all[words.at..].iter().any(|(_, word)| *word == "(omitted)");
    if row.jitter_ms.is_some() {
        words.losses(&mut row);
    } else if let Some(count) = words.count() {
        row.window = words.amount(bytes_of);
        match protocol {
            _ if row.window.is_some() || row.end.is_some() => row.retransmits = Some(count),
            Some(Protocol::Tcp) => row.retransmits = Some(count),
            Some(Protocol::Udp) => row.datagrams = Some(count),
            _ => {}
        }
    }
    Some(row)
}

fn role(behind: &str) -> (Option<Role>, &str) {
    let roles = [("[TX-C]", Role::TxC), ("[RX-C]", Role::RxC), ("[TX-S]", Role::TxS), ("[RX-S]", Role::RxS)];
    let known = roles.into_iter().find_map(|(sign, role)| Some((Some(role), behind.strip_prefix(sign)?)));
    known.unwrap_or((None, behind))
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
    ["", "K", "M", "G", "T"]
        .iter()
        .position(|known| *known == prefix)
        .and_then(|power| i32::try_from(power).ok())
}

struct Words<'p> {
    line: usize,
    start: usize,
    all: Vec<(usize, &'p str)>,
    at: usize,
    unended: bool,
}

impl<'p> Words<'p> {
    fn peek(&self, ahead: usize) -> Option<(usize, &'p str)> {
        self.all.get(self.at + ahead).copied()
    }

    /// Whether the next word may have lost its end.
    fn cut(&self) -> bool {
        self.unended && self.at + 1 == self.all.len()
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        let known = self.peek(0)?.1 == text;
        self.at += usize::from(known);
        known.then_some(())
    }

    fn figure(&self, (start, word): (usize, &str), scale: f64) -> Option<(Figure, usize)> {
        printed::figure(self.line, self.start + start, word, scale, Whole::Exact)
    }

    /// A word that is a number, as a whole.
    fn number(&self, word: (usize, &str), scale: f64) -> Option<Figure> {
        let (figure, bytes) = self.figure(word, scale)?;
        (bytes == word.1.len()).then_some(figure)
    }

    /// `0.00-10.00`, also with a space behind the dash.
    fn times(&mut self) -> Option<[Option<Figure>; 2]> {
        let (start, word) = self.peek(0)?;
        let (from, bytes) = self.figure((start, word), 1.0)?;
        let behind = word[bytes..].strip_prefix('-')?;
        self.at += 1;
        let second = if behind.is_empty() {
            self.at += 1;
            self.peek(0).and(self.all.get(self.at - 1).copied())?
        } else {
            (start + bytes + 1, behind)
        };
        Some([Some(from), Some(self.number(second, 1.0)?)])
    }

    /// A number with its unit. Printed numbers are rounded, those without decimals, too.
    fn amount(&mut self, scale: impl Fn(&str) -> Option<f64>) -> Option<Figure> {
        let (number, (_, unit)) = (self.peek(0)?, self.peek(1)?);
        let scale = scale(unit)?;
        let mut figure = self.number(number, scale)?;
        if figure.low == figure.high && figure.value > 0.0 {
            (figure.low, figure.high) = (figure.value - 0.5 * scale, figure.value + 0.5 * scale);
        }
        self.at += 2;
        Some(figure)
    }

    fn count(&mut self) -> Option<Figure> {
        let (start, word) = self.peek(0)?;
        let whole = word.bytes().all(|byte| byte.is_ascii_digit()) && !self.cut();
        let figure = whole.then(|| self.number((start, word), 1.0))??;
        self.at += 1;
        Some(figure)
    }

    /// `0/77 (0%)`, `Unknown/77`.
    fn losses(&mut self, row: &mut Row) {
        let Some((start, word)) = self.peek(0) else { return };
        let Some((lost, total)) = word.split_once('/') else { return };
        row.lost = self.number((start, lost), 1.0);
        row.datagrams = self.number((start + lost.len() + 1, total), 1.0).filter(|_| !self.cut());
        self.at += 1;
        let share =
            self.peek(0).and_then(|(at, word)| Some((at + 1, word.strip_prefix('(')?.strip_suffix("%)")?)));
        row.lost_share = share.and_then(|share| self.number(share, 1.0)).map(two_digits);
    }
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
