//! Changes that a sentence states beside both of their ends: `from 25.99k to 20.39k IOPS (18.4 % less)`, `15 % faster (115 vs 100
//! MB/s)`, `the host does 520 MB/s and the VM 480 MB/s, a loss of 7.7 %`, `480 MB/s, 7.7 % slower than the host's 520 MB/s`, `20k / 32k =
//! 62.5%`. Figures and percentage stand next to each other with nothing between them but words that tie them, or names: what stands further
//! apart may be of something else.

use super::sentences::hedged;
use super::words::{
    AGAINST, CHANGES, FOLLOWS, FROM, GAIN, GLUE, LOSS, OF_OTHER_THINGS, OF_OTHERS, OF_PERFORMANCE, READ,
    SETTINGS, SPEED, TIMES, TO, VERSUS, WRITE, is, lists, says,
};
use super::{Ends, Form, Link, Why, comparable, is_ratio};
use crate::number::{Hedge, Quantity, Unit};
use crate::page::Page;
use crate::prose::{Clause, topic};
use std::ops::Range;

/// The links of a page's sentences.
pub(super) fn links(page: &Page, clauses: &[Clause]) -> Vec<Link> {
    let mut links = Vec::new();
    let mut before: Vec<Before> = Vec::new();
    for of_line in clauses.chunk_by(|one, other| one.line == other.line) {
        let at = of_line[0].line;
        let line = unmarked(page.line(at));
        // A sentence of another paragraph is of something else.
        if before.last().is_some_and(|last| at > last.line + 1) {
            before.clear();
        }
        for of_sentence in of_line.chunk_by(|one, other| one.sentence == other.sentence) {
            let figures: Vec<Quantity> =
                of_sentence.iter().flat_map(|clause| &clause.figures).copied().collect();
            let sentence = Sentence { page, line: &line, bytes: of_sentence[0].sentence.clone() };
            let found = links.len();
            if figures.len() >= 3 && !sentence.is_of_settings() {
                of_figures(&sentence, &figures, &mut links);
            }
            if links.len() == found && line.len() < LONGEST_LINE {
                links.extend(sentence.lone(&figures, &before));
            }
            before.push(Before {
                line: at,
                ends: sentence.ends_of(&figures),
                text: sentence.text().to_owned(),
            });
        }
    }
    links
}

/// The sentence with figures before another.
struct Before {
    line: usize,
    /// What may be ends of a change.
    ends: Vec<Quantity>,
    text: String,
}

/// A line without the marks that make parts of it bold or code, each replaced by a space so that all stands where it was.
pub(super) fn unmarked(line: &str) -> String {
    line.chars()
        .map(|letter| match letter {
            '`' | '*' => ' ',
            letter => letter,
        })
        .collect()
}

/// A sentence of a line whose marks are blank.
pub(super) struct Sentence<'a> {
    pub page: &'a Page,
    pub line: &'a str,
    pub bytes: Range<usize>,
}

/// Three figures in a row, of which two are the ends of a change and one says how large it is.
fn of_figures(sentence: &Sentence, figures: &[Quantity], links: &mut Vec<Link>) {
    let mut at = 0;
    while let Some(three) = figures.get(at..at + 3) {
        let [first, second, third] = [three[0], three[1], three[2]];
        let link = match [first, second, third].map(|one| is_ratio(&one)) {
            [false, false, true] => sentence.change([first, second], third, figures.len()),
            [true, false, false] => sentence.change([second, third], first, figures.len()),
            [false, true, false] => {
                sentence.share_of([first, third], second).or_else(|| sentence.than([first, third], second))
            }
            // `53.82 % more (from 56.89 % to 87.51 %)`.
            [true, true, true] if sentence.opens(&first, &second) => {
                sentence.change([second, third], first, 0)
            }
            _ => None,
        };
        at += if link.is_some() { 3 } else { 1 };
        links.extend(link);
    }
}

/// How two figures are told to be ends of one change.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tie {
    /// `from 100 to 115`, `100 -> 115`: the second is what became of the first.
    Became,
    /// `115 vs 100`: which is the base the words of the change tell.
    Against,
    /// `the host does 520 MB/s and the VM 480 MB/s`: each is of a system that the sentence names.
    Each,
    /// `480 MB/s, 8 % slower than the host's 520 MB/s`: the second is the base.
    Than,
}

impl Sentence<'_> {
    /// The change of two ends in a sentence of so many figures.
    fn change(&self, ends: [Quantity; 2], derived: Quantity, figures: usize) -> Option<Link> {
        let [first, second] = ends;
        let within_pair = self.between(&first, &second)?;
        let is_behind = derived.figure.spot.start > second.figure.spot.start;
        let of_each =
            || (figures == 3 && is_behind && self.is_of_each(&ends, within_pair)).then_some(Tie::Each);
        let tie = self.tie(&first, within_pair).or_else(of_each)?;
        let glue = match is_behind {
            true => self.between(&second, &derived)?,
            false => self.between(&derived, &first)?,
        };
        // `603 % (577 % -> 603 %)` is the end itself.
        let restated =
            ends.iter().any(|end| end.unit == derived.unit && end.figure.value == derived.figure.value);
        let sound = is_told(&derived)
            && !restated
            && ends.iter().all(|end| matches!(end.hedge, Hedge::Plain | Hedge::About))
            && (second.unit == Unit::Nanoseconds || is_behind || !says(glue, TIMES))
            && (is_glue(if tie == Tie::Each { behind_a_name(glue) } else { glue })
                || !is_behind && self.in_brackets(&ends, glue))
            && match tie {
                Tie::Each => self.ends_each(&derived),
                _ => self.ends_behind(&derived, is_behind),
            };
        let tight = glue.trim().is_empty()
            || glue.contains(['(', '（', '[', '—', '–', ':', '：'])
            || glue.trim() == ",";
        sound.then(|| self.link_of(ends, derived, tie, tight)).flatten()
    }

    /// Whether two ends stand alone in brackets behind their change: `2.3x more reads than the other (105k vs 46k)`.
    fn in_brackets(&self, ends: &[Quantity; 2], glue: &str) -> bool {
        let words = glue.trim_end().strip_suffix(['(', '（']);
        let closes = self
            .behind(&ends[1])
            .trim_start_matches(|letter: char| letter.is_alphabetic() || " /μµ".contains(letter));
        words.is_some_and(|words| tells(words) && words.len() < 80 && !words.contains([',', ';', '(']))
            && closes.starts_with([')', '）'])
    }

    /// Changes of the only two results before them in a sentence, or in the one before it, that are told without being tied to them by
    /// the words beside: `Here it does 140 MB/s, but in the VM it falls to 28 MB/s, which is 80 % less`.
    fn lone(&self, figures: &[Quantity], before: &[Before]) -> Vec<Link> {
        let mut found = Vec::new();
        let mut from = 0;
        for (at, derived) in figures.iter().enumerate().filter(|(_, one)| is_ratio(one)) {
            // `from 100 % to 145 %`.
            if derived.figure.value == 100.0 && figures.get(at + 1).is_some_and(is_ratio) {
                continue;
            }
            let own = self.ends_of(&figures[from..at]);
            let counts = |one: &Quantity| one.unit == Unit::Bare;
            let line = derived.figure.spot.index();
            // In another line only rates are of the same.
            let of_same = |one: &Before| one.line == line || one.ends.iter().all(|end| end.unit.is_rate());
            let last = before.last().filter(|last| of_same(last));
            // One of them may stand in the sentence before; what is the same is no other end.
            let other = |own: &Quantity| {
                let one =
                    before.iter().rev().take(2).filter(|one| of_same(one)).map(|one| one.ends.as_slice());
                one.take_while(|ends| ends.len() == 1)
                    .map(|ends| ends[0])
                    .find(|one| !one.interval().meets(own.interval()))
            };
            let (ends, near) = match own.as_slice() {
                [] if from == 0 => (last.map(|last| last.ends.clone()).unwrap_or_default(), false),
                [one] if from == 0 && !counts(one) => (other(one).into_iter().chain([*one]).collect(), false),
                _ => (own, true),
            };
            from = at + 1;
            if let Ok([first, second]) = <[Quantity; 2]>::try_from(ends) {
                let sentence = before.last().filter(|_| !near).map_or("", |last| last.text.as_str());
                found.extend(self.lone_of([first, second], *derived, sentence));
            }
        }
        found
    }

    /// The change of two ends of this sentence, or of it and of the one before.
    fn lone_of(&self, ends: [Quantity; 2], derived: Quantity, before: &str) -> Option<Link> {
        let [first, second] = ends;
        let sentence = &format!("{before} {}", self.text());
        let around = self.around(&derived);
        let compares = tells(&around)
            || says(&around, OF_PERFORMANCE)
            || before.is_empty() && derived.unit == Unit::Times;
        let far =
            first.figure.value.max(second.figure.value) > 5.0 * first.figure.value.min(second.figure.value);
        let counts = ends.iter().all(|one| one.unit == Unit::Bare);
        let times = derived.unit == Unit::Times;
        // `less than last year` is of a third.
        let than = THAN.iter().any(|than| self.behind(&derived).contains(than));
        let two_loads = than || says(sentence, READ) && says(sentence, WRITE);
        let of_others = two_loads || says(&around, OF_OTHER_THINGS) || says(sentence, SETTINGS);
        let sound = is_told(&derived)
            && compares
            && !of_others
            && (!counts || (!far || times) && tells_speed(self.line));
        sound.then_some(())?;
        let pairs = alike(first, second);
        let mut read = pairs.iter().flat_map(|pair| readings(pair, hedged(derived), Tie::Against));
        let [one, other] = ends.map(|end| self.page.quote(end.figure.spot));
        let of = format!("the change of {one} and {other}");
        let found = read
            .find(|link| link.holds())
            .or_else(|| meant(pairs.first()?, hedged(derived), Tie::Against, &around))
            .or_else(|| says(&around, OF_PERFORMANCE).then(|| share(pairs.first(), hedged(derived)))?)?;
        Some(Link { of, ..found })
    }

    pub fn text(&self) -> &str {
        self.line.get(self.bytes.clone()).unwrap_or("")
    }

    /// The figures that may be ends of a change: rates, else what took time, else counts that are no years.
    fn ends_of(&self, figures: &[Quantity]) -> Vec<Quantity> {
        let may = |one: &&Quantity| !is_ratio(one) && one.hedge != Hedge::PlusMinus;
        let is_rate =
            |one: &Quantity| matches!(one.unit, Unit::BytesPerSecond | Unit::PerSecond | Unit::BitsPerSecond);
        let is_large = |one: &Quantity| {
            one.unit == Unit::Bare && one.figure.value >= 100.0 && !is_year(one) && !is_size(one)
        };
        let of = |is: &dyn Fn(&Quantity) -> bool| -> Vec<Quantity> {
            figures.iter().filter(may).filter(|one| is(one)).copied().collect()
        };
        let is_time = |one: &Quantity| {
            one.unit == Unit::Nanoseconds
                && (says(self.text(), TIMES) || one.decimals > 0 && says(self.text(), SPEED))
        };
        let kinds: [&dyn Fn(&Quantity) -> bool; 3] = [&is_rate, &is_time, &is_large];
        kinds.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The words beside a figure, up to stops and other figures.
    pub fn around(&self, figure: &Quantity) -> String {
        let ends = |letter: char| ".,;:!?()。，；：！？（）0123456789".contains(letter);
        let before = self.before(figure).trim_end_matches([' ', '~', '+', '-', '−', '(']);
        let from =
            before.rfind(ends).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let behind = self.behind(figure);
        let to = behind.find(ends).unwrap_or(behind.len());
        format!("{} {}", &before[from..], &behind[..to])
    }

    /// `30.57 s, 95.35 % of 32.06 s`.
    fn share_of(&self, ends: [Quantity; 2], derived: Quantity) -> Option<Link> {
        let [first, second] = ends;
        let of = matches!(self.between(&derived, &second)?.trim(), "of" | "от" | "von" | "de" | "/");
        let beside = self.between(&first, &derived)?.trim();
        let sound =
            of && matches!(beside, "," | "(" | "" | "=" | "is" | "or" | "-") && comparable(&first, &second);
        sound.then(|| link(&[first, second], hedged(derived), Form::Share, 0))
    }

    /// The change of a figure from another behind it: `480 MB/s, 8 % slower than the host's 520 MB/s`.
    fn than(&self, ends: [Quantity; 2], derived: Quantity) -> Option<Link> {
        let [first, second] = ends;
        let (glue, base) = (self.between(&first, &derived)?, self.between(&derived, &second)?);
        let than = THAN.iter().find_map(|than| base.split_once(than));
        let (change, name) = than?;
        let sound = is_told(&derived)
            && ends.iter().all(|end| end.hedge == Hedge::Plain)
            && is_glue(glue)
            && tells(change)
            && is_glue(change)
            && name.len() <= LONGEST_NAME
            && !name.contains([',', ';', '('])
            && topic(name).is_empty();
        sound.then(|| self.link_of(ends, derived, Tie::Than, false)).flatten()
    }

    fn link_of(&self, ends: [Quantity; 2], derived: Quantity, tie: Tie, tight: bool) -> Option<Link> {
        let near = self.near(&derived, &ends);
        let of = self.line.get(ends[0].figure.spot.start as usize..ends[1].figure.spot.end as usize)?;
        let pairs = alike(ends[0], ends[1]);
        let pairs: Vec<_> = pairs.into_iter().filter(|pair| tight || self.is_measured(pair)).collect();
        let mut read = pairs.iter().flat_map(|pair| readings(pair, hedged(derived), tie));
        let held = read.find(|link| link.holds());
        let found = held.or_else(|| meant(pairs.first()?, hedged(derived), tie, &near))?;
        Some(Link { of: format!("the change of {of}"), ..found })
    }

    /// Whether a bracket opens between two figures.
    fn opens(&self, left: &Quantity, right: &Quantity) -> bool {
        self.between(left, right).is_some_and(|text| text.contains(['(', '（']))
    }

    /// What stands between two figures.
    fn between(&self, left: &Quantity, right: &Quantity) -> Option<&str> {
        self.line.get(left.figure.spot.end as usize..right.figure.spot.start as usize)
    }

    fn behind(&self, figure: &Quantity) -> &str {
        self.line.get(figure.figure.spot.end as usize..self.bytes.end).unwrap_or("")
    }

    fn before(&self, figure: &Quantity) -> &str {
        self.line.get(self.bytes.start..figure.figure.spot.start as usize).unwrap_or("")
    }

    fn tie(&self, first: &Quantity, between: &str) -> Option<Tie> {
        let between = without_brackets(between).to_lowercase();
        let between = between.trim().trim_start_matches([',', '，']).trim_end_matches(['~', '≈']).trim();
        let between =
            HEDGES.iter().fold(between, |rest, word| rest.strip_suffix(word).unwrap_or(rest).trim_end());
        let before =
            self.before(first).trim_end().trim_end_matches(['~', '≈', '(']).trim_end().to_lowercase();
        let before = HEDGES
            .iter()
            .fold(before.as_str(), |rest, word| rest.strip_suffix(word).unwrap_or(rest).trim_end());
        let arrow = matches!(between, "->" | "→" | "=>" | "-->" | "⇒" | "➜" | "➡");
        let led = last_word(before).is_some_and(|word| is(word, FROM))
            || VERBS_WITHIN.iter().any(|verb| between.ends_with(verb));
        if arrow || (is(between, TO) && led) {
            Some(Tie::Became)
        } else if is(between, VERSUS) {
            Some(Tie::Against)
        } else {
            None
        }
    }

    /// Whether the change ends with its figure, or a word that says which way it goes: `(15 % CPU)` and `90 % of the link` are of
    /// something else.
    fn ends_behind(&self, derived: &Quantity, is_behind: bool) -> bool {
        let behind = self.behind(derived);
        let signed = self.before(derived).ends_with(['+', '-', '−']);
        let (rest, has_words) = behind_words(behind, is_change);
        let told = signed || !is_behind || has_words;
        let ends = rest.is_empty()
            || rest.starts_with([')', ']', ',', '.', ';', ':', '，', '）', '。', '(', '、', '—', '–'])
            || first_word(rest).is_some_and(|word| is(&word.to_lowercase(), FOLLOWS));
        // In brackets right behind the ends it is their change without a word of it.
        let bracketed = behind.starts_with([')', ']', '）']);
        (!is_behind || ends) && (told || bracketed || tells(self.glue_before(derived)))
    }

    /// Whether two figures are each of a system that stands beside it, of one load: `520 MB/s on the host and 480 MB/s in the VM`.
    fn is_of_each(&self, ends: &[Quantity; 2], between: &str) -> bool {
        let sentence = self.text().to_lowercase();
        let compared = says(between, AGAINST);
        // `whereas` and `than` compare where they stand between the two.
        let others = lists(&sentence) & OF_OTHERS != 0 && !compared;
        let lower = between.to_lowercase();
        let mut words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        ends.iter().all(|one| one.unit != Unit::Bare)
            && between.len() <= 2 * LONGEST_NAME
            && words.any(|word| !["and", "to", "or", "und", "и"].contains(&word))
            && topic(between).is_empty()
            && topic(self.behind(&ends[1])).is_empty()
            && (compared || !tells(between))
            && !others
    }

    /// Whether a change of two systems is told to be one, and ends with its figure: `, a loss of 7.7 %.`, `, 7.7 % less`.
    fn ends_each(&self, derived: &Quantity) -> bool {
        let (rest, has_words) = behind_words(self.behind(derived), tells);
        (has_words || tells(self.glue_before(derived)))
            && (rest.is_empty() || rest.starts_with([')', '.', ';', '。', ',', '，']))
    }

    /// The few words right before a figure.
    fn glue_before(&self, derived: &Quantity) -> &str {
        let before = self.before(derived);
        let from = before.rfind(|letter: char| letter.is_ascii_digit()).map_or(0, |at| at + 1);
        &before[from..]
    }

    /// From the first of three figures to behind the last, with its word.
    fn near(&self, derived: &Quantity, ends: &[Quantity; 2]) -> String {
        let spots = [derived, &ends[0], &ends[1]].map(|one| one.figure.spot);
        let start = spots.iter().map(|spot| spot.start as usize).min().unwrap_or(0);
        let end = spots.iter().map(|spot| spot.end as usize).max().unwrap_or(0);
        let (rest, _) = behind_words(self.line.get(end..self.bytes.end).unwrap_or(""), is_change);
        self.line.get(start..self.bytes.end - rest.len()).unwrap_or("").trim().to_owned()
    }

    /// Rates are results; times are where the sentence speaks of what took them, plain numbers where it speaks of speed.
    fn is_measured(&self, pair: &[Quantity; 2]) -> bool {
        let lower = self.text().to_lowercase();
        match pair[0].unit {
            Unit::BytesPerSecond | Unit::PerSecond | Unit::BitsPerSecond => true,
            Unit::Nanoseconds => says(&lower, TIMES),
            Unit::Bare => {
                pair.iter().all(|one| one.figure.value >= 100.0 && !is_size(one)) && tells_speed(self.text())
            }
            _ => false,
        }
    }

    /// Whether the sentence speaks of what was set: `raising the limit from 100 to 200 MB/s`.
    fn is_of_settings(&self) -> bool {
        says(self.text(), SETTINGS)
    }
}

/// Longer lines are whole pages in one.
const LONGEST_LINE: usize = 3000;

/// Sizes of blocks are set: `4k`, `64k`.
fn is_size(one: &Quantity) -> bool {
    let number = one.figure.value / one.scale;
    one.unit == Unit::Bare && one.scale > 1.0 && one.decimals == 0 && (number as u64).is_power_of_two()
}

/// Years are no results.
fn is_year(one: &Quantity) -> bool {
    one.decimals == 0 && one.scale == 1.0 && (1990.0..2040.0).contains(&one.figure.value)
}

/// Words that stand for `than` before a base.
pub(super) const THAN: &[&str] = &[" than ", " als ", " que ", " чем "];
/// Words that hedge an end.
const HEDGES: &[&str] = &[
    "about",
    "around",
    "roughly",
    "approx.",
    "up",
    "over",
    "más de",
    "约",
    "大约",
    "примерно",
    "около",
    "etwa",
    "rund",
];
/// What leads to the second end by itself: `1500 MB/s 降至 900 MB/s`.
const VERBS_WITHIN: &[&str] = &[
    "降至",
    "降到",
    "提升到",
    "提升至",
    "提高到",
    "提高至",
    "降低到",
    "降低至",
    "下降到",
    "下降至",
    "增加到",
    "增至",
];

/// A text without what stands in brackets: `(as measured by us)`.
fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    text.chars()
        .filter(|letter| match letter {
            '(' | '（' => {
                depth += 1;
                false
            }
            ')' | '）' => {
                depth -= 1;
                false
            }
            _ => depth == 0,
        })
        .collect()
}

fn says_less(lower: &str) -> bool {
    says(lower, LOSS)
}

fn says_more(lower: &str) -> bool {
    says(lower, GAIN)
}

/// Whether a text speaks of how fast something is, or of reads and writes.
fn tells_speed(text: &str) -> bool {
    let topic = topic(text);
    topic.read || topic.write || says(text, SPEED)
}

/// Whether words say that something is more, or less.
pub(super) fn tells(text: &str) -> bool {
    says(text, LOSS) || says(text, GAIN)
}

fn is_change(word: &str) -> bool {
    is(&word.to_lowercase(), CHANGES) || tells(word)
}

/// Whether a text has nothing but such words and signs.
pub(super) fn is_glue(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|letter: char| {
            letter.is_whitespace() || "()[]{}=~≈+-−–—→,:，：（）、.*_\"'`|".contains(letter)
        })
        .filter(|word| !word.is_empty());
    words.all(|word| is(word, GLUE) || is_change(word))
}

/// Whether a change is told by itself, and not how far it strays.
fn is_told(derived: &Quantity) -> bool {
    derived.hedge != Hedge::PlusMinus
}

/// Every way in which a change can be computed of its ends. Of what became of a rate the first is the base; of times the other may
/// be, since as much as they fall speed rises.
pub(super) fn readings(pair: &[Quantity; 2], derived: Quantity, tie: Tie) -> Vec<Link> {
    let is_sure = pair[0].unit != Unit::Nanoseconds && derived.unit == Unit::Percent;
    let numerators = match tie {
        Tie::Became if is_sure => 1..2,
        Tie::Than if is_sure => 0..1,
        _ => 0..2,
    };
    let forms = Form::ALL.into_iter().flat_map(|form| numerators.clone().map(move |at| (form, at)));
    forms.map(|(form, numerator)| link(pair, derived, form, numerator)).collect()
}

/// What the words say that it is, where no reading gives it: of what became, the change of the first; else a loss is of the
/// larger, a gain of the smaller.
pub(super) fn meant(pair: &[Quantity; 2], derived: Quantity, tie: Tie, near: &str) -> Option<Link> {
    let grew = pair[1].figure.value > pair[0].figure.value;
    let (larger, smaller) = (usize::from(grew), usize::from(!grew));
    let lower = near.to_lowercase();
    let (form, numerator) = match (tie, says_more(&lower), says_less(&lower)) {
        _ if derived.unit == Unit::Times => (Form::Share, larger),
        // `-40 %` is a gain below nothing.
        (Tie::Became, ..) if grew || derived.figure.value < 0.0 => (Form::Gain, 1),
        (Tie::Became, ..) => (Form::Loss, 1),
        (Tie::Than, true, false) => (Form::Gain, 0),
        (Tie::Than, false, true) => (Form::Loss, 0),
        (Tie::Against | Tie::Each, true, false) => (Form::Gain, larger),
        (Tie::Against | Tie::Each, false, true) => (Form::Loss, smaller),
        (Tie::Against | Tie::Each | Tie::Than, ..) => return None,
    };
    Some(link(pair, derived, form, numerator))
}

/// `64 % of the performance of the old one` is of the larger.
fn share(pair: Option<&[Quantity; 2]>, derived: Quantity) -> Option<Link> {
    let pair = pair?;
    let smaller = usize::from(pair[1].figure.value < pair[0].figure.value);
    Some(link(pair, derived, Form::Share, smaller))
}

fn link(pair: &[Quantity; 2], derived: Quantity, form: Form, numerator: usize) -> Link {
    Link {
        ends: Ends { derived, form, numerator: pair[numerator], denominator: pair[1 - numerator] },
        why: Why::Told,
        of: String::new(),
        names: [String::new(), String::new()],
    }
}

/// The two as figures of one unit: `100 to 115 MB/s`, `100 to 115k IOPS` (in which the first may be thousands or not).
fn alike(first: Quantity, second: Quantity) -> Vec<[Quantity; 2]> {
    let as_other = |bare: Quantity, other: &Quantity, scale: f64| Quantity {
        figure: bare.figure.scaled(scale),
        unit: other.unit,
        scale: other.scale,
        base: other.base,
        ..bare
    };
    let bare = |one: &Quantity, other: &Quantity| one.unit == Unit::Bare && other.unit != Unit::Bare;
    let pairs = if bare(&first, &second) {
        let scales = if first.scale == 1.0 { vec![second.scale, 1.0] } else { vec![1.0] };
        scales.into_iter().map(|scale| [as_other(first, &second, scale), second]).collect()
    } else if bare(&second, &first) {
        let scales = if second.scale == 1.0 { vec![first.scale, 1.0] } else { vec![1.0] };
        scales.into_iter().map(|scale| [first, as_other(second, &first, scale)]).collect()
    } else {
        vec![[first, second]]
    };
    let sound = |pair: &[Quantity; 2]| {
        comparable(&pair[0], &pair[1]) && pair.iter().all(|one| one.interval().low > 0.0)
    };
    pairs.into_iter().filter(sound).collect()
}

/// What stands behind the words that a text begins with, and whether there are any.
fn behind_words(text: &str, is: fn(&str) -> bool) -> (&str, bool) {
    let (mut rest, mut any) = (text.trim_start(), false);
    while let Some(word) = first_word(rest).filter(|word| is(word)) {
        any = true;
        rest = rest[word.len()..].trim_start();
    }
    (rest, any)
}

/// The word that a text begins with.
fn first_word(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !letter.is_alphabetic() && letter != '-').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// The word that a text ends with; of Chinese the last sign.
fn last_word(text: &str) -> Option<&str> {
    let last = text.chars().next_back()?;
    if last as u32 > 0x2e80 {
        return text.get(text.len() - last.len_utf8()..);
    }
    let from = text
        .rfind(|letter: char| !letter.is_alphabetic())
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    text.get(from..).filter(|word| !word.is_empty())
}

/// What stands behind the name of a system, up to a comma or bracket: `in the VM, a loss of`.
fn behind_a_name(glue: &str) -> &str {
    let name = glue.find([',', '(', '，', '–', '—', ':']).filter(|at| *at <= LONGEST_NAME);
    name.map_or(glue, |at| &glue[at..])
}

/// Bytes of the words that name a system beside its figure.
const LONGEST_NAME: usize = 48;

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn ratios(sentence: &str) -> Vec<String> {
        let rules = ["T1", "N4", "N6", "N7"];
        rules
            .iter()
            .flat_map(|rule| found(&format!("{sentence}\n"), rule))
            .map(|one| one.recomputed.clone())
            .collect()
    }

    #[test]
    fn a_change_beside_its_ends_is_computed_again() {
        for (sentence, recomputed) in [
            ("Random writes fell from 25.99k to 20.39k IOPS (18.4 %).", "21.5 %"),
            ("Random writes fell from 25.99k to 20.39k IOPS (27.5 %).", "21.5 %"),
            ("Writes drop from 25990 IOPS to 20390 IOPS, a loss of 18.4 %.", "21.5 %"),
            ("Throughput went from 100 to 150 MB/s, a 33 % improvement", "50 %"),
            ("It is 25 % slower (90 vs 100 MB/s).", "10 %"),
            ("It is 25 % faster: 110 MB/s vs 100 MB/s.", "10 %"),
            ("Latency: 120 us -> 90 us (-40%)", "-25%"),
            ("Bandwidth 100 MB/s → 400 MB/s (2.0x)", "4.0x"),
            ("The host does 520 MB/s and the VM 480 MB/s, a loss of 15 %.", "8 %"),
            ("It writes 25.99k IOPS on the host, 20.39k IOPS in the guest: 18.4 % less.", "21.5 %"),
            ("The VM reads 480 MB/s, which is 15 % slower than the host's 520 MB/s.", "8 %"),
            ("It does 730 MB/s, about 50 % more than the 365 MB/s of before.", "100 %"),
            ("Host: 520 MB/s, VM: 480 MB/s, overhead: 12.0 %", "7.7 %"),
            ("Скорость выросла с 100 до 150 МБ/с (на 33 %).", "50 %"),
            ("吞吐从 100 MB/s 提升到 150 MB/s，提升 33%。", "50%"),
            (
                "写性能是旧版的 7.1 倍（qps：84098 vs 39842），读性能是旧版的 1.4 倍（qps：110338 vs 78465）",
                "2.1 倍",
            ),
            ("The host reads 520 MB/s. The VM reads 480 MB/s, which is 15 % less.", "8 %"),
        ] {
            assert_eq!(ratios(sentence), [recomputed], "{sentence}");
        }
    }

    #[test]
    fn a_change_that_its_ends_give_in_any_reading_holds() {
        for sentence in [
            "Random writes fell from 25.99k to 20.39k IOPS (21.5 %).",
            "Throughput went from 100 to 150 MB/s, a 50 % improvement",
            "It is 10 % slower (90 vs 100 MB/s).",
            "The mean time went from 120 us to 100 us, 20 % faster.",
            "The mean time went from 120 us to 100 us, about 17 % less.",
            "Writes: 100k -> 312k IOPS (3.1x)",
            "The host does 520 MB/s and the VM 480 MB/s, a loss of 7.7 %.",
            "The VM reads 480 MB/s, about 8 % slower than the host's 520 MB/s.",
            "The host does 520 MB/s and the VM 480 MB/s, a loss of 8.3 %.",
            "It went from 1.0 GB/s to 900 MB/s (-10%).",
            "The host reads 520 MB/s. The VM reads 480 MB/s, which is 8 % less.",
            "IOPS went from 900 to 1.8k IOPS (100 %).",
        ] {
            assert_eq!(ratios(sentence), [""; 0], "{sentence}");
            let audited = crate::audit::audit(crate::page::Page::new("p", format!("{sentence}\n")));
            assert_eq!(audited.links.len(), 1, "{sentence}");
        }
    }

    #[test]
    fn what_may_be_of_something_else_is_let_be() {
        for sentence in [
            "Throughput went from 100 to 150 MB/s while CPU use fell by 8 %.",
            "Throughput went from 100 to 150 MB/s (95 % of the line rate).",
            "Throughput went from 100 to 150 MB/s at 35 % CPU.",
            "Throughput went from 100 to 150 MB/s (35 % CPU).",
            "Going from 4k to 64k blocks is 15 % faster.",
            "Raising the limit from 100 MB/s to 200 MB/s is a 15 % improvement.",
            "Between 100 and 150 MB/s, 8 % slower than the host.",
            "It does 100 to 150 MB/s (8 % slower).",
            "The VM reads 480 MB/s, 15 % slower than the host (which writes 520 MB/s).",
            "The VM reads 480 MB/s, 15 % slower than last year, and writes 520 MB/s.",
            "The VM reads 480 MB/s, 15 % slower than writes of 520 MB/s.",
            "The VM reads 480 MB/s, more than 15 % slower than the host's 920 MB/s.",
            "Reads reach 520 MB/s and writes 480 MB/s, a loss of 15 %.",
            "It reads 520 MB/s, on writes 480 MB/s, 15 % slower.",
            "The host does 520 MB/s and the VM 480 MB/s, 15 % less than last year.",
            "The host does 520 MB/s and the VM 480 MB/s, with 15 % CPU.",
            "The host does 520 MB/s and the VM 480 MB/s, an overhead of 15 % CPU.",
            "It does between 100 MB/s and about 150 MB/s, a loss of 15 %.",
            "From 100 MB/s to 150 MB/s, and the other goes up by 8 %.",
            "The interval went from 10 ms to 1 ms (5 % slower).",
            "Polling every 100 us vs 10 us is 5 % faster.",
            "It went from 100 MB/s to 150 MB/s (up to 80 % faster).",
            "It went from 100 MB/s to 150 MB/s, more than 20 % faster.",
            "From 100 MB/s to 150 MB/s and from 50 to 60 MB/s, 33 % and 20 % respectively.",
            "It has 1982 points. Of 1436 others, 13 % are better.",
            "The host reads 520 MB/s.\n\n\nThe VM does 480 MB/s, which is 15 % less.",
            "The host reads 520 MB/s. It writes 480 MB/s, which is 15 % less.",
            "It has 37691 points. So 37691 points are 30 % more.",
            "A 5 % lower latency, 3.0M -> 3.9M IOPS.",
        ] {
            assert_eq!(ratios(sentence), [""; 0], "{sentence}");
        }
    }
}
