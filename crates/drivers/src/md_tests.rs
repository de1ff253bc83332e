//! Words for mdadm, and the meaning of its words and of sysfs; outputs are those of mdadm 4.2 and
//! Linux 6.1 in a lab.

use super::*;
use iotax_host::made_up::{MadeUpMachine, server};

fn array() -> CreateArray {
    CreateArray {
        members: vec![PathRef::Path("/dev/nvme0n1".into()), PathRef::Path("/dev/nvme1n1".into())],
        name: "iotax-120000-a1b2-md0".into(),
        level: 5,
        chunk: Some(64 << 10),
        layout: None,
        metadata: "1.2".into(),
        bitmap: false,
        size: Some(64 << 20),
        data_offset: Some(1 << 20),
        uneven: false,
        assume_clean: false,
        sync_speed: SyncBounds::default(),
        stripes: StripeSettings::default(),
        bytes: 64 << 20,
        drives: Drives::default(),
    }
}

#[test]
fn mdadm_is_told_all_that_it_would_choose_itself() {
    let raid5 = create_words(&array()).join(" ");
    assert_eq!(
        raid5,
        "--create /dev/md/iotax-120000-a1b2-md0 --run --name=iotax-120000-a1b2-md0 --homehost=any --metadata=1.2 --level=5 \
         --raid-devices=2 --chunk=64 --size=65536 --data-offset=1024 --bitmap=none"
    );
    let raid1 = CreateArray {
        level: 1,
        chunk: None,
        layout: None,
        bitmap: true,
        assume_clean: true,
        ..array()
    };
    assert!(
        create_words(&raid1)
            .join(" ")
            .ends_with("--data-offset=1024 --bitmap=internal --assume-clean")
    );
    let raid0 = CreateArray { level: 0, size: None, ..array() };
    assert!(
        create_words(&raid0)
            .join(" ")
            .ends_with("--level=0 --raid-devices=2 --chunk=64 --data-offset=1024")
    );
}

#[test]
fn an_array_is_known_by_its_name_with_and_without_the_home_host() {
    let of_member = "MD_LEVEL=raid5\nMD_DEVICES=4\nMD_NAME=any:iotax-abc-md0\nMD_ARRAY_SIZE=201.33MB\n\
                     MD_UUID=584e76a1:8e53c57a:fbbebe14:62debcd0\nMD_EVENTS=18\n";
    let said = of_export(of_member).unwrap();
    assert!(
        said.has_name("iotax-abc-md0")
            && !said.has_name("iotax-abc-md1")
            && !said.has_name("abc-md0")
    );
    assert_eq!(said.uuid, "584e76a1:8e53c57a:fbbebe14:62debcd0");
    // Report of an array that udev has begun to make of two members.
    let inactive = "MD_METADATA=1.2\nMD_UUID=584e76a1:8e53c57a:fbbebe14:62debcd0\nMD_DEVNAME=x\nMD_NAME=iotax-abc-md0\n";
    assert!(of_export(inactive).unwrap().has_name("iotax-abc-md0"));
    assert!(of_export("").is_none());
}

fn md(files: &[(&str, &str)]) -> MadeUpMachine {
    let machine = server();
    for (file, text) in files {
        machine.put(&[(&format!("/sys/block/md127/md/{file}"), text)]);
    }
    machine
}

fn observed(files: &[(&str, &str)]) -> ArrayState {
    observe(&md(files).probe, "md127").unwrap()
}

#[test]
fn the_state_of_an_array_is_read_from_sysfs() {
    let running = |degraded, action, completed, from| {
        observed(&[
            ("array_state", "clean\n"),
            ("degraded", degraded),
            ("sync_action", action),
            ("sync_completed", completed),
            ("resync_start", from),
            ("dev-nvme1n1/state", "in_sync\n"),
        ])
    };
    assert_eq!(running("0\n", "idle\n", "none\n", "none\n"), ArrayState::Healthy);
    assert_eq!(running("1\n", "idle\n", "none\n", "none\n"), ArrayState::Degraded { missing: 1 });
    let rebuilding = ArrayState::Rebuilding { missing: 1, done: 82000.0 / 131072.0 };
    assert_eq!(running("1\n", "recover\n", "82000 / 131072\n", "none\n"), rebuilding);
    let waits = ArrayState::Rebuilding { missing: 1, done: 0.0 };
    assert_eq!(running("1\n", "recover\n", "delayed\n", "none\n"), waits);
    let first = ArrayState::Syncing { done: 0.5 };
    assert_eq!(running("0\n", "resync\n", "65536 / 131072\n", "65536\n"), first);
    // The sync has not begun yet.
    assert_eq!(running("0\n", "idle\n", "none\n", "0\n"), ArrayState::Syncing { done: 0.0 });
}

#[test]
fn a_member_that_came_back_is_rebuilt_even_before_that_begins() {
    let back = observed(&[
        ("array_state", "active\n"),
        ("degraded", "1\n"),
        ("sync_action", "idle\n"),
        ("sync_completed", "none\n"),
        ("dev-nvme0n1/state", "spare\n"),
        ("dev-nvme1n1/state", "in_sync\n"),
    ]);
    assert_eq!(back, ArrayState::Rebuilding { missing: 1, done: 0.0 });
}

#[test]
fn an_array_without_redundancy_is_healthy_and_one_that_is_stopped_is_down() {
    assert_eq!(
        observed(&[("array_state", "clean\n"), ("resync_start", "none\n")]),
        ArrayState::Healthy
    );
    let down = ArrayState::Down { word: "inactive".into() };
    assert_eq!(observed(&[("array_state", "inactive\n")]), down);
    assert_eq!(observe(&server().probe, "md126"), None);
}

#[test]
fn a_sync_that_waits_for_another_array_is_not_idle_and_one_that_stays_where_it_is_is() {
    let machine = md(&[("sync_completed", "0 / 131072\n")]);
    let mdstat = |at: &str| {
        let text = format!(
            "Personalities : [raid1] [raid6] [raid5] [raid4] \n\
             md126 : active raid1 nvme5n1[1] nvme4n1[0]\n      65472 blocks super 1.2 [2/2] [UU]\n      \
             [>....................]  resync =  0.7% (512/65472) finish=1.0min speed=512K/sec\n      \n\
             md127 : active raid5 nvme2n1[3] nvme1n1[1] nvme0n1[0]\n      \
             131072 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n      {at}\n      \n\
             unused devices: <none>\n"
        );
        machine.put(&[("/proc/mdstat", &text)]);
        position(&machine.probe, "md127")
    };
    let at = |blocks: &str| {
        mdstat(&format!("[==>.....]  recovery = 12.5% ({blocks}/65536) finish=0.1min"))
    };
    let first = at("8192");
    assert_eq!(first, Position::At(Some("(8192/65536)".into())));
    assert!(first.moves_on_from(None) && !at("8192").moves_on_from(Some(&first)));
    // sysfs still says that nothing is done.
    assert!(at("8196").moves_on_from(Some(&first)));
    assert_eq!(mdstat(""), Position::At(None));
    assert!(!mdstat("").moves_on_from(Some(&first)));
    machine.put(&[("/sys/block/md127/md/sync_completed", "delayed\n")]);
    let waits = mdstat("resync=DELAYED");
    assert!(waits.moves_on_from(Some(&waits)));
}

#[test]
fn a_member_that_cannot_be_read_does_not_hide_a_superblock_on_another() {
    let unreadable = || Err(anyhow!("Input/output error"));
    assert!(any_of(vec![unreadable(), Ok(true)]).unwrap());
    assert!(!any_of(vec![Ok(false)]).unwrap());
    let error =
        format!("{:#}", any_of(vec![Ok(false), unreadable(), Err(anyhow!("gone"))]).unwrap_err());
    assert!(error.contains("Input/output error") && error.contains("gone"), "{error}");
}

#[test]
fn a_bound_is_written_back_as_it_was() {
    assert_eq!((set_value("1000 (system)"), set_value("2000 (local)")), ("system", "2000"));
}

#[test]
fn members_of_unequal_size_are_named_with_what_to_do() {
    let node = |name: &str, bytes| BlockNode {
        name: name.into(),
        devnum: "259:0".into(),
        bytes,
        start: 0,
        logical_block_bytes: 512,
        read_only: false,
        parent: None,
    };
    let error =
        are_even(&[node("nvme0n1", 1 << 30), node("nvme1n1", 2 << 30)]).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "members are of unequal size: /dev/nvme0n1 has 1 GiB, /dev/nvme1n1 has 2 GiB; hint: "
        ),
        "{error}"
    );
    assert!(are_even(&[node("nvme0n1", 1 << 30), node("nvme1n1", 1 << 30)]).is_ok());
}
