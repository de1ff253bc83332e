//! Ratios and changes of a grid against their two ends. Every reading (which columns, or which row as the base, and which form) is
//! weighed by how unlikely it is that its cells fit by chance, and by what heads say; the best one of each column is taken where it
//! outweighs all readings that were tried.

use super::grid::{Grid, Slot, says};
use super::near;
use super::words::{BASE, CHANGE, LEAST, LOSS, MEAN, MEDIAN, METRICS, MOST, RATIO, SUM, USE};
use super::{Form, Link, Why, comparable, is_ratio, mentions};
use crate::number::{Quantity, Unit};

/// Bits by which a reading must outweigh chance.
const ENOUGH: f64 = 7.0;
/// No cell counts for more.
const MOST_BITS: f64 = 9.0;
/// What a cell counts for that would hold but for one digit, or a factor of ten.
const NEAR_BITS: f64 = 3.0;
/// So many columns are tried in pairs for each column of ratios: those that are near it.
const MOST_VALUES: usize = 12;

/// A reading of ratios that hang together.
struct Reading {
    links: Vec<Link>,
    prior: f64,
}

/// How a reading stands against its cells.
struct Weight {
    score: f64,
    held: usize,
    missed: usize,
}

/// The links of a grid, the best reading of each figure.
pub(super) fn links(grid: &Grid) -> Vec<Link> {
    let mut found: Vec<(Weight, Vec<Link>)> = Vec::new();
    columns(grid, &mut found);
    bases(&sequences(grid), &mut found);
    if let Some(turned) = grid.turned() {
        columns(&turned, &mut found);
        bases(&sequences(&turned), &mut found);
    }
    bases(&shares_along_rows(grid), &mut found);
    found.sort_by(|one, other| {
        (other.0.held, other.0.score)
            .partial_cmp(&(one.0.held, one.0.score))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut taken = std::collections::HashSet::new();
    let mut links = Vec::new();
    for (_, reading) in found {
        links.extend(reading.into_iter().filter(|link| taken.insert(link.derived.figure.spot)));
    }
    links
}

/// Weighs readings of the same figures and keeps the best, where it is enough.
fn settle(mut readings: Vec<Reading>, found: &mut Vec<(Weight, Vec<Link>)>) {
    // Two ways to name one base are one reading.
    let mut seen = std::collections::HashSet::new();
    readings.sort_by(|one, other| other.prior.total_cmp(&one.prior));
    readings.retain(|reading| {
        let ends = |link: &Link| {
            (link.derived.figure.spot, link.numerator.figure.spot, link.denominator.figure.spot)
        };
        seen.insert((reading.links[0].form.word(), reading.links.iter().map(ends).collect::<Vec<_>>()))
    });
    let tried = (readings.len().max(1) as f64).log2();
    let weighed = readings.into_iter().map(|reading| (weigh(&reading, tried), reading.links));
    let best = weighed.max_by(|one, other| {
        let rank = |weight: &Weight| (weight.score, weight.held);
        rank(&one.0).partial_cmp(&rank(&other.0)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some((weight, mut links)) = best else { return };
    if weight.held == 0 || weight.score < ENOUGH || weight.missed > (weight.held / 2).max(1) {
        return;
    }
    for link in &mut links {
        link.why = Why::Held(weight.held);
    }
    found.push((weight, links));
}

fn weigh(reading: &Reading, tried: f64) -> Weight {
    let mut weight = Weight { score: reading.prior - tried, held: 0, missed: 0 };
    for link in &reading.links {
        if link.holds() {
            let bits = link.surprise().min(MOST_BITS);
            weight.score += bits;
            weight.held += usize::from(bits > 0.5);
        } else {
            weight.missed += 1;
            weight.score += if near::is_slip(link) { NEAR_BITS } else { -1.0 };
        }
    }
    weight
}

/// Whether a column is of ratios: percentages, multiples, or plain numbers under a head that says so.
fn derived_as(grid: &Grid, column: usize) -> Option<Unit> {
    let head = grid.heads[column].text.as_str();
    let of_use = says(head, USE) && !says(head, RATIO) && !head.contains(['/', '÷']);
    if of_use {
        return None;
    }
    let mut figures = grid.column(column).flatten().peekable();
    figures.peek()?;
    let mut unit = None;
    for figure in figures {
        let own = match figure.unit {
            Unit::Percent | Unit::Times => figure.unit,
            Unit::Bare if figure.scale == 1.0 && (says(head, RATIO) || head.contains(['/', '÷'])) => {
                Unit::Times
            }
            Unit::Bare if figure.scale == 1.0 && says(head, CHANGE) && head.contains('%') => Unit::Percent,
            _ => return None,
        };
        // `100 %` and `1.5x` in one column are both ratios.
        unit = unit.or(Some(own));
    }
    unit
}

/// A figure as a ratio, whatever its unit says.
fn as_ratio(figure: &Quantity, unit: Unit) -> Quantity {
    if is_ratio(figure) { *figure } else { Quantity { unit, ..*figure } }
}

/// The forms that a ratio of that unit may have: percentages are changes too, multiples go either way.
fn forms(unit: Unit) -> impl Iterator<Item = Form> {
    let times = unit == Unit::Times;
    Form::ALL.into_iter().filter(move |form| match form {
        Form::Multiple => times,
        Form::Loss | Form::Change => !times,
        Form::Share | Form::Gain => true,
    })
}

/// The columns that a ratio may be of, the nearest.
fn values(grid: &Grid, derived: usize) -> Vec<usize> {
    let has = |at: &usize| grid.column(*at).flatten().any(|figure| !is_ratio(figure));
    let mut values: Vec<usize> = (0..grid.heads.len()).filter(|at| *at != derived && has(at)).collect();
    values.sort_by_key(|at| at.abs_diff(derived));
    values.truncate(MOST_VALUES);
    values
}

/// Ratios in a column of their own, of two other columns.
fn columns(grid: &Grid, found: &mut Vec<(Weight, Vec<Link>)>) {
    if grid.cells.len() * grid.heads.len() < 3 {
        return;
    }
    for derived in 0..grid.heads.len() {
        let Some(unit) = derived_as(grid, derived) else { continue };
        let values = values(grid, derived);
        let mut readings = Vec::new();
        for numerator in &values {
            for denominator in values.iter().filter(|at| *at != numerator) {
                for form in forms(unit) {
                    let links = linked(grid, derived, unit, [*numerator, *denominator], form);
                    if !links.is_empty() {
                        let prior = prior(grid, derived, [*numerator, *denominator], form, &values);
                        readings.push(Reading { links, prior });
                    }
                }
            }
        }
        settle(readings, found);
    }
}

fn prior(grid: &Grid, derived: usize, of: [usize; 2], form: Form, values: &[usize]) -> f64 {
    let head = grid.heads[derived].text.as_str();
    let [above, below] = of.map(|at| grid.heads[at].text.as_str());
    let around = format!("{head} {} {}", grid.corner, if grid.is_text { grid.title.as_str() } else { "" });
    let mut bits = 0.0;
    if says(&around, RATIO) || says(&around, CHANGE) {
        bits += 2.0;
    }
    if mentions(head, above, below) || mentions(head, below, above) {
        bits += 2.0;
    }
    // `run 5 against run 2 (%)`.
    if [above, below].iter().all(|name| !name.trim().is_empty() && head.contains(name.trim())) {
        bits += 4.0;
    }
    // The two that stand before it, or around it.
    let nearest = |at: usize| values.iter().take(2).any(|value| *value == at);
    if of.iter().all(|at| nearest(*at)) {
        bits += 2.0;
    }
    // Of one metric: `read A, read B`.
    let source = |at: usize| grid.heads[at].slot;
    if source(of[0]) == source(of[1]) {
        bits += 0.5;
    }
    if says(head, LOSS) == (form == Form::Loss) {
        bits += 0.5;
    }
    if matches!(form, Form::Change | Form::Multiple) {
        bits -= 0.5;
    }
    bits
}

fn linked(grid: &Grid, derived: usize, unit: Unit, of: [usize; 2], form: Form) -> Vec<Link> {
    let names = of.map(|at| grid.heads[at].text.clone());
    let link = |row: usize| {
        let (above, below) =
            (&rough(grid, of[0], *grid.at(row, of[0])?), &rough(grid, of[1], *grid.at(row, of[1])?));
        let ratio = as_ratio(grid.at(row, derived)?, unit);
        let link = Link {
            derived: ratio,
            form,
            numerator: *above,
            denominator: *below,
            why: Why::Held(0),
            of: format!("{}, {}", grid.labels[row], grid.heads[derived].text),
            names: names.clone(),
        };
        comparable(above, below).then_some((row, link))
    };
    without_means(grid, (0..grid.cells.len()).filter_map(link).collect())
}

/// A figure of a column whose whole numbers all end with zeros is rounded to them: `1510`, `1800`, `2010` MHz.
fn rough(grid: &Grid, column: usize, figure: Quantity) -> Quantity {
    let last = |one: &Quantity| (one.figure.value / one.scale) % 10.0;
    let mut all = grid.column(column).flatten();
    let tens =
        figure.decimals == 0 && grid.cells.len() >= 3 && all.all(|one| one.decimals == 0 && last(one) == 0.0);
    let mut figure = figure;
    if tens {
        let half = 5.0 * figure.scale;
        (figure.figure.low, figure.figure.high) = (figure.figure.value - half, figure.figure.value + half);
    }
    figure
}

/// Links but those of rows of means and totals that no reading needs to give: the mean of the ratios is not the ratio of the means.
fn without_means(grid: &Grid, links: Vec<(usize, Link)>) -> Vec<Link> {
    let is_mean = |row: usize| is_of_many(&grid.labels[row]);
    let kept = links.into_iter().filter(|(row, link)| link.holds() || !is_mean(*row));
    kept.map(|(_, link)| link).collect()
}

/// Whether a row is of all others: the mean of ratios is not the ratio of means.
fn is_of_many(label: &str) -> bool {
    [MEAN, SUM, MEDIAN, MOST, LEAST].iter().any(|words| says(label, words)) && !says(label, METRICS)
}

/// A figure and its ratio to that of the base, one after the other along a column or a row.
struct Sequence<'a> {
    items: Vec<Item<'a>>,
    /// What they are of.
    name: String,
    /// Whether ratio and figure stand in one cell.
    together: bool,
    /// How far apart their columns are.
    apart: usize,
}

struct Item<'a> {
    value: Option<Quantity>,
    ratio: Option<Quantity>,
    label: &'a str,
}

/// Sequences down the columns: of shares with the figures that they stand behind, pooled; of a column of ratios with each column
/// near it. The outer list has what is weighed together, the inner the columns.
fn sequences(grid: &Grid) -> Vec<Vec<Vec<Sequence<'_>>>> {
    let mut pools = Vec::new();
    let sequence = |value: usize, derived: usize, unit: Unit, together: bool| Sequence {
        items: (0..grid.cells.len())
            .map(|row| Item {
                value: grid.at(row, value).copied().filter(|one| !is_ratio(one)),
                ratio: grid.at(row, derived).map(|figure| as_ratio(figure, unit)),
                label: &grid.labels[row],
            })
            .collect(),
        name: grid.heads[derived].text.clone(),
        together: together
            || (grid.is_text
                && grid.heads[derived].text.trim_start().starts_with(['(', '（', '['])
                && value + 1 == derived),
        apart: value.abs_diff(derived),
    };
    let mut pooled = Vec::new();
    for (derived, head) in grid.heads.iter().enumerate() {
        let Some(unit) = derived_as(grid, derived) else { continue };
        if head.slot != Slot::Figure {
            let own = |other: &super::grid::Head| other.source == head.source && other.slot == Slot::Figure;
            pooled.extend(grid.heads.iter().position(own).map(|value| sequence(value, derived, unit, true)));
            continue;
        }
        let of_each = values(grid, derived).into_iter().take(6);
        pools.push(of_each.map(|value| vec![sequence(value, derived, unit, false)]).collect());
    }
    if !pooled.is_empty() {
        pools.push(vec![pooled]);
    }
    pools
}

/// The same along the rows, of shares with the figures that they stand behind.
fn shares_along_rows(grid: &Grid) -> Vec<Vec<Vec<Sequence<'_>>>> {
    let pairs: Vec<(usize, usize)> = grid
        .heads
        .iter()
        .enumerate()
        .filter(|(at, head)| head.slot != Slot::Figure && derived_as(grid, *at).is_some())
        .filter_map(|(at, head)| {
            let own = |other: &super::grid::Head| other.source == head.source && other.slot == Slot::Figure;
            Some((grid.heads.iter().position(own)?, at))
        })
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let figures: Vec<usize> =
        (0..grid.heads.len()).filter(|at| grid.heads[*at].slot == Slot::Figure).collect();
    let of_row = |row: usize| Sequence {
        items: figures
            .iter()
            .map(|value| Item {
                value: grid.at(row, *value).copied().filter(|one| !is_ratio(one)),
                ratio: pairs
                    .iter()
                    .find(|(own, _)| own == value)
                    .and_then(|(_, share)| grid.at(row, *share).map(|one| as_ratio(one, Unit::Percent))),
                label: &grid.heads[*value].text,
            })
            .collect(),
        name: grid.labels[row].clone(),
        together: true,
        apart: 1,
    };
    vec![vec![(0..grid.cells.len()).map(of_row).collect()]]
}

/// Which item is the base of another.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    First,
    Last,
    /// The last before it that is 100 %, 1.0x or has no ratio.
    Marked,
    /// The one whose label says so.
    Named,
    Previous,
}

impl Base {
    const ALL: [Base; 5] = [Base::First, Base::Marked, Base::Named, Base::Last, Base::Previous];

    fn of(self, items: &[Item], at: usize) -> Option<usize> {
        let whole = |item: &Item| match item.ratio {
            None => item.value.is_some(),
            Some(ratio) => is_whole(&ratio),
        };
        let base = match self {
            Base::First => items.iter().position(|item| item.value.is_some()),
            Base::Last => items.iter().rposition(|item| item.value.is_some()),
            Base::Previous => items[..at].iter().rposition(|item| item.value.is_some()),
            Base::Marked => items[..at]
                .iter()
                .rposition(whole)
                .or_else(|| items[at..].iter().position(whole).map(|found| at + found)),
            Base::Named => items.iter().position(|item| says(item.label, BASE) && item.value.is_some()),
        };
        base.filter(|base| *base != at)
    }

    fn prior(self, sequence: &Sequence) -> f64 {
        let marked = sequence.items.iter().any(|item| item.ratio.is_some_and(|ratio| is_whole(&ratio)));
        let bare = sequence.items.iter().filter(|item| item.ratio.is_none() && item.value.is_some()).count();
        match self {
            Base::Marked if marked => 3.0,
            Base::Marked if bare == 1 => 2.0,
            Base::Marked => 0.0,
            Base::Named => 2.0,
            Base::First => 1.5,
            Base::Last => 0.0,
            Base::Previous => -1.0,
        }
    }
}

/// `100 %`, `1.00x`, `0 %`.
fn is_whole(ratio: &Quantity) -> bool {
    let value = ratio.figure.value;
    let one = if ratio.unit == Unit::Percent { 100.0 } else { 1.0 };
    value == one || value == 0.0
}

/// Ratios of figures to that of a base in the same column or row.
fn bases(pools: &[Vec<Vec<Sequence>>], found: &mut Vec<(Weight, Vec<Link>)>) {
    for pool in pools {
        let mut readings = Vec::new();
        for sequences in pool {
            let times =
                sequences.iter().flat_map(|one| &one.items).find_map(|item| item.ratio).map(|one| one.unit);
            let forms = forms(times.unwrap_or(Unit::Percent))
                .flat_map(|form| [false, true].map(|turned| (form, turned)));
            for (form, turned) in forms {
                for base in Base::ALL {
                    let links: Vec<Link> =
                        sequences.iter().flat_map(|sequence| against(sequence, base, form, turned)).collect();
                    if links.is_empty() {
                        continue;
                    }
                    let first = &sequences[0];
                    let head = first.name.as_str();
                    let mut prior = base.prior(first);
                    prior += if first.together { 2.0 } else { 0.0 };
                    prior +=
                        if !first.together && (says(head, RATIO) || says(head, CHANGE)) { 2.0 } else { 0.0 };
                    prior += if first.apart == 1 { 0.5 } else { 0.0 };
                    prior -= if turned { 1.0 } else { 0.0 };
                    prior -= if matches!(form, Form::Change | Form::Multiple) { 0.5 } else { 0.0 };
                    prior += if says(head, LOSS) == (form == Form::Loss) { 0.5 } else { 0.0 };
                    readings.push(Reading { links, prior });
                }
            }
        }
        settle(readings, found);
    }
}

fn against(sequence: &Sequence, base: Base, form: Form, turned: bool) -> Vec<Link> {
    let link = |at: usize| {
        let item = &sequence.items[at];
        let (value, ratio) = (item.value?, item.ratio?);
        let other = base.of(&sequence.items, at)?;
        let below = sequence.items[other].value?;
        let names = [item.label.to_owned(), sequence.items[other].label.to_owned()];
        let sound = comparable(&value, &below) && comparable(&below, &value);
        let mean = is_of_many(item.label);
        let link = Link {
            derived: ratio,
            form,
            numerator: if turned { below } else { value },
            denominator: if turned { value } else { below },
            why: Why::Held(0),
            of: format!("{}, {}", item.label, sequence.name),
            names,
        };
        (sound && (!mean || link.holds())).then_some(link)
    };
    (0..sequence.items.len()).filter_map(link).collect()
}
