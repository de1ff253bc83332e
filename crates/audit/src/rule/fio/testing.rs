//! What tests of fio's rules share: two outputs of our own, and what is found in them when a figure is changed.

/// Both ways, two jobs in a group, two seconds.
pub(super) const MIXED: &str = include_str!("../../../fixtures/fio/randrw-3.33.txt");
/// Reads of one job for half a minute, on a machine that does other things too.
pub(super) const READ: &str = include_str!("../../../fixtures/fio/randread-3.33.txt");

pub(super) use crate::rule::testing::{findings, found};

/// Holds that a rule is silent on a text and speaks when a piece of it is another.
pub(super) fn speaks(text: &str, changes: &[(&str, &str, &str)]) {
    for (from, to, rule) in changes {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not in it");
        assert_eq!(found(text, rule), [], "{rule} of a sound output");
        assert_ne!(found(&changed, rule), [], "{rule}: {from} -> {to}: {:#?}", findings(&changed));
    }
}
