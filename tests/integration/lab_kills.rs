//! kill -9 at every journal record of runs that set up volumes and exports, then `clean`: nothing
//! of it is left on the machine. The machine is a lab guest, which has the kernel modules and
//! drives for all of them, and outlives every run that is killed in it.

use crate::lab::told_in_lab;
use crate::rig::beside;

/// What is set up over the drives d0 to d2.
struct Killed {
    name: &'static str,
    /// Records that its journal has at least.
    records: u32,
    stack: &'static str,
    words: &'static str,
    /// Killed at every so many records; odd, since intents and what was done take turns.
    every: u32,
}

const fn killed(name: &'static str, records: u32, stack: &'static str) -> Killed {
    Killed { name, records, stack, words: "", every: 1 }
}

const VOLUMES: &[Killed] = &[
    killed("partition", 3, "D0 | partition"),
    killed("linear", 3, "[D0,D1] | linear"),
    killed("mdraid0", 3, "[D0,D1] | mdraid(level=0,chunk=64KiB)"),
    Killed {
        words: "--states healthy,failed(1),rebuilding",
        // Half of them are members that come and go, which nothing is undone of.
        every: 3,
        ..killed("mdraid5", 8, "[D0,D1,D2] | mdraid(level=5,chunk=64KiB,size=32MiB)")
    },
    killed("lvm-striped", 3, "[D0,D1] | lvm(striped)"),
    killed("lvm-thin", 3, "[D0,D1] | lvm(thin)"),
    killed("lvm-cache", 3, "[D0,D1] | lvm(cache)"),
    killed("bcache", 3, "[D0,D1] | bcache(writeback,bucket-size=64KiB)"),
    killed("zfs", 3, "[D0,D1] | zfs(stripe,compression=lz4,size=64MiB)"),
    killed("zfs-dedup", 6, "[D0,D1] | zfs(mirror,dedup=on,arc-max=128MiB,size=64MiB)"),
];

const EXPORTS: &[Killed] = &[
    killed("nvmf-tcp", 6, "D0 | nvmf(tcp)"),
    killed("nvmf-rdma", 8, "D0 | nvmf(rdma)"),
    killed("iscsi", 8, "D0 | iscsi(tcp)"),
    killed("iser", 10, "D0 | iscsi(iser)"),
    killed("nbd", 6, "D0 | nbd"),
    // The lab as another host, by its sshd: of most records the hand there is told what it is told
    // here.
    Killed {
        every: 3,
        ..killed("ssh-mdraid", 6, "[D0,D1] @ssh:elsewhere | mdraid(level=1,size=32MiB)")
    },
    Killed {
        every: 3,
        ..killed(
            "ssh-nvmf",
            8,
            "D0 @ssh:elsewhere | nvmf(tcp,address=10.9.9.1) @ssh:elsewhere>@host",
        )
    },
];

/// Every state that a kill can leave: an intent without its act, an act without its record, a
/// record.
const SCRIPT: &str = r#"
within() { find "$@" -mindepth 1 -maxdepth 1 2>/dev/null; }
leftovers() {
    udevadm settle
    grep ^md /proc/mdstat 2>/dev/null
    dmsetup ls
    zpool list -H 2>/dev/null; grep -v '^0$' /sys/module/zfs/parameters/zfs_arc_max 2>/dev/null
    wipefs --no-act --noheadings ${by}d0 ${by}d1 ${by}d2; lsblk -nro NAME ${by}d0 ${by}d1 ${by}d2
    # What is empty was made by a module, which stays.
    within /sys/kernel/config/nvmet/subsystems /sys/kernel/config/nvmet/ports /sys/kernel/config/nvmet/hosts
    within /sys/kernel/config/target/iscsi /sys/kernel/config/target/core | grep -v -e alua -e discovery -e lio_version
    within /sys/class/nvme /sys/class/iscsi_session /var/lib/iscsi/nodes /var/lib/iscsi/ifaces /etc/iscsi/nodes /etc/iscsi/ifaces
    for n in /sys/block/nbd*/pid; do [ -e $n ] && echo $n; done
    pgrep -a -f 'qemu-nbd|nbd-server|nbd-client|iscsid'
    ip -o link | cut -d: -f2 | sort; rdma link 2>/dev/null
    ls -d /run/iotax-* /tmp/iotax-* ~/.cache/iotax-* 2>/dev/null; mount | grep iotax-
}
elsewhere() {
    mkdir -p -m 0700 /run/sshd /run/ssh
    ssh-keygen -q -t ed25519 -N '' -f /run/ssh/key && ssh-keygen -q -t ed25519 -N '' -f /run/ssh/host
    cp /run/ssh/key.pub /run/ssh/authorized
    echo "127.0.0.1 $(cat /run/ssh/host.pub)" > /run/ssh/known
    /usr/sbin/sshd -o HostKey=/run/ssh/host -o AuthorizedKeysFile=/run/ssh/authorized -o ListenAddress=127.0.0.1 -o UsePAM=no -o StrictModes=no
    printf 'Host elsewhere\n HostName 127.0.0.1\n User root\n IdentityFile /run/ssh/key\n UserKnownHostsFile /run/ssh/known\n' > /run/ssh/config
    export IOTAX_SSH_CONFIG=/run/ssh/config
    # A card that the other host can be reached by.
    ip link add lab0 type dummy && ip address add 10.9.9.1/24 dev lab0 && ip link set lab0 up
}
kills() {
    name=$1; least=$2; every=$3; stack=$4; shift 4
    record=0; begun=$(date +%s)
    leftovers > /run/before
    while :; do for side in after before; do
        # Before an intent is behind the record before it.
        if [ $side = before ] && [ -n "$intent" ]; then continue; fi
        IOTAX_CRASH_AT=$record:$side $tool --runs /run/runs run "$stack" --rw randread --slice 20ms --min-time 100ms --budget 300ms \
            --visits 1 --matched-rate off --destroy serial=d0,wipe=data --destroy serial=d1,wipe=data --destroy serial=d2,wipe=data \
            "$@" > /run/out 2>&1
        code=$?
        if [ $code -ne 137 ]; then
            if [ $code -eq 0 ] && [ $record -ge $least ]; then echo "KILLS $name survived $record records in $(($(date +%s) - begun)) s"
            else echo "KILLS $name FAILED with $code at $record:$side"; tail -n 20 /run/out; fi
            return
        fi
        intent=$(ls -t -d /run/runs/*/journal.jsonl | head -n 1 | xargs tail -n 1 | grep '"entry":"intent"')
        if ! $tool --runs /run/runs clean > /run/out 2>&1; then
            echo "KILLS $name FAILED: clean behind $record:$side"; cat /run/out; return
        fi
        leftovers > /run/after
        if ! diff /run/before /run/after > /run/out; then
            echo "KILLS $name FAILED: left behind $record:$side"; cat /run/out; return
        fi
    done; record=$((record + every)); done
}
elsewhere
CALLS
echo "KILLS end"
"#;

/// The script with a call for every stack; those that `IOTAX_KILLS` names are killed at every
/// record.
fn script(stacks: &[Killed]) -> Option<String> {
    let named = std::env::var("IOTAX_KILLS").ok();
    let call = |killed: &Killed| {
        let stack = ["0", "1", "2"].iter().fold(killed.stack.to_owned(), |stack, number| {
            stack.replace(
                &format!("D{number}"),
                &format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_d{number}"),
            )
        });
        let words: Vec<String> =
            killed.words.split_whitespace().map(|word| format!("'{word}'")).collect();
        let every = if named.is_some() { 1 } else { killed.every };
        format!("kills {} {} {every} '{stack}' {}", killed.name, killed.records, words.join(" "))
    };
    let is_wanted = |killed: &&Killed| {
        named.as_ref().is_none_or(|named| named.split(',').any(|name| name == killed.name))
    };
    let calls: Vec<String> = stacks.iter().filter(is_wanted).map(call).collect();
    (!calls.is_empty()).then(|| SCRIPT.replace("CALLS", &calls.join("\n")))
}

fn are_cleaned_from_any_kill(stacks: &[Killed]) {
    let _beside = beside();
    let Some(script) = script(stacks) else {
        println!("skipped: IOTAX_KILLS names none of these");
        return;
    };
    let Some(told) = told_in_lab(&script, "KILLS end") else { return };
    let lines: Vec<&str> = told.split("KILLS ").skip(1).collect();
    println!("{}", lines.join(""));
    let survived = lines.iter().filter(|line| line.contains(" survived ")).count();
    assert!(!told.contains("FAILED"), "{told}");
    // A call of the script's function for each stack, and the end.
    let calls = script.matches("\nkills ").count();
    assert!(calls > 0);
    assert_eq!((survived, lines.len()), (calls, calls + 1), "{told}");
}

#[test]
#[ignore = "kills a run at every record of its journal, in an image that ./check --lab builds"]
fn volumes_are_cleaned_from_any_kill() {
    are_cleaned_from_any_kill(VOLUMES);
}

#[test]
#[ignore = "kills a run at every record of its journal, in an image that ./check --lab builds"]
fn exports_are_cleaned_from_any_kill() {
    are_cleaned_from_any_kill(EXPORTS);
}

/// A run that writes 4 MiB through a cache which holds writes back for half a minute, and lasts a
/// few seconds: what the slow drive has afterwards came to it when the cache was taken away. By
/// fio's random map every block is written, however few writes there are beyond that.
const WRITTEN_BACK: &str = r#"
blocks() { for i in $(seq 0 63); do dd if=${by}d0 bs=8k skip=$((1 + 8 * i)) count=8 2>/dev/null | cksum; done; }
blocks > /run/before
$tool --runs /run/runs run "[${by}d0,${by}d1] | bcache(writeback,bucket-size=64KiB)" --rw randwrite --norandommap 0 --bs 64KiB --size 4MiB --slice 20ms --min-time 100ms \
    --budget 300ms --visits 1 --matched-rate off --destroy serial=d0,wipe=data --destroy serial=d1,wipe=data > /run/out 2>&1 ||
    { echo "CACHE FAILED"; cat /run/out; }
blocks > /run/after
echo "CACHE $(diff /run/before /run/after | grep -c '^>') blocks"
grep -o '"cache_mode":"[a-z]*"' /run/runs/*/index.jsonl | head -n 1
echo "CACHE end"
"#;

#[test]
#[ignore = "writes through a cache, in an image that ./check --lab builds"]
fn what_only_a_cache_has_is_written_back_before_it_is_taken_down() {
    let _beside = beside();
    let Some(told) = told_in_lab(WRITTEN_BACK, "CACHE end") else { return };
    assert!(!told.contains("FAILED") && told.contains("\"cache_mode\":\"writeback\""), "{told}");
    let changed =
        told.split("CACHE ").find_map(|part| part.split(" blocks").next()?.parse::<u64>().ok());
    assert_eq!(changed, Some(64), "blocks of 64 KiB that the slow drive got\n{told}");
}
