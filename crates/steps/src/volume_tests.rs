//! Partitions, parts and arrays made, found and taken away for real, on loop devices of the test's
//! own.

use super::op::{AwaitSync, FailMember, Op, Rebuild};
use super::place_executor::PlaceExecutor;
use anyhow::Result;
use iotax_drivers::dm::{MakeLinear, Stretch};
use iotax_drivers::drives::Drives;
use iotax_drivers::md::{CreateArray, StripeSettings, SyncBounds};
use iotax_drivers::partition::MakePartition;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_facts::array::ArrayState;
use iotax_host::guard::rig::{self, Loop};
use iotax_host::probe::{Probe, program_path};
use std::io::Write;
use std::path::Path;

const MIB: u64 = 1 << 20;

fn tag() -> RunTag {
    RunTag { run_id: "r".into(), run_dir: "/run/r".into() }
}

fn perform(op: &Op) -> Result<StepOutput> {
    RealSystem::default().perform_operation(op, &tag())
}

fn find(op: &Op) -> Option<StepOutput> {
    RealSystem::default().find_interrupted(op, &tag(), &[]).unwrap()
}

fn undo(op: &Op, made: &StepOutput) -> Result<()> {
    RealSystem::default().undo_operation(op, &tag(), made)
}

fn at(path: &Path) -> PathRef {
    PathRef::Path(path.to_owned())
}

/// What no other test or run has by this name.
fn own(what: &str) -> String {
    format!("iotax-{}-{what}", std::process::id())
}

fn bytes_of(device: &Path) -> u64 {
    let sectors = Path::new("/sys/class/block").join(device.file_name().unwrap()).join("size");
    Probe::of_files(Path::new("/")).read_number(sectors).unwrap() * 512
}

/// Whether these programs and drivers are there; a driver that is no module shows its file.
fn has(programs: &[&str], file: &str, module: &str) -> bool {
    let there = programs.iter().all(|name| program_path(name).is_some());
    let driver = Path::new(file).exists() || rig::run(&["modprobe", module]).is_some();
    if !there || !driver {
        rig::skip(&format!("{} and {module}", programs.join(", ")));
    }
    there && driver
}

#[test]
fn a_partition_is_made_found_and_taken_away() {
    if !has(&["sfdisk", "partx", "wipefs"], "/dev/loop-control", "loop") {
        return;
    }
    for table in ["gpt", "dos"] {
        let Some(disk) = Loop::with_size(16 * MIB) else { return };
        let made = MakePartition {
            device: at(&disk.path),
            table: table.into(),
            id: iotax_drivers::partition::id_from(table, "iotax-r-part0"),
            name: "iotax-r-part0".into(),
            start: 31 * 1024 + 512,
            bytes: 8 * MIB,
            drives: Drives::default(),
        };
        let op = Op::MakePartition(made.clone());
        assert_eq!(find(&op), None, "{table}");
        let yielded = perform(&op).unwrap();
        assert_eq!(bytes_of(yielded.path.as_deref().unwrap()), 8 * MIB);
        assert_eq!(find(&op).as_ref(), Some(&yielded));
        let again = perform(&op).unwrap_err();
        assert!(again.is::<NothingMade>(), "{again:#}");
        assert!(format!("{again:#}").contains("has a partition table already"), "{again:#}");
        let theirs = Op::MakePartition(MakePartition { id: "0x5e6f7a8b".into(), ..made });
        assert_eq!(find(&theirs), None);
        assert!(undo(&theirs, &yielded).unwrap_err().is::<NotOurs>());
        undo(&op, &yielded).unwrap();
        undo(&op, &yielded).unwrap();
        assert_eq!(find(&op), None);
        // Its table written over, as a load on the whole disk would: the kernel knows the partition
        // still.
        let yielded = perform(&op).unwrap();
        std::fs::OpenOptions::new()
            .write(true)
            .open(&disk.path)
            .unwrap()
            .write_all(&[0; 1 << 14])
            .unwrap();
        rig::run(&["wipefs", "--all", "--force", &disk.path.display().to_string()]).unwrap();
        undo(&op, &yielded).unwrap();
        assert!(!yielded.path.unwrap().exists());
        let left = rig::run(&["wipefs", "--no-act", &disk.path.display().to_string()]);
        assert_eq!(left.unwrap_or_default().trim(), "", "{table}");
    }
}

#[test]
fn parts_and_the_whole_of_them_are_made_found_and_taken_away() {
    if !rig::root() || !has(&["dmsetup"], "/sys/module/dm_mod", "dm_mod") {
        return;
    }
    let (Some(a), Some(b)) = (Loop::with_size(16 * MIB), Loop::with_size(16 * MIB)) else { return };
    let part = Op::MakeLinear(MakeLinear {
        name: own("dm0"),
        stretches: vec![Stretch { device: at(&a.path), offset: 4 * MIB, bytes: 8 * MIB }],
        read_only: true,
    });
    let made = perform(&part).unwrap();
    let path = made.path.clone().unwrap();
    assert_eq!(bytes_of(&path), 8 * MIB);
    let both = Op::MakeLinear(MakeLinear {
        name: own("dm1"),
        stretches: vec![
            Stretch { device: at(&path), offset: 0, bytes: 8 * MIB },
            Stretch { device: at(&b.path), offset: 0, bytes: 16 * MIB },
        ],
        read_only: true,
    });
    let whole = perform(&both).unwrap();
    assert_eq!(bytes_of(whole.path.as_deref().unwrap()), 24 * MIB);
    assert!(perform(&part).unwrap_err().is::<NothingMade>());
    assert_eq!((find(&part), find(&both).as_ref()), (Some(made.clone()), Some(&whole)));
    assert!(undo(&part, &made).is_err(), "the whole stands on it");
    undo(&both, &whole).unwrap();
    undo(&part, &made).unwrap();
    undo(&part, &made).unwrap();
    assert_eq!(find(&part), None);
}

fn array(level: u8, members: &[Loop]) -> CreateArray {
    CreateArray {
        members: members.iter().map(|member| at(&member.path)).collect(),
        name: own("md0"),
        level,
        chunk: (level != 1).then_some(64 << 10),
        layout: None,
        metadata: "1.2".into(),
        bitmap: true,
        size: Some(32 * MIB),
        data_offset: Some(MIB),
        uneven: false,
        assume_clean: false,
        sync_speed: SyncBounds::default(),
        stripes: StripeSettings::default(),
        bytes: (members.len() as u64 - 1) * 32 * MIB,
        drives: Drives::default(),
    }
}

fn superblocks(members: &[Loop]) -> usize {
    let has = |member: &&Loop| {
        rig::run(&["mdadm", "--examine", &member.path.display().to_string()]).is_some()
    };
    members.iter().filter(has).count()
}

#[test]
fn an_array_goes_through_its_states_and_leaves_no_superblock() {
    if !rig::root() || !has(&["mdadm"], "/sys/module/raid456", "raid456") {
        return;
    }
    let members: Vec<Loop> = (0..3).filter_map(|_| Loop::with_size(34 * MIB)).collect();
    let create = array(5, &members);
    let op = Op::CreateArray(create.clone());
    assert_eq!(find(&op), None);
    let made = perform(&op).unwrap();
    let path = made.path.clone().unwrap();
    let state = || RealSystem::default().read_array_state(&op, &made).unwrap();
    assert_eq!((bytes_of(&path), find(&op).as_ref()), (64 * MIB, Some(&made)));
    let bounds = || {
        let folder = Path::new("/sys/block").join(path.file_name().unwrap()).join("md");
        ["sync_speed_min", "sync_speed_max"]
            .map(|file| std::fs::read_to_string(folder.join(file)).unwrap())
    };
    let before = bounds();
    let wait = Op::AwaitSync(AwaitSync { array: at(&path) });
    perform(&wait).unwrap();
    assert_eq!((state(), bounds()), (Some(ArrayState::Healthy), before));
    let again = perform(&Op::CreateArray(CreateArray { name: own("md1"), ..create })).unwrap_err();
    assert!(
        again.is::<NothingMade>() && format!("{again:#}").contains("is in use by"),
        "{again:#}"
    );
    let member = at(&members[0].path);
    perform(&Op::FailMember(FailMember { array: at(&path), member: member.clone() })).unwrap();
    assert_eq!(state(), Some(ArrayState::Degraded { missing: 1 }));
    perform(&Op::Rebuild(Rebuild { array: at(&path), member: member.clone(), bytes: 0 })).unwrap();
    perform(&wait).unwrap();
    assert_eq!(state(), Some(ArrayState::Healthy));
    // A member that is out of it has a superblock still.
    perform(&Op::FailMember(FailMember { array: at(&path), member })).unwrap();
    assert_eq!(superblocks(&members), 3);
    undo(&op, &made).unwrap();
    undo(&op, &made).unwrap();
    assert_eq!((find(&op), superblocks(&members), state()), (None, 0, None));
}

#[test]
fn what_a_killed_mdadm_left_is_found_and_taken_away() {
    if !rig::root() || !has(&["mdadm"], "/sys/module/raid1", "raid1") {
        return;
    }
    let members: Vec<Loop> = (0..2).filter_map(|_| Loop::with_size(34 * MIB)).collect();
    let create = CreateArray { bytes: 32 * MIB, ..array(1, &members) };
    let op = Op::CreateArray(create.clone());
    let made = perform(&op).unwrap();
    // Superblocks alone, as between writing them and starting the array.
    rig::run(&["mdadm", "--stop", &made.path.unwrap().display().to_string()]).unwrap();
    assert_eq!(find(&op), Some(StepOutput::default()));
    let stale =
        perform(&Op::CreateArray(CreateArray { name: own("md1"), ..create.clone() })).unwrap_err();
    assert!(stale.is::<NothingMade>(), "{stale:#}");
    assert!(format!("{stale:#}").contains("carries a superblock of array"), "{stale:#}");
    let theirs = Op::CreateArray(CreateArray { name: own("md1"), ..create });
    undo(&theirs, &StepOutput::default()).unwrap();
    assert_eq!(superblocks(&members), 2, "another's superblocks stay");
    // One of two members, as udev makes it of the first that it sees.
    rig::run(&["mdadm", "--incremental", &members[0].path.display().to_string()]).unwrap();
    let found = find(&op).unwrap();
    assert!(found.path.is_some(), "inactive, and ours");
    undo(&op, &found).unwrap();
    assert_eq!((find(&op), superblocks(&members)), (None, 0));
}

#[test]
fn members_of_unequal_size_are_refused_before_anything_is_made() {
    if !rig::root() || !has(&["mdadm"], "/sys/module/raid1", "raid1") {
        return;
    }
    let members: Vec<Loop> =
        [34, 36].into_iter().filter_map(|mib| Loop::with_size(mib * MIB)).collect();
    let op = Op::CreateArray(CreateArray { bytes: 32 * MIB, ..array(1, &members) });
    let error = perform(&op).unwrap_err();
    assert!(error.is::<NothingMade>(), "{error:#}");
    assert!(format!("{error:#}").contains("members are of unequal size"), "{error:#}");
    assert_eq!(superblocks(&members), 0);
}
