//! Pins: what a reader says of a page's figures where its structure does not. A file of them lies beside the page. A pin feeds
//! the same rules as structure does; it has no arithmetic of its own.
//!
//! The way: text -> [`Pins::read`] -> [`Pins::on`] a page, where each place is found again -> [`Pinned`], which rules see.

mod file;
mod place;
#[cfg(test)]
mod tests;

use crate::finding::Finding;
use crate::import::Output;
use crate::link::{Form, Link, Made, What, Why, comparable};
use crate::number::{Quantity, Unit};
use crate::page::{Page, Spot};
use crate::prose::Clause;
use crate::table::Table;
use std::ops::Range;

pub use crate::user_file::Fault;

/// Name of the format.
pub const FORMAT: &str = "iotax-pins";
/// Raised when a key changes its meaning or goes.
pub const VERSION: i64 = 1;
/// What such a file's name ends with, behind that of its page.
pub const ENDING: &str = ".pins.toml";

/// A file of pins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pins {
    pins: Vec<Pin>,
}

/// Where a figure stands, as a user wrote it.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    /// Line of the file of pins, for errors.
    at: usize,
    /// Line of the page, from 1.
    line: u32,
    /// What stands there.
    text: String,
    /// Where it begins, in characters from 1.
    column: Option<usize>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
struct Pin {
    place: Place,
    is: Option<(Is, Vec<Place>)>,
    system: Option<String>,
    workload: Option<String>,
    aside: Option<(Whose, String)>,
}

/// How a figure comes from others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Ratio(Form),
    Made(What),
    Same,
}

impl Is {
    /// Its word: `loss`.
    fn word(self) -> &'static str {
        match self {
            Is::Ratio(form) => form.word(),
            Is::Made(what) => what.word(),
            Is::Same => "same",
        }
    }

    fn all() -> impl Iterator<Item = Is> {
        let ratios = Form::ALL.into_iter().map(Is::Ratio);
        ratios.chain(What::ALL.into_iter().map(Is::Made)).chain([Is::Same])
    }
}

/// Whose findings are set aside.
#[derive(Clone, Debug, PartialEq)]
enum Whose {
    /// Of every rule: the figure is no result.
    All,
    /// Of these rules.
    Rules(Vec<&'static str>),
}

/// Findings at a place that a user disagrees with.
#[derive(Clone, Debug, PartialEq)]
pub struct Aside {
    line: u32,
    bytes: Range<usize>,
    whose: Whose,
    /// Line of the file of pins.
    pub pin: usize,
    /// Why, in the user's words.
    pub reason: String,
}

impl Aside {
    /// Whether it is of a finding: of its rule, and at its place or of all of its line.
    pub fn is_of(&self, finding: &Finding) -> bool {
        let Spot { line, start, end } = finding.spot;
        let (start, end) = (start as usize, end as usize);
        let rule = match &self.whose {
            Whose::All => true,
            Whose::Rules(rules) => rules.contains(&finding.rule),
        };
        rule && line == self.line && (start == end || (start < self.bytes.end && self.bytes.start < end))
    }

    /// Whether its figure is said to be no result at all.
    pub fn is_of_no_claim(&self) -> bool {
        self.whose == Whose::All
    }

    /// Whether a figure is said to be no result at all.
    pub fn is_no_claim(&self, spot: Spot) -> bool {
        let begins = self.bytes.contains(&(spot.start as usize));
        self.whose == Whose::All && spot.line == self.line && begins
    }
}

/// A finding that a pin set aside.
#[derive(Clone, Debug, PartialEq)]
pub struct SetAside {
    /// What was found.
    pub finding: Finding,
    /// Line of the file of pins.
    pub pin: usize,
    /// Why, in the user's words.
    pub reason: String,
}

/// What a pin calls a figure's system and workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Where it stands.
    pub spot: Spot,
    /// Its system.
    pub system: Option<String>,
    /// Its workload.
    pub workload: Option<String>,
}

/// Pins on a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pinned {
    /// How many there are.
    pub count: usize,
    /// Ratios with their operands.
    pub links: Vec<Link>,
    /// Sums, means and the like.
    pub made: Vec<(What, Made)>,
    /// Figures of one measurement.
    pub same: Vec<(Quantity, Quantity)>,
    /// All figures that are pinned.
    pub figures: Vec<Quantity>,
    /// Systems and workloads.
    pub named: Vec<Named>,
    /// What is set aside.
    pub aside: Vec<Aside>,
    /// Lines of the pins that set nothing aside, since no such finding is there.
    pub idle: Vec<usize>,
}

impl Pinned {
    /// No pin.
    pub const NONE: Pinned = Pinned {
        count: 0,
        links: Vec::new(),
        made: Vec::new(),
        same: Vec::new(),
        figures: Vec::new(),
        named: Vec::new(),
        aside: Vec::new(),
        idle: Vec::new(),
    };

    /// Notes which of them set nothing aside of all that was found.
    pub(crate) fn note_idle(&mut self, found: &[SetAside]) {
        let idle = |aside: &&Aside| !aside.is_of_no_claim() && !found.iter().any(|one| one.pin == aside.pin);
        self.idle = self.aside.iter().filter(idle).map(|aside| aside.pin).collect();
    }
}

/// What is known of a page when its pins are looked for.
pub struct Known<'a> {
    /// The page.
    pub page: &'a Page,
    /// Outputs of tools.
    pub outputs: &'a [Output],
    /// Tables.
    pub tables: &'a [Table],
    /// What sentences claim.
    pub clauses: &'a [Clause],
}

impl Pins {
    /// Reads a file.
    ///
    /// # Errors
    /// What is no TOML or of another format or version, a key that is not known, missing or of the wrong kind.
    pub fn read(text: &str) -> Result<Pins, Fault> {
        file::pins(text).map(|pins| Pins { pins })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// Finds the places again on a page.
    ///
    /// # Errors
    /// A place at which something else stands, or more than one figure, and operands that do not go together; with the line of
    /// the file of pins.
    pub fn on(&self, known: &Known) -> Result<Pinned, Fault> {
        let places = place::Places::of(known, self.pins.iter().flat_map(Pin::places).map(|place| place.line));
        let mut pinned = Pinned { count: self.pins.len(), ..Pinned::default() };
        for pin in &self.pins {
            pin.on(known, &places, &mut pinned)?;
        }
        name_operands(&mut pinned);
        Ok(pinned)
    }
}

impl Pin {
    fn places(&self) -> impl Iterator<Item = &Place> {
        let operands = self.is.iter().flat_map(|(_, operands)| operands);
        std::iter::once(&self.place).chain(operands)
    }

    fn on(&self, known: &Known, places: &place::Places, pinned: &mut Pinned) -> Result<(), Fault> {
        if let Some((whose, reason)) = &self.aside {
            let (line, bytes) = places.text(&self.place)?;
            let (whose, reason) = (whose.clone(), reason.clone());
            pinned.aside.push(Aside { line, bytes, whose, pin: self.place.at, reason });
        }
        if self.is.is_none() && self.system.is_none() && self.workload.is_none() {
            return Ok(());
        }
        let figure = places.figure(&self.place)?;
        pinned.figures.push(figure);
        if self.system.is_some() || self.workload.is_some() {
            let (system, workload) = (self.system.clone(), self.workload.clone());
            pinned.named.push(Named { spot: figure.figure.spot, system, workload });
        }
        let Some((is, of)) = &self.is else { return Ok(()) };
        let operands: Vec<Quantity> =
            of.iter().map(|place| places.figure(place)).collect::<Result<_, _>>()?;
        pinned.figures.extend(&operands);
        if let Some(at) = operands.iter().position(|one| one.figure.spot == figure.figure.spot) {
            return Err(of[at].wrong("of", "is the figure itself"));
        }
        match is {
            Is::Ratio(form) => pinned.links.push(self.link(known, *form, figure, &operands)?),
            Is::Made(what) => {
                let made = Made { total: figure, parts: operands };
                if !made.parts.iter().all(|part| alike(part, &figure)) {
                    let why = format!("a {} and its parts are of one unit, which these are not", what.word());
                    return Err(self.place.wrong("of", &why));
                }
                pinned.made.push((*what, made));
            }
            Is::Same => {
                if !alike(&figure, &operands[0]) {
                    return Err(self.place.wrong("of", "one measurement has one unit, and these have two"));
                }
                pinned.same.push((figure, operands[0]));
            }
        }
        Ok(())
    }

    fn link(
        &self,
        known: &Known,
        form: Form,
        figure: Quantity,
        operands: &[Quantity],
    ) -> Result<Link, Fault> {
        let page = known.page;
        let [numerator, denominator] = [operands[0], operands[1]];
        if !matches!(figure.unit, Unit::Percent | Unit::Times | Unit::Bare) {
            let why = format!("{} has a unit of its own and is no ratio", page.quote(figure.figure.spot));
            return Err(self.place.wrong("is", &why));
        }
        if !comparable(&numerator, &denominator) {
            let [one, other] = [numerator, denominator].map(|one| page.quote(one.figure.spot));
            let why = format!("{one} cannot be divided by {other}: they are of two units, or it is nothing");
            return Err(self.place.wrong("of", &why));
        }
        Ok(Link {
            derived: figure,
            form,
            numerator,
            denominator,
            why: Why::Pinned,
            of: about(known, figure.figure.spot),
            names: [String::new(), String::new()],
        })
    }
}

impl Place {
    fn wrong(&self, key: &str, why: &str) -> Fault {
        Fault { line: self.at, key: key.to_owned(), why: why.to_owned() }
    }
}

/// What a figure is of, for sentences: row and column of its table, else its clause or line.
fn about(known: &Known, spot: Spot) -> String {
    let of_table = |table: &Table| {
        let row = table.rows.iter().find(|row| {
            let cells = row.cells.iter().flatten();
            cells.flat_map(|cell| cell.figure.iter().chain(&cell.share)).any(|one| one.figure.spot == spot)
        })?;
        let is_of = |cell: &Option<crate::table::Cell>| {
            let figures = cell.iter().flat_map(|cell| cell.figure.iter().chain(&cell.share));
            figures.into_iter().any(|one| one.figure.spot == spot)
        };
        let head = &table.columns.get(row.cells.iter().position(is_of)?)?.head;
        Some(format!("{}, {head}", row.label))
    };
    let of_clause = || {
        let inside = |clause: &&Clause| clause.figures.iter().any(|one| one.figure.spot == spot);
        let clause = known.clauses.iter().find(inside).map(|clause| clause.text(known.page));
        let text = clause.unwrap_or(known.page.line(spot.index())).trim();
        text.trim_end_matches(['.', '。']).chars().take(80).collect()
    };
    let table = known.tables.iter().find(|table| table.lines.contains(&spot.index()));
    table.and_then(of_table).unwrap_or_else(of_clause)
}

/// Whether two are of one unit, as far as they say one.
fn alike(one: &Quantity, other: &Quantity) -> bool {
    let plain = |unit| if unit == Unit::PerSecond { Unit::Bare } else { unit };
    plain(one.unit) == plain(other.unit)
}

/// Operands whose systems are pinned have those names.
fn name_operands(pinned: &mut Pinned) {
    let system = |spot: Spot| {
        pinned.named.iter().find(|named| named.spot == spot).and_then(|named| named.system.clone())
    };
    for link in &mut pinned.links {
        let operands = [link.numerator.figure.spot, link.denominator.figure.spot];
        link.names = operands.map(|spot| system(spot).unwrap_or_default());
    }
}
