//! `lvm`: one LVM volume over one device or several: linear, striped, thin, or cached on the last
//! of them. All lengths are computed here, in extents, so that the size of the volume is known
//! before anything is made.

use super::options_of;
use crate::{
    Claim, ExposedDevice, FirstWrites, Layer, OwnCache, PlanContext, flag, optional_bytes,
    required_bytes, required_number, required_word,
};
use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::PathRef;
use iotax_host::caches::WriteCache;
use iotax_host::probe::Probe;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::lvm::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{EXTENT, LvmVolume, MakeLvm, Op, Stripes};
use iotax_units::{GIB, KIB, MIB, show_bytes};

/// Options, each with the kinds of volume that it applies to.
const KINDS: &[(&str, &[&str])] = &[
    ("stripes", &["striped", "thin"]),
    ("stripe-size", &["striped", "thin"]),
    ("chunk-size", &["thin", "cache"]),
    ("zero", &["thin"]),
    ("cache-mode", &["cache"]),
    ("cache-size", &["cache"]),
];

/// Least extents of a cache with its metadata.
const LEAST_CACHE: u64 = 8;
/// Bytes of dm-thin's metadata per chunk, as LVM computes them.
const METADATA_OF_A_CHUNK: u64 = 64;
/// Most bytes of dm-thin's metadata, which never take quite 16 GiB.
const MOST_METADATA: u64 = 15 * GIB;

/// A volume group with a volume.
pub struct Lvm;

impl Layer for Lvm {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        let of_kind = match spec.option("type") {
            Some("thin") => Some("dm-thin-pool"),
            Some("cache") => Some("dm-cache"),
            _ => None,
        };
        ["root", "lvm", "dm_mod"].into_iter().chain(of_kind).collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn gives_unwritten(&self, spec: &LayerSpec) -> bool {
        spec.option("type") == Some("thin")
    }

    fn begins_cold(&self, spec: &LayerSpec) -> bool {
        spec.option("type") == Some("cache")
    }

    // The contents of the cache are as durable as its drive, so no flush writes it back.
    fn write_cache(
        &self,
        spec: &LayerSpec,
        each: Option<u64>,
        _: Option<&Probe>,
    ) -> Option<OwnCache> {
        let writes_back =
            spec.option("type") == Some("cache") && spec.option("cache-mode") == Some("writeback");
        let bytes =
            optional_bytes(spec, "cache-size").ok().flatten().or(each).filter(|_| writes_back)?;
        let name = "the cache of lvm(cache), which writes back".to_owned();
        Some(OwnCache { cache: WriteCache { name, bytes, stacks: Vec::new() }, flushed: false })
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MakeLvm(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            below.block,
            "{}: lvm needs block devices below it; hint: put loop between",
            spec.origin
        );
        let room = Room::below_layer(below, spec)?;
        let volume = volume(spec, room)?;
        let bytes = extents(&volume) * EXTENT;
        let instance = context.instance("lvm");
        let name = format!("iotax-{}-{instance}", context.tag.run_id);
        let make = MakeLvm {
            name,
            members: below.paths.clone(),
            member_bytes: below.bytes,
            volume,
            drives: Drives::default(),
        };
        let step = context.add_step("make the volume group and its volume", Op::MakeLvm(make));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            bytes,
            block: true,
            writable: context.writable,
            // Blocks of a drive may never have been written, and an array on the same drives is
            // written too: reads of holes would flatter one of them.
            unwritten: Some(FirstWrites::InOrder),
            uneven: false,
            ..below.clone()
        })
    }
}

#[derive(Clone, Copy)]
struct Room {
    members: u64,
    each: u64,
}

impl Room {
    /// Returns the number of members, and of usable extents on each. The first extent of each
    /// member belongs to LVM: its metadata take 1 MiB, or what alignment to the stripes below makes
    /// of that.
    fn below_layer(below: &ExposedDevice, spec: &LayerSpec) -> Result<Room> {
        let each = (below.bytes / EXTENT).saturating_sub(1);
        ensure!(
            each > 0,
            "{}: lvm needs at least {} of each member, there are {}",
            spec.origin,
            show_bytes(2 * EXTENT),
            show_bytes(below.bytes)
        );
        Ok(Room { members: below.paths.len() as u64, each })
    }

    fn all_extents(self) -> u64 {
        self.members * self.each
    }
}

fn volume(spec: &LayerSpec, room: Room) -> Result<LvmVolume> {
    let kind = required_word(spec, "type")?;
    options_of(spec, "type", KINDS)?;
    match kind {
        "linear" => {
            Ok(LvmVolume::Linear { extents: requested_extents(spec, room.all_extents(), 1)? })
        }
        "striped" => {
            let stripes = stripes(spec, room, room.members)?;
            Ok(LvmVolume::Striped {
                extents: requested_extents(spec, room.all_extents(), stripes.count)?,
                stripes,
            })
        }
        "thin" => thin(spec, room),
        "cache" => cache(spec, room),
        other => bail!("{}: lvm(type={other}) is unknown", spec.origin),
    }
}

/// Returns the extents of the volume: `most`, or what `size` asks for, in whole multiples of
/// `multiple` as LVM rounds them. Refuses a size that has no room.
fn requested_extents(spec: &LayerSpec, most: u64, multiple: u64) -> Result<u64> {
    let most = most / multiple * multiple;
    let Some(bytes) = optional_bytes(spec, "size")? else { return Ok(most) };
    let extents = bytes.div_ceil(EXTENT).next_multiple_of(multiple);
    ensure!(
        extents <= most,
        "{}: lvm(size={}) is more than its members have room for; hint: size={}MiB at most, or leave it out",
        spec.origin,
        required_word(spec, "size")?,
        most * EXTENT / MIB
    );
    Ok(extents)
}

fn stripes(spec: &LayerSpec, room: Room, usual: u64) -> Result<Stripes> {
    let count = spec.option("stripes").map_or(Ok(usual), |_| required_number(spec, "stripes"))?;
    ensure!(
        count >= 2,
        "{}: a volume is striped over two members at least, not over {count}; hint: lvm(linear), or name more media",
        spec.origin
    );
    ensure!(
        room.members % count == 0,
        "{}: stripes={count} leaves some of {} members without use; hint: a number that divides it, as stripes={}",
        spec.origin,
        room.members,
        room.members
    );
    Ok(Stripes { count, size: stripe_size(spec)? })
}

fn stripe_size(spec: &LayerSpec) -> Result<u64> {
    let bytes = required_bytes(spec, "stripe-size")?;
    ensure!(
        bytes.is_power_of_two() && (4 * KIB..=EXTENT).contains(&bytes),
        "{}: stripe-size={} is not a power of two from 4KiB to 4MiB",
        spec.origin,
        required_word(spec, "stripe-size")?
    );
    Ok(bytes)
}

/// Returns the size of a chunk in bytes. Refuses what is not a multiple of `unit` up to 1 GiB.
fn chunk_size(spec: &LayerSpec, unit: u64) -> Result<u64> {
    let bytes = required_bytes(spec, "chunk-size")?;
    ensure!(
        bytes % unit == 0 && (unit..=GIB).contains(&bytes),
        "{}: chunk-size={} is not a multiple of {} up to 1GiB",
        spec.origin,
        required_word(spec, "chunk-size")?,
        show_bytes(unit)
    );
    Ok(bytes)
}

fn thin(spec: &LayerSpec, room: Room) -> Result<LvmVolume> {
    let chunk_size = chunk_size(spec, 64 * KIB)?;
    let stripes = match spec.option("stripes") {
        Some("1") | None => {
            ensure!(
                !spec.options.contains_key("stripe-size"),
                "{}: stripe-size without stripes; hint: stripes={}",
                spec.origin,
                room.members
            );
            None
        }
        Some(_) => Some(stripes(spec, room, room.members)?),
    };
    let metadata = room.all_extents() * EXTENT / chunk_size * METADATA_OF_A_CHUNK;
    let metadata_extents = metadata.min(MOST_METADATA).div_ceil(EXTENT).max(1);
    // The metadata are on one member, and every stripe has equal parts of all members.
    let pool_extents = match &stripes {
        Some(_) => room.each.saturating_sub(metadata_extents) * room.members,
        None => room.all_extents().saturating_sub(metadata_extents),
    };
    // A pool that is full to its last chunk has no room for the next write.
    let extents = requested_extents(spec, pool_extents.saturating_sub(1), 1)?;
    ensure!(
        extents > 0,
        "{}: the members have no room for a thin pool and its metadata",
        spec.origin
    );
    Ok(LvmVolume::Thin {
        extents,
        pool_extents,
        metadata_extents,
        stripes,
        chunk_size,
        zero: flag(spec, "zero"),
    })
}

fn cache(spec: &LayerSpec, room: Room) -> Result<LvmVolume> {
    ensure!(
        room.members >= 2,
        "{}: lvm(cache) has its volume on all members but the last, and the cache on that; hint: name two media or more",
        spec.origin
    );
    let cache_extents = match optional_bytes(spec, "cache-size")? {
        Some(bytes) => bytes.div_ceil(EXTENT),
        None => room.each,
    };
    let written = || spec.option("cache-size").context("the last member is too small");
    ensure!(
        (LEAST_CACHE..=room.each).contains(&cache_extents),
        "{}: a cache of {} is not between {} and the {} that each member has room for",
        spec.origin,
        written().unwrap_or("all of the last member"),
        show_bytes(LEAST_CACHE * EXTENT),
        show_bytes(room.each * EXTENT)
    );
    Ok(LvmVolume::Cache {
        extents: requested_extents(spec, room.all_extents() - room.each, 1)?,
        cache_extents,
        mode: required_word(spec, "cache-mode")?.to_owned(),
        chunk_size: chunk_size(spec, 32 * KIB)?,
    })
}

fn extents(volume: &LvmVolume) -> u64 {
    match volume {
        LvmVolume::Linear { extents }
        | LvmVolume::Striped { extents, .. }
        | LvmVolume::Thin { extents, .. }
        | LvmVolume::Cache { extents, .. } => *extents,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;

    /// Formats the size shown and the commands, for members of 128 MiB.
    fn shown(members: usize, options: &str) -> String {
        let (exposed, steps) = planned(&Lvm, &over(members, 128 * MIB), options).unwrap();
        let steps: Vec<String> = steps.iter().map(|step| step.op.operation().describe()).collect();
        format!(
            "{} MiB, unwritten {:?}\n{}",
            exposed.bytes / MIB,
            exposed.unwritten,
            steps.join("\n")
        )
    }

    #[test]
    fn what_is_made_of_members_and_words() {
        let all = [
            shown(1, ""),
            shown(3, "linear,size=100MiB"),
            shown(6, "striped"),
            shown(6, "striped,stripes=2,stripe-size=256KiB,size=500MiB"),
            shown(4, "thin,zero=false"),
            shown(4, "thin,stripes=4,chunk-size=1MiB"),
            shown(3, "cache,cache-size=40MiB,cache-mode=writeback"),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn what_no_members_have_room_for_is_refused_before_anything_is_made() {
        let of = |members, options| refused(&Lvm, &over(members, 128 * MIB), options);
        let all = [
            of(1, "striped"),
            of(3, "striped,stripes=2"),
            of(4, "striped,stripes=1"),
            of(4, "striped,stripe-size=96KiB"),
            of(4, "striped,stripe-size=8MiB"),
            of(4, "striped,size=1GiB"),
            of(4, "linear,stripes=2"),
            of(4, "thin,chunk-size=96KiB"),
            of(4, "thin,stripe-size=64KiB"),
            of(4, "striped,chunk-size=64KiB"),
            of(1, "cache"),
            of(2, "cache,cache-size=16MiB"),
            of(2, "cache,chunk-size=33KiB"),
            of(2, "thin,cache-mode=writeback"),
            refused(&Lvm, &over(2, 7 * MIB), "linear"),
            refused(&Lvm, &ExposedDevice { block: false, ..over(1, 128 * MIB) }, "linear"),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    /// A pool of 4 TiB in chunks of 64 KiB has 4 GiB of metadata; one of 64 TiB is bound by
    /// dm-thin.
    #[test]
    fn metadata_of_a_pool_grow_with_its_chunks() {
        let metadata = |bytes: u64, options: &str| {
            let (_, steps) = planned(&Lvm, &over(1, bytes), options).unwrap();
            let Op::MakeLvm(MakeLvm { volume: LvmVolume::Thin { metadata_extents, .. }, .. }) =
                &steps[0].op
            else {
                panic!("{steps:?}")
            };
            metadata_extents * EXTENT
        };
        assert_eq!(metadata(4 << 40, "thin"), 4 * GIB);
        assert_eq!(metadata(4 << 40, "thin,chunk-size=1MiB"), 256 * MIB);
        assert_eq!(metadata(64 << 40, "thin"), 15 * GIB);
    }
}
