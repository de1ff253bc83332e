//! Places that a scenario names: hosts over SSH, guests without a disk, and labs, which are guests
//! with emulated drives for trying volumes and exports. The lab called `lab` needs no declaration.

use super::ast::MediumExpr;
use super::error::{Fault, TextFault, nearest};
use super::stacks::{StackCell, cells_of};
use super::{grammar, remote};
use crate::layer::vm::{MOST_DISKS, NET, SMALLEST_MEMORY, TAP};
use crate::layer::{self, LayerHelp};
use crate::stack::{LayerSpec, Medium, Stack};
use crate::tool_spec::Tool;
use iotax_facts::place::Place;
use iotax_facts::vm::{Manager, PlaceDescription, Vm, transport_of};
use iotax_units::{self as units, GIB, MIB, show_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the lab that needs no declaration.
pub const LAB: &str = "lab";
/// Prefix of the name of a lab's drive; a number follows.
const DRIVE: &str = "nvme";
/// Largest number of drives of a lab: a guest has room for no more disks.
const MOST_DRIVES: u32 = MOST_DISKS as u32;

/// A guest with emulated NVMe drives, up for the whole run. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSpec {
    /// Number of drives; `None`: as many as the highest drive that stacks name requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<u32>,
    pub drive_size: u64,
    pub vcpus: u32,
    pub memory: u64,
}

impl Default for LabSpec {
    // The drives have room for a file system on an LVM or ZFS volume on one drive.
    fn default() -> Self {
        LabSpec { drives: None, drive_size: GIB, vcpus: 2, memory: 2 * GIB }
    }
}

/// Keys of `[place.NAME]` for a lab, and of `--lab`.
pub const LAB_KEYS: &[&str] = &["drives", "drive_size", "vcpus", "memory"];

pub(super) const FACTS: &str = "facts";
/// Keys of `[place.NAME]` for a host, apart from its facts.
pub(super) const HOST_KEYS: &[&str] = &["ssh", "libvirt", "proxmox", "esxi", "on", "uri"];
/// Key of a guest without a disk; its value is the options of `vm(...)`.
pub(super) const GUEST: &str = layer::vm::HELP.name;
pub(super) const FACTS_FORM: &str = "facts are a table or a list of texts; hint: write facts = { switch = \"SN2010\" } or facts = [\"switch: SN2010\"]";

/// Adds a fact.
///
/// # Errors
/// The fact has no name or no value, or its name is taken.
pub(super) fn add_fact(
    facts: &mut BTreeMap<String, String>,
    key: &str,
    value: &str,
) -> Result<(), Fault> {
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(Fault::from_clause(FACTS_FORM));
    }
    match facts.insert(key.to_owned(), value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(Fault::hint(format!("there are two facts \"{key}\""), "name each once")),
    }
}

/// Parses a virtual machine that may be changed for a visit: `libvirt:NAME` or
/// `libvirt:NAME,force`. The flag is true for `force`, which allows switching it off.
pub(super) fn parse_change(text: &str) -> Result<(String, bool), Fault> {
    let (vm, force) = match text.strip_suffix(",force") {
        Some(vm) => (vm, true),
        None => (text, false),
    };
    let named = vm.split_once(':').is_some_and(|(manager, name)| {
        !name.is_empty() && Manager::ALL.iter().any(|known| known.manager_word() == manager)
    });
    match named {
        true => Ok((vm.to_owned(), force)),
        false => Err(Fault::hint(
            format!("\"{text}\" names no virtual machine"),
            "write libvirt:NAME, proxmox:VMID or esxi:NAME, and add \",force\" to allow switching it off",
        )),
    }
}

/// Returns the virtual machine that the keys of a place name; `None`: they name none.
///
/// # Errors
/// Returns the key at fault, with the reason.
pub(super) fn vm_of<'a>(keys: &BTreeMap<&'a str, &str>) -> Result<Option<Vm>, (&'a str, Fault)> {
    let named = |manager: &Manager| keys.get_key_value(manager.manager_word());
    let mut managers = Manager::ALL.into_iter().filter(|manager| named(manager).is_some());
    let Some(manager) = managers.next() else {
        return match ["on", "uri"].into_iter().find_map(|key| keys.get_key_value(key)) {
            Some((key, _)) => Err((
                key,
                Fault::hint("there is no virtual machine here", "name it: libvirt = \"DOMAIN\""),
            )),
            None => Ok(None),
        };
    };
    if let Some((key, _)) = managers.next().as_ref().and_then(named) {
        let why = format!("cannot be combined with \"{}\"", manager.manager_word());
        return Err((key, Fault::hint(why, "a virtual machine has one manager; leave one out")));
    }
    let Some((key, name)) = named(&manager) else { return Ok(None) };
    // The name becomes an argument of the manager's program.
    if name.is_empty() || name.starts_with('-') || name.contains(char::is_control) {
        return Err((
            key,
            Fault::hint(format!("\"{name}\" is not a name of a virtual machine"), "write its name"),
        ));
    }
    if manager == Manager::Proxmox && name.parse::<u32>().is_err() {
        return Err((
            key,
            Fault::hint(format!("\"{name}\" is not a VMID"), "write its number: proxmox = 101"),
        ));
    }
    let uri = keys.get_key_value("uri").filter(|_| manager != Manager::Libvirt);
    let on = keys.get_key_value("on").filter(|_| manager == Manager::Esxi);
    if let Some((key, _)) = uri {
        return Err((key, Fault::hint("only libvirt has a URI", "leave it out")));
    }
    if let Some((key, _)) = on {
        let hint = "leave it out, and set GOVC_URL where iotax runs";
        return Err((key, Fault::hint("govc reaches ESXi over its network", hint)));
    }
    let on = match keys.get_key_value("on") {
        None => Place::Host,
        Some((key, word)) => match Place::from(*word) {
            Place::Guest(_) => {
                return Err((
                    key,
                    Fault::hint(format!("\"{word}\" is not a host"), "write on = \"ssh:HOST\""),
                ));
            }
            place => {
                place
                    .ssh_host()
                    .map_or(Ok(()), remote::check_host)
                    .map_err(|fault| (*key, fault))?;
                place
            }
        },
    };
    let uri = keys.get_key_value("uri");
    if let Some((key, why)) = uri.and_then(|(key, uri)| Some((key, transport_of(uri).err()?))) {
        let hint = "write for example qemu:///system or qemu+ssh://HOST/system; anything else belongs in your own \
            libvirt.conf, ssh configuration or VIRSH_DEFAULT_CONNECT_URI";
        return Err((key, Fault::hint(format!("not a URI that a scenario may name: {why}"), hint)));
    }
    let uri = uri.map(|(_, uri)| (*uri).to_owned());
    Ok(Some(Vm { manager, name: (*name).to_owned(), on, uri }))
}

impl LabSpec {
    /// Sets one of [`LAB_KEYS`].
    ///
    /// # Errors
    /// The key is unknown, or does not accept the value.
    pub fn set_lab_key(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        match key.replace('-', "_").as_str() {
            "drives" => self.drives = Some(count(value, MOST_DRIVES).map_err(too_many)?),
            "vcpus" => self.vcpus = count(value, 256)?,
            "drive_size" => self.drive_size = size(value, 64 * MIB, "a drive of a lab")?,
            "memory" => self.memory = size(value, SMALLEST_MEMORY, "memory of a lab")?,
            other => return Err(Fault::unknown("key of a lab", other, LAB_KEYS)),
        }
        Ok(())
    }

    fn check_drive_name(&self, place: &str, name: &str) -> Result<(), Fault> {
        let most = self.drives.unwrap_or(MOST_DRIVES);
        let there = || (0..most).map(drive_name).any(|known| known == name);
        let listed = || match self.drives {
            Some(1) => format!("it has {}", drive_name(0)),
            Some(drives) => format!("it has {} to {}", drive_name(0), drive_name(drives - 1)),
            None => format!("write {} to {}", drive_name(0), drive_name(MOST_DRIVES - 1)),
        };
        let hint = || match range_meant(name) {
            Some(range) => format!("write {range} @{place}"),
            None => listed(),
        };
        if there() {
            Ok(())
        } else {
            Err(Fault::hint(format!("the lab @{place} has no \"{name}\""), hint()))
        }
    }
}

pub fn drive_name(number: u32) -> String {
    format!("{DRIVE}{number}")
}

fn count(value: &str, most: u32) -> Result<u32, Fault> {
    match value.parse::<u32>() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(Fault::new(format!("\"{value}\" is no whole number from 1 to {most}"))),
    }
}

/// Adds to a fault how many disks a lab has room for.
fn too_many(fault: Fault) -> Fault {
    Fault::hint(fault.why, format!("a lab is a guest, which has room for {MOST_DRIVES} disks"))
}

fn size(value: &str, least: u64, what: &str) -> Result<u64, Fault> {
    let bytes = units::parse_bytes(value).map_err(|clause| Fault::from_clause(&clause))?;
    match bytes {
        _ if bytes < least => Err(Fault::new(format!("{what} has at least {}", show_bytes(least)))),
        _ if bytes % MIB != 0 => Err(Fault::hint(
            format!("{value} is no whole number of MiB"),
            "write a size such as 512MiB",
        )),
        _ => Ok(bytes),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceSpec {
    Lab(LabSpec),
    /// A guest without a disk, as `vm(...)` makes it.
    Guest(LayerSpec),
    Ssh(String),
}

/// Names that stacks may use.
#[derive(Clone, Debug)]
pub struct StackNames {
    pub devices: BTreeMap<String, Medium>,
    pub places: BTreeMap<String, PlaceSpec>,
    pub tools: BTreeMap<String, Tool>,
    /// Statements of `[place.NAME]`, apart from how the place is reached.
    pub described: BTreeMap<Place, PlaceDescription>,
    /// Options of `vm`, `vm1`, `vm2`, ..., which need no declaration.
    pub vm: LayerSpec,
}

impl Default for StackNames {
    fn default() -> Self {
        let lab = (LAB.to_owned(), PlaceSpec::Lab(LabSpec::default()));
        StackNames {
            devices: BTreeMap::new(),
            places: [lab].into(),
            tools: BTreeMap::new(),
            described: BTreeMap::new(),
            vm: plain_guest(GUEST.to_owned()),
        }
    }
}

/// Returns a guest without a disk and with a network, with defaults for all other options.
fn plain_guest(origin: String) -> LayerSpec {
    let name = GUEST.to_owned();
    let options = [(NET.to_owned(), TAP.to_owned())].into();
    LayerSpec { name, options, place: None, far: Vec::new(), copies: 1, tool: None, origin }
}

/// Returns the guest that `vm(OPTIONS)` makes, without a disk. It has a network unless the options
/// say otherwise. `origin` is where the options are written.
///
/// # Errors
/// `vm` does not accept an option or its value, or the options describe several guests.
pub(super) fn guest_of(options: &str, origin: String) -> Result<LayerSpec, Fault> {
    let mut spec = plain_guest(origin.clone());
    let text = format!("cpu | {}({options})", spec.name);
    let expr = grammar::parse(&text).map_err(|fault| fault.fault)?;
    let cells = cells_of(&expr, &StackNames::default(), &|_| origin.clone())
        .map_err(|fault| fault.fault)?;
    match cells.as_slice() {
        [StackCell { layers, .. }]
            if matches!(layers.as_slice(), [LayerSpec { copies: 1, .. }]) =>
        {
            spec.options.extend(layers[0].options.clone());
            Ok(spec)
        }
        _ => {
            Err(Fault::hint(format!("\"{options}\" is not one guest"), "write vcpus=2,memory=1GiB"))
        }
    }
}

/// Returns true if a word is a guest that needs no declaration: `vm`, `vm0`, `vm1`, ...
fn is_plain_guest(word: &str) -> bool {
    let number = word.strip_prefix(GUEST);
    number
        .is_some_and(|number| number.len() <= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl StackNames {
    /// Returns the entry of the layer or tool of that name.
    pub(super) fn layer(&self, name: &str) -> Option<&'static LayerHelp> {
        layer::find_layer(name).or_else(|| self.tools.get(name).map(Tool::tool_help))
    }

    /// Returns the place that a word means: `host`, a lab, a guest, `ssh:HOST`, or a name declared
    /// for a host.
    pub fn resolve_place(&self, word: &str) -> Result<Place, Fault> {
        match (Place::from(word), self.places.get(word)) {
            (place @ (Place::Host | Place::Ssh(_)), _) => Ok(place),
            (guest, Some(PlaceSpec::Lab(_) | PlaceSpec::Guest(_))) => Ok(guest),
            (_, Some(PlaceSpec::Ssh(host))) => Ok(Place::Ssh(host.clone())),
            (guest, None) if is_plain_guest(word) => Ok(guest),
            (_, None) => Err(self.unknown(word)),
        }
    }

    pub(super) fn guest(&self, place: &Place) -> Option<LayerSpec> {
        let Place::Guest(name) = place else { return None };
        match self.places.get(name) {
            Some(PlaceSpec::Guest(spec)) => Some(spec.clone()),
            None if is_plain_guest(name) => {
                Some(LayerSpec { origin: format!("@{name}"), ..self.vm.clone() })
            }
            _ => None,
        }
    }

    fn unknown(&self, word: &str) -> Fault {
        let known: Vec<&str> =
            self.places.keys().map(String::as_str).chain(["host", GUEST]).collect();
        let near = nearest(word, &known)
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        let hint = format!(
            "{near}there are {}; a host is written @ssh:HOST, or declared as [place.{word}] ssh = \"HOST\"",
            known.join(", ")
        );
        Fault::hint(format!("unknown place \"{word}\""), hint)
    }

    /// Returns the drive, with its place, that a word probably means if it is no medium:
    /// `nvme0@lab`, `nvme0` or `nvme0-3`. `None`: it is no drive of a lab.
    pub(super) fn drive_meant(&self, body: &str) -> Option<String> {
        let (name, place) = body.split_once('@').unwrap_or((body, LAB));
        let is_drive = || (0..MOST_DRIVES).map(drive_name).any(|known| known == name);
        let named = range_meant(name).or_else(|| is_drive().then(|| name.to_owned()))?;
        matches!(self.places.get(place), Some(PlaceSpec::Lab(_)))
            .then(|| format!("{named} @{place}"))
    }

    /// Returns a drive of a lab, `nvme0 @lab`.
    ///
    /// # Errors
    /// The place is no lab, the lab has no such drive, or an option is written.
    pub(super) fn lab_drive(&self, place: &str, expr: &MediumExpr) -> Result<Medium, TextFault> {
        let at = |fault| TextFault::new(expr.span.clone(), fault);
        let Some(PlaceSpec::Lab(lab)) = self.places.get(place) else {
            return Err(at(match self.guest(&Place::from(place)) {
                None => self.unknown(place),
                Some(_) => Fault::hint(
                    format!("the guest @{place} has no disk"),
                    format!(
                        "write cpu @{place} for its processors, net:{place} for its network, or FILE | vm(...) for a guest with a disk"
                    ),
                ),
            }));
        };
        if expr.scheme.is_some() || expr.body.starts_with('/') {
            let why = format!(
                "the lab @{place} has drives of its own, and \"{}\" is not one of them",
                expr.body
            );
            return Err(at(Fault::hint(why, format!("write {} @{place}", drive_name(0)))));
        }
        if let Some(option) = expr.options.first() {
            let hint = format!("write drive_size in [place.{place}], or --lab drive_size=1GiB");
            let fault = Fault::hint(format!("a drive takes no option, got \"{option}\""), hint);
            return Err(TextFault::new(option.span.clone(), fault));
        }
        lab.check_drive_name(place, &expr.body).map_err(at)?;
        Ok(Medium::Drive { place: Place::Guest(place.to_owned()), name: expr.body.clone() })
    }
}

/// Returns the labs that the stacks use, each with the declared number of drives, else as many as
/// the highest named drive requires.
pub(super) fn labs_of(stacks: &[Stack], names: &StackNames) -> BTreeMap<Place, LabSpec> {
    let mut labs: BTreeMap<Place, LabSpec> = BTreeMap::new();
    let mut enter = |place: &Place, drive: u32| {
        let Place::Guest(name) = place else { return };
        let Some(PlaceSpec::Lab(spec)) = names.places.get(name) else { return };
        let lab = labs.entry(place.clone()).or_insert_with(|| spec.clone());
        if spec.drives.is_none() {
            lab.drives = Some(lab.drives.unwrap_or(0).max(drive));
        }
    };
    for stack in stacks {
        for member in stack.medium.members() {
            let Medium::Drive { place, name } = member else { continue };
            let number = name.strip_prefix(DRIVE).and_then(|digits| digits.parse::<u32>().ok());
            enter(place, number.map_or(0, |number| number + 1));
        }
        stack.layers.iter().flat_map(LayerSpec::named_places).for_each(|place| enter(place, 0));
    }
    labs
}

pub(super) fn guests_of(stacks: &[Stack], names: &StackNames) -> BTreeMap<Place, LayerSpec> {
    let places = stacks.iter().flat_map(Stack::places);
    places.filter_map(|place| names.guest(&place).map(|spec| (place, spec))).collect()
}

/// Expands ranges in a list: `nvme0,...,nvme3` is all four drives.
///
/// # Errors
/// The members around the dots do not form a range.
pub(super) fn ranges(members: &[MediumExpr]) -> Result<Vec<MediumExpr>, TextFault> {
    let mut all: Vec<MediumExpr> = Vec::new();
    for (at, member) in members.iter().enumerate() {
        if member.scheme.is_some() || !matches!(member.body.as_str(), "..." | "..") {
            all.push(member.clone());
            continue;
        }
        let ends = members.get(at.wrapping_sub(1)).zip(members.get(at + 1));
        let range = ends.and_then(between);
        if let (Some(_), Some((first, last)), "..") = (&range, ends, member.body.as_str()) {
            let hint = format!("a range has three dots: write [{},...,{}]", first.body, last.body);
            return Err(TextFault::new(
                member.span.clone(),
                Fault::hint("\"..\" is no medium", hint),
            ));
        }
        let Some(range) = range else {
            let hint = "write for example [nvme0,...,nvme5]: names that differ in one number, the lower first";
            return Err(TextFault::new(
                member.span.clone(),
                Fault::hint(format!("\"{}\" is not between two numbered names", member.body), hint),
            ));
        };
        all.extend(range);
    }
    Ok(all)
}

/// Rewrites a range as other tools write it, `nvme0-3` or `nvme0...nvme3`, as `[nvme0,...,nvme3]`.
/// `None`: the text is no range.
fn range_meant(body: &str) -> Option<String> {
    let (stem, rest) = body.split_at(body.find(|c: char| c.is_ascii_digit())?);
    let (from, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let to = ["...", "..", "-"].iter().find_map(|dots| rest.strip_prefix(dots))?;
    let to = to.strip_prefix(stem).unwrap_or(to);
    let number = |digits: &str| {
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let fits = !stem.is_empty() && number(from)? < number(to)?;
    fits.then(|| format!("[{stem}{from},...,{stem}{to}]"))
}

/// Returns the members between two names that differ in one number: drives (`nvme0`), hosts
/// (`ssh:vm01:/dev/vdb`). The two themselves are not included. `None`: they form no range.
fn between((first, last): (&MediumExpr, &MediumExpr)) -> Option<Vec<MediumExpr>> {
    let (one, other) = (first.body.as_str(), last.body.as_str());
    let alike = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let stem = one.get(..alike)?.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let split = |body: &str| {
        let rest = body.get(stem..)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((rest[..digits].to_owned(), rest[digits..].to_owned()))
    };
    let ((from, end), (to, other_end)) = (split(one)?, split(other)?);
    // Leading zeros are part of a name.
    let width = if from.starts_with('0') { from.len() } else { 0 };
    let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
    let fits = end == other_end && first.scheme == last.scheme && from < to && to - from < 256;
    let stem = &one[..stem];
    let named =
        |number| MediumExpr { body: format!("{stem}{number:0width$}{end}"), ..first.clone() };
    fits.then(|| (from + 1..to).map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let expr = grammar::parse(text).map_err(|fault| fault.show(text))?;
        let cells = cells_of(&expr, &StackNames::default(), &|_| "here".into());
        Ok(cells.map_err(|fault| fault.show(text))?.first().unwrap().cell_text())
    }

    #[test]
    fn drives_of_a_lab_are_named_one_by_one_or_as_a_range() {
        assert_eq!(read("nvme0 @lab").unwrap(), "nvme0 @lab");
        let all = "each([nvme0,nvme1,nvme2,nvme3]) @lab";
        assert_eq!(read("each([nvme0,...,nvme3]) @lab").unwrap(), all);
        let hosts = "each([ssh:vm08:/dev/vdb,ssh:vm09:/dev/vdb,ssh:vm10:/dev/vdb])";
        assert_eq!(read("each([ssh:vm08:/dev/vdb,...,ssh:vm10:/dev/vdb])").unwrap(), hosts);
        let sized = "each([ssh:me@a1.lan:/x,size=1GiB,...,ssh:me@a3.lan:/x,size=1GiB])";
        assert!(read(sized).unwrap().contains("ssh:me@a2.lan:/x,size=1GiB"), "{:?}", read(sized));
        assert_eq!(read("each([nvme0 @lab,nvme1 @lab,nvme2 @lab,nvme3 @lab])").unwrap(), all);
        assert_eq!(read(all).unwrap(), all);
        let mixed = "each([nvme0 @lab,nvme1 @lab,/dev/sda,ssh:vm7:/dev/vda])";
        assert_eq!(read(mixed).unwrap(), mixed, "this host, a host over ssh and a lab at once");
        for (text, part) in [
            ("each([nvme3,...,nvme0]) @lab", "the lower first"),
            ("each([...,nvme0]) @lab", "is not between two"),
            ("each([ssh:a1:/dev/vdb,...,ssh:a3:/dev/vdc])", "differ in one number"),
            ("/dev/nvme0n1 @lab", "hint: write nvme0 @lab"),
            ("nvme99 @lab", "has no \"nvme99\"; hint: write nvme0 to nvme11"),
            ("nvme12 @lab", "has no \"nvme12\"; hint: write nvme0 to nvme11"),
            ("sda @lab", "has no \"sda\"; hint: write nvme0 to nvme11"),
            ("[nvme0-3] @lab", "has no \"nvme0-3\"; hint: write [nvme0,...,nvme3] @lab\n"),
            ("[nvme0...nvme3] @lab | linear", "hint: write [nvme0,...,nvme3] @lab\n"),
            (
                "each([nvme0,..,nvme3]) @lab",
                "\"..\" is no medium; hint: a range has three dots: write [nvme0,...,nvme3]",
            ),
            ("each([..,nvme3]) @lab", "\"..\" is not between two"),
            ("nvme0-3", "did you mean \"[nvme0,...,nvme3] @lab\"?"),
            ("nvme0", "\"nvme0\" is no medium; hint: did you mean \"nvme0 @lab\"?"),
            ("nvme0@lab", "did you mean \"nvme0 @lab\", with a blank before \"@\"? "),
            (
                "nvme0@lap",
                "write /dev/NAME, file:/PATH,size=SIZE, nvme0 @lab (a drive of a lab) or ssh:HOST:/PATH",
            ),
            ("nvme0 @lap", "did you mean \"lab\"?"),
            ("nvme0,size=1GiB @lab", "--lab drive_size="),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn a_host_over_ssh_has_one_name() {
        assert_eq!(
            read("/dev/nvme0n1 @ssh:root@storage").unwrap(),
            "ssh:root@storage:/dev/nvme0n1"
        );
        let mut names = StackNames::default();
        names.places.insert("storage".into(), PlaceSpec::Ssh("root@s1".into()));
        assert_eq!(names.resolve_place("storage").unwrap(), Place::Ssh("root@s1".into()));
        assert_eq!(names.resolve_place("host").unwrap(), Place::Host);
    }

    #[test]
    fn a_guest_without_a_disk_is_a_place() {
        assert_eq!(read("net:vm1").unwrap(), "net:vm1");
        assert_eq!(read("net:host @vm1").unwrap(), "net:host @vm1");
        assert_eq!(read("cpu @vm").unwrap(), "cpu @vm");
        let mut names = StackNames {
            vm: guest_of("vcpus=4,vhost=on", "--vm".into()).unwrap(),
            ..StackNames::default()
        };
        let own = guest_of("net=none", "[place.db]".into()).unwrap();
        names.places.insert("db".into(), PlaceSpec::Guest(own));
        let options = |place: &str| names.guest(&Place::from(place)).map(|spec| spec.options);
        let of_vm = [("net", "tap"), ("vcpus", "4"), ("vhost", "on")];
        let of_vm = of_vm.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(options("vm12"), Some(of_vm.into()));
        assert_eq!(options("db").unwrap()["net"], "none");
        assert_eq!((options("lab"), options("vmware"), options("host")), (None, None, None));
        for (text, part) in [
            ("nvme0 @vm1", "the guest @vm1 has no disk; hint: write cpu @vm1"),
            ("net:vm1 @vm1", "\"vm1\" is both ends"),
            ("net:lab", "\"lab\" is a lab, which has no network; hint: write vm1"),
            ("net:ssh:a @vm1", "leads to this host and no further"),
            ("net:vm1 @ssh:a", "leads to this host and no further"),
            ("cpu @vm1 | vm", "guests run on this host only, and what is below is on vm1"),
            ("net:ssh:a | vm(net=tap)", "leads to this host and to other guests, and no further"),
            ("net:host | loop", "only vm and null go on cpu and net"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        for (options, part) in [
            ("cores=2", "unknown option of \"vm\": \"cores\""),
            ("vcpus=[1,2]", "is not one guest"),
            ("vcpus=1) x2 | vm(vcpus=1", ""),
        ] {
            let why = guest_of(options, "here".into()).unwrap_err().why;
            assert!(why.contains(part), "{options}: {why}");
        }
    }

    #[test]
    fn a_lab_is_as_large_as_it_is_told() {
        let mut lab = LabSpec::default();
        for (key, value) in
            [("drives", "6"), ("drive-size", "1GiB"), ("vcpus", "4"), ("memory", "4GiB")]
        {
            lab.set_lab_key(key, value).unwrap();
        }
        assert_eq!(lab, LabSpec { drives: Some(6), drive_size: GIB, vcpus: 4, memory: 4 * GIB });
        assert!(lab.set_lab_key("drives", "0").unwrap_err().why.contains("from 1 to"));
        let many = lab.set_lab_key("drives", "13").unwrap_err();
        assert_eq!(many.why, "\"13\" is no whole number from 1 to 12");
        assert!(many.hint.unwrap().contains("room for 12 disks"));
        lab.set_lab_key("drives", "12").unwrap();
        assert!(lab.set_lab_key("drive_size", "1MiB").unwrap_err().why.contains("at least 64 MiB"));
        assert!(lab.set_lab_key("cores", "1").unwrap_err().why.contains("cores"));
    }
}
