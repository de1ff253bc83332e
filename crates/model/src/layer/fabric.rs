//! Options and settings that `nvmf`, `iscsi` and `nbd` have in common. Each has two ends, which may
//! be in two places.

use super::comparable::Setting;
use super::{OptionDef, OptionKind, option};
use crate::stack::LayerSpec;

pub const ADDRESS: OptionDef = option("address", OptionKind::Address).also(&["traddr"]);

pub const PORT: OptionDef = option("port", OptionKind::Port).also(&["trsvcid"]);

/// Returns the transport as a setting. `iser` equals `rdma`, because iSER is iSCSI over RDMA.
pub fn transport(layer: &LayerSpec) -> Option<Setting> {
    let word = layer.option("transport")?;
    let below = if word == "iser" { "rdma" } else { word };
    Setting::some_setting(format!("{} over {word}", layer.name), below)
}

/// Returns which digests (checksums during transfer) are on. Only `nvmf` has them: open-iscsi
/// requests none, and NBD has none.
pub fn digests(layer: &LayerSpec) -> Option<Setting> {
    let on = ["hdr-digest", "data-digest"]
        .into_iter()
        .filter(|option| layer.option(option) == Some("true"));
    let on = on.collect::<Vec<_>>().join(" and ");
    let said = if on.is_empty() { "no digest" } else { &on };
    Setting::some_setting(format!("{said} of {}", layer.name), &on)
}
