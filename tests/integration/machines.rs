//! Existing virtual machines as places. The host that they are is a real sshd on loopback, and
//! their managers are a program `qm` that answers as Proxmox VE's documentation has it, and a real
//! libvirtd.

use crate::rig::{Rig, can, can_loop, can_run, is_root, says, wait, words};
use crate::sshd::Sshd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A `qm` over the files `config` and `status` of its folder. It lists its arguments in `log`.
const QM: &str = r#"#!/bin/sh
set -eu
cd "$(dirname "$0")/qm.d"
echo "$*" >>log
digest() { sha1sum <config | cut -d ' ' -f 1; }
case "$1" in
status) echo "status: $(cat status)" ;;
config) cat config; echo "digest: $(digest)" ;;
listsnapshot) [ ! -f snapshots ] || cat snapshots; echo '`-> current                     You are here!' ;;
set)
    [ "$6" = "$(digest)" ] || { echo "detected modified configuration - file changed by other user? Try again." >&2; exit 255; }
    sed -i "s#^${3#--}: .*#${3#--}: $4#" config ;;
shutdown | stop) echo stopped >status ;;
start) echo running >status ;;
*) echo "unknown command" >&2; exit 1 ;;
esac
"#;

/// The serial of the drive below a folder, which a file there has in the facts of a host.
fn serial_below(folder: &Path) -> Option<String> {
    let output =
        Command::new("findmnt").args(["-n", "-o", "SOURCE", "-T"]).arg(folder).output().ok()?;
    let source = String::from_utf8(output.stdout).ok()?;
    let name = Path::new(source.trim()).file_name()?.to_str()?.to_owned();
    let read = |file: &str| std::fs::read_to_string(format!("/sys/class/block/{name}/{file}")).ok();
    let serial = read("serial").or_else(|| read("device/serial"))?.trim().to_owned();
    (!serial.is_empty()).then_some(serial)
}

/// Returns the URI of the separate libvirtd that uses this folder.
fn libvirt_uri(folder: &Path) -> String {
    format!("qemu:///session?socket={}", folder.join("run/libvirt/libvirt-sock").display())
}

struct Machines {
    rig: Rig,
    sshd: Sshd,
    serial: String,
}

impl Machines {
    fn new() -> Option<Machines> {
        let rig = Rig::new();
        let serial = serial_below(&rig.path(""));
        if !can("a drive with a serial below /var/tmp", serial.is_some()) {
            return None;
        }
        let sshd = Sshd::start(&rig, None)?;
        std::fs::write(rig.path("x.img"), vec![7; 16 << 20]).unwrap();
        Some(Machines { rig, sshd, serial: serial? })
    }

    /// The scenario of the stack as it is, and of one with other settings.
    fn scenario(&self, place: &str, more: &str) -> String {
        let target = format!("ssh:elsewhere:{}", self.rig.path("x.img").display());
        let text = format!(
            "{more}\n[place.vm1]\nssh = \"elsewhere\"\n{place}\nfacts = [\"switch: SN2010\"]\n\
             [stack.asis]\ntext = \"{target}\"\n[stack.changed]\ntext = \"{target} | domain(cache=writeback)\"\n\
             [measure]\nvisits = 2\nmin_time = \"1s\"\nbudget = \"4s\"\nmatched_rate = \"off\"\n"
        );
        let file = self.rig.path("scenario.toml");
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    fn command(&self, args: &[&str]) -> Command {
        let path = format!("{}:{}", self.rig.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = self.rig.command(args);
        command.env("IOTAX_SSH_CONFIG", &self.sshd.config).env("PATH", path).stdin(Stdio::null());
        // A scenario must not name a socket.
        command.env("VIRSH_DEFAULT_CONNECT_URI", libvirt_uri(&self.rig.path("lv")));
        command
    }

    fn iotax(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn expect(&self, code: i32, args: &[&str]) -> String {
        let output = self.iotax(args);
        assert_eq!(output.status.code(), Some(code), "iotax {args:?}\n{}", words(&output));
        words(&output)
    }

    fn killed_at(&self, record: &str, args: &[&str]) {
        let output = self.command(args).env("IOTAX_CRASH_AT", record).output().unwrap();
        assert_eq!(output.status.code(), None, "{}", words(&output));
    }

    /// Records of the journal of the newest run that have a word.
    fn record_of(&self, word: &str) -> usize {
        let journal =
            std::fs::read_to_string(self.rig.run_dirs().pop().unwrap().join("journal.jsonl"))
                .unwrap();
        journal.lines().position(|line| line.contains(word)).unwrap()
    }
}

struct Qm {
    folder: PathBuf,
}

impl Qm {
    fn put(machines: &Machines) -> Qm {
        let bin = machines.rig.path("bin");
        let folder = bin.join("qm.d");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(bin.join("qm"), QM).unwrap();
        std::fs::set_permissions(bin.join("qm"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let qm = Qm { folder };
        let serial = &machines.serial;
        qm.write(
            "config",
            &format!(
                "cores: 4\nmemory: 4096\nscsi0: local:vm-100-disk-0,cache=none,serial={serial},size=32G\n"
            ),
        );
        qm.write("status", "running\n");
        qm
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.folder.join(file), text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).unwrap_or_default()
    }
}

#[test]
fn a_vm_of_proxmox_is_read_changed_for_visits_and_put_back() {
    let Some(machines) = Machines::new() else { return };
    let qm = Qm::put(&machines);
    let before = qm.read("config");
    let scenario = machines.scenario("proxmox = 100", "");
    let refused = machines.expect(2, &["run", &scenario]);
    says(
        &refused,
        &["proxmox:100 would be shut down", "hint: allow this with --change proxmox:100"],
    );
    let step = "shut down proxmox:100, set cache=writeback of the disk under load";
    let without = machines.expect(3, &["plan", "-v", &scenario]);
    says(
        &without,
        &["hint: allow this with --change proxmox:100", step, "undo all steps in reverse order"],
    );
    let plan = machines.expect(0, &["plan", "-v", &scenario, "--change", "proxmox:100"]);
    says(&plan, &[step, "shutting down and starting proxmox:100 up to 4 times"]);
    assert!(!plan.contains("hint: allow"), "{plan}");
    assert!(!qm.read("log").contains("set"), "a plan changes nothing");

    machines.expect(0, &["run", &scenario, "--change", "proxmox:100"]);
    assert_eq!((qm.read("config"), qm.read("status")), (before.clone(), "running\n".into()));
    let log = qm.read("log");
    let changed = format!(
        "set 100 --scsi0 local:vm-100-disk-0,serial={},size=32G,cache=writeback --digest ",
        machines.serial
    );
    assert_eq!(log.matches(&changed).count(), 2, "once a visit: {log}");
    assert_eq!(
        (log.matches("shutdown 100").count(), log.matches("start 100").count()),
        (4, 4),
        "{log}"
    );
    let places = machines.rig.records("place");
    let facts = &places.iter().find(|place| place["place"] == "ssh:elsewhere").unwrap()["facts"];
    assert_eq!(
        (&facts["said"]["switch"], &facts["vm"]["settings"]["cores"]),
        (&"SN2010".into(), &"4".into())
    );
    let disk = &facts["vm"]["disks"][0];
    assert_eq!((&disk["name"], &disk["settings"]["cache"]), (&"scsi0".into(), &"none".into()));
    assert_eq!(disk["measured"], machines.rig.path("x.img").to_str().unwrap());
    let layer = machines.rig.records("volume");
    assert_eq!(
        (&layer[0]["layer"], &layer[0]["settings"]["cache"]),
        (&"domain".into(), &"writeback".into())
    );
    let markdown = machines.expect(0, &["report", "last", "--format", "markdown"]);
    says(&markdown, &["said.switch: SN2010", "vm.disks.0.settings.cache: none"]);
}

#[test]
#[ignore = "most of a minute of boots: ./check --lab runs it by name"]
fn a_vm_that_a_killed_run_has_changed_is_put_back_unless_somebody_has_edited_it() {
    let Some(machines) = Machines::new() else { return };
    let qm = Qm::put(&machines);
    let before = qm.read("config");
    let scenario = machines.scenario("proxmox = 100", "change = [\"proxmox:100\"]");
    let run = ["run", scenario.as_str()];
    machines.expect(0, &run);
    // The first record of the change is its intent; the next says that it was made.
    let intent = machines.record_of("change_machine");
    for record in [
        format!("{intent}:after"),
        format!("{}:before", intent + 1),
        format!("{}:after", intent + 1),
    ] {
        machines.killed_at(&record, &run);
        machines.expect(0, &["clean"]);
        assert_eq!(
            (qm.read("config"), qm.read("status")),
            (before.clone(), "running\n".into()),
            "{record}"
        );
    }
    machines.killed_at(&format!("{}:after", intent + 1), &run);
    qm.write("config", &qm.read("config").replace("memory: 4096", "memory: 8192"));
    let left = machines.expect(5, &["clean"]);
    says(&left, &["it was edited after the run changed it", "restore that by hand"]);
    assert!(
        qm.read("config").contains("memory: 8192") && qm.read("config").contains("cache=writeback")
    );
}

#[test]
fn a_vm_that_is_off_locked_or_has_snapshots_is_left_alone() {
    let Some(machines) = Machines::new() else { return };
    let qm = Qm::put(&machines);
    let before = qm.read("config");
    let scenario = machines.scenario("proxmox = 100", "change = [\"proxmox:100\"]");
    qm.write("snapshots", "`-> s1  2026-01-01 00:00:00  no-description\n");
    says(
        &machines.expect(2, &["run", &scenario]),
        &["proxmox:100 is not changed: it has snapshots"],
    );
    std::fs::remove_file(qm.folder.join("snapshots")).unwrap();
    qm.write("config", &format!("lock: migrate\n{before}"));
    says(&machines.expect(2, &["run", &scenario]), &["it is locked (migrate)"]);
    qm.write("config", &before);
    qm.write("status", "stopped\n");
    says(
        &machines.expect(2, &["run", &scenario]),
        &["ssh:elsewhere is declared as proxmox:100", "it is stopped"],
    );
    assert!(!qm.read("log").contains("shutdown"));
    let other = machines.scenario("libvirt = \"db1\"\non = \"ssh:other.invalid\"", "");
    says(&machines.expect(2, &["run", &other]), &["hint: allow this with --change libvirt:db1"]);
}

/// A separate libvirtd, as nobody; it ends when dropped.
struct Libvirt {
    folder: PathBuf,
    pid: String,
}

impl Libvirt {
    fn start(rig: &Rig) -> Option<Libvirt> {
        if !can("root", is_root())
            || !can_run(&["libvirtd", "virsh", "qemu-system-x86_64", "setpriv"])
        {
            return None;
        }
        let folder = rig.path("lv");
        let line = "set -eu; d=$1; chmod 711 \"$(dirname \"$d\")\"; u=$(id -u nobody) g=$(id -g nobody); \
                    install -d -m 700 -o $u -g $g $d $d/run $d/home; cd $d; \
                    setpriv --reuid $u --regid $g --clear-groups env -i PATH=\"$PATH\" HOME=$d/home XDG_RUNTIME_DIR=$d/run \
                    XDG_CONFIG_HOME=$d/home/.config XDG_CACHE_HOME=$d/home/.cache \
                    libvirtd --daemon --pid-file $d/run/libvirtd.pid --timeout 600";
        let started = Command::new("sh").args(["-c", line, "sh"]).arg(&folder).status().unwrap();
        assert!(started.success());
        wait(|| folder.join("run/libvirt/libvirt-sock").exists(), 30, "libvirtd's socket");
        let pid =
            std::fs::read_to_string(folder.join("run/libvirtd.pid")).unwrap().trim().to_owned();
        Some(Libvirt { folder, pid })
    }

    fn uri(&self) -> String {
        libvirt_uri(&self.folder)
    }

    fn virsh(&self, args: &[&str]) -> String {
        let output =
            Command::new("virsh").args(["-q", "-c", &self.uri()]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", words(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        for command in [["destroy", "iotax-it"], ["undefine", "iotax-it"]] {
            drop(Command::new("virsh").args(["-q", "-c", &self.uri()]).args(command).output());
        }
        drop(Command::new("kill").arg(&self.pid).output());
    }
}

#[test]
#[ignore = "long: a real libvirtd and its domain, for `./check --lab`"]
fn a_real_domain_of_libvirt_is_read_changed_and_put_back() {
    let Some(machines) = Machines::new() else { return };
    let Some(libvirt) = Libvirt::start(&machines.rig) else { return };
    let disk = libvirt.folder.join("d.img");
    std::fs::write(&disk, vec![0; 1 << 20]).unwrap();
    std::fs::set_permissions(&disk, std::fs::Permissions::from_mode(0o666)).unwrap();
    let domain = machines.rig.path("dom.xml");
    let (source, serial) = (disk.display(), &machines.serial);
    let xml = format!(
        "<domain type='qemu'><name>iotax-it</name><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type arch='x86_64' \
         machine='q35'>hvm</type></os><devices><disk type='file' device='disk'><driver name='qemu' type='raw' cache='none' \
         io='threads'/><source file='{source}'/><target dev='vda' bus='virtio'/>\
         <iotune><read_iops_sec>700000</read_iops_sec></iotune><serial>{serial}</serial></disk></devices></domain>"
    );
    std::fs::write(&domain, xml).unwrap();
    libvirt.virsh(&["define", domain.to_str().unwrap()]);
    // It has no operating system, so it does not shut down in order.
    let scenario =
        machines.scenario("libvirt = \"iotax-it\"", "change = [\"libvirt:iotax-it,force\"]");
    let run = ["run", scenario.as_str()];
    says(&machines.expect(2, &run), &["declared as libvirt:iotax-it", "it is shut off"]);
    libvirt.virsh(&["start", "iotax-it"]);
    let saved = || libvirt.virsh(&["dumpxml", "--inactive", "--security-info", "iotax-it"]);
    let before = saved();
    machines.expect(0, &run);
    assert_eq!(saved(), before);
    assert_eq!(libvirt.virsh(&["domstate", "iotax-it"]).trim(), "running");
    let places = machines.rig.records("place");
    let vm = places.iter().find(|place| place["place"] == "ssh:elsewhere").unwrap();
    let limit = &vm["facts"]["limits"][0];
    assert_eq!(
        (limit["rate"].as_f64(), &limit["set_in"]),
        (Some(700_000.0), &"virsh blkdeviotune iotax-it vda".into())
    );
    let layer = machines.rig.records("volume");
    assert_eq!(
        (&layer[0]["settings"]["cache"], &layer[0]["settings"]["io"]),
        (&"writeback".into(), &"threads".into())
    );
    let intent = machines.record_of("change_machine");
    for record in [
        format!("{intent}:after"),
        format!("{}:before", intent + 1),
        format!("{}:after", intent + 1),
    ] {
        machines.killed_at(&record, &run);
        machines.expect(0, &["clean"]);
        assert_eq!(saved(), before, "{record}");
        assert!(libvirt.virsh(&["dumpxml", "iotax-it"]).contains("cache='none'"), "{record}");
    }
    machines.killed_at(&format!("{}:after", intent + 1), &run);
    libvirt.virsh(&["setvcpus", "iotax-it", "1", "--config", "--maximum"]);
    libvirt.virsh(&["desc", "iotax-it", "--config", "edited by somebody"]);
    says(&machines.expect(5, &["clean"]), &["it was edited after the run changed it"]);
    assert!(saved().contains("edited by somebody"));
}

#[test]
fn a_person_moves_a_drive_and_resume_goes_on() {
    if !can_loop() {
        return;
    }
    let rig = Rig::new();
    let image = rig.path("drive.img");
    std::fs::write(&image, vec![7; 16 << 20]).unwrap();
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().unwrap();
    let device = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
    // A drive has its path in one place at a time, and its name for consents in all.
    let sequence =
        std::fs::read_to_string(format!("/sys/block/{}/diskseq", &device[5..])).unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let serial = format!("boot-{}-diskseq-{}", &boot[..8], sequence.trim());
    let places = ["a", "b"]
        .map(|name| PathBuf::from(format!("/dev/iotax-it-{}-{name}", std::process::id())));
    let links = Links { places: places.clone(), device: device.clone() };
    let stack = |name: &str, place: &Path, size: &str| {
        format!(
            "[stack.{name}]\ntext = \"{}\"\noperator = {{ text = \"give the drive to {name}\", serial = \"{serial}\", size = \"{size}\" }}\n",
            place.display()
        )
    };
    let write = |size| {
        let measure =
            "[measure]\nvisits = 2\nmin_time = \"1s\"\nbudget = \"4s\"\nmatched_rate = \"off\"\n";
        let text = stack("one", &places[0], size) + &stack("two", &places[1], size) + measure;
        std::fs::write(rig.path("move.toml"), text).unwrap();
    };
    write("8MiB");
    let file = rig.path("move.toml").display().to_string();
    let plan = rig.expect(0, &["plan", "-v", &file]);
    says(&plan, &["manual step: give the drive to one", "of it used)", "up to 4 manual steps"]);
    let mut args = ["run", file.as_str()];
    let mut moved = 0;
    loop {
        let output = rig.command(&args).stdin(Stdio::null()).output().unwrap();
        let said = words(&output);
        match output.status.code() {
            Some(0) => break,
            Some(3) => {
                let moves =
                    format!("(manual step {} of at most 4)", rig.records("visit_end").len() + 1);
                says(&said, &["waits for a manual step before", &moves, "reason: "]);
                let error = said.split("waits for a manual step before").last().unwrap_or_default();
                assert_eq!(error.matches("iotax resume").count(), 1, "{said}");
                says(
                    &rig.expect(0, &["list"]),
                    &[" waits for a manual step ", "after the manual step: iotax"],
                );
            }
            _ => panic!("{said}"),
        }
        let to = usize::from(said.contains("give the drive to two"));
        let still = format!("is still {} of this host", places[1 - to].display());
        assert!(
            said.contains(if moved == 0 { "does not exist; the drive" } else { still.as_str() }),
            "{said}"
        );
        links.give(to);
        moved += 1;
        assert!(moved <= 4, "{said}");
        args = ["resume", "last"];
    }
    assert!(moved >= 2, "the drive was in both places: {moved}");
    let slices = rig.records("slice");
    let of = |stack: &str| slices.iter().filter(|slice| slice["stack"] == stack).count();
    assert!(of("one") > 0 && of("two") > 0);
    write("32MiB");
    let here = usize::from(!places[0].exists());
    let small = rig.command(&["run", &file]).stdin(Stdio::null()).output().unwrap();
    let small = match small.status.code() {
        Some(3) => {
            links.give(1 - here);
            words(&rig.command(&["resume", "last"]).stdin(Stdio::null()).output().unwrap())
        }
        _ => words(&small),
    };
    says(&small, &["its drive has 16 MiB, less than the operator's size of 32 MiB"]);
}

/// Where the drive is.
struct Links {
    places: [PathBuf; 2],
    device: String,
}

impl Links {
    fn give(&self, to: usize) {
        drop(std::fs::remove_file(&self.places[1 - to]));
        if !self.places[to].exists() {
            std::os::unix::fs::symlink(&self.device, &self.places[to]).unwrap();
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for place in &self.places {
            drop(std::fs::remove_file(place));
        }
        drop(Command::new("losetup").args(["--detach", &self.device]).status());
    }
}
