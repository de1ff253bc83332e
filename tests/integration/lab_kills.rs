//! kill -9 at every journal record of runs that set up volumes and exports, then `clean`: nothing of it is left on the machine. The
//! machine is a lab guest, which has the kernel modules and drives for all of them, and outlives every run that is killed in it.

use crate::lab::told_in_lab;

/// Name, records at least, stack over the drives d0 to d2, further words.
const STACKS: &[(&str, u32, &str, &str)] = &[
    ("partition", 3, "D0 | partition", ""),
    ("linear", 3, "[D0,D1] | linear", ""),
    ("mdraid0", 3, "[D0,D1] | mdraid(level=0,chunk=64KiB)", ""),
    (
        "mdraid5",
        8,
        "[D0,D1,D2] | mdraid(level=5,chunk=64KiB,size=32MiB)",
        "--states healthy,failed(1),rebuilding,healthy",
    ),
    ("lvm-striped", 3, "[D0,D1] | lvm(striped)", ""),
    ("lvm-thin", 3, "[D0,D1] | lvm(thin)", ""),
    ("lvm-cache", 3, "[D0,D1] | lvm(cache)", ""),
    ("zfs", 3, "[D0,D1] | zfs(stripe,compression=lz4,size=64MiB)", ""),
    ("zfs-dedup", 6, "[D0,D1] | zfs(mirror,dedup=on,arc-max=128MiB,size=64MiB)", ""),
    ("nvmf-tcp", 6, "D0 | nvmf(tcp)", ""),
    ("nvmf-rdma", 8, "D0 | nvmf(rdma)", ""),
    ("iscsi", 8, "D0 | iscsi(tcp)", ""),
    ("iser", 10, "D0 | iscsi(iser)", ""),
    ("nbd", 6, "D0 | nbd", ""),
    // The lab as another host, by its sshd.
    ("ssh-mdraid", 6, "[D0,D1] @ssh:elsewhere | mdraid(level=1,size=32MiB)", ""),
    ("ssh-nvmf", 8, "D0 @ssh:elsewhere | nvmf(tcp,address=10.9.9.1) @ssh:elsewhere>@host", ""),
];

/// Every state that a kill can leave: an intent without its act, an act without its record, a record.
const SCRIPT: &str = r#"
within() { find "$@" -mindepth 1 -maxdepth 1 2>/dev/null; }
leftovers() {
    udevadm settle
    grep ^md /proc/mdstat 2>/dev/null
    dmsetup ls --target linear; dmsetup ls --target thin-pool; dmsetup ls --target striped; dmsetup ls --target cache
    zpool list -H 2>/dev/null; grep -v '^0$' /sys/module/zfs/parameters/zfs_arc_max 2>/dev/null
    for d in d0 d1 d2; do wipefs --no-act --noheadings ${by}$d; lsblk -nro NAME ${by}$d | wc -l; done
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
    name=$1; least=$2; stack=$3; shift 3
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
    done; record=$((record + 1)); done
}
elsewhere
CALLS
echo "KILLS end"
"#;

/// The script with a call for every stack.
fn script() -> String {
    let call = |(name, least, stack, words): &(&str, u32, &str, &str)| {
        let stack = ["0", "1", "2"].iter().fold((*stack).to_owned(), |stack, number| {
            stack.replace(&format!("D{number}"), &format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_d{number}"))
        });
        let words: Vec<String> = words.split_whitespace().map(|word| format!("'{word}'")).collect();
        format!("kills {name} {least} '{stack}' {}", words.join(" "))
    };
    let wanted = std::env::var("IOTAX_KILLS").unwrap_or_default();
    let is_wanted =
        |stack: &&(&str, u32, &str, &str)| wanted.is_empty() || wanted.split(',').any(|name| name == stack.0);
    let calls: Vec<String> = STACKS.iter().filter(is_wanted).map(call).collect();
    SCRIPT.replace("CALLS", &calls.join("\n"))
}

#[test]
#[ignore = "kills a run at every record of its journal, in an image that ./check --lab builds"]
fn volumes_and_exports_are_cleaned_from_any_kill() {
    let Some(told) = told_in_lab(&script(), "KILLS end") else { return };
    let lines: Vec<&str> = told.split("KILLS ").skip(1).collect();
    println!("{}", lines.join(""));
    let survived = lines.iter().filter(|line| line.contains(" survived ")).count();
    assert!(!told.contains("FAILED"), "{told}");
    assert_eq!(survived + 1, lines.len(), "{told}");
}
