//! What is kept of an audited page: the verdict, findings with the lines that they quote, tables in which something does not hold.
//! The page itself may be large and is released.

use super::quote::{Place, Quotes};
use iotax_audit::audit::Audited;
use iotax_audit::claim::{Claim, Status};
use iotax_audit::finding::{Finding, Severity};
use iotax_audit::page::{Page, Spot, Unread};
use iotax_audit::table::{Cell, Row, Table};
use iotax_audit::verdict::{Verdict, verdict};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Operands of a finding that are quoted.
const OPERANDS: usize = 64;
/// Tables that are kept.
const TABLES: usize = 100;
/// Rows of a table that is kept whole; of a longer one those in which something was found.
const ROWS: usize = 60;

/// A page.
#[derive(Clone, Debug)]
pub struct Document {
    /// A path, or `standard input`.
    pub name: String,
    /// Lines.
    pub lines: usize,
    /// Outputs of tools that were read, by the name of their format, and how many of each.
    pub outputs: BTreeMap<&'static str, usize>,
    /// Tables that were read.
    pub tables_read: usize,
    /// Figures by status, in the order of `Status::ALL`.
    pub claims: [usize; Status::ALL.len()],
    /// The answer, with the root causes.
    pub verdict: Verdict,
    /// In the order of the page.
    pub findings: Vec<Told>,
    /// What could not be read.
    pub unread: Vec<Unread>,
    /// Tables in which something does not hold.
    pub tables: Vec<Corrected>,
}

impl Document {
    /// How many figures have that status.
    pub fn count(&self, status: Status) -> usize {
        let at = Status::ALL.iter().position(|one| *one == status);
        at.map_or(0, |at| self.claims[at])
    }

    /// How many findings are so bad.
    pub fn found(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|told| told.finding.severity == severity).count()
    }

    /// The worst.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|told| told.finding.severity).min()
    }
}

/// A finding and where it stands.
#[derive(Clone, Debug)]
pub struct Told {
    /// What was found.
    pub finding: Finding,
    /// Where.
    pub place: Place,
    /// Where what it was held against stands, the first few.
    pub operands: Vec<Place>,
    /// How many more there are.
    pub more_operands: usize,
}

/// A table with what its cells should be.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// Number of its first line.
    pub line: u32,
    /// What names it.
    pub title: Option<String>,
    /// Heads, that of the labels first.
    pub heads: Vec<String>,
    /// Rows: a name, and as many cells as there are heads but one.
    pub rows: Vec<(String, Vec<Option<CorrectedCell>>)>,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct CorrectedCell {
    /// As printed.
    pub text: String,
    /// The worst status of its figures.
    pub status: Option<Status>,
    /// Findings in it, as indices of the document's.
    pub findings: Vec<usize>,
}

/// A file that was not audited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its path.
    #[serde(rename = "document")]
    pub name: String,
    /// Why.
    pub why: String,
}

/// What is kept of a page.
pub fn digest(audited: Audited) -> Document {
    let mut outputs: BTreeMap<&'static str, usize> = BTreeMap::new();
    audited.outputs.iter().for_each(|output| *outputs.entry(output.format).or_default() += 1);
    let claims = Status::ALL.map(|status| audited.count(status));
    let verdict = verdict(&audited);
    let Audited { page, tables, claims: figures, findings, unread, .. } = audited;
    let corrected = corrected(&page, &tables, &figures, &findings);
    let mut quotes = Quotes::new(&page);
    let findings = findings.into_iter().map(|finding| tell(finding, &mut quotes)).collect();
    Document {
        lines: page.len(),
        outputs,
        tables_read: tables.len(),
        claims,
        verdict,
        findings,
        unread,
        tables: corrected,
        name: page.name,
    }
}

fn tell(finding: Finding, quotes: &mut Quotes) -> Told {
    let others = || finding.operands.iter().filter(|spot| **spot != finding.spot);
    let operands = others().take(OPERANDS).map(|spot| quotes.place(*spot)).collect();
    let more_operands = others().count().saturating_sub(OPERANDS);
    Told { place: quotes.place(finding.spot), operands, more_operands, finding }
}

/// Tables in which something does not hold. Only their figures are looked at again: a page may have millions.
fn corrected(page: &Page, tables: &[Table], claims: &[Claim], findings: &[Finding]) -> Vec<Corrected> {
    let spots: Vec<Spot> = findings.iter().map(|finding| finding.spot).collect();
    let found = |table: &&Table| {
        let first = spots.partition_point(|spot| spot.index() < table.lines.start);
        spots.get(first).is_some_and(|spot| table.lines.contains(&spot.index()))
    };
    let tables: Vec<&Table> = tables.iter().filter(found).collect();
    let of_tables = |claim: &&Claim| {
        let next = tables.partition_point(|table| table.lines.end <= claim.spot.index());
        tables.get(next).is_some_and(|table| table.lines.contains(&claim.spot.index()))
    };
    let statuses = claims.iter().filter(of_tables).map(|claim| (claim.spot, claim.status)).collect();
    let corrected = tables.into_iter().filter_map(|table| with_corrections(page, table, &statuses, &spots));
    corrected.take(TABLES).collect()
}

fn with_corrections(
    page: &Page,
    table: &Table,
    statuses: &HashMap<Spot, Status>,
    findings: &[Spot],
) -> Option<Corrected> {
    let cell = |cell: &Cell| {
        let figures = cell.figure.iter().chain(&cell.share).chain(&cell.more);
        let spots: Vec<Spot> = figures.map(|quantity| quantity.figure.spot).collect();
        let mut found: Vec<usize> =
            spots.iter().chain([&cell.spot]).flat_map(|spot| found_in(findings, *spot)).collect();
        found.sort_unstable();
        found.dedup();
        CorrectedCell {
            text: whole_text(page, cell.spot, &spots),
            status: spots.iter().filter_map(|spot| statuses.get(spot)).min().copied(),
            findings: found,
        }
    };
    let row = |row: &Row| {
        let cells: Vec<_> = row.cells.iter().map(|one| one.as_ref().map(cell)).collect();
        (row.label.clone(), cells)
    };
    let mut rows: Vec<_> = table.rows.iter().map(row).collect();
    let is_wrong = |(_, cells): &(String, Vec<Option<CorrectedCell>>)| {
        let wrong =
            |cell: &CorrectedCell| cell.status == Some(Status::DoesNotHold) && !cell.findings.is_empty();
        cells.iter().flatten().any(wrong)
    };
    if rows.len() > ROWS {
        rows.retain(is_wrong);
    }
    let heads = std::iter::once(&table.corner).chain(table.columns.iter().map(|column| &column.head));
    rows.iter().any(is_wrong).then(|| Corrected {
        line: page.number(table.lines.start),
        title: table.title.clone(),
        heads: heads.cloned().collect(),
        rows,
    })
}

/// A cell with the figures of the row below that belong to it.
fn whole_text(page: &Page, cell: Spot, figures: &[Spot]) -> String {
    let mut text = page.quote(cell).trim().to_owned();
    for spot in figures.iter().filter(|spot| spot.line != cell.line) {
        text += &format!(" ({})", page.quote(*spot).trim_matches(['(', ')', ' ']));
    }
    text
}

/// Findings at a spot or within it.
fn found_in(findings: &[Spot], within: Spot) -> impl Iterator<Item = usize> {
    let first = findings.partition_point(|spot| (spot.line, spot.start) < (within.line, within.start));
    let inside =
        findings[first..].iter().take_while(move |spot| spot.line == within.line && spot.start <= within.end);
    inside.enumerate().filter(move |(_, spot)| spot.end <= within.end).map(move |(at, _)| first + at)
}
