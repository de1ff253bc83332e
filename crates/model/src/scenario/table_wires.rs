//! `[table]` and `[[table]]` as they are in a file: one table or several, of either form.

use super::article::ArticleTable;
use super::article_toml::{ArticleDraft, TableNames};
use super::error::{Fault, InputError, Located};
use super::table::{GroupWire, OutputTableDraft, TableSpec};
use super::toml::{Word, WordTable};
use ::toml::Spanned;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// Name of a table that has none.
pub(super) const ONLY_TABLE: &str = "table";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputTable {
    pub(super) name: Option<Spanned<String>>,
    pub(super) title: Option<String>,
    pub(super) corner: Option<String>,
    pub(super) swap: Option<bool>,
    pub(super) cells: Option<WordTable>,
    pub(super) shares: Option<WordTable>,
    pub(super) columns: Option<Spanned<Word>>,
    pub(super) rows: Option<Spanned<Word>>,
    pub(super) percent_of: Option<Spanned<String>>,
    pub(super) metric: Option<Spanned<String>>,
    pub(super) stacks: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub(super) group: Vec<Spanned<GroupWire>>,
}

/// `[table]`, or `[[table]]` for several.
pub(super) enum TableWires {
    One(Box<OutputTable>),
    Several(Vec<Spanned<OutputTable>>),
}

impl<'de> Deserialize<'de> for TableWires {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> de::Visitor<'de> for TableVisitor {
    type Value = TableWires;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table")
    }

    fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<TableWires, M::Error> {
        let one = OutputTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(TableWires::One(Box::new(one)))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<TableWires, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(TableWires::Several)
    }
}

/// All tables as they are in the file, before the names of stacks and workloads are resolved.
#[derive(Default)]
pub struct TableDrafts {
    short: Option<OutputTableDraft>,
    articles: Vec<ArticleDraft>,
}

impl TableDrafts {
    /// # Errors
    /// There are two tables of the short form.
    pub(super) fn new(
        wires: Spanned<TableWires>,
        file: &dyn Fn() -> Located,
    ) -> Result<TableDrafts, InputError> {
        let span = wires.span();
        let wires = match wires.into_inner() {
            TableWires::One(one) => vec![Spanned::new(span, *one)],
            TableWires::Several(several) => several,
        };
        let mut drafts = TableDrafts::default();
        let is_alone = wires.len() == 1;
        for wire in wires {
            let table = wire.get_ref();
            let has_axes = table.columns.is_some() || table.rows.is_some();
            let is_short = table.stacks.is_some() || !table.group.is_empty() || !has_axes;
            if is_short && drafts.short.is_some() {
                let hint = "write [[table.group]] for each, or give it rows and columns";
                let fault = Fault::hint("there is a table of stacks already", hint);
                return Err(file().error_at_span("table", &wire.span(), fault));
            }
            match is_short {
                true => drafts.short = Some(OutputTableDraft { wire, file: file() }),
                false => drafts.articles.push(ArticleDraft::new(wire, file(), is_alone)),
            }
        }
        Ok(drafts)
    }

    pub fn is_empty(&self) -> bool {
        self.short.is_none() && self.articles.is_empty()
    }

    /// Resolves every name against those of the scenario.
    ///
    /// # Errors
    /// Returns the first entry that is not known, is there twice, or does not fit.
    pub(super) fn settled(
        &self,
        names: &TableNames,
    ) -> Result<(Option<TableSpec>, Vec<ArticleTable>), InputError> {
        let short = self.short.as_ref().map(|draft| draft.settled(&names.stacks, &names.loads));
        let mut articles: Vec<ArticleTable> = Vec::new();
        for draft in &self.articles {
            let table = draft.settled(names)?;
            if articles.iter().any(|one| one.name == table.name) {
                let why = format!("there is a table \"{}\" already", table.name);
                return Err(draft.error_at_name(Fault::hint(why, "give it another name")));
            }
            articles.push(table);
        }
        Ok((short.transpose()?, articles))
    }
}
