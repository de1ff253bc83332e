//! What may be written. [`inspect`](inspect::inspect) looks at a target and writes nothing;
//! [`judge`](judge::judge) decides from what was seen, the intent and the user's consent;
//! [`marker`] and [`fill`] handle the files of our own. The law is in docs/data-safety.md.

pub mod block;
pub mod fill;
pub mod inspect;
pub mod judge;
pub mod kernel_users;
pub mod marker;
pub mod mounts;
pub mod openers;
pub mod sample;
pub mod signature;

#[cfg(test)]
mod real;
#[cfg(test)]
pub(crate) mod rig;
