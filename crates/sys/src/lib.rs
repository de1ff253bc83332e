//! System calls that need `unsafe` and generate no load: what the page cache owes, unwritten parts of files, child processes
//! that die with us, the KVM probe, file leases, loop devices, huge pages, what is known of a TCP connection, whose a file is,
//! the rate of the time-stamp counter, whether io_uring is allowed.

pub mod cachestat;
pub mod child;
pub mod extents;
pub mod kvm;
pub mod lease;
pub mod loopdev;
pub mod owner;
pub mod pages;
pub mod tcp;
pub mod tsc;
pub mod uring;
