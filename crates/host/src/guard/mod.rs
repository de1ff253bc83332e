//! Guard of what may be written. [`admit`](admit::admit) is the way in: it inspects a target
//! ([`inspect`](inspect::inspect), which only reads), decides from the findings ([`found`]), the
//! intent and the user's consent ([`judge`](judge::judge)), and claims a device that will be
//! written. [`marker`] and [`fill`] handle files that iotax made. The rules are in
//! docs/data-safety.md.

pub mod admit;
pub mod fill;
pub mod found;
pub mod inspect;
pub mod judge;
pub mod kernel_users;
mod made_up;
pub mod marker;
pub mod mounts;
pub mod openers;
pub mod sample;
pub mod signature;

#[cfg(test)]
mod real_tests;
#[cfg(any(test, feature = "testing"))]
#[path = "testing/rig.rs"]
pub mod rig;
