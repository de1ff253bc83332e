//! System interfaces that need `unsafe` and are not load generation: the KVM probe, leases on
//! files, whether io_uring is allowed, children that end with us, the rate of the time-stamp counter.

pub mod cachestat;
pub mod child;
pub mod kvm;
pub mod lease;
pub mod loopdev;
pub mod tsc;
pub mod uring;
