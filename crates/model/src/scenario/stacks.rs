//! Turns a parsed stack into checked ones: its layers, options and grids (media.rs checks media).
//! What no layer of this version can do is refused, with its position. Nothing here looks at the
//! machine.

use super::ast::{BaseExpr, LayerEnds, LayerExpr, MediumExpr, OptionExpr, StackExpr};
use super::bdev;
use super::error::{Checked, Fault, TextFault};
use super::grammar::{far_text, quote};
use super::media::base_medium;
use super::place::{self, StackNames};
use crate::layer::{self, LayerHelp, OptionKind, alias, vm};
use crate::stack::{Face, LayerRole};
use crate::stack::{LayerSpec, LoadIssuer, Medium, Stack, USUAL_CEPH_CONF};
use iotax_facts::place::Place;
use iotax_units as units;
use std::collections::BTreeMap;

/// Largest number of stacks in a grid; more are surely a typing error.
const MOST_CELLS: usize = 64;

/// Medium and layers of one stack, not yet named.
#[derive(Clone, Debug, PartialEq)]
pub struct StackCell {
    pub medium: Medium,
    pub layers: Vec<LayerSpec>,
}

/// Returns the checked stack, or one for each combination of values of a grid. `origin` turns the
/// byte at which a layer begins into a position for messages.
///
/// # Errors
/// Returns the first part that is unknown or that no layer can do.
pub fn cells_of(
    expr: &StackExpr,
    names: &StackNames,
    origin: &dyn Fn(usize) -> String,
) -> Checked<Vec<StackCell>> {
    let medium = base_medium(&expr.base, names, expr.layers.first())?;
    let mut cells = vec![StackCell { medium, layers: Vec::new() }];
    if let BaseExpr::Each(members) = &expr.base {
        only_generators_on_each(members, &expr.layers, names)?;
    }
    for layer in &expr.layers {
        cells = stacked(&cells, layer, names, origin)?;
    }
    Ok(cells)
}

/// Puts a layer on every cell; each combination of its values makes a further cell.
///
/// # Errors
/// A cell or the layer does not allow it, an option is unknown, or there would be too many cells.
pub fn stacked(
    cells: &[StackCell],
    layer: &LayerExpr,
    names: &StackNames,
    origin: &dyn Fn(usize) -> String,
) -> Checked<Vec<StackCell>> {
    let help = known_layer(layer, names)?;
    let choices = layer_choices(help, layer)?;
    if cells.len() * choices.len() > MOST_CELLS {
        let fault = Fault::hint(
            format!(
                "the grid has {} stacks, at most {MOST_CELLS} are compared",
                cells.len() * choices.len()
            ),
            "write fewer values in [...]",
        );
        return Err(TextFault::new(layer.span.clone(), fault));
    }
    let mut grown = Vec::new();
    for cell in cells {
        let (place, far) = ends(layer, names)?;
        fits(cell, help, layer, place.as_ref())?;
        for options in &choices {
            let mut cell = cell.clone();
            let (name, options) = (help.name.to_owned(), options.clone());
            let mut spec = LayerSpec {
                name,
                options,
                place: place.clone(),
                far: far.clone(),
                copies: layer.fanout.unwrap_or(1),
                tool: names.tools.get(help.name).cloned().map(Box::new),
                origin: origin(layer.span.start),
            };
            bdev::settle_layer(&cell.medium, &cell.layers, &mut spec)
                .map_err(|fault| TextFault::new(layer.span.clone(), fault))?;
            cell.layers.push(spec);
            grown.push(cell);
        }
    }
    Ok(grown)
}

/// Refuses layers that join the members of `each`, which says that nothing joins them. A layer in a
/// guest may, because it joins the guest's disks.
fn only_generators_on_each(
    members: &[MediumExpr],
    layers: &[LayerExpr],
    names: &StackNames,
) -> Checked<()> {
    let joins = |layer: &&LayerExpr| names.layer(&layer.name).is_some_and(|help| help.joins);
    let guest = |layer: &&LayerExpr| {
        names.layer(&layer.name).is_some_and(|help| help.role == LayerRole::Guest)
    };
    match layers.iter().take_while(|layer| !guest(layer)).find(joins) {
        Some(layer) if members.len() > 1 => {
            let why =
                format!("each([..]) is measured bare, and \"{}\" joins its members", layer.name);
            let hint = format!("leave each out: [..] | {layer}");
            Err(TextFault::new(layer.span.clone(), Fault::hint(why, hint)))
        }
        _ => Ok(()),
    }
}

/// Returns the places that are written for the near and the far end of a layer; `None`: none is
/// written.
fn ends(layer: &LayerExpr, names: &StackNames) -> Checked<(Option<Place>, Vec<Place>)> {
    let refused = |fault| TextFault::new(layer.span.clone(), fault);
    let Some(LayerEnds { near, far }) = &layer.place else { return Ok((None, Vec::new())) };
    let mut places: Vec<Place> = Vec::new();
    for name in place::ranges(far)? {
        let place = names.resolve_place(&name.body).map_err(refused)?;
        if places.contains(&place) {
            return Err(refused(Fault::hint(
                format!("@{place} is twice at the far end of \"{}\"", layer.name),
                "name each client once",
            )));
        }
        places.push(place);
    }
    Ok((Some(names.resolve_place(near).map_err(refused)?), places))
}

pub(super) fn known_layer(layer: &LayerExpr, names: &StackNames) -> Checked<&'static LayerHelp> {
    names.layer(&layer.name).ok_or_else(|| {
        let end = layer.span.start + layer.name.len();
        let known: Vec<&str> = layer::layer_names()
            .into_iter()
            .chain(names.tools.keys().map(String::as_str))
            .collect();
        let fault = match alias::suggest_layer(&layer.name) {
            Some(write) => Fault::hint(
                format!("unknown layer \"{}\"", layer.name),
                format!("did you mean {write}? known are {}", known.join(", ")),
            ),
            None => {
                let Fault { why, hint } = Fault::unknown("layer", &layer.name, &known);
                // After a typo the right word is in the hint already.
                let hint = hint.map(|hint| match hint.starts_with("did you mean") {
                    true => hint,
                    false => format!("{hint}, and those that --tool FILE describes"),
                });
                Fault { why, hint }
            }
        };
        TextFault::new(layer.span.start..end, fault)
    })
}

/// Checks that the layer can be used at this position.
fn fits(
    cell: &StackCell,
    help: &LayerHelp,
    layer: &LayerExpr,
    place: Option<&Place>,
) -> Checked<()> {
    let name = help.name;
    let fault = if layer.fanout.is_some_and(|count| count > 1 && help.role != LayerRole::Guest) {
        Fault::hint(
            format!("\"{name}\" is one, and only guests run side by side in this version"),
            "write xN after vm(...), or leave it out",
        )
    } else if cell.layers.iter().any(|below| below.copies > 1 || below.far.len() > 1)
        && help.role == LayerRole::Generator
    {
        Fault::hint(
            "many guests or clients are loaded by iotax's own engines, which begin at one time",
            "leave the engine out",
        )
    } else if !help.fabric && layer.place.as_ref().is_some_and(|ends| !ends.far.is_empty()) {
        Fault::hint(
            format!("\"{name}\" has one end, so it lives in one place"),
            "write one place, as @host",
        )
    } else if let Some(fault) = not_of_fio(cell, help, layer) {
        fault
    } else if let Some(fault) = place.and_then(|place| lives_elsewhere(cell, name, place)) {
        fault
    } else if help.restarts_place && cell.medium.members().iter().any(is_made_elsewhere) {
        Fault::hint(
            format!("\"{name}\" restarts the machine, so iotax cannot create a file (size=) in it"),
            "use a device, or an existing file without size=",
        )
    } else if cell.medium.face() == Face::Place
        && help.role != LayerRole::Null
        && help.role != LayerRole::Guest
    {
        Fault::hint(
            format!(
                "\"{name}\" needs a file or a device below it, and {} is neither",
                cell.medium.medium_text()
            ),
            "only vm and null go on cpu and net",
        )
    } else if help.role == LayerRole::Guest && cell.medium.far_end().is_some_and(Place::is_ssh) {
        Fault::hint(
            "the network of a guest leads to this host and to other guests, and no further",
            "write net:host | vm(net=tap)",
        )
    } else if help.anywhere {
        return Ok(());
    } else if let Some(fault) = not_in_several_places(cell, name) {
        fault
    } else if let Some(fault) = not_on_clients(cell, name) {
        fault
    } else if let Some(fault) = not_on_parts(cell, help, layer) {
        fault
    } else if devices(&cell.medium, &cell.layers).each > 1
        && !help.joins
        && !help.fabric
        && help.role != LayerRole::Guest
    {
        Fault::hint(
            format!("each([..]) is measured bare, and \"{name}\" takes one device"),
            format!(
                "name one medium below \"{name}\", or put a layer that joins several between, as mdraid"
            ),
        )
    } else if cell.medium.agent() == LoadIssuer::Fio {
        Fault::hint(
            format!("\"{name}\" is set up by iotax, and agent=fio runs no iotax there"),
            "leave agent=fio out, or the layer",
        )
    } else if help.role == LayerRole::Guest && !cell.final_place().is_host() {
        Fault::hint(
            format!("guests run on this host only, and what is below is on {}", cell.final_place()),
            "end the stack below the guest",
        )
    } else if help.role == LayerRole::Guest && cell.guest().is_some() {
        Fault::hint("this version cannot put a guest in a guest", "end the stack with the first")
    } else if help.only_here && !cell.final_place().is_host() {
        Fault::hint(
            format!(
                "\"{name}\" is set up on this host only, and what is below is on {}",
                cell.final_place()
            ),
            "name files or devices of this host",
        )
    } else if let Some(fault) = not_in_its_guest(cell, name) {
        fault
    } else if help.below == Face::Block && face(cell) == Face::File {
        Fault::hint(
            format!("\"{name}\" needs a block device below it, and there is a file"),
            "put \"loop\" between them",
        )
    } else {
        return Ok(());
    };
    Err(TextFault::new(layer.span.clone(), fault))
}

/// Returns true for a file that iotax creates on another host.
fn is_made_elsewhere(medium: &Medium) -> bool {
    matches!(medium, Medium::Remote { size: Some(_), .. })
}

/// Refuses a layer on parts of a device unless it joins or exports them, and guests or clients
/// among which the parts or devices below cannot be shared out evenly.
fn not_on_parts(cell: &StackCell, help: &LayerHelp, layer: &LayerExpr) -> Option<Fault> {
    let below = devices(&cell.medium, &cell.layers);
    let (all, guests) = (below.each * below.groups, layer.fanout.unwrap_or(1) as usize);
    if help.fabric {
        let clients = layer.place.as_ref().map_or(0, |ends| ends.far.len()).max(1);
        return (all > 1 && all % clients != 0).then(|| {
            Fault::hint(
                format!("{all} devices below cannot be shared out evenly among {clients} clients"),
                format!("name clients that divide {all}, or split into a multiple of {clients}"),
            )
        });
    }
    if help.role != LayerRole::Guest {
        let parts = Some(below.each).filter(|each| *each > 1 && cell.is_split() && !help.joins)?;
        return Some(Fault::hint(
            format!("\"{}\" takes one device, and there are {parts} parts below it", help.name),
            format!("end the stack with the parts, or put vm x{all} on them"),
        ));
    }
    let what = if cell.is_split() { "parts" } else { "devices" };
    (all % guests != 0 && guests % all != 0).then(|| {
        Fault::hint(
            format!("{all} {what} below cannot be shared out evenly among {guests} of \"vm\""),
            format!(
                "write vm x{all}, one of the {what} for each guest; fewer guests that divide {all} have several disks each, \
                 a multiple of {all} share them"
            ),
        )
    })
}

/// Refuses a layer on members of an `each([..])` in several places. Each of them is loaded as it
/// is.
fn not_in_several_places(cell: &StackCell, name: &str) -> Option<Fault> {
    let places: Vec<String> = cell.medium.places().iter().map(ToString::to_string).collect();
    (places.len() > 1).then(|| {
        Fault::hint(
            format!(
                "each([..]) has members in several places ({}), and \"{name}\" can only be set up in one place",
                places.join(", ")
            ),
            format!("leave \"{name}\" out, or use members that are all in one place"),
        )
    })
}

/// Refuses a layer above an export to several clients, each of which is loaded as it is.
fn not_on_clients(cell: &StackCell, name: &str) -> Option<Fault> {
    let below = cell.layers.iter().find(|layer| layer.far.len() > 1)?;
    Some(Fault::hint(
        format!("\"{name}\" would be set up on {} clients of {}", below.far.len(), below.name),
        format!("put it below {}, or end the stack with {}", below.name, below.name),
    ))
}

/// Refuses other generators and delays if only fio runs the load, since fio holds no I/O back.
fn not_of_fio(cell: &StackCell, help: &LayerHelp, layer: &LayerExpr) -> Option<Fault> {
    let fio = layer.options.iter().flat_map(|option| &option.values).all(|name| name == "fio");
    let other = match help.role {
        LayerRole::Generator => !fio,
        LayerRole::Delay => true,
        _ => false,
    };
    (other && cell.medium.agent() == LoadIssuer::Fio).then(|| {
        Fault::hint(
            format!("\"{}\" needs iotax's own generator, and agent=fio runs only fio", layer.name),
            "leave agent=fio out, or the layer",
        )
    })
}

/// Refuses a layer in a guest that does not boot iotax's own image, which has the programs, or in
/// several guests.
fn not_in_its_guest(cell: &StackCell, name: &str) -> Option<Fault> {
    let guest = cell.guest()?;
    if guest.option("image").is_some() {
        return Some(Fault::hint(
            format!(
                "\"{name}\" cannot be set up in a guest from an image with a system of its own"
            ),
            "leave image= out: our own guests boot what has the programs",
        ));
    }
    (guest.copies > 1).then(|| {
        Fault::hint(
            format!("\"{name}\" would be set up in {} guests", guest.copies),
            "write it above one guest, or end the stack with the guests",
        )
    })
}

/// Refuses a layer that is written in another place than what is below it.
fn lives_elsewhere(cell: &StackCell, name: &str, place: &Place) -> Option<Fault> {
    let below = cell.final_place();
    (*place != below).then(|| {
        Fault::hint(
            format!("\"{name}\" is written @{place}, and what is below it is @{below}"),
            "a layer lives where what is below it does; a fabric leads from one place to another: nvmf(...) @A>@B",
        )
    })
}

fn face(cell: &StackCell) -> Face {
    let mut given = cell.layers.iter().filter_map(LayerSpec::catalog_entry).map(|help| help.gives);
    given.rfind(|face| *face != Face::Any).unwrap_or(cell.medium.face())
}

type Choice = BTreeMap<String, String>;

/// Returns the options of a layer, once for each combination of their values.
fn layer_choices(help: &LayerHelp, layer: &LayerExpr) -> Checked<Vec<Choice>> {
    let mut choices = vec![Choice::new()];
    for option in &layer.options {
        let (name, values) = option_values(help, option)?;
        if choices[0].contains_key(&name) {
            let fault =
                Fault::new(format!("option \"{name}\" of \"{}\" is written twice", help.name));
            return Err(TextFault::new(option.span.clone(), fault));
        }
        if choices.len() * values.len() > MOST_CELLS {
            let fault = Fault::hint(
                format!("the grid has more than {MOST_CELLS} stacks"),
                "write fewer values in [...]",
            );
            return Err(TextFault::new(layer.span.clone(), fault));
        }
        choices = crossed(&choices, &name, &values);
    }
    wants_one_of(help, &choices[0]).map_err(|fault| TextFault::new(layer.span.clone(), fault))?;
    Ok(choices)
}

fn crossed(choices: &[Choice], name: &str, values: &[String]) -> Vec<Choice> {
    let with = |choice: &Choice, value: &String| {
        let mut choice = choice.clone();
        choice.insert(name.to_owned(), value.clone());
        choice
    };
    choices.iter().flat_map(|choice| values.iter().map(move |value| with(choice, value))).collect()
}

fn option_values(help: &LayerHelp, option: &OptionExpr) -> Checked<(String, Vec<String>)> {
    let at = |fault| TextFault::new(option.span.clone(), fault);
    let (key, values) = keyed(help, option).map_err(at)?;
    let known: Vec<&str> = help.options.iter().map(|option| option.name).collect();
    let def = help.option(&key).ok_or_else(|| at(unknown_option(help, &key, &known)))?;
    let mut checked: Vec<String> = Vec::new();
    for value in &values {
        let value = def.check_value(value).map_err(|fault| {
            let meant =
                alias::suggest_value(help, value).map(|write| format!("did you mean {write}?"));
            at(Fault {
                why: format!("option \"{key}\": {}", fault.why),
                hint: meant.or(fault.hint),
            })
        })?;
        if checked.contains(&value) {
            return Err(at(Fault::new(format!(
                "option \"{key}\": \"{value}\" is listed twice in the grid"
            ))));
        }
        checked.push(value);
    }
    Ok((def.name.to_owned(), checked))
}

fn unknown_option(help: &LayerHelp, key: &str, known: &[&str]) -> Fault {
    if known.is_empty() {
        return Fault::new(format!("\"{}\" takes no options, got \"{key}\"", help.name));
    }
    Fault::unknown(&format!("option of \"{}\":", help.name), key, known)
}

/// Returns the key and the values of an option. A lone word is a flag, or the value of the
/// positional option.
fn keyed(help: &LayerHelp, option: &OptionExpr) -> Result<(String, Vec<String>), Fault> {
    if let Some(key) = &option.key {
        return Ok((key.clone(), option.values.clone()));
    }
    let word = option.values.join(",");
    match (help.option(&word), help.positional) {
        (Some(def), _) if def.kind == OptionKind::Flag => Ok((word, vec!["true".to_owned()])),
        (Some(def), _) => Err(Fault::hint(
            format!("option \"{word}\" without a value"),
            format!("write {}=...", def.name),
        )),
        (None, Some(positional)) => Ok((positional.to_owned(), vec![word])),
        (None, None) => {
            let known: Vec<&str> = help.options.iter().map(|option| option.name).collect();
            let fault = unknown_option(help, &word, &known);
            let meant = alias::lone_word(help, &word).map(|write| format!("did you mean {write}?"));
            Err(Fault { hint: meant.or(fault.hint), ..fault })
        }
    }
}

fn wants_one_of(help: &LayerHelp, choice: &Choice) -> Result<(), Fault> {
    let given = help.one_of.iter().filter(|name| choice.contains_key(**name)).count();
    if help.one_of.is_empty() || given == 1 {
        return Ok(());
    }
    let fault = match given {
        0 => format!("\"{}\" without {}", help.name, help.one_of.join(" or ")),
        _ => format!("\"{}\" takes only one of {}", help.name, help.one_of.join(", ")),
    };
    Err(Fault::hint(fault, format!("write for example {}", help.example)))
}

impl Medium {
    /// Returns the medium as the one-line grammar writes it. A list has neither its `each(...)` nor
    /// the place that all of its drives are in.
    pub fn medium_text(&self) -> String {
        let size = |size: &Option<u64>| {
            size.map(|bytes| format!(",size={}", exact_size(bytes))).unwrap_or_default()
        };
        match self {
            Medium::File { path, size: bytes, keep } => {
                let keep = if *keep { ",keep=true" } else { "" };
                format!("file:{}{}{keep}", quote(&path.to_string_lossy(), &[]), size(bytes))
            }
            Medium::Device { path } => quote(&path.to_string_lossy(), &[]),
            Medium::Remote { host, path, size: bytes, keep, agent } => {
                let agent = if *agent == LoadIssuer::Fio { ",agent=fio" } else { "" };
                let keep = if *keep { ",keep=true" } else { "" };
                format!(
                    "ssh:{}{}{keep}{agent}",
                    quote(&format!("{host}:{}", path.display()), &[]),
                    size(bytes)
                )
            }
            Medium::Drive { place, name } => format!("{name} @{place}"),
            Medium::Cpu { place: Place::Host } => "cpu".to_owned(),
            Medium::Cpu { place } => format!("cpu @{place}"),
            Medium::Net { place, to, address, port } => {
                let address =
                    address.map(|address| format!(",address={address}")).unwrap_or_default();
                let port = port.map(|port| format!(",port={port}")).unwrap_or_default();
                let at = if place.is_host() { String::new() } else { format!(" @{place}") };
                format!("net:{to}{address}{port}{at}")
            }
            Medium::Rbd { pool, image, conf } => {
                let conf = match conf.to_str() {
                    Some(USUAL_CEPH_CONF) => String::new(),
                    _ => format!("@{}", conf.display()),
                };
                format!("rbd:{}", quote(&format!("{pool}/{image}{conf}"), &[]))
            }
            Medium::VhostUser { path } => {
                format!("vhost-user:{}", quote(&path.to_string_lossy(), &[]))
            }
            Medium::Many { members, .. } => {
                // The place of drives applies to the whole list, unless there are other places in
                // it.
                let in_one = self.places().len() == 1;
                let text = |member: &Medium| match member {
                    Medium::Drive { name, .. } if in_one => name.clone(),
                    other => other.medium_text(),
                };
                let list = |members: &[Medium]| {
                    format!("[{}]", members.iter().map(text).collect::<Vec<_>>().join(","))
                };
                match self.list_count() {
                    1 => list(members),
                    groups => {
                        let lists: Vec<String> =
                            members.chunks(members.len() / groups).map(list).collect();
                        format!("[{}]", lists.join(","))
                    }
                }
            }
        }
    }
}

/// Returns true if the medium is several media and the lowest layer that makes a device does not
/// join them.
fn is_each(medium: &Medium, layers: &[LayerSpec]) -> bool {
    let first =
        layers.iter().find(|layer| !layer.works_anywhere()).and_then(LayerSpec::catalog_entry);
    matches!(medium, Medium::Many { .. }) && !first.is_some_and(|help| help.joins)
}

/// Devices that layers have made of media.
#[derive(Clone, Copy)]
struct Devices {
    /// Number of devices side by side: in one list of media or, above a guest layer or an export,
    /// in one guest or client.
    each: usize,
    /// Number of lists of media, on each of which the same layers are made. Guests share the
    /// devices of all lists as one pool; above them it is 1.
    groups: usize,
}

impl Devices {
    fn from_medium(medium: &Medium) -> Devices {
        let groups = medium.list_count();
        Devices { each: medium.members().len() / groups, groups }
    }

    /// Returns the devices after a layer is put on them.
    fn with_layer(self, layer: &LayerSpec) -> Devices {
        let Some(help) = layer.catalog_entry() else {
            // A layer of a later version is known only to be on all of them.
            return Devices { each: 1, ..self };
        };
        if help.anywhere {
            return self;
        }
        let parts = help.splits.and_then(|option| layer.option(option)?.parse().ok());
        match parts {
            _ if help.role == LayerRole::Guest => {
                let each = (self.each * self.groups / layer.copies.max(1) as usize).max(1);
                Devices { each, groups: 1 }
            }
            _ if layer.far.len() > 1 => {
                Devices { each: (self.each * self.groups / layer.far.len()).max(1), groups: 1 }
            }
            Some(each) => Devices { each, ..self },
            None if help.joins => Devices { each: 1, ..self },
            None => self,
        }
    }
}

fn devices(medium: &Medium, layers: &[LayerSpec]) -> Devices {
    layers.iter().fold(Devices::from_medium(medium), Devices::with_layer)
}

/// Returns the number of parts into which the last layer that makes a device splits what is below
/// it; `None` if it does not split.
pub(super) fn split_parts(layers: &[LayerSpec]) -> Option<usize> {
    let last = layers.iter().rfind(|layer| !layer.works_anywhere())?;
    last.option(last.catalog_entry()?.splits?)?.parse().ok()
}

/// Returns the number of targets that are loaded at once in each guest, or without a guest in all:
/// media that nothing joins, parts, arrays, or disks. `None`: a single one that is not of an
/// `each([..])`.
fn loaded_at_once(medium: &Medium, layers: &[LayerSpec]) -> Option<usize> {
    let Devices { each, groups } = devices(medium, layers);
    let is_each =
        matches!(medium, Medium::Many { .. }) && layers.iter().all(LayerSpec::works_anywhere);
    Some(each * groups).filter(|all| is_each || *all > 1)
}

impl Stack {
    /// Returns the number of targets on which every job runs at the same time, in each guest if
    /// there are several: members of an `each([..])`, parts of a device, arrays, or disks. `None`:
    /// the load has one target.
    pub fn loaded_at_once(&self) -> Option<usize> {
        match self.by_hand.len() / self.far_clients() as usize {
            0 => loaded_at_once(&self.medium, &self.layers),
            disks => Some(disks).filter(|disks| *disks > 1),
        }
    }

    /// Returns true if the topmost layer that makes a device splits it into parts.
    pub fn is_split(&self) -> bool {
        split_parts(&self.layers).is_some()
    }

    /// Returns the layers, each with the number of devices side by side below it: in one list of
    /// media or, above a guest layer, in one guest.
    pub fn layers_with_members(&self) -> impl Iterator<Item = (&LayerSpec, usize)> {
        let mut devices = Devices::from_medium(&self.medium);
        self.layers.iter().map(move |layer| {
            let below = devices;
            devices = below.with_layer(layer);
            (layer, below.each)
        })
    }

    /// Returns the number of targets that the load has at the same time, over all guests or
    /// clients.
    pub fn target_count(&self) -> u64 {
        u64::from(self.guests() * self.far_clients()) * self.loaded_at_once().unwrap_or(1) as u64
    }

    /// Returns the choice that makes a layer acknowledge flushes without doing them:
    /// `zfs(sync=disabled)`. `None`: all layers do them.
    pub fn drops_flushes(&self) -> Option<String> {
        self.layers.iter().find_map(|layer| {
            let (option, value) = layer
                .catalog_entry()?
                .drops_flushes
                .iter()
                .find(|(option, value)| layer.option(option) == Some(value))?;
            Some(format!("{}({option}={value})", layer.name))
        })
    }

    /// Returns the remarks on choices of the layers that a reader of a report must know.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        self.layers.iter().flat_map(|layer| {
            let notes = layer.catalog_entry().map_or(&[][..], |help| help.notes);
            // The note of a tool applies to every choice.
            let chosen = |(option, value, _): &&(&str, &str, &str)| {
                option.is_empty() || layer.option(option) == Some(value)
            };
            notes.iter().filter(chosen).map(|(_, _, note)| *note)
        })
    }
}

/// Formats bytes in the largest unit that keeps them whole.
fn exact_size(bytes: u64) -> String {
    let unit = [("TiB", 1u64 << 40), ("GiB", units::GIB), ("MiB", units::MIB), ("KiB", units::KIB)]
        .into_iter()
        .find(|(_, factor)| bytes % factor == 0);
    unit.map_or_else(|| format!("{bytes}B"), |(name, factor)| format!("{}{name}", bytes / factor))
}

impl LayerSpec {
    /// Returns the layer as the one-line grammar writes it, with the options that were written. The
    /// socket of a guest is left out, because the medium below names it.
    pub fn layer_text(&self) -> String {
        // The medium below already names the socket.
        let written = self
            .options
            .iter()
            .filter(|(key, _)| *key != vm::SOCKET || !self.has_role(LayerRole::Guest));
        let options: Vec<String> =
            written.map(|(key, value)| self.option_text(key, value)).collect();
        let options =
            if options.is_empty() { String::new() } else { format!("({})", options.join(",")) };
        let far = far_text(&self.far);
        let place = self.place.as_ref().map(|place| format!(" @{place}{far}")).unwrap_or_default();
        let copies = if self.copies > 1 { format!(" x{}", self.copies) } else { String::new() };
        format!("{}{options}{place}{copies}", self.name)
    }

    pub(super) fn option_text(&self, key: &str, value: &str) -> String {
        let help = self.catalog_entry();
        let lone = help.is_some_and(|help| {
            help.positional == Some(key)
                && help.option(key).is_some_and(|def| matches!(def.kind, OptionKind::Word(_)))
        });
        if lone { quote(value, &['=']) } else { format!("{key}={}", quote(value, &[])) }
    }
}

impl StackCell {
    /// Returns the canonical one-line form, which parses to the same stack.
    pub fn cell_text(&self) -> String {
        let layers = self.layers.iter().map(LayerSpec::layer_text);
        let medium = match self.medium.list_count() > 1 || is_each(&self.medium, &self.layers) {
            true => format!("each({})", self.medium.medium_text()),
            false => self.medium.medium_text(),
        };
        let of_drives = |members: &[Medium]| matches!(members, [Medium::Drive { .. }, ..]);
        let of_many = matches!(&self.medium, Medium::Many { members, .. } if of_drives(members))
            && self.medium.places().len() == 1;
        let medium = if of_many { format!("{medium} @{}", self.medium.place()) } else { medium };
        std::iter::once(medium).chain(layers).collect::<Vec<_>>().join(" | ")
    }

    /// Returns the place in which the stack can be used: the last place that a layer leads to.
    fn final_place(&self) -> Place {
        let far = self.layers.iter().rev().find_map(|layer| layer.far.first().cloned());
        far.unwrap_or_else(|| self.medium.place())
    }

    pub(super) fn loaded_at_once(&self) -> Option<usize> {
        loaded_at_once(&self.medium, &self.layers)
    }

    fn is_split(&self) -> bool {
        split_parts(&self.layers).is_some()
    }

    fn guest(&self) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.has_role(LayerRole::Guest))
    }

    pub fn into_stack(self, name: String, own: bool) -> Stack {
        Stack {
            name,
            text: self.cell_text(),
            medium: self.medium,
            layers: self.layers,
            own,
            by_hand: Vec::new(),
            state: None,
        }
    }
}
