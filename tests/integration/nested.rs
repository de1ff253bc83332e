//! What this machine's kernel may lack is tried in a guest that has it (tools/lab-guest): the program runs there as on a
//! host, with guests of its own, a translator in a translator. Slow, so part of the long suite; it proves ways, not figures.

use crate::rig::{alone, can, has, is_root};
use iotax::layer::guest::kernel;
use std::fmt::Write as _;
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

/// Runs a script in the lab and gives its facts; `None` where the lab cannot be. `append` is for the kernel's command line.
fn lab(script: &str, append: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let needed = ["qemu-system-x86_64", "busybox", "depmod", "modprobe"];
    let able = is_root() && needed.iter().all(|program| has(program));
    if !can("root, qemu-system-x86_64, busybox (static) and kmod", able) {
        return None;
    }
    let kernel = kernel::obtain().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    let program = env!("CARGO_BIN_EXE_iotax");
    std::fs::write(&file, format!("{HEAD}iotax={program}\n{script}\n")).unwrap();
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
    Some(console.lines().filter_map(|line| line.trim().strip_prefix(FACT)).map(str::to_owned).collect())
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

/// Kills at each record up to that one, cleans after each, and asks whether the lab is as before.
fn killed_at_each(records: usize, command: &str, as_before: &str) -> String {
    let mut script = String::new();
    for record in 0..records {
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
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives = drive(folder.path(), 0);
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let run = "$iotax run /dev/nvme0n1 '/dev/nvme0n1 | vm(attach=vfio,memory=256MiB,vcpus=1)' \
               --bs 4k --rw randread --iodepth 1 --visits 1 --budget 20s";
    let bound = "[ $(basename $(readlink /sys/bus/pci/devices/0000:00:01.0/driver)) = nvme ] && [ -b /dev/nvme0n1 ] \
                 && [ \"$(cat /sys/bus/pci/devices/0000:00:01.0/driver_override)\" = '(null)' ]";
    let killed = killed_at_each(5, run, bound);
    let script = format!(
        r#"
modprobe nvme
while ! [ -b /dev/nvme0n1 ]; do sleep 0.2; done
# Somebody else's: never taken.
mkdir -p /mnt/fs && mkfs.ext4 -q /dev/nvme0n1 && modprobe ext4 && mount /dev/nvme0n1 /mnt/fs
{run} >/mnt/out 2>&1; fact mounted: exit $?, $(tr '\n' ' ' </mnt/out)
umount /mnt/fs
{killed}
{run} >/mnt/out 2>&1 || fail "$(cat /mnt/out)"
$iotax report last --format json >/mnt/json || fail no report
fact attach $(grep -c '"attach": "vfio"' /mnt/json)
fact slices $(grep -o '"stack":"vm"' /mnt/runs/*/index.jsonl | wc -l)
grep -q 'on this host and' /mnt/out && fail "another drive: $(cat /mnt/out)"
{bound} || fail not given back
fact given back
"#
    );
    let Some(facts) = lab(&script, "intel_iommu=on iommu=pt", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    assert!(
        facts[0].starts_with("mounted: exit 2, ") && facts[0].contains("mounted at /mnt/fs"),
        "{facts:?}"
    );
    assert!(facts.iter().any(|fact| fact == "killed everywhere"), "{facts:?}");
    assert!(facts.iter().any(|fact| fact == "given back"), "{facts:?}");
}

#[test]
#[ignore = "minutes; ./check --lab runs it"]
fn of_a_machine_whose_iommu_is_off() {
    let _alone = alone();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let drives = drive(folder.path(), 0);
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let script = r#"
modprobe nvme
while ! [ -b /dev/nvme0n1 ]; do sleep 0.2; done
$iotax run /dev/nvme0n1 '/dev/nvme0n1 | vm(attach=vfio)' --budget 20s >/mnt/out 2>&1
fact exit $?: $(tr '\n' ' ' </mnt/out)
"#;
    let Some(facts) = lab(script, "intel_iommu=off", &drives) else { return };
    eprintln!("{}", facts.join("\n"));
    assert!(facts[0].starts_with("exit 3: ") && facts[0].contains("intel_iommu=on"), "{facts:?}");
}
