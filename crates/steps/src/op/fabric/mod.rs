//! Both ends of fabrics, one file for each operation or pair: targets that export a device, and
//! initiators that connect to them.

mod iscsi;
mod iscsid;
mod nbd;
mod nvmf;
mod softrdma;

pub use iscsi::ExportIscsi;
pub use iscsid::StartIscsid;
pub use nbd::{ConnectNbd, ExportNbd, NbdServer};
pub use softrdma::{RdmaOn, SoftRdma};
