//! Plans arrays, and refuses what cannot be planned.

use super::*;
use crate::state::{AskedState, transition};
use iotax_drivers::run_tag::RunTag;
use iotax_load::Hold;
use iotax_steps::operation::Operation;

const GIB: u64 = 1 << 30;

fn mdraid(options: &[(&str, &str)]) -> LayerSpec {
    LayerSpec {
        name: "mdraid".into(),
        options: options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: "here".into(),
    }
}

fn drives(count: usize, bytes: u64) -> ExposedDevice {
    ExposedDevice {
        paths: (0..count)
            .map(|number| PathRef::Path(format!("/dev/nvme{number}n1").into()))
            .collect(),
        bytes,
        block: true,
        place: "lab".into(),
        copies: Vec::new(),
        overlaid: false,
        apart: true,
        hold: Hold::default(),
        writable: false,
        unwritten: None,
        split: false,
        uneven: false,
        engine: None,
        arrays: Vec::new(),
        write_unit: None,
        read_back: Vec::new(),
    }
}

fn planned(options: &[(&str, &str)], below: &ExposedDevice) -> Result<(ExposedDevice, Vec<Op>)> {
    let tag = RunTag { run_id: "20260101-120000-a1b2".into(), run_dir: "/run-dir".into() };
    let mut context = PlanContext::new(tag, None, 1);
    let shown = MdRaid.plan(&mdraid(options), below, &mut context)?;
    Ok((shown, context.steps.into_iter().map(|step| step.op).collect()))
}

fn refused(options: &[(&str, &str)], below: &ExposedDevice) -> String {
    planned(options, below).unwrap_err().to_string()
}

/// The bytes are those that the kernel gave such arrays of members of 64 MiB (Linux 6.1, mdadm
/// 4.2).
#[test]
fn the_bytes_of_an_array_are_those_that_the_kernel_gives() {
    let of = |level: u8, layout: Option<&str>, members: u64| {
        let spec = mdraid(&layout.map(|layout| ("layout", layout)).into_iter().collect::<Vec<_>>());
        array_bytes(&spec, level, members, 64 * MIB, (level != 1).then_some(64 * KIB)) / 512
    };
    assert_eq!(of(5, None, 4), 393_216);
    assert_eq!((of(1, None, 2), of(0, None, 2), of(6, None, 5)), (131_072, 262_144, 393_216));
    for layout in ["n2", "f2", "o2"] {
        assert_eq!(of(10, Some(layout), 3), 196_608, "{layout}");
    }
    assert_eq!(of(10, Some("n3"), 3), 131_072);
}

#[test]
fn a_member_has_room_beside_its_superblock_in_whole_chunks() {
    let (shown, ops) =
        planned(&[("level", "5"), ("chunk", "4MiB")], &drives(3, 128 * MIB)).unwrap();
    let Op::CreateArray(array) = &ops[0] else { panic!("{ops:?}") };
    assert_eq!((array.size, array.data_offset), (Some(124 * MIB), Some(MIB)));
    assert_eq!((array.chunk, shown.bytes, array.bytes), (Some(4 * MIB), 248 * MIB, 248 * MIB));
    assert_eq!(
        (shown.paths, shown.unwritten),
        (vec![PathRef::Yield(0)], Some(FirstWrites::InOrder))
    );
    assert_eq!(array.name, "iotax-120000-a1b2-md0");
    let (_, ops) =
        planned(&[("level", "1"), ("metadata", "1.0"), ("size", "64MiB")], &drives(2, GIB))
            .unwrap();
    let Op::CreateArray(array) = &ops[0] else { panic!("{ops:?}") };
    assert_eq!((array.size, array.data_offset, array.chunk), (Some(64 * MIB), None, None));
    let (shown, ops) = planned(&[("level", "0")], &drives(2, GIB)).unwrap();
    let Op::CreateArray(array) = &ops[0] else { panic!("{ops:?}") };
    assert_eq!(
        (array.size, shown.bytes, ops.len()),
        (None, 2 * (GIB - MIB), 1),
        "nothing to wait for"
    );
}

#[test]
fn the_first_sync_is_waited_for_unless_it_is_left_out() {
    let steps = |sync: &str| planned(&[("level", "6"), ("sync", sync)], &drives(4, GIB)).unwrap().1;
    assert!(
        matches!(&steps("wait")[..], [Op::CreateArray(array), Op::AwaitSync(_)] if !array.assume_clean)
    );
    assert!(matches!(&steps("skip")[..], [Op::CreateArray(array)] if array.assume_clean));
    assert!(matches!(&steps("background")[..], [Op::CreateArray(array)] if !array.assume_clean));
}

#[test]
fn what_makes_no_array_is_refused_before_anything_is_made() {
    let gib = drives(4, GIB);
    let uneven = ExposedDevice { uneven: true, ..drives(4, GIB) };
    let files = ExposedDevice { block: false, ..drives(4, GIB) };
    let all = [
        refused(&[("level", "5")], &drives(2, GIB)),
        refused(&[("level", "6")], &drives(3, GIB)),
        refused(&[("level", "1")], &drives(1, GIB)),
        refused(&[("level", "5")], &files),
        refused(&[("level", "5")], &uneven),
        refused(&[("level", "5"), ("chunk", "48KiB")], &gib),
        refused(&[("level", "5"), ("chunk", "2KiB")], &gib),
        refused(&[("level", "1"), ("chunk", "64KiB")], &gib),
        refused(&[("level", "1"), ("layout", "n2")], &gib),
        refused(&[("level", "5"), ("layout", "n2")], &gib),
        refused(&[("level", "10"), ("layout", "left-symmetric")], &gib),
        refused(&[("level", "0"), ("bitmap", "internal")], &gib),
        refused(&[("level", "0"), ("sync", "wait")], &gib),
        refused(&[("level", "0"), ("size", "64MiB")], &gib),
        refused(&[("level", "5"), ("size", "1GiB")], &gib),
        refused(&[("level", "5"), ("size", "1500KiB")], &gib),
        refused(&[("level", "5"), ("sync-speed-min", "1B")], &gib),
        refused(&[("level", "5"), ("sync-speed-min", "2MiB"), ("sync-speed-max", "1MiB")], &gib),
        refused(&[("level", "1"), ("group-thread-cnt", "4")], &gib),
        refused(&[("level", "5"), ("group-thread-cnt", "9000")], &gib),
        refused(&[("level", "6"), ("stripe-cache-size", "16")], &gib),
        refused(&[("level", "5")], &drives(4, MIB)),
        refused(&[("level", "0")], &uneven),
        refused(&[("level", "10"), ("layout", "n3")], &drives(2, GIB)),
    ];
    insta::assert_snapshot!(all.join("\n"));
    assert!(planned(&[("level", "5"), ("size", "512MiB")], &uneven).is_ok());
}

#[test]
fn settings_of_stripes_are_written_once_the_array_is_made() {
    let options = [("level", "6"), ("group-thread-cnt", "0"), ("stripe-cache-size", "8192")];
    let (_, steps) = planned(&options, &drives(4, GIB)).unwrap();
    let Op::CreateArray(array) = &steps[0] else { panic!("{steps:?}") };
    let said = array.describe();
    assert!(said.ends_with("; md/group_thread_cnt = 0; md/stripe_cache_size = 8192"), "{said}");
    let by_hand = array.commands_by_hand("array");
    assert_eq!(
        by_hand[2],
        "echo 0 > /sys/block/$(basename $(readlink -f /dev/md/iotax-120000-a1b2-md0))/md/group_thread_cnt"
    );
}

#[test]
fn a_stripe_over_an_array_does_not_forget_it() {
    let (array, _) = planned(&[("level", "5")], &drives(3, GIB)).unwrap();
    let parts = ExposedDevice { paths: drives(2, GIB).paths, split: true, ..array.clone() };
    let (stripe, _) = planned(&[("level", "0")], &parts).unwrap();
    assert_eq!(stripe.arrays, array.arrays);
    assert_eq!(planned(&[("level", "0")], &drives(2, GIB)).unwrap().0.arrays, []);
}

#[test]
fn a_level_lives_through_so_many_failures() {
    let of = |level: &str, members| mdraid(&[("level", level)]).survivable_failures(members);
    assert_eq!((of("0", 4), of("1", 3), of("5", 4), of("6", 4), of("10", 4)), (0, 2, 1, 2, 1));
    assert_eq!(mdraid(&[("level", "10"), ("layout", "f3")]).survivable_failures(6), 2);
}

fn steps(options: &[(&str, &str)], from: &str, to: &str) -> Result<Vec<String>> {
    let members: Vec<PathRef> = drives(4, GIB).paths;
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    let made = PathRef::Yield(0);
    let steps = transition(&MdRaid, &mdraid(options), &made, &members, from, to)?;
    Ok(steps.into_iter().map(|(why, op)| format!("{why}: {}", op.operation().describe())).collect())
}

#[test]
fn members_fail_and_come_back_in_their_order() {
    let raid6 = [("level", "6")];
    let states = ["healthy", "failed(1)", "failed(2)", "rebuilding", "healthy"];
    let all: Vec<String> =
        states.windows(2).flat_map(|pair| steps(&raid6, pair[0], pair[1]).unwrap()).collect();
    insta::assert_snapshot!(all.join("\n"));
    assert_eq!(steps(&raid6, "healthy", "failed(2)").unwrap(), all[..2]);
    let at_once = steps(&[("level", "5")], "failed(1)", "healthy").unwrap();
    assert_eq!(at_once.len(), 2, "rebuilt, and waited for: {at_once:?}");
}

#[test]
fn states_that_lose_data_or_lead_nowhere_are_refused() {
    let refused =
        |options: &[(&str, &str)], from, to| steps(options, from, to).unwrap_err().to_string();
    let all = [
        refused(&[("level", "5")], "healthy", "failed(2)"),
        refused(&[("level", "0")], "healthy", "failed(1)"),
        refused(&[("level", "10")], "failed(1)", "failed(2)"),
        refused(&[("level", "5")], "healthy", "rebuilding"),
        refused(&[("level", "5")], "healthy", "healthy"),
        refused(&[("level", "6")], "failed(2)", "failed(1)"),
        refused(&[("level", "5")], "rebuilding", "failed(1)"),
        refused(&[("level", "5"), ("sync", "skip")], "healthy", "failed(1)"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_layer_without_members_has_no_states() {
    let spec = LayerSpec { name: "loop".into(), ..mdraid(&[]) };
    let (made, healthy) = (PathRef::Yield(0), AskedState::Healthy);
    let layer = crate::volume::Loop;
    assert_eq!(spec.survivable_failures(4), 0);
    let error = transition(&layer, &spec, &made, &[], healthy, AskedState::Failed(1))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"loop\" has no members that could fail, so it is never failed(1); hint: "),
        "{error}"
    );
}

#[test]
fn a_name_is_short_enough_for_md_and_has_the_end_of_the_runs_id() {
    assert_eq!(name_of("r", "md0"), "iotax-r-md0");
    let long = name_of(&"x".repeat(64), "md9999");
    assert!(long.len() <= 28, "{long}");
}
