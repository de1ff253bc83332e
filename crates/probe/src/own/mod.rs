//! Probes of iotax itself: resident threads, each pinned to a processor, that do units of work for
//! a slice. `work` is what a thread does; `crew` has the threads; each other module has some
//! probes.

mod compute;
mod crew;
mod kernel;
mod memory;
mod small;
mod wait;
mod work;

use crate::Definition;

pub const ALL: &[&Definition] = &[
    &compute::INTEGER,
    &compute::FLOAT,
    &memory::COPY,
    &memory::CHASE,
    &kernel::SYSCALL,
    &kernel::PIPE,
    &kernel::SWITCH,
    &kernel::FORK,
    &kernel::EXEC,
    &wait::WAKEUP,
    &wait::STALL,
];
