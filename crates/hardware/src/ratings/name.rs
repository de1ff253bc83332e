//! Names of drives in texts: sequences of words of letters and digits.

use super::{NamedDrive, RatedDrive};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// Number of letters and digits after which words are cut off. No drive's name has a longer word.
const LONGEST: usize = 24;
/// Number of letters of a name's first word that are the key of [`DriveNames`].
const HEAD: usize = 4;

/// A word in lower case, and its byte range in the text.
pub type Word = (String, Range<usize>);

/// Returns the words of a text: runs of ASCII letters and digits, in lower case, of each at most
/// the first 24. The byte ranges are those of the whole words.
pub fn words_with_spans(text: &str) -> Vec<Word> {
    let pieces =
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let word = |word: &str| word[..word.len().min(LONGEST)].to_ascii_lowercase();
    pieces.map(|piece| (word(piece), place(piece)..place(piece) + piece.len())).collect()
}

#[derive(Clone, Debug)]
struct Name {
    words: Vec<String>,
    /// True if more letters and digits may follow in the last word.
    open: bool,
    drive: usize,
    size: Option<usize>,
    /// True if the name is from a user's file.
    own: bool,
}

/// Names of all drives, keyed by the first letters of their first words.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveNames(HashMap<String, Vec<Name>>);

fn head(word: &str) -> &str {
    word.get(..HEAD).unwrap_or(word)
}

impl DriveNames {
    /// Collects the names of drives, of which the first `own` are from users' files.
    pub(super) fn from_drives(drives: &[RatedDrive], own: usize) -> DriveNames {
        let mut names = DriveNames::default();
        for (drive, entry) in drives.iter().enumerate() {
            let models = entry.models.iter().map(|model| (model, None));
            let sizes = entry.sizes.iter().enumerate();
            let parts =
                sizes.flat_map(|(size, one)| one.parts.iter().map(move |part| (part, Some(size))));
            for (model, size) in models.chain(parts) {
                let words: Vec<String> =
                    words_with_spans(model).into_iter().map(|(word, _)| word).collect();
                let Some(first) = words.first() else { continue };
                let key = head(first).to_owned();
                let name =
                    Name { words, open: model.ends_with('*'), drive, size, own: drive < own };
                names.0.entry(key).or_default().push(name);
            }
        }
        names
    }

    /// Finds the drives that a text names. Of names that begin at the same word the one with most
    /// words counts, and of names that overlap the one that ends later (`Samsung SSD 980 PRO` is
    /// not a `Samsung SSD 980`).
    pub(super) fn find(&self, text: &str) -> Vec<NamedDrive> {
        let words = words_with_spans(text);
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let Some(first) = self.find_at(&words[at..]) else {
                at += 1;
                continue;
            };
            let end = at + first.0.words.len();
            let mut inner =
                (at + 1..end).filter_map(|from| Some((from, self.find_at(&words[from..])?)));
            let further = inner.rfind(|(from, (name, _))| from + name.words.len() > end);
            let (from, (name, count)) = further.unwrap_or((at, first));
            at = from + name.words.len();
            let bytes = words[from].1.start..words[at - 1].1.end;
            found.push(NamedDrive { drive: name.drive, size: name.size, bytes, count });
        }
        found
    }

    fn find_at(&self, words: &[Word]) -> Option<(&Name, Option<u32>)> {
        let (first, _) = words.first()?;
        let (count, bare) = split_count(first);
        [(None, first.as_str()), (count, bare)].into_iter().find_map(|(count, first)| {
            let mine = self.0.get(head(first)).into_iter().flatten();
            let rank =
                |name: &&Name| (name.words.len(), name.own, name.length(), Reverse(name.drive));
            let best = mine.filter(|name| name.begins(first, &words[1..])).max_by_key(rank);
            best.map(|name| (name, count))
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

/// Splits a word such as `6xpm9a3` into a count of up to three digits and the rest. `None` and the
/// whole word if it has no such count.
fn split_count(word: &str) -> (Option<u32>, &str) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    match word[digits..].strip_prefix('x') {
        Some(rest) if (1..=3).contains(&digits) && !rest.is_empty() => {
            (word[..digits].parse().ok(), rest)
        }
        _ => (None, word),
    }
}
