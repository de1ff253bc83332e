//! A table of an article as columns of text: figures as the article prints them, with the marks
//! that figures have everywhere in a report.

use crate::look::TerminalLook;
use crate::number::UNRESOLVED;
use crate::table::TextTable;
use crate::verdicts::class_of;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::article::{ArticleCell, ArticleFindings, CellOrigin};

pub(crate) fn article_table(found: &ArticleFindings, look: TerminalLook) -> TextTable {
    let mut table = TextTable::default();
    table.push(&found.corner, 0, found.rows.iter().map(|row| row.name.clone()).collect());
    for (at, head) in found.columns.iter().enumerate() {
        let cells = || found.rows.iter().map(|row| &row.cells[at]);
        let mut measured = cells().filter(|cell| is_of_run(cell)).peekable();
        let is_emulated = measured.peek().is_some() && measured.all(|cell| cell.emulated.is_some());
        let text = |cell: &ArticleCell| {
            let mark = if cell.emulated.is_some() && !is_emulated { " ~" } else { "" };
            format!("{}{mark}", marked_text(cell, look))
        };
        let head = if is_emulated { format!("{head} ~") } else { head.clone() };
        table.push(&head, 0, cells().map(text).collect());
    }
    table
}

fn is_of_run(cell: &ArticleCell) -> bool {
    cell.origin != CellOrigin::Given && cell.figure.value().is_some()
}

/// Returns the text of a cell with the mark of its verdict, or of what it lacks.
fn marked_text(cell: &ArticleCell, look: TerminalLook) -> String {
    if let MeasuredFigure::Failed { .. } = cell.figure {
        return "failed".to_owned();
    }
    let mark = match &cell.verdict {
        _ if cell.text.is_empty() => String::new(),
        _ if cell.lacks_interval() => " ?".to_owned(),
        _ if cell.is_unresolved() => UNRESOLVED.to_owned(),
        Some(verdict) => format!(" {}", look.mark(class_of(verdict))),
        None => String::new(),
    };
    format!("{}{mark}", cell.text)
}

/// Returns what the marks of a table mean; `None` if it has none.
pub(crate) fn article_legend(found: &ArticleFindings, look: TerminalLook) -> Option<String> {
    let cells = || found.rows.iter().flat_map(|row| &row.cells);
    let shown = |class: &str| {
        cells().any(|cell| {
            let is_it = cell.verdict.as_ref().is_some_and(|verdict| class_of(verdict) == class);
            is_it && !cell.is_unresolved() && !cell.lacks_interval()
        })
    };
    let words = [("cost", "costs"), ("gain", "gains"), ("none", "no difference")];
    let verdicts = words.into_iter().filter(|(class, _)| shown(class));
    let verdicts = verdicts.map(|(class, word)| format!("{} {word}", look.mark(class)));
    let others = [
        ("? no interval", cells().any(ArticleCell::lacks_interval)),
        ("! unresolved: nothing follows", cells().any(ArticleCell::is_unresolved)),
        ("~ emulated, not representative", cells().any(|cell| cell.emulated.is_some())),
    ];
    let others = others.into_iter().filter(|(_, is_there)| *is_there);
    let all: Vec<String> = verdicts.chain(others.map(|(text, _)| text.to_owned())).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
