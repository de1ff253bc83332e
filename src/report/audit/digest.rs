//! What is kept of a page that was audited: counts, findings with the lines that they quote, tables in which something does not
//! hold, what could not be checked or read. The page itself may be large and is let go.

use super::pinned::PinsUsed;
use super::quote::{Place, Quotes};
use iotax_audit::audit::Audited;
use iotax_audit::claim::Status;
use iotax_audit::finding::{Finding, Severity};
use iotax_audit::page::{Page, Spot, Unread};
use iotax_audit::table::{Cell, Row, Table};
use std::collections::{BTreeMap, HashMap};

/// Operands of a finding that are quoted.
const OPERANDS: usize = 64;
/// Figures that could not be checked, of those that are listed for one reason.
const UNCHECKED: usize = 200;
/// Rows of a table that is kept whole.
const ROWS: usize = 60;

/// A page.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is called: a path, with the sheet of a workbook behind it, or `standard input`.
    pub name: String,
    /// The file that it is of; `None` for standard input.
    pub file: Option<String>,
    /// Lines.
    pub lines: usize,
    /// Outputs of tools that were read, by the name of their format, and how many of each.
    pub outputs: BTreeMap<&'static str, usize>,
    /// Tables that were read, those of workbooks and pages alike.
    pub tables_read: usize,
    /// Figures by status, in the order of `Status::ALL`.
    pub claims: [usize; Status::ALL.len()],
    /// In the order of the page.
    pub findings: Vec<Told>,
    /// What could not be read.
    pub unread: Vec<Unread>,
    /// Tables in which something does not hold.
    pub tables: Vec<Corrected>,
    /// Figures that could not be checked, by why.
    pub unchecked: Vec<Unchecked>,
    /// What pins did.
    pub pins: Option<PinsUsed>,
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

/// Figures that nothing on the page could be held against.
#[derive(Clone, Debug)]
pub struct Unchecked {
    /// Why.
    pub why: &'static str,
    /// How many.
    pub count: usize,
    /// Line and figure of the first of them.
    pub first: Vec<(u32, String)>,
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
    /// Rows; `None` stands for some that are left out.
    pub rows: Vec<Option<CorrectedRow>>,
}

/// A row.
#[derive(Clone, Debug)]
pub struct CorrectedRow {
    /// Its name.
    pub label: String,
    /// As many as there are heads but one.
    pub cells: Vec<Option<CorrectedCell>>,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct CorrectedCell {
    /// As it stands there.
    pub text: String,
    /// The worst status of its figures.
    pub status: Option<Status>,
    /// Findings in it, by their place in those of the document.
    pub findings: Vec<usize>,
}

/// A file that was not audited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What is kept of a page; `file` is its path, where it has one.
pub fn digest(audited: Audited, file: Option<String>) -> Document {
    let Audited { page, outputs, tables, claims, findings, unread, pinned, set_aside, .. } = audited;
    let mut formats: BTreeMap<&'static str, usize> = BTreeMap::new();
    outputs.iter().for_each(|output| *formats.entry(output.format).or_default() += 1);
    let counts = Status::ALL.map(|status| claims.iter().filter(|claim| claim.status == status).count());
    let quoted = |finding: &Finding| {
        let operands = finding.operands.iter().take(OPERANDS).map(|spot| spot.line);
        operands.chain([finding.spot.line]).collect::<Vec<_>>()
    };
    let aside = set_aside.iter().map(|one| &one.finding);
    let mut quotes = Quotes::new(&page, &claims, findings.iter().chain(aside).flat_map(quoted));
    let spots: Vec<Spot> = findings.iter().map(|finding| finding.spot).collect();
    let told = findings.into_iter().map(|finding| tell(finding, &mut quotes)).collect();
    let statuses: HashMap<Spot, Status> = claims.iter().map(|claim| (claim.spot, claim.status)).collect();
    let unchecked = claims.iter().filter(|claim| claim.status == Status::CannotBeChecked);
    let unchecked = unchecked.map(|claim| (claim.why, claim.spot));
    let pins = super::pinned::used(&pinned, set_aside, &mut |finding| tell(finding, &mut quotes));
    Document {
        lines: page.len(),
        pins,
        outputs: formats,
        tables_read: tables.len(),
        claims: counts,
        findings: told,
        unread,
        tables: tables.iter().filter_map(|table| corrected(&page, table, &statuses, &spots)).collect(),
        unchecked: not_checked(&page, unchecked),
        name: page.name,
        file,
    }
}

fn tell(finding: Finding, quotes: &mut Quotes) -> Told {
    let others = || finding.operands.iter().filter(|spot| **spot != finding.spot);
    let spots: Vec<Spot> = std::iter::once(&finding.spot).chain(others().take(OPERANDS)).copied().collect();
    let more_operands = others().count().saturating_sub(OPERANDS);
    let mut operands = quotes.places(&spots);
    Told { place: operands.remove(0), operands, more_operands, finding }
}

fn not_checked(page: &Page, claims: impl Iterator<Item = (&'static str, Spot)>) -> Vec<Unchecked> {
    let mut reasons: BTreeMap<&'static str, Unchecked> = BTreeMap::new();
    for (why, spot) in claims {
        let reason = reasons.entry(why).or_insert_with(|| Unchecked { why, count: 0, first: Vec::new() });
        reason.count += 1;
        if reason.first.len() < UNCHECKED {
            reason.first.push((page.number(spot.index()), page.quote(spot).chars().take(80).collect()));
        }
    }
    reasons.into_values().collect()
}

/// A cell with what stands in the row below it.
fn whole_text(page: &Page, cell: Spot, figures: &[Spot]) -> String {
    let mut text = page.quote(cell).trim().to_owned();
    for spot in figures.iter().filter(|spot| spot.line != cell.line) {
        text += &format!(" ({})", page.quote(*spot).trim_matches(['(', ')', ' ']));
    }
    text
}

/// A table in which something does not hold; findings are in the order of the page.
fn corrected(
    page: &Page,
    table: &Table,
    statuses: &HashMap<Spot, Status>,
    findings: &[Spot],
) -> Option<Corrected> {
    let first = findings.partition_point(|spot| spot.index() < table.lines.start);
    findings.get(first).filter(|spot| table.lines.contains(&spot.index()))?;
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
    let row = |row: &Row| CorrectedRow {
        label: row.label.clone(),
        cells: row.cells.iter().map(|one| one.as_ref().map(cell)).collect(),
    };
    let rows: Vec<CorrectedRow> = table.rows.iter().map(row).collect();
    let wrong = |row: &CorrectedRow| {
        let cells = row.cells.iter().flatten();
        cells.filter(|cell| !cell.findings.is_empty()).any(|cell| cell.status == Some(Status::DoesNotHold))
    };
    let heads = std::iter::once(&table.corner).chain(table.columns.iter().map(|column| &column.head));
    rows.iter().any(wrong).then(|| Corrected {
        line: page.number(table.lines.start),
        title: table.title.clone(),
        heads: heads.cloned().collect(),
        rows: shortened(rows, wrong),
    })
}

/// Findings at a spot or within it.
fn found_in(findings: &[Spot], within: Spot) -> impl Iterator<Item = usize> {
    let first = findings.partition_point(|spot| (spot.line, spot.start) < (within.line, within.start));
    let inside =
        findings[first..].iter().take_while(move |spot| spot.line == within.line && spot.start <= within.end);
    inside.enumerate().filter(move |(_, spot)| spot.end <= within.end).map(move |(at, _)| first + at)
}

/// Of a long table the rows in which something was found, and those beside them.
fn shortened(rows: Vec<CorrectedRow>, wrong: impl Fn(&CorrectedRow) -> bool) -> Vec<Option<CorrectedRow>> {
    if rows.len() <= ROWS {
        return rows.into_iter().map(Some).collect();
    }
    let found: Vec<bool> = rows.iter().map(wrong).collect();
    let mut kept = Vec::new();
    for (at, row) in rows.into_iter().enumerate() {
        if found[at.saturating_sub(1)..(at + 2).min(found.len())].contains(&true) {
            kept.push(Some(row));
        } else if kept.last().is_none_or(Option::is_some) {
            kept.push(None);
        }
    }
    kept
}
