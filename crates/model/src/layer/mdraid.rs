//! `mdraid(level=5)`: the kernel's RAID.

use super::OptionKind::{Count, Number, Size, Word};
use super::comparable::{Concept, How};
use super::layout::{Joined, LayoutSpread};
use super::{Capability, LayerHelp, States, option};
use crate::stack::LayerSpec;
use iotax_facts::need::{module, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "mdraid",
    elsewhere: &[
        ("md", "mdraid(level=5)"),
        ("mdadm", "mdraid(level=5)"),
        ("raid", "mdraid(level=5)"),
        ("raid0", "mdraid(level=0)"),
        ("raid1", "mdraid(level=1)"),
        ("raid5", "mdraid(level=5)"),
        ("raid6", "mdraid(level=6)"),
        ("raid10", "mdraid(level=10)"),
    ],
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | mdraid(level=5,chunk=64KiB)",
    options: &[
        option("level", Word(&["0", "1", "5", "6", "10"])),
        option("chunk", Size)
            .also(&["chunksize", "chunk-size", "chunk_size"])
            .with_default("512KiB"),
        option(
            "layout",
            Word(&[
                "left-symmetric",
                "left-asymmetric",
                "right-symmetric",
                "right-asymmetric",
                "n2",
                "n3",
                "f2",
                "f3",
                "o2",
                "o3",
            ]),
        ),
        option("bitmap", Word(&["none", "internal"])).with_default("none"),
        option("size", Size),
        option("metadata", Word(&["1.2", "1.1", "1.0"])).with_default("1.2"),
        option("sync", Word(&["wait", "skip", "background"])).with_default("wait"),
        option("sync-speed-min", Size).also(&["sync_speed_min"]),
        option("sync-speed-max", Size).also(&["sync_speed_max"]),
        option("group-thread-cnt", Number).also(&["group_thread_cnt"]),
        option("stripe-cache-size", Count).also(&["stripe_cache_size"]),
    ],
    one_of: &["level"],
    joins: true,
    layout: Some(mdraid_layout),
    redundancy: array_redundancy,
    states: Some(States { source: "sysfs", of: "1, 5, 6, 10", out: false }),
    comparable: &[
        (Concept::Bitmap, How::Option("bitmap")),
        (Concept::FirstSync, How::Option("sync")),
    ],
    notes: &[
        (
            "sync",
            "skip",
            "the first sync was skipped (sync=skip), so parity or copies were never computed: after a failure it would give back \
             other data than was written",
        ),
        (
            "sync",
            "background",
            "the first sync was not waited for (sync=background): until it is through, figures are of an array that syncs",
        ),
    ],
    capabilities: &[Capability::with_need_ids(
        "mdraid",
        "layer mdraid, of every level",
        &["root", "mdadm", "raid0", "raid1", "raid10", "raid456"],
    )],
    requires: &[
        program!("mdadm", "for the layer mdraid", "mdadm", "mdadm", "mdadm"),
        module!("raid0", "raid0", "MD_RAID0", "for mdraid(level=0)"),
        module!("raid1", "raid1", "MD_RAID1", "for mdraid(level=1)"),
        module!("raid10", "raid10", "MD_RAID10", "for mdraid(level=10)"),
        module!("raid456", "raid456", "MD_RAID456", "for mdraid(level=5) and mdraid(level=6)"),
    ],
    programs: &["mdadm"],
    adds_io: Some("copies and parity of the array"),
    ..LayerHelp::PLAIN
};

/// Layout of RAID 10 that mdadm uses by default.
const USUAL_COPIES: &str = "n2";

/// Returns the number of copies of a RAID 10 layout (`n2`, `f3`, `o2`), and true if they are near
/// each other (`n`). `None`: a layout of RAID 5 or 6.
pub fn copies(layer: &LayerSpec) -> Option<(u64, bool)> {
    let layout = layer.option("layout").unwrap_or(USUAL_COPIES);
    Some((layout.strip_prefix(['n', 'f', 'o'])?.parse().ok()?, layout.starts_with('n')))
}

fn array_redundancy(layer: &LayerSpec, members: usize) -> u32 {
    match layer.option_number("level") {
        Some(1) => (members as u32).saturating_sub(1),
        Some(5) => 1,
        Some(6) => 2,
        // Losing one copy less than there are is always safe; more only by chance.
        Some(10) => copies(layer).map_or(0, |(copies, _)| copies as u32 - 1),
        _ => 0,
    }
}

fn mdraid_layout(layer: &LayerSpec, drives: u64) -> Result<Joined, String> {
    let level = layer.option("level").unwrap_or_default();
    let chunk = layer.option_bytes("chunk").unwrap_or_default();
    let spread = match level {
        "0" => LayoutSpread::Striped { over: drives },
        "1" => LayoutSpread::Mirrored { copies: drives, groups: true },
        "10" => {
            let (copies, is_near) = copies(layer).unwrap_or((2, false));
            LayoutSpread::Mirrored { copies, groups: is_near && drives % copies == 0 }
        }
        "5" => LayoutSpread::parity(drives, 1, chunk, false)?,
        "6" => LayoutSpread::parity(drives, 2, chunk, false)?,
        other => return Err(format!("what RAID level {other} asks of its drives is not known")),
    };
    let joined = spread.join_as(format!("RAID{level}"));
    Ok(if level == "1" { joined } else { joined.in_turns("chunk", chunk) })
}
