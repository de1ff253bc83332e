//! Rules on what sentences conclude: S1 to S7 and M1 to M3. Each needs structure that ties the sentence to figures; without it
//! the claim cannot be checked, which is no finding.

pub mod about;
pub mod better;
pub mod median;
pub mod method;
pub mod noise;
pub mod order;
pub(in crate::rule) mod ranges;
pub mod unbacked;
pub mod unused;
pub mod within;

use crate::link::mentions;
use crate::page::Page;
use crate::page::Spot;
use crate::prose::{Clause, Topic, tells_speed, topic};
use std::cell::Cell;

/// The spot of a clause's first figure, or of the clause.
pub(super) fn spot(clause: &Clause) -> Spot {
    clause
        .percents()
        .next()
        .or(clause.figures.first())
        .map_or(Spot::new(clause.line, clause.bytes.clone()), |figure| figure.figure.spot)
}

/// Whether sentences speak of speed; of one with many clauses it is asked once.
#[derive(Default)]
pub(super) struct SpeedOfSentences {
    last: Cell<Option<(usize, usize, bool)>>,
}

impl SpeedOfSentences {
    pub(super) fn tell(&self, page: &Page, clause: &Clause) -> bool {
        let (line, start) = (clause.line, clause.sentence.start);
        let known = self.last.get().filter(|(of, from, _)| (*of, *from) == (line, start));
        let (.., tells) = known.unwrap_or_else(|| (line, start, tells_speed(clause.sentence(page))));
        self.last.set(Some((line, start, tells)));
        tells
    }
}

/// Whether bytes of a line stand in quotation marks: what they say is of others, or only called so.
pub(super) fn is_quoted(line: &str, bytes: std::ops::Range<usize>) -> bool {
    let (Some(before), Some(behind)) = (line.get(..bytes.start), line.get(bytes.end..)) else { return false };
    let pair = |(opens, closes): &(char, char)| {
        let last = before.rfind([*opens, *closes]);
        let open = last.is_some_and(|at| before[at..].starts_with(*opens));
        let next = behind.find([*opens, *closes]);
        open && next.is_some_and(|at| behind[at..].starts_with(*closes))
    };
    let drawn = before.matches('"').count() % 2 == 1 && behind.contains('"');
    drawn || [('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')].iter().any(pair)
}

/// What a clause is about: its own topic, else those of the clauses before it in the sentence.
pub(super) fn scope(page: &Page, clause: &Clause) -> Vec<Topic> {
    let own = topic(clause.text(page));
    if !own.is_empty() {
        return vec![own];
    }
    let before = page.line(clause.line).get(clause.sentence.start..clause.bytes.start).unwrap_or("");
    let pieces = before.split([',', '，', ':', '：', '、']).map(topic);
    pieces.filter(|topic| !topic.is_empty()).collect()
}

/// Whether a text names either of two things.
pub(super) fn names_one(text: &str, names: &[String; 2]) -> bool {
    mentions(text, &names[0], &names[1]) || mentions(text, &names[1], &names[0])
}
