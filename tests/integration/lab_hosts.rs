//! Several hosts in one run: a storage host whose exports several clients load together. Labs stand
//! for them, and hosts over ssh in network namespaces of one lab. A script plays the person who
//! connects what iotax exports.

use crate::lab::told_in_lab;
use crate::rig::{Rig, alone, beside, can, can_run, traces};
use iotax_layers::lab::root_image;
use std::fs;

/// E4 of the articles in small: one back end, two protocols, two clients with two disks each.
const TWO_CLIENTS: &str = r#"
baseline = "iscsi"
[place.st]
drives = 2
drive_size = "256MiB"
memory = "1GiB"
[place.c1]
vcpus = 1
memory = "768MiB"
[place.c2]
vcpus = 1
memory = "768MiB"
[stack.iscsi]
text = "[nvme0,nvme1] @st | lvm(type=striped,stripes=2) | split(4) | iscsi @st>@[c1,c2]"
[stack.nvmf]
text = "[nvme0,nvme1] @st | lvm(type=striped,stripes=2) | split(4) | nvmf(tcp) @st>@[c1,c2]"
[[workload]]
rw = "randrw"
size = "8MiB"
[measure]
visits = 2
min_time = "2s"
budget = "8s"
matched_rate = "off"
"#;

#[test]
#[ignore = "boots three labs for every tenth record of a journal, in an image that ./check --lab builds"]
fn clients_of_one_storage_host_are_loaded_together_and_cleaned_from_any_tenth_record() {
    let parts = can_run(&["qemu-system-x86_64", "ip"]).then(crate::lab::parts);
    let Some(parts) = parts else { return };
    if !can("the lab's image: iotax lab build", root_image(&parts.kernel).is_ok()) {
        return;
    }
    let _alone = alone();
    let rig = Rig::new();
    let file = rig.path("clients.toml");
    fs::write(&file, TWO_CLIENTS).unwrap();
    let file = file.to_str().unwrap();
    let report = rig.json(&["run", file, "--max-written", "2GiB"]);
    for row in report["workloads"][0]["rows"].as_array().unwrap() {
        assert!(row["iops"]["value"].as_f64().is_some_and(|iops| iops > 0.0), "{row}");
        assert_eq!(row["errors"], 0, "{row}");
    }
    let loaded: std::collections::BTreeSet<String> =
        rig.records("worker").iter().map(|worker| worker["place"].to_string()).collect();
    assert_eq!(loaded.into_iter().collect::<Vec<_>>(), ["\"c1\"", "\"c2\""]);
    // In each of the two orders of visits the volume is made once for both exports.
    let made = fs::read_to_string(rig.run_dirs()[0].join("journal.jsonl")).unwrap();
    assert_eq!(made.matches("make the volume group").count(), 2, "{made}");
    assert_eq!(made.matches("serve it over").count(), 16);
    let left = |rig: &Rig| {
        let links = std::process::Command::new("ip").args(["-o", "link"]).output().unwrap();
        let links = String::from_utf8_lossy(&links.stdout).into_owned();
        let of_run = links.lines().filter(|line| line.contains(" ix")).map(str::to_owned);
        of_run.chain(traces(&rig.runs())).collect::<Vec<String>>()
    };
    assert_eq!(left(&rig), [""; 0]);
    let most: usize = std::env::var("IOTAX_KILLS").map_or(60, |most| most.parse().unwrap());
    for record in (0..most).step_by(10) {
        let mut command = rig.command(&["run", file, "--max-written", "2GiB"]);
        let output = command.env("IOTAX_CRASH_AT", format!("{record}:after")).output().unwrap();
        if output.status.code() == Some(0) {
            assert!(record > 20, "the run has only {record} records");
            break;
        }
        rig.expect(0, &["clean"]);
        assert_eq!(left(&rig), [""; 0], "after record {record}");
    }
}

/// Hosts in network namespaces of the lab, reached by ssh, and a person played by the script.
const HOSTS: &str = r#"
mkdir -p -m 0700 /run/sshd /run/ssh /run/runs
ssh-keygen -q -t ed25519 -N '' -f /run/ssh/key && ssh-keygen -q -t ed25519 -N '' -f /run/ssh/host
cp /run/ssh/key.pub /run/ssh/authorized
export IOTAX_SSH_CONFIG=/run/ssh/config
ip link add br9 type bridge && ip address add 10.9.8.254/24 dev br9 && ip link set br9 up
host() {
    ip netns add $1
    ip link add v$2 type veth peer name eth0 netns $1 && ip link set v$2 master br9 up
    ip -n $1 address add 10.9.8.$2/24 dev eth0; ip -n $1 link set eth0 up; ip -n $1 link set lo up
    # What is copied to a host goes to folders of its own.
    nsenter --net=/run/netns/$1 unshare -m sh -c "mount -t tmpfs t /tmp; mount -t tmpfs t /root
        /usr/sbin/sshd -o HostKey=/run/ssh/host -o AuthorizedKeysFile=/run/ssh/authorized -o ListenAddress=10.9.8.$2 -o UsePAM=no -o StrictModes=no"
    echo "10.9.8.$2 $(cat /run/ssh/host.pub)" >> /run/ssh/known
    printf 'Host %s\n HostName 10.9.8.%s\n User root\n IdentityFile /run/ssh/key\n UserKnownHostsFile /run/ssh/known\n' $1 $2 >> /run/ssh/config
}
host st 1; host c1 2; host c2 3
cat > /run/clients.toml <<END
baseline = "lvm"
[stack.lvm]
text = "[${by}d0,${by}d1] @ssh:st | lvm(type=striped,stripes=2) | split(2) | nvmf(tcp,address=10.9.8.1) @ssh:st>@[ssh:c1,ssh:c2]"
[stack.mdraid]
text = "[${by}d0,${by}d1] @ssh:st | mdraid(level=0,chunk=64KiB) | split(2) | nvmf(tcp,address=10.9.8.1) @ssh:st>@[ssh:c1,ssh:c2]"
[[workload]]
rw = "randrw"
size = "8MiB"
[measure]
visits = 1
min_time = "1s"
budget = "3s"
matched_rate = "off"
END
consent="--destroy serial=d0,wipe=data --destroy serial=d1,wipe=data --destroy serial=d2,wipe=data --max-written 1GiB"
$tool --runs /run/runs run /run/clients.toml $consent --format json > /run/report.json 2> /run/out || { echo "HOSTS FAILED: clients"; tail -n 30 /run/out; }
grep -q '"errors": *[1-9]' /run/report.json && echo "HOSTS FAILED: errors"
echo "HOSTS clients $(grep -oh '"place":"ssh:c[12]"' /run/runs/*/index.jsonl | sort -u | tr '\n' ' ')"

# The disk that the person will make is a drive that is unplugged until then.
disk=$(basename $(readlink -f /sys/block/$(basename $(readlink -f ${by}d2))/device/device))
echo $disk > /sys/bus/pci/drivers/nvme/unbind
theirs=nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555
cat > /run/person.toml <<END
[stack.handed]
text = "${by}d0 @ssh:st | lvm | nvmf(tcp,address=10.9.8.1) @ssh:st"
operator = { text = "give vm2 its disk", undo = "take the disk away", size = "64MiB", disks = { "ssh:c2:${by}d2" = "d2" }, initiators = ["$theirs"], adapter = "vmhba64" }
[[workload]]
rw = "randrw"
size = "8MiB"
[measure]
min_time = "1s"
budget = "3s"
END
# The storage host may have the initiator for exports of its own.
mkdir -p /sys/kernel/config/nvmet/hosts/$theirs
$tool --runs /run/runs run /run/person.toml $consent --format json > /run/report.json 2> /run/out &
run=$!
until grep -q 'esxcli nvme fabrics connect' /run/out || ! kill -0 $run; do sleep 1; done
nqn=$(grep -o -- '-s nqn.*' /run/out | head -n 1 | cut -c 4-)
connect() { nsenter --net=/run/netns/c1 nvme connect -t tcp -a 10.9.8.1 -s 4420 -n "$nqn" --hostnqn $1 --hostid 11111111-2222-4333-8444-555555555555; }
connect nqn.2014-08.org.nvmexpress:uuid:99999999-2222-4333-8444-555555555555 > /dev/null 2>&1 && echo "HOSTS FAILED: a stranger was let in"
connect $theirs && echo "HOSTS connected"
sleep 3; kill -0 $run && echo "HOSTS waits"
echo $disk > /sys/bus/pci/drivers/nvme/bind
until grep -q 'take the disk away' /run/out || ! kill -0 $run; do sleep 1; done
echo $disk > /sys/bus/pci/drivers/nvme/unbind
nvme disconnect -n "$nqn" > /dev/null
wait $run && echo "HOSTS handed $(grep -l '"stack":"handed"' /run/runs/*/index.jsonl | xargs grep -o '"place":"ssh:c2"' | sort -u | wc -l)" || { echo "HOSTS FAILED: person"; tail -n 30 /run/out; }
rmdir /sys/kernel/config/nvmet/hosts/$theirs || echo "HOSTS FAILED: the entry of another's host is gone"
# A drive that the person moves, with layers on it: without a terminal the run ends, and goes on when it is there.
cat > /run/moved.toml <<END
[stack.moved]
text = "${by}d2 @ssh:c2 | lvm"
operator = { text = "give c2 the drive", serial = "d2", size = "200MiB" }
[[workload]]
rw = "randrw"
size = "8MiB"
[measure]
min_time = "1s"
budget = "3s"
END
$tool --runs /run/runs run /run/moved.toml $consent > /run/out 2>&1; [ $? -eq 3 ] && grep -q 'give c2 the drive' /run/out && echo "HOSTS asked"
echo $disk > /sys/bus/pci/drivers/nvme/bind; udevadm settle
$tool --runs /run/runs resume last > /run/out 2>&1 && echo "HOSTS moved $(grep -c 'IOPS' /run/out)" || { echo "HOSTS FAILED: moved"; tail -n 30 /run/out; }
ls /sys/kernel/config/nvmet/subsystems /sys/kernel/config/nvmet/hosts; vgs --noheadings
echo "HOSTS end"
"#;

#[test]
#[ignore = "runs in an image that ./check --lab builds"]
fn hosts_over_ssh_share_an_export_and_a_person_connects_another() {
    let _beside = beside();
    let Some(told) = told_in_lab(HOSTS, "HOSTS end") else { return };
    assert!(!told.contains("FAILED"), "{told}");
    let facts: Vec<&str> =
        told.lines().filter_map(|line| line.trim().strip_prefix("HOSTS ")).collect();
    println!("{}", facts.join("\n"));
    assert!(facts[0].contains("ssh:c1") && facts[0].contains("ssh:c2"), "{told}");
    assert_eq!(facts[1..5], ["connected", "waits", "handed 1", "asked"], "{told}");
    assert!(facts[5].starts_with("moved ") && facts[5] != "moved 0", "{told}");
}
