//! A diagnosis on one screen: what can be measured, what is emulated, what one command adds, what
//! this machine cannot do, and the devices.

use super::{
    Ability, DeviceLine, Diagnosis, Lack, MAIN_JOB, WIDTH, in_full, is_for, needs_of_ability,
    wrapped_line,
};
use crate::cli::missing::install_command;
use iotax_host::facts::Facts;
use iotax_units::{count_noun, distinct, show_bytes};

const MOST_DEVICES: usize = 3;
const LABEL: usize = 11;

/// Returns the diagnosis. Needs without which a file cannot be measured, and those of `required`
/// names, are described in full.
pub fn short_diagnosis(diagnosis: &Diagnosis, required: &[String]) -> String {
    let (works, lacks): (Vec<&Ability>, Vec<&Ability>) =
        diagnosis.capabilities.iter().partition(|ability| ability.works);
    let no_kvm = diagnosis.missing.iter().any(|lack| lack.need == "kvm");
    let is_emulated =
        |ability: &Ability| ability.name == "lab" || no_kvm && uses_guest(ability.name);
    let (emulated, ready): (Vec<&Ability>, Vec<&Ability>) =
        works.into_iter().partition(|ability| is_emulated(ability));
    let (unlocked, impossible): (Vec<&Ability>, Vec<&Ability>) =
        lacks.into_iter().partition(|ability| is_installable(diagnosis, ability));
    let mut text = machine_line(&diagnosis.facts);
    text += &line("Ready", &names(&ready));
    let reason = if no_kvm { "no KVM: figures of guests are not a server's" } else { "drives" };
    text += &line_unless_empty("Emulated", &emulated, &format!(" ({reason})"));
    text += &missing_lines(diagnosis, &unlocked);
    text += &line_unless_empty("Not here", &impossible, "");
    if !impossible.is_empty() {
        text += &line("", &reasons(diagnosis, &impossible));
    }
    text += &device_lines(diagnosis);
    let asked: Vec<&str> =
        std::iter::once(MAIN_JOB).chain(required.iter().map(String::as_str)).collect();
    let is_asked = |lack: &&Lack| asked.iter().any(|name| is_for(diagnosis, lack, name));
    let asked: String = diagnosis.missing.iter().filter(is_asked).map(in_full).collect();
    if asked.is_empty() { text } else { format!("{text}Required and missing:\n{asked}") }
}

fn line(label: &str, text: &str) -> String {
    wrapped_line(&format!("{label:<LABEL$}"), text)
}

fn line_unless_empty(label: &str, abilities: &[&Ability], more: &str) -> String {
    if abilities.is_empty() {
        String::new()
    } else {
        line(label, &format!("{}{more}", names(abilities)))
    }
}

fn names(abilities: &[&Ability]) -> String {
    match abilities {
        [] => "nothing".to_owned(),
        some => some.iter().map(|ability| ability.name).collect::<Vec<_>>().join(", "),
    }
}

/// Returns true if a capability boots a guest.
fn uses_guest(name: &str) -> bool {
    super::capabilities()
        .filter(|ability| ability.name == name)
        .any(|ability| needs_of_ability(ability).contains("qemu"))
}

fn lacks_of<'a>(diagnosis: &'a Diagnosis, ability: &Ability) -> Vec<&'a Lack> {
    diagnosis.missing.iter().filter(|lack| ability.lacks.contains(&lack.need)).collect()
}

/// Returns true if packages supply all that a capability lacks.
fn is_installable(diagnosis: &Diagnosis, ability: &Ability) -> bool {
    lacks_of(diagnosis, ability)
        .iter()
        .all(|lack| install_command([&lack.missing]).is_some() && !lack.missing.is_of_kernel())
}

/// Returns the one command that installs what makes more capabilities work, and their names. Empty
/// if there is none.
fn missing_lines(diagnosis: &Diagnosis, unlocked: &[&Ability]) -> String {
    let lacks = unlocked.iter().flat_map(|ability| lacks_of(diagnosis, ability));
    match install_command(lacks.map(|lack| &lack.missing)) {
        None => String::new(),
        Some(command) => {
            line("Missing", &command) + &line("", &format!("adds {}", names(unlocked)))
        }
    }
}

/// Describes what no package supplies.
fn reasons(diagnosis: &Diagnosis, impossible: &[&Ability]) -> String {
    let lacks = distinct(impossible.iter().flat_map(|ability| &ability.lacks).copied());
    let lacks = diagnosis.missing.iter().filter(|lack| lacks.contains(&lack.need));
    let (modules, others): (Vec<&Lack>, Vec<&Lack>) =
        lacks.partition(|lack| lack.missing.is_of_kernel());
    let others = others.into_iter().filter(|lack| install_command([&lack.missing]).is_none());
    let modules = match modules.len() as u64 {
        0 => None,
        many => Some(format!("{} of the kernel", count_noun(many, "module", "modules"))),
    };
    let all: Vec<String> =
        modules.into_iter().chain(others.map(|lack| lack.need.to_owned())).collect();
    format!("for lack of {}; -v says why", all.join(", "))
}

fn machine_line(facts: &Facts) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let threads = facts.cpu.threads;
    let cpus = threads.map_or("? CPUs".into(), |count| count_noun(count, "CPU", "CPUs"));
    let memory = facts.memory_bytes.map_or_else(|| "unknown memory".into(), show_bytes);
    let hosted = if facts.cpu.under_hypervisor == Some(true) { ", itself in a VM" } else { "" };
    let (host, os, kernel) = (word(&facts.hostname), word(&facts.os), word(&facts.kernel));
    line("Machine", &format!("{host}: {os}, kernel {kernel}, {cpus}, {memory}{hosted}"))
}

fn device_lines(diagnosis: &Diagnosis) -> String {
    let shown = diagnosis.devices.iter().take(MOST_DEVICES);
    let mut text = String::new();
    for (at, device) in shown.enumerate() {
        text += &line(if at == 0 { "Devices" } else { "" }, &device_words(device));
    }
    if diagnosis.devices.is_empty() {
        text += &line("Devices", "none that can be seen");
    }
    let more = diagnosis.devices.len().saturating_sub(MOST_DEVICES);
    let more = if more > 0 { format!("{more} more with -v; ") } else { String::new() };
    let unseen = match diagnosis.unseen.len() as u64 {
        0 => String::new(),
        many => format!("{} not possible (-v); ", count_noun(many, "check was", "checks were")),
    };
    text + &line("", &format!("{more}{unseen}none is written without --destroy serial=..."))
}

fn device_words(device: &DeviceLine) -> String {
    let name = device
        .consent
        .as_ref()
        .map_or_else(|| "no serial: never written".into(), |word| format!("serial={word}"));
    let used = match device.occupied.as_slice() {
        [] => String::new(),
        [one, ..] => format!(", in use: {one}"),
    };
    let carries = match device.carries.as_deref() {
        Some([first, ..]) if used.is_empty() => format!(", carries {first}"),
        _ => String::new(),
    };
    let words =
        format!("{} {}, {name}{carries}{used}", device.path.display(), show_bytes(device.bytes));
    // One line each: -v has the rest.
    let room = WIDTH - LABEL;
    match words.chars().count() > room {
        true => words.chars().take(room - 3).chain("...".chars()).collect(),
        false => words,
    }
}
