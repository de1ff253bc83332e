//! Ratios in a column (or a row) of their own whose base is one row: `| host | 874 ms | 1.00× |`. Each is that row's figure of one
//! other column over the base's figure there, or turned round where less is better, or the change between them.

use super::names::parts;
use super::{Form, LEAST, Link, Why, comparable, is_ratio};
use crate::number::{self, Figure, Hedge, Quantity, Unit};
use crate::page::{Page, Spot};
use crate::table::{Cell, Row, SPACES, Table};
use std::cell::OnceCell;
use std::collections::HashSet;

pub(super) mod words;

/// The links of a table, along both of its directions; none of a column in which another link stands already.
pub(super) fn links(page: &Page, table: &Table, tied: &HashSet<Spot>) -> Vec<Link> {
    let heads = table.columns.iter().map(|column| column.head.as_str()).collect();
    let labels = table.rows.iter().map(|row| row.label.as_str()).collect();
    let cells = table.rows.iter().map(|row| row.cells.iter().map(Option::as_ref).collect()).collect();
    let own = table.rows.iter().map(|row| of_label(page, row)).collect();
    let upright = Grid { page, tied, heads, labels, own, told: OnceCell::new(), cells };
    let links = upright.links();
    if links.is_empty() && table.rows.len() <= LYING { upright.turned().links() } else { links }
}

/// The figure that a label is: `| 7,923,819,720 | 33.1 % |`.
fn of_label(page: &Page, row: &Row) -> Option<Quantity> {
    let label = row.label.as_str();
    if !label.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let at = page.line(row.line).find(label)? as u32;
    let found = number::quantities_in(row.line, label, SPACES);
    let [mut only] = <[Quantity; 1]>::try_from(found).ok()?;
    let spot = &mut only.figure.spot;
    let whole = spot.start == 0 && spot.end as usize == label.len();
    (spot.start, spot.end) = (spot.start + at, spot.end + at);
    whole.then_some(only)
}

/// Cells with the heads of their columns and the labels of their rows.
struct Grid<'a> {
    page: &'a Page,
    tied: &'a HashSet<Spot>,
    heads: Vec<&'a str>,
    labels: Vec<&'a str>,
    /// The labels that are figures; as a column it stands behind the last.
    own: Vec<Option<Quantity>>,
    /// Rows that say that they are the base.
    told: OnceCell<Vec<bool>>,
    cells: Vec<Vec<Option<&'a Cell>>>,
}

/// A column of ratios.
struct Ratios {
    column: usize,
    /// Of each row.
    cells: Vec<Option<Quantity>>,
    /// Whether some are plain numbers.
    plain: bool,
}

/// How a cell shows that its row is the base.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// `baseline`.
    Word,
    /// `1.00×`, `100 %`.
    Whole,
    /// `0 %`.
    Nothing,
    /// `-`.
    Empty,
}

/// A row that a column may be against.
#[derive(Clone, Copy)]
struct Base {
    row: usize,
    shown: Shown,
    /// Whether words say so, not only a cell that would look the same for a row that is equal to the base.
    told: bool,
}

/// One way in which all ratios of a column may be made.
struct Reading {
    values: usize,
    form: Form,
    /// Whether the base is what is divided.
    turned: bool,
    ties: Vec<Tie>,
}

/// A ratio of one row.
struct Tie {
    row: usize,
    base: usize,
    link: Link,
}

impl Reading {
    fn held(&self) -> usize {
        self.ties.iter().filter(|tie| tie.link.holds()).count()
    }

    fn telling(&self) -> usize {
        self.ties.iter().filter(|tie| tie.link.holds() && tells(&tie.link)).count()
    }

    /// Whether its figures are 1, 2, 4, 8: what was set, by which results grow until they do not.
    fn is_of_steps(&self) -> bool {
        let is_step = |tie: &Tie| {
            let share = tie.link.numerator.figure.value / tie.link.denominator.figure.value;
            let times = share.max(1.0 / share);
            (times - times.round()).abs() < 1e-9
        };
        self.ties.iter().all(is_step)
    }

    /// Whether a ratio that is not of this reading may well be of the other one. A change of the other end is a slip; a share turned
    /// round may be meant, and so is a loss among gains: `↓ 12 %`.
    fn may_be(&self, other: &Reading) -> bool {
        self.values != other.values
            || self.turned == other.turned
            || self.form == Form::Share && other.form == Form::Share
    }
}

/// Whether a ratio is printed finely enough to tell its operands and its form: `1.02×` and `+1 %` fit any two that are near each
/// other, `2×` most that are not.
fn tells(link: &Link) -> bool {
    let Some(share) = link.numerator.interval().over(link.denominator.interval()) else { return false };
    let whole = if link.derived.unit == Unit::Percent { 100.0 } else { 1.0 };
    let printed = link.derived.interval();
    let digit = (printed.high - printed.low) / whole;
    link.tells() && link.fine() && digit <= NEAR * (share.middle() - 1.0).abs()
}

/// A digit that is more than that of the difference from the base tells little of it.
const NEAR: f64 = 0.25;

/// Tables of more rows do not lie on their side.
const LYING: usize = 64;

/// So many columns are tried, the nearest.
const COLUMNS: usize = 8;

/// Rows that may be the base each by itself, where several look like it.
const BASES: usize = 4;

impl<'a> Grid<'a> {
    fn turned(&self) -> Grid<'a> {
        let at = |row: &Vec<Option<&'a Cell>>, column: usize| row.get(column).copied().flatten();
        let cells =
            (0..self.heads.len()).map(|column| self.cells.iter().map(|row| at(row, column)).collect());
        Grid {
            page: self.page,
            tied: self.tied,
            heads: self.labels.clone(),
            labels: self.heads.clone(),
            own: Vec::new(),
            told: OnceCell::new(),
            cells: cells.collect(),
        }
    }

    fn cell(&self, row: usize, column: usize) -> Option<&'a Cell> {
        self.cells.get(row)?.get(column).copied().flatten()
    }

    fn figure(&self, row: usize, column: usize) -> Option<Quantity> {
        if column == self.heads.len() {
            return self.own.get(row).copied().flatten();
        }
        self.cell(row, column)?.figure
    }

    /// What is said of a row: its label, and its cells that are no figures.
    fn texts(&self, row: usize) -> impl Iterator<Item = &'a str> {
        let worded = |cell: &'a Cell| cell.figure.is_none() && cell.share.is_none() && cell.more.is_empty();
        let cells = self.cells[row].iter().flatten().copied().filter(move |cell| worded(cell));
        std::iter::once(self.labels[row]).chain(cells.map(|cell| self.page.quote(cell.spot)))
    }

    fn says_base(&self, row: usize) -> bool {
        let says = |row| self.texts(row).any(words::says_base);
        self.told.get_or_init(|| self.rows().map(says).collect())[row]
    }

    /// What a row is called: the first text that has words.
    fn name(&self, row: usize) -> &'a str {
        self.texts(row).find(|text| !parts(text).is_empty()).unwrap_or(self.labels[row])
    }

    fn rows(&self) -> std::ops::Range<usize> {
        0..self.labels.len()
    }

    fn links(&self) -> Vec<Link> {
        let has_values = |column: usize| {
            let mut figures = self.rows().filter_map(|row| self.figure(row, column)).peekable();
            figures.peek().is_some() && !figures.all(|figure| is_ratio(&figure))
        };
        let values: Vec<bool> = (0..=self.heads.len()).map(has_values).collect();
        let of_column = |column: usize| {
            let ratios = self.ratios(column)?;
            let values = nearest(&values, column);
            let bases = self.bases(&ratios);
            let alone = bases.len() == 1;
            bases
                .iter()
                .map(|bases| self.of_bases(&ratios, bases, alone, &values))
                .find(|links| !links.is_empty())
        };
        (0..self.heads.len()).filter_map(of_column).flatten().collect()
    }

    /// A column as one of ratios, if it can be.
    fn ratios(&self, column: usize) -> Option<Ratios> {
        let figures = || self.rows().filter_map(|row| self.figure(row, column));
        let plain = |figure: &Quantity| figure.unit == Unit::Bare && figure.scale == 1.0;
        let some_plain = figures().any(|figure| plain(&figure));
        let sound = if figures().any(|figure| figure.unit == Unit::Percent) {
            figures().all(|figure| figure.unit == Unit::Percent)
        } else {
            figures().all(|figure| figure.unit == Unit::Times || plain(&figure))
        };
        let linked = figures().any(|figure| self.tied.contains(&figure.figure.spot));
        if !sound || linked || figures().next().is_none() {
            return None;
        }
        let cells = self.rows().map(|row| self.cell(row, column).and_then(ratio)).collect();
        Some(Ratios { column, cells, plain: some_plain })
    }

    /// Which rows the ratios of a column may be against, by how they show it.
    fn bases(&self, ratios: &Ratios) -> Vec<Vec<Base>> {
        let head = self.heads[ratios.column];
        let named = self.named(head);
        let base = |row: usize| {
            let shown = self.shown(ratios, row)?;
            let told = shown == Shown::Word || named == Some(row) || self.says_base(row);
            Some(Base { row, shown, told })
        };
        let mut bases: Vec<Base> = self.rows().filter_map(base).collect();
        if ratios.plain {
            let says = words::says_ratio(head);
            bases.retain(|base| base.shown == Shown::Whole && (says || self.is_spelled(base.row, ratios)));
        }
        // A row that the head names, and that is no base, makes the whole column one of something else.
        if named.is_some_and(|row| bases.iter().all(|base| base.row != row)) {
            return Vec::new();
        }
        if bases.iter().any(|base| base.told) {
            bases.retain(|base| base.told);
        }
        let shown = [Shown::Word, Shown::Whole, Shown::Nothing, Shown::Empty];
        let alike = |shown| bases.iter().copied().filter(|base| base.shown == shown).collect();
        shown.into_iter().map(alike).filter(|bases: &Vec<Base>| !bases.is_empty()).collect()
    }

    /// Whether a ratio is `1.00x`.
    fn is_spelled(&self, row: usize, ratios: &Ratios) -> bool {
        let spelled = |figure: Quantity| figure.unit == Unit::Times && figure.decimals > 0;
        self.figure(row, ratios.column).is_some_and(spelled)
    }

    /// The one row that a head names behind `vs`.
    fn named(&self, head: &str) -> Option<usize> {
        let said = parts(words::other(head)?);
        let shares = |row: &usize| self.texts(*row).flat_map(parts).any(|part| said.contains(&part));
        let mut rows = self.rows().filter(shares);
        rows.next().filter(|_| rows.next().is_none())
    }

    fn shown(&self, ratios: &Ratios, row: usize) -> Option<Shown> {
        let Some(cell) = self.cell(row, ratios.column) else { return Some(Shown::Empty) };
        let Some(ratio) = ratios.cells[row] else {
            return words::says_base(self.page.quote(cell.spot)).then_some(Shown::Word);
        };
        let whole = if ratio.unit == Unit::Percent { 100.0 } else { 1.0 };
        // `+100 %` is twice the base.
        let signed = self.page.quote(cell.spot).contains('+');
        if ratio.figure.value == whole && !signed {
            Some(Shown::Whole)
        } else {
            (ratio.figure.value == 0.0 && ratio.unit == Unit::Percent).then_some(Shown::Nothing)
        }
    }

    /// The links of a column against the one row, or against several that all look like the base: each is that of the rows down to
    /// the next, or one of them of all, which is only seen where all ratios hold.
    fn of_bases(&self, ratios: &Ratios, bases: &[Base], alone: bool, values: &[usize]) -> Vec<Link> {
        let forms: &[Form] = match bases[0].shown {
            Shown::Whole => &[Form::Share],
            Shown::Nothing => &[Form::Loss, Form::Gain],
            Shown::Word | Shown::Empty => &Form::ALL,
        };
        let [base] = bases else { return self.of_several(ratios, bases, values, forms) };
        let readings = self.readings(ratios, values, forms, &|_| Some(base.row));
        let Some(best) = best(&readings) else { return Vec::new() };
        let head = self.heads[ratios.column];
        let told = base.told || self.is_spelled(base.row, ratios) || words::says_ratio(head);
        // Loads of 50 % and 100 %, and sizes of 4x and 8x, have results that grow with them, but for some.
        let says = told || words::says_change(head);
        let percent = ratios.cells.iter().flatten().any(|ratio| ratio.unit == Unit::Percent);
        let least = if says { 3 * best.ties.len() } else { 5 * best.ties.len() };
        if best.telling() >= LEAST && 5 * best.held() >= least && (says || !percent) {
            return self.settled(ratios, best, &readings);
        }
        let meant = if told && alone { of_few(head, &readings) } else { None };
        meant.map(|meant| self.settled(ratios, meant, &readings)).unwrap_or_default()
    }

    fn of_several(&self, ratios: &Ratios, bases: &[Base], values: &[usize], forms: &[Form]) -> Vec<Link> {
        let of_block = |row: usize| bases.iter().rev().find(|base| base.row <= row).map(|base| base.row);
        let mut readings = self.readings(ratios, values, forms, &of_block);
        for base in bases.iter().take(BASES) {
            readings.extend(self.readings(ratios, values, forms, &|_| Some(base.row)));
        }
        match best(&readings) {
            Some(best) if best.telling() >= LEAST && best.held() == best.ties.len() => {
                self.settled(ratios, best, &readings)
            }
            _ => Vec::new(),
        }
    }

    /// Every way in which a column may be made, of the nearest columns first.
    fn readings(
        &self,
        ratios: &Ratios,
        values: &[usize],
        forms: &[Form],
        base_of: &dyn Fn(usize) -> Option<usize>,
    ) -> Vec<Reading> {
        let mut readings = Vec::new();
        let head = self.heads[ratios.column];
        let may = |values: &&usize| {
            let of = self.heads.get(**values).copied().unwrap_or_default();
            !words::is_of_many(head, of) && !words::is_set(of)
        };
        // What a total is made of is not compared with it.
        let of_total = |tie: &Tie| {
            let count = |one: &Quantity| one.unit == Unit::Bare && one.decimals == 0;
            count(&tie.link.denominator) && words::is_mean(self.labels[tie.base])
        };
        for values in values.iter().filter(may) {
            for form in forms {
                for turned in [false, true] {
                    let link = |row: usize| {
                        let derived = ratios.cells[row]?;
                        let own = self.figure(row, *values)?;
                        let of = base_of(row).filter(|base| *base != row)?;
                        let base = self.figure(of, *values)?;
                        let (numerator, denominator) = if turned { (base, own) } else { (own, base) };
                        let names = [String::new(), String::new()];
                        let (form, why) = (*form, Why::Held(0));
                        let link =
                            Link { derived, form, numerator, denominator, why, of: String::new(), names };
                        let sound = comparable(&numerator, &denominator) && own.figure.value > 0.0;
                        sound.then_some(Tie { row, base: of, link })
                    };
                    let ties: Vec<Tie> = self.rows().filter_map(link).collect();
                    readings.push(Reading { values: *values, form: *form, turned, ties });
                }
            }
        }
        readings.retain(|reading| !reading.ties.is_empty() && !reading.is_of_steps());
        readings.iter_mut().for_each(|reading| reading.ties.retain(|tie| !of_total(tie)));
        readings.retain(|reading| !reading.ties.is_empty());
        readings
    }

    /// The links of the reading that holds best, but those that may be meant otherwise.
    fn settled<'r>(&self, ratios: &Ratios, best: &Reading, readings: &'r [Reading]) -> Vec<Link> {
        let held = best.held();
        let others = readings.iter().filter(|other| !std::ptr::eq(*other, best) && best.may_be(other));
        let holding = |other: &'r Reading| other.ties.iter().filter(|tie| tie.link.holds());
        let otherwise: HashSet<usize> = others.flat_map(holding).map(|tie| tie.row).collect();
        let of_means = words::says_mean_of_ratios(&self.heads, self.heads[ratios.column]);
        let is_hedged = |link: &Link| link.derived.hedge != Hedge::Plain;
        let is_mean = |row: usize, link: &Link| words::is_mean(self.labels[row]) || of_means && is_near(link);
        let is_open =
            |row: usize, link: &Link| is_hedged(link) || is_mean(row, link) || otherwise.contains(&row);
        let stays = |tie: &&Tie| tie.link.holds() || !is_open(tie.row, &tie.link);
        let full = |Tie { row, base, link }: &Tie| {
            let [own, base] = [*row, *base].map(|row| self.name(row).to_owned());
            let of = format!("{own}, {}", self.heads[ratios.column]);
            let names = if best.turned { [base, own] } else { [own, base] };
            Link { why: Why::Held(held), of, names, ..link.clone() }
        };
        best.ties.iter().filter(stays).map(full).collect()
    }
}

/// The reading of so few cells that they do not tell the form by themselves: the one that most of them hold for where no other
/// does, of each column alike; or of a single one, that it holds for or that the head says.
fn of_few<'r>(head: &str, readings: &'r [Reading]) -> Option<&'r Reading> {
    let best = best(readings)?;
    let ways = readings.iter().filter(|other| (other.form, other.turned) == (best.form, best.turned));
    let held = |reading: &Reading| reading.ties.iter().map(|tie| tie.link.holds()).collect::<Vec<_>>();
    // Another column may not be what it is of.
    if ways.clone().any(|other| held(other) != held(best)) {
        return None;
    }
    if best.ties.len() > 1 {
        let alone = readings.iter().filter(|other| other.held() == best.held()).count() == ways.count();
        return (alone && best.telling() > 0 && 2 * best.held() >= best.ties.len()).then_some(best);
    }
    if best.held() > 0 {
        return Some(best);
    }
    let link = &best.ties.first()?.link;
    let better = words::Better::of(link.numerator.unit);
    let said = words::form(head, better, link.derived.unit)?;
    readings.iter().find(|reading| (reading.form, reading.turned) == said)
}

/// Whether a mean of ratios may be what is printed where the ratio of the means is what is computed.
fn is_near(link: &Link) -> bool {
    let near = |recomputed: number::Interval| recomputed.wider(MEANS).meets(link.derived.interval());
    link.recomputed().is_some_and(near)
}

/// A mean of ratios is about so near to the ratio of the means.
const MEANS: f64 = 0.1;

/// The reading that most cells hold for; of equal ones the nearest, the plainest.
fn best(readings: &[Reading]) -> Option<&Reading> {
    let best = readings.iter().enumerate().max_by_key(|(at, one)| (one.held(), std::cmp::Reverse(*at)));
    best.map(|(_, reading)| reading)
}

/// Columns of figures, the nearest first: to the left up to the labels, which are the last of them, then to the right.
fn nearest(values: &[bool], column: usize) -> Vec<usize> {
    let labels = values.len() - 1;
    let left = (0..column).rev();
    let right = column + 1..labels;
    left.chain([labels]).chain(right).filter(|at| values[*at]).take(COLUMNS).collect()
}

/// The ratio of a cell, of so many times where it says no unit; what stands behind `±` widens it.
fn ratio(cell: &Cell) -> Option<Quantity> {
    let ratio = cell.figure?;
    let unit = if ratio.unit == Unit::Bare { Unit::Times } else { ratio.unit };
    let spread = cell.more.first().filter(|more| more.hedge == Hedge::PlusMinus);
    let spread = spread.map_or(0.0, |more| match (more.unit, unit) {
        (Unit::Percent, Unit::Times) => more.figure.high.abs() / 100.0 * ratio.figure.value.abs(),
        _ => more.figure.high.abs(),
    });
    let Figure { low, high, .. } = ratio.figure;
    let figure = Figure { low: low - spread, high: high + spread, ..ratio.figure };
    Some(Quantity { figure, unit, ..ratio })
}

#[cfg(test)]
mod tests;
