//! `linear`: several devices one after the other.

use super::layout::LayoutSpread;
use super::{Capability, LayerHelp};
use iotax_facts::need::{module, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "linear",
    elsewhere: &[("dm-linear", "linear")],
    example: "[/dev/nvme1n1,/dev/nvme2n1] | linear",
    joins: true,
    layout: Some(|_, _| Ok(LayoutSpread::ONE_BY_ONE.join_as("linear"))),
    capabilities: &[Capability::needing("linear", "layers split and linear", "/dev/x | split(2)")],
    requires: &[
        program!(
            "dmsetup",
            "for the layers split and linear",
            "dmsetup",
            "device-mapper",
            "dmsetup"
        ),
        module!("dm_mod", "dm-mod", "BLK_DEV_DM", "for the layers split, linear and lvm"),
    ],
    ..LayerHelp::PLAIN
};
