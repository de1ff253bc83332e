//! `iotax doctor`: what this machine can measure, which devices it has, and what is missing with the
//! command that supplies it. Looks only; changes nothing. Works without root and says what it cannot see.

use super::behind;
use crate::exit::{self, Failed};
use crate::guard::inspect::{Check, Depth, Inspection, Kind, inspect_as};
use crate::guard::judge::consent_word;
use crate::host::Missing;
use crate::host::facts::{self, Facts};
use crate::host::needs;
use crate::host::probe::{GuestProbe, Probe};
use crate::measure::survey::needs_of;
use crate::scenario::check::{Request, from_arguments};
use crate::units::{counted, show_bytes};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What `doctor` is asked.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Exit with 3 unless this works: a capability or a need of the list. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub require: Vec<String>,
    /// Folder that files would be made in.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
}

/// Something that iotax can measure.
struct Capability {
    name: &'static str,
    what: &'static str,
    /// A stack whose own needs it has; empty for none.
    stack: &'static str,
    /// More names in `needs::ALL`.
    more: &'static [&'static str],
}

const fn stack(name: &'static str, what: &'static str, stack: &'static str) -> Capability {
    Capability { name, what, stack, more: &[] }
}

const fn listed(name: &'static str, what: &'static str, more: &'static [&'static str]) -> Capability {
    Capability { name, what, stack: "", more }
}

const CAPABILITIES: &[Capability] = &[
    listed("file", "a file against itself and a known delay", &["folder", "space"]),
    listed("uring", "engine io_uring", &["io_uring"]),
    stack("fio", "engine fio", "/dev/x | engine(fio)"),
    listed("device", "block devices: openers, signatures", &["root"]),
    stack("loop", "layer loop", "/dev/x | loop"),
    stack("fs(xfs)", "layer fs(xfs)", "/dev/x | fs(xfs)"),
    stack("fs(ext4)", "layer fs(ext4)", "/dev/x | fs(ext4)"),
    stack("fs(btrfs)", "layer fs(btrfs)", "/dev/x | fs(btrfs)"),
    stack("lvm", "layer lvm", "/dev/x | lvm"),
    stack("lvm(thin)", "layer lvm(thin)", "/dev/x | lvm(thin)"),
    stack("lvm(cache)", "layer lvm(cache)", "/dev/x | lvm(cache)"),
    stack("zfs", "layer zfs", "/dev/x | zfs"),
    stack("partition", "layer partition", "/dev/x | partition"),
    stack("linear", "layers split and linear", "/dev/x | split(2)"),
    listed(
        "mdraid",
        "layer mdraid, of every level",
        &["root", "mdadm", "raid0", "raid1", "raid10", "raid456"],
    ),
    stack("guest", "a QEMU guest, emulated or not", "/dev/x | vm"),
    Capability { more: &["kvm"], ..stack("guest-kvm", "a guest at the CPU's own speed", "/dev/x | vm") },
    stack("vfio", "an NVMe drive given to a guest", "/dev/x | vm(attach=vfio)"),
    stack("vhost-user", "a guest's disk served beside QEMU", "/dev/x | vm(attach=vhost-user-blk)"),
    listed("spdk", "a guest's disk served by a running SPDK target", &["qemu", "guest-kernel", "spdk"]),
    stack("vhost-scsi", "a guest's disk served by the kernel", "/dev/x | vm(attach=vhost-scsi)"),
    listed("lab", "RAID, LVM, ZFS, fabrics in a lab guest", &["qemu", "guest-kernel", "lab-image"]),
    stack("nvmf(tcp)", "layer nvmf(tcp)", "/dev/x | nvmf(tcp)"),
    stack("nvmf(rdma)", "layer nvmf(rdma)", "/dev/x | nvmf(rdma)"),
    stack("nvmf(loop)", "layer nvmf(loop)", "/dev/x | nvmf(loop)"),
    stack("iscsi(tcp)", "layer iscsi(tcp)", "/dev/x | iscsi(tcp)"),
    stack("iscsi(iser)", "layer iscsi(iser)", "/dev/x | iscsi(iser)"),
    stack("nbd", "layer nbd", "/dev/x | nbd"),
    stack("ssh", "another machine, over ssh", "ssh:host:/dev/x"),
];

impl Capability {
    fn needs(&self) -> BTreeSet<&'static str> {
        // The stacks of the table parse, see its test; an empty one does not, and has no needs.
        let scenario = from_arguments(&[self.stack.to_owned()], &Request::default());
        let of_stack = scenario.as_ref().map(needs_of).unwrap_or_default();
        of_stack.into_iter().chain(self.more.iter().copied()).collect()
    }
}

/// The main job: one command that measures a file against what lies above it.
const MAIN_JOB: &str = "file";

/// Everything that doctor found.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// What the machine is.
    facts: Facts,
    /// What it can measure.
    capabilities: Vec<Ability>,
    /// What is lacking, by need.
    missing: Vec<Lack>,
    /// Its block devices.
    devices: Vec<DeviceLine>,
    /// What could not be seen.
    unseen: Vec<String>,
}

/// A capability on this machine.
#[derive(Debug, Serialize)]
struct Ability {
    name: &'static str,
    what: &'static str,
    works: bool,
    /// Names of needs that are unmet.
    lacks: Vec<&'static str>,
}

/// An unmet need.
#[derive(Debug, Serialize)]
struct Lack {
    need: &'static str,
    #[serde(flatten)]
    missing: Missing,
}

/// A block device in the list.
#[derive(Debug, Serialize)]
struct DeviceLine {
    path: PathBuf,
    bytes: u64,
    model: Option<String>,
    /// The word for `--destroy serial=...`.
    consent: Option<String>,
    /// Who uses it.
    occupied: Vec<String>,
    /// What it carries; unknown when it could not be read.
    carries: Option<Vec<String>>,
}

/// Runs the command. `guest` tells what there is for guests.
///
/// # Errors
/// When a required name is unknown, or the output cannot be written.
pub fn run(options: &Options, guest: GuestProbe, out: &mut dyn Write) -> Result<u8> {
    check_names(&options.require)?;
    let probe = Probe::here(&options.dir, guest);
    let diagnosis = diagnose(&probe, list_devices(&probe));
    if options.json {
        serde_json::to_writer_pretty(&mut *out, &diagnosis)?;
        writeln!(out)?;
    } else {
        out.write_all(render(&diagnosis).as_bytes())?;
    }
    Ok(verdict(&diagnosis, &options.require))
}

/// What is lacking here, a line each, for the demo.
pub fn missing_lines(dir: &Path) -> String {
    let probe = Probe::here(dir, crate::layer::guest::FINDINGS);
    let line = |need: &needs::Need| {
        let missing = need.missing(&probe)?;
        Some(format!("    {} ({}): {}\n", missing.what, missing.why, missing.command))
    };
    let lines: String = needs::ALL.iter().filter_map(line).collect();
    if lines.is_empty() { "    nothing: all that iotax can use is here\n".to_owned() } else { lines }
}

fn check_names(required: &[String]) -> Result<()> {
    let known =
        |name: &str| needs::by_id(name).is_some() || CAPABILITIES.iter().any(|ability| ability.name == name);
    match required.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = CAPABILITIES
                .iter()
                .map(|ability| ability.name)
                .chain(needs::ALL.iter().map(|need| need.id))
                .collect();
            Err(Failed::input(format!(
                "--require {name}: no such capability or need; known are {}",
                names.join(", ")
            ))
            .into())
        }
    }
}

fn diagnose(probe: &Probe, inspections: Vec<(PathBuf, Result<Inspection>)>) -> Diagnosis {
    let missing: Vec<Lack> = needs::ALL
        .iter()
        .filter_map(|need| Some(Lack { need: need.id, missing: need.missing(probe)? }))
        .collect();
    let lacks = |ability: &Capability| -> Vec<&'static str> {
        let needs = ability.needs();
        missing.iter().map(|lack| lack.need).filter(|need| needs.contains(need)).collect()
    };
    let capabilities = CAPABILITIES
        .iter()
        .map(|ability| {
            let lacks = lacks(ability);
            Ability { name: ability.name, what: ability.what, works: lacks.is_empty(), lacks }
        })
        .collect();
    let unseen = unseen(&inspections);
    let paths: Vec<PathBuf> = inspections.iter().map(|(path, _)| path.clone()).collect();
    let devices =
        inspections.into_iter().filter_map(|(path, found)| Some(device_line(path, found.ok()?))).collect();
    Diagnosis { facts: facts::gather_from(probe, &paths), capabilities, missing, devices, unseen }
}

fn verdict(diagnosis: &Diagnosis, required: &[String]) -> u8 {
    let lacking = |name: &str| {
        diagnosis.missing.iter().any(|lack| lack.need == name)
            || diagnosis.capabilities.iter().any(|ability| ability.name == name && !ability.works)
    };
    let unmet = required.iter().any(|name| lacking(name)) || lacking(MAIN_JOB);
    if unmet { exit::UNMET_NEED } else { exit::DONE }
}

/// Every disk with a size; loop devices only when they are attached.
fn list_devices(probe: &Probe) -> Vec<(PathBuf, Result<Inspection>)> {
    let has_size =
        |name: &String| probe.number(format!("/sys/block/{name}/size")).is_some_and(|size| size > 0);
    let hidden = |name: &String| probe.number(format!("/sys/block/{name}/hidden")) == Some(1);
    probe
        .names("/sys/block")
        .into_iter()
        .filter(|name| has_size(name) && !hidden(name))
        .map(|name| Path::new("/dev").join(name.replace('!', "/")))
        .map(|path| (path.clone(), inspect_as(&path, Depth::Quick)))
        .collect()
}

fn device_line(path: PathBuf, found: Inspection) -> DeviceLine {
    let unread = found.unchecked.iter().any(|blind| blind.check == Check::Content);
    let mut names: Vec<String> = found.signatures.iter().map(|signature| signature.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    DeviceLine {
        path,
        bytes: found.bytes,
        consent: consent_word(&found.identity).map(str::to_owned),
        model: found.identity.model.filter(|_| found.kind == Kind::Disk),
        occupied: found.occupied.into_iter().map(|finding| finding.text).collect(),
        carries: (!unread || !names.is_empty()).then_some(names),
    }
}

/// What could not be looked at, each reason once with the devices it holds for.
fn unseen(inspections: &[(PathBuf, Result<Inspection>)]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (path, found) in inspections {
        let whys: Vec<String> = match found {
            Err(error) => vec![format!("{error:#}")],
            Ok(found) => found
                .unchecked
                .iter()
                .filter(|blind| blind.check != Check::Reservation)
                .map(|blind| blind.why.clone())
                .collect(),
        };
        for why in whys {
            let name = path.display().to_string();
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, paths)) if !paths.contains(&name) => paths.push(name),
                Some(_) => {}
                None => reasons.push((why, vec![name])),
            }
        }
    }
    reasons.into_iter().map(|(why, paths)| format!("{}: {why}", paths.join(", "))).collect()
}

/// Columns of the terminal that everything fits into.
const WIDTH: usize = 80;

fn render(diagnosis: &Diagnosis) -> String {
    let mut text = machine_lines(&diagnosis.facts);
    text.push_str("\nCan measure\n");
    let names = diagnosis.capabilities.iter().map(|ability| ability.name.len());
    let widest = names.max().unwrap_or(0);
    for ability in &diagnosis.capabilities {
        let state = if ability.works { "yes" } else { "no" };
        let lacks =
            if ability.works { String::new() } else { format!(" (lacks {})", ability.lacks.join(", ")) };
        text.push_str(&wrapped(
            &format!("  {state:<4}{:<widest$}  ", ability.name),
            &format!("{}{lacks}", ability.what),
        ));
    }
    text.push_str("\nDevices (nothing is written without --destroy serial=...)\n");
    if diagnosis.devices.is_empty() {
        text.push_str("  none that can be seen\n");
    }
    diagnosis.devices.iter().for_each(|device| text.push_str(&device_lines(device)));
    if !diagnosis.missing.is_empty() {
        text.push_str("\nMissing\n");
    }
    for lack in &diagnosis.missing {
        let name = format!("  {:<13} ", lack.need);
        // A longer name has a line of its own.
        let fits = name.chars().count() == 16;
        let first = if fits { name } else { format!("{}\n{:16}", name.trim_end(), "") };
        text.push_str(&(first + wrapped(&" ".repeat(16), &lack.missing.what).trim_start()));
        text.push_str(&wrapped(&format!("  {:<14}", ""), &format!("needed {}", lack.missing.why)));
        text.push_str(&wrapped(&format!("  {:<14}", ""), &format!("do: {}", lack.missing.command)));
    }
    if !diagnosis.unseen.is_empty() {
        text.push_str("\nNot seen (no device is written while it could hide a user or data)\n");
    }
    diagnosis.unseen.iter().for_each(|why| text.push_str(&wrapped("  ", why)));
    text
}

fn machine_lines(facts: &Facts) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let count = |value: Option<u64>, one: &str, many: &str| {
        value.map_or_else(|| format!("? {many}"), |count| counted(count, one, many))
    };
    let cpu = &facts.cpu;
    let topology =
        [(cpu.threads, "CPU", "CPUs"), (cpu.cores, "core", "cores"), (cpu.sockets, "socket", "sockets")];
    let topology = topology.map(|(value, one, many)| count(value, one, many)).join(", ");
    let memory = facts.memory_bytes.map_or_else(|| "unknown".into(), show_bytes);
    let hosted = if cpu.under_hypervisor == Some(true) { ", itself in a VM" } else { "" };
    let mut text = wrapped("Machine   ", &format!("{} ({}){hosted}", word(&facts.hostname), word(&facts.os)));
    text.push_str(&wrapped("Kernel    ", &word(&facts.kernel)));
    text.push_str(&wrapped("CPU       ", &format!("{}; {topology}", word(&cpu.model))));
    text.push_str(&wrapped("Memory    ", &memory));
    text
}

fn device_lines(device: &DeviceLine) -> String {
    let model = device.model.as_ref().map_or_else(String::new, |model| format!(", {model}"));
    let mut text = wrapped("  ", &format!("{} {}{model}", device.path.display(), show_bytes(device.bytes)));
    let name = device
        .consent
        .as_ref()
        .map_or_else(|| "has no serial and no WWN: never written".into(), |word| format!("serial={word}"));
    text.push_str(&wrapped("    ", &name));
    match &device.carries {
        None => text.push_str("    carries: not readable\n"),
        Some(names) if names.is_empty() => {}
        Some(names) => text.push_str(&wrapped("    ", &format!("carries {}", names.join(", ")))),
    }
    device.occupied.iter().for_each(|what| text.push_str(&wrapped("    in use: ", what)));
    text
}

fn wrapped(first: &str, text: &str) -> String {
    behind(first, text, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::inspect::{Finding, Signature, Unchecked, Use};
    use crate::host::block::Identity;
    use crate::host::kvm::KvmState;
    use crate::host::made_up::{complete_server, server};
    use crate::layer::catalog::{self, Face, OptionKind};

    fn device(name: &str, serial: Option<&str>) -> Inspection {
        let identity = Identity {
            model: Some("Made-up NVMe 1TB".into()),
            serial: serial.map(Into::into),
            ..Identity::default()
        };
        let blank = Inspection::blank(Path::new(&format!("/dev/{name}")));
        Inspection { kind: Kind::Disk, bytes: 1 << 40, identity, ..blank }
    }

    fn devices() -> Vec<(PathBuf, Result<Inspection>)> {
        let mut used = device("sda", Some("WD-1"));
        used.occupied.push(Finding { kind: Use::Mounted, text: "sda2 is mounted at / (ext4)".into() });
        used.signatures.push(Signature { name: "gpt".into(), place: "at byte 512".into() });
        let mut nameless = device("zram0", None);
        nameless
            .unchecked
            .push(Unchecked { check: Check::Content, why: "it cannot be opened: not permitted".into() });
        vec![used, nameless, device("nvme0n1", Some("S4EVNF0M"))]
            .into_iter()
            .map(|found| (found.path.clone(), Ok(found)))
            .collect()
    }

    #[test]
    fn a_complete_server() {
        let diagnosis = diagnose(&complete_server().probe, devices());
        insta::assert_snapshot!(render(&diagnosis));
        assert_eq!(verdict(&diagnosis, &["guest-kvm".into(), "fio".into()]), exit::DONE);
    }

    #[test]
    fn a_server_without_anything_as_a_user() {
        let mut machine = server();
        machine.probe.euid = 1000;
        machine.probe.guest = GuestProbe {
            kvm: || KvmState::Absent("there is no /dev/kvm".into()),
            qemu: || Err("qemu-system-x86_64 is not installed".into()),
            kernel: || Err("no kernel can be read".into()),
            storage_daemon: || Err("qemu-storage-daemon is not installed".into()),
            io_uring: || Err("qemu-system-x86_64 is not installed".into()),
            daemon_io_uring: || Err("qemu-storage-daemon is not installed".into()),
            ovmf: || Err("OVMF is not installed".into()),
            spdk: || Err("no SPDK target listens on /var/tmp/spdk.sock".into()),
            lab: || Err("the lab's root image for 6.1.0-56-amd64 is not built".into()),
        };
        let diagnosis = diagnose(&machine.probe, Vec::new());
        let text = render(&diagnosis);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        insta::assert_snapshot!(text);
        assert_eq!(verdict(&diagnosis, &[]), exit::UNMET_NEED, "the free space is not known");
    }

    #[test]
    fn required_names() {
        let machine = complete_server();
        let mut probe = machine.probe.clone();
        probe.guest.kvm = || KvmState::Emulated("20 ms".into());
        let diagnosis = diagnose(&probe, Vec::new());
        assert_eq!(verdict(&diagnosis, &[]), exit::DONE);
        assert_eq!(verdict(&diagnosis, &["guest".into()]), exit::DONE);
        assert_eq!(verdict(&diagnosis, &["guest-kvm".into()]), exit::UNMET_NEED);
        assert_eq!(verdict(&diagnosis, &["kvm".into()]), exit::UNMET_NEED);
        let error = check_names(&["qemuu".into()]).expect_err("unknown");
        assert_eq!(exit::code_of(&error), exit::BAD_INPUT);
    }

    #[test]
    fn every_capability_names_needs_that_exist() {
        for ability in CAPABILITIES {
            assert!(!ability.needs().is_empty(), "{}: {:?}", ability.name, ability.stack);
            assert!(ability.needs().iter().all(|need| needs::by_id(need).is_some()), "{}", ability.name);
        }
        assert!(CAPABILITIES.iter().any(|ability| ability.name == MAIN_JOB));
    }

    #[test]
    fn every_layer_that_needs_something_is_a_capability() {
        let told: BTreeSet<_> = CAPABILITIES.iter().flat_map(Capability::needs).collect();
        for layer in catalog::ALL {
            // What it needs may hang on the option that it cannot be without.
            let main = layer.positional.or(layer.one_of.first().copied()).and_then(|name| layer.option(name));
            let base = if layer.joins { "[/dev/x,/dev/y]" } else { "/dev/x" };
            let stack = |word: &str| match main {
                Some(option) if layer.positional.is_none() => {
                    format!("{base} | {}({}={word})", layer.name, option.name)
                }
                _ => format!("{base} | {}({word})", layer.name),
            };
            let stacks = match main.map(|option| option.kind) {
                Some(OptionKind::Word(words)) => words.iter().map(|word| stack(word)).collect(),
                // Nothing can be loaded on a bdev, and one device is joined to nothing.
                _ if layer.gives == Face::Bdev => vec![layer.example.to_owned()],
                _ if layer.one_of.is_empty() => vec![format!("{base} | {}", layer.name)],
                _ => vec![stack("1")],
            };
            for text in stacks {
                let scenario = from_arguments(std::slice::from_ref(&text), &Request::default()).unwrap();
                assert!(needs_of(&scenario).is_subset(&told), "{text}");
            }
        }
    }

    #[test]
    fn this_machine_in_text_and_json() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let options = |json| Options { json, require: Vec::new(), dir: folder.path().to_owned() };
        let (mut text, mut json) = (Vec::new(), Vec::new());
        let absent = GuestProbe::NOT_ASKED;
        let code = run(&options(false), absent, &mut text).expect("doctor");
        assert_eq!(run(&options(true), absent, &mut json).expect("doctor"), code);
        let value: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert!(value["capabilities"].as_array().is_some_and(|list| list.len() == CAPABILITIES.len()));
        let text = String::from_utf8(text).expect("UTF-8");
        println!("{text}");
        assert!(text.contains("Can measure") && text.contains("Devices"), "{text}");
    }

    #[test]
    fn paragraphs_wrap_behind_their_column() {
        let text = wrapped("  x: ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("     word")));
        assert_eq!(wrapped("  ", &"y".repeat(100)), format!("  {}\n", "y".repeat(100)));
    }
}
