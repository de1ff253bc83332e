//! What operations ask of a machine before they change it. Each question is a value of one type, so
//! that a machine, real or simulated, answers without knowing the operations.

use iotax_drivers::ceph::Before;
use iotax_drivers::loops::FileId;
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::queue::QueueSettings;
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::zfs::ArcLimit;
use iotax_facts::vm::Vm;
use iotax_host::block::Identity;
use std::path::Path;

/// Question about a state that the machine can no longer report after the change.
#[derive(Clone, Copy, Debug)]
pub enum MachineQuestion<'a> {
    Identity(&'a Path),
    File(&'a Path),
    /// Asks for the writable settings of a disk's queue.
    Queue(&'a Path),
    /// Asks for the limit of ZFS's cache (ARC).
    Arc,
    /// Asks whether an SPDK target has the transport already.
    SpdkTransport(&'a ExportSpdkNvmf),
    /// Asks which hosts of an export the kernel's NVMe target has entries of already.
    NvmetHosts(&'a ExportNvmf),
    /// Asks for the settings of a virtual machine and this disk of it as of its next start, as the
    /// hypervisor's management (libvirt, Proxmox VE or ESXi) reports them.
    Vm(&'a Vm, &'a str),
    /// Asks which cluster an image is in, and to which devices of this host it is mapped already.
    CephImage {
        conf: &'a Path,
        pool: &'a str,
        image: &'a str,
    },
}

/// Answer to the question of the same name.
#[derive(Clone, Debug)]
pub enum MachineAnswer {
    Identity(Identity),
    File(FileId),
    Queue(QueueSettings),
    Arc(ArcLimit),
    SpdkTransport(bool),
    NvmetHosts(Vec<String>),
    Vm(String),
    CephImage(Before),
}

pub trait Observer {
    /// Returns the answer whose variant has the question's name, or `None` if the machine does not
    /// know.
    fn ask_machine(&self, question: MachineQuestion<'_>) -> Option<MachineAnswer>;
}
