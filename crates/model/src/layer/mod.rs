//! What each layer is called, takes and means, one file and one entry in [`ALL`] each: read by the
//! checks of scenarios, by `doctor`, by the analysis and by the reports. How a layer is set up is
//! in the crate `layers`.

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
pub mod spdk;
pub mod split;
pub mod tool;
pub mod vm;
pub mod zfs;

pub use option::{OptionDef, OptionKind, microseconds_as_ns, option, percent_as_ppm};

use crate::scenario::{LayerSpec, Stack};
use comparable::Comparable;
use iotax_facts::need::Requirement;
use iotax_units::parse_bytes;
use layout::Join;

/// Every layer of this version.
pub const ALL: &[LayerHelp] = &[
    loopdev::HELP,
    partition::HELP,
    split::HELP,
    linear::HELP,
    mdraid::HELP,
    lvm::HELP,
    bcache::HELP,
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

/// What a layer is on, and what it gives to the one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Block,
    File,
    /// A bdev of an SPDK target, which no kernel has.
    Bdev,
    /// A pool of a Ceph cluster, or an image in it, which no kernel has.
    Rbd,
    /// A vhost-user socket, which only a guest can use as a disk.
    VhostUser,
    /// What fio reaches as a client itself: no layer goes on it.
    Client,
    /// A place without a device: only a guest goes on it.
    Place,
    /// Needs: device or file. Gives: what it got.
    Any,
}

/// What a layer is to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerRole {
    /// Storage that the load is on.
    Storage,
    /// A guest, in which the load runs.
    Guest,
    /// Another load generator on the same storage.
    Generator,
    /// The generator holds each I/O back.
    Delay,
    /// Nothing: two stacks that differ in it alone are the same.
    Null,
}

#[derive(Debug)]
pub struct LayerHelp {
    pub name: &'static str,
    /// What people call it elsewhere: the word in small letters, and what is written here. Errors
    /// offer that.
    pub elsewhere: &'static [(&'static str, &'static str)],
    pub values_elsewhere: &'static [(&'static str, &'static str)],
    /// A stack with it that parses.
    pub example: &'static str,
    /// All of its options.
    pub options: &'static [OptionDef],
    /// The option that a lone word sets, as `fs(xfs)`.
    pub positional: Option<&'static str>,
    /// Exactly one of these is written, unless empty.
    pub one_of: &'static [&'static str],
    /// What it is to the load.
    pub role: LayerRole,
    /// What it is on.
    pub below: Face,
    pub gives: Face,
    /// It lives in the load generator, so it works in a guest and over ssh too.
    pub anywhere: bool,
    /// It makes one device of several.
    pub joins: bool,
    /// It has two ends, which may be in two places.
    pub fabric: bool,
    /// It can be set up on this host only.
    pub only_here: bool,
    /// The place that it is in is shut down and started by it, from this host.
    pub restarts_place: bool,
    /// What no kernel has and it can stand on all the same: by which option, with which values.
    pub over: &'static [(Face, &'static str, &'static [&'static str])],
    /// Each layer on it gets an equal part of its own, and so stacks on it do not meet there.
    pub gives_parts: bool,
    /// The option that says in how many devices, loaded at once, it makes of one.
    pub splits: Option<&'static str>,
    /// How it lays data over the drives that it joins; `None`: it joins none, or nobody knows.
    pub layout: Option<Join>,
    /// How many of so many members may fail before data are lost.
    pub redundancy: fn(&LayerSpec, usize) -> u32,
    /// The states that its members go through when some fail; `None`: it has none.
    pub states: Option<States>,
    /// Bytes that it reads from what is below as a whole.
    pub block: Option<fn(&LayerSpec) -> u64>,
    /// A cache in memory below the load, which no direct I/O passes by.
    pub memory_cache: Option<MemoryCache>,
    /// The name of its read cache, for messages; `None`: it has no read cache of its own.
    pub caches_reads: Option<&'static str>,
    /// I/O that the layer adds to the I/O it is given, for messages; `None` if it only passes I/O
    /// on.
    pub adds_io: Option<&'static str>,
    /// Commands that its initiator has at its target at one time.
    pub in_flight: Option<InFlight>,
    /// Settings that must be the same on both sides of a comparison of something else.
    pub comparable: &'static [Comparable],
    /// What a reader of a report must know of a choice: option, value, a clause.
    pub notes: &'static [(&'static str, &'static str, &'static str)],
    /// Choices by which it acknowledges a flush and does nothing: option, value.
    pub drops_flushes: &'static [(&'static str, &'static str)],
    /// What `doctor` lists of it.
    pub capabilities: &'static [Capability],
    /// Programs and modules of the kernel that it or one of its options needs, and no other layer
    /// brought along.
    pub requires: &'static [Requirement],
    /// Programs whose version belongs to a result.
    pub programs: &'static [&'static str],
}

/// Something that iotax can measure where a machine has what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    pub name: &'static str,
    pub what: &'static str,
    /// A stack whose own needs it has; empty for none.
    pub stack: &'static str,
    /// Further ids of needs.
    pub more: &'static [&'static str],
}

/// States of what can lose members.
#[derive(Clone, Copy, Debug)]
pub struct States {
    pub source: &'static str,
    /// Which of its kinds have them, for people.
    pub of: &'static str,
    /// Whether a member can be out: it serves what it holds while others get it.
    pub out: bool,
}

/// A cache of a layer's own in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCache {
    /// What people call it.
    pub name: &'static str,
    /// It keeps data with this option at this value.
    pub keeps: (&'static str, &'static str),
    /// The option that limits it.
    pub limit: &'static str,
    /// Where none is written it may hold this part of the memory, one in so many.
    pub usual_share: u64,
    /// What to do where it has room for all data.
    pub hint: &'static str,
}

/// Commands that an initiator has at its target at one time.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// The option, of each queue.
    pub option: &'static str,
    /// The option that sets the number of queues. If it is not written, or the layer has no such
    /// option, there is one queue per processor; `None`: there is a single queue.
    pub queues: Option<&'static str>,
}

impl LayerHelp {
    /// What a layer is that says nothing else: on one block device, giving one, in one place.
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
        adds_io: None,
        in_flight: None,
        comparable: &[],
        notes: &[],
        drops_flushes: &[],
        capabilities: &[],
        requires: &[],
        programs: &[],
    };

    /// The option of that name or alias.
    pub fn option(&self, word: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|option| option.name == word || option.aliases.contains(&word))
    }
}

impl Capability {
    /// What that stack needs.
    pub const fn needing(
        name: &'static str,
        what: &'static str,
        stack: &'static str,
    ) -> Capability {
        Capability { name, what, stack, more: &[] }
    }

    /// What no one stack needs.
    pub const fn listed(
        name: &'static str,
        what: &'static str,
        more: &'static [&'static str],
    ) -> Capability {
        Capability { name, what, stack: "", more }
    }
}

/// The layer of that name.
pub fn find(name: &str) -> Option<&'static LayerHelp> {
    ALL.iter().find(|layer| layer.name == name)
}

/// Programs whose versions belong to a result.
pub fn programs() -> Vec<String> {
    let of_layers = ALL.iter().flat_map(|layer| layer.programs).copied();
    std::iter::once("ssh").chain(of_layers).map(str::to_owned).collect()
}

/// The names of all layers, in the order of the table.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|layer| layer.name).collect()
}

/// The layers that have states, for hints: `mdraid (1, 5), zfs (mirror) and spdk (raid1)`.
pub fn with_states() -> String {
    let all = ALL.iter().filter_map(|layer| Some(format!("{} ({})", layer.name, layer.states?.of)));
    let all: Vec<String> = all.collect();
    all.split_last()
        .map_or_else(String::new, |(last, first)| format!("{} and {last}", first.join(", ")))
}

impl LayerSpec {
    /// What is known of its layer; `None`: this version has no such layer (a stored run of another
    /// may).
    pub fn help(&self) -> Option<&'static LayerHelp> {
        self.tool.as_ref().map_or_else(|| find(&self.name), |tool| Some(tool.help()))
    }

    /// Whether its layer has that part.
    pub fn is(&self, role: LayerRole) -> bool {
        self.help().is_some_and(|help| help.role == role)
    }

    /// Whether it lives in the load generator, and so in every place.
    pub fn works_anywhere(&self) -> bool {
        self.help().is_some_and(|help| help.anywhere)
    }

    /// The value of an option: what was written, or its default.
    pub fn option(&self, name: &str) -> Option<&str> {
        let written = self.options.get(name).map(String::as_str);
        written.or_else(|| {
            let known = self.help()?.option(name)?;
            let means_something =
                known.only_with.is_none_or(|(other, value)| self.option(other) == Some(value));
            known.default.filter(|_| means_something)
        })
    }

    /// The same as a whole number; `None` where it is none, too.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.option(name)?.parse().ok()
    }

    /// The same in bytes; `None` where it is no size, too.
    pub fn size(&self, name: &str) -> Option<u64> {
        parse_bytes(self.option(name)?).ok()
    }

    /// How many of so many members may fail before data are lost.
    pub fn redundancy(&self, members: usize) -> u32 {
        self.help().map_or(0, |help| (help.redundancy)(self, members))
    }
}

impl Stack {
    pub fn guest(&self) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.is(LayerRole::Guest))
    }

    /// The generator that its layers name, the last of them.
    pub fn generator(&self) -> Option<&LayerSpec> {
        self.layers.iter().rev().find(|layer| layer.is(LayerRole::Generator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_sound() {
        let names: BTreeSet<_> = names().into_iter().collect();
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
                    layer.option(option).is_some_and(|known| known.check(value).is_ok()),
                    "{option}={value}"
                );
                assert!(!note.is_empty(), "{} {option}={value}", layer.name);
            }
            for (option, value) in layer.drops_flushes {
                let known = layer.option(option).is_some_and(|known| known.check(value).is_ok());
                assert!(known, "{option}={value}");
                let is_noted = layer.notes.iter().any(|note| (&note.0, &note.1) == (option, value));
                assert!(is_noted, "{} {option}={value} is nowhere told", layer.name);
            }
            assert!(layer.splits.is_none_or(|name| layer.option(name).is_some()), "{}", layer.name);
            for option in layer.options {
                if let Some(default) = option.default {
                    assert_eq!(
                        option.check(default).as_deref(),
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
