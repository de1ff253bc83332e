//! Probes measure what a machine does beside I/O, in slices like the load generator's. A probe is
//! prepared once and resident. A slice of it returns units of work and their times in the form of
//! I/Os, so that rounds, statistics, records and reports use it unchanged.
//!
//! [`spec`]: the specification of a probe; `family`: the table of all definitions. [`own`]: iotax's
//! own probes of processors, memory and the kernel. [`net`]: two places over a network. [`tool`]:
//! the field's own tools, each of which runs as a program once per slice.
#![forbid(unsafe_code)]

mod exchange;
mod family;
pub mod net;
mod other_end;
pub mod own;
pub mod spec;
pub mod tool;

pub use exchange::{Exchange, ExchangeDirection};
pub use family::{all_definitions, definition, prepare};
pub use other_end::OtherEnd;
pub use spec::{Argument, Definition, Probe, ProbeError, ProbeSpec, ProbeUnit};
