//! Rules on what sentences conclude and what a page does not say of its method. Each needs structure that ties the sentence to figures;
//! without it the claim cannot be checked, which is no finding.

mod method;
mod within;

use crate::evidence::{Evidence, Sink};

/// S1, M1 and M3.
pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    [within::check, method::spread, method::preconditioning]
        .into_iter()
        .for_each(|check| check(evidence, sink));
}
