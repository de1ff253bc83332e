//! The last line of dd, `34359738368 bytes (34 GB) copied, 36.9548 s, 930 MB/s`: GNU's of any age and language, busybox's (whose
//! MB are of 1024), BSD's. One line; those of the records before it are read where they stand there.

use super::cut::{Line, exact};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::Page;

/// One copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// Index of the line with the rate.
    pub line: usize,
    /// Whole and partial records, in and out.
    pub records: Option<[(Figure, Figure); 2]>,
    /// Bytes.
    pub bytes: Figure,
    /// The same in brackets, in units of 1000 and of 1024, with the unit as printed.
    pub sizes: Vec<Size>,
    /// Seconds.
    pub seconds: Figure,
    /// Bytes a second.
    pub rate: Size,
}

/// A figure with a prefix that is of 1000 or of 1024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// In bytes, or bytes a second.
    pub figure: Figure,
    /// `MiB/s`.
    pub unit: &'static str,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "dd",
    help: "the last lines of dd: GNU of any age and language, busybox, BSD",
    example: include_str!("../../fixtures/dd/gnu.txt"),
    begins,
    read,
};

/// Words that are in the line in the languages that GNU's dd speaks. Some put the word before the bytes.
const COPIED: &[&str] = &[
    "copied",
    "copiad",
    "copiés",
    "copié",
    "copiats",
    "kopiert",
    "kopieret",
    "kopierade",
    "kopiert",
    "gekopieerd",
    "skopiowano",
    "zkopírováno",
    "skopírovan",
    "kopioitu",
    "copiati",
    "copiat",
    "kopyalandı",
    "másolva",
    "скопировано",
    "скопійовано",
    "копиран",
    "已复制",
    "已複製",
    "复制",
    "複製",
    "コピー",
    "복사",
    "transferred",
];

fn begins(line: &str) -> bool {
    let line = line.trim_start();
    match line.as_bytes().first() {
        Some(b'<') => {
            line.len() < LONGEST
                && (line.contains("+0 records in") || COPIED.iter().any(|word| line.contains(word)))
        }
        Some(b'0'..=b'9') => line.len() < LONGEST && (line.contains('/') || line.contains('+')),
        // `скопійовано 34603008 байтів ...`
        Some(0xd1 | b's' | b'z') => COPIED.iter().any(|word| line.starts_with(word)),
        _ => false,
    }
}

/// No line of dd is longer.
const LONGEST: usize = 300;

fn read(page: &Page, line: usize) -> Option<Found> {
    let plain = |at: usize| Line::of(page, at).without_tags();
    let copy = copy(&plain, line)?;
    // Numbers of a listing that stand against digits: `3134217728 bytes (134 MB)` is line 3 of one.
    let copy = match copy.agrees() {
        true => copy,
        false => (1..=MOST_DIGITS).find_map(|digits| listed(&plain, line, copy.line, digits)).unwrap_or(copy),
    };
    let end = copy.line + 1;
    Some(Found { said: Said::Dd(Box::new(copy)), end, unread: Vec::new() })
}

/// Digits of the number of a line in a listing.
const MOST_DIGITS: usize = 3;

/// The copy whose first line is `first`.
fn copy<'a>(lines: &dyn Fn(usize) -> Line<'a>, first: usize) -> Option<Copy> {
    let incoming = records(&lines(first));
    let outgoing = incoming.and_then(|_| records(&lines(first + 1)));
    match (incoming, outgoing) {
        (Some(incoming), Some(outgoing)) => {
            last_line(&lines(first + 2), first + 2, Some([incoming, outgoing]))
        }
        (None, _) => last_line(&lines(first), first, None),
        _ => None,
    }
}

/// The same where a listing's numbers stand against its lines, that of the last with so many digits: they count on, and without
/// them the bytes are those in the brackets.
fn listed<'a>(lines: &dyn Fn(usize) -> Line<'a>, first: usize, last: usize, digits: usize) -> Option<Copy> {
    let number: usize = lines(last).text.get(..digits)?.parse().ok()?;
    let counted = |at: usize| {
        let number = number.checked_sub(last.checked_sub(at)?)?.to_string();
        Some(lines(at)).filter(|line| line.text.starts_with(&number)).map(|line| line.without(number.len()))
    };
    (first..=last).all(|at| counted(at).is_some()).then_some(())?;
    copy(&|at| counted(at).unwrap_or(lines(at)), first).filter(Copy::agrees)
}

/// `33+0 records in`, in any language.
fn records(line: &Line) -> Option<(Figure, Figure)> {
    if line.text.len() > LONGEST {
        return None;
    }
    let mut words = line.text.split_whitespace().filter(|word| word.contains('+'));
    let (whole, partial) = words.next()?.split_once('+')?;
    Some((line.count(whole)?, line.count(partial)?)).filter(|_| words.next().is_none())
}

fn last_line(line: &Line, at: usize, records: Option<[(Figure, Figure); 2]>) -> Option<Copy> {
    if line.text.len() > LONGEST || !COPIED.iter().any(|word| line.text.contains(word)) {
        return None;
    }
    let from = line.text.find(|letter: char| letter.is_ascii_digit())?;
    let digits = line.text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let bytes = line.count(&line.text[from..from + digits])?;
    let rest = &line.text[from + digits..];
    let (sizes, rest) = match rest.find('(').filter(|at| !rest[..*at].contains(char::is_numeric)) {
        Some(open) if !rest[open..].contains("bytes/sec") => {
            let close = open + rest[open..].find(')')?;
            (in_brackets(line, &rest[open + 1..close])?, &rest[close + 1..])
        }
        _ => (Vec::new(), rest),
    };
    let start = rest.find(|letter: char| letter.is_ascii_digit())?;
    let (seconds, rest) = local_number(line, &rest[start..])?;
    let rest = rest.trim_start_matches(' ');
    let unit = ["seconds", "secs", "sec", "секунд", "сек", "秒", "s", "с", "c"]
        .into_iter()
        .find(|unit| rest.starts_with(unit))?;
    let rest = &rest[unit.len()..];
    let start = rest.find(|letter: char| letter.is_ascii_digit())?;
    if !rest[..start].chars().all(|letter| matches!(letter, ',' | '，' | '、' | ' ' | '(' | ';')) {
        return None;
    }
    let (rate, rest) = sized(line, &rest[start..], true)?;
    rest.trim_matches([' ', ')']).is_empty().then_some(Copy {
        line: at,
        records,
        bytes,
        sizes,
        seconds,
        rate,
    })
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
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let tail = text.get(whole..)?;
    let fraction =
        tail.strip_prefix(',').map_or(0, |tail| tail.bytes().take_while(u8::is_ascii_digit).count());
    if fraction == 0 {
        return line.number(text, 1.0);
    }
    let end = whole + 1 + fraction;
    let power = text[end..].strip_prefix("e-").and_then(|tail| {
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        Some((tail.get(..digits)?.parse::<i32>().ok().filter(|power| *power < 30)?, digits + 2))
    });
    let (scale, end) = power.map_or((1.0, end), |(power, bytes)| (10f64.powi(-power), end + bytes));
    let value: f64 = text[..whole + 1 + fraction].replace(',', ".").parse().ok()?;
    Some((crate::number::rounded(line.spot(&text[..end]), value, fraction, scale), &text[end..]))
}

const PREFIXES: &[(&str, i32)] =
    &[("k", 1), ("K", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5), ("к", 1), ("М", 2), ("Г", 3), ("Т", 4)];
const DECIMAL: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL_RATES: [&str; 6] = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"];
const BINARY_RATES: [&str; 6] = ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"];
/// busybox prints the short letters of 1000 and means 1024.
const SHORT: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
const SHORT_RATES: [&str; 6] = ["B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s"];

/// `930 MB/s`, `33 MiB`, `12.2GB/s` (no space: busybox's, of 1024).
fn sized<'a>(line: &Line<'a>, text: &'a str, rate: bool) -> Option<(Size, &'a str)> {
    let (figure, rest) = local_number(line, text)?;
    let unit = rest.trim_start_matches([' ', '\u{a0}']);
    let touching = unit.len() == rest.len();
    let prefix = PREFIXES.iter().find(|(letter, _)| unit.starts_with(letter));
    let unit = prefix.map_or(unit, |(letter, _)| &unit[letter.len()..]);
    let (binary, unit) = match unit.strip_prefix('i').or_else(|| unit.strip_prefix('и')) {
        Some(rest) if prefix.is_some() => (true, rest),
        _ => (touching, unit),
    };
    let names: &[&str] = &["bytes", "Bytes", "B", "Б", "байт", "o"];
    let unit = names.iter().find_map(|name| unit.strip_prefix(name))?;
    let unit = if rate {
        ["/sec", "/s", "/с", "/c", "/秒"].iter().find_map(|end| unit.strip_prefix(end))?
    } else {
        unit
    };
    let power = prefix.map_or(0, |(_, power)| *power);
    let scale: f64 = if binary { 1024.0 } else { 1000.0 };
    let names = match (rate, binary, touching) {
        (false, true, true) => SHORT,
        (true, true, true) => SHORT_RATES,
        (false, true, false) => BINARY,
        (true, true, false) => BINARY_RATES,
        (false, ..) => DECIMAL,
        (true, ..) => DECIMAL_RATES,
    };
    let name = names.get(usize::try_from(power).ok()?)?;
    Some((Size { figure: figure.scaled(scale.powi(power)), unit: name }, unit))
}

impl Copy {
    /// Whether the bytes are those in the brackets, where there are any.
    fn agrees(&self) -> bool {
        self.sizes.iter().all(|size| size.figure.interval().meets(self.bytes.interval()))
    }

    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for (whole, partial) in self.records.iter().flatten() {
            tell((Metric::Issued, Unit::Things, *whole));
            tell((Metric::Issued, Unit::Things, *partial));
        }
        tell((Metric::Total, Unit::Bytes, self.bytes));
        self.sizes.iter().for_each(|size| tell((Metric::Total, Unit::Bytes, size.figure)));
        tell((Metric::Runtime, Unit::Nanoseconds, self.seconds.scaled(1e9)));
        tell((Metric::Bandwidth, Unit::BytesPerSecond, self.rate.figure));
    }

    /// Its result in the form that all tools share: what was read was written.
    pub fn readings(&self) -> Vec<Reading> {
        let out = self.records.map(|records| records[1]);
        let ios = out.map(|(whole, partial)| exact(whole.spot, whole.value + partial.value));
        let bs = out.filter(|(whole, partial)| partial.value == 0.0 && whole.value > 0.0);
        let workload = Workload {
            bs: bs.map(|(whole, _)| (self.bytes.value / whole.value) as u64),
            iodepth: Some(1),
            numjobs: Some(1),
            runtime_s: Some(self.seconds.value),
            name: Some("dd".to_owned()),
            ..Workload::default()
        };
        vec![Reading {
            bytes_per_second: Some(self.rate.figure),
            bytes: Some(self.bytes),
            ios,
            ..Reading::new(self.line, workload, Way::Both)
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (Page, Copy) {
        let page = Page::new("p", text);
        let first = (0..page.len()).find(|at| begins(page.bare(*at).0)).expect("it begins");
        match read(&page, first).expect("a copy").said {
            Said::Dd(copy) => (page, *copy),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_of_a_listing_that_stand_against_digits_are_no_figures() {
        let (page, copy) = one(
            "text\n1128+0 records in\n2128+0 records out\n3134217728 bytes (134 MB, 128 MiB) copied, 0.5 s, 268 MB/s\n",
        );
        assert_eq!((copy.bytes.value, copy.records.unwrap()[1].0.value), (134_217_728.0, 128.0));
        assert_eq!((page.quote(copy.bytes.spot), page.quote(copy.rate.figure.spot)), ("134217728", "268"));
        let (_, wrong) = one(
            "1128+0 records in\n1128+0 records out\n3134217728 bytes (134 MB, 128 MiB) copied, 0.5 s, 268 MB/s\n",
        );
        assert_eq!(wrong.bytes.value, 3_134_217_728.0, "no numbers that count on");
    }

    #[test]
    fn lines_may_stand_in_tags() {
        let (page, copy) = one(
            "<span class=\"x\">128+0 records in</span>\n<span>128+0 records out</span>\n<span>134217728 bytes (134 MB) copied, 0.5 s, 268 MB/s</span><br>\n",
        );
        assert_eq!(page.quote(copy.bytes.spot), "134217728");
        assert_eq!((page.quote(copy.rate.figure.spot), copy.rate.figure.value), ("268", 268e6));
    }
}
