//! `split(4)`: equal parts of a device. [`super::linear`] has its needs, because it is made in the
//! same way.

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
