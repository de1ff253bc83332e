//! Tables in the form of an article, from one run or several: each cell is chosen by its row and
//! its column, and has the figure of the first run that has such a stack and load.

mod chosen;
mod shares;
mod written;

use crate::findings::WorkloadFindings;
use crate::findings::article::{ArticleCell, ArticleFindings, ArticleRow};
use crate::gather::reading::WorkloadView;
use chosen::ChosenFigure;
use iotax_model::scenario::article::{ArticleTable, CellChoice, TableHead, TableMetric};
use iotax_store::RunData;
use shares::share_of;

/// A run with what its tables are made of.
#[derive(Clone, Copy)]
pub struct ArticleRun<'a> {
    pub run: &'a RunData,
    pub readings: &'a [WorkloadView<'a>],
    pub workloads: &'a [WorkloadFindings],
}

/// Returns the tables with the figures of these runs.
pub fn articles(runs: &[ArticleRun], tables: &[ArticleTable]) -> Vec<ArticleFindings> {
    tables.iter().map(|table| TableCells { runs, table }.article()).collect()
}

struct TableCells<'a> {
    runs: &'a [ArticleRun<'a>],
    table: &'a ArticleTable,
}

impl<'a> TableCells<'a> {
    fn article(&self) -> ArticleFindings {
        let row = |row: &TableHead| ArticleRow {
            name: self.head_text(row),
            cells: self.table.columns.iter().map(|column| self.cell(row, column)).collect(),
        };
        let rows: Vec<ArticleRow> = self.table.rows.iter().map(row).collect();
        let columns: Vec<String> =
            self.table.columns.iter().map(|column| self.head_text(column)).collect();
        ArticleFindings {
            name: self.table.name.clone(),
            title: self.title(),
            corner: self.table.corner.clone(),
            notes: written::notes(&rows, &columns),
            columns,
            rows,
        }
    }

    fn title(&self) -> String {
        let title = self.table.title.as_ref().unwrap_or(&self.table.name);
        match self.bare_unit(&self.table.cells, title) {
            Some(unit) => format!("{title}, {unit}"),
            None => title.clone(),
        }
    }

    /// Returns the text of a head. It has the unit of its cells if these have none.
    fn head_text(&self, head: &TableHead) -> String {
        let own = &head.cells;
        let is_about_units = own.bare.is_some() || own.metric.is_some() || own.unit.is_some();
        let cells = own.or_else(&self.table.cells);
        let is_named = is_about_units && head.percent_of.is_none();
        match self.bare_unit(&cells, &head.name).filter(|_| is_named) {
            Some(unit) => format!("{}, {unit}", head.name),
            None => head.name.clone(),
        }
    }

    fn bare_unit(&self, cells: &CellChoice, text: &str) -> Option<String> {
        let base = cells.metric.map(TableMetric::base_unit);
        let base = base.or(cells.unit.as_ref().map(|unit| unit.base()));
        let is_bare = cells.bare.unwrap_or(false);
        let written = cells.unit_of(base.filter(|_| is_bare)?).written;
        // A prefix is in the cells, and a head may have the unit in its text.
        (written.len() > 1 && !text.contains(&written)).then_some(written)
    }

    fn cell(&self, row: &TableHead, column: &TableHead) -> ArticleCell {
        let (table, choice) = (self.table, self.table.choice_of(row, column));
        let own = self.chosen(&choice);
        let of = match (ArticleTable::whole_of(&choice), column.percent_of, row.percent_of) {
            (Some(whole), ..) => Some((whole, column.cells.or_else(&row.cells))),
            (None, Some(at), _) => {
                Some((table.choice_of(row, &table.columns[at]), column.cells.clone()))
            }
            (None, None, Some(at)) => {
                Some((table.choice_of(&table.rows[at], column), row.cells.clone()))
            }
            (None, None, None) => None,
        };
        let Some((base, style)) = of else {
            return written::figure_cell(&choice, own, None);
        };
        let shared = share_of(&own, &self.chosen(&base), choice.loss.unwrap_or(false));
        match choice.also.as_ref().is_some_and(|unit| unit.base() == "1") {
            true => written::figure_cell(&choice, own, Some((shared.figure, &table.shares))),
            false => {
                let style = style.or_else(&table.shares).or_else(&table.cells);
                written::share_cell(&style, shared, &own)
            }
        }
    }

    /// Returns the figure that a choice means.
    fn chosen(&self, choice: &CellChoice) -> ChosenFigure<'a> {
        let runs = self.runs.iter().enumerate();
        let mut best: Option<ChosenFigure> = None;
        for (_, one) in runs.filter(|(at, _)| choice.run.is_none_or(|run| run == at + 1)) {
            let found = chosen::figure_of_run(one, choice);
            let is_known = found.figure.value().is_some();
            // The reason of a run that has the stack is better than that of one that has not.
            if is_known || best.as_ref().is_none_or(|best| best.measured.is_none()) {
                best = Some(found);
            }
            if is_known {
                break;
            }
        }
        best.unwrap_or_else(|| ChosenFigure::missing("there is no such run"))
    }
}

#[cfg(test)]
#[path = "article_tests.rs"]
mod tests;
