//! `[[table]]` with rows and columns: every entry of an axis is a text that names a load, a stack,
//! a metric or a figure, or a table of keys. All names are resolved before anything is measured.

use super::article::{ArticleTable, CellChoice, ShownFigure, TableHead, TableMetric};
use super::error::{Fault, InputError, Located};
use super::table::TableSpec;
use super::table_wires::{ONLY_TABLE, OutputTable};
use super::toml::{Word, WordTable};
use super::{Scenario, Workload};
use crate::stack::Stack;
use ::toml::Spanned;
use iotax_units::distinct;
use std::ops::Range;
use std::path::Path;

/// Names that a table can use: those of one scenario, or of the scenarios of several stored runs.
pub struct TableNames<'a> {
    pub(super) stacks: Vec<&'a Stack>,
    pub(super) loads: Vec<&'a Workload>,
    /// Number of stored runs; 0 while a scenario is read.
    runs: usize,
}

impl<'a> TableNames<'a> {
    pub(super) fn of_scenario(stacks: &'a [Stack], loads: &'a [Workload]) -> TableNames<'a> {
        TableNames { stacks: stacks.iter().collect(), loads: loads.iter().collect(), runs: 0 }
    }

    /// Returns the names of the scenarios of stored runs, in the order of the runs.
    pub fn of_runs(scenarios: &[&'a Scenario]) -> TableNames<'a> {
        let mut loads: Vec<&Workload> = Vec::new();
        for load in scenarios.iter().flat_map(|one| &one.workloads) {
            if loads.iter().all(|known| known.name != load.name) {
                loads.push(load);
            }
        }
        let stacks = scenarios.iter().flat_map(|one| &one.stacks).collect();
        TableNames { stacks, loads, runs: scenarios.len() }
    }

    fn stack_names(&self) -> Vec<&'a str> {
        distinct(self.stacks.iter().map(|stack| stack.name.as_str()))
    }

    fn load_names(&self) -> Vec<&'a str> {
        distinct(self.loads.iter().map(|load| load.name.as_str()))
    }

    /// Returns the load of a cell: the one that is named, or the only one that there is.
    fn load_of(&self, choice: &CellChoice) -> Result<&'a Workload, Fault> {
        let known = self.load_names();
        match (&choice.load, known.as_slice()) {
            (Some(name), _) => self
                .loads
                .iter()
                .find(|load| load.name == *name)
                .copied()
                .ok_or_else(|| Fault::unknown("load", name, &known)),
            (None, [_]) => Ok(self.loads[0]),
            (None, _) => Err(Fault::hint(
                "neither the row nor the column names a load",
                format!("write load = \"...\"; known are {}", known.join(", ")),
            )),
        }
    }

    /// Checks that a cell can have a figure.
    fn check_cell(&self, choice: &CellChoice) -> Result<(), (&'static str, Fault)> {
        let load = self.load_of(choice).map_err(|fault| ("load", fault))?;
        if choice.show != Some(ShownFigure::Rated) {
            let keys = [("with", choice.with.is_some()), ("from", choice.from.is_some())];
            let key = keys.into_iter().find(|(_, is_set)| *is_set).map_or("stack", |(key, _)| key);
            choice.stack_among(self.stacks.iter().copied()).map_err(|fault| (key, fault))?;
        }
        if let Some(TableMetric::Figure(metric)) = choice.metric {
            metric.on_workload(load).map_err(|fault| ("metric", fault))?;
        }
        let base = match (choice.show, choice.metric) {
            (Some(ShownFigure::Efficiency), _) => "1",
            (_, Some(metric)) => metric.base_unit(),
            (_, None) => return Ok(()),
        };
        for unit in [&choice.unit, &choice.also].into_iter().flatten() {
            let is_share = unit.base() == "1" && choice.also.as_ref() == Some(unit);
            if unit.base() != base && !is_share {
                let metric = choice.metric.map(|metric| metric.to_string()).unwrap_or_default();
                let why = format!("\"{unit}\" is no unit of {metric}");
                return Err(("unit", Fault::hint(why, "write a unit that the metric has")));
            }
        }
        Ok(())
    }
}

/// Reads the tables of a TOML file for stored runs.
///
/// # Errors
/// A file that cannot be read, or the first key or value at fault, with its line.
pub fn read_tables(path: &Path, names: &TableNames) -> Result<Vec<ArticleTable>, InputError> {
    let (short, articles) = super::toml::read_tables(path, names)?;
    Ok(short.iter().flat_map(TableSpec::articles).chain(articles).collect())
}

/// A table as it is in the file, before its names are resolved.
pub(super) struct ArticleDraft {
    wire: Spanned<OutputTable>,
    file: Located,
    /// True if it is the only table, which needs no name.
    is_alone: bool,
}

/// The heads of an axis, and where each is written.
type WrittenAxis = (Vec<TableHead>, Vec<Range<usize>>);

impl ArticleDraft {
    pub(super) fn new(wire: Spanned<OutputTable>, file: Located, is_alone: bool) -> ArticleDraft {
        ArticleDraft { wire, file, is_alone }
    }

    pub(super) fn error_at_name(&self, fault: Fault) -> InputError {
        let name = self.wire.get_ref().name.as_ref();
        let span = name.map_or_else(|| self.wire.span(), Spanned::span);
        self.file.error_at_span("name", &span, fault)
    }

    /// Resolves every name, and checks that every row and column can have a figure.
    ///
    /// # Errors
    /// Returns the first entry that is not known or does not fit.
    pub(super) fn settled(&self, names: &TableNames) -> Result<ArticleTable, InputError> {
        let wire = self.wire.get_ref();
        let name = match &wire.name {
            Some(name) => name.get_ref().clone(),
            None if self.is_alone => ONLY_TABLE.to_owned(),
            None => {
                let hint = "write name = \"...\", by which --table finds it";
                return Err(self.error_at_name(Fault::hint("a table has no name", hint)));
            }
        };
        let cells = self.choice(wire.cells.as_ref(), names)?;
        let shares = self.choice(wire.shares.as_ref(), names)?;
        let mut rows = self.axis("rows", wire.rows.as_ref(), names)?;
        let mut columns = self.axis("columns", wire.columns.as_ref(), names)?;
        self.set_shares(&mut rows.0, &mut columns.0)?;
        if wire.swap.unwrap_or(false) {
            std::mem::swap(&mut rows, &mut columns);
        }
        let ((rows, row_spans), (columns, column_spans)) = (rows, columns);
        let (title, corner) = (wire.title.clone(), wire.corner.clone().unwrap_or_default());
        let table = ArticleTable { name, title, corner, cells, shares, rows, columns };
        self.check_table(&table, names, &row_spans, &column_spans)?;
        Ok(table)
    }

    fn choice(
        &self,
        words: Option<&WordTable>,
        names: &TableNames,
    ) -> Result<CellChoice, InputError> {
        let mut cells = CellChoice::default();
        for (key, word) in words.into_iter().flat_map(|words| &words.0) {
            self.set_key(&mut cells, key, word, names)?;
        }
        Ok(cells)
    }

    fn set_key(
        &self,
        cells: &mut CellChoice,
        key: &Spanned<String>,
        word: &Spanned<Word>,
        names: &TableNames,
    ) -> Result<(), InputError> {
        let name = key.get_ref();
        let set = word.get_ref().single_value().and_then(|word| cells.set_key(name, word));
        let checked = set.and_then(|is_known| match name.as_str() {
            _ if !is_known => {
                let known: Vec<&str> =
                    ["name", "percent_of"].iter().chain(CellChoice::KEYS).copied().collect();
                let Fault { hint, .. } = Fault::unknown("key", name, &known);
                Err(Fault { why: "unknown key".to_owned(), hint })
            }
            "load" => names.load_of(cells).map(drop),
            "stack" => names.known_stack(cells.stack.as_deref().unwrap_or_default()),
            "of_stack" => names.known_stack(cells.of_stack.as_deref().unwrap_or_default()),
            "run" if cells.run.is_none_or(|run| run > names.runs) => Err(Fault::hint(
                format!("there are {} stored runs", names.runs),
                "name a run by its number on the command line, in a file for --table",
            )),
            _ => Ok(()),
        });
        checked.map_err(|fault| self.file.error_at_span(name, &word.span(), fault))
    }

    fn axis(
        &self,
        key: &str,
        written: Option<&Spanned<Word>>,
        names: &TableNames,
    ) -> Result<WrittenAxis, InputError> {
        let refuse = |span: &Range<usize>, fault| Err(self.file.error_at_span(key, span, fault));
        let Some(written) = written else {
            let hint = format!("write {key} = [...], or {key} = \"stacks\" or \"loads\"");
            return refuse(&self.wire.span(), Fault::hint("is missing", hint));
        };
        let (mut heads, mut spans) = (Vec::new(), Vec::new());
        match written.get_ref() {
            Word::One(word) => match names.whole_axis(word) {
                Ok(all) => {
                    spans = vec![written.span(); all.len()];
                    heads = all;
                }
                Err(fault) => return refuse(&written.span(), fault),
            },
            Word::Many(items) => {
                for item in items {
                    heads.push(self.head(key, item, names)?);
                    spans.push(item.span());
                }
            }
            Word::Table(_) => {
                return refuse(&written.span(), Fault::hint("is a table", "write a list: [...]"));
            }
        }
        match heads.is_empty() {
            true => refuse(&written.span(), Fault::hint("is empty", "name at least one")),
            false => Ok((heads, spans)),
        }
    }

    fn head(
        &self,
        key: &str,
        item: &Spanned<Word>,
        names: &TableNames,
    ) -> Result<TableHead, InputError> {
        match item.get_ref() {
            Word::One(word) => names
                .named_head(word)
                .map_err(|fault| self.file.error_at_span(key, &item.span(), fault)),
            Word::Table(words) => self.head_of_keys(words, names),
            Word::Many(_) => {
                let fault = Fault::hint("is a list", "write a text, or a table of keys: {...}");
                Err(self.file.error_at_span(key, &item.span(), fault))
            }
        }
    }

    fn head_of_keys(&self, words: &WordTable, names: &TableNames) -> Result<TableHead, InputError> {
        let mut head = TableHead::new("");
        let mut is_named = false;
        for (key, word) in &words.0 {
            match (key.get_ref().as_str(), word.get_ref()) {
                ("name", Word::One(name)) => {
                    head.name.clone_from(name);
                    is_named = true;
                }
                // The heads that it can name are not all known yet.
                ("percent_of", Word::One(_)) => {}
                _ => self.set_key(&mut head.cells, key, word, names)?,
            }
        }
        if !is_named {
            let cells = &head.cells;
            let words = [cells.stack.clone(), cells.with.clone(), cells.load.clone()];
            let metric = cells.metric.map(|metric| metric.to_string());
            let all: Vec<String> = words.into_iter().chain([metric]).flatten().collect();
            head.name = all.join(" ");
        }
        Ok(head)
    }

    /// Resolves `percent_of` of the heads, and that of the whole table.
    fn set_shares(
        &self,
        rows: &mut [TableHead],
        columns: &mut [TableHead],
    ) -> Result<(), InputError> {
        let wire = self.wire.get_ref();
        for (written, heads) in [(&wire.rows, &mut *rows), (&wire.columns, &mut *columns)] {
            let Some(Word::Many(items)) = written.as_ref().map(Spanned::get_ref) else { continue };
            for (at, item) in items.iter().enumerate() {
                let Word::Table(words) = item.get_ref() else { continue };
                let is_it = |one: &&(Spanned<String>, _)| one.0.get_ref() == "percent_of";
                let Some((_, word)) = words.0.iter().find(is_it) else { continue };
                let named = word.get_ref().single_value().and_then(|name| index_of(name, heads));
                let named = named
                    .map_err(|fault| self.file.error_at_span("percent_of", &word.span(), fault));
                heads[at].percent_of = Some(named?);
            }
        }
        let Some(of) = &wire.percent_of else { return Ok(()) };
        let base = match index_of(of.get_ref(), columns) {
            Ok(at) => (at, &mut *columns),
            Err(fault) => match index_of(of.get_ref(), rows) {
                Ok(at) => (at, &mut *rows),
                Err(_) => return Err(self.file.error_at_span("percent_of", &of.span(), fault)),
            },
        };
        let (at, heads) = base;
        heads.iter_mut().for_each(|head| head.percent_of = head.percent_of.or(Some(at)));
        Ok(())
    }

    fn check_table(
        &self,
        table: &ArticleTable,
        names: &TableNames,
        rows: &[Range<usize>],
        columns: &[Range<usize>],
    ) -> Result<(), InputError> {
        if let Some((key, row, column)) = table.conflict() {
            let (name, other) = (&table.rows[row].name, &table.columns[column].name);
            let why = format!("row \"{name}\" and column \"{other}\" both set it");
            let fault = Fault::hint(why, "leave it out of one of them");
            return Err(self.file.error_at_span(key, &rows[row], fault));
        }
        let cell = |row: usize, column: usize| {
            let (row, column) = (&table.rows[row], &table.columns[column]);
            let unit = column.cells.unit.as_ref().or(row.cells.unit.as_ref()).cloned();
            // A unit of the whole table is of the metrics that have it.
            names.check_cell(&CellChoice { unit, ..table.choice_of(row, column) })
        };
        let (height, width) = (table.rows.len(), table.columns.len());
        for (row, span) in rows.iter().enumerate() {
            let faults: Vec<_> = (0..width).filter_map(|column| cell(row, column).err()).collect();
            self.refuse_all(faults, width, span)?;
        }
        for (column, span) in columns.iter().enumerate() {
            let faults: Vec<_> = (0..height).filter_map(|row| cell(row, column).err()).collect();
            self.refuse_all(faults, height, span)?;
        }
        Ok(())
    }

    /// Refuses a row or a column none of whose cells can have a figure.
    fn refuse_all(
        &self,
        faults: Vec<(&'static str, Fault)>,
        cells: usize,
        span: &Range<usize>,
    ) -> Result<(), InputError> {
        let is_whole = faults.len() == cells;
        match faults.into_iter().next().filter(|_| is_whole) {
            Some((key, fault)) => Err(self.file.error_at_span(key, span, fault)),
            None => Ok(()),
        }
    }
}

/// Returns the index of the first head with this name.
fn index_of(name: &str, heads: &[TableHead]) -> Result<usize, Fault> {
    let known: Vec<&str> = heads.iter().map(|head| head.name.as_str()).collect();
    let at = heads.iter().position(|head| head.name == name);
    at.ok_or_else(|| Fault::unknown("row or column", name, &known))
}

#[path = "article_names.rs"]
mod article_names;

#[cfg(test)]
#[path = "article_toml_tests.rs"]
mod tests;
