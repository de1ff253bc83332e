use crate::rule::fio::testing::{READ, found, speaks};

/// As it would be on a machine of its own: the disk did not read for others.
fn quiet() -> String {
    READ.replace("ios=1977284/172637", "ios=1945284/0")
        .replace("ticks=155508/16378", "ticks=225508/0")
        .replace("in_queue=171906", "in_queue=225508")
        .replace("util=84.77%", "util=99.77%")
}

#[test]
fn what_the_disk_did_is_held_against_what_was_issued() {
    let quiet = quiet();
    speaks(
        &quiet,
        &[
            ("ios=1945284/0", "ios=745284/0", "F19"),
            ("ticks=225508/0", "ticks=45508/0", "F20"),
            ("in_queue=225508", "in_queue=25508", "F21"),
            ("util=99.77%", "util=69.77%", "F22"),
        ],
    );
}

#[test]
fn several_disks_are_not_told_apart() {
    let two = quiet().replace("ios=1945284/0", "ios=745284/0")
        + "  vdb: ios=10/0, merge=0/0, ticks=1/0, in_queue=1, util=0.10%\n";
    assert_eq!(found(&two, "F19"), []);
}
