//! Names, options and meaning of each layer, with one file and one entry in [`ALL`] per layer. The
//! checks of scenarios, `doctor`, the analysis and the reports read them. The crate `layers` sets
//! the layers up.

pub mod alias;
pub mod bcache;
pub mod ceph;
pub mod comparable;
pub mod delay;
pub mod domain;
pub mod engine;
pub mod fabric;
pub mod fio_rbd;
pub mod fs;
pub mod iscsi;
pub mod krbd;
pub mod layout;
pub mod librbd;
pub mod linear;
pub mod loopdev;
pub mod lvm;
pub mod mdraid;
pub mod nbd;
pub mod null;
pub mod nvmf;
mod option;
pub mod partition;
pub mod rados;
pub mod readahead;
pub mod spdk;
pub mod split;
pub mod tool;
pub mod vm;
pub mod zfs;

pub use option::{OptionDef, OptionKind, microseconds_as_ns, option, percent_as_ppm};

use crate::stack::{Face, LayerRole, LayerSpec, Stack};
use comparable::Comparable;
use iotax_facts::need::Requirement;
use iotax_units::parse_bytes;
use layout::Join;

pub const ALL: &[LayerHelp] = &[
    loopdev::HELP,
    partition::HELP,
    split::HELP,
    linear::HELP,
    mdraid::HELP,
    lvm::HELP,
    bcache::HELP,
    readahead::HELP,
    zfs::HELP,
    fs::HELP,
    spdk::HELP,
    ceph::HELP,
    delay::HELP,
    vm::HELP,
    librbd::HELP,
    krbd::HELP,
    rados::HELP,
    fio_rbd::HELP,
    domain::HELP,
    null::HELP,
    engine::HELP,
    nvmf::HELP,
    iscsi::HELP,
    nbd::HELP,
];

#[derive(Debug)]
pub struct LayerHelp {
    pub name: &'static str,
    /// Names that other tools use for the layer: the word in lower case, and the spelling here that
    /// errors suggest for it.
    pub elsewhere: &'static [(&'static str, &'static str)],
    pub values_elsewhere: &'static [(&'static str, &'static str)],
    /// Valid stack that contains the layer, for errors and hints.
    pub example: &'static str,
    pub options: &'static [OptionDef],
    /// Option that a lone word sets, as in `fs(xfs)`.
    pub positional: Option<&'static str>,
    /// Options of which exactly one must be written, unless the list is empty.
    pub one_of: &'static [&'static str],
    pub role: LayerRole,
    pub below: Face,
    pub gives: Face,
    /// True if the load generator itself implements the layer, so it also works in a guest and over
    /// SSH.
    pub anywhere: bool,
    /// True if the layer makes one device of several.
    pub joins: bool,
    /// True if the layer has two ends, which may be in two places.
    pub fabric: bool,
    pub only_here: bool,
    /// True if the layer shuts down and starts the machine that it is in, from this host.
    pub restarts_place: bool,
    /// Storage without a kernel device (such as an SPDK bdev) that the layer accepts below it, each
    /// with an option and the values of this option that are needed for it.
    pub over: &'static [(Face, &'static str, &'static [&'static str])],
    /// Each stack on top of the layer gets a part of its own, so such stacks do not share storage.
    pub gives_parts: bool,
    /// Option that says how many devices, loaded at once, the layer makes of one.
    pub splits: Option<&'static str>,
    /// Layout of data over the drives that the layer joins; `None`: it joins none, or the layout is
    /// unknown.
    pub layout: Option<Join>,
    /// Function that returns how many members may fail without loss of data, for a number of
    /// members.
    pub redundancy: fn(&LayerSpec, usize) -> u32,
    /// States of an array whose members fail; `None`: the layer has no states.
    pub states: Option<States>,
    /// Function that returns the size in bytes of the unit that the layer reads from below; `None`:
    /// it reads what is asked for.
    pub block: Option<fn(&LayerSpec) -> u64>,
    /// Cache in memory below the load, which direct I/O does not bypass.
    pub memory_cache: Option<MemoryCache>,
    /// Name of the layer's read cache, for messages; `None`: it has no read cache of its own.
    pub caches_reads: Option<&'static str>,
    /// True if the layer changes only what goes through a page cache.
    pub only_buffered: bool,
    /// I/O that the layer adds to the I/O it is given, for messages; `None` if it only passes I/O
    /// on.
    pub adds_io: Option<&'static str>,
    pub in_flight: Option<InFlight>,
    /// Settings that must be equal on both sides of a comparison unless they are what is compared.
    pub comparable: &'static [Comparable],
    /// Remarks that a reader of a report must know: an option, its value at which the remark
    /// applies, and the remark as a clause. Empty option and value: the remark always applies.
    pub notes: &'static [(&'static str, &'static str, &'static str)],
    /// Options, each with a value at which the layer acknowledges a flush without doing it.
    pub drops_flushes: &'static [(&'static str, &'static str)],
    /// Capabilities of the layer that `doctor` lists.
    pub capabilities: &'static [Capability],
    /// Programs and kernel modules that the layer or one of its options needs and that no other
    /// layer listed already.
    pub requires: &'static [Requirement],
    /// Programs whose versions are recorded with a result.
    pub programs: &'static [&'static str],
}

/// Something that iotax can measure on a machine that meets its needs.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    pub name: &'static str,
    pub what: &'static str,
    /// Example stack whose needs are those of the capability; empty if [`Self::more`] lists all of
    /// them.
    pub stack: &'static str,
    /// Ids of needs that the example stack does not have.
    pub more: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub struct States {
    pub source: &'static str,
    /// Kinds of the layer that have states, as hints show them.
    pub of: &'static str,
    /// True if a member can be out: it still serves its data while others receive copies of them.
    pub out: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct MemoryCache {
    pub name: &'static str,
    /// Option and value with which the cache keeps data.
    pub keeps: (&'static str, &'static str),
    pub limit: &'static str,
    /// Divisor for the cache's limit if the option `limit` is not written: the machine's memory
    /// divided by this.
    pub usual_share: u64,
    /// Advice if the cache has room for all data.
    pub hint: &'static str,
}

/// Options that limit the commands that an initiator has in flight at its target.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// Option that sets the limit per queue.
    pub option: &'static str,
    /// The option that sets the number of queues. If it is not written, or the layer has no such
    /// option, there is one queue per processor; `None`: there is a single queue.
    pub queues: Option<&'static str>,
}

impl LayerHelp {
    /// Defaults for the entry of a layer that is on one block device, gives one, and is in one
    /// place.
    pub const PLAIN: LayerHelp = LayerHelp {
        name: "",
        elsewhere: &[],
        values_elsewhere: &[],
        example: "",
        options: &[],
        positional: None,
        one_of: &[],
        role: LayerRole::Storage,
        below: Face::Block,
        gives: Face::Block,
        anywhere: false,
        joins: false,
        fabric: false,
        only_here: false,
        restarts_place: false,
        over: &[],
        gives_parts: false,
        splits: None,
        layout: None,
        redundancy: |_, _| 0,
        states: None,
        block: None,
        memory_cache: None,
        caches_reads: None,
        only_buffered: false,
        adds_io: None,
        in_flight: None,
        comparable: &[],
        notes: &[],
        drops_flushes: &[],
        capabilities: &[],
        requires: &[],
        programs: &[],
    };

    /// Returns the option that has `word` as its name or an alias.
    pub fn option(&self, word: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|option| option.name == word || option.aliases.contains(&word))
    }
}

impl Capability {
    /// Returns a capability whose needs are those of an example stack.
    pub const fn needing(
        name: &'static str,
        what: &'static str,
        stack: &'static str,
    ) -> Capability {
        Capability { name, what, stack, more: &[] }
    }

    /// Returns a capability whose needs are listed by their ids instead of by an example stack.
    pub const fn with_need_ids(
        name: &'static str,
        what: &'static str,
        more: &'static [&'static str],
    ) -> Capability {
        Capability { name, what, stack: "", more }
    }
}

pub fn find_layer(name: &str) -> Option<&'static LayerHelp> {
    ALL.iter().find(|layer| layer.name == name)
}

pub fn programs() -> Vec<String> {
    let of_layers = ALL.iter().flat_map(|layer| layer.programs).copied();
    std::iter::once("ssh").chain(of_layers).map(str::to_owned).collect()
}

pub fn layer_names() -> Vec<&'static str> {
    ALL.iter().map(|layer| layer.name).collect()
}

/// Returns the layers that have states, for hints: `mdraid (1, 5), zfs (mirror) and spdk (raid1)`.
pub fn with_states() -> String {
    let all = ALL.iter().filter_map(|layer| Some(format!("{} ({})", layer.name, layer.states?.of)));
    let all: Vec<String> = all.collect();
    all.split_last()
        .map_or_else(String::new, |(last, first)| format!("{} and {last}", first.join(", ")))
}

impl LayerSpec {
    /// Returns the entry of the layer, for a tool the one derived from its description. `None`:
    /// this version has no such layer (a stored run of another version may).
    pub fn catalog_entry(&self) -> Option<&'static LayerHelp> {
        self.tool.as_ref().map_or_else(|| find_layer(&self.name), |tool| Some(tool.tool_help()))
    }

    pub fn has_role(&self, role: LayerRole) -> bool {
        self.catalog_entry().is_some_and(|help| help.role == role)
    }

    /// Returns true if the load generator itself implements the layer, so it works in every place.
    pub fn works_anywhere(&self) -> bool {
        self.catalog_entry().is_some_and(|help| help.anywhere)
    }

    /// Returns the value of an option: the written one, else its default, which counts only if the
    /// other option that it requires has its value.
    pub fn option(&self, name: &str) -> Option<&str> {
        let written = self.options.get(name).map(String::as_str);
        written.or_else(|| {
            let known = self.catalog_entry()?.option(name)?;
            let means_something =
                known.only_with.is_none_or(|(other, value)| self.option(other) == Some(value));
            known.default.filter(|_| means_something)
        })
    }

    /// Returns the value of an option as a whole number; `None` also if it is not a number.
    pub fn option_number(&self, name: &str) -> Option<u64> {
        self.option(name)?.parse().ok()
    }

    /// Returns the value of an option in bytes; `None` also if it is not a size.
    pub fn option_bytes(&self, name: &str) -> Option<u64> {
        parse_bytes(self.option(name)?).ok()
    }

    pub fn survivable_failures(&self, members: usize) -> u32 {
        self.catalog_entry().map_or(0, |help| (help.redundancy)(self, members))
    }
}

impl Stack {
    pub fn guest(&self) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.has_role(LayerRole::Guest))
    }

    /// Returns the topmost layer that names a load generator.
    pub fn generator(&self) -> Option<&LayerSpec> {
        self.layers.iter().rev().find(|layer| layer.has_role(LayerRole::Generator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_sound() {
        let names: BTreeSet<_> = layer_names().into_iter().collect();
        assert_eq!(names.len(), ALL.len(), "names are unique");
        for layer in ALL {
            assert!(layer.example.contains(&format!("| {}", layer.name)), "{}", layer.name);
            assert!(
                layer.positional.is_none_or(|name| layer.option(name).is_some()),
                "{}",
                layer.name
            );
            assert!(layer.one_of.iter().all(|name| layer.option(name).is_some()), "{}", layer.name);
            assert_eq!(
                layer.gives == Face::Any,
                layer.anywhere,
                "{} passes its target on",
                layer.name
            );
            for (option, value, note) in layer.notes {
                assert!(
                    layer.option(option).is_some_and(|known| known.check_value(value).is_ok()),
                    "{option}={value}"
                );
                assert!(!note.is_empty(), "{} {option}={value}", layer.name);
            }
            for (option, value) in layer.drops_flushes {
                let known =
                    layer.option(option).is_some_and(|known| known.check_value(value).is_ok());
                assert!(known, "{option}={value}");
                let is_noted = layer.notes.iter().any(|note| (&note.0, &note.1) == (option, value));
                assert!(is_noted, "{} {option}={value} is nowhere told", layer.name);
            }
            assert!(layer.splits.is_none_or(|name| layer.option(name).is_some()), "{}", layer.name);
            for option in layer.options {
                if let Some(default) = option.default {
                    assert_eq!(
                        option.check_value(default).as_deref(),
                        Ok(default),
                        "{} {}",
                        layer.name,
                        option.name
                    );
                }
            }
        }
    }
}
