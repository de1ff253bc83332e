//! Text of pages made harmless: what would move a cursor, change colours, turn the direction of writing or hide is shown as
//! `\u{1b}` instead.

/// Whether a character does something to the text around it, or cannot be seen.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{ad}' | '\u{180e}')
}

/// One line of text in which nothing acts.
pub fn shown(text: &str) -> String {
    shown_line(text).replace('\t', " ")
}

/// The same, where tabs have columns of their own.
pub fn shown_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(' '),
            '\t' => out.push('\t'),
            c if acts(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_and_does_nothing() {
        assert_eq!(shown("a\u{1b}[31m\u{202e}b\t\u{7}"), "a\\u{1b}[31m\\u{202e}b \\u{7}");
        assert_eq!(shown("two\nlines \u{ad}"), "two lines \\u{ad}");
        assert_eq!(shown("写损失 94 %"), "写损失 94 %");
    }
}
