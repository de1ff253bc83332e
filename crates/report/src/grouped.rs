//! Conclusions about many stacks that differ only in figures, as one sentence: a grid of cells
//! would otherwise repeat it a dozen times. Each stack keeps its own figures in the table, and its
//! own sentence in JSON.

use super::verdicts::VerdictSentence;
use iotax_analysis::comparison_subject as who_against;
use iotax_stats::Phrase;

/// Least number of results that are grouped; fewer get a sentence each. Their figures read better
/// next to their names, those of a bill's layers above all.
pub(super) const FEW: usize = 4;
/// Least number of inconclusive results that are grouped, as their figures say nothing.
const FEW_OPEN: usize = 2;
/// Largest number of exceptions in `every stack but ...`; with more, all names are shorter.
const MOST_EXCEPTIONS: usize = 2;

/// Most names in a sentence; the table has all.
const MOST_NAMED: usize = 24;

pub(super) struct One<'a> {
    pub(super) stack: &'a str,
    pub(super) against: &'a str,
    /// Quantity that the conclusion is about. Only conclusions about the same one are grouped.
    pub(super) quantity: &'a str,
    pub(super) class: &'static str,
    pub(super) emulated: bool,
    pub(super) phrase: &'a Phrase,
    pub(super) sentence: &'a str,
}

impl One<'_> {
    fn is_like(&self, other: &One) -> bool {
        let [one, two] =
            [self, other].map(|one| (one.class, one.against, one.quantity, one.emulated));
        one == two && self.phrase.is_of_kind(other.phrase)
    }
}

/// Returns the sentences in order; a group takes the position of its first member. `noun` is what
/// each conclusion is about: `stack` or `state`.
pub(super) fn group_sentences(all: &[One], noun: &str) -> Vec<VerdictSentence> {
    sized_sentences(all, noun).into_iter().map(|(said, _)| said).collect()
}

/// Returns the sentences as [`group_sentences`] does, each with the size of the largest of its
/// figures.
pub(super) fn sized_sentences(all: &[One], noun: &str) -> Vec<(VerdictSentence, f64)> {
    let mut kinds: Vec<Vec<&One>> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|kind| kind[0].is_like(one)) {
            Some(kind) => kind.push(one),
            None => kinds.push(vec![one]),
        }
    }
    let few = |class: &str| if ["open", "absent"].contains(&class) { FEW_OPEN } else { FEW };
    let alone = |one: &&One| VerdictSentence { class: one.class, text: one.sentence.to_owned() };
    let said = |kind: &Vec<&One>| match kind.len() {
        many if many >= few(kind[0].class) => {
            let size = kind.iter().map(|one| one.phrase.size()).fold(0.0, f64::max);
            vec![(joint_sentence(kind, all, noun), size)]
        }
        _ => kind.iter().map(|one| (alone(one), one.phrase.size())).collect(),
    };
    kinds.iter().flat_map(said).collect()
}

fn joint_sentence(kind: &[&One], all: &[One], noun: &str) -> VerdictSentence {
    let first = kind[0];
    let others: Vec<&str> = all
        .iter()
        .filter(|one| one.quantity == first.quantity && !one.is_like(first))
        .map(|one| one.stack)
        .collect();
    let names: Vec<&str> = kind.iter().map(|one| one.stack).collect();
    let who = match others.as_slice() {
        _ if names.len() < FEW => names.join(", "),
        [] => format!("every {noun}"),
        [..] if others.len() <= MOST_EXCEPTIONS && others.len() < names.len() => {
            format!("every {noun} but {}", others.join(", "))
        }
        [..] if names.len() > MOST_NAMED => {
            format!("{} of {} {noun}s", names.len(), names.len() + others.len())
        }
        [..] => format!("each of {}", names.join(", ")),
    };
    let phrases: Vec<(&str, &Phrase)> = kind.iter().map(|one| (one.stack, one.phrase)).collect();
    let who = who_against(&who, first.against, first.emulated);
    VerdictSentence { class: first.class, text: format!("{who}: {}", Phrase::joint(&phrases)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_stats::{Concludes, Verdict};

    /// Stacks with their ratios, each +- 1 %.
    fn said(ratios: &[(&str, f64)]) -> Vec<String> {
        said_of("cost", ratios)
    }

    fn said_of(class: &'static str, ratios: &[(&str, f64)]) -> Vec<String> {
        let phrase = |ratio: f64| {
            Verdict::of_interval(ratio, ratio - 0.01, ratio + 0.01, 0.02).phrase_about("X")
        };
        let phrases: Vec<Phrase> = ratios.iter().map(|(_, ratio)| phrase(*ratio)).collect();
        let all: Vec<One> = ratios
            .iter()
            .zip(&phrases)
            .map(|((stack, _), phrase)| One {
                stack,
                against: "file",
                quantity: "X",
                class,
                emulated: false,
                phrase,
                sentence: "by itself",
            })
            .collect();
        group_sentences(&all, "stack").into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn what_carries_no_conclusion_is_said_once() {
        let two = [("a", 1.0), ("b", 1.0)];
        let said_once = ["a, b against file: no difference above 1.0 % in X".to_owned()];
        assert_eq!(said_of("open", &two), said_once);
        assert_eq!(said_of("none", &two), ["by itself"; 2]);
    }

    #[test]
    fn many_are_named_the_shorter_way() {
        let cost = [("a", 0.9), ("b", 0.8), ("c", 0.7)];
        let none = [("e", 1.0), ("f", 1.0), ("g", 1.0), ("h", 1.0)];
        let costs = "costs 10.0 % +- 1.0 % (a) to 40.0 % +- 1.0 % (d) of X";
        assert_eq!(said(&cost), ["by itself"; 3]);
        let four = [&cost[..], &[("d", 0.6)]].concat();
        assert_eq!(said(&four), [format!("every stack against file: {costs}")]);
        let and_one = [&cost[..2], &none[..1], &cost[2..], &[("d", 0.6)]].concat();
        assert_eq!(
            said(&and_one),
            [format!("every stack but e against file: {costs}").as_str(), "by itself"]
        );
        let mixed = [&four[..], &none[..], &[("i", 1.5)]].concat();
        assert_eq!(
            said(&mixed),
            [
                format!("each of a, b, c, d against file: {costs}").as_str(),
                "each of e, f, g, h against file: no difference above 1.0 % in X",
                "by itself"
            ]
        );
        let names: Vec<String> = (0..30).map(|at| format!("s{at}")).collect();
        let crowd: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        assert_eq!(
            said(&[&crowd[..], &four[..]].concat())[0],
            "30 of 34 stacks against file: no difference above 1.0 % in X"
        );
    }
}
