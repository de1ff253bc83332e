//! Finds the title of a table: the heading, caption or short line above it.

use crate::page::AuditedPage;
use unicode_width::UnicodeWidthChar;

const LOOKED_AT: usize = 60;
/// Largest width of a short line, in columns of a screen.
const SHORT: usize = 72;

/// Returns the text above line `at` that names what follows: a short line not above `floor`, or a
/// heading. `fenced` is true in a block of code.
pub(super) fn title_above(
    page: &AuditedPage,
    at: usize,
    floor: usize,
    fenced: bool,
) -> Option<String> {
    let (mut lead, mut prose, mut code, mut own) = (None, false, false, fenced);
    for index in (at.saturating_sub(LOOKED_AT)..at).rev() {
        let line = page.line_text(index).trim();
        if fence(line) {
            // The first fence above a fenced table opens its own block.
            (code, own) = (!own && !code, false);
            continue;
        }
        if code || line.is_empty() || is_rule(line) || is_command_line(line) {
            continue;
        }
        let heading = !own && (hashes(page.line_text(index)) || numbered(line));
        match short_line_text(line).filter(|_| heading || index >= floor && !prose) {
            // `Results:` says little; the heading above it names the subject.
            Some(name) if lead.is_none() && !heading && line.ends_with([':', '：']) => {
                lead = Some(name)
            }
            Some(name) if heading || lead.is_none() => {
                return Some(
                    lead.map_or_else(|| name.to_string(), |lead| format!("{name}: {lead}")),
                );
            }
            Some(_) => {}
            // Above a sentence, only a heading can name the table too.
            None => prose = true,
        }
    }
    lead.map(str::to_string)
}

pub(super) fn fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns true for headings of Markdown, but not for comments of a script.
fn hashes(line: &str) -> bool {
    let after = line.trim_start_matches('#');
    (1..7).contains(&(line.len() - after.len())) && after.starts_with(' ')
}

/// Returns true for `2.1 MDADM`, `3. NVMe-oF`, `4、结果`.
fn numbered(line: &str) -> bool {
    let after = line.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &line[..line.len() - after.len()];
    let sign = number.contains('.') && after.starts_with(' ') || after.starts_with('、');
    (1..6).contains(&number.len()) && !number.starts_with('.') && sign
}

pub(super) fn is_rule(line: &str) -> bool {
    line.chars().all(|letter| "-=*_~+|. \u{2500}\u{2550}".contains(letter))
}

/// Returns the text of a short line without its marks; `None` for a sentence.
fn short_line_text(line: &str) -> Option<&str> {
    let bare = line
        .trim_start_matches(['#', '>', '*', '•', '-', '_', ' '])
        .trim_end_matches(['*', '_', '#', ' ', ':', '：']);
    // `IOPS=26.0k` is printed by a tool.
    let printed =
        bare.as_bytes().windows(2).any(|pair| pair[0] == b'=' && pair[1].is_ascii_digit());
    let sentence = line.ends_with(['.', '。', ';', '；', ',', '，']) && !line.starts_with('#')
        || bare.contains('。');
    let words = bare.contains(char::is_alphabetic) && !bare.starts_with('<');
    (words && !sentence && !printed && text_columns(bare) <= SHORT).then_some(bare)
}

pub(super) fn text_columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Returns the columns of a character on a screen; CJK characters are twice as wide.
pub(super) fn width(letter: char) -> usize {
    letter.width().unwrap_or(1)
}

fn is_command_line(line: &str) -> bool {
    let flags =
        || line.split_whitespace().filter(|word| word.starts_with('-') && word.len() > 1).count();
    line.starts_with("$ ")
        || [" --", " /dev/", "=/"].iter().any(|mark| line.contains(mark))
        || flags() > 1
}
