//! Shares that stand in brackets behind their figures, or in the row below: of the cell that is 100 %.

use super::{Form, Link, Why, comparable, settled};
use crate::number::Quantity;
use crate::table::Table;

struct Share<'a> {
    row: usize,
    column: usize,
    figure: &'a Quantity,
    share: &'a Quantity,
}

/// The links of a table.
pub(super) fn links(table: &Table) -> Vec<Link> {
    let mut shares = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        for (column, cell) in cells.cells.iter().enumerate() {
            if let Some((figure, share)) =
                cell.as_ref().and_then(|cell| cell.figure.as_ref().zip(cell.share.as_ref()))
            {
                shares.push(Share { row, column, figure, share });
            }
        }
    }
    if let Some(links) = of_own_rows(table, &shares) {
        return links;
    }
    let whole: Vec<&Share> = shares.iter().filter(|share| share.share.figure.value == 100.0).collect();
    // What 100 % is of: each column's own cell, each row's, or the one of the table.
    let base_of = |share: &Share| -> Option<&Share> {
        let by = |same: &dyn Fn(&Share) -> bool| {
            let mut bases = whole.iter().filter(|base| same(base));
            bases.next().filter(|_| bases.next().is_none()).copied()
        };
        let single = || by(&|_| true);
        by(&|base| base.column == share.column).or_else(|| by(&|base| base.row == share.row)).or_else(single)
    };
    let link = |share: &Share, base: Option<&Share>| {
        let base = base.filter(|base| (base.row, base.column) != (share.row, share.column))?;
        comparable(share.figure, base.figure).then(|| Link {
            derived: *share.share,
            form: Form::Share,
            numerator: *share.figure,
            denominator: *base.figure,
            why: Why::Held(0),
            of: format!("{}, {}", table.rows[share.row].label, table.columns[share.column].head),
            names: [share, base].map(|one| table.rows[one.row].label.clone()),
        })
    };
    // 99.6 % may be printed as 100 %, too: which cell is the base is seen by what holds.
    let mut candidates: Vec<Vec<Link>> =
        vec![shares.iter().filter_map(|one| link(one, base_of(one))).collect()];
    if whole.len() > 1 {
        let alone = whole
            .iter()
            .take(BASES)
            .map(|base| shares.iter().filter_map(|one| link(one, Some(base))).collect());
        candidates.extend(alone);
    }
    // A share in brackets behind its own figure, beside one of 100 %, names its operands.
    settled(candidates, |_| true)
}

/// Shares of another cell of their own row: `| 8.69 GB | 599 MB (7%) |`. Where one column gives all of them, 100 % of the last row is of
/// that row, too.
fn of_own_rows(table: &Table, shares: &[Share]) -> Option<Vec<Link>> {
    let column = shares.first().filter(|first| shares.iter().all(|one| one.column == first.column))?.column;
    let links_by = |base: usize| -> Vec<Link> {
        let link = |share: &Share| {
            let whole = table.rows[share.row].cells.get(base)?.as_ref()?.figure?;
            comparable(share.figure, &whole).then(|| Link {
                derived: *share.share,
                form: Form::Share,
                numerator: *share.figure,
                denominator: whole,
                why: Why::Named,
                of: format!("{}, {}", table.rows[share.row].label, table.columns[column].head),
                names: [column, base].map(|at| table.columns[at].head.clone()),
            })
        };
        shares.iter().filter_map(link).collect()
    };
    let others = (0..table.columns.len()).filter(|at| *at != column);
    others.map(links_by).find(|links| {
        let telling = |link: &&Link| link.derived.figure.value != 100.0 && link.derived.figure.value != 0.0;
        links.len() == shares.len()
            && links.iter().all(Link::holds)
            && links.iter().any(|link| telling(&link))
    })
}

/// Cells of 100 % that are tried as the base of a whole table.
const BASES: usize = 4;
