//! Checks of this machine for what guests need.

use crate::{command_line as qemu, kernel, ovmf, version};
use iotax_drivers::spdk;
use iotax_drivers::spdk::file::kind as spdk_kind;
use iotax_facts::spdk::USUAL_SOCKET;
use iotax_host::kvm::KvmState;
use iotax_host::probe::GuestProbe;
use iotax_sys::kvm::{KvmProbe, probe_kvm};
use std::ffi::OsStr;
use std::path::Path;

/// Checks of this machine for what guests need. `lab` always fails: the crate that can start labs
/// replaces it.
pub const FINDINGS: GuestProbe = GuestProbe {
    kvm: kvm_state,
    qemu: || version::installed_version(OsStr::new(qemu::PROGRAM)).map(drop),
    kernel: || kernel::find_kernel_source().map(drop),
    storage_daemon: || version::installed_version(OsStr::new(qemu::STORAGE_DAEMON)).map(drop),
    io_uring: || io_uring_state(qemu::PROGRAM, version::EMPTY_QEMU),
    daemon_io_uring: || io_uring_state(qemu::STORAGE_DAEMON, version::EMPTY_DAEMON),
    ovmf: || ovmf::installed().map(drop).ok_or_else(|| "OVMF is not installed".into()),
    spdk: || spdk::answers(Path::new(USUAL_SOCKET), &[spdk_kind(false).create]),
    lab: || Err("a lab starts where iotax was called, and nowhere else".into()),
};

fn io_uring_state(program: &str, empty: &[&str]) -> Result<(), String> {
    version::io_uring_works(OsStr::new(program), empty)
        .map_err(|why| format!("{program} does not open a file with io_uring: {why}"))
}

fn kvm_state() -> KvmState {
    match probe_kvm() {
        KvmProbe::Works { .. } => KvmState::Works,
        KvmProbe::Emulated { why, .. } => KvmState::Emulated(why),
        KvmProbe::Absent { why } => KvmState::Absent(why),
    }
}
