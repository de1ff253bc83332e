//! What this machine's kernel may lack is tried in a guest that has it (tools/lab-guest): the
//! program runs there as on a host, with guests of its own, a translator in a translator. Slow, so
//! part of the long suite; it proves ways, not figures.

use crate::rig::{self, beside, can, has, is_root};
use iotax_qemu::kernel;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// What a script prints before a fact, so that it is told from all else on the console.
const FACT: &str = "fact: ";

const HEAD: &str = r#"
export IOTAX_RUNS=/mnt/runs
ulimit -l unlimited
fact() { echo "fact: $*"; }
fail() { echo "failed: $*"; cat /mnt/runs/*/*.log 2>/dev/null | tail -40; dmesg | tail -20; exit 1; }
"#;

/// Runs a script in the lab and gives its facts; `None` where the lab cannot be. `append` is for
/// the kernel's command line.
pub fn lab(script: &str, append: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let needed = ["qemu-system-x86_64", "busybox", "depmod", "modprobe"];
    let able = is_root() && needed.iter().all(|program| has(program));
    if !can("root, qemu-system-x86_64, busybox (static) and kmod", able) {
        return None;
    }
    let kernel = kernel::obtain().unwrap();
    // Not in /tmp, which is empty in the lab.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("script");
    // A copy: a build beside the test would put another program in its place.
    let program = folder.path().join("iotax");
    std::fs::copy(rig::program(), &program).unwrap();
    std::fs::copy(
        rig::program().with_file_name("iotax-agent"),
        program.with_file_name("iotax-agent"),
    )
    .unwrap();
    std::fs::write(&file, format!("{HEAD}iotax={}\n{script}\n", program.display())).unwrap();
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/lab-guest");
    let output = Command::new(tool)
        .args([&kernel.image, &kernel.modules, &file])
        .args(arguments)
        .env("LAB_APPEND", append)
        .env("LAB_SECONDS", "2400")
        .output()
        .unwrap();
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{console}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(
        console
            .lines()
            .filter_map(|line| line.trim().strip_prefix(FACT))
            .map(str::to_owned)
            .collect(),
    )
}

/// An NVMe drive of the lab, on a file that is removed with the folder.
fn drive(folder: &Path, number: usize) -> Vec<String> {
    let file = folder.join(format!("nvme{number}.img"));
    std::fs::File::create(&file).unwrap().set_len(256 << 20).unwrap();
    vec![
        "-drive".into(),
        format!("if=none,id=drive{number},file={},format=raw", file.display()),
        "-device".into(),
        format!("nvme,drive=drive{number},serial=LAB{number}"),
    ]
}

/// Kills at each of these records, cleans after each, and asks whether the lab is as before. Half a
/// minute each: only those that no test outside of the lab has.
pub fn killed_at_each(records: Range<usize>, command: &str, as_before: &str) -> String {
    let mut script = String::new();
    for record in records {
        for side in ["before", "after"] {
            let _ = writeln!(
                script,
                "IOTAX_CRASH_AT={record}:{side} {command} >/mnt/out 2>&1 && fail not killed {side} {record}
                 $iotax clean >/mnt/out 2>&1 || fail \"clean {side} {record}: $(cat /mnt/out)\"
                 {as_before} || fail {side} {record}: not as before"
            );
        }
    }
    script + "fact killed everywhere\n"
}

#[test]
#[ignore = "minutes; ./check --lab runs it"]
fn of_a_drive_that_a_guest_in_the_lab_is_given() {
    let _beside = beside();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives = drive(folder.path(), 0);
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let run = "$iotax run /dev/nvme0n1 '/dev/nvme0n1 | vm(attach=vfio,memory=256MiB,vcpus=1)' \
               --bs 4k --rw randread --iodepth 1 --visits 1 --budget 20s";
    let bound = "[ $(basename $(readlink $function/driver)) = nvme ] && [ -b /dev/nvme0n1 ] \
                 && [ \"$(cat $function/driver_override)\" = '(null)' ] \
                 && [ $(cat /sys/block/nvme0n1/queue/read_ahead_kb) = 64 ]";
    // Intent and done of taking the drive, of the initramfs and of the guest, and the first
    // undoing: with a guest that has it.
    let killed = killed_at_each(0..7, run, bound);
    let script = format!(
        r#"
modprobe nvme
while ! [ -b /dev/nvme0n1 ]; do sleep 0.2; done
function=$(readlink -f /sys/block/nvme0n1/device/device)
# Somebody else's: never taken.
mkdir -p /mnt/fs && mkfs.ext4 -q /dev/nvme0n1 && modprobe ext4 && mount /dev/nvme0n1 /mnt/fs
{run} >/mnt/out 2>&1; fact mounted: exit $?, $(tr '\n' ' ' </mnt/out)
umount /mnt/fs
# Kept by somebody else for a guest of theirs: not taken, and not given back.
echo vfio-pci >$function/driver_override
{run} >/mnt/out 2>&1; fact kept: exit $?, for $(cat $function/driver_override), $(tr '\n' ' ' </mnt/out)
echo >$function/driver_override
echo 64 >/sys/block/nvme0n1/queue/read_ahead_kb
{killed}
{run} >/mnt/out 2>&1 || fail "$(cat /mnt/out)"
fact read ahead $(cat /sys/block/nvme0n1/queue/read_ahead_kb)
$iotax report last --format json >/mnt/json || fail no report
fact attach $(grep -c '"attach": "vfio"' /mnt/json)
grep -q 'on this host and' /mnt/out && fail "another drive: $(cat /mnt/out)"
{bound} || fail not given back
fact given back
"#
    );
    let Some(facts) = lab(&script, "intel_iommu=on iommu=pt", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    assert!(
        facts[0].starts_with("mounted: exit 2, ") && facts[0].contains("/mnt/fs (ext4)"),
        "{facts:?}"
    );
    assert!(
        facts[1].contains("for vfio-pci, ") && facts[1].contains("somebody else keeps"),
        "{facts:?}"
    );
    for fact in ["killed everywhere", "read ahead 64", "attach 1", "given back"] {
        assert!(facts.iter().any(|found| found == fact), "no \"{fact}\" in {facts:?}");
    }
}

#[test]
#[ignore = "minutes; ./check --lab runs it"]
fn of_a_machine_whose_iommu_is_off() {
    let _beside = beside();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives = drive(folder.path(), 0);
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let script = r#"
modprobe nvme
while ! [ -b /dev/nvme0n1 ]; do sleep 0.2; done
$iotax run /dev/nvme0n1 '/dev/nvme0n1 | vm(attach=vfio)' --budget 20s >/mnt/out 2>&1
fact exit $?: $(tr '\n' ' ' </mnt/out)
$iotax resume last >/mnt/out 2>&1
fact again $?: $(tr '\n' ' ' </mnt/out)
fact listed $($iotax list)
"#;
    let Some(facts) = lab(script, "intel_iommu=off", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    assert!(facts[0].starts_with("exit 3: ") && facts[0].contains("intel_iommu=on"), "{facts:?}");
    assert!(facts[0].contains("after the reboot, iotax resume 2"), "{facts:?}");
    assert!(
        facts[1].starts_with("again 3: ") && facts[1].contains("no IOMMU is in use"),
        "{facts:?}"
    );
    assert!(facts[2].contains(" waits for a reboot "), "{facts:?}");
}

#[test]
#[ignore = "minutes; ./check --lab runs it"]
fn of_disks_that_the_kernel_of_the_lab_serves() {
    let _beside = beside();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives: Vec<String> = (0..2).flat_map(|number| drive(folder.path(), number)).collect();
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let guest = "vm(attach=vhost-scsi,memory=256MiB,vcpus=1)";
    let run = format!(
        "$iotax run 'file:/mnt/fs/x.img,size=32MiB | {guest}' '/dev/nvme1n1 | {guest}' --bs 4k --rw randread \
         --iodepth 1 --budget 20s"
    );
    // Empty folders of the target's own (core, discovery_auth) do not count; that of the fabric is
    // there for us alone.
    let untouched = "! ls /sys/kernel/config/target/core/*/iotax* 2>/dev/null && ! [ -e /sys/kernel/config/target/vhost ] \
                     && ! [ -e /mnt/fs/x.img ] && ! pgrep -f iotax-2 >/dev/null";
    let killed = killed_at_each(4..9, &run, untouched);
    let script = format!(
        r#"
modprobe nvme; modprobe ext4
while ! [ -b /dev/nvme1n1 ]; do sleep 0.2; done
mkdir -p /mnt/fs && mkfs.ext4 -q /dev/nvme0n1 && mount /dev/nvme0n1 /mnt/fs
{killed}
{run} -v >/mnt/out 2>&1 || fail "$(cat /mnt/out)"
fact disks $(grep -c 'vhost-scsi *-' /mnt/out)
fact warned $(grep -c 'settings (' /mnt/out)
fact of $(grep -A3 'settings (' /mnt/out | tr '\n' ' ')
{untouched} || fail not as before
fact as before
"#
    );
    let Some(facts) = lab(&script, "intel_iommu=off", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    for fact in ["killed everywhere", "disks 2", "warned 0", "as before"] {
        assert!(facts.iter().any(|found| found == fact), "no \"{fact}\" in {facts:?}");
    }
}

/// E3 in small: two arrays of the kernel's, a guest on each by its vhost, with every drive there
/// and with one lost of each. They are set up once: nobody is there in this lab who takes the link
/// to an array away when it is stopped.
#[test]
#[ignore = "minutes; ./check --lab runs it"]
fn of_arrays_under_guests_healthy_and_degraded() {
    let _beside = beside();
    if !rig::can_run(&["mdadm"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives: Vec<String> = (0..6).flat_map(|number| drive(folder.path(), number)).collect();
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let guest = "vm(attach=vhost-scsi,memory=256MiB,vcpus=1)";
    let array = "mdraid(level=5,chunk=64KiB,size=16MiB)";
    let lists = [0..3, 3..6].map(|numbers| {
        let names: Vec<String> = numbers.map(|number| format!("/dev/nvme{number}n1")).collect();
        format!("[{}]", names.join(","))
    });
    let consent: Vec<String> =
        (0..6).map(|number| format!("--destroy serial=LAB{number}")).collect();
    let run = format!(
        "$iotax run 'each([{}]) | {array} | {guest} x2' --states 'healthy,failed(1)' --bs 4k --rw randread \
         --iodepth 2 --visits 1 --min-time 2s --budget 6s --percentiles p99.95 {}",
        lists.join(","),
        consent.join(" ")
    );
    let script = format!(
        r#"
modprobe nvme
for number in 0 1 2 3 4 5; do while ! [ -b /dev/nvme${{number}}n1 ]; do sleep 0.2; done; done
{run} --format csv >/mnt/out 2>/mnt/err || fail "$(cat /mnt/err)"
fact failed $(grep -c ',read latency p99.95,' /mnt/out)
fact engine $(grep 'iops per busy core of the engine' /mnt/out | grep -c ',known,')
$iotax report last --format markdown >/mnt/text || fail no report
fact threads $(grep -c 'md[0-9]*[^ ]*_raid5.*md[0-9]*[^ ]*_raid5.*vhost (2)' /mnt/text)
fact states $(grep -c 'failed(1): degraded, 1 missing' /mnt/text)
grep -q '^md' /proc/mdstat && fail "arrays are left: $(cat /proc/mdstat)"
fact as before
"#
    );
    let Some(facts) = lab(&script, "intel_iommu=off", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    for fact in ["failed 2", "engine 2", "states 1", "as before"] {
        assert!(facts.iter().any(|found| found == fact), "no \"{fact}\" in {facts:?}");
    }
    assert!(
        facts.iter().any(|fact| fact.starts_with("threads ") && fact != "threads 0"),
        "{facts:?}"
    );
}

/// Four hosts over SSH in network namespaces of their own, each with its own path to one NVMe
/// namespace that this lab exports over TCP.
const FOUR_HOSTS: &str = r#"
for module in nvme nvmet nvmet-tcp nvme-tcp veth; do modprobe $module || fail "no module $module"; done
n=0; while [ ! -b /dev/nvme0n1 ]; do n=$((n+1)); [ $n -lt 100 ] || fail "no drive"; sleep 0.2; done
mount -t configfs configfs /sys/kernel/config
target=/sys/kernel/config/nvmet
export_=$target/subsystems/nqn.2026-01.lab:export
mkdir $export_ && echo 1 > $export_/attr_allow_any_host && mkdir $export_/namespaces/1
printf /dev/nvme0n1 > $export_/namespaces/1/device_path && echo 1 > $export_/namespaces/1/enable || fail "no export"
port=$target/ports/1; mkdir $port
echo ipv4 > $port/addr_adrfam; echo tcp > $port/addr_trtype; echo 0.0.0.0 > $port/addr_traddr; echo 4420 > $port/addr_trsvcid
ln -s $export_ $port/subsystems/ || fail "no port"
ip link set lo up
mkdir -p /run/ssh /run/sshd; chmod 700 /run/ssh
for key in host user; do ssh-keygen -q -t ed25519 -N "" -f /run/ssh/$key; done
members=
for n in 1 2 3 4; do
    ip netns add h$n && ip link add t$n type veth peer name e0 netns h$n || fail "no namespace h$n"
    ip addr add 10.9.$n.1/24 dev t$n && ip link set t$n up
    ip -n h$n addr add 10.9.$n.2/24 dev e0; ip -n h$n link set e0 up; ip -n h$n link set lo up
    id=hostnqn=nqn.2026-01.lab:h$n,hostid=00000000-0000-4000-8000-00000000000$n
    ip netns exec h$n sh -c "echo transport=tcp,traddr=10.9.$n.1,trsvcid=4420,nqn=nqn.2026-01.lab:export,$id > /dev/nvme-fabrics" ||
        fail "h$n does not connect"
    cat > /run/ssh/h$n.conf <<END
ListenAddress 10.9.$n.2
Port 22
HostKey /run/ssh/host
AuthorizedKeysFile /run/ssh/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
END
    ip netns exec h$n unshare --mount sh -c "mount -t tmpfs none /tmp && exec /usr/sbin/sshd -f /run/ssh/h$n.conf" || fail "no sshd in h$n"
    printf 'Host h%s\n HostName 10.9.%s.2\n User root\n IdentityFile /run/ssh/user\n IdentitiesOnly yes\n UserKnownHostsFile /run/ssh/known\n' $n $n >> /run/ssh/config
    echo "10.9.$n.2 $(cat /run/ssh/host.pub)" >> /run/ssh/known
    device=
    for controller in /sys/class/nvme/*; do
        if grep -q "traddr=10.9.$n.1," $controller/address; then device=/dev/$(basename $controller)n1; fi
    done
    tries=0; while [ ! -b "$device" ]; do tries=$((tries+1)); [ $tries -lt 100 ] || fail "h$n has no drive"; sleep 0.2; done
    fact path h$n $device
    members=$members${members:+,}ssh:h$n:$device
done
export IOTAX_SSH_CONFIG=/run/ssh/config
one=${members%%,*}
$iotax run "$one" "each([$members])" --rw randread --bs 4KiB --slice 200ms --min-time 20s --budget 20s --matched-rate off --format json \
    > /mnt/report 2> /mnt/said || fail "the run: $(tail -c 2000 /mnt/said)"
report=$(tr -d '\n' < /mnt/report | tr -s ' ')
fact "crowd $(echo "$report" | grep -o '"sentence": *"each of 4: 4 hosts at once[^"]*"')"
fact "fairness $(echo "$report" | grep -o '"jain": *{[^}]*' | head -n 1)"
fact "parts $(grep -h '"stack":"each of 4"' /mnt/runs/*/index.jsonl | grep -c '"parts":\[{"place":"ssh:h1".*"ssh:h2".*"ssh:h3".*"ssh:h4"')"
fact "left $(ls /tmp | grep -c iotax-)"
"#;

#[test]
#[ignore = "in a lab of its own, under a translator"]
fn four_hosts_load_one_export_over_nvme_tcp_and_are_told_apart() {
    let _alone = rig::alone();
    if !can(
        "ip, sshd and ssh-keygen",
        has("ip") && has("ssh-keygen") && Path::new("/usr/sbin/sshd").exists(),
    ) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drive = drive(folder.path(), 0);
    // Each path is a drive of its own: in truth they are drives of four machines.
    let arguments: Vec<&str> = drive.iter().map(String::as_str).collect();
    let Some(facts) = lab(FOUR_HOSTS, "nvme_core.multipath=N", &arguments) else { return };
    let of =
        |word: &str| facts.iter().filter_map(|fact| fact.strip_prefix(word)).collect::<Vec<_>>();
    assert_eq!(of("path ").len(), 4, "{facts:?}");
    let crowd = of("crowd ").concat();
    println!("{crowd}");
    assert!(crowd.contains("4 hosts at once"), "{facts:?}");
    assert!(of("fairness ").concat().contains("\"value\""), "{facts:?}");
    let slices: usize = of("parts ").concat().parse().unwrap();
    assert!(slices > 4, "all four took part in {slices} slices");
}
