//! What operations ask of a machine before they change it. It is asked by one question at a time,
//! so that whoever answers knows the questions and not the operations.

use iotax_drivers::ceph::Before;
use iotax_drivers::loops::FileId;
use iotax_drivers::queue::QueueSettings;
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::zfs::ArcLimit;
use iotax_facts::vm::Vm;
use iotax_host::block::Identity;
use std::path::Path;

/// Question about what a machine can no longer report once it is changed.
#[derive(Clone, Copy, Debug)]
pub enum MachineQuestion<'a> {
    Identity(&'a Path),
    File(&'a Path),
    /// Asks for the settings of a disk's queue that can be written.
    Queue(&'a Path),
    /// Asks how much ZFS's cache may hold.
    Arc,
    /// Asks whether an SPDK target has the transport already.
    SpdkTransport(&'a ExportSpdkNvmf),
    /// Asks for the settings of a virtual machine with that disk for its next start, as its manager
    /// reports them.
    Vm(&'a Vm, &'a str),
    /// Asks which cluster an image of Ceph's is in, and where it is mapped already.
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
    Vm(String),
    CephImage(Before),
}

pub trait Observer {
    /// Returns the answer of the same name, or `None` where the machine does not know it.
    fn ask_machine(&self, question: MachineQuestion<'_>) -> Option<MachineAnswer>;
}
