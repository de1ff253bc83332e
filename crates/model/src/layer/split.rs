//! `split(4)`: equal parts of a device, made by the device mapper. [`super::linear`] lists what it
//! needs, because both are made in the same way.

use super::OptionKind::Count;
use super::{LayerHelp, option};

pub const HELP: LayerHelp = LayerHelp {
    name: "split",
    example: "/dev/nvme1n1 | split(4)",
    options: &[option("parts", Count)],
    positional: Some("parts"),
    one_of: &["parts"],
    splits: Some("parts"),
    ..LayerHelp::PLAIN
};
