//! `fio-rbd`: an image of a Ceph cluster, which fio reaches as a client by librbd.

use super::OptionKind::Word;
use super::comparable::{Concept, How};
use super::{LayerHelp, librbd, option};
use crate::stack::Face;

pub const HELP: LayerHelp = LayerHelp {
    name: "fio-rbd",
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | ceph(size=3) | fio-rbd(writeback)",
    options: &[option("cache", Word(&["none", "writeback"])).with_default("none")],
    positional: Some("cache"),
    below: Face::Rbd,
    gives: Face::Client,
    only_here: true,
    comparable: &[
        (Concept::CacheMode, How::Option("cache")),
        (Concept::WriteCache, How::By(librbd::write_cache)),
    ],
    notes: &[(
        "cache",
        "writeback",
        "fio flushes librbd's cache at the end of each slice as a part of it, so that what is acknowledged and what is durable are \
         one figure (cache=writeback)",
    )],
    programs: &["fio"],
    ..LayerHelp::PLAIN
};
