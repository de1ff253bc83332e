//! What programs printed that ran here: virsh and libvirtd 9.0, govc and vcsim 0.37.3, and fakepve 0.5.0 in the place of qm.

use super::*;
use iotax_facts::machine::{Device, Target};
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

/// What a manager makes of these answers, by the word that each is asked with; and all that it asked.
fn told(vm: &Vm, answers: &[(&str, &str)]) -> (Result<VmFacts>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let answer = |arguments: &[&str], _: Option<&str>| {
        asked.borrow_mut().push(arguments.join(" "));
        let found = answers.iter().find(|(word, _)| arguments.contains(word));
        found.map(|(_, text)| (*text).to_owned()).context("nobody asks for that")
    };
    let facts = of(vm.manager).facts(vm, &answer);
    (facts, asked.into_inner())
}

fn device(path: &str, serial: Option<&str>) -> Facts {
    let device = Device { name: path[5..].into(), serial: serial.map(str::to_owned), ..Device::default() };
    let target = Target { path: path.into(), file_system: None, devices: vec![device] };
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
    insta::assert_json_snapshot!("libvirt", facts.unwrap());
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
        assert!(code_of(&error) == BAD_INPUT && text.contains(&format!("(it is {state})")), "{text}");
        assert!(text.contains("hint: start it"), "{text}");
    }
    let none = [("vm.info", r#"{"virtualMachines": null}"#)];
    let why = told(&vm(Manager::Esxi, "db9"), &none).0.unwrap_err().to_string();
    assert!(why.contains("no such machine; hint: `govc find / -type m`"), "{why}");
    let old = [("vm.info", r#"{"VirtualMachines": []}"#)];
    assert!(told(&vm(Manager::Esxi, "db9"), &old).0.unwrap_err().to_string().contains("govc v0.37"));
    for answers in [
        [("domstate", "running"), ("dumpxml", "<domain")],
        [("domstate", "running"), ("dumpxml", "<domain/>")],
    ] {
        let why = told(&vm(Manager::Libvirt, "db1"), &answers).0.unwrap_err().to_string();
        assert!(why.contains("what virsh says is not understood"), "{why}");
    }
}

#[test]
fn a_measured_device_is_known_by_its_serial_and_by_nothing_else() {
    let read =
        |xml| told(&vm(Manager::Libvirt, "db1"), &[("domstate", "running"), ("dumpxml", xml)]).0.unwrap();
    let measured = |vm: &VmFacts| vm.disks.iter().map(|disk| disk.measured.is_some()).collect::<Vec<_>>();
    let mut facts = read(RUNNING);
    assert_eq!(match_disks(&mut facts, &device("/dev/vdb", Some("IOTAX-R1"))), Vec::<String>::new());
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
        refused(RUNNING, Some("OTHER")).contains("no disk of libvirt:db1 has the serial of /dev/vdb (OTHER)")
    );
    assert!(refused(PASSED_XML, Some("OTHER")).contains("passed through"));
    let twice = RUNNING
        .replace("<target dev='sda' bus='scsi'/>", "<target dev='sda' bus='scsi'/><serial>IOTAX-R1</serial>");
    assert!(refused(&twice, Some("IOTAX-R1")).contains("several disks"));
}

#[test]
fn serials_are_those_that_a_guest_sees() {
    assert!(is_shown_as("b58fa145-473f-5b23-917d-96d4435e1923", "B58FA145473F5B23917D96D4435E1923"));
    assert!(is_shown_as("a-serial-of-more-than-20-signs", "a-serial-of-more-tha"));
    assert!(!is_shown_as("a-serial", "a-ser") && !is_shown_as("", "") && !is_shown_as("x", " "));
}
