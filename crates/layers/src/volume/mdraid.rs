//! `mdraid(level=5)`: the kernel's RAID over several block devices, by mdadm. Its size is computed,
//! so the data offset on a member is chosen here and not left to mdadm. The array's first sync is
//! waited for before anything is measured.

use super::array_of;
use crate::state::StateMove;
use crate::{
    Claim, ExposedDevice, FirstWrites, Layer, PlanContext, optional_bytes, required_bytes,
    required_number, required_word,
};
use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::drives::Drives;
use iotax_drivers::md::{CreateArray, StripeSettings, SyncBounds, UNEVEN_HINT};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::short_id;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::mdraid::{HELP, copies};
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{AwaitSync, FailMember, Op, Rebuild};
use iotax_units::{KIB, MIB, show_bytes};

/// Hint for uneven members of RAID 0, which has no size option: it takes all of its members.
const UNEVEN_STRIPE_HINT: &str = "name drives or partitions of one size, or lvm(striped), which takes of each as much as the smallest has";
/// Smallest chunk. The kernel takes none smaller than a page.
const LEAST_CHUNK: u64 = 4 * KIB;
/// Data offset on a member. Superblock, bitmap and bad block log are before it, or with metadata
/// 1.0 after all data. mdadm itself would leave up to 128 MiB on a large drive, for reshaping that
/// no run does.
const DATA_OFFSET: u64 = MIB;

pub struct MdRaid;

impl Layer for MdRaid {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        let module = match level(spec) {
            Ok(0) => "raid0",
            Ok(1) => "raid1",
            Ok(10) => "raid10",
            _ => "raid456",
        };
        vec!["root", "mdadm", module]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn gives_unwritten(&self, _: &LayerSpec) -> bool {
        true
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::CreateArray(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let level = level(spec)?;
        check_members(spec, level, below)?;
        let layout = layout(spec, level)?;
        let chunk = chunk(spec, level)?;
        let size = used(spec, below, chunk)?;
        let bytes = array_bytes(spec, level, below.paths.len() as u64, size, chunk);
        let sync = sync(spec, level)?;
        let instance = context.instance("md");
        let name = name_of(&context.tag.run_id, &instance);
        let metadata = required_word(spec, "metadata")?;
        let array = CreateArray {
            members: below.paths.clone(),
            name,
            level,
            chunk,
            layout,
            metadata: metadata.to_owned(),
            bitmap: bitmap(spec, level)?,
            size: (level > 0).then_some(size),
            data_offset: (metadata != "1.0").then_some(DATA_OFFSET),
            uneven: spec.options.contains_key("size"),
            assume_clean: sync == "skip" && level > 0,
            sync_speed: bounds(spec, level)?,
            stripes: stripes(spec, level)?,
            bytes,
            drives: Drives::default(),
        };
        let step = context.add_step(format!("make the RAID {level} array"), Op::CreateArray(array));
        if level > 0 && sync == "wait" {
            let wait = AwaitSync { array: PathRef::Yield(step) };
            context.add_step("wait for its first sync", Op::AwaitSync(wait));
        }
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            bytes,
            block: true,
            writable: context.writable,
            unwritten: Some(FirstWrites::InOrder),
            uneven: false,
            arrays: array_of(spec, below, step, PathRef::Yield(step), size),
            ..below.clone()
        })
    }

    fn state_move_op(
        &self,
        spec: &LayerSpec,
        made: &PathRef,
        members: &[PathRef],
        step: StateMove,
    ) -> Result<Op> {
        ensure!(
            sync(spec, level(spec)?)? == "wait",
            "{}: {} goes through no states with sync={}: what is rebuilt would not be what was written; hint: sync=wait",
            spec.origin,
            spec.layer_text(),
            required_word(spec, "sync")?
        );
        let array = made.clone();
        let member = |at: usize| members[at].clone();
        Ok(match step {
            StateMove::Fail(at) => Op::FailMember(FailMember { array, member: member(at) }),
            StateMove::Return(at) => Op::Rebuild(Rebuild { array, member: member(at), bytes: 0 }),
            StateMove::Await => Op::AwaitSync(AwaitSync { array }),
        })
    }
}

fn level(spec: &LayerSpec) -> Result<u8> {
    required_number(spec, "level")
}

fn check_members(spec: &LayerSpec, level: u8, below: &ExposedDevice) -> Result<()> {
    let least = match level {
        5 => 3,
        6 => 4,
        _ => 2,
    };
    let members = below.paths.len();
    ensure!(
        members >= least,
        "{}: RAID {level} takes at least {least} members, and there are {members}; hint: [/dev/A,/dev/B,...] | mdraid(level={level})",
        spec.origin
    );
    ensure!(
        below.block,
        "{}: mdraid requires block devices, and its members are files; hint: use drives, drives of a lab ([nvme0,nvme1] @lab), or loop devices \
         (losetup --find --show FILE)",
        spec.origin
    );
    let hint = if level == 0 { UNEVEN_STRIPE_HINT } else { UNEVEN_HINT };
    ensure!(
        !below.uneven || (level > 0 && spec.options.contains_key("size")),
        "{}: members are of unequal size; hint: {hint}",
        spec.origin
    );
    if level == 10 {
        layout(spec, level)?;
        let (copies, _) = copies(spec).context("a layout of RAID 10")?;
        ensure!(
            members as u64 >= copies,
            "{}: {copies} copies take at least {copies} members, and there are {members}; hint: more members, or layout=n2",
            spec.origin
        );
    }
    Ok(())
}

fn layout(spec: &LayerSpec, level: u8) -> Result<Option<String>> {
    let Some(layout) = spec.option("layout") else { return Ok(None) };
    let fits = match level {
        5 | 6 => layout.contains("symmetric"),
        10 => !layout.contains("symmetric"),
        _ => bail!("{}: RAID {level} has no layout; hint: leave layout={layout} out", spec.origin),
    };
    ensure!(
        fits,
        "{}: layout={layout} is not a layout of RAID {level}; hint: {}",
        spec.origin,
        if level == 10 { "n2, f2 or o2" } else { "left-symmetric" }
    );
    Ok(Some(layout.to_owned()))
}

fn chunk(spec: &LayerSpec, level: u8) -> Result<Option<u64>> {
    match (spec.options.contains_key("chunk"), level) {
        (true, 1) => bail!("{}: RAID 1 has no chunks; hint: leave chunk out", spec.origin),
        (false, 1) => Ok(None),
        _ => {
            let chunk = required_bytes(spec, "chunk")?;
            ensure!(
                chunk.is_power_of_two() && chunk >= LEAST_CHUNK,
                "{}: a chunk of {} is no power of two from {}; hint: chunk=64KiB",
                spec.origin,
                show_bytes(chunk),
                show_bytes(LEAST_CHUNK)
            );
            Ok(Some(chunk))
        }
    }
}

/// Returns the bytes of each member that hold data: those asked for, else all that there is room
/// for. Refuses what is not a whole number of MiB and of chunks.
fn used(spec: &LayerSpec, below: &ExposedDevice, chunk: Option<u64>) -> Result<u64> {
    let unit = chunk.unwrap_or(0).max(MIB);
    let room = below.bytes.saturating_sub(DATA_OFFSET) / unit * unit;
    let size = match optional_bytes(spec, "size")? {
        Some(_) if level(spec)? == 0 => {
            bail!("{}: RAID 0 takes all of its members; hint: leave size out", spec.origin)
        }
        Some(size) => size,
        None => {
            ensure!(
                room > 0,
                "{}: members of {} have no room for data; hint: they take {} at least",
                spec.origin,
                show_bytes(below.bytes),
                show_bytes(unit + DATA_OFFSET)
            );
            room
        }
    };
    ensure!(
        size % unit == 0 && size > 0,
        "{}: {} of each member are no whole number of {}; hint: size={}",
        spec.origin,
        show_bytes(size),
        show_bytes(unit),
        show_bytes((size / unit).max(1) * unit)
    );
    ensure!(
        size <= room,
        "{}: size={} is more than a member has room for: {} beside its superblock",
        spec.origin,
        show_bytes(size),
        show_bytes(room)
    );
    Ok(size)
}

fn array_bytes(spec: &LayerSpec, level: u8, members: u64, size: u64, chunk: Option<u64>) -> u64 {
    match level {
        0 => members * size,
        1 => size,
        5 => (members - 1) * size,
        6 => (members - 2) * size,
        // This is the computation of the kernel's raid10_size, in chunks.
        _ => {
            let chunk = chunk.unwrap_or(size);
            // The first number is that of near copies, the second that of far or offset copies.
            let (near, far) = match copies(spec) {
                Some((copies, true)) => (copies, 1),
                Some((copies, false)) => (1, copies),
                None => (1, 1),
            };
            size / chunk / far * members / near * chunk
        }
    }
}

fn bitmap(spec: &LayerSpec, level: u8) -> Result<bool> {
    let wanted = required_word(spec, "bitmap")? == "internal";
    ensure!(!wanted || level > 0, "{}: RAID 0 has no bitmap; hint: leave bitmap out", spec.origin);
    Ok(wanted)
}

fn sync(spec: &LayerSpec, level: u8) -> Result<&str> {
    ensure!(
        level > 0 || !spec.options.contains_key("sync"),
        "{}: RAID 0 has nothing to sync; hint: leave sync out",
        spec.origin
    );
    required_word(spec, "sync")
}

fn bounds(spec: &LayerSpec, level: u8) -> Result<SyncBounds> {
    let bound = |name: &str| -> Result<Option<u64>> {
        let bytes = optional_bytes(spec, name)?;
        ensure!(
            level > 0 || bytes.is_none(),
            "{}: RAID 0 has nothing to sync; hint: leave {name} out",
            spec.origin
        );
        ensure!(
            bytes.is_none_or(|bytes| bytes >= KIB),
            "{}: {name} is less than 1 KiB a second; hint: {name}=1MiB",
            spec.origin
        );
        Ok(bytes)
    };
    let bounds = SyncBounds { least: bound("sync-speed-min")?, most: bound("sync-speed-max")? };
    if let SyncBounds { least: Some(least), most: Some(most) } = bounds {
        ensure!(least <= most, "{}: sync-speed-min is more than sync-speed-max", spec.origin);
    }
    Ok(bounds)
}

/// Largest number of threads, and numbers of pages, that the kernel takes (drivers/md/raid5.c).
const MOST_GROUP_THREADS: u64 = 8192;
const STRIPE_CACHE: std::ops::RangeInclusive<u64> = 17..=32768;

fn stripes(spec: &LayerSpec, level: u8) -> Result<StripeSettings> {
    let number = |name: &str| -> Result<Option<u64>> {
        let value = spec.option_number(name);
        ensure!(
            matches!(level, 5 | 6) || value.is_none(),
            "{}: RAID {level} has no parity, and {name} is about its stripes; hint: leave {name} out",
            spec.origin
        );
        Ok(value)
    };
    let (group_thread_cnt, stripe_cache_size) =
        (number("group-thread-cnt")?, number("stripe-cache-size")?);
    ensure!(
        group_thread_cnt.is_none_or(|threads| threads <= MOST_GROUP_THREADS),
        "{}: group-thread-cnt is more than {MOST_GROUP_THREADS}, the most that the kernel takes; hint: group-thread-cnt=4",
        spec.origin
    );
    ensure!(
        stripe_cache_size.is_none_or(|pages| STRIPE_CACHE.contains(&pages)),
        "{}: stripe-cache-size is not from {} to {}, the pages that the kernel takes; hint: stripe-cache-size=8192",
        spec.origin,
        STRIPE_CACHE.start(),
        STRIPE_CACHE.end()
    );
    Ok(StripeSettings { group_thread_cnt, stripe_cache_size })
}

/// Returns the name of an array. md keeps 32 bytes for the name and the home host before it. The
/// end of a run's id is enough to distinguish runs.
fn name_of(run_id: &str, instance: &str) -> String {
    format!("iotax-{}-{instance}", short_id(run_id))
}

#[cfg(test)]
#[path = "mdraid_tests.rs"]
mod tests;
