//! Probes: what a machine does beside I/O, measured in slices like the load generator's. A probe is
//! prepared once and resident; a slice of it gives units of work and their times in the form of
//! I/Os, so that rounds, statistics, records and reports take it unchanged.
//!
//! [`spec`]: what a probe is asked for, and the family's table of definitions. [`own`]: iotax's own
//! probes of processors, memory and the kernel. [`net`]: two places over a network. [`tool`]: the
//! field's own tools, which run in one piece.
#![forbid(unsafe_code)]

pub mod net;
mod other_end;
pub mod own;
pub mod spec;
pub mod tool;

pub use other_end::OtherEnd;
pub use spec::{
    Argument, Definition, Probe, ProbeError, ProbeSpec, ProbeUnit, all, definition, prepare,
};
