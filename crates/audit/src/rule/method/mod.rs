//! Rules on how it was measured: what was asked for, on what, with which settings.

use crate::evidence::{Evidence, Sink};

mod effect;
mod labels;
pub(in crate::rule) mod loads;
mod page_cache;

/// M7, M9 and T7.
pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    [page_cache::check, effect::check, labels::check].into_iter().for_each(|check| check(evidence, sink));
}
