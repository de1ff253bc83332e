//! Drives that are somebody's: real arrays, volume groups, pools and exports in a lab, which no run
//! touches without the word for that very drive, and which one with it takes over.

use crate::lab::told_in_lab;
use crate::rig::alone;

/// `refused WORDS...`: the run ends with bad input and says all of these. `taken`: with this
/// consent it measures, and leaves nothing.
const SCRIPT: &str = r#"
run() { $tool --runs /run/runs run "$@" --rw randread --slice 20ms --min-time 100ms --budget 300ms --visits 1 --matched-rate off > /run/out 2>&1; }
both="--destroy serial=d0,wipe=data --destroy serial=d1,wipe=data"
refused() {
    what=$1; stack=$2; shift 2
    run "$stack" $both
    code=$?
    if [ $code -ne 2 ]; then echo "GUARD $what FAILED: exit code $code"; cat /run/out; return; fi
    for word in "$@"; do
        if ! tr -s ' \n' '  ' < /run/out | grep -q -F -e "$word"; then echo "GUARD $what FAILED: does not say $word"; cat /run/out; return; fi
    done
    echo "GUARD $what refused"
}
taken() {
    what=$1; stack=$2; marks=$3
    if ! run "$stack" --destroy "serial=d0,wipe=data,$marks" --destroy "serial=d1,wipe=data,$marks"; then
        echo "GUARD $what FAILED: not taken"; cat /run/out; return
    fi
    left=$(wipefs --no-act --noheadings ${by}d0 ${by}d1)
    if [ -n "$left" ]; then echo "GUARD $what FAILED: left $left"; return; fi
    echo "GUARD $what taken"
}
mirror="[${by}d0,${by}d1] | mdraid(level=1,size=32MiB)"
group="[${by}d0,${by}d1] | lvm(striped)"
pool="[${by}d0,${by}d1] | zfs(stripe,size=64MiB)"

mdadm --create /dev/md/theirs --run --level=1 --size=32768 --raid-devices=2 ${by}d0 ${by}d1
refused array-in-use "$mirror" "md" "hint"
mdadm --wait /dev/md/theirs; mdadm --stop /dev/md/theirs; udevadm settle
refused stale-array "$mirror" "linux_raid_member" "--destroy serial=d0" "wipe=linux_raid_member"
refused stale-array-for-lvm "$group" "linux_raid_member" "hint"
taken stale-array "$mirror" wipe=linux_raid_member

vgcreate --quiet theirs ${by}d0 ${by}d1; lvcreate --quiet --yes --size 32m --name it theirs; udevadm settle
refused group-in-use "$group" "hint"
vgchange --quiet -an theirs; udevadm settle
refused stale-group "$mirror" "LVM2_member" "wipe=LVM2_member"
taken stale-group "$group" wipe=LVM2_member

modprobe zfs; zpool create -f theirs ${by}d0 ${by}d1; zpool export theirs; udevadm settle
refused stale-pool "$pool" "hint"
taken stale-pool "$pool" wipe=gpt,wipe=zfs_member
mkfs.ext4 -q -F ${by}d0; udevadm settle
refused file-system "$pool" "ext4" "wipe=ext4"
taken file-system "$pool" wipe=ext4

modprobe nvmet; theirs=/sys/kernel/config/nvmet/subsystems/theirs
mkdir $theirs; mkdir $theirs/namespaces/1; readlink -f ${by}d0 > $theirs/namespaces/1/device_path; echo 1 > $theirs/namespaces/1/enable
refused exported "$mirror" "nvmet" "hint"
echo 0 > $theirs/namespaces/1/enable; rmdir $theirs/namespaces/1 $theirs

echo "GUARD end"
"#;

#[test]
#[ignore = "in an image that ./check --lab builds"]
fn drives_that_are_somebodys_are_taken_only_by_the_word_for_what_they_carry() {
    let _alone = alone();
    let Some(told) = told_in_lab(SCRIPT, "GUARD end") else { return };
    let lines: Vec<&str> = told.split("GUARD ").skip(1).collect();
    println!("{}", lines.join(""));
    assert!(!told.contains("FAILED"), "{told}");
    let ended = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!((ended(" refused"), ended(" taken")), (8, 4), "{told}");
}
