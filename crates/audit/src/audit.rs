//! An audited page: its claims with their status, its findings, and the parts that could not be
//! read.

use crate::claim::{Claim, ClaimKind, Metric, Status};
use crate::evidence::{Evidence, SettledFigure};
use crate::finding::Finding;
use crate::import;
use crate::import::format::ToolOutput;
use crate::link::grid;
use crate::link::{self, DerivedLink};
use crate::number::{NumberUnit, PrintedNumber, Quantity};
use crate::page::{AuditedPage, UnreadRange};
use crate::prose::{self, Sentence};
use crate::rule;
use crate::table::{self, PageTable};
use std::ops::Range;

pub struct Audited {
    pub page: AuditedPage,
    pub outputs: Vec<ToolOutput>,
    pub tables: Vec<PageTable>,
    pub claims: Vec<Claim>,
    pub findings: Vec<Finding>,
    pub unread: Vec<UnreadRange>,
    pub links: Vec<DerivedLink>,
}

impl Audited {
    pub fn count_claims(&self, status: Status) -> usize {
        self.claims.iter().filter(|claim| claim.status == status).count()
    }
}

pub fn audit(page: AuditedPage) -> Audited {
    audit_by(page, &|_| true)
}

/// Audits a page and reports only what the rules whose ids `asked` accepts find. All rules run,
/// since later ones build on the corrections of earlier ones, but the others add no findings and do
/// not settle the status of a claim.
pub fn audit_by(mut page: AuditedPage, asked: &dyn Fn(&str) -> bool) -> Audited {
    let imported = import::find_outputs(&page);
    let mut taken: Vec<Range<usize>> =
        imported.outputs.iter().map(|output| output.lines.clone()).collect();
    let table::ScannedTables { tables, unread: not_read, refused } = table::scan(&page, &taken);
    // No other reader looks at refused lines, not even for sentences.
    refused.into_iter().for_each(|lines| page.pass_over(lines));
    taken.extend(tables.iter().map(|table| table.lines.clone()));
    taken.sort_by_key(|range| range.start);
    let sentences = prose::sentences(&page, &taken);
    let grids = grid::grids(&page, &tables, &taken);
    let links = link::links(&page, &grids, &sentences);
    let evidence = Evidence::new(&page, &imported.outputs, &tables, &grids, &links);
    let mut claims = claims(&imported.outputs, &tables, &sentences);
    let mut order: Vec<u32> = (0..).take(claims.len()).collect();
    order.sort_by_key(|at| claims[*at as usize].spot);
    let mut settles = |(spot, status, rule): SettledFigure| {
        if !asked(rule) {
            return;
        }
        let first = order.partition_point(|at| claims[*at as usize].spot < spot);
        for at in &order[first..] {
            let claim = &mut claims[*at as usize];
            if claim.spot != spot {
                break;
            }
            // Of several rules, the status that comes first in the order of `Status` counts.
            if claim.why == NOTHING_GIVES_IT || status < claim.status {
                (claim.status, claim.why) = (status, rule);
            }
        }
    };
    let mut findings = rule::check(&evidence, &mut settles);
    findings.retain(|finding| asked(finding.rule));
    let mut unread = page.unread.clone();
    unread.extend(imported.unread);
    unread.extend(not_read);
    Audited { page, outputs: imported.outputs, tables, claims, findings, unread, links }
}

fn claims(outputs: &[ToolOutput], tables: &[PageTable], sentences: &[Sentence]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for output in outputs {
        let before = claims.len();
        output.said.visit_figures(&mut |(metric, unit, figure)| {
            claims.push(make_claim(metric, unit, &figure, ClaimKind::Raw));
        });
        claims[before..].sort_by_key(|claim| claim.spot);
    }
    let of = |quantity: &Quantity, kind: ClaimKind| {
        let derived = matches!(quantity.unit, NumberUnit::Percent | NumberUnit::Times);
        let metric = if derived { Metric::Ratio } else { metric_of(quantity.unit) };
        let kind = if derived && kind == ClaimKind::Cell { ClaimKind::Derived } else { kind };
        make_claim(metric, quantity.unit, &quantity.figure, kind)
    };
    for cell in
        tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten())
    {
        let figures = cell.figure.iter().chain(&cell.more).chain(cell.share.as_deref());
        claims.extend(figures.map(|quantity| of(quantity, ClaimKind::Cell)));
    }
    let said = sentences.iter().flat_map(|sentence| &sentence.figures);
    claims.extend(
        said.filter(|one| is_result(one.unit)).map(|quantity| of(quantity, ClaimKind::Prose)),
    );
    claims
}

/// Returns true if a sentence's figure of this unit is a result. Sizes, times and counts mostly
/// describe the test.
fn is_result(unit: NumberUnit) -> bool {
    matches!(
        unit,
        NumberUnit::Percent
            | NumberUnit::Times
            | NumberUnit::PerSecond
            | NumberUnit::BytesPerSecond
            | NumberUnit::BitsPerSecond
            | NumberUnit::Mwips
    )
}

fn metric_of(unit: NumberUnit) -> Metric {
    match unit {
        NumberUnit::BytesPerSecond | NumberUnit::BitsPerSecond => Metric::Bandwidth,
        NumberUnit::PerSecond => Metric::Iops,
        NumberUnit::Nanoseconds => Metric::Latency,
        NumberUnit::Mwips => Metric::Score,
        NumberUnit::Bytes => Metric::Total,
        _ => Metric::Other,
    }
}

fn make_claim(metric: Metric, unit: NumberUnit, figure: &PrintedNumber, kind: ClaimKind) -> Claim {
    Claim {
        spot: figure.spot,
        metric,
        unit,
        value: figure.value,
        interval: figure.interval(),
        kind,
        status: Status::CannotBeChecked,
        why: NOTHING_GIVES_IT,
    }
}

const NOTHING_GIVES_IT: &str = "nothing on the page gives it";
