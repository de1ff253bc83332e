//! Plain text: UTF-8, UTF-16 by its byte order mark or its zeros, else the encoding that its bytes
//! look like. Parts that cannot be decoded are listed, and so is a file that is not text at all.

use crate::page::{AuditedPage, UnreadRange};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;
use std::borrow::Cow;

/// Number of bytes examined to guess an encoding.
const LOOKED_AT: usize = 1 << 20;

pub(super) fn read(name: &str, bytes: Vec<u8>) -> AuditedPage {
    if wide(&bytes).is_none() && binary(&bytes) {
        let mut page = AuditedPage::new(name, "");
        let why = "bytes that are no text in an encoding known here: nothing of it is read; hint: unpack it, or convert it to UTF-8";
        page.unread.push(UnreadRange { line: 1, last: 1, why: why.to_owned() });
        return page;
    }
    let (text, broken) = decode(bytes, None);
    // Line ends of old Macs, and of consoles that draw one line over another.
    let text =
        if text.contains('\r') && !text.contains('\n') { text.replace('\r', "\n") } else { text };
    let mut page = match crate::import::prefix::without_colours(&text) {
        Some(plain) => AuditedPage::rendered(
            name,
            &(1..).zip(plain.split('\n').map(str::to_owned)).collect::<Vec<_>>(),
        ),
        None => AuditedPage::new(name, text),
    };
    if let Some(encoding) = broken {
        page.unread.extend(undecodable(&page, encoding));
    }
    page
}

/// Decodes bytes: as UTF-16 if their zeros show it, as UTF-8 if they are valid, else by their byte
/// order mark, by `declared`, or by a guess. Returns the text without a byte order mark, and the
/// encoding's name if some bytes could not be decoded.
pub(super) fn decode(
    bytes: Vec<u8>,
    declared: Option<&'static Encoding>,
) -> (String, Option<&'static str>) {
    if let Some(encoding) = wide(&bytes) {
        // A byte order mark is not part of the text: `fio ... > out.json` in PowerShell writes one.
        let (text, broken) = encoding.decode_with_bom_removal(&bytes);
        return (text.into_owned(), broken.then(|| encoding.name()));
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !text.starts_with('\u{feff}') => return (text, None),
        Ok(text) => return (text['\u{feff}'.len_utf8()..].to_string(), None),
        Err(error) => error.into_bytes(),
    };
    let marked = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    let encoding = marked.or(declared).unwrap_or_else(|| guess(&bytes));
    let (text, used, broken) = encoding.decode(&bytes);
    (text.into_owned(), broken.then(|| used.name()))
}

/// Returns true if bytes are text in UTF-16, with or without a byte order mark.
pub fn is_utf16(bytes: &[u8]) -> bool {
    sixteen(bytes).is_some()
}

/// Detects UTF-16 by its byte order mark, else by its zeros.
fn sixteen(bytes: &[u8]) -> Option<&'static Encoding> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    marked.filter(|encoding| *encoding != encoding_rs::UTF_8).or_else(|| wide(bytes))
}

/// Detects UTF-16 by its zeros: in Latin text, one byte of most pairs is zero and the other never
/// is.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    match (zeros(0), zeros(1)) {
        (0, odd) if odd > head.len() / 4 => Some(encoding_rs::UTF_16LE),
        (even, 0) if even > head.len() / 4 => Some(encoding_rs::UTF_16BE),
        _ => None,
    }
}

/// Returns the first `looked_at` bytes as text: UTF-16 is decoded, all else is read as UTF-8.
pub(super) fn head(bytes: &[u8], looked_at: usize) -> Cow<'_, str> {
    let head = &bytes[..bytes.len().min(looked_at)];
    match sixteen(head) {
        Some(encoding) => encoding.decode_with_bom_removal(head).0,
        None => String::from_utf8_lossy(head),
    }
}

/// Returns true if bytes have the byte order mark of UTF-32, or if they have no other such mark,
/// are not UTF-8, and over 2 % of the first ones are control characters.
fn binary(bytes: &[u8]) -> bool {
    const SHARE: usize = 50;
    const UTF_32: [[u8; 4]; 2] = [[0xff, 0xfe, 0, 0], [0, 0, 0xfe, 0xff]];
    if UTF_32.iter().any(|mark| bytes.starts_with(mark)) {
        return true;
    }
    if std::str::from_utf8(bytes).is_ok() || Encoding::for_bom(bytes).is_some() {
        return false;
    }
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let control = |byte: &&u8| matches!(**byte, 0..=6 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    head.iter().filter(control).count() * SHARE > head.len()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// Lists the lines in which something could not be decoded: the first eight, then the others as one
/// range.
pub(super) fn undecodable(page: &AuditedPage, encoding: &str) -> Vec<UnreadRange> {
    const MOST_LISTED: usize = 8;
    let broken: Vec<usize> =
        (0..page.len()).filter(|at| page.line_text(*at).contains('\u{fffd}')).collect();
    let why = format!("bytes that are no {encoding} text");
    let (listed, more) = broken.split_at(broken.len().min(MOST_LISTED));
    let mut unread: Vec<UnreadRange> =
        listed.iter().map(|at| page.unread(*at..at + 1, why.clone())).collect();
    if let (Some(next), Some(last)) = (more.first(), more.last()) {
        unread.push(
            page.unread(*next..last + 1, format!("{why}, in {} more lines between", more.len())),
        );
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_encoding_becomes_lines() {
        let text = "fio-3.16\n5 \u{b5}s";
        let little =
            |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let big = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
        let old_mac = text.replace('\n', "\r").into_bytes();
        for bytes in [little(text), little(&format!("\u{feff}{text}")), big, marked, old_mac] {
            let page = read("p", bytes);
            assert_eq!((page.line_text(0), page.line_text(1)), ("fio-3.16", "5 \u{b5}s"));
        }
        assert_eq!(
            read("p", b"\xd1\xea\xee\xf0\xee\xf1\xf2\xfc 94%".to_vec()).line_text(0),
            "Скорость 94%"
        );
    }

    #[test]
    fn what_cannot_be_decoded_is_listed_with_its_line() {
        let page = read("p", b"good\nb\xc3\x28d \xe4\xb8\xad\xe6\x96\x87\nx".to_vec());
        assert!(page.len() == 3 && page.unread.len() <= 1);
        let noise: Vec<u8> =
            (0..4000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for bytes in [noise, b"\xff\xfe\0\0a\0\0\0\n\0\0\0".to_vec()] {
            let page = read("p", bytes);
            assert!(page.is_empty() && page.unread[0].why.contains("no text in an encoding"));
        }
        let zeros = read("p", b"fio-3.16\n\0\0\0\0\0\0\nx".to_vec());
        assert_eq!((zeros.len(), zeros.unread.len()), (3, 0), "a file with a hole is a text");
    }
}
