//! What a text in an axis of a table names: a load, a stack, a metric, an option of a grid, or all
//! of one kind.

use super::{CellChoice, Fault, ShownFigure, Stack, TableHead, TableMetric, TableNames, distinct};
use crate::stack::LayerSpec;
use iotax_facts::place::Place;

/// Words for a whole axis, in addition to the options of layers.
const AXES: [&str; 5] = ["stacks", "loads", "metrics", "guests", "drives"];

impl TableNames<'_> {
    /// Checks the name of a stack, or what the names of a grid's stacks begin with.
    pub(super) fn known_stack(&self, name: &str) -> Result<(), Fault> {
        match self.stacks.iter().any(|stack| is_or_begins(stack, name)) {
            true => Ok(()),
            false => Err(Fault::unknown("stack", name, &self.stack_names())),
        }
    }

    /// Returns the head that a text means.
    pub(super) fn named_head(&self, word: &str) -> Result<TableHead, Fault> {
        let mut head = TableHead::new(word);
        let is_load = self.load_names().contains(&word);
        let is_stack = self.stacks.iter().any(|stack| is_or_begins(stack, word));
        let shown = ShownFigure::ALL.iter().find(|(name, _)| *name == word);
        if is_load && is_stack {
            let why = format!("\"{word}\" is a load and a stack");
            return Err(Fault::hint(why, format!("write {{ load = \"{word}\" }}, or stack")));
        }
        let key = match shown {
            _ if is_load => "load",
            _ if is_stack => "stack",
            Some(_) => "show",
            None if self.is_option(word) => "with",
            None => "metric",
        };
        if head.cells.set_key(key, word).is_err() {
            let others = ShownFigure::ALL.map(|(name, _)| name);
            let known: Vec<&str> = [self.load_names(), self.stack_names()]
                .concat()
                .into_iter()
                .chain(TableMetric::known_words())
                .chain(others)
                .collect();
            return Err(Fault::unknown("load, stack or metric", word, &known));
        }
        Ok(head)
    }

    fn is_option(&self, word: &str) -> bool {
        let option = |(key, _): (&str, &str)| !self.option_values(key).is_empty();
        word.split(',').all(|pair| pair.split_once('=').is_some_and(option))
    }

    fn layers(&self) -> impl Iterator<Item = &LayerSpec> {
        self.stacks.iter().flat_map(|stack| &stack.layers)
    }

    /// Returns the values of a layer's option, in the order of the stacks.
    fn option_values(&self, key: &str) -> Vec<&str> {
        distinct(self.layers().filter_map(|layer| layer.option(key)))
    }

    /// Returns a head for every member of an axis.
    pub(super) fn whole_axis(&self, word: &str) -> Result<Vec<TableHead>, Fault> {
        let guests = self.stacks.iter().map(|stack| stack.guests()).max().unwrap_or(0);
        let drives = || self.stacks.iter().flat_map(|stack| stack.medium.members());
        let values = self.option_values(word);
        let (key, all): (&str, Vec<String>) = match word {
            "stacks" => ("stack", self.stack_names().into_iter().map(str::to_owned).collect()),
            "loads" => ("load", self.load_names().into_iter().map(str::to_owned).collect()),
            "metrics" => ("metric", METRICS.map(str::to_owned).to_vec()),
            "guests" => ("guest", (0..guests).map(|at| format!("vm{at}")).collect()),
            "drives" => {
                let paths = drives().filter_map(|member| member.path());
                ("drive", distinct(paths.map(|path| path.display().to_string())))
            }
            _ if !values.is_empty() => {
                ("with", values.iter().map(|value| format!("{word}={value}")).collect())
            }
            _ => {
                let options = self.layers().flat_map(|layer| layer.options.keys());
                let options = distinct(options.map(String::as_str));
                let known: Vec<&str> = AXES.into_iter().chain(options).collect();
                return Err(Fault::unknown("axis", word, &known));
            }
        };
        let head = |name: &String| {
            let mut head = TableHead::new(name);
            head.cells.set_key(key, name).map(|_| head)
        };
        all.iter().map(head).collect()
    }
}

/// Metrics of every load, without those that a mix has for each direction alone.
const METRICS: [&str; 3] = ["iops", "throughput", "cpu"];

/// Returns true for the stack of this name, and for the stacks of the grid of this name.
fn is_or_begins(stack: &Stack, name: &str) -> bool {
    let rest = stack.name.strip_prefix(name).filter(|_| !name.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns true if a place is called so, with or without `ssh:`.
fn is_place(place: &Place, word: &str) -> bool {
    let name = place.to_string();
    name.strip_suffix(word).is_some_and(|kind| kind.is_empty() || kind.ends_with(':'))
}

/// Returns true if an option of the stack's layers has this value. `state` is that of its array.
fn has_option(stack: &Stack, pair: &str) -> bool {
    let Some((key, value)) = pair.split_once('=') else { return false };
    let state = stack.state.as_ref().map(|state| state.state.to_string());
    match key {
        "state" => state.as_deref() == Some(value),
        _ => stack.layers.iter().any(|layer| layer.option(key) == Some(value)),
    }
}

impl CellChoice {
    /// Returns the index of the chosen stack: the one of the name, or the one of a grid that has
    /// the options of `with`.
    ///
    /// # Errors
    /// There is no such stack, or there are several.
    pub fn stack_among<'s>(
        &self,
        stacks: impl Iterator<Item = &'s Stack> + Clone,
    ) -> Result<usize, Fault> {
        let name = self.stack.as_deref();
        let pairs: Vec<&str> = self.with.iter().flat_map(|with| with.split(',')).collect();
        let is_chosen = |stack: &Stack| {
            name.is_none_or(|name| is_or_begins(stack, name))
                && self.from.as_ref().is_none_or(|from| is_place(&stack.medium.place(), from))
                && self.to.as_ref().is_none_or(|to| {
                    stack.medium.far_end().is_some_and(|place| is_place(place, to))
                })
                && pairs.iter().all(|pair| has_option(stack, pair.trim()))
        };
        let chosen: Vec<(usize, &Stack)> =
            stacks.clone().enumerate().filter(|(_, stack)| is_chosen(stack)).collect();
        let exact = chosen.iter().find(|(_, stack)| Some(stack.name.as_str()) == name);
        let names = distinct(chosen.iter().map(|(_, stack)| stack.name.as_str()));
        match (exact, names.as_slice()) {
            (Some((at, _)), _) => Ok(*at),
            (None, [_]) => Ok(chosen[0].0),
            (None, []) => {
                let what = [name, self.with.as_deref(), self.from.as_deref(), self.to.as_deref()];
                let what = what.into_iter().flatten().collect::<Vec<_>>().join(", ");
                let known: Vec<&str> = distinct(stacks.map(|stack| stack.name.as_str()));
                Err(Fault::unknown("stack", &what, &known))
            }
            (None, several) => Err(Fault::hint(
                format!("several stacks are meant: {}", several.join(", ")),
                "name one of them with stack = \"...\", or its options with = \"OPTION=VALUE\"",
            )),
        }
    }
}
