//! System calls that need `unsafe` and generate no load: what the page cache owes, unwritten parts of files, child processes
//! that die with us, the KVM probe, file leases, loop devices, huge pages, whose a file is, regular files read to a limit, what
//! is known of a TCP connection, the rate of the time-stamp counter, limits of whoever started us, whether io_uring is allowed.

pub mod cachestat;
pub mod child;
pub mod extents;
pub mod kvm;
pub mod lease;
pub mod loopdev;
pub mod owner;
pub mod pages;
pub mod regular;
pub mod tcp;
pub mod tsc;
pub mod ulimit;
pub mod uring;
