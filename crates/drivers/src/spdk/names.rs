//! Names of what is made in a target: a prefix that all have in common, and a suffix each.

/// Suffix of an array that has a store on it. One without a store has only the prefix as its name.
pub(super) const ARRAY: &str = "-raid";

pub(super) const STORE: &str = "-lvs";

pub(super) const VOLUME: &str = "/lvol";

/// Returns the prefix in the name of a joined bdev, and true if that bdev is a logical volume.
pub(super) fn common(bdev: &str) -> (&str, bool) {
    let store = bdev.strip_suffix(VOLUME).and_then(|store| store.strip_suffix(STORE));
    (store.unwrap_or(bdev), store.is_some())
}

pub(super) fn member_name(common: &str, at: usize) -> String {
    format!("{common}-m{at}")
}

/// Returns the name of the array that a joined bdev is, or is on.
pub fn array_below(bdev: &str) -> String {
    match common(bdev) {
        (name, true) => format!("{name}{ARRAY}"),
        (name, false) => name.to_owned(),
    }
}

/// Returns the name of the bdev over the whole of a member, counted from 0, of a joined bdev.
pub fn member(bdev: &str, at: usize) -> String {
    member_name(common(bdev).0, at)
}
