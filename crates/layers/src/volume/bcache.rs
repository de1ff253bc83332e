//! `bcache`: a cache on the last of two members for the first. The size of the device is computed
//! here, so that the size of the device is known before anything is made.

use crate::{
    Claim, ExposedDevice, Layer, OwnCache, PlanContext, optional_bytes, required_bytes,
    required_number, required_word,
};
use anyhow::{Result, bail, ensure};
use iotax_drivers::dm::{MakeLinear, Stretch};
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::PathRef;
use iotax_host::caches::WriteCache;
use iotax_host::probe::Probe;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::bcache::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{MakeBcache, Op};
use iotax_units::{KIB, MIB, show_bytes};

/// Offset of the data on a backing device, after its superblock.
const DATA_OFFSET: u64 = 8 * KIB;
/// Least number of buckets of a cache. The kernel refuses a cache whose buckets, rounded up to a
/// power of two, are fewer than 1,024 (cache_alloc in drivers/md/bcache/super.c: "nbuckets is too
/// small", EPERM).
const LEAST_BUCKETS: u64 = 513;

pub struct Bcache;

impl Layer for Bcache {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        let of_part: &[&str] =
            if spec.option("cache-size").is_some() { &["dmsetup", "dm_mod"] } else { &[] };
        [&["root", "make-bcache", "bcache", "wipefs"], of_part].concat()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn begins_cold(&self, _: &LayerSpec) -> bool {
        true
    }

    // The contents of the cache are as durable as its drive, so no flush writes it back.
    fn write_cache(
        &self,
        spec: &LayerSpec,
        each: Option<u64>,
        _: Option<&Probe>,
    ) -> Option<OwnCache> {
        let writes_back = spec.option("mode") == Some("writeback");
        let bytes = spec.option_bytes("cache-size").or(each).filter(|_| writes_back)?;
        let name = "the cache of bcache, which writes back".to_owned();
        Some(OwnCache { cache: WriteCache { name, bytes, stacks: Vec::new() }, flushed: false })
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MakeBcache(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let origin = &spec.origin;
        ensure!(
            below.block,
            "{origin}: bcache needs block devices below it; hint: put loop between"
        );
        let [slow, fast] = &below.paths[..] else {
            bail!(
                "{origin}: bcache takes two members, the second being the cache, and there are {}; hint: [/dev/slow,/dev/fast]",
                below.paths.len()
            )
        };
        let (block, bucket) =
            (required_bytes(spec, "block-size")?, required_bytes(spec, "bucket-size")?);
        ensure!(
            block.is_power_of_two() && (512..=4 * KIB).contains(&block),
            "{origin}: block-size={} is not a power of two from 512B to 4KiB",
            required_word(spec, "block-size")?
        );
        ensure!(
            bucket.is_power_of_two() && (4 * KIB..=16 * MIB).contains(&bucket),
            "{origin}: bucket-size={} is not a power of two from 4KiB to 16MiB",
            required_word(spec, "bucket-size")?
        );
        let cache = optional_bytes(spec, "cache-size")?.unwrap_or(below.bytes) / MIB * MIB;
        ensure!(
            (LEAST_BUCKETS * bucket..=below.bytes).contains(&cache),
            "{origin}: a cache of {} is not between {} and the {} that each member has room for",
            show_bytes(cache),
            show_bytes(LEAST_BUCKETS * bucket),
            show_bytes(below.bytes)
        );
        let instance = context.instance("bcache");
        let name = format!("iotax-{}-{instance}", context.tag.run_id);
        let (fast, drive) = match spec.option("cache-size") {
            None => (fast.clone(), None),
            Some(_) => {
                let stretches = vec![Stretch { device: fast.clone(), offset: 0, bytes: cache }];
                let part = MakeLinear { name: format!("{name}-part"), stretches, read_only: false };
                let step = context.add_step("take a part of the fast drive", Op::MakeLinear(part));
                (PathRef::Yield(step), Some(fast.clone()))
            }
        };
        let make = MakeBcache {
            name,
            slow: slow.clone(),
            fast,
            drive,
            mode: required_word(spec, "mode")?.to_owned(),
            block,
            bucket,
            sequential_cutoff: required_bytes(spec, "sequential-cutoff")?,
            congested_us: [
                required_number(spec, "congested-read")?,
                required_number(spec, "congested-write")?,
            ],
            drives: Drives::default(),
        };
        let step = context.add_step("put the cache before the slow drive", Op::MakeBcache(make));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            bytes: (below.bytes - DATA_OFFSET) / MIB * MIB,
            block: true,
            writable: context.writable,
            uneven: false,
            split: false,
            ..below.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use iotax_units::GIB;

    #[test]
    fn what_is_made_of_members_and_words() {
        let shown = |options: &str| {
            let (exposed, steps) = planned(&Bcache, &over(2, GIB), options).unwrap();
            let steps: Vec<String> =
                steps.iter().map(|step| step.op.operation().describe()).collect();
            format!(
                "{} MiB, unwritten {:?}\n{}",
                exposed.bytes / MIB,
                exposed.unwritten,
                steps.join("\n")
            )
        };
        let all = [
            shown(""),
            shown(
                "writeback,cache-size=512MiB,sequential-cutoff=0.5MiB,congested-read=0,congested-write=0",
            ),
            shown("writearound,block-size=512B,bucket-size=1MiB"),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn what_does_not_go_together_is_refused_before_anything_is_made() {
        let of = |members, options| refused(&Bcache, &over(members, GIB), options);
        let all = [
            of(1, ""),
            of(3, ""),
            of(2, "block-size=8KiB"),
            of(2, "bucket-size=96KiB"),
            of(2, "cache-size=64MiB"),
            of(2, "cache-size=2GiB"),
            refused(&Bcache, &ExposedDevice { block: false, ..over(2, GIB) }, ""),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
