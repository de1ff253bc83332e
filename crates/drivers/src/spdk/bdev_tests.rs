//! Tests bdevs over several files, their parts, arrays' members and NVMe-oF subsystems, against a
//! target that keeps what it receives and against the answers of a real one
//! (`recorded_bdevs.jsonl`).

use super::fake::{FakeTarget, serve};
use super::look::Bdevs;
use super::tests::{folder, play};
use super::{LIMIT, Rpc, export, join, nvmf, raid, read_back, unexport};
use crate::path_ref::PathRef;
use crate::refusal::{NotOurs, NothingMade};
use crate::run_tag::RunTag;
use crate::spdk::export::ExportSpdk;
use crate::spdk::join::{JoinSpdk, SpdkLvol, SpdkRaid, SplitSpdk};
use crate::spdk::nvmf::ExportSpdkNvmf;
use crate::spdk::raid::{ChangeSpdkArray, SpdkChange};
use iotax_facts::array::ArrayState;
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;

/// Three files of a MiB with something after it, a target beside them, and the bdev to make.
struct Rig {
    folder: TempDir,
    target: FakeTarget,
    asked: JoinSpdk,
}

fn rig() -> Rig {
    let folder = folder();
    let target = FakeTarget::start(folder.path());
    let asked = asked(folder.path(), &target.socket);
    Rig { folder, target, asked }
}

fn asked(folder: &Path, socket: &Path) -> JoinSpdk {
    let members = ["a", "b"].map(|name| {
        let file = folder.join(format!("{name}.img"));
        std::fs::write(&file, vec![0; (32 << 20) + 4096]).unwrap();
        PathRef::Path(file)
    });
    JoinSpdk {
        rpc: socket.to_owned(),
        members: members.into(),
        uring: false,
        read_only: false,
        mib: Some(32),
        raid: Some(SpdkRaid { level: "raid1".into(), strip_kib: None }),
        lvol: Some(SpdkLvol { thin: true, cluster: 1 << 20, mib: 16 }),
        name: "iotax-r-spdk0".into(),
    }
}

fn tag() -> RunTag {
    RunTag { run_id: "r".into(), run_dir: "/run/r".into() }
}

fn bdev(asked: &JoinSpdk) -> PathRef {
    PathRef::Bdev { rpc: asked.rpc.clone(), name: asked.bdev() }
}

fn disk(asked: &JoinSpdk, backing: PathRef, name: &str) -> ExportSpdk {
    let name = name.to_owned();
    ExportSpdk {
        rpc: asked.rpc.clone(),
        backing,
        uring: false,
        read_only: false,
        part: None,
        cpumask: None,
        name,
    }
}

fn subsystem(asked: &JoinSpdk) -> ExportSpdkNvmf {
    ExportSpdkNvmf {
        bdev: bdev(asked),
        nqn: "nqn.2026-01.io.iotax:r-nvmf0".into(),
        serial: "iotax-nvmf0".into(),
        hosts: vec!["nqn.2026-01.io.iotax:r-host".into()],
        transport: "TCP".into(),
        at: ("127.0.0.1".parse().unwrap(), 4499),
        has_transport: None,
    }
}

impl Rig {
    fn is_empty(&self) -> bool {
        let state = self.target.state.lock().unwrap();
        let maps = [&state.arrays, &state.stores, &state.subsystems, &state.controllers];
        state.bdevs.is_empty() && maps.iter().all(|map| map.is_empty())
    }

    fn calls(&self) -> String {
        let calls = std::mem::take(&mut self.target.state.lock().unwrap().calls).join("\n");
        calls.replace(self.folder.path().to_str().unwrap(), "FOLDER")
    }
}

#[test]
fn a_bdev_is_made_found_used_and_taken_away() {
    let rig = rig();
    assert!(!join::is_there(&rig.asked).unwrap());
    join::make_joined_bdev(&rig.asked, &tag()).unwrap();
    assert!(join::is_there(&rig.asked).unwrap());
    let files = Bdevs::look_up(&mut Rpc::connect(&rig.target.socket, LIMIT).unwrap()).unwrap();
    assert_eq!(files.files_below(&rig.asked.bdev()), rig.asked.paths().unwrap());
    let disk = disk(&rig.asked, bdev(&rig.asked), "iotax-r-vm0-0");
    export(&disk).unwrap();
    let told = read_back(&rig.target.socket, &disk.name).unwrap();
    let expected = [
        ("bdev", "Logical Volume"),
        ("block-size", "512"),
        ("cache.direct", "on"),
        ("raid", "raid1 of 2, online"),
        ("read-only", "off"),
        ("server", "SPDK v0.1 made up, polls on core 0"),
    ];
    assert_eq!(told, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    unexport(&disk).unwrap();
    join::unmake_joined_bdev(&rig.asked).unwrap();
    assert!(rig.is_empty());
    // Done already is fine.
    join::unmake_joined_bdev(&rig.asked).unwrap();
    insta::assert_snapshot!(rig.calls());
}

#[test]
fn what_is_half_made_is_found_and_taken_away() {
    let without =
        ["bdev_split_create", "bdev_raid_create", "bdev_lvol_create_lvstore", "bdev_lvol_create"];
    for without in without {
        let rig = rig();
        rig.target.state.lock().unwrap().without.push(without);
        let error = join::make_joined_bdev(&rig.asked, &tag()).unwrap_err().to_string();
        assert!(error.contains(&format!("refused {without}")), "{error}");
        assert!(join::is_there(&rig.asked).unwrap(), "{without}");
        join::unmake_joined_bdev(&rig.asked).unwrap();
        assert!(rig.is_empty(), "{without}");
    }
}

#[test]
fn what_is_there_already_is_refused_and_nothing_of_it_taken_back() {
    let rig = rig();
    join::make_joined_bdev(&rig.asked, &tag()).unwrap();
    let error = join::make_joined_bdev(&rig.asked, &tag()).unwrap_err();
    assert!(error.is::<NothingMade>(), "{error:#}");
    assert!(format!("{error:#}").contains("has iotax-r-spdk0-m0, "), "{error:#}");
    let another = JoinSpdk { name: "iotax-s-spdk0".into(), ..rig.asked.clone() };
    let run = RunTag { run_id: "s".into(), ..tag() };
    let error = join::make_joined_bdev(&another, &run).unwrap_err();
    assert!(error.is::<NothingMade>(), "{error:#}");
    assert!(
        format!("{error:#}").contains("a.img is the bdev iotax-r-spdk0-m0 of the SPDK target"),
        "{error:#}"
    );
}

#[test]
fn members_that_the_target_finds_something_on_are_refused() {
    let rig = rig();
    let member = rig.asked.paths().unwrap()[1].to_owned();
    rig.target.state.lock().unwrap().finds_on = Some(member);
    let error = join::make_joined_bdev(&rig.asked, &tag()).unwrap_err().to_string();
    assert!(
        error.contains("has found partitions, an lvstore or a RAID superblock on")
            && error.contains("b.img"),
        "{error}"
    );
    join::unmake_joined_bdev(&rig.asked).unwrap();
    assert!(rig.is_empty());
}

#[test]
fn a_level_that_the_target_was_built_without_is_told_as_such() {
    let rig = rig();
    let raid = SpdkRaid { level: "raid5f".into(), strip_kib: Some(64) };
    let error = join::make_joined_bdev(&JoinSpdk { raid: Some(raid), ..rig.asked.clone() }, &tag())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("hint: its SPDK has no such RAID level: raid5f is built in by"),
        "{error}"
    );
}

#[test]
fn what_is_somebody_elses_by_now_is_left_alone() {
    let changed = |change: &dyn Fn(&mut super::fake::FakeState)| {
        let rig = rig();
        join::make_joined_bdev(&rig.asked, &tag()).unwrap();
        change(&mut rig.target.state.lock().unwrap());
        let error = join::unmake_joined_bdev(&rig.asked).unwrap_err();
        assert!(error.downcast_ref::<NotOurs>().is_some(), "{error:#}");
        assert!(!rig.is_empty());
        error.to_string()
    };
    let store = |state: &mut super::fake::FakeState| {
        state.stores.get_mut("iotax-r-spdk0-lvs").unwrap()["base_bdev"] = "theirs".into();
    };
    assert!(changed(&store).contains("lvstore iotax-r-spdk0-lvs is on theirs: left alone"));
    let array = |state: &mut super::fake::FakeState| {
        state.stores.clear();
        state.arrays.get_mut("iotax-r-spdk0-raid").unwrap()["base_bdevs_list"][1]["name"] =
            "theirs".into();
    };
    assert!(changed(&array).contains("array iotax-r-spdk0-raid has theirs in it: left alone"));
}

/// Returns the start of a file that carries a store of that name: the superblock, and the attribute
/// of a blob as SPDK writes it.
fn store_of(name: &str) -> Vec<u8> {
    let mut bytes = named(name);
    bytes[..8].copy_from_slice(b"SPDKBLOB");
    bytes
}

/// Returns a stretch of a store without its superblock.
fn named(name: &str) -> Vec<u8> {
    let value = name.len() as u16 + 1;
    let mut attribute =
        [&[2, value as u8 + 8, 0, 0, 0, 4, 0][..], &value.to_le_bytes(), b"name"].concat();
    attribute.extend(name.as_bytes());
    let mut bytes = vec![0; 2 << 20];
    bytes[70_000..70_000 + attribute.len()].copy_from_slice(&attribute);
    bytes
}

#[test]
fn superblocks_of_a_target_that_was_killed_are_taken_off_the_members() {
    let rig = rig();
    let gone = JoinSpdk { rpc: rig.folder.path().join("gone"), ..rig.asked.clone() };
    let paths = gone.paths().unwrap();
    let ours = store_of("iotax-r-spdk0-lvs");
    std::fs::write(paths[0], &ours).unwrap();
    assert!(join::is_there(&gone).unwrap());
    join::unmake_joined_bdev(&gone).unwrap();
    let after = std::fs::read(paths[0]).unwrap();
    assert_eq!((&after[..4096], &after[4096..]), (&[0; 4096][..], &ours[4096..]));
    assert!(!join::is_there(&gone).unwrap());
    // A store of somebody else is not ours, and where no store was asked for nobody looks for one.
    let theirs = store_of("theirs");
    std::fs::write(paths[0], &theirs).unwrap();
    join::unmake_joined_bdev(&gone).unwrap();
    assert_eq!(std::fs::read(paths[0]).unwrap(), theirs);
}

/// Returns the result of taking a killed target's store off its two members, and what is on them
/// then.
fn unmade(level: &str, first: &[u8], second: &[u8]) -> (anyhow::Result<()>, Vec<Vec<u8>>) {
    let rig = rig();
    let raid = Some(SpdkRaid { level: level.into(), strip_kib: Some(64) });
    let gone = JoinSpdk { rpc: rig.folder.path().join("gone"), raid, ..rig.asked.clone() };
    let paths = gone.paths().unwrap();
    std::fs::write(paths[0], first).unwrap();
    std::fs::write(paths[1], second).unwrap();
    let said = join::unmake_joined_bdev(&gone);
    (said, paths.iter().map(|path| std::fs::read(path).unwrap()).collect())
}

#[test]
fn a_store_of_anothers_beside_ours_keeps_its_superblock() {
    let (ours, theirs) = (store_of("iotax-r-spdk0-lvs"), store_of("theirs"));
    // One half of a mirror was exchanged for a drive of somebody else.
    let (said, after) = unmade("raid1", &ours, &theirs);
    said.unwrap();
    assert_eq!((&after[0][..8], &after[1]), (&[0; 8][..], &theirs));
    for level in ["raid0", "concat"] {
        for (first, second) in [(&theirs, &named("iotax-r-spdk0-lvs")), (&ours, &theirs)] {
            let (said, after) = unmade(level, first, second);
            let error = said.unwrap_err();
            assert!(
                error.is::<NotOurs>() && error.to_string().contains("lvstore (theirs)"),
                "{level} {error}"
            );
            assert_eq!((&after[0], &after[1]), (first, second), "{level}");
        }
        // The name may be on another member than the superblock.
        let mut nameless = vec![0; 2 << 20];
        nameless[..8].copy_from_slice(b"SPDKBLOB");
        let (said, after) = unmade(level, &nameless, &named("iotax-r-spdk0-lvs"));
        said.unwrap();
        assert_eq!(after[0][..8], [0; 8], "{level}");
    }
}

#[test]
fn a_member_that_somebody_uses_by_now_is_not_written() {
    let Some(device) = iotax_host::guard::rig::Loop::with_size(2 << 20) else { return };
    let rig = rig();
    let mut gone =
        JoinSpdk { rpc: rig.folder.path().join("gone"), raid: None, ..rig.asked.clone() };
    gone.members = vec![PathRef::Path(device.path.clone())];
    std::fs::write(&device.path, store_of("iotax-r-spdk0-lvs")).unwrap();
    let held = iotax_host::guard::admit::claim_device(&device.path).unwrap();
    assert!(join::unmake_joined_bdev(&gone).unwrap_err().is::<NotOurs>());
    drop(held);
    assert!(join::is_there(&gone).unwrap());
    join::unmake_joined_bdev(&gone).unwrap();
    assert!(!join::is_there(&gone).unwrap());
}

#[test]
fn parts_of_a_bdev_are_shared_out() {
    let rig = rig();
    join::make_joined_bdev(&rig.asked, &tag()).unwrap();
    drop(rig.calls());
    let split = SplitSpdk { bdev: bdev(&rig.asked), parts: 2, mib: 8 };
    join::split(&split).unwrap();
    assert!(join::is_split(&split).unwrap());
    let second = disk(&rig.asked, split.part(1).unwrap(), "iotax-r-vm1-0");
    assert_eq!(second.bdev(), "iotax-r-spdk0-lvs/lvolp1");
    export(&second).unwrap();
    assert_eq!(read_back(&rig.target.socket, &second.name).unwrap()["bdev"], "Split Disk");
    unexport(&second).unwrap();
    join::unsplit(&split).unwrap();
    join::unsplit(&split).unwrap();
    // A split by an alias would crash a real target.
    insta::assert_snapshot!(rig.calls());
    join::unmake_joined_bdev(&rig.asked).unwrap();
    assert!(rig.is_empty());
}

fn change(asked: &JoinSpdk, change: SpdkChange) -> anyhow::Result<()> {
    raid::change(&ChangeSpdkArray { made: bdev(asked), change, bytes: 0 }, &mut |_| {
        ControlFlow::Continue(())
    })
}

fn state(asked: &JoinSpdk) -> ArrayState {
    asked.array_state().unwrap().unwrap()
}

#[test]
fn a_member_leaves_and_returns() {
    let rig = rig();
    let asked = &rig.asked;
    join::make_joined_bdev(asked, &tag()).unwrap();
    assert_eq!(state(asked), ArrayState::Healthy);
    let settings = asked.array_settings().unwrap();
    assert_eq!(
        (settings["raid_level"].as_str(), settings["num_base_bdevs"].as_str()),
        ("raid1", "2")
    );
    change(asked, SpdkChange::AwaitWhole).unwrap();
    change(asked, SpdkChange::Leaves(1)).unwrap();
    assert_eq!(state(asked), ArrayState::Degraded { missing: 1 });
    let said = |done: SpdkChange| change(asked, done).unwrap_err().to_string();
    assert_eq!(
        said(SpdkChange::Leaves(1)),
        "iotax-r-spdk0-m1p0 is not in the array iotax-r-spdk0-raid"
    );
    assert!(
        said(SpdkChange::AwaitWhole).contains("is degraded, 1 missing, and nothing is rebuilt")
    );
    assert!(said(SpdkChange::Leaves(2)).contains("has no member 3 of iotax-r-spdk0-lvs/lvol"));
    change(asked, SpdkChange::Returns(1)).unwrap();
    assert_eq!(state(asked), ArrayState::Rebuilding { missing: 1, done: 0.0 });
    assert_eq!(
        said(SpdkChange::Returns(1)),
        "iotax-r-spdk0-m1p0 is in the array iotax-r-spdk0-raid already"
    );
    let wait = ChangeSpdkArray { made: bdev(asked), change: SpdkChange::AwaitWhole, bytes: 0 };
    let stopped = raid::change(&wait, &mut |_| ControlFlow::Break(())).unwrap_err().to_string();
    assert_eq!(stopped, "interrupted at 0 % of the rebuild of iotax-r-spdk0-raid");
    change(asked, SpdkChange::Leaves(1)).unwrap();
    join::unmake_joined_bdev(asked).unwrap();
    assert!(rig.is_empty(), "an array is taken away degraded");
    let plain = JoinSpdk { lvol: None, ..asked.clone() };
    join::make_joined_bdev(&plain, &tag()).unwrap();
    change(&plain, SpdkChange::Leaves(0)).unwrap();
    assert_eq!(state(&plain), ArrayState::Degraded { missing: 1 });
    assert_eq!(JoinSpdk { raid: None, ..plain }.array_state().unwrap(), None);
}

#[test]
fn a_subsystem_is_made_found_and_taken_away() {
    let rig = rig();
    join::make_joined_bdev(&rig.asked, &tag()).unwrap();
    drop(rig.calls());
    let asked = subsystem(&rig.asked);
    assert!(!nvmf::has_transport(&asked).unwrap() && !nvmf::is_there(&asked).unwrap());
    nvmf::export(&asked).unwrap();
    assert!(nvmf::has_transport(&asked).unwrap() && nvmf::is_there(&asked).unwrap());
    let error = nvmf::export(&asked).unwrap_err();
    assert!(error.is::<NothingMade>(), "{error:#}");
    nvmf::unexport(&asked).unwrap();
    nvmf::unexport(&asked).unwrap();
    assert!(!nvmf::is_there(&asked).unwrap());
    insta::assert_snapshot!(rig.calls());
    // The transport is there by now.
    nvmf::export(&asked).unwrap();
    assert!(!rig.calls().contains("nvmf_create_transport"));
    rig.target.state.lock().unwrap().subsystems.get_mut(&asked.nqn).unwrap()["namespaces"][0]["bdev_name"] =
        "theirs".into();
    let error = nvmf::unexport(&asked).unwrap_err();
    assert!(error.downcast_ref::<NotOurs>().is_some(), "{error:#}");
}

#[test]
fn what_a_target_cannot_listen_on_is_told_and_half_a_subsystem_taken_away() {
    let rig = rig();
    join::make_joined_bdev(&rig.asked, &tag()).unwrap();
    let elsewhere =
        ExportSpdkNvmf { at: ("192.0.2.1".parse().unwrap(), 4499), ..subsystem(&rig.asked) };
    let error = nvmf::export(&elsewhere).unwrap_err().to_string();
    assert!(error.contains("hint: the address is one of the target's own host"), "{error}");
    assert!(nvmf::is_there(&elsewhere).unwrap());
    nvmf::unexport(&elsewhere).unwrap();
    let rdma = ExportSpdkNvmf { transport: "RDMA".into(), ..subsystem(&rig.asked) };
    let error = nvmf::export(&rdma).unwrap_err().to_string();
    assert!(error.contains("hint: its SPDK was built without that transport"), "{error}");
    join::unmake_joined_bdev(&rig.asked).unwrap();
    assert!(rig.is_empty());
}

/// Runs the whole conversation, as in the recording.
fn conversation(asked: &JoinSpdk) {
    let methods =
        [&asked.methods()[..], &["bdev_raid_add_base_bdev", "nvmf_create_subsystem"]].concat();
    super::check_target_methods(&asked.rpc, &methods).unwrap();
    join::make_joined_bdev(asked, &tag()).unwrap();
    assert_eq!(state(asked), ArrayState::Healthy);
    change(asked, SpdkChange::Leaves(1)).unwrap();
    assert_eq!(state(asked), ArrayState::Degraded { missing: 1 });
    change(asked, SpdkChange::Returns(1)).unwrap();
    assert!(matches!(state(asked), ArrayState::Rebuilding { missing: 1, .. }));
    let split = SplitSpdk { bdev: bdev(asked), parts: 2, mib: 8 };
    join::split(&split).unwrap();
    let part = disk(asked, split.part(1).unwrap(), "iotax-r-vm1-0");
    export(&part).unwrap();
    let told = read_back(&asked.rpc, &part.name).unwrap();
    assert_eq!(
        (told["bdev"].as_str(), told["raid"].as_str()),
        ("Split Disk", "raid1 of 2, online")
    );
    unexport(&part).unwrap();
    join::unsplit(&split).unwrap();
    let nvmf = subsystem(asked);
    nvmf::export(&nvmf).unwrap();
    assert!(nvmf::is_there(&nvmf).unwrap());
    nvmf::unexport(&nvmf).unwrap();
    join::unmake_joined_bdev(asked).unwrap();
    assert!(!join::is_there(asked).unwrap());
}

#[test]
fn a_real_target_made_bdevs_when_it_was_asked_just_so() {
    let folder = folder();
    let socket = folder.path().join("recorded.sock");
    // The socket of the controller, which only a real target makes.
    std::fs::write(folder.path().join("iotax-r-vm1-0"), "").unwrap();
    serve(&socket, play(include_str!("recorded_bdevs.jsonl"), folder.path()));
    conversation(&asked(folder.path(), &socket));
}
