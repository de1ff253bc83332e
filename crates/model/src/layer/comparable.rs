//! Settings that must be the same on both sides of a comparison of something else. One concept has
//! many names, an option of a layer's own each.

use crate::scenario::{LayerSpec, Stack};

/// How one side has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// In the layer's own words.
    pub said: String,
    /// What is the same where it is the same.
    pub value: String,
}

impl Setting {
    /// Both as text; it is always something.
    pub fn named(said: impl Into<String>, value: impl ToString) -> Option<Setting> {
        Some(Setting { said: said.into(), value: value.to_string() })
    }
}

/// What must be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concept {
    /// What carries a fabric.
    Transport,
    /// A page cache between.
    CacheMode,
    /// Queues of a guest's disk.
    DiskQueues,
    /// When what is acknowledged is durable.
    Promise,
    /// Which reads are answered above the drives.
    ReadsBelow,
    /// Which drives acknowledge a write.
    WriteCache,
    /// A record of what is being written.
    Bitmap,
    /// Whether parity or copies were computed.
    FirstSync,
    /// Checksums on the way.
    Digests,
    /// Queues of an initiator.
    HostQueues,
    /// Processors of a guest.
    Vcpus,
    /// When blocks get their places.
    Provisioning,
    /// Fewer bytes for the drives.
    Compression,
    /// Equal blocks stored once.
    Deduplication,
}

/// How a layer has it.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// By the value of that option.
    Option(&'static str),
    /// By several; `None`: as if the layer were not there.
    By(fn(&LayerSpec) -> Option<Setting>),
}

/// A setting of a layer.
pub type Comparable = (Concept, How);

/// Of each, in that order: what follows where it is not the same; and how a stack has it without
/// such a layer, in words and as the value that is the same, `None` of what it then does not have.
type ComparableEntry = (Concept, &'static str, Option<(&'static str, &'static str)>);

const ENTRIES: &[ComparableEntry] = &[
    (Concept::Transport, "not the same transport", None),
    (Concept::CacheMode, "not the same cache mode", None),
    (Concept::DiskQueues, "not the same number of queues", None),
    (
        Concept::Promise,
        "not the same promise of what is acknowledged",
        Some(("flushes as they are asked for", "standard")),
    ),
    (Concept::ReadsBelow, "not the same reads come to the drives", None),
    (
        Concept::WriteCache,
        "writes are not acknowledged by the same drives",
        Some(("no cache that writes back", "writethrough")),
    ),
    (
        Concept::Bitmap,
        "only one keeps account of what is being written",
        Some(("no bitmap", "none")),
    ),
    (
        Concept::FirstSync,
        "parity or copies are not in sync on both sides",
        Some(("nothing left to sync", "wait")),
    ),
    (Concept::Digests, "only one checks what it sends", None),
    (Concept::HostQueues, "not the same number of queues", None),
    (Concept::Vcpus, "not the same number of vCPUs", None),
    (
        Concept::Provisioning,
        "one is allocated when it is first written",
        Some(("none that is thin", "thick")),
    ),
    (
        Concept::Compression,
        "not the same bytes come to the drives, unless the load's data do not compress",
        Some(("no compression", "off")),
    ),
    (
        Concept::Deduplication,
        "only one looks for blocks that are there already",
        Some(("no dedup", "off")),
    ),
];

impl Concept {
    /// All of them, in the order in which they are told, each with what follows where it is not the
    /// same.
    pub fn all() -> impl Iterator<Item = (Concept, &'static str)> {
        ENTRIES.iter().map(|(concept, why, _)| (*concept, *why))
    }

    /// How a stack has it without such a layer.
    fn without(self) -> Option<(&'static str, &'static str)> {
        ENTRIES.iter().find(|(concept, ..)| *concept == self)?.2
    }

    /// How a stack has it, by the last of its layers that has it at all; `None`: it has no such
    /// thing.
    pub fn setting_in(self, stack: &Stack) -> Option<Setting> {
        let of_layers = stack.layers.iter().rev().find_map(|layer| self.of_layer(layer));
        of_layers.or_else(|| self.without().and_then(|(said, value)| Setting::named(said, value)))
    }

    fn of_layer(self, layer: &LayerSpec) -> Option<Setting> {
        let (_, how) = layer.help()?.comparable.iter().find(|(concept, _)| *concept == self)?;
        match how {
            How::By(setting) => setting(layer),
            How::Option(option) => {
                let value = layer.option(option)?;
                match self.without().filter(|(_, none)| *none == value) {
                    Some((said, none)) => Setting::named(said, none),
                    None => Setting::named(format!("{option}={value}"), value),
                }
            }
        }
    }
}
