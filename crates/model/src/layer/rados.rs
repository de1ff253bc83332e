//! `rados`: objects of a Ceph cluster's pool, which fio reaches as a client by librados.

use super::OptionKind::Size;
use super::{Capability, LayerHelp, option};
use crate::stack::Face;
use iotax_facts::need::{Requirement, SearchedThing, debian, everywhere};

pub const HELP: LayerHelp = LayerHelp {
    name: "rados",
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | ceph(size=3) | rados",
    options: &[option("object-size", Size).also(&["object_size"]).with_default("4MiB")],
    below: Face::Rbd,
    gives: Face::Client,
    only_here: true,
    capabilities: &[Capability::with_need_ids(
        "rados",
        "layers rados and fio-rbd: ceph by fio as its client",
        &["fio", "fio-ceph", "ceph-common", "root"],
    )],
    // fio itself reports whether it has the engines.
    requires: &[Requirement {
        id: "fio-ceph",
        why: "for fio as a client of ceph",
        supply: &[debian("apt-get install fio"), everywhere("build fio with librados and librbd")],
        finds: &[SearchedThing::Program("fio")],
    }],
    programs: &["fio"],
    ..LayerHelp::PLAIN
};
