//! `spdk(...)`: files or devices of this host as one bdev of a running SPDK target, joined by its
//! RAID, with a logical volume on top if that is asked for. Only layers that bring a bdev to a
//! kernel may be above it. Refuses levels that the members are too few for, and options without
//! effect.

use super::array_of;
use crate::state::StateMove;
use crate::{
    Claim, ExposedDevice, FirstWrites, Layer, PlanContext, needs, optional_bytes, required_bytes,
    required_word,
};
use anyhow::{Result, bail, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::spdk;
use iotax_drivers::spdk::join::{JoinSpdk, SpdkLvol, SpdkRaid};
use iotax_drivers::spdk::raid::{ChangeSpdkArray, SpdkChange};
use iotax_host::Missing;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::spdk::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::Op;
use iotax_units::{KIB, MIB, show_bytes};
use std::path::Path;

/// Size of a page of SPDK's blobstore: each cluster takes at most one page of metadata.
const PAGE: u64 = 4 * KIB;

pub struct SpdkBdev;

impl Layer for SpdkBdev {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn missing_on_host(&self, spec: &LayerSpec) -> Vec<Missing> {
        let (Ok(rpc), Ok(op)) = (required_word(spec, "rpc"), of_words(spec)) else {
            return Vec::new();
        };
        let what = spdk::check_target_methods(Path::new(rpc), &op.methods()).err();
        what.and_then(|what| needs::need_as_missing("spdk", what)).into_iter().collect()
    }

    fn claim(&self, spec: &LayerSpec) -> Claim {
        if has_volume(spec) { Claim::Writes } else { Claim::SharedRead }
    }

    fn writes_below(&self, spec: &LayerSpec) -> bool {
        has_volume(spec)
    }

    fn gives_unwritten(&self, spec: &LayerSpec) -> bool {
        spec.option("lvol") == Some("thin")
    }

    fn state_move_op(
        &self,
        _: &LayerSpec,
        made: &PathRef,
        _: &[PathRef],
        step: StateMove,
    ) -> Result<Op> {
        let change = match step {
            StateMove::Fail(at) => SpdkChange::Leaves(at),
            StateMove::Return(at) => SpdkChange::Returns(at),
            StateMove::Await => SpdkChange::AwaitWhole,
        };
        Ok(Op::ChangeSpdkArray(ChangeSpdkArray { made: made.clone(), change, bytes: 0 }))
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::JoinSpdk(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            !below.place.is_guest(),
            "{}: an SPDK target runs on this host or one over ssh, and what is below is on {}",
            spec.origin,
            below.place
        );
        let unwritten = below
            .unwritten
            .or((spec.option("lvol") == Some("thin")).then_some(FirstWrites::InOrder));
        let read_only = !(context.writable || has_volume(spec) || unwritten.is_some());
        let instance = context.instance("spdk");
        let mut op = JoinSpdk {
            members: below.paths.clone(),
            mib: (!below.block).then_some(below.bytes / MIB),
            read_only,
            name: format!("iotax-{}-{}", context.tag.run_id, instance),
            ..of_words(spec)?
        };
        check_members(&op, spec)?;
        let of_member = op.mib.map_or(below.bytes, |mib| mib * MIB);
        let joined = joined_bytes(&op, of_member);
        ensure!(
            joined > 0,
            "{}: {} of each member are too few",
            spec.origin,
            show_bytes(of_member)
        );
        let write_unit = write_unit(&op).or(below.write_unit);
        let bytes = match &mut op.lvol {
            None => joined,
            Some(lvol) => {
                lvol.mib = volume_mib(lvol.cluster, joined, spec)?;
                lvol.mib * MIB
            }
        };
        let bdev = PathRef::Bdev { rpc: op.rpc.clone(), name: op.bdev() };
        let step = context.add_step("make the bdev in the SPDK target", Op::JoinSpdk(op));
        let writable = context.writable;
        let arrays = array_of(spec, below, step, bdev.clone(), below.bytes);
        Ok(ExposedDevice {
            paths: vec![bdev],
            bytes,
            block: true,
            writable,
            unwritten,
            write_unit,
            arrays,
            split: false,
            uneven: false,
            ..below.clone()
        })
    }
}

fn has_volume(spec: &LayerSpec) -> bool {
    spec.option("lvol") != Some("none")
}

/// Returns the operation as far as the options alone determine it: members, name and sizes are
/// still to be set.
fn of_words(spec: &LayerSpec) -> Result<JoinSpdk> {
    let raid = required_word(spec, "raid")?;
    let has_strips = !matches!(raid, "none" | "raid1");
    without_effect(spec, "strip-size", has_strips, &format!("raid={raid} has no strips"))?;
    without_effect(spec, "cluster-size", has_volume(spec), "there is no store of logical volumes")?;
    without_effect(
        spec,
        "size",
        has_volume(spec),
        "there is no logical volume, and a bdev is used whole",
    )?;
    let strip_kib = has_strips
        .then(|| power_of_two(spec, "strip-size", PAGE))
        .transpose()?
        .map(|bytes| bytes / KIB);
    let cluster = || power_of_two(spec, "cluster-size", 16 * PAGE);
    let lvol = has_volume(spec).then(cluster).transpose()?;
    Ok(JoinSpdk {
        rpc: required_word(spec, "rpc")?.into(),
        members: Vec::new(),
        uring: required_word(spec, "aio")? == "io_uring",
        read_only: false,
        // It is not known yet if the members are files.
        mib: Some(0),
        raid: (raid != "none").then(|| SpdkRaid { level: raid.to_owned(), strip_kib }),
        lvol: lvol.map(|cluster| SpdkLvol {
            thin: spec.option("lvol") == Some("thin"),
            cluster,
            mib: 0,
        }),
        name: String::new(),
    })
}

fn without_effect(spec: &LayerSpec, option: &str, has: bool, why: &str) -> Result<()> {
    let written = spec.options.contains_key(option);
    ensure!(has || !written, "{}: {option} without effect: {why}; hint: leave it out", spec.origin);
    Ok(())
}

fn power_of_two(spec: &LayerSpec, option: &str, least: u64) -> Result<u64> {
    let bytes = required_bytes(spec, option)?;
    ensure!(
        bytes.is_power_of_two() && bytes >= least,
        "{}: {option}={} is no power of two from {} on; hint: 64KiB",
        spec.origin,
        required_word(spec, option)?,
        show_bytes(least)
    );
    Ok(bytes)
}

/// Refuses members that the RAID level cannot join, and io_uring for what is only read.
fn check_members(op: &JoinSpdk, spec: &LayerSpec) -> Result<()> {
    let origin = &spec.origin;
    match (&op.raid, op.members.len()) {
        (None, 1) => {}
        (None, several) => {
            bail!(
                "{origin}: {several} members and no raid; hint: raid=raid0, raid1, raid5f or concat"
            )
        }
        (Some(raid), count) => {
            let least = if raid.level == "raid5f" { 3 } else { 2 };
            ensure!(
                count >= least,
                "{origin}: {} joins {least} members or more, and there is {count}; hint: [a,b,...] below it, or raid=none",
                raid.level
            );
            ensure!(
                raid.level != "raid5f" || op.lvol.is_none(),
                "{origin}: raid5f takes writes of full stripes only, and a store of logical volumes writes single pages; \
                 hint: lvol=none, or raid1"
            );
        }
    }
    ensure!(
        !op.uring || !op.read_only,
        "{origin}: SPDK's io_uring bdev cannot open what is below for reading only, and the load only reads; hint: aio=libaio"
    );
    Ok(())
}

/// Returns the bytes of the array of members with `of_member` bytes each, of which whole strips are
/// used.
fn joined_bytes(op: &JoinSpdk, of_member: u64) -> u64 {
    let Some(raid) = &op.raid else { return of_member };
    let used = raid.strip_kib.map_or(of_member, |kib| of_member / (kib * KIB) * (kib * KIB));
    let members = op.members.len() as u64;
    match raid.level.as_str() {
        "raid1" => used,
        "raid5f" => used * (members - 1),
        _ => used * members,
    }
}

/// Returns the bytes of a full stripe of raid5f, which writes nothing else: it does not read the
/// blocks that it would need for the parity. `None` for other levels.
fn write_unit(op: &JoinSpdk) -> Option<u64> {
    let raid = op.raid.as_ref().filter(|raid| raid.level == "raid5f")?;
    Some(raid.strip_kib? * KIB * (op.members.len() as u64 - 1))
}

/// Returns the size of the volume in MiB: the one asked for, else all whole clusters that the
/// metadata leave. Fails if there is no room for it.
fn volume_mib(cluster: u64, joined: u64, spec: &LayerSpec) -> Result<u64> {
    let clusters = joined / cluster;
    // The metadata are a page for each cluster, the superblock, and three bit masks with a header
    // each.
    let pages = clusters + 1 + 3 * (clusters / (8 * PAGE) + 2);
    let free = clusters.saturating_sub((pages * PAGE).div_ceil(cluster) + 1);
    let most = free * cluster / MIB;
    let wanted = optional_bytes(spec, "size")?.map(|bytes| bytes / MIB);
    let mib = wanted.unwrap_or(most);
    ensure!(
        mib > 0,
        "{}: {} are too few for a volume of whole MiB",
        spec.origin,
        show_bytes(joined)
    );
    ensure!(
        mib <= most,
        "{}: a volume of {} in a store that has {} beside its metadata; hint: a smaller size, or larger members",
        spec.origin,
        show_bytes(mib * MIB),
        show_bytes(most * MIB)
    );
    Ok(mib)
}
