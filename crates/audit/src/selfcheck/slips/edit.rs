//! What slips do to texts.

use crate::selfcheck::draft::{Draft, Item, Target};
use crate::selfcheck::random::Random;
use std::ops::Range;

/// Places of digits.
fn digits(text: &str) -> Vec<usize> {
    text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|(at, _)| at).collect()
}

/// A text one of whose digits is another; one of the first `first` that count. Never an equal value.
pub fn mistyped(text: &str, first: usize, random: &mut Random) -> Option<String> {
    let all = digits(text);
    let lead = all.iter().position(|at| text.as_bytes()[*at] != b'0')?;
    let counting: Vec<usize> = all[lead..].iter().copied().take(first).collect();
    let at = *random.pick(&counting);
    let own = text.as_bytes()[at] - b'0';
    let least = u8::from(Some(&at) == all.get(lead));
    let choices: Vec<u8> = (least..10).filter(|digit| *digit != own).collect();
    let mut bytes = text.as_bytes().to_vec();
    bytes[at] = b'0' + random.pick(&choices);
    String::from_utf8(bytes).ok()
}

/// Two neighbouring digits in the wrong order.
pub fn swapped(text: &str, random: &mut Random) -> Option<String> {
    let all = digits(text);
    let differ = |pair: &&[usize]| {
        let [left, right] = [pair[0], pair[1]].map(|at| text.as_bytes()[at]);
        left != right && !(right == b'0' && Some(&pair[0]) == all.first())
    };
    let pairs: Vec<&[usize]> = all.windows(2).filter(differ).collect();
    if pairs.is_empty() {
        return None;
    }
    let pair = *random.pick(&pairs);
    let mut bytes = text.as_bytes().to_vec();
    bytes.swap(pair[0], pair[1]);
    String::from_utf8(bytes).ok()
}

/// The point one place further left or right: `94.1` as `9.41`.
pub fn shifted(text: &str) -> Option<String> {
    let point =
        text.find(['.', ',']).filter(|at| text[at + 1..].starts_with(|next: char| next.is_ascii_digit()))?;
    let before: Vec<usize> = digits(&text[..point]);
    let sign = &text[point..=point];
    if before.len() >= 2 {
        let last = *before.last()?;
        return Some(format!("{}{sign}{}{}", &text[..last], &text[last..point], &text[point + 1..]));
    }
    Some(format!("{}{}", &text[..point], &text[point + 1..]))
}

/// Raw blocks of a draft whose text has something: their items.
pub fn blocks(draft: &Draft, has: &dyn Fn(&[String]) -> bool) -> Vec<usize> {
    let wanted = |item: &Item| matches!(item, Item::Raw { lines, .. } if has(lines));
    draft.items.iter().enumerate().filter(|(_, item)| wanted(item)).map(|(at, _)| at).collect()
}

/// The lines of a raw block.
pub fn lines(draft: &mut Draft, item: usize) -> Option<&mut Vec<String>> {
    match draft.items.get_mut(item)? {
        Item::Raw { lines, .. } => Some(lines),
        _ => None,
    }
}

/// The bytes between two texts of the first line that has a word and the first of them.
pub fn field(lines: &[String], word: &str, before: &str, behind: &[char]) -> Option<(usize, Range<usize>)> {
    lines.iter().enumerate().find_map(|(at, line)| Some((at, field_of(line, word, before, behind)?)))
}

/// The same of one line.
pub fn field_of(line: &str, word: &str, before: &str, behind: &[char]) -> Option<Range<usize>> {
    let start = line.find(word)?;
    let from = start + line[start..].find(before)? + before.len();
    let from = from + (line[from..].len() - line[from..].trim_start().len());
    let end = line[from..].find(behind).map_or(line.len(), |at| from + at);
    (end > from).then_some(from..end)
}

/// Changes a field of a random raw block of fio's that has it; where it stood.
pub fn change(
    draft: &mut Draft,
    random: &mut Random,
    word: &str,
    before: &str,
    behind: &[char],
    to: &dyn Fn(&str, &mut Random) -> Option<String>,
) -> Option<(usize, usize)> {
    change_where(draft, random, &|_| true, [word, before], behind, to)
}

/// The same in blocks that are of a kind.
pub fn change_where(
    draft: &mut Draft,
    random: &mut Random,
    kind: &dyn Fn(&[String]) -> bool,
    [word, before]: [&str; 2],
    behind: &[char],
    to: &dyn Fn(&str, &mut Random) -> Option<String>,
) -> Option<(usize, usize)> {
    let fio = |lines: &[String]| lines.iter().any(|line| line.starts_with("fio-3")) && kind(lines);
    change_any(draft, random, &fio, [word, before], behind, to)
}

/// The same of any tool's output.
pub fn change_any(
    draft: &mut Draft,
    random: &mut Random,
    kind: &dyn Fn(&[String]) -> bool,
    [word, before]: [&str; 2],
    behind: &[char],
    to: &dyn Fn(&str, &mut Random) -> Option<String>,
) -> Option<(usize, usize)> {
    let found = blocks(draft, &|lines| kind(lines) && field(lines, word, before, behind).is_some());
    if found.is_empty() {
        return None;
    }
    let item = *random.pick(&found);
    let lines = lines(draft, item)?;
    let (line, bytes) = field(lines, word, before, behind)?;
    let new = to(&lines[line][bytes.clone()], random)?;
    lines[line].replace_range(bytes, &new);
    Some((item, line))
}

/// The targets of lines of a raw block that begin so.
pub fn targets(draft: &mut Draft, item: usize, beginnings: &[&str]) -> Vec<Target> {
    let Some(lines) = lines(draft, item) else { return Vec::new() };
    let begins =
        |line: &&(usize, &String)| beginnings.iter().any(|word| line.1.trim_start().starts_with(word));
    lines
        .iter()
        .enumerate()
        .collect::<Vec<_>>()
        .iter()
        .filter(begins)
        .map(|(at, _)| Target::Raw(item, *at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_changed_as_people_mistype_them() {
        let random = &mut Random::new(3);
        for _ in 0..100 {
            let new = mistyped("0.0532 %", 2, random).unwrap();
            assert!(
                new != "0.0532 %" && new.len() == 8 && new.starts_with("0.0") && new.ends_with("2 %"),
                "{new}"
            );
            assert_ne!(swapped("77.5k", random).unwrap(), "77.5k");
        }
        assert_eq!(swapped("44", random), None);
        assert_eq!(shifted("94.1%").as_deref(), Some("9.41%"));
        assert_eq!(shifted("4,12 %").as_deref(), Some("412 %"));
        assert_eq!(shifted("94"), None);
        let line = "    slat (usec): min=3, max=4058, avg= 5.70, stdev=16.91".to_owned();
        assert_eq!(&line[field_of(&line, "slat", "avg=", &[',']).unwrap()], "5.70");
        assert_eq!(&line[field_of(&line, "slat", "stdev=", &[',']).unwrap()], "16.91");
    }
}
