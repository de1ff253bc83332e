//! `null`: A against A.

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
