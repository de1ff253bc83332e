//! Short unique names of stacks: the last layer, and as much more as tells it from the others.

use super::stacks::Cell;
use super::{LayerSpec, Medium};
use crate::layer::catalog;
use std::collections::{BTreeMap, BTreeSet};

/// One name a cell, in their order. Cells with the same text get `#2`, `#3`.
pub fn names_of(cells: &[Cell]) -> Vec<String> {
    let texts: Vec<String> = cells.iter().map(Cell::text).collect();
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

const LEVELS: u8 = 3;

fn names_at(cells: &[Cell], levels: &[u8]) -> Vec<String> {
    let shorts: Vec<String> = cells.iter().map(short).collect();
    let name = |i: usize| match levels[i] {
        0 => shorts[i].clone(),
        1 => with_differences(&cells[i], &peers(cells, &shorts, i)),
        2 => chain(&cells[i]),
        _ => cells[i].text(),
    };
    (0..cells.len()).map(name).collect()
}

fn peers<'a>(cells: &'a [Cell], shorts: &[String], of: usize) -> Vec<&'a Cell> {
    cells.iter().zip(shorts).filter(|(_, short)| **short == shorts[of]).map(|(cell, _)| cell).collect()
}

/// Those whose name stands for different stacks.
fn clashing(names: &[String], texts: &[String]) -> Vec<usize> {
    let mut meant: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, text) in names.iter().zip(texts) {
        meant.entry(name).or_default().insert(text);
    }
    (0..names.len()).filter(|i| meant[names[*i].as_str()].len() > 1).collect()
}

fn numbered(names: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut unique = Vec::new();
    for name in names {
        let free = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name} #{n}") });
        let chosen = free.into_iter().find(|name| !taken.contains(name)).unwrap_or(name);
        taken.insert(chosen.clone());
        unique.push(chosen);
    }
    unique
}

/// `vm`, `fs(xfs)`, `delay(us=50)`; a bare medium by its kind.
fn short(cell: &Cell) -> String {
    cell.layers.last().map_or_else(|| medium_short(cell), layer_short)
}

fn medium_short(cell: &Cell) -> String {
    match &cell.medium {
        Medium::File { .. } => "file".to_owned(),
        Medium::Device { path } => {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        }
        Medium::Remote { host, .. } => format!("ssh:{host}"),
        Medium::Drive { name, .. } => name.clone(),
        Medium::Many { members } => match cell.loaded_at_once() {
            Some(_) => format!("each of {}", members.len()),
            None => format!("{} media", members.len()),
        },
    }
}

/// What a layer cannot be without belongs to its name.
fn layer_short(layer: &LayerSpec) -> String {
    let needed = catalog::find(&layer.name).map_or(&[][..], |help| help.one_of);
    let shown: Vec<String> = needed
        .iter()
        .filter_map(|key| layer.options.get(*key).map(|value| layer.option_text(key, value)))
        .collect();
    let copies = if layer.copies > 1 { format!(" x{}", layer.copies) } else { String::new() };
    match shown.is_empty() {
        true => format!("{}{copies}", layer.name),
        false => format!("{}({}){copies}", layer.name, shown.join(",")),
    }
}

/// `vm cache=none,num-queues=1`: the options of the last layer that are not the same in all.
fn with_differences(cell: &Cell, peers: &[&Cell]) -> String {
    let Some(last) = cell.layers.last() else {
        return chain(cell);
    };
    let differing = differences(last, peers);
    if differing.is_empty() { chain(cell) } else { format!("{} {}", layer_short(last), differing.join(",")) }
}

fn differences(last: &LayerSpec, peers: &[&Cell]) -> Vec<String> {
    let Some(help) = catalog::find(&last.name) else {
        return Vec::new();
    };
    let differs = |name: &str| {
        let values: BTreeSet<_> =
            peers.iter().filter_map(|cell| cell.layers.last()).map(|layer| layer.option(name)).collect();
        values.len() > 1
    };
    let options = help.options.iter().filter(|option| differs(option.name));
    options
        .filter_map(|option| last.option(option.name).map(|value| format!("{}={value}", option.name)))
        .collect()
}

/// What differs among the cells of one grid, for stacks that have a name of their own.
pub fn grid_suffixes(cells: &[Cell]) -> Vec<String> {
    let suffix = |cell: &Cell| {
        let mut words = Vec::new();
        for (depth, layer) in cell.layers.iter().enumerate() {
            // Cut at this layer, so that "last" means this one.
            let cut: Vec<Cell> = cells
                .iter()
                .map(|cell| Cell { medium: cell.medium.clone(), layers: cell.layers[..=depth].to_vec() })
                .collect();
            words.extend(differences(layer, &cut.iter().collect::<Vec<_>>()));
        }
        words.join(",")
    };
    cells.iter().map(suffix).collect()
}

fn chain(cell: &Cell) -> String {
    let layers = cell.layers.iter().map(|layer| LayerSpec { origin: String::new(), ..layer.clone() }.text());
    std::iter::once(medium_short(cell)).chain(layers).collect::<Vec<_>>().join(" | ")
}
