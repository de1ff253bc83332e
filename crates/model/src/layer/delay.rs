//! `delay`: a layer of known cost.

use super::OptionKind::{Microseconds, Percent};
use super::{Face, LayerHelp, Role, option};

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "delay",
    help: "holds each completion back in the load generator: a layer of known cost",
    example: "file:/srv/x.img,size=4GiB | delay(us=50)",
    options: &[
        option("us", Microseconds, "microseconds added to each I/O"),
        option("percent", Percent, "percent of the I/O's own cycle added on top of it"),
    ],
    positional: Some("us"),
    one_of: &["us", "percent"],
    role: Role::Delay,
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};
