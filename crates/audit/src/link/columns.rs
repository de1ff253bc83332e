//! Ratios in a column (or a row) of their own, of two other columns (or rows).

use super::names::{mentions, parts};
use super::{Form, LEAST, Link, Why, comparable, is_ratio, settled};
use crate::number::{Quantity, Unit};
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

/// Which columns may be divided by which to give a third.
struct Reading {
    numerator: usize,
    denominator: usize,
    form: Form,
}

/// Every reading of these columns.
fn readings(values: &[usize]) -> impl Iterator<Item = Reading> + '_ {
    let pairs = values.iter().flat_map(move |one| values.iter().map(move |other| (*one, *other)));
    pairs
        .filter(|(one, other)| one != other)
        .flat_map(|(numerator, denominator)| Form::ALL.map(|form| Reading { numerator, denominator, form }))
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
        let is_metric = |at: &usize| tells_use(self.heads[*at]);
        let derived = (0..self.heads.len()).filter(|at| !self.of_base(*at) && !is_metric(at));
        let of_one = |at| if self.of_ratios(at) { self.of_column(at) } else { self.of_plain_numbers(at) };
        derived.flat_map(of_one).collect()
    }

    /// Columns that a ratio may be of: of very many those that are near it.
    fn values(&self, derived: usize) -> Vec<usize> {
        let may = |at: &usize| *at != derived && !self.of_ratios(*at);
        let has_figures = |at: &usize| self.column(*at).flatten().next().is_some();
        let mut values: Vec<usize> = (0..self.heads.len()).filter(may).filter(has_figures).collect();
        values.sort_by_key(|at| at.abs_diff(derived));
        values.truncate(MOST_VALUES);
        values.sort_unstable();
        values
    }

    fn of_column(&self, derived: usize) -> Vec<Link> {
        let head = self.heads[derived];
        let may = |reading: &Reading| self.names(derived, reading) || self.held(derived, reading).0 >= LEAST;
        let values = self.values(derived);
        let candidates = readings(&values).filter(may);
        let candidates = candidates.map(|reading| self.linked(derived, &reading)).collect();
        settled(candidates, |links| {
            links.first().is_some_and(|link| names(head, &link.names[0], &link.names[1], link.form))
        })
    }

    /// How many cells of a column a reading gives, and how many it does not.
    fn held(&self, derived: usize, reading: &Reading) -> (usize, usize) {
        let (mut held, mut missed) = (0, 0);
        for row in &self.cells {
            let figure = |at: usize| row.get(at).and_then(Option::as_ref);
            let figures = (figure(reading.numerator), figure(reading.denominator), figure(derived));
            let (Some(above), Some(below), Some(printed)) = figures else { continue };
            if comparable(above, below) {
                let given = reading.form.of(above.interval(), below.interval(), printed.unit);
                let holds = given.is_some_and(|given| given.meets(printed.interval()));
                *(if holds { &mut held } else { &mut missed }) += 1;
            }
        }
        (held, missed)
    }

    /// The same of ratios that are printed as plain numbers, `0.660`: only the head tells that they are ratios, so that one
    /// reading must give all of them but one.
    fn of_plain_numbers(&self, derived: usize) -> Vec<Link> {
        let plain = |figure: &Quantity| figure.unit == Unit::Bare && figure.scale == 1.0;
        let says = says_ratio(self.heads[derived]);
        let divides = self.heads[derived].contains(DIVIDES);
        if !(says || divides) || !self.column(derived).flatten().all(plain) {
            return Vec::new();
        }
        let values = self.values(derived);
        let held = |links: &[Link]| links.iter().filter(|link| link.holds()).count();
        let told =
            |links: &[Link]| links.iter().filter(|link| link.holds() && link.tells() && link.fine()).count();
        let fits = |(named, links): &(bool, Vec<Link>)| {
            // Of more columns than two, two cells may fit some pair by chance.
            let least = if *named || values.len() == 2 { LEAST - 1 } else { LEAST };
            links.len() >= LEAST && held(links) + 1 >= links.len() && told(links) >= least
        };
        // A row of means may be one more that no reading gives.
        let may = |reading: &Reading| {
            self.held(derived, reading).1 <= 2
                && ((says && reading.form == Form::Share) || self.names(derived, reading))
        };
        let candidates = readings(&values).filter(may).map(|reading| {
            let named = self.names(derived, &reading);
            (named, self.linked(derived, &reading))
        });
        let fitting = candidates.filter(fits).max_by_key(|(named, links)| (*named, held(links)));
        let tied = |links: Vec<Link>| {
            let why = Why::Held(held(&links));
            let times =
                |link: Link| Link { derived: Quantity { unit: Unit::Times, ..link.derived }, why, ..link };
            links.into_iter().map(times).collect()
        };
        fitting.map(|(_, links)| tied(links)).unwrap_or_default()
    }

    fn linked(&self, derived: usize, reading: &Reading) -> Vec<Link> {
        let Reading { numerator, denominator, form } = *reading;
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
        let links = self.labels.iter().zip(&self.cells).filter_map(|row| Some((*row.0, link(row)?)));
        without_means_of_ratios(links.collect())
    }

    /// Whether the head of the column says that it is this ratio of these two.
    fn names(&self, derived: usize, reading: &Reading) -> bool {
        let (above, below) = (self.heads[reading.numerator], self.heads[reading.denominator]);
        names(self.heads[derived], above, below, reading.form)
    }
}

/// Whether a head says that its column is that ratio of these two.
fn names(head: &str, above: &str, below: &str, form: Form) -> bool {
    if !head.contains(DIVIDES) {
        return false;
    }
    if !mentions(head, above, below) || !mentions(head, below, above) || is_of_many(head, [above, below]) {
        return false;
    }
    // What stands behind the last slash is the divisor: `VM/host`, `(host - VM) / host`.
    let is_divisor = |behind: &str| mentions(behind, below, above) && !mentions(behind, above, below);
    let divides = match head.rsplit_once(DIVIDES) {
        // `host:VM` is a ratio where nothing but names stands there.
        Some((_, behind)) if !head.contains(SLASHES) => {
            let known = [parts(above), parts(below)].concat();
            is_divisor(behind) && parts(head).iter().all(|part| known.contains(part))
        }
        Some(_) => head.rsplit_once(SLASHES).is_some_and(|(_, behind)| is_divisor(behind)),
        None => false,
    };
    let lost = is_loss(head);
    divides && (form == Form::Loss) == lost && form != Form::Gain
}

/// So many columns are tried for each column of ratios, in pairs: a hundred rows are as many columns of the table turned.
const MOST_VALUES: usize = 24;

/// Signs before a divisor.
const SLASHES: [char; 3] = ['/', '／', '÷'];
/// The same with those that stand for much else.
const DIVIDES: [char; 5] = ['/', '／', '÷', ':', '：'];

/// Whether a head says that its cells are ratios.
pub(super) fn says_ratio(head: &str) -> bool {
    const WORDS: [&str; 8] =
        ["ratio", "speedup", "factor", "faktor", "verhältnis", "отношение", "ускорение", "коэффициент"];
    let lower = head.to_lowercase();
    parts(head).iter().any(|part| WORDS.contains(&part.as_str()))
        || ["speed-up", "во сколько раз", "倍", "比值"].iter().any(|word| lower.contains(word))
}

/// Whether a head is of how much of something was used or met: a metric in percent, and no ratio of other columns, though figures of few
/// digits fit some pair of them.
fn tells_use(head: &str) -> bool {
    const WORDS: [&str; 13] = [
        "usage",
        "util",
        "utilization",
        "utilisation",
        "used",
        "cpu",
        "idle",
        "busy",
        "hit",
        "hits",
        "miss",
        "error",
        "errors",
    ];
    let compares = head.contains(DIVIDES) || is_loss(head) || says_ratio(head) || head.contains("vs");
    !compares
        && (parts(head).iter().any(|part| WORDS.contains(&part.as_str()))
            || ["使用率", "利用率", "占用", "命中率", "загрузк"]
                .iter()
                .any(|word| head.to_lowercase().contains(word)))
}

/// Whether a head is of a mean of ratios, which two figures that are no means do not give.
fn is_of_many(head: &str, operands: [&str; 2]) -> bool {
    let [head, above, below] = [head, operands[0], operands[1]].map(str::to_lowercase);
    let only = |word: &str| head.contains(word) && !above.contains(word) && !below.contains(word);
    ["mean", "median", "avg", "average", "平均", "中位", "средн", "медиан"].iter().any(|word| only(word))
}

/// What a row of means or totals is called.
const MEANS: [&str; 9] = ["avg", "average", "mean", "total", "平均", "合计", "总计", "средн", "итого"];

/// Links but those of rows of means whose ratio is the mean of the other rows' ratios, not the ratio of the means.
fn without_means_of_ratios(links: Vec<(&str, Link)>) -> Vec<Link> {
    let values: Vec<f64> = links.iter().map(|(_, link)| link.derived.figure.value).collect();
    let (sum, count) = (values.iter().sum::<f64>(), values.len() as f64);
    let of_ratios = |(label, link): &(&str, Link)| {
        let lower = label.to_lowercase();
        let mean = (sum - link.derived.figure.value) / (count - 1.0);
        count > 2.0
            && !link.holds()
            && MEANS.iter().any(|word| lower.contains(word))
            && link.derived.interval().wider(0.005).has(mean)
    };
    let kept: Vec<(&str, Link)> = links.into_iter().filter(|link| !of_ratios(link)).collect();
    kept.into_iter().map(|(_, link)| link).collect()
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
