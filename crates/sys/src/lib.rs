//! System interfaces that need `unsafe` and are not load generation: the KVM probe, leases on
//! files, whether io_uring is allowed.

pub mod cachestat;
pub mod kvm;
pub mod lease;
pub mod uring;
