//! The last line of dd, `34359738368 bytes (34 GB) copied, 36.9548 s, 930 MB/s`: GNU's of any age and language, busybox's (whose
//! MB are of 1024), BSD's. One line; those of the records before it are read where they stand there.

use super::cut::{Line, exact};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit, rounded};
use crate::page::Page;

/// One copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    pub(crate) line: usize,
    pub(crate) records: Option<[(Figure, Figure); 2]>,
    pub(crate) bytes: Figure,
    /// The same in brackets, in units of 1000 and of 1024, with the unit as printed.
    pub(crate) sizes: Vec<Size>,
    pub(crate) time: Figure,
    pub(crate) rate: Size,
}

/// A figure with a prefix that is of 1000 or of 1024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) figure: Figure,
    /// `MiB/s`.
    pub(crate) unit: &'static str,
}

pub(crate) const FORMAT: Format = Format {
    name: "dd",
    help: "the last lines of dd: GNU of any age and language, busybox, BSD",
    example: include_str!("../../fixtures/dd/gnu.txt"),
    begins: |line| {
        let line = line.trim_start();
        match line.as_bytes().first() {
            _ if line.len() > LONGEST => false,
            Some(b'<') => line.contains("+0 records in") || is_copied(line),
            Some(b'0'..=b'9') => line.contains(['/', '+']),
            // `скопійовано 34603008 байтів ...`
            Some(0xd1 | b's' | b'z') => COPIED.split(' ').any(|word| line.starts_with(word)),
            _ => false,
        }
    },
    read,
};

/// Words that are in the line in the languages that GNU's dd speaks. Some put the word before the bytes.
const COPIED: &str = "copied copiad copiés copié copiats kopiert kopieret kopierade gekopieerd skopiowano zkopírováno \
                      skopírovan kopioitu copiati copiat kopyalandı másolva скопировано скопійовано копиран 复制 複製 コピー 복사 \
                      transferred";

fn is_copied(line: &str) -> bool {
    COPIED.split(' ').any(|word| line.contains(word))
}

const LONGEST: usize = 300;

fn read(page: &Page, first: usize) -> Option<Found> {
    let line = |at: usize| Line::of(page, at).without_tags();
    let copy = match records(&line(first)) {
        Some(incoming) => {
            let outgoing = records(&line(first + 1))?;
            last_line(&line(first + 2), first + 2, Some([incoming, outgoing]))?
        }
        None => last_line(&line(first), first, None)?,
    };
    let end = copy.line + 1;
    Some(Found::whole(Said::Dd(Box::new(copy)), end))
}

/// `33+0 records in`, in any language.
fn records(line: &Line) -> Option<(Figure, Figure)> {
    let text = Some(line.text).filter(|text| text.len() <= LONGEST)?;
    let mut words = text.split_whitespace().filter(|word| word.contains('+'));
    let (whole, partial) = words.next()?.split_once('+')?;
    Some((line.count(whole)?, line.count(partial)?)).filter(|_| words.next().is_none())
}

fn last_line(line: &Line, at: usize, records: Option<[(Figure, Figure); 2]>) -> Option<Copy> {
    let text = Some(line.text).filter(|text| text.len() <= LONGEST && is_copied(text))?;
    let number = |text: &str| text.find(|letter: char| letter.is_ascii_digit());
    let from = number(text)?;
    let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let bytes = line.count(&text[from..from + digits])?;
    let rest = &text[from + digits..];
    let (sizes, rest) = match rest.find('(').filter(|at| !rest[..*at].contains(char::is_numeric)) {
        Some(open) if !rest[open..].contains("bytes/sec") => {
            let close = open + rest[open..].find(')')?;
            (in_brackets(line, &rest[open + 1..close])?, &rest[close + 1..])
        }
        _ => (Vec::new(), rest),
    };
    let (seconds, rest) = local_number(line, &rest[number(rest)?..])?;
    let rest = rest.trim_start_matches(' ');
    let units = ["seconds", "secs", "sec", "секунд", "сек", "秒", "s", "с", "c"];
    let rest = units.iter().find_map(|unit| rest.strip_prefix(unit))?;
    let start = number(rest)?;
    let between = rest[..start].chars().all(|letter| ",，、 (;".contains(letter));
    let (rate, rest) = sized(line, &rest[start..], true).filter(|_| between)?;
    let ends = rest.trim_matches([' ', ')']).is_empty();
    ends.then_some(Copy { line: at, records, bytes, sizes, time: seconds.scaled(1e9), rate })
}

/// `34 GB, 32 GiB` of the brackets.
fn in_brackets<'a>(line: &Line<'a>, text: &'a str) -> Option<Vec<Size>> {
    let mut sizes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (size, behind) = sized(line, rest, false)?;
        sizes.push(size);
        rest = behind.trim_start_matches([',', ' ', '，']);
    }
    (sizes.len() <= 2).then_some(sizes)
}

/// A number with a point, or with a decimal comma as most of Europe has it.
fn local_number<'a>(line: &Line<'a>, text: &'a str) -> Option<(Figure, &'a str)> {
    let run = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = run(text);
    let fraction = text.get(whole..)?.strip_prefix(',').map_or(0, run);
    if fraction == 0 {
        return line.number(text, 1.0);
    }
    let end = whole + 1 + fraction;
    let power = text[end..].strip_prefix("e-").and_then(|tail| {
        let power = tail.get(..run(tail))?.parse::<i32>().ok().filter(|power| *power < 30)?;
        Some((10f64.powi(-power), end + 2 + run(tail)))
    });
    let value: f64 = text[..end].replace(',', ".").parse().ok()?;
    let (scale, end) = power.unwrap_or((1.0, end));
    Some((rounded(line.spot(&text[..end]), value, fraction, scale), &text[end..]))
}

/// Units of 1000, of 1024, and those of 1024 that busybox prints with the letters of 1000.
const UNITS: [[&str; 6]; 3] = [
    ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"],
    ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"],
    ["B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s"],
];

/// `930 MB/s`, `33 MiB`, `12.2GB/s` (no space: busybox's, of 1024).
fn sized<'a>(line: &Line<'a>, text: &'a str, rate: bool) -> Option<(Size, &'a str)> {
    let (figure, rest) = local_number(line, text)?;
    let unit = rest.trim_start_matches([' ', '\u{a0}']);
    let touching = unit.len() == rest.len();
    let first = unit.chars().next()?;
    let power = ["kKк", "MМ", "GГ", "TТ", "P"].iter().position(|letters| letters.contains(first));
    let power = power.map_or(0, |at| at + 1);
    let unit = if power > 0 { &unit[first.len_utf8()..] } else { unit };
    let marked = unit.strip_prefix(['i', 'и']).filter(|_| power > 0);
    let unit = marked.unwrap_or(unit);
    let unit = ["bytes", "Bytes", "B", "Б", "байт", "o"].iter().find_map(|name| unit.strip_prefix(name))?;
    let ends: &[&str] = if rate { &["/sec", "/s", "/с", "/c", "/秒"] } else { &[""] };
    let rest = ends.iter().find_map(|end| unit.strip_prefix(end))?;
    let name = UNITS[if touching { 2 } else { usize::from(marked.is_some()) }][power];
    let name = if rate { name } else { name.trim_end_matches("/s") };
    let base: f64 = if marked.is_some() || touching { 1024.0 } else { 1000.0 };
    Some((Size { figure: figure.scaled(base.powi(power as i32)), unit: name }, rest))
}

impl Copy {
    pub(crate) fn figures(&self, tell: &mut dyn FnMut(Told)) {
        let records = self.records.iter().flatten().flat_map(|(whole, partial)| [*whole, *partial]);
        records.for_each(|count| tell((Metric::Issued, Unit::Things, count)));
        let sizes = self.sizes.iter().map(|size| size.figure);
        [self.bytes].into_iter().chain(sizes).for_each(|bytes| tell((Metric::Total, Unit::Bytes, bytes)));
        tell((Metric::Runtime, Unit::Nanoseconds, self.time));
        tell((Metric::Bandwidth, Unit::BytesPerSecond, self.rate.figure));
    }

    /// Its result in the form that all tools share: what was read was written.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        let out = self.records.map(|records| records[1]);
        let bs = out.filter(|(whole, partial)| partial.value == 0.0 && whole.value > 0.0);
        let workload = Workload {
            bs: bs.map(|(whole, _)| (self.bytes.value / whole.value) as u64),
            iodepth: Some(1),
            numjobs: Some(1),
            runtime_s: Some(self.time.value / 1e9),
            name: Some("dd".to_owned()),
            ..Workload::default()
        };
        vec![Reading {
            bytes_per_second: Some(self.rate.figure),
            bytes: Some(self.bytes),
            ios: out.map(|(whole, partial)| exact(whole.spot, whole.value + partial.value)),
            ..Reading::new(self.line, workload, Way::Both)
        }]
    }
}
