//! System interfaces that need `unsafe` and are not load generation: the KVM probe, the io_uring
//! probe, leases.

pub mod lease;
pub mod uring;
