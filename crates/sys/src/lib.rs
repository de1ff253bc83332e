//! System calls that need `unsafe` and generate no load: dirty pages in the page cache, unwritten
//! parts of files, child processes that die with us, CPU clocks of processes, the KVM probe, file
//! leases, loop devices, huge pages, owners of files, bounded reads of regular files, TCP_INFO of a
//! connection, the rate of the time-stamp counter, ulimits, whether io_uring is allowed.

pub mod cachestat;
pub mod child;
pub mod cputime;
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
