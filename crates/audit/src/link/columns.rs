//! Ratios in a column (or a row) of their own, of two other columns (or rows).

use super::names::mentions;
use super::{Form, Link, Why, comparable, is_ratio, settled};
use crate::number::Quantity;
use crate::table::Table;

/// The links of a table, along both of its directions.
pub(super) fn links(table: &Table) -> Vec<Link> {
    let upright = Grid {
        heads: table.columns.iter().map(|column| column.head.as_str()).collect(),
        labels: table.rows.iter().map(|row| row.label.as_str()).collect(),
        cells: table
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.as_ref()?.figure).collect())
            .collect(),
    };
    let lying = upright.turned();
    let links = upright.links();
    if links.is_empty() { lying.links() } else { links }
}

/// Figures with the heads of their columns and the labels of their rows.
struct Grid<'a> {
    heads: Vec<&'a str>,
    labels: Vec<&'a str>,
    cells: Vec<Vec<Option<Quantity>>>,
}

impl<'a> Grid<'a> {
    fn turned(&self) -> Grid<'a> {
        let at = |row: &Vec<Option<Quantity>>, column: usize| row.get(column).copied().flatten();
        let cells =
            (0..self.heads.len()).map(|column| self.cells.iter().map(|row| at(row, column)).collect());
        Grid { heads: self.labels.clone(), labels: self.heads.clone(), cells: cells.collect() }
    }

    fn column(&self, at: usize) -> impl Iterator<Item = Option<&Quantity>> {
        self.cells.iter().map(move |row| row.get(at).and_then(Option::as_ref))
    }

    /// Whether all figures of a column are ratios.
    fn of_ratios(&self, at: usize) -> bool {
        let mut figures = self.column(at).flatten().peekable();
        figures.peek().is_some() && figures.all(is_ratio)
    }

    /// Whether a column of ratios is the base itself: 100 % wherever it has a figure. Any two columns that are near each other
    /// would fit it.
    fn of_base(&self, at: usize) -> bool {
        self.column(at).flatten().all(|figure| figure.figure.value == 100.0)
            && self.column(at).flatten().count() > 1
    }

    fn links(&self) -> Vec<Link> {
        let derived = (0..self.heads.len()).filter(|at| self.of_ratios(*at) && !self.of_base(*at));
        derived.flat_map(|at| self.of_column(at)).collect()
    }

    fn of_column(&self, derived: usize) -> Vec<Link> {
        let values: Vec<usize> = (0..self.heads.len())
            .filter(|at| !self.of_ratios(*at) && self.column(*at).flatten().next().is_some())
            .collect();
        let mut candidates = Vec::new();
        for numerator in &values {
            for denominator in values.iter().filter(|at| *at != numerator) {
                for form in Form::ALL {
                    candidates.push(self.linked(derived, *numerator, *denominator, form));
                }
            }
        }
        settled(candidates, |links| links.first().is_some_and(|link| self.names(derived, link)))
    }

    fn linked(&self, derived: usize, numerator: usize, denominator: usize, form: Form) -> Vec<Link> {
        let names = [numerator, denominator].map(|at| self.heads[at].to_owned());
        let link = |(label, row): (&&str, &Vec<Option<Quantity>>)| {
            let figure = |at: usize| row.get(at).copied().flatten();
            let (above, below) = (figure(numerator)?, figure(denominator)?);
            let derived_figure = figure(derived)?;
            comparable(&above, &below).then(|| Link {
                derived: derived_figure,
                form,
                numerator: above,
                denominator: below,
                why: Why::Held(0),
                of: format!("{label}, {}", self.heads[derived]),
                names: names.clone(),
            })
        };
        self.labels.iter().zip(&self.cells).filter_map(link).collect()
    }

    /// Whether the head of the column says that it is this ratio of these two.
    fn names(&self, derived: usize, link: &Link) -> bool {
        let head = self.heads[derived];
        let head_of = |quantity: &Quantity| {
            let at = (0..self.heads.len()).find(|at| self.column(*at).flatten().any(|one| one == quantity));
            at.map(|at| self.heads[at])
        };
        let (Some(above), Some(below)) = (head_of(&link.numerator), head_of(&link.denominator)) else {
            return false;
        };
        if !mentions(head, above, below) || !mentions(head, below, above) {
            return false;
        }
        // What stands behind the last slash is the divisor: `VM/host`, `(host - VM) / host`.
        let divides = match head.rsplit_once(['/', '／', '÷']) {
            Some((_, behind)) => mentions(behind, below, above) && !mentions(behind, above, below),
            None => false,
        };
        let lost = is_loss(head);
        divides && (link.form == Form::Loss) == lost && link.form != Form::Gain
    }
}

/// Whether a text speaks of a loss: what is gone, not what is left.
pub(super) fn is_loss(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "loss",
        "overhead",
        "cost",
        "penalty",
        "tax",
        "slower",
        "drop",
        "开销",
        "损失",
        "损耗",
        "下降",
        "降低",
        "потер",
        "теря",
        "накладн",
        "падени",
        "сниж",
        "медленнее",
    ]
    .iter()
    .any(|word| text.contains(word))
}
