//! What layers with two ends have in common.

use super::comparable::Setting;
use super::{OptionDef, OptionKind, option};
use crate::scenario::LayerSpec;

/// Where a target listens.
pub const ADDRESS: OptionDef = option("address", OptionKind::Address).also(&["traddr"]);

/// The port, where there is one.
pub const PORT: OptionDef = option("port", OptionKind::Port).also(&["trsvcid"]);

/// What carries it: iSER is iSCSI over RDMA.
pub fn transport(layer: &LayerSpec) -> Option<Setting> {
    let word = layer.option("transport")?;
    let below = if word == "iser" { "rdma" } else { word };
    Setting::named(format!("{} over {word}", layer.name), below)
}

/// Checksums on the way: of NVMe over TCP alone, since open-iscsi asks for none and NBD has none.
pub fn digests(layer: &LayerSpec) -> Option<Setting> {
    let on = ["hdr-digest", "data-digest"]
        .into_iter()
        .filter(|option| layer.option(option) == Some("true"));
    let on = on.collect::<Vec<_>>().join(" and ");
    let said = if on.is_empty() { "no digest" } else { &on };
    Setting::named(format!("{said} of {}", layer.name), &on)
}
