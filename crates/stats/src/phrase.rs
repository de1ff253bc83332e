//! A conclusion in words with its figures separate, so that several of one kind become one
//! sentence. No conclusion is refused: one that differs in more than figures is of another kind.

use super::alike;
use std::fmt::{Display, Formatter, Result};

/// A sentence in pieces: words, and figures that may differ between phrases of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phrase {
    pieces: Vec<PhrasePiece>,
    size: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum PhrasePiece {
    /// Words that are equal in all phrases of a kind, except for numbers.
    Words(String),
    /// Figure of the phrase's own, with the size by which figures are ordered.
    Figure(String, f64),
    /// Bound (`1.5 %` in `no difference above 1.5 %`). That of the largest phrase holds for all
    /// phrases of the kind.
    Bound(String),
    /// Interval of an unresolved conclusion, with its size. Of several, the widest is enough.
    Width(String, f64),
}

impl PhrasePiece {
    fn piece_text(&self) -> &str {
        match self {
            PhrasePiece::Words(text)
            | PhrasePiece::Figure(text, _)
            | PhrasePiece::Bound(text)
            | PhrasePiece::Width(text, _) => text,
        }
    }
}

impl Phrase {
    /// Starts a phrase that is ordered by this size among its kind.
    pub fn of_size(size: f64) -> Phrase {
        Phrase { pieces: Vec::new(), size }
    }

    /// Returns the size by which the phrase is ordered.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Appends words, which are the same in all phrases of a kind, except for numbers.
    pub fn with_words(self, words: impl Into<String>) -> Phrase {
        self.with_piece(PhrasePiece::Words(words.into()))
    }

    /// Appends a figure whose size is the size of the phrase.
    pub fn with_figure(self, figure: impl Into<String>) -> Phrase {
        let size = self.size;
        self.with_piece(PhrasePiece::Figure(figure.into(), size))
    }

    /// Appends a figure that is compared by `size`, not by the size of the phrase.
    pub fn figure_of(self, figure: impl Into<String>, size: f64) -> Phrase {
        self.with_piece(PhrasePiece::Figure(figure.into(), size))
    }

    /// Appends a bound. Of phrases that are joined, only the bound of the largest is printed.
    pub fn bound(self, bound: impl Into<String>) -> Phrase {
        self.with_piece(PhrasePiece::Bound(bound.into()))
    }

    /// Appends an interval. Of phrases that are joined, only that of the largest is printed, with
    /// `at the widest`.
    pub fn widest(self, interval: impl Into<String>) -> Phrase {
        let size = self.size;
        self.with_piece(PhrasePiece::Width(interval.into(), size))
    }

    fn with_piece(mut self, piece: PhrasePiece) -> Phrase {
        match (self.pieces.last_mut(), piece) {
            (_, PhrasePiece::Words(more)) if more.is_empty() => {}
            (Some(PhrasePiece::Words(words)), PhrasePiece::Words(more)) => words.push_str(&more),
            (_, piece) => self.pieces.push(piece),
        }
        self
    }

    /// Replaces `from` by `to` in the words of the phrase; figures stay.
    pub fn reworded(mut self, from: &str, to: &str) -> Phrase {
        for piece in &mut self.pieces {
            if let PhrasePiece::Words(words) = piece {
                *words = words.replace(from, to);
            }
        }
        self
    }

    /// Returns true if both phrases are equal except for figures, and for numbers among the words.
    pub fn is_of_kind(&self, other: &Phrase) -> bool {
        let alike = |(one, other): (&PhrasePiece, &PhrasePiece)| match (one, other) {
            (PhrasePiece::Words(one), PhrasePiece::Words(other)) => alike::is_alike(one, other),
            (PhrasePiece::Figure(..), PhrasePiece::Figure(..))
            | (PhrasePiece::Bound(_), PhrasePiece::Bound(_))
            | (PhrasePiece::Width(..), PhrasePiece::Width(..)) => true,
            _ => false,
        };
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(alike)
    }

    /// Joins phrases of one kind, each given with its name, into one sentence. Where figures differ
    /// it gives the least and the largest, the first time with their names: `costs 3.1 % +- 0.2 %
    /// (a) to 9.2 % +- 0.3 % (c) of ...`.
    pub fn joint(all: &[(&str, &Phrase)]) -> String {
        let Some((_, first)) = all.first() else { return String::new() };
        let most = all.iter().max_by(|one, other| one.1.size.total_cmp(&other.1.size));
        let mut named = false;
        let at = |index: usize| {
            let pieces: Vec<(&str, &PhrasePiece)> = all
                .iter()
                .filter_map(|(name, phrase)| Some((*name, phrase.pieces.get(index)?)))
                .collect();
            let of_most = most.and_then(|(_, phrase)| phrase.pieces.get(index));
            join_pieces(&pieces, of_most, &mut named)
        };
        (0..first.pieces.len()).map(at).collect()
    }
}

/// Joins the pieces at one position of all phrases, each given with its phrase's name. `of_most` is
/// the piece of the largest phrase. Figures that differ are printed with names unless `named` is
/// already true; it then becomes true.
fn join_pieces(
    pieces: &[(&str, &PhrasePiece)],
    of_most: Option<&PhrasePiece>,
    named: &mut bool,
) -> String {
    let sized = |piece: &PhrasePiece| match piece {
        PhrasePiece::Figure(_, size) | PhrasePiece::Width(_, size) => *size,
        PhrasePiece::Words(_) | PhrasePiece::Bound(_) => 0.0,
    };
    let by_size = |one: &&(&str, &PhrasePiece), other: &&(&str, &PhrasePiece)| {
        sized(one.1).total_cmp(&sized(other.1))
    };
    let ends = pieces.iter().min_by(by_size).zip(pieces.iter().max_by(by_size));
    match (ends, of_most) {
        (Some((least, most)), Some(PhrasePiece::Figure(..)))
            if least.1.piece_text() != most.1.piece_text() =>
        {
            let names = !std::mem::replace(named, true);
            let of = |one: &(&str, &PhrasePiece)| {
                if names { whose(one.1.piece_text(), one.0) } else { one.1.piece_text().to_owned() }
            };
            format!("{} to {}", of(least), of(most))
        }
        (Some((least, most)), Some(PhrasePiece::Width(..)))
            if least.1.piece_text() != most.1.piece_text() =>
        {
            format!("{} at the widest", most.1.piece_text())
        }
        (_, Some(PhrasePiece::Words(_))) => {
            alike::merge_texts(&pieces.iter().map(|one| one.1.piece_text()).collect::<Vec<_>>())
        }
        (_, piece) => piece.map_or_else(String::new, |piece| piece.piece_text().to_owned()),
    }
}

/// Appends a name to a figure: `3.1 % +- 0.2 % (a)`, `88 % (75 to 94 %, a)`.
fn whose(figure: &str, name: &str) -> String {
    match figure.strip_suffix(')') {
        Some(open) => format!("{open}, {name})"),
        None => format!("{figure} ({name})"),
    }
}

impl Display for Phrase {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&self.pieces.iter().map(PhrasePiece::piece_text).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Charge, Concludes, Verdict};

    fn joint(ratios: &[(f64, f64, f64)], kind: fn(f64, f64, f64) -> Phrase) -> String {
        let phrases: Vec<Phrase> =
            ratios.iter().map(|(ratio, low, high)| kind(*ratio, *low, *high)).collect();
        assert!(phrases.iter().all(|one| one.is_of_kind(&phrases[0])));
        let named: Vec<(&str, &Phrase)> = ["a", "b", "c"].into_iter().zip(&phrases).collect();
        Phrase::joint(&named)
    }

    #[test]
    fn many_of_a_kind_are_one_sentence_from_the_least_to_the_most() {
        let rate =
            |ratio, low, high| Verdict::of_interval(ratio, low, high, 0.02).phrase_about("X");
        assert_eq!(
            joint(&[(0.94, 0.93, 0.95), (0.9, 0.89, 0.91), (0.97, 0.96, 0.98)], rate),
            "costs 3.0 % +- 1.0 % (c) to 10.0 % +- 1.0 % (b) of X"
        );
        assert_eq!(
            joint(&[(1.0, 0.99, 1.01), (1.0, 0.99, 1.005), (1.001, 0.985, 1.01)], rate),
            "no difference above 1.5 % in X"
        );
        assert_eq!(
            joint(&[(1.0, 0.9, 1.1), (1.0, 0.96, 1.03), (1.0, 0.97, 1.03)], rate),
            "unresolved in X (+- 10 % at the widest): the interval includes zero and reaches beyond 2 %"
        );
        let time =
            |ratio, low, high| Charge::of_interval(ratio, low, high, 0.02).phrase_about("the mean");
        assert_eq!(
            joint(&[(1.2, 1.1, 1.3), (1.2, 1.1, 1.3)], time),
            "adds 20 % +- 10 % to the mean",
            "one figure for all"
        );
    }

    #[test]
    fn kinds_differ_by_their_words() {
        let rate =
            |ratio, low, high| Verdict::of_interval(ratio, low, high, 0.02).phrase_about("X");
        let (costs, gains) = (rate(0.94, 0.93, 0.95), rate(1.06, 1.05, 1.07));
        assert!(!costs.is_of_kind(&gains) && !costs.is_of_kind(&rate(1.0, 0.9, 1.1)));
        assert!(!costs.is_of_kind(&costs.clone().with_words("; masked")));
    }
}
