//! `lvm`: a volume of LVM.

use super::OptionKind::{Count, Flag, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::layout::{Joined, LayoutSpread};
use super::{Capability, LayerHelp, option};
use crate::stack::LayerSpec;
use iotax_facts::need::{Requirement, SearchedThing, everywhere, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "lvm",
    elsewhere: &[
        ("lvcreate", "lvm(thin)"),
        ("vg", "lvm(thin)"),
        ("thin", "lvm(thin)"),
        ("dm-thin", "lvm(thin)"),
    ],
    example: "[/dev/nvme1n1,/dev/nvme2n1] | lvm(striped)",
    options: &[
        option("type", Word(&["linear", "striped", "thin", "cache"])).with_default("linear"),
        option("stripes", Count),
        option("stripe-size", Size).also(&["stripesize", "stripe_size"]).with_default("64KiB"),
        option("size", Size),
        option("chunk-size", Size).also(&["chunksize", "chunk_size"]).with_default("64KiB"),
        option("zero", Flag).with_default("true"),
        option("cache-mode", Word(&["writethrough", "writeback"]))
            .also(&["cachemode", "cache_mode"])
            .with_default("writethrough"),
        option("cache-size", Size).also(&["cachesize", "cache_size"]),
    ],
    positional: Some("type"),
    joins: true,
    layout: Some(lvm_layout),
    comparable: &[
        (Concept::WriteCache, How::By(cache_mode)),
        (
            Concept::Provisioning,
            How::By(|layer| {
                Setting::some_setting("thin volume", "thin")
                    .filter(|_| layer.option("type") == Some("thin"))
            }),
        ),
    ],
    notes: &[(
        "type",
        "cache",
        "the cache (dm-cache) is recreated with every set-up, so each visit starts with a cold one",
    )],
    capabilities: &[
        Capability::needing("lvm", "layer lvm", "/dev/x | lvm"),
        Capability::needing("lvm(thin)", "layer lvm(thin)", "/dev/x | lvm(thin)"),
        Capability::needing("lvm(cache)", "layer lvm(cache)", "/dev/x | lvm(cache)"),
    ],
    requires: &[
        program!("lvm", "for the layer lvm", "lvm2", "lvm2", "LVM 2.03.12 or newer"),
        Requirement {
            id: "dm-thin-pool",
            why: "for the layer lvm(thin)",
            supply: &[everywhere(
                "boot a kernel with CONFIG_DM_THIN_PROVISIONING (grep DM_THIN /boot/config-* shows which have it)",
            )],
            finds: &[SearchedThing::Module("dm-thin-pool")],
        },
        Requirement {
            id: "dm-cache",
            why: "for the layer lvm(cache)",
            supply: &[everywhere(
                "boot a kernel with CONFIG_DM_CACHE_SMQ (grep DM_CACHE /boot/config-* shows which have it)",
            )],
            finds: &[SearchedThing::Module("dm-cache-smq")],
        },
    ],
    programs: &["lvm"],
    ..LayerHelp::PLAIN
};

/// Returns the setting of a volume with a cache that writes back, which acknowledges writes from
/// the caching drive; `None` for any other volume.
fn cache_mode(layer: &LayerSpec) -> Option<Setting> {
    let writes_back =
        layer.option("type") == Some("cache") && layer.option("cache-mode") == Some("writeback");
    Setting::some_setting("cache-mode=writeback", "writeback").filter(|_| writes_back)
}

fn lvm_layout(layer: &LayerSpec, drives: u64) -> Result<Joined, String> {
    let stripes = layer.option_number("stripes").map(|stripes| stripes.min(drives));
    let in_turns = |over: u64, name: &str| {
        let bytes = layer.option_bytes("stripe-size").unwrap_or_default();
        LayoutSpread::Striped { over }.join_as(name).in_turns("stripe-size", bytes)
    };
    match (layer.option("type").unwrap_or_default(), stripes) {
        ("striped", stripes) => Ok(in_turns(stripes.unwrap_or(drives), "LVM stripe")),
        ("thin", Some(over)) if over > 1 => Ok(in_turns(over, "striped LVM thin pool")),
        ("thin", _) => Ok(LayoutSpread::ONE_BY_ONE.join_as("LVM thin pool")),
        ("linear", _) => Ok(LayoutSpread::ONE_BY_ONE.join_as("linear LVM")),
        ("cache", _) => Err("which of its drives answers is for the cache to choose".to_owned()),
        (other, _) => Err(format!("what LVM's type {other} asks of its drives is not known")),
    }
}
