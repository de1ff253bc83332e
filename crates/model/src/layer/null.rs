//! `null`: a layer that does nothing, so that a stack can be compared with itself.

use super::LayerHelp;
use crate::stack::{Face, LayerRole};

pub const HELP: LayerHelp = LayerHelp {
    name: "null",
    example: "file:/srv/x.img,size=4GiB | null",
    role: LayerRole::Null,
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};
