//! `[table]` with stacks: the table in which the figures of a comparison are printed, in the form
//! that articles use. It has a row per load and a column per system, and each figure also as a
//! percentage of one column. Each group of stacks has such a table. Unknown names are refused.
//! Tables with rows and columns of their own are read in `article_toml.rs`.

use super::Workload;
use super::article::{ArticleTable, TableHead, TableMetric};
use super::error::{Fault, InputError, Located};
use super::metric::{Metric, PublishedDirection};
use super::table_wires::{ONLY_TABLE, OutputTable};
use super::toml::Word;
use crate::stack::Stack;
use ::toml::Spanned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    pub columns: Vec<String>,
    /// Index of the column that the percentages of the others refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of: Option<usize>,
    /// Names of the workloads.
    pub rows: Vec<String>,
    /// Metric; `None`: I/Os or bytes per second, whichever is usual for the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    pub groups: Vec<TableGroup>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableGroup {
    /// Heading of the table; `None` if it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metric of this table, if it differs from that of all tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// Workloads of this table, if they differ from those of all tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<String>>,
    /// Stack of each column, by name; `None` if the group has none.
    pub stacks: Vec<Option<String>>,
}

impl TableSpec {
    /// Returns the tables as they are requested by name, with the shares as further columns.
    pub fn articles(&self) -> impl Iterator<Item = ArticleTable> {
        self.groups.iter().map(|group| self.article_of(group))
    }

    fn article_of(&self, group: &TableGroup) -> ArticleTable {
        let mut heads = Vec::new();
        let (mut base, percent_of) = (None, self.percent_of);
        for (at, (name, stack)) in self.columns.iter().zip(&group.stacks).enumerate() {
            if stack.is_none() {
                continue;
            }
            base = base.or((percent_of == Some(at)).then_some(heads.len()));
            let mut head = TableHead::new(name);
            head.cells.stack.clone_from(stack);
            heads.push(head);
        }
        let shares = base.into_iter().flat_map(|at| {
            let of = &heads[at].name;
            let others = heads.iter().enumerate().filter(move |(other, _)| *other != at);
            others.map(move |(_, head)| TableHead {
                name: format!("{}, % of {of}", head.name),
                percent_of: Some(at),
                ..head.clone()
            })
        });
        let shares: Vec<TableHead> = shares.collect();
        let mut rows: Vec<TableHead> = Vec::new();
        for load in group.rows.as_ref().unwrap_or(&self.rows) {
            let mut head = TableHead::new(load);
            head.cells.load = Some(load.clone());
            rows.push(head);
        }
        let mut table = ArticleTable {
            name: group.name.clone().unwrap_or_else(|| ONLY_TABLE.to_owned()),
            title: group.name.clone(),
            corner: "load".to_owned(),
            cells: Default::default(),
            shares: Default::default(),
            rows,
            columns: heads.into_iter().chain(shares).collect(),
        };
        table.cells.metric = group.metric.or(self.metric).map(TableMetric::Figure);
        table
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupWire {
    name: Spanned<String>,
    stacks: Spanned<Vec<Spanned<String>>>,
    metric: Option<Spanned<String>>,
    rows: Option<Vec<Spanned<String>>>,
}

/// Mark of a column for which a group has no stack.
const NONE: &str = "-";

/// `[table]` as it is in the file, before the names of stacks and workloads are resolved.
pub(super) struct OutputTableDraft {
    pub(super) wire: Spanned<OutputTable>,
    pub(super) file: Located,
}

impl OutputTableDraft {
    /// Resolves every name against those of the scenario.
    ///
    /// # Errors
    /// Returns the first entry that is not known, is there twice, or does not fit.
    pub(super) fn settled(
        &self,
        stacks: &[&Stack],
        workloads: &[&Workload],
    ) -> Result<TableSpec, InputError> {
        let wire = self.wire.get_ref();
        self.refuse_key_of_articles()?;
        let mut groups = self.groups(stacks)?;
        let columns = self.columns(&groups)?;
        for (group, written) in groups.iter().zip(self.written_stack_lists()) {
            if group.stacks.len() != columns.len() {
                let why = format!("{} stacks for {} columns", group.stacks.len(), columns.len());
                let fault = Fault::hint(why, format!("write \"{NONE}\" where the table has none"));
                return Err(self.file.error_at_span("stacks", &written.span(), fault));
            }
        }
        let written = wire.rows.as_ref().map(|rows| self.texts("rows", rows)).transpose()?;
        let rows = self.rows(written.as_ref(), workloads)?;
        let of = |rows: &[String]| -> Vec<&Workload> {
            workloads.iter().copied().filter(|workload| rows.contains(&workload.name)).collect()
        };
        for (group, written) in groups.iter_mut().zip(&wire.group) {
            let written = written.get_ref();
            group.rows =
                written.rows.as_ref().map(|own| self.rows(Some(own), workloads)).transpose()?;
            let shown = of(group.rows.as_ref().unwrap_or(&rows));
            let own = written.metric.as_ref().map(|word| self.metric(word, &shown)).transpose()?;
            group.metric = own;
        }
        let shown = of(&rows);
        Ok(TableSpec {
            percent_of: wire
                .percent_of
                .as_ref()
                .map(|name| self.base(name, &columns, &groups))
                .transpose()?,
            metric: wire.metric.as_ref().map(|word| self.metric(word, &shown)).transpose()?,
            rows,
            columns,
            groups,
        })
    }

    /// Refuses keys that only tables with rows and columns of their own have.
    fn refuse_key_of_articles(&self) -> Result<(), InputError> {
        let wire = self.wire.get_ref();
        let foreign = [
            ("title", wire.title.is_some()),
            ("corner", wire.corner.is_some()),
            ("swap", wire.swap.is_some()),
            ("cells", wire.cells.is_some()),
            ("shares", wire.shares.is_some()),
        ];
        match foreign.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((key, _)) => {
                let hint = "leave out stacks and [[table.group]], and write rows and columns";
                let fault = Fault::hint("a table of stacks has no such key", hint);
                Err(self.file.error_at_span(key, &self.wire.span(), fault))
            }
        }
    }

    /// Returns the entries of a list of texts.
    fn texts(&self, key: &str, list: &Spanned<Word>) -> Result<Vec<Spanned<String>>, InputError> {
        let Word::Many(items) = list.get_ref() else {
            let fault = Fault::hint("a list of texts is expected", "write [\"...\", \"...\"]");
            return Err(self.file.error_at_span(key, &list.span(), fault));
        };
        let text = |item: &Spanned<Word>| match item.get_ref().single_value() {
            Ok(word) => Ok(Spanned::new(item.span(), word.to_owned())),
            Err(fault) => Err(self.file.error_at_span(key, &item.span(), fault)),
        };
        items.iter().map(text).collect()
    }

    /// Returns the lists of stacks as they are in the file.
    fn written_stack_lists(&self) -> Vec<&Spanned<Vec<Spanned<String>>>> {
        let wire = self.wire.get_ref();
        wire.stacks.iter().chain(wire.group.iter().map(|group| &group.get_ref().stacks)).collect()
    }

    fn groups(&self, known: &[&Stack]) -> Result<Vec<TableGroup>, InputError> {
        let wire = self.wire.get_ref();
        let hint = "write stacks = [...] for one table, or [[table.group]] with name and stacks \
                    for several";
        let fault = match (&wire.stacks, wire.group.first()) {
            (Some(stacks), Some(_)) => {
                Some((stacks.span(), Fault::hint("cannot be combined with [[table.group]]", hint)))
            }
            (None, None) => Some((self.wire.span(), Fault::hint("no stack is named", hint))),
            _ => None,
        };
        if let Some((span, fault)) = fault {
            return Err(self.file.error_at_span("stacks", &span, fault));
        }
        let only = wire.stacks.iter().map(|stacks| (None, stacks));
        let named =
            wire.group.iter().map(|group| (Some(&group.get_ref().name), &group.get_ref().stacks));
        let mut groups: Vec<TableGroup> = Vec::new();
        for (name, stacks) in only.chain(named) {
            if let Some(name) = name
                .filter(|name| groups.iter().any(|one| one.name.as_ref() == Some(name.get_ref())))
            {
                let fault = Fault::new(format!("group \"{}\" is listed twice", name.get_ref()));
                return Err(self.file.error_at_span("name", &name.span(), fault));
            }
            let stacks = self.stacks(stacks.get_ref(), known)?;
            groups.push(TableGroup {
                name: name.map(|name| name.get_ref().clone()),
                metric: None,
                rows: None,
                stacks,
            });
        }
        Ok(groups)
    }

    fn stacks(
        &self,
        names: &[Spanned<String>],
        known: &[&Stack],
    ) -> Result<Vec<Option<String>>, InputError> {
        let mut found: Vec<Option<String>> = Vec::new();
        for name in names {
            let stack = match name.get_ref().as_str() {
                NONE => Ok(None),
                twice if found.iter().flatten().any(|one| one == twice) => {
                    Err(Fault::new(format!("stack \"{twice}\" is listed twice")))
                }
                name if known.iter().any(|stack| stack.name == name) => Ok(Some(name.to_owned())),
                name => {
                    let known: Vec<&str> = known.iter().map(|stack| stack.name.as_str()).collect();
                    Err(Fault::unknown("stack", name, &known))
                }
            };
            found.push(
                stack.map_err(|fault| self.file.error_at_span("stacks", &name.span(), fault))?,
            );
        }
        Ok(found)
    }

    /// Returns the written column heads, or the names of the stacks of the only table.
    fn columns(&self, groups: &[TableGroup]) -> Result<Vec<String>, InputError> {
        let Some(columns) = &self.wire.get_ref().columns else {
            return match groups {
                [TableGroup { name: None, stacks, .. }] => Ok(stacks
                    .iter()
                    .map(|name| name.clone().unwrap_or_else(|| NONE.to_owned()))
                    .collect()),
                _ => {
                    let hint = "write columns = [...]: a head for the first stack of every group, \
                                for the second, and so on";
                    let fault = Fault::hint("groups have no heads of columns", hint);
                    Err(self.file.error_at_span("columns", &self.wire.span(), fault))
                }
            };
        };
        let mut heads: Vec<String> = Vec::new();
        for head in self.texts("columns", columns)? {
            if heads.contains(head.get_ref()) {
                let fault = Fault::new(format!("column \"{}\" is listed twice", head.get_ref()));
                return Err(self.file.error_at_span("columns", &head.span(), fault));
            }
            heads.push(head.get_ref().clone());
        }
        Ok(heads)
    }

    /// Returns the index of the column that percentages refer to. Every table must have a stack in
    /// it.
    fn base(
        &self,
        name: &Spanned<String>,
        columns: &[String],
        groups: &[TableGroup],
    ) -> Result<usize, InputError> {
        let refuse = |fault| self.file.error_at_span("percent_of", &name.span(), fault);
        let heads: Vec<&str> = columns.iter().map(String::as_str).collect();
        let at = columns.iter().position(|head| head == name.get_ref());
        let at = at.ok_or_else(|| refuse(Fault::unknown("column", name.get_ref(), &heads)))?;
        match groups.iter().find(|group| group.stacks[at].is_none()) {
            Some(group) => {
                let of =
                    group.name.as_deref().map(|name| format!("of \"{name}\" ")).unwrap_or_default();
                Err(refuse(Fault::hint(
                    format!("the table {of}has no such stack"),
                    "take a column that every table has",
                )))
            }
            None => Ok(at),
        }
    }

    fn rows(
        &self,
        written: Option<&Vec<Spanned<String>>>,
        workloads: &[&Workload],
    ) -> Result<Vec<String>, InputError> {
        let known: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        let Some(rows) = written else {
            return Ok(known.into_iter().map(str::to_owned).collect());
        };
        let mut names: Vec<String> = Vec::new();
        for row in rows {
            let name = row.get_ref();
            let fault = match known.contains(&name.as_str()) {
                true if names.contains(name) => {
                    Fault::new(format!("workload \"{name}\" is listed twice"))
                }
                true => {
                    names.push(name.clone());
                    continue;
                }
                false => Fault::unknown("workload", name, &known),
            };
            return Err(self.file.error_at_span("rows", &row.span(), fault));
        }
        Ok(names)
    }

    /// Parses a metric, and checks that every shown load has it.
    fn metric(&self, word: &Spanned<String>, shown: &[&Workload]) -> Result<Metric, InputError> {
        let all_write = shown.iter().all(|workload| workload.writes_data());
        let all_read = shown.iter().all(|workload| workload.jobs.iter().any(|job| job.rw.reads()));
        let read = Metric::parse(word.get_ref()).and_then(|metric| match metric {
            Metric::Rate { durable: true, .. } if !all_write => Err(Fault::hint(
                "not every load has writes to flush",
                "name the rows that write, or leave it out",
            )),
            Metric::Rate { way: Some(way), .. }
                if !(if way == PublishedDirection::Read { all_read } else { all_write }) =>
            {
                let why = format!(
                    "not every load {}",
                    if way == PublishedDirection::Read { "reads" } else { "writes" }
                );
                Err(Fault::hint(why, "name the rows that do, or leave the direction out"))
            }
            Metric::Rate { .. } => Ok(metric),
            Metric::Latency { .. } => {
                shown.iter().try_for_each(|workload| metric.on_workload(workload).map(|_| ()))?;
                Ok(metric)
            }
        });
        read.map_err(|fault| self.file.error_at_span("metric", &word.span(), fault))
    }
}
