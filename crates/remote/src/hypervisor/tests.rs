//! Output of programs that ran here: virsh and libvirtd 9.0, govc and vcsim 0.37.3, and fakepve
//! 0.5.0 in the place of qm.

use super::*;
use iotax_facts::machine::{Device, TargetFacts};
use iotax_facts::place::Place;
use iotax_units::exit::{BAD_INPUT, code_of};
use std::cell::RefCell;

const RUNNING: &str = include_str!("recorded/libvirt-running.xml");
const PASSED_XML: &str = include_str!("recorded/libvirt-passed.xml");
const QM: &str = include_str!("recorded/qm-config.txt");
const GOVC_VM: &str = include_str!("recorded/govc-vm.json");
const GOVC_DEVICES: &str = include_str!("recorded/govc-devices.json");

fn vm(manager: Manager, name: &str) -> Vm {
    Vm { manager, name: name.into(), on: Place::Host, uri: None }
}

/// What a manager makes of these answers, by the word that each is asked with; and all that it
/// asked.
fn told(vm: &Vm, answers: &[(&str, &str)]) -> (Result<VmFacts>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let answer = |arguments: &[&str], _: Option<&str>| {
        asked.borrow_mut().push(arguments.join(" "));
        let found = answers.iter().find(|(word, _)| arguments.contains(word));
        found.map(|(_, text)| (*text).to_owned()).context("nobody asks for that")
    };
    let facts = hypervisor_of(vm.manager).read_machine_facts(vm, &answer);
    (facts, asked.into_inner())
}

fn device(path: &str, serial: Option<&str>) -> Facts {
    let device =
        Device { name: path[5..].into(), serial: serial.map(str::to_owned), ..Device::default() };
    let target = TargetFacts { path: path.into(), file_system: None, devices: vec![device] };
    Facts { targets: vec![target], ..Facts::default() }
}

#[test]
fn a_domain_of_libvirt_is_read() {
    let domain = Vm { uri: Some("qemu:///system".into()), ..vm(Manager::Libvirt, "db1") };
    let (facts, asked) = told(&domain, &[("domstate", "running\n\n"), ("dumpxml", RUNNING)]);
    assert_eq!(
        asked,
        ["-q -c qemu:///system domstate --domain db1", "-q -c qemu:///system dumpxml --domain db1"]
    );
    let facts = facts.unwrap();
    insta::assert_json_snapshot!("libvirt", facts);
    let limits = iotax_qemu::throttle::of_libvirt(&facts.name, &facts.disks[0]);
    let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
    assert_eq!(
        limits,
        [
            "db1 vda: 500 I/Os a second, bursts of 50 (virsh blkdeviotune db1 vda)",
            "db1 vda: 10485760 bytes a second, bursts of 1048576 (virsh blkdeviotune db1 vda)",
        ]
    );
    let (facts, _) = told(&domain, &[("domstate", "running"), ("dumpxml", PASSED_XML)]);
    insta::assert_json_snapshot!("libvirt passed", facts.unwrap());
}

#[test]
fn a_vm_of_proxmox_is_read() {
    let (facts, asked) =
        told(&vm(Manager::Proxmox, "100"), &[("status", "status: running\n"), ("config", QM)]);
    assert_eq!(asked, ["status 100", "config 100 --current 1"]);
    insta::assert_json_snapshot!("proxmox", facts.unwrap());
}

#[test]
fn a_vm_of_esxi_is_read() {
    let answers = [("vm.info", GOVC_VM), ("device.info", GOVC_DEVICES)];
    let (facts, _) = told(&vm(Manager::Esxi, "ha-host_VM0"), &answers);
    insta::assert_json_snapshot!("esxi", facts.unwrap());
}

#[test]
fn one_that_is_shut_off_or_is_not_there_is_no_place() {
    let off = GOVC_VM.replace("poweredOn", "poweredOff");
    let cases = [
        (vm(Manager::Libvirt, "db1"), vec![("domstate", "shut off\n")]),
        (vm(Manager::Proxmox, "100"), vec![("status", "status: stopped\n")]),
        (vm(Manager::Esxi, "db1"), vec![("vm.info", off.as_str()), ("device.info", GOVC_DEVICES)]),
    ];
    for ((vm, answers), state) in cases.iter().zip(["shut off", "stopped", "poweredOff"]) {
        let error = told(vm, answers).0.unwrap_err();
        let text = format!("{error:#}");
        assert!(
            code_of(&error) == BAD_INPUT && text.contains(&format!("(it is {state})")),
            "{text}"
        );
        assert!(text.contains("hint: start it"), "{text}");
    }
    let none = [("vm.info", r#"{"virtualMachines": null}"#)];
    let why = told(&vm(Manager::Esxi, "db9"), &none).0.unwrap_err().to_string();
    assert!(why.contains("no such machine; hint: `govc find / -type m`"), "{why}");
    let old = [("vm.info", r#"{"VirtualMachines": []}"#)];
    assert!(
        told(&vm(Manager::Esxi, "db9"), &old).0.unwrap_err().to_string().contains("govc v0.37")
    );
    for answers in [
        [("domstate", "running"), ("dumpxml", "<domain")],
        [("domstate", "running"), ("dumpxml", "<domain/>")],
    ] {
        let why = told(&vm(Manager::Libvirt, "db1"), &answers).0.unwrap_err().to_string();
        assert!(why.contains("cannot parse the output of virsh"), "{why}");
    }
}

#[test]
fn a_program_that_is_missing_here_is_a_need_and_a_libvirt_that_is_away_has_a_hint() {
    let here = vm(Manager::Proxmox, "100");
    assert_eq!(
        missing(&here).map(|one| one.what),
        program_path("qm").is_none().then(|| "qm".to_owned())
    );
    assert_eq!(missing(&Vm { on: Place::Ssh("node".into()), ..here }), None);
    let hint = hypervisor_of(Manager::Libvirt)
        .failure_hint("error: failed to connect to the hypervisor")
        .unwrap();
    assert!(hint.contains("uri = \"qemu:///system\" or on = \"ssh:HOST\""), "{hint}");
    assert_eq!(
        hypervisor_of(Manager::Libvirt).failure_hint("error: failed to get domain 'db9'"),
        None
    );
}

#[test]
fn a_measured_device_is_known_by_its_serial_and_by_nothing_else() {
    let read = |xml| {
        told(&vm(Manager::Libvirt, "db1"), &[("domstate", "running"), ("dumpxml", xml)]).0.unwrap()
    };
    let measured =
        |vm: &VmFacts| vm.disks.iter().map(|disk| disk.measured.is_some()).collect::<Vec<_>>();
    let mut facts = read(RUNNING);
    assert_eq!(
        match_disks(&mut facts, &device("/dev/vdb", Some("IOTAX-R1"))),
        Vec::<String>::new()
    );
    assert_eq!(
        (measured(&facts), facts.disks[0].measured.as_deref()),
        (vec![true, false], Some("/dev/vdb".as_ref()))
    );
    let refused = |xml, serial| {
        let mut facts = read(xml);
        let why = match_disks(&mut facts, &device("/dev/vdb", serial)).join("\n");
        assert!(!measured(&facts).contains(&true), "{why}");
        why
    };
    assert!(refused(RUNNING, None).contains("/dev/vdb has no serial"));
    assert!(
        refused(RUNNING, Some("OTHER"))
            .contains("no disk of libvirt:db1 has the serial of /dev/vdb (OTHER)")
    );
    assert!(refused(PASSED_XML, Some("OTHER")).contains("passed-through"));
    let twice = RUNNING.replace(
        "<target dev='sda' bus='scsi'/>",
        "<target dev='sda' bus='scsi'/><serial>IOTAX-R1</serial>",
    );
    assert!(refused(&twice, Some("IOTAX-R1")).contains("several disks"));
}

#[test]
fn serials_are_those_that_a_guest_sees() {
    assert!(is_shown_as(
        "b58fa145-473f-5b23-917d-96d4435e1923",
        "B58FA145473F5B23917D96D4435E1923"
    ));
    assert!(is_shown_as("a-serial-of-more-than-20-signs", "a-serial-of-more-tha"));
    assert!(!is_shown_as("a-serial", "a-ser") && !is_shown_as("", "") && !is_shown_as("x", " "));
}

/// A vcsim that ends when dropped, and how govc reaches it.
struct Vcsim(std::process::Child, String);

impl Drop for Vcsim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Vcsim {
    fn start() -> Option<Vcsim> {
        let there = ["vcsim", "govc"].into_iter().all(|program| program_path(program).is_some());
        if !there {
            eprintln!("skipped: needs vcsim and govc");
            return None;
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = std::process::Command::new("vcsim");
        command.args(["-esx", "-vm", "1", "-l", &format!("127.0.0.1:{port}")]);
        let child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn();
        let simulated = Vcsim(child.unwrap(), format!("https://user:pass@127.0.0.1:{port}/sdk"));
        let answers = || simulated.govc(&["about"]).is_ok();
        iotax_drivers::wait::wait_until(Duration::from_secs(20), answers).unwrap();
        Some(simulated)
    }

    fn govc(&self, arguments: &[&str]) -> Result<String> {
        let mut command = tool::tool("govc", arguments);
        command.env("GOVC_URL", &self.1).env("GOVC_INSECURE", "1");
        tool::checked_output("govc", tool::output_within(&mut command, ANSWERS_WITHIN, None)?)
    }
}

#[test]
#[ignore = "long: needs vcsim and govc, for `./check --lab`"]
fn a_machine_of_vcsim_is_read_changed_and_put_back() {
    let Some(simulated) = Vcsim::start() else { return };
    let ask = |words: &[&str], _: Option<&str>| simulated.govc(words);
    let name = ask(&["find", "/", "-type", "m"], None).unwrap().trim().to_owned();
    let (vm, esxi) = (vm(Manager::Esxi, &name), hypervisor_of(Manager::Esxi));
    let facts = esxi.read_machine_facts(&vm, &ask).unwrap();
    let disk = facts.disks[0].name.clone();
    assert_eq!(facts.disks[0].settings["controller"], "ParaVirtualSCSIController");
    let before = esxi.read_saved(&vm, &disk, &ask).unwrap();
    let settings = [("mode", "independent_persistent"), ("latency", "high")];
    let settings: ManagerSettings =
        settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let wanted = esxi.saved_with_settings(&vm, &disk, &before, &settings).unwrap();
    assert_eq!(esxi.change_objection(&vm, &ask).unwrap(), None);
    for text in [&wanted, &before] {
        esxi.stop_machine(&vm, true, &ask).unwrap();
        assert!(!esxi.is_machine_running(&vm, &ask).unwrap());
        assert!(esxi.read_machine_facts(&vm, &ask).unwrap_err().to_string().contains("poweredOff"));
        esxi.write_saved(&vm, &disk, text, &ask).unwrap();
        assert_eq!(esxi.read_saved(&vm, &disk, &ask).unwrap(), *text);
        esxi.start_machine(&vm, &ask).unwrap();
    }
    let after = esxi.read_machine_facts(&vm, &ask).unwrap();
    assert_eq!(after.disks, facts.disks);
    simulated.govc(&["snapshot.create", "-vm", &name, "s1"]).unwrap();
    assert_eq!(esxi.change_objection(&vm, &ask).unwrap().as_deref(), Some("it has snapshots"));
}

#[test]
fn other_settings_touch_the_disk_alone_and_an_edit_is_seen() {
    let settings: ManagerSettings =
        [("cache".to_owned(), "writeback".to_owned()), ("queues".to_owned(), "4".to_owned())]
            .into();
    let libvirt =
        (vm(Manager::Libvirt, "db1"), "vda", RUNNING, "cache='writeback'", "cache='none'");
    let proxmox = (vm(Manager::Proxmox, "100"), "scsi0", QM, "cache=writeback", "cache=none");
    for (vm, disk, saved, new, old) in [libvirt, proxmox] {
        let manager = hypervisor_of(vm.manager);
        let changed = manager.saved_with_settings(&vm, disk, saved, &settings).unwrap();
        assert!(changed.contains(new) && !changed.contains(old), "{changed}");
        assert_ne!(manager.comparable_part(disk, &changed), manager.comparable_part(disk, saved));
        let edited = changed.replace("memory", "memori");
        assert_ne!(
            manager.comparable_part(disk, &edited),
            manager.comparable_part(disk, &changed),
            "an edit of something else"
        );
        assert!(manager.saved_with_settings(&vm, "vdz", saved, &settings).is_err(), "no such disk");
    }
    // As libvirt writes it: in its own order.
    let ours = hypervisor_of(Manager::Libvirt)
        .saved_with_settings(&vm(Manager::Libvirt, "db1"), "vda", RUNNING, &settings)
        .unwrap();
    let theirs = RUNNING.replace(
        "<driver name='qemu' type='raw' cache='none' io='native' iothread='1' queues='1'/>",
        "<driver name='qemu' type='raw' cache='writeback' io='native' iothread='1' queues='4'/>",
    );
    assert_eq!(
        hypervisor_of(Manager::Libvirt).comparable_part("vda", &ours),
        hypervisor_of(Manager::Libvirt).comparable_part("vda", &theirs)
    );
}
