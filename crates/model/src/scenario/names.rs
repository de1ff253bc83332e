//! Short unique names of stacks: their layers, and as much more as distinguishes them from the
//! others.

use super::stacks::StackCell;
use crate::layer::LayerHelp;
use crate::stack::{LayerSpec, Medium, Stack};
use iotax_facts::place::Place;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Returns one name per cell, in the order of the cells. Cells with the same text get `#2`, `#3`.
pub fn names_of(cells: &[StackCell]) -> Vec<String> {
    let texts: Vec<String> = cells.iter().map(StackCell::cell_text).collect();
    let mut levels = vec![0; cells.len()];
    let mut names = names_at(cells, &levels);
    for _ in 0..LEVELS {
        for i in clashing(&names, &texts) {
            levels[i] += 1;
        }
        names = names_at(cells, &levels);
    }
    numbered(names)
}

/// Returns the given name of each cell, or for one without, a name as [`names_of`] makes it.
pub fn names_beside(cells: &[StackCell], given: &[Option<String>]) -> Vec<String> {
    let own = names_of(cells);
    numbered(given.iter().zip(own).map(|(given, own)| given.clone().unwrap_or(own)).collect())
}

const LEVELS: u8 = 4;

fn names_at(cells: &[StackCell], levels: &[u8]) -> Vec<String> {
    let shorts: Vec<String> = cells.iter().map(short).collect();
    let mut peers: BTreeMap<&str, Vec<&LayerSpec>> = BTreeMap::new();
    for (cell, short) in cells.iter().zip(&shorts) {
        peers.entry(short).or_default().extend(cell.layers.last());
    }
    let differing: BTreeMap<&str, Differing> =
        peers.into_iter().map(|(short, layers)| (short, Differing::among(&layers))).collect();
    let name = |i: usize| match levels[i] {
        0 => shorts[i].clone(),
        1 => with_differences(&cells[i], &differing[shorts[i].as_str()]),
        2 => chain(&cells[i]),
        3 => whole_chain(&cells[i]),
        _ => cells[i].cell_text(),
    };
    (0..cells.len()).map(name).collect()
}

fn clashing(names: &[String], texts: &[String]) -> Vec<usize> {
    let mut meant: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, text) in names.iter().zip(texts) {
        meant.entry(name).or_default().insert(text);
    }
    (0..names.len()).filter(|i| meant[names[*i].as_str()].len() > 1).collect()
}

fn numbered(names: Vec<String>) -> Vec<String> {
    let mut taken = TakenNames::default();
    names.iter().map(|name| taken.take_by(name, |n| format!("{name} #{n}"))).collect()
}

#[derive(Default)]
pub(super) struct TakenNames {
    names: HashSet<String>,
    /// Next number to try, for names that were requested again.
    next: HashMap<String, usize>,
}

impl TakenNames {
    pub(super) fn note_name(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// Takes this name, or the first of `NAME-2`, `NAME-3` that is free.
    pub(super) fn take_name(&mut self, name: &str) -> String {
        self.take_by(name, |n| format!("{name}-{n}"))
    }

    fn take_by(&mut self, name: &str, numbered: impl Fn(usize) -> String) -> String {
        if self.names.insert(name.to_owned()) {
            return name.to_owned();
        }
        // No name is ever released, so none before this number is free.
        let next = self.next.entry(name.to_owned()).or_insert(2);
        loop {
            let one = numbered(*next);
            *next += 1;
            if self.names.insert(one.clone()) {
                return one;
            }
        }
    }
}

/// Largest number of layers that are all in a name; of more, the first and the last are.
const NAMED_LAYERS: usize = 3;
const BETWEEN: &str = " + ";

/// Returns the layers, `vm`, `loop + fs(xfs)`, or the kind of a bare medium.
fn short(cell: &StackCell) -> String {
    match cell.layers.as_slice() {
        [] => medium_short(cell),
        [first, .., last] if cell.layers.len() > NAMED_LAYERS => {
            [&layer_short(first), "...", &layer_short(last)].join(BETWEEN)
        }
        layers => layers.iter().map(layer_short).collect::<Vec<_>>().join(BETWEEN),
    }
}

/// Returns the name of a stack in a bill, where each line has one more layer than the line above:
/// the last layer alone, unless the stack was given a name.
pub fn last_layer_name(stack: &Stack) -> String {
    let last = stack.layers.last().map(layer_short).unwrap_or_default();
    match stack.name.strip_suffix(&last) {
        Some(before) if before.ends_with(BETWEEN) && !last.is_empty() => last,
        _ => stack.name.clone(),
    }
}

fn medium_short(cell: &StackCell) -> String {
    match &cell.medium {
        Medium::File { .. } => "file".to_owned(),
        Medium::Device { path } => {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        }
        Medium::Remote { host, .. } => format!("ssh:{host}"),
        Medium::Drive { name, .. } => name.clone(),
        Medium::Cpu { place: Place::Host } => "cpu".to_owned(),
        Medium::Cpu { place } => place.to_string(),
        Medium::Net { place, to, .. } => format!("{place} to {to}"),
        Medium::Rbd { image, .. } => format!("rbd:{image}"),
        Medium::VhostUser { path } => {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        }
        Medium::Many { members, .. } => match cell.loaded_at_once() {
            Some(_) => format!("each of {}", members.len()),
            None => format!("{} media", members.len()),
        },
    }
}

/// Returns the name of a layer, with the options that it cannot exist without.
fn layer_short(layer: &LayerSpec) -> String {
    let needed = layer.catalog_entry().map_or(&[][..], |help| help.one_of);
    let shown: Vec<String> = needed
        .iter()
        .filter_map(|key| layer.options.get(*key).map(|value| layer.option_text(key, value)))
        .collect();
    let copies = layer.copies.max(layer.far.len() as u32);
    let copies = if copies > 1 { format!(" x{copies}") } else { String::new() };
    match shown.is_empty() {
        true => format!("{}{copies}", layer.name),
        false => format!("{}({}){copies}", layer.name, shown.join(",")),
    }
}

/// Returns `vm cache=none,num-queues=1`: the options of the last layer that differ among the cells.
fn with_differences(cell: &StackCell, differing: &Differing) -> String {
    let words = cell.layers.last().map(|last| differing.words_of_layer(last));
    match words {
        Some(words) if !words.is_empty() => format!("{} {}", short(cell), words.join(",")),
        _ => chain(cell),
    }
}

/// Returns the value of an option: the written one, or its default, unless the default only has a
/// meaning beside another choice.
fn in_name<'a>(layer: &'a LayerSpec, name: &str) -> Option<&'a str> {
    match layer.catalog_entry()?.option(name)?.only_with {
        Some(_) => layer.options.get(name).map(String::as_str),
        None => layer.option(name),
    }
}

/// Options that differ among some layers, by the name of the layer.
struct Differing(BTreeMap<&'static str, Vec<&'static str>>);

impl Differing {
    fn among(layers: &[&LayerSpec]) -> Differing {
        let helps = layers.iter().filter_map(|layer| layer.catalog_entry());
        let helps: BTreeMap<&str, &'static LayerHelp> =
            helps.map(|help| (help.name, help)).collect();
        let differs = |name: &str| {
            let mut values = layers.iter().map(|layer| in_name(layer, name));
            values.next().is_some_and(|first| values.any(|value| value != first))
        };
        let options = |help: &'static LayerHelp| {
            let names = help.options.iter().map(|option| option.name);
            (help.name, names.filter(|name| differs(name)).collect())
        };
        Differing(helps.into_values().map(options).collect())
    }

    /// Returns the differing options of one of the layers, as words.
    fn words_of_layer(&self, layer: &LayerSpec) -> Vec<String> {
        let options = self.0.get(layer.name.as_str()).into_iter().flatten();
        options.filter_map(|name| Some(format!("{name}={}", in_name(layer, name)?))).collect()
    }
}

/// Returns for each cell of one grid the options in which the cells differ, `cache=none,queues=2`,
/// to append to the stack's name.
pub fn grid_suffixes(cells: &[StackCell]) -> Vec<String> {
    let at = |depth: usize| {
        Differing::among(&cells.iter().map(|cell| &cell.layers[depth]).collect::<Vec<_>>())
    };
    let depths = cells.first().map_or(0, |cell| cell.layers.len());
    let differing: Vec<Differing> = (0..depths).map(at).collect();
    let words = |cell: &StackCell| -> Vec<String> {
        cell.layers
            .iter()
            .zip(&differing)
            .flat_map(|(layer, differing)| differing.words_of_layer(layer))
            .collect()
    };
    cells.iter().map(|cell| words(cell).join(",")).collect()
}

/// Returns the medium and all layers, `file | vm`. Several joined media are left out, `ceph | vm`:
/// their number says little, and the first layer shows that they are joined.
fn chain(cell: &StackCell) -> String {
    let whole = whole_chain(cell);
    match (&cell.medium, whole.split_once(" | ")) {
        (Medium::Many { .. }, Some((_, layers))) if cell.loaded_at_once().is_none() => {
            layers.to_owned()
        }
        _ => whole,
    }
}

fn whole_chain(cell: &StackCell) -> String {
    let layers = cell
        .layers
        .iter()
        .map(|layer| LayerSpec { origin: String::new(), ..layer.clone() }.layer_text());
    std::iter::once(medium_short(cell)).chain(layers).collect::<Vec<_>>().join(" | ")
}
