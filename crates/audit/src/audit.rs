//! A page, audited: its claims with their status, its findings, what could not be read.

use crate::claim::Metric;
use crate::claim::{Claim, Kind, Status};
use crate::finding::{Finding, Severity};
use crate::import::{self, Output};
use crate::link;
use crate::number::Unit;
use crate::page::{Page, Spot, Unread};
use crate::prose::{self, Clause};
use crate::rule::{self, Evidence};
use crate::table::{self, Cell, Table};
use std::ops::Range;

/// What came out of one page.
pub struct Audited {
    /// The page, for quotes.
    pub page: Page,
    /// Outputs of tools.
    pub outputs: Vec<Output>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Every figure.
    pub claims: Vec<Claim>,
    /// What does not hold, in the order of the page.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Audited {
    /// How many claims have that status.
    pub fn count(&self, status: Status) -> usize {
        self.claims.iter().filter(|claim| claim.status == status).count()
    }

    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).min()
    }
}

/// Audits a page.
pub fn audit(page: Page) -> Audited {
    audit_by(page, &|_| true)
}

/// Audits a page by the rules whose ids are asked for. The others look all the same, since later rules build on what they
/// correct; what they say is left out, of the claims too.
pub fn audit_by(page: Page, asked: &dyn Fn(&str) -> bool) -> Audited {
    let imported = import::scan(&page);
    let taken: Vec<Range<usize>> = imported.outputs.iter().map(|output| output.lines.clone()).collect();
    let table::Scanned { tables, unread: not_read } = table::scan(&page, &taken);
    let mut taken: Vec<Range<usize>> =
        taken.into_iter().chain(tables.iter().map(|table| table.lines.clone())).collect();
    taken.sort_by_key(|range| range.start);
    let clauses = prose::clauses(&page, &taken);
    let links = link::links(&page, &tables, &clauses);
    let evidence = Evidence::new(&page, &imported.outputs, &tables, &clauses, &links);
    let mut sink = rule::check(&evidence);
    sink.checks.retain(|(_, _, rule)| asked(rule));
    sink.findings.retain(|finding| asked(finding.rule));
    let mut claims = claims(&imported.outputs, &tables, &clauses);
    settle(&mut claims, &mut sink.checks);
    let mut unread = page.unread.clone();
    unread.extend(imported.unread);
    unread.extend(not_read);
    Audited { outputs: imported.outputs, tables, claims, findings: sink.findings, unread, page }
}

fn claims(outputs: &[Output], tables: &[Table], clauses: &[Clause]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for output in outputs {
        output.said.figures(&mut |(metric, unit, figure)| {
            claims.push(claim(figure.spot, metric, unit, &figure, Kind::Raw));
        });
    }
    for cell in tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten()) {
        claims.extend(of_cell(cell));
    }
    for quantity in clauses.iter().flat_map(|clause| &clause.figures) {
        if is_result(quantity.unit) {
            let metric =
                if quantity.unit == Unit::Percent { Metric::Ratio } else { metric_of(quantity.unit) };
            claims.push(claim(quantity.figure.spot, metric, quantity.unit, &quantity.figure, Kind::Prose));
        }
    }
    claims
}

fn of_cell(cell: &Cell) -> impl Iterator<Item = Claim> {
    let figures = cell.figure.iter().chain(&cell.more).chain(&cell.share);
    figures.map(|quantity| {
        let derived = matches!(quantity.unit, Unit::Percent | Unit::Times);
        let (metric, kind) =
            if derived { (Metric::Ratio, Kind::Derived) } else { (metric_of(quantity.unit), Kind::Cell) };
        claim(quantity.figure.spot, metric, quantity.unit, &quantity.figure, kind)
    })
}

/// Whether a sentence's figure of this unit is a result; sizes, times and counts mostly say how it was done.
fn is_result(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Percent
            | Unit::Times
            | Unit::PerSecond
            | Unit::BytesPerSecond
            | Unit::BitsPerSecond
            | Unit::Mwips
    )
}

fn metric_of(unit: Unit) -> Metric {
    match unit {
        Unit::BytesPerSecond | Unit::BitsPerSecond => Metric::Bandwidth,
        Unit::PerSecond => Metric::Iops,
        Unit::Nanoseconds => Metric::Latency,
        Unit::Mwips => Metric::Score,
        Unit::Bytes => Metric::Total,
        _ => Metric::Other,
    }
}

fn claim(spot: Spot, metric: Metric, unit: Unit, figure: &crate::number::Figure, kind: Kind) -> Claim {
    Claim {
        spot,
        metric,
        unit,
        value: figure.value,
        interval: figure.interval(),
        kind,
        status: Status::CannotBeChecked,
        system: None,
        workload: None,
        why: "nothing on the page gives it",
    }
}

/// The worst that any rule says of a figure is its status.
fn settle(claims: &mut [Claim], checks: &mut [(Spot, Status, &'static str)]) {
    // Both come nearly in the order of the page: sorting and going along costs less than looking each up.
    checks.sort_by_key(|(spot, status, _)| (*spot, *status));
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|at| claims[*at].spot);
    let mut next = 0;
    for at in order {
        let claim = &mut claims[at];
        while checks.get(next).is_some_and(|(spot, ..)| *spot < claim.spot) {
            next += 1;
        }
        if let Some((_, status, rule)) = checks.get(next).filter(|(spot, ..)| *spot == claim.spot) {
            claim.status = *status;
            claim.why = rule;
        }
    }
}
