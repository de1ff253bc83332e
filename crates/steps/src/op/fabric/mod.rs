//! Holds both ends of fabrics, one file for each operation: targets that serve a device where it
//! is, and initiators that show it where they are.

mod iscsi;
mod iscsid;
mod nbd;
mod nvmf;
mod softrdma;

pub use iscsi::ExportIscsi;
pub use iscsid::StartIscsid;
pub use nbd::{ConnectNbd, ExportNbd, NbdServer};
pub use softrdma::{RdmaOn, SoftRdma};
