//! `zfs`: a pool over one device or several, and a volume or a file in it. The room of the pool is
//! computed here with a fifth to spare, so that the size of the volume is known before anything is
//! made: a full pool measures its own search for room.

use super::{array_of, file_on, options_of};
use crate::state::StateMove;
use crate::{
    Claim, ExposedDevice, FirstWrites, Layer, OwnCache, PlanContext, flag, optional_bytes,
    required_bytes, required_number, required_word,
};
use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::PathRef;
use iotax_host::caches;
use iotax_host::probe::Probe;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::zfs::{HELP, block_option, is_dataset};
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{
    AwaitResilver, LimitArc, MakeZpool, Mount, Op, Vdev, ZfsContent, ZpoolOffline, ZpoolReplace,
};
use iotax_units::{GIB, KIB, MIB, show_bytes};

/// Options, each with the kinds (`zvol`, `dataset`) that it applies to.
const KINDS: &[(&str, &[&str])] = &[
    ("volblocksize", &["zvol"]),
    ("thin", &["zvol"]),
    ("recordsize", &["dataset"]),
    ("atime", &["dataset"]),
];

/// Bytes of a member that ZFS does not use for data, and some more: the partition table of zpool
/// takes 9 MiB, the labels 4.5 MiB.
const HEAD: u64 = 16 * MIB;
/// Smallest member. ZFS takes no device smaller than 64 MiB.
const LEAST_MEMBER: u64 = 64 * MIB + HEAD;
/// Percentage of a pool's raw bytes that metaslabs cover. They all have one size, and leave a
/// little at the end.
const WHOLE_METASLABS: u64 = 98;
/// Least slop space in bytes, of which ZFS reserves a 32nd of a pool; half of a small pool, if that
/// is less.
const LEAST_SLOP: u64 = 128 * MIB;
/// Most slop space that ZFS reserves, in bytes.
const MOST_SLOP: u64 = 128 * GIB;

/// A pool with a volume or a file in it.
pub struct Zfs;

impl Layer for Zfs {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "zfs", "blkid", "wipefs"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn gives_unwritten(&self, spec: &LayerSpec) -> bool {
        !is_dataset(spec)
    }

    fn state_move_op(
        &self,
        _: &LayerSpec,
        made: &PathRef,
        members: &[PathRef],
        step: StateMove,
    ) -> Result<Op> {
        let content = made.clone();
        let member = |at: usize| members[at].clone();
        Ok(match step {
            StateMove::Fail(at) => Op::ZpoolOffline(ZpoolOffline { content, member: member(at) }),
            StateMove::Return(at) => {
                Op::ZpoolReplace(ZpoolReplace { content, member: member(at), bytes: 0 })
            }
            StateMove::Await => Op::AwaitResilver(AwaitResilver { content }),
        })
    }

    fn write_cache(
        &self,
        spec: &LayerSpec,
        _: Option<u64>,
        machine: Option<&Probe>,
    ) -> Option<OwnCache> {
        // Writes wait in memory for the next transaction group.
        let cache = caches::zfs(machine?).filter(|_| spec.option("sync") != Some("always"))?;
        Some(OwnCache { cache, flushed: spec.option("sync") != Some("disabled") })
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MakeZpool(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            below.block,
            "{}: zfs needs block devices below it; hint: put loop between",
            spec.origin
        );
        let wish = PoolWish::from_spec(spec, below)?;
        limit_arc(spec, context)?;
        let instance = context.instance("zfs");
        let make = MakeZpool {
            name: format!("iotax-{}-{instance}", context.tag.run_id),
            members: below.paths.clone(),
            vdev: wish.vdev,
            ashift: wish.ashift,
            properties: properties(spec)?,
            dedup_bytes: (required_word(spec, "dedup")? == "on").then_some(wish.bytes),
            content: wish.content(),
            drives: Drives::default(),
        };
        let pool = context.add_step("make the pool and what is in it", Op::MakeZpool(make));
        let in_use = wish.in_use(below.paths.len() as u64);
        let arrays = array_of(spec, below, pool, PathRef::Yield(pool), in_use);
        let (bytes, writable) = (wish.bytes, context.writable);
        let shown = ExposedDevice { bytes, writable, uneven: false, arrays, ..below.clone() };
        if !wish.dataset {
            let unwritten = Some(FirstWrites::InOrder);
            return Ok(ExposedDevice {
                paths: vec![PathRef::Yield(pool)],
                block: true,
                unwritten,
                ..shown
            });
        }
        let mount =
            Mount::without_atime(PathRef::Yield(pool), context.directory().join(instance), "zfs");
        let relatime = spec.option("atime") == Some("on");
        let path = file_on(context, Mount { relatime, ..mount }, wish.bytes);
        Ok(ExposedDevice { paths: vec![path], block: false, unwritten: None, ..shown })
    }
}

fn properties(spec: &LayerSpec) -> Result<Vec<String>> {
    let named = ["compression", "dedup", "sync", "primarycache", "atime"];
    named.into_iter().map(|name| Ok(format!("{name}={}", required_word(spec, name)?))).collect()
}

/// Adds the step that limits the ARC to `arc-max`, if that is asked for. All pools of a machine
/// share one ARC, so another limit than that of a pool which is up at the same time is refused.
fn limit_arc(spec: &LayerSpec, context: &mut PlanContext) -> Result<()> {
    let wanted = optional_bytes(spec, "arc-max")?;
    let here = context.steps.iter().filter(|step| step.place == context.place);
    let (mut pools, mut limit) = (false, None);
    for step in here {
        match &step.op {
            Op::MakeZpool(_) => pools = true,
            Op::LimitArc(arc) => limit = Some(arc.bytes),
            _ => {}
        }
    }
    ensure!(
        !pools || limit == wanted,
        "{}: all pools of a machine share one ARC, and another stack that is up beside this one has {}; \
         hint: the same arc-max in both, or a run of their own",
        spec.origin,
        limit.map_or_else(
            || "no arc-max".to_owned(),
            |bytes| format!("arc-max={}", show_bytes(bytes))
        )
    );
    if let Some(bytes) = wanted.filter(|_| limit.is_none()) {
        context
            .add_step("limit ZFS's ARC", Op::LimitArc(LimitArc { bytes, was: Default::default() }));
    }
    Ok(())
}

struct PoolWish {
    vdev: Vdev,
    ashift: u32,
    dataset: bool,
    /// `volblocksize` or `recordsize`, in bytes.
    block: u64,
    bytes: u64,
    thin: bool,
}

impl PoolWish {
    fn from_spec(spec: &LayerSpec, below: &ExposedDevice) -> Result<PoolWish> {
        options_of(spec, "kind", KINDS)?;
        let dataset = is_dataset(spec);
        let (members, each) = (below.paths.len() as u64, below.bytes);
        let vdev = vdev(spec, members)?;
        ensure!(
            each >= LEAST_MEMBER,
            "{}: zfs needs at least {} of each member, there are {}",
            spec.origin,
            show_bytes(LEAST_MEMBER),
            show_bytes(each)
        );
        let ashift = required_number(spec, "ashift")?;
        ensure!(
            (9..=16).contains(&ashift),
            "{}: ashift={ashift} is not between 9 and 16",
            spec.origin
        );
        let block = match dataset {
            true => block(spec, 16 * MIB)?,
            false => block(spec, 128 * KIB)?,
        };
        let most = room(vdev, members, each, block, ashift) / block.max(MIB) * block.max(MIB);
        let bytes = requested_bytes(spec, most, block.max(4 * KIB))?;
        Ok(PoolWish { vdev, ashift, dataset, block, bytes, thin: flag(spec, "thin") })
    }

    /// Returns the bytes that the volume or file takes on each of `members` members when it is
    /// full.
    fn in_use(&self, members: u64) -> u64 {
        let blocks = self.bytes.div_ceil(self.block);
        (blocks * taken(self.vdev, members, self.block, self.ashift)).div_ceil(members.max(1))
    }

    fn content(&self) -> ZfsContent {
        match self.dataset {
            true => ZfsContent::Dataset { recordsize: self.block },
            false => {
                ZfsContent::Zvol { bytes: self.bytes, volblocksize: self.block, thin: self.thin }
            }
        }
    }
}

fn vdev(spec: &LayerSpec, members: u64) -> Result<Vdev> {
    let word = required_word(spec, "vdev")?;
    let (vdev, fits, what) = match word {
        "stripe" => (Vdev::Stripe, true, ""),
        "mirror" => (Vdev::Mirror, members % 2 == 0, "two members or more, an even number"),
        "raidz" => (Vdev::Raidz, members >= 3, "three members or more"),
        "raidz2" => (Vdev::Raidz2, members >= 4, "four members or more"),
        other => bail!("{}: vdev={other} is unknown", spec.origin),
    };
    ensure!(
        fits,
        "{}: zfs({word}) takes {what}, got {members}; hint: name other media",
        spec.origin
    );
    Ok(vdev)
}

fn block(spec: &LayerSpec, most: u64) -> Result<u64> {
    let name = block_option(spec);
    let bytes = required_bytes(spec, name)?;
    ensure!(
        bytes.is_power_of_two() && (512..=most).contains(&bytes),
        "{}: {name}={} is not a power of two from 512B to {}",
        spec.origin,
        required_word(spec, name)?,
        show_bytes(most)
    );
    Ok(bytes)
}

fn requested_bytes(spec: &LayerSpec, most: u64, multiple: u64) -> Result<u64> {
    ensure!(most >= multiple, "{}: the members have no room for a volume", spec.origin);
    let Some(bytes) = optional_bytes(spec, "size")? else { return Ok(most) };
    let written = || spec.option("size").context("no size");
    ensure!(
        bytes % multiple == 0,
        "{}: zfs(size={}) is no multiple of {}",
        spec.origin,
        written()?,
        show_bytes(multiple)
    );
    ensure!(
        bytes <= most,
        "{}: zfs(size={}) is more than such a pool has room for, all of which is written; hint: size={}MiB at most (a fifth \
         stays free), or leave it out",
        spec.origin,
        written()?,
        most / MIB
    );
    Ok(bytes)
}

/// Returns the bytes that a pool has room for, with a fifth to spare. ZFS assumes the space that
/// blocks of 128 KiB take, reserves its slop space from that, and charges other blocks by the space
/// that they really take.
fn room(vdev: Vdev, members: u64, each: u64, block: u64, ashift: u32) -> u64 {
    let raw = members * (each - HEAD) / 100 * WHOLE_METASLABS;
    let share = |bytes: u64, block: u64| {
        let data =
            u128::from(bytes) * u128::from(block) / u128::from(taken(vdev, members, block, ashift));
        u64::try_from(data).unwrap_or(u64::MAX)
    };
    let shown = share(raw, 128 * KIB);
    let slop = (shown / 32).clamp(LEAST_SLOP.min(shown / 2), MOST_SLOP);
    let left = u128::from(share(raw, block)) * u128::from(shown - slop) / u128::from(shown.max(1));
    u64::try_from(left).unwrap_or(u64::MAX) / 5 * 4
}

/// Returns the bytes, over all members, that one block of `block` bytes takes. RAID-Z has parity
/// sectors for each row of data sectors, and pads to a multiple of one more than the number of
/// parity sectors.
fn taken(vdev: Vdev, members: u64, block: u64, ashift: u32) -> u64 {
    let sector = 1u64 << ashift;
    let data = block.div_ceil(sector);
    let parity = match vdev {
        Vdev::Stripe => return data * sector,
        Vdev::Mirror => return 2 * data * sector,
        Vdev::Raidz => 1,
        Vdev::Raidz2 => 2,
    };
    let rows = data.div_ceil(members - parity);
    (data + parity * rows).next_multiple_of(parity + 1) * sector
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use crate::by_name;
    use crate::state::{AskedState, transition};
    use iotax_drivers::run_tag::RunTag;
    use iotax_host::made_up::server;
    use iotax_steps::step::Step;

    fn commands(steps: &[Step]) -> Vec<String> {
        steps.iter().map(|step| step.op.operation().describe()).collect()
    }

    fn shown(members: usize, bytes: u64, options: &str) -> String {
        let (exposed, steps) = planned(&Zfs, &over(members, bytes), options).unwrap();
        let (kind, unwritten) = (if exposed.block { "block" } else { "file" }, exposed.unwritten);
        format!(
            "{kind} of {} MiB, unwritten {unwritten:?}\n{}",
            exposed.bytes / MIB,
            commands(&steps).join("\n")
        )
    }

    #[test]
    fn what_is_made_of_members_and_words() {
        let all = [
            shown(1, 128 * MIB, ""),
            shown(6, 3840 * GIB, "stripe,compression=lz4,dedup=on,size=10TiB"),
            shown(4, 128 * MIB, "mirror,thin=false,volblocksize=8KiB,arc-max=256MiB"),
            shown(
                4,
                GIB,
                "raidz,kind=dataset,recordsize=1MiB,compression=zstd,sync=always,atime=on",
            ),
            shown(6, GIB, "raidz2,primarycache=metadata,ashift=9,size=512MiB"),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn what_does_not_go_together_is_refused_before_anything_is_made() {
        let of = |members, options| refused(&Zfs, &over(members, 128 * MIB), options);
        let all = [
            of(3, "mirror"),
            of(2, "raidz"),
            of(3, "raidz2"),
            of(2, "volblocksize=12KiB"),
            of(2, "volblocksize=256KiB"),
            of(2, "recordsize=128KiB"),
            of(2, "kind=dataset,volblocksize=16KiB"),
            of(2, "kind=dataset,thin=true"),
            of(2, "atime=on"),
            of(2, "ashift=8"),
            of(2, "size=1GiB"),
            of(2, "size=10000000B"),
            refused(&Zfs, &over(2, 64 * MIB), ""),
            refused(&Zfs, &ExposedDevice { block: false, ..over(1, 128 * MIB) }, ""),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn members_go_offline_and_come_back_as_new_drives() {
        let (exposed, _) = planned(&Zfs, &over(4, GIB), "raidz2").unwrap();
        let array = exposed.arrays[0].clone();
        let way = |from, to| {
            let made = PathRef::Yield(array.step);
            let steps = transition(&Zfs, &array.spec, &made, &array.members, from, to);
            steps.map(|steps| {
                steps
                    .iter()
                    .map(|(why, op)| format!("{why}: {}", op.operation().describe()))
                    .collect::<Vec<_>>()
            })
        };
        let (healthy, rebuilding) = (AskedState::Healthy, AskedState::Rebuilding);
        let all = [
            way(healthy, AskedState::Failed(2)).unwrap(),
            way(AskedState::Failed(1), rebuilding).unwrap(),
            way(AskedState::Failed(1), healthy).unwrap(),
            way(rebuilding, healthy).unwrap(),
            vec![way(healthy, AskedState::Failed(3)).unwrap_err().to_string()],
            vec![way(healthy, rebuilding).unwrap_err().to_string()],
        ];
        insta::assert_snapshot!(all.map(|lines| lines.join("\n")).join("\n\n"));
        let (stripe, _) = planned(&Zfs, &over(4, GIB), "stripe").unwrap();
        assert!(stripe.arrays.is_empty(), "it has no member to lose");
    }

    #[test]
    fn parity_and_its_padding_take_room() {
        let of = |vdev, members, block| taken(vdev, members, block, 12) / 4096;
        // 16 KiB are four sectors: on six members of RAID-Z one parity, padded to six.
        assert_eq!(of(Vdev::Raidz, 6, 16 << 10), 6);
        assert_eq!(of(Vdev::Raidz, 4, 128 << 10), 44);
        assert_eq!(of(Vdev::Raidz2, 6, 16 << 10), 6);
        assert_eq!(of(Vdev::Raidz, 3, 4096), 2);
        assert_eq!((of(Vdev::Mirror, 4, 16 << 10), of(Vdev::Stripe, 4, 16 << 10)), (8, 4));
    }

    /// With four members of 128 MiB, zfs 2.1 showed 206558080 bytes as available in RAID-Z, and
    /// with two in a stripe 117059584.
    #[test]
    fn a_fifth_of_what_zfs_shows_stays_free() {
        let small = |vdev, members, block| room(vdev, members, 128 * MIB, block, 12);
        for (mine, zfs) in [
            (small(Vdev::Raidz, 4, 128 << 10), 206_558_080u64),
            (small(Vdev::Stripe, 2, 16 << 10), 117_059_584),
            (small(Vdev::Raidz, 3, 128 << 10), 111_247_840),
        ] {
            assert!(mine <= zfs / 100 * 85 && mine >= zfs / 2, "{mine} of {zfs}");
        }
    }

    #[test]
    fn one_machine_has_one_arc() {
        let spec = |options: &str| {
            let options = options.split(',').filter_map(|option| option.split_once('='));
            LayerSpec {
                name: "zfs".into(),
                options: options.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                place: None,
                far: Vec::new(),
                copies: 1,
                tool: None,
                origin: "here".into(),
            }
        };
        let both = |one: &str, other: &str| {
            let mut context = PlanContext::new(RunTag::of_none(), None, 1);
            Zfs.plan(&spec(one), &over(1, GIB), &mut context).unwrap();
            Zfs.plan(&spec(other), &over(1, GIB), &mut context).map(|_| commands(&context.steps))
        };
        let limits = |commands: Vec<String>| {
            commands.iter().filter(|text| text.contains("zfs_arc_max")).count()
        };
        assert_eq!(both("arc-max=1GiB", "arc-max=1GiB").map(limits).unwrap(), 1);
        assert_eq!(both("dedup=off", "dedup=off").map(limits).unwrap(), 0);
        for (one, other) in [
            ("arc-max=1GiB", "arc-max=2GiB"),
            ("arc-max=1GiB", "dedup=off"),
            ("dedup=off", "arc-max=1GiB"),
        ] {
            let error = both(one, other).unwrap_err().to_string();
            assert!(
                error.contains("share one ARC") && error.contains("hint: the same arc-max"),
                "{error}"
            );
        }
    }

    #[test]
    fn writes_wait_in_memory_unless_all_are_durable() {
        let spec = |sync: &str| LayerSpec {
            name: "zfs".into(),
            options: [("sync".to_owned(), sync.to_owned())].into(),
            place: None,
            far: Vec::new(),
            copies: 1,
            tool: None,
            origin: "here".into(),
        };
        let zfs = by_name("zfs").unwrap();
        let machine = server();
        let holds = |sync| zfs.write_cache(&spec(sync), None, Some(&machine.probe)).is_some();
        assert_eq!(["standard", "disabled", "always"].map(holds), [true, true, false]);
    }
}
