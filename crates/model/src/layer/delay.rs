//! `delay`: a layer of known cost, which delays each I/O by a time (`us`) or by a share of its own
//! time (`percent`).

use super::OptionKind::{Microseconds, Percent};
use super::{LayerHelp, option};
use crate::stack::{Face, LayerRole};

pub const HELP: LayerHelp = LayerHelp {
    name: "delay",
    example: "file:/srv/x.img,size=4GiB | delay(us=50)",
    options: &[option("us", Microseconds), option("percent", Percent)],
    positional: Some("us"),
    one_of: &["us", "percent"],
    role: LayerRole::Delay,
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};
