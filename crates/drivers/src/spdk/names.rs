//! Names of what a target makes, after the name that all have in common.

/// Suffixes of an array, a store and its volume, after the name that all have in common.
pub(super) const ARRAY: &str = "-raid";

pub(super) const STORE: &str = "-lvs";

pub(super) const VOLUME: &str = "/lvol";

/// Returns the prefix of the name of a bdev that a layer was given, and true if a volume is on top.
pub(super) fn common(bdev: &str) -> (&str, bool) {
    let store = bdev.strip_suffix(VOLUME).and_then(|store| store.strip_suffix(STORE));
    (store.unwrap_or(bdev), store.is_some())
}

pub(super) fn member_name(common: &str, at: usize) -> String {
    format!("{common}-m{at}")
}

/// Returns the name of the array that such a bdev is or is on.
pub fn array_below(bdev: &str) -> String {
    match common(bdev) {
        (name, true) => format!("{name}{ARRAY}"),
        (name, false) => name.to_owned(),
    }
}

/// Returns the name of the bdev over a whole member of that array.
pub fn member(bdev: &str, at: usize) -> String {
    member_name(common(bdev).0, at)
}
