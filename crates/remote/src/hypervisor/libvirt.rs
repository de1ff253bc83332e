//! libvirt: queries and changes a domain through its XML, as `virsh dumpxml` prints it.

use super::{
    DEFAULT, Disk, Hypervisor, ManagerRequest, ManagerSettings, PASSED, line_of, not_running,
    not_understood,
};
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_facts::vm::{Manager, Vm, VmFacts};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) struct Libvirt;

/// Returns virsh's arguments that come before its command.
pub(crate) fn connection(vm: &Vm) -> Vec<&str> {
    let uri = vm.uri.as_deref().map(|uri| ["-c", uri]);
    std::iter::once("-q").chain(uri.into_iter().flatten()).collect()
}

impl Hypervisor for Libvirt {
    fn package_name(&self) -> &'static str {
        "apt-get install libvirt-clients, or on = \"ssh:HOST\" of the host that has it"
    }

    fn failure_hint(&self, words: &str) -> Option<&'static str> {
        words.contains("connect to the hypervisor").then_some(
            "start libvirtd (or virtqemud) there, or say where the machine is: uri = \"qemu:///system\" or on = \
             \"ssh:HOST\" in its [place.NAME]",
        )
    }

    fn query_arguments<'a>(&self, vm: &'a Vm) -> [Vec<&'a str>; 2] {
        [words_for(vm, &["domstate"]), words_for(vm, &["dumpxml"])]
    }

    fn read_machine_facts(&self, vm: &Vm, ask: ManagerRequest) -> Result<VmFacts> {
        let [state, settings] = self.query_arguments(vm);
        let state = ask(&state, None)?;
        if state.trim() != "running" {
            return Err(not_running(vm, state.trim()));
        }
        facts_in(vm, &ask(&settings, None)?)
    }

    fn changeable_settings(&self) -> &'static [&'static str] {
        &["cache", "io", "queues", "iothread"]
    }

    fn is_machine_running(&self, vm: &Vm, ask: ManagerRequest) -> Result<bool> {
        Ok(virsh(vm, ask, &["domstate"])?.trim() == "running")
    }

    fn change_objection(&self, vm: &Vm, ask: ManagerRequest) -> Result<Option<String>> {
        let info = virsh(vm, ask, &["dominfo"])?;
        if line_of(&info, "Persistent") != Some("yes") {
            return Ok(Some("it is transient and would be lost when it is shut down".into()));
        }
        if line_of(&info, "Managed save") != Some("no") {
            return Ok(Some("it has a managed save".into()));
        }
        if !virsh(vm, ask, &["snapshot-list", "--name"])?.trim().is_empty() {
            return Ok(Some("it has snapshots".into()));
        }
        let now = facts_in(vm, &virsh(vm, ask, &["dumpxml"])?)?;
        let next = facts_in(vm, &virsh(vm, ask, &["dumpxml", "--inactive"])?)?;
        // A model of a processor is worked out at the start, and a balloon moves.
        let settings = |facts: &VmFacts| {
            let mut settings = facts.settings.clone();
            ["cpu", "machine", "memory"].iter().for_each(|key| drop(settings.remove(*key)));
            settings
        };
        let alike = (settings(&now), &now.disks) == (settings(&next), &next.disks);
        Ok((!alike).then(|| "it has changes that take effect at its next start".into()))
    }

    fn read_saved(&self, vm: &Vm, disk: &str, ask: ManagerRequest) -> Result<String> {
        let xml = virsh(vm, ask, &["dumpxml", "--inactive", "--security-info"])?;
        driver_of(vm, disk, &xml)?;
        Ok(xml)
    }

    fn saved_with_settings(
        &self,
        vm: &Vm,
        disk: &str,
        saved: &str,
        settings: &ManagerSettings,
    ) -> Result<String> {
        let (range, mut attributes) = driver_of(vm, disk, saved)?;
        attributes.extend(settings.clone());
        Ok(format!("{}{}{}", &saved[..range.start], element(&attributes), &saved[range.end..]))
    }

    fn comparable_part(&self, disk: &str, saved: &str) -> String {
        // libvirt writes attributes in its own order.
        let vm = Vm { manager: Manager::Libvirt, name: String::new(), on: Place::Host, uri: None };
        match driver_of(&vm, disk, saved) {
            Ok((range, attributes)) => {
                format!("{}{}{}", &saved[..range.start], element(&attributes), &saved[range.end..])
                    .trim()
                    .to_owned()
            }
            Err(_) => saved.trim().to_owned(),
        }
    }

    fn write_saved(&self, vm: &Vm, _: &str, saved: &str, ask: ManagerRequest) -> Result<()> {
        ask(&[&connection(vm)[..], &["define", "/dev/stdin"]].concat(), Some(saved)).map(drop)
    }

    fn stop_machine(&self, vm: &Vm, force: bool, ask: ManagerRequest) -> Result<()> {
        virsh(vm, ask, if force { &["destroy"] } else { &["shutdown"] }).map(drop)
    }

    fn start_machine(&self, vm: &Vm, ask: ManagerRequest) -> Result<()> {
        virsh(vm, ask, &["start"]).map(drop)
    }
}

fn virsh(vm: &Vm, ask: ManagerRequest, words: &[&str]) -> Result<String> {
    ask(&words_for(vm, words), None)
}

fn words_for<'a>(vm: &'a Vm, words: &[&'a str]) -> Vec<&'a str> {
    [&connection(vm)[..], words, &["--domain", &vm.name]].concat()
}

/// Returns the byte range of a disk's `<driver>` element in a domain's XML, and its attributes.
/// Refuses one with child elements.
fn driver_of(vm: &Vm, disk: &str, xml: &str) -> Result<(Range<usize>, ManagerSettings)> {
    let document = Document::parse(xml).map_err(|error| not_understood(vm, error))?;
    let devices = child(document.root_element(), "devices")
        .ok_or_else(|| not_understood(vm, "it has no devices"))?;
    let is_it =
        |one: &Node| child(*one, "target").and_then(|target| target.attribute("dev")) == Some(disk);
    let found = elements(devices, "disk").find(is_it).and_then(|disk| child(disk, "driver"));
    let driver = found
        .ok_or_else(|| not_understood(vm, format!("there is no disk {disk} with a driver")))?;
    if driver.children().any(|below| below.is_element()) {
        return Err(not_understood(vm, format!("the <driver> of {disk} has child elements")));
    }
    let attributes =
        driver.attributes().map(|one| (one.name().to_owned(), one.value().to_owned())).collect();
    Ok((driver.range(), attributes))
}

/// Returns a `<driver>` element with these attributes.
fn element(attributes: &ManagerSettings) -> String {
    let escaped =
        |value: &str| value.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&apos;");
    let words: String =
        attributes.iter().map(|(key, value)| format!(" {key}='{}'", escaped(value))).collect();
    format!("<driver{words}/>")
}

fn facts_in(vm: &Vm, xml: &str) -> Result<VmFacts> {
    let document = Document::parse(xml).map_err(|error| not_understood(vm, error))?;
    let domain = document.root_element();
    let devices =
        child(domain, "devices").ok_or_else(|| not_understood(vm, "it has no devices"))?;
    let mut settings = BTreeMap::new();
    put_setting(&mut settings, "type", domain.attribute("type"));
    let machine = child(domain, "os")
        .and_then(|os| child(os, "type"))
        .and_then(|kind| kind.attribute("machine"));
    put_setting(&mut settings, "machine", machine);
    put_setting(&mut settings, "vcpus", text_of(domain, "vcpu"));
    put_setting(&mut settings, "cpu", child(domain, "cpu").and_then(|cpu| cpu.attribute("mode")));
    put_setting(&mut settings, "iothreads", text_of(domain, "iothreads"));
    let memory = child(domain, "currentMemory").or_else(|| child(domain, "memory"));
    let memory = memory.and_then(|one| {
        Some(format!("{} {}", one.text()?.trim(), one.attribute("unit").unwrap_or("KiB")))
    });
    put_setting(&mut settings, "memory", memory.as_deref());
    for part in ["cputune", "numatune", "blkiotune", "memoryBacking"] {
        if let Some(node) = child(domain, part) {
            flatten(part, node, &mut settings);
        }
    }
    for (at, device) in elements(devices, "hostdev").enumerate() {
        put_setting(&mut settings, &format!("{PASSED}{at}"), Some(&passed(device)));
    }
    let disks = elements(devices, "disk")
        .filter(|disk| !matches!(disk.attribute("device"), Some("cdrom" | "floppy")));
    let disks = disks.map(|disk| disk_of(disk, devices)).collect();
    Ok(VmFacts { manager: Manager::Libvirt, name: vm.name.clone(), settings, disks })
}

fn disk_of(disk: Node, devices: Node) -> Disk {
    let mut settings = BTreeMap::new();
    let driver = child(disk, "driver");
    let of_driver = |key| driver.and_then(|driver| driver.attribute(key));
    for key in ["cache", "io", "queues", "iothread", "discard"] {
        put_setting(&mut settings, key, Some(of_driver(key).unwrap_or(DEFAULT)));
    }
    put_setting(&mut settings, "format", of_driver("type"));
    put_setting(&mut settings, "source", disk.attribute("type"));
    let target = child(disk, "target");
    let bus = target.and_then(|target| target.attribute("bus"));
    put_setting(&mut settings, "bus", bus);
    if let Some(controller) = bus.and_then(|bus| controller(disk, bus, devices)) {
        put_setting(&mut settings, "controller", controller.attribute("model"));
        let driver = child(controller, "driver");
        for (key, attribute) in
            [("controller.queues", "queues"), ("controller.iothread", "iothread")]
        {
            put_setting(&mut settings, key, driver.and_then(|driver| driver.attribute(attribute)));
        }
    }
    if let Some(limits) = child(disk, "iotune") {
        flatten("iotune", limits, &mut settings);
    }
    let name = target.and_then(|target| target.attribute("dev")).unwrap_or("disk").to_owned();
    Disk { name, serial: text_of(disk, "serial").map(str::to_owned), measured: None, settings }
}

/// Finds the controller that a disk is attached to, by the disk's `<address>`; `None` if it has
/// none.
fn controller<'a>(disk: Node<'a, 'a>, bus: &str, devices: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    let index = child(disk, "address")?.attribute("controller")?;
    elements(devices, "controller")
        .find(|one| (one.attribute("type"), one.attribute("index")) == (Some(bus), Some(index)))
}

fn passed(device: Node) -> String {
    let kind = device.attribute("type").unwrap_or("device");
    let source = child(device, "source");
    let address = source.and_then(|source| child(source, "address"));
    let part = |key| {
        let text = address?.attribute(key)?;
        u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
    };
    match (part("domain"), part("bus"), part("slot"), part("function")) {
        (domain, Some(bus), Some(slot), Some(function)) => {
            format!("{kind} {:04x}:{bus:02x}:{slot:02x}.{function:x}", domain.unwrap_or(0))
        }
        _ => kind.to_owned(),
    }
}

/// Adds the attributes and leaf texts below a node to the settings, with their paths as keys
/// (`iotune.total_iops_sec`).
fn flatten(key: &str, node: Node, settings: &mut BTreeMap<String, String>) {
    for attribute in node.attributes() {
        put_setting(settings, &format!("{key}.{}", attribute.name()), Some(attribute.value()));
    }
    let mut numbered: BTreeMap<&str, usize> = BTreeMap::new();
    let mut leaf = true;
    for below in node.children().filter(Node::is_element) {
        leaf = false;
        let name = below.tag_name().name();
        let at = numbered.entry(name).or_default();
        let several = elements(node, name).count() > 1;
        let path = if several { format!("{key}.{name}.{at}") } else { format!("{key}.{name}") };
        *at += 1;
        flatten(&path, below, settings);
    }
    let text = node.text().map(str::trim).filter(|text| leaf && !text.is_empty());
    let bare = leaf && text.is_none() && node.attributes().len() == 0;
    put_setting(settings, key, text.or(bare.then_some("yes")));
}

fn put_setting(settings: &mut BTreeMap<String, String>, key: &str, value: Option<&str>) {
    settings.extend(value.map(|value| (key.to_owned(), value.to_owned())));
}

pub(crate) fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|one| one.has_tag_name(name))
}

pub(crate) fn elements<'a>(
    node: Node<'a, 'a>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |one| one.has_tag_name(name))
}

fn text_of<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim)
}
