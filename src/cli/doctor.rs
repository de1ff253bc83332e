//! `iotax doctor`: what this machine can measure, its devices, and missing parts with the command
//! that supplies each. It only looks and changes nothing. It works without root and says what it
//! cannot see.

mod brief;

use super::output::{hanging_paragraph, say};
use anyhow::Result;
use brief::short_diagnosis;
use iotax_host::Missing;
use iotax_host::facts::{self, Facts};
use iotax_host::guard::found::{InspectedKind, Inspection, InspectionCheck};
use iotax_host::guard::inspect::{Depth, inspect_as};
use iotax_host::guard::judge::consent_word;
use iotax_host::pci;
use iotax_host::probe::{GuestProbe, Probe};
use iotax_layers::needs;
use iotax_model::layer::{self as catalog, Capability};
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_model::scenario::grammar::quote;
use iotax_plan::survey::needs_of;
use iotax_report::json;
use iotax_units::exit::{self, Failed};
use iotax_units::{count_noun, shell, show_bytes};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Arguments of `doctor`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Every capability, device and missing part, each with the command that supplies it
    #[arg(long, short)]
    pub verbose: bool,
    /// Exit with 3 unless this works, a capability or a need, and say what it lacks. May be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub require: Vec<String>,
    /// Folder that files would be made in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
}

/// Capabilities that belong to no single layer and are listed before those of the layers.
const FIRST: &[Capability] = &[
    Capability::with_need_ids(
        MAIN_JOB,
        "a file against itself and a known delay",
        &["folder", "space"],
    ),
    Capability::with_need_ids("uring", "engine io_uring", &["io_uring"]),
    Capability::with_need_ids("device", "block devices: openers, signatures", &["root"]),
];
const LAST: &[Capability] = &[
    Capability::with_need_ids(
        "lab",
        "RAID, LVM, ZFS, fabrics in a lab guest",
        &["qemu", "guest-kernel", "lab-image"],
    ),
    Capability::needing("ssh", "another machine, over ssh", "ssh:host:/dev/x"),
];

fn capabilities() -> impl Iterator<Item = &'static Capability> {
    let of_layers = catalog::ALL.iter().flat_map(|layer| layer.capabilities);
    FIRST.iter().chain(of_layers).chain(LAST)
}

fn needs_of_ability(ability: &Capability) -> BTreeSet<&'static str> {
    all_needs(ability.stack, ability.more)
}

/// Returns the ids of a stack's needs and of `more`. A stack that does not parse, such as an empty
/// one, has no needs.
fn all_needs(stack: &str, more: &[&'static str]) -> BTreeSet<&'static str> {
    let scenario = from_arguments(&[stack.to_owned()], &ScenarioRequest::default());
    let of_stack = scenario.as_ref().map(needs_of).unwrap_or_default();
    of_stack.into_iter().chain(more.iter().copied()).collect()
}

/// Name of the capability to measure a file against the layers above it. If it does not work,
/// doctor's exit code is 3.
const MAIN_JOB: &str = "file";

#[derive(Debug, Serialize)]
pub struct Diagnosis {
    facts: Facts,
    capabilities: Vec<Ability>,
    missing: Vec<Lack>,
    devices: Vec<DeviceLine>,
    /// Reasons why devices could not be examined completely, each with the paths of the devices.
    unseen: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Ability {
    name: &'static str,
    what: &'static str,
    works: bool,
    lacks: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Lack {
    need: &'static str,
    #[serde(flatten)]
    missing: Missing,
}

#[derive(Debug, Serialize)]
struct DeviceLine {
    path: PathBuf,
    bytes: u64,
    model: Option<String>,
    /// Serial number or WWN for `--destroy serial=...`; `None` if the device has neither.
    consent: Option<String>,
    occupied: Vec<String>,
    /// Names of the signatures on the device, such as of file systems; `None` if it could not be
    /// read.
    carries: Option<Vec<String>>,
    /// IOMMU group of a drive that may be given to a guest, in words.
    isolation: Option<String>,
}

/// Prints the diagnosis. Returns the exit code, 3 if a file cannot be measured or a required
/// capability or need is lacking. `guest` checks what guests need.
///
/// # Errors
/// A required name is unknown, or the output cannot be written.
pub fn run(options: &Options, guest: GuestProbe) -> Result<u8> {
    check_names(&options.require)?;
    let (text, code) = doctor_text(options, guest);
    say(&text)?;
    Ok(code)
}

fn doctor_text(options: &Options, guest: GuestProbe) -> (String, u8) {
    let probe = Probe::this_machine(&options.dir, guest);
    let diagnosis = diagnose(&probe, list_devices(&probe));
    let text = match (options.json, options.verbose) {
        (true, _) => json::document_text(&diagnosis),
        (false, true) => render_diagnosis(&diagnosis) + &to_try(&diagnosis, &options.dir),
        (false, false) => {
            short_diagnosis(&diagnosis, &options.require) + &to_try(&diagnosis, &options.dir)
        }
    };
    (text, verdict(&diagnosis, &options.require))
}

/// Returns what this machine lacks, with kernel modules and programs only counted, or `nothing`.
/// `dir` is the folder in which files would be made.
pub fn summary(dir: &Path) -> String {
    let lacks = unmet_needs(&Probe::this_machine(dir, iotax_layers::guest::FINDINGS));
    let count =
        |of: fn(&Missing) -> bool| lacks.iter().filter(|lack| of(&lack.missing)).count() as u64;
    let modules = count(Missing::is_of_kernel);
    let programs = count(|missing| missing.packages().is_some());
    let counts = [
        (modules, count_noun(modules, "module of the kernel", "modules of the kernel")),
        (programs, count_noun(programs, "program", "programs")),
    ];
    let counts = counts.into_iter().filter(|(many, _)| *many > 0).map(|(_, said)| said);
    let others = lacks
        .iter()
        .filter(|lack| !lack.missing.is_of_kernel() && lack.missing.packages().is_none());
    let all: Vec<String> = counts.chain(others.map(|lack| lack.need.to_owned())).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn unmet_needs(probe: &Probe) -> Vec<Lack> {
    let lack = |need: needs::Need| Some(Lack { need: need.id, missing: need.find_missing(probe)? });
    needs::all_known_needs().filter_map(lack).collect()
}

fn check_names(required: &[String]) -> Result<()> {
    let known = |name: &str| {
        needs::by_id(name).is_some() || capabilities().any(|ability| ability.name == name)
    };
    match required.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = capabilities()
                .map(|ability| ability.name)
                .chain(needs::all_known_needs().map(|need| need.id))
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
    let missing = unmet_needs(probe);
    let lacks = |ability: &Capability| -> Vec<&'static str> {
        let needs = needs_of_ability(ability);
        missing.iter().map(|lack| lack.need).filter(|need| needs.contains(need)).collect()
    };
    let capabilities = capabilities()
        .map(|ability| {
            let lacks = lacks(ability);
            Ability { name: ability.name, what: ability.what, works: lacks.is_empty(), lacks }
        })
        .collect();
    let unseen = unseen(&inspections);
    let paths: Vec<PathBuf> = inspections.iter().map(|(path, _)| path.clone()).collect();
    let drives = pci::drives(probe);
    let isolation = |path: &PathBuf| {
        let drive = drives.iter().find(|drive| drive.paths.contains(path))?;
        drive.isolation.clone().filter(|_| drive.driver.as_deref() == Some("nvme"))
    };
    let devices = inspections
        .into_iter()
        .filter_map(|(path, found)| {
            let isolation = isolation(&path);
            Some(DeviceLine { isolation, ..device_line(path, found.ok()?) })
        })
        .collect();
    Diagnosis {
        facts: facts::gather_from(probe, &paths, &catalog::programs()),
        capabilities,
        missing,
        devices,
        unseen,
    }
}

fn verdict(diagnosis: &Diagnosis, required: &[String]) -> u8 {
    let lacking = |name: &str| {
        diagnosis.missing.iter().any(|lack| lack.need == name)
            || diagnosis.capabilities.iter().any(|ability| ability.name == name && !ability.works)
    };
    let unmet = required.iter().any(|name| lacking(name)) || lacking(MAIN_JOB);
    if unmet { exit::UNMET_NEED } else { exit::DONE }
}

/// Inspects every disk that has a size and is not hidden. Loop devices have a size only while they
/// are attached.
fn list_devices(probe: &Probe) -> Vec<(PathBuf, Result<Inspection>)> {
    let has_size = |name: &String| {
        probe.read_number(format!("/sys/block/{name}/size")).is_some_and(|size| size > 0)
    };
    let hidden = |name: &String| probe.read_number(format!("/sys/block/{name}/hidden")) == Some(1);
    probe
        .folder_names("/sys/block")
        .into_iter()
        .filter(|name| has_size(name) && !hidden(name))
        .map(|name| Path::new("/dev").join(name.replace('!', "/")))
        .map(|path| (path.clone(), inspect_as(&path, Depth::Quick)))
        .collect()
}

fn device_line(path: PathBuf, found: Inspection) -> DeviceLine {
    let unread = found.unchecked.iter().any(|blind| blind.check == InspectionCheck::Content);
    let mut names: Vec<String> =
        found.signatures.iter().map(|signature| signature.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    DeviceLine {
        path,
        bytes: found.bytes,
        consent: consent_word(&found.identity).map(str::to_owned),
        model: found.identity.model.filter(|_| found.kind == InspectedKind::Disk),
        occupied: found.occupied.into_iter().map(|finding| finding.text).collect(),
        carries: (!unread || !names.is_empty()).then_some(names),
        isolation: None,
    }
}

/// Returns what could not be examined, each reason once with the devices that it applies to.
/// Reservations that could not be read are left out.
fn unseen(inspections: &[(PathBuf, Result<Inspection>)]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (path, found) in inspections {
        let whys: Vec<String> = match found {
            Err(error) => vec![format!("{error:#}")],
            Ok(found) => found
                .unchecked
                .iter()
                .filter(|blind| blind.check != InspectionCheck::Reservation)
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

/// Width at which lines are wrapped, in columns. A longer word stays whole, and so does the command
/// to copy (`Try: `).
const WIDTH: usize = 80;

fn render_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = machine_lines(&diagnosis.facts);
    text.push_str("\nCan measure\n");
    let names = diagnosis.capabilities.iter().map(|ability| ability.name.len());
    let widest = names.max().unwrap_or(0);
    for ability in &diagnosis.capabilities {
        let state = if ability.works { "yes" } else { "no" };
        let lacks = if ability.works {
            String::new()
        } else {
            format!(" (lacks {})", ability.lacks.join(", "))
        };
        text.push_str(&wrapped_line(
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
    diagnosis.missing.iter().for_each(|lack| text.push_str(&in_full(lack)));
    if !diagnosis.unseen.is_empty() {
        text.push_str("\nNot seen (no device is written while it could hide a user or data)\n");
    }
    diagnosis.unseen.iter().for_each(|why| text.push_str(&wrapped_line("  ", why)));
    text
}

fn in_full(lack: &Lack) -> String {
    let name = format!("  {:<13} ", lack.need);
    // A longer name gets a line of its own.
    let fits = name.chars().count() == 16;
    let first = if fits { name } else { format!("{}\n{:16}", name.trim_end(), "") };
    let indent = " ".repeat(16);
    first
        + wrapped_line(&indent, &lack.missing.what).trim_start()
        + &wrapped_line(&indent, &format!("needed {}", lack.missing.why))
        + &wrapped_line(&indent, &format!("do: {}", lack.missing.command))
}

/// Returns true if `lack` is the need called `name`, or a need that the capability called `name`
/// lacks.
fn is_for(diagnosis: &Diagnosis, lack: &Lack, name: &str) -> bool {
    let of_ability =
        diagnosis.capabilities.iter().filter(|one| one.name == name).flat_map(|one| &one.lacks);
    lack.need == name || of_ability.into_iter().any(|need| *need == lack.need)
}

/// Layers to suggest above a file, the most informative first, each with needs in addition to its
/// own.
const TO_TRY: &[(&str, &[&str])] = &[
    (" | loop | fs(xfs)", &[]),
    (" | loop", &[]),
    (" | vm", &["kvm"]),
    (" | delay(percent=5)", &[]),
];

/// Returns a line with a command to try that works here, or with what has to be done first.
fn to_try(diagnosis: &Diagnosis, dir: &Path) -> String {
    match command_to_try(diagnosis, dir) {
        Ok(command) => format!("\nTry: {command}\n"),
        Err(first) => wrapped_line("\nFirst: ", &first),
    }
}

/// Returns a command that measures something on this machine, in a new file in `dir`.
///
/// # Errors
/// What has to be done first.
pub fn command_here(dir: &Path) -> Result<String, String> {
    let probe = Probe::this_machine(dir, iotax_layers::guest::FINDINGS);
    command_to_try(&diagnose(&probe, Vec::new()), dir)
}

/// Returns a command that measures something here.
///
/// # Errors
/// What has to be done first.
fn command_to_try(diagnosis: &Diagnosis, dir: &Path) -> Result<String, String> {
    let lacking = |name: &str| diagnosis.missing.iter().find(|lack| is_for(diagnosis, lack, name));
    if let Some(lack) = lacking(MAIN_JOB) {
        return Err(lack.missing.command.clone());
    }
    let works = |(layers, more): &&(&str, &[&'static str])| {
        all_needs(&format!("/dev/x{layers}"), more).into_iter().all(|need| lacking(need).is_none())
    };
    let layers = TO_TRY.iter().find(works).map_or("", |(layers, _)| layers);
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let file = quote(&dir.join("iotax-try.img").display().to_string(), &[]);
    let stack = shell::quote_word(&format!("file:{file},size=1GiB{layers}"));
    Ok(format!("iotax run --bill {stack}"))
}

fn machine_lines(facts: &Facts) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let count = |value: Option<u64>, one: &str, many: &str| {
        value.map_or_else(|| format!("? {many}"), |count| count_noun(count, one, many))
    };
    let cpu = &facts.cpu;
    let topology = [
        (cpu.threads, "CPU", "CPUs"),
        (cpu.cores, "core", "cores"),
        (cpu.sockets, "socket", "sockets"),
    ];
    let topology = topology.map(|(value, one, many)| count(value, one, many)).join(", ");
    let memory = facts.memory_bytes.map_or_else(|| "unknown".into(), show_bytes);
    let hosted = if cpu.under_hypervisor == Some(true) { ", itself in a VM" } else { "" };
    let mut text = wrapped_line(
        "Machine   ",
        &format!("{} ({}){hosted}", word(&facts.hostname), word(&facts.os)),
    );
    text.push_str(&wrapped_line("Kernel    ", &word(&facts.kernel)));
    text.push_str(&wrapped_line("CPU       ", &format!("{}; {topology}", word(&cpu.model))));
    text.push_str(&wrapped_line("Memory    ", &memory));
    text
}

fn device_lines(device: &DeviceLine) -> String {
    let model = device.model.as_ref().map_or_else(String::new, |model| format!(", {model}"));
    let mut text = wrapped_line(
        "  ",
        &format!("{} {}{model}", device.path.display(), show_bytes(device.bytes)),
    );
    let name = device.consent.as_ref().map_or_else(
        || "has no serial and no WWN: never written".into(),
        |word| format!("serial={word}"),
    );
    text.push_str(&wrapped_line("    ", &name));
    match &device.carries {
        None => text.push_str("    carries: not readable\n"),
        Some(names) if names.is_empty() => {}
        Some(names) => {
            text.push_str(&wrapped_line("    ", &format!("carries {}", names.join(", "))))
        }
    }
    device.isolation.iter().for_each(|group| text.push_str(&wrapped_line("    ", group)));
    device.occupied.iter().for_each(|what| text.push_str(&wrapped_line("    in use: ", what)));
    text
}

fn wrapped_line(first: &str, text: &str) -> String {
    hanging_paragraph(first, text, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::block::Identity;
    use iotax_host::guard::found::{Finding, Signature, TargetUse, UncheckedPoint};
    use iotax_host::kvm::KvmState;
    use iotax_host::made_up::{complete_server, server};
    use iotax_model::layer::OptionKind;
    use iotax_model::stack::Face;

    fn device(name: &str, serial: Option<&str>) -> Inspection {
        let identity = Identity {
            model: Some("Made-up NVMe 1TB".into()),
            serial: serial.map(Into::into),
            ..Identity::default()
        };
        let blank = Inspection::blank_at(Path::new(&format!("/dev/{name}")));
        Inspection { kind: InspectedKind::Disk, bytes: 1 << 40, identity, ..blank }
    }

    fn devices() -> Vec<(PathBuf, Result<Inspection>)> {
        let mut used = device("sda", Some("WD-1"));
        used.occupied
            .push(Finding { kind: TargetUse::Mounted, text: "sda2 is mounted at / (ext4)".into() });
        used.signatures.push(Signature { name: "gpt".into(), place: "at byte 512".into() });
        let mut nameless = device("zram0", None);
        nameless.unchecked.push(UncheckedPoint {
            check: InspectionCheck::Content,
            why: "it cannot be opened: not permitted".into(),
        });
        vec![used, nameless, device("nvme0n1", Some("S4EVNF0M"))]
            .into_iter()
            .map(|found| (found.path.clone(), Ok(found)))
            .collect()
    }

    #[test]
    fn a_complete_server() {
        let diagnosis = diagnose(&complete_server().probe, devices());
        insta::assert_snapshot!(render_diagnosis(&diagnosis));
        insta::assert_snapshot!("a_complete_server_in_short", screen(&diagnosis, &[]));
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
        let text = render_diagnosis(&diagnosis);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        insta::assert_snapshot!(text);
        insta::assert_snapshot!("a_server_without_anything_in_short", screen(&diagnosis, &[]));
        assert_eq!(verdict(&diagnosis, &[]), exit::UNMET_NEED, "the free space is not known");
    }

    /// Without -v, as long as a screen at most.
    fn screen(diagnosis: &Diagnosis, required: &[String]) -> String {
        let text = short_diagnosis(diagnosis, required) + &to_try(diagnosis, Path::new("/srv"));
        assert!(!required.is_empty() || text.lines().count() <= 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH || line.starts_with("Try: ")),
            "{text}"
        );
        text
    }

    #[test]
    fn what_the_kernel_lacks_is_one_line_and_asking_for_it_finds_it() {
        let machine = complete_server();
        machine.put(&[("/lib/modules/6.1.0-18-amd64/modules.dep", "")]);
        let diagnosis = diagnose(&machine.probe, Vec::new());
        let modules = diagnosis.missing.iter().filter(|lack| lack.missing.is_of_kernel()).count();
        assert!(modules > 10, "{modules}");
        let text = screen(&diagnosis, &[]);
        assert_eq!(text.matches("module").count(), 1, "{text}");
        assert!(text.contains(&format!("{modules} modules of the kernel")), "{text}");
        assert!(!text.contains("CONFIG_NVME_TARGET"), "{text}");
        let asked = screen(&diagnosis, &["nvmf(tcp)".into()]);
        assert!(
            asked.contains("there is no module nvmet-tcp") && asked.contains("CONFIG_NVME_TCP"),
            "{asked}"
        );
        assert!(!asked.contains("CONFIG_ISCSI_TARGET"), "{asked}");
        assert!(render_diagnosis(&diagnosis).contains("CONFIG_ISCSI_TARGET"));
    }

    #[test]
    fn the_command_to_try_is_one_that_works() {
        for (layers, needs) in TO_TRY {
            let stack = format!("file:/srv/x.img,size=1GiB{layers}");
            from_arguments(&[stack], &ScenarioRequest { bill: true, ..ScenarioRequest::default() })
                .unwrap();
            assert!(needs.iter().all(|need| needs::by_id(need).is_some()));
        }
        let machine = complete_server();
        let mut probe = machine.probe.clone();
        assert!(
            to_try(&diagnose(&probe, Vec::new()), Path::new("/srv")).contains("| loop | fs(xfs)")
        );
        probe.euid = 1000;
        probe.guest.kvm = || KvmState::Emulated("20 ms".into());
        assert!(
            to_try(&diagnose(&probe, Vec::new()), Path::new("/srv")).contains("delay(percent=5)")
        );
        probe.folder = Err("folder /x does not exist; hint: mkdir -p /x".into());
        assert_eq!(
            to_try(&diagnose(&probe, Vec::new()), Path::new("/x")),
            "\nFirst: mkdir -p /x\n"
        );
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
        for ability in capabilities() {
            assert!(!needs_of_ability(ability).is_empty(), "{}: {:?}", ability.name, ability.stack);
            assert!(
                needs_of_ability(ability).iter().all(|need| needs::by_id(need).is_some()),
                "{}",
                ability.name
            );
        }
        assert!(capabilities().any(|ability| ability.name == MAIN_JOB));
    }

    #[test]
    fn every_layer_that_needs_something_is_a_capability() {
        let listed: BTreeSet<_> = capabilities().flat_map(needs_of_ability).collect();
        for layer in catalog::ALL {
            // What it needs may hang on the option that it cannot be without.
            let main = layer
                .positional
                .or(layer.one_of.first().copied())
                .and_then(|name| layer.option(name));
            let base = if layer.joins { "[/dev/x,/dev/y]" } else { "/dev/x" };
            let stack = |word: &str| match main {
                Some(option) if layer.positional.is_none() => {
                    format!("{base} | {}({}={word})", layer.name, option.name)
                }
                _ => format!("{base} | {}({word})", layer.name),
            };
            let foreign = |face| matches!(face, Face::Bdev | Face::Rbd);
            let stacks = match main.map(|option| option.kind) {
                // Nothing can be loaded on what no kernel has, and one device is joined to nothing.
                _ if foreign(layer.gives) || foreign(layer.below) => vec![layer.example.to_owned()],
                Some(OptionKind::Word(words)) => words.iter().map(|word| stack(word)).collect(),
                Some(OptionKind::Size) => vec![stack("1MiB")],
                _ if layer.one_of.is_empty() => vec![format!("{base} | {}", layer.name)],
                _ => vec![stack("1")],
            };
            for text in stacks {
                let scenario =
                    from_arguments(std::slice::from_ref(&text), &ScenarioRequest::default())
                        .unwrap();
                assert!(needs_of(&scenario).is_subset(&listed), "{text}");
            }
        }
    }

    #[test]
    fn this_machine_in_text_and_json() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let options = |json| Options {
            json,
            verbose: false,
            require: Vec::new(),
            dir: folder.path().to_owned(),
        };
        let (text, code) = doctor_text(&options(false), GuestProbe::NOT_ASKED);
        let (json, same) = doctor_text(&options(true), GuestProbe::NOT_ASKED);
        assert_eq!(same, code);
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(
            value["capabilities"]
                .as_array()
                .is_some_and(|list| list.len() == capabilities().count())
        );
        println!("{text}");
        assert!(text.contains("Ready") && text.contains("Devices"), "{text}");
    }

    #[test]
    fn paragraphs_wrap_after_their_column() {
        let text = wrapped_line("  x: ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("     word")));
        assert_eq!(wrapped_line("  ", &"y".repeat(100)), format!("  {}\n", "y".repeat(100)));
    }
}
