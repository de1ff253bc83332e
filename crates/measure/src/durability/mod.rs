//! Tests the promise of a layer to keep acknowledged data. A writer in the guest stamps blocks and
//! flushes, and each flush that returns is acknowledged to this host. Then something is killed, and
//! the acknowledged blocks are read back through the stack. The report says what such a trial
//! cannot show: a power cut. No result means that a stack is safe.

mod kill;
mod trials;
