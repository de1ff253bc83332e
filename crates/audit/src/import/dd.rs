//! Last line of dd, `34359738368 bytes (34 GB) copied, 36.9548 s, 930 MB/s`: GNU's of any age and
//! language, busybox's (whose MB are 1024-based), BSD's, with the records before it.

use super::cut::UnnumberedLine;
use super::format::{Format, ImportedOutputs};
use super::sheet::*;
use super::workload::{ResultDirection, Workload};
use crate::claim::Metric;
use crate::number::{PrintedNumber, parsed, rounded};
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "dd",
    example: include_str!("../../fixtures/dd/gnu.txt"),
    begins: |line| {
        let line = last_drawn(line).trim_start();
        match line.as_bytes().first() {
            _ if line.len() > LONGEST => false,
            Some(b'0'..=b'9') => line.contains(['/', '+']),
            // `скопійовано 34603008 байтів ...`
            Some(0xd1 | b's' | b'z') => COPIED.split(' ').any(|word| line.starts_with(word)),
            _ => false,
        }
    },
    read,
};

/// Words for "copied" in the last line of GNU dd, in its languages. Some languages put the word
/// before the bytes.
const COPIED: &str = "copied copiad copiés copié copiats kopiert kopieret kopierade gekopieerd skopiowano zkopírováno \
                      skopírovan kopioitu copiati copiat kopyalandı másolva скопировано скопійовано копиран 复制 複製 コピー 복사 \
                      transferred";

fn is_copied(line: &str) -> bool {
    COPIED.split(' ').any(|word| line.contains(word))
}

const LONGEST: usize = 300;

/// Names of the sizes in brackets, in units of 1000 and of 1024.
const SIZES: [&str; 2] = ["the size in brackets", "the other size in brackets"];

/// Returns the text after the last carriage return: what is visible of a line that progress
/// overwrote.
fn last_drawn(line: &str) -> &str {
    line.rsplit('\r').next().unwrap_or(line)
}

fn visible_line(page: &AuditedPage, at: usize) -> UnnumberedLine<'_> {
    let line = UnnumberedLine::from_page(page, at);
    line.skip_bytes(line.text.len() - last_drawn(line.text).len())
}

fn read(page: &AuditedPage, first: usize) -> Option<ImportedOutputs> {
    let mut sheet = result(page, first)?;
    // `status=progress` and SIGUSR1 print the progress so far: only the last line is a result.
    while let Some(later) = result(page, sheet.line + 1).filter(|later| goes_on(&sheet, later)) {
        sheet = later;
    }
    let before = page.bare_line(first.wrapping_sub(1)).0;
    sheet.failed =
        (before.starts_with("dd: ") && before.contains("error")).then(|| before.to_owned());
    let end = sheet.line + 1;
    ImportedOutputs::sheets(vec![sheet], end)
}

/// Returns true if a result right after another belongs to the same copy. It has more bytes and
/// more time; if the first has no records, and may be progress, at least as many bytes and as much
/// time.
fn goes_on(before: &Sheet, later: &Sheet) -> bool {
    let both = |name: &str| Some((before.figure_by_name(name)?, later.figure_by_name(name)?));
    let Some(((bytes, more), (time, longer))) = both(BYTES).zip(both(TIME)) else { return false };
    match before.figure_by_name(IOS).or(before.figure_by_name("the records")).is_some() {
        true => bytes.value < more.value && time.high < longer.low,
        false => bytes.value <= more.value && time.low <= longer.high,
    }
}

/// Reads the result that begins at a line with its records or its last line.
fn result(page: &AuditedPage, first: usize) -> Option<Sheet> {
    let mut sheet = Sheet::new(first, Some(ResultDirection::Both));
    // The number of I/Os is known only for whole records.
    for [all, whole, cut] in
        [["", "the records in", "the cut records in"], [IOS, "the records", "the cut records"]]
    {
        let Some([count, rest]) = records(&visible_line(page, sheet.line)) else { break };
        let name = if rest.value > 0.0 || all.is_empty() { whole } else { all };
        [(name, count), (cut, rest)].into_iter().for_each(|(name, one)| {
            sheet.add_sheet_figure(Metric::Issued, make_named_figure(name, "records", one))
        });
        sheet.line += 1;
    }
    last_line(&visible_line(page, sheet.line), &mut sheet)?;
    let whole = sheet.figure_by_name(IOS).filter(|whole| whole.value > 0.0);
    sheet.workload = Workload {
        bs: whole.and_then(|whole| Some((sheet.figure_by_name(BYTES)?.value / whole.value) as u64)),
        iodepth: Some(1),
        numjobs: Some(1),
        runtime_s: sheet.figure_by_name(TIME).map(|time| time.value / 1e9),
        name: Some("dd".to_owned()),
        ..Workload::default()
    };
    Some(sheet)
}

/// Reads the whole and the partial records of `33+0 records in`, in any language.
fn records(line: &UnnumberedLine) -> Option<[PrintedNumber; 2]> {
    let text = Some(line.text).filter(|text| text.len() <= LONGEST)?;
    let mut words = text.split_whitespace().filter(|word| word.contains('+'));
    let (whole, partial) = words.next()?.split_once('+')?;
    Some([line.whole_count(whole)?, line.whole_count(partial)?]).filter(|_| words.next().is_none())
}

fn last_line(line: &UnnumberedLine, sheet: &mut Sheet) -> Option<()> {
    let text = Some(line.text).filter(|text| text.len() <= LONGEST && is_copied(text))?;
    let number = |text: &str| text.find(|letter: char| letter.is_ascii_digit());
    let from = number(text)?;
    let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
    sheet.add_sheet_figure(
        Metric::Total,
        make_named_figure(BYTES, "bytes", line.whole_count(&text[from..from + digits])?),
    );
    let mut rest = &text[from + digits..];
    if let Some(open) = rest
        .find('(')
        .filter(|at| !rest[..*at].contains(char::is_numeric) && !rest[*at..].contains("bytes/sec"))
    {
        let (sizes, after) = rest[open + 1..].split_once(')')?;
        let mut inside = sizes;
        for name in SIZES {
            if inside.is_empty() {
                break;
            }
            let (size, after) = read_dd_size(line, inside, name)?;
            sheet.add_sheet_figure(Metric::Total, size);
            inside = after.trim_start_matches([',', ' ', '，']);
        }
        inside.is_empty().then_some(())?;
        rest = after;
    }
    let (seconds, rest) = local_number(line, &rest[number(rest)?..])?;
    sheet.add_sheet_figure(Metric::Runtime, make_named_figure(TIME, "s", seconds.scaled(1e9)));
    let rest = rest.trim_start_matches(' ');
    let units = ["seconds", "secs", "sec", "секунд", "сек", "秒", "s", "с", "c"];
    let rest = units.iter().find_map(|unit| rest.strip_prefix(unit))?;
    let start = number(rest)?;
    let between = rest[..start].chars().all(|letter| ",，、 (;".contains(letter));
    let (rate, rest) = read_dd_size(line, &rest[start..], BANDWIDTH).filter(|_| between)?;
    sheet.add_sheet_figure(Metric::Bandwidth, rate);
    rest.trim_matches([' ', ')']).is_empty().then_some(())
}

/// Reads a number with a decimal point, or with a decimal comma as in most of Europe.
fn local_number<'a>(line: &UnnumberedLine<'a>, text: &'a str) -> Option<(PrintedNumber, &'a str)> {
    let run = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = run(text);
    let fraction = text.get(whole..)?.strip_prefix(',').map_or(0, run);
    if fraction == 0 {
        return line.leading_number(text, 1.0);
    }
    let end = whole + 1 + fraction;
    let power = text[end..].strip_prefix("e-").and_then(|tail| {
        let power = tail.get(..run(tail))?.parse::<i32>().ok().filter(|power| *power < 30)?;
        Some((10f64.powi(-power), end + 2 + run(tail)))
    });
    let value = parsed(&text[..end].replace(',', "."))?;
    let (scale, end) = power.unwrap_or((1.0, end));
    Some((rounded(line.spot(&text[..end]), value, fraction, scale), &text[end..]))
}

/// Units of 1000, of 1024, and of 1024 with the letters of 1000, as busybox prints them.
const UNITS: [[&str; 6]; 3] = [
    ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"],
    ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"],
    ["B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s"],
];

/// Reads `33 MiB`, or a rate if `name` is [`BANDWIDTH`]: `930 MB/s`, `12.2GB/s` (without a space:
/// 1024-based, from busybox). Returns the text after it, too.
fn read_dd_size<'a>(
    line: &UnnumberedLine<'a>,
    text: &'a str,
    name: &'static str,
) -> Option<(NamedFigure, &'a str)> {
    let (figure, rest) = local_number(line, text)?;
    let unit = rest.trim_start_matches([' ', '\u{a0}']);
    let touching = unit.len() == rest.len();
    let first = unit.chars().next()?;
    let power = ["kKк", "MМ", "GГ", "TТ", "P"].iter().position(|letters| letters.contains(first));
    let power = power.map_or(0, |at| at + 1);
    let unit = if power > 0 { &unit[first.len_utf8()..] } else { unit };
    let marked = unit.strip_prefix(['i', 'и']).filter(|_| power > 0);
    let rest = marked.unwrap_or(unit);
    let rest = ["bytes", "Bytes", "B", "Б", "байт", "o"]
        .iter()
        .find_map(|name| rest.strip_prefix(name))?;
    let rate = name == BANDWIDTH;
    let ends: &[&str] = if rate { &["/sec", "/s", "/с", "/c", "/秒"] } else { &[""] };
    let rest = ends.iter().find_map(|end| rest.strip_prefix(end))?;
    let unit = UNITS[if touching { 2 } else { usize::from(marked.is_some()) }][power];
    let unit = if rate { unit } else { unit.trim_end_matches("/s") };
    let base: f64 = if marked.is_some() || touching { 1024.0 } else { 1000.0 };
    Some((make_named_figure(name, unit, figure.scaled(base.powi(power as i32))), rest))
}
