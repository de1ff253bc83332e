//! Rules on what sentences conclude and what a page does not say of its method. Each needs structure that ties the sentence to figures;
//! without it the claim cannot be checked, which is no finding.

mod method;
mod within;

pub use method::{PRECONDITIONING as M3, SPREAD as M1};
pub use within::RULE as S1;
