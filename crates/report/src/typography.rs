//! Signs of print in place of the ASCII of the plain texts.

/// Replaces `+-` of the plain texts by one sign, a minus before a number by a minus sign and the
/// unit `us` by its sign, and keeps a figure on one line with its half-width.
pub(crate) fn typographic(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let opens = before == ' ' || before == '(';
        match c {
            '+' if opens && next == '-' => {
                rest.next();
                out.push('\u{b1}');
            }
            '-' if opens && next.is_ascii_digit() => out.push('\u{2212}'),
            c => out.push(c),
        }
        before = c;
    }
    let out = micro_signs(&out);
    out.replace(" \u{b1} ", "\u{a0}\u{b1}\u{a0}")
        .replace("\u{b1} ", "\u{b1}\u{a0}")
        .replace(" %", "\u{a0}%")
}

/// Replaces ` us` after a figure.
fn micro_signs(text: &str) -> String {
    let mut pieces = text.split(" us");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_unit = out.ends_with(|c: char| c.is_ascii_digit() || ")?".contains(c))
            && !piece.starts_with(char::is_alphanumeric);
        out += if is_unit { " \u{b5}s" } else { " us" };
        out += piece;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::typographic;

    #[test]
    fn signs_of_figures_are_replaced_and_words_stay() {
        let signed = typographic("a-b: -4.3 +- 1.5 %, 12 (3 to 70) us; to us, delay(us=10)");
        let plain = signed.replace('\u{a0}', " ");
        assert_eq!(
            plain,
            "a-b: \u{2212}4.3 \u{b1} 1.5 %, 12 (3 to 70) \u{b5}s; to us, delay(us=10)"
        );
    }
}
