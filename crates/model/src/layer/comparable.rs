//! Settings that must be equal on both sides of a comparison unless they are what is compared, such
//! as the cache mode. Each layer has its own option for such a concept.

use crate::stack::{LayerSpec, Stack};

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Setting in words, for reports: `cache=none`, `thin volume`.
    pub said: String,
    /// Value that is compared: two stacks have the same setting if their values are equal.
    pub value: String,
}

impl Setting {
    /// Returns the setting, always as `Some`, because the functions of [`How::By`] return an
    /// `Option`.
    pub fn some_setting(said: impl Into<String>, value: impl ToString) -> Option<Setting> {
        Some(Setting { said: said.into(), value: value.to_string() })
    }
}

/// Property of a stack that must be equal on both sides of a comparison unless it is what is
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concept {
    Transport,
    /// Use of a cache on the host, such as QEMU's `cache=none`.
    CacheMode,
    DiskQueues,
    /// Moment from which acknowledged writes are durable.
    Promise,
    /// Whether a cache above the drives answers reads, such as ZFS's `primarycache`.
    ReadsBelow,
    /// Whether a cache acknowledges writes before the storage below it has them.
    WriteCache,
    /// An array's bitmap of the regions that are being written.
    Bitmap,
    /// Initial computation of parity or copies.
    FirstSync,
    /// Checksums of the data during transfer.
    Digests,
    HostQueues,
    Vcpus,
    /// Whether blocks are allocated when they are first written (thin) or before.
    Provisioning,
    Compression,
    Deduplication,
}

/// Where the setting of a concept comes from in a layer.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// The value of the named option is the setting.
    Option(&'static str),
    /// The function computes the setting; `None`: this layer has none, and the layers below it
    /// decide.
    By(fn(&LayerSpec) -> Option<Setting>),
}

pub type Comparable = (Concept, How);

/// Concept, consequence if it differs, and the setting of a stack without such a layer: in words,
/// and as the value that is compared. `None` if such a stack does not have the concept.
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
    /// Returns all concepts, in the order of reports, each with the consequence if it differs.
    pub fn all_with_consequences() -> impl Iterator<Item = (Concept, &'static str)> {
        ENTRIES.iter().map(|(concept, why, _)| (*concept, *why))
    }

    fn setting_without_layer(self) -> Option<(&'static str, &'static str)> {
        ENTRIES.iter().find(|(concept, ..)| *concept == self)?.2
    }

    /// Returns the setting of a stack: that of its topmost layer that has one, else that of a stack
    /// without such a layer. `None`: the concept does not apply.
    pub fn setting_in(self, stack: &Stack) -> Option<Setting> {
        let of_layers = stack.layers.iter().rev().find_map(|layer| self.of_layer(layer));
        of_layers.or_else(|| {
            self.setting_without_layer()
                .and_then(|(said, value)| Setting::some_setting(said, value))
        })
    }

    fn of_layer(self, layer: &LayerSpec) -> Option<Setting> {
        let (_, how) =
            layer.catalog_entry()?.comparable.iter().find(|(concept, _)| *concept == self)?;
        match how {
            How::By(setting) => setting(layer),
            How::Option(option) => {
                let value = layer.option(option)?;
                match self.setting_without_layer().filter(|(_, none)| *none == value) {
                    Some((said, none)) => Setting::some_setting(said, none),
                    None => Setting::some_setting(format!("{option}={value}"), value),
                }
            }
        }
    }
}
