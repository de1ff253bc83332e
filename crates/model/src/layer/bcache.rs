//! `bcache`: a fast drive as the cache of a slow one, by the kernel's bcache.

use super::OptionKind::{Number, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::{Capability, LayerHelp, option};
use iotax_facts::need::{module, program};

const COLD: &str = "the bcache cache is recreated at every set-up, so each visit starts cold";

pub const HELP: LayerHelp = LayerHelp {
    name: "bcache",
    elsewhere: &[("make-bcache", "bcache(writethrough)")],
    example: "[/dev/sda,/dev/nvme1n1] | bcache(writeback)",
    options: &[
        option("mode", Word(&["writethrough", "writeback", "writearound"]))
            .with_default("writethrough"),
        option("cache-size", Size).also(&["cache_size"]),
        option("block-size", Size).also(&["block_size"]).with_default("4KiB"),
        option("bucket-size", Size).also(&["bucket_size"]).with_default("512KiB"),
        option("sequential-cutoff", Size).also(&["sequential_cutoff"]).with_default("4MiB"),
        option("congested-read", Number)
            .also(&["congested_read_threshold_us"])
            .with_default("2000"),
        option("congested-write", Number)
            .also(&["congested_write_threshold_us"])
            .with_default("20000"),
    ],
    positional: Some("mode"),
    joins: true,
    layout: Some(|_, _| Err("bcache decides which drive serves each I/O".to_owned())),
    comparable: &[(
        Concept::WriteCache,
        How::By(|layer| {
            let writes_back = layer.option("mode") == Some("writeback");
            Setting::some_setting("mode=writeback", "writeback").filter(|_| writes_back)
        }),
    )],
    notes: &[
        ("mode", "writethrough", COLD),
        ("mode", "writeback", COLD),
        ("mode", "writearound", COLD),
    ],
    capabilities: &[Capability::needing("bcache", "layer bcache", "[/dev/x,/dev/y] | bcache")],
    requires: &[
        program!(
            "make-bcache",
            "for the layer bcache",
            "bcache-tools",
            "bcache-tools",
            "bcache-tools"
        ),
        module!("bcache", "bcache", "BCACHE", "for the layer bcache"),
    ],
    adds_io: Some("the cache device"),
    ..LayerHelp::PLAIN
};
