//! Scenario files: the structs that define their keys, and the checks of what they mean. Every
//! error names file, line, column and key.

mod places;

use super::article::ArticleTable;
use super::article_toml::TableNames;
use super::ast::BaseExpr;
use super::check::{ScenarioParts, parse_consent, set_size};
use super::draft::WorkloadDraft;
use super::error::{Fault, InputError, LineStarts, Located, Origin, TextFault};
use super::media::{medium_of, size_of};
use super::place::StackNames;
use super::stacks::{StackCell, cells_of, stacked};
use super::sweep::{self, SweepItem};
use super::values::parse_engine;
use super::words::{JobWords, known_words};
use super::{
    DurabilitySpec, Engine, Rating, durability, grammar, jobfile, measure, names, operator, place,
    probes, profile, published, rating, slo, table, table_wires, tools,
};
use crate::stack::{Medium, Stack};
use crate::state::AskedState;
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use iotax_sys::owner::other_writer;
use iotax_sys::regular::read_text;
use iotax_units::shell;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads a scenario file and the job files that it names. `given` replaces media of its devices, as
/// `NAME=MEDIUM`.
///
/// # Errors
/// A file that cannot be read, or the first key or value at fault.
pub(super) fn read_scenario(path: &Path, given: &[String]) -> Result<ScenarioParts, InputError> {
    let file = path.display().to_string();
    let text = read_text(path).map_err(|error| {
        InputError::new(&file, Fault::new(format!("cannot read the scenario: {error}")))
    })?;
    let source = TomlSource {
        file,
        text: &text,
        lines: LineStarts::from_text(&text),
        folder: path.parent().unwrap_or(Path::new("")),
    };
    let wire: ScenarioTable = ::toml::from_str(&text).map_err(|error| source.wire_error(&error))?;
    source.refuse_foreign_consents(path, &wire)?;
    source.checked(wire, given)
}

pub(super) fn read_tools(
    path: &Path,
    names: &mut StackNames,
    unread: impl Fn(String) -> InputError,
) -> Result<(), InputError> {
    let text = read_text(path)
        .map_err(|error| unread(format!("cannot read the tools in {}: {error}", path.display())))?;
    let (file, folder) = (path.display().to_string(), path.parent().unwrap_or(Path::new("")));
    let source = TomlSource { file, text: &text, lines: LineStarts::from_text(&text), folder };
    let wire: tools::FileWire =
        ::toml::from_str(&text).map_err(|error| source.wire_error(&error))?;
    source.add_tools(&wire.tool, names)
}

/// Reads the tables of a file. Its other keys are those of a scenario, and are not looked at.
///
/// # Errors
/// A file that cannot be read, or the first key or value at fault.
pub(super) fn read_tables(
    path: &Path,
    names: &TableNames,
) -> Result<(Option<table::TableSpec>, Vec<ArticleTable>), InputError> {
    #[derive(Deserialize)]
    struct TableFile {
        table: Option<Spanned<table_wires::TableWires>>,
    }
    let file = path.display().to_string();
    let whole = |why, hint: &str| InputError::new(&file, Fault::hint(why, hint));
    let text = read_text(path).map_err(|error| {
        whole(format!("cannot read the tables: {error}"), "name a file with [[table]] in it")
    })?;
    let (lines, folder) = (LineStarts::from_text(&text), Path::new(""));
    let source = TomlSource { file: file.clone(), text: &text, lines, folder };
    let wire: TableFile = ::toml::from_str(&text).map_err(|error| source.wire_error(&error))?;
    let wires = wire.table.ok_or_else(|| {
        whole("there is no table in it".to_owned(), "write [[table]] with rows and columns")
    })?;
    table_wires::TableDrafts::new(wires, &|| Located::new(&file, &text))?.settled(names)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioTable {
    name: Option<String>,
    bill: Option<bool>,
    baseline: Option<Spanned<String>>,
    engine: Option<Spanned<String>>,
    #[serde(default)]
    measure: WordTable,
    #[serde(default)]
    device: BTreeMap<String, Spanned<DeviceWire>>,
    #[serde(default)]
    stack: BTreeMap<String, Spanned<StackWire>>,
    #[serde(default)]
    workload: Vec<Spanned<WordTable>>,
    #[serde(default)]
    destroy: Vec<Spanned<String>>,
    #[serde(default)]
    change: Vec<Spanned<String>>,
    max_written: Option<Spanned<String>>,
    durability: Option<WordTable>,
    published: Option<published::PublishedTable>,
    rating: Option<Spanned<WordTable>>,
    table: Option<Spanned<table_wires::TableWires>>,
    #[serde(default)]
    states: Vec<Spanned<String>>,
    #[serde(default)]
    place: BTreeMap<String, Spanned<WordTable>>,
    #[serde(default)]
    tool: BTreeMap<String, Spanned<tools::ToolWire>>,
    #[serde(default)]
    tools: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceWire {
    path: Spanned<String>,
    size: Option<Spanned<String>>,
    keep: Option<Spanned<bool>>,
    agent: Option<Spanned<String>>,
    place: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StackWire {
    text: Option<Spanned<String>>,
    on: Option<Spanned<String>>,
    layers: Option<Vec<Spanned<String>>>,
    own: Option<bool>,
    operator: Option<Spanned<operator::OperatorTable>>,
}

/// A table whose keys are listed elsewhere ([`WORDS`](super::words::WORDS),
/// [`KEYS`](measure::KEYS)), in the order of the file.
#[derive(Default)]
pub(super) struct WordTable(pub(super) Vec<(Spanned<String>, Spanned<Word>)>);

impl<'de> Deserialize<'de> for WordTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> de::Visitor<'de> for WordsVisitor {
    type Value = WordTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table")
    }

    fn visit_map<M: de::MapAccess<'de>>(self, mut map: M) -> Result<WordTable, M::Error> {
        let mut words = Vec::new();
        while let Some(entry) = map.next_entry()? {
            words.push(entry);
        }
        words.sort_by_key(|(key, _): &(Spanned<String>, _)| key.span().start);
        Ok(WordTable(words))
    }
}

impl WordTable {
    fn take_key(&mut self, key: &str) -> Option<Spanned<Word>> {
        let at = self.0.iter().position(|(name, _)| name.get_ref() == key)?;
        Some(self.0.remove(at).1)
    }
}

/// A value that may be written as a text, a whole number, or true or false; or a list or a table of
/// these.
pub(super) enum Word {
    One(String),
    Many(Vec<Spanned<Word>>),
    Table(WordTable),
}

impl Word {
    pub(super) fn single_value(&self) -> Result<&str, Fault> {
        match self {
            Word::One(word) => Ok(word),
            Word::Many(_) => {
                Err(Fault::hint("one value is expected here, not a list", "write one value"))
            }
            Word::Table(_) => {
                Err(Fault::hint("one value is expected here, not a table", "write one value"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl<'de> de::Visitor<'de> for WordVisitor {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text, a whole number, true or false")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Word, E> {
        Ok(Word::One(word.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Word, E> {
        Ok(Word::One(number.to_string()))
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Word, E> {
        Ok(Word::One(flag.to_string()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Word, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = seq.next_element()? {
            words.push(word);
        }
        Ok(Word::Many(words))
    }

    fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<Word, M::Error> {
        WordsVisitor.visit_map(map).map(Word::Table)
    }
}

struct TomlSource<'a> {
    file: String,
    text: &'a str,
    lines: LineStarts<'a>,
    folder: &'a Path,
}

impl TomlSource<'_> {
    fn checked(&self, wire: ScenarioTable, given: &[String]) -> Result<ScenarioParts, InputError> {
        let engine = wire.engine.as_ref().map(|word| self.engine(word)).transpose()?.flatten();
        let mut places = self.read_places(&wire.place)?;
        self.tools(&wire, &mut places)?;
        let mut devices = self.devices(&wire.device, &places)?;
        let mut parts = ScenarioParts::new(&self.file);
        parts.scenario.name = wire.name;
        parts.scenario.bill = wire.bill.unwrap_or(false);
        let baseline = wire.baseline.as_ref().map(|name| name.get_ref().clone());
        let file = || Located::new(&self.file, self.text);
        parts.published =
            wire.published.map(|wire| published::PublishedDraft::new(wire, file(), baseline));
        if let Some(wires) = wire.table {
            parts.tables = table_wires::TableDrafts::new(wires, &file)?;
        }
        let rating = wire.rating.map(|words| self.rating(&words)).transpose()?;
        parts.scenario.rating = rating.map(Box::new);
        parts.baseline = wire.baseline.map(|name| (self.origin(&name.span()), name.into_inner()));
        parts.scenario.declared = self.declared(&wire.device, &devices);
        for text in given {
            parts.scenario.declared.extend(other_medium(text, &mut devices, &places)?);
        }
        parts.names = StackNames { devices, ..places };
        parts.scenario.stacks = self.stacks(&wire.stack, &parts.names)?;
        for (name, stack) in &wire.stack {
            let Some(wire) = &stack.get_ref().operator else { continue };
            let operator =
                wire.get_ref().checked().map_err(|fault| self.fault(&wire.span(), fault))?;
            parts.scenario.operators.insert(name.clone(), operator);
        }
        operator::hand_disks(&mut parts.scenario.stacks, &parts.scenario.operators);
        for workload in wire.workload {
            self.workload(workload, engine, &mut parts)?;
        }
        parts.engine = engine;
        self.measure(&wire.measure, &mut parts)?;
        let state = |word: &Spanned<String>| {
            self.checked_value(word, |word| {
                word.parse::<AskedState>().map_err(|why| Fault::from_clause(&why))
            })
        };
        parts.states = wire.states.iter().map(state).collect::<Result<_, _>>()?;
        if let Some(first) = wire.states.first() {
            parts.states_origin = self.origin(&first.span());
        }
        let durability = wire.durability.map(|words| self.durability(&words)).transpose()?;
        parts.scenario.durability = durability.map(Box::new);
        for text in &wire.destroy {
            let consent =
                parse_consent(text.get_ref()).map_err(|fault| self.fault(&text.span(), fault))?;
            parts.scenario.consent.push(consent);
        }
        for text in &wire.change {
            let (vm, force) = self.checked_value(text, place::parse_change)?;
            parts.scenario.changes.insert(vm, force);
        }
        let max_written = wire.max_written.map(|word| self.checked_value(&word, size_of));
        parts.scenario.max_written = max_written.transpose()?;
        Ok(parts)
    }

    /// Refuses consents in a file that another user could have written: only the user may give
    /// consent.
    fn refuse_foreign_consents(&self, path: &Path, wire: &ScenarioTable) -> Result<(), InputError> {
        for (key, list) in [("destroy", &wire.destroy), ("change", &wire.change)] {
            let Some(first) = list.first() else { continue };
            let why = match other_writer(path) {
                Ok(None) => continue,
                Ok(Some(found)) => {
                    format!("another user could have written \"{key}\" here ({found})")
                }
                Err(error) => {
                    format!("cannot determine who could have written \"{key}\" here: {error}")
                }
            };
            let hint = format!(
                "give it on the command line: --{key} {}; or let the user that iotax runs as (root, under sudo) own the file and its \
                 folders, and nobody else write to them",
                shell::quote_word(first.get_ref())
            );
            return Err(self.fault(&first.span(), Fault::hint(why, hint)));
        }
        Ok(())
    }

    /// Adds the tools of the file itself, and of the files that it names.
    fn tools(&self, wire: &ScenarioTable, names: &mut StackNames) -> Result<(), InputError> {
        self.add_tools(&wire.tool, names)?;
        wire.tools.iter().try_for_each(|word| {
            read_tools(&self.folder.join(word.get_ref()), names, |why| {
                self.fault(
                    &word.span(),
                    Fault::hint(why, "they are looked for beside the scenario"),
                )
            })
        })
    }

    fn add_tools(
        &self,
        wire: &BTreeMap<String, Spanned<tools::ToolWire>>,
        names: &mut StackNames,
    ) -> Result<(), InputError> {
        for (name, tool) in wire {
            plain_name(name).map_err(|fault| self.fault(&tool.span(), fault))?;
            let tool = tools::tool_of(name, tool)
                .map_err(|(span, fault)| self.fault(&span, fault))
                .map_err(|error| InputError {
                    why: format!("[tool.{name}]: {}", error.why),
                    ..error
                })?;
            if names.tools.insert(name.clone(), tool).is_some() {
                let fault = Fault::hint(
                    format!("there is a tool \"{name}\" already"),
                    "rename one of them",
                );
                return Err(InputError::new(self.file.clone(), fault));
            }
        }
        Ok(())
    }

    fn devices(
        &self,
        wire: &BTreeMap<String, Spanned<DeviceWire>>,
        places: &StackNames,
    ) -> Result<BTreeMap<String, Medium>, InputError> {
        wire.iter()
            .map(|(name, device)| Ok((name.clone(), self.device(name, device, places)?)))
            .collect()
    }

    /// Returns the path of each declared device that has one, with the position at which it is
    /// written.
    fn declared(
        &self,
        wire: &BTreeMap<String, Spanned<DeviceWire>>,
        devices: &BTreeMap<String, Medium>,
    ) -> Vec<(PathBuf, String)> {
        let one = |(name, device): (&String, &Spanned<DeviceWire>)| {
            let (line, column) = self.lines.position(device.get_ref().path.span().start);
            let place = format!("{}:{line}:{column}: key \"path\" of [device.{name}]", self.file);
            Some((devices.get(name)?.path()?.to_owned(), place))
        };
        wire.iter().filter_map(one).collect()
    }

    /// Returns the medium of a device. Its path with options is parsed by the one-line grammar, so
    /// both refuse the same input.
    fn device(
        &self,
        name: &str,
        device: &Spanned<DeviceWire>,
        places: &StackNames,
    ) -> Result<Medium, InputError> {
        plain_name(name).map_err(|fault| self.fault(&device.span(), fault))?;
        let device = device.get_ref();
        let path = device.path.get_ref();
        let scheme = ["file", "ssh", "rbd", "vhost-user"]
            .into_iter()
            .find(|scheme| path.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(':')));
        let body = scheme.map_or(path.as_str(), |scheme| &path[scheme.len() + 1..]);
        let place = device
            .place
            .as_ref()
            .map(|word| self.checked_value(word, |word| places.resolve_place(word)));
        // A path is on this host by default.
        let place = place.transpose()?.filter(|place| !place.is_host());
        if scheme.is_none() && !body.starts_with('/') && place.is_none() {
            let fault = Fault::hint(
                format!("\"{body}\" is not an absolute path"),
                "begin it with \"/\" or \"ssh:HOST:/\"",
            );
            return Err(self.fault(&device.path.span(), fault));
        }
        let below_dev = body.starts_with("/dev/") && !body.starts_with("/dev/shm/");
        let is_file = !below_dev && place.is_none();
        let scheme = scheme.or(is_file.then_some("file")).map(str::to_owned);
        let options = self.device_options(device);
        let expr = super::ast::MediumExpr {
            scheme,
            body: body.to_owned(),
            options,
            place: place.map(|place| place.to_string()),
            span: device.path.span(),
        };
        medium_of(&expr, places).map_err(|fault| self.fault(&fault.span, fault.fault))
    }

    fn device_options(&self, device: &DeviceWire) -> Vec<super::ast::OptionExpr> {
        let size = device.size.as_ref().map(|size| ("size", size.get_ref().clone(), size.span()));
        let keep =
            device.keep.as_ref().map(|keep| ("keep", keep.get_ref().to_string(), keep.span()));
        let agent =
            device.agent.as_ref().map(|agent| ("agent", agent.get_ref().clone(), agent.span()));
        let option = |(key, value, span): (&str, String, Range<usize>)| super::ast::OptionExpr {
            key: Some(key.to_owned()),
            values: vec![value],
            span,
        };
        size.into_iter().chain(keep).chain(agent).map(option).collect()
    }

    fn stacks(
        &self,
        wire: &BTreeMap<String, Spanned<StackWire>>,
        names: &StackNames,
    ) -> Result<Vec<Stack>, InputError> {
        let mut order: Vec<&String> = wire.keys().collect();
        // The map sorts by name; people mean the order of the file.
        order.sort_by_key(|name| wire[*name].span().start);
        let mut stacks = Vec::new();
        for name in order {
            plain_name(name).map_err(|fault| self.fault(&wire[name].span(), fault))?;
            let own = wire[name].get_ref().own.unwrap_or(false);
            let cells =
                Resolver { source: self, wire, known: names }.cells(name, &mut Vec::new())?;
            let suffixes = names::grid_suffixes(&cells);
            for (cell, suffix) in cells.into_iter().zip(suffixes) {
                let name =
                    if suffix.is_empty() { name.clone() } else { format!("{name} {suffix}") };
                stacks.push(cell.into_stack(name, own));
            }
        }
        Ok(stacks)
    }

    fn workload(
        &self,
        wire: Spanned<WordTable>,
        engine: Option<Engine>,
        parts: &mut ScenarioParts,
    ) -> Result<(), InputError> {
        let span = wire.span();
        let mut wire = wire.into_inner();
        let mut take = |key| wire.take_key(key).map(|word| self.single_word(&word)).transpose();
        let name = take("name")?.map(Spanned::into_inner);
        let own = take("engine")?.map(|word| self.engine(&word)).transpose()?;
        let engine = own.unwrap_or(engine);
        let (file, profile, probe) = (take("file")?, take("profile")?, take("probe")?);
        if let Some(list) = probe.filter(|_| file.is_none() && profile.is_none()) {
            let words = wire.0.iter().map(|(key, word)| {
                Ok((key.get_ref().clone(), self.single_word(word)?.into_inner()))
            });
            let words = words.collect::<Result<Vec<_>, InputError>>()?;
            let origin = self.origin(&list.span());
            parts.drafts.extend(probes::drafts(list.get_ref(), name.as_deref(), &words, &origin)?);
            return Ok(());
        }
        let size = if profile.is_some() { take("size")? } else { None };
        let words = self.job_words(&wire)?;
        let beside = |key: &str, word: &Spanned<Word>, other: &str| {
            let fault = Fault::hint(
                format!("cannot be combined with \"{key}\""),
                format!("{other}, or without \"{key}\""),
            );
            Err(self.fault(&word.span(), fault))
        };
        match (file, profile, wire.0.first()) {
            (Some(file), None, None) => self.job_file(name.as_deref(), &file, engine, parts),
            (Some(_), None, Some((_, word))) => beside("file", word, "write it in the job file"),
            (None, Some(_), Some((_, word))) => {
                beside("profile", word, "write the load in words of its own")
            }
            (Some(_), Some(profile), _) => {
                let fault = Fault::hint(
                    "cannot be combined with \"file\"",
                    "write a [[workload]] of its own for each",
                );
                Err(self.fault(&profile.span(), fault))
            }
            (None, Some(profile), None) => {
                let mut drafts = profile::drafts(profile.get_ref(), &self.origin(&profile.span()))?;
                if let Some(size) = size {
                    set_size(&mut drafts, size.get_ref(), &self.origin(&size.span()))?;
                }
                parts.drafts.extend(rename_drafts(drafts, name.as_deref(), engine));
                Ok(())
            }
            (None, None, None) => {
                let fault = Fault::hint(
                    "a workload without a word of fio's, a file, a profile or a probe",
                    "write for example rw = \"randread\"",
                );
                Err(self.fault(&span, fault))
            }
            (None, None, Some(_)) => {
                parts.add_drafts(sweep::drafts(&words, name.as_deref(), engine)?);
                Ok(())
            }
        }
    }

    fn job_words(&self, wire: &WordTable) -> Result<JobWords, InputError> {
        let mut words = JobWords::default();
        for (key, word) in &wire.0 {
            let origin = self.origin(&word.span());
            let known = match word.get_ref() {
                Word::Many(list) => words.set_list(key.get_ref(), self.items(list)?, &origin),
                _ => words.set_word(key.get_ref(), self.single_word(word)?.get_ref(), &origin),
            };
            if !known {
                let known =
                    [vec!["name", "file", "profile", "probe", "engine"], known_words()].concat();
                return Err(self.unknown_key(key, &known));
            }
        }
        Ok(words)
    }

    /// Returns the single value of a word that accepts no list.
    fn single_word(&self, word: &Spanned<Word>) -> Result<Spanned<String>, InputError> {
        let text =
            word.get_ref().single_value().map_err(|fault| self.fault(&word.span(), fault))?;
        Ok(Spanned::new(word.span(), text.to_owned()))
    }

    fn items(&self, list: &[Spanned<Word>]) -> Result<Vec<SweepItem>, InputError> {
        let item = |word: &Spanned<Word>| {
            let origin = self.origin(&word.span());
            Ok(SweepItem { text: self.single_word(word)?.into_inner().trim().to_owned(), origin })
        };
        list.iter().map(item).collect()
    }

    fn unknown_key(&self, key: &Spanned<String>, known: &[&str]) -> InputError {
        self.origin(&key.span()).error_at_key(key.get_ref(), unknown_key(key.get_ref(), known))
    }

    fn job_file(
        &self,
        name: Option<&str>,
        file: &Spanned<String>,
        engine: Option<Engine>,
        parts: &mut ScenarioParts,
    ) -> Result<(), InputError> {
        let path: PathBuf = self.folder.join(file.get_ref());
        if !path.exists() {
            let fault = Fault::hint(
                format!("there is no job file {}", path.display()),
                "it is looked for beside the scenario",
            );
            return Err(self.fault(&file.span(), fault));
        }
        let jobs = jobfile::read_job_file(&path)?;
        parts.drafts.extend(rename_drafts(jobs.drafts, name, engine));
        parts.scenario.notes.extend(jobs.notes);
        Ok(())
    }

    fn measure(&self, wire: &WordTable, parts: &mut ScenarioParts) -> Result<(), InputError> {
        for (key, word) in &wire.0 {
            let (name, span) = (key.get_ref(), word.span());
            if !measure::measure_keys().contains(&name.as_str()) {
                return Err(self.unknown_key(key, &measure::measure_keys()));
            }
            let value = match word.get_ref() {
                Word::Many(list) if name == slo::KEY => self
                    .items(list)?
                    .into_iter()
                    .map(|item| item.text)
                    .collect::<Vec<_>>()
                    .join(","),
                _ => self.single_word(word)?.into_inner(),
            };
            measure::set_measure_key(&mut parts.scenario.measure, name, &value)
                .map_err(|fault| self.fault(&span, fault))?;
            parts.measure_origins.insert(name.clone(), self.origin(&span));
        }
        Ok(())
    }

    fn durability(&self, wire: &WordTable) -> Result<DurabilitySpec, InputError> {
        let mut spec = DurabilitySpec::default();
        for (key, word) in &wire.0 {
            let name = key.get_ref();
            if !durability::durability_keys().contains(&name.as_str()) {
                return Err(self.unknown_key(key, &durability::durability_keys()));
            }
            let values = match word.get_ref() {
                Word::Many(list) if name == "kill" => self.items(list)?,
                _ => {
                    vec![SweepItem {
                        text: self.single_word(word)?.into_inner(),
                        origin: self.origin(&word.span()),
                    }]
                }
            };
            for value in values {
                durability::set_durability_key(&mut spec, name, &value.text)
                    .map_err(|fault| self.fault(&word.span(), fault))?;
            }
        }
        Ok(spec)
    }

    fn rating(&self, wire: &Spanned<WordTable>) -> Result<Rating, InputError> {
        let mut rating = Rating::default();
        for (key, word) in &wire.get_ref().0 {
            let name = key.get_ref();
            if !rating::rating_keys().contains(&name.as_str()) {
                return Err(self.unknown_key(key, &rating::rating_keys()));
            }
            let value = self.single_word(word)?;
            rating::set_rating_key(&mut rating, name, value.get_ref())
                .map_err(|fault| self.fault(&word.span(), fault))?;
        }
        let checked = rating::check_rating(&rating);
        checked.map_err(|(key, fault)| self.origin(&wire.span()).error_at_key(key, fault))?;
        Ok(rating)
    }

    fn engine(&self, word: &Spanned<String>) -> Result<Option<Engine>, InputError> {
        self.checked_value(word, parse_engine)
    }

    fn checked_value<T>(
        &self,
        word: &Spanned<String>,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<T, InputError> {
        parse(word.get_ref()).map_err(|fault| self.fault(&word.span(), fault))
    }

    fn fault(&self, span: &Range<usize>, fault: Fault) -> InputError {
        let error =
            InputError::new(self.file.clone(), fault).at_position(self.lines.position(span.start));
        match key_at(self.text, span.start) {
            Some(key) => error.key(key),
            None => error,
        }
    }

    /// Returns a fault within a value that is a one-line text.
    fn text_fault(&self, value: &Spanned<String>, fault: TextFault) -> InputError {
        let text = value.get_ref();
        let start = value.span().start;
        // Without escapes the file contains the text literally, one quote after the value's start.
        let verbatim =
            self.text.get(start + 1..).is_some_and(|rest| rest.starts_with(text.as_str()));
        let offset = if verbatim { start + 1 + fault.span.start } else { start };
        let excerpt = super::error::excerpt(text, &fault.span);
        let error = self.fault(&value.span(), fault.fault).at_position(self.lines.position(offset));
        InputError { excerpt: Some(excerpt.into()), ..error }
    }

    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin { file: self.file.clone(), at: Some(self.lines.position(span.start)) }
    }

    /// Rewords an error of serde or the TOML parser, and gives it a position.
    fn wire_error(&self, error: &::toml::de::Error) -> InputError {
        let message = error.message();
        let start = error.span().map_or(0, |span| span.start);
        let named = ["unknown field", "missing field"].iter().any(|kind| message.starts_with(kind));
        let key = match message.split('`').nth(1) {
            Some(key) if named => Some(key.to_owned()),
            _ => key_at(self.text, start),
        };
        let fault = wire_fault(message, key.as_deref().unwrap_or_default());
        let place =
            InputError::new(self.file.clone(), fault).at_position(self.lines.position(start));
        InputError { key: key.map(String::into_boxed_str), ..place }
    }
}

/// Returns the workloads of a job file or profile with the name and engine that the scenario gives
/// them. With several workloads the name precedes their own names.
fn rename_drafts(
    drafts: Vec<WorkloadDraft>,
    name: Option<&str>,
    engine: Option<Engine>,
) -> impl Iterator<Item = WorkloadDraft> {
    let many = drafts.len() > 1;
    drafts.into_iter().map(move |mut draft| {
        draft.engine = engine.or(draft.engine);
        if let Some(name) = name {
            draft.name = if many { format!("{name}-{}", draft.name) } else { name.to_owned() };
        }
        draft
    })
}

/// Replaces a device's medium by that of `NAME=MEDIUM`. Returns its path, if it has one, and where
/// that is written.
fn other_medium(
    text: &str,
    devices: &mut BTreeMap<String, Medium>,
    places: &StackNames,
) -> Result<Option<(PathBuf, String)>, InputError> {
    let fault = |fault| Origin::command_line().error_at_key("device", fault);
    let example = "write NAME=/dev/nvme1n1 or NAME=file:/srv/x.img,size=4GiB";
    let (name, text) = text
        .split_once('=')
        .ok_or_else(|| fault(Fault::hint(format!("\"{text}\" is not NAME=MEDIUM"), example)))?;
    let known: Vec<&str> = devices.keys().map(String::as_str).collect();
    if known.is_empty() {
        let why = "the scenario declares no [device.NAME]";
        return Err(fault(Fault::hint(why, "change its stacks in the file")));
    }
    if !devices.contains_key(name) {
        return Err(fault(Fault::unknown("device", name, &known)));
    }
    let expr = grammar::parse(text).map_err(|error| fault(error.fault))?;
    let (BaseExpr::One(medium), []) = (&expr.base, expr.layers.as_slice()) else {
        return Err(fault(Fault::hint(format!("\"{text}\" is not one medium"), example)));
    };
    let medium = medium_of(medium, places).map_err(|error| fault(error.fault))?;
    let declared =
        medium.path().map(|path| (path.to_owned(), format!("command line: --device {name}")));
    devices.insert(name.to_owned(), medium);
    Ok(declared)
}

fn unknown_key(key: &str, known: &[&str]) -> Fault {
    Fault { why: "unknown key".to_owned(), hint: Fault::unknown("key", key, known).hint }
}

/// Keys whose value has a unit.
const WITH_UNIT: &[&str] = &[
    "slice",
    "precision",
    "equivalence",
    "min_time",
    "budget",
    "trace",
    "size",
    "max_written",
    "min_load",
    "max_load",
];

/// Keys whose value is commands.
const COMMANDS: &[&str] = &["make", "undo", "find", "fail", "return", "command"];

fn wire_fault(message: &str, key: &str) -> Fault {
    let message = message.trim().lines().collect::<Vec<_>>().join(", ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let plain = plain_words(&message);
    match quoted.as_slice() {
        [key, known @ ..] if message.starts_with("unknown field") => unknown_key(key, known),
        [..] if message.starts_with("missing field") => Fault::new("is missing"),
        [..] if key == "workload" && message.starts_with("invalid type: map") => {
            Fault::hint("there may be several", "write [[workload]], with two brackets")
        }
        [..] if COMMANDS.contains(&key) && message.starts_with("invalid type") => Fault::hint(
            plain,
            "a command is a list of a program and its arguments, run without a shell; several are a list of such \
             lists: [[\"PROGRAM\", \"ARGUMENT\"]]",
        ),
        [..] if key == "published" && message.starts_with("invalid type") => Fault::hint(
            "there is one",
            "write [published], with one bracket, and [[published.figures]]",
        ),
        [..] if key == "rating" && message.starts_with("invalid type") => {
            Fault::hint("there is one", format!("write [{key}], with one bracket"))
        }
        [..] if key == "printed" && message.starts_with("invalid type") => Fault::hint(
            plain,
            "printed figures are texts, as they were printed: \"26.0k\", \"28.7MiB/s\"",
        ),
        [..] if message.starts_with("invalid type") && WITH_UNIT.contains(&key) => Fault::hint(
            plain,
            "sizes, times and percentages are texts with a unit: \"4KiB\", \"30s\", \"1%\"",
        ),
        _ => Fault::new(plain),
    }
}

/// Rewords serde's message about a value of the wrong type in TOML's terms: `invalid type: integer
/// `3`, expected a string` becomes `the whole number 3 where a text in quotes is expected`.
fn plain_words(message: &str) -> String {
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let said = kinds.iter().find_map(|kind| message.strip_prefix(kind)?.rsplit_once(", expected "));
    let Some((found, expected)) = said else { return message.to_owned() };
    let found = match found.split_once(' ') {
        Some(("integer", number)) => format!("the whole number {number}"),
        Some(("floating", number)) => format!("the number {}", number.trim_start_matches("point ")),
        Some(("string", text)) => format!("the text {text}"),
        Some(("boolean", flag)) => flag.to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ if found == "map" => "a table".to_owned(),
        _ => "another value".to_owned(),
    };
    let is_number =
        |word: &str| word.starts_with(['i', 'u', 'f']) && word[1..].parse::<u8>().is_ok();
    let expected = match expected {
        "a string" | "a borrowed string" => "a text in quotes",
        "a boolean" => "true or false",
        word if word == "a sequence" || word.starts_with("tuple") => "a list in [...]",
        word if word == "a map" || word.starts_with("struct ") => "a table",
        word if is_number(word) || matches!(word, "usize" | "isize") => "a number",
        word => word,
    };
    format!("{} where {expected} is expected", found.replace('`', ""))
}

/// Returns the innermost key at this byte, which is in the key or its value; `None` if the byte is
/// in neither or the file does not parse.
fn key_at(text: &str, byte: usize) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    key_in(table.get_ref(), byte)
}

fn key_in(table: &DeTable<'_>, byte: usize) -> Option<String> {
    for (key, value) in table {
        // A table's own span may be no more than its header, so its members are always searched.
        let inner = match value.get_ref() {
            DeValue::Table(table) => key_in(table, byte),
            DeValue::Array(items) => items.iter().find_map(|item| match item.get_ref() {
                DeValue::Table(table) => key_in(table, byte),
                _ => None,
            }),
            _ => None,
        };
        if inner.is_some() {
            return inner;
        }
        if value.span().contains(&byte) || key.span().contains(&byte) {
            return Some(key.get_ref().to_string());
        }
    }
    None
}

/// Checks a name, which is used in tables, in file names and in the one-line grammar.
pub(super) fn plain_name(name: &str) -> Result<(), Fault> {
    let plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if plain {
        return Ok(());
    }
    Err(Fault::new(format!(
        "name \"{name}\" has signs other than letters, digits, \"_\", \"-\" and \".\""
    )))
}

struct Resolver<'a> {
    source: &'a TomlSource<'a>,
    wire: &'a BTreeMap<String, Spanned<StackWire>>,
    known: &'a StackNames,
}

impl Resolver<'_> {
    /// Returns the cells of a stack. `open` lists the stacks that are being resolved, so that a
    /// circle is found.
    fn cells(&self, name: &str, open: &mut Vec<String>) -> Result<Vec<StackCell>, InputError> {
        let spanned = &self.wire[name];
        let stack = spanned.get_ref();
        match (&stack.text, &stack.on) {
            (Some(text), None) if stack.layers.is_none() => self.text_cells(text),
            (None, Some(on)) => {
                open.push(name.to_owned());
                let below = self.cells_below(on, open)?;
                open.pop();
                self.with_layers(below, stack.layers.as_deref().unwrap_or_default())
            }
            _ => {
                let fault = Fault::hint(
                    "a stack has either \"text\", or \"on\" with \"layers\"",
                    "write text = \"file:/srv/x.img,size=4GiB | loop\", or on = \"NAME\" and layers = [\"loop\"]",
                );
                let place = self.source.origin(&spanned.span());
                Err(place.error_at_key(name, fault))
            }
        }
    }

    fn text_cells(&self, text: &Spanned<String>) -> Result<Vec<StackCell>, InputError> {
        let fault = |fault| self.source.text_fault(text, fault);
        let expr = grammar::parse(text.get_ref()).map_err(fault)?;
        cells_of(&expr, self.known, &self.layer_origin(text)).map_err(fault)
    }

    fn cells_below(
        &self,
        on: &Spanned<String>,
        open: &mut Vec<String>,
    ) -> Result<Vec<StackCell>, InputError> {
        let name = on.get_ref();
        let fault = match (self.wire.contains_key(name), self.known.devices.get(name)) {
            (true, Some(_)) => {
                Fault::hint(format!("\"{name}\" is a stack and a device"), "rename one of them")
            }
            (true, None) if open.contains(name) => Fault::new(format!(
                "stacks are on each other in a circle: {} on {name}",
                open.join(" on ")
            )),
            (true, None) => return self.cells(name, open),
            (false, Some(medium)) => {
                return Ok(vec![StackCell { medium: medium.clone(), layers: Vec::new() }]);
            }
            (false, None) => {
                let known: Vec<&str> =
                    self.wire.keys().chain(self.known.devices.keys()).map(String::as_str).collect();
                Fault::unknown("stack or device", name, &known)
            }
        };
        Err(self.source.fault(&on.span(), fault))
    }

    fn with_layers(
        &self,
        mut cells: Vec<StackCell>,
        layers: &[Spanned<String>],
    ) -> Result<Vec<StackCell>, InputError> {
        for text in layers {
            let fault = |fault| self.source.text_fault(text, fault);
            let layer = grammar::parse_layer(text.get_ref()).map_err(fault)?;
            cells = stacked(&cells, &layer, self.known, &self.layer_origin(text)).map_err(fault)?;
        }
        Ok(cells)
    }

    fn layer_origin(&self, text: &Spanned<String>) -> impl Fn(usize) -> String + use<'_> {
        let start = text.span().start + 1;
        move |byte| {
            let (line, column) = self.source.lines.position(start + byte);
            format!("{}:{line}:{column}", self.source.file)
        }
    }
}

#[cfg(test)]
#[path = "toml_tests.rs"]
mod tests;
