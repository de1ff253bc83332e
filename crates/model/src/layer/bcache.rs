//! `bcache`: a fast drive as the cache of a slow one, by the kernel's bcache.

use super::OptionKind::{Number, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::{Capability, LayerHelp, option};
use iotax_facts::need::{module, program};

const COLD: &str = "the cache (bcache) is made anew with every set-up, so each visit starts with a cold one";

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "bcache",
    elsewhere: &[("make-bcache", "bcache(writethrough)")],
    help: "a slow drive with a fast one as its cache, by the kernel's bcache: the last member is the cache",
    example: "[/dev/sda,/dev/nvme1n1] | bcache(writeback)",
    options: &[
        option(
            "mode",
            Word(&["writethrough", "writeback", "writearound"]),
            "where a write is acknowledged from, and whether it is cached",
        )
        .default("writethrough"),
        option("cache-size", Size, "bytes of the last member that are the cache; not written: all of it")
            .also(&["cache_size"]),
        option("block-size", Size, "bytes of the smallest write to the cache; not written: 4KiB")
            .also(&["block_size"])
            .default("4KiB"),
        option("bucket-size", Size, "bytes that are reused as a whole; not written: 512KiB, as make-bcache")
            .also(&["bucket_size"])
            .default("512KiB"),
        option(
            "sequential-cutoff",
            Size,
            "bytes in order from which on an I/O goes past the cache; not written: the kernel's 4MiB",
        )
        .also(&["sequential_cutoff"])
        .default("4MiB"),
        option(
            "congested-read",
            Number,
            "microseconds of a read from which on reads go past the cache, 0: never; not written: the kernel's 2000",
        )
        .also(&["congested_read_threshold_us"])
        .default("2000"),
        option(
            "congested-write",
            Number,
            "microseconds of a write from which on writes go past the cache, 0: never; not written: the kernel's 20000",
        )
        .also(&["congested_write_threshold_us"])
        .default("20000"),
    ],
    positional: Some("mode"),
    joins: true,
    layout: Some(|_, _| Err("which of its drives answers is for the cache to choose".to_owned())),
    comparable: &[(
        Concept::WriteCache,
        How::By(|layer| {
            let writes_back = layer.option("mode") == Some("writeback");
            Setting::of("mode=writeback", "writeback").filter(|_| writes_back)
        }),
    )],
    notes: &[("mode", "writethrough", COLD), ("mode", "writeback", COLD), ("mode", "writearound", COLD)],
    capabilities: &[Capability::of("bcache", "layer bcache", "[/dev/x,/dev/y] | bcache")],
    requires: &[
        program!("make-bcache", "for the layer bcache", "bcache-tools", "bcache-tools", "bcache-tools"),
        module!("bcache", "bcache", "BCACHE", "for the layer bcache"),
    ],
    ..LayerHelp::PLAIN
};
