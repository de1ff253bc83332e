//! A conclusion in words with its figures apart, so that many of one kind can be said in one sentence. Refuses nothing:
//! what differs in more than figures is of another kind.

use std::fmt::{Display, Formatter, Result};

/// Words in order; their text is the sentence without who it is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phrase {
    pieces: Vec<Piece>,
    size: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// The same in all of a kind.
    Words(String),
    /// Each has its own.
    Figure(String),
    /// What holds of the largest holds of all.
    Bound(String),
}

impl Phrase {
    /// Of a figure by which it is ordered among its kind.
    pub fn of_size(size: f64) -> Phrase {
        Phrase { pieces: Vec::new(), size }
    }

    /// Goes on with words.
    pub fn words(self, words: impl Into<String>) -> Phrase {
        self.with(Piece::Words(words.into()))
    }

    /// Goes on with a figure of its own.
    pub fn figure(self, figure: impl Into<String>) -> Phrase {
        self.with(Piece::Figure(figure.into()))
    }

    /// Goes on with a bound.
    pub fn bound(self, bound: impl Into<String>) -> Phrase {
        self.with(Piece::Bound(bound.into()))
    }

    fn with(mut self, piece: Piece) -> Phrase {
        match (self.pieces.last_mut(), piece) {
            (_, Piece::Words(more)) if more.is_empty() => {}
            (Some(Piece::Words(words)), Piece::Words(more)) => words.push_str(&more),
            (_, piece) => self.pieces.push(piece),
        }
        self
    }

    /// Whether both say the same but for their figures.
    pub fn is_of_kind(&self, other: &Phrase) -> bool {
        let alike = |(one, other): (&Piece, &Piece)| match (one, other) {
            (Piece::Words(one), Piece::Words(other)) => one == other,
            (Piece::Figure(_), Piece::Figure(_)) | (Piece::Bound(_), Piece::Bound(_)) => true,
            _ => false,
        };
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(alike)
    }

    /// All of one kind at once, each with its name: `costs 3.1 % +- 0.2 % (a) to 9.2 % +- 0.3 % (c) of ...`.
    pub fn joint(all: &[(&str, &Phrase)]) -> String {
        let by_size = |one: &&(&str, &Phrase), other: &&(&str, &Phrase)| one.1.size.total_cmp(&other.1.size);
        let ends = all.iter().min_by(by_size).zip(all.iter().max_by(by_size));
        let Some((least, most)) = ends else { return String::new() };
        let mut named = false;
        let pieces = least.1.pieces.iter().zip(&most.1.pieces);
        pieces.map(|(low, high)| between((least.0, low), (most.0, high), &mut named)).collect()
    }
}

/// One piece of the least and the most; the first figure says whose it is.
fn between(least: (&str, &Piece), most: (&str, &Piece), named: &mut bool) -> String {
    match (least.1, most.1) {
        (Piece::Figure(low), Piece::Figure(high)) if low != high => {
            let names = !std::mem::replace(named, true);
            let of = |name: &str| if names { format!(" ({name})") } else { String::new() };
            format!("{low}{} to {high}{}", of(least.0), of(most.0))
        }
        (_, Piece::Words(text) | Piece::Figure(text) | Piece::Bound(text)) => text.clone(),
    }
}

impl Display for Phrase {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let text = |piece: &Piece| match piece {
            Piece::Words(text) | Piece::Figure(text) | Piece::Bound(text) => text.clone(),
        };
        f.write_str(&self.pieces.iter().map(text).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Charge, Concludes, Verdict};

    fn joint(ratios: &[(f64, f64, f64)], kind: fn(f64, f64, f64) -> Phrase) -> String {
        let phrases: Vec<Phrase> =
            ratios.iter().map(|(ratio, low, high)| kind(*ratio, *low, *high)).collect();
        assert!(phrases.iter().all(|one| one.is_of_kind(&phrases[0])));
        let named: Vec<(&str, &Phrase)> = ["a", "b", "c"].into_iter().zip(&phrases).collect();
        Phrase::joint(&named)
    }

    #[test]
    fn many_of_a_kind_are_one_sentence_from_the_least_to_the_most() {
        let rate = |ratio, low, high| Verdict::of_interval(ratio, low, high, 0.02).about("X");
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
            "unresolved in X (+- 3.0 % (c) to +- 10 % (a)): the interval includes zero and reaches beyond 2 %"
        );
        let time = |ratio, low, high| Charge::of_interval(ratio, low, high, 0.02).about("the mean");
        assert_eq!(
            joint(&[(1.2, 1.1, 1.3), (1.2, 1.1, 1.3)], time),
            "adds 20 % +- 10 % to the mean",
            "one figure for all"
        );
    }

    #[test]
    fn kinds_differ_by_their_words() {
        let rate = |ratio, low, high| Verdict::of_interval(ratio, low, high, 0.02).about("X");
        let (costs, gains) = (rate(0.94, 0.93, 0.95), rate(1.06, 1.05, 1.07));
        assert!(!costs.is_of_kind(&gains) && !costs.is_of_kind(&rate(1.0, 0.9, 1.1)));
        assert!(!costs.is_of_kind(&costs.clone().words("; masked")));
    }
}
