//! Links ratios and changes of a grid to their two operands. A reading states the columns of the
//! operands, or the row of the base, and the form. Each is weighed by how unlikely it is that its
//! cells fit by chance, and by what heads say. The best reading of each column is used if its
//! weight exceeds what chance gives with so many readings.

use super::grid::{Grid, GridColumn, GridHead};
use super::names::names_it;
use super::near;
use super::words::{
    CHANGE, GAIN, LEAST, LOSS, List, MEAN, MEDIAN, METRICS, MOST, RATIO, SUM, USE, VERSUS,
};
use super::{
    DerivedLink, LinkEnds, LinkForm, LinkReason, comparable, is_ratio, mentions, name_words,
};
use crate::number::{NumberUnit, Quantity};
use crate::page::TextSpan;
use rustc_hash::FxHashSet;
use std::cmp::Ordering;
use std::ops::Range;

/// Bits by which a reading must exceed chance.
const ENOUGH: f64 = 6.0;
/// Bits that a reading needs if only a slash in the head suggests a column of ratios.
const MANY: f64 = 30.0;
/// Largest number of bits that one cell counts for.
const MOST_BITS: f64 = 9.0;
/// Bits of a cell that holds but for one digit or a factor of ten.
const NEAR_BITS: f64 = 3.0;
/// Largest relative error of a ratio of figures that were rounded on the way.
const CLOSE: f64 = 0.01;
/// Rows on which readings are weighed; the chosen reading applies to all rows.
const WEIGHED: usize = 500;
/// Number of nearby columns that are tried in pairs for a column of ratios.
const MOST_VALUES: usize = 12;

/// A reading of ratios that belong together.
struct RatioReading<'a> {
    form: LinkForm,
    trials: Vec<RatioTrial<'a>>,
    /// Index of the sequences in their pool and the rule for the base, if the base is in the column
    /// of the figures.
    source: Option<(usize, RatioBase)>,
    prior: f64,
    /// True if the head names both operands in this form, which suffices for a table of one row.
    named: bool,
}

/// One ratio of a reading, with the indices of its operands and itself in the labels and heads of
/// its grid.
#[derive(Clone, Copy)]
struct RatioTrial<'a> {
    derived: &'a Quantity,
    numerator: &'a Quantity,
    denominator: &'a Quantity,
    names: [usize; 2],
    of: usize,
}

impl RatioTrial<'_> {
    fn ends(&self, form: LinkForm) -> LinkEnds {
        let RatioTrial { derived, numerator, denominator, .. } = *self;
        LinkEnds { derived: *derived, form, numerator: *numerator, denominator: *denominator }
    }

    fn spots(&self) -> [TextSpan; 3] {
        [self.derived, self.numerator, self.denominator].map(|one| one.figure.spot)
    }
}

/// Result of checking a reading against its cells.
struct ReadingWeight {
    score: f64,
    held: usize,
    missed: usize,
}

struct RatioLinks {
    weight: ReadingWeight,
    links: Vec<DerivedLink>,
}

/// Returns the links of a grid, with the best reading of each figure.
pub(super) fn links(grid: &Grid) -> Vec<DerivedLink> {
    // Most grids have no ratio.
    let says = |lists: &List| lists & (RATIO | CHANGE) != 0;
    let any = grid
        .heads
        .iter()
        .any(|head| says(&head.lists) || head.text.contains(['/', '÷', ':', '：']))
        || grid.label_lists.iter().any(says)
        || (0..grid.heads.len()).any(|at| grid.column(at).flatten().any(is_ratio));
    if !any || !may_compare(grid) {
        return Vec::new();
    }
    let mut found: Vec<RatioLinks> = Vec::new();
    columns(grid, &mut found);
    sequences(grid, &mut found);
    found.sort_by(|one, other| {
        other
            .weight
            .held
            .cmp(&one.weight.held)
            .then(other.weight.score.total_cmp(&one.weight.score))
    });
    let mut taken = FxHashSet::default();
    let links = found.into_iter().flat_map(|found| found.links);
    links.filter(|link| taken.insert(link.derived.figure.spot)).collect()
}

#[derive(Clone, Copy)]
struct EnoughCells {
    bits: f64,
    held: usize,
}

/// Weighs readings of the same figures and adds the links of the best to `found`, if it suffices.
/// `rest` returns the ratios of the rows that were not weighed, `name` the subject and the
/// operands' names of a ratio.
fn settle_readings<'r>(
    mut readings: Vec<RatioReading<'r>>,
    enough: EnoughCells,
    rest: impl Fn(&RatioReading<'r>) -> Vec<RatioTrial<'r>>,
    name: impl Fn(&RatioTrial) -> (String, [String; 2]),
    found: &mut Vec<RatioLinks>,
) {
    // Two ways to name one base are one reading.
    readings.sort_by(|one, other| other.prior.total_cmp(&one.prior));
    let mut seen = FxHashSet::default();
    let figures = |one: &RatioReading| {
        (one.form, one.trials.iter().map(RatioTrial::spots).collect::<Vec<_>>())
    };
    let readings: Vec<&RatioReading> =
        readings.iter().filter(|reading| seen.insert(figures(reading))).collect();
    let tried = (readings.len().max(1) as f64).log2();
    let weighed = readings.into_iter().map(|reading| (weigh(reading, tried), reading));
    let proven = |weight: &ReadingWeight| {
        weight.held >= enough.held
            && weight.score >= enough.bits
            && weight.missed <= most_missed(weight.held)
    };
    let alone = |reading: &RatioReading| reading.named && reading.trials.len() == 1;
    let rank = |(weight, reading): &(ReadingWeight, &RatioReading)| {
        (proven(weight), alone(reading), weight.score, weight.held)
    };
    let best =
        weighed.max_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(Ordering::Equal));
    let Some((weight, reading)) = best else { return };
    let why = match (proven(&weight), alone(reading)) {
        (true, _) if reading.named => LinkReason::Named,
        (true, _) => LinkReason::Held(weight.held),
        (false, true) => LinkReason::Named,
        _ => return,
    };
    let link = |trial: &RatioTrial| {
        let (of, names) = name(trial);
        DerivedLink { ends: trial.ends(reading.form), why, of, names }
    };
    let links = reading.trials.iter().chain(&rest(reading)).map(link).collect();
    found.push(RatioLinks { links, weight });
}

/// Returns how many cells may fail if `held` cells hold.
fn most_missed(held: usize) -> usize {
    (held / 6).max(1)
}

fn weigh(reading: &RatioReading, tried: f64) -> ReadingWeight {
    let mut weight = ReadingWeight { score: reading.prior - tried, held: 0, missed: 0 };
    let mut roughly = 0;
    let most = most_missed(reading.trials.len());
    for ends in reading.trials.iter().map(|trial| trial.ends(reading.form)) {
        if ends.gives_printed() {
            let bits = ends.surprise().min(MOST_BITS);
            weight.score += bits;
            weight.held += usize::from(bits > 0.5);
        } else {
            let close = ends
                .recomputed()
                .is_some_and(|given| given.wider(CLOSE).overlaps_with(ends.derived.interval()));
            *if close { &mut roughly } else { &mut weight.missed } += 1;
            weight.score -= 1.0;
            // With too many misses it is not proven, whatever the other cells are.
            if weight.missed > most {
                return weight;
            }
        }
    }
    // Operands that were rounded before the division leave some a little off.
    weight.missed += if reading.named { 0 } else { roughly.saturating_sub(weight.held / 2) };
    // A cell that is a slip away supports a reading that other cells support.
    if weight.held > 0 && weight.missed <= weight.held {
        let ends = reading.trials.iter().map(|trial| trial.ends(reading.form));
        let slips = ends.filter(|ends| !ends.gives_printed() && near::is_slip(ends)).count();
        weight.score += (NEAR_BITS + 1.0) * slips as f64;
    }
    weight
}

#[derive(Clone, Copy, PartialEq)]
enum RatioEvidence {
    Unit,
    /// The head has a word for ratios or changes.
    Word,
    /// The head divides two names, so that only these can be the operands.
    Names,
}

/// Returns the unit of a column's ratios and the evidence for them: percentages, multiples, or
/// plain numbers under a head that says so.
fn derived_as(grid: &Grid, column: usize) -> Option<(NumberUnit, RatioEvidence)> {
    let GridHead { text, lists, .. } = &grid.heads[column];
    let divides = !grid.is_text && text.contains(['/', '÷', ':', '：']);
    if lists & USE != 0 && lists & RATIO == 0 && !divides {
        return None;
    }
    let mut found = None;
    for figure in grid.column(column).flatten() {
        let plain = !grid.is_text && figure.unit == NumberUnit::Bare && figure.scale == 1.0;
        let own = match figure.unit {
            NumberUnit::Percent | NumberUnit::Times => (figure.unit, RatioEvidence::Unit),
            _ if plain && lists & RATIO != 0 => (NumberUnit::Times, RatioEvidence::Word),
            _ if plain && lists & CHANGE != 0 && text.contains('%') => {
                (NumberUnit::Percent, RatioEvidence::Word)
            }
            _ if plain && divides && text.contains('%') => {
                (NumberUnit::Percent, RatioEvidence::Names)
            }
            _ if plain && divides => (NumberUnit::Times, RatioEvidence::Names),
            _ => return None,
        };
        // `100 %` and `1.5x` in one column are both ratios.
        found = found.or(Some(own));
    }
    found
}

/// Returns true for a table, and for lines of text whose percentages may be changes: they are in at
/// most two columns, and in brackets or next to a word of change.
fn may_compare(grid: &Grid) -> bool {
    let ratios = (0..grid.heads.len()).filter(|at| grid.column(*at).flatten().any(is_ratio));
    let count = ratios.clone().count();
    let says = |lists: List| lists & (RATIO | CHANGE | VERSUS | LOSS | GAIN) != 0;
    let says_ratio = |at: usize| {
        grid.heads[at].text.trim_start().starts_with(['(', '（', '[']) || says(grid.heads[at].lists)
    };
    !grid.is_text
        || count <= 2
            && (ratios.clone().all(says_ratio) || grid.heads.iter().any(|head| says(head.lists)))
}

/// Returns true if a column of ratios is 100 % in all rows. It belongs to the base itself, and any
/// two nearby columns would fit it.
fn is_base(grid: &Grid, column: usize) -> bool {
    let count = grid.column(column).flatten().count();
    count > 1
        && grid
            .column(column)
            .flatten()
            .all(|figure| figure.unit == NumberUnit::Percent && figure.figure.value == 100.0)
}

/// Returns a figure as a ratio, whatever its unit says.
fn as_ratio(figure: &Quantity, unit: NumberUnit) -> Quantity {
    if is_ratio(figure) { *figure } else { Quantity { unit, ..*figure } }
}

/// Returns the forms of a ratio of this unit: percentages may also be changes, multiples may be
/// inverted.
fn forms(unit: NumberUnit) -> impl Iterator<Item = LinkForm> {
    let times = unit == NumberUnit::Times;
    LinkForm::ALL.into_iter().filter(move |form| match form {
        LinkForm::Multiple => times,
        LinkForm::Loss | LinkForm::Change => !times,
        LinkForm::Share | LinkForm::Gain => true,
    })
}

/// Returns the nearest columns that a ratio may be computed from.
fn values(grid: &Grid, derived: usize) -> Vec<usize> {
    let has = |at: &usize| grid.column(*at).flatten().any(|figure| !is_ratio(figure));
    let mut values: Vec<usize> =
        (0..grid.heads.len()).filter(|at| *at != derived && has(at)).collect();
    values.sort_by_key(|at| at.abs_diff(derived));
    values.truncate(MOST_VALUES);
    values
}

/// Finds ratios in their own column, computed from two other columns.
fn columns(grid: &Grid, found: &mut Vec<RatioLinks>) {
    if grid.cells.rows() * grid.heads.len() < 3 {
        return;
    }
    // Operands of ratios, and the words of heads, by column.
    let mut operands: Vec<Vec<Option<Quantity>>> = Vec::new();
    let mut words: Vec<Vec<String>> = Vec::new();
    for derived in 0..grid.heads.len() {
        let Some((unit, evidence)) = derived_as(grid, derived).filter(|_| !is_base(grid, derived))
        else {
            continue;
        };
        if operands.is_empty() {
            operands = (0..grid.heads.len()).map(|column| rough(grid, column)).collect();
            words = grid.heads.iter().map(|head| name_words(&head.text)).collect();
        }
        let ratios: Vec<Option<Quantity>> =
            grid.column(derived).map(|one| one.map(|figure| as_ratio(figure, unit))).collect();
        let values = values(grid, derived);
        let mut readings = Vec::new();
        for numerator in &values {
            for denominator in values.iter().filter(|at| *at != numerator) {
                let of = [*numerator, *denominator];
                let (prior, named) =
                    (prior(grid, derived, of, &words, &values), form_in_head(grid, derived, of));
                for form in forms(unit) {
                    let trials = trials(grid, &ratios, of, &operands, form, 0..WEIGHED);
                    if !trials.is_empty() {
                        let prior = prior + of_form(form, grid.heads[derived].lists);
                        let (named, source) = (named == Some(form), None);
                        readings.push(RatioReading { form, trials, source, prior, named });
                    }
                }
            }
        }
        // A slash may mean many things: if no names match, many rows must confirm it.
        let named = readings.iter().any(|reading| reading.named);
        if evidence == RatioEvidence::Names && named {
            readings.retain(|reading| reading.named);
        }
        let enough = if evidence == RatioEvidence::Names && !named { MANY } else { ENOUGH };
        // `run 5 against run 2 (%)` is about no other columns.
        let spelt = |reading: &RatioReading| {
            let names = reading.trials[0].names.map(|at| grid.heads[at].text.trim());
            names.iter().all(|name| !name.is_empty() && grid.heads[derived].text.contains(name))
        };
        if readings.iter().any(spelt) {
            readings.retain(spelt);
            readings.iter_mut().for_each(|reading| reading.prior += 2.0);
        }
        let head = |at: usize| grid.heads[at].text.clone();
        let name = |trial: &RatioTrial| {
            (format!("{}, {}", grid.labels[trial.of], head(derived)), trial.names.map(head))
        };
        let rest = |one: &RatioReading| {
            trials(grid, &ratios, one.trials[0].names, &operands, one.form, WEIGHED..usize::MAX)
        };
        settle_readings(readings, EnoughCells { bits: enough, held: 1 }, rest, name, found);
    }
}

/// Returns the bits in favour of the columns `of` as operands, for any form.
fn prior(
    grid: &Grid,
    derived: usize,
    of: [usize; 2],
    words: &[Vec<String>],
    values: &[usize],
) -> f64 {
    let GridHead { text: head, lists, .. } = &grid.heads[derived];
    let [above, below] = of.map(|at| &words[at]);
    let mut bits = 0.0;
    if lists & (RATIO | CHANGE) != 0 || head.contains('%') {
        bits += 2.0;
    }
    if names_it(&words[derived], above, below) || names_it(&words[derived], below, above) {
        bits += 2.0;
    }
    // These are the two nearest columns.
    if of.iter().all(|at| values.iter().take(2).any(|value| value == at)) {
        bits += 2.0;
    }
    // A figure in brackets is rounded more than the one before it.
    for at in of {
        bits += if grid.heads[at].slot == GridColumn::Figure { 0.5 } else { -1.0 };
    }
    bits
}

/// Returns the form of a ratio of these two columns if the head states it: `VM/host`, `(host - VM)
/// / host`.
fn form_in_head(grid: &Grid, derived: usize, of: [usize; 2]) -> Option<LinkForm> {
    let GridHead { text, lists, .. } = &grid.heads[derived];
    let [above, below] = of.map(|at| grid.heads[at].text.as_str());
    let (_, divisor) = text.rsplit_once(['/', '÷', '／', ':', '：'])?;
    let both = mentions(text, above, below) && mentions(text, below, above);
    let divides = mentions(divisor, below, above) && !mentions(divisor, above, below);
    (both && divides).then_some(if lists & LOSS != 0 { LinkForm::Loss } else { LinkForm::Share })
}

/// Returns the bits that the words of a head add to a form.
fn of_form(form: LinkForm, lists: List) -> f64 {
    let says = if (lists & LOSS != 0) == (form == LinkForm::Loss) { 0.5 } else { 0.0 };
    says - if matches!(form, LinkForm::Change | LinkForm::Multiple) { 0.5 } else { 0.0 }
}

fn trials<'a>(
    grid: &Grid,
    ratios: &'a [Option<Quantity>],
    names: [usize; 2],
    operands: &'a [Vec<Option<Quantity>>],
    form: LinkForm,
    rows: Range<usize>,
) -> Vec<RatioTrial<'a>> {
    let [above, below] = names.map(|at| operands[at].as_slice());
    // `memcpy avg` alone summarises no other rows.
    let summed = grid.label_lists.iter().any(|lists| !is_of_many(*lists));
    let trial = |row: usize| {
        let (derived, numerator, denominator) =
            (ratios[row].as_ref()?, above[row].as_ref()?, below[row].as_ref()?);
        let trial = RatioTrial { derived, numerator, denominator, names, of: row };
        // The mean of the ratios is not the ratio of the means.
        let sound = comparable(numerator, denominator)
            && (!summed || !is_of_many(grid.label_lists[row]) || trial.ends(form).gives_printed());
        sound.then_some(trial)
    };
    (rows.start.min(ratios.len())..rows.end.min(ratios.len())).filter_map(trial).collect()
}

/// Returns true if all whole numbers of a column end in zero: `1510`, `1800`, `2010` MHz are
/// rounded to tens.
fn ends_in_zeros(grid: &Grid, column: usize) -> bool {
    let tens = |one: &Quantity| one.decimals == 0 && (one.figure.value / one.scale) % 10.0 == 0.0;
    grid.cells.rows() >= 3 && grid.column(column).flatten().all(tens)
}

/// Returns the figures of a column, widened for their trailing zeros.
fn rough(grid: &Grid, column: usize) -> Vec<Option<Quantity>> {
    let mut figures: Vec<Option<Quantity>> =
        grid.column(column).map(Option::<&_>::copied).collect();
    if ends_in_zeros(grid, column) {
        for Quantity { figure, scale, .. } in figures.iter_mut().flatten() {
            (figure.low, figure.high) = (figure.value - 5.0 * *scale, figure.value + 5.0 * *scale);
        }
    }
    figures
}

/// Returns true if the words of a label show that its row summarises all others: a mean, a sum.
fn is_of_many(lists: List) -> bool {
    lists & (MEAN | SUM | MEDIAN | MOST | LEAST) != 0 && lists & METRICS == 0
}

/// Figures down a column, each with its ratio to the base.
struct Sequence<'a> {
    items: Vec<RatioItem<'a>>,
    head: &'a GridHead,
    /// True if the ratio is in the cell of the figure.
    together: bool,
    apart: usize,
    is_text: bool,
}

impl Sequence<'_> {
    /// Returns true if the head or signs mark the ratios as changes; always true in a table.
    fn is_marked(&self) -> bool {
        let says = self.head.lists & (RATIO | CHANGE | GAIN | LOSS | VERSUS) != 0;
        let signed = self.head.text.trim_end().ends_with(['+', '-'])
            || self
                .items
                .iter()
                .any(|item| item.ratio.is_some_and(|ratio| ratio.figure.value < 0.0));
        says || signed || !self.is_text
    }
}

struct RatioItem<'a> {
    value: Option<Quantity>,
    ratio: Option<Quantity>,
    label: &'a str,
    lists: List,
}

/// Sequences by the column of figures that their ratios may relate to. Those of one column are
/// weighed together.
type SequencePool<'a> = Vec<Vec<Sequence<'a>>>;

/// Adds the links of sequences down the columns. Shares are paired with the figures before them,
/// and pooled; a column of ratios is paired with each column near it.
fn sequences(grid: &Grid, found: &mut Vec<RatioLinks>) {
    let sequence = |value: usize, derived: usize, unit: NumberUnit, together: bool| {
        let head = &grid.heads[derived];
        let bracket = grid.is_text
            && head.text.trim_start().starts_with(['(', '（', '['])
            && value + 1 == derived;
        Sequence {
            items: (0..grid.cells.rows())
                .map(|row| RatioItem {
                    value: grid.quantity_at(row, value).copied().filter(|one| !is_ratio(one)),
                    ratio: grid.quantity_at(row, derived).map(|figure| as_ratio(figure, unit)),
                    label: grid.labels[row],
                    lists: grid.label_lists[row],
                })
                .collect(),
            head,
            together: together || bracket,
            apart: value.abs_diff(derived),
            is_text: grid.is_text,
        }
    };
    let mut pooled = Vec::new();
    for (derived, head) in grid.heads.iter().enumerate() {
        let Some((unit, evidence)) = derived_as(grid, derived) else { continue };
        if evidence == RatioEvidence::Names {
            continue;
        }
        if head.slot != GridColumn::Figure {
            pooled.extend(
                own_figure(grid, derived).map(|value| sequence(value, derived, unit, true)),
            );
            continue;
        }
        let of_each = values(grid, derived).into_iter().take(6);
        let pool: SequencePool =
            of_each.map(|value| vec![sequence(value, derived, unit, false)]).collect();
        bases(&pool, found);
    }
    if !pooled.is_empty() {
        bases(&[pooled], found);
    }
}

/// Returns the column of the figure that a share follows.
fn own_figure(grid: &Grid, share: usize) -> Option<usize> {
    let source = grid.heads[share].source;
    grid.heads.iter().position(|head| head.source == source && head.slot == GridColumn::Figure)
}

/// Rule that picks the figure to which a ratio relates.
#[derive(Clone, Copy, PartialEq)]
enum RatioBase {
    First,
    /// Last item before it, or else first item after it, that is 100 %, 1.0x or has no ratio.
    Marked,
}

impl RatioBase {
    const ALL: [RatioBase; 2] = [RatioBase::First, RatioBase::Marked];

    fn base_of_items(self, items: &[RatioItem]) -> Vec<Option<usize>> {
        let has = |item: &RatioItem| item.value.is_some();
        let alone = |at: Option<usize>| vec![at; items.len()];
        let mut bases = match self {
            RatioBase::First => alone(items.iter().position(has)),
            RatioBase::Marked => {
                let is =
                    |item: &RatioItem| has(item) && item.ratio.is_none_or(|ratio| is_whole(&ratio));
                let (first, mut last) = (items.iter().position(is), None);
                let mut bases = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    bases.push(last.or(first));
                    last = if is(item) { Some(at) } else { last };
                }
                bases
            }
        };
        bases.iter_mut().enumerate().for_each(|(at, base)| *base = base.filter(|base| *base != at));
        bases
    }

    fn prior(self, sequence: &Sequence) -> f64 {
        let marked =
            sequence.items.iter().any(|item| item.ratio.is_some_and(|ratio| is_whole(&ratio)));
        let bare = sequence
            .items
            .iter()
            .filter(|item| item.ratio.is_none() && item.value.is_some())
            .count();
        match self {
            RatioBase::Marked if marked => 3.0,
            RatioBase::Marked if bare == 1 => 2.0,
            RatioBase::First => 1.5,
            RatioBase::Marked => 0.0,
        }
    }
}

/// Returns true for `100 %`, `1.00x`, `0 %`.
fn is_whole(ratio: &Quantity) -> bool {
    let one = if ratio.unit == NumberUnit::Percent { 100.0 } else { 1.0 };
    ratio.figure.value == one || ratio.figure.value == 0.0
}

/// Finds ratios of figures to a base in the same column.
fn bases(pool: &[Vec<Sequence>], found: &mut Vec<RatioLinks>) {
    let ratio = pool.iter().flatten().flat_map(|one| &one.items).find_map(|item| item.ratio);
    let Some(unit) = ratio.map(|ratio| ratio.unit) else { return };
    let name = |trial: &RatioTrial| {
        let sequence = &pool[trial.of >> 16][trial.of & 0xffff];
        let names = trial.names.map(|at| sequence.items[at].label.to_owned());
        (format!("{}, {}", names[0], sequence.head.text), names)
    };
    if let [sequences] = pool {
        if let Some(reading) = changes_in_brackets(sequences) {
            let link = |trial: &RatioTrial| {
                let (of, names) = name(trial);
                DerivedLink { ends: trial.ends(reading.form), why: LinkReason::Signed, of, names }
            };
            let links: Vec<DerivedLink> = reading.trials.iter().map(link).collect();
            let weight = ReadingWeight { score: ENOUGH, held: links.len(), missed: 0 };
            return found.push(RatioLinks { weight, links });
        }
    }
    let mut readings = Vec::new();
    // `(0.6 %)` after a figure in a line may be anything; `(+0.6 %)` is a change.
    let is_marked = pool.iter().flatten().any(|one| one.is_marked());
    let of_base = |at: usize, base: RatioBase, form: LinkForm, rows: Range<usize>| {
        let mut trials = Vec::new();
        for (index, sequence) in pool[at].iter().enumerate() {
            against(sequence, base, form, at << 16 | index, rows.clone(), &mut trials);
        }
        trials
    };
    for (at, sequences) in pool.iter().enumerate() {
        for base in RatioBase::ALL {
            for form in forms(unit) {
                let trials = of_base(at, base, form, 0..WEIGHED);
                if !trials.is_empty() {
                    let prior = base.prior(&sequences[0]) + of_sequence(&sequences[0], form);
                    let source = Some((at, base));
                    readings.push(RatioReading { form, trials, source, prior, named: false });
                }
            }
        }
    }
    for (at, sequences) in pool.iter().enumerate().filter(|(_, sequences)| sequences[0].together) {
        readings.extend(against_one_cell(sequences, at, unit));
    }
    let rest = |reading: &RatioReading| match reading.source {
        Some((at, base)) => of_base(at, base, reading.form, WEIGHED..usize::MAX),
        None => Vec::new(),
    };
    settle_readings(
        readings,
        EnoughCells { bits: ENOUGH, held: if is_marked { 1 } else { 2 } },
        rest,
        name,
        found,
    );
}

/// Reads changes in brackets after their own figures, relative to the first figure, which has none:
/// `95,000`, `82,000 (-14%)`. Signs or words mark them. At least half of them must hold, except for
/// two lines with the same label.
fn changes_in_brackets<'a>(sequences: &'a [Sequence]) -> Option<RatioReading<'a>> {
    let mut trials = Vec::new();
    for (index, sequence) in sequences.iter().enumerate() {
        let first = sequence.items.iter().find(|item| item.value.is_some())?;
        let items = || sequence.items.iter().filter(|item| item.ratio.is_some());
        if !sequence.together || first.ratio.is_some() || items().any(|item| item.value.is_none()) {
            return None;
        }
        against(sequence, RatioBase::First, LinkForm::Gain, index, 0..usize::MAX, &mut trials);
    }
    let percents = trials.iter().all(|trial| trial.derived.unit == NumberUnit::Percent);
    let first = sequences.first().filter(|_| percents)?;
    let signed = first.head.text.trim_end().ends_with('+')
        || trials.iter().any(|trial| trial.derived.figure.value < 0.0);
    let form = if signed { LinkForm::Gain } else { LinkForm::Change };
    let held = trials.iter().filter(|trial| trial.ends(form).gives_printed()).count();
    let worded = first.head.lists & (LOSS | GAIN) != 0;
    let pair = match first.items.as_slice() {
        [one, other] => first.is_text && worded && trials.len() == 1 && one.label == other.label,
        _ => false,
    };
    let is_shown = (signed || worded) && held >= 1 && 2 * held >= trials.len();
    (is_shown || pair).then_some(RatioReading {
        form,
        trials,
        source: None,
        prior: 0.0,
        named: false,
    })
}

/// Returns the readings of a table's ratios relative to one of its cells with 100 %. At most four
/// such cells are tried.
fn against_one_cell<'a>(
    sequences: &'a [Sequence],
    at: usize,
    unit: NumberUnit,
) -> Vec<RatioReading<'a>> {
    let whole = |item: &RatioItem| {
        item.ratio.is_some_and(|ratio| ratio.figure.value != 0.0 && is_whole(&ratio))
    };
    let items = || sequences.iter().flat_map(|one| &one.items);
    let cells: Vec<&Quantity> =
        items().filter(|item| whole(item)).filter_map(|item| item.value.as_ref()).take(4).collect();
    let mut readings = Vec::new();
    for (below, form) in
        cells.into_iter().flat_map(|cell| forms(unit).map(move |form| (cell, form)))
    {
        let mut trials = Vec::new();
        for (index, sequence) in sequences.iter().enumerate() {
            for (row, item) in sequence.items.iter().enumerate() {
                let (Some(numerator), Some(derived)) = (&item.value, &item.ratio) else { continue };
                if comparable(numerator, below) && numerator.figure.spot != below.figure.spot {
                    let (names, of) = ([row, row], at << 16 | index);
                    trials.push(RatioTrial { derived, numerator, denominator: below, names, of });
                }
            }
        }
        if !trials.is_empty() {
            let prior = 3.0 + of_form(form, sequences[0].head.lists);
            readings.push(RatioReading { form, trials, source: None, prior, named: false });
        }
    }
    readings
}

fn of_sequence(first: &Sequence, form: LinkForm) -> f64 {
    let lists = first.head.lists;
    let tied = if first.together || lists & (RATIO | CHANGE) != 0 { 2.0 } else { 0.0 };
    // `(-12 % vs leader)`.
    let tied = tied + if first.together && lists & VERSUS != 0 { 3.0 } else { 0.0 };
    let beside = if first.apart == 1 { 0.5 } else { 0.0 };
    tied + beside + of_form(form, lists)
}

fn against<'a>(
    sequence: &'a Sequence,
    base: RatioBase,
    form: LinkForm,
    of: usize,
    rows: Range<usize>,
    trials: &mut Vec<RatioTrial<'a>>,
) {
    let bases = base.base_of_items(&sequence.items);
    for (at, item) in sequence.items.iter().enumerate().take(rows.end).skip(rows.start) {
        let (Some(numerator), Some(derived), Some(base)) = (&item.value, &item.ratio, bases[at])
        else {
            continue;
        };
        let Some(denominator) = &sequence.items[base].value else { continue };
        let trial = RatioTrial { derived, numerator, denominator, names: [at, base], of };
        let sound = comparable(numerator, denominator) && comparable(denominator, numerator);
        if sound && (!is_of_many(item.lists) || trial.ends(form).gives_printed()) {
            trials.push(trial);
        }
    }
}
