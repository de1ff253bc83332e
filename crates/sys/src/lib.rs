//! System interfaces that need `unsafe` and are not load generation: the KVM probe.

pub mod kvm;
