//! A page of a few bytes made large by saying a piece of it over and over: what takes longer than
//! its size shows here. The first two bytes say which piece.

use iotax_audit::audit;
use iotax_audit::page::AuditedPage;

/// Bytes of the large page.
const SIZE: usize = 1 << 17;

pub(super) fn audit(bytes: &[u8]) {
    super::bytes::holds(&audit::audit(AuditedPage::new(
        "p",
        String::from_utf8_lossy(&swollen(bytes)),
    )));
}

fn swollen(bytes: &[u8]) -> Vec<u8> {
    let [one, other, text @ ..] = bytes else { return Vec::new() };
    let place = |part: u8| text.len() * usize::from(part) / 255;
    let (from, to) = (place(*one.min(other)), place(*one.max(other)));
    let piece = &text[from..to];
    let times = if piece.is_empty() { 0 } else { SIZE / piece.len() };
    [&text[..from], &piece.repeat(times), &text[to..]].concat()
}
