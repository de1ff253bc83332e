//! Both ends of fabrics, a file an operation: targets that serve a device where it is, initiators that show it where they are.

mod iscsi;
mod iscsid;
mod nbd;
mod nvmf;
mod softrdma;

pub use iscsi::{ConnectIscsi, ExportIscsi};
pub use iscsid::StartIscsid;
pub use nbd::{ConnectNbd, ExportNbd, NbdServer};
pub use nvmf::{ConnectNvmf, ExportNvmf};
pub use softrdma::{RdmaOn, SoftRdma};

use super::{Operation, Own, PathRef, RunTag, System, Undoing, Yield};
use std::path::PathBuf;

/// What it stands on, where that is known.
fn known(path: &PathRef) -> Vec<PathBuf> {
    path.path().map(|path| vec![path.to_owned()]).unwrap_or_default()
}
