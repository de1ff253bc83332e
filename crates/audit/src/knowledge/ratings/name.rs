//! Names of drives in texts: words in a row, of letters and digits.

use super::{Drive, Found};
use crate::number::{Unit, quantities};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// Longer words than that are no name; their rest does not matter.
const LONGEST: usize = 24;
/// A first word that goes on is found by so many of its letters.
const HEAD: usize = 4;

/// A word of a text, in lower case, and its bytes.
pub type Word = (String, Range<usize>);

/// The words of a text: ASCII letters and digits in a row, in lower case.
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    let bytes = text.as_bytes();
    for at in 0..=bytes.len() {
        let inside = bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((text[from..at.min(from + LONGEST)].to_ascii_lowercase(), from..at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

#[derive(Clone, Debug)]
struct Name {
    words: Vec<String>,
    /// Whether its last word may go on.
    open: bool,
    drive: usize,
    size: Option<usize>,
    /// Whether it is of a user's file.
    own: bool,
}

/// All names of all drives, by their first words.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    whole: HashMap<String, Vec<Name>>,
    open: HashMap<String, Vec<Name>>,
}

impl Names {
    /// Of drives of which so many, the first, are of users' files.
    pub(super) fn of(drives: &[Drive], own: usize) -> Names {
        let mut names = Names::default();
        for (drive, entry) in drives.iter().enumerate() {
            for model in &entry.models {
                names.add(model, drive, None, drive < own);
            }
            for (size, one) in entry.sizes.iter().enumerate() {
                for part in &one.parts {
                    names.add(part, drive, Some(size), drive < own);
                }
            }
        }
        names
    }

    fn add(&mut self, model: &str, drive: usize, size: Option<usize>, own: bool) {
        let open = model.ends_with('*');
        let words: Vec<String> = words(model).into_iter().map(|(word, _)| word).collect();
        let Some(first) = words.first() else { return };
        let only = words.len() == 1;
        let (map, key) = match first.get(..HEAD) {
            Some(head) if open && only => (&mut self.open, head.to_owned()),
            _ => (&mut self.whole, first.clone()),
        };
        map.entry(key).or_default().push(Name { words, open, drive, size, own });
    }

    /// Of names that begin at one word the longest counts; of names that overlap the one that goes on further (`Samsung SSD 980 PRO`
    /// is no `Samsung SSD 980`).
    pub(super) fn find(&self, text: &str) -> Vec<Found> {
        let words = words(text);
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let Some(first) = self.at(&words[at..]) else {
                at += 1;
                continue;
            };
            let end = at + first.0.words.len();
            let mut inner = (at + 1..end).filter_map(|from| Some((from, self.at(&words[from..])?)));
            let further = inner.rfind(|(from, (name, _))| from + name.words.len() > end);
            let (from, (name, count)) = further.unwrap_or((at, first));
            at = from + name.words.len();
            let bytes = words[from].1.start..words[at - 1].1.end;
            found.push(Found { drive: name.drive, size: name.size, bytes, count });
        }
        found
    }

    fn at(&self, words: &[Word]) -> Option<(&Name, Option<u32>)> {
        let (first, _) = words.first()?;
        let (count, bare) = counted(first);
        [(None, first.as_str()), (count, bare)].into_iter().find_map(|(count, first)| {
            let whole = self.whole.get(first).into_iter().flatten();
            let open = first.get(..HEAD).and_then(|head| self.open.get(head)).into_iter().flatten();
            let best = whole.chain(open).filter(|name| name.begins(first, &words[1..]));
            let rank = |name: &&Name| (name.words.len(), name.own, name.length(), Reverse(name.drive));
            best.max_by_key(rank).map(|name| (name, count))
        })
    }
}

impl Name {
    fn begins(&self, first: &str, rest: &[Word]) -> bool {
        let last = self.words.len() - 1;
        let is = |at: usize, word: &str| match self.open && at == last {
            true => word.starts_with(self.words[at].as_str()),
            false => word == self.words[at],
        };
        is(0, first) && (1..=last).all(|at| rest.get(at - 1).is_some_and(|(word, _)| is(at, word)))
    }

    fn length(&self) -> usize {
        self.words.iter().map(String::len).sum()
    }
}

/// `6` and the rest of `6xpm9a3`.
fn counted(word: &str) -> (Option<u32>, &str) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    match word[digits..].strip_prefix('x') {
        Some(rest) if (1..=3).contains(&digits) && !rest.is_empty() => (word[..digits].parse().ok(), rest),
        _ => (None, word),
    }
}

/// Capacities that a text names, in bytes.
pub(super) fn capacities(text: &str) -> Vec<f64> {
    let quantities = quantities(0, text);
    let bytes = quantities.iter().filter(|quantity| quantity.unit == Unit::Bytes);
    bytes.map(|quantity| quantity.figure.value).filter(|bytes| *bytes >= 1e9).collect()
}
