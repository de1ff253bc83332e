//! Plain text: UTF-8, UTF-16 by its mark, else the encoding that its bytes look like. What cannot be decoded is listed.

use super::Container;
use crate::page::{Page, Unread};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// The container's entry in the family.
pub const CONTAINER: Container =
    Container { name: "plain text", knows: |_| true, read: |name, bytes| vec![read(name, bytes)] };

/// Bytes that the guess of an encoding looks at.
const LOOKED_AT: usize = 1 << 20;

fn read(name: &str, bytes: Vec<u8>) -> Page {
    let (text, broken) = decode(bytes, None);
    let mut page = Page::new(name, text);
    if let Some(encoding) = broken {
        page.unread.extend(undecodable(&page, encoding));
    }
    page
}

/// The text of bytes in UTF-8, by their mark, in the encoding that they declare, else the one that they look like; with the
/// encoding's name where some could not be decoded.
pub(super) fn decode(bytes: Vec<u8>, declared: Option<&'static Encoding>) -> (String, Option<&'static str>) {
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

fn guess(bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// The lines in which something could not be decoded, the first few of them each.
pub(super) fn undecodable(page: &Page, encoding: &str) -> Vec<Unread> {
    const TOLD: usize = 8;
    let broken: Vec<usize> = (0..page.len()).filter(|at| page.line(*at).contains('\u{fffd}')).collect();
    let why = format!("bytes that are no {encoding} text");
    let mut unread: Vec<Unread> =
        broken.iter().take(TOLD).map(|at| page.unread(*at..at + 1, why.clone())).collect();
    if let (Some(next), Some(last)) = (broken.get(TOLD), broken.last()) {
        let count = broken.len() - TOLD;
        unread.push(page.unread(*next..last + 1, format!("{why}, in {count} more lines between")));
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_encoding_becomes_lines() {
        let windows =
            [&[0xd1u8, 0xea, 0xee, 0xf0, 0xee, 0xf1, 0xf2, 0xfc, b' ', b'9', b'4', b'%'][..]].concat();
        assert_eq!(read("p", windows).line(0), "Скорость 94%");
        let utf16: Vec<u8> = "\u{feff}a\nb".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read("p", utf16).line(1), "b");
        assert_eq!(read("p", b"\xef\xbb\xbffio-3.16".to_vec()).line(0), "fio-3.16");
    }

    #[test]
    fn what_cannot_be_decoded_is_listed_with_its_line() {
        let page = read("p", b"good\nb\xc3\x28d \xe4\xb8\xad\xe6\x96\x87\nx".to_vec());
        assert_eq!(page.len(), 3);
        assert!(page.unread.len() <= 1);
        let noise: Vec<u8> = (0..4000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let _ = read("p", noise);
    }
}
